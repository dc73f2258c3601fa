//! Edits that the author looks at before they are made: by a client that shows reviews of its own
//! (`postil/review`), or by the editor's preview (LSP 3.17 §Change Annotations).

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::super::Server;
use super::super::client::ClientError;
use super::super::to_proto;
use super::{SECOND_ECHO, Sent, generation, prepare};
use crate::host::{BufferEdit, NotApplied, Proposed};
use crate::present::visible;

/// Asks about one file; whose question is withdrawn (`$/cancelRequest`) when the turn is cancelled.
pub(super) async fn review(server: &Server, change: Proposed) -> bool {
    let params = json!({
        "run_id": change.run,
        "file": visible(&change.shown),
        "from": change.from.as_deref().map(visible),
        "uri": to_proto::uri(server, &change.path),
        "before": change.before,
        "after": change.after,
        "added": change.added,
        "removed": change.removed,
        "of": change.of,
    });
    let answer = server.client.question("postil/review", params, false).await;
    answer.is_ok_and(|answer| answer.get("accepted").and_then(Value::as_bool) == Some(true))
}

/// Waits for the author as long as they take. The caller looks at the buffers to see what was made.
pub(super) async fn preview(
    server: &Server,
    label: &str,
    edits: Vec<BufferEdit>,
) -> Result<(), NotApplied> {
    let (sent, mut edit) = prepare(server, edits)?;
    let session = server.session.get().ok_or(NotApplied::NoEditor)?;
    let files = sent.iter().map(|sent| session.relative(&sent.path));
    annotate(&mut edit, files);
    let mut news = server.documents.news();
    let asked = server.client.question(
        "workspace/applyEdit",
        json!({"label": label, "edit": edit}),
        false,
    );
    let answer = match asked.await {
        Ok(answer) => answer,
        Err(ClientError::Gone) => return Err(NotApplied::NoEditor),
        Err(ClientError::Answered(why) | ClientError::Unknown(why)) => {
            return Err(NotApplied::Refused(why));
        }
    };
    if answer.get("applied").and_then(Value::as_bool) != Some(true) {
        let typed = |sent: &Sent| generation(server, &sent.path) != Some(sent.generation);
        if sent.iter().any(typed) {
            return Err(NotApplied::Changed);
        }
        return Err(NotApplied::Refused(String::from("the author said no")));
    }
    // What was not ticked does not come back: the rest may be on its way.
    let end = Instant::now() + SECOND_ECHO;
    loop {
        let arrived = |sent: &Sent| {
            let buffer = session.buffers.get(&sent.path);
            buffer.is_some_and(|buffer| *buffer.document.text() == *sent.expected)
        };
        if sent.iter().all(arrived) {
            return Ok(());
        }
        match timeout_at(end, news.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(NotApplied::NoEditor),
            Err(_) => return Ok(()),
        }
    }
}

/// Each file is one annotation, to be confirmed. Some clients show nothing but its words: of two files of one name
/// the path has to tell which is meant.
fn annotate(edit: &mut Value, files: impl Iterator<Item = String>) {
    let mut annotations = serde_json::Map::new();
    let changes = edit
        .get_mut("documentChanges")
        .and_then(Value::as_array_mut);
    for (nth, (change, file)) in changes.into_iter().flatten().zip(files).enumerate() {
        let id = format!("postil-{nth}");
        let file = visible(&file);
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", &file));
        let mut annotation = json!({"label": format!("postil: {name}"), "needsConfirmation": true});
        if !folder.is_empty() {
            annotation["description"] = json!(folder);
        }
        annotations.insert(id.clone(), annotation);
        let edits = change.get_mut("edits").and_then(Value::as_array_mut);
        for edit in edits.into_iter().flatten() {
            if let Some(edit) = edit.as_object_mut() {
                edit.insert(String::from("annotationId"), json!(id));
            }
        }
    }
    if let Some(edit) = edit.as_object_mut() {
        edit.insert(
            String::from("changeAnnotations"),
            Value::Object(annotations),
        );
    }
}
