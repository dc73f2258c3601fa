//! A model that is scripted, on loopback: it has its agent read one small file after another and then answers.
//! It speaks what each agent speaks and keeps the moments that it sees.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// One request of the conversation and its answer.
#[derive(Clone, Copy)]
pub struct Exchange {
    /// The request's first byte came.
    pub came: Instant,
    /// The answer's last byte went.
    pub went: Instant,
}

pub struct Scripted {
    pub port: u16,
    state: Arc<State>,
}

struct State {
    /// Where the notes are.
    folder: PathBuf,
    rounds: usize,
    pace: Pace,
    /// What its agent is to run instead of reading notes.
    command: Option<String>,
    seen: Mutex<Vec<Exchange>>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Pace {
    /// An answer goes in one write.
    AtOnce,
    /// As models speak: some words first, an event at a time.
    Spoken,
    /// The first answer begins and never ends.
    Stalled,
}

/// Notes that there are; a longer conversation reads them again.
pub const NOTES: usize = 50;

impl Scripted {
    /// Asks for `rounds` notes below `folder`, then answers.
    pub fn start(folder: &Path, rounds: usize, pace: Pace) -> Self {
        Self::with(folder, rounds, pace, None)
    }

    /// Has its agent run one command, then answers.
    pub fn running(folder: &Path, command: &str) -> Self {
        Self::with(folder, 1, Pace::AtOnce, Some(command.to_owned()))
    }

    fn with(folder: &Path, rounds: usize, pace: Pace, command: Option<String>) -> Self {
        for note in 0..NOTES {
            let path = folder.join(format!("notes/{note}.txt"));
            std::fs::create_dir_all(folder.join("notes")).expect("a folder");
            std::fs::write(path, format!("This is note {note}.\n")).expect("a note");
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(State {
            folder: folder.to_owned(),
            rounds,
            pace,
            command,
            seen: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        Self { port, state }
    }

    pub fn seen(&self) -> Vec<Exchange> {
        let seen = self.state.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until `count` requests were answered, or begun to be.
    pub fn wait_for(&self, count: usize) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.seen().len() < count {
            assert!(Instant::now() < end, "no request came");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl State {
    fn note(&self, came: Instant, went: Instant) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(Exchange { came, went });
    }
}

struct Asked {
    path: String,
    body: Value,
    came: Instant,
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.fill_buf().ok()?;
    let came = Instant::now();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut field = String::new();
        reader.read_line(&mut field).ok()?;
        let field = field.trim_end().to_ascii_lowercase();
        if field.is_empty() {
            break;
        }
        if let Some(value) = field.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        chunked |= field.starts_with("transfer-encoding:") && field.ends_with("chunked");
    }
    let mut body = vec![0; length];
    if chunked {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(chunk.get(..size)?);
        }
    } else {
        reader.read_exact(&mut body).ok()?;
    }
    Some(Asked {
        path,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        came,
    })
}

fn serve(stream: TcpStream, state: &State) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut out = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let asked = read(&mut reader)?;
        let path = asked.path.split('?').next().unwrap_or_default();
        let form = FORMS.iter().find(|form| path.ends_with(form.path));
        let tools = asked.body["tools"].as_array().map_or(0, Vec::len);
        // A request without tools is a title, a check of the key, a count: no part of the conversation.
        let counts = form.is_some() && tools > 1;
        let Some(form) = form else {
            plain(
                &mut out,
                &json!({"data": [], "models": [], "input_tokens": 1}),
            )?;
            continue;
        };
        let done = (form.results)(&asked.body);
        let call = match &state.command {
            _ if !counts || done >= state.rounds => None,
            Some(command) => Some((
                String::from("bash"),
                json!({"command": command, "timeout": 100}),
            )),
            None => tool(&asked.body, &state.folder, done % NOTES),
        };
        let events = (form.events)(&asked.body, call);
        let mut frames: Vec<String> = Vec::new();
        for (name, data) in &events {
            let name = name.map(|name| format!("event: {name}\n"));
            frames.push(format!("{}data: {data}\n\n", name.unwrap_or_default()));
        }
        if form.ends_with_done {
            frames.push(String::from("data: [DONE]\n\n"));
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        match state.pace {
            Pace::Stalled if counts => {
                let begin = frames.first().map_or("", String::as_str);
                write!(out, "{head}{}", chunk(begin)).ok()?;
                state.note(asked.came, Instant::now());
                // Until the agent goes away.
                let _ = reader.fill_buf();
                return None;
            }
            Pace::Spoken => {
                out.write_all(head.as_bytes()).ok()?;
                for frame in &frames {
                    out.write_all(chunk(frame).as_bytes()).ok()?;
                    std::thread::sleep(Duration::from_millis(20));
                }
                out.write_all(b"0\r\n\r\n").ok()?;
            }
            Pace::AtOnce | Pace::Stalled => {
                let whole = format!("{head}{}0\r\n\r\n", chunk(&frames.concat()));
                out.write_all(whole.as_bytes()).ok()?;
            }
        }
        if counts {
            state.note(asked.came, Instant::now());
        }
    }
}

fn plain(out: &mut TcpStream, value: &Value) -> Option<()> {
    let body = value.to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
    write!(
        out,
        "{head}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .ok()
}

/// The call that reads a note, by whichever tool this agent has for it.
fn tool(body: &Value, folder: &Path, note: usize) -> Option<(String, Value)> {
    let file = format!("notes/{note}.txt");
    let absolute = folder.join(&file).display().to_string();
    let names = body["tools"].as_array()?.iter().filter_map(|tool| {
        let name = tool["name"].as_str();
        name.or(tool["function"]["name"].as_str())
    });
    names.into_iter().find_map(|name| {
        let input = match name {
            "file_read" => json!({"path": file}),
            "Read" => json!({"file_path": absolute}),
            "read" => json!({"filePath": absolute}),
            "exec_command" => json!({"cmd": format!("cat {file}")}),
            "shell_command" => json!({"command": format!("cat {file}")}),
            "shell" => json!({"command": ["cat", file]}),
            _ => return None,
        };
        Some((name.to_owned(), input))
    })
}

type Events = Vec<(Option<&'static str>, Value)>;

struct Form {
    path: &'static str,
    /// How many tool results the conversation has.
    results: fn(&Value) -> usize,
    /// The answer: a call, or the last words.
    events: fn(&Value, Option<(String, Value)>) -> Events,
    ends_with_done: bool,
}

const FORMS: [Form; 3] = [
    Form {
        path: "/v1/messages",
        results: |body| count(&body["messages"], |block| block["type"] == "tool_result"),
        events: messages,
        ends_with_done: false,
    },
    Form {
        path: "/responses",
        results: |body| {
            let items = body["input"].as_array().into_iter().flatten();
            let ends = |item: &&Value| {
                item["type"]
                    .as_str()
                    .is_some_and(|t| t.ends_with("_output"))
            };
            items.filter(ends).count()
        },
        events: responses,
        ends_with_done: false,
    },
    Form {
        path: "/chat/completions",
        results: |body| {
            let turns = body["messages"].as_array().into_iter().flatten();
            turns.filter(|turn| turn["role"] == "tool").count()
        },
        events: chat,
        ends_with_done: true,
    },
];

fn count(turns: &Value, is: impl Fn(&Value) -> bool) -> usize {
    let turns = turns.as_array().into_iter().flatten();
    let blocks = turns.flat_map(|turn| turn["content"].as_array().into_iter().flatten());
    blocks.filter(|block| is(block)).count()
}

const LAST_WORDS: &str = "All notes are read.";

fn messages(body: &Value, call: Option<(String, Value)>) -> Events {
    let number = count(&body["messages"], |block| block["type"] == "tool_result");
    let (block, last, stop) = match call {
        Some((name, input)) => (
            json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            "tool_use",
        ),
        None => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": LAST_WORDS}),
            "end_turn",
        ),
    };
    let message = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 100, "output_tokens": 1}});
    let start = |index: usize, block: Value| {
        let data = json!({"type": "content_block_start", "index": index, "content_block": block});
        (Some("content_block_start"), data)
    };
    let delta = |index: usize, delta: &Value| {
        let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
        (Some("content_block_delta"), data)
    };
    let stop_block = |index: usize| {
        let data = json!({"type": "content_block_stop", "index": index});
        (Some("content_block_stop"), data)
    };
    let mut events = vec![(
        Some("message_start"),
        json!({"type": "message_start", "message": message}),
    )];
    events.push(start(0, json!({"type": "text", "text": ""})));
    for word in ["Let", " me", " look", " at", " the", " next", " note", "."] {
        events.push(delta(0, &json!({"type": "text_delta", "text": word})));
    }
    events.extend([
        stop_block(0),
        start(1, block),
        delta(1, &last),
        stop_block(1),
        (
            Some("message_delta"),
            json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 20}}),
        ),
        (Some("message_stop"), json!({"type": "message_stop"})),
    ]);
    events
}

fn responses(body: &Value, call: Option<(String, Value)>) -> Events {
    let number = body["input"].as_array().map_or(0, Vec::len);
    let item = match call {
        Some((name, input)) => {
            json!({"type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"), "name": name,
            "arguments": input.to_string(), "status": "completed"})
        }
        None => {
            json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": LAST_WORDS, "annotations": []}]})
        }
    };
    let usage = json!({"input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}});
    let response = |status: &str, output: Value| {
        json!({"id": format!("resp_{number}"), "object": "response", "created_at": 1, "model": body["model"],
            "status": status, "output": output, "usage": usage})
    };
    let of = |name: &'static str, fields: Value| {
        let mut event = json!({"type": name, "sequence_number": 0});
        if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), fields) {
            event.extend(fields);
        }
        (Some(name), event)
    };
    vec![
        of(
            "response.created",
            json!({"response": response("in_progress", json!([]))}),
        ),
        of(
            "response.output_item.added",
            json!({"output_index": 0, "item": item}),
        ),
        of(
            "response.output_item.done",
            json!({"output_index": 0, "item": item}),
        ),
        of(
            "response.completed",
            json!({"response": response("completed", json!([item]))}),
        ),
    ]
}

fn chat(body: &Value, call: Option<(String, Value)>) -> Events {
    let number = body["messages"].as_array().map_or(0, Vec::len);
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let data = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"],
            "choices": [choice]});
        (None, data)
    };
    let (delta, finish) = match call {
        Some((name, input)) => (
            json!({"role": "assistant", "tool_calls": [{"index": 0, "id": format!("call_{number}"), "type": "function",
                "function": {"name": name, "arguments": input.to_string()}}]}),
            "tool_calls",
        ),
        None => (json!({"role": "assistant", "content": LAST_WORDS}), "stop"),
    };
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120});
    vec![
        chunk(delta, Value::Null),
        chunk(json!({}), json!(finish)),
        (
            None,
            json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"],
                "choices": [], "usage": usage}),
        ),
    ]
}
