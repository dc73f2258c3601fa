//! What another agent, or another model, is told of the one that answered first: its diff and its rounds.

use std::path::Path;

use similar::TextDiff;

use crate::files::Tree;
use crate::present::cut;
use crate::store::{Run, Store, StoreError};
use crate::threads::Thread;

use super::context;
use super::memory::{quote, rounds};
use super::source::Source;

/// Characters of the diff.
const DIFF: usize = 24_000;
/// Characters of the rounds.
const ROUNDS: usize = 8_000;

/// What the run's last turn changed, as one diff; empty: nothing.
pub(super) fn diff(store: &Store, run: &str) -> Result<String, StoreError> {
    let mut text = String::new();
    for change in store.last_files(run)?.1 {
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
        return Ok(text);
    }
    Ok(quote(
        "diff",
        "what the first agent changed",
        &cut(&text, DIFF),
    ))
}

/// The question for a second opinion: the thread, the code around it, what was done.
///
/// # Errors
/// When the history cannot be read: an opinion on work that was not shown would be worth nothing.
pub fn account(
    tree: &Tree,
    store: &Store,
    run: &Run,
    path: &Path,
    thread: &Thread,
) -> Result<String, StoreError> {
    let mut text = String::new();
    if let Ok(source) = Source::read(tree, path) {
        text.push_str(&context::code(&source, thread));
    }
    text.push_str(&diff(store, &run.id)?);
    if let Some(rounds) = rounds(store, &run.id, ROUNDS)? {
        text.push_str(&quote("rounds", "what the first agent did", &rounds));
    }
    text.push_str("The conversation in the code:\n");
    text.push_str(&context::conversation(thread, ROUNDS));
    text.push_str("\nWhat is your opinion of what the agent did or proposes?");
    Ok(text)
}
