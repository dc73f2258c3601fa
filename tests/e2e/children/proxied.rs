//! What an editor asks for its code through children (`proxy.mode = "always"`), and from a thread's text.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace, uri_of, wait_until};

/// A server of `rs` files, which answers for the code too.
pub(super) fn start(workspace: &Workspace, child: &Value, more: &str) -> Editor {
    workspace.script_child_of("rust", "rs", child);
    configured(workspace, more)
}

pub(super) fn configured(workspace: &Workspace, more: &str) -> Editor {
    let servers = std::fs::read_to_string(workspace.config_file()).expect("settings");
    workspace.configure(&format!("{servers}\n[proxy]\nmode = 'always'\n{more}"));
    let options = Options {
        initialization_options: json!({"trusted": true}),
        ..Options::default()
    };
    Editor::start_with(workspace, options)
}

/// The parameters for byte `at` of a file's first text, which is ASCII.
pub(super) fn at(editor: &Editor, path: &str, at: usize) -> Value {
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

pub(super) fn log(workspace: &Workspace) -> String {
    let log = workspace.root().with_file_name("child.log");
    std::fs::read_to_string(log).unwrap_or_default()
}

/// What was said to the person.
pub(super) fn told(editor: &Editor) -> Vec<String> {
    let state = editor.state();
    let said = |m: &&Value| m["method"] == "window/showMessage";
    let said = state.received.iter().filter(said);
    said.map(|m| m["params"]["message"].as_str().unwrap_or_default())
        .map(str::to_owned)
        .collect()
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
fn the_places_of_a_name_in_a_thread_are_shown_with_the_thread() {
    let workspace = Workspace::new();
    let mut editor = start(&workspace, &json!({}), "");
    editor.open_text("a.rs", "rust", THREAD);
    let quoted = at(&editor, "a.rs", THREAD.find("oad`").unwrap());
    let method = "textDocument/documentHighlight";
    let shown = editor.request(method, quoted).expect("shown");
    assert_eq!(
        shown,
        json!([{"range": span(3, 3, 7)}, {"range": span(0, 15, 19)}])
    );
    let word = at(&editor, "a.rs", THREAD.find("right").unwrap());
    assert_eq!(editor.request(method, word).expect("nothing"), Value::Null);
}

#[test]
fn a_librarys_file_is_asked_of_the_child_that_led_there() {
    led_to(false, &Path::to_path_buf);
}

/// As the standard library of Go in Debian.
#[cfg(unix)]
#[test]
fn a_librarys_file_behind_a_link_is_asked_about_by_the_name_that_led_there() {
    led_to(true, &|library| {
        let link = library.with_file_name("link");
        std::os::unix::fs::symlink(library, &link).expect("a link");
        link
    });
}

/// `name`: that by which the child and the editor know the library's folder.
fn led_to(linked: bool, name: &dyn Fn(&Path) -> PathBuf) {
    let workspace = Workspace::new();
    let library = workspace.root().with_file_name("library");
    std::fs::create_dir(&library).expect("a folder");
    let known = name(&library);
    let text = "def load\nload load\n";
    let names = ["led.scripted", "other.scripted"].map(|name| known.join(name));
    std::fs::write(&names[0], text).expect("written");
    std::fs::write(&names[1], "def other\n").expect("written");
    let script = match linked {
        true => json!({"library": known}),
        false => json!({"library": known, "slashes": true}),
    };
    workspace.script_child(&script);
    workspace.write("a.scripted", "load\n");
    let mut editor = configured(&workspace, "");
    editor.open("a.scripted");
    let [led, other] = names.map(|path| path.to_string_lossy().into_owned());
    editor.open_text(&led, "scripted", text);
    editor.open_text(&other, "scripted", "def other\n");
    let method = "textDocument/references";
    let inside = at(&editor, &led, 5);
    let found = editor.request(method, inside.clone()).expect("nothing");
    assert_eq!(found, Value::Null, "nobody has led there yet");

    let name = at(&editor, "a.scripted", 1);
    let found = editor.request("textDocument/definition", name);
    assert_eq!(found.expect("found")[0]["targetUri"], editor.uri(&led));
    let found = editor.request(method, inside.clone()).expect("found");
    assert_eq!(found.as_array().map(Vec::len), Some(4), "{found}");
    let symbols = json!({"textDocument": {"uri": editor.uri(&led)}});
    let symbols = editor.request("textDocument/documentSymbol", symbols);
    assert_eq!(symbols.expect("symbols")[0]["name"], "outer");
    let elsewhere = at(&editor, &other, 5);
    let found = editor.request(method, elsewhere).expect("nothing");
    assert_eq!(found, Value::Null, "nobody led to this one");

    if !linked {
        // It is told what is typed there.
        editor.replace(&led, "load load\n", "");
        let found = editor.request(method, inside).expect("found");
        assert_eq!(found.as_array().map(Vec::len), Some(2), "{found}");
        return;
    }
    // Once it is a folder of the workspace, it has a child of its own, to which it is what the editor shows.
    let folder = json!({"uri": uri_of(&library), "name": "library"});
    let event = json!({"added": [folder], "removed": []});
    editor.notify(
        "workspace/didChangeWorkspaceFolders",
        json!({"event": event}),
    );
    editor.request(method, inside).expect("found");
    let real = uri_of(&library.join("led.scripted"));
    let log = log(&workspace);
    let asked = log.lines().rfind(|line| line.contains(method));
    assert!(asked.is_some_and(|line| line.contains(&real)), "{log}");
}

#[test]
fn what_a_child_says_is_wrong_with_it_is_told_once_where_it_finds_nothing() {
    let workspace = Workspace::new();
    let troubled = json!({
        "status": {"health": "error", "quiescent": true, "message": "Failed to load workspaces."},
        "on": {"textDocument/implementation": "nothing"},
    });
    let mut editor = start(&workspace, &troubled, "");
    workspace.write("Cargo.toml", "[package\n");
    editor.open_text("a.rs", "rust", THREAD);
    let name = at(&editor, "a.rs", THREAD.rfind("ad()").unwrap());
    editor
        .request("textDocument/hover", name.clone())
        .expect("found");
    assert!(told(&editor).is_empty(), "what is found lacks nothing");
    for _ in 0..2 {
        let found = editor.request("textDocument/implementation", name.clone());
        assert_eq!(found.expect("nothing"), json!([]));
    }
    // Nor again by its next run.
    let first = workspace.children();
    let killed = std::process::Command::new("kill")
        .arg("-9")
        .args(&first)
        .status();
    assert!(killed.expect("kill runs").success());
    wait_until("another one", || {
        let now = workspace.children();
        !now.is_empty() && now.iter().all(|pid| !first.contains(pid))
    });
    let found = editor.request("textDocument/implementation", name);
    assert_eq!(found.expect("nothing"), json!([]));
    let told = told(&editor);
    let [text] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert!(
        text.contains("` says: Failed to load workspaces. It may find too little in "),
        "{text}"
    );
    assert!(text.ends_with(": look at Cargo.toml there."), "{text}");
}

#[test]
fn one_whose_answer_came_in_pieces_is_not_asked_again_though_it_indexes_still() {
    let workspace = Workspace::new();
    let streams = json!({"index": 1, "on": {"textDocument/definition": "stream"}});
    let mut editor = start(&workspace, &streams, "");
    editor.open_text("a.rs", "rust", THREAD);
    let mut name = at(&editor, "a.rs", THREAD.rfind("ad()").unwrap());
    name["partialResultToken"] = json!("pieces");
    let found = editor.request("textDocument/definition", name);
    assert_eq!(found.expect("the rest"), json!([]));
    let state = editor.state();
    let pieces = state
        .received
        .iter()
        .filter(|m| m["method"] == "$/progress" && m["params"]["token"] == "pieces");
    assert_eq!(pieces.count(), 1);
    let asked = log(&workspace);
    assert_eq!(asked.matches("\"textDocument/definition\"").count(), 1);
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

#[test]
fn settings_that_another_program_wrote_count_with_the_next_definition() {
    let workspace = Workspace::new();
    let mut editor = start(&workspace, &json!({}), "");
    editor.open_text("a.rs", "rust", THREAD);
    let name = at(&editor, "a.rs", THREAD.rfind("load").unwrap());
    let mut asked = |mode: &str| {
        let settings = std::fs::read_to_string(workspace.config_file()).expect("settings");
        let (rest, _) = settings.split_once("\n[proxy]").expect("its section");
        workspace.configure(&format!("{rest}\n[proxy]\nmode = '{mode}'\n"));
        let found = editor.request("textDocument/definition", name.clone());
        found.expect("an answer")
    };
    assert_eq!(asked("threads"), Value::Null);
    let found = asked("always");
    assert!(found[0].is_object(), "{found}");
}

/// One that counts as the editor does has its text passed on as it is. Else it is read, which has an end, and that is not
/// the child's.
#[test]
fn an_answer_that_is_nested_too_deeply_is_no_end_of_the_child() {
    let workspace = Workspace::new();
    let deep = json!({"encoding": "utf-8", "log": workspace.root().with_file_name("child.log"),
        "on": {"textDocument/definition": "deep", "textDocument/rename": "deep"}});
    let mut editor = start(&workspace, &deep, "");
    editor.open_text("a.rs", "rust", "fn load() {}\n");
    let mut here = at(&editor, "a.rs", 4);
    here["newName"] = json!("fetch");
    for method in ["textDocument/definition", "textDocument/rename"] {
        let error = editor
            .request(method, here.clone())
            .expect_err("it cannot be read");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            message.contains("cannot be read") && !message.contains("stopped"),
            "{method}: {message}"
        );
    }
    let log = log(&workspace);
    let asked = log
        .lines()
        .filter(|line| line.contains("\"textDocument/definition\""));
    assert_eq!(asked.count(), 1, "it is not asked for again: {log}");
}

/// Where nothing need be counted anew, an edit is read all the same.
#[test]
fn an_edit_that_cannot_be_read_is_an_error_and_not_nothing() {
    let workspace = Workspace::new();
    let deep = json!({"encoding": "utf-16",
        "on": {"textDocument/definition": "deep", "textDocument/rename": "deep"}});
    let mut editor = start(&workspace, &deep, "");
    editor.open_text("a.rs", "rust", "fn load() {}\n");
    let mut here = at(&editor, "a.rs", 4);
    here["newName"] = json!("fetch");
    let error = editor
        .request("textDocument/rename", here)
        .expect_err("it cannot be read");
    assert!(
        error["message"].to_string().contains("cannot be read"),
        "{error}"
    );
}
