//! A file that is renamed: one entry in the review, taken as a whole or left as a whole.

use serde_json::{Value, json};

use super::super::{Bench, CODE, FILE, THREAD};
use super::{asked_about, decide};
use crate::harness::{Editor, NEVER, frame, wait_until};
use crate::model::{Step, call};

const OLD: &str = "src/old.rs";
const NEW: &str = "src/new.rs";
const MAIN: &str = "src/main.rs";
const TEXT: &str = "fn old() {\n}\n\nfn z() {\n}\n";
const ENTRY: &str = "src/old.rs → src/new.rs";

const RENAME: &str = "\
diff --git a/src/old.rs b/src/new.rs
rename from src/old.rs
rename to src/new.rs
--- a/src/old.rs
+++ b/src/new.rs
@@ -1,2 +1,2 @@
-fn old() {
+fn new() {
 }
";

const EDIT: &str = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-old();\n+new();\n";

fn patch(id: &str, text: &str) -> Step {
    Step::calls(vec![call(id, "patch_apply", json!({"patch": text}))])
}

fn renamed() -> String {
    TEXT.replace("old", "new")
}

fn bench(steps: Vec<Step>) -> Bench {
    let bench = Bench::new(steps);
    bench.workspace.write(OLD, TEXT);
    bench.workspace.write(MAIN, "old();\n");
    bench.workspace.configure("[turn]\nreview = 'ask'\n");
    bench
}

fn begin(editor: &mut Editor) {
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
}

/// The question that the editor does not answer.
fn question(editor: &Editor) -> (Value, String) {
    editor.wait_for("the question", |state| {
        let mut asked = state.received.iter();
        let asked = asked.find(|m| m["method"] == "window/showMessageRequest")?;
        let text = asked["params"]["message"].as_str()?.to_owned();
        Some((asked["id"].clone(), text))
    })
}

fn answer(editor: &Editor, id: &Value, title: &str) {
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"title": title}});
    editor.send_raw(&frame(&answer));
}

impl Bench {
    /// What stands under the old name, and under the new one.
    fn names(&self) -> [Option<String>; 2] {
        [OLD, NEW].map(|file| std::fs::read_to_string(self.workspace.path(file)).ok())
    }
}

#[test]
fn a_renamed_file_is_one_entry_of_a_review_and_undo_puts_it_back() {
    let bench = bench(vec![patch("toolu_1", RENAME), Step::text("Renamed.")]);
    let mut editor = bench.typed();
    editor.state().choices = vec![String::from("Accept")];
    begin(&mut editor);
    editor.wait_text(FILE, |text| text.contains("AGENT: Renamed."));
    let (_, asked) = question(&editor);
    assert_eq!(asked, format!("The agent wants to change {ENTRY} (+1 −1)."));
    let shown = editor.wait_message("window/showDocument", |m| m["uri"].is_string());
    let uri = shown["uri"].as_str().expect("a name");
    let diff = std::fs::read_to_string(uri.trim_start_matches("file://")).expect("a diff");
    assert!(
        diff.contains("rename from src/old.rs\nrename to src/new.rs\n")
            && diff.contains("-fn old() {\n+fn new() {\n"),
        "{diff}"
    );
    assert_eq!(bench.names(), [None, Some(renamed())]);
    let run = bench.wait_status("completed");
    editor
        .command("postil.undoTurn", json!({"run_id": run["id"]}))
        .expect("undone");
    assert_eq!(bench.names(), [Some(TEXT.to_owned()), None]);
    assert_eq!(editor.text(FILE), format!("{THREAD}{CODE}"));
}

#[test]
fn a_rename_that_is_not_wanted_leaves_the_file_where_it_is() {
    let both = format!("{RENAME}{EDIT}");
    let bench = bench(vec![
        patch("toolu_1", &both),
        Step::text("Renamed."),
        Step::text("In main.rs alone."),
    ]);
    let mut editor = bench.typed();
    editor.state().choices = ["Choose by file", "Accept", "Reject"]
        .map(String::from)
        .to_vec();
    begin(&mut editor);
    editor.wait_text(FILE, |text| text.contains("AGENT: In main.rs alone."));
    assert_eq!(bench.names(), [Some(TEXT.to_owned()), None]);
    assert_eq!(bench.workspace.read(MAIN), "new();\n");
    let told = bench.model.requests()[2].prompt();
    let said = format!("{MAIN}: changed\n{ENTRY}: not changed, the author did not want it");
    assert!(told.contains(&said), "{told}");
}

#[test]
fn what_the_author_saves_while_a_rename_is_asked_about_goes_with_it_or_keeps_it_from_being_made() {
    let elsewhere = TEXT.replace("fn z() {\n", "fn z() {\n    mine();\n");
    let same = TEXT.replace("fn old()", "fn old(mine: u8)");
    for (saved, names) in [
        (
            &elsewhere,
            [None, Some(elsewhere.replace("fn old", "fn new"))],
        ),
        (&same, [Some(same.clone()), None]),
    ] {
        let bench = bench(vec![
            patch("toolu_1", RENAME),
            Step::text("Renamed."),
            Step::text("Renamed."),
        ]);
        let mut editor = bench.typed();
        editor.state().choices = vec![String::from(NEVER)];
        begin(&mut editor);
        let (id, _) = question(&editor);
        bench.workspace.write(OLD, saved);
        answer(&editor, &id, "Accept");
        editor.wait_text(FILE, |text| text.contains("AGENT: Renamed."));
        assert_eq!(bench.names(), names);
        if names[0].is_some() {
            let why = format!(
                "postil: {ENTRY} was not changed, because the author has changed the same lines meanwhile (line 1)."
            );
            editor.wait_message("window/showMessage", |m| m["message"] == why.as_str());
        }
    }
}

#[test]
fn a_client_that_shows_reviews_is_asked_once_about_a_renamed_file() {
    let bench = bench(vec![patch("toolu_1", RENAME), Step::text("Renamed.")]);
    let mut editor = bench.reviewing();
    begin(&mut editor);
    let (id, shown) = asked_about(&editor, "new.rs");
    assert_eq!(
        json!([shown["file"], shown["from"], shown["uri"], shown["of"]]),
        json!([NEW, OLD, editor.uri(NEW), 1])
    );
    assert_eq!(
        json!([
            shown["before"],
            shown["after"],
            shown["added"],
            shown["removed"]
        ]),
        json!([TEXT, renamed(), 1, 1])
    );
    decide(&editor, &id, true);
    editor.wait_text(FILE, |text| text.contains("AGENT: Renamed."));
    assert_eq!(bench.names(), [None, Some(renamed())]);
}

/// The plan outlives the process, and what is planned on top of it is one rename still.
#[test]
fn a_file_that_is_renamed_twice_is_one_entry_also_after_a_stop() {
    let back = "diff --git a/src/new.rs b/src/newest.rs\nrename from src/new.rs\nrename to src/newest.rs\n";
    let bench = bench(vec![
        patch("toolu_1", RENAME),
        Step::text("x").stall(10),
        patch("toolu_2", back),
        Step::text("Renamed."),
    ]);
    let mut editor = bench.typed();
    editor.save(FILE);
    begin(&mut editor);
    bench.model.wait_for_requests(2);
    editor.kill();
    bench.wait_status("interrupted");
    let mut editor = bench.typed_before();
    editor.state().choices = vec![String::from("Accept")];
    begin(&mut editor);
    editor.wait_text(FILE, |text| text.contains("AGENT: Renamed."));
    let (_, asked) = question(&editor);
    assert!(
        asked.ends_with("src/old.rs → src/newest.rs (+1 −1)."),
        "{asked}"
    );
    assert_eq!(bench.names(), [None, None]);
    assert_eq!(bench.workspace.read("src/newest.rs"), renamed());
}

const CORE: &str = "src/core.rs";

/// As somebody does in an editor, of a file or a folder that is not open.
fn rename(bench: &Bench, editor: &Editor, old: &str, new: &str) {
    std::fs::rename(bench.workspace.path(old), bench.workspace.path(new)).expect("renamed");
    let files = json!({"files": [{"oldUri": editor.uri(old), "newUri": editor.uri(new)}]});
    editor.notify("workspace/didRenameFiles", files);
}

#[test]
fn what_is_accepted_is_made_in_the_file_that_the_author_has_renamed_meanwhile() {
    for (old, new, file) in [(MAIN, CORE, CORE), ("src", "lib", "lib/main.rs")] {
        let bench = bench(vec![patch("toolu_1", EDIT), Step::text("Renamed.")]);
        let mut editor = bench.typed();
        editor.save(FILE);
        editor.state().choices = vec![String::from(NEVER)];
        begin(&mut editor);
        let (id, _) = question(&editor);
        rename(&bench, &editor, old, new);
        answer(&editor, &id, "Accept");
        wait_until("it is made", || bench.workspace.read(file) == "new();\n");
        assert!(!bench.workspace.path(MAIN).exists());
        let run = bench.wait_status("completed");
        editor
            .command("postil.undoTurn", json!({"run_id": run["id"]}))
            .expect("undone");
        assert_eq!(bench.workspace.read(file), "old();\n");
    }
}

/// It is called as the one that it is about was, and is another.
#[test]
fn what_is_accepted_is_not_made_in_a_file_that_was_renamed_before() {
    let bench = bench(vec![
        patch("toolu_1", EDIT),
        Step::text("Renamed."),
        Step::text("It is gone."),
    ]);
    let mut editor = bench.typed();
    rename(&bench, &editor, MAIN, CORE);
    bench.workspace.write(MAIN, "old();\n");
    editor.state().choices = vec![String::from(NEVER)];
    begin(&mut editor);
    let (id, _) = question(&editor);
    std::fs::remove_file(bench.workspace.path(MAIN)).expect("removed");
    answer(&editor, &id, "Accept");
    editor.wait_text(FILE, |text| text.contains("AGENT: It is gone."));
    assert_eq!(bench.workspace.read(CORE), "old();\n");
}
