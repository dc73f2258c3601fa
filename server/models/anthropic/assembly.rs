//! The answer of Anthropic's Messages API put together from its stream events. Pure: data in, answer out.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::models::error::WireError;
use crate::models::remote::{self, Trouble, arguments};
use crate::models::{Answer, Block, Event, Stop, Usage};

/// A block while it streams.
#[derive(Debug)]
enum Part {
    Text(String),
    Thinking {
        thinking: String,
        signature: String,
    },
    Redacted(String),
    /// `whole` is the input of the block's start, used where no part of it streamed.
    Tool {
        id: String,
        name: String,
        json: String,
        whole: Value,
    },
    /// A kind that this program has no use for.
    Other,
}

/// What has come so far.
#[derive(Debug, Default)]
pub(in crate::models) struct Assembly {
    parts: BTreeMap<u64, Part>,
    usage: Usage,
    model: String,
    stop: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Wire {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Value,
    },
    ContentBlockDelta {
        index: u64,
        delta: Value,
    },
    MessageDelta {
        delta: Option<StopDelta>,
        usage: Option<Value>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    model: Option<String>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct StopDelta {
    stop_reason: Option<String>,
}

fn broken(why: impl ToString) -> Trouble {
    Trouble::Broken(why.to_string())
}

impl remote::Assembly for Assembly {
    fn take(&mut self, data: &str, hear: &(dyn Fn(Event) + Send + Sync)) -> Result<bool, Trouble> {
        let event: Wire = serde_json::from_str(data).map_err(broken)?;
        match event {
            Wire::MessageStart { message } => {
                // A second start would begin another answer in the middle of this one.
                if !self.parts.is_empty() {
                    return Err(broken("a second answer in the same stream"));
                }
                self.model = message.model.unwrap_or_default();
                self.count(message.usage.as_ref(), hear);
            }
            Wire::ContentBlockStart {
                index,
                content_block,
            } => {
                if self.parts.contains_key(&index) {
                    return Err(broken("the same block began twice"));
                }
                self.begin(index, begin(content_block), hear);
            }
            Wire::ContentBlockDelta { index, delta } => {
                if !self.parts.contains_key(&index) {
                    match delta.get("type").and_then(Value::as_str) {
                        // Some servers do not say that a text begins.
                        Some("text_delta") => self.begin(index, Part::Text(String::new()), hear),
                        // Whose call it is is not known, and without it the answer would be another.
                        Some("input_json_delta") => {
                            return Err(broken("a piece of a call that never began"));
                        }
                        _ => {}
                    }
                }
                if let Some(part) = self.parts.get_mut(&index) {
                    grow(part, &delta, hear);
                }
            }
            Wire::MessageDelta { delta, usage } => {
                let stop = delta.and_then(|delta| delta.stop_reason);
                self.stop = stop.or(self.stop.take());
                self.count(usage.as_ref(), hear);
            }
            Wire::MessageStop => return Ok(true),
            Wire::Error { error } => return Err(Trouble::Reported(WireError::of(&error))),
            Wire::Other => {}
        }
        Ok(false)
    }

    fn finish(self: Box<Self>, asked: &str) -> Answer {
        let stop = match self.stop.as_deref() {
            Some("end_turn" | "stop_sequence") => Stop::EndTurn,
            Some("tool_use") => Stop::ToolUse,
            Some("max_tokens") => Stop::MaxTokens,
            Some("model_context_window_exceeded") => Stop::ContextFull,
            Some("pause_turn") => Stop::Pause,
            Some("refusal") => Stop::Refusal,
            _ => Stop::Other,
        };
        let blocks = self.parts.into_values().filter_map(end).collect();
        let model = if self.model.is_empty() {
            asked.to_owned()
        } else {
            self.model
        };
        Answer {
            blocks,
            stop,
            usage: self.usage,
            model,
        }
    }
}

impl Assembly {
    fn begin(&mut self, index: u64, part: Part, hear: &(dyn Fn(Event) + Send + Sync)) {
        if let Part::Tool { name, .. } = &part {
            hear(Event::ToolUse { name: name.clone() });
        }
        if let Part::Text(text) = &part {
            let is_text = |part: &Part| matches!(part, Part::Text(text) if !text.is_empty());
            if self.parts.values().any(is_text) {
                hear(Event::Text(String::from("\n\n")));
            }
            if !text.is_empty() {
                hear(Event::Text(text.clone()));
            }
        }
        self.parts.insert(index, part);
    }

    /// What is no count (some servers send -1) says nothing.
    fn count(&mut self, counts: Option<&Value>, hear: &(dyn Fn(Event) + Send + Sync)) {
        let count = |name: &str| counts?.get(name)?.as_u64();
        let set = |field: &mut u64, name: &str| *field = count(name).unwrap_or(*field);
        set(&mut self.usage.input, "input_tokens");
        set(&mut self.usage.output, "output_tokens");
        set(&mut self.usage.cache_read, "cache_read_input_tokens");
        set(&mut self.usage.cache_write, "cache_creation_input_tokens");
        hear(Event::Taken(self.usage));
    }
}

fn text(value: &Value, key: &str) -> String {
    value
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn begin(block: Value) -> Part {
    match block.get("type").and_then(Value::as_str) {
        Some("text") => Part::Text(text(&block, "text")),
        Some("thinking") => Part::Thinking {
            thinking: text(&block, "thinking"),
            signature: text(&block, "signature"),
        },
        Some("redacted_thinking") => Part::Redacted(text(&block, "data")),
        Some("tool_use") => Part::Tool {
            id: text(&block, "id"),
            name: text(&block, "name"),
            json: String::new(),
            whole: block.get("input").cloned().unwrap_or_default(),
        },
        _ => Part::Other,
    }
}

fn grow(part: &mut Part, delta: &Value, hear: &(dyn Fn(Event) + Send + Sync)) {
    match (part, delta.get("type").and_then(Value::as_str)) {
        (Part::Text(all), Some("text_delta")) => {
            let piece = text(delta, "text");
            all.push_str(&piece);
            hear(Event::Text(piece));
        }
        (Part::Tool { json, .. }, Some("input_json_delta")) => {
            json.push_str(&text(delta, "partial_json"))
        }
        (Part::Thinking { thinking, .. }, Some("thinking_delta")) => {
            thinking.push_str(&text(delta, "thinking"))
        }
        (Part::Thinking { signature, .. }, Some("signature_delta")) => {
            signature.push_str(&text(delta, "signature"))
        }
        // Citations and what may come: nothing here needs them.
        _ => {}
    }
}

fn end(part: Part) -> Option<Block> {
    Some(match part {
        Part::Text(text) if text.is_empty() => return None,
        Part::Text(text) => Block::Text { text },
        // Models may leave the thinking's text out; the signature stands for it and must go back.
        Part::Thinking {
            thinking,
            signature,
        } => Block::Thinking {
            thinking,
            signature,
        },
        Part::Redacted(data) => Block::RedactedThinking { data },
        Part::Tool {
            id,
            name,
            json,
            whole,
        } => {
            let input = if json.trim().is_empty() && whole.is_object() {
                whole
            } else {
                arguments(json)
            };
            Block::ToolUse { id, name, input }
        }
        Part::Other => return None,
    })
}
