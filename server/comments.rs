//! L1. Where the comments of a text are. Pure.
//!
//! tree-sitter decides where a grammar is bundled; a scanner over the delimiter table decides
//! elsewhere. Nothing here knows what a thread is.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use postil_grammars::UNKNOWN;
pub use postil_grammars::{Block, Language, Leader, detect};
use tree_sitter::{Node, Tree};

use crate::text::Splice;
use asked::Asked;
use embed::{Embedded, Part};
use excerpt::Excerpts;
use notebook::Malformed;
pub(crate) use notebook::{Cell, Notebook, begins_with_magic};
pub use place::Place;
pub use scan::Change;
use scan::Scan;
pub(crate) use scan::{BACK, Uncut};

mod asked;
mod columns;
mod embed;
mod excerpt;
mod find;
mod guard;
mod names;
mod notebook;
mod outline;
mod place;
mod scan;
mod tree;
mod word;

/// One comment. For a line comment `range` ends before the line's end and `close` is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Bytes, delimiters included, line end excluded.
    pub range: Range<usize>,
    /// Bytes of the opening delimiter, repeated last characters included (`///`, `##`, `/**`).
    pub open: usize,
    /// Bytes of the closing delimiter; 0 for a line comment and for a block that is not closed.
    pub close: usize,
    pub block: bool,
}

/// A named piece of code: a function, type, method …
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    /// The field's word: `function`, `struct`, `class`, `method` …
    pub kind: &'static str,
    /// Bytes of the whole definition.
    pub range: Range<usize>,
    /// Bytes of its name.
    pub name_range: Range<usize>,
}

impl Symbol {
    /// Whether `name` begins to be here. An `impl` block only goes by the name of its type.
    pub fn declares(&self, name: &str) -> bool {
        self.name == name && self.kind != "impl"
    }
}

/// What is known of a text's structure: a syntax tree, or the comments that the scanner found.
///
/// Every question is asked with the text that the structure was made of. What is not asked for is
/// not computed: the scanner runs, and embedded code is parsed, when a question needs it.
#[derive(Clone, Debug)]
pub struct Syntax {
    language: Option<&'static Language>,
    /// Outside of the excerpts it is the text's; inside it is of an earlier text (see [`Self::whole`]).
    tree: Option<Tree>,
    /// The last tree of the whole text there was, where `tree` is none now.
    stale: Option<Tree>,
    excerpts: Excerpts,
    /// What the tree answered, since it was made.
    asked: Asked,
    scan: OnceLock<Arc<Scan>>,
    /// The scan of an earlier text, and what changed since.
    earlier: Option<(Arc<Scan>, Change)>,
    embedded: Embedded,
    /// The cells, where the text is a notebook.
    notebook: OnceLock<Result<Arc<Notebook>, Malformed>>,
    /// How many languages this one is embedded in.
    depth: u8,
    /// The text goes on from another, which has the file's header.
    continued: bool,
}

/// Whether a text of so many bytes is read by the delimiters whatever it says, and each piece of it by itself.
pub fn in_pieces(bytes: usize, language: Option<&'static Language>) -> bool {
    let row = language.unwrap_or(&UNKNOWN);
    bytes > tree::largest(row) && row.name != "notebook"
}

impl Syntax {
    /// Parses `text`. `language` is `None` for a file of unknown kind (`//`, `#`, `--` at a line's start).
    pub fn parse(text: &str, language: Option<&'static Language>) -> Self {
        Self::parse_inside(text, language, 0)
    }

    fn parse_inside(text: &str, language: Option<&'static Language>, depth: u8) -> Self {
        Self {
            tree: language.and_then(|language| tree::parse(text, language, None)),
            ..Self::unread(language, depth)
        }
    }

    fn unread(language: Option<&'static Language>, depth: u8) -> Self {
        Self {
            language,
            tree: None,
            stale: None,
            excerpts: Excerpts::default(),
            asked: Asked::default(),
            scan: OnceLock::new(),
            earlier: None,
            embedded: Embedded::default(),
            notebook: OnceLock::new(),
            depth,
            continued: false,
        }
    }

    /// The structure of a piece of a text that is read by the delimiters alone (see [`in_pieces`]), and where it
    /// ends. The piece begins at `from` in `text`, which is 0 or where another ended, and ends at the first place
    /// from `until` on where the text can be cut; `whole`: `text` holds all that follows.
    pub(crate) fn piece(
        text: &str,
        language: Option<&'static Language>,
        from: usize,
        until: usize,
        whole: bool,
    ) -> Result<(Self, usize), Uncut> {
        let row = language.unwrap_or(&UNKNOWN);
        let (found, end) = scan::scan_piece(text, row, from, until, whole)?;
        let syntax = Self {
            scan: OnceLock::from(Arc::new(found)),
            continued: from > 0,
            ..Self::unread(language, 0)
        };
        Ok((syntax, end))
    }

    /// Whether the text goes on from another, which has the file's header.
    pub(crate) fn is_continued(&self) -> bool {
        self.continued
    }

    /// The structure of the changed `text`; reuses what it can. `splices` in the order they were applied,
    /// each counting in the text that the one before left. Splices that do not fit the text, or none
    /// where it changed, leave the structure wrong, never unsound. With `before`, the text that they were applied to,
    /// what somebody types in may be read by itself from then on (see [`excerpt`]).
    ///
    /// Tells where what trees say of comments may be otherwise than before; `None`: anywhere.
    pub fn update(
        &mut self,
        before: Option<&str>,
        splices: &[Splice],
        text: &str,
    ) -> Option<Change> {
        self.asked.anew();
        let typed = Change::of(splices)?;
        if self.is_notebook() {
            self.notebook = OnceLock::new();
            return None;
        }
        let mut earlier = self.earlier.take();
        if let Some(scan) = self.scan.take() {
            earlier = Some((scan, typed));
        } else if let Some((_, change)) = &mut earlier {
            *change = splices.iter().fold(*change, Change::then);
        }
        self.earlier = earlier;
        self.embedded.update(splices, text);
        let language = self.language?;
        let apart = self.excerpts.around(typed);
        let was_mended = self.take_up_whole();
        let typed_at_once = match splices {
            [splice] => Some(*splice),
            _ => before.and_then(|before| typed.as_one(before, text)),
        };
        if let Some(splice) = typed_at_once
            && let Some(touched) = self.type_in(before, &splice, text, language)
        {
            return (!was_mended).then_some(touched);
        }
        let was_read = self.tree.is_some();
        let mut stale = self.stale.take();
        let mut old = self.tree.take().or_else(|| stale.take());
        for tree in old.iter_mut().chain(&mut stale) {
            splices.iter().for_each(|splice| tree::edit(tree, splice));
        }
        self.excerpts = Excerpts::default();
        self.tree = tree::parse(text, language, stale.as_ref().or(old.as_ref()));
        let touched = match (&self.tree, &old) {
            // In markup what a comment is may depend on the name of its element, wherever that stands.
            (Some(new), Some(old)) if was_read && !was_mended && !embed::hosts(language) => {
                splices.iter().for_each(|splice| self.asked.follow(splice));
                let ranges = old.changed_ranges(new);
                let ranges = ranges.map(|range| range.start_byte..range.end_byte);
                let excerpts = std::iter::once(apart.start..apart.new_end);
                let mut changed: Vec<Range<usize>> = ranges.chain(excerpts).collect();
                changed.sort_by_key(|range| range.start);
                self.asked.forget(changed.iter().cloned());
                Some(changed.iter().fold(apart, Change::and))
            }
            _ => {
                self.asked = Asked::default();
                None
            }
        };
        if self.tree.is_none() {
            self.stale = old;
        }
        touched
    }

    /// A change for which not all of the text is read anew; `None`: it has to be.
    fn type_in(
        &mut self,
        before: Option<&str>,
        splice: &Splice,
        text: &str,
        language: &'static Language,
    ) -> Option<Change> {
        let tree = self.tree.as_mut()?;
        let is_apart = !self.excerpts.touches(splice);
        let in_word = || {
            tree::inside_comment(tree, splice, text, language)
                .or_else(|| word::inside_name(tree, splice, text, language))
        };
        let (told, touched) = match is_apart.then(in_word).flatten() {
            Some(same) => {
                self.excerpts.pass_by(splice);
                (same, Change::new(splice))
            }
            None => {
                let before = before.filter(|_| !embed::hosts(language))?;
                if is_apart {
                    self.excerpts.begin(tree, before, splice, language)?;
                }
                (*splice, self.excerpts.follow(before, splice, text)?)
            }
        };
        tree::edit(tree, &told);
        if let Some(stale) = &mut self.stale {
            tree::edit(stale, splice);
        }
        self.asked.follow(splice);
        Some(touched)
    }

    /// Takes up the tree of the whole text that somebody has asked for. Where that has no errors any more and `tree` is
    /// from when it had some, it takes the place of all that was read since, which it tells.
    fn take_up_whole(&mut self) -> bool {
        let Some(whole) = self.excerpts.take_whole() else {
            return false;
        };
        let is_broken = |tree: &Tree| tree.root_node().has_error();
        let is_mended = self.tree.as_ref().is_some_and(is_broken) && !is_broken(&whole);
        if is_mended {
            self.tree = Some(whole);
            self.excerpts = Excerpts::default();
            self.asked = Asked::default();
        } else {
            self.stale = Some(whole);
        }
        is_mended
    }

    /// The tree of the whole text.
    fn whole(&self, text: &str) -> Option<&Tree> {
        if self.excerpts.is_empty() {
            return self.tree.as_ref();
        }
        self.excerpts.whole(|| {
            let old = self.stale.as_ref().or(self.tree.as_ref());
            tree::parse(text, self.language?, old)
        })
    }

    /// Whether the comments that were asked for since the last change came from trees alone: then they depend on
    /// nothing but what [`Self::update`] told of.
    pub(crate) fn is_told_by_its_tree(&self) -> bool {
        let is_read = self.tree.is_some() && !self.language.is_none_or(embed::hosts);
        is_read && !self.asked.is_beyond() && self.excerpts.are_told_by_trees()
    }

    pub fn language(&self) -> Option<&'static Language> {
        self.language
    }

    fn is_notebook(&self) -> bool {
        self.row().name == "notebook"
    }

    /// The cells, where the text is a notebook's: its comments are theirs, and so is what is written.
    /// Of one that is no JSON nothing is known (see [`Syntax::is_malformed`]).
    pub(crate) fn notebook(&self, text: &str) -> Option<&Notebook> {
        static NONE: Notebook = Notebook { cells: Vec::new() };
        if !self.is_notebook() {
            return None;
        }
        let cells = self
            .notebook
            .get_or_init(|| Notebook::parse(text).map(Arc::new));
        Some(cells.as_deref().unwrap_or(&NONE))
    }

    /// The cells of a notebook: the bytes of each in `text`, and its source; `None`: it is none.
    pub fn cells(&self, text: &str) -> Option<Vec<(Range<usize>, String)>> {
        let cells = self.notebook(text)?.cells.iter();
        let cells = cells.map(|cell| (cell.range.clone(), cell.text(text).to_owned()));
        Some(cells.collect())
    }

    /// Whether the text cannot be read as what it should be: a notebook that is no JSON.
    pub fn is_malformed(&self, text: &str) -> bool {
        self.notebook(text).is_some() && matches!(self.notebook.get(), Some(Err(Malformed)))
    }

    /// The cell of a notebook whose source holds byte `at`.
    fn cell_at(&self, text: &str, at: usize) -> Option<&Cell> {
        self.notebook(text)?
            .cell_at(at)
            .filter(|cell| cell.holds(at))
    }

    fn row(&self) -> &'static Language {
        self.language.unwrap_or(&UNKNOWN)
    }

    fn scan(&self, text: &str) -> &Scan {
        self.scan.get_or_init(|| {
            Arc::new(match &self.earlier {
                Some((known, change)) => scan::rescan(text, self.row(), known, *change),
                None => scan::scan(text, self.row()),
            })
        })
    }

    /// Where the first code of the file begins (its length where there is none): what is above is the header.
    /// A byte-order mark, a `#!` line and the lines that say what the file is (`<?xml …?>`, `<?php`, `---`) are no code.
    pub fn first_code(&self, text: &str) -> usize {
        let mut at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        if text[at..].starts_with("#!") && !text[at..].starts_with("#![") {
            at = tree::line_end(text, at);
        }
        loop {
            let rest = text.get(at..).unwrap_or_default();
            at += rest.len() - rest.trim_start().len();
            let rest = rest.trim_start();
            if rest.is_empty() {
                return text.len();
            }
            let passed = match self.comment_at(text, at) {
                Some(comment) => comment.range.end,
                None => at + prelude(rest),
            };
            if passed <= at {
                return at;
            }
            at = passed;
        }
    }

    /// How a comment is written at byte `at`: the language's own, or that of the embedded code there.
    pub fn leader_at(&self, text: &str, at: usize) -> Leader {
        if self.is_notebook() {
            return self.cell_at(text, at).map_or(self.row().reply, |cell| {
                let inner = cell.text(text);
                cell.syntax(text).leader_at(inner, cell.inner(text, at))
            });
        }
        let within = |part: &Part| {
            self.embedded
                .ask(self.depth, text, part, |syntax, inner, start| {
                    Some(syntax.leader_at(inner, at.checked_sub(start)?))
                })
                .unwrap_or(part.language.reply)
        };
        let Some(tree) = self.whole(text) else {
            let scan = self.scan(text);
            let part = scan.part_before(at).filter(|part| at <= part.range.end);
            return part.map_or_else(|| self.own_leader(text), within);
        };
        let mut here = tree::node_at(tree, at.min(text.len().saturating_sub(1)));
        while let Some(node) = here {
            match node.kind() {
                "jsx_expression"
                | "jsx_opening_element"
                | "jsx_self_closing_element"
                | "jsx_closing_element"
                    if at > node.start_byte() =>
                {
                    break;
                }
                "jsx_element" | "jsx_fragment" if at > node.start_byte() => {
                    return Leader {
                        open: "{/*",
                        close: "*/}",
                    };
                }
                _ => {}
            }
            if let Some(inner) = embed::language_of(node, text, self.row()) {
                return within(&Part::new(node.byte_range(), inner));
            }
            here = node.parent();
        }
        self.row().reply
    }

    /// Whether indentation of a comment means something at `at` (Pug, Haml, Slim, reStructuredText, COBOL in fixed
    /// format, a Markdown list …).
    pub fn indentation_counts(&self, text: &str, at: usize) -> bool {
        let row = self.row();
        if row.indentation || self.is_in_columns(text) {
            return true;
        }
        if let Some(part) = self.part_at(text, at)
            && part.language.indentation
        {
            return true;
        }
        if row.name != "markdown" {
            return false;
        }
        let mut here = self.whole(text).and_then(|tree| tree::node_at(tree, at));
        while let Some(node) = here {
            if node.kind() == "list_item" {
                return true;
            }
            here = node.parent();
        }
        false
    }

    /// Whether tree-sitter sees an error in the text (`false` where there is no grammar), or in the code inside it that
    /// was asked for.
    pub fn has_errors(&self, text: &str) -> bool {
        let own = match self.whole(text) {
            Some(tree) => tree.root_node().has_error(),
            None => self
                .language
                .is_some_and(|language| language.grammar.is_some() && !language.mends),
        };
        own || self.embedded.have_errors(text)
    }

    /// How many errors tree-sitter sees: pieces it cannot read, and tokens it misses.
    pub fn errors(&self, text: &str) -> usize {
        self.whole(text).map_or(0, tree::errors)
    }
}

/// Opaque nodes that hold no comment unless they are embedded code. The text of an element that is never
/// closed is told by the delimiters.
fn is_silent(node: Node) -> bool {
    match node.kind() {
        "raw_text" => !node.parent().is_none_or(|parent| parent.is_error()),
        kind => matches!(kind, "inline" | "html_block"),
    }
}

/// The first line of `range`.
fn trim_line(text: &str, range: Range<usize>) -> Range<usize> {
    let end = tree::line_end(text, range.start).min(range.end);
    range.start..end
}

/// Bytes at the start of `text` that say what the file is.
fn prelude(text: &str) -> usize {
    let line = &text[..tree::line_end(text, 0)];
    let lower = line.get(..9).unwrap_or(line).to_ascii_lowercase();
    if lower == "<!doctype" || lower.starts_with("<?xml") {
        return line.find('>').map_or(0, |end| end + 1);
    }
    if lower.starts_with("<?php") {
        return 5;
    }
    if line.trim_end() == "---" || lower.starts_with("%yaml") {
        return line.len();
    }
    0
}

#[cfg(test)]
pub(crate) mod tests;
