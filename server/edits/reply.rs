//! One more message in a thread.

use std::ops::Range;

use super::form::{Form, is_tested, margin, other_leader};
use super::place::{above_documentation, continues, first_allowed, is_documented, line_apart};
use super::remove::{holds_nothing_else, inline, lines};
use super::verify::{conversation, reads_back};
use super::{Refused, Source, Style, Written, merged, name_in_marker, notebook};
use crate::text::Edit;
use crate::threads::below::{goes_on, is_continued};
use crate::threads::lines::{
    behind_mark, line_end, line_end_near, line_start, next_line, previous_end,
};
use crate::threads::scan::{Found, Lead, Row, scan};
use crate::threads::{Message, Role};

/// How far above its code a trailing marker may have to go: past the lines of one statement.
const CLIMB: usize = 24;

/// What is to be said in a thread.
#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    role: Role,
    name: Option<&'a str>,
    /// `None`: a line for the author to write in, where an answer has none below it.
    text: Option<&'a str>,
    /// How many of the thread's messages it is an answer to; what the author has said since stays below it.
    /// `None`: to all.
    seen: Option<usize>,
}

/// Appends `<leader> AGENT: <text>` (or `AUTHOR:`) and, after an AGENT message, an empty `AUTHOR:` line.
/// A trailing marker moves above its code, the indentation of the thread's lines goes (see [`Style`]).
pub fn respond(
    source: Source,
    id: &str,
    role: Role,
    name: Option<&str>,
    text: &str,
    style: Style,
) -> Result<Written, Refused> {
    let said = Said {
        role,
        name,
        text: Some(text),
        seen: None,
    };
    add(source, id, said, style)
}

/// The agent's answer to the first `seen` messages of the thread: words that the author wrote below them meanwhile were
/// not read by it, so they stay the last, and wait for an answer.
pub fn answer(
    source: Source,
    id: &str,
    seen: usize,
    name: Option<&str>,
    text: &str,
    style: Style,
) -> Result<Written, Refused> {
    let said = Said {
        role: Role::Agent,
        name,
        text: Some(text),
        seen: Some(seen),
    };
    add(source, id, said, style)
}

/// An empty `AUTHOR:` line at the thread's end, where none waits there.
pub fn make_room(source: Source, id: &str, style: Style) -> Result<Written, Refused> {
    let said = Said {
        role: Role::Author,
        name: None,
        text: None,
        seen: None,
    };
    add(source, id, said, style)
}

pub(super) fn add(source: Source, id: &str, said: Said, style: Style) -> Result<Written, Refused> {
    if source.syntax.notebook(source.text).is_some() {
        return notebook::add(source, id, said, style);
    }
    let text = super::said(said.text.unwrap_or_default());
    if text.is_empty() && said.text.is_some() {
        return Err(Refused::Empty);
    }
    let written = put(source, id, said, &text, style);
    if written == Err(Refused::Unreadable) && text.iter().any(String::is_empty) {
        // An empty line ends the markup around the comment.
        let full: Vec<String> = text.into_iter().filter(|line| !line.is_empty()).collect();
        return put(source, id, said, &full, style);
    }
    written
}

/// The lines `text` as one more message.
fn put(
    source: Source,
    id: &str,
    said: Said,
    text: &[String],
    style: Style,
) -> Result<Written, Refused> {
    let Said { role, seen, .. } = said;
    let name = name_in_marker(said.name);
    let all = scan(source.path, source.text, source.syntax);
    let at = all
        .iter()
        .position(|found| found.thread.id == id)
        .ok_or(Refused::Gone)?;
    let found = &all[at];
    let messages = &found.thread.messages;
    let is_empty = |message: &Message| message.role == Role::Author && message.text.is_empty();
    let waits = messages.last().is_some_and(is_empty);
    if said.text.is_none()
        && messages
            .last()
            .is_some_and(|last| last.role == Role::Author)
    {
        return Ok(Written::already());
    }
    let end = messages.len() - usize::from(waits);
    let since = seen.and_then(|seen| {
        let mut since = messages.iter().take(end).enumerate().skip(seen);
        since.find(|(_, message)| message.role == Role::Author)
    });
    let since = since.map(|(place, _)| place);
    let before = messages.get(..since.unwrap_or(messages.len()));
    let is_tested = found.rows.first().is_some_and(|row| is_tested(source, row));
    let before = before.unwrap_or_default();
    if stands_there(before, role, name.as_deref(), text, is_tested) {
        return Ok(Written::already());
    }
    let named = messages
        .iter()
        .any(|m| m.role == Role::Author && !m.text.is_empty());
    let id = named.then_some(id);

    // Where it cannot stand above what came since, it stands at the end.
    for place in since.into_iter().chain([end]) {
        let mut expected = conversation(found);
        let below = expected.split_off(place);
        let waiting = below.first().filter(|_| role == Role::Author);
        let name = name
            .clone()
            .or_else(|| waiting.and_then(|(_, name, _)| name.clone()));
        expected.push((role, name.clone(), super::words(text)));
        if role == Role::Agent && below.is_empty() {
            expected.push((Role::Author, None, String::new()));
        } else if role == Role::Agent {
            expected.extend(below);
        }
        let ways = [true, false].map(|strict| [(strict, false), (strict, true)]);
        let leaves = |leaves_page: &bool| !leaves_page || fills_in(source, found);
        for leaves_page in [false, true].into_iter().filter(leaves) {
            for (strict, everything) in ways.into_iter().flatten() {
                let reply = Reply {
                    source,
                    found,
                    role,
                    name: name.as_deref(),
                    said: text,
                    place,
                    everything,
                    leaves_page,
                };
                for edits in reply.plans(style) {
                    let edits = merged(source.text, edits);
                    if reads_back(source, &all, Some(at), &edits, &expected, id, strict) {
                        return Ok(Written::of(edits));
                    }
                }
            }
        }
    }
    Err(Refused::Unreadable)
}

/// Whether the thread stands in code of a page that fills in other code: an end of a line may break that.
fn fills_in(source: Source, found: &Found) -> bool {
    let Source { text, syntax, .. } = source;
    let head = found.rows.first().map(|row| row.comment.range.start);
    let code = head.and_then(|at| syntax.page_code_at(text, at));
    code.is_some_and(|code| syntax.is_filled_in(text, &code))
}

/// Whether the last words of these messages are the same already.
fn stands_there(
    messages: &[Message],
    role: Role,
    name: Option<&str>,
    said: &[String],
    is_tested: bool,
) -> bool {
    let mut spoken = messages.iter().rev();
    let last = match role {
        // The author's empty line may stand below an answer.
        Role::Agent => spoken.find(|m| !(m.role == Role::Author && m.text.is_empty())),
        Role::Author => spoken.next(),
    };
    last.is_some_and(|m| {
        let stands: Vec<String> = m.laid_out().split('\n').map(str::to_owned).collect();
        let is_same = m.text == super::words(said)
            && (is_tested || beside_each_other(&stands) == beside_each_other(said));
        m.role == role && is_same && (name.is_none() || m.name.as_deref() == name)
    })
}

/// The lines without the blanks that all below the first share: a person may align these.
fn beside_each_other(said: &[String]) -> Vec<&str> {
    let below = said.get(1..).unwrap_or_default().iter();
    let full = below.filter(|line| !line.trim().is_empty());
    let blanks = full.map(|line| line.len() - line.trim_start().len());
    let least = blanks.min().unwrap_or(0);
    let from = |at: usize| if at == 0 { 0 } else { least };
    let lines = said.iter().enumerate();
    lines
        .map(|(at, line)| line.get(from(at)..).unwrap_or_default())
        .collect()
}

struct Reply<'a> {
    source: Source<'a>,
    found: &'a Found,
    role: Role,
    name: Option<&'a str>,
    said: &'a [String],
    /// The message above which it stands: the author's empty line at the end, or words that came since. As many as
    /// there are: at the end.
    place: usize,
    everything: bool,
    /// It may leave the code of a page that it stands in.
    leaves_page: bool,
}

impl<'a> Reply<'a> {
    /// The ways to write it, the best first.
    fn plans(&self, style: Style) -> impl Iterator<Item = Vec<Edit>> {
        let head = self.found.rows.first();
        let counts = head.is_some_and(|row| {
            self.source
                .syntax
                .indentation_counts(self.source.text, row.comment.range.start)
        });
        let keep = style.keep_indentation || counts;
        let above = match self.is_movable() {
            true if self.found.thread.trailing => self.places_above(),
            true => self.place_above_documentation().into_iter().collect(),
            false => Vec::new(),
        };
        let moved = above
            .into_iter()
            .enumerate()
            .flat_map(move |(climbed, place)| {
                let ways = [(0, false), (0, true), (1, false), (1, true), (2, false)];
                ways.into_iter()
                    .filter(move |(leader, apart)| climbed == 0 || !apart || *leader == 0)
                    .filter_map(move |(leader, apart)| self.moved_above(place, keep, leader, apart))
            });
        let in_place = [keep, true]
            .into_iter()
            .filter_map(move |keep| self.in_place(keep));
        moved.chain(in_place)
    }

    fn text(&self, range: Range<usize>) -> &'a str {
        self.source.text.get(range).unwrap_or_default()
    }

    fn form(&self, mut form: Form) -> Form {
        form.hazards.everything = self.everything;
        form
    }

    /// The lines to add, the author's empty one (where it is to be added) among them.
    fn new_lines(&self, form: &Form) -> Vec<String> {
        let mut lines = form.message(self.role, self.name, self.said);
        if self.role == Role::Agent && self.is_at_end() {
            lines.extend(form.message(Role::Author, None, &[]));
        }
        lines
    }

    fn is_at_end(&self) -> bool {
        self.place >= self.found.message_rows.len()
    }

    /// The row of the marker below which it stands at the end, or above which it stands.
    fn marker_beside(&self) -> Option<&'a Row> {
        let rows = &self.found.message_rows;
        let rows = rows.get(self.place).or_else(|| rows.last())?;
        self.found.rows.get(rows.start)
    }

    /// Every line is a comment of its own, and only the first is shared with code. A line that has the next one be
    /// part of its comment stays above it.
    fn is_movable(&self) -> bool {
        let rows = &self.found.rows;
        let Source { text, syntax, .. } = self.source;
        let goes_on = |row| is_continued(text, row, syntax.language());
        rows.iter().all(|row| row.is_whole() && !goes_on(row))
            && rows.iter().skip(1).all(|row| !row.before && !row.after)
            && rows
                .windows(2)
                .all(|pair| pair[0].span.end < pair[1].span.start)
    }

    /// Line starts above which the thread could stand: its code's line, and those of the statement before it.
    fn places_above(&self) -> Vec<usize> {
        let text = self.source.text;
        let Some(head) = self.found.rows.first() else {
            return Vec::new();
        };
        let above = |start: &usize| previous_end(text, *start).map(|end| line_start(text, end));
        let code = self.page_code(head).filter(|_| !self.leaves_page);
        let first = first_allowed(self.source);
        let first = code.map_or(first, |code| first.max(code.start));
        let nearest = above_documentation(self.source, head.span.start);
        std::iter::successors(Some(nearest), above)
            .take(CLIMB)
            .take_while(|start| *start >= first)
            .filter(|start| !continues(self.source, *start))
            .collect()
    }

    /// Where the documentation begins that the thread is the last part of (Go): apart from the code it would be none, and
    /// with an empty line below the thread neither is.
    fn place_above_documentation(&self) -> Option<usize> {
        let head = self.found.rows.first()?;
        let below = self.line_below()?;
        let first = match is_documented(self.source, below) {
            true => above_documentation(self.source, head.span.start),
            false => head.span.start,
        };
        (first < head.span.start && first >= first_allowed(self.source)).then_some(first)
    }

    /// Where the line begins below the thread's last.
    fn line_below(&self) -> Option<usize> {
        let Source { text, .. } = self.source;
        let last = self.found.rows.last()?;
        next_line(
            text,
            line_end(text, last.comment.range.end.max(last.span.end)),
        )
    }

    /// The empty line below a thread that would be taken for documentation.
    fn gap_below(&self, form: &Form) -> Option<Edit> {
        let Source { text, .. } = self.source;
        let rows: Vec<&Row> = self.found.rows.iter().collect();
        let (head, last) = (rows.first()?, rows.last()?);
        let below = self.line_below()?;
        let begins = last.comment.range.start;
        let is_at_first_column = match last.is_whole() {
            true => form.is_at_first_column(),
            false => line_start(text, begins) == begins && holds_nothing_else(text, &rows),
        };
        let head = line_start(text, head.comment.range.start);
        let is_part = above_documentation(self.source, head) < head;
        let end = previous_end(text, below)?;
        (is_at_first_column && !is_part && is_documented(self.source, below)).then(|| Edit {
            range: end..end,
            text: line_end_near(text, end).to_owned(),
        })
    }

    /// The code of a page that the comment of `row` stands in.
    fn page_code(&self, row: &Row) -> Option<Range<usize>> {
        let Source { text, syntax, .. } = self.source;
        syntax.page_code_at(text, row.comment.range.start)
    }

    /// The whole thread on lines of its own above the line that begins at `place`; `leader` 0 is its own.
    fn moved_above(
        &self,
        place: usize,
        keep: bool,
        leader: usize,
        apart: bool,
    ) -> Option<Vec<Edit>> {
        let text = self.source.text;
        let head = self.found.rows.first()?;
        let place = behind_mark(text, place);
        let indent = margin(self.source, head.span.start, keep);
        let is_braced = self.text(head.leader.clone()).starts_with('{');
        if leader == 0 && is_braced && self.source.syntax.is_in_jsx_tag(text, place) {
            return None;
        }
        let form = self.form(match leader {
            0 => Form::like(self.source, head, indent),
            _ => Form::with_leader(
                self.source,
                place,
                other_leader(self.source, place, leader)?,
                indent,
            ),
        });
        let mut lines_above = Vec::new();
        for (i, range) in self.found.message_rows.iter().enumerate() {
            if i == self.place {
                lines_above.extend(self.new_lines(&form));
                if self.role == Role::Author {
                    break;
                }
            }
            let rows = self.found.rows.get(range.clone())?;
            let indent_of_marker = rows.first().map_or(0, |row| row.indent);
            for (j, row) in rows.iter().enumerate() {
                let said = self.text(row.text.clone());
                lines_above.push(if j == 0 {
                    let marker = self.text(row.marker.clone());
                    let gap = if said.is_empty() { "" } else { " " };
                    format!("{}{marker}{gap}{said}{}", form.before, form.after)
                } else if said.is_empty() {
                    form.empty.clone()
                } else {
                    let deeper = " ".repeat(row.indent.saturating_sub(indent_of_marker).max(2));
                    format!("{}{deeper}{said}{}", form.before, form.after)
                });
            }
        }
        if self.is_at_end() {
            lines_above.extend(self.new_lines(&form));
        }
        let line_end = line_end_near(text, head.span.start);
        let mut above = if apart {
            line_apart(self.source, place, line_end)
        } else {
            String::new()
        };
        for line in lines_above {
            above.push_str(&line);
            above.push_str(line_end);
        }
        if form.is_at_first_column() && is_documented(self.source, place) {
            above.push_str(line_end);
        }
        let mut edits = vec![
            Edit {
                range: place..place,
                text: above,
            },
            match head.before || head.after {
                true => inline(self.source, &head.comment.range),
                false => lines(text, head.span.clone()),
            },
        ];
        edits.extend(
            self.found
                .rows
                .iter()
                .skip(1)
                .map(|row| lines(text, row.span.clone())),
        );
        Some(edits)
    }

    /// The lines stay where they are; those to add go below the last one, or above the message at their place.
    fn in_place(&self, keep: bool) -> Option<Vec<Edit>> {
        let text = self.source.text;
        let last = self.found.rows.last()?;
        let marker_row = self.marker_beside()?;
        let mut edits = Vec::new();
        if !keep {
            for row in self
                .found
                .rows
                .iter()
                .filter(|row| row.is_whole() && !row.before)
            {
                let range = row.first..row.comment.range.start;
                edits.push(Edit {
                    range,
                    text: String::new(),
                });
            }
        }
        let line_end = line_end_near(text, last.span.start);
        let whole = marker_row.is_whole();
        let form = if whole {
            let indent = margin(self.source, marker_row.span.start, keep);
            self.form(Form::like(self.source, marker_row, indent))
        } else {
            self.form(Form::inside(self.source, marker_row))
        };
        if self.is_at_end() {
            // A comment of several lines keeps its closing delimiter behind the last of them.
            let closes = !last.is_whole() && last.comment.range.end <= last.span.end;
            // What ends the code of a page goes on below the answer, or that would be text of the page.
            let code = self
                .page_code(last)
                .filter(|code| last.is_whole() && last.after && code.end <= last.span.end);
            let said_end = last.text.end.max(last.marker.end);
            let at = match (closes, &code) {
                (true, _) => said_end,
                (_, Some(_)) if last.comment.block => last.comment.range.end,
                (_, Some(_)) => said_end,
                _ => goes_on(text, last, self.source.syntax.language())
                    .map_or(last.span.end, |beyond| beyond.end),
            };
            let mut below: String = self
                .new_lines(&form)
                .iter()
                .flat_map(|line| [line_end, line.as_str()])
                .collect();
            if code.is_some() {
                below.push_str(line_end);
            }
            edits.push(Edit {
                range: at..at,
                text: below,
            });
        } else if self.role == Role::Author {
            let mut lines = form.message(self.role, self.name, self.said).into_iter();
            let filled = lines.next()?;
            let filled = filled
                .strip_prefix(form.before.as_str())?
                .strip_suffix(form.after.as_str())?;
            let closes = !whole && marker_row.comment.range.end <= marker_row.span.end;
            // Blanks behind the colon go with it.
            let (end, after) = if whole {
                (marker_row.comment.range.end, form.after.as_str())
            } else {
                (marker_row.marker.end, "")
            };
            edits.push(Edit {
                range: marker_row.marker.start..end,
                text: format!("{filled}{after}"),
            });
            let below: String = lines.flat_map(|line| [line_end.to_owned(), line]).collect();
            let at = if closes {
                marker_row.marker.end
            } else {
                marker_row.span.end
            };
            edits.push(Edit {
                range: at..at,
                text: below,
            });
        } else if whole || marker_row.lead != Lead::Open {
            if marker_row.before {
                return None;
            }
            let at = behind_mark(text, marker_row.span.start);
            let above: String = self
                .new_lines(&form)
                .iter()
                .flat_map(|line| [line.as_str(), line_end])
                .collect();
            edits.push(Edit {
                range: at..at,
                text: above,
            });
        } else {
            // The empty line opens the block: the answer stands behind the delimiter, the line below it.
            let lines = self.new_lines(&form).join(line_end);
            let first = lines.strip_prefix(form.before.as_str())?;
            edits.push(Edit {
                range: marker_row.marker.start..marker_row.marker.start,
                text: format!("{first}{line_end}{}", form.before),
            });
        }
        edits.extend(self.gap_below(&form));
        Some(edits)
    }
}
