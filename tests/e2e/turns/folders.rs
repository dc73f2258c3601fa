//! Two folders of a workspace that hold the same words at the same place, as two clones of one project do: their
//! threads have one id, and nothing else in common.

use serde_json::{Value, json};

use super::{CODE, FILE, THREAD};
use crate::harness::{Editor, Options, Workspace};
use crate::model::{Model, Step};

/// An editor that has both folders open, trusted.
fn opened(workspace: &Workspace) -> Editor {
    let folders = Some(["one", "two"].map(|folder| workspace.path(folder)).to_vec());
    Editor::start_with(
        workspace,
        Options {
            folders,
            initialization_options: json!({"trusted": true}),
            ..Options::default()
        },
    )
}

#[test]
fn a_turn_is_undone_and_read_in_its_own_folder() {
    let workspace = Workspace::new();
    let files = ["one", "two"].map(|folder| format!("{folder}/{FILE}"));
    let asked = "// AUTHOR: rename load to load_data\n";
    for file in &files {
        workspace.write(file, CODE);
    }
    let mut editor = opened(&workspace);
    let [one, two] = &files;
    let mut ids = Vec::new();
    for file in &files {
        editor.open(file);
        editor.splice(file, 0..0, asked);
        let shown = editor.wait_codes(file, &["pending"]);
        ids.push(shown[0]["data"]["thread_id"].clone());
    }
    assert_eq!(ids[0], ids[1]);
    let of = |file: &str| json!({"uri": editor.uri(file), "thread_id": ids[0]});
    let (of_one, of_two) = (of(one), of(two));
    let answer = |editor: &mut Editor, file: &str, argument: &Value| {
        let run = editor.command("postil.replyAsAgent", argument.clone());
        let text = editor.wait_text(file, |text| text.contains("AGENT:"));
        assert!(text.contains("pub fn load_data()"), "{text}");
        editor.wait_codes(file, &["awaiting_user"]);
        run.expect("it starts")["run_id"].clone()
    };

    let first = answer(&mut editor, one, &of_one);
    // Nobody has answered the other one: nothing of it can be undone, read or shown.
    for verb in [
        "undoTurn",
        "turnChanges",
        "workflowRounds",
        "openConversation",
    ] {
        let error = editor.command(&format!("postil.{verb}"), of_two.clone());
        let error = error.expect_err(verb).to_string();
        assert!(
            error.contains("no agent has worked on this thread yet"),
            "{verb}: {error}"
        );
    }
    editor.wait_codes(two, &["pending"]);
    let second = answer(&mut editor, two, &of_two);
    assert_ne!(first, second);
    for (argument, run, file) in [(&of_one, &first, one), (&of_two, &second, two)] {
        let rounds = editor.command("postil.workflowRounds", argument.clone());
        let told = &rounds.expect("rounds")["run"];
        assert_eq!(&told["id"], run);
        assert_eq!(told["uri"], editor.uri(file));
        let changes = editor.command("postil.turnChanges", argument.clone());
        let changes = changes.expect("changes");
        assert_eq!(changes["files"][0]["uri"], editor.uri(file), "{changes}");
    }
    // Without its file it may be either.
    for verb in ["undoTurn", "openConversation"] {
        let bare = json!({"thread_id": ids[0]});
        let error = editor.command(&format!("postil.{verb}"), bare);
        let error = error.expect_err(verb).to_string();
        let path = |file: &str| workspace.path(file).to_string_lossy().into_owned();
        assert!(
            error.contains(&path(one)) && error.contains(&path(two)),
            "{verb}: {error}"
        );
    }
    assert!(editor.text(one).contains("AGENT:"));
    editor.command("postil.undoTurn", of_two).expect("undone");
    let text = editor.wait_text(two, |text| !text.contains("AGENT"));
    assert_eq!(text, format!("{asked}{CODE}"));
    assert!(editor.text(one).contains("AGENT:"));
}

#[test]
fn a_thread_in_a_folder_within_another_is_listed_once_by_the_id_that_it_has() {
    let workspace = Workspace::new();
    workspace.write("top.rs", "// AUTHOR: why?\n");
    workspace.write("sub/src/a.rs", "// AUTHOR: how?\n");
    workspace.write("sub/b.rs", "// AUTHOR: who?\n");
    let (outer, inner) = (workspace.root().to_owned(), workspace.path("sub"));
    for folders in [vec![outer.clone(), inner.clone()], vec![inner, outer]] {
        let first = folders[0].clone();
        let mut editor = Editor::start_with(
            &workspace,
            Options {
                folders: Some(folders),
                ..Options::default()
            },
        );
        let mut list = |argument: Value| -> Vec<Value> {
            let list = editor.command("postil.listThreads", argument);
            let list = list.expect("a list");
            let threads = list["threads"].as_array().expect("threads");
            threads.iter().map(|one| one["id"].clone()).collect()
        };
        let all = list(json!({}));
        let below = list(json!({"path": workspace.path("sub")}));
        let above = list(json!({"path": workspace.root()}));
        let relative = list(json!({"path": "."}));
        let shown: Vec<Value> = ["top.rs", "sub/b.rs", "sub/src/a.rs"]
            .map(|file| editor.diagnostics(file)[0]["data"]["thread_id"].clone())
            .into();
        let sorted = |mut ids: Vec<Value>| {
            ids.sort_by_key(Value::to_string);
            ids
        };
        assert_eq!(sorted(all), sorted(shown.clone()));
        assert_eq!(sorted(above), sorted(shown.clone()));
        assert_eq!(sorted(below), sorted(shown[1..].to_vec()));
        let is_outer = first == workspace.root();
        assert_eq!(relative.len(), if is_outer { 3 } else { 2 });
    }
}

#[test]
fn an_id_that_two_folders_have_is_of_none_without_its_file() {
    let workspace = Workspace::new();
    let files = ["one", "two"].map(|folder| format!("{folder}/{FILE}"));
    let text = format!("// AUTHOR: why?\n{CODE}");
    for file in &files {
        workspace.write(file, &text);
    }
    let folders = Some(["one", "two"].map(|folder| workspace.path(folder)).to_vec());
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            folders,
            ..Options::default()
        },
    );
    let [one, two] = &files;
    editor.wait_codes(two, &["pending"]);
    let shown = editor.wait_codes(one, &["pending"]);
    let mut said = json!({"thread_id": shown[0]["data"]["thread_id"], "text": "So?"});
    let refused = editor.command("postil.reply", said.clone());
    let refused = refused.expect_err("which one?").to_string();
    for part in [
        "ambiguous",
        &workspace.path(one).to_string_lossy(),
        &workspace.path(two).to_string_lossy(),
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    assert_eq!(workspace.read(one), text);
    assert_eq!(workspace.read(two), text);
    said["uri"] = json!(editor.uri(two));
    editor.command("postil.reply", said).expect("written");
    assert_eq!(workspace.read(one), text);
    assert!(workspace.read(two).contains("So?"));
}

#[test]
fn a_reply_in_one_folder_makes_no_question_of_the_other_the_authors() {
    let workspace = Workspace::new();
    let files = ["one", "two"].map(|folder| format!("{folder}/{FILE}"));
    for file in &files {
        workspace.write(file, format!("// AUTHOR: rename load to load_data\n{CODE}"));
    }
    let mut editor = opened(&workspace);
    let [one, two] = files.map(|file| {
        editor.open(&file);
        let shown = editor.wait_codes(&file, &["pending"]);
        json!({"uri": editor.uri(&file), "thread_id": shown[0]["data"]["thread_id"]})
    });
    assert_eq!(one["thread_id"], two["thread_id"]);
    let mut said = two;
    said["text"] = json!("I mean it");
    editor.command("postil.reply", said).expect("it is said");
    editor.state().choices = vec![String::from("Read-only")];
    let begun = editor.command("postil.replyAsAgent", one);
    begun.expect("the turn starts");
    editor.wait_message("window/showMessageRequest", |params| {
        let asked = params["message"].as_str();
        asked.is_some_and(|asked| asked.contains("not typed here"))
    });
}

/// Each folder has its history, so that the run stays where it began; what the author sees is the answer.
#[test]
fn a_turn_answers_in_the_other_folder_that_its_file_went_to() {
    for is_renamed in [false, true] {
        let model = Model::start(vec![
            Step::text("Because of the wire.").held(),
            Step::text("So it is."),
        ]);
        let workspace = Workspace::new();
        let (old, new) = (format!("one/{FILE}"), "two/net.rs");
        workspace.write(&old, CODE);
        workspace.write("two/other.rs", CODE);
        let folders = Some(["one", "two"].map(|folder| workspace.path(folder)).to_vec());
        let mut editor = Editor::start_with(
            &workspace,
            Options {
                folders,
                env: model.env(),
                initialization_options: json!({"trusted": true}),
                ..Options::default()
            },
        );
        editor.open(&old);
        editor.splice(&old, 0..0, THREAD);
        editor.wait_codes(&old, &["pending"]);
        editor
            .take_action(&old, 0, "Reply as agent")
            .expect("the turn starts");
        model.wait_for_requests(1);
        let text = editor.text(&old);
        workspace.write(new, &text);
        if is_renamed {
            std::fs::remove_file(workspace.path(&old)).expect("it was there");
        }
        editor.close(&old);
        editor.open_text(new, "rust", &text);
        if is_renamed {
            let files = json!({"files": [{"oldUri": editor.uri(&old), "newUri": editor.uri(new)}]});
            editor.notify("workspace/didRenameFiles", files);
        } else {
            editor.save(new);
        }
        editor.splice(new, 0..0, "// mine\n");
        editor.diagnostics(new);
        model.release();
        let text = editor.wait_text(new, |text| text.contains("AGENT: Because of the wire."));
        assert!(text.starts_with("// mine\n// AUTHOR: should"), "{text}");
        editor.wait_saying(
            "window/showMessage",
            "into a folder with a history of its own",
        );
        match is_renamed {
            true => assert!(!workspace.path(&old).exists()),
            false => assert_eq!(workspace.read(&old), CODE),
        }
        // The talk goes on there, and what was typed before counts as typed.
        let shown = editor.wait_codes(new, &["awaiting_user"]);
        let id = &shown[0]["data"]["thread_id"];
        let said = json!({"uri": editor.uri(new), "thread_id": id, "text": "Is it?"});
        editor.command("postil.reply", said).expect("it is said");
        let again = json!({"uri": editor.uri(new), "thread_id": id});
        let again = editor.command("postil.replyAsAgent", again);
        again.expect("a turn of that folder");
        editor.wait_text(new, |text| text.contains("AGENT: So it is."));
        assert!(!editor.state().received.iter().any(|m| {
            m["params"]["message"]
                .to_string()
                .contains("not typed here")
        }));
    }
}

#[test]
fn a_running_turn_is_hinted_at_in_its_own_folder() {
    let model = Model::start(vec![Step::text("So.").held()]);
    let workspace = Workspace::new();
    let files = ["one", "two"].map(|folder| format!("{folder}/{FILE}"));
    for file in &files {
        workspace.write(file, format!("{THREAD}{CODE}"));
    }
    let folders = Some(["one", "two"].map(|folder| workspace.path(folder)).to_vec());
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            capabilities: json!({"textDocument": {"inlayHint": {"dynamicRegistration": false}}}),
            folders,
            env: model.env(),
            initialization_options: json!({"trusted": true}),
            ..Options::default()
        },
    );
    for file in &files {
        editor.open(file);
        editor.wait_codes(file, &["pending"]);
    }
    let [one, two] = &files;
    editor
        .take_action(one, 0, "Plan only (read-only)")
        .expect("the turn starts");
    model.wait_for_requests(1);
    let mut hints = |file: &str| {
        let range =
            json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
        let params = json!({"textDocument": {"uri": editor.uri(file)}, "range": range});
        let hints = editor.request("textDocument/inlayHint", params);
        hints.expect("hints").as_array().map(Vec::len)
    };
    assert_eq!((hints(one), hints(two)), (Some(1), Some(0)));
    model.release();
}

#[test]
fn the_history_of_both_folders_is_searched_and_listed() {
    let workspace = Workspace::new();
    for folder in ["one", "two"] {
        let asked = "// AUTHOR: where is load used?\nfn load() {}\n";
        workspace.write(&format!("{folder}/{folder}.rs"), asked);
        let mut command = workspace.postil();
        command.current_dir(workspace.path(folder));
        command.args(["reply", "--all", "--model", "offline"]);
        assert!(command.output().expect("postil runs").status.success());
    }
    let mut editor = opened(&workspace);
    let mut found = |limit: usize| {
        let words = json!({"words": "where used", "limit": limit});
        let hits = editor.command("postil.workflowSearch", words);
        hits.expect("hits").as_array().expect("hits").clone()
    };
    let all = found(100);
    let newest = found(1);
    assert_eq!((&newest[0], newest.len()), (&all[0], 1));
    assert_eq!(newest[0]["file"], "two.rs", "{all:?}");
    assert_eq!(all.last().expect("hits")["file"], "one.rs", "{all:?}");

    // The beginning of an id is as good as elsewhere, also where one folder has no such thread.
    let mut list = |id: &str| editor.command("postil.workflowList", json!({"thread_id": id}));
    let id = all.last().expect("hits")["thread_id"]
        .as_str()
        .expect("an id");
    let runs = list(&id[..6]).expect("runs");
    assert_eq!(runs.as_array().map(Vec::len), Some(1), "{runs}");
    assert_eq!(runs[0]["thread_id"], id);
    assert_eq!(list(id).expect("runs"), runs);
    let error = list("fffff").expect_err("there is none").to_string();
    assert!(error.contains("unknown_thread"), "{error}");
}
