//! What happens to a turn whose process ends: killed or interrupted at every step.

use std::collections::BTreeSet;
use std::process::Output;

use postil::store::Round;
use serde_json::{Value, json};

use super::shown;
use crate::harness::Workspace;
use crate::model::{Model, Step, call};

pub(super) const FILE: &str = "src/net.rs";
const OTHER: &str = "src/new.rs";
const OLD: &str = "old.txt";
const MOVED: &str = "sub/moved.txt";
pub(super) const THREAD: &str = "// AUTHOR: make it more\n";
pub(super) const CODE: &str = "pub fn load() -> u32 {\n    7\n}\n";

/// Answers by what it sees in the request, as a model does: reads, edits (never the same twice), ends.
fn by_the_request(request: &Value) -> Step {
    let said = request["messages"].to_string();
    if !said.contains("\"toolu_read\"") {
        return Step::calls(vec![call("toolu_read", "file_read", json!({"path": FILE}))])
            .thinking("sig-1");
    }
    if !said.contains("\"toolu_edit\"") {
        // Done twice, it would show.
        let edit =
            json!({"path": FILE, "old_string": "7", "new_string": "77", "replace_all": true});
        let write = json!({"path": OTHER, "content": "// new\n"});
        let rename = json!({"patch": format!(
            "diff --git a/{OLD} b/{MOVED}\nrename from {OLD}\nrename to {MOVED}\n"
        )});
        return Step::calls(vec![
            call("toolu_edit", "file_edit", edit),
            call("toolu_write", "file_write", write),
            call("toolu_rename", "patch_apply", rename),
        ]);
    }
    Step::text("It is more.")
}

pub(super) struct World {
    pub workspace: Workspace,
    pub model: Model,
}

impl World {
    fn new() -> Self {
        let workspace = Workspace::new();
        workspace.write(FILE, format!("{THREAD}{CODE}"));
        workspace.write(OLD, "precious\n");
        let world = Self {
            workspace,
            model: Model::start((0..200).map(|_| Step::made(by_the_request)).collect()),
        };
        assert_eq!(world.run(&["trust", "--yes"], None).status.code(), Some(0));
        world
    }

    pub fn run(&self, args: &[&str], killed_at: Option<usize>) -> Output {
        self.run_with(args, killed_at.map(|step| step.to_string()))
    }

    fn run_with(&self, args: &[&str], kill: Option<String>) -> Output {
        let mut command = self.workspace.postil();
        command
            .args(args)
            .env("ANTHROPIC_BASE_URL", self.model.url())
            .env("ANTHROPIC_API_KEY", "sk-canary");
        if let Some(kill) = kill {
            command.env("POSTIL_TEST_KILL", kill);
        }
        command.output().expect("postil runs")
    }

    pub fn runs(&self) -> Vec<Value> {
        self.workspace.runs()
    }

    /// Role and content of each round of the oldest run, whose numbers have no gap.
    pub fn rounds(&self) -> Vec<(String, String)> {
        let (Some(store), Some(run)) = (self.workspace.store(), self.runs().pop()) else {
            return Vec::new();
        };
        let id = run["id"].as_str().expect("an id");
        let rounds = store
            .rounds_from(id, 0, usize::MAX)
            .expect("the rounds are read");
        for (at, round) in (1..).zip(&rounds) {
            assert_eq!(round.seq, at, "{rounds:?}");
        }
        let named = |round: Round| (round.role.unwrap_or_default(), round.content);
        rounds.into_iter().map(named).collect()
    }

    fn files(&self) -> BTreeSet<String> {
        let folder = self.workspace.path("src");
        let entries = std::fs::read_dir(folder).expect("a folder").flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }

    /// What stands under the old name of the file that is renamed, and under its new one.
    fn names(&self) -> [Option<String>; 2] {
        [OLD, MOVED].map(|file| std::fs::read_to_string(self.workspace.path(file)).ok())
    }

    /// Nothing is half written, nothing done twice, nothing lost.
    fn whole(&self, step: usize) {
        let text = self.workspace.read(FILE);
        let answer = "// AGENT: It is more.\n// AUTHOR:\n";
        let fits = [THREAD.to_owned(), format!("{THREAD}{answer}")]
            .iter()
            .any(|thread| {
                [CODE.to_owned(), CODE.replace('7', "77")]
                    .iter()
                    .any(|code| text == format!("{thread}{code}"))
            });
        assert!(fits, "killed at step {step}: {text}");
        if self.workspace.path(OTHER).exists() {
            assert_eq!(
                self.workspace.read(OTHER),
                "// new\n",
                "killed at step {step}"
            );
        }
        let names = self.names();
        let texts = names.iter().flatten();
        assert!(
            names != [None, None] && texts.clone().all(|text| text == "precious\n"),
            "killed at step {step}: {names:?}"
        );
    }
}

#[test]
fn fault_01_a_turn_killed_at_every_step_goes_on_and_does_nothing_twice() {
    let whole = World::new();
    let output = whole.run(&["reply", "--all", "--yes"], None);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let all = whole.rounds();
    assert!(all.len() >= 8, "{all:?}");
    assert_eq!(whole.names(), [None, Some(String::from("precious\n"))]);

    let mut kept = 0;
    let mut step = 0;
    loop {
        step += 1;
        let world = World::new();
        let output = world.run(&["reply", "--all", "--yes"], Some(step));
        world.whole(step);
        if output.status.code().is_some() {
            assert!(step > 25, "there are more steps than {step}");
            assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
            break;
        }
        // What was acknowledged is there, once.
        let rounds = world.rounds();
        assert!(
            all.starts_with(&rounds) && rounds.len() >= kept,
            "killed at step {step}, after {kept} rounds: {rounds:?}"
        );
        kept = rounds.len();
        let run = world.runs().pop();
        let answered = world.workspace.read(FILE).contains("AGENT:");
        if let Some(run) = &run {
            let status = run["status"].as_str();
            assert!(
                status == Some("interrupted") || answered && status == Some("completed"),
                "killed at step {step}: {run}"
            );
        }
        // It goes on, and the end is that of a turn that nobody killed.
        if run.as_ref().is_none_or(|run| run["status"] != "completed") {
            let id = run
                .as_ref()
                .and_then(|run| run["id"].as_str())
                .unwrap_or_default();
            let args = if run.is_some() && !rounds.is_empty() {
                vec!["reply", "--resume", id, "--yes"]
            } else {
                vec!["reply", "--all", "--yes"]
            };
            // Which may be killed as well.
            let again = world.run(&args, Some(step % 11 + 3));
            world.whole(step);
            if again.status.code().is_none() {
                let resumed = world.runs().pop().expect("a run");
                let id = resumed["id"].as_str().expect("an id");
                if resumed["status"] != "completed" {
                    let output = world.run(&["reply", "--resume", id, "--yes"], None);
                    assert_eq!(
                        output.status.code(),
                        Some(0),
                        "killed at step {step}: {}",
                        shown(&output)
                    );
                }
            }
        }
        world.whole(step);
        let runs = world.runs();
        assert_eq!(runs.len(), 1, "killed at step {step}");
        assert_eq!(runs[0]["status"], "completed", "killed at step {step}");
        assert_eq!(
            world.workspace.read(FILE).matches("It is more.").count(),
            1,
            "killed at step {step}"
        );
        let known: BTreeSet<String> = ["net.rs", "new.rs"].map(String::from).into();
        assert!(
            world.files().is_subset(&known),
            "killed at step {step}: {:?}",
            world.files()
        );
        // Each call was told the model once; none was carried out a second time.
        let tools = world
            .rounds()
            .iter()
            .filter(|(role, _)| role == "tool")
            .count();
        assert!(tools <= 4, "killed at step {step}: {:?}", world.rounds());
        // One turn, one undo, however often it was begun.
        let id = runs[0]["id"].as_str().expect("an id").to_owned();
        let output = world.run(&["undo", &id], None);
        assert_eq!(
            output.status.code(),
            Some(0),
            "killed at step {step}: {}",
            shown(&output)
        );
        assert_eq!(
            world.workspace.read(FILE),
            format!("{THREAD}{CODE}"),
            "killed at step {step}"
        );
        assert_eq!(
            world.names(),
            [Some(String::from("precious\n")), None],
            "killed at step {step}"
        );
    }
}

#[test]
fn fault_24_a_turn_cancelled_at_every_step_ends_and_the_next_one_works() {
    let mut step = 0;
    let mut cancelled = 0;
    loop {
        step += 1;
        let world = World::new();
        let output = world.run_with(&["reply", "--all", "--yes"], Some(format!("int:{step}")));
        world.whole(step);
        if output.status.code() == Some(0) {
            assert!(step > 20, "there are more steps than {step}");
            break;
        }
        let run = world.runs().pop();
        let status = run.as_ref().and_then(|run| run["status"].as_str());
        cancelled += usize::from(status == Some("cancelled"));
        // Before it listens for an interrupt the process ends by it; an answer that is there counts.
        let early = output.status.code().is_none() && matches!(status, None | Some("interrupted"));
        assert!(
            early || matches!(status, Some("cancelled" | "completed")),
            "cancelled at step {step}: {run:?} {}",
            shown(&output)
        );
        if status != Some("completed") {
            let output = world.run(&["reply", "--all", "--yes"], None);
            assert_eq!(
                output.status.code(),
                Some(0),
                "cancelled at step {step}: {}",
                shown(&output)
            );
            assert!(world.workspace.read(FILE).contains("// AGENT: It is more."));
        }
        assert_eq!(world.runs().len(), 1, "cancelled at step {step}");
    }
    assert!(cancelled > 10, "{cancelled} of {step} were cancelled");
}
