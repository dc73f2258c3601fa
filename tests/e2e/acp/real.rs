//! Agents that nobody here wrote, over their own adapters, on a scripted model on loopback, in a network that is
//! nothing but loopback. `tests/peers install` gets them.

use super::{FILE, cli, rounds, trust};
use crate::harness::Workspace;
use crate::{loopback, peers};

const CODEX: &str = "model = \"scripted\"\nmodel_provider = \"loopback\"\n[model_providers.loopback]\nname = \"loopback\"\n\
base_url = \"http://127.0.0.1:{port}/v1\"\nenv_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n";
const OPENCODE: &str = r#"{"model": "loopback/scripted", "small_model": "loopback/scripted", "autoupdate": false, "share": "disabled",
"provider": {"loopback": {"npm": "@ai-sdk/anthropic", "name": "loopback", "models": {"scripted": {"name": "scripted"}},
"options": {"baseURL": "http://127.0.0.1:{port}/v1", "apiKey": "dummy"}}}}"#;

/// `postil reply` with the peer as the agent of this name, found on PATH as `program`. What it said; the model's
/// log. `None`, and a note: something is missing here.
fn answered(
    workspace: &Workspace,
    name: &str,
    peer: &str,
    program: &str,
    edits: bool,
) -> Option<(String, String)> {
    if !peers::have(&[peer]) {
        return None;
    }
    let mut command = loopback::command(workspace, name, env!("CARGO_BIN_EXE_postil"))?;
    workspace.write(FILE, format!("// AUTHOR: return 8\n{}", super::CODE));
    workspace.configure(&format!("model = 'acp/{name}'\n"));
    trust(workspace);
    let base = workspace.root().parent().expect("a folder");
    std::fs::create_dir_all(base.join("bin")).expect("made");
    std::os::unix::fs::symlink(
        peers::find(peer).expect("there"),
        base.join("bin").join(program),
    )
    .expect("linked");
    for (place, text) in [
        ("home/.codex/config.toml", CODEX),
        ("config/opencode/opencode.json", OPENCODE),
    ] {
        let place = base.join(place);
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("made");
        std::fs::write(place, text).expect("written");
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let config = match name {
        "opencode" => "config/opencode/opencode.json",
        _ => "home/.codex/config.toml",
    };
    command
        .args(["reply", "--all", "--yes"])
        .env("PATH", format!("{}:{path}", base.join("bin").display()))
        .env("MODEL_CONFIG", base.join(config));
    if edits {
        command.env("MODEL_EDIT", workspace.path(FILE));
    }
    let output = command.output().expect("it runs");
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let log = std::fs::read_to_string(loopback::log(workspace)).unwrap_or_default();
    assert!(output.status.success(), "{}\n{log}", said.join("\n"));
    Some((said.join("\n"), log))
}

/// It changed the file, which is told of and can be undone, and its last words are the answer.
fn changes_a_file(name: &str, peer: &str, program: &str) {
    let workspace = Workspace::new();
    let Some((said, log)) = answered(&workspace, name, peer, program, true) else {
        return;
    };
    let text = workspace.read(FILE);
    assert!(
        text.contains("// AGENT: All threads are answered.") && text.contains("    8\n"),
        "{text}\n{said}\n{log}"
    );
    assert!(
        said.contains("changed src/net.rs on disk by itself; Undo last turn puts it back"),
        "{said}"
    );
    assert!(
        log.contains("It is not the author speaking"),
        "the rules came with it: {log}"
    );
    let tools = rounds(&workspace);
    assert!(
        tools.iter().any(|round| round["role"] == "tool"),
        "{tools:?}"
    );
    let (_, runs, _) = cli(&workspace, &["workflow", "list", "--json"]);
    let runs: serde_json::Value = serde_json::from_str(&runs).expect("runs");
    let (code, out, err) = cli(
        &workspace,
        &["undo", runs[0]["id"].as_str().expect("an id")],
    );
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(
        workspace.read(FILE),
        format!("// AUTHOR: return 8\n{}", super::CODE)
    );
}

#[test]
fn claude_code_changes_a_file_and_answers() {
    changes_a_file("claude-code", "claude-acp", "claude-agent-acp");
}

#[test]
fn opencode_changes_a_file_and_answers() {
    changes_a_file("opencode", "opencode", "opencode");
}

#[test]
fn codex_reads_threads_through_our_server_and_answers() {
    let workspace = Workspace::new();
    let Some((said, log)) = answered(&workspace, "codex", "codex-acp", "codex-acp", false) else {
        return;
    };
    let text = workspace.read(FILE);
    assert!(
        text.contains("// AGENT: All threads are answered."),
        "{text}\n{said}\n{log}"
    );
    // The model's second request holds what get_threads answered; nothing that writes was offered.
    let answered = log.lines().any(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        line["results"].to_string().contains("return 8")
    });
    assert!(answered, "{log}");
    assert!(!log.contains("respond_to_thread"), "{log}");
}

/// The other way round: a client that nobody here wrote runs our agent.
#[test]
fn acpx_runs_our_agent() {
    if !peers::have(&["acpx"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write(FILE, super::CODE);
    workspace.configure("model = 'anthropic/claude-sonnet-4-5'\n");
    trust(&workspace);
    let acpx = peers::find("acpx").expect("there");
    let Some(mut command) = loopback::command(&workspace, "acpx", acpx) else {
        return;
    };
    command
        .arg("--agent")
        .arg(format!("{} acp", env!("CARGO_BIN_EXE_postil")))
        .args(["exec", "let load return 8"])
        .env("MODEL_EDIT", FILE);
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    for shown in [
        "file_edit src/net.rs",
        "All threads are answered.",
        "end_turn",
    ] {
        assert!(said.contains(shown), "{shown}: {said}\n{errors}");
    }
    assert!(workspace.read(FILE).contains("    8\n"), "{said}");
}
