//! An MCP client in miniature: lines of JSON over the pipe. It answers what the server asks.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::harness::{DEADLINE, Workspace, uri_of};

pub struct Agent {
    process: Child,
    pipe: Option<ChildStdin>,
    /// `None`: the end of its output.
    messages: Receiver<Option<Value>>,
    next: i64,
    /// What it answers to `roots/list`; `None`: it has no roots.
    pub roots: Option<Vec<PathBuf>>,
    /// Notifications that no test has taken yet.
    pub notes: Vec<Value>,
    answers: Vec<Value>,
}

impl Agent {
    /// Introduced, in the workspace's folder, without roots.
    pub fn start(workspace: &Workspace) -> Self {
        Self::start_with(workspace, None, &[])
    }

    pub fn with_roots(workspace: &Workspace, roots: &[&Path]) -> Self {
        let roots = roots.iter().map(|root| root.to_path_buf()).collect();
        Self::start_with(workspace, Some(roots), &[])
    }

    pub fn start_with(workspace: &Workspace, roots: Option<Vec<PathBuf>>, args: &[&str]) -> Self {
        let mut agent = Self::silent(workspace, args);
        agent.roots = roots;
        agent.introduce();
        agent
    }

    /// Not introduced.
    pub fn silent(workspace: &Workspace, args: &[&str]) -> Self {
        let mut command = workspace.postil();
        command.args(args).arg("mcp");
        Self::of(command)
    }

    /// To whom nothing is offered that changes anything; introduced.
    pub fn read_only(workspace: &Workspace) -> (Self, Value) {
        let mut command = workspace.postil();
        command.args(["mcp", "--read-only"]);
        let mut agent = Self::of(command);
        let me = agent.introduce();
        (agent, me)
    }

    fn of(mut command: Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut process = command.spawn().expect("the binary starts");
        let stdout = process.stdout.take().expect("a pipe");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                let message = serde_json::from_slice(&line);
                let message = message.unwrap_or_else(
                    |_| json!({"no_json": String::from_utf8_lossy(&line).into_owned()}),
                );
                let _ = sender.send(Some(message));
                line.clear();
            }
            let _ = sender.send(None);
        });
        Self {
            pipe: process.stdin.take(),
            process,
            messages,
            next: 0,
            roots: None,
            notes: Vec::new(),
            answers: Vec::new(),
        }
    }

    pub fn introduce(&mut self) -> Value {
        self.introduce_in("2025-06-18")
    }

    /// In a revision of the protocol.
    pub fn introduce_in(&mut self, revision: &str) -> Value {
        let capabilities = match self.roots {
            Some(_) => json!({"roots": {"listChanged": true}}),
            None => json!({}),
        };
        let answer = self.request(
            "initialize",
            json!({"protocolVersion": revision, "capabilities": capabilities,
                "clientInfo": {"name": "postil's own tests", "version": "1"}}),
        );
        self.notify("notifications/initialized", json!({}));
        answer.expect("an introduction")
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        let pipe = self.pipe.as_mut().expect("the pipe is open");
        pipe.write_all(bytes)
            .and_then(|()| pipe.flush())
            .expect("the server reads");
    }

    fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request; its answer is to be taken by [`Agent::answer`].
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.ask(method, params);
        self.answer(id)
    }

    pub fn answer(&mut self, id: i64) -> Result<Value, Value> {
        let answer = self.wait(&format!("the answer to {id}"), |agent| {
            let at = agent.answers.iter().position(|answer| answer["id"] == id)?;
            Some(agent.answers.remove(at))
        });
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
    }

    /// Whether an answer to this request has come.
    pub fn has_answer(&self, id: i64) -> bool {
        self.answers.iter().any(|answer| answer["id"] == id)
    }

    /// The codes of the errors so far that are of no request, in order.
    pub fn unread(&self) -> Vec<i64> {
        let unread = self.answers.iter().filter(|answer| answer["id"].is_null());
        let codes = unread.map(|answer| answer["error"]["code"].as_i64());
        let mut codes: Vec<i64> = codes.flatten().collect();
        codes.sort_unstable();
        codes
    }

    /// Takes the first notification that fits.
    pub fn wait_note(&mut self, method: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.wait(method, |agent| {
            let at = agent
                .notes
                .iter()
                .position(|note| note["method"] == method && fits(&note["params"]))?;
            Some(agent.notes.remove(at)["params"].clone())
        })
    }

    /// Waits for a log message with these words.
    pub fn wait_log(&mut self, words: &str) -> Value {
        self.wait_note("notifications/message", |params| {
            params["data"]
                .as_str()
                .is_some_and(|text| text.contains(words))
        })
    }

    fn wait<T>(&mut self, what: &str, mut look: impl FnMut(&mut Self) -> Option<T>) -> T {
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            let message = match self.messages.recv_timeout(DEADLINE) {
                Ok(Some(message)) => message,
                Ok(None) => panic!("the server ended: {what}"),
                Err(_) => panic!("in vain: {what}; notes: {:?}", self.notes),
            };
            assert!(message.get("no_json").is_none(), "{message}");
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            match (message.get("method"), message.get("id")) {
                (Some(method), Some(id)) => {
                    let result = match (method.as_str(), &self.roots) {
                        (Some("roots/list"), Some(roots)) => {
                            let roots: Vec<Value> = roots
                                .iter()
                                .map(|root| json!({"uri": uri_of(root), "name": "a root"}))
                                .collect();
                            json!({"roots": roots})
                        }
                        (Some("ping"), _) => json!({}),
                        _ => panic!("the server asks for what nobody offered: {message}"),
                    };
                    let id = id.clone();
                    self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
                }
                (Some(_), None) => self.notes.push(message),
                _ => self.answers.push(message),
            }
        }
    }

    /// Calls a tool: its structured content.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call_raw(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        let structured = result["structuredContent"].clone();
        // Clients that know no structured content read the same as a text.
        if structured.get("text").is_none() && structured.get("output").is_none() {
            let parsed: Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(parsed, structured);
        }
        structured
    }

    /// Calls a tool that is to fail: its sentence and code.
    pub fn refused(&mut self, tool: &str, arguments: Value) -> (String, String) {
        let result = self.call_raw(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let text = result["content"][0]["text"].as_str().expect("a sentence");
        let code = result["structuredContent"]["code"]
            .as_str()
            .expect("a code");
        (text.to_owned(), code.to_owned())
    }

    pub fn call_raw(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
            .expect("a result")
    }

    /// Says nothing more, and reads on.
    pub fn close_input(&mut self) {
        drop(self.pipe.take());
    }

    /// Hangs up and waits for the end.
    pub fn end(&mut self) -> ExitStatus {
        self.close_input();
        while let Ok(Some(_)) = self.messages.recv_timeout(DEADLINE) {}
        self.process.wait().expect("it ends")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        } else if self.pipe.is_some() {
            assert!(self.end().success());
        }
    }
}

/// What a program prints, with standard error where it fails.
pub fn output(mut command: Command) -> String {
    let mut process = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut errors = process.stderr.take().expect("a pipe");
    let reading = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = errors.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let done = process.wait_with_output().expect("it ends");
    let errors = reading.join().expect("read");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{command:?}\n{text}\n{errors}");
    text
}
