//! Model, tools, model …: until the model answers, a cap is met, or somebody stops it.

mod begin;
mod calls;
mod take;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use crate::files::Planned;
use crate::host::Progress;
use crate::models::{
    Answer, Block, Event, Model, ModelError, Request, Speaker, ToolSpec, Turn, Usage,
};
use crate::present::{collapsed, counted, cut, dollars, visible};
use crate::tools::{Context, Registry, Tool};
use crate::trust::Risk;

use begin::asks_anew;

use super::journal::{self, Entry};
use super::{Job, Outcome, Recorder, Step, context, memory, report};

/// Characters of an answer in the thread.
const MAX_ANSWER: usize = 8_000;

/// What a turn has used up.
struct Spent {
    rounds: u32,
    tokens: u64,
    cost: f64,
    /// Of some of it nothing was told.
    is_estimate: bool,
}

impl Spent {
    fn add(&mut self, tokens: u64, cost: f64) {
        self.tokens = self.tokens.saturating_add(tokens);
        self.cost += cost;
    }

    /// What stands before its amounts.
    fn about(&self) -> &'static str {
        if self.is_estimate { "about " } else { "" }
    }
}

/// The newest call.
#[derive(Default)]
struct Same {
    call: String,
    /// What it gave the last time, where it watches something ([`Tool::watches`]).
    result: Option<String>,
    /// How often it came in a row; of what watches, how often it gave the same.
    times: u32,
}

struct Loop<'a> {
    cx: &'a Context,
    registry: &'a Registry,
    job: &'a Job,
    model: &'a dyn Model,
    recorder: &'a Recorder,
    spent: Spent,
    request: Request,
    /// Tokens that the newest request and answer took together.
    full: u64,
    /// Characters added since.
    added: usize,
    ids: HashSet<String>,
    same: Same,
    refused: u32,
    /// Each is done once a turn.
    nudged: bool,
    shortened: bool,
    /// At how many rounds it was folded last.
    folded_for: Option<u32>,
    /// Nobody was there to look at its edits.
    unanswered: bool,
    /// Its request was refused for what is in it.
    unusable: bool,
    /// It said something since its newest call: what it says next is a paragraph of its own.
    spoke: AtomicBool,
}

pub(super) async fn run(
    cx: &Context,
    registry: &Registry,
    job: &Job,
    model: &dyn Model,
    recorder: &Recorder,
) -> Outcome {
    // An answer that was written into the thread before the end came is no answer to what was asked since.
    let stopped = journal::read(&job.talk)
        .filter(|stopped| stopped.answer.is_none() || !asks_anew(job, stopped));
    if let Some(text) = stopped.as_ref().and_then(|stopped| stopped.answer.clone()) {
        return Outcome::Answer(text);
    }
    let budget = context::budget(model.context_window());
    if let (Some(stopped), Some(overlay)) = (&stopped, cx.tree.overlay()) {
        for file in &stopped.planned {
            if let Ok(path) = cx.tree.resolve(&file.path) {
                let text = |text: &Option<String>| text.as_deref().map(Into::into);
                let planned = Planned {
                    before: text(&file.before),
                    after: text(&file.after),
                    mode: file.mode,
                    like: (file.like.as_ref()).and_then(|like| cx.tree.resolve(like).ok()),
                };
                overlay.put(path, planned);
            }
        }
    }
    let turns = match &stopped {
        Some(stopped) => stopped.turns.clone(),
        None => {
            report(cx, format!("{}: reading the code", short(&model.name())));
            let first = tokio::select! {
                biased;
                () = cx.cancel.cancelled() => return Outcome::Cancelled,
                parts = context::parts(cx, job, budget) => context::joined(parts),
            };
            vec![Turn {
                speaker: Speaker::User,
                blocks: vec![Block::Text { text: first }],
            }]
        }
    };
    cx.told.hear_all(&turns);
    let request = request(cx, registry, model.context_window(), turns);
    // Behind the request: the agent may leave it, so that nothing is kept from it.
    cx.plan
        .set_agents(stopped.as_ref().is_some_and(|stopped| stopped.planning));
    let mut turn = Loop {
        cx,
        registry,
        job,
        model,
        recorder,
        spent: Spent {
            rounds: 0,
            tokens: 0,
            cost: 0.0,
            is_estimate: false,
        },
        added: 0,
        request,
        full: 0,
        ids: HashSet::new(),
        same: Same::default(),
        refused: 0,
        nudged: false,
        shortened: false,
        folded_for: None,
        unanswered: false,
        unusable: false,
        spoke: AtomicBool::new(false),
    };
    match turn.begin(stopped).await {
        Ok(outcome) | Err(outcome) => outcome,
    }
}

/// The first request; `window` in tokens.
pub(super) fn request(cx: &Context, registry: &Registry, window: u64, turns: Vec<Turn>) -> Request {
    // What would be refused is not offered.
    let may_write = cx.trusted && !cx.plan.is_on();
    let offered = |tool: &&Arc<dyn Tool>| {
        let looks = cx.trusted && tool.looks(&json!({}));
        tool.is_ready() && (may_write || looks || tool.risk() == Risk::Read)
    };
    let tools = registry
        .tools()
        .iter()
        .filter(offered)
        .map(|tool| ToolSpec {
            name: tool.name().to_owned(),
            description: tool.description(),
            parameters: tool.parameters(),
        });
    let max_tokens = u32::try_from(window / 4)
        .unwrap_or(u32::MAX)
        .clamp(1024, 32_000);
    Request {
        system: context::system_within(cx, context::budget(window)),
        turns,
        tools: tools.collect(),
        max_tokens,
    }
}

impl Loop<'_> {
    async fn go(&mut self) -> Result<Outcome, Outcome> {
        loop {
            self.may_go_on()?;
            if self.is_nearly_full() {
                self.fold().await?;
            }
            self.report("thinking");
            let begun = Instant::now();
            let (answer, lost) = self.ask().await;
            for usage in lost {
                let (tokens, cost) = (usage.total(), self.model.cost(&usage).unwrap_or(0.0));
                self.spent.add(tokens, cost);
                self.recorder.usage(tokens, cost).await?;
            }
            let answer = match answer {
                Ok(answer) => answer,
                Err(ModelError::Cancelled) => return Err(Outcome::Cancelled),
                Err(ModelError::TooLong(_)) if self.may_fold() => {
                    self.fold().await?;
                    continue;
                }
                Err(error) => {
                    self.unusable =
                        matches!(error, ModelError::Refused(_) | ModelError::TooLong(_));
                    let why = collapsed(&error.to_string());
                    return Err(match error {
                        // One that has answered is there.
                        ModelError::Unavailable(_) | ModelError::NoKey(_)
                            if self.spent.rounds == 0 =>
                        {
                            Outcome::Unanswered(why)
                        }
                        _ => Outcome::Failed(why),
                    });
                }
            };
            if let Some(outcome) = self.take(answer, begun.elapsed()).await? {
                return Ok(outcome);
            }
        }
    }

    /// The caps, before each request.
    fn may_go_on(&self) -> Result<(), Outcome> {
        if self.cx.cancel.is_cancelled() {
            return Err(Outcome::Cancelled);
        }
        if self.spent.rounds >= self.job.max_rounds {
            return Err(Outcome::Paused(format!(
                "Paused after {} (turn.maxRounds). Write \"continue\" below to go on.",
                counted(u64::from(self.spent.rounds), "model round")
            )));
        }
        if self.spent.tokens >= self.job.max_tokens {
            return Err(Outcome::Paused(format!(
                "Paused at {}{} of {} tokens a turn (turn.maxTokens). Write \"continue\" below to go on.",
                self.spent.about(),
                thousands(self.spent.tokens),
                thousands(self.job.max_tokens)
            )));
        }
        self.job.within_cost(self.spent.cost, self.spent.about())
    }

    /// One answer, and what each try took that came to nothing.
    async fn ask(&self) -> (Result<Answer, ModelError>, Vec<Usage>) {
        let taken = Mutex::new((None, Vec::new()));
        let lose = || {
            let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
            let usage = taken.0.take();
            taken.1.extend(usage);
        };
        // Heard from another task's point of view: the closure must not borrow the loop mutably.
        let speaking = AtomicBool::new(false);
        let say = |text| self.cx.host.progress(&self.cx.run, Progress::Said { text });
        let hear = |event: Event| match event {
            Event::Text(text) => {
                let first = !speaking.swap(true, Ordering::Relaxed);
                say(match first && self.spoke.swap(true, Ordering::Relaxed) {
                    true => format!("\n\n{text}"),
                    false => text,
                });
                if first {
                    self.report("answering");
                }
            }
            // What has been said cannot be taken back.
            Event::Thoughts => {
                say(String::from(
                    "\n\n(So far it thought aloud. Its answer:)\n\n",
                ));
            }
            Event::ToolUse { name } => {
                self.report(&format!("preparing {}", cut(&collapsed(&name), 60)))
            }
            Event::Taken(usage) => {
                taken.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(usage);
            }
            Event::Retry {
                attempt,
                why,
                wait_ms,
            } => {
                lose();
                // What has been said cannot be taken back, and is said again.
                if speaking.swap(false, Ordering::Relaxed) {
                    say(String::from("…"));
                }
                let seconds = wait_ms.div_ceil(1000);
                self.report(&format!(
                    "try {} in {seconds} s, because {}",
                    attempt + 1,
                    cut(&collapsed(&why), 200)
                ));
            }
        };
        let cancel = &self.cx.cancel;
        let answer = self.model.stream(&self.request, &hear, cancel).await;
        if answer.is_err() {
            lose();
        }
        let taken = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
        (answer, taken.1)
    }

    fn is_nearly_full(&self) -> bool {
        let window = self.model.context_window();
        let limit = (window / 4 * 3).min(window.saturating_sub(u64::from(self.request.max_tokens)));
        let added = u64::try_from(self.added / 3).unwrap_or(u64::MAX);
        self.request.turns.len() > 1 && self.full.saturating_add(added) > limit
    }

    /// Once for each length: a conversation that cannot be folded further stays too long.
    fn may_fold(&self) -> bool {
        self.request.turns.len() > 1 && self.folded_for != Some(self.spent.rounds)
    }

    async fn fold(&mut self) -> Result<(), Outcome> {
        self.folded_for = Some(self.spent.rounds);
        self.shorten();
        let asked = context::asked(&self.job.thread);
        let step = Step {
            anew: true,
            talk: vec![
                self.start(asked).text(),
                Entry::Planned {
                    files: planned(self.cx),
                }
                .text(),
            ],
            ..Step::default()
        };
        self.recorder.step(step).await
    }

    fn shorten(&mut self) {
        // A quarter of the window, at about three characters a token.
        let budget = usize::try_from(self.model.context_window() / 4 * 3).unwrap_or(usize::MAX);
        let changes = |name: &str| {
            let tool = self.registry.tools().iter().find(|t| t.name() == name);
            tool.is_some_and(|tool| matches!(tool.risk(), Risk::Write | Risk::Run))
        };
        memory::fold(&mut self.request.turns, &self.cx.run, budget, changes);
        (self.full, self.added) = (0, 0);
    }

    fn report(&self, doing: &str) {
        let name = self.model.name();
        let mut message = format!("{}: {doing}", short(&name));
        if self.spent.tokens > 0 {
            let about = self.spent.about();
            message.push_str(&format!(
                " · {about}{} tokens",
                thousands(self.spent.tokens)
            ));
        }
        if self.spent.cost > 0.0 {
            message.push_str(&format!(" · {}", dollars(self.spent.cost)));
        }
        if let Some(todos) = self.cx.todos.progress(self.cx) {
            message.push_str(&format!(" · {todos}"));
        }
        report(self.cx, message);
    }
}

/// What is to be reviewed when the turn ends.
fn planned(cx: &Context) -> Vec<journal::File> {
    let all = cx.tree.overlay().map(|overlay| overlay.all());
    let all = all.into_iter().flatten().filter_map(|(path, planned)| {
        Some(journal::File {
            path: cx.tree.relative(&path)?,
            before: planned.before.as_deref().map(str::to_owned),
            after: planned.after.as_deref().map(str::to_owned),
            mode: planned.mode,
            like: planned.like.and_then(|like| cx.tree.relative(&like)),
        })
    });
    all.collect()
}

fn nonzero(count: u64) -> Value {
    if count == 0 {
        Value::Null
    } else {
        json!(count)
    }
}

fn short(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

fn thousands(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..999_950 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// What the model said last as an answer: cleaned, without the marker that some put in front.
pub(super) fn answer_text(said: &str) -> String {
    let text = visible(said);
    let text = text.trim();
    let bare = text.trim_start_matches(['/', '#', '-', '*', ';', '%', ' ']);
    match bare.strip_prefix("AGENT:") {
        Some(rest) => rest.trim().to_owned(),
        None => text.to_owned(),
    }
}

/// The answer of a run as its thread has it: bounded.
pub fn in_thread(answer: &str, run: &str) -> String {
    if answer.chars().count() > MAX_ANSWER {
        let begin = cut(answer, MAX_ANSWER);
        return format!("{begin} (cut; `postil workflow thread {run}` has all of it)");
    }
    answer.to_owned()
}
