//! Between which lines a comment may come.

use std::ops::Range;

use super::Source;
use crate::comments::Place;
use crate::threads::lines::{line_end, line_start, next_line, previous_end, skip_blanks};

mod first;
mod go;
mod markup;
mod tcl;

pub(super) use first::first_allowed;
pub(super) use go::{above_documentation, is_documented, is_gap};

/// Whether the line that begins at `start` is the rest of the one above it: a comment between the two
/// would end the one above (a macro, a command of the shell) or be part of it.
pub(super) fn continues(source: Source, start: usize) -> bool {
    let text = source.text;
    let Some(end) = previous_end(text, start) else {
        return false;
    };
    let above = text.get(line_start(text, end)..end).unwrap_or_default();
    let backslashes = above.len() - above.trim_end_matches('\\').len();
    let name = source
        .syntax
        .language()
        .map_or("", |language| language.name);
    // Two of them are one that is meant, or the end of a row in TeX.
    backslashes % 2 == 1
        || source.syntax.is_in_tag(text, start)
        || match name {
            "batch" => above.ends_with('^'),
            "vb" => above.ends_with(" _"),
            "powershell" => {
                let marks = above.len() - above.trim_end_matches('`').len();
                marks % 2 == 1 && !is_comment(source, line_start(text, end))
            }
            // What stands behind them is a comment.
            "matlab" => {
                let first = line_start(text, end);
                let mut dots = above.match_indices("...");
                dots.any(|(at, _)| source.syntax.place_at(text, first + at) == Place::Code)
            }
            // Its lines say themselves what they continue.
            "vim" => {
                let line = text.get(start..).unwrap_or_default();
                line.trim_start_matches([' ', '\t']).starts_with('\\')
            }
            "tcl" => tcl::is_in_word(text, start),
            "restructuredtext" => markup::is_text(text, start),
            "markdown" => {
                let is_row = |at| source.syntax.is_in_table(at);
                is_row(start) && is_row(line_start(text, end))
            }
            _ => false,
        }
}

/// What the line that begins at `start` stands in, where no line of it can be a comment and there are too many of them to
/// be tried one after the other.
pub(super) fn far_word(source: Source, start: usize) -> Option<Range<usize>> {
    let language = source.syntax.language()?;
    (language.name == "tcl")
        .then(|| tcl::far_word(source.text, start))
        .flatten()
}

/// The line that keeps two threads apart at byte `at`: an empty one, but an empty comment in TeX, where that would end a
/// paragraph, and between the calls of a chain in Ruby, which it would end.
pub(super) fn line_apart(source: Source, at: usize, line_end: &str) -> String {
    let mark = match mark_apart(source) {
        Some(mark) if is_tex(source) || goes_on_with_a_call(source.text, at) => mark,
        _ => "",
    };
    format!("{mark}{line_end}")
}

/// The empty comment that keeps threads apart in this language.
pub(super) fn mark_apart(source: Source) -> Option<&'static str> {
    match source.syntax.language()?.name {
        "latex" => Some("%"),
        "ruby" | "crystal" => Some("#"),
        _ => None,
    }
}

/// Whether the first code from the line on that holds byte `at` calls a method of what stands above it (Ruby).
fn goes_on_with_a_call(text: &str, at: usize) -> bool {
    let mut lines = text.get(line_start(text, at)..).unwrap_or_default().lines();
    let code = lines.find_map(|line| {
        let line = line.trim_start();
        (!line.is_empty() && !line.starts_with('#')).then_some(line)
    });
    let is_range = |line: &str| line.starts_with("..");
    code.is_some_and(|line| line.starts_with("&.") || line.starts_with('.') && !is_range(line))
}

pub(super) fn is_tex(source: Source) -> bool {
    let language = source.syntax.language();
    language.is_some_and(|language| language.name == "latex")
}

/// Whether the line that begins at `start` is a comment, or part of one, and nothing else.
fn is_comment(source: Source, start: usize) -> bool {
    let text = source.text;
    let end = line_end(text, start);
    let comment = source.syntax.comment_at(text, skip_blanks(text, start));
    comment.is_some_and(|comment| {
        let behind = text.get(comment.range.end.min(end)..end);
        behind.is_some_and(|rest| rest.trim().is_empty())
    })
}

/// An empty line that still belongs to what stands above it: the line behind it, where that does not.
pub(super) fn behind_blank(source: Source, start: usize) -> usize {
    let end = line_end(source.text, start);
    let is_blank = source
        .text
        .get(start..end)
        .is_some_and(|line| line.trim().is_empty());
    next_line(source.text, end)
        .filter(|next| is_blank && continues(source, start) && !continues(source, *next))
        .unwrap_or(start)
}
