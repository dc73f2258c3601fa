//! What is seen: Neovim in a terminal (tmux), from a clean profile, with the plugin put where the page says.

use std::path::Path;

use super::plugin::in_both;
use super::python_project;
use crate::harness::Workspace;
use crate::helix::Terminal;
use crate::peers;

in_both!(
    a_thread_is_typed_seen_and_answered,
    a_long_message_takes_no_key,
    a_long_message_takes_no_key_without_a_command_line,
    the_status_line_of_each_window_is_renewed,
);

/// `nvim FILE` as who has followed docs/editors/neovim.md and has set nothing else.
fn opened(program: &str, workspace: &Workspace, file: &str) -> Terminal {
    let data = workspace.data();
    let home = data.parent().expect("a folder");
    let config = home.with_file_name("config");
    let pack = config.join("nvim/pack/postil/start");
    std::fs::create_dir_all(&pack).expect("a folder");
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/neovim");
    std::os::unix::fs::symlink(plugin, pack.join("postil")).expect("a link");
    let more = [
        ("XDG_CONFIG_HOME", config.as_os_str()),
        ("XDG_RUNTIME_DIR", home.as_os_str()),
    ];
    Terminal::open(workspace, &more, &format!("{program} {file}"))
}

fn a_thread_is_typed_seen_and_answered(program: &str) {
    if !peers::have(&["tmux", "pylsp"]) {
        return;
    }
    let workspace = python_project();
    let terminal = opened(program, &workspace, "notes.py");
    let quiet = |screen: &str| {
        for stray in ["Press ENTER", "deprecated", "E5108", "Error", "-- More --"] {
            assert!(!screen.contains(stray), "{stray}:\n{screen}");
        }
    };
    // The last line, where messages come.
    let bottom = |screen: &str| screen.lines().nth(29).unwrap_or_default().trim().to_owned();
    quiet(&terminal.wait("the file", |s| s.contains("def load(path)")));
    for key in ["4", "G", "O"] {
        terminal.key(key);
    }
    terminal.text("# AUTHOR: where is `load` used?");
    terminal.key("Escape");
    let sign = |screen: &str, sign: char| {
        let mut lines = screen.lines().filter(|line| line.contains("# AUTHOR:"));
        lines.any(|line| line.trim_start().starts_with(sign))
    };
    quiet(&terminal.wait("the sign and the state", |s| {
        sign(s, '?') && s.matches("awaiting agent").count() == 1
    }));
    terminal.text(":Postil reply");
    terminal.key("Enter");
    let answered = terminal.wait("the answer and its sign", |s| {
        s.contains("# AGENT: `load` is used at")
            && sign(s, '»')
            && s.matches("agent answered").count() == 1
    });
    quiet(&answered);
    let said = bottom(&answered);
    assert!(
        said.is_empty() || said.starts_with(":Postil reply") || !said.contains(char::is_alphabetic),
        "a stray message: {said}\n{answered}"
    );
    // Nor was there one that is gone already.
    terminal.text(":put =execute('messages') | $put ='the end'");
    terminal.key("Enter");
    quiet(&terminal.wait("all messages", |s| s.contains("the end")));
    terminal.text(":qa!");
    terminal.key("Enter");
}

fn a_long_message_takes_no_key(program: &str) {
    long_message(program, &[], "execute('messages')", |s| {
        s.contains("continue, health, model")
    });
}

/// Then the whole is there to be read in parts.
fn a_long_message_takes_no_key_without_a_command_line(program: &str) {
    let before = [":set cmdheight=0 laststatus=0"];
    let joined = "substitute(execute('messages'), '\\n', '', 'g')";
    long_message(program, &before, joined, |s| {
        s.replace('\n', "").contains("continue, health, model")
    });
}

/// `messages`: an expression for all that was told, which `is_whole` then.
fn long_message(program: &str, before: &[&str], messages: &str, is_whole: impl Fn(&str) -> bool) {
    if !peers::have(&["tmux"]) {
        return;
    }
    let workspace = python_project();
    let terminal = opened(program, &workspace, "notes.py");
    terminal.wait("the file", |s| s.contains("def load(path)"));
    for command in before.iter().chain(&[":Postil nonsense"]) {
        terminal.text(command);
        terminal.key("Enter");
    }
    let told = terminal.wait("its beginning and its end", |s| {
        s.contains("postil: there is no `:Postil nonsense`") && s.contains("undo, why")
    });
    assert!(!told.contains("Press ENTER"), "{told}");
    // What is typed then is a command.
    terminal.text("x");
    terminal.wait("a letter less", |s| {
        s.contains("rom pathlib") && !s.contains("from pathlib")
    });
    terminal.text(&format!(":put ={messages}"));
    terminal.key("Enter");
    terminal.wait("the whole", is_whole);
    terminal.text(":qa!");
    terminal.key("Enter");
}

fn the_status_line_of_each_window_is_renewed(program: &str) {
    if !peers::have(&["tmux"]) {
        return;
    }
    let workspace = python_project();
    let terminal = opened(program, &workspace, "notes.py");
    terminal.wait("the file", |s| s.contains("def load(path)"));
    for command in [
        ":set statusline=[%{v:lua.require'postil'.statusline()}]",
        ":split",
        ":4Postil new where is load used?",
    ] {
        terminal.text(command);
        terminal.key("Enter");
    }
    terminal.wait("the thread", |s| s.matches("[1?]").count() == 2);
    terminal.text(":4");
    terminal.key("Enter");
    terminal.text(":Postil reply");
    terminal.key("Enter");
    terminal.wait("the answer", |s| s.matches("[1»]").count() == 2);
    terminal.text(":qa!");
    terminal.key("Enter");
}
