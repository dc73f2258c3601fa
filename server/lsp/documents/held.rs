//! Changes that came before one that they follow. Helix before 25.07 sends each by a task of its own, so that of keys
//! typed fast a later one may come first. It counts versions by one: what leaves one out waits a moment for it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::{apply, saved, told_version};
use crate::lsp::Server;

/// How long a change waits for those before it.
const HOLD: Duration = Duration::from_millis(200);

#[derive(Default)]
pub(super) struct Held {
    /// Taken while a notification is applied, or what was held: never both at once.
    order: Mutex<()>,
    /// By URI.
    files: Mutex<HashMap<String, Waiting>>,
}

struct Waiting {
    path: PathBuf,
    /// The number of this wait.
    wait: u64,
    /// `didChange` by version.
    changes: BTreeMap<i32, Value>,
    /// A `didSave` that came meanwhile is of a text that is not known yet.
    save: Option<Value>,
}

impl Held {
    pub fn order(&self) -> MutexGuard<'_, ()> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn any(&self) -> bool {
        !self.files().is_empty()
    }

    pub fn holds(&self, path: &Path) -> bool {
        self.files().values().any(|waiting| waiting.path == path)
    }

    /// The document begins or ends: what was before it counts no more.
    pub fn forget(&self, uri: &str) {
        self.files().remove(uri);
    }

    /// Whether the save was put behind the changes that are held.
    pub fn save(&self, uri: &str, params: &Value) -> bool {
        let mut files = self.files();
        let waiting = files.get_mut(uri);
        waiting.is_some_and(|waiting| {
            waiting.save = Some(params.clone());
            true
        })
    }

    /// The next change that is held, where it follows `known`; with `all`, whatever it follows.
    fn next(&self, uri: &str, known: i32, all: bool) -> Option<Value> {
        let mut files = self.files();
        let changes = &mut files.get_mut(uri)?.changes;
        let first = *changes.first_key_value()?.0;
        (all || first <= known.saturating_add(1)).then(|| changes.remove(&first))?
    }
}

impl super::Documents {
    /// Whether any file's newest changes wait for one before them.
    pub fn hold_changes(&self) -> bool {
        self.held.any()
    }

    /// Whether what is known of a file's text is about to change.
    pub fn is_held(&self, path: &Path) -> bool {
        self.held.holds(path)
    }

    /// Waits until no change is held, and not for ever: an author may go on typing.
    pub async fn settled(&self) {
        let mut news = self.news();
        let quiet = async { while self.held.any() && news.changed().await.is_ok() {} };
        // What is held still is refused by whoever needs it.
        let _ = tokio::time::timeout(2 * HOLD, quiet).await;
    }
}

/// Whether a change waits from now on: one before it has not come yet.
pub(super) fn hold(server: &Arc<Server>, uri: &str, path: &Path, params: &Value) -> bool {
    let documents = &server.documents;
    if !server.capabilities().shuffles_changes || documents.is_unfit(path) {
        return false;
    }
    let known = server.session.get().and_then(|it| it.buffers.version(path));
    let (Some(version), Some(known)) = (told_version(params), known) else {
        return false;
    };
    if version <= known.saturating_add(1) {
        return false;
    }
    let mut files = documents.held.files();
    let is_first = !files.contains_key(uri);
    let waiting = files.entry(uri.to_owned()).or_insert_with(|| Waiting {
        path: path.to_owned(),
        wait: 0,
        changes: BTreeMap::new(),
        save: None,
    });
    // Two of one version: the older one counts first, as it came first.
    if waiting.changes.contains_key(&version) {
        return false;
    }
    waiting.changes.insert(version, params.clone());
    drop(files);
    if is_first {
        wait(server, uri);
    }
    true
}

/// Ends the wait when its time is over, if nothing else has by then.
fn wait(server: &Arc<Server>, uri: &str) {
    let number = *server.documents.count.borrow();
    if let Some(waiting) = server.documents.held.files().get_mut(uri) {
        waiting.wait = number;
    }
    let (server, uri) = (server.clone(), uri.to_owned());
    server.runtime.clone().spawn(async move {
        tokio::time::sleep(HOLD).await;
        let worked = tokio::task::spawn_blocking(move || {
            let documents = &server.documents;
            let _order = documents.held.order();
            let files = documents.held.files();
            let is_same = files.get(&uri).is_some_and(|it| it.wait == number);
            drop(files);
            if is_same {
                tracing::info!("of {uri} a change did not come: those behind it count without it");
                release(&server, &uri, true);
                documents.count.send_modify(|count| *count += 1);
            }
        });
        if worked.await.is_err() {
            tracing::error!("a defect while changes that were held were applied");
        }
    });
}

/// Applies what is held and is next by now; with `all`, whatever is held.
pub(super) fn release(server: &Arc<Server>, uri: &str, all: bool) {
    let documents = &server.documents;
    let Some(path) = documents.held.files().get(uri).map(|it| it.path.clone()) else {
        return;
    };
    let known = || {
        let session = server.session.get();
        session.and_then(|session| session.buffers.version(&path))
    };
    let mut has_gone_on = false;
    // Of a text that is lost no more is known by a change: it is passed over by `apply`.
    while let Some(params) = documents.held.next(
        uri,
        known().unwrap_or_default(),
        all || documents.is_unfit(&path),
    ) {
        apply(server, uri, &path, &params);
        has_gone_on = true;
    }
    let ended = {
        let mut files = documents.held.files();
        let is_empty = files.get(uri).is_some_and(|it| it.changes.is_empty());
        is_empty.then(|| files.remove(uri)).flatten()
    };
    match ended {
        Some(ended) => {
            if let Some(params) = ended.save {
                saved(server, uri, &path, &params);
            }
        }
        // Another one is missing, which has as much time.
        None if has_gone_on => wait(server, uri),
        None => {}
    }
}
