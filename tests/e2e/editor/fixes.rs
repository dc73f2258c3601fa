//! Quick fixes: markers that are almost some, and settings; whole, or made when they are taken.

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace};

const NEAR: &str = "fn a() {}\n// Author: is this one?\nfn b() {}\n// AUTHOR : and this?\nfn c() {} // what of it AI?\n";

fn fixes(editor: &mut Editor, path: &str, line: usize) -> Vec<Value> {
    let mut actions = editor.code_actions(path, line);
    actions.retain(|action| action["isPreferred"] == true && action.get("command").is_none());
    actions
}

#[test]
fn a_near_miss_is_a_hint_with_a_preferred_fix() {
    let workspace = Workspace::new();
    workspace.write("a.rs", NEAR);
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    let hints = editor.wait_codes("a.rs", &["near-miss", "near-miss", "near-miss"]);
    assert!(hints.iter().all(|hint| hint["severity"] == 4), "{hints:?}");
    // The fix answers the diagnostic that the editor shows.
    let params = json!({"textDocument": {"uri": editor.uri("a.rs")}, "range": hints[0]["range"], "context": {"diagnostics": [hints[0]], "only": ["quickfix"]}});
    let actions = editor
        .request("textDocument/codeAction", params)
        .expect("actions");
    let fix = actions
        .as_array()
        .expect("a list")
        .iter()
        .find(|a| a["title"] == "Write `AUTHOR:`")
        .expect("the fix");
    assert_eq!(fix["diagnostics"], json!([hints[0]]));
    assert_eq!(
        fix["edit"]["documentChanges"][0]["textDocument"]["version"],
        1
    );
    for (line, title) in [
        (4, "Write `AUTHOR: what of it?`"),
        (3, "Write `AUTHOR:`"),
        (1, "Write `AUTHOR:`"),
    ] {
        editor.take_action("a.rs", line, title).expect("taken");
    }
    let fixed = "fn a() {}\n// AUTHOR: is this one?\nfn b() {}\n// AUTHOR: and this?\nfn c() {} // AUTHOR: what of it?\n";
    assert_eq!(editor.text("a.rs"), fixed);
    editor.wait_codes("a.rs", &["pending", "pending", "pending"]);
}

#[test]
fn a_files_header_is_no_near_miss() {
    let workspace = Workspace::new();
    for (path, text) in [
        (
            "a.py",
            "# Author: Jane Doe <jane@example.org>\n# author : Jane\n# AUTHOR : Jane Doe\n# License: MIT\n\nx = 1\n",
        ),
        (
            "a.c",
            "/*\n * File: a.c\n * Author: J. Random Hacker, Example Inc.\n * Date: 2020-01-01\n */\nint a;\n",
        ),
        (
            "a.js",
            "/**\n * @author Jane Doe\n * Author: jane\n */\nf();\n",
        ),
        (
            "a.rs",
            "// Copyright 2020 The Authors\n// Authors: see the AUTHORS file\nfn a() {}\n",
        ),
    ] {
        workspace.write(path, text);
        let editor = Editor::start(&workspace);
        editor.open(path);
        assert_eq!(editor.diagnostics(path), Vec::<Value>::new(), "{text}");
    }
}

#[test]
fn an_edit_is_made_when_it_is_taken_for_the_text_of_then() {
    let workspace = Workspace::new();
    workspace.write("a.rs", NEAR);
    let resolves =
        json!({"textDocument": {"codeAction": {"resolveSupport": {"properties": ["edit"]}}}});
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            capabilities: resolves,
            ..Options::default()
        },
    );
    assert_eq!(
        editor.capabilities["codeActionProvider"]["resolveProvider"],
        true
    );
    editor.open("a.rs");
    let fix = fixes(&mut editor, "a.rs", 3).remove(0);
    assert!(fix.get("edit").is_none(), "{fix}");
    // The author goes on typing above it.
    editor.splice("a.rs", 0..0, "// one\n// two\n");
    let resolved = editor
        .request("codeAction/resolve", fix.clone())
        .expect("resolved");
    let change = &resolved["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"]["version"], 2);
    assert_eq!(
        change["edits"][0]["range"]["start"],
        json!({"line": 5, "character": 3})
    );
    assert_eq!(change["edits"][0]["newText"], "AUTHOR:");
    // Or takes it away.
    editor.replace("a.rs", "// Author: is this one?\n", "");
    editor.replace("a.rs", "// AUTHOR : and this?\n", "");
    let gone = editor.request("codeAction/resolve", fix).expect_err("gone");
    assert_eq!(gone["code"], -32801);
    // What was whole stays as it is.
    let whole = json!({"title": "x", "kind": "quickfix"});
    assert_eq!(
        editor.request("codeAction/resolve", whole.clone()),
        Ok(whole)
    );
}

#[test]
fn a_wrong_setting_is_shown_at_its_place() {
    let workspace = Workspace::new();
    workspace.write("postil.toml", "[threads]\nindentation = \"keep\"\n\n[providers.anthropic]\nbaseUrl = \"http://evil.example\"\n");
    let editor = Editor::start(&workspace);
    // Closed as well as open.
    let closed = editor.wait_codes("postil.toml", &["setting"]);
    editor.open_text("postil.toml", "toml", &workspace.read("postil.toml"));
    let list = editor.wait_diagnostics("postil.toml", |list| list == closed);
    assert!(
        list[0]["range"]["start"]["line"]
            .as_u64()
            .is_some_and(|line| line >= 3),
        "{list:?}"
    );
    editor.close("postil.toml");
    workspace.write("postil.toml", "[threads]\nindentation = \"keep\"\n");
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": [{"uri": editor.uri("postil.toml"), "type": 2}]}),
    );
    editor.wait_codes("postil.toml", &[]);
}

#[test]
fn wrong_settings_of_a_project_are_told_of_once_where_that_file_is_not_open() {
    let workspace = Workspace::new();
    workspace.write(
        "postil.toml",
        "[turn]\nmaxRound = 3\nbb = 1\ncc = 1\ndd = 1\nee = 1\n",
    );
    let mut editor = Editor::start(&workspace);
    let told = editor.wait_saying("window/showMessage", "maxRound");
    let text = told["message"].as_str().expect("a text");
    assert!(
        text.starts_with("postil: postil.toml:2: there is no setting"),
        "{text}"
    );
    assert!(
        text.ends_with("; 2 more: `postil doctor` lists them"),
        "{text}"
    );
    // Where it is open they are seen.
    editor.open("postil.toml");
    editor.replace("postil.toml", "bb = 1", "seen = 1");
    editor.save("postil.toml");
    editor.settle();
    editor.close("postil.toml");
    // What was told is not told again because its line is another.
    workspace.write("postil.toml", "\n[turn]\nmaxRound = 3\nseen = 1\n");
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": [{"uri": editor.uri("postil.toml"), "type": 2}]}),
    );
    editor.wait_saying("window/showMessage", "`turn.seen`");
    let state = editor.state();
    let messages = state.received.iter();
    let texts = messages.filter(|m| m["method"] == "window/showMessage");
    let told: Vec<&str> = texts
        .filter_map(|m| m["params"]["message"].as_str())
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(!told[1].contains("`turn.maxRound`"), "{told:?}");
}

#[test]
fn settings_are_checked_while_they_are_typed_and_put_right_by_a_fix() {
    let workspace = Workspace::new();
    workspace.write("postil.toml", "");
    workspace.configure("[turn]\nmaxRounds = 50\n");
    let mut editor = Editor::start(&workspace);
    editor.open_text("postil.toml", "toml", "");
    let text =
        "# über\n[turn]\nmaxRound = 10\ntrigger = \"onsave\"\n\n[thread]\nindentation = 'keep'\n";
    editor.splice("postil.toml", 0..0, text);
    let list = editor.wait_codes("postil.toml", &["setting", "setting", "setting"]);
    assert_eq!(
        list[0]["range"],
        json!({"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 8}})
    );
    assert!(
        list[0]["message"]
            .as_str()
            .is_some_and(|m| m.contains("did you mean `maxRounds`")),
        "{list:?}"
    );
    for (line, title) in [
        (5, "Change to `threads`"),
        (3, "Change to `\"onSave\"`"),
        (2, "Change to `maxRounds`"),
    ] {
        editor
            .take_action("postil.toml", line, title)
            .expect("taken");
    }
    assert_eq!(
        editor.text("postil.toml"),
        "# über\n[turn]\nmaxRounds = 10\ntrigger = \"onSave\"\n\n[threads]\nindentation = 'keep'\n"
    );
    // Right as a name, but wider than the user's own.
    let list = editor.wait_codes("postil.toml", &["setting"]);
    assert_eq!(list[0]["range"]["start"]["line"], 3, "{list:?}");
    editor.replace("postil.toml", "trigger = \"onSave\"\n", "");
    editor.wait_codes("postil.toml", &[]);
    editor.replace("postil.toml", "maxRounds = 10", "maxRounds = 51");
    editor.wait_codes("postil.toml", &["setting"]);
    // A file of that name elsewhere is no settings file.
    workspace.write("sub/postil.toml", "nonsense = 1\n");
    editor.open("sub/postil.toml");
    assert_eq!(editor.diagnostics("sub/postil.toml"), Vec::<Value>::new());
}

#[test]
fn problems_of_the_clients_settings_are_told_once() {
    let workspace = Workspace::new();
    let editor = Editor::start_with(
        &workspace,
        Options {
            settings: json!({"turn": {"maxRound": 3}, "providers": {"anthropic": {"baseUrl": "http://evil.example"}}}),
            ..Options::default()
        },
    );
    let told = |word: &str| {
        editor.wait_message("window/showMessage", |params| {
            params["type"] == 2 && params["message"].as_str().is_some_and(|m| m.contains(word))
        })
    };
    assert!(
        told("maxRounds")["message"]
            .as_str()
            .is_some_and(|m| m.starts_with("postil: "))
    );
    told("providers");
    // Said again: only what is new.
    editor.state().settings = json!({"turn": {"maxRound": 3, "reviews": "ask"}});
    editor.notify(
        "workspace/didChangeConfiguration",
        json!({"settings": null}),
    );
    told("review");
    let state = editor.state();
    let times = state
        .received
        .iter()
        .filter(|m| {
            m["method"] == "window/showMessage"
                && m["params"]["message"]
                    .as_str()
                    .is_some_and(|m| m.contains("maxRounds"))
        })
        .count();
    assert_eq!(times, 1);
    drop(state);
    // Of many not all; `postil doctor`, which does not know them, is not named.
    editor.state().settings = json!({"turn": {"aa": 1, "bb": 1, "cc": 1, "dd": 1, "ee": 1}});
    editor.notify(
        "workspace/didChangeConfiguration",
        json!({"settings": null}),
    );
    let text = told("turn.aa")["message"].to_string();
    assert!(
        text.contains("; 2 more, of the editor's settings too"),
        "{text}"
    );
}

#[test]
fn settings_outside_their_section_are_told_of_once() {
    let workspace = Workspace::new();
    // One that is asked for its settings, as Helix, and one that sends them.
    for asked in [true, false] {
        let editor = Editor::start_with(
            &workspace,
            Options {
                capabilities: json!({"workspace": {"configuration": asked}}),
                settings: json!(null),
                ..Options::default()
            },
        );
        for settings in [
            json!(3),
            json!({"pylsp": {"turn": 1}}),
            json!({"postil": {"proxy": {"mode": "threads"}}, "model": "another's"}),
            json!({"bogus": 1, "turn": {"review": "ask"}}),
            json!({"model": 3}),
            json!({"postil": {"turn": {"last": 1}}}),
        ] {
            editor.state().settings = settings["postil"].clone();
            let params = json!({"settings": settings});
            editor.notify("workspace/didChangeConfiguration", params);
        }
        // What is told of the last one.
        editor.wait_saying("window/showMessage", "turn.last");
        let state = editor.state();
        let messages = state
            .received
            .iter()
            .filter(|m| m["method"] == "window/showMessage");
        let texts = messages.filter_map(|m| m["params"]["message"].as_str());
        let told: Vec<&str> = texts.filter(|m| m.contains("below `postil`")).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("`postil.turn`"), "{told:?}");
    }
}

#[test]
fn the_users_own_settings_are_checked_in_the_editor_and_hold_when_they_are_saved() {
    let workspace = Workspace::new();
    workspace.write("postil.toml", "[turn]\nmaxRounds = 50\n");
    workspace.configure("[turn]\nmaxRounds = 40\n");
    let mut editor = Editor::start(&workspace);
    // Wider than the user's own.
    editor.wait_codes("postil.toml", &["setting"]);
    let file = "../config/postil/config.toml";
    let file = workspace.path(file).canonicalize().expect("the file");
    let file = file.to_str().expect("a path");
    editor.open(file);
    // Commands and endpoints are the user's to name.
    editor.splice(
        file,
        0..0,
        "[provider.anthropic]\nbaseUrl = \"http://localhost:1\"\n",
    );
    editor.wait_codes(file, &["setting"]);
    editor
        .take_action(file, 0, "Change to `providers`")
        .expect("taken");
    editor.wait_codes(file, &[]);
    editor.replace(file, "maxRounds = 40", "maxRounds = 60");
    editor.save(file);
    editor.wait_codes("postil.toml", &[]);
}

/// A workspace must not pass off its own as the user's, by way of an editor that does not tell them apart.
#[test]
fn the_users_own_settings_are_taken_from_an_editor_that_knows_them() {
    let workspace = Workspace::new();
    for (knows, initialization_options) in
        [(true, json!({"ownSettings": true})), (false, json!({}))]
    {
        let editor = Editor::start_with(
            &workspace,
            Options {
                initialization_options,
                settings: json!({"$user": {"turn": {"maxRound": 3}}, "proxy": {"timeouts": 1}}),
                ..Options::default()
            },
        );
        let about = |m: &Value, word: &str| m["message"].as_str().is_some_and(|m| m.contains(word));
        if knows {
            editor.wait_message("window/showMessage", |params| about(params, "maxRound"));
        }
        // What is told last of one reading.
        editor.wait_message("window/showMessage", |params| about(params, "timeouts"));
        let state = editor.state();
        let messages = state
            .received
            .iter()
            .filter(|m| m["method"] == "window/showMessage");
        let told = messages.filter(|m| about(&m["params"], "maxRound")).count();
        assert_eq!(told, usize::from(knows));
    }
}

#[test]
fn settings_that_are_taken_out_of_the_editor_hold_no_more() {
    for asked in [true, false] {
        let workspace = Workspace::new();
        workspace.write("a.rs", "// AUTHOR: why?\n");
        let editor = Editor::start_with(
            &workspace,
            Options {
                capabilities: json!({"workspace": {"configuration": asked}}),
                ..Options::default()
            },
        );
        editor.wait_codes("a.rs", &["pending"]);
        let small = json!({"threads": {"maxFileSize": 5}});
        for (settings, codes) in [
            (json!({"postil": small}), &[][..]),
            (json!({}), &["pending"][..]),
            (json!({"postil": small}), &[]),
            (json!({"postil": null}), &["pending"]),
        ] {
            editor.state().settings = settings["postil"].clone();
            let params = json!({"settings": settings});
            editor.notify("workspace/didChangeConfiguration", params);
            editor.wait_codes("a.rs", codes);
        }
    }
}
