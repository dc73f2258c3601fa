//! Agent turns: taken, spawned, watched, ended. The turn itself is in `crate::turn`.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use futures::FutureExt;
use serde_json::{Map, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::live::Live;
use super::verbs::Made;
use super::{Error, Session, TurnEnd, TurnOptions, TurnState, Workspace};
use crate::config::{Review, Settings};
use crate::edits;
use crate::host::{Level, Progress, Question};
use crate::present;
use crate::sandbox::Processes;
use crate::store::{Change, GoOn, Run, RunStatus, Store, StoreError};
use crate::threads::{Action, Role, Status, Thread};
use crate::tools::{Context, Images, Plan, Registry, Todos};
use crate::turn::{self, Answerer, Job, Outcome};

/// How often a cancel from another process is looked for.
const CANCEL_POLL: Duration = Duration::from_millis(200);
/// A turn that has been cancelled has this long to wind up before it is dropped.
const WIND_UP: Duration = Duration::from_millis(800);

/// The turns of this process: those that run, and the last one of each thread.
#[derive(Default)]
pub(super) struct Turns {
    /// By run id.
    runs: DashMap<String, Entry>,
    /// Thread id to run id.
    by_thread: DashMap<String, String>,
    /// Held while the author is asked for an outside agent; `true`: they did not say.
    pub(super) proposal: tokio::sync::Mutex<bool>,
}

pub(super) struct Entry {
    pub(super) state: TurnState,
    pub(super) cancel: CancellationToken,
    pub(super) end: watch::Sender<Option<TurnEnd>>,
}

impl Turns {
    /// A turn that belongs to no thread.
    pub(super) fn begin(&self, entry: Entry) {
        self.runs.insert(entry.state.run_id.clone(), entry);
    }

    pub(super) fn forget(&self, run: &str) {
        self.runs.remove_if(run, |_, entry| !entry.state.running);
    }

    /// What a running turn says that it is doing.
    pub(super) fn doing(&self, run: &str, message: &str) {
        if let Some(mut entry) = self.runs.get_mut(run).filter(|e| e.state.running) {
            entry.state.message = present::visible(message);
        }
    }

    fn running(&self, thread_id: &str) -> Option<String> {
        let run = self.by_thread.get(thread_id)?.clone();
        self.runs
            .get(&run)
            .is_some_and(|entry| entry.state.running)
            .then_some(run)
    }
}

/// What a spawned turn takes along.
pub(super) struct Task {
    pub(super) workspace: Arc<Workspace>,
    pub(super) store: Arc<Store>,
    pub(super) path: PathBuf,
    pub(super) file: String,
    pub(super) thread: Thread,
    pub(super) run: Run,
    pub(super) answerer: Answerer,
    pub(super) options: TurnOptions,
    /// The conversation that goes on; empty: the turn begins.
    pub(super) talk: Vec<String>,
    pub(super) cancel: CancellationToken,
}

impl Session {
    /// The running or last turn of a thread.
    pub fn turn_of(&self, thread_id: &str) -> Option<TurnState> {
        let run = self.turns.by_thread.get(thread_id)?.clone();
        self.turns.runs.get(&run).map(|entry| entry.state.clone())
    }

    /// Every turn that runs now.
    pub fn running_turns(&self) -> Vec<TurnState> {
        self.turns
            .runs
            .iter()
            .filter(|entry| entry.state.running)
            .map(|entry| entry.state.clone())
            .collect()
    }

    /// Takes the thread, opens the run, spawns the turn and returns the run at once; asked again while it
    /// runs, the running one. An action word is carried out without a model.
    pub async fn start_turn(
        self: &Arc<Self>,
        id: &str,
        path: Option<&Path>,
        mut options: TurnOptions,
    ) -> Result<Run, Error> {
        let (view, thread) = self.find_thread(id, path)?;
        let workspace = self.home_of(&view.path)?;
        let store = workspace.store()?;
        if let Some(run) = self.turns.running(&thread.id) {
            return Ok(store.run(&run)?);
        }
        if options.another {
            if !thread
                .messages
                .iter()
                .any(|message| message.role == Role::Agent)
            {
                return Err(Error::Other(format!(
                    "nobody has answered thread {} yet: ask an agent first",
                    thread.id
                )));
            }
            options.plan = true;
        } else if thread.status != Status::Pending {
            if !options.resume {
                return Err(Error::Other(format!(
                    "thread {} waits for you: write your message after `AUTHOR:` first",
                    thread.id
                )));
            }
            self.may_go_on(&store, &thread)?;
        }
        let loaded = workspace.loaded();
        let stopped = store
            .runs(Some(&thread.id), None, 1)?
            .pop()
            .filter(|run| matches!(store.last_talk(&run.id), Ok(Some(_))));
        // Who began it goes on with it, as far as they still can.
        let before = match stopped.filter(|_| options.model.is_none() && !options.another) {
            Some(run) => turn::choose(&loaded.settings, Some(&run.model)).await.ok(),
            None => None,
        };
        let answerer = match before {
            Some(choice) => choice.answerer,
            None => {
                turn::choose(&loaded.settings, options.model.as_deref())
                    .await
                    .map_err(|error| Error::Other(error.to_string()))?
                    .answerer
            }
        };
        // Another may have begun while a local server was looked for.
        if let Some(run) = self.turns.running(&thread.id) {
            return Ok(store.run(&run)?);
        }
        self.keep_provenance(Some(&view.path));
        let file = self.relative(&view.path);
        let go_on = match (options.resume, thread.action()) {
            (true, _) => GoOn::Asked,
            (false, None) if !options.another => GoOn::Unasked,
            (false, _) => GoOn::Never,
        };
        let taken = store.take(&thread.id, &file, &answerer.name(), go_on)?;
        let run = taken.run;
        options.plan |= turn::is_plan(&taken.talk);

        let cancel = CancellationToken::new();
        let state = TurnState {
            run_id: run.id.clone(),
            thread_id: thread.id.clone(),
            file: file.clone(),
            running: true,
            message: String::from("starting"),
            failed: false,
        };
        let (end, _) = watch::channel(None);
        self.turns.runs.insert(
            run.id.clone(),
            Entry {
                state,
                cancel: cancel.clone(),
                end,
            },
        );
        self.turns
            .by_thread
            .insert(thread.id.clone(), run.id.clone());
        let task = Task {
            workspace,
            store,
            path: view.path.clone(),
            file,
            thread,
            run: run.clone(),
            answerer,
            options,
            talk: taken.talk,
            cancel,
        };
        let session = self.clone();
        tokio::spawn(async move { session.run_task(task).await });
        self.host.changed(&[view.path]);
        Ok(run)
    }

    /// The turn of a run that stopped half-way (at a cap, by a failure, with its process) goes on with its whole
    /// context. `id` is of the run or the thread.
    pub async fn resume_turn(
        self: &Arc<Self>,
        id: &str,
        options: TurnOptions,
    ) -> Result<Run, Error> {
        let (workspace, run) = self.run_of(id)?;
        let path = workspace.root().join(&run.file);
        let options = TurnOptions {
            resume: true,
            ..options
        };
        self.start_turn(&run.thread_id, Some(&path), options).await
    }

    /// Whether a thread's turn stopped half-way and can go on as it is, without a word of the author.
    pub fn can_go_on(&self, thread: &Thread, path: &Path) -> bool {
        let store = self.workspace_of(path).and_then(|w| w.store().ok());
        store.is_some_and(|store| self.may_go_on(&store, thread).is_ok())
    }

    fn may_go_on(&self, store: &Store, thread: &Thread) -> Result<(), Error> {
        let nothing = || {
            Error::Other(format!(
                "nothing of thread {} stopped half-way: write your message after `AUTHOR:` and ask again",
                thread.id
            ))
        };
        let run = store
            .runs(Some(&thread.id), None, 1)?
            .pop()
            .ok_or_else(nothing)?;
        let last = store.last_talk(&run.id)?.ok_or_else(nothing)?;
        if thread.status != Status::Pending && turn::is_question(&last) {
            return Err(Error::Other(format!(
                "thread {} asks you something: write your answer after `AUTHOR:` first",
                thread.id
            )));
        }
        Ok(())
    }

    /// Waits for the turn's end.
    pub async fn wait_turn(&self, run: &str) -> TurnEnd {
        let gone = || TurnEnd {
            run_id: run.to_owned(),
            thread_id: String::new(),
            file: String::new(),
            status: String::from("failed"),
            answer: None,
            error: Some(format!("run {run} is not running here")),
        };
        let Some(mut end) = self.turns.runs.get(run).map(|entry| entry.end.subscribe()) else {
            return gone();
        };
        match end.wait_for(Option::is_some).await {
            Ok(ended) => ended.clone().unwrap_or_else(gone),
            Err(_) => gone(),
        }
    }

    /// By run id or thread id (prefixes too); a run of another process is asked through the store.
    pub async fn cancel(&self, id: &str) -> Result<(), Error> {
        let running = self
            .turns
            .runs
            .iter()
            .filter(|entry| {
                entry.state.running
                    && (entry.key().starts_with(id) || entry.state.thread_id.starts_with(id))
            })
            .map(|entry| entry.cancel.clone())
            .collect::<Vec<_>>();
        if let [cancel] = running.as_slice() {
            cancel.cancel();
            return Ok(());
        }
        let (workspace, run) = self.run_of(id)?;
        if !matches!(run.status, RunStatus::Running | RunStatus::Queued) {
            return Err(Error::Other(format!(
                "run {} is not running: there is nothing to cancel",
                run.id
            )));
        }
        Ok(workspace.store()?.request_cancel(&run.id)?)
    }

    /// The run that an id, a prefix or a thread id names, in whichever folder.
    pub fn run_of(&self, id: &str) -> Result<(Arc<Workspace>, Run), Error> {
        let mut last = StoreError::UnknownRun(id.to_owned());
        for workspace in self.workspaces() {
            match workspace.store()?.run(id) {
                Ok(run) => return Ok((workspace, run)),
                Err(StoreError::UnknownRun(_)) => {}
                Err(error) => last = error,
            }
        }
        Err(last.into())
    }

    pub(super) async fn end_turns(&self) {
        let running: Vec<String> = self
            .running_turns()
            .into_iter()
            .map(|turn| turn.run_id)
            .collect();
        for run in &running {
            if let Some(entry) = self.turns.runs.get(run) {
                entry.cancel.cancel();
            }
        }
        let all = futures::future::join_all(running.iter().map(|run| self.wait_turn(run)));
        // Whoever waits for our end waits no longer than a second.
        let _ = tokio::time::timeout(WIND_UP, all).await;
    }

    pub(super) async fn run_task(self: Arc<Self>, task: Task) {
        let title = format!(
            "postil: {}",
            present::short(
                task.thread
                    .messages
                    .last()
                    .map_or("", |message| &message.text),
                60
            )
        );
        self.host.progress(&task.run.id, Progress::Begin { title });
        let outcome = AssertUnwindSafe(self.outcome(&task)).catch_unwind().await;
        let outcome = outcome.unwrap_or_else(|_| {
            Outcome::Failed(String::from(
                "an internal error ended the turn; the log has it, and nothing more was changed",
            ))
        });
        let end = self.conclude(&task, outcome).await;
        let message = end
            .error
            .clone()
            .or(end.answer.clone())
            .unwrap_or_else(|| end.status.clone());
        let shown = present::short(&present::visible(&message), 120);
        // First, for who hears of the end may ask for more at once.
        if let Some(mut entry) = self.turns.runs.get_mut(&task.run.id) {
            entry.state.running = false;
            entry.state.failed = end.status == "failed";
            entry.state.message = message;
        }
        self.host
            .progress(&task.run.id, Progress::End { message: shown });
        if let Some(entry) = self.turns.runs.get(&task.run.id) {
            entry.end.send_replace(Some(end));
        }
        self.host.changed(&[task.path]);
    }

    /// Runs the turn until it ends or is cancelled, from here or from another process.
    async fn outcome(&self, task: &Task) -> Outcome {
        if let Some(action) = task.thread.action() {
            return self.carry_out(task, action).await;
        }
        let reviewed = task.workspace.loaded().settings.review == Review::Ask;
        let processes = self.processes_of(&task.workspace, reviewed);
        let outcome = self.run_turn(task, &processes).await;
        processes.end().await;
        outcome
    }

    async fn run_turn(&self, task: &Task, processes: &Arc<Processes>) -> Outcome {
        let turn = async {
            let may_write = self.may_write(task).await;
            let trusted = self.is_trusted(task.workspace.root());
            let loaded = task.workspace.loaded();
            let cx = Context {
                tree: match processes.is_reviewed() {
                    false => task.workspace.tree.clone(),
                    true => Arc::new(task.workspace.tree.with_overlay(Arc::default())),
                },
                host: Arc::new(Live::new(self.turns.clone(), self.host.clone())),
                children: self.children.clone(),
                store: Some(task.store.clone()),
                run: task.run.id.clone(),
                plan: Plan::of_author(!may_write),
                trusted,
                cancel: task.cancel.clone(),
                gate: self.gate.clone(),
                processes: processes.clone(),
                seen: DashMap::new(),
                writing: DashMap::new(),
                question: Some(std::sync::Mutex::default()),
                todos: Todos::default(),
                images: Images::default(),
                told: Default::default(),
            };
            let job = Job {
                thread: task.thread.clone(),
                file: task.file.clone(),
                run: task.run.clone(),
                answerer: self.answerer(task, &loaded.settings, trusted).await,
                max_rounds: loaded.settings.max_rounds,
                max_cost: task
                    .options
                    .budget
                    .map_or(loaded.settings.max_cost, |budget| {
                        budget.min(loaded.settings.max_cost)
                    }),
                talk: task.talk.clone(),
                another: task.options.another,
            };
            let mut registry = Registry::built_in().with_settings(&loaded.settings);
            if let Some(name) = loaded.settings.consult.as_deref()
                && let Ok(choice) = turn::choose(&loaded.settings, Some(name)).await
                && let Answerer::Model(second) = choice.answerer
            {
                registry = registry.with_second(second);
            }
            turn::run(&cx, &registry, job).await
        };
        let elsewhere = async {
            loop {
                tokio::time::sleep(CANCEL_POLL).await;
                if task.store.cancel_requested(&task.run.id).unwrap_or(false) {
                    return;
                }
            }
        };
        tokio::pin!(turn);
        tokio::select! {
            outcome = &mut turn => return outcome,
            () = task.cancel.cancelled() => {}
            () = elsewhere => task.cancel.cancel(),
        }
        tokio::time::timeout(WIND_UP, turn)
            .await
            .unwrap_or(Outcome::Cancelled)
    }

    /// Who was chosen; where nothing is configured, an outside agent if the author wants that.
    async fn answerer(&self, task: &Task, settings: &Settings, trusted: bool) -> Answerer {
        let open = task.options.model.is_none() && settings.model.is_none() && trusted;
        if !open || !matches!(task.answerer, Answerer::Offline) {
            return task.answerer.clone();
        }
        let proposed = self.proposed(settings, task.workspace.root()).await;
        let answerer = proposed.map_or(Answerer::Offline, Answerer::Outside);
        if let Err(error) = task.store.answered_by(&task.run.id, &answerer.name()) {
            tracing::warn!(%error, "the history does not name the agent");
        }
        answerer
    }

    /// Whether this turn may change files; asks the author where that is open.
    async fn may_write(&self, task: &Task) -> bool {
        if task.options.plan {
            return false;
        }
        let root = task.workspace.root();
        if self.is_declined(root) {
            return false;
        }
        if !self.is_trusted(root) {
            let question = Question {
                text: format!(
                    "{} is not trusted. Trusting it lets an agent edit its files and lets language servers start in it.",
                    root.display()
                ),
                choices: vec![
                    String::from("Trust this workspace"),
                    String::from("Read-only this time"),
                ],
            };
            if self.host.ask(question).await != Some(0) {
                return false;
            }
            if let Err(error) = self.trust(root) {
                self.host.message(Level::Error, &error.to_string());
                return false;
            }
        }
        let authors = task
            .thread
            .messages
            .iter()
            .filter(|message| message.role == Role::Author && !message.text.is_empty());
        let arrived: Vec<&str> = authors
            .map(|message| message.text.as_str())
            .filter(|text| !self.is_typed(&task.path, text))
            .collect();
        if task.options.allow_arrived || arrived.is_empty() {
            return true;
        }
        let question = Question {
            text: format!(
                "This question was not typed here, it came with {}. Answer with edits allowed?",
                task.file
            ),
            choices: vec![String::from("Allow edits"), String::from("Read-only")],
        };
        if self.host.ask(question).await != Some(0) {
            return false;
        }
        for text in arrived {
            self.store_as_typed(&task.path, text);
        }
        true
    }

    /// An action word: done mechanically, the thread goes with it.
    async fn carry_out(&self, task: &Task, action: Action) -> Outcome {
        let done = match action {
            Action::Dismiss => self.dismiss(&task.thread.id, Some(&task.path)).await,
            Action::Commit => self.clear_and_commit(&task.path, None).await,
        };
        match done {
            Ok(done) => {
                let what = match (done.note, done.commit_hash) {
                    (Some(note), _) => note,
                    (None, Some(hash)) => format!("committed as {hash}"),
                    (None, None) => String::from("the thread is removed"),
                };
                Outcome::Answer(what)
            }
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    /// Writes the answer into the thread as it is now, and closes the run's turn.
    async fn conclude(&self, task: &Task, outcome: Outcome) -> TurnEnd {
        let mut end = TurnEnd {
            run_id: task.run.id.clone(),
            thread_id: task.thread.id.clone(),
            file: task.file.clone(),
            status: String::new(),
            answer: None,
            error: None,
        };
        let (status, error) = match outcome {
            Outcome::Answer(text) if task.thread.action().is_some() => {
                end.answer = Some(text);
                (RunStatus::Completed, None)
            }
            Outcome::Answer(text) => {
                end.answer = Some(text.clone());
                self.answer(task, &text).await;
                (RunStatus::Completed, None)
            }
            Outcome::Paused(text) => {
                end.answer = Some(text.clone());
                end.status = String::from("paused");
                self.answer(task, &text).await;
                (RunStatus::AwaitingUser, None)
            }
            Outcome::Asked(text) => {
                end.answer = Some(text.clone());
                self.answer(task, &text).await;
                (RunStatus::AwaitingUser, None)
            }
            Outcome::Cancelled => (RunStatus::Cancelled, None),
            Outcome::Failed(why) => {
                let why = present::visible(&why);
                self.host
                    .message(Level::Error, &format!("postil: {}: {why}", task.file));
                self.note_round(task, "error", json!({}), &why);
                (RunStatus::Failed, Some(why))
            }
        };
        if end.status.is_empty() {
            end.status = status.name().to_owned();
        }
        if status != RunStatus::AwaitingUser {
            self.gate.forget(&task.run.id);
        }
        if status == RunStatus::Cancelled {
            self.note_round(task, "system", json!({}), "cancelled by the author");
        }
        if let Err(error) = task.store.finish(&task.run.id, status, error.as_deref()) {
            self.host.message(
                Level::Error,
                &format!("postil: the history could not be written: {error}"),
            );
        }
        end.error = error;
        end
    }

    async fn answer(&self, task: &Task, text: &str) {
        if task.thread.id.is_empty() {
            return;
        }
        // Kept before it is written: what is taken back later may not depend on how this ends.
        let note = |made: &Made| {
            let change = Change {
                file: task.file.clone(),
                before: Some(made.before.as_bytes().to_vec()),
                after: Some(made.after.as_bytes().to_vec()),
            };
            if let Err(error) = task.store.record_change(&task.run.id, &change) {
                tracing::warn!(%error, "the answer cannot be undone");
            }
        };
        let name = self.signature(task);
        let respond = |source: edits::Source, style| {
            let name = name.as_deref();
            edits::respond(source, &task.thread.id, Role::Agent, name, text, style)
        };
        let written = self
            .write_noted(&task.path, "Answer a thread", respond, note)
            .await;
        match written {
            Ok(_) => {
                let model = task.store.run(&task.run.id).map(|run| run.model).ok();
                let fields = json!({"file": task.file, "model": model, "name": name});
                self.note_round(task, "reply", fields, text);
            }
            Err(error) => {
                self.note_round(
                    task,
                    "reply",
                    json!({"file": task.file, "not_written": error.to_string()}),
                    text,
                );
                self.host.message(
                    Level::Warning,
                    &format!(
                        "postil: {error}. The answer was: {}",
                        present::visible(text)
                    ),
                );
            }
        }
    }

    fn note_round(&self, task: &Task, role: &str, metadata: serde_json::Value, content: &str) {
        let metadata = match metadata {
            serde_json::Value::Object(map) => map,
            _ => Map::new(),
        };
        if let Err(error) = task.store.append(&task.run.id, role, metadata, content) {
            self.host.message(
                Level::Error,
                &format!("postil: the history could not be written: {error}"),
            );
        }
    }
}
