//! Syntax trees: parsing within a budget, and what is asked of a tree.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};

use postil_grammars::Language;
use tree_sitter::{InputEdit, Node, ParseOptions, ParseState, Parser, Point, Tree, TreeCursor};

use super::scan::{inner_open, line_length, opening};
use super::{Comment, guard, trim_line};
use crate::text::Splice;

/// A longer text is read by the scanner: its tree would take ten times the memory.
const LARGEST: usize = 4 << 20;
/// The same for grammars that may be slow. Where one does not find its way behind an error, nonsense takes up to a tenth
/// of a millisecond for a byte; that of Markdown goes over all sections for a key, with 2 MB of short ones for a quarter
/// of a second.
const LARGEST_SLOW: usize = 1 << 20;

/// The text is handed out in pieces of this many bytes.
const PIECE: usize = 4096;
/// How often a text may be read over. Sound code is read five times at most; the scanner of a grammar that tries
/// a string at each byte up to the text's end reads it as often as it has bytes.
const READINGS: usize = 64;

/// Bytes of the longest text of this language that gets a tree.
pub(super) fn largest(language: &Language) -> usize {
    if language.mends && language.name != "markdown" {
        LARGEST
    } else {
        LARGEST_SLOW
    }
}

/// Parses `text`, reusing `old`. `None` where there is no grammar, or the text is too large or takes
/// too many steps: time must not grow faster than the text. Steps are counted, not time, so that a
/// text is always read in the same way. `None` too for a text with errors where the grammar does not
/// find its way behind them.
pub(super) fn parse(text: &str, language: &Language, old: Option<&Tree>) -> Option<Tree> {
    let grammar = language.grammar?;
    if text.len() > largest(language) || !guard::fits(text, language) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&grammar()).ok()?;
    // The parser reports every hundred operations or so; sound code needs less than one report per ten bytes.
    let mut left = 500 + text.len() / 8;
    let pieces = Cell::new(READINGS * (text.len() / PIECE + 16));
    let mut progress = |state: &ParseState| {
        left = left.saturating_sub(1);
        let lost = state.has_error() && !language.mends;
        if left == 0 || pieces.get() == 0 || lost {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    let mut piece = |at: usize, _: Point| {
        pieces.set(pieces.get().saturating_sub(1));
        let rest = match pieces.get() {
            // The text seems to end, and the parser with it.
            0 => &[],
            _ => bytes.get(at..).unwrap_or_default(),
        };
        rest.get(..PIECE).unwrap_or(rest)
    };
    parser
        .parse_with_options(&mut piece, old, Some(options))
        .filter(|tree| pieces.get() > 0 && (language.mends || !tree.root_node().has_error()))
}

/// Tells `tree` of a change, before it is given to [`parse`].
pub(super) fn edit(tree: &mut Tree, splice: &Splice) {
    let point = |(row, column): (usize, usize)| Point { row, column };
    tree.edit(&InputEdit {
        start_byte: splice.start_byte,
        old_end_byte: splice.old_end_byte,
        new_end_byte: splice.new_end_byte,
        start_position: point(splice.start_point),
        old_end_position: point(splice.old_end_point),
        new_end_position: point(splice.new_end_point),
    });
}

/// Typing inside a comment leaves the rest of a tree as it is: then the change has only to be told to
/// the tree, in the form that is returned, and nothing has to be parsed. `text` is what `splice` left.
pub(super) fn inside_comment(
    tree: &Tree,
    splice: &Splice,
    text: &str,
    language: &Language,
) -> Option<Splice> {
    // CommonMark has rules of its own for the inside of a comment in a paragraph.
    if language.name == "markdown-inline" {
        return None;
    }
    if guard::heeds_comments(language) && !guard::fits(text, language) {
        return None;
    }
    let last = splice.start_byte.checked_sub(1)?;
    let mut node = node_at(tree, last)?;
    while !language.comments.contains(&node.kind()) {
        node = node
            .parent()
            .filter(|parent| parent.start_byte() + 4 > node.start_byte())?;
    }
    let (start, old_end) = (node.start_byte(), node.end_byte());
    if splice.old_end_byte > old_end || splice.start_byte > splice.old_end_byte {
        return None;
    }
    let new_end = old_end - splice.old_end_byte + splice.new_end_byte;
    let inserted = text.get(splice.start_byte..splice.new_end_byte)?;
    // Some grammars take this character for the text's end.
    if inserted.contains('\0') {
        return None;
    }
    // Where the text is broken this may be no comment once it is mended: only a word that is typed mends nothing.
    let is_word = |c: char| c.is_alphanumeric() || c == ' ';
    let grows = splice.old_end_byte == splice.start_byte && inserted.chars().all(is_word);
    if !grows && tree.root_node().has_error() {
        return None;
    }
    let comment = comment_from(text, start..new_end, language)?;
    // The leader and the blank behind it stay as they are, so the comment stays of its kind.
    let body = start + comment.open;
    if !text.as_bytes().get(body)?.is_ascii_whitespace() || splice.start_byte <= body {
        return None;
    }
    if comment.block {
        let block = language
            .block
            .iter()
            .find(|b| text[start..].starts_with(b.open))?;
        let inner = text.get(body..new_end)?;
        let closed_at = memchr::memmem::find(inner.as_bytes(), block.close.as_bytes())?;
        let nested = block.nests && inner.contains(inner_open(block));
        let before_close = splice.old_end_byte + block.close.len() < old_end;
        return (closed_at + block.close.len() == inner.len() && before_close && !nested)
            .then_some(*splice);
    }
    if may_close(text, splice, language) {
        return None;
    }
    let line = text.get(body..new_end)?.trim_end_matches(['\n', '\r']);
    let one_row = splice.start_point.0 == splice.old_end_point.0
        && splice.start_point.0 == node.start_position().row;
    let ordinary =
        |c: char| !c.is_control() && !matches!(c, '\\' | '\u{2028}' | '\u{2029}') || c == '\t';
    if !one_row
        || !line.chars().all(ordinary)
        || !inserted.chars().all(ordinary)
        || splice.new_end_byte > body + line.len()
    {
        return None;
    }
    // What is appended belongs to the comment only if the comment's last character seems to be replaced.
    let length = text
        .get(..splice.start_byte)?
        .chars()
        .next_back()?
        .len_utf8();
    Some(Splice {
        start_byte: splice.start_byte - length,
        start_point: (
            splice.start_point.0,
            splice.start_point.1.checked_sub(length)?,
        ),
        ..*splice
    })
}

/// Whether what was put in may close a block comment that stands anywhere before: one that was never closed may have been
/// read as operators. `text` is what `splice` left.
pub(super) fn may_close(text: &str, splice: &Splice, language: &Language) -> bool {
    language.block.iter().any(|block| {
        let beside = block.close.len() - 1;
        let from = splice.start_byte.saturating_sub(beside);
        let until = (splice.new_end_byte + beside).min(text.len());
        let around = text.as_bytes().get(from..until).unwrap_or_default();
        memchr::memmem::find(around, block.close.as_bytes()).is_some()
    })
}

/// The smallest node at byte `at`.
pub(super) fn node_at(tree: &Tree, at: usize) -> Option<Node<'_>> {
    let root = tree.root_node();
    if at >= root.end_byte() || at < root.start_byte() {
        return None;
    }
    root.descendant_for_byte_range(at, at + 1)
}

/// The smallest node at byte `at`, and the way to it: from a cursor the node above costs nothing, while
/// [`Node::parent`] looks for it from the root.
pub(super) fn descend(tree: &Tree, at: usize) -> Option<TreeCursor<'_>> {
    let root = tree.root_node();
    if at >= root.end_byte() || at < root.start_byte() {
        return None;
    }
    let mut cursor = root.walk();
    while cursor.goto_first_child_for_byte(at).is_some() {
        if cursor.node().start_byte() > at {
            cursor.goto_parent();
            break;
        }
    }
    Some(cursor)
}

/// What the tree knows of a byte.
pub(super) enum Found<'t> {
    Comment(Comment),
    Code,
    /// The grammar has no say here (an error, a macro's text, code of another language): this node does not tell.
    Unknown(Node<'t>),
    /// The text is broken here.
    Lost,
}

/// The comment at byte `at`.
pub(super) fn comment_at<'t>(
    tree: &'t Tree,
    text: &str,
    language: &Language,
    at: usize,
) -> Found<'t> {
    let Some(mut cursor) = descend(tree, at) else {
        // A tree may end where the grammar gave up.
        return if tree.root_node().has_error() {
            Found::Lost
        } else {
            Found::Code
        };
    };
    let smallest = cursor.node();
    // A comment's inner nodes lie at most two levels below it.
    for _ in 0..4 {
        let node = cursor.node();
        let parent = cursor.goto_parent().then(|| cursor.node());
        if language.comments.contains(&node.kind()) {
            return match comment_of(node, parent, text, language) {
                Some(comment) if comment.range.contains(&at) => Found::Comment(comment),
                // What is behind a carriage return that the grammar does not take for a line's end.
                Some(comment)
                    if at >= comment.range.end && !text.as_bytes()[at..].starts_with(b"\n") =>
                {
                    Found::Unknown(node)
                }
                _ => Found::Code,
            };
        }
        if node.kind() == "jsx_expression"
            && let Some(comment) = braced(node, text)
        {
            return Found::Comment(comment);
        }
        if is_opaque(node, language) || node.is_error() {
            return Found::Unknown(node);
        }
        if parent.is_none() {
            break;
        }
    }
    if tree.root_node().has_error() && is_lost(tree, smallest) {
        return Found::Lost;
    }
    Found::Code
}

/// Whether `node` lies in what the grammar could not make sense of, and it did not even see a string there.
fn is_lost(tree: &Tree, node: Node) -> bool {
    let text = [
        "string", "heredoc", "regex", "char", "template", "content", "scalar", "fragment",
    ];
    if text.iter().any(|word| node.kind().contains(word)) {
        return false;
    }
    let mut here = node.parent();
    // Each step walks down from the root: not too many.
    for _ in 0..32 {
        match here {
            Some(node) if node.is_error() => return true,
            Some(node) => here = node.parent(),
            None => break,
        }
    }
    tree.root_node().is_error()
}

/// Kinds of nodes whose text the grammar does not read.
pub(super) fn is_opaque(node: Node, language: &Language) -> bool {
    match node.kind() {
        "preproc_arg" | "raw_text" => true,
        "html_block" | "inline" | "minus_metadata" | "plus_metadata" => language.name == "markdown",
        _ => false,
    }
}

/// The comments that touch `range`, and the opaque nodes, in order.
pub(super) fn comments_in<'t>(
    tree: &'t Tree,
    language: &Language,
    range: &Range<usize>,
    found: &mut impl FnMut(Node<'t>),
) {
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let touches =
            node.start_byte() < range.end.max(range.start + 1) && node.end_byte() > range.start;
        let mut down = false;
        if touches {
            if language.comments.contains(&node.kind())
                || is_opaque(node, language)
                || (node.is_error() && node.child_count() == 0)
            {
                found(node);
            } else {
                down = if node.start_byte() < range.start {
                    cursor.goto_first_child_for_byte(range.start).is_some()
                } else {
                    cursor.goto_first_child()
                };
            }
        } else if node.start_byte() >= range.end {
            // All that follows is behind the range, at every level.
            return;
        }
        if down {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// The comment that `node`, which stands in `parent`, is.
pub(super) fn comment_of(
    node: Node,
    parent: Option<Node>,
    text: &str,
    language: &Language,
) -> Option<Comment> {
    let range = node.start_byte()..node.end_byte().min(text.len());
    if node.kind() == "html_tag" && !text.get(range.clone())?.starts_with("<!--") {
        return None;
    }
    // The grammars of HTML, PHP, Swift and Lua let comments stand in quotes, and in elements that hold text only.
    if parent.is_some_and(|p| {
        matches!(p.kind(), "quoted_attribute_value" | "heredoc")
            || (p.kind().contains("string") && !holds_parts(p, language))
            || holds_text(p, text)
    }) {
        return None;
    }
    if let Some(expression) = parent.filter(|p| p.kind() == "jsx_expression")
        && let Some(braced) = braced(expression, text)
    {
        return Some(braced);
    }
    comment_from(text, range, language)
}

/// Whether a string is of several, with room for comments between: `"a" /* and */ "b"`.
fn holds_parts(string: Node, language: &Language) -> bool {
    match string.kind() {
        "concatenated_string" | "chained_string" => true,
        "string_literal" => language.name == "dart",
        "multiline_string" => language.name == "zig",
        _ => false,
    }
}

/// Whether markup in this element is text: `<title>`, `<textarea>`.
fn holds_text(element: Node, text: &str) -> bool {
    let tag = element
        .child(0)
        .filter(|tag| tag.kind() == "start_tag")
        .and_then(|tag| text.get(tag.byte_range()))
        .unwrap_or_default();
    ["<title", "<textarea"].iter().any(|name| {
        tag.get(..name.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(name))
            && tag
                .get(name.len()..)
                .is_some_and(|rest| rest.starts_with(|c: char| !c.is_alphanumeric() && c != '-'))
    })
}

/// `{/* … */}` is one comment of JSX where it stands alone between its braces.
fn braced(expression: Node, text: &str) -> Option<Comment> {
    let range = expression.byte_range();
    let inside = text.get(range.clone())?;
    if expression.named_child_count() != 1
        || !inside.starts_with("{/*")
        || !inside.ends_with("*/}")
        || inside.len() < 7
    {
        return None;
    }
    let open = 1 + opening(text.as_bytes(), range.start + 1..range.end - 3, "/*");
    Some(Comment {
        range,
        open,
        close: 3,
        block: true,
    })
}

/// The comment that stands in `range`, its delimiters told by the language's row.
pub(super) fn comment_from(
    text: &str,
    range: Range<usize>,
    language: &Language,
) -> Option<Comment> {
    let inside = text.get(range.clone())?;
    let bytes = text.as_bytes();
    let long_bracket = || {
        // `--[==[ … ]==]` of Lua, `#[==[ … ]==]` of CMake.
        let leader = match language.name {
            "lua" => "--",
            "cmake" => "#",
            _ => return None,
        };
        let rest = inside.strip_prefix(leader)?.strip_prefix('[')?;
        let level = rest.len() - rest.trim_start_matches('=').len();
        rest[level..]
            .starts_with('[')
            .then_some((leader.len(), level))
    };
    if let Some((leader, level)) = long_bracket() {
        let end = level + 2;
        let closed = inside.len() >= end * 2 + leader
            && inside.ends_with(']')
            && inside[..inside.len() - 1]
                .trim_end_matches('=')
                .ends_with(']');
        return Some(Comment {
            range,
            open: leader + level + 2,
            close: if closed { end } else { 0 },
            block: true,
        });
    }
    if inside.starts_with("=begin") {
        let trimmed = inside.trim_end();
        let closed = trimmed
            .rsplit(['\n', '\r'])
            .next()
            .is_some_and(|last| last.starts_with("=end"));
        let close = if closed {
            trimmed.rsplit(['\n', '\r']).next().map_or(0, str::len)
        } else {
            0
        };
        return Some(Comment {
            range: range.start..range.start + trimmed.len(),
            open: 6,
            close,
            block: true,
        });
    }
    if let Some(block) = language.block.iter().find(|b| inside.starts_with(b.open)) {
        let closed =
            inside.len() >= block.open.len() + block.close.len() && inside.ends_with(block.close);
        let close = if closed { block.close.len() } else { 0 };
        return Some(Comment {
            open: opening(bytes, range.start..range.end - close, block.open),
            range,
            close,
            block: true,
        });
    }
    let range = trim_line(text, range);
    let inside = text.get(range.clone())?;
    let line = language.line.iter().find(|l| inside.starts_with(l.open))?;
    Some(Comment {
        open: opening(bytes, range.clone(), line.open),
        range,
        close: 0,
        block: false,
    })
}

/// Bytes of the line that begins at `at`.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    at + line_length(text.as_bytes().get(at..).unwrap_or_default())
}

/// ERROR and MISSING nodes. What lies below an ERROR node is part of it.
pub(super) fn errors(tree: &Tree) -> usize {
    let mut count = 0;
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let broken = node.is_error() || node.is_missing();
        count += usize::from(broken);
        if !broken && node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return count;
            }
        }
    }
}
