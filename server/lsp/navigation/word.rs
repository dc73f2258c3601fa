//! What the cursor stands on in a thread's text: a name in back quotes, or a place. Pure.

use std::ops::Range;

use crate::threads::lines::{line_end, line_start};
use crate::threads::{self, Thread};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// `name` as it stands in the quotes (`Store::open`), and the part of it under the cursor.
    Name { name: String, segment: String },
    /// `path:line[:column]`, both 1-based.
    Place {
        path: String,
        line: u32,
        column: u32,
    },
    /// Behind an `@`: a file or a name.
    At(String),
}

/// `at` is a byte of `text` inside the thread.
pub(super) fn at(text: &str, at: usize, thread: &Thread) -> Option<Word> {
    let message = thread
        .messages
        .iter()
        .find(|message| message.range.start <= at && at <= message.range.end)?;
    let from = line_start(text, at).max(message.range.start);
    let to = line_end(text, at).min(message.range.end);
    let line = text.get(from..to)?;
    let cursor = at - from;
    line.get(..cursor)?;
    if let Some((start, quoted)) = quoted(line, cursor) {
        return place(quoted).or_else(|| name(quoted, cursor.checked_sub(start)?));
    }
    let blank = |c: char| c.is_whitespace() || "()[]{}<>\"',;".contains(c);
    let start = line.get(..cursor)?.rfind(blank).map_or(0, |found| {
        found
            + line
                .get(found..)
                .and_then(|rest| rest.chars().next())
                .map_or(1, char::len_utf8)
    });
    let end = line
        .get(cursor..)?
        .find(blank)
        .map_or(line.len(), |found| cursor + found);
    place(line.get(start..end)?)
}

/// The text between the back quotes around the cursor, and where it starts.
fn quoted(line: &str, cursor: usize) -> Option<(usize, &str)> {
    let mut quotes = line.match_indices('`').map(|(at, _)| at);
    loop {
        let (open, close) = (quotes.next()?, quotes.next()?);
        if (open..=close + 1).contains(&cursor) {
            let start = open + 1;
            return Some((start, line.get(start..close)?));
        }
    }
}

/// The part of a path of names (`a::b`, `a.b`, `f()`) under the cursor.
fn name(quoted: &str, cursor: usize) -> Option<Word> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let cursor = cursor.min(quoted.len());
    let start = quoted
        .get(..cursor)?
        .rfind(|c| !part(c))
        .map_or(0, |found| {
            found
                + quoted
                    .get(found..)
                    .and_then(|rest| rest.chars().next())
                    .map_or(1, char::len_utf8)
        });
    let end = quoted
        .get(cursor..)?
        .find(|c| !part(c))
        .map_or(quoted.len(), |found| cursor + found);
    let segment = match quoted.get(start..end)? {
        // Between two names, or behind the last.
        "" => quoted
            .split(|c| !part(c))
            .rfind(|segment| !segment.is_empty())?,
        segment => segment,
    };
    let name = quoted.trim_end_matches(['(', ')', '!']).to_owned();
    Some(Word::Name {
        name,
        segment: segment.to_owned(),
    })
}

/// Where `name` stands on the line of byte `at`, nearest to it.
pub(super) fn span(text: &str, at: usize, name: &str) -> Option<Range<usize>> {
    let ends = ['\n', '\r'];
    let from = text.get(..at)?.rfind(ends).map_or(0, |end| end + 1);
    let to = text
        .get(at..)?
        .find(ends)
        .map_or(text.len(), |end| at + end);
    let ranges = text.get(from..to)?.match_indices(name).map(|(found, _)| {
        let start = from + found;
        start..start + name.len()
    });
    let distance =
        |range: &Range<usize>| range.start.saturating_sub(at) + at.saturating_sub(range.end);
    ranges
        .min_by_key(distance)
        .filter(|range| !range.is_empty())
}

/// The word at a byte, of letters and what is `more`; empty where there is none.
pub(super) fn around<'a>(text: &'a str, at: usize, more: &str) -> &'a str {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || more.contains(c);
    let (Some(before), Some(after)) = (text.get(..at), text.get(at..)) else {
        return "";
    };
    let start = before.trim_end_matches(part).len();
    let end = text.len() - after.trim_start_matches(part).len();
    text.get(start..end).unwrap_or_default()
}

fn place(text: &str) -> Option<Word> {
    let text = text.trim_end_matches(['.', ':', '!', '?']);
    let (text, at) = match text.strip_prefix('@') {
        Some(text) => (text, true),
        None => (text, false),
    };
    match threads::place(text) {
        Some((path, line, column)) => Some(Word::Place {
            path: path.to_owned(),
            line,
            column,
        }),
        None if at && !text.is_empty() => Some(Word::At(text.to_owned())),
        None => None,
    }
}

/// The last name of a path of names: what a mention means by `@Store::open`.
pub(super) fn last_name(path: &str) -> &str {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    path.trim_end_matches(['(', ')', '!'])
        .rsplit(|c| !part(c))
        .next()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comments::{Syntax, detect};

    /// `$0` marks the cursor.
    fn check(marked: &str, expected: Option<Word>) {
        let cursor = marked.find("$0").unwrap();
        let text = marked.replace("$0", "");
        let syntax = Syntax::parse(&text, detect("a.rs", None, &text));
        let threads = threads::find("a.rs", &text, &syntax);
        assert_eq!(at(&text, cursor, &threads[0]), expected, "{marked}");
    }

    fn named(name: &str, segment: &str) -> Option<Word> {
        Some(Word::Name {
            name: name.into(),
            segment: segment.into(),
        })
    }

    fn placed(path: &str, line: u32, column: u32) -> Option<Word> {
        Some(Word::Place {
            path: path.into(),
            line,
            column,
        })
    }

    #[test]
    fn names_stand_in_back_quotes() {
        check(
            "// AUTHOR: is `lo$0ad` right?\nfn a() {}\n",
            named("load", "load"),
        );
        check(
            "// AUTHOR: is `$0load` right?\nfn a() {}\n",
            named("load", "load"),
        );
        check(
            "// AUTHOR: is `load$0()` right?\nfn a() {}\n",
            named("load", "load"),
        );
        check(
            "// AUTHOR: is `Store::op$0en` right?\nfn a() {}\n",
            named("Store::open", "open"),
        );
        check(
            "// AUTHOR: is `Sto$0re::open` right?\nfn a() {}\n",
            named("Store::open", "Store"),
        );
        check(
            "// AUTHOR: `a` or `$0größe`?\nfn a() {}\n",
            named("größe", "größe"),
        );
        check("// AUTHOR: is lo$0ad right?\nfn a() {}\n", None);
        check("// AUTHOR: `a` $0or `b`?\nfn a() {}\n", None);
        check("// AUT$0HOR: `a`?\nfn a() {}\n", None);
    }

    #[test]
    fn places_have_a_line() {
        check(
            "// AUTHOR: does src/n$0et.rs:47 fit?\nfn a() {}\n",
            placed("src/net.rs", 47, 1),
        );
        check(
            "// AUTHOR: why `src/net.rs:47:3$0`?\nfn a() {}\n",
            placed("src/net.rs", 47, 3),
        );
        check(
            "// AUTHOR: why (net.rs$0:1)?\nfn a() {}\n",
            placed("net.rs", 1, 1),
        );
        check("// AUTHOR: is it at 12$0:30?\nfn a() {}\n", None);
        check("// AUTHOR: is note$0: this?\nfn a() {}\n", None);
    }

    #[test]
    fn mentions_are_files_or_names() {
        check(
            "// AUTHOR: like @lo$0ad?\nfn a() {}\n",
            Some(Word::At("load".into())),
        );
        check(
            "// AUTHOR: (see @src/net.rs$0)\nfn a() {}\n",
            Some(Word::At("src/net.rs".into())),
        );
        check(
            "// AUTHOR: see @src/net.r$0s:7\nfn a() {}\n",
            placed("src/net.rs", 7, 1),
        );
        check("// AUTHOR: why me@exam$0ple?\nfn a() {}\n", None);
    }

    #[test]
    fn every_line_of_a_message_counts() {
        check(
            "// AUTHOR: one\n//   `tw$0o`\nfn a() {}\n",
            named("two", "two"),
        );
    }
}
