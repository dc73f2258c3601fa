//! Changes taken out of a text that has gone on since, or put onto one: line by line, and never over a line
//! that somebody else has changed. Pure.

use std::borrow::Cow;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::text::{Edit, apply_edits};
use crate::threads::lines::line_end_near;

/// The edits, in whole lines, that make `new` of `old`.
pub fn line_edits(old: &str, new: &str) -> Vec<Edit> {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let starts = line_starts(&old_lines);
    changes(&old_lines, &new_lines)
        .into_iter()
        .filter_map(|op| {
            let (start, end) = (
                *starts.get(op.old_range().start)?,
                *starts.get(op.old_range().end)?,
            );
            Some(Edit {
                range: start..end,
                text: new_lines.get(op.new_range())?.concat(),
            })
        })
        .collect()
}

/// The lines of a text with their ends, which are those of the protocol: `\n`, `\r\n`, and a lone `\r`.
pub(super) fn lines(mut text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    while !text.is_empty() {
        let end = match memchr::memchr2(b'\n', b'\r', text.as_bytes()) {
            Some(at) if text[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + 1,
            None => text.len(),
        };
        let (line, rest) = text.split_at(end);
        lines.push(line);
        text = rest;
    }
    lines
}

/// What a line ends with; empty for a last one without.
pub(super) fn end_of(line: &str) -> &'static str {
    let ends = ["\r\n", "\n", "\r"];
    ends.into_iter()
        .find(|end| line.ends_with(end))
        .unwrap_or("")
}

/// The line end of `now`, where somebody has converted `after` to it.
fn converted<'a>(after: &str, now: &'a str) -> Option<&'a str> {
    let mut ends = lines(now).into_iter().map(end_of).filter(|e| !e.is_empty());
    let end = ends.next()?;
    let differs = |line: &str| !matches!(end_of(line), "") && end_of(line) != end;
    (ends.all(|other| other == end) && lines(after).into_iter().any(differs)).then_some(end)
}

fn with_ends(text: &str, end: &str) -> String {
    let mut converted = String::with_capacity(text.len());
    for line in lines(text) {
        let old = end_of(line);
        converted.push_str(line.strip_suffix(old).unwrap_or(line));
        converted.push_str(if old.is_empty() { "" } else { end });
    }
    converted
}

/// The byte at which each line begins, and the text's end.
fn line_starts(lines: &[&str]) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(lines.iter().scan(0, |at, line| {
        *at += line.len();
        Some(*at)
    }));
    starts
}

/// Whether the last line has no end.
fn is_open(text: &str) -> bool {
    !text.is_empty() && !text.ends_with(['\n', '\r'])
}

/// The line end that an editor has given the last line of `after` since, which had none.
fn end_since<'a>(after: &str, now: &'a str) -> Option<&'a str> {
    let last = |text| lines(text).last().copied();
    let is_given = is_open(after) && !now.is_empty() && last(after) != last(now);
    is_given.then(|| line_end_near(now, 0))
}

/// The edits that take `before → after` back out of `now`, and the 1-based lines of `now` where the author
/// has changed the same lines since and that are therefore left alone. A conversion of all line ends since is
/// no such change, nor is an end that the last line got: what comes back has the new ones.
pub fn take_back(before: &str, after: &str, now: &str) -> (Vec<Edit>, Vec<usize>) {
    let (mut before, mut after) = (Cow::from(before), Cow::from(after));
    if let Some(end) = converted(&after, now) {
        before = with_ends(&before, end).into();
        after = with_ends(&after, end).into();
    }
    if let Some(end) = end_since(&after, now) {
        for text in [&mut before, &mut after] {
            if is_open(text) {
                text.to_mut().push_str(end);
            }
        }
    }
    let (before_lines, after_lines, now_lines) = (lines(&before), lines(&after), lines(now));
    let authors: Vec<DiffOp> = changes(&after_lines, &now_lines);
    let starts = line_starts(&now_lines);
    let mut edits = Vec::new();
    let mut kept = Vec::new();
    for op in changes(&after_lines, &before_lines) {
        let (turns, old) = (op.old_range(), op.new_range());
        let restored = before_lines.get(old).unwrap_or_default();
        if authors.iter().any(|author| {
            author.old_range() == turns && now_lines.get(author.new_range()) == Some(restored)
        }) {
            continue; // it stands there as before already: never written, or undone by hand
        }
        let touched = authors.iter().any(|author| {
            let theirs = author.old_range();
            theirs.start < turns.end && turns.start < theirs.end
                || theirs == turns
                || (turns.is_empty() && theirs.contains(&turns.start) && theirs.start < turns.start)
        });
        // Where a line of `after` stands in `now`: shifted by what the author added and removed above it.
        let shift: isize = authors
            .iter()
            .filter(|author| author.old_range().end <= turns.start)
            .map(|author| author.new_range().len() as isize - author.old_range().len() as isize)
            .sum();
        let place = |line: usize| {
            usize::try_from(line as isize + shift)
                .unwrap_or(0)
                .min(now_lines.len())
        };
        if touched {
            kept.push(place(turns.start) + 1);
            continue;
        }
        let (Some(&start), Some(&end)) =
            (starts.get(place(turns.start)), starts.get(place(turns.end)))
        else {
            continue;
        };
        let mut text = restored.concat();
        // A last line had no end, and is not the last any more, or it is behind one without: each stays a line.
        if !text.is_empty() && end_of(&text).is_empty() && end < now.len() {
            text.push_str(line_end_near(now, start));
        }
        let is_open = |line: &&str| end_of(line).is_empty();
        if !text.is_empty() && start == now.len() && now_lines.last().is_some_and(is_open) {
            text.insert_str(0, line_end_near(now, start));
        }
        edits.push(Edit {
            range: start..end,
            text,
        });
    }
    kept.dedup();
    (edits, kept)
}

/// `now` without several changes, which are given as before and after in the order they were made, and the 1-based
/// lines of what is returned that stay because the author has changed them since.
pub fn take_all_back(steps: &[(Cow<str>, Cow<str>)], now: &str) -> (String, Vec<usize>) {
    let mut text = now.to_owned();
    let mut kept = Vec::new();
    for (before, after) in steps.iter().rev() {
        let (edits, left) = take_back(before, after, &text);
        kept.extend(left);
        let starts = line_starts(&lines(&text));
        for line in &mut kept {
            let start = starts.get(*line - 1).copied().unwrap_or(text.len());
            let above = edits.iter().filter(|edit| edit.range.end <= start);
            let shift: isize = above
                .map(|edit| {
                    let old = text.get(edit.range.clone()).unwrap_or_default();
                    lines(&edit.text).len() as isize - lines(old).len() as isize
                })
                .sum();
            *line = line.saturating_add_signed(shift).max(1);
        }
        text = apply_edits(&text, &edits);
    }
    // Where a line that stays is cut away by an earlier step after all, the one in its place is told.
    let last = lines(&text).len().max(1);
    kept.iter_mut().for_each(|line| *line = last.min(*line));
    kept.sort_unstable();
    kept.dedup();
    (text, kept)
}

fn changes(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    capture_diff_slices(Algorithm::Myers, old, new)
        .into_iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{take_all_back, take_back};
    use crate::text::apply_edits;

    fn check(before: &str, after: &str, now: &str, expected: &str, kept: &[usize]) {
        let (edits, left) = take_back(before, after, now);
        assert_eq!(
            (apply_edits(now, &edits).as_str(), left.as_slice()),
            (expected, kept)
        );
    }

    #[test]
    fn an_untouched_file_is_as_before() {
        check(
            "a\nb\nc\n",
            "a\nB\nc\nd\n",
            "a\nB\nc\nd\n",
            "a\nb\nc\n",
            &[],
        );
    }

    #[test]
    fn an_end_that_an_editor_gave_the_last_line_is_no_change_of_it() {
        check("a\nb", "a\nB", "a\nB\n", "a\nb\n", &[]);
        check("a\nb", "a\nB", "a\nB\nmine\n", "a\nb\nmine\n", &[]);
        check("a\r\nb", "a\r\nB", "a\r\nB\r\n", "a\r\nb\r\n", &[]);
        check("a\nb\n", "a\nB", "a\nB\n", "a\nb\n", &[]);
        check("a\nb", "a\nB", "a\nmine\n", "a\nmine\n", &[2]);
    }

    #[test]
    fn lines_end_as_the_protocol_says() {
        check(
            "a\rb\rc\r",
            "a\rB\rc\r",
            "a\rB\rmine\r",
            "a\rb\rmine\r",
            &[],
        );
        check("a\rb\n", "a\rB\n", "x\ra\rB\n", "x\ra\rb\n", &[]);
    }

    #[test]
    fn a_conversion_of_line_ends_is_no_change_of_lines() {
        check("a\nb\nc", "a\nB\nc", "a\r\nB\r\nc", "a\r\nb\r\nc", &[]);
        check(
            "a\r\nb\r\n",
            "a\r\nB\r\n",
            "a\nB mine\n",
            "a\nB mine\n",
            &[2],
        );
        // The turn's own conversion is taken back as such, and there is nothing to do where the author did it.
        check("a\r\nb\r\n", "a\nb\n", "a\nb\n", "a\r\nb\r\n", &[]);
        check(
            "a\r\nb\r\n",
            "a\nb\n",
            "a\r\nb\r\nc\r\n",
            "a\r\nb\r\nc\r\n",
            &[],
        );
    }

    #[test]
    fn a_line_that_stays_is_told_once_and_where_it_is_in_the_end() {
        let steps = [
            ("top\na\nb\n".into(), "new\ntop\na\nb\n".into()),
            ("new\ntop\na\nb\n".into(), "new\ntop\nA\nb\n".into()),
            ("new\ntop\nA\nb\n".into(), "new\ntop\nAA\nb\n".into()),
        ];
        let (text, kept) = take_all_back(&steps, "new\ntop\nmine\nb\n");
        assert_eq!(
            (text.as_str(), kept.as_slice()),
            ("top\nmine\nb\n", &[2][..])
        );
    }

    #[test]
    fn what_the_author_wrote_elsewhere_stays() {
        check(
            "a\nb\nc\n",
            "a\nB\nc\n",
            "new\na\nB\nc\nmore\n",
            "new\na\nb\nc\nmore\n",
            &[],
        );
    }

    #[test]
    fn what_the_author_wrote_in_the_same_line_stays() {
        check(
            "a\nb\nc\n",
            "a\nB\nc\n",
            "x\na\nB mine\nc\n",
            "x\na\nB mine\nc\n",
            &[3],
        );
    }

    #[test]
    fn a_line_put_inside_an_added_block_keeps_the_block() {
        check(
            "a\nd\n",
            "a\nb\nc\nd\n",
            "a\nb\nmine\nc\nd\n",
            "a\nb\nmine\nc\nd\n",
            &[2],
        );
    }

    #[test]
    fn what_was_never_written_is_no_conflict() {
        check(
            "a\nb\nc\n",
            "a\nB\nc\n",
            "a\nb\nc\nmine\n",
            "a\nb\nc\nmine\n",
            &[],
        );
    }

    #[test]
    fn a_last_line_without_an_end_is_glued_to_no_other() {
        check(
            "f\r\n}",
            "f\r\n}\r\n\r\ng\r\n",
            "f\r\n}\r\n\r\ng\r\nmine\r\n",
            "f\r\n}\r\nmine\r\n",
            &[],
        );
        // As a review puts what was planned onto the text.
        check("x\nA", "x\na\n", "x\na\nc\n", "x\nA\nc\n", &[]);
        check("a\nb\nc\n", "a\nb\n", "a\nb", "a\nb\nc\n", &[]);
        check("a\rb\rc", "a\rb\r", "a\rb", "a\rb\rc", &[]);
    }

    #[test]
    fn a_removed_line_comes_back() {
        check(
            "a\nb\nc\n",
            "a\nc\n",
            "a\nc\nmine\n",
            "a\nb\nc\nmine\n",
            &[],
        );
    }
}
