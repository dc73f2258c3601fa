//! The names of threads: of a file's path and the first thing the author said.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::scan::Found;
use super::{NoThread, Role};

/// Eight hexadecimal digits for a thread of `path` (relative to the root, with `/`) whose first author text is `text`.
fn digest(path: &str, text: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(path.as_bytes());
    hash.update(b":");
    hash.update(text.as_bytes());
    hash.finalize()
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Gives the threads of one file their ids; those with the same first text are told apart by their order.
pub(super) fn number(path: &str, found: &mut [Found]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for found in found {
        let first = found
            .thread
            .messages
            .iter()
            .find(|m| m.role == Role::Author && !m.text.is_empty());
        let id = digest(path, first.map_or("", |m| &m.text));
        let count = seen.entry(id.clone()).or_default();
        *count += 1;
        found.thread.id = if *count == 1 {
            id
        } else {
            format!("{id}-{count}")
        };
    }
}

/// The one id among `ids` that `prefix` (four digits or more, or a whole id) names.
pub fn resolve<'a>(prefix: &str, ids: impl Iterator<Item = &'a str>) -> Result<String, NoThread> {
    let prefix = prefix.trim().to_ascii_lowercase();
    let mut candidates: Vec<&str> = Vec::new();
    for id in ids {
        if id == prefix {
            return Ok(prefix);
        }
        if id.starts_with(&prefix) {
            candidates.push(id);
        }
    }
    if prefix.len() < 4 {
        return Err(NoThread::TooShort);
    }
    candidates.sort_unstable();
    candidates.dedup();
    match candidates.as_slice() {
        [] => Err(NoThread::Unknown),
        [id] => Ok((*id).to_owned()),
        several => Err(NoThread::Ambiguous(
            several.iter().map(|id| (*id).to_owned()).collect(),
        )),
    }
}
