//! Where a new thread begins.

use super::*;

fn opened(path: &str, text: &str, line: usize, said: &str) -> String {
    let (written, cursor) = write(path, text, |source| {
        new_thread(source, line, said, Style::default())
    })
    .unwrap();
    let mut after = apply_edits(text, &written.edits);
    after.insert(cursor, '|');
    after
}

/// Above stands a header, below a line that continues a thread, and behind the last line is no line end.
#[test]
fn a_new_thread_goes_behind_a_last_line_that_has_no_end() {
    let text = "% AUTHOR: yes\na(b). % AUTHOR: yes\n/* AUTHOR: yes */";
    let (written, _) = write("a.mercury", text, |source| {
        new_thread(source, 0, "jane@example.org", Style::default())
    })
    .unwrap();
    assert_eq!(
        apply_edits(text, &written.edits),
        format!("{text}\n\n% AUTHOR: jane@example.org")
    );
}

#[test]
fn a_new_thread_stands_above_the_line_in_its_comment_style() {
    assert_eq!(
        opened("a.rs", "fn a() {\n    b();\n}\n", 1, ""),
        "fn a() {\n// AUTHOR: |\n    b();\n}\n"
    );
    assert_eq!(
        opened("a.rs", "fn a() {}", 0, "why?\nso"),
        "// AUTHOR: why?\n//   so|\nfn a() {}"
    );
    assert_eq!(opened("a.css", "a {}\n", 1, ""), "a {}\n/* AUTHOR: | */\n");
    assert_eq!(
        opened(
            "a.py",
            "#!/usr/bin/python\n# coding: utf-8\nx = 1\n",
            0,
            "why?"
        ),
        "#!/usr/bin/python\n# coding: utf-8\n# AUTHOR: why?|\nx = 1\n"
    );
    assert_eq!(
        opened("a.py", "\u{feff}x = 1\r\n", 0, "why?"),
        "\u{feff}# AUTHOR: why?|\r\nx = 1\r\n"
    );
    assert_eq!(
        opened("a.js", "a();\nconst s = `\n x\n`;\n", 2, "why?"),
        "a();\n// AUTHOR: why?|\nconst s = `\n x\n`;\n"
    );
    assert_eq!(
        opened("a.rs", "// AUTHOR: one?\nfn a() {}\n", 1, "two?"),
        "// AUTHOR: one?\n\n// AUTHOR: two?|\nfn a() {}\n"
    );
    assert_eq!(
        opened("a.rs", "// AUTHOR: one?\nfn a() {}\n", 0, "two?"),
        "// AUTHOR: two?|\n\n// AUTHOR: one?\nfn a() {}\n"
    );
    assert_eq!(
        opened("a.c", "int a;\n/*\n * x\n */\n", 3, "two?"),
        "int a;\n/*\n * x\n * AUTHOR: two?|\n */\n"
    );
    assert_eq!(
        opened("a.md", "---\ntitle: x\n---\n\n# Text\n", 0, "two?"),
        "---\ntitle: x\n---\n<!-- AUTHOR: two?| -->\n\n# Text\n"
    );
    for (text, lines) in [
        ("a\nb\n", 2),
        ("a\r\nb", 2),
        ("a\n\n", 2),
        ("a", 1),
        ("", 1),
    ] {
        let none = write("a.rs", text, |source| {
            new_thread(source, 3, "x", Style::default())
        });
        assert_eq!(none, Err(Refused::NoLine { lines }), "{text:?}");
    }
}

#[test]
fn nothing_comes_between_a_line_and_its_rest() {
    assert_eq!(
        opened("a.c", "int a;\n#define M \\\n  1\n", 2, "why?"),
        "int a;\n// AUTHOR: why?|\n#define M \\\n  1\n"
    );
    assert_eq!(
        opened("a.sh", "ls \\\n  -l \\\n  -a\n", 2, "why?"),
        "# AUTHOR: why?|\nls \\\n  -l \\\n  -a\n"
    );
    assert_eq!(
        opened("a.vb", "Foo(1, _\n  2)\n", 1, "why?"),
        "' AUTHOR: why?|\nFoo(1, _\n  2)\n"
    );
    assert_eq!(
        opened("a.bat", "copy a ^\r\n  b\r\n", 1, "why?"),
        "REM AUTHOR: why?|\r\ncopy a ^\r\n  b\r\n"
    );
    assert_eq!(
        opened("a.vim", "let a = [\n  \\ 1]\n", 1, "why?"),
        "\" AUTHOR: why?|\nlet a = [\n  \\ 1]\n"
    );
    // A row's end in TeX is none.
    assert_eq!(
        opened("a.tex", "a \\\\\nb\n", 1, "why?"),
        "a \\\\\n% AUTHOR: why?|\nb\n"
    );
}

#[test]
fn a_leader_keeps_the_blank_that_makes_it_one() {
    assert_eq!(
        opened("a.org", "text\n", 0, "why?\n\nso"),
        "# AUTHOR: why?\n# \n#   so|\ntext\n"
    );
}

/// In reStructuredText a line that begins with `..` is a comment only behind an empty line, and in no literal block.
#[test]
fn in_restructuredtext_a_new_thread_is_a_comment() {
    let text = "Title\n=====\n\nIt is called so::\n\n    load()\n\n    save()\n\nOne line,\nand another.\n";
    let comment = |line: &str| text.replacen(line, &format!(".. AUTHOR: why?|\n{line}"), 1);
    // On the paragraph, between it and its block, in the block, and behind it.
    for line in [3, 4, 5, 6, 7] {
        let after = opened("a.rst", text, line, "why?");
        assert_eq!(after, comment("It is"), "line {line}");
    }
    assert_eq!(
        opened("a.rst", text, 8, "why?"),
        text.replace("\n\nOne", "\n\n.. AUTHOR: why?|\nOne")
    );
    for line in [9, 10] {
        assert_eq!(opened("a.rst", text, line, "why?"), comment("One"));
    }
    assert_eq!(opened("a.rst", text, 1, "why?"), comment("Title"));
    assert_eq!(
        opened("a.rst", text, 2, "why?"),
        text.replace("=====\n", "=====\n.. AUTHOR: why?|\n")
    );
    // A directive's body: code is none, a note's is text like any other.
    let code = "* so:\n\n  .. code-block:: rust\n     :linenos:\n\n     load();\n\n  End.\n";
    for line in [2, 3, 4, 5] {
        assert_eq!(
            opened("a.rst", code, line, "why?"),
            code.replace("  .. code", "  .. AUTHOR: why?|\n  .. code"),
            "line {line}"
        );
    }
    assert_eq!(
        opened("a.rst", ".. note::\n\n   One.\n", 2, "why?"),
        ".. note::\n\n   .. AUTHOR: why?|\n   One.\n"
    );
    // Quoted, and without a block at all.
    assert_eq!(
        opened("a.rst", "So::\n\n> load()\n", 2, "why?"),
        ".. AUTHOR: why?|\nSo::\n\n> load()\n"
    );
    assert_eq!(opened("a.rst", "So::\n", 1, ""), ".. AUTHOR: |\nSo::\n");
}

/// One would break the file, unless whoever reads it allows comments.
#[test]
fn no_new_thread_goes_into_a_format_without_comments() {
    let refused = |path: &str, text: &str| {
        let written = write(path, text, |source| {
            new_thread(source, 1, "why?", Style::default())
        });
        assert_eq!(written.err(), Some(Refused::NoComments), "{path}: {text}");
    };
    refused(
        "package.json",
        "{\n  \"name\": \"http://example.org /*\"\n}\n",
    );
    refused("a.jsonl", "{}\n{}\n");
    refused("a.csv", "a,b\n1,//2\n");
    refused("a.tsv", "a\tb\n1\t# 2\n");
    expect!["{\n// AUTHOR: why?|\n  \"strict\": true\n}\n"].assert_eq(&opened(
        "tsconfig.json",
        "{\n  \"strict\": true\n}\n",
        1,
        "why?",
    ));
    expect!["// one\n// AUTHOR: why?|\n{}\n"].assert_eq(&opened(
        "a.json",
        "// one\n{}\n",
        1,
        "why?",
    ));
    expect!["# one\n# AUTHOR: why?|\n1,2\n"].assert_eq(&opened("a.csv", "# one\n1,2\n", 1, "why?"));
}

#[test]
fn a_new_thread_cuts_no_tag_and_no_table() {
    let tag = "<p>a</p>\n<img\n  src=\"a\"\n  alt=\"b\"\n/>\n";
    for path in ["a.html", "a.htm"] {
        let text = opened(path, tag, 3, "why?");
        assert!(
            text.contains("<!-- AUTHOR: why?| -->\n<img\n"),
            "{path}: {text}"
        );
    }
    assert_eq!(
        opened(
            "a.md",
            "| a | b |\n|--|--|\n| 1 | 2 |\n| 3 | 4 |\n",
            3,
            "why?"
        ),
        "<!-- AUTHOR: why?| -->\n| a | b |\n|--|--|\n| 1 | 2 |\n| 3 | 4 |\n"
    );
}

#[test]
fn in_a_file_of_unknown_kind_a_new_thread_begins_as_its_comments_do() {
    assert_eq!(
        opened("a.xyz", "# a\nb = 1\n", 1, "why?"),
        "# a\n# AUTHOR: why?|\nb = 1\n"
    );
    assert_eq!(
        opened("a.xyz", "-- a\n# b\n-- c\nd\n", 3, "why?"),
        "-- a\n# b\n-- c\n-- AUTHOR: why?|\nd\n"
    );
    // A text of words has nothing that it could break.
    assert_eq!(opened("a.txt", "b\n", 0, "why?"), "// AUTHOR: why?|\nb\n");
    for text in ["b = 1\n", "b # c\n", ""] {
        let none = write("a.xyz", text, |source| {
            new_thread(source, 0, "why?", Style::default())
        });
        assert_eq!(none, Err(Refused::NoLeader), "{text:?}");
    }
}

/// What opens a comment that never closes may be none.
#[test]
fn a_new_thread_has_a_leader_also_where_a_comment_is_not_closed() {
    assert_eq!(
        opened(
            "a.fs",
            "let p = List.reduce (*) [1;2]\nlet q = 2\n",
            1,
            "why?"
        ),
        "let p = List.reduce (*) [1;2]\n// AUTHOR: why?|\nlet q = 2\n"
    );
    assert_eq!(
        opened(
            "a.scala",
            "val a = 1 /* b\nval c = 2\nval d = 3\n",
            2,
            "why?"
        ),
        "// AUTHOR: why?|\nval a = 1 /* b\nval c = 2\nval d = 3\n"
    );
    // Where its indentation ends it, it needs no close.
    assert_eq!(
        opened("a.rst", "..\n   a\n\n   b\n", 3, "why?"),
        "..\n   a\n\n   AUTHOR: why?|\n   b\n"
    );
}

#[test]
fn a_first_line_that_says_what_a_file_is_stays_the_first() {
    for first in ["#%RAML 1.0", "#compdef a", "#autoload"] {
        let path = if first.contains("RAML") {
            "a.raml"
        } else {
            "_a"
        };
        assert_eq!(
            opened(path, &format!("{first}\nb: 1\n"), 0, "why?"),
            format!("{first}\n# AUTHOR: why?|\nb: 1\n")
        );
    }
}
