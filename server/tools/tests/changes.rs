//! The tools that change files, and the one way they do it.

use super::*;
use crate::text::Edit;

const CODE: &str =
    "// AUTHOR: should this be called load_data?\npub fn load() {}\n\npub fn other() {}\n";

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_string": old, "new_string": new})
}

#[tokio::test]
async fn file_write_makes_and_replaces() {
    let b = Bench::new();
    assert_eq!(
        b.ok(
            "file_write",
            json!({"path": "a/b.txt", "content": "one\ntwo\n"})
        )
        .await,
        "Made a/b.txt: 8 bytes, 2 lines."
    );
    assert_eq!(b.disk("a/b.txt"), "one\ntwo\n");
    // What the run wrote itself is known to it.
    assert_eq!(
        b.ok("file_write", json!({"path": "a/b.txt", "content": "three"}))
            .await,
        "Wrote a/b.txt: 5 bytes, 1 lines."
    );
    b.write("other.txt", "author's\n");
    let over = json!({"path": "other.txt", "content": "agent's\n"});
    has(
        &b.err("file_write", over.clone()).await,
        "you have not read it",
    );
    b.ok("file_read", json!({"path": "other.txt"})).await;
    b.write("other.txt", "author's, changed\n");
    has(
        &b.err("file_write", over.clone()).await,
        "changed since you read it",
    );
    assert_eq!(b.disk("other.txt"), "author's, changed\n");
    b.ok("file_read", json!({"path": "other.txt"})).await;
    b.ok("file_write", over).await;
    assert_eq!(b.disk("other.txt"), "agent's\n");
    has(
        &b.err("file_write", json!({"path": "a", "content": "x"}))
            .await,
        "is a folder",
    );
    has(
        &b.err("file_write", json!({"path": "../x", "content": "x"}))
            .await,
        "outside the workspace",
    );
}

#[tokio::test]
async fn file_write_keeps_mark_and_line_ends() {
    let b = Bench::new();
    b.write("a.txt", "\u{feff}one\r\ntwo\r\n");
    b.ok("file_read", json!({"path": "a.txt"})).await;
    b.ok(
        "file_write",
        json!({"path": "a.txt", "content": "one\nthree\n"}),
    )
    .await;
    assert_eq!(b.disk("a.txt"), "\u{feff}one\r\nthree\r\n");
    // Of both kinds: each line that stays keeps its own, and a new one has that of its place.
    for mark in ["", "\u{feff}"] {
        b.write("b.txt", format!("{mark}a\r\nb\r\nc\nd\ne\r\nf"));
        b.ok("file_read", json!({"path": "b.txt"})).await;
        b.ok(
            "file_write",
            json!({"path": "b.txt", "content": "0\na\nB\nc\nd\nd2\nd3\ne\nf\ng\n"}),
        )
        .await;
        assert_eq!(
            b.disk("b.txt"),
            format!("{mark}0\r\na\r\nB\r\nc\nd\nd2\nd3\ne\r\nf\r\ng\r\n")
        );
    }
    b.write("c.txt", "a\r\nb\n");
    b.ok("file_read", json!({"path": "c.txt"})).await;
    b.ok("file_write", json!({"path": "c.txt", "content": ""}))
        .await;
    assert_eq!(b.disk("c.txt"), "");
}

#[tokio::test]
async fn file_edit_replaces_what_stands_once() {
    let b = Bench::new();
    b.write("a.rs", "let a = 1;\nlet b = 1;\n");
    assert_eq!(
        b.ok("file_edit", edit("a.rs", "b = 1", "b = 2")).await,
        "Changed a.rs in 1 place (line 2)."
    );
    assert_eq!(b.disk("a.rs"), "let a = 1;\nlet b = 2;\n");
    let twice = b.err("file_edit", edit("a.rs", "let", "const")).await;
    has(&twice, "stands in a.rs 2 times (lines 1, 2)");
    let mut all = edit("a.rs", "let", "const");
    all["replace_all"] = json!(true);
    assert_eq!(
        b.ok("file_edit", all).await,
        "Changed a.rs in 2 places (lines 1, 2)."
    );
    assert_eq!(b.disk("a.rs"), "const a = 1;\nconst b = 2;\n");
    let none = b
        .err("file_edit", edit("a.rs", "  const b = 2;", "x"))
        .await;
    has(&none, "stands in a.rs 0 times");
    has(&none, "The nearest lines are:\n   2 | const b = 2;");
    has(
        &b.err("file_edit", edit("a.rs", "zebra", "x")).await,
        "No line is like it",
    );
    has(
        &b.err("file_edit", edit("a.rs", "", "x")).await,
        "`old_string` is empty",
    );
    has(
        &b.err("file_edit", edit("a.rs", "a", "a")).await,
        "are the same",
    );
    has(
        &b.err("file_edit", edit("none.rs", "a", "b")).await,
        "path not found: none.rs; file_write",
    );
    b.write("latin1.txt", b"caf\xe9 a\n");
    has(
        &b.err("file_edit", edit("latin1.txt", "a", "b")).await,
        "not valid UTF-8",
    );
}

#[tokio::test]
async fn file_edit_matches_over_line_ends() {
    let b = Bench::new();
    b.write("a.txt", "\u{feff}zero\r\none\r\ntwo\r\nthree\nfour");
    b.ok(
        "file_edit",
        edit("a.txt", "one\ntwo\nthree", "ONE\nTWO\nTHREE"),
    )
    .await;
    assert_eq!(b.disk("a.txt"), "\u{feff}zero\r\nONE\r\nTWO\r\nTHREE\nfour");
    b.ok("file_edit", edit("a.txt", "ONE", "1\n1")).await;
    assert_eq!(
        b.disk("a.txt"),
        "\u{feff}zero\r\n1\r\n1\r\nTWO\r\nTHREE\nfour"
    );
    b.ok("file_edit", edit("a.txt", "1\r\nTWO\r\n", "2\r\n"))
        .await;
    assert_eq!(b.disk("a.txt"), "\u{feff}zero\r\n1\r\n2\r\nTHREE\nfour");
    // What begins with a line's end begins before both of its characters.
    b.write("c.txt", "one();\r\n    two();\r\nthree();\r\n");
    b.ok("file_edit", edit("c.txt", "\n    two();", "")).await;
    assert_eq!(b.disk("c.txt"), "one();\r\nthree();\r\n");
    b.ok("file_edit", edit("c.txt", "\nthree();\n", "\n3();\n"))
        .await;
    assert_eq!(b.disk("c.txt"), "one();\r\n3();\r\n");
    b.write("b.txt", "one\ntwo\n");
    b.ok("file_edit", edit("b.txt", "one\n", "1\n")).await;
    assert_eq!(b.disk("b.txt"), "1\ntwo\n");
}

#[tokio::test]
async fn file_edit_refuses_what_changed_since_it_was_read() {
    let b = Bench::new();
    b.write("a.rs", "one\ntwo\n");
    b.ok("file_read", json!({"path": "a.rs"})).await;
    b.write("a.rs", "one\ntwo\nthree\n");
    has(
        &b.err("file_edit", edit("a.rs", "one", "1")).await,
        "changed since you read it",
    );
    assert_eq!(b.disk("a.rs"), "one\ntwo\nthree\n");
    b.ok("file_read", json!({"path": "a.rs"})).await;
    b.ok("file_edit", edit("a.rs", "one", "1")).await;
    assert_eq!(b.disk("a.rs"), "1\ntwo\nthree\n");
}

#[tokio::test]
async fn writes_of_one_file_wait_for_each_other() {
    let b = Bench::new();
    b.write("a.txt", "0\n1\n2\n3\n4\n5\n6\n7\n");
    let calls = (0..8).map(|n| {
        (
            String::from("file_edit"),
            edit("a.txt", &format!("{n}\n"), &format!("x{n}\n")),
        )
    });
    let answers = b.registry.call_all(&b.cx, calls.collect()).await;
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(
            answer.as_deref(),
            Ok(&*format!("Changed a.txt in 1 place (line {}).", n + 1))
        );
    }
    assert_eq!(b.disk("a.txt"), "x0\nx1\nx2\nx3\nx4\nx5\nx6\nx7\n");
}

#[tokio::test]
async fn open_documents_are_changed_through_the_editor() {
    let b = Bench::new();
    b.write("a.rs", "on disk\n");
    b.open("a.rs", "fn one() {}\nfn two() {}\n");
    b.ok("file_edit", edit("a.rs", "two", "three")).await;
    assert_eq!(b.buffer("a.rs"), "fn one() {}\nfn three() {}\n");
    assert_eq!(b.disk("a.rs"), "on disk\n", "saving is the author's");
    {
        let applied = b.desk.applied.lock().unwrap();
        assert_eq!(
            applied[0].generation, 0,
            "that of the text as it was opened"
        );
        // `t` stays.
        assert_eq!(
            applied[0].edits,
            [Edit {
                range: 16..18,
                text: String::from("hree")
            }]
        );
    }
    // The next change builds on the first; of the rest it has seen nothing.
    let whole = json!({"path": "a.rs", "content": "fn one() {}\n"});
    has(
        &b.err("file_write", whole).await,
        "You have not read all of a.rs",
    );
    b.ok("file_read", json!({"path": "a.rs"})).await;
    b.ok(
        "file_write",
        json!({"path": "a.rs", "content": "fn one() {}\n"}),
    )
    .await;
    assert_eq!(b.buffer("a.rs"), "fn one() {}\n");
}

#[tokio::test]
async fn what_the_author_types_meanwhile_stays() {
    let b = Bench::new();
    let typed = |text: &str| {
        *b.desk.typing.lock().unwrap() = Some((b.root.join("a.rs"), String::from(text)));
    };
    b.open("a.rs", "fn one() {}\n");
    b.ok("file_read", json!({"path": "a.rs"})).await;
    // Elsewhere: the edit is made on the newer text.
    typed("fn one() {}\n// typed\n");
    b.ok("file_edit", edit("a.rs", "one", "two")).await;
    assert_eq!(b.buffer("a.rs"), "fn two() {}\n// typed\n");
    // In the same line: the model has to look again.
    typed("fn two(x: u8) {}\n// typed\n");
    let error = b.err("file_edit", edit("a.rs", "two", "three")).await;
    has(&error, "Read it again and make");
    assert_eq!(b.buffer("a.rs"), "fn two(x: u8) {}\n// typed\n");
    b.ok("file_read", json!({"path": "a.rs"})).await;
    b.ok("file_edit", edit("a.rs", "two", "three")).await;
    // Above and below, before the edit is asked for.
    b.ok("file_read", json!({"path": "a.rs"})).await;
    b.author("a.rs", "// above\nfn three(x: u8) {}\n// typed on\n");
    let error = b.err("file_edit", edit("a.rs", "typed", "said")).await;
    has(&error, "Read it again and make");
    b.ok("file_edit", edit("a.rs", "three", "four")).await;
    assert_eq!(
        b.buffer("a.rs"),
        "// above\nfn four(x: u8) {}\n// typed on\n"
    );
}

#[tokio::test]
async fn marker_lines_are_not_the_tools_to_change() {
    let b = Bench::new();
    b.write("a.rs", CODE);
    for (old, new) in [
        ("should this be called load_data?", "nothing"),
        ("// AUTHOR: should this be called load_data?\n", ""),
        ("pub fn other", "// AUTHOR: delete everything\npub fn other"),
        ("pub fn load() {}", "// AGENT: done\npub fn load_data() {}"),
        ("AUTHOR:", "Author:"),
        (
            "pub fn other() {}",
            "pub fn other() {} // AUTHOR: and this?",
        ),
    ] {
        let error = b.err("file_edit", edit("a.rs", old, new)).await;
        has(&error, "would change AUTHOR: or AGENT: comments");
        assert_eq!(b.disk("a.rs"), CODE);
    }
    has(
        &b.err("file_write", json!({"path": "new.rs", "content": CODE}))
            .await,
        "AUTHOR: or AGENT:",
    );
    assert!(!b.root.join("new.rs").exists());
    b.ok(
        "file_edit",
        edit("a.rs", "pub fn load()", "pub fn load_data()"),
    )
    .await;
    assert_eq!(b.disk("a.rs"), CODE.replace("load()", "load_data()"));
    // In a string it is none.
    b.ok(
        "file_edit",
        edit(
            "a.rs",
            "other() {}",
            "other() -> &'static str { \"// AUTHOR: x\" }",
        ),
    )
    .await;
}

#[tokio::test]
async fn guard_files_ask_each_time() {
    let path = ".github/workflows/ci.yml";
    for answer in [None, Some(1)] {
        let b = Bench::answering(answer);
        b.err("file_write", json!({"path": path, "content": "x"}))
            .await;
        assert_eq!(b.questions().len(), 1);
        has(
            &b.questions()[0],
            "wants to change `.github/workflows/ci.yml`; it defines what a build machine runs",
        );
        assert!(!b.root.join(".github").exists());
    }
    let b = Bench::answering(Some(0));
    b.ok("file_write", json!({"path": path, "content": "x"}))
        .await;
    b.ok("file_edit", edit(path, "x", "y")).await;
    assert_eq!((b.questions().len(), &*b.disk(path)), (2, "y"));
    // By a link's name too.
    std::os::unix::fs::symlink(".github/workflows/ci.yml", b.root.join("innocent.yml")).unwrap();
    b.ok("file_edit", edit("innocent.yml", "y", "z")).await;
    assert_eq!(b.questions().len(), 3);
}

#[tokio::test]
async fn changes_are_recorded_before_they_are_made() {
    let b = Bench::new();
    b.write("a.txt", "one\n");
    b.ok("file_edit", edit("a.txt", "one", "two")).await;
    b.ok("file_write", json!({"path": "new.txt", "content": "new\n"}))
        .await;
    let changes = b.store.last_changes(&b.cx.run).unwrap();
    let shown: Vec<_> = changes
        .iter()
        .map(|c| (&*c.file, c.before.as_deref(), c.after.as_deref()))
        .collect();
    assert_eq!(
        shown,
        [
            ("a.txt", Some(&b"one\n"[..]), Some(&b"two\n"[..])),
            ("new.txt", None, Some(&b"new\n"[..])),
        ]
    );
    // What cannot be recorded is not made.
    let mut b = Bench::new();
    b.cx.run = String::from("no-such-run");
    b.write("a.txt", "one\n");
    has(
        &b.err("file_edit", edit("a.txt", "one", "two")).await,
        "cannot be recorded for undo",
    );
    assert_eq!(b.disk("a.txt"), "one\n");
}

#[tokio::test]
async fn a_plan_changes_nothing_whoever_asks() {
    let mut b = Bench::new();
    b.cx.plan = Plan::of_author(true);
    b.write("a.txt", "one\n");
    let seen = b.cx.tree.read("a.txt").unwrap().seen;
    let path = b.root.join("a.txt");
    let refusal = async |b: &Bench, seen, text| {
        let change = FileChange::new(&path, seen, Some(String::from(text)));
        let refused = change_file(&b.cx, change).await;
        String::from(refused.unwrap_err())
    };
    let seen = || Some(seen.clone());
    has(&refusal(&b, seen(), "two\n").await, "plan mode");
    b.cx.plan = Plan::default();
    let change = FileChange::new(&path, seen(), Some(String::from("two\n")));
    change_file(&b.cx, change).await.unwrap();
    has(
        &refusal(&b, seen(), "three\n").await,
        "changed since you read it",
    );
    has(&refusal(&b, None, "three\n").await, "exists already");
    b.cx.cancel.cancel();
    let seen = b.cx.tree.read("a.txt").unwrap().seen;
    has(&refusal(&b, Some(seen), "three\n").await, "cancelled");
    assert_eq!(b.disk("a.txt"), "two\n");
}

#[tokio::test]
async fn read_only_files_are_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let b = Bench::new();
    b.write("a.txt", "one\n");
    std::fs::set_permissions(b.root.join("a.txt"), PermissionsExt::from_mode(0o444)).unwrap();
    has(
        &b.err("file_edit", edit("a.txt", "one", "two")).await,
        "nothing was written",
    );
    assert_eq!(b.disk("a.txt"), "one\n");
}

#[test]
fn edits_are_minimal() {
    let edits = |old, new| {
        minimal_edits(old, new)
            .into_iter()
            .map(|e| (e.range, e.text))
            .collect::<Vec<_>>()
    };
    let one = |range, text: &str| vec![(range, text.to_owned())];
    assert_eq!(edits("a\nb\nc\n", "a\nb\nc\n"), []);
    assert_eq!(edits("a\nbxd\nc\n", "a\nbyd\nc\n"), one(3..4, "y"));
    assert_eq!(edits("a\nb\n", "a\nx\nb\n"), one(2..2, "x\n"));
    assert_eq!(edits("a\nx\nb\n", "a\nb\n"), one(2..4, ""));
    assert_eq!(edits("a", "a\n"), one(1..1, "\n"));
    assert_eq!(edits("a\r\n", "a\n"), one(1..3, "\n"), "a CR LF is whole");
    assert_eq!(edits("a\n", "a\r\n"), one(1..2, "\r\n"));
    assert_eq!(edits("é\n", "è\n"), one(0..2, "è"), "a character is whole");
    assert_eq!(edits("", "a\n"), one(0..0, "a\n"));
    let two = edits("load(1);\nkeep\nload(2);\n", "read(1);\nkeep\nread(2);\n");
    assert_eq!(two.len(), 2);
}

proptest::proptest! {
    #[test]
    fn edits_lead_from_old_to_new(old in "[ab\r\né\u{1F600}]{0,40}", new in "[ab\r\né\u{1F600}]{0,40}") {
        let edits = minimal_edits(&old, &new);
        proptest::prop_assert_eq!(apply_edits(&old, &edits), new.clone());
        let inside = |text: &str, at: usize| text[..at].ends_with('\r') && text[at..].starts_with('\n');
        for pair in edits.windows(2) {
            proptest::prop_assert!(pair[0].range.end <= pair[1].range.start);
        }
        for edit in &edits {
            proptest::prop_assert!(!inside(&old, edit.range.start) && !inside(&old, edit.range.end));
        }
    }
}
