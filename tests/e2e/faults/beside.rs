//! A turn beside an author, an editor and other processes that do not play along.

use serde_json::{Value, json};

use super::shown;
use super::turn::{CODE, FILE, THREAD, World};
use crate::harness::{Editor, OnApply, Options, Workspace};
use crate::model::{Model, Step, call};

/// An editor on a world of its own script, its file open with a thread that was typed there.
pub(super) struct Desk {
    pub world: World,
    pub editor: Editor,
}

/// A trusted workspace whose model is `model`.
fn options(model: &Model) -> Options {
    Options {
        env: vec![
            ("ANTHROPIC_BASE_URL".into(), model.url().to_owned()),
            ("ANTHROPIC_API_KEY".into(), "sk-canary".into()),
        ],
        initialization_options: json!({"trusted": true}),
        ..Options::default()
    }
}

impl Desk {
    pub fn new(script: Vec<Step>) -> Self {
        Self::on(Workspace::new(), script)
    }

    pub fn on(workspace: Workspace, script: Vec<Step>) -> Self {
        workspace.write(FILE, CODE);
        let model = Model::start(script);
        let editor = Editor::start_with(&workspace, options(&model));
        editor.open(FILE);
        editor.splice(FILE, 0..0, THREAD);
        editor.wait_codes(FILE, &["pending"]);
        let world = World { workspace, model };
        Self { world, editor }
    }

    pub fn ask(&mut self) {
        self.editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("the turn starts");
    }

    pub fn wait_status(&self, status: &str) {
        self.world.workspace.wait_status(status);
    }

    /// What was told in place of an answer in the text.
    pub fn wait_told(&self, what: &str) {
        let holds = |m: &Value| {
            m["message"]
                .as_str()
                .is_some_and(|text| text.contains(what))
        };
        self.editor.wait_message("window/showMessage", holds);
    }
}

pub(super) fn read() -> Step {
    Step::calls(vec![call("toolu_r", "file_read", json!({"path": FILE}))])
}

fn edit(old: &str, new: &str) -> Step {
    let input = json!({"path": FILE, "old_string": old, "new_string": new});
    Step::calls(vec![call("toolu_e", "file_edit", input)])
}

#[test]
fn fault_05_one_process_has_a_run_and_another_takes_it_over_when_that_is_killed() {
    let mut desk = Desk::new(vec![
        read(),
        Step::text("never").stall(10),
        Step::text("Taken over."),
    ]);
    desk.editor.save(FILE);
    desk.ask();
    desk.world.model.wait_for_requests(2);
    assert_eq!(
        desk.world.run(&["trust", "--yes"], None).status.code(),
        Some(0)
    );
    let run = desk.world.runs().remove(0);
    let thread = run["thread_id"].as_str().expect("an id").to_owned();
    let output = desk.world.run(&["reply", &thread, "--yes"], None);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    assert!(
        shown(&output).contains("is being answered by another process"),
        "{}",
        shown(&output)
    );
    // Only that run is refused.
    let other = "// AUTHOR: list todos\nfn b() {}\n";
    desk.world.workspace.write("src/b.rs", other);
    let args = ["reply", "--all", "src/b.rs", "--model", "offline", "--yes"];
    let output = desk.world.run(&args, None);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    desk.editor.kill();
    let output = desk.world.run(&["reply", &thread, "--yes"], None);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let text = desk.world.workspace.read(FILE);
    assert!(text.contains("// AGENT: Taken over."), "{text}");
    // It went on with what the first had read.
    let asked = desk.world.model.requests();
    assert!(
        asked[2].prompt().contains("toolu_r"),
        "{}",
        asked[2].prompt()
    );
}

#[test]
fn fault_05_a_second_server_refuses_that_run_only_and_takes_it_over() {
    let mut desk = Desk::new(vec![
        read(),
        Step::text("never").stall(10),
        Step::text("Taken over."),
    ]);
    desk.editor.save(FILE);
    desk.world
        .workspace
        .write("src/b.rs", "// AUTHOR: list todos\nfn b() {}\n");
    desk.ask();
    desk.world.model.wait_for_requests(2);
    let mut second = Editor::start_with(&desk.world.workspace, options(&desk.world.model));
    second.open(FILE);
    second.wait_diagnostics(FILE, |all| all.len() == 1);
    let refused = second.take_action(FILE, 0, "Reply as agent");
    let refused = refused.expect_err("another has it").to_string();
    assert!(
        refused.contains("is being answered by another process"),
        "{refused}"
    );
    assert_eq!(desk.world.runs()[0]["status"], "running");
    // Another thread is nobody's.
    let uri = second.uri("src/b.rs");
    second.open("src/b.rs");
    let id = second.wait_codes("src/b.rs", &["pending"])[0]["data"]["thread_id"].clone();
    let argument = json!({"uri": uri, "thread_id": id, "model": "offline"});
    second
        .command("postil.replyAsAgent", argument)
        .expect("it is answered");
    second.wait_text("src/b.rs", |text| text.contains("// AGENT: "));

    desk.editor.kill();
    second
        .take_action(FILE, 0, "Reply as agent")
        .expect("it is taken over");
    second.wait_text(FILE, |text| text.contains("// AGENT: Taken over."));
    let asked = desk.world.model.requests();
    assert!(asked[2].prompt().contains("toolu_r"), "it went on");
}

#[test]
fn fault_08_a_terminated_server_records_its_turn_and_ends() {
    for is_told in [false, true] {
        let mut desk = Desk::new(vec![
            read(),
            Step::text("never").stall(10),
            Step::text("Now."),
        ]);
        desk.editor.save(FILE);
        desk.ask();
        desk.world.model.wait_for_requests(2);
        if is_told {
            // A window that is closed, or loaded anew.
            let done = desk.editor.request("shutdown", Value::Null);
            assert_eq!(done, Ok(Value::Null));
            desk.editor.notify("exit", Value::Null);
        } else {
            let id = desk.editor.process_id().to_string();
            let mut kill = std::process::Command::new("kill");
            let killed = kill.args(["-TERM", &id]).status().expect("kill runs");
            assert!(killed.success());
        }
        desk.editor.wait_exit();
        // Nobody has cancelled it: asked for again it goes on with what it has.
        assert_eq!(desk.world.runs()[0]["status"], "interrupted");
        let rounds = desk.world.rounds();
        let roles: Vec<&str> = rounds.iter().map(|(role, _)| role.as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "system"]);
        let output = desk.world.run(&["reply", "--all", "--yes"], None);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        let asked = desk.world.model.requests();
        assert!(asked[2].prompt().contains("toolu_r"), "it went on");
    }
}

#[test]
fn fault_18_the_agent_works_on_the_buffer_and_never_forces_the_disk() {
    for refuse in [false, true] {
        let mut desk = Desk::new(vec![read(), edit("8", "88"), Step::text("Done.")]);
        // Unsaved: what the disk has is not what is answered.
        desk.editor.replace(FILE, "7", "8");
        desk.editor.wait_codes(FILE, &["pending"]);
        if refuse {
            desk.editor.state().on_apply = OnApply::Refuse;
        }
        desk.ask();
        let asked = desk.world.model.wait_for_requests(3);
        let results = asked[1].results();
        assert!(results[0].1.contains("    8"), "{results:?}");
        let results = asked[2].results();
        assert_eq!(results[0].2, refuse, "{results:?}");
        // An answer that is not taken either is a turn that failed.
        desk.wait_status(if refuse { "failed" } else { "completed" });
        assert_eq!(desk.editor.text(FILE).contains("88"), !refuse);
        assert_eq!(desk.world.workspace.read(FILE), CODE);
    }
}

/// What the author does while the agent thinks of its edit, and what must stand in the end.
struct Act {
    what: &'static str,
    edits: &'static [(&'static str, &'static str)],
    stands: &'static str,
    landed: bool,
}

#[test]
fn fault_19_whatever_the_author_does_during_a_turn_their_text_stands() {
    let act = |what, edits, stands, landed| Act {
        what,
        edits,
        stands,
        landed,
    };
    let acts = [
        act(
            "the same line",
            &[("    7", "    7 + 1")],
            "    7 + 1\n",
            false,
        ),
        act(
            "another line",
            &[("-> u32 {", "-> u64 {")],
            "-> u64 {",
            true,
        ),
        act("the line removed", &[("    7\n", "")], "-> u32 {\n}", false),
        act(
            "typed and taken back",
            &[("    7", "    7 mine"), ("7 mine", "7")],
            "-> u32 {",
            true,
        ),
        act(
            "lines above",
            &[("pub fn", "// mine\n\npub fn")],
            "// mine\n\npub fn",
            true,
        ),
    ];
    for act in acts {
        let mut desk = Desk::new(vec![
            read(),
            edit("    7\n", "    77\n").held(),
            Step::text("Done."),
        ]);
        desk.ask();
        desk.world.model.wait_for_requests(2);
        for (old, new) in act.edits {
            desk.editor.replace(FILE, old, new);
        }
        desk.editor.settle();
        desk.world.model.release();
        let text = desk
            .editor
            .wait_text(FILE, |text| text.contains("AGENT: Done."));
        assert!(text.contains(act.stands), "{}: {text}", act.what);
        assert_eq!(
            text.contains("    77\n"),
            act.landed,
            "{}: {text}",
            act.what
        );
    }
    // Closed without saving: the disk is what there is, it has no thread, and the turn ends with that.
    let mut desk = Desk::new(vec![
        read(),
        edit("    7\n", "    77\n").held(),
        Step::text("Done."),
    ]);
    desk.ask();
    desk.world.model.wait_for_requests(2);
    desk.editor.close(FILE);
    desk.editor.settle();
    desk.world.model.release();
    desk.wait_status("cancelled");
    assert_eq!(desk.world.workspace.read(FILE), CODE);
}

#[test]
fn fault_22_an_editor_that_lies_or_says_nothing_loses_no_text() {
    // It says that it made the edit, and did not.
    let mut desk = Desk::new(vec![read(), edit("7", "77"), Step::text("Done.")]);
    desk.editor.state().on_apply = OnApply::Pretend;
    desk.ask();
    let asked = desk.world.model.wait_for_requests(3);
    let (_, told, is_error) = &asked[2].results()[0];
    let unknown = told.starts_with("It is not known whether the editor made the change of");
    assert!(*is_error && unknown, "{told}");
    desk.wait_told("Done.");
    assert_eq!(desk.editor.text(FILE), format!("{THREAD}{CODE}"));

    // It never answers: the author can cancel, and the next turn works.
    let mut desk = Desk::new(vec![read(), edit("7", "77"), Step::text("Again.")]);
    desk.editor.state().on_apply = OnApply::Ignore;
    desk.ask();
    desk.editor.wait_message("workspace/applyEdit", |_| true);
    desk.editor
        .take_action(FILE, 0, "Cancel")
        .expect("cancelled");
    desk.wait_status("cancelled");
    desk.editor.state().on_apply = OnApply::Apply;
    desk.ask();
    desk.editor
        .wait_text(FILE, |text| text.contains("// AGENT: Again."));
}

#[test]
fn fault_19_a_file_that_changes_on_disk_meanwhile_is_never_written_over() {
    const WAS: &str = "fn b() -> u32 { 1 }\n";
    const MINE: &str = "fn b() -> u32 { 9 }\n";
    const NAMES: [&str; 3] = ["src/edited.rs", "src/patched.rs", "src/written.rs"];
    type Act = fn(&Workspace, &str);
    let acts: [(&str, Act, Option<&str>); 4] = [
        (
            "written, of the same length and time",
            |w, name| {
                let time = std::fs::metadata(w.path(name)).and_then(|m| m.modified());
                w.write(name, MINE);
                let file = std::fs::File::options().write(true).open(w.path(name));
                file.and_then(|file| file.set_modified(time?))
                    .expect("its time");
            },
            Some(MINE),
        ),
        (
            "removed",
            |w, name| std::fs::remove_file(w.path(name)).expect("removed"),
            None,
        ),
        (
            "renamed",
            |w, name| {
                let to = w.path(&format!("{name}.moved"));
                std::fs::rename(w.path(name), to).expect("renamed");
            },
            None,
        ),
        (
            "a folder in its place",
            |w, name| {
                std::fs::remove_file(w.path(name)).expect("removed");
                std::fs::create_dir(w.path(name)).expect("a folder");
            },
            None,
        ),
    ];
    for (what, act, stands) in acts {
        let [edited, patched, written] = NAMES;
        let read = |(at, path): (usize, &&str)| {
            call(&format!("toolu_r{at}"), "file_read", json!({"path": path}))
        };
        let edit = json!({"path": edited, "old_string": "1", "new_string": "2"});
        let patch = format!("--- a/{patched}\n+++ b/{patched}\n@@ -1 +1 @@\n-{WAS}+fn b() {{}}\n");
        let write = json!({"path": written, "content": "fn b() {}\n"});
        let changes = vec![
            call("toolu_e", "file_edit", edit),
            call("toolu_p", "patch_apply", json!({"patch": patch})),
            call("toolu_w", "file_write", write),
        ];
        let workspace = Workspace::new();
        for name in NAMES {
            workspace.write(name, WAS);
        }
        let script = vec![
            Step::calls(NAMES.iter().enumerate().map(read).collect()),
            Step::calls(changes).held(),
            Step::text("Done."),
        ];
        let mut desk = Desk::on(workspace, script);
        desk.ask();
        desk.world.model.wait_for_requests(2);
        let workspace = &desk.world.workspace;
        for name in NAMES {
            act(workspace, name);
        }
        desk.world.model.release();
        let results = desk.world.model.wait_for_requests(3)[2].results();
        desk.editor
            .wait_text(FILE, |text| text.contains("AGENT: Done."));
        for (name, (_, text, is_error)) in NAMES.iter().zip(results) {
            assert!(is_error && text.contains(name), "{what}: {text}");
            let now = std::fs::read_to_string(workspace.path(name)).ok();
            assert_eq!(now.as_deref(), stands, "{what}: {name}");
            if what == "renamed" {
                assert_eq!(workspace.read(&format!("{name}.moved")), WAS);
            }
        }
    }
}

#[test]
fn fault_22_an_editor_that_goes_on_after_shutdown_is_refused_and_the_turn_is_kept() {
    let mut desk = Desk::new(vec![read(), edit("7", "77")]);
    desk.editor.state().on_apply = OnApply::Ignore;
    desk.ask();
    desk.editor.wait_message("workspace/applyEdit", |_| true);
    let done = desk.editor.request("shutdown", Value::Null);
    assert_eq!(done, Ok(Value::Null));
    let again = desk.editor.command("postil.replyAll", json!({}));
    assert_eq!(again.expect_err("it is over")["code"], -32600);
    desk.editor.replace(FILE, "7", "8");
    desk.editor.save(FILE);
    desk.editor.notify("exit", Value::Null);
    assert!(desk.editor.wait_exit().0.success());
    let status = desk.world.runs()[0]["status"].clone();
    assert!(status == "cancelled" || status == "interrupted", "{status}");
    let text = desk.world.workspace.read(FILE);
    assert_eq!(text, format!("{THREAD}{CODE}").replace('7', "8"));
    let roles: Vec<String> = desk.world.rounds().into_iter().map(|(r, _)| r).collect();
    assert_eq!(&roles[..3], ["user", "assistant", "tool"], "{roles:?}");
}
