//! Pushed diagnostics: one thread that publishes, file after file, open documents first. No debounce; of a file
//! whose text changed meanwhile nothing stale is sent, for it stands in the queue again. When it is quiet, what was
//! typed is written down.

use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use dashmap::DashMap;
use serde::Serialize;
use tokio::sync::broadcast;

use super::to_proto::Diagnostics;
use super::{Server, diagnostics, margin, to_proto};
use crate::os;

pub(super) struct Publisher {
    queue: Mutex<Queue>,
    news: Condvar,
    /// Files that the client pulls: they are no longer pushed, or they would be shown twice. Pulled as a part of
    /// the workspace (`true`), a file stays so when its document is closed.
    pulled: DashMap<PathBuf, bool>,
    /// Whoever waits for a change hears which file; `None`: the end.
    changes: broadcast::Sender<Option<PathBuf>>,
    /// A large document was closed: what it took is given back when it is quiet.
    closed_much: AtomicBool,
}

pub(super) type News = broadcast::Receiver<Option<PathBuf>>;

/// Nothing changed for so long: the author has stopped typing.
const QUIET: Duration = Duration::from_millis(700);
/// Closed documents of so many bytes leave much memory behind: what is known of a text is many times the text.
const MUCH: usize = 256 << 10;
/// Changes that are kept for one who is slow; more are told of as "many".
const KEPT: usize = 1024;

impl Default for Publisher {
    fn default() -> Self {
        Self {
            queue: Mutex::default(),
            news: Condvar::new(),
            pulled: DashMap::new(),
            changes: broadcast::Sender::new(KEPT),
            closed_much: AtomicBool::new(false),
        }
    }
}

#[derive(Default)]
struct Queue {
    urgent: VecDeque<PathBuf>,
    later: VecDeque<PathBuf>,
    waiting: HashSet<PathBuf>,
    withdrawn: Vec<PathBuf>,
    stopped: bool,
    over: bool,
}

enum Next {
    Publish(PathBuf),
    Quiet,
}

impl Publisher {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files that change from now on.
    pub fn news(&self) -> News {
        self.changes.subscribe()
    }

    /// A document that somebody looks at.
    pub fn urgent(&self, path: PathBuf) {
        // Nobody listens: nothing to tell.
        let _ = self.changes.send(Some(path.clone()));
        self.at_once(path);
    }

    /// A document of so many bytes was closed.
    pub fn closed(&self, bytes: usize) {
        if bytes >= MUCH {
            self.closed_much.store(true, Ordering::Relaxed);
        }
    }

    fn at_once(&self, path: PathBuf) {
        let mut queue = self.lock();
        if queue.waiting.insert(path.clone()) {
            queue.urgent.push_back(path);
        } else if let Some(at) = queue.later.iter().position(|other| *other == path) {
            queue.later.remove(at);
            queue.urgent.push_back(path);
        }
        self.news.notify_one();
    }

    pub fn later(&self, paths: impl IntoIterator<Item = PathBuf>) {
        let mut queue = self.lock();
        for path in paths {
            let _ = self.changes.send(Some(path.clone()));
            if queue.waiting.insert(path.clone()) {
                queue.later.push_back(path);
            }
        }
        self.news.notify_one();
    }

    /// The client asks for this file's diagnostics itself, alone or with the `whole` workspace.
    pub fn pulled(&self, path: PathBuf, whole: bool) {
        let known = self.pulled.get(&path).map(|known| *known);
        if known.is_none() || known == Some(false) && whole {
            self.pulled.insert(path.clone(), whole);
        }
        if known.is_none() {
            self.at_once(path);
        }
    }

    /// A workspace folder is gone, and with it what is shown of its closed files. `told`: files that the client was told
    /// of otherwise than by diagnostics.
    pub fn withdraw(&self, folder: &Path, told: impl IntoIterator<Item = PathBuf>) {
        // What is pulled is not among what was pushed.
        let mut gone: HashSet<PathBuf> =
            self.pulled.iter().map(|file| file.key().clone()).collect();
        gone.extend(told);
        gone.retain(|path| path.starts_with(folder));
        self.later(gone);
        self.lock().withdrawn.push(folder.to_owned());
        self.news.notify_one();
    }

    /// Nobody is to wait for a change any more. Whoever subscribes later sees it by [`Self::is_over`].
    pub fn end_news(&self) {
        self.lock().over = true;
        let _ = self.changes.send(None);
    }

    pub fn is_over(&self) -> bool {
        self.lock().over
    }

    pub fn stop(&self) {
        self.lock().stopped = true;
        self.end_news();
        self.news.notify_all();
    }

    /// `shown`: the files that something is shown of. `news`: whether anything was published since it was quiet.
    fn next(&self, shown: &HashMap<PathBuf, String>, news: bool) -> Option<Next> {
        let mut queue = self.lock();
        loop {
            if queue.stopped {
                return None;
            }
            for folder in std::mem::take(&mut queue.withdrawn) {
                for path in shown.keys().filter(|path| path.starts_with(&folder)) {
                    if queue.waiting.insert(path.clone()) {
                        queue.later.push_back(path.clone());
                    }
                }
            }
            let next = queue.urgent.pop_front();
            if let Some(path) = next.or_else(|| queue.later.pop_front()) {
                queue.waiting.remove(&path);
                return Some(Next::Publish(path));
            }
            queue = if news {
                let waited = self.news.wait_timeout(queue, QUIET);
                let (queue, time) = waited.unwrap_or_else(PoisonError::into_inner);
                if time.timed_out() && queue.waiting.is_empty() {
                    return Some(Next::Quiet);
                }
                queue
            } else {
                let waited = self.news.wait(queue);
                waited.unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}

pub(super) fn start(server: &Arc<Server>) {
    let server = Arc::downgrade(server);
    std::thread::spawn(move || run(&server));
}

fn run(server: &Weak<Server>) {
    // Files whose published list is not empty, with the URI it was published under.
    let mut shown: HashMap<PathBuf, String> = HashMap::new();
    let mut last = diagnostics::Last::default();
    let Some(server) = server.upgrade() else {
        return;
    };
    let _runtime = server.runtime.enter();
    let mut news: HashSet<PathBuf> = HashSet::new();
    while let Some(next) = server.publisher.next(&shown, !news.is_empty()) {
        let path = match next {
            Next::Publish(path) => path,
            Next::Quiet => {
                let session = server.session.get();
                for path in news.drain() {
                    let kept = || session.map(|session| session.keep_typed(&path));
                    guarded(&path, "what was typed", kept);
                }
                if server.publisher.closed_much.swap(false, Ordering::Relaxed) {
                    os::return_memory();
                }
                continue;
            }
        };
        guarded(&path, "the diagnostics", || {
            publish(&server, &path, &mut shown, &mut last);
        });
        news.insert(path);
    }
}

/// A defect in one file's work ends that alone.
fn guarded<T>(path: &Path, what: &str, work: impl FnOnce() -> T) {
    if std::panic::catch_unwind(AssertUnwindSafe(work)).is_err() {
        tracing::error!("a defect with {what} of {}", path.display());
    }
}

fn publish(
    server: &Server,
    path: &PathBuf,
    shown: &mut HashMap<PathBuf, String>,
    last: &mut diagnostics::Last,
) {
    let Some(session) = server.session.get() else {
        return;
    };
    let view = diagnostics::viewed(server, session, path);
    let (version, mut list) = match &view {
        Some(view) => diagnostics::of_view(server, session, view, last),
        None => (None, Diagnostics::new("")),
    };
    let seen = view.as_ref().and_then(|view| view.buffer.as_ref());
    if seen.is_some_and(|seen| session.buffers.generation(path) != Some(seen.generation)) {
        // The text changed meanwhile: the file stands in the queue again.
        return;
    }
    // Under the name of the text that was seen: the file may go on under another one by now, with a text of its own.
    let open = match seen {
        Some(seen) => Some(seen.uri.clone()),
        None => server.documents.uri(path),
    };
    margin::publish(server, path, open.as_deref(), view.as_ref());
    if server.publisher.pulled.contains_key(path) {
        // Closed: the next document under this path starts anew. Looked up here, for it may have been opened and
        // pulled since this began.
        server.publisher.pulled.remove_if(path, |path, whole| {
            !whole && server.documents.uri(path).is_none()
        });
        list.clear();
        if !shown.contains_key(path) {
            return;
        }
    }
    // Of a closed file an empty list is sent only to take back another.
    if list.is_empty() && open.is_none() && !shown.contains_key(path) {
        return;
    }
    let uri = open
        .or_else(|| shown.get(path).cloned())
        .unwrap_or_else(|| to_proto::uri(server, path));
    let before = match list.is_empty() {
        true => shown.remove(path),
        false => shown.insert(path.clone(), uri.clone()),
    };
    // What was shown under another name is taken back under that name.
    if let Some(before) = before.filter(|before| *before != uri) {
        send(server, &before, None, Diagnostics::new(""));
    }
    send(server, &uri, version, list);
}

fn send(server: &Server, uri: &str, version: Option<i32>, list: Diagnostics) {
    let params = Params {
        uri,
        diagnostics: list,
        version,
    };
    let message = Message {
        jsonrpc: "2.0",
        method: "textDocument/publishDiagnostics",
        params,
    };
    server.client.outbox.publish(uri, &message);
}

#[derive(Serialize)]
struct Message<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: Params<'a>,
}

/// `PublishDiagnosticsParams` (LSP 3.17 §PublishDiagnostics).
#[derive(Serialize)]
struct Params<'a> {
    uri: &'a str,
    diagnostics: Diagnostics,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<i32>,
}
