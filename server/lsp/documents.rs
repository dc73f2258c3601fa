//! Open documents: the notifications, applied on the reading thread in the order of the wire, and what the
//! face remembers of them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use dashmap::DashMap;
use serde_json::Value;
use tokio::sync::watch;

use super::{Server, commands, from_proto, host, lifecycle};
use crate::children;
use crate::host::Level;
use crate::session::Session;
use crate::text::{Change, Document, Unfit};

mod closed;
mod held;
mod others;

use closed::Closed;
use held::Held;
use others::{Other, Others};

pub(super) struct Documents {
    /// URI to path, as they stood when the document was opened; of each path one URI.
    open: DashMap<String, PathBuf>,
    others: Others,
    /// Documents of which the server lost track, until they are opened anew or their whole text is sent; with the
    /// greatest version that was told of since.
    unfit: DashMap<PathBuf, i32>,
    held: Held,
    /// URIs that the client is about to save of its own accord, by a timer or because the author is elsewhere.
    unasked: DashMap<String, ()>,
    /// The open URIs that child servers spell otherwise.
    other_names: DashMap<String, ()>,
    closed: Mutex<Closed>,
    /// Counts document notifications; see [`Documents::news`].
    count: watch::Sender<u64>,
    /// Workspace folders: as the client names them, and with links resolved.
    folders: RwLock<Vec<(PathBuf, PathBuf)>>,
}

impl Default for Documents {
    fn default() -> Self {
        Self {
            open: DashMap::new(),
            others: Others::default(),
            unfit: DashMap::new(),
            held: Held::default(),
            unasked: DashMap::new(),
            other_names: DashMap::new(),
            closed: Mutex::default(),
            count: watch::Sender::new(0),
            folders: RwLock::default(),
        }
    }
}

impl Documents {
    /// The path of a URI: that under which it was opened, else what it says.
    pub fn path(&self, uri: &str) -> Option<PathBuf> {
        let open = self.open.get(uri).map(|path| path.clone());
        open.or_else(|| self.others.path(uri))
            .or_else(|| from_proto::path(uri))
    }

    /// Takes a URI as the one under which a path is served; whether it was before.
    fn serve(&self, uri: &str, path: &Path) -> bool {
        if children::uri::from_path(path) != uri {
            self.other_names.insert(uri.to_owned(), ());
        }
        self.open.insert(uri.to_owned(), path.to_owned()).is_some()
    }

    fn serve_no_more(&self, uri: &str) {
        self.open.remove(uri);
        self.other_names.remove(uri);
    }

    /// The URI under which a path is open, and served.
    pub fn uri(&self, path: &Path) -> Option<String> {
        self.open
            .iter()
            .find(|entry| entry.value() == path)
            .map(|entry| entry.key().clone())
    }

    /// The other URIs under which a path is open, and not served.
    pub fn other_uris(&self, path: &Path) -> Vec<String> {
        self.others.uris(path)
    }

    /// Whether the client names any file otherwise than child servers do.
    pub fn has_other_names(&self) -> bool {
        let folders = self.folders.read().unwrap_or_else(PoisonError::into_inner);
        !self.other_names.is_empty() || folders.iter().any(|(named, canonical)| named != canonical)
    }

    fn mark_unfit(&self, path: &Path) {
        self.unfit.entry(path.to_owned()).or_insert(i32::MIN);
    }

    pub fn is_unfit(&self, path: &Path) -> bool {
        self.unfit.contains_key(path)
    }

    /// Another number after each time a URI was closed: what a client keeps of a document may go with it.
    pub fn closed(&self, uri: &str) -> u64 {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.last(uri)
    }

    /// Wakes after each document notification that was applied.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    pub fn add_folder(&self, named: PathBuf, canonical: PathBuf) {
        self.folders
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push((named, canonical));
    }

    /// The folder with links resolved, as they led when it was added.
    pub fn remove_folder(&self, named: &Path) -> Option<PathBuf> {
        let mut folders = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        let at = folders.iter().position(|folder| folder.0 == named)?;
        Some(folders.remove(at).1)
    }

    /// A path below a folder that the client reached over a link.
    pub fn as_the_client_names_it(&self, path: &Path) -> Option<PathBuf> {
        let folders = self.folders.read().unwrap_or_else(PoisonError::into_inner);
        folders.iter().find_map(|(named, canonical)| {
            path.strip_prefix(canonical)
                .ok()
                .map(|rest| named.join(rest))
        })
    }
}

/// `false`: this is no document notification. What is out of order (a change of a document that is not open,
/// a second opening) is taken as well as it can be, and logged. `is_lossy`: bytes of it were no UTF-8, and replaced.
pub(super) fn notification(
    server: &Arc<Server>,
    method: &str,
    params: &Value,
    is_lossy: bool,
) -> bool {
    let apply = match method {
        "textDocument/didOpen" => open,
        "textDocument/didChange" => change,
        "textDocument/willSave" => will_save,
        "textDocument/didSave" => save,
        "textDocument/didClose" => close,
        _ => return false,
    };
    let Some(uri) = params.pointer("/textDocument/uri").and_then(Value::as_str) else {
        tracing::warn!("{method} without a URI was ignored");
        return true;
    };
    // Other schemes (untitled:, git:) are no files: they hold no threads.
    if let Some(path) = server.documents.path(uri) {
        let _order = server.documents.held.order();
        let was_lost = server.documents.is_unfit(&path);
        apply(server, uri, path.clone(), params);
        if is_lossy {
            lose_bytes(server, uri, &path, was_lost);
        }
    }
    server.documents.count.send_modify(|count| *count += 1);
    true
}

fn open(server: &Arc<Server>, uri: &str, path: PathBuf, params: &Value) {
    let Some(session) = server.session.get() else {
        return;
    };
    let field = |name: &str| {
        params
            .pointer("/textDocument")
            .and_then(|document| document.get(name))
    };
    let Some(text) = field("text").and_then(Value::as_str) else {
        tracing::warn!("didOpen without a text was ignored");
        return;
    };
    let version = field("version").and_then(version).unwrap_or(0);
    let language = field("languageId")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let served = server.documents.uri(&path);
    if served.is_some_and(|served| served != uri) {
        tracing::info!("{uri} is {} once more", path.display());
        let served_path = path.clone();
        server.documents.others.open(Other {
            uri: uri.to_owned(),
            path,
            language: language.to_owned(),
            text: Ok(Document::new(text, version)),
            told: false,
        });
        // Who is told of threads is told where those of this name are.
        server.publisher.urgent(served_path);
        return;
    }
    server.documents.held.forget(uri);
    server.documents.unfit.remove(&path);
    if server.documents.serve(uri, &path) {
        tracing::info!("{uri} was opened twice: the newer text counts");
    }
    session.open(path.clone(), uri, language, version, text);
    server.publisher.urgent(path);
}

fn change(server: &Arc<Server>, uri: &str, path: PathBuf, params: &Value) {
    if !server.documents.open.contains_key(uri) {
        if server.documents.others.hold(uri) {
            return others::change(server, uri, &path, params);
        }
        tracing::info!("{uri} was changed but is not open");
        return;
    }
    if held::hold(server, uri, &path, params) {
        return;
    }
    apply(server, uri, &path, params);
    held::release(server, uri, false);
}

/// A change of a document that is served, to the text as it is known now.
fn apply(server: &Arc<Server>, uri: &str, path: &Path, params: &Value) {
    let Some(session) = server.session.get() else {
        return;
    };
    let was_lost = server.documents.is_unfit(path);
    let known = session.buffers.version(path).unwrap_or(0);
    let read = changes(params, known).map(|(version, mut changes)| {
        // The whole text needs nothing of what was before it.
        let whole = changes
            .iter()
            .rposition(|change| matches!(change, Change::Full(_)));
        changes.drain(..whole.unwrap_or(0));
        (version, changes, whole.is_some())
    });
    let is_passed_over = was_lost && !matches!(read, Ok((.., true)));
    let done = match is_passed_over {
        true => Err(String::new()),
        false => read.and_then(|(version, changes, _)| {
            session
                .change(path, version, &changes, server.capabilities().encoding)
                .map_err(|unfit| why(&unfit))
        }),
    };
    match done {
        Ok(()) => {
            server.documents.unfit.remove(path);
        }
        Err(_) if was_lost => {}
        Err(why) => lose(server, uri, path, &why),
    }
    if let (Some(mut greatest), Some(told)) =
        (server.documents.unfit.get_mut(path), told_version(params))
    {
        *greatest = told.max(*greatest);
        if was_lost {
            return;
        }
    }
    server.publisher.urgent(path.to_owned());
}

fn told_version(params: &Value) -> Option<i32> {
    params.pointer("/textDocument/version").and_then(version)
}

/// The version and changes of a `didChange`. Before LSP 3.16 a client could say `null` for a version that it does not
/// count: then it is the next text all the same, under the version that is `known`.
fn changes(params: &Value, known: i32) -> Result<(i32, Vec<Change>), String> {
    let changes = params.get("contentChanges").and_then(from_proto::changes);
    let version = match params.pointer("/textDocument/version") {
        None | Some(Value::Null) => Some(known),
        Some(told) => version(told),
    };
    version
        .zip(changes)
        .ok_or_else(|| String::from("a change could not be read"))
}

/// `TextDocumentSaveReason`s: 1 by hand, 2 after a while, 3 as the editor loses the focus.
fn will_save(server: &Arc<Server>, uri: &str, _: PathBuf, params: &Value) {
    let unasked = &server.documents.unasked;
    if matches!(params.get("reason").and_then(Value::as_u64), Some(2 | 3)) {
        unasked.insert(uri.to_owned(), ());
    } else {
        unasked.remove(uri);
    }
}

fn save(server: &Arc<Server>, uri: &str, path: PathBuf, params: &Value) {
    if server.documents.others.hold(uri) {
        server.documents.unasked.remove(uri);
        // For the buffer that is served that is a change on disk.
        return server.watching.tell([path], false);
    }
    if !server.documents.held.save(uri, params) {
        saved(server, uri, &path, params);
    }
}

/// The document was saved, and all changes before that are applied.
fn saved(server: &Arc<Server>, uri: &str, path: &Path, params: &Value) {
    let is_unasked = server.documents.unasked.remove(uri).is_some();
    let Some(session) = server.session.get().cloned() else {
        return;
    };
    mend(server, &session, path, params);
    session.saved(path);
    if session.is_settings(path) {
        lifecycle::settings_changed(server, &session);
    }
    // A commit that waited for this: git and its hooks may take long.
    if let Some(pending) = session.pending_commit(path) {
        let session = session.clone();
        server.runtime.spawn(async move {
            match session.commit_saved(pending).await {
                Ok(done) => session
                    .host
                    .message(Level::Info, &commands::committed(&done)),
                Err(error) => session.host.message(Level::Error, &error.to_string()),
            }
        });
    }
    server.runtime.spawn_blocking(session.settle_saved(path));
    // What is known of the text may be no question any more, and its answer could not be written; half a sentence that
    // the editor saves is none yet.
    if !is_unasked && !server.documents.is_unfit(path) {
        let saved = path.to_owned();
        server
            .runtime
            .spawn(async move { session.start_saved(&saved).await });
    }
    server.publisher.urgent(path.to_owned());
}

/// A file that was lost track of is known again by the text that its save brings. What is in that and was not known to be
/// typed before has arrived: there may have been a reload among what was not followed.
fn mend(server: &Server, session: &Session, path: &Path, params: &Value) {
    let greatest = server.documents.unfit.get(path).map(|told| *told);
    let (Some(greatest), Some(text)) = (greatest, params.get("text").and_then(Value::as_str))
    else {
        return;
    };
    let Some(buffer) = session.buffers.get(path) else {
        return;
    };
    if !server.capabilities().saves_text {
        return;
    }
    // All that was told of before it is in it.
    let version = buffer.document.version().max(greatest);
    let path = path.to_owned();
    tracing::info!("{} is known again, by its save", path.display());
    server.documents.unfit.remove(&path);
    session.open_instead(path, &buffer.uri, &buffer.language_id, version, text);
}

fn close(server: &Arc<Server>, uri: &str, path: PathBuf, _: &Value) {
    let Some(session) = server.session.get() else {
        return;
    };
    server.documents.unasked.remove(uri);
    server.documents.held.forget(uri);
    let closed = &server.documents.closed;
    closed
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .count(uri);
    if server.documents.others.close(uri) {
        // What is told of it is told again when it is opened again.
        server.publisher.urgent(path);
        return;
    }
    if !server.documents.open.contains_key(uri) {
        tracing::info!("{uri} was closed but is not open");
        return;
    }
    if !others::succeed(server, uri, &path) {
        server.documents.serve_no_more(uri);
        server.documents.unfit.remove(&path);
        let bytes = session.buffers.document(&path).map(|text| text.len());
        server.publisher.closed(bytes.unwrap_or(0));
        if let Some(text) = session.close(&path)
            && server.told.insert(text.clone())
        {
            session.host.message(Level::Warning, &text);
        }
    }
    server.tokens.forget(&path);
    server.publisher.urgent(path);
}

/// The text here is no longer the editor's: nothing is shown or written until it is opened anew.
fn lose(server: &Server, uri: &str, path: &Path, why: &str) {
    // Where nothing is written, nothing shown is missed: of its own settings code-server tells in two orders.
    let is_missed = server.session.get().is_none_or(|session| {
        let threads = || {
            session
                .view(path)
                .is_ok_and(|view| !view.threads.is_empty())
        };
        session.workspace_of(path).is_some() || threads()
    });
    server.documents.mark_unfit(path);
    let named = from_proto::named(uri);
    let name = named.as_deref().unwrap_or(path).file_name();
    let name = name.unwrap_or_default().to_string_lossy();
    tracing::warn!("lost track of {}: {why}", path.display());
    if !is_missed {
        return;
    }
    let cure = match server.capabilities().saves_text {
        true => "save it (`:w`), or close it (`:bc`) and open it again",
        false => "close and reopen the file",
    };
    let message = format!("lost track of {name} ({why}): {cure}.");
    host::message(server, Level::Error, &message);
}

/// Columns of the text count otherwise in the editor, where it has other bytes.
fn lose_bytes(server: &Server, uri: &str, path: &Path, was_lost: bool) {
    let why = "its text came with bytes that are not UTF-8: save it in UTF-8 first";
    if server.documents.others.lose(uri, why) || !server.documents.open.contains_key(uri) {
        return;
    }
    if was_lost {
        server.documents.mark_unfit(path);
    } else {
        lose(server, uri, path, why);
    }
    // Threads of what replaced them may be shown by now.
    server.publisher.urgent(path.to_owned());
}

fn why(unfit: &Unfit) -> String {
    match unfit {
        Unfit::StartAfterEnd => String::from("a change starts after its end"),
        Unfit::PastTheEnd { line, lines } => {
            format!("a change in line {}, of {lines}", u64::from(*line) + 1)
        }
        Unfit::OlderVersion { have, got } => format!("version {got} came after {have}"),
    }
}

fn version(value: &Value) -> Option<i32> {
    value
        .as_i64()
        .and_then(|version| i32::try_from(version).ok())
}
