//! L3. Child language servers: process, framing, ids, documents, restart.
//!
//! A child is started lazily, one for each (program, arguments, environment, root), and only below a
//! trusted folder. Requests go to it as they are, with positions counted as it counts them, and its
//! answers come back as they are. It can fall, hang or lie: a request then ends with an error that says
//! so, in bounded time and memory.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::files::Buffers;
use crate::host::{Host, Level};
use crate::os;
use crate::text::Encoding;

mod activity;
mod ask;
mod capabilities;
mod connection;
mod documents;
mod edits;
mod finding;
mod framing;
mod methods;
mod outgoing;
pub mod positions;
mod process;
mod questions;
mod registry;
mod supervisor;
mod toolchain;
pub mod uri;

pub use ask::{About, Place, marked};
pub use connection::INDEXING_FACTOR;
pub use edits::{FileEdits, NoEdit};
pub use process::{Tail, guard, launch, printable, unguard};
pub use registry::{canonical as canonical_language, merge as rows, programs};

/// A program on PATH, but for what lies in one of `workspaces`.
pub fn find_program(command: &str, workspaces: &[PathBuf]) -> Option<PathBuf> {
    let path = os::search_path(&std::env::var_os("PATH").unwrap_or_default(), workspaces);
    registry::programs(command, &path)
        .into_iter()
        .find(|program| !registry::is_rustup_proxy(program))
}

use connection::{Connection, locked};
use supervisor::{Child, Key, Step};

/// One row of the registry: how a language's server is started.
#[derive(Clone, Debug)]
pub struct Row {
    pub language: String,
    pub command: String,
    pub args: Vec<String>,
    pub extensions: Vec<String>,
    pub root_markers: Vec<String>,
    pub initialization_options: Value,
    pub env: Vec<(String, String)>,
    /// How to get it, for the message when it is missing.
    pub install: String,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum ChildError {
    #[error("no language server is known for {0}")]
    NoRow(String),
    #[error("`{command}` is not installed ({install})")]
    Missing { command: String, install: String },
    #[error(
        "the workspace is not trusted: language servers may start when you trust it, in the editor or by `postil trust`"
    )]
    Untrusted,
    /// By this setting.
    #[error("language servers are switched off (`{0}`)")]
    Off(&'static str),
    #[error("`{0}` does not answer (waited {1} s)")]
    TimedOut(String, u64),
    #[error("`{0}` is still indexing (waited {1} s)")]
    Indexing(String, u64),
    #[error("`{0}` stopped: {1}")]
    Stopped(String, String),
    /// It answered a method, and would answer the same again.
    #[error("the language server's answer to `{0}` cannot be read: {1}")]
    Unreadable(String, String),
    /// Megabytes.
    #[error("`{0}` answered with {1} MB, which is too much to read: ask for less")]
    TooLarge(String, usize),
    /// As many as `proxy.maxChildren` run, and each is at work.
    #[error(
        "`{0}` was not started: as many language servers as `proxy.maxChildren` allows ({1}) are at work; ask again, or allow more"
    )]
    Full(String, usize),
    /// The child's own error, passed on with code and data.
    #[error("{message}")]
    Answered {
        code: i64,
        message: String,
        data: Option<Value>,
    },
    #[error("cancelled")]
    Cancelled,
}

impl ChildError {
    /// There is nobody to ask, and nobody is to be.
    pub fn is_nobody(&self) -> bool {
        matches!(
            self,
            Self::NoRow(_) | Self::Missing { .. } | Self::Untrusted | Self::Off(_)
        )
    }

    /// What was asked about a text, which was changed before it could be (LSP 3.17 §ErrorCodes).
    pub fn modified() -> Self {
        Self::Answered {
            code: CONTENT_MODIFIED,
            message: String::from("the text was changed meanwhile: ask again"),
            data: None,
        }
    }

    pub fn is_modified(&self) -> bool {
        matches!(
            self,
            Self::Answered {
                code: CONTENT_MODIFIED,
                ..
            }
        )
    }

    /// The child does not know the method.
    pub fn is_unknown_method(&self) -> bool {
        const METHOD_NOT_FOUND: i64 = -32601;
        matches!(
            self,
            Self::Answered {
                code: METHOD_NOT_FOUND,
                ..
            }
        )
    }
}

/// One running (or ended) child, for `postil servers`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct State {
    pub language: String,
    pub command: String,
    /// `starting`, `ready`, `indexing`, `ending`, `stopped`, `failed`
    pub state: Cow<'static, str>,
    pub pid: Option<u32>,
    #[serde(serialize_with = "as_text")]
    pub root: PathBuf,
    /// Bytes resident, with what it has started itself.
    pub memory: Option<u64>,
    pub restarts: u32,
}

/// JSON has no bytes that are not UTF-8.
fn as_text<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

#[derive(Clone, Debug)]
pub struct Limits {
    /// Seconds a request; six times as long while the child is indexing.
    pub timeout: u64,
    pub max_children: usize,
    /// Seconds until an unused child ends.
    pub idle: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: 10,
            max_children: 8,
            idle: 600,
        }
    }
}

/// `ErrorCodes.ContentModified`
const CONTENT_MODIFIED: i64 = -32801;

/// How long a file's child is remembered before its root is looked for again, and what was seen of trusted folders.
const REMEMBERED: Duration = Duration::from_secs(10);
/// New names that are kept until children are told of them.
const MAX_MADE: usize = 10_000;
/// How long what is missing stays missing.
const MISSING: Duration = Duration::from_secs(30);

/// Takes a notification: method and parameters.
pub type Forward = Arc<dyn Fn(&str, Value) + Send + Sync>;

/// Looks where children may run by now, and tells them where that is elsewhere. What was seen in the folders themselves
/// may be so old.
pub type Look = Arc<dyn Fn(Duration) + Send + Sync>;

/// What all children have in common.
pub(crate) struct Shared {
    buffers: Arc<Buffers>,
    rows: RwLock<Arc<Vec<Row>>>,
    limits: RwLock<Limits>,
    host: RwLock<Option<Arc<dyn Host>>>,
    trusted: RwLock<Vec<PathBuf>>,
    forward: RwLock<Option<Forward>>,
    look: RwLock<Option<Look>>,
    client: RwLock<(Option<Encoding>, Value)>,
    told: Mutex<HashMap<String, HashSet<String>>>,
    /// A child may have nothing to do any more, or have ended.
    freed: Notify,
}

/// An answer as a value. One that is nested deeper than this program reads is passed on as text alone.
pub fn read_answer(method: &str, answer: &RawValue) -> Result<Value, ChildError> {
    serde_json::from_str(answer.get())
        .map_err(|error| ChildError::Unreadable(method.to_owned(), error.to_string()))
}

fn read<T: Clone>(lock: &RwLock<T>) -> T {
    lock.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn write<T>(lock: &RwLock<T>, value: T) {
    *lock.write().unwrap_or_else(PoisonError::into_inner) = value;
}

impl Shared {
    fn host(&self) -> Option<Arc<dyn Host>> {
        read(&self.host)
    }

    fn limits(&self) -> Limits {
        read(&self.limits)
    }

    fn look(&self, age: Duration) {
        if let Some(look) = read(&self.look) {
            look(age);
        }
    }

    fn workspaces(&self) -> Vec<PathBuf> {
        read(&self.trusted)
    }

    /// The deepest trusted folder above `path`.
    fn workspace_of(&self, path: &Path) -> Option<PathBuf> {
        let trusted = self.trusted.read().unwrap_or_else(PoisonError::into_inner);
        trusted
            .iter()
            .filter(|folder| path.starts_with(folder))
            .max_by_key(|folder| folder.as_os_str().len())
            .cloned()
    }

    fn forward(&self, method: &str, params: Value) {
        if let Some(forward) = read(&self.forward) {
            forward(method, params);
        }
    }

    /// Whether `text` is said for the first time, of at most `limit` of its kind.
    fn first_time(&self, text: &str, kind: &str, limit: usize) -> bool {
        let mut told = locked(&self.told);
        let of_kind = told.entry(kind.to_string()).or_default();
        of_kind.len() < limit && of_kind.insert(text.to_string())
    }

    fn capabilities(&self) -> Value {
        let (encoding, client) = read(&self.client);
        capabilities::of(encoding, &client)
    }

    /// The open buffers that a child of this row would be asked about.
    fn open_for(&self, row: &Row, root: &Path) -> Vec<PathBuf> {
        let mine = |path: &Path| path.starts_with(root) && self.speaks(row, path);
        self.buffers
            .paths()
            .into_iter()
            .filter(|p| mine(p))
            .collect()
    }

    /// Whether the row's server, in any of its languages, is for this file.
    fn speaks(&self, row: &Row, path: &Path) -> bool {
        read(&self.rows)
            .iter()
            .any(|r| r.command == row.command && registry::matches(r, path))
    }

    /// As in `TextDocumentItem`; an open buffer's own counts there.
    fn language_id(&self, path: &Path, otherwise: &str) -> String {
        let rows = read(&self.rows);
        rows.iter()
            .find(|r| registry::matches(r, path))
            .map_or_else(|| otherwise.to_string(), |r| r.language.clone())
    }
}

/// A file's child, and when it was found.
type Found = (Arc<Child>, Instant);

fn says(child: &Child, said: &str) -> String {
    let command = &child.row.command;
    let name = Path::new(command).file_name().unwrap_or(command.as_ref());
    format!("`{}` says: {said}", name.to_string_lossy())
}

/// All children of this process.
pub struct Children {
    shared: Arc<Shared>,
    children: Mutex<HashMap<Key, Arc<Child>>>,
    found: Mutex<HashMap<(PathBuf, Option<String>), Found>>,
    /// Files outside of all trusted folders: who led there, and by which name.
    led: Mutex<HashMap<PathBuf, (Arc<Child>, PathBuf)>>,
    /// Files that are new by their names, of which children were not told yet.
    made: Mutex<HashSet<PathBuf>>,
    /// rustup's stand-ins, and when each was found to have nothing behind it.
    absent: Mutex<HashMap<PathBuf, Instant>>,
    /// `proxy.mode = "off"`
    off: AtomicBool,
}

impl Drop for Children {
    fn drop(&mut self) {
        locked(&self.children)
            .values()
            .for_each(|child| child.stop());
    }
}

impl Children {
    /// `rows` are the user's, before the built-in ones.
    pub fn new(rows: Vec<Row>, limits: Limits, buffers: Arc<Buffers>) -> Arc<Self> {
        let shared = Shared {
            buffers,
            rows: RwLock::new(Arc::new(registry::merge(rows))),
            limits: RwLock::new(limits),
            host: RwLock::default(),
            trusted: RwLock::default(),
            forward: RwLock::default(),
            look: RwLock::default(),
            client: RwLock::default(),
            told: Mutex::default(),
            freed: Notify::new(),
        };
        Arc::new(Self {
            shared: Arc::new(shared),
            children: Mutex::default(),
            found: Mutex::default(),
            led: Mutex::default(),
            made: Mutex::default(),
            absent: Mutex::default(),
            off: AtomicBool::new(false),
        })
    }

    /// New settings. Children that run stay as they are, but for those whose row has other options now: many a server
    /// reads its options when it begins, and at no other time, so that these end, and others begin at need. `is_read`: no
    /// part of the settings had to be passed over, which may hold these.
    pub fn configure(&self, rows: Vec<Row>, limits: Limits, is_read: bool) {
        write(&self.shared.rows, Arc::new(registry::merge(rows)));
        write(&self.shared.limits, limits);
        locked(&self.found).clear();
        if !is_read {
            return;
        }
        let rows = read(&self.shared.rows);
        locked(&self.children).retain(|_, child| {
            let now = registry::row_of(&rows, &child.row).map(|row| &row.initialization_options);
            let stays = now.is_none_or(|now| *now == child.row.initialization_options);
            if !stays {
                child.stop();
            }
            stays
        });
    }

    /// Who answers a child's questions (`applyEdit`, `showMessageRequest`).
    pub fn set_host(&self, host: Arc<dyn Host>) {
        write(&self.shared.host, Some(host));
    }

    /// What the editor can do (`ClientCapabilities`) and how it counts: children are told the same, so
    /// that their answers fit it as they are.
    pub fn set_client(&self, capabilities: Value, encoding: Encoding) {
        write(&self.shared.client, (Some(encoding), capabilities));
    }

    /// Who gets `$/progress` with a token of the editor's own (method, parameters). Without it such
    /// tokens are not passed on to children.
    pub fn set_forward(&self, forward: Forward) {
        write(&self.shared.forward, Some(forward));
    }

    /// Who knows of trust that another program gave or took back: asked before a child is asked or started, and while one
    /// runs.
    pub fn set_look(&self, look: Look) {
        write(&self.shared.look, Some(look));
    }

    /// Switched off, no child is started or asked, and those that run end.
    pub fn set_off(&self, off: bool) {
        self.off.store(off, Ordering::Relaxed);
        if off {
            locked(&self.found).clear();
            let ended: Vec<Arc<Child>> = locked(&self.children).drain().map(|(_, c)| c).collect();
            ended.iter().for_each(|child| child.stop());
        }
    }

    /// Folders in which children may start; a child for a file elsewhere is `Untrusted`, but for one that a child led
    /// to. Children outside of them end.
    pub fn set_trusted(&self, folders: Vec<PathBuf>) {
        let mut all = folders.clone();
        all.extend(folders.iter().filter_map(|f| os::canonical(f).ok()));
        all.sort();
        all.dedup();
        write(&self.shared.trusted, all);
        locked(&self.found).clear();
        let is_trusted = |folder: &Path| self.shared.workspace_of(folder).is_some();
        // What lies in a trusted folder by now has a child of its own, and is its editor's.
        locked(&self.led)
            .retain(|file, (child, _)| !is_trusted(file) && is_trusted(&child.key.root));
        locked(&self.children).retain(|key, child| {
            let stays = is_trusted(&key.root);
            if !stays {
                child.stop();
            }
            stays
        });
    }

    /// Asks the child of a file (its language by `language` or by the file; a folder is asked by
    /// `language` alone). Positions in `params` and in the answer count in `encoding`; the answer is the
    /// child's own JSON otherwise.
    pub async fn request<'a>(
        &self,
        about: impl Into<About<'a>>,
        language: Option<&str>,
        method: &str,
        params: Value,
        encoding: Encoding,
        cancel: &CancellationToken,
    ) -> Result<Value, ChildError> {
        let raw = self
            .request_raw(about, language, method, params, encoding, cancel)
            .await?;
        read_answer(method, &raw)
    }

    /// As [`Children::request`], the answer as text: nothing is parsed where the encodings agree.
    pub async fn request_raw<'a>(
        &self,
        about: impl Into<About<'a>>,
        language: Option<&str>,
        method: &str,
        params: Value,
        encoding: Encoding,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, ChildError> {
        Ok(self
            .ask(
                about.into(),
                language,
                method,
                params,
                encoding,
                false,
                cancel,
            )
            .await?
            .answer)
    }

    // The children's documents follow the editor's; each returns at once.
    pub fn opened(&self, path: &Path) {
        for (child, connection) in self.live() {
            if path.starts_with(&child.key.root) && self.shared.speaks(&child.row, path) {
                connection.sync(Some((path, &self.shared.language_id(path, ""))));
            }
        }
    }

    pub fn changed(&self, path: &Path) {
        for (_, connection) in self.live() {
            connection.touch(path);
        }
    }

    pub fn saved(&self, path: &Path) {
        for (_, connection) in self.live() {
            connection.saved(path);
        }
    }

    pub fn closed(&self, path: &Path) {
        for (_, connection) in self.live() {
            connection.close(path);
        }
    }

    /// Files that [`Children::disk_changed`] is about to tell of are new by their names: one that was moved is as old as
    /// before.
    pub fn made(&self, paths: impl IntoIterator<Item = PathBuf>) {
        let mut made = locked(&self.made);
        made.extend(paths);
        if made.len() > MAX_MADE {
            made.clear();
        }
    }

    /// Files were made, changed or deleted on disk, by whomever.
    pub fn disk_changed(&self, paths: &[PathBuf]) {
        let is_new: Vec<bool> = {
            let mut made = locked(&self.made);
            paths.iter().map(|path| made.remove(path)).collect()
        };
        for (child, connection) in self.live() {
            let root = &child.key.root;
            let mine = paths.iter().filter(|p| p.starts_with(root));
            let changes: Vec<Value> = paths
                .iter()
                .zip(&is_new)
                .filter(|(p, _)| p.starts_with(root))
                .map(|(p, is_new)| {
                    json!({"uri": uri::from_path(p), "type": connection.change_of(p, *is_new)})
                })
                .collect();
            if !changes.is_empty() {
                mine.for_each(|p| connection.touch(p));
                connection.notify(
                    "workspace/didChangeWatchedFiles",
                    &json!({"changes": changes}),
                );
            }
        }
    }

    pub fn states(&self) -> Vec<State> {
        let children: Vec<Arc<Child>> = locked(&self.children).values().cloned().collect();
        let mut states: Vec<State> = children
            .iter()
            .map(|child| {
                let state = match child.step() {
                    Step::Starting | Step::Down(_) => "starting",
                    Step::Ready(connection) if connection.activity.is_indexing() => "indexing",
                    Step::Ready(_) => "ready",
                    Step::Leaving => "ending",
                    Step::Failed(..) => "failed",
                    Step::Stopped => "stopped",
                };
                let pid = child.pid();
                State {
                    language: child.row.language.clone(),
                    command: child.row.command.clone(),
                    state: state.into(),
                    pid,
                    root: child.key.root.clone(),
                    memory: pid.and_then(os::group_memory),
                    restarts: child.restarts.load(std::sync::atomic::Ordering::Relaxed),
                }
            })
            .collect();
        states.sort_by(|a, b| (&a.language, &a.root).cmp(&(&b.language, &b.root)));
        states
    }

    /// What the server of a file says is wrong with itself: its answers may lack what it has not read.
    pub async fn trouble(&self, file: &Path, language: Option<&str>) -> Option<String> {
        let child = self.child_of(file, language).await.ok()?;
        let trouble = child.ready()?.activity.trouble()?;
        Some(says(&child, &trouble))
    }

    /// Tells a person the same, once, where an answer was «nothing».
    pub async fn tell_trouble(&self, file: &Path) {
        let Ok(child) = self.child_of(file, None).await else {
            return;
        };
        let Some(host) = self.shared.host() else {
            return;
        };
        let Some(trouble) = child.ready().and_then(|c| c.activity.untold_trouble()) else {
            return;
        };
        let root = &child.key.root;
        let markers = child.row.root_markers.iter();
        let look = markers
            .filter(|marker| root.join(marker).is_file())
            .map(|marker| format!(": look at {marker} there"))
            .next();
        let text = format!(
            "{} It may find too little in {} until that is mended{}.",
            says(&child, &trouble),
            root.display(),
            look.unwrap_or_default()
        );
        host.message(Level::Warning, &text);
    }

    /// Ends all children, within a second.
    pub async fn shutdown(&self) {
        write(&self.shared.look, None);
        write(&self.shared.trusted, Vec::new());
        locked(&self.found).clear();
        let children: Vec<Arc<Child>> = locked(&self.children)
            .drain()
            .map(|(_, child)| child)
            .collect();
        children.iter().for_each(|child| child.stop());
        let all = futures::future::join_all(children.iter().map(|child| child.stopped()));
        let _ = tokio::time::timeout(Duration::from_millis(950), all).await;
    }

    fn live(&self) -> Vec<(Arc<Child>, Arc<Connection>)> {
        locked(&self.children)
            .values()
            .filter_map(|child| Some((Arc::clone(child), child.ready()?)))
            .collect()
    }
}
