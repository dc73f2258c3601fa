//! The threads of a large workspace, page by page: all at once they are more than an agent is to read.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::roots::{Found, Workspaces};
use super::route;
use crate::threads;
use crate::verbs::{self, Answer, Failure, Page};

/// What tells threads apart: the root, the file, the id.
type Name<'a> = [Option<&'a str>; 3];

fn name(thread: &Value) -> Name<'_> {
    ["root", "file", "id"].map(|field| thread.get(field).and_then(Value::as_str))
}

fn items(list: &Value) -> &[Value] {
    let items = list.get("threads").and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}

/// One page of what `get_threads` answers, and all of it where that is more.
pub(super) async fn threads(
    shared: &Arc<Workspaces>,
    found: &Found,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Result<(Answer, Option<Value>), Failure> {
    let mut arguments = arguments.clone();
    let Page { limit, after } = Page::taken_from(&mut arguments)?;
    let list = async |arguments: &Value| {
        let answer = route::call(shared, found, &verbs::GET_THREADS, arguments, cancel).await;
        answer.map(|answer| answer.value)
    };
    let whole = list(&arguments).await?;
    let from = match after.as_deref().map(threads::normal) {
        None => 0,
        Some(after) => match place_of(&whole, &after) {
            Some(place) => place + 1,
            // It may have another status by now.
            None => {
                if let Some(arguments) = arguments.as_object_mut() {
                    arguments.remove("status");
                }
                let all = list(&arguments).await?;
                behind(&whole, &all, &after).ok_or_else(|| gone(&after))?
            }
        },
    };
    Ok(match cut(&whole, from, limit.unwrap_or(verbs::THREADS)) {
        Some(page) => (page.into(), Some(whole)),
        None => (whole.into(), None),
    })
}

fn gone(after: &str) -> Failure {
    Failure::new(
        "unknown_thread",
        format!(
            "no thread `{}` to go on behind; call get_threads again without `after`",
            after.escape_debug()
        ),
    )
}

fn place_of(list: &Value, id: &str) -> Option<usize> {
    let is_it = |thread: &Value| thread.get("id").is_some_and(|one| one == id);
    items(list).iter().position(is_it)
}

/// Where in a list of some threads those begin that stand behind one of all.
fn behind(some: &Value, all: &Value, id: &str) -> Option<usize> {
    let before = items(all).get(..=place_of(all, id)?)?;
    let before: HashSet<Name> = before.iter().map(name).collect();
    let mut some = items(some).iter();
    let first = some.position(|thread| !before.contains(&name(thread)));
    Some(first.unwrap_or(usize::MAX))
}

/// The threads from a place on, as many, and in words how many come behind them. `None`: that is all of them.
fn cut(whole: &Value, from: usize, limit: usize) -> Option<Value> {
    let all = items(whole);
    // Whoever goes on names the last one, which an id that two roots have does not.
    let is_named = |place: usize| {
        let id = all.get(place).and_then(|last| last.get("id"));
        id.is_some() && all.iter().filter(|one| one.get("id") == id).count() == 1
    };
    let from = from.min(all.len());
    let mut end = from.saturating_add(limit).min(all.len());
    while end < all.len() && !is_named(end - 1) {
        end += 1;
    }
    let page = all.get(from..end).filter(|page| page.len() < all.len())?;
    let mut answer = whole.clone();
    answer["threads"] = json!(page);
    if let Some([_, _, Some(last)]) = page.last().map(name)
        && end < all.len()
    {
        let count = all.len() - end;
        let threads = match count {
            1 => String::from("1 thread is"),
            count => format!("{count} threads are"),
        };
        answer["cut"] = json!(format!(
            "{threads} left out: get_threads with `after` \"{last}\" goes on there"
        ));
    }
    Some(answer)
}
