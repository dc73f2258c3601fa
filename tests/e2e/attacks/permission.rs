//! Attack 21 and what permissions promise: questions, scopes, grants.

use super::*;
use crate::harness::NEVER;

const ASK: &str = "[permissions]\ndefault = \"ask\"\n";

fn write(path: &str) -> Step {
    tool("file_write", json!({"path": path, "content": "x\n"}))
}

fn asked(editor: &Editor) -> Vec<Value> {
    let state = editor.state();
    state
        .received
        .iter()
        .filter(|m| m["method"] == "window/showMessageRequest")
        .cloned()
        .collect()
}

/// The author's question, typed into the open file.
fn type_thread(editor: &Editor, file: &str, text: &str) {
    editor.open(file);
    for (at, key) in format!("// AUTHOR: {text}\n").char_indices() {
        editor.splice(file, at..at, &key.to_string());
    }
    editor.wait_codes(file, &["pending"]);
}

#[test]
fn attack_21_a_grant_is_bound_to_tool_argument_and_folder_and_can_be_taken_back() {
    let ground = Ground::new(vec![
        write("docs/a.md"),
        Step::text("One."),
        write("docs/b.md"),
        Step::text("Two."),
        write("docs/a.md"),
        Step::text("Three."),
    ]);
    ground.workspace.configure(ASK);
    ground.workspace.write("src/b.rs", CODE);
    ground.workspace.write("src/c.rs", CODE);
    let mut editor = ground.editor(true);
    editor.state().choices = vec![String::from("Allow in this workspace")];
    type_thread(&editor, FILE, "one?");
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("starts");
    editor.wait_text(FILE, |text| text.contains("AGENT: One."));
    assert_eq!(ground.workspace.read("docs/a.md"), "x\n");
    let question = &asked(&editor)[0]["params"];
    let said = format!(
        "The agent wants to change `docs/a.md` with file_write, in {}.",
        ground.workspace.root().display()
    );
    assert_eq!(question["message"], said);
    let buttons: Vec<_> = question["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["title"].as_str().unwrap())
        .collect();
    assert_eq!(
        buttons,
        [
            "Allow once",
            "Allow in this run",
            "Allow in this workspace",
            "Allow `docs/*` in this workspace",
            "Always allow",
            "Refuse"
        ]
    );
    // Another path is another question; nobody answers it, and that is a no.
    type_thread(&editor, "src/b.rs", "two?");
    editor
        .take_action("src/b.rs", 0, "Reply as agent")
        .expect("starts");
    editor.wait_text("src/b.rs", |text| text.contains("AGENT: Two."));
    assert_eq!(asked(&editor).len(), 2);
    assert!(!ground.workspace.path("docs/b.md").exists());

    // Question and answer are rounds, before the call that they are about.
    let history: Value =
        serde_json::from_str(&ground.well(&["workflow", "list", "--json"])).expect("JSON");
    let rounds = |run: usize| -> Vec<Value> {
        let id = history[run]["id"].as_str().expect("a run");
        let lines = ground.well(&["workflow", "thread", id, "--json"]);
        let rounds = lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("a round"));
        rounds
            .filter(|round: &Value| round["role"] == "approval" || round["role"] == "tool")
            .collect()
    };
    for (run, answer) in [(1, "Allow in this workspace"), (0, "Nobody answered")] {
        let [approval, call] = &rounds(run)[..] else {
            panic!("{:?}", rounds(run))
        };
        let about = json!({"tool": "file_write", "answer": answer});
        assert_eq!(
            (&approval["role"], &approval["metadata"]),
            (&json!("approval"), &about)
        );
        assert!(
            approval["content"]
                .as_str()
                .is_some_and(|asked| asked.starts_with("The agent wants to change")),
            "{approval}"
        );
        assert_eq!(call["role"], "tool");
    }

    // It is shown, it is the user's alone, it is taken back: then it is asked again.
    let shown: Value =
        serde_json::from_str(&ground.well(&["permissions", "--json"])).expect("JSON");
    let grant = &shown["grants"][0];
    assert_eq!(
        (&grant["tool"], &grant["argument"]),
        (&json!("file_write"), &json!("docs/a.md"))
    );
    let kept = ground.workspace.data().join("permissions.json");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(kept).expect("kept"));
    assert_eq!(mode & 0o777, 0o600);
    let id = grant["id"].as_str().unwrap();
    assert!(ground.well(&["permissions"]).contains(id));
    let said = ground.well(&["permissions", "--revoke", &id[..4]]);
    assert!(said.contains("taken back"), "{said}");
    assert_eq!(
        ground.run(&["permissions", "--revoke", id]).status.code(),
        Some(1)
    );
    type_thread(&editor, "src/c.rs", "three?");
    editor
        .take_action("src/c.rs", 0, "Reply as agent")
        .expect("starts");
    editor.wait_text("src/c.rs", |text| text.contains("AGENT: Three."));
    assert_eq!(asked(&editor).len(), 3);
}

#[test]
fn attack_21_a_grant_falls_when_a_script_that_a_pattern_names_has_changed() {
    let run = || tool("bash", json!({"command": "sh ./x.s?"}));
    let script = ["One.", "Two.", "Three."];
    let script = script.map(|said| [run(), Step::text(said)]);
    let ground = Ground::new(script.into_iter().flatten().collect());
    let w = &ground.workspace;
    w.configure(ASK);
    w.write("x.sh", "echo >> ran\n");
    for file in ["src/b.rs", "src/c.rs"] {
        w.write(file, CODE);
    }
    let mut editor = ground.editor(true);
    editor.state().choices = vec![String::from("Allow in this workspace")];
    // The last is asked about again, and nobody answers.
    for (file, said, questions, ran) in [
        (FILE, "One.", 1, 1),
        ("src/b.rs", "Two.", 1, 2),
        ("src/c.rs", "Three.", 2, 2),
    ] {
        if questions == 2 {
            w.write("x.sh", "echo >> ran; echo >> ran\n");
        }
        type_thread(&editor, file, "go?");
        editor
            .take_action(file, 0, "Reply as agent")
            .expect("starts");
        editor.wait_text(file, |text| text.contains(&format!("AGENT: {said}")));
        assert_eq!(asked(&editor).len(), questions, "{said}");
        assert_eq!(w.read("ran").lines().count(), ran, "{said}");
    }
}

#[test]
fn attack_21_grants_of_a_repository_count_for_nothing() {
    let ground = Ground::new(vec![write("docs/a.md"), Step::text("No.")]);
    ground.workspace.configure(ASK);
    let rule =
        "[permissions]\ndefault = \"allow\"\nrules = [{ tool = \"*\", action = \"allow\" }]\n";
    ground.workspace.write("postil.toml", rule);
    let grant = json!({"version": 1, "grants": [{"id": "0", "tool": "file_write", "argument": "*", "pattern": true, "folder": null, "content": null, "granted": ""}]});
    for path in ["permissions.json", ".postil/permissions.json"] {
        ground.workspace.write(path, grant.to_string());
    }
    ground.trust();
    let id = ground.ask("src/net.rs:1", "write it");
    let output = ground.run(&["reply", &id]);
    assert!(!ground.workspace.path("docs").exists());
    // Nobody could be asked: that is a no, and it is told by the exit status.
    assert_eq!(output.status.code(), Some(1), "{}", all(&output));
    assert!(
        all(&output).contains("nobody could be asked"),
        "{}",
        all(&output)
    );
    let (said, refused) = one(&ground, 1);
    assert!(refused && said.contains("counts as no"), "{said}");
}

#[test]
fn attack_21_a_question_that_is_never_answered_holds_up_nothing_else_and_is_withdrawn_with_its_turn()
 {
    let ground = Ground::new(vec![write("docs/a.md"), Step::text("Another.")]);
    ground.workspace.configure(ASK);
    ground.workspace.write("src/b.rs", CODE);
    let mut editor = ground.editor(true);
    editor.state().choices = vec![NEVER.to_owned()];
    type_thread(&editor, FILE, "one?");
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("starts");
    editor.wait_message("window/showMessageRequest", |_| true);
    let id = asked(&editor)[0]["id"].clone();
    // Typing, requests and another turn go on.
    type_thread(&editor, "src/b.rs", "two?");
    editor
        .take_action("src/b.rs", 0, "Reply as agent")
        .expect("starts");
    editor.wait_text("src/b.rs", |text| text.contains("AGENT: Another."));
    editor.take_action(FILE, 0, "Cancel").expect("cancelled");
    editor.wait_message("$/cancelRequest", |params| params["id"] == id);
    editor.wait_codes(FILE, &["pending"]);
    assert!(!ground.workspace.path("docs").exists());
}

#[test]
fn attack_22_a_turn_that_destroyed_files_and_failed_is_undone_whole() {
    let removes = "--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-mine as well\n";
    let ground = Ground::new(vec![
        tool("file_read", json!({"path": "a.txt"})),
        tool("file_write", json!({"path": "a.txt", "content": ""})),
        tool("patch_apply", json!({"patch": removes})),
        Step::error(400, "invalid_request_error", "no more of this"),
    ]);
    let w = &ground.workspace;
    w.write("a.txt", "mine\n".repeat(1000));
    w.write("b.txt", "mine as well\n");
    ground.trust();
    let id = ground.ask("src/net.rs:1", "tidy up");
    let output = ground.run(&["reply", &id]);
    assert_eq!(output.status.code(), Some(1), "{}", all(&output));
    assert!(w.read("a.txt").is_empty() && !w.path("b.txt").exists());
    let runs: Value =
        serde_json::from_str(&ground.well(&["workflow", "list", "--json"])).expect("JSON");
    ground.well(&["undo", runs[0]["id"].as_str().expect("an id")]);
    assert_eq!(w.read("a.txt"), "mine\n".repeat(1000));
    assert_eq!(w.read("b.txt"), "mine as well\n");
}

#[test]
fn what_a_rule_denies_by_its_path_is_shown_by_no_search_from_above() {
    let ground = Ground::new(Vec::new());
    ground
        .workspace
        .write("config/secrets.yml", "password: hunter2\n");
    ground
        .workspace
        .write("config/open.yml", "password: none\n");
    ground.trust();
    let grep = |input: Value| {
        let output = ground.run(&["tools", "call", "grep", &input.to_string()]);
        all(&output)
    };
    let rule = |tool: &str| {
        format!(
            "[[permissions.rules]]\ntool = '{tool}'\npattern = 'config/secrets*'\naction = 'deny'\n"
        )
    };
    for tool in ["*", "grep"] {
        ground.workspace.configure(&rule(tool));
        for input in [
            json!({"pattern": "password"}),
            json!({"pattern": "password", "path": "config"}),
            json!({"pattern": "password", "context_lines": 3}),
        ] {
            let said = grep(input);
            assert!(said.contains("config/open.yml:1:password: none"), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
            assert!(
                said.contains("(files left out by the author's permissions: 1)"),
                "{said}"
            );
        }
        let said = grep(json!({"pattern": "hunter2"}));
        assert!(said.starts_with("No matches found."), "{said}");
    }
    // One of another tool says nothing of it.
    ground.workspace.configure(&rule("file_read"));
    assert!(grep(json!({"pattern": "hunter2"})).contains("hunter2"));
}
