//! The lines of threads in colours (LSP 3.17 §Semantic Tokens). What an editor colours by itself it goes on
//! colouring: only threads have tokens. None is on two lines or over another, so every client can take them.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};

use super::transport::failure;
use super::{Params, Server, from_proto, invalid, to_proto, uri_of};
use crate::present::{Part, Token, tokens};
use crate::session::{Session, View};
use crate::text::{Document, Encoding};
use crate::threads::Role;

/// The protocol's own names, where a part fits one: themes know them.
const TYPES: [&str; 7] = [
    "keyword",
    "parameter",
    "comment",
    "namespace",
    "decorator",
    "variable",
    "string",
];
const DOCUMENTATION: u32 = 1;
const AUTHOR: u32 = 1 << 1;
const AGENT: u32 = 1 << 2;
const RUNNING: u32 = 1 << 3;
/// `author` and `agent`: who speaks; `running`: a turn is at work on the thread.
const MODIFIERS: [&str; 4] = ["documentation", "author", "agent", "running"];

/// Numbers of one token: line and character counted from the token before, length, type, modifiers.
const WIDTH: usize = 5;

/// What each open document was answered last: `full/delta` tells the difference.
#[derive(Default)]
pub(super) struct Given {
    last: DashMap<PathBuf, (String, Vec<u32>)>,
    count: AtomicU64,
}

impl Given {
    /// The document is closed.
    pub fn forget(&self, path: &Path) {
        self.last.remove(path);
    }
}

pub(super) fn provider() -> Value {
    json!({
        "legend": {"tokenTypes": TYPES, "tokenModifiers": MODIFIERS},
        "full": {"delta": true},
        "range": true,
    })
}

fn kind(part: Part) -> u32 {
    match part {
        Part::Author | Part::Agent => 0,
        Part::Name => 1,
        Part::Text => 2,
        Part::File | Part::Place => 3,
        Part::Symbol => 4,
        Part::Code => 5,
        Part::Link => 6,
    }
}

pub(super) fn takes(method: &str) -> bool {
    method.starts_with("textDocument/semanticTokens/")
}

/// Called in the order of the wire: the client reads the answer as that of the text it has then.
pub(super) fn request(
    server: Arc<Server>,
    method: String,
    params: Params,
) -> impl Future<Output = Result<Value>> {
    let params = params.unwrap_or_default();
    let found = uri_of(&params).map(|uri| {
        let path = server.fit(uri)?;
        let generation = server.session.get()?.buffers.generation(&path);
        Some((path, generation))
    });
    answer(server, method, params, found)
}

async fn answer(
    server: Arc<Server>,
    method: String,
    params: Value,
    found: Result<Option<(PathBuf, Option<u64>)>>,
) -> Result<Value> {
    let Some((path, generation)) = found? else {
        return Ok(Value::Null);
    };
    // A long text takes its time: not on a thread that answers others.
    let work = tokio::task::spawn_blocking(move || match method.as_str() {
        "textDocument/semanticTokens/full" => full(&server, path, generation, None),
        "textDocument/semanticTokens/full/delta" => {
            let previous = params.get("previousResultId").and_then(Value::as_str);
            let previous = previous.ok_or_else(|| invalid("previousResultId is missing"))?;
            full(&server, path, generation, Some(previous))
        }
        "textDocument/semanticTokens/range" => {
            let range = params.get("range").and_then(from_proto::range);
            let range = range.ok_or_else(|| invalid("range is missing"))?;
            part(&server, &path, generation, range)
        }
        _ => Err(Error::method_not_found()),
    });
    work.await.unwrap_or_else(|_| Err(Error::internal_error()))
}

/// Places in a newer text are none in that which was asked about: the client asks again.
fn is_of(view: &View, generation: Option<u64>) -> Result<()> {
    let now = view.buffer.as_ref().map(|buffer| buffer.generation);
    match now == generation {
        true => Ok(()),
        false => Err(failure(
            ErrorCode::ContentModified,
            "the text was changed meanwhile: ask again",
        )),
    }
}

/// The whole document, as what changed since the answer `previous` where that is known.
fn full(
    server: &Server,
    path: PathBuf,
    generation: Option<u64>,
    previous: Option<&str>,
) -> Result<Value> {
    let session = server.session()?;
    let Ok(view) = session.view(&path) else {
        return Ok(Value::Null);
    };
    is_of(&view, generation)?;
    let encoding = server.capabilities().encoding;
    let document = to_proto::document(&view);
    let data = data(session, &view, &document, &(0..view.text.len()), encoding);
    if view.buffer.is_none() {
        return Ok(json!({"data": data}));
    }
    let given = &server.tokens;
    let id = given.count.fetch_add(1, Ordering::Relaxed).to_string();
    let before = given.last.insert(path.clone(), (id.clone(), data.clone()));
    if !session.buffers.is_open(&path) {
        // It was closed meanwhile.
        given.forget(&path);
    }
    let before = before.filter(|(before, _)| previous == Some(before));
    Ok(match before {
        Some((_, before)) => json!({"resultId": id, "edits": edits(&before, &data)}),
        None => json!({"resultId": id, "data": data}),
    })
}

fn part(
    server: &Server,
    path: &Path,
    generation: Option<u64>,
    range: crate::text::Range,
) -> Result<Value> {
    let session = server.session()?;
    let Ok(view) = session.view(path) else {
        return Ok(Value::Null);
    };
    is_of(&view, generation)?;
    let encoding = server.capabilities().encoding;
    let document = to_proto::document(&view);
    let start = document.offset(range.start, encoding);
    let within = start..document.offset(range.end, encoding).max(start);
    Ok(json!({"data": data(session, &view, &document, &within, encoding)}))
}

fn data(
    session: &Session,
    view: &View,
    document: &Document,
    within: &Range<usize>,
    encoding: Encoding,
) -> Vec<u32> {
    let running: HashSet<usize> = view
        .threads
        .iter()
        .enumerate()
        .filter(|(_, thread)| {
            let turn = session.turn_of(&view.path, thread);
            turn.is_some_and(|turn| turn.running)
        })
        .map(|(number, _)| number)
        .collect();
    let path = session.relative(&view.path);
    let all = tokens(&path, &view.text, &view.syntax, within);
    encode(&all, document, encoding, &running)
}

fn encode(
    all: &[Token],
    document: &Document,
    encoding: Encoding,
    running: &HashSet<usize>,
) -> Vec<u32> {
    let mut data = Vec::with_capacity(all.len() * WIDTH);
    let mut places = document.places(encoding);
    let (mut line, mut character) = (0, 0);
    for token in all {
        let range = places.range(&token.range);
        let start = range.start;
        let mut modifiers = match token.role {
            Role::Author => AUTHOR,
            Role::Agent => AGENT,
        };
        if token.part == Part::Text {
            modifiers |= DOCUMENTATION;
        }
        if running.contains(&token.thread) {
            modifiers |= RUNNING;
        }
        let from = if start.line == line { character } else { 0 };
        data.extend([
            start.line - line,
            start.character - from,
            range.end.character.saturating_sub(start.character),
            kind(token.part),
            modifiers,
        ]);
        (line, character) = (start.line, start.character);
    }
    data
}

/// `SemanticTokensEdit`s from `before` to `after`: one, of whole tokens, or none.
fn edits(before: &[u32], after: &[u32]) -> Value {
    let whole = |count: usize| count / WIDTH * WIDTH;
    let same = |(a, b): &(&u32, &u32)| a == b;
    let start = whole(before.iter().zip(after).take_while(same).count());
    let (old, new) = (
        before.get(start..).unwrap_or_default(),
        after.get(start..).unwrap_or_default(),
    );
    let end = whole(
        old.iter()
            .rev()
            .zip(new.iter().rev())
            .take_while(same)
            .count(),
    );
    let (removed, put) = (
        old.len() - end,
        new.get(..new.len() - end).unwrap_or_default(),
    );
    if removed == 0 && put.is_empty() {
        return json!([]);
    }
    json!([{"start": start, "deleteCount": removed, "data": put}])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn apply(before: &[u32], edits: &Value) -> Vec<u32> {
        let mut data = before.to_vec();
        for edit in edits.as_array().unwrap() {
            let at = |name: &str| edit[name].as_u64().unwrap() as usize;
            let put = edit["data"].as_array().unwrap();
            let put = put.iter().map(|n| n.as_u64().unwrap() as u32);
            data.splice(at("start")..at("start") + at("deleteCount"), put);
        }
        data
    }

    #[test]
    fn an_edit_is_of_whole_tokens() {
        let (before, after) = ([0, 3, 6, 0, 2, 0, 8, 4, 2, 3], [0, 3, 6, 0, 2]);
        assert_eq!(edits(&before, &before), json!([]));
        assert_eq!(
            edits(&before, &after),
            json!([{"start": 5, "deleteCount": 5, "data": []}])
        );
        assert_eq!(
            edits(&after, &before),
            json!([{"start": 5, "deleteCount": 0, "data": [0, 8, 4, 2, 3]}])
        );
    }

    proptest! {
        #[test]
        fn edits_lead_from_one_answer_to_the_next(
            before in prop::collection::vec(prop::array::uniform5(0u32..3), 0..8),
            after in prop::collection::vec(prop::array::uniform5(0u32..3), 0..8),
        ) {
            let (before, after) = (before.concat(), after.concat());
            prop_assert_eq!(apply(&before, &edits(&before, &after)), after);
        }
    }
}
