//! What a run keeps beside files: its list, its mode, the project's memory; and what it looks at: git, the
//! log, images.

use std::process::Command;

use super::*;

fn todo(id: &str, title: &str, status: &str) -> Value {
    json!({"id": id, "title": title, "status": status})
}

#[tokio::test]
async fn a_todo_list_is_written_whole_and_outlives_its_context() {
    let mut b = Bench::new();
    assert_eq!(b.ok("todo_read", json!({})).await, "Todo list is empty.");
    let mut tests = todo("2", "write\ntests", "in_progress");
    tests["description"] = json!("for each tool");
    let list =
        json!({"todos": [todo("1", "read", "completed"), tests, todo("3", "never", "cancelled")]});
    let shown =
        "[1] completed: read\n[2] in_progress: write tests (for each tool)\n[3] cancelled: never";
    assert_eq!(b.ok("todo_write", list).await, shown);
    assert_eq!(b.cx.todos.progress(&b.cx).unwrap(), "1/2 done, write tests");
    assert_eq!(todo_lines(&b.store, &b.cx.run).join("\n"), shown);
    // Another turn of the same run, after a suspension.
    b.cx.todos = Todos::default();
    assert_eq!(b.ok("todo_read", json!({})).await, shown);
    assert_eq!(
        b.ok("todo_write", json!({"todos": []})).await,
        "Todo list is empty."
    );
    assert_eq!(b.cx.todos.progress(&b.cx), None);
    for (list, why) in [
        (
            json!([todo("1", "a", "in_progress"), todo("2", "b", "in_progress")]),
            "2 entries are `in_progress`",
        ),
        (
            json!([todo("1", "a", "pending"), todo("1", "b", "pending")]),
            "the `id` 1 is there twice",
        ),
        (
            json!([todo(" ", "a", "pending")]),
            "an `id` has 1 to 40 characters",
        ),
        (json!([todo("1", "", "pending")]), "the `title` of 1"),
        (json!([todo("1", "a", "done")]), "unknown variant `done`"),
        (json!([{"id": "1", "title": "a"}]), "missing field `status`"),
        (json!("x"), "`todos` must be an array, not a string"),
        (
            json!(
                (0..101)
                    .map(|n| todo(&n.to_string(), "a", "pending"))
                    .collect::<Vec<_>>()
            ),
            "100 are the most",
        ),
    ] {
        has(&b.err("todo_write", json!({"todos": list})).await, why);
    }
    has(
        &b.err("todo_read", json!({"x": 1})).await,
        "unknown field `x`",
    );
}

#[tokio::test]
async fn plan_mode_is_entered_and_left_by_the_agent_in_these_words() {
    let b = Bench::new();
    assert_eq!(b.ok("plan_exit", json!({})).await, "Not in plan mode.");
    has(&b.ok("plan_enter", json!({})).await, "Plan mode is on");
    assert_eq!(b.ok("plan_enter", json!({})).await, "Already in plan mode.");
    for (tool, input) in [
        ("file_write", json!({"path": "a", "content": "x"})),
        (
            "file_edit",
            json!({"path": "a", "old_string": "x", "new_string": "y"}),
        ),
        (
            "patch_apply",
            json!({"patch": "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n"}),
        ),
        (
            "memory_write",
            json!({"action": "set", "key": "a", "value": "b"}),
        ),
    ] {
        let said = format!(
            "Tool {tool} is disabled in plan mode. Use plan_exit to re-enable write tools."
        );
        assert_eq!(b.err(tool, input).await, said);
    }
    has(&b.ok("plan_exit", json!({})).await, "Plan mode is off");
    b.ok("file_write", json!({"path": "a", "content": "x"}))
        .await;
}

#[tokio::test]
async fn plan_mode_of_the_author_is_not_left_by_the_agent() {
    let mut b = Bench::new();
    b.cx.plan = Plan::of_author(true);
    assert_eq!(b.ok("plan_enter", json!({})).await, "Already in plan mode.");
    has(
        &b.err("plan_exit", json!({})).await,
        "only the author ends it",
    );
    let write = json!({"path": "a", "content": "x"});
    has(
        &b.err("file_write", write).await,
        "disabled in plan mode, which the author chose",
    );
    assert!(!b.root.join("a").exists());
}

/// The calls around plan_enter and plan_exit mean different things, so their order counts.
#[tokio::test]
async fn a_batch_with_plan_enter_runs_in_order() {
    let b = Bench::new();
    let write = |path: &str| {
        (
            String::from("file_write"),
            json!({"path": path, "content": "x"}),
        )
    };
    let plain = |name: &str| (name.to_owned(), json!({}));
    let calls = vec![
        write("a"),
        plain("plan_enter"),
        write("b"),
        plain("plan_exit"),
        write("c"),
    ];
    let answers = b.registry.call_all(&b.cx, calls).await;
    let went_well: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(went_well, [true, true, false, true, true], "{answers:?}");
    assert!(b.root.join("a").exists() && !b.root.join("b").exists() && b.root.join("c").exists());
}

fn set(key: &str, value: &str) -> Value {
    json!({"action": "set", "key": key, "value": value})
}

#[tokio::test]
async fn memory_is_kept_sorted_in_the_project_and_taken_back_by_undo() {
    let b = Bench::new();
    assert_eq!(
        b.ok("memory_read", json!({})).await,
        "No project memory facts stored."
    );
    assert_eq!(
        b.ok("memory_write", set("tests", "cargo test")).await,
        "Kept `tests`."
    );
    assert_eq!(
        b.ok("memory_write", set(" build ", "make\nthen make install"))
            .await,
        "Kept `build`."
    );
    assert_eq!(
        b.ok("memory_write", set("tests", "cargo nextest")).await,
        "Changed `tests`."
    );
    assert_eq!(
        b.ok("memory_read", json!({})).await,
        "build: make\n    then make install\ntests: cargo nextest"
    );
    let json: Value = serde_json::from_str(&b.disk(".postil/memory.json")).unwrap();
    assert_eq!(
        json,
        json!({"build": "make\nthen make install", "tests": "cargo nextest"})
    );
    assert_eq!(b.store.last_changes(&b.cx.run).unwrap().len(), 3);
    assert_eq!(
        b.ok("memory_write", json!({"action": "remove", "key": "build"}))
            .await,
        "Removed `build`."
    );
    assert_eq!(b.ok("memory_read", json!({})).await, "tests: cargo nextest");
    for (input, why) in [
        (json!({"action": "remove", "key": "none"}), "no fact `none`"),
        (json!({"action": "set", "key": "a"}), "`value` is missing"),
        (set("a", " "), "`value` is empty"),
        (set("", "x"), "`key` must be one line"),
        (set("a\nb", "x"), "`key` must be one line"),
        (set("a", &"x".repeat(2001)), "longer than 2000"),
        (
            json!({"action": "forget", "key": "a"}),
            "unknown variant `forget`",
        ),
    ] {
        has(&b.err("memory_write", input).await, why);
    }
    assert!(b.questions().is_empty());
    // No other tool writes there without a question.
    let write = json!({"path": ".postil/memory.json", "content": "{}"});
    b.ok("file_read", json!({"path": ".postil/memory.json"}))
        .await;
    b.err("file_write", write).await;
    assert_eq!(b.questions().len(), 1);
    b.write(".postil/memory.json", "{broken");
    has(
        &b.err("memory_read", json!({})).await,
        "mend it or remove it",
    );
    has(
        &b.err("memory_write", set("a", "b")).await,
        "mend it or remove it",
    );
    assert_eq!(b.disk(".postil/memory.json"), "{broken");
}

#[test]
fn memory_written_by_many_at_once_loses_nothing() {
    let b = Bench::new();
    // Contexts of their own have no lock in common, like processes.
    std::thread::scope(|scope| {
        for at in 0..4 {
            let tree = b.cx.tree.clone();
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(async {
                    let mut other = Bench::new();
                    other.cx.tree = tree;
                    for n in 0..5 {
                        other
                            .ok("memory_write", set(&format!("{at}-{n}"), "x"))
                            .await;
                    }
                });
            });
        }
    });
    let json: Value = serde_json::from_str(&b.disk(".postil/memory.json")).unwrap();
    assert_eq!(json.as_object().unwrap().len(), 20);
}

/// A repository of real git, with the configuration of nobody.
fn git(b: &Bench, args: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@x",
            "-c",
            "core.quotePath=false",
        ])
        .args(args)
        .current_dir(&b.root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn git_status_says_what_real_git_says() {
    let b = Bench::new();
    has(
        &b.err("git_status", json!({})).await,
        "in no git repository",
    );
    git(&b, &["init", "-q", "-b", "main"]);
    for name in [
        "a.txt",
        "b.txt",
        "dir/c d.txt",
        "dir/ü.txt",
        "e\"q.txt",
        "gone.txt",
        "staged-gone.txt",
        "move.txt",
    ] {
        b.write(
            name,
            format!("{name}\nsome text that is long enough to be known again\n"),
        );
    }
    git(&b, &["add", "-A"]);
    git(&b, &["commit", "-qm", "x"]);
    assert_eq!(
        b.ok("git_status", json!({})).await,
        "Nothing differs from the last commit."
    );
    b.write("a.txt", "changed\n");
    b.write("b.txt", "staged\n");
    b.write("new.txt", "x\n");
    git(&b, &["add", "b.txt", "new.txt"]);
    b.write("b.txt", "and again\n");
    b.write("dir/c d.txt", "x\n");
    b.write("dir/ü.txt", "x\n");
    b.write("e\"q.txt", "x\n");
    b.write("untracked/x.txt", "x\n");
    b.write("un tracked.txt", "x\n");
    b.write(".gitignore", "*.log\n");
    b.write("noise.log", "x\n");
    std::fs::remove_file(b.root.join("gone.txt")).unwrap();
    git(&b, &["rm", "-q", "staged-gone.txt"]);
    git(&b, &["mv", "move.txt", "moved here.txt"]);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let ours = b.ok("git_status", json!({})).await;
    assert_eq!(sorted(&ours), sorted(&git(&b, &["status", "--short"])));
    let ours = b.ok("git_status", json!({"path": "dir"})).await;
    assert_eq!(
        sorted(&ours),
        sorted(&git(&b, &["status", "--short", "--", "dir"]))
    );
    has(
        &b.err("git_status", json!({"path": "../x"})).await,
        "outside the workspace",
    );
    has(
        &b.err("git_status", json!({"path": "dir/none.txt"})).await,
        "There is no dir/none.txt, neither on disk nor in git.",
    );
    for (gone, told) in [
        ("gone.txt", " D gone.txt\n"),
        ("staged-gone.txt", "D  staged-gone.txt\n"),
    ] {
        assert_eq!(b.ok("git_status", json!({ "path": gone })).await, told);
    }
    // A merge that was left open.
    git(&b, &["add", "-A"]);
    git(&b, &["commit", "-qm", "y"]);
    for (branch, text) in [("left", "left\n"), ("right", "right\n")] {
        git(&b, &["checkout", "-qb", branch, "main"]);
        b.write("a.txt", text);
        b.write("both.txt", text);
        git(&b, &["add", "-A"]);
        git(&b, &["commit", "-qm", branch]);
    }
    git(&b, &["merge", "-q", "left"]);
    let ours = b.ok("git_status", json!({})).await;
    assert_eq!(sorted(&ours), sorted(&git(&b, &["status", "--short"])));
    has(&ours, "UU a.txt");
    has(&ours, "AA both.txt");
}

#[tokio::test]
async fn git_status_runs_nothing_of_the_repository_and_is_bounded() {
    let b = Bench::new();
    git(&b, &["init", "-q"]);
    let canary = b.root.parent().unwrap().join("canary");
    let touch = format!("touch {}; cat", canary.display());
    b.write("a.txt", "x\n");
    git(&b, &["add", "-A"]);
    git(&b, &["commit", "-qm", "x"]);
    for key in [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "core.pager",
        "alias.status",
    ] {
        git(&b, &["config", key, &touch]);
    }
    b.write(".gitattributes", "* filter=evil diff=evil\n");
    b.write("a.txt", "y\n");
    for n in 0..2000 {
        b.write(
            &format!("a rather long name of a file that is not tracked {n}.txt"),
            "x",
        );
    }
    let status = b.ok("git_status", json!({})).await;
    assert!(!canary.exists());
    assert!(status.len() <= MAX_OUTPUT);
    has(&status, " M a.txt");
    has(&status, "of 2002 lines are not shown");
}

#[tokio::test]
async fn the_log_is_shown_newest_first() {
    let b = Bench::new();
    crate::log::keep("an older line of this very test");
    crate::log::keep("a newer line of this very test");
    let text = b.ok("log_read", json!({"lines": 500})).await;
    let at = |part: &str| text.find(part).unwrap();
    assert!(at("a newer line of this very") < at("an older line of this very"));
    assert_eq!(
        b.ok("log_read", json!({"lines": 1})).await.lines().count(),
        1
    );
    has(
        &b.err("log_read", json!({"lines": "all"})).await,
        "`lines` must be a whole number",
    );
}

#[tokio::test]
async fn images_are_shown_beside_the_text_and_others_named() {
    let b = Bench::new();
    let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 40]].concat();
    b.write("a.png", &png);
    b.write("b.webp", b"RIFF\x10\0\0\0WEBPVP8 \0\0");
    b.write("c.wav", b"RIFF\x10\0\0\0WAVEfmt \0\0");
    b.write(
        "big.jpg",
        [b"\xff\xd8\xff".as_slice(), &vec![0; 4_000_000]].concat(),
    );
    let read = |path: &str| json!({"path": path});
    assert_eq!(
        b.ok("file_read", read("a.png")).await,
        "(a.png is an image (PNG) of 48 bytes; it follows)"
    );
    has(&b.ok("file_read", read("b.webp")).await, "it follows");
    has(&b.ok("file_read", read("c.wav")).await, "it is not shown");
    has(
        &b.ok("file_read", read("big.jpg")).await,
        "larger than 3750000 bytes, so it is not shown",
    );
    let shown = b.cx.images.take();
    let kinds: Vec<_> = shown
        .iter()
        .map(|image| (&*image.name, image.media_type))
        .collect();
    assert_eq!(kinds, [("a.png", "image/png"), ("b.webp", "image/webp")]);
    assert!(shown[0].data.starts_with("iVBORw0KGgo"));
    assert!(b.cx.images.take().is_empty());
    for n in 0..9 {
        b.write(&format!("{n}.png"), &png);
        let text = b.ok("file_read", read(&format!("{n}.png"))).await;
        assert_eq!(text.contains("it follows"), n < 8, "{text}");
    }
}
