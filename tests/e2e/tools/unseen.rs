//! What the run was not shown it does not write over.

use serde_json::{Value, json};

use super::{Bench, CODE, FILE, THREAD};
use crate::model::{Step, call};

fn calls(name: &str, input: Value) -> Step {
    Step::calls(vec![call("toolu_1", name, input)])
}

fn read(path: &str) -> Step {
    calls("file_read", json!({"path": path}))
}

fn write(path: &str, content: &str) -> Step {
    calls("file_write", json!({"path": path, "content": content}))
}

/// The result of the call that this request tells of, and whether it failed.
fn result(bench: &Bench, request: usize) -> (String, bool) {
    let (_, text, failed) =
        bench.model.wait_for_requests(request)[request - 1].results()[0].clone();
    (text, failed)
}

#[test]
fn what_the_author_typed_before_an_edit_of_the_turn_is_not_written_over_after_it() {
    let edit = json!({"path": FILE, "old_string": "load()", "new_string": "load_all()"});
    let patch = format!(
        "--- a/{FILE}\n+++ b/{FILE}\n@@ -2 +2 @@\n-pub fn load() -> u32 {{\n+pub fn load_all() -> u32 {{\n"
    );
    for changed in [
        calls("file_edit", edit),
        calls("patch_apply", json!({"patch": patch})),
    ] {
        let whole = format!("{THREAD}pub fn load_all() -> u32 {{\n    8\n}}\n");
        let bench = Bench::new(vec![
            read(FILE),
            changed.held(),
            write(FILE, &whole),
            read(FILE),
            write(FILE, &whole.replace("    8\n", "    // mine\n    8\n")),
            Step::text("Done."),
        ]);
        let mut editor = bench.editor();
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("the turn starts");
        bench.model.wait_for_requests(2);
        let at = editor.text(FILE).find("    7").expect("its place");
        editor.splice(FILE, at..at, "    // mine\n");
        bench.model.release();
        editor.wait_codes(FILE, &["awaiting_user"]);
        assert!(!result(&bench, 3).1, "{:?}", result(&bench, 3));
        let (text, failed) = result(&bench, 4);
        assert!(
            failed && text.contains("changed since you read it"),
            "{text}"
        );
        // What was read again is known.
        assert!(!result(&bench, 6).1, "{:?}", result(&bench, 6));
        let text = editor.text(FILE);
        let end = CODE
            .replace("load()", "load_all()")
            .replace("    7", "    // mine\n    8");
        assert!(text.ends_with(&end), "{text}");
    }
}

#[test]
fn a_file_of_which_a_part_was_shown_is_not_replaced() {
    let (unread, long) = ("docs/a.txt", "docs/long.txt");
    let edit = json!({"path": unread, "old_string": "two", "new_string": "2"});
    let lines: String = (1..=3000).map(|n| format!("line {n} of it\n")).collect();
    let bench = Bench::new(vec![
        calls("file_edit", edit),
        write(unread, "x=1\n"),
        read(long),
        write(long, "short\n"),
        calls("file_read", json!({"path": long, "offset": 1500})),
        write(long, "short\n"),
        // What it wrote itself it knows.
        write(long, "shorter\n"),
        Step::text("Done."),
    ]);
    bench.workspace.write(unread, "one\ntwo\nthree\n");
    bench.workspace.write(long, &lines);
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    let (text, failed) = result(&bench, 3);
    assert!(
        failed
            && text.contains("You have not read all of docs/a.txt, so nothing was written: line 1"),
        "{text}"
    );
    assert_eq!(bench.workspace.read(unread), "one\n2\nthree\n");
    let shown = result(&bench, 4).0;
    let (_, next) = shown
        .trim_end()
        .rsplit_once("go on with offset ")
        .expect("a part");
    let (text, failed) = result(&bench, 5);
    let told = format!(
        "Read on with file_read (`offset` {}), or",
        next.trim_end_matches(')')
    );
    assert!(failed && text.contains(&told), "{told}: {text}");
    for request in [6, 7, 8] {
        assert!(!result(&bench, request).1, "{:?}", result(&bench, request));
    }
    assert_eq!(bench.workspace.read(long), "shorter\n");
}
