//! A database that cannot be read: how it shows, how closely one is looked at that was met with, and where it is kept.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, TransactionBehavior};

use super::StoreError;
use super::schema::{
    OpenFault, WORDS, connect_and_check, io, migrate, private_file, said, with_suffix,
};

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
            // Of the words for the search, which have no other constraint than their own order; ours are named.
            Some(ErrorCode::ConstraintViolation) => error.to_string() == "constraint failed",
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

/// Looks at all of a database that somebody met damage in. What is made of the rounds is made anew where they are sound.
/// Whether it was looked at.
pub(super) fn look(connection: &mut Connection, path: &Path) -> Result<bool, OpenFault> {
    let suspect = suspect_mark(path);
    if !suspect.exists() {
        return Ok(false);
    }
    if !(is_whole(connection) && is_ours(connection)?) {
        if !(are_sound(connection)? && is_ours(connection)?) {
            return Err(OpenFault::Damaged);
        }
        make_words_anew(connection)?;
        if !(is_whole(connection) && is_ours(connection)?) {
            return Err(OpenFault::Damaged);
        }
        tracing::warn!(
            "the words for the search were damaged in {}; they are made anew, and no run is lost",
            path.display()
        );
    }
    let _ = fs::remove_file(suspect);
    Ok(true)
}

/// What is wrong with the pages of the whole file.
fn wrong(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut check = connection.prepare("PRAGMA quick_check(1000000)")?;
    let said: Vec<String> = check
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let lines = said.iter().flat_map(|said| said.lines());
    Ok(lines
        .filter(|line| *line != "ok" && !line.starts_with("***"))
        .map(str::to_owned)
        .collect())
}

fn is_whole(connection: &Connection) -> bool {
    let words = "INSERT INTO words (words, rank) VALUES ('integrity-check', 1)";
    wrong(connection).is_ok_and(|wrong| wrong.is_empty()) && connection.execute(words, []).is_ok()
}

/// Whether each table of ours is, the words aside.
fn are_sound(connection: &Connection) -> rusqlite::Result<bool> {
    let mut tables: Vec<String> = columns(connection)?
        .into_iter()
        .map(|(table, _)| table)
        .collect();
    tables.dedup();
    for table in tables {
        let check = format!("PRAGMA quick_check(\"{table}\")");
        let verdict: String = connection.query_row(&check, [], |row| row.get(0))?;
        if verdict != "ok" {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The pages of the old ones are not looked at: they are let go of, and what is left of the file is written anew.
fn make_words_anew(connection: &mut Connection) -> Result<(), OpenFault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "PRAGMA writable_schema = ON;
         DELETE FROM sqlite_schema
            WHERE tbl_name = 'words' OR tbl_name LIKE 'words!_%' ESCAPE '!' OR name IN ('words_added', 'words_gone');
         PRAGMA writable_schema = RESET;",
    )?;
    // Of a list of free pages that is damaged, one in use might be taken.
    let is_left = |wrong: &String| wrong.contains("never used");
    if !wrong(&transaction)?.iter().all(is_left) {
        return Err(OpenFault::Damaged);
    }
    transaction.execute_batch(WORDS)?;
    transaction.commit()?;
    connection.execute_batch("VACUUM")?;
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

/// Each table with each of its columns; those of the words, which are made of the rounds, are none of them.
fn columns(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = connection.prepare(
        "SELECT tables.name, columns.name FROM pragma_table_list AS tables, pragma_table_info(tables.name) AS columns
         WHERE tables.schema = 'main' AND tables.type = 'table' AND tables.name NOT LIKE 'sqlite%'
            AND tables.name NOT LIKE 'words!_%' ESCAPE '!' ORDER BY 1, 2",
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
