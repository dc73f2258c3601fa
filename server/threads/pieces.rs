//! The threads of an open text, kept in pieces, cut where nothing is open and no thread goes on: a change has the pieces
//! read anew that it touches, and the others are only told where they are now.
//!
//! A text that is too large to be parsed is read by its delimiters, each piece by itself, and no whole text is made. Of
//! others the tree tells the comments.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::lines::{line_end, line_start, next_line, previous_end};
use super::{NearMiss, Thread, header, identity, marker, near, scan};
use crate::comments::{BACK, Change, Language, Syntax, Uncut};
use crate::text::{Document, Splice};

/// Bytes of a piece that is read by itself; few in tests, whose texts are short.
const PIECE: usize = if cfg!(test) { 64 } else { 64 << 10 };
/// Bytes of a piece whose comments a tree tells.
const OF_TREE: usize = if cfg!(test) { 16 } else { 4 << 10 };

/// What stands in a text, piece by piece: the same as [`super::find`] and [`super::near_misses`] tell of the whole.
#[derive(Clone, Debug)]
pub struct Pieces {
    by: Told,
    pieces: Vec<Arc<Piece>>,
}

/// What tells where comments are.
#[derive(Clone, Copy, Debug)]
enum Told {
    Delimiters(Option<&'static Language>),
    Tree,
}

/// The same, with the text.
#[derive(Clone, Copy)]
enum By<'a> {
    Delimiters(&'a Document, Option<&'static Language>),
    Tree(&'a str, &'a Syntax),
}

/// Bytes and lines are counted from where the piece begins.
#[derive(Debug)]
struct Piece {
    bytes: usize,
    threads: Vec<Thread>,
    /// What stands for the first words of each in the file of this path.
    words: OnceLock<(String, Vec<u32>)>,
    near: Vec<NearMiss>,
}

impl Pieces {
    /// `None`: the text cannot be read in pieces (see [`Uncut::Never`]). Only for texts that are read by the
    /// delimiters alone (see [`crate::comments::in_pieces`]).
    pub fn read(document: &Document, language: Option<&'static Language>) -> Option<Self> {
        let by = By::Delimiters(document, language);
        Some(Self {
            by: Told::Delimiters(language),
            pieces: by.read(0, document.len())?,
        })
    }

    /// `None`: not all of the comments that are asked about are told by the tree.
    pub fn of_tree(text: &str, syntax: &Syntax) -> Option<Self> {
        if !syntax.is_told_by_its_tree() {
            return None;
        }
        let pieces = By::Tree(text, syntax).read(0, text.len())?;
        // Which it is, the questions have shown.
        syntax.is_told_by_its_tree().then_some(Self {
            by: Told::Tree,
            pieces,
        })
    }

    /// The pieces of the changed text, which is read by the delimiters; `false`: they can be followed no more. `splices`
    /// in the order they were applied; `document` is what they left.
    pub fn update(&mut self, splices: &[Splice], document: &Document) -> bool {
        let Told::Delimiters(language) = self.by else {
            return false;
        };
        let change = Change::of(splices);
        change.is_none_or(|change| self.renew(change, By::Delimiters(document, language)))
    }

    /// The same where the tree tells: `touched` is what [`Syntax::update`] told, which made `syntax` of these pieces'.
    pub fn follow(&mut self, touched: Option<Change>, text: &str, syntax: &Syntax) -> bool {
        let by_tree = matches!(self.by, Told::Tree);
        let Some(change) = touched.filter(|_| by_tree && syntax.is_told_by_its_tree()) else {
            return false;
        };
        self.renew(change, By::Tree(text, syntax)) && syntax.is_told_by_its_tree()
    }

    fn renew(&mut self, change: Change, by: By) -> bool {
        match self.renewed(change, by) {
            Some((old, new)) => {
                self.pieces.splice(old, new);
                true
            }
            None => false,
        }
    }

    /// Which pieces are to be replaced by which.
    fn renewed(&self, change: Change, by: By) -> Option<(Range<usize>, Vec<Arc<Piece>>)> {
        let moved = |old: usize| (old + change.new_end).saturating_sub(change.old_end);
        let bytes = |at: usize| self.pieces.get(at).map_or(0, |piece| piece.bytes);
        // What is put directly behind a piece may belong to its last line end.
        let (mut first, mut at) = (0, 0);
        while first + 1 < self.pieces.len() && at + bytes(first) < change.start {
            at += bytes(first);
            first += 1;
        }
        // The pieces from `next` on are as they were: nothing that they look back at has changed.
        let (mut next, mut end) = (first, at);
        while next < self.pieces.len() && end <= change.old_end + by.back() {
            end += bytes(next);
            next += 1;
        }
        let mut made = Vec::new();
        loop {
            let goal = if next == self.pieces.len() {
                by.len()
            } else {
                moved(end)
            };
            if at < goal {
                let new = by.read(at, goal)?;
                at += new.iter().map(|piece| piece.bytes).sum::<usize>();
                made.extend(new);
            }
            if at == goal {
                return Some((first..next, made));
            }
            end += bytes(next);
            next += 1;
        }
    }

    /// The threads of the text, in order. `path` is relative to the workspace root, with `/`.
    pub fn threads(&self, path: &str, document: &Document) -> Vec<Thread> {
        let mut threads = Vec::new();
        let mut numbers = identity::Numbers::default();
        let mut at = 0;
        for piece in &self.pieces {
            if !piece.threads.is_empty() {
                let line = document.line_of(at);
                let words = piece.words(path);
                threads.extend(
                    piece
                        .threads
                        .iter()
                        .zip(&*words)
                        .map(|(thread, words)| Thread {
                            id: numbers.next(*words),
                            ..moved(thread, at, line)
                        }),
                );
            }
            at += piece.bytes;
        }
        threads
    }

    /// How many threads at the beginning and at the end stand where they stood in `other`, an earlier text of as many
    /// lines (`same_lines`) or not: all that was read of them is the same, but for their bytes in the text and their ids.
    pub fn alike(&self, other: &Self, same_lines: bool) -> (usize, usize) {
        let same = |(one, other): (&Arc<Piece>, &Arc<Piece>)| {
            Arc::ptr_eq(one, other).then_some(one.threads.len())
        };
        let pairs = self.pieces.iter().zip(&other.pieces);
        let begin: Vec<usize> = pairs.map_while(same).collect();
        let left = match same_lines {
            true => self.pieces.len().min(other.pieces.len()) - begin.len(),
            false => 0,
        };
        let pairs = self.pieces.iter().rev().zip(other.pieces.iter().rev());
        let end = pairs.take(left).map_while(same).sum();
        (begin.into_iter().sum(), end)
    }

    /// The near misses of the text, in order.
    pub fn near_misses(&self) -> Vec<NearMiss> {
        let mut found = Vec::new();
        let mut at = 0;
        for piece in &self.pieces {
            found.extend(piece.near.iter().map(|near| NearMiss {
                range: near.range.start + at..near.range.end + at,
                ..near.clone()
            }));
            at += piece.bytes;
        }
        found
    }
}

impl Piece {
    /// Made once, for each key asks for the ids of all threads; a file may get another path.
    fn words(&self, path: &str) -> Cow<'_, [u32]> {
        let made = || {
            let threads = self.threads.iter();
            threads
                .map(|thread| identity::first_words(path, thread))
                .collect()
        };
        let (known, words) = self.words.get_or_init(|| (path.to_owned(), made()));
        match known == path {
            true => words.into(),
            false => made().into(),
        }
    }
}

impl By<'_> {
    fn len(self) -> usize {
        match self {
            Self::Delimiters(document, _) => document.len(),
            Self::Tree(text, _) => text.len(),
        }
    }

    /// Bytes before a piece that its reading may look back at, without being told that they changed.
    fn back(self) -> usize {
        match self {
            Self::Delimiters(..) => BACK,
            Self::Tree(..) => 0,
        }
    }

    /// The pieces from byte `at` on, up to a cut at `end` or behind it.
    fn read(self, mut at: usize, end: usize) -> Option<Vec<Arc<Piece>>> {
        let size = match self {
            Self::Delimiters(..) => PIECE,
            Self::Tree(..) => OF_TREE,
        };
        let mut pieces = Vec::new();
        while at < end {
            let until = if end - at > 2 * size { at + size } else { end };
            let piece = match self {
                Self::Delimiters(document, language) => by_itself(document, language, at, until)?,
                Self::Tree(text, syntax) => of_tree(text, syntax, at, until),
            };
            at += piece.bytes;
            pieces.push(Arc::new(piece));
        }
        Some(pieces)
    }
}

/// The piece that begins at byte `at` and ends at the first cut from `until` on.
fn by_itself(
    document: &Document,
    language: Option<&'static Language>,
    at: usize,
    mut until: usize,
) -> Option<Piece> {
    let start = document.boundary(at.saturating_sub(BACK));
    let from = at - start;
    let mut ahead = PIECE;
    loop {
        let end = document.boundary(until.saturating_add(ahead));
        let whole = end == document.len();
        let window = document.part(start..end);
        let (syntax, cut) = match Syntax::piece(&window, language, from, until - start, whole) {
            Ok(piece) => piece,
            Err(Uncut::More) => {
                ahead = (end - start).saturating_mul(2);
                continue;
            }
            Err(Uncut::Never) => return None,
        };
        let text = window.get(..cut)?;
        // The header belongs to the first piece, all of it.
        let is_begun = || header::end_of_begun_header(text, &syntax) >= cut;
        if at == 0 && start + cut < document.len() && is_begun() {
            until = (start + cut).saturating_mul(2).min(document.len());
            continue;
        }
        return Some(piece(text, from..cut, &syntax));
    }
}

/// The same in the text that `syntax` is of.
fn of_tree(text: &str, syntax: &Syntax, at: usize, until: usize) -> Piece {
    let header = match at {
        0 => header::end_of_header(text, syntax) + 1,
        _ => 0,
    };
    piece(text, at..cut(text, syntax, until.max(header)), syntax)
}

/// The first place from byte `until` on where the text can be cut.
fn cut(text: &str, syntax: &Syntax, until: usize) -> usize {
    let mut line = line_start(text, until.min(text.len()));
    // Between a carriage return and its line feed no line begins.
    let end = text.as_bytes().get(line.saturating_sub(1)..);
    if line < until || end.is_some_and(|end| end.starts_with(b"\r\n")) {
        line = next_line(text, line_end(text, line)).unwrap_or(text.len());
    }
    while line < text.len() && !is_cut(text, syntax, line) {
        line = next_line(text, line_end(text, line)).unwrap_or(text.len());
    }
    line
}

/// Whether no comment goes on to the line that begins at byte `line`, and no thread or header from the line above: that
/// is blank, or begins with code and holds no marker.
fn is_cut(text: &str, syntax: &Syntax, line: usize) -> bool {
    let Some(end) = previous_end(text, line) else {
        return false;
    };
    let start = line_start(text, end);
    let Some(above) = text.get(start..end) else {
        return false;
    };
    let code = start + (above.len() - above.trim_start().len());
    let told = |at| syntax.told_by_tree(text, at);
    let is_apart =
        code >= end || (told(code) == Some(None) && marker::spelled(text, start..end).is_empty());
    is_apart && told(line).is_some_and(|comment| comment.is_none_or(|it| it.range.start >= line))
}

/// What stands in a part of `text`.
fn piece(text: &str, part: Range<usize>, syntax: &Syntax) -> Piece {
    let from = part.start;
    let back = |range: &Range<usize>| range.start - from..range.end - from;
    let threads = scan::scan_part(text, part.clone(), syntax, &mut |_, _| {});
    let threads = threads.into_iter().map(|found| {
        let mut thread = found.thread;
        for message in &mut thread.messages {
            message.marker = back(&message.marker);
            message.range = back(&message.range);
        }
        thread
    });
    let near = near::near_misses_in(text, part.clone(), syntax).into_iter();
    Piece {
        bytes: part.len(),
        threads: threads.collect(),
        words: OnceLock::new(),
        near: near
            .map(|near| NearMiss {
                range: back(&near.range),
                ..near
            })
            .collect(),
    }
}

/// A thread of a piece that begins at byte `at`, in line `line`.
fn moved(thread: &Thread, at: usize, line: usize) -> Thread {
    let mut thread = thread.clone();
    for message in &mut thread.messages {
        message.line += line;
        message.last_line += line;
        message.marker = message.marker.start + at..message.marker.end + at;
        message.range = message.range.start + at..message.range.end + at;
    }
    thread
}

#[cfg(test)]
mod tests;
