//! L3. The round store: SQLite (WAL), one database per workspace in the user's data folder.
//!
//! Every round is durable before the call that adds it returns, and a round's number never changes.
//! Several processes may use one store. Calls block (a durable one for as long as the disk takes to
//! say so); keys and other secrets are never handed to this module.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Map, Value};

use crate::os;

mod closed;
mod damage;
mod lease;
mod leaving;
mod page;
mod past;
mod provenance;
mod prune;
mod reads;
mod renames;
mod schema;
mod talk;
mod texts;
mod undo;
mod whose;
mod windows;
mod writes;

#[cfg(test)]
mod tests;

pub use closed::{Closed, Said, Tie};
pub use leaving::Left;
pub use page::{Format, Hint, Page, without_headers};
pub use past::Past;
pub use prune::Pruned;
pub use reads::Hit;
pub use schema::location;
pub use talk::{NewRound, Step};
pub use windows::Window;
pub use writes::{GoOn, Taken};

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Queued,
    Running,
    AwaitingUser,
    Completed,
    Failed,
    Cancelled,
    /// The process died in mid-run; found at the next start.
    Interrupted,
}

impl RunStatus {
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::AwaitingUser,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Interrupted,
    ];

    /// Its name, as it is stored and shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::AwaitingUser => "awaiting_user",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }

    /// A process has it, at work or in its queue.
    pub fn is_under_way(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }

    /// By its name; else what is said to whoever gave it.
    pub fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|status| status.name() == name);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            let meant = match name {
                // As a turn ends, and not its run.
                "paused" => "; a run whose turn paused is awaiting_user",
                _ => "",
            };
            format!(
                "`{}` is no status; there are {known}{meant}",
                name.escape_debug()
            )
        })
    }
}

/// One run: the story of a thread from its first turn until it is closed.
#[derive(Clone, Debug)]
pub struct Run {
    pub id: String,
    pub thread_id: String,
    /// Relative to the workspace root.
    pub file: String,
    pub status: RunStatus,
    pub started: jiff::Timestamp,
    pub rounds: u64,
    pub tokens: u64,
    /// US dollars.
    pub cost: f64,
    pub model: String,
    /// Why it failed, in words for a person.
    pub error: Option<String>,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// 1-based, sequential within the run, never changed.
    pub seq: u64,
    pub role: Option<String>,
    pub time: jiff::Timestamp,
    pub metadata: Map<String, Value>,
    pub content: String,
}

/// UTC, in whole seconds.
pub fn whole_seconds(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A file as it was before a turn and as the turn left it, for undo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub file: String,
    /// `None`: the file did not exist.
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
    /// The permission bits of a file that is removed.
    pub mode: Option<u32>,
    /// How many of the folders above a new file are made with it.
    pub folders: u32,
    /// The file whose place a new one takes: a rename.
    pub moved_from: Option<String>,
    /// The writing of the turn's answer into its thread.
    pub is_answer: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "the history in {path} was written by a newer postil (schema {found}, this one knows {known}); update postil"
    )]
    Newer {
        path: String,
        found: i64,
        known: i64,
    },
    /// Said once, by the call that found it; the next open uses the new one.
    #[error(
        "the history in {path} {how}; it is kept as {aside} and a new one begun. The threads in your files are as they \
         were; to have the earlier runs again, put a backup of the file in its place"
    )]
    Corrupt {
        path: String,
        aside: String,
        how: &'static str,
    },
    #[error(
        "the history in {path} is damaged; try it again: postil looks through the file then, and goes on with what is \
         sound, or sets it aside, deletes nothing and begins a new one"
    )]
    Damaged { path: String },
    #[error("no run `{0}`; `postil workflow list` shows them")]
    UnknownRun(String),
    #[error("run id `{0}` is too short: give at least four digits")]
    ShortId(String),
    #[error("`{0}` is ambiguous: {1}")]
    Ambiguous(String, String),
    #[error(
        "this thread is being answered by another process (run {0}): wait for that answer, or end it by `postil workflow cancel {0}`"
    )]
    Taken(String),
    #[error("run {0} is not running")]
    NotRunning(String),
    #[error("the disk of {path} is full")]
    Full { path: String },
    #[error("{path} cannot be written: it is read-only")]
    ReadOnly { path: String },
    #[error("{path} is locked by another program")]
    Locked { path: String },
    #[error("history: {0}")]
    Sqlite(rusqlite::Error),
    #[error(
        "the history in {path} cannot be used: {source}{}",
        way_out(path, source)
    )]
    Io {
        path: String,
        source: std::io::Error,
    },
}

/// Where rights are missing: those of which folder.
fn way_out(path: &str, error: &std::io::Error) -> String {
    let mut above = Path::new(path).ancestors();
    match above.find(|path| path.is_dir()) {
        Some(folder) if error.kind() == std::io::ErrorKind::PermissionDenied => format!(
            "; you need the right to read and write in the folder {}",
            folder.display()
        ),
        _ => String::new(),
    }
}

impl StoreError {
    /// Stable, for `--json`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Newer { .. } => "store_newer",
            Self::Corrupt { .. } | Self::Damaged { .. } => "store_damaged",
            Self::UnknownRun(_) => "unknown_run",
            Self::ShortId(_) => "short_id",
            Self::Ambiguous(..) => "ambiguous_id",
            Self::Taken(_) => "taken",
            Self::NotRunning(_) => "not_running",
            Self::Full { .. }
            | Self::ReadOnly { .. }
            | Self::Locked { .. }
            | Self::Sqlite(_)
            | Self::Io { .. } => "store",
        }
    }
}

/// Between two looks at all of a database.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// A workspace's store; cheap to share behind an `Arc`.
pub struct Store {
    path: PathBuf,
    owner: lease::Owner,
    /// `synchronous = FULL`: what was committed survives a power cut. Runs, rounds, changes.
    durable: Mutex<Connection>,
    /// `synchronous = NORMAL`: reads. Never waits for a write.
    light: Mutex<Connection>,
    /// The same for small writes that are made again later: gives up soon where another process writes.
    brief: Mutex<Connection>,
    /// What [`Self::past`] read last.
    past: Mutex<past::Read>,
    /// Somebody has met damage in it.
    is_damaged: AtomicBool,
    /// When all of it was looked at, if it was as it was opened.
    looked_at: Option<Instant>,
    /// Which file was opened.
    file: Option<os::FileId>,
}

impl Store {
    /// The database of the workspace `root` below `data` (made 0700, files 0600). A damaged one is set
    /// aside and reported as [`StoreError::Corrupt`]: opening again uses a new one. Runs whose process
    /// died are `interrupted` from here on.
    pub fn open(data: &Path, root: &Path) -> Result<Self, StoreError> {
        let (path, opened) = schema::open(data, root)?;
        let file = os::file_id(&path);
        let store = Self {
            path,
            owner: lease::Owner::this_process(),
            durable: Mutex::new(opened.durable),
            light: Mutex::new(opened.light),
            brief: Mutex::new(opened.brief),
            past: Mutex::default(),
            looked_at: opened.is_looked_at.then(Instant::now),
            is_damaged: AtomicBool::new(false),
            file,
        };
        store.release_dead()?;
        Ok(store)
    }

    /// Whether [`Self::open`] would find a database. Nothing is made.
    pub fn exists(data: &Path, root: &Path) -> bool {
        schema::location(data, root).exists()
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is to be used on: nobody has met damage in it, and no other process has set the file aside.
    pub fn is_current(&self) -> bool {
        let is_damaged = self.is_damaged.load(Ordering::Relaxed);
        // What looks like damage to one call and is none to a look at all of it does not have that done all the time.
        let is_known = (self.looked_at).is_some_and(|looked_at| looked_at.elapsed() < LOOK_AGAIN);
        (!is_damaged || is_known) && os::file_id(&self.path) == self.file
    }

    /// Damaged databases of this workspace that were set aside, oldest first.
    pub fn aside(&self) -> Vec<PathBuf> {
        damage::aside(&self.path)
    }

    fn durable(&self) -> MutexGuard<'_, Connection> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn light(&self) -> MutexGuard<'_, Connection> {
        self.light.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn brief(&self) -> MutexGuard<'_, Connection> {
        self.brief.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What SQLite said, seen through: damage is remembered, so that the next open looks closely.
    fn fault(&self, error: rusqlite::Error) -> StoreError {
        let error = schema::said(error, &self.path);
        if let StoreError::Damaged { .. } = error {
            damage::mark_suspect(&self.path);
            self.is_damaged.store(true, Ordering::Relaxed);
        }
        error
    }
}
