//! A turn without a thread: what an author asks in a window of its own. It has the tools, the permissions and
//! the history of every turn; its answer is the face's to show.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::turns::{Entry, Task, answerer};
use super::{Error, Session, TurnOptions, Workspace};
use crate::store::{GoOn, Run, RunStatus, Store, Window};
use crate::threads::{self, Message, Role, Status, Thread};
use crate::turn;

impl Session {
    /// `said`: what was said so far in this window, the new question last. Each is a run of its own, but for one that
    /// goes on with what stopped half-way.
    pub async fn start_prompt(
        self: &Arc<Self>,
        workspace: Arc<Workspace>,
        window: &str,
        said: Vec<(Role, String)>,
        options: TurnOptions,
    ) -> Result<Run, Error> {
        let store = workspace.store()?;
        self.refresh_settings();
        let stopped = stopped_in(&store, window)?;
        let settings = self.choosing_for(&workspace, &options);
        let answerer = answerer(&settings, &options, stopped.as_ref()).await?;
        let message = |(role, text): (Role, String)| Message {
            role,
            name: None,
            text,
            blanks: Vec::new(),
            line: 0,
            last_line: 0,
            marker: 0..0,
            range: 0..0,
        };
        let thread = Thread {
            id: String::new(),
            messages: said.into_iter().map(message).collect(),
            status: Status::Pending,
            malformed: false,
            trailing: false,
        };
        let taken = match stopped {
            Some(run) => store.take_up(&run.id, &answerer.name())?,
            None => store.take("", "", &answerer.name(), GoOn::Never)?,
        };
        let cancel = CancellationToken::new();
        self.turns.begin(Entry::new(
            &taken.run,
            cancel.clone(),
            String::new(),
            String::new(),
        ));
        let task = Task {
            refusals: self.turns.refusals(workspace.root()),
            path: workspace.root().to_owned(),
            workspace,
            store,
            file: String::new(),
            thread,
            among: Arc::default(),
            beside: threads::Beside::default(),
            run: taken.run.clone(),
            answerer,
            options,
            talk: taken.talk,
            awaited: taken.before == RunStatus::AwaitingUser,
            cancel,
        };
        self.spawn(task);
        Ok(taken.run)
    }

    /// The thread of a window's last turn, with its file, where that stopped half-way and `said` is meant for it: what
    /// follows a pause or a question, or the word to go on after a failure.
    pub fn stopped_thread(&self, window: &str, said: &str) -> Option<(String, PathBuf)> {
        self.workspaces().into_iter().find_map(|workspace| {
            let store = workspace.store().ok()?;
            let run = store.last_run_in(window).ok()??;
            let waits = match run.status {
                RunStatus::AwaitingUser => true,
                RunStatus::Failed | RunStatus::Interrupted => turn::says_go_on(said),
                _ => false,
            };
            if !waits {
                return None;
            }
            let path = workspace.path_of(&run.file);
            let (view, thread) = self.find_thread(&run.thread_id, Some(&path)).ok()?;
            let open = store.run_of_thread(&thread, &view.threads, &view.text);
            (open.ok()??.id == run.id).then_some((thread.id, view.path))
        })
    }

    /// A thread's turn goes on that stopped half-way; `said`, if it is more than the word to do so, is written into the
    /// thread.
    pub async fn go_on(
        self: &Arc<Self>,
        id: &str,
        path: &Path,
        said: &str,
        options: TurnOptions,
    ) -> Result<Run, Error> {
        let (_, thread) = self.find_thread(id, Some(path))?;
        let resume = self.can_go_on(&thread, path);
        // What is pending needs no other word, also where nothing is left of its turn.
        let is_asked = resume || thread.status == Status::Pending;
        if turn::says_go_on(said) && is_asked {
            let options = TurnOptions { resume, ..options };
            return self.start_turn(id, Some(path), options).await;
        }
        let done = self.say(id, Some(path), said).await?;
        let id = done.thread_id.as_deref().unwrap_or(id);
        self.start_turn(id, Some(path), options).await
    }

    /// An id for a new window.
    pub fn new_window() -> String {
        Store::new_window()
    }

    /// Keeps what was said in a window, beside the run that it led to.
    pub fn keep_said(&self, run: &str, window: &str, role: Role, text: &str) -> Result<(), Error> {
        let (workspace, run) = self.run_of(run)?;
        let store = workspace.store()?;
        Ok(store.keep_said(&run.id, window, role == Role::Author, text)?)
    }

    /// What was said in a window, in whichever process.
    pub fn said_in(&self, window: &str) -> Result<Vec<(Role, String)>, Error> {
        let mut said = Vec::new();
        for workspace in self.workspaces() {
            said.extend(workspace.store()?.said_in(window)?);
        }
        let role = |by_author| if by_author { Role::Author } else { Role::Agent };
        Ok(said
            .into_iter()
            .map(|(by, text)| (role(by), text))
            .collect())
    }

    /// The windows of all folders, newest first.
    pub fn windows(&self) -> Result<Vec<Window>, Error> {
        let mut windows = Vec::new();
        for workspace in self.workspaces() {
            windows.extend(workspace.store()?.windows()?);
        }
        Ok(windows)
    }
}

/// The run of a window's last turn, where that stopped half-way: at a cap, with a question, by a failure.
fn stopped_in(store: &Store, window: &str) -> Result<Option<Run>, Error> {
    let Some(run) = store.last_run_in(window)? else {
        return Ok(None);
    };
    let stopped = matches!(
        run.status,
        RunStatus::AwaitingUser | RunStatus::Failed | RunStatus::Interrupted
    );
    let goes_on = stopped && run.thread_id.is_empty() && store.last_talk(&run.id)?.is_some();
    Ok(goes_on.then_some(run))
}
