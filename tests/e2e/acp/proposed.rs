//! Nothing is configured, and an agent is found on PATH: it is asked for once.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{FILE, THREAD, command, noted, trust};
use crate::harness::{Editor, Options, Workspace};

/// Codex on the user's PATH, by a script of ours; its folder.
pub(super) fn installed() -> (Workspace, String) {
    let workspace = Workspace::new();
    workspace.write(FILE, super::CODE);
    let bin = workspace.root().parent().expect("a folder").join("bin");
    std::fs::create_dir(&bin).expect("made");
    let words: Vec<String> = command(&workspace, &json!({"steps": [{"say": "Done."}]}))
        .iter()
        .map(|word| format!("'{word}'"))
        .collect();
    let fake = bin.join("codex-acp");
    std::fs::write(&fake, format!("#!/bin/sh\nexec {}\n", words.join(" "))).expect("written");
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    trust(&workspace);
    (workspace, path)
}

fn editor(workspace: &Workspace, path: &str) -> Editor {
    let editor = Editor::start_with(
        workspace,
        Options {
            env: vec![(String::from("PATH"), path.to_owned())],
            initialization_options: json!({"trusted": true}),
            ..Options::default()
        },
    );
    editor.open(FILE);
    editor.splice(FILE, 0..0, THREAD);
    editor.wait_codes(FILE, &["pending"]);
    editor
}

fn questions(editor: &Editor) -> usize {
    let state = editor.state();
    let asked = state.received.iter().filter(|message| {
        message["method"] == "window/showMessageRequest"
            && message["params"]["message"]
                .as_str()
                .is_some_and(|text| text.starts_with("Use Codex, found on PATH, to answer?"))
    });
    asked.count()
}

#[test]
fn the_author_says_yes_once() {
    let (workspace, path) = installed();
    let mut first = editor(&workspace, &path);
    first.state().choices.push(String::from("Use Codex"));
    first
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    first.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    assert_eq!(questions(&first), 1);
    drop(first);
    let mut second = editor(&workspace, &path);
    second
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    second.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    assert_eq!(questions(&second), 0);
}

#[test]
fn the_author_says_no_once() {
    let (workspace, path) = installed();
    for asked in [1, 0] {
        let mut editor = editor(&workspace, &path);
        editor.state().choices.push(String::from("No"));
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("a turn");
        editor.wait_text(FILE, |text| text.contains("// AGENT: "));
        assert_eq!(questions(&editor), asked);
    }
    assert!(noted(&workspace).is_empty(), "it was not started");
}

#[test]
fn where_nobody_can_be_asked_it_is_not_used() {
    let (workspace, path) = installed();
    workspace.write(FILE, format!("{THREAD}{}", super::CODE));
    let mut command = workspace.postil();
    command.args(["reply", "--all", "--yes"]).env("PATH", path);
    assert!(command.output().expect("it runs").status.success());
    assert!(workspace.read(FILE).contains("// AGENT: "));
    assert!(noted(&workspace).is_empty(), "it was not started");
    assert!(!workspace.data().join("agents.json").exists());
}

#[test]
fn doctor_says_how_it_is_chosen() {
    let (workspace, path) = installed();
    let said = || {
        let mut command = workspace.postil();
        command.arg("doctor").env("PATH", &path);
        let output = command.output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let before = said();
    assert!(
        before.contains("found on PATH: Codex; to have one answer, set model = \"acp/codex\""),
        "{before}"
    );
    workspace.configure("model = 'acp/codex'\n");
    let chosen = said();
    assert!(
        chosen.contains("Codex, because `model` names it")
            && !chosen.contains("found on PATH: Codex"),
        "{chosen}"
    );
}
