//! Markers that are almost markers: what the person may have meant, and how it is written.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Match, packed};

use super::lines::line_end;
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
    // Where the text of a comment's line ends of which the first word was read. Of the others only the last may be meant.
    let mut read = 0;
    // Cheap looks first: most places are no near miss, and only those left ask for their comment.
    for (at, word) in searcher.places(text, part) {
        let alone = |b: Option<&u8>| b.is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'_');
        let bytes = text.as_bytes();
        let end = at + word.len();
        if !alone(at.checked_sub(1).and_then(|before| bytes.get(before)))
            || !alone(bytes.get(end))
            || at < read && end != read
        {
            continue;
        }
        let spelled = match word.len() {
            3 => None,
            _ => match spelled(text, at, word) {
                Some(Spelled { why: None, end, .. }) => {
                    found.extend(in_a_table(text, syntax, at..end));
                    continue;
                }
                Some(spelled) => Some(spelled),
                None => continue,
            },
        };
        let Some((comment, start)) = scan::comment_text(text, syntax, at) else {
            continue;
        };
        read = comment.end;
        found.extend(match spelled {
            Some(spelled) if start == at => almost(text, at, spelled),
            Some(_) => None,
            None => call(text, at..end, comment, start),
        });
    }
    found
}

/// A word with what stands between it and its colon.
struct Spelled<'a> {
    /// Behind the colon.
    end: usize,
    /// In capitals.
    word: String,
    is_lower: bool,
    name: Option<&'a str>,
    /// What is wrong with it.
    why: Option<&'static str>,
}

/// `Author:`, `AUTHOR :`, `AUTHOR():`, `AUTHOR (x):`, `AUTHOR(x) :`, and a marker. No further than to the next word or
/// parenthesis, for a line may be a file, full of such words.
fn spelled<'a>(text: &'a str, at: usize, word: &str) -> Option<Spelled<'a>> {
    let rest = text.get(at + word.len()..)?;
    let inside = rest.trim_start_matches(is_blank);
    let (name, behind) = match inside.strip_prefix('(') {
        Some(inside) => {
            let (name, behind) = inside.split_at(inside.find(['(', ')', ':', '\n', '\r'])?);
            let behind = behind.strip_prefix(')')?;
            (Some(name.trim()), behind.trim_start_matches(is_blank))
        }
        None => (None, inside),
    };
    let said = behind.strip_prefix(':')?;
    let between = rest.get(..rest.len() - behind.len())?;
    let upper = word.to_ascii_uppercase();
    let is_lower = word != upper;
    let why = if is_lower {
        Some("a marker is written in capitals")
    } else if name.is_some_and(str::is_empty) {
        Some("the parentheses hold no name")
    } else if between.starts_with([' ', '\t']) || between.ends_with([' ', '\t']) {
        Some("no blank stands before the colon or around the parentheses of a marker")
    } else {
        None
    };
    Some(Spelled {
        end: text.len() - said.len(),
        word: upper,
        is_lower,
        name,
        why,
    })
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\n' | '\r')
}

/// A comment's line begins so, and is its author's words.
fn almost(text: &str, at: usize, spelled: Spelled) -> Option<NearMiss> {
    let Spelled {
        end,
        word,
        is_lower,
        name,
        why,
    } = spelled;
    let reads = person::read(text.get(end..line_end(text, end))?);
    // `author: jane` is a field of many headers; only speech is meant for an agent.
    if is_lower && reads != Reads::Speech || reads == Reads::Person && !is_lower && name.is_none() {
        return None;
    }
    let replacement = match name.filter(|name| !name.is_empty()) {
        Some(name) => format!("{word}({name}):"),
        None => format!("{word}:"),
    };
    Some(NearMiss {
        range: at..end,
        replacement,
        why: why?,
    })
}

/// A marker in a cell of a Markdown table. A row is one line: an answer below it would end the table.
fn in_a_table(text: &str, syntax: &Syntax, range: Range<usize>) -> Option<NearMiss> {
    let before = text.get(..range.start)?;
    let is_hidden = before.trim_end_matches(is_blank).ends_with("<!--")
        && syntax.is_in_table(range.start)
        && syntax.comment_at(text, range.start).is_none();
    is_hidden.then_some(NearMiss {
        range,
        replacement: String::new(),
        why: "a row of a table is one line, so an answer has no place in it: ask above the table",
    })
}

/// `AI!` or `AI?` at the start or the end of a comment: how some tools are called.
fn call(text: &str, word: Range<usize>, comment: Range<usize>, start: usize) -> Option<NearMiss> {
    let why = "an agent is asked by an AUTHOR line";
    if start == word.start {
        return Some(NearMiss {
            range: word,
            replacement: String::from("AUTHOR:"),
            why,
        });
    }
    if comment.end != word.end {
        return None;
    }
    let said = text.get(start..word.start)?.trim();
    if said.starts_with("AUTHOR") || said.starts_with("AGENT") {
        return None;
    }
    let mark = if text.get(word)?.ends_with('?') && !said.ends_with('?') {
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
