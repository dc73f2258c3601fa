//! An author who types where the agent edits, and undoes the turn: no key is ever lost.

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use super::{Bench, CODE, FILE, THREAD, read, rename, take_when_offered};
use crate::harness::{Editor, OnApply, frame};
use crate::model::{Step, call};

/// Turns of one editor's life; each with two edits, and keys all along.
const TURNS: usize = 100;
/// Of one turn: it reads, edits twice, and answers.
const REQUESTS: usize = 4;

fn file(turn: usize) -> String {
    format!("src/f{turn}.rs")
}

/// Reads the thread's own file and edits two of its words, one after the other, then ends.
fn by_the_request(request: &Value) -> Step {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let first = messages[0].to_string();
    let asked = first.rsplit("about src/f").next().unwrap_or_default();
    let turn: usize = asked
        .split('.')
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    let path = file(turn);
    let id = |n: usize| format!("toolu_{turn}_{n}");
    let edit = |n: usize, old: &str, new: &str| {
        let input = json!({"path": path, "old_string": old, "new_string": new});
        Step::calls(vec![call(&id(n), "file_edit", input)])
    };
    match messages.len() / 2 {
        0 => Step::calls(vec![call(&id(0), "file_read", json!({"path": path}))]),
        1 => edit(1, "word2", "edited\nand longer"),
        2 => edit(2, "word4\n", ""),
        _ => Step::text("Edited."),
    }
}

#[test]
fn fault_19_no_key_is_lost_while_the_agent_edits_the_same_lines_and_when_it_is_undone() {
    let script = (0..TURNS * 6).map(|_| Step::made(by_the_request)).collect();
    let bench = Bench::new(script);
    let mut random = StdRng::seed_from_u64(5);
    let mut editor = bench.editor(true);
    let mut next = 0u32;
    let mut landed = 0;
    for turn in 0..TURNS {
        let path = file(turn);
        let code = "// word0\nword1\nword2\nword3\nword4\nword5\n";
        bench.workspace.write(&path, format!("\n{code}"));
        editor.open(&path);
        let thread = format!("// AUTHOR: what about src/f{turn}.rs?\n");
        editor.splice(&path, 0..0, &thread);
        editor.wait_codes(&path, &["pending"]);
        let mut keys = Vec::new();
        let mut press = |editor: &Editor, random: &mut StdRng| {
            let key = char::from_u32(0x4e00 + next).expect("a letter");
            next = (next + 1) % 0x5000;
            editor.splice_with(&path, |text| {
                // Below the thread, for what is typed in a thread is another message.
                let from = text.find("\n\n").map_or(text.len(), |at| at + 2);
                let places: Vec<usize> = text
                    .char_indices()
                    .map(|(at, _)| at)
                    .chain([text.len()])
                    .filter(|at| *at >= from)
                    .collect();
                let at = places[random.random_range(0..places.len())];
                (at..at, key.to_string())
            });
            keys.push(key);
        };
        editor
            .take_action(&path, 0, "Reply as agent")
            .expect("the turn starts");
        // Keys while the agent thinks and while it writes, each time somewhere else in between.
        for request in 1..=REQUESTS {
            for _ in 0..random.random_range(0..3) {
                press(&editor, &mut random);
            }
            bench.model.wait_for_requests(turn * REQUESTS + request);
            for _ in 0..random.random_range(0..4) {
                press(&editor, &mut random);
            }
        }
        editor.wait_text(&path, |text| text.contains("AGENT: Edited."));
        press(&editor, &mut random);
        let run = run_of(&mut editor, &path);
        landed += usize::from(editor.text(&path).contains("edited\n"));
        // Refused where it meets a key that is on its way: then the author asks again.
        let undo = json!({"run_id": run});
        let id = editor.ask(
            "workspace/executeCommand",
            json!({"command": "postil.undoTurn", "arguments": [undo]}),
        );
        press(&editor, &mut random);
        if editor.answer(id).is_err() {
            let again = editor.command("postil.undoTurn", undo);
            assert!(again.is_ok(), "turn {turn}: {again:?}");
        }
        press(&editor, &mut random);
        let text = editor.text(&path);
        for key in &keys {
            assert_eq!(
                text.matches(*key).count(),
                1,
                "turn {turn}: {key} in {text}"
            );
        }
        editor.close(&path);
    }
    assert!(
        landed > TURNS / 10,
        "hardly an edit met the author's keys: {landed}"
    );
}

/// What stands there in the end is the author's, though it is what the agent wanted.
#[test]
fn an_edit_that_was_refused_is_not_taken_back() {
    let bench = Bench::new(vec![read(), rename(), Step::text("You did it.")]);
    let mut editor = bench.typed();
    editor.state().on_apply = OnApply::Ignore;
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let id = editor.wait_for("the agent's edit", |state| {
        let mut asked = state.received.iter();
        let asked = asked.find(|m| m["method"] == "workspace/applyEdit");
        asked.map(|m| m["id"].clone())
    });
    editor.replace(FILE, "load()", "load_data()");
    editor.state().on_apply = OnApply::Apply;
    let refused = json!({"applied": false, "failureReason": "the text is newer"});
    editor.send_raw(&frame(
        &json!({"jsonrpc": "2.0", "id": id, "result": refused}),
    ));
    editor.wait_text(FILE, |text| text.contains("// AGENT: You did it."));
    take_when_offered(&mut editor, "Undo last turn");
    let text = editor.wait_text(FILE, |text| !text.contains("AGENT"));
    assert_eq!(
        text,
        format!("{THREAD}{}", CODE.replace("load()", "load_data()"))
    );
}

/// A file whose last line has no end: the agent adds to it, and the author below.
#[test]
fn what_is_written_below_the_agents_last_line_stays_a_line_when_that_is_taken_back() {
    let change = json!({"path": FILE, "old_string": "fn load() {}", "new_string": "fn load() {}\n\nfn save() {}\n"});
    let bench = Bench::new(vec![
        read(),
        Step::calls(vec![call("toolu_2", "file_edit", change)]),
        Step::text("Added."),
    ]);
    bench.workspace.write(FILE, "fn load() {}");
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT: Added."));
    assert!(text.ends_with("\n\nfn save() {}\n"), "{text}");
    editor.splice(FILE, text.len()..text.len(), "fn mine() {}\n");
    undo(&mut editor);
    assert_eq!(
        editor.text(FILE),
        format!("{THREAD}fn load() {{}}\nfn mine() {{}}\n")
    );
}

/// A try that met a key beside it is nothing that the turn wrote.
#[test]
fn an_answer_that_met_a_key_is_taken_back_without_a_word_of_it() {
    let bench = Bench::new(vec![Step::text("No.")]);
    let mut editor = bench.typed();
    editor.state().on_apply = OnApply::Ignore;
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let id = editor.wait_for("the answer's edit", |state| {
        let mut asked = state.received.iter();
        let asked = asked.find(|m| m["method"] == "workspace/applyEdit");
        asked.map(|m| m["id"].clone())
    });
    editor.replace(FILE, "pub fn", "fn");
    editor.state().on_apply = OnApply::Apply;
    let refused = json!({"applied": false, "failureReason": "the text is newer"});
    editor.send_raw(&frame(
        &json!({"jsonrpc": "2.0", "id": id, "result": refused}),
    ));
    editor.wait_text(FILE, |text| text.contains("// AGENT: No."));
    undo(&mut editor);
    assert_eq!(
        editor.text(FILE),
        format!("{THREAD}{}", CODE.replace("pub fn", "fn"))
    );
}

/// More keys than an edit is made anew at once; each comes while it is on its way.
#[test]
fn an_answer_waits_for_an_author_who_types_on() {
    let bench = Bench::new(vec![Step::text("No.")]);
    let mut editor = bench.typed();
    editor.state().on_apply = OnApply::Ignore;
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let keys = "typed all the while";
    for (index, key) in keys.char_indices() {
        let id = editor.wait_for("the answer's edit", |state| {
            let asked = state.received.iter();
            let mut asked = asked.filter(|m| m["method"] == "workspace/applyEdit");
            asked.nth(index).map(|m| m["id"].clone())
        });
        let end = editor.text(FILE).len();
        editor.splice(FILE, end..end, &key.to_string());
        if index + 1 == keys.len() {
            editor.state().on_apply = OnApply::Apply;
        }
        let error = json!({"code": -32603, "message": "Edits require another version"});
        let refused = json!({"jsonrpc": "2.0", "id": id, "error": error});
        editor.send_raw(&frame(&refused));
    }
    let text = editor.wait_text(FILE, |text| text.contains("// AGENT: No."));
    assert!(text.ends_with(&format!("}}\n{keys}")), "{text}");
}

/// The run of the thread in this file, once its turn is over.
/// Takes the turn back, whole.
fn undo(editor: &mut Editor) {
    let run = run_of(editor, FILE);
    let undone = editor.command("postil.undoTurn", json!({"run_id": run}));
    let undone = undone.expect("undone");
    assert_eq!(undone["files"], json!([format!("{FILE}: put back")]));
}

fn run_of(editor: &mut Editor, path: &str) -> String {
    loop {
        let list = editor
            .command("postil.workflowList", json!({"limit": 500}))
            .expect("the runs");
        let run = list
            .as_array()
            .and_then(|runs| runs.iter().find(|run| run["file"] == path).cloned());
        if let Some(run) = run.filter(|run| run["status"] != "running") {
            return run["id"].as_str().expect("an id").to_owned();
        }
    }
}
