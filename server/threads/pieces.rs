//! The threads of a text that is too large to be read anew for each key. It is read in pieces, cut where a reader has
//! nothing open and no thread goes on; a change has the pieces read anew that it touches, and no whole text is made.

use std::ops::Range;
use std::sync::Arc;

use super::lines::Counter;
use super::{NearMiss, Thread, header, identity, near, scan};
use crate::comments::{BACK, Change, Language, Syntax, Uncut};
use crate::text::{Document, Splice};

/// Bytes of a piece; few in tests, whose texts are short.
const PIECE: usize = if cfg!(test) { 64 } else { 64 << 10 };

/// What stands in a text, piece by piece: the same as [`super::find`] and [`super::near_misses`] tell of the whole.
#[derive(Clone, Debug)]
pub struct Pieces {
    language: Option<&'static Language>,
    pieces: Vec<Arc<Piece>>,
}

/// Bytes and lines are counted from where the piece begins.
#[derive(Debug)]
struct Piece {
    bytes: usize,
    threads: Vec<Thread>,
    near: Vec<NearMiss>,
}

impl Pieces {
    /// `None`: the text cannot be read in pieces (see [`Uncut::Never`]). Only for texts that are read by the
    /// delimiters alone (see [`crate::comments::in_pieces`]).
    pub fn read(document: &Document, language: Option<&'static Language>) -> Option<Self> {
        let pieces = read(document, language, 0, document.len())?;
        Some(Self { language, pieces })
    }

    /// The pieces of the changed text; `false`: it cannot be read in pieces any more. `splices` in the order they
    /// were applied; `document` is what they left.
    pub fn update(&mut self, splices: &[Splice], document: &Document) -> bool {
        let Some(change) = Change::of(splices) else {
            return true;
        };
        match self.renewed(change, document) {
            Some((old, new)) => {
                self.pieces.splice(old, new);
                true
            }
            None => false,
        }
    }

    /// Which pieces are to be replaced by which.
    fn renewed(
        &self,
        change: Change,
        document: &Document,
    ) -> Option<(Range<usize>, Vec<Arc<Piece>>)> {
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
        while next < self.pieces.len() && end <= change.old_end + BACK {
            end += bytes(next);
            next += 1;
        }
        let mut made = Vec::new();
        loop {
            let goal = if next == self.pieces.len() {
                document.len()
            } else {
                moved(end)
            };
            if at < goal {
                let new = read(document, self.language, at, goal)?;
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
        let mut at = 0;
        for piece in &self.pieces {
            if !piece.threads.is_empty() {
                let line = document.line_of(at);
                threads.extend(piece.threads.iter().map(|thread| moved(thread, at, line)));
            }
            at += piece.bytes;
        }
        let ids = identity::ids(path, threads.iter());
        for (thread, id) in threads.iter_mut().zip(ids) {
            thread.id = id;
        }
        threads
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

/// The pieces from byte `at` on, up to a cut at `end` or behind it.
fn read(
    document: &Document,
    language: Option<&'static Language>,
    mut at: usize,
    end: usize,
) -> Option<Vec<Arc<Piece>>> {
    let mut pieces = Vec::new();
    while at < end {
        let until = if end - at > 2 * PIECE {
            at + PIECE
        } else {
            end
        };
        let piece = piece(document, language, at, until)?;
        at += piece.bytes;
        pieces.push(Arc::new(piece));
    }
    Some(pieces)
}

/// The piece that begins at byte `at` and ends at the first cut from `until` on.
fn piece(
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
        if at == 0 && start + cut < document.len() && header::end_of_header(text, &syntax) >= cut {
            until = (start + cut).saturating_mul(2).min(document.len());
            continue;
        }
        let line = Counter::new(text).line(from);
        let back = |range: &Range<usize>| range.start - from..range.end - from;
        let threads = scan::scan("", text, &syntax).into_iter().map(|found| {
            let mut thread = found.thread;
            for message in &mut thread.messages {
                message.line -= line;
                message.last_line -= line;
                message.marker = back(&message.marker);
                message.range = back(&message.range);
            }
            thread
        });
        return Some(Piece {
            bytes: cut - from,
            threads: threads.collect(),
            near: near::near_misses(text, &syntax)
                .into_iter()
                .map(|near| NearMiss {
                    range: back(&near.range),
                    ..near
                })
                .collect(),
        });
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
