//! Quotes whose delimiters are chosen by who writes them: regular expressions, Perl's and Ruby's
//! operators, sigils, raw strings with counted marks.

use super::rules::is_word;
use super::{Scanner, line_length};

impl Scanner<'_> {
    /// Whether an operand may begin here, so that `/` or `%` is no operator.
    fn operand(&self) -> bool {
        if !is_word(self.last) {
            return !matches!(self.last, b')' | b']' | b'}' | b'"' | b'\'' | b'$' | b'@');
        }
        let head = self
            .bytes
            .get(self.line_start..self.at)
            .unwrap_or_default()
            .trim_ascii_end();
        let start = head
            .iter()
            .rposition(|b| !is_word(*b))
            .map_or(0, |at| at + 1);
        let keywords = [
            "return",
            "typeof",
            "case",
            "in",
            "of",
            "delete",
            "void",
            "throw",
            "new",
            "else",
            "do",
            "yield",
            "await",
            "and",
            "or",
            "not",
            "if",
            "unless",
            "when",
            "while",
            "until",
            "split",
            "grep",
            "then",
            "puts",
            "assert_match",
            "join",
            "map",
            "print",
        ];
        keywords.iter().any(|k| k.as_bytes() == &head[start..])
    }

    pub(super) fn regex(&mut self) -> bool {
        let rest = self.rest();
        if rest.first() != Some(&b'/')
            || !self.operand()
            || self.language.line.iter().any(|l| l.open == "//")
                && matches!(rest.get(1), Some(b'/' | b'*'))
        {
            return false;
        }
        let line = &rest[..line_length(rest)];
        self.spend(line.len());
        let (mut at, mut class) = (1, false);
        while let Some(&byte) = line.get(at) {
            match byte {
                b'\\' => at += 1,
                b'[' => class = true,
                b']' => class = false,
                b'/' if !class => {
                    self.push_string(self.at..self.at + at + 1);
                    return true;
                }
                _ => {}
            }
            at += 1;
        }
        false
    }

    /// The byte behind the quotation that the delimiter at `at` opens; brackets of one kind nest.
    fn quotation(&mut self, at: usize) -> Option<usize> {
        let open = *self.bytes.get(at)?;
        let close = closing(open);
        let (from, mut depth, mut at) = (at, 1usize, at + 1);
        while let Some(&byte) = self.bytes.get(at) {
            at += 1;
            if byte == b'\\' {
                at += 1;
            } else if byte == close {
                depth -= 1;
                if depth == 0 {
                    self.looked(Some(at));
                    self.spend(at - from);
                    return Some(at);
                }
            } else if byte == open {
                depth += 1;
            }
        }
        self.looked(None);
        self.spend(at - from);
        None
    }

    pub(super) fn perl_quotes(&mut self) -> bool {
        let rest = self.rest();
        if rest.first() == Some(&b'$') {
            // `$#array`, `$"`, `$'`, `$/`: variables whose names are marks.
            let mark = rest.get(1).is_some_and(|b| b"#\"'`/;".contains(b));
            self.at += if mark { 2 } else { 0 };
            return mark;
        }
        let before = self.before();
        if is_word(before)
            || b"$@%&>-:{".contains(&before)
                && !(before == b'{' && rest.get(1).is_some_and(|b| b"({[/".contains(b)))
        {
            return false;
        }
        let operators = [
            &b"qq"[..],
            b"qw",
            b"qx",
            b"qr",
            b"tr",
            b"q",
            b"m",
            b"s",
            b"y",
        ];
        let Some(operator) = operators
            .into_iter()
            .find(|o| rest.starts_with(o) && !rest.get(o.len()).is_some_and(|b| is_word(*b)))
        else {
            return false;
        };
        let body = rest[operator.len()..].trim_ascii_start();
        let blanks = rest.len() - operator.len() - body.len();
        let Some(&open) = body.first() else {
            return false;
        };
        if !open.is_ascii_punctuation()
            || b"=,;)]}>\\".contains(&open)
            || (blanks > 0 && b"#-.+*?<:&|%!".contains(&open))
        {
            return false;
        }
        let Some(mut end) = self.quotation(self.at + operator.len() + blanks) else {
            return false;
        };
        if matches!(operator, b"s" | b"tr" | b"y") {
            let second = if closing(open) == open {
                end - 1
            } else {
                let rest = self.bytes.get(end..).unwrap_or_default();
                end + rest.len() - rest.trim_ascii_start().len()
            };
            let Some(second) = self.quotation(second) else {
                return false;
            };
            end = second;
        }
        self.push_string(self.at..end.min(self.bytes.len()));
        true
    }

    pub(super) fn percent_literal(&mut self) -> bool {
        let rest = self.rest();
        if rest.first() != Some(&b'%') {
            return false;
        }
        let letter = rest.get(1).is_some_and(|b| b"qQwWiIrsx".contains(b));
        let offset = if letter { 2 } else { 1 };
        let Some(&open) = rest.get(offset) else {
            return false;
        };
        let bracket = b"([{<".contains(&open);
        let spaced = self.before().is_ascii_whitespace();
        let fits = if letter {
            open.is_ascii_punctuation() && open != b'=' && (self.operand() || (bracket && spaced))
        } else {
            bracket && self.operand()
        };
        let Some(end) = fits.then(|| self.quotation(self.at + offset)).flatten() else {
            return false;
        };
        self.push_string(self.at..end.min(self.bytes.len()));
        true
    }

    pub(super) fn sigil(&mut self) -> bool {
        let rest = self.rest();
        let letters = rest
            .iter()
            .skip(1)
            .take_while(|b| b.is_ascii_alphanumeric())
            .count();
        let Some(&open) = rest
            .get(1 + letters)
            .filter(|b| rest[0] == b'~' && letters > 0 && b"/|\"'([{<".contains(b))
        else {
            return false;
        };
        let start = self.at + 1 + letters;
        let triple = [open; 3];
        if matches!(open, b'"' | b'\'') && rest[1 + letters..].starts_with(&triple) {
            return self.string_to(letters + 4, &triple);
        }
        let Some(end) = self.quotation(start) else {
            return false;
        };
        self.push_string(self.at..end.min(self.bytes.len()));
        true
    }

    pub(super) fn swift_raw(&mut self) -> bool {
        let rest = self.rest();
        let hashes = rest.iter().take_while(|b| **b == b'#').count();
        let quotes = rest[hashes..].iter().take_while(|b| **b == b'"').count();
        if hashes == 0 || quotes == 0 {
            return false;
        }
        let quotes = if quotes >= 3 { 3 } else { 1 };
        let close = ["\"".repeat(quotes), "#".repeat(hashes)].concat();
        if quotes == 3 {
            return self.string_to(hashes + 3, close.as_bytes());
        }
        let line = &rest[..line_length(rest)];
        let length = memchr::memmem::find(&line[hashes + 1..], close.as_bytes())
            .map_or(line.len(), |at| hashes + 1 + at + close.len());
        self.push_string(self.at..self.at + length);
        true
    }

    pub(super) fn csharp_raw(&mut self) -> bool {
        let rest = self.rest();
        let dollars = rest.iter().take_while(|b| **b == b'$').count();
        let quotes = rest[dollars..].iter().take_while(|b| **b == b'"').count();
        quotes >= 3 && self.string_to(dollars + quotes, "\"".repeat(quotes).as_bytes())
    }

    /// `url(…)`, where no quote is in it.
    pub(super) fn url(&mut self) -> bool {
        let is_url = |head: &[u8]| head.eq_ignore_ascii_case(b"url(");
        if is_word(self.before()) || !self.rest().get(..4).is_some_and(is_url) {
            return false;
        }
        let length = line_length(self.rest());
        let inside = self.rest().get(4..length).unwrap_or_default();
        let end = inside.iter().position(|b| matches!(b, b')' | b'"' | b'\''));
        let open = self.at + 4;
        self.looked(Some(open + end.unwrap_or(inside.len())));
        self.spend(length);
        match end.filter(|end| inside.get(*end) == Some(&b')')) {
            Some(end) => {
                self.push_string(self.at..open + end + 1);
                true
            }
            None => false,
        }
    }

    pub(super) fn question_char(&mut self) -> bool {
        let before = self.before();
        let next = self.peek(1);
        if self.here() != b'?'
            || is_word(before)
            || b")]}\"'".contains(&before)
            || next.is_ascii_whitespace()
        {
            return false;
        }
        if next == b'\\' {
            return self.character(2);
        }
        !is_word(self.peek(2)) && next < 0x80 && self.character(1)
    }
}

pub(super) fn closing(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        b'<' => b'>',
        other => other,
    }
}
