//! A commit under way, or one that waits for a save, when the server, the command or the file goes another way: nothing
//! that was said is lost, and what was not done is told.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::{ASKED, CLEARED, Repository, clear_in, editor, said};
use crate::harness::{Editor, wait_until};
use crate::helix::Terminal;
use crate::peers;

/// A hook that waits for `go`. It leaves the processor to others, and ends with its folder where a test fails.
pub const SLOW: &str = "touch begun; while ! test -e go && test -e begun; do sleep 0.01; done";
const NOT_SEEN: &str = "did not see it committed";
const POSTIL: &str = env!("CARGO_BIN_EXE_postil");
/// Whoever runs the tests may have it ignored.
const HEARS_HANGUP: [&str; 3] = ["env", "--default-signal=HUP", POSTIL];

impl Repository {
    fn log(&self) -> String {
        self.git(&["log", "--format=%s"])
    }

    /// What was said at the first line of `a.py`, and what was told by the way.
    fn why(&self) -> (Vec<String>, String) {
        let why = self
            .workspace
            .postil()
            .args(["why", "a.py:1", "--json"])
            .output();
        let why = why.expect("postil runs");
        let told = String::from_utf8_lossy(&why.stderr).into_owned();
        let json: Value = serde_json::from_slice(&why.stdout).expect("JSON");
        let all = json["conversations"].as_array().into_iter().flatten();
        let said = all.filter_map(|one| one["messages"][0]["text"].as_str());
        (said.map(str::to_owned).collect(), told)
    }

    #[track_caller]
    fn knows_once(&self) {
        assert_eq!(self.why().0, ["why?"]);
    }

    fn wait_begun(&self) {
        wait_until("the hook runs", || self.workspace.path("begun").exists());
    }

    fn go(&self) {
        self.workspace.write("go", "");
    }

    /// git went on alone.
    fn wait_committed(&self) {
        wait_until("git has committed", || self.log().lines().count() == 2);
        wait_until("git has ended", || {
            !self.workspace.path(".git/index.lock").exists()
        });
    }

    /// `postil clear a.py`, in a group of its own, when the hook runs.
    fn begin_clear(&self) -> Child {
        self.begin_clear_as(&[POSTIL])
    }

    /// The same, where `run` is what starts postil.
    fn begin_clear_as(&self, run: &[impl AsRef<OsStr>]) -> Child {
        self.trust();
        let mut command = self.workspace.command(&run[0]);
        command.args(&run[1..]).args(["clear", "a.py"]);
        command.process_group(0);
        let child = command.stderr(Stdio::piped()).spawn().expect("postil runs");
        self.wait_begun();
        child
    }
}

fn signal(name: &str, target: &str) {
    let sent = std::process::Command::new("kill")
        .args([name, "--", target])
        .status();
    assert!(sent.expect("kill runs").success());
}

/// Its exit status, and what it told.
fn end_of(child: Child) -> (Option<i32>, String) {
    let out = child.wait_with_output().expect("postil ends");
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    (out.status.code(), told)
}

/// As `:wq` does: the save and the end in one breath.
fn save_and_quit(it: &Repository, mut editor: Editor) {
    editor.save("a.py");
    let shutdown = editor.ask("shutdown", Value::Null);
    it.wait_begun();
    it.go();
    editor.answer(shutdown).expect("shut down");
    editor.notify("exit", Value::Null);
    assert!(editor.wait_exit().0.success());
}

#[test]
fn an_editor_that_saves_and_quits_gets_its_commit() {
    let it = Repository::new();
    it.hook("pre-commit", SLOW);
    let mut editor = editor(&it);
    clear_in(&mut editor);
    save_and_quit(&it, editor);
    assert_eq!(it.log(), "Clear review threads from a.py\nFirst\n");
    it.knows_once();
}

#[test]
fn what_git_refuses_while_the_editor_quits_is_put_back_on_disk() {
    let it = Repository::new();
    it.hook("pre-commit", &format!("{SLOW}; exit 1"));
    let mut editor = editor(&it);
    clear_in(&mut editor);
    save_and_quit(&it, editor);
    assert_eq!((it.log().as_str(), it.read().as_str()), ("First\n", ASKED));
    assert_eq!(it.why().0, [""; 0]);
}

#[test]
fn a_commit_whose_request_is_cancelled_is_made_or_taken_back() {
    for (end, log, text) in [
        (
            "",
            "Clear review threads from a.py\nFirst\n",
            super::CLEARED,
        ),
        ("; exit 1", "First\n", ASKED),
    ] {
        let it = Repository::new();
        it.hook("pre-commit", &format!("{SLOW}; touch done{end}"));
        let mut editor = editor(&it);
        editor.close("a.py");
        let argument = json!({"uri": editor.uri("a.py")});
        let clear = json!({"command": "postil.clearAndCommit", "arguments": [argument]});
        let clear = editor.ask("workspace/executeCommand", clear);
        it.wait_begun();
        editor.notify("$/cancelRequest", json!({"id": clear}));
        let cancelled = editor.answer(clear).expect_err("cancelled");
        assert_eq!(cancelled["code"], -32800);
        it.go();
        // What became of it is told.
        editor.wait_message("window/showMessage", |_| true);
        assert_eq!((it.log().as_str(), it.read().as_str()), (log, text));
    }
}

#[test]
fn an_editor_that_is_gone_without_a_word_gets_its_commit() {
    let it = Repository::new();
    it.hook("pre-commit", SLOW);
    let mut editor = editor(&it);
    clear_in(&mut editor);
    editor.save("a.py");
    it.wait_begun();
    editor.hang_up();
    it.go();
    editor.wait_exit();
    assert_eq!(it.log(), "Clear review threads from a.py\nFirst\n");
    it.knows_once();
}

#[test]
fn a_command_that_is_ended_while_a_hook_runs_sees_it_to_its_end() {
    let it = Repository::new();
    it.hook("pre-commit", SLOW);
    let clear = it.begin_clear();
    signal("-TERM", &clear.id().to_string());
    it.go();
    let (code, told) = end_of(clear);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("waiting for git"), "{told}");
    assert_eq!(it.log(), "Clear review threads from a.py\nFirst\n");
    it.knows_once();
}

impl Repository {
    /// What was to be cleared is back, once the command has ended.
    #[track_caller]
    fn is_put_back_by(&self, clear: Child) {
        let (code, told) = end_of(clear);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("file and index are as they were"), "{told}");
        assert_eq!(
            (self.log().as_str(), self.read().as_str()),
            ("First\n", ASKED)
        );
        assert_eq!(self.why().0, [""; 0]);
    }
}

/// Ctrl-C, and a terminal that is closed, go to git and its hook too.
#[test]
fn a_command_that_is_interrupted_puts_the_threads_back() {
    for name in ["-INT", "-HUP"] {
        let it = Repository::new();
        it.hook("pre-commit", SLOW);
        let clear = it.begin_clear_as(&HEARS_HANGUP);
        signal(name, &format!("-{}", clear.id()));
        it.is_put_back_by(clear);
    }
}

/// As `timeout` does it: the program, then its group.
#[test]
fn a_request_to_end_that_comes_again_at_once_is_one() {
    let it = Repository::new();
    it.hook("pre-commit", SLOW);
    let clear = it.begin_clear();
    // So many that without a rule at least two are heard apart.
    let id = clear.id().to_string();
    let mut shell = it.workspace.command("sh");
    shell.args([
        "-c",
        r#"for i in $(seq 200); do kill -TERM "$0"; done"#,
        &id,
    ]);
    assert!(shell.status().expect("sh runs").success());
    signal("-TERM", &format!("-{id}"));
    it.is_put_back_by(clear);
}

#[test]
fn a_request_to_end_that_npm_passes_on_is_one() {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) || !peers::have(&["code-server"]) {
        return;
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let start = |it: &Repository| {
        let modules = it.workspace.data().with_file_name("node_modules");
        let bin = modules.join("postil-linux-x64/bin");
        std::fs::create_dir_all(&bin).expect("folders");
        std::os::unix::fs::symlink(POSTIL, bin.join("postil")).expect("a link");
        let launcher = modules.join("postil.js");
        std::fs::copy(sources.join("packaging/npm/postil.js"), &launcher).expect("a copy");
        it.hook("pre-commit", SLOW);
        let peers_dir = peers::bin().join("..");
        it.begin_clear_as(&[
            OsStr::new("env"),
            OsStr::new(&format!("POSTIL_PEERS_DIR={}", peers_dir.display())),
            sources.join("tests/peers").as_os_str(),
            OsStr::new("with"),
            OsStr::new("code-server"),
            OsStr::new("node"),
            launcher.as_os_str(),
        ])
    };
    // Ctrl-C, and what ends a job, go to all.
    for name in ["-INT", "-TERM"] {
        let it = Repository::new();
        let clear = start(&it);
        signal(name, &format!("-{}", clear.id()));
        it.is_put_back_by(clear);
    }
    // Anybody else tells the one that they know.
    let it = Repository::new();
    let clear = start(&it);
    signal("-INT", &clear.id().to_string());
    it.go();
    let (code, told) = end_of(clear);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(it.log(), "Clear review threads from a.py\nFirst\n");
}

#[test]
fn a_command_whose_terminal_is_closed_sees_the_commit_to_its_end() {
    if !peers::have(&["tmux"]) {
        return;
    }
    let it = Repository::new();
    it.hook("pre-commit", SLOW);
    it.trust();
    let run = HEARS_HANGUP.map(|word| format!("'{word}'")).join(" ");
    let terminal = Terminal::open(&it.workspace, &[], &format!("exec {run} clear a.py"));
    it.wait_begun();
    drop(terminal);
    it.go();
    it.wait_committed();
    assert_eq!(it.why(), (vec![String::from("why?")], String::new()));
}

#[test]
fn a_command_that_is_to_outlive_its_terminal_does() {
    let it = Repository::new();
    it.hook("pre-commit", SLOW);
    // As `nohup` starts it.
    let clear = it.begin_clear_as(&["env", "--ignore-signal=HUP", POSTIL]);
    signal("-HUP", &clear.id().to_string());
    it.go();
    let (code, told) = end_of(clear);
    assert_eq!(code, Some(0), "{told}");
    assert!(!told.contains("waiting for git"), "{told}");
    assert_eq!(it.log(), "Clear review threads from a.py\nFirst\n");
}

/// Nothing can be done any more; the next command tells of it.
#[test]
fn a_command_that_is_killed_while_a_hook_runs_loses_nothing_that_was_said() {
    let it = Repository::new();
    it.hook("pre-commit", SLOW);
    let clear = it.begin_clear();
    signal("-KILL", &clear.id().to_string());
    end_of(clear);
    assert_eq!(it.read(), CLEARED);
    let (said, told) = it.why();
    assert_eq!(said, ["why?"]);
    assert!(told.contains(NOT_SEEN), "{told}");
    // Once.
    let (said, told) = it.why();
    assert_eq!((said.len(), told.as_str()), (1, ""));
    // Before its folder is removed below it.
    it.go();
    it.wait_committed();
}

/// git goes on alone: the commit is there, and nobody is told to make it.
#[test]
fn a_commit_that_outlives_its_killed_command_is_not_told_as_missing() {
    let it = Repository::new();
    it.hook("pre-commit", SLOW);
    let clear = it.begin_clear();
    signal("-KILL", &clear.id().to_string());
    end_of(clear);
    it.go();
    it.wait_committed();
    assert_eq!(it.why(), (vec![String::from("why?")], String::new()));
}

#[test]
fn a_commit_that_waited_for_a_save_when_the_server_was_killed_is_told() {
    let it = Repository::new();
    let mut first = editor(&it);
    clear_in(&mut first);
    first.kill();
    // Nothing is closed yet: the author may leave it as it is on disk.
    assert_eq!(it.why(), (Vec::new(), String::new()));
    let editor = Editor::start(&it.workspace);
    editor.open_text("a.py", "python", CLEARED);
    editor.save("a.py");
    said(&editor, NOT_SEEN);
    assert_eq!(it.log(), "First\n");
    it.knows_once();
}

#[test]
fn threads_that_a_killed_server_was_about_to_clear_and_that_stay_are_not_closed() {
    let it = Repository::new();
    let mut first = editor(&it);
    clear_in(&mut first);
    first.kill();
    let editor = Editor::start(&it.workspace);
    editor.open("a.py");
    editor.save("a.py");
    editor.wait_codes("a.py", &["pending"]);
    drop(editor);
    // Taken out by hand, in no editor of ours.
    it.workspace.write("a.py", CLEARED);
    assert_eq!(it.why(), (Vec::new(), String::new()));
}

#[test]
fn a_file_that_is_written_and_closed_without_a_word_of_its_save_is_told() {
    let it = Repository::new();
    let mut editor = editor(&it);
    clear_in(&mut editor);
    it.workspace.write("a.py", CLEARED);
    editor.close("a.py");
    said(&editor, NOT_SEEN);
    assert_eq!(it.log(), "First\n");
    it.knows_once();
}

#[test]
fn threads_that_are_back_in_the_editor_alone_are_kept_where_it_is_closed_unsaved() {
    let it = Repository::new();
    it.hook("pre-commit", "exit 1");
    let mut editor = editor(&it);
    clear_in(&mut editor);
    editor.save("a.py");
    said(&editor, "back in the editor");
    editor.wait_text("a.py", |text| text == ASKED);
    drop(editor);
    assert_eq!(it.read(), CLEARED);
    let (said, told) = it.why();
    assert_eq!(said, ["why?"]);
    assert!(told.contains(NOT_SEEN), "{told}");
}

// -- the file or the repository is another ------------------------------------------------------------

#[test]
fn a_commit_that_waits_is_called_off_where_head_is_on_another_branch() {
    let it = Repository::new();
    let mut editor = editor(&it);
    clear_in(&mut editor);
    it.git(&["checkout", "-qb", "other"]);
    editor.save("a.py");
    let told = said(&editor, "was not committed");
    assert!(
        told.contains("`main`") && told.contains("`other`"),
        "{told}"
    );
    assert_eq!(it.log(), "First\n");
    it.knows_once();
}

#[test]
fn a_commit_that_waits_is_made_on_top_of_what_the_author_committed_meanwhile() {
    let it = Repository::new();
    let mut editor = editor(&it);
    clear_in(&mut editor);
    it.workspace.write("b.py", "changed\n");
    it.git(&["commit", "-qm", "By hand", "b.py"]);
    editor.save("a.py");
    said(&editor, "committed a.py as");
    assert_eq!(it.log(), "Clear review threads from a.py\nBy hand\nFirst\n");
}

#[test]
fn a_commit_that_waits_is_called_off_by_a_reload_and_not_by_a_save_that_is_told_late() {
    let it = Repository::new();
    let mut editor = editor(&it);
    clear_in(&mut editor);
    // Another program writes the file, the editor reads it, the author goes on.
    it.workspace.write("a.py", "other\n");
    editor.replace("a.py", CLEARED, "other\n");
    editor.replace("a.py", "other\n", "other\nwip\n");
    said(&editor, "read anew from disk");
    editor.save("a.py");
    // Answered behind the save.
    editor
        .command("postil.nothing", json!({}))
        .expect_err("no such command");
    assert_eq!(it.log(), "First\n");

    // Keys that are sent when the file is written already, as by Emacs.
    editor.replace("a.py", "other\nwip\n", ASKED);
    editor.save("a.py");
    editor.wait_codes("a.py", &["pending"]);
    clear_in(&mut editor);
    it.workspace.write("a.py", format!("{CLEARED}typed\n"));
    editor.replace("a.py", "2\n", "2\ntyped\n");
    editor.save("a.py");
    said(&editor, "committed a.py as");
    assert_eq!(it.git(&["show", "HEAD:a.py"]), format!("{CLEARED}typed\n"));
}

/// Neovim tells of `:write OTHER` as of a save of the file.
#[test]
fn a_copy_that_is_saved_beside_commits_nothing() {
    let it = Repository::new();
    let mut editor = editor(&it);
    clear_in(&mut editor);
    let document = json!({"uri": editor.uri("a.py")});
    editor.notify("textDocument/didSave", json!({"textDocument": document}));
    // Whatever the notification began has begun.
    editor
        .command("postil.nothing", json!({}))
        .expect_err("no such command");
    assert_eq!(it.log(), "First\n");
    assert_eq!(it.read(), ASKED);
    editor.save("a.py");
    said(&editor, "committed a.py as");
    assert_eq!(it.git(&["show", "HEAD:a.py"]), CLEARED);
    assert_eq!(it.log().lines().count(), 2);
    it.knows_once();
}
