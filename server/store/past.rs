//! Whether threads have a past: asked with every key by an editor that offers what can be done with it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Deref;
use std::sync::PoisonError;

use rusqlite::Connection;

use super::closed::{Said, brought_back};
use super::whose::{Places, claim};
use super::{Store, StoreError};
use crate::threads::{Role, Thread, words};

/// What the history has of a thread that stands in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// A run whose rounds can be read.
    pub has_run: bool,
    /// The newest turn of its newest run that changed files, and of which not all is undone.
    pub changed_turn: Option<u64>,
    /// Among them are others than the writing of its answer.
    pub has_edits: bool,
    /// Its newest run runs, or stopped half-way.
    pub is_unfinished: bool,
}

#[derive(Default)]
pub(super) struct Read {
    /// SQLite's count of what others wrote, as it was then.
    version: Option<i64>,
    /// By its id, with a hash of what was said in it and in those that begin alike.
    by_thread: HashMap<(String, u64), Known>,
}

struct Known {
    past: Past,
    /// It has another past, or none, where it does not stand there.
    only_at: Option<(Places, Past)>,
}

/// Of a row of `runs`: its newest turn with changes.
const CHANGED: &str = "(SELECT max(turn) FROM changes WHERE run = runs.num AND undone = 0)";

/// Of a row of `runs`: whether its newest turn with changes made others than its answer.
const EDITS: &str = "EXISTS (
    SELECT 1 FROM changes WHERE run = runs.num AND undone = 0 AND is_answer = 0
        AND turn = (SELECT max(turn) FROM changes WHERE run = runs.num AND undone = 0))";

/// Threads that are kept: one that is being typed has another name with each key.
const KEPT: usize = 10_000;

impl Store {
    /// Of each of the threads of a file, in their order; one as it stands may have been removed and brought back. What was
    /// read is kept until somebody, in this process or another, writes.
    pub fn past(
        &self,
        threads: &[Thread],
        text: &impl Deref<Target = str>,
    ) -> Result<Vec<Past>, StoreError> {
        let mut known = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = self.light();
        let mut alike: HashMap<&str, DefaultHasher> = HashMap::new();
        for thread in threads {
            let hasher = alike.entry(words(&thread.id)).or_default();
            thread.messages.len().hash(hasher);
            for message in &thread.messages {
                (message.role == Role::Agent, &message.name, &message.text).hash(hasher);
            }
        }
        // This connection itself writes neither runs nor changes, so that its own writes do not count.
        let mut read = || -> rusqlite::Result<Vec<Past>> {
            let version = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
            if known.version != Some(version) || known.by_thread.len() > KEPT {
                *known = Read {
                    version: Some(version),
                    by_thread: HashMap::new(),
                };
            }
            let mut all = Vec::with_capacity(threads.len());
            for thread in threads {
                let hash = alike
                    .get(words(&thread.id))
                    .map_or(0, DefaultHasher::finish);
                let key = (thread.id.clone(), hash);
                let found = match known.by_thread.get(&key) {
                    Some(found) => found,
                    None => {
                        let found = look(&connection, thread, threads)?;
                        known.by_thread.entry(key).or_insert(found)
                    }
                };
                all.push(match &found.only_at {
                    Some((places, elsewhere)) if !places.hold(thread, text) => *elsewhere,
                    _ => found.past,
                });
            }
            Ok(all)
        };
        read().map_err(|e| self.fault(e))
    }
}

fn look(connection: &Connection, thread: &Thread, among: &[Thread]) -> rusqlite::Result<Known> {
    let claim = claim(connection, thread, among)?;
    let is_sure = (claim.as_ref()).is_some_and(|claim| claim.only_at.is_none());
    let elsewhere = match Said::kept(thread).filter(|_| !is_sure) {
        Some(kept) => past_brought_back(connection, &thread.id, &kept)?.unwrap_or_default(),
        None => Past::default(),
    };
    let Some(claim) = claim else {
        return Ok(Known {
            past: elsewhere,
            only_at: None,
        });
    };
    let past = connection
        .prepare_cached(&format!(
            "SELECT {CHANGED}, EXISTS (SELECT 1 FROM talk WHERE run = runs.num), {EDITS} FROM runs WHERE num = ?1"
        ))?
        .query_row([claim.num], |row| {
            Ok(Past {
                has_run: true,
                changed_turn: row.get::<_, Option<i64>>(0)?.map(i64::unsigned_abs),
                is_unfinished: row.get(1)?,
                has_edits: row.get(2)?,
            })
        })?;
    Ok(Known {
        past,
        only_at: claim.only_at.map(|places| (places, elsewhere)),
    })
}

impl Store {
    /// Whether the newest turn of a run that has changes made others than its answer.
    pub fn has_edits(&self, run: &str) -> Result<bool, StoreError> {
        let connection = self.light();
        let read = || {
            connection
                .prepare_cached(&format!("SELECT {EDITS} FROM runs WHERE id = ?1"))?
                .query_row([run], |row| row.get(0))
        };
        read().map_err(|e| self.fault(e))
    }
}

/// Of a thread that was brought back; `None`: it has no run.
fn past_brought_back(
    connection: &Connection,
    id: &str,
    kept: &[Said],
) -> rusqlite::Result<Option<Past>> {
    let Some(run) = brought_back(connection, id, kept)? else {
        return Ok(None);
    };
    let past = connection
        .prepare_cached(&format!(
            "SELECT {CHANGED}, {EDITS} FROM runs WHERE id = ?1"
        ))?
        .query_row([run.id], |row| {
            Ok(Past {
                has_run: true,
                changed_turn: row.get::<_, Option<i64>>(0)?.map(i64::unsigned_abs),
                has_edits: row.get(1)?,
                is_unfinished: false,
            })
        })?;
    Ok(Some(past))
}
