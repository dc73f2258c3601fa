//! Frames of the base protocol (LSP 3.17 §Base Protocol) out of a byte stream that may hold anything:
//! what is no frame is skipped up to the next header, and bounded.

use std::ops::Range;

/// Longest body, in bytes. An answer of this size holds more than 100,000 locations.
pub const MAX_BODY: usize = 32 << 20;
/// Longest body that is passed over.
const MAX_PASSED: u64 = 1 << 30;
/// Bytes at the beginning of one, which say what it is.
const HEAD: usize = 256;
/// Longest header block.
const MAX_HEADER: usize = 4096;
/// Bytes outside of any frame until the stream is given up.
const MAX_GARBAGE: usize = 64 << 10;

const LENGTH: &[u8] = b"content-length:";

/// Why a stream is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("it announced a message of {0} bytes")]
    Oversized(u64),
    #[error("it writes what is no message to its standard output")]
    Garbage,
}

/// What [`Framer::next_body`] finds; the range is for [`Framer::body`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Body(Range<usize>),
    /// The beginning of one that is too long, and its length. The rest is passed over.
    Head(Range<usize>, usize),
}

/// Bytes in, bodies out.
#[derive(Default)]
pub struct Framer {
    buffer: Vec<u8>,
    /// Bytes of `buffer` that are done with.
    start: usize,
    /// Length of the body that begins at `start`, once its header is read.
    body: Option<usize>,
    /// Bytes after `start` that were searched for the header's end already.
    searched: usize,
    /// Bytes from `start` on that are passed over.
    passed: usize,
    garbage: usize,
}

impl Framer {
    /// Where to append what was read. Room for a usual message is there already.
    pub fn space(&mut self) -> &mut Vec<u8> {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
            if self.buffer.capacity() > 1 << 20 {
                self.buffer.shrink_to(64 << 10);
            }
        } else if self.start > self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        // Grows with what arrives, never with what is announced.
        self.buffer.reserve(16 << 10);
        &mut self.buffer
    }

    /// The next whole body, if it has arrived.
    pub fn next_body(&mut self) -> Result<Option<Piece>, Broken> {
        loop {
            let rest = self.buffer.get(self.start..).unwrap_or_default();
            if self.passed > 0 {
                let arrived = rest.len().min(self.passed);
                self.start += arrived;
                self.passed -= arrived;
                if self.passed > 0 {
                    return Ok(None);
                }
                continue;
            }
            if let Some(length) = self.body {
                let is_whole = length <= MAX_BODY;
                let wanted = if is_whole { length } else { HEAD };
                if rest.len() < wanted {
                    return Ok(None);
                }
                let range = self.start..self.start + wanted;
                self.body = None;
                if is_whole {
                    self.start = range.end;
                    return Ok(Some(Piece::Body(range)));
                }
                self.passed = length;
                return Ok(Some(Piece::Head(range, length)));
            }
            let from = self.searched.saturating_sub(3).min(rest.len());
            let Some(end) = memchr::memmem::find(rest.get(from..).unwrap_or_default(), b"\r\n\r\n")
                .map(|at| from + at)
            else {
                self.searched = rest.len();
                if rest.len() > MAX_HEADER {
                    // No header is that long; its beginning may stand in the last bytes.
                    let skip = rest.len() - MAX_HEADER / 2;
                    self.skip(skip, skip)?;
                    continue;
                }
                return Ok(None);
            };
            self.searched = 0;
            let header = rest.get(..end).unwrap_or_default();
            let (length, garbage) = read_header(header);
            let Some(length) = length else {
                self.skip(end + 4, end + 4)?;
                continue;
            };
            if length > MAX_PASSED {
                return Err(Broken::Oversized(length));
            }
            self.skip(end + 4, garbage)?;
            self.body = usize::try_from(length).ok();
        }
    }

    pub fn body(&self, range: Range<usize>) -> &[u8] {
        self.buffer.get(range).unwrap_or_default()
    }

    fn skip(&mut self, bytes: usize, garbage: usize) -> Result<(), Broken> {
        self.start += bytes;
        self.searched = 0;
        self.garbage += garbage;
        if self.garbage > MAX_GARBAGE {
            Err(Broken::Garbage)
        } else {
            Ok(())
        }
    }
}

/// The length that a header block names, and how many of its bytes belong to no header.
fn read_header(block: &[u8]) -> (Option<u64>, usize) {
    let lower = block.to_ascii_lowercase();
    let Some(at) = memchr::memmem::rfind(&lower, LENGTH) else {
        return (None, block.len());
    };
    let digits: Vec<u8> = lower
        .iter()
        .skip(at + LENGTH.len())
        .skip_while(|b| **b == b' ' || **b == b'\t')
        .take_while(|b| b.is_ascii_digit())
        .copied()
        .collect();
    if digits.is_empty() {
        return (None, block.len());
    }
    let length = digits.iter().fold(0u64, |n, d| {
        n.saturating_mul(10).saturating_add(u64::from(d - b'0'))
    });
    // Other header fields before it are fine; anything else was written between two messages.
    let before = lower.get(..at).unwrap_or_default();
    let garbage = before
        .split_inclusive(|b| *b == b'\n')
        .filter(|line| {
            let name = line.split(|b| *b == b':').next().unwrap_or_default();
            !(line.contains(&b':')
                && line.ends_with(b"\r\n")
                && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-'))
        })
        .map(<[u8]>::len)
        .sum();
    (Some(length), garbage)
}

/// One frame: `body` gets its header, in one buffer so that it is written at once.
pub fn frame(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 32);
    out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    out.extend_from_slice(body);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(chunks: &[&[u8]]) -> Result<Vec<String>, Broken> {
        let mut framer = Framer::default();
        let mut out = Vec::new();
        for chunk in chunks {
            framer.space().extend_from_slice(chunk);
            while let Some(piece) = framer.next_body()? {
                let (Piece::Body(range) | Piece::Head(range, _)) = piece;
                out.push(String::from_utf8_lossy(framer.body(range)).into_owned());
            }
        }
        Ok(out)
    }

    #[test]
    fn frames_split_anywhere_and_several_at_once() {
        let stream = [
            frame(b"{\"a\":1}"),
            frame("{\"ü\":2}".as_bytes()),
            frame(b""),
        ]
        .concat();
        let want = ["{\"a\":1}", "{\"ü\":2}", ""];
        assert_eq!(bodies(&[&stream]).unwrap(), want);
        for at in 0..stream.len() {
            assert_eq!(
                bodies(&[&stream[..at], &stream[at..]]).unwrap(),
                want,
                "{at}"
            );
        }
        let single: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(bodies(&single).unwrap(), want);
    }

    #[test]
    fn headers_in_any_case_with_others() {
        assert_eq!(
            bodies(&[b"Content-Type: x; charset=utf-8\r\ncontent-LENGTH:  2\r\nX-Y: z\r\n\r\n{}"])
                .unwrap(),
            ["{}"]
        );
    }

    #[test]
    fn garbage_is_skipped() {
        let noise: [&[u8]; 4] = [
            b"hello\n",
            b"hello",
            b"\r\n\r\n\xff\xfe",
            b"Content-Length: x\r\n\r\n",
        ];
        for noise in noise {
            let stream = [noise, &frame(b"{}"), noise, &frame(b"[]")].concat();
            assert_eq!(bodies(&[&stream]).unwrap(), ["{}", "[]"], "{noise:?}");
        }
    }

    #[test]
    fn what_never_ends_is_given_up() {
        assert_eq!(
            bodies(&[b"Content-Length: 100000000000\r\n\r\n"]),
            Err(Broken::Oversized(100_000_000_000))
        );
        assert_eq!(
            bodies(&[b"Content-Length: 99999999999999999999999999\r\n\r\n"]),
            Err(Broken::Oversized(u64::MAX))
        );
        let flood = vec![b'x'; 200_000];
        assert_eq!(bodies(&[&flood]), Err(Broken::Garbage));
    }

    #[test]
    fn one_that_is_too_long_is_passed_over() {
        let long = vec![b'x'; MAX_BODY + 1];
        let stream = [frame(&long), frame(b"{}")].concat();
        let chunks: Vec<&[u8]> = stream.chunks(100_000).collect();
        let found = bodies(&chunks).unwrap();
        assert_eq!(found, ["x".repeat(HEAD), String::from("{}")]);
        let mut framer = Framer::default();
        let mut most = 0;
        for chunk in chunks {
            framer.space().extend_from_slice(chunk);
            while framer.next_body().unwrap().is_some() {}
            most = most.max(framer.space().capacity());
        }
        assert!(most < 1 << 20, "{most}");
    }

    #[test]
    fn memory_follows_what_arrives() {
        let mut framer = Framer::default();
        framer
            .space()
            .extend_from_slice(format!("Content-Length: {MAX_BODY}\r\n\r\n").as_bytes());
        assert_eq!(framer.next_body(), Ok(None));
        assert!(framer.space().capacity() < 1 << 20);
    }
}
