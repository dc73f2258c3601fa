//! How far in the lines of a message stand. Its text goes without the blanks around each line, as its id has to; but
//! what is said may hold code, or a list within a list, which says something else without them.

use std::borrow::Cow;
use std::ops::Range;

use super::Message;
use super::scan::{Lead, Row, width};

/// Columns by which a line that continues a message stands further in than the marker.
const CONTINUES: usize = 2;

/// For each of a message's rows the blanks before its words by which it stands further in than the message does.
pub(crate) fn blanks(text: &str, rows: &[Row]) -> Vec<Range<usize>> {
    let none = |row: &Row| row.text.start..row.text.start;
    let Some((head, below)) = rows.split_first() else {
        return Vec::new();
    };
    let part = |range| text.get(range).unwrap_or_default();
    let marker = |row: &Row| match (head.lead, row.lead) {
        (Lead::Open, Lead::Bare) => width(part(head.first..head.marker.start)),
        _ => head.indent,
    };
    let deeper = |row: &Row| row.indent.saturating_sub(marker(row));
    let with_words = below.iter().filter(|row| !row.text.is_empty());
    let least = with_words.map(deeper).min().unwrap_or(CONTINUES);
    // Below the first words, as a person may align them.
    let behind = width(part(head.marker.start..head.text.start));
    let own = if head.text.is_empty() {
        least
    } else if least == behind {
        behind
    } else {
        CONTINUES
    };
    let further = |row: &Row| {
        if row.text.is_empty() {
            return none(row);
        }
        let mut left = marker(row) + own;
        let mut start = row.leader.end;
        for c in part(row.leader.end..row.text.start).chars() {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(width(c.encode_utf8(&mut [0; 4])));
            start += c.len_utf8();
        }
        start..row.text.start
    };
    std::iter::once(none(head))
        .chain(below.iter().map(further))
        .collect()
}

/// [`Message::blanks`], of which the first `empty` lines are left out.
pub(super) fn of_message(text: &str, rows: &[Row], empty: usize) -> Vec<Box<str>> {
    // Most messages are of one line.
    if rows.len() < 2 {
        return Vec::new();
    }
    let blanks = blanks(text, rows);
    let kept = blanks.get(empty..).unwrap_or_default();
    if kept.iter().all(Range::is_empty) {
        return Vec::new();
    }
    let part = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default().into();
    kept.iter().map(part).collect()
}

impl Message {
    /// What was said, each line as far in as it stands.
    pub fn laid_out(&self) -> Cow<'_, str> {
        if self.blanks.is_empty() {
            return Cow::Borrowed(&self.text);
        }
        let lines = self.text.split('\n').zip(&self.blanks);
        let lines: Vec<String> = lines
            .map(|(words, blanks)| format!("{blanks}{words}"))
            .collect();
        Cow::Owned(lines.join("\n"))
    }
}
