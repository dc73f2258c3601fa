//! Resources: a thread as `postil://thread/<id>`, a run as `postil://run/<id>`.

use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use crate::present;

/// Runs that are listed; older ones can be read by their id.
pub(super) const RUNS: usize = 100;
/// Resources on one page of the list.
pub(super) const PAGE: usize = 500;

/// What there is to be named.
pub(super) const NAMES: &str = "a resource is postil://thread/<id> or postil://run/<id>";

/// What a URI names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named<'a> {
    Thread(&'a str),
    Run(&'a str),
}

/// `None`: it is none of ours.
pub(super) fn parse(uri: &str) -> Option<Named<'_>> {
    let (kind, id) = uri.strip_prefix("postil://")?.split_once('/')?;
    let fits = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    match kind {
        _ if !fits => None,
        "thread" => Some(Named::Thread(id)),
        "run" => Some(Named::Run(id)),
        _ => None,
    }
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("postil://thread/{id}", "thread")
            .with_title("A thread")
            .with_description("One thread with its messages, as get_threads gives it")
            .with_mime_type("application/json"),
        ResourceTemplate::new("postil://run/{id}", "run")
            .with_title("A run")
            .with_description(
                "The request and the newest rounds of a run, as workflow_thread gives them",
            )
            .with_mime_type("text/plain"),
    ]
}

/// `list`: the answer of `get_threads`.
pub(super) fn threads(list: &Value) -> Vec<Resource> {
    let threads = list.get("threads").and_then(Value::as_array);
    let named = threads.into_iter().flatten().filter_map(|thread| {
        let id = thread.get("id")?.as_str()?;
        let file = thread.get("file")?.as_str()?;
        let line = thread.get("start_line")?;
        let messages = thread.get("thread")?.as_array()?;
        let first = messages
            .iter()
            .filter_map(|message| message.get("text")?.as_str())
            .find(|text| !text.is_empty())
            .unwrap_or_default();
        let status = thread.get("status")?.as_str()?;
        Some(
            Resource::new(format!("postil://thread/{id}"), format!("{file}:{line}"))
                .with_title(present::short(first, 80))
                .with_description(format!("{status} thread {id}"))
                .with_mime_type("application/json"),
        )
    });
    named.collect()
}

/// `list`: the answer of `workflow_list`.
pub(super) fn runs(list: &Value) -> Vec<Resource> {
    let runs = list.get("runs").and_then(Value::as_array);
    let named = runs.into_iter().flatten().filter_map(|run| {
        let text = |name: &str| run.get(name).and_then(Value::as_str);
        let id = text("id")?;
        let about = format!(
            "{} run on {}, {}",
            text("status")?,
            text("file")?,
            text("started")?
        );
        Some(
            Resource::new(format!("postil://run/{id}"), format!("run {id}"))
                .with_description(present::short(&about, 200))
                .with_mime_type("text/plain"),
        )
    });
    named.collect()
}

/// The thread of an id or unique prefix in the answer of `get_threads`.
pub(super) fn thread(list: &Value, id: &str) -> Result<Value, String> {
    let threads = list.get("threads").and_then(Value::as_array);
    let all: Vec<&Value> = threads.into_iter().flatten().collect();
    let id_of = |thread: &Value| thread.get("id").and_then(Value::as_str).map(str::to_owned);
    let found = crate::threads::resolve(
        id,
        all.iter().filter_map(|thread| thread.get("id")?.as_str()),
    );
    match found {
        Ok(found) => {
            let thread = all
                .iter()
                .find(|thread| id_of(thread).as_deref() == Some(&*found));
            Ok(thread.map_or(Value::Null, |thread| (*thread).clone()))
        }
        Err(_) => Err(format!("no thread `{id}`; get_threads lists them")),
    }
}

pub(super) fn contents(
    uri: &str,
    named: Named,
    value: &Value,
    text: Option<&str>,
) -> ResourceContents {
    match named {
        Named::Thread(_) => {
            let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
            ResourceContents::text(pretty, uri).with_mime_type("application/json")
        }
        Named::Run(_) => ResourceContents::text(text.unwrap_or_default(), uri),
    }
}

/// One page of a list, and where the next begins; `None`: the cursor is none of ours.
pub(super) fn page<T>(mut all: Vec<T>, cursor: Option<&str>) -> Option<(Vec<T>, Option<String>)> {
    let from = match cursor {
        None => 0,
        Some(cursor) => cursor
            .parse::<usize>()
            .ok()
            .filter(|from| *from <= all.len())?,
    };
    let mut page = all.split_off(from);
    let more = page.len() > PAGE;
    page.truncate(PAGE);
    Some((page, more.then(|| (from + PAGE).to_string())))
}

/// The arguments that list what `resources/list` shows.
pub(super) fn list_runs() -> Value {
    json!({"limit": RUNS})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names() {
        assert_eq!(
            parse("postil://thread/3f9a01bc-2"),
            Some(Named::Thread("3f9a01bc-2"))
        );
        assert_eq!(parse("postil://run/3f9a"), Some(Named::Run("3f9a")));
        for other in [
            "file:///etc/passwd",
            "postil://thread/",
            "postil://thread/../run/x",
            "postil://thread/%2e",
            "postil://file/x",
            "postil:thread/x",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn pages_hold_everything_once() {
        let all: Vec<usize> = (0..PAGE * 2 + 1).collect();
        let (mut read, mut cursor) = (Vec::new(), None);
        loop {
            let (page, next) = page(all.clone(), cursor.as_deref()).expect("a page");
            read.extend(page);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(read, all);
        assert!(page(all, Some("x")).is_none());
    }
}
