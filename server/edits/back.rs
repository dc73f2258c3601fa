//! Changes taken out of a text that has gone on since, or put onto one: line by line, and never over a line
//! that somebody else has changed. Pure.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::text::Edit;

/// The edits, in whole lines, that make `new` of `old`.
pub fn line_edits(old: &str, new: &str) -> Vec<Edit> {
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
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

/// The byte at which each line begins, and the text's end.
fn line_starts(lines: &[&str]) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(lines.iter().scan(0, |at, line| {
        *at += line.len();
        Some(*at)
    }));
    starts
}

/// The edits that take `before → after` back out of `now`, and the 1-based lines of `now` where the author
/// has changed the same lines since and that are therefore left alone.
pub fn take_back(before: &str, after: &str, now: &str) -> (Vec<Edit>, Vec<usize>) {
    let before_lines: Vec<&str> = before.split_inclusive('\n').collect();
    let after_lines: Vec<&str> = after.split_inclusive('\n').collect();
    let now_lines: Vec<&str> = now.split_inclusive('\n').collect();
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
        edits.push(Edit {
            range: start..end,
            text: restored.concat(),
        });
    }
    (edits, kept)
}

fn changes(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    capture_diff_slices(Algorithm::Myers, old, new)
        .into_iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::take_back;
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
