//! A file that is renamed, with its threads: their turns, their history and who typed them go along.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Bench, FILE, THREAD, type_at};
use crate::harness::{Editor, OnApply, Options, frame, wait_until};
use crate::model::{Step, call};

const NEW: &str = "src/wire.rs";
/// It asks the same, and did so before anything went or was copied.
const OTHER: &str = "src/other.rs";

/// As an editor renames a file that is open and saved; `told_first`: it tells before it opens the new one.
fn rename(bench: &Bench, editor: &mut Editor, old: &str, new: &str, told_first: bool) {
    let text = editor.text(old);
    let (from, to) = (editor.uri(old), editor.uri(new));
    bench.workspace.write(old, &text);
    std::fs::rename(bench.workspace.path(old), bench.workspace.path(new)).expect("renamed");
    let tell = |editor: &Editor| {
        let files = json!({"files": [{"oldUri": from, "newUri": to}]});
        editor.notify("workspace/didRenameFiles", files);
    };
    if told_first {
        tell(editor);
    }
    editor.close(old);
    editor.open_text(new, "rust", &text);
    if !told_first {
        tell(editor);
    }
}

/// Has the thread answered, and waits until the model was asked.
fn begin(bench: &Bench, editor: &mut Editor) {
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.model.wait_for_requests(1);
}

fn script() -> Vec<Step> {
    vec![
        Step::calls(vec![call(
            "toolu_1",
            "ask_user",
            json!({"question": "Into which one?", "choices": ["load_data", "load_all"]}),
        )]),
        Step::text("Then load_all it is."),
    ]
}

#[test]
fn a_question_of_the_agent_goes_on_under_the_new_name() {
    for told_first in [true, false] {
        let bench = Bench::new(script());
        let mut editor = bench.typed();
        editor.save(FILE);
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("the turn starts");
        editor.wait_text(FILE, |text| text.contains("Into which one?"));
        bench.wait_status("awaiting_user");
        editor.save(FILE);
        rename(&bench, &mut editor, FILE, NEW, told_first);
        editor.wait_codes(NEW, &["awaiting_user"]);
        let id = editor.diagnostics(NEW)[0]["data"]["thread_id"].clone();
        let argument = json!({"uri": editor.uri(NEW), "thread_id": id, "text": "(b)"});
        wait_until("its run goes along", || {
            editor.command("postil.choose", argument.clone()).is_ok()
        });
        editor.wait_text(NEW, |text| text.contains("Then load_all it is."));
        let asked = bench.model.requests();
        let prompt = asked[1].prompt();
        assert!(
            prompt.contains("Into which one?"),
            "the same conversation: {prompt}"
        );
        // Nobody had to be asked whether it was typed here.
        assert!(!editor.state().received.iter().any(|m| {
            m["params"]["message"]
                .to_string()
                .contains("not typed here")
        }));
    }
}

#[test]
fn lenses_are_asked_for_again_under_the_new_name() {
    let bench = Bench::new(script());
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.wait_status("awaiting_user");
    let text = editor.wait_text(FILE, |text| text.contains("Into which one?"));
    bench.workspace.write(FILE, &text);
    drop(editor);
    // Nothing runs in this one: it has no other reason to ask.
    let mut editor = Editor::start_with(
        &bench.workspace,
        Options {
            capabilities: json!({"workspace": {"codeLens": {"refreshSupport": true}}}),
            ..Options::default()
        },
    );
    editor.open(FILE);
    editor.wait_codes(FILE, &["awaiting_user"]);
    let again = "workspace/codeLens/refresh";
    let is_again = |m: &Value| m["method"] == again;
    assert!(!editor.state().received.iter().any(is_again));
    rename(&bench, &mut editor, FILE, NEW, false);
    editor.wait_message(again, |_| true);
}

#[test]
fn a_turn_that_runs_answers_under_the_new_name() {
    for told_first in [true, false] {
        let bench = Bench::new(vec![Step::text("Because of the wire.").held()]);
        let mut editor = bench.typed();
        editor.save(FILE);
        begin(&bench, &mut editor);
        rename(&bench, &mut editor, FILE, NEW, told_first);
        bench.model.release();
        editor.wait_text(NEW, |text| text.contains("AGENT: Because of the wire."));
        bench.wait_status("completed");
        assert!(!bench.workspace.path(FILE).exists());
    }
}

/// The disk tells of it before the editor does: the turn stays the one of its thread.
#[test]
fn a_turn_that_runs_is_still_its_threads_when_a_rename_is_told_twice() {
    let bench = Bench::new(vec![Step::text("Because of the wire.").held()]);
    let mut editor = bench.typed();
    editor.save(FILE);
    let begun = editor.take_action(FILE, 0, "Reply as agent");
    let begun = begun.expect("the turn starts");
    bench.model.wait_for_requests(1);
    let text = editor.text(FILE);
    let (from, to) = (editor.uri(FILE), editor.uri(NEW));
    std::fs::rename(bench.workspace.path(FILE), bench.workspace.path(NEW)).expect("renamed");
    editor.close(FILE);
    editor.open_text(NEW, "rust", &text);
    let changes = json!([{"uri": from, "type": 3}, {"uri": to, "type": 1}]);
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": changes}),
    );
    wait_until("the disk is looked at", || bench.runs()[0]["file"] == NEW);
    let files = json!({"files": [{"oldUri": from, "newUri": to}]});
    editor.notify("workspace/didRenameFiles", files);
    editor.wait_codes(NEW, &["pending"]);
    let id = editor.diagnostics(NEW)[0]["data"]["thread_id"].clone();
    let again = json!({"uri": to, "thread_id": id});
    let again = editor.command("postil.replyAsAgent", again);
    let again = again.expect("it runs already");
    assert_eq!(again["run_id"], begun["run_id"], "{begun}");
    bench.model.release();
    editor.wait_text(NEW, |text| text.contains("AGENT: Because of the wire."));
    assert_eq!(bench.runs().len(), 1);
}

/// A turn whose answer the editor has been asked to write; what refuses that.
fn edit_on_its_way(editor: &mut Editor) -> Vec<u8> {
    editor.state().on_apply = OnApply::Ignore;
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let id = editor.wait_for("the answer's edit", |state| {
        let mut asked = state.received.iter();
        let edit = asked.find(|m| m["method"] == "workspace/applyEdit")?;
        Some(edit["id"].clone())
    });
    editor.state().on_apply = OnApply::Apply;
    let refused = json!({"applied": false, "failureReason": "the file is not open"});
    frame(&json!({"jsonrpc": "2.0", "id": id, "result": refused}))
}

/// The editor has closed the file when the answer comes to it, and tells of the new name after that.
#[test]
fn an_answer_that_meets_a_rename_is_written_under_the_new_name() {
    let bench = Bench::new(vec![Step::text("Because of the wire.")]);
    let mut editor = bench.typed();
    editor.save(FILE);
    let refuse = edit_on_its_way(&mut editor);
    rename(&bench, &mut editor, FILE, NEW, false);
    editor.send_raw(&refuse);
    editor.wait_text(NEW, |text| text.contains("AGENT: Because of the wire."));
    let ended = bench.wait_status("completed");
    assert_eq!(ended["file"], NEW);
    assert!(!bench.workspace.path(FILE).exists());
    let undone = editor.command("postil.undoTurn", json!({"run_id": ended["id"]}));
    assert_eq!(undone.expect("it is undone")["success"], true);
    editor.wait_text(NEW, |text| !text.contains("AGENT:"));
}

#[test]
fn a_turn_is_undone_under_the_new_name_and_what_it_made_is_left_to_who_renamed_it() {
    let patch = "--- a/docs/load.md\n+++ b/docs/load.md\n@@ -1 +1 @@\n-Loads.\n+Loads all.\n\
        --- /dev/null\n+++ b/docs/new.md\n@@ -0,0 +1 @@\n+New.\n";
    let step = call("toolu_1", "patch_apply", json!({"patch": patch}));
    let bench = Bench::new(vec![Step::calls(vec![step]), Step::text("Done.")]);
    let w = &bench.workspace;
    w.write("docs/load.md", "Loads.\n");
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("AGENT: Done."));
    let ended = bench.wait_status("completed");
    editor.save(FILE);
    rename(&bench, &mut editor, FILE, NEW, true);
    std::fs::rename(w.path("docs"), w.path("guide")).expect("renamed");
    let files = json!({"files": [{"oldUri": editor.uri("docs"), "newUri": editor.uri("guide")}]});
    editor.notify("workspace/didRenameFiles", files);
    editor.wait_codes(NEW, &["awaiting_user"]);
    let run = json!({"run_id": ended["id"]});
    wait_until("all of it is undone", || {
        let undone = editor.command("postil.undoTurn", run.clone());
        undone.is_ok_and(|undone| undone["success"] == true)
    });
    editor.wait_text(NEW, |text| !text.contains("AGENT:"));
    assert_eq!(w.read("guide/load.md"), "Loads.\n");
    assert_eq!(w.read("guide/new.md"), "New.\n");
}

#[test]
fn a_folder_that_is_renamed_takes_its_threads_along() {
    let bench = Bench::new(script());
    let mut editor = bench.typed();
    editor.save(FILE);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.wait_status("awaiting_user");
    let text = editor.wait_text(FILE, |text| text.contains("Into which one?"));
    bench.workspace.write(FILE, &text);
    let (from, to) = (editor.uri("src"), editor.uri("lib"));
    std::fs::rename(bench.workspace.path("src"), bench.workspace.path("lib")).expect("renamed");
    editor.close(FILE);
    let files = json!({"files": [{"oldUri": from, "newUri": to}]});
    editor.notify("workspace/didRenameFiles", files);
    let new = "lib/net.rs";
    editor.open_text(new, "rust", &text);
    editor.wait_codes(new, &["awaiting_user"]);
    let id = editor.diagnostics(new)[0]["data"]["thread_id"].clone();
    let argument = json!({"uri": editor.uri(new), "thread_id": id, "text": "(b)"});
    wait_until("its run goes along", || {
        editor.command("postil.choose", argument.clone()).is_ok()
    });
    editor.wait_text(new, |text| text.contains("Then load_all it is."));
}

#[test]
fn a_rename_that_nobody_tells_of_is_seen_on_the_disk() {
    let bench = Bench::new(script());
    let mut editor = bench.typed();
    let text = renamed_on_disk(&bench, &mut editor);
    tell(&editor, &[(FILE, 3), (NEW, 1)]);
    editor.open_text(NEW, "rust", &text);
    goes_on(&bench, &mut editor);
}

/// The author's choice under the new name is the answer to the turn's question.
fn goes_on(bench: &Bench, editor: &mut Editor) {
    editor.wait_codes(NEW, &["awaiting_user"]);
    let id = editor.diagnostics(NEW)[0]["data"]["thread_id"].clone();
    let argument = json!({"uri": editor.uri(NEW), "thread_id": id, "text": "(b)"});
    let begun = editor.command("postil.choose", argument);
    begun.expect("its run goes along");
    editor.wait_text(NEW, |text| text.contains("Then load_all it is."));
    let runs = bench.runs();
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!(runs[0]["file"], NEW);
}

/// An editor that watches the disk, in which a question was typed.
fn watching(bench: &Bench) -> Editor {
    let watches = json!({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": true}}});
    let editor = Editor::start_with(
        &bench.workspace,
        Options {
            env: bench.env(),
            capabilities: watches,
            initialization_options: json!({"trusted": true}),
            ..Options::default()
        },
    );
    editor.open(FILE);
    type_at(&editor, 0, THREAD);
    editor.wait_codes(FILE, &["pending"]);
    editor
}

/// What the turn has asked in a file that was closed and renamed since, on the disk alone.
fn renamed_on_disk(bench: &Bench, editor: &mut Editor) -> String {
    editor.save(FILE);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.wait_status("awaiting_user");
    let text = editor.wait_text(FILE, |text| text.contains("Into which one?"));
    bench.workspace.write(FILE, &text);
    editor.close(FILE);
    std::fs::rename(bench.workspace.path(FILE), bench.workspace.path(NEW)).expect("renamed");
    text
}

fn tell(editor: &Editor, changes: &[(&str, u8)]) {
    let changes = changes
        .iter()
        .map(|(file, kind)| json!({"uri": editor.uri(file), "type": kind}));
    let changes: Vec<Value> = changes.collect();
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": changes}),
    );
}

#[test]
fn a_choice_waits_until_what_was_told_of_the_disk_is_looked_at() {
    let bench = Bench::new(script());
    bench.workspace.write(".git/HEAD", "ref: refs/heads/main\n");
    for folder in [".git/objects", ".git/refs"] {
        std::fs::create_dir_all(bench.workspace.path(folder)).expect("a folder");
    }
    let mut editor = watching(&bench);
    let text = renamed_on_disk(&bench, &mut editor);
    // While git is at work what is told has to wait.
    bench.workspace.write(".git/index.lock", "");
    tell(&editor, &[(FILE, 3), (NEW, 1)]);
    editor.open_text(NEW, "rust", &text);
    goes_on(&bench, &mut editor);
}

#[test]
fn a_rename_is_seen_whose_names_are_told_one_after_the_other() {
    let bench = Bench::new(script());
    let mut editor = watching(&bench);
    let text = renamed_on_disk(&bench, &mut editor);
    bench.workspace.write("other.rs", "// AUTHOR: what for?\n");
    tell(&editor, &[(FILE, 3), ("other.rs", 1)]);
    editor.wait_codes("other.rs", &["pending"]);
    tell(&editor, &[(NEW, 1)]);
    editor.open_text(NEW, "rust", &text);
    goes_on(&bench, &mut editor);
}

/// As Neovim does on `:saveas`: the buffer has another name, and the file of the old one stays.
fn save_as(bench: &Bench, editor: &mut Editor, old: &str, new: &str) {
    let text = editor.text(old);
    bench.workspace.write(new, &text);
    editor.close(old);
    editor.open_text(new, "rust", &text);
    editor.save(new);
}

#[test]
fn a_turn_answers_in_the_copy_that_the_author_goes_on_with() {
    for saved in [true, false] {
        let bench = Bench::new(vec![Step::text("Because of the wire.").held()]);
        let mut editor = bench.typed();
        if saved {
            editor.save(FILE);
        }
        let old = bench.workspace.read(FILE);
        begin(&bench, &mut editor);
        save_as(&bench, &mut editor, FILE, NEW);
        editor.splice(NEW, 0..0, "// mine\n");
        editor.diagnostics(NEW);
        bench.model.release();
        editor.wait_text(NEW, |text| {
            text.starts_with("// mine\n") && text.contains("AGENT: Because of the wire.")
        });
        let ended = bench.wait_status("completed");
        assert_eq!(ended["file"], NEW);
        assert_eq!(bench.workspace.read(FILE), old);
        editor.wait_codes(NEW, &["awaiting_user"]);
        let undone = editor.command("postil.undoTurn", json!({"run_id": ended["id"]}));
        assert_eq!(undone.expect("it is undone")["success"], true);
        editor.wait_text(NEW, |text| !text.contains("AGENT:"));
    }
}

/// The editor refuses the answer to the old name, and that file is there still.
#[test]
fn an_answer_that_meets_a_copy_is_written_there() {
    for reopened_late in [false, true] {
        let bench = Bench::new(vec![Step::text("Because of the wire.")]);
        let mut editor = bench.typed();
        editor.save(FILE);
        let old = bench.workspace.read(FILE);
        let refuse = edit_on_its_way(&mut editor);
        if reopened_late {
            let text = editor.text(FILE);
            editor.close(FILE);
            editor.send_raw(&refuse);
            std::thread::sleep(Duration::from_millis(50));
            bench.workspace.write(NEW, &text);
            editor.open_text(NEW, "rust", &text);
        } else {
            save_as(&bench, &mut editor, FILE, NEW);
            editor.send_raw(&refuse);
        }
        editor.wait_text(NEW, |text| text.contains("AGENT: Because of the wire."));
        assert_eq!(bench.wait_status("completed")["file"], NEW);
        assert_eq!(bench.workspace.read(FILE), old);
        editor.wait_codes(NEW, &["awaiting_user"]);
    }
}

/// Closed for good, its file has the answer.
#[test]
fn an_answer_that_meets_the_end_of_its_document_is_written_to_the_file() {
    let bench = Bench::new(vec![Step::text("Because of the wire.")]);
    let mut editor = bench.typed();
    editor.save(FILE);
    let refuse = edit_on_its_way(&mut editor);
    editor.close(FILE);
    editor.send_raw(&refuse);
    assert_eq!(bench.wait_status("completed")["file"], FILE);
    let text = bench.workspace.read(FILE);
    assert!(text.contains("AGENT: Because of the wire."), "{text}");
}

fn write_other(bench: &Bench, more: &str) {
    let text = format!("{THREAD}fn other() {{}}\n{more}");
    bench.workspace.write(OTHER, text);
}

#[test]
fn a_file_that_asked_the_same_before_is_no_copy() {
    let bench = Bench::new(vec![Step::text("Because of the wire.").held()]);
    write_other(&bench, "");
    let mut editor = bench.typed();
    editor.wait_codes(OTHER, &["pending"]);
    editor.save(FILE);
    begin(&bench, &mut editor);
    editor.close(FILE);
    editor.open(OTHER);
    editor.diagnostics(OTHER);
    bench.model.release();
    assert_eq!(bench.wait_status("completed")["file"], FILE);
    let text = bench.workspace.read(FILE);
    assert!(text.contains("AGENT: Because of the wire."), "{text}");
    editor.wait_codes(OTHER, &["pending"]);
}

/// The file of a turn is gone, as with a branch that lacks it, and that branch has changed another.
fn gone_beside_another(bench: &Bench, editor: &Editor) -> String {
    let text = bench.workspace.read(FILE);
    editor.close(FILE);
    std::fs::remove_file(bench.workspace.path(FILE)).expect("removed");
    write_other(bench, "fn more() {}\n");
    tell(editor, &[(FILE, 3), (OTHER, 2)]);
    editor.wait_codes(FILE, &[]);
    text
}

#[test]
fn a_file_that_asked_the_same_before_is_no_new_name() {
    let bench = Bench::new(script());
    write_other(&bench, "");
    let mut editor = watching(&bench);
    editor.wait_codes(OTHER, &["pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.wait_status("awaiting_user");
    editor.wait_text(FILE, |text| text.contains("Into which one?"));
    editor.save(FILE);
    let text = gone_beside_another(&bench, &editor);
    assert_eq!(bench.runs()[0]["file"], FILE);
    // It comes back, and its conversation goes on.
    bench.workspace.write(FILE, &text);
    tell(&editor, &[(FILE, 1)]);
    editor.open_text(FILE, "rust", &text);
    editor.wait_codes(FILE, &["awaiting_user"]);
    let id = editor.diagnostics(FILE)[0]["data"]["thread_id"].clone();
    let argument = json!({"uri": editor.uri(FILE), "thread_id": id, "text": "(b)"});
    let begun = editor.command("postil.choose", argument);
    begun.expect("its run is there");
    editor.wait_text(FILE, |text| text.contains("Then load_all it is."));
}

#[test]
fn a_file_whose_own_question_was_answered_is_no_new_name() {
    let bench = Bench::new(vec![Step::text("One."), Step::text("Two.")]);
    let code = "fn other() {}\n";
    bench.workspace.write(OTHER, code);
    let mut editor = watching(&bench);
    editor.open(OTHER);
    editor.replace(OTHER, code, &format!("{THREAD}{code}"));
    editor.wait_codes(OTHER, &["pending"]);
    for (file, answer) in [(FILE, "AGENT: One."), (OTHER, "AGENT: Two.")] {
        let begun = editor.take_action(file, 0, "Reply as agent");
        begun.expect("the turn starts");
        editor.wait_text(file, |text| text.contains(answer));
        let is_over = |run: &Value| run["status"] == "completed";
        wait_until("the turn ends", || bench.runs().iter().all(is_over));
        editor.save(file);
    }
    editor.close(FILE);
    std::fs::remove_file(bench.workspace.path(FILE)).expect("removed");
    tell(&editor, &[(FILE, 3), (OTHER, 2)]);
    editor.wait_codes(FILE, &[]);
    let runs = bench.runs();
    let files: Vec<&Value> = runs.iter().map(|run| &run["file"]).collect();
    assert_eq!(files, [OTHER, FILE]);
}

#[test]
fn a_turn_whose_file_goes_answers_in_none_that_asked_the_same_before() {
    let bench = Bench::new(vec![Step::text("Because of the wire.").held()]);
    write_other(&bench, "");
    let mut editor = watching(&bench);
    editor.wait_codes(OTHER, &["pending"]);
    editor.save(FILE);
    begin(&bench, &mut editor);
    gone_beside_another(&bench, &editor);
    bench.model.release();
    wait_until("the turn ends", || bench.runs()[0]["status"] != "running");
    assert_eq!(bench.runs()[0]["file"], FILE);
    let text = bench.workspace.read(OTHER);
    assert!(!text.contains("AGENT"), "{text}");
}
