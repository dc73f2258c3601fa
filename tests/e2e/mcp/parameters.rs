//! Parameters that a method does not take, and a client that does not introduce itself.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use super::agent::Agent;
use super::workspace;

#[test]
fn parameters_that_a_known_method_does_not_take_are_told() {
    let workspace = workspace();
    let mut agent = Agent::start(&workspace);
    for (method, params, words) in [
        (
            "tools/call",
            json!({"name": "get_threads", "arguments": []}),
            "invalid type",
        ),
        (
            "tools/call",
            json!({"name": "get_threads", "arguments": "x"}),
            "invalid type",
        ),
        ("tools/call", json!({"arguments": {}}), "`name`"),
        ("tools/call", json!({"name": 7}), "invalid type"),
        ("logging/setLevel", json!({"level": "warn"}), "`warn`"),
        ("resources/read", json!({"url": "x"}), "`uri`"),
        ("resources/subscribe", json!({}), "`uri`"),
        ("prompts/get", json!({"name": []}), "invalid type"),
        ("completion/complete", json!({}), "`ref`"),
        ("initialize", json!({}), "`protocolVersion`"),
    ] {
        let error = agent
            .request(method, params.clone())
            .expect_err("it is not taken");
        let text = error["message"].as_str().expect("a sentence");
        assert_eq!(error["code"], -32602, "{method} {params}: {text}");
        assert!(text.starts_with(method), "{method} {params}: {text}");
        assert!(text.contains(words), "{method} {params}: {text}");
    }
    let error = agent.request("no/such/method", json!({}));
    assert_eq!(error.expect_err("unknown")["code"], -32601);
    assert_eq!(agent.call("get_threads", json!({}))["summary"]["total"], 2);
}

#[test]
fn a_client_that_does_not_introduce_itself_well_is_told_why() {
    let workspace = workspace();
    let mut agent = Agent::silent(&workspace, &[]);
    let half = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let error = agent.request("initialize", half.clone());
    let error = error.expect_err("who is it?");
    assert_eq!(error["code"], -32602);
    let text = error["message"].as_str().expect("a sentence");
    assert!(
        text.contains("initialize: missing field `clientInfo`"),
        "{text}"
    );
    let error = agent.request("tools/list", json!({}));
    let error = error.expect_err("not yet");
    assert_eq!(error["code"], -32602);
    let text = error["message"].as_str().expect("a sentence");
    assert!(
        text.starts_with("tools/list came before `initialize`"),
        "{text}"
    );
    // It may try again.
    agent.introduce();
    assert_eq!(agent.call("get_threads", json!({}))["summary"]["total"], 2);
    assert!(agent.end().success());

    // And where it leaves instead, whoever started it learns why.
    let mut command = workspace.postil();
    command.arg("mcp");
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": half});
    let mut pipe = process.stdin.take().expect("a pipe");
    writeln!(pipe, "{request}").expect("written");
    drop(pipe);
    let ended = process.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(1));
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(
        told.contains("did not introduce itself") && told.contains("`clientInfo`"),
        "{told}"
    );
}

#[test]
fn who_may_only_read_is_told_of_nothing_else() {
    let workspace = workspace();
    let (mut agent, me) = Agent::read_only(&workspace);
    let told = me["instructions"].as_str().expect("instructions");
    assert!(told.contains("get_threads"), "{told}");
    for absent in ["respond_to_thread", "answer_threads", "process_all_actions"] {
        assert!(!told.contains(absent), "{told}");
    }
    assert!(me["capabilities"]["prompts"].is_null(), "{me}");
    let prompts = agent.request("prompts/list", json!({})).expect("a list");
    assert_eq!(prompts["prompts"], json!([]));
    let error = agent.request("prompts/get", json!({"name": "answer_threads"}));
    assert_eq!(error.expect_err("there is none")["code"], -32602);
    let tools = agent.request("tools/list", json!({})).expect("tools");
    let tools = tools["tools"].as_array().expect("a list").clone();
    assert_eq!(tools.len(), 8);
    for tool in tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        for absent in ["respond_to_thread", "dismiss_thread", "buffer_edit"] {
            assert!(!tool.to_string().contains(absent), "{tool}");
        }
    }
}
