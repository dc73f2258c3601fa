//! Going places: from inside a thread's text through the child language server, as if the word stood in the code
//! beside the thread; elsewhere by `proxy.mode`, with the parameters and the answer as they come.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};

use super::{Server, from_proto, hover, invalid, names, to_proto};
use crate::children::ChildError;
use crate::comments::Syntax;
use crate::config::ProxyMode;
use crate::session::{Session, View};
use crate::text::Document;
use crate::threads::Thread;

mod word;

use word::Word;

/// Files that are looked through for a definition where no child server can be had.
const MOST_FILES: usize = 5_000;

/// Methods that tell of a place in a document.
const AT_A_PLACE: [&str; 6] = [
    "textDocument/definition",
    "textDocument/declaration",
    "textDocument/typeDefinition",
    "textDocument/implementation",
    "textDocument/references",
    "textDocument/hover",
];

/// Methods that are passed on and nothing else.
const PASSED_ON: [&str; 7] = [
    "textDocument/documentHighlight",
    "textDocument/rename",
    "textDocument/prepareRename",
    "textDocument/prepareCallHierarchy",
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
    "textDocument/signatureHelp",
];

/// A child's answer is passed on as text.
pub(super) enum Answer {
    Value(Value),
    Raw(Box<RawValue>),
}

pub(super) fn takes(method: &str) -> bool {
    AT_A_PLACE.contains(&method) || PASSED_ON.contains(&method)
}

/// Whether any folder's settings forward the code's own navigation.
pub(super) fn proxies(session: &Session) -> bool {
    session
        .workspaces()
        .iter()
        .any(|workspace| workspace.loaded().settings.proxy_mode == ProxyMode::Always)
}

fn mode(session: &Session, path: &Path) -> ProxyMode {
    session
        .workspace_of(path)
        .map(|workspace| workspace.loaded().settings.proxy_mode)
        .unwrap_or_default()
}

pub(super) async fn request(
    server: Arc<Server>,
    method: String,
    params: Value,
    cancel: CancellationToken,
) -> Result<Answer> {
    let session = server.session()?;
    let uri = params
        .pointer("/textDocument/uri")
        .or_else(|| params.pointer("/item/uri"))
        .and_then(Value::as_str);
    let uri = uri.ok_or_else(|| invalid("textDocument.uri is missing"))?;
    let Some(path) = server.fit(uri) else {
        return Ok(Answer::Value(Value::Null));
    };
    let mode = mode(session, &path);
    if mode == ProxyMode::Off {
        return Ok(Answer::Value(Value::Null));
    }
    let mut told = Value::Null;
    if AT_A_PLACE.contains(&method.as_str()) {
        let position = params
            .get("position")
            .and_then(from_proto::position)
            .ok_or_else(|| invalid("position is missing"))?;
        // A file without a view (it is gone, or binary) has no thread either.
        if let Ok(view) = session.view(&path) {
            let at = to_proto::document(&view).offset(position, server.capabilities().encoding);
            if let Some(thread) = thread_at(&view, at) {
                return from_thread(&server, &method, &view, thread, at, &params, &cancel)
                    .await
                    .map(Answer::Value);
            }
            if method == "textDocument/hover" {
                let line = usize::try_from(position.line).unwrap_or(usize::MAX);
                told = hover::closed(&server, session, &view, line);
            }
        }
    }
    if mode != ProxyMode::Always {
        return Ok(Answer::Value(told));
    }
    let encoding = server.capabilities().encoding;
    let answer = session
        .children
        .request_raw(&path, None, &method, params, encoding, &cancel)
        .await;
    match answer {
        Ok(theirs) if told.is_null() => Ok(Answer::Raw(names::raw_to_client(&server, theirs))),
        Ok(theirs) => {
            let theirs = serde_json::from_str(theirs.get()).unwrap_or_default();
            Ok(Answer::Value(hover::joined(theirs, &told)))
        }
        // Nobody there to ask: the same as nothing found, for an editor asks at every key.
        Err(ChildError::NoRow(_) | ChildError::Missing { .. } | ChildError::Untrusted) => {
            Ok(Answer::Value(told))
        }
        Err(ChildError::Cancelled) => Err(Error::request_cancelled()),
        Err(_) if !told.is_null() => Ok(Answer::Value(told)),
        Err(error) => Err(child_error(error)),
    }
}

fn child_error(error: ChildError) -> Error {
    let message = error.to_string();
    match error {
        ChildError::Answered { code, data, .. } => Error {
            code: ErrorCode::from(code),
            message: message.into(),
            data,
        },
        ChildError::Cancelled => Error::request_cancelled(),
        _ => Error {
            code: ErrorCode::ServerError(to_proto::REQUEST_FAILED),
            message: message.into(),
            data: None,
        },
    }
}

/// The thread whose text covers a byte.
pub(super) fn thread_at(view: &View, at: usize) -> Option<&Thread> {
    let covers = |thread: &&Thread| {
        thread.messages.iter().any(|message| {
            let range = message.marker.start.min(message.range.start)
                ..message.range.end.max(message.marker.end);
            range.contains(&at) || range.end == at
        })
    };
    view.threads.iter().find(covers)
}

async fn from_thread(
    server: &Arc<Server>,
    method: &str,
    view: &View,
    thread: &Thread,
    at: usize,
    params: &Value,
    cancel: &CancellationToken,
) -> Result<Value> {
    let session = server.session()?;
    let word = word::at(&view.text, at, thread);
    let found = match word {
        Some(Word::Place { path, line, column }) if method != "textDocument/hover" => {
            place(server, session, view, &path, line, column)
        }
        Some(Word::Name { name, segment }) => {
            named(
                server, session, method, view, thread, &name, &segment, params, cancel,
            )
            .await?
        }
        Some(Word::At(said)) => {
            let file = match method {
                "textDocument/hover" => Value::Null,
                _ => place(server, session, view, &said, 1, 1),
            };
            if is_nothing(&file) {
                let segment = word::last_name(&said);
                named(
                    server, session, method, view, thread, &said, segment, params, cancel,
                )
                .await?
            } else {
                file
            }
        }
        _ => Value::Null,
    };
    if method == "textDocument/hover" && is_nothing(&found) {
        return Ok(hover::thread(server, session, view, thread));
    }
    Ok(found)
}

fn is_nothing(found: &Value) -> bool {
    found.is_null() || found.as_array().is_some_and(Vec::is_empty)
}

/// `src/net.rs:47`: relative to the folder, or to the file that says so.
fn place(
    server: &Server,
    session: &Session,
    view: &View,
    named: &str,
    line: u32,
    column: u32,
) -> Value {
    let Some(path) = file(session, view, named) else {
        return Value::Null;
    };
    let position = json!({"line": line.saturating_sub(1), "character": column.saturating_sub(1)});
    json!([{"uri": to_proto::uri(server, &path), "range": {"start": position, "end": position}}])
}

/// The file of the workspace that a message names: relative to the folder, or to the file that says so.
pub(super) fn file(session: &Session, view: &View, named: &str) -> Option<PathBuf> {
    let workspace = session.workspace_of(&view.path)?;
    let beside = view.path.parent().map(|folder| folder.join(named));
    let below_root = workspace
        .tree
        .resolve(named)
        .ok()
        .filter(|path| path.is_file());
    let beside = || {
        beside
            .and_then(|path| workspace.tree.resolve(&path.to_string_lossy()).ok())
            .filter(|path| path.is_file())
    };
    below_root.or_else(beside)
}

/// A name is asked for where it stands in the code, nearest below the thread; a child server that knows the
/// workspace is asked next, and the structure of the files last.
#[expect(
    clippy::too_many_arguments,
    reason = "one question with all that belongs to it"
)]
async fn named(
    server: &Arc<Server>,
    session: &Arc<Session>,
    method: &str,
    view: &View,
    thread: &Thread,
    name: &str,
    segment: &str,
    params: &Value,
    cancel: &CancellationToken,
) -> Result<Value> {
    let encoding = server.capabilities().encoding;
    let document = to_proto::document(view);
    let end = thread
        .messages
        .last()
        .map_or(0, |message| message.range.end);
    for occurrence in occurrences(view, name, segment, end) {
        let mut params = params.clone();
        if let Some(params) = params.as_object_mut() {
            params.insert(
                String::from("position"),
                to_proto::position(document.position(occurrence, encoding)),
            );
            // Its partial results would be of a place that the editor did not ask about.
            params.remove("partialResultToken");
            params.remove("workDoneToken");
        }
        match session
            .children
            .request(&view.path, None, method, params, encoding, cancel)
            .await
        {
            Ok(mut found) if !is_nothing(&found) => {
                names::to_client(server, &mut found);
                return Ok(found);
            }
            Ok(_) => {}
            Err(ChildError::Cancelled) => return Err(Error::request_cancelled()),
            Err(error) => {
                tracing::info!("{segment} in a thread: {error}");
                break;
            }
        }
    }
    if method == "textDocument/hover" {
        return Ok(Value::Null);
    }
    if method == "textDocument/references" {
        return Ok(own_references(server, view, &document, segment));
    }
    let asked = session
        .children
        .request(
            &view.path,
            None,
            "workspace/symbol",
            json!({"query": segment}),
            encoding,
            cancel,
        )
        .await;
    if let Ok(Value::Array(symbols)) = asked {
        let mut places: Value = symbols
            .into_iter()
            .filter(|symbol| {
                symbol
                    .get("name")
                    .and_then(Value::as_str)
                    .is_some_and(|known| {
                        known == segment || known.strip_suffix("()") == Some(segment)
                    })
            })
            .filter_map(|mut symbol| symbol.get_mut("location").map(Value::take))
            .filter(|location| location.get("range").is_some())
            .collect();
        if !is_nothing(&places) {
            names::to_client(server, &mut places);
            return Ok(places);
        }
    }
    own_definitions(server, session, view, segment).await
}

/// Where a name stands in the code: first below the thread, then above it. At most a few: a child that does not
/// know the first seldom knows the others.
fn occurrences(view: &View, name: &str, segment: &str, end: usize) -> Vec<usize> {
    let all = view.syntax.identifiers(&view.text, segment);
    // In `a::b` the segment is asked for where it stands behind the same path, if it does.
    let whole = |start: usize| {
        let before = name.find(segment).unwrap_or(0);
        start.checked_sub(before).is_some_and(|from| {
            view.text
                .get(from..)
                .is_some_and(|text| text.starts_with(name))
        })
    };
    let mut starts: Vec<usize> = all.iter().map(|range| range.start).collect();
    starts.sort_by_key(|start| (!whole(*start), *start < end, start.abs_diff(end)));
    starts.truncate(3);
    starts
}

fn own_references(server: &Server, view: &View, document: &Document, segment: &str) -> Value {
    let uri = to_proto::uri(server, &view.path);
    let encoding = server.capabilities().encoding;
    let all = view.syntax.identifiers(&view.text, segment);
    Value::Array(all.iter().map(|range| json!({"uri": uri, "range": to_proto::range(document.range(range, encoding))})).collect())
}

/// Definitions as the structure of the files shows them: this file first, then the folder's files of the same language.
async fn own_definitions(
    server: &Arc<Server>,
    session: &Arc<Session>,
    view: &View,
    segment: &str,
) -> Result<Value> {
    let (server, session, view, segment) = (
        server.clone(),
        session.clone(),
        view.clone(),
        segment.to_owned(),
    );
    let looked = tokio::task::spawn_blocking(move || {
        let here = definitions(
            &server,
            &view.path,
            &view.text,
            &view.syntax,
            &segment,
            &to_proto::document(&view),
        );
        if !here.is_empty() {
            return here;
        }
        let Some(workspace) = session.workspace_of(&view.path) else {
            return here;
        };
        let same_kind =
            |path: &PathBuf| path.extension() == view.path.extension() && *path != view.path;
        let files = workspace.tree.list("").unwrap_or_default();
        let mut all = Vec::new();
        for file in files.into_iter().filter(same_kind).take(MOST_FILES) {
            let Ok(read) = workspace.tree.read(&file.to_string_lossy()) else {
                continue;
            };
            if memchr::memmem::find(read.text.as_bytes(), segment.as_bytes()).is_none() {
                continue;
            }
            let Ok(other) = session.view(&file) else {
                continue;
            };
            all.extend(definitions(
                &server,
                &file,
                &other.text,
                &other.syntax,
                &segment,
                &to_proto::document(&other),
            ));
        }
        all
    });
    looked
        .await
        .map(Value::Array)
        .map_err(|_| Error::internal_error())
}

fn definitions(
    server: &Server,
    path: &Path,
    text: &str,
    syntax: &Syntax,
    name: &str,
    document: &Document,
) -> Vec<Value> {
    let uri = to_proto::uri(server, path);
    let encoding = server.capabilities().encoding;
    syntax
        .symbols(text)
        .iter()
        .filter(|symbol| symbol.name == name)
        .map(|symbol| json!({"uri": uri, "range": to_proto::range(document.range(&symbol.name_range, encoding))}))
        .collect()
}
