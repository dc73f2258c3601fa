//! Where it is measured: a user of its own with a home in a temporary folder, and the peers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Where no disk is waited for, if the system has such a place.
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            Self::below(memory)
        } else {
            Self::new()
        }
    }

    fn below(folder: &Path) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("postil-compare-")
            .tempdir_in(folder)
            .expect("a folder");
        for name in ["work", "home", "config", "data", "state", "cache"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Self { folder }
    }

    /// A workspace folder.
    pub fn root(&self) -> PathBuf {
        self.folder
            .path()
            .canonicalize()
            .expect("a folder")
            .join("work")
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data/postil")
    }

    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        path
    }

    pub fn configure(&self, toml: &str) {
        let path = self.folder.path().join("config/postil/config.toml");
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, toml).expect("a file");
    }

    /// A program as this user runs it, in `dir`, quiet.
    pub fn command(&self, program: impl AsRef<OsStr>, dir: &Path) -> Command {
        let old = std::env::var_os("PATH").unwrap_or_default();
        let dirs = std::iter::once(peers().join("bin")).chain(std::env::split_paths(&old));
        let mut command = Command::new(program);
        command.current_dir(dir).env_clear();
        command.env("PATH", std::env::join_paths(dirs).expect("a path"));
        for (name, folder) in [
            ("HOME", "home"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
        ] {
            command.env(name, self.folder.path().join(folder));
        }
        command
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    pub fn postil(&self, dir: &Path) -> Command {
        self.command(env!("CARGO_BIN_EXE_postil"), dir)
    }
}

fn peers() -> PathBuf {
    let dir = std::env::var_os("POSTIL_PEERS_DIR").map(PathBuf::from);
    dir.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(".peers"))
}

pub fn peer(name: &str) -> Option<PathBuf> {
    let path = peers().join("bin").join(name);
    path.exists().then_some(path)
}

/// The kernel's sources, where `tests/peers install linux` put them.
pub fn large_tree() -> Option<PathBuf> {
    tree("linux")
}

/// Sources that `tests/peers install` put in place.
pub fn tree(name: &str) -> Option<PathBuf> {
    let tree = peers().join(name).join("tree");
    tree.join(".git").exists().then_some(tree)
}

/// The packages that a tree was made of.
pub fn tree_name(tree: &Path) -> String {
    let mut git = Command::new("git");
    git.current_dir(tree).args(["log", "-1", "--format=%s"]);
    let output = git.output().map(|o| o.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}

pub fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output
        .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
        .unwrap_or_default();
    let line = text
        .lines()
        .find(|l| l.chars().any(|c| c.is_ascii_digit()))
        .unwrap_or_default();
    let words = line.split_whitespace().filter(|w| *w != "version");
    words
        .take(2)
        .map(|w| w.split('+').next().unwrap_or(w))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Wall and processor time of a whole process. Its output is thrown away; a failure stops the benchmark,
/// except status 1, which is rg's word for nothing found.
pub fn run(mut command: Command) -> (Duration, f64) {
    let before = children_cpu();
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).status().expect("it runs");
    let wall = start.elapsed();
    assert!(
        status.success() || status.code() == Some(1),
        "{command:?}: {status}"
    );
    (wall, children_cpu() - before)
}

/// Seconds of processor time of all children that were waited for.
fn children_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold blanks; cutime and cstime are the fields 16 and 17.
    let rest = stat.rsplit(") ").next().unwrap_or_default();
    let fields: Vec<f64> = rest.split(' ').filter_map(|f| f.parse().ok()).collect();
    // The state, the third field, is no number and is gone from `fields`; Linux counts 100 ticks a second.
    fields
        .get(12..14)
        .map_or(0.0, |f| f.iter().sum::<f64>() / 100.0)
}

/// Resident memory of a process in MB.
pub fn resident(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("VmRSS:"))
        .unwrap_or_default();
    line.split_whitespace()
        .next()
        .and_then(|n| n.parse::<f64>().ok())
        .unwrap_or_default()
        / 1024.0
}
