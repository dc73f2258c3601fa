//! Changes that come in another order than they were made: Helix before 25.07 sends each by a task of its own.

use serde_json::{Value, json};

use super::{change, range, text_of};
use crate::harness::{Editor, Options, Workspace, wait_until};

fn helix(workspace: &Workspace) -> Editor {
    named(
        workspace,
        json!({"name": "helix", "version": "25.01.1 (e7ac2fcd)"}),
    )
}

fn named(workspace: &Workspace, client: Value) -> Editor {
    let options = || Options {
        initialize: false,
        ..Options::default()
    };
    let mut editor = Editor::start_with(workspace, options());
    let mut params = editor.initialize_params(&options());
    params["clientInfo"] = client;
    let answer = editor.request("initialize", params).expect("capabilities");
    editor.capabilities = answer["capabilities"].clone();
    editor.notify("initialized", json!({}));
    editor
}

/// Opens `a.rs` with this text; its version.
fn opened(editor: &mut Editor, text: &str) -> i64 {
    editor.open_text("a.rs", "rust", text);
    let version = text_of(editor, "a.rs")["version"].as_i64();
    version.expect("a number")
}

/// A change that puts `text` at a column of the first line.
fn put(editor: &Editor, version: i64, column: u32, text: &str) {
    let at = range((0, column), (0, column));
    change(
        editor,
        "a.rs",
        version,
        json!([{"range": at, "text": text}]),
    );
}

fn titles(editor: &mut Editor) -> Vec<String> {
    let actions = editor.code_actions("a.rs", 0);
    let title = |action: &Value| action["title"].as_str().map(str::to_owned);
    actions.iter().filter_map(title).collect()
}

fn offers_a_reply(editor: &mut Editor) -> bool {
    titles(editor).iter().any(|title| title == "Reply as agent")
}

fn is_lost(editor: &Editor) -> bool {
    let state = editor.state();
    let mut said = state.received.iter();
    said.any(|message| message.to_string().contains("lost track of"))
}

#[test]
fn changes_in_another_order_make_the_text_that_was_typed() {
    let workspace = Workspace::new();
    let mut editor = helix(&workspace);
    let base = opened(&mut editor, "// \nfn a() {}\n");
    for (from, order) in [(0, [2, 1, 3]), (3, [3, 2, 1]), (6, [1, 3, 2])] {
        for nth in order {
            let (column, text) = match from + nth {
                1 => (3, "AUTHOR:"),
                2 => (10, " why"),
                3 => (14, "?"),
                4 => (15, " Is"),
                5 => (18, " it"),
                6 => (21, " so?"),
                7 => (25, " Or"),
                8 => (28, " is"),
                _ => (31, " it not?"),
            };
            put(&editor, base + from + nth, column, text);
        }
        // What is asked waits until the text is whole.
        assert!(offers_a_reply(&mut editor), "{order:?}");
    }
    let there = text_of(&mut editor, "a.rs");
    assert_eq!(
        there["text"],
        "// AUTHOR: why? Is it so? Or is it not?\nfn a() {}\n"
    );
    editor.wait_for("the thread", |state| {
        let mut shown = state.diagnostics.values();
        shown.any(|(_, all)| all.len() == 1).then_some(())
    });
    assert!(!is_lost(&editor));
}

#[test]
fn a_file_of_which_a_change_did_not_come_is_known_again_by_its_save() {
    let workspace = Workspace::new();
    let mut editor = helix(&workspace);
    assert_eq!(
        editor.capabilities["textDocumentSync"]["save"]["includeText"],
        true
    );
    let base = opened(&mut editor, "// AUTHOR: why?\nfn a() {}\n");
    assert!(offers_a_reply(&mut editor));
    // The one before made the lines in which this one is.
    let at = range((9, 0), (9, 0));
    change(
        &editor,
        "a.rs",
        base + 2,
        json!([{"range": at, "text": "// AUTHOR: and?\n"}]),
    );
    // Nothing is offered of a text that may be another.
    assert!(!offers_a_reply(&mut editor));
    let said = editor.wait_saying("window/showMessage", "lost track of a.rs");
    assert!(said["message"].to_string().contains("`:w`"), "{said}");

    put(&editor, base + 3, 0, "x");
    let saved = "// AUTHOR: so?\nfn a() {}\n";
    let document = json!({"uri": editor.uri("a.rs")});
    workspace.write("a.rs", saved);
    let save = |editor: &Editor, text: &str| {
        editor.notify(
            "textDocument/didSave",
            json!({"textDocument": document, "text": text}),
        );
    };
    save(&editor, saved);
    assert!(offers_a_reply(&mut editor));
    let there = text_of(&mut editor, "a.rs");
    assert_eq!(
        (&there["text"], &there["version"]),
        (&json!(saved), &json!(base + 3))
    );
    // The next key counts, and the text of another save changes nothing.
    put(&editor, base + 4, 13, " or not");
    save(&editor, "fn b() {}\n");
    let there = text_of(&mut editor, "a.rs");
    assert_eq!(there["text"], "// AUTHOR: so or not?\nfn a() {}\n");
}

#[test]
fn a_save_counts_behind_the_changes_that_wait() {
    let workspace = Workspace::new();
    let mut editor = helix(&workspace);
    let base = opened(&mut editor, "fn a() {}\n");
    put(&editor, base + 2, 3, "x");
    let document = json!({"uri": editor.uri("a.rs")});
    editor.notify(
        "textDocument/didSave",
        json!({"textDocument": document, "text": "// xfn a() {}\n"}),
    );
    put(&editor, base + 1, 0, "// ");
    let there = text_of(&mut editor, "a.rs");
    assert_eq!(there["text"], "// xfn a() {}\n");
    // A file that is closed meanwhile is forgotten with them.
    put(&editor, base + 4, 9, "y");
    editor.notify("textDocument/didClose", json!({"textDocument": document}));
    editor.open_text("a.rs", "rust", "fn b() {}\n");
    put(&editor, base + 1, 0, "// ");
    let there = text_of(&mut editor, "a.rs");
    assert_eq!(there["text"], "// fn b() {}\n");
    assert!(!is_lost(&editor));
}

/// A version that was left out is none that is missing: Helix counts what it shows for a moment too.
#[test]
fn a_change_whose_forerunner_does_not_come_counts_after_a_moment() {
    let workspace = Workspace::new();
    let mut editor = helix(&workspace);
    let base = opened(&mut editor, "fn a() {}\n");
    put(&editor, base + 3, 0, "// AUTHOR: why?\n");
    put(&editor, base + 4, 0, "\n");
    wait_until("the text", || {
        text_of(&mut editor, "a.rs")["text"] == "\n// AUTHOR: why?\nfn a() {}\n"
    });
    let shown = editor.wait_message("textDocument/publishDiagnostics", |params| {
        params["diagnostics"][0]["range"]["start"]["line"] == 1
    });
    assert_eq!(shown["version"], base + 4);
    assert!(!is_lost(&editor));
}

#[test]
fn of_other_clients_and_a_newer_helix_each_change_counts_at_once() {
    for client in [
        json!({"name": "helix", "version": "25.07.1 (a05c151b)"}),
        json!({"name": "Neovim", "version": "0.11.0"}),
    ] {
        let workspace = Workspace::new();
        let mut editor = named(&workspace, client);
        let base = opened(&mut editor, "fn a() {}\n");
        put(&editor, base + 5, 0, "x");
        assert_eq!(text_of(&mut editor, "a.rs")["text"], "xfn a() {}\n");
        put(&editor, base + 4, 0, "y");
        editor.wait_saying("window/showMessage", "lost track of a.rs");
    }
}
