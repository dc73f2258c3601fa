//! What a message mentions: `@src/net.rs`, `@load`, `src/net.rs:47`, an address of the web.

use std::ops::Range;

use super::lines::line_start;
use super::{Message, Thread, marker, scan};
use crate::comments::Syntax;

/// What is mentioned, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mention {
    /// Behind an `@`: a file, perhaps with a line, or a name of the code. What there is decides.
    At(String, Option<(u32, u32)>),
    /// `path:line[:column]`; both count from 1.
    Place(String, (u32, u32)),
    /// `http:` or `https:`.
    Web(String),
}

/// The mentions of a message, in order, each with its bytes in `text`.
pub fn mentions(text: &str, message: &Message) -> Vec<(Range<usize>, Mention)> {
    let mut found = Vec::new();
    let Some(said) = text.get(message.range.clone()) else {
        return found;
    };
    let mut at = message.range.start;
    for line in said.split(['\n', '\r']) {
        of_line(line, at, &mut found);
        at += line.len() + 1;
    }
    found
}

/// The bytes of the mention that is being typed in a message: from its `@` to the cursor at byte `at`, and where
/// the word ends that it stands in. While it is typed the message may read as a header's field, so a marker
/// on the cursor's line is enough.
pub fn typed_mention(
    text: &str,
    syntax: &Syntax,
    threads: &[Thread],
    at: usize,
) -> Option<(Range<usize>, usize)> {
    let mut messages = threads.iter().flat_map(|thread| &thread.messages);
    let said = messages
        .find(|message| message.range.start <= at && at <= message.range.end)
        .map(|message| message.range.clone())
        .or_else(|| behind_marker(text, syntax, at))?;
    if at < said.start || at > said.end {
        return None;
    }
    let before = text.get(said.start..at)?;
    let start = before
        .char_indices()
        .rfind(|(_, c)| divides(*c))
        .map_or(0, |(last, c)| last + c.len_utf8());
    let word = before.get(start..).filter(|word| word.starts_with('@'))?;
    let rest = text.get(at..said.end)?;
    let end = at + rest.find(divides).unwrap_or(rest.len());
    Some((at - word.len()..at, end))
}

/// The text behind the marker on the line of byte `at`.
fn behind_marker(text: &str, syntax: &Syntax, at: usize) -> Option<Range<usize>> {
    let last = text.get(line_start(text, at)..at)?.chars().next_back()?;
    let (line, start) = scan::comment_text(text, syntax, at - last.len_utf8())?;
    let marker = marker::parse(text.get(line.clone())?)?;
    Some(start + marker.len..line.end)
}

/// Between two words of a sentence.
fn divides(c: char) -> bool {
    c.is_whitespace() || "()[]{}<>\"'`,;".contains(c)
}

fn of_line(line: &str, start: usize, found: &mut Vec<(Range<usize>, Mention)>) {
    let mut at = 0;
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(address) = web(rest) {
            let range = start + at..start + at + address.len();
            found.push((range, Mention::Web(address.to_owned())));
            at += address.len();
            continue;
        }
        let word = rest.find(divides).map_or(rest, |end| &rest[..end]);
        let bare = word.trim_end_matches(['.', ':', '!', '?']);
        let mention = match bare.strip_prefix('@') {
            Some("") => None,
            Some(name) => Some(match place(name) {
                Some((path, line, column)) => Mention::At(path.to_owned(), Some((line, column))),
                None => Mention::At(name.to_owned(), None),
            }),
            None => place(bare)
                .map(|(path, line, column)| Mention::Place(path.to_owned(), (line, column))),
        };
        found.extend(mention.map(|mention| (start + at..start + at + bare.len(), mention)));
        at += word.len();
        // What divides is one character.
        at += line
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(1, char::len_utf8);
    }
}

/// The address of the web that `text` begins with, without what ends the sentence around it.
fn web(text: &str) -> Option<&str> {
    if !text.starts_with("http://") && !text.starts_with("https://") {
        return None;
    }
    let end = text
        .find(|c: char| c.is_whitespace() || c.is_control() || "<>\"`".contains(c))
        .unwrap_or(text.len());
    let mut address = text.get(..end)?;
    loop {
        let shorter = address.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'']);
        // A closing bracket belongs to the address where it was opened there.
        let shorter = match shorter.chars().next_back() {
            Some(')') if !shorter.contains('(') => shorter.trim_end_matches(')'),
            Some(']') if !shorter.contains('[') => shorter.trim_end_matches(']'),
            _ => shorter,
        };
        if shorter.len() == address.len() {
            break;
        }
        address = shorter;
    }
    let host = address.split_once("//")?.1;
    host.starts_with(|c: char| c.is_alphanumeric() || c == '[')
        .then_some(address)
}

/// `path:line[:column]`: path, line, column.
pub fn place(text: &str) -> Option<(&str, u32, u32)> {
    let mut parts = text.rsplitn(3, ':');
    let (last, middle, first) = (parts.next()?, parts.next(), parts.next());
    let (path, line, column) = match (first, middle?) {
        (Some(path), middle) => match (middle.parse(), last.parse()) {
            (Ok(line), Ok(column)) => (path, line, column),
            _ => return None,
        },
        (None, path) => (path, last.parse().ok()?, 1),
    };
    let file = !path.is_empty()
        && path.chars().any(|c| c == '.' || c == '/')
        && !path.contains(char::is_whitespace);
    (file && line > 0).then_some((path, line, column))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::comments::detect;
    use crate::threads::find;

    fn first(text: &str) -> Message {
        let syntax = Syntax::parse(text, detect("a.rs", None, text));
        find("a.rs", text, &syntax)[0].messages[0].clone()
    }

    fn check(text: &str, expect: Expect) {
        let mut out = String::new();
        for (range, mention) in mentions(text, &first(text)) {
            out.push_str(&format!("{:?} {mention:?}\n", &text[range]));
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn files_places_names_and_addresses_are_found() {
        check(
            "// AUTHOR: like @src/net.rs, (@load_data) or `src/a.rs:4:2`; see src/b.rs:7.\n//   And @größe/ü.rs:3: or https://example.org/a_(b)?c=d. (http://x.test/).\nfn a() {}\n",
            expect![[r#"
                "@src/net.rs" At("src/net.rs", None)
                "@load_data" At("load_data", None)
                "src/a.rs:4:2" Place("src/a.rs", (4, 2))
                "src/b.rs:7" Place("src/b.rs", (7, 1))
                "@größe/ü.rs:3" At("größe/ü.rs", Some((3, 1)))
                "https://example.org/a_(b)?c=d" Web("https://example.org/a_(b)?c=d")
                "http://x.test/" Web("http://x.test/")
            "#]],
        );
    }

    #[test]
    fn what_only_looks_like_a_mention_is_none() {
        check(
            "// AUTHOR: me@example.org at 12:30, note: this; a @ b, command:x file:///etc/passwd http:// javascript:1\nfn a() {}\n",
            expect![""],
        );
    }

    #[test]
    fn the_word_under_the_cursor_is_the_one_that_is_typed() {
        for (marked, expected) in [
            ("// AUTHOR: see @$0\nfn a() {}\n", Some(("@", ""))),
            ("// AUTHOR: see @src/n$0\nfn a() {}\n", Some(("@src/n", ""))),
            (
                "// AUTHOR: see (@n$0et) too\nfn a() {}\n",
                Some(("@n", "et")),
            ),
            (
                "// AUTHOR: why @x\n//   @y$0\nfn a() {}\n",
                Some(("@y", "")),
            ),
            // No thread yet, but a field of the file's header.
            ("// AUTHOR: @$0\nfn a() {}\n", Some(("@", ""))),
            ("/* AUTHOR: @j$0 */\nint a;\n", Some(("@j", ""))),
            ("// Because of @x$0\nfn a() {}\n", None),
            ("let a = \"// AUTHOR: @x$0\";\n", None),
            ("// AUTHOR: why me@exa$0\nfn a() {}\n", None),
            ("// AUTHOR: see @src/n and$0\nfn a() {}\n", None),
            ("// AUTHOR: see $0@src/n\nfn a() {}\n", None),
        ] {
            let at = marked.find("$0").unwrap();
            let text = marked.replace("$0", "");
            let syntax = Syntax::parse(&text, detect("a.rs", None, &text));
            let threads = find("a.rs", &text, &syntax);
            let found = typed_mention(&text, &syntax, &threads, at);
            let found = found
                .as_ref()
                .map(|(typed, end)| (&text[typed.clone()], &text[typed.end..*end]));
            assert_eq!(found, expected, "{marked}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_its_mentions_in_order_on_one_line_each(
            said in "[@a-zé😀:/.0-9`(), \\t]{0,30}(\r\n//   [@a-z:/.0-9 ]{0,20}|https?://[a-z@().:/]{0,12} ?){0,3}",
            cut in 0.0..1.0_f64,
        ) {
            let text = format!("fn a() {{}}\r\n// AUTHOR: why {said}\r\nfn b() {{}}\r\n");
            let syntax = Syntax::parse(&text, detect("a.rs", None, &text));
            let threads = find("a.rs", &text, &syntax);
            let mut last = 0;
            for message in threads.iter().flat_map(|thread| &thread.messages) {
                for (range, _) in mentions(&text, message) {
                    prop_assert!(last <= range.start && message.range.start <= range.start);
                    prop_assert!(range.start < range.end && range.end <= message.range.end);
                    let part = text.get(range.clone());
                    prop_assert!(part.is_some_and(|part| !part.contains(['\r', '\n', ' '])));
                    last = range.end;
                }
            }
            // The cursor may stand anywhere, inside a character too.
            let at = (cut * text.len() as f64) as usize;
            if let Some((typed, end)) = typed_mention(&text, &syntax, &threads, at) {
                prop_assert!(typed.end == at && at <= end);
                prop_assert!(text[typed].starts_with('@') && text.is_char_boundary(end));
            }
            if let Some(found) = crate::threads::beginning(&text, &syntax, at) {
                prop_assert!(found.typed.end == at && at <= found.end);
                prop_assert!(text.is_char_boundary(found.typed.start) && text.is_char_boundary(found.end));
            }
        }
    }
}
