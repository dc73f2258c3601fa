//! What is sent with each key: of threads that stand where they stood it is what was sent before.

use serde_json::json;

use crate::harness::{Editor, Workspace};

/// Many threads, some of which begin alike, over many pieces of the text.
fn sample() -> String {
    let mut text = String::from("use std::io;\n");
    for n in 0..80 {
        let words = match n % 4 {
            0 => String::from("why?"),
            _ => format!("why {n}?"),
        };
        text.push_str(&format!(
            "fn f{n}(x: u32) -> u32 {{\n    // AUTHOR: {words}\n    // AGENT: Because of {n}.\n"
        ));
        for line in 0..6 {
            text.push_str(&format!("    let v{line} = x + {n} * {line} + 1000;\n"));
        }
        text.push_str(&format!("    x /* é */ // AUTHOR: and {n}?\n}}\n\n"));
    }
    text
}

#[test]
fn what_is_sent_with_each_key_is_all_that_is_so() {
    let workspace = Workspace::new();
    workspace.write("a.rs", sample());
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    let check = |editor: &mut Editor, what: &str| {
        let sent = editor.diagnostics("a.rs");
        let params = json!({"textDocument": {"uri": editor.uri("a.rs")}});
        let told = editor.request("textDocument/diagnostic", params);
        assert_eq!(json!(sent), told.expect(what)["items"], "{what}");
        sent.len()
    };
    assert_eq!(check(&mut editor, "opened"), 160);
    for (old, new) in [
        ("x + 40 * 3", "xx + 40 * 3"),
        ("xx + 40 * 3", "x +\n40 * 3"),
        ("AUTHOR: why 41?", "AUTHOR: why 41 at all?"),
        (
            "    x /* é */ // AUTHOR: and 42?",
            "    x /* éé */ // AUTHOR: and 42?",
        ),
        // The same words as others, before and behind it.
        ("AUTHOR: why 45?", "AUTHOR: why?"),
        ("AUTHOR: why?\n    // AGENT: Because of 0.\n", "Why?\n"),
        ("use std::io;", "// AUTHOR: why?\nuse std::io;"),
        ("use std::io;", "use std::io; // Author: this one?"),
        (
            "// AGENT: Because of 50.\n",
            "// AGENT: Because of 50.\n    // AUTHOR:\n",
        ),
        ("fn f60(", "\"fn f60("),
        ("\"fn f60(", "fn f60("),
        (" // AUTHOR: and 79?", ""),
        ("fn f10(x: u32) -> u32 {\n", ""),
    ] {
        editor.replace("a.rs", old, new);
        check(&mut editor, new);
    }
    for letter in "let y = \"many\";\n// AUTHOR: new?".chars() {
        let at = editor.text("a.rs").find("fn f70(").expect("a function");
        editor.splice("a.rs", at..at, letter.encode_utf8(&mut [0; 4]));
        check(&mut editor, &letter.to_string());
    }
    editor.splice_with("a.rs", |text| (0..text.len(), text.replace('\n', "\r\n")));
    check(&mut editor, "other line ends");
}
