//! Which part of a text is read by itself, and in what frame.

use std::ops::Range;

use tree_sitter::{Node, Tree, TreeCursor};

use super::{Frame, MOST};
use crate::text::Splice;

/// What stands beside a change up to so many bytes away is read with it: there the author may go on. In broken code a
/// parser takes up to a millisecond for a kilobyte.
const BESIDE: usize = if cfg!(test) { 40 } else { 512 };
/// Bytes of a node's text before what it holds that are taken for its beginning.
const FEW: usize = 200;
/// Levels of items: a method in a class in a module.
const LEVELS: usize = 12;

/// Where a run of items begins and ends that holds a change, and what they stand below. Few would do; what is beside is
/// taken with it. `free`: what no other excerpt holds.
pub(super) fn around<'t>(
    tree: &'t Tree,
    text: &str,
    splice: &Splice,
    free: &Range<usize>,
) -> Option<(Range<usize>, TreeCursor<'t>)> {
    let mut above = tree.walk();
    for level in 0..LEVELS {
        let cuts = cuts(&above, text, splice, level == 0);
        let cuts = || {
            cuts.iter()
                .copied()
                .filter(|at| free.start <= *at && *at <= free.end)
        };
        let is_before = |at: &usize| *at < splice.start_byte || *at == 0;
        let is_behind = |at: &usize| *at > splice.old_end_byte || *at == text.len();
        let start = cuts().filter(is_before).max();
        let end = cuts().filter(is_behind).min();
        if let (Some(start), Some(end)) = (start, end)
            && end - start <= MOST
        {
            let more = (MOST - (end - start)) / 2;
            let start = cuts().filter(|at| at + more >= start).min()?;
            let end = cuts().filter(|at| *at <= end + more).max()?;
            return Some((start..end, above));
        }
        above.goto_first_child_for_byte(splice.start_byte.saturating_sub(1))?;
        let item = above.node();
        if item.start_byte() >= splice.start_byte || item.end_byte() <= splice.old_end_byte {
            return None;
        }
    }
    None
}

/// Where a line begins between the items below `above`, near a change. `top`: what is before the first and behind the
/// last is theirs too.
fn cuts(above: &TreeCursor, text: &str, splice: &Splice, top: bool) -> Vec<usize> {
    let bytes = text.as_bytes();
    let line_start = |at: usize| {
        let head = bytes.get(..at).unwrap_or_default();
        memchr::memrchr(b'\n', head).map_or(0, |end| end + 1)
    };
    let is_blank = |range: Range<usize>| {
        let between = bytes.get(range).unwrap_or_default();
        between.trim_ascii().is_empty()
    };
    let (from, until) = (
        splice.start_byte.saturating_sub(BESIDE),
        splice.old_end_byte + BESIDE,
    );
    let mut cuts = Vec::new();
    let mut cursor = above.clone();
    let mut before = above.node().start_byte();
    let mut has_more = cursor.goto_first_child_for_byte(from).is_some();
    if top && from == 0 {
        cuts.push(0);
    }
    while has_more {
        let item = cursor.node();
        let line = line_start(item.start_byte());
        if line >= before && is_blank(line..item.start_byte()) {
            cuts.push(line);
        }
        before = item.end_byte();
        if item.start_byte() > until {
            return cuts;
        }
        has_more = cursor.goto_next_sibling();
    }
    if top {
        cuts.push(text.len());
    } else {
        let tail = bytes.get(before..).unwrap_or_default();
        let rest = memchr::memchr(b'\n', tail).map_or(tail.len(), |end| end + 1);
        if is_blank(before..before + rest) {
            cuts.push(before + rest);
        }
    }
    cuts
}

fn bracket(child: Option<Node<'_>>) -> Option<Node<'_>> {
    child.filter(|child| !child.is_named())
}

/// What items that stand below `above` are framed by: what its own text and that of the nodes around it begin and end
/// with.
pub(super) fn frame(mut above: TreeCursor, text: &str) -> Frame {
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let mut around = vec![above.node()];
    while above.goto_parent() {
        around.push(above.node());
    }
    // The root has all of them.
    around.pop();
    let (mut head, mut tail) = (String::new(), String::new());
    for (at, node) in around.iter().enumerate().rev() {
        // Without what stands beside, if that is more than a few words.
        let begin = bracket(node.child(0)).map_or(node.start_byte(), |child| child.end_byte());
        let last = node.child_count().saturating_sub(1);
        let end =
            bracket(node.child(last as u32)).map_or(node.end_byte(), |child| child.start_byte());
        let (mut inner, mut outer) = (begin, end);
        if let Some(next) = at.checked_sub(1).and_then(|next| around.get(next)) {
            if next.start_byte() - node.start_byte() <= FEW {
                inner = next.start_byte();
            }
            if node.end_byte() - next.end_byte() <= FEW {
                outer = next.end_byte();
            }
        }
        head.push_str(part(node.start_byte()..inner));
        tail.insert_str(0, part(outer..node.end_byte()));
    }
    if !head.is_empty() {
        head.truncate(head.trim_end().len());
        head.push('\n');
    }
    if let Some(outermost) = around.last() {
        // C++ has its semicolon beside the class.
        let behind = text.get(outermost.end_byte()..).unwrap_or_default();
        tail.push_str(if behind.starts_with(';') { ";\n" } else { "\n" });
    }
    Frame { head, tail }
}
