//! The way of a command that changes files: through the editor's server where one has the workspace open, for what it
//! is about may stand there alone, unsaved; else on the files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{Cx, Stop};
use crate::bridge::{self, Listed, NoAnswer, Open};
use crate::os;
use crate::present::visible;
use crate::session::Error;
use crate::threads::{self, Status};
use crate::verbs::{self, Verb};

/// Told where an editor's document was changed.
pub(super) const YOURS_TO_SAVE: &str =
    "what is open in the editor was changed there, and is yours to save";

/// An editor that takes longer is told of.
const SILENCE: Duration = Duration::from_secs(3);
/// What is asked by the way alone is given up after so long.
const SOON: Duration = Duration::from_secs(2);

/// What came of a command: of the editor's server where it has `arguments` and one serves the workspace, else of `here`,
/// which is done on the files and not begun before.
pub(super) async fn done<T: DeserializeOwned>(
    cx: &Cx,
    verb: &Verb,
    arguments: Option<Value>,
    here: impl Future<Output = Result<T, Stop>>,
) -> Result<T, Stop> {
    if let Some(arguments) = arguments
        && let Some(done) = through_editor(cx, verb, &arguments).await?
    {
        return Ok(done);
    }
    here.await
}

/// What the editor's server answered; `None`: no editor serves the workspace, and nothing was done.
pub(super) async fn through_editor<T: DeserializeOwned>(
    cx: &Cx,
    verb: &Verb,
    arguments: &Value,
) -> Result<Option<T>, Stop> {
    through_editor_of(cx, &os::resolved(&cx.root()?), verb, arguments).await
}

/// The same, of the editor that has the folder `root` (canonical) open.
async fn through_editor_of<T: DeserializeOwned>(
    cx: &Cx,
    root: &Path,
    verb: &Verb,
    arguments: &Value,
) -> Result<Option<T>, Stop> {
    let data = cx.folders()?.data;
    let never = CancellationToken::new();
    let answer = bridge::call(&data, root, verb, arguments, &never);
    tokio::pin!(answer);
    let answered = match timeout(SILENCE, &mut answer).await {
        Ok(answered) => answered,
        Err(_) => {
            cx.out
                .warn("waiting for the editor: it may be suspended, or ask you something");
            answer.await
        }
    };
    match answered {
        Ok(Ok(answer)) => serde_json::from_value(answer.value)
            .map(Some)
            .map_err(|error| {
                Error::Other(format!(
                    "the editor's server answered with something else: {error}"
                ))
                .into()
            }),
        Ok(Err(failure)) => Err(Stop::Said(failure)),
        Err(NoAnswer::Lost(why)) if !verb.effect.writes() => Err(Error::Other(format!(
            "the editor's server was lost before anything was done ({why}): try again"
        ))
        .into()),
        Err(NoAnswer::Stranger(why)) => {
            cx.out.warn(&format!(
                "{why}: this is done on the files, and what is unsaved there is not seen"
            ));
            Ok(None)
        }
        Err(NoAnswer::Absent(_)) => Ok(None),
        Err(none @ (NoAnswer::Unheard(_) | NoAnswer::Lost(_))) => {
            Err(Stop::Said(none.failure(root)))
        }
    }
}

/// The documents of the workspace that are open in its editor.
pub(super) async fn open(cx: &Cx) -> Result<Vec<Open>, Stop> {
    open_in(cx, &os::resolved(&cx.root()?)).await
}

async fn open_in(cx: &Cx, root: &Path) -> Result<Vec<Open>, Stop> {
    let listed: Option<Listed> =
        through_editor_of(cx, root, &verbs::BUFFER_READ, &json!({})).await?;
    let open = listed.map_or_else(|| Ok(Vec::new()), Listed::all);
    Ok(open.map_err(|why| Error::Other(visible(&why)))?)
}

/// The files of the workspace that the disk does not have as its editor shows them.
pub(super) async fn unsaved(cx: &Cx) -> Result<BTreeSet<String>, Stop> {
    let open = open(cx).await?.into_iter();
    Ok(open
        .filter(|open| open.unsaved)
        .map(|open| open.file)
        .collect())
}

/// The same for what only tells of them: no editor is waited for long, and none that cannot be asked is an error.
pub(super) async fn unsaved_soon(cx: &Cx) -> BTreeSet<String> {
    match timeout(SOON, unsaved(cx)).await {
        Ok(unsaved) => unsaved.unwrap_or_default(),
        Err(_) => {
            cx.out.warn(
                "the editor does not answer, it may be suspended: what is not saved there is not looked at",
            );
            BTreeSet::new()
        }
    }
}

/// Those of `files` in which the editor shows a thread that waits for an agent.
pub(super) async fn pending_in(
    cx: &Cx,
    files: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Stop> {
    if files.is_empty() {
        return Ok(BTreeSet::new());
    }
    let shown = threads_shown(cx).await?;
    let pending = shown
        .iter()
        .filter(|thread| thread["status"] == Status::Pending.name());
    let pending: BTreeSet<String> = pending
        .filter_map(|thread| thread["file"].as_str().map(str::to_owned))
        .collect();
    Ok(&pending & files)
}

async fn threads_shown(cx: &Cx) -> Result<Vec<Value>, Stop> {
    let listed: Option<Value> = through_editor(cx, &verbs::GET_THREADS, &json!({})).await?;
    let threads = listed.and_then(|mut list| match list["threads"].take() {
        Value::Array(threads) => Some(threads),
        _ => None,
    });
    Ok(threads.unwrap_or_default())
}

/// The file in which the editor shows a thread with this id, or beginning of one.
pub(super) async fn shown_in(cx: &Cx, id: &str) -> Result<Option<String>, Stop> {
    let id = threads::normal(id);
    let threads = threads_shown(cx).await?;
    let mut threads = threads.iter();
    let thread = threads.find(|one| one["id"].as_str().is_some_and(|own| own.starts_with(&id)));
    Ok(thread.and_then(|thread| thread["file"].as_str().map(str::to_owned)))
}

/// Of `files` (canonical) those that an editor which has another folder open shows as the disk does not have them, each
/// with that folder.
pub(super) async fn unsaved_elsewhere(
    cx: &Cx,
    files: &[PathBuf],
) -> Result<BTreeMap<PathBuf, PathBuf>, Stop> {
    let (data, root) = (cx.folders()?.data, os::resolved(&cx.root()?));
    let mut found = BTreeMap::new();
    for folder in bridge::others(&data, &root, files) {
        let unsaved = bridge::unsaved_of(open_in(cx, folder).await?, folder, files);
        found.extend(unsaved.into_iter().map(|path| (path, folder.to_owned())));
    }
    Ok(found)
}

/// An error where `path` (canonical) is one of these.
pub(super) async fn is_free(cx: &Cx, path: &Path) -> Result<(), Stop> {
    let unsaved = unsaved_elsewhere(cx, &[path.to_owned()]).await?;
    let Some((path, folder)) = unsaved.first_key_value() else {
        return Ok(());
    };
    Err(Error::Other(visible(&format!(
        "{} (`postil -C {}` goes through that editor)",
        bridge::unsaved(path, folder),
        folder.display()
    )))
    .into())
}
