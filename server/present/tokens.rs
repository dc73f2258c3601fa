//! The lines of threads piece by piece, for an editor to colour: roles, names, what is said, what is mentioned.
//!
//! What a line of a thread is, [`scan`] has found out; what stands on it, the tree of tree-sitter-postil tells.
//! It is given the lines in one plain form, whatever comments they stand in, so that leaders, delimiters and
//! code around them cannot mislead it.

use std::ops::Range;

use postil_grammars::thread::pieces;

pub use postil_grammars::thread::Part;

use crate::comments::{Notebook, Syntax};
use crate::threads::scan::{Found, scan};
use crate::threads::{Role, notebook};

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Bytes of the text; on one line.
    pub range: Range<usize>,
    pub part: Part,
    /// Who speaks.
    pub role: Role,
    /// Of the file's threads, from 0.
    pub thread: usize,
}

/// The tokens of the threads of `text` that touch the bytes `within`: in order, one never over another, none
/// over a line's end. `path` as in [`crate::threads::find`].
pub fn tokens(path: &str, text: &str, syntax: &Syntax, within: &Range<usize>) -> Vec<Token> {
    let mut all = match syntax.notebook(text) {
        Some(cells) => of_cells(path, text, cells),
        None => {
            let mut lines = Lines::default();
            for (number, found) in scan(path, text, syntax).iter().enumerate() {
                lines.add(text, number, found, within);
            }
            lines.tokens()
        }
    };
    all.retain(|token| touches(&token.range, within));
    // Two messages may share a line.
    all.sort_by_key(|token| token.range.start);
    all
}

/// A notebook's: what stands in the source of a cell, at its place in the notebook.
fn of_cells(path: &str, text: &str, cells: &Notebook) -> Vec<Token> {
    let mut all = Vec::new();
    for (number, thread) in notebook::scan(path, text, cells).into_iter().enumerate() {
        let source = thread.cell.text(text);
        let mut lines = Lines::default();
        lines.add(source, number, &thread.found, &(0..source.len()));
        for token in lines.tokens() {
            let mut range = thread.cell.outer_range(text, token.range.clone());
            // A line of the source may be written as two strings on two lines: the first is coloured.
            let written = text.get(range.clone()).unwrap_or_default();
            if let Some(end) = written.find(['\n', '\r']) {
                range.end = range.start + end;
            }
            all.push(Token { range, ..token });
        }
    }
    all
}

fn touches(range: &Range<usize>, within: &Range<usize>) -> bool {
    range.start < within.end && within.start < range.end
}

/// Lines of threads as line comments below each other, and where each part of them comes from.
#[derive(Default)]
struct Lines {
    text: String,
    parts: Vec<From>,
}

struct From {
    /// Bytes of the lines' text.
    here: Range<usize>,
    /// First byte in the source.
    there: usize,
    role: Role,
    thread: usize,
}

impl Lines {
    fn add(&mut self, text: &str, thread: usize, found: &Found, within: &Range<usize>) {
        for (message, rows) in found.thread.messages.iter().zip(&found.message_rows) {
            let whole = message.marker.start..message.range.end.max(message.marker.end);
            if !touches(&whole, within) {
                continue;
            }
            let rows = found.rows.get(rows.clone()).unwrap_or_default();
            for (index, row) in rows.iter().enumerate() {
                self.text.push_str("// ");
                if index == 0 {
                    self.put(text, &message.marker, message.role, thread);
                }
                self.text.push_str("  ");
                self.put(text, &row.text, message.role, thread);
                self.text.push('\n');
            }
        }
    }

    fn put(&mut self, text: &str, range: &Range<usize>, role: Role, thread: usize) {
        let Some(part) = text.get(range.clone()) else {
            return;
        };
        let start = self.text.len();
        self.text.push_str(part);
        self.parts.push(From {
            here: start..self.text.len(),
            there: range.start,
            role,
            thread,
        });
    }

    fn tokens(&self) -> Vec<Token> {
        let mut parts = self.parts.iter().peekable();
        let mut all = Vec::new();
        for piece in pieces(&self.text) {
            while parts
                .next_if(|part| part.here.end <= piece.range.start)
                .is_some()
            {}
            let Some(part) = parts.peek() else { break };
            // A piece never leaves the part it is of.
            let start = piece.range.start.max(part.here.start);
            let end = piece.range.end.min(part.here.end);
            if start < end {
                all.push(Token {
                    range: part.there + start - part.here.start..part.there + end - part.here.start,
                    part: piece.part,
                    role: part.role,
                    thread: part.thread,
                });
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::comments::detect;

    fn of(path: &str, text: &str, within: Range<usize>) -> Vec<Token> {
        let syntax = Syntax::parse(text, detect(path, None, text));
        tokens(path, text, &syntax, &within)
    }

    fn check(path: &str, text: &str, expect: Expect) {
        let lines: Vec<String> = of(path, text, 0..text.len())
            .into_iter()
            .map(|token| {
                let line = text[..token.range.start].matches('\n').count();
                format!(
                    "{}.{line} {:?} {:?} {:?}\n",
                    token.thread, token.role, token.part, &text[token.range]
                )
            })
            .collect();
        expect.assert_eq(&lines.concat());
    }

    #[test]
    fn lines_of_threads_and_nothing_else() {
        check(
            "a.rs",
            "// Copyright\n// AUTHOR: Jane Doe <jane@example.org>\n\nfn a() {} // AUTHOR(jane): is `a` right?\n\
             //   See @b.rs\n//   and b.rs:3.\n// AGENT: Yes.\n// AUTHOR:\n//  not this\nlet s = \"// AUTHOR: no\";\n\
             // AUTHOR: # AGENT: two?\n",
            expect![[r##"
                0.3 Author Author "AUTHOR"
                0.3 Author Name "jane"
                0.3 Author Text "is "
                0.3 Author Code "`a`"
                0.3 Author Text " right?"
                0.4 Author Text "See "
                0.4 Author File "@b.rs"
                0.5 Author Text "and "
                0.5 Author Place "b.rs:3"
                0.5 Author Text "."
                0.6 Agent Agent "AGENT"
                0.6 Agent Text "Yes."
                0.7 Author Author "AUTHOR"
                1.10 Author Author "AUTHOR"
                1.10 Author Text "# AGENT: two?"
            "##]],
        );
    }

    #[test]
    fn continuations_in_every_kind_of_comment() {
        check(
            "a.c",
            "/* AUTHOR: one\n *   two */\n/*\n   AUTHOR: a\n     # AGENT: b\n\n     c:d.e:4\n   AGENT: f\n*/\n\
             f(/* AUTHOR: g */ 2); // AUTHOR: h\n",
            expect![[r##"
                0.0 Author Author "AUTHOR"
                0.0 Author Text "one"
                0.1 Author Text "two"
                1.3 Author Author "AUTHOR"
                1.3 Author Text "a"
                1.4 Author Text "# AGENT: b"
                1.6 Author Text "c:"
                1.6 Author Place "d.e:4"
                1.7 Agent Agent "AGENT"
                1.7 Agent Text "f"
                2.9 Author Author "AUTHOR"
                2.9 Author Text "g"
                3.9 Author Author "AUTHOR"
                3.9 Author Text "h"
            "##]],
        );
    }

    #[test]
    fn a_notebook_in_its_cells() {
        check(
            "a.ipynb",
            r##"{"cells": [{"cell_type": "code", "source": [
"# AUTHOR: is \"a\" `\u00fc`?\n",
"#   or @b.py\n",
"# AGENT: so",
"me\n", "x = '# AUTHOR: no'"
]}, {"cell_type": "code", "source": "# AUTHOR: c\n# AGENT: d"}],
"metadata": {"language_info": {"name": "python"}}}"##,
            expect![[r#"
                0.1 Author Author "AUTHOR"
                0.1 Author Text "is \\\"a\\\" "
                0.1 Author Code "`\\u00fc`"
                0.1 Author Text "?"
                0.2 Author Text "or "
                0.2 Author File "@b.py"
                0.3 Agent Agent "AGENT"
                0.3 Agent Text "so\","
                1.5 Author Author "AUTHOR"
                1.5 Author Text "c"
                1.5 Agent Agent "AGENT"
                1.5 Agent Text "d"
            "#]],
        );
    }

    #[test]
    fn a_part_of_a_file() {
        let text = "// AUTHOR: a\n//   b `c` d\n// AGENT: e\n";
        let at = text.find("`c`").unwrap();
        let found = of("a.rs", text, at..at + 1);
        assert_eq!(found.len(), 1);
        assert_eq!(&text[found[0].range.clone()], "`c`");
        assert!(of("a.rs", text, 0..0).is_empty());
    }

    fn line() -> impl Strategy<Value = &'static str> {
        prop_oneof![
            Just("// AUTHOR: why `a`?"),
            Just("    //   @a.b c.d:3"),
            Just("//   𝄞 more"),
            Just("// AGENT(x y): so"),
            Just("/* AUTHOR: a"),
            Just(" *   b */"),
            Just(" * AGENT: c"),
            Just("*/"),
            Just("//"),
            Just("f(); /* AUTHOR: d */ g(); // AGENT: `e"),
            Just("let s = \"// AUTHOR: no\";"),
            Just("///   x\\"),
            Just(""),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        /// The tokens tell what the reader of threads tells: the same roles, names and texts.
        #[test]
        fn tokens_are_what_threads_say(
            lines in prop::collection::vec(line(), 0..14),
            end in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
        ) {
            let text = lines.join(end);
            let syntax = Syntax::parse(&text, detect("a.c", None, &text));
            let all = tokens("a.c", &text, &syntax, &(0..text.len()));
            let mut at = 0;
            for token in &all {
                prop_assert!(token.range.start >= at && token.range.start < token.range.end);
                at = token.range.end;
                prop_assert!(!text[token.range.clone()].contains(['\n', '\r']));
            }
            for (number, thread) in crate::threads::find("a.c", &text, &syntax).iter().enumerate() {
                let mine: Vec<&Token> = all.iter().filter(|token| token.thread == number).collect();
                let is_role = |token: &&&Token| matches!(token.part, Part::Author | Part::Agent);
                let roles: Vec<Role> = mine.iter().filter(is_role).map(|token| token.role).collect();
                let expected: Vec<Role> = thread.messages.iter().map(|message| message.role).collect();
                prop_assert_eq!(roles, expected);
                let letters = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
                let said: String = mine.iter().filter(|token| !is_role(token) && token.part != Part::Name)
                    .map(|token| letters(&text[token.range.clone()])).collect();
                let expected: String = thread.messages.iter().map(|message| letters(&message.text)).collect();
                prop_assert_eq!(said, expected);
            }
        }
    }
}
