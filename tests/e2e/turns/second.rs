//! Other heads: a second opinion, another agent in the thread, plans, all threads at once.

use serde_json::{Value, json};

use super::{Bench, CODE, FILE, THREAD, read, rename, take_when_offered};
use crate::harness::{Editor, Options};
use crate::model::{Step, call};

const CONSULT: &str = "[turn]\nconsult = 'anthropic/claude-second'\n";

#[test]
fn a_second_opinion_goes_to_the_author_and_into_the_run() {
    let summary = json!({"summary": "I renamed load to load_data. Right?"});
    let bench = Bench::new(vec![
        Step::calls(vec![call("toolu_1", "consult", summary)]),
        Step::text("It should stay a noun."),
        Step::text("Done."),
        Step::text("I would have left it."),
    ]);
    bench.workspace.configure(CONSULT);
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_saying(
        "window/showMessage",
        "claude-second: It should stay a noun.",
    );
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    let asked = bench.model.requests();
    assert_eq!(asked[1].body["model"], "claude-second");
    assert!(
        asked[1].body["tools"].as_array().is_none_or(Vec::is_empty),
        "{}",
        asked[1].body
    );
    assert_eq!(asked[1].body["messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(asked[2].results()[0].1, "Second opinion delivered to user.");
    // By hand, on the answered thread.
    editor.wait_codes(FILE, &["awaiting_user"]);
    take_when_offered(&mut editor, "Ask for a second opinion");
    editor.wait_saying("window/showMessage", "I would have left it.");
    assert!(
        !editor.text(FILE).contains("left it"),
        "the thread is not its place"
    );
    let run = bench.wait_status("completed");
    let (_, page, _) = bench.cli(&["workflow", "thread", run["id"].as_str().unwrap()]);
    assert!(
        page.contains("second_opinion") && page.contains("I would have left it."),
        "{page}"
    );
}

#[test]
fn what_a_second_opinion_takes_counts_towards_the_limits_of_the_turn() {
    let bench = Bench::new(vec![
        Step::calls(vec![call(
            "toolu_1",
            "consult",
            json!({"summary": "Right?"}),
        )]),
        Step::text("Yes."),
        Step::text("Done."),
    ]);
    // Each answer takes 1020.
    bench
        .workspace
        .configure(&format!("{CONSULT}maxTokens = 1500\n"));
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("of 1.5k tokens a turn"));
    assert_eq!(bench.model.requests().len(), 2);
}

#[test]
fn without_a_second_model_no_opinion_is_offered() {
    let bench = Bench::new(vec![Step::text("Done.")]);
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_codes(FILE, &["awaiting_user"]);
    let names: Vec<Value> = bench.model.requests()[0].body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    assert!(
        names.contains(&json!("ask_user")) && !names.contains(&json!("consult")),
        "{names:?}"
    );
    let titles = editor.code_actions(FILE, 0);
    let offered = |title: &str| titles.iter().any(|action| action["title"] == title);
    assert!(
        !offered("Ask for a second opinion")
            && !titles.iter().any(|a| a["title"]
                .as_str()
                .is_some_and(|t| t.starts_with("Ask another"))),
        "{titles:?}"
    );
    assert!(
        !offered("Continue") && !offered("Reply as agent"),
        "{titles:?}"
    );
}

#[test]
fn another_agent_answers_in_the_same_thread_with_the_first_ones_diff() {
    let bench = Bench::new(vec![
        read(),
        rename(),
        Step::text("Renamed."),
        rename(),
        Step::text("The callers are missing."),
    ]);
    bench.workspace.configure(CONSULT);
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_codes(FILE, &["awaiting_user"]);
    bench.wait_status("completed");
    take_when_offered(&mut editor, "Ask another agent: anthropic/claude-second");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT(claude-second):"));
    assert!(
        text.starts_with(&format!(
            "{THREAD}// AGENT: Renamed.\n// AGENT(claude-second): The callers are missing.\n// AUTHOR:\npub fn load_data()"
        )),
        "{text}"
    );
    let asked = bench.model.requests();
    assert_eq!(asked[3].body["model"], "claude-second");
    let told = asked[3].prompt();
    assert!(
        told.contains("-pub fn load() -> u32 {")
            && told.contains("+pub fn load_data() -> u32 {")
            && told.contains("Another agent has answered"),
        "{told}"
    );
    // It gives its view; the author decides.
    assert!(asked[4].results()[0].2, "{:?}", asked[4].results());
}

#[test]
fn another_model_that_a_repository_names_is_offered_once_its_folder_is_trusted() {
    let bench = Bench::new(vec![Step::text("Seven.")]);
    bench
        .workspace
        .write("postil.toml", "model = \"anthropic/claude-theirs\"\n");
    let answered = format!("{THREAD}// AGENT: Seven.\n// AUTHOR:\n{CODE}");
    bench.workspace.write(FILE, answered);
    let options = Options {
        env: bench.env(),
        ..Options::default()
    };
    let mut editor = Editor::start_with(&bench.workspace, options);
    editor.open(FILE);
    editor.wait_codes(FILE, &["awaiting_user"]);
    let offered = |editor: &mut Editor| {
        let actions = editor.code_actions(FILE, 0);
        let titles = actions.iter().filter_map(|action| action["title"].as_str());
        let others = titles.filter(|title| title.starts_with("Ask another agent"));
        others.map(str::to_owned).collect::<Vec<_>>()
    };
    let model = "Ask another agent: anthropic/claude-theirs";
    let before = offered(&mut editor);
    assert!(!before.iter().any(|title| title == model), "{before:?}");
    let trusted = editor.command("postil.trust", json!({"uri": editor.uri(FILE)}));
    trusted.expect("it is trusted");
    let now = offered(&mut editor);
    assert!(now.iter().any(|title| title == model), "{now:?}");
}

#[test]
fn another_agent_is_asked_from_the_command_line() {
    let bench = Bench::new(vec![
        Step::text("Seven."),
        Step::text("Seven, I think too."),
    ]);
    bench.workspace.write(FILE, format!("{THREAD}{CODE}"));
    assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
    let thread = {
        let (_, out, _) = bench.cli(&["threads", "--json"]);
        let list: Value = serde_json::from_str(&out).expect("JSON");
        list["threads"][0]["id"].as_str().unwrap().to_owned()
    };
    let (code, _, err) = bench.cli(&[
        "reply",
        &thread,
        "--another",
        "--model",
        "anthropic/claude-x",
    ]);
    assert_eq!(code, Some(1), "nobody has answered yet");
    assert!(err.contains("ask an agent first"), "{err}");
    assert_eq!(bench.cli(&["reply", &thread, "--yes"]).0, Some(0));
    let (code, out, err) = bench.cli(&["reply", &thread, "--another"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(err.contains("no other agent is configured"), "{err}");
    let (code, out, err) = bench.cli(&[
        "reply",
        &thread,
        "--another",
        "--model",
        "anthropic/claude-x",
        "--yes",
    ]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        bench
            .workspace
            .read(FILE)
            .contains("// AGENT: Seven.\n// AGENT(claude-x): Seven, I think too.\n")
    );
}

#[test]
fn a_second_opinion_is_asked_for_on_the_command_line() {
    let bench = Bench::new(vec![Step::text("Keep the short name.")]);
    bench.workspace.configure(CONSULT);
    let text = format!("{THREAD}{CODE}");
    bench.workspace.write(FILE, &text);
    let (_, out, _) = bench.cli(&["threads", "--json"]);
    let threads: Value = serde_json::from_str(&out).expect("threads");
    let id = threads["threads"][0]["id"].as_str().expect("an id");
    let (code, out, err) = bench.cli(&["consult", id, "--json"]);
    assert_eq!(code, Some(0), "{out}{err}");
    let said: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(said["text"], "Keep the short name.");
    assert_eq!(said["model"], "anthropic/claude-second");
    let (_, page, _) = bench.cli(&["workflow", "thread", said["run_id"].as_str().unwrap()]);
    assert!(page.contains("Keep the short name."), "{page}");
    assert_eq!(bench.workspace.read(FILE), text);
    // Who is no model, and who is not there.
    let (code, _, err) = bench.cli(&["consult", id, "--model", "offline"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("is no model"), "{err}");
    assert_eq!(bench.cli(&["consult", "ffffffff"]).0, Some(1));
}
