//! What an outside agent wants to do, and who decides.

use serde_json::{Value, json};

use super::{FILE, asking, cli, note, noted, reply, request, trust, workspace, workspace_under};

fn edit() -> Value {
    json!({"toolCallId": "1", "title": "Edit net.rs", "kind": "edit", "files": [FILE]})
}

fn command() -> Value {
    json!({"toolCallId": "1", "title": "cargo test", "kind": "execute", "rawInput": {"command": "cargo test"}})
}

/// What it was told, on the command line: nobody is there to be asked.
fn told(ask: Value, settings: &str) -> Value {
    told_and_said(ask, settings).0
}

/// The same, and what was said of it.
pub(super) fn told_and_said(ask: Value, settings: &str) -> (Value, String) {
    let script = json!({"steps": [{"ask": ask}, {"say": "Done."}]});
    let workspace = workspace_under(&script, settings);
    let (code, out, err) = reply(&workspace);
    // What nobody could be asked is told by the exit status.
    let is_asked = err.contains("nobody could be asked");
    assert_eq!(code, Some(i32::from(is_asked)), "{out}{err}");
    (note(&workspace, "permission"), err)
}

pub(super) fn chosen(id: &str) -> Value {
    json!({"outcome": "selected", "optionId": id})
}

#[test]
fn what_our_own_tools_may_it_may_too() {
    assert_eq!(told(edit(), ""), chosen("yes"));
    let read = json!({"toolCallId": "1", "kind": "read", "title": "Read", "files": [FILE]});
    assert_eq!(told(read, ""), chosen("yes"));
    let ours = json!({"toolCallId": "1", "kind": "other", "title": "mcp__postil__get_threads"});
    assert_eq!(told(ours, ""), chosen("yes"));
    let allowed =
        "[[permissions.rules]]\ntool = 'bash'\npattern = 'cargo test'\naction = 'allow'\n";
    assert_eq!(told(command(), allowed), chosen("yes"));
}

#[test]
fn what_is_to_be_asked_is_refused_where_nobody_is() {
    let outside = json!({"toolCallId": "1", "kind": "edit", "title": "Edit", "files": ["../../../etc/passwd"]});
    let guarded = json!({"toolCallId": "1", "kind": "edit", "title": "Edit", "files": [".vscode/tasks.json"]});
    let nameless = json!({"toolCallId": "1", "kind": "edit", "title": "Edit"});
    let fetch = json!({"toolCallId": "1", "kind": "fetch", "title": "Fetch", "rawInput": {"url": "https://example.org"}});
    let forged =
        json!({"toolCallId": "1", "kind": "other", "title": "mcp__postil__get_threads; rm -rf /"});
    let elsewhere =
        json!({"toolCallId": "1", "kind": "read", "title": "Read", "files": ["../../secret"]});
    for ask in [
        command(),
        outside,
        guarded,
        nameless,
        fetch,
        forged,
        elsewhere,
    ] {
        assert_eq!(told(ask.clone(), ""), chosen("no"), "{ask}");
    }
    let denied = "[[permissions.rules]]\ntool = 'file_edit'\naction = 'deny'\n";
    assert_eq!(told(edit(), denied), chosen("no"));
}

#[test]
fn the_author_is_asked_and_no_answer_lasts_in_the_agent() {
    let workspace = workspace(&json!({"steps": [{"ask": command()}, {"say": "Done."}]}));
    let mut editor = asking(&workspace);
    editor.state().choices.push(String::from("Allow once"));
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    let asked = editor.wait_message("window/showMessageRequest", |_| true);
    let asked = asked.get("params").unwrap_or(&asked).clone();
    let text = asked["message"].as_str().expect("a text");
    assert!(
        text.starts_with("The agent wants to run `cargo test` with bash"),
        "{text}"
    );
    let titles: Vec<&Value> = asked["actions"]
        .as_array()
        .expect("buttons")
        .iter()
        .map(|action| &action["title"])
        .collect();
    // Our own scopes: what lasts is kept with us.
    assert_eq!(titles.first().copied(), Some(&json!("Allow once")));
    assert!(!titles.contains(&&json!("Always")), "{titles:?}");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    assert_eq!(note(&workspace, "permission"), chosen("yes"));
}

#[test]
fn read_only_means_read_only() {
    let write = json!({"path": "src/new.rs", "content": "fn new() {}\n"});
    let script = json!({
        "modes": ["default", "plan"],
        "steps": [{"ask": edit()}, {"write": write}, {"disk": {"path": "src/net.rs.bak", "content": "x"}}, {"say": "I would."}],
    });
    let workspace = workspace(&script);
    trust(&workspace);
    let (code, out, err) = cli(&workspace, &["reply", "--all", "--yes", "--plan"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(note(&workspace, "permission"), chosen("no"));
    let refused = note(&workspace, "write")["error"]["message"].to_string();
    assert!(refused.contains("plan mode"), "{refused}");
    assert!(!workspace.path("src/new.rs").exists());
    assert_eq!(
        request(&workspace, "session/set_mode")["params"]["modeId"],
        "plan"
    );
    // A turn that may write leaves its mode alone.
    let other =
        super::workspace(&json!({"modes": ["default", "plan"], "steps": [{"say": "Done."}]}));
    let (code, ..) = reply(&other);
    assert_eq!(code, Some(0));
    assert!(
        noted(&other)
            .iter()
            .all(|line| line["method"] != "session/set_mode")
    );
}

/// A plan is kept by the system, where it can, and else by what is told.
#[test]
fn in_a_plan_it_cannot_write_the_workspace() {
    let script = json!({"steps": [
        {"call": {"toolCallId": "1", "title": "cargo fmt", "kind": "execute", "status": "in_progress"}},
        {"disk": {"path": "src/other.rs", "content": "changed"}},
        {"disk": {"path": ".git/config", "content": "changed"}},
        {"disk": {"path": "../state.json", "content": "its own"}},
        {"more": {"toolCallId": "1", "status": "completed"}},
        {"mcp": true},
        {"say": "I would."},
    ]});
    for kept in [true, false] {
        if kept && !crate::peers::have(&["bwrap"]) {
            continue;
        }
        let workspace = workspace(&script);
        workspace.write("src/other.rs", "fn other() {}\n");
        workspace.git(&["init", "-q"]);
        let git = workspace.read(".git/config");
        trust(&workspace);
        let mut command = workspace.postil();
        command
            .args(["reply", "--all", "--yes", "--plan"])
            .env("POSTIL_TEST", "1")
            .env("POSTIL_TEST_SANDBOX", if kept { "both" } else { "none" });
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        assert_eq!(workspace.read("../state.json"), "its own");
        assert!(workspace.read(FILE).contains("// AGENT: I would."));
        let rounds = super::rounds(&workspace);
        let warned = format!("{rounds:?}").contains("Nothing on this machine keeps scripted");
        assert_eq!(warned, !kept, "{rounds:?}");
        if kept {
            assert_eq!(workspace.read("src/other.rs"), "fn other() {}\n");
            assert_eq!(workspace.read(".git/config"), git);
            let why = note(&workspace, "not_written").to_string();
            assert!(why.contains("Read-only"), "{why}");
            // Threads can be read through our server all the same.
            let threads = note(&workspace, "mcp_threads").to_string();
            assert!(threads.contains("what does this return?"), "{threads}");
        } else {
            let told =
                "scripted changed src/other.rs on disk by itself, though it was to change nothing";
            assert!(said.contains(told), "{said}");
        }
    }
}
