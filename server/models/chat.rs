//! OpenAI's Chat Completions, as OpenAI means it and as Ollama, llama.cpp, vLLM, LM Studio, OpenRouter and
//! others speak it. `chat/assembly.rs` puts the streamed answer together.

mod assembly;

use serde_json::{Map, Value, json};

use super::remote::{Setup, max_tokens, tool_name};
use super::{Block, Request, Speaker, no_image};

pub(super) use assembly::Assembly;
use assembly::OF_CALL;

/// How a server wants to be told the most tokens of an answer. Most know the old name alone; OpenAI's newer models
/// refuse it, wherever they are served.
pub(super) const LIMIT: &str = "max_tokens";
pub(super) const NEW_LIMIT: &str = "max_completion_tokens";

/// Whether a model is one of those whose template opens the tag of their thoughts, so that their answers have its end
/// alone: DeepSeek-R1, QwQ, those of Qwen's that only think.
pub(super) fn thinks(model: &str) -> bool {
    let name = model.to_ascii_lowercase();
    ["deepseek-r1", "qwq", "-thinking"]
        .iter()
        .any(|known| name.contains(known))
}

/// The request: one message for each side's turn, one for each result. `limit`: [`LIMIT`] or [`NEW_LIMIT`].
pub(super) fn body(setup: &Setup, request: &Request, limit: &str) -> Value {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    let mut said = Vec::new();
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
                        // Text before the results would part them from their calls.
                        flush(&mut said, &mut messages);
                        messages.push(json!({"role": "tool", "tool_call_id": id, "content": result(content, *is_error)}));
                    }
                }
                said.extend(turn.blocks.iter().filter_map(|b| part(setup, b)));
            }
            Speaker::Assistant => {
                // Where nothing is left of it, the user's words before and after are one message: some models refuse
                // two.
                if let Some(message) = assistant(setup, &turn.blocks) {
                    flush(&mut said, &mut messages);
                    messages.push(message);
                }
            }
        }
    }
    flush(&mut said, &mut messages);
    let mut body = Map::new();
    body.insert(String::from("model"), json!(setup.model));
    body.insert(String::from("messages"), json!(messages));
    body.insert(String::from("stream"), json!(true));
    body.insert(
        String::from("stream_options"),
        json!({"include_usage": true}),
    );
    body.insert(limit.to_owned(), json!(max_tokens(setup, request)));
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
                json!({"type": "function", "function": function})
            })
            .collect();
        body.insert(String::from("tools"), json!(tools));
    }
    Value::Object(body)
}

/// A tool's result: this wire format has no mark for errors, so the text says it.
pub(super) fn result(content: &str, is_error: bool) -> String {
    match (is_error, content.trim().is_empty()) {
        (true, true) => String::from("Error: failed"),
        (true, false) => format!("Error: {content}"),
        (false, _) => content.to_owned(),
    }
}

/// What the user said, as one message: plain text where it is nothing else, which every server takes.
fn flush(said: &mut Vec<Value>, messages: &mut Vec<Value>) {
    let parts = std::mem::take(said);
    if parts.is_empty() {
        return;
    }
    let texts: Option<Vec<&str>> = parts.iter().map(|p| p["text"].as_str()).collect();
    let content = match texts {
        Some(texts) => json!(texts.join("\n\n")),
        None => json!(parts),
    };
    messages.push(json!({"role": "user", "content": content}));
}

fn part(setup: &Setup, block: &Block) -> Option<Value> {
    Some(match block {
        Block::Text { text } if !text.trim().is_empty() => json!({"type": "text", "text": text}),
        Block::Image { media_type, .. } if !setup.facts.images => {
            json!({"type": "text", "text": no_image(media_type)})
        }
        Block::Image { media_type, data } => {
            json!({"type": "image_url", "image_url": {"url": format!("data:{media_type};base64,{data}")}})
        }
        _ => return None,
    })
}

/// One answer as it goes back. Its reasoning goes along where it called tools: some models refuse to go on
/// without, and none needs it elsewhere.
fn assistant(setup: &Setup, blocks: &[Block]) -> Option<Value> {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    let mut reasoning = Map::new();
    let mut of_call = Map::new();
    let me = format!("{}/{}", setup.provider, setup.model);
    for block in blocks {
        match block {
            Block::Text { text } if !text.trim().is_empty() => texts.push(text.as_str()),
            Block::ToolUse { id, name, input } => {
                let arguments = if input.is_object() {
                    input.to_string()
                } else {
                    String::from("{}")
                };
                let function = json!({"name": tool_name(name), "arguments": arguments});
                let mut call = std::mem::take(&mut of_call);
                call.insert(String::from("id"), json!(id));
                call.insert(String::from("type"), json!("function"));
                call.insert(String::from("function"), function);
                calls.push(Value::Object(call));
            }
            Block::Reasoning { by, item } if *by == me => match &item[OF_CALL] {
                Value::Object(extra) => of_call.clone_from(extra),
                _ => reasoning.extend(item.as_object().cloned().unwrap_or_default()),
            },
            _ => {}
        }
    }
    if texts.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = Map::new();
    message.insert(String::from("role"), json!("assistant"));
    let content = (!texts.is_empty()).then(|| texts.join("\n\n"));
    message.insert(String::from("content"), json!(content));
    if !calls.is_empty() {
        message.extend(reasoning);
        message.insert(String::from("tool_calls"), json!(calls));
    }
    Some(Value::Object(message))
}
