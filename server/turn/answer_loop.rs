//! Model, tools, model …: until the model answers, a cap is met, or somebody stops it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::models::{
    Answer, Block, Event, Model, ModelError, Request, Speaker, Stop, ToolSpec, Turn, Usage,
};
use crate::present::visible;
use crate::tools::{Context, Output, Registry, Tool};
use crate::trust::Risk;

use super::{Job, Outcome, Recorder, context, cut, memory, metadata, one_line, report};

/// Tool calls of one answer that are carried out.
const MAX_CALLS: usize = 32;
/// The same call so many times in a row is not carried out.
const DOOM: u32 = 3;
/// After so many of those the turn ends.
const STUBBORN: u32 = 3;
/// Characters of a tool's result that reach the model, whatever the tool's own limit.
const MAX_RESULT: usize = 120_000;
/// Characters of an answer in the thread.
const MAX_ANSWER: usize = 8_000;
/// Tools that were begun get so long after a cancel to say what they did.
const TOOL_GRACE: Duration = Duration::from_millis(400);

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
}

/// A call that is to be answered, and what is to be done about it.
struct Call {
    id: String,
    name: String,
    input: Value,
    /// Why it is not carried out.
    refusal: Option<String>,
}

pub(super) async fn run(
    cx: &Context,
    registry: &Registry,
    job: &Job,
    model: &dyn Model,
    recorder: &Recorder,
) -> Outcome {
    report(cx, format!("{}: reading the code", short(&model.name())));
    let first = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => return Outcome::Cancelled,
        first = context::first(cx, job) => first,
    };
    // What would be refused is not offered.
    let may_write = cx.trusted && !cx.plan;
    let offered = |tool: &&Arc<dyn Tool>| may_write || tool.risk() == Risk::Read;
    let tools = registry
        .tools()
        .iter()
        .filter(offered)
        .map(|tool| ToolSpec {
            name: tool.name().to_owned(),
            description: tool.description(),
            parameters: tool.parameters(),
        });
    let max_tokens = u32::try_from(model.context_window() / 4)
        .unwrap_or(u32::MAX)
        .clamp(1024, 32_000);
    let request = Request {
        system: context::system(cx),
        turns: vec![Turn {
            speaker: Speaker::User,
            blocks: vec![Block::Text { text: first }],
        }],
        tools: tools.collect(),
        max_tokens,
    };
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
    };
    match turn.begin().await {
        Ok(outcome) | Err(outcome) => outcome,
    }
}

impl Loop<'_> {
    async fn begin(&mut self) -> Result<Outcome, Outcome> {
        let fields = metadata([
            ("file", json!(self.job.file)),
            ("line", json!(self.job.thread.first_line() + 1)),
        ]);
        self.recorder
            .round("user", fields, context::asked(&self.job.thread))
            .await?;
        loop {
            self.may_go_on()?;
            if self.is_nearly_full() {
                self.fold();
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
                    self.fold();
                    continue;
                }
                Err(error) => return Err(Outcome::Failed(one_line(&error.to_string()))),
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
            Event::Text(_) => {
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
        self.recorder.usage(self.full, cost.unwrap_or(0.0)).await?;
        self.recorder.round("assistant", fields, content).await?;

        if answer.stop == Stop::Refusal {
            return Err(Outcome::Failed(format!(
                "{} declined to answer this (content filter): put the question in other words, or choose another model",
                answer.model
            )));
        }
        if !calls.is_empty() {
            let said_blocks = std::mem::take(&mut answer.blocks);
            self.request.turns.push(Turn {
                speaker: Speaker::Assistant,
                blocks: said_blocks,
            });
            self.carry_out(calls).await?;
            return Ok(None);
        }
        let end = match answer.stop {
            Stop::ContextFull
                if self.request.turns.len() > 1 && self.folded_for < self.spent.rounds =>
            {
                self.folded_for = self.spent.rounds;
                self.fold();
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
        if let Some(more) = end {
            let blocks = std::mem::take(&mut answer.blocks);
            self.request.turns.push(Turn {
                speaker: Speaker::Assistant,
                blocks,
            });
            self.request.turns.push(Turn {
                speaker: Speaker::User,
                blocks: vec![Block::Text {
                    text: more.to_owned(),
                }],
            });
            return Ok(None);
        }
        let text = answer_text(said, &self.cx.run);
        if text.is_empty() {
            return Err(Outcome::Failed(format!(
                "{} gave an empty answer: ask again, or choose another model",
                answer.model
            )));
        }
        Ok(Some(Outcome::Answer(text)))
    }

    /// The calls of an answer, each with the reason where it is not to be carried out. Ids that were used
    /// before are made new, in the answer too: a call and its result must find each other.
    fn calls(&mut self, answer: &mut Answer) -> Vec<Call> {
        let cut_off = answer.stop == Stop::MaxTokens;
        let count = answer
            .blocks
            .iter()
            .filter(|b| matches!(b, Block::ToolUse { .. }))
            .count();
        let mut calls: Vec<Call> = Vec::new();
        for block in &mut answer.blocks {
            let Block::ToolUse { id, name, input } = block else {
                continue;
            };
            let usable = !id.is_empty()
                && id.len() <= 64
                && id
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
            if !usable || !self.ids.insert(id.clone()) {
                *id = format!("call_{}_{}", self.spent.rounds, calls.len() + 1);
                self.ids.insert(id.clone());
            }
            let key = format!("{name} {input}");
            self.same = if self.same.0 == key {
                (key, self.same.1 + 1)
            } else {
                (key, 1)
            };
            if self.same.1 < DOOM {
                self.refused = 0;
            }
            let refusal = if cut_off && calls.len() + 1 == count {
                Some(String::from(
                    "Not carried out: your answer was cut off at the length limit in this call. Send less at once.",
                ))
            } else if !input.is_object() {
                Some(String::from(
                    "Not carried out: the arguments are no JSON object. Send them again.",
                ))
            } else if calls.len() >= MAX_CALLS {
                Some(format!(
                    "Not carried out: {count} calls in one answer; the first {MAX_CALLS} were."
                ))
            } else if self.same.1 >= DOOM {
                self.refused += 1;
                Some(format!(
                    "Not carried out: this is the same call with the same arguments for the {} time in a row. Its result stands above; \
do something else, or answer.",
                    ordinal(self.same.1)
                ))
            } else {
                None
            };
            calls.push(Call {
                id: id.clone(),
                name: name.clone(),
                input: input.clone(),
                refusal,
            });
        }
        calls
    }

    /// Carries the calls out, records each result, and puts the results into the conversation.
    async fn carry_out(&mut self, calls: Vec<Call>) -> Result<(), Outcome> {
        if self.cx.cancel.is_cancelled() {
            return Err(Outcome::Cancelled);
        }
        let to_do: Vec<(String, Value)> = calls
            .iter()
            .filter(|c| c.refusal.is_none())
            .map(|c| (c.name.clone(), c.input.clone()))
            .collect();
        let many = if to_do.len() > 1 {
            format!(" (and {} more)", to_do.len() - 1)
        } else {
            String::new()
        };
        if let Some((name, input)) = to_do.first() {
            self.report(&format!("{}{many}", describe(name, input)));
        }
        let begun = Instant::now();
        let stopped = async {
            self.cx.cancel.cancelled().await;
            tokio::time::sleep(TOOL_GRACE).await;
        };
        let mut outputs: std::collections::VecDeque<Output> = if to_do.is_empty() {
            Default::default()
        } else {
            tokio::select! {
                biased;
                outputs = self.registry.call_all(self.cx, to_do) => outputs.into(),
                () = stopped => Default::default(),
            }
        };
        let took = json!(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        let mut results = Vec::new();
        let mut beyond = 0;
        for (at, call) in calls.into_iter().enumerate() {
            let done = call.refusal.is_none();
            let output = match call.refusal {
                Some(why) => Err(why),
                None => outputs
                    .pop_front()
                    .unwrap_or_else(|| Err(String::from("Stopped: it did not end in time."))),
            };
            let is_error = output.is_err();
            let content = cut(&output.unwrap_or_else(|text| text), MAX_RESULT);
            self.added += content.len();
            if at < MAX_CALLS {
                let fields = metadata([
                    ("tool", json!(call.name)),
                    ("call_id", json!(call.id)),
                    ("is_error", json!(is_error)),
                    ("duration_ms", if done { took.clone() } else { Value::Null }),
                ]);
                self.recorder.round("tool", fields, content.clone()).await?;
            } else {
                beyond += 1;
            }
            results.push(Block::ToolResult {
                id: call.id,
                content,
                is_error,
            });
        }
        if beyond > 0 {
            let fields = metadata([("is_error", json!(true))]);
            self.recorder
                .round(
                    "tool",
                    fields,
                    format!("{beyond} further calls of this answer were not carried out."),
                )
                .await?;
        }
        self.request.turns.push(Turn {
            speaker: Speaker::User,
            blocks: results,
        });
        if self.cx.cancel.is_cancelled() {
            return Err(Outcome::Cancelled);
        }
        if self.refused >= STUBBORN {
            return Err(Outcome::Failed(format!(
                "{} repeated the same tool call and got nowhere: say more exactly what is wanted, or choose another model",
                self.model.name()
            )));
        }
        Ok(())
    }

    fn is_nearly_full(&self) -> bool {
        let window = self.model.context_window();
        let limit = (window / 4 * 3).min(window.saturating_sub(u64::from(self.request.max_tokens)));
        let added = u64::try_from(self.added / 3).unwrap_or(u64::MAX);
        self.request.turns.len() > 1 && self.full.saturating_add(added) > limit
    }

    fn fold(&mut self) {
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
        report(self.cx, message);
    }
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
    if count < 1000 {
        count.to_string()
    } else {
        format!("{:.1}k", count as f64 / 1000.0)
    }
}

fn ordinal(n: u32) -> String {
    match n {
        3 => String::from("third"),
        n => format!("{n}th"),
    }
}

/// A tool with its main argument, for a progress line.
pub(super) fn describe(name: &str, input: &Value) -> String {
    let main = [
        "path", "file", "pattern", "command", "query", "action", "url",
    ]
    .iter()
    .find_map(|key| input.get(key).and_then(Value::as_str));
    match main {
        Some(main) => format!("{} {}", cut(&one_line(name), 40), cut(&one_line(main), 60)),
        None => cut(&one_line(name), 40),
    }
}

/// The AGENT message: cleaned, without the marker that some models put in front, bounded.
fn answer_text(said: &str, run: &str) -> String {
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
