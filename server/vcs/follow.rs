//! One line of a text, found again in another version of it. Lines end at `\n`, as git counts them.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, TextDiff, capture_diff_slices_deadline};

use crate::text::Edit;

/// A bound on time, not on correctness: what is not looked at counts as changed.
const PATIENCE: Duration = Duration::from_millis(500);
/// Lines of a replaced block that a line is compared with, and characters of each.
const MOST_LINES: usize = 200;
const MOST_CHARS: usize = 400;
/// How alike two lines are of which one became the other.
const ALIKE: f32 = 0.5;

/// What a line of the new text was in the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// The same text at this 0-based line.
    Same(usize),
    /// Another text at this line.
    Changed(usize),
    /// It was not there.
    Absent,
}

/// Where the lines of one text stand in another.
pub struct LineMap<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    ops: Vec<DiffOp>,
}

impl<'a> LineMap<'a> {
    pub fn new(old: &'a str, new: &'a str) -> Self {
        let (old, new) = (lines(old), lines(new));
        let until = Some(Instant::now() + PATIENCE);
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, until);
        Self { old, new, ops }
    }

    /// The 0-based line of the new text that this line of the old one is, unchanged.
    pub fn after(&self, line: usize) -> Option<usize> {
        self.ops.iter().find_map(|op| match *op {
            DiffOp::Equal {
                old_index,
                new_index,
                len,
            } if (old_index..old_index + len).contains(&line) => Some(new_index + line - old_index),
            _ => None,
        })
    }

    /// What a 0-based line of the new text was.
    pub fn before(&self, line: usize) -> Before {
        let holds = |op: &&DiffOp| op.new_range().contains(&line);
        match self.ops.iter().find(holds) {
            Some(DiffOp::Equal {
                old_index,
                new_index,
                ..
            }) => Before::Same(old_index + line - new_index),
            Some(DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            }) => self
                .likest(*old_index..old_index + old_len, line)
                .or_else(|| (old_len == new_len).then(|| old_index + line - new_index))
                .map_or(Before::Absent, Before::Changed),
            _ => Before::Absent,
        }
    }

    /// The old line of a block that is most like a new one, if any is.
    fn likest(&self, block: std::ops::Range<usize>, line: usize) -> Option<usize> {
        let new = head(self.new.get(line)?.trim());
        let alike = |at: usize| {
            let old = head(self.old.get(at)?.trim());
            let ratio = TextDiff::from_chars(old.as_str(), new.as_str()).ratio();
            (ratio >= ALIKE).then_some((at, ratio))
        };
        block
            .take(MOST_LINES)
            .filter_map(alike)
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(at, _)| at)
    }
}

/// The lines of a text without their ends; a text that ends with a line end has no empty last line.
pub fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// Where a byte of a text stands after edits of it (sorted, not overlapping); what was replaced is at its end.
pub fn moved(edits: &[Edit], offset: usize) -> usize {
    let (mut gone, mut come) = (0, 0);
    for edit in edits.iter().take_while(|edit| edit.range.start <= offset) {
        if edit.range.end > offset {
            return edit.range.start + come - gone + edit.text.len();
        }
        gone += edit.range.len();
        come += edit.text.len();
    }
    offset + come - gone
}

fn head(line: &str) -> String {
    line.chars().take(MOST_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "fn a() {}\n\nfn b() {\n    let timeout = 30;\n}\n";

    #[test]
    fn a_line_is_found_again() {
        let new = "use x;\nfn a() {}\n\nfn b() {\n    let timeout = 60;\n    go();\n}\n";
        let map = LineMap::new(OLD, new);
        assert_eq!(map.after(0), Some(1));
        assert_eq!(map.after(3), None);
        assert_eq!(map.before(1), Before::Same(0));
        assert_eq!(map.before(4), Before::Changed(3));
        assert_eq!(map.before(0), Before::Absent);
        assert_eq!(map.before(5), Before::Absent);
        assert_eq!(map.before(99), Before::Absent);
    }

    #[test]
    fn a_byte_is_found_behind_edits() {
        let edit = |range: std::ops::Range<usize>, text: &str| Edit {
            range,
            text: text.to_owned(),
        };
        let edits = [edit(2..4, ""), edit(6..6, "xyz")];
        let all: Vec<usize> = [0, 2, 3, 4, 5, 6, 7]
            .iter()
            .map(|at| moved(&edits, *at))
            .collect();
        assert_eq!(all, [0, 2, 2, 2, 3, 7, 8]);
    }
}
