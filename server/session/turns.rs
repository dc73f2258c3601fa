//! Agent turns: taken, spawned, watched, ended; `run` is one of them from its spawn to its end, `leave` is what it
//! may change, `who` answers it, `which` is the one that somebody means, `ids` what its thread is called by now. The
//! turn itself is in `crate::turn`.

mod before;
mod end;
mod ids;
mod leave;
mod run;
mod which;
mod who;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dashmap::mapref::one::Ref;
use dashmap::{DashMap, DashSet};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio_util::sync::CancellationToken;

pub use before::passed_over;
pub use end::{TurnEnd, TurnStatus};
use which::note_stand;
pub(super) use who::answerer;
use who::may_be_held;

use super::trigger::Saved;
use super::{Error, Session, TurnOptions, TurnState, Workspace};
use crate::host::Question;
use crate::present;
use crate::store::{GoOn, Run, RunStatus, Store};
use crate::threads::{self, Role, Status, Thread};
use crate::turn::{self, Answerer};

/// What a turn says while a question of its own is open.
const WAITS: &str = "waits for your answer";
/// So many turns that were begun in a batch run at once; the others wait in a queue.
pub const AT_ONCE: usize = 4;
/// A turn that has been cancelled has this long to wind up before it is dropped.
const WIND_UP: Duration = Duration::from_millis(800);

/// The turns of this process: those that run, and the last one of each thread.
#[derive(Default)]
pub(super) struct Turns {
    /// By run id.
    runs: DashMap<String, Entry>,
    /// The folder and the thread's id, which two folders may have alike, to the run's id.
    by_thread: DashMap<(PathBuf, String), String>,
    /// Held while the author is asked for an outside agent; `true`: they did not say.
    pub(super) proposal: tokio::sync::Mutex<bool>,
    /// Held while the author is asked whether a turn may write: a client may show one question of a kind, and
    /// close the one before it.
    asking: tokio::sync::Mutex<()>,
    /// The turns that go on and may have to ask that, by run id.
    unwritten: DashMap<String, leave::Unwritten>,
    /// The questions that a save has begun a turn of.
    pub(super) saved: DashSet<Saved>,
    /// How often a folder was not trusted when it was asked about.
    untrusted: DashMap<PathBuf, u64>,
    /// Folders of which it was said that the model that they name is not asked.
    passed_over: DashSet<PathBuf>,
    /// Held while a turn is carried to another file: who hears of the rename and the turn itself may both do that.
    pub(super) carrying: Mutex<()>,
    queue: Queue,
    begins: Begins,
}

/// Held for reading while a batch is begun. The first of its turns wait until all of it is there: what they ask the
/// author is asked of all.
#[derive(Default)]
struct Begins(tokio::sync::RwLock<()>);

impl Begins {
    async fn is_over(&self) {
        drop(self.0.write().await);
    }
}

/// The places of turns that were begun in a batch, given in order.
struct Queue(Semaphore);

impl Default for Queue {
    fn default() -> Self {
        Self(Semaphore::new(AT_ONCE))
    }
}

pub(super) struct Entry {
    pub(super) state: TurnState,
    pub(super) cancel: CancellationToken,
    pub(super) end: watch::Sender<Option<TurnEnd>>,
    /// The questions that it waits for, its own and those of others, which the author has not answered yet.
    questions: usize,
    /// Those of its own that its thread shows, oldest first.
    open: Vec<Open>,
    /// Its answer is being written behind so many messages, or stands there: nothing but the end is left.
    concluding: Option<usize>,
    /// The thread and the others of its file, as it was asked.
    asked: Option<(Thread, Arc<Vec<Thread>>)>,
    /// The files that no copy of its document is, where that was open: see [`Turns::opened_before`].
    beside: Option<Arc<HashSet<PathBuf>>>,
}

/// A question that stands at its turn's thread, where the face shows none.
struct Open {
    question: Question,
    /// Closed: the turn waits for it no more.
    answer: oneshot::Sender<usize>,
}

impl Entry {
    pub(super) fn new(
        run: &Run,
        cancel: CancellationToken,
        thread_id: String,
        file: String,
    ) -> Self {
        Self {
            state: TurnState {
                run_id: run.id.clone(),
                thread_id,
                file,
                running: true,
                message: String::from("starting"),
                failed: false,
                cancelled: false,
                waits: false,
            },
            cancel,
            end: watch::channel(None).0,
            questions: 0,
            open: Vec::new(),
            concluding: None,
            asked: None,
            beside: None,
        }
    }

    /// The question that its thread shows.
    fn open(&self) -> Option<&Question> {
        let open = self.open.iter().find(|open| !open.answer.is_closed());
        open.map(|open| &open.question)
    }

    /// An open question hides what else the turn does.
    fn shown(&self) -> TurnState {
        let mut state = self.state.clone();
        if state.running && self.questions > 0 {
            WAITS.clone_into(&mut state.message);
            state.waits = true;
        }
        state
    }
}

impl Turns {
    pub(super) fn begin(&self, entry: Entry) {
        self.runs.insert(entry.state.run_id.clone(), entry);
    }

    pub(super) fn forget(&self, run: &str) {
        self.runs.remove_if(run, |_, entry| !entry.state.running);
    }

    /// The file of a turn's thread, below its folder, as it is called by now.
    pub(super) fn file_of(&self, run: &str) -> Option<String> {
        Some(self.runs.get(run)?.state.file.clone())
    }

    /// What a running turn says that it is doing.
    pub(super) fn doing(&self, run: &str, message: &str) {
        if let Some(mut entry) = self.runs.get_mut(run).filter(|e| e.state.running) {
            entry.state.message = present::visible(message);
        }
    }

    /// One question more (or less) is open; what the turn says of itself then.
    pub(super) fn asks(&self, run: &str, more: bool) -> Option<String> {
        let mut entry = self.runs.get_mut(run).filter(|e| e.state.running)?;
        entry.questions = match more {
            true => entry.questions + 1,
            false => entry.questions.saturating_sub(1),
        };
        Some(entry.shown().message)
    }

    /// Has a question stand at the turn's thread until it is answered there ([`Session::answer_question`]) or what is
    /// returned is dropped. `None`: the turn has ended.
    pub(super) fn put(&self, run: &str, question: Question) -> Option<oneshot::Receiver<usize>> {
        let mut entry = self.runs.get_mut(run).filter(|e| e.state.running)?;
        let (answer, answered) = oneshot::channel();
        entry.open.push(Open { question, answer });
        Some(answered)
    }

    /// The choice is the answer to the question that stands at the thread of a run; `false`: it is none of it.
    fn answer(&self, run: &str, choice: &str) -> bool {
        let Some(mut entry) = self.runs.get_mut(run) else {
            return false;
        };
        entry.open.retain(|open| !open.answer.is_closed());
        let choices = entry.open.first().map(|open| open.question.choices.iter());
        let taken = choices.and_then(|mut choices| choices.position(|known| known == choice));
        match taken {
            Some(taken) => entry.open.remove(0).answer.send(taken).is_ok(),
            None => false,
        }
    }

    /// Whether the thread of a file goes by this id whose running or last turn this is.
    fn has_run(&self, path: &Path, thread_id: &str, run: &str) -> bool {
        self.by_thread.iter().any(|of| {
            let (root, id) = of.key();
            of.value() == run && id == thread_id && path.starts_with(root)
        })
    }

    /// What a turn answers, as it stood among the threads of its file when it was asked.
    pub(super) fn asked(&self, run: &str, thread: &Thread, among: &Arc<Vec<Thread>>) {
        if let Some(mut entry) = self.runs.get_mut(run) {
            entry.asked = Some((thread.clone(), among.clone()));
        }
    }

    /// What [`Self::opened_before`] tells from now on of a turn that begins.
    fn among(&self, run: &str, beside: HashSet<PathBuf>) {
        if let Some(mut entry) = self.runs.get_mut(run) {
            entry.beside = Some(Arc::new(beside));
        }
    }

    /// What was open beside the document of a turn as it began, and the files that asked the same by then; `None`: the
    /// document was not open.
    pub(super) fn opened_before(&self, run: &str) -> Option<Arc<HashSet<PathBuf>>> {
        self.runs.get(run)?.beside.clone()
    }

    /// The turns that run on a thread of this folder: the run, and what it was asked.
    pub(super) fn at_work(&self, root: &Path) -> Vec<(String, Thread)> {
        let of_root = self.by_thread.iter().filter(|of| of.key().0 == root);
        let found = of_root.filter_map(|of| {
            let entry = self.runs.get(of.value()).filter(|e| e.state.running)?;
            let (thread, _) = entry.asked.as_ref()?;
            Some((of.value().clone(), thread.clone()))
        });
        found.collect()
    }

    /// How often a folder was not trusted when it was asked about.
    pub(super) fn refusals(&self, root: &Path) -> Option<u64> {
        self.untrusted.get(root).map(|count| *count)
    }

    /// From here on nothing but the end is left of a turn, which answers the first `seen` messages of its thread.
    fn conclude(&self, run: &str, seen: usize) {
        if let Some(mut entry) = self.runs.get_mut(run) {
            entry.concluding = Some(seen);
        }
    }

    /// The running turn of a thread, where nothing but its end is left.
    fn concluding(&self, root: &Path, thread_id: &str) -> Option<String> {
        let entry = self.of_thread(root, thread_id)?;
        (entry.state.running && entry.concluding.is_some()).then(|| entry.key().clone())
    }

    /// The turns of a folder that is none of the workspace any more.
    pub(super) fn cancel_in(&self, root: &Path) {
        for of in self.by_thread.iter().filter(|of| of.key().0 == root) {
            let entry = self.runs.get(of.value());
            if let Some(entry) = entry.filter(|entry| entry.state.running) {
                entry.cancel.cancel();
            }
        }
    }

    /// The running or last turn of a thread.
    fn of_thread(&self, root: &Path, thread_id: &str) -> Option<Ref<'_, String, Entry>> {
        let whose = (root.to_owned(), thread_id.to_owned());
        let run = self.by_thread.get(&whose)?.clone();
        self.runs.get(&run)
    }

    fn running(&self, root: &Path, thread_id: &str) -> Option<String> {
        let entry = self.of_thread(root, thread_id)?;
        entry.state.running.then(|| entry.key().clone())
    }
}

/// What a spawned turn takes along.
pub(super) struct Task {
    pub(super) workspace: Arc<Workspace>,
    pub(super) store: Arc<Store>,
    pub(super) path: PathBuf,
    pub(super) file: String,
    pub(super) thread: Thread,
    /// The threads of its file when it was asked.
    pub(super) among: Arc<Vec<Thread>>,
    /// The code that those of them are about which begin like it.
    pub(super) beside: threads::Beside,
    pub(super) run: Run,
    pub(super) answerer: Answerer,
    pub(super) options: TurnOptions,
    /// The conversation that goes on; empty: the turn begins.
    pub(super) talk: Vec<String>,
    /// It had stopped with a question that the author has seen.
    pub(super) awaited: bool,
    pub(super) cancel: CancellationToken,
    /// How often the folder had not been trusted when the turn was begun.
    pub(super) refusals: Option<u64>,
}

impl Session {
    /// The running or last turn of a thread of this file. That one failed is past once somebody has answered since.
    pub fn turn_of(&self, path: &Path, thread: &Thread) -> Option<TurnState> {
        let entry = self.entry_of(path, &thread.id)?;
        let mut state = entry.shown();
        if let Some((asked, _)) = &entry.asked {
            state.failed &= !is_answered_since(thread, asked.spoken().len());
        }
        Some(state)
    }

    /// The threads of a file's folder that a turn was begun on.
    pub fn threads_with_turns(&self, path: &Path) -> HashSet<String> {
        let Some(workspace) = self.workspace_of(path) else {
            return HashSet::new();
        };
        let turns = self.turns.by_thread.iter();
        turns
            .filter(|of| of.key().0 == workspace.root())
            .map(|of| of.key().1.clone())
            .collect()
    }

    fn entry_of(&self, path: &Path, thread_id: &str) -> Option<Ref<'_, String, Entry>> {
        // Asked of each thread with each key, and mostly there is none.
        if self.turns.by_thread.is_empty() {
            return None;
        }
        let workspace = self.workspace_of(path)?;
        self.turns.of_thread(workspace.root(), thread_id)
    }

    /// What a run does, if it was begun here.
    pub fn turn(&self, run: &str) -> Option<TurnState> {
        self.turns.runs.get(run).map(|entry| entry.shown())
    }

    /// Whether a turn is at work on a thread. One whose answer stands there already is not: what it asks can
    /// be answered, though its end is still being written down.
    pub fn is_at_work(&self, path: &Path, thread: &Thread) -> bool {
        self.entry_of(path, &thread.id).is_some_and(|entry| {
            let stands = |seen| thread.status != Status::Pending || is_answered_since(thread, seen);
            entry.state.running && !entry.concluding.is_some_and(stands)
        })
    }

    /// What the turn of a thread asks where the thread has to show it, and the run that does.
    pub fn question_of(&self, path: &Path, thread_id: &str) -> Option<(String, Question)> {
        let entry = self.entry_of(path, thread_id)?;
        let question = entry.open()?.clone();
        Some((entry.key().clone(), question))
    }

    /// The author's answer to the question that stands at the thread of a run.
    pub fn answer_question(&self, run: &str, choice: &str) -> Result<(), Error> {
        if self.turns.answer(run, choice) {
            return Ok(());
        }
        Err(Error::Other(String::from(
            "this question is not open any more: it was answered, or its turn has ended",
        )))
    }

    /// Waits for the end of a thread's turn where nothing else is left of it; its run.
    pub(super) async fn let_conclude(&self, root: &Path, thread_id: &str) -> Option<String> {
        let run = self.turns.concluding(root, thread_id)?;
        self.wait_turn(&run).await;
        Some(run)
    }

    /// Every turn that runs now.
    pub fn running_turns(&self) -> Vec<TurnState> {
        self.turns
            .runs
            .iter()
            .filter(|entry| entry.state.running)
            .map(|entry| entry.shown())
            .collect()
    }

    pub(super) fn spawn(self: &Arc<Self>, task: Task) {
        // At once, so that whoever begins to ask counts it in.
        let (session, asks) = (self.clone(), leave::Asks::new(&self.turns, &task));
        tokio::spawn(async move { session.run_task(task, asks).await });
    }

    /// Turns of a batch that are begun as long as this lives ask the author together.
    pub async fn begin_together(&self) -> impl Sized + '_ {
        self.turns.begins.0.read().await
    }

    /// Takes the thread, opens the run, spawns the turn and returns the run at once; asked again while it
    /// runs, the running one. An action word is carried out without a model.
    pub async fn start_turn(
        self: &Arc<Self>,
        id: &str,
        path: Option<&Path>,
        mut options: TurnOptions,
    ) -> Result<Run, Error> {
        // One that is being closed gives its id to the next with the same first words, before it has given up its run.
        self.let_close(path).await;
        let (mut view, mut thread) = self.find_thread(id, path)?;
        let workspace = self.home_of(&view.path)?;
        let store = workspace.store()?;
        if let Some(run) = self.let_conclude(workspace.root(), &thread.id).await {
            let asked = thread.status;
            (view, thread) = self.find_thread(id, path)?;
            // Asked for while its answer was on the way: that is the one.
            if asked == Status::Pending && thread.status != Status::Pending {
                return Ok(store.run(&run)?);
            }
        }
        if let Some(run) = self.turns.running(workspace.root(), &thread.id) {
            return Ok(store.run(&run)?);
        }
        if options.another {
            if !thread.is_answered() {
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
            self.may_go_on(&store, &view.path, &thread)?;
        }
        let run = self.take_up_run(&store, &view, &thread)?;
        if let Some(run) = run.filter(|_| !options.resume)
            && self.is_asked_elsewhere(&store, &run, &view, &thread)?
        {
            store.forget_talk(&run.id)?;
        }
        let asked = (&view, &thread);
        let answerer = self.who_answers(&workspace, asked, &options).await?;
        if options.budget.is_some() && thread.action().is_none() {
            may_be_held(&answerer)?;
        }
        self.keep_provenance(Some(&view.path));
        let taking = workspace.taking.lock();
        let taking = taking.unwrap_or_else(PoisonError::into_inner);
        // Another may have begun while a local server was looked for.
        if let Some(run) = self.turns.running(workspace.root(), &thread.id) {
            return Ok(store.run(&run)?);
        }
        let file = self.relative(&view.path);
        let go_on = match (options.resume, thread.action()) {
            (true, _) => GoOn::Asked,
            (false, None) if !options.another => GoOn::Unasked,
            (false, _) => GoOn::Never,
        };
        let model = thread.action().map_or(answerer.name(), |_| String::new());
        let taken = store.take(&thread.id, &file, &model, go_on)?;
        let run = taken.run;
        note_stand(&store, &run, &thread, &view.text);
        options.plan |= turn::is_plan(&taken.talk);

        let cancel = CancellationToken::new();
        let entry = Entry::new(&run, cancel.clone(), thread.id.clone(), file.clone());
        self.turns.begin(entry);
        self.turns.asked(&run.id, &thread, &view.threads);
        if view.buffer.is_some() {
            self.turns.among(&run.id, self.no_copies(&file, &thread));
        }
        let whose = (workspace.root().to_owned(), thread.id.clone());
        self.turns.by_thread.insert(whose, run.id.clone());
        drop(taking);
        let beside = threads::Beside::of(&thread, &view.threads, &view.text);
        let task = Task {
            refusals: self.turns.refusals(workspace.root()),
            workspace,
            store,
            path: view.path.clone(),
            file,
            thread,
            among: view.threads.clone(),
            beside,
            run: run.clone(),
            answerer,
            options,
            talk: taken.talk,
            awaited: taken.before == RunStatus::AwaitingUser,
            cancel,
        };
        self.spawn(task);
        self.host.changed(&[view.path]);
        Ok(run)
    }

    /// Whether an agent has answered a thread, and nothing is known of its turn.
    pub fn is_strange(&self, id: &str, path: Option<&Path>) -> bool {
        let Ok((view, thread)) = self.find_thread(id, path) else {
            return false;
        };
        let store = self
            .workspace_of(&view.path)
            .and_then(|home| home.store().ok());
        let is_known =
            |store: Arc<Store>| !matches!(self.open_run_of(&store, &view.path, &thread), Ok(None));
        thread.is_answered() && !store.is_none_or(is_known)
    }

    /// The turn of a run that stopped half-way (at a cap, by a failure, with its process) goes on with its whole
    /// context. `id` is of the run or the thread.
    pub async fn resume_turn(
        self: &Arc<Self>,
        id: &str,
        options: TurnOptions,
    ) -> Result<Run, Error> {
        let (run, path) = self.open_run(id)?;
        let options = TurnOptions {
            resume: true,
            ..options
        };
        self.start_turn(&run.thread_id, Some(&path), options).await
    }

    /// A run that may go on, for its thread was not removed; and the thread's file.
    pub fn open_run(&self, id: &str) -> Result<(Run, PathBuf), Error> {
        let (workspace, run) = self.run_of(id)?;
        if run.thread_id.is_empty() {
            return Err(Error::Other(format!(
                "run {} belongs to no thread: go on with it in the window where it was asked",
                run.id
            )));
        }
        let (store, path) = (workspace.store()?, workspace.path_of(&run.file));
        let open = match self.find_thread(&run.thread_id, Some(&path)) {
            Ok((view, thread)) => store.run_of_thread(&thread, &view.threads, &view.text)?,
            Err(_) => store.open_run(&run.thread_id)?,
        };
        if open.is_none_or(|open| open.id != run.id) {
            return Err(Error::Other(format!(
                "run {} does not go on: its thread was removed",
                run.id
            )));
        }
        Ok((run, path))
    }

    /// Whether a thread's turn stopped half-way and can go on as it is, without a word of the author.
    pub fn can_go_on(&self, thread: &Thread, path: &Path) -> bool {
        let Some(workspace) = self.workspace_of(path) else {
            return false;
        };
        let store = workspace.store();
        self.turns.running(workspace.root(), &thread.id).is_none()
            && store.is_ok_and(|store| self.may_go_on(&store, path, thread).is_ok())
    }

    fn may_go_on(&self, store: &Store, path: &Path, thread: &Thread) -> Result<(), Error> {
        let nothing = || {
            Error::Other(format!(
                "nothing of thread {} stopped half-way: write your message after `AUTHOR:` and ask again",
                thread.id
            ))
        };
        let run = self.open_run_of(store, path, thread)?;
        let run = run.ok_or_else(nothing)?;
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
            status: TurnStatus::Failed,
            answer: None,
            error: Some(format!("run {run} is not running here")),
            unanswered: false,
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
        let running = |is_named: &dyn Fn(&str, &str) -> bool| -> Vec<CancellationToken> {
            let entries = self.turns.runs.iter().filter(|entry| {
                entry.state.running && is_named(entry.key(), &entry.state.thread_id)
            });
            entries.map(|entry| entry.cancel.clone()).collect()
        };
        let mut named = running(&|run, thread| run == id || thread == id);
        if named.is_empty() {
            let whole = threads::is_whole(id);
            named = running(&|run, thread| run.starts_with(id) || !whole && thread.starts_with(id));
        }
        if let [cancel] = named.as_slice() {
            cancel.cancel();
            return Ok(());
        }
        let (workspace, run) = self.run_of(id)?;
        if !run.status.is_under_way() {
            return Err(Error::Other(format!(
                "run {} is not running: there is nothing to cancel",
                run.id
            )));
        }
        Ok(workspace.store()?.request_cancel(&run.id)?)
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
}

/// Whether an agent has spoken behind the first `seen` messages.
fn is_answered_since(thread: &Thread, seen: usize) -> bool {
    let mut since = thread.spoken().iter().skip(seen);
    since.any(|message| message.role == Role::Agent)
}
