//! Where a line that begins with `..` is no comment in reStructuredText: it has to follow an empty line (or a heading, or
//! another such line), and in the body of what ends with `::` it is a line of that body.

use super::{line_end, line_start, next_line, previous_end};

/// Lines above that are looked through for what a line is in.
const REACH: usize = 500;
/// Directives whose body is no text as the rest of the file is.
const TEXTS: &[&str] = &[
    "admonition",
    "attention",
    "caution",
    "class",
    "container",
    "danger",
    "error",
    "hint",
    "important",
    "note",
    "only",
    "seealso",
    "sidebar",
    "tip",
    "topic",
    "versionadded",
    "versionchanged",
    "warning",
];

/// Whether a comment that is put in at `start`, as far to the right as the line that begins there, would be text.
pub(super) fn is_text(text: &str, start: usize) -> bool {
    let line = |at: usize| text.get(at..line_end(text, at)).unwrap_or_default();
    let above = |at: &usize| previous_end(text, *at).map(|end| line_start(text, end));
    let below = |at: &usize| next_line(text, line_end(text, *at));
    let indent = indentation(line(start));
    // What stands deeper below a comment is part of it.
    let mut next = std::iter::successors(Some(start), below).map(line);
    if line(start).trim().is_empty()
        && next
            .find(|line| !line.trim().is_empty())
            .is_some_and(|next| indentation(next) > indent)
    {
        return true;
    }
    let mut above = std::iter::successors(above(&start), above)
        .map(line)
        .peekable();
    if let Some(first) = above.peek().filter(|line| !line.trim().is_empty())
        && !is_markup(first)
    {
        let first = *first;
        let mut heading = above.clone().skip(1);
        let is_heading = is_rule(first)
            && heading
                .next()
                .is_some_and(|title| !title.trim().is_empty() && !is_rule(title));
        if !is_heading {
            return true;
        }
    }
    let mut inner = indent;
    let mut lines = above.filter(|line| !line.trim().is_empty());
    // The block that a paragraph announced has not begun.
    let first = lines.next();
    if first.is_some_and(|line| indentation(line) == indent && announces(line)) {
        return true;
    }
    for line in first.into_iter().chain(lines).take(REACH) {
        if inner == 0 {
            return false;
        }
        if indentation(line) < inner {
            inner = indentation(line);
            let is_body = match directive(line) {
                Some(name) => !(TEXTS.contains(&name) || name.contains(':')),
                None => announces(line),
            };
            if is_body {
                return true;
            }
        }
    }
    // Too far to be seen.
    inner > 0
}

/// In columns; a tab goes to the next multiple of eight.
fn indentation(line: &str) -> usize {
    let blanks = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    blanks.fold(0, |column, blank| match blank {
        '\t' => column / 8 * 8 + 8,
        _ => column + 1,
    })
}

/// `.. ` and more: a comment, a target, a directive.
fn is_markup(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("..");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        && directive(line).is_none()
}

/// The line below or above a heading.
fn is_rule(line: &str) -> bool {
    let line = line.trim_end();
    let mut all = line.chars();
    let first = all.next().filter(char::is_ascii_punctuation);
    first.is_some_and(|first| all.all(|c| c == first)) && line != "::"
}

/// A paragraph that ends with `::` has the block that follows be literal.
fn announces(line: &str) -> bool {
    line.trim_end().ends_with("::") && !is_markup(line) && directive(line).is_none()
}

/// The name of the directive that begins in this line.
fn directive(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("..")?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let rest = match rest.strip_prefix('|') {
        Some(named) => named.split_once('|')?.1.trim_start(),
        None => rest,
    };
    let end = rest.find("::")?;
    let name = rest.get(..end)?;
    let is_name = |c: char| c.is_alphanumeric() || "-_.+:".contains(c);
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}
