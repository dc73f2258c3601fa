//! Commands of an agent, through real turns: the model obeys whoever wrote the worst of all comments, the author
//! allowed every command, and what a command can do is still what the sandbox lets it.
//!
//! Each test runs with bubblewrap and with Landlock alone, where the machine has them.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{DEADLINE, Editor, Options, Workspace, wait_until};
use crate::model::{Asked, Model, Step, call};
use crate::peers;

mod ends; // how commands end, and what they may use up
mod git; // git as it works in a command
mod guarded; // files that decide what other programs do
mod keeps; // what they can reach
mod network; // the network that was granted

const FILE: &str = "src/a.rs";
const THREAD: &str = "// AUTHOR: do it\n";
const CANARY: &str = "canary-5b1f0c9e7d";

/// What commands are kept in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bubblewrap,
    Landlock,
    /// As if the machine had neither.
    None,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            // With Landlock inside, as it is where both are there.
            Self::Bubblewrap => "both",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }
}

/// The kinds that this machine has.
fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    if peers::have(&["bwrap"]) {
        kinds.push(Kind::Bubblewrap);
    }
    let root = std::env::temp_dir();
    // Asked of the same code that looks for it, without bubblewrap.
    let there = postil::sandbox::find(&root).landlock >= 3;
    if peers::told(there, "Landlock", "the kernel has none, or an older one") {
        kinds.push(Kind::Landlock);
    }
    kinds
}

/// A workspace whose user has a home with keys in it, not in the folder of temporary files.
struct Bench {
    workspace: Workspace,
    model: Model,
    home: tempfile::TempDir,
    kind: Kind,
    /// Names of hosts that the server knows, as `NAME=ADDRESS,…`.
    hosts: String,
    /// Where programs are looked for, when it is not as for the test.
    path: Option<String>,
    /// Variables of the server's environment beside the usual ones.
    more: Vec<(&'static str, String)>,
}

impl Bench {
    fn new(kind: Kind, script: Vec<Step>) -> Self {
        Self::with(kind, script, "[permissions]\ndefault = 'allow'\n")
    }

    fn with(kind: Kind, script: Vec<Step>, settings: &str) -> Self {
        let workspace = Workspace::new();
        workspace.configure(settings);
        workspace.write(FILE, format!("{THREAD}fn a() {{}}\n"));
        let home = folder("home-");
        for (file, text) in [
            (".ssh/id_ed25519", CANARY),
            (".aws/credentials", CANARY),
            (".gnupg/private", CANARY),
            (".netrc", CANARY),
            (".config/gh/hosts.yml", CANARY),
            (".cargo/credentials.toml", CANARY),
            (
                ".cargo/config.toml",
                &format!("[registries.x]\ntoken = \"{CANARY}\"\n"),
            ),
            (
                ".cargo/config",
                "[registry]\nglobal-credential-providers = ['cargo:token']\n",
            ),
            (".dotnet/corefx/cryptography/x509stores/my/a.pfx", CANARY),
            (".local/share/uv/credentials/credentials.toml", CANARY),
            (".opam/plugins/opam-publish/me.token", CANARY),
            (".stack/upload/credentials.json", CANARY),
            (".cargo/bin/tool", "#!/bin/sh\necho a tool\n"),
            ("notes.txt", "notes\n"),
        ] {
            let path = home.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        }
        let tool = home.path().join(".cargo/bin/tool");
        std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self {
            workspace,
            model: Model::start(script),
            home,
            kind,
            hosts: String::new(),
            path: None,
            more: Vec::new(),
        }
    }

    fn env(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut env = vec![
            ("ANTHROPIC_BASE_URL", self.model.url().to_owned()),
            ("ANTHROPIC_API_KEY", format!("sk-{CANARY}")),
            ("GITHUB_TOKEN", CANARY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", CANARY.to_owned()),
            ("DATABASE_URL", format!("postgres://me:{CANARY}@host/db")),
            ("SOMETHING_ELSE", CANARY.to_owned()),
            ("LC_SECRET_KEY", CANARY.to_owned()),
            ("HOME", text(self.home.path())),
            ("POSTIL_TEST_SANDBOX", self.kind.name().to_owned()),
            ("POSTIL_TEST_HOSTS", self.hosts.clone()),
            // What is the user's own way is not the commands'.
            ("HTTPS_PROXY", format!("http://me:{CANARY}@127.0.0.1:9")),
            ("NO_PROXY", String::from("*")),
        ];
        if self.kind == Kind::None {
            env.push(("PATH", String::from("/usr/bin:/bin")));
        }
        env.extend(self.path.clone().map(|path| ("PATH", path)));
        env.extend(self.more.iter().cloned());
        env.into_iter().map(|(n, v)| (n.to_owned(), v)).collect()
    }

    fn editor(&self) -> Editor {
        self.editor_of(std::process::id())
    }

    /// One whose process is `process`.
    fn editor_of(&self, process: u32) -> Editor {
        let editor = Editor::start_with(
            &self.workspace,
            Options {
                env: self.env(),
                initialization_options: json!({"trusted": true}),
                process_id: Some(process),
                ..Options::default()
            },
        );
        editor.open(FILE);
        editor.wait_codes(FILE, &["pending"]);
        editor
    }

    /// The turn, as one whose question was typed here.
    fn begin(&self, editor: &mut Editor) {
        editor.state().choices = vec![String::from("Allow edits")];
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("the turn starts");
    }

    /// The whole turn; what the model was told of each call, in order.
    fn run(&self, editor: &mut Editor) -> Vec<String> {
        self.begin(editor);
        editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
        results(&self.model.requests())
    }

    /// Asserts that nothing that was written, sent or shown holds the canary.
    fn assert_no_canary(&self, editor: &Editor) {
        let told = self.model.requests();
        for asked in &told {
            assert!(!asked.body.to_string().contains(CANARY), "in a prompt");
        }
        let state = editor.state();
        for message in &state.received {
            assert!(!message.to_string().contains(CANARY), "{message}");
        }
        assert!(!state.stderr.contains(CANARY), "in the log");
        drop(state);
        for folder in [self.workspace.root().to_owned(), self.workspace.data()] {
            for file in files(&folder) {
                let bytes = std::fs::read(&file).unwrap_or_default();
                let holds = bytes.windows(CANARY.len()).any(|w| w == CANARY.as_bytes());
                assert!(!holds, "{}", file.display());
            }
        }
    }
}

/// A folder that a command may see: the folders of temporary files it has for itself, also where a checkout lies in one.
fn folder(prefix: &str) -> tempfile::TempDir {
    let private = ["/tmp".into(), "/var/tmp".into(), std::env::temp_dir()];
    let private = private.map(|folder: PathBuf| folder.canonicalize().unwrap_or(folder));
    let home = std::env::home_dir().unwrap_or_default();
    let places = [
        Path::new(env!("CARGO_TARGET_TMPDIR")),
        &home,
        Path::new("/srv"),
    ];
    let seen = places.into_iter().filter_map(|place| {
        let place = place.canonicalize().ok()?;
        (!private.iter().any(|folder| place.starts_with(folder))).then_some(place)
    });
    let made = |place| {
        tempfile::Builder::new()
            .prefix(prefix)
            .tempdir_in(place)
            .ok()
    };
    seen.filter_map(made)
        .next()
        .expect("a folder outside of those of temporary files that can be written to")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() && !path.is_symlink() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found
}

/// Each result once, in the order of the calls.
fn results(requests: &[Asked]) -> Vec<String> {
    let all = requests.iter().flat_map(Asked::results);
    all.map(|(_, text, _)| text).collect()
}

/// A step that runs each of these commands, one after the other.
fn commands(commands: &[&str]) -> Vec<Step> {
    let step = |(at, command): (usize, &&str)| {
        Step::calls(vec![call(
            &format!("toolu_{at}"),
            "bash",
            json!({"command": command}),
        )])
    };
    let mut steps: Vec<Step> = commands.iter().enumerate().map(step).collect();
    steps.push(Step::text("Done."));
    steps
}

/// Runs the commands in one turn of each kind; what each answered goes to `look`.
fn in_each(run: &[&str], look: impl Fn(&Bench, &Editor, &[String])) {
    for kind in kinds() {
        let bench = Bench::new(kind, commands(run));
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        assert_eq!(told.len(), run.len(), "{kind:?}: {told:#?}");
        look(&bench, &editor, &told);
        bench.assert_no_canary(&editor);
    }
}

/// Processes that were started with this mark on their command line or in their name.
fn marked(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(mark) {
            found.push(name);
        }
    }
    found
}

/// Runs a program of Python's, for what a shell cannot do.
fn python(program: &str) -> String {
    format!("python3 -c '{program}'")
}

fn write(path: &Path, text: &str) {
    let mut file = std::fs::File::create(path).expect("a file");
    file.write_all(text.as_bytes()).expect("written");
}

fn value_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}
