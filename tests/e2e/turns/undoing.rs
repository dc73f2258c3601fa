//! An undo that is asked for while its turn works or goes on, and one in another editor than the turn's.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Bench, CODE, FILE, THREAD, read, rename, take_when_offered, type_at};
use crate::harness::{Editor, OnApply, frame};
use crate::model::{Step, call};

const OTHER: &str = "b.rs";
const BEFORE: &str = "fn one() {}\n\nfn x() {}\n\nfn four() {}\n";

/// Reads the other file and edits it.
fn edit(old: &str, new: &str) -> Step {
    let input = json!({"path": OTHER, "old_string": old, "new_string": new});
    Step::calls(vec![
        call("toolu_r", "file_read", json!({"path": OTHER})),
        call("toolu_e", "file_edit", input),
    ])
}

/// A turn begun in an editor that has the other file open, too.
fn begun(bench: &Bench, on_apply: OnApply) -> Editor {
    bench.workspace.write(OTHER, BEFORE);
    let mut editor = bench.typed();
    editor.open(OTHER);
    editor.diagnostics(OTHER);
    editor.state().on_apply = on_apply;
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor
}

/// The id of the edit with this label that the editor does not answer.
fn asked(editor: &Editor, label: &str) -> Value {
    editor.wait_for(label, |state| {
        let mut all = state.received.iter();
        let one = all.find(|message| {
            let said = message["params"]["label"].as_str().unwrap_or_default();
            message["method"] == "workspace/applyEdit" && said.starts_with(label)
        });
        Some(one?["id"].clone())
    })
}

fn answer(editor: &Editor, id: &Value, applied: bool) {
    let result = json!({"applied": applied, "failureReason": "the text is newer"});
    editor.send_raw(&frame(
        &json!({"jsonrpc": "2.0", "id": id, "result": result}),
    ));
}

/// The edit is on record before the editor has it: an undo would find nothing of it, and call that undone.
#[test]
fn a_turn_at_work_is_not_undone_until_it_has_ended() {
    let bench = Bench::new(vec![edit("one", "ONE"), Step::text("Done.").held()]);
    let mut editor = begun(&bench, OnApply::Ignore);
    let change = asked(&editor, "postil: change");
    let run = bench.wait_status("running")["id"].clone();
    let undo = json!({"run_id": run});
    let refused = editor.command("postil.undoTurn", undo.clone());
    let refused = refused.expect_err("it is at work")["message"].to_string();
    let (code, _, told) = bench.cli(&["undo", run.as_str().expect("an id")]);
    assert_eq!(code, Some(1), "{told}");
    for said in [refused, told] {
        assert!(
            said.contains("the turn is still at work, and nothing was put back: cancel it first"),
            "{said}"
        );
    }
    editor.state().on_apply = OnApply::Apply;
    editor.replace(OTHER, "one", "ONE");
    answer(&editor, &change, true);
    bench.model.wait_for_requests(2);
    bench.model.release();
    editor.wait_text(FILE, |text| text.contains("AGENT"));
    // At once: what is left of the turn is waited for.
    let undone = editor.command("postil.undoTurn", undo).expect("undone");
    assert_eq!(undone["files"][0], "b.rs: put back");
    assert_eq!(editor.text(OTHER), BEFORE);
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
}

/// What it writes then is kept as what differs from what is undone.
#[test]
fn what_a_turn_writes_that_goes_on_while_it_is_undone_can_be_undone() {
    let bench = Bench::new(vec![
        edit("one", "ONE"),
        Step::error(401, "authentication_error", "invalid x-api-key"),
        edit("four", "FOUR"),
        Step::text("Done."),
    ]);
    let mut editor = begun(&bench, OnApply::Apply);
    let run = bench.wait_status("failed")["id"].clone();
    editor.wait_codes(FILE, &["pending", "turn-failed"]);
    let both = editor.text(OTHER);
    assert_eq!(both, BEFORE.replace("one", "ONE"));
    let undo = json!({"run_id": run});
    editor.state().on_apply = OnApply::Ignore;
    let undoing = editor.ask(
        "workspace/executeCommand",
        json!({"command": "postil.undoTurn", "arguments": [undo]}),
    );
    let change = asked(&editor, "Undo last turn");
    editor.state().on_apply = OnApply::Apply;
    editor
        .command("postil.continue", undo.clone())
        .expect("it goes on");
    editor.wait_text(FILE, |text| text.contains("AGENT: Done."));
    bench.wait_status("completed");
    answer(&editor, &change, false);
    let undone = editor.answer(undoing).expect("undone");
    assert_eq!(undone["files"], json!(["b.rs: put back"]));
    assert_eq!(editor.text(OTHER), BEFORE.replace("four", "FOUR"));
    let changes = editor.command("postil.turnChanges", undo.clone());
    let files = changes.expect("what is left")["files"].clone();
    assert_eq!(files[0]["file"], OTHER);
    assert_eq!(files[0]["before"], both);
    let undone = editor.command("postil.undoTurn", undo).expect("undone");
    assert_eq!(undone["files"][0], "b.rs: put back", "{undone}");
    assert_eq!(editor.text(OTHER), BEFORE);
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
}

/// Its answer was made, and could not be written.
#[test]
fn a_turn_that_goes_on_after_its_undo_is_told_of_it_and_does_not_answer_as_before() {
    let bench = Bench::new(vec![
        edit("one", "ONE"),
        Step::text("It is ONE now.").held(),
        Step::text("It is one still."),
    ]);
    let mut editor = begun(&bench, OnApply::Apply);
    bench.model.wait_for_requests(2);
    editor.wait_text(OTHER, |text| text.contains("ONE"));
    editor.state().on_apply = OnApply::Refuse;
    bench.model.release();
    let run = bench.wait_status("failed")["id"].clone();
    editor.wait_codes(FILE, &["pending", "turn-failed"]);
    editor.state().on_apply = OnApply::Apply;
    let undone = editor.command("postil.undoTurn", json!({"run_id": run}));
    assert_eq!(undone.expect("undone")["files"], json!(["b.rs: put back"]));
    take_when_offered(&mut editor, "Reply as agent");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT"));
    assert!(text.contains("// AGENT: It is one still."), "{text}");
    let told = bench.model.requests()[2].body.to_string();
    assert!(
        told.contains("The author has undone what you had changed in b.rs:"),
        "{told}"
    );
}

/// Reads a file, and puts `new` in the place of `old` in it.
fn edits(file: &str, pairs: &[(&str, &str)]) -> Step {
    let edits = pairs.iter().enumerate().map(|(n, (old, new))| {
        let input = json!({"path": file, "old_string": old, "new_string": new});
        call(&format!("toolu_e{n}"), "file_edit", input)
    });
    let read = call("toolu_r", "file_read", json!({"path": file}));
    Step::calls(std::iter::once(read).chain(edits).collect())
}

#[test]
fn a_turn_whose_line_a_later_one_has_changed_is_undone_after_that() {
    let bench = Bench::new(vec![
        edits("c.py", &[("p = 1", "p = 2"), ("q = 1", "q = 2")]),
        Step::text("Two."),
        edits("c.py", &[("p = 2", "p = 3")]),
        Step::text("Three."),
    ]);
    bench.workspace.write("c.py", "p = 1\n\nq = 1\n");
    bench.workspace.write(FILE, format!("{THREAD}{CODE}"));
    assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
    let answered = |file: &str| {
        let (code, out, err) = bench.cli(&["reply", "--all", "--yes"]);
        assert_eq!(code, Some(0), "{out}{err}");
        let runs = bench.runs();
        let run = runs.iter().find(|run| run["file"] == file);
        let id = run.expect("a run")["id"].as_str();
        id.expect("an id")[..8].to_owned()
    };
    let older = answered(FILE);
    bench
        .workspace
        .write("d.py", "# AUTHOR: and three?\nd = 1\n");
    let newer = answered("d.py");
    let code = || bench.workspace.read("c.py");
    assert_eq!(code(), "p = 3\n\nq = 2\n");
    let later = format!("undo that first (`postil undo {newer}`), then this again");
    let (exit, out, err) = bench.cli(&["undo", &older]);
    assert_eq!(exit, Some(1), "{out}{err}");
    let told =
        format!("c.py: put back, but for what run {newer} has changed since at line 1: {later}");
    assert!(out.contains(&told), "{out}{err}");
    assert_eq!(code(), "p = 3\n\nq = 1\n");
    assert_eq!(bench.workspace.read(FILE), format!("{THREAD}{CODE}"));
    let (exit, _, err) = bench.cli(&["undo", &older]);
    assert_eq!(exit, Some(1), "{err}");
    assert!(
        err.contains("not put back") && err.contains(&later),
        "{err}"
    );
    assert_eq!(bench.cli(&["undo", &newer]).0, Some(0));
    assert_eq!(code(), "p = 2\n\nq = 1\n");
    let (exit, out, err) = bench.cli(&["undo", &older]);
    assert_eq!(exit, Some(0), "{err}");
    assert!(out.contains("c.py: put back\n"), "{out}");
    assert_eq!(code(), "p = 1\n\nq = 1\n");
}

/// The answer went with it.
#[test]
fn a_turn_is_undone_whose_thread_is_gone() {
    let bench = Bench::new(vec![edit("one", "ONE"), Step::text("Done.")]);
    bench.workspace.write(OTHER, BEFORE);
    bench.workspace.write(FILE, format!("{THREAD}{CODE}"));
    assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
    assert_eq!(bench.cli(&["reply", "--all", "--yes"]).0, Some(0));
    let answered = bench.workspace.read(FILE);
    let resolved = answered.replace("// AUTHOR:\n", "// AUTHOR: done\n");
    assert_ne!(resolved, answered);
    bench.workspace.write(FILE, resolved);
    assert_eq!(bench.cli(&["process"]).0, Some(0));
    assert_eq!(bench.workspace.read(FILE), CODE);
    let run = bench.runs()[0]["id"].clone();
    let undo = || bench.cli(&["undo", run.as_str().expect("an id")]);
    let (exit, out, err) = undo();
    assert_eq!(exit, Some(0), "{out}{err}");
    let gone = "the thread is gone already, and the answer with it";
    assert_eq!(out, format!("{OTHER}: put back\n{FILE}: {gone}\n"), "{err}");
    assert_eq!(bench.workspace.read(OTHER), BEFORE);
    assert_eq!(bench.workspace.read(FILE), CODE);
    let (_, _, err) = undo();
    assert!(err.contains("there is nothing to put back"), "{err}");
}

/// A turn in the first editor, which has not saved what it made; the second shows the file as it was saved before.
fn answered_in_one_of_two() -> (Bench, Editor, Editor) {
    let bench = Bench::new(vec![read(), rename(), Step::text("Renamed.")]);
    let (mut first, second) = (bench.listening(), bench.listening());
    first.open(FILE);
    first.splice(FILE, 0..0, THREAD);
    first.save(FILE);
    first.wait_codes(FILE, &["pending"]);
    second.open(FILE);
    second.wait_codes(FILE, &["pending"]);
    take_when_offered(&mut first, "Reply as agent");
    first.wait_text(FILE, |text| text.contains("AGENT: Renamed."));
    bench.wait_status("completed");
    (bench, first, second)
}

#[test]
fn an_undo_in_another_editor_is_made_in_the_one_that_has_the_text() {
    let (_bench, mut first, mut second) = answered_in_one_of_two();
    let undone = second.take_action(FILE, 0, "Undo last turn");
    let undone = undone.expect("undone");
    assert_eq!(undone["files"], json!([format!("{FILE}: put back")]));
    let asked = format!("{THREAD}{CODE}");
    assert_eq!(first.text(FILE), asked);
    assert_eq!(second.text(FILE), asked);
    let argument = json!({"uri": first.uri(FILE), "thread_id": first.diagnostics(FILE)[0]["data"]["thread_id"]});
    for editor in [&mut first, &mut second] {
        let nothing = editor.command("postil.undoTurn", argument.clone());
        let nothing = nothing.expect_err("it is undone")["message"].to_string();
        assert!(
            nothing.contains("there is nothing to put back"),
            "{nothing}"
        );
    }
}

#[test]
fn an_editor_that_is_suspended_keeps_no_other_from_undoing_its_own_turn() {
    let (_bench, mut first, second) = answered_in_one_of_two();
    let pid = i32::try_from(second.process_id()).expect("an id");
    let pid = Pid::from_raw(pid).expect("an id");
    kill_process(pid, Signal::STOP).expect("it runs");
    take_when_offered(&mut first, "Undo last turn");
    assert_eq!(first.text(FILE), format!("{THREAD}{CODE}"));
    kill_process(pid, Signal::CONT).expect("it is there");
}

/// Both have the other file open and unsaved: the first with a word of the author, the second with what its turn wrote.
#[test]
fn an_undo_is_made_in_the_editor_of_the_turn_where_another_has_not_saved_the_file_either() {
    for in_editor in [false, true] {
        let bench = Bench::new(vec![edit("one", "ONE"), Step::text("Done.")]);
        bench.workspace.write(OTHER, BEFORE);
        let (mut first, mut second) = (bench.listening(), bench.listening());
        first.open(OTHER);
        first.splice(OTHER, 0..0, "// mine\n");
        first.settle();
        second.open(OTHER);
        second.open(FILE);
        type_at(&second, 0, THREAD);
        second.wait_codes(FILE, &["pending"]);
        take_when_offered(&mut second, "Reply as agent");
        second.wait_text(FILE, |text| text.contains("AGENT: Done."));
        assert_eq!(second.text(OTHER), BEFORE.replace("one", "ONE"));
        let run = bench.wait_status("completed")["id"].clone();
        if in_editor {
            let undone = first.command("postil.undoTurn", json!({"run_id": run}));
            let undone = undone.expect("undone");
            assert_eq!(undone["files"][0], "b.rs: put back", "{undone}");
        } else {
            let (code, out, err) = bench.cli(&["undo", run.as_str().expect("an id")]);
            assert_eq!(code, Some(0), "{err}");
            assert!(out.starts_with("b.rs: put back\n"), "{out}");
        }
        assert_eq!(second.text(OTHER), BEFORE);
        assert_eq!(second.text(FILE), format!("{THREAD}{CODE}"));
        assert_eq!(first.text(OTHER), format!("// mine\n{BEFORE}"));
    }
}
