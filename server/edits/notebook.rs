//! Writing in a notebook: the edit is made in the cell, as in a text of its own, and written as JSON.

use super::open::start_of;
use super::reply::Said;
use super::verify::conversation;
use super::{Refused, Rewrite, Source, Style, Written};
use crate::comments::{Cell, Notebook, Syntax, begins_with_magic};
use crate::text::{Edit, apply_edits};
use crate::threads::lines::{Counter, line_end};
use crate::threads::notebook::{InCell, scan};

/// The cells; of a text that is none, none.
fn cells<'a>(source: Source<'a>) -> Result<&'a Notebook, Refused> {
    source.syntax.notebook(source.text).ok_or(Refused::Gone)
}

fn inner<'a>(source: Source<'a>, cell: &'a Cell) -> Source<'a> {
    Source {
        path: source.path,
        text: cell.text(source.text),
        syntax: cell.syntax(source.text),
    }
}

/// The thread of that id.
fn thread<'a>(source: Source<'a>, notebook: &'a Notebook, id: &str) -> Result<InCell<'a>, Refused> {
    scan(source.path, source.text, notebook)
        .into_iter()
        .find(|thread| thread.id == id)
        .ok_or(Refused::Gone)
}

pub(super) fn add(source: Source, id: &str, said: Said, style: Style) -> Result<Written, Refused> {
    let notebook = cells(source)?;
    let InCell { cell, found, .. } = thread(source, notebook, id)?;
    let written = super::reply::add(inner(source, cell), &found.thread.id, said, style)?;
    outward(source, notebook, &[(cell, &written.edits)])
        .map(|(edits, _)| Written { edits, ..written })
}

pub(super) fn rewrite(source: Source, id: &str, rewrite: Rewrite) -> Result<Written, Refused> {
    let notebook = cells(source)?;
    let InCell { cell, found, .. } = thread(source, notebook, id)?;
    let written = super::rewrite(inner(source, cell), &found.thread.id, rewrite)?;
    outward(source, notebook, &[(cell, &written.edits)])
        .map(|(edits, _)| Written { edits, ..written })
}

pub(super) fn dismiss(source: Source, id: &str) -> Result<Written, Refused> {
    let notebook = cells(source)?;
    let InCell { cell, found, .. } = thread(source, notebook, id)?;
    let written = super::dismiss(inner(source, cell), &found.thread.id)?;
    outward(source, notebook, &[(cell, &written.edits)])
        .map(|(edits, _)| Written { edits, ..written })
}

pub(super) fn clear(source: Source) -> Result<Written, Refused> {
    let notebook = cells(source)?;
    let mut with_threads: Vec<&Cell> = scan(source.path, source.text, notebook)
        .into_iter()
        .map(|thread| thread.cell)
        .collect();
    with_threads.dedup_by_key(|cell| cell.range.start);
    let mut lines_removed = 0;
    let mut cleared = Vec::new();
    for cell in with_threads {
        let written = super::clear(inner(source, cell))?;
        lines_removed += written.lines_removed;
        cleared.push((cell, written.edits));
    }
    if cleared.is_empty() {
        return Err(Refused::NoThreads);
    }
    let cleared: Vec<(&Cell, &[Edit])> = cleared
        .iter()
        .map(|(cell, edits)| (*cell, edits.as_slice()))
        .collect();
    outward(source, notebook, &cleared).map(|(edits, _)| Written {
        lines_removed,
        ..Written::of(edits)
    })
}

/// Above the line of a source that stands on the notebook's `line`, else on the nearest before it, else
/// behind it. Of a source that is one string it is the first line.
pub(super) fn new_thread(
    source: Source,
    line: usize,
    text: &str,
    style: Style,
) -> Result<(Written, usize), Refused> {
    let notebook = cells(source)?;
    let start = start_of(source.text, line)?;
    let end = line_end(source.text, start);
    let (cell, start) = notebook
        .cells
        .iter()
        .rev()
        .find_map(|cell| Some((cell, cell.last_before(source.text, end)?)))
        .or_else(|| Some((notebook.cells.first()?, 0)))
        .ok_or(Refused::Unreadable)?;
    let inside = inner(source, cell);
    let mut line = Counter::new(inside.text).line(start);
    let magic = begins_with_magic(inside.text);
    if magic && line == 0 {
        line = 1;
    }
    let (written, cursor) = super::new_thread(inside, line, text, style)?;
    let (edits, after) = outward(source, notebook, &[(cell, &written.edits)])?;
    let cell_after = after
        .cells()
        .and_then(|notebook| notebook.cell_at(cell.range.start))
        .ok_or(Refused::Unreadable)?;
    let cursor = cell_after.outer(&after.text, cursor);
    Ok((Written { edits, ..written }, cursor))
}

/// A notebook after a write.
struct After {
    text: String,
    syntax: Syntax,
}

impl After {
    fn new(source: Source, edits: &[Edit]) -> Self {
        Self {
            text: apply_edits(source.text, edits),
            syntax: Syntax::parse("", source.syntax.language()),
        }
    }

    fn cells(&self) -> Option<&Notebook> {
        self.syntax
            .notebook(&self.text)
            .filter(|_| !self.syntax.is_malformed(&self.text))
    }
}

/// The edits of the notebook, if it then holds these sources in these cells and every other as it was.
fn outward(
    source: Source,
    notebook: &Notebook,
    changed: &[(&Cell, &[Edit])],
) -> Result<(Vec<Edit>, After), Refused> {
    let mut edits = Vec::new();
    for (cell, of_cell) in changed {
        edits.extend(notebook.outward(source.text, cell, of_cell));
    }
    let after = After::new(source, &edits);
    let now = after.cells().ok_or(Refused::Unreadable)?;
    let mut changed = changed.iter().peekable();
    let as_meant = notebook.cells.len() == now.cells.len()
        && notebook.cells.iter().zip(&now.cells).all(|(old, new)| {
            match changed.next_if(|(cell, _)| cell.range == old.range) {
                Some((cell, edits)) => {
                    let before = cell.text(source.text);
                    let text = new.text(&after.text);
                    // What a magic says counts on a cell's first line only.
                    text == apply_edits(before, edits)
                        && begins_with_magic(before) == begins_with_magic(text)
                }
                None => old.written(source.text) == new.written(&after.text),
            }
        });
    if as_meant {
        Ok((edits, after))
    } else {
        Err(Refused::Unreadable)
    }
}

pub(super) fn touches_threads(source: Source, edits: &[Edit]) -> bool {
    let Some(before) = source.syntax.notebook(source.text) else {
        return false;
    };
    let before = scan(source.path, source.text, before);
    let after = After::new(source, edits);
    let after_all = match after.cells() {
        Some(notebook) => scan(source.path, &after.text, notebook),
        None => Vec::new(),
    };
    before.len() != after_all.len()
        || before.iter().zip(&after_all).any(|(old, new)| {
            old.found.rows.len() != new.found.rows.len()
                || conversation(&old.found) != conversation(&new.found)
                || old.found.rows.iter().zip(&new.found.rows).any(|(a, b)| {
                    // Of a line shared with code the comment's part.
                    let shared = a.before || a.after || b.before || b.after;
                    let part = |text, in_cell: &InCell, row: &crate::threads::scan::Row| {
                        let range = if shared {
                            row.span.start.max(row.comment.range.start)
                                ..row.span.end.min(row.comment.range.end)
                        } else {
                            row.span.clone()
                        };
                        in_cell.cell.text(text).get(range).map(str::to_owned)
                    };
                    part(source.text, old, a) != part(&after.text, new, b)
                })
        })
}
