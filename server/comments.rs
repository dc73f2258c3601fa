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
use notebook::Malformed;
pub(crate) use notebook::{Cell, Notebook, begins_with_magic};
pub use place::Place;
pub use scan::Change;
use scan::Scan;
pub(crate) use scan::{BACK, Uncut};

mod asked;
mod embed;
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
    tree: Option<Tree>,
    /// The last tree there was, where the text has none now.
    stale: Option<Tree>,
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
            language,
            tree: language.and_then(|language| tree::parse(text, language, None)),
            stale: None,
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
            language,
            tree: None,
            stale: None,
            asked: Asked::default(),
            scan: OnceLock::from(Arc::new(found)),
            earlier: None,
            embedded: Embedded::default(),
            notebook: OnceLock::new(),
            depth: 0,
            continued: from > 0,
        };
        Ok((syntax, end))
    }

    /// Whether the text goes on from another, which has the file's header.
    pub(crate) fn is_continued(&self) -> bool {
        self.continued
    }

    /// The structure of the changed `text`; reuses what it can. `splices` in the order they were applied,
    /// each counting in the text that the one before left. Splices that do not fit the text, or none
    /// where it changed, leave the structure wrong, never unsound.
    ///
    /// Tells where what the tree says of comments may be otherwise than before; `None`: anywhere.
    pub fn update(&mut self, splices: &[Splice], text: &str) -> Option<Change> {
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
        if let (Some(tree), [splice]) = (&mut self.tree, splices)
            && let Some(same) = tree::inside_comment(tree, splice, text, language)
                .or_else(|| word::inside_name(tree, splice, text, language))
        {
            tree::edit(tree, &same);
            self.asked.follow(splice);
            return Some(typed);
        }
        let was_read = self.tree.is_some();
        let mut old = self.tree.take().or(self.stale.take());
        if let Some(tree) = &mut old {
            splices.iter().for_each(|splice| tree::edit(tree, splice));
        }
        self.tree = tree::parse(text, language, old.as_ref());
        let touched = match (&self.tree, &old) {
            // In markup what a comment is may depend on the name of its element, wherever that stands.
            (Some(new), Some(old)) if was_read && !embed::hosts(language) => {
                splices.iter().for_each(|splice| self.asked.follow(splice));
                let changed: Vec<Range<usize>> = old
                    .changed_ranges(new)
                    .map(|range| range.start_byte..range.end_byte)
                    .collect();
                self.asked.forget(changed.iter().cloned());
                Some(changed.iter().fold(typed, Change::and))
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

    /// Whether the comments that were asked for since the last change came from the tree alone: then they depend on
    /// nothing but what [`Self::update`] told of.
    pub(crate) fn is_told_by_its_tree(&self) -> bool {
        self.tree.is_some() && !self.language.is_none_or(embed::hosts) && !self.asked.is_beyond()
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
        let Some(tree) = &self.tree else {
            let scan = self.scan(text);
            let part = scan.part_before(at).filter(|part| at <= part.range.end);
            return part.map_or(self.row().reply, within);
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

    /// Whether indentation of a comment means something at `at` (Pug, Haml, Slim, reStructuredText, a Markdown list …).
    pub fn indentation_counts(&self, text: &str, at: usize) -> bool {
        let row = self.row();
        if row.indentation {
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
        let mut here = self.tree.as_ref().and_then(|tree| tree::node_at(tree, at));
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
    pub fn has_errors(&self) -> bool {
        let own = match &self.tree {
            Some(tree) => tree.root_node().has_error(),
            None => self
                .language
                .is_some_and(|language| language.grammar.is_some() && !language.mends),
        };
        own || self.embedded.have_errors()
    }

    /// How many errors tree-sitter sees: pieces it cannot read, and tokens it misses.
    pub fn errors(&self) -> usize {
        self.tree.as_ref().map_or(0, tree::errors)
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
