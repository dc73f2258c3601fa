//! What differs between two texts.

use std::ops::Range;
use std::time::Duration;

use similar::{DiffOp, TextDiff};

use crate::text::Edit;

/// The edits that turn `old` into `new`: by line, and in the lines that are replaced without the
/// beginning and the end that stay. No edit begins or ends inside a character or a CR LF.
pub fn minimal_edits(old: &str, new: &str) -> Vec<Edit> {
    if old == new {
        return Vec::new();
    }
    let diff = by_line(old, new);
    let old_at = offsets((0..diff.old_len()).map(|i| diff.old_slice(i).map_or(0, str::len)));
    let new_at = offsets((0..diff.new_len()).map(|i| diff.new_slice(i).map_or(0, str::len)));
    let at = |offsets: &[usize], line: usize| offsets.get(line).copied().unwrap_or_default();
    let mut edits = Vec::new();
    let mut replace = |old_lines: Range<usize>, new_lines: Range<usize>| {
        let range = at(&old_at, old_lines.start)..at(&old_at, old_lines.end);
        let text = new
            .get(at(&new_at, new_lines.start)..at(&new_at, new_lines.end))
            .unwrap_or_default();
        edits.extend(trimmed(old, range, text));
    };
    for op in diff.ops() {
        match *op {
            DiffOp::Equal { .. } => {}
            // As many lines as before: each is likely to be the changed form of its own.
            DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            } if old_len == new_len => {
                for line in 0..old_len {
                    replace(
                        old_index + line..old_index + line + 1,
                        new_index + line..new_index + line + 1,
                    );
                }
            }
            _ => replace(op.old_range(), op.new_range()),
        }
    }
    edits
}

/// The bytes of `new` that are whole lines of `old` as well, in order.
pub(crate) fn kept_lines(old: &str, new: &str) -> Vec<Range<usize>> {
    let diff = by_line(old, new);
    let at = offsets((0..diff.new_len()).map(|i| diff.new_slice(i).map_or(0, str::len)));
    let at = |line: usize| at.get(line).copied().unwrap_or_default();
    let kept = diff.ops().iter().filter_map(|op| match op {
        DiffOp::Equal { .. } => Some(at(op.new_range().start)..at(op.new_range().end)),
        _ => None,
    });
    kept.collect()
}

fn by_line<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, str> {
    // A bound on time, not on correctness: what is not looked at counts as changed.
    TextDiff::configure()
        .timeout(Duration::from_millis(500))
        .diff_lines(old, new)
}

fn offsets(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut sum = 0;
    let ends = lengths.map(|length| {
        sum += length;
        sum
    });
    std::iter::once(0).chain(ends).collect()
}

/// `None`: nothing is to change.
fn trimmed(whole: &str, range: Range<usize>, new: &str) -> Option<Edit> {
    let old = whole.get(range.clone())?;
    if old == new {
        return None;
    }
    let same = |(a, b): &(char, char)| a == b;
    let mut start: usize = old
        .chars()
        .zip(new.chars())
        .take_while(same)
        .map(|(c, _)| c.len_utf8())
        .sum();
    let splits = |text: &str, at: usize| {
        text.get(..at).is_some_and(|t| t.ends_with('\r'))
            && text.get(at..).is_some_and(|t| t.starts_with('\n'))
    };
    if splits(old, start) || splits(new, start) {
        start -= 1;
    }
    let (old_rest, new_rest) = (old.get(start..)?, new.get(start..)?);
    let ends = old_rest.chars().rev().zip(new_rest.chars().rev());
    let mut end: usize = ends.take_while(same).map(|(c, _)| c.len_utf8()).sum();
    if splits(old, old.len() - end) || splits(new, new.len() - end) {
        end -= 1;
    }
    // The line end that follows the block belongs to it too.
    let text = new_rest.get(..new_rest.len() - end)?.to_owned();
    Some(Edit {
        range: range.start + start..range.end - end,
        text,
    })
}
