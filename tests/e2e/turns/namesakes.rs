//! Threads with the same first words in one file: each has its own turns, and nothing of another's.

use serde_json::{Value, json};

use super::{Bench, FILE};
use crate::harness::Editor;
use crate::model::{Step, call};

const WHY: &str = "// AUTHOR: why?\n";
/// Two questions, and a place for a third.
const TWO: &str = "// AUTHOR: why?\nfn a() {}\n\n// AUTHOR: why?\nfn b() {}\n";
/// Where the second stands.
const SECOND: usize = 3;

/// The file open with these threads, typed here, and their ids in order.
fn typed(bench: &Bench, text: &str) -> (Editor, Vec<Value>) {
    bench.workspace.write(FILE, "fn x() {}\n");
    let editor = bench.editor(true);
    editor.open(FILE);
    editor.replace(FILE, "fn x() {}\n", text);
    let count = text.matches(WHY).count();
    let shown = editor.wait_codes(FILE, &vec!["pending"; count]);
    let ids = shown.iter().map(|d| d["data"]["thread_id"].clone());
    let ids: Vec<Value> = ids.collect();
    assert_eq!(
        ids[1],
        format!("{}-2", ids[0].as_str().expect("an id")),
        "{ids:?}"
    );
    (editor, ids)
}

fn edit(old: &str, new: &str) -> Step {
    let input = json!({"path": FILE, "old_string": old, "new_string": new});
    Step::calls(vec![
        call("toolu_r", "file_read", json!({"path": FILE})),
        call("toolu_e", "file_edit", input),
    ])
}

fn offered(editor: &mut Editor, line: usize) -> Vec<String> {
    let actions = editor.code_actions(FILE, line);
    let titles = actions.iter().filter_map(|action| action["title"].as_str());
    titles.map(str::to_owned).collect()
}

fn hover(editor: &mut Editor, line: usize) -> String {
    let params = json!({"textDocument": {"uri": editor.uri(FILE)}, "position": {"line": line, "character": 5}});
    let shown = editor.request("textDocument/hover", params);
    shown.expect("it is answered").to_string()
}

/// Takes the action and waits until the history has the turn as completed.
fn answered(bench: &Bench, editor: &mut Editor, line: usize) {
    editor
        .take_action(FILE, line, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("AGENT:"));
    bench.wait_status("completed");
}

#[test]
fn a_thread_that_was_never_asked_has_no_turn_of_its_namesake() {
    let bench = Bench::new(vec![edit("fn b() {}", "fn c() {}"), Step::text("Done.")]);
    let (mut editor, ids) = typed(&bench, TWO);
    answered(&bench, &mut editor, SECOND);
    let text = editor.text(FILE);
    assert!(text.contains("fn c() {}"), "{text}");

    let titles = offered(&mut editor, 0);
    for title in ["Open conversation", "Undo last turn"] {
        assert!(!titles.iter().any(|offered| offered == title), "{titles:?}");
    }
    let shown = hover(&mut editor, 0);
    assert!(!shown.contains("run "), "{shown}");
    let first = json!({"uri": editor.uri(FILE), "thread_id": ids[0]});
    for verb in ["undoTurn", "turnChanges", "openConversation"] {
        let error = editor.command(&format!("postil.{verb}"), first.clone());
        let error = error.expect_err(verb).to_string();
        assert!(
            error.contains("no agent has worked on this thread yet"),
            "{verb}: {error}"
        );
    }
    assert_eq!(editor.text(FILE), text);
    let (code, _, said) = bench.cli(&["undo", ids[0].as_str().expect("an id")]);
    assert_ne!(code, Some(0), "{said}");

    // What is less than an id still names what begins so.
    let less = ids[0].as_str().and_then(|id| id.get(..6));
    let (code, out, said) = bench.cli(&["workflow", "thread", less.expect("digits")]);
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("Done."), "{out}");
}

#[test]
fn a_cancel_ends_no_turn_of_a_namesake() {
    let bench = Bench::new(vec![Step::text("Done.").held()]);
    let (mut editor, ids) = typed(&bench, TWO);
    editor
        .take_action(FILE, SECOND, "Reply as agent")
        .expect("the turn starts");
    bench.model.wait_for_requests(1);
    // Without a file: by the id alone.
    let error = editor.command("postil.cancelTurn", json!({"thread_id": ids[0]}));
    let error = error.expect_err("it does not run").to_string();
    assert!(error.contains("no agent has worked"), "{error}");
    bench.model.release();
    editor.wait_text(FILE, |text| text.contains("AGENT: Done."));
    bench.wait_status("completed");
}
