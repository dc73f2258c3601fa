//! Threads in the outline and in the list of the workspace's symbols. With `proxy.mode = "always"` the code's own
//! symbols come along, and a thread stands below the one that it is in.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, Result};

use super::{Params, Server, host, invalid, names, navigation, to_proto, uri_of};
use crate::children::ChildError;
use crate::config::ProxyMode;
use crate::host::Level;
use crate::present;
use crate::session::View;
use crate::text::Encoding;
use crate::threads::Thread;

/// `SymbolKind.Event`: editors have a sign for it, and no language server uses it for code.
const KIND: u32 = 24;
/// Symbols of the workspace that are listed.
const MOST: usize = 500;

fn range(view: &View, thread: &Thread, encoding: Encoding) -> Value {
    to_proto::range(to_proto::document(view).range(&thread.span(), encoding))
}

pub(super) async fn document(
    server: Arc<Server>,
    params: Params,
    cancel: CancellationToken,
) -> Result<Value> {
    let params = whole(params);
    let session = server.session()?;
    let uri = uri_of(&params)?.to_owned();
    let Some(path) = server.fit(&uri) else {
        return Ok(json!([]));
    };
    let Ok(view) = session.view(&path) else {
        return Ok(json!([]));
    };
    let client = server.capabilities();
    let mut theirs = Vec::new();
    if navigation::mode(session, &path) == ProxyMode::Always {
        let method = "textDocument/documentSymbol";
        let ask = session
            .children
            .request(&path, None, method, params, client.encoding, &cancel);
        match ask.await {
            Ok(mut said) => {
                names::to_client(&server, &mut said);
                if let Value::Array(list) = said {
                    theirs = list;
                }
            }
            Err(error) if view.threads.is_empty() && is_failure(&error) => {
                return Err(navigation::child_error(error));
            }
            Err(error) => tell_failure(&server, &error),
        }
    }
    // One answer has one form: the child's, where it has symbols.
    let tree = theirs.first().map_or(client.symbol_tree, |symbol| {
        symbol.get("selectionRange").is_some()
    });
    let has_theirs = !theirs.is_empty();
    for thread in view.threads.iter() {
        let range = range(&view, thread, client.encoding);
        let name = present::title(thread);
        if !tree {
            theirs.push(json!({"name": name, "kind": KIND, "containerName": present::state(thread), "location": {"uri": uri, "range": range}}));
            continue;
        }
        let symbol = json!({"name": name, "detail": present::state(thread), "kind": KIND, "range": range, "selectionRange": range});
        if has_theirs {
            nest(&mut theirs, symbol);
        } else {
            theirs.push(symbol);
        }
    }
    Ok(Value::Array(theirs))
}

/// The workspace's threads. What the index has of a closed file is enough to name them; the file itself is read
/// for those that are listed, or when the client goes to one.
fn own(server: &Server, query: &str, cancel: &CancellationToken) -> Result<Vec<Value>> {
    let session = server.session()?;
    let client = server.capabilities();
    let mut all = Vec::new();
    for path in session.files_with_threads() {
        if cancel.is_cancelled() || all.len() >= MOST {
            break;
        }
        let indexed = session
            .workspace_of(&path)
            .filter(|_| !session.buffers.is_open(&path))
            .and_then(|workspace| workspace.index.get(&path));
        let mut view = None;
        let threads = match indexed {
            Some(entry) => entry.threads,
            None => match session.view(&path) {
                Ok(found) => view.insert(found).threads.clone(),
                Err(_) => continue,
            },
        };
        let uri = to_proto::uri(server, &path);
        let file = present::one_line(&session.relative(&path));
        let wanted = threads
            .iter()
            .map(|thread| (present::title(thread), thread))
            .filter(|(name, _)| matches(query, &name.to_lowercase()))
            .take(MOST - all.len());
        for (name, thread) in wanted {
            let mut symbol = json!({"name": name, "kind": KIND, "containerName": file, "location": {"uri": uri}});
            if client.resolves_ranges {
                symbol["data"] = json!({"thread_id": thread.id});
                all.push(symbol);
                continue;
            }
            if view.is_none() {
                view = session.view(&path).ok();
            }
            // As it is now: the index may be behind.
            let place = view.as_ref().and_then(|view| {
                let thread = view.threads.iter().find(|now| now.id == thread.id)?;
                Some(range(view, thread, client.encoding))
            });
            if let Some(place) = place {
                symbol["location"]["range"] = place;
                all.push(symbol);
            }
        }
    }
    Ok(all)
}

pub(super) async fn workspace(
    server: Arc<Server>,
    params: Params,
    cancel: CancellationToken,
) -> Result<Value> {
    let params = whole(params);
    let query = params
        .get("query")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_lowercase();
    let asked = server.clone();
    let stop = cancel.clone();
    let own = tokio::task::spawn_blocking(move || own(&asked, &query, &stop));
    let mut all = own.await.unwrap_or_else(|_| Err(Error::internal_error()))?;
    let session = server.session()?;
    // Which language is meant, nobody says: the children of all that is open.
    let is_proxied = |path: &PathBuf| navigation::mode(session, path) == ProxyMode::Always;
    let mut files = session.buffers.paths();
    files.retain(is_proxied);
    files.sort();
    let method = "workspace/symbol";
    let encoding = server.capabilities().encoding;
    let mut failed = None;
    let said = session
        .children
        .request_each(&files, method, &params, encoding, &cancel)
        .await;
    for said in said {
        match said {
            Ok(mut said) => {
                names::to_client(&server, &mut said);
                if let Value::Array(theirs) = said {
                    all.extend(theirs);
                }
            }
            Err(error) if is_failure(&error) => failed = Some(error),
            Err(_) => {}
        }
    }
    if let Some(error) = failed {
        if all.is_empty() {
            return Err(navigation::child_error(error));
        }
        tell_failure(&server, &error);
    }
    Ok(Value::Array(all))
}

/// Asks for the answer in one piece: a child's own pieces would not be all of it.
fn whole(params: Params) -> Value {
    let mut params = params.unwrap_or_default();
    if let Some(params) = params.as_object_mut() {
        params.remove("partialResultToken");
    }
    params
}

/// It could have had an answer: «nothing» would be another one.
fn is_failure(error: &ChildError) -> bool {
    !error.is_nobody() && !error.is_unknown_method()
}

/// Of one that does not answer, once: what else there is to list looks like all of it.
fn tell_failure(server: &Server, error: &ChildError) {
    let command = match error {
        ChildError::TimedOut(command, _)
        | ChildError::Indexing(command, _)
        | ChildError::Stopped(command, _)
        | ChildError::TooLarge(command, _)
        | ChildError::Full(command, _) => command,
        _ => return,
    };
    if server.told.insert(format!("no symbols of {command}")) {
        let text =
            format!("{error}. Its symbols are missing from lists until it answers with them.");
        host::message(server, Level::Warning, &present::visible(&text));
    }
}

/// Whether the letters of `query` stand in `name` in their order, as LSP 3.17 §workspace/symbol asks for.
fn matches(query: &str, name: &str) -> bool {
    let mut letters = name.chars();
    query
        .chars()
        .filter(|c| !c.is_whitespace())
        .all(|wanted| letters.any(|c| c == wanted))
}

/// `workspaceSymbol/resolve`: the place in the file, as it is now.
pub(super) async fn resolve(server: Arc<Server>, params: Params) -> Result<Value> {
    let Some(Value::Object(mut symbol)) = params else {
        return Err(invalid("a symbol is to be an object"));
    };
    let id = symbol
        .get("data")
        .and_then(|data| data.get("thread_id"))
        .and_then(Value::as_str)
        .map(str::to_owned);
    let path = symbol
        .get("location")
        .and_then(|location| location.get("uri"))
        .and_then(Value::as_str)
        .and_then(|uri| server.documents.path(uri));
    let (Some(id), Some(path)) = (id, path) else {
        // A child's own, which came whole.
        return Ok(Value::Object(symbol));
    };
    let looked = tokio::task::spawn_blocking(move || {
        let view = server.session()?.view(&path)?;
        let thread = view.threads.iter().find(|thread| thread.id == id);
        // Gone meanwhile: the file is what is left to go to.
        Ok(thread.map_or_else(
            || json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}),
            |thread| range(&view, thread, server.capabilities().encoding),
        ))
    });
    let range = looked
        .await
        .unwrap_or_else(|_| Err(Error::internal_error()))?;
    if let Some(Value::Object(location)) = symbol.get_mut("location") {
        location.insert(String::from("range"), range);
    }
    Ok(Value::Object(symbol))
}

/// Puts a symbol below the innermost one whose range has it, in the order of the text.
fn nest(symbols: &mut Vec<Value>, symbol: Value) {
    let place = |value: &Value, end: &str| {
        let position = value.pointer(&format!("/range/{end}"))?;
        Some((
            position.get("line")?.as_u64()?,
            position.get("character")?.as_u64()?,
        ))
    };
    let (start, end) = (place(&symbol, "start"), place(&symbol, "end"));
    let around = symbols.iter_mut().find(|other| {
        other.get("kind") != Some(&json!(KIND))
            && place(other, "start").is_some_and(|at| Some(at) <= start)
            && place(other, "end").is_some_and(|at| Some(at) >= end)
    });
    if let Some(Value::Object(around)) = around {
        let children = around
            .entry("children")
            .or_insert_with(|| Value::Array(Vec::new()));
        if children.is_null() {
            *children = Value::Array(Vec::new());
        }
        if let Value::Array(children) = children {
            return nest(children, symbol);
        }
    }
    let at = symbols
        .iter()
        .position(|other| place(other, "start") > start)
        .unwrap_or(symbols.len());
    symbols.insert(at, symbol);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stands_below_the_symbol_that_it_is_in() {
        let symbol = |name: &str, kind: u32, from: u64, to: u64| {
            let at = |line: u64| json!({"line": line, "character": 0});
            json!({"name": name, "kind": kind, "range": {"start": at(from), "end": at(to)}})
        };
        let mut class = symbol("class", 5, 2, 9);
        class["children"] = json!([symbol("method", 6, 4, 8)]);
        let mut symbols = vec![class, symbol("after", 12, 12, 14)];
        for (name, line) in [("inside", 5), ("class's", 3), ("between", 10), ("first", 0)] {
            nest(&mut symbols, symbol(name, KIND, line, line));
        }
        let names = |symbols: &Value| -> Vec<String> {
            let list = symbols.as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter()
                .map(|s| s["name"].as_str().unwrap().to_owned())
                .collect()
        };
        let all = json!(symbols);
        assert_eq!(names(&all), ["first", "class", "between", "after"]);
        assert_eq!(names(&all[1]["children"]), ["class's", "method"]);
        assert_eq!(names(&all[1]["children"][1]["children"]), ["inside"]);
    }

    #[test]
    fn a_query_is_letters_in_order() {
        assert!(matches("", "anything"));
        assert!(matches("rnm", "rename it"));
        assert!(matches("rename it", "rename it"));
        assert!(!matches("mnr", "rename it"));
    }
}
