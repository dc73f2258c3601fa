//! The answer of the Responses API put together from its events.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::models::error::WireError;
use crate::models::remote::{self, Trouble, arguments};
use crate::models::{Answer, Block, Event, Stop, Usage};

/// What has come so far.
#[derive(Debug, Default)]
pub(in crate::models) struct Assembly {
    by: String,
    /// Whole items, by their place in the output.
    items: BTreeMap<u64, Value>,
    /// The closing event's response.
    end: Value,
}

impl Assembly {
    /// `by`: the model that is asked, `provider/model`.
    pub fn new(by: String) -> Self {
        Self {
            by,
            ..Self::default()
        }
    }

    fn block(&self, item: Value, refused: &mut bool) -> Vec<Block> {
        let word = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        match item["type"].as_str() {
            Some("message") => {
                let parts = item["content"]
                    .as_array()
                    .map(Vec::as_slice)
                    .unwrap_or_default();
                *refused |= parts.iter().any(|p| p["type"] == "refusal");
                let text: String = parts
                    .iter()
                    .filter(|p| p["type"] == "output_text")
                    .filter_map(|p| p["text"].as_str())
                    .collect();
                if text.is_empty() {
                    Vec::new()
                } else {
                    vec![Block::Text { text }]
                }
            }
            Some("function_call") => vec![Block::ToolUse {
                id: word("call_id"),
                name: word("name"),
                input: match &item["arguments"] {
                    // Some servers send an object.
                    whole @ Value::Object(_) => whole.clone(),
                    _ => arguments(word("arguments")),
                },
            }],
            Some("reasoning") => {
                let mut item = item;
                let has = |key: &str| match &item[key] {
                    Value::String(text) => !text.is_empty(),
                    Value::Array(all) => !all.is_empty(),
                    _ => false,
                };
                // Without its content it would name something that is stored nowhere.
                if !has("encrypted_content") && !has("content") {
                    return Vec::new();
                }
                if let Value::Object(fields) = &mut item {
                    fields.retain(|key, value| key != "status" && !value.is_null());
                }
                vec![Block::Reasoning {
                    by: self.by.clone(),
                    item,
                }]
            }
            // Nothing else was asked for.
            _ => Vec::new(),
        }
    }
}

impl remote::Assembly for Assembly {
    fn take(&mut self, data: &str, hear: &(dyn Fn(Event) + Send + Sync)) -> Result<bool, Trouble> {
        let data = data.trim();
        // Not of this format, but sent by some servers.
        if data.is_empty() || data == "[DONE]" {
            return Ok(false);
        }
        let mut event: Value =
            serde_json::from_str(data).map_err(|error| Trouble::Broken(error.to_string()))?;
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "response.output_text.delta" => hear(Event::Text(text("delta"))),
            "response.output_item.added"
                if event["item"]["type"] == "message"
                    && self.items.values().any(|item| item["type"] == "message") =>
            {
                hear(Event::Text(String::from("\n\n")));
            }
            "response.output_item.added" if event["item"]["type"] == "function_call" => {
                let name = event["item"]["name"].as_str().unwrap_or_default();
                hear(Event::ToolUse {
                    name: name.to_owned(),
                });
            }
            "response.output_item.done" => {
                let next = self
                    .items
                    .keys()
                    .next_back()
                    .map_or(0, |last| last.saturating_add(1));
                let at = event["output_index"].as_u64().unwrap_or(next);
                let item = event.get_mut("item").map(Value::take).unwrap_or_default();
                if self.items.insert(at, item).is_some() {
                    return Err(Trouble::Broken(String::from("the same item ended twice")));
                }
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                self.end = event
                    .get_mut("response")
                    .map(Value::take)
                    .unwrap_or_default();
                return Ok(true);
            }
            "response.failed" | "response.cancelled" => {
                let response = &event["response"];
                let mut error = WireError::of(&response["error"]);
                if error.message.is_empty() && error.kinds.is_empty() {
                    error.message = String::from("it stopped in the middle");
                    error.status = Some(503);
                }
                return Err(Trouble::Reported(error));
            }
            "error" => {
                let inner = &event["error"];
                let error = if inner.is_null() {
                    // Its own `type` is the event's.
                    let mut error = WireError::of(&event);
                    error.kinds.retain(|kind| kind != "error");
                    error
                } else {
                    WireError::of(inner)
                };
                return Err(Trouble::Reported(error));
            }
            "" if !event["error"].is_null() => {
                return Err(Trouble::Reported(WireError::of(&event["error"])));
            }
            _ => {}
        }
        Ok(false)
    }

    fn finish(mut self: Box<Self>, asked: &str) -> Answer {
        // Some servers send the items in the closing event alone.
        let mut items: Vec<Value> = std::mem::take(&mut self.items).into_values().collect();
        if items.is_empty()
            && let Some(Value::Array(output)) = self.end.get_mut("output").map(Value::take)
        {
            items = output;
        }
        let mut refused = false;
        let blocks: Vec<Block> = items
            .into_iter()
            .flat_map(|item| self.block(item, &mut refused))
            .collect();
        let calls = blocks.iter().any(|b| matches!(b, Block::ToolUse { .. }));
        let why = self
            .end
            .pointer("/incomplete_details/reason")
            .and_then(Value::as_str);
        let stop = match (why, self.end["status"].as_str()) {
            (Some("content_filter"), _) => Stop::Refusal,
            (Some("max_output_tokens" | "max_tokens"), _) => Stop::MaxTokens,
            (Some(_), _) | (None, Some("incomplete")) => Stop::Other,
            _ if calls => Stop::ToolUse,
            _ if refused => Stop::Refusal,
            _ => Stop::EndTurn,
        };
        let number = |path: &str| self.end.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        let read = number("/usage/input_tokens_details/cached_tokens");
        let write = number("/usage/input_tokens_details/cache_write_tokens");
        let usage = Usage {
            input: number("/usage/input_tokens")
                .saturating_sub(read)
                .saturating_sub(write),
            output: number("/usage/output_tokens"),
            cache_read: read,
            cache_write: write,
        };
        let model = self.end["model"]
            .as_str()
            .filter(|m| !m.is_empty())
            .unwrap_or(asked)
            .to_owned();
        Answer {
            blocks,
            stop,
            usage,
            model,
        }
    }
}
