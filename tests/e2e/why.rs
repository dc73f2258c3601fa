//! Closed conversations, found again from the lines that they were about, with real git.

use serde_json::{Value, json};

use crate::harness::{Editor, Workspace};

const CODE: &str =
    "fn load() {\n    let timeout = 30;\n    go(timeout);\n}\n\nfn main() {\n    load();\n}\n";
const THREAD: &str = "    // AUTHOR: why thirty?\n    // AGENT: The server gives up after 31.\n";

/// A committed project with a thread that was answered above the second line.
fn project() -> Workspace {
    let workspace = Workspace::new();
    workspace.git(&["init", "--quiet"]);
    workspace.write("src/a.rs", CODE);
    commit(&workspace, "Begin");
    workspace.write("src/a.rs", with_thread(CODE, "    let timeout"));
    workspace
}

/// The thread above the line that begins so.
fn with_thread(text: &str, before: &str) -> String {
    text.replacen(before, &format!("{THREAD}{before}"), 1)
}

fn commit(workspace: &Workspace, message: &str) -> String {
    workspace.git(&["add", "--all"]);
    workspace.git(&["commit", "--quiet", "-m", message]);
    workspace.git(&["rev-parse", "HEAD"]).trim().to_owned()
}

fn run(workspace: &Workspace, args: &[&str]) -> (i32, String, String) {
    let output = workspace.postil().args(args).output().expect("postil runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().expect("an exit status"),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[track_caller]
fn ok(workspace: &Workspace, args: &[&str]) -> String {
    let (code, out, err) = run(workspace, args);
    assert_eq!(code, 0, "{args:?}: {out}{err}");
    out
}

#[track_caller]
fn dismiss(workspace: &Workspace) {
    let list = ok(workspace, &["threads", "--json"]);
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let id = list["threads"][0]["id"].as_str().expect("an id");
    ok(workspace, &["dismiss", id]);
}

#[track_caller]
fn why(workspace: &Workspace, place: &str) -> Value {
    serde_json::from_str(&ok(workspace, &["why", place, "--json"])).expect("JSON")
}

/// What ties each conversation to the line.
#[track_caller]
fn ties(workspace: &Workspace, place: &str) -> Vec<String> {
    let why = why(workspace, place);
    let all = why["conversations"].as_array().expect("conversations");
    all.iter()
        .map(|one| one["tie"].as_str().expect("a tie").to_owned())
        .collect()
}

#[test]
fn a_thread_that_was_resolved_is_told_at_its_lines() {
    let workspace = project();
    dismiss(&workspace);
    assert_eq!(workspace.read("src/a.rs"), CODE);
    let told = why(&workspace, "src/a.rs:2");
    assert_eq!(told["commits"][0]["summary"], "Begin");
    assert_eq!(told["conversations"][0]["tie"], "line");
    assert_eq!(told["conversations"][0]["source"], "history");
    assert_eq!(told["conversations"][0]["closed_by_commit"], false);
    let said = &told["conversations"][0]["messages"];
    assert_eq!(said[0]["role"], "author");
    assert_eq!(said[1]["text"], "The server gives up after 31.");
    let text = ok(&workspace, &["why", "src/a.rs:2"]);
    assert!(text.contains("AUTHOR: why thirty?"), "{text}");
    assert_eq!(ties(&workspace, "src/a.rs:6"), [""; 0]);
    let (code, out, err) = run(&workspace, &["why", "src/a.rs:6"]);
    assert_eq!(code, 0);
    assert!(
        format!("{out}{err}").contains(
            "no closed conversation is tied to src/a.rs:6; it was last changed by A Person"
        ),
        "{out}{err}"
    );
}

/// A line of few letters is one too; a bracket alone is none, for it would say the same anywhere.
#[test]
fn a_short_line_is_told_of_where_it_stands_once() {
    for line in ["fn b(){}", "foo();", "x = 1", "}"] {
        let workspace = Workspace::new();
        workspace.git(&["init", "--quiet"]);
        workspace.write(
            "src/a.rs",
            format!("fn z(){{}}\n// AUTHOR: why so?\n{line}\n"),
        );
        dismiss(&workspace);
        let told = |place: &str| !ties(&workspace, place).is_empty();
        assert_eq!(told("src/a.rs:2"), line != "}", "{line}");
        commit(&workspace, "Begin");
        assert_eq!(told("src/a.rs:2"), line != "}", "{line}");
        workspace.write("src/a.rs", format!("fn z(){{}}\n{line}\n\n{line}\n"));
        assert!(!told("src/a.rs:4"), "{line}");
    }
}

#[test]
fn lines_that_moved_were_changed_or_renamed_are_followed() {
    let workspace = project();
    dismiss(&workspace);
    // Lines above, and the file under another name.
    let text = format!("use x;\nuse y;\n\n{CODE}");
    workspace.write("src/a.rs", &text);
    assert_eq!(
        ties(&workspace, "src/a.rs:5"),
        ["line"],
        "not committed yet"
    );
    commit(&workspace, "Use");
    workspace.git(&["mv", "src/a.rs", "src/b.rs"]);
    assert_eq!(
        ties(&workspace, "src/b.rs:5"),
        ["line"],
        "the rename is not committed"
    );
    commit(&workspace, "Rename");
    assert_eq!(ties(&workspace, "src/b.rs:5"), ["line"]);
    // Another value, and again: what the line was before leads to it.
    workspace.write("src/b.rs", text.replace("= 30", "= 60"));
    commit(&workspace, "More");
    workspace.write("src/b.rs", text.replace("= 30", "= 90"));
    commit(&workspace, "Still more");
    let told = why(&workspace, "src/b.rs:5");
    let commits: Vec<&str> = told["commits"]
        .as_array()
        .expect("commits")
        .iter()
        .filter_map(|commit| commit["summary"].as_str())
        .collect();
    assert_eq!(commits, ["Still more", "More", "Begin"]);
    assert_eq!(told["commits"][2]["file"], "src/a.rs");
    assert_eq!(told["conversations"][0]["tie"], "line");
    // The function goes to the end of the file.
    let moved =
        "fn main() {\n    load();\n}\n\nfn load() {\n    let timeout = 90;\n    go(timeout);\n}\n";
    workspace.write("src/b.rs", moved);
    commit(&workspace, "Move");
    assert_eq!(ties(&workspace, "src/b.rs:6"), ["line"]);
    assert_eq!(ties(&workspace, "src/b.rs:2"), [""; 0]);
}

/// The history and git's answers have the name in bytes that are no text.
#[test]
fn a_line_is_followed_through_a_name_that_is_no_utf_8() {
    use std::os::unix::ffi::OsStrExt as _;

    let workspace = Workspace::new();
    workspace.git(&["init", "--quiet"]);
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff.rs");
    let write = |text: &str| std::fs::write(workspace.root().join(odd), text).expect("written");
    write(CODE);
    commit(&workspace, "Begin");
    write(&with_thread(CODE, "    let timeout"));
    dismiss(&workspace);
    let changed = CODE.replace("= 30", "= 60");
    write(&changed);
    commit(&workspace, "More");
    let shown = |told: &Value| {
        let commits = told["commits"].as_array().expect("commits").iter();
        let summaries: Vec<Value> = commits.map(|one| one["summary"].clone()).collect();
        (json!(summaries), told["conversations"][0]["tie"].clone())
    };
    let mut editor = Editor::start(&workspace);
    let uri = format!("{}/odd%FF.rs", crate::harness::uri_of(workspace.root()));
    let argument = json!({"uri": uri, "position": {"line": 1, "character": 0}});
    let told = editor.command("postil.why", argument).expect("an answer");
    assert_eq!(shown(&told), (json!(["More", "Begin"]), json!("line")));

    std::fs::rename(workspace.root().join(odd), workspace.path("a.rs")).expect("renamed");
    workspace.write("a.rs", changed.replace("= 60", "= 90"));
    commit(&workspace, "Rename");
    let told = why(&workspace, "a.rs:2");
    assert_eq!(
        shown(&told),
        (json!(["Rename", "More", "Begin"]), json!("line"))
    );
}

#[test]
fn a_commit_that_closes_threads_tells_of_them_at_all_its_lines() {
    let workspace = project();
    let text = workspace.read("src/a.rs").replace("load();", "load_all();");
    workspace.write("src/a.rs", &text);
    ok(&workspace, &["clear", "src/a.rs"]);
    let head = workspace.git(&["rev-parse", "HEAD"]);
    assert_eq!(ties(&workspace, "src/a.rs:2"), ["line"]);
    // The same commit, another line.
    let told = why(&workspace, "src/a.rs:7");
    assert_eq!(told["conversations"][0]["tie"], "commit");
    assert_eq!(told["conversations"][0]["commit"], head.trim());
    assert_eq!(told["conversations"][0]["closed_by_commit"], true);
    assert_eq!(ties(&workspace, "src/a.rs:6"), [""; 0], "an older line");
}

#[test]
fn a_line_that_was_not_committed_is_found_in_the_commit_that_brings_it_and_after_a_squash() {
    let workspace = project();
    workspace.git(&["checkout", "--quiet", "-b", "work"]);
    let text = CODE.replace("    load();", "    let jobs = cores();\n    load();");
    workspace.write("src/a.rs", with_thread(&text, "    let jobs"));
    dismiss(&workspace);
    let told = why(&workspace, "src/a.rs:7");
    assert_eq!(told["notes"][0], "the line is not committed yet");
    assert_eq!(told["conversations"][0]["tie"], "line");
    commit(&workspace, "Jobs");
    workspace.write("src/a.rs", text.replace("= 30", "= 60"));
    commit(&workspace, "Timeout");
    workspace.git(&["checkout", "--quiet", "main"]);
    workspace.git(&["merge", "--quiet", "--squash", "work"]);
    commit(&workspace, "Squashed");
    workspace.git(&["branch", "-D", "work"]);
    let told = why(&workspace, "src/a.rs:7");
    assert_eq!(told["commits"][0]["summary"], "Squashed");
    assert_eq!(told["conversations"][0]["tie"], "line");
    assert_eq!(ties(&workspace, "src/a.rs:2"), [""; 0]);
}

#[test]
fn a_merge_leads_to_the_side_that_wrote_the_line() {
    let workspace = project();
    ok(&workspace, &["clear", "src/a.rs"]);
    workspace.git(&["checkout", "--quiet", "-b", "side"]);
    let side = CODE.replace("load();", "load_all();");
    workspace.write("src/a.rs", with_thread(&side, "    load_all"));
    ok(&workspace, &["clear", "src/a.rs", "-m", "Side"]);
    workspace.git(&["checkout", "--quiet", "main"]);
    workspace.write("src/a.rs", format!("use x;\n{CODE}"));
    commit(&workspace, "Main");
    workspace.git(&["merge", "--quiet", "--no-edit", "side"]);
    let told = why(&workspace, "src/a.rs:8");
    assert_eq!(told["text"], "    load_all();");
    assert_eq!(told["commits"][0]["summary"], "Side");
    assert_eq!(told["conversations"][0]["tie"], "line");
}

#[test]
fn of_equal_lines_the_one_is_told_that_was_meant() {
    let workspace = Workspace::new();
    workspace.git(&["init", "--quiet"]);
    let text = "def a():\n    x()\n    return None\n\ndef b():\n    y()\n    return None\n";
    workspace.write("a.py", text);
    commit(&workspace, "Begin");
    let second = text.rfind("    return None").expect("the line");
    let (above, below) = text.split_at(second);
    workspace.write(
        "a.py",
        format!("{above}    # AUTHOR: not raise?\n    # AGENT: Callers test for None.\n{below}"),
    );
    dismiss(&workspace);
    workspace.write("a.py", format!("import z\n\n{text}"));
    commit(&workspace, "Import");
    assert_eq!(ties(&workspace, "a.py:9"), ["line"]);
    assert_eq!(ties(&workspace, "a.py:5"), [""; 0]);
}

#[test]
fn what_an_agent_changed_for_a_thread_tells_of_it() {
    let workspace = Workspace::new();
    workspace.git(&["init", "--quiet"]);
    workspace.write(
        "a.py",
        "# AUTHOR: rename load to load_data\ndef load():\n    pass\n",
    );
    workspace.write("b.py", "from a import load\n\nprint(1)\nload()\n");
    commit(&workspace, "Begin");
    ok(&workspace, &["trust", "--yes"]);
    ok(
        &workspace,
        &["reply", "--all", "--yes", "--model", "offline"],
    );
    assert!(workspace.read("b.py").contains("load_data()"));
    dismiss(&workspace);
    commit(&workspace, "Rename load");
    assert_eq!(ties(&workspace, "b.py:4"), ["line"]);
    let told = why(&workspace, "b.py:4");
    assert_eq!(told["conversations"][0]["file"], "a.py");
    assert!(told["conversations"][0]["run_id"].is_string());
    assert_eq!(ties(&workspace, "b.py:3"), [""; 0]);
}

#[test]
fn without_git_a_line_is_known_by_its_words() {
    let workspace = Workspace::new();
    workspace.write("a.rs", with_thread(CODE, "    let timeout"));
    dismiss(&workspace);
    let told = why(&workspace, "a.rs:2");
    assert_eq!(told["conversations"][0]["tie"], "line");
    assert!(
        told["notes"][0]
            .as_str()
            .is_some_and(|note| note.contains("no git repository")),
        "{told}"
    );
    // A repository without a commit.
    workspace.git(&["init", "--quiet"]);
    assert_eq!(
        why(&workspace, "a.rs:2")["notes"][0],
        "the line is not committed yet"
    );
}

#[test]
fn what_is_no_line_is_said_in_a_sentence() {
    let workspace = project();
    workspace.write("empty.rs", "");
    workspace.write("bin.rs", b"a\0b\n");
    workspace.write("latin.rs", b"// \xe9\n");
    for (place, says, expected) in [
        ("src/a.rs:99", "there is no line 99: the file has 10", 1),
        ("empty.rs:1", "there is no line 1: the file has 0", 1),
        ("bin.rs:1", "is binary", 1),
        ("latin.rs:1", "not valid UTF-8", 1),
        ("missing.rs:1", "path not found", 1),
        ("src:1", "is a folder", 1),
        ("../out.rs:1", "outside", 1),
        ("src/a.rs", "is no FILE:LINE", 2),
        ("src/a.rs:0", "is no FILE:LINE", 2),
    ] {
        let (code, out, err) = run(&workspace, &["why", place]);
        assert_eq!(code, expected, "{place}: {out}{err}");
        assert!(err.contains(says), "{place}: {err}");
    }
    workspace.configure("[threads]\nmaxFileSize = 1000\n");
    workspace.write("big.rs", "x\n".repeat(1_000));
    let (code, _, err) = run(&workspace, &["why", "big.rs:1"]);
    assert_eq!(code, 1);
    assert!(err.contains("larger than 1000 bytes"), "{err}");
}

/// A service that reads the output would take a line of a name for a command to it.
#[test]
fn a_name_is_one_line_wherever_it_stands() {
    let workspace = Workspace::new();
    let file = "a\n::error::b.rs";
    workspace.write(file, CODE);
    for is_committed in [false, true] {
        let told = ok(&workspace, &["why", &format!("{file}:6")]);
        let place = "is tied to a⏎::error::b.rs:6";
        assert!(told.contains(place), "{told}");
        let markdown = why(&workspace, &format!("{file}:6"))["markdown"].to_string();
        for text in [told, markdown.replace("\\n", "\n")] {
            let forged = text.lines().find(|line| line.starts_with("::"));
            assert_eq!(forged, None, "{text}");
        }
        if !is_committed {
            workspace.git(&["init", "--quiet"]);
            commit(&workspace, "Begin");
        }
    }
}

/// git is told to pass a commit over, so that its lines seem to be of the one before.
#[test]
fn commits_that_git_is_told_to_pass_over_count() {
    let workspace = project();
    dismiss(&workspace);
    workspace.write("src/a.rs", CODE.replace("timeout = 30", "timeout = 31"));
    let passed_over = commit(&workspace, "Format");
    assert_eq!(ties(&workspace, "src/a.rs:2"), ["line"]);
    workspace.write("revs", passed_over);
    workspace.git(&["config", "blame.ignoreRevsFile", "revs"]);
    for mark in ["markIgnoredLines", "markUnblamableLines", "showEmail"] {
        workspace.git(&["config", &format!("blame.{mark}"), "true"]);
    }
    assert_eq!(ties(&workspace, "src/a.rs:2"), ["line"]);
    std::fs::remove_file(workspace.path("revs")).expect("removed");
    let (code, out, err) = run(&workspace, &["why", "src/a.rs:2"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("setting blame.ignoreRevsFile"), "{out}");
}

#[test]
fn nothing_of_the_repository_is_run() {
    let workspace = project();
    dismiss(&workspace);
    let bait = workspace.path("bait.sh");
    let ran = workspace.root().with_file_name("ran");
    workspace.write(
        "bait.sh",
        format!("#!/bin/sh\ntouch {}\ncat\n", ran.display()),
    );
    std::fs::set_permissions(&bait, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("the mode");
    let bait = bait.display().to_string();
    workspace.write(".gitattributes", "*.rs diff=bait filter=bait\n");
    for (name, value) in [
        ("core.fsmonitor", bait.as_str()),
        ("diff.bait.textconv", bait.as_str()),
        ("diff.bait.command", bait.as_str()),
        ("diff.external", bait.as_str()),
        ("filter.bait.clean", bait.as_str()),
        ("filter.bait.smudge", bait.as_str()),
        ("filter.bait.process", bait.as_str()),
        ("core.pager", bait.as_str()),
        ("log.showSignature", "true"),
    ] {
        workspace.git(&["config", name, value]);
    }
    assert_eq!(ties(&workspace, "src/a.rs:2"), ["line"]);
    assert!(!ran.exists(), "a program of the repository was run");
}

/// A clone that has the notes reads them; what stands in them is cleaned.
#[test]
fn notes_take_a_conversation_to_another_clone() {
    let workspace = project();
    workspace.configure("[workflow]\nshare = \"notes\"\n");
    ok(&workspace, &["trust", "--yes"]);
    ok(&workspace, &["clear", "src/a.rs"]);
    let note = workspace.git(&["notes", "--ref=postil", "show"]);
    assert!(note.contains("why thirty?"), "{note}");

    let other = Workspace::new();
    let from = workspace.root().display().to_string();
    other.git(&["clone", "--quiet", &from, "."]);
    assert_eq!(
        ties(&other, "src/a.rs:2"),
        [""; 0],
        "notes are not fetched by themselves"
    );
    other.git(&[
        "fetch",
        "--quiet",
        "origin",
        "refs/notes/postil:refs/notes/postil",
    ]);
    let told = why(&other, "src/a.rs:2");
    assert_eq!(told["conversations"][0]["source"], "note");
    assert_eq!(
        told["conversations"][0]["messages"][0]["text"],
        "why thirty?"
    );
    // Whoever has both is told once.
    assert_eq!(ties(&workspace, "src/a.rs:2"), ["line"]);
    assert_eq!(
        why(&workspace, "src/a.rs:2")["conversations"][0]["source"],
        "history"
    );

    let forged = note.replace(
        "why thirty?",
        "\\u001b[31mred\\u202e ![x](https://example.org/x.png)",
    );
    other.git(&["notes", "--ref=postil", "add", "-f", "-m", &forged, "HEAD"]);
    let told = why(&other, "src/a.rs:2");
    let text = told["conversations"][0]["messages"][0]["text"]
        .as_str()
        .expect("a text");
    assert!(text.starts_with("red⟨U+202E⟩"), "{text}");
    let markdown = told["markdown"].as_str().expect("markdown");
    assert!(
        markdown.contains("```text\nAUTHOR: red⟨U+202E⟩ ![x]"),
        "{markdown}"
    );
    for nonsense in ["{\"postil\":1}", "just words", "{"] {
        other.git(&["notes", "--ref=postil", "add", "-f", "-m", nonsense, "HEAD"]);
        assert_eq!(ties(&other, "src/a.rs:2"), [""; 0]);
    }
}

/// A folder that is not trusted may not have what was said written into its repository by its own settings.
#[test]
fn notes_are_written_in_a_trusted_folder_only() {
    let workspace = project();
    workspace.write("postil.toml", "[workflow]\nshare = \"notes\"\n");
    ok(&workspace, &["clear", "src/a.rs"]);
    assert_eq!(workspace.git(&["for-each-ref", "refs/notes"]), "");
}

fn hover(editor: &mut Editor, path: &str, line: usize) -> Value {
    let uri = editor.uri(path);
    let params = json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": 4}});
    let hover = editor.request("textDocument/hover", params);
    hover.expect("a hover")["contents"]["value"].clone()
}

#[test]
fn an_editor_is_told_of_the_buffer_as_it_is() {
    let workspace = project();
    let mut editor = Editor::start(&workspace);
    editor.open("src/a.rs");
    editor.wait_codes("src/a.rs", &["awaiting_user"]);
    assert_eq!(hover(&mut editor, "src/a.rs", 6), Value::Null);
    editor
        .take_action("src/a.rs", 1, "Resolve (remove thread)")
        .expect("resolved");
    // Typed since, and not saved.
    editor.splice("src/a.rs", 0..0, "use x;\n\n");
    let told = hover(&mut editor, "src/a.rs", 3);
    let text = told.as_str().expect("a hover");
    assert!(
        text.starts_with("```text\nThread ") && text.contains("AUTHOR: why thirty?"),
        "{text}"
    );
    assert_eq!(hover(&mut editor, "src/a.rs", 7), Value::Null);
    // A bracket says nothing of its own.
    assert_eq!(hover(&mut editor, "src/a.rs", 5), Value::Null);

    let uri = editor.uri("src/a.rs");
    let argument = json!({"uri": uri, "position": {"line": 3, "character": 0}});
    let told = editor.command("postil.why", argument).expect("an answer");
    assert_eq!(told["line"], 4);
    assert_eq!(told["conversations"][0]["tie"], "line");
    assert_eq!(told["commits"][0]["summary"], "Begin");
    assert!(
        told["markdown"]
            .as_str()
            .is_some_and(|text| text.contains("AGENT: The server gives up")),
        "{told}"
    );

    // The action shows it, for editors that show no answers of commands.
    editor
        .take_action("src/a.rs", 3, "Why is this so?")
        .expect("shown");
    let shown = editor.wait_message("window/showDocument", |_| true);
    let path = shown["uri"]
        .as_str()
        .and_then(|uri| uri.strip_prefix("file://"));
    let text = std::fs::read_to_string(path.expect("a file")).expect("a document");
    assert!(text.contains("AUTHOR: why thirty?"), "{text}");
    editor
        .take_action("src/a.rs", 7, "Why is this so?")
        .expect("said");
    editor.wait_saying(
        "window/showMessage",
        "no closed conversation is tied to src/a.rs:8",
    );
    let wrong = json!({"uri": uri, "position": {"line": 99, "character": 0}});
    let refused = editor.command("postil.why", wrong).expect_err("no line");
    assert!(
        refused["message"]
            .as_str()
            .is_some_and(|text| text.contains("there is no line 100"))
    );
}

/// Of a file that is gone the editor tells in one that may be it, renamed, and not in one that git has beside it.
#[test]
fn a_hover_tells_of_a_file_that_is_gone_in_its_new_name_alone() {
    let workspace = project();
    workspace.write("src/b.rs", "fn other() {\n    let timeout = 30;\n}\n");
    dismiss(&workspace);
    commit(&workspace, "Another");
    let text = workspace.read("src/a.rs");
    std::fs::remove_file(workspace.path("src/a.rs")).expect("removed");
    workspace.write("src/c.rs", text);
    let mut editor = Editor::start(&workspace);
    for file in ["src/b.rs", "src/c.rs"] {
        editor.open(file);
        editor.diagnostics(file);
    }
    let told = hover(&mut editor, "src/c.rs", 1).to_string();
    assert!(told.contains("why thirty?"), "{told}");
    assert_eq!(hover(&mut editor, "src/b.rs", 1), Value::Null);
}

/// However many conversations of other files are tied to the same words since.
#[test]
fn a_hover_finds_the_conversation_of_its_own_file_among_many() {
    let workspace = project();
    dismiss(&workspace);
    let mut editor = Editor::start(&workspace);
    let other = "src/b.rs";
    let text = with_thread(CODE, "    let timeout");
    for _ in 0..21 {
        editor.open_text(other, "rust", &text);
        workspace.write(other, &text);
        editor.wait_codes(other, &["awaiting_user"]);
        let done = editor.take_action(other, 1, "Resolve (remove thread)");
        done.expect("resolved");
        editor.wait_codes(other, &[]);
        editor.close(other);
    }
    editor.open("src/a.rs");
    editor.diagnostics("src/a.rs");
    let told = hover(&mut editor, "src/a.rs", 1).to_string();
    assert!(told.contains("why thirty?"), "{told}");
}

#[test]
fn a_repository_of_somebody_else_is_told_as_git_says_it() {
    let workspace = project();
    let said = |args: &[&str]| {
        let mut command = workspace.postil();
        let output = command
            .args(args)
            .env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
        let output = output.output().expect("postil runs");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    // Nothing was to be written.
    let why = said(&["why", "src/a.rs:2"]);
    assert!(
        why.contains("git says: fatal: detected dubious ownership"),
        "{why}"
    );
    assert!(!why.contains("nothing was written"), "{why}");
    let clear = said(&["clear", "src/a.rs"]);
    assert!(
        clear.contains("nothing was written: git says: fatal: "),
        "{clear}"
    );
}
