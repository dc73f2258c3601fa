//! A cancel wherever a turn waits: it ends as cancelled, nothing that it started is left, and the next turn works.
//! How fast: `interrupt → gone` in docs/performance.md.

use serde_json::{Value, json};

use super::{Bench, CODE, FILE, THREAD, read, rename, take_when_offered};
use crate::harness::{Editor, NEVER, OnApply, frame, wait_until};
use crate::model::{Step, call};

/// Where the turn waits, told by something that can be seen from outside.
type Seen = fn(&Bench, &Editor);

struct Case {
    name: &'static str,
    settings: &'static str,
    /// What the model says until then.
    script: Vec<Step>,
    /// What the author answers to questions.
    choices: &'static [&'static str],
    on_apply: OnApply,
    trusted: bool,
    waits: Seen,
}

impl Case {
    fn new(name: &'static str, script: Vec<Step>, waits: Seen) -> Self {
        Self {
            name,
            settings: "[permissions]\ndefault = 'allow'\n",
            script,
            choices: &[],
            on_apply: OnApply::Apply,
            trusted: true,
            waits,
        }
    }
}

/// So long sleep the commands of this test, and no other.
fn mark() -> String {
    format!("86399.{}", std::process::id())
}

fn sleeping() -> usize {
    let processes = std::fs::read_dir("/proc").expect("/proc");
    let mark = mark();
    let mut count = 0;
    for entry in processes.flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        let program = words.next().unwrap_or_default();
        count += usize::from(program.ends_with(b"sleep") && words.next() == Some(mark.as_bytes()));
    }
    count
}

fn progress(editor: &Editor, words: &str) {
    editor.wait_message("$/progress", |params| {
        params["value"]["message"]
            .as_str()
            .is_some_and(|message| message.contains(words))
    });
}

fn bash(command: &str) -> Step {
    let input = json!({"command": command, "timeout": 100});
    Step::calls(vec![call("toolu_bash", "bash", input)])
}

fn cases() -> Vec<Case> {
    let asked: Seen = |bench, _| drop(bench.model.wait_for_requests(1));
    let question: Seen =
        |_, editor| drop(editor.wait_message("window/showMessageRequest", |_| true));
    let background = call(
        "toolu_bg",
        "bash_background",
        json!({"command": format!("sleep {}", mark())}),
    );
    let consult = call("toolu_c", "consult", json!({"summary": "Right?"}));
    let lsp = json!({"action": "definition", "file": "a.scripted", "line": 1, "column": 1});
    let mut all = vec![
        Case::new("before the headers", vec![Step::text("x").held()], asked),
        Case::new(
            "before the first byte",
            vec![Step::text("x").stall(0)],
            asked,
        ),
        Case::new(
            "in the middle of the stream",
            vec![Step::text("It is a long story.").stall(600)],
            |_, editor| progress(editor, "answering"),
        ),
        Case::new(
            "before another try",
            vec![Step::error(529, "overloaded_error", "Overloaded").header("retry-after", "60")],
            |_, editor| progress(editor, "try 2 in "),
        ),
        Case::new(
            "a command",
            vec![bash(&format!("sleep {}", mark()))],
            |_, _| {
                wait_until("it runs", || sleeping() == 1);
            },
        ),
        Case::new(
            "a command in the background",
            vec![Step::calls(vec![background]), Step::text("x").held()],
            |bench, _| {
                bench.model.wait_for_requests(2);
                wait_until("it runs", || sleeping() == 1);
            },
        ),
        Case::new(
            "a language server",
            vec![Step::calls(vec![call("toolu_lsp", "lsp", lsp)])],
            |bench, _| {
                let log = bench.workspace.root().parent().expect("a parent");
                let log = log.join("child.log");
                wait_until("it is asked", || {
                    std::fs::read_to_string(&log)
                        .is_ok_and(|log| log.contains("textDocument/definition"))
                });
            },
        ),
        Case::new("an edit", vec![read(), rename()], |_, editor| {
            editor.wait_message("workspace/applyEdit", |_| true);
        }),
        Case::new("a permission", vec![bash("true")], question),
        Case::new("leave to edit", Vec::new(), question),
        Case::new(
            "a review",
            vec![read(), rename(), Step::text("Renamed.")],
            question,
        ),
        Case::new(
            "a second opinion",
            vec![Step::calls(vec![consult]), Step::text("x").held()],
            |bench, _| drop(bench.model.wait_for_requests(2)),
        ),
        Case::new("the key's program", Vec::new(), |_, _| {
            wait_until("it runs", || sleeping() == 1);
        }),
    ];
    for case in &mut all {
        match case.name {
            "an edit" => case.on_apply = OnApply::Ignore,
            "a permission" => {
                case.settings = "";
                case.choices = &[NEVER];
            }
            "leave to edit" => {
                case.trusted = false;
                case.choices = &[NEVER];
            }
            "a review" => {
                case.settings = "[turn]\nreview = 'ask'\n";
                case.choices = &[NEVER];
            }
            "a second opinion" => case.settings = "[turn]\nconsult = 'anthropic/claude-second'\n",
            _ => {}
        }
    }
    all
}

#[test]
fn fault_24_a_turn_is_cancelled_wherever_it_waits_and_the_next_one_works() {
    for mut case in cases() {
        let name = case.name;
        let bench = Bench::new(std::mem::take(&mut case.script));
        let asked = bench.workspace.root().join("asked");
        let key_program = format!(
            "[providers.anthropic]\napiKeyCommand = ['sh', '-c', 'test -e {0} && echo k || {{ touch {0}; sleep {1}; }}']\n",
            asked.display(),
            mark()
        );
        match name {
            "a language server" => {
                bench
                    .workspace
                    .script_child(&json!({"on": {"textDocument/definition": "hang"}}));
                bench.workspace.write("a.scripted", "name def name\n");
            }
            "the key's program" => bench.workspace.configure(&key_program),
            _ => bench.workspace.configure(case.settings),
        }
        let mut editor = match case.trusted {
            true => bench.typed(),
            false => {
                // The question came with the file: whether edits are allowed is asked.
                bench.workspace.write(FILE, format!("{THREAD}{CODE}"));
                let editor = bench.editor(true);
                editor.open(FILE);
                editor.wait_codes(FILE, &["pending"]);
                editor
            }
        };
        editor.state().choices = case.choices.iter().map(|c| (*c).to_owned()).collect();
        editor.state().on_apply = case.on_apply;
        editor
            .take_action(FILE, 0, "Reply as agent")
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        (case.waits)(&bench, &editor);
        take_when_offered(&mut editor, "Cancel");
        let run = bench.wait_status("cancelled");
        editor.wait_message("$/progress", |params| params["value"]["kind"] == "end");
        wait_until(name, || sleeping() == 0);
        assert!(!editor.text(FILE).contains("AGENT:"), "{name}");

        // What was never answered is not waited for by the next one.
        editor.state().on_apply = OnApply::Apply;
        editor.state().choices = vec![String::from("Allow edits")];
        editor.state().received.clear();
        bench.model.rewrite(vec![Step::text("Done.")]);
        take_when_offered(&mut editor, "Reply as agent");
        let text = editor.wait_text(FILE, |text| text.contains("AGENT:"));
        assert!(text.contains("// AGENT: Done."), "{name}: {text}");
        let next: Value = bench.wait_status("completed");
        assert_eq!(next["thread_id"], run["thread_id"], "{name}");
    }
}

/// In a text whose lines end in different ways, of which none is made like the others.
#[test]
fn a_turn_that_is_cancelled_between_two_edits_is_taken_back_whole() {
    const MIXED: &str = "pub fn load() -> u32 {\r\n    7\n}\r\n\r\nfn last() {}";
    let edit = |id: &str, path: &str, old: &str, new: &str| {
        let input = json!({"path": path, "old_string": old, "new_string": new});
        Step::calls(vec![call(id, "file_edit", input)])
    };
    let see =
        |id: &str, path: &str| Step::calls(vec![call(id, "file_read", json!({"path": path}))]);
    let bench = Bench::new(vec![
        read(),
        see("r2", "disk.rs"),
        edit(
            "e1",
            FILE,
            "load() -> u32 {\n    7\n}",
            "load() -> u32 {\n    8\n    // more\n}",
        ),
        edit("e2", "disk.rs", "    7\n}", "    8\n}"),
        edit("e3", FILE, "last", "end").held(),
    ]);
    bench.workspace.write(FILE, MIXED);
    bench.workspace.write("disk.rs", MIXED);
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let asked = bench.model.wait_for_requests(5);
    assert!(!asked[4].results()[0].2, "{:?}", asked[4].results());
    // Below the thread.
    let code = |text: &str| text[text.find("pub fn").expect("the code")..].to_owned();
    let changed = MIXED.replace("    7\n}", "    8\n    // more\n}");
    assert_eq!(code(&editor.text(FILE)), changed);
    assert_eq!(
        bench.workspace.read("disk.rs"),
        MIXED.replace("    7", "    8")
    );
    take_when_offered(&mut editor, "Cancel");
    bench.wait_status("cancelled");
    take_when_offered(&mut editor, "Undo last turn");
    editor.wait_text(FILE, |text| code(text) == MIXED);
    assert_eq!(bench.workspace.read("disk.rs"), MIXED);
    // Neither is the file that is open written on disk.
    assert_eq!(bench.workspace.read(FILE), MIXED);
}

/// A job that is ended at its limit has told what was answered until then, and how the rest ended.
#[test]
fn a_batch_that_is_ended_has_told_of_what_was_done() {
    use rustix::process::{Pid, Signal, kill_process};
    for (signal, as_json) in [
        (Signal::TERM, true),
        (Signal::INT, false),
        (Signal::HUP, false),
    ] {
        let bench = Bench::new(vec![
            Step::text("The first."),
            Step::text("The second.").held(),
        ]);
        for (file, ask) in [("a.rs", "one?"), ("b.rs", "two?"), ("c.rs", "three?")] {
            bench
                .workspace
                .write(file, format!("// AUTHOR: {ask}\nfn f() {{}}\n"));
        }
        assert_eq!(bench.cli(&["trust", "--yes", "-q"]).0, Some(0));
        // Whoever runs the tests may have the last one ignored.
        let mut command = bench.workspace.command("env");
        command
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_postil")])
            .args(["reply", "--all", "--yes", "--jobs", "1"])
            .args(as_json.then_some("--json"))
            .envs(bench.env())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let child = command.spawn().expect("postil runs");
        bench.model.wait_for_requests(2);
        let id = Pid::from_raw(i32::try_from(child.id()).expect("an id")).expect("an id");
        kill_process(id, signal).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{out}");
        assert!(out.contains("The first."), "{out}");
        if as_json {
            let ends: Vec<Value> = out
                .lines()
                .map(|line| serde_json::from_str(line).expect("JSON"))
                .filter(|line: &Value| line["event"] == "end")
                .collect();
            let ends: Vec<_> = ends.iter().map(|e| (&e["file"], &e["status"])).collect();
            let (done, cut) = (json!("completed"), json!("cancelled"));
            assert_eq!(
                ends,
                [(&json!("a.rs"), &done), (&json!("b.rs"), &cut)],
                "{out}"
            );
        }
        let runs = bench.runs();
        let statuses: Vec<_> = runs.iter().map(|run| run["status"].clone()).collect();
        assert_eq!(statuses, ["cancelled", "completed"], "{runs:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("cancelled; what was done is in"), "{said}");
    }
}

/// An author who types on without a pause: the answer is written anew each time, and could be so for long.
#[test]
fn a_turn_whose_answer_meets_key_after_key_can_be_cancelled() {
    let bench = Bench::new(vec![Step::text("Yes.")]);
    let mut editor = bench.typed();
    editor.state().on_apply = OnApply::Ignore;
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let nth = |editor: &Editor, number: usize| {
        editor.wait_for("another try", |state| {
            let asked = state.received.iter();
            let mut asked = asked.filter(|m| m["method"] == "workspace/applyEdit");
            asked.nth(number).map(|m| m["id"].clone())
        })
    };
    let meets_a_key = |editor: &Editor, id: Value| {
        editor.splice_with(FILE, |text| (text.len()..text.len(), String::from("x")));
        let refused = json!({"applied": false, "failureReason": "the text is newer"});
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": refused});
        editor.send_raw(&frame(&answer));
    };
    for number in 0..3 {
        let id = nth(&editor, number);
        meets_a_key(&editor, id);
    }
    let id = nth(&editor, 3);
    take_when_offered(&mut editor, "Cancel");
    meets_a_key(&editor, id);
    bench.wait_status("cancelled");
    assert!(!editor.text(FILE).contains("AGENT:"));
    editor.state().on_apply = OnApply::Apply;
    bench.model.rewrite(vec![Step::text("Done.")]);
    take_when_offered(&mut editor, "Reply as agent");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
}

#[test]
fn what_a_try_took_that_came_to_nothing_counts() {
    // The first breaks off between its counts and its text, the last behind the beginning of its text.
    let bench = Bench::new(vec![
        Step::text("Not to its end.").cut(420),
        read(),
        Step::text("Never to its end.").stall(700),
    ]);
    let mut editor = bench.typed();
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    progress(&editor, "answering");
    assert_eq!(bench.model.requests().len(), 3);
    take_when_offered(&mut editor, "Cancel");
    let run = bench.wait_status("cancelled");
    // Each answer takes 1020, as its beginning says.
    assert_eq!(run["tokens"], 3 * 1020);
}
