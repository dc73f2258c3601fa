//! Edits of a cell's source as edits of the notebook: the strings that stay keep every byte, a new line
//! of a list is a string of its own, indented and escaped as those around it are.

use super::json::encode;
use super::{Cell, Notebook};
use crate::text::{Edit, apply_edits};

/// How this notebook is written.
struct Manner {
    /// All but ASCII is escaped.
    ascii: bool,
}

impl Notebook {
    /// `edits` of the source of `cell`, sorted, as edits of `text`.
    pub fn outward(&self, text: &str, cell: &Cell, edits: &[Edit]) -> Vec<Edit> {
        let manner = Manner {
            ascii: text.is_ascii() && escapes_letters(text),
        };
        let after = apply_edits(cell.text(text), edits);
        let whole = |text| {
            vec![Edit {
                range: cell.value.clone(),
                text,
            }]
        };
        if !cell.list {
            let edit = |edit: &Edit| {
                let start = cell.outer(text, edit.range.start);
                Edit {
                    range: start..cell.outer(text, edit.range.end),
                    text: manner.encoded(&edit.text),
                }
            };
            return edits.iter().map(edit).collect();
        }
        if after.is_empty() {
            return whole("[]".to_owned());
        }
        if cell.pieces.is_empty() {
            return whole(self.new_list(text, cell, &after, &manner));
        }
        edits
            .iter()
            .map(|edit| self.in_list(text, cell, edit, &manner))
            .collect()
    }

    fn in_list(&self, text: &str, cell: &Cell, edit: &Edit, manner: &Manner) -> Edit {
        let inside = cell.inside(text);
        let total = inside.text.len();
        let (start, end) = (edit.range.start, edit.range.end);
        let piece = inside
            .starts
            .partition_point(|s| *s <= start)
            .saturating_sub(1);
        let between = self.between(text, cell, piece);
        let mut from = cell.outer(text, start);
        let to = cell.outer(text, end);
        let mut written = String::new();
        let previous = piece
            .checked_sub(1)
            .and_then(|i| cell.pieces.get(i))
            .filter(|_| inside.starts.get(piece) == Some(&start));
        if let Some(previous) = previous
            && edit.text.is_empty()
            && end == total
            && start < end
        {
            // The last strings go, and with them the comma before.
            from = previous.end;
        } else if start == total
            && inside.text.ends_with('\n')
            && inside.starts.last() != Some(&total)
            && !edit.text.is_empty()
        {
            // Behind the end of the last line: one more string.
            written.push_str(&between);
        }
        let mut lines = edit.text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            encode(line, manner.ascii, &mut written);
            if line.ends_with('\n') && (lines.peek().is_some() || end < total) {
                written.push_str(&between);
            }
        }
        Edit {
            range: from..to.max(from),
            text: written,
        }
    }

    /// What stands between two strings of this list, quotes included.
    fn between(&self, text: &str, cell: &Cell, piece: usize) -> String {
        let pair = match cell.pieces.get(piece.saturating_sub(1)..) {
            Some([first, second, ..]) => Some((first, second)),
            _ => None,
        };
        if let Some((first, second)) = pair {
            return text
                .get(first.end..second.start)
                .unwrap_or("\", \"")
                .to_owned();
        }
        let before = cell
            .pieces
            .first()
            .and_then(|only| text.get(cell.value.start + 1..only.start - 1))
            .unwrap_or_default();
        if before.is_empty() {
            self.usual_between(text)
        } else {
            format!("\",{before}\"")
        }
    }

    /// What stands between two strings elsewhere in the notebook.
    fn usual_between(&self, text: &str) -> String {
        let seen = self.cells.iter().find_map(|cell| match &*cell.pieces {
            [first, second, ..] if cell.list => text.get(first.end..second.start),
            _ => None,
        });
        seen.unwrap_or("\", \"").to_owned()
    }

    /// The list of an empty cell, as the lists of others are laid out.
    fn new_list(&self, text: &str, cell: &Cell, source: &str, manner: &Manner) -> String {
        let model = self
            .cells
            .iter()
            .filter(|other| other.list && other.range != cell.range)
            .find_map(|other| {
                let (first, last) = (other.pieces.first()?, other.pieces.last()?);
                let open = text.get(other.value.start + 1..first.start - 1)?;
                let close = text.get(last.end + 1..other.value.end - 1)?;
                Some((open, close))
            });
        let (open, close) = model.unwrap_or_default();
        let between = if open.is_empty() {
            self.usual_between(text)
        } else {
            format!("\",{open}\"")
        };
        let lines: Vec<String> = source
            .split_inclusive('\n')
            .map(|line| manner.encoded(line))
            .collect();
        format!("[{open}\"{}\"{close}]", lines.join(&between))
    }
}

impl Manner {
    fn encoded(&self, text: &str) -> String {
        let mut out = String::new();
        encode(text, self.ascii, &mut out);
        out
    }
}

/// Whether some letter beyond ASCII is written as an escape.
fn escapes_letters(text: &str) -> bool {
    memchr::memmem::find_iter(text.as_bytes(), "\\u").any(|at| {
        text.get(at + 2..at + 6)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .is_some_and(|unit| unit >= 0x80)
    })
}
