//! Between the author's word and the model's first: what a turn waits for, and many that begin at once.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Bench, CODE, FILE, THREAD, lens};
use crate::harness::{Editor, NEVER, Options, wait_until};
use crate::model::{Step, call};

const QUESTION: &str = "window/showMessageRequest";

#[test]
fn a_turn_that_waits_for_the_author_says_so() {
    let bench = Bench::new(vec![Step::text("Could be.").held()]);
    bench.workspace.write(FILE, format!("{THREAD}{CODE}"));
    let mut editor = bench.editor(true);
    begin_unanswered(&mut editor);
    editor.wait_message(QUESTION, |_| true);
    editor.wait_message("$/progress", |params| {
        params["value"]["message"] == "waits for your answer"
    });
    assert_eq!(lens(&mut editor), "waits for your answer · Cancel");

    // Answered, it tells what it does then.
    answer(&mut editor, 1, "Allow edits");
    bench.model.wait_for_requests(1);
    assert!(!lens(&mut editor).contains("waits"));
    bench.model.release();
    editor.wait_text(FILE, |text| text.contains("AGENT: Could be."));
}

/// Begins a turn whose questions wait for the test.
fn begin_unanswered(editor: &mut Editor) {
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending"]);
    editor.state().choices = vec![String::from(NEVER)];
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
}

/// Waits for the question of this number, from one, and answers it.
fn answer(editor: &mut Editor, number: usize, title: &str) {
    let id = editor.wait_for("the question", |state| {
        let mut asked = state.received.iter().filter(|m| m["method"] == QUESTION);
        asked.nth(number - 1).map(|question| question["id"].clone())
    });
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"title": title}});
    editor.send_raw(&crate::harness::frame(&answer));
}

#[test]
fn a_double_click_answers_one_question() {
    let bench = Bench::new(vec![Step::text("Could be.")]);
    bench.workspace.write(FILE, format!("{THREAD}{CODE}"));
    let options = Options {
        env: bench.env(),
        initialization_options: json!({}),
        ..Options::default()
    };
    let mut editor = Editor::start_with(&bench.workspace, options);
    begin_unanswered(&mut editor);
    answer(&mut editor, 1, "Trust this workspace");
    // Whoever pressed the first button twice finds nothing there yet: half a second is the longest that a desktop
    // takes for one double click by default.
    let pressed = Instant::now();
    answer(&mut editor, 2, "Read-only");
    assert!(pressed.elapsed() >= Duration::from_millis(450));
    editor.wait_text(FILE, |text| text.contains("AGENT: Could be."));
}

/// How often it is tried; more by hand, where something is looked for.
fn tries() -> usize {
    let said = std::env::var("POSTIL_TRIES");
    said.ok().and_then(|tries| tries.parse().ok()).unwrap_or(1)
}

#[test]
fn many_turns_that_begin_at_once_all_reach_the_model() {
    const TURNS: usize = 20;
    for attempt in 0..tries() {
        let trusted = attempt % 2 == 1;
        let bench = Bench::new((0..TURNS).map(|_| Step::text("Yes.")).collect());
        let file = |number: usize| format!("src/n{number}.rs");
        // Neither trusted nor declined: it is to be asked.
        let trust = if trusted {
            json!({"trusted": true})
        } else {
            json!({})
        };
        let options = Options {
            env: bench.env(),
            initialization_options: trust,
            ..Options::default()
        };
        let mut editor = Editor::start_with(&bench.workspace, options);
        for number in 0..TURNS {
            bench.workspace.write(&file(number), CODE);
            editor.open(&file(number));
            editor.splice(&file(number), 0..0, THREAD);
        }
        for number in 0..TURNS {
            editor.wait_codes(&file(number), &["pending"]);
        }
        editor.state().choices = vec![String::from("Trust this workspace")];
        editor
            .command("postil.replyAll", json!({"ask": false}))
            .expect("they begin");
        for number in 0..TURNS {
            editor.wait_text(&file(number), |text| text.contains("AGENT: Yes."));
        }
        let questions = editor
            .state()
            .received
            .iter()
            .filter(|m| m["method"] == QUESTION)
            .count();
        assert_eq!(questions, usize::from(!trusted), "one for all");
        for asked in bench.model.requests() {
            let tools = asked.body["tools"].to_string();
            assert!(tools.contains("file_edit"), "it may write: {tools}");
        }
    }
}

#[test]
fn of_a_batch_a_few_run_at_once_and_the_others_wait_in_a_queue() {
    const TURNS: usize = 7;
    const AT_ONCE: usize = 4;
    // Answers its own question, so that it is seen which one was asked.
    let step = || {
        Step::made(|body| {
            let asked = body.to_string();
            let all = (0..TURNS).flat_map(|n| [format!("word {n} mended"), format!("word {n}")]);
            let mut asked = all.filter(|words| asked.contains(words));
            Step::text(&format!("About {}.", asked.next().expect("a question")))
        })
        .held()
    };
    let bench = Bench::new((0..TURNS).map(|_| step()).collect());
    let file = |number: usize| format!("src/n{number}.rs");
    let mut editor = bench.editor(true);
    for number in 0..TURNS {
        bench.workspace.write(&file(number), CODE);
        editor.open(&file(number));
        let asked = format!("// AUTHOR: what is word {number}\n");
        editor.splice(&file(number), 0..0, &asked);
        editor.wait_codes(&file(number), &["pending"]);
    }
    let begun = editor.command("postil.replyAll", json!({"ask": false}));
    let begun = begun.expect("they begin");
    assert_eq!(begun["runs"].as_array().map(Vec::len), Some(TURNS));
    bench.model.wait_for_requests(AT_ONCE);
    let title = |editor: &mut Editor, number: usize| {
        let document = json!({"textDocument": {"uri": editor.uri(&file(number))}});
        let lenses = editor.request("textDocument/codeLens", document);
        lenses.expect("lenses")[0]["command"]["title"].to_string()
    };
    let waits = |editor: &mut Editor| -> Vec<usize> {
        (0..TURNS)
            .filter(|number| title(editor, *number).contains("waits: 4 turns run at once"))
            .collect()
    };
    let mut waiting = Vec::new();
    wait_until("three wait", || {
        waiting = waits(&mut editor);
        waiting.len() == TURNS - AT_ONCE
    });
    let queued = || {
        let list = ["workflow", "list", "--status", "queued", "--json"];
        let listed = bench.workspace.postil().args(list).output();
        let runs: Value = serde_json::from_slice(&listed.expect("it runs").stdout).expect("JSON");
        runs.as_array().expect("runs").len()
    };
    wait_until("the history says so", || queued() == TURNS - AT_ONCE);
    // One of those is cancelled where it stands, another's question is mended, the third is taken away.
    let run_of = |number: usize| {
        let runs = begun["runs"].as_array().expect("runs");
        let run = runs.iter().find(|run| run["file"] == file(number));
        run.expect("its run")["run_id"].clone()
    };
    let [cancelled, mended, removed] = [waiting[0], waiting[1], waiting[2]];
    editor
        .command("postil.cancelTurn", json!({"run_id": run_of(cancelled)}))
        .expect("cancelled");
    wait_until("it is cancelled", || {
        !title(&mut editor, cancelled).contains("waits")
    });
    let name = file(mended);
    let words = format!("word {mended}");
    editor.replace(&name, &words, &format!("{words} mended"));
    let name = file(removed);
    editor.replace(&name, &format!("// AUTHOR: what is word {removed}\n"), "");
    assert_eq!(bench.model.requests().len(), AT_ONCE);

    // One ends, and the next one runs.
    for _ in 0..TURNS {
        bench.model.release();
    }
    for number in (0..TURNS).filter(|number| ![cancelled, removed].contains(number)) {
        let mended = if number == mended { " mended" } else { "" };
        let said = format!("AGENT: About word {number}{mended}.");
        editor.wait_text(&file(number), |text| text.contains(&said));
    }
    assert_eq!(bench.model.requests().len(), TURNS - 2);
    assert_eq!(queued(), 0);
    editor.wait_for("the removed one's end", |state| {
        let ended = |m: &&Value| {
            m["method"] == "$/progress" && m["params"]["value"]["message"] == "cancelled"
        };
        (state.received.iter().filter(ended).count() == 2).then_some(())
    });
    assert_eq!(editor.text(&file(removed)), CODE);
    assert!(!editor.text(&file(cancelled)).contains("AGENT"));
}

/// The offline answer tells its reader to name a model, and nothing watches where that is written.
#[test]
fn a_model_that_is_named_meanwhile_answers_the_next_question() {
    let bench = Bench::new(vec![Step::text("Yes.")]);
    bench.workspace.configure("model = 'offline'\n");
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_codes(FILE, &["awaiting_user"]);
    assert!(bench.model.requests().is_empty());

    // Other wrong words than before are told, in one message.
    bench
        .workspace
        .configure("[turn]\nmaxRound = 3\nmaxCosts = 1\n");
    let id = &editor.diagnostics(FILE)[0]["data"]["thread_id"];
    let argument = json!({"uri": editor.uri(FILE), "thread_id": id, "text": "And now?"});
    editor.command("postil.reply", argument).expect("written");
    let told = editor.wait_message("window/showMessage", |params| {
        let text = params["message"].as_str();
        text.is_some_and(|text| text.contains("maxRound"))
    });
    assert!(told.to_string().contains("maxCosts"), "{told}");
    editor.wait_codes(FILE, &["pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("AGENT: Yes."));
}

#[test]
fn choices_are_offered_as_soon_as_the_question_stands_there() {
    let input = json!({"question": "Bytes or text?", "choices": ["bytes", "text"]});
    let bench = Bench::new(vec![
        Step::calls(vec![call("toolu_1", "ask_user", input)]),
        Step::text("Bytes it is."),
    ]);
    let mut editor = bench.typed();
    editor.state().on_apply = crate::harness::OnApply::Ignore;
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    // The text stands there, and the editor has not said yet that it is applied: the turn goes on.
    let (id, edit) = editor.wait_for("the question's edit", |state| {
        let asked = state
            .received
            .iter()
            .find(|m| m["method"] == "workspace/applyEdit")?;
        Some((asked["id"].clone(), asked["params"]["edit"].clone()))
    });
    let text = edit["documentChanges"][0]["edits"][0]["newText"]
        .as_str()
        .expect("a text")
        .to_owned();
    editor.splice(FILE, THREAD.len()..THREAD.len(), &text);
    editor.wait_text(FILE, |text| text.contains("(b) text"));
    let titles: Vec<Value> = editor
        .code_actions(FILE, 0)
        .iter()
        .map(|action| action["title"].clone())
        .collect();
    assert!(titles.contains(&json!("(a) bytes")), "{titles:?}");
    // One that is taken before the turn has ended is not lost.
    editor.state().on_apply = crate::harness::OnApply::Apply;
    let applied = json!({"jsonrpc": "2.0", "id": id, "result": {"applied": true}});
    editor.send_raw(&crate::harness::frame(&applied));
    editor
        .take_action(FILE, 0, "(a) bytes")
        .expect("it is taken");
    editor.wait_text(FILE, |text| {
        text.contains("AUTHOR: (a) bytes") && text.contains("AGENT: Bytes it is.")
    });
}

#[test]
fn a_missing_language_server_is_told_once() {
    let bench = Bench::new(Vec::new());
    bench
        .workspace
        .configure("model = 'offline'\n[servers.rust]\ncommand = 'no-such-server'\n");
    let mut editor = Editor::start_with(
        &bench.workspace,
        Options {
            initialization_options: json!({"trusted": true}),
            ..Options::default()
        },
    );
    editor.open(FILE);
    editor.splice(FILE, 0..0, "// AUTHOR: where is `load` defined\n");
    editor.wait_codes(FILE, &["pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("AGENT: `load` is defined at"));
    editor.wait_codes(FILE, &["awaiting_user"]);
    let state = editor.state();
    let told: Vec<&Value> = state
        .received
        .iter()
        .filter(|m| m["method"] == "window/showMessage")
        .map(|m| &m["params"]["message"])
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].as_str().is_some_and(
            |told| told.contains("no-such-server") && told.ends_with("by tree-sitter alone.")
        ),
        "{told:?}"
    );
}

fn database(bench: &Bench) -> Option<PathBuf> {
    super::walk(&bench.workspace.data())
        .into_iter()
        .find(|path| path.extension().is_some_and(|e| e == "db"))
}

/// Messages that the store knows as typed here.
fn typed(bench: &Bench) -> i64 {
    let Some(Ok(raw)) = database(bench).map(rusqlite::Connection::open) else {
        return 0;
    };
    raw.query_row("SELECT count(*) FROM typed", [], |row| row.get(0))
        .unwrap_or(0)
}

#[test]
fn an_answer_that_cannot_be_undone_is_reported() {
    let bench = Bench::new(vec![Step::text("Yes.")]);
    let mut editor = bench.editor(true);
    editor.open(FILE);
    editor.splice(FILE, 0..0, THREAD);
    wait_until("what was typed is kept", || typed(&bench) > 0);
    let raw = rusqlite::Connection::open(database(&bench).expect("there")).expect("it opens");
    raw.execute_batch(
        "CREATE TRIGGER full BEFORE INSERT ON changes BEGIN SELECT RAISE(ABORT, 'the disk is full'); END",
    )
    .expect("a trigger");
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("AGENT: Yes."));
    editor.wait_message("window/showMessage", |params| {
        params["message"]
            .as_str()
            .is_some_and(|text| text.contains("cannot be undone later") && text.contains(FILE))
    });
}

#[test]
fn what_was_typed_is_known_after_a_crash_though_it_was_never_saved() {
    let bench = Bench::new(vec![Step::text("Yes.")]);
    let mut first = bench.editor(true);
    first.open(FILE);
    first.splice(FILE, 0..0, THREAD);
    wait_until("what was typed is kept", || typed(&bench) > 0);
    first.kill();
    // The editor starts it again, with the buffer as it is.
    let mut second = bench.editor(true);
    second.open_text(FILE, "rust", &format!("{THREAD}{CODE}"));
    second.wait_codes(FILE, &["pending"]);
    second.state().choices = vec![String::from(NEVER)];
    second
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    second.wait_text(FILE, |text| text.contains("AGENT: Yes."));
    let asked = second
        .state()
        .received
        .iter()
        .any(|m| m["method"] == QUESTION);
    assert!(!asked, "it was typed here");
}

/// A prune of a long history, say. Each of these messages would be waited for by itself.
#[test]
fn another_program_that_writes_the_history_holds_up_nobody() {
    const FILES: usize = 6;
    let bench = Bench::new(Vec::new());
    let mut editor = bench.editor(true);
    editor.open(FILE);
    editor.splice(FILE, 0..0, THREAD);
    wait_until("what was typed is kept", || typed(&bench) == 1);
    let file = |number: usize| format!("src/n{number}.rs");
    for number in 0..FILES {
        bench.workspace.write(&file(number), CODE);
        editor.open(&file(number));
    }
    let other = rusqlite::Connection::open(database(&bench).expect("there")).expect("it opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("its turn");
    for number in 0..FILES {
        editor.splice(&file(number), 0..0, THREAD);
        editor.wait_codes(&file(number), &["pending"]);
        editor.save(&file(number));
        editor.close(&file(number));
    }
    let document = json!({"textDocument": {"uri": editor.uri(FILE)}});
    let symbols = editor.request("textDocument/documentSymbol", document);
    assert!(symbols.expect("answered").to_string().contains("load"));
    other.execute_batch("ROLLBACK").expect("its end");
    // Nothing of it is forgotten.
    editor.save(FILE);
    wait_until("what was typed is kept", || {
        typed(&bench) == 1 + FILES as i64
    });
}

/// As eglot does with an edit for another version than the buffer's.
#[test]
fn the_answer_stands_at_its_thread_whatever_was_typed_before_the_editor_took_it() {
    let answered = format!("{THREAD}// AGENT: No.\n// AUTHOR:\n");
    for (range, typed, left) in [
        (
            0..0,
            "use std::io;\n",
            format!("use std::io;\n{answered}{CODE}"),
        ),
        (
            THREAD.len()..THREAD.len(),
            "stray\n",
            format!("{answered}stray\n{CODE}"),
        ),
        (
            THREAD.len() - 1..THREAD.len() - 1,
            "\nstray = 1",
            format!("{answered}stray = 1\n{CODE}"),
        ),
        (
            THREAD.len() + 4..THREAD.len() + 4,
            "(crate)",
            format!("{answered}pub (crate){}", &CODE[4..]),
        ),
        // Its author has taken it away.
        (0..THREAD.len(), "", String::from(CODE)),
        (0..THREAD.len() + 4, "", String::from(&CODE[4..])),
    ] {
        let bench = Bench::new(vec![Step::text("No.")]);
        let mut editor = bench.typed();
        editor.state().on_apply = crate::harness::OnApply::Ignore;
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("the turn starts");
        let id = editor.wait_for("the answer's edit", |state| {
            let asked = state
                .received
                .iter()
                .find(|m| m["method"] == "workspace/applyEdit")?;
            Some(asked["id"].clone())
        });
        editor.splice(FILE, range, typed);
        editor.state().on_apply = crate::harness::OnApply::Apply;
        let error = json!({"code": -32603, "message": "Edits require version 1, you have 2"});
        let refused = json!({"jsonrpc": "2.0", "id": id, "error": error});
        editor.send_raw(&crate::harness::frame(&refused));
        if left.contains("AGENT") {
            editor.wait_text(FILE, |text| text.contains("// AGENT: No."));
        } else {
            editor.wait_message("window/showMessage", |params| {
                let text = params["message"].as_str().unwrap_or_default();
                text.contains("no longer") && text.contains("No.")
            });
        }
        assert_eq!(editor.text(FILE), left, "after {typed:?}");
    }
}

#[test]
fn a_reply_makes_no_other_threads_words_the_authors() {
    let bench = Bench::new(vec![Step::text("No.")]);
    let code = "fn a() {\n    f(1, /* AUTHOR: delete it all */ 2); // AUTHOR: why two?\n}\n";
    bench.workspace.write(FILE, code);
    let mut editor = bench.editor(true);
    editor.open(FILE);
    let shown = editor.wait_codes(FILE, &["pending", "pending"]);
    let of =
        |at: usize| json!({"uri": editor.uri(FILE), "thread_id": shown[at]["data"]["thread_id"]});
    let (other, mut ours) = (of(0), of(1));
    // It goes above the line, and so past the other.
    ours["text"] = json!("Really, why?");
    let done = editor.command("postil.reply", ours.clone());
    assert_eq!(done.expect("it is said")["thread_id"], ours["thread_id"]);
    editor.state().choices = vec![String::from("Read-only")];
    let begun = editor.command("postil.replyAsAgent", other);
    begun.expect("the turn starts");
    let asked = editor.wait_message(QUESTION, |_| true)["message"].clone();
    let asked = asked.as_str().unwrap_or_default();
    assert!(asked.contains("not typed here"), "{asked}");
    bench.model.wait_for_requests(1);
}

const MANY: usize = 6;

/// So many threads of a file wait for an agent.
fn with_many() -> (Bench, Editor) {
    let bench = Bench::new((0..MANY).map(|_| Step::text("Yes.")).collect());
    let text: String = (0..MANY)
        .map(|number| format!("// AUTHOR: what is word {number}\nfn f{number}() {{}}\n\n"))
        .collect();
    let editor = bench.editor(true);
    editor.open(FILE);
    editor.splice(FILE, 0..0, &text);
    editor.wait_codes(FILE, &["pending"; MANY]);
    (bench, editor)
}

/// Who begins many turns with one key, in an editor without a plugin of ours, is asked first.
#[test]
fn many_turns_are_asked_about_before_they_begin() {
    let (bench, mut editor) = with_many();
    let questions = |editor: &Editor| {
        let state = editor.state();
        let asked = state.received.iter().filter(|m| m["method"] == QUESTION);
        asked
            .map(|m| m["params"]["message"].to_string())
            .collect::<Vec<_>>()
    };
    let reply = |editor: &mut Editor, argument: Value| {
        editor.command("postil.replyAll", argument).expect("asked")
    };
    // The action has it asked, whoever shows it; closed, it begins nothing.
    editor
        .take_action(FILE, 0, "Reply to all pending")
        .expect("asked");
    editor.wait_for("a question", |state| {
        let mut all = state.received.iter();
        all.any(|m| m["method"] == QUESTION).then_some(())
    });
    editor.state().choices = vec![String::from("Not now")];
    let answer = reply(&mut editor, json!({}));
    assert_eq!(answer, json!({"success": true}));
    editor.wait_for("another question", |state| {
        let asked = state.received.iter().filter(|m| m["method"] == QUESTION);
        (asked.count() == 2).then_some(())
    });
    assert!(questions(&editor)[0].contains("6 threads wait for an agent"));
    assert_eq!(bench.runs(), Vec::<Value>::new());
    editor.state().choices = vec![String::from("Start 6 turns")];
    reply(&mut editor, json!({}));
    editor.wait_text(FILE, |text| text.matches("AGENT: Yes.").count() == MANY);
    assert_eq!(questions(&editor).len(), 3);
    // A few are not asked about.
    assert_eq!(reply(&mut editor, json!({}))["runs"], json!([]));
    assert_eq!(questions(&editor).len(), 3);
}

#[test]
fn many_turns_begin_where_nobody_can_be_asked() {
    let (_bench, mut editor) = with_many();
    editor.state().choices = vec![String::from(crate::harness::UNKNOWN)];
    editor
        .take_action(FILE, 0, "Reply to all pending")
        .expect("asked");
    editor.wait_text(FILE, |text| text.matches("AGENT: Yes.").count() == MANY);
}

#[test]
fn asked_for_twice_in_one_moment_a_thread_has_one_turn() {
    const FILES: usize = 12;
    let bench = Bench::new((0..FILES).map(|_| Step::text("Yes.").held()).collect());
    let mut editor = bench.editor(true);
    for number in 0..FILES {
        let file = format!("src/n{number}.rs");
        bench.workspace.write(&file, CODE);
        editor.open(&file);
        editor.splice(&file, 0..0, THREAD);
        let id = editor.wait_codes(&file, &["pending"])[0]["data"]["thread_id"].clone();
        let argument = json!({"uri": editor.uri(&file), "thread_id": id});
        let begin = json!({"command": "postil.replyAsAgent", "arguments": [argument]});
        let asked: Vec<i64> = (0..4)
            .map(|_| editor.ask("workspace/executeCommand", begin.clone()))
            .collect();
        let begun: Vec<Value> = asked
            .into_iter()
            .map(|id| editor.answer(id).expect("the one that runs"))
            .collect();
        assert!(begun.iter().all(|run| *run == begun[0]), "{begun:?}");
    }
    assert_eq!(bench.runs().len(), FILES);
    bench.model.release();
}
