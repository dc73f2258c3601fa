use super::*;

mod changes;
mod definitions;
mod names;
pub(crate) mod samples;

/// The structure without what it was asked before.
pub(crate) fn unasked(syntax: &Syntax) -> Syntax {
    Syntax {
        asked: Asked::default(),
        ..syntax.clone()
    }
}

#[test]
fn a_broken_text_keeps_its_comments() {
    let cases = [
        (
            "a.rs",
            "fn a( {\n// AUTHOR: yes\nlet b = (;\n// AUTHOR: yes\n",
        ),
        ("a.py", "def a(:\n# AUTHOR: yes\n  b = [\n# AUTHOR: yes\n"),
        (
            "a.ts",
            "class { a( {\n// AUTHOR: yes\n/* AUTHOR: yes */ => {\n",
        ),
        ("a.go", "func ( {\n// AUTHOR: yes\n) type\n// AUTHOR: yes\n"),
        (
            "a.c",
            "int a( {\n// AUTHOR: yes\n#if\n/* AUTHOR: yes */ } }\n",
        ),
        ("a.rb", "def (\n# AUTHOR: yes\nend end ]\n# AUTHOR: yes\n"),
        ("a.sh", "if then (\n# AUTHOR: yes\ndone )\n# AUTHOR: yes\n"),
        (
            "a.yaml",
            "a: \"b\n# AUTHOR: no\n c\"\n# AUTHOR: yes\nd: e # AUTHOR: yes\n",
        ),
        ("a.toml", "[a\n# AUTHOR: yes\nb = \n# AUTHOR: yes\n"),
        (
            "a.html",
            "<p <!-- AUTHOR: yes --></b><script>let a = ( // AUTHOR: yes\n</script>\n<!-- AUTHOR: yes -->",
        ),
        (
            "a.css",
            "a { { ; }\n/* AUTHOR: yes */\n} } /* AUTHOR: yes */",
        ),
    ];
    for (path, text) in cases {
        let syntax = Syntax::parse(text, detect(path, None, text));
        assert!(syntax.has_errors(text), "{path}");
        for (at, _) in text.match_indices("AUTHOR: ") {
            let expected = text[at..].starts_with("AUTHOR: yes");
            assert_eq!(
                syntax.comment_at(text, at).is_some(),
                expected,
                "{path}: {:?}",
                &text[..at]
            );
            assert_eq!(
                syntax.comments_in(text, at..at + 1).len(),
                usize::from(expected),
                "{path}: {:?}",
                &text[..at]
            );
        }
    }
}

#[test]
fn a_heredoc_that_is_typed_at_the_end_of_a_text_takes_no_comments_away() {
    let text = "<?php\n// AUTHOR: yes\n# AUTHOR: yes\n$d = <<<'X";
    let syntax = Syntax::parse(text, detect("a.php", None, text));
    assert_eq!(syntax.comments_in(text, 0..text.len()).len(), 2);
}

#[test]
fn line_ends_of_every_kind_end_a_line_comment() {
    for (path, leader) in [
        ("a.rs", "//"),
        ("a.rs", "///"),
        ("a.py", "#"),
        ("a.kt", "//"),
        ("a.js", "//"),
        ("a.lua", "--"),
        ("a.c", "//"),
        ("x", "#"),
    ] {
        for end in ["\n", "\r\n", "\r", ""] {
            let text = format!("\u{feff}{leader} AUTHOR: a{end}{leader} AUTHOR: b{end}");
            let syntax = Syntax::parse(&text, detect(path, None, &text));
            let lines: Vec<_> = text
                .match_indices("AUTHOR")
                .map(|(at, _)| syntax.comment_at(&text, at))
                .collect();
            let first = lines[0]
                .as_ref()
                .unwrap_or_else(|| panic!("{path} {end:?}"));
            assert_eq!(first.range.start, 3, "{path} {end:?}");
            if end.is_empty() {
                assert_eq!(lines[1].as_ref(), Some(first));
            } else {
                let second = lines[1]
                    .as_ref()
                    .unwrap_or_else(|| panic!("{path} {end:?}"));
                assert_eq!(
                    &text[first.range.clone()],
                    format!("{leader} AUTHOR: a"),
                    "{path} {end:?}"
                );
                assert_eq!(
                    &text[second.range.clone()],
                    format!("{leader} AUTHOR: b"),
                    "{path} {end:?}"
                );
            }
        }
    }
}

#[test]
fn the_first_code_is_behind_the_header() {
    let cases = [
        ("a.rs", "// a\n\n/* b */\n|fn c() {}\n"),
        ("a.rs", "#![allow(x)]\n"),
        ("a.rs", "#!/usr/bin/env rust-script\n// a\n|fn b() {}"),
        (
            "a.py",
            "#!/usr/bin/python3\n# -*- coding: utf-8 -*-\n# a\n|\"\"\"b\"\"\"\n",
        ),
        ("a.php", "<?php\n// a\n/* b */\n|echo 1;"),
        ("a.html", "<!DOCTYPE html>\n<!-- a -->\n|<html>"),
        ("a.xml", "<?xml version=\"1.0\"?>\n<!-- a -->\n|<b/>"),
        ("a.yaml", "# a\n---\n# b\n|c: d\n"),
        ("a.kt", "\u{feff}// a\r\n// b\r\n|c()\r\n"),
        ("a.sh", "# a\n\n"),
        ("a.sh", ""),
        ("unknown", "# a\n-- b\n|c"),
    ];
    for (path, marked) in cases {
        let text = marked.replace('|', "");
        let expected = marked.find('|').unwrap_or(if text.starts_with("#![") {
            0
        } else {
            text.len()
        });
        assert_eq!(
            Syntax::parse(&text, detect(path, None, &text)).first_code(&text),
            expected,
            "{path}: {marked}"
        );
    }
}

#[test]
fn a_leader_is_that_of_the_code_around() {
    let cases = [
        ("a.rs", "fn a() { | }", "//"),
        ("a.html", "<p>|</p>", "<!--"),
        ("a.html", "<script>\n|let a;</script>", "//"),
        ("a.html", "<style>\n|a {}</style>", "/*"),
        ("a.vue", "<template>|</template>", "<!--"),
        ("a.vue", "<script lang=\"ts\">\n|let a;\n</script>", "//"),
        ("a.jsx", "const a = <b>\n|<c/></b>;", "{/*"),
        ("a.jsx", "const a = <b>{|c}</b>;", "//"),
        ("a.jsx", "|const a = <b/>;", "//"),
        ("a.php", "<p>|</p>", "<!--"),
        ("a.php", "<?php |$a = 1; ?>", "//"),
        ("a.md", "a|", "<!--"),
        ("a.md", "---\na: |b\n---\n", "#"),
        ("Makefile", "a:\n\techo |b\n", "#"),
        (
            "a.sql",
            "CREATE FUNCTION f() AS $$ |a $$ LANGUAGE plpython3u;",
            "#",
        ),
        ("a.css", "|", "/*"),
        ("unknown", "|", "//"),
        ("a.md", "<script>\n|let a;\n</script>\n", "//"),
        ("a.vue", "<template lang=\"pug\">\ndiv|\n</template>", "//-"),
        (
            "a.vue",
            "<template lang=\"html\">\n<p>|</p>\n</template>",
            "<!--",
        ),
        ("a.php", "<script>\n|let a = <?= $a ?>;</script>", "//"),
        ("a.php", "<script>\nlet a = <?= |$a ?>;</script>", "//"),
        ("a.php", "<style>\n|a { b: <?= $a ?> }</style>", "/*"),
        ("a.erb", "<%\n  |a = 1\n%>", "#"),
        ("a.erb", "<p>|</p>", "<%#"),
        ("a.ejs", "<%\n  |a = 1\n%>", "//"),
        ("a.jsp", "<%\n  |int a;\n%>", "//"),
        ("a.cshtml", "@code {\n  |int a;\n}", "//"),
        ("a.blade.php", "@php\n|$a = 1;\n@endphp", "//"),
        (
            "a.j2",
            "<script>\n{% if a %}|let a = {{ a }};</script>",
            "//",
        ),
        ("Dockerfile", "RUN <<EOT\n|ls\nEOT\n", "#"),
        ("justfile", "a:\n  #!/usr/bin/env node\n  |let a;\n", "//"),
    ];
    for (path, marked, open) in cases {
        let text = marked.replace('|', "");
        let at = marked.find('|').unwrap();
        let leader = Syntax::parse(&text, detect(path, None, &text)).leader_at(&text, at);
        assert_eq!(leader.open, open, "{path}: {marked}");
    }
}

#[test]
fn code_in_a_block_of_markup_in_markdown() {
    let text = "<script>\n// AUTHOR: yes\nlet a = \"// AUTHOR: no\";\n</script>\n";
    let syntax = Syntax::parse(text, detect("a.md", None, text));
    let comments = syntax.comments_in(text, 0..text.len());
    assert_eq!(comments.len(), 1);
    assert_eq!(&text[comments[0].range.clone()], "// AUTHOR: yes");
}

#[test]
fn indentation_counts_where_comments_nest() {
    let counts = |path: &str, text: &str, at: usize| {
        Syntax::parse(text, detect(path, None, text)).indentation_counts(text, at)
    };
    assert!(counts("a.pug", "div\n  p", 6));
    assert!(counts("a.rst", "* a", 0));
    assert!(counts("a.haml", "%p", 0));
    let pug = "<template lang=\"pug\">\ndiv\n  p\n</template>\n<p>\n";
    assert!(counts("a.vue", pug, pug.find("div").unwrap()));
    assert!(!counts("a.vue", pug, pug.len() - 2));
    assert!(counts("a.md", "- a\n\n  <!-- b -->\n", 8));
    assert!(!counts("a.md", "a\n\n<!-- b -->\n", 5));
    assert!(!counts("a.rs", "fn a() {\n    // b\n}", 14));
    assert!(!counts("a.py", "if a:\n    # b\n", 12));
}

#[test]
fn an_opening_delimiter_has_its_repeated_last_character() {
    for (path, text, open, close) in [
        ("a.rs", "//// a", 4, 0),
        ("a.rs", "//! a", 3, 0),
        ("a.rs", "/** a */", 3, 2),
        ("a.rs", "/**/", 2, 2),
        ("a.rs", "/* a", 2, 0),
        ("a.R", "#' a", 2, 0),
        ("a.el", ";;; a", 3, 0),
        ("a.lua", "--- a", 3, 0),
        ("a.lua", "--[==[ a ]==]", 6, 4),
        ("a.html", "<!--- a -->", 5, 3),
        ("a.tex", "%% a", 2, 0),
        ("a.bat", "REM a", 3, 0),
        ("a.vim", "\"\" a", 2, 0),
        ("a.jsx", "a = <b>{/** c */}</b>", 4, 3),
    ] {
        let syntax = Syntax::parse(text, detect(path, None, text));
        let comment = &syntax.comments_in(text, 0..text.len())[0];
        // `/* a` is no comment to a grammar before it is closed; the scanner says what it would be.
        assert_eq!(
            (comment.open, comment.close),
            (open, close),
            "{path}: {text}"
        );
    }
}

/// C's `isdigit` was given the character behind the brace, and the process ended (SIGSEGV).
#[test]
fn a_brace_before_a_character_of_another_alphabet_is_left_to_the_scanner() {
    let bash = postil_grammars::by_name("bash");
    for braces in [
        "{\u{10fffd}",
        "{12\u{10fffd}",
        "{1..\u{10fffd}",
        "{1..22\u{10fffd}",
        "{\u{100}",
    ] {
        let text = format!("echo {braces}\n# AUTHOR: yes\n");
        let mut syntax = Syntax::parse(&text, bash);
        assert!(
            syntax.comment_at(&text, text.len() - 3).is_some(),
            "{braces}"
        );
        assert!(syntax.tree.is_none(), "{braces}");
        // The same typed into a comment.
        let before = "# AUTHOR: yes\n";
        syntax = Syntax::parse(before, bash);
        let after = format!("# AUTHOR: yes{braces}\n");
        let at = before.len() - 1;
        let splice = Splice::of(before, at..at, braces);
        syntax.update(None, &[splice], &after);
        assert_eq!(
            syntax.comment_at(&after, 5),
            Syntax::parse(&after, bash).comment_at(&after, 5)
        );
    }
    let text = "echo {1..3} ${x} \u{540d}\n";
    assert!(Syntax::parse(text, bash).tree.is_some());
}

/// `^` is the place that is asked about.
#[test]
fn a_token_is_told_around_its_middle() {
    let token = |path: &str, text: &str| {
        let at = text.find('^').unwrap();
        let text = text.replacen('^', "", 1);
        let syntax = Syntax::parse(&text, detect(path, None, &text));
        let found = syntax.token_around(&text, at);
        found.map(|range| text[range].to_owned())
    };
    let told = Some(String::from("\nb\n"));
    assert_eq!(token("a.js", "a(`\n^b\n`);\n"), told);
    assert_eq!(token("a.py", "a = '''\n^b\n'''\n"), told);
    assert_eq!(token("a.html", "<script>\na(`\n^b\n`);\n</script>\n"), told);
    let told = Some(String::from("b\nc\n"));
    assert_eq!(token("a.md", "```\nb\n^c\n```\n"), told);
    // Its first line, its end, code, and what holds other code.
    assert_eq!(token("a.md", "```\n^b\nc\n```\n"), None);
    assert_eq!(token("a.js", "a(`\nb\n`);\n^b();\n"), None);
    assert_eq!(token("a.js", "a(`\n${b(\n^c)}\n`);\n"), None);
    assert_eq!(token("a.html", "<script>\na();\n^b();\n</script>\n"), None);
    assert_eq!(token("a.md", "a\n^b\n"), None);
}
