//! Threads as SARIF 2.1.0, which code hosts show beside the lines.

use serde_json::{Value, json};

use crate::session::ThreadList;

/// SARIF 2.1.0: a result for each thread.
pub(super) fn to_sarif(list: &ThreadList) -> Value {
    let threads = list
        .threads
        .iter()
        .filter(|t| t.get("parse_error").is_none());
    let results: Vec<Value> = threads
        .map(|thread| {
            let messages = thread.get("thread").and_then(Value::as_array);
            let said: Vec<String> = messages
                .into_iter()
                .flatten()
                .filter(|message| !text(message, "text").is_empty())
                .map(|m| format!("{}: {}", text(m, "role").to_uppercase(), text(m, "text")))
                .collect();
            let status = text(thread, "status");
            json!({
                "ruleId": status,
                "level": if status == "pending" { "warning" } else { "note" },
                "message": {"text": said.join("\n")},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": to_uri(text(thread, "file")), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": thread.get("start_line")},
                }}],
                "partialFingerprints": {"threadId/v1": text(thread, "id")},
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "postil",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": [
                    {"id": "pending", "shortDescription": {"text": "A thread that waits for the agent"}},
                    {"id": "awaiting_user", "shortDescription": {"text": "A thread that waits for its author"}},
                ],
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// A relative URI reference (RFC 3986) of a relative path.
fn to_uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}
