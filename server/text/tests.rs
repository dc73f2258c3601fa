use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;

const ENCODINGS: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

/// A plain string that does what [`Document`] does, the slow and obvious way.
struct Model(String);

impl Model {
    /// Each line's content, in bytes, without its line end.
    fn lines(&self) -> Vec<std::ops::Range<usize>> {
        let bytes = self.0.as_bytes();
        let (mut lines, mut start, mut at) = (Vec::new(), 0, 0);
        while at < bytes.len() {
            let end = match bytes[at] {
                b'\r' if bytes.get(at + 1) == Some(&b'\n') => 2,
                b'\r' | b'\n' => 1,
                _ => 0,
            };
            if end > 0 {
                lines.push(start..at);
                start = at + end;
            }
            at += end.max(1);
        }
        lines.push(start..bytes.len());
        lines
    }

    fn units(c: char, encoding: Encoding) -> usize {
        match encoding {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }

    fn offset(&self, position: Position, encoding: Encoding) -> usize {
        let Some(line) = self.lines().get(position.line as usize).cloned() else {
            return self.0.len();
        };
        let mut left = position.character as usize;
        for (at, c) in self.0[line.clone()].char_indices() {
            let units = Self::units(c, encoding);
            if left < units {
                return line.start + at;
            }
            left -= units;
        }
        line.end
    }

    fn point(text: &str, at: usize) -> (usize, usize) {
        let before = &text[..at];
        (
            before.matches('\n').count(),
            at - before.rfind('\n').map_or(0, |end| end + 1),
        )
    }
}

const PIECES: [&str; 20] = [
    "a",
    "b c",
    "// AUTHOR: why?",
    "é",
    "e\u{301}",
    "€",
    "😀",
    "👩‍👩‍👧",
    "𝒳𝒴",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "\n\r",
    "\t",
    "\u{2028}",
    "\u{85}",
    "\u{b}\u{c}",
    "\u{feff}",
    "",
];

fn some_text(random: &mut StdRng) -> String {
    let count = if random.random_ratio(1, 40) {
        200
    } else {
        random.random_range(0..6)
    };
    (0..count)
        .map(|_| PIECES[random.random_range(0..PIECES.len())])
        .collect()
}

fn some_position(random: &mut StdRng, model: &Model, encoding: Encoding) -> Position {
    let lines = model.lines();
    let line = random.random_range(0..lines.len());
    let width: usize = model.0[lines[line].clone()]
        .chars()
        .map(|c| Model::units(c, encoding))
        .sum();
    Position {
        line: line as u32,
        character: random.random_range(0..=width + 2) as u32,
    }
}

#[test]
fn ten_thousand_random_edits_leave_the_same_text_as_a_plain_string() {
    for encoding in ENCODINGS {
        let mut random = StdRng::seed_from_u64(20_240_501);
        let mut model = Model(String::from("fn main() {\r\n    let 😀 = 1;\n}\r"));
        let mut document = Document::new(&model.0, 0);
        let mut left = 10_000;
        let mut version = 0;
        while left > 0 {
            let mut changes = Vec::new();
            let mut expected = Vec::new();
            for _ in 0..random.random_range(1..4) {
                let text = some_text(&mut random);
                let change = if random.random_ratio(1, 500) {
                    expected.push((0..model.0.len(), model.0.clone(), text.clone()));
                    model.0.clone_from(&text);
                    Change::Full(text)
                } else {
                    let (mut start, mut end) = (
                        some_position(&mut random, &model, encoding),
                        some_position(&mut random, &model, encoding),
                    );
                    if start > end {
                        std::mem::swap(&mut start, &mut end);
                    }
                    // Deletions of any length would keep the text short: mostly edit within a few lines.
                    if random.random_ratio(9, 10) && end.line > start.line + 2 {
                        end.line = start.line + 2;
                    }
                    let bytes = model.offset(start, encoding)..model.offset(end, encoding);
                    expected.push((bytes.clone(), model.0.clone(), text.clone()));
                    model.0.replace_range(bytes, &text);
                    Change::Incremental {
                        range: Range { start, end },
                        text,
                    }
                };
                changes.push(change);
                left -= 1;
            }
            version += 1;
            let splices = document.apply(&changes, encoding, version).unwrap();
            assert_eq!(document.text(), model.0, "after {changes:?}");
            assert_eq!(document.lines(), model.lines().len());
            assert_eq!(splices.len(), changes.len());
            for (splice, (old, before, text)) in splices.iter().zip(&expected) {
                let mut after = before.clone();
                after.replace_range(old.clone(), text);
                let new_end = old.start + text.len();
                assert_eq!(
                    *splice,
                    Splice {
                        start_byte: old.start,
                        old_end_byte: old.end,
                        new_end_byte: new_end,
                        start_point: Model::point(before, old.start),
                        old_end_point: Model::point(before, old.end),
                        new_end_point: Model::point(&after, new_end),
                    }
                );
            }
            let position = some_position(&mut random, &model, encoding);
            let offset = document.offset(position, encoding);
            assert_eq!(
                offset,
                model.offset(position, encoding),
                "{position:?} in {:?}",
                model.0
            );
            let back = document.position(offset, encoding);
            assert!(back <= position);
            assert_eq!(document.offset(back, encoding), offset);
            // Ends may lie inside a character, a line end, or behind the text.
            let end = offset + random.random_range(0..40);
            for start in [offset, end.saturating_sub(3)] {
                let each = Range {
                    start: document.position(start, encoding),
                    end: document.position(end, encoding),
                };
                assert_eq!(document.range(&(start..end), encoding), each);
            }
            // One after the other, forwards and back.
            let mut places = document.places(encoding);
            for _ in 0..6 {
                let at = (offset + random.random_range(0..300)).saturating_sub(100);
                assert_eq!(
                    places.position(at),
                    document.position(at, encoding),
                    "{at} in {:?}",
                    model.0
                );
                let end = at + random.random_range(0..40);
                assert_eq!(
                    places.range(&(at..end)),
                    document.range(&(at..end), encoding)
                );
            }
            if model.0.len() > 20_000 {
                version += 1;
                model.0.truncate(0);
                document
                    .apply(&[Change::Full(String::new())], encoding, version)
                    .unwrap();
            }
        }
    }
}

#[test]
fn every_offset_has_a_position_that_leads_back_to_it() {
    let text = "a😀b\r\né\rx\n\nlast";
    let document = Document::new(text, 1);
    for encoding in ENCODINGS {
        for (offset, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let inside_line_end =
                text[..offset].ends_with('\r') && text[offset..].starts_with('\n');
            let back = document.offset(document.position(offset, encoding), encoding);
            assert_eq!(back, if inside_line_end { offset - 1 } else { offset });
        }
        assert_eq!(
            document.position(text.len() + 9, encoding),
            document.position(text.len(), encoding)
        );
    }
}

#[test]
fn a_column_inside_a_surrogate_pair_rounds_down() {
    let document = Document::new("😀x", 1);
    let at = |character, encoding| document.offset(Position { line: 0, character }, encoding);
    assert_eq!(
        [0, 1, 2, 3, 4].map(|c| at(c, Encoding::Utf16)),
        [0, 0, 4, 5, 5]
    );
    assert_eq!(
        [0, 1, 3, 4, 5, 6].map(|c| at(c, Encoding::Utf8)),
        [0, 0, 0, 4, 5, 5]
    );
    assert_eq!([0, 1, 2, 3].map(|c| at(c, Encoding::Utf32)), [0, 4, 5, 5]);
    assert_eq!(document.position(2, Encoding::Utf16), Position::default());
}

#[test]
fn a_position_past_a_line_is_before_its_line_end() {
    let document = Document::new("ab\r\ncd\re\n", 1);
    for encoding in ENCODINGS {
        let far = |line| {
            document.offset(
                Position {
                    line,
                    character: u32::MAX,
                },
                encoding,
            )
        };
        assert_eq!(
            [far(0), far(1), far(2), far(3), far(4), far(u32::MAX)],
            [2, 6, 8, 9, 9, 9]
        );
    }
}

#[test]
fn changes_that_cannot_fit_leave_the_document_alone() {
    let range = |a, b, c, d| Range {
        start: Position {
            line: a,
            character: b,
        },
        end: Position {
            line: c,
            character: d,
        },
    };
    let change = |range| Change::Incremental {
        range,
        text: String::from("x"),
    };
    let mut document = Document::new("one\ntwo\n", 5);
    let good = change(range(0, 0, 0, 1));
    for (changes, version, unfit) in [
        (
            vec![good.clone(), change(range(1, 2, 1, 1))],
            6,
            Unfit::StartAfterEnd,
        ),
        (
            vec![good.clone(), change(range(2, 0, 1, 9))],
            6,
            Unfit::StartAfterEnd,
        ),
        (
            vec![good.clone(), change(range(4, 0, 5, 0))],
            6,
            Unfit::PastTheEnd { line: 4, lines: 3 },
        ),
        (
            vec![good.clone()],
            4,
            Unfit::OlderVersion { have: 5, got: 4 },
        ),
    ] {
        assert_eq!(
            document.apply(&changes, Encoding::Utf16, version),
            Err(unfit)
        );
        assert_eq!((document.text(), document.version()), ("one\ntwo\n", 5));
    }
    document
        .apply(&[change(range(0, 3, 3, 7))], Encoding::Utf16, 6)
        .unwrap();
    assert_eq!((document.text(), document.version()), ("onex", 6));
}

#[test]
fn a_clone_is_a_snapshot() {
    let mut document = Document::new("one", 1);
    let snapshot = document.clone();
    document
        .apply(&[Change::Full(String::from("two"))], Encoding::Utf8, 2)
        .unwrap();
    assert_eq!((snapshot.text(), snapshot.version()), ("one", 1));
    assert_eq!((document.text(), document.version()), ("two", 2));
}

#[test]
fn edits_that_do_not_fit_are_left_out() {
    let edit = |range, text: &str| Edit {
        range,
        text: text.into(),
    };
    assert_eq!(
        apply_edits("abc", &[edit(0..1, "x"), edit(1..1, "y"), edit(3..3, "z")]),
        "xybcz"
    );
    assert_eq!(
        apply_edits("aéc", &[edit(2..3, "x"), edit(2..9, "y"), edit(0..1, "z")]),
        "zéc"
    );
}

#[test]
fn a_splice_of_a_text_is_the_one_of_its_document() {
    for (text, range, new) in [
        ("a\nbc\n", 3..4, "x\ny\nz"),
        ("a\r\nbc", 4..4, "é"),
        ("", 0..0, "\n"),
        ("a\nb\nc", 1..4, ""),
    ] {
        let mut document = Document::new(text, 0);
        let place = document.range(&range, Encoding::Utf8);
        let change = Change::Incremental {
            range: place,
            text: new.to_owned(),
        };
        let splices = document.apply(&[change], Encoding::Utf8, 1);
        assert_eq!(splices, Ok(vec![Splice::of(text, range, new)]), "{text:?}");
    }
}
