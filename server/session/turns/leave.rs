//! Whether a turn may change files: what the author is asked first, where the folder is not trusted or a message was
//! not typed here.

use std::path::PathBuf;
use std::sync::Arc;

use super::super::Session;
use super::{Task, Turns};
use crate::host::{Host, Level, Question, in_turn};
use crate::present;

/// Of a turn that goes on: what its thread says of the author's.
pub(super) struct Unwritten {
    path: PathBuf,
    texts: Vec<String>,
    /// The author said of several that they are to change nothing, and this is one.
    is_refused: bool,
}

/// As long as it lives, a question about another thread of the file is one about this, too.
pub(in crate::session) struct Asks {
    turns: Arc<Turns>,
    run: String,
}

impl Asks {
    pub(super) fn new(turns: &Arc<Turns>, task: &Task) -> Self {
        let (turns, run) = (turns.clone(), task.run.id.clone());
        if !task.options.plan && !task.options.allow_arrived && task.thread.action().is_none() {
            let unwritten = Unwritten {
                path: task.path.clone(),
                texts: task.thread.author_texts().map(str::to_owned).collect(),
                is_refused: false,
            };
            turns.unwritten.insert(run.clone(), unwritten);
        }
        Self { turns, run }
    }
}

impl Drop for Asks {
    fn drop(&mut self) {
        self.turns.unwritten.remove(&self.run);
    }
}

impl Session {
    /// Whether this turn may change files; asks the author where that is open.
    pub(super) async fn may_write(&self, task: &Task, host: &dyn Host) -> bool {
        if task.options.plan {
            return false;
        }
        let root = task.workspace.root();
        if self.is_declined(root) || task.options.asked && self.needs_word(task) {
            return false;
        }
        let before = task.refusals;
        let _asking = match self.needs_word(task) {
            true => Some(in_turn(&self.turns.asking, host).await),
            false => None,
        };
        // Answered for all who waited.
        let of_this = self.turns.unwritten.get(&task.run.id);
        let is_refused = of_this.is_some_and(|of| of.is_refused);
        if is_refused || self.turns.refusals(root) != before || self.is_declined(root) {
            return false;
        }
        if !self.is_trusted(root) {
            // By another command of the editor, or in a terminal.
            let mut elsewhere = false;
            let answer = tokio::select! {
                biased;
                answer = host.ask(self.ask_for_trust(root)) => answer,
                () = self.until_trusted(root), if host.withdraws() => {
                    elsewhere = true;
                    Some(0)
                }
            };
            // Nobody is there, or the editor cannot ask: told once.
            if answer.is_none() && before.is_none() && !task.cancel.is_cancelled() {
                let folder = present::visible(&root.to_string_lossy());
                host.message(
                    Level::Info,
                    &format!("{folder} is not trusted, so that this turn reads and answers, and changes nothing: trust it in the editor or by `postil trust`, and ask again."),
                );
            }
            if answer != Some(0) {
                *self.turns.untrusted.entry(root.to_owned()).or_default() += 1;
                return false;
            }
            if elsewhere && !self.is_trusted(root) {
                return false;
            }
            if !elsewhere && let Err(error) = self.trust(root) {
                self.host.message(Level::Error, &error.to_string());
                return false;
            }
        }
        let arrived = self.arrived_of(task);
        if arrived.is_empty() {
            return true;
        }
        let others = self.not_typed_either(task);
        let came = self.what_came(task, &arrived, others.len());
        let question = Question {
            text: match others.len() {
                0 => format!("{came}. Answer with edits allowed?"),
                _ => format!("{came}. Answer them with edits allowed?"),
            },
            choices: vec![String::from("Allow edits"), String::from("Read-only")],
            last_is_no: true,
        };
        let answer = host.ask(question).await;
        if answer.is_none() && task.cancel.is_cancelled() {
            // Its own end is no word on the others.
            return false;
        }
        if answer.is_none() {
            let so = match others.len() {
                0 => "this turn reads and answers, and changes nothing",
                _ => "their turns read and answer, and change nothing",
            };
            host.message(
                Level::Info,
                &format!("{came}, so that {so}: ask again to allow edits (on the command line, with --yes)."),
            );
        }
        let is_allowed = answer == Some(0);
        if is_allowed {
            for text in arrived {
                self.store_as_typed(&task.path, text);
            }
        }
        for (run, texts) in others {
            if is_allowed {
                for text in texts {
                    self.store_as_typed(&task.path, &text);
                }
            } else if let Some(mut other) = self.turns.unwritten.get_mut(&run) {
                other.is_refused = true;
            }
        }
        is_allowed
    }

    /// What the author is asked about, and of how many more threads.
    fn what_came(&self, task: &Task, arrived: &[&str], others: usize) -> String {
        let file = &task.file;
        // Of one that is shown as cells, only the file is seen.
        let is_cells = !self.buffers.is_open(&task.path)
            && task.path.extension().is_some_and(|end| end == "ipynb");
        if others > 0 && is_cells {
            return format!(
                "{} threads of {file} have messages of which it is not known who typed them, as of all that is typed in a notebook's cells",
                others + 1
            );
        }
        if others > 0 {
            let all = others + 1;
            return format!(
                "{all} threads of {file} have messages that were not typed here, they came with it"
            );
        }
        let last = task.thread.spoken().last().map(|last| last.text.as_str());
        let what = match last.is_some_and(|last| arrived.contains(&last)) {
            _ if is_cells => {
                "Who typed this is not known, for no editor tells what is typed in a notebook's cells; it stands in"
            }
            true => "This question was not typed here, it came with",
            false => "What was said before in this thread was not typed here, it came with",
        };
        let view = self.view(&task.path).ok();
        let place = view.as_ref().and_then(|view| {
            let mut threads = view.threads.iter();
            threads.find(|thread| thread.id == task.thread.id)
        });
        match place {
            Some(thread) => format!("{what} {file}:{}", thread.first_line() + 1),
            None => format!("{what} {file}"),
        }
    }

    /// The other turns of this file whose messages were not typed here, by run, with these: one word is for all that
    /// were asked for together.
    fn not_typed_either(&self, task: &Task) -> Vec<(String, Vec<String>)> {
        let others = self.turns.unwritten.iter().filter(|other| {
            *other.key() != task.run.id && other.path == task.path && !other.is_refused
        });
        // No lock is held while the store is asked.
        let others: Vec<_> = others
            .map(|other| (other.key().clone(), other.texts.clone()))
            .collect();
        let is_new = |text: &String| !self.is_typed(&task.path, text);
        others
            .into_iter()
            .map(|(run, texts)| (run, texts.into_iter().filter(is_new).collect::<Vec<_>>()))
            .filter(|(_, texts)| !texts.is_empty())
            .collect()
    }

    /// What the author has to allow: messages that were not typed here.
    fn arrived_of<'a>(&self, task: &'a Task) -> Vec<&'a str> {
        if task.options.allow_arrived {
            return Vec::new();
        }
        let said = task.thread.author_texts();
        said.filter(|text| !self.is_typed(&task.path, text))
            .collect()
    }

    fn needs_word(&self, task: &Task) -> bool {
        !self.is_trusted(task.workspace.root()) || !self.arrived_of(task).is_empty()
    }
}
