//! Where gofmt takes a comment for documentation and writes it anew: a line of a message that stands further in becomes
//! code, or a list, with an empty line before it, and the thread is another one. It does so with a comment at a line's
//! first column that nothing parts from a token in the first column of the next (`printer.intersperseComments` of
//! go/printer): a declaration, a label, a closing bracket.

use super::{is_comment, line_end, line_start, next_line, previous_end};
use crate::edits::Source;
use crate::threads::lines::skip_blanks;

/// Whether what stands directly above the line that begins at `start` is documentation, or part of it.
pub(in super::super) fn is_documented(source: Source, start: usize) -> bool {
    if !is_go(source) {
        return false;
    }
    let text = source.text;
    let mut at = start;
    while is_comment(source, at) {
        let Some(next) = next_line(text, line_end(text, at)) else {
            return false;
        };
        at = next;
    }
    text.get(at..line_end(text, at))
        .is_some_and(|line| !line.is_empty() && !line.starts_with([' ', '\t']))
}

/// Where the comment lines begin that stand directly above the line at `start`, if that is documented by what stands
/// above it: a thread between the two would be their last part, or part them. `start` where there are none.
pub(in super::super) fn above_documentation(source: Source, start: usize) -> usize {
    let mut first = start;
    if is_documented(source, start) {
        while let Some(end) = previous_end(source.text, first)
            && let above = line_start(source.text, end)
            && skip_blanks(source.text, above) == above
            && is_comment(source, above)
        {
            first = above;
        }
    }
    first
}

/// Whether the empty line above the one that begins at `start` was put there below a thread (see [`is_documented`]), if
/// the line `above` the thread is not empty: gofmt leaves none above a closing bracket, and parts declarations of
/// different kinds itself. `answered`: postil has written to the thread.
pub(in super::super) fn is_gap(source: Source, above: &str, start: usize, answered: bool) -> bool {
    let line = source.text.get(start..).unwrap_or_default();
    let word = |line: &str| {
        let end = line.find(|c: char| !c.is_ascii_lowercase());
        end.unwrap_or(line.len())
    };
    let length = word(line);
    let alike = length > 0 && length == word(above) && line.get(..length) == above.get(..length);
    answered && (line.starts_with(['}', ')']) || alike)
}

fn is_go(source: Source) -> bool {
    let language = source.syntax.language();
    language.is_some_and(|language| language.name == "go")
}
