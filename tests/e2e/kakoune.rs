//! Kakoune with kakoune-lsp, in a terminal (tmux), by the `kakrc` that docs/editors/kakoune.md gives.

use crate::harness::Workspace;
use crate::helix::Terminal;
use crate::peers;

/// The page's configuration.
fn kakrc() -> &'static str {
    include_str!("../../docs/editors/kakoune.md")
        .split("```")
        .nth(1)
        .expect("a block")
}

/// `kak FILE` in a terminal.
fn opened(workspace: &Workspace, file: &str) -> Terminal {
    let home = workspace.data().parent().expect("a folder").to_owned();
    let config = home.join("kak-config");
    std::fs::create_dir_all(config.join("kak")).expect("a folder");
    std::fs::write(config.join("kak/kakrc"), kakrc()).expect("kakrc");
    let more = [("XDG_CONFIG_HOME", config.as_os_str())];
    Terminal::open(workspace, &more, &format!("kak {file}"))
}

#[test]
fn a_thread_is_asked_answered_and_resolved_in_kakoune() {
    if !peers::have(&["kak", "kak-lsp", "tmux", "pylsp"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write(
        "notes.py",
        "def load(path):\n    return path\n\n\nload(1)\n",
    );
    workspace.write("notes.sql", "-- AUTHOR: why one?\nselect 1;\n");
    workspace.git(&["init", "-q"]);
    // Beside pylsp.
    let terminal = opened(&workspace, "notes.py");
    terminal.wait("the file", |s| s.contains("def load(path)"));
    terminal.text("O# AUTHOR: where is `load` used?");
    terminal.key("Escape");
    terminal.wait("the thread", |s| s.contains("awaiting agent"));
    terminal.text(" pr");
    // Whether a step comes through beside another server's is up to kakoune-lsp (the page); this always does.
    terminal.wait("that a question waits", |s| {
        s.contains("agent at work") && s.contains("🔔1")
    });
    terminal.text(" pa");
    terminal.wait("the question", |s| s.contains("Trust this workspace"));
    terminal.key("Enter");
    // An action of a turn that has ended is offered when it has.
    terminal.wait("the answer and its end", |s| {
        s.contains("# AGENT: `load` is used once")
            && !s.contains("agent at work")
            && !s.contains('⌛')
    });
    terminal.text(" pu");
    terminal.wait("the undo", |s| {
        !s.contains("# AGENT: ") && s.contains("awaiting agent")
    });
    terminal.text(" pd");
    terminal.wait("the file without it", |s| !s.contains("# AUTHOR: "));
    // Of a language for which kakoune-lsp has no server.
    terminal.text(":edit! notes.sql");
    terminal.key("Enter");
    terminal.wait("its thread", |s| s.contains("awaiting agent: why one?"));
    terminal.text(":kill!");
    terminal.key("Enter");
}
