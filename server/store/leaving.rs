//! Conversations whose threads are on their way out of their files: kept before the text is written, so that nothing
//! that happens until they are closed loses them.

use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};

use super::lease::{self, Owner};
use super::{Closed, Store, StoreError};

/// One that nobody sees to any more: its process ended, or has let go of it.
#[derive(Clone, Debug)]
pub struct Left {
    pub closed: Closed,
    /// The file was to be committed without it.
    pub to_commit: bool,
}

impl Store {
    /// These threads are about to be taken out of their files, by this process.
    pub fn begin_leaving(&self, closed: &[Closed], to_commit: bool) -> Result<(), StoreError> {
        let mut connection = self.durable();
        let mut begin = || -> rusqlite::Result<()> {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for closed in closed {
                tx.prepare_cached(
                    "INSERT OR REPLACE INTO leaving (file, thread_id, closed, to_commit, owner_pid, owner_start,
                        owner_boot, owner_space, heartbeat)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                )?
                .execute(params![
                    closed.file,
                    closed.thread_id,
                    serde_json::to_string(closed).unwrap_or_default(),
                    to_commit,
                    self.owner.pid,
                    self.owner.start,
                    self.owner.boot,
                    self.owner.space,
                    lease::uptime(),
                ])?;
            }
            tx.commit()
        };
        begin().map_err(|e| self.fault(e))?;
        crate::os::test_step();
        Ok(())
    }

    /// These stand in their file again, or still.
    pub fn forget_leaving(&self, file: &str, ids: &[String]) -> Result<(), StoreError> {
        let connection = self.durable();
        for id in ids {
            forget_in(&connection, file, id).map_err(|e| self.fault(e))?;
        }
        Ok(())
    }

    /// This process sees to those of the file no more.
    pub fn let_go_of_leaving(&self, file: &str) -> Result<(), StoreError> {
        let connection = self.durable();
        connection
            .execute(
                "UPDATE leaving SET owner_pid = NULL WHERE file = ?1 AND owner_pid = ?2",
                params![file, self.owner.pid],
            )
            .map_err(|e| self.fault(e))?;
        Ok(())
    }

    /// Those that nobody sees to, of one file or of all, in the order of their files.
    pub fn left(&self, file: Option<&str>) -> Result<Vec<Left>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<Left>> {
            let mut statement = connection.prepare_cached(
                "SELECT * FROM leaving WHERE ?1 IS NULL OR file = ?1 ORDER BY file, num",
            )?;
            let rows = statement.query_map([file], left)?;
            rows.filter_map(Result::transpose).collect()
        };
        read().map_err(|e| self.fault(e))
    }
}

/// `None`: a process that lives sees to it.
fn left(row: &Row) -> rusqlite::Result<Option<Left>> {
    if let Some(owner) = Owner::from_row(row)?
        && owner.is_alive(row.get("heartbeat")?)
    {
        return Ok(None);
    }
    let closed: String = row.get("closed")?;
    let to_commit = row.get("to_commit")?;
    let closed = serde_json::from_str(&closed).ok();
    Ok(closed.map(|closed| Left { closed, to_commit }))
}

/// The thread is closed: what was kept of it meanwhile is not needed.
pub(super) fn closed_in(tx: &Transaction, closed: &Closed) -> rusqlite::Result<()> {
    forget_in(tx, &closed.file, &closed.thread_id)
}

fn forget_in(connection: &Connection, file: &str, id: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM leaving WHERE file = ?1 AND thread_id = ?2")?
        .execute([file, id])?;
    Ok(())
}
