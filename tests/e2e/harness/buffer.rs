//! A plain string as a document: positions are counted by walking over the characters, slow and plain,
//! so that it can serve as the reference for the server's own documents.

use std::ops::Range;

use serde_json::{Value, json};

#[derive(Clone)]
pub struct Buffer {
    pub text: String,
    pub version: i32,
}

impl Buffer {
    /// Replaces the bytes `range`; the `contentChanges` entry that says so.
    pub fn splice(&mut self, range: Range<usize>, new: &str, encoding: &str) -> Value {
        let change = json!({"range": {"start": self.position(range.start, encoding), "end": self.position(range.end, encoding)}, "text": new});
        self.text.replace_range(range, new);
        self.version += 1;
        change
    }

    /// Applies the edits of a `TextDocumentEdit` (all count in the text before), one version further; the
    /// `contentChanges` entries, last edit first.
    pub fn apply(&mut self, edits: &[Value], encoding: &str) -> Vec<Value> {
        let mut edits: Vec<(Range<usize>, String)> = edits
            .iter()
            .map(|edit| {
                let range = self.offset(&edit["range"]["start"], encoding)
                    ..self.offset(&edit["range"]["end"], encoding);
                let snippet = edit["snippet"]["value"].as_str();
                let snippet = snippet.map(|text| text.replace("$0", ""));
                let new = edit["newText"].as_str().map(str::to_owned).or(snippet);
                (range, new.expect("a text"))
            })
            .collect();
        edits.sort_by_key(|(range, _)| (range.start, range.end));
        assert!(
            edits
                .windows(2)
                .all(|pair| pair[0].0.end <= pair[1].0.start),
            "edits overlap: {edits:?}"
        );
        let version = self.version;
        let changes = edits
            .into_iter()
            .rev()
            .map(|(range, new)| self.splice(range, &new, encoding))
            .collect();
        self.version = version + 1;
        changes
    }

    /// The version as the server is told of it; of an editor that does not count them there is none.
    pub fn told(&mut self, counts: bool) -> Value {
        match counts {
            true => json!(self.version),
            false => {
                self.version = 1;
                Value::Null
            }
        }
    }

    pub fn position(&self, offset: usize, encoding: &str) -> Value {
        let (mut line, mut start) = (0, 0);
        for (begin, _) in lines(&self.text) {
            if begin > 0 && begin <= offset {
                line += 1;
                start = begin;
            }
        }
        let character: usize = self.text[start..offset]
            .chars()
            .map(|c| units(c, encoding))
            .sum();
        json!({"line": line, "character": character})
    }

    pub fn offset(&self, position: &Value, encoding: &str) -> usize {
        let line = position["line"].as_u64().expect("a line") as usize;
        let character = position["character"].as_u64().expect("a character") as usize;
        let Some((start, end)) = lines(&self.text).nth(line) else {
            return self.text.len();
        };
        let mut at = start;
        let mut count = 0;
        for c in self.text[start..end].chars() {
            if count + units(c, encoding) > character {
                break;
            }
            count += units(c, encoding);
            at += c.len_utf8();
        }
        at
    }
}

pub fn units(c: char, encoding: &str) -> usize {
    match encoding {
        "utf-8" => c.len_utf8(),
        "utf-16" => c.len_utf16(),
        "utf-32" => 1,
        other => panic!("no position encoding {other}"),
    }
}

/// Start and end (without its line end) of each line; there is always at least one.
fn lines(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let bytes = text.as_bytes();
    let mut start = Some(0);
    std::iter::from_fn(move || {
        let begin = start?;
        let mut end = begin;
        while end < bytes.len() && bytes[end] != b'\n' && bytes[end] != b'\r' {
            end += 1;
        }
        start = match bytes.get(end) {
            None => None,
            Some(b'\r') if bytes.get(end + 1) == Some(&b'\n') => Some(end + 2),
            Some(_) => Some(end + 1),
        };
        Some((begin, end))
    })
}
