//! Lines that must stay a file's first: `#!`, declarations of language and encoding, front matter.

use super::{line_end, next_line};
use crate::edits::Source;
use crate::threads::lines::behind_mark;

/// What a first line begins with that has to be one; lower-case.
const FIRST: &[&str] = &[
    "<?xml",
    "<?php",
    "@charset",
    "<!doctype",
    "%yaml",
    "#%raml",
    "%!ps",
    "#cloud-config",
    "#compdef",
    "#autoload",
    "#%module",
    "// swift-tools-version",
    "//swift-tools-version",
    "--liquibase formatted sql",
    "-- liquibase formatted sql",
];

/// Where the first line begins that a comment may stand above; the text's end where there is none.
pub(in super::super) fn first_allowed(source: Source) -> usize {
    let text = source.text;
    let (mut line, mut at) = (0, 0);
    loop {
        let end = line_end(text, at);
        let content = text.get(behind_mark(text, at)..end).unwrap_or_default();
        if line == 0
            && content.trim_end() == "---"
            && let Some(behind) = behind_front_matter(source, end)
        {
            return behind;
        }
        if !declares(content, line) {
            return at;
        }
        let Some(next) = behind(source, end) else {
            return text.len();
        };
        line += 1;
        at = next;
    }
}

/// Whether a file's 0-based `line`, those above which are such too, has to stay where it is.
fn declares(content: &str, line: usize) -> bool {
    let lower = content.to_ascii_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| lower.starts_with(word));
    let is_program = content.starts_with("#!") && !content.starts_with("#![");
    let has_mode = || lower.matches("-*-").nth(1).is_some();
    let tells_coding = || {
        let words = ["coding:", "coding=", "-*-"];
        content.starts_with('#') && words.iter().any(|word| lower.contains(word))
    };
    match line {
        0 if is_program || begins(FIRST) => true,
        1 if begins(&["<?php"]) => true,
        0 | 1 if has_mode() || tells_coding() => true,
        _ => is_directive(&lower),
    }
}

/// A directive to Docker's parser: they stand above all else.
fn is_directive(line: &str) -> bool {
    let word = line.strip_prefix('#').map(str::trim_start);
    ["syntax", "escape", "check"].iter().any(|name| {
        let rest = word.and_then(|word| word.strip_prefix(name));
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    })
}

/// The line behind the one that ends at `end`, and behind the tag or comment that goes on there.
fn behind(source: Source, mut end: usize) -> Option<usize> {
    let text = source.text;
    loop {
        let next = next_line(text, end)?;
        let around = source.syntax.comment_at(text, next);
        let around = around.filter(|comment| comment.block && comment.range.start < next);
        end = match around {
            Some(comment) => line_end(text, comment.range.end),
            None if source.syntax.is_in_tag(text, next) => line_end(text, next),
            None => return Some(next),
        };
    }
}

/// Where the line behind the front matter begins, whose first line ends at `end`; `None`: it is none.
fn behind_front_matter(source: Source, end: usize) -> Option<usize> {
    let text = source.text;
    let name = source.syntax.language().map(|language| language.name);
    // A document of its own, code; and a comment where two hyphens begin one.
    if matches!(name, Some("yaml" | "astro")) || source.syntax.comment_at(text, 0).is_some() {
        return None;
    }
    let mut start = next_line(text, end)?;
    loop {
        let end = line_end(text, start);
        let line = text.get(start..end).unwrap_or_default();
        let next = next_line(text, end)?;
        if matches!(line.trim_end(), "---" | "...") {
            return Some(next);
        }
        start = next;
    }
}
