//! An answer whose lines would be directives of what reads the file: they are written so that they are none, and read back.

use super::*;

/// What the last line of an answer is written as; it reads back as `line`.
fn written(path: &str, asked: &str, line: &str) -> String {
    let said = format!("So.\n{line}");
    let text = answered(path, asked, &said);
    let thread = &threads(path, &text)[0];
    assert_eq!(thread.messages[1].text, said, "{path}: {text}");
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.contains("AGENT: So."));
    let last = lines[first.unwrap() + 1].trim();
    last.strip_prefix(['#', '/', '-', '%', '.', '<', '!', '*', ';'])
        .unwrap_or(last)
        .trim_start_matches(';')
        .trim_matches(['#', '/', '-', '!', ' ', '.', '*', '>'])
        .to_owned()
}

#[test]
fn a_line_of_an_answer_is_no_directive() {
    for (path, asked, line, expected) in [
        (
            "a.rst",
            ".. AUTHOR: why?\n",
            "include:: s.txt",
            "include:&#058; s.txt",
        ),
        (
            "a.rst",
            ".. AUTHOR: why?\n",
            "raw :: html",
            "raw :&#058; html",
        ),
        (
            "a.rst",
            ".. AUTHOR: why?\n",
            "_home: https://x",
            "&#095;home: https://x",
        ),
        ("a.rst", ".. AUTHOR: why?\n", "[1] note", "&#091;1] note"),
        (
            "a.rst",
            ".. AUTHOR: why?\n",
            "|x| image:: a",
            "&#0124;x| image:: a",
        ),
        (
            "a.rb",
            "# AUTHOR: why?\n",
            "frozen_string_literal: true",
            "frozen_string_literal&#058; true",
        ),
        (
            "a.rb",
            "# AUTHOR: why?\n",
            "Warn-Indent: true",
            "Warn-Indent&#058; true",
        ),
        (
            "a.rb",
            "# AUTHOR: why?\n",
            "shareable_constant_value : literal",
            "shareable_constant_value &#058; literal",
        ),
        (
            "a.ts",
            "// AUTHOR: why?\n",
            "@ts-nocheck",
            "@ts&#045;nocheck",
        ),
        (
            "a.ts",
            "/* AUTHOR: why?\n */\n",
            "// @ts-ignore",
            "@ts&#045;ignore",
        ),
        (
            "a.ts",
            "/* AUTHOR: why?\n */\n",
            "@ts-ignore",
            "@ts&#045;ignore",
        ),
        (
            "a.ts",
            "/// AUTHOR: why?\n",
            "<reference path=\"b.d.ts\" />",
            "&#060;reference path=\"b.d.ts\"",
        ),
        (
            "a.js",
            "// AUTHOR: why?\n",
            "eslint-disable no-eval",
            "eslint&#045;disable no-eval",
        ),
        (
            "a.js",
            "/* AUTHOR: why? */\n",
            "eslint no-eval: 0",
            "eslint&#032;no-eval: 0",
        ),
        (
            "a.jsx",
            "/* AUTHOR: why?\n */\n",
            "say @jsx h",
            "say &#064;jsx h",
        ),
        (
            "a.css",
            "/* AUTHOR: why? */\n",
            "prettier-ignore",
            "prettier&#045;ignore",
        ),
        (
            "a.py",
            "# AUTHOR: why?\n",
            "type: ignore",
            "type&#058; ignore",
        ),
        (
            "a.py",
            "# AUTHOR: why?\n",
            "so pylint: disable=all",
            "so pylint&#058; disable=all",
        ),
        (
            "a.py",
            "# AUTHOR: why?\n",
            "so fileencoding= Latin-1",
            "so fileencoding&#061; Latin-1",
        ),
        (
            "a.rb",
            "# AUTHOR: why?\n",
            "-*- coding: utf-8",
            "&#045; coding&#058; utf-8",
        ),
        (
            "a.rs",
            "/** AUTHOR: why?\n */\nfn a() {}\n",
            "```",
            "``&#096;",
        ),
        (
            "a.py",
            "# AUTHOR: why?\n",
            "flake8: noqa",
            "flake8&#058; noqa",
        ),
        ("a.py", "# AUTHOR: why?\n", "noqa", "&#0110;oqa"),
        (
            "a.pl",
            "# AUTHOR: why?\n",
            "line 42 \"other.pl\"",
            "line&#032;42 \"other.pl\"",
        ),
        (
            "a.go",
            "// AUTHOR: why?\n",
            "+build ignore",
            "&#043;build ignore",
        ),
        (
            "a.sh",
            "# AUTHOR: why?\n",
            "shellcheck disable=all",
            "shellcheck&#032;disable=all",
        ),
        (
            "a.sql",
            "-- AUTHOR: why?\n",
            "migrate:down",
            "migrate&#058;down",
        ),
        (
            "a.rs",
            "// AUTHOR: why?\n",
            "vim: set ft=sh:",
            "vim&#058; set ft=sh:",
        ),
        (
            "a.tex",
            "% AUTHOR: why?\n",
            "so ex: set x:",
            "so ex&#058; set x:",
        ),
        (
            "a.el",
            ";; AUTHOR: why?\n",
            "-*- mode: sh -*- so",
            "&#045; mode: sh -*&#045; so",
        ),
        (
            "a.c",
            "// AUTHOR: why?\n",
            "Local Variables:",
            "Local Variables&#058;",
        ),
        ("a.c", "// AUTHOR: why?\n", "End:", "End:"),
        ("a.rs", "/// AUTHOR: why?\nfn a() {}\n", "```", "``&#096;"),
        ("a.rs", "// AUTHOR: why?\n", "```", "```"),
        (
            "a.s",
            "# AUTHOR: why?\n",
            "define mov nop",
            "&#0100;efine mov nop",
        ),
        (
            "a.tcl",
            "proc a {} {\n# AUTHOR: why?\n}\n",
            "no } ends {it}",
            "no &#0125; ends &#0123;it&#0125;",
        ),
        (
            "a.tcl",
            "proc a {} {\n# AUTHOR: why?\n}\n",
            "say {it}",
            "say {it}",
        ),
        (
            "a.tcl",
            "proc a {} {\n# AUTHOR: why?\n}\n",
            "say \\{it}",
            "say \\&#0123;it&#0125;",
        ),
    ] {
        assert_eq!(written(path, asked, line), expected, "{path}: {line}");
    }
}

/// What only looks like one, or stands where it is none.
#[test]
fn words_that_are_no_directive_stay() {
    for (path, asked, line) in [
        ("a.rst", ".. AUTHOR: why?\n", "std::vector and a:: b"),
        ("a.py", "# AUTHOR: why?\n", "the type: ignore it"),
        ("a.py", "# AUTHOR: why?\n", "types: none"),
        ("a.ts", "// AUTHOR: why?\n", "the eslint-plugin says so"),
        ("a.ts", "// AUTHOR: why?\n", "global state"),
        ("a.ts", "/* AUTHOR: why?\n */\n", "Global state is shared"),
        ("a.ts", "// AUTHOR: why?\n", "The `@ts-ignore` hides it"),
        ("a.py", "# AUTHOR: why?\n", "Pass encoding=\"utf-8\" here"),
        (
            "a.rb",
            "# AUTHOR: why?\n",
            "Ask for the encoding: \"utf-8\"",
        ),
        ("a.pl", "# AUTHOR: why?\n", "Pass encoding=utf-8 here"),
        ("a.rs", "// AUTHOR: why?\n", "regex: a neovim: b"),
        ("a.pl", "# AUTHOR: why?\n", "line by line"),
        ("a.rb", "# AUTHOR: why?\n", "see frozen_string_literal"),
        ("a.m", "% AUTHOR: why?\n", "} here { there"),
    ] {
        assert_eq!(written(path, asked, line), line, "{path}");
    }
    let shown = written("a.ts", "// AUTHOR: why?\n", "// @ts-ignore");
    assert_eq!(shown, "@ts-ignore");
}

/// The first line of a message has its marker before it: only what counts anywhere in a line is heeded.
#[test]
fn a_first_line_is_a_directive_only_where_one_counts_anywhere() {
    let first = |path: &str, asked: &str, said: &str| {
        let text = answered(path, asked, said);
        assert_eq!(threads(path, &text)[0].messages[1].text, said);
        text.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(
        first("a.py", "# AUTHOR: why?\n", "type: ignore"),
        "# AGENT: type: ignore"
    );
    assert_eq!(
        first("a.py", "# AUTHOR: why?\n", "vim: set ft=sh:"),
        "# AGENT: vim&#058; set ft=sh:"
    );
}
