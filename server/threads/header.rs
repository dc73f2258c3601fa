//! File headers and banners: an `AUTHOR:` field that names a person is no thread.
//!
//! The text decides together with the place. Among a header's fields, or above the file's first code,
//! a person's name is a field; a question is a thread anywhere.

use std::ops::Range;

use memchr::memmem;

use super::Role;
use super::lines::{behind_mark, line_end, line_start, next_line, previous_end, skip_blanks};
use super::person::{self, Reads, Words};
use super::scan::Loose;
use super::why::WhyNone;
use crate::comments::{Comment, Syntax};

/// How many lines of a comment are looked at on each side of a marker.
const FAR: usize = 80;

/// Takes out the messages that are fields of a header.
pub(super) fn remove(
    text: &str,
    syntax: &Syntax,
    messages: &mut Vec<Loose>,
    follows: fn(&Loose, &Loose) -> bool,
    none: &mut impl FnMut(usize, WhyNone),
) {
    let mut end: Option<usize> = None;
    let mut fields = Vec::new();
    let mut spoken_above = false;
    for (i, message) in messages.iter().enumerate() {
        let above = i
            .checked_sub(1)
            .and_then(|i| messages.get(i))
            .filter(|above| follows(message, above));
        let below = messages.get(i + 1).filter(|below| follows(below, message));
        // In a conversation a name is something said.
        let spoken = (above.is_some() && spoken_above)
            || below.is_some_and(|below| below.message.role == Role::Agent);
        let field = if spoken {
            None
        } else {
            field_of(text, syntax, message, &mut end)
        };
        spoken_above = field.is_none();
        if let Some(why) = field {
            none(message.message.marker.start, why);
        }
        fields.push(field.is_some());
    }
    let mut field = fields.into_iter();
    messages.retain(|_| field.next() != Some(true));
}

/// Why this message is a field of a header, if it is one.
fn field_of(
    text: &str,
    syntax: &Syntax,
    loose: &Loose,
    end: &mut Option<usize>,
) -> Option<WhyNone> {
    let message = &loose.message;
    let (first, last) = loose.rows.first().zip(loose.rows.last())?;
    if message.role == Role::Agent || loose.rows.iter().any(|row| row.before || row.after) {
        return None;
    }
    let reads = person::read(&message.text);
    if reads == Reads::Speech {
        return None;
    }
    let mut above_code =
        || first.span.start < *end.get_or_insert_with(|| end_of_header(text, syntax));
    if reads == Reads::Person && above_code() {
        return Some(WhyNone::Person);
    }
    let block = Block {
        text,
        syntax,
        comment: &first.comment,
    };
    let among_fields = || block.fields_above(first.span.start) || block.fields_below(last.span.end);
    if reads != Reads::Nothing {
        // Below a line that tells what the file is (`a.c - reads the table`) a lone word is a name.
        let mut named = || above_code() && block.names_the_file(first.span.start);
        return (among_fields() || named()).then_some(WhyNone::Field);
    }
    // An empty field of a form, or one whose name stands on the next line without the indent of a continuation.
    let below = block.line_below(last.span.end).unwrap_or_default();
    if person::read(below) == Reads::Person && (label(below).is_none() || below.starts_with('(')) {
        return (above_code() || among_fields()).then_some(WhyNone::PersonBelow);
    }
    let in_a_form = is_header_field(below)
        && block
            .line_above(first.span.start)
            .is_some_and(is_header_field);
    in_a_form.then_some(WhyNone::EmptyField)
}

/// Where a file's first code begins; what opens a file without doing anything is none.
pub(super) fn end_of_header(text: &str, syntax: &Syntax) -> usize {
    end_of(text, syntax, false)
}

/// The same of the beginning of a file: its end, where the header may go on behind it.
pub(super) fn end_of_begun_header(text: &str, syntax: &Syntax) -> usize {
    end_of(text, syntax, true)
}

fn end_of(text: &str, syntax: &Syntax, goes_on: bool) -> usize {
    if syntax.is_continued() {
        return 0;
    }
    let mut at = syntax.first_code(text);
    for _ in 0..40 {
        let end = line_end(text, at);
        let line = text
            .get(line_start(text, at)..end)
            .unwrap_or_default()
            .trim();
        let opens = line.starts_with("#region")
            || line.starts_with("#pragma once")
            || line.eq_ignore_ascii_case("@echo off")
            || matches!(
                line.trim_end_matches(';'),
                "'use strict'" | "\"use strict\""
            )
            || (line.starts_with("#ifndef") && guarded(text, end))
            || (line.starts_with("#define")
                && line.ends_with(['H', 'h', '_'])
                && line.split_whitespace().count() == 2);
        let end = match (opens, docstring(text.get(at..).unwrap_or_default())) {
            (true, _) => end,
            (false, Docstring::Closed(length)) => line_end(text, at + length),
            (false, Docstring::Open) if goes_on => return text.len(),
            (false, _) => break,
        };
        let Some(mut next) = next_line(text, end) else {
            return text.len();
        };
        // To the next code: blank lines and comments are passed over.
        loop {
            let rest = text.get(next..).unwrap_or_default();
            next += rest.len() - rest.trim_start().len();
            match syntax
                .comment_at(text, next)
                .filter(|comment| comment.range.end > next)
            {
                Some(comment) => next = comment.range.end,
                None => break,
            }
        }
        at = next;
    }
    at
}

/// Bytes of a documentation string that are looked at.
const LONGEST: usize = 64 << 10;

enum Docstring {
    None,
    /// It ends behind so many bytes.
    Closed(usize),
    /// The text ends in it.
    Open,
}

/// The documentation string that `text` begins with.
fn docstring(text: &str) -> Docstring {
    let prefix = text.len() - text.trim_start_matches(['r', 'R', 'u', 'U']).len();
    let bytes = text.as_bytes().get(prefix..).unwrap_or_default();
    let Some((quotes, inside)) = bytes
        .split_at_checked(3)
        .filter(|(quotes, _)| [b"\"\"\"", b"'''"].iter().any(|known| quotes == known))
    else {
        return Docstring::None;
    };
    let looked_at = inside.get(..LONGEST).unwrap_or(inside);
    match memmem::find(looked_at, quotes) {
        Some(end) => Docstring::Closed(prefix + 3 + end + 3),
        None if inside.len() < LONGEST => Docstring::Open,
        None => Docstring::None,
    }
}

/// `#define` on the line below the one that ends at `end`.
fn guarded(text: &str, end: usize) -> bool {
    next_line(text, end)
        .and_then(|next| text.get(next..))
        .is_some_and(|rest| rest.starts_with("#define"))
}

/// The comment lines around a marker.
struct Block<'a> {
    text: &'a str,
    syntax: &'a Syntax,
    comment: &'a Comment,
}

impl<'a> Block<'a> {
    /// What stands on the comment line `span`, without leader and decoration; `None` where code or nothing stands.
    fn content(&self, span: &Range<usize>) -> Option<&'a str> {
        let first = skip_blanks(self.text, behind_mark(self.text, span.start));
        let inside = |comment: &Comment| {
            comment.range.start <= first
                && first < comment.range.end
                && comment.range.end >= span.start
        };
        let comment = if inside(self.comment) {
            self.comment.clone()
        } else if first >= span.end
            && self.comment.range.start < first
            && first < self.comment.range.end
        {
            return Some("");
        } else if first >= span.end {
            return None;
        } else {
            self.syntax.comment_at(self.text, first)?
        };
        let (mut from, mut to) = (first, span.end);
        if comment.range.start >= span.start {
            from = comment.range.start + comment.open;
        }
        if comment.range.end <= span.end {
            to = comment.range.end - comment.close;
            if !self
                .text
                .get(comment.range.end..span.end)?
                .trim()
                .is_empty()
            {
                return None;
            }
        }
        self.text.get(from.min(to)..to).map(|content| {
            content
                .trim_start_matches(['*', '-', '|', '#', '/', '!', ';', '%', '=', '~', '+'])
                .trim()
        })
    }

    /// Whether one of the lines above is a header's field.
    fn fields_above(&self, start: usize) -> bool {
        let mut start = start;
        for _ in 0..FAR {
            let Some(end) = previous_end(self.text, start) else {
                return false;
            };
            start = line_start(self.text, end);
            match self.content(&(start..end)) {
                Some(content) if is_header_field(content) => return true,
                Some(_) => {}
                None => return false,
            }
        }
        false
    }

    /// Whether a comment line above begins with the name of a file and tells of it.
    fn names_the_file(&self, start: usize) -> bool {
        let mut start = start;
        for _ in 0..FAR {
            let Some(content) = self.line_above(start) else {
                return false;
            };
            let (name, rest) = content
                .split_once(char::is_whitespace)
                .unwrap_or((content, ""));
            let tells = rest.trim_start().starts_with(['-', '–', '—', ':']);
            if (tells || rest.is_empty() || name.ends_with(':')) && person::is_place_in_code(name) {
                return true;
            }
            start = previous_end(self.text, start).map_or(0, |end| line_start(self.text, end));
        }
        false
    }

    /// What the comment line directly above says.
    fn line_above(&self, start: usize) -> Option<&'a str> {
        let end = previous_end(self.text, start)?;
        self.content(&(line_start(self.text, end)..end))
    }

    fn fields_below(&self, end: usize) -> bool {
        let mut end = end;
        for _ in 0..FAR {
            let Some(start) = next_line(self.text, end) else {
                return false;
            };
            end = line_end(self.text, start);
            match self.content(&(start..end)) {
                Some(content) if is_header_field(content) => return true,
                Some(_) => {}
                None => return false,
            }
        }
        false
    }

    /// What the comment line directly below says.
    fn line_below(&self, end: usize) -> Option<&'a str> {
        let start = next_line(self.text, end)?;
        self.content(&(start..line_end(self.text, start)))
    }
}

/// Whether a comment line is a field of a header: `FILE: x.c`, `Copyright (c) …`, `SPDX-License-Identifier: …`.
fn is_header_field(content: &str) -> bool {
    let lower = content.to_lowercase();
    let bare = lower.trim_start_matches(|c: char| {
        !c.is_alphanumeric() && !matches!(c, '@' | '\\' | '$' | '©' | '(')
    });
    if [
        "copyright",
        "(c) ",
        "©",
        "spdx-",
        "licensed under",
        "all rights reserved",
        "$id",
        "$revision",
        "$date",
        "created by",
        "written by",
        "last modified",
        "last update",
    ]
    .iter()
    .any(|start| bare.starts_with(start))
    {
        return true;
    }
    if let Some(tag) = bare.strip_prefix(['@', '\\']) {
        let tag: String = tag.chars().take_while(char::is_ascii_alphabetic).collect();
        return TAGS.has(&tag);
    }
    let Some(label) = label(content) else {
        return false;
    };
    let words = label.to_lowercase();
    let mut parts = words
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty());
    if parts.any(|part| FIELDS.has(part)) {
        return true;
    }
    // Other labels in capitals: `TARGET:`, `COURSE:`; not the flags that comments carry.
    label.len() > 2 && !label.chars().any(char::is_lowercase) && !FLAGS.has(&words)
}

/// What stands before the first colon, where that is up to three words.
fn label(content: &str) -> Option<&str> {
    let content = content.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = content.find([':', '='])?;
    let label = content
        .get(..end)?
        .trim_end_matches([' ', '\t', '.', '*', ']', ')']);
    let words = label.split_whitespace().count();
    let fits = (1..=3).contains(&words)
        && label.len() <= 40
        && label.chars().all(|c| {
            c.is_alphanumeric() || matches!(c, ' ' | '\t' | '-' | '_' | '/' | '(' | ')' | '.')
        });
    // `std::x` and `http://` are no labels.
    let behind = content.get(end + 1..).unwrap_or_default();
    (fits && !behind.starts_with([':', '=']) && !behind.starts_with("//")).then_some(label)
}

/// Words of a header's labels.
static FIELDS: Words = Words::new(
    "
    abstract address affiliation arguments assignment authored based brief bugs build changed
    changelog changes class company compiler contact contents contributor contributors copyright
    course created creation creator credits date dates department dependencies desc description
    designer edited email environment file filename files function group history homepage
    identifier inputs institute institution language last licence license location mail
    maintainer maintainers method modification modified module name notice organisation
    organization outputs owner package parameters params platform procedure program programmer
    project purpose rcs references release repository requirements requires returns revised
    revision routine script since status subroutine summary synopsis tags target team title
    topic unit university updated url usage version web website year",
);

/// Documentation tags that stand in headers.
static TAGS: Words = Words::new(
    "
    author authors brief category company copyright created date desc description email file
    filename fileoverview history ingroup lastmodified licence license link maintainer module
    name namespace overview package param project return returns see since subpackage summary
    title todo updated url version",
);

/// Labels in capitals that flag something in a comment, anywhere.
static FLAGS: Words = Words::new(
    "
    agent ai answer assistant author bug caution danger error example fixme hack human important
    info invariant note notes optimize panics perf question reviewer safety tip todo user warn
    warning wip xxx",
);
