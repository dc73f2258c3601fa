//! More of one kind than there may be: projects than servers may run, abilities than the editor has.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::bench::{Bench, at, limits, row};
use super::proxied::{at as here, log, start};
use crate::harness::{DEADLINE, Workspace};
use postil::children::Limits;
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
