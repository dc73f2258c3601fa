//! Threads in an editor: shown, written, removed, committed, without any model.

use serde_json::{Value, json};

use crate::harness::{Editor, OnApply, Options, Workspace, frame};

const FILE: &str = "src/net.rs";

fn editor(workspace: &Workspace) -> Editor {
    let initialization_options = json!({"trusted": true});
    Editor::start_with(
        workspace,
        Options {
            initialization_options,
            ..Options::default()
        },
    )
}

fn titles(editor: &mut Editor, line: usize) -> Vec<String> {
    editor
        .code_actions(FILE, line)
        .iter()
        .map(|action| action["title"].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn thread_id(editor: &Editor) -> Value {
    editor.diagnostics(FILE)[0]["data"]["thread_id"].clone()
}

#[test]
fn a_thread_is_a_diagnostic_over_its_last_message() {
    let workspace = Workspace::new();
    workspace.write(
        FILE,
        "// AUTHOR: why 𝒂 mutex?\n// AGENT: Because.\n// AUTHOR: and\n//   here?\nfn f() {}\n",
    );
    let editor = editor(&workspace);
    editor.open(FILE);
    let shown = &editor.wait_codes(FILE, &["pending"])[0];
    assert_eq!(
        shown["range"],
        json!({"start": {"line": 2, "character": 11}, "end": {"line": 3, "character": 10}})
    );
    assert_eq!(
        (&shown["source"], &shown["severity"]),
        (&json!("postil"), &json!(3))
    );
    let related: Vec<&Value> = shown["relatedInformation"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["location"]["range"]["start"]["line"])
        .collect();
    assert_eq!(related, [0, 1, 2]);
}

#[test]
fn a_closed_file_is_shown_and_follows_the_disk() {
    let workspace = Workspace::new();
    let closed = workspace.write("lib/a.py", "# AUTHOR: why?\nx = 1\n");
    let editor = editor(&workspace);
    editor.wait_codes("lib/a.py", &["pending"]);
    std::fs::write(&closed, "# AUTHOR: why?\n# AGENT: So.\nx = 1\n").unwrap();
    let uri = editor.uri("lib/a.py");
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": [{"uri": uri, "type": 2}]}),
    );
    editor.wait_codes("lib/a.py", &["awaiting_user"]);
    std::fs::remove_file(&closed).unwrap();
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": [{"uri": uri, "type": 3}]}),
    );
    editor.wait_codes("lib/a.py", &[]);
}

#[test]
fn a_closed_document_is_shown_as_it_is_on_disk() {
    let workspace = Workspace::new();
    workspace.write(FILE, "// AUTHOR: on disk?\nfn f() {}\n");
    let editor = editor(&workspace);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending"]);
    editor.replace(FILE, "// AUTHOR: on disk?\n", "");
    editor.wait_codes(FILE, &[]);
    editor.close(FILE);
    editor.wait_codes(FILE, &["pending"]);
}

#[test]
fn resolve_removes_the_thread_and_nothing_else() {
    let workspace = Workspace::new();
    workspace.write(
        FILE,
        "fn f() {\r\n\t// AUTHOR: why?  \r\n\t// AGENT: So.\r\n\tg(); // AUTHOR: and this?\r\n}",
    );
    let mut editor = editor(&workspace);
    editor.open(FILE);
    editor.wait_codes(FILE, &["awaiting_user", "pending"]);
    editor
        .take_action(FILE, 1, "Resolve (remove thread)")
        .expect("resolved");
    editor.wait_codes(FILE, &["pending"]);
    assert_eq!(
        editor.text(FILE),
        "fn f() {\r\n\tg(); // AUTHOR: and this?\r\n}"
    );
    editor
        .take_action(FILE, 1, "Resolve (remove thread)")
        .expect("resolved");
    assert_eq!(
        editor.wait_text(FILE, |text| !text.contains("AUTHOR")),
        "fn f() {\r\n\tg();\r\n}"
    );
    assert!(
        !titles(&mut editor, 1)
            .iter()
            .any(|title| title.starts_with("Resolve"))
    );
}

#[test]
fn the_author_answers_and_begins_threads() {
    let workspace = Workspace::new();
    workspace.write(
        FILE,
        "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR:\nfn f() {}\nfn g() {}\n",
    );
    let mut editor = editor(&workspace);
    editor.open(FILE);
    editor.wait_codes(FILE, &["awaiting_user"]);
    let argument =
        json!({"uri": editor.uri(FILE), "thread_id": thread_id(&editor), "text": "and then?"});
    editor.command("postil.reply", argument).expect("said");
    editor.wait_codes(FILE, &["pending"]);
    let argument = json!({"uri": editor.uri(FILE), "position": {"line": 4, "character": 3}, "text": "drop g?"});
    editor.command("postil.newThread", argument).expect("begun");
    editor.wait_codes(FILE, &["pending", "pending"]);
    assert_eq!(
        editor.text(FILE),
        "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR: and then?\nfn f() {}\n// AUTHOR: drop g?\nfn g() {}\n"
    );
}

#[test]
fn a_new_thread_is_told_wherever_it_had_to_stand() {
    let workspace = Workspace::new();
    let text = "def f():\n    \"\"\"One.\n\n    Two.\n    \"\"\"\n    # AUTHOR: why?\n    # AGENT: So.\n    return 1\n";
    workspace.write("a.py", text);
    let mut editor = editor(&workspace);
    editor.open("a.py");
    let old = editor.wait_codes("a.py", &["awaiting_user"])[0]["data"]["thread_id"].clone();
    // In the string, and within the thread.
    for (line, words) in [(3, "which two?"), (8, "why so?")] {
        let place = json!({"line": line, "character": 0});
        let argument = json!({"uri": editor.uri("a.py"), "position": place, "text": words});
        let done = editor.command("postil.newThread", argument).expect("begun");
        assert_ne!(done["thread_id"], old);
        let at = usize::try_from(done["line"].as_u64().expect("a line")).expect("a line");
        let text = editor.text("a.py");
        assert_eq!(
            text.lines().nth(at).map(str::trim),
            Some(format!("# AUTHOR: {words}").as_str()),
            "{text}"
        );
        let argument =
            json!({"thread_id": done["thread_id"], "uri": editor.uri("a.py"), "text": "!"});
        assert!(editor.command("postil.reply", argument).is_ok(), "{done}");
    }
}

/// Else an editor that goes on behind the command, into insert mode, types elsewhere first.
#[test]
fn the_cursor_is_placed_before_a_new_thread_is_answered() {
    let workspace = Workspace::new();
    workspace.write(FILE, "fn f() {}\n");
    let mut editor = editor(&workspace);
    editor.open(FILE);
    for times in 1..=20 {
        let argument = json!({"uri": editor.uri(FILE), "position": {"line": 0, "character": 0}});
        editor.command("postil.newThread", argument).expect("begun");
        let state = editor.state();
        let placed = state.received.iter();
        let placed = placed.filter(|message| message["method"] == "window/showDocument");
        assert_eq!(placed.count(), times);
    }
}

/// Where it ends on the line, what is typed next would be code.
#[test]
fn the_cursor_is_placed_before_the_end_of_a_comment() {
    for (file, before, line, title, after) in [
        (
            "a.css",
            "a {}\n",
            0,
            "New thread here",
            "/* AUTHOR: | */\na {}\n",
        ),
        (
            "a.md",
            "# A\n\nText.\n",
            2,
            "New thread here",
            "# A\n\n<!-- AUTHOR: | -->\nText.\n",
        ),
        (
            "a.c",
            "int a; /* AUTHOR: why 𝒂? */ int b;\n",
            0,
            "Reply (author)",
            "int a; /* AUTHOR: why 𝒂?| */ int b;\n",
        ),
        (
            "b.c",
            "/* AUTHOR: one? */ /* AUTHOR: two? */\r\nint b;\r\n",
            0,
            "Reply (author): one?",
            "/* AUTHOR: one?| */ /* AUTHOR: two? */\r\nint b;\r\n",
        ),
        (
            "a.rs",
            "// AUTHOR: why? \nfn f() {}\n",
            0,
            "Reply (author)",
            "// AUTHOR: why? |\nfn f() {}\n",
        ),
        (
            "b.css",
            "/* AUTHOR: why?\n   AGENT: So. */\na {}\n",
            0,
            "Reply (author)",
            "/* AUTHOR: why?\n   AGENT: So.\n   AUTHOR: |*/\na {}\n",
        ),
    ] {
        let workspace = Workspace::new();
        workspace.write(file, before);
        let mut editor = editor(&workspace);
        editor.open(file);
        editor.take_action(file, line, title).expect(title);
        let shown = editor.wait_message("window/showDocument", |params| {
            params["selection"].is_object()
        });
        let place = &shown["selection"]["start"];
        let number = |name: &str| {
            let number = place[name].as_u64().and_then(|n| usize::try_from(n).ok());
            number.expect("a number")
        };
        let text = editor.text(file);
        let mut lines: Vec<Vec<u16>> = text
            .split_inclusive('\n')
            .map(|line| line.encode_utf16().collect())
            .collect();
        lines[number("line")].insert(number("character"), u16::from(b'|'));
        let text = String::from_utf16(&lines.concat()).expect("a text");
        assert_eq!(text, after, "{file}");
    }
}

/// As Zed, which takes snippets in edits.
#[test]
fn an_editor_that_shows_no_documents_places_the_cursor_by_an_edit_that_changes_nothing() {
    let workspace = Workspace::new();
    workspace.write(FILE, "fn f() {}\n\nfn g() {}\n");
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            capabilities: json!({"window": {"showDocument": null},
                "workspace": {"workspaceEdit": {"snippetEditSupport": true}}}),
            ..Options::default()
        },
    );
    editor.open(FILE);
    let argument = json!({"uri": editor.uri(FILE), "position": {"line": 1, "character": 0}});
    editor.command("postil.newThread", argument).expect("begun");
    let placed = editor.wait_message("workspace/applyEdit", |params| {
        params["edit"]["documentChanges"][0]["edits"][0]["snippet"]["value"] == "$0"
    });
    let change = &placed["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"]["uri"], json!(editor.uri(FILE)));
    let text = editor.text(FILE);
    assert_eq!(text, "fn f() {}\n// AUTHOR: \n\nfn g() {}\n");
    let end = json!({"line": 1, "character": 11});
    assert_eq!(
        change["edits"][0]["range"],
        json!({"start": end, "end": end})
    );
}

fn repository() -> Workspace {
    let workspace = Workspace::new();
    workspace.git(&["init", "-q", "-b", "main"]);
    workspace.git(&["config", "user.name", "Ada"]);
    workspace.git(&["config", "user.email", "ada@example.org"]);
    workspace
}

fn wait_committed(editor: &Editor) {
    editor.wait_saying("window/showMessage", "committed src/net.rs as");
}

#[test]
fn clear_and_commit_follows_the_save_and_takes_that_file_alone() {
    let workspace = repository();
    workspace.write(FILE, "fn f() {}\n");
    workspace.write("other.rs", "one\n");
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "-qm", "first"]);
    workspace.write("other.rs", "two\n");
    workspace.git(&["add", "other.rs"]);
    workspace.write(FILE, "// AUTHOR: why?\nfn f() { 1; }\n");
    let mut editor = editor(&workspace);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending"]);
    editor
        .take_action(FILE, 0, "Clear threads and commit file")
        .expect("cleared");
    editor.wait_text(FILE, |text| text == "fn f() { 1; }\n");
    assert_eq!(
        workspace.git(&["log", "--format=%s"]),
        "first\n",
        "nothing is committed that the author has not saved"
    );
    editor.save(FILE);
    wait_committed(&editor);
    assert_eq!(
        workspace.git(&["show", "--name-only", "--format=%s"]),
        "Clear review threads from net.rs\n\nsrc/net.rs\n"
    );
    assert_eq!(workspace.git(&["status", "--porcelain"]), "M  other.rs\n");
}

#[test]
fn clear_and_commit_follows_a_save_that_overtakes_the_editors_answer() {
    let workspace = repository();
    workspace.write(FILE, "// AUTHOR: why?\nfn f() {}\n");
    let mut editor = editor(&workspace);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending"]);
    editor.state().on_apply = OnApply::ApplyAndSave;
    editor
        .take_action(FILE, 0, "Clear threads and commit file")
        .expect("cleared");
    wait_committed(&editor);
    assert_eq!(workspace.git(&["show", "HEAD:src/net.rs"]), "fn f() {}\n");
}

#[test]
fn action_words_are_carried_out_without_a_model() {
    let workspace = Workspace::new();
    workspace.write(
        FILE,
        "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR: Done\nfn f() {}\n",
    );
    let mut editor = editor(&workspace);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending"]);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("carried out");
    assert_eq!(
        editor.wait_text(FILE, |text| !text.contains("AUTHOR")),
        "fn f() {}\n"
    );
}

/// Such threads are numbered as they stand in the file: the second is the first when that has gone.
#[test]
fn action_words_of_threads_with_the_same_first_words_are_all_carried_out() {
    let workspace = Workspace::new();
    let done = "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR: done\n";
    let open = "// AUTHOR: why?\n";
    workspace.write(
        FILE,
        format!("{done}fn f() {{}}\n{open}fn g() {{}}\n{done}fn h() {{}}\n"),
    );
    let mut editor = editor(&workspace);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending", "pending", "pending"]);
    let uri = editor.uri(FILE);
    editor
        .command("postil.processActions", json!({"uri": uri}))
        .expect("carried out");
    assert_eq!(
        editor.wait_text(FILE, |text| !text.contains("done")),
        format!("fn f() {{}}\n{open}fn g() {{}}\nfn h() {{}}\n")
    );
}

#[test]
fn threads_of_two_folders_are_told_apart() {
    let workspace = Workspace::new();
    workspace.write("one/a.rs", "// AUTHOR: why?\nfn f() {}\n");
    workspace.write("two/a.rs", "// AUTHOR: why?\nfn f() {}\n");
    let folders = Some(vec![workspace.path("one"), workspace.path("two")]);
    let editor = Editor::start_with(
        &workspace,
        Options {
            folders,
            ..Options::default()
        },
    );
    editor.wait_codes("one/a.rs", &["pending"]);
    editor.wait_codes("two/a.rs", &["pending"]);
    let two = json!({"uri": editor.uri("two"), "name": "two"});
    editor.notify(
        "workspace/didChangeWorkspaceFolders",
        json!({"event": {"added": [], "removed": [two]}}),
    );
    editor.wait_codes("two/a.rs", &[]);
}

/// What lies in a folder within another one is the other one's from when it goes.
#[test]
fn threads_of_a_folder_that_goes_are_those_of_the_one_above() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "// AUTHOR: why?\nfn f() {}\n");
    workspace.write("in/b.rs", "fn f() {}\n");
    let editor = Editor::start_with(
        &workspace,
        Options {
            folders: Some(vec![workspace.path(""), workspace.path("in")]),
            ..Options::default()
        },
    );
    editor.wait_codes("a.rs", &["pending"]);
    workspace.write("in/b.rs", "// AUTHOR: why?\nfn f() {}\n");
    let inner = json!([{"uri": editor.uri("in"), "name": "in"}]);
    let gone = json!({"event": {"added": [], "removed": inner}});
    editor.notify("workspace/didChangeWorkspaceFolders", gone);
    editor.wait_codes("in/b.rs", &["pending"]);
}

#[test]
fn a_document_that_was_open_before_its_folder_came_can_be_answered() {
    let workspace = Workspace::new();
    let text = "// AUTHOR: why?\nfn f() {}\n";
    workspace.write("one/in/a.rs", text);
    workspace.write("two/b.rs", text);
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            folders: Some(vec![workspace.path("one")]),
            ..Options::default()
        },
    );
    let mut ids = Vec::new();
    let shown = |editor: &Editor, file: &str| {
        let shown = editor.wait_codes(file, &["pending"]);
        shown[0]["data"]["thread_id"].clone()
    };
    for file in ["one/in/a.rs", "two/b.rs"] {
        editor.open(file);
        ids.push(shown(&editor, file));
    }
    let folder = |name: &str| json!({"uri": editor.uri(name), "name": name});
    let folders = json!([folder("one/in"), folder("two")]);
    let change =
        |added: &Value, removed: &Value| json!({"event": {"added": added, "removed": removed}});
    let told = "workspace/didChangeWorkspaceFolders";
    editor.notify(told, change(&folders, &json!([])));
    for (file, before) in ["one/in/a.rs", "two/b.rs"].iter().zip(&ids) {
        // Its id is of the path in its folder, which is another one now.
        editor.wait_diagnostics(file, |list| {
            list.first()
                .is_some_and(|first| first["data"]["thread_id"] != *before)
        });
        let id = shown(&editor, file);
        let argument = json!({"uri": editor.uri(file), "thread_id": id, "text": "Tell me."});
        let done = editor.command("postil.reply", argument);
        done.expect("it is written");
        editor.wait_text(file, |text| text.contains("Tell me."));
    }
    // And when it goes.
    editor.notify(told, change(&json!([]), &folders));
    let argument = json!({"uri": editor.uri("one/in/a.rs"), "thread_id": ids[0], "text": "Again."});
    let done = editor.command("postil.reply", argument);
    done.expect("it is written");
    editor.wait_text("one/in/a.rs", |text| text.contains("Again."));
}

/// A client that shows threads itself: the author's own words, edited where they are shown.
#[test]
fn the_authors_own_words_are_rewritten_and_no_one_elses() {
    let workspace = Workspace::new();
    let text =
        "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR: how\u{202e}?\n// AUTHOR: now?\nfn f() {}\n";
    workspace.write(FILE, text);
    let mut editor = editor(&workspace);
    editor.open(FILE);
    let id = editor.wait_codes(FILE, &["pending"])[0]["data"]["thread_id"].clone();
    let uri = editor.uri(FILE);
    let edit = |id: &Value, index: u64, was: &str, text: &str| json!({"uri": uri, "thread_id": id, "index": index, "was": was, "text": text});
    for (argument, named) in [
        (
            edit(&id, 0, "what?", "how?"),
            "meanwhile; nothing was written",
        ),
        (edit(&id, 1, "So.", "Not so."), "meanwhile"),
        (edit(&id, 9, "why?", "how?"), "meanwhile"),
        (edit(&id, 0, "why?", " \n"), "empty"),
        (
            edit(&id, 2, "how⟨U+202E⟩?", "how?"),
            "not shown as they are",
        ),
        (edit(&json!("ffffffff"), 0, "why?", "how?"), "ffffffff"),
        (
            json!({"uri": uri, "thread_id": id, "index": 0, "text": "how?"}),
            "`was`",
        ),
    ] {
        let error = editor
            .command("postil.editMessage", argument)
            .expect_err(named);
        assert!(
            error["message"].as_str().unwrap().contains(named),
            "{error}"
        );
        assert_eq!(editor.text(FILE), text);
    }
    let done = editor.command(
        "postil.editMessage",
        edit(&id, 0, "why?", "what for?\nand when?"),
    );
    let now = done.expect("rewritten")["thread_id"].clone();
    assert_ne!(now, id, "a thread is named after its first words");
    let last = editor.command("postil.editMessage", edit(&now, 3, "now?", ""));
    assert_eq!(last.expect("taken back")["thread_id"], now);
    assert_eq!(
        editor.text(FILE),
        "// AUTHOR: what for?\n//   and when?\n// AGENT: So.\n// AUTHOR: how\u{202e}?\nfn f() {}\n"
    );
}

#[test]
fn a_wrong_argument_is_named() {
    let workspace = Workspace::new();
    workspace.write(FILE, "// AUTHOR: why?\nfn f() {}\n");
    let mut editor = editor(&workspace);
    editor.open(FILE);
    let uri = editor.uri(FILE);
    for (command, argument, named) in [
        (
            "postil.dismissThread",
            json!({"uri": uri, "thread_id": "ffffffff"}),
            "no thread `ffffffff`, or none any more",
        ),
        (
            "postil.dismissThread",
            json!({"uri": uri, "thread_id": "ff"}),
            "four digits",
        ),
        (
            "postil.dismissThread",
            json!({"uri": uri, "thread": "ffffffff"}),
            "thread",
        ),
        ("postil.newThread", json!({"uri": uri}), "position"),
        (
            "postil.cancelTurn",
            json!({"run_id": "ffffffff"}),
            "no run `ffffffff`, or none any more",
        ),
        ("postil.nothing", json!({}), "postil.nothing"),
    ] {
        let error = editor.command(command, argument).expect_err(command);
        assert!(
            error["message"].as_str().unwrap().contains(named),
            "{command}: {error}"
        );
    }
    assert_eq!(editor.text(FILE), "// AUTHOR: why?\nfn f() {}\n");
}

/// What is said of the first of two threads that is to be resolved when `old` became `new` before the edit came, and
/// what the text is then.
fn resolved_too_late(text: &str, old: &str, new: &str) -> (String, String) {
    let workspace = Workspace::new();
    workspace.write(FILE, text);
    let mut editor = editor(&workspace);
    editor.open(FILE);
    editor.wait_codes(FILE, &["pending", "pending"]);
    let argument = json!({"uri": editor.uri(FILE), "thread_id": thread_id(&editor)});
    editor.state().on_apply = OnApply::Ignore;
    let asked = editor.ask(
        "workspace/executeCommand",
        json!({"command": "postil.dismissThread", "arguments": [argument]}),
    );
    let id = editor.wait_for("an edit", |state| {
        let mut received = state.received.iter();
        let edit = received.find(|m| m["method"] == "workspace/applyEdit")?;
        Some(edit["id"].clone())
    });
    editor.state().on_apply = OnApply::Apply;
    editor.replace(FILE, old, new);
    let no = json!({"jsonrpc": "2.0", "id": id, "result": {"applied": false}});
    editor.send_raw(&frame(&no));
    let error = editor.answer(asked).expect_err("another thread");
    let message = error["message"].as_str().expect("a message");
    (message.to_owned(), editor.text(FILE))
}

/// As where *Resolve* is pressed twice: the second thread has the first one's name by then.
#[test]
fn what_is_resolved_is_the_thread_that_was_meant_though_another_has_its_name_by_then() {
    let text = "// AUTHOR: why?\nfn f() {}\n// AUTHOR: why?\nfn g() {}\n";
    let (message, left) = resolved_too_late(text, "// AUTHOR: why?\nfn f", "fn f");
    assert!(message.contains("no longer in src/net.rs"), "{message}");
    assert_eq!(left, "fn f() {}\n// AUTHOR: why?\nfn g() {}\n");
    // Where it was moved below another it is part of that one.
    let text = text.replacen("why?\nfn g", "how?\nfn g", 1);
    let moved = "fn f() {}\n// AUTHOR: how?\n// AUTHOR: why?\nfn g() {}\n";
    let (message, left) = resolved_too_late(&text, &text, moved);
    assert!(
        message.contains("in another thread of src/net.rs now"),
        "{message}"
    );
    assert_eq!(left, moved);
}

/// A client that takes no versions cannot tell that an edit was made for an older text: so one is on its way at a
/// time.
#[test]
fn twenty_at_once_on_one_file_are_all_done() {
    for versions in [true, false] {
        let workspace = Workspace::new();
        let mut text = String::new();
        for n in 0..20 {
            text.push_str(&format!(
                "// AUTHOR: number {n}?\n// AGENT: yes\n// AUTHOR:\nfn f{n}() {{}}\n"
            ));
        }
        workspace.write("a.rs", &text);
        let capabilities = json!({"workspace": {"workspaceEdit": {"documentChanges": versions}}});
        let options = Options {
            capabilities,
            ..Options::default()
        };
        let mut editor = Editor::start_with(&workspace, options);
        editor.open("a.rs");
        let list = editor
            .command("postil.listThreads", json!({"uri": editor.uri("a.rs")}))
            .expect("a list");
        let threads = list["threads"].as_array().expect("threads").clone();
        let asked: Vec<i64> = threads
            .iter()
            .map(|thread| {
                let argument = json!({"uri": editor.uri("a.rs"), "thread_id": thread["id"]});
                editor.ask(
                    "workspace/executeCommand",
                    json!({"command": "postil.dismissThread", "arguments": [argument]}),
                )
            })
            .collect();
        assert_eq!(asked.len(), 20);
        for id in asked {
            editor.answer(id).expect("it is resolved");
        }
        let code: String = (0..20).map(|n| format!("fn f{n}() {{}}\n")).collect();
        assert_eq!(editor.text("a.rs"), code);
    }
}

#[test]
fn what_only_the_editor_can_read_is_kept_when_it_is_resolved() {
    const PAGE: &str = "a.tplx";
    let workspace = Workspace::new();
    workspace.write(PAGE, "<p>x</p>\n<p>y</p>\n");
    workspace.git(&["init", "-q", "-b", "main"]);
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "-qm", "A page"]);
    let mut editor = editor(&workspace);
    editor.open_text(PAGE, "html", &workspace.read(PAGE));
    editor.replace(PAGE, "<p>y", "<!-- AUTHOR: why y? -->\n<p>y");
    let shown = editor.wait_codes(PAGE, &["pending"]);
    let thread = json!({"uri": editor.uri(PAGE), "thread_id": shown[0]["data"]["thread_id"]});
    let mut said = thread.clone();
    said["text"] = json!("and so?");
    let done = editor.command("postil.reply", said);
    assert_eq!(done.expect("it is said")["thread_id"], thread["thread_id"]);
    let gone = editor.command("postil.dismissThread", thread);
    gone.expect("it is removed");
    editor.save(PAGE);
    let line = json!({"uri": editor.uri(PAGE), "position": {"line": 1, "character": 0}});
    let told = editor.command("postil.why", line);
    let told = told.expect("it is answered").to_string();
    assert!(
        told.contains("why y?") && told.contains("and so?"),
        "{told}"
    );
}
