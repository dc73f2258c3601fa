//! An editor in miniature: it starts the built binary, speaks LSP over the pipe, keeps its own buffers
//! and applies `workspace/applyEdit` to them with version checks, as a real client does. What the
//! server asks is answered at once by the reading thread; a test waits for what it wants to see.
//!
//! When an `Editor` is dropped it shuts the server down and asserts that the process ended in time with
//! status 0, that no answer was left over and that nothing panicked.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

mod buffer;
mod client;
mod wait;
mod workspace;

pub use buffer::Buffer;
pub use client::{FAILS, NEVER, OnApply, UNKNOWN};
pub use wait::{DEADLINE, pause, wait_until};
pub use workspace::{Workspace, uri_of};

/// How the editor starts; `..Options::default()` for the rest.
pub struct Options {
    /// What the editor offers in `general.positionEncodings`, best first.
    pub encodings: Vec<&'static str>,
    /// Merged over the editor's own client capabilities.
    pub capabilities: Value,
    pub initialization_options: Value,
    /// The `postil` section, as `workspace/configuration` answers it.
    pub settings: Value,
    pub env: Vec<(String, String)>,
    pub args: Vec<String>,
    /// A program with arguments that runs the binary, which is its last argument.
    pub within: Vec<String>,
    /// `initialize.processId`; the test's own process by default.
    pub process_id: Option<u32>,
    /// Workspace folders; the workspace's root by default.
    pub folders: Option<Vec<PathBuf>>,
    pub initialize: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            encodings: vec!["utf-16"],
            capabilities: json!({}),
            initialization_options: json!({}),
            settings: json!({}),
            env: Vec::new(),
            args: Vec::new(),
            within: Vec::new(),
            process_id: Some(std::process::id()),
            folders: None,
            initialize: true,
        }
    }
}

/// What the editor knows; guarded by one lock, changed by the reading thread and by the test.
pub struct State {
    /// Open documents by URI.
    pub buffers: BTreeMap<String, Buffer>,
    /// The newest published diagnostics by URI: version, list.
    pub diagnostics: BTreeMap<String, (Option<i64>, Vec<Value>)>,
    /// Every notification and request of the server, in the order of arrival.
    pub received: Vec<Value>,
    /// Answers that no test has taken yet, by id.
    pub answers: BTreeMap<i64, Value>,
    /// Registered capabilities: id, method, options.
    pub registrations: Vec<Value>,
    pub on_apply: OnApply,
    /// Changes are told of without a version: every text is the first one's.
    pub tells_no_versions: bool,
    /// Answers to `window/showMessageRequest`: the title to choose, in turn; none left: closed.
    pub choices: Vec<String>,
    /// In a preview of edits (change annotations): the files, by the end of their URI, that the user ticks.
    pub ticked: Option<Vec<String>>,
    /// What `postil/write` is answered, in this order; then that nothing is unsaved.
    pub written: Vec<Value>,
    pub shows_no_documents: bool,
    pub settings: Value,
    /// The pipe is at its end.
    pub closed: bool,
    pub encoding: String,
    pub stderr: String,
}

struct Shared {
    state: Mutex<State>,
    news: Condvar,
    /// `None` once it was closed.
    pipe: Mutex<Option<ChildStdin>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &Value) {
        self.send_raw([&frame(message)[..]]);
    }

    /// Each part is flushed by itself, and nothing that is answered meanwhile comes between two of them. A server that is
    /// gone does not fail the write: the test sees it by what it waits for.
    fn send_raw<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) {
        if let Some(pipe) = self
            .pipe
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .as_mut()
        {
            for part in parts {
                let _ = pipe.write_all(part).and_then(|()| pipe.flush());
            }
        }
    }
}

/// One message as it goes over the wire.
pub fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

pub struct Editor {
    shared: Arc<Shared>,
    process: Child,
    /// Reads what the server sends, and fails where that is not right.
    reader: Option<std::thread::JoinHandle<()>>,
    next_id: i64,
    /// Ids whose answers are still to be taken.
    asked: Vec<i64>,
    root: PathBuf,
    /// The answer to `initialize`.
    pub capabilities: Value,
    /// The test ended the process itself, or looks at its status.
    ended: bool,
    pub panics_expected: bool,
}

impl Editor {
    pub fn start(workspace: &Workspace) -> Self {
        Self::start_with(workspace, Options::default())
    }

    pub fn start_with(workspace: &Workspace, options: Options) -> Self {
        let mut command = match options.within.split_first() {
            Some((program, arguments)) => {
                let mut command = workspace.command(program);
                command.args(arguments).arg(env!("CARGO_BIN_EXE_postil"));
                command
            }
            None => workspace.postil(),
        };
        command
            .args(&options.args)
            .envs(options.env.iter().map(|(k, v)| (k, v)));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().expect("the binary starts");
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().expect("a pipe");
        let stderr = process.stderr.take().expect("a pipe");
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                buffers: BTreeMap::new(),
                diagnostics: BTreeMap::new(),
                received: Vec::new(),
                answers: BTreeMap::new(),
                registrations: Vec::new(),
                on_apply: OnApply::Apply,
                tells_no_versions: false,
                choices: Vec::new(),
                ticked: None,
                written: Vec::new(),
                shows_no_documents: false,
                settings: options.settings.clone(),
                closed: false,
                encoding: String::from("utf-16"),
                stderr: String::new(),
            }),
            news: Condvar::new(),
            pipe: Mutex::new(stdin),
        });
        let receiver = shared.clone();
        let reader = std::thread::spawn(move || client::read(&receiver, BufReader::new(stdout)));
        let errors = shared.clone();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stderr);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                errors
                    .lock()
                    .stderr
                    .push_str(&String::from_utf8_lossy(&line));
                errors.news.notify_all();
                line.clear();
            }
        });
        let mut editor = Self {
            shared,
            process,
            reader: Some(reader),
            next_id: 0,
            asked: Vec::new(),
            root: workspace.root().to_owned(),
            capabilities: Value::Null,
            ended: false,
            panics_expected: false,
        };
        if options.initialize {
            let answer = editor
                .request("initialize", editor.initialize_params(&options))
                .expect("initialize is answered");
            editor.capabilities = answer["capabilities"].clone();
            let encoding = answer["capabilities"]["positionEncoding"]
                .as_str()
                .unwrap_or("utf-16")
                .to_owned();
            editor.shared.lock().encoding = encoding;
            editor.notify("initialized", json!({}));
        }
        editor
    }

    pub fn initialize_params(&self, options: &Options) -> Value {
        let folders = options
            .folders
            .clone()
            .unwrap_or_else(|| vec![self.root.clone()]);
        let folders: Vec<Value> = folders
            .iter()
            .map(|folder| json!({"uri": uri_of(folder), "name": folder.file_name().map(|n| n.to_string_lossy())}))
            .collect();
        let mut capabilities = json!({
            "general": {"positionEncodings": options.encodings},
            "textDocument": {
                "synchronization": {"didSave": true},
                "publishDiagnostics": {"relatedInformation": true, "versionSupport": true, "dataSupport": true, "codeDescriptionSupport": true},
                "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source"]}}, "dataSupport": true},
                "hover": {"contentFormat": ["markdown", "plaintext"]},
            },
            "window": {"workDoneProgress": true, "showDocument": {"support": true}, "showMessage": {"messageActionItem": {}}},
            "workspace": {
                "applyEdit": true,
                "workspaceEdit": {"documentChanges": true},
                "configuration": true,
                "workspaceFolders": true,
                "didChangeWatchedFiles": {"dynamicRegistration": true},
                "didChangeConfiguration": {"dynamicRegistration": true},
            },
        });
        merge(&mut capabilities, &options.capabilities);
        json!({
            "processId": options.process_id,
            "clientInfo": {"name": "postil's own tests"},
            "rootUri": folders.first().map(|folder| folder["uri"].clone()),
            "workspaceFolders": folders,
            "capabilities": capabilities,
            "initializationOptions": options.initialization_options,
        })
    }

    // -- messages ------------------------------------------------------------------------------------

    /// Sends a request and waits for its answer: the result, or the error object.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Sends a request; its answer is to be taken by [`Editor::answer`].
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        self.asked.push(id);
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.shared.send(&message);
        id
    }

    pub fn answer(&mut self, id: i64) -> Result<Value, Value> {
        self.asked.retain(|asked| *asked != id);
        let answer = self.wait_for(&format!("the answer to request {id}"), |state| {
            state.answers.remove(&id)
        });
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
    }

    pub fn notify(&self, method: &str, params: Value) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.shared.send(&message);
    }

    /// Bytes as they are, framing and all.
    pub fn send_raw(&self, bytes: &[u8]) {
        self.send_parts([bytes]);
    }

    /// Bytes as they are, written in these pieces.
    pub fn send_parts<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) {
        self.shared.send_raw(parts);
    }

    /// Waits until `look` finds what it looks for in the editor's state; fails the test after [`DEADLINE`].
    pub fn wait_for<T>(&self, what: &str, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        let mut state = self.shared.lock();
        loop {
            if let Some(found) = look(&mut state) {
                return found;
            }
            let now = Instant::now();
            assert!(
                now < end && !state.closed,
                "{}: {what}\n{}",
                if state.closed {
                    "the server ended"
                } else {
                    "in vain"
                },
                account(&state)
            );
            state = self
                .shared
                .news
                .wait_timeout(state, end - now)
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .0;
        }
    }

    /// What the editor knows now.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock()
    }

    /// Waits for a notification or request of the server; `params` of the first that fits.
    pub fn wait_message(&self, method: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.wait_for(method, |state| {
            state
                .received
                .iter()
                .find(|m| m["method"] == method && fits(&m["params"]))
                .map(|m| m["params"].clone())
        })
    }

    // -- documents -----------------------------------------------------------------------------------

    pub fn uri(&self, path: &str) -> String {
        uri_of(&self.root.join(path))
    }

    /// Opens a file of the workspace as it is on disk.
    pub fn open(&self, path: &str) {
        let bytes = std::fs::read(self.root.join(path)).expect("the file can be read");
        self.open_text(path, language_of(path), &String::from_utf8_lossy(&bytes));
    }

    pub fn open_text(&self, path: &str, language: &str, text: &str) {
        let uri = self.uri(path);
        self.shared.lock().buffers.insert(
            uri.clone(),
            Buffer {
                text: text.to_owned(),
                version: 1,
            },
        );
        self.notify("textDocument/didOpen", json!({"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}}));
    }

    /// The author replaces `old` (which must stand there) by `new`: one incremental change.
    pub fn replace(&self, path: &str, old: &str, new: &str) {
        let at = self
            .text(path)
            .find(old)
            .unwrap_or_else(|| panic!("{path} does not hold {old:?}"));
        self.splice(path, at..at + old.len(), new);
    }

    /// The author replaces the bytes `range` by `new`: one incremental change.
    pub fn splice(&self, path: &str, range: std::ops::Range<usize>, new: &str) {
        self.splice_with(path, |_| (range, new.to_owned()));
    }

    /// The same, where the place depends on the text at that moment.
    pub fn splice_with(
        &self,
        path: &str,
        choose: impl FnOnce(&str) -> (std::ops::Range<usize>, String),
    ) {
        let uri = self.uri(path);
        // The lock is held until the change is on its way, so that changes leave in the order of their versions.
        let mut state = self.shared.lock();
        let (encoding, counts) = (state.encoding.clone(), !state.tells_no_versions);
        let buffer = state.buffers.get_mut(&uri).expect("an open document");
        let (range, new) = choose(&buffer.text);
        let change = buffer.splice(range, &new, &encoding);
        let message = json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
            "textDocument": {"uri": uri, "version": buffer.told(counts)}, "contentChanges": [change]}});
        self.shared.send(&message);
    }

    pub fn save(&self, path: &str) {
        std::fs::write(self.root.join(path), self.text(path)).expect("the file can be written");
        self.notify(
            "textDocument/didSave",
            json!({"textDocument": {"uri": self.uri(path)}}),
        );
    }

    pub fn close(&self, path: &str) {
        let uri = self.uri(path);
        self.shared.lock().buffers.remove(&uri);
        self.notify(
            "textDocument/didClose",
            json!({"textDocument": {"uri": uri}}),
        );
    }

    /// The open buffer's text.
    pub fn text(&self, path: &str) -> String {
        self.shared
            .lock()
            .buffers
            .get(&self.uri(path))
            .expect("an open document")
            .text
            .clone()
    }

    pub fn wait_text(&self, path: &str, fits: impl Fn(&str) -> bool) -> String {
        let uri = self.uri(path);
        self.wait_for("the buffer's text", |state| {
            state
                .buffers
                .get(&uri)
                .map(|b| b.text.clone())
                .filter(|t| fits(t))
        })
    }

    // -- features ------------------------------------------------------------------------------------

    /// The newest published diagnostics of a file that `fits` takes; for an open document only those of
    /// its present version.
    pub fn wait_diagnostics(&self, path: &str, fits: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let uri = self.uri(path);
        self.wait_for(&format!("diagnostics of {path}"), |state| {
            let (version, list) = state.diagnostics.get(&uri)?;
            let present = state
                .buffers
                .get(&uri)
                .map(|buffer| i64::from(buffer.version));
            (present.is_none() || *version == present)
                .then_some(list)
                .filter(|list| fits(list))
                .cloned()
        })
    }

    /// The published diagnostics of a file for its present text.
    pub fn diagnostics(&self, path: &str) -> Vec<Value> {
        self.wait_diagnostics(path, |_| true)
    }

    /// Diagnostic codes of a file, as soon as they are `codes` (in order).
    pub fn wait_codes(&self, path: &str, codes: &[&str]) -> Vec<Value> {
        self.wait_diagnostics(path, |list| {
            list.iter()
                .map(|d| d["code"].as_str().unwrap_or_default())
                .eq(codes.iter().copied())
        })
    }

    /// The code actions offered on a 0-based line.
    pub fn code_actions(&mut self, path: &str, line: usize) -> Vec<Value> {
        let position = json!({"line": line, "character": 0});
        let params = json!({"textDocument": {"uri": self.uri(path)}, "range": {"start": position, "end": position}, "context": {"diagnostics": []}});
        match self
            .request("textDocument/codeAction", params)
            .expect("code actions are answered")
        {
            Value::Array(actions) => actions,
            _ => Vec::new(),
        }
    }

    /// Takes the code action with this title, as an editor does: its edit, then its command.
    pub fn take_action(&mut self, path: &str, line: usize, title: &str) -> Result<Value, Value> {
        let actions = self.code_actions(path, line);
        let Some(action) = actions.iter().find(|action| action["title"] == title) else {
            panic!(
                "no action {title:?} among {:?}",
                actions
                    .iter()
                    .map(|a| a["title"].clone())
                    .collect::<Vec<_>>()
            )
        };
        if let Some(edit) = action.get("edit") {
            client::apply(&self.shared, edit).expect("the edit of a code action applies");
        }
        match action.get("command") {
            Some(Value::Object(command)) => {
                self.request("workspace/executeCommand", json!({"command": command["command"], "arguments": command.get("arguments").cloned().unwrap_or_default()}))
            }
            _ => Ok(Value::Null),
        }
    }

    /// Runs a command with one JSON object as its argument.
    pub fn command(&mut self, name: &str, argument: Value) -> Result<Value, Value> {
        self.request(
            "workspace/executeCommand",
            json!({"command": name, "arguments": [argument]}),
        )
    }

    // -- the end -------------------------------------------------------------------------------------

    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Closes the pipe to the server.
    pub fn hang_up(&mut self) {
        self.shared
            .pipe
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
    }

    /// Waits for the end of the process: its status and the time that it took from now.
    pub fn wait_exit(&mut self) -> (ExitStatus, Duration) {
        self.ended = true;
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().expect("the process can be asked") {
                return (status, began.elapsed());
            }
            if began.elapsed() > DEADLINE {
                let _ = self.process.kill();
                panic!("the server does not end\n{}", account(&self.shared.lock()));
            }
            // Waits for the end of its output, or looks again.
            let state = self.shared.lock();
            drop(
                self.shared
                    .news
                    .wait_timeout(state, Duration::from_millis(5)),
            );
        }
    }

    /// Ends the server without a word.
    pub fn kill(&mut self) {
        self.ended = true;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.process.kill();
            let _ = self.process.wait();
            return;
        }
        if !self.ended {
            let _ = self.request("shutdown", Value::Null);
            self.notify("exit", Value::Null);
            let (status, took) = self.wait_exit();
            assert!(
                status.success(),
                "the server ended with {status}\n{}",
                account(&self.shared.lock())
            );
            assert!(
                took < Duration::from_secs(2),
                "the server took {took:?} to end"
            );
        }
        let reader = self.reader.take().expect("it is joined once");
        wait_until("what it sent is read", || reader.is_finished());
        assert!(reader.join().is_ok(), "the server sent what it must not");
        let state = self.shared.lock();
        assert!(
            self.asked.is_empty() || self.ended,
            "requests whose answers no one took: {:?}",
            self.asked
        );
        assert!(
            state.answers.is_empty(),
            "answers left over: {:?}",
            state.answers
        );
        assert!(
            self.panics_expected || !state.stderr.contains("panicked"),
            "the server panicked\n{}",
            account(&state)
        );
    }
}

/// What happened, for the message of a test that fails.
fn account(state: &State) -> String {
    use std::fmt::Write as _;
    let mut out = String::from("last messages of the server:\n");
    for message in state.received.iter().rev().take(12).rev() {
        let mut text = message.to_string();
        if text.len() > 600 {
            text = text.chars().take(600).chain("…".chars()).collect();
        }
        let _ = writeln!(out, "  {text}");
    }
    if !state.answers.is_empty() {
        let _ = writeln!(out, "answers not taken: {:?}", state.answers);
    }
    if !state.stderr.is_empty() {
        let _ = writeln!(out, "standard error:\n{}", state.stderr);
    }
    out
}

fn merge(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

/// The language id that editors use.
pub fn language_of(path: &str) -> &'static str {
    match Path::new(path)
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default()
    {
        "rs" => "rust",
        "html" => "html",
        "toml" => "toml",
        "py" => "python",
        "js" => "javascript",
        "ts" => "typescript",
        "tsx" => "typescriptreact",
        "go" => "go",
        "c" => "c",
        "cpp" => "cpp",
        "md" => "markdown",
        "sh" => "shellscript",
        _ => "plaintext",
    }
}
