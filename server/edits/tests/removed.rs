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
