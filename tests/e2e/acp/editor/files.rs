//! The files that a prompt names, as the editor names them.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::{Client, bench};
use crate::acp::{CODE, FILE};
use crate::harness::uri_of;
use crate::model::{Step, call};

#[test]
fn a_folder_reached_over_a_link_has_its_files_in_the_editor() {
    let edit = json!({"path": FILE, "old_string": "    7", "new_string": "    8"});
    let (workspace, model) = bench(vec![
        Step::calls(vec![call("toolu_1", "file_read", json!({"path": FILE}))]),
        Step::calls(vec![call("toolu_2", "file_edit", edit)]),
        Step::text("Changed it."),
    ]);
    let folder = workspace.path("../link");
    symlink(workspace.root(), &folder).expect("a link");
    let unsaved = format!("// unsaved\n{CODE}");
    let mut client = Client::start_in(&folder, &workspace, &model, Some(&unsaved));
    let file = folder.join(FILE);
    let end = client.prompt(json!([{"type": "text", "text": "return 8 in "},
        {"type": "resource_link", "uri": uri_of(&file), "name": "net.rs"}]));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    assert_eq!(client.buffer, Some(unsaved.replace("    7", "    8")));
    assert_eq!(workspace.read(FILE), CODE, "it is the author's to save");
    // It knows the file by its own name alone.
    let asked = client.asked.iter();
    let mut files = asked.filter(|(method, _)| method.starts_with("fs/"));
    assert!(
        files.all(|(_, params)| params["path"] == json!(file)),
        "{:?}",
        client.asked
    );
    let called = client.updates.iter().find_map(|u| u.get("locations"));
    assert_eq!(called.expect("a call")[0]["path"], json!(file));
}

#[test]
fn what_a_prompt_embeds_reaches_the_model() {
    let (workspace, model) = bench(vec![Step::text("It returns 7."), Step::text("As before.")]);
    let outside = workspace.write("../outside.txt", "old\n");
    let file = uri_of(&workspace.path(FILE));
    let prompt = json!([
        {"type": "text", "text": "what is"},
        {"type": "resource", "resource": {"uri": format!("{file}#L2:2"), "text": "    8"}},
        {"type": "text", "text": "beside"},
        {"type": "resource", "resource": {"uri": file, "text": "the whole of it"}},
        {"type": "resource", "resource": {"uri": uri_of(&outside), "text": "EMBEDDED"}},
    ]);
    for files in [Some(CODE), None] {
        let mut client = Client::start(&workspace, &model, files);
        let end = client.prompt(prompt.clone());
        assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
        let asked = model.requests().last().expect("a request").prompt();
        let named = format!("what is `{FILE}` (line 2) beside `{FILE}` `");
        for part in [&*named, "```\n        8\n", "EMBEDDED"] {
            assert!(asked.contains(part), "{part}: {asked}");
        }
        // What the editor does not give us is known from its copy alone.
        assert_eq!(
            asked.contains("the whole of it"),
            files.is_none(),
            "{asked}"
        );
    }
}
