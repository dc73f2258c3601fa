//! The folder of temporary files that the commands of one run have for themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::os;

const PREFIX: &str = "postil-run-";
/// By these names.
const EMPTY: &str = "empty";
pub(super) const GIT: &str = ".gitconfig";
/// So often a folder that another server took away is made anew.
const ANEW: u32 = 100;

/// A folder that is removed with its run; one that a killed server left behind is removed by the next.
pub(super) struct Temporary {
    /// Held as long as we live.
    lock: Option<fs::File>,
    /// What the commands see.
    folder: PathBuf,
    /// Whether [`GIT`] is in it.
    git: OnceLock<bool>,
    all: tempfile::TempDir,
}

impl Temporary {
    pub fn new() -> std::io::Result<Self> {
        Self::new_in(&os::canonical(&std::env::temp_dir())?)
    }

    fn new_in(base: &Path) -> std::io::Result<Self> {
        use std::io::ErrorKind::{NotFound, WouldBlock};
        sweep(base);
        let mut anew = 0..ANEW;
        loop {
            match Self::make(base) {
                // Another server swept between the making of the lock and its taking: it saw one that nobody held.
                Err(error)
                    if matches!(error.kind(), NotFound | WouldBlock) && anew.next().is_some() => {}
                made => return made,
            }
        }
    }

    fn make(base: &Path) -> std::io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let mut all = builder.tempdir_in(base)?;
        let lock = fs::File::create(all.path().join("lock"))?;
        lock.try_lock()?;
        let folder = all.path().join("tmp");
        // Whoever swept did so under the lock: what is there now stays.
        fs::create_dir(&folder)?;
        fs::write(all.path().join(EMPTY), "")?;
        // We see to it ourselves.
        all.disable_cleanup(true);
        Ok(Self {
            lock: Some(lock),
            folder,
            git: OnceLock::new(),
            all,
        })
    }

    /// A file with nothing in it, which no command can write.
    pub fn empty_file(&self) -> PathBuf {
        self.all.path().join(EMPTY)
    }

    /// Writes what git is to take for the user's settings, before the first command runs: afterwards a link could stand
    /// there. Whether it is there.
    pub fn write_git(&self, settings: impl FnOnce() -> String) -> bool {
        *self.git.get_or_init(|| {
            let written = fs::write(self.folder.join(GIT), settings());
            written
                .inspect_err(|error| tracing::warn!(%error, "git's settings for commands"))
                .is_ok()
        })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What commands wrote goes, also where one of them is slow to end and holds the folder until then.
    pub fn empty(&self) {
        os::remove_folder(&self.folder);
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        remove(self.all.path(), self.lock.take());
    }
}

/// Removes what nobody holds any more.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry
                .metadata()
                .is_ok_and(|about| about.is_dir() && is_own(&about));
        if !ours {
            continue;
        }
        // Without a lock it is being made just now.
        let Ok(lock) = fs::File::open(entry.path().join("lock")) else {
            continue;
        };
        if lock.try_lock().is_ok() {
            remove(&entry.path(), Some(lock));
        }
    }
}

/// Removes such a folder; its lock goes last, for without one it is never looked at again.
fn remove(folder: &Path, lock: Option<fs::File>) {
    let inside = folder.join("tmp");
    os::remove_folder(&inside);
    if !inside.exists() {
        let _ = fs::remove_dir_all(folder);
        // Windows may keep the name of an open file until it is closed.
        drop(lock);
        let _ = fs::remove_dir(folder);
    }
}

/// Of ours, and not another user's of this machine.
#[cfg(unix)]
fn is_own(about: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(about) == rustix::process::getuid().as_raw()
}

/// There every user has a folder of temporary files.
#[cfg(not(unix))]
fn is_own(_: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_many_make_at_once_are_all_there() {
        let base = tempfile::tempdir().expect("a folder");
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..300 {
                        let made = Temporary::new_in(base.path()).expect("made");
                        fs::write(made.folder.join("file"), "").expect("it is there");
                    }
                });
            }
        });
        // What a killed one left behind goes.
        let left = base.path().join(format!("{PREFIX}left"));
        fs::create_dir_all(left.join("tmp")).expect("a folder");
        fs::write(left.join("lock"), "").expect("a file");
        let _kept = Temporary::new_in(base.path()).expect("made");
        assert_eq!(fs::read_dir(base.path()).expect("listed").count(), 1);
    }
}
