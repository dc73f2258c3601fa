//! The colours of threads: full, by difference, of a part, in every encoding; announced only to who takes them.

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace, frame};
use crate::model::{Model, Step};

const CODE: &str = "let s = \"// AUTHOR: no\";\r\nf(); // AUTHOR(jané): 𝄞 is `løad` in @b.rs?\r\n//   or c.rs:3, 日本 @load\r\n// AGENT: é.\r\n// AUTHOR:\r\n//  mine\r\n";

/// What it says, of every piece of a thread.
const PIECES: &str = "AUTHOR=keyword/author jané=parameter/author 𝄞 is =comment/documentation+author `løad`=variable/author \
\x20in =comment/documentation+author @b.rs=namespace/author ?=comment/documentation+author \
or =comment/documentation+author c.rs:3=namespace/author , 日本 =comment/documentation+author @load=decorator/author \
AGENT=keyword/agent é.=comment/documentation+agent AUTHOR=keyword/author";

fn can(encoding: &'static str) -> Options {
    Options {
        encodings: vec![encoding],
        capabilities: json!({
            "textDocument": {"semanticTokens": {
                "requests": {"full": {"delta": true}, "range": true},
                "tokenTypes": [], "tokenModifiers": [], "formats": ["relative"],
                "multilineTokenSupport": false, "overlappingTokenSupport": false}},
            "workspace": {"semanticTokens": {"refreshSupport": true}},
        }),
        ..Options::default()
    }
}

fn ask(editor: &mut Editor, method: &str, more: &Value) -> Value {
    let mut params = json!({"textDocument": {"uri": editor.uri("a.rs")}});
    if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
        params.extend(more.clone());
    }
    editor
        .request(&format!("textDocument/semanticTokens/{method}"), params)
        .unwrap_or_else(|error| panic!("{method}: {error}"))
}

fn numbers(data: &Value) -> Vec<u64> {
    let list = data.as_array().expect("numbers");
    list.iter().map(|n| n.as_u64().expect("a number")).collect()
}

/// The bytes of `units` from the start of `line`, counted as the client of that encoding counts.
fn bytes(line: &str, units: usize, encoding: &str) -> usize {
    let mut left = units;
    for (at, c) in line.char_indices() {
        if left == 0 {
            return at;
        }
        let width = match encoding {
            "utf-8" => c.len_utf8(),
            "utf-16" => c.len_utf16(),
            _ => 1,
        };
        left = left
            .checked_sub(width)
            .expect("a token begins and ends between characters");
    }
    assert_eq!(left, 0, "a token stays on its line");
    line.len()
}

/// Every token as its text, type and modifiers. Fails if one reaches over a line's end or into another.
fn read(editor: &Editor, data: &[u64], encoding: &str) -> String {
    let legend = &editor.capabilities["semanticTokensProvider"]["legend"];
    let text = editor.text("a.rs");
    let lines: Vec<&str> = text.split("\r\n").collect();
    let (mut line, mut character, mut end) = (0, 0, 0);
    let mut pieces = Vec::new();
    for token in data.chunks(5) {
        let &[down, right, length, kind, modifiers] = token else {
            panic!("five numbers a token: {token:?}");
        };
        if down > 0 {
            (character, end) = (0, 0);
        }
        line += down as usize;
        character += right as usize;
        assert!(character >= end && length > 0, "{token:?} overlaps");
        end = character + length as usize;
        let from = bytes(lines[line], character, encoding);
        let to = bytes(lines[line], end, encoding);
        let named: Vec<&str> = (0..32)
            .filter(|bit| modifiers >> bit & 1 == 1)
            .map(|bit| legend["tokenModifiers"][bit].as_str().expect("a modifier"))
            .collect();
        let kind = legend["tokenTypes"][kind as usize]
            .as_str()
            .expect("a type");
        pieces.push(format!(
            "{}={kind}/{}",
            &lines[line][from..to],
            named.join("+")
        ));
    }
    pieces.join(" ")
}

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    workspace
}

#[test]
fn every_piece_of_a_thread_in_every_encoding() {
    let workspace = workspace();
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let mut editor = Editor::start_with(&workspace, can(encoding));
        editor.open("a.rs");
        let answer = ask(&mut editor, "full", &json!({}));
        let data = numbers(&answer["data"]);
        assert_eq!(read(&editor, &data, encoding), PIECES, "{encoding}");
    }
}

#[test]
fn the_difference_leads_to_what_full_says() {
    let workspace = workspace();
    let mut editor = Editor::start_with(&workspace, can("utf-16"));
    editor.open("a.rs");
    let answer = ask(&mut editor, "full", &json!({}));
    let first = numbers(&answer["data"]);
    let mut data = first.clone();
    let mut id = answer["resultId"].clone();
    let changes = [
        ("// AGENT: é.", "// AGENT(x): é `y`.", 2),
        ("f(); ", "\r\n\r\nf(1); ", 1),
        ("//  mine", "//   mine", 1),
        ("let s", "let ss", 0),
        ("AUTHOR(jané)", "AUTHER", 1),
        ("AUTHER", "AUTHOR", 1),
    ];
    for (old, new, most) in changes {
        editor.replace("a.rs", old, new);
        let answer = ask(&mut editor, "full/delta", &json!({"previousResultId": id}));
        assert_ne!(answer["resultId"], id);
        let edits = answer["edits"].as_array().expect("edits");
        assert!(edits.len() <= most, "{old} to {new}: {edits:?}");
        for edit in edits {
            let start = edit["start"].as_u64().expect("a start") as usize;
            let count = edit["deleteCount"].as_u64().expect("a count") as usize;
            data.splice(start..start + count, numbers(&edit["data"]));
        }
        let full = ask(&mut editor, "full", &json!({}));
        assert_eq!(numbers(&full["data"]), data, "after {old} became {new}");
        id = full["resultId"].clone();
    }
    // An id that is unknown, or of a document that was closed: everything anew.
    let answer = ask(
        &mut editor,
        "full/delta",
        &json!({"previousResultId": "of another server"}),
    );
    assert_eq!(numbers(&answer["data"]), data);
    id = answer["resultId"].clone();
    // Closed, it is what the disk has, and nobody asks for a difference of that.
    editor.close("a.rs");
    let answer = ask(&mut editor, "full/delta", &json!({"previousResultId": id}));
    assert_eq!(numbers(&answer["data"]), first);
    assert_eq!(answer.get("resultId"), None);
}

#[test]
fn the_answer_is_of_the_text_that_was_asked_about() {
    let workspace = workspace();
    let mut editor = Editor::start_with(&workspace, can("utf-16"));
    let uri = editor.uri("a.rs");
    let text = |reply: &str| {
        format!(
            "// AUTHOR: why?\n// AGENT: {reply}\n{}",
            "f();\n".repeat(2_000)
        )
    };
    let (short, long) = (text("No."), text("Because of what was there before."));
    editor.open_text("a.rs", "rust", &short);
    let lengths = |data: &[u64]| -> Vec<u64> { data.chunks(5).map(|token| token[2]).collect() };
    let answer = ask(&mut editor, "full", &json!({}));
    let of_short = lengths(&numbers(&answer["data"]));
    let whole = |version: i32, text: &str| {
        let document = json!({"uri": uri, "version": version});
        frame(
            &json!({"jsonrpc": "2.0", "method": "textDocument/didChange",
            "params": {"textDocument": document, "contentChanges": [{"text": text}]}}),
        )
    };
    // One right behind the other, so that the change is there before the answer is made.
    for round in 0..20 {
        let version = 2 + round * 2;
        let id = editor.ask(
            "textDocument/semanticTokens/full",
            json!({"textDocument": {"uri": uri}}),
        );
        editor.send_raw(&whole(version, &long));
        match editor.answer(id) {
            Ok(answer) => assert_eq!(lengths(&numbers(&answer["data"])), of_short),
            Err(error) => assert_eq!(error["code"], -32801, "{error}"),
        }
        editor.send_raw(&whole(version + 1, &short));
    }
}

#[test]
fn a_part_of_the_document() {
    let workspace = workspace();
    let mut editor = Editor::start_with(&workspace, can("utf-16"));
    editor.open("a.rs");
    let mut part = |from: [u32; 2], to: [u32; 2]| {
        let position = |[line, character]: [u32; 2]| json!({"line": line, "character": character});
        let range = json!({"range": {"start": position(from), "end": position(to)}});
        let answer = ask(&mut editor, "range", &range);
        let data = numbers(&answer["data"]);
        read(&editor, &data, "utf-16")
    };
    assert_eq!(
        part([3, 0], [4, 0]),
        "AGENT=keyword/agent é.=comment/documentation+agent"
    );
    assert_eq!(part([1, 22], [1, 24]), "𝄞 is =comment/documentation+author");
    assert_eq!(part([0, 0], [0, 99]), "");
    assert_eq!(part([0, 0], [99, 0]), PIECES);
    assert_eq!(part([5, 0], [99, 0]), "");
}

#[test]
fn documents_that_hold_none() {
    let workspace = workspace();
    workspace.write(
        "b.rs",
        "// AUTHOR: Jane Doe <jane@example.org>\n\nfn b() {}\n",
    );
    let mut editor = Editor::start_with(&workspace, can("utf-16"));
    let of = |editor: &mut Editor, uri: String| {
        editor.request(
            "textDocument/semanticTokens/full",
            json!({"textDocument": {"uri": uri}}),
        )
    };
    let uri = editor.uri("b.rs");
    assert_eq!(of(&mut editor, uri).expect("an answer")["data"], json!([]));
    let uri = editor.uri("none.rs");
    assert_eq!(of(&mut editor, uri), Ok(Value::Null));
    assert_eq!(of(&mut editor, String::from("untitled:x")), Ok(Value::Null));
    let error = editor
        .request(
            "textDocument/semanticTokens/range",
            json!({"textDocument": {"uri": editor.uri("b.rs")}}),
        )
        .expect_err("no range");
    assert_eq!(error["code"], -32602, "{error}");
}

#[test]
fn announced_to_who_takes_them() {
    let workspace = workspace();
    let provider = |capabilities: Value| {
        let options = Options {
            capabilities,
            ..Options::default()
        };
        Editor::start_with(&workspace, options).capabilities["semanticTokensProvider"].clone()
    };
    assert_eq!(provider(json!({})), Value::Null);
    let of = |formats: Value| json!({"textDocument": {"semanticTokens": {"requests": {}, "formats": formats}}});
    assert_eq!(provider(of(json!(["other"]))), Value::Null);
    let known = provider(of(json!(["relative"])));
    assert_eq!(known["full"]["delta"], true);
    assert_eq!(known["range"], true);
}

#[test]
fn a_running_turn_is_seen() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "fn a() {}\r\n");
    let model = Model::start(vec![Step::text("So.").held()]);
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            env: model.env(),
            initialization_options: json!({"trusted": true}),
            ..can("utf-16")
        },
    );
    editor.open("a.rs");
    editor.splice("a.rs", 0..0, "\r\n");
    for (at, key) in "// AUTHOR: why?".char_indices() {
        editor.splice("a.rs", at..at, &key.to_string());
    }
    editor.wait_codes("a.rs", &["pending"]);
    editor
        .take_action("a.rs", 0, "Reply as agent")
        .expect("the turn starts");
    model.wait_for_requests(1);
    editor.wait_message("workspace/semanticTokens/refresh", |_| true);
    let answer = ask(&mut editor, "full", &json!({}));
    assert_eq!(
        read(&editor, &numbers(&answer["data"]), "utf-16"),
        "AUTHOR=keyword/author+running why?=comment/documentation+author+running"
    );
    model.release();
    editor.wait_text("a.rs", |text| text.contains("AGENT: So."));
    editor.wait_for("a second refresh", |state| {
        let refreshes = state
            .received
            .iter()
            .filter(|m| m["method"] == "workspace/semanticTokens/refresh");
        (refreshes.count() > 1).then_some(())
    });
    let answer = ask(&mut editor, "full", &json!({}));
    let pieces = read(&editor, &numbers(&answer["data"]), "utf-16");
    assert!(
        pieces.contains("AGENT=keyword/agent") && !pieces.contains("running"),
        "{pieces}"
    );
}
