//! A prompt goes on with the turn before it that stopped half-way.

use serde_json::{Value, json};

use super::{Client, bench, text};
use crate::acp::{CODE, FILE, THREAD, cli};
use crate::harness::Workspace;
use crate::model::{Asked, Model, Step, call};

fn last(model: &Model) -> Asked {
    model.requests().last().expect("a request").clone()
}

/// The results that the model was told of, by the calls.
fn results(asked: &Asked) -> Vec<(String, String)> {
    let results = asked.results().into_iter();
    results.map(|(call, text, _)| (call, text)).collect()
}

fn reads(id: &str) -> Step {
    Step::calls(vec![call(id, "file_read", json!({"path": FILE}))])
}

fn question(id: &str) -> Step {
    let input = json!({"question": "Which runtime?", "choices": ["tokio", "smol"]});
    Step::calls(vec![call(id, "ask_user", input)])
}

#[test]
fn continue_goes_on_with_what_was_read_before_a_cap() {
    let (workspace, model) = bench(vec![
        reads("toolu_1"),
        Step::text("It returns 7."),
        Step::text("Seven."),
    ]);
    workspace.configure("model = 'anthropic/claude-sonnet-4-5'\n[turn]\nmaxRounds = 1\n");
    let mut client = Client::start(&workspace, &model, None);
    let end = client.prompt(text("what does load return?"));
    assert_eq!(end["result"]["stopReason"], "max_turn_requests", "{end}");
    assert!(
        client.said().contains("Write \"continue\" below"),
        "{}",
        client.said()
    );
    let end = client.prompt(text("continue"));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    let asked = last(&model);
    let told = results(&asked);
    assert!(
        told.len() == 1 && told[0].1.contains("pub fn load"),
        "{told:?}"
    );
    assert!(
        asked
            .prompt()
            .contains("This turn had stopped and goes on now")
    );
    // What is over is over.
    client.prompt(text("sure?"));
    let asked = last(&model);
    assert!(results(&asked).is_empty() && asked.prompt().contains("AGENT: It returns 7."));
}

#[test]
fn the_answer_to_a_question_is_its_result_in_another_process_too() {
    let (workspace, model) = bench(vec![question("toolu_1"), Step::text("Took smol.")]);
    let mut first = Client::start(&workspace, &model, None);
    let end = first.prompt(text("which runtime do we take?"));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    assert!(first.said().contains("Which runtime?"), "{}", first.said());
    let session = first.session.clone();
    drop(first);
    let mut again = Client::hello(&workspace, &model, None);
    let load = json!({"cwd": workspace.root(), "sessionId": session, "mcpServers": []});
    let loaded: Value = again.request("session/load", load);
    assert!(loaded["result"].is_object(), "{loaded}");
    again.session = session;
    again.prompt(text("smol"));
    let told = results(&last(&model));
    assert_eq!(told[0].1, "The author answered: smol", "{told:?}");
}

#[test]
fn two_questions_may_have_the_same_answer() {
    let (workspace, model) = bench(vec![
        question("toolu_1"),
        question("toolu_2"),
        Step::text("Took smol, twice."),
    ]);
    let mut client = Client::start(&workspace, &model, None);
    client.prompt(text("which runtimes do we take?"));
    for call in ["toolu_1", "toolu_2"] {
        client.prompt(text("smol"));
        let told = results(&last(&model));
        let answered = (call.to_owned(), String::from("The author answered: smol"));
        assert_eq!(told, [answered]);
    }
}

#[test]
fn a_turn_that_failed_goes_on_and_one_that_was_cancelled_does_not() {
    let (workspace, model) = bench(vec![
        reads("toolu_1"),
        Step::error(400, "invalid_request_error", "no such thing"),
        reads("toolu_2"),
        Step::text("never").stall(0),
        Step::text("Seven."),
    ]);
    let mut client = Client::start(&workspace, &model, None);
    let failed = client.prompt(text("what does load return?"));
    assert!(failed["error"].is_object(), "{failed}");
    let session = client.session.clone();
    let again = json!({"sessionId": session, "prompt": text("try again")});
    let id = client.ask("session/prompt", again);
    model.wait_for_requests(4);
    assert_eq!(results(&model.requests()[2])[0].0, "toolu_1");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}});
    client.send(&cancel);
    assert_eq!(client.answer(id)["result"]["stopReason"], "cancelled");
    client.prompt(text("what does load return, then?"));
    assert!(results(&last(&model)).is_empty());
}

/// A workspace with a thread, and the prompt that names it.
fn threaded(script: Vec<Step>, settings: &str) -> (Workspace, Model, Value) {
    let (workspace, model) = bench(script);
    workspace.write(FILE, format!("{THREAD}{CODE}"));
    workspace.configure(&format!(
        "model = 'anthropic/claude-sonnet-4-5'\n{settings}"
    ));
    let (_, threads, _) = cli(&workspace, &["threads", "--json"]);
    let threads: Value = serde_json::from_str(&threads).expect("threads");
    let id = threads["threads"][0]["id"].as_str().expect("an id");
    let prompt = text(&format!("answer {id}"));
    (workspace, model, prompt)
}

#[test]
fn continue_goes_on_with_a_thread_that_paused() {
    let script = vec![
        reads("toolu_1"),
        reads("toolu_2"),
        Step::text("It returns 7."),
    ];
    let (workspace, model, prompt) = threaded(script, "[turn]\nmaxRounds = 1\n");
    let mut client = Client::start(&workspace, &model, None);
    let end = client.prompt(prompt);
    assert_eq!(end["result"]["stopReason"], "max_turn_requests", "{end}");
    // More than the word is written where the turn is.
    let end = client.prompt(text("continue, and look at load alone"));
    assert_eq!(end["result"]["stopReason"], "max_turn_requests", "{end}");
    assert!(
        last(&model)
            .prompt()
            .contains("The author wrote: continue, and look at load alone")
    );
    assert_eq!(results(&last(&model)).len(), 1);
    let file = workspace.read(FILE);
    assert!(
        file.contains("// AUTHOR: continue, and look at load alone\n"),
        "{file}"
    );
    // Another process knows of it, too.
    let window = client.session.clone();
    drop(client);
    let mut client = Client::hello(&workspace, &model, None);
    let params = json!({"sessionId": window, "cwd": workspace.root(), "mcpServers": []});
    client.request("session/load", params);
    client.session = window;
    let end = client.prompt(text("Continue."));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    let file = workspace.read(FILE);
    assert!(
        file.contains("// AGENT: It returns 7.\n") && !file.contains("Continue."),
        "{file}"
    );
    let said = client.said();
    assert!(
        said.ends_with("It returns 7.\n\n(It stands in src/net.rs as well.)"),
        "{said}"
    );
    // What is over is over.
    let before = workspace.read(FILE);
    client.prompt(text("continue"));
    assert_eq!(workspace.read(FILE), before);
}

#[test]
fn what_follows_a_threads_question_is_its_answer() {
    let script = vec![question("toolu_1"), Step::text("With tokio.")];
    let (workspace, model, prompt) = threaded(script, "");
    let mut client = Client::start(&workspace, &model, Some(&format!("{THREAD}{CODE}")));
    client.prompt(prompt);
    let end = client.prompt(text("tokio"));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    assert_eq!(
        results(&last(&model)),
        [(
            "toolu_1".to_owned(),
            "The author answered: tokio".to_owned()
        )]
    );
    // Through the editor, which has it unsaved.
    let buffer = client.buffer.clone().expect("a text");
    assert!(
        buffer.contains("// AUTHOR: tokio\n// AGENT: With tokio.\n"),
        "{buffer}"
    );
}

#[test]
fn a_thread_whose_turn_failed_goes_on_at_the_word_alone() {
    let fails = || Step::error(400, "invalid_request_error", "no such thing");
    let script = vec![
        reads("toolu_1"),
        fails(),
        fails(),
        Step::text("It returns 7."),
    ];
    let (workspace, model, prompt) = threaded(script, "");
    let mut client = Client::start(&workspace, &model, None);
    let end = client.prompt(prompt);
    assert!(end["error"].is_object(), "{end}");
    let end = client.prompt(text("Go on!"));
    assert!(end["error"].is_object(), "{end}");
    assert_eq!(results(&last(&model)).len(), 1);
    client.prompt(text("try again"));
    let file = workspace.read(FILE);
    let answered = format!("{THREAD}// AGENT: It returns 7.\n// AUTHOR:\n{CODE}");
    assert_eq!(file, answered);

    // What else is asked is a question of the window.
    let script = vec![fails(), Step::text("A word.")];
    let (workspace, model, prompt) = threaded(script, "");
    let mut client = Client::start(&workspace, &model, None);
    client.prompt(prompt);
    client.prompt(text("what is a key?"));
    assert!(client.said().ends_with("A word."), "{}", client.said());
    assert_eq!(workspace.read(FILE), format!("{THREAD}{CODE}"));
}
