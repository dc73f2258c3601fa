//! Completion: markers behind a comment's leader, files and names behind an `@` in a message. In code nothing
//! is offered: that is the language's own server's.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, Result};

use super::{Params, Server, from_proto, invalid, navigation, to_proto, uri_of};
use crate::children::canonical_language;
use crate::present;
use crate::session::{Session, View};
use crate::text::{Document, Encoding};
use crate::threads::{self, Beginning, Role};

mod rank;

use rank::{Best, score};

/// Files, and names, that are offered at once; the client asks again at the next key.
const MOST: usize = 100;
/// How long a child server may take that is asked beside.
const CHILD: Duration = Duration::from_millis(300);
/// Lines of a file that are shown beside its name, and their longest.
const SHOWN: usize = 12;
const LONGEST: usize = 160;
/// A name of so many letters is asked for in the whole workspace.
const LETTERS: usize = 2;

/// What opens a list of its own accord: mentions, and what names of files are made of. No leader of a comment does: Enter
/// behind an empty one begins a line.
pub(super) const TRIGGERS: [&str; 3] = ["@", "/", "-"];

/// `CompletionTriggerKind`: one of [`TRIGGERS`] was typed.
const TRIGGER_CHARACTER: u64 = 2;

/// `CompletionItemKind`s.
const TEXT_FILE: u32 = 17;
const KEYWORD: u32 = 14;

/// Where a list is asked for.
struct Place {
    view: View,
    document: Document,
    encoding: Encoding,
    uri: String,
    at: usize,
}

/// `textDocument/completion`.
pub(super) async fn complete(
    server: Arc<Server>,
    params: Params,
    cancel: CancellationToken,
) -> Result<Value> {
    let params = params.unwrap_or_default();
    let uri = uri_of(&params)?;
    let position = params
        .get("position")
        .and_then(from_proto::position)
        .ok_or_else(|| invalid("position is missing"))?;
    let session = server.session()?.clone();
    let path = server.fit(uri).filter(|path| session.buffers.is_open(path));
    let Some(view) = path.and_then(|path| session.view(&path).ok()) else {
        return Ok(Value::Null);
    };
    let document = to_proto::document(&view);
    let encoding = server.capabilities().encoding;
    let place = Place {
        at: document.offset(position, encoding),
        document,
        encoding,
        uri: uri.to_owned(),
        view,
    };
    let (text, syntax) = (&place.view.text, &place.view.syntax);
    let message = threads::typed_mention(text, syntax, &place.view.threads, place.at);
    if let Some((typed, end)) = message {
        return mentions(server.clone(), session, place, typed, end, cancel).await;
    }
    // `/` and `-` end a leader too.
    let by_key = params
        .get("context")
        .and_then(|context| context.get("triggerKind")?.as_u64())
        == Some(TRIGGER_CHARACTER);
    match threads::beginning(text, syntax, place.at) {
        Some(beginning) if !by_key => Ok(list(markers(&server, &place, &beginning), false)),
        _ => Ok(Value::Null),
    }
}

fn list(items: Vec<Value>, incomplete: bool) -> Value {
    json!({"isIncomplete": incomplete, "items": items})
}

/// The edit of an item: what is typed is replaced, or the whole word where the client lets its user choose.
fn edit(server: &Server, place: &Place, typed: &Range<usize>, end: usize, text: &str) -> Value {
    let range = |range: Range<usize>| to_proto::range(place.document.range(&range, place.encoding));
    let insert = range(typed.clone());
    let replace = range(typed.start..end);
    if server.capabilities().insert_replace {
        json!({"newText": text, "insert": insert, "replace": replace})
    } else {
        json!({"newText": text, "range": replace})
    }
}

/// `AUTHOR:`, and `AGENT:` where a question stands directly above.
fn markers(server: &Server, place: &Place, beginning: &Beginning) -> Vec<Value> {
    let client = server.capabilities();
    let line = place.document.position(place.at, place.encoding).line as usize;
    let asked = place.view.threads.iter().any(|thread| {
        thread.last_line() + 1 == line
            && thread
                .messages
                .last()
                .is_some_and(|last| last.role == Role::Author && !last.text.is_empty())
    });
    let typed = place
        .view
        .text
        .get(beginning.typed.clone())
        .unwrap_or_default();
    let fits = |word: &str| {
        word.get(..typed.len())
            .is_some_and(|part| part.eq_ignore_ascii_case(typed))
    };
    let blank = if beginning.needs_blank { " " } else { "" };
    let mut items = Vec::new();
    let mut add = |label: &str, text: &str, about: &str| {
        let mut item = json!({
            "label": label,
            // All alike: nvim-cmp puts snippets before everything else, whatever `sortText` says.
            "kind": KEYWORD,
            "detail": "postil",
            "documentation": about,
            "filterText": label,
            // Behind what the language's own server may have: many comments are no question.
            "sortText": format!("~postil{}", items.len()),
            "textEdit": edit(server, place, &beginning.typed, beginning.end, &format!("{blank}{text}")),
        });
        if let Some(item) = item.as_object_mut().filter(|_| text.contains('$')) {
            item.insert(String::from("insertTextFormat"), json!(2));
        }
        items.push(item);
    };
    if asked && fits("AGENT") {
        let about = "An answer to the line above, as an agent would write it.";
        add("AGENT:", "AGENT: ", about);
    }
    if fits("AUTHOR") {
        let about = "Asks an agent about the code beside this comment.";
        add("AUTHOR:", "AUTHOR: ", about);
        if client.snippets {
            let about = "Asks an agent, and says who asks.";
            add("AUTHOR(name):", "AUTHOR(${1:name}): $0", about);
        }
    }
    items
}

/// One thing that can be mentioned.
struct Candidate {
    name: String,
    kind: u32,
    detail: String,
    /// What [`resolve`] needs.
    data: Value,
}

async fn mentions(
    server: Arc<Server>,
    session: Arc<Session>,
    place: Place,
    typed: Range<usize>,
    end: usize,
    cancel: CancellationToken,
) -> Result<Value> {
    let word = place
        .view
        .text
        .get(typed.start + 1..typed.end)
        .unwrap_or_default()
        .to_owned();
    let theirs = of_children(&session, &place, &word, &cancel).await;
    let found = tokio::task::spawn_blocking(move || {
        let mut best = Best::new(MOST);
        names(&place, &word, &mut best);
        for (points, candidate) in theirs {
            best.offer(points, || candidate);
        }
        files(&session, &place, &word, &cancel, &mut best);
        let typed_text = format!("@{word}");
        let items = best.finish().into_iter().enumerate().map(|(rank, found)| {
            json!({
                "label": format!("@{}", present::visible(&found.name)),
                "kind": found.kind,
                "detail": present::visible(&found.detail),
                // The order is ours, and every key asks anew: a client that compares beginnings alone would
                // drop `src/net.rs` for `net`.
                "filterText": typed_text,
                "sortText": format!("{rank:04}"),
                "textEdit": edit(&server, &place, &typed, end, &format!("@{}", found.name)),
                "data": found.data,
            })
        });
        list(items.collect(), true)
    });
    found.await.map_err(|_| Error::internal_error())
}

/// Files of the workspace folder. Names that a mention cannot hold are left out.
fn files(
    session: &Session,
    place: &Place,
    word: &str,
    cancel: &CancellationToken,
    best: &mut Best<Candidate>,
) {
    let Some(workspace) = session.workspace_of(&place.view.path) else {
        return;
    };
    let known = match workspace.names.get(&workspace.tree) {
        Ok(known) => known,
        Err(error) => return tracing::info!("no files to complete: {error}"),
    };
    let own = session.relative(&place.view.path);
    let beside = own.rfind('/').map(|slash| own.get(..=slash).unwrap_or(""));
    for (number, name) in known.iter().enumerate() {
        if number % 4096 == 0 && cancel.is_cancelled() {
            return;
        }
        let Some(mut points) = score(word, name) else {
            continue;
        };
        if beside.is_some_and(|folder| name.starts_with(folder)) {
            points += 60;
        }
        let odd = |c: char| c.is_whitespace() || c.is_control() || "()[]{}<>\"'`,;".contains(c);
        if name.contains(odd) || **name == *own {
            continue;
        }
        best.offer(points, || Candidate {
            name: name.to_string(),
            kind: TEXT_FILE,
            detail: String::from("file"),
            data: json!({"uri": place.uri, "file": &**name}),
        });
    }
}

/// The names that the open file defines.
fn names(place: &Place, word: &str, best: &mut Best<Candidate>) {
    let mut seen = std::collections::HashSet::new();
    for symbol in place.view.syntax.symbols(&place.view.text) {
        if !is_name(&symbol.name) || !seen.insert(symbol.name.clone()) {
            continue;
        }
        if let Some(points) = score(word, &symbol.name) {
            let line = place
                .document
                .position(symbol.name_range.start, place.encoding)
                .line;
            best.offer(points + 100, || Candidate {
                kind: kind(symbol.kind),
                detail: format!("{}, line {}", symbol.kind.replace('_', " "), line + 1),
                data: json!({"uri": place.uri, "line": line}),
                name: symbol.name,
            });
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | ':' | '.' | '-'))
}

/// The workspace's names, of a child server that runs already: none is started for this.
async fn of_children(
    session: &Session,
    place: &Place,
    word: &str,
    cancel: &CancellationToken,
) -> Vec<(i32, Candidate)> {
    if word.len() < LETTERS || word.contains('/') {
        return Vec::new();
    }
    let by_text = place.view.syntax.language().map(|language| language.name);
    let by_editor = place.view.buffer.as_ref().map(|b| b.language_id.as_str());
    let running = session.children.states();
    let runs = |language: &str| {
        let language = canonical_language(language);
        running
            .iter()
            .any(|state| state.state == "ready" && state.language == language)
    };
    if !by_text.into_iter().chain(by_editor).any(runs) {
        return Vec::new();
    }
    let asked = session.children.request(
        &place.view.path,
        None,
        "workspace/symbol",
        json!({"query": word}),
        place.encoding,
        cancel,
    );
    let Ok(Ok(Value::Array(symbols))) = tokio::time::timeout(CHILD, asked).await else {
        return Vec::new();
    };
    let candidate = |symbol: Value| {
        let name = symbol.get("name")?.as_str()?.trim_end_matches("()");
        let points = Some(name)
            .filter(|name| is_name(name))
            .and_then(|name| score(word, name))?;
        let number = symbol.get("kind").and_then(Value::as_u64).unwrap_or(13);
        let file = symbol
            .pointer("/location/uri")
            .and_then(Value::as_str)
            .and_then(from_proto::path);
        // What stands in the open file is offered already.
        if file.as_deref() == Some(&*place.view.path) {
            return None;
        }
        let file = file.map(|file| session.relative(&file)).unwrap_or_default();
        let line = symbol
            .pointer("/location/range/start/line")
            .and_then(Value::as_u64);
        let found = Candidate {
            name: name.to_owned(),
            kind: item_kind(number),
            data: json!({"uri": place.uri, "file": file, "line": line}),
            detail: file,
        };
        Some((points, found))
    };
    symbols
        .into_iter()
        .take(MOST)
        .filter_map(candidate)
        .collect()
}

/// The `CompletionItemKind` of what the outline calls a symbol. A function is a reference: behind one that is taken
/// as a function or a method, editors write parentheses by themselves (blink.cmp, nvim-autopairs), and it is no call.
fn kind(word: &str) -> u32 {
    match word {
        "constructor" => 4,
        "field" => 5,
        "variable" => 6,
        "class" => 7,
        "interface" | "trait" => 8,
        "module" | "namespace" | "mod" => 9,
        "property" => 10,
        "enum" => 13,
        "constant" | "const" => 21,
        "struct" | "union" => 22,
        "type" | "type_alias" => 25,
        _ => 18,
    }
}

/// The same of a `SymbolKind`.
fn item_kind(symbol: u64) -> u32 {
    match symbol {
        2..=4 => 9,
        5 => 7,
        7 => 10,
        8 => 5,
        9 => 4,
        10 => 13,
        11 => 8,
        13 => 6,
        14 => 21,
        23 => 22,
        26 => 25,
        _ => 18,
    }
}

/// `completionItem/resolve`: what the file or the definition looks like.
pub(super) async fn resolve(server: Arc<Server>, params: Params) -> Result<Value> {
    let Some(Value::Object(item)) = params else {
        return Err(invalid("a completion item is to be an object"));
    };
    let looked = tokio::task::spawn_blocking(move || {
        let text = item.get("data").and_then(|data| excerpt(&server, data));
        let mut item: Map<String, Value> = item;
        if let Some(text) = text {
            let documentation = if server.capabilities().completion_markdown {
                to_proto::fenced(&text)
            } else {
                json!({"kind": "plaintext", "value": text})
            };
            item.insert(String::from("documentation"), documentation);
        }
        Value::Object(item)
    });
    looked.await.map_err(|_| Error::internal_error())
}

/// The first lines of a file, or those of a definition. Only files of the workspace are read.
fn excerpt(server: &Server, data: &Value) -> Option<String> {
    let session = server.session.get()?;
    let path = server.documents.path(data.get("uri")?.as_str()?)?;
    let here = session.view(&path).ok()?;
    let named = data.get("file").and_then(Value::as_str);
    let text = match named {
        Some(named) => {
            let file = navigation::file(session, &here, named)?;
            read(session, &file)?
        }
        None => Arc::from(&*here.text),
    };
    let line = data.get("line").and_then(Value::as_u64).unwrap_or(0);
    let from = usize::try_from(line).unwrap_or(usize::MAX);
    let lines = text.lines().skip(from).take(SHOWN).map(|line| {
        let cut: String = line.chars().take(LONGEST).collect();
        present::visible(&cut)
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn read(session: &Session, file: &Path) -> Option<Arc<str>> {
    let workspace = session.workspace_of(file)?;
    let read = workspace.tree.read(file).ok()?;
    Some(read.text)
}
