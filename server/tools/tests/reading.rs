//! The tools that read.

use super::*;

#[tokio::test]
async fn file_read_numbers_lines() {
    let b = Bench::new();
    b.write("a.rs", "\u{feff}one\r\n\ttwo\n\nfour");
    assert_eq!(
        b.ok("file_read", json!({"path": "a.rs"})).await,
        "   1 | one\n   2 | \ttwo\n   3 | \n   4 | four\n"
    );
    let part = b
        .ok(
            "file_read",
            json!({"path": "./a.rs", "offset": 2, "limit": 1}),
        )
        .await;
    assert_eq!(
        part,
        "   2 | \ttwo\n(2 of 4 lines are not shown: go on with offset 3)\n"
    );
    has(
        &b.err("file_read", json!({"path": "a.rs", "offset": 5}))
            .await,
        "has 4 lines: offset 5 is past its end",
    );
    for (name, bound) in [("offset", 1), ("limit", 1)] {
        let refused = b.err("file_read", json!({"path": "a.rs", name: 0})).await;
        has(
            &refused,
            &format!("`{name}` must be at least {bound}, not 0"),
        );
    }
    let refused = b.err("log_read", json!({"lines": 501})).await;
    has(&refused, "`lines` must be from 1 to 500, not 501");
    b.write("empty", "");
    assert_eq!(
        b.ok("file_read", json!({"path": "empty"})).await,
        "(empty is empty)"
    );
}

#[tokio::test]
async fn file_read_cuts_at_50_kb_and_goes_on() {
    let b = Bench::new();
    let text: String = (1..=5000).map(|n| format!("line {n} äöü\n")).collect();
    b.write("long.txt", &text);
    let (mut offset, mut lines, mut calls) = (1, Vec::new(), 0);
    loop {
        let answer = b
            .ok("file_read", json!({"path": "long.txt", "offset": offset}))
            .await;
        assert!(answer.len() <= MAX_OUTPUT, "{}", answer.len());
        calls += 1;
        let shown = answer
            .lines()
            .filter_map(|l| l.split_once(" | "))
            .map(|(_, text)| format!("{text}\n"));
        lines.extend(shown);
        match answer.rsplit_once("go on with offset ") {
            Some((_, rest)) => offset = rest.trim_end_matches(")\n").parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(lines.concat(), text);
    assert!(calls > 1);

    b.write("one.txt", format!("{}\nend\n", "ä".repeat(40_000)));
    let answer = b.ok("file_read", json!({"path": "one.txt"})).await;
    assert!(answer.len() <= MAX_OUTPUT, "{}", answer.len());
    has(&answer, "(line 1 was cut: ");
    has(&answer, "go on with offset 2)");
    has(
        &b.ok("file_read", json!({"path": "one.txt", "offset": 2}))
            .await,
        "   2 | end",
    );
}

#[tokio::test]
async fn file_read_names_what_is_no_text() {
    let b = Bench::new();
    b.write("a.png", b"\x89PNG\r\n\x1a\n\0\0\0");
    b.write("blob", b"ab\0cd");
    b.write("latin1.txt", b"caf\xe9\n");
    b.write("src/x.rs", "");
    assert_eq!(
        b.ok("file_read", json!({"path": "a.png"})).await,
        "(a.png is an image (PNG) of 11 bytes; it follows)"
    );
    has(
        &b.ok("file_read", json!({"path": "blob"})).await,
        "blob is a binary file of 5 bytes",
    );
    let lossy = b.ok("file_read", json!({"path": "latin1.txt"})).await;
    has(&lossy, "not valid UTF-8");
    has(&lossy, "   1 | caf\u{fffd}");
    has(
        &b.err("file_read", json!({"path": "src"})).await,
        "src is a folder, not a file; list_files",
    );
    has(
        &b.err("file_read", json!({"path": "none.rs"})).await,
        "path not found: none.rs",
    );
    has(
        &b.err("file_read", json!({"path": "../x"})).await,
        "outside the workspace",
    );
    has(
        &b.err("file_read", json!({"path": "/etc/passwd"})).await,
        "outside the workspace",
    );
}

#[tokio::test]
async fn open_documents_are_read_from_the_editor() {
    let b = Bench::new();
    b.write("a.rs", "on disk\n");
    b.open("a.rs", "in the editor\n");
    b.open("new.rs", "never saved, in the editor\n");
    has(
        &b.ok("file_read", json!({"path": "a.rs"})).await,
        "   1 | in the editor",
    );
    has(
        &b.ok("file_read", json!({"path": "new.rs"})).await,
        "never saved",
    );
    let found = b
        .ok("grep", json!({"pattern": "in the editor|on disk"}))
        .await;
    assert_eq!(
        found,
        "a.rs:1:in the editor\nnew.rs:1:never saved, in the editor\n"
    );
}

#[tokio::test]
async fn grep_shows_file_line_and_text() {
    let b = Bench::new();
    b.write("src/a.rs", "fn one() {}\nfn two() {}\n\n// end\n");
    b.write("src/b.py", "def one(): pass\r\n");
    b.write(".hidden/c.rs", "fn one() {}\n");
    b.write("blob.rs", b"\0fn one");
    b.write("big.rs", "fn one\n".repeat(200_000));
    b.write(".ignore", "ignored.rs\n");
    b.write("ignored.rs", "fn one\n");
    assert_eq!(
        b.ok("grep", json!({"pattern": "one\\("})).await,
        "src/a.rs:1:fn one() {}\nsrc/b.py:1:def one(): pass\n"
    );
    assert_eq!(
        b.ok("grep", json!({"pattern": "ONE"})).await,
        "No matches found."
    );
    assert_eq!(
        b.ok("grep", json!({"pattern": "(?i)ONE", "include": "*.py"}))
            .await,
        "src/b.py:1:def one(): pass\n"
    );
    assert_eq!(
        b.ok(
            "grep",
            json!({"pattern": "one", "include": "src/*.{rs,go}"})
        )
        .await,
        "src/a.rs:1:fn one() {}\n"
    );
    assert_eq!(
        b.ok("grep", json!({"pattern": "pass$", "path": "src"}))
            .await,
        "src/b.py:1:def one(): pass\n"
    );
    assert_eq!(
        b.ok("grep", json!({"pattern": "two", "path": "src/a.rs"}))
            .await,
        "src/a.rs:2:fn two() {}\n"
    );
    assert_eq!(
        b.ok("grep", json!({"pattern": "-e", "path": "src/a.rs"}))
            .await,
        "No matches found."
    );
    has(
        &b.err("grep", json!({"pattern": "(", "path": "."})).await,
        "no regular expression",
    );
    has(
        &b.err("grep", json!({"pattern": "x", "path": "../"})).await,
        "outside the workspace",
    );
    has(
        &b.err("grep", json!({"pattern": "x", "path": "none"})).await,
        "path not found",
    );
    has(
        &b.err("grep", json!({"pattern": "x", "include": "a[".to_owned()}))
            .await,
        "no glob",
    );
}

#[tokio::test]
async fn grep_shows_context_in_groups() {
    let b = Bench::new();
    b.write("a.txt", "a\nb\nX\nc\nd\ne\nf\nX\n");
    b.write("b.txt", "X\n");
    let found = b
        .ok("grep", json!({"pattern": "X", "context_lines": 1}))
        .await;
    assert_eq!(
        found,
        "a.txt-2-b\na.txt:3:X\na.txt-4-c\n--\na.txt-7-f\na.txt:8:X\n--\nb.txt:1:X\n"
    );
}

#[tokio::test]
async fn grep_stops_at_200_and_cuts_long_lines() {
    let b = Bench::new();
    for n in 0..3 {
        b.write(&format!("{n}.txt"), "hit\n".repeat(90));
    }
    let found = b.ok("grep", json!({"pattern": "hit"})).await;
    assert_eq!(found.lines().filter(|l| l.ends_with(":hit")).count(), 200);
    has(
        &found,
        "2.txt:20:hit\n(only the first 200 matches are shown",
    );
    b.write("x/long.txt", "ä".repeat(1000));
    let found = b.ok("grep", json!({"pattern": "ä", "path": "x"})).await;
    has(&found, "… (1500 more bytes)");
    assert!(!found.contains("only the first"));
    b.write("y/exact.txt", "hit\n".repeat(200));
    assert!(
        !b.ok("grep", json!({"pattern": "hit", "path": "y"}))
            .await
            .contains("only the first")
    );
}

#[tokio::test]
async fn grep_says_that_a_file_is_too_large_to_be_searched() {
    let b = Bench::new();
    b.write("large.txt", "hit\n".repeat(300_000));
    let said = b.err("grep", json!({"pattern": "hit", "path": "large.txt"}));
    has(&said.await, "large.txt is larger than 1048576 bytes");
    b.write("x/small.txt", "hit\n");
    let found = b.ok("grep", json!({"pattern": "hit"})).await;
    assert_eq!(found, "x/small.txt:1:hit\n");
}

#[tokio::test]
async fn grep_ends_when_cancelled() {
    let b = Bench::new();
    b.write("a.txt", "x\n");
    b.cx.cancel.cancel();
    has(&b.err("grep", json!({"pattern": "x"})).await, "cancelled");
}

#[tokio::test]
async fn glob_finds_newest_first() {
    let b = Bench::new();
    let at = |path: &str, seconds: u64| {
        b.write(path, "x");
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        std::fs::File::options()
            .write(true)
            .open(b.root.join(path))
            .unwrap()
            .set_modified(time)
            .unwrap();
    };
    at("old.rs", 1000);
    at("src/new.rs", 3000);
    at("src/deep/mid.rs", 2000);
    at("node_modules/x.rs", 4000);
    at(".hidden.rs", 4000);
    at("src/a.txt", 5000);
    assert_eq!(
        b.ok("glob", json!({"pattern": "**/*.rs"})).await,
        "src/new.rs\nsrc/deep/mid.rs\nold.rs"
    );
    assert_eq!(b.ok("glob", json!({"pattern": "*.rs"})).await, "old.rs");
    assert_eq!(
        b.ok("glob", json!({"pattern": "*.rs", "path": "src"}))
            .await,
        "src/new.rs"
    );
    let absolute = format!("{}/src/*.rs", b.root.display());
    assert_eq!(
        b.ok("glob", json!({"pattern": absolute})).await,
        "src/new.rs"
    );
    has(
        &b.ok("glob", json!({"pattern": "mid.rs"})).await,
        "No files found. `**/mid.rs` looks in every folder below.",
    );
    has(
        &b.err("glob", json!({"pattern": "../*"})).await,
        "outside the workspace",
    );
    has(
        &b.err("glob", json!({"pattern": "/etc/*"})).await,
        "outside the workspace",
    );
    has(
        &b.err("glob", json!({"pattern": "*", "path": "old.rs"}))
            .await,
        "is a file",
    );
    for n in 0..510 {
        b.write(&format!("many/{n}.c"), "");
    }
    let found = b.ok("glob", json!({"pattern": "**/*.c"})).await;
    assert_eq!(found.lines().filter(|l| l.ends_with(".c")).count(), 500);
    has(&found, "(only 500 of 510 files are shown)");
}

#[tokio::test]
async fn list_files_is_sorted_and_short() {
    let b = Bench::new();
    for path in [
        "b.rs",
        "a/x.rs",
        "a/y.txt",
        "a/deep/z.rs",
        ".hidden/x",
        "target/x",
        "a/node_modules/x",
    ] {
        b.write(path, "");
    }
    assert_eq!(b.ok("list_files", json!({})).await, "a/\nb.rs");
    assert_eq!(
        b.ok("list_files", json!({"path": "a"})).await,
        "a/deep/\na/x.rs\na/y.txt"
    );
    let all = b.ok("list_files", json!({"recursive": true})).await;
    assert_eq!(all, "a/\na/deep/\na/deep/z.rs\na/x.rs\na/y.txt\nb.rs");
    let rust = b
        .ok("list_files", json!({"recursive": true, "include": "*.rs"}))
        .await;
    assert_eq!(rust, "a/deep/z.rs\na/x.rs\nb.rs");
    assert_eq!(
        b.ok("list_files", json!({"path": "a/*.rs"})).await,
        "a/x.rs"
    );
    assert_eq!(
        b.ok("list_files", json!({"path": "**/*.rs"})).await,
        "a/deep/z.rs\na/x.rs\nb.rs"
    );
    assert_eq!(
        b.ok("list_files", json!({"path": "target"})).await,
        "target/x"
    );
    assert_eq!(
        b.ok("list_files", json!({"path": "a/*.go"})).await,
        "No files found."
    );
    has(
        &b.err("list_files", json!({"path": "b.rs"})).await,
        "is a file, not a folder; file_read",
    );
    has(
        &b.err("list_files", json!({"path": "none"})).await,
        "path not found: none",
    );
    has(
        &b.err("list_files", json!({"path": ".."})).await,
        "outside the workspace",
    );
    has(
        &b.err("list_files", json!({"path": "/*"})).await,
        "outside the workspace",
    );
    for n in 0..600 {
        b.write(&format!("many/{n:03}"), "");
    }
    let many = b.ok("list_files", json!({"path": "many"})).await;
    has(&many, "many/000\nmany/001\n");
    has(&many, "many/499\n(only 500 of 600 entries are shown");
}
