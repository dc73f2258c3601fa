//! Anthropic's Messages API: requests with tools, prompt caching and thinking kept across tool calls.
//! `anthropic/assembly.rs` puts the streamed answer together.

mod assembly;

use serde_json::{Map, Value, json};

use super::remote::{Setup, max_tokens, tool_name};
use super::{Block, Request, Speaker, no_image};

pub(super) use assembly::Assembly;

/// The version of the wire format.
pub(super) const VERSION: &str = "2023-06-01";

/// The request as the API wants it: roles alternate, no empty text, four marks for the cache (tools,
/// system, the two newest turns of the user) so that each round pays for what is new alone.
pub(super) fn body(setup: &Setup, request: &Request) -> Value {
    let mut messages: Vec<(Speaker, Vec<Value>)> = Vec::new();
    for turn in &request.turns {
        let mut blocks: Vec<Value> = turn.blocks.iter().filter_map(|b| block(setup, b)).collect();
        // Results answer the calls before anything else is said.
        blocks.sort_by_key(|b| {
            b.get("type").and_then(Value::as_str) != Some("tool_result")
                && turn.speaker == Speaker::User
        });
        // Thoughts that led to nothing are refused at the end of a message, and needed nowhere.
        if blocks.iter().all(thinks) {
            continue;
        }
        match messages.last_mut() {
            Some((speaker, last)) if *speaker == turn.speaker => last.append(&mut blocks),
            _ => messages.push((turn.speaker, blocks)),
        }
    }
    // The turn before keeps its mark: the API finds an entry at most 20 blocks back, and one turn of many
    // calls may be longer.
    for (_, blocks) in messages
        .iter_mut()
        .rev()
        .filter(|(speaker, _)| *speaker == Speaker::User)
        .take(2)
    {
        if let Some(last) = blocks.last_mut() {
            mark(last);
        }
    }
    let messages: Vec<Value> = messages
        .into_iter()
        .map(|(speaker, content)| {
            let role = match speaker {
                Speaker::User => "user",
                Speaker::Assistant => "assistant",
            };
            json!({"role": role, "content": content})
        })
        .collect();
    let mut body = Map::new();
    body.insert(String::from("model"), json!(setup.model));
    body.insert(
        String::from("max_tokens"),
        json!(max_tokens(setup, request)),
    );
    body.insert(String::from("stream"), json!(true));
    if !request.system.trim().is_empty() {
        let mut system = json!({"type": "text", "text": request.system});
        mark(&mut system);
        body.insert(String::from("system"), json!([system]));
    }
    if !request.tools.is_empty() {
        let mut tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters}))
            .collect();
        if let Some(last) = tools.last_mut() {
            mark(last);
        }
        body.insert(String::from("tools"), json!(tools));
    }
    body.insert(String::from("messages"), json!(messages));
    Value::Object(body)
}

fn thinks(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| kind.ends_with("thinking"))
}

fn mark(block: &mut Value) {
    let thinks = thinks(block);
    if let Value::Object(map) = block
        && !thinks
    {
        map.insert(String::from("cache_control"), json!({"type": "ephemeral"}));
    }
}

/// One block as the API takes it back.
fn block(setup: &Setup, block: &Block) -> Option<Value> {
    Some(match block {
        Block::Text { text } if text.trim().is_empty() => return None,
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::Thinking { signature, .. } if signature.is_empty() => return None,
        Block::Thinking {
            thinking,
            signature,
        } => json!({"type": "thinking", "thinking": thinking, "signature": signature}),
        Block::RedactedThinking { data } => json!({"type": "redacted_thinking", "data": data}),
        Block::ToolUse { id, name, input } => {
            let input = if input.is_object() {
                input.clone()
            } else {
                json!({})
            };
            json!({"type": "tool_use", "id": id, "name": tool_name(name), "input": input})
        }
        Block::Reasoning { .. } => return None,
        Block::Image { media_type, .. } if !setup.facts.images => {
            json!({"type": "text", "text": no_image(media_type)})
        }
        Block::Image { media_type, data } => {
            json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
        }
        Block::ToolResult {
            id,
            content,
            is_error,
        } => {
            let mut result = json!({"type": "tool_result", "tool_use_id": id});
            if let Value::Object(map) = &mut result {
                if !content.trim().is_empty() {
                    map.insert(String::from("content"), json!(content));
                }
                if *is_error {
                    // An error without a text is refused by the API.
                    map.entry("content").or_insert_with(|| json!("failed"));
                    map.insert(String::from("is_error"), json!(true));
                }
            }
            result
        }
    })
}
