//! The part of a text that somebody types in, read by itself: a few whole items of its tree, as functions are, in a frame
//! of what they stand in. So a key costs what a short text costs, however long the file is and whatever is left open in
//! it for a while: a bracket that is not closed yet, which would have the parser look for its end in all that follows.

use std::ops::Range;
use std::sync::OnceLock;

use postil_grammars::Language;
use tree_sitter::{Node, Tree, TreeCursor};

use super::embed::inside;
use super::{Change, Comment, Syntax, tree};
use crate::text::Splice;
use choice::{around, frame};

mod choice;

/// An excerpt is made of at most so many bytes; few in tests, whose texts are short.
const MOST: usize = if cfg!(test) { 300 } else { 16 << 10 };
/// One that has grown longer than so many times [`MOST`] is none any more.
const GROWN: usize = 4;
/// Places that somebody types in by turns.
const PLACES: usize = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct Excerpts {
    /// They do not overlap.
    read: Vec<Excerpt>,
    /// The tree of the whole text, made when somebody asks for it.
    whole: OnceLock<Option<Tree>>,
}

#[derive(Clone, Debug)]
pub(super) struct Excerpt {
    /// It begins where a line begins, and ends where one ends.
    range: Range<usize>,
    frame: Frame,
    /// Of the excerpt in its frame.
    syntax: Syntax,
}

/// What is read before and behind an excerpt, so that it is read as it is where it stands: `class A {` and `}`.
#[derive(Clone, Debug, Default)]
struct Frame {
    head: String,
    tail: String,
}

impl Frame {
    fn framed(&self, part: &str) -> String {
        [&self.head, part, &self.tail].concat()
    }
}

impl Excerpts {
    pub fn is_empty(&self) -> bool {
        self.read.is_empty()
    }

    /// The one that holds byte `at`.
    pub fn at(&self, at: usize) -> Option<&Excerpt> {
        self.read.iter().find(|one| one.range.contains(&at))
    }

    /// Takes what stands in excerpts out of the comments of `range`, and puts in what they say.
    pub fn put_right(&self, text: &str, range: &Range<usize>, found: &mut Vec<Comment>) {
        for one in &self.read {
            let Range { start, end } = one.range;
            found.retain(|comment| comment.range.end <= start || comment.range.start >= end);
            let wanted = range.start.max(start)..range.end.min(end);
            if wanted.is_empty() {
                continue;
            }
            if let Some(part) = one.text(text) {
                let wanted = one.inward(wanted.start)..one.inward(wanted.end);
                let all = one.syntax.comments_in(&part, wanted).into_iter();
                found.extend(all.map(|comment| one.outward(comment)));
            }
        }
    }

    /// The tree of the whole text, made by `parse` where it is not known yet.
    pub fn whole(&self, parse: impl FnOnce() -> Option<Tree>) -> Option<&Tree> {
        self.whole.get_or_init(parse).as_ref()
    }

    /// What is known of the tree of the whole text.
    pub fn take_whole(&mut self) -> Option<Tree> {
        self.whole.take().flatten()
    }

    /// Whether all that was asked since the last change was told by trees, or lies in what [`Self::follow`] told of.
    pub fn are_told_by_trees(&self) -> bool {
        self.read
            .iter()
            .all(|one| one.syntax.is_told_by_its_tree() || !one.is_sound())
    }

    #[cfg(test)]
    pub fn are_sound(&self) -> bool {
        self.read.iter().all(Excerpt::is_sound)
    }

    /// Follows a change that lies in none of them.
    pub fn pass_by(&mut self, splice: &Splice) {
        for one in &mut self.read {
            one.pass_by(splice);
        }
    }

    /// Follows a change of the text `before`; tells where comments may be otherwise than there. `None`: none of them holds
    /// it, or it matters outside of that too.
    pub fn follow(&mut self, before: &str, splice: &Splice, text: &str) -> Option<Change> {
        let holds = self.read.iter().position(|one| one.holds(before, splice))?;
        let mut touched = None;
        for (at, one) in self.read.iter_mut().enumerate() {
            if at == holds {
                touched = one.update(before, splice, text);
            } else {
                one.pass_by(splice);
            }
        }
        touched
    }

    /// Whether a change lies in one of them, or at its edge.
    pub fn touches(&self, splice: &Splice) -> bool {
        let touches = |Range { start, end }: &Range<usize>| {
            splice.start_byte < *end && splice.old_end_byte >= *start
        };
        self.read.iter().any(|one| touches(&one.range))
    }

    /// With all that they hold of the text before a change.
    pub fn around(&self, change: Change) -> Change {
        let ranges = self.read.iter().map(|one| &one.range);
        ranges.fold(change, Change::around)
    }

    /// Makes one around a change, of the text before it and its tree, where that can be done.
    pub fn begin(
        &mut self,
        tree: &Tree,
        before: &str,
        splice: &Splice,
        language: &'static Language,
    ) -> Option<()> {
        let ends = self.read.iter().map(|one| one.range.end);
        let starts = self.read.iter().map(|one| one.range.start);
        let free = ends
            .filter(|at| *at <= splice.start_byte)
            .max()
            .unwrap_or(0)
            ..starts
                .filter(|at| *at >= splice.old_end_byte)
                .min()
                .unwrap_or(before.len());
        let (range, above) = around(tree, before, splice, &free)?;
        let part = before.get(range.clone())?;
        if self.read.len() == PLACES || part.len() * 2 > before.len() {
            return None;
        }
        let frame = frame(above.clone(), before);
        let read = frame.framed(part);
        let one = Excerpt {
            range,
            frame,
            syntax: Syntax::parse(&read, Some(language)),
        };
        let stands_alone = one.is_sound() && one.is_what_stands_below(above);
        let is_last = one.range.end == before.len();
        (stands_alone && (is_last || !one.is_open(&read))).then(|| self.read.push(one))
    }
}

impl Excerpt {
    /// The comment at byte `at`, which it holds.
    pub fn comment_at(&self, text: &str, at: usize) -> Option<Comment> {
        let found = self.syntax.comment_at(&self.text(text)?, self.inward(at));
        found.map(|comment| self.outward(comment))
    }

    /// The same; `None`: its tree alone does not tell.
    pub fn told_by_tree(&self, text: &str, at: usize) -> Option<Option<Comment>> {
        let told = self
            .syntax
            .told_by_tree(&self.text(text)?, self.inward(at))?;
        Some(told.map(|comment| self.outward(comment)))
    }

    /// What is read.
    fn text(&self, text: &str) -> Option<String> {
        Some(self.frame.framed(text.get(self.range.clone())?))
    }

    fn inward(&self, at: usize) -> usize {
        at - self.range.start + self.frame.head.len()
    }

    fn outward(&self, comment: Comment) -> Comment {
        let outward = |at: usize| (at + self.range.start).saturating_sub(self.frame.head.len());
        Comment {
            range: outward(comment.range.start)..outward(comment.range.end),
            ..comment
        }
    }

    /// Whether a change lies in it, not at its edges, where it could be of what is beside.
    fn holds(&self, before: &str, splice: &Splice) -> bool {
        let Range { start, end } = self.range;
        let is_behind = start < splice.start_byte || start == 0;
        let is_before = splice.old_end_byte < end || end == before.len();
        start <= splice.start_byte
            && is_behind
            && splice.start_byte <= splice.old_end_byte
            && splice.old_end_byte <= end
            && is_before
    }

    fn pass_by(&mut self, splice: &Splice) {
        if self.range.start >= splice.old_end_byte {
            let moved = |at: usize| at - splice.old_end_byte + splice.new_end_byte;
            self.range = moved(self.range.start)..moved(self.range.end);
        }
    }

    fn update(&mut self, before: &str, splice: &Splice, text: &str) -> Option<Change> {
        let is_in_block = self.is_in_block(before, splice);
        let was_told = self.is_sound() && self.syntax.is_told_by_its_tree();
        let inward = Splice {
            start_byte: self.inward(splice.start_byte),
            old_end_byte: self.inward(splice.old_end_byte),
            new_end_byte: self.inward(splice.new_end_byte),
            ..*splice
        };
        self.range.end = self.range.end - splice.old_end_byte + splice.new_end_byte;
        let part = self.text(text).filter(|part| part.len() <= MOST * GROWN)?;
        let (inward, row) = (inside(&inward, 0, &part), self.syntax.row());
        let tree = self.syntax.tree.as_ref();
        let in_words = |tree| tree::inside_comment(tree, &inward, &part, row).is_some();
        // Some grammars take this character for the text's end.
        if text
            .get(splice.start_byte..splice.new_end_byte)?
            .contains('\0')
        {
            return None;
        }
        // What it opens or closes may reach further, or have begun before.
        if tree::may_close(text, splice, row) || (is_in_block && !tree.is_some_and(in_words)) {
            return None;
        }
        let touched = self
            .syntax
            .update(None, &[inward], &part)
            .filter(|_| was_told && self.is_sound());
        if self.range.end < text.len() && self.is_open(&part) {
            return None;
        }
        let all = Change::new(splice).and(&self.range);
        Some(touched.map_or(all, |change| {
            change.moved(self.frame.head.len(), self.range.start)
        }))
    }

    /// Whether a change of the text `before` touches a block comment; what is written in its words is nothing that matters.
    fn is_in_block(&self, before: &str, splice: &Splice) -> bool {
        let Some(part) = self.text(before) else {
            return false;
        };
        let (from, until) = (
            self.inward(splice.start_byte),
            self.inward(splice.old_end_byte),
        );
        let touched = self
            .syntax
            .comments_in(&part, from.saturating_sub(1)..until + 1);
        touched.iter().any(|comment| comment.block)
    }

    /// Whether something that began in it does not end there: what follows may belong to that.
    fn is_open(&self, part: &str) -> bool {
        let end = self.inward(self.range.end);
        let lies_over = |range: &Range<usize>| range.start <= end && range.end >= end;
        let scan = self.syntax.scan(part);
        let blocks = scan.comments.iter().filter(|comment| comment.block);
        let own = part.get(..end).unwrap_or_default();
        blocks.map(|comment| &comment.range).any(lies_over)
            || scan.strings.iter().any(lies_over)
            || scan.embedded.iter().any(|inner| lies_over(&inner.range))
            || !own.ends_with(['\n', '\r'])
            || own.trim_end_matches(['\n', '\r']).ends_with('\\')
            || self.ends_in_text(end - 1)
    }

    /// Whether its last line's end is part of some text: of a string, of what stands behind `__END__`.
    fn ends_in_text(&self, end: usize) -> bool {
        let tree = self.syntax.tree.as_ref();
        let last = tree.and_then(|tree| tree::node_at(tree, end));
        last.filter(|node| node.child_count() == 0)
            .is_some_and(|node| {
                let comments = self.syntax.row().comments;
                let is_comment = |node: Node| comments.contains(&node.kind());
                node.is_named() && !is_comment(node) && !node.parent().is_some_and(is_comment)
            })
    }

    /// Whether the items that it is made of are read as they were in the tree of the whole text, where they stand below
    /// this node.
    fn is_what_stands_below(&self, above: TreeCursor) -> bool {
        let Some(tree) = &self.syntax.tree else {
            return false;
        };
        let (mut there, mut here) = (above, tree.walk());
        let (from, until) = (self.inward(self.range.start), self.inward(self.range.end));
        for _ in 0..there.depth() {
            if here.goto_first_child_for_byte(from).is_none() {
                return false;
            }
        }
        let found = there.goto_first_child_for_byte(self.range.start).is_some();
        if !found || here.goto_first_child_for_byte(from).is_none() {
            return false;
        }
        let mut depth = 0;
        loop {
            let (known, own) = (there.node(), here.node());
            let is_same = known.kind_id() == own.kind_id()
                && known.start_byte() + from == own.start_byte() + self.range.start
                && known.end_byte() + from == own.end_byte() + self.range.start;
            if !is_same {
                return false;
            }
            match (there.goto_first_child(), here.goto_first_child()) {
                (true, true) => {
                    depth += 1;
                    continue;
                }
                (false, false) => {}
                _ => return false,
            }
            loop {
                let within =
                    |cursor: &TreeCursor, end| depth > 0 || cursor.node().start_byte() < end;
                let goes_on = there.goto_next_sibling() && within(&there, self.range.end);
                if goes_on != (here.goto_next_sibling() && within(&here, until)) {
                    return false;
                }
                if goes_on {
                    break;
                }
                if depth == 0 {
                    return true;
                }
                depth -= 1;
                there.goto_parent();
                here.goto_parent();
            }
        }
    }

    /// Whether its tree was made of a text without errors.
    fn is_sound(&self) -> bool {
        let tree = self.syntax.tree.as_ref();
        tree.is_some_and(|tree| !tree.root_node().has_error())
    }
}

#[cfg(test)]
mod tests;
