//! How a turn begins, or goes on where it stopped.

use std::collections::HashSet;

use serde_json::json;

use super::super::journal::{self, Entry, Stopped};
use super::super::{Job, Outcome, Step, context, metadata, new_round};
use super::{Loop, planned};
use crate::models::{Block, Turn, size};
use crate::threads::Status;

impl Loop<'_> {
    pub(super) async fn begin(&mut self, stopped: Option<Stopped>) -> Result<Outcome, Outcome> {
        let fields = metadata([
            ("file", json!(self.job.file)),
            ("line", json!(self.job.thread.first_line() + 1)),
        ]);
        let asked = context::asked(&self.job.thread);
        let mut step = Step::default();
        let resumed = stopped.is_some();
        match stopped {
            None => {
                step.rounds.push(new_round("user", fields, asked.clone()));
                step.anew = true;
                step.talk.push(self.start(asked).text());
            }
            Some(stopped) => {
                let pending = self.job.thread.status == Status::Pending;
                // An answer may be in the same words as what was asked before.
                let answers = self.job.awaited && stopped.is_asking();
                let said =
                    Some(asked).filter(|asked| pending && (answers || *asked != stopped.asked));
                match &said {
                    Some(said) => step.rounds.push(new_round("user", fields, said.clone())),
                    None => {
                        let content = String::from("the turn goes on where it stopped");
                        step.rounds.push(new_round("system", fields, content));
                    }
                }
                let blocks = stopped.news(said.as_deref());
                journal::tell(&mut self.request.turns, blocks.clone());
                self.added = size(&self.request.turns);
                self.ids = call_ids(&self.request.turns);
                // Another model's thinking is refused: the conversation is told again.
                if stopped.model == self.model.name() {
                    step.talk.push(
                        Entry::Told {
                            blocks,
                            asked: said,
                        }
                        .text(),
                    );
                } else {
                    self.shorten();
                    step.anew = true;
                    let asked = said.unwrap_or(stopped.asked);
                    step.talk.push(self.start(asked).text());
                    let files = planned(self.cx);
                    step.talk.push(Entry::Planned { files }.text());
                }
            }
        }
        self.recorder.step(step).await?;
        let outcome = self.go().await;
        // A conversation that nothing can be got from is not taken up a second time.
        if resumed && self.spent.rounds == 0 && self.unusable {
            self.forget().await?;
        }
        outcome
    }

    /// The conversation as it is now, to begin with.
    pub(super) fn start(&self, asked: String) -> Entry {
        Entry::Start {
            model: self.model.name(),
            plan: self.cx.plan.is_chosen(),
            planning: self.cx.plan.is_agents(),
            asked,
            turns: self.request.turns.clone(),
        }
    }

    pub(super) async fn forget(&self) -> Result<(), Outcome> {
        let anew = Step {
            anew: true,
            ..Step::default()
        };
        self.recorder.step(anew).await
    }
}

/// Ids of calls that are taken.
pub(super) fn call_ids(turns: &[Turn]) -> HashSet<String> {
    let blocks = turns.iter().flat_map(|turn| &turn.blocks);
    blocks
        .filter_map(|block| match block {
            Block::ToolUse { id, .. } => Some(id.clone()),
            _ => None,
        })
        .collect()
}

pub(super) fn asks_anew(job: &Job, stopped: &Stopped) -> bool {
    job.thread.status == Status::Pending && context::asked(&job.thread) != stopped.asked
}
