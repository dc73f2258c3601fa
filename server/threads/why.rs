//! Why a marker-like place of a text begins no message: the reader's own grounds, kept as data.

use super::lines::{Counter, line_start};
use super::{marker, scan};
use crate::comments::{Notebook, Place, Syntax};

/// Why the reader passed over a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WhyNone {
    /// `COAUTHOR:`
    EndOfWord,
    /// No comment covers it. [`not_threads`] tells what does.
    NoComment,
    InString,
    InProse,
    InCode,
    /// Other words stand before it in its comment.
    NotFirst,
    /// A person's name above the file's first code.
    Person,
    /// What could be a person, among the fields of a header.
    Field,
    /// Empty, with a person's name on the line below.
    PersonBelow,
    /// Empty, between other fields of a form.
    EmptyField,
}

impl WhyNone {
    pub fn sentence(self) -> &'static str {
        match self {
            Self::EndOfWord => "it is the end of a longer word",
            Self::NoComment => "it stands in no comment",
            Self::InString => "it stands in a string",
            Self::InProse => "it stands in the text of a document, not in a comment",
            Self::InCode => "it stands in code, not in a comment",
            Self::NotFirst => "other words stand before it in the comment",
            Self::Person => "it names a person above the file's first code",
            Self::Field => "it names somebody among the fields of a header",
            Self::PersonBelow => "it is a header's field with the person's name on the next line",
            Self::EmptyField => "it is an empty field between others of a form",
        }
    }
}

/// A place where a marker is spelled and none is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMarker {
    /// 0-based.
    pub line: usize,
    /// Byte of its first letter.
    pub at: usize,
    pub why: WhyNone,
}

/// Every place of a text where a marker is spelled and begins no message, in order.
pub fn not_threads(text: &str, syntax: &Syntax) -> Vec<NoMarker> {
    let mut found = match syntax.notebook(text) {
        Some(notebook) => in_cells(text, notebook),
        None => of_text(text, syntax),
    };
    found.sort_unstable();
    let mut counter = Counter::new(text);
    found
        .into_iter()
        .map(|(at, why)| NoMarker {
            line: counter.line(line_start(text, at)),
            at,
            why,
        })
        .collect()
}

fn of_text(text: &str, syntax: &Syntax) -> Vec<(usize, WhyNone)> {
    let mut found: Vec<(usize, WhyNone)> = marker::spelled(text, 0..text.len())
        .into_iter()
        .filter(|at| marker::ends_a_word(text, *at))
        .map(|at| (at, WhyNone::EndOfWord))
        .collect();
    scan::scan_told("", text, syntax, &mut |at, why| found.push((at, why)));
    for (at, why) in &mut found {
        if *why == WhyNone::NoComment {
            *why = match syntax.place_at(text, *at) {
                Place::Comment => WhyNone::NoComment,
                Place::String => WhyNone::InString,
                Place::Prose => WhyNone::InProse,
                Place::Code => WhyNone::InCode,
            };
        }
    }
    found
}

/// What a notebook says outside its cells' sources, it says in strings.
fn in_cells(text: &str, notebook: &Notebook) -> Vec<(usize, WhyNone)> {
    let is_source = |at: &usize| notebook.cells.iter().any(|cell| cell.value.contains(at));
    let mut found: Vec<(usize, WhyNone)> = marker::spelled(text, 0..text.len())
        .into_iter()
        .filter(|at| !is_source(at))
        .map(|at| (at, WhyNone::InString))
        .collect();
    for cell in &notebook.cells {
        let inner = of_text(cell.text(text), cell.syntax(text));
        found.extend(
            inner
                .into_iter()
                .map(|(at, why)| (cell.outer(text, at), why)),
        );
    }
    found
}
