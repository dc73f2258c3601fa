//! The diagnostics of a file, and those that a client pulls (LSP 3.17 §Pull Diagnostics).

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::broadcast::error::TryRecvError;
use tower_lsp::jsonrpc::Result;

use super::to_proto::Diagnostics;
use super::{Params, Server, to_proto, uri_of};
use crate::config::{self, PROJECT_FILE, Problem};
use crate::os;
use crate::session::{Session, View, Workspace};

mod last;
mod workspace;

pub(super) use last::Last;
pub(super) use workspace::workspace;

/// How often a pull is begun anew because its document changed: who types on is told by the pulls that follow.
const OVERTAKEN: usize = 3;

/// The diagnostics of a file, and the version they belong to where it is open.
pub(super) fn of(server: &Server, session: &Session, path: &Path) -> (Option<i32>, Diagnostics) {
    match viewed(server, session, path) {
        Some(view) => of_view(server, session, &view, &mut Last::default()),
        None => (None, Diagnostics::new("")),
    }
}

/// A file of which something is shown: not one that cannot be read, is outside every folder and not open, or was
/// lost track of.
pub(super) fn viewed(server: &Server, session: &Session, path: &Path) -> Option<View> {
    let workspace = session.workspace_of(path);
    if server.documents.is_unfit(path) || !(workspace.is_some() || session.buffers.is_open(path)) {
        return None;
    }
    // Of a closed file in a folder only what the scan reads is shown: nothing ignored, nothing binary.
    let known = |workspace: &Workspace| {
        !workspace.index.is_scanned() || workspace.index.get(path).is_some()
    };
    let settings = workspace
        .as_ref()
        .is_some_and(|workspace| is_settings(workspace, path));
    if !session.buffers.is_open(path) && !settings && !workspace.as_deref().is_some_and(known) {
        return None;
    }
    match session.view(path) {
        // Its folder went away while it was read.
        Ok(view) if view.buffer.is_none() && session.workspace_of(path).is_none() => None,
        Ok(view) => Some(view),
        Err(error) => {
            tracing::debug!("no diagnostics of {}: {error}", path.display());
            None
        }
    }
}

/// `last`: what was written the last time, of this file or another one; this is put in its place.
pub(super) fn of_view(
    server: &Server,
    session: &Session,
    view: &View,
    last: &mut Last,
) -> (Option<i32>, Diagnostics) {
    let document = to_proto::document(view);
    let client = server.capabilities();
    let mut places = document.places(client.encoding);
    let mut all = Diagnostics::new(&to_proto::uri(server, &view.path));
    let related = client.related_information;
    let mut failed = Vec::new();
    last.again(session, view, &mut all, |all, thread| {
        let (diagnostic, other) = session.thread_diagnostic(view, thread);
        all.push(&mut places, &diagnostic, related);
        failed.extend(other);
    });
    let near = session.near_miss_diagnostics(view);
    for diagnostic in failed.iter().chain(&near) {
        all.push(&mut places, diagnostic, related);
    }
    for problem in problems(server, session, view) {
        all.push_problem(&mut places, &problem);
    }
    (
        view.buffer.as_ref().map(|buffer| buffer.document.version()),
        all,
    )
}

fn is_settings(workspace: &Workspace, path: &Path) -> bool {
    path.parent() == Some(workspace.root())
        && path.file_name().is_some_and(|name| name == PROJECT_FILE)
}

/// What is wrong in a settings file, as its text is now: that of the editor while it is open.
pub(super) fn problems(server: &Server, session: &Session, view: &View) -> Vec<Problem> {
    let workspace = session.workspace_of(&view.path);
    let of_workspace = workspace.is_some_and(|workspace| is_settings(&workspace, &view.path));
    // A link may lead there.
    let user = os::resolved(&server.folders.config_file());
    if view.path == user {
        let mut problems =
            config::check_text(&server.folders, &server.folders.config_file(), &view.text);
        problems
            .iter_mut()
            .for_each(|problem| problem.file = Some(user.clone()));
        return problems;
    }
    if !of_workspace {
        return Vec::new();
    }
    config::check_text(&server.folders, &view.path, &view.text)
}

/// `textDocument/diagnostic`.
pub(super) async fn document(server: Arc<Server>, params: Params) -> Result<Value> {
    let params = params.unwrap_or_default();
    let uri = uri_of(&params)?;
    let previous = params.get("previousResultId").and_then(Value::as_str);
    let Some(path) = server.documents.path(uri) else {
        return Ok(json!({"kind": "full", "items": []}));
    };
    let items = match server.is_apart(uri) {
        true => Diagnostics::new(uri),
        false => newest(&server, server.session()?, &path),
    };
    let report = report(&server, uri, &items, previous);
    // What was pushed is taken back when this is there, so that the client is not without for long.
    if server.capabilities().pull_diagnostics {
        server.publisher.pulled(path, false);
    }
    Ok(report)
}

/// Pulls are answered side by side: one that was overtaken by a change would otherwise be told after that change's, and
/// a client shows what came last.
fn newest(server: &Server, session: &Session, path: &Path) -> Diagnostics {
    for _ in 0..OVERTAKEN {
        let mut news = server.publisher.news();
        let items = of(server, session, path).1;
        let about = |told: std::result::Result<Option<PathBuf>, TryRecvError>| match told {
            Ok(changed) => Some(changed.as_deref() == Some(path)),
            Err(TryRecvError::Lagged(_)) => Some(true),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        };
        if !std::iter::from_fn(|| about(news.try_recv())).any(|is_changed| is_changed) {
            return items;
        }
    }
    of(server, session, path).1
}

/// A `DocumentDiagnosticReport`.
pub(super) fn report(
    server: &Server,
    uri: &str,
    all: &Diagnostics,
    previous: Option<&str>,
) -> Value {
    // Strings and numbers alone: it cannot fail.
    let items = serde_json::to_value(all).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    // A client may keep the id for a document that gets another name.
    all.uri().hash(&mut hasher);
    // Or though it shows nothing any more once the document was closed (Neovim 0.12, also when it reads it again).
    server.documents.closed(uri).hash(&mut hasher);
    items.hash(&mut hasher);
    let id = format!("{:016x}", hasher.finish());
    if previous == Some(&id) {
        return json!({"kind": "unchanged", "resultId": id});
    }
    json!({"kind": "full", "resultId": id, "items": items})
}
