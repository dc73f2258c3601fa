//! One turn of a session, from its spawn to what stands in the thread and in the history.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use serde_json::{Map, json};
use tokio::sync::SemaphorePermit;

use super::super::live::Live;
use super::super::tries::Tries;
use super::super::verbs::{Made, stands};
use super::super::{Error, Session, TurnEnd, TurnStatus, Workspace};
use super::leave::Asks;
use super::which::note_stand;
use super::{AT_ONCE, Task, WIND_UP};
use crate::config::{Loaded, Review};
use crate::edits;
use crate::host::{Host, Level, Progress};
use crate::present;
use crate::sandbox::Processes;
use crate::store::{Change, RunStatus};
use crate::threads::{self, Action, Status, Thread};
use crate::tools::{Context, Plan, Registry};
use crate::turn::{self, Answerer, Job, Outcome};

/// How often a cancel from another process is looked for.
const CANCEL_POLL: Duration = Duration::from_millis(200);

/// Why a turn stopped whose editor went.
const LEFT: &str = "the editor was closed or loaded anew in mid-turn";
const TAKEN_OUT: &str = "its folder was taken out of the editor in mid-turn";

impl Session {
    pub(in crate::session) async fn run_task(self: Arc<Self>, mut task: Task, asks: Asks) {
        let asked = task.thread.messages.last();
        let title = present::short(asked.map_or("", |message| &message.text), 60);
        self.host.progress(&task.run.id, Progress::Begin { title });
        let outcome = AssertUnwindSafe(self.outcome(&mut task))
            .catch_unwind()
            .await;
        drop(asks);
        let outcome = outcome.unwrap_or_else(|_| {
            Outcome::Failed(String::from(
                "an internal error ended the turn; the log has it, and nothing more was changed",
            ))
        });
        self.follow(&mut task).await;
        let end = self.conclude(&mut task, outcome).await;
        let message = end
            .error
            .clone()
            .or(end
                .answer
                .as_ref()
                .map(|answer| turn::in_thread(answer, &task.run.id)))
            .unwrap_or_else(|| end.status.name().to_owned());
        let shown = present::short(&present::visible(&message), 120);
        // First, for who hears of the end may ask for more at once.
        if let Some(mut entry) = self.turns.runs.get_mut(&task.run.id) {
            entry.state.running = false;
            entry.state.failed = end.status == TurnStatus::Failed;
            entry.state.cancelled = end.status == TurnStatus::Cancelled;
            entry.state.message = message;
        }
        self.host
            .progress(&task.run.id, Progress::End { message: shown });
        let asks = end.status == TurnStatus::AwaitingUser;
        if let Some(entry) = self.turns.runs.get(&task.run.id) {
            entry.end.send_replace(Some(end));
        }
        self.host.changed(std::slice::from_ref(&task.path));
        if asks {
            self.host.asked(&task.path, &task.thread.id);
        }
    }

    /// Runs the turn until it ends or is cancelled, from here or from another process.
    async fn outcome(self: &Arc<Self>, task: &mut Task) -> Outcome {
        let Ok(_place) = self.wait_in_queue(task).await else {
            return Outcome::Cancelled;
        };
        if let Some(action) = task.thread.action() {
            return self.carry_out(task, action).await;
        }
        // What the agent was told that it changed waits for a review, whatever the setting says by now.
        let reviewed =
            task.workspace.loaded().settings.review == Review::Ask || turn::has_planned(&task.talk);
        let processes = self.processes_of(&task.workspace, reviewed);
        let outcome = self.run_turn(task, &processes).await;
        processes.end().await;
        outcome
    }

    /// Of a batch a few run at once, and each of the others waits here. The author goes on writing meanwhile: what is
    /// answered is the thread as it stands when its place is free. An error: nothing waits for an answer then.
    async fn wait_in_queue(
        self: &Arc<Self>,
        task: &mut Task,
    ) -> Result<Option<SemaphorePermit<'_>>, ()> {
        if !task.options.batch {
            return Ok(None);
        }
        tokio::select! {
            () = self.turns.begins.is_over() => {}
            () = cancelled(task) => return Err(()),
        }
        let queue = &self.turns.queue.0;
        let place = match queue.try_acquire() {
            Ok(place) => place,
            Err(_) => {
                let message = format!("waits: {AT_ONCE} turns run at once");
                self.live(task)
                    .progress(&task.run.id, Progress::Report { message });
                note_place(task, true);
                let place = tokio::select! {
                    place = queue.acquire() => place.map_err(drop)?,
                    () = cancelled(task) => return Err(()),
                };
                note_place(task, false);
                place
            }
        };
        let view = self.view(&task.path).map_err(drop)?;
        let now = threads::again(&task.thread, &task.among, &view.threads)
            .filter(|thread| thread.status == Status::Pending)
            .ok_or(())?;
        task.thread = now.clone();
        task.among = view.threads.clone();
        task.beside = threads::Beside::of(&task.thread, &task.among, &view.text);
        self.turns.asked(&task.run.id, &task.thread, &task.among);
        Ok(Some(place))
    }

    /// The face as this turn has it.
    fn live(self: &Arc<Self>, task: &Task) -> Live {
        let (session, path, run) = (self.clone(), task.path.clone(), task.run.id.clone());
        let (thread, among) = (task.thread.clone(), task.among.clone());
        let (files, workspace) = (self.clone(), task.workspace.clone());
        Live::new(
            self.turns.clone(),
            self.host.clone(),
            &task.run.id,
            task.workspace.root(),
            move || session.still_stands(&run, &path, (&thread, &among)),
            move |path| files.renamed_to(&workspace, path),
        )
    }

    /// Whether the thread of a turn, which was seen among others, is still in its file, as far as can be told.
    fn still_stands(&self, run: &str, path: &Path, (thread, among): (&Thread, &[Thread])) -> bool {
        // A file that is not there may be called otherwise by now.
        let (false, Ok(view)) = (thread.id.is_empty(), self.view(path)) else {
            return true;
        };
        let now = &view.threads;
        threads::again(thread, among, now).is_some()
            || threads::stands_twice(thread, now)
            || now.iter().any(|one| self.turns.has_run(path, &one.id, run))
            || self.copy_of(run, path, thread).is_some()
    }

    async fn run_turn(self: &Arc<Self>, task: &Task, processes: &Arc<Processes>) -> Outcome {
        let host: Arc<dyn Host> = Arc::new(self.live(task));
        let turn = async {
            let may_write = self.may_write(task, &*host).await;
            let trusted = self.is_trusted(task.workspace.root());
            let loaded = task.workspace.loaded();
            let plan = match may_write || task.options.plan {
                true => Plan::of_author(task.options.plan),
                false => Plan::without_leave(),
            };
            let run = Some((task.store.clone(), task.run.id.clone()));
            let cx = Context {
                tree: match processes.is_reviewed() {
                    false => task.workspace.tree.clone(),
                    true => Arc::new(task.workspace.tree.with_overlay(Arc::default())),
                },
                host: host.clone(),
                processes: processes.clone(),
                question: Some(Mutex::default()),
                ..self.tool_context(&task.workspace, plan, task.cancel.clone(), run)
            };
            let job = Job {
                thread: task.thread.clone(),
                file: task.file.clone(),
                path: task.path.clone(),
                run: task.run.clone(),
                answerer: self.answerer(task, &loaded, trusted, &*host).await,
                max_rounds: loaded.settings.max_rounds,
                max_tokens: loaded.settings.max_tokens,
                max_cost: loaded.settings.max_cost,
                budget: task.options.budget,
                talk: task.talk.clone(),
                awaited: task.awaited,
                another: task.options.another,
            };
            let mut registry = Registry::new(&loaded.settings);
            let (choosing, _) = self.choosing(&task.workspace);
            if let Some(name) = choosing.consult.as_deref()
                && let Ok(choice) = turn::choose(&choosing, Some(name)).await
                && let Answerer::Model(second) = choice.answerer
            {
                registry = registry.with_second(second);
            }
            turn::run(&cx, &registry, job).await
        };
        tokio::pin!(turn);
        tokio::select! {
            outcome = &mut turn => return outcome,
            () = cancelled(task) => {}
        }
        tokio::time::timeout(WIND_UP, turn)
            .await
            .unwrap_or(Outcome::Cancelled)
    }

    /// Who was chosen; an outside agent that the author has not chosen, if they want it.
    async fn answerer(
        &self,
        task: &Task,
        loaded: &Loaded,
        trusted: bool,
        host: &dyn Host,
    ) -> Answerer {
        let settings = &loaded.settings;
        let root = task.workspace.root();
        // In an untrusted workspace none is started, and nothing is asked about it.
        let open = task.options.model.is_none() && trusted;
        let answerer = match &task.answerer {
            Answerer::Offline if open && settings.model.is_none() => {
                let proposed = self.proposed(settings, root, host).await;
                proposed.map_or(Answerer::Offline, Answerer::Outside)
            }
            Answerer::Outside(agent) if open && self.is_named_by_others(loaded, agent) => {
                let place = loaded.place("model");
                if self.may_be_chosen(agent, place, root, host).await {
                    return task.answerer.clone();
                }
                let chosen = turn::choose(&self.own_settings(), None).await;
                chosen.map_or(Answerer::Offline, |choice| choice.answerer)
            }
            chosen => return chosen.clone(),
        };
        if let Err(error) = task.store.answered_by(&task.run.id, &answerer.name()) {
            tracing::warn!(%error, "the history does not name the agent");
        }
        answerer
    }

    /// An action word: done mechanically, the thread goes with it.
    async fn carry_out(&self, task: &Task, action: Action) -> Outcome {
        let done = match action {
            Action::Dismiss => {
                self.dismiss_seen(&task.path, &task.thread, &task.among)
                    .await
            }
            Action::Commit => self.clear_and_commit(&task.path, None).await,
        };
        match done {
            Ok(done) => {
                let what = match (done.note, done.commit_hash) {
                    (Some(note), None) => note,
                    (Some(note), Some(hash)) => format!("committed as {hash}; {note}"),
                    (None, Some(hash)) => format!("committed as {hash}"),
                    (None, None) => String::from("the thread is removed"),
                };
                Outcome::Answer(what)
            }
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    /// Writes the answer into the thread as it is now, and closes the run's turn.
    async fn conclude(&self, task: &mut Task, outcome: Outcome) -> TurnEnd {
        let mut answer = None;
        // A run that goes on may be another's than whom the other threads ask.
        let unanswered = matches!(outcome, Outcome::Unanswered(_)) && task.talk.is_empty();
        let left = match outcome {
            Outcome::Answer(_) => TurnStatus::Completed,
            Outcome::Paused(_) => TurnStatus::Paused,
            _ => TurnStatus::AwaitingUser,
        };
        let (status, error) = match outcome {
            Outcome::Answer(text) if task.thread.action().is_some() => {
                answer = Some(text);
                (TurnStatus::Completed, None)
            }
            Outcome::Answer(text) | Outcome::Paused(text) | Outcome::Asked(text) => {
                let in_thread = turn::in_thread(&text, &task.run.id);
                match self.answer(task, &in_thread).await {
                    Ok(()) => {
                        answer = Some(text);
                        (left, None)
                    }
                    // The author typed all the time, and did not wait for it.
                    Err(Error::Cancelled) => self.stopped(task),
                    Err(error) => (TurnStatus::Failed, Some(error.to_string())),
                }
            }
            Outcome::Cancelled => self.stopped(task),
            Outcome::Failed(why) | Outcome::Unanswered(why) => {
                let why = present::visible(&why) + &half_done(task);
                self.host
                    .message(Level::Error, &format!("{}: {why}", task.file));
                self.note_round(task, "error", json!({}), &why);
                (TurnStatus::Failed, Some(why))
            }
        };
        let of_run = status.of_run();
        if of_run != RunStatus::AwaitingUser {
            self.gate.forget(&task.run.id);
        }
        if let Err(error) = task.store.finish(&task.run.id, of_run, error.as_deref()) {
            self.host.message(
                Level::Error,
                &format!("the history could not be written: {error}"),
            );
        }
        TurnEnd {
            run_id: task.run.id.clone(),
            // As they are called by now.
            thread_id: task.thread.id.clone(),
            file: task.file.clone(),
            status,
            answer,
            error,
            unanswered,
        }
    }

    /// How a turn ended that was cancelled, and what the history says of it.
    fn stopped(&self, task: &Task) -> (TurnStatus, Option<String>) {
        if let Some(why) = self.left(task) {
            self.note_round(task, "system", json!({}), why);
            return (TurnStatus::Interrupted, Some(String::from(why)));
        }
        let stands = self.still_stands(&task.run.id, &task.path, (&task.thread, &task.among));
        if let Some(left) = self.left_behind(task).filter(|_| !stands) {
            let text = format!(
                "{}: a turn ended, for its thread was removed. {left}",
                task.file
            );
            self.host.message(Level::Warning, &present::visible(&text));
        }
        let why = match task.options.batch && !task.cancel.is_cancelled() {
            true => "nothing waited for an answer any more when its place was free",
            false if !stands => "its thread was removed",
            false => "cancelled by the author",
        };
        self.note_round(task, "system", json!({}), why);
        (TurnStatus::Cancelled, None)
    }

    /// Why a cancelled turn is none that the author cancelled, and goes on when its file is there again.
    fn left(&self, task: &Task) -> Option<&'static str> {
        let is_there = |workspace: &Arc<Workspace>| Arc::ptr_eq(workspace, &task.workspace);
        if self.leaving.load(Ordering::Relaxed) {
            Some(LEFT)
        } else if !self.workspaces().iter().any(is_there) {
            Some(TAKEN_OUT)
        } else {
            None
        }
    }

    /// Writes the answer into the thread. Where it cannot stand there, it is told, and why is returned.
    async fn answer(&self, task: &mut Task, text: &str) -> Result<(), Error> {
        if task.thread.id.is_empty() {
            return Ok(());
        }
        // Before it is written: whoever sees it may go on at once.
        self.turns
            .conclude(&task.run.id, task.thread.spoken().len());
        let mut written = self.put_answer(task, text).await;
        // The file may have been renamed, or saved as another, while the answer was on its way there.
        if let Err(error) = &written
            && !task.cancel.is_cancelled()
        {
            let is_closed = matches!(error, Error::Closed(_));
            if self.follow(task).await || is_closed {
                written = self.put_answer(task, text).await;
            }
        }
        let seen = (&task.thread, task.among.as_slice());
        if matches!(written, Err(Error::Cancelled))
            && !self.still_stands(&task.run.id, &task.path, seen)
        {
            let view = self.view(&task.path);
            let is_joined = view.is_ok_and(|view| threads::is_joined(&task.thread, &view.threads));
            written = Err(match is_joined {
                true => Error::Joined(task.file.clone()),
                false => Error::Gone(task.file.clone()),
            });
        }
        match written {
            Ok(()) => {
                let model = task.store.run(&task.run.id).map(|run| run.model).ok();
                let name = self.signature(task);
                let fields = json!({"file": task.file, "model": model, "name": name});
                self.note_round(task, "reply", fields, text);
                if let Ok(view) = self.view(&task.path)
                    && let Some(now) = threads::again(&task.thread, &task.among, &view.threads)
                {
                    note_stand(&task.store, &task.run, now, &view.text);
                }
                Ok(())
            }
            Err(error) => {
                self.note_round(
                    task,
                    "reply",
                    json!({"file": task.file, "not_written": error.to_string()}),
                    text,
                );
                // Whoever has the thread's id when it is asked again may be another.
                if matches!(error, Error::Several(_))
                    && let Err(error) = task.store.forget_talk(&task.run.id)
                {
                    tracing::warn!(%error, "an answer that found no thread may find another's");
                }
                if matches!(error, Error::Cancelled) {
                    return Err(error);
                }
                let left = self.left_behind(task);
                let left = left.map_or_else(String::new, |left| format!(" {left}"));
                let told = format!("{error}.{left} The answer was: {text}");
                self.host.message(Level::Error, &present::visible(&told));
                Err(error)
            }
        }
    }

    /// What a turn has changed that ends without a thread to undo it at, and how it is undone.
    fn left_behind(&self, task: &Task) -> Option<String> {
        let files = task.store.written_now(&task.run.id).ok()?;
        let undo: String = task.run.id.chars().take(8).collect();
        (!files.is_empty()).then(|| {
            format!(
                "The turn has changed {}: `postil undo {undo}` takes that back.",
                files.join(", ")
            )
        })
    }

    async fn put_answer(&self, task: &Task, text: &str) -> Result<(), Error> {
        let putting = self.try_answer(task, text);
        tokio::pin!(putting);
        tokio::select! {
            written = &mut putting => written,
            // It sees that by itself, between two tries.
            () = cancelled(task) => putting.await,
        }
    }

    async fn try_answer(&self, task: &Task, text: &str) -> Result<(), Error> {
        let seen = task.thread.spoken().len();
        let since = task.store.newest_change();
        let from: Mutex<Option<(String, String)>> = Mutex::new(None);
        // Kept before it is written: what is taken back later may not depend on how this ends.
        let note = |made: &Made| {
            let earlier = from
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .replace((made.before.clone(), made.after.clone()));
            // An earlier try of which nothing stands there is not taken back either.
            if let (Some((before, after)), Ok(since)) = (earlier, &since)
                && edits::take_all_back(&[(before.into(), after.into())], &made.before).0
                    == made.before
                && let Err(error) = task.store.forget_changes(&task.run.id, *since, None)
            {
                tracing::warn!(%error, "an answer that was not written can be undone");
            }
            // This history is of another folder.
            let home = self.workspace_of(&task.path);
            if home.is_some_and(|home| home.root() != task.workspace.root()) {
                return;
            }
            let change = Change {
                file: task.file.clone(),
                before: Some(made.before.as_bytes().to_vec()),
                after: Some(made.after.as_bytes().to_vec()),
                is_answer: true,
                ..Change::default()
            };
            if let Err(error) = task.store.record_change(&task.run.id, &change) {
                // Undo will not be offered for it, and the author would look for it in vain.
                self.host.message(
                    Level::Warning,
                    &format!(
                        "the answer in {} cannot be undone later: {error}",
                        present::visible(&task.file)
                    ),
                );
            }
        };
        let name = self.signature(task);
        let respond = |source: edits::Source, style, now: &[Thread]| {
            let thread = stands(&task.thread, &task.among, now)?;
            if threads::is_elsewhere(&thread.id, &task.beside, now, source.text) {
                return Err(edits::Refused::Several);
            }
            edits::answer(source, &thread.id, seen, name.as_deref(), text, style)
        };
        let written = self
            .write_noted(
                &task.path,
                "Answer a thread",
                Tries::of_turn(task.cancel.clone(), self.buffers.is_open(&task.path)),
                respond,
                note,
            )
            .await;
        if written.is_err() {
            // Nothing of it stands there, and there is nothing to take back.
            let from = from.into_inner().unwrap_or_else(PoisonError::into_inner);
            let stands = self
                .view(&task.path)
                .is_ok_and(|now| from.is_some_and(|(from, _)| *now.text != *from));
            if let (false, Ok(since)) = (stands, since)
                && let Err(error) = task.store.forget_changes(&task.run.id, since, None)
            {
                tracing::warn!(%error, "an answer that was not written can be undone");
            }
        }
        written.map(drop)
    }

    fn note_round(&self, task: &Task, role: &str, metadata: serde_json::Value, content: &str) {
        let metadata = match metadata {
            // What is not known is left out, and not shown as `null`.
            serde_json::Value::Object(map) => {
                map.into_iter().filter(|(_, v)| !v.is_null()).collect()
            }
            _ => Map::new(),
        };
        if let Err(error) = task.store.append(&task.run.id, role, metadata, content) {
            self.host.message(
                Level::Error,
                &format!("the history could not be written: {error}"),
            );
        }
    }
}

/// The history says `queued` while a turn waits for its place.
fn note_place(task: &Task, waits: bool) {
    if let Err(error) = task.store.wait_in_queue(&task.run.id, waits) {
        tracing::warn!(%error, "the history does not say that the turn waits");
    }
}

/// Until a turn is cancelled, from here or from another process.
async fn cancelled(task: &Task) {
    let elsewhere = async {
        loop {
            tokio::time::sleep(CANCEL_POLL).await;
            if task.store.cancel_requested(&task.run.id).unwrap_or(false) {
                return;
            }
        }
    };
    tokio::select! {
        () = task.cancel.cancelled() => {}
        () = elsewhere => task.cancel.cancel(),
    }
}

/// What a turn that failed has changed before, and how that is put back; nothing where it changed nothing.
fn half_done(task: &Task) -> String {
    let count = task
        .store
        .written_now(&task.run.id)
        .map_or(0, |files| files.len());
    let (files, them) = match count {
        0 => return String::new(),
        1 => (String::from("1 file was"), "it"),
        _ => (format!("{count} files were"), "them"),
    };
    let run: String = task.run.id.chars().take(8).collect();
    format!("; {files} changed before that: Undo last turn (`postil undo {run}`) puts {them} back")
}
