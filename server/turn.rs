//! L4. One agent turn: context → model → tools → outcome. Below `turn/`: the context, the loop, the
//! offline answers.
//!
//! Each step is a round in the store before the next begins. A tool call is carried out once: the loop
//! acts on whole answers alone. Whatever hangs, a cancelled turn ends within a second.

mod answer_loop;
mod choose;
mod context;
mod journal;
mod memory;
mod offers;
mod offline;
mod outside;
mod preview;
mod review;
mod second;
mod source;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

pub use answer_loop::in_thread;
pub use choose::{Choice, DEFAULT_MODEL, DEFAULT_OPENAI, choose, choose_with};
pub use journal::{has_planned, is_plan, is_question, says_go_on, told_undone};
pub use offers::{Offer, offers};
pub use preview::{Preview, preview};
pub use second::account;

use crate::acp::Agent;
use crate::host::Progress;
use crate::models::Model;
use crate::present::{collapsed, dollars};
use crate::store::{NewRound, Run, Step, Store};
use crate::threads::Thread;
use crate::tools::{Context, Registry};

/// Who answers.
#[derive(Clone)]
pub enum Answerer {
    /// A model over the network.
    Model(Arc<dyn Model>),
    /// A program that speaks the Agent Client Protocol.
    Outside(Arc<Agent>),
    /// What code intelligence can do alone.
    Offline,
}

impl Answerer {
    /// `provider/model`, `acp/agent`, or `offline`.
    pub fn name(&self) -> String {
        match self {
            Self::Model(model) => model.name(),
            Self::Outside(agent) => format!("acp/{}", agent.name),
            Self::Offline => String::from("offline"),
        }
    }
}

impl std::fmt::Debug for Answerer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

/// What is asked.
pub struct Job {
    pub thread: Thread,
    /// Relative to the root.
    pub file: String,
    /// The same, by which it is read: a name need be no text. Of a question in a window the root.
    pub path: PathBuf,
    pub run: Run,
    pub answerer: Answerer,
    pub max_rounds: u32,
    pub max_tokens: u64,
    /// US dollars: what the settings allow a turn, and what this one was given.
    pub max_cost: f64,
    pub budget: Option<f64>,
    /// The conversation of a turn that stopped and goes on now; empty: it begins.
    pub talk: Vec<String>,
    /// It had stopped with a question, and the author has seen it: what they wrote since is the answer.
    pub awaited: bool,
    /// Another agent has answered already; its diff goes along.
    pub another: bool,
}

impl Job {
    /// A turn that has cost so much goes no further; `about` stands before it.
    fn within_cost(&self, cost: f64, about: &str) -> Result<(), Outcome> {
        let (most, whose) = match self.budget.filter(|budget| *budget < self.max_cost) {
            Some(budget) => (budget, "the budget it was given"),
            None => (self.max_cost, "turn.maxCost"),
        };
        if cost < most {
            return Ok(());
        }
        Err(Outcome::Paused(format!(
            "Paused at {about}{} of {} a turn ({whose}). Write \"continue\" below to go on.",
            dollars(cost),
            dollars(most)
        )))
    }
}

/// How a turn ended. The caller writes the answer into the thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// All of it; its thread gets [`in_thread`].
    Answer(String),
    /// A cap: the sentence that stands in the thread.
    Paused(String),
    /// A question to the author, as it stands in the thread.
    Asked(String),
    Cancelled,
    /// In words for a person, with the way out.
    Failed(String),
    /// The same, for whoever is to answer cannot be had: another thread would fare no better.
    Unanswered(String),
}

/// After a cancel, what is left to do (a record, a write that was begun) gets so long.
const GRACE: Duration = Duration::from_millis(700);

/// Runs one turn; each step is a round in the store before the next begins.
pub async fn run(cx: &Context, registry: &Registry, job: Job) -> Outcome {
    let recorder = Recorder {
        store: cx.store.clone(),
        run: cx.run.clone(),
    };
    let work = async {
        match &job.answerer {
            Answerer::Model(model) => {
                answer_loop::run(cx, registry, &job, model.as_ref(), &recorder).await
            }
            Answerer::Outside(agent) => outside::run(cx, registry, &job, agent, &recorder).await,
            Answerer::Offline => offline::run(cx, &job, &recorder).await,
        }
    };
    let cancelled = async {
        cx.cancel.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        biased;
        outcome = work => match reviewed(cx, &recorder, outcome).await {
            // What was answered counts, even where a cancel came too late to stop it.
            Outcome::Failed(_) | Outcome::Unanswered(_) if cx.cancel.is_cancelled() => Outcome::Cancelled,
            outcome => outcome,
        },
        () = cancelled => Outcome::Cancelled,
    }
}

/// What an answerer without a loop of ours means to change is shown when it has answered.
async fn reviewed(cx: &Context, recorder: &Recorder, outcome: Outcome) -> Outcome {
    let Outcome::Answer(text) = outcome else {
        return outcome;
    };
    match review::settle(cx, recorder, true).await {
        Ok(None) => Outcome::Answer(text),
        Ok(Some(_)) => Outcome::Answer(review::with_reserve(&cx.run, &text)),
        Err(outcome) => outcome,
    }
}

/// Keeps the rounds of a run; nothing goes on before a round is durable.
struct Recorder {
    store: Option<Arc<Store>>,
    run: String,
}

impl Recorder {
    /// # Errors
    /// The sentence that ends the turn: a step that is not kept must not be followed by another.
    async fn round(
        &self,
        role: &'static str,
        metadata: Map<String, Value>,
        content: String,
    ) -> Result<(), Outcome> {
        self.write(move |store, run| store.append(run, role, metadata, &content).map(|_| ()))
            .await
    }

    async fn usage(&self, tokens: u64, cost: f64) -> Result<(), Outcome> {
        self.write(move |store, run| store.add_usage(run, tokens, cost))
            .await
    }

    async fn step(&self, step: Step) -> Result<(), Outcome> {
        self.write(move |store, run| store.step(run, &step)).await
    }

    async fn write<F>(&self, write: F) -> Result<(), Outcome>
    where
        F: FnOnce(&Store, &str) -> Result<(), crate::store::StoreError> + Send + 'static,
    {
        let Some(store) = self.store.clone() else {
            return Ok(());
        };
        let run = self.run.clone();
        let written = tokio::task::spawn_blocking(move || write(&store, &run)).await;
        let why = match written {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        Err(Outcome::Failed(format!(
            "the history could not be written ({}), so the turn was stopped: free space or rights there, then ask again",
            collapsed(&why)
        )))
    }
}

fn new_round(role: &str, metadata: Map<String, Value>, content: String) -> NewRound {
    NewRound {
        role: role.to_owned(),
        metadata,
        content,
    }
}

/// Metadata of a round; what is `null` is left out.
fn metadata<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

fn report(cx: &Context, message: String) {
    cx.host.progress(&cx.run, Progress::Report { message });
}

/// A duration as the history has it.
fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
