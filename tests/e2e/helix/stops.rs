//! A turn that stops half-way, by a cap or with a question of the agent's, goes on from the menu.

use postil::store::location;
use serde_json::json;

use super::{Terminal, command, keys, programs, start_with, take, trusted, with_blanks};
use crate::harness::Workspace;
use crate::model::{Model, Step, call};

/// The page's project, and a scripted model that answers in it.
pub(super) fn started(
    program: &str,
    config: &str,
    script: Vec<Step>,
) -> (Workspace, Model, Terminal) {
    let workspace = trusted();
    workspace.configure(config);
    started_in(workspace, program, script)
}

/// The same in a workspace that is set up already.
pub(super) fn started_in(
    workspace: Workspace,
    program: &str,
    script: Vec<Step>,
) -> (Workspace, Model, Terminal) {
    let model = Model::start(script);
    let terminal = start_with(&workspace, program, "notes.py:4", &model.in_terminal());
    // What is typed before the server is there comes with the file, and is asked about.
    let socket = location(&workspace.data(), workspace.root()).with_file_name("editor");
    terminal.wait("the server", |_| {
        std::fs::read(&socket).is_ok_and(|path| !path.is_empty())
    });
    terminal.key("O");
    terminal.text("# AUTHOR: bytes or text?");
    terminal.key("Escape");
    terminal.wait("the thread", |s| s.contains("awaiting agent"));
    keys(&terminal, &["Space", "a"]);
    take(&terminal, "Reply as agent");
    (workspace, model, terminal)
}

/// The thread's diagnostic once the turn has ended; its menu is made of it.
fn awaits_the_author(screen: &str) -> bool {
    screen.contains("agent answered: ") && !screen.contains("agent at work")
}

#[test]
fn a_turn_that_stopped_at_a_cap_goes_on_in_helix() {
    for program in programs() {
        let read = call("r", "file_read", json!({"path": "notes.py"}));
        let script = vec![
            Step::calls(vec![read]),
            Step::text("It reads as the locale has it."),
        ];
        let (_workspace, model, terminal) = started(program, "[turn]\nmaxRounds = 1\n", script);
        let screen = terminal.wait("the pause", |s| {
            s.contains("# AGENT: ") && awaits_the_author(s)
        });
        assert!(!screen.contains("It reads as"), "{screen}");
        keys(&terminal, &["Space", "a"]);
        take(&terminal, "Continue");
        terminal.wait("the answer", |s| {
            s.contains("# AGENT: It reads as the locale has it.")
        });
        assert_eq!(model.wait_for_requests(2).len(), 2);
        command(&terminal, ":qa!");
    }
}

#[test]
fn a_question_is_answered_by_a_choice_in_helix() {
    for program in programs() {
        let input = json!({"question": "Which is it?", "choices": ["bytes", "text"]});
        let script = vec![
            Step::calls(vec![call("a", "ask_user", input)]),
            Step::text("Text it is."),
        ];
        let (_workspace, model, terminal) = started(program, "", script);
        terminal.wait("the question", |s| {
            s.contains("# AGENT: Which is it? (a) bytes (b) text") && s.contains("agent asks: ")
        });
        if program == "hx-new" {
            // Asked below the text, too. Left without an answer, the thread still asks.
            terminal.wait("the list", |s| {
                s.contains("An agent asks in notes.py: Which is it?") && s.contains("(a) bytes")
            });
            terminal.key("Escape");
            terminal.wait("no list", |s| !s.contains("An agent asks in"));
        }
        keys(&terminal, &["Space", "a"]);
        terminal.wait("the choices", |s| with_blanks(s).contains("(a) bytes  "));
        take(&terminal, "(b) text  ");
        terminal.wait("the answer", |s| {
            s.contains("# AUTHOR: (b) text") && s.contains("# AGENT: Text it is.")
        });
        let told = model.wait_for_requests(2)[1].prompt();
        assert!(told.contains("text"), "{told}");
        command(&terminal, ":qa!");
    }
}

#[test]
fn a_question_is_answered_in_the_list_below_the_text() {
    for program in programs().filter(|program| *program == "hx-new") {
        let input = json!({"question": "Which is it?", "choices": ["bytes", "text"]});
        let script = vec![
            Step::calls(vec![call("a", "ask_user", input)]),
            Step::text("Text it is."),
        ];
        let (_workspace, _model, terminal) = started(program, "", script);
        terminal.wait("the list", |s| {
            s.contains("An agent asks in notes.py: Which is it?")
        });
        keys(&terminal, &["Down", "Down", "Enter"]);
        terminal.wait("the answer", |s| {
            s.contains("# AUTHOR: (b) text") && s.contains("# AGENT: Text it is.")
        });
        command(&terminal, ":qa!");
    }
}
