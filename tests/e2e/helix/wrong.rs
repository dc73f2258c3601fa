//! "When something is wrong" of docs/editors/helix.md, in the real program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{allowed, command, keys, opened, programs};
use crate::harness::Workspace;

/// The processes that run in this workspace: their folders of `/proc`.
fn processes(workspace: &Workspace) -> impl Iterator<Item = PathBuf> {
    let root = workspace.root().to_owned();
    let entries = std::fs::read_dir("/proc").expect("/proc");
    let all = entries.filter_map(|entry| Some(entry.ok()?.path()));
    all.filter(move |process| std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == root))
}

/// Ends the language servers of this workspace as a crash would.
pub(crate) fn kill_servers(workspace: &Workspace) {
    let built = Path::new(env!("CARGO_BIN_EXE_postil"));
    let built = built.canonicalize().expect("the built binary");
    let mut killed = 0;
    for process in processes(workspace) {
        if std::fs::read_link(process.join("exe")).is_ok_and(|exe| exe == built) {
            let id = process.file_name().expect("a number");
            let status = Command::new("kill").arg("-9").arg(id).status();
            killed += usize::from(status.expect("kill runs").success());
        }
    }
    assert!(killed > 0, "no server ran");
}

/// Whether the language's own server runs in this workspace.
fn pylsp_runs(workspace: &Workspace) -> bool {
    processes(workspace).any(|process| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("/pylsp\0")
    })
}

#[test]
fn a_killed_server_takes_no_text_along_and_comes_back() {
    for program in programs() {
        let (workspace, terminal) = opened(program, "notes.py:4");
        terminal.key("O");
        terminal.text("# AUTHOR: where is `load` used?");
        terminal.key("Escape");
        terminal.wait("the thread", |s| s.contains("awaiting agent"));
        kill_servers(&workspace);
        terminal.wait("the text without its diagnostic", |s| {
            !s.contains("awaiting agent") && s.contains("# AUTHOR: where is `load` used?")
        });
        let back: &[&str] = match program {
            "hx" => &[":write", ":buffer-close", ":open notes.py"],
            _ => &[":lsp-restart postil"],
        };
        for line in back {
            command(&terminal, line);
        }
        terminal.wait("the thread again", |s| s.contains("awaiting agent"));
        assert!(pylsp_runs(&workspace), "the language's own server is gone");
        command(&terminal, ":4");
        keys(&terminal, &["Space", "m", "r"]);
        allowed(&terminal, "the answer", |s| {
            s.contains("# AGENT: `load` is used at 2 places")
        });
        command(&terminal, ":qa!");
    }
}

#[test]
fn a_file_outside_the_workspace_is_refused_with_what_to_do() {
    for program in programs() {
        let (workspace, terminal) = opened(program, "notes.py:4");
        let outside = workspace.root().with_file_name("home").join("other.py");
        std::fs::write(&outside, "# AUTHOR: why?\nx = 1\n").expect("a file");
        command(&terminal, &format!(":open {}", outside.display()));
        terminal.wait("the thread", |s| s.contains("awaiting agent: why?"));
        // A step of pylsp's may take its message out of the status line before it was read.
        let told = (0..5).any(|_| {
            keys(&terminal, &["Space", "a"]);
            super::take(&terminal, "Reply as agent");
            let refused = |s: &str| s.contains("is outside the workspace: open its folder");
            terminal.sees(Duration::from_secs(4), refused)
        });
        assert!(told, "no refusal; the screen:\n{}", terminal.screen());
        assert_eq!(
            std::fs::read_to_string(&outside).expect("a file"),
            "# AUTHOR: why?\nx = 1\n"
        );
        command(&terminal, ":qa!");
    }
}
