//! What is deleted of the history is gone: from the tables, from the search, and from the file.

use std::fs;

use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior};

use super::reads::run_from;
use super::schema::with_suffix;
use super::{Run, Store, StoreError};

/// What a prune did.
#[derive(Debug, Default)]
pub struct Pruned {
    /// Newest first.
    pub runs: Vec<Run>,
    /// Bytes on disk.
    pub freed: u64,
    /// The runs are deleted; why their space is not free yet.
    pub not_freed: Option<StoreError>,
}

impl Store {
    /// Deletes the runs that nothing has happened in since `before`, with their rounds and the texts that they
    /// changed, and frees their space; live ones stay, and so do the conversations of closed threads. Tells which (or,
    /// `dry`, which it would).
    pub fn prune(&self, before: Timestamp, dry: bool) -> Result<Pruned, StoreError> {
        let mut connection = self.durable();
        let mut delete = || -> rusqlite::Result<Vec<Run>> {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let runs: Vec<Run> = tx
                .prepare(
                    "SELECT * FROM runs WHERE touched < ?1 AND owner_pid IS NULL ORDER BY num DESC",
                )?
                .query_map([before.as_microsecond()], run_from)?
                .collect::<rusqlite::Result<_>>()?;
            if !dry {
                for run in &runs {
                    tx.execute("DELETE FROM runs WHERE id = ?1", [&run.id])?;
                }
            }
            tx.commit()?;
            Ok(runs)
        };
        let had = self.size();
        let runs = delete().map_err(|e| self.fault(e))?;
        let mut pruned = Pruned {
            runs,
            ..Pruned::default()
        };
        if !dry && !pruned.runs.is_empty() {
            pruned.not_freed = match free(&connection) {
                Ok(true) => None,
                Ok(false) => Some(StoreError::Locked {
                    path: self.path.display().to_string(),
                }),
                Err(error) => Some(self.fault(error)),
            };
            pruned.freed = had.saturating_sub(self.size());
        }
        Ok(pruned)
    }

    /// Of the database and its journal, in bytes.
    fn size(&self) -> u64 {
        let size = |path| fs::metadata(path).map_or(0, |found| found.len());
        size(self.path.clone()) + size(with_suffix(&self.path, "-wal"))
    }
}

/// `false`: another process reads in what was.
fn free(connection: &Connection) -> rusqlite::Result<bool> {
    // The words of what was deleted stay in the index until its parts are merged.
    connection.execute_batch("INSERT INTO words (words) VALUES ('optimize'); VACUUM;")?;
    // The journal has the pages as they were; where another process reads in it, the next one is shortened.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
        Ok(row.get::<_, i64>(0)? == 0)
    })
}
