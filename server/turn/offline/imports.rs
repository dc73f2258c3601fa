//! The names that an import brings into a file, by its words. Pure.

use std::ops::Range;

/// Words that an import begins with, and those that may stand before them.
const BEGINS: &[&str] = &["use", "import", "from", "using"];
const BEFORE: &[&str] = &["pub", "crate", "super", "in", "export", "global", "static"];
/// Words of an import that are no names.
const SAYS: &[&str] = &[
    "use", "import", "using", "type", "typeof", "static", "function", "const",
];
/// Bytes of one that are looked at.
const LONGEST: usize = 4096;

/// The names of the import that `code` begins with, each with its bytes there: in `use a::{b, c as d}` these are `b` and
/// `d`. Groups go on below their first line. `None`: it begins with no import.
pub(super) fn imported(code: &str) -> Option<Vec<(Range<usize>, &str)>> {
    let mut words = Words::of(code);
    let mut first = words.next()?;
    while BEFORE.contains(&first.text) || matches!(first.text, "(" | ")") {
        first = words.next()?;
    }
    // A field or a label may be called so.
    let behind = code.get(first.at.end..)?.trim_start();
    if !BEGINS.contains(&first.text) || behind.starts_with(':') {
        return None;
    }
    // `from x import a`: what it is from is no name of it.
    if first.text == "from" {
        words.by_ref().find(|word| word.text == "import")?;
    }
    let mut names = Vec::new();
    // The word before, and that before the group; how deep the groups are.
    let (mut last, mut above, mut depth): (Option<Word>, Option<Word>, usize) = (None, None, 0);
    let (mut is_first, mut comma) = (true, false);
    for word in words {
        let begins = std::mem::take(&mut is_first);
        if word.text != "\n" {
            comma = word.text == ",";
        }
        match word.text {
            // A call, or a block that uses something: `import("x")`, `using (x)`.
            "(" if begins && first.text != "from" => return None,
            "{" | "(" => {
                (above, last) = (last.take(), None);
                depth += 1;
            }
            "," | "}" | ")" | ";" | "\n" | "from" | "=" => {
                // A list goes on behind a comma.
                if word.text == "\n" && (depth > 0 || (last.is_none() && comma)) {
                    continue;
                }
                match last.take() {
                    Some(name) if name.text == "self" => names.extend(above.clone()),
                    Some(name) if name.text != "_" => names.push(name),
                    _ => {}
                }
                match word.text {
                    "}" | ")" => depth = depth.saturating_sub(1),
                    "," => {}
                    _ => break,
                }
            }
            "*" => last = None,
            text if SAYS.contains(&text) => {}
            _ => last = Some(word),
        }
    }
    Some(names.into_iter().map(|name| (name.at, name.text)).collect())
}

#[derive(Clone)]
struct Word<'a> {
    at: Range<usize>,
    text: &'a str,
}

/// Words and marks; what stands in quotes or in comments is left out, and the text ends in a line end.
struct Words<'a> {
    code: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    fn of(code: &'a str) -> Self {
        let mut end = code.len().min(LONGEST);
        while !code.is_char_boundary(end) {
            end -= 1;
        }
        let code = code.get(..end).unwrap_or_default();
        Self { code, at: 0 }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        loop {
            let rest = self.code.get(self.at..)?;
            let Some(first) = rest.chars().next() else {
                // Once, at the end.
                self.at += 1;
                let end = self.code.len();
                return Some(Word {
                    at: end..end,
                    text: "\n",
                });
            };
            let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            let length = match first {
                '"' | '\'' => {
                    let closed = rest.get(1..)?.find([first, '\n']);
                    self.at += closed.map_or(rest.len(), |at| at + 2);
                    continue;
                }
                '\\' if rest.starts_with("\\\n") => {
                    self.at += "\\\n".len();
                    continue;
                }
                '/' | '#' if rest.starts_with("//") || first == '#' => {
                    self.at += rest.find('\n').unwrap_or(rest.len());
                    continue;
                }
                // Rust's way to name what is a keyword.
                'r' if rest.starts_with("r#") => {
                    let name = rest.get(2..)?;
                    2 + name.find(|c| !is_part(c)).unwrap_or(name.len())
                }
                c if is_part(c) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
                c if "{}(),;*\n=".contains(c) => c.len_utf8(),
                c => {
                    self.at += c.len_utf8();
                    continue;
                }
            };
            let at = self.at..self.at + length;
            self.at = at.end;
            let text = self.code.get(at.clone())?;
            return Some(Word { at, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_tells_the_names_that_it_brings() {
        for (code, expected) in [
            (
                "use crate::shell::{generate, Shell};",
                &["generate", "Shell"][..],
            ),
            ("pub(crate) use a::b;", &["b"]),
            ("use a::b as c;\nuse d::e;", &["c"]),
            (
                "use a::{\n    // the first\n    b,\n    c::{self, D as E},\n};\nfn f() {}",
                &["b", "c", "E"],
            ),
            ("use a::{b as _, c};", &["c"]),
            ("use a::*;", &[]),
            ("from x import *\ny = 1", &[]),
            ("import \"fmt\"\nfunc f(x int) {}", &[]),
            ("import './a.css'\nimport x from './b'", &[]),
            ("import a,\n    b\nc = 1", &["a", "b"]),
            ("use a::r#type;", &["r#type"]),
            ("import a.b.C;", &["C"]),
            ("import static a.b.C.d;", &["d"]),
            ("import os", &["os"]),
            ("import os, sys as system\nx = 1", &["os", "system"]),
            ("from x.y import a, b as c  # why\nd = 1", &["a", "c"]),
            ("from x import (\n    a,\n    b,\n)\n", &["a", "b"]),
            ("from x import \\\n    a, \\\n    b\nc = 1", &["a", "b"]),
            (
                "import React, { useState as state, type Ref } from 'react';",
                &["React", "state", "Ref"],
            ),
            ("import * as fs from \"fs\"", &["fs"]),
            ("import \"fmt\"", &[]),
            ("using System.Text;", &["Text"]),
            ("using static System.Math;", &["Math"]),
            ("use A\\{B, C};", &["B", "C"]),
        ] {
            let names = imported(code).map(|names| names.into_iter().map(|(_, name)| name));
            assert_eq!(
                names.map(Vec::from_iter).as_deref(),
                Some(expected),
                "{code}"
            );
        }
        for code in [
            "fn f() {}",
            "",
            "x = 1",
            "import(\"x\")",
            "using (var x = f()) {",
            "used = 1",
            "from",
            "import: bool,",
            "use: x,",
        ] {
            assert_eq!(imported(code), None, "{code}");
        }
    }
}
