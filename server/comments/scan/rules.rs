//! The rules of reading that no pair of delimiters expresses; one arm per [`Rule`].

use memchr::memmem;
use postil_grammars::Rule;

use super::{Scanner, line_length};
use crate::comments::Comment;

/// How far a rule looks back.
pub(super) const BACK: usize = 512;

/// What the tokens of a rule may begin with.
pub(super) fn starts(rule: Rule) -> &'static [&'static str] {
    match rule {
        Rule::CharLiteral | Rule::Transpose => &["'"],
        Rule::RustRaw => &["r", "b", "c"],
        Rule::CppRaw => &["R"],
        Rule::RRaw => &["r", "R"],
        Rule::LuaLong => &["[", "-"],
        Rule::CmakeBracket => &["[", "#"],
        Rule::Heredoc | Rule::PhpHeredoc | Rule::Tags | Rule::Scripts => &["<"],
        Rule::Template(template) => template.starts,
        Rule::DollarQuote | Rule::DollarChar => &["$"],
        Rule::PerlQuotes => &["q", "m", "s", "t", "y", "$"],
        Rule::Regex => &["/"],
        Rule::Sigil => &["~"],
        Rule::BarQuote => &["{"],
        Rule::QuasiQuote => &["["],
        Rule::PercentLiteral => &["%"],
        Rule::SwiftRaw | Rule::HashChar => &["#"],
        Rule::CsharpRaw => &["\"", "$"],
        Rule::QuestionChar => &["?"],
        Rule::BackslashChar | Rule::Verbatim | Rule::BackslashLines => &["\\"],
        Rule::PrologChar => &["0"],
        Rule::Url => &["u", "U"],
        Rule::BlockScalar => &["|", ">"],
        Rule::IndentedComment(_) => &[".", "/", "-", "#"],
        Rule::MatlabBlock => &["%", "#"],
        Rule::Fences => &["`", "\\"],
        Rule::Pod | Rule::RubyBegin | Rule::EndOfCode | Rule::FrontMatter(_) | Rule::Recipe => &[],
    }
}

impl<'a> Scanner<'a> {
    /// What stands before all code.
    pub(super) fn begin(&mut self) {
        for rule in self.language.rules {
            if let Rule::FrontMatter(language) = rule {
                self.front_matter(language);
            }
        }
        self.begin_line();
    }

    /// What stands at a line's start.
    pub(super) fn begin_line(&mut self) {
        if !self.holes.is_empty() {
            return;
        }
        // A rule that takes whole lines stands at a line's start again.
        while self.at < self.bytes.len()
            && !self.is_exhausted()
            && self
                .language
                .rules
                .iter()
                .any(|rule| self.whole_lines(*rule))
        {}
    }

    pub(super) fn whole_lines(&mut self, rule: Rule) -> bool {
        match rule {
            Rule::Pod => self.pod(),
            Rule::RubyBegin => self.ruby_begin(),
            Rule::EndOfCode => self.end_of_code(),
            Rule::Recipe => self.recipe(),
            Rule::Fences => self.fence(),
            _ => false,
        }
    }

    /// Tries one rule at `at`; stands behind its token if it was there.
    pub(super) fn rule(&mut self, rule: Rule) -> bool {
        match rule {
            Rule::CharLiteral => self.char_literal(),
            Rule::RustRaw => self.rust_raw(),
            Rule::CppRaw => self.cpp_raw(),
            Rule::RRaw => self.r_raw(),
            Rule::LuaLong => self.long_bracket(b"--"),
            Rule::CmakeBracket => self.long_bracket(b"#"),
            Rule::Heredoc => self.heredoc(),
            Rule::PhpHeredoc => self.php_heredoc(),
            Rule::DollarQuote => self.dollar_quote(),
            Rule::PerlQuotes => self.perl_quotes(),
            Rule::Regex => self.regex(),
            Rule::Sigil => self.sigil(),
            Rule::BarQuote => self.bar_quote(),
            Rule::QuasiQuote => self.quasi_quote(),
            Rule::PercentLiteral => self.percent_literal(),
            Rule::SwiftRaw => self.swift_raw(),
            Rule::CsharpRaw => self.csharp_raw(),
            Rule::QuestionChar => self.question_char(),
            Rule::HashChar => self.rest().starts_with(b"#\\") && self.character(2),
            Rule::BackslashChar => self.here() == b'\\' && self.character(1),
            Rule::DollarChar => {
                self.here() == b'$' && self.character(if self.peek(1) == b'\\' { 2 } else { 1 })
            }
            Rule::PrologChar => {
                self.rest().starts_with(b"0'")
                    && !is_word(self.before())
                    && self.character(if matches!(self.peek(2), b'\\' | b'\'') {
                        3
                    } else {
                        2
                    })
            }
            Rule::Url => self.url(),
            Rule::BlockScalar => self.block_scalar_head(),
            Rule::Tags => self.tag(),
            Rule::Scripts => self.script(),
            Rule::Template(template) => self.template(template),
            Rule::IndentedComment(leader) => self.indented_comment(leader),
            Rule::MatlabBlock => self.matlab_block(),
            Rule::Transpose => {
                let before = self.before();
                self.here() == b'\'' && (is_word(before) || b")]}.'".contains(&before)) && {
                    self.at += 1;
                    true
                }
            }
            Rule::Verbatim => self.verbatim(),
            Rule::Fences => self.code_span(),
            Rule::BackslashLines => {
                self.rest().starts_with(b"\\\\") && {
                    let end = self.at + line_length(self.rest());
                    self.push_string(self.at..end);
                    true
                }
            }
            Rule::Pod | Rule::RubyBegin | Rule::EndOfCode | Rule::FrontMatter(_) | Rule::Recipe => {
                false
            }
        }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(super) fn here(&self) -> u8 {
        self.peek(0)
    }

    /// The byte `offset` behind `at`; a line feed behind the text's end.
    pub(super) fn peek(&self, offset: usize) -> u8 {
        self.bytes.get(self.at + offset).copied().unwrap_or(b'\n')
    }

    /// The line from `from` on, without its end.
    pub(super) fn line_from(&self, from: usize) -> &'a [u8] {
        let rest = self.bytes.get(from..).unwrap_or_default();
        let line = &rest[..line_length(rest)];
        self.spend(line.len());
        line
    }

    pub(super) fn next_line(&self, from: usize) -> usize {
        super::after_line_end(self.bytes, from + self.line_from(from).len()).min(self.bytes.len())
    }

    /// Where `needle` begins at or behind `from`.
    pub(super) fn find(&mut self, from: usize, needle: &[u8]) -> Option<usize> {
        let found = memmem::find(self.bytes.get(from..)?, needle).map(|offset| from + offset);
        self.spend(found.unwrap_or(self.bytes.len()) - from);
        self.looked(found);
        found
    }

    /// Counts bytes that were looked at ahead of their turn.
    pub(super) fn spend(&self, bytes: usize) {
        self.spent.set(self.spent.get().saturating_add(bytes + 1));
    }

    /// Whether so much was looked at ahead, again and again, that time would grow faster than the text:
    /// then no rule is tried any more. Far from any text that a person wrote.
    pub(super) fn is_exhausted(&self) -> bool {
        self.spent.get() / 64 > self.bytes.len() + (1 << 16)
    }

    /// Notes how far this decision looked ahead.
    pub(super) fn looked(&mut self, found: Option<usize>) {
        self.reach = self.reach.max(found.map_or(usize::MAX, |at| at + 1));
    }

    /// Where a line begins, at or behind `from`, that `fits`.
    pub(super) fn find_line(&mut self, from: usize, fits: impl Fn(&[u8]) -> bool) -> Option<usize> {
        let mut at = from;
        let found = loop {
            if at >= self.bytes.len() {
                break None;
            }
            if fits(self.line_from(at)) {
                break Some(at);
            }
            at = self.next_line(at);
        };
        self.looked(found.map(|at| self.next_line(at)));
        found
    }

    /// The word of letters, digits and `_` that ends directly before `at`.
    pub(super) fn word_before(&self) -> &'a [u8] {
        let head = self.bytes.get(self.line_start..self.at).unwrap_or_default();
        let start = head
            .iter()
            .rposition(|b| !is_word(*b))
            .map_or(0, |at| at + 1);
        &head[start..]
    }

    /// Goes on at `to`, with nothing to note.
    pub(super) fn pass(&mut self, to: usize) {
        let from = self.at;
        self.at = to.min(self.bytes.len());
        self.find_line_start(from);
    }

    pub(super) fn push_comment(&mut self, comment: Comment) {
        let range = comment.range.clone();
        self.out.comments.push(comment);
        self.pass(range.end);
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
