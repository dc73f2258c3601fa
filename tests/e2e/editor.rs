//! What the author sees and does: diagnostics pushed and pulled, code actions, commands, lenses, hover, symbols,
//! and how edits go to the buffer.

use serde_json::{Value, json};

use crate::harness::{Editor, OnApply, Options, Workspace, frame};

mod again;
mod completion;
mod fixes;
mod foreign;
mod formats;
mod links;
mod live;
mod margin;
mod outside;
mod pull;
mod symbols;
mod told;

const CODE: &str = "// AUTHOR: should we rename this?\nfn a() {}\n\n// AUTHOR: what is this?\n// AGENT: A function.\n// AUTHOR:\nfn b() {}\n";

fn titles(actions: &[Value]) -> Vec<&str> {
    actions
        .iter()
        .filter_map(|action| action["title"].as_str())
        .collect()
}

fn ids(editor: &mut Editor, path: &str) -> Vec<String> {
    let uri = editor.uri(path);
    let list = editor
        .command("postil.listThreads", json!({"uri": uri}))
        .expect("a list");
    list["threads"]
        .as_array()
        .expect("threads")
        .iter()
        .map(|thread| thread["id"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn diagnostics_follow_the_text() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    let editor = Editor::start(&workspace);
    editor.open("a.rs");
    let list = editor.wait_codes("a.rs", &["pending", "awaiting_user"]);
    let uri = editor.uri("a.rs");
    assert_eq!(list[0]["source"], "postil");
    assert_eq!(list[0]["severity"], 3);
    assert_eq!(
        list[0]["range"],
        json!({"start": {"line": 0, "character": 11}, "end": {"line": 0, "character": 33}})
    );
    assert!(
        list[0]["data"]["thread_id"]
            .as_str()
            .is_some_and(|id| id.len() == 8)
    );
    assert_eq!(list[1]["severity"], 4);
    assert_eq!(
        list[1]["range"],
        json!({"start": {"line": 5, "character": 3}, "end": {"line": 5, "character": 10}}),
        "the marker of the empty line"
    );
    let related = list[1]["relatedInformation"]
        .as_array()
        .expect("related information");
    assert_eq!(related.len(), 2, "the messages that have a text");
    assert_eq!(
        related[1]["location"],
        json!({"uri": uri, "range": {"start": {"line": 4, "character": 10}, "end": {"line": 4, "character": 21}}})
    );

    // Each change brings its own, with its version.
    for n in 2..30 {
        editor.replace("a.rs", "b()", " b()");
        let (version, _) = editor.wait_for("diagnostics of this version", |state| {
            state
                .diagnostics
                .get(&uri)
                .filter(|(version, _)| *version == Some(n))
                .cloned()
        });
        assert_eq!(version, Some(n));
    }
    editor.replace("a.rs", "// AUTHOR:\n", "// AUTHOR: really?\n");
    editor.wait_codes("a.rs", &["pending", "pending"]);
    // Closed, it is shown as it is on disk.
    editor.close("a.rs");
    editor.wait_codes("a.rs", &["pending", "awaiting_user"]);
}

#[test]
fn closed_files_are_shown_and_watched() {
    let workspace = Workspace::new();
    workspace.git(&["init", "--quiet"]);
    workspace.write(".gitignore", "built/\n");
    workspace.write("src/a.rs", CODE);
    workspace.write("b.py", "# AUTHOR: why?\nx = 1\n");
    workspace.write("none.py", "x = 1\n");
    let editor = Editor::start(&workspace);
    editor.wait_codes("src/a.rs", &["pending", "awaiting_user"]);
    editor.wait_codes("b.py", &["pending"]);
    editor.wait_for("the watcher", |state| {
        state
            .registrations
            .iter()
            .any(|r| r["method"] == "workspace/didChangeWatchedFiles")
            .then_some(())
    });

    workspace.write("none.py", "# AUTHOR: new?\nx = 1\n");
    workspace.write("built/c.py", "# AUTHOR: ignored?\nx = 1\n");
    workspace.write("b.py", "x = 1\n");
    std::fs::remove_file(workspace.path("src/a.rs")).expect("removed");
    let change = |path: &str, kind: u32| json!({"uri": editor.uri(path), "type": kind});
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": [change("built/c.py", 1), change("none.py", 2), change("b.py", 2), change("src/a.rs", 3)]}),
    );
    editor.wait_codes("none.py", &["pending"]);
    editor.wait_codes("b.py", &[]);
    editor.wait_codes("src/a.rs", &[]);
    let ignored = editor.uri("built/c.py");
    assert!(
        !editor.state().diagnostics.contains_key(&ignored),
        "what is ignored is not shown"
    );
}

/// When the watch stands nobody says: the file is written until its second thread is seen.
fn write_until_seen(workspace: &Workspace, editor: &Editor, file: &str) {
    let uri = editor.uri(file);
    let seen = || {
        let state = editor.state();
        let told = state.diagnostics.get(&uri);
        told.is_some_and(|(_, list)| list.len() == 2)
    };
    let began = std::time::Instant::now();
    while !seen() {
        assert!(
            began.elapsed() < crate::harness::DEADLINE,
            "nothing was noticed"
        );
        workspace.write(file, "# AUTHOR: why?\nx = 1\n# AUTHOR: and this?\n");
        crate::harness::pause();
    }
}

#[test]
fn closed_files_are_watched_where_the_editor_does_not() {
    let workspace = Workspace::new();
    workspace.write("one/src/a.py", "# AUTHOR: why?\nx = 1\n");
    workspace.write("two/b.py", "# AUTHOR: why?\nx = 1\n");
    let blind = json!({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": false}}});
    let editor = Editor::start_with(
        &workspace,
        Options {
            capabilities: blind,
            folders: Some(vec![workspace.path("one")]),
            ..Options::default()
        },
    );
    editor.wait_codes("one/src/a.py", &["pending"]);
    write_until_seen(&workspace, &editor, "one/src/a.py");
    workspace.write("one/new/b.py", "# AUTHOR: new?\nx = 1\n");
    editor.wait_codes("one/new/b.py", &["pending"]);
    std::fs::remove_file(workspace.path("one/src/a.py")).expect("removed");
    editor.wait_codes("one/src/a.py", &[]);

    // A folder that comes later too.
    let two = json!({"uri": editor.uri("two"), "name": "two"});
    editor.notify(
        "workspace/didChangeWorkspaceFolders",
        json!({"event": {"added": [two], "removed": []}}),
    );
    editor.wait_codes("two/b.py", &["pending"]);
    write_until_seen(&workspace, &editor, "two/b.py");
}

#[test]
fn folders_come_and_go() {
    let workspace = Workspace::new();
    workspace.write("one/a.py", "# AUTHOR: why?\nx = 1\n");
    workspace.write("two/b.py", "# AUTHOR: why?\nx = 1\n");
    let editor = Editor::start_with(
        &workspace,
        Options {
            folders: Some(vec![workspace.path("one")]),
            ..Options::default()
        },
    );
    editor.wait_codes("one/a.py", &["pending"]);
    let folder = |name: &str| json!([{"uri": editor.uri(name), "name": name}]);
    editor.notify(
        "workspace/didChangeWorkspaceFolders",
        json!({"event": {"added": folder("two"), "removed": folder("one")}}),
    );
    editor.wait_codes("two/b.py", &["pending"]);
    editor.wait_codes("one/a.py", &[]);
}

#[test]
fn only_the_actions_that_apply_are_offered() {
    let workspace = Workspace::new();
    workspace.write("a.rs", format!("{CODE}// Author: is this almost one?\n"));
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    let actions = editor.code_actions("a.rs", 0);
    assert_eq!(
        titles(&actions),
        [
            "Reply as agent",
            "Plan only (read-only)",
            "Reply (author)",
            "Resolve (remove thread)",
            "Clear threads and commit file",
            "Reply to all pending"
        ]
    );
    assert_eq!(actions[0]["kind"], "quickfix");
    assert_eq!(actions[0]["command"]["command"], "postil.replyAsAgent");
    assert_eq!(actions[5]["kind"], "source.postil.replyAll");
    assert_eq!(
        titles(&editor.code_actions("a.rs", 4)),
        [
            "Reply (author)",
            "Resolve (remove thread)",
            "Clear threads and commit file",
            "Reply to all pending"
        ]
    );
    assert_eq!(
        titles(&editor.code_actions("a.rs", 1)),
        ["New thread here", "Why is this so?", "Reply to all pending"]
    );

    // By kind, as editors ask.
    let uri = editor.uri("a.rs");
    let mut only = |kind: &str| {
        let range =
            json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}});
        let context = json!({"diagnostics": [], "only": [kind], "triggerKind": 1});
        let answer = editor
            .request(
                "textDocument/codeAction",
                json!({"textDocument": {"uri": uri}, "range": range, "context": context}),
            )
            .expect("actions");
        titles(answer.as_array().expect("a list")).len()
    };
    assert_eq!(
        (
            only("quickfix"),
            only("source"),
            only("source.postil"),
            only("source.other"),
            only("refactor")
        ),
        (4, 2, 2, 0, 0)
    );
    // A near miss is put right by its quick fix.
    editor
        .take_action("a.rs", 7, "Write `AUTHOR:`")
        .expect("applied");
    assert!(
        editor
            .text("a.rs")
            .ends_with("// AUTHOR: is this almost one?\n"),
        "{}",
        editor.text("a.rs")
    );
}

#[test]
fn threads_are_answered_resolved_and_begun_by_hand() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    let uri = editor.uri("a.rs");
    let ids = ids(&mut editor, "a.rs");
    let done = editor
        .command(
            "postil.reply",
            json!({"uri": uri, "thread_id": ids[1], "text": "Thanks, rename it."}),
        )
        .expect("written");
    assert_eq!(done["success"], true);
    assert!(
        editor
            .text("a.rs")
            .contains("// AGENT: A function.\n// AUTHOR: Thanks, rename it.\nfn b"),
        "{}",
        editor.text("a.rs")
    );
    editor.wait_codes("a.rs", &["pending", "pending"]);
    editor
        .take_action("a.rs", 0, "Resolve (remove thread)")
        .expect("removed");
    assert!(
        editor.text("a.rs").starts_with("fn a() {}\n"),
        "{}",
        editor.text("a.rs")
    );
    assert_eq!(workspace.read("a.rs"), CODE, "the buffer alone was written");

    // The cursor goes to the new line.
    editor
        .take_action("a.rs", 0, "New thread here")
        .expect("begun");
    assert!(
        editor.text("a.rs").starts_with("// AUTHOR: \nfn a() {}\n")
            || editor.text("a.rs").starts_with("// AUTHOR:\nfn a() {}\n"),
        "{}",
        editor.text("a.rs")
    );
    let shown = editor.wait_message("window/showDocument", |params| {
        params["selection"].is_object()
    });
    let length = editor.text("a.rs").lines().next().map(str::len);
    assert_eq!(
        shown["selection"]["start"],
        json!({"line": 0, "character": length})
    );
    // Asked again, the same empty line.
    editor
        .take_action("a.rs", 0, "Reply (author)")
        .expect("shown");
}

#[test]
fn a_command_names_what_is_wrong_with_its_argument() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    let uri = editor.uri("a.rs");
    for (command, argument, named) in [
        (
            "postil.reply",
            json!({"uri": uri, "thread": "x"}),
            "`thread`",
        ),
        (
            "postil.reply",
            json!({"uri": uri, "text": "x"}),
            "`thread_id`",
        ),
        (
            "postil.reply",
            json!({"uri": uri, "thread_id": 7, "text": "x"}),
            "`thread_id`",
        ),
        (
            "postil.reply",
            json!({"uri": uri, "thread_id": "ffffffff", "text": "x"}),
            "ffffffff",
        ),
        (
            "postil.reply",
            json!({"uri": uri, "thread_id": "ff", "text": "x"}),
            "ff",
        ),
        (
            "postil.reply",
            json!({"uri": "untitled:x", "thread_id": "ffff", "text": "x"}),
            "untitled:x",
        ),
        (
            "postil.replyAsAgent",
            json!({"thread_id": "ffffffff"}),
            "ffffffff",
        ),
        ("postil.newThread", json!({"uri": uri}), "`position`"),
        (
            "postil.newThread",
            json!({"uri": uri, "position": {"line": -1}}),
            "`position`",
        ),
        (
            "postil.newThread",
            json!({"uri": uri, "position": {"line": 99, "character": 0}}),
            "no such line",
        ),
        (
            "postil.listThreads",
            json!({"path": "no/such/file"}),
            "no/such/file",
        ),
        (
            "postil.cancelTurn",
            json!({"run_id": "ffffffff"}),
            "ffffffff",
        ),
        ("postil.cancelTurn", json!({}), "`run_id"),
        (
            "postil.workflowThread",
            json!({"run_id": "ffffffff"}),
            "ffffffff",
        ),
        (
            "postil.workflowThread",
            json!({"run_id": "ffffffff", "budget": "much"}),
            "`budget`",
        ),
        (
            "postil.openConversation",
            json!({"thread_id": "ffffffff"}),
            "ffffffff",
        ),
        (
            "postil.reply",
            json!({"uri": uri, "thread_id": "ffff", "text": "x".repeat(2 << 20)}),
            "`text`",
        ),
        ("postil.reply", json!([1]), "object"),
        ("postil.noSuchCommand", json!({}), "postil.noSuchCommand"),
        ("other.reply", json!({}), "other.reply"),
    ] {
        let error = editor
            .command(command, argument.clone())
            .expect_err(command);
        let message = error["message"].as_str().expect("a message");
        assert!(
            message.contains(named),
            "{command} {:.100}: {message}",
            argument.to_string()
        );
    }
    assert_eq!(editor.text("a.rs"), CODE);
}

#[test]
fn an_edit_that_the_editor_does_not_take_is_reported() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    let uri = editor.uri("a.rs");
    let ids = ids(&mut editor, "a.rs");
    for (how, named) in [
        (OnApply::Refuse, "the test says no; nothing was written"),
        (OnApply::Pretend, "come for 5 s; look at it before you try"),
    ] {
        editor.state().on_apply = how;
        let error = editor
            .command(
                "postil.reply",
                json!({"uri": uri, "thread_id": ids[1], "text": "x"}),
            )
            .expect_err("not applied");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(named), "{how:?}: {error}");
        assert_eq!(
            (
                editor.text("a.rs").as_str(),
                workspace.read("a.rs").as_str()
            ),
            (CODE, CODE),
            "nothing was forced"
        );
    }
    editor.state().on_apply = OnApply::Apply;
    editor
        .command(
            "postil.reply",
            json!({"uri": uri, "thread_id": ids[1], "text": "x"}),
        )
        .expect("written");
}

#[test]
fn an_edit_waits_for_nothing_else() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    let uri = editor.uri("a.rs");
    let ids = ids(&mut editor, "a.rs");
    editor.state().on_apply = OnApply::Ignore;
    let stuck = editor.ask("workspace/executeCommand", json!({"command": "postil.reply", "arguments": [{"uri": uri, "thread_id": ids[1], "text": "x"}]}));
    editor.wait_message("workspace/applyEdit", |_| true);
    // The author types on and sees what they type.
    editor.replace("a.rs", "what is this?", "what was this?");
    editor.wait_diagnostics("a.rs", |list| list.len() == 2);
    editor.notify("$/cancelRequest", json!({"id": stuck}));
    assert_eq!(editor.answer(stuck).expect_err("cancelled")["code"], -32800);
}

fn initialize_as(editor: &mut Editor, client: &str) {
    let mut params = editor.initialize_params(&Options::default());
    params["clientInfo"] = json!({"name": client, "version": "1.17.30"});
    editor.request("initialize", params).expect("initialized");
    editor.notify("initialized", json!({}));
}

/// Helix writes the error of a command to its log and shows nothing. One click on an old menu is enough.
#[test]
fn what_a_client_would_hide_is_a_message_too() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    let outside = Workspace::new();
    outside.write("b.rs", "// AUTHOR: why?\nfn b() {}\n");
    for (client, shows) in [("helix", true), ("Neovim", false)] {
        let options = Options {
            initialize: false,
            ..Options::default()
        };
        let mut editor = Editor::start_with(&workspace, options);
        initialize_as(&mut editor, client);
        editor.open("a.rs");
        let file = json!({"path": outside.path("b.rs"), "thread_id": "0123"});
        let error = editor
            .command("postil.replyAsAgent", file)
            .expect_err("outside");
        let message = error["message"].as_str().expect("a text").to_owned();
        assert!(
            message.ends_with("outside the workspace: open its folder to work with its threads"),
            "{message}"
        );
        let told = |m: &Value| m["type"] == 1 && m["message"] == format!("postil: {message}");
        if shows {
            editor.wait_message("window/showMessage", told);
        } else {
            // The answer to this comes behind all that was sent before.
            editor.request("shutdown", Value::Null).expect("shut down");
            let state = editor.state();
            let shown = |m: &&Value| m["method"] == "window/showMessage" && told(&m["params"]);
            assert!(!state.received.iter().any(|m| shown(&m)));
        }
    }
}

#[test]
fn a_client_that_stands_still_until_its_command_is_answered_is_answered_first() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    let options = Options {
        initialize: false,
        ..Options::default()
    };
    let mut editor = Editor::start_with(&workspace, options);
    initialize_as(&mut editor, "Eglot");
    editor.open("a.rs");
    let before = editor
        .wait_diagnostics("a.rs", |list| !list.is_empty())
        .len();
    // The edit is not answered, as no change of the buffer would be, before the command is.
    editor.state().on_apply = OnApply::Ignore;
    let uri = editor.uri("a.rs");
    let place = json!({"uri": uri, "position": {"line": 0, "character": 0}});
    let answer = editor.command("postil.newThread", place.clone());
    assert_eq!(answer.expect("answered"), Value::Null);
    let id = editor.wait_for("the edit", |state| {
        let asked = |m: &&Value| m["method"] == "workspace/applyEdit";
        state.received.iter().find(asked).map(|m| m["id"].clone())
    });
    let refused = json!({"jsonrpc": "2.0", "id": id, "result": {"applied": false}});
    editor.send_raw(&frame(&refused));
    // What cannot be done is told beside the answer.
    editor.wait_message("window/showMessage", |m| m["type"] == 1);
    editor.state().on_apply = OnApply::Apply;
    editor
        .command("postil.newThread", place)
        .expect("answered at once");
    editor.wait_diagnostics("a.rs", |list| list.len() == before + 1);
}

#[test]
fn lenses_hover_symbols_and_folds_show_threads() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    let tree = json!({"textDocument": {"foldingRange": {}, "documentSymbol": {"hierarchicalDocumentSymbolSupport": true}}});
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            capabilities: tree,
            ..Options::default()
        },
    );
    editor.open("a.rs");
    let document = json!({"textDocument": {"uri": editor.uri("a.rs")}});
    let lenses = editor
        .request("textDocument/codeLens", document.clone())
        .expect("lenses");
    let titles: Vec<(u64, &str)> = lenses
        .as_array()
        .expect("a list")
        .iter()
        .map(|lens| {
            (
                lens["range"]["start"]["line"].as_u64().unwrap_or(9),
                lens["command"]["title"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        titles,
        [
            (0, "Reply as agent"),
            (0, "Resolve"),
            (3, "answered · Reply"),
            (3, "Resolve")
        ]
    );

    let mut at = document.clone();
    // Where a cursor is that has come to the line, too.
    for character in [5, 0] {
        at["position"] = json!({"line": 0, "character": character});
        let hover = editor
            .request("textDocument/hover", at.clone())
            .expect("a hover");
        assert!(
            hover["contents"]["value"]
                .as_str()
                .is_some_and(|text| text.contains("awaiting agent")),
            "{hover}"
        );
    }
    at["position"] = json!({"line": 1, "character": 5});
    assert_eq!(
        editor.request("textDocument/hover", at),
        Ok(Value::Null),
        "code is the editor's own server's"
    );

    let symbols = editor
        .request("textDocument/documentSymbol", document.clone())
        .expect("symbols");
    assert_eq!(symbols[0]["name"], "should we rename this?");
    assert_eq!(symbols[1]["detail"], "answered");
    let found = editor
        .request("workspace/symbol", json!({"query": "rename"}))
        .expect("symbols");
    assert_eq!(
        (found.as_array().map(Vec::len), &found[0]["location"]["uri"]),
        (Some(1), &document["textDocument"]["uri"])
    );
    let folds = editor
        .request("textDocument/foldingRange", document)
        .expect("folds");
    assert_eq!(
        (folds[0]["startLine"].as_u64(), folds[0]["endLine"].as_u64()),
        (Some(3), Some(5))
    );
}

#[test]
fn places_and_names_in_a_thread_lead_somewhere() {
    let workspace = Workspace::new();
    workspace.write("src/net.rs", "fn other() {}\nfn connect() {}\n");
    let text = "// AUTHOR: like src/net.rs:2 or `connect`, or `main`?\nfn main() {}\n";
    workspace.write("src/main.rs", text);
    let mut editor = Editor::start(&workspace);
    editor.open("src/main.rs");
    let uri = editor.uri("src/main.rs");
    let mut definition = |word: &str| {
        let character = text.find(word).expect("the word") + 1;
        editor.request("textDocument/definition", json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": character}})).expect("an answer")
    };
    let net = crate::harness::uri_of(&workspace.path("src/net.rs"));
    let place = definition("net.rs");
    assert_eq!(
        (&place[0]["uri"], &place[0]["range"]["start"]["line"]),
        (&json!(net), &json!(1))
    );
    let elsewhere = definition("connect");
    assert_eq!(
        (&elsewhere[0]["uri"], &elsewhere[0]["range"]["start"]),
        (&json!(net), &json!({"line": 1, "character": 3}))
    );
    let here = definition("main");
    assert_eq!(
        (&here[0]["uri"], &here[0]["range"]["start"]),
        (&json!(uri), &json!({"line": 1, "character": 3}))
    );
    assert_eq!(definition("like"), Value::Null, "no name, no place");
}
