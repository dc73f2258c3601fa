//! What a prompt may do in a folder that others have written in: whom it asks, and what it changes.

use serde_json::json;

use super::{Client, bench, text};
use crate::acp::{CODE, FILE, THREAD, cli};
use crate::harness::Workspace;
use crate::model::{Model, Step, call};

#[test]
fn a_repository_that_is_not_trusted_does_not_say_who_answers() {
    let mine = Model::start(vec![Step::text("Mine."), Step::text("Mine again.")]);
    let theirs = Model::start(vec![Step::text("Theirs.")]);
    let workspace = Workspace::new();
    workspace.write(FILE, CODE);
    workspace.write("postil.toml", "model = \"company/m\"\n");
    workspace.configure(&format!(
        "model = \"anthropic/claude-sonnet-4-5\"\n[providers.company]\nbaseUrl = \"{}\"\n",
        theirs.v1()
    ));
    let mut client = Client::start(&workspace, &mine, None);
    for answer in ["Mine.", "Mine again."] {
        client.prompt(text("what does load return?"));
        assert!(client.said().ends_with(answer), "{}", client.said());
    }
    assert_eq!(theirs.requests().len(), 0);
    let told = json!(client.updates).to_string();
    let note = "`company/m`, which this workspace's settings name, is not asked before you trust the folder";
    assert_eq!(told.matches(note).count(), 1, "{told}");
}

/// The author has typed its id, and not what it asks for.
#[test]
fn a_thread_that_came_with_the_files_is_asked_about_before_it_changes_them() {
    let edit = || {
        let edit = json!({"path": FILE, "old_string": "    7", "new_string": "    8"});
        [
            Step::calls(vec![call("toolu_1", "file_read", json!({"path": FILE}))]),
            Step::calls(vec![call("toolu_2", "file_edit", edit)]),
            Step::text("Done."),
        ]
    };
    for (takes, question, becomes) in [
        (None, true, "    7\n"),
        (Some("Allow edits"), true, "    8\n"),
        // Typed here.
        (None, false, "    8\n"),
    ] {
        let (workspace, model) = bench(edit().into());
        match question {
            true => drop(workspace.write(FILE, format!("{THREAD}{CODE}"))),
            false => drop(cli(&workspace, &["new", "src/net.rs:1", "return 8"])),
        }
        let (_, threads, _) = cli(&workspace, &["threads", "--json"]);
        let threads: serde_json::Value = serde_json::from_str(&threads).expect("threads");
        let id = threads["threads"][0]["id"].as_str().expect("an id");
        let mut client = Client::start(&workspace, &model, None);
        client.takes = takes;
        let end = client.prompt(text(&format!("answer {id} please")));
        assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
        let file = workspace.read(FILE);
        assert!(
            file.contains(becomes) && file.contains("AGENT: Done."),
            "{takes:?}: {file}"
        );
        let asked = json!(client.asked).to_string();
        assert_eq!(asked.contains("was not typed here"), question, "{asked}");
    }
}
