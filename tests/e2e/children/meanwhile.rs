//! What changes while a language server is waited for: the text that was asked about, its settings.

use serde_json::{Value, json};

use super::bench::Bench;
use super::proxied::{at, configured, log, start};
use crate::harness::{Editor, Workspace, wait_until};
use postil::children::ChildError;
use postil::text::apply_edits;

const TEXT: &str = "def first\ndef second\nfirst second // AUTHOR: is `second` right?\n";
const RENAME: &str = "textDocument/rename";
const CONTENT_MODIFIED: i64 = -32801;

/// A place of `second`, with what any of the methods takes.
fn second(editor: &Editor, at_byte: usize) -> Value {
    let mut params = at(editor, "a.rs", at_byte);
    params["newName"] = json!("other");
    params["context"] = json!({"includeDeclaration": true});
    params
}

#[test]
fn a_place_in_an_older_text_is_none_in_the_newer_one() {
    let workspace = Workspace::new();
    let slow = json!({"on": {"initialize": "slow"}, "slow": 1});
    let mut editor = start(&workspace, &slow, "");
    editor.open_text("a.rs", "rust", TEXT);
    let in_code = TEXT.find("second").expect("there");
    let in_thread = TEXT.rfind("second").expect("there");
    let mut asked = Vec::new();
    for method in ["textDocument/definition", "textDocument/references", RENAME] {
        for place in [in_code, in_thread] {
            let params = second(&editor, place);
            asked.push((method, place, editor.ask(method, params)));
        }
    }
    editor.splice("a.rs", 0..0, "use std::fmt;\n");
    for (method, place, id) in asked {
        let error = editor.answer(id).expect_err(method);
        assert_eq!(
            error["code"], CONTENT_MODIFIED,
            "{method} at {place}: {error}"
        );
    }
    let log = log(&workspace);
    assert!(!log.contains(RENAME), "the child was asked: {log}");

    let place = editor.text("a.rs").find("second").expect("there");
    let params = second(&editor, place);
    let renamed = editor.request(RENAME, params).expect("renamed");
    let edits = &renamed["changes"][editor.uri("a.rs")];
    assert_eq!(
        edits[0]["range"]["start"],
        json!({"line": 2, "character": 4})
    );
}

#[test]
fn a_rename_is_of_the_text_that_the_editor_has_when_it_comes() {
    let workspace = Workspace::new();
    let mut editor = start(&workspace, &json!({"on": {RENAME: "slow"}}), "");
    editor.open_text("a.rs", "rust", TEXT);
    let params = second(&editor, TEXT.find("second").expect("there"));
    let asked = editor.ask(RENAME, params);
    wait_until("the child is asked", || log(&workspace).contains(RENAME));
    editor.splice("a.rs", 0..0, "use std::fmt;\n");
    let error = editor.answer(asked).expect_err("no edit of another text");
    assert_eq!(error["code"], CONTENT_MODIFIED, "{error}");
}

/// The change follows on the wire at once, whatever the child is at.
#[test]
fn a_change_right_behind_a_question_is_not_what_was_asked_about() {
    let workspace = Workspace::new();
    let mut editor = start(&workspace, &json!({}), "");
    editor.open_text("a.rs", "rust", "def target\ntarget\n");
    let place = at(&editor, "a.rs", "def target\nt".len());
    for round in 0..100 {
        let asked = editor.ask("textDocument/definition", place.clone());
        editor.replace("a.rs", "\ntarget", "\nother");
        match editor.answer(asked) {
            // Of the text before, where `target` stood.
            Ok(found) => assert!(found[0].is_object(), "round {round}: {found}"),
            Err(error) => assert_eq!(error["code"], CONTENT_MODIFIED, "{error}"),
        }
        editor.replace("a.rs", "\nother", "\ntarget");
    }
}

#[tokio::test]
async fn the_agents_question_finds_its_place_again() {
    for (after, renamed) in [
        (
            "new\ndef first\ndef second\n",
            Some("new\ndef first\ndef other\n"),
        ),
        ("def first\n", None),
    ] {
        let bench = Bench::new(json!({"on": {"initialize": "slow"}}));
        let before = "def first\ndef second\n";
        let a = bench.open("a.scripted", "scripted", 1, before);
        let offset = before.find("second").unwrap();
        let change = async {
            bench.logged("its start", |log| !log.is_empty()).await;
            bench.change(&a, 2, after);
        };
        let rename = bench.children.rename(&a, offset, "other", &bench.cancel);
        let (edits, ()) = tokio::join!(rename, change);
        match (renamed, edits) {
            (Some(renamed), Ok(files)) => {
                assert_eq!(apply_edits(&files[0].text, &files[0].edits), renamed);
            }
            (None, Err(ChildError::Answered { message, .. })) => {
                assert!(message.contains("ask again"), "{message}");
            }
            (_, edits) => panic!("{after:?}: {edits:?}"),
        }
    }
}

#[test]
fn a_servers_new_options_reach_it() {
    let workspace = Workspace::new();
    let mut editor = start(&workspace, &json!({}), "");
    editor.open_text("a.rs", "rust", TEXT);
    let place = at(&editor, "a.rs", 5);
    let mut asked = |options: &str, more: &str| {
        let settings = std::fs::read_to_string(workspace.config_file()).expect("settings");
        let rows = settings.split(['\n']).take(4);
        let rows: Vec<&str> = rows.collect();
        let rows = rows.join("\n");
        let proxy = format!("[proxy]\nmode = 'always'\n{more}");
        workspace.configure(&format!("{rows}\n{options}\n{proxy}"));
        let told = editor.request("textDocument/hover", place.clone());
        let told = told.expect("an answer")["contents"]["value"].clone();
        let told: Value = serde_json::from_str(told.as_str().expect("text")).expect("JSON");
        told["pid"].as_u64().expect("its process")
    };
    let first = asked("", "");
    assert_eq!(asked("", "timeout = 20\n"), first, "nothing of its own");
    let second = asked("initializationOptions = { answer = 42 }", "");
    assert_ne!(second, first);
    let log = log(&workspace);
    let last = log.lines().rfind(|line| line.contains("\"initialize\""));
    let last: Value = serde_json::from_str(last.expect("begun")).expect("JSON");
    assert_eq!(
        last["params"]["initializationOptions"],
        json!({"answer": 42})
    );
    wait_until("the first one ends", || workspace.children().len() == 1);
}

#[test]
fn a_linter_of_a_language_does_not_take_the_place_of_its_server() {
    let workspace = Workspace::new();
    let linter = json!({"on": {"textDocument/definition": "unknown"}});
    workspace.script_child_of("a_linter", "rs", &linter);
    let first = std::fs::read_to_string(workspace.config_file()).expect("settings");
    workspace.script_child_of("rust", "rs", &json!({}));
    let second = std::fs::read_to_string(workspace.config_file()).expect("settings");
    workspace.configure(&format!("{first}\n{second}"));
    let mut editor = configured(&workspace, "");
    editor.open_text("a.rs", "rust", TEXT);
    let place = at(&editor, "a.rs", 5);
    let found = editor.request("textDocument/definition", place);
    let found = found.expect("an answer");
    assert!(found[0].is_object(), "{found}");
}

#[test]
fn a_file_that_was_moved_is_new_by_its_name() {
    let workspace = Workspace::new();
    let old = workspace.write("old_name.rs", "def first\n");
    let mut editor = start(&workspace, &json!({}), "");
    editor.open_text("a.rs", "rust", TEXT);
    let place = at(&editor, "a.rs", 5);
    editor
        .request("textDocument/definition", place)
        .expect("it runs");
    std::fs::rename(&old, workspace.path("new_name.rs")).expect("moved");
    let changes = json!([
        {"uri": editor.uri("old_name.rs"), "type": 3},
        {"uri": editor.uri("new_name.rs"), "type": 1},
    ]);
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": changes}),
    );
    let told = || -> Vec<Value> {
        let log = log(&workspace);
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let of_files = |m: &Value| m["method"] == "workspace/didChangeWatchedFiles";
        let told = lines.filter(of_files);
        told.flat_map(|m| {
            m["params"]["changes"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        })
        .filter(|change| change["uri"] == editor.uri("new_name.rs"))
        .collect()
    };
    wait_until("the child is told", || !told().is_empty());
    assert_eq!(told()[0]["type"], 1);
}
