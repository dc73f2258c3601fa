//! L3. Every thread of a workspace folder, kept current: the walk fills it, the watcher refreshes
//! single files, open buffers go before it (the session asks them first).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dashmap::DashMap;

use crate::comments::{Syntax, detect};
use crate::files::{FileError, Tree, head};
use crate::threads::{self, Thread};

/// What the last look at a file on disk found.
#[derive(Clone)]
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
    skipped: Mutex<Vec<String>>,
    scanned: AtomicBool,
}

impl Index {
    /// Whether the whole folder has been walked once.
    pub fn is_scanned(&self) -> bool {
        self.scanned.load(Ordering::Acquire)
    }

    /// Walks `path` (relative, `""` for all) and replaces what is known below it. Blocking; parallel inside.
    pub fn scan(&self, tree: &Tree, path: &str) -> Result<(), FileError> {
        let below = tree.resolve(path)?;
        let scan = tree.scan(path, readers(), threads::may_hold)?;
        let found: DashMap<PathBuf, Entry> = DashMap::new();
        // Few files are left, but a tree can have one with a hundred thousand threads.
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..readers().min(scan.hits.len()) {
                scope.spawn(|| {
                    while let Some(hit) = scan.hits.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if let Some(entry) = read(tree, &hit.path, &hit.bytes) {
                            found.insert(hit.path.clone(), entry);
                        }
                    }
                });
            }
        });
        self.files
            .retain(|file, _| !file.starts_with(&below) || found.contains_key(file));
        for (file, entry) in found {
            self.files.insert(file, entry);
        }
        *self.skipped.lock().unwrap_or_else(PoisonError::into_inner) =
            scan.skipped.iter().map(ToString::to_string).collect();
        if below == tree.root() {
            self.scanned.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Looks at one file (or what became of it) again.
    pub fn refresh(&self, tree: &Tree, path: &Path) {
        let entry = std::fs::symlink_metadata(path)
            .ok()
            .filter(|meta| meta.is_file() && meta.len() <= tree.max_size)
            .and_then(|_| std::fs::read(path).ok())
            .filter(|bytes| threads::may_hold(bytes))
            .and_then(|bytes| read(tree, path, &bytes))
            // A watcher tells of ignored files too.
            .filter(|_| self.files.contains_key(path) || tree.lists(path));
        match entry {
            Some(entry) => self.files.insert(path.to_owned(), entry),
            None => self.files.remove(path).map(|(_, entry)| entry),
        };
    }

    /// Forgets a file, or all below a folder.
    pub fn forget(&self, path: &Path) {
        self.files.retain(|file, _| !file.starts_with(path));
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

    /// What the last walk passed over, a sentence each.
    pub fn skipped(&self) -> Vec<String> {
        self.skipped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// How many threads read and parse: what the machine has, within reason.
fn readers() -> usize {
    std::thread::available_parallelism()
        .map_or(2, usize::from)
        .clamp(2, 16)
}

/// The threads in the bytes of a file; `None` where there are none.
fn read(tree: &Tree, path: &Path, bytes: &[u8]) -> Option<Entry> {
    let relative = tree.relative(path)?;
    let text = String::from_utf8_lossy(bytes);
    let lossy = matches!(text, std::borrow::Cow::Owned(_));
    let syntax = Syntax::parse(&text, detect(&relative, None, head(&text)));
    let threads = threads::find(&relative, &text, &syntax);
    let unparsed = syntax.is_malformed(&text).then(|| Arc::from(&*text));
    (!threads.is_empty() || unparsed.is_some()).then(|| Entry {
        threads: Arc::new(threads),
        lossy,
        unparsed,
    })
}
