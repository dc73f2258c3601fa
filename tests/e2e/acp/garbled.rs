//! Half of a surrogate pair, which a JavaScript program writes when it cuts a text within a character: what an agent
//! tells with one is heard, what it asks is answered.

use serde_json::json;

use super::{all, note, reply, workspace};

#[test]
fn what_an_agent_says_and_asks_with_half_a_character_is_heard() {
    let write = json!({"path": "src/HALF.rs", "content": "fn half() {} // HALF\n"});
    let workspace = workspace(&json!({"steps": [
        {"half": {"write": write}},
        {"half": {"ask": {"toolCallId": "1", "title": "Edit HALF", "kind": "edit", "files": ["src/net.rs"]}}},
        {"say": "Before,"},
        {"half": {"say": " half HALF"}},
        {"say": " and after."},
    ]}));
    let (code, out, err) = reply(&workspace);
    assert_eq!(code, Some(0), "{out}{err}");
    let answer = workspace.read(super::FILE);
    assert!(
        answer.contains("// AGENT: Before, half \u{fffd} and after."),
        "{answer}"
    );
    assert_eq!(
        note(&workspace, "permission"),
        json!({"outcome": "selected", "optionId": "yes"})
    );
    let written = all(&workspace, "write");
    assert!(written[0].get("error").is_none(), "{written:?}");
    let file = workspace.read("src/\u{fffd}.rs");
    assert_eq!(file, "fn half() {} // \u{fffd}\n");
}
