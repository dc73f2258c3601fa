//! Threads above what they could be the documentation of: gofmt would write them anew.

use super::*;

/// The text after an answer of several lines to the first thread, and after that thread is gone, which has to be what is
/// left without an answer.
fn check_go(text: &str, expect: Expect) {
    let after = answered("a.go", text, "So.\n  - one");
    let gone = |text: &str| {
        let id = threads("a.go", text)
            .iter()
            .find(|thread| thread.messages[0].text.starts_with("why"))
            .map(|thread| thread.id.clone())
            .unwrap_or_default();
        let written = write("a.go", text, |source| dismiss(source, &id)).unwrap();
        apply_edits(text, &written.edits)
    };
    assert_eq!(gone(&after), gone(text));
    expect.assert_eq(&after);
}

#[test]
fn an_answer_above_a_declaration_keeps_an_empty_line_below() {
    check_go(
        "// AUTHOR: why?\npackage a\n",
        expect![[r#"
            // AUTHOR: why?
            // AGENT: So.
            //     - one
            // AUTHOR:

            package a
        "#]],
    );
    check_go(
        "package a\n\n// AUTHOR: why?\nfunc F() {}\n",
        expect![[r#"
            package a

            // AUTHOR: why?
            // AGENT: So.
            //     - one
            // AUTHOR:

            func F() {}
        "#]],
    );
    assert_eq!(
        answered(
            "a.go",
            "package a\r\n\r\n// AUTHOR: why?\r\nfunc F() {}",
            "So."
        ),
        "package a\r\n\r\n// AUTHOR: why?\r\n// AGENT: So.\r\n// AUTHOR:\r\n\r\nfunc F() {}"
    );
    // Where there is one already, and where there is no declaration.
    check_go(
        "package a\n\n// AUTHOR: why?\n\nfunc F() {}\n",
        expect![[r#"
            package a

            // AUTHOR: why?
            // AGENT: So.
            //     - one
            // AUTHOR:

            func F() {}
        "#]],
    );
    check_go(
        "package a\n\nfunc F() {\n\t// AUTHOR: why?\n\tg()\n}\n",
        expect![[r#"
            package a

            func F() {
            // AUTHOR: why?
            // AGENT: So.
            //     - one
            // AUTHOR:
            	g()
            }
        "#]],
    );
}

#[test]
fn an_answer_behind_a_declaration_moves_above_it_and_its_documentation() {
    check_go(
        "package a\n\nvar a = 1\nvar b = 2 // AUTHOR: why?\n",
        expect![[r#"
            package a

            var a = 1
            // AUTHOR: why?
            // AGENT: So.
            //     - one
            // AUTHOR:

            var b = 2
        "#]],
    );
    check_go(
        "package a\n\n// T is one.\n//\n// It is.\ntype T struct { // AUTHOR: why?\n\ta int\n}\n",
        expect![[r#"
            package a

            // AUTHOR: why?
            // AGENT: So.
            //     - one
            // AUTHOR:

            // T is one.
            //
            // It is.
            type T struct {
            	a int
            }
        "#]],
    );
    check_go(
        "package a\n\nfunc F() {\n\tg()\n} // AUTHOR: why?\n",
        expect![[r#"
            package a

            func F() {
            	g()
            // AUTHOR: why?
            // AGENT: So.
            //     - one
            // AUTHOR:

            }
        "#]],
    );
}

#[test]
fn an_answer_parts_no_documentation_from_its_declaration() {
    // Above it.
    check_go(
        "package a\n\n// AUTHOR: why?\n// F does it.\nfunc F() {}\n",
        expect![[r#"
            package a

            // AUTHOR: why?
            // AGENT: So.
            //     - one
            // AUTHOR:

            // F does it.
            func F() {}
        "#]],
    );
    // Below it, and within.
    for (text, kept) in [
        (
            "// F does it.\n// AUTHOR: why?\nfunc F() {}\n",
            "// F does it.\n",
        ),
        (
            "// F does it.\n// AUTHOR: why?\n// And more.\nfunc F() {}\n",
            "// F does it.\n// And more.\n",
        ),
        (
            "/* F does it. */\n// AUTHOR: why?\nfunc F() {}\n",
            "/* F does it. */\n",
        ),
        (
            "//go:embed a.txt\n// AUTHOR: why?\nfunc F() {}\n",
            "//go:embed a.txt\n",
        ),
    ] {
        let after = answered("a.go", &format!("package a\n\n{text}"), "Yes.");
        assert_eq!(
            after,
            format!(
                "package a\n\n// AUTHOR: why?\n// AGENT: Yes.\n// AUTHOR:\n\n{kept}func F() {{}}\n"
            )
        );
        let id = threads("a.go", &after)[0].id.clone();
        let written = write("a.go", &after, |source| dismiss(source, &id)).unwrap();
        assert_eq!(
            apply_edits(&after, &written.edits),
            format!("package a\n\n{kept}func F() {{}}\n")
        );
    }
}

#[test]
fn a_block_comment_and_a_reply_keep_the_empty_line() {
    check_go(
        "package a\n\n/*\nAUTHOR: why?\n*/\nfunc F() {}\n",
        expect![[r#"
            package a

            /*
            AUTHOR: why?
            AGENT: So.
                - one
            AUTHOR:
            */

            func F() {}
        "#]],
    );
    let text = "package a\n\n// AGENT: So?\n// AUTHOR:\nfunc F() {}\n";
    let id = threads("a.go", text)[0].id.clone();
    let written = write("a.go", text, |source| {
        respond(
            source,
            &id,
            Role::Author,
            None,
            "No.\nYes.",
            Style::default(),
        )
    });
    assert_eq!(
        apply_edits(text, &written.unwrap().edits),
        "package a\n\n// AGENT: So?\n// AUTHOR: No.\n//   Yes.\n\nfunc F() {}\n"
    );
}

#[test]
fn a_new_thread_stands_apart_from_a_declaration() {
    let begun = |text: &str, line: usize| {
        let written = write("a.go", text, |source| {
            new_thread(source, line, "why?\nreally?", Style::default())
        });
        let (written, cursor) = written.unwrap();
        let after = apply_edits(text, &written.edits);
        assert!(after[..cursor].ends_with("really?"));
        after
    };
    assert_eq!(
        begun("package a\n\nfunc F() {}\n", 2),
        "package a\n\n// AUTHOR: why?\n//   really?\n\nfunc F() {}\n"
    );
    let documented = "package a\n\n// F does it.\n// It does.\nfunc F() {}\n";
    for line in [2, 3, 4] {
        assert_eq!(
            begun(documented, line),
            documented.replace("// F", "// AUTHOR: why?\n//   really?\n\n// F"),
        );
    }
    assert_eq!(
        begun("package a\n\nfunc F() {\n\tg()\n}\n", 3),
        "package a\n\nfunc F() {\n// AUTHOR: why?\n//   really?\n\tg()\n}\n"
    );
}

/// What may have been the author's stays.
#[test]
fn an_empty_line_that_may_be_the_authors_stays() {
    let gone = |text: &str| {
        let written = write("a.go", text, clear).unwrap();
        apply_edits(text, &written.edits)
    };
    assert_eq!(
        gone("var a = 1\n// AUTHOR: another?\n\nvar b = 2\n"),
        "var a = 1\n\nvar b = 2\n"
    );
    assert_eq!(
        gone("var a = 1\n// AUTHOR: another?\n// AGENT: No.\n\nfunc F() {}\n"),
        "var a = 1\n\nfunc F() {}\n"
    );
    assert_eq!(
        gone("func F() {}\n\n// AUTHOR: one?\n\n// AUTHOR: two?\n\nfunc G() {}\n"),
        "func F() {}\n\nfunc G() {}\n"
    );
}
