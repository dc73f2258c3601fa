//! `turn.review = "ask"`: edits are gathered, shown, and made as far as the author agrees.

use serde_json::{Value, json};

use super::{Bench, CODE, FILE, THREAD, rename, type_at};
use crate::harness::{Editor, NEVER, OnApply, Options, UNKNOWN, frame};
use crate::model::{Step, call};

mod nobody; // is there to answer
mod renames; // of files

const OTHER: &str = "src/main.rs";
const MAIN: &str = "fn main() {\n    load();\n}\n";

/// Renames in the open file and in one on disk, building each edit on the one before.
fn script() -> Vec<Step> {
    vec![
        Step::calls(vec![
            call("toolu_1", "file_read", json!({"path": FILE})),
            call("toolu_o", "file_read", json!({"path": OTHER})),
        ]),
        rename(),
        Step::calls(vec![
            call(
                "toolu_3",
                "file_edit",
                json!({"path": FILE, "old_string": "load_data()", "new_string": "load_all()"}),
            ),
            call(
                "toolu_4",
                "file_edit",
                json!({"path": OTHER, "old_string": "load()", "new_string": "load_all()"}),
            ),
            call("toolu_5", "grep", json!({"pattern": "load_all"})),
        ]),
    ]
}

impl Bench {
    fn asking(extra: Vec<Step>) -> Self {
        let mut steps = script();
        steps.extend(extra);
        let bench = Self::new(steps);
        bench.workspace.write(OTHER, MAIN);
        bench.workspace.configure("[turn]\nreview = 'ask'\n");
        bench
    }

    fn previewing(&self) -> Editor {
        let annotations = json!({"groupsOnLabel": true});
        let capabilities =
            json!({"workspace": {"workspaceEdit": {"changeAnnotationSupport": annotations}}});
        self.with(capabilities, json!({"trusted": true}))
    }

    /// A client that shows reviews in a way of its own.
    fn reviewing(&self) -> Editor {
        self.with(json!({}), json!({"trusted": true, "reviews": true}))
    }

    fn with(&self, capabilities: Value, initialization_options: Value) -> Editor {
        let editor = Editor::start_with(
            &self.workspace,
            Options {
                env: self.env(),
                initialization_options,
                capabilities,
                ..Options::default()
            },
        );
        editor.open(FILE);
        type_at(&editor, 0, THREAD);
        editor.wait_codes(FILE, &["pending"]);
        editor
    }
}

#[test]
fn what_is_shown_has_another_name_than_what_an_editor_may_show_already() {
    let edit = |id: &str, old: &str, new: &str| {
        let change = json!({"path": FILE, "old_string": old, "new_string": new});
        Step::calls(vec![call(id, "file_edit", change)])
    };
    let bench = Bench::new(vec![
        Step::calls(vec![call("toolu_1", "file_read", json!({"path": FILE}))]),
        edit("toolu_2", "load()", "load_data()"),
        Step::text("Renamed."),
        Step::calls(vec![call("toolu_3", "file_read", json!({"path": FILE}))]),
        edit("toolu_4", "load_data()", "load_all()"),
        Step::text("Renamed again."),
    ]);
    bench.workspace.configure("[turn]\nreview = 'ask'\n");
    let mut editor = bench.typed();
    editor.state().choices = vec![String::from("Accept"), String::from("Accept")];
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT: Renamed."));
    bench.wait_status("completed");
    let end = text.find("// AUTHOR:\n").expect("a line to go on") + "// AUTHOR:".len();
    editor.splice(FILE, end..end, " and load_all?");
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("AGENT: Renamed again."));
    let shown: Vec<String> = editor
        .state()
        .received
        .iter()
        .filter(|m| m["method"] == "window/showDocument")
        .filter_map(|m| m["params"]["uri"].as_str()?.strip_prefix("file://"))
        .map(|path| std::fs::read_to_string(path).expect("what is shown"))
        .collect();
    let [first, second] = shown.as_slice() else {
        panic!("{shown:?}");
    };
    assert!(first.contains("+pub fn load_data()"), "{first}");
    assert!(second.contains("+pub fn load_all()"), "{second}");
}

#[test]
fn reviewed_edits_are_made_when_all_are_accepted_and_not_before() {
    let bench = Bench::asking(vec![Step::text("Renamed.").held()]);
    let mut editor = bench.typed();
    editor.state().choices = vec![String::from("Accept all")];
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let asked = bench.model.wait_for_requests(4);
    assert!(
        asked[3].results().iter().all(|(.., is_error)| !is_error),
        "{:?}",
        asked[3].results()
    );
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
    assert_eq!(bench.workspace.read(OTHER), MAIN);
    bench.model.release();
    let text = editor.wait_text(FILE, |text| text.contains("AGENT:"));
    assert!(
        text.contains("// AGENT: Renamed.") && text.contains("pub fn load_all()"),
        "{text}"
    );
    assert_eq!(
        bench.workspace.read(OTHER),
        MAIN.replace("load", "load_all")
    );
    let question = editor.wait_message("window/showMessageRequest", |_| true);
    let question = question["message"].as_str().unwrap().to_owned();
    assert!(
        question.contains("src/main.rs (+1 −1), src/net.rs (+1 −1)"),
        "{question}"
    );
    let shown = editor.wait_message("window/showDocument", |m| {
        m["uri"].as_str().is_some_and(|uri| uri.ends_with(".diff"))
    });
    let path = shown["uri"]
        .as_str()
        .unwrap()
        .strip_prefix("file://")
        .unwrap()
        .to_owned();
    let diff = std::fs::read_to_string(path).expect("the diff");
    assert!(
        diff.contains("-pub fn load() -> u32 {\n+pub fn load_all() -> u32 {"),
        "{diff}"
    );
    // One undo takes all of it back.
    let run = bench.wait_status("completed");
    editor
        .command("postil.undoTurn", json!({"run_id": run["id"]}))
        .expect("undone");
    assert_eq!(
        editor.wait_text(FILE, |t| !t.contains("AGENT")),
        format!("{THREAD}{CODE}")
    );
    assert_eq!(bench.workspace.read(OTHER), MAIN);
}

#[test]
fn reviewed_edits_are_chosen_by_file_and_the_model_is_told() {
    let bench = Bench::asking(vec![
        Step::text("Renamed."),
        Step::text("Renamed it in net.rs alone."),
    ]);
    let mut editor = bench.typed();
    editor.state().choices = ["Choose by file", "Reject", "Accept"]
        .map(String::from)
        .to_vec();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT:"));
    assert!(
        text.contains("// AGENT: Renamed it in net.rs alone.")
            && text.contains("pub fn load_all()"),
        "{text}"
    );
    assert_eq!(bench.workspace.read(OTHER), MAIN);
    let told = bench.model.requests()[4].prompt();
    assert!(
        told.contains("src/main.rs: not changed, the author did not want it\nsrc/net.rs: changed"),
        "{told}"
    );
}

/// Waits until the thread's diagnostic asks this.
fn asked_at_thread(editor: &Editor, question: &str) {
    let message = format!("asks you: {question}");
    editor.wait_diagnostics(FILE, |list| list.iter().any(|d| d["message"] == message));
}

const WANTS: &str = "The agent wants to change src/main.rs (+1 −1), src/net.rs (+1 −1).";

#[test]
fn an_editor_that_shows_no_questions_has_them_at_the_thread() {
    let bench = Bench::asking(vec![
        Step::text("Renamed."),
        Step::text("Renamed it in net.rs alone."),
    ]);
    let mut editor = bench.typed();
    editor.state().choices = vec![String::from(UNKNOWN)];
    let take = |editor: &mut Editor, title: &str| {
        let taken = editor.take_action(FILE, 0, title);
        taken.expect("it is taken")
    };
    take(&mut editor, "Reply as agent");
    asked_at_thread(&editor, WANTS);
    let told = format!(
        "postil: {WANTS} Answer at the thread in net.rs: its code actions have Accept all, Choose by file, Reject."
    );
    editor.wait_message("window/showMessage", |m| m["message"] == told.as_str());
    take(&mut editor, "Choose by file");
    asked_at_thread(&editor, "Change src/main.rs (+1 −1)?");
    let mut old = editor.code_actions(FILE, 0);
    old.retain(|action| action["title"] == "Accept");
    take(&mut editor, "Reject");
    asked_at_thread(&editor, "Change src/net.rs (+1 −1)?");
    take(&mut editor, "Accept");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT:"));
    assert!(
        text.contains("// AGENT: Renamed it in net.rs alone.")
            && text.contains("pub fn load_all()"),
        "{text}"
    );
    assert_eq!(bench.workspace.read(OTHER), MAIN);

    // From a menu that stood open all the time.
    bench.wait_status("completed");
    let command = &old[0]["command"];
    let refused = editor
        .command("postil.choose", command["arguments"][0].clone())
        .expect_err("nothing is asked");
    let why = refused["message"].as_str().unwrap_or_default();
    assert!(
        why.starts_with("this question is not open any more"),
        "{why}"
    );
    assert_eq!(editor.text(FILE), text);
}

#[test]
fn a_question_at_the_thread_goes_with_its_turn() {
    let bench = Bench::asking(vec![Step::text("Renamed.")]);
    let mut editor = bench.typed();
    editor.state().choices = vec![String::from(UNKNOWN)];
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    asked_at_thread(&editor, WANTS);
    editor
        .take_action(FILE, 0, "Cancel")
        .expect("it is cancelled");
    bench.wait_status("cancelled");
    editor.wait_diagnostics(FILE, |list| {
        let message = |d: &Value| d["message"].as_str().unwrap_or_default().to_owned();
        list.iter().all(|d| !message(d).starts_with("asks you"))
    });
    let actions = editor.code_actions(FILE, 0);
    assert!(
        actions.iter().all(|action| action["title"] != "Accept all"),
        "{actions:?}"
    );
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
    assert_eq!(bench.workspace.read(OTHER), MAIN);
}

#[test]
fn rejected_edits_and_edits_that_nobody_looks_at_change_nothing() {
    for headless in [false, true] {
        let bench = Bench::asking(vec![
            Step::text("Renamed."),
            Step::text("Nothing was changed."),
        ]);
        if headless {
            bench.workspace.write(FILE, format!("{THREAD}{CODE}"));
            assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
            let (code, out, err) = bench.cli(&["reply", "--all", "--yes"]);
            assert_eq!(code, Some(1), "{out}{err}");
            assert!(bench.workspace.read(FILE).contains("pub fn load() -> u32"));
        } else {
            let mut editor = bench.typed();
            editor.state().choices = vec![String::from("Reject")];
            editor
                .take_action(FILE, 0, "Reply as agent")
                .expect("the turn starts");
            let text = editor.wait_text(FILE, |text| text.contains("AGENT:"));
            assert!(
                text.ends_with(CODE) && text.contains("Nothing was changed."),
                "{text}"
            );
        }
        assert_eq!(bench.workspace.read(OTHER), MAIN);
    }
}

#[test]
fn an_editor_with_annotations_previews_what_is_open_and_makes_what_is_ticked() {
    for ticked in [true, false] {
        let bench = Bench::asking(vec![Step::text("Renamed."), Step::text("As you wish.")]);
        let mut editor = bench.previewing();
        editor.state().ticked = Some(ticked.then(|| String::from("net.rs")).into_iter().collect());
        editor.state().choices = vec![String::from("Accept")];
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("the turn starts");
        let text = editor.wait_text(FILE, |text| text.contains("AGENT:"));
        assert_eq!(text.contains("pub fn load_all()"), ticked, "{text}");
        assert_eq!(text.contains("As you wish."), !ticked, "{text}");
        assert_eq!(
            bench.workspace.read(OTHER),
            MAIN.replace("load", "load_all")
        );
        let preview = editor.wait_message("workspace/applyEdit", |m| {
            m["edit"]["changeAnnotations"].is_object()
        });
        let edit = &preview["edit"];
        let id = edit["documentChanges"][0]["edits"][0]["annotationId"]
            .as_str()
            .expect("an annotation");
        assert_eq!(
            edit["changeAnnotations"][id],
            json!({"label": "postil: net.rs", "description": "src", "needsConfirmation": true})
        );
        if !ticked {
            let told = bench.model.requests()[4].prompt();
            assert!(
                told.contains("src/net.rs: not changed, the author did not want it"),
                "{told}"
            );
        }
    }
}

/// coc.nvim says that it confirms edits, and shows of them only their name.
#[test]
fn an_editor_that_shows_nothing_of_a_preview_gets_the_diff_and_a_question() {
    let bench = Bench::asking(vec![Step::text("Renamed.")]);
    let annotations = json!({"groupsOnLabel": false});
    let mut editor = Editor::start_with(
        &bench.workspace,
        Options {
            env: bench.env(),
            initialize: false,
            ..Options::default()
        },
    );
    let mut params = editor.initialize_params(&Options {
        initialization_options: json!({"trusted": true}),
        capabilities: json!({"workspace": {"workspaceEdit": {"changeAnnotationSupport": annotations}}}),
        ..Options::default()
    });
    params["clientInfo"] = json!({"name": "coc.nvim", "version": "0.0.82"});
    editor.request("initialize", params).expect("initialized");
    editor.notify("initialized", json!({}));
    editor.open(FILE);
    type_at(&editor, 0, THREAD);
    editor.wait_codes(FILE, &["pending"]);
    editor.state().choices = vec![String::from("Accept all")];
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT: Renamed."));
    assert!(text.contains("pub fn load_all()"), "{text}");
    let shown = editor.wait_message("window/showDocument", |m| m["uri"].is_string());
    let uri = shown["uri"].as_str().expect("a name");
    let diff = std::fs::read_to_string(uri.trim_start_matches("file://")).expect("a diff");
    assert!(diff.contains("+pub fn load_all()"), "{diff}");
    let state = editor.state();
    assert!(
        !state
            .received
            .iter()
            .any(|m| m["params"]["edit"]["changeAnnotations"].is_object()),
        "no preview"
    );
}

#[test]
fn where_the_diff_could_not_be_shown_the_question_names_its_file() {
    let bench = Bench::asking(vec![Step::text("Renamed.")]);
    let mut editor = bench.typed();
    editor.state().shows_no_documents = true;
    editor.state().choices = vec![String::from("Accept all")];
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("AGENT: Renamed."));
    let asked = editor.wait_message("window/showMessageRequest", |_| true);
    let asked = asked["message"].as_str().expect("a text");
    let (file, _) = asked
        .split_once(" has what the agent wants to change")
        .expect("its name");
    let diff = std::fs::read_to_string(file).expect("the diff");
    assert!(diff.contains("+pub fn load_all()"), "{diff}");
}

#[test]
fn what_was_refused_in_a_preview_is_not_offered_to_be_taken_back() {
    let change = json!({"path": FILE, "old_string": "load()", "new_string": "load_data()"});
    let bench = Bench::new(vec![
        Step::calls(vec![call("toolu_1", "file_read", json!({"path": FILE}))]),
        Step::calls(vec![call("toolu_2", "file_edit", change)]),
        Step::text("Renamed."),
        Step::text("As you wish."),
    ]);
    bench.workspace.configure("[turn]\nreview = 'ask'\n");
    let mut editor = bench.previewing();
    editor.state().ticked = Some(Vec::new());
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("AGENT: As you wish."));
    let ended = bench.wait_status("completed");
    let read = editor.command(
        "postil.workflowRounds",
        json!({"run_id": ended["id"], "after": 0}),
    );
    assert_eq!(read.expect("rounds")["run"]["has_edits"], false);
}

/// The question about a file, by the end of its name: its id and what is shown.
fn asked_about(editor: &Editor, file: &str) -> (Value, Value) {
    editor.wait_for("postil/review", |state| {
        let mut asked = state
            .received
            .iter()
            .filter(|m| m["method"] == "postil/review");
        let found = asked.find(|m| {
            m["params"]["file"]
                .as_str()
                .is_some_and(|f| f.ends_with(file))
        })?;
        Some((found["id"].clone(), found["params"].clone()))
    })
}

fn decide(editor: &Editor, id: &Value, accepted: bool) {
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"accepted": accepted}});
    editor.send_raw(&frame(&answer));
}

#[test]
fn a_client_that_shows_reviews_decides_each_file_on_its_own_and_it_is_made_at_once() {
    let bench = Bench::asking(vec![
        Step::text("Renamed."),
        Step::text("Renamed it in net.rs alone."),
    ]);
    let mut editor = bench.reviewing();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let (net, shown) = asked_about(&editor, "net.rs");
    let (main, other) = asked_about(&editor, "main.rs");
    let tells = |what: &str| editor.wait_message("$/progress", |m| m["value"]["message"] == what);
    tells("2 files to be reviewed");
    assert_eq!(shown["uri"], editor.uri(FILE));
    assert_eq!(shown["before"], format!("{THREAD}{CODE}"));
    let after = shown["after"].as_str().expect("a text");
    assert!(after.contains("pub fn load_all()"), "{after}");
    assert_eq!((&shown["added"], &shown["removed"]), (&json!(1), &json!(1)));
    assert_eq!((&shown["of"], &other["of"]), (&json!(2), &json!(2)));
    assert_eq!(shown["run_id"], other["run_id"]);
    // The author takes their time, and types meanwhile.
    editor.replace(FILE, "    7\n", "    78\n");
    decide(&editor, &net, true);
    editor.wait_text(FILE, |text| {
        text.contains("pub fn load_all()") && text.contains("    78\n")
    });
    assert_eq!(bench.workspace.read(OTHER), MAIN);
    tells("1 file to be reviewed");
    decide(&editor, &main, false);
    editor.wait_text(FILE, |text| {
        text.contains("// AGENT: Renamed it in net.rs alone.")
    });
    assert_eq!(bench.workspace.read(OTHER), MAIN);
    let told = bench.model.requests()[4].prompt();
    assert!(
        told.contains("src/main.rs: not changed, the author did not want it\nsrc/net.rs: changed"),
        "{told}"
    );
}

#[test]
fn a_file_that_does_not_take_an_agreed_change_any_more_is_named() {
    let bench = Bench::asking(vec![Step::text("Renamed."), Step::text("You were faster.")]);
    let mut editor = bench.reviewing();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let (net, _) = asked_about(&editor, "net.rs");
    let (main, _) = asked_about(&editor, "main.rs");
    let typed = MAIN.replace("load()", "load(1)");
    bench.workspace.write(OTHER, &typed);
    decide(&editor, &main, true);
    editor.wait_message("window/showMessage", |m| {
        m["message"].as_str().is_some_and(|said| {
            said.contains(
                "src/main.rs was not changed, because the author has changed the same lines",
            )
        })
    });
    decide(&editor, &net, true);
    editor.wait_text(FILE, |text| text.contains("AGENT: You were faster."));
    assert_eq!(bench.workspace.read(OTHER), typed);
}

#[test]
fn what_is_accepted_is_made_anew_where_a_key_was_faster() {
    let bench = Bench::asking(vec![Step::text("Renamed.")]);
    let mut editor = bench.reviewing();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let (net, _) = asked_about(&editor, "net.rs");
    let (main, _) = asked_about(&editor, "main.rs");
    editor.state().on_apply = OnApply::Ignore;
    decide(&editor, &net, true);
    let change = editor.wait_for("the change", |state| {
        let mut asked = state.received.iter();
        let asked = asked.find(|m| m["method"] == "workspace/applyEdit")?;
        Some(asked["id"].clone())
    });
    editor.replace(FILE, "    7\n", "    78\n");
    editor.state().on_apply = OnApply::Apply;
    let refused = json!({"applied": false, "failureReason": "the text is newer"});
    editor.send_raw(&frame(
        &json!({"jsonrpc": "2.0", "id": change, "result": refused}),
    ));
    decide(&editor, &main, true);
    let text = editor.wait_text(FILE, |text| text.contains("AGENT: Renamed."));
    assert!(
        text.contains("pub fn load_all()") && text.contains("    78\n"),
        "{text}"
    );
}

#[test]
fn what_is_accepted_is_made_onto_the_text_as_it_is_by_then_in_any_editor() {
    let bench = Bench::asking(vec![Step::text("Renamed."), Step::text("You were faster.")]);
    let mut editor = bench.typed();
    editor.state().choices = vec![String::from(NEVER)];
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let question = editor.wait_for("the question", |state| {
        let mut asked = state.received.iter();
        let asked = asked.find(|m| m["method"] == "window/showMessageRequest")?;
        Some(asked["id"].clone())
    });
    // Elsewhere in one file; in the same line of the other.
    editor.replace(FILE, "    7\n", "    78\n");
    let typed = MAIN.replace("load()", "load(1)");
    bench.workspace.write(OTHER, &typed);
    let answer = json!({"jsonrpc": "2.0", "id": question, "result": {"title": "Accept all"}});
    editor.send_raw(&frame(&answer));
    editor.wait_message("window/showMessage", |m| {
        m["message"].as_str().is_some_and(|said| {
            said.contains(
                "src/main.rs was not changed, because the author has changed the same lines",
            )
        })
    });
    let text = editor.wait_text(FILE, |text| text.contains("AGENT: You were faster."));
    assert!(
        text.contains("pub fn load_all()") && text.contains("    78\n"),
        "{text}"
    );
    assert_eq!(bench.workspace.read(OTHER), typed);
}

#[test]
fn a_review_is_withdrawn_when_its_turn_is_cancelled() {
    let bench = Bench::asking(vec![Step::text("Renamed.")]);
    let mut editor = bench.reviewing();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let asked = ["net.rs", "main.rs"].map(|file| asked_about(&editor, file).0);
    editor.take_action(FILE, 0, "Cancel").expect("cancelled");
    for id in asked {
        editor.wait_message("$/cancelRequest", |m| m["id"] == id);
    }
    bench.wait_status("cancelled");
    assert_eq!(bench.workspace.read(OTHER), MAIN);
    assert!(editor.text(FILE).ends_with(CODE));
}

#[test]
fn reviewed_edits_keep_what_the_author_typed_meanwhile() {
    let bench = Bench::asking(vec![
        Step::text("Renamed.").held(),
        Step::text("You were faster."),
    ]);
    let mut editor = bench.typed();
    editor.state().choices = ["Accept"].map(String::from).to_vec();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.model.wait_for_requests(4);
    // Elsewhere in one file; in the same line of the other.
    editor.replace(FILE, "    7\n", "    78\n");
    bench
        .workspace
        .write(OTHER, MAIN.replace("load()", "load(1)"));
    editor.settle();
    bench.model.release();
    let text = editor.wait_text(FILE, |text| text.contains("AGENT:"));
    assert!(
        text.contains("pub fn load_all()") && text.contains("    78\n"),
        "{text}"
    );
    assert_eq!(
        bench.workspace.read(OTHER),
        MAIN.replace("load()", "load(1)")
    );
    let told = bench.model.requests()[4].prompt();
    assert!(
        told.contains("src/main.rs: not changed, because the author has changed the same lines"),
        "{told}"
    );
}

#[test]
fn edits_that_wait_for_review_outlive_the_process() {
    let bench = Bench::asking(vec![Step::text("x").stall(10), Step::text("Renamed.")]);
    let mut editor = bench.typed();
    editor.save(FILE);
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    bench.model.wait_for_requests(4);
    editor.kill();
    bench.wait_status("interrupted");
    let mut editor = bench.typed_before();
    editor.state().choices = vec![String::from("Accept all")];
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("it goes on");
    let text = editor.wait_text(FILE, |text| text.contains("AGENT:"));
    assert!(text.contains("pub fn load_all()"), "{text}");
    assert_eq!(
        bench.workspace.read(OTHER),
        MAIN.replace("load", "load_all")
    );
    bench.assert_no_key(&editor);
}

impl Bench {
    /// The file open as it was saved.
    fn typed_before(&self) -> Editor {
        let editor = self.editor(true);
        editor.open(FILE);
        editor.wait_codes(FILE, &["pending"]);
        editor
    }
}
