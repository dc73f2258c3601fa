//! A turn while it runs: lens, hint, hover and the conversation show what it does.

use serde_json::{Value, json};

use crate::harness::{Editor, OnApply, Options, Workspace};
use crate::model::{Model, Step, call};

const CODE: &str = "// AUTHOR: like @src/net.rs?\nfn a() {}\n";

fn start(workspace: &Workspace, model: &Model) -> Editor {
    let capabilities = json!({
        "textDocument": {"inlayHint": {"dynamicRegistration": false}},
        "workspace": {
            "codeLens": {"refreshSupport": true},
            "inlayHint": {"refreshSupport": true},
            "textDocumentContent": {"dynamicRegistration": false},
        },
    });
    let editor = Editor::start_with(
        workspace,
        Options {
            capabilities,
            env: model.env(),
            initialization_options: json!({"trusted": true}),
            ..Options::default()
        },
    );
    editor.open("a.rs");
    editor
}

fn asked(editor: &mut Editor, method: &str, more: Value) -> Value {
    let mut params = json!({"textDocument": {"uri": editor.uri("a.rs")}});
    for (name, value) in more.as_object().expect("an object") {
        params[name] = value.clone();
    }
    editor.request(method, params).expect(method)
}

#[test]
fn a_running_turn_is_shown_beside_its_thread() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    workspace.write("src/net.rs", "fn connect() {}\n");
    let todos = json!({"todos": [
        {"id": "1", "title": "Read net.rs", "status": "completed"},
        {"id": "2", "title": "Compare", "status": "in_progress"},
    ]});
    let model = Model::start(vec![
        Step::calls(vec![
            call("t1", "file_read", json!({"path": "src/net.rs"})),
            call("t2", "todo_write", todos),
        ]),
        Step::text("Like it.").held(),
    ]);
    let mut editor = start(&workspace, &model);
    assert_eq!(editor.capabilities["inlayHintProvider"], true);
    assert_eq!(
        editor.capabilities["workspace"]["textDocumentContent"]["schemes"],
        json!(["postil"])
    );
    let range = json!({"range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}});
    assert_eq!(
        asked(&mut editor, "textDocument/inlayHint", range.clone()),
        json!([])
    );
    editor
        .take_action("a.rs", 0, "Plan only (read-only)")
        .expect("started");
    model.wait_for_requests(2);

    // The editor is told to ask again; what it then hears is what the turn does.
    let count = |editor: &Editor, method: &str| {
        editor
            .state()
            .received
            .iter()
            .filter(|m| m["method"] == method)
            .count()
    };
    let began = std::time::Instant::now();
    let lens = loop {
        let lenses = asked(&mut editor, "textDocument/codeLens", json!({}));
        let title = lenses[0]["command"]["title"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if title.contains("tokens") {
            break title;
        }
        assert!(began.elapsed() < crate::harness::DEADLINE, "{lenses}");
    };
    assert!(lens.ends_with(" · Cancel"), "{lens}");
    editor.wait_for("the refreshes", |state| {
        let has = |method: &str| state.received.iter().any(|m| m["method"] == method);
        (has("workspace/codeLens/refresh") && has("workspace/inlayHint/refresh")).then_some(())
    });
    let hints = asked(&mut editor, "textDocument/inlayHint", range.clone());
    assert_eq!(hints[0]["position"], json!({"line": 0, "character": 28}));
    assert!(
        hints[0]["label"]
            .as_str()
            .is_some_and(|label| label.starts_with("⟳ ")),
        "{hints}"
    );
    assert!(
        hints[0]["tooltip"]
            .as_str()
            .is_some_and(|tip| tip.contains("tokens")),
        "{hints}"
    );
    let elsewhere = json!({"range": {"start": {"line": 1, "character": 0}, "end": {"line": 9, "character": 0}}});
    assert_eq!(
        asked(&mut editor, "textDocument/inlayHint", elsewhere),
        json!([])
    );

    let hover = asked(
        &mut editor,
        "textDocument/hover",
        json!({"position": {"line": 0, "character": 5}}),
    );
    let text = hover["contents"]["value"]
        .as_str()
        .expect("a text")
        .to_owned();
    for words in [
        "running: ",
        "1020 tokens",
        "$0.0",
        "[2] in_progress: Compare",
        "[conversation](<postil://run/",
        "[src/net.rs](<file:///",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }

    // The conversation is a virtual document, kept fresh while the turn runs.
    let run = editor
        .take_action("a.rs", 0, "Open conversation")
        .expect("opened");
    let uri = run["uri"].as_str().expect("a URI").to_owned();
    assert!(uri.starts_with("postil://run/"), "{uri}");
    editor.wait_message("window/showDocument", |params| params["uri"] == uri);
    let content = editor
        .request("workspace/textDocumentContent", json!({"uri": uri}))
        .expect("a text");
    assert!(
        content["text"]
            .as_str()
            .is_some_and(|text| text.contains("file_read")),
        "{content}"
    );
    let refreshed = count(&editor, "workspace/textDocumentContent/refresh");
    model.release();
    editor.wait_text("a.rs", |text| text.contains("AGENT: Like it."));
    editor.wait_for("the refreshed conversation", |state| {
        let all = state.received.iter().filter(|m| {
            m["method"] == "workspace/textDocumentContent/refresh" && m["params"]["uri"] == uri
        });
        (all.count() > refreshed).then_some(())
    });
    let began = std::time::Instant::now();
    loop {
        let content = editor
            .request("workspace/textDocumentContent", json!({"uri": uri}))
            .expect("a text");
        let text = content["text"].as_str().expect("a text");
        if text.contains("completed") && text.contains("Like it.") {
            break;
        }
        assert!(began.elapsed() < crate::harness::DEADLINE, "{text}");
    }
    // The history has its end a moment before the margin, which is told to be asked again.
    let began = std::time::Instant::now();
    loop {
        let hints = asked(&mut editor, "textDocument/inlayHint", range.clone());
        if hints == json!([]) {
            break;
        }
        assert!(began.elapsed() < crate::harness::DEADLINE, "{hints}");
    }
    for wrong in [
        "postil://run/",
        "postil://run/ffffffff",
        "postil://other/x",
        "file:///etc/passwd",
        "postil:run",
    ] {
        editor
            .request("workspace/textDocumentContent", json!({"uri": wrong}))
            .expect_err(wrong);
    }
    assert_eq!(model.take_faults(), Vec::<String>::new());
}

#[test]
fn an_editor_that_shows_no_documents_is_told_where_the_conversation_is() {
    // It has no such request; or it says that it could not.
    for capabilities in [json!({"window": {"showDocument": null}}), json!({})] {
        let workspace = Workspace::new();
        workspace.write("a.rs", "// AUTHOR: where is `a` used?\nfn a() {}\n");
        let mut editor = Editor::start_with(
            &workspace,
            Options {
                capabilities,
                env: vec![("POSTIL_MODEL".into(), "offline".into())],
                ..Options::default()
            },
        );
        editor.state().shows_no_documents = true;
        editor.open("a.rs");
        editor.wait_codes("a.rs", &["pending"]);
        editor
            .take_action("a.rs", 0, "Reply as agent")
            .expect("begun");
        editor.wait_codes("a.rs", &["awaiting_user"]);
        editor
            .take_action("a.rs", 0, "Open conversation")
            .expect("opened");
        let told = editor.wait_message("window/showMessage", |params| {
            let text = params["message"].as_str().unwrap_or_default();
            text.starts_with("postil: The conversation is in ")
        });
        let text = told["message"].as_str().expect("a text");
        let path = text.trim_start_matches("postil: The conversation is in ");
        let read = std::fs::read_to_string(path).expect("the conversation");
        assert!(read.contains("where is `a` used?"), "{read}");
    }
}

#[test]
fn a_verb_for_all_threads_that_finds_none_says_so() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "fn a() {}\n");
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    for (verb, said) in [
        ("postil.replyAll", "postil: No thread waits for an agent."),
        (
            "postil.processActions",
            "postil: No thread says `done` or `commit`.",
        ),
    ] {
        editor.command(verb, json!({})).expect("nothing to do");
        editor.wait_message("window/showMessage", |params| params["message"] == said);
    }
}

/// An editor takes with each save all of a kind that it is set to, by a repository perhaps.
#[test]
fn what_begins_turns_or_commits_is_offered_to_a_hand_alone() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "// AUTHOR: why?\nfn a() {}\n");
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    editor.wait_codes("a.rs", &["pending"]);
    let at = json!({"line": 0, "character": 0});
    let uri = editor.uri("a.rs");
    let mut offered = |context: Value| {
        let params = json!({"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": context});
        let answer = editor.request("textDocument/codeAction", params);
        let actions = answer.expect("actions");
        let kinds = actions.as_array().expect("a list").iter();
        let is_source = |action: &&Value| {
            let kind = action["kind"].as_str().unwrap_or_default();
            kind.starts_with("source.postil")
        };
        (kinds.clone().filter(is_source).count(), kinds.len())
    };
    for only in ["source", "source.postil", "source.postil.clearAndCommit"] {
        let untold = json!({"diagnostics": [], "only": [only]});
        assert_eq!(offered(untold), (0, 0), "{only}");
    }
    for only in ["source", "source.postil", "quickfix", "refactor", ""] {
        let of_a_save = json!({"diagnostics": [], "only": [only], "triggerKind": 2});
        assert_eq!(offered(of_a_save), (0, 0), "{only}");
    }
    // The light bulb.
    let (sources, all) = offered(json!({"diagnostics": [], "triggerKind": 2}));
    assert!(sources == 0 && all > 0);
    let by_hand = json!({"diagnostics": [], "only": ["source"], "triggerKind": 1});
    assert_eq!(offered(by_hand), (2, 2));
    assert_eq!(offered(json!({"diagnostics": []})).0, 2);
}

#[test]
fn lenses_of_several_threads_on_one_line_say_whose_they_are() {
    let workspace = Workspace::new();
    let code = "fn a() {} /* AUTHOR: why? */ // AUTHOR: since when, and for how much longer shall it stay?\nfn b() {} // AUTHOR: alone\n";
    workspace.write("a.rs", code);
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    let document = json!({"textDocument": {"uri": editor.uri("a.rs")}});
    let lenses = editor
        .request("textDocument/codeLens", document)
        .expect("lenses");
    let all = lenses.as_array().expect("a list").iter();
    let titles: Vec<&str> = all.filter_map(|l| l["command"]["title"].as_str()).collect();
    assert_eq!(
        titles,
        [
            "why?: Reply as agent",
            "Resolve",
            "since when, and for how much…: Reply as agent",
            "Resolve",
            "Reply as agent",
            "Resolve",
        ]
    );
}

/// As Neovim does while a completion is open.
#[test]
fn an_edit_that_finds_the_author_busy_is_made_again() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    let model = Model::start(Vec::new());
    let mut editor = start(&workspace, &model);
    editor.state().on_apply = OnApply::BusyOnce;
    let position = json!({"line": 1, "character": 0});
    let argument = json!({"uri": editor.uri("a.rs"), "position": position, "text": "why?"});
    editor
        .command("postil.newThread", argument)
        .expect("written");
    let text = editor.text("a.rs");
    assert_eq!(text.matches("// AUTHOR: why?\n").count(), 1, "{text}");
}

/// As VS Code is where a file's text takes an edit and is never saved.
#[test]
fn an_edit_of_a_buffer_that_is_read_only_is_not_tried_again() {
    let workspace = Workspace::new();
    workspace.write("a.rs", CODE);
    let model = Model::start(Vec::new());
    let mut editor = start(&workspace, &model);
    editor.open("a.rs");
    editor.state().on_apply = OnApply::ReadOnly;
    let position = json!({"line": 1, "character": 0});
    let argument = json!({"uri": editor.uri("a.rs"), "position": position, "text": "why?"});
    let refused = editor
        .command("postil.newThread", argument)
        .expect_err("read-only");
    assert_eq!(
        refused["message"],
        "a.rs: the editor refused the edit: it is read-only here; nothing was written"
    );
}
