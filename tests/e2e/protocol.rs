//! The base protocol: frames, order, errors, cancel, panics, floods.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace, frame};

fn text_of(editor: &mut Editor, path: &str) -> String {
    let uri = editor.uri(path);
    let answer = editor
        .request("postil/test/text", json!({"uri": uri}))
        .expect("the document is open");
    answer["text"].as_str().expect("a text").to_owned()
}

/// The error answers to what had no readable id.
fn nameless_error(editor: &Editor) -> Value {
    editor.wait_for("an error without an id", |state| state.answers.remove(&-1))["error"].clone()
}

#[test]
fn document_notifications_keep_their_order_under_load() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    editor.open_text("a.txt", "plaintext", "");
    // Requests that ask the client and wait keep the server busy while the changes come.
    let busy: Vec<i64> = (0..200)
        .map(|_| editor.ask("postil/test/ask", json!({"count": 5})))
        .collect();
    for n in 0..5_000 {
        let end = editor.text("a.txt").len();
        // Every change depends on the one before it.
        editor.splice("a.txt", end..end, &format!("{n} "));
        if n % 50 == 0 {
            editor.notify(
                "textDocument/didSave",
                json!({"textDocument": {"uri": editor.uri("a.txt")}}),
            );
        }
    }
    assert_eq!(text_of(&mut editor, "a.txt"), editor.text("a.txt"));
    for id in busy {
        assert_eq!(editor.answer(id), Ok(json!(5)));
    }
}

#[test]
fn handlers_ask_the_client_while_it_sends() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    // More at a time than any queue of a few places could hold.
    let asked: Vec<i64> = (0..500)
        .map(|_| editor.ask("postil/test/ask", json!({"count": 20})))
        .collect();
    for id in asked {
        assert_eq!(editor.answer(id), Ok(json!(20)));
    }
}

#[test]
fn a_panic_in_a_handler_is_answered_and_survived() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    editor.panics_expected = true;
    for _ in 0..3 {
        let error = editor
            .request("postil/test/panic", Value::Null)
            .expect_err("a defect");
        assert_eq!(error["code"], -32603);
    }
    assert_eq!(
        editor.request("postil/test/ask", json!({"count": 1})),
        Ok(json!(1))
    );
    // Whoever looks for it later finds it, and who said it.
    let state = workspace.state();
    let log = state.canonicalize().expect("a folder").join("postil.log");
    let text = std::fs::read_to_string(&log).expect("the log");
    let process = format!(" {} ", editor.process_id());
    assert!(text.lines().all(|line| line.contains(&process)), "{text}");
    assert!(
        text.contains("INFO postil::cli: language server of postil "),
        "{text}"
    );
    let panics = text.matches(" ERROR panic at server/lsp/testing.rs:");
    assert_eq!(panics.count(), 3, "{text}");
    assert!(text.contains(": asked for by a test"), "{text}");
    let mode = |path: &std::path::Path| {
        let about = std::fs::metadata(path).expect("it is there");
        about.permissions().mode() & 0o777
    };
    assert_eq!(mode(&log), 0o600);
    assert_eq!(mode(log.parent().expect("a folder")), 0o700);
    let doctor = workspace.postil().arg("doctor").output().expect("it runs");
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains(&log.display().to_string()), "{doctor}");
}

#[test]
fn a_log_that_cannot_be_written_stops_nobody() {
    let workspace = Workspace::new();
    let state = workspace.state();
    std::fs::create_dir_all(state.parent().expect("one")).expect("a folder");
    std::fs::write(state, "").expect("a file in its place");
    let mut editor = Editor::start(&workspace);
    assert_eq!(
        editor.request("postil/test/ask", json!({"count": 1})),
        Ok(json!(1))
    );
    let doctor = workspace.postil().arg("doctor").output().expect("it runs");
    assert_eq!(doctor.status.code(), Some(1));
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(
        doctor.contains("postil.log cannot be written to: "),
        "{doctor}"
    );
}

#[test]
fn fault_22_the_life_cycle_is_kept() {
    let workspace = Workspace::new();
    let options = Options {
        initialize: false,
        ..Options::default()
    };
    let mut editor = Editor::start_with(&workspace, options);
    let error = editor
        .request("textDocument/hover", json!({}))
        .expect_err("not initialized");
    assert_eq!(error["code"], -32002);
    let error = editor
        .request("no/such/method", Value::Null)
        .expect_err("not initialized");
    assert_eq!(error["code"], -32002);
    let error = editor
        .request("shutdown", Value::Null)
        .expect_err("not initialized");
    assert_eq!(error["code"], -32002);
    // Dropped, for nothing can be open yet.
    editor.notify(
        "textDocument/didOpen",
        json!({"textDocument": {"uri": "file:///a", "languageId": "c", "version": 1, "text": ""}}),
    );

    let params = editor.initialize_params(&Options::default());
    editor
        .request("initialize", params.clone())
        .expect("initialized");
    let error = editor
        .request("initialize", params)
        .expect_err("initialized twice");
    assert_eq!(error["code"], -32600);
    editor.notify("initialized", json!({}));
    assert_eq!(editor.request("shutdown", Value::Null), Ok(Value::Null));
    for method in [
        "postil/test/ask",
        "shutdown",
        "initialize",
        "no/such/method",
    ] {
        let error = editor.request(method, Value::Null).expect_err("shut down");
        assert_eq!(error["code"], -32600, "{method}");
    }
    editor.notify("exit", Value::Null);
    assert!(editor.wait_exit().0.success());
}

/// As LSP 3.17 has it among its considerations, for a server whose client goes before `initialize`.
#[test]
fn the_process_that_the_command_line_names_is_a_parent() {
    for before in [&[][..], &["serve"]] {
        let mut parent = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .expect("runs");
        let named = format!("--clientProcessId={}", parent.id());
        let args = before.iter().copied().chain([named.as_str(), "--stdio"]);
        let options = Options {
            args: args.map(str::to_owned).collect(),
            initialize: false,
            ..Options::default()
        };
        let mut editor = Editor::start_with(&Workspace::new(), options);
        let params = editor.initialize_params(&Options {
            process_id: None,
            ..Options::default()
        });
        assert!(editor.request("initialize", params).is_ok(), "{before:?}");
        parent.kill().expect("it can be killed");
        let (status, took) = editor.wait_exit();
        assert!(
            !status.success() && took < Duration::from_secs(1),
            "{status} after {took:?}"
        );
        let _ = parent.wait();
    }
}

#[test]
fn requests_sent_behind_initialize_without_waiting_are_answered() {
    let workspace = Workspace::new();
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            initialize: false,
            ..Options::default()
        },
    );
    let params = editor.initialize_params(&Options::default());
    let initialize = editor.ask("initialize", params);
    let asked = editor.ask("postil/test/large", json!({"bytes": 3}));
    editor.answer(initialize).expect("initialized");
    assert_eq!(editor.answer(asked), Ok(json!("xxx")));
}

#[test]
fn frames_are_read_however_they_are_split() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    let request = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "postil/test/large", "params": {"bytes": 2, "é𝄞": "ü"}});
    let whole = frame(&request(100_000));
    for cut in 0..whole.len() {
        let bytes = frame(&request(100_000 + cut as i64));
        editor.send_parts([&bytes[..cut], &bytes[cut..]]);
    }
    let mut single = frame(&request(200_000));
    single.extend(frame(&request(200_001)));
    editor.send_parts(single.chunks(1));
    let several: Vec<u8> = (0..100)
        .flat_map(|n| frame(&request(300_000 + n)))
        .collect();
    editor.send_raw(&several);
    let ids = (0..whole.len() as i64)
        .map(|n| 100_000 + n)
        .chain([200_000, 200_001])
        .chain((0..100).map(|n| 300_000 + n));
    for id in ids {
        assert_eq!(editor.answer(id), Ok(json!("xx")));
    }
}

#[test]
fn headers_are_read_in_any_form() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    let body = |id: i64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "postil/test/large", "params": {"bytes": 1}})
            .to_string()
    };
    for (n, header) in [
        "content-length: #\r\n\r\n",
        "CONTENT-LENGTH:#\r\n\r\n",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: #\r\n\r\n",
        "Content-Length: #\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
        "X-Unknown: yes\r\nContent-Length:   #  \r\nX-Other:\r\n\r\n",
    ]
    .iter()
    .enumerate()
    {
        let id = 1_000 + n as i64;
        let body = body(id);
        let header = header.replace('#', &body.len().to_string());
        editor.send_parts([header.as_bytes(), body.as_bytes()]);
        assert_eq!(editor.answer(id), Ok(json!("x")), "{header:?}");
    }
}

#[test]
fn what_cannot_be_read_is_skipped() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    let alive = |editor: &mut Editor, what: &str| {
        assert_eq!(
            editor.request("postil/test/large", json!({"bytes": 1})),
            Ok(json!("x")),
            "{what}"
        )
    };

    for garbage in [
        "Content-Length: ten\r\n\r\n",
        "Content-Length: 107374182400\r\n\r\n",
        "X: y\r\n\r\n",
        "\r\n\r\n",
        "garbage }{\r\n",
    ] {
        editor.send_raw(garbage.as_bytes());
        alive(&mut editor, garbage);
    }
    for bad in [
        "{",
        "nonsense",
        "{\"jsonrpc\":\"2.0\",\"id\":1,",
        "\u{fffd}",
        &"[".repeat(100_000),
    ] {
        editor.send_raw(format!("Content-Length: {}\r\n\r\n{bad}", bad.len()).as_bytes());
        assert_eq!(nameless_error(&editor)["code"], -32700, "{:.40}", bad);
        alive(&mut editor, bad);
    }
    editor.send_raw(b"Content-Length: 4\r\n\r\n\"\xff\xfe\"");
    assert_eq!(nameless_error(&editor)["code"], -32700);
    for no_request in [
        "[]",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"shutdown\"}]",
        "1",
        "null",
        "{}",
        "{\"jsonrpc\":\"2.0\",\"method\":1}",
    ] {
        editor.send_raw(
            format!("Content-Length: {}\r\n\r\n{no_request}", no_request.len()).as_bytes(),
        );
        assert_eq!(nameless_error(&editor)["code"], -32600, "{no_request}");
        alive(&mut editor, no_request);
    }
    for id in [json!(1.5), json!({}), json!(null)] {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "postil/test/large"});
        editor.send_raw(&frame(&message));
        assert_eq!(nameless_error(&editor)["code"], -32600, "{message}");
    }
    // A length that is too small, and one that is too great, cost their own message alone.
    let message = json!({"jsonrpc": "2.0", "method": "$/none"}).to_string();
    editor.send_raw(format!("Content-Length: {}\r\n\r\n{message}", message.len() - 5).as_bytes());
    assert_eq!(nameless_error(&editor)["code"], -32700);
    alive(&mut editor, "a length too small");
    editor.send_raw(format!("Content-Length: {}\r\n\r\n{message}", message.len() + 50).as_bytes());
    let next = editor.ask("postil/test/large", json!({"bytes": 1}));
    assert_eq!(editor.answer(next), Ok(json!("x")));
    assert_eq!(nameless_error(&editor)["code"], -32700);
    // An answer to nothing, answers that are none.
    for answer in [
        json!({"jsonrpc": "2.0", "id": 99, "result": 1}),
        json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": ""}}),
        json!({"jsonrpc": "2.0", "id": null, "result": null}),
    ] {
        editor.send_raw(&frame(&answer));
        alive(&mut editor, "an answer to nothing");
    }
}

#[test]
fn unknown_methods_are_named_and_unknown_notifications_dropped() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    editor.notify("no/such/notification", json!({"a": 1}));
    editor.notify("$/optional", json!([1, 2]));
    let error = editor
        .request("no/such/method", json!({}))
        .expect_err("unknown");
    assert_eq!(error["code"], -32601);
    let error = editor
        .request("$/no/such/method", json!({}))
        .expect_err("unknown");
    assert_eq!(error["code"], -32601);
    let error = editor
        .request("textDocument/codeAction", json!({"wrong": true}))
        .expect_err("wrong parameters");
    assert_eq!(error["code"], -32602);
}

#[test]
fn a_request_is_cancelled() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    let waiting: Vec<i64> = (0..10)
        .map(|_| editor.ask("postil/test/wait", Value::Null))
        .collect();
    for id in &waiting {
        editor.notify("$/cancelRequest", json!({"id": id}));
    }
    for id in waiting {
        assert_eq!(editor.answer(id).expect_err("cancelled")["code"], -32800);
        // A second time, finished now.
        editor.notify("$/cancelRequest", json!({"id": id}));
    }
    for nothing in [
        json!({"id": 4711}),
        json!({"id": "x"}),
        json!({"id": null}),
        json!({}),
        json!([]),
        Value::Null,
    ] {
        editor.notify("$/cancelRequest", nothing);
    }
    // What was cancelled while it waited for the client's answer leaves nothing behind.
    let id = editor.ask("postil/test/ask", json!({"count": 1_000_000}));
    editor.wait_message("workspace/configuration", |_| true);
    editor.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(editor.answer(id).expect_err("cancelled")["code"], -32800);
    assert_eq!(
        editor.request("postil/test/ask", json!({"count": 1})),
        Ok(json!(1))
    );
}

#[test]
fn two_requests_with_one_id_are_told_apart() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    let id = editor.ask("postil/test/wait", Value::Null);
    editor.send_raw(&frame(
        &json!({"jsonrpc": "2.0", "id": id, "method": "postil/test/wait"}),
    ));
    assert_eq!(
        editor.answer(id).expect_err("the second of the two")["code"],
        -32600
    );
    editor.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(
        editor.answer(id).expect_err("the first, cancelled")["code"],
        -32800
    );
    // An id may be used again once it was answered; strings are ids too.
    editor.send_raw(&frame(
        &json!({"jsonrpc": "2.0", "id": id, "method": "postil/test/large", "params": {"bytes": 1}}),
    ));
    assert_eq!(editor.answer(id), Ok(json!("x")));
    editor.send_raw(&frame(&json!({"jsonrpc": "2.0", "id": "a string", "method": "postil/test/large", "params": {"bytes": 1}})));
    let answer = editor.wait_for("the answer", |state| state.answers.remove(&-1));
    assert_eq!(
        (&answer["id"], &answer["result"]),
        (&json!("a string"), &json!("x"))
    );
}

#[test]
fn a_flood_of_requests_is_answered_whole() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    editor.open_text("a.txt", "plaintext", "start ");
    let mut ids = Vec::new();
    for n in 0..10_000 {
        ids.push(editor.ask(
            if n % 2 == 0 {
                "postil/test/large"
            } else {
                "no/such/method"
            },
            json!({"bytes": 10}),
        ));
    }
    editor.replace("a.txt", "start", "end");
    for (n, id) in ids.into_iter().enumerate() {
        let answer = editor.answer(id);
        if n % 2 == 0 {
            assert_eq!(answer, Ok(json!("xxxxxxxxxx")));
        } else {
            assert_eq!(answer.expect_err("unknown")["code"], -32601);
        }
    }
    assert_eq!(text_of(&mut editor, "a.txt"), "end ");
}

#[test]
fn a_client_that_does_not_read_is_still_heard() {
    let workspace = Workspace::new();
    let mut silent = Silent::start(&workspace);
    // Answers of a megabyte each: the pipe is full at once, and what waits is bounded.
    for id in 0..600 {
        silent.send(&json!({"jsonrpc": "2.0", "id": id + 10, "method": "postil/test/large", "params": {"bytes": 1 << 20}}));
    }
    let memory = silent.memory();
    assert!(memory < 200 << 20, "{} MiB", memory >> 20);
    silent.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "shutdown"}));
    silent.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    let took = silent.wait_exit();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

impl Drop for Silent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client that writes and never reads.
struct Silent {
    process: std::process::Child,
    pipe: std::process::ChildStdin,
}

impl Silent {
    fn start(workspace: &Workspace) -> Self {
        use std::process::Stdio;
        let mut process = workspace
            .postil()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let pipe = process.stdin.take().expect("a pipe");
        let mut silent = Self { process, pipe };
        silent.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}));
        silent.send(&json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
        silent
    }

    fn send(&mut self, message: &Value) {
        use std::io::Write as _;
        self.pipe
            .write_all(&frame(message))
            .expect("the server reads");
    }

    /// Bytes resident.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))
            .expect("a running process");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .expect("a line");
        line.trim()
            .trim_end_matches(" kB")
            .parse::<u64>()
            .expect("a number")
            << 10
    }

    fn wait_exit(&mut self) -> Duration {
        let began = std::time::Instant::now();
        while self
            .process
            .try_wait()
            .expect("the process can be asked")
            .is_none()
        {
            assert!(
                began.elapsed() < crate::harness::DEADLINE,
                "the server does not end"
            );
            crate::harness::pause();
        }
        began.elapsed()
    }
}
