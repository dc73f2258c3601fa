//! What the author does with threads while something is on its way to them: it comes where it belongs, or nowhere, and
//! what was typed meanwhile stays.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Bench, FILE, take_when_offered};
use crate::harness::{Editor, OnApply, Options, Workspace, frame};
use crate::model::{Step, call};

/// The file open, with this text typed in it.
fn with(bench: &Bench, text: &str, codes: &[&str]) -> Editor {
    bench.workspace.write(FILE, "fn end() {}\n");
    let editor = bench.editor(true);
    editor.open(FILE);
    editor.splice(FILE, 0..0, text);
    editor.wait_codes(FILE, codes);
    editor
}

/// Asks for a command; what it changes first comes too late, for the author does something before.
fn with_delay(
    editor: &mut Editor,
    command: &str,
    argument: Value,
    before: impl Fn(&Editor),
) -> Result<Value, Value> {
    let asked = |m: &&Value| m["method"] == "workspace/applyEdit";
    let before_it = editor.state().received.iter().filter(asked).count();
    editor.state().on_apply = OnApply::Ignore;
    let id = editor.ask(
        "workspace/executeCommand",
        json!({"command": command, "arguments": [argument]}),
    );
    let change = editor.wait_for("a change", |state| {
        let mut changes = state.received.iter().filter(asked);
        changes.nth(before_it).map(|m| m["id"].clone())
    });
    before(editor);
    editor.state().on_apply = OnApply::Apply;
    let refused = json!({"applied": false, "failureReason": "the text is newer"});
    editor.send_raw(&frame(
        &json!({"jsonrpc": "2.0", "id": change, "result": refused}),
    ));
    editor.answer(id)
}

fn ids(editor: &Editor) -> Vec<Value> {
    let threads = editor.diagnostics(FILE);
    let ids = threads.iter().map(|thread| &thread["data"]["thread_id"]);
    ids.cloned().collect()
}

fn said(refused: Result<Value, Value>) -> String {
    refused.expect_err("it is refused")["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// What is offered on the first line.
fn offered(editor: &mut Editor) -> Vec<String> {
    let actions = editor.code_actions(FILE, 0);
    let titles = actions.iter().filter_map(|action| action["title"].as_str());
    titles.map(str::to_owned).collect()
}

/// Waits for words in a message of the window.
fn told(editor: &Editor, words: &str) {
    editor.wait_message("window/showMessage", |params| {
        let text = params["message"].as_str();
        text.is_some_and(|text| text.contains(words))
    });
}

#[test]
fn words_that_came_since_are_not_removed() {
    let bench = Bench::new(Vec::new());
    let mut editor = with(&bench, "// AUTHOR: why?\n", &["pending"]);
    let argument = json!({"uri": editor.uri(FILE), "thread_id": ids(&editor)[0]});
    let dismissed = with_delay(&mut editor, "postil.dismissThread", argument, |editor| {
        editor.replace(FILE, "why?\n", "why?\n// AUTHOR: no, wait\n");
    });
    assert!(said(dismissed).contains("meanwhile; nothing was written"));
    let text = "// AUTHOR: why?\n// AUTHOR: no, wait\nfn end() {}\n";
    assert_eq!(editor.text(FILE), text);
}

#[test]
fn a_thread_that_came_since_is_not_cleared() {
    let bench = Bench::new(Vec::new());
    bench.workspace.git(&["init", "-q", "-b", "main"]);
    let mut editor = with(&bench, "// AUTHOR: why?\n", &["pending"]);
    let argument = json!({"uri": editor.uri(FILE)});
    let cleared = with_delay(&mut editor, "postil.clearAndCommit", argument, |editor| {
        editor.replace(FILE, "fn end() {}\n", "fn end() {}\n// AUTHOR: and this?\n");
    });
    assert!(said(cleared).contains("meanwhile; nothing was written"));
    let text = "// AUTHOR: why?\nfn end() {}\n// AUTHOR: and this?\n";
    assert_eq!(editor.text(FILE), text);
}

#[test]
fn a_dismissal_that_changed_while_a_commit_went_on_is_left() {
    let bench = Bench::new(Vec::new());
    let Bench { workspace, .. } = &bench;
    workspace.git(&["init", "-q", "-b", "main"]);
    workspace.write("a.rs", "// AUTHOR: why?\n// AUTHOR: commit\nfn a() {}\n");
    workspace.write("b.rs", "// AUTHOR: how?\n// AUTHOR: done\nfn b() {}\n");
    workspace.write("c.rs", "// AUTHOR: who?\n// AUTHOR: done\nfn c() {}\n");
    let hook = workspace.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\nprintf '// AUTHOR: how?\\n// AUTHOR: no, wait\\nfn b() {}\\n' > b.rs\n",
    );
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let (code, _, err) = bench.cli(&["trust", "--yes"]);
    assert_eq!(code, Some(0), "{err}");
    let (code, out, err) = bench.cli(&["process"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(out.contains("meanwhile; nothing was written"), "{out}{err}");
    let wait = "// AUTHOR: how?\n// AUTHOR: no, wait\nfn b() {}\n";
    assert_eq!(workspace.read("a.rs"), "fn a() {}\n");
    assert_eq!(workspace.read("b.rs"), wait);
    assert_eq!(workspace.read("c.rs"), "fn c() {}\n");
}

#[test]
fn a_reply_stays_with_its_thread_when_one_that_begins_alike_goes() {
    let bench = Bench::new(Vec::new());
    let first = "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR:\nfn a() {}\n";
    let second = "// AUTHOR: why?\n// AGENT: Thus.\n// AUTHOR:\nfn b() {}\n";
    let both = format!("{first}{second}");
    let mut editor = with(&bench, &both, &["awaiting_user", "awaiting_user"]);
    let reply = |editor: &Editor, at: usize| json!({"uri": editor.uri(FILE), "thread_id": ids(editor)[at], "text": "how?"});
    let argument = reply(&editor, 1);
    with_delay(&mut editor, "postil.reply", argument, |editor| {
        editor.replace(FILE, first, "fn a() {}\n");
    })
    .expect("it is said");
    let answered = second.replace("AUTHOR:\n", "AUTHOR: how?\n");
    assert_eq!(
        editor.text(FILE),
        format!("fn a() {{}}\n{answered}fn end() {{}}\n")
    );
    // The one that it was for is gone: it is not said to the other.
    editor.replace(FILE, "fn a() {}\n", first);
    editor.wait_codes(FILE, &["awaiting_user", "pending"]);
    let argument = reply(&editor, 0);
    let gone = with_delay(&mut editor, "postil.reply", argument, |editor| {
        editor.replace(FILE, first, "fn a() {}\n");
    });
    assert!(said(gone).contains("no longer"));
}

#[test]
fn an_answer_does_not_go_to_another_thread_that_begins_alike() {
    let bench = Bench::new(vec![Step::text("For the first.").held()]);
    let first = "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR: and now?\nfn a() {}\n";
    let second = "// AUTHOR: why?\nfn b() {}\n";
    let mut editor = with(&bench, &format!("{first}{second}"), &["pending", "pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.model.wait_for_requests(1);
    editor.replace(FILE, first, "fn a() {}\n");
    editor.settle();
    bench.model.release();
    told(&editor, "The answer was: For the first.");
    assert_eq!(
        editor.text(FILE),
        format!("fn a() {{}}\n{second}fn end() {{}}\n")
    );
}

#[test]
fn what_is_said_during_a_turn_waits_for_the_next_one() {
    let bench = Bench::new(vec![Step::text("So.").held(), Step::text("Then no.")]);
    let mut editor = with(&bench, "// AUTHOR: why?\nfn a() {}\n", &["pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.model.wait_for_requests(1);
    editor.replace(FILE, "why?\n", "why?\n// AUTHOR: and delete nothing\n");
    editor.settle();
    bench.model.release();
    let text = editor.wait_text(FILE, |text| text.contains("AGENT"));
    let head = "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR: and delete nothing\n";
    assert_eq!(text, format!("{head}fn a() {{}}\nfn end() {{}}\n"));
    bench.wait_status("completed");
    editor.wait_codes(FILE, &["pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the next turn starts");
    let text = editor.wait_text(FILE, |text| text.contains("Then no."));
    assert_eq!(
        text,
        format!("{head}// AGENT: Then no.\n// AUTHOR:\nfn a() {{}}\nfn end() {{}}\n")
    );
}

#[test]
fn a_question_that_is_mended_during_its_turn_is_answered() {
    let bench = Bench::new(vec![Step::text("So.").held()]);
    let mut editor = with(&bench, "// AUTHOR: why is it\nfn a() {}\n", &["pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.model.wait_for_requests(1);
    editor.replace(FILE, "why is it\n", "why is it so?\n");
    // It is the one that runs.
    let titles = offered(&mut editor);
    assert!(titles.contains(&String::from("Cancel")), "{titles:?}");
    bench.model.release();
    let text = editor.wait_text(FILE, |text| text.contains("AGENT"));
    let head = "// AUTHOR: why is it so?\n// AGENT: So.\n";
    assert!(text.starts_with(head), "{text}");
    bench.wait_status("completed");
    take_when_offered(&mut editor, "Undo last turn");
    editor.wait_text(FILE, |text| !text.contains("AGENT"));
}

#[test]
fn a_question_that_is_completed_and_saved_during_its_turn_begins_no_other() {
    let bench = Bench::new(vec![Step::text("So.").held(), Step::text("Twice.")]);
    bench.workspace.configure("[turn]\ntrigger = \"onSave\"\n");
    let mut editor = with(
        &bench,
        "// AUTHOR: why is it slo\nfn a() {}\n",
        &["pending"],
    );
    editor.save(FILE);
    bench.model.wait_for_requests(1);
    editor.replace(FILE, "slo\n", "slow?\n");
    editor.save(FILE);
    // What a save starts has been started when other commands have come and gone.
    for _ in 0..3 {
        assert_eq!(bench.cli(&["threads"]).0, Some(0));
        assert!(!offered(&mut editor).is_empty());
    }
    bench.model.release();
    let text = editor.wait_text(FILE, |text| text.contains("AGENT"));
    bench.wait_status("completed");
    assert!(
        text.starts_with("// AUTHOR: why is it slow?\n// AGENT: So.\n"),
        "{text}"
    );
    assert_eq!(bench.model.requests().len(), 1);
    assert_eq!(bench.runs().len(), 1);
}

/// What is open there is the author's text, wherever the name leads by now.
#[test]
fn a_file_in_whose_place_a_link_stands_is_changed_in_its_buffer() {
    let input = json!({"path": "b.txt", "old_string": "typed", "new_string": "changed"});
    let bench = Bench::new(vec![
        Step::calls(vec![
            call("toolu_r", "file_read", json!({"path": "b.txt"})),
            call("toolu_e", "file_edit", input),
        ]),
        Step::text("Done."),
    ]);
    bench.workspace.write("b.txt", "one\n");
    bench.workspace.write("c.txt", "typed\n");
    let mut editor = with(&bench, "// AUTHOR: why?\n", &["pending"]);
    editor.open("b.txt");
    editor.splice("b.txt", 0..0, "typed\n");
    let file = bench.workspace.path("b.txt");
    std::fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink("c.txt", &file).expect("a link");
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    assert_eq!(editor.text("b.txt"), "changed\none\n");
    assert_eq!(bench.workspace.read("c.txt"), "typed\n");
}

#[test]
fn a_turn_ends_with_its_thread_and_tells_what_it_has_changed() {
    for by_hand in [false, true] {
        let change = |old: &str, new: &str| {
            let input = json!({"path": "b.txt", "old_string": old, "new_string": new});
            Step::calls(vec![
                call("toolu_r", "file_read", json!({"path": "b.txt"})),
                call("toolu_e", "file_edit", input),
            ])
        };
        let bench = Bench::new(vec![
            change("one", "two"),
            change("two", "three").held(),
            Step::text("Done."),
        ]);
        bench.workspace.write("b.txt", "one\n");
        let mut editor = with(&bench, "// AUTHOR: why?\nfn a() {}\n", &["pending"]);
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("the turn starts");
        bench.model.wait_for_requests(2);
        if by_hand {
            editor.replace(FILE, "// AUTHOR: why?\n", "");
        } else {
            let argument = json!({"uri": editor.uri(FILE), "thread_id": ids(&editor)[0]});
            let gone = editor.command("postil.dismissThread", argument);
            gone.expect("it is removed");
        }
        editor.wait_codes(FILE, &[]);
        bench.model.release();
        let run = bench.wait_status("cancelled");
        let id = &run["id"].as_str().expect("an id")[..8];
        told(
            &editor,
            "its thread was removed. The turn has changed b.txt",
        );
        told(&editor, &format!("`postil undo {id}`"));
        assert_eq!(bench.workspace.read("b.txt"), "two\n");
        let (code, _, said) = bench.cli(&["undo", id]);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(bench.workspace.read("b.txt"), "one\n");
    }
}

#[test]
fn all_are_answered_though_one_goes_before_and_a_file_is_gone() {
    let three = "// AUTHOR: why?\n// AUTHOR: done\nfn a() {}\n// AUTHOR: why?\nfn b() {}\n// AUTHOR: why?\nfn c() {}\n";
    let answered = "fn a() {}\n// AUTHOR: why?\n// AGENT: So.\n// AUTHOR:\nfn b() {}\n// AUTHOR: why?\n// AGENT: So.\n// AUTHOR:\nfn c() {}\n";
    let bench = Bench::new(vec![Step::text("So."), Step::text("So.")]);
    let mut editor = with(&bench, three, &["pending", "pending", "pending"]);
    let all = editor.command("postil.replyAll", json!({}));
    let all = all.expect("the turns start");
    assert_eq!(all["runs"].as_array().map(Vec::len), Some(3), "{all}");
    let text = editor.wait_text(FILE, |text| text.matches("AGENT").count() == 2);
    assert_eq!(text, format!("{answered}fn end() {{}}\n"));

    // The same from the command line, one at a time.
    let bench = Bench::new(vec![Step::text("So."), Step::text("So.")]);
    bench.workspace.write(FILE, three);
    let (code, _, err) = bench.cli(&["reply", "--all", "--yes", "--jobs", "2"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(bench.workspace.read(FILE), answered);
}

#[test]
fn a_commit_does_not_clear_what_is_answered_with_it() {
    let threads = "// AUTHOR: why?\nfn a() {}\n// AUTHOR: commit\n";
    let answered = "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR:\nfn a() {}\n// AUTHOR: commit\n";
    let waits = format!("`commit` in {FILE} waits: other threads of the file are answered now");
    let bench = Bench::new(vec![Step::text("So."), Step::text("So.")]);
    bench.workspace.git(&["init", "-q"]);
    let mut editor = with(&bench, threads, &["pending", "pending"]);
    let all = editor.command("postil.replyAll", json!({}));
    let all = all.expect("the turns start");
    assert_eq!(all["runs"].as_array().map(Vec::len), Some(1), "{all}");
    assert_eq!(all["success"], false);
    let refused = all["refused"][0]["error"].as_str().expect("a reason");
    assert!(refused.starts_with(&waits), "{refused}");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT"));
    assert_eq!(text, format!("{answered}fn end() {{}}\n"));
    // Read by now, the answer goes with the rest.
    editor.wait_codes(FILE, &["awaiting_user", "pending"]);
    let all = editor.command("postil.replyAll", json!({}));
    assert_eq!(all.expect("it is cleared")["success"], true);
    editor.wait_text(FILE, |text| text == "fn a() {}\nfn end() {}\n");
    drop(editor);

    // The same from the command line, one at a time.
    bench.workspace.write(FILE, threads);
    let (code, _, err) = bench.cli(&["reply", "--all", "--yes"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains(&waits), "{err}");
    assert_eq!(bench.workspace.read(FILE), answered);
}

#[test]
fn a_line_to_write_in_is_made_below_an_answer_that_has_none() {
    let bench = Bench::new(Vec::new());
    let text = "    // AUTHOR: why?\n    // AGENT: So.\n";
    let mut editor = with(&bench, text, &["awaiting_user"]);
    let id = ids(&editor)[0].clone();
    let argument = json!({"uri": editor.uri(FILE), "thread_id": id});
    let done = editor
        .command("postil.reply", argument.clone())
        .expect("there is a line");
    assert_eq!(done["thread_id"], id);
    let told = editor.wait_message("window/showDocument", |_| true);
    assert_eq!(told["selection"]["start"]["line"], 2, "{told}");
    let now = editor.text(FILE);
    let lines: Vec<&str> = now.lines().map(str::trim).collect();
    let expected = [
        "// AUTHOR: why?",
        "// AGENT: So.",
        "// AUTHOR:",
        "fn end() {}",
    ];
    assert_eq!(lines, expected);
    editor.wait_codes(FILE, &["awaiting_user"]);
    // The line is there now.
    editor
        .command("postil.reply", argument)
        .expect("it is shown");
    assert_eq!(editor.text(FILE), now);
}

#[test]
fn a_line_to_write_in_ends_a_file_without_a_line_end() {
    let workspace = Workspace::new();
    workspace.write(FILE, "fn a() {}\n// AUTHOR: why?\n// AGENT: So.");
    let mut editor = Editor::start(&workspace);
    editor.open(FILE);
    editor.wait_codes(FILE, &["awaiting_user"]);
    let argument = json!({"uri": editor.uri(FILE), "thread_id": ids(&editor)[0]});
    editor
        .command("postil.reply", argument)
        .expect("there is a line");
    let text = editor.text(FILE);
    assert_eq!(
        text.trim_end(),
        "fn a() {}\n// AUTHOR: why?\n// AGENT: So.\n// AUTHOR:"
    );
}

#[test]
fn a_reply_that_begins_a_thread_names_the_id_that_it_has_then() {
    let workspace = Workspace::new();
    workspace.write(FILE, "// AGENT: So.\n// AUTHOR:\nfn a() {}\n");
    let mut editor = Editor::start(&workspace);
    editor.open(FILE);
    let shown = editor.wait_diagnostics(FILE, |shown| !shown.is_empty());
    let before = shown[0]["data"]["thread_id"].clone();
    let argument = json!({"uri": editor.uri(FILE), "thread_id": before, "text": "more?"});
    let done = editor.command("postil.reply", argument).expect("written");
    let shown = editor.wait_diagnostics(FILE, |shown| {
        shown.iter().all(|one| one["data"]["thread_id"] != before)
    });
    assert_eq!(done["thread_id"], shown[0]["data"]["thread_id"]);
}

#[test]
fn an_answer_that_cannot_be_written_is_no_answer() {
    // The editor does not take it.
    let bench = Bench::new(vec![Step::text("So."), Step::text("So.")]);
    let mut editor = with(&bench, "// AUTHOR: why?\n", &["pending"]);
    let before = editor.text(FILE);
    editor.state().on_apply = OnApply::Refuse;
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_message("window/showMessage", |params| {
        let text = params["message"].as_str().unwrap_or_default();
        params["type"] == 1 && text.contains("The answer was: So.")
    });
    editor.wait_codes(FILE, &["pending", "turn-failed"]);
    editor.state().on_apply = OnApply::Apply;
    let argument = json!({"uri": editor.uri(FILE), "thread_id": ids(&editor)[0]});
    let undone = said(editor.command("postil.undoTurn", argument));
    assert!(undone.contains("there is nothing to put back"), "{undone}");
    assert_eq!(editor.text(FILE), before);
    assert_eq!(bench.runs()[0]["status"], "failed");
    drop(editor);

    // The file is gone when it comes.
    let bench = Bench::new(vec![Step::text("So.").held()]);
    bench.workspace.write(FILE, "// AUTHOR: why?\nfn a() {}\n");
    let mut command = bench.workspace.postil();
    let command = command
        .args(["-q", "reply", "--all", "--yes"])
        .envs(bench.env());
    let asked = command.stderr(Stdio::piped()).spawn().expect("it runs");
    bench.model.wait_for_requests(1);
    std::fs::remove_file(bench.workspace.path(FILE)).expect("removed");
    bench.model.release();
    let output = asked.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("The answer was: So."), "{told}");
    assert_eq!(bench.runs()[0]["status"], "failed");
}

#[test]
fn an_answer_that_is_refused_for_a_text_on_its_way_is_made_anew() {
    let bench = Bench::new(vec![Step::text("So.")]);
    let mut editor = with(&bench, "// AUTHOR: why?\n", &["pending"]);
    editor.state().on_apply = OnApply::Ignore;
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let change = editor.wait_for("the answer", |state| {
        let mut all = state.received.iter();
        let change = all.find(|m| m["method"] == "workspace/applyEdit")?;
        Some(change["id"].clone())
    });
    editor.state().on_apply = OnApply::Apply;
    // The editor says why by what it sends next.
    let refused = json!({"jsonrpc": "2.0", "id": change, "result": {"applied": false}});
    editor.send_raw(&frame(&refused));
    editor.request("textDocument/hover", json!({"textDocument": {"uri": editor.uri(FILE)}, "position": {"line": 1, "character": 0}})).expect("answered");
    editor.replace(FILE, "fn end", "fn the_end");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT"));
    assert!(
        text.contains("// AGENT: So.\n") && text.contains("fn the_end"),
        "{text}"
    );
}

/// A turn that changed a file in each of two editors.
fn changed_in_two() -> (Bench, Editor, Editor) {
    let edit = |id: &str, path: &str, old: &str, new: &str| {
        let arguments = json!({"path": path, "old_string": old, "new_string": new});
        call(id, "file_edit", arguments)
    };
    let read = |id: &str, path: &str| call(id, "file_read", json!({"path": path}));
    let bench = Bench::new(vec![
        Step::calls(vec![
            read("1", "a.rs"),
            read("2", "b.rs"),
            read("3", "c.rs"),
        ]),
        Step::calls(vec![
            edit("4", "a.rs", "fn a()", "fn aa()"),
            edit("5", "b.rs", "fn b()", "fn bb()"),
            edit("6", "c.rs", "fn c()", "fn cc()"),
        ]),
        Step::text("Renamed."),
    ]);
    for name in ["a", "b", "c"] {
        bench
            .workspace
            .write(&format!("{name}.rs"), format!("fn {name}() {{}}\n"));
    }
    let env = |bench: &Bench| {
        let log = (String::from("POSTIL_LOG"), String::from("postil=info"));
        bench.env().into_iter().chain([log]).collect()
    };
    let start = || {
        let options = Options {
            env: env(&bench),
            initialization_options: json!({"trusted": true}),
            ..Options::default()
        };
        let editor = Editor::start_with(&bench.workspace, options);
        editor.wait_listening();
        editor
    };
    let mut first = start();
    let second = start();
    bench.workspace.write(FILE, "fn end() {}\n");
    first.open(FILE);
    first.splice(FILE, 0..0, "// AUTHOR: rename them\n");
    first.wait_codes(FILE, &["pending"]);
    take_when_offered(&mut first, "Reply as agent");
    first.wait_text(FILE, |text| text.contains("AGENT: Renamed."));
    bench.wait_status("completed");
    (bench, first, second)
}

#[test]
fn of_two_editors_each_puts_back_what_it_shows() {
    let (bench, first, second) = changed_in_two();
    first.open("a.rs");
    first.splice("a.rs", 0..0, "// mine\n");
    second.open("b.rs");
    second.splice("b.rs", 0..0, "// mine\n");
    second.diagnostics("b.rs");
    first.diagnostics("a.rs");
    let run = bench.runs()[0]["id"].as_str().expect("an id").to_owned();
    let (code, out, err) = bench.cli(&["undo", &run[..8]]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        out.contains("b.rs: put back\n") && out.contains("yours to save"),
        "{out}"
    );
    first.wait_text("a.rs", |text| text == "// mine\nfn a() {}\n");
    second.wait_text("b.rs", |text| text == "// mine\nfn b() {}\n");
    first.wait_text(FILE, |text| !text.contains("AGENT"));
    assert_eq!(bench.workspace.read("a.rs"), "fn aa() {}\n");
    assert_eq!(bench.workspace.read("b.rs"), "fn bb() {}\n");
    assert_eq!(bench.workspace.read("c.rs"), "fn c() {}\n");
    let (code, _, err) = bench.cli(&["undo", &run]);
    assert!(
        code == Some(1) && err.contains("nothing to put back"),
        "{err}"
    );
}

/// What one of them refuses is left and told; the rest is put back, and the next undo takes what is left.
#[test]
fn of_two_editors_one_may_refuse_its_part_of_an_undo() {
    let (bench, first, second) = changed_in_two();
    second.open("b.rs");
    second.splice("b.rs", 0..0, "// mine\n");
    second.diagnostics("b.rs");
    second.state().on_apply = OnApply::Refuse;
    let run = bench.runs()[0]["id"].as_str().expect("an id").to_owned();
    let (code, out, err) = bench.cli(&["undo", &run]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(
        out.contains("b.rs: not put back, ") && out.contains("1 of 4 files could not"),
        "{out}{err}"
    );
    first.wait_text(FILE, |text| !text.contains("AGENT"));
    assert_eq!(bench.workspace.read("a.rs"), "fn a() {}\n");
    second.state().on_apply = OnApply::Apply;
    let (code, out, err) = bench.cli(&["undo", &run]);
    assert_eq!(code, Some(0), "{out}{err}");
    second.wait_text("b.rs", |text| text == "// mine\nfn b() {}\n");
}
