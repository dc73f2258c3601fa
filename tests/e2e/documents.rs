//! Document synchronisation: edits against a plain string, encodings, changes that do not fit, order.

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace, language_of};

mod links; // one file under two names
mod order; // changes that come too early

fn text_of(editor: &mut Editor, path: &str) -> Value {
    let uri = editor.uri(path);
    editor
        .request("postil/test/text", json!({"uri": uri}))
        .expect("the document is open")
}

/// 10,000 random edits over the pipe, text compared with a plain string all along.
fn random_edits(encoding: &'static str, file: &str, seed: u64) {
    const EDITS: usize = 10_000;
    const PIECES: [&str; 20] = [
        "a",
        "bc ",
        "\n",
        "\r\n",
        "\r",
        "é",
        "ß\u{308}",
        "𝄞",
        "👩‍👩‍👧",
        "\u{2028}",
        "\u{85}",
        "\t",
        "// AUTHOR: why?\n",
        "// AGENT: so.\r\n",
        "\u{feff}",
        "字",
        "\0",
        "\u{c}",
        "\u{b}",
        "x\ny\n",
    ];
    let workspace = Workspace::new();
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            encodings: vec![encoding],
            ..Options::default()
        },
    );
    assert_eq!(editor.capabilities["positionEncoding"], encoding);
    let mut random = StdRng::seed_from_u64(seed);
    editor.open_text(file, language_of(file), "fn main() {}\r\n// 𝄞 é\rx\n");
    for n in 1..=EDITS {
        let text = editor.text(file);
        let mut boundary = |text: &str| {
            let mut at = random.random_range(0..=text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            // No edit between CR and LF: no editor has a cursor there.
            if text[..at].ends_with('\r') && text[at..].starts_with('\n') {
                at - 1
            } else {
                at
            }
        };
        let (start, mut end) = (boundary(&text), boundary(&text));
        if end < start || end - start > 40 {
            end = start;
        }
        // Keeps the text from growing without end.
        if text.len() > 4_000 {
            end = start
                + text[start..]
                    .char_indices()
                    .map(|(at, _)| at)
                    .take(400)
                    .last()
                    .unwrap_or(0);
            if text[..end].ends_with('\r') && text[end..].starts_with('\n') {
                end += 1;
            }
        }
        let new: String = (0..random.random_range(0..4))
            .map(|_| PIECES[random.random_range(0..PIECES.len())])
            .collect();
        editor.splice(file, start..end, &new);
        if n % 100 == 0 {
            let there = text_of(&mut editor, file);
            assert_eq!(
                there["text"],
                editor.text(file).as_str(),
                "after {n} edits, {encoding}, seed {seed}"
            );
        }
    }
}

#[test]
fn random_edits_in_utf_8() {
    random_edits("utf-8", "a.txt", 8);
}

#[test]
fn random_edits_in_utf_16() {
    random_edits("utf-16", "a.rs", 16);
}

#[test]
fn random_edits_in_utf_32() {
    random_edits("utf-32", "a.txt", 32);
}

fn change(editor: &Editor, path: &str, version: i64, changes: Value) {
    editor.notify("textDocument/didChange", json!({"textDocument": {"uri": editor.uri(path), "version": version}, "contentChanges": changes}));
}

fn range(start: (u32, u32), end: (u32, u32)) -> Value {
    json!({"start": {"line": start.0, "character": start.1}, "end": {"line": end.0, "character": end.1}})
}

#[test]
fn positions_are_exact_at_the_edges() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    let mut check = |name: &str, text: &str, range: Value, expected: &str| {
        editor.open_text(name, "plaintext", text);
        change(&editor, name, 2, json!([{"range": range, "text": "|"}]));
        assert_eq!(text_of(&mut editor, name)["text"], expected, "{name}");
    };
    check(
        "past-line-end",
        "ab\ncd",
        range((0, 99), (0, 99)),
        "ab|\ncd",
    );
    check(
        "past-line-end-crlf",
        "ab\r\ncd",
        range((0, 99), (1, 0)),
        "ab|cd",
    );
    check("after-astral", "a𝄞b", range((0, 3), (0, 3)), "a𝄞|b");
    check(
        "inside-a-surrogate-pair",
        "a𝄞b",
        range((0, 2), (0, 2)),
        "a|𝄞b",
    );
    check("combining", "e\u{301}x", range((0, 1), (0, 2)), "e|x");
    check("lone-cr", "a\rb\r\nc\n", range((1, 1), (2, 0)), "a\rb|c\n");
    check("text-end", "a\n", range((1, 0), (1, 0)), "a\n|");
    check("line-after-the-last", "a", range((1, 0), (1, 0)), "a|");
    check(
        "end-far-past-the-text",
        "ab\ncd\n",
        range((0, 1), (i32::MAX as u32, 0)),
        "a|",
    );
    check("great-numbers", "a\nb", range((0, 0), (1, u32::MAX)), "|");
    check(
        "no-line-separator",
        "a\u{2028}b\u{85}c",
        range((0, 4), (0, 5)),
        "a\u{2028}b\u{85}|",
    );
    check("bom", "\u{feff}a", range((0, 0), (0, 1)), "|a");
}

#[test]
fn several_changes_count_one_after_the_other() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    editor.open_text("a", "plaintext", "one\ntwo\n");
    change(
        &editor,
        "a",
        2,
        json!([{"range": range((0, 0), (0, 3)), "text": "1\n1"}, {"range": range((1, 1), (2, 3)), "text": ""}, {"text": "all new\n"}, {"range": range((0, 3), (0, 3)), "text": "!"}]),
    );
    let there = text_of(&mut editor, "a");
    assert_eq!(
        (&there["text"], &there["version"]),
        (&json!("all! new\n"), &json!(2))
    );
}

#[test]
fn a_change_that_cannot_fit_asks_to_reopen_the_file() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    let unfit = [
        (
            "start-after-end",
            json!([{"range": range((0, 2), (0, 1)), "text": "x"}]),
            2,
        ),
        (
            "past-the-end",
            json!([{"range": range((9, 0), (9, 0)), "text": "x"}]),
            2,
        ),
        ("older", json!([{"text": "x"}]), 0),
        (
            "unreadable",
            json!([{"range": {"start": -1}, "text": "x"}]),
            2,
        ),
        (
            "second-of-two",
            json!([{"text": "ok"}, {"range": range((9, 0), (9, 0)), "text": "x"}]),
            2,
        ),
    ];
    for (name, changes, version) in unfit {
        let name = format!("{name}.rs");
        editor.open_text(&name, "rust", "// AUTHOR: why?\nfn a() {}\n");
        editor.wait_codes(&name, &["pending"]);
        change(&editor, &name, version, changes);
        let message = editor.wait_saying("window/showMessage", &name);
        assert!(
            message["message"]
                .as_str()
                .is_some_and(|text| text.contains("reopen")),
            "{message}"
        );
        let uri = editor.uri(&name);
        editor.wait_for("withdrawn diagnostics", |state| {
            state.diagnostics[&uri].1.is_empty().then_some(())
        });
        // Later changes count for nothing until the whole text is sent, or it is opened anew.
        let typed = json!([{"range": range((0, 0), (0, 0)), "text": "typed"}]);
        change(&editor, &name, version + 1, typed);
        let there = text_of(&mut editor, &name);
        assert!(!there["text"].to_string().contains("typed"), "{there}");
        let whole = "// AUTHOR: other?\nfn a() {}\n";
        change(&editor, &name, version + 2, json!([{"text": whole}]));
        assert_eq!(text_of(&mut editor, &name)["text"], whole);
        editor.wait_for("its diagnostics", |state| {
            (state.diagnostics[&uri].1.len() == 1).then_some(())
        });
        editor.close(&name);
        editor.wait_codes(&name, &[]);
        editor.open_text(&name, "rust", "// AUTHOR: why?\nfn a() {}\n");
        editor.wait_codes(&name, &["pending"]);
    }
}

/// A message in which `BYTE` stands for one that is no UTF-8.
fn send_bytes(editor: &Editor, message: &str) {
    let (before, after) = message.split_once("BYTE").unwrap_or((message, ""));
    let byte: &[u8] = if message.contains("BYTE") {
        b"\xff"
    } else {
        b""
    };
    let body = [before.as_bytes(), byte, after.as_bytes()].concat();
    let header = format!("Content-Length: {}\r\n\r\n", body.len());
    editor.send_parts([header.as_bytes(), &body]);
}

/// As JavaScript writes a string that holds half of an emoji.
#[test]
fn half_a_surrogate_pair_is_one_character() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    editor.open_text("a.rs", "rust", "fn a() {}\n");
    let uri = editor.uri("a.rs");
    let typed = json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
        "textDocument": {"uri": uri, "version": 2},
        "contentChanges": [{"range": range((0, 0), (0, 0)), "text": "// \\d HALF x\n// AUTHOR: why?\n"}]}});
    send_bytes(&editor, &typed.to_string().replace("HALF", "\\ud83d"));
    let after = json!([{"range": range((0, 6), (0, 8)), "text": "-"}]);
    change(&editor, "a.rs", 3, after);
    let there = text_of(&mut editor, "a.rs");
    assert_eq!(
        (&there["text"], &there["version"]),
        (&json!("// \\d -x\n// AUTHOR: why?\nfn a() {}\n"), &json!(3)),
        "{there}"
    );
    // A request is answered under its id.
    let id = editor.ask("postil/test/none", json!({}));
    assert_eq!(editor.answer(id).expect_err("unknown")["code"], -32601);
    let next = id + 1;
    let asked = json!({"jsonrpc": "2.0", "id": next, "method": "postil/test/none", "params": {"text": "HALF"}});
    send_bytes(&editor, &asked.to_string().replace("HALF", "\\udc00"));
    let answered = editor.wait_for("the answer", |state| state.answers.remove(&next));
    assert_eq!(answered["error"]["code"], -32601, "{answered}");
}

#[test]
fn of_a_text_with_bytes_that_are_not_utf_8_the_author_is_told() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    let thread = "// AUTHOR: why?\nfn a() {}\n";
    let uri = editor.uri("a.rs");
    let opened = |text: &str, version: i32| {
        json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument":
            {"uri": uri, "languageId": "rust", "version": version, "text": text}}})
    };
    let wait_shown = |editor: &Editor, count: usize| {
        editor.wait_for("its diagnostics", |state| {
            let shown = state.diagnostics.get(&uri)?;
            (shown.1.len() == count).then_some(())
        });
    };
    let told = |received: &[Value]| {
        let all = received.iter();
        let said = all.filter(|message| message["method"] == "window/showMessage");
        said.filter(|message| message.to_string().contains("bytes that are not UTF-8"))
            .count()
    };
    send_bytes(
        &editor,
        &opened(&format!("// cafBYTE\n{thread}"), 1).to_string(),
    );
    let said = editor.wait_saying("window/showMessage", "bytes that are not UTF-8");
    assert!(
        said["message"]
            .to_string()
            .contains("save it in UTF-8 first"),
        "{said}"
    );
    // What is sent whole with such a byte again is not told again.
    let typed = |version: i32, changes: Value| {
        json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
            "textDocument": {"uri": uri, "version": version}, "contentChanges": changes}})
    };
    send_bytes(
        &editor,
        &typed(2, json!([{"text": format!("// BYTE\n{thread}")}])).to_string(),
    );
    text_of(&mut editor, "a.rs");
    assert_eq!(told(&editor.state().received), 1);
    send_bytes(&editor, &typed(3, json!([{"text": thread}])).to_string());
    wait_shown(&editor, 1);
    // Nothing is shown of a text that may be another.
    let changes = json!([{"range": range((0, 0), (0, 0)), "text": "// BYTE\n"}]);
    send_bytes(&editor, &typed(4, changes).to_string());
    wait_shown(&editor, 0);
    // It may be told after what is shown is gone.
    editor.wait_for("it is told once more", |state| {
        (told(&state.received) == 2).then_some(())
    });
    send_bytes(&editor, &opened(thread, 5).to_string());
    wait_shown(&editor, 1);
}

/// `null` was a version before LSP 3.16.
#[test]
fn a_change_without_a_version_is_the_next_text() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    editor.open_text("a.rs", "rust", "// AUTHOR: why?\nfn a() {}\n");
    let uri = editor.uri("a.rs");
    let typed = json!([{"range": range((1, 3), (1, 4)), "text": "b"}]);
    editor.notify(
        "textDocument/didChange",
        json!({"textDocument": {"uri": uri}, "contentChanges": typed}),
    );
    let there = text_of(&mut editor, "a.rs");
    assert_eq!(there["text"], "// AUTHOR: why?\nfn b() {}\n");
    editor.close("a.rs");

    // Each text is told from the one before, though all have the same version.
    editor.state().tells_no_versions = true;
    editor.open_text("a.rs", "rust", "// AUTHOR: why?\nfn a() {}\n");
    editor.splice("a.rs", 0..0, "\n");
    let thread = editor.wait_diagnostics("a.rs", |all| {
        all.first()
            .is_some_and(|first| first["range"]["start"]["line"] == 1)
    });
    let id = thread[0]["data"]["thread_id"].clone();
    let said = json!({"uri": uri, "thread_id": id, "text": "And the callers?"});
    editor.command("postil.reply", said).expect("said");
    let text = editor.text("a.rs");
    assert_eq!(
        text,
        "\n// AUTHOR: why?\n// AUTHOR: And the callers?\nfn a() {}\n"
    );
    assert_eq!(text_of(&mut editor, "a.rs")["text"], text);
}

#[test]
fn another_text_under_the_same_version_counts() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    let text = |lines: usize| format!("{}// AUTHOR: why?\nfn a() {{}}\n", "\n".repeat(lines));
    let uri = editor.uri("a.rs");
    let asked = json!({"textDocument": {"uri": uri}});
    editor.open_text("a.rs", "rust", &text(0));
    for line in 1..6 {
        match line % 2 {
            0 => editor.open_text("a.rs", "rust", &text(line)),
            _ => change(&editor, "a.rs", 1, json!([{"text": text(line)}])),
        }
        editor.wait_diagnostics("a.rs", |all| {
            all.len() == 1 && all[0]["range"]["start"]["line"] == line
        });
        let tokens = editor.request("textDocument/semanticTokens/full", asked.clone());
        assert_eq!(tokens.expect("tokens")["data"][0], line);
    }
}

#[test]
fn documents_out_of_order_do_no_harm() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    // Changed, saved and closed, but never opened.
    let unopened = editor.uri("unopened");
    change(&editor, "unopened", 2, json!([{"text": "x"}]));
    editor.notify(
        "textDocument/didSave",
        json!({"textDocument": {"uri": unopened}}),
    );
    editor.notify(
        "textDocument/didClose",
        json!({"textDocument": {"uri": unopened}}),
    );
    assert!(
        editor
            .request("postil/test/text", json!({"uri": unopened}))
            .is_err()
    );
    // Opened twice: the newer text counts.
    editor.open_text("twice", "plaintext", "first");
    editor.open_text("twice", "plaintext", "second");
    assert_eq!(text_of(&mut editor, "twice")["text"], "second");
    editor.close("twice");
    let uri = editor.uri("twice");
    assert!(
        editor
            .request("postil/test/text", json!({"uri": uri}))
            .is_err()
    );
    // Schemes that are no files, and parameters that are none.
    for uri in [
        "untitled:Untitled-1",
        "git:/x.rs?ref",
        "",
        "::",
        "file://host/share/x",
    ] {
        editor.notify("textDocument/didOpen", json!({"textDocument": {"uri": uri, "languageId": "rust", "version": 1, "text": "// AUTHOR: x"}}));
    }
    for params in [
        Value::Null,
        json!([]),
        json!({"textDocument": 1}),
        json!({"textDocument": {"uri": 1}}),
    ] {
        for method in ["didOpen", "didChange", "didSave", "didClose"] {
            editor.notify(&format!("textDocument/{method}"), params.clone());
        }
    }
    assert_eq!(
        editor.request("postil/test/large", json!({"bytes": 1})),
        Ok(json!("x"))
    );
}
