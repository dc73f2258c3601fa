//! What a child has been told of the documents. It follows the editor's buffers, and for files that are
//! asked about without being open, the disk. One change is sent for all that was typed since the last.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::positions::{self, Stamp, to_json};
use super::uri;
use crate::files::{Buffer, Buffers};
use crate::text::{Document, Encoding};

/// Files opened from disk at once; the one unused for longest is closed for the next.
const MAX_FROM_DISK: usize = 64;
/// How often all files opened from disk are looked at again.
const DISK_CHECK: Duration = Duration::from_millis(500);

/// Diagnostics that name no version may be of the text before for so long after a change: they were on their way, or
/// the child waits for a pause in the typing before it looks at the text anew.
const LATE: Duration = Duration::from_millis(600);

/// How long a child may take a new document into its index, without saying so.
const YOUNG: Duration = Duration::from_secs(3);

/// `TextDocumentSyncKind`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    None,
    Full,
    #[default]
    Incremental,
}

/// What the child's capabilities say of documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    pub encoding: Encoding,
    pub sync: Sync,
    pub open_close: bool,
    pub save: bool,
    pub save_text: bool,
    /// Its lines end where Python's `splitlines` has them end.
    pub python_lines: bool,
}

impl Manner {
    /// From the answer to `initialize`.
    pub fn of(answer: &Value) -> Self {
        let none = Value::Null;
        let capabilities = answer.get("capabilities").unwrap_or(&none);
        // clangd's own name stands beside the capabilities.
        let own = answer.get("offsetEncoding");
        let encoding = capabilities
            .get("positionEncoding")
            .or(own)
            .and_then(Value::as_str);
        let mut manner = Self::announced(capabilities, encoding);
        let name = answer.pointer("/serverInfo/name").and_then(Value::as_str);
        if name == Some("pylsp") && encoding.is_none() {
            // It announces nothing, which means UTF-16, and indexes Python strings all the same.
            manner.encoding = Encoding::Utf32;
            manner.python_lines = true;
        }
        manner
    }

    fn announced(capabilities: &Value, encoding: Option<&str>) -> Self {
        let encoding = match encoding {
            Some("utf-8") => Encoding::Utf8,
            Some("utf-32") => Encoding::Utf32,
            _ => Encoding::Utf16,
        };
        let kind = |value: Option<&Value>| match value.and_then(Value::as_u64) {
            Some(1) => Sync::Full,
            Some(2) => Sync::Incremental,
            _ => Sync::None,
        };
        match capabilities.get("textDocumentSync") {
            Some(Value::Object(options)) => {
                let save = options.get("save");
                Self {
                    encoding,
                    sync: kind(options.get("change")),
                    open_close: options
                        .get("openClose")
                        .and_then(Value::as_bool)
                        .unwrap_or(true),
                    save: save.is_some_and(|s| s.is_object() || s.as_bool() == Some(true)),
                    save_text: save
                        .and_then(|s| s.get("includeText"))
                        .and_then(Value::as_bool)
                        .unwrap_or(false),
                    python_lines: false,
                }
            }
            Some(number) => Self {
                encoding,
                sync: kind(Some(number)),
                open_close: true,
                save: true,
                save_text: false,
                python_lines: false,
            },
            None => Self {
                encoding,
                sync: Sync::None,
                open_close: true,
                save: false,
                save_text: false,
                python_lines: false,
            },
        }
    }
}

struct Told {
    version: i32,
    /// The version since which the text has been what it is.
    same_since: i32,
    /// When another text was told last; not of its opening.
    changed: Option<Instant>,
    document: Document,
    source: Source,
    used: Instant,
}

/// What a document follows, and which state of it was told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// [`Buffer::generation`]
    Buffer(u64),
    Disk(Stamp),
}

impl Source {
    fn is_disk(self) -> bool {
        matches!(self, Self::Disk(_))
    }
}

/// A notification for the child: method and parameters.
pub type Notice = (&'static str, Value);

#[derive(Default)]
pub struct Documents {
    manner: Manner,
    told: HashMap<PathBuf, Told>,
    dirty: HashSet<PathBuf>,
    checked: Option<Instant>,
    /// When a document was opened last.
    opened: Option<Instant>,
}

impl Documents {
    pub fn new(manner: Manner) -> Self {
        Self {
            manner,
            ..Self::default()
        }
    }

    pub fn manner(&self) -> Manner {
        self.manner
    }

    /// Whether a document was opened so lately that the child may still be taking it in.
    pub fn is_young(&self) -> bool {
        self.opened.is_some_and(|at| at.elapsed() < YOUNG)
    }

    pub fn version(&self, path: &Path) -> Option<i32> {
        self.told.get(path).map(|t| t.version)
    }

    /// Whether what was said of `version` holds for the text as it was told last.
    pub fn is_of_present(&self, path: &Path, version: Option<i32>) -> bool {
        self.told.get(path).is_some_and(|t| {
            version.is_some_and(|v| v >= t.same_since) && !self.dirty.contains(path)
        })
    }

    /// Whether this state of the file is the one that was told last.
    pub fn is_told(&self, path: &Path, state: Source) -> bool {
        self.told.get(path).is_some_and(|t| t.source == state)
    }

    /// How long what is said of a file, with no version, may still be of the text before.
    pub fn may_be_of_past(&self, path: &Path) -> Option<Duration> {
        let changed = self.told.get(path)?.changed?;
        LATE.checked_sub(changed.elapsed())
            .filter(|rest| !rest.is_zero())
    }

    pub fn paths(&self) -> Vec<PathBuf> {
        self.told.keys().cloned().collect()
    }

    /// Cheap copies of all texts as the child knows them.
    pub fn snapshot(&self) -> HashMap<PathBuf, Document> {
        self.told
            .iter()
            .map(|(path, told)| (path.clone(), told.document.clone()))
            .collect()
    }

    pub fn touch(&mut self, path: &Path) {
        if self.told.contains_key(path) {
            self.dirty.insert(path.to_path_buf());
        }
    }

    /// Everything that changed since, then `asked`, opened where it is not.
    pub fn sync(&mut self, asked: Option<(&Path, &str)>, buffers: &Buffers) -> Vec<Notice> {
        let mut out = Vec::new();
        if !self.dirty.is_empty() {
            for path in std::mem::take(&mut self.dirty) {
                self.follow(&path, None, buffers, &mut out);
            }
        }
        if self.checked.is_none_or(|at| at.elapsed() > DISK_CHECK) {
            self.checked = Some(Instant::now());
            let from_disk: Vec<PathBuf> = self
                .told
                .iter()
                .filter(|(_, t)| t.source.is_disk())
                .map(|(p, _)| p.clone())
                .collect();
            for path in from_disk {
                self.follow(&path, None, buffers, &mut out);
            }
        }
        if let Some((path, language)) = asked {
            self.follow(path, Some(language), buffers, &mut out);
            if let Some(told) = self.told.get_mut(path) {
                told.used = Instant::now();
            }
        }
        out
    }

    /// Brings one document to what it is now; opens it only with `language`.
    fn follow(
        &mut self,
        path: &Path,
        language: Option<&str>,
        buffers: &Buffers,
        out: &mut Vec<Notice>,
    ) {
        if let Some(buffer) = buffers.get(path) {
            self.follow_buffer(path, language, &buffer, out);
            return;
        }
        let stamp = positions::stamp(path);
        let Some(told) = self.told.get(path) else {
            if let Some(language) = language
                && let Some((document, stamp)) = positions::from_disk(path)
            {
                self.make_room(out);
                self.open(path, language, 1, document, Source::Disk(stamp), out);
            }
            return;
        };
        let Some(stamp) = stamp else {
            return self.close(path, out);
        };
        if told.source != Source::Disk(stamp)
            && let Some((document, stamp)) = positions::from_disk(path)
        {
            let version = told.version.saturating_add(1);
            self.change(path, version, document, Source::Disk(stamp), out);
        }
    }

    fn follow_buffer(
        &mut self,
        path: &Path,
        language: Option<&str>,
        buffer: &Buffer,
        out: &mut Vec<Notice>,
    ) {
        let version = buffer.document.version();
        let source = Source::Buffer(buffer.generation);
        let document = buffer.document.clone();
        match self.told.get(path) {
            Some(told) if told.source == source => {}
            Some(told) if told.version < version => {
                self.change(path, version, document, source, out)
            }
            Some(_) => {
                // Opened anew, or another text under a version that it had already: versions begin again.
                self.close(path, out);
                self.open(path, &buffer.language_id, version, document, source, out);
            }
            None if language.is_some() => {
                self.open(path, &buffer.language_id, version, document, source, out);
            }
            None => {}
        }
    }

    fn open(
        &mut self,
        path: &Path,
        language: &str,
        version: i32,
        document: Document,
        source: Source,
        out: &mut Vec<Notice>,
    ) {
        self.opened = Some(Instant::now());
        if self.manner.open_close {
            let item = json!({"uri": uri::from_path(path), "languageId": language, "version": version, "text": document.text()});
            out.push(("textDocument/didOpen", json!({"textDocument": item})));
        }
        self.told.insert(
            path.to_path_buf(),
            Told {
                version,
                same_since: version,
                changed: None,
                document,
                source,
                used: Instant::now(),
            },
        );
    }

    fn change(
        &mut self,
        path: &Path,
        version: i32,
        document: Document,
        source: Source,
        out: &mut Vec<Notice>,
    ) {
        let Manner {
            sync,
            encoding,
            python_lines,
            ..
        } = self.manner;
        let Some(told) = self.told.get_mut(path) else {
            return;
        };
        let (old, new) = (told.document.text(), document.text());
        let changes = match sync {
            Sync::None => None,
            Sync::Full => (old != new).then(|| json!([{"text": new}])),
            Sync::Incremental if python_lines && has_python_line(new, old) => {
                (old != new).then(|| json!([{"text": new}]))
            }
            Sync::Incremental => difference(&told.document, old, new, encoding),
        };
        // A buffer's version is told even where the text is the same: answers name it.
        let changes =
            changes.or_else(|| (sync != Sync::None && !source.is_disk()).then(|| json!([])));
        if old != new {
            told.same_since = version;
            told.changed = Some(Instant::now());
        }
        told.document = document;
        told.source = source;
        if let Some(changes) = changes {
            told.version = version;
            out.push(("textDocument/didChange", json!({"textDocument": {"uri": uri::from_path(path), "version": version}, "contentChanges": changes})));
        } else if !source.is_disk() {
            told.version = version;
        }
    }

    pub fn saved(&mut self, path: &Path, buffers: &Buffers) -> Vec<Notice> {
        let mut out = Vec::new();
        self.follow(path, None, buffers, &mut out);
        if let Some(told) = self.told.get(path).filter(|_| self.manner.save) {
            let mut params = json!({"textDocument": {"uri": uri::from_path(path)}});
            if self.manner.save_text
                && let Some(object) = params.as_object_mut()
            {
                object.insert(String::from("text"), Value::from(told.document.text()));
            }
            out.push(("textDocument/didSave", params));
        }
        out
    }

    pub fn close(&mut self, path: &Path, out: &mut Vec<Notice>) {
        self.dirty.remove(path);
        if self.told.remove(path).is_some() && self.manner.open_close {
            let document = json!({"textDocument": {"uri": uri::from_path(path)}});
            out.push(("textDocument/didClose", document));
        }
    }

    fn make_room(&mut self, out: &mut Vec<Notice>) {
        let from_disk = || self.told.iter().filter(|(_, t)| t.source.is_disk());
        if from_disk().count() >= MAX_FROM_DISK
            && let Some(oldest) = from_disk()
                .min_by_key(|(_, t)| t.used)
                .map(|(p, _)| p.clone())
        {
            self.close(&oldest, out);
        }
    }
}

/// The one change that makes `new` of `old`, as `contentChanges`; `None` where they are equal.
fn difference(document: &Document, old: &str, new: &str, encoding: Encoding) -> Option<Value> {
    if old == new {
        return None;
    }
    // Servers disagree on whether a lone carriage return ends a line.
    if has_lone_return(old) || has_lone_return(new) {
        return Some(json!([{"text": new}]));
    }
    let (a, b) = (old.as_bytes(), new.as_bytes());
    let mut start = common(a, b);
    while !(old.is_char_boundary(start) && new.is_char_boundary(start)) || splits_line_end(a, start)
    {
        start -= 1;
    }
    let longest = a.len().min(b.len()) - start;
    let mut end = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take(longest)
        .take_while(|(x, y)| x == y)
        .count();
    while !(old.is_char_boundary(a.len() - end) && new.is_char_boundary(b.len() - end))
        || splits_line_end(a, a.len() - end)
    {
        end -= 1;
    }
    let range = document.range(&(start..a.len() - end), encoding);
    let text = new.get(start..b.len() - end).unwrap_or_default();
    Some(
        json!([{"range": {"start": to_json(range.start), "end": to_json(range.end)}, "text": text}]),
    )
}

/// Length of the common beginning; compared by blocks, which the compiler makes wide.
fn common(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 256;
    let blocks = a
        .chunks_exact(BLOCK)
        .zip(b.chunks_exact(BLOCK))
        .take_while(|(x, y)| x == y)
        .count()
        * BLOCK;
    let rest = a.iter().skip(blocks).zip(b.iter().skip(blocks));
    blocks + rest.take_while(|(x, y)| x == y).count()
}

fn splits_line_end(bytes: &[u8], at: usize) -> bool {
    at > 0 && bytes.get(at - 1) == Some(&b'\r') && bytes.get(at) == Some(&b'\n')
}

/// Whether Python sees a line's end where LSP sees none.
fn has_python_line(new: &str, old: &str) -> bool {
    let odd = |c: char| {
        matches!(
            c,
            '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    new.contains(odd) || old.contains(odd)
}

fn has_lone_return(text: &str) -> bool {
    memchr::memchr_iter(b'\r', text.as_bytes())
        .any(|at| text.as_bytes().get(at + 1) != Some(&b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Change, Position, Range};
    use proptest::prelude::*;

    fn applied(old: &str, new: &str, encoding: Encoding) -> String {
        let mut document = Document::new(old, 1);
        let Some(changes) = difference(&document, old, new, encoding) else {
            return old.to_string();
        };
        let change = &changes[0];
        let text = change["text"].as_str().unwrap().to_string();
        let at = |v: &Value| {
            positions::position(v).unwrap_or(Position {
                line: 0,
                character: 0,
            })
        };
        let change = match change.get("range") {
            None => Change::Full(text),
            Some(range) => Change::Incremental {
                range: Range {
                    start: at(&range["start"]),
                    end: at(&range["end"]),
                },
                text,
            },
        };
        document.apply(&[change], encoding, 2).unwrap();
        document.text().to_string()
    }

    proptest! {
        #[test]
        fn the_difference_makes_the_new_text(
            old in "[ab\n\r😀é]{0,12}", middle in "[ab\n\r😀é]{0,4}", new in "[ab\n\r😀é]{0,12}", wide in 0..3usize,
        ) {
            let encoding = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32][wide];
            prop_assert_eq!(applied(&old, &new, encoding), new.clone());
            let (a, b) = (format!("{old}{new}"), format!("{old}{middle}{new}"));
            prop_assert_eq!(applied(&a, &b, encoding), b.clone());
            prop_assert_eq!(applied(&b, &a, encoding), a);
        }
    }

    #[test]
    fn a_child_is_told_of_a_file_from_its_opening_to_its_close() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.py");
        let buffers = Buffers::default();
        let mut documents = Documents::new(Manner {
            open_close: true,
            save: true,
            ..Manner::default()
        });
        let methods = |notices: Vec<Notice>| {
            notices
                .iter()
                .map(|(m, _)| m.trim_start_matches("textDocument/"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            methods(documents.sync(Some((&path, "python")), &buffers)),
            "",
            "there is no file"
        );
        std::fs::write(&path, "x = 1\n").unwrap();
        assert_eq!(
            methods(documents.sync(Some((&path, "python")), &buffers)),
            "didOpen"
        );
        assert_eq!(
            methods(documents.sync(Some((&path, "python")), &buffers)),
            "",
            "once"
        );
        std::fs::write(&path, "x = 11\n").unwrap();
        assert_eq!(
            methods(documents.sync(Some((&path, "python")), &buffers)),
            "didChange"
        );
        assert_eq!(methods(documents.saved(&path, &buffers)), "didSave");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            methods(documents.sync(Some((&path, "python")), &buffers)),
            "didClose"
        );
    }

    #[test]
    fn the_manner_is_read_from_the_capabilities() {
        let manner = Manner::of(
            &json!({"capabilities": {"textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": true}}}, "offsetEncoding": "utf-8"}),
        );
        assert!(
            manner.encoding == Encoding::Utf8
                && manner.sync == Sync::Incremental
                && manner.save
                && manner.save_text
        );
        let manner = Manner::of(&json!({"capabilities": {"textDocumentSync": 1}}));
        assert!(
            manner.encoding == Encoding::Utf16 && manner.sync == Sync::Full && manner.open_close
        );
    }
}
