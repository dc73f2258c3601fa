//! The scanner: comments, strings and embedded code of a text by the delimiters of its language's
//! row. One pass, no recursion; every step goes forward, so it ends on any input.

use std::cell::Cell;
use std::ops::Range;

use postil_grammars::{Block, Escape, Language, Place, Quote, Template};

use super::Comment;
use super::embed::Part;
pub use again::Change;
pub(super) use again::rescan;
use again::{Known, Rest};
pub(super) use cut::scan_piece;
pub(crate) use cut::{BACK, Uncut};

mod again;
mod cut;
mod heredocs;
mod lines;
mod literals;
mod markup;
mod quotes;
mod rules;
mod templates;

/// What the scanner found, in order of start.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    pub comments: Vec<Comment>,
    /// Strings and whatever else is text, not code.
    pub strings: Vec<Range<usize>>,
    /// Code of other languages.
    pub embedded: Vec<Part>,
    /// Where a scan may begin again.
    resting: Vec<Rest>,
}

impl Scan {
    /// The last part that begins at or before byte `at`.
    pub fn part_before(&self, at: usize) -> Option<&Part> {
        let before = self.embedded.partition_point(|part| part.range.start <= at);
        self.embedded.get(before.checked_sub(1)?)
    }

    /// The part that covers byte `at`.
    pub fn part_at(&self, at: usize) -> Option<&Part> {
        self.part_before(at).filter(|part| part.range.contains(&at))
    }
}

/// How deep code inside strings inside code may go before a hole is read as text.
const HOLES: usize = 64;

/// Code that stands inside a string, and what ends it.
struct Hole {
    quote: &'static Quote,
    close: u8,
    /// Brackets of the closing kind that are open.
    depth: usize,
}

/// A heredoc that was announced.
pub(super) struct Heredoc<'a> {
    word: &'a str,
    /// What it holds is code; a `#!` line in it may name another language.
    code: Option<&'static Language>,
    /// Its last line may be indented.
    indented: bool,
    /// Nothing else may stand on its last line.
    whole: bool,
}

pub(super) struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    language: &'static Language,
    template: Option<&'static Template>,
    /// Bytes that the template's own delimiters begin with.
    inserts: [bool; 256],
    /// Bytes that may begin something; the others are passed over.
    starts: [bool; 256],
    line_start: usize,
    holes: Vec<Hole>,
    /// Heredocs that begin on the next line.
    heredocs: Vec<Heredoc<'a>>,
    /// A block scalar begins on the next line: the column of what it belongs to, if anything, and
    /// whether its header tells the indentation.
    scalar: Option<(Option<usize>, bool)>,
    /// Where this stands in code, the scan ends; empty for a scan of the whole text.
    stop: &'static str,
    /// Braces that are open and were opened in code, where the scan ends at one that was not.
    braces: usize,
    /// The last byte that a decision so far depends on, where that lies behind the decision's line.
    reach: usize,
    /// Bytes that were looked at ahead of their turn.
    spent: Cell<usize>,
    /// What is known of the text before it changed.
    known: Option<Known<'a>>,
    /// The scan ends at the first place from here on where the text can be cut; and where that was.
    until: Option<usize>,
    cut: Option<usize>,
    /// The last byte of code that is no blank: tells a regular expression from a division.
    last: u8,
    out: Scan,
}

/// The comments, strings and embedded code of `text`.
pub(super) fn scan(text: &str, language: &'static Language) -> Scan {
    let mut scanner = Scanner::new(text, language);
    scanner.begin();
    scanner.run();
    scanner.out
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, language: &'static Language) -> Self {
        let mut starts = [false; 256];
        let mut mark = |delimiter: &str| {
            if let Some(&first) = delimiter.as_bytes().first() {
                starts[usize::from(first.to_ascii_lowercase())] = true;
                starts[usize::from(first.to_ascii_uppercase())] = true;
            }
        };
        language.line.iter().for_each(|l| mark(l.open));
        language.block.iter().for_each(|b| mark(b.open));
        language.strings.iter().for_each(|q| mark(q.open));
        language
            .rules
            .iter()
            .flat_map(|r| rules::starts(*r))
            .for_each(|s| mark(s));
        let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let template = language.template();
        let mut inserts = [false; 256];
        for start in template.map_or(&[][..], |template| template.starts) {
            if let Some(&first) = start.as_bytes().first() {
                inserts[usize::from(first)] = true;
            }
        }
        Self {
            text,
            bytes: text.as_bytes(),
            at,
            language,
            template,
            inserts,
            starts,
            line_start: at,
            holes: Vec::new(),
            heredocs: Vec::new(),
            scalar: None,
            stop: "",
            braces: 0,
            reach: 0,
            spent: Cell::new(0),
            known: None,
            until: None,
            cut: None,
            last: b'\n',
            out: Scan::default(),
        }
    }

    fn run(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte == b'\n' || byte == b'\r' {
                if self.line_end() {
                    return;
                }
                continue;
            }
            if !self.stop.is_empty() && self.holes.is_empty() {
                if self.stop == "}" && byte == b'{' {
                    self.braces += 1;
                } else if self.starts_with(self.stop) {
                    if self.braces == 0 {
                        return;
                    }
                    self.braces -= 1;
                }
            }
            if self.starts[usize::from(byte)] {
                let comments = self.out.comments.len();
                if self.token() {
                    if self.out.comments.len() == comments {
                        self.last = b'"';
                    }
                    continue;
                }
            }
            if let Some(hole) = self.holes.last_mut() {
                if byte == hole.close {
                    if hole.depth == 0 {
                        let quote = hole.quote;
                        self.holes.pop();
                        self.at += 1;
                        let start = self.at;
                        self.string(quote, start, start);
                        continue;
                    }
                    hole.depth -= 1;
                } else if matches!(
                    (byte, hole.close),
                    (b'{', b'}') | (b'(', b')') | (b'[', b']')
                ) {
                    hole.depth += 1;
                }
            }
            if !byte.is_ascii_whitespace() {
                self.last = byte;
            }
            self.at += 1;
        }
    }

    /// Passes over a line end and what that begins; tells whether all that follows is known.
    fn line_end(&mut self) -> bool {
        self.at = after_line_end(self.bytes, self.at);
        self.line_start = self.at;
        for heredoc in std::mem::take(&mut self.heredocs) {
            self.heredoc_body(heredoc);
        }
        if let Some((parent, measured)) = self.scalar.take() {
            self.block_scalar(parent, measured);
        }
        // A string that ends on its line cannot hold code that does not.
        if let Some(broken) = self.holes.iter().position(|hole| !hole.quote.lines) {
            self.holes.truncate(broken);
        }
        if self.holes.is_empty() {
            self.last = b'\n';
            if self.rest_here() || self.cut_here() {
                return true;
            }
        }
        self.begin_line();
        false
    }

    /// Tries what may begin at `at`; tells whether something did, and stands behind it then.
    fn token(&mut self) -> bool {
        let language = self.language;
        if !self.is_exhausted() && language.rules.iter().any(|rule| self.rule(*rule)) {
            return true;
        }
        for block in language.block {
            if self.starts_with(block.open) && self.fits(block.place, block.open) {
                self.block_comment(block);
                return true;
            }
        }
        for line in language.line {
            if self.starts_with(line.open) && self.fits(line.place, line.open) {
                self.line_comment(line.open);
                return true;
            }
        }
        for quote in language.strings {
            if self.starts_with(quote.open) && self.fits(quote.place, quote.open) {
                let start = self.at;
                self.at += quote.open.len();
                self.string(quote, start, self.at);
                return true;
            }
        }
        false
    }

    fn starts_with(&self, delimiter: &str) -> bool {
        let Some(here) = self.bytes.get(self.at..self.at + delimiter.len()) else {
            return false;
        };
        if delimiter
            .as_bytes()
            .first()
            .is_some_and(u8::is_ascii_alphabetic)
        {
            here.eq_ignore_ascii_case(delimiter.as_bytes())
        } else {
            here == delimiter.as_bytes()
        }
    }

    fn before(&self) -> u8 {
        if self.at == self.line_start {
            b'\n'
        } else {
            self.bytes
                .get(self.at.wrapping_sub(1))
                .copied()
                .unwrap_or(b'\n')
        }
    }

    fn on_blank_line(&self) -> bool {
        self.bytes
            .get(self.line_start..self.at)
            .is_some_and(|b| b.iter().all(|b| matches!(b, b' ' | b'\t' | 0x0c)))
    }

    fn fits(&self, place: Place, open: &str) -> bool {
        let before = self.before();
        let after = |offset: usize| self.bytes.get(self.at + offset).copied().unwrap_or(b'\n');
        match place {
            Place::Anywhere => true,
            Place::AfterBlank => before.is_ascii_whitespace(),
            Place::WordStart => before.is_ascii_whitespace() || b";()|&`".contains(&before),
            Place::ValueStart => {
                let head = self
                    .bytes
                    .get(self.line_start..self.at)
                    .unwrap_or_default()
                    .trim_ascii_end();
                head.last().is_none_or(|b| b"[{(,:=-?!&|>".contains(b))
            }
            Place::NotBefore(byte) => after(open.len()) != byte,
            Place::LineStart => self.on_blank_line(),
            Place::FirstColumn => self.at == self.line_start,
            Place::Statement => {
                if !after(open.len()).is_ascii_whitespace() {
                    return false;
                }
                let head = self
                    .bytes
                    .get(self.line_start..self.at)
                    .unwrap_or_default()
                    .trim_ascii_end();
                let ends = |word: &[u8]| {
                    head.len() >= word.len()
                        && head[head.len() - word.len()..].eq_ignore_ascii_case(word)
                        && head.len() < self.at - self.line_start
                };
                // A line number may stand before it.
                head.iter()
                    .all(|b| b.is_ascii_digit() || matches!(b, b' ' | b'\t' | b'@'))
                    || head.ends_with(b":")
                    || head.ends_with(b"&")
                    || head.ends_with(b"(")
                    || ends(b"then")
                    || ends(b"else")
            }
            Place::NotOperator => {
                let repeated = open.as_bytes().last().copied().unwrap_or(0);
                let mut offset = open.len();
                while after(offset) == repeated {
                    offset += 1;
                }
                let symbol = |b: u8| b"!#$%&*+./<=>?@\\^|~:".contains(&b);
                !symbol(before) && before != repeated && !symbol(after(offset))
            }
            Place::Unpaired => {
                let rest = &self.bytes[self.at + open.len().min(self.bytes.len() - self.at)..];
                let rest = &rest[..line_length(rest)];
                self.on_blank_line()
                    || (before.is_ascii_whitespace()
                        && memchr::memmem::find(rest, open.as_bytes()).is_none())
            }
        }
    }

    pub(super) fn line_comment(&mut self, open: &str) {
        let start = self.at;
        let mut line = &self.bytes[start..start + line_length(&self.bytes[start..])];
        if let Some(stop) = Some(self.stop)
            .filter(|s| !s.is_empty() && *s != "}")
            .and_then(|s| memchr::memmem::find(line, s.as_bytes()))
        {
            line = &line[..stop];
        }
        let end = start + line.len();
        self.out.comments.push(Comment {
            range: start..end,
            open: opening(self.bytes, start..end, open),
            close: 0,
            block: false,
        });
        self.at = end;
    }

    fn block_comment(&mut self, block: &Block) {
        let start = self.at;
        let mut at = start + block.open.len();
        let mut depth = 1;
        let mut close = 0;
        let inner = inner_open(block);
        while at < self.bytes.len() {
            let rest = &self.bytes[at..];
            if rest.starts_with(block.close.as_bytes()) {
                at += block.close.len();
                depth -= 1;
                if depth == 0 {
                    close = block.close.len();
                    break;
                }
            } else if block.nests && rest.starts_with(inner.as_bytes()) {
                at += inner.len();
                match block.place {
                    // `(*)` opens and closes nothing.
                    Place::NotBefore(byte) if self.bytes.get(at) == Some(&byte) => at += 1,
                    _ => depth += 1,
                }
            } else {
                at += 1;
            }
        }
        self.push_block(start..at.min(self.bytes.len()), block.open, close);
    }

    /// Notes a block comment and goes on behind it.
    fn push_block(&mut self, range: Range<usize>, open: &str, close: usize) {
        self.at = range.end;
        let open = opening(self.bytes, range.start..range.end - close, open);
        self.out.comments.push(Comment {
            range: range.clone(),
            open,
            close,
            block: true,
        });
        self.find_line_start(range.start);
    }

    /// Reads the string that began at `start`, whose text goes on at `at`, up to its end or to code inside it.
    fn string(&mut self, quote: &'static Quote, start: usize, mut at: usize) {
        let bytes = self.bytes;
        let close = quote.close.as_bytes();
        while let Some(&byte) = bytes.get(at) {
            let rest = &bytes[at..];
            if let Some((open, close)) = quote.hole
                && rest.starts_with(open.as_bytes())
                && self.holes.len() < HOLES
            {
                if open == "{" && rest.starts_with(b"{{") {
                    at += 2;
                    continue;
                }
                self.holes.push(Hole {
                    quote,
                    close,
                    depth: 0,
                });
                at += open.len();
                break;
            }
            match quote.escape {
                Escape::By(escape) if byte == escape && rest.len() > 1 => {
                    // An escaped line end goes on even in a string that does not.
                    at += if rest.starts_with(b"\\\r\n") { 3 } else { 2 };
                    continue;
                }
                Escape::Doubled
                    if rest.starts_with(close) && rest[close.len()..].starts_with(close) =>
                {
                    at += close.len() * 2;
                    continue;
                }
                Escape::Before(marks)
                    if rest.starts_with(close)
                        && rest.get(close.len()).is_some_and(|b| marks.contains(b)) =>
                {
                    at += close.len() + 1;
                    continue;
                }
                _ => {}
            }
            if rest.starts_with(close) {
                at += close.len();
                break;
            }
            if !quote.lines && (byte == b'\n' || byte == b'\r') {
                break;
            }
            at += 1;
        }
        self.push_string(start..at.min(bytes.len()));
    }

    /// Notes text that is no code and goes on behind it.
    fn push_string(&mut self, range: Range<usize>) {
        self.at = range.end;
        self.find_line_start(range.start);
        if !range.is_empty() {
            self.out.strings.push(range);
        }
    }

    /// Finds where the line of `at` begins, after a token that began at `from`.
    fn find_line_start(&mut self, from: usize) {
        let passed = self.bytes.get(from..self.at).unwrap_or_default();
        if let Some(end) = passed.iter().rposition(|b| *b == b'\n' || *b == b'\r') {
            self.line_start = from + end + 1;
        }
    }
}

/// What opens a comment inside `block`, without a mark of documentation: of `/*!` that is `/*`, of `{-|` it is `{-`.
pub(super) fn inner_open(block: &Block) -> &'static str {
    let bare = block.open.strip_suffix(['!', '|']);
    bare.filter(|open| open.len() > 1).unwrap_or(block.open)
}

/// Bytes up to the first line end.
pub(super) fn line_length(bytes: &[u8]) -> usize {
    memchr::memchr2(b'\n', b'\r', bytes).unwrap_or(bytes.len())
}

/// The byte behind the line end at `at`.
fn after_line_end(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at) == Some(&b'\r') && bytes.get(at + 1) == Some(&b'\n') {
        at + 2
    } else {
        at + 1
    }
}

/// Bytes of the opening delimiter in `range` that begins with `open`: its last character may be repeated.
pub(super) fn opening(bytes: &[u8], range: Range<usize>, open: &str) -> usize {
    let Some(&last) = open.as_bytes().last() else {
        return 0;
    };
    let mut length = open.len();
    if last.is_ascii_punctuation() {
        while range.start + length < range.end && bytes.get(range.start + length) == Some(&last) {
            length += 1;
        }
    }
    length.min(range.len())
}
