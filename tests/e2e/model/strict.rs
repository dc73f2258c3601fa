//! The rules of the real Messages API that a client can break.

use std::collections::HashSet;

use serde_json::Value;

/// What the server gave out and must get back unchanged.
#[derive(Default)]
pub(super) struct Memory {
    signatures: HashSet<String>,
}

pub(super) type Verdict = Result<(), String>;

pub(super) fn ensure(holds: bool, fault: impl Into<String>) -> Verdict {
    if holds { Ok(()) } else { Err(fault.into()) }
}

pub(super) fn only(value: &Value, place: &str, known: &[&str]) -> Verdict {
    let map = value
        .as_object()
        .ok_or_else(|| format!("{place}: must be an object"))?;
    for key in map.keys() {
        ensure(
            known.contains(&key.as_str()),
            format!("{place}.{key}: Extra inputs are not permitted"),
        )?;
    }
    Ok(())
}

pub(super) fn is_name(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

pub(super) fn is_base64(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    !bare.is_empty()
        && text.len().is_multiple_of(4)
        && bare
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
}

impl Memory {
    pub fn remember(&mut self, blocks: &[Value]) {
        self.signatures.extend(
            blocks
                .iter()
                .filter_map(|b| b["signature"].as_str())
                .map(str::to_owned),
        );
    }

    pub fn check(&self, line: &str, headers: &[(String, String)], body: &Value) -> Verdict {
        ensure(
            line.starts_with("POST /v1/messages HTTP/1.1"),
            format!("not found: {line}"),
        )?;
        let header = |name: &str| {
            headers
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, v)| v.as_str())
                .unwrap_or_default()
        };
        ensure(
            !header("x-api-key").is_empty(),
            "x-api-key header is required",
        )?;
        ensure(
            header("anthropic-version") == "2023-06-01",
            "anthropic-version: header is required",
        )?;
        ensure(
            header("content-type").starts_with("application/json"),
            "content-type: must be application/json",
        )?;
        only(
            body,
            "body",
            &[
                "model",
                "messages",
                "max_tokens",
                "system",
                "tools",
                "stream",
                "metadata",
                "stop_sequences",
            ],
        )?;
        ensure(
            body["model"].as_str().is_some_and(|m| !m.is_empty()),
            "model: Field required",
        )?;
        ensure(
            body["max_tokens"]
                .as_u64()
                .is_some_and(|m| (1..=128_000).contains(&m)),
            "max_tokens: Field required",
        )?;
        ensure(body["stream"] == true, "stream: this server streams")?;
        let mut marks = 0;
        system(&body["system"], &mut marks)?;
        tools(&body["tools"], &mut marks)?;
        self.messages(&body["messages"], &mut marks)?;
        ensure(
            marks <= 4,
            format!("A maximum of 4 blocks with cache_control may be provided. Found {marks}."),
        )
    }

    fn messages(&self, messages: &Value, marks: &mut usize) -> Verdict {
        let messages = messages.as_array().ok_or("messages: Field required")?;
        ensure(
            !messages.is_empty(),
            "messages: at least one message is required",
        )?;
        let mut ids = HashSet::new();
        let mut open: Vec<String> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let place = format!("messages.{at}");
            only(message, &place, &["role", "content"])?;
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            ensure(
                message["role"] == role,
                format!("{place}: roles must alternate, starting with user"),
            )?;
            let text = [serde_json::json!({"type": "text", "text": message["content"]})];
            let blocks = match &message["content"] {
                Value::Array(blocks) => blocks.as_slice(),
                Value::String(_) => text.as_slice(),
                _ => return Err(format!("{place}.content: Field required")),
            };
            ensure(
                !blocks.is_empty(),
                format!("{place}: content must not be empty"),
            )?;
            for (nth, block) in blocks.iter().enumerate() {
                let place = format!("{place}.content.{nth}");
                mark(block, &place, marks)?;
                self.block(block, &place, role)?;
                match block["type"].as_str() {
                    Some("tool_use") => {
                        let id = block["id"].as_str().unwrap_or_default().to_owned();
                        ensure(
                            ids.insert(id.clone()),
                            format!("{place}: `tool_use` ids must be unique"),
                        )?;
                        open.push(id);
                    }
                    Some("tool_result") => {
                        let id = block["tool_use_id"].as_str().unwrap_or_default();
                        let known = open.iter().position(|o| o == id);
                        let known = known
                            .ok_or_else(|| format!("{place}: unexpected `tool_use_id`: {id}"))?;
                        open.remove(known);
                    }
                    _ if role == "user" => ensure(
                        open.is_empty(),
                        format!(
                            "{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {open:?}"
                        ),
                    )?,
                    _ => {}
                }
            }
            if role == "user" {
                ensure(
                    open.is_empty(),
                    format!("{place}: `tool_use` ids were found without `tool_result`: {open:?}"),
                )?;
            }
        }
        ensure(
            messages.len() % 2 == 1,
            "This model does not support assistant message prefill",
        )
    }

    fn block(&self, block: &Value, place: &str, role: &str) -> Verdict {
        let text = |key: &str| {
            block[key]
                .as_str()
                .ok_or_else(|| format!("{place}.{key}: Field required"))
        };
        match block["type"].as_str() {
            Some("text") => {
                only(block, place, &["type", "text", "cache_control"])?;
                ensure(
                    !text("text")?.trim().is_empty(),
                    format!("{place}: text content blocks must be non-empty"),
                )
            }
            Some("image") if role == "user" => {
                only(block, place, &["type", "source", "cache_control"])?;
                let source = &block["source"];
                only(source, place, &["type", "media_type", "data"])?;
                let kinds = ["image/png", "image/jpeg", "image/gif", "image/webp"];
                ensure(
                    source["type"] == "base64"
                        && source["media_type"]
                            .as_str()
                            .is_some_and(|k| kinds.contains(&k)),
                    format!("{place}.source: Input should be one of {kinds:?}"),
                )?;
                ensure(
                    source["data"].as_str().is_some_and(is_base64),
                    format!("{place}.source.data: invalid base64 data"),
                )
            }
            Some("tool_use") if role == "assistant" => {
                only(
                    block,
                    place,
                    &["type", "id", "name", "input", "cache_control"],
                )?;
                ensure(
                    is_name(text("id")?),
                    format!("{place}.id: String should match pattern"),
                )?;
                ensure(
                    is_name(text("name")?),
                    format!("{place}.name: String should match pattern"),
                )?;
                ensure(
                    block["input"].is_object(),
                    format!("{place}.input: Input should be a valid dictionary"),
                )
            }
            Some("tool_result") if role == "user" => {
                only(
                    block,
                    place,
                    &[
                        "type",
                        "tool_use_id",
                        "content",
                        "is_error",
                        "cache_control",
                    ],
                )?;
                ensure(
                    is_name(text("tool_use_id")?),
                    format!("{place}.tool_use_id: Field required"),
                )?;
                let content = &block["content"];
                ensure(
                    content.is_null() || content.is_string() || content.is_array(),
                    format!("{place}.content: wrong type"),
                )?;
                ensure(
                    block["is_error"] != true || content.as_str().is_some_and(|c| !c.is_empty()),
                    format!("{place}: content cannot be empty if `is_error` is true"),
                )
            }
            Some("thinking") if role == "assistant" => {
                only(block, place, &["type", "thinking", "signature"])?;
                text("thinking")?;
                let known = self.signatures.contains(text("signature")?);
                ensure(
                    known,
                    format!("{place}: Invalid `signature` in `thinking` block"),
                )
            }
            Some("redacted_thinking") if role == "assistant" => {
                only(block, place, &["type", "data"])
            }
            other => Err(format!("{place}: {other:?} is no block of {role}")),
        }
    }
}

fn mark(block: &Value, place: &str, marks: &mut usize) -> Verdict {
    if let Some(mark) = block.get("cache_control") {
        *marks += 1;
        only(mark, &format!("{place}.cache_control"), &["type", "ttl"])?;
        ensure(
            mark["type"] == "ephemeral",
            format!("{place}.cache_control: unknown type"),
        )?;
    }
    Ok(())
}

fn system(system: &Value, marks: &mut usize) -> Verdict {
    match system {
        Value::Null => Ok(()),
        Value::String(text) => ensure(
            !text.trim().is_empty(),
            "system: text content blocks must be non-empty",
        ),
        Value::Array(blocks) => blocks.iter().enumerate().try_for_each(|(at, block)| {
            let place = format!("system.{at}");
            only(block, &place, &["type", "text", "cache_control"])?;
            mark(block, &place, marks)?;
            ensure(
                block["type"] == "text"
                    && block["text"].as_str().is_some_and(|t| !t.trim().is_empty()),
                format!("{place}: text content blocks must be non-empty"),
            )
        }),
        _ => Err(String::from("system: must be text or blocks")),
    }
}

fn tools(tools: &Value, marks: &mut usize) -> Verdict {
    let Value::Array(tools) = tools else {
        return ensure(tools.is_null(), "tools: Input should be a valid list");
    };
    let mut names = HashSet::new();
    for (at, tool) in tools.iter().enumerate() {
        let place = format!("tools.{at}");
        only(
            tool,
            &place,
            &["name", "description", "input_schema", "cache_control"],
        )?;
        mark(tool, &place, marks)?;
        let name = tool["name"].as_str().unwrap_or_default();
        ensure(
            is_name(name),
            format!("{place}.name: String should match pattern"),
        )?;
        ensure(names.insert(name), "tools: Tool names must be unique.")?;
        ensure(
            tool["description"].as_str().is_some_and(|d| !d.is_empty()),
            format!("{place}.description: empty"),
        )?;
        let schema = &tool["input_schema"];
        ensure(
            schema["type"] == "object",
            format!("{place}.input_schema.type: Field required"),
        )?;
        ensure(
            jsonschema::meta::is_valid(schema),
            format!("{place}.input_schema: JSON schema is invalid"),
        )?;
    }
    Ok(())
}
