//! Files that the author has open, removed and renamed by a patch: through their editor, or not at all.

use serde_json::{Value, json};

use super::patches::{PATCH, as_before, files, patch};
use super::{Bench, CODE, FILE, THREAD};
use crate::harness::{Editor, OnApply};
use crate::model::Step;

const REMOVED: &str = "docs/load.md";
const OLD: &str = "load.sh";
const NEW: &str = "load_data.sh";

fn capable(kinds: &[&str]) -> Value {
    json!({"workspace": {"workspaceEdit": {"resourceOperations": kinds}}})
}

/// An editor with the removed and the renamed file open too.
fn with_both_open(bench: &Bench, kinds: &[&str]) -> Editor {
    files(bench);
    let editor = bench.editor_with(capable(kinds));
    for file in [REMOVED, OLD] {
        editor.open(file);
    }
    editor
}

fn is_open(editor: &Editor, file: &str) -> bool {
    let uri = editor.uri(file);
    editor.state().buffers.contains_key(&uri)
}

fn undo(bench: &Bench, editor: &mut Editor) {
    editor
        .command("postil.undoTurn", json!({"run_id": bench.run_id()}))
        .expect("undone");
}

#[test]
fn attack_22_open_files_are_removed_and_renamed_by_the_editor_and_undo_puts_them_back() {
    let bench = Bench::new(vec![patch(PATCH), Step::text("Renamed it.")]);
    let mut editor = with_both_open(&bench, &["create", "rename", "delete"]);
    bench.turn(&mut editor);
    let results = bench.model.wait_for_requests(2)[1].results();
    assert!(!results[0].2, "{results:?}");
    let w = &bench.workspace;
    assert!(!w.path(REMOVED).exists() && !is_open(&editor, REMOVED));
    assert!(!w.path(OLD).exists() && !is_open(&editor, OLD));
    assert_eq!(editor.text(NEW), "#!/bin/sh\necho load_data\n");
    assert!(editor.text(FILE).contains("pub fn load_data()"));
    let asked = editor.wait_message("workspace/applyEdit", |_| true);
    let kinds: Vec<&Value> = asked["edit"]["documentChanges"]
        .as_array()
        .expect("changes")
        .iter()
        .map(|change| &change["kind"])
        .collect();
    // Texts first: their versions are what an editor compares.
    assert_eq!(json!(kinds), json!([null, null, "delete", "rename"]));

    // Where the author has not saved what the turn made of it, it stays.
    editor.save(NEW);
    undo(&bench, &mut editor);
    as_before(&bench);
    assert!(!is_open(&editor, NEW));
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
}

#[test]
fn an_open_file_stays_where_its_editor_cannot_or_its_author_has_not_saved() {
    for (kinds, typed, why) in [
        (&["create"][..], false, "neither removes nor renames files"),
        (&["rename"], false, "removes no files for us"),
        (&["rename", "delete"], true, "text that is not saved"),
    ] {
        let bench = Bench::new(vec![patch(PATCH), Step::text("It is open.")]);
        let mut editor = with_both_open(&bench, kinds);
        if typed {
            editor.splice(OLD, 0..0, "# mine\n");
        }
        bench.turn(&mut editor);
        let (_, text, is_error) = bench.model.wait_for_requests(2)[1].results()[0].clone();
        assert!(is_error && text.contains(why), "{text}");
        assert!(text.contains("nothing was written"), "{text}");
        as_before(&bench);
        assert!(is_open(&editor, OLD) && is_open(&editor, REMOVED));
        assert_eq!(editor.text(OLD).starts_with("# mine"), typed);
        assert!(editor.text(FILE).ends_with(CODE));
    }
}

/// An editor may show neither a byte-order mark nor the line ends that the file has.
#[test]
fn a_file_that_its_editor_shows_otherwise_than_it_is_stored_is_renamed() {
    for (disk, shown) in [
        ("#!/bin/sh\r\necho load\r\n", "#!/bin/sh\necho load\n"),
        ("\u{feff}#!/bin/sh\necho load\n", "#!/bin/sh\necho load\n"),
    ] {
        let moved =
            "diff --git a/load.sh b/load_data.sh\nrename from load.sh\nrename to load_data.sh\n";
        let bench = Bench::new(vec![patch(moved), Step::text("Renamed it.")]);
        bench.workspace.write(OLD, disk);
        let mut editor = bench.editor_with(capable(&["create", "rename", "delete"]));
        editor.open_text(OLD, "shellscript", shown);
        bench.turn(&mut editor);
        let results = bench.model.wait_for_requests(2)[1].results();
        assert!(!results[0].2, "{results:?}");
        assert!(!bench.workspace.path(OLD).exists() && !is_open(&editor, OLD));
        assert_eq!(editor.text(NEW), shown);
        undo(&bench, &mut editor);
        assert!(!bench.workspace.path(NEW).exists() && !is_open(&editor, NEW));
        assert_eq!(bench.workspace.read(OLD), disk);
    }
}

#[test]
fn an_editor_that_fails_half_way_keeps_nothing_of_the_patch() {
    // The editor makes the edits and finds then that it cannot rename.
    for crlf in [false, true] {
        let bench = Bench::new(vec![patch(PATCH), Step::text("It failed.")]);
        let mut editor = with_both_open(&bench, &["rename", "delete"]);
        editor.close(REMOVED);
        editor.state().on_apply = OnApply::FailToRename { crlf };
        bench.turn(&mut editor);
        let (_, text, is_error) = bench.model.wait_for_requests(2)[1].results()[0].clone();
        assert!(is_error && text.contains("nothing was written"), "{text}");
        as_before(&bench);
        assert_eq!(editor.text(OLD), "#!/bin/sh\necho load\n");
        assert!(editor.text(FILE).replace("\r\n", "\n").ends_with(CODE));
    }
}

const BOTH: &str = "\
--- a/src/net.rs
+++ b/src/net.rs
@@ -1,3 +1,3 @@
-pub fn load() -> u32 {
+pub fn load_data() -> u32 {
     7
 }
--- a/src/main.rs
+++ b/src/main.rs
@@ -1 +1 @@
-fn main() { load(); }
+fn main() { load_data(); }
";

#[test]
fn an_editor_that_changes_the_first_of_two_files_and_refuses_the_second_keeps_both_or_none() {
    const OTHER: &str = "src/main.rs";
    for typed in [false, true] {
        let bench = Bench::new(vec![patch(BOTH), Step::text("Tried it.")]);
        files(&bench);
        let before = bench.workspace.read(OTHER);
        let mut editor = bench.editor();
        editor.open(OTHER);
        editor.state().on_apply = OnApply::ApplyFirst { typed };
        bench.turn(&mut editor);
        let (_, text, is_error) = bench.model.wait_for_requests(2)[1].results()[0].clone();
        if !typed {
            assert!(is_error, "{text}");
            let why = "The editor refused the change of src/net.rs, src/main.rs (Internal error); nothing was written.";
            assert!(text.contains(why), "{text}");
            assert!(editor.text(FILE).ends_with(CODE), "{}", editor.text(FILE));
            assert_eq!(editor.text(OTHER), before);
            continue;
        }
        assert!(!is_error, "{text}");
        assert!(editor.text(FILE).contains("pub fn load_data()"));
        assert_eq!(editor.text(OTHER), "fn main() { load_data(); }\n// mine\n");
        undo(&bench, &mut editor);
        assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
        assert_eq!(editor.text(OTHER), format!("{before}// mine\n"));
    }
}

#[test]
fn an_edit_that_is_made_and_said_to_have_failed_is_known_and_undone() {
    let bench = Bench::new(vec![patch(BOTH), Step::text("Renamed it.")]);
    files(&bench);
    let mut editor = bench.editor();
    editor.open("src/main.rs");
    editor.state().on_apply = OnApply::ApplyAndFail;
    bench.turn(&mut editor);
    let results = bench.model.wait_for_requests(2)[1].results();
    assert!(!results[0].2, "{results:?}");
    assert!(editor.text(FILE).contains("pub fn load_data()"));
    assert_eq!(editor.text(FILE).matches("AGENT").count(), 1);
    undo(&bench, &mut editor);
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
}

#[test]
fn a_reviewed_patch_removes_an_open_file_when_the_author_agrees() {
    let bench = Bench::new(vec![patch(PATCH), Step::text("Renamed it.")]);
    bench.workspace.configure("[turn]\nreview = 'ask'\n");
    let mut editor = with_both_open(&bench, &["rename", "delete"]);
    editor.state().choices = vec![String::from("Accept all")];
    bench.turn(&mut editor);
    let results = bench.model.requests()[1].results();
    assert!(!results[0].2, "{results:?}");
    let w = &bench.workspace;
    assert!(!w.path(REMOVED).exists() && !is_open(&editor, REMOVED));
    assert!(!w.path(OLD).exists() && !is_open(&editor, OLD));
    assert_eq!(editor.text(NEW), "#!/bin/sh\necho load_data\n");
    use std::os::unix::fs::PermissionsExt as _;
    let mode = w.path(NEW).metadata().expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o111, 0o111, "it can still be run");
}
