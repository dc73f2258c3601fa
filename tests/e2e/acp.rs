//! Outside agents as AGENT, over the Agent Client Protocol. Of the scripted one only the brain is mocked: it is a
//! program of its own that speaks the protocol's lines.

mod another; // two in one thread
mod asking; // what it wants to do, and who decides
mod beside; // what its commands change
mod bound; // what it asks is shown whole, and what is allowed is bound to it
mod editor; // our own agent, in an editor that speaks the protocol
mod ends; // how a turn with it can end
mod faster; // what it has done before it is heard
mod garbled; // what is no text in its messages and its editor's
mod poisoned; // what the tools of others say of themselves
mod proposed; // nothing is configured, and one is found
mod real; // the real programs
mod ruled; // the author's rules and settings
mod writing; // what it changes, through us and past us

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace};

pub(super) const FILE: &str = "src/net.rs";
pub(super) const CODE: &str = "pub fn load() -> u32 {\n    7\n}\n";
pub(super) const THREAD: &str = "// AUTHOR: what does this return?\n";

/// A workspace whose user has an agent of their own, which does what `script` says.
pub(super) fn workspace(script: &Value) -> Workspace {
    workspace_with(script, "")
}

/// `more`: further settings of the agent.
pub(super) fn workspace_with(script: &Value, more: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write(FILE, format!("{THREAD}{CODE}"));
    let command = command(&workspace, script);
    workspace.configure(&format!(
        "model = 'acp/scripted'\n[agents.scripted]\ncommand = '{}'\nargs = {}\n{more}\n",
        command[0],
        // A list of JSON is one of TOML, whatever characters are in it.
        json!(&command[1..]),
    ));
    workspace
}

/// The scripted agent as a command line.
pub(super) fn command(workspace: &Workspace, script: &Value) -> Vec<String> {
    let python = ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/acp_agent.py");
    vec![
        python.unwrap_or("python3").to_owned(),
        fixture.display().to_string(),
        log(workspace).display().to_string(),
        script.to_string(),
    ]
}

pub(super) fn log(workspace: &Workspace) -> std::path::PathBuf {
    workspace.path("../agent.log")
}

/// Everything that the agent noted, in order.
pub(super) fn noted(workspace: &Workspace) -> Vec<Value> {
    let text = std::fs::read_to_string(log(workspace)).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// What the agent noted under this name.
pub(super) fn note(workspace: &Workspace, name: &str) -> Value {
    let noted = noted(workspace);
    let found = noted.iter().find_map(|line| line.get(name).cloned());
    found.unwrap_or_else(|| panic!("no {name} in {noted:?}"))
}

/// Each that it noted under this name.
pub(super) fn all(workspace: &Workspace, name: &str) -> Vec<Value> {
    let noted = noted(workspace);
    let found = noted.iter().filter_map(|line| line.get(name).cloned());
    found.collect()
}

/// The request of this method that the agent got.
pub(super) fn request(workspace: &Workspace, method: &str) -> Value {
    let noted = noted(workspace);
    let found = noted.iter().find(|line| line["method"] == method);
    found
        .unwrap_or_else(|| panic!("no {method} in {noted:?}"))
        .clone()
}

pub(super) fn editor(workspace: &Workspace) -> Editor {
    Editor::start_with(
        workspace,
        Options {
            initialization_options: json!({"trusted": true}),
            ..Options::default()
        },
    )
}

/// The same with more of the user's settings.
pub(super) fn workspace_under(script: &Value, settings: &str) -> Workspace {
    let workspace = workspace(script);
    let config = std::fs::read_to_string(workspace.config_file()).expect("settings");
    workspace.configure(&format!("{config}{settings}"));
    workspace
}

/// An editor with the file open; the question was typed there.
pub(super) fn asking(workspace: &Workspace) -> Editor {
    workspace.write(FILE, CODE);
    let editor = editor(workspace);
    editor.open(FILE);
    editor.splice(FILE, 0..0, THREAD);
    editor.wait_codes(FILE, &["pending"]);
    editor
}

/// `postil …`: exit status, standard output, standard error.
pub(super) fn cli(workspace: &Workspace, args: &[&str]) -> (Option<i32>, String, String) {
    let output = workspace.postil().args(args).output().expect("postil runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

pub(super) fn trust(workspace: &Workspace) {
    let (code, out, err) = cli(workspace, &["trust", ".", "--yes"]);
    assert_eq!(code, Some(0), "{out}{err}");
}

/// `postil reply --all --yes` in a workspace that is trusted.
pub(super) fn reply(workspace: &Workspace) -> (Option<i32>, String, String) {
    trust(workspace);
    cli(workspace, &["reply", "--all", "--yes"])
}

/// The rounds of the only run, newest last, as `(role, text)`.
pub(super) fn rounds(workspace: &Workspace) -> Vec<Value> {
    let (code, out, err) = cli(workspace, &["workflow", "list", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let runs: Value = serde_json::from_str(&out).expect("runs");
    let id = runs[0]["id"].as_str().expect("an id").to_owned();
    let (code, out, err) = cli(workspace, &["workflow", "thread", &id, "--json"]);
    assert_eq!(code, Some(0), "{err}");
    out.lines()
        .map(|line| serde_json::from_str(line).expect("a round"))
        .collect()
}
