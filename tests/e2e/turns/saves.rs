//! Turns that a save begins: `turn.trigger = "onSave"`.

use serde_json::json;

use super::{Bench, FILE};
use crate::harness::{Editor, Options};
use crate::model::Step;

const OTHER: &str = "src/other.rs";

fn on_save(script: Vec<Step>) -> (Bench, Editor) {
    let bench = Bench::new(script);
    bench.workspace.configure("[turn]\ntrigger = \"onSave\"\n");
    let editor = bench.editor(true);
    editor.open(FILE);
    (bench, editor)
}

#[test]
fn a_save_begins_a_turn_for_the_same_words_when_they_are_said_again() {
    let answers = ["One.", "Two.", "Three."];
    let (bench, editor) = on_save(answers.map(Step::text).into());
    editor.splice(FILE, 0..0, "// AUTHOR: why?\n");
    editor.wait_codes(FILE, &["pending"]);
    editor.save(FILE);
    editor.wait_text(FILE, |text| text.contains("// AGENT: One."));
    bench.wait_status("completed");
    // Below the answer …
    editor.replace(FILE, "// AUTHOR:\n", "// AUTHOR: why?\n");
    editor.wait_codes(FILE, &["pending"]);
    editor.save(FILE);
    let text = editor.wait_text(FILE, |text| text.contains("// AGENT: Two."));
    bench.wait_status("completed");
    // … and anew, when the thread is gone.
    editor.splice(FILE, 0..text.find("pub fn").expect("the code"), "");
    editor.wait_codes(FILE, &[]);
    editor.save(FILE);
    // What a save starts has been started when other commands have come and gone.
    for _ in 0..3 {
        bench.runs();
    }
    editor.splice(FILE, 0..0, "// AUTHOR: why?\n");
    editor.wait_codes(FILE, &["pending"]);
    editor.save(FILE);
    editor.wait_text(FILE, |text| text.contains("// AGENT: Three."));
}

#[test]
fn a_save_that_nobody_asked_for_begins_nothing() {
    let bench = Bench::new(["Other.", "Whole.", "Again."].map(Step::text).into());
    bench.workspace.write(OTHER, "pub fn other() {}\n");
    bench.workspace.configure("[turn]\ntrigger = \"onSave\"\n");
    let options = Options {
        env: bench.env(),
        initialization_options: json!({"trusted": true}),
        capabilities: json!({"textDocument": {"synchronization": {"willSave": true}}}),
        ..Options::default()
    };
    let editor = Editor::start_with(&bench.workspace, options);
    assert_eq!(editor.capabilities["textDocumentSync"]["willSave"], true);
    editor.open(FILE);
    let will_save = |reason: u32| {
        let document = json!({"uri": editor.uri(FILE)});
        editor.notify(
            "textDocument/willSave",
            json!({"textDocument": document, "reason": reason}),
        );
    };
    editor.splice(FILE, 0..0, "// AUTHOR: why does it\n");
    editor.wait_codes(FILE, &["pending"]);
    // After a while, and as the window lost the focus.
    for reason in [2, 3] {
        will_save(reason);
        editor.save(FILE);
    }
    // Another file's turn, which begins later, is the first.
    editor.open(OTHER);
    editor.splice(OTHER, 0..0, "// AUTHOR: and here?\n");
    editor.wait_codes(OTHER, &["pending"]);
    editor.save(OTHER);
    editor.wait_text(OTHER, |text| text.contains("// AGENT: Other."));
    bench.wait_status("completed");
    assert_eq!(bench.runs().len(), 1);
    // By hand, of a text that is saved already.
    will_save(1);
    editor.save(FILE);
    editor.wait_text(FILE, |text| text.contains("// AGENT: Whole."));
    bench.wait_status("completed");
    // An editor need not say why.
    editor.replace(FILE, "// AUTHOR:\n", "// AUTHOR: and now?\n");
    editor.wait_codes(FILE, &["pending"]);
    editor.save(FILE);
    editor.wait_text(FILE, |text| text.contains("// AGENT: Again."));
}

#[test]
fn a_turn_that_was_cancelled_or_failed_begins_again_by_no_save_of_another_process() {
    for cancelled in [true, false] {
        let (first, status) = match cancelled {
            true => (Step::text("No.").held(), "cancelled"),
            false => (Step::error(400, "invalid_request_error", "no"), "failed"),
        };
        let (bench, mut editor) = on_save(vec![first, Step::text("Yes.")]);
        editor.splice(FILE, 0..0, "// AUTHOR: why?\n");
        editor.wait_codes(FILE, &["pending"]);
        editor.save(FILE);
        bench.model.wait_for_requests(1);
        if cancelled {
            editor.take_action(FILE, 0, "Cancel").expect("it runs");
        }
        bench.wait_status(status);
        drop(editor);
        let mut editor = bench.editor(true);
        editor.open(FILE);
        editor.wait_diagnostics(FILE, |shown| !shown.is_empty());
        editor.splice(FILE, 0..0, "use x;\n");
        editor.save(FILE);
        // What a save starts has been started when other commands have come and gone.
        for _ in 0..3 {
            assert_eq!(bench.runs()[0]["status"], status);
        }
        editor
            .take_action(FILE, 1, "Reply as agent")
            .expect("it is the author's to ask again");
        editor.wait_text(FILE, |text| text.contains("// AGENT: Yes."));
    }
}

#[test]
fn a_save_begins_nothing_in_a_text_that_is_not_the_editors_any_more() {
    let (bench, editor) = on_save(vec![Step::text("No.")]);
    editor.splice(FILE, 0..0, "// AUTHOR: why?\n");
    editor.wait_codes(FILE, &["pending"]);
    let past = json!({"line": 9_000, "character": 0});
    editor.notify(
        "textDocument/didChange",
        json!({
            "textDocument": {"uri": editor.uri(FILE), "version": 9_000},
            "contentChanges": [{"range": {"start": past, "end": past}, "text": "x"}],
        }),
    );
    editor.wait_saying("window/showMessage", "lost track of");
    editor.save(FILE);
    // What a save starts has been started when other commands have come and gone.
    for _ in 0..3 {
        assert_eq!(bench.runs().len(), 0);
    }
}

#[test]
fn what_a_save_begins_waits_in_the_queue() {
    const TURNS: usize = 6;
    let (bench, editor) = on_save((0..TURNS).map(|_| Step::text("Yes.").held()).collect());
    let asked: String = (0..TURNS)
        .map(|n| format!("// AUTHOR: what is word {n}\nfn f{n}() {{}}\n"))
        .collect();
    editor.splice(FILE, 0..0, &asked);
    editor.wait_codes(FILE, &["pending"; TURNS]);
    editor.save(FILE);
    editor.wait_message("$/progress", |params| {
        params["value"]["message"] == "waits: 4 turns run at once"
    });
    for _ in 0..TURNS {
        bench.model.release();
    }
    editor.wait_text(FILE, |text| text.matches("AGENT: Yes.").count() == TURNS);
}
