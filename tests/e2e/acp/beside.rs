//! What an outside agent's commands change, of which nobody tells: found, told, and undone where it is certain
//! that it was the agent.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use super::{CODE, FILE, asking, cli, reply, rounds, workspace};
use crate::harness::{Editor, Workspace};

/// A tool call that runs a command, and what that command does.
fn command(does: Vec<Value>) -> Vec<Value> {
    let mut steps = vec![
        json!({"call": {"toolCallId": "1", "title": "cargo fmt", "kind": "execute", "status": "in_progress"}}),
    ];
    steps.extend(does);
    steps.push(json!({"more": {"toolCallId": "1", "status": "completed"}}));
    steps.push(json!({"say": "Done."}));
    steps
}

pub(super) fn disk(path: &str, content: &str) -> Value {
    json!({"disk": {"path": path, "content": content}})
}

/// The author adds a line to a file that was not open, and saves it.
pub(super) fn add_and_close(editor: &mut Editor, file: &str) {
    editor.open(file);
    let end = editor.text(file).len();
    editor.splice(file, end..end, "fn mine() {}\n");
    editor.save(file);
    editor.close(file);
}

/// Takes back the newest run.
pub(super) fn undo(workspace: &Workspace) -> String {
    let (_, runs, _) = cli(workspace, &["workflow", "list", "--json"]);
    let runs: Value = serde_json::from_str(&runs).expect("runs");
    let run = runs
        .as_array()
        .and_then(|runs| runs.iter().find(|run| run["file"] == FILE))
        .unwrap_or_else(|| panic!("{runs}"));
    let (code, out, err) = cli(workspace, &["undo", run["id"].as_str().expect("an id")]);
    assert_eq!(code, Some(0), "{out}{err}");
    out + &err
}

/// A pipe that the agent waits at; opening it lets it go on.
pub(super) fn gate(workspace: &Workspace) -> std::path::PathBuf {
    let gate = workspace.path("../gate");
    let made = Command::new("mkfifo").arg(&gate).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe");
    gate
}

/// An editor in which the agent's command runs, and waits at the gate.
pub(super) fn at_the_gate(workspace: &Workspace) -> Editor {
    let mut editor = asking(workspace);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    editor.wait_message("$/progress", |params| {
        params["value"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("cargo fmt"))
    });
    editor
}

fn script(steps: &[Value]) -> Value {
    json!({"steps": steps})
}

#[test]
fn what_a_command_changed_is_told_and_undone() {
    for is_repository in [true, false] {
        let workspace = workspace(&script(&command(vec![
            disk("src/clean.rs", "fn clean() { 2 }\n"),
            disk("src/dirty.rs", "fn dirty() { 3 }\n"),
            disk("src/made.rs", "fn made() {}\n"),
            json!({"remove": "src/gone.rs"}),
            disk("src/same.rs", "fn same() {}\n"),
            disk("target/out.o", "ignored"),
        ])));
        workspace.write("src/clean.rs", "fn clean() { 1 }\n");
        workspace.write("src/dirty.rs", "fn dirty() { 1 }\n");
        workspace.write("src/gone.rs", "fn gone() {}\n");
        workspace.write("src/same.rs", "fn same() {}\n");
        workspace.write("target/out.o", "");
        workspace.write(".gitignore", "target/\n");
        workspace.write(".ignore", "target/\n");
        if is_repository {
            // So old that git is sure of it, and its text need not be kept.
            let clean = workspace.path("src/clean.rs");
            let touched = Command::new("touch")
                .args(["-d", "2020-01-01"])
                .arg(clean)
                .status();
            assert!(touched.is_ok_and(|status| status.success()));
            workspace.git(&["init", "-q"]);
            workspace.git(&["add", "."]);
            workspace.git(&["commit", "-qm", "first"]);
        }
        workspace.write("src/dirty.rs", "fn dirty() { 2 }\n");
        let (code, out, err) = reply(&workspace);
        assert_eq!(code, Some(0), "{out}{err}");
        let told = "scripted changed src/clean.rs, src/dirty.rs, src/made.rs, src/gone.rs on disk by itself; Undo last turn puts it back.";
        assert!(err.contains(told), "{err}");
        assert!(!err.contains("same.rs") && !err.contains("out.o"), "{err}");
        let rounds = rounds(&workspace);
        assert!(rounds.iter().any(|r| r["content"] == told), "{rounds:?}");
        undo(&workspace);
        assert_eq!(workspace.read("src/clean.rs"), "fn clean() { 1 }\n");
        assert_eq!(workspace.read("src/dirty.rs"), "fn dirty() { 2 }\n");
        assert_eq!(workspace.read("src/gone.rs"), "fn gone() {}\n");
        assert!(!workspace.path("src/made.rs").exists());
    }
}

/// Undo is promised for each, and what was no text is as much the author's.
#[test]
fn what_is_no_text_and_what_can_be_run_comes_back_as_it_was() {
    let delete = |status: &str| json!({"toolCallId": "d", "title": "rm", "kind": "delete", "status": status, "files": [".own.sh"]});
    let workspace = workspace(&script(&command(vec![
        disk("latin.txt", "caf\u{e9}\n"),
        disk("image.bin", "new\0\n"),
        disk("made.bin", "made\0\n"),
        json!({"remove": "tool.sh"}),
        // Hidden, so that no scan lists it: a call names it.
        json!({"call": delete("pending")}),
        json!({"ask": {"toolCallId": "d"}}),
        json!({"remove": ".own.sh"}),
        json!({"more": delete("completed")}),
    ])));
    workspace.write("latin.txt", b"caf\xe9\n");
    workspace.write("image.bin", b"old\0\xff\n");
    let modes = [("tool.sh", 0o755), (".own.sh", 0o700)];
    for (name, mode) in modes {
        let tool = workspace.write(name, "#!/bin/sh\n");
        std::fs::set_permissions(&tool, PermissionsExt::from_mode(mode)).expect("a mode");
    }
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(err.contains("Undo last turn puts it back"), "{err}");
    let said = undo(&workspace);
    let bytes = |file: &str| std::fs::read(workspace.path(file)).expect("it is there");
    assert_eq!(bytes("latin.txt"), b"caf\xe9\n", "{said}");
    assert_eq!(bytes("image.bin"), b"old\0\xff\n", "{said}");
    assert!(!workspace.path("made.bin").exists(), "{said}");
    for (name, mode) in modes {
        let tool = workspace.path(name).metadata().expect("it is there");
        assert_eq!(tool.permissions().mode() & 0o777, mode, "{name}: {said}");
    }
}

#[test]
fn what_changed_while_none_of_its_calls_ran_is_told_and_left() {
    let workspace = workspace(&script(&[
        json!({"say": "Looking."}),
        disk("src/other.rs", "fn other() { 2 }\n"),
        json!({"say": "Done."}),
    ]));
    workspace.write("src/other.rs", "fn other() { 1 }\n");
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(0), "{out}{err}");
    let told = "src/other.rs changed on disk while scripted worked, and by whom is not known; Undo last turn leaves it as it is.";
    assert!(err.contains(told), "{err}");
    assert!(rounds(&workspace).iter().any(|r| r["content"] == told));
    undo(&workspace);
    assert_eq!(workspace.read("src/other.rs"), "fn other() { 2 }\n");
    assert!(
        !workspace.read(FILE).contains("AGENT"),
        "the answer is taken back"
    );
}

#[test]
fn what_the_author_saves_meanwhile_is_not_the_agents() {
    let place = Workspace::new();
    let gate = gate(&place);
    let workspace = workspace(&script(&command(vec![
        disk("src/other.rs", "fn other() { 2 }\n"),
        json!({"gate": gate}),
    ])));
    workspace.write("src/other.rs", "fn other() { 1 }\n");
    workspace.write("src/mine.rs", "fn mine() { 1 }\n");
    workspace.write("src/closed.rs", "fn closed() { 1 }\n");
    let mut editor = at_the_gate(&workspace);
    for (file, text) in [("src/mine.rs", "2"), ("src/closed.rs", "3")] {
        editor.open(file);
        let at = editor.text(file).find('1').expect("a digit");
        editor.splice(file, at..at + 1, text);
        editor.save(file);
    }
    editor.close("src/closed.rs");
    // Served in order: when this is answered the save is known.
    assert!(!editor.code_actions(FILE, 0).is_empty());
    std::fs::write(&gate, "").expect("opened");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    editor.wait_message("window/showMessage", |params| {
        params.to_string().contains("changed src/other.rs on disk")
    });
    editor.save(FILE);
    let rounds = rounds(&workspace);
    let said: Vec<_> = rounds.iter().filter(|r| r["role"] == "system").collect();
    assert!(
        !format!("{said:?}").contains("mine.rs") && !format!("{said:?}").contains("closed.rs"),
        "{said:?}"
    );
    drop(editor);
    undo(&workspace);
    assert_eq!(workspace.read("src/other.rs"), "fn other() { 1 }\n");
    assert_eq!(workspace.read("src/mine.rs"), "fn mine() { 2 }\n");
    assert_eq!(workspace.read("src/closed.rs"), "fn closed() { 3 }\n");
}

/// Calls that name the file, before and after the author saved it.
#[test]
fn what_the_author_saves_in_a_file_that_the_agent_changes_is_not_the_agents() {
    let place = Workspace::new();
    let gate = gate(&place);
    let edit = |id: &str, path: &str, content: &str| {
        let status = |status: &str| json!({"toolCallId": id, "title": "edit", "kind": "edit", "status": status, "files": [path]});
        [
            json!({"call": status("pending")}),
            json!({"ask": {"toolCallId": id}}),
            disk(path, content),
            json!({"more": status("completed")}),
        ]
    };
    let mut steps = Vec::new();
    steps.extend(edit("a", "src/other.rs", "fn other() { 2 }\n"));
    steps.extend(edit("b", "src/once.rs", "fn once() { 2 }\n"));
    steps.push(json!({"call": {"toolCallId": "1", "title": "cargo fmt", "kind": "execute", "status": "in_progress"}}));
    steps.push(json!({"gate": gate}));
    steps.extend(edit(
        "c",
        "src/other.rs",
        "fn other() { 3 }\nfn mine() {}\n",
    ));
    steps.push(json!({"say": "Done."}));
    let workspace = workspace(&script(&steps));
    workspace.write("src/other.rs", "fn other() { 1 }\n");
    workspace.write("src/once.rs", "fn once() { 1 }\n");
    let mut editor = at_the_gate(&workspace);
    for file in ["src/other.rs", "src/once.rs"] {
        add_and_close(&mut editor, file);
    }
    // Served in order: when this is answered the save is known.
    assert!(!editor.code_actions(FILE, 0).is_empty());
    std::fs::write(&gate, "").expect("opened");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    editor.save(FILE);
    let rounds = rounds(&workspace);
    assert!(
        rounds.iter().all(|round| round["role"] != "error"),
        "{rounds:?}"
    );
    drop(editor);
    let said = undo(&workspace);
    let left = |file: &str| workspace.read(file);
    assert_eq!(
        left("src/other.rs"),
        "fn other() { 1 }\nfn mine() {}\n",
        "{said}"
    );
    assert_eq!(
        left("src/once.rs"),
        "fn once() { 1 }\nfn mine() {}\n",
        "{said}"
    );
}

#[test]
fn what_changed_while_another_turn_ran_is_told_and_left() {
    let place = Workspace::new();
    let gate = gate(&place);
    let workspace = workspace(&script(&command(vec![
        disk("src/other.rs", "fn other() { 2 }\n"),
        json!({"gate": gate}),
    ])));
    workspace.write("src/other.rs", "fn other() { 1 }\n");
    workspace.write("src/asked.rs", format!("// AUTHOR: list todos\n{CODE}"));
    let editor = at_the_gate(&workspace);
    let beside = [
        "reply",
        "--all",
        "src/asked.rs",
        "--yes",
        "--model",
        "offline",
    ];
    let (code, out, err) = cli(&workspace, &beside);
    assert_eq!(code, Some(0), "{out}{err}");
    std::fs::write(&gate, "").expect("opened");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    editor.wait_message("window/showMessage", |params| {
        params.to_string().contains(
            "src/other.rs changed on disk while scripted worked, and by whom is not known",
        )
    });
    editor.save(FILE);
    drop(editor);
    undo(&workspace);
    assert_eq!(workspace.read("src/other.rs"), "fn other() { 2 }\n");
    assert!(workspace.read("src/asked.rs").contains("// AGENT: "));
}
