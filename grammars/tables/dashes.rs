//! Languages whose comments begin with `--`, and those that have brackets only: `(* *)`, `{- -}`.

use crate::*;

const DASHES: &[Line] = &[line("--")];
const HASKELL_LINE: &[Line] = &[at("--", Place::NotOperator)];
const HASKELL_BLOCK: &[Block] = &[nesting("{-|", "-}"), nesting("{-", "-}")];
const ML_BLOCK: &[Block] = &[nesting("(*", "*)")];
/// `(*)` is an operator.
const FSHARP_BLOCK: &[Block] = &[Block {
    place: Place::NotBefore(b')'),
    ..nesting("(*", "*)")
}];
const LONG: &[Quote] = &[long("\"")];

const ML: Language = Language {
    block: ML_BLOCK,
    strings: LONG,
    rules: &[Rule::CharLiteral],
    reply: between("(*", "*)"),
    ..BASE
};

pub(crate) const ROWS: &[Language] = &[
    Language {
        name: "sql",
        file_names: &[".mysql_history", ".sqlite_history"],
        extensions: &[
            "sql", "psql", "pgsql", "mysql", "ddl", "dml", "plsql", "pks", "pkb", "tsql", "hql",
            "cql", "pls", "pck", "plb", "prc", "trg", "fnc", "tyc", "tyb", "dsql",
        ],
        ids: &[
            "sql", "postgres", "plsql", "mysql", "tsql", "pgsql", "cqlang",
        ],
        line: &[line("--"), at("#", Place::LineStart)],
        block: &[nesting("/*", "*/")],
        strings: &[
            Quote {
                open: "E'",
                close: "'",
                place: Place::WordStart,
                ..long("'")
            },
            Quote {
                escape: Escape::Doubled,
                ..raw("'", "'")
            },
            Quote {
                escape: Escape::Doubled,
                ..raw("\"", "\"")
            },
            Quote {
                escape: Escape::Doubled,
                ..raw("`", "`")
            },
        ],
        rules: &[Rule::DollarQuote],
        reply: to_line_end("--"),
        ..BASE
    },
    // Told from `sql` by its first lines: a backslash escapes in its strings. `#>` is an operator of PostgreSQL.
    Language {
        name: "mysql",
        ids: &["mariadb"],
        line: &[
            line("--"),
            at("#", Place::NotBefore(b'>')),
            at("#", Place::LineStart),
        ],
        block: C_BLOCK,
        strings: &[long("'"), long("\""), raw("`", "`")],
        reply: to_line_end("--"),
        ..BASE
    },
    Language {
        name: "haskell",
        extensions: &["hs", "hsc", "hs-boot", "hsig"],
        ids: &["haskell"],
        shebangs: &["runhaskell", "runghc", "stack", "runhugs"],
        line: HASKELL_LINE,
        block: HASKELL_BLOCK,
        strings: LONG,
        rules: &[Rule::QuasiQuote, Rule::CharLiteral],
        reply: to_line_end("--"),
        ..BASE
    },
    Language {
        name: "cabal",
        extensions: &["cabal"],
        file_names: &["cabal.project", "cabal.project*", "cabal.config"],
        ids: &["cabal", "cabalproject", "cabalconfig"],
        line: &[at("--", Place::LineStart)],
        reply: to_line_end("--"),
        ..BASE
    },
    Language {
        name: "elm",
        extensions: &["elm"],
        ids: &["elm"],
        line: DASHES,
        block: HASKELL_BLOCK,
        strings: &[long("\"\"\""), short("\"")],
        rules: &[Rule::CharLiteral],
        reply: to_line_end("--"),
        grammar: common!(tree_sitter_elm::LANGUAGE),
        comments: &["line_comment", "block_comment"],
        symbols: symbols::ELM,
        ..BASE
    },
    Language {
        name: "purescript",
        extensions: &["purs"],
        ids: &["purescript"],
        line: HASKELL_LINE,
        block: HASKELL_BLOCK,
        strings: &[raw("\"\"\"", "\"\"\""), long("\"")],
        rules: &[Rule::CharLiteral],
        reply: to_line_end("--"),
        ..BASE
    },
    Language {
        name: "idris",
        extensions: &["idr", "agda", "lidr"],
        ids: &["idris", "idris2", "agda"],
        line: &[line("|||"), at("--", Place::NotOperator)],
        block: HASKELL_BLOCK,
        strings: LONG,
        rules: &[Rule::CharLiteral],
        reply: to_line_end("--"),
        ..BASE
    },
    Language {
        name: "lean",
        extensions: &["lean"],
        ids: &["lean", "lean4"],
        line: DASHES,
        block: &[nesting("/-!", "-/"), nesting("/-", "-/")],
        strings: LONG,
        rules: &[Rule::CharLiteral],
        reply: to_line_end("--"),
        ..BASE
    },
    Language {
        name: "dhall",
        extensions: &["dhall"],
        ids: &["dhall"],
        line: DASHES,
        block: HASKELL_BLOCK,
        strings: &[
            Quote {
                escape: Escape::Before(b"'$"),
                ..with_hole(raw("''", "''"), "${", b'}')
            },
            with_hole(short("\""), "${", b'}'),
        ],
        reply: to_line_end("--"),
        ..BASE
    },
    Language {
        name: "ada",
        extensions: &["adb", "ads", "ada", "gpr"],
        ids: &["ada"],
        line: DASHES,
        strings: &[doubled("\"")],
        rules: &[Rule::CharLiteral],
        reply: to_line_end("--"),
        grammar: all!(tree_sitter_ada::LANGUAGE),
        comments: COMMENT,
        symbols: symbols::ADA,
        ..BASE
    },
    Language {
        name: "vhdl",
        extensions: &[
            "vhd", "vhdl", "vhi", "vho", "vht", "vhs", "vst", "hdl", "vbe",
        ],
        ids: &["vhdl"],
        line: DASHES,
        block: &[block("/*", "*/")],
        strings: &[doubled("\"")],
        rules: &[Rule::CharLiteral],
        reply: to_line_end("--"),
        ..BASE
    },
    Language {
        name: "applescript",
        extensions: &["applescript", "scpt"],
        ids: &["applescript"],
        shebangs: &["osascript"],
        line: &[line("--"), line("#")],
        block: ML_BLOCK,
        strings: LONG,
        reply: to_line_end("--"),
        ..BASE
    },
    Language {
        name: "eiffel",
        extensions: &["e"],
        ids: &["eiffel"],
        line: DASHES,
        strings: &[Quote {
            escape: Escape::By(b'%'),
            ..short("\"")
        }],
        reply: to_line_end("--"),
        ..BASE
    },
    Language {
        name: "ocaml",
        file_names: &[".ocamlinit"],
        extensions: &[
            "ml", "mli", "mll", "mly", "eliom", "eliomi", "ml4", "mlt", "mlp", "mlip",
        ],
        ids: &["ocaml", "ocaml.interface", "ocaml.ocamllex"],
        shebangs: &["ocaml", "ocamlrun", "ocamlscript"],
        rules: &[Rule::BarQuote, Rule::CharLiteral],
        ..ML
    },
    Language {
        name: "fsharp",
        extensions: &["fs", "fsi", "fsx", "fsscript"],
        ids: &["fsharp"],
        line: SLASHES,
        block: FSHARP_BLOCK,
        strings: &[
            raw("\"\"\"", "\"\"\""),
            Quote {
                escape: Escape::Doubled,
                ..raw("@\"", "\"")
            },
            long("\""),
        ],
        reply: to_line_end("//"),
        ..ML
    },
    Language {
        name: "sml",
        extensions: &["sml", "sig", "fun"],
        ids: &["sml"],
        rules: &[],
        ..ML
    },
    Language {
        name: "coq",
        extensions: &["coq"],
        ids: &["coq", "rocq"],
        rules: &[],
        ..ML
    },
    Language {
        name: "reason",
        extensions: &["re", "rei", "res", "resi"],
        ids: &["reason", "rescript"],
        block: &[nesting("/*", "*/")],
        strings: &[long("`"), long("\"")],
        rules: &[Rule::BarQuote],
        ..C_LIKE
    },
    Language {
        name: "pascal",
        extensions: &[
            "pas", "pp.pas", "dpr", "dpk", "lpr", "inc.pas", "dfm", "pascal",
        ],
        ids: &["pascal", "delphi", "objectpascal"],
        shebangs: &["instantfpc"],
        line: SLASHES,
        block: &[block("(*", "*)"), block("{", "}")],
        strings: &[doubled("'")],
        reply: to_line_end("//"),
        grammar: all!(tree_sitter_pascal::LANGUAGE),
        comments: COMMENT,
        symbols: symbols::PASCAL,
        ..BASE
    },
    Language {
        name: "modula",
        extensions: &["mod", "def", "ob2", "lm3"],
        ids: &["modula2", "modula3", "oberon"],
        block: ML_BLOCK,
        strings: &[
            Quote {
                escape: Escape::None,
                ..short("\"")
            },
            Quote {
                escape: Escape::None,
                ..short("'")
            },
        ],
        reply: between("(*", "*)"),
        ..BASE
    },
    Language {
        name: "mathematica",
        extensions: &["wl", "wls", "nb", "wlt"],
        ids: &["wolfram", "mathematica", "mma"],
        shebangs: &["wolframscript", "WolframKernel"],
        block: ML_BLOCK,
        strings: LONG,
        reply: between("(*", "*)"),
        ..BASE
    },
];
