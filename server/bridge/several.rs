//! Several editors that have one workspace open: whose server a call is for. A file that is open in one of them is read
//! and changed there, and not on disk behind its back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::client;
use crate::os;
use crate::verbs::{self, Answer, Verb};

/// How long each is asked what it has open. One that is suspended does not answer.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct Open {
    /// Relative to the workspace.
    file: String,
    #[serde(default)]
    unsaved: bool,
}

#[derive(Deserialize)]
struct Standing {
    id: String,
    file: String,
}

fn text<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    let text = arguments.get(name)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// What one of them says, if it does.
async fn said(socket: &Path, root: &Path, verb: &str, list: &str) -> Option<Vec<Value>> {
    let verb = verbs::any(verb)?;
    let asking = async {
        let stream = client::connect(socket).await.ok()?;
        let (arguments, never) = (json!({}), CancellationToken::new());
        let answer = client::ask(stream, root, verb, &arguments, &never).await;
        answer.ok()?.ok()
    };
    let mut answer = tokio::time::timeout(PATIENCE, asking).await.ok()??;
    match answer.value.get_mut(list)?.take() {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn read<T: for<'a> Deserialize<'a>>(items: Option<Vec<Value>>) -> Vec<T> {
    let items = items.into_iter().flatten();
    items
        .filter_map(|item| serde_json::from_value(item).ok())
        .collect()
}

/// The answer of all to a call that lists what each of them has; `None`: it is for one.
pub(super) async fn together(
    sockets: &[PathBuf],
    root: &Path,
    verb: &Verb,
    arguments: &Value,
) -> Option<Answer> {
    let list = match verb.name {
        "buffer_read" if text(arguments, "path").is_none() => "buffers",
        "servers" => "servers",
        _ => return None,
    };
    let asked = sockets
        .iter()
        .map(|socket| said(socket, root, verb.name, list));
    let mut all: Vec<Value> = Vec::new();
    let mut any = false;
    for items in futures::future::join_all(asked).await.into_iter().flatten() {
        any = true;
        for item in items {
            let of_file = |known: &Value| known.get("file").is_some_and(|f| item["file"] == *f);
            match all.iter_mut().find(|known| of_file(known)) {
                // What is unsaved in one of them is unsaved.
                Some(known) if item["unsaved"] == true => *known = item,
                Some(_) => {}
                None => all.push(item),
            }
        }
    }
    any.then(|| json!({ list: all }).into())
}

/// In the order in which a call tries them: first the one that has the file open that it is about, unsaved before saved.
pub(super) async fn in_order(
    sockets: Vec<PathBuf>,
    root: &Path,
    arguments: &Value,
) -> Vec<PathBuf> {
    let file = text(arguments, "path").or_else(|| text(arguments, "file"));
    let file = file.map(|file| os::resolved(&root.join(file)));
    let id = text(arguments, "thread_id");
    if file.is_none() && id.is_none() {
        return sockets;
    }
    let rank = async |socket: &PathBuf| {
        let open: Vec<Open> = read(said(socket, root, "buffer_read", "buffers").await);
        let files: Vec<PathBuf> = match (&file, id) {
            (Some(file), _) => vec![file.clone()],
            (None, Some(id)) if !open.is_empty() => {
                let threads = read(said(socket, root, "get_threads", "threads").await);
                let theirs = |thread: &Standing| thread.id.starts_with(id);
                let theirs = threads.into_iter().filter(theirs);
                theirs.map(|thread| root.join(thread.file)).collect()
            }
            _ => Vec::new(),
        };
        let shown = open
            .iter()
            .filter(|open| files.contains(&root.join(&open.file)));
        shown.map(|open| u8::from(!open.unsaved)).min().unwrap_or(2)
    };
    let ranks = futures::future::join_all(sockets.iter().map(rank)).await;
    let mut ranked: Vec<(u8, PathBuf)> = ranks.into_iter().zip(sockets).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, socket)| socket).collect()
}
