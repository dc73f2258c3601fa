//! Calls that a client sends without waiting for the answers: what writes is carried out as it came.

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use super::agent::Agent;
use super::editor::{next_call, scripted};
use super::{id_of, workspace};

fn respond(agent: &mut Agent, id: &str, text: &str) -> i64 {
    let arguments = json!({"thread_id": id, "response": text});
    let call = json!({"name": "respond_to_thread", "arguments": arguments});
    agent.ask("tools/call", call)
}

#[test]
fn answers_that_are_sent_one_after_the_other_stand_in_that_order() {
    let workspace = workspace();
    let mut agent = Agent::start(&workspace);
    let id = id_of(&agent.call("get_threads", json!({})), "src/a.rs");
    let asked: Vec<i64> = (0..15)
        .map(|n| respond(&mut agent, &id, &format!("Answer {n}.")))
        .collect();
    for asked in asked {
        let result = agent.answer(asked).expect("a result");
        assert_ne!(result["isError"], true, "{result}");
    }
    let text = workspace.read("src/a.rs");
    let answers = text.lines().filter(|line| line.contains("Answer"));
    let expected: Vec<String> = (0..15).map(|n| format!("// AGENT: Answer {n}.")).collect();
    assert_eq!(answers.collect::<Vec<_>>(), expected);
}

#[test]
fn what_waits_for_its_turn_is_cancelled_and_holds_up_no_read() {
    let workspace = workspace();
    let listener = scripted(&workspace);
    let mut agent = Agent::start(&workspace);
    let done = |(mut stream, _): (UnixStream, Value)| {
        let line = b"{\"answer\":{\"value\":{\"threads\":[]}}}\n";
        stream.write_all(line).expect("written");
    };
    let about = |call: &(UnixStream, Value)| {
        let (_, call) = call;
        (
            call["tool"].as_str().expect("a tool").to_owned(),
            call["arguments"]["thread_id"].clone(),
        )
    };
    let responding = |id: &str| (String::from("respond_to_thread"), json!(id));
    let first = respond(&mut agent, "aaaaaaaa", "First.");
    let at_work = next_call(&listener);
    assert_eq!(about(&at_work), responding("aaaaaaaa"));
    let second = respond(&mut agent, "bbbbbbbb", "Second.");
    let read = json!({"name": "get_threads", "arguments": {}});
    let read = agent.ask("tools/call", read);
    let reading = next_call(&listener);
    assert_eq!(about(&reading), (String::from("get_threads"), Value::Null));
    done(reading);
    agent.answer(read).expect("the list");
    let third = respond(&mut agent, "cccccccc", "Third.");
    let reason = json!({"requestId": second, "reason": "a test"});
    agent.notify("notifications/cancelled", reason);
    agent.request("ping", json!({})).expect("it lives");
    done(at_work);
    agent.answer(first).expect("a result");
    let next = next_call(&listener);
    assert_eq!(about(&next), responding("cccccccc"));
    done(next);
    agent.answer(third).expect("a result");
    assert!(!agent.has_answer(second));

    // The person may be asked about this one, and be away.
    let edit = json!({"path": "src/a.rs", "version": 1, "old_text": "a", "new_text": "b"});
    let edit = agent.ask(
        "tools/call",
        json!({"name": "buffer_edit", "arguments": edit}),
    );
    let long = next_call(&listener);
    assert_eq!(about(&long).0, "buffer_edit");
    let fourth = respond(&mut agent, "dddddddd", "Fourth.");
    let next = next_call(&listener);
    assert_eq!(about(&next), responding("dddddddd"));
    done(next);
    agent.answer(fourth).expect("a result");
    done(long);
    agent.answer(edit).expect("a result");
}

/// Revision 2025-03-26 has them, and no other.
#[test]
fn each_request_of_a_batch_is_answered() {
    let workspace = workspace();
    let mut agent = Agent::silent(&workspace, &[]);
    let me = agent.introduce_in("2025-03-26");
    assert_eq!(me["protocolVersion"], "2025-03-26");
    let call = json!({"name": "get_threads", "arguments": {}});
    let batch = json!([
        {"jsonrpc": "2.0", "id": 70, "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
        {"jsonrpc": "2.0", "id": 71, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 72, "method": "no/such/method"},
    ]);
    agent.send_raw(format!(" {batch}\n").as_bytes());
    let tools = agent.answer(70).expect("tools");
    assert!(tools["tools"].is_array(), "{tools}");
    let list = agent.answer(71).expect("the list");
    assert_eq!(list["structuredContent"]["summary"]["total"], 2);
    let error = agent.answer(72).expect_err("unknown");
    assert_eq!(error["code"], -32601);
    // What is wrong in one costs itself alone.
    for line in [
        "[]\n",
        "[1]\n",
        "[{\"jsonrpc\": \"2.0\", \"id\": 73, \"method\": \"ping\"}, 1]\n",
        "[{\n",
    ] {
        agent.send_raw(line.as_bytes());
    }
    agent.answer(73).expect("it lives");
    assert_eq!(agent.call("get_threads", json!({}))["summary"]["total"], 2);
}
