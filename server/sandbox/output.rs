//! Output that is kept: its beginning and its end, in a fixed space however much comes.

use std::collections::VecDeque;

/// Bytes that are kept: 50 KB together, with room for what is said of the middle and of the end.
const HEAD: usize = 20 << 10;
const TAIL: usize = 29 << 10;

#[derive(Debug, Default)]
pub(super) struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Bytes that came since the last [`Self::take`].
    came: u64,
}

impl Output {
    pub fn push(&mut self, mut bytes: &[u8]) {
        self.came += bytes.len() as u64;
        let room = HEAD - self.head.len().min(HEAD);
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        bytes = rest;
        if let Some(last) = bytes.len().checked_sub(TAIL).and_then(|at| bytes.get(at..)) {
            self.tail.clear();
            bytes = last;
        }
        let surplus = (self.tail.len() + bytes.len()).saturating_sub(TAIL);
        self.tail.drain(..surplus);
        self.tail.extend(bytes);
    }

    /// What came since the last call, as text: bytes that are none are replaced, terminal escapes left out, and where
    /// the middle was cut it says how much.
    pub fn take(&mut self) -> String {
        let Self { head, tail, came } = std::mem::take(self);
        let tail: Vec<u8> = tail.into();
        let kept = (head.len() + tail.len()) as u64;
        if kept == came {
            let all = text(&[&*head, &tail].concat());
            if all.len() <= HEAD + TAIL {
                return all;
            }
        }
        // A cut splits no character.
        let (head, tail) = (whole_end(&head), whole_start(&tail));
        let mut left_out = came - head.len() as u64 - tail.len() as u64;
        // What takes the place of a byte that is no text is longer than that.
        let (head, tail) = (text(head), text(tail));
        let first = head.get(..boundary(&head, HEAD)).unwrap_or_default();
        let from = boundary(&tail, tail.len().saturating_sub(TAIL));
        let last = tail.get(from..).unwrap_or_default();
        let cut = [head.get(first.len()..), tail.get(..tail.len() - last.len())];
        for cut in cut.into_iter().flatten() {
            let replaced = cut.matches(char::REPLACEMENT_CHARACTER).count();
            left_out += (cut.len() - 2 * replaced) as u64;
        }
        format!(
            "{}\n… ({left_out} bytes are left out here) …\n{}",
            first.trim_end_matches('\n'),
            last.trim_start_matches('\n'),
        )
    }

    /// The newest line that is not empty, for progress.
    pub fn last_line(&self) -> Option<String> {
        let newest: Vec<u8> = if self.tail.is_empty() {
            let from = self.head.len().saturating_sub(400);
            self.head.get(from..).unwrap_or_default().to_vec()
        } else {
            let from = self.tail.len().saturating_sub(400);
            self.tail.iter().skip(from).copied().collect()
        };
        let text = text(whole_start(&newest));
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(line.to_owned())
    }
}

/// Text of `bytes` without what a terminal would carry out: escapes, control characters; a line that was written over
/// with carriage returns is several lines.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    crate::present::visible(&text)
}

/// The first end of a character at or behind `at`, where there is one.
fn boundary(text: &str, at: usize) -> usize {
    let end = (at..text.len()).find(|at| text.is_char_boundary(*at));
    end.unwrap_or(text.len())
}

/// Without a character at the end that was cut.
fn whole_end(bytes: &[u8]) -> &[u8] {
    let back = bytes
        .iter()
        .rev()
        .take(4)
        .position(|b| *b < 0x80 || *b >= 0xc0);
    match back {
        Some(back) => {
            let start = bytes.len() - 1 - back;
            let (before, last) = bytes.split_at(start);
            let needs = match last.first() {
                Some(0xc0..=0xdf) => 2,
                Some(0xe0..=0xef) => 3,
                Some(0xf0..) => 4,
                _ => 1,
            };
            if last.len() < needs { before } else { bytes }
        }
        None => bytes,
    }
}

/// Without the end of a character at the start.
fn whole_start(bytes: &[u8]) -> &[u8] {
    let tails = bytes
        .iter()
        .take(3)
        .take_while(|b| (0x80..0xc0).contains(*b))
        .count();
    bytes.get(tails..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(pieces: &[&[u8]]) -> Output {
        let mut output = Output::default();
        pieces.iter().for_each(|piece| output.push(piece));
        output
    }

    #[test]
    fn what_fits_is_whole_and_taken_once() {
        let mut output = of(&[b"one\n", "zwei ä".as_bytes(), b"\n"]);
        assert_eq!(output.last_line().as_deref(), Some("zwei ä"));
        assert_eq!(output.take(), "one\nzwei ä\n");
        assert_eq!(output.take(), "");
        output.push(b"more");
        assert_eq!(output.take(), "more");
    }

    #[test]
    fn too_much_keeps_its_beginning_and_its_end_and_says_what_is_missing() {
        let mut output = Output::default();
        output.push(b"first line\n");
        for _ in 0..100_000 {
            output.push("äöü\n".as_bytes());
        }
        output.push(b"last line\n");
        let text = output.take();
        assert!(
            text.starts_with("first line\näöü\n") && text.ends_with("\näöü\nlast line\n"),
            "{text}"
        );
        assert!(text.len() <= 50 * 1024 && !text.contains('\u{fffd}'));
        let (head, tail) = text.split_once("\n… (").unwrap();
        let (count, tail) = tail.split_once(" bytes are left out here) …\n").unwrap();
        let came = 11 + 700_000 + 10;
        assert!(head.len() + tail.len() + count.parse::<usize>().unwrap() >= came - 2);
    }

    #[test]
    fn bad_bytes_are_replaced_and_escapes_left_out() {
        let mut output = of(&[b"a\xff\x00b\r\n\x1b[31mred\x1b[0m\x1b]0;title\x07 10%\r20%\n"]);
        assert_eq!(output.take(), "a\u{fffd}b\nred 10%\n20%\n");
    }

    /// Three bytes take the place of each.
    #[test]
    fn bytes_that_are_no_text_take_no_more_room_than_text() {
        for count in [20_000, 40_000, 400_000] {
            let text = of(&[&vec![0xff; count]]).take();
            assert!(text.len() <= 50 * 1024, "{}", text.len());
            let (head, rest) = text.split_once("\n… (").unwrap();
            let (left_out, tail) = rest.split_once(" bytes are left out here) …\n").unwrap();
            let shown = (head.len() + tail.len()) / 3;
            assert_eq!(shown + left_out.parse::<usize>().unwrap(), count);
        }
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(bytes in proptest::collection::vec(any::<u8>(), 0..3000), cuts in proptest::collection::vec(1usize..400, 1..40)) {
            // A small alphabet of sizes around the two limits.
            let bytes = bytes.repeat(30);
            let mut whole = of(&[&bytes]);
            let mut pieces = Output::default();
            let mut rest = bytes.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(whole.take(), pieces.take());
        }
    }
}
