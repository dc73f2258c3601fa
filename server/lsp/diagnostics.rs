//! The diagnostics of a file, and those that a client pulls (LSP 3.17 §Pull Diagnostics).

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};

use super::{Params, Server, invalid, to_proto};
use crate::session::{Session, Workspace};

/// The diagnostics of a file, and the version they belong to where it is open. Nothing where the file cannot be
/// read, is outside every folder and not open, or was lost track of.
pub(super) fn of(server: &Server, session: &Session, path: &Path) -> (Option<i32>, Vec<Value>) {
    let workspace = session.workspace_of(path);
    if server.documents.is_unfit(path) || !(workspace.is_some() || session.buffers.is_open(path)) {
        return (None, Vec::new());
    }
    // Of a closed file in a folder only what the scan reads is shown: nothing ignored, nothing binary.
    let known = |workspace: &Workspace| {
        !workspace.index.is_scanned() || workspace.index.get(path).is_some()
    };
    let settings = path.file_name().is_some_and(|name| name == "postil.toml");
    if !session.buffers.is_open(path) && !settings && !workspace.as_deref().is_some_and(known) {
        return (None, Vec::new());
    }
    let view = match session.view(path) {
        Ok(view) => view,
        Err(error) => {
            tracing::debug!("no diagnostics of {}: {error}", path.display());
            return (None, Vec::new());
        }
    };
    let uri = to_proto::uri(server, path);
    let document = to_proto::document(&view);
    let client = server.capabilities();
    let mut all: Vec<Value> = session
        .diagnostics(&view)
        .iter()
        .map(|diagnostic| {
            to_proto::diagnostic(
                &document,
                &uri,
                diagnostic,
                client.encoding,
                client.related_information,
            )
        })
        .collect();
    for workspace in session.workspaces() {
        for problem in workspace
            .loaded()
            .problems
            .iter()
            .filter(|problem| problem.file.as_deref() == Some(path))
        {
            all.push(json!({
                "range": to_proto::range(document.range(&problem.range, client.encoding)),
                "severity": 2,
                "code": "setting",
                "source": "postil",
                "message": problem.message,
            }));
        }
    }
    (
        view.buffer.as_ref().map(|buffer| buffer.document.version()),
        all,
    )
}

fn result_id(items: &[Value]) -> String {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(items)
        .unwrap_or_default()
        .hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// `textDocument/diagnostic`.
pub(super) async fn document(server: Arc<Server>, params: Params) -> Result<Value> {
    let params = params.unwrap_or_default();
    let uri = params
        .pointer("/textDocument/uri")
        .and_then(Value::as_str)
        .ok_or_else(|| invalid("textDocument.uri is missing"))?;
    let previous = params.get("previousResultId").and_then(Value::as_str);
    let Some(path) = server.documents.path(uri) else {
        return Ok(json!({"kind": "full", "items": []}));
    };
    if server.capabilities().pull_diagnostics {
        server.publisher.pulled(path.clone());
    }
    let (_, items) = of(&server, server.session()?, &path);
    Ok(report(items, previous))
}

/// A `DocumentDiagnosticReport`.
fn report(items: Vec<Value>, previous: Option<&str>) -> Value {
    let id = result_id(&items);
    if previous == Some(&id) {
        return json!({"kind": "unchanged", "resultId": id});
    }
    json!({"kind": "full", "resultId": id, "items": items})
}

/// `workspace/diagnostic`: every file with a thread, and every file of which the client had something.
pub(super) async fn workspace(server: Arc<Server>, params: Params) -> Result<Value> {
    let params = params.unwrap_or_default();
    let previous: HashMap<String, String> = params
        .get("previousResultIds")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            Some((
                entry.get("uri")?.as_str()?.to_owned(),
                entry.get("value")?.as_str()?.to_owned(),
            ))
        })
        .collect();
    // Reads every file that has a thread.
    let read = tokio::task::spawn_blocking(move || {
        let session = server.session()?;
        let mut files: Vec<(String, PathBuf)> = session
            .files_with_threads()
            .into_iter()
            .map(|path| (to_proto::uri(&server, &path), path))
            .collect();
        for uri in previous.keys() {
            if let Some(path) = server
                .documents
                .path(uri)
                .filter(|_| files.iter().all(|(known, _)| known != uri))
            {
                files.push((uri.clone(), path));
            }
        }
        let mut items = Vec::new();
        for (uri, path) in files {
            if server.capabilities().pull_diagnostics {
                server.publisher.pulled(path.clone());
            }
            let (version, list) = of(&server, session, &path);
            let mut entry = report(list, previous.get(&uri).map(String::as_str));
            if let Some(entry) = entry.as_object_mut() {
                entry.insert(String::from("uri"), json!(uri));
                entry.insert(String::from("version"), json!(version));
            }
            items.push(entry);
        }
        Ok(json!({"items": items}))
    });
    read.await.unwrap_or_else(|_| Err(Error::internal_error()))
}
