//! Edits that wait for a review (`turn.review = "ask"`), in a turn that stops and goes on where the setting is another.

use serde_json::json;

use super::{Bench, CODE, FILE, THREAD};
use crate::model::{Step, call};

const OTHER: &str = "src/main.rs";
const MAIN: &str = "fn main() {\n    load();\n}\n";

/// A turn that has planned an edit, stopped with a question, and is saved; the setting is off by then.
fn stopped() -> (Bench, String) {
    let edit = json!({"path": OTHER, "old_string": "load()", "new_string": "load_all()"});
    let question = json!({"question": "Which?", "choices": ["red", "blue"]});
    let bench = Bench::new(vec![
        Step::calls(vec![call("toolu_1", "file_read", json!({"path": OTHER}))]),
        Step::calls(vec![call("toolu_2", "file_edit", edit)]),
        Step::calls(vec![call("toolu_3", "ask_user", question)]),
        Step::text("Changed it."),
        Step::text("It is as it was."),
    ]);
    bench.workspace.write(OTHER, MAIN);
    bench.workspace.configure("[turn]\nreview = 'ask'\n");
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT:"));
    bench.wait_status("awaiting_user");
    editor.save(FILE);
    bench.workspace.configure("");
    (bench, text)
}

#[test]
fn what_was_planned_for_a_review_is_reviewed_where_the_setting_is_off_by_then() {
    let (bench, _) = stopped();
    assert_eq!(bench.workspace.read(OTHER), MAIN);
    let mut editor = bench.editor(true);
    editor.open(FILE);
    editor.wait_codes(FILE, &["awaiting_user"]);
    editor.state().choices = vec![String::from("Accept")];
    editor
        .take_action(FILE, 1, "(a) red")
        .expect("the answer is taken");
    editor.wait_text(FILE, |text| text.contains("Changed it."));
    let asked = editor.wait_message("window/showMessageRequest", |_| true);
    let asked = asked["message"].as_str().expect("a question");
    assert!(asked.contains("src/main.rs (+1 −1)"), "{asked}");
    assert_eq!(
        bench.workspace.read(OTHER),
        MAIN.replace("load", "load_all")
    );
}

#[test]
fn what_was_planned_for_a_review_is_not_said_to_be_made_where_nobody_can_look_at_it() {
    let (bench, text) = stopped();
    let answered = text.replace("// AUTHOR:\n", "// AUTHOR: red\n");
    assert!(answered.starts_with(THREAD) && answered.ends_with(CODE));
    bench.workspace.write(FILE, answered);
    assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
    let (code, _, err) = bench.cli(&["reply", "--all", "--yes"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("nobody answered: src/main.rs."), "{err}");
    assert_eq!(bench.workspace.read(OTHER), MAIN);
    let file = bench.workspace.read(FILE);
    assert!(file.contains("// AGENT: It is as it was."), "{file}");
}
