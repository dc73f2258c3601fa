//! With an editor open on a folder inside the workspace: it knows nothing of the workspace, and has a file unsaved.

use serde_json::json;

use super::{Agent, QUESTION, id_of, workspace};
use crate::harness::{Editor, Options};

#[test]
fn what_an_editor_of_a_nested_folder_has_not_saved_is_left() {
    let workspace = workspace();
    let mut agent = Agent::start(&workspace);
    let id = id_of(&agent.call("get_threads", json!({})), "src/a.rs");
    let options = Options {
        folders: Some(vec![workspace.path("src")]),
        ..Options::default()
    };
    let editor = Editor::listening(&workspace, options);
    editor.open("src/a.rs");
    editor.splice("src/a.rs", 0..0, "// typed\n");
    editor.diagnostics("src/a.rs");
    for (tool, arguments) in [
        (
            "respond_to_thread",
            json!({"thread_id": id, "response": "So."}),
        ),
        ("dismiss_thread", json!({"thread_id": id})),
        ("clear_and_commit", json!({"file": "src/a.rs"})),
    ] {
        let (sentence, code) = agent.refused(tool, arguments);
        assert_eq!(code, "unsaved", "{sentence}");
        assert!(sentence.contains("save it there first"), "{sentence}");
    }
    assert_eq!(workspace.read("src/a.rs"), QUESTION);
    // Of all files that one alone.
    let asked = "// AUTHOR: done\nfn a() {}\n";
    workspace.write("src/a.rs", asked);
    workspace.write("c.rs", asked);
    let left = id_of(&agent.call("get_threads", json!({})), "src/a.rs");
    let done = agent.call("process_all_actions", json!({}));
    assert_eq!(done["success"], false, "{done}");
    let actions = done["actions"].as_array().expect("a list");
    let succeeded = |file: &str| {
        let one = actions.iter().find(|action| action["file"] == file);
        one.map(|action| action["success"].clone())
    };
    assert_eq!(succeeded("c.rs"), Some(json!(true)), "{done}");
    assert_eq!(succeeded("src/a.rs"), Some(json!(false)), "{done}");
    assert_eq!(workspace.read("src/a.rs"), asked);
    assert_eq!(workspace.read("c.rs"), "fn a() {}\n");
    // What was left is no other thread than before.
    let (sentence, code) = agent.refused("dismiss_thread", json!({"thread_id": left}));
    assert_eq!(code, "unsaved", "{sentence}");
}
