//! Conversations of threads that were removed, and the lines that they are tied to.

use std::collections::BTreeSet;

use jiff::Timestamp;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::leaving;
use super::reads::{limit_of, run_from, time};
use super::texts::{self, COLUMNS};
use super::whose::close_at;
use super::writes::now;
use super::{Run, Store, StoreError};
use crate::threads::{Thread, words};

/// The conversation of a thread that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// Set by the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    pub thread_id: String,
    /// Relative to the workspace root.
    pub file: String,
    /// 1-based, inclusive, in the text that it was removed from.
    pub lines: (usize, usize),
    pub messages: Vec<Said>,
    /// The commit that closed it, or (`by_commit` is false) that HEAD was then.
    pub commit: Option<String>,
    pub by_commit: bool,
    /// Set by the store.
    #[serde(with = "micros")]
    pub time: Timestamp,
    pub ties: Vec<Tie>,
}

impl Closed {
    /// All that was said, with its markers.
    pub fn conversation(&self) -> String {
        let line = |said: &Said| {
            let name = said.name.as_deref();
            let name = name.map_or_else(String::new, |name| format!("({name})"));
            format!("{}{name}: {}\n", said.role.to_uppercase(), said.text)
        };
        self.messages.iter().map(line).collect()
    }
}

/// One message of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Said {
    /// `author` or `agent`.
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub text: String,
}

impl Said {
    /// All that was said in a thread.
    pub fn in_thread(thread: &Thread) -> Vec<Self> {
        let messages = thread.messages.iter();
        messages
            .filter(|message| !message.text.is_empty())
            .map(|message| Self {
                role: message.role.name().to_owned(),
                name: message.name.clone(),
                text: message.laid_out().into_owned(),
            })
            .collect()
    }

    /// The same as it is told again; `None`: no agent has spoken in it.
    pub(super) fn kept(thread: &Thread) -> Option<Vec<Self>> {
        let answered = thread.is_answered();
        answered.then(|| Self::in_thread(thread))
    }

    /// How far in the lines stand may have changed since.
    fn is_again(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(|said| said.text.split('\n').map(str::trim_start));
        self.role == other.role && self.name == other.name && own.eq(others)
    }
}

/// A line that it is about, as the line was when the thread was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tie {
    /// Relative to the workspace root.
    pub file: String,
    /// 1-based, in the text without the thread.
    pub line: usize,
    /// 1-based, in the commit of [`Closed::commit`]; `None`: the line was not committed there.
    pub base_line: Option<usize>,
    /// Of its words.
    pub hash: i64,
    /// The thread stood at it; else an agent's turn changed it.
    pub stood: bool,
}

/// Microseconds since 1970.
mod micros {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(time.as_microsecond())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        let micros = i64::deserialize(from)?;
        Timestamp::from_microsecond(micros).map_err(serde::de::Error::custom)
    }
}

impl Store {
    /// The threads were removed: their runs are closed, their conversations kept, and the runs of those that are
    /// `renumbered` (from, to) go by the new ids; all of it or nothing. The time is now.
    pub fn close_threads(
        &self,
        closed: &[Closed],
        renumbered: &[(String, String)],
    ) -> Result<(), StoreError> {
        crate::os::test_step();
        let mut connection = self.durable();
        let mut close = || -> rusqlite::Result<()> {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for closed in closed {
                close_in(&tx, closed)?;
                crate::os::test_step();
            }
            renumber_in(&tx, renumbered)?;
            tx.commit()
        };
        close().map_err(|e| self.fault(e))?;
        crate::os::test_step();
        Ok(())
    }

    /// The closed run of a thread that stands in its file again, word for word, whatever was said in it since: its removal
    /// was taken back.
    pub fn run_brought_back(&self, thread: &Thread) -> Result<Option<Run>, StoreError> {
        let Some(kept) = Said::kept(thread) else {
            return Ok(None);
        };
        let connection = self.light();
        brought_back(&connection, &thread.id, &kept).map_err(|e| self.fault(e))
    }

    /// Conversations that are tied to a line with one of these words, or that stood in one of these files;
    /// newest first.
    pub fn tied(
        &self,
        hashes: &[i64],
        files: &[&str],
        limit: usize,
    ) -> Result<Vec<Closed>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<Closed>> {
            let mut found = BTreeSet::new();
            let mut by_text = connection.prepare_cached(
                "SELECT closed FROM ties WHERE hash = ?1 ORDER BY closed DESC LIMIT ?2",
            )?;
            for hash in hashes {
                let rows = by_text.query_map(params![hash, limit_of(limit)], |row| row.get(0))?;
                for num in rows {
                    found.insert(num?);
                }
            }
            let mut in_file = connection.prepare_cached(
                "SELECT num FROM closed WHERE file = ?1 ORDER BY num DESC LIMIT ?2",
            )?;
            for file in files {
                let rows = in_file.query_map(params![file, limit_of(limit)], |row| row.get(0))?;
                for num in rows {
                    found.insert(num?);
                }
            }
            found
                .into_iter()
                .rev()
                .take(limit)
                .map(|num: i64| closed(&connection, num))
                .collect()
        };
        read().map_err(|e| self.fault(e))
    }

    /// Every write of the run that was not undone: the files before and after, in order.
    pub fn changes_of_thread(&self, thread_id: &str) -> Result<Vec<super::Change>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<super::Change>> {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM changes
                 WHERE (run, turn) IN (
                    SELECT run, turn FROM changes WHERE undone = 0
                        AND run = (SELECT max(num) FROM runs WHERE thread_id = ?1 AND closed = 0))
                 ORDER BY num LIMIT 200",
            ))?;
            texts::changes(statement.query([thread_id])?)
        };
        read().map_err(|e| self.fault(e))
    }
}

/// `kept`: what was said in the thread, of which the beginning was kept as it was removed.
pub(super) fn brought_back(
    connection: &Connection,
    thread_id: &str,
    kept: &[Said],
) -> rusqlite::Result<Option<Run>> {
    // Among others that begin alike it may have another number by now. `.` is the character behind `-`.
    let mut statement = connection
        .prepare_cached(
            "SELECT runs.*, closed.messages AS said FROM runs JOIN closed ON closed.file = runs.file AND closed.run = runs.num
             WHERE runs.thread_id >= ?1 AND runs.thread_id < ?1 || '.' AND runs.closed = 1
                AND closed.messages LIKE '%\"role\":\"agent\"%'
             ORDER BY runs.num DESC",
        )?;
    let mut rows = statement.query([words(thread_id)])?;
    while let Some(row) = rows.next()? {
        let said: String = row.get("said")?;
        let said: Vec<Said> = serde_json::from_str(&said).unwrap_or_default();
        let mut pairs = said.iter().zip(kept);
        if (1..=kept.len()).contains(&said.len()) && pairs.all(|(one, other)| one.is_again(other)) {
            return run_from(row).map(Some);
        }
    }
    Ok(None)
}

/// What else is open at an id that another thread has by now is of one that is gone.
fn renumber_in(tx: &Transaction, renumbered: &[(String, String)]) -> rusqlite::Result<()> {
    // Two may have changed their ids with each other: out of the way first.
    for (old, _) in renumbered {
        tx.prepare_cached(
            "UPDATE runs SET thread_id = '>' || ?1 WHERE thread_id = ?1 AND closed = 0",
        )?
        .execute([old])?;
    }
    for (_, new) in renumbered {
        close_at(tx, new)?;
    }
    for (old, new) in renumbered {
        tx.prepare_cached(
            "UPDATE runs SET thread_id = ?2 WHERE thread_id = '>' || ?1 AND closed = 0",
        )?
        .execute([old, new])?;
    }
    Ok(())
}

fn close_in(tx: &Transaction, closed: &Closed) -> rusqlite::Result<()> {
    let line = |line: usize| i64::try_from(line).unwrap_or(i64::MAX);
    let messages = serde_json::to_string(&closed.messages)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    tx.prepare_cached(
        "INSERT INTO closed (run, thread_id, file, first_line, last_line, conversation, messages, commit_hash,
            by_commit, time)
         VALUES ((SELECT max(num) FROM runs WHERE thread_id = ?1 AND closed = 0), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        closed.thread_id,
        closed.file,
        line(closed.lines.0),
        line(closed.lines.1),
        closed.conversation(),
        messages,
        closed.commit,
        closed.by_commit,
        now()
    ])?;
    let num = tx.last_insert_rowid();
    leaving::closed_in(tx, closed)?;
    for tie in &closed.ties {
        tx.prepare_cached(
            "INSERT INTO ties (closed, file, line, base_line, hash, stood) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            num,
            tie.file,
            line(tie.line),
            tie.base_line.map(line),
            tie.hash,
            tie.stood
        ])?;
    }
    close_at(tx, &closed.thread_id)
}

fn closed(connection: &Connection, num: i64) -> rusqlite::Result<Closed> {
    let mut statement = connection.prepare_cached(
        "SELECT file, line, base_line, hash, stood FROM ties WHERE closed = ?1 ORDER BY rowid",
    )?;
    let ties = statement.query_map([num], |row| {
        Ok(Tie {
            file: row.get(0)?,
            line: line(row, "line")?,
            base_line: row
                .get::<_, Option<i64>>(2)?
                .and_then(|line| usize::try_from(line).ok()),
            hash: row.get(3)?,
            stood: row.get(4)?,
        })
    })?;
    let ties = ties.collect::<rusqlite::Result<_>>()?;
    connection
        .prepare_cached(
            "SELECT closed.*, runs.id AS run_id FROM closed LEFT JOIN runs ON runs.num = closed.run
             WHERE closed.num = ?1",
        )?
        .query_row([num], |row| {
            let messages: Option<String> = row.get("messages")?;
            let conversation: String = row.get("conversation")?;
            let messages = messages.and_then(|messages| serde_json::from_str(&messages).ok());
            Ok(Closed {
                run_id: row.get("run_id")?,
                thread_id: row.get("thread_id")?,
                file: row.get("file")?,
                lines: (line(row, "first_line")?, line(row, "last_line")?),
                messages: messages.unwrap_or_else(|| said(&conversation)),
                commit: row.get("commit_hash")?,
                by_commit: row.get("by_commit")?,
                time: time(row, "time")?,
                ties,
            })
        })
}

fn line(row: &Row, column: &str) -> rusqlite::Result<usize> {
    let line: i64 = row.get(column)?;
    Ok(usize::try_from(line).unwrap_or(0))
}

/// The messages of a conversation as versions before the fourth of the schema kept it.
fn said(conversation: &str) -> Vec<Said> {
    let mut all: Vec<Said> = Vec::new();
    for line in conversation.lines() {
        let begun = line
            .split_once(": ")
            .or_else(|| Some((line.strip_suffix(':')?, "")));
        let role = begun.and_then(|(marker, text)| {
            let (role, name) = match marker.split_once('(') {
                Some((role, name)) => (role, Some(name.strip_suffix(')')?)),
                None => (marker, None),
            };
            matches!(role, "AUTHOR" | "AGENT").then_some((role, name, text))
        });
        match (role, all.last_mut()) {
            (Some((role, name, text)), _) => all.push(Said {
                role: role.to_lowercase(),
                name: name.map(str::to_owned),
                text: text.to_owned(),
            }),
            (None, Some(last)) => {
                last.text.push('\n');
                last.text.push_str(line);
            }
            (None, None) => {}
        }
    }
    all
}
