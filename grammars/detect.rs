//! Which language a file is in.

use crate::{LANGUAGES, Language, templates};

/// How many of a file's first lines (and bytes of each) are looked at.
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
    let is_mysql = found.name == "sql" && first_lines(head).any(shows_mysql);
    let mysql = by_name("mysql").filter(|_| is_mysql);
    mysql.unwrap_or(found)
}

/// Programs that write it name themselves; others quote no names by `` ` ``.
fn shows_mysql(line: &str) -> bool {
    let (code, comment) = line.split_once("--").unwrap_or((line, ""));
    let comment = comment.trim_start();
    let programs = ["MySQL dump", "MariaDB dump", "phpMyAdmin SQL Dump"];
    let is_code = |at: usize| code[..at].matches('\'').count().is_multiple_of(2);
    (code.is_empty() && programs.iter().any(|name| comment.starts_with(name)))
        || code.starts_with("/*!")
        || code.contains("ENGINE=")
        || code.find('`').is_some_and(is_code)
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

/// Endings that more than one language has: the row that claims one has the file, unless one of its first lines
/// begins with a sign of the other.
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
    let mut others = DISPUTED
        .iter()
        .filter(|(disputed, ..)| *disputed == ending)
        .peekable();
    if others.peek().is_none() || !found.extensions.contains(&ending) {
        return found;
    }
    // What runs it knows best.
    if let Some(named) = first_lines(head).next().and_then(by_shebang) {
        return named;
    }
    let begins = |signs: &[&str]| {
        first_lines(head).any(|line| signs.iter().any(|sign| line.starts_with(sign)))
    };
    others
        .find(|(.., signs)| begins(signs))
        .and_then(|(_, other, _)| by_name(other))
        .unwrap_or(found)
}

/// The first lines, without a byte-order mark.
fn first_lines(head: &str) -> impl Iterator<Item = &str> {
    let head = head.strip_prefix('\u{feff}').unwrap_or(head);
    head.split(['\n', '\r']).take(LINES)
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
    let lines = || first_lines(head).filter(|line| line.len() <= WIDTH);
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
mod tests {
    use super::*;

    fn name(path: &str, id: Option<&str>, head: &str) -> &'static str {
        detect(path, id, head).map_or("", |language| language.name)
    }

    #[test]
    fn a_known_language_id_goes_first() {
        assert_eq!(name("a.txt", Some("rust"), ""), "rust");
        assert_eq!(name("a.js", Some("typescriptreact"), ""), "tsx");
        assert_eq!(name("a.py", Some("plaintext"), ""), "python");
        assert_eq!(name("a.C", Some("c"), ""), "c");
        assert_eq!(name("a.ipynb", Some("json"), ""), "notebook");
        assert_eq!(name("package.json", Some("jsonc"), ""), "jsonc");
        assert_eq!(name("package.json", Some("json"), ""), "json");
        assert_eq!(name(".vscode/a.json", Some("json"), ""), "jsonc");
        assert_eq!(name("a.ipynb", Some("python"), ""), "python");
        assert_eq!(name("a.s", Some("asm"), ""), "gas");
        assert_eq!(name("a.asm", Some("asm"), ""), "assembler");
        assert_eq!(name("a.sql", Some("sql"), "-- MySQL dump\n"), "mysql");
        assert_eq!(name("a.sql", Some("pgsql"), "-- MySQL dump\n"), "sql");
        assert_eq!(name("go.mod", Some("go.mod"), ""), "gomod");
    }

    #[test]
    fn then_the_name_and_the_extension() {
        for (path, language) in [
            ("src/main.rs", "rust"),
            ("C:\\src\\main.rs", "rust"),
            ("Makefile", "makefile"),
            ("makefile.am", "makefile"),
            ("Dockerfile.dev", "dockerfile"),
            ("requirements.py", "python"),
            ("MakefileParser", ""),
            ("CMakeLists.txt", "cmake"),
            ("a.C", "cpp"),
            ("a.c", "c"),
            ("a.R", "r"),
            ("A.PY", "python"),
            ("a.blade.php", "blade"),
            ("a.d.ts", "typescript"),
            ("config.yml.example", "yaml"),
            ("Cargo.lock", "toml"),
            (".env.local", "dotenv"),
            (".bashrc", "bash"),
            ("a.tsx", "tsx"),
            ("a.ipynb", "notebook"),
            ("a.yml.j2", "yaml"),
            ("Dockerfile.j2", "dockerfile"),
            ("a.js.erb", "javascript"),
            ("a.html.erb", "erb"),
            ("a.md.tmpl", "go-template"),
            ("a.txt.tmpl", "go-template"),
            ("a.j2", "jinja"),
            ("package.json", "json"),
            ("tsconfig.json", "jsonc"),
            ("tsconfig.base.json", "jsonc"),
            ("tsconfig-base.json", "jsonc"),
            ("a/.vscode/settings.json", "jsonc"),
            ("a/settings.json", "json"),
            ("dark-color-theme.json", "jsonc"),
            (".eslintrc.json", "jsonc"),
            ("a.jsonl", "json"),
            ("a.tsv", "csv"),
            ("requirements.txt", "conf"),
            ("a/go.mod", "gomod"),
            ("go.work", "gomod"),
            ("a.mod", "modula"),
            ("a.S", "gas"),
            ("a.asm", "assembler"),
            ("BUILD.gn", "gn"),
            ("a.lds", "linker-script"),
            ("a.m4", "m4"),
            ("a.raml", "yaml"),
            ("dune-project", "dune"),
            ("notes.txt", ""),
            ("no_extension", ""),
            ("", ""),
            ("a.", ""),
        ] {
            assert_eq!(name(path, None, ""), language, "{path}");
        }
    }

    #[test]
    fn then_the_first_lines() {
        for (head, language) in [
            ("#!/bin/sh\n", "bash"),
            ("#!/usr/bin/env python3.12\n", "python"),
            ("#!/usr/bin/env -S FOO=1 deno run\n", "typescript"),
            ("\u{feff}#!/usr/bin/perl -w\r\n", "perl"),
            ("# vim: set ft=ruby ts=2:\n", "ruby"),
            ("/* vi:syntax=cpp */", "cpp"),
            ("\n\n// -*- mode: c++; tab-width: 4 -*-\n", "cpp"),
            (";; -*- Emacs-Lisp -*-\n", "elisp"),
            ("#compdef foo\n", "bash"),
            ("<?php\n", "php"),
            ("<?xml version=\"1.0\"?>", "xml"),
            ("a\nb\nc\nd\ne\n# vim: ft=ruby\n", ""),
            ("#!", ""),
            ("-*-", ""),
            ("vim:", ""),
        ] {
            assert_eq!(name("x", None, head), language, "{head:?}");
        }
    }

    #[test]
    fn first_lines_decide_where_two_languages_have_an_ending() {
        for (path, head, language) in [
            ("a.m", "#import <Foundation/Foundation.h>\n", "objective-c"),
            ("a.m", "// AUTHOR: why?\n", "objective-c"),
            ("a.m", "% AUTHOR: why?\nfunction a\n", "matlab"),
            ("a.m", "(* AUTHOR: why? *)\n", "mathematica"),
            ("a.pl", ":- module(a, []).\n", "prolog"),
            ("a.pl", "use strict;\n", "perl"),
            ("a.v", "Require Import List.\n", "coq"),
            ("a.v", "module a;\n", "verilog"),
            ("a.ts", "<?xml version=\"1.0\"?>\n", "xml"),
            ("a.ts", "import a from 'a';\n", "typescript"),
            ("a.pp", "unit A;\n", "pascal"),
            ("a.pp", "class a {\n", "puppet"),
            ("a.fs", "module A\n", "fsharp"),
            ("a.fs", "#version 330\n", "glsl"),
            ("a.cl", "(defun a ())\n", "lisp"),
            ("a.cl", "__kernel void a() {}\n", "c"),
            ("a.pl", "#!/usr/bin/perl\n% AUTHOR: why?\n", "perl"),
            ("a.pl", "use strict;\n%h = (a => 1);\n", "perl"),
            ("a.pl", "% AUTHOR: why?\na(b).\n", "prolog"),
            ("a.ll", "; ModuleID = 'a'\n", "llvm"),
            ("a.ll", "%{\n#include <a>\n", "yacc"),
            ("a.bb", "SUMMARY = \"a\"\n", "bash"),
            ("a.bb", "#!/usr/bin/env bb\n# a\n", "clojure"),
            ("a.bb", "(ns a)\n", "clojure"),
            ("a.def", "// AUTHOR: why?\nX(a)\n", "cpp"),
            ("a.def", "LIBRARY a\n", "module-definition"),
            ("a.def", "DEFINITION MODULE a;\n", "modula"),
            ("a.cls", "public class A {\n", "apex"),
            ("a.cls", "' AUTHOR: why?\n", "vb"),
            ("a.cls", "\\NeedsTeXFormat{LaTeX2e}\n", "latex"),
            ("a.inc", "#ifndef A\n", "cpp"),
            ("a.inc", "require b.inc\n", "bash"),
            ("a.inc", "; a\n", "assembler"),
            ("a.sql", "-- MySQL dump 10.13\n", "mysql"),
            ("a.sql", "INSERT INTO `a` VALUES (1);\n", "mysql"),
            ("a.sql", "CREATE TABLE a (b int) ENGINE=InnoDB;\n", "mysql"),
            ("a.sql", "SELECT 1; -- `a`\n", "sql"),
            ("a.sql", "SELECT 'use `a`';\n", "sql"),
        ] {
            assert_eq!(name(path, None, head), language, "{path} {head:?}");
        }
        for (ending, other, _) in DISPUTED {
            let owner = by_extension(&format!("a.{ending}"));
            assert!(owner.is_some_and(|row| row.name != *other), "{ending}");
            assert!(by_name(other).is_some(), "{other}");
        }
    }

    /// What two rows claim, the first would have without a word: [`DISPUTED`] is the place for it.
    #[test]
    fn no_two_rows_claim_the_same() {
        let lists: [fn(&Language) -> &'static [&'static str]; 4] = [
            |l| l.extensions,
            |l| l.file_names,
            |l| l.shebangs,
            |l| l.ids,
        ];
        for list in lists {
            let mut claimed = std::collections::BTreeMap::new();
            for language in LANGUAGES {
                for word in list(language) {
                    if let Some(other) = claimed.insert(*word, language.name) {
                        panic!("{other} and {} claim {word}", language.name);
                    }
                }
            }
        }
    }

    #[test]
    fn rows_are_well_formed() {
        for (at, language) in LANGUAGES.iter().enumerate() {
            assert!(
                LANGUAGES[..at]
                    .iter()
                    .all(|other| other.name != language.name),
                "{} twice",
                language.name
            );
            assert!(!language.reply.open.is_empty(), "{}", language.name);
            assert!(
                language.comments.is_empty() || language.grammar.is_some(),
                "{}",
                language.name
            );
            for leaders in language.line.windows(2) {
                let (first, second) = (leaders[0].open, leaders[1].open);
                assert!(
                    first == second || !second.starts_with(first),
                    "{}: {first} hides {second}",
                    language.name
                );
            }
            for blocks in language.block.windows(2) {
                assert!(
                    !blocks[1].open.starts_with(blocks[0].open),
                    "{}: {}",
                    language.name,
                    blocks[1].open
                );
            }
        }
    }
}
