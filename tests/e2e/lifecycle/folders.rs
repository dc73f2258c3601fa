//! Workspace folders that a client names otherwise than it should, and those that cannot be used.

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace};

/// An editor that names its workspace by what stands in `roots`.
fn start(workspace: &Workspace, roots: &Value) -> Editor {
    let options = || Options {
        initialize: false,
        ..Options::default()
    };
    let mut editor = Editor::start_with(workspace, options());
    let mut params = editor.initialize_params(&options());
    for (name, value) in roots.as_object().expect("an object") {
        params[name] = value.clone();
    }
    let answer = editor.request("initialize", params).expect("capabilities");
    editor.capabilities = answer["capabilities"].clone();
    editor.notify("initialized", json!({}));
    editor
}

fn of_root(key: &str, value: Value) -> Value {
    let mut roots = json!({"workspaceFolders": null, "rootUri": null, "rootPath": null});
    roots[key] = value;
    roots
}

#[test]
fn a_folder_that_cannot_be_used_is_told_of_with_the_reason() {
    let workspace = Workspace::new();
    let file = workspace.write("file.rs", "// AUTHOR: why?\n");
    let file = file.to_string_lossy();
    let good = format!("file://{}", workspace.root().display());
    for (roots, named, why) in [
        (
            of_root("rootUri", json!("file:///no/such/folder")),
            "`/no/such/folder`",
            "there is no such folder",
        ),
        (
            of_root("rootUri", json!(format!("file://{file}"))),
            &*file,
            "it is no folder",
        ),
        (of_root("rootPath", json!("~")), "`~`", "no such folder"),
        (of_root("rootPath", json!("")), "``", "no such folder"),
        (
            of_root("rootUri", json!("/no/uri")),
            "`/no/uri`",
            "it is no `file:` URI",
        ),
        (
            of_root(
                "workspaceFolders",
                json!([{"uri": good, "name": "w"}, {"uri": "file:///gone", "name": "g"}]),
            ),
            "`/gone`",
            "there is no such folder",
        ),
    ] {
        let mut editor = start(&workspace, &roots);
        let said = editor.wait_saying("window/showMessage", "left out of the workspace");
        let text = said["message"].as_str().unwrap_or_default();
        assert!(
            text.contains(named) && text.contains(why),
            "{roots}: {said}"
        );
        assert_eq!(said["type"], 2, "{said}");
        // Once, and not for those that can be used.
        assert!(!text.contains(&format!("`{}`", workspace.root().display())));
        editor.settle();
        assert_eq!(told(&editor), 1);
    }
}

fn told(editor: &Editor) -> usize {
    let state = editor.state();
    let said = state.received.iter().filter(|message| {
        message["method"] == "window/showMessage"
            && message.to_string().contains("left out of the workspace")
    });
    said.count()
}

#[test]
fn no_folder_at_all_is_no_fault_and_one_that_comes_later_is_told_of_too() {
    let workspace = Workspace::new();
    // Nor one that an editor keeps elsewhere.
    let mut elsewhere = start(&workspace, &of_root("rootUri", json!("remote://host/x")));
    elsewhere.settle();
    assert_eq!(told(&elsewhere), 0);
    let mut editor = start(&workspace, &of_root("rootUri", Value::Null));
    editor.settle();
    assert_eq!(told(&editor), 0);
    let added = json!([{"uri": "file:///no/such/folder", "name": "n"}]);
    editor.notify(
        "workspace/didChangeWorkspaceFolders",
        json!({"event": {"added": added, "removed": []}}),
    );
    editor.wait_saying(
        "window/showMessage",
        "`/no/such/folder` (there is no such folder)",
    );
}

#[test]
fn a_folder_with_a_number_sign_that_is_not_encoded_is_that_folder() {
    let workspace = Workspace::new();
    let file = workspace.write("w sp#é?x/a.rs", "// AUTHOR: why?\nfn a() {}\n");
    let folder = file.parent().expect("a folder");
    let mut editor = start(
        &workspace,
        &of_root("rootUri", json!(format!("file://{}", folder.display()))),
    );
    let listed = editor
        .command("postil.listThreads", json!({}))
        .expect("a list");
    assert!(listed.to_string().contains("why?"), "{listed}");
    assert_eq!(told(&editor), 0);
    // So is a file of it.
    let uri = format!("file://{}", file.display());
    editor.notify(
        "textDocument/didOpen",
        json!({"textDocument": {"uri": uri, "languageId": "rust", "version": 1, "text": "// AUTHOR: so?\nfn a() {}\n"}}),
    );
    let position = json!({"line": 0, "character": 0});
    let actions = editor.request(
        "textDocument/codeAction",
        json!({"textDocument": {"uri": uri}, "range": {"start": position, "end": position}, "context": {"diagnostics": []}}),
    );
    let actions = actions.expect("actions");
    assert!(actions.to_string().contains("Reply as agent"), "{actions}");
}
