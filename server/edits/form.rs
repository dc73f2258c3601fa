//! How the lines of a thread are written at one place: leader, indent, delimiters, what to escape.

use super::{Source, directives, marker};
use crate::comments::{Language, Leader};
use crate::threads::Role;
use crate::threads::escape::{self, Hazards};
use crate::threads::lines::{behind_mark, line_end, next_line, skip_blanks};
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
        let blanks = if blanks.is_empty() && !open.ends_with(' ') {
            " "
        } else {
            blanks
        };
        Self::of_own(source, indent, open, blanks, close, row.comment.block)
    }

    /// Each line a comment of its own, with a language's leader.
    pub fn with_leader(source: Source, leader: Leader, indent: &str) -> Self {
        Self::of_own(
            source,
            indent,
            leader.open,
            " ",
            leader.close,
            !leader.close.is_empty(),
        )
    }

    fn of_own(
        source: Source,
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
            hazards: hazards(source, open, close, block),
            inner: block,
            inside: false,
            is_tested: is_documentation(source, open),
            language: name(source),
            open: open.to_owned(),
        }
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
                " ".repeat(width(part(first..row.marker.start)))
            }),
        };
        let open = part(row.comment.range.start..row.comment.range.start + row.comment.open);
        let close = part(row.comment.range.end - row.comment.close..row.comment.range.end);
        Self {
            empty: before.trim_end().to_owned(),
            before,
            after: String::new(),
            hazards: hazards(source, open, close, true),
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
fn name(source: Source) -> &'static str {
    source.syntax.language().map_or("", |row| row.name)
}

/// What a line of a comment with these delimiters must not hold.
fn hazards(source: Source, open: &str, close: &str, block: bool) -> Hazards {
    let language = source.syntax.language();
    let name = name(source);
    let mut hazards = Hazards::default();
    let sequences = &mut hazards.sequences;
    if block {
        // `*/}` of JSX ends at its first two characters.
        let known = language.and_then(|language| {
            language.block.iter().find(|block| {
                open.trim_start_matches('{')
                    .starts_with(block.open.trim_start_matches('{'))
            })
        });
        for close in [
            close.trim_end_matches('}'),
            close,
            known.map_or("", |block| block.close),
        ] {
            sequences.push(close.to_ascii_lowercase());
        }
        if let Some(block) = known.filter(|block| block.nests) {
            sequences.push(block.open.to_ascii_lowercase());
        }
        if open.contains("/*") {
            sequences.push("*/".into());
        }
        if open.starts_with("<!--") {
            sequences.extend(["-->", "--!>"].map(String::from));
            if !matches!(
                name,
                "html" | "markdown" | "vue" | "svelte" | "astro" | "php"
            ) {
                // XML allows no two hyphens in a comment.
                sequences.push("--".into());
            }
        }
        hazards.paired_quotes = open.starts_with("(*");
    } else {
        hazards.endings = vec!["\\", "??/"];
        match name {
            "batch" | "bat" => hazards.endings.push("^"),
            "vb" | "vbnet" | "vba" | "basic" | "visualbasic" => hazards.endings.push(" _"),
            _ => {}
        }
    }
    let sequences = &mut hazards.sequences;
    if name == "php" || source.text.contains("<?php") {
        sequences.push("?>".into());
    }
    if matches!(
        name,
        "html" | "vue" | "svelte" | "astro" | "php" | "markdown" | "erb" | "ejs" | "jsp"
    ) {
        sequences.extend(["</script", "</style", "%>", "?>"].map(String::from));
    }
    if matches!(name, "java" | "groovy" | "scala") {
        // Read before anything else (The Java Language Specification 3.3), so that it can end a comment or be an error.
        sequences.push("\\u".into());
    }
    sequences.extend(inserts(source, open));
    sequences.retain(|sequence| !sequence.is_empty());
    hazards.brackets = match name {
        // Counted in the comments of a body, too.
        "tcl" => Some(['{', '}']),
        "m4" => Some(['[', ']']),
        _ => None,
    };
    hazards
}

/// What begins code of a template, which is run in the comments of the text around it, too.
fn inserts(source: Source, open: &str) -> Vec<String> {
    let language = source.syntax.language();
    let template = language.and_then(Language::template);
    let Some(template) = template else {
        // Helm's charts are templates of YAML that nothing in their name tells. `${{` is a workflow's.
        let is_chart = language.is_some_and(|language| language.name == "yaml")
            && source.text.replace("${{", "").contains("{{");
        return if is_chart {
            vec!["{{".into()]
        } else {
            Vec::new()
        };
    };
    // Up to where blanks and marks may follow.
    let begins = |delimiter: &'static str| delimiter.split([' ', '~']).next().unwrap_or_default();
    let comments = template.comments.iter().map(|(own, _)| begins(own));
    let is_code = language.is_some_and(|language| language.name == "php") && open != "<!--";
    if is_code || comments.clone().any(|own| open.starts_with(own)) {
        return Vec::new();
    }
    let code = template.code.iter().map(|insert| begins(insert.open));
    let mut all: Vec<String> = code
        .chain(comments)
        // Behind `@` stands any expression or directive.
        .map(|opener| if opener.starts_with('@') { "@" } else { opener })
        .map(str::to_ascii_lowercase)
        .collect();
    all.sort();
    all.dedup();
    all
}
