//! The workspaces of a client: its roots; without any the folder that the server was started for.
#![expect(
    deprecated,
    reason = "newer revisions of the protocol have no roots; the clients of today do"
)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::OnceCell;

use super::log::Log;
use super::queue::Queue;
use super::subscriptions::Subscriptions;
use super::told::Told;
use super::{Peer, Shared};
use crate::children::uri;
use crate::config::Folders;
use crate::host::{BufferEdit, Host, Level, NotApplied, Progress, Question};
use crate::os;
use crate::session::Session;
use crate::verbs::Failure;

/// A client that has roots and does not name them is served without.
const PATIENCE: Duration = Duration::from_secs(10);

/// One root.
pub(super) struct Place {
    /// Canonical.
    pub root: PathBuf,
    /// For the calls that no editor's server takes.
    pub session: Arc<Session>,
    /// Where the last call went, so that a change is told once.
    last: Mutex<String>,
}

/// A root that cannot be used, and why.
pub(super) struct Missing {
    pub root: PathBuf,
    pub why: String,
}

/// What the client's roots lead to.
#[derive(Default)]
pub(super) struct Found {
    pub places: Vec<Arc<Place>>,
    pub missing: Vec<Missing>,
}

impl Found {
    /// Why something may be where nobody can look.
    pub fn failure(&self) -> Option<Failure> {
        let missing = self.missing.first();
        missing.map(|missing| Failure::new("file", &missing.why))
    }
}

pub(super) struct Workspaces {
    pub folders: Folders,
    pub log: Log,
    pub subscriptions: Subscriptions,
    pub told: Told,
    /// Of the calls that write.
    pub queue: Queue,
    /// Why the client's introduction was not taken.
    pub unintroduced: OnceLock<String>,
    fallback: PathBuf,
    /// Asked for at the first call, and again when the client says that they changed or when one that was missing is
    /// there.
    found: RwLock<Arc<OnceCell<Arc<Found>>>>,
    /// Of the roots that were known before.
    known: RwLock<Vec<Arc<Place>>>,
}

impl Workspaces {
    pub fn new(fallback: PathBuf, folders: Folders) -> Self {
        Self {
            folders,
            log: Log::default(),
            subscriptions: Subscriptions::default(),
            told: Told::default(),
            queue: Queue::default(),
            unintroduced: OnceLock::new(),
            fallback,
            found: RwLock::default(),
            known: RwLock::default(),
        }
    }

    pub fn roots_changed(&self) {
        *self.found.write().unwrap_or_else(PoisonError::into_inner) = Arc::default();
    }

    fn cell(&self) -> Arc<OnceCell<Arc<Found>>> {
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        found.clone()
    }

    /// At least one place, or why there is none.
    pub async fn places(self: &Arc<Self>, peer: &Peer) -> Result<Arc<Found>, Failure> {
        let cell = self.cell();
        let is_there = |missing: &Missing| missing.root.is_dir();
        let known = cell.get();
        if known.is_some_and(|known| known.missing.iter().any(is_there)) {
            let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
            // Once, of several calls that see it.
            if Arc::ptr_eq(&found, &cell) {
                *found = Arc::default();
            }
        }
        let cell = self.cell();
        let found = cell.get_or_init(|| self.find(peer)).await.clone();
        if found.places.is_empty() {
            let none = || Failure::new("file", "there is no workspace folder");
            return Err(found.failure().unwrap_or_else(none));
        }
        Ok(found)
    }

    async fn find(self: &Arc<Self>, peer: &Peer) -> Arc<Found> {
        let roots = match self.ask(peer).await {
            Some(roots) => roots,
            None => vec![self.fallback.clone()],
        };
        let mut found = Found::default();
        let places = &mut found.places;
        for root in roots {
            match self.place(&root) {
                Ok(place) if places.iter().all(|known| known.root != place.root) => {
                    places.push(place);
                }
                Ok(_) => {}
                Err(why) => {
                    self.log.say(Level::Warning, &why);
                    found.missing.push(Missing { root, why });
                }
            }
        }
        let old = {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *known, places.clone())
        };
        for gone in old
            .into_iter()
            .filter(|old| places.iter().all(|place| place.root != old.root))
        {
            gone.session.shutdown().await;
        }
        Arc::new(found)
    }

    /// The client's roots; `None`: it has none to tell.
    async fn ask(&self, peer: &Peer) -> Option<Vec<PathBuf>> {
        let client = peer.peer_info()?;
        client.capabilities.roots.as_ref()?;
        let asked = tokio::time::timeout(PATIENCE, peer.list_roots()).await;
        let roots = match asked {
            Ok(Ok(listed)) => listed.roots,
            Ok(Err(error)) => {
                let text = format!("the client did not name its roots ({error})");
                self.log.say(Level::Warning, &text);
                return None;
            }
            Err(_) => {
                let text = "the client did not name its roots in time";
                self.log.say(Level::Warning, text);
                return None;
            }
        };
        // A client without an open folder.
        if roots.is_empty() {
            return None;
        }
        let paths = roots.iter().filter_map(|root| {
            let path = uri::to_path(&root.uri);
            if path.is_none() {
                let text = format!("the root {} is no folder of this machine", root.uri);
                self.log.say(Level::Warning, &text);
            }
            path
        });
        Some(paths.collect())
    }

    fn place(self: &Arc<Self>, root: &Path) -> Result<Arc<Place>, String> {
        let shown = root.display();
        let canonical = os::canonical(root)
            .map_err(|error| format!("the root {shown} cannot be used: {error}"))?;
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = known.iter().find(|place| place.root == canonical) {
            return Ok(place.clone());
        }
        drop(known);
        let host = Arc::new(Client(Arc::downgrade(self)));
        let session = Session::new(vec![canonical.clone()], None, host, self.folders.clone())
            .map_err(|error| format!("the root {shown} cannot be used: {error}"))?;
        Ok(Arc::new(Place {
            root: canonical,
            session,
            last: Mutex::default(),
        }))
    }

    pub async fn shutdown(&self) {
        let known =
            std::mem::take(&mut *self.known.write().unwrap_or_else(PoisonError::into_inner));
        for place in known {
            place.session.shutdown().await;
        }
    }
}

impl Place {
    /// `true`: the call before went another way, or there was none.
    pub fn takes(&self, way: &str) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = *last != way;
        if changed {
            way.clone_into(&mut last);
        }
        changed
    }
}

/// The client as a host: it has no buffers, and nobody there can be asked.
struct Client(Weak<Workspaces>);

#[async_trait]
impl Host for Client {
    async fn apply(&self, _label: &str, _edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        Err(NotApplied::NoEditor)
    }

    async fn ask(&self, _question: Question) -> Option<usize> {
        None
    }

    fn message(&self, level: Level, text: &str) {
        let shared: Option<Shared> = self.0.upgrade();
        if let Some(shared) = shared {
            shared.log.say(level, text);
        }
    }

    fn progress(&self, _run: &str, _progress: Progress) {}

    fn changed(&self, _paths: &[PathBuf]) {}
}
