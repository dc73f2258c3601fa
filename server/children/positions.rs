//! Positions in somebody else's JSON, from one encoding into another: the tree is walked, each range
//! is counted in the text of the URI it belongs to, and everything else stays as it is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::uri;
use crate::files::Buffers;
use crate::text::{Document, Encoding, Position};

/// Files larger than this are not read to count a column in them.
const MAX_FILE: u64 = 32 << 20;

/// The texts that positions count in: what the child was told, then open buffers, then the disk. Each is
/// read once.
pub struct Texts {
    told: HashMap<PathBuf, Document>,
    buffers: Arc<Buffers>,
    read: HashMap<PathBuf, Option<Document>>,
    /// The file of each URI, looked for once.
    files: HashMap<String, Option<PathBuf>>,
}

impl Texts {
    pub fn new(told: HashMap<PathBuf, Document>, buffers: Arc<Buffers>) -> Self {
        Self {
            told,
            buffers,
            read: HashMap::new(),
            files: HashMap::new(),
        }
    }

    /// What the child was told.
    pub fn into_told(self) -> HashMap<PathBuf, Document> {
        self.told
    }

    pub fn of(&mut self, path: &Path) -> Option<&Document> {
        if let Some(document) = self.told.get(path) {
            return Some(document);
        }
        let buffers = &self.buffers;
        self.read
            .entry(path.to_path_buf())
            .or_insert_with(|| {
                buffers
                    .get(path)
                    .map(|b| b.document)
                    .or_else(|| from_disk(path).map(|(document, _)| document))
            })
            .as_ref()
    }

    fn of_uri(&mut self, uri: &str) -> Option<&Document> {
        if !self.files.contains_key(uri) {
            self.files.insert(uri.to_owned(), uri::to_file(uri));
        }
        let file = self.files.get(uri)?.clone()?;
        self.of(&file)
    }
}

/// When and how large: a file with the same stamp was not read again.
pub type Stamp = (Option<std::time::SystemTime>, u64);

pub fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = path.metadata().ok()?;
    (metadata.is_file() && metadata.len() <= MAX_FILE)
        .then(|| (metadata.modified().ok(), metadata.len()))
}

/// An ordinary file's text (what is no UTF-8 replaced), with the stamp from before it was read.
pub fn from_disk(path: &Path) -> Option<(Document, Stamp)> {
    let stamp = stamp(path)?;
    let bytes = std::fs::read(path).ok()?;
    Some((Document::new(&String::from_utf8_lossy(&bytes), 0), stamp))
}

/// Rewrites every position in `value`. `scope` is the URI of the document that a bare range belongs to.
pub fn convert(value: &mut Value, scope: &str, from: Encoding, to: Encoding, texts: &mut Texts) {
    if from != to {
        Walk { from, to, texts }.value(value, scope);
    }
}

struct Walk<'a> {
    from: Encoding,
    to: Encoding,
    texts: &'a mut Texts,
}

impl Walk<'_> {
    fn value(&mut self, value: &mut Value, scope: &str) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item, scope)),
            Value::Object(object) => self.object(object, scope),
            _ => {}
        }
    }

    fn object(&mut self, object: &mut Map<String, Value>, scope: &str) {
        if let (Some(line), Some(character)) = (number(object, "line"), number(object, "character"))
        {
            self.position(object, Position { line, character }, scope);
            return;
        }
        let named = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_string);
        let of = |key: &str| {
            object
                .get(key)
                .and_then(|v| v.get("uri"))
                .and_then(Value::as_str)
                .map(str::to_string)
        };
        // A Location, an item of a hierarchy, published diagnostics: their own URI. A TextDocumentEdit,
        // parameters: that of their document.
        let own = named("uri")
            .or_else(|| of("textDocument"))
            .or_else(|| of("item"));
        let inner = own.as_deref().unwrap_or(scope).to_string();
        let target = named("targetUri");
        // Where the calls of an incoming call stand is counted in the caller's text.
        let caller = of("from");
        for (key, value) in object.iter_mut() {
            match key.as_str() {
                // Opaque to everyone but the server that made it.
                "data" | "arguments" | "initializationOptions" => {}
                "targetRange" | "targetSelectionRange" => {
                    self.value(value, target.as_deref().unwrap_or(&inner))
                }
                "fromRanges" => self.value(value, caller.as_deref().unwrap_or(&inner)),
                "changes" => match value {
                    Value::Object(changes) => changes
                        .iter_mut()
                        .for_each(|(uri, edits)| self.value(edits, uri)),
                    other => self.value(other, &inner),
                },
                _ => self.value(value, &inner),
            }
        }
    }

    fn position(&mut self, object: &mut Map<String, Value>, position: Position, scope: &str) {
        let (from, to) = (self.from, self.to);
        let Some(document) = self.texts.of_uri(scope) else {
            return;
        };
        // A line past the end stays: it says «to the end» whatever the encoding.
        if position.line as usize >= document.lines() || position.character == 0 {
            return;
        }
        let converted = document.position(document.offset(position, from), to);
        if converted.line == position.line {
            object.insert(String::from("character"), Value::from(converted.character));
        }
    }
}

/// Clients send great numbers for "the end of the line".
fn number(object: &Map<String, Value>, key: &str) -> Option<u32> {
    let number = object.get(key)?.as_u64()?;
    Some(u32::try_from(number).unwrap_or(u32::MAX))
}

/// A `Position` out of JSON.
pub fn position(value: &Value) -> Option<Position> {
    let object = value.as_object()?;
    Some(Position {
        line: number(object, "line")?,
        character: number(object, "character")?,
    })
}

/// A `Range` out of JSON, as bytes of `document`; `None` where it is none or stands on its head.
pub fn bytes(
    value: &Value,
    document: &Document,
    encoding: Encoding,
) -> Option<std::ops::Range<usize>> {
    let start = document.offset(position(value.get("start")?)?, encoding);
    let end = document.offset(position(value.get("end")?)?, encoding);
    (start <= end).then_some(start..end)
}

pub fn to_json(position: Position) -> Value {
    serde_json::json!({"line": position.line, "character": position.character})
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Two files whose first line begins with something wide.
    fn texts() -> Texts {
        let told = HashMap::from([
            (PathBuf::from("/a"), Document::new("😀x\ny\n", 1)),
            (PathBuf::from("/b"), Document::new("éé z\r\n", 1)),
        ]);
        Texts::new(told, Arc::default())
    }

    fn at(line: u32, character: u32) -> Value {
        json!({"line": line, "character": character})
    }

    fn range(line: u32, start: u32, end: u32) -> Value {
        json!({"start": at(line, start), "end": at(line, end)})
    }

    fn converted(mut value: Value, from: Encoding, to: Encoding) -> Value {
        convert(&mut value, "file:///a", from, to, &mut texts());
        value
    }

    #[test]
    fn each_range_is_counted_in_its_own_text() {
        use Encoding::{Utf8, Utf16, Utf32};
        // In /a «x» stands at byte 4, unit 2, character 1; in /b «z» at byte 5, unit 3, character 3.
        let a = |e| match e {
            Utf8 => range(0, 4, 5),
            Utf16 => range(0, 2, 3),
            Utf32 => range(0, 1, 2),
        };
        let b = |e| match e {
            Utf8 => range(0, 5, 6),
            _ => range(0, 3, 4),
        };
        let answer = |e| {
            json!({
                "hover": {"contents": "x", "range": a(e)},
                "link": {"originSelectionRange": a(e), "targetUri": "file:///b", "targetRange": b(e), "targetSelectionRange": b(e)},
                "location": [{"uri": "file:///b", "range": b(e)}],
                "edit": {
                    "changes": {"file:///a": [{"range": a(e), "newText": "n"}], "file:///b": [{"range": b(e), "newText": "n"}]},
                    "documentChanges": [{"textDocument": {"uri": "file:///b", "version": 1}, "edits": [{"range": b(e), "newText": "n"}]}],
                },
                "symbols": [{"name": "s", "range": a(e), "selectionRange": a(e), "children": [{"range": a(e)}]}],
                "incoming": {"from": {"uri": "file:///b", "range": b(e), "data": {"line": 0, "character": 9}}, "fromRanges": [b(e)]},
                "outgoing": {"to": {"uri": "file:///b", "range": b(e)}, "fromRanges": [a(e)]},
                "diagnostic": {"range": a(e), "relatedInformation": [{"location": {"uri": "file:///b", "range": b(e)}, "message": "m"}]},
                "other": {"line": 3, "kept": null, "big": 18_446_744_073_709_551_615_u64},
                "elsewhere": {"uri": "jdt://x", "range": range(0, 7, 8)},
            })
        };
        for from in [Utf8, Utf16, Utf32] {
            for to in [Utf8, Utf16, Utf32] {
                assert_eq!(
                    converted(answer(from), from, to),
                    answer(to),
                    "{from:?} {to:?}"
                );
            }
        }
    }

    #[test]
    fn parameters_are_counted_in_their_document() {
        let params = |c| json!({"textDocument": {"uri": "file:///b"}, "position": at(0, c), "context": {"includeDeclaration": true}});
        assert_eq!(
            converted(params(3), Encoding::Utf16, Encoding::Utf8),
            params(5)
        );
    }

    #[test]
    fn what_lies_outside_is_clamped_or_kept() {
        let (from, to) = (Encoding::Utf16, Encoding::Utf8);
        assert_eq!(converted(at(0, 99), from, to), at(0, 5), "the line's end");
        assert_eq!(
            converted(at(0, 1), from, to),
            at(0, 0),
            "inside a surrogate pair: rounded down"
        );
        assert_eq!(
            converted(at(u32::MAX, 7), from, to),
            at(u32::MAX, 7),
            "past the last line"
        );
        assert_eq!(
            converted(json!({"line": -1, "character": 2}), from, to),
            json!({"line": -1, "character": 2})
        );
    }
}
