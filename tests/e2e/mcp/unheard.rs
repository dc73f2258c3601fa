//! Editors that do not tell what they have open: nothing is written behind their back, and the reason is told.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::agent::Agent;
use super::{QUESTION, id_of, workspace};
use crate::harness::{Workspace, wait_until};
use crate::peers;

const OVER: &str =
    "{\"failure\":{\"code\":\"failed\",\"message\":\"the editor's session is over\"}}\n";

/// The file of a place, which names `socket` from now on.
fn point(workspace: &Workspace, place: &str, socket: &Path) -> PathBuf {
    let data = workspace.data();
    let pointer = postil::store::location(&data, workspace.root()).with_file_name(place);
    std::fs::create_dir_all(pointer.parent().expect("a folder")).expect("folders");
    std::fs::write(&pointer, socket.to_str().expect("a name")).expect("the pointer");
    pointer
}

/// The next call; `None`: who has connected has asked nothing.
fn next(listener: &UnixListener) -> Option<UnixStream> {
    let (stream, _) = listener.accept().expect("a call");
    let mut line = String::new();
    let read = BufReader::new(&stream).read_line(&mut line);
    read.is_ok_and(|read| read > 0).then_some(stream)
}

/// Answers each call with this, after this time.
fn serve(listener: UnixListener, answer: &'static str, after: Duration) {
    std::thread::spawn(move || {
        loop {
            if let Some(mut stream) = next(&listener) {
                std::thread::sleep(after);
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
}

fn response(agent: &mut Agent) -> Value {
    let list = agent.call("get_threads", json!({}));
    json!({"thread_id": id_of(&list, "src/a.rs"), "response": "x"})
}

#[test]
fn an_editor_that_fails_to_tell_is_refused_with_its_own_words() {
    for (answer, why) in [
        (OVER, "the editor's session is over"),
        ("", "it ended in mid-call"),
        ("{\"answer\":{\"value\":{}}}\n", "its answer cannot be read"),
    ] {
        let workspace = workspace();
        let mut agent = Agent::start(&workspace);
        let response = response(&mut agent);
        let socket = workspace.data().join("s.sock");
        point(&workspace, "editor", &socket);
        serve(
            UnixListener::bind(socket).expect("a socket"),
            answer,
            Duration::ZERO,
        );
        let read = json!({"path": "src/a.rs"});
        for (verb, arguments) in [("respond_to_thread", response), ("buffer_read", read)] {
            let (sentence, code) = agent.refused(verb, arguments);
            assert_eq!(code, "editor_unclear", "{sentence}");
            assert!(
                sentence.contains(why) && !sentence.contains("fg"),
                "{sentence}"
            );
        }
        assert_eq!(workspace.read("src/a.rs"), QUESTION);
    }
}

/// Nor is the agent sent to the file, of which the editor may show more than the disk has.
#[test]
fn an_open_document_is_not_looked_for_on_disk_beside_an_editor_of_another_version() {
    let workspace = workspace();
    let mut agent = Agent::start(&workspace);
    let socket = workspace.data().join("s.sock");
    point(&workspace, "editor", &socket);
    serve(
        UnixListener::bind(socket).expect("a socket"),
        "{\"version\":1}\n",
        Duration::ZERO,
    );
    let edit = json!({"path": "src/a.rs", "version": 1, "old_text": "a", "new_text": "b"});
    for (verb, arguments) in [
        ("buffer_read", json!({"path": "src/a.rs"})),
        ("buffer_read", json!({})),
        ("buffer_edit", edit),
    ] {
        let (sentence, code) = agent.refused(verb, arguments);
        assert_eq!(code, "editor_version", "{sentence}");
        assert!(
            sentence.contains("another version of postil") && !sentence.contains("edit the file"),
            "{sentence}"
        );
    }
}

#[test]
fn an_editor_that_ends_while_it_is_asked_is_gone() {
    let workspace = workspace();
    let mut agent = Agent::start(&workspace);
    let response = response(&mut agent);
    let socket = workspace.data().join("s.sock");
    point(&workspace, "editor", &socket);
    let listener = UnixListener::bind(socket).expect("a socket");
    let ending = std::thread::spawn(move || {
        let mut stream = next(&listener).expect("a call");
        drop(listener);
        stream.write_all(OVER.as_bytes()).expect("written");
    });
    let (_, code) = agent.refused("buffer_read", json!({"path": "src/a.rs"}));
    assert_eq!(code, "no_editor");
    ending.join().expect("it has ended");
    agent.call("respond_to_thread", response);
    assert!(workspace.read("src/a.rs").contains("// AGENT: x\n"));
}

/// It is by itself, and is given the time of such a one.
#[test]
fn a_place_that_was_left_behind_takes_no_time_from_an_editor() {
    let workspace = workspace();
    let mut agent = Agent::start(&workspace);
    point(&workspace, "editor", &workspace.data().join("left.sock"));
    let socket = workspace.data().join("s.sock");
    point(&workspace, "editor.1", &socket);
    serve(
        UnixListener::bind(socket).expect("a socket"),
        "{\"answer\":{\"value\":{\"buffers\":[]}}}\n",
        Duration::from_millis(2_300),
    );
    let open = agent.call("buffer_read", json!({}));
    assert_eq!(open, json!({"buffers": []}));
}

/// Where its place is no server's any more, whoever came to listen there is no editor. Only root can be two users.
#[test]
fn a_socket_of_another_user_is_told_of_as_long_as_its_place_is_held() {
    let is_root = rustix::process::geteuid().is_root();
    if !peers::told(is_root, "root", "nobody else can be two users") {
        return;
    }
    let workspace = workspace();
    let mut agent = Agent::start(&workspace);
    let response = response(&mut agent);
    let folder = tempfile::tempdir().expect("a folder");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path(), open).expect("open to all");
    let socket = folder.path().join("s.sock");
    let script = "import os, socket, sys, time\nos.setuid(65534)\n\
                  s = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\ntime.sleep(60)\n";
    let mut other = std::process::Command::new("python3")
        .args(["-c", script])
        .arg(&socket)
        .spawn()
        .expect("python3 runs");
    wait_until("the socket", || UnixStream::connect(&socket).is_ok());
    let pointer = point(&workspace, "editor", &socket);
    let held = File::open(pointer).expect("the pointer");
    held.lock().expect("the lock");
    let (sentence, code) = agent.refused("respond_to_thread", response.clone());
    assert_eq!(code, "editor_unclear", "{sentence}");
    assert!(sentence.contains("another user's"), "{sentence}");
    assert_eq!(workspace.read("src/a.rs"), QUESTION);
    drop(held);
    agent.call("respond_to_thread", response);
    assert!(workspace.read("src/a.rs").contains("// AGENT: x\n"));
    other.kill().expect("ended");
    other.wait().expect("ended");
}

/// As long as its place is held it lives, and may have more than the disk has: what cleared the folder of its socket did
/// not end it.
#[test]
fn behind_the_back_of_an_editor_whose_socket_is_gone_nothing_is_written() {
    for (name, told) in [
        ("gone.sock", "gone.sock (which is gone"),
        ("", "an editor that has no socket"),
    ] {
        let workspace = workspace();
        let mut agent = Agent::start(&workspace);
        let response = response(&mut agent);
        let socket = match name {
            "" => PathBuf::new(),
            name => workspace.data().join(name),
        };
        let held = File::open(point(&workspace, "editor", &socket)).expect("the pointer");
        held.lock().expect("the lock");
        let (sentence, code) = agent.refused("respond_to_thread", response.clone());
        assert_eq!(code, "editor_unclear", "{sentence}");
        assert_eq!(workspace.read("src/a.rs"), QUESTION);
        let found = workspace.postil().arg("doctor").output();
        let found = String::from_utf8(found.expect("it runs").stdout).expect("a text");
        assert!(found.contains(told), "{found}");
        drop(held);
        agent.call("respond_to_thread", response);
        assert!(workspace.read("src/a.rs").contains("// AGENT: x\n"));
    }
}

/// Each look around asks once for a file, however many of its threads are watched.
#[test]
fn threads_of_one_file_that_are_subscribed_to_are_asked_for_together() {
    const THREADS: usize = 40;
    let workspace = workspace();
    let socket = workspace.data().join("s.sock");
    point(&workspace, "editor", &socket);
    let listener = UnixListener::bind(socket).expect("a socket");
    let is_changed = Arc::new(AtomicBool::new(false));
    let calls = Arc::new(AtomicUsize::new(0));
    let (changed, counted) = (is_changed.clone(), calls.clone());
    std::thread::spawn(move || {
        loop {
            let Some(mut stream) = next(&listener) else {
                continue;
            };
            let is_changed = changed.load(Ordering::SeqCst);
            if is_changed {
                counted.fetch_add(1, Ordering::SeqCst);
            }
            let said = if is_changed { "and how?" } else { "why?" };
            let threads = (0..THREADS).map(|n| {
                json!({"id": format!("{n:08x}"), "file": "src/a.rs", "start_line": 1,
                    "status": "pending", "thread": [{"role": "author", "line": 1, "text": said}]})
            });
            let threads: Vec<Value> = threads.collect();
            let answer = json!({"answer": {"value": {"buffers": [], "threads": threads}}});
            let _ = writeln!(stream, "{answer}");
        }
    });
    let mut agent = Agent::start(&workspace);
    let uris = (0..THREADS).map(|n| format!("postil://thread/{n:08x}"));
    let uris: Vec<String> = uris.collect();
    for uri in &uris {
        let subscribed = agent.request("resources/subscribe", json!({"uri": uri}));
        subscribed.expect("subscribed");
    }
    is_changed.store(true, Ordering::SeqCst);
    for uri in &uris {
        agent.wait_note("notifications/resources/updated", |told| {
            told["uri"] == uri.as_str()
        });
    }
    let calls = calls.load(Ordering::SeqCst);
    assert!(calls < THREADS / 2, "{calls} calls");
}

/// What an editor shows of the file in it, and no threads: it is lost when it is asked for these.
fn lost_at_threads(listener: UnixListener) {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut line = String::new();
            let _ = BufReader::new(&stream).read_line(&mut line);
            if line.contains("buffer_read") {
                let open =
                    json!({"file": "src/a.rs", "version": 3, "language": "rust", "unsaved": true});
                let answer = json!({"answer": {"value": {"buffers": [open]}}});
                let _ = writeln!(stream, "{answer}");
            }
        }
    });
}

/// The threads of its files would be missing in a list that looks whole.
#[test]
fn the_threads_of_all_editors_are_not_told_without_one_of_them() {
    let workspace = workspace();
    let mut agent = Agent::start(&workspace);
    let answering = workspace.data().join("a.sock");
    let lost = workspace.data().join("b.sock");
    point(&workspace, "editor", &answering);
    point(&workspace, "editor.1", &lost);
    serve(
        UnixListener::bind(answering).expect("a socket"),
        "{\"answer\":{\"value\":{\"buffers\":[],\"threads\":[]}}}\n",
        Duration::ZERO,
    );
    lost_at_threads(UnixListener::bind(lost).expect("a socket"));
    let (sentence, code) = agent.refused("get_threads", json!({}));
    assert_eq!(code, "editor_lost", "{sentence}");
}

#[test]
fn with_the_threads_of_some_editors_it_is_told_that_another_is_not_heard() {
    let workspace = workspace();
    let mut agent = Agent::start(&workspace);
    let answering = workspace.data().join("a.sock");
    let unclear = workspace.data().join("b.sock");
    point(&workspace, "editor", &answering);
    point(&workspace, "editor.1", &unclear);
    let answers = "{\"answer\":{\"value\":{\"buffers\":[],\"threads\":[]}}}\n";
    for (socket, answer) in [(answering, answers), (unclear, OVER)] {
        let listener = UnixListener::bind(socket).expect("a socket");
        serve(listener, answer, Duration::ZERO);
    }
    let list = agent.call("get_threads", json!({}));
    let told = list["unheard"].as_str().expect("a sentence");
    assert!(told.contains("the editor's session is over"), "{told}");
}
