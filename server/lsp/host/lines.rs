//! Edits for a buffer that is lines, each with its end: nothing stands behind the last one, not even an empty line, and a
//! line's end is `\n` whatever the file has. Pure.

use crate::text::Edit;

/// The same as `edits` (in their order, without overlaps) for such a buffer; the text that comes back is `text` with
/// `edits`. What begins or ends behind the last line does so before its end.
pub(super) fn in_lines(text: &str, edits: &[Edit]) -> Vec<Edit> {
    let mut free = 0;
    edits
        .iter()
        .map(|edit| {
            let moved = before_the_end(text, edit, free).unwrap_or_else(|| edit.clone());
            free = moved.range.end;
            Edit {
                text: moved.text.replace("\r\n", "\n"),
                ..moved
            }
        })
        .collect()
}

/// `None`: it does not reach behind the last line, or the edit before it, which ends at `free`, stands in the way.
fn before_the_end(text: &str, edit: &Edit, free: usize) -> Option<Edit> {
    let last = without_end(text)?.len();
    let start = edit.range.start;
    if edit.range.end != text.len() {
        return None;
    }
    let lines = without_end(&edit.text);
    // What the text ends with stays where it is.
    if let Some(lines) = lines.filter(|_| start <= last) {
        return Some(Edit {
            range: start..last,
            text: lines.to_owned(),
        });
    }
    // Whole lines: the end before them goes instead of the one behind.
    let from = without_end(text.get(..start)?)?.len();
    (from >= free).then(|| Edit {
        range: from..last,
        text: match edit.text.as_str() {
            "" => String::new(),
            all => format!("\n{}", lines.unwrap_or(all)),
        },
    })
}

/// `None`: it does not end with a line's end.
fn without_end(text: &str) -> Option<&str> {
    let line = text.strip_suffix('\n')?;
    Some(line.strip_suffix('\r').unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::apply_edits;

    fn edit(range: std::ops::Range<usize>, text: &str) -> Edit {
        Edit {
            range,
            text: text.to_owned(),
        }
    }

    #[test]
    fn what_stands_behind_the_last_line_is_put_before_its_end() {
        let text = "one\ntwo\nthree\n";
        let all = text.len();
        for edits in [
            vec![edit(all..all, "four\n")],
            vec![edit(all..all, "four\nfive\n")],
            vec![edit(8..all, "3\n")],
            vec![edit(8..all, "")],
            vec![edit(4..all, "")],
            vec![edit(4..all, "2\n")],
            vec![edit(0..4, ""), edit(8..all, "3\n4\n")],
            vec![edit(4..8, "2\n"), edit(all..all, "four\n")],
            vec![edit(8..all, "3\n"), edit(all..all, "four\n")],
            vec![edit(8..all, ""), edit(all..all, "four\n")],
            vec![edit(0..all, "all\n")],
            vec![edit(0..0, "none\n")],
            vec![edit(8..13, "3")],
        ] {
            for end in ["\n", "\r\n"] {
                // In another text with as many lines the same lines and columns.
                let far = |at: usize| at + (end.len() - 1) * text[..at].matches('\n').count();
                let here = text.replace('\n', end);
                let edits: Vec<Edit> = edits
                    .iter()
                    .map(|e| {
                        edit(
                            far(e.range.start)..far(e.range.end),
                            &e.text.replace('\n', end),
                        )
                    })
                    .collect();
                let lines = in_lines(&here, &edits);
                assert!(
                    lines
                        .iter()
                        .all(|e| e.range.end < here.len() && !e.text.contains('\r')),
                    "{lines:?}"
                );
                let made = apply_edits(&here, &lines).replace("\r\n", "\n");
                assert_eq!(
                    made,
                    apply_edits(&here, &edits).replace("\r\n", "\n"),
                    "{lines:?}"
                );
            }
        }
    }

    #[test]
    fn where_that_cannot_be_it_is_left() {
        for (text, edits) in [
            ("no end", vec![edit(6..6, "\nmore")]),
            ("one\n", vec![edit(0..4, "")]),
            ("one\ntwo\n", vec![edit(0..4, "1\n"), edit(4..8, "")]),
        ] {
            assert_eq!(in_lines(text, &edits), edits);
        }
    }
}
