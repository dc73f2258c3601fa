//! Lines that go on in the next one: what comes between them breaks them, or is read as their rest.

use super::*;

fn gone(path: &str, text: &str, at: usize) -> String {
    let id = threads(path, text)[at].id.clone();
    let written = write(path, text, |source| dismiss(source, &id)).unwrap();
    apply_edits(text, &written.edits)
}

const COMMENTED_OUT: &str = "int main() {\n  // AUTHOR: is it C:\\tmp\\\n  puts(\"off\");\n  puts(\"b\"); // AUTHOR: or D:\\\n  puts(\"off\"); \\\n  puts(\"off\");\n  puts(\"c\");\n}\n";

/// The compiler of C takes the line below for part of the comment: it must not become code.
#[test]
fn what_a_backslash_makes_part_of_a_comment_stays_so() {
    let first = answered_at("a.c", COMMENTED_OUT, 0, "Yes.");
    let both = answered_at("a.c", &first, 1, "No.\nYes.");
    expect![[r#"
        int main() {
        // AUTHOR: is it C:\tmp\
          puts("off");
        // AGENT: Yes.
        // AUTHOR:
          puts("b"); // AUTHOR: or D:\
          puts("off"); \
          puts("off");
        // AGENT: No.
        //   Yes.
        // AUTHOR:
          puts("c");
        }
    "#]]
    .assert_eq(&both);
    let again = answered_at("a.c", &both, 0, "Yes, it is.");
    assert!(
        again.contains("// AGENT: Yes.\n// AGENT: Yes, it is.\n// AUTHOR:\n"),
        "{again}"
    );
    let written = write("a.c", &both, clear).unwrap();
    expect![[r#"
        int main() {
        // \
          puts("off");
          puts("b"); // \
          puts("off"); \
          puts("off");
          puts("c");
        }
    "#]]
    .assert_eq(&apply_edits(&both, &written.edits));
    assert_eq!(answered_at("a.cpp", COMMENTED_OUT, 0, "Yes."), first);
}

#[test]
fn a_backslash_goes_on_with_a_comment_in_some_languages() {
    let first = answered_at("a.c", COMMENTED_OUT, 0, "Yes.");
    for path in ["a.mm", "a.glsl", "a.dts"] {
        assert_eq!(answered_at(path, COMMENTED_OUT, 0, "Yes."), first, "{path}");
    }
    // Other words would make it code.
    let id = threads("a.c", &first)[0].id.clone();
    let other = Rewrite {
        at: 0,
        was: "is it C:\\tmp\\",
        text: "is it C:\\tmp?",
    };
    let refused = write("a.c", &first, |source| rewrite(source, &id, other));
    assert_eq!(refused, Err(Refused::GoesOn));
    // Elsewhere a backslash is a character, and two of them are one where it is not.
    for (path, leader, end) in [
        ("a.rs", "//", "\\"),
        ("a.py", "#", "\\"),
        ("a.mk", "#", "\\\\"),
    ] {
        let text = format!("{leader} AUTHOR: is it C:{end}\nx = 1\n");
        assert_eq!(
            answered(path, &text, "Yes."),
            format!(
                "{leader} AUTHOR: is it C:{end}\n{leader} AGENT: Yes.\n{leader} AUTHOR:\nx = 1\n"
            )
        );
        assert_eq!(gone(path, &text, 0), "x = 1\n");
    }
    let text = "a = 1\n# AUTHOR: is it C:\\\nb = 2\nc = 3\n";
    assert_eq!(
        answered("a.mk", text, "Yes."),
        text.replace("c =", "# AGENT: Yes.\n# AUTHOR:\nc =")
    );
    assert_eq!(gone("a.mk", text, 0), text.replace("AUTHOR: is it C:", ""));
}

#[test]
fn an_answer_parts_no_line_from_its_rest() {
    for (path, text, above) in [
        (
            "a.ps1",
            "Get-Item a `\n  -Force # AUTHOR: why?\n",
            "Get-Item",
        ),
        ("a.ps1", "# `a`\nGet-Item a # AUTHOR: why?\n", "Get-Item"),
        (
            "a.m",
            "% one\nx = [1, ...  two\n  2]; % AUTHOR: why?\n",
            "x =",
        ),
        ("a.m", "% and so on ...\nx = 'a'; % AUTHOR: why?\n", "x ="),
    ] {
        let leader = if path == "a.m" { "%" } else { "#" };
        let plain = text.replace(&format!(" {leader} AUTHOR: why?"), "");
        let thread = format!("{leader} AUTHOR: why?\n{leader} AGENT: Yes.\n{leader} AUTHOR:\n");
        let expected = plain.replacen(above, &format!("{thread}{above}"), 1);
        assert_eq!(answered(path, text, "Yes."), expected);
        assert_eq!(gone(path, &expected, 0), plain);
    }
}

/// Ruby has comments between the calls of a chain, and no empty line.
#[test]
fn no_empty_line_comes_into_a_chain_of_calls() {
    let text = "a\n  .b # AUTHOR: one?\n  &.c # AUTHOR: two?\n  .d\ne # AUTHOR: three?\nf\n";
    for path in ["a.rb", "a.cr"] {
        let mut all = text.to_owned();
        for at in [0, 1, 2] {
            all = answered_at(path, &all, at, "Yes.");
        }
        let expect = expect![[r#"
            a
            # AUTHOR: one?
            # AGENT: Yes.
            # AUTHOR:
              .b
            # AUTHOR: two?
            # AGENT: Yes.
            # AUTHOR:
              &.c
              .d
            # AUTHOR: three?
            # AGENT: Yes.
            # AUTHOR:
            e
            f
        "#]];
        expect.assert_eq(&all);
    }
    // Where two of them touch.
    let text = "a\n  # AUTHOR: one?\n  .b # AUTHOR: two?\n  .c\n";
    let plain = "a\n  .b\n  .c\n";
    let both = answered_at("a.rb", &answered_at("a.rb", text, 0, "Yes."), 1, "No.");
    expect![[r#"
        a
        # AUTHOR: one?
        # AGENT: Yes.
        # AUTHOR:
        #
        # AUTHOR: two?
        # AGENT: No.
        # AUTHOR:
          .b
          .c
    "#]]
    .assert_eq(&both);
    assert_eq!(gone("a.rb", &gone("a.rb", &both, 0), 0), plain);
    assert_eq!(gone("a.rb", &gone("a.rb", &both, 1), 0), plain);
    let written = write("a.rb", &both, clear).unwrap();
    assert_eq!(apply_edits(&both, &written.edits), plain);
    // Elsewhere an empty line does.
    let text = "# AUTHOR: one?\na # AUTHOR: two?\n..b\n";
    let both = answered_at("a.rb", text, 1, "Yes.");
    assert!(
        both.starts_with("# AUTHOR: one?\n\n# AUTHOR: two?\n"),
        "{both}"
    );
}

/// `{/* */}` is no comment between attributes, `//` is one.
#[test]
fn an_answer_in_a_tag_of_jsx_has_the_comment_of_a_tag() {
    for path in ["a.tsx", "a.jsx", "a.js"] {
        let text =
            "const a = (\n  <Button\n    onClick={f}>{/* AUTHOR: why? */}Text</Button>\n);\n";
        let after = answered(path, text, "Yes.");
        let plain = text.replace("{/* AUTHOR: why? */}", "");
        assert_eq!(
            after,
            plain.replace(
                "    onClick",
                "// AUTHOR: why?\n// AGENT: Yes.\n// AUTHOR:\n    onClick"
            ),
            "{path}"
        );
        assert_eq!(gone(path, &after, 0), plain);
        // Between the tags, in an attribute, and behind one.
        let text = "const a = (\n  <div>\n    <b>x</b> {/* AUTHOR: why? */}\n  </div>\n);\n";
        assert!(answered(path, text, "Yes.").contains("<div>\n{/* AUTHOR: why? */}\n{/* AGENT"));
        let text = "const a = (\n  <A\n    b={\n      <div>\n        <i>x</i>{/* AUTHOR: why? */}\n      </div>}\n  />\n);\n";
        assert!(answered(path, text, "Yes.").contains("<div>\n{/* AUTHOR: why? */}\n{/* AGENT"));
        let text = "const a = (\n  <A\n    b={1} // AUTHOR: why?\n  />\n);\n";
        assert!(answered(path, text, "Yes.").contains("<A\n// AUTHOR: why?\n// AGENT"));
    }
}

/// A blank that does not break is one, before a marker and before what continues it.
#[test]
fn another_blank_before_a_marker_is_none_in_the_answer() {
    let text = "#\u{a0}AUTHOR: why?\n#\u{a0}  really?\nx = 1 #\u{a0}AUTHOR: two?\n";
    assert_eq!(threads("a.py", text)[0].messages[0].text, "why?\nreally?");
    let after = answered_at("a.py", &answered_at("a.py", text, 0, "a\nb"), 1, "a\nb");
    assert_eq!(
        after,
        "#\u{a0}AUTHOR: why?\n#\u{a0}  really?\n# AGENT: a\n#   b\n# AUTHOR:\n\n# AUTHOR: two?\n# AGENT: a\n#   b\n# AUTHOR:\nx = 1\n"
    );
}

#[test]
fn no_answer_is_an_argument_to_a_batch_file() {
    for leader in ["REM", "::"] {
        let text = format!("{leader} AUTHOR: why?\necho a\n");
        let after = answered("a.bat", &text, "It is %~dp0, %%~x.");
        assert!(after.contains("It is %&#0126;dp0, %%&#0126;x."), "{after}");
        assert_eq!(
            threads("a.bat", &after)[0].messages[1].text,
            "It is %~dp0, %%~x."
        );
    }
}
