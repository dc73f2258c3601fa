//! A search that ends: a model chooses the pattern, and no engine for regular expressions can be stopped in the
//! middle of a line. So a text is searched in pieces, with a look at the clock before each, and a line that would
//! take too long by itself is passed over and counted.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher};
use grep_regex::{RegexCaptures, RegexMatcher, RegexMatcherBuilder};

/// Bytes that a pattern may be when compiled, and the longest line that it is searched for in. At the worst each byte
/// of the one is looked at for each byte of the other, so that together they are seconds.
const SIZES: [(usize, usize); 4] = [
    (128 << 10, usize::MAX),
    (512 << 10, 256 << 10),
    (2 << 20, 64 << 10),
    (10 << 20, 16 << 10),
];

/// Bytes between two looks at the clock, if no line is longer.
const PIECE: usize = 64 << 10;

/// A pattern, and what it costs.
pub(super) struct Pattern {
    matcher: RegexMatcher,
    longest: usize,
}

impl Pattern {
    /// # Errors
    /// What is wrong with it.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let build = |limit| {
            RegexMatcherBuilder::new()
                .line_terminator(Some(b'\n'))
                .size_limit(limit)
                .build(pattern)
        };
        let mut failed = None;
        for (size, longest) in SIZES {
            match build(size) {
                Ok(matcher) => return Ok(Self { matcher, longest }),
                Err(error) => failed = Some(error),
            }
        }
        let why = failed.map(|error| error.to_string()).unwrap_or_default();
        Err(format!(
            "the pattern is no regular expression that can be used: {why}"
        ))
    }

    pub fn until<'a>(
        &'a self,
        stop: &'a (dyn Fn() -> bool + Sync),
        passed_over: &'a AtomicUsize,
    ) -> Bounded<'a> {
        Bounded {
            matcher: &self.matcher,
            longest: self.longest,
            stop,
            left: Cell::new(0),
            passed_over,
        }
    }
}

/// A pattern that is told to stop.
pub(super) struct Bounded<'a> {
    matcher: &'a RegexMatcher,
    longest: usize,
    stop: &'a (dyn Fn() -> bool + Sync),
    /// Bytes until the next look: it costs more than a short line does.
    left: Cell<usize>,
    /// Lines too long for this pattern.
    passed_over: &'a AtomicUsize,
}

impl Bounded<'_> {
    /// How much of what is left is searched at once: whole lines, or one that is longer than a piece.
    fn piece<'h>(&self, rest: &'h [u8]) -> &'h [u8] {
        let most = self.longest.min(PIECE);
        let Some(head) = rest.get(..most) else {
            return rest;
        };
        let end = memchr::memrchr(b'\n', head)
            .or_else(|| memchr::memchr(b'\n', rest))
            .map_or(rest.len(), |at| at + 1);
        rest.get(..end).unwrap_or(rest)
    }

    pub fn is_stopped(&self) -> bool {
        (self.stop)()
    }

    /// Whether a piece, or a line alone, is searched.
    fn may(&self, piece: &[u8]) -> Result<bool, std::io::Error> {
        match self.left.get().checked_sub(piece.len()) {
            Some(left) => self.left.set(left),
            None if self.is_stopped() => return Err(std::io::ErrorKind::Interrupted.into()),
            None => self.left.set(PIECE),
        }
        let may = piece.len() <= self.longest;
        if !may {
            self.passed_over.fetch_add(1, Ordering::Relaxed);
        }
        Ok(may)
    }
}

fn never<T>(result: Result<T, grep_matcher::NoError>) -> Result<T, std::io::Error> {
    result.map_err(std::io::Error::from)
}

impl Matcher for Bounded<'_> {
    type Captures = RegexCaptures;
    type Error = std::io::Error;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, std::io::Error> {
        never(self.matcher.find_at(haystack, at))
    }
    fn shortest_match_at(
        &self,
        haystack: &[u8],
        at: usize,
    ) -> Result<Option<usize>, std::io::Error> {
        // A pattern with `^` or `$` is tried line by line.
        if !self.may(haystack)? {
            return Ok(None);
        }
        never(self.matcher.shortest_match_at(haystack, at))
    }
    fn new_captures(&self) -> Result<RegexCaptures, std::io::Error> {
        never(self.matcher.new_captures())
    }
    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.matcher.non_matching_bytes()
    }
    fn line_terminator(&self) -> Option<LineTerminator> {
        self.matcher.line_terminator()
    }

    fn find_candidate_line(
        &self,
        haystack: &[u8],
    ) -> Result<Option<LineMatchKind>, std::io::Error> {
        let mut at = 0;
        while let Some(rest) = haystack.get(at..).filter(|rest| !rest.is_empty()) {
            let piece = self.piece(rest);
            if self.may(piece)? {
                let found = never(self.matcher.find_candidate_line(piece))?;
                let place = found.map(|kind| match kind {
                    LineMatchKind::Confirmed(place) | LineMatchKind::Candidate(place) => place,
                });
                // At its very end begins the next line, which this piece does not have.
                let is_next = place == Some(piece.len()) && piece.len() < rest.len();
                match found.filter(|_| !is_next) {
                    Some(LineMatchKind::Confirmed(place)) => {
                        return Ok(Some(LineMatchKind::Confirmed(at + place)));
                    }
                    Some(LineMatchKind::Candidate(place)) => {
                        return Ok(Some(LineMatchKind::Candidate(at + place)));
                    }
                    None => {}
                }
            }
            at += piece.len();
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use grep_searcher::{SearcherBuilder, sinks::Lossy};
    use proptest::prelude::*;

    use super::*;

    fn lines(matcher: impl Matcher, text: &str) -> Result<Vec<u64>, std::io::Error> {
        let mut found = Vec::new();
        let mut searcher = SearcherBuilder::new().line_number(true).build();
        let sink = Lossy(|line, _| {
            found.push(line);
            Ok(true)
        });
        searcher.search_slice(matcher, text.as_bytes(), sink)?;
        Ok(found)
    }

    #[test]
    fn a_search_is_told_to_stop_between_two_pieces() {
        let pattern = Pattern::new("needle").unwrap();
        let looks = AtomicUsize::new(0);
        let stop = || looks.fetch_add(1, Ordering::Relaxed) == 3;
        let passed_over = AtomicUsize::new(0);
        let text = "nothing\n".repeat(200_000);
        assert!(lines(pattern.until(&stop, &passed_over), &text).is_err());
        assert_eq!(looks.into_inner(), 4);
    }

    #[test]
    fn a_long_line_is_searched_for_what_is_small_and_passed_over_for_what_is_not() {
        let text = format!("{} needle\nneedle\n", "0".repeat(200_000));
        for (pattern, found, over) in [
            ("needle", vec![1, 2], 0),
            (r"\w+ needle", vec![1], 0),
            (r"(?i)\bneedle\w*|\w+=\w+\w+", vec![1, 2], 0),
            ("(0[01]{60000}x|needle)", vec![2], 1),
            ("(0[01]{60000}x|needle)$", vec![2], 1),
        ] {
            let pattern = Pattern::new(pattern).unwrap();
            let passed_over = AtomicUsize::new(0);
            let there = lines(pattern.until(&|| false, &passed_over), &text).unwrap();
            assert_eq!((there, passed_over.into_inner()), (found, over));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// In pieces the same lines are found as in the whole.
        #[test]
        fn pieces_are_as_good_as_the_whole(
            kinds in prop::collection::vec((0..5_usize, 1..2000_usize), 20..120),
            pattern in prop::sample::select(vec!["^$", "a$", "^b", r"\bc\b", "a|b", "[ab]+c?$", r"^\s*$", "x"]),
        ) {
            let mut text = String::new();
            for (kind, length) in kinds {
                let line = ["", "a", "b", "c ", " "][kind];
                text.push_str(&line.repeat(length));
                text.push('\n');
            }
            let pattern = Pattern::new(pattern).unwrap();
            let passed_over = AtomicUsize::new(0);
            let whole = lines(&pattern.matcher, &text).unwrap();
            prop_assert_eq!(lines(pattern.until(&|| false, &passed_over), &text).unwrap(), whole);
        }
    }
}
