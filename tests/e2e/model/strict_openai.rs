//! The rules of OpenAI's real endpoints that a client can break.

use std::collections::{BTreeSet, HashSet};

use postil::models::Wire;
use serde_json::Value;

use super::strict::{Verdict, ensure, is_base64, is_name, only};

/// What the server gave out and must get back unchanged.
#[derive(Default)]
pub(super) struct Memory {
    /// Reasoning that was given out, by the call that it led to.
    thoughts: Vec<(String, String)>,
    /// A server of one's own.
    pub keyless: bool,
}

impl Memory {
    pub fn remember(&mut self, blocks: &[Value]) {
        let thought = blocks.iter().find_map(|b| b["signature"].as_str());
        let calls = blocks.iter().filter(|b| b["type"] == "tool_use");
        for id in calls.filter_map(|b| b["id"].as_str()) {
            if let Some(thought) = thought {
                self.thoughts.push((id.to_owned(), thought.to_owned()));
            }
        }
    }

    fn thought(&self, call: &str) -> Option<&str> {
        let of = self.thoughts.iter().find(|(id, _)| id == call);
        of.map(|(_, thought)| thought.as_str())
    }

    pub fn check(
        &self,
        wire: Wire,
        line: &str,
        headers: &[(String, String)],
        body: &Value,
    ) -> Verdict {
        ensure(
            line.starts_with("POST /v1/"),
            format!("Invalid URL ({line})"),
        )?;
        let header = |name: &str| {
            headers
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, v)| v.as_str())
                .unwrap_or_default()
        };
        ensure(
            header("authorization").starts_with("Bearer ") != self.keyless,
            "You didn't provide an API key",
        )?;
        ensure(
            header("x-api-key").is_empty() && header("anthropic-version").is_empty(),
            "another provider's headers",
        )?;
        ensure(
            header("content-type").starts_with("application/json"),
            "Unsupported content type",
        )?;
        ensure(
            body["model"].as_str().is_some_and(|m| !m.is_empty()),
            "you must provide a model parameter",
        )?;
        ensure(body["stream"] == true, "stream: this server streams")?;
        match wire {
            Wire::Responses => self.responses(body),
            _ => self.chat(body),
        }
    }

    fn chat(&self, body: &Value) -> Verdict {
        only(
            body,
            "body",
            &[
                "model",
                "messages",
                "stream",
                "stream_options",
                "max_completion_tokens",
                "max_tokens",
                "tools",
            ],
        )?;
        only(
            &body["stream_options"],
            "stream_options",
            &["include_usage"],
        )?;
        let model = body["model"].as_str().unwrap_or_default();
        if ["gpt-5", "gpt-6", "o3", "o4"]
            .iter()
            .any(|new| model.starts_with(new))
        {
            ensure(
                body["max_tokens"].is_null(),
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            )?;
        }
        if let Value::Array(tools) = &body["tools"] {
            ensure(!tools.is_empty(), "[] is too short - 'tools'")?;
            for (at, tool) in tools.iter().enumerate() {
                only(tool, &format!("tools[{at}]"), &["type", "function"])?;
                function(
                    &tool["function"],
                    &format!("tools[{at}].function"),
                    &["name", "description", "parameters"],
                )?;
            }
        }
        let messages = body["messages"].as_array().ok_or("messages: missing")?;
        ensure(!messages.is_empty(), "[] is too short - 'messages'")?;
        let mut open = BTreeSet::new();
        for (at, message) in messages.iter().enumerate() {
            let place = format!("messages[{at}]");
            let role = message["role"].as_str().unwrap_or_default();
            if role == "tool" {
                only(message, &place, &["role", "content", "tool_call_id"])?;
                ensure(
                    message["content"].is_string(),
                    format!("{place}.content: expected a string"),
                )?;
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                ensure(
                    open.remove(id),
                    format!(
                        "{place}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                    ),
                )?;
                continue;
            }
            ensure(
                open.is_empty(),
                format!(
                    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': {open:?}"
                ),
            )?;
            match role {
                "system" => {
                    only(message, &place, &["role", "content"])?;
                    ensure(
                        at == 0 && message["content"].is_string(),
                        format!("{place}: system"),
                    )?;
                }
                "user" => {
                    only(message, &place, &["role", "content"])?;
                    user_parts(&message["content"], &place)?;
                }
                "assistant" => self.assistant(message, &place, &mut open)?,
                other => return Err(format!("{place}: invalid role {other}")),
            }
        }
        ensure(open.is_empty(), format!("calls without results: {open:?}"))?;
        ensure(
            messages.last().is_some_and(|m| m["role"] != "assistant"),
            "the last message is the assistant's",
        )
    }

    /// With a server that, like DeepSeek's, wants the reasoning back where it led to calls, and nowhere else.
    fn assistant(&self, message: &Value, place: &str, open: &mut BTreeSet<String>) -> Verdict {
        only(
            message,
            place,
            &["role", "content", "tool_calls", "reasoning_content"],
        )?;
        let content = &message["content"];
        ensure(
            content.is_null() || content.as_str().is_some_and(|c| !c.is_empty()),
            format!("{place}.content: expected a text or null"),
        )?;
        let Value::Array(calls) = &message["tool_calls"] else {
            ensure(
                !content.is_null(),
                format!("{place}: Expected content or tool_calls"),
            )?;
            return ensure(
                message["reasoning_content"].is_null(),
                format!("{place}: reasoning_content where no tool was called"),
            );
        };
        ensure(
            !calls.is_empty(),
            format!("{place}: [] is too short - 'tool_calls'"),
        )?;
        for call in calls {
            // The last is Gemini's.
            only(call, place, &["id", "type", "function", "extra_content"])?;
            only(&call["function"], place, &["name", "arguments"])?;
            let id = call["id"].as_str().unwrap_or_default();
            ensure(
                (1..=40).contains(&id.len()) && open.insert(id.to_owned()),
                format!(
                    "{place}: tool call id {id:?}: a string of at most 40 characters, each once"
                ),
            )?;
            ensure(
                call["type"] == "function"
                    && call["function"]["name"].as_str().is_some_and(is_name),
                format!("{place}: name: String should match pattern"),
            )?;
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            ensure(
                serde_json::from_str::<Value>(arguments).is_ok_and(|a| a.is_object()),
                format!("{place}: arguments: expected the JSON of an object as a string"),
            )?;
            if let Some(thought) = self.thought(id) {
                ensure(
                    message["reasoning_content"] == thought,
                    format!(
                        "{place}: the reasoning_content in the thinking mode must be passed back to the API"
                    ),
                )?;
            }
        }
        Ok(())
    }

    fn responses(&self, body: &Value) -> Verdict {
        only(
            body,
            "body",
            &[
                "model",
                "input",
                "instructions",
                "tools",
                "max_output_tokens",
                "store",
                "stream",
                "include",
            ],
        )?;
        ensure(
            body["store"] == false,
            "store: a run is nobody else's to keep",
        )?;
        ensure(
            body["max_output_tokens"].as_u64().is_some_and(|n| n >= 16),
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16",
        )?;
        let old = body["model"]
            .as_str()
            .is_some_and(|m| m.starts_with("gpt-4"));
        let include = body["include"].as_array().map_or(0, Vec::len);
        ensure(
            !old || include == 0,
            "Encrypted content is not supported with this model.",
        )?;
        if let Value::Array(tools) = &body["tools"] {
            for (at, tool) in tools.iter().enumerate() {
                ensure(
                    tool["strict"] == false,
                    "tools: In strict mode every property must be required",
                )?;
                function(
                    tool,
                    &format!("tools[{at}]"),
                    &["type", "name", "description", "parameters", "strict"],
                )?;
            }
        }
        let items = body["input"].as_array().ok_or("input: missing")?;
        ensure(!items.is_empty(), "input: [] is too short")?;
        let mut open = BTreeSet::new();
        let mut ids = HashSet::new();
        let mut thought: Option<&str> = None;
        for (at, item) in items.iter().enumerate() {
            let place = format!("input[{at}]");
            let kind = item["type"].as_str().unwrap_or_default();
            let is_said = kind == "function_call" || item["role"] == "assistant";
            ensure(
                thought.is_none() || is_said || kind == "reasoning",
                format!(
                    "{place}: Item of type 'reasoning' was provided without its required following item."
                ),
            )?;
            match kind {
                "message" if item["role"] == "assistant" => {
                    only(item, &place, &["type", "role", "content"])?;
                    let parts = item["content"].as_array().ok_or("content")?;
                    ensure(
                        parts.iter().all(|p| {
                            p["type"] == "output_text"
                                && p["text"].as_str().is_some_and(|t| !t.is_empty())
                        }),
                        format!(
                            "{place}: Invalid value. Supported values are: 'output_text' and 'refusal'."
                        ),
                    )?;
                }
                "message" => {
                    only(item, &place, &["type", "role", "content"])?;
                    ensure(
                        item["role"] == "user" && open.is_empty(),
                        format!("No tool output found for function call {open:?}."),
                    )?;
                    user_parts(&item["content"], &place)?;
                }
                "function_call" => {
                    only(item, &place, &["type", "call_id", "name", "arguments"])?;
                    let id = item["call_id"].as_str().unwrap_or_default();
                    ensure(
                        (1..=64).contains(&id.len()) && ids.insert(id) && open.insert(id),
                        format!("{place}.call_id: string of at most 64 characters, each once"),
                    )?;
                    ensure(
                        item["name"].as_str().is_some_and(is_name),
                        format!("{place}.name: does not match pattern"),
                    )?;
                    ensure(
                        item["arguments"].is_string(),
                        format!("{place}.arguments: expected a string"),
                    )?;
                    if let Some(needed) = self.thought(id) {
                        ensure(
                            items.iter().any(|i| i["encrypted_content"] == needed),
                            format!(
                                "{place}: function_call was provided without its required 'reasoning' item"
                            ),
                        )?;
                    }
                }
                "function_call_output" => {
                    only(item, &place, &["type", "call_id", "output"])?;
                    ensure(
                        item["output"].is_string(),
                        format!("{place}.output: expected a string"),
                    )?;
                    let id = item["call_id"].as_str().unwrap_or_default();
                    ensure(
                        open.remove(id),
                        format!("No tool call found for function call output with call_id {id}."),
                    )?;
                }
                "reasoning" => {
                    only(
                        item,
                        &place,
                        &["type", "id", "summary", "encrypted_content"],
                    )?;
                    ensure(
                        item["summary"].is_array(),
                        format!("{place}.summary: missing"),
                    )?;
                    let content = item["encrypted_content"].as_str().unwrap_or_default();
                    ensure(
                        self.thoughts.iter().any(|(_, t)| t == content),
                        format!("{place}: The encrypted content could not be verified."),
                    )?;
                }
                other => return Err(format!("{place}: Invalid value: '{other}'")),
            }
            thought = (kind == "reasoning").then_some("");
        }
        ensure(
            thought.is_none(),
            "Item of type 'reasoning' was provided without its required following item.",
        )?;
        ensure(
            open.is_empty(),
            format!("No tool output found for function call {open:?}."),
        )
    }
}

fn user_parts(content: &Value, place: &str) -> Verdict {
    if let Some(text) = content.as_str() {
        return ensure(!text.is_empty(), format!("{place}.content: empty"));
    }
    let parts = content
        .as_array()
        .ok_or_else(|| format!("{place}.content: missing"))?;
    ensure(
        !parts.is_empty(),
        format!("{place}.content: [] is too short"),
    )?;
    for part in parts {
        let url = match part["type"].as_str() {
            Some("text" | "input_text") => {
                only(part, place, &["type", "text"])?;
                let text = part["text"].as_str().unwrap_or_default();
                ensure(!text.trim().is_empty(), format!("{place}: an empty text"))?;
                continue;
            }
            Some("image_url") => {
                only(part, place, &["type", "image_url"])?;
                part["image_url"]["url"].as_str()
            }
            Some("input_image") => {
                only(part, place, &["type", "image_url", "detail"])?;
                part["image_url"].as_str()
            }
            other => return Err(format!("{place}: Invalid value: {other:?}")),
        };
        let data = url
            .and_then(|url| url.strip_prefix("data:image/"))
            .and_then(|rest| rest.split_once(";base64,"));
        ensure(
            data.is_some_and(|(kind, data)| {
                ["png", "jpeg", "gif", "webp"].contains(&kind) && is_base64(data)
            }),
            format!("{place}: Invalid image"),
        )?;
    }
    Ok(())
}

fn function(function: &Value, place: &str, known: &[&str]) -> Verdict {
    only(function, place, known)?;
    ensure(
        function["name"]
            .as_str()
            .is_some_and(|n| is_name(n) && n.len() <= 64),
        format!("{place}.name: does not match pattern"),
    )?;
    let schema = &function["parameters"];
    ensure(
        schema["type"] == "object" && jsonschema::meta::is_valid(schema),
        format!("{place}.parameters: Invalid schema for function"),
    )
}
