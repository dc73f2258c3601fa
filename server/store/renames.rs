//! A file has another name: what is kept of its threads goes by that name too.

use rusqlite::{TransactionBehavior, params};

use super::{Store, StoreError};

impl Store {
    /// The files, `file` itself or below the folder `file`, of which something goes along with a rename: open runs,
    /// what was typed, and what turns wrote.
    pub fn files_at(&self, file: &str) -> Result<Vec<String>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<String>> {
            // `0` is the character behind `/`.
            let mut statement = connection.prepare_cached(
                "SELECT file FROM runs WHERE closed = 0 AND (file = ?1 OR file >= ?1 || '/' AND file < ?1 || '0')
                 UNION SELECT file FROM typed WHERE file = ?1 OR file >= ?1 || '/' AND file < ?1 || '0'
                 UNION SELECT file FROM changes
                    WHERE undone = 0 AND (file = ?1 OR file >= ?1 || '/' AND file < ?1 || '0')",
            )?;
            let rows = statement.query_map([file], |row| row.get(0))?;
            rows.collect()
        };
        read().map_err(|e| self.fault(e))
    }

    /// The threads of a file that have an open run.
    pub fn open_threads(&self, file: &str) -> Result<Vec<String>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare_cached(
                "SELECT thread_id FROM runs WHERE closed = 0 AND file = ?1 AND thread_id <> ''",
            )?;
            let rows = statement.query_map([file], |row| row.get(0))?;
            rows.collect()
        };
        read().map_err(|e| self.fault(e))
    }

    /// `from` is called `to`, and its threads go by other ids (from, to); all of it or nothing.
    pub fn rename_file(
        &self,
        from: &str,
        to: &str,
        threads: &[(String, String)],
    ) -> Result<(), StoreError> {
        crate::os::test_step();
        let mut connection = self.durable();
        let mut rename = || -> rusqlite::Result<()> {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (old, new) in threads {
                tx.prepare_cached(
                    "UPDATE runs SET thread_id = ?2, file = ?4 WHERE thread_id = ?1 AND file = ?3 AND closed = 0",
                )?
                .execute(params![old, new, from, to])?;
            }
            tx.prepare_cached(
                "INSERT OR IGNORE INTO typed (file, text) SELECT ?2, text FROM typed WHERE file = ?1",
            )?
            .execute([from, to])?;
            tx.prepare_cached("DELETE FROM typed WHERE file = ?1")?
                .execute([from])?;
            // What a turn changed is taken back under the new name. What it made or removed is the author's under another
            // name, and two files of one turn stay two.
            tx.prepare_cached(
                "UPDATE changes SET file = ?2 WHERE file = ?1 AND undone = 0 AND NOT EXISTS (
                    SELECT 1 FROM changes AS other
                    WHERE other.run = changes.run AND other.turn = changes.turn AND other.undone = 0 AND (
                        other.file = ?2 OR other.file = ?1 AND (
                            other.after IS NULL OR other.before IS NULL AND other.follows IS NULL)))",
            )?
            .execute([from, to])?;
            tx.commit()
        };
        rename().map_err(|e| self.fault(e))?;
        crate::os::test_step();
        Ok(())
    }

    /// A run goes on in another file, which its author saved the first one as: in the thread `id`, and with what it
    /// changed there, where that came along. What was typed in the first is typed in both.
    pub fn go_on_in(
        &self,
        run: &str,
        (from, to): (&str, &str),
        id: &str,
        with_changes: bool,
    ) -> Result<(), StoreError> {
        let mut connection = self.durable();
        let mut go_on = || -> rusqlite::Result<()> {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            tx.prepare_cached("UPDATE runs SET thread_id = ?2, file = ?3 WHERE id = ?1")?
                .execute([run, id, to])?;
            tx.prepare_cached(
                "INSERT OR IGNORE INTO typed (file, text) SELECT ?2, text FROM typed WHERE file = ?1",
            )?
            .execute([from, to])?;
            if with_changes {
                tx.prepare_cached(
                    "UPDATE changes SET file = ?3 WHERE file = ?2 AND undone = 0
                     AND run = (SELECT num FROM runs WHERE id = ?1)
                     AND turn = (SELECT turn FROM runs WHERE id = ?1)",
                )?
                .execute([run, from, to])?;
            }
            tx.commit()
        };
        go_on().map_err(|e| self.fault(e))
    }
}
