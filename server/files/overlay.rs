//! Changes that a turn has thought of and nobody has agreed to yet: they go before the buffers and the disk for
//! whoever reads through this tree, and nobody else sees them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dashmap::DashMap;

/// One file. `None`: it does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub before: Option<Arc<str>>,
    pub after: Option<Arc<str>>,
}

#[derive(Default)]
pub struct Overlay {
    files: DashMap<PathBuf, Planned>,
    off: AtomicBool,
}

impl Overlay {
    /// What is planned for a resolved path; nothing while it is [off](Self::set_off).
    pub fn get(&self, path: &Path) -> Option<Planned> {
        if self.off.load(Ordering::SeqCst) {
            return None;
        }
        self.files.get(path).map(|planned| planned.clone())
    }

    pub fn is_on(&self) -> bool {
        !self.off.load(Ordering::SeqCst)
    }

    /// While the changes are made, files are as they are.
    pub fn set_off(&self, off: bool) {
        self.off.store(off, Ordering::SeqCst);
    }

    /// A change; the first one of a file knows what it was before. Changed back is not changed.
    pub fn put(&self, path: PathBuf, before: Option<Arc<str>>, after: Option<Arc<str>>) {
        let before = self
            .files
            .get(&path)
            .map_or(before, |planned| planned.before.clone());
        if before == after {
            self.files.remove(&path);
        } else {
            self.files.insert(path, Planned { before, after });
        }
    }

    /// In the order of paths.
    pub fn all(&self) -> Vec<(PathBuf, Planned)> {
        let mut all: Vec<_> = self
            .files
            .iter()
            .map(|entry| (entry.key().clone(), entry.value().clone()))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    pub fn clear(&self) {
        self.files.clear();
    }
}
