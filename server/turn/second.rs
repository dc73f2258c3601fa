//! What another agent, or another model, is told of the one that answered first: its diff and its rounds.

use similar::TextDiff;

use crate::files::Tree;
use crate::store::{Change, Run, Store};
use crate::threads::Thread;

use super::memory::{earlier, quote};
use super::source::Source;
use super::{context, cut};

/// Characters of the diff.
const DIFF: usize = 24_000;
/// Characters of the rounds.
const ROUNDS: usize = 8_000;

/// What the run's last turn changed, as one diff; empty: nothing.
pub(super) fn diff(store: &Store, run: &str) -> String {
    let mut files: Vec<Change> = Vec::new();
    for change in store.last_changes(run).unwrap_or_default() {
        match files.iter_mut().find(|known| known.file == change.file) {
            Some(known) => known.after = change.after,
            None => files.push(change),
        }
    }
    let mut text = String::new();
    for change in files {
        let side = |bytes: &Option<Vec<u8>>| {
            let bytes = bytes.as_deref().unwrap_or_default();
            String::from_utf8_lossy(bytes).into_owned()
        };
        let (before, after) = (side(&change.before), side(&change.after));
        let diff = TextDiff::from_lines(&before, &after)
            .unified_diff()
            .header(&format!("a/{}", change.file), &format!("b/{}", change.file))
            .to_string();
        text.push_str(&diff);
    }
    if text.is_empty() {
        return text;
    }
    quote("diff", "what the first agent changed", &cut(&text, DIFF))
}

/// The question for a second opinion: the thread, the code around it, what was done.
pub fn account(tree: &Tree, store: &Store, run: &Run, file: &str, thread: &Thread) -> String {
    let mut text = String::new();
    if let Ok(source) = Source::read(tree, file) {
        text.push_str(&context::code(&source, thread));
    }
    text.push_str(&diff(store, &run.id));
    let mut rounds = store.rounds_back(&run.id, None, 60).unwrap_or_default();
    if rounds.last().is_some_and(|oldest| oldest.seq > 1) {
        rounds.extend(store.rounds_back(&run.id, Some(2), 1).unwrap_or_default());
    }
    if let Some(rounds) = earlier(&rounds, &run.id, ROUNDS) {
        text.push_str(&quote("rounds", "what the first agent did", &rounds));
    }
    text.push_str("The conversation in the code:\n");
    text.push_str(&context::conversation(thread, ROUNDS));
    text.push_str("\nWhat is your opinion of what the agent did or proposes?");
    text
}
