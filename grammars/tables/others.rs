//! Languages whose comments begin with `;`, `%`, `!`, `'`, a word, or a mark of their own.

use crate::*;

const SEMICOLON: &[Line] = &[line(";")];
const PERCENT: &[Line] = &[line("%")];
const LISP_BLOCK: &[Block] = &[nesting("#|", "|#")];
const LONG: &[Quote] = &[long("\"")];

const LISP: Language = Language {
    line: SEMICOLON,
    strings: LONG,
    reply: to_line_end(";"),
    ..BASE
};

pub(crate) const ROWS: &[Language] = &[
    Language {
        name: "lisp",
        file_names: &["sbclrc", ".sbclrc", ".sawfishrc"],
        extensions: &[
            "lisp", "lsp", "cl", "asd", "el.lisp", "ny", "podsl", "sexp", "stsg",
        ],
        ids: &["lisp", "commonlisp", "common-lisp", "sexplib"],
        shebangs: &["sbcl", "clisp", "ecl", "ccl", "lisp"],
        block: LISP_BLOCK,
        rules: &[Rule::HashChar],
        ..LISP
    },
    Language {
        name: "scheme",
        extensions: &[
            "scm", "ss", "sld", "sls", "rkt", "rktl", "rktd", "scrbl", "sps",
        ],
        ids: &["scheme", "racket"],
        shebangs: &[
            "guile", "racket", "csi", "chez", "scheme", "gosh", "chicken", "bigloo",
        ],
        block: LISP_BLOCK,
        rules: &[Rule::HashChar],
        ..LISP
    },
    Language {
        name: "elisp",
        extensions: &["el", "eld"],
        file_names: &[
            ".emacs",
            "_emacs",
            "Cask",
            ".spacemacs",
            ".gnus",
            ".viper",
            "Eask",
            ".abbrev_defs",
        ],
        ids: &["elisp", "emacs-lisp", "emacslisp"],
        shebangs: &["emacs"],
        rules: &[Rule::QuestionChar],
        ..LISP
    },
    Language {
        name: "clojure",
        file_names: &["init.trans", ".trans"],
        extensions: &[
            "clj", "cljs", "cljc", "edn", "bb", "cljd", "boot", "cljx", "cljscm", "hic", "clojure",
        ],
        ids: &["clojure", "clojurescript"],
        shebangs: &["bb", "clojure", "lumo"],
        rules: &[Rule::BackslashChar],
        ..LISP
    },
    Language {
        name: "fennel",
        extensions: &["fnl"],
        ids: &["fennel"],
        shebangs: &["fennel"],
        ..LISP
    },
    Language {
        name: "janet",
        shebangs: &["janet"],
        extensions: &["janet"],
        ids: &["janet"],
        line: HASH,
        strings: &[raw("``", "``"), raw("`", "`"), long("\"")],
        reply: to_line_end("#"),
        ..LISP
    },
    Language {
        name: "query",
        extensions: &["query"],
        ids: &["query", "tsquery"],
        ..LISP
    },
    Language {
        name: "dune",
        file_names: &["dune", "dune-project", "dune-workspace", "jbuild"],
        ids: &["dune", "dune-project", "dune-workspace"],
        block: LISP_BLOCK,
        ..LISP
    },
    Language {
        name: "assembler",
        extensions: &["asm", "nasm", "inc", "nas", "a51"],
        ids: &["asm", "asm-collection", "nasm", "assembly"],
        line: &[
            line(";"),
            line("//"),
            at("#", Place::LineStart),
            at("@", Place::LineStart),
        ],
        block: &[block("/*", "*/")],
        strings: &[short("\""), short("'")],
        reply: to_line_end(";"),
        ..BASE
    },
    // Which mark begins a line comment differs by processor: `;` parts statements on most (directly behind one it is
    // taken for that), `#` and `@` begin operands on others. `/* */` is one on all.
    Language {
        name: "gas",
        extensions: &["s", "S"],
        ids: &["gas"],
        line: &[
            at(";", Place::AfterBlank),
            line("//"),
            at("##", Place::AfterBlank),
            at("# ", Place::AfterBlank),
            at("#", Place::LineStart),
            at("@ ", Place::AfterBlank),
            at("@", Place::LineStart),
        ],
        block: &[block("/*", "*/")],
        strings: &[short("\"")],
        rules: &[Rule::CharLiteral],
        reply: between("/*", "*/"),
        ..BASE
    },
    Language {
        name: "module-definition",
        ids: &["module-definition"],
        line: SEMICOLON,
        strings: &[short("\"")],
        reply: to_line_end(";"),
        ..BASE
    },
    Language {
        name: "m4",
        extensions: &["m4", "at"],
        file_names: &[".m4_history"],
        ids: &["m4"],
        // Behind `$` it is the number of arguments.
        line: &[at("dnl ", Place::AfterBlank), at("#", Place::AfterBlank)],
        reply: to_line_end("dnl"),
        ..BASE
    },
    Language {
        name: "llvm",
        extensions: &["ll.llvm", "mir"],
        ids: &["llvm"],
        line: SEMICOLON,
        strings: &[Quote {
            escape: Escape::None,
            ..short("\"")
        }],
        reply: to_line_end(";"),
        ..BASE
    },
    Language {
        name: "autohotkey",
        extensions: &["ahk"],
        ids: &["ahk", "autohotkey", "ahk2"],
        line: &[at(";", Place::AfterBlank)],
        block: &[Block {
            place: Place::LineStart,
            ..block("/*", "*/")
        }],
        strings: &[doubled("\"")],
        reply: to_line_end(";"),
        ..BASE
    },
    Language {
        name: "autoit",
        extensions: &["au3"],
        ids: &["autoit"],
        line: SEMICOLON,
        block: &[block("#cs", "#ce")],
        strings: &[doubled("\""), doubled("'")],
        reply: to_line_end(";"),
        ..BASE
    },
    Language {
        name: "zone",
        extensions: &["zone"],
        ids: &["dns-zone", "zone"],
        line: SEMICOLON,
        strings: &[short("\"")],
        reply: to_line_end(";"),
        ..BASE
    },
    Language {
        name: "latex",
        extensions: &[
            "tex", "ltx", "sty", "cls", "bbl", "dtx", "ins", "aux", "toc", "bbx", "cbx", "lbx",
            "mkii", "mkiv", "mklx", "mkxl", "mkvi", "latex", "pgf", "nlo", "nls", "thm", "eps_tex",
            "pygtex", "pygstyle", "clo", "brf", "ind", "lof", "loe", "nav", "vrb", "tikz",
            "beamer", "ctx",
        ],
        ids: &["latex", "tex", "plaintex", "context"],
        line: PERCENT,
        rules: &[Rule::Verbatim, Rule::BackslashChar],
        reply: to_line_end("%"),
        ..BASE
    },
    Language {
        name: "bibtex",
        extensions: &["bib"],
        ids: &["bibtex", "bib"],
        line: &[at("%", Place::LineStart)],
        strings: &[],
        reply: to_line_end("%"),
        ..BASE
    },
    Language {
        name: "matlab",
        file_names: &[".octaverc", "octaverc", "octave.conf"],
        extensions: &["m", "octave"],
        ids: &["matlab", "octave"],
        shebangs: &["octave"],
        line: &[line("%"), at("#", Place::LineStart)],
        strings: &[doubled("'"), doubled("\"")],
        rules: &[Rule::MatlabBlock, Rule::Transpose],
        reply: to_line_end("%"),
        ..BASE
    },
    Language {
        name: "erlang",
        extensions: &["erl", "hrl", "escript", "xrl", "yrl", "app.src", "yaws"],
        file_names: &["rebar.config", "Emakefile", "rebar.lock"],
        ids: &["erlang"],
        shebangs: &["escript"],
        line: PERCENT,
        strings: &[long("\"\"\""), long("\""), short("'")],
        rules: &[Rule::DollarChar],
        reply: to_line_end("%"),
        grammar: common!(tree_sitter_erlang::LANGUAGE),
        comments: COMMENT,
        symbols: symbols::ERLANG,
        ..BASE
    },
    Language {
        name: "prolog",
        extensions: &["pro", "prolog", "plt.pl", "P", "yap"],
        ids: &["prolog", "swi-prolog"],
        shebangs: &["swipl", "gprolog", "yap"],
        line: PERCENT,
        block: &[block("/*", "*/")],
        strings: &[long("\""), long("'"), long("`")],
        rules: &[Rule::PrologChar],
        reply: to_line_end("%"),
        ..BASE
    },
    Language {
        name: "mercury",
        ids: &["mercury"],
        extensions: &["mercury"],
        line: PERCENT,
        block: &[block("/*", "*/")],
        strings: &[long("\"")],
        reply: to_line_end("%"),
        ..BASE
    },
    Language {
        name: "postscript",
        extensions: &["ps", "eps", "epsf", "epsi", "pfa", "ai"],
        ids: &["postscript", "postscr"],
        line: PERCENT,
        strings: &[Quote {
            escape: Escape::By(b'\\'),
            ..raw("(", ")")
        }],
        reply: to_line_end("%"),
        ..BASE
    },
    Language {
        name: "fortran",
        extensions: &["f90", "f95", "f03", "f08", "f18", "fpp", "fortran"],
        ids: &["fortran", "fortran-modern", "FortranFreeForm"],
        line: &[line("!")],
        strings: &[doubled("\""), doubled("'")],
        reply: to_line_end("!"),
        ..BASE
    },
    Language {
        name: "fortran-fixed",
        extensions: &["f", "for", "f77", "ftn"],
        ids: &["fortran77", "fortran_fixed-form", "FortranFixedForm"],
        line: &[
            line("!"),
            at("C", Place::FirstColumn),
            at("*", Place::FirstColumn),
        ],
        strings: &[doubled("\""), doubled("'")],
        reply: to_line_end("C"),
        ..BASE
    },
    Language {
        name: "cobol",
        extensions: &["cob", "cbl", "cpy"],
        ids: &["cobol"],
        line: &[
            line("*>"),
            at("*", Place::FirstColumn),
            at("      *", Place::FirstColumn),
        ],
        strings: &[doubled("\""), doubled("'")],
        reply: to_line_end("*>"),
        ..BASE
    },
    // Some programs pass over lines that begin with `#`.
    Language {
        name: "csv",
        extensions: &["csv", "tsv", "psv"],
        ids: &["csv", "tsv", "dynamic csv"],
        line: &[
            at("//", Place::LineStart),
            at("#", Place::LineStart),
            at("--", Place::LineStart),
        ],
        no_comments: true,
        ..BASE
    },
    Language {
        name: "vim",
        extensions: &["vim", "vimrc", "vmb"],
        file_names: &[
            ".vimrc",
            "_vimrc",
            ".gvimrc",
            ".exrc",
            "vimrc",
            ".nvimrc",
            "nvimrc",
            "gvimrc",
            "_exrc",
            ".netrwhist",
        ],
        ids: &["vim", "viml"],
        line: &[at("\"", Place::Unpaired), at("#", Place::LineStart)],
        strings: &[short("\""), doubled("'")],
        reply: to_line_end("\""),
        ..BASE
    },
    Language {
        name: "vb",
        extensions: &[
            "vb", "vbs", "vba", "bas.vb", "frm", "ctl", "dob", "dsm", "dsr", "pag", "sba", "brs",
        ],
        ids: &["vb", "vbnet", "vbscript", "vba"],
        line: &[line("'"), at("REM", Place::Statement)],
        strings: &[doubled("\"")],
        reply: to_line_end("'"),
        ..BASE
    },
    Language {
        name: "basic",
        extensions: &["bas", "bi", "qb64", "fb"],
        ids: &["basic", "freebasic", "qb64"],
        line: &[at("REM", Place::Statement), line("'")],
        strings: &[Quote {
            escape: Escape::None,
            ..short("\"")
        }],
        reply: to_line_end("REM"),
        ..BASE
    },
    Language {
        name: "batch",
        extensions: &["bat", "cmd", "btm"],
        ids: &["bat", "batch", "dosbatch"],
        line: &[
            at("::", Place::LineStart),
            at("@REM", Place::Statement),
            at("REM", Place::Statement),
        ],
        strings: &[Quote {
            escape: Escape::None,
            ..short("\"")
        }],
        reply: to_line_end("REM"),
        ..BASE
    },
    Language {
        name: "abap",
        extensions: &["abap"],
        ids: &["abap"],
        line: &[at("*", Place::FirstColumn), line("\"")],
        strings: &[raw("|", "|"), doubled("'"), doubled("`")],
        reply: to_line_end("\""),
        ..BASE
    },
    Language {
        name: "smalltalk",
        extensions: &["st"],
        ids: &["smalltalk", "st"],
        block: &[block("\"", "\"")],
        strings: &[Quote {
            escape: Escape::Doubled,
            ..raw("'", "'")
        }],
        reply: between("\"", "\""),
        ..BASE
    },
    Language {
        name: "forth",
        extensions: &["fth", "4th", "forth", "frt", "ft"],
        ids: &["forth", "reva"],
        line: &[at("\\", Place::AfterBlank)],
        block: &[Block {
            place: Place::AfterBlank,
            ..block("( ", ")")
        }],
        strings: &[Quote {
            escape: Escape::None,
            ..short("\"")
        }],
        reply: to_line_end("\\"),
        ..BASE
    },
    Language {
        name: "apl",
        shebangs: &["apl", "dyalog", "aplx"],
        extensions: &["apl", "dyalog", "aplf", "apln"],
        ids: &["apl"],
        line: &[line("⍝")],
        strings: &[doubled("'")],
        reply: to_line_end("⍝"),
        ..BASE
    },
    Language {
        name: "troff",
        extensions: &[
            "man", "mdoc", "ms", "roff", "1", "3", "5", "7", "8", "me", "2", "4", "6", "9", "tmac",
            "mom", "nr", "tr",
        ],
        ids: &["troff", "groff", "nroff"],
        line: &[
            at(".\\\"", Place::FirstColumn),
            at("'\\\"", Place::FirstColumn),
        ],
        reply: to_line_end(".\\\""),
        ..BASE
    },
];
