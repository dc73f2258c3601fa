//! How a turn with an outside agent can end.

use serde_json::json;

use super::{FILE, THREAD, asking, cli, note, noted, reply, request, rounds, workspace};

#[test]
fn its_last_message_is_the_answer() {
    let workspace = workspace(&json!({
        "greeting": ["Welcome!", ""],
        "steps": [
            {"think": "hm"},
            {"plan": [
                {"content": "look", "priority": "high", "status": "in_progress"},
                {"content": "say", "priority": "low", "status": "pending"},
            ]},
            {"say": "Let me "}, {"say": "look."},
            {"call": {"toolCallId": "1", "title": "Read net.rs", "kind": "read", "status": "pending", "files": [FILE], "rawInput": {"n": 1}}},
            {"more": {"toolCallId": "1", "status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": "seven \u{1b}[31m"}}]}},
            {"update": {"kind": "of_a_later_version", "x": [1]}},
            {"usage": {"used": 900, "size": 200000, "cost": {"amount": 0.25, "currency": "USD"}}},
            {"say": "It returns "}, {"say": "7."},
        ],
        "result": {"usage": {"totalTokens": 1200, "inputTokens": 1000, "outputTokens": 200}},
    }));
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        workspace
            .read(FILE)
            .starts_with(&format!("{THREAD}// AGENT: It returns 7.\n// AUTHOR:")),
        "{}",
        workspace.read(FILE)
    );
    let rounds = rounds(&workspace);
    let shown = |role: &str| -> Vec<String> {
        let of = rounds.iter().filter(|round| round["role"] == role);
        of.map(|round| round["content"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(shown("assistant"), ["Let me look.", "It returns 7."]);
    let tools = shown("tool");
    assert_eq!(shown("todo"), ["[1] in_progress: look\n[2] pending: say"]);
    assert!(tools[0].starts_with("Read net.rs\nseven "), "{tools:?}");
    assert!(!tools[0].contains('\u{1b}'));
    assert_eq!(shown("reply"), ["It returns 7."]);
    let (_, runs, _) = cli(&workspace, &["workflow", "list", "--json"]);
    assert!(runs.contains("0.25") && runs.contains("1200"), "{runs}");
    let last = rounds.iter().rfind(|round| round["role"] == "assistant");
    assert!(last.is_some_and(|round| round.to_string().contains("acp/scripted")));
}

#[test]
fn it_is_told_what_it_needs() {
    let workspace = workspace(&json!({"steps": [{"mcp": true}, {"say": "Done."}]}));
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(0), "{out}{err}");
    let hello = request(&workspace, "initialize");
    assert_eq!(hello["params"]["protocolVersion"], 1);
    let files = &hello["params"]["clientCapabilities"]["fs"];
    assert_eq!(files["readTextFile"], true);
    assert_eq!(files["writeTextFile"], true);
    assert_ne!(hello["params"]["clientCapabilities"]["terminal"], true);
    let session = request(&workspace, "session/new");
    assert_eq!(
        session["params"]["cwd"],
        workspace.root().display().to_string()
    );
    let prompt = request(&workspace, "session/prompt");
    let text = prompt["params"]["prompt"][0]["text"]
        .as_str()
        .expect("text");
    for part in [
        "what does this return?",
        "pub fn load()",
        "It is not the author speaking",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Our own server: it reads, the answer is written by us alone.
    let tools = note(&workspace, "mcp_tools").to_string();
    assert!(
        tools.contains("get_threads") && tools.contains("\"lsp\""),
        "{tools}"
    );
    assert!(!tools.contains("respond_to_thread") && !tools.contains("clear_and_commit"));
    assert!(
        note(&workspace, "mcp_threads")
            .to_string()
            .contains("what does this return?")
    );
}

#[test]
fn attack_08_an_outside_agents_environment_is_chosen() {
    let workspace = super::workspace_with(
        &json!({"steps": [{"say": "Done."}]}),
        "passEnv = ['MINE_*']\n[agents.scripted.env]\nADDED = 'yes'",
    );
    super::trust(&workspace);
    let mut command = workspace.postil();
    command.args(["reply", "--all", "--yes"]);
    for (name, value) in [
        ("ANTHROPIC_API_KEY", "sk-canary"),
        ("AWS_SECRET_ACCESS_KEY", "canary"),
        ("SOMETHING", "canary"),
        ("MINE_TOKEN", "mine"),
    ] {
        command.env(name, value);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!(".:{}:{path}", workspace.root().display()));
    assert!(command.output().expect("it runs").status.success());
    let environment = note(&workspace, "environment");
    assert_eq!(environment["ADDED"], "yes");
    assert_eq!(environment["MINE_TOKEN"], "mine");
    assert!(!environment.to_string().contains("canary"), "{environment}");
    let path = environment["PATH"].as_str().expect("a path");
    let root = workspace.root().display().to_string();
    assert!(
        path.split(':')
            .all(|p| p.starts_with('/') && !p.starts_with(&root)),
        "{path}"
    );
    assert!(
        environment["HOME"]
            .as_str()
            .is_some_and(|h| h.ends_with("/home"))
    );
}

/// The sentence that the turn fails with.
fn fails(script: serde_json::Value) -> (String, crate::harness::Workspace) {
    fails_with(script, "")
}

fn fails_with(script: serde_json::Value, more: &str) -> (String, crate::harness::Workspace) {
    let workspace = super::workspace_with(&script, more);
    let before = workspace.read(FILE);
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(1), "{out}{err}");
    assert_eq!(workspace.read(FILE), before, "nothing half-written");
    (format!("{out}{err}"), workspace)
}

#[test]
fn whatever_stops_it_is_one_clear_sentence() {
    let cases = [
        (json!({"login": true}), "scripted is not logged in"),
        (
            json!({"version": 7}),
            "speaks version 7 of the Agent Client Protocol",
        ),
        (
            json!({"steps": [{"say": "I "}, {"errors": "fatal: out of cheese"}, {"exit": 3}]}),
            "ended in the middle of its turn (fatal: out of cheese)",
        ),
        (
            json!({"steps": [{"exit": 3}]}),
            "ended in the middle of its turn (exit status: 3)",
        ),
        (
            json!({"steps": [{"error": {"code": -32603, "message": "Internal error", "data": {"details": "quota used up"}}}]}),
            "refused (Internal error: quota used up)",
        ),
        (
            json!({"steps": [{"stop": "refusal"}]}),
            "declined to answer",
        ),
        (json!({"steps": [{"say": " \n"}]}), "gave an empty answer"),
        (
            json!({"steps": [{"stop": "cancelled"}]}),
            "stopped by itself",
        ),
        (
            json!({"steps": [{"say": "So."}, {"stop": "pondering"}]}),
            "answered in words that postil does not know (unknown variant `pondering`",
        ),
    ];
    for (script, sentence) in cases {
        let (said, _workspace) = fails(script);
        assert!(said.contains(sentence), "{sentence}: {said}");
    }
}

#[test]
fn what_is_no_agent_is_said_to_be_none() {
    let (said, _workspace) = fails(json!({"greeting": vec!["usage: tool [-h]"; 1200]}));
    let sentence = "does not speak the Agent Client Protocol (it wrote `usage: tool [-h]`)";
    assert!(said.contains(sentence), "{said}");
}

#[test]
fn one_that_says_nothing_is_given_up() {
    let (said, workspace) = fails_with(json!({"silent": true}), "idle = 1");
    assert!(said.contains("gave no sign of life for 1 s"), "{said}");
    let (said, other) = fails_with(
        json!({"deaf": true, "steps": [{"say": "Hm"}, {"hang": true}]}),
        "idle = 1",
    );
    assert!(said.contains("gave no sign of life for 1 s"), "{said}");
    for workspace in [workspace, other] {
        assert_gone(&note(&workspace, "pid"));
    }
}

/// Waits until there is no such process; a killed one goes when the kernel is ready.
pub(super) fn assert_gone(pid: &serde_json::Value) {
    let path = format!("/proc/{pid}/stat");
    let began = std::time::Instant::now();
    loop {
        let stat = std::fs::read_to_string(&path).unwrap_or_default();
        let ended = stat
            .rsplit_once(')')
            .is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'));
        if ended {
            return;
        }
        assert!(began.elapsed() < crate::harness::DEADLINE, "{stat}");
        crate::harness::pause();
    }
}

#[test]
fn a_program_that_is_not_there_is_named_with_the_way_to_get_it() {
    let workspace = workspace(&json!({}));
    workspace.configure("model = 'acp/codex'\n");
    super::trust(&workspace);
    let mut command = workspace.postil();
    command
        .args(["reply", "--all", "--yes"])
        .env("PATH", "/nowhere");
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("Codex was not found on PATH: install its adapter with `npm install -g"),
        "{said}"
    );
    workspace.configure("model = 'acp/nobody'\n");
    let (code, out, err) = cli(&workspace, &["reply", "--all", "--yes"]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(
        err.contains("no agent is called `nobody`") && err.contains("claude-code, codex, gemini"),
        "{err}"
    );
}

#[test]
fn a_key_in_the_environment_logs_it_in() {
    use std::os::unix::fs::PermissionsExt as _;
    let script = json!({"login": true, "steps": [{"say": "Done."}]});
    let workspace = workspace(&script);
    // Known by the name of one that has such a key.
    let base = workspace.root().parent().expect("a folder");
    let fake = base.join("bin/codex-acp");
    std::fs::create_dir_all(fake.parent().expect("a folder")).expect("made");
    let words: Vec<String> = super::command(&workspace, &script)
        .iter()
        .map(|word| format!("'{word}'"))
        .collect();
    std::fs::write(&fake, format!("#!/bin/sh\nexec {}\n", words.join(" "))).expect("written");
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("a program");
    workspace.configure("model = 'acp/codex'\n");
    super::trust(&workspace);
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = workspace.postil();
    command
        .args(["reply", "--all", "--yes"])
        .env(
            "PATH",
            format!("{}:{path}", fake.parent().expect("a folder").display()),
        )
        .env("OPENAI_API_KEY", "sk-loopback");
    let output = command.output().expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(
        request(&workspace, "authenticate")["params"]["methodId"],
        "openai-api-key"
    );
    assert!(workspace.read(FILE).contains("// AGENT: Done."));
}

#[test]
fn in_a_folder_that_is_not_trusted_it_is_not_started() {
    let workspace = workspace(&json!({"steps": [{"say": "Done."}]}));
    let (code, out, err) = cli(&workspace, &["reply", "--all"]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(err.contains("works in trusted workspaces only"), "{err}");
    assert!(noted(&workspace).is_empty());
}

#[test]
fn what_it_tells_before_its_session_holds_up_nothing() {
    let script = json!({"early": 200, "steps": [{"say": "Done."}]});
    let workspace = super::workspace_with(&script, "idle = 5");
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(0), "{out}{err}");
    let answered = note(&workspace, "read");
    assert!(answered["error"]["message"].is_string(), "{answered}");
}

#[test]
fn its_own_limit_and_ours_pause() {
    let workspace =
        workspace(&json!({"steps": [{"say": "So far"}, {"stop": "max_turn_requests"}]}));
    let (_, out, err) = reply(&workspace);
    assert!(
        workspace
            .read(FILE)
            .contains("// AGENT: scripted stopped at a limit of its own. Write \"continue\""),
        "{out}{err}"
    );
    let workspace = super::workspace(&json!({"steps": [
        {"usage": {"used": 1, "size": 10, "cost": {"amount": 6.5, "currency": "USD"}}}, {"hang": true}]}));
    let (_, out, err) = reply(&workspace);
    assert!(
        workspace
            .read(FILE)
            .contains("// AGENT: Paused at $6.50 of $5.00 a turn"),
        "{out}{err}"
    );
    assert_gone(&note(&workspace, "pid"));
}

#[test]
fn a_cancel_ends_it_and_what_it_started() {
    for (deaf, child) in [(false, "beside"), (true, "beside"), (true, "apart")] {
        let workspace = workspace(
            &json!({"deaf": deaf, "steps": [{"child": child}, {"say": "Working"}, {"hang": true}]}),
        );
        let mut editor = asking(&workspace);
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("a turn");
        editor.wait_message("$/progress", |params| {
            params["value"]["message"]
                .as_str()
                .is_some_and(|m| m.contains("scripted: answering"))
        });
        let began = std::time::Instant::now();
        editor.take_action(FILE, 0, "Cancel").expect("a cancel");
        editor.wait_message("$/progress", |params| params["value"]["kind"] == "end");
        assert!(
            began.elapsed() < std::time::Duration::from_secs(2),
            "{:?}",
            began.elapsed()
        );
        assert_gone(&note(&workspace, "pid"));
        assert_gone(&note(&workspace, "child"));
        assert_eq!(editor.text(FILE), format!("{THREAD}{}", super::CODE));
    }
}

#[test]
fn it_ends_when_we_are_killed() {
    let workspace = workspace(
        &json!({"deaf": true, "steps": [{"child": true}, {"say": "Working"}, {"hang": true}]}),
    );
    let mut editor = asking(&workspace);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    editor.wait_message("$/progress", |params| {
        params["value"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("scripted: answering"))
    });
    editor.kill();
    assert_gone(&note(&workspace, "pid"));
    assert_gone(&note(&workspace, "child"));
}
