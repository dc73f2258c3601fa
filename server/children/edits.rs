//! A `WorkspaceEdit` (LSP 3.17 §WorkspaceEdit) as edits of texts.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::positions::{self, Texts};
use super::uri;
use crate::files::{Buffer, Buffers};
use crate::text::{Document, Edit, Encoding};
use crate::threads::lines::behind_mark;

/// Of the byte order.
const MARK: char = '\u{feff}';

/// The edits of one file.
#[derive(Clone, Debug)]
pub struct FileEdits {
    pub path: PathBuf,
    /// Of the open buffer that `text` is of; `None`: it was read from disk.
    pub generation: Option<u64>,
    /// What the edits count in.
    pub text: Arc<str>,
    /// Sorted, not overlapping.
    pub edits: Vec<Edit>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEdit {
    #[error("the edit makes, renames or deletes files, which is not done here")]
    Files,
    #[error("the edit of {0} is for another version of the text")]
    Version(String),
    #[error("{0} cannot be read")]
    Unreadable(String),
    #[error("the edits of {0} overlap")]
    Overlap(String),
    #[error("the edit cannot be understood")]
    Malformed,
}

/// Both forms, `documentChanges` before `changes`. `told`: the texts as the child knew them.
pub fn from_workspace_edit(
    edit: &Value,
    encoding: Encoding,
    told: HashMap<PathBuf, Document>,
    buffers: &Arc<Buffers>,
) -> Result<Vec<FileEdits>, NoEdit> {
    let mut by_file: Vec<(String, Option<i64>, Vec<&Value>)> = Vec::new();
    if let Some(changes) = edit.get("documentChanges").and_then(Value::as_array) {
        for change in changes {
            if change.get("kind").is_some() {
                return Err(NoEdit::Files);
            }
            let document = change.get("textDocument").ok_or(NoEdit::Malformed)?;
            let uri = document
                .get("uri")
                .and_then(Value::as_str)
                .ok_or(NoEdit::Malformed)?;
            let edits = change
                .get("edits")
                .and_then(Value::as_array)
                .ok_or(NoEdit::Malformed)?;
            by_file.push((
                uri.to_string(),
                document.get("version").and_then(Value::as_i64),
                edits.iter().collect(),
            ));
        }
    } else if let Some(changes) = edit.get("changes").and_then(Value::as_object) {
        for (uri, edits) in changes {
            by_file.push((
                uri.clone(),
                None,
                edits.as_array().ok_or(NoEdit::Malformed)?.iter().collect(),
            ));
        }
    }
    let known = told.clone();
    let mut texts = Texts::new(told, Arc::clone(buffers));
    let mut out: Vec<FileEdits> = Vec::new();
    for (uri, version, edits) in by_file {
        let path = uri::to_file(&uri).ok_or(NoEdit::Malformed)?;
        let name = || path.display().to_string();
        let document = texts
            .of(&path)
            .ok_or_else(|| NoEdit::Unreadable(name()))?
            .clone();
        let open = buffers.get(&path);
        // The child's text has to be the buffer's (not every editor counts versions up), and the version it means.
        if let Some(Buffer { document: open, .. }) = &open
            && (known
                .get(&path)
                .is_some_and(|known| known.text() != open.text())
                || version.is_some_and(|version| version != i64::from(open.version())))
        {
            return Err(NoEdit::Version(name()));
        }
        let text = document.text();
        // A byte order mark stays the first: what is put before the first character goes behind it.
        let first = behind_mark(text, 0);
        let mut list = Vec::with_capacity(edits.len());
        for edit in edits {
            let range = edit
                .get("range")
                .and_then(|r| positions::bytes(r, &document, encoding))
                .map(|range| range.start.max(first)..range.end.max(first))
                .ok_or(NoEdit::Malformed)?;
            let new = edit
                .get("newText")
                .and_then(Value::as_str)
                .ok_or(NoEdit::Malformed)?;
            let new = match first != 0 && range.start == first {
                true => new.strip_prefix(MARK).unwrap_or(new),
                false => new,
            };
            list.push(Edit {
                range,
                text: new.to_string(),
            });
        }
        match out.iter_mut().find(|f| f.path == path) {
            Some(file) => file.edits.extend(list),
            None => out.push(FileEdits {
                path,
                generation: open.map(|open| open.generation),
                text: text.into(),
                edits: list,
            }),
        }
    }
    for file in &mut out {
        // Stable: insertions at one place keep their order.
        file.edits.sort_by_key(|e| (e.range.start, e.range.end));
        file.edits.dedup_by(|a, b| a == b && !a.range.is_empty());
        if file
            .edits
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.range.end > b.range.start))
        {
            return Err(NoEdit::Overlap(file.path.display().to_string()));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::apply_edits;
    use serde_json::json;

    fn edit(line: u32, start: u32, end: u32, text: &str) -> Value {
        json!({"range": {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}, "newText": text})
    }

    fn read(value: &Value) -> Result<Vec<String>, NoEdit> {
        let told = HashMap::from([(PathBuf::from("/a"), Document::new("😀 one\ntwo\n", 3))]);
        let files = from_workspace_edit(value, Encoding::Utf16, told, &Arc::default())?;
        Ok(files
            .iter()
            .map(|f| apply_edits(&f.text, &f.edits))
            .collect())
    }

    #[test]
    fn both_forms_in_any_order() {
        let edits = json!([edit(1, 0, 3, "zwei"), edit(0, 3, 6, "eins")]);
        assert_eq!(
            read(&json!({"changes": {"file:///a": edits}})).unwrap(),
            ["😀 eins\nzwei\n"]
        );
        let two = json!([
            {"textDocument": {"uri": "file:///a", "version": 3}, "edits": [edit(1, 0, 3, "zwei")]},
            {"textDocument": {"uri": "file:///a", "version": null}, "edits": [edit(0, 3, 6, "eins")]},
        ]);
        assert_eq!(
            read(&json!({"documentChanges": two, "changes": {}})).unwrap(),
            ["😀 eins\nzwei\n"]
        );
    }

    #[test]
    fn a_mark_of_the_byte_order_stays_the_first() {
        let read = |edit: Value| {
            let told = HashMap::from([(PathBuf::from("/a"), Document::new("\u{feff}one\n", 1))]);
            let value = json!({"changes": {"file:///a": [edit]}});
            let files = from_workspace_edit(&value, Encoding::Utf16, told, &Arc::default());
            let file = &files.unwrap()[0];
            apply_edits(&file.text, &file.edits)
        };
        assert_eq!(read(edit(0, 0, 0, "# ")), "\u{feff}# one\n");
        assert_eq!(read(edit(0, 1, 1, "# ")), "\u{feff}# one\n");
        assert_eq!(read(edit(0, 0, 4, "two")), "\u{feff}two\n");
        assert_eq!(read(edit(0, 0, 4, "\u{feff}two")), "\u{feff}two\n");
        assert_eq!(read(edit(1, 0, 0, "two")), "\u{feff}one\ntwo");
    }

    #[test]
    fn what_cannot_be_done_is_refused_whole() {
        assert_eq!(
            read(&json!({"documentChanges": [{"kind": "delete", "uri": "file:///a"}]}))
                .unwrap_err(),
            NoEdit::Files
        );
        let overlap = json!([edit(0, 0, 5, "x"), edit(0, 3, 6, "y")]);
        assert!(matches!(
            read(&json!({"changes": {"file:///a": overlap}})),
            Err(NoEdit::Overlap(_))
        ));
        assert!(matches!(
            read(&json!({"changes": {"file:///none": [edit(0, 0, 0, "x")]}})),
            Err(NoEdit::Unreadable(_))
        ));
        assert_eq!(
            read(&json!({"changes": {"file:///a": [{"range": 1}]}})).unwrap_err(),
            NoEdit::Malformed
        );
    }
}
