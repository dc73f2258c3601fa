//! What a client is not offered.

use serde_json::json;

use super::agent::Agent;
use super::workspace;

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
