//! Whether a text that came back from the editor holds our edit beside what the author typed meanwhile. Pure.

use crate::text::Edit;

/// A text this long does not stand somewhere by chance.
const TELLING: usize = 12;
const CRLF: &str = "\r\n";

/// `expected` is `before` with `edits`; `now` is neither of the two. The line ends of `now` may be others: an editor
/// changes them for its whole buffer.
pub(super) fn landed(before: &str, edits: &[Edit], expected: &str, now: &str) -> bool {
    if [before, expected, now]
        .iter()
        .all(|text| !text.contains(CRLF))
    {
        return stand_in(before, edits, expected, now);
    }
    let plain = |text: &str| text.replace(CRLF, "\n");
    let at = |at: usize| {
        let head = before.get(..at).unwrap_or_default();
        at - head.matches(CRLF).count()
    };
    let edits: Vec<Edit> = edits
        .iter()
        .map(|edit| Edit {
            range: at(edit.range.start)..at(edit.range.end),
            text: plain(&edit.text),
        })
        .collect();
    stand_in(&plain(before), &edits, &plain(expected), &plain(now))
}

fn stand_in(before: &str, edits: &[Edit], expected: &str, now: &str) -> bool {
    let mut shift = 0_isize;
    edits.iter().all(|edit| {
        let start = edit.range.start.saturating_add_signed(shift);
        shift += edit.text.len().cast_signed() - edit.range.len().cast_signed();
        let lines = whole_lines(expected, start, start + edit.text.len());
        let removed = before.get(edit.range.clone()).unwrap_or_default();
        if stands(before, expected, now, lines) {
            return true;
        }
        if edit.text.is_empty() {
            is_gone(before, expected, now, removed)
        } else {
            edit.text.trim().len() >= TELLING && stands(before, expected, now, edit.text.trim())
        }
    })
}

/// The edit brought `part`, and it is there.
fn stands(before: &str, expected: &str, now: &str, part: &str) -> bool {
    !part.trim().is_empty() && {
        let wanted = expected.matches(part).count();
        wanted > before.matches(part).count() && now.matches(part).count() >= wanted
    }
}

/// The edit took `part` away, and it is gone.
fn is_gone(before: &str, expected: &str, now: &str, part: &str) -> bool {
    part.trim().len() >= TELLING && {
        let wanted = expected.matches(part).count();
        wanted < before.matches(part).count() && now.matches(part).count() <= wanted
    }
}

/// The lines that the bytes `start..end` touch, without the last line end.
fn whole_lines(text: &str, start: usize, end: usize) -> &str {
    let from = text
        .get(..start)
        .and_then(|head| head.rfind('\n'))
        .map_or(0, |at| at + 1);
    // An insertion of whole lines ends where the next line begins.
    let last = if end > start && text.get(..end).is_some_and(|head| head.ends_with('\n')) {
        end - 1
    } else {
        end
    };
    let to = text
        .get(last..)
        .and_then(|tail| tail.find('\n'))
        .map_or(text.len(), |at| last + at);
    text.get(from..to).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::apply_edits;

    const BEFORE: &str = "// AUTHOR: why?\nfn a() {}\nfn b() {}\n";

    fn check(edits: &[Edit], now: &str) -> bool {
        landed(BEFORE, edits, &apply_edits(BEFORE, edits), now)
    }

    #[test]
    fn an_inserted_line_is_seen_beside_typed_text() {
        let edits = [Edit {
            range: 16..16,
            text: "// AGENT: because.\n// AUTHOR:\n".into(),
        }];
        assert!(check(
            &edits,
            "// AUTHOR: why?\n// AGENT: because.\n// AUTHOR:\nfn a() {}\nfn b() { 1 }\n"
        ));
        assert!(!check(&edits, "// AUTHOR: why?\nfn a() {}\nfn b() { 1 }\n"));
    }

    #[test]
    fn a_replacement_is_seen_by_its_line() {
        let edits = [Edit {
            range: 19..20,
            text: "c".into(),
        }];
        assert!(check(&edits, "// AUTHOR: why?\nfn c() {}\nfn b() { 1 }\n"));
        assert!(!check(&edits, "// AUTHOR: why?\nfn a() {}\nfn b() { c }\n"));
    }

    #[test]
    fn a_removal_is_seen_by_what_is_gone() {
        let edits = [Edit {
            range: 0..16,
            text: String::new(),
        }];
        assert!(check(&edits, "fn a() {}\nfn b() { 1 }\n"));
        assert!(!check(&edits, "// AUTHOR: why?\nfn a() {}\nfn b() { 1 }\n"));
    }

    #[test]
    fn what_landed_is_seen_whatever_ends_the_lines() {
        let edits = [
            Edit {
                range: 0..17,
                text: "// AGENT: because.\r\n// AUTHOR:\r\n".into(),
            },
            Edit {
                range: 20..21,
                text: "c".into(),
            },
        ];
        let before = BEFORE.replace('\n', "\r\n");
        let expected = apply_edits(&before, &edits);
        for ends in ["\n", "\r\n"] {
            let now = |text: &str| text.replace('\n', ends);
            let made = now("// AGENT: because.\n// AUTHOR:\nfn c() {}\nfn b() { 1 }\n");
            assert!(landed(&before, &edits, &expected, &made));
            let half = now("// AGENT: because.\n// AUTHOR:\nfn a() {}\nfn b() { 1 }\n");
            assert!(!landed(&before, &edits, &expected, &half));
        }
    }

    #[test]
    fn every_edit_must_have_landed() {
        let edits = [
            Edit {
                range: 16..16,
                text: "// AGENT: because.\n".into(),
            },
            Edit {
                range: 26..26,
                text: "// another whole line\n".into(),
            },
        ];
        assert!(!check(
            &edits,
            "// AUTHOR: why?\n// AGENT: because.\nfn a() {}\nfn b() { 1 }\n"
        ));
        assert!(check(
            &edits,
            "// AUTHOR: why?\n// AGENT: because.\nfn a() {}\n// another whole line\nfn b() { 1 }\n"
        ));
    }
}
