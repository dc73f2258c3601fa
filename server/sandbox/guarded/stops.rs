//! What stands in the place of a repository that was set aside while commands run: git would go on from there to one
//! above, which is the author's.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::aside;
use crate::files::{self as tree, Folder};

/// Git ends where a `.git` is a file that names no folder.
const TEXT: &[u8] = b"A command of an agent made a repository here, which postil renamed. If no command runs, this file can go.\n";
const MODE: u32 = 0o444;
const GIT: &str = ".git";

/// By root: another command may work in what one made.
static HELD: Mutex<BTreeMap<PathBuf, Held>> = Mutex::new(BTreeMap::new());

#[derive(Default)]
struct Held {
    /// Commands that run.
    running: usize,
    /// Relative to the root.
    files: BTreeSet<PathBuf>,
    /// The repositories whose places they took, by the names that these were given.
    repositories: BTreeSet<PathBuf>,
}

fn held() -> MutexGuard<'static, BTreeMap<PathBuf, Held>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Held as long as a command runs; with the last one they go.
pub(super) struct Stops(PathBuf);

impl Stops {
    pub fn enter(root: &Path) -> Self {
        held().entry(root.to_owned()).or_default().running += 1;
        Self(root.to_owned())
    }

    /// Whether no other command runs.
    pub fn is_last(&self) -> bool {
        held().get(&self.0).is_none_or(|held| held.running <= 1)
    }

    /// Whether one of ours stands there.
    pub fn is_one(&self, path: &Path) -> bool {
        let is_known = held()
            .get(&self.0)
            .is_some_and(|held| held.files.contains(path));
        is_known && stands(&self.0, path).is_some()
    }

    /// Takes one away, so that what was there can be put back.
    pub fn lift(&self, path: &Path) {
        lift(&self.0, path);
    }

    /// Gives `path` another name in one step with the file that takes its place; the new name, where there was
    /// something else.
    ///
    /// # Errors
    /// Also where a file system has no such step.
    pub fn exchange(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let (Some(name), Some(above)) = (path.file_name(), path.parent()) else {
            return Ok(None);
        };
        let Ok(folder) = tree::folder(&self.0, above) else {
            return Ok(None);
        };
        // Another look may be about the same.
        let mut all = held();
        if is_text(&folder, name) {
            return Ok(None);
        }
        let mut number = 1;
        let aside = loop {
            let aside = aside(name, number);
            match folder.write_new(&aside, TEXT, MODE) {
                Ok(()) => break aside,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        };
        if let Err(error) = folder.exchange(name, &aside) {
            folder.unlink(&aside)?;
            return match error.kind() {
                ErrorKind::NotFound => Ok(None),
                _ => Err(error),
            };
        }
        let held = all.entry(self.0.clone()).or_default();
        held.files.insert(path.to_owned());
        held.repositories.insert(above.join(&aside));
        Ok(Some(above.join(aside)))
    }

    /// Puts one into a folder that is a repository by itself; what is there already stops git too.
    ///
    /// # Errors
    /// What the system says.
    pub fn put_into(&self, folder: &Path) -> io::Result<()> {
        let Ok(opened) = tree::folder(&self.0, folder) else {
            return Ok(());
        };
        let mut all = held();
        match opened.write_new(OsStr::new(GIT), TEXT, MODE) {
            Ok(()) => {
                let held = all.entry(self.0.clone()).or_default();
                held.files.insert(folder.join(GIT));
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Stops {
    fn drop(&mut self) {
        let mut all = held();
        let Some(held) = all.get_mut(&self.0) else {
            return;
        };
        held.running = held.running.saturating_sub(1);
        if held.running == 0 {
            held.files.iter().for_each(|path| lift(&self.0, path));
            all.remove(&self.0);
        }
    }
}

/// Whether one stands at `path`, by whichever process: it stops git, whoever wrote it.
pub(super) fn stands_at(root: &Path, path: &Path) -> bool {
    stands(root, path).is_some()
}

/// Whether `folder` is a repository that was set aside, or in one, while commands run.
pub(super) fn is_set_aside(root: &Path, folder: &Path) -> bool {
    let all = held();
    let repositories = all.get(root).map(|held| &held.repositories);
    repositories.is_some_and(|them| folder.ancestors().any(|above| them.contains(above)))
}

fn is_text(folder: &Folder, name: &OsStr) -> bool {
    let bytes = folder.bytes(name, TEXT.len() as u64);
    bytes.is_ok_and(|bytes| bytes.as_deref() == Some(TEXT))
}

/// Its folder, where it is as we wrote it.
fn stands(root: &Path, path: &Path) -> Option<Folder> {
    let folder = tree::folder(root, path.parent()?).ok()?;
    is_text(&folder, path.file_name()?).then_some(folder)
}

fn lift(root: &Path, path: &Path) {
    if let (Some(folder), Some(name)) = (stands(root, path), path.file_name())
        && let Err(error) = folder.unlink(name)
    {
        tracing::warn!(%error, "`{}` could not be removed", root.join(path).display());
    }
}
