//! What an editor asks for its code through children (`proxy.mode = "always"`), and from a thread's text.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace};

/// A server of `rs` files, which answers for the code too.
fn start(workspace: &Workspace, child: &Value, more: &str) -> Editor {
    workspace.script_child_of("rust", "rs", child);
    configured(workspace, more)
}

fn configured(workspace: &Workspace, more: &str) -> Editor {
    let servers = std::fs::read_to_string(workspace.config_file()).expect("settings");
    workspace.configure(&format!("{servers}\n[proxy]\nmode = 'always'\n{more}"));
    let options = Options {
        initialization_options: json!({"trusted": true}),
        ..Options::default()
    };
    Editor::start_with(workspace, options)
}

/// The parameters for byte `at` of a file's first text, which is ASCII.
fn at(editor: &Editor, path: &str, at: usize) -> Value {
    let text = editor.text(path);
    let before = &text[..at];
    let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1);
    json!({
        "textDocument": {"uri": editor.uri(path)},
        "position": {"line": before.matches('\n').count(), "character": column},
    })
}

fn span(line: u32, start: u32, end: u32) -> Value {
    json!({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}})
}

fn log(workspace: &Workspace) -> String {
    let log = workspace.root().with_file_name("child.log");
    std::fs::read_to_string(log).unwrap_or_default()
}

const THREAD: &str = "// AUTHOR: is `load` right?\nfn a() {}\n// def load\nfn load() {}\n";

#[test]
fn a_name_in_a_thread_is_renamed_as_if_it_stood_in_the_code() {
    let workspace = Workspace::new();
    let mut editor = start(&workspace, &json!({}), "");
    editor.open_text("a.rs", "rust", THREAD);
    let quoted = at(&editor, "a.rs", THREAD.find("oad`").unwrap());

    let prepared = editor.request("textDocument/prepareRename", quoted.clone());
    let here = span(0, 15, 19);
    assert_eq!(
        prepared.expect("prepared"),
        json!({"range": here, "placeholder": "load"})
    );
    let mut rename = quoted.clone();
    rename["newName"] = json!("fetch");
    let renamed = editor.request("textDocument/rename", rename);
    let edits = renamed.expect("renamed")["changes"][editor.uri("a.rs")].clone();
    let edits = edits.as_array().expect("edits");
    assert!(
        edits.iter().any(|edit| edit["range"] == span(3, 3, 7)),
        "{edits:?}"
    );

    // What is told of the origin is told of the thread.
    let found = editor.request("textDocument/definition", quoted);
    assert_eq!(
        found.expect("found")[0]["originSelectionRange"],
        span(0, 15, 19)
    );

    // What is no name is not renamed, and the child is not asked.
    let mut word = at(&editor, "a.rs", THREAD.find("right").unwrap());
    word["newName"] = json!("wrong");
    let asked = log(&workspace).matches("textDocument/rename").count();
    let renamed = editor.request("textDocument/rename", word);
    assert_eq!(renamed.expect("nothing"), Value::Null);
    let still = log(&workspace).matches("textDocument/rename").count();
    assert_eq!(asked, still);
}

#[test]
fn what_a_child_never_offered_is_nothing_and_a_rename_goes_without_a_look_before() {
    let workspace = Workspace::new();
    let unknown = json!({"on": {
        "textDocument/prepareRename": "unknown",
        "textDocument/documentHighlight": "unknown",
    }});
    let mut editor = start(&workspace, &unknown, "");
    editor.open_text("a.rs", "rust", THREAD);
    let name = at(&editor, "a.rs", THREAD.rfind("ad()").unwrap());

    let highlights = editor.request("textDocument/documentHighlight", name.clone());
    assert_eq!(highlights.expect("nothing"), Value::Null);
    let prepared = editor.request("textDocument/prepareRename", name);
    assert_eq!(
        prepared.expect("prepared"),
        json!({"range": span(3, 3, 7), "placeholder": "load"})
    );
    let keyword = at(&editor, "a.rs", THREAD.rfind("n load").unwrap());
    let prepared = editor.request("textDocument/prepareRename", keyword);
    assert_eq!(prepared.expect("nothing"), Value::Null, "a keyword");
    let quoted = at(&editor, "a.rs", THREAD.find("oad`").unwrap());
    let prepared = editor.request("textDocument/prepareRename", quoted);
    assert_eq!(prepared.expect("prepared")["range"], span(0, 15, 19));
}

#[test]
fn an_edit_names_versions_of_what_the_editor_has_open_alone() {
    let workspace = Workspace::new();
    workspace.script_child(&json!({"versions": true}));
    workspace.write("a.scripted", "def name\n");
    workspace.write("b.scripted", "name\n");
    let mut editor = configured(&workspace, "");
    editor.open("a.scripted");
    // The child knows it from disk, with a version.
    let hover = json!({
        "textDocument": {"uri": editor.uri("b.scripted")},
        "position": {"line": 0, "character": 1},
    });
    editor.request("textDocument/hover", hover).expect("told");
    let mut rename = at(&editor, "a.scripted", 5);
    rename["newName"] = json!("other");
    let renamed = editor.request("textDocument/rename", rename);
    let renamed = renamed.expect("renamed");
    let changes = renamed["documentChanges"].as_array().expect("changes");
    let versions: Vec<&Value> = changes
        .iter()
        .map(|change| &change["textDocument"])
        .collect();
    assert_eq!(
        versions,
        [
            &json!({"uri": editor.uri("a.scripted"), "version": 1}),
            &json!({"uri": editor.uri("b.scripted"), "version": null}),
        ]
    );
}

#[test]
fn symbols_are_asked_of_the_children_of_all_that_is_open() {
    let workspace = Workspace::new();
    workspace.script_child_of("one", "one", &json!({}));
    let one = std::fs::read_to_string(workspace.config_file()).expect("settings");
    let fails = json!({"on": {"textDocument/documentSymbol": "error"}});
    workspace.script_child_of("two", "two", &fails);
    let two = std::fs::read_to_string(workspace.config_file()).expect("settings");
    // Of another program: each is told of its own files alone.
    let (python, args) = two
        .split_once("command = '")
        .and_then(|(_, rest)| rest.split_once("'\nargs = ["))
        .expect("a row");
    let two = format!("[servers.two]\ncommand = '/usr/bin/env'\nargs = ['{python}', {args}");
    workspace.configure(&format!("{one}{two}"));
    let mut editor = configured(&workspace, "");
    // Its server is missing, which nobody asked for.
    editor.open_text("0.zig", "zig", "const x = 1;\n");
    editor.open_text("a.one", "one", "def more\n");
    editor.open_text("b.two", "two", "def more\n");
    let found = editor.request("workspace/symbol", json!({"query": "more"}));
    let found = found.expect("found");
    let mut files: Vec<String> = found
        .as_array()
        .expect("a list")
        .iter()
        .map(|symbol| symbol["location"]["uri"].to_string())
        .collect();
    files.sort();
    let expected = ["a.one", "b.two"].map(|name| json!(editor.uri(name)).to_string());
    assert_eq!(files, expected);
    let said = |m: &&Value| m["method"] == "window/showMessage";
    assert_eq!(editor.state().received.iter().filter(said).count(), 0);

    // One that fails has not said that there is nothing.
    let document = |name: &str| json!({"textDocument": {"uri": editor.uri(name)}});
    let (one, two) = (document("a.one"), document("b.two"));
    let method = "textDocument/documentSymbol";
    assert_eq!(
        editor.request(method, one).expect("one")[0]["name"],
        "outer"
    );
    assert_eq!(editor.request(method, two).unwrap_err()["code"], -32099);
}

#[test]
fn one_that_does_not_answer_is_waited_for_once() {
    let workspace = Workspace::new();
    let hangs = json!({"on": {"textDocument/definition": "hang", "workspace/symbol": "hang"}});
    let mut editor = start(&workspace, &hangs, "timeout = 1\n");
    editor.open_text("a.rs", "rust", THREAD);
    let quoted = at(&editor, "a.rs", THREAD.find("oad`").unwrap());
    let begun = Instant::now();
    let found = editor.request("textDocument/definition", quoted);
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(found.expect("by tree-sitter")[0]["range"], span(3, 3, 7));
    let log = log(&workspace);
    assert!(log.contains("textDocument/definition") && !log.contains("workspace/symbol"));
}

/// `postil servers` asks the editor's server what runs there.
#[test]
fn what_runs_for_the_editor_is_listed_with_its_process_and_memory() {
    let workspace = Workspace::new();
    workspace.script_child_of("one", "one", &json!({}));
    let mut editor = configured(&workspace, "");
    editor.open_text("a.one", "one", "def more\n");
    editor
        .request("textDocument/hover", at(&editor, "a.one", 5))
        .expect("an answer");
    let listed = || {
        let output = workspace.postil().args(["servers", "--json"]).output();
        let output = output.expect("postil runs");
        let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let all = all.as_array().expect("a list").clone();
        let one = all.into_iter().find(|server| server["language"] == "one");
        one.expect("the row")
    };
    let running = listed();
    assert_eq!(running["state"], "ready", "{running}");
    assert!(
        running["pid"].is_u64() && running["memory"].is_u64(),
        "{running}"
    );
    assert_eq!(running["root"], json!(workspace.root()), "{running}");
    drop(editor);
    let gone = listed();
    assert_eq!(gone["state"], "stopped", "{gone}");
    assert!(gone["pid"].is_null(), "{gone}");
}
