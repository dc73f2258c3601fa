//! What dismissing and clearing leave.

use super::*;

fn dismissed(path: &str, text: &str) -> (String, usize) {
    let id = threads(path, text)[0].id.clone();
    let written = write(path, text, |source| dismiss(source, &id)).unwrap();
    (apply_edits(text, &written.edits), written.lines_removed)
}

#[test]
fn dismissing_removes_the_threads_lines() {
    let gone = |path, text: &str| dismissed(path, text).0;
    assert_eq!(
        dismissed(
            "a.rs",
            "fn a() {}\n    // AUTHOR: a?\n    //   b\n// AGENT: c\n// AUTHOR:\nfn b() {}\n"
        ),
        ("fn a() {}\nfn b() {}\n".into(), 4)
    );
    assert_eq!(
        gone("a.rs", "foo(); // AUTHOR: a?\n// AGENT: b\nbar();\n"),
        "foo();\nbar();\n"
    );
    assert_eq!(gone("a.rs", "f(a, /* AUTHOR: a? */ 2);\n"), "f(a, 2);\n");
    assert_eq!(gone("a.rs", "f(/* AUTHOR: a? */ a);\n"), "f(a);\n");
    assert_eq!(gone("a.c", "int/* AUTHOR: a? */a;\n"), "int a;\n");
    assert_eq!(gone("a.c", "f() /* AUTHOR: a? */;\n"), "f();\n");
    assert_eq!(gone("a.c", "  /* AUTHOR: a? */ f();\n"), "  f();\n");
    assert_eq!(gone("a.rs", "fn a() {}\r\n// AUTHOR: a?"), "fn a() {}");
    assert_eq!(gone("a.rs", "\u{feff}// AUTHOR: a?"), "\u{feff}");
    assert_eq!(
        gone(
            "a.c",
            "int a;\n/*\n * AUTHOR: a?\n * AGENT: b\n */\nint b;\n"
        ),
        "int a;\nint b;\n"
    );
    assert_eq!(
        gone(
            "a.c",
            "int a;\n/*\n * text\n * AUTHOR: a?\n * AGENT: b */\nint b;\n"
        ),
        "int a;\n/*\n * text\n */\nint b;\n"
    );
    assert_eq!(
        gone("a.c", "int a;\n/* AUTHOR: a?\n * text\n */\nint b;\n"),
        "int a;\n/*\n * text\n */\nint b;\n"
    );
    assert_eq!(
        gone("a.tsx", "const a = <div>\n  {/* AUTHOR: a? */}\n</div>;\n"),
        "const a = <div>\n</div>;\n"
    );
    // A blank of the page more or less would be seen.
    for (path, text, left) in [
        ("a.html", "<b>a</b><!-- AUTHOR: a? --> b\n", "<b>a</b> b\n"),
        ("a.html", "a<!-- AUTHOR: a? -->. B\n", "a. B\n"),
        ("a.md", "**a**<!-- AUTHOR: a? -->.\n", "**a**.\n"),
        (
            "a.tsx",
            "<p>{n}{/* AUTHOR: a? */} b</p>;\n",
            "<p>{n} b</p>;\n",
        ),
    ] {
        assert_eq!(gone(path, text), left);
    }
    // What is left does not become one thread.
    assert_eq!(
        gone("a.py", "x = 1\n# AUTHOR: a?\ny = 2\n# AUTHOR: b?\n"),
        "x = 1\ny = 2\n# AUTHOR: b?\n"
    );
}

#[test]
fn clearing_removes_all() {
    let text = "# FILE: a\n# AUTHOR: Jane Doe\n# AUTHOR: a?\nx = 1 # AUTHOR: b?\n# AGENT: c\n\n# AUTHOR: d?\n";
    let written = write("a.py", text, clear).unwrap();
    assert_eq!(
        apply_edits(text, &written.edits),
        "# FILE: a\n# AUTHOR: Jane Doe\nx = 1\n\n"
    );
    assert_eq!(written.lines_removed, 4);
    assert_eq!(write("a.py", "x = 1\n", clear), Err(Refused::NoThreads));
}

/// Where comments nest, a message may open one that ends behind it.
#[test]
fn what_would_turn_the_rest_of_a_comment_into_code_is_not_removed() {
    let nested = "fn a() {}\n/* AUTHOR: why /* this\n   still */ here\n   and more */\nfn b() {}\n";
    let id = threads("a.rs", nested)[0].id.clone();
    let refused = |plan: &dyn Fn(Source) -> Result<Written, Refused>| {
        assert_eq!(write("a.rs", nested, plan).err(), Some(Refused::Breaks));
    };
    refused(&|source| dismiss(source, &id));
    refused(&|source| clear(source));
    // One that it ends itself goes with it.
    let whole = "/* AUTHOR: why /* this */ here\n   and more */\nfn b() {}\n";
    assert_eq!(
        dismissed("a.rs", whole).0,
        "/*\n   and more */\nfn b() {}\n"
    );
}

/// The empty line that keeps two threads apart goes with one of them, where it would be a second one in a row, or the
/// first or last line.
#[test]
fn an_empty_line_between_two_threads_goes_with_one_of_them() {
    let text = "# AUTHOR: one?\nx = 1  # AUTHOR: two?\ny = 2\n";
    let first = answered_at("c.py", text, 0, "Yes.");
    let both = answered_at("c.py", &first, 1, "Yes.");
    assert!(both.contains("# AUTHOR:\n\n# AUTHOR: two?\n"), "{both}");
    let cleared = |path: &str, text: &str| {
        let written = write(path, text, clear).unwrap();
        apply_edits(text, &written.edits)
    };
    let plain = "x = 1\ny = 2\n";
    assert_eq!(cleared("c.py", &both), plain);
    let last = dismissed("c.py", &both).0;
    assert_eq!(
        last,
        "# AUTHOR: two?\n# AGENT: Yes.\n# AUTHOR:\nx = 1\ny = 2\n"
    );
    assert_eq!(dismissed("c.py", &last).0, plain);
    let gone = |text: &str, at: usize| {
        let id = threads("c.py", text)[at].id.clone();
        let written = write("c.py", text, |source| dismiss(source, &id)).unwrap();
        apply_edits(text, &written.edits)
    };
    assert_eq!(dismissed("c.py", &gone(&both, 1)).0, plain);
    // In the middle, at the end, and of three.
    let three = "a\n\n# AUTHOR: 1?\n\n# AUTHOR: 2?\n\n# AUTHOR: 3?\nb\n";
    assert_eq!(cleared("c.py", three), "a\n\nb\n");
    for (at, left) in [(0, [2, 3]), (1, [1, 3]), (2, [1, 2])] {
        let left = format!("a\n\n# AUTHOR: {}?\n\n# AUTHOR: {}?\nb\n", left[0], left[1]);
        assert_eq!(gone(three, at), left);
        assert_eq!(gone(&gone(&left, 1), 0), "a\n\nb\n");
    }
    let end = "a\n# AUTHOR: 1?\n\n# AUTHOR: 2?\n";
    assert_eq!(cleared("c.py", end), "a\n");
    assert_eq!(cleared("c.py", end.trim_end()), "a");
    assert_eq!(
        cleared(
            "c.c",
            "/* AUTHOR: 1?\n     more */\n\n// AUTHOR: 2?\nint a;\n"
        ),
        "int a;\n"
    );
    // There it would be the only one.
    for (text, left) in [
        ("a\n# AUTHOR: 1?\n\n# AUTHOR: 2?\nb\n", "a\n\nb\n"),
        ("# AUTHOR: 1?\n\nb\n", "\nb\n"),
        ("# AUTHOR: 1?\n\n\n# AUTHOR: 2?\nb\n", "\n\nb\n"),
        ("a # AUTHOR: 1?\n\n# AUTHOR: 2?\nb\n", "a\n\nb\n"),
    ] {
        assert_eq!(cleared("c.py", text), left);
    }
}
