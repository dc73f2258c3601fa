//! Languages and formats whose comments begin with `#`.

use crate::*;

const WORD_START: &[Line] = &[at("#", Place::WordStart)];
const LINE_START: &[Line] = &[at("#", Place::LineStart)];
const RUBY_STRINGS: &[Quote] = &[with_hole(long("\""), "#{", b'}'), long("'")];
const SINGLE: Quote = raw("'", "'");

pub(crate) const ROWS: &[Language] = &[
    // The lines of the files that it shows have a mark or a blank before them; so has a commit's message, whose own
    // comments begin with `#`.
    Language {
        name: "diff",
        extensions: &["diff", "patch", "rej"],
        file_names: &[
            "COMMIT_EDITMSG",
            "EDIT_DESCRIPTION",
            "MERGE_MSG",
            "NOTES_EDITMSG",
            "SQUASH_MSG",
            "TAG_EDITMSG",
        ],
        ids: &["diff", "patch", "gitcommit", "git-commit"],
        line: &[at("#", Place::FirstColumn)],
        reply: to_line_end("#"),
        ..BASE
    },
    Language {
        name: "perl",
        extensions: &[
            "pl", "pm", "t", "psgi", "plx", "ph", "al", "perl", "raku", "rakumod", "rakutest",
            "p6", "pl6", "pm6", "nqp", "pod6", "rakudoc", "t6",
        ],
        file_names: &[
            "cpanfile",
            "Makefile.PL",
            "Build.PL",
            "Rexfile",
            ".latexmkrc",
            "latexmkrc",
        ],
        ids: &["perl", "perl6", "raku"],
        shebangs: &["perl", "raku", "rakudo", "cperl"],
        strings: &[long("\""), long("'"), long("`")],
        rules: &[
            Rule::Pod,
            Rule::EndOfCode,
            Rule::PerlQuotes,
            Rule::Heredoc,
            Rule::Regex,
        ],
        ..HASH_LIKE
    },
    Language {
        name: "r",
        extensions: &["r", "R", "Rprofile", "rt"],
        file_names: &[".Rprofile", ".Rhistory", "Rprofile", "Rprofile.site"],
        ids: &["r"],
        shebangs: &["Rscript", "r"],
        line: &[line("#'"), line("#")],
        strings: &[long("\""), long("'"), raw("`", "`")],
        rules: &[Rule::RRaw],
        grammar: common!(tree_sitter_r::LANGUAGE),
        comments: COMMENT,
        symbols: symbols::R,
        ..HASH_LIKE
    },
    Language {
        name: "julia",
        extensions: &["jl"],
        ids: &["julia"],
        shebangs: &["julia"],
        block: &[nesting("#=", "=#")],
        strings: &[
            raw("raw\"", "\""),
            with_hole(long("\"\"\""), "$(", b')'),
            with_hole(long("\""), "$(", b')'),
            long("```"),
            long("`"),
        ],
        rules: &[Rule::Transpose, Rule::CharLiteral],
        ..HASH_LIKE
    },
    Language {
        name: "elixir",
        extensions: &["ex", "exs"],
        file_names: &["mix.lock"],
        ids: &["elixir"],
        shebangs: &["elixir", "iex"],
        strings: &[
            with_hole(long("\"\"\""), "#{", b'}'),
            long("'''"),
            with_hole(long("\""), "#{", b'}'),
            long("'"),
        ],
        rules: &[Rule::Sigil, Rule::QuestionChar],
        ..HASH_LIKE
    },
    Language {
        name: "crystal",
        extensions: &["cr"],
        ids: &["crystal"],
        shebangs: &["crystal"],
        strings: RUBY_STRINGS,
        rules: &[Rule::Heredoc, Rule::PercentLiteral, Rule::Regex],
        ..HASH_LIKE
    },
    Language {
        name: "nim",
        extensions: &["nim", "nims", "nimble", "nimrod"],
        ids: &["nim"],
        shebangs: &["nim"],
        block: &[nesting("##[", "]##"), nesting("#[", "]#")],
        strings: &[
            raw("\"\"\"", "\"\"\""),
            Quote {
                lines: false,
                escape: Escape::Doubled,
                ..raw("r\"", "\"")
            },
            short("\""),
        ],
        rules: &[Rule::CharLiteral],
        ..HASH_LIKE
    },
    Language {
        name: "coffeescript",
        extensions: &["coffee", "cson", "iced", "cjsx"],
        file_names: &["Cakefile"],
        ids: &["coffeescript"],
        shebangs: &["coffee"],
        block: &[block("###", "###")],
        strings: &[
            with_hole(long("\"\"\""), "#{", b'}'),
            long("'''"),
            with_hole(long("\""), "#{", b'}'),
            long("'"),
            raw("///", "///"),
        ],
        rules: &[Rule::Regex],
        ..HASH_LIKE
    },
    Language {
        name: "powershell",
        extensions: &["ps1", "psm1", "psd1", "pssc", "psrc"],
        ids: &["powershell", "ps1"],
        shebangs: &["pwsh", "powershell"],
        line: &[at("#", Place::WordStart)],
        block: &[block("<#", "#>")],
        strings: &[
            raw("@\"", "\n\"@"),
            raw("@'", "\n'@"),
            Quote {
                escape: Escape::By(b'`'),
                ..with_hole(long("\""), "$(", b')')
            },
            Quote {
                escape: Escape::Doubled,
                ..SINGLE
            },
        ],
        grammar: common!(tree_sitter_powershell::LANGUAGE),
        comments: COMMENT,
        symbols: symbols::POWERSHELL,
        ..HASH_LIKE
    },
    Language {
        name: "fish",
        extensions: &["fish"],
        ids: &["fish"],
        shebangs: &["fish"],
        line: WORD_START,
        strings: &[long("\""), long("'")],
        rules: &[Rule::BackslashChar],
        ..HASH_LIKE
    },
    Language {
        name: "nushell",
        file_names: &["Nukefile"],
        extensions: &["nu"],
        ids: &["nushell", "nu"],
        shebangs: &["nu", "nush"],
        line: WORD_START,
        strings: &[long("\""), SINGLE, raw("`", "`")],
        ..HASH_LIKE
    },
    Language {
        name: "csh",
        extensions: &["csh", "tcsh"],
        file_names: &[".cshrc", ".tcshrc", ".login"],
        ids: &["csh", "tcsh"],
        shebangs: &["csh", "tcsh"],
        line: WORD_START,
        strings: &[short("\""), SINGLE],
        rules: &[Rule::Heredoc, Rule::BackslashChar],
        ..HASH_LIKE
    },
    Language {
        name: "awk",
        extensions: &["awk", "gawk", "mawk", "auk", "nawk"],
        ids: &["awk"],
        shebangs: &["awk", "gawk", "mawk", "nawk"],
        strings: &[short("\"")],
        rules: &[Rule::Regex],
        ..HASH_LIKE
    },
    Language {
        name: "sed",
        extensions: &["sed"],
        ids: &["sed"],
        shebangs: &["sed", "gsed", "ssed"],
        line: LINE_START,
        strings: &[],
        ..HASH_LIKE
    },
    Language {
        name: "tcl",
        file_names: &[
            ".tclshrc",
            ".wishrc",
            ".tclsh-history",
            "tclsh.rc",
            ".xsctcmdhistory",
            ".xsdbcmdhistory",
        ],
        extensions: &[
            "tcl", "tk", "exp", "tm", "xdc", "sdc", "adp", "itk", "itcl", "jacl",
        ],
        ids: &["tcl", "expect", "sdc"],
        shebangs: &["tclsh", "wish", "expect"],
        // A command's place: `#` elsewhere is an ordinary character.
        line: &[
            at("#", Place::LineStart),
            at(";#", Place::Anywhere),
            at("; #", Place::Anywhere),
        ],
        strings: &[long("\"")],
        rules: &[Rule::BackslashChar],
        ..HASH_LIKE
    },
    Language {
        name: "makefile",
        extensions: &["mk", "mak", "make", "makefile", "mkfile", "dsp"],
        file_names: &[
            "Makefile",
            "makefile",
            "GNUmakefile",
            "BSDmakefile",
            "Kbuild",
            "Makefile*",
            "mkfile",
            "OCamlMakefile",
        ],
        ids: &["makefile", "make"],
        shebangs: &["make", "gmake"],
        strings: &[],
        rules: &[Rule::Recipe, Rule::BackslashChar],
        ..HASH_LIKE
    },
    Language {
        name: "dockerfile",
        extensions: &["dockerfile", "containerfile"],
        file_names: &[
            "Dockerfile",
            "Containerfile",
            "Dockerfile*",
            "Containerfile*",
            "dockerfile",
        ],
        ids: &["dockerfile", "docker"],
        line: LINE_START,
        strings: &[],
        rules: &[Rule::Heredoc],
        ..HASH_LIKE
    },
    Language {
        name: "cmake",
        extensions: &["cmake", "cmake.in"],
        file_names: &["CMakeLists.txt"],
        ids: &["cmake"],
        strings: &[long("\"")],
        rules: &[Rule::CmakeBracket, Rule::BackslashChar],
        grammar: common!(tree_sitter_cmake::LANGUAGE),
        comments: &["line_comment", "bracket_comment"],
        symbols: symbols::CMAKE,
        ..HASH_LIKE
    },
    Language {
        name: "meson",
        file_names: &["meson.build", "meson_options.txt", "meson.options"],
        ids: &["meson"],
        strings: &[long("'''"), short("'")],
        ..HASH_LIKE
    },
    Language {
        name: "just",
        extensions: &["just"],
        file_names: &["justfile", "Justfile", ".justfile"],
        ids: &["just"],
        shebangs: &["just"],
        line: WORD_START,
        strings: &[long("\"\"\""), raw("'''", "'''"), long("\""), SINGLE],
        rules: &[Rule::Recipe],
        ..HASH_LIKE
    },
    Language {
        name: "nix",
        extensions: &["nix"],
        ids: &["nix"],
        block: &[block("/*", "*/")],
        strings: &[
            Quote {
                escape: Escape::Before(b"'$\\"),
                ..with_hole(raw("''", "''"), "${", b'}')
            },
            with_hole(long("\""), "${", b'}'),
        ],
        grammar: common!(tree_sitter_nix::LANGUAGE),
        comments: COMMENT,
        symbols: symbols::NIX,
        ..HASH_LIKE
    },
    Language {
        name: "graphql",
        extensions: &["graphql", "gql", "graphqls"],
        ids: &["graphql"],
        strings: &[long("\"\"\""), short("\"")],
        grammar: common!(tree_sitter_graphql::LANGUAGE),
        comments: COMMENT,
        symbols: symbols::GRAPHQL,
        ..HASH_LIKE
    },
    Language {
        name: "starlark",
        extensions: &["starlark", "sky", "ipd", "star"],
        strings: &[long("\"\"\""), long("'''"), short("\""), short("'")],
        ..HASH_LIKE
    },
    Language {
        name: "gdscript",
        extensions: &["gd"],
        ids: &["gdscript"],
        strings: &[long("\"\"\""), long("'''"), short("\""), short("'")],
        ..HASH_LIKE
    },
    Language {
        name: "gherkin",
        extensions: &["feature", "story"],
        ids: &["cucumber", "gherkin"],
        line: LINE_START,
        strings: &[raw("\"\"\"", "\"\"\"")],
        ..HASH_LIKE
    },
    Language {
        name: "puppet",
        extensions: &["pp"],
        ids: &["puppet"],
        strings: &[with_hole(long("\""), "${", b'}'), long("'")],
        ..HASH_LIKE
    },
    Language {
        name: "rego",
        extensions: &["rego"],
        ids: &["rego"],
        strings: &[raw("`", "`"), short("\"")],
        ..HASH_LIKE
    },
    Language {
        name: "sparql",
        extensions: &["sparql", "rq", "ttl", "turtle", "n3", "trig"],
        ids: &["sparql", "turtle"],
        // `#` inside `<…>` belongs to an address.
        line: &[at("#", Place::AfterBlank)],
        strings: &[long("\"\"\""), long("'''"), short("\""), short("'")],
        ..HASH_LIKE
    },
    Language {
        name: "gnuplot",
        file_names: &[".gnuplot_history"],
        shebangs: &["gnuplot"],
        extensions: &["gp", "plt", "gnuplot", "plot", "gnu", "gpi"],
        ids: &["gnuplot"],
        strings: &[short("\""), doubled("'")],
        ..HASH_LIKE
    },
    Language {
        name: "jq",
        extensions: &["jq"],
        ids: &["jq"],
        shebangs: &["jq", "jaq", "gojq"],
        strings: &[with_hole(long("\""), "\\(", b')')],
        ..HASH_LIKE
    },
    Language {
        name: "capnp",
        extensions: &["capnp"],
        ids: &["capnp", "capnproto"],
        shebangs: &["capnp"],
        strings: &[short("\"")],
        ..HASH_LIKE
    },
    Language {
        name: "gn",
        extensions: &["gn", "gni"],
        ids: &["gn"],
        strings: &[short("\"")],
        ..HASH_LIKE
    },
    Language {
        name: "mojo",
        extensions: &["mojo", "🔥"],
        ids: &["mojo"],
        strings: &[long("\"\"\""), long("'''"), short("\""), short("'")],
        ..HASH_LIKE
    },
];
