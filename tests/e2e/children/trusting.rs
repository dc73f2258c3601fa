//! Trust that another program gives, or takes back, while an editor's server runs.

use serde_json::{Value, json};

use super::proxied::told;
use crate::harness::{Editor, Workspace, wait_until};

const METHOD: &str = "textDocument/definition";

/// A folder with a repository whose children answer for the code too; a terminal has trusted it where that is said.
fn opened(trusted: bool) -> (Workspace, Editor, Value) {
    let workspace = Workspace::new();
    workspace.git(&["init", "-q"]);
    workspace.script_child(&json!({}));
    let servers = std::fs::read_to_string(workspace.config_file()).expect("settings");
    workspace.configure(&format!("{servers}\n[proxy]\nmode = 'always'\n"));
    workspace.write("a.scripted", "def load\n");
    if trusted {
        in_a_terminal(&workspace, "--yes");
    }
    let editor = Editor::start(&workspace);
    editor.open("a.scripted");
    let name = json!({
        "textDocument": {"uri": editor.uri("a.scripted")},
        "position": {"line": 0, "character": 5},
    });
    (workspace, editor, name)
}

fn in_a_terminal(workspace: &Workspace, how: &str) {
    let done = workspace.postil().args(["trust", how]).output();
    let done = done.expect("it runs");
    assert!(done.status.success(), "{done:?}");
}

fn started(workspace: &Workspace) -> usize {
    let log = workspace.root().with_file_name("child.log");
    let log = std::fs::read_to_string(log).unwrap_or_default();
    log.matches("{\"pid\"").count()
}

fn is_found(editor: &mut Editor, name: &Value) -> bool {
    let found = editor.request(METHOD, name.clone()).expect("an answer");
    assert!(found.is_null() || found[0].is_object(), "{found}");
    !found.is_null()
}

#[test]
fn trust_that_a_terminal_takes_back_ends_the_servers_of_a_running_editor() {
    let (workspace, mut editor, name) = opened(true);
    assert!(is_found(&mut editor, &name));
    assert_eq!(workspace.children().len(), 1);
    in_a_terminal(&workspace, "--revoke");
    // Asked at once, and never: both.
    assert!(!is_found(&mut editor, &name));
    wait_until("its end", || workspace.children().is_empty());
    assert!(!is_found(&mut editor, &name));
    assert_eq!(started(&workspace), 1, "none is started any more");

    in_a_terminal(&workspace, "--yes");
    assert!(is_found(&mut editor, &name));
    in_a_terminal(&workspace, "--revoke");
    wait_until("its end unasked", || workspace.children().is_empty());
}

#[test]
fn a_folder_that_a_terminal_trusts_has_servers_in_a_running_editor() {
    let (workspace, mut editor, name) = opened(false);
    assert!(!is_found(&mut editor, &name));
    assert_eq!(started(&workspace), 0);
    in_a_terminal(&workspace, "--yes");
    assert!(is_found(&mut editor, &name));
}

#[test]
fn attack_03_the_servers_of_a_running_editor_end_when_what_was_trusted_has_changed() {
    let (workspace, mut editor, name) = opened(true);
    assert!(is_found(&mut editor, &name));
    workspace.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch ran\n");
    wait_until("its end", || workspace.children().is_empty());
    assert!(!is_found(&mut editor, &name));
    assert_eq!(started(&workspace), 1);
}

#[test]
fn why_nothing_is_found_in_a_folder_that_is_not_trusted_is_told_once() {
    let (_workspace, mut editor, name) = opened(false);
    let told = |editor: &Editor| -> Vec<String> {
        let said = told(editor).into_iter();
        said.filter(|text| text.contains("trust")).collect()
    };
    // An editor asks these by itself.
    for method in ["textDocument/hover", "textDocument/documentHighlight"] {
        editor.request(method, name.clone()).expect("an answer");
    }
    assert!(told(&editor).is_empty(), "nobody asked");
    let mut rename = name.clone();
    rename["newName"] = json!("fetch");
    rename["context"] = json!({"includeDeclaration": true});
    for method in [METHOD, "textDocument/references", "textDocument/rename"] {
        let found = editor.request(method, rename.clone());
        assert_eq!(found.expect("nothing"), Value::Null);
    }
    let told = told(&editor);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains(": the workspace is not trusted: language servers may start when you"),
        "{told:?}"
    );
}
