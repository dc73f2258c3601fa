//! What a template has of its own, wherever it stands: between the tags, in one, or in the code of an element.

use std::ops::Range;

use postil_grammars::{End, Language, Template, by_name};

use super::{Scanner, opening};
use crate::comments::Comment;
use crate::comments::embed::{Hole, Part};

/// What begins at a place.
struct Found {
    end: usize,
    kind: Kind,
    /// A value is written here.
    value: bool,
}

enum Kind {
    /// Bytes of its delimiters.
    Comment {
        open: usize,
        close: usize,
    },
    Code(Range<usize>, &'static Language),
    Text,
}

impl Scanner<'_> {
    pub(super) fn template(&mut self, template: &'static Template) -> bool {
        let Some(found) = self.insert(template, self.at) else {
            return false;
        };
        let (start, end) = (self.at, found.end);
        let is_text = matches!(found.kind, Kind::Text);
        self.push_insert(start, found);
        if is_text {
            self.push_string(start..end);
        } else {
            self.pass(end);
        }
        true
    }

    /// The byte behind the comment or code of a template that begins at `at`.
    pub(super) fn insert_end(&mut self, at: usize) -> Option<usize> {
        let template = self.template?;
        self.insert(template, at).map(|found| found.end)
    }

    /// Notes the comments and the code of a template in `range`.
    pub(super) fn push_inserts(&mut self, range: Range<usize>) {
        self.each_insert(range, |_, _, _| ());
    }

    /// Notes code that a template's own may be written into.
    pub(super) fn push_parts(&mut self, whole: Range<usize>, language: &'static Language) {
        let mut holes = Vec::new();
        let mut pieces = Vec::new();
        let mut from = whole.start;
        let first = self.out.embedded.len();
        self.each_insert(whole.clone(), |start, end, value| {
            pieces.push(from..start);
            holes.push(Hole {
                range: start - whole.start..end - whole.start,
                value,
            });
            from = end;
        });
        pieces.push(from..whole.end);
        let part = Part {
            range: whole.clone(),
            language,
            whole,
            holes: holes.into(),
        };
        let pieces = pieces.into_iter().filter(|range| !range.is_empty());
        self.out.embedded.extend(pieces.map(|range| Part {
            range,
            ..part.clone()
        }));
        if let Some(parts) = self.out.embedded.get_mut(first..) {
            parts.sort_by_key(|part| part.range.start);
        }
    }

    fn each_insert(&mut self, range: Range<usize>, mut each: impl FnMut(usize, usize, bool)) {
        let Some(template) = self.template else {
            return;
        };
        let mut at = range.start;
        while at < range.end && !self.is_exhausted() {
            if !self.inserts[usize::from(self.bytes[at])] {
                at += 1;
                continue;
            }
            match self.insert(template, at).filter(|f| f.end <= range.end) {
                Some(found) => {
                    let end = found.end;
                    each(at, end, found.value);
                    self.push_insert(at, found);
                    at = end.max(at + 1);
                }
                None => at += 1,
            }
        }
    }

    fn push_insert(&mut self, start: usize, found: Found) {
        match found.kind {
            Kind::Comment { open, close } => self.out.comments.push(Comment {
                range: start..found.end,
                open,
                close,
                block: true,
            }),
            Kind::Code(range, language) => {
                if !range.is_empty() {
                    self.out.embedded.push(Part::new(range, language));
                }
            }
            Kind::Text => {}
        }
    }

    fn insert(&mut self, template: &'static Template, at: usize) -> Option<Found> {
        let rest = self.bytes.get(at..).filter(|_| !self.is_exhausted())?;
        if !template
            .starts
            .iter()
            .any(|start| rest.starts_with(start.as_bytes()))
        {
            return None;
        }
        for (open, close) in template.comments {
            let Some(length) = delimiter(rest, open) else {
                continue;
            };
            let found = self.find_delimiter(at + length, close);
            let (text_end, end) = found.unwrap_or((self.bytes.len(), self.bytes.len()));
            let mark = self.text.get(at..at + length)?;
            return Some(Found {
                end,
                kind: Kind::Comment {
                    open: opening(self.bytes, at..text_end, mark),
                    close: end - text_end,
                },
                value: false,
            });
        }
        for insert in template.code {
            let Some(length) = delimiter(rest, insert.open) else {
                continue;
            };
            let start = at + length;
            // `@phpunit` is a word, and so is a name in an address.
            let word = |b: Option<&u8>| b.is_some_and(|b| super::rules::is_word(*b));
            let wordy = insert.open.starts_with('@')
                && (word(at.checked_sub(1).and_then(|before| self.bytes.get(before)))
                    || insert.open.ends_with(|c: char| c.is_ascii_alphabetic())
                        && word(self.bytes.get(start)));
            if wordy {
                continue;
            }
            let value = matches!(insert.open, "{{" | "{!!" | "<?=")
                || insert.open == "<%" && matches!(self.bytes.get(start), Some(b'=' | b'-'));
            let language = by_name(insert.language);
            let (text_end, end) = match (insert.end, language) {
                _ if insert.close.is_empty() => (start, start),
                (End::First, _) | (_, None) => self.find_delimiter(start, insert.close)?,
                (_, Some(language)) => self.code_end(start, insert.close, language),
            };
            return Some(Found {
                end,
                kind: match language {
                    Some(language) => Kind::Code(start..text_end, language),
                    None => Kind::Text,
                },
                value,
            });
        }
        None
    }

    /// Where the code that begins at `start` ends, and where what ends it does.
    fn code_end(
        &mut self,
        start: usize,
        close: &'static str,
        language: &'static Language,
    ) -> (usize, usize) {
        let Some(code) = self.text.get(start..) else {
            return (start, start);
        };
        let mut inner = Scanner::new(code, language);
        inner.stop = close;
        inner.begin();
        inner.run();
        let end = start + inner.at;
        self.looked(if inner.reach == usize::MAX || end >= self.bytes.len() {
            None
        } else {
            Some(start + inner.reach.max(inner.at + close.len()))
        });
        self.spend(inner.at);
        (end, (end + close.len()).min(self.bytes.len()))
    }

    /// The first place at or behind `from` where a delimiter stands, and the byte behind it.
    fn find_delimiter(&mut self, from: usize, pattern: &str) -> Option<(usize, usize)> {
        let solid = pattern.trim_start_matches(['~', ' ']);
        let first = *solid.as_bytes().first()?;
        let mut at = from;
        let found = loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let Some(offset) = memchr::memchr(first, rest) else {
                break None;
            };
            at += offset;
            // A mark of trimming stands before the rest of it.
            let before = pattern.starts_with('~')
                && at > from
                && self.bytes.get(at - 1).is_some_and(|b| is_trimming(*b));
            let start = at - usize::from(before);
            let rest = self.bytes.get(start..).unwrap_or_default();
            if let Some(length) = delimiter(rest, pattern) {
                break Some((start, start + length));
            }
            at += 1;
        };
        self.looked(found.map(|(_, end)| end + 1));
        self.spend(found.map_or(self.bytes.len(), |(_, end)| end) - from);
        found
    }
}

/// Bytes of the delimiter that `rest` begins with, if it does.
fn delimiter(rest: &[u8], pattern: &str) -> Option<usize> {
    let mut at = 0;
    for byte in pattern.bytes() {
        let here = rest.get(at);
        match byte {
            b' ' => {
                let blanks = rest.get(at..).unwrap_or_default();
                at += blanks
                    .iter()
                    .take_while(|b| b.is_ascii_whitespace())
                    .count();
            }
            b'~' => at += usize::from(here.is_some_and(|b| is_trimming(*b))),
            byte if here.is_some_and(|b| b.eq_ignore_ascii_case(&byte)) => at += 1,
            _ => return None,
        }
    }
    Some(at)
}

fn is_trimming(byte: u8) -> bool {
    matches!(byte, b'-' | b'+' | b'=' | b'~')
}
