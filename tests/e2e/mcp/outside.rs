//! Clients that nobody here wrote: the Python SDK, the inspector's command line, and two agents, whose model is
//! scripted and sits on loopback. `tests/peers install` gets them.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::agent::output;
use super::editor::listening;
use super::{QUESTION, workspace};
use crate::harness::Workspace;
use crate::{loopback, peers};

const BINARY: &str = env!("CARGO_BIN_EXE_postil");

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

#[test]
fn the_python_sdk_calls_every_kind_of_tool() {
    if !peers::have(&["mcp-python"]) {
        return;
    }
    let workspace = workspace();
    let mut command = workspace.command(peers::find("mcp-python").expect("the peer"));
    command
        .arg(fixture("mcp_client.py"))
        .arg(BINARY)
        .arg(workspace.root());
    let seen: Value = serde_json::from_str(&output(command)).expect("JSON");
    assert_eq!(seen["server"], "postil");
    assert!(
        seen["tools"]
            .as_array()
            .is_some_and(|tools| tools.contains(&json!("respond_to_thread")))
    );
    assert_eq!(seen["done"]["file"], "src/a.rs");
    assert_eq!(seen["listed"], true);
    assert_eq!(seen["read"]["thread"][1]["name"], "sdk");
    assert!(
        seen["prompt"]
            .as_str()
            .is_some_and(|text| text.contains("get_threads"))
    );
    assert_eq!(seen["error"], true);
    assert_eq!(seen["updated"], true);
    assert_eq!(seen["why"], "fn a() {}");
    assert_eq!(seen["hits"], 0);
    assert_eq!(seen["no_editor"], "no_editor");
    assert!(
        workspace
            .read("src/a.rs")
            .contains("// AGENT(sdk): Answered by the SDK.\n")
    );
}

#[test]
fn the_inspector_lists_and_calls_tools() {
    if !peers::have(&["mcp-inspector"]) {
        return;
    }
    let workspace = workspace();
    let inspect = |method: &str, more: &[&str]| -> Value {
        let mut command = workspace.command(peers::find("mcp-inspector").expect("the peer"));
        command
            .args(["--cli", BINARY, "mcp", "--method", method])
            .args(more);
        let text = output(command);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    // Strict: schemas that any client can use.
    let tools = inspect("tools/list", &["--strict"]);
    assert_eq!(tools["tools"].as_array().map(Vec::len), Some(13));
    let threads = inspect(
        "tools/call",
        &["--tool-name", "get_threads", "--tool-arg", "status=pending"],
    );
    let id = threads["structuredContent"]["threads"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let done = inspect(
        "tools/call",
        &[
            "--tool-name",
            "respond_to_thread",
            "--tool-arg",
            &format!("thread_id={id}"),
            "--tool-arg",
            "response=Answered by the inspector.",
        ],
    );
    assert_eq!(done["structuredContent"]["success"], true);
    assert!(
        workspace
            .read("src/a.rs")
            .contains("// AGENT: Answered by the inspector.\n")
    );
    let uri = format!("postil://thread/{id}");
    let listed = inspect("resources/list", &[]);
    assert!(
        listed["resources"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["uri"] == uri.as_str()))
    );
    let read = inspect("resources/read", &["--uri", &uri]);
    assert!(
        read["contents"][0]["text"]
            .as_str()
            .is_some_and(|text| text.contains("by the inspector"))
    );
    let prompt = inspect("prompts/get", &["--prompt-name", "answer_threads"]);
    assert!(
        prompt["messages"][0]["content"]["text"]
            .as_str()
            .is_some_and(|text| text.contains("get_threads"))
    );
}

/// An agent with a scripted model.
fn agent(workspace: &Workspace, name: &str) -> Option<Command> {
    loopback::command(workspace, name, peers::find(name).expect("the peer"))
}

/// The agent answers in the buffer of an editor that has the file open. What its model was given.
fn answers(workspace: &Workspace, command: Command) -> String {
    let editor = listening(workspace);
    editor.open("src/a.rs");
    editor.splice("src/a.rs", 0..0, "fn unsaved() {}\n\n");
    editor.diagnostics("src/a.rs");
    let said = output(command);
    let log = std::fs::read_to_string(loopback::log(workspace)).unwrap_or_default();
    assert!(said.contains("All threads are answered."), "{said}\n{log}");
    let text = editor.text("src/a.rs");
    assert!(
        text.contains("// AGENT: Answered by the model on loopback.\n"),
        "{text}\n{log}"
    );
    assert!(text.starts_with("fn unsaved() {}"), "{text}");
    assert_eq!(workspace.read("src/a.rs"), QUESTION);
    log
}

#[test]
fn claude_code_answers_a_thread_that_is_open_in_an_editor() {
    if !peers::have(&["claude"]) {
        return;
    }
    let workspace = workspace();
    let servers = json!({"mcpServers": {"postil": {"command": BINARY, "args": ["mcp"]}}});
    let list = workspace.path("../mcp.json");
    std::fs::write(&list, servers.to_string()).expect("written");
    let Some(mut command) = agent(&workspace, "claude") else {
        return;
    };
    command
        .args([
            "-p",
            "/mcp__postil__answer_threads",
            "--strict-mcp-config",
            "--mcp-config",
        ])
        .arg(&list)
        .args([
            "--allowedTools",
            "mcp__postil__get_threads,mcp__postil__respond_to_thread",
        ]);
    let log = answers(&workspace, command);
    assert!(
        log.contains("Answer the open threads of this workspace."),
        "{log}"
    );
}

#[test]
fn codex_answers_a_thread_that_is_open_in_an_editor() {
    if !peers::have(&["codex"]) {
        return;
    }
    let workspace = workspace();
    let Some(mut command) = agent(&workspace, "codex") else {
        return;
    };
    // Codex hands over a few variables only: where the user's folders are is one that the server needs.
    for setting in [
        "model=\"scripted\"",
        "model_provider=\"loopback\"",
        "approval_policy=\"never\"",
        "model_providers.loopback.name=\"loopback\"",
        "model_providers.loopback.base_url=\"http://127.0.0.1:{port}/v1\"",
        "model_providers.loopback.env_key=\"OPENAI_API_KEY\"",
        "model_providers.loopback.wire_api=\"responses\"",
        &format!("mcp_servers.postil.command={BINARY:?}"),
        "mcp_servers.postil.args=[\"mcp\"]",
        "mcp_servers.postil.env_vars=[\"XDG_DATA_HOME\", \"XDG_CONFIG_HOME\", \"XDG_STATE_HOME\"]",
    ] {
        command.args(["-c", setting]);
    }
    command.args(["exec", "--skip-git-repo-check", "Answer the open threads."]);
    answers(&workspace, command);
}
