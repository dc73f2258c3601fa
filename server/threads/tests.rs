use expect_test::{Expect, expect};

use super::*;
use crate::comments::detect;

mod leaders;

/// The threads of a file called `path`, one line a message.
fn shown(path: &str, text: &str) -> String {
    let syntax = Syntax::parse(text, detect(path, None, text));
    let mut out = String::new();
    for thread in find(path, text, &syntax) {
        let mut flags = String::new();
        if thread.malformed {
            flags.push_str(" malformed");
        }
        if thread.trailing {
            flags.push_str(" trailing");
        }
        out.push_str(&format!("{:?}{flags}\n", thread.status));
        for m in &thread.messages {
            let name = m
                .name
                .as_ref()
                .map(|name| format!("({name})"))
                .unwrap_or_default();
            let lines = if m.last_line > m.line {
                format!("{}-{}", m.line + 1, m.last_line + 1)
            } else {
                format!("{}", m.line + 1)
            };
            out.push_str(&format!(
                "  {lines} {}{name}: {:?}\n",
                m.role.word(),
                m.text
            ));
            assert!(
                text[m.marker.clone()].starts_with(m.role.word())
                    && text[m.marker.clone()].ends_with(':')
            );
            assert!(m.range.start >= m.marker.start && m.range.end >= m.marker.end);
        }
    }
    out
}

fn check(path: &str, text: &str, expect: Expect) {
    expect.assert_eq(&shown(path, text));
}

fn none(path: &str, text: &str) {
    assert_eq!(shown(path, text), "", "in {path}: {text}");
}

fn some(path: &str, text: &str) {
    assert_ne!(shown(path, text), "", "in {path}: {text}");
}

#[test]
fn messages_below_each_other_are_one_thread() {
    check(
        "src/net.rs",
        "fn a() {}\n\n// AUTHOR: should we rename this to load_data?\n// AGENT: Renamed. Better reflects async nature.\n// AUTHOR:\npub async fn load_data() {}\n",
        expect![[r#"
            AwaitingUser
              3 AUTHOR: "should we rename this to load_data?"
              4 AGENT: "Renamed. Better reflects async nature."
              5 AUTHOR: ""
        "#]],
    );
    check(
        "a.py",
        "x = 1\ndef f():\n    # AUTHOR(alice): why?\n    # AGENT(claude): Because.\n    # AUTHOR(alice): and now",
        expect![[r#"
            Pending
              3 AUTHOR(alice): "why?"
              4 AGENT(claude): "Because."
              5 AUTHOR(alice): "and now"
        "#]],
    );
}

#[test]
fn leaders_may_differ_and_repeat() {
    check(
        "a.rs",
        "fn a() {}\n/// AUTHOR: one\n// AGENT: two\n//! AUTHOR: three\n/* AGENT: four */\n/** AUTHOR: five **/\n//// AGENT: six\n//AUTHOR:seven\nfn b() {}\n",
        expect![[r#"
            Pending
              2 AUTHOR: "one"
              3 AGENT: "two"
              4 AUTHOR: "three"
              5 AGENT: "four"
              6 AUTHOR: "five"
              7 AGENT: "six"
              8 AUTHOR: "seven"
        "#]],
    );
}

#[test]
fn block_comments_hold_a_marker_a_line() {
    check(
        "a.c",
        "int a;\n/*\n * AUTHOR: one\n *   goes on\n *\n *   and on\n * AGENT: two\n * ordinary\n * AUTHOR: three */\nint b;\n/* AUTHOR: bare\n     goes on\n   AGENT: yes\n   no more\n*/\n/* AUTHOR: opener\n *   goes on\n */\n",
        expect![[r#"
            AwaitingUser
              3-6 AUTHOR: "one\ngoes on\n\nand on"
              7 AGENT: "two"
            Pending
              9 AUTHOR: "three"
            AwaitingUser
              11-12 AUTHOR: "bare\ngoes on"
              13 AGENT: "yes"
            Pending
              16-17 AUTHOR: "opener\ngoes on"
        "#]],
    );
    check(
        "a.html",
        "<p>x</p>\n<!-- AUTHOR: one -->\n<!--   goes on -->\n<!--\nAUTHOR: two\n  goes on\n\n  and on\nAGENT: yes\n-->\n",
        expect![[r#"
            Pending
              2-3 AUTHOR: "one\ngoes on"
            AwaitingUser
              5-8 AUTHOR: "two\ngoes on\n\nand on"
              9 AGENT: "yes"
        "#]],
    );
}

#[test]
fn only_deeper_lines_continue() {
    check(
        "a.py",
        "x = 1\n# AUTHOR: one\n#   two\n#\n#\n#     three\n#\n# ordinary\ny = 2\n# AUTHOR: four\n#  one blank more is not enough\nz = 3\n# AUTHOR: five\n##   another leader\n\n#AUTHOR: six\n#  seven\n\n# AUTHOR:\n#   eight\n",
        expect![[r#"
            Pending
              2-6 AUTHOR: "one\ntwo\n\n\nthree"
            Pending
              10 AUTHOR: "four"
            Pending
              13 AUTHOR: "five"
            Pending
              16-17 AUTHOR: "six\nseven"
            Pending
              19-20 AUTHOR: "eight"
        "#]],
    );
}

#[test]
fn a_run_ends_at_code_blank_lines_and_other_comments() {
    check(
        "a.js",
        "a();\n// AUTHOR: one\n\n// AUTHOR: two\n// note\n// AUTHOR: three\n//\n// AUTHOR: four\nb();\n// AUTHOR: five\n",
        expect![[r#"
            Pending
              2 AUTHOR: "one"
            Pending
              4 AUTHOR: "two"
            Pending
              6 AUTHOR: "three"
            Pending
              8 AUTHOR: "four"
            Pending
              10 AUTHOR: "five"
        "#]],
    );
}

#[test]
fn trailing_markers_start_threads() {
    check(
        "a.ts",
        "// AUTHOR: one\nfoo(); // AUTHOR: two\n// AGENT: yes\nbar(); // AUTHOR: three\nbaz(a, /* AUTHOR: why 2? */ 2, /* AUTHOR: and 3? */ 3);\n// AGENT: so\n/* AUTHOR: four */ qux();\n",
        expect![[r#"
            Pending
              1 AUTHOR: "one"
            AwaitingUser trailing
              2 AUTHOR: "two"
              3 AGENT: "yes"
            Pending trailing
              4 AUTHOR: "three"
            Pending trailing
              5 AUTHOR: "why 2?"
            AwaitingUser trailing
              5 AUTHOR: "and 3?"
              6 AGENT: "so"
            Pending trailing
              7 AUTHOR: "four"
        "#]],
    );
}

#[test]
fn a_thread_may_begin_with_the_agent() {
    check(
        "a.go",
        "package a\n\n// AGENT: I wonder\nvar x = 1\n",
        expect![[r#"
            AwaitingUser malformed
              3 AGENT: "I wonder"
        "#]],
    );
}

#[test]
fn near_markers_and_markers_elsewhere_are_none() {
    for line in [
        "// author: x?",
        "// Author: x?",
        "// AUTHOR : x?",
        "// AUTHOR(): x?",
        "// AUTHOR( ): x?",
        "// AUTHOR (a): x?",
        "// AUTHOR(a) : x?",
        "// the AUTHOR: x?",
        "// - AUTHOR: x?",
        "// // AUTHOR: x?",
        "// XAUTHOR: x?",
        "// AUTHORS: x?",
        "let s = \"// AUTHOR: x?\";",
        "let s = r#\"\n// AUTHOR: x?\n\"#;",
        "AUTHOR: x?",
        "// AUTHOR(a: x?",
        "// \"AUTHOR: x?\"",
    ] {
        none("a.rs", &format!("fn a() {{}}\n{line}\n"));
    }
    none("a.py", "'''\n# AUTHOR: x?\n'''\ny = '# AUTHOR: x?'\n");
    none("a.sh", "cat <<EOF\n# AUTHOR: x?\nEOF\n");
}

#[test]
fn jsx_comments() {
    check(
        "a.tsx",
        "const a = () => (\n  <div>\n    {/* AUTHOR: why? */}\n    {/*   so */}\n    {/* AGENT: yes */}\n    <p>x</p> {/* AUTHOR: two */}\n  </div>\n);\n",
        expect![[r#"
            AwaitingUser
              3-4 AUTHOR: "why?\nso"
              5 AGENT: "yes"
            Pending trailing
              6 AUTHOR: "two"
        "#]],
    );
}

#[test]
fn line_ends_and_byte_order_marks() {
    check(
        "a.rs",
        "\u{feff}// AUTHOR: one?\r\n//   two\r\n// AGENT: three\r// AUTHOR: four\r\n",
        expect![[r#"
            Pending
              1-2 AUTHOR: "one?\ntwo"
              3 AGENT: "three"
              4 AUTHOR: "four"
        "#]],
    );
}

#[test]
fn headers_are_no_threads() {
    for text in [
        "# AUTHOR: Jane Doe <jane@example.org>\nx = 1\n",
        "#!/usr/bin/env python3\n# FILE: a.py\n# AUTHOR: Jane Doe\n# DATE: 2020-01-01\n\nx = 1\n",
        "# Some tool that does things.\n#\n# AUTHOR: jdoe@example.org\n\nimport os\n",
        "# AUTHOR: Jane Doe\n# AUTHOR: John Roe, ACME Inc. (2001-2003)\n\nx = 1\n",
        "# AUTHOR:\n#   Jane Doe\n#   ACME Corp\n\nx = 1\n",
        "# AUTHOR:\n# Jane Doe\nx = 1\n",
        "# AUTHOR:\n# (C) 2020 Jane Doe <jane@example.org>\nx = 1\n",
        "\"\"\"What this is.\"\"\"\n# AUTHOR: Jane Doe\nimport os\n",
        "# FILE:\n# AUTHOR:\n# DATE:\nx = 1\n",
        "# AUTHOR: jane doe\n# LICENSE: MIT\nx = 1\n",
        "x = 1\n# FUNCTION: f\n# AUTHOR: Jane Doe\n# DATE: 2020\ndef f(): pass\n",
        "x = 1\n# AUTHOR: Jane Doe\n# SPDX-License-Identifier: MIT\ndef f(): pass\n",
        "x = 1\n# Copyright 2020 ACME\n#\n# AUTHOR: Jane Doe\ndef f(): pass\n",
        "# AUTHOR: Jane Doe\n",
        "\"\"\"What this is.\"\"\"\n# AUTHOR: Jane Doe\nimport os\n",
    ] {
        none("a.py", text);
    }
    for text in [
        "/*\n * AUTHOR: Giuseppe Piro  <g.piro@poliba.it>\n * AUTHOR: Marco Miozzo <mmiozzo@cttc.es>\n */\n\n#ifndef A_H\nint a;\n",
        "int a;\n/*************************\n* FUNCTION:     f\n* AUTHOR:       [Group 14]\n* Last Modified On: [26/01/2025]\n**************************/\nint f(void);\n",
        "#ifndef A_H\n#define A_H\n// AUTHOR: Jane Doe\nint a;\n",
        "/**\n * @file a.c\n * AUTHOR: jane doe\n */\nint a;\n",
        "/* AUTHOR: J. Doe, ACME Inc., 1999 */\nint a;\n",
        "/*\n * a.c - reads the table\n *\n * AUTHOR: jdoe\n */\nint a;\n",
        "// a.c\n// AUTHOR: jdoe\nint a;\n",
        "/*\n * AUTHOR:\n * Thomas Hellström <thomas-at-example-dot-org>\n */\nint a;\n",
    ] {
        none("a.c", text);
    }
    none(
        "a.html",
        "<!DOCTYPE html>\n<!-- AUTHOR: Jane Doe -->\n<html></html>\n",
    );
    none("a.sh", "#!/bin/sh\n# AUTHOR: Jane Doe\necho\n");
}

#[test]
fn questions_in_headers_are_threads() {
    for text in [
        "# FILE: a.py\n# AUTHOR: should we rename this file?\nx = 1\n",
        "# FILE: a.py\n# AUTHOR: Jane Doe\n# AUTHOR: rename this to load_data\nx = 1\n",
        "# AUTHOR: explain\nx = 1\n",
        "# AUTHOR: Jane Doe\n# AGENT: Who is that?\nx = 1\n",
        "# LICENSE: MIT\n# AUTHOR: use Apache-2.0\nx = 1\n",
        "# AUTHOR: done\nx = 1\n",
        "# AUTHOR: ping\nx = 1\n",
        "# a.py is where it begins\n# AUTHOR: ping\nx = 1\n",
        "# a.py - begins\n# AUTHOR: naming\nx = 1\n",
        "x = 1\n# a.py - begins\n# AUTHOR: ping\ny = 1\n",
        "# AUTHOR:\nx = 1\n",
        "# AUTHOR: v2\nx = 1\n",
        "# AUTHOR: #123\nx = 1\n",
        "# AUTHOR: self.items\nx = 1\n",
        "# AUTHOR: Python 3\nx = 1\n",
    ] {
        some("a.py", text);
    }
    check(
        "a.py",
        "# FILE: a.py\n# AUTHOR: Jane Doe\n# AUTHOR: is this right?\n# AUTHOR: Jane Doe\n\nx = 1\n# AUTHOR: Jane Doe\ny = 2\n\n# a comment\n# AUTHOR: Jane Doe\n\nz = 3 # AUTHOR: Jane Doe\n",
        expect![[r#"
            Pending
              3 AUTHOR: "is this right?"
              4 AUTHOR: "Jane Doe"
            Pending
              7 AUTHOR: "Jane Doe"
            Pending
              11 AUTHOR: "Jane Doe"
            Pending trailing
              13 AUTHOR: "Jane Doe"
        "#]],
    );
}

#[test]
fn what_is_no_thread_has_a_reason() {
    let check = |path: &str, text: &str, expect: Expect| {
        let syntax = Syntax::parse(text, detect(path, None, text));
        assert_eq!(find(path, text, &syntax), [], "{text}");
        let told: String = not_threads(text, &syntax)
            .iter()
            .map(|none| {
                assert!(marker::parse(&text[none.at..]).is_some());
                format!("{} {}\n", none.line + 1, none.why.sentence())
            })
            .collect();
        expect.assert_eq(&told);
    };
    check(
        "a.rs",
        "// a.rs\n// AUTHOR: Jane Doe\n// AUTHOR: jdoe\nlet s = \"AUTHOR: x?\"; // the AUTHOR: x?\nlet r = r#\"\n// AGENT: x\n\"#;\nmatch AGENT(a): x { MY_AUTHOR: u8 }\n",
        expect![[r#"
            2 it names a person above the file's first code
            3 it names somebody among the fields of a header
            4 it stands in a string
            4 other words stand before it in the comment
            6 it stands in a string
            8 it stands in code, not in a comment
            8 it is the end of a longer word
        "#]],
    );
    check(
        "a.py",
        "# FILE:\n# AUTHOR:\n# DATE:\nx = \"\"\"\n# AUTHOR: x?\n\"\"\"\n",
        expect![[r#"
            2 it is an empty field between others of a form
            5 it stands in a string
        "#]],
    );
    check(
        "a.c",
        "/*\n * AUTHOR:\n * Jane Doe <jane@example.org>\n */\nint a = 'x'; char *s = \"AUTHOR: x\";\n",
        expect![[r#"
            2 it is a header's field with the person's name on the next line
            5 it stands in a string
        "#]],
    );
    check(
        "a.md",
        "AUTHOR: x\n\n```rust\n// AUTHOR: x?\n```\n",
        expect![[r#"
            1 it stands in the text of a document, not in a comment
            4 it stands in the text of a document, not in a comment
        "#]],
    );
    check(
        "a.sql",
        "SELECT '-- AUTHOR: x?', AUTHOR: y;\n",
        expect![[r#"
            1 it stands in a string
            1 it stands in code, not in a comment
        "#]],
    );
}

#[test]
fn ids_come_from_path_and_first_text() {
    let text = "x = 1\n# AUTHOR: same\n\n# AGENT: first\n# AUTHOR: same\n\n# AUTHOR: same\n#   but longer\n\n# AUTHOR: same\n";
    let syntax = Syntax::parse(text, detect("a.py", None, text));
    let ids: Vec<String> = find("src/a.py", text, &syntax)
        .into_iter()
        .map(|thread| thread.id)
        .collect();
    // printf 'src/a.py:same' | sha256sum
    expect![[r#"
        [
            "090bef21",
            "090bef21-2",
            "7678e353",
            "090bef21-3",
        ]
    "#]]
    .assert_debug_eq(&ids);
}

#[test]
fn prefixes_name_one_thread() {
    let ids = ["3f9a01bc", "3f9a01bc-2", "3f9b0000", "77770000"];
    let resolve = |prefix| resolve(prefix, ids.into_iter());
    assert_eq!(resolve("7777"), Ok("77770000".into()));
    assert_eq!(resolve("3F9A01BC"), Ok("3f9a01bc".into()));
    assert_eq!(resolve("3f9a01bc-"), Ok("3f9a01bc-2".into()));
    assert_eq!(resolve("777"), Err(NoThread::TooShort));
    assert_eq!(resolve("1234"), Err(NoThread::Unknown));
    assert_eq!(resolve(""), Err(NoThread::TooShort));
    assert_eq!(
        resolve("3f9a"),
        Err(NoThread::Ambiguous(vec![
            "3f9a01bc".into(),
            "3f9a01bc-2".into()
        ]))
    );
}

#[test]
fn action_words() {
    for (said, action) in [
        ("done", Some(Action::Dismiss)),
        ("  RESET ", Some(Action::Dismiss)),
        ("Commit", Some(Action::Commit)),
        ("commit file", Some(Action::Commit)),
        ("done?", None),
        ("all done", None),
        ("", None),
    ] {
        assert_eq!(action_word(said), action, "{said}");
    }
    let text = "x = 1\n# AUTHOR: why?\n# AGENT: done\n";
    let syntax = Syntax::parse(text, detect("a.py", None, text));
    assert_eq!(find("a.py", text, &syntax)[0].action(), None);
}

#[test]
fn texts_without_a_marker_are_known_at_once() {
    for text in ["", "AUTHOR", "// AUTHORS", "AGENT s", "fn main() {}"] {
        assert!(!may_hold(text.as_bytes()), "{text}");
    }
    for text in [
        "MODULE_AUTHOR(\"Jane\");",
        "x\nCO_AUTHOR: y",
        "xxAGENT(a):",
        " * HOLDER(S) OR AUTHOR(S) BE LIABLE: x",
        "// AUTHOR(a\n): x",
    ] {
        assert!(!may_hold(text.as_bytes()), "{text}");
    }
    for text in [
        "CAUTHOR: fixed-form Fortran",
        "x\ncAGENT: y",
        "//AUTHOR(a):",
        "éAUTHOR:",
    ] {
        assert!(may_hold(text.as_bytes()), "{text}");
    }
    for text in ["// AUTHOR: x", "AGENT(x): y", "\u{0}AGENT:"] {
        assert!(may_hold(text.as_bytes()), "{text}");
    }
}

#[test]
fn near_misses_say_what_was_meant() {
    let text = "fn a() {}\n// Author: why is this so?\n// author(jane): rename it\n// AUTHOR : why?\n// AUTHOR(): why?\n// AUTHOR (jane): why?\n// AGENT(x) : yes\n// rename this AI!\n// AI? what is this\n// Author: Jane Doe\n// the author: said so?\nlet s = \"Author: why?\";\nlet ai = \"AI!\";\n// AUTHOR: fine?\n/* who? AI? */\n";
    let syntax = Syntax::parse(text, detect("a.rs", None, text));
    let found: Vec<String> = near_misses(text, &syntax)
        .into_iter()
        .map(|near| format!("{} -> {}", &text[near.range], near.replacement))
        .collect();
    expect![[r#"
        [
            "Author: -> AUTHOR:",
            "author(jane): -> AUTHOR(jane):",
            "AUTHOR : -> AUTHOR:",
            "AUTHOR(): -> AUTHOR:",
            "AUTHOR (jane): -> AUTHOR(jane):",
            "AGENT(x) : -> AGENT(x):",
            "rename this AI! -> AUTHOR: rename this",
            "AI? -> AUTHOR:",
            "who? AI? -> AUTHOR: who?",
        ]
    "#]]
    .assert_debug_eq(&found);
}

/// A row is one line: an answer would end the table.
#[test]
fn a_marker_in_a_markdown_table_is_hinted_at() {
    let text = "| a | b |\n|---|---|\n| c <!-- AUTHOR: c? --> | d |\n\n<!-- AUTHOR: why? -->\n\n    | a <!-- AUTHOR: no -->\n";
    none("a.md", &text[..text.find("\n\n").unwrap()]);
    let syntax = Syntax::parse(text, detect("a.md", None, text));
    let near = near_misses(text, &syntax);
    assert_eq!(near.len(), 1, "{near:?}");
    assert!(near[0].why.contains("above the table"));
    assert_eq!(text[near[0].range.clone()], *"AUTHOR:");
    assert_eq!(near[0].range.start, text.find("AUTHOR:").unwrap());
}

#[test]
fn blanks_inside_the_parentheses_are_none_of_the_name() {
    check(
        "a.rs",
        "fn a() {}\n// AUTHOR( bob ): why?\n",
        expect![[r#"
            Pending
              2 AUTHOR(bob): "why?"
        "#]],
    );
}

/// In every language's sample, the markers in comments are messages and those elsewhere are not. Where
/// `inside` stands in the line, something other than the leader may stand before the marker.
#[test]
fn every_language_is_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/languages");
    let mut faults = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let syntax = Syntax::parse(&text, detect(&name, None, &text));
        let found = find(&name, &text, &syntax);
        let markers: std::collections::HashSet<usize> = found
            .iter()
            .flat_map(|thread| &thread.messages)
            .map(|m| m.marker.start)
            .collect();
        for (at, _) in text.match_indices("AUTHOR: ") {
            let line = text[at..].lines().next().unwrap_or_default();
            let is_message = line.starts_with("AUTHOR: yes");
            if is_message != markers.contains(&at) && !line.contains("inside") {
                faults.push(format!(
                    "{name}:{}: {line}",
                    text[..at].matches('\n').count() + 1
                ));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

/// Every language of the table reads any text without a panic, and what it finds is there.
mod any_text {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic_and_in_order(
            row in 0..postil_grammars::LANGUAGES.len(),
            text in "(// |# |-- |/\\* | \\*/|<!-- | -->|\\* |AUTHOR: |AGENT: |AUTHOR\\(a\\): |AUTHOR|  |\t|\n|\r\n|\r|x|é|😀|\"|'|\\\\|\\{|\\}|\\PC|Jane Doe|FILE: a){0,40}",
        ) {
            let syntax = Syntax::parse(&text, postil_grammars::LANGUAGES.get(row));
            for found in scan::scan("a", &text, &syntax) {
                prop_assert!(may_hold(text.as_bytes()));
                for row in &found.rows {
                    prop_assert!(text.get(row.span.clone()).is_some() && text.get(row.text.clone()).is_some());
                }
                let mut line = None;
                for message in &found.thread.messages {
                    prop_assert!(text.get(message.range.clone()).is_some());
                    prop_assert!(crate::threads::marker::parse(&text[message.marker.clone()]).is_some());
                    prop_assert!(line.is_none_or(|last| message.line <= last + 1));
                    line = Some(message.last_line);
                }
            }
            near_misses(&text, &syntax);
        }
    }
}

#[test]
fn no_comment_is_in_an_address_without_quotes() {
    let count = |path: &str, text: &str| {
        let syntax = Syntax::parse(text, detect(path, None, text));
        find(path, text, &syntax).len()
    };
    for path in ["a.scss", "a.less", "a.styl"] {
        assert_eq!(count(path, "a { b: url(//c.d/e); // AUTHOR: why?\n}\n"), 1);
        assert_eq!(count(path, "a { b: url(//AUTHOR: no); }\n"), 0, "{path}");
        assert_eq!(count(path, "a { b: url(\"c\") } // AUTHOR: why?\n"), 1);
    }
}
