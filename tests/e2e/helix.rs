//! Helix with `editors/helix/languages.toml` as it is, in a terminal (tmux): a thread is typed, shown as a
//! diagnostic, answered from the menu of code actions, and taken back with `u`.

mod colours;

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

#[test]
fn a_thread_is_shown_and_answered_in_helix() {
    if !peers::have(&["hx", "tmux", "pylsp"]) {
        return;
    }
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

    let config = workspace
        .data()
        .parent()
        .expect("a folder")
        .with_file_name("config")
        .join("helix");
    std::fs::create_dir_all(&config).expect("a folder");
    let languages = Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/helix/languages.toml");
    std::fs::copy(languages, config.join("languages.toml"))
        .expect("the project's own languages.toml");
    std::fs::write(
        config.join("config.toml"),
        "[editor]\nend-of-line-diagnostics = \"hint\"\n",
    )
    .expect("config.toml");

    let mut command = workspace.command(peers::bin().join("tmux"));
    command
        .env("PATH", path())
        .env("POSTIL_MODEL", "offline")
        .env("TERM", "xterm-256color");
    let socket = workspace.data().parent().expect("a folder").join("tmux");
    let terminal = Terminal::open(command, socket, "hx notes.py:4");
    terminal.wait("the file", |s| s.contains("def load(path)"));

    terminal.key("O");
    terminal.text("# AUTHOR: rename `load` to load_data");
    terminal.key("Escape");
    terminal.wait("the thread's diagnostic", |s| s.contains("awaiting agent"));
    terminal.key("Space");
    terminal.key("a");
    let menu = terminal.wait("the menu", |s| s.contains("Reply as agent"));
    assert!(menu.contains("Resolve"), "{menu}");
    // The menu hangs below the cursor's line; the language's own servers have their actions first.
    let row = |part: &str| {
        menu.lines()
            .position(|l| l.contains(part))
            .expect("on the screen")
    };
    for _ in row("# AUTHOR: ") + 1..row("Reply as agent") {
        terminal.key("Down");
    }
    terminal.key("Enter");
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
