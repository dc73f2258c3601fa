//! What a file holds.

use super::*;
use crate::harness::Options;

#[test]
fn utf_16_is_passed_over_and_never_written() {
    let workspace = Workspace::new();
    for (name, little) in [("little.rs", true), ("big.rs", false)] {
        let units = std::iter::once(0xfeff).chain(ASKED.encode_utf16());
        let bytes: Vec<u8> = units
            .flat_map(|unit: u16| {
                if little {
                    unit.to_le_bytes()
                } else {
                    unit.to_be_bytes()
                }
            })
            .collect();
        let path = workspace.write(name, &bytes);
        assert_eq!(files(&workspace), [""; 0]);
        refused(&workspace, &["new", &format!("{name}:1"), "x"], name);
        refused(&workspace, &["clear", name], name);
        assert_eq!(std::fs::read(path).expect("read"), bytes);
    }
}

#[test]
fn binary_files_are_passed_over_said_and_never_written() {
    let workspace = Workspace::new();
    let bytes = b"\0\x01\x02// AUTHOR: why?\n".repeat(3);
    let path = workspace.write("a.rs", &bytes);
    let list = listed(&workspace, &[]);
    assert_eq!(list["summary"]["total"], 0);
    let skipped = list["skipped"].to_string();
    assert!(
        skipped.contains("a.rs") && skipped.contains("binary"),
        "{skipped}"
    );
    for args in [&["new", "a.rs:1", "x"][..], &["clear", "a.rs"]] {
        refused(&workspace, args, "a.rs");
    }
    assert_eq!(std::fs::read(path).expect("read"), bytes);
}

/// A NUL behind what is looked at for the kind of a file is a character like another.
#[test]
fn a_nul_far_down_in_a_text_stays_where_it_is() {
    let workspace = Workspace::new();
    let text = format!("{ASKED}{}// a\0b\n", "// filler\n".repeat(1_000));
    workspace.write("a.rs", &text);
    let id = listed(&workspace, &[])["threads"][0]["id"].clone();
    let output = run(&workspace, &["dismiss", id.as_str().expect("an id")]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert_eq!(
        workspace.read("a.rs"),
        text.replace("// AUTHOR: why?\n", "")
    );
}

#[test]
fn bytes_that_are_no_utf_8_are_read_flagged_and_never_written() {
    let workspace = Workspace::new();
    let mut bytes = b"// \xff\xfe\xc3(\n".to_vec();
    bytes.extend_from_slice(ASKED.as_bytes());
    bytes.extend_from_slice(b"\xed\xa0\x80\n");
    let path = workspace.write("a.rs", &bytes);
    let list = listed(&workspace, &[]);
    let id = list["threads"][0]["id"].as_str().expect("an id");
    refused(&workspace, &["respond", id, "so"], "UTF-8");
    refused(&workspace, &["dismiss", id], "UTF-8");
    workspace.git(&["init", "--quiet"]);
    refused(&workspace, &["clear", "a.rs"], "UTF-8");
    assert_eq!(std::fs::read(path).expect("read"), bytes);
}

/// The file has holes, so that it costs no disk; who read it would need the memory.
#[test]
fn a_gigabyte_is_not_read_and_said_to_be_too_large() {
    let workspace = Workspace::new();
    workspace.write("a.rs", ASKED);
    let path = workspace.write("huge.rs", ASKED);
    let file = std::fs::File::options().write(true).open(&path);
    file.and_then(|file| file.set_len(1 << 30)).expect("sparse");
    // Half of it as all the memory that it may map.
    let mut command = workspace.command("sh");
    command.args([
        "-c",
        "ulimit -v 524288; exec timeout 20 \"$0\" threads --json",
        env!("CARGO_BIN_EXE_postil"),
    ]);
    let output = command.output().expect("sh runs");
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(list["summary"]["total"], 1);
    let skipped = list["skipped"].to_string();
    assert!(
        skipped.contains(
            "huge.rs is larger than 8388608 bytes: raise `threads.maxFileSize` to have it read"
        ),
        "{skipped}"
    );
    refused(&workspace, &["new", "huge.rs:1", "x"], "larger than");
    assert_eq!(std::fs::metadata(path).expect("there").len(), 1 << 30);
}

#[test]
fn threads_that_go_with_a_large_file_when_it_is_closed_are_told_of_once() {
    let workspace = Workspace::new();
    workspace.configure("[threads]\nmaxFileSize = 1000\n");
    workspace.write("big.rs", format!("{ASKED}{}", "\n".repeat(1000)));
    workspace.write("none.rs", "\n".repeat(1001));
    workspace.write("small.rs", ASKED);
    let mut editor = Editor::start(&workspace);
    for _ in 0..2 {
        for (file, threads) in [("big.rs", 1), ("none.rs", 0), ("small.rs", 1)] {
            editor.open(file);
            editor.wait_diagnostics(file, |list| list.len() == threads);
            editor.close(file);
        }
    }
    let text = "postil: the threads of a file this large are shown while it is open: big.rs is larger than 1000 bytes: raise `threads.maxFileSize` to have it read";
    editor.wait_message("window/showMessage", |params| params["message"] == text);
    editor.request("shutdown", json!(null)).expect("an answer");
    let state = editor.state();
    let messages = state
        .received
        .iter()
        .filter(|m| m["method"] == "window/showMessage");
    assert_eq!(messages.count(), 1);
}

#[test]
fn what_an_editor_sets_as_the_largest_file_holds_at_once() {
    let workspace = Workspace::new();
    workspace.write("big.rs", format!("{ASKED}{}", "\n".repeat(1000)));
    workspace.write("small.rs", ASKED);
    let small = json!({"threads": {"maxFileSize": 1000}});
    let editor = Editor::start_with(
        &workspace,
        Options {
            settings: small,
            ..Options::default()
        },
    );
    editor.wait_codes("small.rs", &["pending"]);
    let big = editor.uri("big.rs");
    assert!(!editor.state().diagnostics.contains_key(&big));
    let configured = |most: u64| {
        editor.state().settings = json!({"threads": {"maxFileSize": most}});
        editor.notify(
            "workspace/didChangeConfiguration",
            json!({"settings": null}),
        );
    };
    configured(10_000);
    editor.wait_codes("big.rs", &["pending"]);
    configured(1000);
    editor.wait_codes("big.rs", &[]);
}

#[test]
fn a_line_of_20_megabytes_is_read_in_an_editor_and_passed_over_elsewhere() {
    let workspace = Workspace::new();
    let line = "0123456789abcdef, ".repeat(20 * 1024 * 1024 / 18);
    let text = format!("let a = [{line}]; // AUTHOR: why so long?\n// AUTHOR: and this?\n");
    workspace.write("a.rs", &text);
    let list = listed(&workspace, &[]);
    assert_eq!(list["summary"]["total"], 0);
    assert!(list["skipped"].to_string().contains("larger than"));

    let editor = Editor::start(&workspace);
    editor.open_text("a.rs", "rust", &text);
    let shown = editor.wait_codes("a.rs", &["pending"]);
    assert_eq!(shown[0]["range"]["end"]["line"], 1);
}

#[test]
fn a_hundred_thousand_threads_in_one_file_are_all_listed() {
    const MANY: usize = 100_000;
    let workspace = Workspace::new();
    let mut text = String::new();
    for n in 0..MANY {
        text.push_str(&format!("# AUTHOR: why {n}?\nx = {n}\n"));
    }
    workspace.write("a.py", &text);
    let list = listed(&workspace, &[]);
    assert_eq!(list["summary"]["total"], MANY);
    let last = &list["threads"][MANY - 1];
    assert_eq!(last["thread"][0]["text"], format!("why {}?", MANY - 1));
}

/// What is too large to be read anew for each key is read in pieces: the same is shown as of a file read whole.
#[test]
fn five_megabytes_are_followed_key_by_key() {
    let workspace = Workspace::new();
    let code = "x = [1, 2, 3]  # numbers\n";
    let half = code.repeat(100_000);
    let text =
        format!("# AUTHOR: first?\nx = 0\n{half}# AUTHOR: why?\n{half}# author: is this one?\n");
    workspace.write("a.py", &text);
    let mut editor = Editor::start(&workspace);
    editor.open_text("a.py", "python", &text);
    editor.wait_codes("a.py", &["pending", "pending", "near-miss"]);
    // In the middle, in front of all, at the end, and a string that is open for a while.
    editor.replace("a.py", "why?\n", "why?\n#   And since when?\n");
    editor.replace("a.py", "# AUTHOR: first?\n", "\n\n# AUTHOR: first?\n");
    editor.replace("a.py", "# author: is", "# AUTHOR: is");
    editor.wait_codes("a.py", &["pending", "pending", "pending"]);
    editor.replace("a.py", "x = 0\n", "x = \"\"\"\n");
    editor.wait_codes("a.py", &["pending"]);
    editor.replace("a.py", "x = \"\"\"\n", "x = 0\n");
    let shown = editor.wait_codes("a.py", &["pending", "pending", "pending"]);
    let lines = |list: &[Value], at: &str| -> Vec<u64> {
        let line = |entry: &Value| entry.pointer(at).and_then(Value::as_u64);
        list.iter().filter_map(line).collect()
    };
    assert_eq!(lines(&shown, "/range/start/line"), [2, 100_004, 200_006]);
    // What asks for the whole text gets it.
    let titles = editor.code_actions("a.py", 100_004).len();
    assert!(titles > 0, "no action on a thread");
    workspace.write("a.py", editor.text("a.py"));
    let list = listed(&workspace, &[]);
    let threads = list["threads"].as_array().expect("threads");
    assert_eq!(lines(threads, "/start_line"), [3, 100_005, 200_007]);
    assert_eq!(threads[1]["thread"][0]["text"], "why?\nAnd since when?");
}
