//! The threads of a notebook: those of its cells, told in lines and bytes of the notebook itself.

use super::lines::{Counter, line_start};
use super::scan::{self, Found};
use super::{NearMiss, Thread, identity, may_hold, near};
use crate::comments::{Cell, Notebook};

/// A thread in a cell. What was found counts in the cell's source.
pub(crate) struct InCell<'a> {
    pub cell: &'a Cell,
    pub found: Found,
    /// Its id among the threads of the notebook; `found` has that among the cell's.
    pub id: String,
}

/// The threads of all cells, in order.
pub(crate) fn scan<'a>(path: &str, text: &str, notebook: &'a Notebook) -> Vec<InCell<'a>> {
    let mut all = Vec::new();
    for cell in &notebook.cells {
        if !may_hold(cell.written(text).as_bytes()) {
            continue;
        }
        let found = scan::scan(path, cell.text(text), cell.syntax(text));
        all.extend(found.into_iter().map(|found| (cell, found)));
    }
    let ids = identity::ids(path, all.iter().map(|(_, found)| &found.thread));
    all.into_iter()
        .zip(ids)
        .map(|((cell, found), id)| InCell { cell, found, id })
        .collect()
}

pub(super) fn find(path: &str, text: &str, notebook: &Notebook) -> Vec<Thread> {
    let mut counter = Counter::new(text);
    scan(path, text, notebook)
        .into_iter()
        .map(|in_cell| thread(text, in_cell, &mut counter))
        .collect()
}

fn thread(text: &str, in_cell: InCell, counter: &mut Counter) -> Thread {
    let InCell { cell, found, id } = in_cell;
    let mut thread = Thread { id, ..found.thread };
    for (message, rows) in thread.messages.iter_mut().zip(found.message_rows) {
        message.marker = cell.outer_range(text, message.marker.clone());
        message.range = cell.outer_range(text, message.range.clone());
        if message.range.is_empty() {
            message.range = message.marker.clone();
        }
        message.line = counter.line(line_start(text, message.marker.start));
        let last = found.rows.get(rows).and_then(<[_]>::last);
        let end = last.map_or(message.marker.start, |row| {
            // A row without text is where its leader is.
            cell.outer(text, row.text.start.max(row.leader.start))
        });
        message.last_line = counter.line(line_start(text, end.max(message.marker.start)));
    }
    thread
}

pub(super) fn near_misses(text: &str, notebook: &Notebook) -> Vec<NearMiss> {
    let of_cell = |cell: &Cell| -> Vec<NearMiss> {
        near::near_misses(cell.text(text), cell.syntax(text))
            .into_iter()
            .map(|miss| NearMiss {
                range: cell.outer_range(text, miss.range),
                ..miss
            })
            .collect()
    };
    notebook.cells.iter().flat_map(of_cell).collect()
}
