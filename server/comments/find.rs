//! The comments at a place and in a range of a text that was read.

use std::ops::Range;

use super::embed::{self, Part};
use super::tree::{self, Found};
use super::{Cell, Comment, Leader, Syntax, UNKNOWN, is_silent};

impl Syntax {
    /// The comment that covers byte `at`, if any. Cheap: asked once for each marker candidate.
    pub fn comment_at(&self, text: &str, at: usize) -> Option<Comment> {
        if at >= text.len() {
            return None;
        }
        if self.is_notebook() {
            let cell = self.cell_at(text, at)?;
            let inner = cell.text(text);
            let comment = cell.syntax(text).comment_at(inner, cell.inner(text, at))?;
            return Some(outward(text, cell, comment));
        }
        if let Some(excerpt) = self.excerpts.at(at) {
            return excerpt.comment_at(text, at);
        }
        let Some(tree) = &self.tree else {
            return self.scanned_at(text, at);
        };
        if let Some(known) = self.asked.get(at) {
            return Some(known);
        }
        match tree::comment_at(tree, text, self.row(), at) {
            Found::Comment(comment) => {
                self.asked.put(at, &comment);
                Some(comment)
            }
            Found::Code => None,
            Found::Lost => {
                self.asked.beyond();
                self.scanned_at(text, at)
            }
            Found::Unknown(node) => {
                self.asked.beyond();
                match embed::language_of(node, text, self.row()) {
                    Some(inner) => self.inner_at(text, at, &Part::new(node.byte_range(), inner)),
                    None if is_silent(node) => None,
                    None => self.scanned_at(text, at),
                }
            }
        }
    }

    /// Whether a first comment may be written: the language knows comments, or whoever wrote this text does. Of a long
    /// text only so many places are looked at.
    pub fn takes_comments(&self, text: &str) -> bool {
        const PLACES: usize = 2000;
        let row = self.row();
        let lines = row.line.iter().map(|line| line.open);
        let openers = lines.chain(row.block.iter().map(|block| block.open));
        let is_open = |open: &str| {
            let mut places = text.match_indices(open).take(PLACES);
            places.any(|(at, _)| self.comment_at(text, at).is_some())
        };
        !row.no_comments || openers.into_iter().any(is_open)
    }

    /// Whether `comment` is a block that goes on to the text's end because nothing closes it: what opens it may be none.
    pub(crate) fn is_unclosed(&self, text: &str, comment: &Comment) -> bool {
        let said = text.get(comment.range.clone()).unwrap_or_default();
        let own = self.row().block.iter().map(|block| block.open);
        let mut openers = own.chain(["/*", "<!--"]);
        comment.block && comment.close == 0 && openers.any(|open| said.starts_with(open))
    }

    /// The leader that most lines of a text of unknown kind begin with; `#` and `--` with a blank, for `#include` and
    /// `---` are no comments.
    pub(crate) fn leader_of_lines(&self, text: &str) -> Option<Leader> {
        let begins = |line: &str, open: &str| {
            let rest = line.trim_start().strip_prefix(open);
            rest.is_some_and(|rest| open == "//" || rest.starts_with([' ', '\t']))
        };
        let count = |open: &str| {
            text.split(['\n', '\r'])
                .filter(|line| begins(line, open))
                .count()
        };
        let of_script = text.starts_with("#!");
        let counted = UNKNOWN.line.iter().rev().map(|line| {
            let more = usize::from(of_script && line.open == "#");
            (count(line.open) + more, line.open)
        });
        let most = counted.max_by_key(|(count, _)| *count);
        most.filter(|(count, _)| *count > 0)
            .map(|(_, open)| Leader { open, close: "" })
    }

    /// The comment that covers byte `at`, if any, where the tree alone tells.
    pub(crate) fn told_by_tree(&self, text: &str, at: usize) -> Option<Option<Comment>> {
        if let Some(excerpt) = self.excerpts.at(at) {
            return excerpt.told_by_tree(text, at);
        }
        match tree::comment_at(self.tree.as_ref()?, text, self.row(), at) {
            Found::Comment(comment) => Some(Some(comment)),
            Found::Code => Some(None),
            Found::Lost | Found::Unknown(_) => None,
        }
    }

    pub(super) fn scanned_at(&self, text: &str, at: usize) -> Option<Comment> {
        let scan = self.scan(text);
        let before = scan.comments.partition_point(|c| c.range.start <= at);
        if let Some(found) = before
            .checked_sub(1)
            .and_then(|i| scan.comments.get(i))
            .filter(|c| c.range.contains(&at))
        {
            return Some(found.clone());
        }
        self.inner_at(text, at, scan.part_at(at)?)
    }

    /// The comment at byte `at`, which lies in `part`.
    fn inner_at(&self, text: &str, at: usize, part: &Part) -> Option<Comment> {
        self.embedded
            .ask(self.depth, text, part, |syntax, inner, start| {
                let found = syntax.comment_at(inner, at.checked_sub(start)?)?;
                Some(moved(found, start))
            })
    }

    /// The comments that touch `range`, in order.
    pub fn comments_in(&self, text: &str, range: Range<usize>) -> Vec<Comment> {
        let range = range.start.min(text.len())..range.end.min(text.len());
        let mut found = Vec::new();
        if let Some(notebook) = self.notebook(text) {
            for cell in notebook.cells.iter().filter(|c| touches(&c.range, &range)) {
                let inner = cell.text(text);
                let all = cell.syntax(text).comments_in(inner, 0..inner.len());
                found.extend(all.into_iter().map(|c| outward(text, cell, c)));
            }
            found.retain(|c| touches(&c.range, &range));
            return found;
        }
        let Some(tree) = &self.tree else {
            self.scanned_in(text, &range, &mut found);
            return found;
        };
        tree::comments_in(tree, self.row(), &range, &mut |node| {
            if !tree::is_opaque(node, self.row()) && !node.is_error() {
                found.extend(tree::comment_of(node, node.parent(), text, self.row()));
            } else if let Some(inner) = embed::language_of(node, text, self.row()) {
                let part = Part::new(node.byte_range(), inner);
                self.inner_in(text, &part, &range, &mut found);
            } else if !is_silent(node) {
                let part = node.start_byte().max(range.start)..node.end_byte().min(range.end);
                self.scanned_in(text, &part, &mut found);
            }
        });
        if tree.root_node().has_error() {
            let mut scanned = Vec::new();
            self.scanned_in(text, &range, &mut scanned);
            scanned.retain(|c| self.comment_at(text, c.range.start).as_ref() == Some(c));
            found.extend(scanned);
        }
        self.excerpts.put_right(text, &range, &mut found);
        found.retain(|c| touches(&c.range, &range));
        found.sort_by_key(|c| c.range.start);
        found.dedup();
        found
    }

    fn scanned_in(&self, text: &str, range: &Range<usize>, found: &mut Vec<Comment>) {
        let scan = self.scan(text);
        let first = scan
            .comments
            .partition_point(|c| c.range.end <= range.start);
        found.extend(
            scan.comments[first..]
                .iter()
                .take_while(|c| c.range.start < range.end.max(range.start + 1))
                .cloned(),
        );
        for part in scan.embedded.iter().filter(|p| touches(&p.range, range)) {
            self.inner_in(text, part, range, found);
        }
        found.sort_by_key(|c| c.range.start);
        // The pieces of one part answer for all of it.
        found.dedup();
    }

    fn inner_in(&self, text: &str, part: &Part, range: &Range<usize>, found: &mut Vec<Comment>) {
        self.embedded
            .ask(self.depth, text, part, |syntax, inner, start| {
                let wanted = range.start.saturating_sub(start)..range.end.saturating_sub(start);
                let all = syntax.comments_in(inner, wanted).into_iter();
                found.extend(all.map(|c| moved(c, start)));
                Some(())
            });
    }

    /// The part in another language that covers byte `at`.
    pub(super) fn part_at(&self, text: &str, at: usize) -> Option<Part> {
        let Some(tree) = self.whole(text) else {
            return self.scan(text).part_at(at).cloned();
        };
        if !embed::hosts(self.row()) {
            return None;
        }
        let node = tree::node_at(tree, at)?;
        let node = if tree::is_opaque(node, self.row()) {
            node
        } else {
            node.parent()?
        };
        let language = embed::language_of(node, text, self.row())?;
        Some(Part::new(node.byte_range(), language))
    }

    /// The parts in other languages that touch `range`, in order; of one in several pieces the first.
    pub(super) fn parts(&self, text: &str, range: &Range<usize>) -> Vec<Part> {
        if self.is_notebook() {
            return Vec::new();
        }
        let Some(tree) = self.whole(text) else {
            let parts = self.scan(text).embedded.iter();
            let mut found: Vec<Part> = parts
                .filter(|part| touches(&part.range, range))
                .cloned()
                .collect();
            found.sort_by_key(|part| (part.whole.start, part.range.start));
            found.dedup_by_key(|part| part.whole.start);
            return found;
        };
        let mut found = Vec::new();
        if embed::hosts(self.row()) {
            tree::comments_in(tree, self.row(), range, &mut |node| {
                found.extend(
                    embed::language_of(node, text, self.row())
                        .map(|inner| Part::new(node.byte_range(), inner)),
                );
            });
        }
        found
    }
}

fn touches(part: &Range<usize>, range: &Range<usize>) -> bool {
    part.start < range.end.max(range.start + 1) && part.end > range.start
}

/// A comment of a cell in bytes of the notebook; its delimiters as they are written there.
fn outward(text: &str, cell: &Cell, comment: Comment) -> Comment {
    let Range { start, end } = comment.range;
    let range = cell.outer_range(text, start..end);
    let open = cell.outer_range(text, start..start + comment.open);
    let close = cell.outer(text, end - comment.close);
    Comment {
        open: open.end - open.start,
        close: if comment.close == 0 {
            0
        } else {
            range.end.saturating_sub(close)
        },
        range,
        ..comment
    }
}

fn moved(comment: Comment, by: usize) -> Comment {
    Comment {
        range: comment.range.start + by..comment.range.end + by,
        ..comment
    }
}
