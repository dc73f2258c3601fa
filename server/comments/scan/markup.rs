//! Markup: tags, scripts and styles, PHP, front matter, the examples of Markdown.

use postil_grammars::by_name;

use super::rules::{BACK, is_word};
use super::{Scanner, after_line_end, line_length};
use crate::comments::embed::{self, Part};

impl Scanner<'_> {
    pub(super) fn front_matter(&mut self, language: &str) {
        let first = self.line_from(self.at).trim_ascii_end();
        if first != b"---" && !(first == b"+++" && language == "yaml") {
            return;
        }
        let start = self.next_line(self.at);
        let Some(end) = self.find_line(start, |line| line.trim_ascii_end() == first) else {
            return;
        };
        let language = if first == b"+++" { "toml" } else { language };
        if let Some(language) = by_name(language) {
            self.out.embedded.push(Part::new(start..end, language));
        }
        self.pass(self.next_line(end));
        self.line_start = self.at;
    }

    /// A fenced block, or a line that its indentation makes an example.
    pub(super) fn fence(&mut self) -> bool {
        let line = self.line_from(self.at);
        let body = line.trim_ascii_start();
        let indent = &line[..line.len() - body.len()];
        if indent.contains(&b'\t') || indent.len() >= 4 {
            let above = self
                .bytes
                .get(self.at.saturating_sub(BACK)..self.at)
                .unwrap_or_default();
            let above = above.strip_suffix(b"\n").unwrap_or(above);
            let above = above.rsplit(|b| *b == b'\n').next().unwrap_or_default();
            let item = |line: &[u8]| {
                line.trim_ascii_start()
                    .first()
                    .is_some_and(|b| b"-*+0123456789".contains(b))
            };
            if !body.is_empty()
                && !item(above)
                && (above.trim_ascii().is_empty()
                    || above.starts_with(b"    ")
                    || above.starts_with(b"\t"))
            {
                let end = self.next_line(self.at);
                self.push_string(self.at..end);
                self.line_start = self.at;
                return true;
            }
        }
        // A fence may stand in a list or a quotation.
        let body = body
            .iter()
            .position(|b| !matches!(b, b'>' | b' ' | b'-' | b'*'))
            .map_or(&body[..0], |at| &body[at..]);
        let Some(&mark) = body.first().filter(|b| matches!(b, b'`' | b'~')) else {
            return false;
        };
        let count = body.iter().take_while(|b| **b == mark).count();
        if count < 3 || (mark == b'`' && body[count..].contains(&b'`')) {
            return false;
        }
        let next = self.next_line(self.at);
        let end = self.find_line(next, |line| {
            let line = line.trim_ascii();
            let line = line
                .iter()
                .position(|b| !matches!(b, b'>' | b' '))
                .map_or(line, |at| &line[at..]);
            line.len() >= count && line.iter().all(|b| *b == mark)
        });
        let end = end.map_or(self.bytes.len(), |at| self.next_line(at));
        self.push_string(self.at..end);
        self.line_start = self.at;
        true
    }

    pub(super) fn code_span(&mut self) -> bool {
        if self.here() == b'\\' {
            return self.peek(1).is_ascii_punctuation() && self.character(1);
        }
        if self.here() != b'`' {
            return false;
        }
        let count = self.rest().iter().take_while(|b| **b == b'`').count();
        let from = self.at + count;
        // A paragraph ends at an empty line, and a code span with it.
        let mut limit = from + line_length(&self.bytes[from..]);
        while limit < self.bytes.len() {
            let next = after_line_end(self.bytes, limit);
            let line = self.line_from(next);
            if line.trim_ascii().is_empty() {
                break;
            }
            limit = next + line.len();
        }
        self.looked(Some(limit + 1));
        self.spend(limit - from);
        let mut at = from;
        while at < limit {
            let run = self.bytes[at..limit]
                .iter()
                .take_while(|b| **b == b'`')
                .count();
            if run == count {
                self.push_string(self.at..at + run);
                return true;
            }
            at += run.max(1);
        }
        self.at = from;
        true
    }

    /// `<![CDATA[ … ]]>` or a tag, whose quoted attributes are text.
    pub(super) fn tag(&mut self) -> bool {
        if self.rest().starts_with(b"<![CDATA[") {
            return self.string_to(9, b"]]>");
        }
        let Some(end) = self.tag_end() else {
            return false;
        };
        self.push_inserts(self.at..end);
        self.push_string(self.at..end);
        true
    }

    /// The byte behind the tag that begins here, if one does.
    pub(super) fn tag_end(&mut self) -> Option<usize> {
        if self.here() != b'<'
            || !(self.peek(1).is_ascii_alphabetic()
                || matches!(self.peek(1), b'/' | b'!' | b'?') && self.peek(2).is_ascii_alphabetic())
        {
            return None;
        }
        let mut at = self.at + 1;
        let mut quote = 0;
        let mut depth = 0usize;
        let expressions = matches!(self.language.name, "svelte" | "astro");
        let mut found = None;
        while let Some(&byte) = self.bytes.get(at) {
            if self.inserts[usize::from(byte)]
                && let Some(end) = self.insert_end(at)
            {
                at = end.max(at + 1);
                continue;
            }
            match byte {
                // An attribute's value may be an expression.
                b'{' if expressions && quote == 0 => depth += 1,
                b'}' if depth > 0 && quote == 0 => depth -= 1,
                b'`' if depth > 0 && quote == 0 => quote = byte,
                b'<' | b'>' if depth > 0 && quote == 0 => {}
                b'"' | b'\'' if quote == 0 => quote = byte,
                byte if byte == quote => quote = 0,
                b'>' if quote == 0 => {
                    found = Some(at + 1);
                    break;
                }
                // A tag that was never closed.
                b'<' if quote == 0 => break,
                _ => {}
            }
            at += 1;
        }
        self.looked(Some(at));
        self.spend(at - self.at);
        found
    }

    /// An element whose text is code, or no markup.
    pub(super) fn script(&mut self) -> bool {
        let head = self.rest().get(1..).unwrap_or_default();
        let vue = matches!(self.language.name, "vue" | "svelte" | "astro");
        let name = [&b"script"[..], b"style", b"textarea", b"title", b"template"]
            .into_iter()
            .find(|name| {
                head.get(..name.len())
                    .is_some_and(|head| head.eq_ignore_ascii_case(name))
                    && !head
                        .get(name.len())
                        .is_some_and(|b| is_word(*b) || *b == b'-')
            });
        // A component may be called `Title`.
        let Some(name) = name.filter(|name| match *name {
            b"script" | b"style" => true,
            b"template" => vue,
            _ => !vue,
        }) else {
            return false;
        };
        let Some(start) = self.tag_end() else {
            return false;
        };
        let Some(tag) = self.text.get(self.at..start) else {
            return false;
        };
        if tag.ends_with("/>") {
            return false;
        }
        let language = match name {
            b"script" => embed::script(tag),
            b"style" => embed::style(tag),
            b"template" => match embed::template(tag) {
                None => return false,
                language => language,
            },
            _ => None,
        };
        let mut from = start;
        let end = loop {
            let Some(at) = self.find(from, b"</") else {
                break self.bytes.len();
            };
            let close = self
                .bytes
                .get(at + 2..at + 2 + name.len())
                .unwrap_or_default();
            if close.eq_ignore_ascii_case(name) {
                break at;
            }
            from = at + 2;
        };
        self.push_inserts(self.at..start);
        match language {
            Some(language) => {
                self.push_string(self.at..start);
                self.push_parts(start..end, language);
                self.pass(end);
            }
            None => {
                self.push_inserts(start..end);
                self.push_string(self.at..end);
            }
        }
        true
    }
}
