//! Two turns that want the same thing of the author: each says that it waits, and one answer is for both where it
//! covers both.

use serde_json::{Value, json};

use super::{Bench, CODE, FILE};
use crate::harness::{Editor, NEVER, Options, frame};
use crate::model::{Step, call};

const OTHER: &str = "src/other.rs";
const QUESTION: &str = "window/showMessageRequest";
const WAITS: &str = "waits for your answer";

/// Two turns that want to write one file; both wait for the author.
fn bench() -> (Bench, Editor) {
    let write = || {
        let input = json!({"path": "docs/a.md", "content": "x\n"});
        Step::calls(vec![call("toolu_1", "file_write", input)])
    };
    let script = vec![write(), write(), Step::text("Done."), Step::text("Done.")];
    let bench = Bench::new(script);
    bench
        .workspace
        .configure("[permissions]\ndefault = \"ask\"\n");
    bench.workspace.write(OTHER, CODE);
    let mut editor = bench.editor(true);
    editor.state().choices = vec![NEVER.to_owned()];
    for (number, file) in [FILE, OTHER].into_iter().enumerate() {
        editor.open(file);
        editor.splice(file, 0..0, "// AUTHOR: write it?\n");
        editor.wait_codes(file, &["pending"]);
        editor
            .take_action(file, 0, "Reply as agent")
            .expect("the turn starts");
        bench.model.wait_for_requests(number + 1);
    }
    for file in [FILE, OTHER] {
        until_told(&mut editor, file);
    }
    (bench, editor)
}

/// The lens and the hover say that the turn waits.
fn until_told(editor: &mut Editor, file: &str) {
    let document = json!({"textDocument": {"uri": editor.uri(file)}});
    let mut told = 0;
    loop {
        let lenses = editor.request("textDocument/codeLens", document.clone());
        let title = &lenses.expect("lenses")[0]["command"]["title"];
        if title.as_str().is_some_and(|title| title.contains(WAITS)) {
            break;
        }
        // Each step of a turn is told; the next one is waited for.
        told = editor.wait_for("a step of a turn", |state| {
            let steps = state
                .received
                .iter()
                .filter(|m| m["method"] == "$/progress");
            Some(steps.count()).filter(|steps| *steps > told)
        });
    }
    let mut at = document;
    at["position"] = json!({"line": 0, "character": 12});
    let hover = editor.request("textDocument/hover", at).expect("a hover");
    let said = hover["contents"]["value"].as_str().unwrap_or_default();
    assert!(said.contains(&format!("running: {WAITS}")), "{said}");
}

fn questions(editor: &Editor) -> Vec<Value> {
    let state = editor.state();
    let asked = state.received.iter().filter(|m| m["method"] == QUESTION);
    asked.map(|question| question["id"].clone()).collect()
}

fn answer(editor: &Editor, id: &Value, title: &str) {
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"title": title}});
    editor.send_raw(&frame(&answer));
}

/// Both turns end; what the model heard of the two calls.
fn heard(bench: &Bench, editor: &Editor) -> Vec<String> {
    for file in [FILE, OTHER] {
        editor.wait_text(file, |text| text.contains("AGENT: Done."));
    }
    let asked = bench.model.wait_for_requests(4);
    let last = asked.iter().skip(2);
    last.map(|asked| asked.body["messages"].to_string())
        .collect()
}

#[test]
fn one_answer_for_the_workspace_is_for_both() {
    let (bench, editor) = bench();
    let [id] = &questions(&editor)[..] else {
        panic!("one question: {:?}", questions(&editor));
    };
    answer(&editor, id, "Allow in this workspace");
    let heard = heard(&bench, &editor);
    assert!(
        heard
            .iter()
            .all(|text| !text.contains("refused: The agent")),
        "{heard:?}"
    );
    assert_eq!(questions(&editor).len(), 1);
    assert_eq!(bench.workspace.read("docs/a.md"), "x\n");
}

#[test]
fn what_is_allowed_once_is_asked_again_for_the_other() {
    let (bench, editor) = bench();
    answer(&editor, &questions(&editor)[0], "Allow once");
    let second = editor.wait_for("the other's question", |state| {
        let mut asked = state.received.iter().filter(|m| m["method"] == QUESTION);
        asked.nth(1).map(|question| question["id"].clone())
    });
    answer(&editor, &second, "Refuse");
    let heard = heard(&bench, &editor);
    let refused = |text: &&String| text.contains("The author refused");
    assert_eq!(heard.iter().filter(refused).count(), 1, "{heard:?}");
    assert_eq!(bench.workspace.read("docs/a.md"), "x\n");
}

#[test]
fn a_refusal_is_for_both() {
    let (bench, editor) = bench();
    answer(&editor, &questions(&editor)[0], "Refuse");
    let heard = heard(&bench, &editor);
    assert!(
        heard.iter().all(|text| text.contains("The author refused")),
        "{heard:?}"
    );
    assert_eq!(questions(&editor).len(), 1);
    assert!(!bench.workspace.path("docs").exists());
}

/// Answers the question of this number, from one; what was asked.
fn answer_next(editor: &mut Editor, number: usize, title: &str) -> String {
    let (id, asked) = editor.wait_for("the question", |state| {
        let mut asked = state.received.iter().filter(|m| m["method"] == QUESTION);
        let question = asked.nth(number - 1)?;
        Some((
            question["id"].clone(),
            question["params"]["message"].to_string(),
        ))
    });
    answer(editor, &id, title);
    asked
}

#[test]
fn one_word_is_for_all_threads_of_a_file_that_came_with_it() {
    // More than run at once.
    const TURNS: usize = 6;
    for (title, may_edit) in [("Allow edits", true), ("Read-only", false)] {
        let bench = Bench::new((0..TURNS).map(|_| Step::text("Yes.")).collect());
        let threads: String = (0..TURNS)
            .map(|number| format!("// AUTHOR: why {number}?\nfn f{number}() {{}}\n\n"))
            .collect();
        bench.workspace.write(FILE, &threads);
        let mut editor = Editor::start_with(
            &bench.workspace,
            Options {
                env: bench.env(),
                initialization_options: json!({}),
                ..Options::default()
            },
        );
        editor.open(FILE);
        editor.wait_codes(FILE, &["pending"; TURNS]);
        editor.state().choices = vec![NEVER.to_owned()];
        editor
            .command("postil.replyAll", json!({"ask": false}))
            .expect("they begin");
        answer_next(&mut editor, 1, "Trust this workspace");
        let asked = answer_next(&mut editor, 2, title);
        let wanted = format!("{TURNS} threads of {FILE} have messages that were not typed here");
        assert!(asked.contains(&wanted), "{asked}");
        editor.wait_text(FILE, |text| text.matches("AGENT: Yes.").count() == TURNS);
        let state = editor.state();
        let questions = state.received.iter().filter(|m| m["method"] == QUESTION);
        assert_eq!(questions.count(), 2, "one for all");
        drop(state);
        for asked in bench.model.requests() {
            let tools = asked.body["tools"].to_string();
            assert_eq!(tools.contains("file_edit"), may_edit, "{title}: {tools}");
        }
    }
}

/// The first is ready to ask before the last is begun.
#[test]
fn one_word_is_for_all_in_a_trusted_folder_too() {
    const TURNS: usize = 5;
    let bench = Bench::new((0..TURNS).map(|_| Step::text("Yes.")).collect());
    let threads: String = (0..TURNS)
        .map(|number| format!("// AUTHOR: why {number}?\nfn f{number}() {{}}\n\n"))
        .collect();
    bench.workspace.write(FILE, &threads);
    let mut editor = bench.editor(true);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending"; TURNS]);
    editor.state().choices = vec![NEVER.to_owned()];
    editor
        .command("postil.replyAll", json!({}))
        .expect("they begin");
    let asked = answer_next(&mut editor, 1, "Allow edits");
    let wanted = format!("{TURNS} threads of {FILE} have messages that were not typed here");
    assert!(asked.contains(&wanted), "{asked}");
    editor.wait_text(FILE, |text| text.matches("AGENT: Yes.").count() == TURNS);
}

#[test]
fn a_question_that_came_with_its_file_is_named_by_its_line() {
    let bench = Bench::new(vec![Step::text("Yes.")]);
    let text = "// AUTHOR: why one?\nfn one() {}\n\n// AUTHOR: why two?\nfn two() {}\n";
    bench.workspace.write(FILE, text);
    let mut editor = bench.editor(true);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending", "pending"]);
    editor.state().choices = vec![NEVER.to_owned()];
    editor
        .take_action(FILE, 3, "Reply as agent")
        .expect("the turn starts");
    let asked = answer_next(&mut editor, 1, "Allow edits");
    assert!(
        asked.contains(&format!("it came with {FILE}:4. Answer")),
        "{asked}"
    );
    editor.wait_text(FILE, |text| text.contains("AGENT: Yes."));
}

/// In a terminal, or by another command of the editor.
#[test]
fn a_turn_that_asks_for_trust_goes_on_once_the_folder_is_trusted() {
    let bench = Bench::new(vec![Step::text("Done.")]);
    let options = Options {
        env: bench.env(),
        ..Options::default()
    };
    let mut editor = Editor::start_with(&bench.workspace, options);
    editor.state().choices = vec![NEVER.to_owned()];
    editor.open(FILE);
    editor.splice(FILE, 0..0, "// AUTHOR: write it?\n");
    editor.wait_codes(FILE, &["pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_message(QUESTION, |_| true);
    assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    editor.wait_message("$/cancelRequest", |_| true);
}
