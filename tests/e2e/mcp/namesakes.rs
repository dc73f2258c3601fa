//! Threads with the same first words: their ids are numbered by place, and one of an older list is no other thread's.

use serde_json::{Value, json};

use super::Agent;
use crate::harness::Workspace;

const FILE: &str = "src/a.rs";
const THREE: &str = "// AUTHOR: why?\n// AGENT: Here.\n// AUTHOR: thanks\nfn a() {}\n\n\
                     // AUTHOR: why?\n// AGENT: There.\nfn b() {}\n\n// AUTHOR: why?\nfn c() {}\n";

fn bench(text: &str) -> (Workspace, Agent) {
    let workspace = Workspace::new();
    workspace.write(FILE, text);
    let agent = Agent::start(&workspace);
    (workspace, agent)
}

fn ids(agent: &mut Agent, arguments: Value) -> Vec<String> {
    let list = agent.call("get_threads", arguments);
    let threads = list["threads"].as_array().expect("threads");
    let ids = threads.iter().map(|thread| thread["id"].as_str());
    ids.map(|id| id.expect("an id").to_owned()).collect()
}

fn assert_refused(agent: &mut Agent, tool: &str, id: &str) {
    let mut arguments = json!({"thread_id": id});
    if tool == "respond_to_thread" {
        arguments["response"] = json!("So.");
    }
    let (sentence, code) = agent.refused(tool, arguments);
    assert_eq!(code, "changed", "{sentence}");
    assert!(sentence.contains("call get_threads again"), "{sentence}");
}

#[test]
fn an_id_of_a_list_before_a_removal_is_no_other_threads() {
    let (workspace, mut agent) = bench(THREE);
    let all = ids(&mut agent, json!({}));
    agent.call("dismiss_thread", json!({"thread_id": all[0]}));
    let left = workspace.read(FILE);
    assert!(!left.contains("Here."), "{left}");
    for id in &all[..2] {
        assert_refused(&mut agent, "dismiss_thread", id);
        assert_refused(&mut agent, "respond_to_thread", id);
    }
    // The third has no namesake that stands there by that number.
    let (_, code) = agent.refused("dismiss_thread", json!({"thread_id": all[2]}));
    assert_eq!(code, "unknown_thread");
    assert_eq!(workspace.read(FILE), left);

    // Listed again, each is its own.
    assert_eq!(ids(&mut agent, json!({})), all[..2]);
    agent.call("dismiss_thread", json!({"thread_id": all[0]}));
    assert_eq!(
        workspace.read(FILE),
        "fn a() {}\n\nfn b() {}\n\n// AUTHOR: why?\nfn c() {}\n"
    );
}

#[test]
fn a_removal_that_is_told_twice_removes_one() {
    let (workspace, mut agent) = bench(THREE);
    let all = ids(&mut agent, json!({"status": "pending"}));
    let mut other = Agent::start(&workspace);
    // To one that was told of no list, an id is what it says, once.
    other.call("dismiss_thread", json!({"thread_id": all[0]}));
    let left = workspace.read(FILE);
    assert_refused(&mut other, "dismiss_thread", &all[0]);
    // Nor is it another's after somebody else was there.
    assert_refused(&mut agent, "dismiss_thread", &all[0]);
    assert_eq!(workspace.read(FILE), left);
}

#[test]
fn an_id_is_another_threads_where_the_author_has_asked_the_same_above() {
    let (workspace, mut agent) = bench("// AUTHOR: why?\nfn a() {}\n");
    let all = ids(&mut agent, json!({}));
    let now = "// AUTHOR: why?\nfn b() {}\n\n// AUTHOR: why?\nfn a() {}\n";
    workspace.write(FILE, now);
    assert_refused(&mut agent, "respond_to_thread", &all[0]);
    assert_eq!(workspace.read(FILE), now);
    // What was said in it since does not make it another one.
    ids(&mut agent, json!({}));
    workspace.write(
        FILE,
        now.replacen("why?\n", "why?\n// AUTHOR: And how?\n", 1),
    );
    let answer = json!({"thread_id": all[0], "response": "So."});
    agent.call("respond_to_thread", answer);
    let text = workspace.read(FILE);
    assert!(
        text.contains("// AUTHOR: And how?\n// AGENT: So.\n"),
        "{text}"
    );
}

#[test]
fn an_id_is_another_threads_where_as_many_stand_beside_other_code() {
    let of = |code: &[&str]| -> String {
        let threads = code
            .iter()
            .map(|code| format!("// AUTHOR: same?\nfn {code}() {{}}\n\n"));
        threads.collect()
    };
    // The first goes and the same is asked elsewhere; two functions are swapped.
    for now in [["b", "c", "d"], ["b", "a", "c"]] {
        let (workspace, mut agent) = bench(&of(&["a", "b", "c"]));
        let list = agent.call("get_threads", json!({}));
        assert_eq!(list["threads"][1]["beside"], "fn b() {}");
        let all = ids(&mut agent, json!({"status": "pending"}));
        workspace.write(FILE, of(&now));
        assert_refused(&mut agent, "respond_to_thread", &all[0]);
        assert_refused(&mut agent, "dismiss_thread", &all[1]);
        assert_eq!(workspace.read(FILE), of(&now));
        // Listed again, an id is what it says.
        ids(&mut agent, json!({}));
        let answer = json!({"thread_id": all[0], "response": "So."});
        agent.call("respond_to_thread", answer);
        let text = workspace.read(FILE);
        let answered = "// AUTHOR: same?\n// AGENT: So.\n// AUTHOR:\nfn b() {}\n";
        assert!(text.contains(answered), "{text}");
        // What an answer adds is no change.
        let answer = json!({"thread_id": all[1], "response": "And so."});
        agent.call("respond_to_thread", answer);
    }
}

#[test]
fn the_last_one_left_of_two_is_not_answered_for_the_other() {
    let (workspace, mut agent) =
        bench("// AUTHOR: why?\na();\n\n// AUTHOR: why?\n// AGENT: So.\nb();\n");
    let all = ids(&mut agent, json!({"status": "pending"}));
    assert_eq!(all.len(), 1);
    let now = "a();\n\n// AUTHOR: why?\n// AGENT: So.\nb();\n";
    workspace.write(FILE, now);
    assert_refused(&mut agent, "respond_to_thread", &all[0]);
    assert_eq!(workspace.read(FILE), now);
}
