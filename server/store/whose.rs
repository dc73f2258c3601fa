//! Which open run is a thread's. A thread goes by its first words, and so does another later, where the first is gone:
//! one that nobody saw go, perhaps. What was answered tells them apart, then the code that they stand at.

use std::collections::HashMap;
use std::ops::Deref;

use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};

use super::reads::run_from;
use super::writes::now;
use super::{Run, Store, StoreError};
use crate::threads::{self, Message, Role, Thread, words};

/// A run that is a thread's.
pub(super) struct Claim {
    pub num: i64,
    pub run: Run,
    /// Only while the thread stands at code that the run is known to have stood at.
    pub only_at: Option<Places>,
}

/// The lines beside a run's thread when it was asked and when it was answered.
#[derive(Clone, Debug)]
pub(super) struct Places(Option<String>);

impl Places {
    pub fn hold(&self, thread: &Thread, text: &impl Deref<Target = str>) -> bool {
        let line = threads::line_beside(thread, text);
        let places = self.0.as_deref();
        places.is_some_and(|places| places.split('\n').any(|place| place == line))
    }
}

impl Store {
    /// The open run of a thread that stands among others in its file's text; it goes by the thread's id. One that was
    /// closed is of another thread with the same first words.
    pub fn run_of_thread(
        &self,
        thread: &Thread,
        among: &[Thread],
        text: &impl Deref<Target = str>,
    ) -> Result<Option<Run>, StoreError> {
        let claim = claim(&self.light(), thread, among).map_err(|e| self.fault(e))?;
        let claim = claim.filter(|claim| {
            let places = claim.only_at.as_ref();
            places.is_none_or(|places| places.hold(thread, text))
        });
        Ok(claim.map(|claim| claim.run))
    }

    /// What is open at the id of a thread, which may be gone.
    pub fn open_run(&self, thread_id: &str) -> Result<Option<Run>, StoreError> {
        let open = open_at(&self.light(), thread_id).map_err(|e| self.fault(e))?;
        Ok(open.map(|open| open.run))
    }

    /// The id of a thread is this run's from here on (its full id; `None`: of none yet), which goes on if it was
    /// closed. What else is open there is of a thread that is gone.
    pub fn settle(&self, thread_id: &str, run: Option<&str>) -> Result<(), StoreError> {
        let open = self.open_run(thread_id)?;
        if open.as_ref().map(|open| open.id.as_str()) == run {
            return Ok(());
        }
        let mut connection = self.durable();
        let mut settle = || -> rusqlite::Result<()> {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            close_at(&tx, thread_id)?;
            tx.prepare_cached("UPDATE runs SET closed = 0, thread_id = ?2 WHERE id = ?1")?
                .execute(params![run, thread_id])?;
            tx.commit()
        };
        settle().map_err(|e| self.fault(e))
    }

    /// The thread of a run stands at this line.
    pub fn stands_at(&self, run: &str, line: &str) -> Result<(), StoreError> {
        self.durable()
            .prepare_cached(
                "UPDATE runs SET beside = coalesce(beside || char(10), '') || ?2
                 WHERE id = ?1 AND (beside IS NULL OR instr(char(10) || beside || char(10), char(10) || ?2 || char(10)) = 0)",
            )
            .and_then(|mut statement| statement.execute([run, line]))
            .map_err(|e| self.fault(e))?;
        Ok(())
    }

    /// Whether the thread of a run has stood at another line as far as is known, and never at this.
    pub fn stood_elsewhere(
        &self,
        run: &str,
        thread: &Thread,
        text: &impl Deref<Target = str>,
    ) -> Result<bool, StoreError> {
        let places = self
            .light()
            .prepare_cached("SELECT beside FROM runs WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([run], places))
            .map_err(|e| self.fault(e))?;
        Ok(places.0.is_some() && !places.hold(thread, text))
    }
}

/// What is open at the id is closed: its thread is gone.
pub(super) fn close_at(connection: &Connection, thread_id: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE runs SET closed = 1, touched = ?2,
                status = CASE WHEN status IN ('queued', 'running') THEN status ELSE 'completed' END
             WHERE thread_id = ?1 AND closed = 0",
        )?
        .execute(params![thread_id, now()])?;
    Ok(())
}

struct Open {
    num: i64,
    run: Run,
    places: Places,
}

fn open_from(row: &Row) -> rusqlite::Result<Open> {
    Ok(Open {
        num: row.get("num")?,
        run: run_from(row)?,
        places: places(row)?,
    })
}

fn places(row: &Row) -> rusqlite::Result<Places> {
    Ok(Places(row.get("beside")?))
}

fn open_at(connection: &Connection, thread_id: &str) -> rusqlite::Result<Option<Open>> {
    connection
        .prepare_cached(
            "SELECT * FROM runs WHERE thread_id = ?1 AND closed = 0 ORDER BY num DESC LIMIT 1",
        )?
        .query_row([thread_id], open_from)
        .optional()
}

/// The run of a thread that stands among others. That no answer of it stands there says little of a thread that is where it
/// was: undo takes answers out, and so does an author.
pub(super) fn claim(
    connection: &Connection,
    thread: &Thread,
    among: &[Thread],
) -> rusqlite::Result<Option<Claim>> {
    let claim = |open: Open, only_at| {
        Some(Claim {
            num: open.num,
            run: Run {
                thread_id: thread.id.clone(),
                ..open.run
            },
            only_at,
        })
    };
    let said = answers(thread);
    let own = open_at(connection, &thread.id)?;
    let replies = match &own {
        Some(own) => replies(connection, own.num)?,
        None => Vec::new(),
    };
    let is_sure = any(&replies, &said, is_same)
        || (own.as_ref()).is_some_and(|own| own.run.status.is_under_way());
    if !is_sure && let Some(other) = of_namesake(connection, thread, &said, among)? {
        return Ok(claim(other, None));
    }
    let Some(own) = own else { return Ok(None) };
    let is_own = is_sure
        || replies.is_empty()
        || any(&replies, &said, is_like)
        || said.is_empty() && !has_answer(connection, own.num)?;
    let only_at = (!is_own).then(|| own.places.clone());
    Ok(claim(own, only_at))
}

/// The run whose answers stand in the thread, and which goes by the number that it had among others with the same first
/// words.
fn of_namesake(
    connection: &Connection,
    thread: &Thread,
    said: &[&str],
    among: &[Thread],
) -> rusqlite::Result<Option<Open>> {
    if said.is_empty() {
        return Ok(None);
    }
    // `.` is the character behind `-`.
    let mut statement = connection.prepare_cached(
        "SELECT * FROM runs WHERE thread_id >= ?1 AND thread_id < ?1 || '.' AND thread_id <> ?2 AND closed = 0
         ORDER BY num DESC",
    )?;
    let others = statement.query_map([words(&thread.id), thread.id.as_str()], open_from)?;
    for other in others {
        let other = other?;
        let replies = replies(connection, other.num)?;
        let stands_there =
            |one: &Thread| one.id == other.run.thread_id && any(&replies, &answers(one), is_same);
        if !other.run.status.is_under_way()
            && any(&replies, said, is_same)
            && !among.iter().any(stands_there)
        {
            return Ok(Some(other));
        }
    }
    Ok(None)
}

/// What a run has written into its thread.
fn replies(connection: &Connection, run: i64) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached(
            "SELECT content FROM rounds WHERE run = ?1 AND role = 'reply' AND metadata ->> 'not_written' IS NULL",
        )?
        .query_map([run], |row| row.get(0))?
        .collect()
}

/// Whether an answer of the run was written that was not undone.
fn has_answer(connection: &Connection, run: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM changes WHERE run = ?1 AND is_answer = 1 AND undone = 0")?
        .exists([run])
}

fn answers(thread: &Thread) -> Vec<&str> {
    let is_answer = |m: &&Message| m.role == Role::Agent && !m.text.is_empty();
    let answers = thread.messages.iter().filter(is_answer);
    answers.map(|message| message.text.as_str()).collect()
}

fn any(replies: &[String], said: &[&str], is: impl Fn(&str, &str) -> bool) -> bool {
    let mut pairs = replies
        .iter()
        .flat_map(|reply| said.iter().map(move |said| (reply, said)));
    pairs.any(|(reply, said)| is(reply, said))
}

/// But for what a formatter changes.
fn is_same(reply: &str, said: &str) -> bool {
    let letters = |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect() };
    let (one, other) = (letters(reply), letters(said));
    one == other && (!one.is_empty() || reply.trim() == said.trim())
}

/// Half of the words are the same, of the shorter one where something was cut or added.
fn is_like(reply: &str, said: &str) -> bool {
    let (one, other) = (counts(reply), counts(said));
    let shared = |(word, count): (&&str, &usize)| other.get(word).map_or(0, |n| *count.min(n));
    let shared: usize = one.iter().map(shared).sum();
    let shorter = one.values().sum::<usize>().min(other.values().sum());
    shared > 0 && shared * 2 >= shorter
}

/// How often each word stands in a text. Where words are not parted by blanks, or may not be, letters are counted.
fn counts(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for piece in text.split(|c: char| !c.is_alphanumeric()) {
        for word in piece.split_inclusive(|_: char| !piece.is_ascii()) {
            *counts.entry(word).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_by_its_words_though_its_author_or_a_formatter_changed_some() {
        let reply = "Renamed `load` to `load_data` in 3 files, as it reads a file.";
        assert!(is_same(
            reply,
            "Renamed `load` to\n`load_data` in 3\nfiles, as it reads a file."
        ));
        for said in [
            "Renamed `load` to `load_data`.",
            "I have renamed it to `load_data` in 3 files.",
        ] {
            assert!(!is_same(reply, said) && is_like(reply, said), "{said}");
        }
        let said = "No caller passes a path, so nothing is to be done here.";
        assert!(!is_like(reply, said));
        assert!(is_like("これは速いです", "これは速い"));
        assert!(!is_same("?", "!") && !is_like("?", "!"));
    }
}
