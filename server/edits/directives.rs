//! Lines that what reads a file would take for its own: magic comments, what linters and compilers are told, what
//! editors are. Which bytes are to be escaped so that they are none. A word counts where its program heeds it: anywhere
//! in a comment, or only where the comment begins, which the first line of a message, with its marker, never does.

use crate::threads::escape::is_escapable;

/// What the programs that read a language heed, in small letters. Behind a word that ends in `:` blanks may stand before
/// the colon; one that ends in a blank is followed by any.
struct Words {
    languages: &'static [&'static str],
    /// Leaders that it counts behind; none: any.
    leaders: &'static [&'static str],
    beginnings: &'static [&'static str],
    anywhere: &'static [&'static str],
}

const SCRIPTS: &[&str] = &[
    "javascript",
    "typescript",
    "jsx",
    "tsx",
    "vue",
    "svelte",
    "astro",
    "html",
    "php",
];

/// In block comments only, and only where the comment begins.
const OF_BLOCKS: Words = Words {
    languages: SCRIPTS,
    leaders: &["/*", "{/*"],
    beginnings: &[
        "eslint ",
        "global ",
        "globals ",
        "exported ",
        "jshint ",
        "jslint ",
    ],
    anywhere: &[],
};

const WORDS: &[Words] = &[
    Words {
        languages: SCRIPTS,
        leaders: &[],
        beginnings: &[
            "eslint-",
            "tslint:",
            "prettier-ignore",
            "biome-ignore",
            "deno-lint-ignore",
            "<reference",
            "<amd-",
        ],
        anywhere: &[
            "@jsx",
            "@flow",
            "@noflow",
            "@jest-",
            "@vitest-",
            "__pure__",
            "__no_side_effects__",
        ],
    },
    Words {
        languages: &["html", "markdown", "vue", "svelte", "astro", "php"],
        leaders: &["<!--"],
        beginnings: &["ko ", "/ko", "prettier-ignore", "markdownlint-", "eslint-"],
        anywhere: &[],
    },
    Words {
        languages: &[
            "css", "scss", "less", "sass", "yaml", "graphql", "json5", "jsonc",
        ],
        leaders: &[],
        beginnings: &[
            "prettier-ignore",
            "stylelint-",
            "yaml-language-server:",
            "yamllint ",
        ],
        anywhere: &[],
    },
    Words {
        languages: &["python", "starlark", "mojo"],
        leaders: &[],
        beginnings: &[
            "type:",
            "mypy:",
            "pyright:",
            "pytype:",
            "flake8:",
            "ruff:",
            "noqa",
            "nosec",
            "fmt:",
            "yapf:",
            "cython:",
            "distutils:",
            "pragma:",
        ],
        anywhere: &["pylint:", "isort:"],
    },
    Words {
        languages: &["ruby", "crystal", "erb"],
        leaders: &[],
        beginnings: &[
            "frozen_string_literal:",
            "shareable_constant_value:",
            "warn_indent:",
            "warn_past_scope:",
            "rubocop:",
            "typed:",
            "steep:",
        ],
        anywhere: &[],
    },
    Words {
        languages: &["perl"],
        leaders: &[],
        beginnings: &["no critic"],
        anywhere: &[],
    },
    Words {
        languages: &["go"],
        leaders: &[],
        beginnings: &["+build", "nolint"],
        anywhere: &[],
    },
    Words {
        languages: &["bash", "fish"],
        leaders: &[],
        beginnings: &["shellcheck "],
        anywhere: &[],
    },
    Words {
        languages: &["dockerfile"],
        leaders: &[],
        beginnings: &["hadolint ", "syntax=", "escape=", "check="],
        anywhere: &[],
    },
    Words {
        languages: &["sql", "mysql"],
        leaders: &[],
        beginnings: &[
            "migrate:",
            "+migrate",
            "+goose",
            "name:",
            "liquibase ",
            "changeset ",
        ],
        anywhere: &[],
    },
    Words {
        languages: &["lua"],
        leaders: &[],
        beginnings: &["@diagnostic", "luacheck:", "stylua:", "selene:"],
        anywhere: &[],
    },
    Words {
        languages: &["r"],
        leaders: &[],
        beginnings: &["nolint"],
        anywhere: &[],
    },
    Words {
        languages: &["swift"],
        leaders: &[],
        beginnings: &["swiftlint:", "swiftformat:"],
        anywhere: &[],
    },
    Words {
        languages: &["php"],
        leaders: &[],
        beginnings: &["phpcs:", "@phpstan-", "@psalm-"],
        anywhere: &[],
    },
    Words {
        languages: &["c", "cpp", "objective-c", "java", "csharp", "protobuf"],
        leaders: &[],
        beginnings: &["clang-format "],
        anywhere: &[],
    },
    // The compiler marks what is documented so.
    Words {
        languages: &["java"],
        leaders: &["/**", "///"],
        beginnings: &["@deprecated"],
        anywhere: &[],
    },
    // Examples in documentation are compiled and run.
    Words {
        languages: &["rust"],
        leaders: &["///", "//!", "/**", "/*!"],
        beginnings: &["```", "~~~"],
        anywhere: &[],
    },
    // The preprocessor's.
    Words {
        languages: &["gas"],
        leaders: &["#"],
        beginnings: &[
            "define", "undef", "include", "import", "if", "ifdef", "ifndef", "elif", "else",
            "endif", "line", "error", "warning", "pragma", "ident",
        ],
        anywhere: &[],
    },
];

/// The bytes of `line` to escape, in a comment that `open` begins; `begins`: nothing but blanks and leaders stands
/// before it in its line; `inside`: other lines stand before it in its comment.
pub(super) fn marks(
    language: &str,
    open: &str,
    line: &str,
    begins: bool,
    inside: bool,
) -> Vec<usize> {
    let lower = line.to_ascii_lowercase();
    let mut marks = of_editors(line, &lower);
    if matches!(
        language,
        "python" | "starlark" | "mojo" | "ruby" | "crystal" | "erb"
    ) {
        marks.extend(encodings(&lower));
    }
    let start = line.len() - line.trim_start_matches(['*', '#', '!', ' ', '\t']).len();
    let rest = lower.get(start..).unwrap_or_default();
    let of_blocks = (!inside).then_some(&OF_BLOCKS);
    let heeded = WORDS.iter().chain(of_blocks).filter(|words| {
        words.languages.contains(&language)
            && (words.leaders.is_empty() || words.leaders.iter().any(|l| open.starts_with(l)))
    });
    for words in heeded {
        for word in words.anywhere {
            let found = lower.match_indices(word);
            marks.extend(found.filter_map(|(at, _)| Some(at + word_at(&lower[at..], word)?)));
        }
        if begins {
            let mut found = words.beginnings.iter();
            marks.extend(found.find_map(|word| Some(start + word_at(rest, word)?)));
        }
    }
    if SCRIPTS.contains(&language) && open.starts_with("/**") {
        marks.extend(tags(&lower));
    }
    let of_shape = match language {
        _ if !begins => None,
        "restructuredtext" => explicit_markup(rest),
        "perl" => line_number(rest),
        _ if SCRIPTS.contains(&language) => of_typescript(&lower, inside),
        "gas" if open.starts_with('#') => rest
            .starts_with(|c: char| c.is_ascii_digit())
            .then(|| rest.find('"'))
            .flatten(),
        _ => None,
    };
    marks.extend(of_shape.map(|at| start + at));
    marks
}

/// The byte to escape of `word` at the start of `text`, which is in small letters: its last mark, or its first letter.
fn word_at(text: &str, word: &str) -> Option<usize> {
    if let Some(stem) = word.strip_suffix(':') {
        // Ruby takes `-` for `_` in the names of its magic comments.
        let here = text.get(..stem.len())?.replace('-', "_");
        let rest = text.get(stem.len()..)?.trim_start_matches([' ', '\t']);
        return (here == stem.replace('-', "_") && rest.starts_with(':'))
            .then(|| text.len() - rest.len());
    }
    if let Some(stem) = word.strip_suffix(' ') {
        let rest = text.strip_prefix(stem)?;
        return match rest.bytes().next() {
            Some(b' ') => Some(stem.len()),
            None | Some(b'\t') => Some(0),
            _ => None,
        };
    }
    let rest = text.strip_prefix(word)?;
    let mut marks = word
        .char_indices()
        .filter(|(_, c)| !c.is_ascii_alphanumeric());
    let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let at = match marks.next_back() {
        Some((at, _)) => Some(at),
        None => (!goes_on).then_some(0),
    };
    at.filter(|at| word[*at..].starts_with(is_escapable))
}

/// A directive, a target, a footnote or a substitution of reStructuredText.
fn explicit_markup(rest: &str) -> Option<usize> {
    if rest.starts_with(['_', '[', '|']) {
        return Some(0);
    }
    let (name, behind) = rest.split_once("::")?;
    let bare = name.strip_suffix(' ').unwrap_or(name);
    let ends = behind.is_empty() || behind.starts_with([' ', '\t']);
    (ends && !bare.is_empty() && !bare.contains([' ', '\t'])).then_some(name.len() + 1)
}

/// `@deprecated`, `@type`, `@internal`: TypeScript checks by such tags, in JavaScript, too; what reads PHP
/// (Doctrine, PHPUnit) runs by them.
fn tags(lower: &str) -> impl Iterator<Item = usize> {
    lower.match_indices('@').filter_map(|(at, _)| {
        let (before, rest) = lower.split_at_checked(at)?;
        let begins = before.is_empty() || before.ends_with([' ', '\t', '*']);
        let is_name = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '\\');
        (begins && rest[1..].starts_with(is_name)).then_some(at)
    })
}

/// `coding: utf-8`, `fileencoding=latin-1`: only where a name follows.
fn encodings(lower: &str) -> impl Iterator<Item = usize> {
    lower.match_indices("coding").filter_map(|(at, _)| {
        let rest = lower.get(at..)?;
        let mark = at + word_at(rest, "coding:").or_else(|| word_at(rest, "coding="))?;
        let name = lower.get(mark + 1..)?.trim_start_matches([' ', '\t']);
        name.starts_with(|c: char| c.is_ascii_alphanumeric() || "-_.".contains(c))
            .then_some(mark)
    })
}

/// `@ts-ignore` where a comment, or the last line of one, begins: before it slashes may stand, too.
fn of_typescript(lower: &str, inside: bool) -> Option<usize> {
    let mut rest = lower.trim_start();
    if inside {
        rest = rest.trim_start_matches(['/', '*']).trim_start();
    }
    let at = word_at(rest, "@ts-")?;
    Some(lower.len() - rest.len() + at)
}

/// `# line 42 "other.pl"`
fn line_number(rest: &str) -> Option<usize> {
    let number = rest.strip_prefix("line")?.trim_start_matches([' ', '\t']);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit());
    is_number.then(|| word_at(rest, "line ")).flatten()
}

/// The modelines of Vim and Kakoune, the file variables of Emacs: heeded in every language, near a file's ends.
fn of_editors(line: &str, lower: &str) -> Vec<usize> {
    let mut marks: Vec<usize> = line.match_indices("-*-").map(|(at, _)| at + 2).collect();
    let variables = "local variables:";
    let found = lower.match_indices(variables);
    marks.extend(found.map(|(at, _)| at + variables.len() - 1));
    for (at, _) in line.match_indices(':') {
        let before = line.get(..at).unwrap_or_default();
        // `vim>700:` is for some versions.
        let bare = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let bare = bare.trim_end_matches(['<', '>', '=']);
        let is_editor = |name: &str| {
            let before = if name.ends_with("im") { bare } else { before };
            let before = before.strip_suffix(name);
            before.is_some_and(|before| before.is_empty() || before.ends_with([' ', '\t']))
        };
        if ["vi", "vim", "Vim", "ex", "kak", "kakoune"]
            .into_iter()
            .any(is_editor)
        {
            marks.push(at);
        }
    }
    marks
}
