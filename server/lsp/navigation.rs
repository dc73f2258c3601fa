//! Going places: from inside a thread's text through the child language server, as if the word stood in the code
//! beside the thread; elsewhere by `proxy.mode`, with the parameters and the answer as they come.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};

use super::{Params, Server, from_proto, hover, invalid, lifecycle, names, to_proto};
use crate::children::{About, ChildError, read_answer};
use crate::comments::Syntax;
use crate::config::ProxyMode;
use crate::host::Level;
use crate::present;
use crate::session::{Session, View};
use crate::text::Document;
use crate::threads::Thread;
use crate::threads::lines::line_start;

mod word;

use word::Word;

/// Files that are looked through for a definition where no child server can be had.
const MOST_FILES: usize = 5_000;

/// Methods that tell of a place in a document.
const AT_A_PLACE: [&str; 9] = [
    "textDocument/definition",
    "textDocument/declaration",
    "textDocument/typeDefinition",
    "textDocument/implementation",
    "textDocument/references",
    HOVER,
    HIGHLIGHT,
    RENAME,
    PREPARE_RENAME,
];

const HOVER: &str = "textDocument/hover";
const HIGHLIGHT: &str = "textDocument/documentHighlight";
const RENAME: &str = "textDocument/rename";
const PREPARE_RENAME: &str = "textDocument/prepareRename";

/// Methods that a person asks for, and waits for what comes.
const BY_HAND: [&str; 6] = [
    "textDocument/definition",
    "textDocument/declaration",
    "textDocument/typeDefinition",
    "textDocument/implementation",
    "textDocument/references",
    RENAME,
];

/// Methods that are passed on and nothing else.
const PASSED_ON: [&str; 4] = [
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

/// A library's file goes by the folder from which a child led there.
pub(super) fn mode(session: &Session, path: &Path) -> ProxyMode {
    let led_from = || session.children.led_from(path);
    session
        .workspace_of(path)
        .or_else(|| session.workspace_of(&led_from()?))
        .map(|workspace| workspace.loaded().settings.proxy_mode)
        .unwrap_or_default()
}

/// Called in the order of the wire: the position counts in the text that the client has then.
pub(super) fn request(
    server: Arc<Server>,
    method: String,
    params: Params,
    cancel: CancellationToken,
) -> impl Future<Output = Result<Answer>> {
    let params = params.unwrap_or_default();
    // Where changes are held, the client's text is not known yet: then it is that of the moment in which they are not.
    let seen = match server.documents.hold_changes() {
        true => None,
        false => Some(open(&server, &params)),
    };
    answer(server, method, params, seen, cancel)
}

/// The file that is asked about, and which state of it is open ([`crate::files::Buffer::generation`]).
type Asked = (PathBuf, Option<u64>);

/// `None`: it is not served.
fn open(server: &Server, params: &Value) -> Result<Option<Asked>> {
    let session = server.session()?;
    let uri = params
        .pointer("/textDocument/uri")
        .or_else(|| params.pointer("/item/uri"))
        .and_then(Value::as_str);
    let uri = uri.ok_or_else(|| invalid("textDocument.uri is missing"))?;
    Ok(server.fit(uri).map(|path| {
        let generation = session.buffers.generation(&path);
        (path, generation)
    }))
}

async fn answer(
    server: Arc<Server>,
    method: String,
    params: Value,
    seen: Option<Result<Option<Asked>>>,
    cancel: CancellationToken,
) -> Result<Answer> {
    let session = server.session()?;
    let seen = seen.unwrap_or_else(|| open(&server, &params));
    let Some((path, generation)) = seen? else {
        return Ok(Answer::Value(Value::Null));
    };
    lifecycle::refresh_settings(&server, session);
    let mode = mode(session, &path);
    if mode == ProxyMode::Off {
        return Ok(Answer::Value(Value::Null));
    }
    let mut told = Value::Null;
    let mut name = Value::Null;
    if AT_A_PLACE.contains(&method.as_str()) {
        let position = params
            .get("position")
            .and_then(from_proto::position)
            .ok_or_else(|| invalid("position is missing"))?;
        // A file without a view (it is gone, or binary) has no thread either.
        if let Ok(view) = session.view(&path) {
            let now = view.buffer.as_ref().map(|buffer| buffer.generation);
            if now != generation {
                // Editors ask for these by themselves, and again after a change.
                let is_by_itself = [HOVER, HIGHLIGHT].contains(&method.as_str());
                return match is_by_itself && mode != ProxyMode::Always {
                    true => Ok(Answer::Value(Value::Null)),
                    false => Err(child_error(ChildError::modified())),
                };
            }
            let at = to_proto::document(&view).offset(position, server.capabilities().encoding);
            if let Some(thread) = thread_at(&view, at) {
                return from_thread(&server, &method, &view, thread, at, &params, &cancel)
                    .await
                    .map(Answer::Value);
            }
            if method == HOVER {
                let line = usize::try_from(position.line).unwrap_or(usize::MAX);
                told = hover::closed(&server, session, &view, line);
            }
            if method == PREPARE_RENAME {
                name = name_at(&server, &view, at);
            }
        }
    }
    if mode != ProxyMode::Always {
        return Ok(Answer::Value(told));
    }
    let encoding = server.capabilities().encoding;
    let answer = session
        .children
        .request_raw(
            About::text(&path, generation),
            None,
            &method,
            params,
            encoding,
            &cancel,
        )
        .await;
    let lacks = match &answer {
        Ok(theirs) => matches!(theirs.get(), "null" | "[]"),
        Err(error) => matches!(error, ChildError::Answered { .. }),
    };
    if lacks {
        session.children.tell_trouble(&path).await;
    }
    match answer {
        Ok(theirs) if method == RENAME => {
            let mut edit = read_answer(&method, &theirs).map_err(child_error)?;
            names::edit_to_client(&server, &mut edit);
            Ok(Answer::Value(edit))
        }
        Ok(theirs) if told.is_null() => Ok(Answer::Raw(names::raw_to_client(&server, theirs))),
        Ok(theirs) => {
            // Without what cannot be read, as without what failed.
            let theirs = read_answer(&method, &theirs).unwrap_or_else(|error| {
                tracing::info!("{error}");
                Value::Null
            });
            Ok(Answer::Value(hover::joined(theirs, &told)))
        }
        // Nobody there to ask: the same as nothing found, for an editor asks at every key.
        Err(error) if error.is_nobody() => {
            if matches!(error, ChildError::Untrusted) && BY_HAND.contains(&method.as_str()) {
                tell_untrusted(&server, session, &path);
            }
            Ok(Answer::Value(told))
        }
        // It was asked for what it never offered, as we offer it for all: no fault that a person could do anything
        // about. One that renames without being asked before takes whatever name stands there.
        Err(error) if error.is_unknown_method() => match told {
            Value::Null => Ok(Answer::Value(name)),
            told => Ok(Answer::Value(told)),
        },
        Err(ChildError::Cancelled) => Err(Error::request_cancelled()),
        Err(_) if !told.is_null() => Ok(Answer::Value(told)),
        Err(error) => Err(child_error(error)),
    }
}

/// Once for each folder.
fn tell_untrusted(server: &Server, session: &Session, path: &Path) {
    let Some(workspace) = session.workspace_of(path) else {
        return;
    };
    let text = format!("{}: {}", workspace.root().display(), ChildError::Untrusted);
    if server.told.insert(text.clone()) {
        super::host::message(server, Level::Info, &present::visible(&text));
    }
}

/// The name in the code at a byte, as an answer to `prepareRename`.
fn name_at(server: &Server, view: &View, at: usize) -> Value {
    // A hyphen is a part of names in some languages.
    let found = ["", "-"].iter().find_map(|more| {
        let name = word::around(&view.text, at, more);
        let mut all = view.syntax.identifiers(&view.text, name).into_iter();
        all.find(|range| range.start <= at && at <= range.end)
    });
    found.map_or(Value::Null, |range| to_rename(server, view, &range))
}

fn to_rename(server: &Server, view: &View, range: &Range<usize>) -> Value {
    let placeholder = view.text.get(range.clone()).unwrap_or_default();
    json!({"range": shown(server, view, range), "placeholder": placeholder})
}

fn shown(server: &Server, view: &View, range: &Range<usize>) -> Value {
    let encoding = server.capabilities().encoding;
    to_proto::range(to_proto::document(view).range(range, encoding))
}

pub(super) fn child_error(error: ChildError) -> Error {
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
            let marker = message.marker.start;
            let begins = if thread.trailing {
                marker
            } else {
                // No code stands before it: a cursor at the beginning of the line is on the thread too.
                line_start(&view.text, marker)
            };
            let range = begins.min(message.range.start)..message.range.end.max(message.marker.end);
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
    let goes = ![HOVER, HIGHLIGHT, RENAME, PREPARE_RENAME].contains(&method);
    let at_once = match &word {
        Some(Word::Place { path, line, column }) if goes => {
            place(server, session, view, path, *line, *column)
        }
        Some(Word::At(said)) if goes => place(server, session, view, said, 1, 1),
        _ => Value::Null,
    };
    let name = match &word {
        Some(Word::Name { name, segment }) => Some((name, segment.as_str())),
        Some(Word::At(said)) if is_nothing(&at_once) => Some((said, word::last_name(said))),
        _ => None,
    };
    let found = match name {
        Some((name, segment)) => {
            let found = named(
                server, session, method, view, thread, name, segment, params, cancel,
            );
            found.await?
        }
        None => at_once,
    };
    if method == HOVER && is_nothing(&found) {
        return Ok(hover::thread(server, session, view, thread));
    }
    let span = name.and_then(|(_, segment)| word::span(&view.text, at, segment));
    Ok(match span {
        Some(span) => from_here(server, view, method, found, &span),
        None => found,
    })
}

/// What was found for a name in the code is about the name in the thread, as far as it says what was pointed at.
fn from_here(
    server: &Server,
    view: &View,
    method: &str,
    mut found: Value,
    span: &Range<usize>,
) -> Value {
    match &mut found {
        Value::Object(_) if method == PREPARE_RENAME => return to_rename(server, view, span),
        Value::Object(hover) if method == HOVER && hover.contains_key("range") => {
            hover.insert(String::from("range"), shown(server, view, span));
        }
        // The name here is one of its places.
        Value::Array(places) if method == HIGHLIGHT && !places.is_empty() => {
            places.push(json!({"range": shown(server, view, span)}));
        }
        Value::Array(links) => {
            let origins = links
                .iter_mut()
                .filter_map(|link| link.get_mut("originSelectionRange"));
            origins.for_each(|origin| *origin = shown(server, view, span));
        }
        _ => {}
    }
    found
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
            .and_then(|path| workspace.tree.resolve(path).ok())
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
    let renames = matches!(method, RENAME | PREPARE_RENAME);
    let (mut refused, mut answers) = (None, true);
    let generation = view.buffer.as_ref().map(|buffer| buffer.generation);
    let about = About::text(&view.path, generation);
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
            .request(about, None, method, params, encoding, cancel)
            .await
        {
            Ok(mut found) if !is_nothing(&found) => {
                match method {
                    RENAME => names::edit_to_client(server, &mut found),
                    _ => names::to_client(server, &mut found),
                }
                return Ok(found);
            }
            Ok(_) => {}
            Err(ChildError::Cancelled) => return Err(Error::request_cancelled()),
            Err(error) if error.is_modified() => return Err(child_error(error)),
            Err(error) if method == PREPARE_RENAME && error.is_unknown_method() => {
                return Ok(json!({}));
            }
            // Whether it can be renamed there, each place says for itself.
            Err(error @ ChildError::Answered { .. }) if renames => refused = Some(error),
            Err(error) => {
                tracing::info!("{segment} in a thread: {error}");
                answers = matches!(error, ChildError::Answered { .. });
                refused = Some(error);
                break;
            }
        }
    }
    if answers {
        session.children.tell_trouble(&view.path).await;
    }
    if method == RENAME {
        let refused = refused.filter(|error| !error.is_nobody());
        return refused.map_or(Ok(Value::Null), |error| Err(child_error(error)));
    }
    if renames || method == HOVER {
        return Ok(Value::Null);
    }
    if method == "textDocument/references" || method == HIGHLIGHT {
        return Ok(own_references(server, method, view, &document, segment));
    }
    // One that does not answer is not waited for a second time.
    let symbols = match answers {
        true => {
            let asked = session.children.request(
                &view.path,
                None,
                "workspace/symbol",
                json!({"query": segment}),
                encoding,
                cancel,
            );
            asked.await.ok()
        }
        false => None,
    };
    if let Some(Value::Array(symbols)) = symbols {
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
    own_definitions(server, session, view, segment, cancel).await
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

fn own_references(
    server: &Server,
    method: &str,
    view: &View,
    document: &Document,
    segment: &str,
) -> Value {
    let uri = to_proto::uri(server, &view.path);
    let encoding = server.capabilities().encoding;
    let all = view.syntax.identifiers(&view.text, segment);
    let ranges = all
        .iter()
        .map(|range| to_proto::range(document.range(range, encoding)));
    match method {
        HIGHLIGHT => ranges.map(|range| json!({"range": range})).collect(),
        _ => ranges
            .map(|range| json!({"uri": uri, "range": range}))
            .collect(),
    }
}

/// Definitions as the structure of the files shows them: this file first, then the folder's files of the same language.
async fn own_definitions(
    server: &Arc<Server>,
    session: &Arc<Session>,
    view: &View,
    segment: &str,
    cancel: &CancellationToken,
) -> Result<Value> {
    let cancel = cancel.clone();
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
            if cancel.is_cancelled() {
                break;
            }
            let Ok(read) = workspace.tree.read(&file) else {
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
