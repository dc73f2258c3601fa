//! `postil acp`: our agent in an editor that speaks the protocol. The editor is a few lines here; the model is
//! scripted.

mod files; // what a prompt names and embeds
mod going_on; // after what stopped half-way
mod leave; // whom it asks, and what it may change
mod shown; // in the window

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use super::{CODE, FILE, THREAD, trust};
use crate::harness::{DEADLINE, Workspace};
use crate::model::{Model, Step, call};

struct Client {
    process: Child,
    pipe: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Updates of the session, in order.
    updates: Vec<Value>,
    /// What it was asked: method and parameters.
    asked: Vec<(String, Value)>,
    /// Which option it takes when it is asked for permission.
    takes: Option<&'static str>,
    /// Its unsaved text of the file, of each file.
    buffer: Option<String>,
    /// Which writes it refuses, of those still to come.
    refuses: Vec<bool>,
    next: i64,
    session: String,
}

impl Client {
    fn start(workspace: &Workspace, model: &Model, buffer: Option<&str>) -> Self {
        Self::start_in(workspace.root(), workspace, model, buffer)
    }

    fn start_in(folder: &Path, workspace: &Workspace, model: &Model, buffer: Option<&str>) -> Self {
        let mut client = Self::hello(workspace, model, buffer);
        let session = client.request("session/new", json!({"cwd": folder, "mcpServers": []}));
        let id = session["result"]["sessionId"].as_str();
        client.session = id.unwrap_or_else(|| panic!("{session}")).to_owned();
        client
    }

    /// Introduced, and without a session.
    fn hello(workspace: &Workspace, model: &Model, buffer: Option<&str>) -> Self {
        let mut command = workspace.postil();
        command
            .arg("acp")
            .env("ANTHROPIC_BASE_URL", model.url())
            .env("ANTHROPIC_API_KEY", "sk-canary")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = command.spawn().expect("it starts");
        let stdout = process.stdout.take().expect("a pipe");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let message =
                    serde_json::from_str(&line).unwrap_or_else(|_| json!({"no_json": line}));
                let _ = sender.send(message);
            }
        });
        let mut client = Self {
            pipe: process.stdin.take(),
            process,
            messages,
            updates: Vec::new(),
            asked: Vec::new(),
            takes: None,
            buffer: buffer.map(str::to_owned),
            refuses: Vec::new(),
            next: 0,
            session: String::new(),
        };
        let files = buffer.is_some();
        let hello = client.request(
            "initialize",
            json!({"protocolVersion": 1,
            "clientCapabilities": {"fs": {"readTextFile": files, "writeTextFile": files}}}),
        );
        assert_eq!(hello["result"]["protocolVersion"], 1);
        assert_eq!(hello["result"]["agentInfo"]["name"], "postil");
        let can = &hello["result"]["agentCapabilities"];
        assert_eq!(can["loadSession"], true, "{hello}");
        client
    }

    fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    fn send_line(&mut self, line: &str) {
        let pipe = self.pipe.as_mut().expect("a pipe");
        writeln!(pipe, "{line}")
            .and_then(|()| pipe.flush())
            .expect("it reads");
    }

    fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    fn prompt(&mut self, blocks: Value) -> Value {
        self.request(
            "session/prompt",
            json!({"sessionId": self.session, "prompt": blocks}),
        )
    }

    fn answer(&mut self, id: i64) -> Value {
        loop {
            let message = self.take();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// The next message; what it asks is answered.
    fn take(&mut self) -> Value {
        let message = self.messages.recv_timeout(DEADLINE).expect("a message");
        assert!(message.get("no_json").is_none(), "{message}");
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        if method == "session/update" {
            self.updates.push(message["params"]["update"].clone());
        } else if let (false, Some(id)) = (method.is_empty(), message.get("id")) {
            self.asked.push((method.clone(), message["params"].clone()));
            let is_write = method == "fs/write_text_file" && !self.refuses.is_empty();
            if is_write && self.refuses.remove(0) {
                let error = json!({"code": -32603, "message": "the disk is full"});
                self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                return message;
            }
            let result = match &*method {
                "session/request_permission" => match self.takes {
                    Some(name) => {
                        let options = message["params"]["options"].as_array().expect("options");
                        let option = options
                            .iter()
                            .find(|o| o["name"] == name)
                            .expect("it is offered");
                        json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}})
                    }
                    None => json!({"outcome": {"outcome": "cancelled"}}),
                },
                "fs/read_text_file" => json!({"content": self.buffer}),
                "fs/write_text_file" => {
                    self.buffer = message["params"]["content"].as_str().map(str::to_owned);
                    json!({})
                }
                other => panic!("nobody offered {other}"),
            };
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
            self.send(&answer);
        }
        message
    }

    fn said(&self) -> String {
        let said = self
            .updates
            .iter()
            .filter(|u| u["sessionUpdate"] == "agent_message_chunk");
        said.filter_map(|u| u["content"]["text"].as_str()).collect()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.pipe.take());
        if std::thread::panicking() {
            let _ = self.process.kill();
        }
        let status = self.process.wait().expect("it ends");
        assert!(std::thread::panicking() || status.success());
    }
}

fn bench(script: Vec<Step>) -> (Workspace, Model) {
    let workspace = Workspace::new();
    workspace.configure("model = 'anthropic/claude-sonnet-4-5'\n");
    workspace.write(FILE, CODE);
    trust(&workspace);
    (workspace, Model::start(script))
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

#[test]
fn a_prompt_is_a_turn_that_streams_and_remembers() {
    let (workspace, model) = bench(vec![
        Step::calls(vec![call("toolu_1", "file_read", json!({"path": FILE}))]),
        Step::text("It returns 7."),
        Step::text("As I said."),
    ]);
    let mut client = Client::start(&workspace, &model, None);
    let end = client.prompt(text("what does load return?"));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    assert_eq!(client.said(), "It returns 7.");
    let called = client
        .updates
        .iter()
        .find(|u| u["sessionUpdate"] == "tool_call")
        .expect("a call");
    assert_eq!(
        (&called["kind"], &called["title"]),
        (&json!("read"), &json!("file_read src/net.rs"))
    );
    let path = workspace.path(FILE).display().to_string();
    assert_eq!(called["locations"][0]["path"], path);
    let done = client
        .updates
        .iter()
        .find(|u| u["sessionUpdate"] == "tool_call_update")
        .expect("its end");
    assert_eq!(
        (&done["status"], &done["toolCallId"]),
        (&json!("completed"), &called["toolCallId"])
    );
    client.prompt(text("sure?"));
    let asked = model.requests().last().expect("a request").body.to_string();
    for part in [
        "what does load return?",
        "AGENT: It returns 7.",
        "AUTHOR: sure?",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
}

#[test]
fn edits_of_a_file_that_is_named_go_through_the_editor() {
    let unsaved = format!("// unsaved\n{CODE}");
    let edit = json!({"path": FILE, "old_string": "    7", "new_string": "    8"});
    let (workspace, model) = bench(vec![
        Step::calls(vec![call("toolu_1", "file_read", json!({"path": FILE}))]),
        Step::calls(vec![call("toolu_2", "file_edit", edit)]),
        Step::text("Changed it."),
    ]);
    let mut client = Client::start(&workspace, &model, Some(&unsaved));
    let uri = crate::harness::uri_of(&workspace.path(FILE));
    let end = client.prompt(json!([{"type": "text", "text": "return 8 in "},
        {"type": "resource_link", "uri": uri, "name": "net.rs"}]));
    assert_eq!(
        end["result"]["stopReason"], "end_turn",
        "{end} {:?}",
        client.updates
    );
    assert_eq!(
        client.buffer,
        Some(unsaved.replace("    7", "    8")),
        "{:?}",
        client.updates
    );
    assert_eq!(
        workspace.read(FILE),
        CODE,
        "the disk is the author's to save"
    );
}

/// Nothing is half-made in silence: what was written before is taken back, or it is told that it may stand there.
#[test]
fn of_a_change_that_the_editor_takes_half_way_nothing_stands() {
    for (refuses, told) in [
        (vec![false, true], "nothing was written"),
        (vec![false, true, true], "It is not known whether"),
    ] {
        let other = "src/other.rs";
        let part = |file: &str| {
            format!(
                "--- a/{file}\n+++ b/{file}\n@@ -1,3 +1,3 @@\n pub fn load() -> u32 {{\n-    7\n+    8\n }}\n"
            )
        };
        let patch = part(FILE) + &part(other);
        let read = |id: &str, file: &str| call(id, "file_read", json!({"path": file}));
        let (workspace, model) = bench(vec![
            Step::calls(vec![read("toolu_1", FILE), read("toolu_2", other)]),
            Step::calls(vec![call(
                "toolu_3",
                "patch_apply",
                json!({"patch": patch}),
            )]),
            Step::text("It could not be done."),
        ]);
        workspace.write(other, CODE);
        let mut client = Client::start(&workspace, &model, Some(CODE));
        client.refuses = refuses.clone();
        let link = |file: &str| {
            let uri = crate::harness::uri_of(&workspace.path(file));
            json!({"type": "resource_link", "uri": uri, "name": file})
        };
        let asked = json!({"type": "text", "text": "return 8"});
        client.prompt(json!([asked, link(FILE), link(other)]));
        let prompt = model.requests().last().expect("a request").prompt();
        assert!(
            prompt.contains("the disk is full") && prompt.contains(told),
            "{prompt}"
        );
        let stands = client.buffer.as_deref() == Some(CODE);
        assert_eq!(stands, refuses.len() == 2, "{:?}", client.asked);
    }
}

#[test]
fn an_answered_thread_that_is_mentioned_is_no_bar_to_a_question() {
    let (workspace, model) = bench(vec![Step::text("As I said.")]);
    let answered = format!("{THREAD}// AGENT: 7.\n// AUTHOR:\n{CODE}");
    workspace.write(FILE, &answered);
    let (_, threads, _) = super::cli(&workspace, &["threads", "--json"]);
    let threads: Value = serde_json::from_str(&threads).expect("threads");
    let id = threads["threads"][0]["id"].as_str().expect("an id");
    let mut client = Client::start(&workspace, &model, None);
    let end = client.prompt(text(&format!("explain once more what {id} says")));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    assert!(client.said().contains("As I said."), "{}", client.said());
    assert_eq!(workspace.read(FILE), answered);
}

#[test]
fn a_thread_that_is_named_is_answered_where_it_stands() {
    let (workspace, model) = bench(vec![Step::text("It returns 7.")]);
    workspace.write(FILE, format!("{THREAD}{CODE}"));
    let (_, threads, _) = super::cli(&workspace, &["threads", "--json"]);
    let threads: Value = serde_json::from_str(&threads).expect("threads");
    let id = threads["threads"][0]["id"]
        .as_str()
        .or(threads[0]["id"].as_str())
        .expect("an id")
        .to_owned();
    let mut client = Client::start(&workspace, &model, None);
    let end = client.prompt(text(&format!("please answer {id}")));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    assert!(workspace.read(FILE).contains("// AGENT: It returns 7."));
    assert!(
        client.said().starts_with("It returns 7."),
        "{}",
        client.said()
    );
}

#[test]
fn a_namesake_is_named_by_its_number() {
    let (workspace, model) = bench(vec![Step::text("The second.")]);
    let file = format!("{THREAD}// AGENT: 7.\n{CODE}\n{THREAD}pub fn other() {{}}\n");
    workspace.write(FILE, &file);
    let (_, threads, _) = super::cli(&workspace, &["threads", "--json"]);
    let at = threads.find("-2\"").expect("a second of the name");
    let id = &threads[at - 8..at + 2];
    let mut client = Client::start(&workspace, &model, None);
    let end = client.prompt(text(&format!("please answer {id}")));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    let answered = format!("{THREAD}// AGENT: The second.\n// AUTHOR:\npub fn other() {{}}\n");
    assert!(
        workspace.read(FILE).ends_with(&answered),
        "{}",
        workspace.read(FILE)
    );
}

#[test]
fn its_questions_are_the_editors_to_ask_and_plan_changes_nothing() {
    let write = || {
        Step::calls(vec![call(
            "toolu_1",
            "file_write",
            json!({"path": ".vscode/tasks.json", "content": "{}"}),
        )])
    };
    let (workspace, model) = bench(vec![
        write(),
        Step::text("Done."),
        write(),
        Step::text("Done."),
        Step::text("I would."),
    ]);
    let mut client = Client::start(&workspace, &model, None);
    client.prompt(text("write tasks"));
    let asked = client
        .asked
        .iter()
        .filter(|(method, _)| method == "session/request_permission");
    assert_eq!(asked.count(), 1);
    assert!(
        !workspace.path(".vscode/tasks.json").exists(),
        "no answer is a no"
    );
    client.takes = Some("Allow once");
    client.prompt(text("write tasks"));
    assert!(workspace.path(".vscode/tasks.json").exists());
    let mode = client.request(
        "session/set_mode",
        json!({"sessionId": client.session, "modeId": "plan"}),
    );
    assert!(mode.get("error").is_none(), "{mode}");
    client.prompt(text("what would you do?"));
    let tools = model.requests().last().expect("a request").body["tools"].to_string();
    assert!(
        tools.contains("file_read") && !tools.contains("file_write"),
        "{tools}"
    );
}

#[test]
fn a_cancel_ends_the_turn_and_errors_are_answers() {
    let (workspace, model) = bench(vec![
        Step::text("never").stall(0),
        Step::error(400, "invalid_request_error", "no such thing"),
        Step::text("Heard."),
    ]);
    let mut client = Client::start(&workspace, &model, None);
    let id = client.ask(
        "session/prompt",
        json!({"sessionId": client.session, "prompt": text("think")}),
    );
    model.wait_for_requests(1);
    client.send(
        &json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": client.session}}),
    );
    let end = client.answer(id);
    assert_eq!(end["result"]["stopReason"], "cancelled", "{end}");
    let failed = client.prompt(text("again"));
    assert!(
        failed["error"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("no such thing")),
        "{failed}"
    );
    // Half of a surrogate pair, as a JavaScript program writes it.
    client.next += 1;
    let half = json!({"jsonrpc": "2.0", "id": client.next, "method": "session/prompt",
        "params": {"sessionId": client.session, "prompt": text("cut HALF")}});
    client.send_line(&half.to_string().replace("HALF", "\\ud83d"));
    let half = client.answer(client.next);
    assert_eq!(half["result"]["stopReason"], "end_turn", "{half}");
    assert!(
        model.requests()[2]
            .body
            .to_string()
            .contains("cut \u{fffd}"),
        "{half}"
    );
    let empty = client.prompt(json!([]));
    assert!(empty["error"].is_object(), "{empty}");
    let unknown = client.request(
        "session/prompt",
        json!({"sessionId": "x", "prompt": text("a")}),
    );
    assert!(unknown["error"].is_object(), "{unknown}");
}

#[test]
fn a_window_is_opened_again_by_another_process() {
    let (workspace, model) = bench(vec![
        Step::text("It returns 7."),
        Step::text("As I said."),
        Step::text("Still."),
    ]);
    let mut first = Client::start(&workspace, &model, None);
    first.prompt(text("what does load return?"));
    let session = first.session.clone();
    let mut other = Client::start(&workspace, &model, None);
    assert_ne!(other.session, session, "no two windows are one");
    drop(first);
    let folder = json!({"cwd": workspace.root()});
    let list = other.request("session/list", folder.clone());
    let listed = list["result"]["sessions"].as_array().expect("windows");
    assert_eq!(listed.len(), 1, "an empty one is none: {list}");
    assert_eq!(listed[0]["sessionId"], session.as_str());
    assert_eq!(listed[0]["title"], "what does load return?");
    drop(other);
    for (method, said) in [("session/load", 2), ("session/resume", 0)] {
        let mut again = Client::hello(&workspace, &model, None);
        let mut request = folder.clone();
        request["sessionId"] = json!(session);
        request["mcpServers"] = json!([]);
        let loaded = again.request(method, request);
        assert_eq!(
            loaded["result"]["modes"]["currentModeId"], "default",
            "{loaded}"
        );
        let told: Vec<_> = again.updates.iter().map(|u| &u["sessionUpdate"]).collect();
        assert_eq!(told.len(), said, "{told:?}");
        if said > 0 {
            assert_eq!(told, ["user_message_chunk", "agent_message_chunk"]);
            assert_eq!(again.said(), "It returns 7.");
        }
        again.session.clone_from(&session);
        again.prompt(text("sure?"));
        let asked = model.requests().last().expect("a request").body.to_string();
        for part in [
            "what does load return?",
            "AGENT: It returns 7.",
            "AUTHOR: sure?",
        ] {
            assert!(asked.contains(part), "{part}: {asked}");
        }
    }
    let mut client = Client::start(&workspace, &model, None);
    let unknown = json!({"cwd": workspace.root(), "mcpServers": [], "sessionId": "postil-0"});
    let unknown = client.request("session/load", unknown);
    let said = unknown["error"]["message"].as_str().unwrap_or_default();
    assert!(
        said.contains("no session postil-0 in this folder"),
        "{unknown}"
    );
    let elsewhere = client.request("session/list", json!({}));
    assert_eq!(elsewhere["result"]["sessions"], json!([]));
}

#[test]
fn a_window_in_which_nothing_was_said_yet_outlives_a_vain_load() {
    let (workspace, model) = bench(vec![Step::text("It returns 7.")]);
    let mut client = Client::start(&workspace, &model, None);
    let load = json!({"cwd": workspace.root(), "mcpServers": [], "sessionId": client.session});
    for method in ["session/load", "session/resume"] {
        let loaded = client.request(method, load.clone());
        assert!(loaded["error"].is_object(), "{loaded}");
    }
    let end = client.prompt(text("what does load return?"));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
}
