//! Whole trees: what a scan keeps for the next one, a branch that is switched, folders that cannot be
//! watched; and the same from hooks and CI.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace};

mod gate; // `postil check`, SARIF, pre-commit
mod unseen; // what it could not look at

const QUESTION: &str = "# AUTHOR: why?\nx = 1\n";

fn postil(workspace: &Workspace, args: &[&str]) -> Output {
    let mut command = workspace.postil();
    command.args(args).stdin(Stdio::null());
    command.output().expect("postil runs")
}

/// The list of threads, and how many files were read for it.
fn list(workspace: &Workspace) -> (Value, usize) {
    let output = postil(workspace, &["threads", "--json", "-vv"]);
    let log = String::from_utf8_lossy(&output.stderr);
    let read = log
        .lines()
        .find_map(|line| {
            line.split_once(" files were read")
                .map(|(before, _)| before)
        })
        .and_then(|before| before.rsplit(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("nothing is said of what was read: {log}"));
    let list = serde_json::from_slice(&output.stdout).expect("JSON");
    (list, read)
}

/// What was changed a moment ago is read once more: until that is over.
fn settle(workspace: &Workspace) -> Value {
    for _ in 0..100 {
        if let (list, 0) = list(workspace) {
            return list;
        }
    }
    panic!("files are read again and again");
}

fn work(editor: &mut Editor) -> (u64, u64) {
    let work = editor.request("postil/test/work", json!({})).expect("work");
    let number = |name: &str| work[name].as_u64().expect("a number");
    (number("reads"), number("scans"))
}

/// An editor that does not watch files.
fn blind() -> Options {
    Options {
        capabilities: json!({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": false}}}),
        ..Options::default()
    }
}

/// Waits until the server watches the folder: a file is written until it is seen.
fn wait_for_the_watch(workspace: &Workspace, editor: &Editor) {
    let uri = editor.uri("probe.py");
    let began = std::time::Instant::now();
    let seen = |list: &(Option<i64>, Vec<Value>)| !list.1.is_empty();
    while !editor.state().diagnostics.get(&uri).is_some_and(seen) {
        assert!(began.elapsed() < crate::harness::DEADLINE, "no watch");
        workspace.write("probe.py", QUESTION);
        crate::harness::pause();
    }
    std::fs::remove_file(workspace.path("probe.py")).expect("removed");
    editor.wait_codes("probe.py", &[]);
}

#[test]
fn a_second_look_reads_only_what_changed() {
    let workspace = Workspace::new();
    workspace.git(&["init", "--quiet"]);
    for n in 0..50 {
        workspace.write(&format!("{}/{n}.py", n % 5), "x = 1\n");
    }
    workspace.write("1/a.py", QUESTION);
    workspace.git(&["add", "."]);
    let first = settle(&workspace);
    assert_eq!(first["summary"]["total"], 1);

    workspace.write("2/7.py", QUESTION);
    let (second, read) = list(&workspace);
    assert_eq!((&second["summary"]["total"], read), (&json!(2), 1));
    let fresh = postil(&workspace, &["threads", "--json", "--no-cache"]);
    assert_eq!(
        second,
        serde_json::from_slice::<Value>(&fresh.stdout).expect("JSON")
    );

    // A check and the server's start have the same.
    settle(&workspace);
    let check = postil(&workspace, &["check", "-vv"]);
    assert_eq!(check.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&check.stderr).contains(" 0 files were read"));
    let mut editor = Editor::start(&workspace);
    editor.wait_codes("1/a.py", &["pending"]);
    editor.wait_codes("2/7.py", &["pending"]);
    assert_eq!(work(&mut editor), (0, 1));
}

#[test]
fn without_the_cache_nothing_is_kept() {
    let workspace = Workspace::new();
    workspace.write("a.py", QUESTION);
    let cache = workspace
        .data()
        .parent()
        .and_then(std::path::Path::parent)
        .expect("a folder")
        .join("cache/postil");
    postil(&workspace, &["threads", "--no-cache"]);
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            args: vec![String::from("--no-cache")],
            ..Options::default()
        },
    );
    editor.wait_codes("a.py", &["pending"]);
    assert_eq!(work(&mut editor), (1, 1));
    assert!(!cache.exists());
    postil(&workspace, &["threads"]);
    assert!(cache.exists());
}

const FOLDERS: usize = 40;
const EACH: usize = 300;
/// Files that the other branch has otherwise.
const CHANGED: usize = 10_000;

#[test]
fn another_branch_is_caught_up_with_by_one_look() {
    let workspace = Workspace::new();
    workspace.git(&["init", "--quiet"]);
    workspace.git(&["config", "gc.auto", "0"]);
    let name = |n: usize| format!("{}/{n}.py", n % FOLDERS);
    let asks = |n: usize, first: usize| n % 500 == first;
    for n in 0..FOLDERS * EACH {
        workspace.write(&name(n), if asks(n, 0) { QUESTION } else { "x = 1\n" });
    }
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "--quiet", "-m", "One"]);
    workspace.git(&["checkout", "--quiet", "-b", "other"]);
    for n in 0..CHANGED {
        let text = if asks(n, 1) { QUESTION } else { "y = 1\n" };
        workspace.write(&name(n), text);
    }
    workspace.write("new/deep/a.py", QUESTION);
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "--quiet", "-m", "Two"]);

    let mut editor = Editor::start_with(&workspace, blind());
    editor.wait_codes(&name(1), &["pending"]);
    wait_for_the_watch(&workspace, &editor);
    for (branch, first) in [("main", 0), ("other", 1)] {
        let (reads, scans) = work(&mut editor);
        workspace.git(&["checkout", "--quiet", branch]);
        for n in (0..CHANGED).filter(|n| n % 500 < 2) {
            let codes: &[&str] = if asks(n, first) { &["pending"] } else { &[] };
            editor.wait_codes(&name(n), codes);
        }
        let new: &[&str] = if branch == "other" { &["pending"] } else { &[] };
        editor.wait_codes("new/deep/a.py", new);
        // What is told later is seen later: the whole switch is behind us.
        wait_for_the_watch(&workspace, &editor);
        let (reads_now, scans_now) = work(&mut editor);
        let reads = reads_now - reads;
        assert!(
            reads <= (FOLDERS * EACH) as u64,
            "one scan reads {} files, this read {reads}",
            FOLDERS * EACH
        );
        // One, where git writes without a pause; a busy machine makes some, and never one for each file.
        assert!(scans_now - scans <= 20, "{}", scans_now - scans);
    }
}

#[test]
fn rules_and_git_decide_at_once_what_is_shown() {
    let workspace = Workspace::new();
    workspace.git(&["init", "--quiet"]);
    workspace.write("a.py", QUESTION);
    workspace.write("kept/b.py", QUESTION);
    let editor = Editor::start_with(&workspace, blind());
    editor.wait_codes("a.py", &["pending"]);
    editor.wait_codes("kept/b.py", &["pending"]);
    wait_for_the_watch(&workspace, &editor);
    workspace.write(".gitignore", "a.py\nkept/\n");
    editor.wait_codes("a.py", &[]);
    editor.wait_codes("kept/b.py", &[]);
    workspace.git(&["add", "-f", "kept/b.py"]);
    editor.wait_codes("kept/b.py", &["pending"]);
    std::fs::remove_file(workspace.path(".gitignore")).expect("removed");
    editor.wait_codes("a.py", &["pending"]);
}

/// In a space of its own the number of watched folders can be limited for one process.
#[test]
fn where_not_every_folder_can_be_watched_it_says_so_once_and_looks() {
    let limited = "echo 3 > /proc/sys/user/max_inotify_watches && exec \"$0\" \"$@\"";
    let within = ["unshare", "-U", "-r", "sh", "-c", limited];
    let works = std::process::Command::new("unshare")
        .args(["-U", "-r", "sh", "-c", limited, "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !works {
        // Straight to the descriptor: what the print macros write is shown for failed tests only.
        use std::io::Write as _;
        let _ = writeln!(
            std::io::stderr(),
            "skipped: a limit of watches (no user namespaces here)"
        );
        return;
    }
    let workspace = Workspace::new();
    for n in 0..10 {
        workspace.write(&format!("{n}/a.py"), "x = 1\n");
    }
    let editor = Editor::start_with(
        &workspace,
        Options {
            within: within.iter().map(ToString::to_string).collect(),
            ..blind()
        },
    );
    let says = |message: &Value| {
        message["message"]
            .as_str()
            .is_some_and(|m| m.contains("can be watched"))
    };
    let said = editor.wait_message("window/showMessage", says);
    let text = said["message"].as_str().expect("a text");
    assert!(
        text.contains("fs.inotify.max_user_watches") && text.contains("every few seconds"),
        "{text}"
    );
    for n in [9, 4] {
        workspace.write(&format!("{n}/a.py"), QUESTION);
        editor.wait_codes(&format!("{n}/a.py"), &["pending"]);
    }
    let messages = editor
        .state()
        .received
        .iter()
        .filter(|m| says(&m["params"]))
        .count();
    assert_eq!(messages, 1);
}

/// Folders of a tree whose watch takes its time to stand.
const SLOW: usize = 1_500;
/// Files that are written meanwhile: so few that none of them is seen for the number of the others.
const MEANWHILE: usize = 150;

#[test]
fn what_comes_before_the_watch_stands_is_seen_too() {
    let workspace = Workspace::new();
    for n in 0..SLOW {
        workspace.write(&format!("{n}/a.py"), "x = 1\n");
    }
    workspace.write("first.py", QUESTION);
    let editor = Editor::start_with(&workspace, blind());
    editor.wait_codes("first.py", &["pending"]);
    // The first look is over. In folders that are there, and in new ones:
    let name = |n: usize| match n % 2 {
        0 => format!("{}/n{n}.py", n * 10),
        _ => format!("{}/new/n{n}.py", n * 10),
    };
    let seen = |n: usize| {
        let uri = editor.uri(&name(n));
        let state = editor.state();
        let told = state.diagnostics.get(&uri);
        told.is_some_and(|(_, list)| !list.is_empty())
    };
    let mut count = 0;
    while count < MEANWHILE && !(0..count).any(seen) {
        workspace.write(&name(count), QUESTION);
        count += 1;
        std::thread::sleep(std::time::Duration::from_millis(4));
    }
    for n in 0..count {
        editor.wait_codes(&name(n), &["pending"]);
    }
    // And what becomes of it.
    for n in 0..count {
        workspace.write(&name(n), "x = 1\n");
    }
    for n in 0..count {
        editor.wait_codes(&name(n), &[]);
    }
}

#[test]
fn a_folder_that_was_empty_is_watched() {
    let workspace = Workspace::new();
    std::fs::create_dir_all(workspace.path("src/deep")).expect("folders");
    let editor = Editor::start_with(&workspace, blind());
    wait_for_the_watch(&workspace, &editor);
    for file in ["src/deep/a.py", "src/b.py"] {
        workspace.write(file, QUESTION);
        editor.wait_codes(file, &["pending"]);
    }
}

#[test]
fn folders_that_count_later_are_watched() {
    let workspace = Workspace::new();
    workspace.write(".gitignore", "ignored/\n");
    workspace.write("ignored/a.py", QUESTION);
    workspace.write(".ci/deep/a.py", QUESTION);
    let editor = Editor::start_with(&workspace, blind());
    wait_for_the_watch(&workspace, &editor);
    let seen_there = |file: &str| {
        editor.wait_codes(file, &["pending"]);
        workspace.write(file, "x = 1\n");
        editor.wait_codes(file, &[]);
        workspace.write(file, QUESTION);
        editor.wait_codes(file, &["pending"]);
    };
    // The repository came later, too.
    workspace.git(&["init", "--quiet"]);
    workspace.git(&["add", "--all"]);
    seen_there(".ci/deep/a.py");
    workspace.write(".github/workflows/b.py", QUESTION);
    wait_for_the_watch(&workspace, &editor);
    workspace.git(&["add", "--all"]);
    seen_there(".github/workflows/b.py");
    // Gone with a branch, and back.
    workspace.git(&["commit", "--quiet", "-m", "One"]);
    workspace.git(&["rm", "--quiet", "-r", ".github"]);
    editor.wait_codes(".github/workflows/b.py", &[]);
    workspace.git(&["reset", "--quiet", "--hard"]);
    seen_there(".github/workflows/b.py");

    workspace.write(".gitignore", "");
    seen_there("ignored/a.py");
    workspace.write("ignored/deep/b.py", QUESTION);
    seen_there("ignored/deep/b.py");
    workspace.write(".git/info/exclude", "ignored/\n");
    editor.wait_codes("ignored/deep/b.py", &[]);
}

#[test]
fn a_root_that_is_made_anew_is_watched() {
    let workspace = Workspace::new();
    let root = workspace.root();
    let aside = root.with_file_name("aside");
    let fill = || {
        workspace.git(&["init", "--quiet"]);
        workspace.write("src/a.py", QUESTION);
        workspace.write(".ci/b.py", QUESTION);
        workspace.git(&["add", "--all"]);
    };
    fill();
    let editor = Editor::start_with(&workspace, blind());
    let files = ["src/a.py", ".ci/b.py"];
    let are = |codes: &[&str]| {
        for file in files {
            editor.wait_codes(file, codes);
        }
    };
    are(&["pending"]);
    wait_for_the_watch(&workspace, &editor);
    for moved in [false, true] {
        match moved {
            true => std::fs::rename(root, &aside).expect("moved"),
            false => std::fs::remove_dir_all(root).expect("removed"),
        }
        are(&[]);
        match moved {
            true => std::fs::rename(&aside, root).expect("moved back"),
            false => {
                std::fs::create_dir(root).expect("made");
                fill();
            }
        }
        are(&["pending"]);
        for text in ["x = 1\n", QUESTION] {
            for file in files {
                workspace.write(file, text);
            }
            are(if text == QUESTION { &["pending"] } else { &[] });
        }
    }
}
