//! Model, tools, model …: until the model answers, a cap is met, or somebody stops it.

mod calls;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::files::Planned;
use crate::host::Progress;
use crate::models::{
    Answer, Block, Event, Model, ModelError, Request, Speaker, Stop, ToolSpec, Turn, Usage,
};
use crate::present::visible;
use crate::threads::Status;
use crate::tools::{Context, Registry, Tool};
use crate::trust::Risk;

use super::journal::{self, Entry, Stopped};
use super::{
    Job, Outcome, Recorder, Step, context, cut, memory, metadata, new_round, one_line, report,
    review,
};

/// Characters of an answer in the thread.
const MAX_ANSWER: usize = 8_000;

/// What a turn has used up.
struct Spent {
    rounds: u32,
    tokens: u64,
    cost: f64,
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
    /// The newest call, and how often it came in a row.
    same: (String, u32),
    refused: u32,
    /// Each is done once a turn.
    nudged: bool,
    shortened: bool,
    folded_for: u32,
    /// The model could not be reached.
    lost: bool,
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
        },
        added: 0,
        request,
        full: 0,
        ids: HashSet::new(),
        same: (String::new(), 0),
        refused: 0,
        nudged: false,
        shortened: false,
        folded_for: 0,
        lost: false,
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
    async fn begin(&mut self, stopped: Option<Stopped>) -> Result<Outcome, Outcome> {
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
                let said = Some(asked).filter(|asked| pending && *asked != stopped.asked);
                match &said {
                    Some(said) => step.rounds.push(new_round("user", fields, said.clone())),
                    None => {
                        let content = String::from("the turn goes on where it stopped");
                        step.rounds.push(new_round("system", fields, content));
                    }
                }
                let blocks = stopped.news(said.as_deref());
                journal::tell(&mut self.request.turns, blocks.clone());
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
        if resumed
            && self.spent.rounds == 0
            && matches!(outcome, Err(Outcome::Failed(_)))
            && !self.lost
        {
            self.forget().await?;
        }
        outcome
    }

    /// The conversation as it is now, to begin with.
    fn start(&self, asked: String) -> Entry {
        Entry::Start {
            model: self.model.name(),
            plan: self.cx.plan.is_chosen(),
            planning: self.cx.plan.is_agents(),
            asked,
            turns: self.request.turns.clone(),
        }
    }

    async fn forget(&self) -> Result<(), Outcome> {
        let anew = Step {
            anew: true,
            ..Step::default()
        };
        self.recorder.step(anew).await
    }

    async fn go(&mut self) -> Result<Outcome, Outcome> {
        loop {
            self.may_go_on()?;
            if self.is_nearly_full() {
                self.fold().await?;
            }
            self.report("thinking");
            let begun = Instant::now();
            let answer = match self.ask().await {
                Ok(answer) => answer,
                Err(ModelError::Cancelled) => return Err(Outcome::Cancelled),
                // Once for each length: a conversation that cannot be folded further stays too long.
                Err(ModelError::TooLong(_))
                    if self.request.turns.len() > 1 && self.folded_for < self.spent.rounds =>
                {
                    self.folded_for = self.spent.rounds;
                    self.fold().await?;
                    continue;
                }
                Err(error) => {
                    // It is not the conversation that is at fault.
                    self.lost = matches!(error, ModelError::Unavailable(_) | ModelError::NoKey(_));
                    return Err(Outcome::Failed(one_line(&error.to_string())));
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
                "Paused after {} model rounds (turn.maxRounds). Write \"continue\" below to go on.",
                self.spent.rounds
            )));
        }
        if self.spent.tokens >= self.job.max_tokens {
            return Err(Outcome::Paused(format!(
                "Paused at {} of {} tokens a turn (turn.maxTokens). Write \"continue\" below to go on.",
                thousands(self.spent.tokens),
                thousands(self.job.max_tokens)
            )));
        }
        if self.spent.cost >= self.job.max_cost {
            return Err(Outcome::Paused(format!(
                "Paused at ${:.2} of ${:.2} a turn (turn.maxCost). Write \"continue\" below to go on.",
                self.spent.cost, self.job.max_cost
            )));
        }
        Ok(())
    }

    async fn ask(&self) -> Result<Answer, ModelError> {
        // Heard from another task's point of view: the closure must not borrow the loop mutably.
        let speaking = Mutex::new(false);
        let hear = |event: Event| match event {
            Event::Text(text) => {
                self.cx.host.progress(&self.cx.run, Progress::Said { text });
                let first = speaking
                    .lock()
                    .map(|mut speaking| !std::mem::replace(&mut *speaking, true))
                    .unwrap_or(false);
                if first {
                    self.report("answering");
                }
            }
            Event::ToolUse { name } => {
                self.report(&format!("preparing {}", cut(&one_line(&name), 60)))
            }
            Event::Retry {
                attempt,
                why,
                wait_ms,
            } => {
                if let Ok(mut speaking) = speaking.lock() {
                    *speaking = false;
                }
                let seconds = wait_ms.div_ceil(1000);
                self.report(&format!(
                    "try {} in {seconds} s, because {}",
                    attempt + 1,
                    cut(&one_line(&why), 200)
                ));
            }
        };
        self.model
            .stream(&self.request, &hear, &self.cx.cancel)
            .await
    }

    /// One whole answer: recorded, then its tools, or its end.
    async fn take(
        &mut self,
        mut answer: Answer,
        took: Duration,
    ) -> Result<Option<Outcome>, Outcome> {
        self.spent.rounds += 1;
        self.added = 0;
        self.full = total(&answer.usage);
        let cost = self.model.cost(&answer.usage);
        self.spent.tokens = self.spent.tokens.saturating_add(self.full);
        self.spent.cost += cost.unwrap_or(0.0);

        let calls = self.calls(&mut answer);
        let said: Vec<&str> = answer
            .blocks
            .iter()
            .filter_map(|b| {
                if let Block::Text { text } = b {
                    Some(text.as_str())
                } else {
                    None
                }
            })
            .collect();
        let said = said.join("\n\n");
        let said = said.trim();
        let mut content = said.to_owned();
        for call in &calls {
            if !content.is_empty() {
                content.push('\n');
            }
            content.push_str(&format!("{} {}", call.name, call.input));
        }
        let fields = metadata([
            ("model", json!(answer.model)),
            ("input_tokens", json!(answer.usage.input)),
            ("output_tokens", json!(answer.usage.output)),
            ("cache_read_tokens", nonzero(answer.usage.cache_read)),
            ("cache_write_tokens", nonzero(answer.usage.cache_write)),
            (
                "cost",
                cost.map_or(Value::Null, |cost| json!((cost * 1e6).round() / 1e6)),
            ),
            (
                "duration_ms",
                json!(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
            ),
            (
                "stop",
                if matches!(answer.stop, Stop::EndTurn | Stop::ToolUse) {
                    Value::Null
                } else {
                    json!(format!("{:?}", answer.stop))
                },
            ),
        ]);
        let mut step = Step {
            rounds: vec![new_round("assistant", fields, content)],
            tokens: self.full,
            cost: cost.unwrap_or(0.0),
            ..Step::default()
        };
        if answer.stop == Stop::Refusal {
            step.anew = true;
            self.recorder.step(step).await?;
            return Err(Outcome::Failed(format!(
                "{} declined to answer this (content filter): put the question in other words, or choose another model",
                answer.model
            )));
        }
        if !calls.is_empty() {
            // Kept before a tool is begun: what may have been done is known, whatever happens now.
            self.said(&mut step, &mut answer);
            self.recorder.step(step).await?;
            return self.carry_out(calls).await;
        }
        let more = match answer.stop {
            Stop::ContextFull
                if self.request.turns.len() > 1 && self.folded_for < self.spent.rounds =>
            {
                self.folded_for = self.spent.rounds;
                self.recorder.step(step).await?;
                self.fold().await?;
                return Ok(None);
            }
            Stop::MaxTokens if !self.shortened => {
                self.shortened = true;
                Some(
                    "Your answer was cut off, it was too long. Give the final answer now, in one or two sentences.",
                )
            }
            Stop::Pause => Some("Go on."),
            // Some models end without a word once their tools are done.
            _ if said.is_empty() && !self.nudged && self.request.turns.len() > 1 => {
                self.nudged = true;
                Some("Your answer was empty. Say in one or two sentences what you did or found.")
            }
            _ => None,
        };
        if let Some(more) = more {
            self.said(&mut step, &mut answer);
            let blocks = vec![Block::Text {
                text: more.to_owned(),
            }];
            step.talk.push(
                Entry::Told {
                    blocks: blocks.clone(),
                    asked: None,
                }
                .text(),
            );
            journal::tell(&mut self.request.turns, blocks);
            self.recorder.step(step).await?;
            return Ok(None);
        }
        let text = answer_text(said, &self.cx.run);
        if text.is_empty() {
            step.anew = true;
            self.recorder.step(step).await?;
            return Err(Outcome::Failed(format!(
                "{} gave an empty answer: ask again, or choose another model",
                answer.model
            )));
        }
        if !planned(self.cx).is_empty() {
            self.said(&mut step, &mut answer);
            self.recorder.step(std::mem::take(&mut step)).await?;
            let news = review::settle(self.cx, self.recorder).await?;
            step.talk.push(Entry::Planned { files: Vec::new() }.text());
            if let Some(text) = news {
                let blocks = vec![Block::Text { text }];
                let told = Entry::Told {
                    blocks: blocks.clone(),
                    asked: None,
                };
                step.talk.push(told.text());
                journal::tell(&mut self.request.turns, blocks);
                self.recorder.step(step).await?;
                return Ok(None);
            }
        }
        step.talk.push(Entry::Answer { text: text.clone() }.text());
        self.recorder.step(step).await?;
        Ok(Some(Outcome::Answer(text)))
    }

    /// The model's answer becomes part of the conversation.
    fn said(&mut self, step: &mut Step, answer: &mut Answer) {
        let blocks = std::mem::take(&mut answer.blocks);
        step.talk.push(
            Entry::Said {
                blocks: blocks.clone(),
            }
            .text(),
        );
        self.request.turns.push(Turn {
            speaker: Speaker::Assistant,
            blocks,
        });
    }

    fn is_nearly_full(&self) -> bool {
        let window = self.model.context_window();
        let limit = (window / 4 * 3).min(window.saturating_sub(u64::from(self.request.max_tokens)));
        let added = u64::try_from(self.added / 3).unwrap_or(u64::MAX);
        self.request.turns.len() > 1 && self.full.saturating_add(added) > limit
    }

    async fn fold(&mut self) -> Result<(), Outcome> {
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
        memory::fold(&mut self.request.turns, &self.cx.run, budget);
        (self.full, self.added) = (0, 0);
    }

    fn report(&self, doing: &str) {
        let name = self.model.name();
        let mut message = format!("{}: {doing}", short(&name));
        if self.spent.tokens > 0 {
            message.push_str(&format!(" · {} tokens", thousands(self.spent.tokens)));
        }
        if self.spent.cost > 0.0 {
            message.push_str(&format!(" · ${:.2}", self.spent.cost));
        }
        if let Some(todos) = self.cx.todos.progress(self.cx) {
            message.push_str(&format!(" · {todos}"));
        }
        report(self.cx, message);
    }
}

fn asks_anew(job: &Job, stopped: &Stopped) -> bool {
    job.thread.status == Status::Pending && context::asked(&job.thread) != stopped.asked
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
        })
    });
    all.collect()
}

/// Ids of calls that are taken.
fn call_ids(turns: &[Turn]) -> HashSet<String> {
    let blocks = turns.iter().flat_map(|turn| &turn.blocks);
    blocks
        .filter_map(|block| match block {
            Block::ToolUse { id, .. } => Some(id.clone()),
            _ => None,
        })
        .collect()
}

fn total(usage: &Usage) -> u64 {
    usage
        .input
        .saturating_add(usage.output)
        .saturating_add(usage.cache_read)
        .saturating_add(usage.cache_write)
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

/// The AGENT message: cleaned, without the marker that some models put in front, bounded.
pub(super) fn answer_text(said: &str, run: &str) -> String {
    let text = visible(said);
    let mut text = text.trim();
    let bare = text.trim_start_matches(['/', '#', '-', '*', ';', '%', ' ']);
    if let Some(rest) = bare.strip_prefix("AGENT:") {
        text = rest.trim();
    }
    if text.chars().count() > MAX_ANSWER {
        return format!(
            "{} (cut; `postil workflow thread {run}` has all of it)",
            cut(text, MAX_ANSWER)
        );
    }
    text.to_owned()
}
