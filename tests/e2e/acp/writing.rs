//! What an outside agent changes: through us, and past us.

use serde_json::{Value, json};

use crate::harness::{Editor, OnApply, Workspace, frame};

use super::{CODE, FILE, THREAD, asking, cli, note, noted, reply, rounds, workspace};

const NEW: &str = "pub fn load() -> u32 {\n    8\n}\n";

#[test]
fn it_reads_and_writes_what_the_editor_shows() {
    let changed = format!("{THREAD}{NEW}");
    let workspace = workspace(&json!({"steps": [
        {"read": {"path": FILE}},
        {"read": {"path": FILE, "line": 2, "limit": 1}},
        {"write": {"path": FILE, "content": changed}},
        {"write": {"path": "src/new.rs", "content": "fn new() {}\n"}},
        {"read": {"path": "../../../etc/passwd"}},
        {"write": {"path": "../outside.rs", "content": "x"}},
        {"say": "Changed it."},
    ]}));
    let mut editor = asking(&workspace);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    let text = editor.wait_text(FILE, |text| text.contains("// AGENT: "));
    assert!(
        text.starts_with(&format!("{THREAD}// AGENT: Changed it.\n// AUTHOR:")),
        "{text}"
    );
    assert!(text.ends_with(NEW), "{text}");
    assert_eq!(
        workspace.read(FILE),
        CODE,
        "the disk is the author's to save"
    );
    assert_eq!(workspace.read("src/new.rs"), "fn new() {}\n");
    let answers: Vec<Value> = noted(&workspace)
        .iter()
        .filter_map(|line| line.get("read").or(line.get("write")).cloned())
        .collect();
    assert_eq!(answers[0]["result"]["content"], format!("{THREAD}{CODE}"));
    assert_eq!(answers[1]["result"]["content"], "pub fn load() -> u32 {\n");
    for refused in &answers[4..6] {
        assert!(refused["error"]["message"].is_string(), "{refused}");
    }
    assert!(!workspace.path("../outside.rs").exists());
}

#[test]
fn threads_are_not_its_to_write() {
    let workspace = workspace(&json!({"steps": [
        {"read": {"path": FILE}},
        {"write": {"path": FILE, "content": format!("{THREAD}// AGENT: I answer here.\n{CODE}")}},
        {"say": "It returns 7."},
    ]}));
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(0), "{out}{err}");
    let refused = note(&workspace, "write")["error"]["message"].to_string();
    assert!(refused.contains("AUTHOR: or AGENT: comments"), "{refused}");
    let text = workspace.read(FILE);
    assert!(
        text.contains("// AGENT: It returns 7.") && !text.contains("I answer here"),
        "{text}"
    );
}

#[test]
fn what_the_author_types_is_never_written_over() {
    let workspace = workspace(&json!({"steps": [
        {"write": {"path": FILE, "content": NEW}},
        {"say": "I could not."},
    ]}));
    let mut editor = asking(&workspace);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    editor.wait_text(FILE, |text| text.contains("// AGENT: I could not."));
    let refused = note(&workspace, "write")["error"]["message"].to_string();
    assert!(refused.contains("not saved"), "{refused}");
}

/// Its edit and the author's key meet, and the editor has both: what the agent wrote last is no word of the author's.
#[test]
fn what_the_author_types_while_its_edit_lands_is_never_written_over() {
    let with = |number: &str| format!("{THREAD}{}", CODE.replace('7', number));
    let workspace = workspace(&json!({"steps": [
        {"read": {"path": FILE}},
        {"write": {"path": FILE, "content": with("8")}},
        {"write": {"path": FILE, "content": with("9")}},
        {"read": {"path": FILE}},
        {"write": {"path": FILE, "content": format!("{}// mine\n", with("9"))}},
        {"say": "Changed it."},
    ]}));
    let mut editor = asking(&workspace);
    land(&mut editor, |editor| {
        let end = editor.text(FILE).len();
        editor.splice(FILE, end..end, "// mine\n");
    });
    let text = editor.wait_text(FILE, |text| text.contains("// AGENT: Changed it."));
    assert!(text.ends_with("    9\n}\n// mine\n"), "{text}");
    let written = written(&workspace);
    let refused = written[1]["error"]["message"].to_string();
    assert!(refused.contains("changed since you read it"), "{refused}");
    assert!(
        !refused.contains("file_"),
        "a tool that it has not: {refused}"
    );
    assert!(written[2]["error"].is_null(), "{written:?}");
}

#[test]
fn an_editor_with_line_ends_of_its_own_takes_every_write() {
    let with = |number: &str| format!("{THREAD}{}", CODE.replace('7', number));
    let workspace = workspace(&json!({"steps": [
        {"read": {"path": FILE}},
        {"write": {"path": FILE, "content": with("8")}},
        {"write": {"path": FILE, "content": with("9")}},
        {"say": "Changed it."},
    ]}));
    let mut editor = asking(&workspace);
    land(&mut editor, |editor| {
        let text = editor.text(FILE);
        editor.splice(FILE, 0..text.len(), &text.replace('\n', "\r\n"));
    });
    let text = editor.wait_text(FILE, |text| text.contains("// AGENT: Changed it."));
    assert!(text.contains("    9"), "{text}");
    for written in written(&workspace) {
        assert!(written["error"].is_null(), "{written}");
    }
}

#[test]
fn a_write_that_changes_nothing_has_seen_the_file() {
    let write = |text: &str| json!({"write": {"path": "src/other.rs", "content": text}});
    let workspace = workspace(&json!({"steps": [
        write("fn other() {}\n"),
        {"disk": {"path": "src/other.rs", "content": "fn mine() {}\n"}},
        write("fn another() {}\n"),
        {"say": "I could not."},
    ]}));
    workspace.write("src/other.rs", "fn other() {}\n");
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(workspace.read("src/other.rs"), "fn mine() {}\n");
    let written = written(&workspace);
    assert!(written[0]["error"].is_null(), "{written:?}");
    let refused = written[1]["error"]["message"].to_string();
    assert!(refused.contains("changed since you read it"), "{refused}");
}

/// Has the agent asked, and its first edit, 7 to 8, made beside what the author does at that moment.
fn land(editor: &mut Editor, meanwhile: impl FnOnce(&Editor)) {
    editor.state().on_apply = OnApply::Ignore;
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    let id = editor.wait_for("the agent's edit", |state| {
        let mut asked = state.received.iter();
        let asked = asked.find(|m| m["method"] == "workspace/applyEdit");
        asked.map(|m| m["id"].clone())
    });
    editor.replace(FILE, "7", "8");
    meanwhile(editor);
    editor.state().on_apply = OnApply::Apply;
    editor.send_raw(&frame(
        &json!({"jsonrpc": "2.0", "id": id, "result": {"applied": true}}),
    ));
}

/// The answers that its writes got.
fn written(workspace: &Workspace) -> Vec<Value> {
    let noted = noted(workspace);
    let written = noted.iter().filter_map(|line| line.get("write").cloned());
    written.collect()
}

/// What a call looks like that changes a file by itself.
fn direct(id: &str, file: &str, content: &str) -> Vec<Value> {
    vec![
        json!({"call": {"toolCallId": id, "title": format!("Edit {file}"), "kind": "edit", "status": "pending", "files": [file]}}),
        json!({"ask": {"toolCallId": id}}),
        json!({"disk": {"path": file, "content": content}}),
        json!({"more": {"toolCallId": id, "status": "completed"}}),
    ]
}

#[test]
fn what_it_changes_past_us_is_told_and_can_be_undone() {
    let mut steps = direct("1", "src/other.rs", "fn other() { 2 }\n");
    steps.extend(direct("2", "src/made.rs", "fn made() {}\n"));
    // Told of only when it is done.
    steps.push(json!({"disk": {"path": "src/late.rs", "content": "one\nTWO\nthree\n"}}));
    steps.push(
        json!({"call": {"toolCallId": "3", "title": "Edit", "kind": "edit", "status": "completed",
        "content": [{"type": "diff", "path": "src/late.rs", "oldText": "two", "newText": "TWO"}]}}),
    );
    steps.push(json!({"say": "Changed three files."}));
    let workspace = workspace(&json!({"steps": steps}));
    workspace.write("src/other.rs", "fn other() { 1 }\n");
    workspace.write("src/late.rs", "one\ntwo\nthree\n");
    let before = workspace.read(FILE);
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(workspace.read("src/other.rs"), "fn other() { 2 }\n");
    let said = "scripted changed src/other.rs, src/made.rs, src/late.rs on disk by itself; Undo last turn puts it back.";
    assert!(err.contains(said), "{err}");
    let rounds = rounds(&workspace);
    assert!(
        rounds.iter().any(|round| round["content"] == said),
        "{rounds:?}"
    );
    let (_, runs, _) = cli(&workspace, &["workflow", "list", "--json"]);
    let runs: Value = serde_json::from_str(&runs).expect("runs");
    let (code, out, err) = cli(
        &workspace,
        &["undo", runs[0]["id"].as_str().expect("an id")],
    );
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(workspace.read("src/other.rs"), "fn other() { 1 }\n");
    assert_eq!(workspace.read("src/late.rs"), "one\ntwo\nthree\n");
    assert!(!workspace.path("src/made.rs").exists());
    assert_eq!(workspace.read(FILE), before);
}

#[test]
fn what_cannot_be_put_back_is_said() {
    let workspace = workspace(&json!({"steps": [
        {"disk": {"path": "src/other.rs", "content": "b\n"}},
        {"call": {"toolCallId": "1", "title": "Edit", "kind": "edit", "status": "completed", "files": ["src/other.rs"]}},
        {"say": "Changed it."},
    ]}));
    workspace.write("src/other.rs", "a\n");
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        err.contains("what stood there before is not known here"),
        "{err}"
    );
}

#[test]
fn an_open_file_that_it_changed_on_disk_is_told_of() {
    let workspace = workspace(&json!({"steps": [
        {"disk": {"path": FILE, "content": NEW}},
        {"say": "Changed it."},
    ]}));
    let mut editor = asking(&workspace);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Changed it."));
    editor.wait_message("window/showMessage", |params| {
        params.get("params").unwrap_or(params)["message"]
            .as_str()
            .is_some_and(|text| text.contains("src/net.rs differs from what your editor shows"))
    });
    assert!(
        editor.text(FILE).contains("    7\n"),
        "the author's text stands"
    );
}

#[test]
fn a_file_that_is_gone_since_it_was_read_can_be_made_anew() {
    let write = json!({"write": {"path": "src/other.rs", "content": "fn new() {}\n"}});
    let workspace = workspace(&json!({"steps": [
        {"read": {"path": "src/other.rs"}},
        {"remove": "src/other.rs"},
        write,
        write,
        {"remove": "src/other.rs"},
        // Told of it by a read, it knows.
        {"read": {"path": "src/other.rs"}},
        write,
        {"say": "Made it anew."},
    ]}));
    workspace.write("src/other.rs", "fn old() {}\n");
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(0), "{out}{err}");
    let written = written(&workspace);
    let refused = written[0]["error"]["message"].to_string();
    assert!(
        refused.contains("was removed or renamed since you read it"),
        "{refused}"
    );
    assert!(
        !refused.contains("file_"),
        "a tool that it has not: {refused}"
    );
    for written in &written[1..] {
        assert!(written["error"].is_null(), "{written}");
    }
    assert_eq!(workspace.read("src/other.rs"), "fn new() {}\n");
}
