use std::os::unix::fs::{MetadataExt as _, PermissionsExt};

use serde_json::{Value, json};

use super::{Bench, CODE, FILE, THREAD};
use crate::harness::{Editor, OnApply};
use crate::model::{Step, call};

/// Changes the open file, one on disk, makes one, removes one and renames one.
pub(super) const PATCH: &str = "\
diff --git a/src/net.rs b/src/net.rs
--- a/src/net.rs
+++ b/src/net.rs
@@ -1,3 +1,3 @@
-pub fn load() -> u32 {
+pub fn load_data() -> u32 {
     7
 }
diff --git a/src/main.rs b/src/main.rs
--- a/src/main.rs
+++ b/src/main.rs
@@ -1 +1 @@
-fn main() { load(); }
+fn main() { load_data(); }
--- /dev/null
+++ b/docs/load_data.md
@@ -0,0 +1 @@
+Loads.
--- a/docs/load.md
+++ /dev/null
@@ -1 +0,0 @@
-Loads.
diff --git a/load.sh b/load_data.sh
rename from load.sh
rename to load_data.sh
--- a/load.sh
+++ b/load_data.sh
@@ -2 +2 @@
-echo load
+echo load_data
";

pub(super) fn files(bench: &Bench) {
    bench
        .workspace
        .write("src/main.rs", "fn main() { load(); }\n");
    bench.workspace.write("docs/load.md", "Loads.\n");
    let script = bench.workspace.write("load.sh", "#!/bin/sh\necho load\n");
    std::fs::set_permissions(script, PermissionsExt::from_mode(0o755)).expect("a mode");
}

pub(super) fn patch(text: &str) -> Step {
    Step::calls(vec![call("toolu_1", "patch_apply", json!({"patch": text}))])
}

pub(super) fn as_before(bench: &Bench) {
    let w = &bench.workspace;
    assert_eq!(w.read("src/main.rs"), "fn main() { load(); }\n");
    assert_eq!(w.read("docs/load.md"), "Loads.\n");
    assert_eq!(w.read("load.sh"), "#!/bin/sh\necho load\n");
    let mode = w
        .path("load.sh")
        .metadata()
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(!w.path("docs/load_data.md").exists() && !w.path("load_data.sh").exists());
}

#[test]
fn attack_22_a_patch_goes_through_the_editor_and_to_disk_and_undo_puts_everything_back() {
    // The thread shifts the hunk in the open file by a line; it is found all the same.
    let bench = Bench::new(vec![patch(PATCH), Step::text("Renamed it.")]);
    files(&bench);
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    let results = bench.model.wait_for_requests(2)[1].results();
    assert!(!results[0].2, "{results:?}");
    assert!(
        results[0].1.contains("Hunk 1 stood at line 2."),
        "{results:?}"
    );
    let w = &bench.workspace;
    assert!(editor.text(FILE).contains("pub fn load_data()"));
    assert_eq!(w.read(FILE), CODE, "what is open is the editor's to save");
    assert_eq!(w.read("src/main.rs"), "fn main() { load_data(); }\n");
    assert_eq!(w.read("docs/load_data.md"), "Loads.\n");
    assert_eq!(w.read("load_data.sh"), "#!/bin/sh\necho load_data\n");
    let mode = w
        .path("load_data.sh")
        .metadata()
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o755, "a renamed script can still be run");
    assert!(!w.path("docs/load.md").exists() && !w.path("load.sh").exists());

    editor
        .command("postil.undoTurn", json!({"run_id": bench.run_id()}))
        .expect("undone");
    as_before(&bench);
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
}

#[test]
fn undo_puts_back_all_that_it_can_and_the_rest_when_it_is_asked_again() {
    let bench = Bench::new(vec![patch(PATCH), Step::text("Renamed it.")]);
    files(&bench);
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    let w = &bench.workspace;
    // Something else stands where one file was, and where another is to come back.
    std::fs::remove_file(w.path("src/main.rs")).expect("removed");
    std::fs::create_dir(w.path("src/main.rs")).expect("a folder");
    std::fs::create_dir(w.path("load.sh")).expect("a folder");
    let run = json!({"run_id": bench.run_id()});
    let undone = editor
        .command("postil.undoTurn", run.clone())
        .expect("it is done in part");
    assert_eq!(undone["success"], false);
    let said = |at: usize| undone["files"][at].as_str().unwrap_or_default();
    let told = |what: &str| (0..6).any(|at| said(at).contains(what));
    assert!(told("src/main.rs: not put back, "), "{undone}");
    assert!(told("load.sh: not put back, "), "{undone}");
    assert!(told("docs/load.md: put back"), "{undone}");
    assert_eq!(w.read("docs/load.md"), "Loads.\n");
    assert!(!w.path("docs/load_data.md").exists() && !w.path("load_data.sh").exists());
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));

    // What is put back is the author's again.
    editor.replace(FILE, "    7", "    8");
    std::fs::remove_dir(w.path("src/main.rs")).expect("removed");
    w.write("src/main.rs", "fn main() { load_data(); }\n");
    std::fs::remove_dir(w.path("load.sh")).expect("removed");
    let undone = editor
        .command("postil.undoTurn", run.clone())
        .expect("the rest");
    assert_eq!(undone["success"], true, "{undone}");
    assert_eq!(undone["files"].as_array().map(Vec::len), Some(2));
    as_before(&bench);
    assert!(editor.text(FILE).contains("    8"));
    assert!(editor.command("postil.undoTurn", run).is_err());
}

#[test]
fn undo_brings_no_file_back_that_the_author_removed_or_renamed() {
    let edit = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-fn main() { load(); }\n+fn main() { load_all(); }\n";
    let bench = Bench::new(vec![patch(edit), Step::text("Done.")]);
    files(&bench);
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    let w = &bench.workspace;
    std::fs::rename(w.path("src/main.rs"), w.path("src/other.rs")).expect("renamed");
    let run = json!({"run_id": bench.run_id()});
    let mut undo = |files: Value| {
        let mut argument = run.clone();
        argument["files"] = files;
        editor.command("postil.undoTurn", argument)
    };
    let error = undo(json!(["src/main.rs"])).expect_err("it is gone");
    assert!(error.to_string().contains("removed or renamed"), "{error}");
    assert!(!w.path("src/main.rs").exists());
    assert_eq!(w.read("src/other.rs"), "fn main() { load_all(); }\n");

    // It is offered as long as it is not undone: the file is back under its name.
    std::fs::rename(w.path("src/other.rs"), w.path("src/main.rs")).expect("renamed");
    undo(json!(["src/main.rs"])).expect("undone");
    assert_eq!(w.read("src/main.rs"), "fn main() { load(); }\n");
}

#[test]
fn a_turn_that_the_author_has_made_their_own_stands_not_before_the_older_ones() {
    let edit = |from: &str, to: &str| {
        patch(&format!(
            "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-fn main() {{ {from}(); }}\n+fn main() {{ {to}(); }}\n"
        ))
    };
    let bench = Bench::new(vec![
        patch("--- a/docs/load.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-Loads.\n"),
        Step::text("Removed it."),
        edit("load", "load_all"),
        Step::text("Done."),
    ]);
    files(&bench);
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    let thread = editor.diagnostics(FILE)[0]["data"]["thread_id"].clone();
    let reply = json!({"uri": editor.uri(FILE), "thread_id": thread, "text": "and main.rs"});
    editor.command("postil.reply", reply).expect("said");
    editor.wait_codes(FILE, &["pending"]);
    bench.turn(&mut editor);
    let w = &bench.workspace;
    w.write("src/main.rs", "fn main() { mine(); }\n");
    let run = json!({"run_id": bench.run_id()});
    let first = editor.command("postil.undoTurn", run.clone());
    // The answer in the open file is taken back; what is left is the author's.
    assert_eq!(first.expect("in part")["success"], false);
    let refused = editor.command("postil.undoTurn", run.clone());
    assert!(
        refused.is_err() && !w.path("docs/load.md").exists(),
        "{refused:?}"
    );
    editor.state().choices = vec![String::from("Undo the turn before")];
    // As a code action asks, which names the turn at which it stood.
    let run = json!({"run_id": bench.run_id(), "turn": 2});
    editor
        .command("postil.undoTurn", run)
        .expect("the turn before");
    assert_eq!(w.read("docs/load.md"), "Loads.\n");
    assert_eq!(w.read("src/main.rs"), "fn main() { mine(); }\n");
}

/// What the author has taken back by hand may come back; the turn before is undone when they say so.
#[test]
fn a_turn_that_is_back_already_stays_to_be_undone_and_stands_not_before_the_older_ones() {
    let edit = |from: &str, to: &str| {
        patch(&format!(
            "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-fn main() {{ {from}(); }}\n+fn main() {{ {to}(); }}\n"
        ))
    };
    let bench = Bench::new(vec![
        edit("load", "load_all"),
        Step::text("Done."),
        edit("load_all", "load_more"),
        // Made and removed again: nothing of it can ever be taken back.
        patch("--- /dev/null\n+++ b/brief.md\n@@ -0,0 +1 @@\n+a\n"),
        patch("--- a/brief.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
        Step::text("Done."),
    ]);
    files(&bench);
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    let thread = editor.diagnostics(FILE)[0]["data"]["thread_id"].clone();
    let reply = json!({"uri": editor.uri(FILE), "thread_id": thread, "text": "more"});
    editor.command("postil.reply", reply).expect("said");
    editor.wait_codes(FILE, &["pending"]);
    bench.turn(&mut editor);
    let w = &bench.workspace;
    let main = |called: &str| format!("fn main() {{ {called}(); }}\n");
    assert_eq!(w.read("src/main.rs"), main("load_more"));
    w.write("src/main.rs", main("load_all"));
    let run = json!({"run_id": bench.run_id(), "turn": 2});
    let undo = |editor: &mut Editor| {
        let undone = editor.command("postil.undoTurn", run.clone());
        let undone = undone.expect("undone");
        assert_eq!(undone["success"], true, "{undone}");
        undone["files"].as_array().map(Vec::len)
    };
    // The answer in the open file is taken back, and the file that was made is no more.
    assert_eq!(undo(&mut editor), Some(3));
    assert_eq!(undo(&mut editor), Some(1));
    let (code, out, err) = bench.cli(&["undo", &bench.run_id()]);
    assert_eq!(
        (code, out.as_str()),
        (
            Some(0),
            "src/main.rs: is as before the turn already\nthe turn before it has changes, too: on a terminal you are \
             asked whether to go on to that\n"
        ),
        "{err}"
    );
    assert_eq!(w.read("src/main.rs"), main("load_all"));

    // By another checkout, say.
    w.write("src/main.rs", main("load_more"));
    let changes = json!({"run_id": bench.run_id()});
    let changes = editor.command("postil.turnChanges", changes);
    assert_eq!(changes.expect("changes")["turn"], 2);
    w.write("src/main.rs", main("load_all"));
    editor.state().choices = vec![String::from("Undo the turn before")];
    let undone = editor.command("postil.undoTurn", run.clone());
    let undone = undone.expect("the turn before");
    assert_eq!(undone["files"][0], "src/main.rs: put back");
    assert_eq!(w.read("src/main.rs"), main("load"));
}

#[test]
fn undo_in_a_terminal_goes_through_the_editor_that_has_the_text() {
    let bench = Bench::new(vec![patch(PATCH), Step::text("Renamed it.")]);
    files(&bench);
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    let run = bench.run_id();
    let undo = |args: &[&str]| bench.cli(&[args, &["undo", &run]].concat());
    let (code, out, err) = undo(&["--json"]);
    let said: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        (code, &said["success"]),
        (Some(0), &json!(true)),
        "{out}{err}"
    );
    editor.wait_text(FILE, |text| text == format!("{THREAD}{CODE}"));
    as_before(&bench);
    assert_eq!(
        bench.workspace.read(FILE),
        CODE,
        "it is the editor's to save"
    );
    let (code, _, err) = undo(&[]);
    assert!(
        code == Some(1) && err.contains("nothing to put back"),
        "{err}"
    );
}

#[test]
fn a_file_comes_back_with_its_mode_and_the_folders_of_new_ones_go() {
    let changes = "--- a/secret.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-key\n\
        --- /dev/null\n+++ b/new/deep/a.txt\n@@ -0,0 +1 @@\n+a\n\
        --- /dev/null\n+++ b/new/b.txt\n@@ -0,0 +1 @@\n+b\n\
        --- /dev/null\n+++ b/docs/c.txt\n@@ -0,0 +1 @@\n+c\n";
    let bench = Bench::new(vec![patch(changes), Step::text("Done.")]);
    let w = &bench.workspace;
    let secret = w.write("secret.txt", "key\n");
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).expect("a mode");
    std::fs::create_dir(w.path("docs")).expect("a folder");
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    assert!(!secret.exists() && w.path("new/deep/a.txt").exists());
    editor
        .command("postil.undoTurn", json!({"run_id": bench.run_id()}))
        .expect("undone");
    assert_eq!(w.read("secret.txt"), "key\n");
    let mode = secret.metadata().expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!w.path("new").exists(), "the turn had made it");
    assert!(w.path("docs").exists(), "the author had made it");
}

#[test]
fn files_of_a_turn_are_taken_back_alone_and_those_of_no_other_turn() {
    let again = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-fn main() { load(); }\n+fn main() { load_all(); }\n";
    let bench = Bench::new(vec![
        patch(PATCH),
        Step::text("Renamed it."),
        patch(again),
        Step::text("There too."),
    ]);
    files(&bench);
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    let w = &bench.workspace;
    let run = bench.run_id();
    let changes = |editor: &mut Editor| {
        let changes = editor.command("postil.turnChanges", json!({"run_id": run}));
        changes.expect("changes")
    };
    let undo = |editor: &mut Editor, turn: &Value, files: Value| {
        let argument = json!({"run_id": run, "turn": turn, "files": files});
        editor.command("postil.undoTurn", argument)
    };
    let names = |changes: &Value| -> Value {
        let files = changes["files"].as_array().expect("a list");
        files.iter().map(|file| file["file"].clone()).collect()
    };
    let first = changes(&mut editor)["turn"].clone();
    let main = json!(["src/main.rs"]);
    let undone = undo(&mut editor, &first, main.clone()).expect("undone");
    assert_eq!(undone["success"], true);
    assert_eq!(undone["files"], json!(["src/main.rs: put back"]));
    assert_eq!(w.read("src/main.rs"), "fn main() { load(); }\n");
    assert!(w.path("load_data.sh").exists() && editor.text(FILE).contains("load_data()"));
    let error = undo(&mut editor, &first, main).expect_err("it is already");
    assert!(error.to_string().contains("undone already"), "{error}");

    // Once the run has a newer turn, nothing of the older one is taken back, and nothing of the newer for it.
    let thread = editor.diagnostics(FILE)[0]["data"]["thread_id"].clone();
    let reply = json!({"uri": editor.uri(FILE), "thread_id": thread, "text": "in main.rs too"});
    editor.command("postil.reply", reply).expect("said");
    editor.wait_codes(FILE, &["pending"]);
    bench.turn(&mut editor);
    for files in [json!(["docs/load.md"]), json!(["src/main.rs"]), Value::Null] {
        let error = undo(&mut editor, &first, files).expect_err("another turn");
        assert!(error.to_string().contains("newer turn"), "{error}");
    }
    assert_eq!(w.read("src/main.rs"), "fn main() { load_all(); }\n");
    assert!(!w.path("docs/load.md").exists());

    // File by file all of it goes, and then there is nothing that an undo could be offered for.
    let has_changes = |editor: &mut Editor| {
        let read = editor.command("postil.workflowRounds", json!({"run_id": run}));
        read.expect("rounds")["run"]["has_changes"].clone()
    };
    for _ in 0..2 {
        assert_eq!(has_changes(&mut editor), true);
        let left = changes(&mut editor);
        for file in names(&left).as_array().expect("a list") {
            undo(&mut editor, &left["turn"], json!([file])).expect("undone");
        }
    }
    as_before(&bench);
    assert_eq!(has_changes(&mut editor), false);
}

#[test]
fn fault_18_an_editor_that_refuses_the_edit_gets_nothing_forced_to_disk() {
    let bench = Bench::new(vec![patch(PATCH), Step::text("It was refused.")]);
    files(&bench);
    let mut editor = bench.editor();
    editor.state().on_apply = OnApply::Refuse;
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let results = bench.model.wait_for_requests(2)[1].results();
    assert!(
        results[0].2 && results[0].1.contains("refused the change"),
        "{results:?}"
    );
    // What was on disk before the editor was asked is put back.
    as_before(&bench);
    assert_eq!(bench.workspace.read(FILE), CODE);
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
}

#[test]
fn fault_18_unsaved_text_goes_before_the_disk() {
    let unsaved = "--- a/src/net.rs\n+++ b/src/net.rs\n@@ -3 +3 @@\n-    8\n+    9\n";
    let on_disk = "--- a/src/net.rs\n+++ b/src/net.rs\n@@ -3 +3 @@\n-    7\n+    9\n";
    let bench = Bench::new(vec![patch(on_disk), patch(unsaved), Step::text("Done.")]);
    let mut editor = bench.editor();
    editor.replace(FILE, "    7", "    8");
    bench.turn(&mut editor);
    let asked = bench.model.wait_for_requests(3);
    let results = asked[1].results();
    assert!(
        results[0].2 && results[0].1.contains("line 3 is `    8`"),
        "{results:?}"
    );
    assert!(editor.text(FILE).contains("    9"));
    assert_eq!(bench.workspace.read(FILE), CODE);
}

#[test]
fn fault_19_a_line_that_the_author_changes_during_the_turn_stays_the_authors() {
    let text = "--- a/src/net.rs\n+++ b/src/net.rs\n@@ -3 +3 @@\n-    7\n+    9\n";
    let read = Step::calls(vec![call("toolu_0", "file_read", json!({"path": FILE}))]);
    let held = patch(text).held();
    let bench = Bench::new(vec![read, held, Step::text("The author was faster.")]);
    let mut editor = bench.editor();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.model.wait_for_requests(2);
    editor.replace(FILE, "    7", "    7 + mine");
    editor.replace(FILE, "pub fn load", "pub fn loads");
    editor.settle();
    bench.model.release();
    editor.wait_codes(FILE, &["awaiting_user"]);
    let results = bench.model.wait_for_requests(3)[2].results();
    assert!(
        results[0].2 && results[0].1.contains("nothing was written"),
        "{results:?}"
    );
    let now = editor.text(FILE);
    assert!(
        now.contains("    7 + mine") && now.contains("pub fn loads"),
        "{now}"
    );
}

#[test]
fn fault_20_what_cannot_be_written_is_told_and_not_tried_again() {
    let folder = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-a\n+b\n";
    let locked = "--- a/docs/load.md\n+++ b/docs/load.md\n@@ -1 +1 @@\n-Loads.\n+x\n";
    let bench = Bench::new(vec![patch(folder), patch(locked), Step::text("I cannot.")]);
    files(&bench);
    let w = &bench.workspace;
    std::fs::remove_file(w.path("src/main.rs")).expect("removed");
    std::fs::create_dir(w.path("src/main.rs")).expect("a folder in its place");
    std::fs::set_permissions(w.path("docs/load.md"), PermissionsExt::from_mode(0o444))
        .expect("a mode");
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    let asked = bench.model.wait_for_requests(3);
    assert!(
        asked[1].results()[0].1.contains("is a folder"),
        "{:?}",
        asked[1].results()
    );
    let (_, text, is_error) = asked[2].results()[0].clone();
    assert!(
        is_error && text.contains("docs/load.md") && text.contains("nothing was written"),
        "{text}"
    );
    assert_eq!(w.read("docs/load.md"), "Loads.\n");
}

#[test]
fn what_could_not_be_made_leaves_no_folders() {
    let made = "--- /dev/null\n+++ b/other/deep/a.rs\n@@ -0,0 +1 @@\n+a\n";
    let locked = "--- a/docs/load.md\n+++ b/docs/load.md\n@@ -1 +1 @@\n-Loads.\n+x\n";
    let name = format!("new/deep/{}.rs", "n".repeat(300));
    let write = json!({"path": name, "content": "x\n"});
    let bench = Bench::new(vec![
        Step::calls(vec![call("toolu_0", "file_write", write)]),
        patch(&format!("{made}{locked}")),
        Step::text("I cannot."),
    ]);
    files(&bench);
    let w = &bench.workspace;
    std::fs::set_permissions(w.path("docs/load.md"), PermissionsExt::from_mode(0o444))
        .expect("a mode");
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    for request in &bench.model.wait_for_requests(3)[1..] {
        let (_, text, is_error) = request.results()[0].clone();
        assert!(is_error && text.contains("nothing was written"), "{text}");
    }
    assert!(!w.path("new").exists() && !w.path("other").exists());
}

/// Owner, group, mode and what hangs on it; one attribute, where the file system has them.
fn held(path: &std::path::Path) -> (u32, u32, u32, Option<Vec<u8>>) {
    let is = path.metadata().expect("it is there");
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(path, NOTE, &mut value).ok();
    let note = length.map(|length| value[..length].to_vec());
    (is.uid(), is.gid(), is.mode(), note)
}

const NOTE: &str = "user.postil.test";

#[test]
fn a_renamed_file_keeps_its_owner_and_what_hangs_on_it_and_so_does_one_that_is_put_back() {
    let rename = "diff --git a/a.txt b/deep/b.txt\nrename from a.txt\nrename to deep/b.txt\n\
        --- a/a.txt\n+++ b/deep/b.txt\n@@ -1 +1 @@\n-one\n+two\n";
    let edit = "--- a/src/net.rs\n+++ b/src/net.rs\n@@ -3 +3 @@\n-    7\n+    9\n";
    let bench = Bench::new(vec![
        patch(&format!("{rename}{edit}")),
        patch(rename).held(),
        Step::text("Renamed it."),
    ]);
    let w = &bench.workspace;
    let old = w.write("a.txt", "one\n");
    let _ = std::os::unix::fs::chown(&old, Some(12_345), Some(54_321));
    std::fs::set_permissions(&old, PermissionsExt::from_mode(0o6750)).expect("a mode");
    let flags = rustix::fs::XattrFlags::empty();
    let _ = rustix::fs::setxattr(&old, NOTE, b"mine", flags);
    let was = held(&old);
    let mut editor = bench.editor();
    // The first patch is made on disk, and put back when the editor says no.
    editor.state().on_apply = OnApply::Refuse;
    let reply = editor.take_action(FILE, 0, "Reply as agent");
    reply.expect("the turn starts");
    let results = bench.model.wait_for_requests(2)[1].results();
    assert!(results[0].2, "{results:?}");
    assert_eq!(held(&old), was);
    editor.state().on_apply = OnApply::Apply;
    bench.model.release();
    editor.wait_codes(FILE, &["awaiting_user"]);
    assert!(!old.exists());
    assert_eq!(w.read("deep/b.txt"), "two\n");
    assert_eq!(held(&w.path("deep/b.txt")), was);
    editor
        .command("postil.undoTurn", json!({"run_id": bench.run_id()}))
        .expect("undone");
    assert_eq!(w.read("a.txt"), "one\n");
    assert_eq!(held(&old), was);
    assert!(!w.path("deep").exists());
}

#[test]
fn nothing_is_made_below_a_file_and_no_file_is_renamed_to_a_name_below_its_own() {
    let rename =
        "diff --git a/up.txt b/up.txt/in.txt\nrename from up.txt\nrename to up.txt/in.txt\n";
    let instead = "--- a/up.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-precious\n\
        --- /dev/null\n+++ b/up.txt/deep/in.txt\n@@ -0,0 +1 @@\n+x\n";
    let bench = Bench::new(vec![patch(rename), patch(instead), Step::text("I cannot.")]);
    let w = &bench.workspace;
    w.write("up.txt", "precious\n");
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    for request in &bench.model.wait_for_requests(3)[1..] {
        let (_, text, is_error) = request.results()[0].clone();
        assert!(
            is_error
                && text.ends_with(
                    "in.txt cannot be made, because up.txt is a file; nothing was written."
                ),
            "{text}"
        );
    }
    assert_eq!(w.read("up.txt"), "precious\n");
}

#[test]
fn attack_17_no_patch_of_a_model_leads_out_of_the_workspace() {
    let make = |name: &str| format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+evil\n");
    let innocent = "--- a/docs/load.md\n+++ b/docs/load.md\n@@ -1 +1 @@\n-Loads.\n+evil\n";
    let evil = [
        make("../evil"),
        make("/tmp/postil-attack-17"),
        make(".git/hooks/post-commit"),
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n".to_owned(),
        "diff --git a/docs/load.md b/docs/load.md\nold mode 100644\nnew mode 100755\n".to_owned(),
        "diff --git a/load.sh b/x\nsimilarity index 100%\nrename from load.sh\nrename to ../load.sh\n".to_owned(),
    ];
    let mut script: Vec<Step> = evil
        .iter()
        .map(|evil| patch(&format!("{innocent}{evil}")))
        .collect();
    script.push(Step::text("All were refused."));
    let bench = Bench::new(script);
    files(&bench);
    bench.workspace.git(&["init", "-q"]);
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    let asked = bench.model.wait_for_requests(evil.len() + 1);
    for request in &asked[1..] {
        let (_, text, is_error) = request.results()[0].clone();
        assert!(is_error && text.contains("nothing was written"), "{text}");
    }
    as_before(&bench);
    assert!(!bench.workspace.path("../evil").exists());
    assert!(!std::path::Path::new("/tmp/postil-attack-17").exists());
    assert!(!bench.workspace.path(".git/hooks/post-commit").exists());
    assert!(!bench.workspace.path("l").exists());
}

/// As the tool's own description has it, without a line of git.
#[test]
fn a_rename_is_made_wherever_it_stands_and_takes_no_hunks_of_another_file() {
    const RENAME: &str = "rename from load.sh\nrename to load_data.sh\n";
    const OTHER: &str = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-fn main() { load(); }\n+fn main() {}\n";
    const OWN: &str = "--- a/load.sh\n+++ b/load_data.sh\n@@ -2 +2 @@\n-echo load\n+echo all\n";
    for (text, script, main) in [
        (format!("{RENAME}{OTHER}"), "load", "fn main() {}\n"),
        (format!("{OTHER}{RENAME}"), "load", "fn main() {}\n"),
        (
            format!("diff --git a/load.sh b/load_data.sh\n{RENAME}{OTHER}"),
            "load",
            "fn main() {}\n",
        ),
        (format!("{RENAME}{OWN}{OTHER}"), "all", "fn main() {}\n"),
        (RENAME.to_owned(), "load", "fn main() { load(); }\n"),
    ] {
        let bench = Bench::new(vec![patch(&text), Step::text("Renamed it.")]);
        files(&bench);
        let mut editor = bench.editor();
        bench.turn(&mut editor);
        let results = bench.model.wait_for_requests(2)[1].results();
        assert!(!results[0].2, "{text}{results:?}");
        let w = &bench.workspace;
        assert!(!w.path("load.sh").exists(), "{text}");
        assert_eq!(
            w.read("load_data.sh"),
            format!("#!/bin/sh\necho {script}\n")
        );
        assert_eq!(w.read("src/main.rs"), main);
    }
    let made = format!("diff --git a/x b/x\nnew file mode 100644\n{OTHER}");
    let bench = Bench::new(vec![patch(&made), Step::text("It is there.")]);
    files(&bench);
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    let (_, text, failed) = bench.model.wait_for_requests(2)[1].results()[0].clone();
    assert!(
        failed && text.contains("`new file mode` stands above"),
        "{text}"
    );
    as_before(&bench);
}
