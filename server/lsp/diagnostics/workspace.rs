//! `workspace/diagnostic`: every file with a thread, and every file of which the client had something; in parts
//! where the client takes parts. Asked again with nothing new, the request stays open until there is (LSP 3.17
//! §Workspace Diagnostics): a client asks again as soon as it is answered.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};

use super::{is_settings, of, report};
use crate::lsp::publish::News;
use crate::lsp::{Params, Server, from_proto, to_proto};

/// Files of one partial result.
const PART: usize = 64;
/// A burst of changes (keys, a checkout) is told of once it has been quiet for so long.
const QUIET: Duration = Duration::from_millis(200);
/// LSP 3.17 §ErrorCodes: the server cancelled it.
const SERVER_CANCELLED: i64 = -32802;

struct Asked {
    server: Arc<Server>,
    /// What the client has of each file. It may write its name otherwise than we do (VS Code encodes more of it).
    previous: HashMap<PathBuf, Vec<Known>>,
    part: Option<Value>,
    cancel: CancellationToken,
}

struct Known {
    uri: String,
    result_id: String,
}

pub(in crate::lsp) async fn workspace(
    server: Arc<Server>,
    params: Params,
    cancel: CancellationToken,
) -> Result<Value> {
    let asked = tokio::task::spawn_blocking(move || Asked::new(server, params, cancel));
    let asked = Arc::new(asked.await.map_err(|_| Error::internal_error())?);
    // What changes from here on is heard of.
    let mut news = asked.server.publisher.news();
    let (items, fresh) = asked.clone().read(None).await?;
    if fresh || asked.previous.is_empty() {
        return Ok(json!({"items": items}));
    }
    drop(items);
    if asked.server.publisher.is_over() {
        return Err(ended());
    }
    loop {
        let changed = gather(&mut news).await?;
        let (items, fresh) = asked.clone().read(changed).await?;
        if fresh {
            // Files that are left out stay as the client has them.
            return Ok(json!({"items": items}));
        }
    }
}

fn ended() -> Error {
    Error {
        code: ErrorCode::ServerError(SERVER_CANCELLED),
        message: "the server ends".into(),
        data: Some(json!({"retriggerRequest": false})),
    }
}

/// The files of the next burst of changes; `None`: so many that they were not counted.
async fn gather(news: &mut News) -> Result<Option<BTreeSet<PathBuf>>> {
    use tokio::sync::broadcast::error::RecvError;
    let mut changed = Some(BTreeSet::new());
    let mut first = true;
    loop {
        let next = if first {
            news.recv().await
        } else {
            match tokio::time::timeout(QUIET, news.recv()).await {
                Ok(next) => next,
                Err(_) => return Ok(changed),
            }
        };
        first = false;
        match next {
            Ok(Some(path)) => {
                if let Some(changed) = &mut changed {
                    changed.insert(path);
                }
            }
            Ok(None) | Err(RecvError::Closed) => return Err(ended()),
            Err(RecvError::Lagged(_)) => changed = None,
        }
    }
}

impl Asked {
    fn new(server: Arc<Server>, params: Params, cancel: CancellationToken) -> Self {
        let mut params = params.unwrap_or_default();
        let mut previous: HashMap<PathBuf, Vec<Known>> = HashMap::new();
        let told = params.get("previousResultIds").and_then(Value::as_array);
        for entry in told.into_iter().flatten() {
            let text = |name: &str| Some(entry.get(name)?.as_str()?.to_owned());
            if let (Some(uri), Some(result_id)) = (text("uri"), text("value"))
                && let Some(path) = server.documents.path(&uri)
            {
                let known = Known { uri, result_id };
                previous.entry(path).or_default().push(known);
            }
        }
        Self {
            part: params
                .get_mut("partialResultToken")
                .map(Value::take)
                .filter(|token| token.is_string() || token.is_i64()),
            previous,
            cancel,
            server,
        }
    }

    /// Reads files (`None`: all that have something, or had), off the threads that answer. Reports that were
    /// not sent as parts, and whether any is new to the client.
    async fn read(self: Arc<Self>, only: Option<BTreeSet<PathBuf>>) -> Result<(Vec<Value>, bool)> {
        let read = tokio::task::spawn_blocking(move || self.reports(only));
        read.await.unwrap_or_else(|_| Err(Error::internal_error()))
    }

    fn reports(&self, only: Option<BTreeSet<PathBuf>>) -> Result<(Vec<Value>, bool)> {
        let whole = only.is_none();
        let files = match only {
            Some(changed) => changed,
            None => self.files()?,
        };
        let session = self.server.session()?;
        let (mut items, mut fresh) = (Vec::new(), false);
        for path in files {
            if self.cancel.is_cancelled() {
                return Err(Error::request_cancelled());
            }
            let (version, list) = of(&self.server, session, &path);
            let (uri, previous) = self.named(&path);
            // It is told of once, and what the client has by another name is withdrawn.
            for other in self.other_names(&path, &uri) {
                items.push(json!({"kind": "full", "uri": other, "version": null, "items": []}));
                fresh = true;
            }
            // Of a changed file of which nothing was shown, nothing is still nothing.
            if !whole && previous.is_none() && list.is_empty() {
                continue;
            }
            if self.server.capabilities().pull_diagnostics {
                self.server.publisher.pulled(path, true);
            }
            let mut entry = report(&self.server, &uri, &list, previous);
            let is_new = entry.get("kind").and_then(Value::as_str) == Some("full");
            // Told of as changed, and it shows what it showed.
            if !whole && !is_new {
                continue;
            }
            fresh |= is_new;
            if let Some(entry) = entry.as_object_mut() {
                entry.insert(String::from("uri"), json!(uri));
                entry.insert(String::from("version"), json!(version));
            }
            items.push(entry);
            if let Some(token) = self.part.as_ref().filter(|_| fresh && items.len() >= PART) {
                let value = json!({"items": std::mem::take(&mut items)});
                self.server
                    .client
                    .notify("$/progress", json!({"token": token, "value": value}));
            }
        }
        Ok((items, fresh))
    }

    /// The name by which a file is told of, and the id that the client has for it.
    fn named(&self, path: &Path) -> (String, Option<&str>) {
        let open = self.server.documents.uri(path);
        let all = self.previous.get(path).into_iter().flatten();
        let fits = |known: &&Known| open.as_ref().is_none_or(|open| *open == known.uri);
        match all.into_iter().find(fits) {
            Some(known) => (known.uri.clone(), Some(&known.result_id)),
            None => (to_proto::uri(&self.server, path), None),
        }
    }

    /// By what else the client has a file than by `uri`, in whatever way that is spelt.
    fn other_names(&self, path: &Path, uri: &str) -> Vec<&str> {
        let all = self.previous.get(path).into_iter().flatten();
        all.map(|known| known.uri.as_str())
            .filter(|other| *other != uri && from_proto::named(other) != from_proto::named(uri))
            .collect()
    }

    /// Every file that has something to show, and every one of which the client had something.
    fn files(&self) -> Result<BTreeSet<PathBuf>> {
        let session = self.server.session()?;
        let mut files: BTreeSet<PathBuf> = session.files_with_threads().into_iter().collect();
        for workspace in session.workspaces() {
            let settings = workspace.root().join(crate::config::PROJECT_FILE);
            if settings.is_file() && is_settings(&workspace, &settings) {
                files.insert(settings);
            }
        }
        files.extend(self.previous.keys().cloned());
        Ok(files)
    }
}
