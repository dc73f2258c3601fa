//! The editor's open documents, as it has them: read, and changed by the rules of the agent's own tools.

use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Answer, Failure, Scope};
use crate::files::Buffer;
use crate::present::Severity;
use crate::text::Encoding;
use crate::tools::{Known, Plan, Registry, Words};

/// Lines that are read at once, and their bytes.
const LINES: usize = 2_000;
const MOST: usize = 256 << 10;
/// An edit as its caller knows it.
const WORDS: Words = Words {
    old: "old_text",
    new: "new_text",
    all: None,
    read: "buffer_read",
    make: None,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BufferRead {
    /// The file, absolute or relative to the workspace root. Default: the open ones are listed.
    #[serde(default)]
    path: Option<String>,
    /// The first line, from 1. Default: 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    line: Option<usize>,
    /// At most so many lines. Default: 2000.
    #[serde(default)]
    lines: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BufferEdit {
    /// The file, absolute or relative to the workspace root; it is open in the editor.
    path: String,
    /// Of the text that you read, as buffer_read gave it.
    version: u64,
    /// The text to replace, exactly as it stands there, once.
    old_text: String,
    /// What takes its place.
    new_text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Diagnostics {
    /// The file, absolute or relative to the workspace root.
    path: String,
}

impl Scope {
    fn buffer(&self, path: &str) -> Result<(std::path::PathBuf, Buffer), Failure> {
        let path = self.inside(path)?;
        let buffer = self.session.buffers.get(&path).ok_or_else(|| {
            let text = format!(
                "{} is not open in the editor: buffer_read without a path lists what is",
                self.session.relative(&path)
            );
            Failure::new("not_open", text)
        })?;
        Ok((path, buffer))
    }

    pub(super) fn buffer_read(&self, input: &BufferRead) -> Result<Answer, Failure> {
        let Some(path) = &input.path else {
            let mut paths = self.session.buffers.paths();
            paths.retain(|path| path.starts_with(self.workspace.root()));
            paths.sort();
            let buffers: Vec<Value> = paths
                .iter()
                .filter_map(|path| {
                    let buffer = self.session.buffers.get(path)?;
                    Some(json!({
                        "file": self.session.relative(path),
                        "version": buffer.generation,
                        "language": buffer.language_id,
                        "lines": buffer.document.lines(),
                        "unsaved": !self.session.is_saved(path),
                    }))
                })
                .collect();
            return Ok(json!({"buffers": buffers}).into());
        };
        let (path, buffer) = self.buffer(path)?;
        let document = &buffer.document;
        let first = input.line.unwrap_or(1).max(1);
        if first > document.lines() {
            let text = format!(
                "there is no line {first}: the file has {}",
                document.lines()
            );
            return Err(Failure::new("failed", text));
        }
        let count = input.lines.unwrap_or(LINES);
        let text = document.text();
        let start = document.line(first - 1).start;
        let mut last = first - 1;
        let mut end = start;
        while last < document.lines() && last - (first - 1) < count {
            let next = match document.lines() - last {
                1 => text.len(),
                _ => document.line(last + 1).start,
            };
            if next - start > MOST {
                break;
            }
            (last, end) = (last + 1, next);
        }
        let mut cut = None;
        if last < first && count > 0 {
            // It is too long by itself.
            last = first;
            end = start + MOST;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let length = document.line(first - 1).len();
            cut = length
                .checked_sub(end - start)
                .filter(|left| *left > 0)
                .map(|left| {
                    format!("line {first} was cut: {left} of its {length} bytes are not shown")
                });
        }
        let mut value = json!({
            "file": self.session.relative(&path),
            "version": buffer.generation,
            "language": buffer.language_id,
            "first_line": first,
            "last_line": last,
            "lines": document.lines(),
            "text": text.get(start..end).unwrap_or_default(),
        });
        if let Some(cut) = cut {
            value["cut"] = json!(cut);
        }
        Ok(value.into())
    }

    /// Through the tool that our own agents edit with: the same trust, questions and guards, and threads stay.
    pub(super) async fn buffer_edit(
        &self,
        input: &BufferEdit,
        cancel: &CancellationToken,
    ) -> Result<Answer, Failure> {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let (path, buffer) = self.buffer(&input.path)?;
        let file = self.session.relative(&path);
        let version = buffer.generation;
        let read = self.workspace.tree.read(&path)?;
        if version != input.version
            || read.buffer.as_ref().map(|buffer| buffer.generation) != Some(version)
        {
            let text = format!(
                "{file} is at version {version} and not at {}: read it again and make the change on what stands there now; nothing was changed",
                input.version
            );
            return Err(Failure::new("changed", text));
        }
        let settings = self.workspace.loaded();
        let registry = Registry::new(&settings.settings).with_words(&WORDS);
        let mut context = self.tool_context(Plan::of_author(false), cancel);
        // What is allowed for a run is allowed for this call.
        context.run = format!("mcp-{}", CALLS.fetch_add(1, Ordering::Relaxed));
        context.seen.insert(path.clone(), Known::of(&read));
        let arguments =
            json!({"path": file, "old_string": input.old_text, "new_string": input.new_text});
        let edited = registry.call(&context, "file_edit", arguments).await;
        self.session.gate.forget(&context.run);
        match edited {
            Ok(text) => Ok(Answer {
                value: json!({
                    "success": true,
                    "file": file,
                    "version": self.session.buffers.generation(&path),
                }),
                text: Some(text),
            }),
            Err(text) => Err(Failure::new("refused", text)),
        }
    }

    /// Ours, and what the language's own server says where it can be asked.
    pub(super) async fn diagnostics(
        &self,
        input: &Diagnostics,
        cancel: &CancellationToken,
    ) -> Result<Answer, Failure> {
        let path = self.inside(&input.path)?;
        let scope = self.clone();
        let found = tokio::task::spawn_blocking(move || -> Result<_, Failure> {
            let view = scope.session.view(&path)?;
            let file = scope.session.relative(&path);
            let version = view.buffer.as_ref().map(|buffer| buffer.generation);
            let document = crate::text::Document::new(&view.text, 0);
            let ours: Vec<Value> = scope
                .session
                .diagnostics(&view)
                .iter()
                .map(|diagnostic| {
                    let start = document.range(&diagnostic.range, Encoding::Utf8).start;
                    json!({
                        "line": start.line + 1,
                        "column": start.character + 1,
                        "severity": match diagnostic.severity {
                            Severity::Error => "error",
                            Severity::Warning => "warning",
                            Severity::Information => "information",
                            Severity::Hint => "hint",
                        },
                        "source": "postil",
                        "code": diagnostic.code,
                        "message": diagnostic.message,
                        "thread_id": diagnostic.thread_id,
                    })
                })
                .collect();
            Ok((file, version, ours))
        });
        let (file, version, ours) = found.await.map_err(|_| Failure::defect())??;
        let asked = self
            .lsp(&json!({"action": "diagnostics", "file": file}), cancel)
            .await;
        let (theirs, why) = match asked {
            Ok(answer) => (answer.text, None),
            Err(failure) => (None, Some(failure.message)),
        };
        let mut value = json!({"file": file, "version": version, "diagnostics": ours});
        value["language_server"] = json!(theirs);
        if let Some(why) = why {
            value["language_server_error"] = json!(why);
        }
        Ok(value.into())
    }
}
