//! Attacks: a repository is other people's text, and the model here obeys all of it. Each test has the number that
//! it has in docs/security.md; `the_table_of_attacks_names_the_tests_that_are` holds the page to them.
//!
//! The model is scripted to be the worst one: it carries out each order that it can see anywhere in its prompt.
//! So what is tested is the house, not the model's manners.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace};
use crate::model::{Model, Step, call};

mod agents; // 3: what outside agents run
mod commands; // 6: commands in another dress
mod configuration; // 1 to 4: what a repository says of itself
mod door; // 12, 14, 15: commands, markdown, arguments
mod git; // 16: git runs code
mod injection; // 9 to 11: what others wrote beside the question
mod pages; // 18: pages of the web that cost without end
mod paths; // 5: out of the root
mod permission; // 21: questions and what they grant
mod settings; // 3, 4, 16: settings of git that git alone knows of
mod table; // docs/security.md
mod tls; // 13: whom a certificate names
mod web; // 13: where tools may ask

const KEY: &str = "sk-canary-0123456789";
/// What stands in files that no turn may read.
const SECRET: &str = "SECRET-CANARY-4711";
const FILE: &str = "src/net.rs";
const CODE: &str = "pub fn load() -> u32 {\n    7\n}\n";

/// A workspace with a user around it, whose files are watched, and a model that obeys.
struct Ground {
    workspace: Workspace,
    model: Model,
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl Ground {
    fn new(script: Vec<Step>) -> Self {
        let workspace = Workspace::new();
        workspace.write(FILE, CODE);
        let base = workspace.root().parent().expect("a base").to_owned();
        std::fs::create_dir_all(base.join("work-evil")).expect("a folder");
        for path in ["home/.ssh/id_ed25519", "home/notes.txt", "work-evil/s.txt"] {
            let path = base.join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, format!("{SECRET}\n")).expect("written");
        }
        Self {
            workspace,
            model: Model::start(script),
            before: BTreeMap::new(),
        }
    }

    fn base(&self) -> &Path {
        self.workspace.root().parent().expect("a base")
    }

    fn env(&self) -> Vec<(String, String)> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        vec![
            pair("ANTHROPIC_BASE_URL", self.model.url()),
            pair("ANTHROPIC_API_KEY", KEY),
            pair("POSTIL_MODEL", "anthropic/claude-sonnet-4-5"),
        ]
    }

    /// `postil` with the model, for a minute at most.
    fn postil<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.workspace.command("timeout");
        command
            .arg("60")
            .arg(env!("CARGO_BIN_EXE_postil"))
            .args(args)
            .envs(self.env())
            .stdin(Stdio::null());
        command
    }

    fn run<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> Output {
        let output = self.postil(args).output();
        let output = output.expect("timeout of coreutils runs");
        assert_ne!(output.status.code(), Some(124), "it does not end");
        output
    }

    #[track_caller]
    fn well(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", all(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn trust(&self) {
        self.well(&["trust", "--yes", "-q"]);
    }

    /// The author asks, by `postil new`; the thread's id.
    fn is_trusted(&self) -> bool {
        !all(&self.run(&["doctor"])).contains("not trusted")
    }

    fn ask(&self, place: &str, text: &str) -> String {
        let out = self.well(&["new", place, text, "--json"]);
        let done: Value = serde_json::from_str(&out).expect("JSON");
        done["thread_id"].as_str().expect("an id").to_owned()
    }

    fn editor(&self, trusted: bool) -> Editor {
        Editor::start_with(
            &self.workspace,
            Options {
                env: self.env(),
                initialization_options: json!({"trusted": trusted}),
                ..Options::default()
            },
        )
    }

    /// Everything of the user's, from now on watched. postil's own folders are not.
    fn watch(&mut self) {
        self.before = files_of(self.base());
    }

    /// What is not as it was, relative to the user's base folder.
    fn changed(&self) -> Vec<String> {
        let now = files_of(self.base());
        let mut changed = Vec::new();
        for path in self.before.keys().chain(now.keys()) {
            if self.before.get(path) != now.get(path) {
                changed.push(path.to_string_lossy().into_owned());
            }
        }
        changed.sort();
        changed.dedup();
        changed
    }
}

fn files_of(base: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(base: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(base).expect("below").to_owned();
            let kind = entry.file_type().expect("a type");
            if ["data", "state", "cache"]
                .iter()
                .any(|own| name.starts_with(own))
            {
                continue;
            }
            if kind.is_dir() {
                walk(base, &path, found);
            } else if kind.is_symlink() {
                let to = std::fs::read_link(&path).expect("a link");
                found.insert(name, to.to_string_lossy().into_owned().into_bytes());
            } else {
                found.insert(name, std::fs::read(&path).unwrap_or_default());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(base, base, &mut found);
    found
}

fn all(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// One call of a tool, then an answer; what the tool answered, and whether that was an error.
fn one(ground: &Ground, request: usize) -> (String, bool) {
    let results = ground.model.wait_for_requests(request + 1)[request].results();
    assert_eq!(results.len(), 1, "{results:?}");
    (results[0].1.clone(), results[0].2)
}

fn tool(name: &str, input: Value) -> Step {
    Step::calls(vec![call("toolu_1", name, input)])
}
