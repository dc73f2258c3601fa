//! Where a comment may come: in no tag, above nothing that has to be a file's first, in the code of a page and not out of it.

use super::*;

fn begun(path: &str, text: &str, line: usize) -> String {
    let written = write(path, text, |source| {
        new_thread(source, line, "why?", Style::default())
    });
    apply_edits(text, &written.unwrap().0.edits)
}

fn dismissed(path: &str, text: &str) -> String {
    let id = threads(path, text)[0].id.clone();
    let written = write(path, text, |source| dismiss(source, &id)).unwrap();
    apply_edits(text, &written.edits)
}

/// What the answer leaves, and that without the thread all is as it was.
fn told(path: &str, text: &str, expected: &str) {
    let after = answered(path, text, "Yes.");
    assert_eq!(after, expected, "{path}");
    assert_eq!(dismissed(path, &after), dismissed(path, text), "{path}");
}

#[test]
fn an_answer_cuts_no_tag() {
    for path in [
        "a.xml", "a.xaml", "a.vue", "a.svelte", "a.astro", "a.jsp", "a.php", "a.hbs", "a.html",
        "a.twig", "a.md",
    ] {
        told(
            path,
            "<div>\n<button\n  id=\"a > b\"\n  text='Go' /> <!-- AUTHOR: why Go? -->\n</div>\n",
            "<div>\n<!-- AUTHOR: why Go? -->\n<!-- AGENT: Yes. -->\n<!-- AUTHOR: -->\n<button\n  id=\"a > b\"\n  text='Go' />\n</div>\n",
        );
    }
    told(
        "a.svelte",
        "<Button\n  on:click={() => a > b}\n  text=\"Go\" /> <!-- AUTHOR: why Go? -->\n",
        "<!-- AUTHOR: why Go? -->\n<!-- AGENT: Yes. -->\n<!-- AUTHOR: -->\n<Button\n  on:click={() => a > b}\n  text=\"Go\" />\n",
    );
    told(
        "a.hbs",
        "<Button\n  {{on \"click\" (fn a b)}}\n  @text=\"Go\" /> {{!-- AUTHOR: why Go? --}}\n",
        "{{!-- AUTHOR: why Go? --}}\n{{!-- AGENT: Yes. --}}\n{{!-- AUTHOR: --}}\n<Button\n  {{on \"click\" (fn a b)}}\n  @text=\"Go\" />\n",
    );
}

#[test]
fn a_new_thread_cuts_no_tag_that_no_tree_shows() {
    let pom = "<?xml version=\"1.0\"?>\n<project xmlns=\"http://a\"\n  xmlns:xsi=\"http://b\"\n  c=\"d\">\n</project>\n";
    for line in [1, 2, 3] {
        assert_eq!(
            begun("pom.xml", pom, line),
            pom.replace("<project", "<!-- AUTHOR: why? -->\n<project"),
            "{line}"
        );
    }
    // Text that is no markup is none.
    let text = "<a>\n<![CDATA[\n  x\n]]>\n<b/>\n</a>\n";
    assert_eq!(
        begun("a.xml", text, 4),
        text.replace("<b/>", "<!-- AUTHOR: why? -->\n<b/>")
    );
}

/// Above it would go to whoever reads the page, or stand before what has to be the first statement.
#[test]
fn an_answer_stays_in_the_code_of_a_page() {
    told(
        "a.php",
        "<?php // AUTHOR: why?\nnamespace A;\n",
        "<?php // AUTHOR: why?\n// AGENT: Yes.\n// AUTHOR:\nnamespace A;\n",
    );
    told(
        "a.php",
        "<?php declare(strict_types=1); /* AUTHOR: why? */\nnamespace A;\n",
        "<?php declare(strict_types=1); /* AUTHOR: why? */\n/* AGENT: Yes. */\n/* AUTHOR: */\nnamespace A;\n",
    );
    told(
        "a.php",
        "<ul>\n<?php foreach ($a as $b): /* AUTHOR: is $b escaped? */ ?>\n<li>\n",
        "<ul>\n<?php foreach ($a as $b): /* AUTHOR: is $b escaped? */\n/* AGENT: Yes. */\n/* AUTHOR: */\n ?>\n<li>\n",
    );
    told(
        "a.php",
        "<ul>\n<p><?php echo f(/* AUTHOR: why? */ 1); ?></p>\n",
        "<ul>\n<p><?php echo f(/* AUTHOR: why? */\n/* AGENT: Yes. */\n/* AUTHOR: */\n 1); ?></p>\n",
    );
    told(
        "a.phtml",
        "<ul>\n<?php endif; // AUTHOR: why? ?>\n</ul>\n",
        "<ul>\n<?php endif; // AUTHOR: why?\n// AGENT: Yes.\n// AUTHOR:\n ?>\n</ul>\n",
    );
    // What stands on a line of its own inside goes above its statement as ever.
    told(
        "a.php",
        "<?php\nfoo(1,\n  2); // AUTHOR: why?\n?>\n",
        "<?php\nfoo(1,\n// AUTHOR: why?\n// AGENT: Yes.\n// AUTHOR:\n  2);\n?>\n",
    );
    // Of an end of the code that the author put on a line of its own nothing is taken.
    told(
        "a.php",
        "<?php foo(); // AUTHOR: why?\n?>\n",
        "<?php foo(); // AUTHOR: why?\n// AGENT: Yes.\n// AUTHOR:\n?>\n",
    );
}

#[test]
fn an_answer_goes_above_nothing_that_has_to_be_the_first() {
    for (path, first, open, close) in [
        ("a.xml", "<?xml version=\"1.0\"?>", "<!--", " -->"),
        ("a.css", "@charset \"utf-8\";", "/*", " */"),
        ("a.yaml", "%YAML 1.1", "#", ""),
        ("a.html", "<!doctype html>", "<!--", " -->"),
    ] {
        for end in ["", "\n", "\n\n"] {
            let text = format!("{first} {open} AUTHOR: why?{close}{end}");
            let expected = format!(
                "{first} {open} AUTHOR: why?{close}\n{open} AGENT: Yes.{close}\n{open} AUTHOR:{close}{end}"
            );
            assert_eq!(answered(path, &text, "Yes."), expected);
        }
    }
}

#[test]
fn a_new_thread_goes_below_what_has_to_be_the_first() {
    let below = |path: &str, first: &str, said: &str, rest: &str| {
        let text = format!("{first}{rest}");
        assert_eq!(begun(path, &text, 0), format!("{first}{said}\n{rest}"));
    };
    let cookie = ";;; foo.el --- x  -*- lexical-binding: t; -*-\n";
    below("foo.el", cookie, "; AUTHOR: why?", "(foo)\n");
    below("a.cpp", "// -*- C++ -*-\n", "// AUTHOR: why?", "int a;\n");
    let block = "/* -*- mode: c -*-\n * Text.\n */\n";
    below("a.c", block, "// AUTHOR: why?", "int a;\n");
    let php = "#!/usr/bin/env php\n<?php\n";
    below("a.php", php, "// AUTHOR: why?", "namespace A;\n");
    below("a.yaml", "#cloud-config\n", "# AUTHOR: why?", "a: 1\n");
    below("_foo.zsh", "#compdef foo\n", "# AUTHOR: why?", "a=1\n");
    below("a.tcl", "#%Module1.0\n", "# AUTHOR: why?", "set a 1\n");
    below("a.ps", "%!PS-Adobe-3.0\n", "% AUTHOR: why?", "/a 1 def\n");
    let docker = "# escape=`\n# syntax=docker/dockerfile:1\n#check=skip=all\n";
    below("Dockerfile", docker, "# AUTHOR: why?", "FROM a\n");
    let long = "<?xml version=\"1.0\"\n  encoding=\"utf-8\"?>\n";
    below("a.xml", long, "<!-- AUTHOR: why? -->", "<a/>\n");
    let front = "---\ntitle: x\n---\n";
    below("a.mdx", front, "{/* AUTHOR: why? */}", "\n# Text\n");
    below("a.html", front, "<!-- AUTHOR: why? -->", "<p>\n");
    below("a.scss", "---\n---\n", "// AUTHOR: why?", "a { b: c }\n");
    let doctype = "<!DOCTYPE html PUBLIC \"-//W3C//DTD HTML 4.01//EN\"\n  \"strict.dtd\">\n";
    below("a.html", doctype, "<!-- AUTHOR: why? -->", "<p>\n");
    // Where what has to be the first has a thread behind it.
    for (path, text, said) in [
        (
            "a.php",
            "<?php // AUTHOR: who?\n// AGENT: Yes.\n// AUTHOR:\nnamespace A;\n",
            "// AUTHOR: why?\nnamespace A;\n",
        ),
        (
            "a.xml",
            "<?xml version=\"1.0\"?> <!-- AUTHOR: who? -->\n<!-- AGENT: Yes. -->\n<!-- AUTHOR: -->\n<a/>\n",
            "<!-- AUTHOR: why? -->\n<a/>\n",
        ),
    ] {
        let rest = said.lines().last().unwrap();
        let head = text.strip_suffix(&format!("{rest}\n")).unwrap();
        for line in 0..4 {
            assert_eq!(begun(path, text, line), format!("{head}\n{said}"), "{line}");
        }
    }
    // These three hyphens are none of front matter.
    for (path, text, said) in [
        ("a.yaml", "---\na: 1\n---\nb: 1\n", "# AUTHOR: why?\n"),
        ("a.lua", "---\n-- Text.\n---\n", "-- AUTHOR: why?\n\n"),
    ] {
        let after = begun(path, text, 0);
        assert!(said.starts_with(after.lines().next().unwrap()), "{after}");
    }
    // Code between the first lines of a component is code.
    assert_eq!(
        begun("a.astro", "---\nlet a;\nlet b;\n---\n<p>\n", 2),
        "---\nlet a;\n// AUTHOR: why?\nlet b;\n---\n<p>\n"
    );
}

/// `%` at a line's end has TeX set no blank there.
#[test]
fn without_a_thread_the_end_of_a_line_in_tex_is_as_it_was() {
    let text = "\\newcommand{\\x}{% AUTHOR: why?\n  foo% AUTHOR: b?\n}\n";
    let left = dismissed("a.tex", text);
    assert_eq!(left, "\\newcommand{\\x}{%\n  foo% AUTHOR: b?\n}\n");
    assert_eq!(
        dismissed("a.tex", &left),
        "\\newcommand{\\x}{%\n  foo%\n}\n"
    );
    assert_eq!(
        answered("a.tex", "\\x{%\n  foo%% AUTHOR: b?\n}\n", "Yes."),
        "\\x{%\n%% AUTHOR: b?\n%% AGENT: Yes.\n%% AUTHOR:\n  foo%\n}\n"
    );
    assert_eq!(dismissed("a.tex", "foo % AUTHOR: b?\n"), "foo\n");
}

/// Columns one to six are for numbers, the seventh says what the line is.
#[test]
fn in_cobols_fixed_format_a_comment_begins_in_the_seventh_column() {
    let text = "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. A.\n\n       PROCEDURE DIVISION.\n           DISPLAY 'A'. *> AUTHOR: why?\n           STOP RUN.\n";
    for line in [0, 1, 2, 5] {
        let after = begun("a.cob", text, line);
        assert!(
            after.contains("\n      *> AUTHOR: why?\n")
                || line == 0 && after.starts_with("      *> AUTHOR: why?\n"),
            "{after}"
        );
    }
    let after = answered("a.cob", text, "Yes.\n\nSo.");
    assert!(
        after.contains("\n      *> AUTHOR: why?\n      *> AGENT: Yes.\n      *>\n      *>   So.\n      *> AUTHOR:\n           DISPLAY 'A'.\n"),
        "{after}"
    );
    assert_eq!(dismissed("a.cob", &after), dismissed("a.cob", text));
    let own = text.replace(" *> AUTHOR", "\n           *> AUTHOR");
    let after = answered("a.cob", &own, "Yes.");
    assert!(
        after.contains(
            "\n           *> AUTHOR: why?\n           *> AGENT: Yes.\n           *> AUTHOR:\n"
        ),
        "{after}"
    );
    let free = "identification division.\nprogram-id. a.\n";
    assert_eq!(
        begun("a.cob", free, 1),
        "identification division.\n*> AUTHOR: why?\nprogram-id. a.\n"
    );
}

#[test]
fn in_tcl_a_new_thread_goes_into_no_list() {
    for text in [
        "set a 1\nswitch $a {\n  1 {\n    puts a\n  }\n}\n",
        "set a 1\nexpr {\n  1 + 1\n}\n",
        "set a 1\narray set b {\n  c {d e}\n  f g\n}\n",
        "set a 1\nproc f {b\n  c} {\n}\n",
        "set a 1\nif {$a\n  && $a} {\n}\n",
        "set a 1\nswitch -glob -- [string tolower $a] {\n  x {\n  }\n}\n",
        "set a 1\nforeach {k v} {\n  a 1\n} {\n}\n",
    ] {
        let after = begun("a.tcl", text, 2);
        assert_eq!(after, text.replacen('\n', "\n# AUTHOR: why?\n", 1));
    }
    let body = "switch $a {\n  1 {\n    puts a\n  }\n}\nif {$a} {\n  puts \\{\n  b\n}\n";
    for line in [2, 6, 7] {
        let after = begun("a.tcl", body, line);
        assert_eq!(after.lines().nth(line), Some("# AUTHOR: why?"), "{after}");
    }
    for body in [
        "foreach y [list 1 2] {\n  puts $y\n}\n",
        "foreach x {\n} {\n  puts $x\n}\n",
        "foreach {k v} \"a ; b\" {\n  puts $k\n}\n",
        "foreach x \\\n    [split $a \";\"] {\n  puts $x\n}\n",
        "while [a] {\n  puts $x\n}\n",
        "switch $a 1 {\n  puts 1\n}\n",
        "if {$a} {\n  puts 1\n} else {\n  puts 2\n}\n",
    ] {
        let line = body.lines().count() - 2;
        let after = begun("a.tcl", body, line);
        assert_eq!(after.lines().nth(line), Some("# AUTHOR: why?"), "{after}");
    }
    let text = "if {$a} {\n} elseif {\n  $b} {\n}\n";
    let after = begun("a.tcl", text, 2);
    assert_eq!(after, text.replacen('\n', "\n# AUTHOR: why?\n", 1));
    // Of a list that is longer than what is looked through line for line.
    let long = format!("set a 1\nset b {{\n{}}}\n", "  c d\n".repeat(20_000));
    let after = begun("a.tcl", &long, 15_000);
    assert_eq!(after, long.replacen('\n', "\n# AUTHOR: why?\n", 1));
}
