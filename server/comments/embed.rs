//! Code of another language inside a text: which it is, and its own structure, made when asked for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use postil_grammars::{Language, by_name, detect};
use tree_sitter::Node;

use super::Syntax;
use crate::text::Splice;

/// A piece of embedded code. Code that a template's own is written into is of several pieces: it is read as
/// a whole, with blanks (or a name, where a value will stand) in the place of what the template fills in.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub range: Range<usize>,
    pub language: &'static Language,
    pub whole: Range<usize>,
    /// Counted from where the whole begins.
    pub holes: Arc<[Hole]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    pub range: Range<usize>,
    /// A value will stand here.
    pub value: bool,
}

impl Part {
    /// Code in one piece.
    pub fn new(range: Range<usize>, language: &'static Language) -> Self {
        Self {
            whole: range.clone(),
            range,
            language,
            holes: Arc::default(),
        }
    }

    /// The same elsewhere in the text.
    pub fn moved(&self, to: impl Fn(usize) -> usize) -> Self {
        Self {
            range: to(self.range.start)..to(self.range.end),
            whole: to(self.whole.start)..to(self.whole.end),
            ..self.clone()
        }
    }

    /// What is read of it, as long as it is.
    pub fn text<'a>(&self, text: &'a str) -> Option<Cow<'a, str>> {
        let whole = text.get(self.whole.clone())?;
        if self.holes.is_empty() {
            return Some(Cow::Borrowed(whole));
        }
        let mut bytes = whole.as_bytes().to_vec();
        for hole in self.holes.iter() {
            for byte in bytes.get_mut(hole.range.clone())? {
                if !matches!(byte, b'\n' | b'\r') {
                    *byte = if hole.value { b'_' } else { b' ' };
                }
            }
        }
        String::from_utf8(bytes).ok().map(Cow::Owned)
    }
}

/// The structures of the embedded parts, by their place.
#[derive(Default, Debug)]
pub(super) struct Embedded(Mutex<HashMap<(usize, usize), Known>>);

#[derive(Clone, Debug)]
struct Known {
    syntax: Arc<Syntax>,
    /// What was read in place of the text, and its holes; nothing where there are none.
    masked: Option<(Arc<str>, Arc<[Hole]>)>,
}

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
            kept.retain_mut(|((start, end), known)| {
                if *start >= splice.old_end_byte {
                    (*start, *end) = (moved(*start), moved(*end));
                    true
                } else if *end < splice.start_byte {
                    true
                } else if splices.len() == 1
                    && known.masked.is_none()
                    && *start <= splice.start_byte
                    && splice.old_end_byte <= *end
                {
                    *end = moved(*end);
                    let Some(part) = text.get(*start..*end) else {
                        return false;
                    };
                    Arc::make_mut(&mut known.syntax).update(
                        None,
                        &[inside(splice, *start, part)],
                        part,
                    );
                    true
                } else {
                    false
                }
            });
        }
        parts.extend(kept);
    }

    /// Whether one of those that were asked for has errors.
    pub fn have_errors(&self, text: &str) -> bool {
        let parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parts.iter().any(|((start, end), known)| {
            let read = known.masked.as_ref().map(|(read, _)| &**read);
            let read = read.or_else(|| text.get(*start..*end));
            read.is_some_and(|read| known.syntax.has_errors(read))
        })
    }

    /// Asks the structure of a part: the question gets it, what is read of the part and where that begins.
    /// Parts lie in parts no deeper than [`DEPTH`]: below it, nothing is answered.
    pub fn ask<T>(
        &self,
        depth: u8,
        text: &str,
        part: &Part,
        question: impl FnOnce(&Syntax, &str, usize) -> Option<T>,
    ) -> Option<T> {
        if depth >= DEPTH {
            return None;
        }
        let plain = text.get(part.whole.clone())?;
        let key = (part.whole.start, part.whole.end);
        let fits = |known: &&Known| {
            // A change elsewhere may have made it another language's, or have filled in otherwise.
            known.syntax.row().name == part.language.name
                && match &known.masked {
                    Some((_, holes)) => *holes == part.holes,
                    None => part.holes.is_empty(),
                }
        };
        let known = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .filter(fits)
            .cloned();
        let known = match known {
            Some(known) => known,
            None => {
                // Parsed without the lock: a part may have parts of its own.
                let read = part.text(text)?;
                let known = Known {
                    syntax: Arc::new(Syntax::parse_inside(&read, Some(part.language), depth + 1)),
                    masked: (!part.holes.is_empty())
                        .then(|| (Arc::from(&*read), part.holes.clone())),
                };
                self.0
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(key, known.clone());
                known
            }
        };
        let read = known.masked.as_ref().map_or(plain, |(read, _)| read);
        question(&known.syntax, read, part.whole.start)
    }
}

/// `splice` as the part that begins at `start` sees it.
pub(super) fn inside(splice: &Splice, start: usize, part: &str) -> Splice {
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
    let kind = kind(tag);
    // `text/javascript; charset=utf-8`
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match kind {
        "" | "module" => by_name("javascript"),
        "text/babel" => by_name("jsx"),
        "text/html" | "text/x-template" | "text/ng-template" | "text/template" => by_name("html"),
        _ if kind.ends_with("javascript") || kind.ends_with("ecmascript") => by_name("javascript"),
        _ if kind.starts_with("text/x-handlebars") || kind.starts_with("text/x-mustache") => {
            by_name("handlebars")
        }
        _ if kind.starts_with("x-shader/") => by_name("glsl"),
        _ => {
            // `text/typescript`, `text/x-python`, `ts`.
            let word = kind.rsplit('/').next().unwrap_or_default();
            let word = word.strip_prefix("x-").unwrap_or(word);
            let is_data = word.ends_with("json") || word.ends_with("xml") || word == "importmap";
            (!is_data).then(|| row(word)).flatten()
        }
    }
}

/// The language of a `<style …>`.
pub(super) fn style(tag: &str) -> Option<&'static Language> {
    let kind = kind(tag);
    let word = kind.rsplit('/').next().unwrap_or_default();
    row(word)
        .filter(|l| matches!(l.name, "scss" | "less" | "sass" | "stylus"))
        .or_else(|| by_name("css"))
}

/// The language of a `<template lang="…">`; `None` where that is the markup around.
pub(super) fn template(tag: &str) -> Option<&'static Language> {
    attribute(tag, "lang")
        .and_then(|kind| row(&kind.to_ascii_lowercase()))
        .filter(|l| matches!(l.name, "pug" | "haml" | "slim"))
}

/// What the attribute `lang`, else `type`, says; lower-case.
fn kind(tag: &str) -> String {
    attribute(tag, "lang")
        .or_else(|| attribute(tag, "type"))
        .unwrap_or_default()
        .to_ascii_lowercase()
}

/// The row that a name, an editor's id or an extension stands for.
fn row(word: &str) -> Option<&'static Language> {
    if word.is_empty() {
        return None;
    }
    by_name(word).or_else(|| detect(&format!("x.{word}"), Some(word), ""))
}

/// The value of an attribute in a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut rest = tag.strip_prefix('<')?;
    rest = rest.trim_start_matches(|c: char| !c.is_ascii_whitespace() && c != '>');
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let length = rest
            .find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/'))
            .unwrap_or(rest.len());
        let (here, behind) = rest.split_at_checked(length)?;
        if here.is_empty() && !behind.starts_with('=') {
            return None;
        }
        let Some(value) = behind.trim_start().strip_prefix('=') else {
            rest = behind;
            continue;
        };
        let value = value.trim_start();
        let (value, behind) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value.get(1..)?.split_once(quote)?,
            _ => value.split_at_checked(
                value
                    .find(|c: char| c.is_ascii_whitespace() || c == '>')
                    .unwrap_or(value.len()),
            )?,
        };
        if here.eq_ignore_ascii_case(name) {
            return Some(value.to_owned());
        }
        rest = behind;
    }
}
