//! An agent that the author has not chosen, found on PATH or named by a repository: it is asked for once.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{FILE, THREAD, command, noted, trust};
use crate::harness::{Editor, NEVER, Options, Workspace, frame};

/// Codex on the user's PATH, by a script of ours; its folder.
pub(super) fn installed() -> (Workspace, String) {
    let (workspace, path) = found();
    trust(&workspace);
    (workspace, path)
}

/// The same in a workspace that nobody trusts.
fn found() -> (Workspace, String) {
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

/// Each question is open while the other is answered.
#[test]
fn the_answers_of_two_editors_at_once_are_both_kept() {
    let (workspace, path) = installed();
    let mut asked = Vec::new();
    for (settings, question, thread) in [
        (json!({}), PROPOSED, THREAD),
        (
            json!({"model": "acp/codex", "$user": {}}),
            NAMED,
            "// AUTHOR: and why?\n",
        ),
    ] {
        let mut editor = Editor::start_with(
            &workspace,
            Options {
                env: vec![(String::from("PATH"), path.clone())],
                initialization_options: json!({"trusted": true, "ownSettings": true}),
                settings,
                ..Options::default()
            },
        );
        editor.open(FILE);
        editor.splice(FILE, 0..0, thread);
        editor.wait_codes(FILE, &["pending"]);
        editor.state().choices.push(NEVER.to_owned());
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("a turn");
        let id = editor.wait_for(question, |state| {
            let mut received = state.received.iter();
            let asks = |message: &&Value| {
                message["method"] == "window/showMessageRequest"
                    && message["params"]["message"]
                        .as_str()
                        .is_some_and(|text| text.starts_with(question))
            };
            received.find(asks).map(|message| message["id"].clone())
        });
        asked.push((editor, id));
    }
    for (editor, id) in asked {
        let result = json!({"title": "Use Codex"});
        editor.send_raw(&frame(
            &json!({"jsonrpc": "2.0", "id": id, "result": result}),
        ));
        editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    }
    let kept = std::fs::read_to_string(workspace.data().join("agents.json"));
    let kept: Value = serde_json::from_str(&kept.expect("read")).expect("JSON");
    let both = json!({"version": 1, "answers": "codex", "named": {"codex": true}});
    assert_eq!(kept, both);
}

#[test]
fn what_is_damaged_of_the_answers_is_left_and_told() {
    let (workspace, path) = installed();
    let record = workspace.data().join("agents.json");
    std::fs::write(&record, "{\"version\": 1, ").expect("written");
    let Some(seen) = on_a_terminal(&workspace, &path, "1\n1\n") else {
        return;
    };
    assert!(workspace.read(FILE).contains("// AGENT: Done."), "{seen}");
    assert!(
        seen.contains("agents.json is damaged: move it away, then answer again"),
        "{seen}"
    );
    let left = std::fs::read_to_string(record).expect("read");
    assert_eq!(left, "{\"version\": 1, ");
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

/// What `postil ARGS` prints where Codex is on PATH.
fn printed(workspace: &Workspace, path: &str, args: &[&str]) -> String {
    let mut command = workspace.postil();
    let output = command.args(args).env("PATH", path).output();
    String::from_utf8_lossy(&output.expect("it runs").stdout).into_owned()
}

#[test]
fn who_answers_is_told_as_the_author_said_it() {
    // Whom they were asked about, what they said, and whether that counts.
    for (settings, kept, trusted, answers) in [
        ("", json!({"answers": "codex"}), true, true),
        ("", json!({"answers": null}), true, false),
        ("", json!({"answers": "codex"}), false, false),
        (
            "model = 'acp/codex'\n",
            json!({"named": {"codex": true}}),
            true,
            true,
        ),
        (
            "model = 'acp/codex'\n",
            json!({"named": {"codex": false}}),
            true,
            false,
        ),
    ] {
        let (workspace, path) = found();
        workspace.write("postil.toml", settings);
        if trusted {
            trust(&workspace);
        }
        let mut whole = json!({"version": 1});
        let said = kept.as_object().expect("an object").clone();
        whole.as_object_mut().expect("an object").extend(said);
        std::fs::create_dir_all(workspace.data()).expect("made");
        std::fs::write(workspace.data().join("agents.json"), whole.to_string()).expect("kept");
        let doctor = printed(&workspace, &path, &["doctor"]);
        let about = format!("{settings}{kept}{trusted}: {doctor}");
        assert_eq!(doctor.contains("Codex, because "), answers, "{about}");
        assert_eq!(doctor.contains("none, because "), !answers, "{about}");
        assert_eq!(doctor.contains("the first turn asks"), !trusted, "{about}");
        let model = printed(&workspace, &path, &["model", "--json"]);
        let model: Value = serde_json::from_str(&model).expect("JSON");
        let name = if answers { "acp/codex" } else { "offline" };
        assert_eq!(model["answers"]["model"], name, "{about} {model}");
        // And so it is.
        workspace.write(FILE, format!("{THREAD}{}", super::CODE));
        printed(&workspace, &path, &["reply", "--all", "--yes"]);
        assert_eq!(!noted(&workspace).is_empty(), answers, "{about}");
    }
}

/// A question answered by `keys` on a terminal, of a turn begun by `postil reply --all`; what is seen there.
fn on_a_terminal(workspace: &Workspace, path: &str, keys: &str) -> Option<String> {
    workspace.write(FILE, format!("{THREAD}{}", super::CODE));
    workspace.on_a_terminal("reply --all", Some(path), keys)
}

const PROPOSED: &str = "Use Codex, found on PATH, to answer?";
const NAMED: &str = "Use Codex, which this workspace's settings name, to answer?";

#[test]
fn on_a_terminal_the_question_is_a_prompt() {
    // The question about edits comes first, for this thread came with the file.
    for (keys, used, kept) in [
        ("1\n1\n", true, true),
        ("1\n2\n", false, true),
        ("1\n\n", false, false),
    ] {
        let (workspace, path) = installed();
        let Some(seen) = on_a_terminal(&workspace, &path, keys) else {
            return;
        };
        assert!(seen.contains(PROPOSED), "{keys:?}: {seen}");
        assert_eq!(!noted(&workspace).is_empty(), used, "{keys:?}: {seen}");
        let text = workspace.read(FILE);
        assert_eq!(text.contains("// AGENT: Done."), used, "{keys:?}: {text}");
        assert!(text.contains("// AGENT: "), "{keys:?}: {text}");
        assert_eq!(
            workspace.data().join("agents.json").exists(),
            kept,
            "{keys:?}"
        );
        if kept {
            let again = on_a_terminal(&workspace, &path, "1\n").expect("a terminal");
            assert!(!again.contains(PROPOSED), "asked once: {again}");
        }
    }
}

#[test]
fn attack_01_an_agent_that_a_repository_names_answers_after_a_question_of_its_own() {
    for (keys, asked, used, named) in [
        // Read-only: it is not asked about, for it is not started in what is not trusted.
        ("2\n", false, false, json!(null)),
        // Trusted, edits allowed: that is no word about the agent.
        ("1\n1\n\n", true, false, json!(null)),
        ("1\n1\n2\n", true, false, json!({"codex": false})),
        ("1\n1\n1\n", true, true, json!({"codex": true})),
    ] {
        let (workspace, path) = found();
        let evil = workspace.path("../evil");
        workspace.write(
            "evil.sh",
            format!("#!/bin/sh\ntouch '{}'\n", evil.display()),
        );
        let program = workspace.path("evil.sh");
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755))
            .expect("a program");
        workspace.write(
            "postil.toml",
            "model = 'acp/codex'\n[agents.codex]\ncommand = './evil.sh'\n",
        );
        let forged = json!({"version": 1, "answers": "codex", "named": {"codex": true}});
        for place in ["agents.json", ".postil/agents.json"] {
            workspace.write(place, forged.to_string());
        }
        let Some(seen) = on_a_terminal(&workspace, &path, keys) else {
            return;
        };
        assert_eq!(seen.contains(NAMED), asked, "{keys:?}: {seen}");
        assert!(!seen.contains(PROPOSED), "{keys:?}: {seen}");
        assert_eq!(!noted(&workspace).is_empty(), used, "{keys:?}: {seen}");
        assert_eq!(
            workspace.read(FILE).contains("// AGENT: Done."),
            used,
            "{keys:?}: {seen}"
        );
        let kept = std::fs::read_to_string(workspace.data().join("agents.json"));
        let kept: Value = kept.map_or(json!({}), |kept| serde_json::from_str(&kept).expect("JSON"));
        assert_eq!(kept["named"], named, "{keys:?}: {kept}");
        assert_eq!(
            kept.get("answers"),
            None,
            "no word about other workspaces: {kept}"
        );
        if !named.is_null() {
            let again = on_a_terminal(&workspace, &path, "1\n").expect("a terminal");
            assert!(!again.contains(NAMED), "asked once: {again}");
            assert_eq!(
                workspace.read(FILE).contains("// AGENT: Done."),
                used,
                "{again}"
            );
        }
        assert!(!evil.exists(), "{keys:?}: the repository's program ran");
    }
}

#[test]
fn attack_01_an_agent_that_an_editors_settings_of_the_workspace_name_is_asked_about() {
    let theirs = "Use Codex, which the editor's settings name, to answer?";
    // What the user's own settings are, whether the editor tells them apart, and which question is needed.
    for (own, knows, asked) in [
        (json!({"model": "offline"}), true, Some(NAMED)),
        (json!({}), true, Some(NAMED)),
        (json!({"model": "acp/codex"}), true, None),
        (json!({}), false, Some(theirs)),
        (json!({"model": "acp/codex"}), false, None),
    ] {
        let (workspace, path) = installed();
        let mut settings = json!({"model": "acp/codex"});
        if knows {
            settings["$user"] = own.clone();
        } else if let Some(model) = own["model"].as_str() {
            workspace.configure(&format!("model = \"{model}\"\n"));
        }
        let mut editor = Editor::start_with(
            &workspace,
            Options {
                env: vec![(String::from("PATH"), path)],
                initialization_options: json!({"trusted": true, "ownSettings": knows}),
                settings,
                ..Options::default()
            },
        );
        editor.open(FILE);
        editor.splice(FILE, 0..0, THREAD);
        editor.wait_codes(FILE, &["pending"]);
        editor.state().choices.push(String::from("No"));
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("a turn");
        let text = editor.wait_text(FILE, |text| text.contains("// AGENT: "));
        let is_asked = asked.is_some();
        assert_eq!(text.contains("// AGENT: Done."), !is_asked, "{own}: {text}");
        assert_eq!(noted(&workspace).is_empty(), is_asked, "{own}");
        let state = editor.state();
        let questions = state.received.iter().filter(|message| {
            let text = message["params"]["message"].as_str().unwrap_or_default();
            message["method"] == "window/showMessageRequest"
                && text.starts_with(asked.unwrap_or("Use Codex"))
        });
        assert_eq!(questions.count(), usize::from(is_asked), "{own}");
    }
}

#[test]
fn an_agent_that_the_author_names_too_is_not_asked_about() {
    let (workspace, path) = installed();
    workspace.write("postil.toml", "model = 'acp/codex'\n");
    trust(&workspace);
    // Nobody could be asked either.
    let reply = || {
        workspace.write(FILE, format!("{THREAD}{}", super::CODE));
        let mut command = workspace.postil();
        command.args(["reply", "--all", "--yes"]).env("PATH", &path);
        let output = command.output().expect("it runs");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = reply();
    assert!(
        said.contains("was not used, for nobody allowed it"),
        "{said}"
    );
    assert!(noted(&workspace).is_empty(), "{said}");
    workspace.configure("model = 'acp/codex'\n");
    let said = reply();
    assert!(workspace.read(FILE).contains("// AGENT: Done."), "{said}");
}
