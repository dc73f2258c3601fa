//! When which file was written by us, or saved in an editor that we serve: what else changed on disk came from
//! somebody else.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dashmap::DashMap;

/// More are not kept: then nothing is known of the others.
const MOST: usize = 100_000;

#[derive(Default)]
pub struct Touched {
    last: DashMap<PathBuf, SystemTime>,
}

impl Touched {
    /// The file was written just now.
    pub fn note(&self, path: &Path) {
        if self.last.len() < MOST || self.last.contains_key(path) {
            self.last.insert(path.to_owned(), SystemTime::now());
        }
    }

    pub fn last(&self, path: &Path) -> Option<SystemTime> {
        self.last.get(path).map(|at| *at)
    }
}
