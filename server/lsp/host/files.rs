//! Files that the editor removes or renames for us, because it has them open (LSP 3.17 §Resource operations).

use std::path::Path;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::super::{Server, to_proto};
use super::{ECHO, SECOND_ECHO};
use crate::host::{FileOp, NotApplied};
use crate::text::same_lines;

/// Behind the text edits, whose versions the editor compares first.
pub(super) fn add(server: &Server, edit: &mut Value, ops: &[FileOp]) {
    let changes = edit
        .get_mut("documentChanges")
        .and_then(Value::as_array_mut);
    let Some(changes) = changes else { return };
    changes.extend(ops.iter().map(|op| match op {
        FileOp::Remove(path) => json!({"kind": "delete", "uri": to_proto::uri(server, path)}),
        FileOp::Rename { from, to, .. } => json!({
            "kind": "rename",
            "oldUri": to_proto::uri(server, from),
            "newUri": to_proto::uri(server, to),
        }),
    }));
}

/// Waits until the buffers show it. An editor may keep the buffer of a file that is gone: the disk decides then.
pub(super) async fn done(
    server: &Server,
    op: &FileOp,
    news: &mut watch::Receiver<u64>,
) -> Result<(), NotApplied> {
    let session = server.session.get().ok_or(NotApplied::NoEditor)?;
    let is_gone = |path: &Path| path.symlink_metadata().is_err();
    let (from, wait) = match op {
        FileOp::Remove(path) => (path, SECOND_ECHO),
        FileOp::Rename { from, .. } => (from, ECHO),
    };
    let arrived = || match op {
        FileOp::Remove(path) => !session.buffers.is_open(path) && is_gone(path),
        FileOp::Rename { from, to, text } => {
            !session.buffers.is_open(from)
                && is_gone(from)
                && match session.buffers.get(to) {
                    Some(buffer) => same_lines(buffer.document.text(), text),
                    None => std::fs::read(to).is_ok_and(|bytes| bytes == text.as_bytes()),
                }
        }
    };
    let end = Instant::now() + wait;
    while !arrived() {
        match timeout_at(end, news.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(NotApplied::NoEditor),
            Err(_) if is_gone(from) => {
                tracing::info!("{} is gone, and its buffer is not", from.display());
                return Ok(());
            }
            Err(_) => {
                return Err(NotApplied::Refused(String::from(
                    "it said so, but the file is still there",
                )));
            }
        }
    }
    Ok(())
}
