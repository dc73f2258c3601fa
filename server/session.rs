//! L5. One engine: owns documents, workspaces, children and running turns. Every face calls these verbs;
//! a face adds no feature.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use dashmap::DashMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::children::{Children, Limits};
use crate::config::{self, Folders, Loaded, PROJECT_FILE};
use crate::edits::Refused;
use crate::files::{Buffers, FileError, Tree, as_text};
use crate::host::{Host, Level};
use crate::index::Index;
use crate::sandbox::{Policy, Processes};
use crate::store::{Store, StoreError};
use crate::tools::Gate;
use crate::trust::{self, Trust};

mod agents;
mod closing;
mod commits;
mod documents;
mod history;
mod list;
mod live;
mod models;
mod names;
mod network;
mod notes;
mod preview;
mod prompt;
mod provenance;
mod renames;
mod second;
mod tools;
mod tries;
mod trigger;
mod trusting;
mod turns;
mod undo;
mod verbs;
mod view;
mod why;

use closing::{Shown, Stand, Underway};
pub use commits::{PendingCommit, commit_waits};
pub use documents::STORM;
pub use list::{Listed, Summary, ThreadList};
pub use models::Answers;
use names::Names;
use provenance::Provenance;
use turns::Turns;
pub use turns::{TurnEnd, TurnStatus, passed_over};
pub use undo::{TurnChanges, Undone, Wanted};
pub use view::{View, Whole};
pub use why::{Told, Why};

/// How long the end waits for hooks.
const COMMITS: Duration = Duration::from_secs(10);

/// What a write answers (`{"success":true,"file":…}` and what else applies).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Done {
    pub success: bool,
    pub file: String,
    /// The file was changed in the editor that has it open, which is to save it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Of a message that begins a thread: its 0-based line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines_removed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub committed: Option<bool>,
    /// Of a commit: what else is staged, and was left out of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_staged_files: Option<Vec<String>>,
    /// What was said in what was removed and could be kept nowhere, in words; the host is told by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// `already there`, `nothing to commit` …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What goes wrong, with a stable code for `--json`; the text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no thread `{0}`; `postil threads` shows the ids")]
    UnknownThread(String),
    #[error("thread id `{prefix}` is ambiguous: {}", candidates.join(", "))]
    AmbiguousThread {
        prefix: String,
        candidates: Vec<String>,
    },
    #[error("thread id `{0}` is too short: give at least four digits")]
    ShortId(String),
    #[error("the thread is no longer in {0}; nothing was written")]
    Gone(String),
    #[error(
        "the question stands in another thread of {0} now; nothing was written: where two threads touch, part them by an empty line"
    )]
    Joined(String),
    #[error(
        "the question stands in {0} more than once by now, so it is not known which one was meant; nothing was written"
    )]
    Several(String),
    #[error(
        "the words of this thread were changed or taken away in the file meanwhile; nothing was written: look at them there, then try again"
    )]
    Changed,
    /// A turn was to write there.
    #[error("{0} was closed in the editor meanwhile; nothing was written")]
    Closed(String),
    #[error("the text is empty; nothing was written")]
    Empty,
    #[error("it was cancelled; nothing was written")]
    Cancelled,
    #[error("{0} is outside the workspace: open its folder to work with its threads")]
    Homeless(String),
    #[error("{0}")]
    File(#[from] FileError),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0} is not trusted; `postil trust` shows what trusting it would allow")]
    Untrusted(String),
    /// The history cannot be opened; why is in the text.
    #[error("{0}")]
    NoHistory(String, &'static str),
    #[error("{0}")]
    Other(String),
}

impl Error {
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownThread(_) => "unknown_thread",
            Self::AmbiguousThread { .. } => "ambiguous_id",
            Self::ShortId(_) => "short_id",
            Self::Gone(_) | Self::Joined(_) | Self::Several(_) => "thread_gone",
            Self::Changed | Self::Closed(_) => "changed",
            Self::Empty => "empty",
            Self::Cancelled => "cancelled",
            Self::Homeless(_) | Self::File(_) => "file",
            Self::Store(error) => error.code(),
            Self::NoHistory(_, code) => code,
            Self::Untrusted(_) => "untrusted",
            Self::Other(_) => "failed",
        }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Gone => Self::Gone(String::from("the file")),
            Refused::Joined => Self::Joined(String::from("the file")),
            Refused::Several => Self::Several(String::from("the file")),
            Refused::Changed => Self::Changed,
            Refused::Empty => Self::Empty,
            Refused::NoLine { lines } => {
                Self::Other(format!("there is no such line: the file has {lines}"))
            }
            Refused::NoThreads => Self::Other(String::from("the file has no threads")),
            Refused::NoComments => Self::Other(String::from(
                "files of this kind (JSON, CSV) have no comments, and one would break the file; nothing was written: ask in another file, or write the first comment yourself if what reads this one allows it",
            )),
            Refused::NoLeader => Self::Other(String::from(
                "this kind of file is not known, and none of its lines begins with `//`, `#` or `--`, which would tell how its comments are written; nothing was written: write the first comment yourself",
            )),
            Refused::Breaks => Self::Other(String::from(
                "without these words the comment around them would end elsewhere, and the rest of it be code; nothing was removed: take them out by hand",
            )),
            Refused::GoesOn => Self::Other(String::from(
                "a backslash at the end of this message has the next line be part of its comment; nothing was written: change the message in the file",
            )),
            Refused::Unreadable => Self::Other(String::from(
                "no comment there would read back as what was to be written; nothing was written: try another line or other words",
            )),
        }
    }
}

/// One workspace folder.
pub struct Workspace {
    /// The user's home is this folder or below it, and nothing says that it is a project.
    holds_home: bool,
    pub tree: Arc<Tree>,
    pub index: Index,
    pub names: Names,
    loaded: RwLock<Arc<Loaded>>,
    store: RwLock<Option<Arc<Store>>>,
    /// Why there is none, and until when it is not tried again.
    off: Mutex<Option<(Instant, String, &'static str)>>,
    agents: Mutex<Option<second::Found>>,
    /// Held from the look whether a thread has a turn until it has one.
    taking: Mutex<()>,
    folders: Folders,
    host: Arc<dyn Host>,
}

impl Workspace {
    pub fn root(&self) -> &Path {
        self.tree.root()
    }

    /// The file that the history calls so, relative to the root. Of a name that is no UTF-8 it has what is read of it.
    pub fn path_of(&self, file: &str) -> PathBuf {
        let path = self.root().join(file);
        if !file.contains('\u{fffd}') || path.exists() {
            return path;
        }
        file.split('/').fold(self.root().to_owned(), |at, name| {
            let names = std::fs::read_dir(&at).into_iter().flatten().flatten();
            let mut names = names.map(|one| one.file_name());
            // As it was kept before each byte was, too.
            let found =
                names.find(|known| as_text(known) == name || known.to_string_lossy() == name);
            at.join(found.unwrap_or_else(|| name.into()))
        })
    }

    /// The settings in force.
    pub fn loaded(&self) -> Arc<Loaded> {
        self.loaded
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether there is a history already.
    pub fn has_store(&self) -> bool {
        Store::exists(&self.folders.data, self.root())
    }

    /// The history that was opened, unless it is to be opened anew.
    fn opened(&self) -> Option<Arc<Store>> {
        let opened = self.store.read().unwrap_or_else(PoisonError::into_inner);
        opened.clone().filter(|store| store.is_current())
    }

    /// The history, opened at first use, and again where it was found damaged or is another file. An error says why it is
    /// off; everything else works without. It is tried again, but not before as long has passed as it took to fail: a lock
    /// is waited for, a full disk is not.
    pub fn store(&self) -> Result<Arc<Store>, Error> {
        if let Some(store) = self.opened() {
            return Ok(store);
        }
        let mut off = self.off.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = self.opened() {
            return Ok(store);
        }
        if let Some((until, why, code)) = &*off
            && Instant::now() < *until
        {
            return Err(Error::NoHistory(why.clone(), code));
        }
        let began = Instant::now();
        let open = || Store::open(&self.folders.data, self.root());
        let opened = open().or_else(|error| match error {
            StoreError::Corrupt { .. } => {
                tracing::warn!("{error}");
                self.host.message(Level::Warning, &error.to_string());
                open()
            }
            error => Err(error),
        });
        match opened {
            Ok(store) => {
                let store = Arc::new(store);
                let mut opened = self.store.write().unwrap_or_else(PoisonError::into_inner);
                *opened = Some(store.clone());
                drop(opened);
                match self.settle(&store, None, Stand::Stay) {
                    Ok(files) => self.tell_uncommitted(&files),
                    Err(error) => tracing::warn!(%error, "what was left behind is not known"),
                }
                Ok(store)
            }
            Err(error) => {
                let (why, code) = (error.to_string(), error.code());
                *off = Some((Instant::now() + began.elapsed(), why.clone(), code));
                Err(Error::NoHistory(why, code))
            }
        }
    }
}

/// How a turn is to be run.
#[derive(Clone, Debug, Default)]
pub struct TurnOptions {
    pub model: Option<String>,
    pub plan: bool,
    /// Edits allowed on a thread that arrived (`--yes`, or the author said so).
    pub allow_arrived: bool,
    pub budget: Option<f64>,
    /// A turn that stopped half-way goes on, without new words of the author.
    pub resume: bool,
    /// A second agent answers what another has answered already; read-only.
    pub another: bool,
    /// One of many that were begun together: it waits in the queue.
    pub batch: bool,
    /// Whether it may change files was asked before it began: what was not allowed then is not asked again.
    pub asked: bool,
}

/// A turn that runs, or the last one of a thread.
#[derive(Clone, Debug)]
pub struct TurnState {
    pub run_id: String,
    pub thread_id: String,
    pub file: String,
    pub running: bool,
    /// What it is doing, or why it failed.
    pub message: String,
    pub failed: bool,
    pub cancelled: bool,
    /// It stands still until the author answers a question.
    pub waits: bool,
}

/// The engine. Cheap verbs are plain functions; those that ask the face or wait are async.
pub struct Session {
    pub buffers: Arc<Buffers>,
    pub children: Arc<Children>,
    pub host: Arc<dyn Host>,
    pub folders: Folders,
    /// Questions of tools, and what was granted.
    pub gate: Arc<Gate>,
    workspaces: RwLock<Vec<Arc<Workspace>>>,
    client_settings: RwLock<Option<Value>>,
    /// Held while settings are read and put in place, and while children are told: an older reading is not put over a
    /// newer one.
    reading: Mutex<()>,
    trust: Trust,
    /// The editor's own answer, for this session alone.
    session_trust: DashMap<PathBuf, bool>,
    seen_trust: Mutex<trusting::Seen>,
    /// Held by a verb whose edit met another one, until its next try is made.
    again: tokio::sync::Mutex<()>,
    views: DashMap<PathBuf, Shown>,
    /// Held while what is kept of threads goes along to the ids that they have by now.
    looking: Mutex<()>,
    provenance: Provenance,
    /// What files are called by now that were renamed while the server ran.
    renames: DashMap<PathBuf, PathBuf>,
    /// What was told to be gone from the disk a moment ago: its new name may be told of later.
    gone: Mutex<Vec<(PathBuf, Instant)>>,
    turns: Arc<Turns>,
    /// Files cleared in the editor, to be committed when they are saved.
    pending_commits: DashMap<PathBuf, PendingCommit>,
    closings: Underway,
    commits: Underway,
    ending: AtomicBool,
    /// It ends with its editor: what stops then nobody has cancelled.
    leaving: AtomicBool,
    spares_home: AtomicBool,
    /// Other files are too large to be read than when the tree was walked.
    passes_over_others: AtomicBool,
    stamps: Mutex<HashMap<PathBuf, Option<Stamp>>>,
}

/// When a file was written, where the system tells, and its length in bytes.
type Stamp = (Option<SystemTime>, u64);

/// `None`: it is not there.
fn stamp(file: &Path) -> Option<Stamp> {
    let metadata = file.metadata().ok()?;
    Some((metadata.modified().ok(), metadata.len()))
}

impl Session {
    /// `roots`: the workspace folders; the first is the one that relative paths count from.
    pub fn new(
        roots: Vec<PathBuf>,
        client_settings: Option<Value>,
        host: Arc<dyn Host>,
        folders: Folders,
    ) -> Result<Arc<Self>, Error> {
        let buffers = Arc::new(Buffers::default());
        let first = config::load(
            &folders,
            roots.first().map(PathBuf::as_path),
            client_settings.as_ref(),
        )
        .settings;
        let limits = limits_of(&first);
        let children = Children::new(first.servers, limits, buffers.clone());
        children.set_host(host.clone());
        let session = Arc::new(Self {
            trust: Trust::open(&folders.data),
            buffers,
            children,
            host,
            gate: Gate::new(&folders.data),
            folders,
            workspaces: RwLock::default(),
            client_settings: RwLock::new(client_settings),
            reading: Mutex::default(),
            session_trust: DashMap::new(),
            seen_trust: Mutex::default(),
            views: DashMap::new(),
            looking: Mutex::default(),
            provenance: Provenance::default(),
            renames: DashMap::new(),
            gone: Mutex::default(),
            again: tokio::sync::Mutex::default(),
            turns: Arc::default(),
            pending_commits: DashMap::new(),
            closings: Underway::default(),
            commits: Underway::default(),
            ending: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
            spares_home: AtomicBool::new(false),
            passes_over_others: AtomicBool::new(false),
            stamps: Mutex::default(),
        });
        for root in &roots {
            session.add_folder(root)?;
        }
        session.follow_trust();
        Ok(session)
    }

    // -- workspaces ------------------------------------------------------------------------------

    /// From here on a folder that holds the user's home is not walked unless somebody asks for what is in it: an
    /// editor names it where it was started there, or for a file of no project.
    pub fn spare_home(&self) {
        self.spares_home.store(true, Ordering::Relaxed);
    }

    /// Whether a folder is walked, and watched, without being asked for.
    pub fn walks(&self, workspace: &Workspace) -> bool {
        !(self.spares_home.load(Ordering::Relaxed) && workspace.holds_home)
    }

    pub fn add_folder(&self, root: &Path) -> Result<(), Error> {
        let tree = Tree::new(root, self.buffers.clone())?;
        let reading = self.reading();
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        // Not anew for the user's own: the folders that were added before have what it said then.
        for file in [self.folders.config_file(), tree.root().join(PROJECT_FILE)] {
            stamps.entry(file).or_insert_with_key(|file| stamp(file));
        }
        drop(stamps);
        let client = self
            .client_settings
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let loaded = config::load(&self.folders, Some(tree.root()), client.as_ref());
        tree.set_max_size(loaded.settings.max_file_size);
        let marked = |name: &str| tree.root().join(name).symlink_metadata().is_ok();
        let workspace = Workspace {
            // A home that is a project on purpose is one.
            holds_home: trust::holds_home(tree.root()) && !marked(PROJECT_FILE) && !marked(".git"),
            index: Index::new(self.folders.cache.as_deref(), tree.root()),
            tree: Arc::new(tree),
            names: Names::default(),
            loaded: RwLock::new(Arc::new(loaded)),
            store: RwLock::default(),
            off: Mutex::default(),
            agents: Mutex::default(),
            taking: Mutex::default(),
            folders: self.folders.clone(),
            host: self.host.clone(),
        };
        let mut workspaces = self
            .workspaces
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if workspaces
            .iter()
            .all(|known| known.root() != workspace.root())
        {
            workspaces.push(Arc::new(workspace));
        }
        drop(workspaces);
        drop(reading);
        self.look_anew();
        self.configure_children();
        self.tell_children(self.reading());
        Ok(())
    }

    /// `root`: canonical, as it was when the folder was added; it may be gone, or lead elsewhere, by now.
    pub fn remove_folder(&self, root: &Path) {
        self.workspaces
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|workspace| workspace.root() != root);
        // What changed in it was not told to the folder above.
        if let Some(above) = self.workspace_of(root) {
            above.index.distrust();
        }
        self.turns.cancel_in(root);
        self.look_anew();
        self.configure_children();
        self.tell_children(self.reading());
    }

    /// Folders changed: the ids of threads are of the file's path in its folder. Nobody keeps one meanwhile that is
    /// of the path as it was.
    fn look_anew(&self) {
        let _one = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        self.views.clear();
    }

    pub fn workspaces(&self) -> Vec<Arc<Workspace>> {
        self.workspaces
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The workspace folder of a file (the deepest one), if any.
    pub fn workspace_of(&self, path: &Path) -> Option<Arc<Workspace>> {
        let workspaces = self
            .workspaces
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        workspaces
            .iter()
            .filter(|workspace| path.starts_with(workspace.root()))
            .max_by_key(|workspace| workspace.root().as_os_str().len())
            .cloned()
    }

    /// The workspace folder of a file, or the reason why there is none.
    fn home_of(&self, path: &Path) -> Result<Arc<Workspace>, Error> {
        self.workspace_of(path)
            .ok_or_else(|| Error::Homeless(path.display().to_string()))
    }

    /// New settings of the client; the files are read again. `true`: other files are too large now, which the next
    /// [`Self::disk_changed`] takes into account.
    pub fn configure(&self, client: Value) -> bool {
        *self
            .client_settings
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(client);
        self.reload_settings();
        self.passes_over_others.load(Ordering::Acquire)
    }

    /// Reads the settings again where their files are not what they were: the user's own is watched by nobody. `true`:
    /// they were.
    pub fn refresh_settings(&self) -> bool {
        // Whoever reads them now has kept what the files were already, and not yet what they say.
        drop(self.reading());
        let seen = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files = self.settings_files().into_iter();
        let changed = files.any(|file| seen.get(&file) != Some(&stamp(&file)));
        drop(seen);
        if changed {
            self.reload_settings();
        }
        changed
    }

    fn reading(&self) -> MutexGuard<'_, ()> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settings_files(&self) -> Vec<PathBuf> {
        let workspaces = self.workspaces();
        let of_workspaces = workspaces.iter().map(|one| one.root().join(PROJECT_FILE));
        [self.folders.config_file()]
            .into_iter()
            .chain(of_workspaces)
            .collect()
    }

    /// `postil.toml` or the user's file changed on disk.
    pub fn reload_settings(&self) {
        let reading = self.reading();
        // Before they are read: what is written while they are has them read once more.
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        *stamps = self
            .settings_files()
            .into_iter()
            .map(|file| (file.clone(), stamp(&file)))
            .collect();
        drop(stamps);
        let client = self
            .client_settings
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for workspace in self.workspaces() {
            let loaded = config::load(&self.folders, Some(workspace.root()), client.as_ref());
            if workspace.tree.set_max_size(loaded.settings.max_file_size) {
                self.passes_over_others.store(true, Ordering::Release);
            }
            *workspace
                .loaded
                .write()
                .unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
        }
        self.configure_children();
        self.tell_children(reading);
    }

    /// Commands of a run in this folder; they end when it is dropped.
    pub fn processes(&self, workspace: &Workspace) -> Arc<Processes> {
        self.processes_of(workspace, false)
    }

    /// The same; where the author looks at changes before they are made, commands make none.
    pub(crate) fn processes_of(&self, workspace: &Workspace, reviewed: bool) -> Arc<Processes> {
        let loaded = workspace.loaded();
        let granted = loaded.settings.sandbox.clone();
        let mut ours = vec![
            self.folders.config.clone(),
            self.folders.data.clone(),
            self.folders.state.clone(),
        ];
        ours.extend(self.folders.cache.clone());
        let policy = Policy {
            network: network::of(&granted.network, &loaded.settings.web),
            read: granted.read,
            write: granted.write,
            environment: granted.environment,
            ours,
            reviewed,
        };
        let host = Arc::clone(&self.host);
        let tell = Arc::new(move |text: String| host.message(Level::Warning, &text));
        let buffers = Arc::clone(&self.buffers);
        Arc::new(Processes::new(workspace.root(), policy, buffers, tell))
    }

    /// Children that are started from now on follow the settings of the first folder.
    fn configure_children(&self) {
        if let Some(first) = self.workspaces().first() {
            let loaded = first.loaded();
            let settings = &loaded.settings;
            let limits = limits_of(settings);
            // Of what was passed over it is not known whether it changed.
            let is_read = settings.lost.who.is_none();
            self.children
                .configure(settings.servers.clone(), limits, is_read);
        }
    }

    /// Ends running turns (recorded as cancelled) and children; commits under way are waited for.
    pub async fn shutdown(&self) {
        self.begin_no_more();
        self.keep_provenance(None);
        self.end_turns().await;
        tokio::join!(self.children.shutdown(), self.let_commits_end());
    }

    /// As `shutdown`, where nobody has cancelled anything: an editor is closed or loaded anew. Turns are recorded as
    /// interrupted, and go on when they are asked for again.
    pub async fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
        self.shutdown().await;
    }

    /// The end is near: no further commit is begun, and what git refuses is put back on disk.
    pub fn begin_no_more(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// Waits, though not for ever, until git has made or refused what it was asked for. What takes longer is told of
    /// at the next start.
    pub async fn let_commits_end(&self) {
        self.commits.end(None, COMMITS).await;
    }
}

fn limits_of(settings: &config::Settings) -> Limits {
    Limits {
        timeout: settings.proxy_timeout,
        max_children: settings.proxy_max_children,
        idle: settings.proxy_idle,
    }
}
