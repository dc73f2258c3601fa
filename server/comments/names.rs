//! What is defined in a text, and where a name stands in it.

use std::ops::Range;

use super::notebook::Cell;
use super::outline::{self, Named};
use super::{Symbol, Syntax};

impl Syntax {
    /// The symbols whose definition covers byte `at`, outermost first.
    pub fn enclosing(&self, text: &str, at: usize) -> Vec<Symbol> {
        if self.is_notebook() {
            let Some(cell) = self.cell_at(text, at) else {
                return Vec::new();
            };
            let inner = cell.text(text);
            let found = cell.syntax(text).enclosing(inner, cell.inner(text, at));
            return found.into_iter().map(|s| told(text, cell, s)).collect();
        }
        let mut found = match self.whole(text) {
            Some(tree) => outline::enclosing(tree, text, self.row(), at),
            None => Vec::new(),
        };
        if let Some(part) = self.part_at(text, at) {
            self.embedded
                .ask(self.depth, text, &part, |syntax, part, start| {
                    found.extend(
                        syntax
                            .enclosing(part, at.checked_sub(start)?)
                            .into_iter()
                            .map(|s| shifted(s, start)),
                    );
                    Some(())
                });
        }
        found
    }

    /// Every symbol that is defined in the text, in order.
    pub fn symbols(&self, text: &str) -> Vec<Symbol> {
        if let Some(notebook) = self.notebook(text) {
            let of_cell = |cell| -> Vec<Symbol> {
                let found = Cell::syntax(cell, text).symbols(cell.text(text));
                found.into_iter().map(|s| told(text, cell, s)).collect()
            };
            return notebook.cells.iter().flat_map(of_cell).collect();
        }
        let mut found = match self.whole(text) {
            Some(tree) => outline::symbols(tree, text, self.row()),
            None => Vec::new(),
        };
        for part in self.parts(text, &(0..text.len())) {
            self.embedded
                .ask(self.depth, text, &part, |syntax, part, start| {
                    found.extend(syntax.symbols(part).into_iter().map(|s| shifted(s, start)));
                    Some(())
                });
        }
        found.sort_by_key(|s| (s.range.start, std::cmp::Reverse(s.range.end)));
        found
    }

    /// The places where `name` stands as an identifier (not in a comment or string).
    pub fn identifiers(&self, text: &str, name: &str) -> Vec<Range<usize>> {
        if name.is_empty() {
            return Vec::new();
        }
        if let Some(notebook) = self.notebook(text) {
            let of_cell = |cell| -> Vec<Range<usize>> {
                let found = Cell::syntax(cell, text).identifiers(cell.text(text), name);
                found
                    .into_iter()
                    .map(|range| cell.outer_range(text, range))
                    .collect()
            };
            return notebook.cells.iter().flat_map(of_cell).collect();
        }
        // A hyphen is part of a name in Lisp and in style sheets.
        let hyphen =
            self.row().line.first().is_some_and(|l| l.open == ";") || self.row().name == "css";
        let word = |c: char| c.is_alphanumeric() || c == '_' || (hyphen && c == '-');
        text.match_indices(name)
            .map(|(at, _)| at..at + name.len())
            .filter(|range| {
                let before = text[..range.start].chars().next_back();
                let after = text[range.end..].chars().next();
                !before.is_some_and(word)
                    && !after.is_some_and(word)
                    && self.is_identifier(text, range)
            })
            .collect()
    }

    fn is_identifier(&self, text: &str, range: &Range<usize>) -> bool {
        if let Some(part) = self.part_at(text, range.start) {
            return self
                .embedded
                .ask(self.depth, text, &part, |syntax, part, start| {
                    let range = range.start.checked_sub(start)?..range.end.checked_sub(start)?;
                    syntax.is_identifier(part, &range).then_some(())
                })
                .is_some();
        }
        if let Some(tree) = self.whole(text) {
            match outline::is_identifier(tree, range) {
                Named::Yes => return true,
                Named::Unknown(node)
                    if !self.row().mends || node.kind() == "preproc_arg" || node.is_error() => {}
                Named::No | Named::Unknown(_) => return false,
            }
        }
        let scan = self.scan(text);
        let before = scan.strings.partition_point(|s| s.start <= range.start);
        let in_string = before
            .checked_sub(1)
            .and_then(|i| scan.strings.get(i))
            .is_some_and(|s| s.end > range.start);
        !in_string && self.scanned_at(text, range.start).is_none()
    }
}

fn shifted(symbol: Symbol, by: usize) -> Symbol {
    let move_by = |range: Range<usize>| range.start + by..range.end + by;
    Symbol {
        range: move_by(symbol.range),
        name_range: move_by(symbol.name_range),
        ..symbol
    }
}

fn told(text: &str, cell: &Cell, symbol: Symbol) -> Symbol {
    Symbol {
        range: cell.outer_range(text, symbol.range),
        name_range: cell.outer_range(text, symbol.name_range),
        ..symbol
    }
}
