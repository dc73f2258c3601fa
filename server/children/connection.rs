//! One run of one child: ids, requests in flight, what it publishes. Nothing that it sends can do more
//! than make this connection end.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{Notify, Semaphore, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::activity::Activity;
use super::documents::{Documents, Manner, Notice, Source};
use super::framing::{self, Framer, Piece};
use super::outgoing::{Outgoing, Unsent, Weight};
use super::{ChildError, Row, Shared, questions, uri};

/// Frames that are no message, until the child is given up.
const MAX_BAD: u32 = 32;
/// Bytes of published diagnostics that are kept.
const MAX_PUBLISHED: usize = 8 << 20;
const MAX_PUBLISHED_FILES: usize = 4096;
/// New files that are remembered as told.
const MAX_MADE: usize = 10_000;
/// How many times the time of a request it may take while the child is indexing.
pub const INDEXING_FACTOR: u32 = 6;

/// Diagnostics as published.
pub struct Published {
    /// The version of our text they belong to, where that is known.
    pub version: Option<i32>,
    /// The child named it; else it is that of the text as it was told last.
    pub is_named: bool,
    pub items: Box<RawValue>,
}

struct Waiting {
    answer: oneshot::Sender<Result<Box<RawValue>, ChildError>>,
    /// Progress and partial results that the asker wants, as JSON.
    tokens: Vec<String>,
}

#[derive(Default)]
struct InFlight {
    ended: bool,
    waiting: HashMap<i64, Waiting>,
}

pub struct Connection {
    pub shared: Arc<Shared>,
    pub row: Row,
    pub root: PathBuf,
    pub pid: Option<u32>,
    pub activity: Activity,
    pub capabilities: OnceLock<Value>,
    pub documents: Mutex<Documents>,
    pub published: Mutex<HashMap<PathBuf, Published>>,
    /// Grows with each publication.
    pub publications: watch::Sender<u64>,
    /// Questions of the child that somebody works on.
    pub questions: Semaphore,
    outgoing: Outgoing,
    in_flight: Mutex<InFlight>,
    next: AtomicI64,
    dirty: Notify,
    began: SystemTime,
    /// Files that were made since, of which it was told that they were.
    made: Mutex<HashSet<PathBuf>>,
    ended: CancellationToken,
    reason: OnceLock<String>,
    heard: AtomicU64,
    /// When a request first timed out with no sign of life, since one was answered last.
    silent: Mutex<Option<Instant>>,
    bad: AtomicU32,
}

/// What every message has, or may have; the rest is not looked at.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ResponseError {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Option<Value>,
}

pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    pub fn new(
        shared: Arc<Shared>,
        row: Row,
        root: PathBuf,
        pid: Option<u32>,
        stdin: ChildStdin,
    ) -> Arc<Self> {
        let tells = row.command.contains("rust-analyzer");
        Arc::new(Self {
            shared,
            root,
            pid,
            activity: Activity::new(tells),
            capabilities: OnceLock::new(),
            documents: Mutex::default(),
            published: Mutex::default(),
            publications: watch::Sender::new(0),
            questions: Semaphore::new(8),
            outgoing: Outgoing::new(stdin),
            in_flight: Mutex::default(),
            next: AtomicI64::new(1),
            dirty: Notify::new(),
            began: SystemTime::now(),
            made: Mutex::default(),
            ended: CancellationToken::new(),
            reason: OnceLock::new(),
            heard: AtomicU64::new(0),
            silent: Mutex::default(),
            bad: AtomicU32::new(0),
            row,
        })
    }

    /// Ends the connection: nothing is sent any more, and who waits for an answer gets an error.
    pub fn end(&self, reason: &str) {
        let _ = self.reason.set(reason.to_string());
        self.outgoing.close();
        let waiting = {
            let mut in_flight = locked(&self.in_flight);
            in_flight.ended = true;
            std::mem::take(&mut in_flight.waiting)
        };
        for (_, waiting) in waiting {
            let _ = waiting.answer.send(Err(self.stopped()));
        }
        self.ended.cancel();
    }

    pub fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    pub fn stopped(&self) -> ChildError {
        let reason = self.reason.get().map_or("it ended", String::as_str);
        ChildError::Stopped(self.row.command.clone(), reason.to_string())
    }

    pub fn is_busy(&self) -> bool {
        !locked(&self.in_flight).waiting.is_empty()
    }

    // -- sending ---------------------------------------------------------------------------------

    fn send(&self, body: &[u8], weight: Weight) -> bool {
        match self.outgoing.send(framing::frame(body), weight) {
            Ok(()) => true,
            Err(Unsent::Closed) => false,
            Err(Unsent::Full) => {
                self.end("it has stopped reading what it is sent");
                false
            }
        }
    }

    pub fn notify(&self, method: &str, params: &Value) {
        self.notify_as(Weight::Little, method, params);
    }

    fn notify_as(&self, weight: Weight, method: &str, params: &Value) {
        let mut body = format!(
            r#"{{"jsonrpc":"2.0","method":{},"params":"#,
            Value::from(method)
        )
        .into_bytes();
        if serde_json::to_writer(&mut body, params).is_ok() {
            body.push(b'}');
            self.send(&body, weight);
        }
    }

    fn notify_all(&self, notices: Vec<Notice>) {
        for (method, params) in notices {
            if method == "textDocument/didClose" {
                // Its versions begin again: what was said of one is not of the next that is numbered so.
                let uri = params.pointer("/textDocument/uri").and_then(Value::as_str);
                if let Some(path) = uri.and_then(uri::to_path) {
                    locked(&self.published).remove(&path);
                }
            }
            self.notify_as(Weight::Text, method, &params);
        }
    }

    /// Answers a question of the child; `id` as it came.
    pub fn reply(&self, id: &RawValue, answer: Result<Value, (i64, String)>) {
        let body = match answer {
            Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get()),
            Err((code, message)) => format!(
                r#"{{"jsonrpc":"2.0","id":{},"error":{}}}"#,
                id.get(),
                json!({"code": code, "message": message})
            ),
        };
        self.send(body.as_bytes(), Weight::Little);
    }

    /// Asks, and waits for the answer: `timeout`, and up to [`INDEXING_FACTOR`] times that while the
    /// child is indexing. Dropped or cancelled, the child is told so.
    pub async fn call(
        &self,
        method: &str,
        params: &Value,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, ChildError> {
        self.call_in(None, method, params, timeout, cancel).await
    }

    /// The same of a place in a document: not asked where the child was told of another state of it.
    pub async fn call_in(
        &self,
        text: Option<(&Path, Source)>,
        method: &str,
        params: &Value,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, ChildError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut body = Vec::with_capacity(256);
        body.extend_from_slice(
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":"#,
                Value::from(method)
            )
            .as_bytes(),
        );
        if serde_json::to_writer(&mut body, params).is_err() {
            return Err(self.stopped());
        }
        body.push(b'}');
        let tokens = ["workDoneToken", "partialResultToken"]
            .iter()
            .filter_map(|t| params.get(t))
            .map(Value::to_string)
            .collect();
        let (answer, mut answered) = oneshot::channel();
        {
            let mut in_flight = locked(&self.in_flight);
            if in_flight.ended {
                return Err(self.stopped());
            }
            in_flight.waiting.insert(id, Waiting { answer, tokens });
        }
        let _asked = Asked {
            connection: self,
            id,
        };
        let heard = self.heard.load(Ordering::Relaxed);
        let is_sent = {
            // No change may go between the look at the text and the question.
            let documents = locked(&self.documents);
            if text.is_some_and(|(path, state)| !documents.is_told(path, state)) {
                // It was not asked, and has nothing to cancel.
                locked(&self.in_flight).waiting.remove(&id);
                return Err(ChildError::modified());
            }
            self.send(&body, Weight::Little)
        };
        if !is_sent {
            // What waits was failed by the end of the connection, or never will be.
            return Err(self.stopped());
        }
        let begun = Instant::now();
        let mut deadline = begun + timeout;
        loop {
            tokio::select! {
                biased;
                answer = &mut answered => {
                    *locked(&self.silent) = None;
                    return answer.unwrap_or_else(|_| Err(self.stopped()));
                }
                () = cancel.cancelled() => return Err(ChildError::Cancelled),
                () = tokio::time::sleep_until(deadline) => {
                    let indexing = self.activity.may_be_indexing();
                    if indexing && begun.elapsed() < timeout * INDEXING_FACTOR {
                        deadline += timeout.min(Duration::from_secs(1));
                        continue;
                    }
                    return Err(self.timed_out(begun, heard, indexing));
                }
            }
        }
    }

    fn timed_out(&self, begun: Instant, heard: u64, indexing: bool) -> ChildError {
        let command = self.row.command.clone();
        let seconds = begun.elapsed().as_secs();
        if self.heard.load(Ordering::Relaxed) == heard {
            let first = *locked(&self.silent).get_or_insert_with(Instant::now);
            // Two in a row: it hangs, and a new one may not. Those that wait side by side for a slow one are as one.
            if begun >= first {
                self.end("it hangs");
            }
        }
        if indexing {
            self.activity.give_up();
            ChildError::Indexing(command, seconds)
        } else {
            ChildError::TimedOut(command, seconds)
        }
    }

    // -- documents -------------------------------------------------------------------------------

    /// The child's documents become what they are now; `asked` is opened.
    pub fn sync(&self, asked: Option<(&Path, &str)>) {
        // Sent under the lock: two callers must not change places on the wire.
        let mut documents = locked(&self.documents);
        let notices = documents.sync(asked, &self.shared.buffers);
        self.notify_all(notices);
    }

    pub fn touch(&self, path: &Path) {
        locked(&self.documents).touch(path);
        self.dirty.notify_one();
    }

    pub fn saved(&self, path: &Path) {
        let mut documents = locked(&self.documents);
        let notices = documents.saved(path, &self.shared.buffers);
        self.notify_all(notices);
    }

    pub fn close(&self, path: &Path) {
        let mut documents = locked(&self.documents);
        let mut notices = Vec::new();
        documents.close(path, &mut notices);
        self.notify_all(notices);
    }

    /// What happened to a file on disk, as `FileChangeType` (LSP 3.17 §FileEvent). Some servers look for new files
    /// only when they are told of one. `is_new`: somebody who saw it being made says so.
    pub fn change_of(&self, path: &Path, is_new: bool) -> u8 {
        const CREATED: u8 = 1;
        const CHANGED: u8 = 2;
        const DELETED: u8 = 3;
        let mut made = locked(&self.made);
        let Ok(found) = path.metadata() else {
            made.remove(path);
            return DELETED;
        };
        let is_new = is_new || found.created().is_ok_and(|at| at >= self.began);
        match is_new && made.len() < MAX_MADE && made.insert(path.to_path_buf()) {
            true => CREATED,
            false => CHANGED,
        }
    }

    pub fn manner(&self) -> Manner {
        locked(&self.documents).manner()
    }

    /// Sends changes that nobody's request carries along.
    pub async fn follow(&self) {
        loop {
            tokio::select! {
                () = self.ended.cancelled() => return,
                () = self.dirty.notified() => self.sync(None),
            }
        }
    }

    pub async fn write(&self) {
        self.outgoing.run().await;
    }

    // -- receiving -------------------------------------------------------------------------------

    /// Reads until the child closes its output or breaks the protocol for good.
    pub async fn read(self: Arc<Self>, mut stdout: ChildStdout) {
        let mut framer = Framer::default();
        loop {
            match stdout.read_buf(framer.space()).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            self.heard.fetch_add(1, Ordering::Relaxed);
            loop {
                match framer.next_body() {
                    Ok(Some(Piece::Body(range))) => self.receive(framer.body(range)),
                    Ok(Some(Piece::Head(range, length))) => {
                        self.too_large(framer.body(range), length);
                    }
                    Ok(None) => break,
                    Err(broken) => {
                        self.end(&broken.to_string());
                        return;
                    }
                }
            }
            if self.has_ended() {
                return;
            }
        }
    }

    fn receive(self: &Arc<Self>, body: &[u8]) {
        let Ok(envelope) = serde_json::from_slice::<Envelope>(body) else {
            tracing::warn!(
                "{}: a frame of {} bytes is no message",
                self.row.command,
                body.len()
            );
            if self.bad.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_BAD {
                self.end("it sends frames that are no messages");
            }
            return;
        };
        match (envelope.method, envelope.id) {
            (Some(method), Some(id)) => questions::answer(self, &method, id, envelope.params),
            (Some(method), None) => self.notified(&method, envelope.params),
            (None, Some(id)) => self.answered(id, envelope.result, envelope.error),
            (None, None) => {}
        }
    }

    /// A message that is not read: if it is an answer, that to this question, and the same would come again.
    fn too_large(&self, head: &[u8], length: usize) {
        let head = String::from_utf8_lossy(head);
        let command = &self.row.command;
        tracing::warn!("{command}: a message of {length} bytes is not read");
        let before = head.split("\"result\"").next().unwrap_or_default();
        if before.contains("\"method\"") {
            return;
        }
        let id = before.split_once("\"id\"").map_or("", |(_, rest)| rest);
        let id = id.trim_start().trim_start_matches(':').trim_start();
        let end = id.find(|c: char| !c.is_ascii_digit()).unwrap_or(id.len());
        let id = id.get(..end).and_then(|id| id.parse().ok());
        let Some(id): Option<i64> = id else {
            // Whoever waits for it would wait in vain.
            self.end(&framing::Broken::Oversized(length as u64).to_string());
            return;
        };
        if let Some(waiting) = locked(&self.in_flight).waiting.remove(&id) {
            let error = ChildError::TooLarge(command.clone(), length >> 20);
            let _ = waiting.answer.send(Err(error));
        }
    }

    fn answered(&self, id: &RawValue, result: Option<&RawValue>, error: Option<&RawValue>) {
        let waiting = id
            .get()
            .parse()
            .ok()
            .and_then(|id: i64| locked(&self.in_flight).waiting.remove(&id));
        let Some(waiting) = waiting else {
            // Late, twice, or never asked.
            tracing::debug!("{}: an answer to no question", self.row.command);
            return;
        };
        let answer = match error {
            Some(error) => {
                let error = serde_json::from_str(error.get()).unwrap_or(ResponseError {
                    code: -32603,
                    message: String::from("it failed"),
                    data: None,
                });
                Err(ChildError::Answered {
                    code: error.code,
                    message: error.message,
                    data: error.data,
                })
            }
            None => Ok(result.unwrap_or(RawValue::NULL).to_owned()),
        };
        let _ = waiting.answer.send(answer);
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        let Some(params) = params else { return };
        match method {
            "textDocument/publishDiagnostics" => self.publish(params),
            "$/progress"
            | "experimental/serverStatus"
            | "window/showMessage"
            | "window/logMessage" => {
                let Ok(params) = serde_json::from_str::<Value>(params.get()) else {
                    return;
                };
                match method {
                    "$/progress" => self.progress(params),
                    "experimental/serverStatus" => self.activity.status(&params),
                    _ => questions::message(self, &params, method == "window/showMessage"),
                }
            }
            _ => {}
        }
    }

    fn progress(&self, params: Value) {
        let Some(token) = params.get("token") else {
            return;
        };
        let name = token.to_string();
        if locked(&self.in_flight)
            .waiting
            .values()
            .any(|w| w.tokens.contains(&name))
        {
            self.shared.forward("$/progress", params);
        } else if let Some(value) = params.get("value") {
            self.activity.progress(token, value);
        }
    }

    fn publish(&self, params: &RawValue) {
        #[derive(Deserialize)]
        struct Params<'a> {
            uri: String,
            #[serde(default)]
            version: Option<i32>,
            #[serde(borrow)]
            diagnostics: &'a RawValue,
        }
        let Ok(params) = serde_json::from_str::<Params>(params.get()) else {
            return;
        };
        let Some(path) = uri::to_file(&params.uri) else {
            return;
        };
        {
            let documents = locked(&self.documents);
            let mut published = locked(&self.published);
            published.insert(
                path.clone(),
                Published {
                    version: params.version.or_else(|| documents.version(&path)),
                    is_named: params.version.is_some(),
                    items: params.diagnostics.to_owned(),
                },
            );
            for pass in 0..3 {
                let items = published.values().map(|p| p.items.get().len());
                let bytes: usize = items.sum();
                if bytes <= MAX_PUBLISHED && published.len() <= MAX_PUBLISHED_FILES {
                    break;
                }
                // Those of a document that it was told of go last: it says nothing anew of one that stays as it is.
                published.retain(|file, one| {
                    let is_told = documents.version(file).is_some();
                    match pass {
                        0 => is_told || one.items.get() != "[]",
                        1 => is_told || *file == path,
                        _ => *file == path,
                    }
                });
            }
        }
        self.publications.send_modify(|n| *n += 1);
    }
}

/// Forgets a request that nobody waits for any more, and tells the child.
struct Asked<'a> {
    connection: &'a Connection,
    id: i64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if locked(&self.connection.in_flight)
            .waiting
            .remove(&self.id)
            .is_some()
        {
            self.connection
                .notify("$/cancelRequest", &json!({"id": self.id}));
        }
    }
}
