//! Formats that know no comments: one would break the file.

use serde_json::json;

use super::titles;
use crate::harness::{Editor, Workspace};

#[test]
fn json_gets_a_new_thread_where_comments_are_allowed() {
    let workspace = Workspace::new();
    let text = "{\n  \"name\": \"x\"\n}\n";
    for name in ["package.json", "allowed.json", "tsconfig.json"] {
        workspace.write(name, text);
    }
    workspace.write("data.csv", "a,b\n1,2\n");
    let mut editor = Editor::start(&workspace);
    editor.open_text("package.json", "json", text);
    editor.open_text("allowed.json", "jsonc", text);
    editor.open_text("tsconfig.json", "json", text);
    editor.open_text("data.csv", "csv", "a,b\n1,2\n");
    for (name, allowed) in [
        ("package.json", false),
        ("data.csv", false),
        ("allowed.json", true),
        ("tsconfig.json", true),
    ] {
        let actions = editor.code_actions(name, 1);
        let offered = titles(&actions).contains(&"New thread here");
        assert_eq!(offered, allowed, "{name}: {actions:?}");
        let uri = editor.uri(name);
        let place = json!({"uri": uri, "position": {"line": 1, "character": 0}, "text": "why?"});
        let begun = editor.command("postil.newThread", place);
        assert_eq!(begun.is_ok(), allowed, "{name}: {begun:?}");
        let has = editor.text(name).contains("// AUTHOR: why?\n");
        assert_eq!(has, allowed, "{name}: {}", editor.text(name));
        if let Err(error) = begun {
            let told = error["message"].to_string();
            assert!(told.contains("have no comments"), "{told}");
        }
    }
}
