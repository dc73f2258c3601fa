//! The database file: where it lies, its tables, and what happens when it is newer, older or damaged.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use sha2::{Digest as _, Sha256};

use super::{StoreError, damage};
use crate::text::hex;

/// The words of the rounds.
pub(super) const WORDS: &str =
    "CREATE VIRTUAL TABLE words USING fts5 (content, content = 'rounds', content_rowid = 'num');
    CREATE TRIGGER words_added AFTER INSERT ON rounds BEGIN
       INSERT INTO words (rowid, content) VALUES (new.num, new.content);
    END;
    CREATE TRIGGER words_gone AFTER DELETE ON rounds BEGIN
       INSERT INTO words (words, rowid, content) VALUES ('delete', old.num, old.content);
    END;
    INSERT INTO words (words) VALUES ('rebuild');";

/// One entry for each schema version; `user_version` counts those that were applied.
pub(super) const MIGRATIONS: [&str; 11] = [
    // 1: runs, rounds, and what belongs to them.
    "CREATE TABLE runs (
        num INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        thread_id TEXT NOT NULL,
        file TEXT NOT NULL,
        status TEXT NOT NULL,
        started INTEGER NOT NULL,
        touched INTEGER NOT NULL,
        last_seq INTEGER NOT NULL DEFAULT 0,
        missing INTEGER NOT NULL DEFAULT 0,
        turn INTEGER NOT NULL DEFAULT 0,
        tokens INTEGER NOT NULL DEFAULT 0,
        cost REAL NOT NULL DEFAULT 0,
        model TEXT NOT NULL,
        error TEXT,
        closed INTEGER NOT NULL DEFAULT 0,
        cancel INTEGER NOT NULL DEFAULT 0,
        owner_pid INTEGER,
        owner_start INTEGER,
        owner_boot TEXT,
        owner_space TEXT,
        heartbeat INTEGER
     ) STRICT;
     CREATE INDEX runs_of_thread ON runs (thread_id, num);
     CREATE INDEX runs_by_status ON runs (status, num);
     CREATE TABLE rounds (
        num INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs (num) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        turn INTEGER NOT NULL,
        role TEXT,
        time INTEGER NOT NULL,
        metadata TEXT NOT NULL,
        content TEXT NOT NULL,
        UNIQUE (run, seq)
     ) STRICT;
     CREATE TRIGGER rounds_gone AFTER DELETE ON rounds BEGIN
        UPDATE runs SET missing = missing + 1 WHERE num = old.run;
     END;
     CREATE TABLE changes (
        num INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs (num) ON DELETE CASCADE,
        turn INTEGER NOT NULL,
        file TEXT NOT NULL,
        before BLOB,
        after BLOB,
        undone INTEGER NOT NULL DEFAULT 0
     ) STRICT;
     CREATE INDEX changes_of_turn ON changes (run, undone, turn);
     CREATE TABLE closed (
        num INTEGER PRIMARY KEY,
        run INTEGER,
        thread_id TEXT NOT NULL,
        file TEXT NOT NULL,
        first_line INTEGER NOT NULL,
        last_line INTEGER NOT NULL,
        conversation TEXT NOT NULL,
        commit_hash TEXT,
        time INTEGER NOT NULL
     ) STRICT;
     CREATE INDEX closed_in_file ON closed (file, num);
     CREATE INDEX closed_by_commit ON closed (commit_hash);
     CREATE TABLE typed (
        file TEXT NOT NULL,
        text BLOB NOT NULL,
        PRIMARY KEY (file, text)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;",
    // 2: the words of the rounds, for `workflow search`.
    WORDS,
    // 3: what the model was told and said, as long as its turn may go on.
    "CREATE TABLE talk (
        num INTEGER PRIMARY KEY AUTOINCREMENT,
        run INTEGER NOT NULL REFERENCES runs (num) ON DELETE CASCADE,
        entry TEXT NOT NULL
     ) STRICT;
     CREATE INDEX talk_of_run ON talk (run, num);",
    // 4: closed conversations by message, and the lines that they are tied to.
    "ALTER TABLE closed ADD COLUMN messages TEXT;
     ALTER TABLE closed ADD COLUMN by_commit INTEGER NOT NULL DEFAULT 0;
     UPDATE closed SET by_commit = 1 WHERE commit_hash IS NOT NULL;
     CREATE TABLE ties (
        closed INTEGER NOT NULL REFERENCES closed (num) ON DELETE CASCADE,
        file TEXT NOT NULL,
        line INTEGER NOT NULL,
        base_line INTEGER,
        hash INTEGER NOT NULL,
        stood INTEGER NOT NULL
     ) STRICT;
     CREATE INDEX ties_by_text ON ties (hash);
     CREATE INDEX ties_of_closed ON ties (closed);",
    // 5: what undo needs beside the texts.
    "ALTER TABLE changes ADD COLUMN mode INTEGER;
     ALTER TABLE changes ADD COLUMN folders INTEGER NOT NULL DEFAULT 0;",
    // 6: conversations whose threads are on their way out of their files.
    "CREATE TABLE leaving (
        num INTEGER PRIMARY KEY,
        file TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        closed TEXT NOT NULL,
        to_commit INTEGER NOT NULL,
        owner_pid INTEGER,
        owner_start INTEGER NOT NULL,
        owner_boot TEXT NOT NULL,
        owner_space TEXT NOT NULL,
        heartbeat INTEGER NOT NULL,
        UNIQUE (file, thread_id)
     ) STRICT;",
    // 7: texts of changes that are kept as what differs.
    "ALTER TABLE changes ADD COLUMN follows INTEGER;
     ALTER TABLE changes ADD COLUMN front_kept INTEGER;
     ALTER TABLE changes ADD COLUMN back_kept INTEGER;
     ALTER TABLE changes ADD COLUMN hash BLOB;",
    // 8: which change is a turn's answer; it is the turn's last.
    "ALTER TABLE changes ADD COLUMN is_answer INTEGER NOT NULL DEFAULT 0;
     UPDATE changes SET is_answer = 1 WHERE num IN (
        SELECT max(num) FROM changes GROUP BY run, turn HAVING EXISTS (
            SELECT 1 FROM rounds WHERE rounds.run = changes.run AND rounds.turn = changes.turn
                AND role = 'reply' AND metadata NOT LIKE '%\"not_written\"%'));",
    // 9: the lines beside a run's thread.
    "ALTER TABLE runs ADD COLUMN beside TEXT;",
    // 10: which file a new one takes the place of.
    "ALTER TABLE changes ADD COLUMN moved_from TEXT;",
    // 11: a turn that writes many files finds what it wrote of one.
    "DROP INDEX changes_of_turn;
     CREATE INDEX changes_of_turn ON changes (run, undone, turn, file);",
];

const KNOWN: i64 = MIGRATIONS.len() as i64;

const TRIES: i32 = if cfg!(test) { 240 } else { 4200 };

/// How long who cannot wait does so for another process's write.
const BRIEFLY: Duration = Duration::from_millis(50);

/// Whether to wait on for another process's write, after `tries` times: often at first, for a write takes
/// as long as one sync of the disk (SQLite's own handler soon sleeps for a tenth of a second); 20 s in all.
fn wait_busy(tries: i32) -> bool {
    let pause = match tries {
        0..200 => Duration::from_micros(500),
        200..TRIES => Duration::from_millis(5),
        _ => return false,
    };
    std::thread::sleep(pause);
    true
}

/// The database of the workspace `root` below the data folder: a readable name, then a hash of the
/// canonical path, so that two folders of one name do not share a history.
pub fn location(data: &Path, root: &Path) -> PathBuf {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    let hash = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let hash = hex(hash.iter().take(8));
    let name: String = root
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .take(32)
        .collect();
    let name = if name.is_empty() { "root" } else { &name };
    data.join("workspaces")
        .join(format!("{name}-{hash}"))
        .join("rounds.db")
}

/// A database.
pub(super) struct Opened {
    pub durable: Connection,
    pub light: Connection,
    pub brief: Connection,
    /// All of it was looked at, and is sound.
    pub is_looked_at: bool,
}

/// The database file, and that it is open.
pub(super) fn open(data: &Path, root: &Path) -> Result<(PathBuf, Opened), StoreError> {
    let path = location(data, root);
    let folder = path.parent().unwrap_or(data);
    private_folder(data)?;
    private_folder(&data.join("workspaces"))?;
    private_folder(folder)?;
    // Opening, migrating and setting aside are one process at a time.
    let lock = private_file(&folder.join("lock"))?;
    wait_for(&lock, folder)?;
    refuse_newer_header(&path)?;
    let opened = match damage::is_emptied(&path) {
        true => Err(OpenFault::Damaged),
        false => connect_and_check(&path, root),
    };
    match opened {
        Err(OpenFault::Damaged) => Err(damage::set_aside(&path, root)),
        Err(OpenFault::Sqlite(error)) => Err(said(error, &path)),
        Err(OpenFault::Other(error)) => Err(error),
        Ok(opened) => Ok((path, opened)),
    }
}

/// One that was stopped meanwhile, or that waits itself, does not stop us for ever.
fn wait_for(lock: &File, folder: &Path) -> Result<(), StoreError> {
    let mut tries = 0;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(source)) => return Err(io(folder, source)),
            Err(TryLockError::WouldBlock) if wait_busy(tries) => tries += 1,
            Err(TryLockError::WouldBlock) => {
                let path = folder.display().to_string();
                return Err(StoreError::Locked { path });
            }
        }
    }
}

fn is(error: &rusqlite::Error, extended_code: i32) -> bool {
    let said = error.sqlite_error();
    said.is_some_and(|said| said.extended_code == extended_code)
}

/// What SQLite said about the database at `path`, in words for a person.
pub(super) fn said(error: rusqlite::Error, path: &Path) -> StoreError {
    let path = path.display().to_string();
    match error.sqlite_error_code() {
        _ if damage::shows(&error) => StoreError::Damaged { path },
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        // The index of the log found no room, which opening it takes.
        _ if is(&error, rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full { path },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { path },
        _ => StoreError::Sqlite(error),
    }
}

pub(super) enum OpenFault {
    Sqlite(rusqlite::Error),
    Damaged,
    Other(StoreError),
}

impl From<rusqlite::Error> for OpenFault {
    fn from(error: rusqlite::Error) -> Self {
        // SQLite says `Unknown` of a table or column that is not there, or there already.
        let is_other = error.sqlite_error_code() == Some(ErrorCode::Unknown);
        match is_other || damage::shows(&error) {
            true => Self::Damaged,
            false => Self::Sqlite(error),
        }
    }
}

pub(super) fn connect_and_check(path: &Path, root: &Path) -> Result<Opened, OpenFault> {
    if !path.exists() {
        make(path)?;
    }
    restrict(path, 0o600).map_err(OpenFault::Other)?;
    let mut durable = connect(path, "FULL")?;
    migrate(&mut durable, path)?;
    let is_looked_at = damage::look(&mut durable, path)?;
    // Nothing is written where nothing is to be said: opening waits for nobody's write.
    let told: bool = durable.query_row(
        "SELECT EXISTS (SELECT 1 FROM facts WHERE name = 'root' AND value = ?1)",
        [root.to_string_lossy()],
        |row| row.get(0),
    )?;
    if !told {
        durable.execute(
            "INSERT INTO facts (name, value) VALUES ('root', ?1)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [root.to_string_lossy()],
        )?;
    }
    let light = connect(path, "NORMAL")?;
    let brief = connect(path, "NORMAL")?;
    brief.busy_timeout(BRIEFLY)?;
    Ok(Opened {
        durable,
        light,
        brief,
        is_looked_at,
    })
}

/// A new one has its name when it has its tables: an empty file of that name is one that was emptied.
fn make(path: &Path) -> Result<(), OpenFault> {
    let new = path.with_file_name("rounds-new.db");
    let gone = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
    for suffix in ["", "-wal", "-shm"] {
        // Of one who was stopped at this.
        match fs::remove_file(with_suffix(&new, suffix)) {
            Err(source) if !gone(&source) => return Err(OpenFault::Other(io(path, source))),
            _ => {}
        }
    }
    // Made by us first, because SQLite gives its WAL and index the mode of the database.
    private_file(&new).map_err(OpenFault::Other)?;
    let mut connection = connect(&new, "FULL")?;
    migrate(&mut connection, &new)?;
    connection.close().map_err(|(_, error)| error)?;
    fs::rename(&new, path).map_err(|source| OpenFault::Other(io(path, source)))
}

fn connect(path: &Path, synchronous: &str) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_handler(Some(wait_busy))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // What is deleted is written over: it may be deleted because it should not be known.
    connection.pragma_update(None, "secure_delete", true)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenFault> {
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > KNOWN {
        return Err(OpenFault::Other(newer(path, found)));
    }
    let applied = usize::try_from(found).unwrap_or(0);
    for (step, sql) in MIGRATIONS.iter().enumerate().skip(applied) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", step as i64 + 1)?;
        transaction.commit()?;
    }
    Ok(())
}

fn newer(path: &Path, found: i64) -> StoreError {
    StoreError::Newer {
        path: path.display().to_string(),
        found,
        known: KNOWN,
    }
}

/// Reads `user_version` from the file's header (SQLite file format §1.3, offset 60), so that a newer
/// store is refused before anything of it is touched.
fn refuse_newer_header(path: &Path) -> Result<(), StoreError> {
    let mut header = [0u8; 64];
    let Ok(mut file) = File::open(path) else {
        return Ok(());
    };
    if file.read_exact(&mut header).is_err() || !header.starts_with(b"SQLite format 3\0") {
        return Ok(());
    }
    let found = header
        .last_chunk::<4>()
        .map_or(0, |bytes| i64::from(i32::from_be_bytes(*bytes)));
    if found > KNOWN {
        return Err(newer(path, found));
    }
    Ok(())
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub(super) fn io(path: &Path, source: std::io::Error) -> StoreError {
    StoreError::Io {
        path: path.display().to_string(),
        source,
    }
}

fn private_folder(path: &Path) -> Result<(), StoreError> {
    crate::os::make_private_folder(path).map_err(|source| io(path, source))?;
    restrict(path, 0o700)
}

pub(super) fn private_file(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let file = options.open(path).map_err(|source| io(path, source))?;
    restrict(path, 0o600)?;
    Ok(file)
}

#[cfg(unix)]
fn restrict(path: &Path, mode: u32) -> Result<(), StoreError> {
    use std::os::unix::fs::PermissionsExt as _;
    let have = fs::metadata(path).map_err(|source| io(path, source))?;
    if have.permissions().mode() & 0o777 != mode {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .map_err(|source| io(path, source))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict(_path: &Path, _mode: u32) -> Result<(), StoreError> {
    Ok(())
}
