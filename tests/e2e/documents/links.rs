//! One file under two names: a link to it is opened beside it, and the editor has a buffer for each.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{change, range, text_of};
use crate::harness::{Editor, Options, Workspace};

const CODE: &str = "pub fn load() -> u32 {\n    7\n}\n";
const THREAD: &str = "// AUTHOR: rename load to load_data\n";
/// The file, and the link to it.
const FILE: &str = "a.rs";
const LINK: &str = "link.rs";

fn bench() -> (Workspace, Editor) {
    let workspace = Workspace::new();
    workspace.write(FILE, CODE);
    symlink(FILE, workspace.path(LINK)).expect("a link");
    let options = Options {
        initialization_options: json!({"trusted": true}),
        ..Options::default()
    };
    let editor = Editor::start_with(&workspace, options);
    editor.open(FILE);
    (workspace, editor)
}

/// The server has the text that the editor has.
fn assert_same(editor: &mut Editor, path: &str) {
    let there = text_of(editor, path);
    assert_eq!(there["text"], editor.text(path).as_str());
}

/// What was said of two names.
fn messages(editor: &Editor) -> Vec<String> {
    let state = editor.state();
    let shown = state.received.iter();
    shown
        .filter(|message| message["method"] == "window/showMessage")
        .map(|message| message["params"]["message"].to_string())
        .filter(|message| message.contains("one file"))
        .collect()
}

/// What the client adds and removes is the name; where that leads may have changed in between.
#[test]
fn a_folder_behind_a_link_goes_when_the_link_is_gone() {
    let workspace = Workspace::new();
    workspace.write("there/a.rs", THREAD);
    let link = workspace.root().with_file_name("link");
    symlink(workspace.path("there"), &link).expect("a link");
    let options = Options {
        folders: Some(vec![workspace.write("here/b.rs", CODE).with_file_name("")]),
        ..Options::default()
    };
    let mut editor = Editor::start_with(&workspace, options);
    let folder = json!({"uri": crate::harness::uri_of(&link), "name": "link"});
    let tell = |editor: &Editor, added: &[&Value], removed: &[&Value]| {
        let event = json!({"event": {"added": added, "removed": removed}});
        editor.notify("workspace/didChangeWorkspaceFolders", event);
    };
    tell(&editor, &[&folder], &[]);
    let uri = crate::harness::uri_of(&link.join("a.rs"));
    let wait_shown = |editor: &Editor, count: usize| {
        editor.wait_for("its diagnostics", |state| {
            (state.diagnostics.get(&uri)?.1.len() == count).then_some(())
        });
    };
    wait_shown(&editor, 1);
    std::fs::remove_file(&link).expect("the link goes");
    tell(&editor, &[], &[&folder]);
    wait_shown(&editor, 0);
    let list = editor
        .command("postil.listThreads", json!({}))
        .expect("a list");
    assert_eq!(list["threads"], json!([]), "{list}");
}

#[test]
fn a_look_over_a_link_takes_nothing_from_the_buffer_below_it() {
    let (workspace, mut editor) = bench();
    editor.splice(FILE, 0..0, THREAD);
    let shown = editor.wait_codes(FILE, &["pending"]);
    editor.open(LINK);
    editor.replace(FILE, "7", "8");
    assert_same(&mut editor, FILE);
    // Places in the one text are none in the other.
    assert!(editor.code_actions(LINK, 0).is_empty());
    let hover =
        json!({"textDocument": {"uri": editor.uri(LINK)}, "position": {"line": 0, "character": 5}});
    assert_eq!(
        editor.request("textDocument/hover", hover.clone()),
        Ok(json!(null))
    );
    // Where they are the same, both are answered about.
    let text = editor.text(FILE);
    change(&editor, LINK, 2, json!([{"text": text}]));
    let hover = editor.request("textDocument/hover", hover);
    assert_ne!(hover, Ok(json!(null)));
    assert!(!editor.code_actions(LINK, 0).is_empty());
    editor.close(LINK);

    editor.replace(FILE, "8", "9");
    assert_same(&mut editor, FILE);
    let thread = json!({"uri": editor.uri(FILE), "thread_id": shown[0]["data"]["thread_id"]});
    editor
        .command("postil.replyAsAgent", thread)
        .expect("the turn starts");
    editor.wait_codes(FILE, &["awaiting_user"]);
    assert!(
        editor
            .text(FILE)
            .contains("pub fn load_data() -> u32 {\n    9")
    );
    assert_eq!(workspace.read(FILE), CODE, "the buffer is unsaved");
    assert_eq!(messages(&editor), [""; 0], "nothing to say");
}

#[test]
fn a_thread_that_is_begun_in_the_second_name_is_told_of_under_the_first() {
    let (_workspace, mut editor) = bench();
    editor.open(LINK);
    for (name, line) in [(LINK, 0), (FILE, 1)] {
        let position = json!({"line": line, "character": 0});
        let new = json!({"uri": editor.uri(name), "position": position, "text": "which one?"});
        let done = editor.command("postil.newThread", new).expect("written");
        assert_eq!(done["uri"], editor.uri(FILE), "{done}");
    }
    assert_eq!(editor.text(LINK), CODE);
}

#[test]
fn what_is_typed_in_the_second_name_counts_once_the_first_is_closed() {
    let (workspace, mut editor) = bench();
    editor.splice(FILE, 0..0, "// AUTHOR: which one?\n");
    editor.wait_codes(FILE, &["pending"]);
    editor.open(LINK);
    editor.splice(LINK, 0..0, THREAD);
    let told = editor
        .wait_message("window/showMessage", |_| true)
        .to_string();
    for part in [FILE, LINK, "Close one of the two"] {
        assert!(told.contains(part), "{told}");
    }
    editor.replace(LINK, "7", "8");
    let position = json!({"line": 3, "character": 0});
    let new = json!({"uri": editor.uri(LINK), "position": position, "text": "lost?"});
    let refused = editor.command("postil.newThread", new);
    let refused = refused.expect_err("no place in that text").to_string();
    assert!(refused.contains("under another name"), "{refused}");
    assert_same(&mut editor, FILE);
    assert_eq!(messages(&editor).len(), 1, "said once");

    editor.close(FILE);
    let shown = editor.wait_codes(LINK, &["pending"]);
    assert_same(&mut editor, LINK);
    let first = editor.uri(FILE);
    editor.wait_for("withdrawn diagnostics", |state| {
        state.diagnostics[&first].1.is_empty().then_some(())
    });
    let thread = json!({"uri": editor.uri(LINK), "thread_id": shown[0]["data"]["thread_id"], "text": "And its callers."});
    editor.command("postil.reply", thread).expect("written");
    editor.wait_text(LINK, |text| {
        text.contains("its callers") && text.contains("8")
    });
    assert_eq!(workspace.read(FILE), CODE, "the buffer is unsaved");
    editor.save(LINK);
    // The file alone is left, as it is on disk.
    editor.close(LINK);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending"]);
    assert!(editor.text(FILE).contains("its callers"));
}

#[test]
fn a_second_name_that_was_lost_track_of_is_not_written_below() {
    let (workspace, mut editor) = bench();
    workspace.write(FILE, format!("{THREAD}{CODE}"));
    editor.open(LINK);
    let beyond = json!([{"range": range((99, 0), (99, 0)), "text": "x"}]);
    change(&editor, LINK, 2, beyond);
    editor.wait_message("window/showMessage", |params| {
        params.to_string().contains("one file")
    });
    editor.splice(FILE, 0..0, THREAD);
    let shown = editor.wait_codes(FILE, &["pending"]);
    editor.close(FILE);
    editor.wait_message("window/showMessage", |params| {
        let text = params["message"].as_str().unwrap_or_default();
        text.contains("lost track of link.rs") && text.contains("reopen")
    });
    let thread = json!({"thread_id": shown[0]["data"]["thread_id"], "text": "so?"});
    editor
        .command("postil.reply", thread)
        .expect_err("its text is not known");
    assert_eq!(workspace.read(FILE), format!("{THREAD}{CODE}"));
    editor.close(LINK);
    editor.open(LINK);
    editor.wait_codes(LINK, &["pending"]);
    assert_same(&mut editor, LINK);
}
