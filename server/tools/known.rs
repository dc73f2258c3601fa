//! What a run knows of a file: its text as it was read or written last, and which lines of it the run was shown.

use std::ops::Range;
use std::sync::Arc;

use super::file_read::split_lines;
use crate::files::{Seen, Text};

/// A text as the run knows it: what it read last, or wrote itself.
#[derive(Clone, Debug)]
pub struct Known {
    pub seen: Seen,
    pub text: Arc<str>,
    /// Lines that were shown, counted from 0, in order and apart.
    shown: Vec<Range<usize>>,
}

impl Known {
    /// None of it is shown yet.
    pub fn of(read: &Text) -> Self {
        Self::new(read.seen.clone(), Arc::clone(&read.text))
    }

    pub fn new(seen: Seen, text: Arc<str>) -> Self {
        let shown = Vec::new();
        Self { seen, text, shown }
    }

    /// All of it was shown, or written by the run.
    pub fn whole(mut self) -> Self {
        self.show(0..usize::MAX);
        self
    }

    /// What was shown of this very text before counts too.
    pub fn with_shown_of(mut self, earlier: Option<&Self>) -> Self {
        if let Some(earlier) = earlier.filter(|earlier| earlier.seen.hash == self.seen.hash) {
            self.shown.clone_from(&earlier.shown);
        }
        self
    }

    /// Made from what was known by a change of the run: the lines have other numbers now, but the whole is the whole.
    pub fn changed_from(self, earlier: Option<&Self>) -> Self {
        match earlier.is_some_and(|earlier| earlier.first_unshown().is_none()) {
            true => self.whole(),
            false => self,
        }
    }

    pub fn show(&mut self, lines: Range<usize>) {
        if lines.is_empty() {
            return;
        }
        self.shown.push(lines);
        self.shown.sort_by_key(|lines| lines.start);
        let mut joined: Vec<Range<usize>> = Vec::new();
        for lines in self.shown.drain(..) {
            match joined.last_mut().filter(|last| lines.start <= last.end) {
                Some(last) => last.end = last.end.max(lines.end),
                None => joined.push(lines),
            }
        }
        self.shown = joined;
    }

    /// The first line that was not shown, counted from 0; `None`: all were.
    pub fn first_unshown(&self) -> Option<usize> {
        let begun = self.shown.first().filter(|first| first.start == 0);
        let end = begun.map_or(0, |first| first.end);
        // A mark alone is no line.
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(&self.text);
        (end < split_lines(text).len()).then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_shown_in_any_order_come_to_the_whole() {
        let seen = Seen {
            version: None,
            hash: crate::files::hash(b""),
        };
        let known = || Known::new(seen.clone(), "a\nb\nc\nd\n".into());
        let mut parts = known();
        assert_eq!(parts.first_unshown(), Some(0));
        for (lines, unshown) in [
            (1..2, Some(0)),
            (3..4, Some(0)),
            (0..1, Some(2)),
            (0..0, Some(2)),
            (2..3, None),
        ] {
            parts.show(lines);
            assert_eq!(parts.first_unshown(), unshown, "{parts:?}");
        }
        assert_eq!(known().whole().first_unshown(), None);
        assert_eq!(Known::new(seen, "".into()).first_unshown(), None);
    }
}
