//! A document in no folder of the workspace: it is shown, and what to do is said.

use serde_json::json;

use crate::harness::{Editor, Options, Workspace};

#[test]
fn a_document_outside_every_folder_loses_its_diagnostics_when_closed() {
    let workspace = Workspace::new();
    workspace.write("inside/x.py", "x = 1\n");
    let text = "# AUTHOR: why?\nx = 1\n\n# AUTHOR: and?\n# AGENT: So.\n# AUTHOR:\ny = 2\n";
    workspace.write("outside.py", text);
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            folders: Some(vec![workspace.path("inside")]),
            ..Options::default()
        },
    );
    editor.open("outside.py");
    let shown = editor.wait_codes("outside.py", &["pending", "awaiting_user"]);
    assert_eq!(
        shown[0]["message"],
        "awaiting agent: why? (outside the workspace: open its folder to have it answered)"
    );
    assert_eq!(shown[1]["message"], "agent answered: So.");
    let document = json!({"textDocument": {"uri": editor.uri("outside.py")}});
    let lenses = editor
        .request("textDocument/codeLens", document)
        .expect("lenses");
    let lenses = lenses.as_array().expect("a list");
    assert_eq!(lenses.len(), 1, "one for the file: {lenses:?}");
    let command = &lenses[0]["command"];
    assert_eq!(command["title"], "Outside the workspace: open its folder");
    let name = command["command"].as_str().expect("a command").to_owned();
    let told = editor.command(&name, command["arguments"][0].clone());
    let told = told.expect_err("outside")["message"].to_string();
    assert!(told.contains("open its folder"), "{told}");
    let offered = editor.code_actions("outside.py", 0);
    assert_eq!(offered.len(), 1, "{offered:?}");
    assert_eq!(offered[0]["title"], "Reply as agent", "it says what to do");
    editor.close("outside.py");
    editor.wait_codes("outside.py", &[]);
}

/// Its author did nothing wrong, and has nothing to do about it.
#[test]
fn of_a_document_outside_without_threads_it_is_not_said_that_track_of_it_was_lost() {
    let workspace = Workspace::new();
    workspace.write("inside/x.py", "x = 1\n");
    workspace.write("settings.json", "{}\n");
    workspace.write("notes.py", "# AUTHOR: why?\n");
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            folders: Some(vec![workspace.path("inside")]),
            ..Options::default()
        },
    );
    let said = |editor: &Editor| {
        let state = editor.state();
        let shown = state.received.iter();
        shown
            .filter(|message| message["method"] == "window/showMessage")
            .map(|message| message["params"]["message"].to_string())
            .filter(|message| message.contains("lost track of"))
            .collect::<Vec<_>>()
    };
    for name in ["settings.json", "notes.py", "inside/x.py"] {
        editor.open(name);
        let document = json!({"uri": editor.uri(name), "version": -1});
        let params = json!({"textDocument": document, "contentChanges": [{"text": ""}]});
        editor.notify("textDocument/didChange", params);
    }
    // The answer to this comes behind all that was said before.
    editor
        .command("postil.listThreads", json!({}))
        .expect("a list");
    let said = said(&editor);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("notes.py") && said[1].contains("x.py"));
}
