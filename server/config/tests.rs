use serde_json::json;

use super::*;

struct Home {
    folder: tempfile::TempDir,
    folders: Folders,
}

impl Home {
    fn new(user: &str, workspace: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let folders = Folders {
            config: folder.path().join("config"),
            data: folder.path().join("data"),
            state: folder.path().join("state"),
            cache: None,
        };
        std::fs::create_dir_all(&folders.config).unwrap();
        std::fs::create_dir_all(folder.path().join("proj")).unwrap();
        let home = Self { folder, folders };
        if !user.is_empty() {
            std::fs::write(home.folders.config_file(), user).unwrap();
        }
        if !workspace.is_empty() {
            std::fs::write(home.root().join(PROJECT_FILE), workspace).unwrap();
        }
        home
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("proj")
    }

    fn load(&self, client: Value, environment: &[(&str, &str)]) -> Loaded {
        let get = |name: &str| {
            environment
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        };
        load_with(&self.folders, Some(&self.root()), Some(&client), &get)
    }
}

fn source<'a>(loaded: &'a Loaded, key: &str) -> (String, &'a str) {
    let row = loaded.sources.iter().find(|(k, ..)| k == key);
    let (_, value, source) = row.unwrap_or_else(|| panic!("no {key} in {:?}", loaded.sources));
    (text(value), source)
}

/// What stands at each problem's place, and its message.
fn problems(loaded: &Loaded) -> Vec<(String, &str)> {
    let problems = loaded.problems.iter().map(|p| {
        let text = p
            .file
            .as_ref()
            .map(|f| std::fs::read_to_string(f).unwrap())
            .unwrap_or_default();
        (text[p.range.clone()].to_owned(), p.message.as_str())
    });
    problems.collect()
}

#[test]
fn nothing_set_is_the_defaults() {
    let home = Home::new("", "");
    let loaded = home.load(json!({}), &[]);
    let s = &loaded.settings;
    assert_eq!(loaded.problems, []);
    assert_eq!(
        (s.max_rounds, s.max_cost, s.max_file_size),
        (60, 5.0, 8 * 1024 * 1024)
    );
    assert_eq!(
        (
            s.proxy_mode,
            s.proxy_timeout,
            s.proxy_max_children,
            s.proxy_idle
        ),
        (ProxyMode::Threads, 10, 8, 600)
    );
    assert_eq!(
        (s.model.as_deref(), s.keep_indentation, s.trigger),
        (None, false, Trigger::Manual)
    );
    assert_eq!(
        s.providers["anthropic"].base_url,
        "https://api.anthropic.com"
    );
    assert_eq!(
        s.providers["anthropic"].api_key_env.as_deref(),
        Some("ANTHROPIC_API_KEY")
    );
    assert_eq!(s.providers["openai-compatible"].api_key_env, None);
    assert_eq!(source(&loaded, "turn.maxRounds"), ("60".into(), "default"));
    assert_eq!(
        source(&loaded, "providers.anthropic.baseUrl"),
        ("\"https://api.anthropic.com\"".into(), "default")
    );
}

#[test]
fn the_example_of_the_documentation_is_read_whole() {
    let user = r#"
        model = "anthropic/claude-sonnet-4-5"
        [providers.anthropic]
        baseUrl = "https://api.anthropic.com"
        apiKeyCommand = ["pass", "show", "anthropic"]
        [providers.openai]
        baseUrl = "https://api.openai.com/v1"
        api = "responses"
        [providers.openai-compatible]
        baseUrl = "http://localhost:11434/v1/"
        [turn]
        trigger = "manual"
        review = "off"
        maxRounds = 60
        maxCost = 5.0
        [threads]
        indentation = "none"
        [permissions]
        default = "ask"
        rules = [{ tool = "bash", pattern = "cargo test*", action = "allow" }]
        [proxy]
        mode = "threads"
        timeout = 10
        maxChildren = 8
        idle = 600
        [servers.python]
        command = "pylsp"
        args = []
        extensions = ["py"]
        rootMarkers = ["pyproject.toml", "setup.py"]
        initializationOptions = { pylsp = { plugins = { flake8 = true } } }
        env = { PYTHONPATH = "src" }
        [subagent.worktree]
        enabled = true
        [workflow]
        share = "off"
    "#;
    let home = Home::new(user, "");
    let loaded = home.load(json!({}), &[]);
    assert_eq!(problems(&loaded), []);
    let s = &loaded.settings;
    assert_eq!(s.model.as_deref(), Some("anthropic/claude-sonnet-4-5"));
    assert_eq!(
        s.providers["anthropic"].api_key_command.as_deref().unwrap(),
        ["pass", "show", "anthropic"]
    );
    assert_eq!(s.providers["anthropic"].api_key_env, None);
    assert_eq!(s.providers["openai"].api, Api::Responses);
    assert_eq!(
        s.providers["openai-compatible"].base_url,
        "http://localhost:11434/v1"
    );
    let rule = Rule {
        tool: String::from("bash"),
        pattern: Some(String::from("cargo test*")),
        action: Action::Allow,
    };
    assert_eq!((s.permission, &s.rules), (Some(Action::Ask), &vec![rule]));
    let python = &s.servers[0];
    assert_eq!(
        (&*python.language, &*python.command, &*python.extensions[0]),
        ("python", "pylsp", "py")
    );
    assert_eq!(python.root_markers, ["pyproject.toml", "setup.py"]);
    assert_eq!(
        python.initialization_options,
        json!({"pylsp": {"plugins": {"flake8": true}}})
    );
    assert_eq!(
        python.env,
        [(String::from("PYTHONPATH"), String::from("src"))]
    );
    assert_eq!(source(&loaded, "turn.maxRounds"), ("60".into(), "user"));
    assert_eq!(
        source(&loaded, "servers.python.command"),
        ("\"pylsp\"".into(), "user")
    );
}

#[test]
fn a_workspace_starts_no_language_server_where_the_user_has_none() {
    for (own, workspace, holds) in [
        ("off", "always", ProxyMode::Off),
        ("off", "threads", ProxyMode::Off),
        ("threads", "always", ProxyMode::Always),
        ("always", "off", ProxyMode::Off),
    ] {
        let mode = |mode| format!("[proxy]\nmode = '{mode}'\n");
        let home = Home::new(&mode(own), &mode(workspace));
        let loaded = home.load(json!({}), &[]);
        assert_eq!(loaded.settings.proxy_mode, holds, "{own} {workspace}");
        let told = problems(&loaded);
        assert_eq!(told.len(), usize::from(own == "off"), "{told:?}");
        // Nor an editor, whose settings can be the workspace's.
        let home = Home::new(&mode(own), "");
        let loaded = home.load(json!({"proxy": {"mode": workspace}}), &[]);
        assert_eq!(loaded.settings.proxy_mode, holds, "{own} {workspace}");
    }
}

#[test]
fn the_nearest_place_wins() {
    let user = "model = 'a/user'\n[turn]\nmaxRounds = 50\nmaxCost = 4\n[proxy]\nmode = 'threads'\ntimeout = 9\n";
    let workspace = "model = 'a/workspace'\n[turn]\nmaxRounds = 40\n[proxy]\nmode = 'always'\n";
    let home = Home::new(user, workspace);

    let loaded = home.load(json!({"turn": {"maxRounds": 30}, "model": null}), &[]);
    assert_eq!(problems(&loaded), []);
    let s = &loaded.settings;
    assert_eq!((s.max_rounds, s.max_cost, s.proxy_timeout), (30, 4.0, 9));
    assert_eq!(
        (s.model.as_deref(), s.proxy_mode),
        (Some("a/workspace"), ProxyMode::Always)
    );
    assert_eq!(source(&loaded, "turn.maxRounds"), ("30".into(), "client"));
    assert_eq!(
        source(&loaded, "model"),
        ("\"a/workspace\"".into(), "workspace")
    );
    assert_eq!(source(&loaded, "turn.maxCost"), ("4.0".into(), "user"));
    assert_eq!(source(&loaded, "proxy.idle"), ("600".into(), "default"));

    // Dotted, and inside the section's name; the environment goes before all.
    let client = json!({"postil": {"turn.maxRounds": 20, "model": "a/client"}});
    let loaded = home.load(client, &[("POSTIL_MODEL", "a/environment")]);
    assert_eq!(
        (loaded.settings.max_rounds, loaded.settings.model.as_deref()),
        (20, Some("a/environment"))
    );
    assert_eq!(
        source(&loaded, "model"),
        ("\"a/environment\"".into(), "environment")
    );
}

#[test]
fn endpoints_come_from_user_and_environment() {
    let home = Home::new(
        "[providers.anthropic]\nbaseUrl = 'https://proxy.example'\n",
        "",
    );
    assert_eq!(
        home.load(json!({}), &[]).settings.providers["anthropic"].base_url,
        "https://proxy.example"
    );
    let loaded = home.load(json!({}), &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/")]);
    let provider = &loaded.settings.providers["anthropic"];
    assert_eq!(provider.base_url, "http://127.0.0.1:9");
    assert_eq!(provider.api_key_env.as_deref(), Some("ANTHROPIC_API_KEY"));
    assert_eq!(
        source(&loaded, "providers.anthropic.baseUrl"),
        ("\"http://127.0.0.1:9/\"".into(), "environment")
    );
}

#[test]
fn a_workspace_may_not_name_commands_endpoints_keys_or_permissions() {
    let workspace = "[servers.python]\ncommand = './evil'\n\n[providers.anthropic]\nbaseUrl = 'http://evil'\napiKeyEnv = 'HOME'\n\n[permissions]\ndefault = 'allow'\n";
    let home = Home::new("", workspace);
    let loaded = home.load(json!({}), &[]);
    let s = &loaded.settings;
    assert!(s.servers.is_empty());
    assert_eq!(
        s.providers["anthropic"].base_url,
        "https://api.anthropic.com"
    );
    assert_eq!(s.permission, None);
    let found = problems(&loaded);
    let places: Vec<_> = found.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places.len(), 3, "{found:?}");
    for name in ["servers", "providers", "permissions"] {
        let at = places
            .iter()
            .position(|p| *p == name)
            .unwrap_or_else(|| panic!("{name}: {found:?}"));
        assert!(found[at].1.contains("your own config.toml"), "{found:?}");
    }
    assert!(
        loaded
            .problems
            .iter()
            .all(|p| p.file.as_ref().unwrap().ends_with(PROJECT_FILE))
    );

    let client = json!({"servers": {"python": {"command": "evil"}}, "providers": {"x": {"baseUrl": "http://evil"}},
        "permissions": {"rules": [{"tool": "*", "action": "allow"}]}});
    let home = Home::new("", "");
    let loaded = home.load(client, &[]);
    assert!(loaded.settings.servers.is_empty() && loaded.settings.rules.is_empty());
    assert!(!loaded.settings.providers.contains_key("x"));
    assert_eq!(loaded.problems.len(), 3);
    assert!(loaded.problems.iter().all(|p| p.file.is_none()));
}

#[test]
fn a_workspace_narrows_limits_and_never_widens_them() {
    let workspace = "[turn]\nmaxRounds = 1000\nmaxCost = 1\ntrigger = 'onSave'\n[threads]\nmaxFileSize = 99999999\n[workflow]\nshare = 'notes'\n";
    let home = Home::new("[turn]\nreview = 'ask'\n", workspace);
    let loaded = home.load(
        json!({"turn": {"review": "off", "maxCost": 4.5}, "proxy": {"timeout": 11}}),
        &[],
    );
    let s = &loaded.settings;
    // The editor may go back up to what is the user's own.
    assert_eq!(
        (s.max_rounds, s.max_cost, s.max_file_size),
        (60, 4.5, 8 * 1024 * 1024)
    );
    assert_eq!(
        (s.trigger, s.review, s.share, s.proxy_timeout),
        (Trigger::Manual, Review::Ask, Share::Off, 10)
    );
    let mut found = problems(&loaded);
    found.sort();
    let places: Vec<_> = found.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(
        places,
        ["", "", "'notes'", "'onSave'", "1000", "99999999"],
        "{found:?}"
    );
    assert!(
        found.iter().all(|(_, m)| m.contains("no wider")),
        "{found:?}"
    );

    // With the user's own limit higher, the same is no widening.
    let home = Home::new(
        "[turn]\nmaxRounds = 2000\ntrigger = 'onSave'\n",
        "[turn]\nmaxRounds = 1000\n",
    );
    let loaded = home.load(json!({"turn": {"trigger": "onSave"}}), &[]);
    assert_eq!(
        (loaded.problems.len(), loaded.settings.max_rounds),
        (0, 1000)
    );
}

#[test]
fn what_an_editor_knows_to_be_the_users_own_counts_as_the_users_file() {
    let home = Home::new(
        "[turn]\nmaxRounds = 60\nmaxCost = 3\n",
        "[turn]\nmaxCost = 15\n",
    );
    let own = json!({"turn": {"maxCost": 20, "trigger": "onSave"}});
    let loaded = home.load(json!({"turn": {"maxRounds": 50}, "$user": own}), &[]);
    let s = &loaded.settings;
    assert_eq!(loaded.problems, []);
    assert_eq!(
        (s.max_cost, s.max_rounds, s.trigger),
        (15.0, 50, Trigger::OnSave)
    );
    // A workspace is held to it.
    let wide = json!({"turn": {"maxCost": 21}, "$user": own});
    let loaded = home.load(wide, &[]);
    let found = problems(&loaded);
    assert!(
        matches!(found.as_slice(), [(_, m)] if m.contains("no wider than your own 20")),
        "{found:?}"
    );
    // What counts in the file only does so here too.
    let evil = json!({"$user": {"providers": {"anthropic": {"baseUrl": "http://evil.example"}}}});
    let loaded = home.load(evil, &[]);
    assert!(
        problems(&loaded)
            .iter()
            .any(|(_, m)| m.contains("config.toml only")),
        "{loaded:?}"
    );
    // One of the wrong type is passed over as one in the file is, and the file's holds.
    let loaded = home.load(json!({"$user": {"turn": {"maxRounds": "many"}}}), &[]);
    assert_eq!(loaded.settings.max_rounds, 60);
    let found = problems(&loaded);
    assert!(
        found.iter().any(|(_, m)| m.contains("turn.maxRounds")),
        "{found:?}"
    );
}

#[test]
fn wrong_settings_are_told_at_their_place() {
    let workspace = "\
mdoel = 'x'
maxRounds = 3
[turn]
maxRound = 3
max-cost = 1
trigger = 'onsave'
maxRounds = 'many'
[proxy]
timeout = 0
mode = 'sometimes'
idle = 2020-01-01
[threads]
indentation = []
[zebra]
a = 1
";
    let home = Home::new("", workspace);
    let loaded = home.load(json!({"proxy": "off", "turn": {"maxCost": "x"}}), &[]);
    let found = problems(&loaded);
    for (place, message) in [
        (
            "mdoel",
            "there is no setting `mdoel`: did you mean `model`?",
        ),
        (
            "maxRounds",
            "there is no setting `maxRounds`: did you mean `turn.maxRounds`?",
        ),
        (
            "maxRound",
            "there is no setting `turn.maxRound`: did you mean `maxRounds`?",
        ),
        (
            "max-cost",
            "there is no setting `turn.max-cost`: did you mean `maxCost`?",
        ),
        (
            "'onsave'",
            "`turn.trigger` is \"onsave\": did you mean `onSave`?",
        ),
        (
            "'many'",
            "`turn.maxRounds` is \"many\": it must be a whole number",
        ),
        ("0", "`proxy.timeout` is 0: the least is 1"),
        (
            "'sometimes'",
            "`proxy.mode` is \"sometimes\": it can be `threads`, `always`, `off`",
        ),
        ("2020-01-01", "`proxy.idle` cannot be a date"),
        (
            "[]",
            "`threads.indentation` is []: it can be `none`, `keep`",
        ),
        ("", "`proxy` is a table of settings, not a value"),
        ("", "`turn.maxCost` is \"x\": it must be a number"),
    ] {
        assert!(
            found.iter().any(|(p, m)| p == place && *m == message),
            "{place}: {message}\n{found:#?}"
        );
    }
    assert!(
        found
            .iter()
            .any(|(p, m)| p == "zebra" && m.contains("`turn`")),
        "{found:#?}"
    );
    assert_eq!(found.len(), 13, "{found:#?}");
    assert_eq!(loaded.settings.max_rounds, 60);
}

#[test]
fn wrong_rules_and_servers_are_told() {
    let user = "[permissions]\nrules = [{ tool = 'bash' }]\n[servers.python]\nargs = ['x']\n";
    let home = Home::new(user, "");
    let loaded = home.load(json!({}), &[]);
    let found = problems(&loaded);
    assert!(
        found.iter().any(|(_, m)| m
            .starts_with("`permissions.rules` has a wrong entry: number 1 has no `action`")),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|(p, m)| p == "python" && m.contains("needs `command`")),
        "{found:?}"
    );
    assert!(loaded.settings.servers.is_empty());
    assert_eq!(loaded.settings.rules[0].action, Action::Ask);
}

/// What is lost may have forbidden something.
#[test]
fn what_cannot_be_read_allows_nothing() {
    let read = |user: &str| {
        let settings = Home::new(user, "").load(json!({}), &[]).settings;
        let rules = settings.rules.iter();
        let rules = rules.map(|rule| format!("{} {:?}", rule.tool, rule.action));
        (settings.permission, rules.collect::<Vec<_>>().join(", "))
    };
    let rules = |rules: &str| read(&format!("[permissions]\nrules = [{rules}]\n"));
    let deny = "{ tool = 'file_*', action = 'deny' }";
    let allow = "{ tool = 'bash', action = 'allow' }";
    let text = |all: &str| all.to_owned();

    assert_eq!(read("[turn]\nmaxRounds = 'x'\n"), (None, text("")));
    for broken in [
        "[permissions]\ndefault = 'allow'\n[turn\n",
        "[permissions]\ndefault = 'denny'\n",
        "[permissions]\ndefalt = 'deny'\n",
        "[permission]\ndefault = 'deny'\n",
        "permissions = 'deny'\n",
        "[permissions]\nrules = 'none'\n",
        "[permissions]\ndefault = 'allow'\nrules = [2020-01-01]\n",
    ] {
        assert_eq!(read(broken), (Some(Action::Ask), text("")), "{broken}");
    }
    let kept = read("[permissions]\ndefault = 'deny'\nrules = 1\n");
    assert_eq!(kept, (Some(Action::Deny), text("")));

    // An action that cannot be read asks; a rule that is lost may have taken back what those before it allow.
    let asks = "{ tool = 'bash', action = 'alow' }";
    assert_eq!(
        rules(&format!("{deny}, {asks}")),
        (None, text("file_* Deny, bash Ask"))
    );
    let lost = "{ tol = 'bash', pattern = 'rm *', action = 'deny' }";
    assert_eq!(
        rules(&format!("{deny}, {allow}, {lost}, {allow}")),
        (Some(Action::Ask), text("file_* Deny, bash Allow"))
    );
    let lost = "{ tol = 'bash', action = 'allow' }";
    assert_eq!(
        rules(&format!("{deny}, {allow}, {lost}")),
        (None, text("file_* Deny, bash Allow"))
    );
}

#[test]
fn broken_file_is_told_and_the_rest_holds() {
    let home = Home::new("[turn]\nmaxRounds = 50\n", "\u{feff}[turn]\nmaxRounds = \n");
    let loaded = home.load(json!({}), &[]);
    assert_eq!(loaded.settings.max_rounds, 50);
    assert_eq!(loaded.problems.len(), 1);
    let problem = &loaded.problems[0];
    assert!(
        problem.message.contains("whole file is passed over"),
        "{}",
        problem.message
    );
    assert!(
        problem.range.start >= "\u{feff}[turn]\nmaxRounds".len(),
        "{problem:?}"
    );

    std::fs::write(home.root().join(PROJECT_FILE), b"model = '\xff'").unwrap();
    let loaded = home.load(json!({}), &[]);
    assert_eq!((loaded.problems.len(), loaded.settings.max_rounds), (1, 50));
    std::fs::remove_file(home.root().join(PROJECT_FILE)).unwrap();
    std::os::unix::fs::symlink(home.folders.config_file(), home.root().join(PROJECT_FILE)).unwrap();
    assert!(
        home.load(json!({}), &[]).problems[0]
            .message
            .contains("it is a link")
    );
}

#[test]
fn disabled_tools_add_up() {
    let home = Home::new(
        "[tools]\ndisabled = ['grep']\n",
        "[tools]\ndisabled = ['bash']\n",
    );
    let mut disabled = home
        .load(json!({"tools": {"disabled": ["lsp"]}}), &[])
        .settings
        .disabled_tools;
    disabled.sort();
    assert_eq!(disabled, ["bash", "grep", "lsp"]);
}

#[test]
fn a_network_is_none_all_or_the_named_hosts() {
    for (written, network) in [
        ("", Network::None),
        ("network = false", Network::None),
        ("network = true", Network::Public),
        ("network = 'whole'", Network::Whole),
        ("network = []", Network::None),
        (
            "network = ['crates.io', '*.crates.io:8443']",
            Network::Hosts(vec!["crates.io".into(), "*.crates.io:8443".into()]),
        ),
    ] {
        let home = Home::new(&format!("[sandbox]\n{written}\n"), "");
        let loaded = home.load(json!({}), &[]);
        assert_eq!(problems(&loaded), [], "{written}");
        assert_eq!(loaded.settings.sandbox.network, network, "{written}");
    }
    // What is wrong grants nothing, and no part of it does.
    for (written, says) in [
        (
            "'all'",
            "`sandbox.network` is \"all\": it can be `true`, `false`, `\"whole\"` or a list of hosts",
        ),
        ("7", "it can be `true`, `false`"),
        ("'true'", "it can be `true`, `false`"),
        (
            "['crates.io', '*']",
            "has a wrong entry: number 2 \"*\" means every host: write `true` in the place of the list",
        ),
        ("['https://crates.io/']", "name the host alone"),
        ("['crates.io', 7]", "number 2 is 7: it must be a text"),
    ] {
        let home = Home::new(&format!("[sandbox]\nnetwork = {written}\n"), "");
        let loaded = home.load(json!({}), &[]);
        let told = problems(&loaded);
        assert!(
            told.len() == 1 && told[0].0 == written && told[0].1.contains(says),
            "{told:?}"
        );
        assert_eq!(loaded.settings.sandbox.network, Network::None, "{written}");
    }
    let home = Home::new("", "[sandbox]\nnetwork = 'whole'\n");
    let loaded = home.load(json!({"sandbox": {"network": true}}), &[]);
    assert_eq!(loaded.problems.len(), 2);
    assert_eq!(loaded.settings.sandbox.network, Network::None);
}

#[test]
fn environment_flags_are_checked() {
    let home = Home::new("", "");
    let loaded = home.load(
        json!({}),
        &[
            ("POSTIL_SUBAGENT_WORKTREES", "0"),
            ("POSTIL_SUBAGENT_AUTO_MERGE", "maybe"),
        ],
    );
    assert!(!loaded.settings.worktrees.enabled && loaded.settings.worktrees.auto_merge);
    assert_eq!(
        loaded.problems[0].message,
        "POSTIL_SUBAGENT_AUTO_MERGE is `maybe`: set it to `true` or `false`"
    );
}

#[test]
fn schema_names_every_setting() {
    let schema = schema();
    assert_eq!(
        schema["properties"]["turn"]["properties"]["maxRounds"]["default"],
        60
    );
    assert_eq!(
        schema["properties"]["proxy"]["properties"]["mode"]["enum"],
        json!(["threads", "always", "off"])
    );
    assert_eq!(
        schema["properties"]["servers"]["additionalProperties"]["properties"]["command"]["type"],
        "string"
    );
    assert!(
        schema["properties"]["model"]["description"]
            .as_str()
            .unwrap()
            .contains("provider/model")
    );
    let valid =
        json!({"model": "a/b", "turn": {"maxRounds": 3}, "servers": {"x": {"command": "y"}}});
    assert!(jsonschema::is_valid(&schema, &valid));
    assert!(!jsonschema::is_valid(
        &schema,
        &json!({"turn": {"maxRound": 3}})
    ));
}
