//! Which language a file is in.

use crate::{LANGUAGES, Language, templates};

/// How many of a file's first lines (and bytes of each) are looked at, comments and empty lines not counted: a thread
/// at the top changes nothing.
const LINES: usize = 5;
const WIDTH: usize = 512;

/// The row of that name.
pub fn by_name(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|l| l.name == name)
}

/// The row of a file: by the editor's language id where that is known, else by name, extension and
/// first lines (shebang, modeline). `None`: the caller falls back on `//`, `#`, `--` at a line's start.
pub fn detect(path: &str, language_id: Option<&str>, head: &str) -> Option<&'static Language> {
    language_id
        .and_then(by_id)
        .map(|named| exacter(named, path).unwrap_or(named))
        // An editor that names a dialect knows better.
        .map(|named| match language_id {
            Some("sql") => dialect(named, head),
            _ => named,
        })
        .or_else(|| by_path(path).map(|found| dialect(disputed(found, path, head), head)))
        .or_else(|| by_head(head))
}

/// The row of the SQL that the first lines show.
fn dialect(found: &'static Language, head: &str) -> &'static Language {
    let mysql = by_name("mysql").filter(|_| found.name == "sql" && shows_mysql(head));
    mysql.unwrap_or(found)
}

/// Programs that write it name themselves; others quote no names by `` ` ``.
fn shows_mysql(head: &str) -> bool {
    let programs = ["MySQL dump", "MariaDB dump", "phpMyAdmin SQL Dump"];
    let mut inside = false;
    first_lines(head).any(|(line, _)| {
        let comment = line.strip_prefix("--").unwrap_or("").trim_start();
        let of_program = !inside && programs.iter().any(|name| comment.starts_with(name));
        let code = sql_code(line, &mut inside);
        of_program
            || code.starts_with("/*!")
            || code.contains("ENGINE=")
            || code.find('`').is_some_and(|at| in_no_string(&code, at))
    })
}

/// What of a line is no comment. `inside`: whether the line begins in a block comment, and then whether it ends in one.
fn sql_code(line: &str, inside: &mut bool) -> String {
    let mut code = String::new();
    let mut rest = line;
    loop {
        if *inside {
            let Some((_, behind)) = rest.split_once("*/") else {
                return code;
            };
            rest = behind;
            *inside = false;
        }
        let before = rest.split_once("--").map_or(rest, |(before, _)| before);
        // What `/*!` begins is code to MySQL.
        let opens = |at: &usize| !rest[at + 2..].starts_with('!') && in_no_string(before, *at);
        let Some(at) = before.match_indices("/*").map(|(at, _)| at).find(opens) else {
            return code + before;
        };
        code += &before[..at];
        rest = &rest[at + 2..];
        *inside = true;
    }
}

fn in_no_string(code: &str, at: usize) -> bool {
    code[..at].matches('\'').count().is_multiple_of(2)
}

/// Rows that are more exact than what an editor says: an editor that knows no notebooks shows one as JSON, and
/// one that knows no templates shows them as what they make.
const EXACTER: &[(&str, &[&str])] = &[
    ("json", &["notebook", "jsonc"]),
    ("jsonc", &["notebook"]),
    ("html", &["ejs", "erb", "jsp", "razor"]),
    ("xml", &["jsp"]),
    ("ruby", &["erb"]),
    ("properties", &["conf", "git-config", "gitignore", "ini"]),
    ("bash", &["csh", "fish"]),
    ("fortran", &["fortran-fixed"]),
    ("lisp", &["elisp"]),
    ("assembler", &["gas"]),
];

fn exacter(named: &Language, path: &str) -> Option<&'static Language> {
    let (_, rows) = EXACTER.iter().find(|(name, _)| *name == named.name)?;
    by_path(path).filter(|found| rows.contains(&found.name))
}

fn by_id(id: &str) -> Option<&'static Language> {
    LANGUAGES
        .iter()
        .find(|l| l.name == id || l.ids.contains(&id))
        .or_else(|| {
            LANGUAGES
                .iter()
                .find(|l| l.name.eq_ignore_ascii_case(id) || contains(l.ids, id))
        })
}

fn by_path(path: &str) -> Option<&'static Language> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    if let Some(found) = by_file_name(name) {
        return Some(found);
    }
    // `config.yml.example` is read as `config.yml`.
    let mut name = name;
    for suffix in [
        ".in",
        ".example",
        ".sample",
        ".dist",
        ".tmpl",
        ".template",
        ".orig",
        ".bak",
    ] {
        if let Some(stem) = name.strip_suffix(suffix).filter(|stem| stem.contains('.')) {
            if by_extension(name).is_none() {
                name = stem;
            }
            break;
        }
    }
    by_extension(name)
        .map(|found| templates::of_host(found, name, by_name_alone).unwrap_or(found))
        .map(|found| with_comments(found, path, name).unwrap_or(found))
        .or_else(|| by_beginning(name))
}

/// Folders of programs that allow comments in their JSON.
const OF_EDITORS: &[&str] = &[".vscode", ".vscode-insiders", ".zed", ".devcontainer"];

/// JSON that may have comments by its folder or the beginning of its name: `.vscode/settings.json`,
/// `tsconfig.base.json`, `dark-color-theme.json`.
fn with_comments(found: &Language, path: &str, name: &str) -> Option<&'static Language> {
    if found.name != "json" {
        return None;
    }
    let mut folders = path.rsplit(['/', '\\']).skip(1);
    let of_editor = folders
        .next()
        .is_some_and(|folder| OF_EDITORS.contains(&folder));
    let of_theme = name.ends_with("color-theme.json") || name.ends_with("icon-theme.json");
    let by_name_of = by_beginning(name).filter(|found| found.name == "jsonc");
    by_name_of.or_else(|| (of_editor || of_theme).then(|| by_name("jsonc")).flatten())
}

/// By all of a name that is looked at, but for what a template's ending would make of it.
fn by_name_alone(name: &str) -> Option<&'static Language> {
    by_file_name(name)
        .or_else(|| by_extension(name))
        .or_else(|| by_beginning(name))
}

/// What lines of BitBake's recipes begin with.
const BITBAKE: &[&str] = &[
    "# ",
    "SUMMARY",
    "DESCRIPTION",
    "HOMEPAGE",
    "LICENSE",
    "SECTION",
    "SRC_URI",
    "DEPENDS",
    "PV ",
    "FILESEXTRAPATHS",
    "inherit ",
    "require ",
];

/// What lines of C begin with, and of C++.
const C: &[&str] = &[
    "//",
    "/*",
    "#include",
    "#if",
    "#define",
    "#undef",
    "#pragma",
    "static ",
    "extern ",
    "template",
    "namespace ",
];

/// What lines of NASM and MASM begin with, and none of C.
const ASSEMBLER: &[&str] = &[
    ";", "%include", "%define", "%macro", "%if", "section ", "global ", "bits ",
];

/// Endings that more than one language has: the row that claims one has the file, unless one of its first lines
/// begins with a sign of the other. Signs of its own go before those of the languages below them.
const DISPUTED: &[(&str, &str, &[&str])] = &[
    (
        "m",
        "objective-c",
        &[
            "#import",
            "#include",
            "@import",
            "@interface",
            "@class",
            "//",
            "/*",
        ],
    ),
    ("m", "mathematica", &["(*"]),
    // Behind `%` the name of a hash may stand.
    ("pl", "prolog", &[":- ", "% ", "%%", "%!", "%\t"]),
    ("v", "coq", &["(*", "Require ", "From "]),
    ("v", "v", &["module main", "import ", "fn "]),
    ("pp", "pascal", &["unit ", "program ", "{$"]),
    ("inc", "php", &["<?"]),
    ("inc", "pascal", &["unit ", "{$"]),
    // Both have `extern`.
    ("inc", "assembler", ASSEMBLER),
    ("inc", "cpp", C),
    ("inc", "bash", BITBAKE),
    ("bb", "bash", BITBAKE),
    (
        "ll",
        "llvm",
        &[
            ";",
            "source_filename",
            "target ",
            "define ",
            "declare ",
            "@",
            "attributes ",
            "%struct.",
            "%class.",
        ],
    ),
    ("def", "cpp", C),
    (
        "def",
        "module-definition",
        &[";", "LIBRARY", "NAME", "EXPORTS", "DESCRIPTION"],
    ),
    ("ts", "xml", &["<?xml", "<!DOCTYPE TS"]),
    ("fs", "forth", &["\\ ", ": "]),
    ("fs", "glsl", &["#version", "precision "]),
    ("f", "forth", &["\\ ", ": "]),
    ("l", "lisp", &["(", ";"]),
    ("cl", "c", &["__kernel", "//", "/*", "#"]),
    (
        "cls",
        "vb",
        &["VERSION 1.0 CLASS", "Attribute VB_", "Option ", "'"],
    ),
    (
        "cls",
        "apex",
        &[
            "//",
            "/*",
            "@",
            "public ",
            "global ",
            "private ",
            "virtual ",
            "abstract ",
        ],
    ),
    (
        "pro",
        "conf",
        &["QT ", "QT+", "TEMPLATE", "CONFIG", "TARGET", "#"],
    ),
];

/// The row of a file whose ending `found` claims, by its first lines.
fn disputed(found: &'static Language, path: &str, head: &str) -> &'static Language {
    let Some((_, ending)) = path.rsplit_once('.') else {
        return found;
    };
    let others = || DISPUTED.iter().filter(|(disputed, ..)| *disputed == ending);
    if others().next().is_none() || !found.extensions.contains(&ending) {
        return found;
    }
    // What runs it knows best; but `node` runs TypeScript too.
    let has = |name: &str| found.name == name || others().any(|(_, other, _)| *other == name);
    let program = first_lines(head).next();
    let named = program.and_then(|(line, _)| by_shebang(line));
    if let Some(named) = named.filter(|named| has(named.name)) {
        return named;
    }
    let begins = |signs: &[&str]| {
        first_lines(head)
            .filter(|(_, inside)| !inside)
            .any(|(line, _)| signs.iter().any(|sign| line.starts_with(sign)))
    };
    others()
        .find(|(.., signs)| begins(signs))
        .and_then(|(_, other, _)| by_name(other))
        .unwrap_or(found)
}

/// The first lines, without a byte-order mark, and whether each begins inside of a block comment. Comments and empty
/// lines stand among them, and are not counted.
fn first_lines(head: &str) -> impl Iterator<Item = (&str, bool)> {
    let head = head.strip_prefix('\u{feff}').unwrap_or(head);
    let (mut counted, mut close) = (0, None);
    head.split(['\n', '\r']).map_while(move |line| {
        let found = (counted < LINES).then_some((line, close.is_some()));
        counted += usize::from(!is_comment(line, &mut close));
        found
    })
}

/// Whether a line is empty or begins with a comment, of whatever language. `close`: what ends the block comment that
/// the line begins in, and then the one that it ends in.
fn is_comment(line: &str, close: &mut Option<&'static str>) -> bool {
    const BLOCKS: &[(&str, &str)] = &[("/*", "*/"), ("(*", "*)"), ("{", "}"), ("<!--", "-->")];
    const LEADERS: &[&str] = &["--", "//", "#", ";", "%", "*", "'", "\"", "!"];
    let line = line.trim_start();
    if let Some(end) = *close {
        *close = close.filter(|_| !line.contains(end));
        return true;
    }
    if let Some((open, end)) = BLOCKS.iter().find(|(open, _)| line.starts_with(open)) {
        *close = (!line[open.len()..].contains(end)).then_some(*end);
        return true;
    }
    line.is_empty() || LEADERS.iter().any(|leader| line.starts_with(leader))
}

/// A whole name, as written and then without case.
fn by_file_name(name: &str) -> Option<&'static Language> {
    let whole = |fits: fn(&str, &str) -> bool| {
        LANGUAGES
            .iter()
            .find(|l| l.file_names.iter().any(|pattern| fits(pattern, name)))
    };
    whole(|pattern, name| pattern == name).or_else(|| whole(str::eq_ignore_ascii_case))
}

/// The beginning of a name, up to its end or a mark: `Dockerfile.dev`, `.env.local`.
fn by_beginning(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|l| {
        l.file_names.iter().any(|pattern| {
            pattern.strip_suffix('*').is_some_and(|stem| {
                let head = name.get(..stem.len()).unwrap_or("");
                let next = name.as_bytes().get(stem.len());
                head.eq_ignore_ascii_case(stem) && !next.is_some_and(u8::is_ascii_alphanumeric)
            })
        })
    })
}

fn by_extension(name: &str) -> Option<&'static Language> {
    // The longest ending first: `.blade.php` before `.php`.
    let mut dots = name.match_indices('.').map(|(at, _)| &name[at + 1..]);
    dots.find_map(|ending| {
        if ending.is_empty() {
            return None;
        }
        LANGUAGES
            .iter()
            .find(|l| l.extensions.contains(&ending))
            .or_else(|| LANGUAGES.iter().find(|l| contains(l.extensions, ending)))
    })
}

fn by_head(head: &str) -> Option<&'static Language> {
    let head = head.strip_prefix('\u{feff}').unwrap_or(head);
    let lines = || {
        first_lines(head)
            .map(|(line, _)| line)
            .filter(|line| line.len() <= WIDTH)
    };
    if let Some(found) = lines().next().and_then(by_shebang) {
        return Some(found);
    }
    if let Some(found) = lines().find_map(by_modeline) {
        return Some(found);
    }
    let first = head.trim_start();
    for (sign, name) in [
        ("#compdef", "bash"),
        ("#autoload", "bash"),
        ("<?php", "php"),
        ("<?xml", "xml"),
        ("<!DOCTYPE html", "html"),
        ("<!doctype html", "html"),
        ("%YAML ", "yaml"),
    ] {
        if first.starts_with(sign) {
            return by_name(name);
        }
    }
    None
}

fn by_shebang(line: &str) -> Option<&'static Language> {
    let mut words = line.strip_prefix("#!")?.split_ascii_whitespace();
    let base = |word: &str| word.rsplit('/').next().unwrap_or("").to_owned();
    let mut program = base(words.next()?);
    if program == "env" {
        // Options (`-S`) and assignments stand before the program.
        program = base(words.find(|w| !w.starts_with('-') && !w.contains('='))?);
    }
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    LANGUAGES
        .iter()
        .find(|l| l.shebangs.contains(&program.as_str()))
        .or_else(|| {
            LANGUAGES
                .iter()
                .find(|l| !bare.is_empty() && l.shebangs.contains(&bare))
        })
}

/// `vim: set ft=python:`, `-*- mode: ruby -*-`, `-*- Perl -*-`.
fn by_modeline(line: &str) -> Option<&'static Language> {
    if let Some(at) = line.find("-*-") {
        let inner = &line[at + 3..];
        let inner = inner.find("-*-").map_or("", |end| &inner[..end]);
        let mode = inner
            .split(';')
            .find_map(|part| {
                let (key, value) = part.split_once(':')?;
                key.trim()
                    .eq_ignore_ascii_case("mode")
                    .then(|| value.trim())
            })
            .or_else(|| (!inner.contains(':')).then(|| inner.trim()));
        if let Some(found) = mode.filter(|m| !m.is_empty()).and_then(by_mode) {
            return Some(found);
        }
    }
    let at = ["vim:", "vi:", "ex:"]
        .iter()
        .filter_map(|sign| line.find(sign))
        .min()?;
    line[at..].split([' ', ':', '\t']).find_map(|part| {
        let (key, value) = part.split_once('=')?;
        matches!(key, "ft" | "filetype" | "syntax")
            .then(|| by_mode(value))
            .flatten()
    })
}

fn by_mode(mode: &str) -> Option<&'static Language> {
    let mode = mode
        .strip_suffix("-mode")
        .or_else(|| mode.strip_suffix("-ts"))
        .unwrap_or(mode);
    by_id(mode).or_else(|| {
        let lower = mode.to_ascii_lowercase();
        match lower.as_str() {
            "c++" => by_name("cpp"),
            "c#" => by_name("csharp"),
            "emacs-lisp" => by_name("elisp"),
            "shell-script" => by_name("bash"),
            "cperl" => by_name("perl"),
            "js" | "js2" => by_name("javascript"),
            _ => None,
        }
    })
}

fn contains(list: &[&str], word: &str) -> bool {
    list.iter().any(|item| item.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests;
