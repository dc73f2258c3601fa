//! The tool `lsp`, on the scripted language server.

use super::*;
use crate::children::Row;

fn bench(options: Value) -> Bench {
    let mut b = Bench::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/child.py");
    let row = Row {
        language: String::from("scripted"),
        command: String::from("python3"),
        args: vec![script.to_owned(), options.to_string()],
        extensions: vec![String::from("scripted")],
        root_markers: Vec::new(),
        initialization_options: Value::Null,
        env: Vec::new(),
        install: String::from("install python3"),
    };
    let limits = Limits {
        timeout: 10,
        max_children: 2,
        idle: 60,
    };
    b.cx.children = Children::new(vec![row], limits, b.desk.buffers.clone());
    b.cx.children.set_trusted(vec![b.root.clone()]);
    b.write("a.scripted", "😀 name\n  name BAD\n");
    b.write("sub/b.scripted", "\n\té def name\n");
    b
}

fn at(action: &str, line: u32, column: u32) -> Value {
    json!({"action": action, "file": "a.scripted", "line": line, "column": column})
}

#[tokio::test]
async fn lsp_shows_no_text_of_a_file_outside_the_workspace() {
    let library = tempfile::tempdir().unwrap();
    let folder = library.path().canonicalize().unwrap();
    let file = folder.join("x.scripted");
    std::fs::write(&file, "password def hidden\n").unwrap();
    let b = bench(json!({"library": folder}));
    // Nor over a link that lies inside.
    std::os::unix::fs::symlink(&file, b.root.join("link.scripted")).unwrap();
    b.write("a.scripted", "hidden\n");
    let file = file.display();
    let outside = format!("{file}:1:14: \n");
    assert_eq!(b.ok("lsp", at("definition", 1, 1)).await, outside);
    let all = format!("{outside}a.scripted:1:1: hidden\n");
    let mut told: Vec<String> = b
        .ok("lsp", at("references", 1, 1))
        .await
        .lines()
        .map(str::to_owned)
        .collect();
    told.sort();
    let mut expected: Vec<&str> = all.lines().collect();
    expected.sort_unstable();
    assert_eq!(told, expected);
    let mut rename = at("rename", 1, 1);
    rename["new_name"] = json!("other");
    let renamed = b.ok("lsp", rename).await;
    has(&renamed, &format!("{file}:1:14: `` -> `other`"));
    has(&renamed, "a.scripted:1:1: `hidden` -> `other`");
}

#[tokio::test]
async fn lsp_answers_in_lines() {
    let b = bench(json!({}));
    assert_eq!(
        b.ok("lsp", at("definition", 1, 6)).await,
        "sub/b.scripted:2:9: é def name\n"
    );
    assert_eq!(
        b.ok("lsp", at("references", 2, 3)).await,
        "a.scripted:1:6: 😀 name\na.scripted:2:3: name BAD\nsub/b.scripted:2:9: é def name\n"
    );
    assert_eq!(
        b.ok(
            "lsp",
            json!({"action": "diagnostics", "file": "a.scripted"})
        )
        .await,
        "a.scripted:2:8: error: found\n"
    );
    assert_eq!(
        b.ok(
            "lsp",
            json!({"action": "symbols", "file": "sub/b.scripted"})
        )
        .await,
        "sub/b.scripted:2:9: function outer\n"
    );
    assert_eq!(
        b.ok(
            "lsp",
            json!({"action": "workspace_symbol", "language": "scripted", "query": "name"})
        )
        .await,
        "sub/b.scripted:2:9: class name in c\n"
    );
    assert_eq!(
        b.ok(
            "lsp",
            json!({"action": "workspace_symbol", "language": "scripted", "query": "name", "file": ""})
        )
        .await,
        "sub/b.scripted:2:9: class name in c\n"
    );
    has(&b.ok("lsp", at("hover", 1, 6)).await, "\"pid\"");
    assert_eq!(
        b.ok("lsp", at("implementation", 1, 6)).await,
        "No implementation found of what stands at a.scripted:1:6."
    );
    let mut rename = at("rename", 1, 6);
    rename["new_name"] = json!("other");
    assert_eq!(
        b.ok("lsp", rename).await,
        "3 edits in 2 files make it `other`; none is made yet:\n\
         a.scripted:1:6: `name` -> `other`\na.scripted:2:3: `name` -> `other`\nsub/b.scripted:2:9: `name` -> `other`\n"
    );
    assert_eq!(b.disk("a.scripted"), "😀 name\n  name BAD\n");
}

#[tokio::test]
async fn lsp_names_the_field_that_is_missing() {
    let b = bench(json!({}));
    let whole = at("definition", 1, 6);
    for field in ["file", "line", "column"] {
        for action in ["definition", "references", "hover", "implementation"] {
            let mut input = whole.clone();
            input["action"] = json!(action);
            input.as_object_mut().unwrap().remove(field);
            let error = b.err("lsp", input).await;
            has(
                &error,
                &format!("`{field}` is missing, which {action} needs"),
            );
        }
    }
    has(
        &b.err("lsp", json!({"action": "symbols"})).await,
        "`file` is missing",
    );
    has(
        &b.err("lsp", json!({"action": "workspace_symbol", "query": "x"}))
            .await,
        "`language` is missing",
    );
    has(
        &b.err(
            "lsp",
            json!({"action": "workspace_symbol", "language": "go"}),
        )
        .await,
        "`query` is missing",
    );
    has(&b.err("lsp", at("rename", 1, 1)).await, "`new_name`");
    has(&b.err("lsp", at("definition", 0, 1)).await, "counts from 1");
    has(
        &b.err("lsp", at("definition", 99, 1)).await,
        "there is no line 99",
    );
    has(&b.err("lsp", json!({"file": "a.scripted"})).await, "action");
    has(
        &b.err("lsp", json!({"action": "symbols", "file": "../x"}))
            .await,
        "outside the workspace",
    );
}

#[tokio::test]
async fn lsp_says_why_there_is_no_answer() {
    let mut b = bench(json!({"on": {"textDocument/definition": "error"}}));
    has(&b.err("lsp", at("definition", 1, 6)).await, "no");
    b.write("x.unknown", "x");
    has(
        &b.err("lsp", json!({"action": "symbols", "file": "x.unknown"}))
            .await,
        "no language server is known for .unknown",
    );
    b.cx.trusted = false;
    has(&b.err("lsp", at("definition", 1, 6)).await, "not trusted");
}
