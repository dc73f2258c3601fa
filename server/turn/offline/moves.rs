//! Where lines of the thread's own file stand once the answer does. It takes lines itself, and most of what it
//! names in that file stands below it.

use crate::edits::{self, Style};
use crate::text::{Document, Edit};
use crate::threads::Thread;
use crate::turn::source::Source;

#[derive(Default)]
pub(super) struct Moves {
    file: String,
    /// From which line (0-based) on, and by how many.
    by: Vec<(usize, isize)>,
}

impl Moves {
    /// What an answer of `lines` lines moves. Nothing where it can not be written as things stand: then it is not,
    /// or in another text than this one.
    pub fn of(source: &Source, thread: &Thread, lines: usize) -> Self {
        let whole = edits::Source {
            path: &source.file,
            text: &source.text,
            syntax: &source.syntax,
        };
        let seen = thread.spoken().len();
        let words = vec!["…"; lines].join("\n");
        let style = Style::default();
        let written = edits::answer(whole, &thread.id, seen, None, &words, style);
        let edits = written.map(|written| written.edits).unwrap_or_default();
        Self {
            file: source.file.clone(),
            by: edits
                .iter()
                .map(|edit| moved(source, edit, thread.trailing))
                .collect(),
        }
    }

    /// `file:line`, 1-based, of a 0-based line as it is now.
    pub fn place(&self, file: &str, line: usize) -> String {
        let mut at = line;
        for (from, by) in &self.by {
            if file == self.file && *from <= line {
                at = at.saturating_add_signed(*by);
            }
        }
        format!("{file}:{}", at + 1)
    }
}

fn moved(source: &Source, edit: &Edit, trailing: bool) -> (usize, isize) {
    let ends = |text: &str| Document::new(text, 0).lines().saturating_sub(1);
    let added = ends(&edit.text).cast_signed();
    let removed = ends(source.slice(edit.range.clone())).cast_signed();
    let line = source.line_of(edit.range.end);
    // The code of that line stands before what trails it, and below all else.
    let stays = trailing && edit.range.end > source.start_of(line);
    (line + usize::from(stays), added - removed)
}
