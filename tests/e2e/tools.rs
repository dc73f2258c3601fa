//! The agent's tools, called by a scripted model through the built binary.

mod between; // what the author writes between two writes of a turn
mod compaction; // a conversation near its limit
mod context; // what the model is told first
mod open_files; // files that are open are removed and renamed
mod page; // docs/tools.md
mod patches; // patch_apply: open files, files on disk, undo
mod state; // what a run keeps: list, mode, memory, log
mod unseen; // what the run was not shown

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace};
use crate::model::{Model, Step};

const FILE: &str = "src/net.rs";
const CODE: &str = "pub fn load() -> u32 {\n    7\n}\n";
const THREAD: &str = "// AUTHOR: rename this everywhere\n";

/// A workspace with a thread that was typed in an editor, and a model that answers by a script.
struct Bench {
    workspace: Workspace,
    model: Model,
}

impl Bench {
    fn new(script: Vec<Step>) -> Self {
        let workspace = Workspace::new();
        workspace.write(FILE, CODE);
        Self {
            workspace,
            model: Model::start(script),
        }
    }

    fn env(&self) -> Vec<(String, String)> {
        self.model.env()
    }

    /// The file open, with the thread typed into it.
    fn editor(&self) -> Editor {
        self.editor_with(json!({}))
    }

    /// One that can do more than the others.
    fn editor_with(&self, capabilities: Value) -> Editor {
        let editor = Editor::start_with(
            &self.workspace,
            Options {
                env: self.env(),
                initialization_options: json!({"trusted": true}),
                capabilities,
                ..Options::default()
            },
        );
        editor.open(FILE);
        editor.splice(FILE, 0..0, THREAD);
        editor.wait_codes(FILE, &["pending"]);
        editor
    }

    /// Runs the turn to its end.
    fn turn(&self, editor: &mut Editor) {
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("the turn starts");
        editor.wait_codes(FILE, &["awaiting_user"]);
    }

    fn cli(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let mut postil = self.workspace.postil();
        let output = postil.args(args).envs(self.env()).output();
        let output = output.expect("postil runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    fn run_id(&self) -> String {
        let (code, out, err) = self.cli(&["workflow", "list", "--json"]);
        assert_eq!(code, Some(0), "{err}");
        let runs: Value = serde_json::from_str(&out).expect("an array of runs");
        runs[0]["id"].as_str().expect("an id").to_owned()
    }
}
