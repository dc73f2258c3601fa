//! L2. What to write: the text edits of respond, say, new, rewrite, dismiss, clear. Pure.
//! Every byte outside the thread's lines stays as it is.
//!
//! A write is planned in the ways that could do it, the best first, and the first is taken that reads
//! back: the text after it is read again, and must hold this thread as it was meant and every other
//! thread as it was.

use crate::comments::Syntax;
use crate::text::Edit;
use crate::threads::{Role, lines};

mod back;
mod directives;
mod form;
mod hazards;
mod notebook;
mod open;
mod place;
mod remove;
mod reply;
mod rewrite;
mod verify;

pub use back::{line_edits, take_all_back, take_back};
pub use open::new_thread;
pub use remove::{clear, dismiss, without_trailing};
pub use reply::{answer, make_room, respond};
pub use rewrite::{Rewrite, rewrite};
pub use verify::touches_threads;

/// A text as it is now, and where it stands.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Relative to the workspace root, with `/`.
    pub path: &'a str,
    pub text: &'a str,
    pub syntax: &'a Syntax,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// `threads.indentation = "keep"`
    pub keep_indentation: bool,
}

/// What a write would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Empty where nothing is to change (`already`).
    pub edits: Vec<Edit>,
    /// The same answer already stands there.
    pub already: bool,
    /// Lines of threads that are removed (the markers behind code among them).
    pub lines_removed: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The thread is no longer in the text.
    Gone,
    /// What was asked in it stands in another thread now.
    Joined,
    /// Several threads may be the one that is meant.
    Several,
    /// What was to be rewritten is not what stands there.
    Changed,
    Empty,
    /// No such line.
    NoLine {
        lines: usize,
    },
    NoThreads,
    /// The file's format knows no comments, and it has none.
    NoComments,
    /// How comments are written in a file of this unknown kind, nothing in it tells.
    NoLeader,
    /// No comment at this place would read back as what was to be written.
    Unreadable,
    /// Without the thread's words the comment around would end elsewhere, and its rest be code.
    Breaks,
    /// By a backslash at its end the message has the next line be part of its comment.
    GoesOn,
}

impl Written {
    /// `edits` as [`merged`] gives them.
    fn of(edits: Vec<Edit>) -> Self {
        Self {
            edits,
            already: false,
            lines_removed: 0,
        }
    }

    fn already() -> Self {
        Self {
            edits: Vec::new(),
            already: true,
            lines_removed: 0,
        }
    }
}

/// What somebody says: its lines without the blanks that all of them begin with and those behind each, and without empty
/// ones around it all.
fn said(text: &str) -> Vec<String> {
    // `\r\n`, `\r` and `\n` end a line of a message; nothing else does.
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = unified.split('\n').map(str::trim_end).collect();
    let full = |line: &&str| !line.is_empty();
    let first = lines.iter().position(full).unwrap_or(lines.len());
    let last = lines.iter().rposition(full).map_or(first, |at| at + 1);
    let lines = lines.get(first..last).unwrap_or_default();
    let blanks = |line: &str| line.len() - line.trim_start().len();
    let mut shared = lines.first().map_or("", |line| &line[..blanks(line)]);
    for line in lines.iter().filter(|line| full(line)) {
        let own = line[..blanks(line)].char_indices();
        let same = own.zip(shared.chars()).take_while(|((_, a), b)| a == b);
        let end = same.last().map_or(0, |((at, c), _)| at + c.len_utf8());
        shared = &shared[..end];
    }
    let further = |(at, line): (usize, &&str)| {
        let rest = line.get(shared.len()..).unwrap_or_default();
        let words = rest.trim_start();
        let before = rest[..rest.len() - words.len()].chars();
        // The first stands behind the marker.
        let before = before.filter(|_| at > 0);
        let plain = before.map(|c| if c == '\t' { c } else { ' ' });
        plain.collect::<String>() + words
    };
    lines.iter().enumerate().map(further).collect()
}

/// The same without the blanks that lines begin with: the message's text.
fn words(said: &[String]) -> String {
    let lines: Vec<&str> = said.iter().map(|line| line.trim_start()).collect();
    lines.join("\n")
}

/// A name as it can stand in a marker's parentheses.
fn name_in_marker(name: Option<&str>) -> Option<String> {
    let kept: String = name?
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '.' | '_' | '-' | '@' | '+'))
        .collect();
    let kept = kept
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace("--", "-");
    (!kept.is_empty()).then_some(kept)
}

/// A marker: `AGENT:`, `AGENT(claude):`.
fn marker(role: Role, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{}({name}):", role.word()),
        None => format!("{}:", role.word()),
    }
}

/// Sorted; those that touch or overlap are one. A text whose last line had no line end has none after.
fn merged(text: &str, mut edits: Vec<Edit>) -> Vec<Edit> {
    edits.retain(|edit| !(edit.range.is_empty() && edit.text.is_empty()));
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut out: Vec<Edit> = Vec::with_capacity(edits.len());
    for edit in edits {
        match out.last_mut() {
            Some(last) if last.range.end >= edit.range.start => {
                last.range.end = last.range.end.max(edit.range.end);
                last.text.push_str(&edit.text);
            }
            _ => out.push(edit),
        }
    }
    let takes_last_lines = |edit: &&mut Edit| {
        edit.text.is_empty() && edit.range.end == text.len() && !text.ends_with(['\n', '\r'])
    };
    if let Some(last) = out.last_mut().filter(takes_last_lines)
        && let Some(end) = lines::previous_end(text, last.range.start)
    {
        last.range.start = end;
        // The line end may be all that parted it from the edit before.
        if let [.., before, last] = out.as_mut_slice()
            && before.range.end >= last.range.start
        {
            before.range.end = last.range.end;
            out.pop();
        }
    }
    out
}

#[cfg(test)]
mod tests;
