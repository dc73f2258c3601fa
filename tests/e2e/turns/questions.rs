//! Questions in editors that have a manner of their own with them: Return takes the first answer, `C-g` sends none, a
//! question cannot be shown at the moment, or is answered when it is not open any more.

use serde_json::{Value, json};

use super::{Bench, CODE, FILE, THREAD, read, rename, type_at};
use crate::harness::{Editor, FAILS, NEVER, Options, frame};
use crate::model::{Step, call};

const QUESTION: &str = "window/showMessageRequest";
const TRUST: &str = "Trust this workspace";

/// A thread that was typed here, in an editor of this name; nobody has said yet whether the folder is trusted.
fn typed(bench: &Bench, name: &str) -> Editor {
    let options = || Options {
        capabilities: json!({"window": {"showMessage": {}}}),
        env: bench.env(),
        initialize: false,
        ..Options::default()
    };
    let mut editor = Editor::start_with(&bench.workspace, options());
    let mut params = editor.initialize_params(&options());
    params["clientInfo"] = json!({"name": name});
    editor.request("initialize", params).expect("capabilities");
    editor.notify("initialized", json!({}));
    editor.open(FILE);
    type_at(&editor, 0, THREAD);
    editor.wait_codes(FILE, &["pending"]);
    editor
}

fn reply(editor: &mut Editor) {
    let begun = editor.take_action(FILE, 0, "Reply as agent");
    begun.expect("the turn starts");
}

/// What was asked until now: the titles of each.
fn asked(editor: &Editor) -> Vec<Vec<String>> {
    let state = editor.state();
    let asked = state.received.iter().filter(|m| m["method"] == QUESTION);
    let titles = |question: &Value| {
        let actions = question["params"]["actions"].as_array().expect("actions");
        let titles = actions.iter().map(|action| action["title"].as_str());
        titles.flatten().map(str::to_owned).collect()
    };
    asked.map(titles).collect()
}

fn id_of_the_question(editor: &Editor) -> Value {
    editor.wait_for("a question", |state| {
        let mut received = state.received.iter();
        let asked = received.find(|m| m["method"] == QUESTION);
        asked.map(|question| question["id"].clone())
    })
}

fn wait_at_thread(editor: &Editor, question: &str) {
    editor.wait_diagnostics(FILE, |list| {
        let says = |d: &Value| d["message"].as_str().unwrap_or_default().to_owned();
        let mut asked = list.iter().map(says);
        asked.any(|said| said.starts_with("asks you: ") && said.contains(question))
    });
}

#[test]
fn where_return_takes_the_first_answer_that_is_a_no() {
    let run = || Step::calls(vec![call("b", "bash", json!({"command": "touch ran"}))]);
    for (name, firsts) in [
        ("Eglot", ["Read-only this time", "Refuse"]),
        ("lsp", [TRUST, "Allow once"]),
    ] {
        let bench = Bench::new(vec![run(), Step::text("It did not run.")]);
        let mut editor = typed(&bench, name);
        // By its title, wherever it stands.
        editor.state().choices = [TRUST, "Refuse"].map(String::from).to_vec();
        reply(&mut editor);
        editor.wait_text(FILE, |text| text.contains("AGENT: It did not run."));
        let asked = asked(&editor);
        let shown: Vec<&str> = asked.iter().map(|titles| titles[0].as_str()).collect();
        assert_eq!(shown, firsts, "{name}");
        assert_eq!(asked[0].len(), 2, "{asked:?}");
        assert!(
            asked[1].contains(&String::from("Always allow")),
            "{asked:?}"
        );
    }
}

#[test]
fn a_question_to_which_no_answer_may_come_stands_at_its_thread_too() {
    for name in ["Eglot", "emacs"] {
        let bench = Bench::new(vec![read(), rename(), Step::text("Renamed.")]);
        let mut editor = typed(&bench, name);
        editor.state().choices = vec![String::from(NEVER)];
        reply(&mut editor);
        let question = id_of_the_question(&editor);
        wait_at_thread(&editor, "is not trusted");
        let taken = editor.take_action(FILE, 0, TRUST);
        taken.expect("it is taken");
        editor.wait_text(FILE, |text| {
            text.contains("AGENT: Renamed.") && text.contains("fn load_data()")
        });
        editor.wait_message("$/cancelRequest", |params| params["id"] == question);
    }
}

/// kakoune-lsp hands titles to the shell's `echo`, in which `\0047` ends what is quoted for Kakoune.
#[test]
fn attack_11_an_agents_choice_is_no_command_for_kakoune() {
    let choices = [r"x\0047 ; nop %sh{touch pwned} ; nop \0047", "no"];
    let input = json!({"question": "Which of these?", "choices": choices});
    let bench = Bench::new(vec![
        Step::calls(vec![call("a", "ask_user", input)]),
        Step::text("Taken."),
    ]);
    let mut editor = typed(&bench, "kakoune-lsp");
    let shown = "(a) x∖0047 ; nop %sh{touch pwned} ; nop ∖0047";
    editor.state().choices = [TRUST, shown].map(String::from).to_vec();
    reply(&mut editor);
    editor.wait_text(FILE, |text| text.contains("AGENT: Taken."));
    assert_eq!(asked(&editor)[1], [shown, "(b) no"]);
    let told = bench.model.requests()[1].results();
    assert_eq!(
        told[0].1,
        format!("The author answered: (a) {}", choices[0])
    );
}

#[test]
fn a_question_that_could_not_be_shown_is_asked_again() {
    let bench = Bench::new(vec![read(), rename(), Step::text("Renamed.")]);
    let mut editor = typed(&bench, "an editor");
    editor.state().choices = [FAILS, TRUST].map(String::from).to_vec();
    reply(&mut editor);
    editor.wait_text(FILE, |text| {
        text.contains("AGENT: Renamed.") && text.contains("fn load_data()")
    });
    assert_eq!(asked(&editor).len(), 2);
}

#[test]
fn a_question_that_is_never_shown_is_left_at_its_thread() {
    for name in ["an editor", "Eglot"] {
        let bench = Bench::new(vec![read(), rename(), Step::text("Renamed.")]);
        let mut editor = typed(&bench, name);
        editor.state().choices = vec![String::from(FAILS); 100];
        reply(&mut editor);
        editor.wait_saying("window/showMessage", "Answer at the thread in net.rs");
        wait_at_thread(&editor, "is not trusted");
        let often = asked(&editor).len();
        assert!((2..10).contains(&often), "{often}");
        editor.take_action(FILE, 0, TRUST).expect("it is taken");
        editor.wait_text(FILE, |text| text.contains("fn load_data()"));
    }
}

#[test]
fn a_question_of_no_thread_that_is_never_shown_is_told_of() {
    let bench = Bench::new(Vec::new());
    let threads: String = (0..6)
        .map(|nth| format!("// AUTHOR: number {nth}?\nfn f{nth}() {{}}\n"))
        .collect();
    bench.workspace.write(FILE, threads);
    let mut editor = bench.editor(true);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending"; 6]);
    editor.state().choices = vec![String::from(FAILS); 100];
    let taken = editor.take_action(FILE, 1, "Reply to all pending");
    taken.expect("it is taken");
    let told = "could not be shown, which counts as no: 6 threads wait for an agent.";
    editor.wait_saying("window/showMessage", told);
    assert!(bench.model.requests().is_empty());
}

#[test]
fn an_answer_to_a_question_that_is_not_open_any_more_is_told_of_once() {
    let bench = Bench::new(Vec::new());
    let mut editor = typed(&bench, "kakoune-lsp");
    editor.state().choices = vec![String::from(NEVER)];
    reply(&mut editor);
    let question = id_of_the_question(&editor);
    editor
        .take_action(FILE, 0, "Cancel")
        .expect("it is cancelled");
    editor.wait_message("$/cancelRequest", |params| params["id"] == question);
    for result in [
        json!({"title": TRUST}),
        json!({"title": TRUST}),
        Value::Null,
    ] {
        let answer = json!({"jsonrpc": "2.0", "id": question, "result": result});
        editor.send_raw(&frame(&answer));
    }
    let told = "that question is no longer open: nothing was done";
    editor.wait_saying("window/showMessage", told);
    editor.settle();
    let state = editor.state();
    let said = state.received.iter().filter(|m| {
        let message = m["params"]["message"].as_str().unwrap_or_default();
        message.contains(told)
    });
    assert_eq!(said.count(), 1);
    drop(state);
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
    assert!(bench.model.requests().is_empty());
}

/// An [`Editor`] that is dropped sees to it that its server ends soon.
#[test]
fn a_question_that_stands_holds_up_no_end_of_the_server() {
    for choices in [vec![String::from(NEVER)], vec![String::from(FAILS); 100]] {
        let bench = Bench::new(Vec::new());
        let mut editor = typed(&bench, "Eglot");
        editor.state().choices = choices;
        reply(&mut editor);
        wait_at_thread(&editor, "is not trusted");
        id_of_the_question(&editor);
    }
}
