//! A turn of an outside agent: it has its own model and its own tools. What it says and does is kept as
//! rounds, what it asks is decided as for a tool of ours, what it writes through us goes the way of every
//! write of a turn, and what it writes past us is found and told.

mod beside;
mod disk;
mod permission;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::acp::{
    self, AcpError, Agent, Asked, Brief, Call, Client, Ended, Enough, Kind, Server, State, Step,
    StepState, Stop, Update,
};
use crate::files::FileError;
use crate::os;
use crate::present::{collapsed, cut, visible};
use crate::tools::{Context, Deed, FileChange, Known, Registry, change_file};
use crate::trust::Risk;
use crate::{sandbox, vcs};

use super::answer_loop::answer_text;
use super::{Job, Outcome, Recorder, context, metadata, millis, report};
use disk::Disk;
use permission::Wish;

/// Characters of a tool's input and output in the history.
const MAX_ROUND: usize = 120_000;
/// Bytes that the agent says at most in a turn; the rest is dropped.
const MAX_SAID: usize = 4 << 20;
/// Tool calls that are followed at once.
const MAX_CALLS: usize = 10_000;

/// An agent that says nothing for so long has not been waiting for us to hear it, and has written what it was writing.
const SILENCE: Duration = Duration::from_secs(2);

/// Steps of its plan that are kept.
const MAX_STEPS: usize = 100;

struct Work<'a> {
    cx: &'a Context,
    registry: &'a Registry,
    job: &'a Job,
    agent: &'a Agent,
    recorder: &'a Recorder,
    disk: Disk<'a>,
    state: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// What it says since its last tool call.
    said: String,
    /// What it said before that.
    before: String,
    calls: HashMap<String, Followed>,
    plan: Vec<Step>,
    cost: f64,
    /// The last sign of life.
    heard: Option<SystemTime>,
    /// What it has been telling since then it may have done long before it is heard.
    speaks_since: Option<SystemTime>,
    /// Why the turn must end.
    end: Option<Outcome>,
}

#[derive(Default)]
struct Followed {
    call: Call,
    begun: Option<Instant>,
    /// As the clock of the file system has it.
    since: Option<SystemTime>,
    is_recorded: bool,
}

/// The whole turn.
pub(super) async fn run(
    cx: &Context,
    registry: &Registry,
    job: &Job,
    agent: &Agent,
    recorder: &Recorder,
) -> Outcome {
    // It reads settings, hooks and lists of servers of the folder it works in, which may start programs.
    if !cx.trusted {
        return Outcome::Unanswered(format!(
            "{} works in trusted workspaces only, for it follows configuration that lies in them: trust this one (`postil trust`), or choose another model",
            agent.title
        ));
    }
    report(
        cx,
        format!("{}: looking at the project's files", agent.name),
    );
    let disk = Disk::new(cx);
    let first = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => return Outcome::Cancelled,
        (first, ()) = async { tokio::join!(context::first(cx, job), disk.look_around()) } => first,
    };
    let work = Work {
        cx,
        registry,
        job,
        agent,
        recorder,
        disk,
        state: Mutex::default(),
    };
    match work.turn(first).await {
        Ok(outcome) | Err(outcome) => outcome,
    }
}

impl Work<'_> {
    async fn turn(&self, first: String) -> Result<Outcome, Outcome> {
        let fields = metadata([
            ("file", json!(self.job.file)),
            ("line", json!(self.job.thread.first_line() + 1)),
        ]);
        self.recorder
            .round("user", fields, context::asked(&self.job.thread))
            .await?;
        let asked = std::slice::from_ref(&self.job.path);
        self.disk.look_at(asked, SystemTime::now());
        self.disk.look_at_open();
        let root = self.cx.tree.root().to_owned();
        let behind = self.kept_in(&root).await?;
        let brief = Brief {
            root: &root,
            workspaces: std::slice::from_ref(&root),
            server: server(&root),
            prompt: prompt(self.cx, &first),
            read_only: self.cx.plan.is_on(),
            behind,
        };
        let begun = Instant::now();
        let ended = acp::converse(self.agent, brief, self, &self.cx.cancel).await;
        // What it changed stays, however the turn ended, so it is kept and told first.
        self.stop_calls();
        let told = self.disk.settle().await;
        self.tell(told).await?;
        if let Some(end) = self.state().end.take() {
            return Err(end);
        }
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                // What it has told of its cost was spent, however it ended.
                let cost = self.state().cost;
                if cost > 0.0 {
                    self.recorder.usage(0, cost).await?;
                }
                self.flush(None, None).await?;
                if matches!(error, AcpError::Cancelled) {
                    return Err(Outcome::Cancelled);
                }
                let why = collapsed(&error.to_string());
                return Err(match error {
                    AcpError::NotInstalled(..)
                    | AcpError::NotStarted(..)
                    | AcpError::NotLoggedIn(..)
                    | AcpError::Garbage(..)
                    | AcpError::Version(..) => Outcome::Unanswered(why),
                    _ => Outcome::Failed(why),
                });
            }
        };
        self.close(&ended, begun).await
    }

    async fn close(&self, ended: &Ended, begun: Instant) -> Result<Outcome, Outcome> {
        let cost = self.state().cost;
        let tokens = ended.tokens.unwrap_or_default();
        if tokens.total > 0 || cost > 0.0 {
            self.recorder.usage(tokens.total, cost).await?;
        }
        let took = millis(begun.elapsed());
        let said = self.flush(Some(ended), Some(took)).await?;
        let title = &self.agent.title;
        let text = answer_text(&said);
        match ended.stop {
            Stop::Limit => Ok(Outcome::Paused(format!(
                "{title} stopped at a limit of its own. Write \"continue\" below to go on."
            ))),
            Stop::Refusal => Err(Outcome::Failed(format!(
                "{title} declined to answer this: put the question in other words, or choose another model"
            ))),
            Stop::Cancelled => Err(Outcome::Failed(format!(
                "{title} stopped by itself: ask again, or choose another model"
            ))),
            Stop::End if text.is_empty() => Err(Outcome::Failed(format!(
                "{title} gave an empty answer: ask again, or choose another model"
            ))),
            Stop::End => Ok(Outcome::Answer(text)),
        }
    }

    /// What keeps an agent from writing that shall only read. Where there is nothing that does, that is said.
    async fn kept_in(&self, root: &Path) -> Result<Vec<OsString>, Outcome> {
        if !self.cx.plan.is_on() {
            return Ok(Vec::new());
        }
        let folder = root.to_owned();
        let found = move || {
            // The repository may lie above.
            let git = [vcs::top(&folder), vcs::common_folder(&folder)];
            let git = git.into_iter().flatten();
            let git: Vec<_> = git
                .filter_map(|folder| os::canonical(&folder).ok())
                .collect();
            sandbox::read_only(&folder, &git)
        };
        let found = tokio::task::spawn_blocking(found).await.ok().flatten();
        if found.is_none() {
            let text = format!(
                "Nothing on this machine keeps {} from writing files: it was asked for a plan alone, and what it changes all the same is told",
                self.agent.title
            );
            let fields = metadata([]);
            self.recorder.round("system", fields, text).await?;
        }
        Ok(found.unwrap_or_default())
    }

    /// Calls that had no end are over with the turn.
    fn stop_calls(&self) {
        let now = SystemTime::now();
        let state = self.state();
        let open = state.calls.values().filter(|call| !call.is_recorded);
        for since in open.filter_map(|call| call.since) {
            self.disk.ran(since, now);
        }
    }

    fn state(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent is heard; how old its word may be, for we may be slower than it.
    fn speaks_since(&self) -> SystemTime {
        let now = SystemTime::now();
        let mut state = self.state();
        let silent = state.heard.and_then(|heard| now.duration_since(heard).ok());
        match state.speaks_since {
            Some(since) if silent.is_none_or(|silent| silent < SILENCE) => since,
            _ => *state.speaks_since.insert(now - SILENCE),
        }
    }

    fn report(&self, doing: &str) {
        let (plan, cost) = {
            let state = self.state();
            let done = state.plan.iter().filter(|s| s.state == StepState::Done);
            let plan = (!state.plan.is_empty())
                .then(|| format!(" · {} of {} done", done.count(), state.plan.len()));
            (plan.unwrap_or_default(), state.cost)
        };
        let cost = if cost > 0.0 {
            format!(" · ${cost:.2}")
        } else {
            String::new()
        };
        let doing = cut(&collapsed(doing), 120);
        report(self.cx, format!("{}: {doing}{plan}{cost}", self.agent.name));
    }

    /// What it said since the last round becomes one. The text of its last message.
    async fn flush(&self, ended: Option<&Ended>, took: Option<u64>) -> Result<String, Outcome> {
        let (said, before, cost) = {
            let mut state = self.state();
            let said = std::mem::take(&mut state.said);
            if !said.trim().is_empty() {
                state.before.clone_from(&said);
            }
            (said, state.before.clone(), state.cost)
        };
        let tokens = ended.and_then(|ended| ended.tokens);
        if !said.trim().is_empty() || tokens.is_some() {
            let fields = metadata([
                ("model", json!(format!("acp/{}", self.agent.name))),
                ("input_tokens", json!(tokens.map(|t| t.input))),
                ("output_tokens", json!(tokens.map(|t| t.output))),
                (
                    "cost",
                    if ended.is_some() && cost > 0.0 {
                        json!((cost * 1e6).round() / 1e6)
                    } else {
                        Value::Null
                    },
                ),
                ("duration_ms", json!(took)),
            ]);
            let text = cut(said.trim(), MAX_ROUND);
            self.recorder.round("assistant", fields, text).await?;
        }
        Ok(before)
    }

    async fn take(&self, update: Update) -> Result<(), Outcome> {
        match update {
            Update::Text(mut text, other) => {
                let first = {
                    let mut state = self.state();
                    let first = state.said.trim().is_empty();
                    if other && !first {
                        text.insert_str(0, "\n\n");
                    }
                    if state.said.len() < MAX_SAID {
                        state.said.push_str(&text);
                    }
                    first
                };
                if first {
                    self.report("answering");
                }
                let said = crate::host::Progress::Said { text };
                self.cx.host.progress(&self.cx.run, said);
            }
            Update::Thought => self.report("thinking"),
            Update::Call(call) => self.follow(call).await?,
            Update::Plan(plan) => self.plan(plan).await?,
            Update::Cost(cost) => {
                self.state().cost = cost;
                if let Err(paused) = self.job.within_cost(cost, "") {
                    self.recorder.usage(0, cost).await?;
                    return Err(paused);
                }
            }
            Update::Other => {}
        }
        Ok(())
    }

    /// A tool call is a round when it is known what is called, and another when it has ended.
    async fn follow(&self, call: Call) -> Result<(), Outcome> {
        let (whole, is_new, ended, took) = {
            let mut state = self.state();
            if state.calls.len() >= MAX_CALLS && !state.calls.contains_key(&call.id) {
                return Ok(());
            }
            let heard = state.heard;
            let followed = state.calls.entry(call.id.clone()).or_default();
            let is_new = followed.begun.is_none();
            let begun = *followed.begun.get_or_insert_with(Instant::now);
            add(&mut followed.call, call);
            let is_over = matches!(followed.call.state, Some(State::Done | State::Failed));
            let ended = is_over && !followed.is_recorded;
            followed.is_recorded |= ended;
            // One that is told of when it is over ran since the last sign of life.
            let now = SystemTime::now();
            let since = if is_new && is_over { heard } else { Some(now) };
            let since = *followed.since.get_or_insert(since.unwrap_or(now));
            let reads = matches!(
                followed.call.kind,
                Some(Kind::Read | Kind::Search | Kind::Think | Kind::Fetch)
            );
            if ended && !reads {
                self.disk.ran(since, now);
            }
            let took = millis(begun.elapsed());
            (followed.call.clone(), is_new, ended, took)
        };
        let changes = matches!(whole.kind, Some(Kind::Edit | Kind::Delete | Kind::Move))
            || !whole.diffs.is_empty();
        if is_new {
            self.flush(None, None).await?;
        }
        if !ended {
            if changes {
                self.disk.look_at(&files(&whole), self.speaks_since());
            }
            self.report(&title(&whole));
            return Ok(());
        }
        if changes && whole.state == Some(State::Done) {
            self.disk.changed(&whole).await;
        }
        let fields = metadata([
            ("tool", json!(name(&whole))),
            ("call_id", json!(whole.id)),
            ("is_error", json!(whole.state == Some(State::Failed))),
            ("duration_ms", json!(took)),
            (
                "input",
                whole
                    .input
                    .as_ref()
                    .map_or(Value::Null, |input| json!(cut(&input.to_string(), 4_000))),
            ),
        ]);
        let mut content = visible(&title(&whole));
        if let Some(output) = whole.output.as_deref().filter(|o| !o.trim().is_empty()) {
            let _ = write!(content, "\n{}", visible(output));
        }
        for diff in &whole.diffs {
            let shown = self.cx.shown(&diff.path);
            let _ = write!(content, "\nchanges {}", collapsed(&shown));
        }
        self.recorder
            .round("tool", fields, cut(&content, MAX_ROUND))
            .await?;
        // A long turn does not keep what nobody asks for any more.
        if let Some(followed) = self.state().calls.get_mut(&whole.id) {
            followed.call = Call::default();
        }
        self.report("thinking");
        Ok(())
    }

    /// Its plan is the turn's list of things to do.
    async fn plan(&self, plan: Vec<Step>) -> Result<(), Outcome> {
        if std::mem::replace(&mut self.state().plan, plan.clone()) == plan {
            return Ok(());
        }
        // As `todo_write` keeps it, so that every face shows it in the same place.
        let mut todos = Vec::new();
        let mut lines = Vec::new();
        for (at, step) in plan.iter().take(MAX_STEPS).enumerate() {
            let status = match step.state {
                StepState::Pending => "pending",
                StepState::Running => "in_progress",
                StepState::Done => "completed",
            };
            let (id, title) = ((at + 1).to_string(), cut(&collapsed(&step.text), 200));
            lines.push(format!("[{id}] {status}: {title}"));
            todos.push(json!({"id": id, "title": title, "status": status}));
        }
        let fields = metadata([("todos", json!(todos))]);
        self.recorder
            .round("todo", fields, lines.join("\n"))
            .await?;
        let running = plan.iter().find(|step| step.state == StepState::Running);
        self.report(running.map_or("planning", |step| &step.text));
        Ok(())
    }

    /// Says what it changed without asking us.
    async fn tell(&self, told: disk::Told) -> Result<(), Outcome> {
        let Some(text) = told.sentence(&self.agent.title, self.cx.plan.is_on()) else {
            return Ok(());
        };
        let fields = metadata([
            ("changed_directly", json!(told.changed)),
            ("changed_by_nobody_knows_whom", json!(told.unsure)),
        ]);
        self.recorder.round("system", fields, text.clone()).await?;
        let level = if told.is_grave(self.cx.plan.is_on()) {
            crate::host::Level::Warning
        } else {
            crate::host::Level::Info
        };
        self.cx.host.message(level, &text);
        Ok(())
    }
}

#[async_trait]
impl Client for Work<'_> {
    async fn update(&self, update: Update) -> Result<(), Enough> {
        self.speaks_since();
        let taken = self.take(update).await;
        self.state().heard = Some(SystemTime::now());
        taken.map_err(|end| {
            self.state().end.get_or_insert(end);
            Enough
        })
    }

    async fn permission(&self, asked: Asked) -> Option<usize> {
        let says = asked.call.output.clone();
        // Asked before it is told of, by some.
        let call = {
            let state = self.state();
            let mut call = state
                .calls
                .get(&asked.call.id)
                .map(|followed| followed.call.clone())
                .unwrap_or_default();
            add(&mut call, asked.call);
            call
        };
        self.disk.look_at(&files(&call), self.speaks_since());
        let wish = Wish {
            call: &call,
            says: says.as_deref(),
        };
        let chosen = permission::decide(self, wish, &asked.choices).await;
        // While it waited for the answer it did nothing: what the author saved meanwhile is no change of its own.
        let now = SystemTime::now();
        self.disk.look_at(&files(&call), now);
        let now = Some(now);
        let mut state = self.state();
        state.heard = now;
        state.speaks_since = now;
        if let Some(followed) = state.calls.get_mut(&call.id) {
            followed.since = now;
        }
        chosen
    }

    async fn read(
        &self,
        path: &Path,
        line: Option<u32>,
        limit: Option<u32>,
    ) -> Result<String, String> {
        let resolved = self.cx.tree.resolve(path).map_err(|e| e.to_string())?;
        let deed = Deed::new("file_read", Risk::Read, self.cx.shown(&resolved));
        self.registry.may(self.cx, &[deed]).await?;
        let read = self.cx.tree.read(&resolved).map_err(|error| {
            if let FileError::NotFound(_) = error {
                // It knows now.
                self.cx.seen.remove(&resolved);
            }
            error.to_string()
        })?;
        self.cx.seen.insert(resolved, Known::of(&read).whole());
        if line.is_none() && limit.is_none() {
            return Ok(read.text.to_string());
        }
        let number = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        let skipped = line.map_or(0, |line| number(line).saturating_sub(1));
        let lines = read.text.split_inclusive('\n').skip(skipped);
        Ok(lines.take(limit.map_or(usize::MAX, number)).collect())
    }

    async fn write(&self, path: &Path, text: &str) -> Result<(), String> {
        let resolved = self.cx.tree.resolve(path).map_err(|e| e.to_string())?;
        let deed = Deed {
            name: Some(path.display().to_string()),
            input: text.to_owned(),
            ..permission::change(self.cx, &resolved)
        };
        self.registry.may(self.cx, &[deed]).await?;
        let is_gone = matches!(self.cx.tree.read(&resolved), Err(FileError::NotFound(_)));
        // Once: whoever was told may make it.
        if is_gone && self.cx.seen.remove(&resolved).is_some() {
            return Err(format!(
                "{} was removed or renamed since you read it, so nothing was written. Write it once more to make it anew.",
                self.cx.shown(&resolved)
            ));
        }
        let seen = match self.cx.seen.get(&resolved).map(|known| known.seen.clone()) {
            Some(seen) => Some(seen),
            None => self.disk.unread(&resolved)?,
        };
        let change = FileChange::new(&resolved, seen, Some(text.to_owned()));
        change_file(self.cx, change).await?;
        self.disk.look_again(&resolved);
        Ok(())
    }
}

/// What `more` tells of a call that is known.
fn add(call: &mut Call, more: Call) {
    call.id = more.id;
    call.title = more
        .title
        .filter(|t| !t.trim().is_empty())
        .or(call.title.take());
    call.name = more.name.or(call.name.take());
    call.kind = more.kind.or(call.kind);
    call.state = more.state.or(call.state);
    call.input = more.input.or(call.input.take());
    call.output = more.output.or(call.output.take());
    if !more.paths.is_empty() {
        call.paths = more.paths;
    }
    if !more.diffs.is_empty() {
        call.diffs = more.diffs;
    }
}

fn files(call: &Call) -> Vec<std::path::PathBuf> {
    let diffs = call.diffs.iter().map(|diff| diff.path.clone());
    let mut files: Vec<_> = call.paths.iter().cloned().chain(diffs).collect();
    files.dedup();
    files
}

fn name(call: &Call) -> String {
    let kind = match call.kind {
        Some(Kind::Read) => "read",
        Some(Kind::Search) => "search",
        Some(Kind::Think) => "think",
        Some(Kind::Edit) => "edit",
        Some(Kind::Delete) => "delete",
        Some(Kind::Move) => "move",
        Some(Kind::Execute) => "execute",
        Some(Kind::Fetch) => "fetch",
        Some(Kind::Other) | None => "tool",
    };
    cut(&collapsed(call.name.as_deref().unwrap_or(kind)), 60)
}

fn title(call: &Call) -> String {
    let title = call.title.as_deref().filter(|t| !t.trim().is_empty());
    title.map_or_else(|| name(call), |title| cut(&collapsed(title), 300))
}

/// Our MCP server on this workspace: it reads threads, runs and language servers, and the unsaved text of an
/// editor that has the workspace open. It writes nothing, for the answer is written when the turn ends.
fn server(root: &Path) -> Server {
    let passed = [
        "HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_CACHE_HOME",
        "XDG_RUNTIME_DIR",
    ];
    let env = passed.into_iter().filter_map(|name| {
        let value = std::env::var(name).ok()?;
        Some((name.to_owned(), value))
    });
    Server {
        command: std::env::current_exe().unwrap_or_else(|_| "postil".into()),
        args: vec![
            String::from("-C"),
            root.display().to_string(),
            String::from("mcp"),
            String::from("--read-only"),
        ],
        env: env.collect(),
    }
}

/// The rules, how to work here, and the same first message as a model gets.
fn prompt(cx: &Context, first: &str) -> String {
    format!(
        "{}\n\n\
How to work here\n\
- You work with tools of your own. The MCP server `postil` gives you this workspace's threads, its history and its language servers.\n\
- Files may hold text in an editor that is not saved: where your client reads and writes files for you, let it.\n\
- Do not answer the thread by a tool or an edit: the last message of your turn is the answer, and it is written into the thread as it \
stands. So let it hold the answer alone, without a report of your steps.\n\n\
{first}",
        context::system(cx)
    )
}
