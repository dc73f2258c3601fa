//! Typing inside a name: most keys in code. The rest of a tree is what it was, and nothing waits for it to be parsed.
//! The next key elsewhere has all of it read anew, this name too.

use std::ops::Range;

use postil_grammars::Language;
use tree_sitter::{Parser, Tree};

use super::tree::descend;
use super::{embed, guard};
use crate::text::Splice;

/// The kinds of nodes that are a name and nothing but a name.
const NAMES: &[&str] = &[
    "field_identifier",
    "identifier",
    "namespace_identifier",
    "package_identifier",
    "property_identifier",
    "shorthand_property_identifier",
    "simple_identifier",
    "type_identifier",
];
/// A longer name is none that somebody types.
const LONGEST: usize = 64;

/// Typing inside a name, behind its first letter, leaves the rest of a tree as it is: then the change has only to be
/// told to the tree, in the form that is returned. `text` is what `splice` left.
pub(super) fn inside_name(
    tree: &Tree,
    splice: &Splice,
    text: &str,
    language: &Language,
) -> Option<Splice> {
    // What stands in markup may depend on the name of its element.
    if embed::hosts(language) || splice.start_byte > splice.old_end_byte {
        return None;
    }
    let last = splice.start_byte.checked_sub(1)?;
    let mut way = descend(tree, last)?;
    let name = way.node();
    let (start, old_end) = (name.start_byte(), name.end_byte());
    let is_name = NAMES.contains(&name.kind()) && name.child_count() == 0 && !name.is_missing();
    if !is_name || last < start || splice.old_end_byte > old_end {
        return None;
    }
    let end = old_end - splice.old_end_byte + splice.new_end_byte;
    let new = text.get(start..end)?;
    let is_typed = new.len() <= LONGEST && new.bytes().all(is_of_name);
    if !is_typed || !stands_alone(text, start..end) || !is_plain(new, language) {
        return None;
    }
    if guard::heeds_names(language) && !guard::fits(text, language) {
        return None;
    }
    // Where the text is broken, how it was taken may depend on how long a name is in the part that was skipped.
    while way.goto_parent() {
        if way.node().is_error() {
            return None;
        }
    }
    // What is appended belongs to the name only if the name's last letter seems to be replaced.
    Some(Splice {
        start_byte: last,
        start_point: (splice.start_point.0, splice.start_point.1.checked_sub(1)?),
        ..*splice
    })
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether nothing next to the name could be of one token with it: `r"…"`, `'a'`, `#if`.
fn stands_alone(text: &str, name: Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let before = name.start.checked_sub(1).and_then(|at| bytes.get(at));
    let beside = [before, bytes.get(name.end)];
    beside.into_iter().flatten().all(|byte| {
        byte.is_ascii()
            && !is_of_name(*byte)
            && !matches!(
                byte,
                b'"' | b'\'' | b'`' | b'#' | b'$' | b'@' | b'\\' | b'%'
            )
    })
}

/// Whether the grammar knows this word as nothing but a name.
fn is_plain(word: &str, language: &Language) -> bool {
    let Some(grammar) = language.grammar.map(|grammar| grammar()) else {
        return false;
    };
    let is_known = |named| grammar.id_for_node_kind(word, named) != 0;
    if is_known(true) || is_known(false) {
        return false;
    }
    // A word that a rule is made of by itself (`None`) goes by the rule's name.
    let mut parser = Parser::new();
    if parser.set_language(&grammar).is_err() {
        return false;
    }
    let tree = parser.parse(word, None);
    tree.as_ref()
        .and_then(|tree| descend(tree, 0))
        .is_some_and(|way| {
            let node = way.node();
            NAMES.contains(&node.kind()) && node.byte_range() == (0..word.len())
        })
}

#[cfg(test)]
mod tests {
    use postil_grammars::by_name;

    use super::super::tree;
    use super::*;

    /// Whether `typed` at the `|` of the text needs nothing to be parsed.
    fn is_inside(language: &str, text: &str, typed: &str) -> bool {
        let (before, behind) = text.split_once('|').expect("a place");
        let language = by_name(language).expect("a row");
        let at = before.len();
        let tree = tree::parse(&[before, behind].concat(), language, None).expect("a tree");
        let splice = Splice::of(before, at..at, typed);
        let text = [before, typed, behind].concat();
        inside_name(&tree, &splice, &text, language).is_some()
    }

    #[test]
    fn letters_of_a_name() {
        for (language, text) in [
            ("rust", "fn f() {\n    na|me();\n}\n"),
            ("rust", "struct Thin| { a: u8 }\n"),
            ("python", "def f(x):\n    retur| = x\n"),
            ("python", "name| = 1"),
            ("javascript", "const a = { b: nam|e };\n"),
            ("tsx", "const a = <Thin|g b={1} />;\n"),
            ("go", "package a\n\nfunc f() { a.Nam|e() }\n"),
            ("c", "int mai|() { return 0; }\n"),
            ("java", "class A { int b| = 1; }\n"),
            ("kotlin", "val a| = 1\n"),
        ] {
            assert!(is_inside(language, text, "x"), "{language}: {text}");
        }
    }

    #[test]
    fn what_may_be_more_than_a_name() {
        for (language, text, typed) in [
            // It becomes a word of the language.
            ("python", "def f(x):\n    retur| = x\n", "n"),
            ("python", "a = Non|\n", "e"),
            ("rust", "fn f() { sel|(); }\n", "f"),
            ("ruby", "__END_|\n# AUTHOR: why?\n", "_"),
            // Its first letter.
            ("rust", "fn f() { |name(); }\n", "x"),
            // It becomes two, or no name.
            ("python", "na|me = 1\n", " "),
            ("python", "na|me = 1\n", "\""),
            ("python", "na|me = 1\n", "é"),
            // It is next to a quote.
            ("cpp", "auto a = f(MACR|\"b\");\n", "O"),
            ("rust", "fn f<'a|>() {}\n", "b"),
            // It is in what could not be read, in a string, a number, a keyword.
            ("python", "a = b c d| e\n", "x"),
            ("python", "a = 'nam|e'\n", "x"),
            ("python", "a = 1|\n", "2"),
            ("python", "impor|t a\n", "x"),
        ] {
            assert!(!is_inside(language, text, typed), "{language}: {text}");
        }
    }
}
