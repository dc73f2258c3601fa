//! Frames of the base protocol (LSP 3.17 §Base Protocol): header fields, an empty line, a body of
//! `Content-Length` bytes. Pure: bytes in, bodies out, however they are split.
//!
//! A stream that went wrong is not given up: what cannot be read is reported once and skipped up to the
//! next `Content-Length:`.

/// No message of an editor is larger; a length beyond it is a lie or an accident.
const MAX_BODY: usize = 512 << 20;
/// Longest header that is read before the stream counts as garbage.
const MAX_HEADER: usize = 16 << 10;
const FIELD: &[u8] = b"content-length:";

/// Takes bytes as they come and gives bodies.
#[derive(Default)]
pub(crate) struct Framer {
    buffer: Vec<u8>,
    /// What is before it is done with.
    at: usize,
    state: State,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Start,
    /// Inside a header; `from` is where it began (bytes after the part that is done with).
    Header {
        length: Option<usize>,
        read: usize,
    },
    Body {
        length: usize,
    },
    /// Lost: looking for the next `Content-Length:`.
    Lost,
}

/// What could not be read, in words for the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadFrame(pub(crate) String);

impl Framer {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
            // One large message does not keep its memory for good.
            self.buffer.shrink_to(1 << 20);
        } else if self.at > 1 << 16 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next body or fault; `None`: more bytes are needed.
    pub(crate) fn next(&mut self) -> Option<Result<Vec<u8>, BadFrame>> {
        loop {
            match self.state {
                State::Start => {
                    self.state = State::Header {
                        length: None,
                        read: 0,
                    }
                }
                State::Header { length, read } => {
                    let line = match self.line() {
                        Some(line) => line,
                        None if self.rest().len() + read > MAX_HEADER => {
                            return Some(Err(self.lose("a header without an end")));
                        }
                        None => return None,
                    };
                    let text = self
                        .buffer
                        .get(line.clone())
                        .unwrap_or_default()
                        .trim_ascii_end();
                    if text.is_empty() {
                        match length {
                            Some(length) => self.state = State::Body { length },
                            // An empty line between messages.
                            None if read == 0 => {}
                            None => {
                                self.at = line.end;
                                return Some(Err(self.lose("a header without Content-Length")));
                            }
                        }
                        self.at = line.end;
                        continue;
                    }
                    let read = read + line.len();
                    match field(text) {
                        Field::Length(Some(length)) if length <= MAX_BODY && read <= MAX_HEADER => {
                            self.state = State::Header {
                                length: Some(length),
                                read,
                            };
                        }
                        Field::Length(_) => {
                            self.at = line.end;
                            return Some(Err(self.lose("a Content-Length that cannot be")));
                        }
                        Field::Other if read <= MAX_HEADER => {
                            self.state = State::Header { length, read }
                        }
                        Field::Other | Field::Garbage => {
                            return Some(Err(self.lose("bytes that are no header")));
                        }
                    }
                    self.at = line.end;
                }
                State::Body { length } => {
                    let body = self.rest().get(..length)?.to_vec();
                    self.at += length;
                    self.state = State::Start;
                    return Some(Ok(body));
                }
                State::Lost => match find_field(self.rest()) {
                    Some(found) => {
                        self.at += found;
                        self.state = State::Start;
                    }
                    None => {
                        self.at += self.rest().len().saturating_sub(FIELD.len() - 1);
                        return None;
                    }
                },
            }
        }
    }

    /// Gives back the tail of a body that was no JSON because its length was too great: where a header
    /// stands in it, reading goes on there.
    pub(crate) fn resume(&mut self, body: &[u8]) {
        let Some(found) = find_header(body) else {
            return;
        };
        let tail = body.get(found..).unwrap_or_default();
        let rest = self.rest().to_vec();
        self.buffer.clear();
        self.buffer.extend_from_slice(tail);
        self.buffer.extend_from_slice(&rest);
        self.at = 0;
        self.state = State::Start;
    }

    /// What was fed and not given yet.
    pub(crate) fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// The next line of the header, line end included, as a range of the buffer.
    fn line(&self) -> Option<std::ops::Range<usize>> {
        memchr::memchr(b'\n', self.rest()).map(|end| self.at..self.at + end + 1)
    }

    fn lose(&mut self, why: &str) -> BadFrame {
        self.state = State::Lost;
        BadFrame(why.to_owned())
    }
}

enum Field {
    /// `None`: its value is no number.
    Length(Option<usize>),
    Other,
    Garbage,
}

/// One header line without its end. A field's name is an RFC 9110 token.
fn field(line: &[u8]) -> Field {
    let Some(colon) = memchr::memchr(b':', line) else {
        return Field::Garbage;
    };
    let (name, value) = line.split_at(colon);
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if name.is_empty() || !name.iter().all(token) {
        return Field::Garbage;
    }
    if !name.eq_ignore_ascii_case(b"content-length") {
        return Field::Other;
    }
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    Field::Length(
        std::str::from_utf8(value)
            .ok()
            .filter(|_| digits)
            .and_then(|value| value.parse().ok()),
    )
}

fn find_field(bytes: &[u8]) -> Option<usize> {
    memchr::memchr2_iter(b'c', b'C', bytes).find(|at| {
        bytes
            .get(*at..*at + FIELD.len())
            .is_some_and(|name| name.eq_ignore_ascii_case(FIELD))
    })
}

/// A `Content-Length` line that ends in CRLF: raw line ends cannot stand inside a JSON string, so this
/// is no part of any valid body.
fn find_header(bytes: &[u8]) -> Option<usize> {
    let found = find_field(bytes)?;
    let rest = bytes.get(found..)?;
    let end = memchr::memmem::find(rest, b"\r\n")?;
    matches!(field(rest.get(..end)?), Field::Length(Some(_))).then_some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(body: &str) -> Vec<u8> {
        format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }

    fn drain(framer: &mut Framer) -> Vec<Result<String, BadFrame>> {
        std::iter::from_fn(|| framer.next())
            .map(|read| read.map(|body| String::from_utf8_lossy(&body).into_owned()))
            .collect()
    }

    fn bodies(bytes: &[u8]) -> Vec<String> {
        let mut framer = Framer::default();
        framer.feed(bytes);
        drain(&mut framer).into_iter().flatten().collect()
    }

    #[test]
    fn a_stream_split_anywhere_gives_the_same_bodies() {
        let stream = [frame("{\"a\":1}"), frame(""), frame("{\"é\":\"𝄞\"}")].concat();
        for cut in 0..=stream.len() {
            let mut framer = Framer::default();
            let mut seen = Vec::new();
            for piece in [&stream[..cut], &stream[cut..]] {
                framer.feed(piece);
                seen.extend(drain(&mut framer));
            }
            assert_eq!(
                seen,
                [
                    Ok("{\"a\":1}".into()),
                    Ok(String::new()),
                    Ok("{\"é\":\"𝄞\"}".into())
                ],
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn header_fields_are_read_in_any_case_and_order() {
        let stream = b"content-type: application/vscode-jsonrpc; charset=utf8\r\nX-Other: 1\r\nCONTENT-LENGTH:  2 \r\n\r\n{}";
        assert_eq!(bodies(stream), ["{}"]);
        assert_eq!(
            bodies(b"\r\n\nContent-Length: 2\n\n{}"),
            ["{}"],
            "bare line feeds and empty lines between messages"
        );
    }

    #[test]
    fn garbage_is_reported_once_and_the_next_message_read() {
        for garbage in [
            "}}\"rest of a body",
            "no header at all\r\n\r\n",
            "X: 1\r\n\r\n",
            "Content-Length: abc\r\n\r\n{\"x\":1}",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: 107374182400\r\n\r\n{\"x\":1}",
            ": 1\r\n",
        ] {
            let mut framer = Framer::default();
            framer.feed(&[garbage.as_bytes(), &frame("{\"next\":1}")].concat());
            let seen = drain(&mut framer);
            assert_eq!(
                seen.iter().filter(|read| read.is_err()).count(),
                1,
                "{garbage:?}: {seen:?}"
            );
            assert_eq!(seen.last(), Some(&Ok("{\"next\":1}".into())), "{garbage:?}");
        }
    }

    #[test]
    fn a_header_without_an_end_is_given_up() {
        let mut framer = Framer::default();
        framer.feed(&vec![b'a'; MAX_HEADER + 1]);
        assert!(matches!(framer.next(), Some(Err(_))));
        assert_eq!(framer.next(), None);
        assert!(framer.rest().len() < 32, "what is skipped is not kept");
        framer.feed(&frame("{}"));
        assert_eq!(drain(&mut framer), [Ok("{}".into())]);
    }

    #[test]
    fn a_length_too_great_costs_its_own_message_alone() {
        let mut framer = Framer::default();
        framer.feed(
            &[
                b"Content-Length: 30\r\n\r\n{\"short\":1}".as_slice(),
                &frame("{\"next\":1}"),
                &frame("{\"last\":1}"),
            ]
            .concat(),
        );
        let swallowed = framer.next().unwrap().unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&swallowed).is_err());
        framer.resume(&swallowed);
        // The header of the next message was cut in two by the wrong length; the one after it is read.
        assert_eq!(
            drain(&mut framer).into_iter().flatten().next_back(),
            Some("{\"last\":1}".into())
        );

        let long = [
            b"Content-Length: 60\r\n\r\n{\"short\":1}".as_slice(),
            &frame("{\"next\":1}"),
            &frame("{\"last\":1}"),
        ]
        .concat();
        let mut framer = Framer::default();
        framer.feed(&long);
        let swallowed = framer.next().unwrap().unwrap();
        framer.resume(&swallowed);
        assert_eq!(
            drain(&mut framer),
            [Ok("{\"next\":1}".into()), Ok("{\"last\":1}".into())]
        );
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..64), 0..32)) {
            let mut framer = Framer::default();
            for piece in pieces {
                framer.feed(&piece);
                while framer.next().is_some() {}
            }
        }

        #[test]
        fn a_message_after_any_line_of_text_is_read(garbage in "[ -~]{0,80}") {
            prop_assume!(!garbage.to_ascii_lowercase().contains("content-length"));
            // A whole line of garbage may look like a field; it is then part of the header that follows.
            let stream = [garbage.as_bytes(), b"\"}\r\n", &frame("{\"next\":1}")].concat();
            prop_assert_eq!(bodies(&stream), ["{\"next\":1}"]);
        }
    }
}
