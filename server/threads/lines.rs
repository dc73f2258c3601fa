//! Lines of a text by byte offsets. A line ends at `\n`, `\r\n` or `\r`, as in LSP.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2, memrchr2};

use crate::comments::Syntax;

/// Where the line that holds byte `at` begins.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    memrchr2(b'\n', b'\r', before).map_or(0, |end| end + 1)
}

/// Where the line that holds byte `at` ends, without its line end.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    memchr2(b'\n', b'\r', rest).map_or(text.len(), |end| at + end)
}

/// Where the line behind the one that ends at `end` begins; `None` for the last line.
pub(crate) fn next_line(text: &str, end: usize) -> Option<usize> {
    match text.as_bytes().get(end..)? {
        [b'\r', b'\n', ..] => Some(end + 2),
        [b'\r' | b'\n', ..] => Some(end + 1),
        _ => None,
    }
}

/// The line end before byte `start`, a line's first: where the line above ends.
pub(crate) fn previous_end(text: &str, start: usize) -> Option<usize> {
    match text.as_bytes().get(..start)? {
        [.., b'\r', b'\n'] => Some(start - 2),
        [.., b'\r' | b'\n'] => Some(start - 1),
        _ => None,
    }
}

/// The first byte of a line that begins at `start` without a byte-order mark.
pub(crate) fn behind_mark(text: &str, start: usize) -> usize {
    if start == 0 && text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        start
    }
}

/// The same without the marks of the quotations (CommonMark 0.31, section 5.1) in which what stands at byte `at` does.
pub(crate) fn behind_quotes(text: &str, start: usize, syntax: &Syntax, at: usize) -> usize {
    let mut first = behind_mark(text, start);
    let marked = |first: usize| {
        let mark = skip_blanks(text, first);
        (text.as_bytes().get(mark) == Some(&b'>')).then_some(mark)
    };
    // Few lines are to be asked about.
    let most = marked(first).map_or(0, |_| syntax.quotations(text, at));
    for _ in 0..most {
        let Some(mark) = marked(first) else {
            break;
        };
        // One blank behind it is part of the mark.
        first = mark + 1 + usize::from(text.as_bytes().get(mark + 1) == Some(&b' '));
    }
    first
}

/// The end of the blanks (spaces and tabs) that begin at `at`.
pub(crate) fn skip_blanks(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    at + rest
        .iter()
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count()
}

/// The line end used around byte `at`: that of its own line, else that of the line above, else `\n`.
pub(crate) fn line_end_near(text: &str, at: usize) -> &str {
    let end = line_end(text, at);
    if let Some(next) = next_line(text, end) {
        return text.get(end..next).unwrap_or("\n");
    }
    let start = line_start(text, at);
    previous_end(text, start)
        .and_then(|end| text.get(end..start))
        .unwrap_or("\n")
}

/// The 0-based line that holds byte `at`.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    Counter::new(text).line(line_start(text, at))
}

/// Counts lines going forward through a text, each byte once.
pub(crate) struct Counter<'a> {
    text: &'a str,
    returns: bool,
    at: usize,
    line: usize,
}

impl<'a> Counter<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self::of_part(text, 0..text.len())
    }

    /// Counts from the first line of a part.
    pub(crate) fn of_part(text: &'a str, part: Range<usize>) -> Self {
        let at = part.start;
        let bytes = text.as_bytes().get(part).unwrap_or_default();
        Self {
            text,
            returns: memchr(b'\r', bytes).is_some(),
            at,
            line: 0,
        }
    }

    /// The 0-based line that begins at `start`, not before the one asked for last.
    pub(crate) fn line(&mut self, start: usize) -> usize {
        let Some(part) = self.text.as_bytes().get(self.at..start) else {
            return self.line;
        };
        let feeds = memchr_iter(b'\n', part).count();
        // `start` is a line's first byte, so no `\r\n` is cut by it.
        let lone = if self.returns {
            memchr_iter(b'\r', part)
                .filter(|at| part.get(at + 1) != Some(&b'\n'))
                .count()
        } else {
            0
        };
        self.line += feeds + lone;
        self.at = start;
        self.line
    }
}
