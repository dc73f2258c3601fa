//! One more message in a thread.

use super::form::{Form, other_leader};
use super::place::continues;
use super::remove::{inline, lines};
use super::verify::{conversation, reads_back};
use super::{Refused, Source, Style, Written, merged, name_in_marker, notebook, said};
use crate::text::Edit;
use crate::threads::Role;
use crate::threads::lines::{behind_mark, line_end_near, line_start, previous_end};
use crate::threads::scan::{Found, Lead, Row, scan};

/// How far above its code a trailing marker may have to go: past the lines of one statement.
const CLIMB: usize = 24;

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
    if source.syntax.notebook(source.text).is_some() {
        return notebook::respond(source, id, role, name, text, style);
    }
    let said = said(text);
    if said.is_empty() {
        return Err(Refused::Empty);
    }
    let name = name_in_marker(name);
    let all = scan(source.path, source.text, source.syntax);
    let at = all
        .iter()
        .position(|found| found.thread.id == id)
        .ok_or(Refused::Gone)?;
    let found = &all[at];
    if stands_there(found, role, name.as_deref(), &said) {
        return Ok(Written::already());
    }
    let mut expected = conversation(found);
    let empty = found
        .thread
        .messages
        .last()
        .is_some_and(|last| last.role == Role::Author && last.text.is_empty());
    let waiting = if empty { expected.pop() } else { None };
    let name = name.or_else(|| {
        waiting
            .as_ref()
            .filter(|_| role == Role::Author)
            .and_then(|(_, name, _)| name.clone())
    });
    expected.push((role, name.clone(), said.join("\n")));
    if role == Role::Agent {
        expected.push(waiting.unwrap_or((Role::Author, None, String::new())));
    }
    let named = found
        .thread
        .messages
        .iter()
        .any(|m| m.role == Role::Author && !m.text.is_empty());
    let id = named.then_some(id);

    for strict in [true, false] {
        for everything in [false, true] {
            let reply = Reply {
                source,
                found,
                role,
                name: name.as_deref(),
                said: &said,
                empty,
                everything,
            };
            for edits in reply.plans(style) {
                let edits = merged(source.text, edits);
                if reads_back(source, &all, Some(at), &edits, &expected, id, strict) {
                    return Ok(Written::of(edits));
                }
            }
        }
    }
    Err(Refused::Unreadable)
}

/// Whether the thread's last words are the same already.
fn stands_there(found: &Found, role: Role, name: Option<&str>, said: &[String]) -> bool {
    let mut spoken = found.thread.messages.iter().rev();
    let last = match role {
        // The author's empty line may stand below an answer.
        Role::Agent => spoken.find(|m| !(m.role == Role::Author && m.text.is_empty())),
        Role::Author => spoken.next(),
    };
    last.is_some_and(|m| {
        m.role == role && m.text == said.join("\n") && (name.is_none() || m.name.as_deref() == name)
    })
}

struct Reply<'a> {
    source: Source<'a>,
    found: &'a Found,
    role: Role,
    name: Option<&'a str>,
    said: &'a [String],
    /// The thread ends in an empty AUTHOR line.
    empty: bool,
    everything: bool,
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
        let trailing = self.found.thread.trailing && self.is_movable();
        let above = if trailing {
            self.places_above()
        } else {
            Vec::new()
        };
        let moved = above
            .into_iter()
            .enumerate()
            .flat_map(move |(climbed, place)| {
                let ways = [(0, false), (0, true), (1, false), (1, true), (2, false)];
                ways.into_iter()
                    .filter(move |(_, apart)| climbed == 0 || !apart)
                    .filter_map(move |(leader, apart)| self.moved_above(place, keep, leader, apart))
            });
        let in_place = [keep, true]
            .into_iter()
            .filter_map(move |keep| self.in_place(keep));
        moved.chain(in_place)
    }

    fn text(&self, range: std::ops::Range<usize>) -> &'a str {
        self.source.text.get(range).unwrap_or_default()
    }

    fn form(&self, mut form: Form) -> Form {
        form.hazards.everything = self.everything;
        form
    }

    /// The lines to add, the author's empty one (where it is to be added) among them.
    fn new_lines(&self, form: &Form) -> Vec<String> {
        let mut lines = form.message(self.role, self.name, self.said);
        if self.role == Role::Agent && !self.empty {
            lines.extend(form.message(Role::Author, None, &[]));
        }
        lines
    }

    /// The row of the last message's marker.
    fn last_marker(&self) -> Option<&'a Row> {
        let rows = self.found.message_rows.last()?;
        self.found.rows.get(rows.start)
    }

    /// Every line is a comment of its own, and only the first is shared with code.
    fn is_movable(&self) -> bool {
        let rows = &self.found.rows;
        rows.iter().all(Row::is_whole)
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
        std::iter::successors(Some(head.span.start), above)
            .take(CLIMB)
            .filter(|start| !continues(self.source, *start))
            .collect()
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
        let code = self.text(behind_mark(text, head.span.start)..head.span.end);
        let indent = if keep {
            &code[..code.len() - code.trim_start_matches([' ', '\t']).len()]
        } else {
            ""
        };
        let form = self.form(match leader {
            0 => Form::like(self.source, head, indent),
            _ => Form::with_leader(
                self.source,
                other_leader(self.source, place, leader)?,
                indent,
            ),
        });
        let mut lines_above = Vec::new();
        let count = self.found.message_rows.len();
        for (i, range) in self.found.message_rows.iter().enumerate() {
            if i + 1 == count && self.empty {
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
        if !self.empty {
            lines_above.extend(self.new_lines(&form));
        }
        let line_end = line_end_near(text, head.span.start);
        let mut above = if apart {
            line_end.to_owned()
        } else {
            String::new()
        };
        for line in lines_above {
            above.push_str(&line);
            above.push_str(line_end);
        }
        let mut edits = vec![
            Edit {
                range: place..place,
                text: above,
            },
            inline(text, &head.comment.range),
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

    /// The lines stay where they are; those to add go below the last one, or above the empty AUTHOR line.
    fn in_place(&self, keep: bool) -> Option<Vec<Edit>> {
        let text = self.source.text;
        let last = self.found.rows.last()?;
        let marker_row = self.last_marker()?;
        let mut edits = Vec::new();
        if !keep {
            for row in self
                .found
                .rows
                .iter()
                .filter(|row| row.is_whole() && !row.before)
            {
                let range = behind_mark(text, row.span.start)..row.comment.range.start;
                edits.push(Edit {
                    range,
                    text: String::new(),
                });
            }
        }
        let line_end = line_end_near(text, last.span.start);
        let whole = marker_row.is_whole();
        let form = if whole {
            let indent = if keep || marker_row.before {
                let line = self
                    .text(behind_mark(text, marker_row.span.start)..marker_row.comment.range.start);
                &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
            } else {
                ""
            };
            self.form(Form::like(
                self.source,
                marker_row,
                if keep { indent } else { "" },
            ))
        } else {
            self.form(Form::inside(self.source, marker_row))
        };
        if !self.empty {
            // A comment of several lines keeps its closing delimiter behind the last of them.
            let closes = !last.is_whole() && last.comment.range.end <= last.span.end;
            let at = if closes {
                last.text.end.max(last.marker.end)
            } else {
                last.span.end
            };
            let below: String = self
                .new_lines(&form)
                .iter()
                .flat_map(|line| [line_end, line.as_str()])
                .collect();
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
        Some(edits)
    }
}
