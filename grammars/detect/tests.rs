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
        ("# AUTHOR: a\n#\n# b\n# c\n# d\na\n# vim: ft=ruby\n", "ruby"),
        ("\r\n\r\n\r\n# vim: ft=ruby\r\n", "ruby"),
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
        ("a.inc", "; a\nextern printf\nmain:\n", "assembler"),
        ("a.inc", "%define A 1\nextern printf\n", "assembler"),
        ("a.inc", "extern int a;\n", "cpp"),
        ("a.inc", "<?php\n; $a = 1;\n", "php"),
        ("a.ts", "#!/usr/bin/env node\nlet a = 1;\n", "typescript"),
        ("a.ts", "#!/usr/bin/env deno\nlet a = 1;\n", "typescript"),
        ("a.pl", "#!/usr/bin/env swipl\na(b).\n", "prolog"),
        ("a.pl", "#!/bin/sh\nuse strict;\n", "perl"),
        ("a.bb", "#!/bin/sh\n", "bash"),
        ("a.v", "/* a\nFrom b\n*/\nmodule a;\n", "verilog"),
        ("a.sql", "-- MySQL dump 10.13\n", "mysql"),
        ("a.sql", "INSERT INTO `a` VALUES (1);\n", "mysql"),
        ("a.sql", "CREATE TABLE a (b int) ENGINE=InnoDB;\n", "mysql"),
        ("a.sql", "SELECT 1; -- `a`\n", "sql"),
        ("a.sql", "SELECT 'use `a`';\n", "sql"),
        ("a.sql", "/* Adds `a`. */\nSELECT b #>> '{c}';\n", "sql"),
        ("a.sql", "/* Adds -- it is\n `a`. */ SELECT 1;\n", "sql"),
        ("a.sql", "SELECT 1 /* `a` */, '/*', `b`;\n", "mysql"),
        ("a.sql", "/* a */ SELECT `b`;\n", "mysql"),
        ("a.sql", "/*!40101 SET NAMES utf8 */;\n", "mysql"),
    ] {
        assert_eq!(name(path, None, head), language, "{path} {head:?}");
    }
    for (at, (ending, other, _)) in DISPUTED.iter().enumerate() {
        let owner = by_extension(&format!("a.{ending}"));
        let goes_before = DISPUTED[at + 1..].iter().any(|(below, ..)| below == ending);
        let is_other = owner.is_some_and(|row| row.name != *other || goes_before);
        assert!(is_other, "{ending}");
        assert!(by_name(other).is_some(), "{other}");
    }
}

#[test]
fn a_thread_above_them_changes_nothing() {
    for (path, head, language) in [
        (
            "a.sql",
            "CREATE TABLE a (\n b int\n) ENGINE=InnoDB;\n",
            "mysql",
        ),
        ("a.pp", "unit A;\n", "pascal"),
        ("a.m", "\n\n#import <a.h>\n", "objective-c"),
        ("a.ts", "<?xml version=\"1.0\"?>\n", "xml"),
        ("a", "a\n# vim: ft=ruby\n", "ruby"),
    ] {
        for (first, next, last) in [
            ("-- ", "-- ", ""),
            ("// ", "// ", ""),
            ("# ", "# ", ""),
            ("(* ", "   ", " *)"),
            ("{ ", "  ", " }"),
            ("/* ", " * ", "\n */"),
            ("<!-- ", "     ", " -->"),
        ] {
            let thread = format!(
                "{first}AUTHOR: why?\n{next}AGENT: So.\n\n{}{last}\n",
                format!("{next}And so.\n").repeat(9).trim_end_matches('\n')
            );
            let text = format!("{thread}{head}");
            assert_eq!(name(path, None, &text), language, "{text}");
        }
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
