//! OpenAI's Responses API: nothing is stored there, reasoning goes back and forth encrypted.
//! `responses/assembly.rs` puts the streamed answer together.

mod assembly;

use serde_json::{Map, Value, json};

use super::chat::result;
use super::remote::{Setup, max_tokens, tool_name};
use super::{Block, Request, Speaker, no_image};

pub(super) use assembly::Assembly;

/// Fewer tokens than this are refused.
const LEAST: u32 = 16;

/// The request: a flat list of items.
pub(super) fn body(setup: &Setup, request: &Request) -> Value {
    let mut items = Vec::new();
    for turn in &request.turns {
        match turn.speaker {
            Speaker::User => {
                for block in &turn.blocks {
                    if let Block::ToolResult {
                        id,
                        content,
                        is_error,
                    } = block
                    {
                        items.push(json!({"type": "function_call_output", "call_id": id, "output": result(content, *is_error)}));
                    }
                }
                let parts: Vec<Value> = turn.blocks.iter().filter_map(|b| part(setup, b)).collect();
                if !parts.is_empty() {
                    items.push(json!({"type": "message", "role": "user", "content": parts}));
                }
            }
            Speaker::Assistant => answer(setup, &turn.blocks, &mut items),
        }
    }
    let mut body = Map::new();
    body.insert(String::from("model"), json!(setup.model));
    if !request.system.trim().is_empty() {
        body.insert(String::from("instructions"), json!(request.system));
    }
    body.insert(String::from("input"), json!(items));
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            // Strict schemas would want every parameter required; here that is the default.
            .map(|tool| json!({"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": false}))
            .collect();
        body.insert(String::from("tools"), json!(tools));
    }
    body.insert(
        String::from("max_output_tokens"),
        json!(max_tokens(setup, request).max(LEAST)),
    );
    body.insert(String::from("store"), json!(false));
    body.insert(String::from("stream"), json!(true));
    if reasons(&setup.model) {
        body.insert(
            String::from("include"),
            json!(["reasoning.encrypted_content"]),
        );
    }
    Value::Object(body)
}

/// The older models have no reasoning, and refuse to be asked for it.
fn reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    !["gpt-3", "gpt-4", "chatgpt-"]
        .iter()
        .any(|old| name.starts_with(old))
}

fn part(setup: &Setup, block: &Block) -> Option<Value> {
    Some(match block {
        Block::Text { text } if !text.trim().is_empty() => {
            json!({"type": "input_text", "text": text})
        }
        Block::Image { media_type, .. } if !setup.facts.images => {
            json!({"type": "input_text", "text": no_image(media_type)})
        }
        Block::Image { media_type, data } => {
            json!({"type": "input_image", "detail": "auto", "image_url": format!("data:{media_type};base64,{data}")})
        }
        _ => return None,
    })
}

/// One answer as it goes back. Reasoning belongs to what follows it, and is refused alone.
fn answer(setup: &Setup, blocks: &[Block], items: &mut Vec<Value>) {
    let me = format!("{}/{}", setup.provider, setup.model);
    let mut thoughts = Vec::new();
    for block in blocks {
        let item = match block {
            Block::Reasoning { by, item } if *by == me => {
                thoughts.push(item.clone());
                continue;
            }
            Block::Text { text } if !text.trim().is_empty() => {
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
            }
            Block::ToolUse { id, name, input } => {
                let arguments = if input.is_object() {
                    input.to_string()
                } else {
                    String::from("{}")
                };
                json!({"type": "function_call", "call_id": id, "name": tool_name(name), "arguments": arguments})
            }
            _ => continue,
        };
        items.append(&mut thoughts);
        items.push(item);
    }
}
