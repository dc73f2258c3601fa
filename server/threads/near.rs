//! Markers that are almost markers: what the person may have meant, and how it is written.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Match, packed};

use super::lines::{line_end, line_start};
use super::person::{self, Reads};
use super::{NearMiss, notebook, scan};
use crate::comments::Syntax;

/// What a near miss is spelled with. None of them ends as another begins, so that no hit hides another.
const WORDS: [&str; 8] = [
    "AUTHOR", "Author", "author", "AGENT", "AI!", "AI?", "ai!", "ai?",
];
/// All of them in one pass: they are looked for at each key.
static SEARCHER: LazyLock<Option<Searcher>> = LazyLock::new(Searcher::new);

enum Searcher {
    /// By vector instructions. The automaton looks first for any `A` or `a`, of which code is full.
    Vectors(packed::Searcher),
    /// Where the processor has none that fit.
    Automaton(AhoCorasick),
}

impl Searcher {
    fn new() -> Option<Self> {
        let vectors = packed::Searcher::new(WORDS).map(Self::Vectors);
        vectors.or_else(|| AhoCorasick::new(WORDS).ok().map(Self::Automaton))
    }

    /// Where the words stand in a part, in order.
    fn places(&self, text: &str, part: Range<usize>) -> Vec<(usize, &'static str)> {
        let start = part.start;
        let text = text.get(part).unwrap_or_default();
        let place = |hit: Match| {
            let word = WORDS.get(hit.pattern().as_usize())?;
            Some((start + hit.start(), *word))
        };
        match self {
            Self::Vectors(searcher) => searcher.find_iter(text).filter_map(place).collect(),
            Self::Automaton(searcher) => searcher.find_iter(text).filter_map(place).collect(),
        }
    }
}

/// The near misses of a text, in order. A header's `Author: Jane Doe` is none.
pub fn near_misses(text: &str, syntax: &Syntax) -> Vec<NearMiss> {
    if let Some(cells) = syntax.notebook(text) {
        return notebook::near_misses(text, cells);
    }
    near_misses_in(text, 0..text.len(), syntax)
}

/// Those in a part of the text that begins and ends with a line.
pub(super) fn near_misses_in(text: &str, part: Range<usize>, syntax: &Syntax) -> Vec<NearMiss> {
    let mut found: Vec<NearMiss> = Vec::new();
    let Some(searcher) = &*SEARCHER else {
        return found;
    };
    // Cheap looks first: most places are no near miss, and only those left ask for their comment.
    for (at, word) in searcher.places(text, part) {
        let alone = |b: Option<&u8>| b.is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'_');
        let bytes = text.as_bytes();
        if !alone(at.checked_sub(1).and_then(|before| bytes.get(before)))
            || !alone(bytes.get(at + word.len()))
        {
            continue;
        }
        let near = if word.len() == 3 {
            call(text, syntax, at, word)
        } else {
            almost(text, syntax, at, word)
        };
        found.extend(near);
    }
    found
}

/// `Author:`, `AUTHOR :`, `AUTHOR():`, `AUTHOR (x):`, `AUTHOR(x) :`.
fn almost(text: &str, syntax: &Syntax, at: usize, word: &str) -> Option<NearMiss> {
    let line = text.get(at + word.len()..line_end(text, at))?;
    let colon = line.find(':')?;
    let between = line.get(..colon)?;
    let (blanks, name) = match between.trim() {
        "" => (between, None),
        inside => {
            let name = inside.strip_prefix('(')?.strip_suffix(')')?;
            if name.contains(['(', ')']) {
                return None;
            }
            (between, Some(name.trim()))
        }
    };
    let upper = word.to_ascii_uppercase();
    let is_lower = word != upper;
    let why = if is_lower {
        "a marker is written in capitals"
    } else if name.is_some_and(str::is_empty) {
        "the parentheses hold no name"
    } else if blanks.starts_with([' ', '\t']) || blanks.ends_with([' ', '\t']) {
        "no blank stands before the colon or around the parentheses of a marker"
    } else {
        return in_a_table(text, syntax, at..at + word.len() + colon + 1);
    };
    let (_, start) = scan::comment_text(text, syntax, at)?;
    let said = line.get(colon + 1..)?;
    let reads = person::read(said);
    // `author: jane` is a field of many headers; only speech is meant for an agent.
    if start != at
        || (is_lower && reads != Reads::Speech)
        || (reads == Reads::Person && !is_lower && name.is_none())
    {
        return None;
    }
    let replacement = match name.filter(|name| !name.is_empty()) {
        Some(name) => format!("{upper}({name}):"),
        None => format!("{upper}:"),
    };
    Some(NearMiss {
        range: at..at + word.len() + colon + 1,
        replacement,
        why,
    })
}

/// A marker in a cell of a Markdown table. A row is one line: an answer below it would end the table.
fn in_a_table(text: &str, syntax: &Syntax, range: Range<usize>) -> Option<NearMiss> {
    let before = text.get(line_start(text, range.start)..range.start)?;
    let is_hidden = before.trim_end().ends_with("<!--")
        && syntax.is_in_table(range.start)
        && syntax.comment_at(text, range.start).is_none();
    is_hidden.then_some(NearMiss {
        range,
        replacement: String::new(),
        why: "a row of a table is one line, so an answer has no place in it: ask above the table",
    })
}

/// `AI!` or `AI?` at the start or the end of a comment: how some tools are called.
fn call(text: &str, syntax: &Syntax, at: usize, word: &str) -> Option<NearMiss> {
    let (comment, start) = scan::comment_text(text, syntax, at)?;
    let why = "an agent is asked by an AUTHOR line";
    if start == at {
        return Some(NearMiss {
            range: at..at + word.len(),
            replacement: String::from("AUTHOR:"),
            why,
        });
    }
    if comment.end != at + word.len() || comment.start < line_start(text, at) {
        return None;
    }
    let said = text.get(start..at)?.trim();
    if said.starts_with("AUTHOR") || said.starts_with("AGENT") {
        return None;
    }
    let mark = if word.ends_with('?') && !said.ends_with('?') {
        "?"
    } else {
        ""
    };
    Some(NearMiss {
        range: start..comment.end,
        replacement: format!("AUTHOR: {said}{mark}"),
        why,
    })
}
