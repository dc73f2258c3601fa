//! What was said in the windows of an agent's client, kept beside the runs that it led to, so that a window can be
//! opened again by another process.

use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, params};
use serde_json::{Map, json};

use super::reads::{run_from, time};
use super::{Run, Store, StoreError};

/// The role of such a round.
const ROLE: &str = "window";
/// Windows that are listed, newest first.
const LISTED: i64 = 200;

/// A window of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    pub id: String,
    /// What was asked there first.
    pub first: String,
    pub last: Timestamp,
}

impl Store {
    /// An id for a new window.
    pub fn new_window() -> String {
        format!("postil-{}", uuid::Uuid::new_v4().simple())
    }

    /// Keeps what was said in a window; `by_author`, or by the agent.
    pub fn keep_said(
        &self,
        run: &str,
        window: &str,
        by_author: bool,
        text: &str,
    ) -> Result<(), StoreError> {
        let fields = json!({"window": window, "by_author": by_author});
        let fields = match fields {
            serde_json::Value::Object(fields) => fields,
            _ => Map::new(),
        };
        self.append(run, ROLE, fields, text).map(|_| ())
    }

    /// What was said in a window, oldest first: by the author?, and what.
    pub fn said_in(&self, window: &str) -> Result<Vec<(bool, String)>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<(bool, String)>> {
            let mut statement = connection.prepare_cached(
                "SELECT metadata ->> 'by_author', content FROM rounds
                 WHERE role = ?1 AND metadata ->> 'window' = ?2 ORDER BY num",
            )?;
            let rows = statement.query_map(params![ROLE, window], |row| {
                Ok((row.get::<_, Option<bool>>(0)?.unwrap_or(false), row.get(1)?))
            })?;
            rows.collect()
        };
        read().map_err(|e| self.fault(e))
    }

    /// The run of what was said last in a window.
    pub fn last_run_in(&self, window: &str) -> Result<Option<Run>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Option<Run>> {
            connection
                .prepare_cached(
                    "SELECT * FROM runs WHERE num =
                        (SELECT run FROM rounds WHERE role = ?1 AND metadata ->> 'window' = ?2
                         ORDER BY num DESC LIMIT 1)",
                )?
                .query_row(params![ROLE, window], run_from)
                .optional()
        };
        read().map_err(|e| self.fault(e))
    }

    /// The windows of this workspace, newest first.
    pub fn windows(&self) -> Result<Vec<Window>, StoreError> {
        let connection = self.light();
        let read = || -> rusqlite::Result<Vec<Window>> {
            let mut statement = connection.prepare_cached(
                "SELECT said.id, said.last, rounds.content FROM
                    (SELECT metadata ->> 'window' AS id, min(num) AS first, max(time) AS last
                     FROM rounds WHERE role = ?1 GROUP BY id) AS said
                 JOIN rounds ON rounds.num = said.first ORDER BY said.first DESC LIMIT ?2",
            )?;
            let rows = statement.query_map(params![ROLE, LISTED], |row| {
                Ok(Window {
                    id: row.get::<_, Option<String>>("id")?.unwrap_or_default(),
                    first: row.get("content")?,
                    last: time(row, "last")?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|e| self.fault(e))
    }
}
