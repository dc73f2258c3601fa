//! An agent that is faster than its own word: its change stands in the file, or half of it, when the call is heard.

use serde_json::{Value, json};

use super::beside::{add_and_close, at_the_gate, disk, gate, undo};
use super::{FILE, reply, rounds, workspace};
use crate::harness::Workspace;

const OLD: &str = "fn other() { 1 }\n";
const NEW: &str = "fn other() { 2 }\n";

/// A call that changes a file: what stands there before it is told of, and before it is over. That we have looked in
/// between is certain, for it waits for an answer of ours.
fn edit(id: &str, file: &str, early: &[&str], late: &str) -> Vec<Value> {
    let call = |status: &str| json!({"toolCallId": id, "title": format!("Edit {file}"), "kind": "edit", "status": status, "files": [file]});
    let mut steps: Vec<Value> = early.iter().map(|text| disk(file, text)).collect();
    steps.extend([
        json!({"call": call("in_progress")}),
        json!({"ask": {"toolCallId": id}}),
        disk(file, late),
        json!({"more": call("completed")}),
    ]);
    steps
}

fn turn(mut steps: Vec<Value>) -> Workspace {
    steps.push(json!({"say": "Done."}));
    workspace(&json!({"steps": steps}))
}

#[test]
fn what_it_has_written_before_it_is_heard_is_told_and_undone() {
    let half = NEW.get(..9).expect("a half");
    for early in ["", half, NEW] {
        let mut steps = edit("1", "src/other.rs", &[early], NEW);
        steps.extend(edit("2", "src/made.rs", &[early], NEW));
        // And once more, when that is known.
        let third = "fn other() { 3 }\n";
        steps.extend(edit("3", "src/other.rs", &["", "fn oth"], third));
        let workspace = turn(steps);
        // What git does not have.
        workspace.write("src/other.rs", OLD);
        let (code, out, err) = reply(&workspace);
        assert_eq!(code, Some(0), "{out}{err}");
        assert_eq!(workspace.read("src/other.rs"), third);
        let told = "scripted changed src/other.rs, src/made.rs on disk by itself; Undo last turn puts it back.";
        assert!(err.contains(told), "{early:?}: {err}");
        let said = undo(&workspace);
        assert_eq!(workspace.read("src/other.rs"), OLD, "{early:?}: {said}");
        assert!(!workspace.path("src/made.rs").exists(), "{early:?}: {said}");
    }
}

/// An ignored file is not looked at before the turn.
#[test]
fn of_what_nobody_knows_it_is_said_and_nothing_is_emptied() {
    let mut steps = edit("1", "known.log", &[""], NEW);
    steps.extend(edit("2", "unknown.log", &[""], NEW));
    steps[4]["more"]["content"] =
        json!([{"type": "diff", "path": "known.log", "oldText": OLD, "newText": NEW}]);
    let workspace = turn(steps);
    workspace.write(".ignore", "*.log\n");
    workspace.write("known.log", OLD);
    workspace.write("unknown.log", OLD);
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(0), "{out}{err}");
    let told = "changed unknown.log on disk and what stood there before is not known here";
    assert!(err.contains(told), "{err}");
    undo(&workspace);
    assert_eq!(workspace.read("known.log"), OLD);
    assert_eq!(workspace.read("unknown.log"), NEW);
}

/// By an editor that we serve, and by one that we do not.
#[test]
fn what_the_author_writes_meanwhile_is_what_stood_there_before() {
    let place = Workspace::new();
    let gate = gate(&place);
    let mut steps = vec![
        json!({"call": {"toolCallId": "0", "title": "cargo fmt", "kind": "think", "status": "in_progress"}}),
        json!({"gate": gate}),
    ];
    let saved = "fn other() { 1 }\nfn mine() {}\n";
    steps.extend(edit("1", "src/other.rs", &[], NEW));
    steps.extend(edit("2", "src/saved.rs", &[""], NEW));
    let over = steps.len() - 1;
    steps[over]["more"]["content"] =
        json!([{"type": "diff", "path": "src/saved.rs", "oldText": saved, "newText": NEW}]);
    steps.extend(edit("3", "src/lost.rs", &[""], NEW));
    let workspace = turn(steps);
    for file in ["src/other.rs", "src/saved.rs", "src/lost.rs"] {
        workspace.write(file, OLD);
    }
    let mut editor = at_the_gate(&workspace);
    workspace.write("src/other.rs", saved);
    for file in ["src/saved.rs", "src/lost.rs"] {
        add_and_close(&mut editor, file);
    }
    // Served in order: when this is answered the saves are known.
    assert!(!editor.code_actions(FILE, 0).is_empty());
    std::fs::write(&gate, "").expect("opened");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    editor.save(FILE);
    let rounds = rounds(&workspace);
    let told = "changed src/lost.rs on disk and what stood there before is not known here";
    assert!(
        rounds.iter().any(|round| round["content"]
            .as_str()
            .is_some_and(|said| said.contains(told))),
        "{rounds:?}"
    );
    drop(editor);
    let said = undo(&workspace);
    assert_eq!(workspace.read("src/other.rs"), saved, "{said}");
    assert_eq!(workspace.read("src/saved.rs"), saved, "{said}");
    assert_eq!(workspace.read("src/lost.rs"), NEW, "{said}");
}
