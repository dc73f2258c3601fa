//! L3. Every thread of a workspace folder, kept current: the walk fills it, the watcher refreshes
//! single files, open buffers go before it (the session asks them first). What a scan found is kept in the
//! user's cache, so that the next process reads only what has changed.

mod notes;
#[cfg(test)]
mod tests;

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dashmap::DashMap;
use sha2::{Digest as _, Sha256};

use crate::comments::{Syntax, detect};
use crate::files::{FileError, Tree, as_text, head};
use crate::text::hex;
use crate::threads::{self, Thread};

/// So many changes are kept for [`Index::lately`].
const CHANGES: usize = 400;

/// What the last look at a file on disk found.
#[derive(Clone, PartialEq)]
pub struct Entry {
    pub threads: Arc<Vec<Thread>>,
    /// The bytes were no UTF-8 and were read with replacement characters.
    pub lossy: bool,
    /// The whole text, where the file cannot be parsed (a notebook that is no JSON): for a reader to fall back on.
    pub unparsed: Option<Arc<str>>,
}

/// The threads of one workspace folder, by absolute path; only files that have some.
#[derive(Default)]
pub struct Index {
    files: DashMap<PathBuf, Entry>,
    skipped: Mutex<Skipped>,
    scanned: AtomicBool,
    /// Where what a scan found is kept.
    cache: Option<PathBuf>,
    /// One scan at a time: the second finds the first one's answer in the cache.
    scan: Mutex<()>,
    fresh: Mutex<Fresh>,
    /// Oldest first.
    before: Mutex<VecDeque<Before>>,
    /// That files could not be read has been told, and no walk has succeeded since.
    told: AtomicBool,
    reads: AtomicUsize,
    scans: AtomicUsize,
}

/// What was known of a file until it changed.
struct Before {
    until: Instant,
    path: PathBuf,
    threads: Arc<Vec<Thread>>,
}

/// What a walk passed over.
#[derive(Clone, Default)]
pub struct Skipped {
    /// A sentence for each.
    pub told: Vec<String>,
    /// Those of them that may hide a thread: of what could not be read, or not be looked for.
    pub unreadable: Vec<String>,
}

/// Files that were looked at while a scan ran: what the scan read of them may be older.
#[derive(Default)]
struct Fresh {
    scanning: bool,
    files: HashSet<PathBuf>,
    folders: Vec<PathBuf>,
    /// A look at a file failed, so that what the scan finds may not be all.
    missed: bool,
}

impl Index {
    /// `cache`: the user's cache folder; `None`: nothing is kept.
    pub fn new(cache: Option<&Path>, root: &Path) -> Self {
        let hash = Sha256::digest(root.as_os_str().as_encoded_bytes());
        let name = hex(hash.iter().take(16));
        Self {
            cache: cache.map(|cache| cache.join("threads").join(name)),
            ..Self::default()
        }
    }

    /// Whether the whole folder has been walked once, and nothing was missed since.
    pub fn is_scanned(&self) -> bool {
        self.scanned.load(Ordering::Acquire)
    }

    /// Walks `path` (relative, `""` for all) and replaces what is known below it. Blocking; parallel inside.
    /// The files of which something else is known than before.
    pub fn scan(&self, tree: &Tree, path: impl AsRef<Path>) -> Result<Vec<PathBuf>, FileError> {
        let _one = self.scan.lock().unwrap_or_else(PoisonError::into_inner);
        let below = tree.resolve(path.as_ref())?;
        *self.fresh() = Fresh {
            scanning: true,
            ..Fresh::default()
        };
        let note = |path: &Path, bytes: &[u8]| {
            let path = as_text(path.as_os_str());
            read(&path, bytes).map(|entry| notes::to_bytes(&entry))
        };
        let scan = tree.scan_for(
            path.as_ref(),
            readers(),
            &threads::may_hold,
            &note,
            self.cache.as_deref(),
        );
        let mut fresh = self.fresh();
        let mut scan = match scan {
            Ok(scan) => scan,
            Err(error) => {
                *fresh = Fresh::default();
                if error.is_exhausted() {
                    self.scanned.store(false, Ordering::Release);
                }
                return Err(error);
            }
        };
        // What was read then is any part of the files: what is known stays.
        let exhausted = scan.skipped.iter().position(FileError::is_exhausted);
        if let Some(at) = exhausted {
            *fresh = Fresh::default();
            self.scanned.store(false, Ordering::Release);
            return Err(scan.skipped.swap_remove(at));
        }
        self.scans.fetch_add(1, Ordering::Relaxed);
        self.reads.fetch_add(scan.files, Ordering::Relaxed);
        let is_fresh = |file: &Path| {
            fresh.files.contains(file)
                || fresh.folders.iter().any(|folder| file.starts_with(folder))
        };
        // What the first walk finds was there before.
        let is_first = !self.is_scanned();
        let is_noted = |changed: &[PathBuf]| !is_first && changed.len() < CHANGES;
        let mut changed: Vec<PathBuf> = Vec::new();
        let mut found = HashSet::new();
        for hit in scan.hits {
            let Some(entry) = notes::from_bytes(&hit.bytes).filter(|_| !is_fresh(&hit.path)) else {
                continue;
            };
            if !self.files.get(&hit.path).is_some_and(|old| *old == entry) {
                let before = self.files.insert(hit.path.clone(), entry);
                if is_noted(&changed) {
                    self.note_before(&hit.path, before);
                }
                changed.push(hit.path.clone());
            }
            found.insert(hit.path);
        }
        self.files.retain(|file, entry| {
            let stays = !file.starts_with(&below) || found.contains(file) || is_fresh(file);
            if !stays {
                if is_noted(&changed) {
                    self.note_before(file, Some(entry.clone()));
                }
                changed.push(file.clone());
            }
            stays
        });
        let missed = std::mem::take(&mut *fresh).missed;
        if below == tree.root() {
            // Before another look can fail.
            self.scanned.store(!missed, Ordering::Release);
            if !missed {
                self.told.store(false, Ordering::Release);
            }
        }
        drop(fresh);
        let is_unreadable =
            |error: &&FileError| matches!(error, FileError::Io { .. } | FileError::Untracked(_));
        let unreadable = scan.skipped.iter().filter(is_unreadable);
        *self.skipped.lock().unwrap_or_else(PoisonError::into_inner) = Skipped {
            told: scan.skipped.iter().map(ToString::to_string).collect(),
            unreadable: unreadable.map(ToString::to_string).collect(),
        };
        Ok(changed)
    }

    fn fresh(&self) -> MutexGuard<'_, Fresh> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a failure to read is to be told: once until a walk succeeds.
    pub fn is_to_be_told(&self) -> bool {
        !self.told.swap(true, Ordering::AcqRel)
    }

    /// Looks at one file (or what became of it) again. An error: it cannot be read now, and the next question walks.
    pub fn refresh(&self, tree: &Tree, path: &Path) -> Option<FileError> {
        self.refresh_by(tree, path, |path| std::fs::read(path))
    }

    fn refresh_by(
        &self,
        tree: &Tree,
        path: &Path,
        read_file: impl FnOnce(&Path) -> std::io::Result<Vec<u8>>,
    ) -> Option<FileError> {
        // Held over the read: of two looks at a file the later one stays.
        let mut fresh = self.fresh();
        let bytes = std::fs::symlink_metadata(path)
            .ok()
            .filter(|meta| meta.is_file() && meta.len() <= tree.max_size())
            .map(|_| read_file(path));
        let bytes = match bytes {
            // It is there: what is known of it stays, and what a scan has read of it counts.
            Some(Err(source)) if crate::files::is_exhausted(&source) => {
                fresh.missed = true;
                self.scanned.store(false, Ordering::Release);
                let path = tree.relative(path);
                let path = path.unwrap_or_default();
                return Some(FileError::Io { path, source });
            }
            bytes => bytes.and_then(Result::ok),
        };
        if fresh.scanning {
            fresh.files.insert(path.to_owned());
        }
        let entry = bytes
            .inspect(|_| {
                self.reads.fetch_add(1, Ordering::Relaxed);
            })
            .filter(|bytes| threads::may_hold(bytes) && !crate::files::is_binary(bytes))
            .and_then(|bytes| read(&tree.relative(path)?, &bytes))
            // A watcher tells of ignored files too.
            .filter(|_| self.files.contains_key(path) || tree.lists(path));
        let is_known = entry.is_some();
        let before = match entry {
            Some(entry) => self.files.insert(path.to_owned(), entry),
            None => self.files.remove(path).map(|(_, entry)| entry),
        };
        if is_known || before.is_some() {
            self.note_before(path, before);
        }
        None
    }

    /// Forgets a file, or all below a folder.
    pub fn forget(&self, path: &Path) {
        let mut fresh = self.fresh();
        if fresh.scanning {
            fresh.folders.push(path.to_owned());
        }
        self.files.retain(|file, entry| {
            let stays = !file.starts_with(path);
            if !stays {
                self.note_before(file, Some(entry.clone()));
            }
            stays
        });
    }

    /// What was known of a file until now.
    fn note_before(&self, path: &Path, before: Option<Entry>) {
        let before = Before {
            until: Instant::now(),
            path: path.to_owned(),
            threads: before.map(|entry| entry.threads).unwrap_or_default(),
        };
        let mut changes = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        if changes.len() >= CHANGES {
            changes.pop_front();
        }
        changes.push_back(before);
    }

    /// The threads that a file had so long ago; `None`: that is not known.
    pub fn lately(&self, path: &Path, ago: Duration) -> Option<Arc<Vec<Thread>>> {
        let changes = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let mut since = changes.iter().filter(|one| one.until.elapsed() < ago);
        let first = since.find(|one| one.path == path);
        let before = first.map(|one| one.threads.clone());
        drop(changes);
        let now = || {
            self.get(path)
                .map(|entry| entry.threads)
                .unwrap_or_default()
        };
        before.or_else(|| self.is_scanned().then(now))
    }

    /// What is known may be behind the disk: the next question walks.
    pub fn distrust(&self) {
        self.fresh().missed = true;
        self.scanned.store(false, Ordering::Release);
    }

    pub fn get(&self, path: &Path) -> Option<Entry> {
        self.files.get(path).map(|entry| entry.clone())
    }

    /// Files that have threads, or could not be parsed; sorted.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = self.files.iter().map(|entry| entry.key().clone()).collect();
        files.sort();
        files
    }

    /// What the last walk passed over.
    pub fn skipped(&self) -> Skipped {
        self.skipped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How many files were read, and how often the tree was walked, since the start.
    pub fn work(&self) -> (usize, usize) {
        (
            self.reads.load(Ordering::Relaxed),
            self.scans.load(Ordering::Relaxed),
        )
    }
}

/// How many threads read and parse: what the machine has, within reason.
fn readers() -> usize {
    std::thread::available_parallelism()
        .map_or(2, usize::from)
        .clamp(2, 16)
}

/// The threads in the bytes of a file, by its path relative to the root; `None` where there are none.
fn read(relative: &str, bytes: &[u8]) -> Option<Entry> {
    let text = String::from_utf8_lossy(bytes);
    let lossy = matches!(text, std::borrow::Cow::Owned(_));
    let syntax = Syntax::parse(&text, detect(relative, None, head(&text)));
    let threads = threads::find(relative, &text, &syntax);
    let unparsed = syntax.is_malformed(&text).then(|| Arc::from(&*text));
    (!threads.is_empty() || unparsed.is_some()).then(|| Entry {
        threads: Arc::new(threads),
        lossy,
        unparsed,
    })
}
