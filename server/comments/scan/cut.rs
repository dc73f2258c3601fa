//! Scanning a piece of a text: up to a place where the text can be cut, so that what stands before it is read in
//! the same way whatever stands behind, and the other way round.

use memchr::{memmem, memrchr2};
use postil_grammars::Language;

use super::{Scan, Scanner, rules};

/// Why a piece has no end yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uncut {
    /// More of the text is needed to tell.
    More,
    /// The text cannot be read in pieces: it holds code of other languages, or took too many steps.
    Never,
}

/// Bytes before a piece that its reading may look back at.
pub(crate) const BACK: usize = rules::BACK;

/// The scan of the piece of `text` that begins at `from`, 0 or a place where the text was cut, and the first place
/// from `until` on where it can be cut. `whole`: nothing follows `text`, and its end is such a place.
pub(in super::super) fn scan_piece(
    text: &str,
    language: &'static Language,
    from: usize,
    until: usize,
    whole: bool,
) -> Result<(Scan, usize), Uncut> {
    let mut scanner = Scanner::new(text, language);
    scanner.until = Some(until);
    if from == 0 {
        scanner.begin();
    } else {
        scanner.at = from;
        scanner.line_start = from;
        scanner.begin_line();
    }
    scanner.run();
    if !scanner.out.embedded.is_empty() || scanner.is_exhausted() {
        return Err(Uncut::Never);
    }
    match scanner.cut {
        Some(at) if whole || at < text.len() => Ok((scanner.out, at)),
        _ if whole => Ok((scanner.out, text.len())),
        _ => Err(Uncut::More),
    }
}

impl Scanner<'_> {
    /// Nothing is open here. Whether the text can be cut: nothing before was decided by what follows, and no thread,
    /// banner or continuation goes on from the line before to the one that begins here.
    pub(super) fn cut_here(&mut self) -> bool {
        let at = self.at;
        if self.until.is_none_or(|until| at < until) {
            return false;
        }
        let resting = self.out.resting.iter().map(|rest| rest.reach);
        let reach = resting.chain([self.reach]).max().unwrap_or(0);
        if reach > at || !self.ends_a_conversation() {
            return false;
        }
        self.cut = Some(at);
        true
    }

    /// Whether the line before has no comment, or only one behind code in which no marker is spelled.
    fn ends_a_conversation(&self) -> bool {
        let before = match self.bytes.get(..self.at).unwrap_or_default() {
            [rest @ .., b'\r', b'\n'] | [rest @ .., b'\r' | b'\n'] => rest,
            rest => rest,
        };
        let start = memrchr2(b'\n', b'\r', before).map_or(0, |end| end + 1);
        let line = before.get(start..).unwrap_or_default();
        let comments = self.out.comments.iter().rev();
        let mut touching = comments.take_while(|comment| comment.range.end > start);
        let (last, another) = (touching.next(), touching.next());
        let Some(last) = last else {
            return true;
        };
        let code = start..last.range.start;
        let behind_code = self
            .bytes
            .get(code)
            .is_some_and(|code| !code.trim_ascii().is_empty());
        let spelled = |word: &str| memmem::find(line, word.as_bytes()).is_some();
        another.is_none() && !last.block && behind_code && !spelled("AUTHOR") && !spelled("AGENT")
    }
}
