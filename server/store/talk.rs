//! What a turn needs to go on: its conversation with the model, entry by entry, written together with the
//! rounds that tell of it. The entries mean nothing here. They are kept while the turn may go on: until it
//! is completed, or another begins in its place.

use rusqlite::{OptionalExtension as _, Transaction, TransactionBehavior, params};
use serde_json::{Map, Value};

use super::writes::{append_in, now};
use super::{Store, StoreError};

/// A round that is to be written.
#[derive(Clone, Debug, Default)]
pub struct NewRound {
    pub role: String,
    pub metadata: Map<String, Value>,
    pub content: String,
}

/// What one step of a turn leaves behind: all of it is durable, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Step {
    pub rounds: Vec<NewRound>,
    pub tokens: u64,
    /// US dollars.
    pub cost: f64,
    /// The entries before are dropped.
    pub anew: bool,
    pub talk: Vec<String>,
}

impl Store {
    /// Writes a step of the run (its full id). Durable when it returns.
    pub fn step(&self, run: &str, step: &Step) -> Result<(), StoreError> {
        crate::os::test_step();
        let mut connection = self.durable();
        let mut write = || -> rusqlite::Result<bool> {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let num: Option<i64> = tx
                .prepare_cached(
                    "UPDATE runs SET tokens = tokens + ?2, cost = cost + ?3, touched = ?4 WHERE id = ?1
                     RETURNING num",
                )?
                .query_row(
                    params![
                        run,
                        i64::try_from(step.tokens).unwrap_or(i64::MAX),
                        if step.cost.is_finite() { step.cost } else { 0.0 },
                        now()
                    ],
                    |row| row.get(0),
                )
                .optional()?;
            let Some(num) = num else {
                return Ok(false);
            };
            for round in &step.rounds {
                let metadata = Value::Object(round.metadata.clone()).to_string();
                append_in(&tx, run, &round.role, &metadata, &round.content)?;
            }
            if step.anew {
                forget(&tx, num)?;
            }
            for entry in &step.talk {
                tx.prepare_cached("INSERT INTO talk (run, entry) VALUES (?1, ?2)")?
                    .execute(params![num, entry])?;
            }
            tx.commit()?;
            Ok(true)
        };
        let known = write().map_err(|e| self.fault(e))?;
        crate::os::test_step();
        if known {
            Ok(())
        } else {
            Err(StoreError::UnknownRun(run.to_owned()))
        }
    }

    /// The conversation of the run (its full id), in order; empty: there is nothing to go on from.
    pub fn talk(&self, run: &str) -> Result<Vec<String>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<String>> {
            connection
                .prepare_cached(
                    "SELECT entry FROM talk WHERE run = (SELECT num FROM runs WHERE id = ?1) ORDER BY num",
                )?
                .query_map([run], |row| row.get(0))?
                .collect()
        };
        read().map_err(|e| self.fault(e))
    }

    /// The run begins anew when it is asked for again.
    pub fn forget_talk(&self, run: &str) -> Result<(), StoreError> {
        self.durable()
            .execute(
                "DELETE FROM talk WHERE run = (SELECT num FROM runs WHERE id = ?1)",
                [run],
            )
            .map_err(|e| self.fault(e))?;
        Ok(())
    }

    /// Adds to the conversation of the run (its full id) what `added` makes of its last entry; nothing where there is none.
    pub fn add_to_talk(
        &self,
        run: &str,
        added: impl FnOnce(&str) -> Vec<String>,
    ) -> Result<(), StoreError> {
        let mut connection = self.durable();
        let write = || -> rusqlite::Result<()> {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let last = tx
                .prepare_cached(
                    "SELECT run, entry FROM talk WHERE run = (SELECT num FROM runs WHERE id = ?1)
                     ORDER BY num DESC LIMIT 1",
                )?
                .query_row([run], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
                })
                .optional()?;
            let Some((num, last)) = last else {
                return Ok(());
            };
            for entry in added(&last) {
                tx.prepare_cached("INSERT INTO talk (run, entry) VALUES (?1, ?2)")?
                    .execute(params![num, entry])?;
            }
            tx.commit()
        };
        write().map_err(|e| self.fault(e))
    }

    /// The last entry alone.
    pub fn last_talk(&self, run: &str) -> Result<Option<String>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Option<String>> {
            connection
                .prepare_cached(
                    "SELECT entry FROM talk WHERE run = (SELECT num FROM runs WHERE id = ?1)
                     ORDER BY num DESC LIMIT 1",
                )?
                .query_row([run], |row| row.get(0))
                .optional()
        };
        read().map_err(|e| self.fault(e))
    }
}

pub(super) fn forget(tx: &Transaction, run: i64) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM talk WHERE run = ?1")?
        .execute([run])?;
    Ok(())
}
