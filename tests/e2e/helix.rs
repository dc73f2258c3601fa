//! Helix with `editors/helix/languages.toml` as it is, in a terminal (tmux): a thread is typed, shown as a
//! diagnostic, answered from the menu of code actions, and taken back with `u`.

mod colours;
mod languages;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::harness::Workspace;
use crate::peers;

const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with one program in it.
struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// `run` is a shell's command line; it gets the environment of `command`.
    fn open(mut command: Command, socket: PathBuf, run: &str) -> Self {
        let status = command
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(&socket)
            .args(["new-session", "-d", "-s", "t", "-x", "120", "-y", "30", run])
            .args([";", "set", "-sg", "escape-time", "0"])
            .status();
        assert!(status.expect("tmux runs").success(), "tmux does not start");
        Self { socket }
    }

    fn tmux(&self, args: &[&str]) -> String {
        let output = Command::new(peers::bin().join("tmux"))
            .arg("-S")
            .arg(&self.socket)
            .args(args)
            .output();
        String::from_utf8_lossy(&output.expect("tmux runs").stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "t"])
    }

    /// Text, as if pasted key by key.
    fn text(&self, text: &str) {
        self.tmux(&["send-keys", "-t", "t", "-l", text]);
    }

    /// One key by its name, taken before the next comes: a terminal cannot tell Escape and a key from Alt and
    /// that key.
    fn key(&self, name: &str) {
        self.tmux(&["send-keys", "-t", "t", name]);
        std::thread::sleep(Duration::from_millis(400));
    }

    /// Waits until the screen fits. A terminal announces nothing, so it is looked at again and again.
    fn wait(&self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if fits(&screen) {
                return screen;
            }
            assert!(
                Instant::now() < end,
                "waited in vain for {what}; the screen:\n{screen}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// The peers, with the built binary before them, as `postil`.
fn path() -> OsString {
    let built = Path::new(env!("CARGO_BIN_EXE_postil"))
        .parent()
        .map(PathBuf::from);
    let peers = peers::path();
    std::env::join_paths(built.into_iter().chain(std::env::split_paths(&peers))).expect("a path")
}

/// The user's folder of Helix.
fn config(workspace: &Workspace) -> PathBuf {
    let data = workspace.data();
    let config = data.parent().expect("a folder").with_file_name("config");
    std::fs::create_dir_all(config.join("helix")).expect("a folder");
    config.join("helix")
}

/// A trusted project of two modules, and Helix set up as editors/helix has it; `hx FILE:4` in a terminal.
fn opened(file: &str) -> (Workspace, Terminal) {
    let workspace = Workspace::new();
    workspace.write(
        "pyproject.toml",
        "[project]\nname = \"notes\"\nversion = \"0.1.0\"\n",
    );
    workspace.write(
        "notes.py",
        "\"\"\"Notes.\"\"\"\n\n\ndef load(path):\n    return path\n",
    );
    workspace.write("count.py", "from notes import load\n\nprint(load(1))\n");
    workspace.git(&["init", "-q"]);
    workspace.git(&["add", "-A"]);
    workspace.git(&["commit", "-q", "-m", "Begin"]);
    let trust = workspace
        .postil()
        .args(["trust", "--yes"])
        .env("PATH", path())
        .output();
    assert!(trust.expect("it runs").status.success());

    let config = config(&workspace);
    let editors = Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/helix");
    std::fs::copy(
        editors.join("languages.toml"),
        config.join("languages.toml"),
    )
    .expect("the project's own languages.toml");
    let keys = std::fs::read_to_string(editors.join("config.toml")).expect("config.toml");
    std::fs::write(
        config.join("config.toml"),
        format!("[editor]\nend-of-line-diagnostics = \"hint\"\n{keys}"),
    )
    .expect("config.toml");

    let mut command = workspace.command(peers::bin().join("tmux"));
    command
        .env("PATH", path())
        .env("POSTIL_MODEL", "offline")
        .env("TERM", "xterm-256color");
    let socket = workspace.data().parent().expect("a folder").join("tmux");
    let terminal = Terminal::open(command, socket, &format!("hx {file}"));
    (workspace, terminal)
}

/// Takes the action `title` from the open menu.
fn take(terminal: &Terminal, title: &str) {
    let menu = terminal.wait("the menu", |s| s.contains(title));
    // The menu is a box; its first action is chosen already.
    let lines: Vec<&str> = menu.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.contains(title))
        .expect("on the screen");
    let column = lines[at]
        .find(title)
        .map(|byte| lines[at][..byte].chars().count())
        .unwrap_or_default();
    let starts = |line: &str| {
        let rest: String = line.chars().skip(column).take(2).collect();
        rest.starts_with(char::is_uppercase)
    };
    let mut first = at;
    while first > 0 && starts(lines[first - 1]) {
        first -= 1;
    }
    for _ in first..at {
        terminal.key("Down");
    }
    terminal.key("Enter");
}

#[test]
fn a_thread_is_begun_listed_answered_and_resolved_by_keys_in_helix() {
    if !peers::have(&["hx", "tmux", "pylsp"]) {
        return;
    }
    let (workspace, terminal) = opened("notes.py:5");
    terminal.wait("the file", |s| s.contains("def load(path)"));
    // The server's diagnostics tell that it is there.
    terminal.key("O");
    terminal.text("# AUTHOR: where is `load` used?");
    terminal.key("Escape");
    terminal.wait("the thread", |s| s.contains("awaiting agent"));
    for key in ["Space", "m", "l"] {
        terminal.key(key);
    }
    terminal.wait("the picker", |s| {
        s.contains("pending awaiting agent: where")
    });
    terminal.key("Escape");
    for key in ["Space", "m", "r"] {
        terminal.key(key);
    }
    terminal.wait("the answer", |s| {
        s.contains("# AGENT: `load` is used at 2 places")
    });
    for key in ["Space", "m", "a"] {
        terminal.key(key);
    }
    take(&terminal, "Resolve (remove thread)");
    terminal.wait("the file without it", |s| !s.contains("AGENT: "));
    terminal.wait("the code", |s| s.contains("return path"));
    // On a line without one.
    for key in ["g", "e", "k", "Space", "m", "a"] {
        terminal.key(key);
    }
    take(&terminal, "New thread here");
    terminal.wait("a marker", |s| s.contains("# AUTHOR:"));
    terminal.text(":wq!");
    terminal.key("Enter");
    terminal.wait("its end", |s| s.is_empty() || !s.contains("NOR"));
    assert!(workspace.read("notes.py").contains("# AUTHOR:"));
}

#[test]
fn a_thread_is_shown_and_answered_in_helix() {
    if !peers::have(&["hx", "tmux", "pylsp"]) {
        return;
    }
    let (workspace, terminal) = opened("notes.py:4");
    terminal.wait("the file", |s| s.contains("def load(path)"));

    terminal.key("O");
    terminal.text("# AUTHOR: rename `load` to load_data");
    terminal.key("Escape");
    terminal.wait("the thread's diagnostic", |s| s.contains("awaiting agent"));
    terminal.key("Space");
    terminal.key("a");
    take(&terminal, "Reply as agent");
    terminal.wait("the answer", |s| {
        s.contains("# AGENT: ") && s.contains("def load_data(path)")
    });
    assert!(
        workspace.read("count.py").contains("load_data(1)"),
        "the closed file is changed on disk"
    );
    assert!(
        !workspace.read("notes.py").contains("load_data"),
        "the open file is not saved by us"
    );

    terminal.key("u");
    terminal.key("u");
    terminal.wait("the undo", |s| {
        s.contains("def load(path)") && !s.contains("# AGENT: ")
    });
    terminal.text(":qa!");
    terminal.key("Enter");
}
