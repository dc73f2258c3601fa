//! What stands at a byte that no comment covers. Asked for reports, not on the way to a thread.

use std::ops::Range;

use postil_grammars::Rule;
use tree_sitter::Node;

use super::embed::{self, Part};
use super::{Syntax, tree};

/// Where a byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Comment,
    /// A string, a heredoc, a character class, a documentation string.
    String,
    /// The text of a document: a paragraph, an example in it.
    Prose,
    Code,
}

/// Languages whose files are text first.
const PROSE: &[&str] = &[
    "asciidoc",
    "html",
    "latex",
    "markdown",
    "markdown-inline",
    "org",
    "plaintext",
    "restructuredtext",
    "text",
];

impl Syntax {
    /// Where byte `at` stands.
    pub fn place_at(&self, text: &str, at: usize) -> Place {
        if self.comment_at(text, at).is_some() {
            return Place::Comment;
        }
        if self.is_notebook() {
            let inner = self.cell_at(text, at).map(|cell| {
                let inner = cell.text(text);
                cell.syntax(text).place_at(inner, cell.inner(text, at))
            });
            return inner.unwrap_or(Place::String);
        }
        let inside = |part: &Part| {
            self.embedded
                .ask(self.depth, text, part, |syntax, inner, start| {
                    Some(syntax.place_at(inner, at.checked_sub(start)?))
                })
                .unwrap_or(Place::Code)
        };
        let mut here = self.whole(text).and_then(|tree| tree::node_at(tree, at));
        let mut string = false;
        while let Some(node) = here {
            string |= is_string(node);
            if let Some(inner) = embed::language_of(node, text, self.row()) {
                return inside(&Part::new(node.byte_range(), inner));
            }
            // Code inside a string is code, whatever it stands in.
            let hole = ["interpolation", "substitution", "expression"];
            here = (!string && !hole.iter().any(|kind| node.kind().contains(kind)))
                .then(|| node.parent())
                .flatten();
        }
        if !string && self.whole(text).is_none() {
            let scan = self.scan(text);
            string = scan.strings.iter().any(|range| range.contains(&at));
            if let (false, Some(part)) = (string, scan.part_at(at)) {
                return inside(part);
            }
        }
        if string {
            Place::String
        } else if self.language.is_none_or(|row| PROSE.contains(&row.name)) {
            Place::Prose
        } else {
            Place::Code
        }
    }

    /// The token in whose middle byte `at` stands (a string's text, an example): what is put in there is part of it.
    /// `None` where code may stand, or nobody can tell.
    pub fn token_around(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let before = at.checked_sub(1).filter(|_| !self.is_notebook())?;
        if let Some(part) = self.part_at(text, before) {
            let ask = |syntax: &Self, inner: &str, start: usize| {
                let found = syntax.token_around(inner, at.checked_sub(start)?)?;
                Some(found.start + start..found.end + start)
            };
            return self.embedded.ask(self.depth, text, &part, ask);
        }
        let found = match self.whole(text) {
            Some(tree) => {
                let node = tree::node_at(tree, before)?;
                let is_token = node.child_count() == 0 || node.kind() == "code_fence_content";
                // A text that is one token is one that the grammar says nothing of.
                let is_read = !node.is_error() && !tree::is_opaque(node, self.row());
                (is_token && is_read && node.parent().is_some()).then(|| node.byte_range())?
            }
            None => {
                let mut strings = self.scan(text).strings.iter();
                strings.find(|range| range.contains(&before))?.clone()
            }
        };
        (at < found.end).then_some(found)
    }

    /// Whether byte `at` stands in a tag of markup, between attributes, where `<!--` is read as one.
    pub(crate) fn is_in_tag(&self, text: &str, at: usize) -> bool {
        if let Some(inner) = self.in_part(text, at, Self::is_in_tag) {
            return inner;
        }
        if self.whole(text).is_none() {
            return self.is_in_scanned_tag(text, at);
        }
        let is_tag = |node: &Node| matches!(node.kind(), "start_tag" | "self_closing_tag");
        let tag = self.around(at).find(is_tag);
        tag.is_some_and(|tag| tag.start_byte() < at)
    }

    /// Whether byte `at` stands in a tag of JSX, between attributes: `//` and `/*` begin a comment there, `{/*` does not.
    pub(crate) fn is_in_jsx_tag(&self, text: &str, at: usize) -> bool {
        if let Some(inner) = self.in_part(text, at, Self::is_in_jsx_tag) {
            return inner;
        }
        let is_jsx = |node: &Node| node.kind().starts_with("jsx_") && node.start_byte() < at;
        let inmost = self.around(at).find(is_jsx);
        inmost.is_some_and(|node| {
            let tags = ["opening", "closing", "self_closing"];
            tags.iter()
                .any(|tag| node.kind() == format!("jsx_{tag}_element"))
        })
    }

    /// What `ask` says of byte `at` in the code within this text in which it stands; `None`: it stands in none.
    fn in_part(&self, text: &str, at: usize, ask: fn(&Self, &str, usize) -> bool) -> Option<bool> {
        if self.is_notebook() {
            return Some(false);
        }
        let part = self.part_at(text, at)?;
        let inner = |syntax: &Self, inner: &str, start: usize| {
            Some(ask(syntax, inner, at.checked_sub(start)?))
        };
        let inner = self.embedded.ask(self.depth, text, &part, inner);
        Some(inner.unwrap_or(false))
    }

    /// The scanner takes a tag for a string.
    fn is_in_scanned_tag(&self, text: &str, at: usize) -> bool {
        let has_tags = |rule: &Rule| matches!(rule, Rule::Tags);
        if !self.row().rules.iter().any(has_tags) {
            return false;
        }
        let strings = &self.scan(text).strings;
        let before = strings.partition_point(|range| range.start < at);
        let last = before.checked_sub(1).and_then(|last| strings.get(last));
        last.is_some_and(|range| {
            let string = text.get(range.clone()).unwrap_or_default();
            at < range.end && string.starts_with('<') && !string.starts_with("<![")
        })
    }

    /// The code of a page, as PHP, in which byte `at` stands: what stands around it is shown to whoever reads the page.
    pub(crate) fn page_code_at(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let part = self.part_at(text, at).filter(|_| !self.is_notebook())?;
        (part.language.name == "php-code").then_some(part.whole)
    }

    /// Whether `code` of a page stands in other code, which it writes a part of.
    pub(crate) fn is_filled_in(&self, text: &str, code: &Range<usize>) -> bool {
        let around = |part: &Part| part.whole.start < code.start && code.end < part.whole.end;
        self.whole(text).is_none() && self.scan(text).embedded.iter().any(around)
    }

    /// Whether byte `at` stands in a substitution of the shell between backquotes, which one in a comment ends, too.
    pub(crate) fn is_in_backquotes(&self, text: &str, at: usize) -> bool {
        if let Some(inner) = self.in_part(text, at, Self::is_in_backquotes) {
            return inner;
        }
        self.around_in("bash", text, at).any(|node| {
            let start = node.start_byte();
            node.kind() == "command_substitution"
                && start < at
                && text.get(start..).is_some_and(|rest| rest.starts_with('`'))
        })
    }

    /// Whether byte `at` stands in a row of a Markdown table.
    pub(crate) fn is_in_table(&self, at: usize) -> bool {
        let is_table = |node: Node| node.kind().starts_with("pipe_table");
        self.row().name == "markdown" && self.around(at).any(is_table)
    }

    /// In how many quotations of Markdown byte `at` stands.
    pub(crate) fn quotations(&self, text: &str, at: usize) -> usize {
        let around = self.around_in("markdown", text, at);
        around.filter(|node| node.kind() == "block_quote").count()
    }

    /// The same of the tree of the whole text, where that is of this language.
    fn around_in(&self, name: &str, text: &str, at: usize) -> impl Iterator<Item = Node<'_>> {
        let here = self.whole(text).filter(|_| self.row().name == name);
        let here = here.and_then(|tree| tree::node_at(tree, at));
        std::iter::successors(here, Node::parent)
    }

    /// The nodes that byte `at` stands in, the smallest first.
    fn around(&self, at: usize) -> impl Iterator<Item = Node<'_>> {
        let here = self.tree.as_ref();
        let here = here.and_then(|tree| tree::node_at(tree, at));
        std::iter::successors(here, Node::parent)
    }
}

fn is_string(node: Node) -> bool {
    let words = ["string", "heredoc", "regex", "char", "template", "scalar"];
    words.iter().any(|word| node.kind().contains(word)) && node.kind() != "template_substitution"
}
