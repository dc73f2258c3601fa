//! L0. A document: its text, its version, and positions in the three encodings of LSP.
//!
//! Pure. Offsets are bytes of UTF-8; a line ends at `\n`, `\r\n` or `\r`, as in LSP 3.17 §Position.

mod pairs;

use std::sync::Arc;

use ropey::Rope;

pub use pairs::paired;

/// A position as LSP has it: zero-based line, `character` in units of an [`Encoding`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

/// Half open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// What `Position::character` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

/// Replace the bytes `range` by `text`. A list of edits is sorted by start, does not overlap, and
/// every range counts in the text before all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub range: std::ops::Range<usize>,
    pub text: String,
}

/// One `contentChanges` entry of `didChange`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Full(String),
    Incremental { range: Range, text: String },
}

/// Why a change cannot be carried out; the document is left as it was and must be reopened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    StartAfterEnd,
    PastTheEnd { line: u32, lines: u32 },
    OlderVersion { have: i32, got: i32 },
}

/// What an incremental parser needs to know of one change (bytes; points are row and byte column).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splice {
    pub start_byte: usize,
    pub old_end_byte: usize,
    pub new_end_byte: usize,
    pub start_point: (usize, usize),
    pub old_end_point: (usize, usize),
    pub new_end_point: (usize, usize),
}

impl Splice {
    /// The replacement of `range` (bytes) in `text` by `new`.
    pub fn of(text: &str, range: std::ops::Range<usize>, new: &str) -> Self {
        let point = |at: usize| {
            let before = text.as_bytes().get(..at).unwrap_or_default();
            let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
            (memchr::memchr_iter(b'\n', before).count(), at - start)
        };
        let start_point = point(range.start);
        let feeds = memchr::memchr_iter(b'\n', new.as_bytes()).count();
        let column = match new.rfind('\n') {
            Some(end) => new.len() - end - 1,
            None => start_point.1 + new.len(),
        };
        Self {
            start_byte: range.start,
            old_end_byte: range.end,
            new_end_byte: range.start + new.len(),
            start_point,
            old_end_point: point(range.end),
            new_end_point: (start_point.0 + feeds, column),
        }
    }
}

/// A text with its version; cheap to clone (a snapshot).
#[derive(Clone, Debug)]
pub struct Document {
    rope: Rope,
    /// The whole text, made when first asked for and shared by the clones of this version.
    whole: Arc<std::sync::OnceLock<String>>,
    /// How many `\r` stand without a `\n` behind them. They end a line for LSP but not a row for a
    /// parser, so rows are lines only while this is 0.
    lone_returns: usize,
    version: i32,
}

impl Document {
    pub fn new(text: &str, version: i32) -> Self {
        Self {
            rope: Rope::from_str(text),
            whole: Arc::default(),
            lone_returns: lone_returns(text.as_bytes(), false),
            version,
        }
    }

    pub fn version(&self) -> i32 {
        self.version
    }

    pub fn text(&self) -> &str {
        self.whole.get_or_init(|| String::from(&self.rope))
    }

    /// A part of the text, in bytes on character boundaries (see [`Self::boundary`]), without making all of it.
    pub fn part(&self, range: std::ops::Range<usize>) -> String {
        self.rope
            .get_byte_slice(range)
            .map_or_else(String::new, String::from)
    }

    /// The character boundary at or before byte `at`.
    pub fn boundary(&self, at: usize) -> usize {
        let at = at.min(self.len());
        self.rope.char_to_byte(self.rope.byte_to_char(at))
    }

    /// The 0-based line of byte `at`.
    pub fn line_of(&self, at: usize) -> usize {
        self.rope.byte_to_line(at.min(self.len()))
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.rope.len_bytes()
    }

    pub fn is_empty(&self) -> bool {
        self.rope.len_bytes() == 0
    }

    /// Applies the changes of one `didChange` in order, all or none. A change is counted in the text
    /// that the one before it left, as LSP says. The splices are in that order too.
    pub fn apply(
        &mut self,
        changes: &[Change],
        encoding: Encoding,
        version: i32,
    ) -> Result<Vec<Splice>, Unfit> {
        if version < self.version {
            return Err(Unfit::OlderVersion {
                have: self.version,
                got: version,
            });
        }
        let mut next = Self {
            rope: self.rope.clone(),
            whole: Arc::default(),
            lone_returns: self.lone_returns,
            version,
        };
        let mut splices = Vec::with_capacity(changes.len());
        for change in changes {
            splices.push(match change {
                Change::Full(text) => next.splice(0..next.len(), text),
                Change::Incremental { range, text } => {
                    let range = next.fit(range, encoding)?;
                    next.splice(range, text)
                }
            });
        }
        *self = next;
        Ok(splices)
    }

    /// The bytes of a range that a client sent. An end past the text is its end (some say so for "all the rest"); a
    /// start past it is of another text than this.
    fn fit(&self, range: &Range, encoding: Encoding) -> Result<std::ops::Range<usize>, Unfit> {
        if range.start > range.end {
            return Err(Unfit::StartAfterEnd);
        }
        // One line past the last is how some clients name the end of the text.
        let lines = self.lines();
        if range.start.line as usize > lines {
            return Err(Unfit::PastTheEnd {
                line: range.start.line,
                lines: lines as u32,
            });
        }
        Ok(self.offset(range.start, encoding)..self.offset(range.end, encoding))
    }

    /// Replaces `range` (bytes, on character boundaries) by `text`.
    fn splice(&mut self, range: std::ops::Range<usize>, text: &str) -> Splice {
        let new_end = range.start + text.len();
        let (start_point, old_end_point) = (self.point(range.start), self.point(range.end));
        let before = self.lone_returns_around(&range);
        let (from, to) = (
            self.rope.byte_to_char(range.start),
            self.rope.byte_to_char(range.end),
        );
        self.rope.remove(from..to);
        self.rope.insert(from, text);
        self.lone_returns =
            self.lone_returns + self.lone_returns_around(&(range.start..new_end)) - before;
        Splice {
            start_byte: range.start,
            old_end_byte: range.end,
            new_end_byte: new_end,
            start_point,
            old_end_point,
            new_end_point: self.point(new_end),
        }
    }

    /// The lone carriage returns that a change of `range` can make or end: those in it and the byte before it.
    fn lone_returns_around(&self, range: &std::ops::Range<usize>) -> usize {
        let from = self.rope.byte_to_char(range.start).saturating_sub(1);
        let to = self.rope.byte_to_char(range.end);
        let followed = self.rope.get_char(to) == Some('\n');
        let mut chunks = self.rope.slice(from..to).chunks().peekable();
        let mut count = 0;
        while let Some(chunk) = chunks.next() {
            let followed = chunks
                .peek()
                .map_or(followed, |next| next.starts_with('\n'));
            count += lone_returns(chunk.as_bytes(), followed);
        }
        count
    }

    /// Row and byte column as tree-sitter counts them: a row ends at `\n` alone.
    fn point(&self, offset: usize) -> (usize, usize) {
        if self.lone_returns == 0 {
            let row = self.rope.byte_to_line(offset);
            return (row, offset - self.rope.line_to_byte(row));
        }
        let (mut row, mut row_start, mut at) = (0, 0, 0);
        for chunk in self.rope.byte_slice(..offset).chunks() {
            for end in memchr::memchr_iter(b'\n', chunk.as_bytes()) {
                row += 1;
                row_start = at + end + 1;
            }
            at += chunk.len();
        }
        (row, offset - row_start)
    }

    /// How many lines the text has; the empty one behind a final line end counts.
    pub fn lines(&self) -> usize {
        self.rope.len_lines()
    }

    /// The bytes of a 0-based line without its line end; the text's end for a line past the last.
    pub fn line(&self, line: usize) -> std::ops::Range<usize> {
        if line >= self.lines() {
            return self.len()..self.len();
        }
        let start = self.rope.line_to_byte(line);
        let mut end = self.rope.line_to_byte(line + 1);
        if end > start && self.rope.get_byte(end - 1) == Some(b'\n') {
            end -= 1;
            if end > start && self.rope.get_byte(end - 1) == Some(b'\r') {
                end -= 1;
            }
        } else if end > start && self.rope.get_byte(end - 1) == Some(b'\r') {
            end -= 1;
        }
        start..end
    }

    /// A character past the end of its line is the line's end; a line past the last is the text's end;
    /// a column inside a surrogate pair rounds down.
    pub fn offset(&self, position: Position, encoding: Encoding) -> usize {
        let line = self.line(position.line as usize);
        let column = position.character as usize;
        match encoding {
            Encoding::Utf8 => {
                let at = (line.start + column).min(line.end);
                self.rope.char_to_byte(self.rope.byte_to_char(at))
            }
            Encoding::Utf16 => {
                let start = self
                    .rope
                    .char_to_utf16_cu(self.rope.byte_to_char(line.start));
                let end = self.rope.char_to_utf16_cu(self.rope.byte_to_char(line.end));
                self.rope
                    .char_to_byte(self.rope.utf16_cu_to_char((start + column).min(end)))
            }
            Encoding::Utf32 => {
                let start = self.rope.byte_to_char(line.start);
                let end = self.rope.byte_to_char(line.end);
                self.rope.char_to_byte((start + column).min(end))
            }
        }
    }

    /// An offset inside a character rounds down; past the end is the end; between `\r` and `\n` is the
    /// line's end.
    pub fn position(&self, offset: usize, encoding: Encoding) -> Position {
        self.places(encoding).position(offset)
    }

    pub fn range(&self, range: &std::ops::Range<usize>, encoding: Encoding) -> Range {
        self.places(encoding).range(range)
    }

    /// For many positions.
    pub fn places(&self, encoding: Encoding) -> Places<'_> {
        Places {
            document: self,
            encoding,
            piece: Piece::default(),
        }
    }
}

/// Positions in a text. Those that are asked for one after the other mostly stand near each other: each is counted from
/// the line of the last one, where it stands behind it in the same piece of the rope.
pub struct Places<'a> {
    document: &'a Document,
    encoding: Encoding,
    piece: Piece<'a>,
}

/// A piece of the rope, or its rest from a line on.
#[derive(Clone, Copy, Default)]
struct Piece<'a> {
    text: &'a str,
    start: usize,
    first_line: usize,
    begins_a_line: bool,
}

impl<'a> Places<'a> {
    /// As [`Document::position`].
    pub fn position(&mut self, offset: usize) -> Position {
        let Document { rope, .. } = self.document;
        let offset = offset.min(rope.len_bytes());
        if let Some(position) = self.in_a_piece(offset) {
            return position;
        }
        let line = rope.byte_to_line(offset);
        let content = self.document.line(line);
        let (start, at) = (
            rope.byte_to_char(content.start),
            rope.byte_to_char(offset.min(content.end)),
        );
        let character = match self.encoding {
            Encoding::Utf8 => rope.char_to_byte(at) - content.start,
            Encoding::Utf16 => rope.char_to_utf16_cu(at) - rope.char_to_utf16_cu(start),
            Encoding::Utf32 => at - start,
        };
        Position {
            line: line as u32,
            character: character as u32,
        }
    }

    pub fn range(&mut self, range: &std::ops::Range<usize>) -> Range {
        let start = self.position(range.start);
        let end = match self.inside_a_line(range) {
            Some(inside) => Position {
                line: start.line,
                character: start.character + units(inside, self.encoding) as u32,
            },
            None => self.position(range.end),
        };
        Range { start, end }
    }

    /// The piece of the rope that holds a byte.
    fn piece(&mut self, at: usize) -> Piece<'a> {
        let Piece { text, start, .. } = self.piece;
        if !(start..start + text.len()).contains(&at) {
            let (text, start, _, first_line) = self.document.rope.chunk_at_byte(at);
            self.piece = Piece {
                text,
                start,
                first_line,
                begins_a_line: start == 0,
            };
        }
        self.piece
    }

    /// Counted in the piece that holds the offset; `None` where the line begins in an earlier one, or the offset lies
    /// inside a character or a line end.
    fn in_a_piece(&mut self, offset: usize) -> Option<Position> {
        let piece = self.piece(offset);
        let (before, behind) = piece.text.split_at_checked(offset - piece.start)?;
        if before.ends_with('\r') && behind.starts_with('\n') {
            return None;
        }
        let line_start = match memchr::memrchr2(b'\n', b'\r', before.as_bytes()) {
            Some(end) => end + 1,
            None if piece.begins_a_line => 0,
            None => return None,
        };
        let (above, before) = before.split_at_checked(line_start)?;
        let mut line = piece.first_line + memchr::memchr_iter(b'\n', above.as_bytes()).count();
        if self.document.lone_returns > 0 {
            line += lone_returns(above.as_bytes(), false);
        }
        self.piece = Piece {
            text: piece.text.get(line_start..)?,
            start: piece.start + line_start,
            first_line: line,
            begins_a_line: true,
        };
        Some(Position {
            line: line as u32,
            character: units(before, self.encoding) as u32,
        })
    }

    /// The text of a range, where it lies in one piece and in one line.
    fn inside_a_line(&mut self, range: &std::ops::Range<usize>) -> Option<&'a str> {
        if range.start > self.document.len() {
            return None;
        }
        let piece = self.piece(range.start);
        let inside = range.start - piece.start..range.end.checked_sub(piece.start)?;
        let inside = piece.text.get(inside)?;
        memchr::memchr2(b'\n', b'\r', inside.as_bytes())
            .is_none()
            .then_some(inside)
    }
}

/// How long a text is in `Position::character`'s units.
fn units(text: &str, encoding: Encoding) -> usize {
    match encoding {
        Encoding::Utf8 => text.len(),
        _ if text.is_ascii() => text.len(),
        Encoding::Utf16 => text.encode_utf16().count(),
        Encoding::Utf32 => text.chars().count(),
    }
}

/// Carriage returns without a line feed behind them; `followed`: a line feed stands behind the last byte.
fn lone_returns(bytes: &[u8], followed: bool) -> usize {
    memchr::memchr_iter(b'\r', bytes)
        .filter(|at| match bytes.get(at + 1) {
            Some(next) => *next != b'\n',
            None => !followed,
        })
        .count()
}

/// `text` with `edits` applied. An edit that does not fit (it overlaps the one before it, or lies
/// outside the text or inside a character) is left out.
pub fn apply_edits(text: &str, edits: &[Edit]) -> String {
    let grown: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut out = String::with_capacity(text.len() + grown);
    let mut at = 0;
    for edit in edits {
        if edit.range.start > edit.range.end || !text.is_char_boundary(edit.range.end) {
            continue;
        }
        let Some(kept) = text.get(at..edit.range.start) else {
            continue;
        };
        out.push_str(kept);
        out.push_str(&edit.text);
        at = edit.range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Two lower-case hex digits a byte.
pub fn hex<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> String {
    let digits = bytes.into_iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}

/// Equal but for `\r\n` in one and `\n` in the other.
pub fn same_lines(a: &str, b: &str) -> bool {
    a == b || a.replace("\r\n", "\n") == b.replace("\r\n", "\n")
}

/// Whether an editor may show a file of these bytes so: it leaves out a byte-order mark and may give all lines one end.
pub fn may_show(disk: &[u8], shown: &[u8]) -> bool {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    fn plain(bytes: &[u8]) -> impl Iterator<Item = &u8> {
        bytes.iter().filter(|byte| **byte != b'\r')
    }
    let disk = disk.strip_prefix(MARK).unwrap_or(disk);
    let shown = shown.strip_prefix(MARK).unwrap_or(shown);
    disk == shown || plain(disk).eq(plain(shown))
}

#[cfg(test)]
mod tests;
