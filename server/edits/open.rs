//! A new thread.

use super::form::{Form, leader_of_unknown, margin, other_leader};
use super::place::{
    above_documentation, behind_blank, continues, far_word, first_allowed, is_documented,
    line_apart,
};
use super::verify::{after, breaks, holds};
use super::{Refused, Source, Style, Written, merged, notebook, said, words};
use crate::text::Edit;
use crate::threads::Role;
use crate::threads::lines::{
    behind_mark, line_end, line_end_near, line_start, next_line, previous_end,
};
use crate::threads::scan::{self, Found};

/// How many lines above (and below) the one asked for are tried where no comment can stand there (a string, a table).
const CLIMB: usize = 50;

/// Inserts `<leader> AUTHOR: <text>` above the 0-based `line`. Also tells the byte, in the text after,
/// where typing goes on. `text` may be empty. Where no comment can stand at that line, it goes above the
/// first line before it where one can; a thread that stands there keeps an empty line between.
pub fn new_thread(
    source: Source,
    line: usize,
    text: &str,
    style: Style,
) -> Result<(Written, usize), Refused> {
    if source.syntax.notebook(source.text).is_some() {
        return notebook::new_thread(source, line, text, style);
    }
    if !source.syntax.takes_comments(source.text) {
        return Err(Refused::NoComments);
    }
    if source.syntax.language().is_none() && leader_of_unknown(source).is_none() {
        return Err(Refused::NoLeader);
    }
    let said = said(text);
    let start = start_of(source.text, line)?;
    let all = scan::scan(source.path, source.text, source.syntax);
    let expected = [(Role::Author, None, words(&said))];
    let first = first_allowed(source);
    let asked = start_above_thread(&all, start).max(first);
    let asked = behind_blank(source, asked);
    let asked = above_documentation(source, asked).max(first);
    // What reads back, but is an error to the grammar.
    let mut broken = None;
    // Where no comment can stand at one place in it, none can at another.
    let mut token = 0..0;
    for at in places(source, first, asked) {
        if token.start < at && at < token.end {
            continue;
        }
        let mut is_barred = true;
        for leader in [1, 2] {
            for way in Way::all(leader, said.is_empty()) {
                let Some(Plan {
                    edit,
                    marker,
                    cursor,
                }) = plan(source, at, &said, style, way)
                else {
                    break;
                };
                let edits = merged(source.text, vec![edit]);
                let after = after(source, &edits);
                if !holds(&after, &all, None, &expected, None) {
                    let is_comment = after.syntax.comment_at(&after.text, marker).is_some();
                    // No comment can stand here, in whatever way it is written.
                    if way == Way::plain(leader) && !is_comment {
                        break;
                    }
                    is_barred = false;
                } else if breaks(source, &after) {
                    is_barred = false;
                    broken.get_or_insert((edits, cursor));
                } else {
                    return Ok((Written::of(edits), cursor));
                }
            }
        }
        if is_barred && let Some(found) = source.syntax.token_around(source.text, at) {
            token = found;
        }
    }
    if let Some((edits, cursor)) = broken {
        return Ok((Written::of(edits), cursor));
    }
    // An empty line among the fields of a header reads as one of them until something is asked.
    let plain = plan(source, asked, &said, style, Way::plain(1)).ok_or(Refused::Unreadable)?;
    let edits = merged(source.text, vec![plain.edit]);
    let reads_as_comment = || {
        let after = after(source, &edits);
        let comment = after.syntax.comment_at(&after.text, plain.marker);
        comment.is_some()
    };
    if said.is_empty() && reads_as_comment() {
        Ok((Written::of(edits), plain.cursor))
    } else {
        Err(Refused::Unreadable)
    }
}

/// The line asked for, those above it, nearest first, down to the `first` that a comment may stand above, then those
/// below; none that continues the one above it. Last, where the text ends without a line end, that end.
fn places(source: Source, first: usize, asked: usize) -> impl Iterator<Item = usize> {
    let text = source.text;
    let up = move |at: &usize| {
        let end = far_word(source, *at).map(|word| word.start);
        let end = end.or_else(|| previous_end(text, *at))?;
        Some(line_start(text, end))
    };
    let down = move |at: &usize| {
        let end = far_word(source, *at).map_or(*at, |word| word.end);
        next_line(text, line_end(text, end))
    };
    let apart = move |at: &usize| !continues(source, *at);
    std::iter::successors(Some(asked), up)
        .take_while(move |at| *at >= first)
        .filter(apart)
        .take(CLIMB)
        .chain(
            std::iter::successors(down(&asked), down)
                .filter(apart)
                .take(CLIMB),
        )
        .chain(ends_in_a_line(text).then_some(text.len()))
}

/// The last line has something in it, and no line end.
fn ends_in_a_line(text: &str) -> bool {
    line_start(text, text.len()) < text.len()
}

/// One way to write it.
#[derive(Clone, Copy, PartialEq)]
struct Way {
    leader: usize,
    /// Escape all punctuation.
    everything: bool,
    /// An empty line above, below.
    above: bool,
    below: bool,
}

impl Way {
    fn plain(leader: usize) -> Self {
        Self {
            leader,
            everything: false,
            above: false,
            below: false,
        }
    }

    /// The plain one first.
    fn all(leader: usize, is_empty: bool) -> impl Iterator<Item = Self> {
        let apart = [(false, false), (true, false), (false, true), (true, true)];
        let escaped = if is_empty {
            &[false][..]
        } else {
            &[false, true]
        };
        apart.into_iter().flat_map(move |(above, below)| {
            escaped.iter().map(move |everything| Self {
                leader,
                everything: *everything,
                above,
                below,
            })
        })
    }
}

struct Plan {
    edit: Edit,
    /// Where, in the text after it, its marker is, and where typing goes on.
    marker: usize,
    cursor: usize,
}

/// The byte where the 0-based `line` begins.
pub(super) fn start_of(text: &str, line: usize) -> Result<usize, Refused> {
    let (mut start, mut lines) = (0, 0);
    while lines < line {
        lines += 1;
        match next_line(text, line_end(text, start)) {
            Some(next) => start = next,
            None => {
                // What is behind the last line end is a line where something stands in it.
                lines -= usize::from(lines > 1 && start == text.len());
                return Err(Refused::NoLine { lines });
            }
        }
    }
    Ok(start)
}

/// A line inside a thread: the new one goes above that thread.
fn start_above_thread(all: &[Found], start: usize) -> usize {
    all.iter()
        .filter_map(|found| found.rows.first().zip(found.rows.last()))
        .find(|(first, last)| first.span.start < start && start <= last.span.end)
        .map_or(start, |(first, _)| first.span.start)
}

/// The edit at the line that begins at `start`.
fn plan(source: Source, start: usize, said: &[String], style: Style, way: Way) -> Option<Plan> {
    let text = source.text;
    let at = behind_mark(text, start);
    let line = text.get(at..line_end(text, at)).unwrap_or_default();
    let keep = style.keep_indentation
        || source
            .syntax
            .indentation_counts(text, at + line.len() - line.trim_start().len());
    let indent = margin(source, at, keep);
    let around = source
        .syntax
        .comment_at(text, at)
        .filter(|comment| comment.block && comment.range.start < at)
        .filter(|comment| !source.syntax.is_unclosed(text, comment));
    let inner = around.and_then(|comment| scan::plain_row(text, &comment, at, source.syntax));
    let is_own = inner.is_none();
    let mut form = match inner {
        Some(row) => Form::inside(source, &row),
        None => Form::with_leader(source, at, other_leader(source, at, way.leader)?, indent),
    };
    form.hazards.everything = way.everything;
    let line_end = line_end_near(text, at);
    let mut lines = form.message(Role::Author, None, said);
    if said.is_empty()
        && let Some(only) = lines.first_mut()
    {
        // A blank to type behind.
        only.insert(only.len() - form.after.len(), ' ');
    }
    // Behind a last line that has no end, the new one has none either.
    let behind = at == text.len() && ends_in_a_line(text);
    let mut inserted = String::new();
    if behind {
        inserted.push_str(line_end);
    }
    if way.above {
        inserted.push_str(&line_apart(source, at, line_end));
    }
    let marker = at + inserted.len() + form.before.len();
    inserted.push_str(&lines.join(line_end));
    let cursor = at + inserted.len() - form.after.len();
    if !behind {
        inserted.push_str(line_end);
        let is_read = is_own && form.is_at_first_column() && is_documented(source, at);
        if way.below || is_read {
            inserted.push_str(&line_apart(source, at, line_end));
        }
    }
    Some(Plan {
        edit: Edit {
            range: at..at,
            text: inserted,
        },
        marker,
        cursor,
    })
}
