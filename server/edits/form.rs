//! How the lines of a thread are written at one place: leader, indent, delimiters, what to escape.

use super::hazards::{self, Place};
use super::{Source, directives, marker};
use crate::comments::Leader;
use crate::threads::Role;
use crate::threads::escape::{self, Hazards};
use crate::threads::lines::{behind_mark, behind_quotes, line_end, next_line, skip_blanks};
use crate::threads::marker as syntax_of_marker;
use crate::threads::scan::{Lead, Row, width};

/// Where a comment is to be begun at byte `at`: the leader there (1), then that of markup (2), for code
/// that stands between tags.
pub(super) fn other_leader(source: Source, at: usize, which: usize) -> Option<Leader> {
    let here = match source.syntax.language() {
        Some(_) => source.syntax.leader_at(source.text, at),
        None => leader_of_unknown(source)?,
    };
    let markup = Leader {
        open: "<!--",
        close: "-->",
    };
    match which {
        1 => Some(here),
        2 if source.text.contains('<') && here != markup => Some(markup),
        _ => None,
    }
}

/// In a file of unknown kind what its comments begin with, as far as one can see.
pub(super) fn leader_of_unknown(source: Source) -> Option<Leader> {
    let told = source.syntax.leader_of_lines(source.text);
    // A text of words has nothing that a line could break.
    let is_text = [".txt", ".text"]
        .iter()
        .any(|end| source.path.ends_with(end));
    told.or_else(|| is_text.then(|| source.syntax.leader_at(source.text, 0)))
}

/// What a line beside the one that begins at `start` begins with: the marks of the quotations that it stands in
/// (Markdown), and with `keep` the blanks behind them.
pub(super) fn margin(source: Source<'_>, start: usize, keep: bool) -> &str {
    let text = source.text;
    let last = line_end(text, start).saturating_sub(1).max(start);
    let first = behind_quotes(text, start, source.syntax, last);
    let end = if keep {
        skip_blanks(text, first)
    } else {
        first
    };
    text.get(behind_mark(text, start)..end).unwrap_or_default()
}

/// The shape of the lines.
#[derive(Clone, Debug)]
pub(super) struct Form {
    /// What stands before a marker: indentation, leader, blank.
    pub before: String,
    /// What stands behind the text: blank and closing delimiter, where each line is a comment of its own.
    pub after: String,
    /// An empty line of a message.
    pub empty: String,
    pub hazards: Hazards,
    /// A leader inside the block that a text could be taken for.
    inner: bool,
    /// The lines are some of one comment.
    inside: bool,
    /// Lines stand no further in than the message.
    pub is_tested: bool,
    /// The row of the text, and what the comment begins with.
    language: &'static str,
    open: String,
}

impl Form {
    /// Each line a comment of its own, as `row` (one whole comment) is.
    pub fn like(source: Source, row: &Row, indent: &str) -> Self {
        let part = |range| source.text.get(range).unwrap_or_default();
        let open = part(row.leader.clone());
        // `///<` and `-- ^` tell of the code before them; above the code it is `///` and `-- |`.
        let above = open.trim_end_matches('<');
        let haddock = above.strip_suffix('^').map(|open| format!("{open}|"));
        let open = match &haddock {
            _ if !row.before => open,
            Some(haddock) => haddock.as_str(),
            None => above,
        };
        // A leader that has its column stands in it where no code is before it.
        let here = source.syntax.leader_at(source.text, row.span.start).open;
        let open = match here.trim_start() {
            bare if row.before && bare == open => here,
            _ => open,
        };
        let close = part(row.comment.range.end - row.comment.close..row.comment.range.end);
        let blanks = part(row.leader.end..row.marker.start.max(row.leader.end));
        // Another blank, as one that does not break, is the author's slip.
        let is_plain = blanks.trim_matches([' ', '\t']).is_empty();
        let blanks = match blanks {
            "" if open.ends_with(' ') => "",
            "" => " ",
            _ if !is_plain => " ",
            _ => blanks,
        };
        let at = row.comment.range.start;
        Self::of_own(source, at, indent, open, blanks, close, row.comment.block)
    }

    /// Each line a comment of its own, with a language's leader, at byte `at`.
    pub fn with_leader(source: Source, at: usize, leader: Leader, indent: &str) -> Self {
        Self::of_own(
            source,
            at,
            indent,
            leader.open,
            " ",
            leader.close,
            !leader.close.is_empty(),
        )
    }

    fn of_own(
        source: Source,
        at: usize,
        indent: &str,
        open: &str,
        blanks: &str,
        close: &str,
        block: bool,
    ) -> Self {
        let indent = if open.starts_with(' ') { "" } else { indent };
        let after = if close.is_empty() {
            String::new()
        } else {
            format!(" {close}")
        };
        // `# ` of Org: without its blank it is no leader.
        let is_leader = |open: &str| {
            let language = source.syntax.language();
            language.is_some_and(|language| language.line.iter().any(|line| line.open == open))
        };
        let needs_blank = !block && !is_leader(open) && is_leader(&format!("{open} "));
        let blank = if needs_blank { " " } else { "" };
        Self {
            before: format!("{indent}{open}{blanks}"),
            empty: format!("{indent}{open}{blank}{after}"),
            after,
            hazards: hazards::of(source, Place { at, indent }, open, close, block),
            inner: block,
            inside: false,
            is_tested: is_documentation(source, open),
            language: name(source),
            open: open.to_owned(),
        }
    }

    pub fn is_at_first_column(&self) -> bool {
        !self.before.starts_with([' ', '\t'])
    }

    /// Lines inside the block comment that `row` stands in.
    pub fn inside(source: Source, row: &Row) -> Self {
        let text = source.text;
        let part = |range| text.get(range).unwrap_or_default();
        let first = behind_mark(text, row.span.start);
        let before = match row.lead {
            // Above the line of the closing delimiter.
            Lead::Bare if part(row.text.start..row.span.end).starts_with("*/") => {
                format!("{}* ", part(first..row.text.start))
            }
            Lead::Inner(_) | Lead::Bare => part(first..row.marker.start).to_owned(),
            Lead::Open => inner_prefix(text, row).unwrap_or_else(|| {
                // Below the marker: the lines of this block have no leader.
                let marks = part(first..row.first);
                format!(
                    "{marks}{}",
                    " ".repeat(width(part(row.first..row.marker.start)))
                )
            }),
        };
        let open = part(row.comment.range.start..row.comment.range.start + row.comment.open);
        let close = part(row.comment.range.end - row.comment.close..row.comment.range.end);
        let place = Place {
            at: row.comment.range.start,
            indent: "",
        };
        Self {
            empty: before.trim_end().to_owned(),
            before,
            after: String::new(),
            hazards: hazards::of(source, place, open, close, true),
            inner: true,
            inside: true,
            is_tested: is_tested(source, row),
            language: name(source),
            open: open.to_owned(),
        }
    }

    /// The lines of one message.
    pub fn message(&self, role: Role, name: Option<&str>, said: &[String]) -> Vec<String> {
        let Self {
            before,
            after,
            empty,
            ..
        } = self;
        let marker = marker(role, name);
        let Some((first, rest)) = said.split_first() else {
            return vec![format!("{before}{marker}{after}")];
        };
        let mut lines = vec![format!(
            "{before}{marker} {}{after}",
            escape::encode(first, &self.hazards, &self.directives(first, false))
        )];
        for line in rest {
            let words = line.trim_start();
            // Rust's documentation is tested: what stands far in is a program there.
            let blanks = match self.is_tested {
                true => "",
                false => &line[..line.len() - words.len()],
            };
            lines.push(if words.is_empty() {
                empty.clone()
            } else {
                let mut also = self.directives(words, true);
                also.extend(self.marker_in(words));
                format!(
                    "{before}  {blanks}{}{after}",
                    escape::encode(words, &self.hazards, &also)
                )
            });
        }
        lines
    }

    /// What would tell whoever reads the file something, at the start of a comment or behind a marker.
    pub fn directives(&self, line: &str, begins: bool) -> Vec<usize> {
        directives::marks(self.language, &self.open, line, begins, self.inside)
    }

    /// Where the colon is of the marker that a continuation line would be taken for.
    fn marker_in(&self, line: &str) -> Option<usize> {
        let bare = if self.inner {
            line.trim_start_matches(['*', '-', '|', '#', '!', ' ', '\t'])
        } else {
            line
        };
        let marker = syntax_of_marker::parse(bare)?;
        Some(line.len() - bare.len() + marker.len - 1)
    }
}

/// Whether the comment of `row` is Rust's documentation, of which what stands far in is a program.
pub(super) fn is_tested(source: Source, row: &Row) -> bool {
    let comment = source.text.get(row.comment.range.clone());
    is_documentation(source, comment.unwrap_or_default())
}

fn is_documentation(source: Source, comment: &str) -> bool {
    let leaders = ["///", "//!", "/**", "/*!"];
    name(source) == "rust" && leaders.iter().any(|leader| comment.starts_with(leader))
}

/// Indent and leader of the lines below the one that opens the block, told by the next of them.
fn inner_prefix(text: &str, row: &Row) -> Option<String> {
    if !text.get(row.leader.clone())?.contains('*') {
        return None;
    }
    let start = next_line(text, row.span.end).filter(|start| *start < row.comment.range.end)?;
    let first = skip_blanks(text, start);
    let line = text.get(first..line_end(text, start))?;
    let has_leader =
        line.starts_with("*/") || line == "*" || line.starts_with("* ") || line.starts_with("*\t");
    let blanks = text
        .get(row.leader.end..row.marker.start)
        .filter(|blanks| !blanks.is_empty())
        .unwrap_or(" ");
    has_leader.then(|| format!("{}*{blanks}", text.get(start..first).unwrap_or_default()))
}

/// The name of the text's row.
pub(super) fn name(source: Source) -> &'static str {
    source.syntax.language().map_or("", |row| row.name)
}
