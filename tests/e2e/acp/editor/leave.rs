//! What a prompt may do in a folder that others have written in: whom it asks, and what it changes.

use serde_json::json;

use super::{Client, text};
use crate::acp::{CODE, FILE};
use crate::harness::Workspace;
use crate::model::{Model, Step};

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
