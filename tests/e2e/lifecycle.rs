//! The end of the process, and the ways to reach it: pipe, socket, listening with a token.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{DEADLINE, Editor, Options, Workspace, frame};

mod folders; // those of the workspace

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn exit_after_shutdown_ends_with_0() {
    let mut editor = Editor::start(&Workspace::new());
    editor.request("shutdown", Value::Null).expect("shut down");
    editor.notify("exit", Value::Null);
    let (status, took) = editor.wait_exit();
    assert!(
        status.code() == Some(0) && took < SECOND,
        "{status} after {took:?}"
    );
}

#[test]
fn exit_without_shutdown_ends_with_1() {
    let mut editor = Editor::start(&Workspace::new());
    let waiting = editor.ask("postil/test/wait", Value::Null);
    editor.notify("exit", Value::Null);
    let (status, took) = editor.wait_exit();
    assert!(
        status.code() == Some(1) && took < SECOND,
        "{status} after {took:?} (request {waiting} was open)"
    );
}

#[test]
fn exit_before_initialize_ends_with_1() {
    let mut editor = Editor::start_with(
        &Workspace::new(),
        Options {
            initialize: false,
            ..Options::default()
        },
    );
    editor.notify("exit", Value::Null);
    let (status, took) = editor.wait_exit();
    assert!(
        status.code() == Some(1) && took < SECOND,
        "{status} after {took:?}"
    );
}

#[test]
fn fault_07_a_closed_pipe_is_the_end() {
    let mut editor = Editor::start(&Workspace::new());
    let waiting = editor.ask("postil/test/wait", Value::Null);
    editor.hang_up();
    let (status, took) = editor.wait_exit();
    assert!(
        status.code() == Some(1) && took < SECOND,
        "{status} after {took:?} (request {waiting} was open)"
    );
}

#[test]
fn what_can_be_no_process_is_no_parent() {
    let options = Options {
        process_id: Some(0),
        ..Options::default()
    };
    let mut editor = Editor::start_with(&Workspace::new(), options);
    for _ in 0..12 {
        let answer = editor.request("postil/test/ask", json!({}));
        assert_eq!(answer, Ok(json!(1)));
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn fault_07_the_death_of_the_parent_is_the_end() {
    for collected in [true, false] {
        let mut parent = Command::new("sleep")
            .arg("600")
            .spawn()
            .expect("sleep runs");
        let mut editor = Editor::start_with(
            &Workspace::new(),
            Options {
                process_id: Some(parent.id()),
                ..Options::default()
            },
        );
        assert_eq!(
            editor.request("postil/test/ask", json!({})),
            Ok(json!(1)),
            "it serves while the parent lives"
        );
        parent.kill().expect("the parent can be killed");
        if collected {
            parent.wait().expect("collected");
        }
        let (status, took) = editor.wait_exit();
        assert!(
            !status.success() && took < SECOND,
            "{status} after {took:?}"
        );
        let _ = parent.wait();
    }
}

#[test]
fn a_signal_is_the_end() {
    let mut editor = Editor::start(&Workspace::new());
    let id = editor.process_id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .expect("kill runs")
            .success()
    );
    let (status, took) = editor.wait_exit();
    assert!(
        status.code() == Some(143) && took < SECOND,
        "{status} after {took:?}"
    );
}

/// A server whose scripted child runs and is busy.
fn with_child(workspace: &Workspace, process_id: u32) -> Editor {
    workspace.write("a.scripted", "def name\nname\n");
    workspace.script_child(&json!({}));
    let options = Options {
        initialization_options: json!({"trusted": true}),
        settings: json!({"proxy": {"mode": "always"}}),
        process_id: Some(process_id),
        ..Options::default()
    };
    let mut editor = Editor::start_with(workspace, options);
    editor.open("a.scripted");
    let uri = editor.uri("a.scripted");
    let at = json!({"textDocument": {"uri": uri}, "position": {"line": 1, "character": 1}});
    let mut answer = Value::Null;
    // The settings come after `initialized`.
    let began = Instant::now();
    while answer.as_array().is_none_or(Vec::is_empty) {
        assert!(
            began.elapsed() < DEADLINE,
            "the child does not answer: {answer}"
        );
        answer = editor
            .request("textDocument/definition", at.clone())
            .expect("an answer");
    }
    assert_eq!(answer[0]["targetUri"], uri.as_str(), "{answer}");
    assert!(
        answer[0]["originSelectionRange"].is_object(),
        "no field is lost: {answer}"
    );
    assert_eq!(workspace.children().len(), 1);
    editor
}

#[test]
fn fault_07_children_end_with_the_server_whatever_ends_it() {
    type End = (&'static str, fn(&mut Editor, &mut std::process::Child));
    let ends: [End; 6] = [
        ("exit", |editor, _| {
            editor.request("shutdown", Value::Null).expect("shut down");
            editor.notify("exit", Value::Null);
        }),
        ("exit without shutdown", |editor, _| {
            editor.notify("exit", Value::Null)
        }),
        ("closed pipe", |editor, _| editor.hang_up()),
        ("dead parent", |_, parent| parent.kill().expect("killed")),
        ("SIGTERM", |editor, _| {
            let id = editor.process_id().to_string();
            assert!(
                Command::new("kill")
                    .args(["-TERM", &id])
                    .status()
                    .expect("kill runs")
                    .success()
            );
        }),
        ("SIGKILL", |editor, _| {
            let id = editor.process_id().to_string();
            assert!(
                Command::new("kill")
                    .args(["-KILL", &id])
                    .status()
                    .expect("kill runs")
                    .success()
            );
        }),
    ];
    for (name, end) in ends {
        let workspace = Workspace::new();
        let mut parent = Command::new("sleep")
            .arg("600")
            .spawn()
            .expect("sleep runs");
        let mut editor = with_child(&workspace, parent.id());
        end(&mut editor, &mut parent);
        let (_, took) = editor.wait_exit();
        assert!(took < SECOND, "{name}: {took:?}");
        let began = Instant::now();
        while !workspace.children().is_empty() {
            assert!(began.elapsed() < SECOND, "{name}: the child lives on");
            crate::harness::pause();
        }
        let _ = parent.kill();
        let _ = parent.wait();
    }
}

/// One that reads no end of its pipe and obeys no signal that asks, of a server that can ask nothing any more.
#[test]
fn fault_07_a_deaf_language_server_is_gone_when_the_server_is_killed() {
    let workspace = Workspace::new();
    workspace.write("a.scripted", "def name\nname\n");
    workspace.script_child(&json!({"start": "deaf"}));
    let options = Options {
        initialization_options: json!({"trusted": true}),
        settings: json!({"proxy": {"mode": "always"}}),
        ..Options::default()
    };
    let mut editor = Editor::start_with(&workspace, options);
    editor.open("a.scripted");
    let log = workspace.path("../child.log");
    let at = json!({"textDocument": {"uri": editor.uri("a.scripted")}, "position": {"line": 1, "character": 1}});
    let began = Instant::now();
    // The settings come after `initialized`. It answers nothing, which nobody waits for here.
    while !std::fs::read_to_string(&log).is_ok_and(|log| log.contains("pid")) {
        assert!(began.elapsed() < DEADLINE, "it does not start");
        editor.ask("textDocument/definition", at.clone());
        let ping = editor.request("postil/test/ask", json!({}));
        ping.expect("served");
    }
    assert_eq!(workspace.children().len(), 1);
    editor.kill();
    let began = Instant::now();
    while !workspace.children().is_empty() {
        assert!(began.elapsed() < DEADLINE, "it lives on");
        crate::harness::pause();
    }
    editor.state().answers.clear();
}

#[test]
fn initialize_tells_who_answers_and_what_it_can() {
    let workspace = Workspace::new();
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            initialize: false,
            ..Options::default()
        },
    );
    let options = Options {
        encodings: vec!["utf-8", "utf-16"],
        initialization_options: json!({"commandPrefix": "mine."}),
        // A client from the future.
        capabilities: json!({"textDocument": {"unheardOf": {"deep": [1]}, "diagnostic": null}, "general": {"markdown": 3}, "workspace": {"symbol": "odd"}}),
        ..Options::default()
    };
    let mut params = editor.initialize_params(&options);
    params["trace"] = json!("compact");
    let answer = editor.request("initialize", params).expect("initialized");
    assert_eq!(answer["serverInfo"]["name"], "postil");
    assert_eq!(answer["capabilities"]["positionEncoding"], "utf-8");
    assert_eq!(answer["capabilities"]["textDocumentSync"]["change"], 2);
    let protocol = &answer["capabilities"]["experimental"]["postil"]["protocol"];
    assert_eq!(protocol, 1, "docs/editors/protocol.md names it too");
    let commands = answer["capabilities"]["executeCommandProvider"]["commands"]
        .as_array()
        .expect("commands");
    assert!(
        commands.contains(&json!("mine.replyAsAgent")),
        "{commands:?}"
    );
    assert!(commands.iter().all(|command| {
        command
            .as_str()
            .is_some_and(|command| command.starts_with("mine."))
    }));
}

#[test]
fn what_the_client_can_take_is_registered() {
    let editor = Editor::start(&Workspace::new());
    let methods = editor.wait_for("registrations", |state| {
        let methods: Vec<String> = state
            .registrations
            .iter()
            .filter_map(|r| r["method"].as_str().map(str::to_owned))
            .collect();
        (!methods.is_empty()).then_some(methods)
    });
    assert_eq!(
        methods,
        [
            "workspace/didChangeWatchedFiles",
            "workspace/didChangeConfiguration"
        ]
    );
}

#[test]
fn what_an_editors_settings_add_is_registered_when_they_are_known() {
    let able = json!({"dynamicRegistration": true});
    let editor = Editor::start_with(
        &Workspace::new(),
        Options {
            capabilities: json!({"textDocument": {"rename": able, "signatureHelp": able}}),
            settings: json!({"proxy": {"mode": "always"}}),
            ..Options::default()
        },
    );
    assert_eq!(editor.capabilities["renameProvider"], Value::Null);
    let methods = editor.wait_for("registrations", |state| {
        let methods = state.registrations.iter().map(|one| one["method"].clone());
        let all: Vec<Value> = methods
            .filter(|method| {
                method
                    .as_str()
                    .is_some_and(|m| m.starts_with("textDocument/"))
            })
            .collect();
        (!all.is_empty()).then_some(all)
    });
    assert_eq!(
        methods,
        ["textDocument/rename", "textDocument/signatureHelp"]
    );
}

/// A server that is gone when the test is.
struct Server(std::process::Child);

impl Server {
    fn start(command: &mut Command) -> Self {
        Self(
            command
                .stdin(Stdio::null())
                .spawn()
                .expect("the binary starts"),
        )
    }

    /// Whether it ended well, and within the deadline.
    fn ends(&mut self) -> bool {
        let began = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().expect("the process can be asked") {
                return status.success();
            }
            assert!(began.elapsed() < DEADLINE, "the server does not end");
            crate::harness::pause();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads one message.
fn read(pipe: &mut impl std::io::BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if pipe.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((_, value)) => length = value.parse().ok()?,
            None => break,
        }
    }
    let mut body = vec![0; length];
    pipe.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn initialize(options: Value) -> Vec<u8> {
    frame(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}, "initializationOptions": options}}),
    )
}

fn say_goodbye(mut stream: impl std::io::Write) {
    stream
        .write_all(&frame(
            &json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}),
        ))
        .expect("written");
    stream
        .write_all(&frame(&json!({"jsonrpc": "2.0", "method": "exit"})))
        .expect("written");
}

#[test]
fn it_connects_to_a_pipe_and_to_a_socket() {
    let workspace = Workspace::new();
    let path = workspace.path("lsp.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("bound");
    let mut server = Server::start(workspace.postil().args(["serve", "--pipe"]).arg(&path));
    let (mut stream, _) = listener.accept().expect("it connects");
    stream.write_all(&initialize(json!({}))).expect("written");
    assert_eq!(
        read(&mut BufReader::new(&stream)).expect("an answer")["id"],
        1
    );
    say_goodbye(&stream);
    assert!(server.ends());

    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener
        .local_addr()
        .expect("an address")
        .port()
        .to_string();
    let mut server = Server::start(workspace.postil().args(["serve", "--socket", &port]));
    let (mut stream, _) = listener.accept().expect("it connects");
    stream.write_all(&initialize(json!({}))).expect("written");
    assert_eq!(
        read(&mut BufReader::new(&stream)).expect("an answer")["id"],
        1
    );
    // The other side closes: the end.
    drop(stream);
    assert!(!server.ends());
}

/// A server that listens, where, and its token.
fn listening(workspace: &Workspace) -> (Server, String, String) {
    let mut server = Server::start(
        workspace
            .postil()
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped()),
    );
    let mut line = String::new();
    BufReader::new(server.0.stderr.take().expect("a pipe"))
        .read_line(&mut line)
        .expect("a line");
    let address = line
        .split("listening on ")
        .nth(1)
        .and_then(|rest| rest.split(',').next())
        .expect("an address")
        .to_owned();
    let token = line.trim_end().rsplit(' ').next().expect("a token");
    (server, address, token.to_owned())
}

#[test]
fn attack_14_who_has_no_token_ends_and_occupies_nothing() {
    let workspace = Workspace::new();
    let (mut server, address, token) = listening(&workspace);
    let connect = || {
        let stream = TcpStream::connect(&address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        stream
    };
    let exit = frame(&json!({"jsonrpc": "2.0", "method": "exit"}));
    let early = json!({"jsonrpc": "2.0", "id": "a", "method": "shutdown"});
    for bytes in [
        exit.clone(),
        [frame(&early), exit].concat(),
        b"Content-Length: 999999999\r\n\r\n".repeat(2),
        vec![b'x'; 2 << 20],
    ] {
        let mut stream = connect();
        // It may be closed before all is written.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.is_empty() || said.contains("-32002"), "{said}");
    }
    // Those that say nothing do not keep one out that has it, however many they are.
    let idle: Vec<TcpStream> = (0..50).map(|_| connect()).collect();
    let mut stream = connect();
    let asked = initialize(json!({"token": token}));
    let (first, rest) = asked.split_at(asked.len() / 2);
    stream.write_all(first).expect("written");
    stream.write_all(rest).expect("written");
    let mut reader = BufReader::new(&stream);
    assert!(read(&mut reader).expect("an answer")["result"].is_object());
    // The oldest of them are closed already.
    let mut oldest = &idle[0];
    assert_eq!(oldest.read(&mut [0]).unwrap_or_default(), 0);
    // Nor do they reach the one that is served.
    drop(idle);
    say_goodbye(&stream);
    assert!(server.ends());
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_with_143_while_it_listens_for_its_first_client() {
    for signal in ["-TERM", "-INT"] {
        let workspace = Workspace::new();
        let (mut server, ..) = listening(&workspace);
        let id = server.0.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.expect("kill runs").success());
        assert!(!server.ends());
        let status = server.0.try_wait().expect("it can be asked");
        assert_eq!(
            status.and_then(|status| status.code()),
            Some(143),
            "{signal}"
        );
    }
}

#[test]
fn attack_14_who_has_no_token_is_refused() {
    let workspace = Workspace::new();
    let (mut server, address, token) = listening(&workspace);
    assert!(token.len() >= 32, "{token}");
    let connect = || {
        let stream = TcpStream::connect(&address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        stream
    };

    for wrong in [
        json!({}),
        json!({"token": ""}),
        json!({"token": "wrong"}),
        json!({"token": 1}),
        json!({"token": format!("{token}x")}),
    ] {
        let mut stream = connect();
        stream
            .write_all(&initialize(wrong.clone()))
            .expect("written");
        let mut reader = BufReader::new(&stream);
        let answer = read(&mut reader).expect("an answer");
        assert_eq!(answer["error"]["code"], -32600, "{wrong}");
        assert!(!answer.to_string().contains(&token));
        let mut rest = Vec::new();
        let _ = reader.read_to_end(&mut rest);
        assert!(rest.is_empty(), "the connection is closed");
    }
    // One client after the other; the last says exit.
    for last in [false, true] {
        let mut stream = connect();
        stream
            .write_all(&initialize(json!({"token": token})))
            .expect("written");
        assert_eq!(
            read(&mut BufReader::new(&stream)).expect("an answer")["result"]["serverInfo"]["name"],
            "postil"
        );
        if last {
            say_goodbye(&stream);
        }
    }
    let began = Instant::now();
    assert!(server.ends());
    assert!(began.elapsed() < SECOND * 2);
}

#[test]
fn attack_14_it_listens_on_this_machine_alone() {
    let workspace = Workspace::new();
    let output = workspace
        .postil()
        .args(["serve", "--listen", "0.0.0.0:0"])
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    assert!(!output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("127.0.0.1"),
        "{output:?}"
    );
}

/// An editor that was started in the home folder, or has a file of no project there, names the whole home.
#[test]
fn a_home_folder_is_not_walked_unless_it_is_a_project() {
    for project in [false, true] {
        let workspace = Workspace::new();
        workspace.write("todo.rs", "// AUTHOR: mine?\n");
        workspace.write("other/b.rs", "// AUTHOR: of another project?\n");
        if project {
            workspace.git(&["init", "-q"]);
        }
        let home = workspace.root().to_string_lossy().into_owned();
        let options = Options {
            env: vec![
                (String::from("HOME"), home),
                (String::from("POSTIL_MODEL"), String::from("offline")),
            ],
            ..Options::default()
        };
        let mut editor = Editor::start_with(&workspace, options);
        editor.open("todo.rs");
        editor.wait_codes("todo.rs", &["pending"]);
        let begun = editor
            .command("postil.replyAll", json!({}))
            .expect("turns begin");
        let files: Vec<&str> = begun["runs"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|run| run["file"].as_str())
            .collect();
        let all: &[&str] = match project {
            false => &["todo.rs"],
            true => &["other/b.rs", "todo.rs"],
        };
        assert_eq!(files, all);
    }
}

/// Such an editor watches from when it has a project too.
#[test]
fn the_client_watches_once_a_project_comes_beside_the_home() {
    let workspace = Workspace::new();
    workspace.write("other/b.rs", "fn b() {}\n");
    let home = workspace.root().to_string_lossy().into_owned();
    let options = Options {
        env: vec![(String::from("HOME"), home)],
        capabilities: json!({"workspace": {
            "didChangeWatchedFiles": {"dynamicRegistration": true},
            "didChangeConfiguration": {"dynamicRegistration": true},
        }}),
        ..Options::default()
    };
    let editor = Editor::start_with(&workspace, options);
    let ids = |registrations: &[Value]| -> Vec<String> {
        let ids = registrations.iter().filter_map(|one| one["id"].as_str());
        ids.map(String::from).collect()
    };
    editor.wait_for("the registration of settings", |state| {
        (ids(&state.registrations) == ["postil-settings"]).then_some(())
    });
    for name in ["other", "more"] {
        workspace.write(&format!("{name}/c.rs"), "fn c() {}\n");
        let folder = json!({"uri": editor.uri(name), "name": name});
        editor.notify(
            "workspace/didChangeWorkspaceFolders",
            json!({"event": {"added": [folder], "removed": []}}),
        );
        editor.wait_for("one registration of files", |state| {
            (ids(&state.registrations) == ["postil-settings", "postil-files"]).then_some(())
        });
    }
}

/// Bytes that are no UTF-8 are the name of a folder like others.
#[test]
fn a_folder_of_settings_whose_name_is_no_text_is_told() {
    let workspace = Workspace::new();
    let within = r#"XDG_CONFIG_HOME="$HOME/$(printf 'caf\351')" exec "$@""#;
    let options = Options {
        within: ["sh", "-c", within, "sh"].map(String::from).to_vec(),
        ..Options::default()
    };
    let editor = Editor::start_with(&workspace, options);
    let told = &editor.capabilities["experimental"]["postil"]["configFile"];
    let told = told.as_str().expect("a file");
    assert!(told.ends_with("caf\u{fffd}/postil/config.toml"), "{told}");
}
