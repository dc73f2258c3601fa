//! What the author writes into a file between two writes of a turn, and what undo makes of it.

use serde_json::{Value, json};

use super::Bench;
use crate::model::{Step, call};

fn calls(name: &str, input: Value) -> Step {
    Step::calls(vec![call("toolu_1", name, input)])
}

/// Runs the turn, in the middle of which (at the held step, the second) the author writes `text` into `path` on disk;
/// then what undo says.
fn undone(bench: &Bench, path: &str, text: &str) -> Value {
    let mut editor = bench.editor();
    editor
        .take_action(super::FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.model.wait_for_requests(2);
    bench.workspace.write(path, text);
    bench.model.release();
    editor.wait_codes(super::FILE, &["awaiting_user"]);
    for request in bench.model.wait_for_requests(4) {
        let results = request.results();
        assert!(
            results.iter().all(|(_, _, is_error)| !is_error),
            "{results:?}"
        );
    }
    editor
        .command("postil.undoTurn", json!({"run_id": bench.run_id()}))
        .expect("undone")
}

#[test]
fn what_the_author_wrote_into_a_new_file_is_not_removed_with_it() {
    let path = "src/new.rs";
    let edit = json!({"path": path, "old_string": "one", "new_string": "two"});
    let bench = Bench::new(vec![
        calls(
            "file_write",
            json!({"path": path, "content": "fn one() {}\n"}),
        ),
        calls("file_read", json!({"path": path})).held(),
        calls("file_edit", edit),
        Step::text("Done."),
    ]);
    let undone = undone(&bench, path, "fn one() {}\nfn mine() {}\n");
    assert_eq!(bench.workspace.read(path), "fn one() {}\nfn mine() {}\n");
    let told = format!("{path}: put back as it was when you had changed it");
    assert!(undone["files"].to_string().contains(&told), "{undone}");
}

#[test]
fn what_the_author_wrote_comes_back_with_a_file_that_was_renamed() {
    let edit = json!({"path": "docs/a.md", "old_string": "one", "new_string": "two"});
    let rename = "diff --git a/docs/a.md b/docs/b.md\nsimilarity index 100%\nrename from docs/a.md\nrename to docs/b.md\n";
    let bench = Bench::new(vec![
        calls("file_edit", edit),
        calls("file_read", json!({"path": "docs/a.md"})).held(),
        calls("patch_apply", json!({"patch": rename})),
        Step::text("Done."),
    ]);
    bench.workspace.write("docs/a.md", "one\n");
    let undone = undone(&bench, "docs/a.md", "two\nmine\n");
    assert_eq!(bench.workspace.read("docs/a.md"), "one\nmine\n", "{undone}");
    assert!(!bench.workspace.path("docs/b.md").exists());
}
