//! The documents that are open in an editor: read, and edited by their version.

use serde_json::{Value, json};

use super::agent::Agent;
use super::editor::listening;
use super::{QUESTION, workspace};

#[test]
fn an_open_document_is_read_and_edited_by_its_version() {
    let workspace = workspace();
    workspace.configure(
        "[permissions]\nrules = [{ tool = \"file_edit\", pattern = \"*\", action = \"ask\" }]\n",
    );
    let editor = listening(&workspace);
    editor.open("src/a.rs");
    editor.splice("src/a.rs", 0..0, "fn new() {}\n");
    editor.diagnostics("src/a.rs");
    let mut agent = Agent::start(&workspace);
    let open = agent.call("buffer_read", json!({}));
    assert_eq!(open["buffers"][0]["file"], "src/a.rs");
    assert_eq!(open["buffers"].as_array().map(Vec::len), Some(1));
    let read = agent.call("buffer_read", json!({"path": "src/a.rs"}));
    let text = format!("fn new() {{}}\n{QUESTION}");
    assert_eq!(read["text"], text.as_str());
    assert_eq!(read["version"], open["buffers"][0]["version"]);
    let part = agent.call(
        "buffer_read",
        json!({"path": "src/a.rs", "line": 2, "lines": 1}),
    );
    assert_eq!(
        part["text"],
        text.lines()
            .nth(1)
            .map(|l| format!("{l}\n"))
            .expect("a line")
    );
    assert_eq!(
        (&part["first_line"], &part["last_line"]),
        (&json!(2), &json!(2))
    );
    let edit = |version: &Value, old: &str, new: &str| json!({"path": "src/a.rs", "version": version, "old_text": old, "new_text": new});

    // Not before the person trusts the folder, and says yes.
    let wanted = edit(&read["version"], "fn new() {}", "fn newer() {}");
    let (sentence, code) = agent.refused("buffer_edit", wanted.clone());
    assert_eq!(code, "refused");
    assert!(sentence.contains("not trusted"), "{sentence}");
    let trusted = workspace.postil().args(["trust", "--yes"]).status();
    assert!(trusted.is_ok_and(|status| status.success()));
    let (sentence, _) = agent.refused("buffer_edit", wanted.clone());
    assert!(sentence.contains("Nobody answered"), "{sentence}");
    editor.state().choices = vec![String::from("Refuse")];
    let (sentence, _) = agent.refused("buffer_edit", wanted.clone());
    assert!(sentence.contains("refused"), "{sentence}");
    assert_eq!(editor.text("src/a.rs"), text);
    editor.state().choices = vec![String::from("Allow in this workspace")];
    let done = agent.call_raw("buffer_edit", wanted.clone());
    assert_ne!(done["isError"], true, "{done}");
    assert!(editor.text("src/a.rs").starts_with("fn newer() {}\n"));
    assert_eq!(
        workspace.read("src/a.rs"),
        QUESTION,
        "the file is the author's to save"
    );

    // What was read is no longer what stands there.
    let (sentence, code) = agent.refused("buffer_edit", wanted);
    assert_eq!(code, "changed");
    assert!(sentence.contains("nothing was changed"), "{sentence}");
    let now = done["structuredContent"]["version"].clone();
    let thread = edit(&now, QUESTION.lines().next().expect("a line"), "// gone");
    let (_, code) = agent.refused("buffer_edit", thread);
    assert_eq!(code, "refused", "a thread's lines stay");
    for (old, new) in [("fn nowhere", "x"), ("fn", "x"), ("", "x"), ("fn", "fn")] {
        let (sentence, code) = agent.refused("buffer_edit", edit(&now, old, new));
        assert_eq!(code, "refused");
        assert!(sentence.contains("`old_text`"), "{sentence}");
        // What there is not.
        for absent in ["_string", "replace_all", "file_"] {
            assert!(!sentence.contains(absent), "{sentence}");
        }
    }
    let (_, code) = agent.refused("buffer_read", json!({"path": "b.py"}));
    assert_eq!(code, "not_open");
    let (_, code) = agent.refused("buffer_read", json!({"path": "../x"}));
    assert_eq!(code, "file");

    let told = agent.call("diagnostics", json!({"path": "src/a.rs"}));
    assert_eq!(told["version"], now);
    assert_eq!(told["diagnostics"][0]["code"], "pending");
    assert_eq!(told["diagnostics"][0]["line"], 2);
}

#[test]
fn a_line_that_is_too_long_is_read_in_part() {
    let workspace = workspace();
    let editor = listening(&workspace);
    // The limit falls into a character.
    let long = format!("x{}", "é".repeat(200_000));
    editor.open_text("src/a.rs", "rust", &format!("// first\n{long}\n// last\n"));
    editor.diagnostics("src/a.rs");
    let mut agent = Agent::start(&workspace);
    let mut read = |line: usize| {
        let read = json!({"path": "src/a.rs", "line": line});
        agent.call("buffer_read", read)
    };
    let whole = read(1);
    assert_eq!(
        (&whole["text"], &whole["last_line"]),
        (&json!("// first\n"), &json!(1))
    );
    assert_eq!(whole.get("cut"), None);
    let part = read(2);
    let text = part["text"].as_str().expect("a text");
    assert!(
        text.len() > 200_000 && long.starts_with(text),
        "{}",
        text.len()
    );
    assert_eq!(part["last_line"], 2);
    assert!(
        part["cut"]
            .as_str()
            .is_some_and(|cut| cut.contains("line 2")),
        "{}",
        part["cut"]
    );
    assert_eq!(read(3)["text"], "// last\n");
}
