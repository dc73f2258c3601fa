//! Which workspace a call is about, and which way it goes: through an editor's server, or on the files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::roots::{Found, Place, Workspaces};
use crate::bridge::{self, Listed, NoAnswer};
use crate::host::Level;
use crate::os;
use crate::threads::{self, NoThread};
use crate::verbs::{self, Answer, Failure, Verb};

type Outcome = Result<Answer, Failure>;

/// A call on whichever of the places it is about.
pub(super) async fn call(
    shared: &Arc<Workspaces>,
    found: &Found,
    verb: &Verb,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Outcome {
    let places = found.places.as_slice();
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let path = text("path")
        .or_else(|| text("file"))
        .filter(|path| !path.is_empty());
    if let [place] = places
        && (found.missing.is_empty() || path.is_some())
    {
        return on(shared, place, verb, arguments, cancel).await;
    }
    if let Some(path) = path {
        let (place, path) = place_of(places, path)?;
        let mut arguments = arguments.clone();
        for name in ["path", "file"] {
            if let Some(argument) = arguments.get_mut(name) {
                *argument = json!(path.to_string_lossy());
            }
        }
        return on(shared, place, verb, &arguments, cancel).await;
    }
    match verb.name {
        "get_threads"
        | "process_all_actions"
        | "workflow_list"
        | "workflow_search"
        | "buffer_read" => all(shared, found, verb, arguments, cancel).await,
        "respond_to_thread" | "dismiss_thread" => {
            let id = text("thread_id").unwrap_or_default();
            let (place, id) = thread(shared, found, id, cancel).await?;
            let mut arguments = arguments.clone();
            arguments["thread_id"] = json!(id);
            on(shared, place, verb, &arguments, cancel).await
        }
        "workflow_thread" => first(shared, found, verb, arguments, cancel).await,
        _ => {
            // No file, or a wrong call: any place says so.
            let place = places.first().ok_or_else(Failure::defect)?;
            on(shared, place, verb, arguments, cancel).await
        }
    }
}

/// The place of a path, the deepest where they are nested, and the path made absolute. A relative one is looked
/// for in each.
pub(super) fn place_of<'a>(
    places: &'a [Arc<Place>],
    path: &str,
) -> Result<(&'a Arc<Place>, PathBuf), Failure> {
    let deepest = |path: &Path| {
        places
            .iter()
            .filter(|place| path.starts_with(&place.root))
            .max_by_key(|place| place.root.as_os_str().len())
    };
    if Path::new(path).is_absolute() {
        let path = os::resolved(Path::new(path));
        let outside = || {
            Failure::new(
                "file",
                format!("{} is outside the workspace", path.display()),
            )
        };
        return Ok((deepest(&path).ok_or_else(outside)?, path.clone()));
    }
    let found: Vec<(&Arc<Place>, PathBuf)> = places
        .iter()
        .map(|place| (place, os::resolved(&place.root.join(path))))
        .filter(|(place, path)| path.starts_with(&place.root) && path.exists())
        .collect();
    match found.as_slice() {
        [(place, path)] => Ok((place, path.clone())),
        [] => Err(Failure::new("file", format!("path not found: {path}"))),
        several => {
            let roots: Vec<String> = several
                .iter()
                .map(|(place, _)| place.root.display().to_string())
                .collect();
            let text = format!(
                "{path} is in several folders ({}): give an absolute path",
                roots.join(", ")
            );
            Err(Failure::new("ambiguous_path", text))
        }
    }
}

/// The answers of every place as one; each item says where it is from. A root that gives none is told of.
async fn all(
    shared: &Arc<Workspaces>,
    found: &Found,
    verb: &Verb,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Outcome {
    let mut together = json!({});
    let mut failed = Vec::new();
    for place in &found.places {
        let mut value = match on(shared, place, verb, arguments, cancel).await {
            Ok(answer) => answer.value,
            Err(failure) => {
                failed.push((&place.root, failure));
                continue;
            }
        };
        let root = place.root.to_string_lossy();
        for list in ["threads", "actions", "runs", "hits", "buffers"] {
            for item in value
                .get_mut(list)
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                item["root"] = json!(root);
            }
        }
        join(&mut together, value);
    }
    if failed.len() == found.places.len() {
        let first = failed.into_iter().next();
        return Err(first.map_or_else(Failure::defect, |(_, failure)| failure));
    }
    let failed = failed
        .iter()
        .map(|(root, failure)| (*root, &failure.message));
    let missing = found.missing.iter();
    let missing = missing.map(|missing| (&missing.root, &missing.why));
    if failed.len() > 0
        && let Some(success) = together.get_mut("success")
    {
        *success = json!(false);
    }
    for (root, why) in failed.chain(missing) {
        let told = json!({"root": root.to_string_lossy(), "error": why});
        join(&mut together, json!({"unavailable": [told]}));
    }
    // Each place gave its newest.
    for (list, time, most) in [
        ("runs", "started", verbs::RUNS),
        ("hits", "time", verbs::HITS),
    ] {
        let Some(items) = together.get_mut(list).and_then(Value::as_array_mut) else {
            continue;
        };
        let when = |item: &Value| item.get(time).and_then(Value::as_str).map(str::to_owned);
        items.sort_by_cached_key(|item| std::cmp::Reverse(when(item)));
        let limit = arguments.get("limit").and_then(Value::as_u64);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        items.truncate(limit.unwrap_or(most));
    }
    Ok(together.into())
}

/// Lists are appended, numbers added; what is so of all is so.
fn join(together: &mut Value, more: Value) {
    match (together, more) {
        (Value::Object(together), Value::Object(more)) => {
            for (name, value) in more {
                match together.get_mut(&name) {
                    Some(known) => join(known, value),
                    None => {
                        together.insert(name, value);
                    }
                }
            }
        }
        (Value::Array(together), Value::Array(more)) => together.extend(more),
        (together @ Value::Number(_), Value::Number(more)) => {
            let sum = together.as_u64().unwrap_or_default() + more.as_u64().unwrap_or_default();
            *together = json!(sum);
        }
        (Value::Bool(together), Value::Bool(more)) => *together &= more,
        _ => {}
    }
}

/// The place and full id of a thread: a prefix has to be unique over all places.
async fn thread<'a>(
    shared: &Arc<Workspaces>,
    found: &'a Found,
    id: &str,
    cancel: &CancellationToken,
) -> Result<(&'a Arc<Place>, String), Failure> {
    let mut all: Vec<(&Arc<Place>, String)> = Vec::new();
    let mut failed = found.failure();
    for place in &found.places {
        match on(shared, place, &verbs::GET_THREADS, &json!({}), cancel).await {
            Ok(answer) => {
                let threads = answer.value.get("threads").and_then(Value::as_array);
                let threads = threads.into_iter().flatten();
                let ids = threads.filter_map(|thread| thread.get("id")?.as_str());
                all.extend(ids.map(|id| (place, id.to_owned())));
            }
            Err(failure) => failed = failed.or(Some(failure)),
        }
    }
    let meant = match threads::resolve(id, all.iter().map(|(_, id)| id.as_str())) {
        Ok(found) => vec![found],
        Err(NoThread::Ambiguous(several)) => several,
        Err(NoThread::Unknown | NoThread::TooShort) => Vec::new(),
    };
    all.retain(|(_, id)| meant.contains(id));
    match all.as_slice() {
        [(place, id)] => Ok((place, id.clone())),
        // The first place words the error, unknown or too short, unless it may be where nobody can look.
        [] => match failed {
            Some(failure) => Err(failure),
            None => {
                let first = found.places.first().ok_or_else(Failure::defect)?;
                Ok((first, id.to_owned()))
            }
        },
        several => {
            let candidates: Vec<String> = several
                .iter()
                .map(|(place, id)| format!("{id} in {}", place.root.display()))
                .collect();
            let text = format!(
                "thread id `{}` is ambiguous ({}): give its file as `path`",
                id.escape_debug(),
                candidates.join(", ")
            );
            Err(Failure::new("ambiguous_id", text))
        }
    }
}

/// The first place that knows the run.
async fn first(
    shared: &Arc<Workspaces>,
    found: &Found,
    verb: &Verb,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Outcome {
    let mut failed = found.failure();
    for place in &found.places {
        match on(shared, place, verb, arguments, cancel).await {
            Ok(answer) => return Ok(answer),
            // That a history cannot be read says more than that another has no such run.
            Err(failure) if failed.as_ref().is_none_or(|f| f.code == "unknown_run") => {
                failed = Some(failure);
            }
            Err(_) => {}
        }
    }
    Err(failed.unwrap_or_else(Failure::defect))
}

/// A call on one place.
pub(super) async fn on(
    shared: &Arc<Workspaces>,
    place: &Place,
    verb: &Verb,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Outcome {
    let why = match bridge::call(&shared.folders.data, &place.root, verb, arguments, cancel).await {
        Ok(outcome) => {
            tell(
                shared,
                place,
                "calls go through the editor that has it open",
            );
            return outcome;
        }
        Err(NoAnswer::Lost(why)) if verb.effect.writes() => {
            return Err(Failure::new(
                LOST,
                format!(
                    "the editor's server was lost while it carried out {} ({why}): call get_threads to see what was done",
                    verb.name
                ),
            ));
        }
        // The editor may have it unsaved, and a position that was read there is another one on disk.
        Err(NoAnswer::Lost(why)) if !verb.of_history => return Err(lost(verb, &why)),
        Err(NoAnswer::Unheard(failure)) if verb.effect.writes() => return Err(failure),
        // It may have the file itself unsaved: what is on disk is not what the agent asks for.
        Err(none @ (NoAnswer::Unheard(_) | NoAnswer::Stranger(_))) if verb.needs_editor => {
            return Err(none.failure(&place.root));
        }
        Err(NoAnswer::Unheard(_)) => String::from("the editor does not tell what it has open"),
        Err(NoAnswer::Lost(why) | NoAnswer::Absent(why) | NoAnswer::Stranger(why)) => why,
    };
    if verb.needs_editor {
        let text = format!(
            "{} needs an editor with postil that has {} open ({why}); read and edit the file itself",
            verb.name,
            place.root.display()
        );
        return Err(Failure::new("no_editor", text));
    }
    tell(shared, place, &format!("calls work on the files ({why})"));
    // The files of the settings may have been edited since the call before.
    place.session.reload_settings();
    let (arguments, left) = beside(shared, place, verb, arguments, cancel).await?;
    let mut answer =
        verbs::call(&place.session, &place.root, verb.name, &arguments, cancel).await?;
    if !left.is_empty() {
        join(
            &mut answer.value,
            json!({"success": false, "actions": left}),
        );
    }
    Ok(answer)
}

/// A call without the files that an editor of another folder has not saved, and what is told of these. A call about one
/// such file alone is an error.
async fn beside(
    shared: &Workspaces,
    place: &Place,
    verb: &Verb,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Result<(Value, Vec<Value>), Failure> {
    let (mut arguments, mut left) = (arguments.clone(), Vec::new());
    let files = verbs::written(&place.session, &place.root, verb, &arguments).await;
    let (data, root) = (&shared.folders.data, &place.root);
    for folder in bridge::others(data, root, &files) {
        let (list, all) = (&verbs::BUFFER_READ, json!({}));
        let listed = match bridge::call(data, folder, list, &all, cancel).await {
            Ok(answer) => serde_json::from_value::<Listed>(answer?.value),
            Err(NoAnswer::Absent(_) | NoAnswer::Stranger(_)) => continue,
            Err(none) => return Err(none.failure(folder)),
        };
        let open = listed.map_err(|_| Failure::defect())?.all();
        let open = open.map_err(|why| Failure::new("editor_silent", why))?;
        for path in bridge::unsaved_of(open, folder, &files) {
            let why = bridge::unsaved(&path, folder);
            if verb.name != "process_all_actions" {
                return Err(Failure::new("unsaved", why));
            }
            let file = place.session.relative(&path);
            if arguments.is_null() {
                arguments = json!({});
            }
            join(&mut arguments, json!({ "except": [file] }));
            left.push(json!({"success": false, "file": file, "note": why}));
        }
    }
    Ok((arguments, left))
}

/// The code of a call that an editor's server was asked for and did not answer.
const LOST: &str = "editor_lost";

/// A read that may be answered when it is asked for once more.
pub(super) fn is_lost(failure: &Failure) -> bool {
    failure.code == LOST
}

fn lost(verb: &Verb, why: &str) -> Failure {
    Failure::new(
        LOST,
        format!(
            "the editor's server was lost while it carried out {} ({why}), and what it has not saved is not known: do this again",
            verb.name
        ),
    )
}

fn tell(shared: &Workspaces, place: &Place, way: &str) {
    if place.takes(way) {
        let text = format!("{}: {way}", place.root.display());
        shared.log.say(Level::Info, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_several_folders_are_joined() {
        let mut together = json!({});
        join(
            &mut together,
            json!({"threads": [1], "summary": {"total": 2, "pending": 1}}),
        );
        join(
            &mut together,
            json!({"threads": [2, 3], "summary": {"total": 5, "pending": 0}, "skipped": ["x"]}),
        );
        let expected =
            json!({"threads": [1, 2, 3], "summary": {"total": 7, "pending": 1}, "skipped": ["x"]});
        assert_eq!(together, expected);
    }
}
