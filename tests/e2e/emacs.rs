//! Emacs with eglot, set up as docs/editors/emacs.md says: in batch, and in a terminal by its keys.

use std::path::{Path, PathBuf};

use crate::harness::Workspace;
use crate::helix::Terminal;
use crate::peers;

/// The page's own lines for a clean init file: its first block of Lisp.
fn init() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/editors/emacs.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (_, rest) = page.split_once("```elisp\n").expect("a block");
    let (lines, _) = rest.split_once("```").expect("its end");
    lines.to_owned()
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
    let home = workspace.root().with_file_name("home").join(".emacs.d");
    std::fs::create_dir_all(&home).expect("a folder");
    std::fs::write(home.join("init.el"), init()).expect("init.el");
    let terminal = Terminal::open(&workspace, &[], "emacs -nw notes.py");
    let call = |name: &str| {
        terminal.key("M-x");
        terminal.wait("the prompt", |s| {
            s.lines().any(|line| line.starts_with("M-x"))
        });
        terminal.text(name);
        terminal.key("Enter");
    };
    terminal.wait("the file", |s| {
        s.contains("def load(path)") && s.contains("(Python")
    });
    call("eglot");
    terminal.wait("the server", |s| s.contains("[eglot:"));
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
            && s.contains("Choose an option: Trust this workspace")
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
    // The page's own lines, up to what is said of lsp-mode.
    let page = include_str!("../../docs/editors/emacs.md");
    let init = page
        .split("```elisp")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let init = workspace.write("../init.el", init.expect("a block"));
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
