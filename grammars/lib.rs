//! The languages that postil reads: one row per language in [`LANGUAGES`], the grammars behind it.
//!
//! A row says how a file of the language is recognised and how its comments and strings are
//! delimited. The delimiters are complete for the languages with a grammar too: a text that is
//! broken or too large for the grammar is read by them.
//!
//! [`thread`] is the grammar of our own, for what stands inside a comment.

/// A grammar that only builds with the feature `common` or `all` have.
#[cfg(feature = "common")]
macro_rules! common {
    ($grammar:path) => {
        Some(|| $grammar.into())
    };
}
#[cfg(not(feature = "common"))]
macro_rules! common {
    ($grammar:path) => {
        None
    };
}
/// A grammar that only builds with the feature `all` have.
#[cfg(feature = "all")]
macro_rules! all {
    ($grammar:path) => {
        Some(|| $grammar.into())
    };
}
#[cfg(not(feature = "all"))]
macro_rules! all {
    ($grammar:path) => {
        None
    };
}

mod bundled;
mod detect;
mod symbols;
mod tables;
mod templates;
pub mod thread;

pub use detect::{by_name, detect};

/// How a reply is written where a comment has to be begun: `open` before the text, `close` after it
/// (empty for a line comment).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    pub open: &'static str,
    pub close: &'static str,
}

/// A pair of delimiters of block comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub open: &'static str,
    pub close: &'static str,
    pub nests: bool,
    pub place: Place,
}

/// The leader of a line comment, and where it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Letters are compared without case (`REM`).
    pub open: &'static str,
    pub place: Place,
}

/// Where a delimiter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Anywhere,
    /// At a line's start or behind a blank: `#` of the shell and of YAML.
    AfterBlank,
    /// At a line's start or behind a blank, `;`, `(`, `)`, `|` or `&`: `#` of a command language.
    WordStart,
    /// Not directly before this byte: `#` of PHP, for `#[` begins an attribute.
    NotBefore(u8),
    /// First on its line, or behind one of `[{(,:=-` and blanks: where a value begins.
    ValueStart,
    /// Nothing but blanks before it on its line.
    LineStart,
    /// The first character of its line.
    FirstColumn,
    /// Where a statement begins: at a line's start, behind `:` or `&`, or behind `THEN` and `ELSE`; and a blank or
    /// the line's end follows: `REM`.
    Statement,
    /// Not part of a longer operator: `--` of Haskell, which `-->` is not.
    NotOperator,
    /// At a line's start, or behind a blank with no second delimiter on its line: `"` of Vim script.
    Unpaired,
}

/// How a string's delimiter is written inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    None,
    /// This character takes the next one's meaning away.
    By(u8),
    /// The closing delimiter twice.
    Doubled,
    /// The closing delimiter closes nothing directly before one of these.
    Before(&'static [u8]),
}

/// A kind of string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    pub open: &'static str,
    pub close: &'static str,
    pub escape: Escape,
    /// Whether it goes on over a line's end; one that does not is left there.
    pub lines: bool,
    /// What begins and ends code inside it: `${` and `}`.
    pub hole: Option<(&'static str, u8)>,
    pub place: Place,
}

/// A rule of reading that no pair of delimiters expresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `'x'`, `'\n'`; a lone `'` means something else (lifetime, type variable, transposition).
    CharLiteral,
    /// `r"…"`, `r#"…"#`, `br#"…"#`.
    RustRaw,
    /// `R"tag(…)tag"`.
    CppRaw,
    /// `r"(…)"`, `R'--[…]--'`.
    RRaw,
    /// `[[…]]`, `[=[…]=]`, and the same behind `--` as a comment.
    LuaLong,
    /// `[[…]]`, `[=[…]=]`, and the same behind `#` as a comment (CMake).
    CmakeBracket,
    /// `<<WORD`, `<<-WORD`, `<<~WORD`, the word quoted or not: the lines up to `WORD`.
    Heredoc,
    /// `<<<WORD` … `WORD`.
    PhpHeredoc,
    /// `$$…$$`, `$tag$…$tag$`; behind `AS` or `DO` it is code.
    DollarQuote,
    /// `q{…}`, `qq(…)`, `m/…/`, `s{…}{…}`, `tr///`, `y///`, `qw(…)`, `qr/…/`, and variables such as `$#` and `$"`.
    PerlQuotes,
    /// `=pod` … `=cut` at a line's start: documentation, no comment.
    Pod,
    /// `=begin` … `=end` at a line's start: a comment.
    RubyBegin,
    /// What stands behind `__END__` (or `__DATA__`) on a line of its own is no code.
    EndOfCode,
    /// `/…/` where an operand is expected.
    Regex,
    /// `~r/…/`, `~s(…)`, `~S"""` … `"""`.
    Sigil,
    /// `{|…|}`, `{tag|…|tag}`, `{%name tag|…|tag}` (OCaml).
    BarQuote,
    /// `[name|…|]`; what the names of Template Haskell begin is code.
    QuasiQuote,
    /// `%w[…]`, `%q(…)`, `%r{…}`, `%(…)`.
    PercentLiteral,
    /// `#"…"#`, `##"…"##`, `#"""` … `"""#`.
    SwiftRaw,
    /// `"""…"""` with three quotes or more; the same number closes it.
    CsharpRaw,
    /// `?x`, `?\x`: a character.
    QuestionChar,
    /// `#\x`: a character.
    HashChar,
    /// `\x`: an escaped character outside strings too.
    BackslashChar,
    /// `$x`, `$\x`: a character, or the name of a variable that may be a quote (`$'`).
    DollarChar,
    /// `0'x`, `0'\x`: a character.
    PrologChar,
    /// `|` or `>` behind `:` or `-`: the deeper indented lines below are text.
    BlockScalar,
    /// Tags with quoted attributes, `<![CDATA[ … ]]>`.
    Tags,
    /// `<script>` and `<style>` hold code of their own languages.
    Scripts,
    /// The comments and the code of a template stand in the text around.
    Template(&'static Template),
    /// `---` … `---` (or `+++`) at the top is code of this language.
    FrontMatter(&'static str),
    /// Lines that begin with a tab (of a justfile, with any blank) are the shell's, or that of a `#!` line's program.
    Recipe,
    /// The deeper indented lines below a comment belong to it, and to this leader's only.
    IndentedComment(&'static str),
    /// `%{ … %}` on lines of their own.
    MatlabBlock,
    /// `'` directly behind a name, a digit, a closing bracket, `.` or `'` is no quote (transposition).
    Transpose,
    /// `url(…)` without quotes: an address, in which `//` begins nothing.
    Url,
    /// `\begin{verbatim}` … `\end{verbatim}` and its like, and `\verb|…|`.
    Verbatim,
    /// Fenced and indented blocks and code spans are examples.
    Fences,
    /// `\\` at a line's start and behind: the lines of a string (Zig).
    BackslashLines,
}

/// What a template has of its own. In a delimiter a blank stands for any blanks or none, and `~` for one of the
/// marks `-`, `+`, `=` and `~` (which trim blanks) or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// What the delimiters begin with.
    pub starts: &'static [&'static str],
    pub comments: &'static [(&'static str, &'static str)],
    /// Tried in this order, behind the comments.
    pub code: &'static [Insert],
}

/// Code between two delimiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insert {
    pub open: &'static str,
    pub close: &'static str,
    /// The row of its language; empty for expressions, which have no comments.
    pub language: &'static str,
    pub end: End,
}

/// Which closing delimiter ends an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    First,
    /// The first that stands in code, not in a string.
    InCode,
    /// The brace that closes what the opening delimiter opened.
    Brace,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// Lower-case name, the key of the table: `rust`, `typescript`, `tsx`.
    pub name: &'static str,
    /// Without the dot, compared as written first and then without case.
    pub extensions: &'static [&'static str],
    /// Whole file names: `Makefile`, `Cargo.lock`; one that ends in `*` is a beginning.
    pub file_names: &'static [&'static str],
    /// Interpreters of a `#!` line, version left out: `bash`, `python`.
    pub shebangs: &'static [&'static str],
    /// Language ids that editors send, and the names of modelines: `rust`, `typescriptreact`.
    pub ids: &'static [&'static str],
    /// Leaders of line comments, longest first.
    pub line: &'static [Line],
    pub block: &'static [Block],
    /// Longest first.
    pub strings: &'static [Quote],
    pub rules: &'static [Rule],
    /// How a new message is written.
    pub reply: Leader,
    /// Whether the indentation of a comment takes part in the nesting.
    pub indentation: bool,
    /// Its own rules know no comments (JSON, CSV): those that stand in a file are read, a first one would break it.
    pub no_comments: bool,
    /// The grammar, where one is bundled.
    pub grammar: Option<fn() -> tree_sitter::Language>,
    /// Whether the grammar finds its way again behind what it could not read. Where it does not, the delimiters
    /// read a text in which it sees an error.
    pub mends: bool,
    /// The grammar's node kinds that are comments.
    pub comments: &'static [&'static str],
    /// The grammar's node kinds that define something, and the field's word for it.
    pub symbols: &'static [(&'static str, &'static str)],
}

impl Language {
    /// What it has of its own as a template.
    pub fn template(&self) -> Option<&'static Template> {
        self.rules.iter().find_map(|rule| match rule {
            Rule::Template(template) => Some(*template),
            _ => None,
        })
    }
}

/// Every language.
pub static LANGUAGES: &[Language] = &tables::ALL;

/// A row to begin from: no way to be found, `#` comments, no strings.
const BASE: Language = Language {
    name: "",
    extensions: &[],
    file_names: &[],
    shebangs: &[],
    ids: &[],
    line: &[],
    block: &[],
    strings: &[],
    rules: &[],
    reply: Leader {
        open: "#",
        close: "",
    },
    indentation: false,
    no_comments: false,
    grammar: None,
    mends: false,
    comments: &[],
    symbols: &[],
};

/// A file of unknown kind: comments at the start of a line only.
pub static UNKNOWN: Language = Language {
    name: "unknown",
    line: &[
        at("//", Place::LineStart),
        at("#", Place::LineStart),
        at("--", Place::LineStart),
    ],
    reply: Leader {
        open: "//",
        close: "",
    },
    ..BASE
};

const fn line(open: &'static str) -> Line {
    Line {
        open,
        place: Place::Anywhere,
    }
}

const fn at(open: &'static str, place: Place) -> Line {
    Line { open, place }
}

const fn block(open: &'static str, close: &'static str) -> Block {
    Block {
        open,
        close,
        nests: false,
        place: Place::Anywhere,
    }
}

const fn nesting(open: &'static str, close: &'static str) -> Block {
    Block {
        open,
        close,
        nests: true,
        place: Place::Anywhere,
    }
}

/// A string that ends on its line, with `\` to escape.
const fn short(delimiter: &'static str) -> Quote {
    Quote {
        open: delimiter,
        close: delimiter,
        escape: Escape::By(b'\\'),
        lines: false,
        hole: None,
        place: Place::Anywhere,
    }
}

/// A string that goes on over line ends, with `\` to escape.
const fn long(delimiter: &'static str) -> Quote {
    Quote {
        lines: true,
        ..short(delimiter)
    }
}

/// A string that ends on its line, its delimiter doubled to escape.
const fn doubled(delimiter: &'static str) -> Quote {
    Quote {
        escape: Escape::Doubled,
        ..short(delimiter)
    }
}

/// A string that goes on over line ends, with no escape.
const fn raw(open: &'static str, close: &'static str) -> Quote {
    Quote {
        open,
        close,
        escape: Escape::None,
        lines: true,
        hole: None,
        place: Place::Anywhere,
    }
}

const fn with_hole(quote: Quote, open: &'static str, close: u8) -> Quote {
    Quote {
        hole: Some((open, close)),
        ..quote
    }
}

const fn to_line_end(open: &'static str) -> Leader {
    Leader { open, close: "" }
}

const fn between(open: &'static str, close: &'static str) -> Leader {
    Leader { open, close }
}

const COMMENT: &[&str] = &["comment"];
const SLASHES: &[Line] = &[line("//")];
const HASH: &[Line] = &[line("#")];
const C_BLOCK: &[Block] = &[block("/*!", "*/"), block("/*", "*/")];
const C_STRINGS: &[Quote] = &[short("\""), short("'")];
/// Everything of C's shape: `//`, `/* */`, quotes that end on their line.
const C_LIKE: Language = Language {
    line: SLASHES,
    block: C_BLOCK,
    strings: C_STRINGS,
    reply: to_line_end("//"),
    ..BASE
};
/// Everything of the shell's shape.
const HASH_LIKE: Language = Language {
    line: HASH,
    strings: C_STRINGS,
    reply: to_line_end("#"),
    ..BASE
};
