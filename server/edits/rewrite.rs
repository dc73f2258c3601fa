//! Other words in the place of those that the author said.

use super::form::{Form, is_tested, margin};
use super::remove::{lines, removal};
use super::verify::{After, after, breaks, conversation, holds};
use super::{Refused, Source, Written, merged, notebook, said, words};
use crate::text::Edit;
use crate::threads::below::is_continued;
use crate::threads::lines::{behind_mark, line_end_near};
use crate::threads::scan::{Row, scan};
use crate::threads::{Message, Role, escape, layout};

/// What becomes of the message `at` of a thread.
#[derive(Clone, Copy)]
pub struct Rewrite<'a> {
    pub at: usize,
    /// What stood there when the author began; where it is something else by now, nothing is written.
    pub was: &'a str,
    /// Nothing: the message is taken back, which only the thread's last words can be.
    pub text: &'a str,
}

/// Lines that stay as they are keep every byte; of the others only the words change.
pub fn rewrite(source: Source, id: &str, rewrite: Rewrite) -> Result<Written, Refused> {
    if source.syntax.notebook(source.text).is_some() {
        return notebook::rewrite(source, id, rewrite);
    }
    let all = scan(source.path, source.text, source.syntax);
    let index = all
        .iter()
        .position(|found| found.thread.id == id)
        .ok_or(Refused::Gone)?;
    let found = &all[index];
    let messages = &found.thread.messages;
    let message = messages
        .get(rewrite.at)
        .filter(|message| message.role == Role::Author && message.laid_out() == rewrite.was)
        .ok_or(Refused::Changed)?;
    let rows = found
        .message_rows
        .get(rewrite.at)
        .and_then(|range| found.rows.get(range.clone()))
        .ok_or(Refused::Gone)?;
    let is_tested = rows.first().is_some_and(|row| is_tested(source, row));
    let mut said = said(rewrite.text);
    if is_tested && !said.is_empty() {
        said = words(&said).split('\n').map(str::to_owned).collect();
    }
    if said.join("\n") == message.laid_out() {
        return Ok(Written::already());
    }
    let language = source.syntax.language();
    if rows
        .iter()
        .any(|row| is_continued(source.text, row, language))
    {
        return Err(Refused::GoesOn);
    }
    let mut expected = conversation(found);
    let mut taken = false;
    if said.is_empty() {
        let spoken = |m: &Message| !m.text.is_empty();
        let below = messages.get(rewrite.at + 1..).unwrap_or_default();
        if below.iter().any(spoken) || messages.iter().filter(|m| spoken(m)).count() < 2 {
            return Err(Refused::Empty);
        }
        // Below an answer a line waits for what the author says instead.
        let above = rewrite.at.checked_sub(1).and_then(|at| messages.get(at));
        taken = !below.is_empty() || above.is_none_or(|above| above.role == Role::Author);
    }
    if taken {
        expected.remove(rewrite.at);
    } else if let Some((_, _, text)) = expected.get_mut(rewrite.at) {
        *text = words(&said);
    }
    let first = messages
        .iter()
        .position(|m| m.role == Role::Author && !m.text.is_empty());
    let id = (first != Some(rewrite.at)).then_some(id);

    let plan = Plan {
        source,
        rows,
        said: &said,
    };
    for strict in [true, false] {
        let mut other = None;
        for everything in [false, true] {
            let ways = if taken {
                vec![removal(source, &rows.iter().collect::<Vec<_>>())]
            } else {
                // Line by line; all below the first anew.
                vec![
                    plan.edits(usize::MAX, everything),
                    plan.edits(1, everything),
                ]
            };
            for edits in ways {
                let edits = merged(source.text, edits);
                let after = after(source, &edits);
                if (strict && breaks(source, &after))
                    || !holds(&after, &all, Some(index), &expected, id)
                {
                    continue;
                }
                if taken || is_tested || shows(&after, index, rewrite.at, &said) {
                    return Ok(Written::of(edits));
                }
                other.get_or_insert(edits);
            }
        }
        if let Some(edits) = other {
            return Ok(Written::of(edits));
        }
    }
    Err(Refused::Unreadable)
}

/// Whether the message stands as far in, line by line, as it was said: beside lines that a person aligned others look
/// moved.
fn shows(after: &After, index: usize, at: usize, said: &[String]) -> bool {
    let found = after.found.get(index);
    let message = found.and_then(|found| found.thread.messages.get(at));
    message.is_some_and(|message| message.laid_out() == said.join("\n"))
}

struct Plan<'a> {
    source: Source<'a>,
    /// Those of the message.
    rows: &'a [Row],
    said: &'a [String],
}

impl<'a> Plan<'a> {
    fn text(&self, range: std::ops::Range<usize>) -> &'a str {
        self.source.text.get(range).unwrap_or_default()
    }

    fn form(&self, head: &Row, everything: bool) -> Form {
        let mut form = if head.is_whole() {
            let indent = margin(self.source, head.span.start, true);
            Form::like(self.source, head, indent)
        } else {
            Form::inside(self.source, head)
        };
        form.hazards.everything = everything;
        form
    }

    /// Each line in the place of the one that stood there (of `in_place` lines, the first at least); what is left of
    /// either goes, or comes below them.
    fn edits(&self, in_place: usize, everything: bool) -> Vec<Edit> {
        let Some(head) = self.rows.first() else {
            return Vec::new();
        };
        let form = self.form(head, everything);
        let written = form.message(Role::Author, None, self.said);
        let mut edits = self.head(head, &form);
        let mut kept = 1;
        let blanks = layout::blanks(self.source.text, self.rows);
        let rows = self.rows.iter().zip(blanks);
        let lines = rows.zip(written.iter().zip(self.said));
        for ((row, blanks), (line, said)) in lines.take(in_place).skip(1) {
            kept += 1;
            let stands = self.text(row.text.clone());
            let further = format!("{}{}", self.text(blanks.clone()), escape::decode(stands));
            if further == *said || (form.is_tested && escape::decode(stands) == *said) {
                continue;
            }
            edits.push(if stands.is_empty() || said.is_empty() {
                Edit {
                    range: behind_mark(self.source.text, row.span.start)..row.span.end,
                    text: line.clone(),
                }
            } else {
                let words = line.strip_prefix(form.before.as_str()).unwrap_or(line);
                let words = words.strip_suffix(form.after.as_str()).unwrap_or(words);
                let own = words.trim_start();
                let further = &said[..said.len() - said.trim_start().len()];
                Edit {
                    range: blanks.start..row.text.end,
                    text: format!("{further}{own}"),
                }
            });
        }
        edits.extend(self.rest(kept, written.get(kept..).unwrap_or_default()));
        edits
    }

    /// The words behind the marker.
    fn head(&self, head: &Row, form: &Form) -> Vec<Edit> {
        let first = self.said.first().map_or("", String::as_str);
        let stands = self.text(head.text.clone());
        if escape::decode(stands) == first {
            return Vec::new();
        }
        let words = escape::encode(first, &form.hazards, &form.directives(first, false));
        vec![if first.is_empty() {
            // As a line that waits is written: nothing behind the colon.
            Edit {
                range: head.marker.end..head.text.end.max(head.marker.end),
                text: String::new(),
            }
        } else if stands.is_empty() {
            Edit {
                range: head.marker.end..head.marker.end,
                text: format!(" {words}"),
            }
        } else {
            Edit {
                range: head.text.clone(),
                text: words,
            }
        }]
    }

    /// The message's lines from `kept` on go; `more` come in their place.
    fn rest(&self, kept: usize, more: &[String]) -> Vec<Edit> {
        let text = self.source.text;
        let (Some(last), gone) = (
            kept.checked_sub(1).and_then(|at| self.rows.get(at)),
            self.rows.get(kept..).unwrap_or_default(),
        ) else {
            return Vec::new();
        };
        let line_end = line_end_near(text, last.span.start);
        let below: String = more
            .iter()
            .flat_map(|line| [line_end, line.as_str()])
            .collect();
        // A comment of several lines keeps its closing delimiter behind the last of them.
        let closes = |row: &Row| !row.is_whole() && row.comment.range.end <= row.span.end;
        let words_end = |row: &Row| row.text.end.max(row.marker.end);
        let Some(end) = gone.last() else {
            let at = if closes(last) {
                words_end(last)
            } else {
                last.span.end
            };
            return vec![Edit {
                range: at..at,
                text: below,
            }];
        };
        if end.is_whole() {
            let mut edits = vec![Edit {
                range: last.span.end..last.span.end,
                text: below,
            }];
            edits.extend(gone.iter().map(|row| lines(text, row.span.clone())));
            return edits;
        }
        let range = if closes(end) {
            words_end(last)..words_end(end)
        } else {
            last.span.end..end.span.end
        };
        vec![Edit { range, text: below }]
    }
}
