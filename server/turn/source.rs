//! A file as a turn sees it: text, structure, lines.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::comments::{Symbol, Syntax, detect};
use crate::files::{FileError, Seen, Structure, Tree, head};
use crate::text::{Document, Encoding, Position};
use crate::threads::Thread;

use super::context::clip;

pub(super) struct Source {
    pub path: std::path::PathBuf,
    /// Relative to the root.
    pub file: String,
    pub text: Arc<str>,
    pub seen: Seen,
    pub lossy: bool,
    pub syntax: Structure,
    document: Document,
}

impl Source {
    /// The open buffer where there is one, else the disk.
    pub fn read(tree: &Tree, path: &Path) -> Result<Self, FileError> {
        let read = tree.read(path)?;
        let file = tree
            .relative(&read.path)
            .unwrap_or_else(|| path.to_string_lossy().into_owned());
        let (document, syntax) = match read.buffer {
            Some(buffer) => (buffer.document, buffer.syntax),
            None => {
                let language = detect(&file, None, head(&read.text));
                (
                    Document::new(&read.text, 0),
                    Syntax::parse(&read.text, language).into(),
                )
            }
        };
        Ok(Self {
            path: read.path,
            file,
            text: read.text,
            seen: read.seen,
            lossy: read.lossy,
            syntax,
            document,
        })
    }

    pub fn lines(&self) -> usize {
        self.document.lines()
    }

    /// 0-based line of a byte.
    pub fn line_of(&self, offset: usize) -> usize {
        self.document.position(offset, Encoding::Utf8).line as usize
    }

    /// The byte at which a 0-based line begins; the text's end past the last.
    pub fn start_of(&self, line: usize) -> usize {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        self.document
            .offset(Position { line, character: 0 }, Encoding::Utf8)
    }

    /// One 0-based line, without its end.
    pub fn line(&self, line: usize) -> &str {
        let range = self.start_of(line)..self.start_of(line.saturating_add(1));
        self.text
            .get(range)
            .unwrap_or_default()
            .trim_end_matches(['\n', '\r'])
    }

    /// Lines (0-based) behind their numbers, none longer than `most` bytes.
    pub fn numbered(&self, lines: Range<usize>, most: usize) -> String {
        lines.fold(String::new(), |mut out, line| {
            let text = clip(self.line(line), most);
            let _ = writeln!(out, "{:4} | {text}", line + 1);
            out
        })
    }

    pub fn slice(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    /// What the thread stands at: the symbol that begins on its own line (a trailing thread) or directly
    /// below it, attributes and comments between allowed.
    pub fn symbol_of(&self, thread: &Thread) -> Option<Symbol> {
        let symbols = self.syntax.symbols(&self.text);
        if thread.trailing {
            let line = thread.first_line();
            if let Some(symbol) = symbols
                .iter()
                .find(|s| self.line_of(s.name_range.start) == line)
            {
                return Some(symbol.clone());
            }
        }
        let below = self.start_of(thread.last_line().saturating_add(1));
        let symbol = symbols.into_iter().find(|s| s.name_range.start >= below)?;
        let begins = self.line_of(symbol.name_range.start);
        let between = (thread.last_line() + 1..begins).all(|line| self.is_preamble(line));
        between.then_some(symbol)
    }

    /// Where a name of the thread's text stands in this file, read as if it stood in the code beside the
    /// thread: what the thread stands at and what it stands in go before a declaration elsewhere.
    pub fn beside(&self, thread: &Thread, name: &str) -> Option<usize> {
        let start = self.start_of(thread.first_line());
        let symbols = self.syntax.symbols(&self.text);
        let places = self.syntax.identifiers(&self.text, name);
        let mut around: Vec<&Symbol> = symbols
            .iter()
            .filter(|symbol| symbol.range.contains(&start))
            .collect();
        around.sort_by_key(|symbol| symbol.range.len());
        let at = self.symbol_of(thread);
        let near = at.iter().chain(around).find_map(|symbol| {
            let inside = places.iter().map(|place| place.start);
            inside
                .filter(|at| symbol.range.contains(at))
                // Below the thread before above it, the nearest first.
                .min_by_key(|at| (*at < start, at.abs_diff(start)))
        });
        let declared = || {
            let declared = symbols.iter().filter(|s| s.declares(name));
            declared
                .map(|symbol| symbol.name_range.start)
                .min_by_key(|at| (*at < start, *at))
        };
        near.or_else(declared)
            .or_else(|| places.first().map(|place| place.start))
    }

    /// A line that may stand between a thread and its symbol.
    fn is_preamble(&self, line: usize) -> bool {
        let text = self.line(line).trim();
        let start = self.start_of(line);
        let indent = self.line(line).len() - self.line(line).trim_start().len();
        text.is_empty()
            || text.starts_with(['@', '#', '['])
            || text.starts_with("template")
            || text.starts_with("export")
            || self.syntax.comment_at(&self.text, start + indent).is_some()
    }
}
