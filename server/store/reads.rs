//! Reading runs and rounds. A page is one seek in the index (run, seq), however long the run is.

use std::collections::HashSet;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};
use serde_json::{Map, Value};

use super::page::{self, Format, Page, Rounds};
use super::{Round, Run, RunStatus, Store, StoreError};
use crate::threads;

/// A round that holds the words that were looked for.
#[derive(Clone, Debug)]
pub struct Hit {
    pub run: Run,
    pub seq: u64,
    pub role: Option<String>,
    pub time: Timestamp,
    /// The words with some of the text around them, on one line.
    pub snippet: String,
}

impl Store {
    /// By id, unique prefix of one, or thread id (its open run, else the newest that was closed).
    pub fn run(&self, id: &str) -> Result<Run, StoreError> {
        let connection = self.light();
        resolve(&connection, id).map_err(|e| self.fault(e))?
    }

    /// Newest first.
    pub fn runs(
        &self,
        thread_id: Option<&str>,
        status: Option<RunStatus>,
        limit: usize,
    ) -> Result<Vec<Run>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<Run>> {
            let mut statement = connection.prepare_cached(
                "SELECT * FROM runs WHERE (?1 IS NULL OR thread_id = ?1) AND (?2 IS NULL OR status = ?2)
                 ORDER BY num DESC LIMIT ?3",
            )?;
            let rows = statement.query_map(
                params![thread_id, status.map(RunStatus::name), limit_of(limit)],
                run_from,
            )?;
            rows.collect()
        };
        read().map_err(|e| self.fault(e))
    }

    /// What a run was asked first; `None` where nothing was kept of it.
    pub fn question(&self, run: &str) -> Result<Option<String>, StoreError> {
        let connection = self.light();
        connection
            .prepare_cached(
                "SELECT content FROM rounds WHERE run = (SELECT num FROM runs WHERE id = ?1) AND role = 'user'
                 ORDER BY seq LIMIT 1",
            )
            .and_then(|mut statement| statement.query_row([run], |row| row.get(0)).optional())
            .map_err(|e| self.fault(e))
    }

    /// The newest round of a run with this role.
    pub fn newest_of(&self, run: &str, role: &str) -> Result<Option<Round>, StoreError> {
        let connection = self.light();
        connection
            .prepare_cached(
                "SELECT rounds.* FROM rounds WHERE run = (SELECT num FROM runs WHERE id = ?1) AND role = ?2
                 ORDER BY seq DESC LIMIT 1",
            )
            .and_then(|mut statement| statement.query_row([run, role], round_from).optional())
            .map_err(|e| self.fault(e))
    }

    /// The first answer of a run that was written without a name, by an agent that is known.
    pub fn first_reply(&self, run: &str) -> Result<Option<Round>, StoreError> {
        let connection = self.light();
        connection
            .prepare_cached(
                "SELECT rounds.* FROM rounds WHERE run = (SELECT num FROM runs WHERE id = ?1) AND role = 'reply'
                 AND metadata ->> 'name' IS NULL AND coalesce(metadata ->> 'model', 'offline') <> 'offline'
                 ORDER BY seq LIMIT 1",
            )
            .and_then(|mut statement| statement.query_row([run], round_from).optional())
            .map_err(|e| self.fault(e))
    }

    /// Rounds before `before` (or the newest), newest first, at most `limit`.
    pub fn rounds_back(
        &self,
        run: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Round>, StoreError> {
        let before = before.map_or(i64::MAX, |n| i64::try_from(n).unwrap_or(i64::MAX));
        self.rounds_where(
            "SELECT rounds.* FROM rounds WHERE run = (SELECT num FROM runs WHERE id = ?1) AND seq < ?2
             ORDER BY seq DESC LIMIT ?3",
            run,
            before,
            limit,
        )
    }

    /// Rounds after `after` (0: from the first), oldest first, at most `limit`.
    pub fn rounds_from(
        &self,
        run: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Round>, StoreError> {
        self.rounds_where(
            "SELECT rounds.* FROM rounds WHERE run = (SELECT num FROM runs WHERE id = ?1) AND seq > ?2
             ORDER BY seq LIMIT ?3",
            run,
            i64::try_from(after).unwrap_or(i64::MAX),
            limit,
        )
    }

    fn rounds_where(
        &self,
        sql: &str,
        run: &str,
        seq: i64,
        limit: usize,
    ) -> Result<Vec<Round>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<Round>> {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map(params![run, seq, limit_of(limit)], round_from)?;
            rows.collect()
        };
        read().map_err(|e| self.fault(e))
    }

    /// How many rounds stand between the numbers `after` and `before`, both excluded. Counted only
    /// where rounds of the run were deleted.
    fn rounds_between(&self, run: &str, after: u64, before: u64) -> Result<u64, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<u64> {
            let missing: Option<i64> = connection
                .prepare_cached("SELECT missing FROM runs WHERE id = ?1")?
                .query_row([run], |row| row.get(0))
                .optional()?;
            if missing == Some(0) {
                return Ok(before.saturating_sub(after).saturating_sub(1));
            }
            let (after, before) = (i64::try_from(after), i64::try_from(before));
            let (after, before) = (after.unwrap_or(i64::MAX), before.unwrap_or(i64::MAX));
            connection
                .prepare_cached(
                    "SELECT count(*) AS rounds FROM rounds
                     WHERE run = (SELECT num FROM runs WHERE id = ?1) AND seq > ?2 AND seq < ?3",
                )?
                .query_row(params![run, after, before], |row| number(row, "rounds"))
        };
        read().map_err(|e| self.fault(e))
    }

    /// `postil workflow thread`: what fits into `budget` characters. `run` is a full id.
    pub fn page(
        &self,
        run: &str,
        before: Option<u64>,
        budget: usize,
        format: Format,
    ) -> Result<Page, StoreError> {
        let source = Source { store: self, run };
        match before {
            None => page::newest(&source, budget, format),
            Some(before) => page::before(&source, before, budget, format),
        }
    }

    /// The newest rounds that hold all of `words`.
    pub fn search(&self, words: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
        let mut known = HashSet::new();
        let (parts, whole): (Vec<&str>, Vec<&str>) = words
            .split_whitespace()
            .filter(|word| known.insert(*word))
            .partition(|word| word.chars().any(is_unspaced));
        // Each word a quoted string, so that nothing of it is taken for the query language of FTS5.
        let quoted = |word: &&str| format!("\"{}\"", word.replace('"', "\"\""));
        let query: Vec<String> = whole.iter().map(quoted).collect();
        // The table of words has a row of such characters as one.
        let (snippet, from, matches) = match (query.is_empty(), parts.is_empty()) {
            (true, true) => return Ok(Vec::new()),
            (true, false) => ("rounds.content", "rounds", None),
            (false, _) => (
                "snippet(words, 0, '', '', '…', 24)",
                "words JOIN rounds ON rounds.num = words.rowid",
                Some("words MATCH ?"),
            ),
        };
        let holds = parts
            .iter()
            .map(|_| "instr(lower(rounds.content), lower(?)) > 0");
        let conditions: Vec<&str> = matches.into_iter().chain(holds).collect();
        // A row of them is as deep as it is long, and SQLite takes 1,000 (§Maximum Depth Of An Expression Tree).
        let conditions: Vec<String> = conditions
            .chunks(64)
            .map(|some| format!("({})", some.join(" AND ")))
            .collect();
        let sql = format!(
            "SELECT runs.*, rounds.seq, rounds.role, rounds.time, {snippet} AS snippet
             FROM {from} JOIN runs ON runs.num = rounds.run
             WHERE {} ORDER BY rounds.num DESC LIMIT {}",
            conditions.join(" AND "),
            limit_of(limit)
        );
        let query = matches.map(|_| query.join(" "));
        let given = query.as_deref().into_iter().chain(parts.iter().copied());
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<Hit>> {
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query_map(params_from_iter(given), |row| {
                let mut snippet: String = row.get("snippet")?;
                if let (None, Some(part)) = (matches, parts.first()) {
                    snippet = around(&snippet, part);
                }
                Ok(Hit {
                    run: run_from(row)?,
                    seq: number(row, "seq")?,
                    role: row.get("role")?,
                    time: time(row, "time")?,
                    snippet: snippet.split_whitespace().collect::<Vec<_>>().join(" "),
                })
            })?;
            rows.collect()
        };
        read().map_err(|e| self.fault(e))
    }
}

/// Whether a character is of a script that puts no blanks between words, or endings on them (Korean).
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{fff}' // Thai, Lao, Tibetan
        | '\u{1000}'..='\u{109f}' // Burmese
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' // kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' // Han
        | '\u{ac00}'..='\u{d7af}' // Hangul
    )
}

/// A text about where a part of it stands.
fn around(text: &str, part: &str) -> String {
    const CHARACTERS: usize = 40;
    let at = text.to_ascii_lowercase().find(&part.to_ascii_lowercase());
    let at = at.unwrap_or(0);
    let before = text[..at].char_indices().rev().nth(CHARACTERS - 1);
    let start = before.map_or(0, |(at, _)| at);
    let behind = text[at..]
        .char_indices()
        .nth(CHARACTERS + part.chars().count());
    let end = behind.map_or(text.len(), |(behind, _)| at + behind);
    let [first, last] = [start > 0, end < text.len()].map(|more| if more { "…" } else { "" });
    format!("{first}{}{last}", &text[start..end])
}

/// A run's rounds as the page takes them.
struct Source<'a> {
    store: &'a Store,
    run: &'a str,
}

impl Rounds for Source<'_> {
    type Error = StoreError;
    fn first(&self) -> Result<Option<Round>, StoreError> {
        Ok(self.store.rounds_from(self.run, 0, 1)?.pop())
    }
    fn back(&self, before: Option<u64>, limit: usize) -> Result<Vec<Round>, StoreError> {
        self.store.rounds_back(self.run, before, limit)
    }
    fn between(&self, after: u64, before: u64) -> Result<u64, StoreError> {
        self.store.rounds_between(self.run, after, before)
    }
}

fn resolve(connection: &Connection, id: &str) -> rusqlite::Result<Result<Run, StoreError>> {
    let exact = connection
        .prepare_cached(
            "SELECT * FROM runs WHERE id = ?1 OR (thread_id = ?1 AND ?1 <> '')
             ORDER BY id = ?1 DESC, closed, num DESC LIMIT 1",
        )?
        .query_row([id], run_from)
        .optional()?;
    if let Some(run) = exact {
        return Ok(Ok(run));
    }
    let unknown = || Ok(Err(StoreError::UnknownRun(id.to_owned())));
    if !id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
        return unknown();
    }
    if id.len() < 4 {
        return Ok(Err(StoreError::ShortId(id.to_owned())));
    }
    // Ids are made of 0-9, a-f and `-`, so that `g` is above whatever follows the prefix.
    let prefix = id.to_ascii_lowercase();
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT id FROM runs WHERE id >= ?1 AND id < ?1 || 'g'
         UNION SELECT DISTINCT thread_id FROM runs WHERE thread_id >= ?1 AND thread_id < ?1 || 'g' AND NOT ?2
         LIMIT 11",
    )?;
    // That a thread has no run does not make those of its namesakes its own.
    let candidates: Vec<String> = statement
        .query_map(params![prefix, threads::is_whole(&prefix)], |row| {
            row.get(0)
        })?
        .collect::<rusqlite::Result<_>>()?;
    match candidates.as_slice() {
        [] => unknown(),
        [one] => resolve(connection, one),
        _ => Ok(Err(StoreError::Ambiguous(
            id.to_owned(),
            candidates.join(", "),
        ))),
    }
}

pub(super) fn run_from(row: &Row) -> rusqlite::Result<Run> {
    let status: String = row.get("status")?;
    Ok(Run {
        id: row.get("id")?,
        thread_id: row.get("thread_id")?,
        file: row.get("file")?,
        status: RunStatus::parse(&status).unwrap_or(RunStatus::Failed),
        started: time(row, "started")?,
        rounds: number(row, "last_seq")?,
        tokens: number(row, "tokens")?,
        cost: row.get("cost")?,
        model: row.get("model")?,
        error: row.get("error")?,
    })
}

fn round_from(row: &Row) -> rusqlite::Result<Round> {
    let metadata: String = row.get("metadata")?;
    Ok(Round {
        seq: number(row, "seq")?,
        role: row.get("role")?,
        time: time(row, "time")?,
        metadata: match serde_json::from_str(&metadata) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        },
        content: row.get("content")?,
    })
}

pub(super) fn time(row: &Row, column: &str) -> rusqlite::Result<Timestamp> {
    let micros: i64 = row.get(column)?;
    Ok(Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH))
}

fn number(row: &Row, column: &str) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

pub(super) fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
