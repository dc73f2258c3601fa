//! A reader of JSON that goes forward and notes places: what a notebook holds besides its cells may be
//! megabytes of pictures, which are passed over and never decoded. No recursion.

use std::ops::Range;

/// The text is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

type Read<T> = Result<T, Malformed>;

pub(super) struct Json<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Json<'a> {
    pub fn new(text: &'a str) -> Self {
        let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Self {
            bytes: text.as_bytes(),
            at,
        }
    }

    /// The byte of the next token.
    pub fn start(&mut self) -> usize {
        self.blanks();
        self.at
    }

    /// The byte behind what was read last.
    pub fn end(&self) -> usize {
        self.at
    }

    pub fn peek(&mut self) -> u8 {
        self.blanks();
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    /// Nothing but blanks may follow.
    pub fn finish(mut self) -> Read<()> {
        self.blanks();
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    fn blanks(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest
            .iter()
            .take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'))
            .count();
    }

    fn take(&mut self, byte: u8) -> bool {
        let here = self.peek() == byte && self.at < self.bytes.len();
        self.at += usize::from(here);
        here
    }

    fn expect(&mut self, byte: u8) -> Read<()> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    /// The bytes between the quotes of the string that follows, still escaped.
    pub fn string(&mut self) -> Read<Range<usize>> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            let rest = self.bytes.get(self.at..).ok_or(Malformed)?;
            let stop = memchr::memchr2(b'"', b'\\', rest).ok_or(Malformed)?;
            let passed = rest.get(..stop).ok_or(Malformed)?;
            // Only a line end can be seen that a person would call a broken file.
            if memchr::memchr(b'\n', passed).is_some() {
                return Err(Malformed);
            }
            self.at += stop + 1;
            if rest.get(stop) == Some(&b'"') {
                return Ok(start..self.at - 1);
            }
            self.at += 1;
        }
    }

    /// The key of a field, still escaped, and the colon behind it.
    fn key(&mut self) -> Read<&'a [u8]> {
        let key = self.string()?;
        self.expect(b':')?;
        self.bytes.get(key).ok_or(Malformed)
    }

    /// Each field of the object that follows; `each` reads its value.
    pub fn object(&mut self, mut each: impl FnMut(&[u8], &mut Self) -> Read<()>) -> Read<()> {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            let key = self.key()?;
            each(key, self)?;
            if !self.take(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// Each item of the list that follows; `each` reads it.
    pub fn list(&mut self, mut each: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.expect(b'[')?;
        if self.take(b']') {
            return Ok(());
        }
        loop {
            each(self)?;
            if !self.take(b',') {
                return self.expect(b']');
            }
        }
    }

    /// Passes over any value.
    pub fn value(&mut self) -> Read<()> {
        // What is open: `{` or `[`.
        let mut open: Vec<u8> = Vec::new();
        loop {
            match self.peek() {
                b'"' => {
                    self.string()?;
                }
                b'{' => {
                    self.at += 1;
                    if !self.take(b'}') {
                        self.key()?;
                        open.push(b'{');
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    if !self.take(b']') {
                        open.push(b'[');
                        continue;
                    }
                }
                _ => self.word()?,
            }
            loop {
                match open.last() {
                    None => return Ok(()),
                    Some(b'{') if self.take(b',') => {
                        self.key()?;
                        break;
                    }
                    Some(b'[') if self.take(b',') => break,
                    Some(b'{') => self.expect(b'}')?,
                    Some(_) => self.expect(b']')?,
                }
                open.pop();
            }
        }
    }

    /// A number, or one of `true`, `false`, `null` (and `NaN`, `Infinity`, which Python writes).
    fn word(&mut self) -> Read<()> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.'))
            .count();
        let word = rest.get(..length).unwrap_or_default();
        let number = word.trim_ascii_start().iter().any(u8::is_ascii_digit)
            && word
                .iter()
                .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E'));
        let named = [
            &b"true"[..],
            b"false",
            b"null",
            b"NaN",
            b"Infinity",
            b"-Infinity",
        ];
        self.at += length;
        if number || named.contains(&word) {
            Ok(())
        } else {
            Err(Malformed)
        }
    }
}

/// A part of a decoded text and the bytes that it was written in: as many, or one escape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Where it begins in the decoded text.
    pub inner: usize,
    /// Where it begins in the text around.
    pub outer: usize,
    /// Bytes of the escape that it is; 0 where the bytes are the same.
    pub escape: usize,
}

/// Decodes what stands at `written`, between two quotes, to the end of `decoded`; notes how it lies.
pub(super) fn decode(
    text: &str,
    written: Range<usize>,
    decoded: &mut String,
    segments: &mut Vec<Segment>,
) {
    let mut at = written.start;
    while at < written.end {
        let rest = text.get(at..written.end).unwrap_or_default();
        let plain = memchr::memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        if plain > 0 {
            segments.push(Segment {
                inner: decoded.len(),
                outer: at,
                escape: 0,
            });
            decoded.push_str(rest.get(..plain).unwrap_or_default());
            at += plain;
            continue;
        }
        let (char, length) = escaped(rest);
        segments.push(Segment {
            inner: decoded.len(),
            outer: at,
            escape: length,
        });
        decoded.push(char);
        at += length;
    }
}

/// The character that the escape at the start of `rest` stands for, and the escape's bytes.
fn escaped(rest: &str) -> (char, usize) {
    let unit = |at: usize| {
        let digits = rest.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let second = rest.get(1..).and_then(|rest| rest.chars().next());
    match second {
        Some('n') => ('\n', 2),
        Some('r') => ('\r', 2),
        Some('t') => ('\t', 2),
        Some('b') => ('\u{8}', 2),
        Some('f') => ('\u{c}', 2),
        Some('u') => match (unit(0), unit(6)) {
            (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                (char::from_u32(code).unwrap_or('\u{fffd}'), 12)
            }
            (Some(unit), _) => (char::from_u32(unit).unwrap_or('\u{fffd}'), 6),
            (None, _) => ('u', 2),
        },
        Some(other) => (other, 1 + other.len_utf8()),
        None => ('\\', 1),
    }
}

/// `text` as it stands between two quotes; all but ASCII as `\u` where `ascii` says so.
pub(super) fn encode(text: &str, ascii: bool, out: &mut String) {
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            char if char < ' ' || (ascii && !char.is_ascii()) => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            char => out.push(char),
        }
    }
}
