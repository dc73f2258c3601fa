//! Which model answers, through the built binary: a provider in the user's settings, a key, an Ollama on
//! this machine; and that a key is nowhere to be found afterwards.

use std::process::Output;

use serde_json::{Value, json};

use super::bench::{CODE, FILE};
use super::{Model, Step, call};
use crate::harness::Workspace;

const KEY: &str = "sk-canary-0123456789";

pub(super) fn text(output: &Output) -> String {
    let bytes = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(super) fn reply(workspace: &Workspace, environment: &[(&str, &str)]) -> Output {
    let mut command = workspace.postil();
    command.args(["reply", "--all", "--yes"]);
    command.envs(environment.iter().copied());
    command.output().expect("postil runs")
}

/// What doctor says of the model, a finding a line, with its mark.
pub(super) fn doctor(workspace: &Workspace, online: bool, environment: &[(&str, &str)]) -> String {
    let mut command = workspace.postil();
    command.args(["doctor", "--json"]);
    command.args(online.then_some("--online"));
    command.envs(environment.iter().copied());
    let output = command.output().expect("postil runs");
    let findings: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    findings
        .as_array()
        .expect("a list")
        .iter()
        .filter(|f| f["what"] == "model")
        .map(|f| format!("{} {}\n", f["ok"], f["text"].as_str().unwrap_or_default()))
        .collect()
}

/// A project with one thread, and no Ollama but `ollama`.
pub(super) fn project(toml: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write(FILE, CODE);
    workspace.configure(toml);
    workspace
}

/// As Ollama answers: a list, what each model can do, and its own manner of Chat Completions.
pub(super) fn ollama(script: Vec<Step>) -> Model {
    let model = |name: &str, at: &str| json!({"name": name, "model": name, "modified_at": at, "details": {"families": ["qwen3"]}});
    Model::start(script)
        .page(
            "GET /api/tags",
            json!({"models": [model("qwen3:8b", "2026-09-02T10:00:00Z")]}),
        )
        .page(
            "POST /api/show",
            json!({"capabilities": ["completion", "tools", "thinking"], "model_info": {}}),
        )
}

#[test]
fn an_ollama_on_this_machine_answers_without_a_key() {
    let model = ollama(vec![
        Step::calls(vec![
            call("call_1", "file_read", json!({"path": FILE})),
            call("call_2", "glob", json!({"pattern": "*"})),
        ]),
        Step::text("It is fine as it is."),
    ]);
    // The only place that says where it listens.
    let workspace = project(&format!(
        "[providers.ollama]\nbaseUrl = \"{}\"\n",
        model.v1()
    ));
    let said = doctor(&workspace, false, &[]);
    assert!(
        said.contains("ollama/qwen3:8b, because it is configured")
            && said.contains("no key is sent"),
        "{said}"
    );
    let output = reply(&workspace, &[]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(
        workspace
            .read(FILE)
            .contains("// AGENT: It is fine as it is."),
        "{}",
        workspace.read(FILE)
    );
    let asked = model.requests();
    assert_eq!(asked.len(), 2);
    assert!(
        asked[1]
            .headers
            .iter()
            .all(|(name, _)| name != "authorization")
    );
    let results: Vec<&Value> = asked[1].body["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter(|m| m["role"] == "tool")
        .collect();
    assert_eq!(results.len(), 2, "{results:?}");
}

#[test]
fn a_server_of_their_own_that_is_down_is_named_and_nobody_else_is_asked() {
    let workspace = project("[providers.mine]\nbaseUrl = \"http://127.0.0.1:9/v1\"\n");
    let env = [("ANTHROPIC_API_KEY", KEY)];
    let said = text(&reply(&workspace, &env));
    assert!(
        said.contains("does not run at http://127.0.0.1:9/v1"),
        "{said}"
    );
    let said = doctor(&workspace, false, &env);
    assert!(
        said.contains("does not run at http://127.0.0.1:9/v1"),
        "{said}"
    );
}

#[test]
fn attack_08_a_key_from_a_program_is_used_and_found_nowhere() {
    let model = Model::start(vec![Step::text("It is fine.")]);
    let workspace = project(&format!(
        "model = \"mine/gpt-6.1-sol\"\n[providers.mine]\nbaseUrl = \"{}\"\napi = \"responses\"\napiKeyCommand = [\"sh\", \"-c\", \"printf 'sk-canary-%s' 0123456789\"]\n",
        model.v1()
    ));
    let output = reply(&workspace, &[("POSTIL_LOG", "trace")]);
    let said = text(&output) + &doctor(&workspace, false, &[]);
    assert!(
        output.status.success() && workspace.read(FILE).contains("AGENT: It is fine."),
        "{said}"
    );
    let sent = format!("Bearer {KEY}");
    assert!(
        model.requests()[0]
            .headers
            .iter()
            .any(|(n, v)| n == "authorization" && *v == sent)
    );
    assert!(!model.requests()[0].body.to_string().contains(KEY));
    assert!(!said.contains(KEY), "{said}");
    for folder in [
        workspace.data(),
        workspace.root().to_owned(),
        workspace.data().join("../../state"),
    ] {
        assert_nowhere(&folder);
    }
}

/// It is asked anew the next time: nothing is to be started again.
#[test]
fn a_key_from_a_program_that_is_refused_is_to_be_given_anew() {
    let model = Model::start(vec![Step::error(401, "invalid_api_key", "no such key")]);
    let workspace = project(&format!(
        "model = \"mine/gpt-6.1-sol\"\n[providers.mine]\nbaseUrl = \"{}\"\napi = \"responses\"\napiKeyCommand = [\"echo\", \"sk-old\"]\n",
        model.v1()
    ));
    let said = text(&reply(&workspace, &[]));
    let wanted = "the key in apiKeyCommand (echo) was refused";
    assert!(
        said.contains(wanted) && said.contains("have it give a valid key, and ask again"),
        "{said}"
    );
}

#[test]
fn a_server_on_this_machine_that_wants_a_key_for_all_is_told_from_one_that_does_not_run() {
    let list = json!({"data": [{"id": "qwen3"}]});
    let model = Model::start(vec![Step::text("It is fine.")])
        .page("GET /v1/models", list)
        .locked(KEY);
    // The password is what must be found nowhere here.
    let base = |address: &str| address.replace("http://", &format!("http://bob:{KEY}@"));
    let settings = |address: &str, more: &str| {
        format!(
            "model = \"vllm\"\n[providers.vllm]\nbaseUrl = \"{}\"\n{more}",
            base(address)
        )
    };
    let named = "apiKeyEnv = \"VK\"\n";
    let workspace = project(&settings("http://127.0.0.1:9/v1", named));
    let mut said = Vec::new();
    let mut fails = |environment: &[(&str, &str)], with: &str| {
        for text in [
            text(&reply(&workspace, environment)),
            doctor(&workspace, false, environment),
        ] {
            assert!(text.contains(with), "{with}: {text}");
            said.push(text);
        }
    };
    let other = [("VK", "sk-other-0123456789")];
    fails(&other, "does not run at http://127.0.0.1:9/v1:");
    fails(&[], "set VK in the environment");
    workspace.configure(&settings(&model.v1(), named));
    let refused = format!("the key in VK was refused by {} (401)", model.v1());
    fails(&other, &refused);
    workspace.configure(&settings(&model.v1(), ""));
    fails(&[], &format!("{} wants a key (401)", model.v1()));
    for text in said {
        assert!(!text.contains(KEY), "{text}");
    }
    assert_nowhere(&workspace.data());

    workspace.configure(&settings(&model.v1(), named));
    let output = reply(&workspace, &[("VK", KEY)]);
    assert!(
        workspace.read(FILE).contains("AGENT: It is fine."),
        "{}",
        text(&output)
    );
    let (_, listed) = super::chosen::model(&workspace, &[], &[("VK", KEY)]);
    assert!(listed.contains("vllm/qwen3"), "{listed}");
}

/// No file below `folder` holds the key.
fn assert_nowhere(folder: &std::path::Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.map(|e| e.expect("an entry")) {
        let path = entry.path();
        if path.is_dir() {
            assert_nowhere(&path);
        } else if let Ok(bytes) = std::fs::read(&path) {
            let found = bytes.windows(KEY.len()).any(|w| w == KEY.as_bytes());
            assert!(!found, "the key is in {}", path.display());
        }
    }
}

/// A key in the system's keyring, which is asked through the system's own program: here one of ours, on the
/// user's PATH. One of the same name in the workspace is not run, whatever the PATH.
#[cfg(target_os = "linux")]
#[test]
fn a_key_in_the_keyring_is_used() {
    use std::os::unix::fs::PermissionsExt as _;

    let model = Model::start(vec![Step::text("It is fine.")]);
    let workspace = project(&format!(
        "model = \"anthropic/claude-sonnet-5-5\"\n[providers.anthropic]\nbaseUrl = \"{}\"\nkeyring = true\n",
        model.url()
    ));
    let program = |path: &std::path::Path, text: &str| {
        std::fs::write(path, text).expect("a program");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("rights");
    };
    let bin = tempfile::tempdir().expect("a folder");
    let ours = "#!/bin/sh\n[ \"$*\" = 'lookup service postil account anthropic' ] && printf 'sk-canary-%s' 0123456789\n";
    program(&bin.path().join("secret-tool"), ours);
    let evil = workspace.write("secret-tool", "");
    program(
        &evil,
        "#!/bin/sh\ntouch \"$(dirname \"$0\")/evil\"; echo wrong\n",
    );
    let path = format!(".:{}:/usr/bin:/bin", bin.path().display());
    let environment = [("PATH", path.as_str())];
    let said = doctor(&workspace, false, &environment);
    assert!(
        said.contains("the key comes from keyring (secret-tool) when a turn begins"),
        "{said}"
    );
    let output = reply(&workspace, &environment);
    assert!(output.status.success(), "{}", text(&output));
    assert!(
        model.requests()[0]
            .headers
            .iter()
            .any(|(n, v)| n == "x-api-key" && v == KEY)
    );
    assert!(!workspace.path("evil").exists());
    assert!(!text(&output).contains(KEY));
}

#[test]
fn a_workspace_names_no_provider_and_no_program() {
    let workspace = project("model = \"offline\"\n");
    workspace.write(
        "postil.toml",
        "[providers.mine]\nbaseUrl = \"http://127.0.0.1:9/v1\"\napiKeyCommand = [\"sh\", \"-c\", \"touch evil\"]\n[models.\"mine/x\"]\ninputPrice = 0\n",
    );
    let mut command = workspace.postil();
    let output = command.arg("doctor").output().expect("postil runs");
    let said = text(&output);
    assert!(
        said.contains("`providers` counts in your own config.toml only"),
        "{said}"
    );
    assert!(
        said.contains("`models` counts in your own config.toml only"),
        "{said}"
    );
    assert!(!workspace.path("evil").exists());
}

#[test]
fn doctor_says_which_model_and_why_and_the_fix() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
    let nobody = format!("http://{}/v1", nobody.expect("a free port"));
    let no_ollama = format!("[providers.ollama]\nbaseUrl = \"{nobody}\"\n");
    let key = [("ANTHROPIC_API_KEY", KEY)];
    type Case<'a> = (String, &'a [(&'a str, &'a str)], &'a [&'a str]);
    let cases: Vec<Case> = vec![
        (
            no_ollama.clone(),
            &[],
            &[
                "null none, because nothing else is configured",
                "set ANTHROPIC_API_KEY or OPENAI_API_KEY, start Ollama",
            ],
        ),
        (
            no_ollama.clone(),
            &key,
            &[
                "true anthropic/claude-",
                "because its key is in the environment",
                "https://api.anthropic.com",
                "comes from ANTHROPIC_API_KEY (not shown)",
                "takes images",
                "$2 a million tokens in",
            ],
        ),
        (
            String::from("model = \"openai/gpt-9\"\n"),
            &key,
            &["false no key for openai/gpt-9: set OPENAI_API_KEY"],
        ),
        (
            String::from("model = \"nobody/x\"\n"),
            &key,
            &["false the model `nobody/x` is of no provider", "openrouter"],
        ),
        (
            format!("model = \"mine/x\"\n[providers.mine]\nbaseUrl = \"{nobody}\"\n"),
            &[],
            &["no key is sent", "no known price", "[models.\"mine/x\"]"],
        ),
        (
            format!(
                "model = \"mine/x\"\n[providers.mine]\nbaseUrl = \"{nobody}\"\napiKeyCommand = [\"no-such-program\"]\n[models.\"mine/x\"]\ninputPrice = 1.5\noutputPrice = 3\ncontextWindow = 4096\n"
            ),
            &[],
            &[
                "false the program of apiKeyCommand (`no-such-program`) is not on PATH",
                "holds 4096 tokens, takes no images, costs $1.5 a million tokens in, $3 out",
            ],
        ),
        (
            format!(
                "model = \"mine/x\"\n[providers.mine]\nbaseUrl = \"{nobody}\"\napiKeyCommand = []\n"
            ),
            &[],
            &["false apiKeyCommand is empty: write the program and its arguments there"],
        ),
        (
            String::from("model = \"mine/x\"\n[providers.mine]\napi = \"chat\"\n"),
            &[],
            &[
                "false the base URL of mine is no http or https address: correct providers.mine.baseUrl",
            ],
        ),
    ];
    for (toml, environment, words) in cases {
        let said = doctor(&project(&toml), false, environment);
        for word in words {
            assert!(said.contains(word), "{word}\n{said}");
        }
        assert!(!said.contains("canary"), "{said}");
    }
}

#[test]
fn doctor_asks_the_model_where_it_is_told_to() {
    let model = Model::start(vec![
        Step::text("ok"),
        Step::error(401, "invalid_api_key", &format!("Incorrect API key: {KEY}")),
    ]);
    let workspace = project("model = \"openai/gpt-6.1-sol\"\n");
    let url = model.v1();
    let environment = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", url.as_str())];
    let said = doctor(&workspace, false, &environment);
    assert!(
        said.contains("true openai/gpt-6.1-sol, because `model` names it"),
        "{said}"
    );
    assert!(model.requests().is_empty(), "nothing is sent unasked");
    let said = doctor(&workspace, true, &environment);
    assert!(
        said.contains("true it was asked a small question and answered"),
        "{said}"
    );
    assert_eq!(model.requests()[0].body["max_output_tokens"], 16);
    let said = doctor(&workspace, true, &environment);
    assert!(
        said.contains("false the key in OPENAI_API_KEY was refused") && !said.contains("canary"),
        "{said}"
    );
    drop(model);
    let said = doctor(&workspace, true, &environment);
    assert!(
        said.contains("cannot be reached") && said.contains("OPENAI_BASE_URL"),
        "{said}"
    );
}

#[test]
fn doctor_says_what_is_wrong_on_the_way_to_the_model() {
    let model = Model::start(vec![
        Step::error(404, "not_found", "Not Found"),
        Step::text("ok"),
    ]);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
    let nobody = nobody.expect("a free port");
    let workspace = project("model = \"openai/gpt-6.1-sol\"\n");
    let says = |environment: &[(&str, &str)], words: &[&str]| {
        let environment = [&[("OPENAI_API_KEY", KEY)], environment].concat();
        let said = doctor(&workspace, true, &environment);
        for word in words {
            assert!(said.contains(word), "{word}\n{said}");
        }
    };
    // A server that speaks Chat Completions alone.
    let url = model.v1();
    says(
        &[("OPENAI_BASE_URL", &url)],
        &["or speaks no Responses API (404, Not Found): set providers.openai.api = \"chat\""],
    );
    // The whole address, where its base is meant.
    says(
        &[("OPENAI_BASE_URL", &format!("{url}/responses"))],
        &[
            &format!("it is reached at {url}\n"),
            "true it was asked a small question and answered",
        ],
    );
    says(
        &[("OPENAI_BASE_URL", &format!("{url}?api-version=1"))],
        &[
            "false the base URL of openai has a query, and none is sent: leave out all from `?` on in OPENAI_BASE_URL",
        ],
    );
    // Proxies, which https goes through.
    let base = ("OPENAI_BASE_URL", "https://models.example/v1");
    says(
        &[base, ("ALL_PROXY", "socks5://127.0.0.1:9")],
        &[
            "the proxy in ALL_PROXY is of a kind that is not spoken here (unsupported scheme socks5): name an HTTP proxy there",
        ],
    );
    says(
        &[base, ("HTTPS_PROXY", &format!("http://{nobody}"))],
        &[
            "https://models.example/v1 cannot be reached through the proxy in HTTPS_PROXY (",
            "correct HTTPS_PROXY",
        ],
    );
}

#[test]
fn a_budget_needs_a_price() {
    let model = Model::start(vec![Step::text("It is fine.")]).page("GET /v1/models", json!({}));
    let project = |prices: &str| {
        project(&format!(
            "model = \"mine/x\"\n[providers.mine]\nbaseUrl = \"{}\"\n[models.\"mine/x\"]\n{prices}",
            model.v1()
        ))
    };
    let reply = |workspace: &Workspace| {
        let mut command = workspace.postil();
        command.args(["reply", "--all", "--yes", "--budget", "1.50"]);
        command.output().expect("postil runs")
    };
    let output = reply(&project(""));
    let said = text(&output);
    assert!(
        !output.status.success()
            && said.contains("a budget cannot hold mine/x")
            && said.contains("set inputPrice and outputPrice in [models.\"mine/x\"]"),
        "{said}"
    );
    assert!(model.requests().is_empty());
    let workspace = project("inputPrice = 1\noutputPrice = 2\n");
    let output = reply(&workspace);
    assert!(output.status.success(), "{}", text(&output));
    assert!(workspace.read(FILE).contains("// AGENT: It is fine."));
}

/// The text of each file of the repository that tells people of models, by its path.
fn told() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = std::process::Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "README.md", "docs/*.md", "editors/*.md"])
        .args(["editors/vscode/package.json", "editors/vscode/src/runs.ts"])
        .output()
        .expect("git runs");
    let files: Vec<_> = String::from_utf8(list.stdout)
        .expect("UTF-8")
        .split_terminator('\0')
        .map(|file| {
            let text = std::fs::read_to_string(root.join(file)).expect(file);
            (file.to_owned(), text)
        })
        .collect();
    assert!(files.len() > 20, "{files:?}");
    files
}

#[test]
fn each_model_that_people_are_told_of_is_known() {
    const OF: [&str; 3] = ["acp/", "anthropic/", "openai/"];
    let part = |c: char| c.is_ascii_alphanumeric() || "/.:_-".contains(c);
    let mut named = std::collections::BTreeMap::new();
    for (file, text) in told() {
        for word in text.split(|c| !part(c)) {
            let word = word.trim_end_matches(['.', ':']);
            if OF
                .iter()
                .filter_map(|of| word.strip_prefix(of))
                // `NAME` stands for any.
                .any(|name| !name.is_empty() && name != "NAME")
            {
                named.entry(word.to_owned()).or_insert(file.clone());
            }
        }
    }
    for word in ["acp/claude-code", "anthropic/claude-sonnet-5-5"] {
        assert!(named.contains_key(word), "{named:?}");
    }
    let keys = [("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY)];
    for (name, file) in named {
        let said = doctor(&project(&format!("model = \"{name}\"\n")), false, &keys);
        // An agent need not be installed to be known; of a model that is known the price is, too.
        for unknown in ["no agent is called", "is of no provider", "no known price"] {
            assert!(!said.contains(unknown), "{file}: {said}");
        }
        let shown = name.starts_with("acp/") || said.contains(&name);
        assert!(shown && !said.is_empty(), "{file}: {name}: {said}");
    }
}

/// Whole as it is copied, and each line of its own that is to be chosen from.
#[test]
fn what_people_copy_into_a_configuration_can_be_read() {
    let mut read = 0;
    let mut check = |file: &str, text: &str| {
        let parsed = toml::from_str::<toml::Table>(text);
        assert!(parsed.is_ok(), "{file}: {parsed:?}\n{text}");
        read += 1;
    };
    for (file, text) in told() {
        for block in text.split("```toml\n").skip(1) {
            check(&file, block.split("```").next().unwrap_or_default());
        }
        for line in text.lines().filter_map(|line| line.strip_prefix("# ")) {
            if line.starts_with("model = ") {
                check(&file, line);
            }
        }
    }
    assert!(read > 20, "{read}");
}
