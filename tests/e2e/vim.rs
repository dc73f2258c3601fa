//! Vim with vim-lsp and with coc.nvim, in a terminal (tmux), by the settings that docs/editors/vim.md gives. No registry
//! has them as they run: `POSTIL_VIM_LSP` is the folder of the one, `POSTIL_COC` that of the other, built.

use std::path::PathBuf;

use serde_json::json;

use crate::harness::Workspace;
use crate::helix::Terminal;
use crate::model::{Model, Step, call};
use crate::peers;

/// The page's block of this language, of its part on this plugin.
fn block(plugin: &str, language: &str) -> &'static str {
    let page = include_str!("../../docs/editors/vim.md");
    let heading = format!("\n## {plugin}\n");
    let part = page.split(heading.as_str()).nth(1).expect("the part");
    let rest = part.split(&format!("```{language}\n")).nth(1);
    rest.and_then(|rest| rest.split("```").next())
        .expect("a block")
}

/// The Node that came with code-server.
fn node() -> PathBuf {
    let modules = peers::bin().join("../code-server/node_modules");
    let mut entries = std::fs::read_dir(modules).expect("modules").flatten();
    let found = entries.find(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("node-linux")
    });
    found.expect("Node").path().join("bin/node")
}

/// `vim FILE` in a terminal.
fn opened(workspace: &Workspace, coc: &str, file: &str) -> Terminal {
    let home = workspace.data().parent().expect("a folder").join("vim");
    std::fs::create_dir_all(&home).expect("a folder");
    std::fs::write(home.join("coc-settings.json"), block("coc.nvim", "json")).expect("settings");
    let vimrc = format!(
        "set nocompatible encoding=utf-8 rtp^={coc}\nlet g:coc_node_path = '{}'\nlet g:coc_config_home = '{home}'\nlet g:coc_data_home = '{home}/data'\n{}",
        node().display(),
        block("coc.nvim", "vim"),
        home = home.display(),
    );
    std::fs::write(home.join("vimrc"), vimrc).expect("vimrc");
    let run = format!("vim -u {} {file}", home.join("vimrc").display());
    Terminal::open(workspace, &[], &run)
}

/// Takes an action of the thread in the first line from coc's menu, by its number.
fn take(terminal: &Terminal, title: &str) {
    // A number that came too late for the last menu is a count, until this.
    terminal.key("Escape");
    terminal.text("ggga");
    let title = format!(". {title}");
    let menu = terminal.wait("the menu", |s| s.contains(&title));
    let before = menu.split(&title).next().unwrap_or_default();
    let number = before.chars().next_back().expect("a number");
    // Drawn, it does not take keys yet.
    for _ in 0..20 {
        terminal.key(&number.to_string());
        if !terminal.screen().contains(&title) {
            return;
        }
    }
}

#[test]
fn a_thread_is_asked_answered_undone_and_resolved_in_vim_with_coc() {
    let Some(coc) = peers::pointed_to("POSTIL_COC") else {
        return;
    };
    if !peers::have(&["tmux", "code-server"]) || !peers::on_path("vim") {
        return;
    }
    let workspace = Workspace::new();
    workspace.write(
        "notes.py",
        "def load(path):\n    return path\n\n\n# AUTHOR: why one?\nload(1)\n",
    );
    workspace.git(&["init", "-q"]);
    let terminal = opened(&workspace, &coc, "notes.py");
    // What is typed before the server has the file came with the file, for all that it knows.
    terminal.wait("the sign of its thread", |s| {
        s.contains(">># AUTHOR: why one?")
    });
    terminal.text("O# AUTHOR: where is `load` used?");
    terminal.key("Escape");
    // Who has the word is where the sign is.
    let asked = |s: &str| s.starts_with(">># AUTHOR: where is `load` used?");
    terminal.wait("the thread", |s| {
        s.contains("awaiting agent: where is") && asked(s)
    });
    take(&terminal, "Reply as agent");
    terminal.wait("the question", |s| s.contains("[1]Trust this workspace"));
    terminal.text("1");
    terminal.key("Enter");
    let answered = |s: &str| s.contains("# AGENT: `load` is used once");
    terminal.wait("the answer", answered);
    terminal.text("u");
    terminal.wait("the thread as it was", |s| !answered(s));
    terminal.wait("its sign", asked);
    take(&terminal, "Reply as agent");
    terminal.wait("the answer again", |s| {
        answered(s) && s.lines().any(|line| line.trim_end() == ">># AUTHOR:")
    });
    take(&terminal, "Undo last turn");
    terminal.wait("the undo", |s| !answered(s) && s.contains("put back"));
    terminal.wait("its sign", asked);
    take(&terminal, "Resolve (remove thread)");
    terminal.wait("the file without it", |s| {
        s.contains("def load(path)") && !s.contains("# AUTHOR: where")
    });
    terminal.text(":qa!");
    terminal.key("Enter");
}

#[test]
fn a_thread_keeps_its_sign_and_is_answered_in_vim_with_vim_lsp() {
    let Some(plugin) = peers::pointed_to("POSTIL_VIM_LSP") else {
        return;
    };
    if !peers::have(&["tmux"]) || !peers::on_path("vim") {
        return;
    }
    let workspace = Workspace::new();
    workspace.write(
        "notes.py",
        "# AUTHOR: where is `load` used?\ndef load(path):\n    return path\n\n\nload(1)\n",
    );
    workspace.git(&["init", "-q"]);
    let vimrc = format!(
        "set nocompatible encoding=utf-8 rtp^={plugin}\n{}",
        block("vim-lsp", "vim")
    );
    let vimrc = workspace.write("../vimrc", vimrc);
    let run = format!("vim -u {} notes.py", vimrc.display());
    let terminal = Terminal::open(&workspace, &[], &run);
    terminal.wait("the sign of the thread", |s| s.starts_with("I># AUTHOR:"));
    terminal.text(":LspCodeAction");
    terminal.key("Enter");
    terminal.wait("the menu", |s| s.contains("[postil] Reply as agent"));
    terminal.key("Enter");
    for choice in ["Trust this workspace", "Allow edits"] {
        let choice = format!("1 - [postil] {choice}");
        terminal.wait("the question", |s| s.contains(&choice));
        terminal.text("1");
        // A Return that comes at once with the number is lost to Vim.
        terminal.wait("the number", |s| s.trim_end().ends_with("): 1"));
        terminal.key("Enter");
    }
    terminal.wait("the answer", |s| s.contains("# AGENT: `load` is used once"));
    // On a line without a thread, whatever can be done there.
    terminal.text(":6");
    terminal.key("Enter");
    let screen = terminal.wait("the sign at its new place", |s| {
        s.lines().any(|line| line.trim_end() == "H># AUTHOR:")
    });
    assert!(!screen.contains("A>"), "{screen}");
    terminal.text("u");
    let asked = |s: &str| s.starts_with("I># AUTHOR:") && !s.contains("AGENT");
    terminal.wait("the thread as it was", asked);
    terminal.text(":qa!");
    terminal.key("Enter");
}

/// Vim tells its plugins of a change in the current buffer alone, and not in Insert mode.
#[test]
fn an_edit_in_insert_mode_and_one_in_a_buffer_without_a_window_are_known_in_vim_with_vim_lsp() {
    let Some(plugin) = peers::pointed_to("POSTIL_VIM_LSP") else {
        return;
    };
    if !peers::have(&["tmux"]) || !peers::on_path("vim") {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("a.py", "A = 1\n");
    workspace.write("b.py", "B = 1\n");
    workspace.git(&["init", "-q"]);
    let trust = workspace.postil().args(["trust", "--yes"]).output();
    assert!(trust.expect("it runs").status.success());
    let patch = "--- a/a.py\n+++ b/a.py\n@@ -2,1 +2,1 @@\n-A = 1\n+A = 2\n--- a/b.py\n+++ b/b.py\n@@ -1,1 +1,1 @@\n-B = 1\n+B = 2\n";
    let model = Model::start(vec![
        Step::calls(vec![call("p", "patch_apply", json!({"patch": patch}))]).held(),
        Step::text("Both are 2."),
    ]);
    let vimrc = format!(
        "set nocompatible hidden encoding=utf-8 rtp^={plugin}\n{}",
        block("vim-lsp", "vim")
    );
    let vimrc = workspace.write("../vimrc", vimrc);
    let run = format!("vim -u {} a.py b.py", vimrc.display());
    let terminal = Terminal::open(&workspace, &model.in_terminal(), &run);
    let typed = |keys: &str| {
        terminal.text(keys);
        terminal.key("Enter");
    };
    typed(":next");
    terminal.wait("the second file", |s| s.contains("B = 1"));
    typed(":previous");
    terminal.wait("the first file", |s| s.contains("A = 1"));
    terminal.text("O# AUTHOR: make both 2");
    terminal.key("Escape");
    terminal.wait("the sign of the thread", |s| s.starts_with("I># AUTHOR:"));
    typed(":LspCodeAction");
    terminal.wait("the menu", |s| s.contains("[postil] Reply as agent"));
    terminal.key("Enter");
    model.wait_for_requests(1);
    terminal.text("Go");
    terminal.wait("Insert mode", |s| s.contains("-- INSERT --"));
    model.release();
    model.wait_for_requests(2);
    let told = model.requests()[1].results();
    assert!(!told[0].2, "{told:?}");
    terminal.wait("the answer", |s| {
        s.contains("# AGENT: Both are 2.") && s.contains("A = 2")
    });
    terminal.key("Escape");
    typed(":qa!");
}
