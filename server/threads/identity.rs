//! The names of threads: of a file's path and the first thing the author said.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use super::scan::Found;
use super::{NoThread, Role, Thread};

/// Of a thread of `path` (relative to the root, with `/`) whose first author text is `text`; an id has it as eight
/// hexadecimal digits.
fn digest(path: &str, text: &str) -> u32 {
    let mut hash = Sha256::new();
    hash.update(path.as_bytes());
    hash.update(b":");
    hash.update(text.as_bytes());
    let start = hash.finalize().first_chunk().copied();
    u32::from_be_bytes(start.unwrap_or_default())
}

/// Gives the threads of one file their ids.
pub(super) fn number(path: &str, found: &mut [Found]) {
    let ids = ids(path, found.iter().map(|found| &found.thread));
    for (found, id) in found.iter_mut().zip(ids) {
        found.thread.id = id;
    }
}

/// The ids of the threads of one file, as they are (or were) below `path`, in order; those with the same first text are
/// told apart by it.
pub fn ids<'a>(path: &str, threads: impl Iterator<Item = &'a Thread>) -> Vec<String> {
    let mut numbers = Numbers::default();
    threads
        .map(|thread| numbers.next(first_words(path, thread)))
        .collect()
}

/// What stands for the first text of an author in a thread of `path`.
pub(super) fn first_words(path: &str, thread: &Thread) -> u32 {
    let first = thread
        .messages
        .iter()
        .find(|m| m.role == Role::Author && !m.text.is_empty());
    digest(path, first.map_or("", |m| &m.text))
}

/// How many threads of a file had the same first text so far.
#[derive(Default)]
pub(super) struct Numbers(HashMap<u32, usize>);

impl Numbers {
    /// The id of the next thread, of its first text.
    pub fn next(&mut self, words: u32) -> String {
        let count = self.0.entry(words).or_default();
        *count += 1;
        numbered(format!("{words:08x}"), *count)
    }
}

fn numbered(words: String, count: usize) -> String {
    match count {
        1 => words,
        count => format!("{words}-{count}"),
    }
}

/// The threads of a file that have another id when those of `gone` are taken out of it: the old one and the new one, in
/// order.
pub fn renumbered(threads: &[Thread], gone: &[String]) -> Vec<(String, String)> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let stay = threads.iter().filter(|thread| !gone.contains(&thread.id));
    stay.filter_map(|thread| {
        let count = seen.entry(words(&thread.id)).or_default();
        *count += 1;
        let id = numbered(words(&thread.id).to_owned(), *count);
        (id != thread.id).then(|| (thread.id.clone(), id))
    })
    .collect()
}

/// What of an id stands for the first words.
pub fn words(id: &str) -> &str {
    id.split_once('-').map_or(id, |(words, _)| words)
}

/// The words with which several of a file's threads begin.
pub fn alike(threads: &[Thread]) -> HashSet<&str> {
    let ids = threads.iter().map(|thread| thread.id.as_str());
    ids.filter(|id| words(id) != *id).map(words).collect()
}

/// An id, or the beginning of one, as somebody types it: as ids are written here.
pub fn normal(id: &str) -> String {
    id.trim().to_ascii_lowercase()
}

/// Whether an id is all of a thread's, as it is told: it is the beginning of a namesake's too, and does not stand for it.
pub fn is_whole(id: &str) -> bool {
    words(id).len() >= 8 && !id.ends_with('-')
}

/// How many of `threads` have the first words of `id`: by their number they are told apart, and it is another one's when
/// one of them goes.
pub(super) fn namesakes(id: &str, threads: &[Thread]) -> usize {
    threads
        .iter()
        .filter(|thread| words(&thread.id) == words(id))
        .count()
}

/// The one id among `ids` that `prefix` (four digits or more, or a whole id) names.
pub fn resolve<'a>(prefix: &str, ids: impl Iterator<Item = &'a str>) -> Result<String, NoThread> {
    let prefix = normal(prefix);
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
