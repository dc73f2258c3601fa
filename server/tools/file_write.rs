//! `file_write`: a whole file, new or in place of one that was read.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{FileChange, change_locked};
use super::file_edit::{LineEnds, with_line_ends_line_by_line, without_cr};
use super::file_read::split_lines;
use super::{Context, Output, Tool, parse, schema};
use crate::edits::line_edits;
use crate::files::FileError;
use crate::text::{Edit, apply_edits};
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
            "Writes a whole file. A file that exists must have been read with file_read before, all of it, and not have changed since. To change a part of a file use file_edit.",
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
                let known = cx.seen.get(&resolved).map(|known| known.clone());
                let Some(known) = known else {
                    return Err(format!(
                        "{shown} exists and you have not read it, so nothing was written. Read it first with file_read."
                    ));
                };
                // What has changed since is to be read anew, wherever that was.
                let is_same = known.seen.hash == current.seen.hash;
                if is_same && let Some(line) = known.first_unshown() {
                    return Err(format!(
                        "You have not read all of {shown}, so nothing was written: line {} was not shown to you, or not in full. Read on with file_read (`offset` {}), or change a part with file_edit.",
                        line + 1,
                        line + 1
                    ));
                }
                (Some(known.seen), like(&current.text, content))
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
    let ends = LineEnds::of(old);
    let mut content = match content.contains('\r') {
        true => content,
        false if ends.are_mixed => line_by_line(old, &content),
        false if ends.are_crlf => content.replace('\n', "\r\n"),
        false => content,
    };
    if old.starts_with('\u{feff}') && !content.starts_with('\u{feff}') {
        content.insert(0, '\u{feff}');
    }
    content
}

/// The lines that stay keep their ends, and those that come have the ends of those in whose place they stand.
fn line_by_line(old: &str, content: &str) -> String {
    let mark = if content.starts_with('\u{feff}') {
        ""
    } else {
        "\u{feff}"
    };
    let old = old.strip_prefix(mark).unwrap_or(old);
    let (plain, in_old) = without_cr(old);
    let edits = line_edits(&plain, content).into_iter().map(|edit| {
        let range = in_old(edit.range.start)..in_old(edit.range.end);
        let replaced = old.get(range.clone()).filter(|lines| lines.contains('\n'));
        let before = || old.get(..range.start)?.split_inclusive('\n').next_back();
        let beside = replaced.or_else(before);
        // Before the first line, the ends are those of the file.
        let text = with_line_ends_line_by_line(beside.unwrap_or(old), &edit.text);
        Edit { range, text }
    });
    apply_edits(old, &edits.collect::<Vec<_>>())
}
