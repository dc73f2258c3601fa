//! Children below a temporary folder, the scripted one among them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use postil::children::{ChildError, Children, Limits, Row};
use postil::files::Buffers;
use postil::host::{BufferEdit, Host, Level, NotApplied, Progress, Question};
use postil::text::{Change, Encoding, apply_edits};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::harness::DEADLINE;

/// An editor that applies what it is asked and chooses the last choice.
#[derive(Default)]
pub struct Face {
    pub buffers: Arc<Buffers>,
    pub messages: Mutex<Vec<String>>,
    pub questions: Mutex<Vec<String>>,
}

#[async_trait]
impl Host for Face {
    async fn apply(&self, _label: &str, edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        for edit in edits {
            let buffer = self.buffers.get(&edit.path).ok_or(NotApplied::NoEditor)?;
            if buffer.generation != edit.generation {
                return Err(NotApplied::Changed);
            }
            let text = apply_edits(buffer.document.text(), &edit.edits);
            let _ = self.buffers.change(
                &edit.path,
                buffer.document.version() + 1,
                &[Change::Full(text)],
                Encoding::Utf16,
            );
        }
        Ok(())
    }
    async fn ask(&self, question: Question) -> Option<usize> {
        self.questions.lock().unwrap().push(question.text);
        question.choices.len().checked_sub(1)
    }
    fn message(&self, _level: Level, text: &str) {
        self.messages.lock().unwrap().push(text.to_string());
    }
    fn progress(&self, _run: &str, _progress: Progress) {}
    fn changed(&self, _paths: &[PathBuf]) {}
}

pub struct Bench {
    folder: tempfile::TempDir,
    pub root: PathBuf,
    pub face: Arc<Face>,
    pub children: Arc<Children>,
    pub cancel: CancellationToken,
}

pub fn limits() -> Limits {
    Limits {
        timeout: 10,
        max_children: 8,
        idle: 600,
    }
}

/// A row for the scripted child; `extension` is its language too.
pub fn row(extension: &str, log: &Path, mut options: Value) -> Row {
    let python = ["/usr/bin/python3", "/usr/local/bin/python3"];
    let python = python
        .iter()
        .find(|p| Path::new(p).exists())
        .unwrap_or(&"python3");
    options["log"] = json!(log);
    Row {
        language: extension.to_string(),
        command: (*python).to_string(),
        args: vec![
            String::from("-S"),
            format!("{}/tests/fixtures/child.py", env!("CARGO_MANIFEST_DIR")),
            options.to_string(),
        ],
        extensions: vec![extension.to_string()],
        root_markers: Vec::new(),
        initialization_options: json!({"scripted": {"a": {"b": 1}}}),
        env: vec![(String::from("FROM_ROW"), String::from("yes"))],
        install: String::from("install python3"),
    }
}

impl Bench {
    /// With one scripted child for `*.scripted`.
    pub fn new(options: Value) -> Self {
        Self::with_limits(options, limits())
    }

    pub fn with_limits(options: Value, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().canonicalize().unwrap().join("scripted.log");
        Self::with_rows(folder, vec![row("scripted", &log, options)], limits)
    }

    /// With real servers alone.
    pub fn real(rows: Vec<Row>) -> Self {
        Self::with_rows(tempfile::tempdir().unwrap(), rows, limits())
    }

    pub fn with_rows(folder: tempfile::TempDir, rows: Vec<Row>, limits: Limits) -> Self {
        let root = folder.path().canonicalize().unwrap().join("work");
        std::fs::create_dir_all(&root).unwrap();
        let face = Arc::new(Face::default());
        let children = Children::new(rows, limits, face.buffers.clone());
        children.set_host(face.clone());
        children.set_trusted(vec![root.clone()]);
        Self {
            folder,
            root,
            face,
            children,
            cancel: CancellationToken::new(),
        }
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// As the editor opens it.
    pub fn open(&self, name: &str, language: &str, version: i32, text: &str) -> PathBuf {
        let path = self.root.join(name);
        self.face
            .buffers
            .open(path.clone(), &uri(&path), language, version, text);
        self.children.opened(&path);
        path
    }

    pub fn change(&self, path: &Path, version: i32, text: &str) {
        let change = Change::Full(text.to_string());
        self.face
            .buffers
            .change(path, version, &[change], Encoding::Utf16)
            .unwrap()
            .unwrap();
        self.children.changed(path);
    }

    pub async fn ask(
        &self,
        path: &Path,
        method: &str,
        line: u32,
        character: u32,
    ) -> Result<Value, ChildError> {
        self.children
            .request(
                path,
                None,
                method,
                at(path, line, character),
                Encoding::Utf16,
                &self.cancel,
            )
            .await
    }

    pub async fn define(&self, path: &Path) -> Result<Value, ChildError> {
        self.ask(path, "textDocument/definition", 0, 1).await
    }

    /// What the scripted child got so far.
    pub fn log(&self) -> Vec<Value> {
        self.log_of("scripted")
    }

    pub fn log_of(&self, name: &str) -> Vec<Value> {
        let path = self
            .folder
            .path()
            .canonicalize()
            .unwrap()
            .join(format!("{name}.log"));
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines()
            .filter_map(|l| serde_json::from_str(l).ok())
            .collect()
    }

    pub fn count(&self, method: &str) -> usize {
        self.log().iter().filter(|m| m["method"] == method).count()
    }

    /// Waits until the child's log fulfils the condition.
    pub async fn logged(&self, what: &str, condition: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let log = self.log();
            if condition(&log) {
                return log;
            }
            assert!(
                begun.elapsed() < DEADLINE,
                "waited in vain for {what}: {log:#?}"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

pub fn uri(path: &Path) -> String {
    postil::children::uri::from_path(path)
}

pub fn at(path: &Path, line: u32, character: u32) -> Value {
    json!({"textDocument": {"uri": uri(path)}, "position": {"line": line, "character": character}, "context": {"includeDeclaration": true}})
}

/// Whether a process of this id exists and is no zombie.
pub fn is_alive(pid: u64) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| {
        s.rsplit_once(')')
            .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    })
}

pub async fn gone(pid: u64, within: Duration) -> bool {
    let begun = Instant::now();
    while is_alive(pid) {
        if begun.elapsed() > within {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    true
}
