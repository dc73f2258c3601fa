//! The author's rules and settings hold for an outside agent, also where it reads and writes through us.

use serde_json::{Value, json};

use super::asking::{chosen, told_and_said};
use super::{FILE, all, asking, note, reply, workspace, workspace_under};

const NONE_OF_FILES: &str = "[[permissions.rules]]\ntool = 'file_*'\naction = 'deny'\n";
const SWITCHED_OFF: &str = "[tools]\ndisabled = ['file_write', 'file_edit', 'patch_apply']\n";

fn write(path: &str) -> Value {
    json!({"write": {"path": path, "content": "changed\n"}})
}

#[test]
fn what_it_writes_through_us_is_held_by_rules() {
    let both = json!({"steps": [write("src/new.rs"), write("src/other.rs"), {"say": "Done."}]});
    for settings in [
        NONE_OF_FILES,
        SWITCHED_OFF,
        "[permissions]\ndefault = 'deny'\n",
        "[permissions]\ndefault = 'ask'\n",
        "[[permissions.rules]]\ntool = '*'\npattern = 'src/*'\naction = 'deny'\n",
    ] {
        let workspace = workspace_under(&both, settings);
        workspace.write("src/other.rs", "fn other() {}\n");
        reply(&workspace);
        for written in all(&workspace, "write") {
            assert!(written["error"].is_object(), "{settings}: {written}");
        }
        assert!(!workspace.path("src/new.rs").exists(), "{settings}");
        assert_eq!(workspace.read("src/other.rs"), "fn other() {}\n");
    }
    // What it makes is written, what it changes is edited.
    let new = "[[permissions.rules]]\ntool = 'file_write'\naction = 'deny'\n";
    let workspace = workspace_under(&both, new);
    workspace.write("src/other.rs", "fn other() {}\n");
    reply(&workspace);
    assert!(!workspace.path("src/new.rs").exists());
    assert_eq!(workspace.read("src/other.rs"), "changed\n");
}

#[test]
fn what_it_reads_through_us_is_held_by_rules() {
    let secrets =
        "[[permissions.rules]]\ntool = 'file_read'\npattern = 'secrets/*'\naction = 'deny'\n";
    let script = json!({"steps": [
        {"read": {"path": "secrets/key"}}, {"read": {"path": "link"}}, {"read": {"path": FILE}}, {"say": "Done."}]});
    for (settings, other) in [
        (secrets, true),
        ("[tools]\ndisabled = ['file_read']\n", false),
    ] {
        let workspace = workspace_under(&script, settings);
        workspace.write("secrets/key", "a secret\n");
        std::os::unix::fs::symlink("secrets/key", workspace.path("link")).expect("linked");
        reply(&workspace);
        let read = all(&workspace, "read");
        assert!(read[0]["error"].is_object(), "{read:?}");
        assert!(read[1]["error"].is_object(), "{read:?}");
        assert_eq!(read[2]["result"].is_object(), other, "{read:?}");
    }
}

/// A file that runs something is asked about, once, by whatever name.
#[test]
fn attack_04_what_it_writes_through_us_is_asked_where_it_can_run() {
    let script = json!({"steps": [write(".envrc"), write("sub/.vimrc"), {"say": "Done."}]});
    let linked = |workspace: &crate::harness::Workspace| {
        workspace.write("src/other.rs", "fn other() {}\n");
        workspace.write("sub/x", "");
        std::os::unix::fs::symlink("../src/other.rs", workspace.path("sub/.vimrc"))
            .expect("linked");
    };
    let alone = workspace(&script);
    linked(&alone);
    let (_, _, err) = reply(&alone);
    for written in all(&alone, "write") {
        assert!(written["error"].is_object(), "{written}: {err}");
    }
    assert!(!alone.path(".envrc").exists());
    assert_eq!(alone.read("src/other.rs"), "fn other() {}\n");
    let ground = workspace(&script);
    linked(&ground);
    let mut editor = asking(&ground);
    for _ in 0..2 {
        editor.state().choices.push(String::from("Allow once"));
    }
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    assert_eq!(ground.read(".envrc"), "changed\n");
    let state = editor.state();
    let asked = state.received.iter();
    let asked = asked.filter(|m| m["method"] == "window/showMessageRequest");
    assert_eq!(asked.count(), 2);
}

/// What an edit looks like that the agent makes by itself.
fn edit() -> Value {
    json!({"toolCallId": "1", "title": "Edit net.rs", "kind": "edit", "files": [FILE],
        "content": [{"type": "diff", "path": FILE, "oldText": "    7\n", "newText": "    8\n"}]})
}

#[test]
fn an_edit_of_its_own_is_asked_with_its_diff_where_edits_are_reviewed() {
    let (told, said) = told_and_said(edit(), "");
    assert_eq!(told, chosen("yes"), "{said}");
    let (told, said) = told_and_said(edit(), "[turn]\nreview = 'ask'\n");
    assert_eq!(told, chosen("no"), "{said}");
    assert!(said.contains("past your review"), "{said}");
    let script = json!({"steps": [{"ask": edit()}, {"say": "Done."}]});
    let workspace = workspace_under(&script, "[turn]\nreview = 'ask'\n");
    let mut editor = asking(&workspace);
    editor.state().choices.push(String::from("Allow once"));
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    assert_eq!(note(&workspace, "permission"), chosen("yes"));
    let state = editor.state();
    let received = format!("{:?}", state.received);
    assert!(received.contains("past your review"), "{received}");
}

#[test]
fn a_tool_that_is_switched_off_is_off_for_it() {
    let (told, said) = told_and_said(edit(), SWITCHED_OFF);
    assert_eq!(told, chosen("no"), "{said}");
    let command =
        json!({"toolCallId": "1", "title": "ls", "kind": "execute", "rawInput": {"command": "ls"}});
    let settings =
        "[tools]\ndisabled = ['bash']\n[[permissions.rules]]\ntool = 'bash'\naction = 'allow'\n";
    let (told, said) = told_and_said(command, settings);
    assert_eq!(told, chosen("no"), "{said}");
}
