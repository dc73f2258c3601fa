//! Where a marker could be written: what is typed of it behind a comment's leader.

use std::ops::Range;

use super::lines::{line_end, line_start, skip_blanks};
use super::{marker, scan};
use crate::comments::{Comment, Syntax};

/// A marker that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Bytes from its first letter to the cursor.
    pub typed: Range<usize>,
    /// Where the word ends that the cursor stands in, its colon included.
    pub end: usize,
    /// The cursor stands directly behind the leader: a blank belongs between.
    pub needs_blank: bool,
}

/// What is typed of a marker at the cursor, byte `at`; `None` where none can stand there: in code, behind
/// other words of a comment, or where one stands already.
pub fn beginning(text: &str, syntax: &Syntax, at: usize) -> Option<Beginning> {
    let span = line_start(text, at)..line_end(text, at);
    let comment = comment_before(text, syntax, at, span.start)?;
    let row = scan::row(text, &comment, span.clone(), syntax)?;
    let end = if comment.range.end <= span.end {
        comment.range.end - comment.close
    } else {
        span.end
    };
    if at < row.leader.end || at > end {
        return None;
    }
    let open = text.get(row.leader.clone())?;
    let rest = text.get(row.leader.end..at)?;
    let leader = row.leader.end + scan::documentation(open, rest, syntax.language());
    let start = skip_blanks(text, leader).min(at);
    let typed = text.get(start..at)?;
    let is_part = |word: &str| {
        word.get(..typed.len())
            .is_some_and(|part| part.eq_ignore_ascii_case(typed))
    };
    if !is_part(marker::AUTHOR) && !is_part(marker::AGENT) {
        return None;
    }
    let rest = text.get(at..end)?;
    if typed.is_empty() && marker::parse(rest.trim_start()).is_some() {
        return None;
    }
    let letters = rest
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
        .count();
    let colon = usize::from(
        !typed.is_empty()
            && rest
                .get(letters..)
                .is_some_and(|rest| rest.starts_with(':')),
    );
    let letters = if typed.is_empty() { 0 } else { letters };
    Some(Beginning {
        needs_blank: !row.leader.is_empty() && start == leader,
        typed: start..at,
        end: at + letters + colon,
    })
}

/// The comment that the cursor stands in or at the end of.
fn comment_before(text: &str, syntax: &Syntax, at: usize, line: usize) -> Option<Comment> {
    if let Some(last) = text.get(line..at)?.chars().next_back() {
        return syntax.comment_at(text, at - last.len_utf8());
    }
    // An empty line of a block comment.
    let comment = syntax.comment_at(text, at)?;
    (comment.range.start < line).then_some(comment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comments::detect;

    /// What is typed, what follows of the word, and whether a blank is needed; `$0` marks the cursor.
    fn check(path: &str, marked: &str, expected: Option<(&str, &str, bool)>) {
        let at = marked.find("$0").unwrap();
        let text = marked.replace("$0", "");
        let syntax = Syntax::parse(&text, detect(path, None, &text));
        let found = beginning(&text, &syntax, at);
        let found = found.as_ref().map(|found| {
            (
                &text[found.typed.clone()],
                &text[found.typed.end..found.end],
                found.needs_blank,
            )
        });
        assert_eq!(found, expected, "{path}: {marked}");
    }

    #[test]
    fn a_marker_begins_behind_a_leader() {
        check("a.rs", "//$0\nfn a() {}\n", Some(("", "", true)));
        check("a.rs", "// $0\nfn a() {}\n", Some(("", "", false)));
        check("a.rs", "// AU$0\nfn a() {}\n", Some(("AU", "", false)));
        check(
            "a.rs",
            "    // aut$0\nfn a() {}\n",
            Some(("aut", "", false)),
        );
        check("a.rs", "fn a() {} // AG$0", Some(("AG", "", false)));
        check("a.rs", "/// A$0\nfn a() {}\n", Some(("A", "", false)));
        check("a.rs", "//! A$0\nfn a() {}\n", Some(("A", "", false)));
        check("a.rs", "// AUT$0HOR: why?\n", Some(("AUT", "HOR:", false)));
        check("a.rs", "// $0why?\n", Some(("", "", false)));
        check("a.hs", "-- | A$0\nf = 1\n", Some(("A", "", false)));
        check("a.f90", "!> A$0\n", Some(("A", "", false)));
        check("a.c", "/* A$0 */\r\nint a;\r\n", Some(("A", "", false)));
        check("a.c", "/*\n * A$0\n */\n", Some(("A", "", false)));
        check("a.c", "/*\n$0\n */\n", Some(("", "", false)));
        check("a.py", "x = 1  # A$0\n", Some(("A", "", false)));
        check("a.sql", "--$0\nselect 1;\n", Some(("", "", true)));
        check("a.html", "<!-- AUTH$0 -->\n", Some(("AUTH", "", false)));
    }

    #[test]
    fn none_begins_in_code_or_behind_words() {
        for (path, marked) in [
            ("a.rs", "fn a() { A$0 }\n"),
            ("a.rs", "let a = \"// A$0\";\n"),
            ("a.rs", "let a = r#\"\n// A$0\n\"#;\n"),
            ("a.rs", "// Because A$0\n"),
            ("a.rs", "// ABC$0\n"),
            ("a.rs", "/$0/ x\n"),
            ("a.rs", "// $0AUTHOR: why?\n"),
            ("a.rs", "// x\n$0\n"),
            ("a.c", "/* x */ A$0\n"),
            ("a.py", "a = '''\n# A$0\n'''\n"),
        ] {
            check(path, marked, None);
        }
    }
}
