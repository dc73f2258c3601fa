//! From marker candidates to threads: the comment of each candidate, its line, its continuations, runs.
//!
//! Only the lines around markers are looked at, and the comments of those asked for: a long text with
//! few threads costs one memory search.

use std::ops::Range;

use super::lines::{Counter, behind_quotes, line_end, line_start, skip_blanks};
use super::marker::{self, Marker};
use super::why::WhyNone;
use super::{Message, Role, Status, Thread, below, escape, header, identity, layout};
use crate::comments::{Comment, Language, Syntax};

/// How a line of a comment begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// With the comment's own opening delimiter.
    Open,
    /// Inside a block comment, with a leader of this many bytes (` * …`).
    Inner(usize),
    /// Inside a block comment, without a leader.
    Bare,
}

/// One line of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Bytes of the line, its end left out.
    pub span: Range<usize>,
    /// Where what it says begins: behind a byte-order mark, and in Markdown behind the marks of quotations.
    pub first: usize,
    pub comment: Comment,
    pub lead: Lead,
    /// Bytes from the leader's first character to its end; empty for [`Lead::Bare`].
    pub leader: Range<usize>,
    /// Bytes of the marker (empty, before the text, on a continuation line).
    pub marker: Range<usize>,
    /// Bytes of the line's text without blanks around it.
    pub text: Range<usize>,
    /// Code stands before the comment on this line.
    pub before: bool,
    /// Code stands behind the comment on this line.
    pub after: bool,
    /// Columns between the leader (for [`Lead::Bare`] the line's start) and the marker or text.
    pub indent: usize,
}

impl Row {
    /// The comment begins and ends on this line.
    pub(crate) fn is_whole(&self) -> bool {
        self.comment.range.start >= self.span.start && self.comment.range.end <= self.span.end
    }
}

/// A thread and its lines.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub thread: Thread,
    pub rows: Vec<Row>,
    /// For each message its rows.
    pub message_rows: Vec<Range<usize>>,
}

/// A message that belongs to no thread yet.
pub(super) struct Loose {
    pub message: Message,
    pub rows: Vec<Row>,
    /// Lines below in which its last line's comment goes on (see [`below::goes_on`]).
    pub beyond: usize,
}

impl Loose {
    fn starts_thread(&self) -> bool {
        self.rows
            .first()
            .is_some_and(|row| row.before || (row.after && row.is_whole()))
    }

    /// Whether it continues the run that `last` ends.
    fn follows(&self, last: &Loose) -> bool {
        if self.starts_thread() {
            return false;
        }
        let first = last.message.last_line + 1;
        let below = (first..=first + last.beyond).contains(&self.message.line);
        let beside = self.message.line == last.message.last_line
            && last.rows.last().is_some_and(|row| !row.before);
        below || beside
    }
}

/// The threads of a text, in order, with their lines.
pub(crate) fn scan(path: &str, text: &str, syntax: &Syntax) -> Vec<Found> {
    scan_told(path, text, syntax, &mut |_, _| {})
}

/// The same; tells of every marker that belongs to no thread where it is, and why.
pub(super) fn scan_told(
    path: &str,
    text: &str,
    syntax: &Syntax,
    none: &mut impl FnMut(usize, WhyNone),
) -> Vec<Found> {
    let mut found = scan_part(text, 0..text.len(), syntax, none);
    identity::number(path, &mut found);
    found
}

/// The threads, without ids, whose markers stand in a part of the text that begins a line and that no thread reaches
/// over; lines count from its first.
pub(super) fn scan_part(
    text: &str,
    part: Range<usize>,
    syntax: &Syntax,
    none: &mut impl FnMut(usize, WhyNone),
) -> Vec<Found> {
    let mut messages = messages(text, part, syntax, none);
    header::remove(text, syntax, &mut messages, Loose::follows, none);
    let mut runs: Vec<Vec<Loose>> = Vec::new();
    for message in messages {
        match runs.last_mut() {
            Some(run) if run.last().is_some_and(|last| message.follows(last)) => run.push(message),
            _ => runs.push(vec![message]),
        }
    }
    runs.into_iter().map(thread).collect()
}

fn thread(run: Vec<Loose>) -> Found {
    let trailing = run.first().is_some_and(Loose::starts_thread);
    let mut found = Found {
        thread: Thread {
            id: String::new(),
            messages: Vec::with_capacity(run.len()),
            status: Status::AwaitingUser,
            malformed: run
                .first()
                .is_some_and(|first| first.message.role == Role::Agent),
            trailing,
        },
        rows: Vec::with_capacity(run.len()),
        message_rows: Vec::with_capacity(run.len()),
    };
    for loose in run {
        let from = found.rows.len();
        found.rows.extend(loose.rows);
        found.message_rows.push(from..found.rows.len());
        found.thread.messages.push(loose.message);
    }
    if found
        .thread
        .messages
        .last()
        .is_some_and(|last| last.role == Role::Author && !last.text.is_empty())
    {
        found.thread.status = Status::Pending;
    }
    found
}

/// Every message of the part, headers' fields among them.
fn messages(
    text: &str,
    part: Range<usize>,
    syntax: &Syntax,
    none: &mut impl FnMut(usize, WhyNone),
) -> Vec<Loose> {
    let mut messages: Vec<Loose> = Vec::new();
    let mut counter = Counter::of_part(text, part.clone());
    let mut comment: Option<Comment> = None;
    // To the end of this line the comment is read: it may be a file, full of markers.
    let mut read = 0;
    // Where the last run of lines that go on ends (byte and line): each of them goes on to there.
    let mut run = (0, 0);
    for at in marker::candidates(text, part) {
        let Some(marker) = text.get(at..).and_then(marker::parse) else {
            continue;
        };
        if comment
            .as_ref()
            .is_none_or(|known| !known.range.contains(&at))
        {
            let above = messages.last().and_then(|above| above.rows.last());
            comment = above
                .and_then(|above| below::like_above(text, above, at))
                .or_else(|| syntax.comment_at(text, at));
            read = 0;
        }
        let Some(here) = &comment else {
            none(at, WhyNone::NoComment);
            continue;
        };
        if at < read {
            none(at, WhyNone::NotFirst);
            continue;
        }
        read = line_end(text, at);
        let Some(row) = marker_row(text, here, at, &marker, syntax) else {
            none(at, WhyNone::NotFirst);
            continue;
        };
        let mut rows = vec![row];
        let below = below::continuations(text, syntax, &rows);
        rows.extend(below);
        let line = counter.line(rows.first().map_or(0, |row| row.span.start));
        let name = marker
            .name
            .and_then(|name| text.get(at + name.start..at + name.end));
        let message = message(text, marker.role, name, line, &rows);
        let beyond = rows.last().map_or(0, |last| {
            if !last.comment.block && last.span.end < run.0 {
                return run.1 - message.last_line;
            }
            let found = below::goes_on(text, last, syntax.language());
            found.map_or(0, |found| {
                run = (found.end, message.last_line + found.lines);
                found.lines
            })
        });
        messages.push(Loose {
            message,
            rows,
            beyond,
        });
    }
    messages
}

fn message(text: &str, role: Role, name: Option<&str>, line: usize, rows: &[Row]) -> Message {
    let mut said = String::new();
    for (i, row) in rows.iter().enumerate() {
        if i > 0 {
            said.push('\n');
        }
        said.push_str(&escape::decode(
            text.get(row.text.clone()).unwrap_or_default(),
        ));
    }
    // A marker without text above its continuation adds no empty line.
    let empty = said.len() - said.trim_start_matches('\n').len();
    said.drain(..empty);
    let blanks = layout::of_message(text, rows, empty);
    let marker = rows.first().map_or(0..0, |row| row.marker.clone());
    let mut with_text = rows.iter().filter(|row| !row.text.is_empty());
    let range = match (with_text.next(), rows.last()) {
        (Some(first), Some(last)) => first.text.start..last.text.end.max(first.text.end),
        _ => marker.clone(),
    };
    Message {
        role,
        name: name.map(|name| name.trim().to_owned()),
        text: said,
        blanks,
        line,
        last_line: line + rows.len().saturating_sub(1),
        marker,
        range,
    }
}

/// The row of the marker at `at`, if only the leader and blanks stand before it in its comment.
fn marker_row(
    text: &str,
    comment: &Comment,
    at: usize,
    marker: &Marker,
    syntax: &Syntax,
) -> Option<Row> {
    let span = line_start(text, at)..line_end(text, at);
    let mut row = row(text, comment, span, syntax)?;
    if row.text.start != at && row.lead == Lead::Open {
        let rest = text.get(row.leader.end..at)?;
        let mark = documentation(text.get(row.leader.clone())?, rest, syntax.language());
        let blanks = rest.get(mark..)?;
        if mark == 0 || row.comment.open < 1 || !blanks.trim().is_empty() {
            return None;
        }
        row.leader.end += mark;
        row.indent = width(blanks);
        row.text.start = at;
    }
    if row.text.start != at || at + marker.len > row.text.end {
        return None;
    }
    row.marker = at..at + marker.len;
    row.text = trimmed(text, row.marker.end..row.text.end);
    Some(row)
}

/// Bytes of a documentation leader's last part at the start of `rest`, which stands behind `leader`: `//!`, `///<`,
/// `#'`, `!>` of Fortran, `*>` of COBOL, `#:` of Sphinx, `-- |` of Haskell.
pub(super) fn documentation(leader: &str, rest: &str, language: Option<&Language>) -> usize {
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let word = rest[blanks..].split([' ', '\t']).next().unwrap_or_default();
    // Elsewhere a bar behind a blank is the side of a table.
    let haddock = || language.is_some_and(|l| matches!(l.name, "haskell" | "purescript"));
    let counts = match word {
        "|" | "^" => blanks == 0 || haddock(),
        "!" | "<" | "!<" | "'" => blanks == 0,
        ">" => {
            blanks == 0
                && (leader.ends_with(['!', '%']) || matches!(leader.trim(), "*" | "C" | "c"))
        }
        ":" => blanks == 0 && leader.ends_with('#'),
        _ => false,
    };
    if counts { blanks + word.len() } else { 0 }
}

/// The part of `comment` that stands on the line `span`, all of it as text.
pub(super) fn row(
    text: &str,
    comment: &Comment,
    span: Range<usize>,
    syntax: &Syntax,
) -> Option<Row> {
    let begins_here = comment.range.start >= span.start;
    let ends_here = comment.range.end <= span.end;
    if !begins_here && !comment.block {
        return None;
    }
    let first = behind_quotes(text, span.start, syntax, comment.range.start);
    let (lead, leader) = if begins_here {
        (
            Lead::Open,
            comment.range.start..comment.range.start + comment.open,
        )
    } else {
        let start = skip_blanks(text, first);
        let length = inner_leader(text, comment, start..span.end);
        if length > 0 {
            (Lead::Inner(length), start..start + length)
        } else {
            (Lead::Bare, first..first)
        }
    };
    let end = if ends_here {
        comment.range.end - comment.close
    } else {
        span.end
    };
    let mut body = trimmed(text, leader.end..end.max(leader.end));
    let start = body.start;
    if ends_here && comment.close > 0 {
        body = without_closing_run(text, comment, body, end);
    }
    let before = begins_here && !blank(text, first..comment.range.start);
    let after = ends_here && !blank(text, comment.range.end..span.end);
    let indent = if lead == Lead::Bare {
        width(text.get(first..start)?)
    } else {
        width(text.get(leader.end..start)?)
    };
    Some(Row {
        span,
        first,
        comment: comment.clone(),
        lead,
        leader,
        marker: body.start..body.start,
        text: body,
        before,
        after,
        indent,
    })
}

/// `/** … **/`: the closing delimiter's first character may be repeated.
fn without_closing_run(
    text: &str,
    comment: &Comment,
    body: Range<usize>,
    close: usize,
) -> Range<usize> {
    let run = match text
        .get(close..comment.range.end)
        .and_then(|close| close.chars().next())
    {
        Some(c @ ('*' | '-' | '#' | '=')) if body.end == close => c,
        _ => return body,
    };
    let Some(inside) = text.get(body.clone()) else {
        return body;
    };
    body.start..body.start + inside.trim_end_matches(run).trim_end().len()
}

/// Bytes of the leader that the lines of a block comment share: `*` in `/* */` and `(* *)`, `-` in
/// `{- -}`, `|` in `#| |#`, `#` in `<# #>`.
fn inner_leader(text: &str, comment: &Comment, line: Range<usize>) -> usize {
    let open = text
        .get(comment.range.start..comment.range.start + comment.open)
        .unwrap_or_default();
    let of_block = if open.contains("/*") || open.starts_with("(*") {
        '*'
    } else if open.starts_with("{-") {
        '-'
    } else if open.starts_with("#|") {
        '|'
    } else if open.starts_with("<#") {
        '#'
    } else {
        return 0;
    };
    let end = line
        .end
        .min(comment.range.end - comment.close)
        .max(line.start);
    let inside = text.get(line.start..end).unwrap_or_default();
    let length = inside.len() - inside.trim_start_matches(of_block).len();
    // `**bold**` and `*/` are no leaders.
    match inside.get(length..).and_then(|rest| rest.chars().next()) {
        None | Some(' ' | '\t') => length,
        Some(_)
            if inside
                .get(length..)
                .is_some_and(|rest| marker::parse(rest).is_some()) =>
        {
            length
        }
        Some(_) => 0,
    }
}

/// Columns; a tab counts four, a character one.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

fn blank(text: &str, range: Range<usize>) -> bool {
    text.get(range).is_some_and(|part| part.trim().is_empty())
}

/// `range` without the blanks around it.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(part) = text.get(range.clone()) else {
        return range.start..range.start;
    };
    let inside = part.trim_start();
    let start = range.start + part.len() - inside.len();
    start..start + inside.trim_end().len()
}

/// For a byte inside a comment: the comment's text on that line (blanks around it left out), and where
/// it begins behind the leader.
pub(super) fn comment_text(
    text: &str,
    syntax: &Syntax,
    at: usize,
) -> Option<(Range<usize>, usize)> {
    let comment = syntax.comment_at(text, at)?;
    let span = line_start(text, at)..line_end(text, at);
    let row = row(text, &comment, span, syntax)?;
    let start = row.text.start;
    Some((row.text, start))
}

/// The line that begins at `start` inside a block comment, as a line of a thread would stand there.
pub(crate) fn plain_row(
    text: &str,
    comment: &Comment,
    start: usize,
    syntax: &Syntax,
) -> Option<Row> {
    let span = line_start(text, start)..line_end(text, start);
    row(text, comment, span, syntax)
}
