//! What an agent has asked in a thread, as a message with buttons: for a client in which it would be seen at the thread
//! alone. Answered there, the message is taken back.

use std::path::Path;
use std::sync::Arc;

use super::super::Server;
use crate::host::{Level, Question};
use crate::present;
use crate::session::TurnOptions;
use crate::threads::Status;

/// Most characters of what is asked.
const LONGEST: usize = 300;

/// Asks as long as the thread does, and has a turn go on with the answer. A message that is closed answers nothing.
pub(super) async fn ask(server: &Arc<Server>, path: &Path, thread_id: &str) {
    let Some(session) = server.session.get() else {
        return;
    };
    let mut news = server.documents.news();
    // Of a file that is open nowhere the disk tells: it is not read again with each key in another.
    let state = || {
        let on_disk = || {
            let found = path.metadata().ok()?;
            Some((found.modified().ok(), found.len()))
        };
        match session.buffers.generation(path) {
            None => (None, on_disk()),
            open => (open, None),
        }
    };
    let mut seen = state();
    let open = || {
        let (_, thread) = session.find_thread(thread_id, Some(path)).ok()?;
        let choices = present::choices(&thread);
        let waits = thread.status == Status::AwaitingUser && !choices.is_empty();
        let asked = thread.spoken().last().filter(|_| waits)?;
        let (head, _) = asked.text.split_once("(a) ").unwrap_or((&asked.text, ""));
        Some((present::short(head, LONGEST), choices))
    };
    let Some((text, choices)) = open() else {
        return;
    };
    let question = Question {
        text: format!("An agent asks in {}: {text}", session.relative(path)),
        choices: choices
            .iter()
            .map(|choice| present::visible(choice))
            .collect(),
        last_is_no: false,
    };
    let answered = async {
        while news.changed().await.is_ok() {
            let now = state();
            if now != seen && open().is_none_or(|(now, _)| now != text) {
                return;
            }
            seen = now;
        }
    };
    let taken = tokio::select! {
        biased;
        () = answered => None,
        taken = session.host.ask(question) => taken,
    };
    let Some(choice) = taken.and_then(|taken| choices.get(taken)) else {
        return;
    };
    let options = TurnOptions::default();
    let begun = session.choose(thread_id, Some(path), choice, options);
    if let Err(error) = begun.await {
        session.host.message(Level::Error, &error.to_string());
    }
}
