//! The lines below a line of a thread: what continues a message, the next line comment of a run, and what a backslash
//! has be part of a comment.

use std::ops::Range;

use super::lines::{behind_quotes, line_end, next_line, previous_end, skip_blanks};
use super::marker;
use super::scan::{Lead, Row, row, trimmed, width};
use crate::comments::{Comment, Language, Syntax};

/// The lines below one in which its line comment goes on.
#[derive(Clone, Copy)]
pub(crate) struct Beyond {
    /// Bytes: where the last of them ends.
    pub end: usize,
    pub lines: usize,
}

/// Whether a backslash at the end of a line has the next one be part of its line comment (C: ISO 9899, 5.1.1.2).
fn continues(text: &str, line: Range<usize>, language: Option<&Language>) -> bool {
    // Two of them are one that is meant.
    let is_paired = match language.map_or("", |language| language.name) {
        "c" | "cpp" | "objective-c" | "glsl" | "devicetree" => false,
        "tcl" | "makefile" => true,
        _ => return false,
    };
    let line = text.get(line).unwrap_or_default();
    // A C compiler passes over blanks behind it. A recipe is the shell's.
    let line = match is_paired {
        true if line.starts_with('\t') => "",
        true => line,
        false => line.trim_end_matches([' ', '\t']),
    };
    let backslashes = line.len() - line.trim_end_matches('\\').len();
    backslashes > 0 && !(is_paired && backslashes % 2 == 0)
}

/// Whether the line comment of `row` goes on in the line below. Looks at its line alone.
pub(crate) fn is_continued(text: &str, row: &Row, language: Option<&Language>) -> bool {
    !row.comment.block
        && continues(text, row.span.clone(), language)
        && next_line(text, row.span.end).is_some()
}

/// Where the line comment of `row` goes on.
pub(crate) fn goes_on(text: &str, row: &Row, language: Option<&Language>) -> Option<Beyond> {
    if row.comment.block {
        return None;
    }
    let (mut start, mut end, mut lines) = (row.span.start, row.span.end, 0);
    while continues(text, start..end, language)
        && let Some(next) = next_line(text, end)
    {
        (start, end, lines) = (next, line_end(text, next), lines + 1);
    }
    (lines > 0).then_some(Beyond { end, lines })
}

/// The line comment at byte `at` (a marker's place), known from the one on a line of its own directly
/// above: with the same indent and leader, and nothing but blanks up to the marker, it is one too, in every
/// language. Saves two questions in three.
pub(super) fn like_above(text: &str, above: &Row, at: usize) -> Option<Comment> {
    let start = next_line(text, above.span.end)?;
    // What ends within its line (`// … ?>`) ends with the code around it: below is another text.
    if above.comment.block
        || above.before
        || above.after
        || above.lead != Lead::Open
        || start > at
        || previous_end(text, start) != Some(above.span.end)
    {
        return None;
    }
    let lead = text.get(above.span.start..above.leader.end)?;
    if !text.get(start..at)?.starts_with(lead) {
        return None;
    }
    // `--[[`, `#=` and `//-` begin as a line comment does, and are none.
    let between = text.get(start + lead.len()..at)?;
    if !between.bytes().all(|b| matches!(b, b' ' | b'\t')) {
        return None;
    }
    let line = start..line_end(text, at);
    // A line that ends so may be continued by the next (C, VB, batch files).
    if text
        .get(above.span.clone())?
        .trim_end()
        .ends_with(['\\', '^', '_', '/'])
    {
        return None;
    }
    // A deeper line may belong to the comment above it (Pug, Haml, Sass).
    let deeper = next_line(text, line.end).is_some_and(|next| {
        let indent = skip_blanks(text, next) - next;
        indent > above.comment.range.start - above.span.start
    });
    if deeper {
        return None;
    }
    // What ends the code around (`?>`, `%>`, `</script>`, `$$`, `}}`, `@endphp`) may end this one within its line.
    if text.get(at..line.end)?.contains(['>', '}', '$', '@']) {
        return None;
    }
    let first = start + (above.comment.range.start - above.span.start);
    Some(Comment {
        range: first..line.end,
        open: above.comment.open,
        close: 0,
        block: false,
    })
}

/// The lines below a marker's row that continue its message.
pub(super) fn continuations(text: &str, syntax: &Syntax, rows: &[Row]) -> Vec<Row> {
    let Some(head) = rows.first() else {
        return Vec::new();
    };
    let mut below: Vec<Row> = Vec::new();
    // Empty lines count once a continuation line follows.
    let mut sure = 0;
    let mut last = head.clone();
    while let Some(start) = next_line(text, last.span.end) {
        let Some(row) = line_below(text, syntax, head, &last, start) else {
            break;
        };
        if !row.text.is_empty() {
            sure = below.len() + 1;
        } else if !row.is_whole() && row.comment.range.end <= row.span.end {
            // The line of the closing delimiter.
            break;
        }
        last = row.clone();
        below.push(row);
    }
    below.truncate(sure);
    below
}

/// The line that begins at `start` if it is a continuation, or an empty comment line.
fn line_below(text: &str, syntax: &Syntax, head: &Row, last: &Row, start: usize) -> Option<Row> {
    let span = start..line_end(text, start);
    if last.comment.range.end > last.span.end {
        let plain = row(text, &last.comment, span.clone(), syntax)?;
        let is_empty = plain.text.is_empty();
        let as_leader = match (head.lead, plain.lead) {
            (Lead::Inner(_), Lead::Inner(_)) => same_leader(text, head, &plain),
            (Lead::Open, Lead::Inner(_)) => true,
            _ => false,
        };
        let as_bare = plain.lead == Lead::Bare && !matches!(head.lead, Lead::Inner(_));
        if is_empty && (as_leader || as_bare) && !plain.after {
            return Some(plain);
        }
        if as_leader && plain.indent >= head.indent + 2 {
            return no_marker(text, plain);
        }
        // Lines without a leader: by the column. What looks like a leader is their text.
        if matches!(head.lead, Lead::Inner(_)) {
            return None;
        }
        let column = if head.lead == Lead::Bare {
            head.indent
        } else {
            width(text.get(head.first..head.marker.start)?)
        };
        let bare = without_leader(text, plain)?;
        return if !bare.text.is_empty() && bare.indent >= column + 2 {
            no_marker(text, bare)
        } else {
            None
        };
    }
    // A comment of its own with the same leader.
    let open = text.get(head.comment.range.start..head.leader.end)?;
    let mut first = behind_quotes(text, start, syntax, head.comment.range.start);
    // A leader that has its column brings its blanks.
    if !open.starts_with([' ', '\t']) {
        first = skip_blanks(text, first);
    }
    if head.lead != Lead::Open || !text.get(first..span.end)?.starts_with(open) {
        return None;
    }
    if !head.comment.block {
        // Most lines below a message are another one: seen without asking where comments are.
        let rest = text.get(first + open.len()..span.end)?;
        let said = rest.trim_start();
        if !said.trim().is_empty() && width(&rest[..rest.len() - said.len()]) < head.indent + 2 {
            return None;
        }
    }
    let behind = first + open.len();
    let said = trimmed(text, behind..span.end).start;
    // `--[[` is none.
    let as_above = match said > behind || said == span.end {
        true => like_above(text, last, said),
        false => None,
    };
    let comment = as_above.or_else(|| syntax.comment_at(text, first))?;
    if comment.range.start != first
        || comment.block != head.comment.block
        || comment.range.end > span.end
    {
        return None;
    }
    let mut row = row(text, &comment, span, syntax)?;
    // Documentation leaders again: they are longer than the delimiter.
    if head.leader.len() > comment.open {
        row.leader.end = row.leader.start + head.leader.len();
        let end = row.text.end.max(row.leader.end);
        row.text = trimmed(text, row.leader.end..end);
        row.marker = row.text.start..row.text.start;
        row.indent = width(text.get(row.leader.end..row.text.start)?);
    }
    if row.leader.len() != head.leader.len() || row.after {
        return None;
    }
    if row.text.is_empty() {
        return Some(row);
    }
    if row.indent >= head.indent + 2 {
        no_marker(text, row)
    } else {
        None
    }
}

fn no_marker(text: &str, row: Row) -> Option<Row> {
    let is_marker = text
        .get(row.text.clone())
        .is_some_and(|text| marker::parse(text).is_some());
    (!is_marker).then_some(row)
}

fn same_leader(text: &str, a: &Row, b: &Row) -> bool {
    text.get(a.leader.clone()) == text.get(b.leader.clone())
}

/// The row with its leader taken for text.
fn without_leader(text: &str, mut row: Row) -> Option<Row> {
    if let Lead::Inner(_) = row.lead {
        let first = row.first;
        row.indent = width(text.get(first..row.leader.start)?);
        row.text = trimmed(text, row.leader.start..row.text.end.max(row.leader.end));
        row.marker = row.text.start..row.text.start;
        row.leader = first..first;
        row.lead = Lead::Bare;
    }
    Some(row)
}
