//! An answer of the script in OpenAI's two wire formats, in small pieces as a model streams.

use postil::models::Wire;
use serde_json::{Value, json};

use super::{Step, call, event, events, split};

/// The wire format that a request is in, by its first line.
pub(super) fn of(line: &str) -> Wire {
    let path = line.split(' ').nth(1).unwrap_or_default();
    if path.ends_with("/responses") {
        Wire::Responses
    } else if path.ends_with("/chat/completions") {
        Wire::Chat
    } else {
        Wire::Messages
    }
}

/// The answer as it goes over the wire, an event a piece.
pub(super) fn stream(
    wire: Wire,
    asked: &Value,
    (blocks, stop, usage): (&[Value], &str, &Value),
    step: &Step,
) -> Vec<Vec<u8>> {
    let model = &asked["model"];
    match wire {
        Wire::Messages => events(model, blocks, stop, usage, step.pings)
            .iter()
            .map(|(name, data)| event(name, data, step.crlf))
            .collect(),
        Wire::Responses => responses(model, blocks, stop, usage)
            .into_iter()
            .map(|data| event(data["type"].as_str().unwrap_or_default(), &data, step.crlf))
            .collect(),
        Wire::Chat => {
            let mut pieces = vec![b": keep-alive\n\n".repeat(step.pings)];
            let wants_usage = asked["stream_options"]["include_usage"] == true;
            let all = chunks(model, blocks, stop, usage, wants_usage);
            pieces.extend(all.iter().map(|data| chunk(data, step.crlf)));
            let end: &[u8] = if step.crlf {
                b"data: [DONE]\r\n\r\n"
            } else {
                b"data: [DONE]\n\n"
            };
            pieces.push(end.to_vec());
            pieces
        }
    }
}

fn chunk(data: &Value, crlf: bool) -> Vec<u8> {
    if crlf {
        event("", data, true)
    } else {
        format!("data: {data}\n\n").into_bytes()
    }
}

/// Chunks of Chat Completions as a body, for answers that no script can say.
pub(super) fn chat_body(chunks: &[Value]) -> Vec<u8> {
    chunks.iter().flat_map(|data| chunk(data, false)).collect()
}

/// Any of Chat Completions' deltas as a chunk.
pub(super) fn delta(delta: Value, finish: Value) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

/// The answer in Ollama's manner: the role in every chunk, each call whole and all with the index 0, the
/// count only where it was asked for.
pub(super) fn as_ollama(asked: &Value, blocks: &[Value], usage: &Value) -> Vec<Vec<u8>> {
    let of = |mut delta: Value, finish: Value| {
        delta["role"] = json!("assistant");
        if delta["content"].is_null() {
            delta["content"] = json!("");
        }
        json!({"id": "chatcmpl-42", "object": "chat.completion.chunk", "created": 1, "model": asked["model"],
            "system_fingerprint": "fp_ollama", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let mut all = Vec::new();
    let mut finish = "stop";
    for block in blocks {
        if block["type"] == "tool_use" {
            finish = "tool_calls";
            let function = json!({"name": block["name"], "arguments": arguments_of(block)});
            let call =
                json!([{"id": block["id"], "index": 0, "type": "function", "function": function}]);
            all.push(of(json!({"tool_calls": call}), Value::Null));
        } else {
            all.extend(split(&word(block, "text")).map(|p| of(json!({"content": p}), Value::Null)));
        }
    }
    all.push(of(json!({}), json!(finish)));
    if asked["stream_options"]["include_usage"] == true {
        let mut last = of(json!({}), Value::Null);
        last["choices"] = json!([]);
        last["usage"] = json!({"prompt_tokens": usage["input_tokens"], "completion_tokens": usage["output_tokens"], "total_tokens": 0});
        all.push(last);
    }
    let mut pieces: Vec<Vec<u8>> = all.iter().map(|data| chunk(data, false)).collect();
    pieces.push(b"data: [DONE]\n\n".to_vec());
    pieces
}

fn word(block: &Value, key: &str) -> String {
    block[key].as_str().unwrap_or_default().to_owned()
}

/// The arguments as they stream: `json` stands for arguments that are none.
fn arguments_of(block: &Value) -> String {
    block["json"]
        .as_str()
        .map_or_else(|| block["input"].to_string(), str::to_owned)
}

fn chunks(
    model: &Value,
    blocks: &[Value],
    stop: &str,
    usage: &Value,
    wants_usage: bool,
) -> Vec<Value> {
    let of = |delta: Value, finish: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": null})
    };
    let mut all = vec![of(json!({"role": "assistant", "content": ""}), Value::Null)];
    let mut calls = 0;
    for block in blocks {
        match block["type"].as_str() {
            Some("text") => {
                all.extend(
                    split(&word(block, "text")).map(|p| of(json!({"content": p}), Value::Null)),
                );
            }
            Some("thinking") => {
                let thought = word(block, "signature");
                all.extend(
                    split(&thought).map(|p| of(json!({"reasoning_content": p}), Value::Null)),
                );
            }
            Some("tool_use") => {
                let begun = json!({"index": calls, "id": block["id"], "type": "function",
                    "function": {"name": block["name"], "arguments": ""}});
                all.push(of(json!({"tool_calls": [begun]}), Value::Null));
                all.extend(split(&arguments_of(block)).map(|p| {
                    of(
                        json!({"tool_calls": [{"index": calls, "function": {"arguments": p}}]}),
                        Value::Null,
                    )
                }));
                calls += 1;
            }
            other => panic!("no block of this format: {other:?}"),
        }
    }
    let finish = match stop {
        "tool_use" => "tool_calls",
        "max_tokens" => "length",
        "refusal" => "content_filter",
        _ => "stop",
    };
    all.push(of(json!({}), json!(finish)));
    if wants_usage {
        let number = |key: &str| usage[key].as_u64().unwrap_or(0);
        let read = number("cache_read_input_tokens");
        let write = number("cache_creation_input_tokens");
        let prompt = number("input_tokens") + read + write;
        all.push(json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [],
            "usage": {"prompt_tokens": prompt, "completion_tokens": number("output_tokens"),
                "total_tokens": prompt + number("output_tokens"),
                "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": write},
                "completion_tokens_details": {"reasoning_tokens": 0}}}));
    }
    all
}

fn responses(model: &Value, blocks: &[Value], stop: &str, usage: &Value) -> Vec<Value> {
    let response = |status: &str| {
        json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": model,
            "error": null, "incomplete_details": null, "output": [], "usage": null, "store": false})
    };
    let mut all = vec![
        json!({"type": "response.created", "response": response("in_progress")}),
        json!({"type": "response.in_progress", "response": response("in_progress")}),
    ];
    let mut output = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let (begun, mut deltas, whole) = item(at, block);
        all.push(json!({"type": "response.output_item.added", "output_index": at, "item": begun}));
        all.append(&mut deltas);
        all.push(json!({"type": "response.output_item.done", "output_index": at, "item": whole}));
        output.push(whole);
    }
    let number = |key: &str| usage[key].as_u64().unwrap_or(0);
    let read = number("cache_read_input_tokens");
    let write = number("cache_creation_input_tokens");
    let input = number("input_tokens") + read + write;
    let mut end = response("completed");
    end["output"] = json!(output);
    end["usage"] = json!({"input_tokens": input, "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": write},
        "output_tokens": number("output_tokens"), "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + number("output_tokens")});
    let reason = match stop {
        "max_tokens" => Some("max_output_tokens"),
        "refusal" => Some("content_filter"),
        _ => None,
    };
    let kind = match reason {
        Some(reason) => {
            end["status"] = json!("incomplete");
            end["incomplete_details"] = json!({"reason": reason});
            "response.incomplete"
        }
        None => "response.completed",
    };
    all.push(json!({"type": kind, "response": end}));
    for (at, event) in all.iter_mut().enumerate() {
        event["sequence_number"] = json!(at);
    }
    all
}

/// One item of the output: as it begins, its pieces, as it ends.
fn item(at: usize, block: &Value) -> (Value, Vec<Value>, Value) {
    let of = |kind: &str, id: &str, more: Value| {
        let mut event = json!({"type": kind, "item_id": id, "output_index": at});
        if let (Value::Object(event), Value::Object(more)) = (&mut event, more) {
            event.extend(more);
        }
        event
    };
    match block["type"].as_str() {
        Some("text") => {
            let id = format!("msg_{at}");
            let text = word(block, "text");
            let message = |status: &str, content: Value| json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content});
            let part = |text: &str| json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
            let mut deltas = vec![of(
                "response.content_part.added",
                &id,
                json!({"content_index": 0, "part": part("")}),
            )];
            deltas.extend(split(&text).map(|p| {
                of(
                    "response.output_text.delta",
                    &id,
                    json!({"content_index": 0, "delta": p, "logprobs": []}),
                )
            }));
            deltas.push(of(
                "response.output_text.done",
                &id,
                json!({"content_index": 0, "text": text}),
            ));
            deltas.push(of(
                "response.content_part.done",
                &id,
                json!({"content_index": 0, "part": part(&text)}),
            ));
            (
                message("in_progress", json!([])),
                deltas,
                message("completed", json!([part(&text)])),
            )
        }
        Some("thinking") => {
            let reasoning = |content: Value| json!({"id": format!("rs_{at}"), "type": "reasoning", "summary": [], "encrypted_content": content, "status": null});
            (
                reasoning(json!("")),
                Vec::new(),
                reasoning(block["signature"].clone()),
            )
        }
        Some("tool_use") => {
            let id = format!("fc_{at}");
            let arguments = arguments_of(block);
            let call = |status: &str, arguments: &str| {
                json!({"id": id, "type": "function_call", "status": status, "arguments": arguments,
                    "call_id": block["id"], "name": block["name"]})
            };
            let mut deltas: Vec<Value> = split(&arguments)
                .map(|p| {
                    of(
                        "response.function_call_arguments.delta",
                        &id,
                        json!({"delta": p}),
                    )
                })
                .collect();
            deltas.push(of(
                "response.function_call_arguments.done",
                &id,
                json!({"arguments": arguments}),
            ));
            (
                call("in_progress", ""),
                deltas,
                call("completed", &arguments),
            )
        }
        other => panic!("no block of this format: {other:?}"),
    }
}

/// Reasoning, a text, a call: what an answer of any format can hold.
pub(super) fn rich() -> Vec<Value> {
    vec![
        json!({"type": "thinking", "thinking": "", "signature": "sig-1 — 思"}),
        json!({"type": "text", "text": "Let me look — 😀 näher."}),
        call(
            "call_1",
            "file_read",
            json!({"path": "src/ünï.rs", "n": [1, {"a": "\"\\"}]}),
        ),
    ]
}
