//! Commands on a file that is open in an editor: they go through its server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;

use super::*;
use crate::harness::{OnApply, Options, frame};

const PY: &str = "# AUTHOR: rename this?\n# AGENT: Renamed.\n# AUTHOR:\ndef b(): pass\n";
const SAVE: &str = "yours to save";

/// With what is typed above `MAIN` in the editor, and not saved.
fn opened() -> (Workspace, Editor) {
    let workspace = Workspace::new();
    workspace.write("src/main.rs", MAIN);
    workspace.write("b.py", PY);
    workspace.git(&["init", "-q"]);
    workspace.git(&["add", "-A"]);
    workspace.git(&["commit", "-qm", "first"]);
    let editor = listening(&workspace);
    editor.open("src/main.rs");
    editor.splice("src/main.rs", 0..0, "// typed\n");
    editor.diagnostics("src/main.rs");
    (workspace, editor)
}

fn listening(workspace: &Workspace) -> Editor {
    Editor::listening(workspace, Options::default())
}

/// The id of the thread in this file as it is on disk.
fn id_in(workspace: &Workspace, file: &str) -> String {
    let list = postil(workspace, &["threads", file, "--json"]).ok().json();
    String::from(list["threads"][0]["id"].as_str().expect("an id"))
}

#[test]
fn what_is_open_in_an_editor_is_changed_there() {
    let (workspace, editor) = opened();
    let id = id_in(&workspace, "src/main.rs");
    // Not what is open below it.
    postil(&workspace, &["clear", "src"]).refused("src is a folder, not a file");
    let said = postil(&workspace, &["say", &id, "And the callers?"]).ok();
    assert!(said.out.contains(SAVE), "{said:?}");
    let text = editor.text("src/main.rs");
    assert!(
        text.starts_with(
            "// typed
"
        ) && text.contains(
            "// AUTHOR: And the callers?
"
        ),
        "{text}"
    );

    let args = ["respond", &id, "Nothing.", "--agent", "me", "--json"];
    let done = postil(&workspace, &args).ok().json();
    assert_eq!(
        done,
        json!({"success": true, "file": "src/main.rs", "open": true, "thread_id": done["thread_id"]})
    );
    let again = postil(&workspace, &args[..5]).ok();
    assert!(
        again.out.contains("already") && !again.out.contains(SAVE),
        "{again:?}"
    );
    let started = postil(&workspace, &["new", "src/main.rs:1", "why?"]).ok();
    assert!(
        started.out.contains("started") && started.out.contains(SAVE),
        "{started:?}"
    );
    let id = done["thread_id"].as_str().expect("an id");
    // By the word that the editors' menus have for it.
    let removed = postil(&workspace, &["resolve", id]).ok();
    assert!(removed.out.contains("4 lines removed"), "{removed:?}");
    let text = format!(
        "// AUTHOR: why?\n// typed\n{}",
        MAIN.replace("    // AUTHOR: what is load?\n", "")
    );
    assert_eq!(editor.text("src/main.rs"), text);
    assert_eq!(
        workspace.read("src/main.rs"),
        MAIN,
        "the file is the author's to save"
    );

    // What is not open is written at once.
    let id = id_in(&workspace, "b.py");
    let said = postil(&workspace, &["say", &id, "Why?"]).ok();
    assert!(!said.out.contains(SAVE), "{said:?}");
    assert_eq!(
        workspace.read("b.py"),
        PY.replace("# AUTHOR:\n", "# AUTHOR: Why?\n")
    );

    // Refused as without an editor.
    postil(&workspace, &["say", "ffffffff", "x"]).refused("no thread `ffffffff`");
    postil(&workspace, &["new", "src/main.rs:99", "x"]).refused("no such line");
    postil(&workspace, &["new", "../x.rs:1", "x"])
        .refused("outside the workspace: open its folder");
    let none = postil(&workspace, &["dismiss", "ffffffff", "--json"]);
    assert_eq!(
        (none.code, none.json()["code"].clone()),
        (1, json!("unknown_thread"))
    );

    // What was said here counts as typed: nobody has to allow it.
    postil(&workspace, &["trust", "--yes"]).ok();
    editor.save("src/main.rs");
    postil(&workspace, &["reply", "src", "--all", "--model", "offline"]).ok();
}

#[test]
fn an_editors_server_that_is_lost_or_another_version_is_told() {
    let workspace = Workspace::new();
    workspace.write("b.py", PY);
    let id = id_in(&workspace, "b.py");
    let pointer = location(&workspace.data(), workspace.root()).with_file_name("editor");
    let socket = pointer.with_file_name("scripted.sock");
    std::fs::create_dir_all(pointer.parent().expect("a folder")).expect("made");
    std::fs::write(&pointer, socket.to_str().expect("a name")).expect("the pointer");
    let listener = UnixListener::bind(socket).expect("a socket");
    // To the question what is open, and to the call behind it.
    let says = |answers: &'static [&'static [u8]]| {
        let listener = listener.try_clone().expect("a socket");
        std::thread::spawn(move || {
            let answered = answers.iter().map(|answer| {
                let (stream, _) = listener.accept().expect("a call");
                let mut call = String::new();
                BufReader::new(&stream)
                    .read_line(&mut call)
                    .expect("a line");
                (&stream).write_all(answer).expect("written");
                serde_json::from_str::<Value>(&call).expect("a call")["tool"].clone()
            });
            answered.collect::<Vec<_>>()
        })
    };
    let told = says(&[b"{\"answer\":{\"value\":{\"buffers\":[]}}}\n", b""]);
    postil(&workspace, &["say", &id, "Why?"]).refused("was lost in the middle");
    assert_eq!(told.join().expect("the calls"), ["buffer_read", "say"]);
    assert_eq!(workspace.read("b.py"), PY);
    let told = says(&[b"{\"version\":1}\n"]);
    let said = postil(&workspace, &["say", &id, "Why?"]).ok();
    assert!(said.err.contains("another version of postil"), "{said:?}");
    told.join().expect("the calls");
    assert!(workspace.read("b.py").contains("# AUTHOR: Why?\n"));

    // Beside one of ours, what that shows is changed there and all else is left: the other may have it unsaved.
    std::fs::rename(&pointer, pointer.with_file_name("editor.1")).expect("another place");
    workspace.write("c.py", PY);
    let editor = listening(&workspace);
    editor.open("c.py");
    editor.wait_codes("c.py", &["awaiting_user"]);
    let told = says(&[b"{\"version\":1}\n", b"{\"version\":1}\n"]);
    let said = postil(&workspace, &["new", "b.py:1", "x?"]).refused("another version of postil");
    assert!(said.err.contains("nothing was done; have that"), "{said:?}");
    postil(&workspace, &["new", "c.py:1", "x?"]).ok();
    told.join().expect("the calls");
    assert!(!workspace.read("b.py").contains("x?"));
    editor.wait_text("c.py", |text| text.contains("# AUTHOR: x?\n"));
    assert_eq!(workspace.read("c.py"), PY);
}

#[test]
fn a_file_that_is_open_is_committed_when_it_is_saved_and_others_at_once() {
    let (workspace, editor) = opened();
    let cleared = postil(&workspace, &["clear", "src/main.rs"]).ok();
    assert!(
        cleared.out.contains("save main.rs and it is committed"),
        "{cleared:?}"
    );
    assert_eq!(workspace.read("src/main.rs"), MAIN);
    assert!(!editor.text("src/main.rs").contains("AUTHOR"));
    let done = postil(&workspace, &["clear", "b.py", "--json"]).ok().json();
    assert_eq!(done["committed"], true, "{done}");
    editor.save("src/main.rs");
    editor.wait_saying("window/showMessage", "committed");
    let log = workspace.git(&["log", "--format=%s"]);
    assert_eq!(
        log,
        "Clear review threads from main.rs\nClear review threads from b.py\nfirst\n"
    );

    // Action words in what is open, and unsaved; the others are carried out here.
    let asked = "// AUTHOR: so?\n// AGENT: So.\n// AUTHOR: done\n";
    workspace.write("c.rs", asked.replace("done", "commit"));
    workspace.git(&["add", "c.rs"]);
    editor.splice("src/main.rs", 0..0, asked);
    // The server has heard of it.
    editor.wait_diagnostics("src/main.rs", |all| !all.is_empty());
    let args = ["process", "--json"];
    let mut command = workspace.postil();
    command.args(args).env("GIT_AUTHOR_NAME", "Who Typed It");
    let done = ran(command.stdin(Stdio::null()).output().expect("postil runs"))
        .ok()
        .json();
    assert_eq!(done.as_array().map(Vec::len), Some(2), "{done}");
    assert_eq!(done[0]["open"], true, "{done}");
    assert_eq!(
        (&done[1]["file"], &done[1]["committed"]),
        (&json!("c.rs"), &json!(true)),
        "{done}"
    );
    assert!(!editor.text("src/main.rs").contains("AUTHOR"));
    assert_eq!(
        workspace.git(&["log", "-1", "--format=%an"]),
        "Who Typed It\n"
    );
}

#[test]
fn a_turn_leaves_a_file_that_is_not_saved_in_an_editor() {
    let (workspace, editor) = opened();
    workspace.write("c.rs", "// AUTHOR: what is load?\nfn c() {}\n");
    postil(&workspace, &["trust", "--yes"]).ok();
    let id = id_in(&workspace, "src/main.rs");
    let args = ["reply", &id, "--yes", "--model", "offline"];
    postil(&workspace, &args).refused("src/main.rs has changes in the editor that are not saved");
    let all = postil(
        &workspace,
        &["reply", "--all", "--yes", "--model", "offline"],
    );
    assert_eq!(all.code, 1, "{all:?}");
    assert!(
        all.err.contains("src/main.rs has changes in the editor"),
        "{all:?}"
    );
    assert!(workspace.read("c.rs").contains("// AGENT: "));
    assert_eq!(workspace.read("src/main.rs"), MAIN);
    // One that stands in the editor alone.
    editor.splice("src/main.rs", 0..0, "// AUTHOR: and here?\n");
    let shown = editor.wait_codes("src/main.rs", &["pending", "pending"]);
    let there = shown[0]["data"]["thread_id"].as_str().expect("an id");
    let args = ["reply", there, "--model", "offline"];
    postil(&workspace, &args).refused("src/main.rs has changes in the editor that are not saved");
    editor.save("src/main.rs");
    editor.diagnostics("src/main.rs");
    postil(&workspace, &args).ok();
    assert!(workspace.read("src/main.rs").contains("// AGENT: "));
}

#[test]
fn of_two_editors_each_has_what_is_open_there() {
    let (workspace, first) = opened();
    let mut second = listening(&workspace);
    second.open("b.py");
    second.splice("b.py", 0..0, "# AUTHOR: typed here?\ndef a(): pass\n\n");
    second.wait_codes("b.py", &["pending", "awaiting_user"]);
    let list = json!({"uri": second.uri("b.py")});
    let list = second.command("postil.listThreads", list).expect("a list");
    let typed_id = list["threads"][0]["id"].as_str().expect("an id");
    // However it is written.
    let loud = format!(" {}", typed_id.to_uppercase());
    let said = postil(&workspace, &["say", &loud, "And there?"]).ok();
    assert!(said.out.contains(SAVE), "{said:?}");
    second.wait_text("b.py", |text| text.contains("# AUTHOR: And there?\n"));
    postil(&workspace, &["new", "b.py:1", "why?"]).ok();
    second.wait_text("b.py", |text| text.starts_with("# AUTHOR: why?\n"));
    postil(&workspace, &["new", "src/main.rs:1", "why?"]).ok();
    first.wait_text("src/main.rs", |text| text.starts_with("// AUTHOR: why?\n"));
    assert_eq!(workspace.read("b.py"), PY);
    assert_eq!(workspace.read("src/main.rs"), MAIN);
    workspace.write("c.py", "# AUTHOR: what is c?\ndef c(): pass\n");
    second.open("c.py");
    second.splice("c.py", 0..0, "# typed\n");
    second.wait_codes("c.py", &["pending"]);
    let all = postil(&workspace, &["reply", "--all", "--model", "offline"]);
    for file in ["src/main.rs", "c.py"] {
        let told = format!("{file} has changes in the editor");
        assert!(all.err.contains(&told), "{all:?}");
    }
}

/// It may have any file open and unsaved, so that nothing is written behind its back; what another shows is written there.
#[test]
fn behind_the_back_of_an_editor_that_is_suspended_nothing_is_written() {
    for suspended_first in [true, false] {
        let workspace = Workspace::new();
        workspace.write("src/main.rs", MAIN);
        workspace.write("b.py", PY);
        workspace.git(&["init", "-q"]);
        let editors = [listening(&workspace), listening(&workspace)];
        let [one, other] = &editors;
        let (suspended, awake) = match suspended_first {
            true => (one, other),
            false => (other, one),
        };
        awake.open("src/main.rs");
        awake.diagnostics("src/main.rs");
        suspended.open("b.py");
        suspended.splice("b.py", 0..0, "# typed\n");
        suspended.diagnostics("b.py");
        let id = id_in(&workspace, "b.py");
        suspended.signal("STOP");
        let refused = |args: &[&str]| {
            let said = postil(&workspace, args).refused("an editor that has ");
            assert!(said.err.contains("does not answer"), "{said:?}");
        };
        // At once, for each waits for the editor.
        std::thread::scope(|scope| {
            scope.spawn(|| refused(&["say", &id, "Why?"]));
            scope.spawn(|| refused(&["respond", &id, "So."]));
            scope.spawn(|| refused(&["dismiss", &id]));
            scope.spawn(|| refused(&["new", "b.py:1", "why?"]));
            scope.spawn(|| refused(&["clear", "b.py"]));
            scope.spawn(|| refused(&["process"]));
            scope.spawn(|| refused(&["reply", "--all", "--yes", "--model", "offline"]));
        });
        assert_eq!(workspace.read("b.py"), PY);
        postil(&workspace, &["threads"]).ok();
        postil(&workspace, &["new", "src/main.rs:1", "why?"]).ok();
        awake.wait_text("src/main.rs", |text| text.starts_with("// AUTHOR: why?\n"));
        suspended.signal("CONT");
        postil(&workspace, &["say", &id, "Why?"]).ok();
        let text = suspended.wait_text("b.py", |text| text.contains("# AUTHOR: Why?\n"));
        assert!(text.starts_with("# typed\n"), "{text}");
        assert_eq!(workspace.read("b.py"), PY);
        // One that was killed has nothing unsaved any more, though it left its place behind.
        let [one, other] = editors;
        let (mut killed, awake) = match suspended_first {
            true => (one, other),
            false => (other, one),
        };
        killed.kill();
        postil(&workspace, &["say", &id, "And now?"]).ok();
        assert!(workspace.read("b.py").contains("# AUTHOR: And now?\n"));
        // One by itself is waited for a little longer, which is told, and no file is written behind its back either.
        if suspended_first {
            let before = workspace.read("b.py");
            awake.signal("STOP");
            let said = postil(&workspace, &["say", &id, "Still?"]);
            assert_eq!(said.code, 1, "{said:?}");
            for told in ["waiting for the editor", "does not answer"] {
                assert!(said.err.contains(told), "{said:?}");
            }
            assert_eq!(workspace.read("b.py"), before);
            awake.signal("CONT");
        }
    }
}

/// Its server knows the file's threads by other ids, and nothing here sees what is unsaved.
#[test]
fn a_file_that_is_not_saved_in_an_editor_of_another_folder_is_left() {
    let (workspace, editor) = opened();
    let src = workspace.path("src");
    let here = |args: &[&str]| {
        let folder = src.to_str().expect("a name");
        postil(&workspace, &[&["-C", folder], args].concat())
    };
    let id = here(&["threads", "--json"]).ok().json()["threads"][0]["id"].clone();
    let id = id.as_str().expect("an id");
    let told = format!("postil -C {}", workspace.root().display());
    for args in [
        &["say", id, "Why?"][..],
        &["respond", id, "So."],
        &["dismiss", id],
        &["new", "main.rs:1", "why?"],
        &["clear", "main.rs"],
        &["reply", id, "--yes", "--model", "offline"],
    ] {
        here(args).refused(&told);
    }
    // Of all files that one alone.
    workspace.write("src/c.rs", "// AUTHOR: what is load?\nfn c() {}\n");
    let all = here(&["reply", "--all", "--yes", "--model", "offline"]);
    assert_eq!(all.code, 1, "{all:?}");
    assert!(
        all.err.contains("main.rs has changes in the editor"),
        "{all:?}"
    );
    assert!(workspace.read("src/c.rs").contains("// AGENT: "));
    workspace.write("src/c.rs", "// AUTHOR: done\nfn c() {}\n");
    assert_eq!(workspace.read("src/main.rs"), MAIN);
    editor.save("src/main.rs");
    editor.diagnostics("src/main.rs");
    here(&["say", id, "Why?"]).ok();
    assert!(workspace.read("src/main.rs").contains("// AUTHOR: Why?\n"));
}

/// The same of what goes through many files.
#[test]
fn actions_and_undo_leave_a_file_that_an_editor_of_a_nested_folder_has_not_saved() {
    let workspace = Workspace::new();
    workspace.write("src/main.rs", MAIN);
    workspace.write("c.rs", "// AUTHOR: done\nfn c() {}\n");
    postil(&workspace, &["trust", "--yes"]).ok();
    let all = ["reply", "--all", "--yes", "--model", "offline"];
    postil(&workspace, &all).ok();
    let runs = workspace.runs();
    let run = runs.iter().find(|run| run["file"] == "src/main.rs");
    let run = run.expect("a run")["id"].as_str().expect("an id");
    let answered = workspace.read("src/main.rs");
    let asked = answered.replace("// AUTHOR:\n", "// AUTHOR: done\n");
    assert_ne!(asked, answered);
    let options = Options {
        folders: Some(vec![workspace.path("src")]),
        ..Options::default()
    };
    let editor = Editor::listening(&workspace, options);
    editor.open("src/main.rs");
    editor.splice("src/main.rs", 0..0, "// typed\n");
    editor.diagnostics("src/main.rs");
    let told = format!(
        "in an editor that has the folder {} open: save it there first",
        workspace.path("src").display()
    );
    postil(&workspace, &["undo", run]).refused(&told);
    assert_eq!(workspace.read("src/main.rs"), answered);
    workspace.write("src/main.rs", &asked);
    workspace.write("c.rs", "// AUTHOR: done\nfn c() {}\n");
    let done = postil(&workspace, &["process", "--json"]);
    assert_eq!(done.code, 1, "{done:?}");
    let done = done.json();
    let of = |file: &str| {
        let all = done.as_array().expect("a list");
        let one = all.iter().find(|one| one["file"] == file);
        one.unwrap_or_else(|| panic!("{file}: {done}")).clone()
    };
    assert_eq!(of("c.rs")["success"], true);
    assert_eq!(of("src/main.rs")["success"], false);
    let note = of("src/main.rs")["note"].to_string();
    assert!(note.contains(&told), "{note}");
    assert_eq!(workspace.read("src/main.rs"), asked);
    assert!(!workspace.read("c.rs").contains("AUTHOR"));
}

#[test]
fn an_undo_names_every_file_that_an_editor_of_a_nested_folder_has_not_saved() {
    let workspace = Workspace::new();
    postil(&workspace, &["trust", "--yes"]).ok();
    let files = ["src/a.rs", "src/b.rs"];
    let mut patch = String::new();
    for file in files {
        workspace.write(file, "fn one() {}\n");
        patch +=
            &format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-fn one() {{}}\n+fn two() {{}}\n");
    }
    let input = serde_json::json!({ "patch": patch }).to_string();
    postil(&workspace, &["tools", "call", "patch_apply", &input]).ok();
    let run = workspace.runs()[0]["id"].clone();
    let options = Options {
        folders: Some(vec![workspace.path("src")]),
        ..Options::default()
    };
    let editor = Editor::listening(&workspace, options);
    for file in files {
        editor.open(file);
        editor.splice(file, 0..0, "// typed\n");
        editor.diagnostics(file);
    }
    let undone = postil(&workspace, &["undo", run.as_str().expect("an id")]);
    assert_eq!(undone.code, 1, "{undone:?}");
    for file in files {
        let path = workspace.path(file).display().to_string();
        assert!(undone.err.contains(&path), "{undone:?}");
        assert_eq!(workspace.read(file), "fn two() {}\n");
    }
}

#[test]
fn an_editor_that_is_waited_for_is_told_of() {
    let (workspace, editor) = opened();
    let id = id_in(&workspace, "src/main.rs");
    editor.state().on_apply = OnApply::Ignore;
    let mut command = workspace.postil();
    command.args(["say", &id, "Why?"]).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut said = command.spawn().expect("postil runs");
    let mut line = String::new();
    let mut err = BufReader::new(said.stderr.take().expect("piped"));
    err.read_line(&mut line).expect("a line");
    assert!(line.contains("waiting for the editor"), "{line}");
    let edit = editor.wait_message("workspace/applyEdit", |_| true);
    assert_eq!(edit["label"], "Answer a thread");
    let id = editor.state().received.iter().rev().find_map(|message| {
        (message["method"] == "workspace/applyEdit").then(|| message["id"].clone())
    });
    let no =
        json!({"jsonrpc": "2.0", "id": id, "result": {"applied": false, "failureReason": "no"}});
    editor.send_raw(&frame(&no));
    line.clear();
    err.read_to_string(&mut line).expect("text");
    assert!(
        line.contains("refused the edit: no; nothing was written"),
        "{line}"
    );
    assert_eq!(said.wait().expect("it ends").code(), Some(1));
}

/// Bytes that are no UTF-8 are the name of a folder like others.
#[test]
fn the_editor_of_a_folder_whose_name_is_no_text_is_asked() {
    use std::os::unix::ffi::OsStrExt as _;
    let workspace = Workspace::new();
    let folder = workspace
        .root()
        .join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&folder).expect("made");
    let file = folder.join("b.py");
    std::fs::write(&file, PY).expect("written");
    let options = Options {
        folders: Some(vec![folder.clone()]),
        ..Options::default()
    };
    let editor = Editor::listening(&workspace, options);
    let uri = crate::harness::uri_of(&file);
    let text = format!("{PY}typed = 1\n");
    editor.state().buffers.insert(
        uri.clone(),
        crate::harness::Buffer {
            text: text.clone(),
            version: 1,
        },
    );
    editor.notify(
        "textDocument/didOpen",
        json!({"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}}),
    );
    let here = |args: &[&str]| {
        let mut command = workspace.postil();
        ran(command
            .current_dir(&folder)
            .args(args)
            .output()
            .expect("postil runs"))
    };
    let servers = here(&["servers", "--json"]).ok().json();
    assert!(servers.as_array().is_some_and(|all| !all.is_empty()));
    let listed = here(&["threads", "--json"]).ok().json();
    let id = listed["threads"][0]["id"].as_str().expect("an id");
    here(&["dismiss", id]).ok();
    assert_eq!(std::fs::read_to_string(&file).expect("read"), PY);
    editor.wait_for("the change", |state| {
        let text = &state.buffers[&uri].text;
        (!text.contains("AUTHOR") && text.contains("typed")).then_some(())
    });
}

/// What stands in the editor alone is not looked at by what reads the disk; that is no "nothing".
#[test]
fn threads_that_are_in_an_editor_alone_are_not_passed_over_without_a_word() {
    let workspace = Workspace::new();
    workspace.write("src/b.py", "def b(): pass\n");
    let editor = listening(&workspace);
    editor.open("src/b.py");
    editor.splice("src/b.py", 0..0, "# AUTHOR: why?\n");
    editor.wait_codes("src/b.py", &["pending"]);
    let told = "not saved in the editor, and looked at as on disk: src/b.py";
    for args in [
        &["threads"][..],
        &["threads", "src"],
        &["check"],
        &["check", "src/b.py"],
    ] {
        let looked = postil(&workspace, args).ok();
        assert!(looked.out.contains("no threads"), "{looked:?}");
        assert!(looked.err.contains(told), "{looked:?}");
    }
    workspace.write("docs/a.md", "none\n");
    for args in [
        &["threads", "docs"][..],
        &["threads", "-q"],
        &["check", "docs"],
    ] {
        assert_eq!(postil(&workspace, args).ok().err, "", "{args:?}");
    }
    let reply = |path: &[&str]| {
        let args = ["reply", "--all", "--yes", "--model", "offline"];
        postil(&workspace, &[&args, path].concat())
    };
    let all = reply(&[]).refused("src/b.py has changes in the editor that are not saved");
    assert!(!all.out.contains("no thread is pending"), "{all:?}");
    assert!(reply(&["docs"]).ok().out.contains("no thread is pending"));
    editor.save("src/b.py");
    editor.diagnostics("src/b.py");
    reply(&[]).ok();
    assert!(workspace.read("src/b.py").contains("# AGENT: "));
}
