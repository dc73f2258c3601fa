//! The languages whose grammar every build has.

use crate::*;

const DOC_SLASHES: &[Line] = &[line("//!"), line("//")];
const NESTING_C: &[Block] = &[nesting("/*!", "*/"), nesting("/*", "*/")];
const JS_STRINGS: &[Quote] = &[short("\""), short("'"), with_hole(long("`"), "${", b'}')];
const PYTHON_STRINGS: &[Quote] = &[long("\"\"\""), long("'''"), short("\""), short("'")];
const SHELL_STRINGS: &[Quote] = &[
    with_hole(long("\""), "$(", b')'),
    Quote {
        escape: Escape::By(b'\\'),
        ..raw("$'", "'")
    },
    raw("'", "'"),
];
pub(crate) const XML_BLOCK: &[Block] = &[block("<!--", "-->")];

const JS: Language = Language {
    strings: JS_STRINGS,
    rules: &[Rule::Regex],
    comments: COMMENT,
    symbols: &[
        ("function_declaration", "function"),
        ("generator_function_declaration", "function"),
        ("class_declaration", "class"),
        ("abstract_class_declaration", "class"),
        ("method_definition", "method"),
        ("abstract_method_signature", "method"),
        ("interface_declaration", "interface"),
        ("type_alias_declaration", "type"),
        ("enum_declaration", "enum"),
        ("internal_module", "namespace"),
        ("module", "namespace"),
        ("function_signature", "function"),
        ("method_signature", "method"),
        ("variable_declarator", "variable"),
        ("field_definition", "field"),
        ("public_field_definition", "field"),
    ],
    ..C_LIKE
};

pub(crate) const ROWS: [Language; 20] = [
    Language {
        name: "rust",
        extensions: &["rs"],
        shebangs: &["rust-script", "cargo"],
        ids: &["rust"],
        line: DOC_SLASHES,
        block: NESTING_C,
        strings: &[long("\"")],
        rules: &[Rule::RustRaw, Rule::CharLiteral],
        grammar: Some(|| tree_sitter_rust::LANGUAGE.into()),
        mends: true,
        comments: &["line_comment", "block_comment"],
        symbols: &[
            ("function_item", "function"),
            ("function_signature_item", "function"),
            ("struct_item", "struct"),
            ("enum_item", "enum"),
            ("union_item", "union"),
            ("trait_item", "trait"),
            ("impl_item", "impl"),
            ("mod_item", "module"),
            ("const_item", "constant"),
            ("static_item", "static"),
            ("type_item", "type"),
            ("associated_type", "type"),
            ("macro_definition", "macro"),
            ("field_declaration", "field"),
            ("enum_variant", "variant"),
        ],
        ..C_LIKE
    },
    Language {
        name: "python",
        extensions: &["py", "pyi", "pyw", "bzl", "star", "pyx", "pxd"],
        file_names: &[
            "SConstruct",
            "SConscript",
            "wscript",
            "BUILD",
            "BUILD.bazel",
            "WORKSPACE",
            "Snakefile",
            "Tiltfile",
        ],
        shebangs: &["python", "pypy", "uv"],
        ids: &["python", "starlark", "bazel"],
        strings: PYTHON_STRINGS,
        grammar: Some(|| tree_sitter_python::LANGUAGE.into()),
        mends: true,
        comments: COMMENT,
        symbols: &[
            ("function_definition", "function"),
            ("class_definition", "class"),
            ("type_alias_statement", "type"),
        ],
        ..HASH_LIKE
    },
    Language {
        name: "javascript",
        extensions: &["js", "mjs", "cjs", "es6"],
        file_names: &["Jakefile"],
        shebangs: &["node", "nodejs"],
        ids: &["javascript"],
        grammar: Some(|| tree_sitter_javascript::LANGUAGE.into()),
        mends: true,
        ..JS
    },
    Language {
        name: "jsx",
        extensions: &["jsx"],
        ids: &["javascriptreact", "jsx"],
        grammar: Some(|| tree_sitter_javascript::LANGUAGE.into()),
        mends: true,
        ..JS
    },
    Language {
        name: "typescript",
        extensions: &["ts", "mts", "cts"],
        shebangs: &["deno", "ts-node", "tsx", "bun"],
        ids: &["typescript"],
        grammar: Some(|| tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()),
        mends: true,
        ..JS
    },
    Language {
        name: "tsx",
        extensions: &["tsx"],
        ids: &["typescriptreact", "tsx"],
        grammar: Some(|| tree_sitter_typescript::LANGUAGE_TSX.into()),
        mends: true,
        ..JS
    },
    Language {
        name: "go",
        extensions: &["go"],
        ids: &["go"],
        strings: &[raw("`", "`"), short("\""), short("'")],
        grammar: Some(|| tree_sitter_go::LANGUAGE.into()),
        mends: true,
        comments: COMMENT,
        symbols: &[
            ("function_declaration", "function"),
            ("method_declaration", "method"),
            ("type_spec", "type"),
            ("type_alias", "type"),
            ("const_spec", "constant"),
            ("var_spec", "variable"),
            ("field_declaration", "field"),
            ("method_elem", "method"),
        ],
        ..C_LIKE
    },
    Language {
        name: "c",
        extensions: &["c", "h"],
        ids: &["c"],
        line: DOC_SLASHES,
        // C23 separates digits by `'`, and a header may be C++'s.
        strings: &[short("\"")],
        rules: &[Rule::CharLiteral, Rule::CppRaw],
        grammar: Some(|| tree_sitter_c::LANGUAGE.into()),
        mends: true,
        comments: COMMENT,
        symbols: symbols::C,
        ..C_LIKE
    },
    Language {
        name: "cpp",
        extensions: &[
            "cpp", "cc", "cxx", "c++", "C", "hpp", "hh", "hxx", "h++", "H", "ipp", "inl", "tpp",
            "txx", "cu", "cuh", "ino", "ixx", "cppm",
        ],
        ids: &["cpp", "c++", "cuda-cpp", "cuda", "arduino"],
        line: DOC_SLASHES,
        rules: &[Rule::CppRaw, Rule::CharLiteral],
        strings: &[short("\"")],
        grammar: Some(|| tree_sitter_cpp::LANGUAGE.into()),
        mends: true,
        comments: COMMENT,
        symbols: symbols::CPP,
        ..C_LIKE
    },
    Language {
        name: "java",
        extensions: &["java", "jsh"],
        shebangs: &["java", "jbang"],
        ids: &["java"],
        strings: &[long("\"\"\""), short("\""), short("'")],
        grammar: Some(|| tree_sitter_java::LANGUAGE.into()),
        mends: true,
        comments: &["line_comment", "block_comment"],
        symbols: &[
            ("class_declaration", "class"),
            ("interface_declaration", "interface"),
            ("enum_declaration", "enum"),
            ("record_declaration", "record"),
            ("annotation_type_declaration", "annotation"),
            ("method_declaration", "method"),
            ("constructor_declaration", "constructor"),
            ("compact_constructor_declaration", "constructor"),
            ("field_declaration", "field"),
            ("enum_constant", "variant"),
        ],
        ..C_LIKE
    },
    Language {
        name: "csharp",
        extensions: &["cs", "csx", "cake"],
        shebangs: &["dotnet", "dotnet-script"],
        ids: &["csharp", "c#"],
        strings: &[
            Quote {
                escape: Escape::Doubled,
                hole: Some(("{", b'}')),
                ..raw("$@\"", "\"")
            },
            Quote {
                escape: Escape::Doubled,
                hole: Some(("{", b'}')),
                ..raw("@$\"", "\"")
            },
            Quote {
                escape: Escape::Doubled,
                ..raw("@\"", "\"")
            },
            Quote {
                open: "$\"",
                close: "\"",
                ..with_hole(short("\""), "{", b'}')
            },
            short("\""),
            short("'"),
        ],
        rules: &[Rule::CsharpRaw],
        grammar: Some(|| tree_sitter_c_sharp::LANGUAGE.into()),
        mends: true,
        comments: COMMENT,
        symbols: &[
            ("namespace_declaration", "namespace"),
            ("file_scoped_namespace_declaration", "namespace"),
            ("class_declaration", "class"),
            ("struct_declaration", "struct"),
            ("record_declaration", "record"),
            ("interface_declaration", "interface"),
            ("enum_declaration", "enum"),
            ("delegate_declaration", "delegate"),
            ("method_declaration", "method"),
            ("constructor_declaration", "constructor"),
            ("property_declaration", "property"),
            ("event_declaration", "event"),
            ("local_function_statement", "function"),
            ("enum_member_declaration", "variant"),
        ],
        ..C_LIKE
    },
    Language {
        name: "ruby",
        extensions: &[
            "rb", "rake", "gemspec", "ru", "rbi", "jbuilder", "podspec", "thor",
        ],
        file_names: &[
            "Gemfile",
            "Rakefile",
            "Guardfile",
            "Vagrantfile",
            "Capfile",
            "Podfile",
            "Brewfile",
            "Fastfile",
            "Appfile",
            "Berksfile",
            "Dangerfile",
            "Thorfile",
            ".irbrc",
            ".pryrc",
        ],
        shebangs: &["ruby", "jruby", "rake", "macruby"],
        ids: &["ruby"],
        strings: &[
            with_hole(long("\""), "#{", b'}'),
            long("'"),
            with_hole(long("`"), "#{", b'}'),
        ],
        rules: &[
            Rule::RubyBegin,
            Rule::EndOfCode,
            Rule::Heredoc,
            Rule::PercentLiteral,
            Rule::Regex,
            Rule::QuestionChar,
        ],
        grammar: Some(|| tree_sitter_ruby::LANGUAGE.into()),
        mends: true,
        comments: COMMENT,
        symbols: &[
            ("class", "class"),
            ("module", "module"),
            ("method", "method"),
            ("singleton_method", "method"),
        ],
        ..HASH_LIKE
    },
    Language {
        name: "bash",
        extensions: &[
            "sh",
            "bash",
            "ksh",
            "mksh",
            "ebuild",
            "eclass",
            "bats",
            "command",
            "zsh",
            "zsh-theme",
        ],
        file_names: &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".envrc",
            "PKGBUILD",
            "APKBUILD",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".kshrc",
            "profile",
            "bashrc",
            "zshrc",
        ],
        shebangs: &[
            "sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "bats", "busybox",
        ],
        ids: &["shellscript", "sh", "bash", "shell", "zsh"],
        line: &[at("#", Place::WordStart)],
        strings: SHELL_STRINGS,
        rules: &[Rule::Heredoc, Rule::BackslashChar],
        grammar: Some(|| tree_sitter_bash::LANGUAGE.into()),
        mends: true,
        comments: COMMENT,
        symbols: &[("function_definition", "function")],
        ..HASH_LIKE
    },
    Language {
        name: "lua",
        extensions: &["lua", "rockspec", "wlua", "luau"],
        shebangs: &["lua", "luajit", "texlua"],
        ids: &["lua", "luau"],
        line: &[line("--")],
        block: &[block("--[[", "]]")],
        strings: C_STRINGS,
        rules: &[Rule::LuaLong],
        reply: to_line_end("--"),
        grammar: Some(|| tree_sitter_lua::LANGUAGE.into()),
        mends: true,
        comments: COMMENT,
        symbols: &[("function_declaration", "function")],
        ..BASE
    },
    Language {
        name: "html",
        extensions: &["html", "htm", "xhtml", "shtml"],
        ids: &["html", "xhtml"],
        block: XML_BLOCK,
        rules: &[Rule::Scripts, Rule::Tags],
        reply: between("<!--", "-->"),
        grammar: Some(|| tree_sitter_html::LANGUAGE.into()),
        mends: true,
        comments: COMMENT,
        ..BASE
    },
    Language {
        name: "css",
        extensions: &["css", "pcss"],
        ids: &["css", "postcss"],
        block: C_BLOCK,
        strings: C_STRINGS,
        reply: between("/*", "*/"),
        grammar: Some(|| tree_sitter_css::LANGUAGE.into()),
        mends: true,
        comments: COMMENT,
        ..BASE
    },
    Language {
        name: "yaml",
        extensions: &["yaml", "yml", "cff", "clangd"],
        file_names: &[
            ".clang-format",
            ".clang-tidy",
            ".clangd",
            ".gemrc",
            "CITATION.cff",
            "yarn.lock",
        ],
        ids: &[
            "yaml",
            "dockercompose",
            "github-actions-workflow",
            "home-assistant",
            "ansible",
        ],
        line: &[at("#", Place::AfterBlank)],
        strings: &[
            Quote {
                place: Place::ValueStart,
                ..long("\"")
            },
            Quote {
                place: Place::ValueStart,
                escape: Escape::Doubled,
                ..long("'")
            },
        ],
        rules: &[Rule::BlockScalar],
        grammar: Some(|| tree_sitter_yaml::LANGUAGE.into()),
        mends: true,
        comments: COMMENT,
        ..HASH_LIKE
    },
    Language {
        name: "toml",
        extensions: &["toml"],
        file_names: &[
            "Cargo.lock",
            "poetry.lock",
            "uv.lock",
            "Pipfile",
            "pdm.lock",
        ],
        ids: &["toml"],
        strings: &[
            long("\"\"\""),
            raw("'''", "'''"),
            short("\""),
            Quote {
                lines: false,
                ..raw("'", "'")
            },
        ],
        grammar: Some(|| tree_sitter_toml_ng::LANGUAGE.into()),
        mends: true,
        comments: COMMENT,
        symbols: &[("table", "table"), ("table_array_element", "table")],
        ..HASH_LIKE
    },
    Language {
        name: "markdown",
        extensions: &["md", "markdown", "mkd", "mdown", "rmd", "qmd"],
        ids: &["markdown", "rmd", "quarto"],
        block: XML_BLOCK,
        rules: &[Rule::FrontMatter("yaml"), Rule::Fences],
        reply: between("<!--", "-->"),
        grammar: Some(|| tree_sitter_md::LANGUAGE.into()),
        mends: true,
        symbols: &[("atx_heading", "heading"), ("setext_heading", "heading")],
        ..BASE
    },
    // The inside of a Markdown paragraph; no file is in it.
    Language {
        name: "markdown-inline",
        block: XML_BLOCK,
        rules: &[Rule::Fences],
        reply: between("<!--", "-->"),
        grammar: Some(|| tree_sitter_md::INLINE_LANGUAGE.into()),
        mends: true,
        comments: &["html_tag"],
        ..BASE
    },
];
