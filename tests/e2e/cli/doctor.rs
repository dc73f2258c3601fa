//! What `postil doctor` finds, and what is said of it where it matters.

use super::*;

/// The findings that are faults: what they are about, and their text.
fn faults(workspace: &Workspace) -> (i32, Vec<(String, String)>) {
    let ran = postil(workspace, &["doctor", "--json"]);
    let all = ran.json();
    let of = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let rows = all.as_array().expect("findings").iter();
    let faults = rows
        .filter(|row| row["ok"] == false)
        .map(|row| (of(row, "what"), of(row, "text")));
    (ran.code, faults.collect())
}

#[track_caller]
fn has(faults: &[(String, String)], what: &str, says: &str) {
    let named = faults
        .iter()
        .any(|(about, text)| about == what && text.contains(says));
    assert!(named, "{what}: {says}\n{faults:#?}");
}

const WRITE: &str = r#"{"path":"secret/x.rs","content":"x"}"#;

#[test]
fn a_rule_for_a_tool_that_there_is_not_is_told_and_allows_nothing() {
    let workspace = project();
    postil(&workspace, &["trust", "--yes"]).ok();
    let call = |name: &str, input: &str| postil(&workspace, &["tools", "call", name, input]);
    let bash = r#"{"command":"true"}"#;

    // What was to be denied is asked about, whatever was allowed before, and nobody is there to be asked.
    workspace.configure(
        "[permissions]\ndefault = \"allow\"\nrules = [{ tool = \"bash\", action = \"allow\" }, { tool = \"Bash\", action = \"deny\" }]\n",
    );
    let (code, found) = faults(&workspace);
    let told = "`permissions.rules` has a wrong entry: number 2 is wrong: its `tool` \"Bash\" is no tool: did you mean `bash`?";
    has(&found, "settings", told);
    assert_eq!(code, 1);
    assert_eq!(call("bash", bash).code, 1);
    // Also of what only reads.
    workspace.configure(
        "[[permissions.rules]]\ntool = \"File-Read\"\npattern = \"src/*\"\naction = \"deny\"\n",
    );
    has(
        &faults(&workspace).1,
        "settings",
        "did you mean `file_read`?",
    );
    assert_eq!(call("file_read", r#"{"path":"src/main.rs"}"#).code, 1);
    // None is near.
    workspace.configure(
        "[permissions]\ndefault = \"allow\"\nrules = [{ tool = \"mcp__other__run\", action = \"deny\" }]\n",
    );
    has(
        &faults(&workspace).1,
        "settings",
        "is no tool: `postil tools list`",
    );
    assert_eq!(call("file_write", WRITE).code, 1);

    workspace.configure(
        "[permissions]\ndefault = \"allow\"\n[tools]\ndisabled = [\"grep\", \"Bash\"]\n",
    );
    let told =
        "`tools.disabled` has a wrong entry: number 2 \"Bash\" is no tool: did you mean `bash`?";
    has(&faults(&workspace).1, "settings", told);
    for (name, input) in [("bash", bash), ("grep", r#"{"pattern":"x"}"#)] {
        let said = call(name, input).err;
        assert!(said.contains(&format!("Tool {name} is disabled")), "{said}");
    }
    assert_eq!(call("file_write", WRITE).code, 1);

    // Several are named at once.
    workspace.configure(
        "[permissions]\ndefault = \"allow\"\n[tools]\ndisabled = [\"bash*\"]\n[[permissions.rules]]\ntool = \"web_*\"\naction = \"deny\"\n",
    );
    let (_, found) = faults(&workspace);
    assert!(
        found.iter().all(|(about, _)| about != "settings"),
        "{found:?}"
    );
    call("bash_list", "{}").refused("disabled");
    call("file_write", WRITE).ok();
}

#[test]
fn a_rule_names_a_path_in_any_way() {
    let workspace = project();
    postil(&workspace, &["trust", "--yes"]).ok();
    let root = workspace.root().display().to_string();
    let link = workspace.root().with_file_name("link");
    std::os::unix::fs::symlink(workspace.root(), &link).expect("a link");
    for pattern in [
        String::from("secret/*"),
        String::from("./secret/*"),
        format!("{root}/secret/*"),
        format!("{}/secret/*", link.display()),
    ] {
        for tool in ["file_write", "file_*", "*"] {
            workspace.configure(&format!(
                "[[permissions.rules]]\ntool = \"{tool}\"\npattern = \"{pattern}\"\naction = \"deny\"\n"
            ));
            let call = |input: &str| postil(&workspace, &["tools", "call", "file_write", input]);
            call(WRITE).refused("not allowed");
            call(r#"{"path":"free/x.rs","content":"x"}"#).ok();
            std::fs::remove_dir_all(workspace.path("free")).expect("removed");
        }
    }
    // `./run` is another command than `run`.
    workspace.configure(
        "[[permissions.rules]]\ntool = \"*\"\npattern = \"./true*\"\naction = \"allow\"\n",
    );
    let bash = r#"{"command":"true"}"#;
    assert_eq!(postil(&workspace, &["tools", "call", "bash", bash]).code, 1);
}

#[test]
fn records_that_are_damaged_are_named() {
    let workspace = project();
    let damage = |name: &str| {
        std::fs::create_dir_all(workspace.data()).expect("folders");
        std::fs::write(workspace.data().join(name), "{").expect("written");
    };
    for name in ["trust.json", "permissions.json", "agents.json"] {
        damage(name);
    }
    let (code, found) = faults(&workspace);
    assert_eq!(code, 1);
    has(&found, "trust", "trust.json is damaged: move it away, then");
    has(&found, "record", "permissions.json is damaged");
    has(&found, "record", "agents.json is damaged");
    let refused = postil(&workspace, &["trust"]).refused("trust.json is damaged: move it away");
    assert!(!refused.err.contains("would allow"), "{refused:?}");
}

#[test]
fn a_language_server_that_nothing_comes_of_is_named() {
    let workspace = project();
    workspace.configure(
        "[servers.python]\ncommand = \"pylspp\"\n[servers.pythn]\ncommand = \"sh\"\n[servers.ourown]\ncommand = \"sh\"\n",
    );
    let (code, found) = faults(&workspace);
    assert_eq!(code, 1);
    has(&found, "language server", "python: pylspp is not on PATH");
    let told = "`servers.pythn` is used for no file: did you mean `servers.python`?";
    has(&found, "language server", told);
    // An editor may know a language that is not known here.
    assert!(
        found.iter().all(|(_, text)| !text.contains("ourown")),
        "{found:?}"
    );
    let out = postil(&workspace, &["doctor"]).out;
    assert!(
        out.contains("`servers.ourown` is used where an editor"),
        "{out}"
    );
}

#[test]
fn what_a_program_gets_in_its_environment_is_not_shown() {
    let workspace = project();
    workspace.configure(
        "[agents.mine]\ncommand = \"mine\"\n[agents.mine.env]\nTOKEN = \"canary\"\n[servers.python]\ncommand = \"sh\"\n[servers.python.env]\nTOKEN = \"canary\"\n",
    );
    for args in [&["config", "show"][..], &["config", "show", "--json"]] {
        let shown = postil(&workspace, args).ok().out;
        assert!(!shown.contains("canary"), "{shown}");
        for name in ["agents.mine.env.TOKEN", "servers.python.env.TOKEN"] {
            let line = shown.split(name).nth(1).expect(name);
            assert!(line[..30].contains("(set)"), "{line}");
        }
    }
}

#[test]
fn a_settings_file_of_which_nothing_was_read_is_told_so() {
    let workspace = project();
    for bytes in [
        &b"model = 'offline' # \xff\n"[..],
        &[b"# x\n".repeat(1 << 19), b"model = 'offline'\n".to_vec()].concat(),
    ] {
        std::fs::create_dir_all(workspace.config_file().with_file_name("")).expect("a folder");
        std::fs::write(workspace.config_file(), bytes).expect("written");
        let (code, found) = faults(&workspace);
        assert_eq!(code, 1);
        has(&found, "settings", "config.toml (not read)");
        // In no line of it.
        has(
            &found,
            "settings",
            "config.toml: it cannot be read and is passed over (",
        );
        has(&found, "model", "config.toml cannot be used, so");
    }
    workspace.configure("[turn]\nx = 1\n");
    has(&faults(&workspace).1, "settings", "config.toml (read)");
}
