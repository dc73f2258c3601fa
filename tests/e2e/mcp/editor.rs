//! With an editor open on the same workspace: calls see and change its buffers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::agent::Agent;
use super::{QUESTION, id_of, repository, workspace};
use crate::harness::{Editor, OnApply, Options, Workspace, uri_of, wait_until};

fn editor(workspace: &Workspace) -> Editor {
    let options = Options {
        env: vec![(String::from("POSTIL_LOG"), String::from("postil=info"))],
        ..Options::default()
    };
    Editor::start_with(workspace, options)
}

/// An editor that has opened its socket.
pub fn listening(workspace: &Workspace) -> Editor {
    Editor::listening(workspace, Options::default())
}

/// The file that says where the socket is.
fn pointer(workspace: &Workspace) -> PathBuf {
    postil::store::location(&workspace.data(), workspace.root()).with_file_name("editor")
}

fn socket(workspace: &Workspace) -> PathBuf {
    PathBuf::from(std::fs::read_to_string(pointer(workspace)).expect("the pointer"))
}

#[test]
fn unsaved_text_is_seen_and_changed_in_the_editor() {
    let workspace = workspace();
    let editor = listening(&workspace);
    editor.open("src/a.rs");
    editor.splice(
        "src/a.rs",
        0..0,
        "// AUTHOR: typed and not saved?\nfn new() {}\n\n",
    );
    // An answer shows that the change has been read before.
    editor.wait_diagnostics("src/a.rs", |all| all.len() == 2);

    let mut agent = Agent::start(&workspace);
    let list = agent.call("get_threads", json!({"path": "src"}));
    agent.wait_log("go through the editor");
    assert_eq!(list["summary"]["total"], 2);
    assert_eq!(
        list["threads"][0]["thread"][0]["text"],
        "typed and not saved?"
    );
    let id = list["threads"][0]["id"].clone();
    let done = agent.call(
        "respond_to_thread",
        json!({"thread_id": id, "response": "Seen."}),
    );
    assert_eq!(done["file"], "src/a.rs");
    let text = editor.wait_text("src/a.rs", |text| text.contains("AGENT"));
    assert!(text.starts_with(
        "// AUTHOR: typed and not saved?\n// AGENT: Seen.\n// AUTHOR:\nfn new() {}\n"
    ));
    assert_eq!(
        workspace.read("src/a.rs"),
        QUESTION,
        "the file is the author's to save"
    );

    // A file that is not open is written at once, and the editor is told.
    let id = id_of(&agent.call("get_threads", json!({})), "b.py");
    agent.call("dismiss_thread", json!({"thread_id": id}));
    assert_eq!(workspace.read("b.py"), "def b(): pass\n");
    editor.wait_diagnostics("b.py", <[Value]>::is_empty);
    let (sentence, code) = agent.refused("get_threads", json!({"path": "../x"}));
    assert_eq!(code, "file", "{sentence}");
    let (_, code) = agent.refused("dismiss_thread", json!({"thread_id": "ffffffff"}));
    assert_eq!(code, "unknown_thread");
}

#[test]
fn a_file_that_is_open_is_committed_when_it_is_saved() {
    let workspace = repository();
    let editor = listening(&workspace);
    editor.open("src/a.rs");
    editor.diagnostics("src/a.rs");
    let mut agent = Agent::start(&workspace);
    let done = agent.call("clear_and_commit", json!({"file": "src/a.rs"}));
    assert_eq!(done["committed"], false);
    assert_eq!(editor.text("src/a.rs"), "fn a() {}\n");
    editor.save("src/a.rs");
    editor.wait_saying("window/showMessage", "committed");
    assert_eq!(
        workspace.git(&["log", "-1", "--format=%s"]),
        "Clear review threads from a.rs\n"
    );
}

#[test]
fn an_editor_that_refuses_the_edit_is_an_error_and_nothing_is_written() {
    let workspace = workspace();
    let editor = listening(&workspace);
    editor.open("src/a.rs");
    editor.diagnostics("src/a.rs");
    editor.state().on_apply = OnApply::Refuse;
    let mut agent = Agent::start(&workspace);
    let id = id_of(&agent.call("get_threads", json!({})), "src/a.rs");
    let (sentence, _) = agent.refused(
        "respond_to_thread",
        json!({"thread_id": id, "response": "x"}),
    );
    assert!(sentence.contains("refused"), "{sentence}");
    assert_eq!(editor.text("src/a.rs"), QUESTION);
    assert_eq!(workspace.read("src/a.rs"), QUESTION);
}

#[test]
fn an_editor_may_come_and_go() {
    let workspace = workspace();
    let mut agent = Agent::start(&workspace);
    agent.call("get_threads", json!({}));
    agent.wait_log("work on the files (no editor has this workspace open)");
    let editor = listening(&workspace);
    agent.call("get_threads", json!({}));
    agent.wait_log("go through the editor");
    drop(editor);
    let id = id_of(&agent.call("get_threads", json!({})), "src/a.rs");
    agent.wait_log("work on the files");
    agent.call(
        "respond_to_thread",
        json!({"thread_id": id, "response": "On disk."}),
    );
    assert!(workspace.read("src/a.rs").contains("// AGENT: On disk.\n"));
}

#[test]
fn of_several_editors_each_has_the_calls_about_what_it_shows() {
    let workspace = workspace();
    let mut first = listening(&workspace);
    let second = listening(&workspace);
    second.open_text("only.rs", "rust", "// AUTHOR: in the second?\n");
    second.diagnostics("only.rs");
    let mut agent = Agent::start(&workspace);
    assert_eq!(agent.call("get_threads", json!({}))["summary"]["total"], 3);
    let shown = agent.call("get_threads", json!({"path": "only.rs"}));
    assert_eq!(shown["summary"]["total"], 1);
    let id = shown["threads"][0]["id"].clone();
    let open = agent.call("buffer_read", json!({}));
    assert_eq!(open["buffers"][0]["file"], "only.rs", "{open}");
    agent.call(
        "respond_to_thread",
        json!({"thread_id": id, "response": "Here."}),
    );
    second.wait_text("only.rs", |text| text.contains("// AGENT: Here.\n"));

    let stale = socket(&workspace);
    first.kill();
    assert_eq!(agent.call("get_threads", json!({}))["summary"]["total"], 3);
    assert!(stale.exists());
    let third = listening(&workspace);
    assert_eq!(
        socket(&workspace),
        stale,
        "what was left behind was removed"
    );
    UnixStream::connect(&stale).expect("it listens");
    drop((second, third));
    assert!(!stale.exists());
    assert_eq!(
        std::fs::read(pointer(&workspace)).expect("the pointer"),
        b""
    );
}

/// By what clears the runtime folder, while the editor goes on.
#[test]
fn an_editor_whose_socket_was_taken_away_makes_it_anew() {
    let workspace = workspace();
    let editor = listening(&workspace);
    editor.open("src/a.rs");
    editor.splice("src/a.rs", 0..0, "// typed\n");
    editor.diagnostics("src/a.rs");
    std::fs::remove_file(socket(&workspace)).expect("removed");
    wait_until("it listens again", || {
        UnixStream::connect(socket(&workspace)).is_ok()
    });
    let mut agent = Agent::start(&workspace);
    let id = id_of(&agent.call("get_threads", json!({})), "src/a.rs");
    agent.call(
        "respond_to_thread",
        json!({"thread_id": id, "response": "Seen."}),
    );
    editor.wait_text("src/a.rs", |text| text.contains("// AGENT: Seen.\n"));
    assert_eq!(workspace.read("src/a.rs"), QUESTION);
}

/// What is in the way is a full disk, say, when the editor starts.
#[test]
fn an_editor_that_cannot_listen_says_so_and_tries_again() {
    let workspace = workspace();
    let pointer = pointer(&workspace);
    std::fs::create_dir_all(&pointer).expect("a folder in its place");
    let editor = editor(&workspace);
    editor.wait_saying(
        "window/showMessage",
        "No other program can ask this editor what it has not saved",
    );
    std::fs::remove_dir(&pointer).expect("removed");
    editor.wait_listening();
    let told = |state: &crate::harness::State| {
        let all = state.received.iter();
        all.filter(|m| m.to_string().contains("No other program"))
            .count()
    };
    assert_eq!(told(&editor.state()), 1);
}

/// What is listed, and what is carried out, is each file as the editor that shows it has it.
#[test]
fn of_several_editors_each_has_its_part_of_a_call_about_the_whole_folder() {
    let workspace = workspace();
    workspace.write("c.rs", "// AUTHOR: so?\n// AUTHOR: done\nfn c() {}\n");
    let first = listening(&workspace);
    first.open("src/a.rs");
    first.splice("src/a.rs", 0..0, "// AUTHOR: typed in the first?\n\n");
    first.wait_diagnostics("src/a.rs", |all| all.len() == 2);
    let second = listening(&workspace);
    second.open("src/a.rs");
    second.open("b.py");
    second.replace("b.py", "# AUTHOR:\n", "# AUTHOR: done\n");
    second.wait_codes("b.py", &["pending"]);
    // Its words are still on disk.
    second.open("c.rs");
    second.replace("c.rs", "// AUTHOR: done\n", "// AUTHOR: no, wait\n");
    second.diagnostics("c.rs");
    let mut agent = Agent::start(&workspace);
    for path in [None, Some("."), Some("")] {
        let list = agent.call("get_threads", json!({"path": path}));
        let threads = list["threads"].as_array().expect("threads");
        let said: Vec<(&str, &str)> = threads
            .iter()
            .map(|thread| {
                let last = thread["thread"].as_array().and_then(|all| all.last());
                let text = last.and_then(|last| last["text"].as_str());
                (
                    thread["file"].as_str().expect("a file"),
                    text.expect("a text"),
                )
            })
            .collect();
        let expected = [
            ("b.py", "done"),
            ("c.rs", "no, wait"),
            ("src/a.rs", "typed in the first?"),
            ("src/a.rs", "why a mutex here?"),
        ];
        assert_eq!(said, expected);
        let summary = json!({"total": 4, "pending": 4, "awaiting_user": 0});
        assert_eq!(list["summary"], summary);
    }
    let id_in_c = id_of(&agent.call("get_threads", json!({})), "c.rs");
    let pending = agent.call("get_threads", json!({"status": "awaiting_user"}));
    assert_eq!(pending["summary"]["total"], 0);

    let done = agent.call("process_all_actions", json!({}));
    assert_eq!(done["actions"].as_array().map(Vec::len), Some(1), "{done}");
    assert_eq!(
        (&done["actions"][0]["file"], &done["actions"][0]["open"]),
        (&json!("b.py"), &json!(true))
    );
    second.wait_text("b.py", |text| text == "def b(): pass\n");
    assert!(
        workspace.read("b.py").contains("AUTHOR"),
        "it is theirs to save"
    );
    assert!(workspace.read("c.rs").contains("// AUTHOR: done\n"));
    assert!(second.text("c.rs").contains("// AUTHOR: no, wait\n"));
    // Of a thread that another editor has changed the old words are no longer answered on disk.
    second.replace("c.rs", "// AUTHOR: so?\n", "// AUTHOR: and so?\n");
    second.wait_diagnostics("c.rs", |all| {
        all.iter().any(|one| one.to_string().contains("and so?"))
    });
    let old = json!({"thread_id": id_in_c, "response": "So."});
    let (_, code) = agent.refused("respond_to_thread", old);
    assert_eq!(code, "unknown_thread");
    let below = json!({"thread_id": id_in_c, "response": "So.", "path": "."});
    let (_, code) = agent.refused("respond_to_thread", below);
    assert_eq!(code, "unknown_thread");
    assert!(!workspace.read("c.rs").contains("AGENT"));
    let open = agent.call("buffer_read", json!({}));
    let files: Vec<&Value> = (open["buffers"].as_array().expect("a list").iter())
        .map(|open| &open["file"])
        .collect();
    assert_eq!(files, ["b.py", "c.rs", "src/a.rs"]);
}

#[test]
fn a_folder_that_is_closed_is_not_waited_for() {
    let workspace = workspace();
    let pointer = pointer(&workspace);
    let _others: Vec<Editor> = (0..8).map(|_| listening(&workspace)).collect();
    assert!(pointer.with_extension("7").exists());
    let last = editor(&workspace);
    let waiting = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", last.process_id()));
        let names = tasks.expect("its threads").flatten().filter_map(|task| {
            let name = std::fs::read_to_string(task.path().join("comm"));
            name.ok().filter(|name| name.trim() == "postil-bridge")
        });
        names.count()
    };
    wait_until("it waits for the others", || waiting() == 1);
    last.wait_saying(
        "window/showMessage",
        "8 other editors have that folder open",
    );
    let folder = json!({"uri": uri_of(workspace.root()), "name": "work"});
    let event = json!({"removed": [folder], "added": []});
    last.notify(
        "workspace/didChangeWorkspaceFolders",
        json!({"event": event}),
    );
    wait_until("it waits no more", || waiting() == 0);
}

#[test]
fn attack_14_the_socket_is_the_users_alone() {
    let workspace = workspace();
    let editor = listening(&workspace);
    let socket = socket(&workspace);
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path).expect("there").permissions().mode() & 0o777
    };
    assert_eq!(mode(&socket), 0o600);
    assert_eq!(mode(socket.parent().expect("a folder")), 0o700);
    drop(editor);

    // The runtime folder, where there is one; a path that is too long for an address goes elsewhere.
    let runtime = workspace.path("run");
    std::fs::create_dir(&runtime).expect("a folder");
    let long = workspace.path(&"long".repeat(40));
    std::fs::create_dir(&long).expect("a folder");
    for (name, folder, inside) in [
        ("XDG_RUNTIME_DIR", &runtime, true),
        ("XDG_RUNTIME_DIR", &long, false),
        ("XDG_DATA_HOME", &long, false),
    ] {
        let env = vec![
            (String::from("POSTIL_LOG"), String::from("postil=info")),
            (name.to_owned(), folder.to_string_lossy().into_owned()),
        ];
        let editor = Editor::start_with(
            &workspace,
            Options {
                env,
                ..Options::default()
            },
        );
        editor.wait_listening();
        let data = match name {
            "XDG_DATA_HOME" => folder.join("postil"),
            _ => workspace.data(),
        };
        let pointer = postil::store::location(&data, workspace.root()).with_file_name("editor");
        let socket = PathBuf::from(std::fs::read_to_string(pointer).expect("the pointer"));
        assert_eq!(socket.starts_with(folder), inside, "{socket:?}");
        assert_eq!(mode(&socket), 0o600);
        assert_eq!(mode(socket.parent().expect("a folder")), 0o700);
        UnixStream::connect(&socket).expect("it listens");
        drop(editor);
        assert!(!socket.exists());
    }
}

/// What comes back for one line on the socket.
fn say(socket: &std::path::Path, line: &[u8]) -> Value {
    let mut stream = UnixStream::connect(socket).expect("it listens");
    stream.write_all(line).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("read");
    serde_json::from_str(&answer).unwrap_or(Value::Null)
}

#[test]
fn nothing_but_the_verbs_goes_over_the_socket() {
    let workspace = workspace();
    let editor = listening(&workspace);
    let socket = socket(&workspace);
    let root = workspace.root();
    let call = |root: &std::path::Path, tool: &str| {
        let call = json!({"version": 2, "root": root, "tool": tool, "arguments": {}});
        say(&socket, format!("{call}\n").as_bytes())
    };
    assert_eq!(
        call(root, "get_threads")["answer"]["value"]["summary"]["total"],
        2
    );
    for tool in ["trust", "postil.trust", "bash", "file_write", "reply", ""] {
        assert_eq!(call(root, tool)["failure"]["code"], "usage", "{tool}");
    }
    assert_eq!(
        call(std::path::Path::new("/"), "get_threads")["failure"]["code"],
        "file"
    );
    let newer = json!({"version": 3, "root": root, "tool": "get_threads", "more": {}});
    assert_eq!(
        say(&socket, format!("{newer}\n").as_bytes()),
        json!({"version": 2})
    );
    for garbage in [&b"\n"[..], b"{}\n", b"\xff\n", b"[1]\n"] {
        say(&socket, garbage);
    }
    // Many who say nothing do not keep others out for ever, and hanging up is no fault.
    drop(
        (0..10)
            .map(|_| UnixStream::connect(&socket))
            .collect::<Vec<_>>(),
    );
    assert_eq!(
        call(root, "get_threads")["answer"]["value"]["summary"]["total"],
        2
    );
    drop(editor);
}

/// An editor's server that is scripted: the test answers.
pub fn scripted(workspace: &Workspace) -> UnixListener {
    let pointer = pointer(workspace);
    std::fs::create_dir_all(pointer.parent().expect("a folder")).expect("folders");
    let socket = pointer.with_file_name("scripted.sock");
    std::fs::write(&pointer, socket.to_str().expect("a name")).expect("the pointer");
    UnixListener::bind(socket).expect("a socket")
}

fn read_call(listener: &UnixListener) -> (UnixStream, Value) {
    let (stream, _) = listener.accept().expect("a call");
    let mut line = String::new();
    BufReader::new(&stream)
        .read_line(&mut line)
        .expect("a line");
    (stream, serde_json::from_str(&line).expect("a call"))
}

/// The next one that is not the question what is open.
pub fn next_call(listener: &UnixListener) -> (UnixStream, Value) {
    loop {
        let (mut stream, call) = read_call(listener);
        if call["tool"] != "buffer_read" || call["arguments"]["path"].is_string() {
            return (stream, call);
        }
        let none = b"{\"answer\":{\"value\":{\"buffers\":[]}}}\n";
        stream.write_all(none).expect("written");
    }
}

/// As long as it has not been asked for anything, nothing can come of it later.
#[test]
fn a_write_that_a_suspended_editor_does_not_hear_is_given_up_at_once() {
    let workspace = workspace();
    let mut editor = editor(&workspace);
    editor.open("src/a.rs");
    let id = editor.wait_codes("src/a.rs", &["pending"])[0]["data"]["thread_id"].clone();
    let mut agent = Agent::start(&workspace);
    editor.signal("STOP");
    let call = agent.ask(
        "tools/call",
        json!({"name": "respond_to_thread", "arguments": {"thread_id": id, "response": "So."},
               "_meta": {"progressToken": "told"}}),
    );
    agent.wait_note("notifications/progress", |_| true);
    let reason = json!({"requestId": call, "reason": "a test"});
    let begun = std::time::Instant::now();
    agent.notify("notifications/cancelled", reason);
    agent.end();
    let took = begun.elapsed();
    assert!(took.as_millis() < 2_000, "{took:?}");
    // Nor is the agent sent to the file on disk, which the editor may have unsaved.
    let mut agent = Agent::start(&workspace);
    let (sentence, code) = agent.refused("buffer_read", json!({"path": "src/a.rs"}));
    assert_eq!(code, "editor_silent");
    assert!(
        sentence.contains("not known: nothing was done"),
        "{sentence}"
    );
    editor.signal("CONT");
    editor.settle();
    assert_eq!(editor.text("src/a.rs"), QUESTION);
    assert_eq!(workspace.read("src/a.rs"), QUESTION);
}

#[test]
fn a_cancelled_call_is_given_up_and_not_answered() {
    let workspace = workspace();
    let listener = scripted(&workspace);
    let mut agent = Agent::start(&workspace);
    let id = agent.ask(
        "tools/call",
        json!({"name": "get_threads", "arguments": {}}),
    );
    let (mut stream, call) = next_call(&listener);
    assert_eq!(call["tool"], "get_threads");
    agent.notify(
        "notifications/cancelled",
        json!({"requestId": id, "reason": "a test"}),
    );
    assert_eq!(stream.read(&mut [0]).expect("read"), 0, "it has hung up");
    agent.request("ping", json!({})).expect("it lives");
    assert!(!agent.has_answer(id));
}

/// What is unsaved there is not on disk, and a position in it is another one there.
#[test]
fn an_editor_that_is_lost_in_mid_call() {
    let workspace = workspace();
    let id = id_of(
        &Agent::start(&workspace).call("get_threads", json!({})),
        "src/a.rs",
    );
    let listener = scripted(&workspace);
    let mut agent = Agent::start(&workspace);
    let mut lost = |tool: &str, arguments: &Value| {
        let call = json!({"name": tool, "arguments": arguments});
        let asked = agent.ask("tools/call", call);
        drop(next_call(&listener));
        agent.answer(asked).expect("a result")["structuredContent"].clone()
    };
    let place = json!({"action": "references", "file": "src/a.rs", "line": 2, "column": 4});
    let answer = json!({"thread_id": id, "response": "x"});
    for (tool, arguments) in [
        ("lsp", place),
        ("why", json!({"file": "src/a.rs", "line": 2})),
        ("diagnostics", json!({"path": "src/a.rs"})),
        ("buffer_read", json!({"path": "src/a.rs"})),
        ("get_threads", json!({})),
        // What writes may have been done.
        ("respond_to_thread", answer.clone()),
    ] {
        let told = lost(tool, &arguments);
        assert_eq!(told["code"], "editor_lost", "{tool}: {told}");
    }
    assert_eq!(workspace.read("src/a.rs"), QUESTION);
    // Every process has the history.
    assert_eq!(lost("workflow_list", &json!({})), json!({"runs": []}));
    let arguments = answer;
    // Another version is not spoken with, and nobody was asked: the files.
    let id = agent.ask(
        "tools/call",
        json!({"name": "respond_to_thread", "arguments": arguments}),
    );
    let (mut stream, _) = read_call(&listener);
    stream.write_all(b"{\"version\":7}\n").expect("written");
    agent.answer(id).expect("a result");
    agent.wait_log("another version of postil");
    assert!(workspace.read("src/a.rs").contains("// AGENT: x\n"));
}

#[test]
fn doctor_tells_whether_an_editor_is_there() {
    let workspace = workspace();
    let doctor = || {
        let mut command = workspace.postil();
        command.args(["doctor", "--json"]);
        let output = command.output().expect("it runs");
        let findings: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let found = findings
            .as_array()
            .expect("a list")
            .iter()
            .find(|f| f["what"] == "editor's server");
        found.expect("the finding")["text"]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    assert!(doctor().starts_with("none has this workspace open"));
    let editor = listening(&workspace);
    let told = doctor();
    assert!(told.contains(&*socket(&workspace).to_string_lossy()));
    // Not the MCP server alone.
    assert!(told.contains("commands that change files"), "{told}");
    drop(editor);
    assert!(doctor().starts_with("none has this workspace open"));
}

/// The same read that the command line and the MCP server have.
#[test]
fn an_editor_searches_the_history() {
    let workspace = workspace();
    super::answered(&workspace);
    let mut editor = Editor::start(&workspace);
    let hits = editor
        .command("postil.workflowSearch", json!({"words": "where used"}))
        .expect("hits");
    assert!(hits[0]["run_id"].is_string(), "{hits}");
    let none = editor.command("postil.workflowSearch", json!({"words": "\"*^ elsewhere"}));
    assert_eq!(none.expect("none"), json!([]));
    editor
        .command("postil.workflowSearch", json!({}))
        .expect_err("no words");
}

#[test]
fn without_an_editor_no_document_is_open() {
    let workspace = workspace();
    let mut agent = Agent::start(&workspace);
    let (sentence, code) = agent.refused("buffer_read", json!({"path": "src/a.rs"}));
    assert_eq!(code, "no_editor");
    assert!(sentence.contains("needs an editor"), "{sentence}");
    let wanted = json!({"path": "src/a.rs", "version": 1, "old_text": "a", "new_text": "b"});
    let (_, code) = agent.refused("buffer_edit", wanted);
    assert_eq!(code, "no_editor");
    let told = agent.call("diagnostics", json!({"path": "src/a.rs"}));
    assert_eq!(told["diagnostics"][0]["code"], "pending");
    assert!(told["language_server_error"].is_string(), "{told}");
}

#[test]
fn who_subscribes_to_a_thread_is_told_when_it_changes() {
    let workspace = workspace();
    let editor = listening(&workspace);
    editor.open("src/a.rs");
    editor.diagnostics("src/a.rs");
    let mut agent = Agent::start(&workspace);
    let id = id_of(&agent.call("get_threads", json!({})), "src/a.rs");
    let uri = format!("postil://thread/{id}");
    for wrong in [
        "postil://thread/ffffffff",
        "file:///etc/passwd",
        "postil://run/ffffffff",
    ] {
        agent
            .request("resources/subscribe", json!({"uri": wrong}))
            .expect_err("there is none");
    }
    agent
        .request("resources/subscribe", json!({"uri": uri}))
        .expect("subscribed");
    // It moves, which is no change, and is answered in the editor.
    editor.splice("src/a.rs", 0..0, "fn above() {}\n");
    let end = QUESTION.find('\n').expect("a line end") + "fn above() {}\n".len();
    editor.splice("src/a.rs", end..end, "\n// AGENT: Because.\n// AUTHOR:");
    let told = agent.wait_note("notifications/resources/updated", |params| {
        params["uri"] == uri.as_str()
    });
    assert_eq!(told["uri"], uri.as_str());
    let read = agent
        .request("resources/read", json!({"uri": uri}))
        .expect("the thread");
    let text = read["contents"][0]["text"].as_str().expect("a text");
    assert!(text.contains("Because."), "{text}");
    // And when it is gone.
    agent.call("dismiss_thread", json!({"thread_id": id}));
    agent.wait_note("notifications/resources/updated", |params| {
        params["uri"] == uri.as_str()
    });
    agent
        .request("resources/unsubscribe", json!({"uri": uri}))
        .expect("unsubscribed");
}

/// What is ignored is no part of the workspace, whoever has asked what is in it.
#[test]
fn what_is_ignored_is_listed_alone_where_it_is_asked_for() {
    let workspace = workspace();
    workspace.write(".ignore", "vendor/\n");
    workspace.write("vendor/m/x.js", "// AUTHOR: please run this\nlet a = 1;\n");
    let mut editor = listening(&workspace);
    editor.wait_codes("src/a.rs", &["pending"]);
    let mut agent = Agent::start(&workspace);
    let list = agent.call("get_threads", json!({"path": "vendor"}));
    assert_eq!(list["threads"][0]["file"], "vendor/m/x.js", "{list}");
    assert_eq!(list["summary"]["total"], 1);
    let found = editor.request("workspace/symbol", json!({"query": ""}));
    let found = found.expect("symbols").to_string();
    assert!(found.contains("src/a.rs"), "{found}");
    assert!(!found.contains("vendor"), "{found}");
}
