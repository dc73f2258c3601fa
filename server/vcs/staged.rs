//! What git has of the files of a work tree, so that the text of one that was clean need not be kept.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::bytes_to_path;
use crate::os;

/// A file as it was when git last looked at it; its content is a blob.
pub struct Staged {
    blob: git2::Oid,
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
}

/// By absolute path below `root`, but for those that may have been written in the same moment as the index.
pub fn staged(root: &Path) -> HashMap<PathBuf, Staged> {
    let read = || -> Option<HashMap<PathBuf, Staged>> {
        let repository = super::ordinary::discover(root).ok()?;
        let top = os::canonical(repository.workdir()?).ok()?;
        let index = repository.index().ok()?;
        let written = std::fs::metadata(index.path()?).ok()?.modified().ok()?;
        let written = written.duration_since(std::time::UNIX_EPOCH).ok()?;
        let written = i64::try_from(written.as_secs()).ok()?;
        let entries = index.iter().filter(|entry| {
            entry.mode & 0o170_000 == 0o100_000 && i64::from(entry.mtime.seconds()) < written
        });
        let found = entries.map(|entry| {
            let staged = Staged {
                blob: entry.id,
                size: u64::from(entry.file_size),
                modified: i64::from(entry.mtime.seconds()) * 1_000_000_000
                    + i64::from(entry.mtime.nanoseconds()),
            };
            (top.join(bytes_to_path(&entry.path)), staged)
        });
        Some(found.filter(|(path, _)| path.starts_with(root)).collect())
    };
    read().unwrap_or_default()
}

impl Staged {
    /// Its content; `None` where what git keeps is not what stood in the file (a filter, other line ends).
    pub fn content(&self, root: &Path) -> Option<Vec<u8>> {
        let repository = super::ordinary::discover_whole(root).ok()?;
        let most = usize::try_from(self.size).ok()?;
        let blob = super::ordinary::blob(&repository, self.blob, most)?;
        let content = blob.content();
        (u64::try_from(content.len()) == Ok(self.size)).then(|| content.to_owned())
    }
}
