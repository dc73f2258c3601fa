//! Text that a line announces: heredocs, block scalars, dollar quotes.

use memchr::memmem;
use postil_grammars::{Language, by_name, detect};

use super::rules::{BACK, is_word};
use super::{Heredoc, Scanner};
use crate::comments::embed::Part;

impl<'a> Scanner<'a> {
    pub(super) fn heredoc(&mut self) -> bool {
        let rest = self.rest();
        let Some(after) = rest
            .strip_prefix(b"<<")
            .filter(|r| !r.starts_with(b"<") && self.before() != b'<')
        else {
            return false;
        };
        let indented = matches!(after.first(), Some(b'-' | b'~'));
        let after = if indented { &after[1..] } else { after };
        let mut word = after;
        // A shell lets blanks stand between the operator and the word.
        if self.language.name == "bash" {
            word = word.trim_ascii_start();
        }
        let skipped = after.len() - word.len();
        let quote = word
            .first()
            .copied()
            .filter(|b| matches!(b, b'"' | b'\'' | b'`' | b'\\'));
        let word = if quote.is_some() { &word[1..] } else { word };
        let length = match quote {
            Some(quote) if quote != b'\\' => word
                .iter()
                .position(|b| matches!(*b, b'\n' | b'\r') || *b == quote)
                .filter(|at| word.get(*at) == Some(&quote)),
            _ => Some(word.iter().take_while(|b| is_word(**b)).count()),
        };
        let Some(length) = length.filter(|l| *l > 0) else {
            return false;
        };
        // `1 <<2` shifts; `a <<b` appends.
        let begins = word.first().copied().unwrap_or(0);
        let shell = matches!(self.language.name, "bash" | "dockerfile");
        if quote.is_none()
            && (begins.is_ascii_digit()
                || !(indented || shell || begins.is_ascii_uppercase() || begins == b'_'))
        {
            return false;
        }
        let start = self.bytes.len() - word.len();
        let Some(name) = self.text.get(start..start + length) else {
            return false;
        };
        self.heredocs.push(Heredoc {
            word: name,
            code: self.program_of_heredoc(start + length),
            indented: indented || self.language.name == "terraform",
            whole: true,
        });
        self.at += 2
            + usize::from(indented)
            + skipped
            + usize::from(quote.is_some())
            + length
            + usize::from(quote.is_some_and(|q| q != b'\\'));
        true
    }

    pub(super) fn php_heredoc(&mut self) -> bool {
        let Some(rest) = self.rest().strip_prefix(b"<<<") else {
            return false;
        };
        let word = rest.trim_ascii_start();
        let quote = word.first().filter(|b| matches!(b, b'"' | b'\''));
        let word = if quote.is_some() { &word[1..] } else { word };
        let length = word.iter().take_while(|b| is_word(**b)).count();
        if length == 0 || quote.is_some_and(|quote| word.get(length) != Some(quote)) {
            return false;
        }
        let start = self.bytes.len() - word.len();
        let Some(name) = self.text.get(start..start + length) else {
            return false;
        };
        self.heredocs.push(Heredoc {
            word: name,
            code: None,
            indented: true,
            whole: false,
        });
        self.at = start + length + usize::from(quote.is_some());
        true
    }

    /// What reads the lines of a heredoc that is announced on this line, whose word ends before `behind`: of
    /// `RUN <<EOT` in a Dockerfile the shell, of `RUN python3 <<EOT` Python. `None`: they are text.
    fn program_of_heredoc(&self, behind: usize) -> Option<&'static Language> {
        if self.language.name != "dockerfile" {
            return None;
        }
        let head = self.text.get(self.line_start..self.at)?;
        let mut words = head.split_ascii_whitespace();
        if !words.next()?.eq_ignore_ascii_case("RUN") {
            return None;
        }
        let tail = std::str::from_utf8(self.line_from(behind)).ok()?;
        let mut program = words.skip_while(|word| word.starts_with("--")).chain(
            tail.trim_start_matches(['"', '\''])
                .split_ascii_whitespace(),
        );
        match program.next() {
            None => by_name("bash"),
            Some(word) => detect("", None, &format!("#!/usr/bin/env {word}\n")),
        }
    }

    /// Passes over the lines of a heredoc; one that is never ended is none.
    pub(super) fn heredoc_body(&mut self, heredoc: Heredoc<'a>) {
        let word = heredoc.word.as_bytes();
        let end = self.find_line(self.at, |line| {
            let line = if heredoc.indented {
                line.trim_ascii_start()
            } else {
                line
            };
            if heredoc.whole {
                line.trim_ascii_end() == word
            } else {
                line.starts_with(word) && !line.get(word.len()).is_some_and(|b| is_word(*b))
            }
        });
        let Some(end) = end else { return };
        if let Some(shell) = heredoc.code {
            let first = self.text.get(self.at..end).unwrap_or_default();
            let language = detect("", None, first.trim_start_matches('\t')).unwrap_or(shell);
            if !first.is_empty() {
                self.out.embedded.push(Part::new(self.at..end, language));
            }
            self.pass(self.next_line(end));
            return;
        }
        let line = self.line_from(end);
        let last = if heredoc.whole {
            self.next_line(end)
        } else {
            end + line.len() - line.trim_ascii_start().len() + word.len()
        };
        self.push_string(self.at..last);
    }

    pub(super) fn dollar_quote(&mut self) -> bool {
        let rest = self.rest();
        if rest.first() != Some(&b'$') || is_word(self.before()) {
            return false;
        }
        let tag = rest[1..].iter().take_while(|b| is_word(**b)).count();
        if rest.get(1 + tag) != Some(&b'$') || rest[1].is_ascii_digit() {
            return false;
        }
        let delimiter = &rest[..tag + 2];
        let start = self.at + delimiter.len();
        let Some(end) = self.find(start, delimiter) else {
            return false;
        };
        let from = self.at.saturating_sub(BACK);
        let head = self.bytes.get(from..self.at).unwrap_or_default();
        let head = head
            .rsplit(|b| *b == b';')
            .next()
            .unwrap_or_default()
            .trim_ascii_end()
            .to_ascii_lowercase();
        let last = head.rsplit(|b| !is_word(*b)).next().unwrap_or_default();
        let tail = self.bytes.get(end + delimiter.len()..).unwrap_or_default();
        let tail = &tail[..tail.len().min(BACK)];
        self.reach = self.reach.max(end + delimiter.len() + tail.len());
        let tail = tail
            .split(|b| *b == b';')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let word = language_clause(&head)
            .or_else(|| language_clause(&tail))
            .unwrap_or_else(|| "sql".to_owned());
        let code = last == b"as"
            || last == b"do"
            || head.starts_with(b"do ")
            || head.split(|b| b.is_ascii_whitespace()).any(|w| w == b"do");
        let language = match word.as_str() {
            _ if !code => None,
            "sql" | "plpgsql" => by_name("sql"),
            "plperl" | "plperlu" => by_name("perl"),
            "plv8" | "javascript" | "js" => by_name("javascript"),
            "pltcl" | "pltclu" => by_name("tcl"),
            word if word.starts_with("plpython") || word == "python" => by_name("python"),
            "plr" | "r" => by_name("r"),
            _ => None,
        };
        match language {
            Some(language) => {
                self.out.embedded.push(Part::new(start..end, language));
                self.pass(end + delimiter.len());
            }
            None => self.push_string(self.at..end + delimiter.len()),
        }
        true
    }

    pub(super) fn block_scalar_head(&mut self) -> bool {
        if !matches!(self.here(), b'|' | b'>') {
            return false;
        }
        let head = self.bytes.get(self.line_start..self.at).unwrap_or_default();
        let tail = &self.line_from(self.at)[1..];
        let indicator = tail
            .iter()
            .take_while(|b| matches!(b, b'0'..=b'9' | b'+' | b'-'))
            .count();
        let measured = tail[..indicator].iter().any(u8::is_ascii_digit);
        let tail = tail[indicator..].trim_ascii_start();
        let mut before = head.trim_ascii_end();
        // Tags and anchors may stand in front.
        while let Some(word) = before
            .rsplit(|b| b.is_ascii_whitespace())
            .next()
            .filter(|w| matches!(w.first(), Some(b'!' | b'&')))
        {
            before = before[..before.len() - word.len()].trim_ascii_end();
        }
        if !(tail.is_empty() || tail.starts_with(b"#"))
            || !matches!(before.last(), None | Some(b':' | b'-' | b'?'))
            || before.is_empty()
        {
            return false;
        }
        let mut column = head.len() - head.trim_ascii_start().len();
        if before == b"---" {
            self.scalar = Some((None, measured));
        } else {
            while head.get(column) == Some(&b'-')
                && head.get(column + 1).is_none_or(|b| b.is_ascii_whitespace())
            {
                let next = head[column + 1..]
                    .iter()
                    .position(|b| !b.is_ascii_whitespace());
                match next {
                    Some(offset) => column += 1 + offset,
                    None => break,
                }
            }
            self.scalar = Some((Some(column), measured));
        }
        self.at += 1;
        true
    }

    /// Passes over the lines of a block scalar, which are indented deeper than `parent` and no less than
    /// the first of them, unless a digit of the header has `measured` them.
    pub(super) fn block_scalar(&mut self, parent: Option<usize>, measured: bool) {
        let mut at = self.at;
        let mut end = at;
        let mut first = None;
        while at < self.bytes.len() {
            let line = self.line_from(at);
            let body = line.trim_ascii_start();
            let next = self.next_line(at);
            if !body.is_empty() {
                let indent = line.len() - body.len();
                let least = *first.get_or_insert(indent);
                let shallow = (indent < least && !measured) || parent.is_some_and(|p| indent <= p);
                if shallow || (indent == 0 && matches!(line.trim_ascii_end(), b"---" | b"...")) {
                    break;
                }
                end = next;
            }
            at = next;
        }
        self.looked(Some(self.next_line(at)));
        self.push_string(self.at..end);
        self.line_start = self.at;
    }
}

/// The name behind `language` in a lower-case statement.
fn language_clause(statement: &[u8]) -> Option<String> {
    let at = memmem::find(statement, b"language")?;
    let rest = statement[at + 8..].trim_ascii_start();
    let rest = rest.strip_prefix(b"'").unwrap_or(rest);
    let length = rest.iter().take_while(|b| is_word(**b)).count();
    (length > 0).then(|| String::from_utf8_lossy(&rest[..length]).into_owned())
}
