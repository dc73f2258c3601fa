//! What is offered while the author types: markers behind a leader, files and names inside a message.

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace};

/// What the client can take of completion.
fn capable(item: Value) -> Options {
    Options {
        capabilities: json!({"textDocument": {"completion": {"completionItem": item}}}),
        ..Options::default()
    }
}

/// Opens `marked`, whose `$0` is the cursor, and asks there by hand.
fn ask(editor: &mut Editor, path: &str, language: &str, marked: &str) -> Value {
    ask_as(editor, path, language, marked, &json!({"triggerKind": 1}))
}

/// The same with the key before the cursor, where a client asks by itself behind that.
fn ask_by_key(editor: &mut Editor, path: &str, language: &str, marked: &str) -> Value {
    let triggers = &editor.capabilities["completionProvider"]["triggerCharacters"];
    let before = marked.split("$0").next().unwrap_or_default();
    let key = json!(before.chars().next_back());
    if triggers.as_array().is_none_or(|all| !all.contains(&key)) {
        return Value::Null;
    }
    let context = json!({"triggerKind": 2, "triggerCharacter": key});
    ask_as(editor, path, language, marked, &context)
}

fn ask_as(editor: &mut Editor, path: &str, language: &str, marked: &str, context: &Value) -> Value {
    let at = marked.find("$0").expect("a cursor");
    editor.open_text(path, language, &marked.replace("$0", ""));
    let before = &marked[..at];
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default();
    let character = column.encode_utf16().count();
    let params = json!({"textDocument": {"uri": editor.uri(path)}, "position": {"line": line, "character": character}, "context": context});
    let answer = editor
        .request("textDocument/completion", params)
        .expect("completion is answered");
    editor.close(path);
    answer
}

fn labels(answer: &Value) -> Vec<&str> {
    answer["items"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .filter_map(|item| item["label"].as_str())
        .collect()
}

/// The text after the item with this label was taken.
fn taken(marked: &str, answer: &Value, label: &str) -> String {
    let text = marked.replace("$0", "");
    let item = answer["items"]
        .as_array()
        .expect("items")
        .iter()
        .find(|item| item["label"] == label)
        .unwrap_or_else(|| panic!("no {label} in {answer}"));
    let edit = &item["textEdit"];
    let range = &edit["range"];
    assert_eq!(range["start"]["line"], range["end"]["line"], "one line");
    let offset = |position: &Value| {
        let line = usize::try_from(position["line"].as_u64().expect("a line")).expect("small");
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let units = position["character"].as_u64().expect("a character");
        let mut seen = 0;
        let within = text[start..].char_indices().find(|(_, c)| {
            let here = seen;
            seen += c.len_utf16() as u64;
            here == units
        });
        start + within.map_or(text.len() - start, |(at, _)| at)
    };
    let (start, end) = (offset(&range["start"]), offset(&range["end"]));
    format!(
        "{}{}{}",
        &text[..start],
        edit["newText"].as_str().expect("a text"),
        &text[end..]
    )
}

#[test]
fn markers_are_offered_behind_a_leader_and_nowhere_else() {
    let workspace = Workspace::new();
    let mut editor = Editor::start_with(&workspace, capable(json!({})));
    let provider = &editor.capabilities["completionProvider"];
    assert_eq!(provider["resolveProvider"], true);
    assert!(
        provider["triggerCharacters"]
            .as_array()
            .is_some_and(|all| all.contains(&json!("@")))
    );

    for (path, language, marked, after) in [
        (
            "a.rs",
            "rust",
            "fn a() {}\n    // AU$0\nfn b() {}\n",
            "fn a() {}\n    // AUTHOR: \nfn b() {}\n",
        ),
        (
            "a.rs",
            "rust",
            "//$0\nfn b() {}\n",
            "// AUTHOR: \nfn b() {}\n",
        ),
        (
            "a.rs",
            "rust",
            "/* 😀 */ fn a() {} // aut$0",
            "/* 😀 */ fn a() {} // AUTHOR: ",
        ),
        (
            "a.py",
            "python",
            "x = 1\r\n# $0why?\r\n",
            "x = 1\r\n# AUTHOR: why?\r\n",
        ),
        ("a.c", "c", "/*\n * A$0\n */\n", "/*\n * AUTHOR: \n */\n"),
        ("a.html", "html", "<!-- A$0 -->\n", "<!-- AUTHOR:  -->\n"),
    ] {
        let answer = ask(&mut editor, path, language, marked);
        assert_eq!(labels(&answer), ["AUTHOR:"], "{marked}");
        assert_eq!(answer["isIncomplete"], false);
        assert_eq!(taken(marked, &answer, "AUTHOR:"), after, "{marked}");
    }
    for (path, language, marked) in [
        ("a.rs", "rust", "fn a() { A$0 }\n"),
        ("a.rs", "rust", "const A: &str = \"// A$0\";\n"),
        ("a.rs", "rust", "// Because A$0\nfn a() {}\n"),
        ("a.rs", "rust", "fn a() { let b = c @$0 }\n"),
        ("a.rs", "rust", "// mail me@$0\nfn a() {}\n"),
    ] {
        assert_eq!(
            ask(&mut editor, path, language, marked),
            Value::Null,
            "{marked}"
        );
    }
    // An answer by hand belongs below a question.
    let below = "// AUTHOR: why?\n// A$0\nfn a() {}\n";
    let answer = ask(&mut editor, "a.rs", "rust", below);
    assert_eq!(labels(&answer), ["AGENT:", "AUTHOR:"]);
    assert_eq!(
        taken(below, &answer, "AGENT:"),
        "// AUTHOR: why?\n// AGENT: \nfn a() {}\n"
    );
    let answered = "// AUTHOR: why?\n// AGENT: So.\n// A$0\nfn a() {}\n";
    assert_eq!(
        labels(&ask(&mut editor, "a.rs", "rust", answered)),
        ["AUTHOR:"]
    );
}

#[test]
fn a_leader_that_is_typed_opens_no_list_of_its_own_accord() {
    let workspace = Workspace::new();
    workspace.write("src/my-net.rs", "fn connect() {}\n");
    let mut editor = Editor::start_with(&workspace, capable(json!({})));
    // Enter, which takes what a list has first, is to begin a line.
    for (path, language, marked) in [
        ("a.rs", "rust", "// First\n//$0\n"),
        ("a.rs", "rust", "///$0\nfn a() {}\n"),
        ("a.py", "python", "#$0\nx = 1\n"),
        ("a.sql", "sql", "--$0\nselect 1;\n"),
        ("a.html", "html", "<!--$0 -->\n"),
    ] {
        let answer = ask_by_key(&mut editor, path, language, marked);
        assert_eq!(answer, Value::Null, "{marked}");
        let answer = ask(&mut editor, path, language, marked);
        assert_eq!(labels(&answer), ["AUTHOR:"], "{marked}");
    }
    for marked in [
        "// AUTHOR: like @$0\n",
        "// AUTHOR: like @src/$0\n",
        "// AUTHOR: like @src/my-$0\n",
    ] {
        let answer = ask_by_key(&mut editor, "a.rs", "rust", marked);
        assert_eq!(labels(&answer), ["@src/my-net.rs"], "{marked}");
    }
}

#[test]
fn what_the_client_cannot_take_is_not_sent() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    assert!(editor.capabilities.get("completionProvider").is_none());
    drop(editor.request("textDocument/hover", json!({"textDocument": {"uri": editor.uri("a.rs")}, "position": {"line": 0, "character": 0}})));
    drop(editor);

    let can = json!({"snippetSupport": true, "insertReplaceSupport": true});
    let mut editor = Editor::start_with(&workspace, capable(can));
    let answer = ask(&mut editor, "a.rs", "rust", "// AUT$0HOR: why?\n");
    assert_eq!(labels(&answer), ["AUTHOR:", "AUTHOR(name):"]);
    let edit = &answer["items"][0]["textEdit"];
    assert_eq!(edit["insert"]["end"]["character"], 6);
    assert_eq!(edit["replace"]["end"]["character"], 10);
    let named = &answer["items"][1];
    assert_eq!(named["insertTextFormat"], 2);
    assert_eq!(
        (&named["kind"], &answer["items"][0]["insertTextFormat"]),
        (&answer["items"][0]["kind"], &Value::Null)
    );
    assert_eq!(named["textEdit"]["newText"], "AUTHOR(${1:name}): $0");
}

#[test]
fn files_and_names_are_offered_in_a_message() {
    let workspace = Workspace::new();
    workspace.git(&["init", "--quiet"]);
    workspace.write(".gitignore", "built/\n");
    workspace.write("src/net.rs", "pub fn connect() {}\n\npub fn close() {}\n");
    workspace.write("src/odd name.rs", "fn odd() {}\n");
    workspace.write("docs/internet.md", "# Net\n");
    workspace.write("built/net.rs", "fn no() {}\n");
    let docs = json!({"documentationFormat": ["markdown", "plaintext"]});
    let mut editor = Editor::start_with(&workspace, capable(docs));
    let marked = "// AUTHOR: like 😀 @net$0 does?\nfn load_network() {}\nstruct Other;\n";
    let answer = ask(&mut editor, "src/main.rs", "rust", marked);
    assert_eq!(
        labels(&answer),
        ["@src/net.rs", "@load_network", "@docs/internet.md"]
    );
    assert_eq!(answer["isIncomplete"], true, "each key asks anew");
    let items = answer["items"].as_array().expect("items");
    assert!(
        items
            .windows(2)
            .all(|pair| pair[0]["sortText"].as_str() < pair[1]["sortText"].as_str())
    );
    assert!(
        items.iter().all(|item| item["filterText"] == "@net"),
        "{answer}"
    );
    // Editors put parentheses behind a function.
    assert_eq!(items[1]["kind"], 18, "{answer}");
    assert_eq!(
        taken(marked, &answer, "@src/net.rs"),
        "// AUTHOR: like 😀 @src/net.rs does?\nfn load_network() {}\nstruct Other;\n"
    );

    // What it is, when it is looked at.
    editor.open_text("src/main.rs", "rust", &marked.replace("$0", ""));
    let file = editor
        .request("completionItem/resolve", items[0].clone())
        .expect("resolved");
    assert_eq!(file["label"], "@src/net.rs");
    assert_eq!(
        file["documentation"],
        json!({"kind": "markdown", "value": "```text\npub fn connect() {}\n\npub fn close() {}\n```"})
    );
    let name = editor
        .request("completionItem/resolve", items[1].clone())
        .expect("resolved");
    assert!(
        name["documentation"]["value"]
            .as_str()
            .is_some_and(|text| text.contains("fn load_network() {}")),
        "{name}"
    );
    // Not of a file outside, whatever comes back.
    let mut forged = items[0].clone();
    forged["data"]["file"] = json!("../home/.gitconfig");
    let forged = editor
        .request("completionItem/resolve", forged)
        .expect("an answer");
    assert!(forged.get("documentation").is_none(), "{forged}");
    editor.close("src/main.rs");

    // New files are there when they are noticed.
    workspace.write("src/netting.rs", "");
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": [{"uri": editor.uri("src/netting.rs"), "type": 1}]}),
    );
    editor.wait_for("the new file", |_| {
        // Noticed on another thread: asked until it is seen.
        Some(())
    });
    let began = std::time::Instant::now();
    loop {
        let answer = ask(&mut editor, "src/main.rs", "rust", marked);
        if labels(&answer).contains(&"@src/netting.rs") {
            break;
        }
        assert!(began.elapsed() < crate::harness::DEADLINE, "{answer}");
    }
    // By folder, and inside a later line of the message.
    let marked = "// AUTHOR: this\n//   like @src/n$0\nfn a() {}\n";
    let answer = ask(&mut editor, "main.rs", "rust", marked);
    assert_eq!(labels(&answer)[..2], ["@src/net.rs", "@src/netting.rs"]);
}

#[test]
fn names_of_the_workspace_come_from_a_child_that_runs_and_none_is_started() {
    let workspace = Workspace::new();
    workspace.script_child(
        &json!({"capabilities": {"workspaceSymbolProvider": true, "definitionProvider": true}}),
    );
    workspace.write("other.scripted", "def helper\n");
    let mut options = capable(json!({}));
    options.initialization_options = json!({"trusted": true});
    let mut editor = Editor::start_with(&workspace, options);
    let marked = "def here\n// AUTHOR: is `helper` like @helper$0 here?\n";
    let answer = ask(&mut editor, "a.scripted", "scripted", marked);
    assert_eq!(labels(&answer), Vec::<&str>::new());
    assert!(
        workspace.children().is_empty(),
        "nothing is started for this"
    );

    editor.open_text("a.scripted", "scripted", &marked.replace("$0", ""));
    let at = json!({"textDocument": {"uri": editor.uri("a.scripted")}, "position": {"line": 1, "character": 16}});
    let found = editor
        .request("textDocument/definition", at)
        .expect("a definition");
    assert!(found.to_string().contains("other.scripted"), "{found}");
    // A child that is slow is left out; the next key asks again.
    let at = json!({"textDocument": {"uri": editor.uri("a.scripted")}, "position": {"line": 1, "character": 35}});
    let began = std::time::Instant::now();
    let answer = loop {
        let answer = editor
            .request("textDocument/completion", at.clone())
            .expect("completion is answered");
        if labels(&answer) == ["@helper"] {
            break answer;
        }
        assert!(began.elapsed() < crate::harness::DEADLINE, "{answer}");
    };
    assert_eq!(
        (&answer["items"][0]["detail"], &answer["items"][0]["kind"]),
        (&json!("other.scripted"), &json!(7))
    );
}

#[test]
fn of_many_files_the_best_are_offered_at_once() {
    let workspace = Workspace::new();
    for number in 0..3_000 {
        workspace.write(&format!("many/{}/file{number}.txt", number % 50), "");
    }
    let mut editor = Editor::start_with(&workspace, capable(json!({})));
    let answer = ask(&mut editor, "a.rs", "rust", "// AUTHOR: @$0\n");
    assert_eq!(labels(&answer).len(), 100);
    assert_eq!(answer["isIncomplete"], true);
    let answer = ask(&mut editor, "a.rs", "rust", "// AUTHOR: @f2999$0\n");
    assert_eq!(labels(&answer), ["@many/49/file2999.txt"]);
}
