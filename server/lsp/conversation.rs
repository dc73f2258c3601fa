//! A conversation as a document to read: a virtual one where the client has such (LSP 3.18
//! §workspace/textDocumentContent), else a read-only temporary file, below a folder that is the user's alone
//! and goes with the process.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use dashmap::DashSet;
use futures::FutureExt as _;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::Url;

use super::{Params, Server, host, invalid};
use crate::host::Level;
use crate::os;
use crate::present;
use crate::store::{Format, Run};

/// Characters of a conversation that are shown; the rest is left to `postil workflow thread`.
const MOST: usize = 400_000;

/// The scheme of virtual documents.
pub(super) const SCHEME: &str = "postil";
/// Virtual documents that are kept fresh while their run goes on.
const MOST_SHOWN: usize = 32;

/// Where the documents lie; made at first need.
#[derive(Default)]
pub(super) struct Scratch {
    folder: Mutex<Option<tempfile::TempDir>>,
    /// Runs whose virtual document the client has asked for.
    shown: DashSet<String>,
}

impl Scratch {
    /// Writes a read-only file and gives its URI. A name that has another text already gets a number: an editor may go
    /// on showing what it read under that name.
    fn write(&self, name: &str, text: &str) -> std::io::Result<String> {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match folder.as_ref() {
            Some(folder) => folder,
            None => folder.insert(tempfile::Builder::new().prefix("postil-").tempdir()?),
        };
        let (stem, end) = name.rsplit_once('.').unwrap_or((name, "txt"));
        let mut path = folder.path().join(name);
        for number in 2.. {
            match write_private(&path, text) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => break,
            }
            if std::fs::read(&path).is_ok_and(|known| known == text.as_bytes()) {
                break;
            }
            path = folder.path().join(format!("{stem}-{number}.{end}"));
        }
        Url::from_file_path(&path)
            .map(String::from)
            .map_err(|()| std::io::ErrorKind::InvalidFilename.into())
    }

    /// Takes the documents away.
    pub fn clear(&self) {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = folder.take() {
            os::remove_folder(folder.path());
        }
    }
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(true);
    file.set_permissions(permissions)
}

/// What of a run is there to read.
fn text(server: &Server, id: &str) -> Result<(Run, String)> {
    let (workspace, run) = server.session()?.run_of(id)?;
    let store = workspace.store()?;
    let page = store.page(&run.id, None, MOST, Format::Text)?;
    let text = format!("{}{}", heading(&run), present::visible(&page.text));
    Ok((run, text))
}

fn virtual_uri(run: &str) -> String {
    format!("{SCHEME}://run/{run}")
}

/// The URI under which a run can be read in this client without anything being written; `None`: there is none.
pub(super) fn link(server: &Server, run: &Run) -> Option<String> {
    server
        .capabilities()
        .text_content
        .then(|| virtual_uri(&run.id))
}

/// `workspace/textDocumentContent`.
pub(super) async fn content(server: Arc<Server>, params: Params) -> Result<Value> {
    let params = params.unwrap_or_default();
    let uri = params
        .get("uri")
        .and_then(Value::as_str)
        .ok_or_else(|| invalid("uri is missing"))?;
    let id = uri
        .strip_prefix(SCHEME)
        .and_then(|rest| rest.strip_prefix("://run/"))
        .filter(|id| !id.is_empty())
        .ok_or_else(|| {
            invalid(format!(
                "there is no such document: {}; postil has {SCHEME}://run/<id>",
                uri.escape_debug()
            ))
        })?
        .to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let (run, text) = text(&server, &id)?;
        let known = &server.scratch.shown;
        // Under the name that the client asked by.
        if run.status.is_under_way() && known.len() < MOST_SHOWN {
            known.insert(id);
        } else {
            known.remove(&id);
        }
        Ok(json!({"text": text}))
    });
    read.await.unwrap_or_else(|_| Err(Error::internal_error()))
}

/// The virtual documents that may have changed since the client asked for them.
pub(super) fn shown(server: &Server) -> Vec<String> {
    let shown = &server.scratch.shown;
    shown.iter().map(|run| virtual_uri(&run)).collect()
}

/// Shows the run that `id` (of a run or a thread) names; its URI.
pub(super) async fn open(server: &Arc<Server>, id: &str) -> Result<Value> {
    let (run, text) = text(server, id)?;
    let uri = match link(server, &run) {
        Some(uri) => uri,
        None => server
            .scratch
            .write(&format!("conversation-{}.txt", run.id), &text)
            .map_err(|error| {
                tracing::warn!("the conversation could not be written: {error}");
                Error::internal_error()
            })?,
    };
    show(server, &uri, "The conversation is in");
    Ok(json!({"success": true, "run_id": run.id, "uri": uri}))
}

/// Writes a text into a read-only temporary file; its URI.
pub(super) fn written(server: &Server, name: &str, text: &str) -> Option<String> {
    server
        .scratch
        .write(name, &present::visible(text))
        .inspect_err(|error| tracing::warn!("{name} could not be written: {error}"))
        .ok()
}

/// Has the client show a document. Where it does not, a message says where that is: `told` and the file's path.
pub(super) fn show(server: &Arc<Server>, uri: &str, told: &'static str) {
    let (asked, uri) = (server.clone(), uri.to_owned());
    let mut showing = Box::pin(async move {
        if let (false, Some(path)) = (shows(&asked, &uri).await, file_of(&uri)) {
            let text = present::visible(&format!("{told} {path}"));
            host::message(&asked, Level::Info, &text);
        }
    });
    // It is sent before whatever comes next; nobody waits for the answer.
    if showing.as_mut().now_or_never().is_none() {
        server.runtime.spawn(showing);
    }
}

/// Whether the client says that it shows the document. It may not: Vim leaves no buffer with unsaved text where
/// 'hidden' is off.
pub(super) async fn shows(server: &Server, uri: &str) -> bool {
    if !server.capabilities().show_document {
        return false;
    }
    let params = json!({"uri": uri, "takeFocus": true});
    let answer = server.client.request("window/showDocument", params).await;
    answer.is_ok_and(|answer| answer.get("success").and_then(Value::as_bool) != Some(false))
}

pub(super) fn file_of(uri: &str) -> Option<String> {
    let path = Url::parse(uri).ok()?.to_file_path().ok()?;
    Some(path.display().to_string())
}

/// What is known of a run in a line: its state, who answered, what it took.
pub(super) fn facts(run: &Run) -> Vec<String> {
    let mut facts = vec![
        run.status.name().to_owned(),
        run.model.clone(),
        present::counted(run.rounds, "round"),
    ];
    if run.tokens > 0 {
        facts.push(format!("{} tokens", run.tokens));
    }
    if run.cost > 0.0 {
        facts.push(present::dollars(run.cost));
    }
    facts
}

fn heading(run: &Run) -> String {
    let mut facts = facts(run);
    facts.extend(run.error.as_deref().map(present::visible));
    format!(
        "# Thread {} in {}\n\nRun {}: {}\n\n",
        run.thread_id,
        present::one_line(&run.file),
        run.id,
        facts.join(" · ")
    )
}
