//! L1. Threads: the conversations in a text's comments. Pure; never fails. Specification: docs/threads.md.

use std::ops::Range;

use memchr::memmem;

use crate::comments::Syntax;

mod again;
mod beginning;
pub(crate) mod below;
mod beside;
pub(crate) mod escape;
mod header;
mod identity;
pub(crate) mod layout;
pub(crate) mod lines;
pub(crate) mod marker;
mod mention;
mod near;
pub(crate) mod notebook;
mod person;
mod pieces;
pub(crate) mod scan;
mod why;

pub use again::{again, is_joined, is_unchanged, renamed, stands_twice};
pub use beginning::{Beginning, beginning};
pub use beside::{Beside, code_beside, is_elsewhere, line_beside};
pub use identity::{alike, ids, is_whole, normal, renumbered, resolve, words};
pub use mention::{Mention, mentions, place, typed_mention};
pub use near::near_misses;
pub use pieces::Pieces;
pub use why::{NoMarker, WhyNone, not_threads};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Author,
    Agent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The last message is an AUTHOR message with text: the agent is asked.
    Pending,
    /// The last message is an AGENT message or an empty AUTHOR line.
    AwaitingUser,
}

impl Status {
    /// Its name in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::AwaitingUser => "awaiting_user",
        }
    }
}

impl Role {
    /// Its name in JSON and in the history.
    pub fn name(self) -> &'static str {
        match self {
            Self::Author => "author",
            Self::Agent => "agent",
        }
    }

    /// The word of the marker.
    pub fn word(self) -> &'static str {
        match self {
            Self::Author => marker::AUTHOR,
            Self::Agent => marker::AGENT,
        }
    }
}

/// What an AUTHOR text that is an action word asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `done`, `reset`
    Dismiss,
    /// `commit`, `commit file`
    Commit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub role: Role,
    /// The name in the marker's parentheses.
    pub name: Option<String>,
    /// Lines joined by `\n`, each without the blanks around it.
    pub text: String,
    /// For each line of `text` the blanks by which it stands further in than the message; none where no line does.
    pub blanks: Vec<Box<str>>,
    /// 0-based line of the marker.
    pub line: usize,
    /// 0-based last line (continuations included).
    pub last_line: usize,
    /// Bytes of the marker, colon included.
    pub marker: Range<usize>,
    /// Bytes from the text's first character to the end of its last line; the marker's where there is no text.
    pub range: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub id: String,
    pub messages: Vec<Message>,
    pub status: Status,
    /// It begins with an AGENT message.
    pub malformed: bool,
    /// Its first marker stands behind (or between) code.
    pub trailing: bool,
}

impl Thread {
    /// 0-based.
    pub fn first_line(&self) -> usize {
        self.messages.first().map_or(0, |m| m.line)
    }

    /// 0-based, inclusive.
    pub fn last_line(&self) -> usize {
        self.messages.last().map_or(0, |m| m.last_line)
    }

    /// Where it is, in bytes: from its first marker to the end of its last message.
    pub fn span(&self) -> Range<usize> {
        let start = self.messages.first().map_or(0, |first| first.marker.start);
        let end = self
            .messages
            .last()
            .map_or(start, |last| last.range.end.max(last.marker.end));
        start..end
    }

    /// The action word that the last message is, if it is one.
    pub fn action(&self) -> Option<Action> {
        let last = self
            .messages
            .last()
            .filter(|last| last.role == Role::Author)?;
        action_word(&last.text)
    }

    /// The messages without the empty line that waits for the author.
    pub fn spoken(&self) -> &[Message] {
        match self.messages.split_last() {
            Some((last, others)) if last.role == Role::Author && last.text.is_empty() => others,
            _ => &self.messages,
        }
    }

    /// Whether an agent has spoken in it.
    pub fn is_answered(&self) -> bool {
        self.messages.iter().any(|m| m.role == Role::Agent)
    }

    /// What the author has said in it.
    pub fn author_texts(&self) -> impl Iterator<Item = &str> {
        let of_author = self.messages.iter().filter(|m| m.role == Role::Author);
        let texts = of_author.map(|m| m.text.as_str());
        texts.filter(|text| !text.is_empty())
    }

    /// The message that an agent is asked: the last of the author's that has a text.
    pub fn question(&self) -> Option<&Message> {
        self.messages
            .iter()
            .rev()
            .find(|m| m.role == Role::Author && !m.text.is_empty())
    }
}

/// A marker that is almost one (`Author:`, `AUTHOR :`, `AI!`), and what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearMiss {
    pub range: Range<usize>,
    /// Empty where nothing in its place would do.
    pub replacement: String,
    pub why: &'static str,
}

/// The threads of a file, in order. `path` is relative to the workspace root, with `/`.
pub fn find(path: &str, text: &str, syntax: &Syntax) -> Vec<Thread> {
    if let Some(cells) = syntax.notebook(text) {
        return notebook::find(path, text, cells);
    }
    scan::scan(path, text, syntax)
        .into_iter()
        .map(|found| found.thread)
        .collect()
}

/// Whether `text` could hold a marker at all: one memory search per literal, before any parsing.
pub fn may_hold(text: &[u8]) -> bool {
    [&b"AUTHOR"[..], b"AGENT"].iter().any(|word| {
        memmem::find_iter(text, word).any(|at| {
            let behind = text.get(at + word.len()..).unwrap_or_default();
            ends_a_marker(behind) && !ends_a_name(text, at)
        })
    })
}

/// Whether `behind` goes on as a marker does behind its word: a colon, or a name in parentheses and a
/// colon. What the MIT licence has, `COPYRIGHT HOLDER(S) OR AUTHOR(S) BE LIABLE`, stands in every second
/// file of some trees and must not have them parsed.
fn ends_a_marker(behind: &[u8]) -> bool {
    match behind.split_first() {
        Some((b':', _)) => true,
        Some((b'(', name)) => {
            let end = name
                .iter()
                .position(|b| matches!(b, b'(' | b')' | b'\n' | b'\r'));
            end.is_some_and(|end| name.get(end..).is_some_and(|rest| rest.starts_with(b"):")))
        }
        _ => false,
    }
}

/// Whether the word at byte `at` is the end of a longer name, as in `MODULE_AUTHOR(`. One letter at a
/// line's start is none: it is how fixed-form Fortran begins a comment. Behind `\` it is a line end in the
/// JSON of a notebook.
fn ends_a_name(text: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| text.get(at));
    before(1).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
        && !matches!(before(2), None | Some(b'\n' | b'\r' | b'\\'))
}

/// The action word that `text` is.
pub fn action_word(text: &str) -> Option<Action> {
    let word = text.trim();
    if word.len() > "commit file".len() {
        return None;
    }
    match word.to_lowercase().as_str() {
        "done" | "reset" => Some(Action::Dismiss),
        "commit" | "commit file" => Some(Action::Commit),
        _ => None,
    }
}

/// Why an id does not name exactly one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoThread {
    Unknown,
    TooShort,
    /// Full ids.
    Ambiguous(Vec<String>),
}

#[cfg(test)]
mod tests;
