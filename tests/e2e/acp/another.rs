//! Two agents in one thread: who is offered, under which name each writes, and who is ended by a cancel.

use serde_json::{Value, json};

use super::{CODE, FILE, THREAD, asking, cli, command, trust, workspace};
use crate::harness::{Editor, Options, Workspace};

/// A workspace with the agents `first`, which is configured, and `second`, each with its own script.
fn two(first: &Value, second: &Value) -> Workspace {
    let workspace = workspace(first);
    let path = workspace.path("../config/postil/config.toml");
    let config = std::fs::read_to_string(&path).expect("settings");
    let mut words = command(&workspace, second);
    words[2] = second_log(&workspace).display().to_string();
    let own = format!(
        "[agents.second]\ncommand = '{}'\nargs = {:?}\n",
        words[0],
        &words[1..]
    );
    std::fs::write(&path, format!("{config}{own}")).expect("written");
    workspace
}

fn second_log(workspace: &Workspace) -> std::path::PathBuf {
    workspace.path("../second.log")
}

fn second_noted(workspace: &Workspace) -> String {
    std::fs::read_to_string(second_log(workspace)).unwrap_or_default()
}

fn says(text: &str) -> Value {
    json!({"steps": [{"say": text}]})
}

fn hangs() -> Value {
    json!({"deaf": true, "steps": [{"child": true}, {"say": "Working"}, {"hang": true}]})
}

/// Takes the action as soon as it is offered.
fn take(editor: &mut Editor, title: &str) {
    let began = std::time::Instant::now();
    loop {
        let offered = editor.code_actions(FILE, 0);
        if offered.iter().any(|action| action["title"] == title) {
            break;
        }
        assert!(
            began.elapsed() < crate::harness::DEADLINE,
            "{title} is not offered: {offered:?}"
        );
    }
    editor.take_action(FILE, 0, title).expect("it is done");
}

fn works(editor: &mut Editor, agent: &str) {
    let doing = format!("{agent}: answering");
    editor.wait_message("$/progress", |params| {
        params["value"]["message"]
            .as_str()
            .is_some_and(|m| m.contains(&doing))
    });
}

fn id(workspace: &Workspace) -> String {
    let (_, out, _) = cli(workspace, &["threads", "--json"]);
    let list: Value = serde_json::from_str(&out).expect("JSON");
    list["threads"][0]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn the_only_agent_of_a_thread_needs_no_name_and_another_one_has_it() {
    let first = json!({"steps": [
        {"read": {"path": "src/other.rs"}},
        {"write": {"path": "src/other.rs", "content": "fn other() { 2 }\n"}},
        {"say": "Changed the other."},
    ]});
    let workspace = two(&first, &says("I would not have."));
    workspace.write("src/other.rs", "fn other() { 1 }\n");
    let mut editor = asking(&workspace);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    editor.wait_text(FILE, |text| {
        text.contains("// AGENT: Changed the other.\n// AUTHOR:")
    });
    take(&mut editor, "Ask another agent: second");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT(second)"));
    let whole = format!(
        "{THREAD}// AGENT: Changed the other.\n// AGENT(second): I would not have.\n// AUTHOR:\n{CODE}"
    );
    assert_eq!(text, whole);
    let told = second_noted(&workspace);
    assert!(
        told.contains("+fn other() { 2 }") && told.contains("Another agent has answered"),
        "the diff went along: {told}"
    );
    assert!(
        told.contains("Changed the other."),
        "and the rounds: {told}"
    );
}

#[test]
fn whoever_goes_on_with_the_thread_of_another_is_named() {
    let workspace = two(&says("Seven."), &says("Seven, yes."));
    trust(&workspace);
    let id = id(&workspace);
    let answered = cli(&workspace, &["reply", &id, "--yes", "--agent", "second"]);
    assert_eq!(answered.0, Some(0), "{answered:?}");
    assert!(
        workspace
            .read(FILE)
            .starts_with(&format!("{THREAD}// AGENT: Seven, yes.\n// AUTHOR:"))
    );
    let said = cli(&workspace, &["say", &id, "Sure?"]);
    assert_eq!(said.0, Some(0), "{said:?}");
    let answered = cli(&workspace, &["reply", &id, "--yes"]);
    assert_eq!(answered.0, Some(0), "{answered:?}");
    let text = workspace.read(FILE);
    assert!(
        text.contains("// AUTHOR: Sure?\n// AGENT(scripted): Seven.\n// AUTHOR:"),
        "{text}"
    );
}

#[test]
fn an_answered_thread_is_given_to_another_agent_by_its_name() {
    let workspace = two(&says("Seven."), &says("Eight."));
    trust(&workspace);
    let id = id(&workspace);
    assert_eq!(cli(&workspace, &["reply", &id, "--yes"]).0, Some(0));
    let (code, out, err) = cli(&workspace, &["reply", &id, "--agent", "second"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        workspace
            .read(FILE)
            .contains("// AGENT: Seven.\n// AGENT(second): Eight.\n// AUTHOR:")
    );
    let (code, out, err) = cli(&workspace, &["reply", &id, "--agent", "nobody"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(err.contains("`nobody`"), "{err}");
}

#[test]
fn an_agent_on_path_is_offered_by_its_name_and_asked_about_where_it_is_not_named() {
    let (workspace, path) = super::proposed::installed();
    workspace.configure(&format!(
        "model = 'acp/scripted'\n[agents.scripted]\ncommand = '{}'\nargs = {:?}\n",
        command(&workspace, &says("Seven."))[0],
        &command(&workspace, &says("Seven."))[1..],
    ));
    let options = Options {
        env: vec![(String::from("PATH"), path)],
        initialization_options: json!({"trusted": true}),
        ..Options::default()
    };
    let mut editor = Editor::start_with(&workspace, options);
    editor.open(FILE);
    editor.splice(FILE, 0..0, THREAD);
    editor.wait_codes(FILE, &["pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Seven."));
    editor.state().choices.push(String::from("None"));
    let argument = json!([{"uri": editor.uri(FILE), "thread_id": id_in(&mut editor)}]);
    let asked = json!({"command": "postil.askAnother", "arguments": argument});
    editor
        .request("workspace/executeCommand", asked)
        .expect("it is taken");
    editor.wait_message("window/showMessageRequest", |params| {
        params.to_string().contains("acp/codex")
    });
    assert!(!editor.text(FILE).contains("AGENT(codex)"));
    take(&mut editor, "Ask another agent: codex");
    editor.wait_text(FILE, |text| text.contains("// AGENT(codex): Done."));
}

/// The thread's id, as an action has it.
fn id_in(editor: &mut Editor) -> String {
    let actions = editor.code_actions(FILE, 0);
    let found = actions
        .iter()
        .find_map(|action| action["command"]["arguments"][0]["thread_id"].as_str());
    found
        .unwrap_or_else(|| panic!("no thread in {actions:?}"))
        .to_owned()
}

/// One turn at a time: who asks again is shown the one that runs, in this process and in another.
#[test]
fn two_agents_asked_at_once_are_one_after_the_other_and_each_can_be_cancelled() {
    let workspace = two(&hangs(), &hangs());
    let mut editor = asking(&workspace);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("a turn");
    works(&mut editor, "scripted");
    let thread = id_in(&mut editor);
    let argument = json!([{"uri": editor.uri(FILE), "thread_id": thread, "model": "acp/second"}]);
    let again = json!({"command": "postil.replyAsAgent", "arguments": argument});
    let shown = editor
        .request("workspace/executeCommand", again)
        .expect("the running one");
    assert!(shown["run_id"].is_string(), "{shown}");
    assert_eq!(second_noted(&workspace), "", "it was not started");
    editor.take_action(FILE, 0, "Cancel").expect("a cancel");
    editor.wait_message("$/progress", |params| params["value"]["kind"] == "end");
    super::ends::assert_gone(&super::note(&workspace, "pid"));
    super::ends::assert_gone(&super::note(&workspace, "child"));
    editor.wait_codes(FILE, &["pending"]);
    let again = json!({"command": "postil.replyAsAgent", "arguments": argument});
    editor
        .request("workspace/executeCommand", again)
        .expect("the second");
    works(&mut editor, "second");
    // Saved, so that the command line sees the thread; it is taken there, too.
    editor.save(FILE);
    let (code, _, err) = cli(&workspace, &["reply", &thread, "--agent", "scripted"]);
    assert_eq!(code, Some(1), "{err}");
    editor.take_action(FILE, 0, "Cancel").expect("a cancel");
    editor.wait_message("$/progress", |params| params["value"]["kind"] == "end");
    let noted = second_noted(&workspace);
    for line in noted
        .lines()
        .filter_map(|l| serde_json::from_str::<Value>(l).ok())
    {
        for name in ["pid", "child"] {
            if line.get(name).is_some() {
                super::ends::assert_gone(&line[name]);
            }
        }
    }
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
}
