//! The names of a workspace folder's files, for completion: walked once, and again when files came or went.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::files::{FileError, Tree};

/// More are not kept: a name takes some sixty bytes.
const MOST: usize = 500_000;

/// Relative to the root, with `/`, sorted.
type Known = Arc<Vec<Box<str>>>;

#[derive(Default)]
pub struct Names {
    known: Mutex<Option<Known>>,
    /// Counts what was forgotten, so that a walk that was overtaken is not kept.
    forgotten: AtomicU64,
}

impl Names {
    fn lock(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names as the last walk found them. Blocking where there was none.
    pub fn get(&self, tree: &Tree) -> Result<Known, FileError> {
        if let Some(known) = self.lock().as_ref() {
            return Ok(known.clone());
        }
        let before = self.forgotten.load(Ordering::Acquire);
        let mut names: Vec<Box<str>> = tree
            .list("")?
            .iter()
            .filter_map(|path| tree.relative(path))
            .map(String::into_boxed_str)
            .take(MOST)
            .collect();
        names.sort_unstable();
        let names = Arc::new(names);
        let mut known = self.lock();
        if self.forgotten.load(Ordering::Acquire) == before {
            *known = Some(names.clone());
        }
        Ok(names)
    }

    /// A file was made, changed or deleted: what does not fit the list any more has it made anew.
    pub fn changed(&self, tree: &Tree, path: &Path) {
        let Some(name) = tree.relative(path) else {
            return;
        };
        let mut known = self.lock();
        let fits = known.as_ref().is_some_and(|names| {
            let listed = names
                .binary_search_by(|known| (**known).cmp(&*name))
                .is_ok();
            listed == path.is_file()
        });
        if !fits {
            self.forgotten.fetch_add(1, Ordering::Release);
            *known = None;
        }
    }

    /// Anything may have changed.
    pub fn forget(&self) {
        let mut known = self.lock();
        self.forgotten.fetch_add(1, Ordering::Release);
        *known = None;
    }
}
