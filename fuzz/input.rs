//! From bytes to a case: a small header of choices, then texts.

use postil_grammars::{LANGUAGES, Language, detect};

/// Takes choices from the front of an input. What is missing is zero.
pub(crate) struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// A language of the table, or none (an unknown file): by a number, or as `@a.rs` on a line of its own.
    /// Seeds say it by name, so that they stay what they are when the table grows.
    pub(crate) fn language(&mut self) -> Option<&'static Language> {
        let first = self.byte();
        if first != b'@' {
            return LANGUAGES.get(usize::from(first) % (LANGUAGES.len() + 1));
        }
        let end = self.0.iter().position(|b| *b == b'\n')?;
        let name = self.0.get(..end)?;
        self.0 = self.0.get(end + 1..)?;
        detect(std::str::from_utf8(name).ok()?, None, "")
    }

    /// The bytes before the next 0xFF, which no UTF-8 has.
    pub(crate) fn part(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|b| *b == 0xff);
        let part = self
            .0
            .get(..end.unwrap_or(self.0.len()))
            .unwrap_or_default();
        self.0 = end
            .and_then(|end| self.0.get(end + 1..))
            .unwrap_or_default();
        part
    }
}
