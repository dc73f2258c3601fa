//! Helix, each of those that are installed, as docs/editors/helix.md sets it up, in a terminal (tmux): a thread is
//! typed, shown as a diagnostic, answered from the menu of code actions, and taken back with `u`.

mod colours;
mod install;
mod languages;
mod review;
mod stops;
mod whole;
pub(crate) mod wrong;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::harness::Workspace;
use crate::peers;

const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with one program in it.
pub(crate) struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// `run` is a shell's command line in the workspace; `more` is set over the environment that all editors get.
    pub(crate) fn open(workspace: &Workspace, more: &[(&str, &OsStr)], run: &str) -> Self {
        let socket = workspace.data().parent().expect("a folder").join("tmux");
        let mut command = workspace.command(peers::bin().join("tmux"));
        command
            .env("PATH", path())
            .env("POSTIL_MODEL", "offline")
            .env("TERM", "xterm-256color")
            .envs(more.iter().copied());
        let status = command
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(&socket)
            .args(["new-session", "-d", "-s", "t", "-x", "120", "-y", "30", run])
            .args([";", "set", "-sg", "escape-time", "0"])
            .status();
        assert!(status.expect("tmux runs").success(), "tmux does not start");
        Self { socket }
    }

    pub(crate) fn tmux(&self, args: &[&str]) -> String {
        let output = Command::new(peers::bin().join("tmux"))
            .arg("-S")
            .arg(&self.socket)
            .args(args)
            .output();
        String::from_utf8_lossy(&output.expect("tmux runs").stdout).into_owned()
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "t"])
    }

    pub(crate) fn resize(&self, columns: usize, rows: usize) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-t", "t", "-x", &columns, "-y", &rows]);
    }

    /// Text, as if pasted key by key.
    pub(crate) fn text(&self, text: &str) {
        self.tmux(&["send-keys", "-t", "t", "-l", text]);
    }

    /// One key by its name, taken before the next comes: a terminal cannot tell Escape and a key from Alt and
    /// that key.
    pub(crate) fn key(&self, name: &str) {
        self.tmux(&["send-keys", "-t", "t", name]);
        std::thread::sleep(Duration::from_millis(400));
    }

    /// Whether the screen fits within this time.
    pub(crate) fn sees(&self, patience: Duration, fits: impl Fn(&str) -> bool) -> bool {
        let end = Instant::now() + patience;
        while Instant::now() < end {
            if fits(&self.screen()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }

    /// Waits until the screen fits. A terminal announces nothing, so it is looked at again and again.
    pub(crate) fn wait(&self, what: &str, fits: impl Fn(&str) -> bool) -> String {
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
pub(crate) fn path() -> OsString {
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

/// The installed ones of the oldest Helix that is supported and the newest.
fn programs() -> impl Iterator<Item = &'static str> {
    let all = ["hx", "hx-new"].into_iter();
    all.filter(|program| peers::have(&[program, "tmux", "pylsp"]))
}

/// A trusted project of two modules, and Helix set up as its page says; `hx FILE:4` in a terminal.
fn opened(program: &str, file: &str) -> (Workspace, Terminal) {
    let workspace = trusted();
    let terminal = start(&workspace, program, file);
    (workspace, terminal)
}

fn trusted() -> Workspace {
    let workspace = project();
    let trust = workspace
        .postil()
        .args(["trust", "--yes"])
        .env("PATH", path())
        .output();
    assert!(trust.expect("it runs").status.success());
    workspace
}

fn project() -> Workspace {
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
    workspace
}

fn start(workspace: &Workspace, program: &str, file: &str) -> Terminal {
    start_with(workspace, program, file, &[])
}

/// `more` is set over the environment.
fn start_with(
    workspace: &Workspace,
    program: &str,
    file: &str,
    more: &[(&str, &OsStr)],
) -> Terminal {
    let config = config(workspace);
    let rows = workspace.postil().args(["editor", "helix"]).output();
    assert!(rows.expect("it runs").status.success());
    let editors = Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/helix");
    let keys = std::fs::read_to_string(editors.join("config.toml")).expect("config.toml");
    std::fs::write(
        config.join("config.toml"),
        format!("[editor]\nend-of-line-diagnostics = \"hint\"\n[editor.lsp]\ndisplay-messages = true\n{keys}"),
    )
    .expect("config.toml");

    let terminal = Terminal::open(workspace, more, &format!("{program} {file}"));
    terminal.wait("the file", |s| s.contains("def load(path)"));
    terminal
}

fn keys(terminal: &Terminal, keys: &[&str]) {
    for key in keys {
        terminal.key(key);
    }
}

/// Waits for what a turn does. A server that begins late gets what was typed before with the file, and asks
/// whether such a question may be answered with edits.
fn allowed(terminal: &Terminal, what: &str, fits: impl Fn(&str) -> bool) {
    let screen = terminal.wait(what, |s| {
        fits(s) || s.contains(" Allow edits") || s.contains(AT_THREAD)
    });
    if fits(&screen) {
        return;
    }
    if screen.contains(AT_THREAD) {
        keys(terminal, &["Space", "a"]);
        take(terminal, "Allow edits");
    } else {
        // *Not now* is chosen already.
        keys(terminal, &["Down", "Enter"]);
    }
    terminal.wait(what, fits);
}

/// How a question begins that stands at the thread, for 25.01 shows none.
const AT_THREAD: &str = "asks you: ";

/// A typed command.
pub(crate) fn command(terminal: &Terminal, text: &str) {
    terminal.text(text);
    terminal.key("Enter");
}

/// The lines with blanks at their ends, as the screen has them; tmux leaves out those that were never drawn.
fn with_blanks(screen: &str) -> String {
    screen.lines().map(|line| format!("{line}  \n")).collect()
}

/// Takes the action `title` from the open menu.
fn take(terminal: &Terminal, title: &str) {
    let menu = with_blanks(&terminal.wait("the menu", |s| with_blanks(s).contains(title)));
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
        rest.starts_with(|c: char| c.is_uppercase() || c == '(')
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
    for program in programs() {
        by_keys(program);
    }
}

fn by_keys(program: &str) {
    let (workspace, terminal) = opened(program, "notes.py:5");
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
    allowed(&terminal, "the answer", |s| {
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
    for program in programs() {
        by_menu(program);
    }
}

fn by_menu(program: &str) {
    let (workspace, terminal) = opened(program, "notes.py:4");

    terminal.key("O");
    terminal.text("# AUTHOR: rename `load` to load_data");
    terminal.key("Escape");
    terminal.wait("the thread's diagnostic", |s| s.contains("awaiting agent"));
    terminal.key("Space");
    terminal.key("a");
    take(&terminal, "Reply as agent");
    allowed(&terminal, "the answer", |s| {
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
