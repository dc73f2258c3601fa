//! Threads that are removed beside a history that cannot be used: what was said in them is told to who removed them.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::agent::Agent;
use super::{editor, id_of, repository, workspace};
use crate::harness::Workspace;

/// Written by a newer postil.
fn newer(workspace: &Workspace) {
    let (data, root) = (workspace.data(), workspace.root());
    drop(postil::store::Store::open(&data, root).expect("the store opens"));
    let database = Connection::open(postil::store::location(&data, root)).expect("it opens");
    let set = database.pragma_update(None, "user_version", 999);
    set.expect("set");
}

#[track_caller]
fn assert_told(done: &Value, said: &str) {
    assert_eq!(done["success"], true, "{done}");
    let note = done["note"].as_str().unwrap_or_default();
    assert!(
        note.contains("could not be kept") && note.contains(said),
        "{done}"
    );
}

#[test]
fn what_was_said_and_could_not_be_kept_is_told_to_the_agent_that_removed_it() {
    let workspace = repository();
    workspace.write("c.rs", "// AUTHOR: and this?\n// AUTHOR: done\nfn c() {}\n");
    newer(&workspace);
    let mut agent = Agent::start(&workspace);
    let list = agent.call("get_threads", json!({}));
    let id = id_of(&list, "src/a.rs");
    let done = agent.call("dismiss_thread", json!({"thread_id": id}));
    assert_told(&done, "AUTHOR: why a mutex here?");
    assert_eq!(workspace.read("src/a.rs"), "fn a() {}\n");
    let done = agent.call("clear_and_commit", json!({"file": "b.py"}));
    assert_eq!(done["committed"], true);
    assert_told(&done, "AGENT: Renamed.");
    let done = agent.call("process_all_actions", json!({}));
    assert_told(&done["actions"][0], "AUTHOR: and this?");
}

#[test]
fn it_is_told_of_a_thread_that_is_removed_in_an_editor_too() {
    let workspace = workspace();
    newer(&workspace);
    let editor = editor::listening(&workspace);
    editor.open("src/a.rs");
    editor.diagnostics("src/a.rs");
    let mut agent = Agent::start(&workspace);
    let id = id_of(&agent.call("get_threads", json!({})), "src/a.rs");
    let done = agent.call("dismiss_thread", json!({"thread_id": id}));
    assert_told(&done, "AUTHOR: why a mutex here?");
    editor.wait_saying("window/showMessage", "could not be kept");
}

#[test]
fn a_command_tells_it_as_data_too() {
    let workspace = workspace();
    workspace.write("c.rs", "// AUTHOR: and this?\n// AUTHOR: done\nfn c() {}\n");
    newer(&workspace);
    let output = workspace.postil().args(["process", "--json"]).output();
    let output = output.expect("it runs");
    let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let lost = done[0]["lost"].as_str().unwrap_or_default();
    assert!(
        lost.contains("could not be kept") && lost.contains("AUTHOR: and this?"),
        "{done}"
    );
    assert_eq!(workspace.read("c.rs"), "fn c() {}\n");
}
