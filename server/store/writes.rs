//! Writing a run: take the thread, append rounds, end the turn, close the thread; cancel from anywhere.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{
    Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, named_params, params,
};
use serde_json::{Map, Value};

use super::lease::{self, Owner};
use super::reads::run_from;
use super::{Run, RunStatus, Store, StoreError, talk};

/// Whether a turn that stopped half-way goes on with the conversation that it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoOn {
    /// It begins anew.
    Never,
    /// It goes on, unless it was cancelled.
    Unasked,
    /// Somebody asked for it by name: a cancelled one goes on too.
    Asked,
}

/// A run that this process holds now.
#[derive(Clone, Debug)]
pub struct Taken {
    pub run: Run,
    /// What it was before; a run whose process died is `interrupted`.
    pub before: RunStatus,
    /// The conversation to go on with; empty: the turn begins.
    pub talk: Vec<String>,
}

/// Which run is taken.
#[derive(Clone, Copy)]
enum Whose<'a> {
    /// The open one of this thread, else a new one.
    Thread(&'a str),
    /// The one with this id (the full one).
    Run(&'a str),
}

/// The runs that this process has: a run whose end could not be written (a full disk) is not held any more.
static HELD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn held() -> MutexGuard<'static, BTreeSet<String>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lease columns of a run.
struct Lease {
    run: String,
    owner: Owner,
    heartbeat: i64,
}

impl Lease {
    fn from_row(row: &Row) -> rusqlite::Result<Option<Self>> {
        let Some(owner) = Owner::from_row(row)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            run: row.get("id")?,
            owner,
            heartbeat: row.get("heartbeat")?,
        }))
    }

    fn is_alive(&self) -> bool {
        if self.owner == Owner::this_process() {
            return held().contains(&self.run);
        }
        self.owner.is_alive(self.heartbeat)
    }
}

impl Store {
    /// [`Self::take`] for a turn that begins.
    pub fn begin(&self, thread_id: &str, file: &str, model: &str) -> Result<Run, StoreError> {
        Ok(self.take(thread_id, file, model, GoOn::Never)?.run)
    }

    /// Takes the thread: the open run of `thread_id` goes on, else a new one begins; refused while a
    /// live process holds it. Without a thread (an empty id) each call begins a run. Where nobody answers (an empty
    /// `model`), the run keeps who has answered it.
    pub fn take(
        &self,
        thread_id: &str,
        file: &str,
        model: &str,
        go_on: GoOn,
    ) -> Result<Taken, StoreError> {
        self.take_whose(Whose::Thread(thread_id), file, model, go_on)
    }

    /// Takes a run without a thread that stopped half-way (its full id); refused while a live process holds it.
    pub fn take_up(&self, run: &str, model: &str) -> Result<Taken, StoreError> {
        self.take_whose(Whose::Run(run), "", model, GoOn::Unasked)
    }

    fn take_whose(
        &self,
        whose: Whose,
        file: &str,
        model: &str,
        go_on: GoOn,
    ) -> Result<Taken, StoreError> {
        crate::os::test_step();
        let mut connection = self.durable();
        let taken = self
            .take_in(&mut connection, whose, file, model, go_on)
            .map_err(|e| self.fault(e))?;
        crate::os::test_step();
        taken
    }

    fn take_in(
        &self,
        connection: &mut Connection,
        whose: Whose,
        file: &str,
        model: &str,
        go_on: GoOn,
    ) -> rusqlite::Result<Result<Taken, StoreError>> {
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (open, id) = match whose {
            Whose::Thread(id) => (
                "SELECT * FROM runs WHERE thread_id = ?1 AND closed = 0 AND ?1 <> '' ORDER BY num DESC LIMIT 1",
                id,
            ),
            Whose::Run(id) => ("SELECT * FROM runs WHERE id = ?1 AND closed = 0", id),
        };
        let open = tx
            .prepare_cached(open)?
            .query_row([id], |row| {
                Ok((
                    row.get::<_, i64>("num")?,
                    run_from(row)?,
                    Lease::from_row(row)?,
                ))
            })
            .optional()?;
        let now = now();
        let (num, before) = match (open, whose) {
            (Some((_, run, Some(lease))), _) if lease.is_alive() => {
                return Ok(Err(StoreError::Taken(run.id)));
            }
            (Some((num, run, _)), _) => (
                num,
                match run.status.is_under_way() {
                    true => RunStatus::Interrupted,
                    false => run.status,
                },
            ),
            (None, Whose::Run(run)) => return Ok(Err(StoreError::UnknownRun(run.to_owned()))),
            (None, Whose::Thread(thread_id)) => {
                let id = uuid::Uuid::new_v4().simple().to_string();
                tx.prepare_cached(
                    "INSERT INTO runs (id, thread_id, file, status, started, touched, model)
                     VALUES (?1, ?2, ?3, 'queued', ?4, ?4, ?5)",
                )?
                .execute(params![id, thread_id, file, now, model])?;
                (tx.last_insert_rowid(), RunStatus::Queued)
            }
        };
        let goes_on = match go_on {
            GoOn::Never => false,
            GoOn::Unasked => before != RunStatus::Cancelled,
            GoOn::Asked => true,
        };
        if !goes_on {
            talk::forget(&tx, num)?;
        }
        let talk: Vec<String> = tx
            .prepare_cached("SELECT entry FROM talk WHERE run = ?1 ORDER BY num")?
            .query_map([num], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        // What stopped half-way without a word in the thread is one turn with what follows: one undo.
        let same_turn =
            !talk.is_empty() && matches!(before, RunStatus::Interrupted | RunStatus::Failed);
        tx.prepare_cached(
            "UPDATE runs SET status = 'running', file = :file, error = NULL, cancel = 0,
                model = CASE :model WHEN '' THEN model ELSE :model END, turn = turn + :turns, touched = :now, owner_pid = :pid, owner_start = :start,
                owner_boot = :boot, owner_space = :space, heartbeat = :heartbeat
             WHERE num = :num",
        )?
        .execute(named_params! {
            ":file": file, ":model": model, ":now": now, ":pid": self.owner.pid,
            ":start": self.owner.start, ":boot": self.owner.boot, ":space": self.owner.space,
            ":heartbeat": lease::uptime(), ":num": num, ":turns": i64::from(!same_turn),
        })?;
        let run = tx
            .prepare_cached("SELECT * FROM runs WHERE num = ?1")?
            .query_row([num], run_from)?;
        // Before others can see whose it is.
        held().insert(run.id.clone());
        if let Err(error) = tx.commit() {
            held().remove(&run.id);
            return Err(error);
        }
        Ok(Ok(Taken { run, before, talk }))
    }

    /// Durable when it returns; the round's number.
    pub fn append(
        &self,
        run: &str,
        role: &str,
        metadata: Map<String, Value>,
        content: &str,
    ) -> Result<u64, StoreError> {
        crate::os::test_step();
        let metadata = Value::Object(metadata).to_string();
        let mut connection = self.durable();
        let mut append = || -> rusqlite::Result<Option<u64>> {
            // Immediate: the number is given and used under one write lock, whatever other processes do.
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let seq = append_in(&tx, run, role, &metadata, content)?;
            tx.commit()?;
            Ok(seq)
        };
        let appended = append().map_err(|e| self.fault(e))?;
        crate::os::test_step();
        appended.ok_or_else(|| StoreError::UnknownRun(run.to_owned()))
    }

    /// Who answers in a run, where that was open when it was taken.
    pub fn answered_by(&self, run: &str, model: &str) -> Result<(), StoreError> {
        let connection = self.durable();
        connection
            .execute("UPDATE runs SET model = ?2 WHERE id = ?1", [run, model])
            .map_err(|e| self.fault(e))?;
        Ok(())
    }

    /// Says whether a turn that was taken waits for its place.
    pub fn wait_in_queue(&self, run: &str, waits: bool) -> Result<(), StoreError> {
        let status = match waits {
            true => RunStatus::Queued,
            false => RunStatus::Running,
        };
        self.update(
            run,
            "UPDATE runs SET status = ?2, touched = ?3 WHERE id = ?1",
            params![run, status.name(), now()],
        )
    }

    pub fn add_usage(&self, run: &str, tokens: u64, cost: f64) -> Result<(), StoreError> {
        let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
        let cost = if cost.is_finite() { cost } else { 0.0 };
        self.update(
            run,
            "UPDATE runs SET tokens = tokens + ?2, cost = cost + ?3 WHERE id = ?1",
            params![run, tokens, cost],
        )
    }

    /// Ends the turn: lets go of the lease. What is completed needs its conversation no more.
    pub fn finish(
        &self,
        run: &str,
        status: RunStatus,
        error: Option<&str>,
    ) -> Result<(), StoreError> {
        crate::os::test_step();
        let mut connection = self.durable();
        let mut finish = || -> rusqlite::Result<bool> {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let num: Option<i64> = tx
                .prepare_cached(
                    "UPDATE runs SET status = ?2, error = ?3, touched = ?4, cancel = 0, owner_pid = NULL
                     WHERE id = ?1 RETURNING num",
                )?
                .query_row(params![run, status.name(), error, now()], |row| row.get(0))
                .optional()?;
            if let Some(num) = num.filter(|_| status == RunStatus::Completed) {
                talk::forget(&tx, num)?;
            }
            tx.commit()?;
            Ok(num.is_some())
        };
        let finished = finish();
        held().remove(run);
        let known = finished.map_err(|e| self.fault(e))?;
        crate::os::test_step();
        if known {
            Ok(())
        } else {
            Err(StoreError::UnknownRun(run.to_owned()))
        }
    }

    // -- cancel, from any process ----------------------------------------------------------------

    /// Asks whoever runs it to stop. Refused where nobody does.
    pub fn request_cancel(&self, run: &str) -> Result<(), StoreError> {
        if !self.is_live(run)? {
            return Err(StoreError::NotRunning(run.to_owned()));
        }
        self.update(
            run,
            "UPDATE runs SET cancel = 1 WHERE id = ?1 AND owner_pid IS NOT NULL",
            params![run],
        )
    }

    /// Also the sign of life of a run of this process.
    pub fn cancel_requested(&self, run: &str) -> Result<bool, StoreError> {
        let connection = self.light();
        let asked = || -> rusqlite::Result<Option<(bool, Option<i64>)>> {
            let found = connection
                .prepare_cached("SELECT cancel, owner_pid, heartbeat FROM runs WHERE id = ?1")?
                .query_row([run], |row| {
                    Ok((
                        row.get::<_, bool>(0)?,
                        row.get::<_, Option<i64>>(1)?,
                        row.get::<_, Option<i64>>(2)?,
                    ))
                })
                .optional()?;
            let Some((cancel, owner, heartbeat)) = found else {
                return Ok(None);
            };
            let uptime = lease::uptime();
            let is_due = owner == Some(self.owner.pid) && uptime - heartbeat.unwrap_or(0) >= 10;
            Ok(Some((cancel, is_due.then_some(uptime))))
        };
        let found = asked().map_err(|e| self.fault(e))?;
        let (cancel, beat) = found.ok_or_else(|| StoreError::UnknownRun(run.to_owned()))?;
        drop(connection);
        if let Some(uptime) = beat {
            let beaten = self
                .brief()
                .prepare_cached("UPDATE runs SET heartbeat = ?2 WHERE id = ?1")
                .and_then(|mut statement| statement.execute(params![run, uptime]));
            // The next look writes it.
            if let Err(error) = beaten.map_err(|e| self.fault(e)) {
                tracing::debug!(%error, "a turn's sign of life is late");
            }
        }
        Ok(cancel)
    }

    /// Whether a live process, this one or another, holds the run (its full id).
    pub fn is_live(&self, run: &str) -> Result<bool, StoreError> {
        let lease = self
            .light()
            .query_row("SELECT * FROM runs WHERE id = ?1", [run], Lease::from_row)
            .optional()
            .map_err(|e| self.fault(e))?
            .ok_or_else(|| StoreError::UnknownRun(run.to_owned()))?;
        Ok(lease.is_some_and(|lease| lease.is_alive()))
    }

    /// Runs whose process died are `interrupted`, and free to be taken again.
    pub(super) fn release_dead(&self) -> Result<(), StoreError> {
        let mut connection = self.durable();
        release_dead_in(&mut connection).map_err(|e| self.fault(e))
    }

    fn update(
        &self,
        run: &str,
        sql: &str,
        values: impl rusqlite::Params,
    ) -> Result<(), StoreError> {
        let changed = self
            .durable()
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values))
            .map_err(|e| self.fault(e))?;
        if changed == 0 {
            return Err(StoreError::UnknownRun(run.to_owned()));
        }
        Ok(())
    }
}

/// Inside a transaction that holds the write lock; `None`: no such run.
pub(super) fn append_in(
    tx: &Transaction,
    run: &str,
    role: &str,
    metadata: &str,
    content: &str,
) -> rusqlite::Result<Option<u64>> {
    let now = now();
    let given = tx
        .prepare_cached(
            "UPDATE runs SET last_seq = last_seq + 1, touched = ?2, heartbeat = ?3 WHERE id = ?1
             RETURNING num, last_seq, turn",
        )?
        .query_row(params![run, now, lease::uptime()], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, i64>(2)?,
            ))
        })
        .optional()?;
    let Some((num, seq, turn)) = given else {
        return Ok(None);
    };
    let role = Some(role).filter(|role| !role.is_empty());
    tx.prepare_cached(
        "INSERT INTO rounds (run, seq, turn, role, time, metadata, content) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![num, seq, turn, role, now, metadata, content])?;
    Ok(u64::try_from(seq).ok())
}

fn release_dead_in(connection: &mut Connection) -> rusqlite::Result<()> {
    let dead = |connection: &Connection| -> rusqlite::Result<Vec<i64>> {
        let mut statement = connection
            .prepare("SELECT * FROM runs WHERE status IN ('queued', 'running') ORDER BY num")?;
        let rows = statement.query_map([], |row| Ok((row.get("num")?, Lease::from_row(row)?)))?;
        let mut dead = Vec::new();
        for row in rows {
            let (num, lease): (i64, Option<Lease>) = row?;
            if !lease.is_some_and(|lease| lease.is_alive()) {
                dead.push(num);
            }
        }
        Ok(dead)
    };
    // Nothing is written where nothing is to be done: a reader needs no write lock.
    if dead(connection)?.is_empty() {
        return Ok(());
    }
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for num in dead(&tx)? {
        tx.execute(
            "UPDATE runs SET status = 'interrupted', cancel = 0, owner_pid = NULL,
                error = 'the process that answered ended in mid-turn' WHERE num = ?1",
            [num],
        )?;
    }
    tx.commit()
}

/// Microseconds since 1970.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}
