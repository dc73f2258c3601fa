//! `file_write`: a whole file, new or in place of one that was read.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{FileChange, change_locked};
use super::file_read::split_lines;
use super::{Context, Output, Tool, parse, schema};
use crate::files::FileError;
use crate::trust::Risk;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, relative to the workspace root. Folders that are missing are made.
    path: String,
    /// The whole new text.
    content: String,
}

pub(super) struct FileWrite;

#[async_trait]
impl Tool for FileWrite {
    fn name(&self) -> &'static str {
        "file_write"
    }
    fn description(&self) -> String {
        String::from(
            "Writes a whole file. A file that exists must have been read with file_read before, and not have changed since. To change a part of a file use file_edit.",
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Write
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        parse::<Input>(self.name(), input).map(drop)
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        let Input { path, content } = parse(self.name(), &input)?;
        let resolved = cx.tree.resolve(&path).map_err(|e| e.to_string())?;
        let _guard = cx.lock(&resolved).await;
        let shown = cx.shown(&resolved);
        let (seen, content) = match cx.tree.read(&resolved) {
            // Once: whoever was told may make it.
            Err(FileError::NotFound(_)) if cx.seen.remove(&resolved).is_some() => {
                return Err(format!(
                    "{shown} was removed or renamed since you read it, so nothing was written. Call file_write again to make it anew."
                ));
            }
            Err(FileError::NotFound(_)) => (None, content),
            Err(FileError::IsFolder(_)) => {
                return Err(format!("{shown} is a folder; nothing was written."));
            }
            Err(e) => return Err(format!("{e}; nothing was written.")),
            Ok(current) => {
                let Some(seen) = cx.seen.get(&resolved).map(|k| k.seen.clone()) else {
                    return Err(format!(
                        "{shown} exists and you have not read it, so nothing was written. Read it first with file_read."
                    ));
                };
                (Some(seen), like(&current.text, content))
            }
        };
        let what = if seen.is_some() { "Wrote" } else { "Made" };
        let (bytes, lines) = (content.len(), split_lines(&content).len());
        let change = FileChange::new(&resolved, seen, Some(content));
        change_locked(cx, vec![change]).await?;
        Ok(format!("{what} {shown}: {bytes} bytes, {lines} lines."))
    }
}

/// `content` with the byte-order mark and the line ends of the file that it replaces: a model is shown neither.
fn like(old: &str, content: String) -> String {
    let all_crlf = old.contains("\r\n") && old.matches('\n').count() == old.matches("\r\n").count();
    let mut content = if all_crlf && !content.contains('\r') {
        content.replace('\n', "\r\n")
    } else {
        content
    };
    if old.starts_with('\u{feff}') && !content.starts_with('\u{feff}') {
        content.insert(0, '\u{feff}');
    }
    content
}
