//! What a client is told that shows threads in ways of its own: the threads of each file, the turns, their
//! rounds and what they changed.

use serde_json::{Value, json};

use crate::harness::{Editor, NEVER, OnApply, Options, Workspace, frame};
use crate::model::{Model, Step, call};

fn start(workspace: &Workspace, options: Value, env: Vec<(String, String)>) -> Editor {
    let initialization_options = options;
    Editor::start_with(
        workspace,
        Options {
            initialization_options,
            env,
            ..Options::default()
        },
    )
}

/// The environment that has this model asked.
fn asking(model: &Model) -> Vec<(String, String)> {
    [
        ("ANTHROPIC_BASE_URL", model.url()),
        ("ANTHROPIC_API_KEY", "sk-canary"),
        ("POSTIL_MODEL", "anthropic/claude-sonnet-4-5"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// The newest list of a file's threads, once it fits.
fn threads(editor: &Editor, path: &str, fits: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let uri = editor.uri(path);
    editor.wait_for("postil/threads", |state| {
        let newest = state.received.iter().rev().find(|m| {
            m["method"] == "postil/threads" && m["params"]["uri"].as_str() == Some(uri.as_str())
        })?;
        let list = newest["params"]["threads"].as_array()?;
        fits(list).then(|| list.clone())
    })
}

/// Waits until this version of a file is told with its threads.
fn version(editor: &Editor, path: &str, version: &Value) {
    let uri = editor.uri(path);
    editor.wait_for("the version", |state| {
        let mut told = state.received.iter().rev();
        let newest =
            told.find(|m| m["method"] == "postil/threads" && m["params"]["uri"] == uri.as_str())?;
        (newest["params"]["version"] == *version).then_some(())
    });
}

#[test]
fn the_threads_of_open_and_closed_files_are_told_when_they_change() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "// AUTHOR: why?\u{202e}\nfn a() {}\n");
    workspace.write(
        "b.py",
        "x = 1  # AUTHOR(ana): fine?\n# AGENT: Yes.\n# AUTHOR:\n",
    );
    workspace.write("c.rs", "fn c() {}\n");
    let editor = start(&workspace, json!({"threads": true}), Vec::new());
    let closed = threads(&editor, "b.py", |list| list.len() == 1);
    assert_eq!(closed[0]["status"], "awaiting_user");
    assert_eq!(
        closed[0]["messages"],
        json!([
            {"role": "author", "name": "ana", "line": 0, "text": "fine?"},
            {"role": "agent", "name": null, "line": 1, "text": "Yes."},
            {"role": "author", "name": null, "line": 2, "text": ""},
        ])
    );
    assert_eq!(closed[0]["range"]["end"]["line"], 2);

    threads(&editor, "a.rs", |list| list.len() == 1);
    editor.open("a.rs");
    version(&editor, "a.rs", &json!(1));
    let first = threads(&editor, "a.rs", |list| list.len() == 1);
    assert_eq!(first[0]["status"], "pending");
    assert!(
        !first[0]["messages"][0]["text"]
            .as_str()
            .expect("a text")
            .contains('\u{202e}'),
        "what changes the direction of writing is shown, not obeyed"
    );
    editor.replace("a.rs", "fn a", "// a line more\nfn a");
    editor.replace("a.rs", "fn a", "// AUTHOR: and this?\nfn a");
    let second = threads(&editor, "a.rs", |list| list.len() == 2);
    assert_eq!(second[0]["id"], first[0]["id"]);
    assert_eq!(
        second[1]["range"]["start"],
        json!({"line": 2, "character": 3})
    );
    editor.replace("a.rs", "// AUTHOR: and this?\n", "");
    threads(&editor, "a.rs", |list| list.len() == 1);

    let told = editor
        .state()
        .received
        .iter()
        .filter(|m| m["method"] == "postil/threads")
        .map(|m| m["params"]["uri"].clone())
        .collect::<Vec<_>>();
    assert!(
        !told.contains(&json!(editor.uri("c.rs"))),
        "a file without threads is not told of"
    );
    // Closed, opened, and twice changed: the line that was put in below the thread changes nothing of it.
    assert_eq!(
        told.iter()
            .filter(|u| **u == json!(editor.uri("a.rs")))
            .count(),
        4,
        "{told:?}"
    );
}

/// And nothing else of it is shown, or one thread would be in two margins with two texts.
#[test]
fn of_another_name_of_an_open_file_it_is_told_where_its_threads_are() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "fn a() {}\n");
    std::os::unix::fs::symlink("a.rs", workspace.path("link.rs")).expect("a link");
    let editor = start(&workspace, json!({"threads": true}), Vec::new());
    editor.open("a.rs");
    editor.open("link.rs");
    let [first, link] = ["a.rs", "link.rs"].map(|name| editor.uri(name));
    let told = |editor: &Editor, fits: &dyn Fn(&Value) -> bool| {
        editor.wait_for("what is told of the link", |state| {
            let told = state.received.iter().rfind(|m| {
                m["method"] == "postil/threads" && m["params"]["uri"].as_str() == Some(&link)
            })?;
            fits(&told["params"]).then(|| told["params"].clone())
        })
    };
    // There is something to tell with the first thread, and until the last.
    editor.replace("a.rs", "fn a", "// AUTHOR: why?\nfn a");
    let there = told(&editor, &|params| params["shown_in"] == first.as_str());
    assert_eq!(there["threads"], json!([]));
    editor.replace("a.rs", "// AUTHOR: why?\n", "");
    told(&editor, &|params| params["shown_in"].is_null());
    editor.replace("a.rs", "fn a", "// AUTHOR: why?\nfn a");
    told(&editor, &|params| params["shown_in"] == first.as_str());
    // Opened again it is told again; alone it is shown itself.
    editor.close("link.rs");
    editor.open("link.rs");
    editor.replace("link.rs", "fn a", "// AUTHOR: and on?\nfn a");
    editor.close("a.rs");
    let own = told(&editor, &|params| params["threads"] != json!([]));
    assert!(own["shown_in"].is_null());
    assert_eq!(own["threads"][0]["is_outside"], false);
}

/// Or a client that follows what is typed by versions takes those of the document that was open before.
#[test]
fn of_a_document_that_is_opened_again_its_own_version_is_told() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "fn a() {}\n// AUTHOR: why?\nfn b() {}\n");
    let editor = start(&workspace, json!({"threads": true}), Vec::new());
    editor.open("a.rs");
    version(&editor, "a.rs", &json!(1));
    for _ in 0..3 {
        editor.replace("a.rs", "fn a", "\nfn a");
    }
    version(&editor, "a.rs", &json!(4));
    editor.save("a.rs");
    editor.close("a.rs");
    version(&editor, "a.rs", &json!(null));
    editor.open("a.rs");
    version(&editor, "a.rs", &json!(1));
}

/// As VS Code does: it pulls diagnostics, of the whole workspace too.
#[test]
fn the_threads_of_a_folder_that_goes_are_taken_back() {
    let workspace = Workspace::new();
    workspace.write("one/a.py", "# AUTHOR: why?\nx = 1\n");
    workspace.write("two/b.py", "# AUTHOR: why?\nx = 1\n");
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            capabilities: json!({"textDocument": {"diagnostic": {}}, "workspace": {"diagnostics": {"refreshSupport": true}}}),
            initialization_options: json!({"threads": true}),
            folders: Some(vec![workspace.path("one"), workspace.path("two")]),
            ..Options::default()
        },
    );
    threads(&editor, "one/a.py", |list| list.len() == 1);
    threads(&editor, "two/b.py", |list| list.len() == 1);
    editor.wait_codes("one/a.py", &["pending"]);
    editor.wait_codes("two/b.py", &["pending"]);
    let shown = editor
        .request("workspace/diagnostic", json!({"previousResultIds": []}))
        .expect("a report");
    let shown = shown["items"].as_array().expect("items").clone();
    assert_eq!(shown.len(), 2, "{shown:?}");
    let have: Vec<Value> = shown
        .iter()
        .map(|item| json!({"uri": item["uri"], "value": item["resultId"]}))
        .collect();
    editor.wait_codes("one/a.py", &[]);
    let waiting = editor.ask("workspace/diagnostic", json!({"previousResultIds": have}));
    let gone = json!([{"uri": editor.uri("one"), "name": "one"}]);
    editor.notify(
        "workspace/didChangeWorkspaceFolders",
        json!({"event": {"added": [], "removed": gone}}),
    );
    threads(&editor, "one/a.py", <[Value]>::is_empty);
    threads(&editor, "two/b.py", |list| list.len() == 1);
    let report = editor.answer(waiting).expect("a report");
    let items = report["items"].as_array().expect("items");
    let uri = editor.uri("one/a.py");
    let gone = items.iter().find(|item| item["uri"] == uri);
    assert_eq!(gone.expect("the file")["items"], json!([]), "{items:?}");
}

#[test]
fn a_turn_ends_whose_folder_goes_and_goes_on_when_it_is_there_again() {
    let model = Model::start(vec![Step::text("Because.").held(), Step::text("So.")]);
    let workspace = Workspace::new();
    workspace.write("one/a.py", "x = 1\n");
    workspace.write("two/b.py", "x = 1\n");
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            initialization_options: json!({"threads": true, "trusted": true}),
            folders: Some(vec![workspace.path("one"), workspace.path("two")]),
            env: asking(&model),
            ..Options::default()
        },
    );
    editor.open("two/b.py");
    editor.splice("two/b.py", 0..0, "# AUTHOR: why?\n");
    editor.wait_codes("two/b.py", &["pending"]);
    editor
        .take_action("two/b.py", 0, "Reply as agent")
        .expect("started");
    model.wait_for_requests(1);
    editor.wait_message("postil/turns", |m| m["turns"][0]["running"] == true);
    let two = json!([{"uri": editor.uri("two"), "name": "two"}]);
    let change = |added: Value, removed: Value| {
        editor.notify(
            "workspace/didChangeWorkspaceFolders",
            json!({"event": {"added": added, "removed": removed}}),
        );
    };
    change(json!([]), two.clone());
    let told = editor.wait_message("postil/turns", |m| m["turns"][0]["running"] == false);
    assert_eq!(told["turns"][0]["status"], "interrupted");
    change(two, json!([]));
    editor.wait_codes("two/b.py", &["pending"]);
    editor
        .take_action("two/b.py", 0, "Reply as agent")
        .expect("it goes on");
    editor.wait_text("two/b.py", |text| text.contains("AGENT: So."));
}

#[test]
fn who_does_not_ask_is_not_told() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "// AUTHOR: list todos\nfn a() {}\n");
    let mut editor = start(&workspace, json!({"trusted": true}), Vec::new());
    editor.open("a.rs");
    editor.wait_codes("a.rs", &["pending"]);
    editor
        .take_action("a.rs", 0, "Reply as agent")
        .expect("started");
    editor.wait_text("a.rs", |text| text.contains("AGENT:"));
    let state = editor.state();
    assert!(
        state.received.iter().all(|m| !m["method"]
            .as_str()
            .unwrap_or_default()
            .starts_with("postil/")),
        "{:?}",
        state.received
    );
}

#[test]
fn a_turn_is_told_while_it_runs_and_once_it_has_ended() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "fn a() {}\n");
    let model = Model::start(vec![
        Step::calls(vec![call("t1", "file_read", json!({"path": "a.rs"}))]),
        Step::calls(vec![call(
            "t2",
            "file_edit",
            json!({"path": "a.rs", "old_string": "fn a() {}", "new_string": "fn b() {}"}),
        )]),
        Step::text("Renamed.").held(),
    ]);
    let env = asking(&model);
    let mut editor = start(&workspace, json!({"trusted": true, "threads": true}), env);
    editor.open("a.rs");
    editor.replace("a.rs", "fn a", "// AUTHOR: name it b\nfn a");
    let asked = threads(&editor, "a.rs", |list| list.len() == 1);
    let thread = asked[0]["id"].clone();
    assert_eq!(
        (&asked[0]["has_run"], &asked[0]["has_changes"]),
        (&json!(false), &json!(false))
    );
    editor
        .take_action("a.rs", 0, "Reply as agent")
        .expect("started");
    model.wait_for_requests(3);
    let running = threads(&editor, "a.rs", |list| list[0]["turn"]["running"] == true);
    let run = running[0]["turn"]["run_id"].clone();
    let turn = |fits: &dyn Fn(&Value) -> bool| {
        editor.wait_message("postil/turns", |m| {
            m["turns"]
                .as_array()
                .is_some_and(|turns| turns.iter().any(fits))
        })
    };
    turn(&|t| t["id"] == run && t["running"] == true && t["tokens"].as_u64() > Some(0));
    model.release();
    let ended = turn(&|t| t["id"] == run && t["running"] == false);
    assert_eq!(ended["turns"][0]["status"], "completed");
    assert_eq!(ended["turns"][0]["uri"], json!(editor.uri("a.rs")));

    let read = editor
        .command("postil.workflowRounds", json!({"run_id": run, "after": 0}))
        .expect("rounds");
    let rounds = read["rounds"].as_array().expect("a list").clone();
    assert_eq!(read["run"]["thread_id"], thread);
    assert_eq!(read["more"], false);
    assert_eq!(read["run"]["has_changes"], true);
    assert_eq!(read["run"]["has_edits"], true);
    assert!(rounds.len() >= 4, "{rounds:?}");
    let calls = |round: &&Value| round["calls_from"].is_u64();
    assert_eq!(rounds.iter().filter(calls).count(), 2, "{rounds:?}");
    let last = rounds.last().expect("one")["seq"].as_u64();
    let rest = editor
        .command(
            "postil.workflowRounds",
            json!({"run_id": run, "after": last}),
        )
        .expect("rounds");
    assert_eq!(rest["rounds"], json!([]));

    let changes = editor
        .command("postil.turnChanges", json!({"run_id": run}))
        .expect("changes");
    let file = &changes["files"][0];
    assert_eq!(file["uri"], json!(editor.uri("a.rs")));
    assert_eq!(file["before"], "// AUTHOR: name it b\nfn a() {}\n");
    assert_eq!(file["after"].as_str(), Some(editor.text("a.rs").as_str()));
    assert_eq!(changes["files"].as_array().map(Vec::len), Some(1));

    threads(&editor, "a.rs", |list| {
        list[0]["has_run"] == true && list[0]["has_edits"] == true
    });
    editor
        .command("postil.undoTurn", json!({"run_id": run}))
        .expect("undone");
    threads(&editor, "a.rs", |list| {
        list[0]["has_run"] == true && list[0]["has_changes"] == false
    });
}

/// Of a thread whose newest turn is undone, the one before it counts.
#[test]
fn what_an_earlier_turn_only_answered_is_nothing_to_review() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "fn a() {}\n");
    let read = |id| Step::calls(vec![call(id, "file_read", json!({"path": "a.rs"}))]);
    let model = Model::start(vec![
        Step::text("Nothing yet."),
        read("t1"),
        read("t2"),
        Step::calls(vec![call(
            "t3",
            "file_edit",
            json!({"path": "a.rs", "old_string": "fn a() {}", "new_string": "fn b() {}"}),
        )]),
        Step::text("Renamed."),
    ]);
    let env = asking(&model);
    let mut editor = start(&workspace, json!({"trusted": true, "threads": true}), env);
    editor.open("a.rs");
    editor.replace("a.rs", "fn a", "// AUTHOR: what is it?\nfn a");
    editor.wait_codes("a.rs", &["pending"]);
    let reply = |editor: &mut Editor, answer: &str, edits: bool| {
        editor
            .take_action("a.rs", 0, "Reply as agent")
            .expect("started");
        editor.wait_text("a.rs", |text| text.contains(answer));
        threads(editor, "a.rs", |list| {
            list[0]["has_changes"] == true && list[0]["has_edits"] == edits
        });
    };
    reply(&mut editor, "Nothing yet.", false);
    editor.replace("a.rs", "AUTHOR:\n", "AUTHOR: name it b\n");
    editor.wait_codes("a.rs", &["pending"]);
    reply(&mut editor, "Renamed.", true);
    assert!(editor.text("a.rs").contains("fn b"));
    threads(&editor, "a.rs", |list| list[0]["changed_turn"] == 2);
    let offered = editor.code_actions("a.rs", 0);
    let undo = offered
        .iter()
        .find(|action| action["title"] == "Undo last turn");
    let command = &undo.expect("an undo")["command"];
    let run = |editor: &mut Editor| {
        let name = command["command"].as_str().expect("a name");
        editor.command(name, command["arguments"][0].clone())
    };
    run(&mut editor).expect("undone");
    editor.wait_text("a.rs", |text| !text.contains("Renamed."));
    // As by a double click: nothing of the turn before it is taken back.
    let again = run(&mut editor).expect_err("it is undone");
    assert!(again.to_string().contains("undone already"), "{again:?}");
    let text = editor.text("a.rs");
    assert!(text.contains("Nothing yet."), "{text}");
    threads(&editor, "a.rs", |list| {
        let thread = &list[0];
        thread["turn"].is_null() && thread["changed_turn"] == 1 && thread["has_edits"] == false
    });
}

/// A question that is typed above `fn a`, and its turn begun.
fn typed_and_asked(editor: &mut Editor) {
    editor.open("a.rs");
    editor.replace("a.rs", "fn a", "// AUTHOR: what is it?\nfn a");
    editor.wait_codes("a.rs", &["pending"]);
    editor
        .take_action("a.rs", 0, "Reply as agent")
        .expect("started");
}

/// Nor before the editor has said that it made the answer.
#[test]
fn an_answer_on_its_way_is_nothing_to_review() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "fn a() {}\n");
    let model = Model::start(vec![Step::text("Nothing yet.")]);
    let env = asking(&model);
    let mut editor = start(&workspace, json!({"trusted": true, "threads": true}), env);
    editor.state().on_apply = OnApply::Ignore;
    typed_and_asked(&mut editor);
    editor.wait_message("workspace/applyEdit", |_| true);
    editor.replace("a.rs", "fn a", "fn b");
    version(&editor, "a.rs", &json!(3));
    let list = threads(&editor, "a.rs", |list| list[0]["has_changes"] == true);
    assert_eq!(list[0]["has_edits"], false);
}

/// Nor where its thread is removed, and the editor takes that back.
#[test]
fn what_was_only_answered_is_nothing_to_review_once_it_is_brought_back() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "fn a() {}\n");
    let model = Model::start(vec![Step::text("Nothing yet.")]);
    let env = asking(&model);
    let mut editor = start(&workspace, json!({"trusted": true, "threads": true}), env);
    typed_and_asked(&mut editor);
    threads(&editor, "a.rs", |list| {
        list[0]["status"] == "awaiting_user" && list[0]["turn"]["running"] == false
    });
    let before = editor.text("a.rs");
    editor
        .take_action("a.rs", 0, "Resolve (remove thread)")
        .expect("removed");
    threads(&editor, "a.rs", <[Value]>::is_empty);
    let after = editor.text("a.rs");
    // Answered once the history knows.
    let place = json!({"line": 0, "character": 0});
    let why = json!({"uri": editor.uri("a.rs"), "position": place});
    editor.command("postil.why", why).expect("answered");
    editor.splice("a.rs", 0..0, before.strip_suffix(&after).expect("lines"));
    let list = threads(&editor, "a.rs", |list| list.len() == 1);
    let thread = &list[0];
    assert_eq!(
        (&thread["has_changes"], &thread["has_edits"]),
        (&json!(true), &json!(false))
    );
}

/// Nor what a thread had that is gone and began with the same words, before that is put back.
#[test]
fn what_another_thread_had_is_nothing_to_review() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "fn a() {}\n\nfn b() {}\n");
    let model = Model::start(vec![Step::text("Nothing yet.")]);
    let env = asking(&model);
    let mut editor = start(&workspace, json!({"trusted": true, "threads": true}), env);
    typed_and_asked(&mut editor);
    threads(&editor, "a.rs", |list| {
        list[0]["status"] == "awaiting_user" && list[0]["turn"]["running"] == false
    });
    let text = editor.text("a.rs");
    let answered = &text[..text.find("fn a").expect("the code")];
    let past = |editor: &Editor| {
        let list = threads(editor, "a.rs", |list| list.len() == 1);
        (list[0]["has_run"] == true, list[0]["has_changes"] == true)
    };
    assert_eq!(past(&editor), (true, true));
    editor.replace("a.rs", answered, "");
    threads(&editor, "a.rs", <[Value]>::is_empty);
    editor.replace("a.rs", "fn b", "// AUTHOR: what is it?\nfn b");
    assert_eq!(past(&editor), (false, false));
    editor.replace("a.rs", "// AUTHOR: what is it?\nfn b", "fn b");
    threads(&editor, "a.rs", <[Value]>::is_empty);
    editor.splice("a.rs", 0..0, answered);
    assert_eq!(past(&editor), (true, true));
}

/// So that a client can show buttons for them.
#[test]
fn what_a_question_offers_is_told_with_its_thread() {
    let workspace = Workspace::new();
    let asked = "// AUTHOR: load it\n// AGENT: Which one? (a) tokio\u{202e} (b) smol\n// AUTHOR:";
    workspace.write("a.rs", format!("{asked}\nfn a() {{}}\n"));
    let mut editor = start(&workspace, json!({"threads": true}), Vec::new());
    let list = threads(&editor, "a.rs", |list| list.len() == 1);
    assert_eq!(list[0]["choices"], json!(["(a) tokio⟨U+202E⟩", "(b) smol"]));
    assert_eq!(list[0]["asks"], true);
    editor.open("a.rs");
    let document = json!({"textDocument": {"uri": editor.uri("a.rs")}});
    let lenses = editor.request("textDocument/codeLens", document);
    let lens = &lenses.expect("lenses")[0]["command"]["title"];
    assert_eq!(*lens, "asks you · Reply");
    editor.replace("a.rs", asked, &format!("{asked} (b) smol"));
    threads(&editor, "a.rs", |list| {
        list[0]["status"] == "pending"
            && list[0]["choices"] == json!([])
            && list[0]["asks"] == false
    });
}

/// Workspace Trust that is given while the window is open.
#[test]
fn trust_that_changes_counts_from_then_on() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "fn a() {}\n");
    let model = Model::start(vec![Step::text("Only looked."), Step::text("Could write.")]);
    let mut editor = start(&workspace, json!({"trusted": false}), asking(&model));
    editor.open("a.rs");
    for (question, tool) in [("one", false), ("two", true)] {
        editor.replace("a.rs", "fn a", &format!("// AUTHOR: {question}\nfn a"));
        editor
            .take_action("a.rs", 0, "Reply as agent")
            .expect("started");
        let asked = model.wait_for_requests(if tool { 2 } else { 1 });
        let tools = asked.last().expect("one").body["tools"].to_string();
        assert_eq!(tools.contains("file_edit"), tool, "{tools}");
        editor.wait_text("a.rs", |text| text.contains("AGENT:"));
        let text = editor.text("a.rs");
        editor.replace("a.rs", &text, "fn a() {}\n");
        editor.notify("postil/didChangeTrust", json!({"trusted": true}));
    }
    let state = editor.state();
    assert!(
        state
            .received
            .iter()
            .all(|m| m["method"] != "window/showMessageRequest"),
        "the editor's own answer counts, nothing is asked again"
    );
}

/// So that a client can show what stands still until the author has answered.
#[test]
fn a_turn_that_waits_for_an_answer_is_told_to_wait() {
    const QUESTION: &str = "window/showMessageRequest";
    let workspace = Workspace::new();
    workspace.write("a.rs", "// AUTHOR: list todos\nfn a() {}\n");
    let mut editor = start(
        &workspace,
        json!({"trusted": true, "threads": true}),
        vec![],
    );
    editor.state().choices = vec![NEVER.to_owned()];
    editor.open("a.rs");
    editor.wait_codes("a.rs", &["pending"]);
    editor
        .take_action("a.rs", 0, "Reply as agent")
        .expect("started");
    let told = editor.wait_message("postil/turns", |m| m["turns"][0]["waits"] == true);
    assert_eq!(told["turns"][0]["message"], "waits for your answer");
    threads(&editor, "a.rs", |list| list[0]["turn"]["waits"] == true);
    let id = editor.wait_for("the question", |state| {
        let asked = state.received.iter().find(|m| m["method"] == QUESTION);
        asked.map(|question| question["id"].clone())
    });
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"title": "Allow edits"}});
    editor.send_raw(&frame(&answer));
    let ended = threads(&editor, "a.rs", |list| {
        list[0]["status"] == "awaiting_user" && list[0]["turn"]["running"] == false
    });
    assert_eq!(ended[0]["turn"]["waits"], false);

    // It only answered: that can be undone, and there is nothing to review.
    threads(&editor, "a.rs", |list| {
        list[0]["has_changes"] == true && list[0]["has_edits"] == false
    });
    let read = editor.command(
        "postil.workflowRounds",
        json!({"run_id": ended[0]["turn"]["run_id"], "after": 0}),
    );
    assert_eq!(read.expect("rounds")["run"]["has_edits"], false);
}

#[test]
fn what_a_model_says_like_a_call_is_told_from_its_calls() {
    const SAID: &str = "file_edit {\"path\":\"b.rs\",\"old_string\":\"a\",\"new_string\":\"b\"}";
    let read = call("t1", "file_read", json!({"path": "a.rs"}));
    let model = Model::start(vec![
        Step::blocks(
            vec![
                json!({"type": "text", "text": format!("So:\n{SAID}")}),
                read,
            ],
            "tool_use",
        ),
        Step::text(SAID),
    ]);
    let workspace = Workspace::new();
    workspace.write("a.rs", "// AUTHOR: why?\nfn a() {}\n");
    let mut editor = start(&workspace, json!({"threads": true}), asking(&model));
    editor.open("a.rs");
    editor
        .take_action("a.rs", 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text("a.rs", |text| text.contains("AGENT:"));
    let ended = threads(&editor, "a.rs", |list| {
        list[0]["turn"]["running"] == false && list[0]["has_run"] == true
    });
    let read = editor.command(
        "postil.workflowRounds",
        json!({"run_id": ended[0]["turn"]["run_id"], "after": 0}),
    );
    let read = read.expect("rounds");
    let rounds = read["rounds"].as_array().expect("a list").iter();
    let said: Vec<(&str, &Value)> = rounds
        .filter(|round| round["role"] == "assistant")
        .map(|round| {
            let content = round["content"].as_str().expect("a text");
            (content, &round["calls_from"])
        })
        .collect();
    let first = format!("So:\n{SAID}\nfile_read {{\"path\":\"a.rs\"}}");
    assert_eq!(said, [(&*first, &json!(2)), (SAID, &Value::Null)]);
}

#[test]
fn code_in_an_answer_stands_as_it_was_said() {
    const ANSWER: &str = "Like so:\n```py\nif a:\n    return 1\nreturn 2\n```";
    let model = Model::start(vec![Step::text(ANSWER), Step::text("Yes.")]);
    let workspace = Workspace::new();
    workspace.write("a.py", "# AUTHOR: how?\nx = 1\n");
    let mut editor = start(&workspace, json!({"threads": true}), asking(&model));
    editor.open("a.py");
    editor
        .take_action("a.py", 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text("a.py", |text| text.contains("#   ```\n# AUTHOR:\n"));
    assert_eq!(
        editor.text("a.py"),
        "# AUTHOR: how?\n# AGENT: Like so:\n#   ```py\n#   if a:\n#       return 1\n#   return 2\n#   ```\n# AUTHOR:\nx = 1\n"
    );
    let shown = threads(&editor, "a.py", |list| {
        list.iter()
            .any(|thread| thread["messages"].as_array().is_some_and(|m| m.len() == 3))
    });
    assert_eq!(shown[0]["messages"][1]["text"], ANSWER);

    // So the author's words, which are changed as they are shown; and the model is told both so.
    let uri = editor.uri("a.py");
    let id = shown[0]["id"].clone();
    let (said, other) = ("so?\n  - a\n- b", "so?\n  - a\n  - b");
    let reply = json!({"uri": uri, "thread_id": id, "text": said});
    editor.command("postil.reply", reply).expect("said");
    let edit = json!({"uri": uri, "thread_id": id, "index": 2, "was": said, "text": other});
    editor
        .command("postil.editMessage", edit)
        .expect("rewritten");
    editor.wait_text("a.py", |text| {
        text.contains("# AUTHOR: so?\n#     - a\n#     - b\nx = 1\n")
    });
    editor
        .take_action("a.py", 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text("a.py", |text| text.contains("# AGENT: Yes.\n"));
    let asked = model.requests().pop().expect("asked").body.to_string();
    for part in ["if a:\\n        return 1", "so?\\n      - a\\n      - b"] {
        assert!(asked.contains(part), "no {part} in {asked}");
    }
}
