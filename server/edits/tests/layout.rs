//! How far in what is said stands: in the file as it was said, and as it is shown.

use super::languages::{File, samples, variant};
use super::*;
use proptest::prelude::*;

const CODE: &str =
    "Like so:\n```py\ndef f(a):\n    if a:\n\t\treturn 1\n\n    return 2\n```\n1. one\n   - in it";

fn laid_out(path: &str, text: &str, at: usize) -> String {
    threads(path, text)[0].messages[at].laid_out().into_owned()
}

#[test]
fn code_and_lists_keep_their_blanks() {
    check(
        "a.py",
        "# AUTHOR: how?\nx = 1\n",
        CODE,
        expect![[r#"
            # AUTHOR: how?
            # AGENT: Like so:
            #   ```py
            #   def f(a):
            #       if a:
            #   		return 1
            #
            #       return 2
            #   ```
            #   1. one
            #      - in it
            # AUTHOR:
            x = 1
        "#]],
    );
    for (path, text) in [
        ("a.py", "# AUTHOR: how?\nx = 1\n"),
        ("a.py", "x = 1  # AUTHOR: how?\n"),
        ("a.rs", "    /* AUTHOR: how? */\nfn a() {}\n"),
        ("a.rs", "fn a() {}\n/*\n * AUTHOR: how?\n */\n"),
        ("a.c", "/* AUTHOR: how?\n */\nint x;\n"),
        ("a.c", "/*\n\tAUTHOR: how?\n*/\nint x;\n"),
        ("a.html", "<!-- AUTHOR: how? -->\n<p>a</p>\n"),
        ("a.md", "- a\n  <!-- AUTHOR: how? -->\n"),
        ("a.rst", "a\n\n.. AUTHOR: how?\n\nb\n"),
        ("a.pug", "div\n  //- AUTHOR: how?\n  p a\n"),
        (
            "a.tsx",
            "const a = (\n  <p>\n    {/* AUTHOR: how? */}\n  </p>\n);\n",
        ),
    ] {
        let after = answered(path, text, CODE);
        assert_eq!(laid_out(path, &after, 1), CODE, "{path}:\n{after}");
        let id = threads(path, &after)[0].id.clone();
        let again = write(path, &after, |source| {
            respond(
                source,
                &id,
                Role::Author,
                None,
                "if x:\n    y\nz",
                Style::default(),
            )
        });
        let after = apply_edits(&after, &again.unwrap().edits);
        assert_eq!(laid_out(path, &after, 1), CODE, "{path}:\n{after}");
        assert_eq!(
            laid_out(path, &after, 2),
            "if x:\n    y\nz",
            "{path}:\n{after}"
        );
    }
}

#[test]
fn the_text_is_without_them() {
    let after = answered("a.py", "# AUTHOR: how?\nx = 1\n", "a:\n    b\n  c");
    let threads = threads("a.py", &after);
    assert_eq!(threads[0].messages[1].text, "a:\nb\nc");
    let id = &threads[0].id;
    let again = write("a.py", &after, |source| {
        respond(
            source,
            id,
            Role::Agent,
            None,
            "a:\n    b\n  c",
            Style::default(),
        )
    });
    assert!(again.unwrap().already);
}

#[test]
fn what_all_lines_share_goes() {
    let after = answered(
        "a.py",
        "# AUTHOR: how?\nx = 1\n",
        "\n    a\n      b\n\n    c  \n",
    );
    assert_eq!(laid_out("a.py", &after, 1), "a\n  b\n\nc");
    assert!(after.contains("# AGENT: a\n#     b\n#\n#   c\n"), "{after}");
}

#[test]
fn words_that_a_person_aligned_are_one_text() {
    for (text, said) in [
        (
            "# AUTHOR: why is\n#         this so,\n#           and that?\n",
            "why is\nthis so,\n  and that?",
        ),
        ("# AUTHOR: why\n#     is\n#   this\n", "why\n  is\nthis"),
        ("# AUTHOR:\n#     why\n#       is this\n", "why\n  is this"),
        (
            "/* AUTHOR: why\n           is\n             this */\n",
            "why\nis\n  this",
        ),
    ] {
        let path = if text.starts_with('#') { "a.py" } else { "a.c" };
        assert_eq!(laid_out(path, text, 0), said, "{text}");
    }
}

#[test]
fn no_program_is_made_in_documentation_that_is_tested() {
    check(
        "a.rs",
        "/// AUTHOR: how?\nfn a() {}\n",
        "So:\n\n    a();\n\n```text\nb\n    c\n```",
        expect![[r#"
            /// AUTHOR: how?
            /// AGENT: So:
            ///
            ///   a();
            ///
            ///   ``&#096;text
            ///   b
            ///   c
            ///   ``&#096;
            /// AUTHOR:
            fn a() {}
        "#]],
    );
}

/// The author's words as they are shown, changed to `said`.
fn edited(path: &str, text: &str, said: &str) -> String {
    let thread = threads(path, text).swap_remove(0);
    let was = thread.messages[0].laid_out().into_owned();
    let rewrite = Rewrite {
        at: 0,
        was: &was,
        text: said,
    };
    let written = write(path, text, |source| {
        super::rewrite(source, &thread.id, rewrite)
    });
    apply_edits(text, &written.unwrap().edits)
}

#[test]
fn changed_words_are_shown_as_they_were_said() {
    for (path, text, said) in [
        (
            "a.py",
            "# AUTHOR: why is\n#         this\nx = 1\n",
            "why is\nthis\nmore\n  x",
        ),
        (
            "a.py",
            "# AUTHOR: so\nx = 1\n",
            "run:\n        a\n          b",
        ),
        (
            "a.py",
            "# AUTHOR: a\n#   b\n#         c\nx = 1\n",
            "a\n         c",
        ),
        (
            "a.c",
            "/* AUTHOR: why is\n           this */\nint x;\n",
            "why is\nthis\n  more",
        ),
    ] {
        let after = edited(path, text, said);
        assert_eq!(laid_out(path, &after, 0), said, "{after}");
    }
}

#[test]
fn changed_words_make_no_program_in_documentation_either() {
    for (text, expected) in [
        (
            "/// AUTHOR: so:\n///\n///   a();\nfn a() {}\n",
            "/// AUTHOR: so:\n///\n///   b();\nfn a() {}\n",
        ),
        (
            "/** AUTHOR: so:\n *\n *   a();\n */\nfn a() {}\n",
            "/** AUTHOR: so:\n *\n *   b();\n */\nfn a() {}\n",
        ),
    ] {
        assert_eq!(edited("a.rs", text, "so:\n\n    b();"), expected);
    }
}

#[test]
fn an_answer_that_only_moves_lines_is_another() {
    let text = "# AUTHOR: how?\nx = 1\n";
    let flat = answered("a.py", text, "if a:\nb()\nc()");
    let after = answered("a.py", &flat, "if a:\n    b()\n    c()\nd()");
    assert!(after.contains("#       c()\n#   d()\n"), "{after}");
    let deep = answered("a.py", &flat, "if a:\n    b()\nc()");
    assert!(deep.contains("#       b()\n#   c()\n"), "{deep}");
    // All below the first, moved as one, a person may have aligned.
    for said in ["if a:\n    b()\nc()", "Run:\n\n     make\n       it"] {
        let once = answered("a.py", text, said);
        assert_eq!(answered("a.py", &once, said), once);
    }
}

#[test]
fn a_line_that_is_only_moved_in_is_rewritten() {
    let text = "# AUTHOR: a:\n#   b\n#   c\nx = 1\n";
    let id = threads("a.py", text)[0].id.clone();
    let said = "a:\n    b\nc";
    let rewrite = Rewrite {
        at: 0,
        was: "a:\nb\nc",
        text: said,
    };
    let written = write("a.py", text, |source| super::rewrite(source, &id, rewrite)).unwrap();
    let after = apply_edits(text, &written.edits);
    assert_eq!(after, "# AUTHOR: a:\n#       b\n#   c\nx = 1\n");
    let again = Rewrite {
        was: said,
        ..rewrite
    };
    let again = write("a.py", &after, |source| super::rewrite(source, &id, again)).unwrap();
    assert!(again.already);
}

proptest! {
    #[test]
    fn what_is_said_is_shown_as_far_in_as_it_was(
        sample in any::<prop::sample::Index>(),
        thread in any::<prop::sample::Index>(),
        kind in 0..5usize,
        lines in prop::collection::vec((0..12usize, "[a-z]{1,6}"), 1..6),
    ) {
        let samples = samples();
        let sample = sample.get(&samples);
        let file = File::new(sample, variant(&sample.text, kind));
        let threads = file.threads();
        if !threads.is_empty() {
            let id = threads[thread.index(threads.len())].id.clone();
            let said: Vec<String> = lines
                .iter()
                .enumerate()
                // The first tells how far in the others are.
                .map(|(at, (blanks, word))| " ".repeat(if at == 0 { 0 } else { *blanks }) + word)
                .collect();
            // Exactly below the first words: a person may have aligned them so.
            let below = said.iter().skip(1).map(|line| line.len() - line.trim_start().len());
            prop_assume!(below.min() != Some("AGENT: ".len() - 2));
            let said = said.join("\n");
            if let Ok(written) = respond(file.source(), &id, Role::Agent, None, &said, Style::default()) {
                let after = apply_edits(file.source().text, &written.edits);
                let after = File::new(sample, after);
                let shown = after.threads().into_iter().find(|one| one.id == id);
                let shown = shown.and_then(|one| {
                    let mut answers = one.messages.into_iter().rev();
                    answers.find(|message| message.role == Role::Agent)
                });
                let shown = shown.map(|message| message.laid_out().into_owned());
                let is_tested = sample.name.ends_with(".rs");
                prop_assert!(is_tested || shown.as_deref() == Some(said.as_str()), "{}: {shown:?} {said:?}", sample.name);
            }
        }
    }
}
