//! Scanning again after a change: only from the last place before it at which nothing was open, and
//! only up to the first place behind it at which nothing is.

use std::ops::Range;

use postil_grammars::Language;

use super::{Scan, Scanner, rules};
use crate::comments::Comment;
use crate::text::Splice;

/// The start of a line at which nothing is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    at: usize,
    /// The bytes before this one decided what was found between the resting place before and this
    /// one, where that is more than the lines themselves; `usize::MAX` where all of the text did.
    pub reach: usize,
}

/// Bytes between two resting places; few in tests, whose texts are short.
const STRIDE: usize = if cfg!(test) { 64 } else { 4096 };

/// What changed in a text since it was scanned: one range that holds all changes.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub start: usize,
    pub old_end: usize,
    pub new_end: usize,
}

impl Change {
    /// All of `splices`; `None` where there are none.
    pub fn of(splices: &[Splice]) -> Option<Self> {
        let (first, others) = splices.split_first()?;
        Some(others.iter().fold(Self::new(first), Self::then))
    }

    pub fn new(splice: &Splice) -> Self {
        Self {
            start: splice.start_byte,
            old_end: splice.old_end_byte,
            new_end: splice.new_end_byte,
        }
    }

    /// With what is otherwise in `range` of the text after it.
    pub fn and(self, range: &Range<usize>) -> Self {
        let end = self.new_end.max(range.end);
        Self {
            start: self.start.min(range.start),
            old_end: self.old_end + (end - self.new_end),
            new_end: end,
        }
    }

    /// With all that stood in `range` of the text before it.
    pub fn around(self, range: &Range<usize>) -> Self {
        let end = self.old_end.max(range.end);
        Self {
            start: self.start.min(range.start),
            old_end: end,
            new_end: self.new_end + (end - self.old_end),
        }
    }

    /// The same in a text where what is at byte `from` here is at byte `to`.
    pub fn moved(self, from: usize, to: usize) -> Self {
        let moved = |at: usize| (at + to).saturating_sub(from).max(to);
        Self {
            start: moved(self.start),
            old_end: moved(self.old_end),
            new_end: moved(self.new_end),
        }
    }

    /// As a single change, if it is of a few lines: several keys may come between two looks at a text.
    pub fn as_one(self, before: &str, after: &str) -> Option<Splice> {
        const FEW: usize = 4096;
        if self.old_end.max(self.new_end) > self.start + FEW {
            return None;
        }
        let new = after.get(self.start..self.new_end)?;
        Some(Splice::of(before, self.start..self.old_end, new))
    }

    /// Both changes as one.
    pub fn then(self, splice: &Splice) -> Self {
        let end = self.new_end.max(splice.old_end_byte);
        Self {
            start: self.start.min(splice.start_byte),
            old_end: self.old_end + (end - self.new_end),
            new_end: end - splice.old_end_byte + splice.new_end_byte,
        }
    }
}

/// The scan of the text before a change, to be taken up again behind that.
pub(super) struct Known<'a> {
    scan: &'a Scan,
    change: Change,
    /// The first resting place that may still be met.
    next: usize,
}

/// The same, where `known` was the scan of the text before `change`.
pub(in super::super) fn rescan(
    text: &str,
    language: &'static Language,
    known: &Scan,
    change: Change,
) -> Scan {
    let mut scanner = Scanner::new(text, language);
    // The last resting place before the change that nothing in the change decided on.
    let mut first = 0usize;
    for rest in &known.resting {
        if rest.at >= change.start || rest.reach > change.start {
            break;
        }
        first += 1;
    }
    let next = known
        .resting
        .partition_point(|rest| rest.at < change.old_end + rules::BACK);
    scanner.known = Some(Known {
        scan: known,
        change,
        next,
    });
    match first.checked_sub(1).and_then(|i| known.resting.get(i)) {
        Some(rest) => {
            let at = rest.at;
            scanner.at = at;
            scanner.line_start = at;
            let before = |range: &Range<usize>| range.start < at;
            scanner.out = Scan {
                comments: known.comments[..known.comments.partition_point(|c| before(&c.range))]
                    .to_vec(),
                strings: known.strings[..known.strings.partition_point(before)].to_vec(),
                embedded: known.embedded
                    [..known.embedded.partition_point(|part| before(&part.range))]
                    .to_vec(),
                resting: known.resting[..first].to_vec(),
            };
            scanner.begin_line();
        }
        None => scanner.begin(),
    }
    scanner.run();
    scanner.out
}

impl Scanner<'_> {
    /// Nothing is open here: remembers the place, or takes up what is known of the rest of the text.
    pub(super) fn rest_here(&mut self) -> bool {
        let at = self.at;
        if at >= self.out.resting.last().map_or(0, |rest| rest.at) + STRIDE {
            self.out.resting.push(Rest {
                at,
                reach: std::mem::take(&mut self.reach),
            });
        }
        let Some(known) = &mut self.known else {
            return false;
        };
        let Change {
            new_end, old_end, ..
        } = known.change;
        let moved = |old: usize| old - old_end + new_end;
        while known
            .scan
            .resting
            .get(known.next)
            .is_some_and(|rest| moved(rest.at) < at)
        {
            known.next += 1;
        }
        let Some(met) = known
            .scan
            .resting
            .get(known.next)
            .filter(|rest| moved(rest.at) == at)
        else {
            return false;
        };
        let (scan, from) = (known.scan, met.at);
        let behind = |range: &Range<usize>| range.start < from;
        let shift = |range: &Range<usize>| moved(range.start)..moved(range.end);
        let comments = &scan.comments[scan.comments.partition_point(|c| behind(&c.range))..];
        self.out.comments.extend(comments.iter().map(|c| Comment {
            range: shift(&c.range),
            ..c.clone()
        }));
        let strings = &scan.strings[scan.strings.partition_point(behind)..];
        self.out.strings.extend(strings.iter().map(shift));
        let first = scan.embedded.partition_point(|part| behind(&part.range));
        self.out
            .embedded
            .extend(scan.embedded[first..].iter().map(|part| part.moved(moved)));
        let reach = std::mem::take(&mut self.reach);
        if self.out.resting.last().is_none_or(|rest| rest.at < at) {
            self.out.resting.push(Rest { at, reach });
        }
        self.out
            .resting
            .extend(scan.resting[known.next + 1..].iter().map(|rest| Rest {
                at: moved(rest.at),
                reach: if rest.reach == usize::MAX {
                    usize::MAX
                } else if rest.reach == 0 {
                    0
                } else {
                    moved(rest.reach)
                },
            }));
        true
    }
}
