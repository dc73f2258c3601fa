mod back;
mod continued;
mod directives;
mod go;
mod indentation;
mod languages;
mod layout;
mod new;
mod notebooks;
mod places;
mod properties;
mod quotes;
mod removed;
mod rewritten;

use expect_test::{Expect, expect};

use super::*;
use crate::comments::detect;
use crate::text::apply_edits;
use crate::threads::{Thread, find};

fn threads(path: &str, text: &str) -> Vec<Thread> {
    find(path, text, &Syntax::parse(text, detect(path, None, text)))
}

fn write<T>(
    path: &str,
    text: &str,
    plan: impl Fn(Source) -> Result<T, Refused>,
) -> Result<T, Refused> {
    let syntax = Syntax::parse(text, detect(path, None, text));
    plan(Source {
        path,
        text,
        syntax: &syntax,
    })
}

/// The text after the agent said `said` in the first thread.
fn answered(path: &str, text: &str, said: &str) -> String {
    answered_at(path, text, 0, said)
}

/// The same in the thread at this place.
fn answered_at(path: &str, text: &str, at: usize, said: &str) -> String {
    let id = threads(path, text)
        .get(at)
        .map(|thread| thread.id.clone())
        .unwrap_or_default();
    let written = write(path, text, |source| {
        respond(source, &id, Role::Agent, None, said, Style::default())
    })
    .unwrap();
    apply_edits(text, &written.edits)
}

fn check(path: &str, text: &str, said: &str, expect: Expect) {
    expect.assert_eq(&answered(path, text, said));
}

#[test]
fn an_answer_stands_below_with_an_empty_author_line() {
    check(
        "a.rs",
        "fn a() {}\n// AUTHOR: should we rename this to load_data?\npub async fn load() {}\n",
        "Renamed. Better reflects async nature.",
        expect![[r#"
            fn a() {}
            // AUTHOR: should we rename this to load_data?
            // AGENT: Renamed. Better reflects async nature.
            // AUTHOR:
            pub async fn load() {}
        "#]],
    );
    check(
        "a.py",
        "def f():\n    # AUTHOR: why?\n    #   so\n    return 1\n",
        "One.\n\n  Two.\n",
        expect![[r#"
            def f():
            # AUTHOR: why?
            #   so
            # AGENT: One.
            #
            #     Two.
            # AUTHOR:
                return 1
        "#]],
    );
}

#[test]
fn an_answer_stands_above_what_the_author_has_said_since() {
    for (path, text, expected) in [
        (
            "a.rs",
            "fn a() {} // AUTHOR: why?\n// AUTHOR: wait\n",
            "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR: wait\nfn a() {}\n",
        ),
        (
            "a.c",
            "/* AUTHOR: why?\n   AUTHOR: wait */\nint a;\n",
            "/* AUTHOR: why?\n   AGENT: So.\n   AUTHOR: wait */\nint a;\n",
        ),
        (
            "a.c",
            "/* AUTHOR: why? */\n/* AGENT(b): No. */\n/* AUTHOR: wait\n   for me */\n/* AUTHOR: */\n",
            "/* AUTHOR: why? */\n/* AGENT(b): No. */\n/* AGENT: So.\n   AUTHOR: wait\n   for me */\n/* AUTHOR: */\n",
        ),
        (
            "a.py",
            "# AUTHOR: why?\n# AUTHOR:\n",
            "# AUTHOR: why?\n# AGENT: So.\n# AUTHOR:\n",
        ),
    ] {
        let id = threads(path, text)[0].id.clone();
        let written = write(path, text, |source| {
            answer(source, &id, 1, None, "So.", Style::default())
        });
        assert_eq!(
            apply_edits(text, &written.unwrap().edits),
            expected,
            "{path}"
        );
    }
}

#[test]
fn a_line_for_the_author_is_made_where_none_waits() {
    for (text, expected) in [
        (
            "// AUTHOR: why?\n// AGENT: So.\n",
            "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR:\n",
        ),
        (
            "/* AUTHOR: why?\n   AGENT: So. */\nfn a() {}\n",
            "/* AUTHOR: why?\n   AGENT: So.\n   AUTHOR: */\nfn a() {}\n",
        ),
        ("// AUTHOR: why?\n", "// AUTHOR: why?\n"),
    ] {
        let id = threads("a.rs", text)[0].id.clone();
        let written = write("a.rs", text, |source| {
            make_room(source, &id, Style::default())
        });
        assert_eq!(apply_edits(text, &written.unwrap().edits), expected);
    }
}

#[test]
fn edits_that_touch_at_the_end_of_a_text_are_one() {
    let delete = |range| Edit {
        range,
        text: String::new(),
    };
    assert_eq!(
        merged("ab\nc", vec![delete(1..2), delete(3..4)]),
        [delete(1..4)]
    );
}

/// Found by fuzzing: a tree that is updated and one made anew read broken code differently, and the file
/// that was written is read anew.
#[test]
fn in_broken_code_a_write_reads_back_from_a_tree_made_anew() {
    let case: &[u8] = include_bytes!("../../fuzz/corpus/writer/broken-c");
    let (_, rest) = case.split_at("@c.c\n".len() + 3);
    let end = rest.iter().position(|byte| *byte == 0xff).unwrap();
    let said = String::from_utf8_lossy(&rest[..end]).into_owned();
    let text = String::from_utf8_lossy(&rest[end + 1..]).into_owned();
    let before = threads("src/file.c", &text);
    assert!(before.len() > 1);
    let texts = |thread: &Thread| -> Vec<String> {
        thread.messages.iter().map(|m| m.text.clone()).collect()
    };
    for thread in &before {
        let written = write("src/file.c", &text, |source| {
            let style = Style::default();
            respond(
                source,
                &thread.id,
                Role::Agent,
                Some("claude"),
                &said,
                style,
            )
        });
        let Ok(written) = written else { continue };
        let after = threads("src/file.c", &apply_edits(&text, &written.edits));
        for other in before.iter().filter(|other| other.id != thread.id) {
            assert!(after.iter().any(|t| texts(t) == texts(other)), "{other:?}");
        }
    }
}

/// Found by fuzzing: the same of code inside a text that has no errors of its own.
#[test]
fn in_broken_code_inside_other_code_a_write_reads_back_from_a_tree_made_anew() {
    let script = "<script>//AUTHOR:yes\nlet m=\"<O\no-->\";/*AUTHOR:yes*/";
    for (path, end) in [
        ("a.razor", ""),
        ("a.razor", "\n</script>\n"),
        ("a.html", "\n</script>\n"),
    ] {
        let text = format!("{script}{end}");
        let before = threads(path, &text);
        let id = &before[1].id;
        let written = write(path, &text, |source| {
            respond(source, id, Role::Agent, None, ".", Style::default())
        });
        let Ok(written) = written else {
            assert_eq!(written, Err(Refused::Unreadable), "{path}");
            continue;
        };
        let after = threads(path, &apply_edits(&text, &written.edits));
        let answered = after.iter().find(|thread| thread.id == *id);
        let said = answered.map(|thread| thread.messages.len());
        assert_eq!((said, after.len()), (Some(3), before.len()), "{path}");
    }
}

#[test]
fn an_empty_author_line_stays_the_last() {
    check(
        "a.rs",
        "// AUTHOR: a?\n// AUTHOR:\nfn a() {}",
        "b",
        expect![[r#"
            // AUTHOR: a?
            // AGENT: b
            // AUTHOR:
            fn a() {}"#]],
    );
}

#[test]
fn trailing_markers_move_above_their_code() {
    check(
        "a.rs",
        "fn a() {\n    foo(); // AUTHOR: why?\n    // AUTHOR: and this?\n    bar();\n}\n",
        "So.",
        expect![[r#"
            fn a() {
            // AUTHOR: why?
            // AUTHOR: and this?
            // AGENT: So.
            // AUTHOR:
                foo();
                bar();
            }
        "#]],
    );
    check(
        "a.ts",
        "foo();\nf(a, /* AUTHOR: why 2? */ 2);\n",
        "So.\nTwo.",
        expect![[r#"
            foo();
            /* AUTHOR: why 2? */
            /* AGENT: So. */
            /*   Two. */
            /* AUTHOR: */
            f(a, 2);
        "#]],
    );
    // Not between a line and its continuation, nor inside a string.
    check(
        "a.c",
        "int a;\n#define X(a) \\\n  foo(a) \\\n  bar(a) // AUTHOR: why?\nint b;\n",
        "So.",
        expect![[r#"
            int a;
            // AUTHOR: why?
            // AGENT: So.
            // AUTHOR:
            #define X(a) \
              foo(a) \
              bar(a)
            int b;
        "#]],
    );
    check(
        "a.js",
        "a();\nconst s = `\n  x\n  y`; // AUTHOR: why?\n",
        "So.",
        expect![[r#"
            a();
            // AUTHOR: why?
            // AGENT: So.
            // AUTHOR:
            const s = `
              x
              y`;
        "#]],
    );
    // Two threads that touch would be one.
    check(
        "a.py",
        "x = 1 # AUTHOR: second?\n",
        "So.",
        expect![[r#"
            # AUTHOR: second?
            # AGENT: So.
            # AUTHOR:
            x = 1
        "#]],
    );
}

#[test]
fn a_moved_thread_does_not_run_into_the_one_above() {
    let text = "# AUTHOR: first?\nx = 1 # AUTHOR: second?\n";
    let id = threads("a.py", text)[1].id.clone();
    let written = write("a.py", text, |source| {
        respond(source, &id, Role::Agent, None, "So.", Style::default())
    })
    .unwrap();
    expect![[r#"
        # AUTHOR: first?

        # AUTHOR: second?
        # AGENT: So.
        # AUTHOR:
        x = 1
    "#]]
    .assert_eq(&apply_edits(text, &written.edits));
}

#[test]
fn indentation_may_be_kept() {
    let text = "def f():\n    x = 1 # AUTHOR: why?\n";
    let id = threads("a.py", text)[0].id.clone();
    let style = Style {
        keep_indentation: true,
    };
    let written = write("a.py", text, |source| {
        respond(source, &id, Role::Agent, Some("claude"), "So.\nYes.", style)
    })
    .unwrap();
    expect![[r#"
        def f():
            # AUTHOR: why?
            # AGENT(claude): So.
            #   Yes.
            # AUTHOR:
            x = 1
    "#]]
    .assert_eq(&apply_edits(text, &written.edits));
}

#[test]
fn block_comments_keep_their_form() {
    check(
        "a.c",
        "int a;\n    /**\n     * AUTHOR: why?\n     * More of the comment.\n     */\nint b;\n",
        "So.\nTwo.",
        expect![[r#"
            int a;
                /**
                 * AUTHOR: why?
                 * AGENT: So.
                 *   Two.
                 * AUTHOR:
                 * More of the comment.
                 */
            int b;
        "#]],
    );
    check(
        "a.c",
        "int a;\n/* AUTHOR: why?\n   AUTHOR: and this? */\nint b;\n",
        "So.\n\nTwo.",
        expect![[r#"
            int a;
            /* AUTHOR: why?
               AUTHOR: and this?
               AGENT: So.

                 Two.
               AUTHOR: */
            int b;
        "#]],
    );
    check(
        "a.c",
        "int a;\n/* AUTHOR: why?\n */\nint b;\n",
        "So.",
        expect![[r#"
            int a;
            /* AUTHOR: why?
             * AGENT: So.
             * AUTHOR:
             */
            int b;
        "#]],
    );
    check(
        "a.html",
        "<p>Hello <!-- AUTHOR: who? --> you</p>\n<!--\nnote\n-->\n",
        "World --> x",
        expect![[r#"
            <!-- AUTHOR: who? -->
            <!-- AGENT: World --&#062; x -->
            <!-- AUTHOR: -->
            <p>Hello you</p>
            <!--
            note
            -->
        "#]],
    );
    check(
        "a.tsx",
        "const a = () => (\n  <div>\n    <p>x</p> {/* AUTHOR: two? */}\n  </div>\n);\n",
        "So.",
        expect![[r#"
            const a = () => (
              <div>
            {/* AUTHOR: two? */}
            {/* AGENT: So. */}
            {/* AUTHOR: */}
                <p>x</p>
              </div>
            );
        "#]],
    );
}

#[test]
fn dangerous_answers_are_escaped() {
    check(
        "a.c",
        "int a;\n/* AUTHOR: why? */\nint b;\n",
        "a */ b\nAUTHOR: fake\nAGENT(x): fake\n\u{1b}[31m &#047;",
        expect![[r#"
            int a;
            /* AUTHOR: why? */
            /* AGENT: a *&#047; b */
            /*   AUTHOR&#058; fake */
            /*   AGENT(x)&#058; fake */
            /*   &#027;[31m &#038;#047; */
            /* AUTHOR: */
            int b;
        "#]],
    );
    check(
        "a.c",
        "// AUTHOR: why?\nint b;\n",
        "ends in \\",
        expect![[r#"
            // AUTHOR: why?
            // AGENT: ends in &#092;
            // AUTHOR:
            int b;
        "#]],
    );
}

#[test]
fn an_answer_keeps_byte_order_mark_line_ends_and_blanks() {
    check(
        "a.rs",
        "\u{feff}// AUTHOR: a?\r\nfn a() {}  \r\nfn b() {}\n",
        "b",
        expect!["\u{feff}// AUTHOR: a?\r\n// AGENT: b\r\n// AUTHOR:\r\nfn a() {}  \r\nfn b() {}\n"],
    );
    check(
        "a.rs",
        "fn a() {}\r\n// AUTHOR: a?",
        "b",
        expect!["fn a() {}\r\n// AUTHOR: a?\r\n// AGENT: b\r\n// AUTHOR:"],
    );
    check(
        "a.rs",
        "\tfn a() {} // AUTHOR: a?",
        "b",
        expect!["// AUTHOR: a?\n// AGENT: b\n// AUTHOR:\n\tfn a() {}"],
    );
}

#[test]
fn saying_the_same_again_changes_nothing() {
    let text = "// AUTHOR: a?\n// AGENT: b\n//   c\n// AUTHOR:\nfn a() {}\n";
    let id = threads("a.rs", text)[0].id.clone();
    let again = |role, said: &str| {
        write("a.rs", text, |source| {
            respond(source, &id, role, None, said, Style::default())
        })
    };
    let already = again(Role::Agent, " b\n c ").unwrap();
    assert!(already.already && already.edits.is_empty());
    assert!(!again(Role::Agent, "d").unwrap().already);
    assert_eq!(again(Role::Agent, " \n\t"), Err(Refused::Empty));
    assert_eq!(
        write("a.rs", text, |source| respond(
            source,
            "00000000",
            Role::Agent,
            None,
            "x",
            Style::default()
        )),
        Err(Refused::Gone)
    );
}

#[test]
fn the_author_fills_the_empty_line() {
    let say = |text: &str, said: &str| {
        let id = threads("a.rs", text)[0].id.clone();
        let written = write("a.rs", text, |source| {
            respond(source, &id, Role::Author, None, said, Style::default())
        })
        .unwrap();
        apply_edits(text, &written.edits)
    };
    let asked = "// AUTHOR: a?\n// AGENT: b\n// AUTHOR(jane): \nfn a() {}\n";
    assert_eq!(
        say(asked, "no\nnever"),
        "// AUTHOR: a?\n// AGENT: b\n// AUTHOR(jane): no\n//   never\nfn a() {}\n"
    );
    assert_eq!(
        say("// AUTHOR: a?\n// AGENT: b\nfn a() {}\n", "no"),
        "// AUTHOR: a?\n// AGENT: b\n// AUTHOR: no\nfn a() {}\n"
    );
    assert_eq!(
        say("/* AUTHOR: */\nfn a() {}\n", "no?\nyes"),
        "/* AUTHOR: no? */\n/*   yes */\nfn a() {}\n"
    );
    assert_eq!(
        say("fn a() {}\n/*\n * AUTHOR: */\n", "no"),
        "fn a() {}\n/*\n * AUTHOR: no */\n"
    );
    assert_eq!(
        say("fn a() {} // AUTHOR:\n", "no"),
        "// AUTHOR: no\nfn a() {}\n"
    );
}

#[test]
fn edits_that_change_threads_are_told() {
    let text = "fn a() {\n    foo(); // AUTHOR: a?\n}\n// AUTHOR: b?\n// AGENT: c\nfn b() {}\n";
    let touches = |from: &str, to: &str| {
        let start = text.find(from).unwrap();
        let edit = Edit {
            range: start..start + from.len(),
            text: to.into(),
        };
        write("a.rs", text, |source| {
            Ok::<_, Refused>(touches_threads(source, std::slice::from_ref(&edit)))
        })
        .unwrap()
    };
    assert!(!touches("foo()", "bar(1)"));
    assert!(!touches("fn b() {}", "fn c() {}\n"));
    assert!(!touches(
        "}\n// AUTHOR: b?",
        "}\nfn x() {}\n\n// AUTHOR: b?"
    ));
    assert!(!touches("fn a() {\n", ""));
    assert!(touches("// AGENT: c\n", ""));
    assert!(touches("// AGENT: c\n", "// AGENT: d\n"));
    assert!(touches("// AGENT: c\n", "  // AGENT: c\n"));
    assert!(touches("// AGENT: c\n", "fn x() {}\n// AGENT: c\n"));
    assert!(touches("fn b() {}\n", "// AUTHOR: new\nfn b() {}\n"));
    assert!(touches("// AUTHOR: a?", ""));
}

#[test]
fn two_markers_on_one_line() {
    let text = "int f(int a, /* AUTHOR: yes */ int b) { return a; } // AUTHOR: yes\nint a;\n";
    let both: Vec<String> = threads("a.c", text)
        .iter()
        .map(|thread| {
            let written = write("a.c", text, |source| {
                respond(
                    source,
                    &thread.id,
                    Role::Agent,
                    None,
                    "So.",
                    Style::default(),
                )
            });
            apply_edits(text, &written.unwrap().edits)
        })
        .collect();
    // The second stays below: above, it would be the first that said the same.
    expect![[r#"
        [
            "/* AUTHOR: yes */\n/* AGENT: So. */\n/* AUTHOR: */\nint f(int a, int b) { return a; } // AUTHOR: yes\nint a;\n",
            "int f(int a, /* AUTHOR: yes */ int b) { return a; } // AUTHOR: yes\n// AGENT: So.\n// AUTHOR:\nint a;\n",
        ]
    "#]]
    .assert_debug_eq(&both);
}

/// Directly above it would go on with the thread there.
#[test]
fn a_trailing_thread_below_another_stays_above_its_own_statement() {
    for (path, text, after) in [
        (
            "a.py",
            "B = 2\n\n# AUTHOR: one\nS = \"\"\"\ntext\n\"\"\"  # AUTHOR: two\n",
            "B = 2\n\n# AUTHOR: one\n\n# AUTHOR: two\n# AGENT: So.\n# AUTHOR:\nS = \"\"\"\ntext\n\"\"\"\n",
        ),
        (
            "a.rs",
            "g();\n// AUTHOR: one\nlet s = \"x\n    y\"; // AUTHOR: two\n",
            "g();\n// AUTHOR: one\n\n// AUTHOR: two\n// AGENT: So.\n// AUTHOR:\nlet s = \"x\n    y\";\n",
        ),
    ] {
        assert_eq!(answered_at(path, text, 1, "So."), after);
    }
}

/// Such a language reads its comments for strings.
#[test]
fn an_answer_begins_no_string_in_a_comment() {
    for said in [
        "use \"\\\" here",
        "use '\"' and \"",
        "use {| quoted",
        "{a_b|",
    ] {
        let text = answered("a.ml", "(* AUTHOR: why *)\nlet a = 1\n", said);
        let answer = text.lines().nth(1).unwrap_or_default();
        assert!(!answer.contains(['"', '{']), "{answer}");
        assert_eq!(threads("a.ml", &text)[0].messages[1].text, said);
    }
    let text = answered("a.ml", "(* AUTHOR: why *)\n", "a \"b\" {c}");
    assert!(text.contains("a \"b\" {c}"), "{text}");
}
