//! More of one kind than there may be: projects than servers may run, bytes than are read, rounds of one question.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::bench::{Bench, at, limits, row};
use super::proxied::{at as here, log, start, told};
use crate::harness::{DEADLINE, Workspace};
use postil::children::{ChildError, Limits};
use postil::text::Encoding;

/// A file in each of so many projects, and room for two servers.
fn projects(count: usize) -> (Bench, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().canonicalize().unwrap().join("scripted.log");
    let mut row = row(
        "scripted",
        &log,
        json!({"on": {"textDocument/hover": "slow"}}),
    );
    row.root_markers = vec![String::from("mark")];
    let limits = Limits {
        max_children: 2,
        timeout: DEADLINE.as_secs(),
        ..limits()
    };
    let bench = Bench::with_rows(folder, vec![row], limits);
    let file = |n: usize| {
        bench.write(&format!("p{n}/mark"), "");
        bench.write(&format!("p{n}/a.scripted"), "def name\n")
    };
    let files = (0..count).map(file).collect();
    (bench, files)
}

#[tokio::test]
async fn one_that_is_asked_does_not_end_for_another() {
    let (bench, files) = projects(5);
    let asked = files.iter().map(|file| {
        let params = at(file, 0, 5);
        let (method, encoding) = ("textDocument/hover", Encoding::Utf16);
        let children = &bench.children;
        children.request(file, None, method, params, encoding, &bench.cancel)
    });
    for answer in futures::future::join_all(asked).await {
        answer.expect("an answer");
    }
    let begun = bench.log().iter().filter(|m| m["pid"].is_u64()).count();
    assert_eq!(begun, 5, "none is begun twice");
}

#[tokio::test]
async fn projects_that_are_not_asked_for_symbols_are_named_once() {
    let (bench, files) = projects(3);
    for _ in 0..2 {
        let query = json!({"query": "name"});
        let (method, encoding) = ("workspace/symbol", Encoding::Utf16);
        let found = bench
            .children
            .request_each(&files, method, &query, encoding, &bench.cancel)
            .await;
        assert_eq!(found.len(), 2);
    }
    let messages = bench.face.messages.lock().unwrap();
    let about = |text: &&String| text.contains("proxy.maxChildren");
    let said: Vec<&String> = messages.iter().filter(about).collect();
    assert_eq!(said.len(), 1, "{messages:?}");
    let left = bench.root.join("p2");
    assert!(said[0].contains(&*left.to_string_lossy()), "{said:?}");
}

#[tokio::test]
async fn an_answer_that_is_too_long_costs_one_question() {
    let bench = Bench::new(json!({"on": {"textDocument/definition": "large"}}));
    let path = bench.write("a.scripted", "def name\n");
    let pid = || async {
        let hover = bench.ask(&path, "textDocument/hover", 0, 5).await.unwrap();
        let told = hover["contents"]["value"].as_str().unwrap().to_owned();
        serde_json::from_str::<Value>(&told).unwrap()["pid"].clone()
    };
    let before = pid().await;
    let answer = bench.define(&path).await;
    assert!(
        matches!(answer, Err(ChildError::TooLarge(_, 33))),
        "{answer:?}"
    );
    assert_eq!(pid().await, before, "it lives");
    assert_eq!(bench.count("textDocument/definition"), 1);
}

#[tokio::test]
async fn the_progress_of_a_question_that_is_put_twice_is_told_once() {
    let bench = Bench::new(json!({}));
    let forward = |_: &str, _: Value| {};
    bench.children.set_forward(std::sync::Arc::new(forward));
    let path = bench.open("a.scripted", "scripted", 1, "def name\n");
    let mut params = at(&path, 0, 5);
    params["workDoneToken"] = json!("theirs");
    let (method, encoding) = ("textDocument/references", Encoding::Utf16);
    let children = &bench.children;
    let asked = children.request(&path, None, method, params, encoding, &bench.cancel);
    asked.await.unwrap();
    let log = bench.log();
    let asked = log.iter().filter(|m| m["method"] == method);
    let tokens: Vec<&Value> = asked.map(|m| &m["params"]["workDoneToken"]).collect();
    assert_eq!(tokens, [&json!("theirs"), &Value::Null]);
}

#[test]
fn symbols_that_lack_those_of_the_code_are_said_to() {
    let workspace = Workspace::new();
    let hangs = json!({"on": {"textDocument/documentSymbol": "hang"}});
    let mut editor = start(&workspace, &hangs, "timeout = 1\n");
    editor.open_text("a.rs", "rust", "// AUTHOR: why?\nfn load() {}\n");
    let params = json!({"textDocument": {"uri": editor.uri("a.rs")}});
    for _ in 0..2 {
        let symbols = editor.request("textDocument/documentSymbol", params.clone());
        let symbols = symbols.expect("the threads");
        assert_eq!(symbols.as_array().map(Vec::len), Some(1), "{symbols}");
    }
    editor.settle();
    let said = told(&editor);
    let about = |text: &&String| text.contains("symbols are missing");
    assert_eq!(said.iter().filter(about).count(), 1, "{said:?}");
}

#[test]
fn a_server_is_told_of_no_more_than_the_editor_can() {
    let workspace = Workspace::new();
    let mut editor = start(&workspace, &json!({}), "");
    editor.open_text("a.rs", "rust", "def load\n");
    let place = here(&editor, "a.rs", 5);
    editor
        .request("textDocument/definition", place)
        .expect("an answer");
    let log = log(&workspace);
    let begun = log.lines().find(|line| line.contains("\"initialize\""));
    let begun: Value = serde_json::from_str(begun.expect("begun")).expect("JSON");
    let features = &begun["params"]["capabilities"]["textDocument"];
    assert_eq!(features["definition"], json!({}), "this editor names none");
    assert!(features["hover"]["contentFormat"].is_array(), "{features}");
}
