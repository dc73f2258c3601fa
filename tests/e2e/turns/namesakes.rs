//! Threads with the same first words in one file: each has its own turns, and nothing of another's.

use serde_json::{Value, json};

use super::{Bench, FILE, take_when_offered, type_at};
use crate::harness::{Editor, OnApply, Workspace, frame, wait_until};
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

/// The id of the first thread.
fn thread_id(workspace: &Workspace) -> String {
    let listed = workspace.postil().args(["threads", "--json"]).output();
    let listed: Value = serde_json::from_slice(&listed.expect("it ends").stdout).expect("JSON");
    let id = listed["threads"][0]["id"].as_str();
    id.expect("an id").to_owned()
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

/// The editor shows that a thread is gone before what was said in it is kept; whoever asks about it waits for that.
fn wait_closed(editor: &mut Editor) {
    let line = json!({"line": 0, "character": 0});
    let argument = json!({"uri": editor.uri(FILE), "position": line});
    let told = editor.command("postil.why", argument);
    told.expect("it is answered");
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

#[test]
fn what_a_removed_thread_had_is_not_its_namesakes() {
    let bench = Bench::new(vec![edit("fn a() {}", "fn c() {}"), Step::text("Done.")]);
    let (mut editor, ids) = typed(&bench, TWO);
    answered(&bench, &mut editor, 0);
    take_when_offered(&mut editor, "Resolve (remove thread)");
    let left = "fn c() {}\n\n// AUTHOR: why?\nfn b() {}\n";
    editor.wait_text(FILE, |text| text == left);
    editor.wait_codes(FILE, &["pending"]);
    wait_closed(&mut editor);

    let titles = offered(&mut editor, 2);
    for title in ["Open conversation", "Undo last turn", "Continue"] {
        assert!(!titles.iter().any(|offered| offered == title), "{titles:?}");
    }
    let shown = hover(&mut editor, 2);
    assert!(!shown.contains("run "), "{shown}");
    let second = json!({"uri": editor.uri(FILE), "thread_id": ids[0]});
    for argument in [second, json!({"thread_id": ids[0]})] {
        let error = editor.command("postil.undoTurn", argument);
        let error = error.expect_err("it has no turn").to_string();
        assert!(error.contains("no agent has worked"), "{error}");
    }
    assert_eq!(editor.text(FILE), left);
    // By its own name the turn is known as before.
    let run = bench.runs().remove(0);
    let page = editor.command("postil.workflowThread", json!({"run_id": run["id"]}));
    let page = page.expect("it is kept").to_string();
    assert!(page.contains("Done."), "{page}");
    let (code, _, said) = bench.cli(&["reply", "--resume", run["id"].as_str().expect("an id")]);
    assert_ne!(code, Some(0));
    assert!(said.contains("its thread was removed"), "{said}");
}

#[test]
fn a_thread_that_is_brought_back_has_its_past_again() {
    let bench = Bench::new(vec![edit("fn a() {}", "fn c() {}"), Step::text("Done.")]);
    let (mut editor, _) = typed(&bench, TWO);
    answered(&bench, &mut editor, 0);
    let before = editor.text(FILE);
    take_when_offered(&mut editor, "Resolve (remove thread)");
    let after = editor.wait_text(FILE, |text| text.starts_with("fn c() {}"));
    wait_closed(&mut editor);
    // As an editor takes back its removal.
    editor.splice(FILE, 0..0, before.strip_suffix(&after).expect("its lines"));
    let titles = offered(&mut editor, 0);
    assert!(
        titles.contains(&String::from("Open conversation")),
        "{titles:?}"
    );
    editor
        .take_action(FILE, 0, "Undo last turn")
        .expect("it is undone");
    editor.wait_text(FILE, |text| text == TWO);
    // Asked anew in the same words, it is another one.
    let titles = offered(&mut editor, 0);
    assert!(
        !titles.contains(&String::from("Open conversation")),
        "{titles:?}"
    );
}

#[test]
fn a_thread_keeps_its_turns_when_a_namesake_above_it_goes() {
    let bench = Bench::new(vec![
        edit("fn b() {}", "fn c() {}"),
        Step::text("Done."),
        Step::text("Again."),
    ]);
    let (mut editor, ids) = typed(&bench, TWO);
    answered(&bench, &mut editor, SECOND);
    let run = bench.runs().remove(0);
    assert_eq!(run["thread_id"], ids[1]);
    take_when_offered(&mut editor, "Resolve (remove thread)");
    let text = editor.wait_text(FILE, |text| text.starts_with("fn a() {}"));
    wait_closed(&mut editor);

    // It goes by the other's id now, and by its own past.
    let runs = bench.runs();
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!(
        (&runs[0]["id"], &runs[0]["thread_id"]),
        (&run["id"], &ids[0])
    );
    let shown = hover(&mut editor, 2);
    assert!(
        shown.contains(run["id"].as_str().expect("an id")),
        "{shown}"
    );
    let thread = json!({"uri": editor.uri(FILE), "thread_id": ids[0]});
    let done = editor.command("postil.reply", {
        let mut said = thread.clone();
        said["text"] = json!("And now?");
        said
    });
    done.expect("it is written");
    editor
        .take_action(FILE, 2, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Again."));
    assert_eq!(bench.wait_status("completed")["id"], run["id"]);
    assert_eq!(bench.runs().len(), 1);
    for _ in 0..2 {
        let undone = editor.command("postil.undoTurn", thread.clone());
        undone.expect("its own turns are undone");
    }
    let undone = editor.text(FILE);
    assert!(
        text.contains("fn c() {}") && undone.contains("fn b() {}"),
        "{undone}"
    );
}

#[test]
fn a_failure_is_shown_at_its_own_thread_and_goes_with_it() {
    let refused = || Step::error(401, "authentication_error", "invalid x-api-key");
    for (line, left) in [(0, &["pending"][..]), (SECOND, &["pending", "turn-failed"])] {
        let bench = Bench::new(vec![refused()]);
        let (mut editor, _) = typed(&bench, TWO);
        editor
            .take_action(FILE, line, "Reply as agent")
            .expect("the turn starts");
        let shown = editor.wait_codes(FILE, &["pending", "pending", "turn-failed"]);
        assert_eq!(shown[2]["range"]["start"]["line"], line);
        bench.wait_status("failed");
        take_when_offered(&mut editor, "Resolve (remove thread)");
        editor.wait_text(FILE, |text| text.starts_with("fn a() {}"));
        let shown = editor.wait_codes(FILE, left);
        if let Some(failed) = shown.get(1) {
            assert_eq!(failed["data"]["thread_id"], shown[0]["data"]["thread_id"]);
        }
    }
}

#[test]
fn a_question_that_stands_twice_when_its_answer_comes_is_said_to() {
    let bench = Bench::new(vec![Step::text("Done.").held()]);
    bench.workspace.write(FILE, "fn x() {}\n");
    let mut editor = bench.editor(true);
    editor.open(FILE);
    editor.splice(FILE, 0..0, WHY);
    editor.wait_codes(FILE, &["pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.model.wait_for_requests(1);
    editor.splice(FILE, 0..0, &format!("{WHY}fn y() {{}}\n"));
    let twice = editor.text(FILE);
    editor.wait_diagnostics(FILE, |shown| shown.len() == 2);
    bench.model.release();
    let told = editor.wait_message("window/showMessage", |params| params["type"] == 1);
    let told = told["message"].as_str().unwrap_or_default();
    assert!(
        told.contains("more than once by now") && told.contains("The answer was: Done."),
        "{told}"
    );
    assert_eq!(editor.text(FILE), twice);
}

/// They go by their place, and nobody saw the lines move: the file is open nowhere.
#[test]
fn an_answer_does_not_go_to_a_namesake_that_took_its_place() {
    let bench = Bench::new(vec![
        Step::text("No.").held(),
        Step::text("For speed.").held(),
    ]);
    bench.workspace.write(FILE, TWO);
    let id = format!("{}-2", thread_id(&bench.workspace));
    let begin = || {
        let mut postil = bench.workspace.postil();
        postil.args(["reply", &id]).envs(bench.env());
        let said = std::process::Stdio::piped;
        postil
            .stdout(said())
            .stderr(said())
            .spawn()
            .expect("it runs")
    };
    let asked = begin();
    bench.model.wait_for_requests(1);
    let moved = "// AUTHOR: why?\nfn b() {}\n\n// AUTHOR: why?\nfn a() {}\n";
    bench.workspace.write(FILE, moved);
    bench.model.release();
    let ended = asked.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("The answer was: No."), "{said}");
    assert_eq!(bench.workspace.read(FILE), moved);

    // Lines that move with their code, and code that is changed, are no other thread's.
    let asked = begin();
    bench.model.wait_for_requests(2);
    let changed = format!("use x;\n{}", moved.replace("fn a() {}", "fn fast() {}"));
    bench.workspace.write(FILE, &changed);
    bench.model.release();
    let ended = asked.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{ended:?}");
    let text = bench.workspace.read(FILE);
    assert!(
        text.ends_with("why?\n// AGENT: For speed.\n// AUTHOR:\nfn fast() {}\n"),
        "{text}"
    );
}

#[test]
fn a_turn_that_runs_is_known_by_the_id_that_its_thread_has_now() {
    let bench = Bench::new(vec![Step::text("Done.").held()]);
    let (mut editor, ids) = typed(&bench, TWO);
    editor
        .take_action(FILE, SECOND, "Reply as agent")
        .expect("the turn starts");
    bench.model.wait_for_requests(1);
    take_when_offered(&mut editor, "Resolve (remove thread)");
    editor.wait_text(FILE, |text| text.starts_with("fn a() {}"));
    wait_until("it runs on", || {
        offered(&mut editor, 2).contains(&String::from("Cancel"))
    });
    let cancelled = editor.command("postil.cancelTurn", json!({"thread_id": ids[0]}));
    cancelled.expect("it runs");
    let run = bench.wait_status("cancelled");
    assert_eq!(run["thread_id"], ids[0]);
}

/// A turn that changes a file of its own.
fn changing(file: &str, old: &str, new: &str, answer: &str) -> [Step; 2] {
    let input = json!({"path": file, "old_string": old, "new_string": new});
    let calls = vec![
        call("toolu_r", "file_read", json!({"path": file})),
        call("toolu_e", "file_edit", input),
    ];
    [Step::calls(calls), Step::text(answer)]
}

/// Both threads answered: the first one's turn has changed b.txt, the second one's c.txt.
fn both_answered() -> (Bench, Editor) {
    let turns = ["b", "c"].map(|name| {
        let file = format!("{name}.txt");
        changing(&file, "old", "new", &format!("Changed {name}."))
    });
    let bench = Bench::new(turns.into_iter().flatten().collect());
    for file in ["b.txt", "c.txt"] {
        bench.workspace.write(file, "old\n");
    }
    let (mut editor, _) = typed(&bench, TWO);
    for (line, answer) in [(0, "Changed b."), (SECOND + 2, "Changed c.")] {
        editor
            .take_action(FILE, line, "Reply as agent")
            .expect("the turn starts");
        editor.wait_text(FILE, |text| text.contains(answer));
        bench.wait_status("completed");
    }
    (bench, editor)
}

/// Undoes the turn of the thread at a line; what stands in b.txt and c.txt then.
fn undone(bench: &Bench, editor: &mut Editor, line: usize) -> [String; 2] {
    editor
        .take_action(FILE, line, "Undo last turn")
        .expect("it is undone");
    ["b.txt", "c.txt"].map(|file| bench.workspace.read(file))
}

#[test]
fn a_thread_keeps_its_turns_when_a_namesake_above_it_is_typed() {
    let (code, question) = ("fn n() {}\n\n", "// AUTHOR: why?\n");
    // The other way the first marker is none for some keys.
    for code_first in [true, false] {
        let (bench, mut editor) = both_answered();
        if code_first {
            editor.splice(FILE, 0..0, code);
            type_at(&editor, 0, question);
        } else {
            type_at(&editor, 0, &format!("{question}{code}"));
        }
        editor.wait_codes(FILE, &["pending", "awaiting_user", "awaiting_user"]);
        let titles = offered(&mut editor, 0);
        for title in ["Open conversation", "Undo last turn", "Continue"] {
            assert!(!titles.iter().any(|offered| offered == title), "{titles:?}");
        }
        assert_eq!(undone(&bench, &mut editor, SECOND), ["old\n", "new\n"]);
        let text = editor.wait_text(FILE, |text| !text.contains("Changed b."));
        assert!(text.contains("// AGENT: Changed c."), "{text}");
    }
}

#[test]
fn a_thread_keeps_its_turns_when_a_namesake_above_it_is_deleted_and_put_back() {
    let first = "// AUTHOR: why?\n// AGENT: Changed b.\n// AUTHOR:\n";
    for put_back in [false, true] {
        let (bench, mut editor) = both_answered();
        editor.replace(FILE, first, "");
        editor.wait_codes(FILE, &["awaiting_user"]);
        if put_back {
            editor.splice(FILE, 0..0, first);
            editor.wait_codes(FILE, &["awaiting_user", "awaiting_user"]);
            assert_eq!(undone(&bench, &mut editor, 0), ["old\n", "new\n"]);
        } else {
            assert_eq!(undone(&bench, &mut editor, 2), ["new\n", "old\n"]);
        }
    }
}

#[test]
fn a_thread_keeps_its_turns_when_a_namesake_goes_while_one_of_another_file_is_resolved() {
    let (bench, mut editor) = both_answered();
    let other = "src/other.rs";
    bench.workspace.write(other, WHY);
    editor.open(other);
    let id = editor.wait_codes(other, &["pending"])[0]["data"]["thread_id"].clone();
    editor.state().on_apply = OnApply::Ignore;
    let before = editor.state().received.len();
    let argument = json!({"uri": editor.uri(other), "thread_id": id});
    let resolve = json!({"command": "postil.dismissThread", "arguments": [argument]});
    let resolved = editor.ask("workspace/executeCommand", resolve);
    let edit = editor.wait_for("its edit", |state| {
        let mut since = state.received.iter().skip(before);
        let edit = since.find(|m| m["method"] == "workspace/applyEdit");
        edit.map(|edit| edit["id"].clone())
    });
    let first = "// AUTHOR: why?\n// AGENT: Changed b.\n// AUTHOR:\n";
    editor.replace(FILE, first, "");
    editor.wait_codes(FILE, &["awaiting_user"]);
    editor.state().on_apply = OnApply::Apply;
    let refused = json!({"applied": false, "failureReason": "the test says no"});
    editor.send_raw(&frame(
        &json!({"jsonrpc": "2.0", "id": edit, "result": refused}),
    ));
    assert!(editor.answer(resolved).is_err());
    assert_eq!(undone(&bench, &mut editor, 2), ["new\n", "old\n"]);
}

#[test]
fn a_thread_that_is_brought_back_and_goes_on_is_one_run() {
    let turns = [
        changing("b.txt", "old", "new", "Done."),
        changing("b.txt", "new", "newer", "Again."),
    ];
    let bench = Bench::new(turns.into_iter().flatten().collect());
    for file in ["b.txt", "c.txt"] {
        bench.workspace.write(file, "old\n");
    }
    let (mut editor, _) = typed(&bench, TWO);
    answered(&bench, &mut editor, 0);
    let before = editor.text(FILE);
    take_when_offered(&mut editor, "Resolve (remove thread)");
    let after = editor.wait_text(FILE, |text| text.starts_with("fn a() {}"));
    wait_closed(&mut editor);
    editor.splice(FILE, 0..0, before.strip_suffix(&after).expect("its lines"));
    editor.replace(FILE, "// AUTHOR:\n", "// AUTHOR: and now?\n");
    editor.wait_codes(FILE, &["pending", "pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("AGENT: Again."));
    bench.wait_status("completed");
    assert_eq!(bench.runs().len(), 1, "{:?}", bench.runs());
    assert_eq!(bench.workspace.read("b.txt"), "newer\n");
    for text in ["new\n", "old\n"] {
        assert_eq!(undone(&bench, &mut editor, 0)[0], text);
    }
}

const ONE: &str = "// AUTHOR: why?\nfn a() {}\n\nfn b() {}\n";
/// As it is answered in [`one_answered`].
const ANSWERED: &str = "// AUTHOR: why?\n// AGENT: Made a new name of it.\n// AUTHOR:\n";

/// The file open with a thread that was typed here.
fn one(bench: &Bench) -> Editor {
    bench.workspace.write(FILE, "fn x() {}\n");
    let editor = bench.editor(true);
    editor.open(FILE);
    editor.replace(FILE, "fn x() {}\n", ONE);
    editor.wait_codes(FILE, &["pending"]);
    editor
}

/// The same, answered by a turn that has renamed `a`.
fn one_answered(more: Vec<Step>) -> (Bench, Editor) {
    let mut script = vec![
        edit("fn a() {}", "fn c() {}"),
        Step::text("Made a new name of it."),
    ];
    script.extend(more);
    let bench = Bench::new(script);
    let mut editor = one(&bench);
    answered(&bench, &mut editor, 0);
    assert!(
        editor
            .text(FILE)
            .starts_with(&format!("{ANSWERED}fn c() {{}}"))
    );
    (bench, editor)
}

/// What can be done with the past of the thread at a line is offered, or nothing of it.
fn assert_past(editor: &mut Editor, line: usize, has_past: bool) {
    let titles = offered(editor, line);
    for title in ["Open conversation", "Undo last turn"] {
        let is_offered = titles.iter().any(|offered| offered == title);
        assert_eq!(is_offered, has_past, "{title}: {titles:?}");
    }
    assert_eq!(hover(editor, line).contains("run "), has_past);
}

#[test]
fn a_question_in_the_words_of_one_that_is_gone_has_nothing_of_its_past() {
    let (bench, mut editor) = one_answered(vec![Step::text("Anew.")]);
    assert_past(&mut editor, 0, true);
    editor.replace(FILE, ANSWERED, "");
    editor.wait_codes(FILE, &[]);
    type_at(&editor, "fn c() {}\n\n".len(), WHY);
    let id = editor.wait_codes(FILE, &["pending"])[0]["data"]["thread_id"].clone();
    assert_past(&mut editor, 2, false);
    let thread = json!({"uri": editor.uri(FILE), "thread_id": id});
    for argument in [thread, json!({"thread_id": id})] {
        let error = editor.command("postil.undoTurn", argument);
        let error = error.expect_err("it has no turn").to_string();
        assert!(error.contains("no agent has worked"), "{error}");
    }

    // Asked, it begins a story of its own.
    editor
        .take_action(FILE, 2, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Anew."));
    let requests = bench.model.requests();
    let told = requests.last().expect("a request").body.to_string();
    assert!(!told.contains("Made a new name"), "{told}");
    assert_eq!(bench.runs().len(), 2);
    take_when_offered_at(&mut editor, 2, "Undo last turn");
    let text = editor.wait_text(FILE, |text| !text.contains("AGENT"));
    assert!(text.starts_with("fn c() {}"), "{text}");
}

fn take_when_offered_at(editor: &mut Editor, line: usize, title: &str) {
    wait_until(title, || {
        offered(editor, line).iter().any(|one| one == title)
    });
    editor.take_action(FILE, line, title).expect("it is done");
}

#[test]
fn a_thread_that_is_cut_out_and_put_in_again_has_its_past_there() {
    let (_bench, mut editor) = one_answered(Vec::new());
    for (code, line) in [("fn c() {}", 0), ("fn b() {}", 2)] {
        editor.replace(FILE, ANSWERED, "");
        editor.wait_codes(FILE, &[]);
        editor.replace(FILE, code, &format!("{ANSWERED}{code}"));
        editor.wait_codes(FILE, &["awaiting_user"]);
        assert_past(&mut editor, line, true);
    }
}

#[test]
fn an_answer_that_its_author_changes_or_takes_out_leaves_the_thread_its_past() {
    let answer = "// AGENT: Made a new name of it.\n";
    for (changed, code) in [
        // A formatter, and code that is changed as well.
        ("// AGENT: Made a new\n//   name of it.\n", "fn d() {}"),
        // Other words, and code that is changed as well.
        ("// AGENT: I made a name of it, I think.\n", "fn d() {}"),
        ("// AGENT: No.\n", "fn c() {}"),
        // As an editor takes it back.
        ("", "fn c() {}"),
    ] {
        let (_bench, mut editor) = one_answered(Vec::new());
        editor.replace(FILE, answer, changed);
        editor.replace(FILE, "fn c() {}", code);
        editor.wait_text(FILE, |text| text.contains(code));
        assert_past(&mut editor, 0, true);
    }
    // What undo takes out leaves a conversation, wherever its code is.
    let (_bench, mut editor) = one_answered(Vec::new());
    editor
        .take_action(FILE, 0, "Undo last turn")
        .expect("it is undone");
    editor.wait_text(FILE, |text| text == ONE);
    editor.replace(FILE, "fn a() {}", "fn d() {}");
    let titles = offered(&mut editor, 0);
    assert!(
        titles.contains(&String::from("Open conversation")),
        "{titles:?}"
    );
}

#[test]
fn a_question_whose_turn_failed_is_told_anew_where_it_is_asked_at_other_code() {
    let bench = Bench::new(vec![
        Step::error(400, "invalid_request_error", "no"),
        Step::text("So."),
    ]);
    let mut editor = one(&bench);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.wait_status("failed");
    editor.replace(FILE, "// AUTHOR: why?\nfn a() {}\n\n", "");
    editor.wait_codes(FILE, &[]);
    type_at(&editor, 0, WHY);
    editor.wait_diagnostics(FILE, |shown| !shown.is_empty());
    take_when_offered(&mut editor, "Reply as agent");
    editor.wait_text(FILE, |text| text.contains("// AGENT: So."));
    let requests = bench.model.requests();
    let told = requests.last().expect("a request").body["messages"].to_string();
    assert!(
        told.contains("fn b()") && !told.contains("fn a()") && !told.contains("goes on now"),
        "{told}"
    );
}

/// Nobody saw it go: the file is open nowhere.
#[test]
fn undo_takes_back_the_turn_of_the_thread_that_is_left_of_two() {
    let bench = Bench::new(Vec::new());
    let one = |name: &str| {
        format!(
            "// AUTHOR: what is this\n// AUTHOR: rename {name} to {name}2\nfn {name}() {{}}\n\n"
        )
    };
    bench.workspace.write(FILE, one("alpha") + &one("beta"));
    assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
    let (code, _, said) = bench.cli(&["reply", "--all", "--yes", "--model", "offline"]);
    assert_eq!(code, Some(0), "{said}");
    let both = bench.workspace.read(FILE);
    assert!(both.contains("fn beta2() {}"), "{both}");
    let left = &both[both.find("fn alpha2").expect("it is renamed")..];
    bench.workspace.write(FILE, left);
    let (code, _, said) = bench.cli(&["undo", &thread_id(&bench.workspace)]);
    assert_eq!(code, Some(0), "{said}");
    let text = bench.workspace.read(FILE);
    assert_eq!(text, format!("fn alpha2() {{}}\n\n{}", one("beta")));
}
