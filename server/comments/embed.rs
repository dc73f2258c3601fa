//! Code of another language inside a text: which it is, and its own structure, made when asked for.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use postil_grammars::{Language, by_name};
use tree_sitter::Node;

use super::Syntax;
use crate::text::Splice;

/// The structures of the embedded parts, by their place.
#[derive(Default, Debug)]
pub(super) struct Embedded(Mutex<HashMap<(usize, usize), Arc<Syntax>>>);

impl Clone for Embedded {
    fn clone(&self) -> Self {
        Self(Mutex::new(
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        ))
    }
}

/// How deep languages are followed into each other.
const DEPTH: u8 = 4;

impl Embedded {
    /// Follows the changes of the text around: a part moves with what is before it, and the one part that
    /// a single change lies in is changed too. `text` is what they all left.
    pub fn update(&mut self, splices: &[Splice], text: &str) {
        let parts = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if parts.is_empty() {
            return;
        }
        let mut kept: Vec<_> = std::mem::take(parts).into_iter().collect();
        for splice in splices {
            let moved = |at: usize| at - splice.old_end_byte + splice.new_end_byte;
            kept.retain_mut(|((start, end), syntax)| {
                if *start >= splice.old_end_byte {
                    (*start, *end) = (moved(*start), moved(*end));
                    true
                } else if *end < splice.start_byte {
                    true
                } else if splices.len() == 1
                    && *start <= splice.start_byte
                    && splice.old_end_byte <= *end
                {
                    *end = moved(*end);
                    let Some(part) = text.get(*start..*end) else {
                        return false;
                    };
                    Arc::make_mut(syntax).update(&[inside(splice, *start, part)], part);
                    true
                } else {
                    false
                }
            });
        }
        parts.extend(kept);
    }

    /// Asks the structure of the part `range`: the question gets it, the part's text and where that begins.
    /// Parts lie in parts no deeper than [`DEPTH`]: below it, nothing is answered.
    pub fn ask<T>(
        &self,
        depth: u8,
        text: &str,
        range: Range<usize>,
        language: &'static Language,
        question: impl FnOnce(&Syntax, &str, usize) -> Option<T>,
    ) -> Option<T> {
        if depth >= DEPTH {
            return None;
        }
        let part = text.get(range.clone())?;
        let key = (range.start, range.end);
        let known = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            // A change elsewhere may have made it another language's.
            .filter(|known| known.row().name == language.name)
            .cloned();
        let syntax = known.unwrap_or_else(|| {
            // Parsed without the lock: a part may have parts of its own.
            let syntax = Arc::new(Syntax::parse_inside(part, Some(language), depth + 1));
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(key, syntax.clone());
            syntax
        });
        question(&syntax, part, range.start)
    }
}

/// `splice` as the part that begins at `start` sees it.
fn inside(splice: &Splice, start: usize, part: &str) -> Splice {
    let at = splice.start_byte.saturating_sub(start);
    let head = part.as_bytes().get(..at).unwrap_or_default();
    let row = memchr::memchr_iter(b'\n', head).count();
    let column = head.len() - memchr::memrchr(b'\n', head).map_or(0, |end| end + 1);
    let (first_row, first_column) = splice.start_point;
    let point = |(r, c): (usize, usize)| {
        if r == first_row {
            (row, column + c.saturating_sub(first_column))
        } else {
            (row + r.saturating_sub(first_row), c)
        }
    };
    Splice {
        start_byte: at,
        old_end_byte: splice.old_end_byte.saturating_sub(start),
        new_end_byte: splice.new_end_byte.saturating_sub(start),
        start_point: (row, column),
        old_end_point: point(splice.old_end_point),
        new_end_point: point(splice.new_end_point),
    }
}

/// Whether texts of this language hold code of others that its tree shows.
pub(super) fn hosts(language: &Language) -> bool {
    matches!(language.name, "html" | "markdown")
}

/// The language of the code that `node` is, where that is not the text's own.
pub(super) fn language_of(
    node: Node,
    text: &str,
    language: &Language,
) -> Option<&'static Language> {
    match (language.name, node.kind()) {
        ("html", "raw_text") => {
            let element = node.parent()?;
            let tag = element
                .child(0)
                .and_then(|tag| text.get(tag.byte_range()))
                .unwrap_or("");
            match element.kind() {
                "script_element" => script(tag),
                "style_element" => style(tag),
                _ => None,
            }
        }
        ("markdown", "html_block") => by_name("html"),
        ("markdown", "inline") => by_name("markdown-inline"),
        ("markdown", "minus_metadata") => by_name("yaml"),
        ("markdown", "plus_metadata") => by_name("toml"),
        _ => None,
    }
}

/// The language of a `<script …>`; `None` for data.
pub(super) fn script(tag: &str) -> Option<&'static Language> {
    let kind = attribute(tag, "lang")
        .or_else(|| attribute(tag, "type"))
        .unwrap_or_default()
        .to_ascii_lowercase();
    match kind.as_str() {
        "ts" | "typescript" | "text/typescript" | "application/typescript" => by_name("typescript"),
        "tsx" => by_name("tsx"),
        "jsx" | "text/jsx" | "text/babel" => by_name("jsx"),
        "" | "module" | "js" | "javascript" => by_name("javascript"),
        kind if kind.ends_with("javascript") || kind.ends_with("ecmascript") => {
            by_name("javascript")
        }
        "text/html" | "text/x-template" | "text/ng-template" | "text/x-handlebars-template" => {
            by_name("html")
        }
        _ => None,
    }
}

/// The language of a `<style …>`.
pub(super) fn style(tag: &str) -> Option<&'static Language> {
    let kind = attribute(tag, "lang").unwrap_or_default();
    by_name(&kind)
        .filter(|l| matches!(l.name, "scss" | "less" | "sass" | "stylus"))
        .or_else(|| by_name("css"))
}

/// The value of an attribute in a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let lower = tag.to_ascii_lowercase();
    let mut from = 0;
    while let Some(found) = lower[from..].find(name) {
        let at = from + found;
        from = at + name.len();
        let before = lower
            .as_bytes()
            .get(at.wrapping_sub(1))
            .copied()
            .unwrap_or(b' ');
        let Some(value) = tag[from..].trim_start().strip_prefix('=') else {
            continue;
        };
        if !before.is_ascii_whitespace() {
            continue;
        }
        let value = value.trim_start();
        let end = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => return value[1..].split(quote).next().map(str::to_owned),
            _ => value
                .find(|c: char| c.is_ascii_whitespace() || c == '>')
                .unwrap_or(value.len()),
        };
        return value.get(..end).map(str::to_owned);
    }
    None
}
