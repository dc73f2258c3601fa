//! What turns changed, for undo: the writes of each turn, in the order they were made.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::texts::{self, COLUMNS};
use super::{Change, Store, StoreError};

/// A write of the present turn. What it follows is looked for anew with each, and among thousands.
pub(super) const RECORD: &str =
    "INSERT INTO changes (run, turn, file, before, after, mode, folders,
        follows, front_kept, back_kept, hash, is_answer, moved_from)
     SELECT run, turn, ?2, iif(follows IS NULL, ?3, NULL), ?4, ?5, ?6, follows, ?7, ?8, ?9, ?11, ?12
     FROM (SELECT num AS run, turn, (
            SELECT max(changes.num) FROM changes
            WHERE run = runs.num AND undone = 0 AND changes.turn = runs.turn
                AND changes.file = ?2 AND hash = ?10
        ) AS follows
        FROM runs WHERE id = ?1)";

pub(super) const MARK_UNDONE: &str = "UPDATE changes SET undone = 1
     WHERE run = (SELECT num FROM runs WHERE id = ?1) AND undone = 0 AND turn = ?2
        AND file = ?3 AND num <= ?4";

impl Store {
    /// Remembers one write of the present turn. Durable when it returns.
    pub fn record_change(&self, run: &str, change: &Change) -> Result<(), StoreError> {
        crate::os::test_step();
        let recorded = self
            .durable()
            .prepare_cached(RECORD)
            .and_then(|mut statement| {
                let Change {
                    file,
                    before,
                    mode,
                    folders,
                    moved_from,
                    is_answer,
                    ..
                } = change;
                let made = texts::made(change);
                let (front, back) = made.kept.unzip();
                statement.execute(params![
                    run,
                    file,
                    before,
                    made.after,
                    mode,
                    folders,
                    front,
                    back,
                    made.hash,
                    made.hash_before,
                    is_answer,
                    moved_from
                ])
            })
            .map_err(|e| self.fault(e))?;
        crate::os::test_step();
        if recorded == 0 {
            return Err(StoreError::UnknownRun(run.to_owned()));
        }
        Ok(())
    }

    /// The writes of the run's newest turn that is not undone, in the order they were made; one file may
    /// be among them several times.
    pub fn last_changes(&self, run: &str) -> Result<Vec<Change>, StoreError> {
        Ok(self.last_turn(run)?.1)
    }

    /// [`Self::last_changes`] with the number of their turn, from 1; 0: there are none.
    pub fn last_turn(&self, run: &str) -> Result<(u64, Vec<Change>), StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<(u64, Vec<Change>)> {
            let Some((num, turn)) = newest_turn(&connection, run)? else {
                return Ok((0, Vec::new()));
            };
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM changes
                 WHERE run = ?1 AND turn = ?2 ORDER BY num",
            ))?;
            let changes = texts::changes(statement.query([num, turn])?)?;
            Ok((turn.unsigned_abs(), changes))
        };
        read().map_err(|e| self.fault(e))
    }

    /// [`Self::last_turn`] with one change a file: the text before its first write and after its last, in the order the
    /// files were first written.
    pub fn last_files(&self, run: &str) -> Result<(u64, Vec<Change>), StoreError> {
        let (turn, changes) = self.last_turn(run)?;
        let mut files: Vec<Change> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for change in changes {
            let place = *places.entry(change.file.clone()).or_insert(files.len());
            match files.get_mut(place) {
                Some(known) => known.after = change.after,
                None => files.push(change),
            }
        }
        Ok((turn, files))
    }

    /// What was recorded for a run after the write `since`, of one file or of all, was not made in the end.
    pub fn forget_changes(
        &self,
        run: &str,
        since: i64,
        file: Option<&str>,
    ) -> Result<(), StoreError> {
        self.durable()
            .execute(
                "DELETE FROM changes WHERE num > ?2 AND (?3 IS NULL OR file = ?3)
                   AND run = (SELECT num FROM runs WHERE id = ?1)",
                params![run, since, file],
            )
            .map_err(|e| self.fault(e))?;
        Ok(())
    }

    /// The newest write that was recorded, in whichever run.
    pub fn newest_change(&self) -> Result<i64, StoreError> {
        let connection = self.light();
        connection
            .query_row("SELECT coalesce(max(num), 0) FROM changes", [], |row| {
                row.get(0)
            })
            .map_err(|e| self.fault(e))
    }

    /// The files that other runs have written after the write `since`, relative to the root.
    pub fn written_beside(&self, run: &str, since: i64) -> Result<Vec<String>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare_cached(
                "SELECT DISTINCT file FROM changes
                 WHERE num > ?2 AND run <> (SELECT num FROM runs WHERE id = ?1)",
            )?;
            let rows = statement.query_map(params![run, since], |row| row.get(0))?;
            rows.collect()
        };
        read().map_err(|e| self.fault(e))
    }

    /// What other runs have written into a file since a turn of this one first did, as far as it is not undone: each run (its
    /// id) with all that these turns of its wrote there, in the order they were made; the run that wrote last comes first.
    pub fn written_since(
        &self,
        run: &str,
        turn: u64,
        file: &str,
    ) -> Result<Vec<(String, Vec<Change>)>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<(String, Vec<Change>)>> {
            let mut others = connection.prepare_cached(
                "SELECT runs.num, runs.id FROM changes JOIN runs ON runs.num = changes.run
                 WHERE changes.file = ?3 AND undone = 0 AND runs.id <> ?1 AND changes.num > (
                    SELECT min(changes.num) FROM changes JOIN runs ON runs.num = changes.run
                    WHERE runs.id = ?1 AND changes.turn = ?2 AND changes.file = ?3)
                 GROUP BY runs.num ORDER BY max(changes.num) DESC",
            )?;
            let others = others.query_map(params![run, turn.cast_signed(), file], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
            let others: Vec<(i64, String)> = others.collect::<rusqlite::Result<_>>()?;
            let mut written = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM changes
                 WHERE run = ?1 AND file = ?2
                    AND turn IN (SELECT turn FROM changes WHERE run = ?1 AND file = ?2 AND undone = 0)
                 ORDER BY num",
            ))?;
            let others = others.into_iter().map(|(num, id)| {
                let changes = texts::changes(written.query(params![num, file])?)?;
                Ok((id, changes))
            });
            others.collect()
        };
        read().map_err(|e| self.fault(e))
    }

    /// Whether the thread of a run (its full id) is gone, and was taken out or seen to be.
    pub fn is_closed(&self, run: &str) -> Result<bool, StoreError> {
        let connection = self.light();
        connection
            .prepare_cached("SELECT 1 FROM runs WHERE id = ?1 AND closed = 1")
            .and_then(|mut statement| statement.exists([run]))
            .map_err(|e| self.fault(e))
    }

    /// The files that the newest turn of a run has written and that are not put back, relative to the root.
    pub fn written_now(&self, run: &str) -> Result<Vec<String>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare_cached(
                "SELECT DISTINCT changes.file FROM changes JOIN runs ON runs.num = changes.run
                 WHERE runs.id = ?1 AND changes.turn = runs.turn AND undone = 0",
            )?;
            let rows = statement.query_map([run], |row| row.get(0))?;
            rows.collect()
        };
        read().map_err(|e| self.fault(e))
    }

    /// Whether another run was at work since then.
    pub fn was_company(&self, run: &str, since: jiff::Timestamp) -> Result<bool, StoreError> {
        let connection = self.light();
        connection
            .prepare_cached(
                "SELECT 1 FROM runs WHERE id <> ?1 AND (status = 'running' OR touched >= ?2)",
            )
            .and_then(|mut statement| statement.exists(params![run, since.as_microsecond()]))
            .map_err(|e| self.fault(e))
    }

    /// The number of the turn that [`Self::last_changes`] are of, without reading them; `None`: there are none.
    pub fn changed_turn(&self, run: &str) -> Result<Option<u64>, StoreError> {
        let turn = newest_turn(&self.light(), run).map_err(|e| self.fault(e))?;
        Ok(turn.map(|(_, turn)| turn.unsigned_abs()))
    }

    /// Whether a turn before this one has changes that are not undone.
    pub fn has_changes_before(&self, run: &str, turn: u64) -> Result<bool, StoreError> {
        let connection = self.light();
        connection
            .prepare_cached(
                "SELECT 1 FROM changes WHERE undone = 0 AND turn < ?2
                 AND run = (SELECT num FROM runs WHERE id = ?1)",
            )
            .and_then(|mut statement| statement.exists(params![run, turn.cast_signed()]))
            .map_err(|e| self.fault(e))
    }

    /// The files of a turn that had folders made above them, and how many, whether they are undone or not.
    pub fn made_folders(&self, run: &str, turn: u64) -> Result<Vec<(String, u32)>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<(String, u32)>> {
            let mut statement = connection.prepare_cached(
                "SELECT file, folders FROM changes
                 WHERE run = (SELECT num FROM runs WHERE id = ?1) AND turn = ?2 AND folders > 0",
            )?;
            let rows = statement.query_map(params![run, turn.cast_signed()], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
            rows.collect()
        };
        read().map_err(|e| self.fault(e))
    }

    /// A file of the turn that [`Self::last_turn`] told of is put back, as far as the write `newest`; after the last of
    /// them the turn before it is next.
    pub fn mark_undone(
        &self,
        run: &str,
        turn: u64,
        file: &str,
        newest: i64,
    ) -> Result<(), StoreError> {
        self.durable()
            .execute(MARK_UNDONE, params![run, turn.cast_signed(), file, newest])
            .map_err(|e| self.fault(e))?;
        Ok(())
    }
}

/// The run's number and its newest turn with changes that are not undone.
fn newest_turn(connection: &Connection, run: &str) -> rusqlite::Result<Option<(i64, i64)>> {
    connection
        .prepare_cached(
            "SELECT changes.run, changes.turn FROM changes JOIN runs ON runs.num = changes.run
             WHERE runs.id = ?1 AND undone = 0 ORDER BY changes.turn DESC LIMIT 1",
        )?
        .query_row([run], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}
