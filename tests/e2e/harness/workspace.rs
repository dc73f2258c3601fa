//! A temporary workspace with a user of its own: home, configuration, data and state lie in the same
//! temporary folder, and nothing of the real user's environment comes in.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use postil::store::Store;
use postil::verbs::facts;
use serde_json::Value;

use super::wait_until;

pub struct Workspace {
    _folder: tempfile::TempDir,
    base: PathBuf,
    root: PathBuf,
}

impl Workspace {
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// In memory, where the system has such a place: for who writes so often that the disk would be waited for most.
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        match memory.is_dir() {
            true => Self::below(memory),
            false => Self::new(),
        }
    }

    fn below(place: &Path) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("postil-e2e-")
            .tempdir_in(place)
            .expect("a temporary folder");
        let base = folder.path().canonicalize().expect("a real path");
        for name in ["work", "home", "config", "data", "state", "cache"] {
            std::fs::create_dir(base.join(name)).expect("a folder");
        }
        std::fs::write(base.join("home/.gitconfig"), "[user]\n\tname = A Person\n\temail = person@example.org\n[init]\n\tdefaultBranch = main\n")
            .expect("git's configuration");
        let root = base.join("work");
        Self {
            _folder: folder,
            base,
            root,
        }
    }

    /// The workspace folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The user's data folder of postil.
    pub fn data(&self) -> PathBuf {
        self.base.join("data/postil")
    }

    /// The user's state folder of postil.
    pub fn state(&self) -> PathBuf {
        self.base.join("state/postil")
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The history, opened by this process; `None` where there is none yet.
    pub fn store(&self) -> Option<Store> {
        let (data, root) = (self.data(), self.root());
        Store::exists(&data, root).then(|| Store::open(&data, root).expect("the history opens"))
    }

    /// What `postil workflow list --json` prints. Read here, for a program that is started again and again takes the
    /// processor from what is waited for.
    pub fn runs(&self) -> Vec<Value> {
        let store = self.store();
        let runs = store.map_or_else(Vec::new, |store| {
            store.runs(None, None, 50).expect("the runs are read")
        });
        runs.iter().map(facts).collect()
    }

    /// Waits until the newest run has this status.
    pub fn wait_status(&self, status: &str) -> Value {
        let mut newest = None;
        wait_until(status, || {
            newest = self.runs().into_iter().next();
            newest.as_ref().is_some_and(|run| run["status"] == status)
        });
        newest.expect("a run")
    }

    /// Writes a file of the workspace; its folders are made.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(&path, content).expect("the file can be written");
        path
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).expect("the file can be read")
    }

    /// The user's `config.toml`.
    pub fn configure(&self, toml: &str) {
        let path = self.config_file();
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, toml).expect("the file can be written");
    }

    /// The user's settings.
    pub fn config_file(&self) -> PathBuf {
        self.base.join("config/postil/config.toml")
    }

    /// The built binary as this user runs it, in the workspace folder.
    pub fn postil(&self) -> Command {
        self.command(env!("CARGO_BIN_EXE_postil"))
    }

    /// Any program as this user runs it.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).env_clear();
        for name in ["PATH", "TERM", "TMPDIR", "RUST_SRC_PATH", "GOROOT"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // rustup's programs look for their toolchains below the real home.
        if let Some(home) = std::env::var_os("HOME") {
            for (name, folder) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
                command.env(
                    name,
                    std::env::var_os(name).unwrap_or_else(|| Path::new(&home).join(folder).into()),
                );
            }
        }
        command
            .env("HOME", self.base.join("home"))
            .env("XDG_CONFIG_HOME", self.base.join("config"))
            .env("XDG_DATA_HOME", self.base.join("data"))
            .env("XDG_STATE_HOME", self.base.join("state"))
            .env("XDG_CACHE_HOME", self.base.join("cache"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LANG", "C.UTF-8")
            .env("POSTIL_TEST", "1");
        command
    }

    /// `postil ARGS` on a terminal, with this PATH if one is given, where `keys` are typed; what is seen there. `None`:
    /// no terminal to be had, which is said.
    pub fn on_a_terminal(&self, args: &str, path: Option<&str>, keys: &str) -> Option<String> {
        use std::io::Write as _;
        let mut command = self.command("script");
        let line = format!("'{}' {args}", env!("CARGO_BIN_EXE_postil"));
        command.args(["-qec", &line, "/dev/null"]);
        command.envs(path.map(|path| ("PATH", path)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            let _ = writeln!(
                std::io::stderr(),
                "skipped: a run on a terminal (no script)"
            );
            return None;
        };
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(keys.as_bytes()).expect("typed");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs git in the workspace folder; its output.
    pub fn git(&self, args: &[&str]) -> String {
        let output = self.command("git").args(args).output().expect("git runs");
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// `file:` URI of an absolute path, as editors write it.
pub fn uri_of(path: &Path) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte))
            }
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri
}

impl Workspace {
    /// Tells the user's configuration of the scripted child server, for files that end in `.scripted`.
    pub fn script_child(&self, options: &serde_json::Value) {
        self.script_child_of("scripted", "scripted", options);
    }

    /// The same as the server of `language`, whose files have this `extension`.
    pub fn script_child_of(&self, language: &str, extension: &str, options: &serde_json::Value) {
        let mut options = options.clone();
        options["log"] = self.base.join("child.log").to_string_lossy().into();
        let python = ["/usr/bin/python3", "/usr/local/bin/python3"]
            .into_iter()
            .find(|path| Path::new(path).exists());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/child.py");
        self.configure(&format!(
            "[servers.{language}]\ncommand = '{}'\nargs = ['{}', '{options}']\nextensions = ['{extension}']\n",
            python.unwrap_or("python3"),
            script.display(),
        ));
    }

    /// Processes of the scripted child that run now.
    pub fn children(&self) -> Vec<String> {
        let mark = self.base.join("child.log").to_string_lossy().into_owned();
        let processes = std::fs::read_dir("/proc")
            .expect("/proc")
            .filter_map(Result::ok);
        let ours = |name: &String| {
            // A process that has ended and waits to be collected has no command line any more.
            std::fs::read(format!("/proc/{name}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&mark))
        };
        processes
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
            .filter(ours)
            .collect()
    }
}
