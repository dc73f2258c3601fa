//! What takes whole lines: documentation, recipes, comments that their indentation delimits.

use postil_grammars::{by_name, detect};

use super::rules::is_word;
use super::{Scanner, after_line_end, opening};
use crate::comments::Comment;
use crate::comments::embed::Part;

impl Scanner<'_> {
    pub(super) fn pod(&mut self) -> bool {
        if self.here() != b'=' || !self.peek(1).is_ascii_alphabetic() {
            return false;
        }
        let cut = self.find_line(self.at, |line| line.starts_with(b"=cut"));
        let end = cut.map_or(self.bytes.len(), |at| self.next_line(at));
        self.push_string(self.at..end);
        self.line_start = self.at;
        true
    }

    pub(super) fn ruby_begin(&mut self) -> bool {
        let head = self.line_from(self.at);
        if !head.starts_with(b"=begin") || head.get(6).is_some_and(|b| !b.is_ascii_whitespace()) {
            return false;
        }
        let start = self.at;
        let last = self.find_line(start, |line| line.starts_with(b"=end"));
        let (end, close) = match last {
            Some(at) => {
                let line = self.line_from(at).trim_ascii_end();
                (at + line.len(), line.len())
            }
            None => (start + self.bytes[start..].trim_ascii_end().len(), 0),
        };
        self.push_comment(Comment {
            range: start..end,
            open: 6,
            close,
            block: true,
        });
        false
    }

    pub(super) fn end_of_code(&mut self) -> bool {
        if !matches!(
            self.line_from(self.at).trim_ascii_end(),
            b"__END__" | b"__DATA__"
        ) {
            return false;
        }
        self.push_string(self.at..self.bytes.len());
        true
    }

    /// A line of a recipe, with those that it continues on; of a justfile all lines of one that begins with `#!`.
    pub(super) fn recipe(&mut self) -> bool {
        let just = self.language.name == "just";
        if self.here() != b'\t' && !(just && self.here() == b' ') {
            return false;
        }
        if just
            && self
                .line_from(self.at)
                .trim_ascii_start()
                .starts_with(b"#!")
        {
            return self.script_recipe();
        }
        let mut end = self.at;
        loop {
            let line = self.line_from(end);
            end += line.len();
            if !line.ends_with(b"\\") || end >= self.bytes.len() {
                break;
            }
            end = after_line_end(self.bytes, end);
        }
        let prefix = self.bytes[self.at..end]
            .iter()
            .take_while(|b| b"\t @-+".contains(b))
            .count();
        if let Some(shell) = by_name("bash").filter(|_| self.at + prefix < end) {
            let part = Part::new(self.at + prefix..end, shell);
            self.out.embedded.push(part);
        }
        self.pass(end);
        false
    }

    fn script_recipe(&mut self) -> bool {
        let start = self.at;
        let end = self.find_line(start, |line| {
            line.first().is_some_and(|b| !b.is_ascii_whitespace())
        });
        let end = end.unwrap_or(self.bytes.len());
        let head = self.text.get(start..end).unwrap_or_default();
        let language = detect("", None, head.trim_start()).or_else(|| by_name("bash"));
        if let Some(language) = language {
            self.out.embedded.push(Part::new(start..end, language));
        }
        self.pass(end);
        self.line_start = self.at;
        true
    }

    pub(super) fn indented_comment(&mut self, leader: &str) -> bool {
        if !self.rest().starts_with(leader.as_bytes()) || !self.on_blank_line() {
            return false;
        }
        let line = self.line_from(self.at);
        if leader == ".." {
            // Directives, targets, footnotes and substitutions begin in the same way.
            let body = line[2..].trim_ascii_start();
            let word = body
                .iter()
                .take_while(|b| is_word(**b) || matches!(b, b'-' | b':' | b'+' | b'.'))
                .count();
            if !line[2..].first().is_none_or(|b| b.is_ascii_whitespace())
                || body[..word].ends_with(b"::")
                || matches!(body.first(), Some(b'_' | b'[' | b'|'))
            {
                return false;
            }
        }
        let start = self.at;
        let indent = start - self.line_start;
        let mut end = start + line.len();
        let mut at = self.next_line(start);
        while at < self.bytes.len() {
            let line = self.line_from(at);
            let body = line.trim_ascii_start();
            if !body.is_empty() {
                if line.len() - body.len() <= indent {
                    break;
                }
                end = at + line.len();
            }
            at = self.next_line(at);
        }
        self.looked(Some(self.next_line(at)));
        let open = opening(self.bytes, start..end, leader);
        let several =
            self.bytes[start..end].contains(&b'\n') || self.bytes[start..end].contains(&b'\r');
        self.push_comment(Comment {
            range: start..end,
            open,
            close: 0,
            block: several,
        });
        true
    }

    pub(super) fn matlab_block(&mut self) -> bool {
        if !matches!(self.line_from(self.at).trim_ascii_end(), b"%{" | b"#{")
            || !self.on_blank_line()
        {
            return false;
        }
        let start = self.at;
        let (mut depth, mut at) = (0usize, start);
        let mut end = (self.bytes.len(), 0);
        while at < self.bytes.len() {
            let line = self.line_from(at);
            match line.trim_ascii() {
                b"%{" | b"#{" => depth += 1,
                b"%}" | b"#}" => {
                    depth -= 1;
                    if depth == 0 {
                        end = (at + line.trim_ascii_end().len(), 2);
                        break;
                    }
                }
                _ => {}
            }
            at = self.next_line(at);
        }
        self.looked((end.1 > 0).then_some(end.0));
        self.push_comment(Comment {
            range: start..end.0,
            open: 2,
            close: end.1,
            block: true,
        });
        true
    }
}
