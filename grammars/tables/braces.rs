//! Languages of C's shape: `//`, `/* */`.

use crate::*;

const NESTING: &[Block] = &[nesting("/*", "*/")];
const TRIPLE: &[Quote] = &[long("\"\"\""), short("\""), short("'")];

pub(crate) const ROWS: &[Language] = &[
    Language {
        name: "kotlin",
        extensions: &["kt", "kts", "ktm"],
        ids: &["kotlin"],
        shebangs: &["kotlin", "kscript"],
        block: NESTING,
        strings: &[
            Quote {
                escape: Escape::None,
                ..with_hole(long("\"\"\""), "${", b'}')
            },
            with_hole(short("\""), "${", b'}'),
            Quote {
                lines: false,
                ..raw("`", "`")
            },
        ],
        rules: &[Rule::CharLiteral],
        grammar: common!(tree_sitter_kotlin_ng::LANGUAGE),
        comments: &["line_comment", "block_comment"],
        symbols: symbols::KOTLIN,
        ..C_LIKE
    },
    Language {
        name: "swift",
        extensions: &["swift", "swiftinterface"],
        ids: &["swift"],
        shebangs: &["swift"],
        block: NESTING,
        strings: &[
            with_hole(long("\"\"\""), "\\(", b')'),
            with_hole(short("\""), "\\(", b')'),
        ],
        rules: &[Rule::SwiftRaw],
        grammar: common!(tree_sitter_swift::LANGUAGE),
        comments: &["comment", "multiline_comment"],
        symbols: symbols::SWIFT,
        ..C_LIKE
    },
    Language {
        name: "scala",
        extensions: &["scala", "sc", "sbt", "mill"],
        ids: &["scala", "sbt"],
        shebangs: &["scala", "amm", "scala-cli"],
        block: NESTING,
        strings: &[
            Quote {
                escape: Escape::None,
                ..with_hole(long("\"\"\""), "${", b'}')
            },
            with_hole(short("\""), "${", b'}'),
            Quote {
                lines: false,
                ..raw("`", "`")
            },
        ],
        rules: &[Rule::CharLiteral],
        grammar: all!(tree_sitter_scala::LANGUAGE),
        comments: &["comment", "block_comment"],
        symbols: symbols::SCALA,
        ..C_LIKE
    },
    Language {
        name: "dart",
        extensions: &["dart", "drt"],
        ids: &["dart"],
        shebangs: &["dart"],
        block: NESTING,
        strings: &[
            raw("r\"\"\"", "\"\"\""),
            raw("r'''", "'''"),
            Quote {
                lines: false,
                ..raw("r\"", "\"")
            },
            Quote {
                lines: false,
                ..raw("r'", "'")
            },
            with_hole(long("\"\"\""), "${", b'}'),
            with_hole(long("'''"), "${", b'}'),
            with_hole(short("\""), "${", b'}'),
            with_hole(short("'"), "${", b'}'),
        ],
        grammar: common!(tree_sitter_dart::LANGUAGE),
        comments: &[
            "comment",
            "block_comment",
            "documentation_comment",
            "documentation_block_comment",
        ],
        symbols: symbols::DART,
        ..C_LIKE
    },
    Language {
        name: "groovy",
        extensions: &[
            "groovy",
            "gvy",
            "gy",
            "gsh",
            "gradle",
            "nf",
            "grt",
            "gtpl",
            "jenkinsfile",
        ],
        file_names: &["Jenkinsfile", "Jenkinsfile*"],
        ids: &["groovy", "gradle", "jenkinsfile", "nextflow"],
        shebangs: &["groovy", "nextflow"],
        strings: &[
            with_hole(long("\"\"\""), "${", b'}'),
            long("'''"),
            with_hole(short("\""), "${", b'}'),
            short("'"),
            raw("$/", "/$"),
        ],
        rules: &[Rule::Regex],
        ..C_LIKE
    },
    Language {
        name: "zig",
        extensions: &["zig", "zon"],
        ids: &["zig"],
        line: &[line("//!"), line("//")],
        block: &[],
        strings: &[short("\"")],
        rules: &[Rule::BackslashLines, Rule::CharLiteral],
        grammar: common!(tree_sitter_zig::LANGUAGE),
        comments: COMMENT,
        symbols: symbols::ZIG,
        ..C_LIKE
    },
    Language {
        name: "d",
        extensions: &["d", "di"],
        ids: &["d"],
        shebangs: &["rdmd", "dub"],
        block: &[nesting("/+", "+/"), block("/*", "*/")],
        strings: &[raw("r\"", "\""), raw("`", "`"), long("\""), raw("q{", "}")],
        rules: &[Rule::CharLiteral],
        ..C_LIKE
    },
    Language {
        name: "php",
        file_names: &[".php_cs", ".php_cs.dist", "Phakefile"],
        extensions: &[
            "php", "phtml", "php3", "php4", "php5", "php7", "php8", "phps", "inc.php", "ctp",
            "phpt",
        ],
        ids: &["php"],
        shebangs: &["php"],
        block: &[block("<!--", "-->")],
        line: &[],
        strings: &[],
        rules: &[Rule::Template(&templates::PHP), Rule::Scripts, Rule::Tags],
        reply: between("<!--", "-->"),
        ..C_LIKE
    },
    // What stands between `<?php` and `?>`; no file is in it.
    Language {
        name: "php-code",
        line: &[line("//"), at("#", Place::NotBefore(b'['))],
        block: C_BLOCK,
        strings: &[long("\""), long("'"), long("`")],
        rules: &[Rule::PhpHeredoc],
        grammar: common!(tree_sitter_php::LANGUAGE_PHP_ONLY),
        comments: COMMENT,
        symbols: symbols::PHP,
        ..C_LIKE
    },
    Language {
        name: "objective-c",
        extensions: &["m.objc", "mm"],
        ids: &["objective-c", "objective-cpp", "objc", "objcpp"],
        line: &[line("//!"), line("//")],
        ..C_LIKE
    },
    Language {
        name: "scss",
        extensions: &["scss"],
        ids: &["scss"],
        rules: &[Rule::Url],
        ..C_LIKE
    },
    Language {
        name: "less",
        extensions: &["less"],
        ids: &["less"],
        rules: &[Rule::Url],
        ..C_LIKE
    },
    Language {
        name: "stylus",
        extensions: &["styl", "stylus"],
        ids: &["stylus"],
        rules: &[Rule::Url],
        ..C_LIKE
    },
    Language {
        name: "sass",
        extensions: &["sass"],
        ids: &["sass"],
        block: &[],
        rules: &[
            Rule::IndentedComment("//"),
            Rule::IndentedComment("/*"),
            Rule::Url,
        ],
        indentation: true,
        ..C_LIKE
    },
    // JSON in which whoever reads it allows comments.
    Language {
        name: "jsonc",
        extensions: &[
            "jsonc",
            "code-workspace",
            "code-snippets",
            "sublime-settings",
            "sublime-project",
            "sublime-keymap",
            "sublime-build",
            "sublime-commands",
            "sublime-menu",
            "sublime-theme",
            "sublime-color-scheme",
            "sublime-mousemap",
            "sublime-macro",
            "sublime-completions",
            "sublime-workspace",
            "hujson",
            "jsonp",
            "jupyterlab-settings",
            "eslintrc.json",
            "babelrc.json",
        ],
        file_names: &[
            "tsconfig*",
            "jsconfig*",
            "devcontainer.json",
            ".devcontainer.json",
            "deno.json",
            "typedoc.json",
            "babel.config.json",
            "language-configuration.json",
            ".eslintrc",
            ".jshintrc",
            ".babelrc",
            ".swcrc",
            ".jscsrc",
            ".jslintrc",
            "bun.lock",
            ".hintrc",
            ".jsfmtrc",
            ".luaurc",
            ".swrc",
            ".ember-cli",
        ],
        ids: &["jsonc", "snippets"],
        grammar: common!(tree_sitter_json::LANGUAGE),
        comments: COMMENT,
        ..C_LIKE
    },
    Language {
        name: "json",
        extensions: &[
            "json",
            "jsonl",
            "ndjson",
            "geojson",
            "gltf",
            "har",
            "topojson",
            "webmanifest",
            "avsc",
            "mcmeta",
            "sarif",
            "tfstate",
            "slnf",
            "json-patch",
            "bd",
            "bda",
            "xci",
            "jsonld",
            "tsbuildinfo",
            "code-profile",
        ],
        file_names: &[
            ".nycrc",
            ".c8rc",
            ".watchmanconfig",
            "composer.lock",
            "Pipfile.lock",
            "flake.lock",
            "deno.lock",
            "Package.resolved",
            ".firebaserc",
            ".prettierrc",
            ".stylelintrc",
            ".vsconfig",
            ".bowerrc",
            ".vuerc",
        ],
        ids: &["json", "jsonl"],
        no_comments: true,
        grammar: common!(tree_sitter_json::LANGUAGE),
        comments: COMMENT,
        ..C_LIKE
    },
    Language {
        name: "json5",
        extensions: &["json5"],
        ids: &["json5"],
        strings: &[short("\""), short("'")],
        ..C_LIKE
    },
    Language {
        name: "protobuf",
        extensions: &["proto"],
        ids: &["proto", "proto3", "protobuf"],
        grammar: common!(tree_sitter_proto::LANGUAGE),
        comments: COMMENT,
        symbols: symbols::PROTO,
        ..C_LIKE
    },
    Language {
        name: "thrift",
        extensions: &["thrift"],
        ids: &["thrift"],
        line: &[line("//"), line("#")],
        ..C_LIKE
    },
    Language {
        name: "flatbuffers",
        extensions: &["fbs"],
        ids: &["flatbuffers"],
        ..C_LIKE
    },
    Language {
        name: "terraform",
        extensions: &["tf", "tfvars", "hcl", "nomad", "tofu"],
        file_names: &[".terraformrc", "terraform.rc"],
        ids: &["terraform", "terraform-vars", "hcl", "opentofu"],
        line: &[line("#"), line("//")],
        strings: &[with_hole(short("\""), "${", b'}')],
        rules: &[Rule::Heredoc],
        reply: to_line_end("#"),
        ..C_LIKE
    },
    Language {
        name: "solidity",
        extensions: &["sol"],
        ids: &["solidity"],
        grammar: common!(tree_sitter_solidity::LANGUAGE),
        comments: COMMENT,
        symbols: symbols::SOLIDITY,
        ..C_LIKE
    },
    Language {
        name: "glsl",
        extensions: &[
            "glsl", "vert", "frag", "geom", "comp", "tesc", "tese", "hlsl", "fx", "wgsl", "metal",
            "shader", "cginc", "fsh", "fshader", "glslf", "glslv", "rchit", "rmiss", "vshader",
            "hlsli", "fxh", "psh", "compute", "gdshader",
        ],
        ids: &["glsl", "hlsl", "wgsl", "metal", "shaderlab", "gdshader"],
        strings: &[short("\"")],
        grammar: all!(tree_sitter_glsl::LANGUAGE_GLSL),
        comments: COMMENT,
        symbols: symbols::GLSL,
        ..C_LIKE
    },
    Language {
        name: "verilog",
        extensions: &["v", "vh", "sv", "svh", "veo"],
        ids: &["verilog", "systemverilog"],
        strings: &[short("\"")],
        ..C_LIKE
    },
    Language {
        name: "cue",
        extensions: &["cue"],
        ids: &["cue"],
        block: &[],
        strings: TRIPLE,
        ..C_LIKE
    },
    Language {
        name: "jsonnet",
        extensions: &["jsonnet", "libsonnet"],
        ids: &["jsonnet"],
        line: &[line("//"), line("#")],
        strings: &[
            raw("|||", "|||"),
            Quote {
                escape: Escape::Doubled,
                ..raw("@\"", "\"")
            },
            Quote {
                escape: Escape::Doubled,
                ..raw("@'", "'")
            },
            long("\""),
            long("'"),
        ],
        ..C_LIKE
    },
    Language {
        name: "vala",
        extensions: &["vala", "vapi"],
        ids: &["vala"],
        strings: TRIPLE,
        ..C_LIKE
    },
    Language {
        name: "haxe",
        extensions: &["hx", "hxsl"],
        ids: &["haxe"],
        strings: &[long("\""), with_hole(long("'"), "${", b'}')],
        ..C_LIKE
    },
    Language {
        name: "odin",
        extensions: &["odin"],
        ids: &["odin"],
        block: NESTING,
        strings: &[raw("`", "`"), short("\""), short("'")],
        ..C_LIKE
    },
    Language {
        name: "v",
        extensions: &["vsh", "vv"],
        ids: &["v", "vlang"],
        shebangs: &["v"],
        block: NESTING,
        ..C_LIKE
    },
    Language {
        name: "gleam",
        extensions: &["gleam"],
        ids: &["gleam"],
        block: &[],
        strings: &[long("\"")],
        ..C_LIKE
    },
    Language {
        name: "move",
        extensions: &["move"],
        ids: &["move"],
        block: NESTING,
        strings: &[short("\"")],
        ..C_LIKE
    },
    Language {
        name: "cairo",
        extensions: &["cairo"],
        ids: &["cairo"],
        block: &[],
        strings: &[short("\"")],
        ..C_LIKE
    },
    Language {
        name: "qml",
        extensions: &["qml", "qbs"],
        ids: &["qml"],
        strings: &[short("\""), short("'"), with_hole(long("`"), "${", b'}')],
        rules: &[Rule::Regex],
        ..C_LIKE
    },
    Language {
        name: "actionscript",
        extensions: &["as"],
        ids: &["actionscript"],
        rules: &[Rule::Regex],
        ..C_LIKE
    },
    Language {
        name: "kdl",
        extensions: &["kdl"],
        ids: &["kdl"],
        block: NESTING,
        strings: &[long("\"")],
        rules: &[Rule::RustRaw],
        ..C_LIKE
    },
    Language {
        name: "typespec",
        extensions: &["tsp"],
        ids: &["typespec"],
        strings: &[long("\"\"\""), short("\"")],
        ..C_LIKE
    },
    Language {
        name: "bicep",
        extensions: &["bicep", "bicepparam"],
        ids: &["bicep"],
        strings: &[raw("'''", "'''"), with_hole(short("'"), "${", b'}')],
        ..C_LIKE
    },
    Language {
        name: "prisma",
        extensions: &["prisma"],
        ids: &["prisma"],
        block: &[],
        strings: &[short("\"")],
        ..C_LIKE
    },
    Language {
        name: "devicetree",
        extensions: &["dts", "dtsi", "dtso", "overlay", "keymap", "its"],
        ids: &["dts", "devicetree"],
        strings: &[long("\"")],
        ..C_LIKE
    },
    Language {
        name: "dot",
        extensions: &["dot", "gv"],
        ids: &["dot", "graphviz"],
        line: &[line("//"), at("#", Place::FirstColumn)],
        strings: &[long("\"")],
        ..C_LIKE
    },
    Language {
        name: "pkl",
        shebangs: &["pkl"],
        extensions: &["pkl"],
        ids: &["pkl"],
        strings: &[long("\"\"\""), short("\"")],
        ..C_LIKE
    },
    Language {
        name: "gomod",
        file_names: &["go.mod", "go.work"],
        ids: &["gomod", "go.mod", "gowork", "go.work"],
        block: &[],
        strings: &[short("\""), raw("`", "`")],
        ..C_LIKE
    },
    Language {
        name: "apex",
        extensions: &["apex"],
        ids: &["apex", "apexcode"],
        strings: &[short("'")],
        ..C_LIKE
    },
    Language {
        name: "linker-script",
        extensions: &["ld", "lds"],
        ids: &["ld", "linkerscript"],
        line: &[],
        block: &[block("/*", "*/")],
        strings: &[short("\"")],
        reply: between("/*", "*/"),
        ..BASE
    },
    Language {
        name: "yacc",
        extensions: &["y", "yy", "l", "ll", "lex", "lxx", "l++", "y++", "yxx"],
        ids: &["yacc", "bison", "lex", "flex"],
        ..C_LIKE
    },
];
