//! Strings and characters whose delimiters are counted or told from something else by what is around them.

use super::quotes::closing;
use super::rules::is_word;
use super::{Scanner, line_length};
use crate::comments::Comment;

impl Scanner<'_> {
    pub(super) fn char_literal(&mut self) -> bool {
        let word = self.word_before();
        if self.here() != b'\''
            || !(word.is_empty() || [&b"b"[..], b"u", b"U", b"L", b"u8"].contains(&word))
        {
            return false;
        }
        let length = if self.peek(1) == b'\\' {
            // `'\u{10ffff}'` is the longest.
            self.line_from(self.at + 3)
                .iter()
                .take(12)
                .position(|b| *b == b'\'')
                .map(|at| at + 4)
        } else {
            let char = self
                .text
                .get(self.at + 1..)
                .and_then(|rest| rest.chars().next())
                .map_or(0, char::len_utf8);
            (self.peek(1) != b'\'' && self.peek(1) != b'\n' && self.peek(1 + char) == b'\'')
                .then_some(char + 2)
        };
        let Some(length) = length else { return false };
        self.push_string(self.at..(self.at + length).min(self.bytes.len()));
        true
    }

    pub(super) fn rust_raw(&mut self) -> bool {
        let rest = self.rest();
        let prefix = [&b"br"[..], b"cr", b"r"]
            .into_iter()
            .find(|p| rest.starts_with(p));
        let Some(prefix) = prefix.filter(|_| !is_word(self.before())) else {
            return false;
        };
        let hashes = rest[prefix.len()..]
            .iter()
            .take_while(|b| **b == b'#')
            .count();
        if rest.get(prefix.len() + hashes) != Some(&b'"') {
            return false;
        }
        let close = [b"\"", "#".repeat(hashes).as_bytes()].concat();
        self.string_to(prefix.len() + hashes + 1, &close)
    }

    pub(super) fn cpp_raw(&mut self) -> bool {
        let word = self.word_before();
        if !self.rest().starts_with(b"R\"")
            || !(word.is_empty() || [&b"u"[..], b"U", b"L", b"u8"].contains(&word))
        {
            return false;
        }
        let tag = &self.rest()[2..];
        let Some(length) = tag.iter().take(17).position(|b| *b == b'(') else {
            return false;
        };
        let close = [b")", &tag[..length], b"\""].concat();
        self.string_to(3 + length, &close)
    }

    pub(super) fn r_raw(&mut self) -> bool {
        let [b'r' | b'R', quote @ (b'"' | b'\''), rest @ ..] = self.rest() else {
            return false;
        };
        let dashes = rest.iter().take_while(|b| **b == b'-').count();
        let Some(&open @ (b'(' | b'[' | b'{')) = rest.get(dashes) else {
            return false;
        };
        if is_word(self.before()) {
            return false;
        }
        let close = [&[closing(open)], &rest[..dashes], &[*quote][..]].concat();
        self.string_to(3 + dashes, &close)
    }

    pub(super) fn long_bracket(&mut self, leader: &[u8]) -> bool {
        let comment = self.rest().starts_with(leader);
        let offset = if comment { leader.len() } else { 0 };
        let Some(rest) = self
            .rest()
            .get(offset..)
            .and_then(|rest| rest.strip_prefix(b"["))
        else {
            return false;
        };
        let level = rest.iter().take_while(|b| **b == b'=').count();
        if rest.get(level) != Some(&b'[') {
            return false;
        }
        let open = offset + level + 2;
        let close = ["]", &"=".repeat(level), "]"].concat();
        if !comment {
            return self.string_to(open, close.as_bytes());
        }
        let start = self.at;
        let closed = self.find(start + open, close.as_bytes());
        let end = closed.map_or(self.bytes.len(), |at| at + close.len());
        self.push_comment(Comment {
            range: start..end,
            open,
            close: if closed.is_some() { close.len() } else { 0 },
            block: true,
        });
        true
    }

    pub(super) fn bar_quote(&mut self) -> bool {
        let line = self.line_from(self.at);
        let Some(rest) = line.strip_prefix(b"{") else {
            return false;
        };
        let mut tag = rest;
        if let Some(named) = rest.strip_prefix(b"%") {
            let named = named.strip_prefix(b"%").unwrap_or(named);
            let name = |b: &u8| is_word(*b) || matches!(b, b'.' | b'\'');
            let length = named.iter().take_while(|b| name(b)).count();
            tag = named[length..].trim_ascii_start();
        }
        let length = tag
            .iter()
            .take_while(|b| b.is_ascii_lowercase() || **b == b'_' || **b >= 0x80)
            .count();
        if tag.get(length) != Some(&b'|') {
            return false;
        }
        let close = [b"|", &tag[..length], b"}"].concat();
        self.string_to(line.len() - tag.len() + length + 1, &close)
    }

    pub(super) fn quasi_quote(&mut self) -> bool {
        let line = self.line_from(self.at);
        let Some(rest) = line.strip_prefix(b"[") else {
            return false;
        };
        let name = |b: &u8| is_word(*b) || matches!(b, b'.' | b'\'');
        let length = rest.iter().take_while(|b| name(b)).count();
        let (name, body) = rest.split_at(length);
        let last = name.rsplit(|b| *b == b'.').next().unwrap_or_default();
        let is_name = last
            .first()
            .is_some_and(|b| !b.is_ascii_uppercase() && !b.is_ascii_digit());
        let Some(body) = body.strip_prefix(b"|") else {
            return false;
        };
        if !is_name || matches!(name, b"e" | b"d" | b"t" | b"p") {
            return false;
        }
        // A list comprehension is written in the same way: `[x|x <- xs]`.
        let close = memchr::memmem::find(body, b"|]").unwrap_or(body.len());
        if memchr::memmem::find(&body[..close], b"<-").is_some() {
            return false;
        }
        let open = self.at + length + 2;
        match self.find(open, b"|]") {
            Some(at) => {
                self.push_string(self.at..at + 2);
                true
            }
            None => false,
        }
    }

    pub(super) fn verbatim(&mut self) -> bool {
        let rest = self.rest();
        if let Some(after) = rest.strip_prefix(b"\\verb") {
            let after = after.strip_prefix(b"*").unwrap_or(after);
            let Some(&mark) = after.first().filter(|b| b.is_ascii_punctuation()) else {
                return false;
            };
            let line = &after[1..1 + line_length(&after[1..])];
            let Some(length) = line.iter().position(|b| *b == mark) else {
                return false;
            };
            let end = self.bytes.len() - after.len() + length + 2;
            self.push_string(self.at..end);
            return true;
        }
        let Some(after) = rest.strip_prefix(b"\\begin{") else {
            return false;
        };
        let name = &after[..after.iter().take(40).position(|b| *b == b'}').unwrap_or(0)];
        let known = [
            &b"verbatim"[..],
            b"verbatim*",
            b"lstlisting",
            b"minted",
            b"Verbatim",
            b"filecontents",
            b"filecontents*",
            b"comment",
        ];
        if !known.contains(&name) {
            return false;
        }
        let close = [b"\\end{", name, b"}"].concat();
        self.string_to(8 + name.len(), &close)
    }

    /// Notes a character literal of which `length` bytes and one character more belong together.
    pub(super) fn character(&mut self, length: usize) -> bool {
        let Some(rest) = self.text.get(self.at + length..) else {
            return false;
        };
        let Some(char) = rest.chars().next().filter(|c| *c != '\n' && *c != '\r') else {
            return false;
        };
        self.push_string(self.at..self.at + length + char.len_utf8());
        true
    }

    /// Notes a string whose opening delimiter has `open` bytes, up to the next `close` or the text's end.
    pub(super) fn string_to(&mut self, open: usize, close: &[u8]) -> bool {
        let end = self
            .find(self.at + open, close)
            .map_or(self.bytes.len(), |at| at + close.len());
        self.push_string(self.at..end);
        true
    }
}
