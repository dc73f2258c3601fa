//! Every comment of every language: which ones hold a marker, and which stand below each other in one thread.

use std::collections::BTreeSet;

use postil_grammars::{LANGUAGES, Language, Rule};

use super::*;

/// What is said in each thread of a text.
fn said(text: &str, language: Option<&'static Language>) -> Vec<Vec<String>> {
    let syntax = Syntax::parse(text, language);
    find("a", text, &syntax)
        .into_iter()
        .map(|thread| thread.messages.into_iter().map(|m| m.text).collect())
        .collect()
}

/// Ways to write a comment of one line: what stands before it and behind.
fn ways(language: &Language) -> BTreeSet<(String, String)> {
    let mut ways = BTreeSet::new();
    let mut add = |open: &str, close: &str| {
        ways.insert((open.to_owned(), close.to_owned()));
    };
    let blocks = language.block.iter().map(|b| (b.open, b.close));
    let template = language.template().into_iter().flat_map(|t| t.comments);
    for (open, close) in blocks.chain(template.copied()) {
        add(open, close);
    }
    let lines = language.line.iter().map(|line| line.open);
    let indented = language.rules.iter().filter_map(|rule| match rule {
        Rule::IndentedComment(open) => Some(*open),
        _ => None,
    });
    for open in lines.chain(indented) {
        add(open, "");
        for mark in ["!", "|", "<", ">", ":", "'", " |", " ^"] {
            add(&format!("{open}{mark}"), "");
        }
        if let Some(last) = open.chars().next_back() {
            add(&format!("{open}{last}"), "");
        }
    }
    for rule in language.rules {
        let (open, closes) = match rule {
            Rule::LuaLong => ("--", ["[[", "[=[", "[==["]),
            Rule::CmakeBracket => ("#", ["[[", "[=[", "[==["]),
            _ => continue,
        };
        for bracket in closes {
            add(&format!("{open}{bracket}"), &bracket.replace('[', "]"));
        }
    }
    ways
}

#[test]
fn markers_in_different_comments_of_a_language_are_one_thread() {
    let mut pairs = 0;
    for language in LANGUAGES {
        let start = if language.name == "php" {
            "<?php\n"
        } else {
            ""
        };
        let line = |(open, close): &(String, String), marker: &str, text: &str| {
            format!("{open} {marker}: {text} {close}")
                .trim_end()
                .to_owned()
                + "\n"
        };
        let works = |way: &&(String, String)| {
            let text = format!("{start}{}", line(way, "AUTHOR", "why?"));
            let syntax = Syntax::parse(&text, Some(language));
            // `REM'` is code and a comment.
            let is_own = |thread: &Thread| !thread.trailing && thread.messages[0].text == "why?";
            matches!(&find("a", &text, &syntax)[..], [one] if is_own(one))
        };
        let ways = ways(language);
        let ways: Vec<_> = ways.iter().filter(works).collect();
        for above in &ways {
            for below in &ways {
                let text = format!(
                    "{start}{}{}",
                    line(above, "AUTHOR", "why?"),
                    line(below, "AGENT", "so")
                );
                assert_eq!(
                    said(&text, Some(language)),
                    [["why?", "so"]],
                    "{}:\n{text}",
                    language.name
                );
                pairs += 1;
            }
        }
    }
    assert!(pairs > 2000, "{pairs}");
}

#[test]
fn a_comment_that_ends_with_the_code_around_has_page_text_below() {
    for (path, text) in [
        ("a.php", "<?php\n// AUTHOR: a? ?>\n// AUTHOR: page\n<p>\n"),
        ("a.php", "<?php\n# AUTHOR: a? ?>\n# AUTHOR: page\n<p>\n"),
        (
            "a.html",
            "<script>\n// AUTHOR: a? </script>\n// AUTHOR: page\n<p>\n",
        ),
        (
            "a.vue",
            "<script>\n// AUTHOR: a?</script>\n// AUTHOR: page\n",
        ),
        ("a.erb", "<%\n# AUTHOR: a? %>\n# AUTHOR: page\n"),
        ("a.ejs", "<%\n// AUTHOR: a? %>\n// AUTHOR: page\n"),
    ] {
        assert_eq!(said(text, detect(path, None, text)), [["a?"]], "{text}");
    }
    // Not the first comment, but the second ends so.
    for (path, text) in [
        (
            "a.php",
            "<?php\n// AUTHOR: a?\n// AUTHOR: b? ?>\n// AUTHOR: page\n",
        ),
        (
            "a.html",
            "<script>\n// AUTHOR: a?\n// AUTHOR: b? </script>\n// AUTHOR: page\n",
        ),
        (
            "a.erb",
            "<%\n# AUTHOR: a?\n# AUTHOR: b? %>\n# AUTHOR: page\n",
        ),
        (
            "a.ejs",
            "<%\n// AUTHOR: a?\n// AUTHOR: b? %>\n// AUTHOR: page\n",
        ),
        (
            "a.blade.php",
            "@php\n// AUTHOR: a?\n// AUTHOR: b? @endphp\n// AUTHOR: page\n",
        ),
    ] {
        let found = said(text, detect(path, None, text)).concat();
        assert_eq!(found, ["a?", "b?"], "{text}");
    }
}

#[test]
fn leaders_of_documentation_count() {
    for (path, text) in [
        ("a.hs", "f = 1\n-- | AUTHOR: why?\n-- | AGENT: so\n"),
        ("a.hs", "f = 1 -- ^ AUTHOR: why?\n-- ^ AGENT: so\n"),
        ("a.hs", "f = 1\n{- | AUTHOR: why? -}\n{-| AGENT: so -}\n"),
        ("a.purs", "f = 1\n-- | AUTHOR:\n-- |   why?\n-- AGENT: so\n"),
        ("a.f90", "x = 1\n!> AUTHOR: why?\n!! AGENT: so\n"),
        ("a.f", "      x = 1\nC> AUTHOR: why?\n*> AGENT: so\n"),
        ("a.py", "x = 1\n#: AUTHOR: why?\n#:   \n#: AGENT: so\n"),
        (
            "a.cob",
            "       X.\n      *> AUTHOR: why?\n      * AGENT: so\n",
        ),
        ("a.haml", "%p\n  / AUTHOR: why?\n  -# AGENT: so\n  %b\n"),
        (
            "a.pug",
            "p\n  // AUTHOR: why?\n  //- AGENT:\n          so\n",
        ),
    ] {
        let found = said(text, detect(path, None, text)).concat();
        assert_eq!(found, ["why?", "so"], "{text}");
    }
    // The side of a table, and an operator.
    none("a.sql", "select 1;\n-- | AUTHOR: why?\n");
    none("a.hs", "x = 1\n--| AUTHOR: why?\n");
    none("a.R", "x\n#> AUTHOR: why?\n");
}
