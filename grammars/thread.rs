//! The grammar of our own, `tree-sitter-postil/`: roles, names and mentions of a thread. Pure.

use std::ops::Range;

use tree_sitter::{Language, Node, Parser};
use tree_sitter_language::LanguageFn;

#[expect(unsafe_code, reason = "the generated parser is C")]
mod ffi {
    use super::LanguageFn;

    unsafe extern "C" {
        fn tree_sitter_postil() -> *const ();
    }

    // SAFETY: what tree-sitter generated for this very purpose.
    pub(super) const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_postil) };
}

/// What a piece of a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Author,
    Agent,
    /// In the parentheses behind the role.
    Name,
    /// What is said, between the other parts.
    Text,
    /// `@src/net.rs`
    File,
    /// `@load`
    Symbol,
    /// Code in back quotes, quotes included.
    Code,
    /// `src/net.rs:47`
    Place,
    /// `https://…`
    Link,
}

/// A piece of a message; bytes of the text that was parsed. Pieces of one answer are in order, overlap
/// nowhere and stand on one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub part: Part,
    pub range: Range<usize>,
}

pub fn language() -> Language {
    ffi::LANGUAGE.into()
}

/// The pieces of the threads in `comment`: a comment as it stands in its file, delimiters and all, or line
/// comments below each other. None where there is no thread.
pub fn pieces(comment: &str) -> Vec<Piece> {
    let mut parser = Parser::new();
    let mut found = Vec::new();
    if parser.set_language(&language()).is_err() {
        return found;
    }
    let Some(tree) = parser.parse(comment, None) else {
        return found;
    };
    let mut cursor = tree.walk();
    // In the order of the text; each node is entered and left once.
    loop {
        let node = cursor.node();
        let deeper = match part(node.kind()) {
            Some(Part::Text) => {
                said(node, &mut found);
                false
            }
            Some(part) => {
                found.push(Piece {
                    part,
                    range: node.byte_range(),
                });
                false
            }
            None => true,
        };
        if deeper && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

/// A text, cut at what is mentioned in it.
fn said(text: Node, found: &mut Vec<Piece>) {
    let mut from = text.start_byte();
    let plain = |range: Range<usize>, found: &mut Vec<Piece>| {
        if !range.is_empty() {
            found.push(Piece {
                part: Part::Text,
                range,
            });
        }
    };
    for mention in text.named_children(&mut text.walk()) {
        if let Some(part) = part(mention.kind()) {
            plain(from..mention.start_byte(), found);
            found.push(Piece {
                part,
                range: mention.byte_range(),
            });
            from = mention.end_byte();
        }
    }
    plain(from..text.end_byte(), found);
}

fn part(kind: &str) -> Option<Part> {
    Some(match kind {
        "author" => Part::Author,
        "agent" => Part::Agent,
        "name" => Part::Name,
        "text" => Part::Text,
        "file" => Part::File,
        "symbol" => Part::Symbol,
        "code" => Part::Code,
        "place" => Part::Place,
        "link" => Part::Link,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
