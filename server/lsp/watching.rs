//! What changes on disk, as the client or our own watch tells it: gathered, and caught up with by one thread.
//! A storm of changes (another branch is checked out) becomes one look at the tree.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dashmap::DashMap;
use serde_json::{Value, json};

use super::{Server, lifecycle};
use crate::config::PROJECT_FILE;
use crate::files::{News, Watch, watch};
use crate::host::Level;
use crate::os;
use crate::session::STORM;
use crate::vcs;

/// A storm is over when git is at rest and nothing has been told for as long as the last look at the tree took, but
/// for no more than this. So of a storm that goes on, looks take half of the time at most. Who has heard nothing for twice
/// this time since the last look is in another storm, and does not rest at first.
const CALM: Duration = Duration::from_millis(100);
/// How often git is asked whether it is at rest.
const ASK: Duration = Duration::from_millis(2);
/// Git may be at work for long (its index is locked while a commit's message is written): some changes
/// wait so long for it, many so long.
const LONG: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(10);
/// What took so long to catch up with read much, and freed it again.
const MUCH: Duration = Duration::from_millis(50);

#[derive(Default)]
pub(super) struct Watching {
    pending: Mutex<Pending>,
    news: Condvar,
    /// Folders that this server watches itself.
    watches: DashMap<PathBuf, Watch>,
    /// The client was asked to watch.
    asked: AtomicBool,
}

#[derive(Default)]
struct Pending {
    paths: HashSet<PathBuf>,
    all: bool,
    /// Counts what was told, ever, and how much of it is caught up with.
    told: usize,
    done: usize,
    stopped: bool,
}

impl Watching {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn tell(&self, paths: impl IntoIterator<Item = PathBuf>, all: bool) {
        let mut pending = self.lock();
        pending.paths.extend(paths);
        pending.all |= all;
        pending.told += 1;
        self.news.notify_all();
    }

    /// The same; returns when it is caught up with.
    fn tell_and_wait(&self, paths: impl IntoIterator<Item = PathBuf>, all: bool) {
        self.tell(paths, all);
        let mut pending = self.lock();
        let told = pending.told;
        while pending.done < told && !pending.stopped {
            pending = self
                .news
                .wait(pending)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns when what was told until now is caught up with, or so much time has passed.
    pub fn catch_up(&self, most: Duration) {
        let pending = self.lock();
        let told = pending.told;
        let behind = |pending: &mut Pending| pending.done < told && !pending.stopped;
        drop(self.news.wait_timeout_while(pending, most, behind));
    }

    fn done(&self, told: usize) {
        self.lock().done = told;
        self.news.notify_all();
    }

    pub fn stop(&self) {
        self.lock().stopped = true;
        self.news.notify_all();
        self.watches.clear();
    }

    pub fn forget(&self, folder: &Path) {
        self.watches.remove(folder);
    }

    /// What happened since the last call; waits for it, and for the end of a storm. The first changes of a storm are
    /// not waited behind: more may never come. `None`: it is over.
    fn take(&self, roots: &dyn Fn() -> Vec<PathBuf>, last: Option<Look>) -> Option<Taken> {
        let mut pending = self.lock();
        while pending.told == pending.done && !pending.stopped {
            pending = self
                .news
                .wait(pending)
                .unwrap_or_else(PoisonError::into_inner);
        }
        drop(pending);
        // Where they are is looked up once: of a checkout it is asked hundreds of times, while git is at work.
        let roots = roots().into_iter();
        let locks: Vec<PathBuf> = roots.filter_map(|root| vcs::index_lock(&root)).collect();
        let busy = || locks.iter().any(|lock| lock.exists());
        let began = Instant::now();
        let rest = last
            .filter(|last| last.ended + 2 * CALM > began)
            .map_or(Duration::ZERO, |last| last.took.min(CALM));
        let (mut told, mut since) = (0, began);
        pending = self.lock();
        loop {
            if std::mem::replace(&mut told, pending.told) != pending.told {
                since = Instant::now();
            }
            let storm = pending.paths.len() > STORM;
            let most = if storm { LONGEST } else { LONG };
            let left = match storm {
                true => rest.saturating_sub(since.elapsed()),
                false => Duration::ZERO,
            };
            let calm = left.is_zero() && !busy();
            if calm || pending.stopped || began.elapsed() > most {
                break;
            }
            let wait = if left.is_zero() { ASK } else { left };
            pending = self
                .news
                .wait_timeout_while(pending, wait, |pending| !pending.stopped)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        if pending.stopped {
            return None;
        }
        Some(Taken {
            paths: pending.paths.drain().collect(),
            all: std::mem::take(&mut pending.all),
            told: pending.told,
        })
    }
}

/// A look at all that changed.
#[derive(Clone, Copy)]
struct Look {
    took: Duration,
    ended: Instant,
}

struct Taken {
    paths: Vec<PathBuf>,
    all: bool,
    told: usize,
}

pub(super) fn start(server: &Arc<Server>) {
    let server = Arc::downgrade(server);
    std::thread::spawn(move || {
        let Some(server) = server.upgrade() else {
            return;
        };
        let _runtime = server.runtime.enter();
        let roots = || {
            let workspaces = server.session.get().map(|session| session.workspaces());
            let roots = workspaces.into_iter().flatten();
            roots.map(|workspace| workspace.root().to_owned()).collect()
        };
        let mut last = None;
        while let Some(Taken { paths, all, told }) = server.watching.take(&roots, last) {
            let Some(session) = server.session.get() else {
                server.watching.done(told);
                continue;
            };
            let began = Instant::now();
            let caught_up =
                std::panic::catch_unwind(AssertUnwindSafe(|| session.disk_changed(&paths, all)));
            match caught_up {
                Ok(files) => {
                    if all || paths.iter().any(|path| path.ends_with(PROJECT_FILE)) {
                        lifecycle::settings_changed(&server, session);
                    }
                    server.publisher.later(files);
                }
                Err(_) => tracing::error!("a defect while changed files were read"),
            }
            server.watching.done(told);
            let look = last.insert(Look {
                took: began.elapsed(),
                ended: Instant::now(),
            });
            if look.took > MUCH {
                os::return_memory();
            }
        }
    });
}

/// Has the client watch its folders, where it can: asked for once, and not while all that it has are spared
/// ([`crate::session::Session::walks`]).
pub(super) fn registration(server: &Server) -> Option<Value> {
    let session = server.session.get()?;
    let workspaces = session.workspaces();
    let spared = workspaces.iter().all(|workspace| !session.walks(workspace));
    if !server.capabilities().watch_files || (spared && !workspaces.is_empty()) {
        return None;
    }
    let is_first = !server.watching.asked.swap(true, Ordering::Relaxed);
    is_first.then(|| {
        json!({"id": "postil-files", "method": "workspace/didChangeWatchedFiles",
            "registerOptions": {"watchers": [{"globPattern": "**/*"}]}})
    })
}

/// Watches the folders where the client does not (Neovim on Linux, for one).
pub(super) fn watch_ourselves(server: &Arc<Server>) {
    if server.capabilities().watch_files {
        return;
    }
    let server = server.clone();
    server.runtime.clone().spawn_blocking(move || {
        let Some(session) = server.session.get() else {
            return;
        };
        for workspace in session.workspaces() {
            let root = workspace.root().to_owned();
            if server.watching.watches.contains_key(&root) || !session.walks(&workspace) {
                continue;
            }
            let weak = Arc::downgrade(&server);
            let shown = root.display().to_string();
            let changed = move |news: News| {
                let News {
                    paths,
                    made,
                    all,
                    limit,
                } = news;
                let Some(server) = weak.upgrade() else {
                    return;
                };
                if let Some(session) = server.session.get() {
                    session.children.made(made);
                }
                if let (Some(why), Some(session)) = (limit, server.session.get()) {
                    let message = format!(
                        "Not every folder below {shown} can be watched: {why}. postil looks for changes every few seconds instead."
                    );
                    session.host.message(Level::Warning, &message);
                }
                match all && paths.is_empty() {
                    // How long that takes decides how soon everything is looked at again.
                    true => server.watching.tell_and_wait(paths, all),
                    false => server.watching.tell(paths, all),
                }
            };
            match watch(workspace.tree.clone(), changed) {
                Ok(watch) => {
                    server.watching.watches.insert(root.clone(), watch);
                    // Removed while its folders were gone through.
                    if !session.workspaces().iter().any(|w| w.root() == root) {
                        server.watching.forget(&root);
                    }
                    // What came between the first look and the watch was told by nobody.
                    workspace.names.forget();
                    server.watching.tell([root.join(PROJECT_FILE), root], false);
                }
                Err(why) => session.host.message(
                    Level::Warning,
                    &format!("Changes of closed files below {} are not noticed: {why}.", root.display()),
                ),
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_at_everything_is_waited_for() {
        let watching = Watching::default();
        let looked = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while let Some(taken) = watching.take(&Vec::new, None) {
                    std::thread::sleep(Duration::from_millis(50));
                    looked.store(taken.all, Ordering::Release);
                    watching.done(taken.told);
                }
            });
            watching.tell([PathBuf::from("/a")], false);
            watching.tell_and_wait([], true);
            assert!(looked.load(Ordering::Acquire));
            watching.stop();
            // Nobody catches up any more.
            watching.tell_and_wait([], true);
        });
    }
}
