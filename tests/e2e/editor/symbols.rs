//! Threads in the outline and the workspace's symbols, and folded.

use serde_json::{Value, json};

use super::CODE;
use crate::harness::{Editor, Options, Workspace};

#[test]
fn a_symbol_is_found_without_its_place_and_resolved_to_it() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    for number in 0..40 {
        workspace.write(
            &format!("src/{number}.py"),
            "# AUTHOR: why is this?\nx = 1\n".repeat(20),
        );
    }
    let ranges =
        json!({"workspace": {"symbol": {"resolveSupport": {"properties": ["location.range"]}}}});
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            capabilities: ranges,
            ..Options::default()
        },
    );
    assert_eq!(
        editor.capabilities["workspaceSymbolProvider"]["resolveProvider"],
        true
    );
    let found = editor
        .request("workspace/symbol", json!({"query": "what"}))
        .expect("symbols");
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found[0]["location"], json!({"uri": editor.uri("a.rs")}));
    // The file changed since.
    editor.open("a.rs");
    editor.splice("a.rs", 0..0, "// one\n\n");
    let resolved = editor
        .request("workspaceSymbol/resolve", found[0].clone())
        .expect("resolved");
    assert_eq!(resolved["name"], found[0]["name"]);
    assert_eq!(
        resolved["location"]["range"]["start"],
        json!({"line": 5, "character": 3})
    );
    let all = editor
        .request("workspace/symbol", json!({"query": ""}))
        .expect("symbols");
    assert_eq!(
        all.as_array().map(Vec::len),
        Some(500),
        "a list has its limit"
    );

    // A client that resolves nothing gets it whole.
    drop(editor);
    let mut editor = Editor::start(&workspace);
    assert_eq!(editor.capabilities["workspaceSymbolProvider"], true);
    let found = editor
        .request("workspace/symbol", json!({"query": "what"}))
        .expect("symbols");
    assert_eq!(
        found[0]["location"]["range"]["start"],
        json!({"line": 3, "character": 3})
    );
}

#[test]
fn threads_and_long_messages_fold_as_the_client_can() {
    let workspace = Workspace::new();
    let text = "fn a() {}\n// AUTHOR: why?\n// AGENT: For\n//   three\n//   reasons.\n// AUTHOR:\nfn b() {}\n// AUTHOR: one\nfn c() {}\n// AUTHOR: two\n//   lines\nfn d() {}\n";
    workspace.write("a.rs", text);
    let fold = |folding: Value| {
        let capabilities = json!({"textDocument": {"foldingRange": folding}});
        let mut editor = Editor::start_with(
            &workspace,
            Options {
                capabilities,
                ..Options::default()
            },
        );
        editor.open("a.rs");
        let document = json!({"textDocument": {"uri": editor.uri("a.rs")}});
        editor
            .request("textDocument/foldingRange", document)
            .expect("folds")
    };
    assert_eq!(
        fold(json!({"lineFoldingOnly": true})),
        json!([
            {"startLine": 1, "endLine": 5, "kind": "comment"},
            {"startLine": 2, "endLine": 4, "kind": "comment"},
            {"startLine": 9, "endLine": 10, "kind": "comment"},
        ])
    );
    let limited = fold(json!({"lineFoldingOnly": true, "rangeLimit": 1}));
    assert_eq!(
        (limited.as_array().map(Vec::len), &limited[0]["startLine"]),
        (Some(1), &json!(1))
    );
    assert_eq!(fold(json!({"rangeLimit": 0})), json!([]));
    let exact = fold(json!({"foldingRange": {"collapsedText": true}}));
    assert_eq!(
        exact[0],
        json!({"startLine": 1, "startCharacter": 15, "endLine": 5, "endCharacter": 10, "kind": "comment", "collapsedText": "answered: why?"})
    );
    let announced = |capabilities: Value| {
        let options = Options {
            capabilities,
            ..Options::default()
        };
        Editor::start_with(&workspace, options).capabilities["foldingRangeProvider"].clone()
    };
    assert_eq!(announced(json!({})), Value::Null);
    assert_eq!(
        announced(json!({"textDocument": {"foldingRange": {}}})),
        true
    );
}
