//! The marker itself: `AUTHOR:`, `AGENT(claude):`.

use std::ops::Range;

use memchr::memmem;

use super::Role;

/// A marker at the start of some text; offsets count from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    pub role: Role,
    /// Bytes of the name in the parentheses.
    pub name: Option<Range<usize>>,
    /// Bytes, colon included.
    pub len: usize,
}

pub(crate) const AUTHOR: &str = "AUTHOR";
pub(crate) const AGENT: &str = "AGENT";

/// The marker that `text` begins with.
pub(crate) fn parse(text: &str) -> Option<Marker> {
    let (role, word) = if text.starts_with(AUTHOR) {
        (Role::Author, AUTHOR)
    } else if text.starts_with(AGENT) {
        (Role::Agent, AGENT)
    } else {
        return None;
    };
    let rest = text.get(word.len()..)?;
    if rest.starts_with(':') {
        return Some(Marker {
            role,
            name: None,
            len: word.len() + 1,
        });
    }
    let inside = rest.strip_prefix('(')?;
    let length = inside.find(['(', ')', '\n', '\r'])?;
    let name = inside.get(..length)?;
    if name.trim().is_empty() || !inside.get(length..)?.starts_with("):") {
        return None;
    }
    let start = word.len() + 1;
    Some(Marker {
        role,
        name: Some(start..start + length),
        len: start + length + 2,
    })
}

/// The places in a part of `text` where a marker may begin, in order.
pub(super) fn candidates(text: &str, part: Range<usize>) -> Vec<usize> {
    let mut found = spelled(text, part);
    found.retain(|at| !ends_a_word(text, *at));
    found
}

/// The places where a marker is spelled, be it as the end of a longer word, in order.
pub(super) fn spelled(text: &str, part: Range<usize>) -> Vec<usize> {
    let start = part.start;
    let bytes = text.as_bytes().get(part).unwrap_or_default();
    let mut found: Vec<usize> = memmem::find_iter(bytes, AUTHOR)
        .chain(memmem::find_iter(bytes, AGENT))
        .map(|at| start + at)
        .collect();
    found.retain(|at| text.get(*at..).is_some_and(|rest| parse(rest).is_some()));
    found.sort_unstable();
    found
}

/// Whether what stands at byte `at` is the end of a longer word.
pub(super) fn ends_a_word(text: &str, at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| text.as_bytes().get(before))
        .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
}
