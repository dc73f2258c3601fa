//! Diagnostics that the client asks for: reports, unchanged ones, parts, and a request that waits.

use serde_json::{Value, json};

use super::CODE;
use crate::harness::{Editor, Options, Workspace};
use crate::model::{Model, Step};

fn start(workspace: &Workspace) -> Editor {
    Editor::start_with(
        workspace,
        Options {
            capabilities: json!({"textDocument": {"diagnostic": {"dynamicRegistration": false}}, "workspace": {"diagnostics": {"refreshSupport": true}}}),
            ..Options::default()
        },
    )
}

/// `previousResultIds` that a client keeps of reports.
fn known(items: &[Value]) -> Value {
    let full = items
        .iter()
        .map(|item| json!({"uri": item["uri"], "value": item["resultId"]}));
    Value::Array(full.collect())
}

fn items(report: &Value) -> Vec<Value> {
    report["items"].as_array().expect("items").clone()
}

#[test]
fn diagnostics_can_be_pulled() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    workspace.write("b.py", "# AUTHOR: why?\nx = 1\n");
    let mut editor = start(&workspace);
    assert_eq!(
        editor.capabilities["diagnosticProvider"]["workspaceDiagnostics"],
        true
    );
    editor.open("a.rs");
    let uri = editor.uri("a.rs");
    let document = json!({"textDocument": {"uri": uri}});
    let report = editor
        .request("textDocument/diagnostic", document.clone())
        .expect("a report");
    assert_eq!(
        (&report["kind"], report["items"].as_array().map(Vec::len)),
        (&json!("full"), Some(2))
    );
    let mut again = document.clone();
    again["previousResultId"] = report["resultId"].clone();
    let same = editor
        .request("textDocument/diagnostic", again.clone())
        .expect("a report");
    assert_eq!(
        same,
        json!({"kind": "unchanged", "resultId": report["resultId"]})
    );
    editor.replace("a.rs", "// AUTHOR:\n", "// AUTHOR: really?\n");
    let changed = editor
        .request("textDocument/diagnostic", again)
        .expect("a report");
    assert_eq!(changed["items"][1]["code"], "pending");

    let known = json!([{"uri": uri, "value": changed["resultId"]}]);
    let report = editor
        .request("workspace/diagnostic", json!({"previousResultIds": known}))
        .expect("a report");
    let items = items(&report);
    let of = |uri: &str| {
        items
            .iter()
            .find(|item| item["uri"] == uri)
            .expect("an item")
    };
    assert_eq!(of(&uri)["kind"], "unchanged");
    assert_eq!(of(&uri)["version"], 2);
    assert_eq!(of(&editor.uri("b.py"))["items"][0]["code"], "pending");
}

/// As Neovim does at `:file NEW` and `:write`, and any editor that reads a file again: what was pushed while the
/// document was closed does not stay beside what is pulled of the one that is open.
#[test]
fn a_document_opened_again_is_not_shown_twice() {
    let workspace = Workspace::new();
    // So long that a file is still read while its document is opened.
    let text = format!("# AUTHOR: why?\n{}", "x = 1\n".repeat(2000));
    let names: Vec<String> = (0..100).map(|number| format!("{number}.py")).collect();
    for name in &names {
        workspace.write(name, &text);
    }
    let mut editor = start(&workspace);
    let mut asked = Vec::new();
    for name in &names {
        for _ in 0..2 {
            editor.open_text(name, "python", &text);
            let document = json!({"textDocument": {"uri": editor.uri(name)}});
            asked.push(editor.ask("textDocument/diagnostic", document));
            editor.close(name);
        }
        editor.open_text(name, "python", &text);
        let document = json!({"textDocument": {"uri": editor.uri(name)}});
        asked.push(editor.ask("textDocument/diagnostic", document));
    }
    for id in asked {
        editor.answer(id).expect("a report");
    }
    // What is pushed comes file after file: this one's is the last.
    editor.open_text("last.py", "python", "# AUTHOR: last?\n");
    editor.wait_codes("last.py", &["pending"]);
    let state = editor.state();
    let twice: Vec<&String> = names
        .iter()
        .filter(|name| {
            let pushed = state.diagnostics.get(&editor.uri(name));
            pushed.is_some_and(|(_, list)| !list.is_empty())
        })
        .collect();
    assert!(twice.is_empty(), "pushed and pulled: {twice:?}");
}

#[test]
fn a_large_workspace_comes_in_parts() {
    let workspace = Workspace::new();
    for number in 0..200 {
        workspace.write(&format!("src/{number}.py"), "# AUTHOR: why?\nx = 1\n");
    }
    workspace.write("postil.toml", "nonsense = 1\n");
    let mut editor = start(&workspace);
    let ask = json!({"previousResultIds": [], "partialResultToken": "part-7"});
    let last = editor
        .request("workspace/diagnostic", ask)
        .expect("a report");
    let state = editor.state();
    let parts: Vec<Value> = state
        .received
        .iter()
        .filter(|m| m["method"] == "$/progress" && m["params"]["token"] == "part-7")
        .flat_map(|m| items(&m["params"]["value"]))
        .collect();
    drop(state);
    assert!(parts.len() >= 64 * 3, "{}", parts.len());
    let mut all = parts;
    all.extend(items(&last));
    let mut uris: Vec<&str> = all.iter().filter_map(|item| item["uri"].as_str()).collect();
    uris.sort_unstable();
    uris.dedup();
    assert_eq!(
        (all.len(), uris.len()),
        (201, 201),
        "each file once, settings among them"
    );
}

#[test]
fn asked_again_with_nothing_new_the_request_waits_for_news() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    workspace.write("b.py", "# AUTHOR: why?\nx = 1\n");
    let mut editor = start(&workspace);
    let first = editor
        .request("workspace/diagnostic", json!({"previousResultIds": []}))
        .expect("a report");
    let have = known(&items(&first));
    let waiting = editor.ask(
        "workspace/diagnostic",
        json!({"previousResultIds": have.clone()}),
    );
    // It waits, and nothing waits for it; a change that shows nothing new does not wake it.
    editor.open("a.rs");
    editor.open_text("c.rs", "rust", "fn c() {}\n");
    editor
        .request(
            "textDocument/diagnostic",
            json!({"textDocument": {"uri": editor.uri("a.rs")}}),
        )
        .expect("a report");
    assert!(!editor.state().answers.contains_key(&waiting));
    editor.replace("a.rs", "// AUTHOR:\n", "// AUTHOR: really?\n");
    let report = editor.answer(waiting).expect("a report");
    let changed = items(&report);
    let uri = editor.uri("a.rs");
    let item = changed
        .iter()
        .find(|item| item["uri"] == uri)
        .expect("the changed file");
    assert_eq!(
        (&item["kind"], &item["items"][1]["code"]),
        (&json!("full"), &json!("pending"))
    );
    assert_eq!(item["version"], 2);
    // Left out, but where the change came before the request had looked for the first time.
    let other = editor.uri("b.py");
    let mut others = changed.iter().filter(|item| item["uri"] == other);
    assert!(others.all(|item| item["kind"] == "unchanged"), "{report}");

    // The wait can be cancelled, and ends with the server.
    let mut have = have;
    for entry in have.as_array_mut().expect("a list") {
        if entry["uri"] == uri {
            entry["value"] = item["resultId"].clone();
        }
    }
    let cancelled = editor.ask(
        "workspace/diagnostic",
        json!({"previousResultIds": have.clone()}),
    );
    editor.notify("$/cancelRequest", json!({"id": cancelled}));
    assert_eq!(
        editor.answer(cancelled).expect_err("cancelled")["code"],
        -32800
    );
    let waiting = editor.ask("workspace/diagnostic", json!({"previousResultIds": have}));
    let down = editor.ask("shutdown", Value::Null);
    let error = editor.answer(waiting).expect_err("ended");
    assert_eq!(
        (&error["code"], &error["data"]["retriggerRequest"]),
        (&json!(-32802), &json!(false))
    );
    editor.answer(down).expect("shut down");
    editor.notify("exit", Value::Null);
    assert!(editor.wait_exit().0.success());
}

/// Neovim 0.12 shows nothing of a document any more when it is read anew, and keeps the id of what it showed.
#[test]
fn a_document_opened_again_is_told_of_whole() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    let mut editor = start(&workspace);
    let mut document = json!({"textDocument": {"uri": editor.uri("a.rs")}});
    for _ in 0..3 {
        editor.open("a.rs");
        let report = editor
            .request("textDocument/diagnostic", document.clone())
            .expect("a report");
        assert_eq!(report["kind"], "full");
        document["previousResultId"] = report["resultId"].clone();
        let same = editor
            .request("textDocument/diagnostic", document.clone())
            .expect("a report");
        assert_eq!(same["kind"], "unchanged");
        editor.close("a.rs");
    }
}

/// As lsp-mode: it asks when the text has changed, and cannot be told to ask again.
#[test]
fn a_client_that_does_not_ask_again_is_told_what_a_turn_does() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "// AUTHOR: why?\nfn a() {}\n");
    let model = Model::start(vec![Step::text("So.").held()]);
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            capabilities: json!({"textDocument": {"diagnostic": {}}, "workspace": {"diagnostics": {"refreshSupport": false}}}),
            initialization_options: json!({"trusted": true}),
            env: model.env(),
            ..Options::default()
        },
    );
    assert_eq!(editor.capabilities["diagnosticProvider"], json!(null));
    editor.open("a.rs");
    // An old habit of asking is no reason to be told less.
    let document = json!({"textDocument": {"uri": editor.uri("a.rs")}});
    let report = editor.request("textDocument/diagnostic", document);
    assert_eq!(items(&report.expect("a report")).len(), 1);
    editor
        .take_action("a.rs", 0, "Plan only (read-only)")
        .expect("started");
    editor.wait_diagnostics("a.rs", |list| {
        list.iter().any(|d| {
            d["message"]
                .as_str()
                .is_some_and(|m| m.starts_with("agent at work: "))
        })
    });
}

/// VS Code hands an id back under its own spelling of the name, in which more is encoded than in ours.
#[test]
fn a_file_is_known_however_the_client_writes_its_name() {
    let workspace = Workspace::new();
    let name = "src/(a)/[id].rs";
    workspace.write(name, CODE);
    let mut editor = start(&workspace);
    let ask = |editor: &mut Editor, have: &[(&str, &Value)]| {
        let have = have.iter();
        let have: Vec<Value> = have
            .map(|(uri, id)| json!({"uri": uri, "value": id}))
            .collect();
        editor.ask("workspace/diagnostic", json!({"previousResultIds": have}))
    };
    let first = ask(&mut editor, &[]);
    let first = items(&editor.answer(first).expect("a report"));
    let theirs = editor.uri(name);
    assert_ne!(first[0]["uri"], theirs);
    let have = &first[0]["resultId"];
    // Of nothing else than the other file there is anything new.
    let waiting = ask(&mut editor, &[(&theirs, have)]);
    editor.open_text("b.rs", "rust", CODE);
    let changed = items(&editor.answer(waiting).expect("a report"));
    let full: Vec<&Value> = changed
        .iter()
        .filter(|item| item["kind"] == "full")
        .collect();
    let uris: Vec<&Value> = full.iter().map(|item| &item["uri"]).collect();
    assert_eq!(uris, [&json!(editor.uri("b.rs"))]);
    // It is told of once, by the client's name, also where the client has it by both.
    let ours = first[0]["uri"].as_str().expect("a URI");
    let other = editor.uri("b.rs");
    let known = [
        (&*other, &full[0]["resultId"]),
        (ours, have),
        (&*theirs, have),
    ];
    for have in [&known[..], &known[1..]] {
        editor.open(name);
        editor.replace(name, "// AUTHOR:\n", "// AUTHOR: really?\n");
        let all = ask(&mut editor, have);
        let all = items(&editor.answer(all).expect("a report"));
        let told = all.iter().filter(|item| {
            let uri = item["uri"].as_str().expect("a URI");
            uri == ours || uri == theirs
        });
        let told: Vec<&Value> = told.collect();
        assert_eq!(told.len(), 1, "{all:?}");
        assert_eq!(
            (&told[0]["uri"], &told[0]["kind"]),
            (&json!(theirs), &json!("full"))
        );
        editor.close(name);
    }
}

#[test]
fn what_the_client_has_of_a_file_by_another_name_is_withdrawn() {
    let workspace = Workspace::new();
    workspace.write("real.rs", CODE);
    std::os::unix::fs::symlink("real.rs", workspace.path("link.rs")).expect("a link");
    let mut editor = start(&workspace);
    let all = |editor: &mut Editor, have: Value| {
        let report = editor.request("workspace/diagnostic", json!({"previousResultIds": have}));
        items(&report.expect("a report"))
    };
    let first = all(&mut editor, json!([]));
    assert_eq!(first[0]["uri"], editor.uri("real.rs"));
    editor.open("link.rs");
    let second = all(&mut editor, known(&first));
    let told = |file: &str| {
        let uri = editor.uri(file);
        let told = second.iter().filter(|item| item["uri"] == uri);
        told.map(|item| item["items"].as_array().map_or(0, Vec::len))
            .collect::<Vec<_>>()
    };
    assert_eq!(told("real.rs"), [0], "{second:?}");
    assert_eq!(told("link.rs").len(), 1, "{second:?}");
    assert_ne!(told("link.rs"), [0], "{second:?}");
}
