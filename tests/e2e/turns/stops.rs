//! Turns that stop half-way and go on: questions, caps, failures, the end of the process.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Bench, CODE, FILE, THREAD, lens, read, rename, take_when_offered, type_at};
use crate::harness::{Editor, NEVER, Options, State, Workspace, wait_until};
use crate::model::{Step, call};

fn ask(choices: Value) -> Step {
    let input = json!({"question": "Only this one, or every caller?", "choices": choices});
    Step::calls(vec![call("toolu_ask", "ask_user", input)])
}

fn thinking(step: Step) -> Step {
    step.thinking("sig-kept")
}

impl Bench {
    /// As another start of the editor: the file is as it was left.
    fn again(&self, text: &str) -> Editor {
        let editor = Editor::start_with(
            &self.workspace,
            Options {
                env: self.env(),
                initialization_options: json!({"trusted": true}),
                ..Options::default()
            },
        );
        self.workspace.write(FILE, text);
        editor.open(FILE);
        editor
    }
}

#[test]
fn a_question_suspends_the_run_until_a_choice_is_taken_even_in_another_process() {
    let bench = Bench::new(vec![
        thinking(read()),
        ask(json!(["only this one", "every caller"])),
        read_again(),
        rename(),
        Step::text("Renamed it alone."),
    ]);
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let asked = "// AGENT: Only this one, or every caller? (a) only this one (b) every caller\n";
    let text = editor.wait_text(FILE, |text| text.contains("AGENT:"));
    assert_eq!(text, format!("{THREAD}{asked}// AUTHOR:\n{CODE}"));
    let run = bench.wait_status("awaiting_user");
    drop(editor);

    let mut editor = bench.again(&text);
    editor.wait_codes(FILE, &["awaiting_user"]);
    let titles: Vec<Value> = editor
        .code_actions(FILE, 1)
        .iter()
        .map(|action| action["title"].clone())
        .collect();
    // Before all else that can be done here.
    assert_eq!(
        titles.get(..2),
        Some(&[json!("(a) only this one"), json!("(b) every caller")][..]),
        "{titles:?}"
    );
    assert!(!titles.contains(&json!("Continue")), "{titles:?}");
    editor
        .take_action(FILE, 1, "(a) only this one")
        .expect("the answer is taken");
    let text = editor.wait_text(FILE, |text| text.contains("Renamed it alone."));
    assert!(
        text.starts_with(&format!(
            "{THREAD}{asked}// AUTHOR: (a) only this one\n// AGENT: Renamed it alone.\n// AUTHOR:\n"
        )) && text.contains("fn load_data()"),
        "{text}"
    );
    assert_eq!(bench.wait_status("completed")["id"], run["id"]);

    // The whole context went along, thinking and all, and the answer is the result of the call.
    let asked = &bench.model.requests()[2];
    assert_eq!(
        asked.body["messages"][1]["content"][0]["signature"],
        "sig-kept"
    );
    let results = asked.results();
    assert_eq!(results[0].0, "toolu_ask");
    assert_eq!(results[0].1, "The author answered: (a) only this one");
    assert_eq!(bench.runs().len(), 1);
}

/// With the choice it has its first words, and another id.
#[test]
fn a_choice_is_taken_at_a_thread_without_an_authors_word() {
    let bench = Bench::new(vec![Step::text("Took it.")]);
    let asked = "// AGENT: Which one? (a) tokio (b) smol\n";
    let mut editor = bench.again(&format!("{asked}// AUTHOR:\nfn a() {{}}\n"));
    editor.wait_diagnostics(FILE, |shown| !shown.is_empty());
    editor
        .take_action(FILE, 0, "(a) tokio")
        .expect("the answer is taken");
    let text = editor.wait_text(FILE, |text| text.contains("Took it."));
    assert!(
        text.starts_with(&format!(
            "{asked}// AUTHOR: (a) tokio\n// AGENT: Took it.\n"
        )),
        "{text}"
    );
}

/// Those that the agent has put, as messages with buttons.
fn messages(editor: &Editor) -> Vec<Value> {
    let state = editor.state();
    let asked = |m: &&Value| m["method"] == "window/showMessageRequest";
    state.received.iter().filter(asked).cloned().collect()
}

#[test]
fn a_question_with_choices_is_a_message_with_buttons_too_where_the_editor_has_no_others() {
    let bench = Bench::new(vec![
        ask(json!(["only this one", "every caller"])),
        Step::text("Every caller, then."),
    ]);
    let mut editor = bench.typed();
    editor.state().choices = vec![String::from("(b) every caller")];
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| {
        text.contains("// AUTHOR: (b) every caller\n// AGENT: Every caller, then.\n")
    });
    let asked = messages(&editor);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(
        asked[0]["params"],
        json!({"type": 3, "message": format!("An agent asks in {FILE}: Only this one, or every caller?"),
            "actions": [{"title": "(a) only this one"}, {"title": "(b) every caller"}]})
    );
}

#[test]
fn a_question_that_is_answered_at_the_thread_is_taken_back_as_a_message() {
    let step = || ask(json!(["only this one", "every caller"]));
    let bench = Bench::new(vec![step(), step(), Step::text("Every caller, then.")]);
    let mut editor = bench.typed();
    editor.state().choices = vec![NEVER.to_owned()];
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_message("window/showMessageRequest", |_| true);
    let first = messages(&editor)[0]["id"].clone();
    // Closed without an answer the next one changes nothing.
    editor.state().choices.clear();
    editor
        .take_action(FILE, 0, "(a) only this one")
        .expect("it is answered");
    editor.wait_message("$/cancelRequest", |params| params["id"] == first);
    editor.wait_for("the second question", |state| {
        let asked = |m: &&Value| m["method"] == "window/showMessageRequest";
        (state.received.iter().filter(asked).count() == 2).then_some(())
    });
    let text = editor.text(FILE);
    assert!(text.ends_with(&format!("// AUTHOR:\n{CODE}")), "{text}");
    take_when_offered(&mut editor, "(b) every caller");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Every caller, then."));
    assert_eq!(messages(&editor).len(), 2);
}

#[test]
fn a_question_waits_until_nobody_types_where_it_takes_the_keys() {
    let bench = Bench::new(vec![ask(json!(["only this one", "every caller"]))]);
    let options = || Options {
        env: bench.env(),
        initialization_options: json!({"trusted": true}),
        initialize: false,
        ..Options::default()
    };
    let mut editor = Editor::start_with(&bench.workspace, options());
    let mut params = editor.initialize_params(&options());
    params["clientInfo"] = json!({"name": "helix"});
    editor.request("initialize", params).expect("capabilities");
    editor.notify("initialized", json!({}));
    editor.open(FILE);
    editor.splice(FILE, 0..0, THREAD);
    editor.wait_codes(FILE, &["pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("AGENT: Only this one"));
    // As somebody types who does not look up.
    let asked = |state: &State| {
        let mut received = state.received.iter();
        received.any(|m| m["method"] == "window/showMessageRequest")
    };
    let (began, mut keys) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_millis(1500) || keys < 100 {
        let end = editor.text(FILE).len();
        editor.splice(FILE, end..end, "\n");
        editor.code_actions(FILE, 0);
        keys += 1;
        assert!(!asked(&editor.state()), "after {keys} keys");
    }
    editor.wait_message("window/showMessageRequest", |_| true);
}

#[test]
fn a_question_is_no_message_where_a_plugin_of_ours_shows_it() {
    for plugin in ["threads", "reviews"] {
        let bench = Bench::new(vec![ask(json!(["only this one", "every caller"]))]);
        let options = Options {
            env: bench.env(),
            initialization_options: json!({"trusted": true, plugin: true}),
            ..Options::default()
        };
        let mut editor = Editor::start_with(&bench.workspace, options);
        editor.open(FILE);
        editor.splice(FILE, 0..0, THREAD);
        editor.wait_codes(FILE, &["pending"]);
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("the turn starts");
        editor.wait_codes(FILE, &["awaiting_user"]);
        bench.wait_status("awaiting_user");
        editor.settle();
        assert_eq!(messages(&editor), Vec::<Value>::new(), "{plugin}");
    }
}

#[test]
fn a_question_that_does_not_look_like_one_is_shown_as_one() {
    let input = json!({"question": "Tell me the name you want."});
    let bench = Bench::new(vec![Step::calls(vec![call("toolu_1", "ask_user", input)])]);
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let shown = editor.wait_codes(FILE, &["awaiting_user"]);
    assert_eq!(
        shown[0]["message"],
        "agent asks: Question: Tell me the name you want."
    );
    bench.wait_status("awaiting_user");
    wait_until("the lens says so", || {
        lens(&mut editor) == "asks you · Reply"
    });
}

fn read_again() -> Step {
    Step::calls(vec![call(
        "toolu_again",
        "file_read",
        json!({"path": FILE}),
    )])
}

#[test]
fn a_question_without_choices_is_answered_in_the_author_line() {
    let input = json!({"question": "Which name?"});
    let bench = Bench::new(vec![
        // What stands beside the question in order is done; what stands behind it is not.
        Step::calls(vec![
            call("toolu_1", "file_read", json!({"path": FILE})),
            call("toolu_2", "ask_user", input),
            call(
                "toolu_3",
                "file_write",
                json!({"path": "behind.txt", "content": "x"}),
            ),
        ]),
        Step::text("Thanks."),
    ]);
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| {
        text.contains("// AGENT: Which name?\n// AUTHOR:\n")
    });
    bench.wait_status("awaiting_user");
    let at = editor.text(FILE).find("// AUTHOR:\n").unwrap() + "// AUTHOR:".len();
    type_at(&editor, at, " fetch");
    editor.wait_codes(FILE, &["pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the run goes on");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Thanks."));
    let results = bench.model.requests()[1].results();
    assert!(
        results[0].1.contains("pub fn load()") && !results[0].2,
        "{results:?}"
    );
    assert_eq!(results[1].1, "The author answered: fetch");
    assert!(
        results[2].2 && results[2].1.contains("asked first"),
        "{results:?}"
    );
    assert!(!bench.workspace.path("behind.txt").exists());
}

#[test]
fn a_question_without_an_editor_is_printed_and_answered_from_the_command_line() {
    let bench = Bench::new(vec![ask(json!(null)), Step::text("Every caller, then.")]);
    bench.workspace.write(FILE, format!("{THREAD}{CODE}"));
    assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
    let (code, out, err) = bench.cli(&["reply", "--all", "--yes"]);
    assert_eq!(code, Some(1), "a question is no answer: {out}{err}");
    assert!(
        format!("{out}{err}").contains("Only this one, or every caller?"),
        "{out}{err}"
    );
    let run = bench.wait_status("awaiting_user");
    let thread = run["thread_id"].as_str().unwrap();
    let way = format!("to answer: postil say {thread} \"…\" && postil reply {thread}\n");
    assert!(out.contains(&way), "{out}");
    // Nothing to go on with before there is an answer.
    let (code, _, err) = bench.cli(&["reply", "--resume", run["id"].as_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(err.contains("write your answer"), "{err}");
    assert_eq!(bench.cli(&["say", thread, "every caller"]).0, Some(0));
    let (code, out, err) = bench.cli(&["reply", thread, "--yes"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        bench
            .workspace
            .read(FILE)
            .contains("// AGENT: Every caller, then.")
    );
    assert_eq!(
        bench.model.requests()[1].results()[0].1,
        "The author answered: every caller"
    );
}

#[test]
fn a_turn_that_paused_at_a_cap_goes_on_with_its_whole_context() {
    for by_words in [false, true] {
        let bench = Bench::new(vec![thinking(read()), Step::text("All done.")]);
        bench.workspace.configure("[turn]\nmaxRounds = 1\n");
        let mut editor = bench.typed();
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("the turn starts");
        let text = editor.wait_text(FILE, |text| text.contains("Paused after 1 model round "));
        bench.wait_status("awaiting_user");
        if by_words {
            let at = text.find("// AUTHOR:\n").unwrap() + "// AUTHOR:".len();
            type_at(&editor, at, " Continue.");
            editor.wait_codes(FILE, &["pending"]);
            editor
                .take_action(FILE, 0, "Reply as agent")
                .expect("it goes on");
        } else {
            editor.wait_codes(FILE, &["awaiting_user"]);
            wait_until("the lens offers it", || lens(&mut editor) == "Continue");
            take_when_offered(&mut editor, "Continue");
        }
        editor.wait_text(FILE, |text| text.contains("// AGENT: All done."));
        bench.wait_status("completed");
        wait_until("the lens offers it no more", || {
            lens(&mut editor).ends_with("· Reply")
        });
        let asked = &bench.model.requests()[1];
        assert_eq!(
            asked.body["messages"][1]["content"][0]["signature"],
            "sig-kept"
        );
        assert_eq!(asked.results()[0].0, "toolu_1");
        assert!(
            !asked.prompt().contains("The author wrote"),
            "{}",
            asked.prompt()
        );
        assert!(
            !editor
                .code_actions(FILE, 0)
                .iter()
                .any(|a| a["title"] == "Continue"),
            "there is nothing to go on with any more"
        );
    }
}

#[test]
fn a_turn_that_failed_without_leave_to_edit_goes_on_with_the_leave_given_since() {
    let failed = Step::error(401, "authentication_error", "invalid x-api-key");
    let bench = Bench::new(vec![read(), failed, rename(), Step::text("Renamed.")]);
    bench.workspace.write(FILE, format!("{THREAD}{CODE}"));
    // Nobody trusts the folder yet.
    let (code, out, err) = bench.cli(&["reply", "--all", "--yes"]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
    let (code, out, err) = bench.cli(&["reply", "--all", "--yes"]);
    assert_eq!(code, Some(0), "{out}{err}");
    let text = bench.workspace.read(FILE);
    assert!(text.contains("pub fn load_data()"), "{text}");
    assert_eq!(bench.runs().len(), 1, "the turn went on");
}

#[test]
fn a_failed_turn_goes_on_where_it_failed() {
    let bench = Bench::new(vec![
        read(),
        Step::error(401, "authentication_error", "invalid x-api-key"),
        Step::text("Now."),
    ]);
    bench.workspace.write(FILE, format!("{THREAD}{CODE}"));
    assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
    let (code, ..) = bench.cli(&["reply", "--all", "--yes"]);
    assert_eq!(code, Some(1));
    let run = bench.wait_status("failed");
    let (code, out, err) = bench.cli(&["reply", "--resume", &run["id"].as_str().unwrap()[..8]]);
    assert_eq!(code, Some(0), "{out}{err}");
    let asked = &bench.model.requests()[2];
    assert_eq!(
        asked.results()[0].0,
        "toolu_1",
        "what was read is still known"
    );
    // One turn, one undo.
    assert!(bench.workspace.read(FILE).contains("// AGENT: Now."));
    assert_eq!(bench.cli(&["undo", run["id"].as_str().unwrap()]).0, Some(0));
    assert_eq!(bench.workspace.read(FILE), format!("{THREAD}{CODE}"));
}

#[test]
fn a_read_only_turn_that_goes_on_stays_read_only() {
    let bench = Bench::new(vec![
        read(),
        read_again(),
        rename(),
        Step::text("I would rename it."),
    ]);
    bench.workspace.configure("[turn]\nmaxRounds = 2\n");
    bench.workspace.write(FILE, format!("{THREAD}{CODE}"));
    assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
    assert_eq!(bench.cli(&["reply", "--all", "--yes", "--plan"]).0, Some(1));
    let run = bench.wait_status("awaiting_user");
    let (code, out, err) = bench.cli(&["reply", "--resume", run["id"].as_str().unwrap(), "--yes"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(bench.workspace.read(FILE).contains("pub fn load() -> u32"));
}

#[test]
fn plan_mode_that_the_agent_began_outlives_the_process() {
    let bench = Bench::new(vec![
        Step::calls(vec![call("toolu_plan", "plan_enter", json!({}))]),
        Step::text("x").stall(10),
        read(),
        rename(),
        Step::calls(vec![call("toolu_exit", "plan_exit", json!({}))]),
        Step::calls(vec![call(
            "toolu_5",
            "file_edit",
            json!({"path": FILE, "old_string": "pub fn load()", "new_string": "pub fn load_data()"}),
        )]),
        Step::text("Renamed it."),
    ]);
    let mut editor = bench.typed();
    editor.save(FILE);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.model.wait_for_requests(2);
    editor.kill();
    bench.wait_status("interrupted");
    let mut editor = bench.again(&format!("{THREAD}{CODE}"));
    // Beside it may stand already that its turn stopped.
    editor.wait_diagnostics(FILE, |all| all.iter().any(|one| one["code"] == "pending"));
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("it goes on");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT:"));
    assert!(text.contains("pub fn load_data()"), "{text}");
    let asked = bench.model.requests();
    let (_, refused, is_error) = asked[4].results()[0].clone();
    assert!(is_error && refused.contains("Use plan_exit"), "{refused}");
    assert!(asked[5].results()[0].1.contains("Plan mode is off"));
}

#[test]
fn a_conversation_that_is_too_long_by_now_is_folded_when_it_goes_on() {
    let long = "prompt is too long: 205351 tokens > 200000 maximum";
    let bench = Bench::new(vec![
        thinking(read()),
        Step::error(400, "invalid_request_error", long),
        Step::text("All done."),
    ]);
    bench.workspace.configure("[turn]\nmaxRounds = 1\n");
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_codes(FILE, &["awaiting_user"]);
    take_when_offered(&mut editor, "Continue");
    editor.wait_text(FILE, |text| text.contains("AGENT: All done."));
}

#[test]
fn a_turn_goes_on_after_each_cap_in_the_editor_and_on_the_command_line_when_its_process_is_gone() {
    // The price of the scripted model's answer is known: 1000 tokens in, 20 out.
    for (settings, cap) in [
        ("[turn]\nmaxRounds = 1\n", "Paused after 1 model round "),
        ("[turn]\nmaxCost = 0.0001\n", "Paused at $"),
        (
            "[turn]\nmaxTokens = 1000\n",
            "of 1.0k tokens a turn (turn.maxTokens)",
        ),
    ] {
        for by_command in [false, true] {
            let bench = Bench::new(vec![
                thinking(read()),
                thinking(read_again()),
                Step::text("x").stall(10),
                Step::text("All done."),
            ]);
            bench.workspace.configure(settings);
            let mut editor = bench.typed();
            editor
                .take_action(FILE, 0, "Reply as agent")
                .expect("the turn starts");
            let text = editor.wait_text(FILE, |text| text.contains(cap));
            let run = bench.wait_status("awaiting_user");
            let id = run["id"].as_str().expect("an id");
            bench.workspace.write(FILE, &text);
            // It stops as often as the cap is met.
            if by_command {
                editor.kill();
                assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
                let (code, out, err) = bench.cli(&["reply", "--resume", id, "--yes"]);
                assert_eq!(code, Some(1), "{out}{err}");
                assert!(format!("{out}{err}").contains(cap), "{out}{err}");
            } else {
                editor.wait_codes(FILE, &["awaiting_user"]);
                take_when_offered(&mut editor, "Continue");
                bench.model.wait_for_requests(2);
                bench.wait_status("awaiting_user");
                assert_eq!(editor.text(FILE), text, "it is said once");
                editor.kill();
            }
            // It is killed while it goes on, and goes on all the same.
            let text = bench.workspace.read(FILE);
            let mut editor = bench.again(&text);
            editor.wait_codes(FILE, &["awaiting_user"]);
            take_when_offered(&mut editor, "Continue");
            bench.model.wait_for_requests(3);
            editor.kill();
            bench.wait_status("interrupted");
            if by_command {
                let (code, out, err) = bench.cli(&["reply", "--resume", id, "--yes"]);
                assert_eq!(code, Some(0), "{out}{err}");
                assert!(bench.workspace.read(FILE).contains("// AGENT: All done."));
            } else {
                let mut editor = bench.again(&text);
                editor.wait_codes(FILE, &["awaiting_user"]);
                take_when_offered(&mut editor, "Continue");
                editor.wait_text(FILE, |text| text.contains("// AGENT: All done."));
            }
            assert_eq!(bench.wait_status("completed")["id"], id);
            assert_eq!(bench.runs().len(), 1);
            // Each result was told once, in the order of the calls.
            let asked = bench.model.requests();
            let last = asked.last().expect("a request").body["messages"].clone();
            let ids: Vec<&Value> = last
                .as_array()
                .expect("messages")
                .iter()
                .flat_map(|m| m["content"].as_array().into_iter().flatten())
                .filter(|block| block["type"] == "tool_result")
                .map(|block| &block["tool_use_id"])
                .collect();
            assert_eq!(json!(ids), json!(["toolu_1", "toolu_again"]));
        }
    }
}

#[test]
fn a_turn_that_fails_after_edits_says_how_they_are_taken_back() {
    let refused = || Step::error(400, "invalid_request_error", "no more");
    let bench = Bench::new(vec![read(), rename(), refused(), refused()]);
    bench.workspace.write(FILE, format!("{THREAD}{CODE}"));
    assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
    let (code, out, err) = bench.cli(&["reply", "--all", "--yes"]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(bench.workspace.read(FILE).contains("pub fn load_data()"));
    let run = bench.wait_status("failed");
    let undo = format!("postil undo {}", &run["id"].as_str().expect("an id")[..8]);
    let told = format!("; 1 file was changed before that: Undo last turn (`{undo}`) puts it back");
    assert!(format!("{out}{err}").contains(&told), "{out}{err}");
    let (code, out, err) = bench.cli(&undo.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(bench.workspace.read(FILE), format!("{THREAD}{CODE}"));
    // What is put back already is not spoken of.
    let (code, out, err) = bench.cli(&["reply", "--all", "--yes"]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(
        !format!("{out}{err}").contains("Undo last turn"),
        "{out}{err}"
    );
}

#[test]
fn fault_23_a_failed_turn_says_why_and_leaves_the_thread_pending() {
    let refused = Step::error(401, "authentication_error", "invalid x-api-key");
    let bench = Bench::new(vec![refused]);
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let shown = editor.wait_codes(FILE, &["pending", "turn-failed"]);
    let said = shown[1]["message"].as_str().unwrap();
    assert!(said.contains("ANTHROPIC_API_KEY"), "{said}");
    assert_eq!(
        bench.wait_status("failed")["rounds"]
            .as_u64()
            .map(|n| n > 0),
        Some(true)
    );
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
    bench.assert_no_key(&editor);
    // The next server of the folder knows of it.
    drop(editor);
    let editor = bench.again(&format!("{THREAD}{CODE}"));
    let again = editor.wait_codes(FILE, &["pending", "turn-failed"]);
    assert_eq!(again[1]["message"], shown[1]["message"]);
}

#[test]
fn a_turn_that_failed_is_past_once_another_has_answered() {
    let bench = Bench::new(vec![Step::error(401, "authentication_error", "no")]);
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_codes(FILE, &["pending", "turn-failed"]);
    let asked_on = |editor: &Editor| {
        let answered = format!("{THREAD}// AGENT: Yes.\n// AUTHOR: do it\n");
        editor.replace(FILE, THREAD, &answered);
        editor.wait_codes(FILE, &["pending"]);
    };
    asked_on(&editor);
    let at =
        json!({"textDocument": {"uri": editor.uri(FILE)}, "position": {"line": 0, "character": 5}});
    let hover = editor.request("textDocument/hover", at).expect("a hover");
    assert!(!hover.to_string().contains("failed: "), "{hover}");
    drop(editor);
    // The same where the turn was another process's.
    let text = format!("{THREAD}{CODE}");
    bench.workspace.write(FILE, &text);
    let editor = bench.again(&text);
    editor.wait_codes(FILE, &["pending", "turn-failed"]);
    asked_on(&editor);
}

#[test]
fn an_action_word_needs_no_model() {
    let workspace = Workspace::new();
    workspace.configure("model = 'anthropic/claude-sonnet-4-5'\n");
    workspace.write(
        FILE,
        format!("// AUTHOR: why?\n// AGENT: So.\n// AUTHOR: done\n{CODE}"),
    );
    let reply = workspace.postil().args(["reply", "--all"]).output();
    let reply = reply.expect("postil runs");
    assert!(reply.status.success(), "{reply:?}");
    assert_eq!(workspace.read(FILE), CODE);
}

#[test]
fn fault_23_a_turn_without_a_key_has_failed_as_others_do() {
    let bench = Bench::new(Vec::new());
    bench
        .workspace
        .configure("model = 'anthropic/claude-sonnet-4-5'\n");
    let mut editor = Editor::start(&bench.workspace);
    editor.open(FILE);
    type_at(&editor, 0, THREAD);
    editor.wait_codes(FILE, &["pending"]);
    let refused = editor.take_action(FILE, 0, "Reply as agent");
    let said = refused.expect_err("nobody answers")["message"].clone();
    assert!(
        said.as_str()
            .is_some_and(|said| said.contains("ANTHROPIC_API_KEY")),
        "{said}"
    );
    let shown = editor.wait_codes(FILE, &["pending", "turn-failed"]);
    assert_eq!(shown[1]["message"], said);
    let run = bench.wait_status("failed");
    assert_eq!(run["rounds"], 2, "the question and why: {run}");
    // Asked again, it is the same run.
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect_err("nobody answers");
    let (_, runs, _) = bench.cli(&["workflow", "list", "--json"]);
    let runs: Value = serde_json::from_str(&runs).expect("JSON");
    assert_eq!(runs.as_array().map(Vec::len), Some(1), "{runs}");
}
