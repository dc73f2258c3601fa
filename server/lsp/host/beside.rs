//! The other editors that have a folder open: what they have not saved is not changed on disk behind their back.

use std::path::{Path, PathBuf};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::super::Server;
use crate::bridge::{self, Listed};
use crate::verbs;

/// Of these files (absolute) those that another editor has open and not saved, as far as it tells: one that is suspended
/// holds up no turn.
pub(super) async fn unsaved(server: &Server, root: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let socket = server.bridges.get(root).and_then(|own| own.socket());
    let Some(session) = server.session.get() else {
        return Vec::new();
    };
    let (data, never) = (&session.folders.data, CancellationToken::new());
    let verb = &verbs::BUFFER_READ;
    let asked = match socket {
        Some(socket) => bridge::call_beside(&socket, data, root, verb, &json!({}), &never).await,
        // None of those that listen is this one.
        None => Some(bridge::call(data, root, verb, &json!({}), &never).await),
    };
    let Some(Ok(Ok(answer))) = asked else {
        return Vec::new();
    };
    let listed = serde_json::from_value::<Listed>(answer.value).map(Listed::told);
    bridge::unsaved_of(listed.unwrap_or_default(), root, files)
}
