//! For a client that shows threads in ways of its own (VS Code's comments, a tree of threads). It asks for it by
//! `initializationOptions.threads` and is told of a file's threads whenever they changed (`postil/threads`) and
//! of the turns that run (`postil/turns`). The text stays the truth: what such a client does with a thread goes
//! through the same commands as everything else.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use dashmap::DashMap;
use serde::Serialize;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::Range;

use super::{Server, to_proto};
use crate::present;
use crate::session::{Session, TurnState, View};
use crate::store::{Past, Round};
use crate::text::Places;
use crate::threads::{self, Status, Thread};
use crate::verbs::facts;

/// Rounds in one answer.
const ROUNDS: usize = 200;
/// Characters of one round that are sent; the whole is in `postil workflow thread`.
const ROUND: usize = 100_000;

/// What the client was told last.
#[derive(Default)]
pub(super) struct Margin {
    /// By file: under which URI, and a hash of the list and of whether it is open. Only lists that are not empty.
    files: DashMap<PathBuf, (String, u64)>,
    /// What it was told of the runs that run. Held from the look at the turns until they are told of: what is told
    /// last is what is so last.
    running: Mutex<HashMap<String, Value>>,
}

impl Margin {
    /// The files of whose threads the client was told.
    pub(super) fn told(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.key().clone()).collect()
    }
}

/// Tells of the threads of a file, unless it knows. `open`: the URI under which it is. No `view`: nothing is shown of
/// this file (any more).
pub(super) fn publish(server: &Server, path: &Path, open: Option<&str>, view: Option<&View>) {
    let client = server.capabilities();
    if !client.shows_threads {
        return;
    }
    let Ok(session) = server.session() else {
        return;
    };
    let threads = view.map_or_else(Vec::new, |view| {
        let document = to_proto::document(view);
        let mut places = document.places(client.encoding);
        let past = past(session, view);
        let is_outside = session.workspace_of(path).is_none();
        let one = |(thread, past)| described(session, view, &mut places, thread, past, is_outside);
        view.threads
            .iter()
            .zip(past)
            .map(one)
            .collect::<Vec<Described<'_>>>()
    });
    let known = server.margin.files.get(path).map(|known| known.clone());
    let uri = match (&known, open) {
        // What was told under another name is taken back under that name.
        (Some((uri, _)), Some(open)) if uri != open => {
            send(server, uri, None, &[]);
            open.to_owned()
        }
        (Some((uri, _)), _) => uri.clone(),
        (None, Some(open)) => open.to_owned(),
        (None, None) => to_proto::uri(server, path),
    };
    let mut hasher = DefaultHasher::new();
    uri.hash(&mut hasher);
    let others = server.documents.other_uris(path);
    others.hash(&mut hasher);
    // The versions of a document that is opened again begin anew.
    view.is_some_and(|view| view.buffer.is_some())
        .hash(&mut hasher);
    serde_json::to_string(&threads)
        .unwrap_or_default()
        .hash(&mut hasher);
    let hash = hasher.finish();
    if known.as_ref().is_some_and(|(_, told)| *told == hash)
        || (known.is_none() && threads.is_empty())
    {
        return;
    }
    let version = view.and_then(|view| view.buffer.as_ref().map(|b| b.document.version()));
    send(server, &uri, version, &threads);
    for other in &others {
        shown_elsewhere(server, other, (!threads.is_empty()).then_some(uri.as_str()));
    }
    if threads.is_empty() {
        server.margin.files.remove(path);
    } else {
        server.margin.files.insert(path.to_owned(), (uri, hash));
    }
}

/// Of another name of a file nothing is shown but where its threads are.
fn shown_elsewhere(server: &Server, uri: &str, first: Option<&str>) {
    let params = json!({"uri": uri, "version": null, "threads": [], "shown_in": first});
    tell(server, uri, &params);
}

/// In place of an older list of that file that still waits to be read.
fn send(server: &Server, uri: &str, version: Option<i32>, threads: &[Described<'_>]) {
    let params = Params {
        uri,
        version,
        threads,
    };
    tell(server, uri, &params);
}

fn tell(server: &Server, uri: &str, params: &impl Serialize) {
    let message = Message {
        jsonrpc: "2.0",
        method: "postil/threads",
        params,
    };
    server
        .client
        .outbox
        .publish(&format!("postil/threads {uri}"), &message);
}

#[derive(Serialize)]
struct Message<'a, T> {
    jsonrpc: &'static str,
    method: &'static str,
    params: &'a T,
}

#[derive(Serialize)]
struct Params<'a> {
    uri: &'a str,
    version: Option<i32>,
    threads: &'a [Described<'a>],
}

/// A thread, as the client is told of it. Of hundreds this is made with each key: no tree of values is built for it.
#[derive(Serialize)]
struct Described<'a> {
    id: &'a str,
    status: &'static str,
    malformed: bool,
    title: String,
    range: Range,
    messages: Vec<Said>,
    choices: Vec<String>,
    asks: bool,
    turn: Option<Turn>,
    has_run: bool,
    has_changes: bool,
    changed_turn: Option<u64>,
    has_edits: bool,
    is_paused: bool,
    is_outside: bool,
}

#[derive(Serialize)]
struct Said {
    role: &'static str,
    name: Option<String>,
    line: usize,
    text: String,
}

#[derive(Serialize)]
struct Turn {
    run_id: String,
    running: bool,
    failed: bool,
    message: String,
    waits: bool,
}

/// What the history has of each thread; nothing where it is off.
pub(super) fn past(session: &Session, view: &View) -> Vec<Past> {
    let store = session
        .workspace_of(&view.path)
        .and_then(|workspace| workspace.store().ok());
    store
        .and_then(|store| store.past(&view.threads, &view.text).ok())
        .unwrap_or_else(|| vec![Past::default(); view.threads.len()])
}

fn described<'a>(
    session: &Session,
    view: &View,
    places: &mut Places<'_>,
    thread: &'a Thread,
    past: Past,
    is_outside: bool,
) -> Described<'a> {
    let start = thread.messages.first().map_or(0, |m| m.marker.start);
    let end = thread.messages.last().map_or(start, |m| m.range.end);
    let said = |message: &threads::Message| Said {
        role: message.role.name(),
        name: message.name.as_deref().map(present::visible),
        line: message.line,
        text: present::visible(&message.laid_out()),
    };
    let turn = session.turn_of(&view.path, thread).map(|turn| Turn {
        run_id: turn.run_id,
        running: turn.running,
        failed: turn.failed,
        message: present::visible(&turn.message),
        waits: turn.waits,
    });
    let choices = match is_outside || session.is_at_work(&view.path, thread) {
        true => Vec::new(),
        false => present::choices(thread),
    };
    Described {
        id: &thread.id,
        status: thread.status.name(),
        malformed: thread.malformed,
        title: present::title(thread),
        range: to_proto::typed_range(places.range(&(start..end.max(start)))),
        messages: thread.messages.iter().map(said).collect(),
        choices,
        asks: thread.status == Status::AwaitingUser && present::asks(thread),
        turn,
        has_run: past.has_run,
        has_changes: past.changed_turn.is_some(),
        changed_turn: past.changed_turn,
        has_edits: past.has_edits,
        is_paused: is_paused(session, &view.path, thread, past),
        is_outside,
    }
}

/// Whether its turn paused, and goes on by a word. Cheap for a thread of which nothing is unfinished.
pub(super) fn is_paused(session: &Session, path: &Path, thread: &Thread, past: Past) -> bool {
    past.is_unfinished && thread.status == Status::AwaitingUser && session.can_go_on(thread, path)
}

/// Tells of the turns that run, and once more of each that has ended.
pub(super) fn turns(server: &Server) {
    if !server.capabilities().shows_threads {
        return;
    }
    let Ok(session) = server.session() else {
        return;
    };
    let margin = &server.margin;
    let mut told = margin
        .running
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let mut before = std::mem::take(&mut *told);
    let mut all = Vec::new();
    for turn in session.running_turns() {
        let last = before.remove(&turn.run_id);
        if let Some(facts) = turn_facts(server, session, &turn.run_id, Some(&turn)).or(last) {
            told.insert(turn.run_id, facts.clone());
            all.push(facts);
        }
    }
    for (run, mut last) in before {
        // Nothing is known any more of a run whose folder was taken out of the workspace.
        last["status"] = json!("interrupted");
        last["running"] = json!(false);
        last["waits"] = json!(false);
        all.push(turn_facts(server, session, &run, None).unwrap_or(last));
    }
    if !all.is_empty() {
        server.client.notify("postil/turns", json!({"turns": all}));
    }
}

/// `doing`: what it does now; `None`: it has ended.
fn turn_facts(
    server: &Server,
    session: &Session,
    run: &str,
    doing: Option<&TurnState>,
) -> Option<Value> {
    let (workspace, run) = session.run_of(run).ok()?;
    let mut all = facts(&run);
    let fields = all.as_object_mut()?;
    let uri = to_proto::uri(server, &workspace.path_of(&run.file));
    fields.insert("uri".to_owned(), json!(uri));
    fields.insert("running".to_owned(), json!(doing.is_some()));
    let message = doing.map(|turn| present::visible(&turn.message));
    fields.insert("message".to_owned(), json!(message));
    let waits = doing.is_some_and(|turn| turn.waits);
    fields.insert("waits".to_owned(), json!(waits));
    fields.insert("model".to_owned(), json!(run.model));
    let error = run.error.as_deref().map(present::visible);
    fields.insert("error".to_owned(), json!(error));
    Some(all)
}

/// The 0-based line of its content at which a round's calls begin; above it stands what was said, whatever it looks like.
fn calls_from(round: &Round) -> Option<u64> {
    let calls = round.metadata.get("calls")?.as_u64()?;
    let lines = round.content.split('\n').count() as u64;
    Some(lines.saturating_sub(calls))
}

/// `postil.workflowRounds`: the rounds after `after`, as data; `more`: there are others.
pub(super) fn rounds(server: &Server, session: &Session, id: &str, after: u64) -> Result<Value> {
    let (workspace, run) = session.run_of(id)?;
    let store = workspace.store()?;
    let rounds = store.rounds_from(&run.id, after, ROUNDS + 1)?;
    let more = rounds.len() > ROUNDS;
    let rounds: Vec<Value> = rounds
        .iter()
        .take(ROUNDS)
        .map(|round| {
            let content: String = round.content.chars().take(ROUND).collect();
            json!({
                "seq": round.seq,
                "role": round.role,
                "time": round.time.to_string(),
                "metadata": round.metadata,
                "content": present::visible(&content),
                "calls_from": calls_from(round),
                "cut": content.len() < round.content.len(),
            })
        })
        .collect();
    let doing = session.turn(&run.id).filter(|turn| turn.running);
    let mut facts = turn_facts(server, session, &run.id, doing.as_ref());
    if let Some(facts) = facts.as_mut().and_then(Value::as_object_mut) {
        let changes = store.changed_turn(&run.id).is_ok_and(|turn| turn.is_some());
        facts.insert("has_changes".to_owned(), json!(changes));
        let edits = store.has_edits(&run.id).unwrap_or(changes);
        facts.insert("has_edits".to_owned(), json!(edits));
    }
    Ok(json!({"run": facts, "rounds": rounds, "more": more}))
}
