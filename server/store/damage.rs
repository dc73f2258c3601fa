//! A database that cannot be read: how it shows, how closely one is looked at that was met with, and where it is kept.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode};

use super::StoreError;
use super::schema::{OpenFault, connect_and_check, io, migrate, private_file, said, with_suffix};

const ASIDE: &str = "rounds-damaged-";

/// Whether an error comes of what is in the file: pages that hang together no more, tables that are not those we made,
/// a value that is none we wrote.
pub(super) fn shows(error: &Error) -> bool {
    match error {
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnName(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => true,
        _ => match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => true,
            // What SQLite has no code for.
            Some(ErrorCode::Unknown) => {
                let said = error.to_string();
                said.starts_with("no such ") || said.starts_with("malformed JSON")
            }
            _ => false,
        },
    }
}

/// Whether something took the content: of an empty file SQLite makes a new database, and deletes the log beside it,
/// with the rounds that stand only there.
pub(super) fn is_emptied(path: &Path) -> bool {
    let length = |path: &Path| path.metadata().map(|found| found.len());
    match length(path) {
        Ok(length) => length == 0,
        Err(_) => length(&with_suffix(path, "-wal")).is_ok_and(|length| length > 0),
    }
}

/// The next open looks at all of it.
pub(super) fn mark_suspect(path: &Path) {
    let _ = private_file(&suspect_mark(path));
}

fn suspect_mark(path: &Path) -> PathBuf {
    path.with_file_name("suspect")
}

/// Looks at all of a database that somebody met damage in.
pub(super) fn look(connection: &Connection, path: &Path) -> Result<(), OpenFault> {
    let suspect = suspect_mark(path);
    if !suspect.exists() {
        return Ok(());
    }
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" || !is_ours(connection)? {
        return Err(OpenFault::Damaged);
    }
    let _ = fs::remove_file(suspect);
    Ok(())
}

/// Whether the tables are those we made, and all text in them is UTF-8 and what is read as JSON that, which SQLite does
/// not check.
fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let columns = columns(connection)?;
    let mut new = Connection::open_in_memory()?;
    if migrate(&mut new, Path::new("")).is_err() || columns != self::columns(&new)? {
        return Ok(false);
    }
    let is_json = "SELECT NOT EXISTS (SELECT 1 FROM rounds WHERE NOT json_valid(metadata))";
    if !connection.query_row(is_json, [], |row| row.get(0))? {
        return Ok(false);
    }
    for (table, column) in columns {
        let mut all = connection.prepare(&format!("SELECT \"{column}\" FROM \"{table}\""))?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            if let ValueRef::Text(bytes) = row.get_ref(0)?
                && std::str::from_utf8(bytes).is_err()
            {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Each table with each of its columns.
fn columns(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = connection.prepare(
        "SELECT tables.name, columns.name FROM pragma_table_list AS tables, pragma_table_info(tables.name) AS columns
         WHERE tables.schema = 'main' AND tables.type = 'table' AND tables.name NOT LIKE 'sqlite%' ORDER BY 1, 2",
    )?;
    let all = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    all.collect()
}

/// Moves the damaged database (and its WAL) to a name of its own and begins a new one.
pub(super) fn set_aside(path: &Path, root: &Path) -> StoreError {
    let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%3fZ");
    let aside = path.with_file_name(format!("{ASIDE}{stamp}.db"));
    let was_empty = is_emptied(path);
    // What is named is there, also where the log alone was left.
    if let Err(error) = private_file(path) {
        return error;
    }
    for suffix in ["", "-wal", "-shm"] {
        let (from, to) = (with_suffix(path, suffix), with_suffix(&aside, suffix));
        match fs::rename(&from, to) {
            // A new one would take the log for its own, or delete it.
            Err(source) if from.exists() => return io(&from, source),
            _ => {}
        }
    }
    let _ = fs::remove_file(suspect_mark(path));
    match connect_and_check(path, root) {
        Err(OpenFault::Sqlite(error)) => said(error, path),
        Err(OpenFault::Other(error)) => error,
        Err(OpenFault::Damaged) | Ok(_) => StoreError::Corrupt {
            path: path.display().to_string(),
            aside: aside.display().to_string(),
            how: if was_empty {
                "was emptied by something else"
            } else {
                "was damaged"
            },
        },
    }
}

/// The databases that were set aside beside the one at `path`, oldest first.
pub(super) fn aside(path: &Path) -> Vec<PathBuf> {
    let entries = path.parent().and_then(|folder| fs::read_dir(folder).ok());
    let is_one = |name: &str| name.starts_with(ASIDE) && name.ends_with(".db");
    let mut found: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(is_one))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}
