//! A model server on loopback: it speaks the real wire format (chunked server-sent events), checks each
//! request as strictly as the real endpoint, answers by a script, and keeps what it was asked.

mod answering; // turns in process, on this server
mod bench; // what a turn in process needs
mod choosing; // which model answers
mod chosen; // who is found, and the choice
mod faults; // the provider where something stops it
mod formats; // what all wire formats have in common
mod offline; // the answers that need no model
mod provider; // the provider against this server
mod quirks; // Chat Completions as everybody speaks it
mod real; // a server of models that is real
mod servers; // what servers leave out or get wrong
mod strict; // what the real endpoint refuses
mod strict_openai; // and the other one
mod unread; // settings that cannot be read choose nobody
mod wires; // the answer in the other wire formats

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use postil::models::Wire;
use serde_json::{Value, json};

/// One answer of the script.
pub struct Step {
    reply: Reply,
    headers: Vec<(String, String)>,
    /// Bytes of the body after which the connection is closed, or goes silent.
    cut: Option<usize>,
    stall: Option<usize>,
    held: bool,
    crlf: bool,
    pings: usize,
}

enum Reply {
    /// Blocks as the API names them, and the stop reason.
    Blocks(Vec<Value>, &'static str, Value),
    /// Status, kind and words of an error, as the endpoint that was asked words it.
    Error(u16, String, String),
    /// A body with its type.
    Body(u16, &'static str, Vec<u8>),
    /// Everything as it goes over the wire.
    Raw(Vec<u8>),
    Made(Box<dyn Fn(&Value) -> Step + Send>),
}

/// One call of a tool in a step: id, name, input.
pub fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

impl Step {
    fn new(reply: Reply) -> Self {
        Self {
            reply,
            headers: Vec::new(),
            cut: None,
            stall: None,
            held: false,
            crlf: false,
            pings: 0,
        }
    }

    /// The model says this and ends its turn.
    pub fn text(text: &str) -> Self {
        Self::blocks(vec![json!({"type": "text", "text": text})], "end_turn")
    }

    /// The model calls tools: `[call(…), …]`.
    pub fn calls(calls: Vec<Value>) -> Self {
        Self::blocks(calls, "tool_use")
    }

    /// Any blocks with any stop reason.
    pub fn blocks(blocks: Vec<Value>, stop: &'static str) -> Self {
        let usage = json!({"input_tokens": 1000, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0});
        Self::new(Reply::Blocks(blocks, stop, usage))
    }

    /// An error as the API words it: `overloaded_error` …
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        Self::new(Reply::Error(status, kind.to_owned(), message.to_owned()))
    }

    pub fn body(status: u16, content_type: &'static str, body: &[u8]) -> Self {
        Self::new(Reply::Body(status, content_type, body.to_vec()))
    }

    /// These bytes and nothing else, then the connection is closed.
    pub fn raw(bytes: &[u8]) -> Self {
        Self::new(Reply::Raw(bytes.to_vec()))
    }

    /// Made from the request when it comes.
    pub fn made(make: impl Fn(&Value) -> Self + Send + 'static) -> Self {
        Self::new(Reply::Made(Box::new(make)))
    }

    /// The model thinks first, and gets its thinking back with this signature.
    pub fn thinking(mut self, signature: &str) -> Self {
        if let Reply::Blocks(blocks, ..) = &mut self.reply {
            let thought = json!({"type": "thinking", "thinking": "", "signature": signature});
            blocks.insert(0, thought);
        }
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The usage that the answer reports, in place of 1000 tokens in and 20 out.
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        if let Reply::Blocks(_, _, usage) = &mut self.reply {
            usage["input_tokens"] = json!(input);
            usage["output_tokens"] = json!(output);
        }
        self
    }

    /// Tokens of the prompt that came out of the cache, and that went into it.
    pub fn cached(mut self, read: u64, write: u64) -> Self {
        if let Reply::Blocks(_, _, usage) = &mut self.reply {
            usage["cache_read_input_tokens"] = json!(read);
            usage["cache_creation_input_tokens"] = json!(write);
        }
        self
    }

    /// The connection ends after so many bytes of the body.
    pub fn cut(mut self, bytes: usize) -> Self {
        self.cut = Some(bytes);
        self
    }

    /// Nothing comes after so many bytes of the body; the connection stays open.
    pub fn stall(mut self, bytes: usize) -> Self {
        self.stall = Some(bytes);
        self
    }

    /// The answer waits for [`Model::release`].
    pub fn held(mut self) -> Self {
        self.held = true;
        self
    }

    /// Lines end with CRLF, comments and keep-alives in between, data over several lines.
    pub fn crlf(mut self) -> Self {
        self.crlf = true;
        self
    }

    /// So many `ping` events before the answer.
    pub fn pings(mut self, pings: usize) -> Self {
        self.pings = pings;
        self
    }
}

/// What was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Asked {
    /// The text of the results that answer tool calls in the newest turn, by call id.
    pub fn results(&self) -> Vec<(String, String, bool)> {
        let newest = self.body["messages"].as_array().and_then(|m| m.last());
        let blocks = newest
            .and_then(|m| m["content"].as_array())
            .cloned()
            .unwrap_or_default();
        blocks
            .iter()
            .filter(|b| b["type"] == "tool_result")
            .map(|b| {
                let text = |key: &str| b[key].as_str().unwrap_or_default().to_owned();
                (text("tool_use_id"), text("content"), b["is_error"] == true)
            })
            .collect()
    }

    /// All text that was sent, for a look at the prompt.
    pub fn prompt(&self) -> String {
        fn gather(value: &Value, out: &mut String) {
            match value {
                Value::String(text) => {
                    out.push_str(text);
                    out.push('\n');
                }
                Value::Array(all) => all.iter().for_each(|v| gather(v, out)),
                Value::Object(map) => map.values().for_each(|v| gather(v, out)),
                _ => {}
            }
        }
        let mut out = String::new();
        gather(&self.body["system"], &mut out);
        gather(&self.body["messages"], &mut out);
        out
    }
}

#[derive(Default)]
struct State {
    script: VecDeque<Step>,
    asked: Vec<Asked>,
    /// What the real endpoint would have refused.
    faults: Vec<String>,
    released: usize,
    strict: strict::Memory,
    strict_openai: strict_openai::Memory,
    /// What is there to be got, by path.
    pages: Vec<(String, Value)>,
    /// The one header without which it answers nothing.
    locked: Option<String>,
    over: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// The server; it ends when dropped, and fails the test then if a request was one that the real endpoint
/// refuses.
pub struct Model {
    url: String,
    shared: Arc<Shared>,
}

/// The key that it is asked with in [`Model::env`].
pub const KEY: &str = "sk-canary-0123456789";

impl Model {
    pub fn start(script: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let address = listener.local_addr().expect("an address");
        let state = State {
            script: script.into(),
            ..State::default()
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let server = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if server.state().over {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let server = server.clone();
                std::thread::spawn(move || serve(&server, stream));
            }
        });
        Self {
            url: format!("http://{address}"),
            shared,
        }
    }

    /// The base URL, for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The environment in which it is asked.
    pub fn env(&self) -> Vec<(String, String)> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        vec![
            pair("ANTHROPIC_BASE_URL", self.url()),
            pair("ANTHROPIC_API_KEY", KEY),
        ]
    }

    /// The same for a program in a terminal, whose postil asks this model.
    pub fn in_terminal(&self) -> [(&'static str, &OsStr); 3] {
        [
            ("ANTHROPIC_BASE_URL", OsStr::new(self.url())),
            ("ANTHROPIC_API_KEY", OsStr::new(KEY)),
            ("POSTIL_MODEL", OsStr::new("anthropic/claude-sonnet-4-5")),
        ]
    }

    /// The base URL as OpenAI's clients know it.
    pub fn v1(&self) -> String {
        format!("{}/v1", self.url)
    }

    /// Answers `path` (with its method in front) with this JSON, apart from the script.
    pub fn page(self, path: &str, body: Value) -> Self {
        let mut state = self.shared.state();
        state.pages.push((path.to_owned(), body));
        // Such a server is somebody's own, and wants no key.
        state.strict_openai.keyless = true;
        drop(state);
        self
    }

    /// Nothing is answered without this key.
    pub fn locked(self, key: &str) -> Self {
        let mut state = self.shared.state();
        state.locked = Some(format!("Bearer {key}"));
        state.strict_openai.keyless = false;
        drop(state);
        self
    }

    /// What was asked so far, refused requests included.
    pub fn requests(&self) -> Vec<Asked> {
        self.shared.state().asked.clone()
    }

    /// Lets one held answer go.
    pub fn release(&self) {
        self.shared.state().released += 1;
        self.shared.changed.notify_all();
    }

    /// From now on it answers by this script.
    pub fn rewrite(&self, script: Vec<Step>) {
        self.shared.state().script = script.into();
    }

    /// Waits until `count` requests have come.
    pub fn wait_for_requests(&self, count: usize) -> Vec<Asked> {
        let limit = crate::harness::DEADLINE;
        let state = self.shared.state();
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, limit, |s| s.asked.len() < count);
        let (state, timeout) = waited.unwrap_or_else(|e| e.into_inner());
        assert!(
            !timeout.timed_out(),
            "{} of {count} requests came",
            state.asked.len()
        );
        state.asked.clone()
    }

    /// What was wrong with the requests, taken away (a test that sends wrong ones on purpose).
    pub fn take_faults(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.state().faults)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let faults = {
            let mut state = self.shared.state();
            state.over = true;
            std::mem::take(&mut state.faults)
        };
        self.shared.changed.notify_all();
        // Wakes the listener, so that it sees that it is over.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
        if !std::thread::panicking() {
            assert!(
                faults.is_empty(),
                "the real endpoint would have refused: {faults:#?}"
            );
        }
    }
}

/// One connection: requests until the other side ends, or a step says so.
fn serve(server: &Shared, mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut pending = Vec::new();
    while let Some((head, body)) = read_request(&mut stream, &mut pending) {
        let wire = wires::of(head.first().map(String::as_str).unwrap_or_default());
        let step = answer_for(server, wire, &head, &body);
        if step.held {
            let state = server.state();
            let waited = server
                .changed
                .wait_while(state, |s| s.released == 0 && !s.over);
            let mut state = waited.unwrap_or_else(|e| e.into_inner());
            state.released = state.released.saturating_sub(1);
        }
        if write_step(server, wire, &mut stream, step, &body).is_none() {
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
    }
}

/// Head (lines) and body of one request.
fn read_request(stream: &mut TcpStream, pending: &mut Vec<u8>) -> Option<(Vec<String>, Vec<u8>)> {
    let mut buffer = [0u8; 65536];
    let end = loop {
        if let Some(at) = pending.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(n) => pending.extend_from_slice(&buffer[..n]),
        }
    };
    let head = String::from_utf8_lossy(&pending[..end]).into_owned();
    let lines: Vec<String> = head.split("\r\n").map(str::to_owned).collect();
    let length: usize = lines
        .iter()
        .find_map(|l| {
            l.to_ascii_lowercase()
                .strip_prefix("content-length:")
                .map(|v| v.trim().to_owned())
        })
        .and_then(|v| v.parse().ok())
        .unwrap_or(0);
    while pending.len() < end + 4 + length {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(n) => pending.extend_from_slice(&buffer[..n]),
        }
    }
    let body = pending[end + 4..end + 4 + length].to_vec();
    pending.drain(..end + 4 + length);
    Some((lines, body))
}

fn answer_for(server: &Shared, wire: Wire, head: &[String], body: &[u8]) -> Step {
    let headers: Vec<(String, String)> = head
        .iter()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let parsed = serde_json::from_slice::<Value>(body);
    let mut state = server.state();
    let first = head.first().map(String::as_str).unwrap_or_default();
    let mut given = headers.iter().filter(|(name, _)| name == "authorization");
    if let Some(wanted) = &state.locked
        && !matches!((given.next(), given.next()), (Some((_, given)), None) if given == wanted)
    {
        return Step::error(401, "authentication_error", "no such key");
    }
    if let Some((_, page)) = state
        .pages
        .iter()
        .find(|(path, _)| first.starts_with(&format!("{path} ")))
    {
        return Step::body(200, "application/json", page.to_string().as_bytes());
    }
    if first.starts_with("GET ") && !state.pages.is_empty() {
        return Step::error(404, "not_found_error", "no such page");
    }
    let verdict = match &parsed {
        Ok(body) if wire == Wire::Messages => state.strict.check(first, &headers, body),
        Ok(body) => state.strict_openai.check(wire, first, &headers, body),
        Err(error) => Err(format!("the body is no JSON: {error}")),
    };
    state.asked.push(Asked {
        headers,
        body: parsed.unwrap_or_default(),
    });
    server.changed.notify_all();
    match verdict {
        Err(fault) => {
            state.faults.push(fault.clone());
            Step::error(400, "invalid_request_error", &fault)
        }
        Ok(()) => state
            .script
            .pop_front()
            .unwrap_or_else(|| Step::error(400, "invalid_request_error", "the script is over")),
    }
}

/// `None`: the connection is to be closed.
fn write_step(
    server: &Shared,
    wire: Wire,
    stream: &mut TcpStream,
    step: Step,
    asked: &[u8],
) -> Option<()> {
    let step = match step.reply {
        Reply::Made(make) => make(&serde_json::from_slice(asked).unwrap_or_default()),
        _ => step,
    };
    let (status, kind, pieces) = match &step.reply {
        Reply::Blocks(blocks, stop, usage) => {
            server.state().strict.remember(blocks);
            server.state().strict_openai.remember(blocks);
            let asked = serde_json::from_slice::<Value>(asked).unwrap_or_default();
            let mut pieces = wires::stream(wire, &asked, (blocks, stop, usage), &step);
            if server.state().strict_openai.keyless {
                pieces = wires::as_ollama(&asked, blocks, usage);
            }
            (200, "text/event-stream; charset=utf-8", pieces)
        }
        Reply::Error(status, kind, message) => {
            let body = if wire == Wire::Messages {
                json!({"type": "error", "error": {"type": kind, "message": message}})
            } else {
                json!({"error": {"message": message, "type": kind, "param": null, "code": kind}})
            };
            (
                *status,
                "application/json",
                vec![body.to_string().into_bytes()],
            )
        }
        Reply::Body(status, kind, body) => (*status, *kind, vec![body.clone()]),
        Reply::Raw(bytes) => {
            stream.write_all(bytes).ok()?;
            return None;
        }
        Reply::Made(_) => return None,
    };
    let mut head = format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\nrequest-id: req_test\r\n"
    );
    for (name, value) in &step.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let mut left = step.cut.or(step.stall).unwrap_or(usize::MAX);
    let mut out = head.into_bytes();
    for piece in pieces {
        let part = &piece[..piece.len().min(left)];
        left -= part.len();
        if !part.is_empty() {
            out.extend([format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat());
        }
        // As a model streams: an event, a packet. A broken answer may come at once.
        if step.cut.is_none() {
            stream.write_all(&std::mem::take(&mut out)).ok()?;
        }
        if left == 0 {
            break;
        }
    }
    stream.write_all(&out).ok()?;
    if step.cut.is_some() {
        return None;
    }
    if step.stall.is_some() {
        // Until the other side gives up.
        let mut byte = [0u8; 1];
        while matches!(stream.read(&mut byte), Ok(n) if n > 0) {}
        return None;
    }
    stream.write_all(b"0\r\n\r\n").ok()
}

/// The events of an answer, in small pieces as a model streams.
fn events(
    model: &Value,
    blocks: &[Value],
    stop: &str,
    usage: &Value,
    pings: usize,
) -> Vec<(&'static str, Value)> {
    let start = json!({"id": "msg_test", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    let mut all = vec![(
        "message_start",
        json!({"type": "message_start", "message": start}),
    )];
    for _ in 0..pings.max(1) {
        all.push(("ping", json!({"type": "ping"})));
    }
    for (index, block) in blocks.iter().enumerate() {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        let (begun, deltas) = match block["type"].as_str() {
            Some("text") => (
                json!({"type": "text", "text": ""}),
                split(&text("text"))
                    .map(|p| json!({"type": "text_delta", "text": p}))
                    .collect(),
            ),
            Some("thinking") => {
                let mut deltas: Vec<Value> = split(&text("thinking"))
                    .map(|p| json!({"type": "thinking_delta", "thinking": p}))
                    .collect();
                deltas.push(json!({"type": "signature_delta", "signature": text("signature")}));
                (
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                    deltas,
                )
            }
            Some("tool_use") => {
                // `json` gives the arguments as they stream, for arguments that are none.
                let arguments = block["json"]
                    .as_str()
                    .map_or_else(|| block["input"].to_string(), str::to_owned);
                let mut deltas = vec![json!({"type": "input_json_delta", "partial_json": ""})];
                deltas.extend(
                    split(&arguments)
                        .map(|p| json!({"type": "input_json_delta", "partial_json": p})),
                );
                (
                    json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
                    deltas,
                )
            }
            _ => (block.clone(), Vec::new()),
        };
        all.push((
            "content_block_start",
            json!({"type": "content_block_start", "index": index, "content_block": begun}),
        ));
        for delta in deltas {
            all.push((
                "content_block_delta",
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        all.push((
            "content_block_stop",
            json!({"type": "content_block_stop", "index": index}),
        ));
    }
    let ended = json!({"stop_reason": stop, "stop_sequence": null});
    let counted = json!({"output_tokens": usage["output_tokens"]});
    all.push((
        "message_delta",
        json!({"type": "message_delta", "delta": ended, "usage": counted}),
    ));
    all.push(("message_stop", json!({"type": "message_stop"})));
    all
}

/// `text` in pieces: few for a long one, so that a big answer stays quick.
fn split(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    let size = (chars.len() / 50).max(9);
    chars
        .chunks(size)
        .map(|c| c.iter().collect())
        .collect::<Vec<String>>()
        .into_iter()
}

fn event(name: &str, data: &Value, crlf: bool) -> Vec<u8> {
    if !crlf {
        return format!("event: {name}\ndata: {data}\n\n").into_bytes();
    }
    // One member a line: the standard joins the lines of data with a line feed.
    let pretty = serde_json::to_string_pretty(data).unwrap_or_default();
    let lines: String = pretty
        .lines()
        .map(|line| format!("data:{line}\r\n"))
        .collect();
    format!(": keep-alive\r\n\r\nevent:{name}\r\n{lines}id: 1\r\nunknown: field\r\n\r\n")
        .into_bytes()
}
