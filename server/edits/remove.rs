//! Taking threads out of a text.

use std::ops::Range;

use super::place::{is_documented, is_gap, is_tex, line_apart, mark_apart};
use super::verify::{After, after, conversation};
use super::{Refused, Source, Written, merged, notebook};
use crate::text::{Edit, apply_edits};
use crate::threads::below::is_continued;
use crate::threads::lines::{
    behind_mark, behind_quotes, line_end, line_start, next_line, previous_end,
};
use crate::threads::scan::{Found, Lead, Row, scan};
use crate::threads::{Role, Thread};

/// Removes the lines of one thread; a block comment that held nothing else goes with it.
pub fn dismiss(source: Source, id: &str) -> Result<Written, Refused> {
    if source.syntax.notebook(source.text).is_some() {
        return notebook::dismiss(source, id);
    }
    let found = scan(source.path, source.text, source.syntax);
    let at = found
        .iter()
        .position(|found| found.thread.id == id)
        .ok_or(Refused::Gone)?;
    let (gone, kept): (Vec<_>, Vec<_>) = found.into_iter().enumerate().partition(|(i, _)| *i == at);
    remove(source, gone, kept)
}

/// The text without the thread that stands behind the code of `line` (0-based), where one does; the line keeps its number.
/// So git knows the line, if nobody has committed the thread.
pub fn without_trailing(source: Source, threads: &[Thread], line: usize) -> Option<String> {
    let behind = |thread: &&Thread| thread.trailing && thread.first_line() == line;
    let thread = threads.iter().find(behind)?;
    let written = dismiss(source, &thread.id).ok()?;
    Some(apply_edits(source.text, &written.edits))
}

/// Removes every thread of the file.
pub fn clear(source: Source) -> Result<Written, Refused> {
    if source.syntax.notebook(source.text).is_some() {
        return notebook::clear(source);
    }
    let found = scan(source.path, source.text, source.syntax);
    if found.is_empty() {
        return Err(Refused::NoThreads);
    }
    remove(source, found.into_iter().enumerate().collect(), Vec::new())
}

fn remove(
    source: Source,
    gone: Vec<(usize, Found)>,
    kept: Vec<(usize, Found)>,
) -> Result<Written, Refused> {
    let rows: Vec<&Row> = gone.iter().flat_map(|(_, found)| &found.rows).collect();
    let lines_removed = rows.len();
    let written = |edits| Written {
        lines_removed,
        ..Written::of(edits)
    };
    let plan = removal(source, &rows);
    let edits = merged(source.text, plan.clone());
    let stays = |After { found, .. }: &After| {
        found.len() == kept.len()
            && found
                .iter()
                .zip(&kept)
                .all(|(after, (_, before))| conversation(after) == conversation(before))
    };
    // A message may open or close a comment inside its own.
    let breaks = |after: &After| {
        source.syntax.errors(source.text) == 0 && after.syntax.errors(&after.text) > 0
    };
    let between = separators(source, &gone, &kept);
    if !between.is_empty() {
        let edits = merged(source.text, plan.into_iter().chain(between).collect());
        let after = after(source, &edits);
        if stays(&after) && !breaks(&after) {
            return Ok(written(edits));
        }
    }
    let plain = after(source, &edits);
    if stays(&plain) && !breaks(&plain) {
        return Ok(written(edits));
    }
    // What is left would read as another thread (two that touch, a line that now continues one): keep
    // an empty line in its place.
    let near = rows.first().map_or(0, |row| row.span.start);
    let line_end = crate::threads::lines::line_end_near(source.text, near);
    let mut apart = edits.clone();
    if let Some(first) = apart.first_mut() {
        let at = first.range.end;
        first.text.push_str(&line_apart(source, at, line_end));
    }
    let spaced = after(source, &apart);
    if stays(&spaced) && !breaks(&spaced) {
        Ok(written(apart))
    } else if breaks(&plain) {
        Err(Refused::Breaks)
    } else {
        Ok(written(edits))
    }
}

/// The empty lines that go with these threads: those that kept them apart from each other or from the ones that stay,
/// where without the threads there would be two of them in a row, or one would be the first or the last line of the text.
/// One of the author's goes, too, where it stood there: nothing tells it from one that kept threads apart. In Go the one
/// goes as well that kept the last of them from being documentation.
fn separators(source: Source, gone: &[(usize, Found)], kept: &[(usize, Found)]) -> Vec<Edit> {
    let text = source.text;
    let mut all: Vec<(usize, &Found, bool)> = Vec::with_capacity(gone.len() + kept.len());
    all.extend(gone.iter().map(|(at, found)| (*at, found, true)));
    all.extend(kept.iter().map(|(at, found)| (*at, found, false)));
    all.sort_by_key(|(at, ..)| *at);
    // The empty comment that stands for an empty line.
    let mark = mark_apart(source);
    let is_mark = |line: &Range<usize>| mark.is_some() && text.get(line.clone()) == mark;
    let mut edits = Vec::new();
    let mut rows = all.iter().peekable();
    while let Some((_, found, is_gone)) = rows.next() {
        let Some(first) = own_lines(source, found) else {
            continue;
        };
        let (mut end, mut run) = (first.end, vec![*is_gone]);
        let mut last = *found;
        let mut between = Vec::new();
        while let Some((_, next, is_gone)) = rows.peek()
            && let Some(empty) = next_line(text, end)
            && let Some(lines) = own_lines(source, next)
            && let line = (empty..line_end(text, empty))
            && (line.is_empty() || is_mark(&line))
            && next_line(text, line.end) == Some(lines.start)
        {
            between.push(line);
            run.push(*is_gone);
            (end, last) = (lines.end, next);
            rows.next();
        }
        let is_empty = |start: usize| line_end(text, start) == behind_mark(text, start);
        let ends_above =
            previous_end(text, first.start).is_none_or(|end| is_empty(line_start(text, end)));
        let is_between = ends_above || next_line(text, end).is_none_or(is_empty);
        let above = previous_end(text, first.start).map(|end| line_start(text, end)..end);
        let above = above.and_then(|above| text.get(above)).unwrap_or_default();
        let of_agent = |found: &Found| found.thread.messages.iter().any(|m| m.role == Role::Agent);
        if run.iter().all(|is_gone| *is_gone)
            && let Some(gap) = next_line(text, end)
            && gap == line_end(text, gap)
            && let Some(below) = next_line(text, gap)
            && is_documented(source, below)
            && (ends_above || is_gap(source, above, below, of_agent(last)))
        {
            edits.push(lines(text, gap..gap));
        }
        // Each takes the one below it; those at the end the one above them.
        let stay = run.iter().rposition(|is_gone| !is_gone);
        for (at, line) in between.into_iter().enumerate() {
            let takes = if Some(at) == stay {
                run.last()
            } else {
                run.get(at)
            };
            if takes == Some(&true) && (is_between || is_mark(&line)) {
                edits.push(lines(text, line));
            }
        }
    }
    edits
}

/// The lines of a thread that shares none with code.
fn own_lines(source: Source, found: &Found) -> Option<Range<usize>> {
    let text = source.text;
    let (first, last) = (found.rows.first()?, found.rows.last()?);
    let (start, end) = (first.comment.range.start, last.comment.range.end);
    let lines = line_start(text, start)..line_end(text, end);
    let is_blank = |range| {
        text.get(range)
            .is_some_and(|part: &str| part.trim().is_empty())
    };
    let alone = is_blank(behind_mark(text, lines.start)..start) && is_blank(end..lines.end);
    let mut groups = found
        .rows
        .chunk_by(|a, b| a.comment.range == b.comment.range);
    let goes = groups.all(|rows| {
        let rows: Vec<&Row> = rows.iter().collect();
        rows.iter()
            .all(|row| row.is_whole() && !row.before && !row.after)
            || holds_nothing_else(text, &rows)
    });
    let language = source.syntax.language();
    let goes = goes
        && found
            .rows
            .iter()
            .all(|row| !is_continued(text, row, language));
    (alone && goes).then_some(lines)
}

/// The edits that take out these rows.
pub(super) fn removal(source: Source, rows: &[&Row]) -> Vec<Edit> {
    let text = source.text;
    let mut edits = Vec::new();
    let mut at = 0;
    while let Some(row) = rows.get(at) {
        // The rows of one comment are looked at together.
        let together = rows[at..]
            .iter()
            .take_while(|other| other.comment.range == row.comment.range)
            .count();
        let of_comment = &rows[at..at + together];
        at += together;
        if let Some((edit, passed)) = split_line(source, &rows[at - together..]) {
            edits.push(edit);
            at += passed - together;
            continue;
        }
        if row.comment.range.end - row.comment.range.start == 0 {
            continue;
        }
        if is_continued(text, row, source.syntax.language()) {
            edits.push(said_alone(text, row));
        } else if row.is_whole() {
            edits.push(if row.before || row.after {
                inline(source, &row.comment.range)
            } else {
                lines(text, row.span.clone())
            });
        } else if holds_nothing_else(text, of_comment) {
            let range =
                line_start(text, row.comment.range.start)..line_end(text, row.comment.range.end);
            let first = behind_quotes(text, range.start, source.syntax, row.comment.range.start);
            let alone = text
                .get(first..row.comment.range.start)
                .is_some_and(|part| part.trim().is_empty())
                && text
                    .get(row.comment.range.end..range.end)
                    .is_some_and(|part| part.trim().is_empty());
            edits.push(if alone {
                lines(text, range)
            } else {
                inline(source, &row.comment.range)
            });
        } else {
            edits.extend(of_comment.iter().map(|row| inside(text, row)));
        }
    }
    edits
}

/// The first of `rows` stands in the code of a page that begins and ended on its line, until an answer came between (see
/// `reply.rs`): the line is one again. Also tells how many of the rows it takes out.
fn split_line(source: Source, rows: &[&Row]) -> Option<(Edit, usize)> {
    let text = source.text;
    let (head, below) = rows.split_first()?;
    if !head.before || head.after || !head.is_whole() {
        return None;
    }
    let code = source
        .syntax
        .page_code_at(text, head.comment.range.start)
        .filter(|code| code.start >= head.span.start)?;
    let mut end = head.span.end;
    let mut taken = 0;
    for row in below {
        if !row.is_whole()
            || row.before
            || row.after
            || next_line(text, end) != Some(row.span.start)
        {
            break;
        }
        end = row.span.end;
        taken += 1;
    }
    let rest = next_line(text, end)?;
    // Its blank went with it: who ends code on a line of its own writes none before, or several.
    let is_ours = text
        .get(rest..)
        .and_then(|rest| rest.strip_prefix(' '))
        .is_some_and(|rest| !rest.starts_with([' ', '\t', '\n', '\r']));
    let ends_there = code.end <= line_end(text, rest);
    (taken > 0 && is_ours && ends_there)
        .then(|| (inline(source, &(head.comment.range.start..rest)), taken + 1))
}

/// Whether a block comment of several lines holds these rows and nothing but leaders besides.
pub(super) fn holds_nothing_else(text: &str, rows: &[&Row]) -> bool {
    let Some(comment) = rows.first().map(|row| &row.comment) else {
        return false;
    };
    let end = comment.range.end - comment.close;
    let mut start = comment.range.start + comment.open;
    loop {
        let stop = line_end(text, start).min(end);
        let is_row = rows
            .iter()
            .any(|row| row.span.start <= start && start <= row.span.end);
        let rest = text.get(start.min(stop)..stop).unwrap_or_default();
        if !is_row
            && !rest
                .trim()
                .trim_matches(['*', '-', '|', '#', '='])
                .trim()
                .is_empty()
        {
            return false;
        }
        match next_line(text, stop).filter(|next| *next < end) {
            Some(next) => start = next,
            None => return true,
        }
    }
}

/// Takes out a line of a block comment, but not the comment's delimiters.
fn inside(text: &str, row: &Row) -> Edit {
    let ends_here = row.comment.range.end <= row.span.end;
    let begins_here = row.lead == Lead::Open;
    let delete = |range| Edit {
        range,
        text: String::new(),
    };
    if begins_here {
        return delete(row.leader.end..row.text.end.max(row.marker.end));
    }
    if ends_here {
        // From the leader to the closing delimiter.
        let from = if row.leader.is_empty() {
            first_of(row)
        } else {
            row.leader.start
        };
        return delete(from..row.comment.range.end - row.comment.close);
    }
    lines(text, row.span.clone())
}

/// Takes the words out of a line that has the next one be part of its comment, which would be code without it.
fn said_alone(text: &str, row: &Row) -> Edit {
    let first = first_of(row);
    let said = text.get(first..row.span.end).unwrap_or_default();
    Edit {
        range: first..first + said.rfind('\\').unwrap_or(0),
        text: String::new(),
    }
}

fn first_of(row: &Row) -> usize {
    if row.marker.is_empty() {
        row.text.start
    } else {
        row.marker.start
    }
}

/// Takes out whole lines.
pub(super) fn lines(text: &str, span: Range<usize>) -> Edit {
    let start = behind_mark(text, span.start);
    let end = next_line(text, span.end).unwrap_or(span.end);
    Edit {
        range: start..end,
        text: String::new(),
    }
}

/// Takes a comment out of a line of code, with the blanks that parted it from the code.
pub(super) fn inline(source: Source, comment: &Range<usize>) -> Edit {
    let text = source.text;
    let line = behind_mark(text, line_start(text, comment.start))..line_end(text, comment.end);
    let left = text.get(line.start..comment.start).unwrap_or_default();
    let right = text.get(comment.end..line.end).unwrap_or_default();
    let is_blank = |c: char| c == ' ' || c == '\t';
    let left_blanks = left.len() - left.trim_end_matches(is_blank).len();
    let right_blanks = right.len() - right.trim_start_matches(is_blank).len();
    let (mut range, mut replacement) = (comment.clone(), "");
    let opens = left.ends_with(['(', '[', '{', '>']);
    let own = text.get(comment.clone()).unwrap_or_default();
    // Blanks beside it are part of the page.
    let is_markup = own.starts_with("<!--") || own.starts_with("{/*");
    if is_tex(source) && own.starts_with('%') && left_blanks == 0 && !left.is_empty() {
        // It keeps the line's end from being read as a blank.
        range = comment.start + 1..comment.end;
    } else if right.trim().is_empty() {
        // Blanks at the line's end behind a comment were the comment's.
        range = comment.start - left_blanks..line.end;
    } else if is_markup && left_blanks == 0 && !left.is_empty() {
        // It alone.
    } else if left_blanks > 0 || left.is_empty() {
        let closes = right_blanks == 0
            && right.starts_with([';', ',', ')', ']', '}', '>'])
            && !left.trim().is_empty();
        range = if closes {
            comment.start - left_blanks..comment.end
        } else {
            comment.start..comment.end + right_blanks
        };
    } else if opens {
        range = comment.start..comment.end + right_blanks;
    } else if right_blanks == 0
        && !left.ends_with([',', ';'])
        && !right.starts_with([')', ']', '}', ',', ';', '<'])
    {
        replacement = " ";
    }
    Edit {
        range,
        text: replacement.to_owned(),
    }
}
