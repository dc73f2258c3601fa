//! Emacs with eglot, set up as docs/editors/emacs.md says: in batch, and in a terminal by its keys.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Workspace, wait_until};
use crate::helix::Terminal;
use crate::model::{Model, Step, call};
use crate::peers;

/// The page's own lines for a clean init file: its first block of Lisp.
fn init() -> String {
    block(1)
}

/// The page's blocks of Lisp, from 1 on.
fn block(nth: usize) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/editors/emacs.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let rest = page.split("```elisp\n").nth(nth).expect("a block");
    let (lines, _) = rest.split_once("```").expect("its end");
    lines.to_owned()
}

/// Emacs with this init file and eglot, on `notes.py` in a terminal.
fn opened(workspace: &Workspace, init: &str, more: &[(&str, &OsStr)]) -> Terminal {
    let home = workspace.root().with_file_name("home").join(".emacs.d");
    std::fs::create_dir_all(&home).expect("a folder");
    std::fs::write(home.join("init.el"), init).expect("init.el");
    // With a new home each, every Emacs would compile its own libraries beside what is tested.
    let quiet = "(setq native-comp-jit-compilation nil)\n";
    std::fs::write(home.join("early-init.el"), quiet).expect("early-init.el");
    let terminal = Terminal::open(workspace, more, "emacs -nw notes.py");
    terminal.wait("the file", |s| {
        s.contains("def load(path)") && s.contains("(Python")
    });
    run(&terminal, "eglot");
    terminal.wait("the server", |s| s.contains("[eglot:"));
    terminal
}

/// A command by its name.
fn run(terminal: &Terminal, name: &str) {
    terminal.key("M-x");
    terminal.wait("the prompt", |s| {
        s.lines().any(|line| line.starts_with("M-x"))
    });
    terminal.text(name);
    terminal.key("Enter");
}

/// Emacs at a thread that was typed there, in a trusted folder; its turn has begun, and the model wants to run a
/// command as soon as it is released.
struct Bench {
    // Before the folder that its socket lies in.
    terminal: Terminal,
    workspace: Workspace,
    model: Model,
}

impl Bench {
    fn new(init: &str) -> Self {
        let command = json!({"command": "touch ran"});
        let file = "def load(path):\n    return path\n";
        Self::with(init, file, "run it?", call("b", "bash", command))
    }

    /// The same with this file and question; the model wants to make this call.
    fn with(init: &str, file: &str, question: &str, call: Value) -> Self {
        let workspace = Workspace::new();
        workspace.write("notes.py", file);
        workspace.git(&["init", "-q"]);
        let trust = workspace.postil().args(["trust", "--yes"]).status();
        assert!(trust.expect("it runs").success());
        let model = Model::start(vec![
            Step::calls(vec![call]).held(),
            Step::text("It is as it is."),
        ]);
        let terminal = opened(&workspace, init, &model.in_terminal());
        terminal.text(&format!("# AUTHOR: {question}"));
        terminal.key("Enter");
        terminal.wait("the mark", |s| s.contains("Flymake[0 0 1]"));
        terminal.key("M-<");
        run(&terminal, "eglot-code-actions");
        terminal.wait("the actions", |s| {
            s.contains("Pick an action (default Reply as agent)")
        });
        terminal.key("Enter");
        model.wait_for_requests(1);
        terminal.key("M->");
        Self {
            terminal,
            workspace,
            model,
        }
    }

    fn wait_question(&self) {
        self.terminal.wait("the question", |s| {
            s.contains("The agent wants to run `touch ran`")
                && s.contains("Choose an option: Refuse")
        });
    }

    /// The model is told `heard`, and the command did not run.
    fn is_refused(&self, heard: &str) {
        self.terminal
            .wait("the answer", |s| s.contains("# AGENT: It is as it is."));
        let told = self.model.requests()[1].results();
        assert!(told[0].1.contains(heard), "{told:?}");
        assert!(!self.workspace.root().join("ran").exists());
    }
}

#[test]
fn a_return_that_was_meant_for_the_text_is_a_no_in_emacs() {
    if !peers::have(&["emacs", "tmux"]) {
        return;
    }
    let bench = Bench::new(&init());
    bench.model.release();
    // As fast as somebody types: eglot tells nothing of it.
    wait_until("the model's next request", || {
        bench.terminal.tmux(&["send-keys", "-t", "t", "Enter"]);
        std::thread::sleep(Duration::from_millis(120));
        bench.model.requests().len() > 1
    });
    bench.terminal.key("M-<");
    bench.is_refused("The author refused");
}

#[test]
fn c_g_at_a_question_is_a_no_in_emacs() {
    if !peers::have(&["emacs", "tmux"]) {
        return;
    }
    let bench = Bench::new(&init());
    bench.model.release();
    bench.wait_question();
    bench.terminal.key("C-g");
    bench.is_refused("Nobody answered the question, which counts as no");
}

#[test]
fn an_edit_outside_of_what_is_shown_of_a_narrowed_buffer_is_made_in_emacs() {
    if !peers::have(&["emacs", "tmux"]) {
        return;
    }
    let init = format!("{}(put 'narrow-to-region 'disabled nil)\n", init());
    let file = "def load(path):\n    return path\n\n\ndef other():\n    return 1\n";
    let edit =
        json!({"path": "notes.py", "old_string": "return path", "new_string": "return str(path)"});
    let bench = Bench::with(&init, file, "do it", call("e", "file_edit", edit));
    let terminal = &bench.terminal;
    terminal.key("C-Space");
    terminal.key("C-p");
    for key in ["C-x", "n", "n"] {
        terminal.key(key);
    }
    terminal.wait("the rest alone", |s| {
        s.contains("return 1") && !s.contains("def ")
    });
    bench.model.release();
    bench.model.wait_for_requests(2);
    let told = bench.model.requests()[1].results();
    assert!(!told[0].2, "{told:?}");
    run(terminal, "widen");
    terminal.key("M-<");
    terminal.wait("the edit and the answer", |s| {
        s.contains("    return str(path)") && s.contains("# AGENT: It is as it is.")
    });
}

/// The call that makes an edit of `notes.py`, and the file.
fn edit() -> (&'static str, Value) {
    let file = "def load(path):\n    return path\n";
    let edit =
        json!({"path": "notes.py", "old_string": "return path", "new_string": "return str(path)"});
    (file, call("e", "file_edit", edit))
}

#[test]
fn what_is_typed_before_and_after_an_edit_of_a_turn_is_undone_apart_from_it_in_emacs() {
    if !peers::have(&["emacs", "tmux"]) {
        return;
    }
    let (file, edit) = edit();
    let bench = Bench::with(&init(), file, "do it", edit);
    let terminal = &bench.terminal;
    terminal.text("before");
    bench.model.release();
    let answered = |s: &str| s.contains("# AGENT: It is as it is.");
    terminal.wait("the answer", answered);
    terminal.text("after");
    terminal.wait("what is typed", |s| s.contains("beforeafter"));
    let edited = |s: &str| s.contains("return str(path)");
    let typed = |s: &str| s.contains("before");
    terminal.key("C-/");
    terminal.wait("without what was typed last", |s| {
        !s.contains("after") && answered(s) && edited(s) && typed(s)
    });
    terminal.key("C-/");
    terminal.wait("without the answer", |s| {
        !answered(s) && edited(s) && typed(s)
    });
    terminal.key("C-/");
    terminal.wait("without the edit", |s| !edited(s) && typed(s));
}

#[test]
fn an_edit_of_a_read_only_buffer_is_refused_with_its_reason_in_emacs() {
    if !peers::have(&["emacs", "tmux"]) {
        return;
    }
    let (file, edit) = edit();
    let bench = Bench::with(&init(), file, "do it", edit);
    run(&bench.terminal, "read-only-mode");
    let is_read_only = |s: &str| s.contains("Read-Only mode enabled");
    bench.terminal.wait("that it is", is_read_only);
    bench.model.release();
    bench.model.wait_for_requests(2);
    let told = bench.model.requests()[1].results();
    assert!(
        told[0].2
            && told[0]
                .1
                .contains("Buffer is read-only: #<buffer notes.py>"),
        "{told:?}"
    );
}

#[test]
fn a_second_buffer_of_a_file_changes_it_and_closes_nothing_in_emacs() {
    if !peers::have(&["emacs", "tmux"]) {
        return;
    }
    let (file, edit) = edit();
    let bench = Bench::with(&init(), file, "do it", edit);
    let terminal = &bench.terminal;
    for key in ["C-x", "4", "c"] {
        terminal.key(key);
    }
    terminal.wait("the second buffer", |s| s.contains("notes.py<2>"));
    terminal.key("M->");
    terminal.text("typed = 1");
    terminal.key("Enter");
    terminal.wait("the line", |s| s.matches("typed = 1").count() == 2);
    bench.model.release();
    bench.model.wait_for_requests(2);
    let told = bench.model.requests()[1].results();
    assert!(!told[0].2, "{told:?}");
    terminal.wait("the answer", |s| {
        s.contains("    return str(path)") && s.contains("# AGENT: It is as it is.")
    });
    for key in ["C-x", "k", "Enter"] {
        terminal.key(key);
    }
    terminal.wait("the file's own buffer", |s| !s.contains("notes.py<2>"));
    terminal.key("M->");
    terminal.text("# AUTHOR: is it open?");
    terminal.wait("both threads", |s| s.contains("Flymake[0 0 2]"));
}

#[test]
fn a_question_that_is_left_by_c_g_in_emacs_is_answered_at_its_thread() {
    if !peers::have(&["emacs", "tmux"]) {
        return;
    }
    // Without the lines by which it is an answer.
    let init = init();
    let (init, method) = init
        .split_once("(cl-defmethod eglot-handle-request")
        .expect("the method");
    assert!(!method.contains("define-advice"), "it stands last");
    let bench = Bench::new(init);
    bench.model.release();
    bench.wait_question();
    let terminal = &bench.terminal;
    terminal.key("C-g");
    terminal.wait("the text", |s| !s.contains("Choose an option"));
    terminal.key("M-<");
    run(terminal, "eglot-code-actions");
    terminal.wait("the actions", |s| s.contains("Pick an action"));
    terminal.text("Refuse");
    terminal.key("Enter");
    bench.is_refused("The author refused");
}

#[test]
fn a_question_that_came_while_a_prompt_was_open_comes_again_in_emacs() {
    if !peers::have(&["emacs", "tmux"]) {
        return;
    }
    let bench = Bench::new(&init());
    let terminal = &bench.terminal;
    terminal.key("C-x");
    terminal.key("C-f");
    terminal.wait("the prompt", |s| s.contains("Find file:"));
    bench.model.release();
    let is_answered = |s: &str| s.contains("# AGENT:");
    assert!(!terminal.sees(Duration::from_secs(4), is_answered));
    terminal.key("C-g");
    bench.wait_question();
    terminal.key("Enter");
    bench.is_refused("The author refused");
}

#[test]
fn a_thread_is_typed_trusted_and_answered_on_the_screen_of_emacs() {
    if !peers::have(&["emacs", "tmux"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write(
        "notes.py",
        "def load(path):\n    return path\n\n\nload(1)\n",
    );
    workspace.git(&["init", "-q"]);
    let terminal = opened(&workspace, &init(), &[]);
    let call = |name: &str| run(&terminal, name);
    terminal.text("# AUTHOR: where is `load` used?");
    terminal.key("Enter");
    // The mark in the margin, and the count of notes in the mode line.
    terminal.wait("the mark", |s| {
        s.contains("! # AUTHOR: where is `load` used?") && s.contains("Flymake[0 0 1]")
    });
    call("flymake-show-buffer-diagnostics");
    terminal.wait("the list", |s| {
        s.contains("awaiting agent: where is `load` used?")
    });
    terminal.key("C-x");
    terminal.key("1");
    terminal.key("M-<");
    call("eglot-code-actions");
    terminal.wait("the actions", |s| {
        s.contains("Pick an action (default Reply as agent)")
    });
    terminal.key("Enter");
    terminal.wait("the question", |s| {
        s.contains("is not trusted. Trusting it lets an agent edit")
            && s.contains("Choose an option: Read-only this time")
    });
    // The first of the answers is what stands there already.
    terminal.key("M-n");
    terminal.key("M-n");
    terminal.wait("the other answer", |s| {
        s.contains("Choose an option: Trust this workspace")
    });
    terminal.key("Enter");
    terminal.wait("the answer", |s| {
        s.contains("# AGENT: `load` is used") && s.contains("# AUTHOR:")
    });
    // Emacs tells of its edit though no key has come since the question.
    terminal.wait("the author's turn", |s| {
        s.lines().any(|line| line.trim_end() == "! # AUTHOR:")
    });
    assert!(
        !workspace.read("notes.py").contains("AGENT"),
        "the buffer is not saved by us"
    );
    // As one undo of Emacs's own.
    terminal.key("C-/");
    terminal.wait("the file without it", |s| !s.contains("# AGENT:"));
}

#[test]
fn a_thread_is_shown_and_answered_by_eglot() {
    if !peers::have(&["emacs"]) {
        return;
    }
    let workspace = Workspace::new();
    let file = workspace.write(
        "notes.py",
        "# AUTHOR: where is `load` used?\ndef load(path):\n    return path\n\n\nload(1)\n",
    );
    workspace.write("other.py", "# AUTHOR: is this so?\nx = 1\n");
    workspace.write("late.py", "last = 1\n");
    workspace.git(&["init", "-q"]);
    let trust = workspace.postil().args(["trust", "--yes"]).output();
    assert!(trust.expect("it runs").status.success());
    let built = Path::new(env!("CARGO_BIN_EXE_postil"))
        .parent()
        .map(PathBuf::from);
    let known = peers::path();
    let path = std::env::join_paths(built.into_iter().chain(std::env::split_paths(&known)));
    // The second block is for who has no language server of Python's.
    let init = workspace.write("../init.el", init() + &block(2));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/emacs/eglot.el");
    let output = workspace
        .command(peers::find("emacs").expect("emacs"))
        .args(["-Q", "--batch", "-l"])
        .arg(init)
        .arg("-l")
        .arg(script)
        .env("PATH", path.expect("a path"))
        .env("POSTIL_FILE", file)
        .env("POSTIL_MODEL", "offline")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("Emacs runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    for part in [
        "shown: (\"postil [pending]: awaiting agent: where is `load` used?\")",
        "\"Reply as agent\"",
        "answered: \"stray = 1\n\n# AUTHOR: where is `load` used?\n# AGENT: ",
        "mine = 1\n\"",
        "unsaved: t",
        "replaced: ((\"other.py\" \"postil [pending]: awaiting agent: was this so?\"))",
        "renamed: ((\"renamed.py\" \"postil [pending]: awaiting agent: was this so?\"))",
        "saved: (\"postil [pending]: awaiting agent: where is `last` used?\")",
        "moved: \"# AUTHOR: where is `moved` used?\n# AGENT: ",
        "named: (\"postil [pending]: awaiting agent: is it shown?\")",
        "own: (\"load (def)\") eglot etags \"lo_mine\"",
    ] {
        assert!(said.contains(part), "no {part} in {said}");
    }
    let (_, moved) = said.split_once("moved: ").expect("seen above");
    assert!(!moved.contains("before.py"), "{moved}");
    // It counts as typed all the same: nobody has to be asked whether it may have files changed.
    let reply = workspace
        .postil()
        .args(["reply", "--all", "late.py"])
        .output();
    let reply = reply.expect("it runs");
    let said = String::from_utf8_lossy(&reply.stderr);
    assert!(reply.status.success(), "{said}");
}
