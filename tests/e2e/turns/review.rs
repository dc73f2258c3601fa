//! `turn.review = "ask"`: edits are gathered, shown, and made as far as the author agrees.

use serde_json::json;

use super::{Bench, CODE, FILE, THREAD, rename, type_at};
use crate::harness::{Editor, Options};
use crate::model::{Step, call};

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
        let editor = Editor::start_with(
            &self.workspace,
            Options {
                env: self.env(),
                initialization_options: json!({"trusted": true}),
                capabilities: json!({"workspace": {"workspaceEdit": {"changeAnnotationSupport": annotations}}}),
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
            assert_eq!(code, Some(0), "{out}{err}");
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
        assert_eq!(edit["changeAnnotations"][id]["needsConfirmation"], true);
        if !ticked {
            let told = bench.model.requests()[4].prompt();
            assert!(
                told.contains("src/net.rs: not changed, the author did not want it"),
                "{told}"
            );
        }
    }
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
