//! The smallest client that can measure: it writes a frame, and knows the moment at which one came.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_secs(120);

pub struct Client {
    process: Child,
    /// `None`: it was closed.
    pipe: Option<ChildStdin>,
    inbox: Receiver<(Instant, Value)>,
    next: i64,
    version: i64,
}

impl Client {
    /// Starts the server and has `initialize` answered; the time from spawn to answer.
    pub fn start(command: Command, root: &Path, options: Value) -> (Self, Duration) {
        Self::watching(command, root, options, false)
    }

    /// The same; `watches`: it tells which files change, so that the server need not watch.
    pub fn watching(
        command: Command,
        root: &Path,
        options: Value,
        watches: bool,
    ) -> (Self, Duration) {
        let start = Instant::now();
        let mut client = Self::spawn(command);
        let uri = uri(root);
        let params = json!({
            "processId": std::process::id(),
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": "work"}],
            "initializationOptions": options,
            "capabilities": {
                "general": {"positionEncodings": ["utf-16"]},
                "textDocument": {"publishDiagnostics": {"versionSupport": true, "relatedInformation": true},
                    "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": [""]}}}},
                "workspace": {"applyEdit": true, "workspaceFolders": true,
                    "didChangeWatchedFiles": {"dynamicRegistration": watches}},
            },
        });
        client.request("initialize", params);
        let time = start.elapsed();
        client.notify("initialized", json!({}));
        (client, time)
    }

    fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the server starts");
        let pipe = process.stdin.take();
        let stdout = process.stdout.take().expect("a pipe");
        let (sender, inbox) = channel();
        std::thread::spawn(move || read(BufReader::new(stdout), &sender));
        Self {
            process,
            pipe,
            inbox,
            next: 0,
            version: 0,
        }
    }

    pub fn process(&self) -> u32 {
        self.process.id()
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let pipe = self.pipe.as_mut().expect("a pipe");
        pipe.write_all(frame.as_bytes())
            .and_then(|()| pipe.flush())
            .expect("the server reads");
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// A request whose answer nobody waits for.
    pub fn post(&mut self, method: &str, params: Value) {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// Closes the pipe, as an editor does that ends.
    pub fn hang_up(&mut self) {
        self.pipe = None;
    }

    /// The answer (its result, or the error) and the time until it came.
    pub fn request(&mut self, method: &str, params: Value) -> (Value, Duration) {
        let start = Instant::now();
        self.post(method, params);
        let id = self.next;
        let (came, answer) = self.wait(method, |m| m["id"] == id && m.get("method").is_none());
        (
            answer
                .get("result")
                .or(answer.get("error"))
                .cloned()
                .unwrap_or_default(),
            came - start,
        )
    }

    /// The first message that fits; what the server asks meanwhile is answered with nothing.
    pub fn wait(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> (Instant, Value) {
        let end = Instant::now() + DEADLINE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(left) {
                Ok((came, message)) if fits(&message) => return (came, message),
                Ok((_, message)) => self.answer(&message),
                Err(RecvTimeoutError::Timeout) => panic!("waited in vain for {what}"),
                Err(RecvTimeoutError::Disconnected) => panic!("the server is gone; wanted {what}"),
            }
        }
    }

    /// Waits until nothing has come for `quiet`.
    pub fn settle(&mut self, quiet: Duration) {
        while let Ok((_, message)) = self.inbox.recv_timeout(quiet) {
            self.answer(&message);
        }
    }

    fn answer(&mut self, message: &Value) {
        if let (Some(id), Some(method)) = (message.get("id"), message.get("method")) {
            let items = message["params"]["items"].as_array().map_or(0, Vec::len);
            let result = match method.as_str() {
                Some("workspace/configuration") => json!(vec![Value::Null; items]),
                _ => Value::Null,
            };
            self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        }
    }

    /// Opens a file; waits for its diagnostics if it is to.
    pub fn open(&mut self, path: &Path, language: &str, text: &str, wait: bool) {
        let uri = uri(path);
        let item = json!({"uri": uri, "languageId": language, "version": 0, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": item}));
        if wait {
            self.wait("diagnostics", |m| {
                m["method"] == "textDocument/publishDiagnostics" && m["params"]["uri"] == uri
            });
        }
    }

    /// One change at `line`, `character`: types a letter, or takes it back; the time until the diagnostics
    /// of that version are there.
    pub fn change(&mut self, path: &Path, range: &Value, text: &str) -> Duration {
        self.version += 1;
        let (uri, version) = (uri(path), self.version);
        let change = json!({"range": range, "text": text});
        let params =
            json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]});
        let start = Instant::now();
        self.notify("textDocument/didChange", params);
        let (came, _) = self.wait("diagnostics of the change", |m| {
            m["method"] == "textDocument/publishDiagnostics"
                && m["params"]["uri"] == uri
                && m["params"]["version"] == version
        });
        came - start
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if self.pipe.is_some() && !std::thread::panicking() {
            self.request("shutdown", Value::Null);
            self.notify("exit", Value::Null);
        }
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end && !matches!(self.process.try_wait(), Ok(Some(_))) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn read(mut pipe: impl BufRead, sender: &Sender<(Instant, Value)>) {
    let mut line = String::new();
    let mut length = 0;
    loop {
        line.clear();
        if pipe.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.strip_prefix("Content-Length:") {
            length = value.trim().parse().unwrap_or(0);
        } else if line == "\r\n" {
            let mut body = vec![0; length];
            if pipe.read_exact(&mut body).is_err() {
                return;
            }
            let came = Instant::now();
            if let Ok(message) = serde_json::from_slice(&body) {
                let _ = sender.send((came, message));
            }
        }
    }
}

pub fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}
