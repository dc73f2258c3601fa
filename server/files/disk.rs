//! Reading one file and replacing it whole. A pipe or device never blocks; a write is never seen half
//! done, and leaves no temporary file where the system can make one without a name.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::at::{self, Folder, Kind, Lock, Status};
use super::{FileError, confine};

const READ_ONLY: &str = "it is read-only";
const READ_ONLY_FOLDER: &str = "its folder is read-only for you";

/// The folder's handle and the name of a file that is about to be opened in it.
pub(super) struct Place<'a> {
    pub folder: Folder,
    pub name: &'a OsStr,
    /// For messages.
    pub shown: &'a str,
}

/// The hash of [`super::Seen`].
pub fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// `path` is absolute, below `root`, without links; `NotFound` where its folder does not exist.
pub(super) fn place<'a>(
    root: &Path,
    path: &'a Path,
    shown: &'a str,
) -> Result<Place<'a>, FileError> {
    let relative = path
        .strip_prefix(root)
        .map_err(|_| FileError::Outside(shown.to_owned()))?;
    let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
        return Err(FileError::IsFolder(shown.to_owned()));
    };
    let folder = confine::folder(root, parent).map_err(|e| confine::error(shown, e))?;
    Ok(Place {
        folder,
        name,
        shown,
    })
}

impl Place<'_> {
    fn failed(&self, source: impl Into<io::Error>) -> FileError {
        confine::error(self.shown, source.into())
    }

    /// What a write met; `why` it may not be, where that is it.
    fn denied(&self, why: &'static str) -> impl Fn(io::Error) -> FileError {
        move |error| match error.kind() {
            // One who would make a file without a name is to hear where there are none, and makes one with a name.
            io::ErrorKind::PermissionDenied if !at::is_nameless_refused(&error) => {
                FileError::Denied {
                    path: self.shown.to_owned(),
                    why,
                }
            }
            _ => self.failed(error),
        }
    }

    fn ordinary(&self, status: &Status) -> Result<(), FileError> {
        match status.kind {
            Kind::File => Ok(()),
            Kind::Folder => Err(FileError::IsFolder(self.shown.to_owned())),
            // It was none when the path was resolved.
            Kind::Link => Err(FileError::Outside(self.shown.to_owned())),
            Kind::Other => Err(FileError::NotOrdinary(self.shown.to_owned())),
        }
    }

    /// `None`: nothing of that name.
    pub(super) fn status(&self) -> Result<Option<Status>, FileError> {
        match self.folder.status(self.name) {
            Ok(status) => Ok(Some(status)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(self.failed(e)),
        }
    }

    /// An ordinary file, whole, unless it has more than `max` bytes.
    pub(super) fn read(&self, max: u64) -> Result<Vec<u8>, FileError> {
        // Asked first because opening a device may already do something.
        let status = self
            .status()?
            .ok_or_else(|| FileError::NotFound(self.shown.to_owned()))?;
        self.ordinary(&status)?;
        let file = self.folder.read(self.name).map_err(|e| self.failed(e))?;
        let status = at::status_of_file(&file).map_err(|e| self.failed(e))?;
        self.ordinary(&status)?;
        let size = status.size;
        if size > max {
            return Err(FileError::TooLarge(self.shown.to_owned(), max));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
        // It may grow while it is read.
        file.take(max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| self.failed(e))?;
        if bytes.len() as u64 > max {
            return Err(FileError::TooLarge(self.shown.to_owned(), max));
        }
        Ok(bytes)
    }

    fn changed(&self) -> FileError {
        FileError::Changed(self.shown.to_owned())
    }

    /// Whether the file still has the bytes of `hash`.
    fn unchanged(&self, expected: &[u8; 32], size: u64) -> Result<(), FileError> {
        match self.read(size) {
            Ok(bytes) if hash(&bytes) == *expected => Ok(()),
            Ok(_) | Err(FileError::TooLarge(..) | FileError::NotFound(_)) => Err(self.changed()),
            Err(e) => Err(e),
        }
    }

    /// Puts `content` in the file's place, if it has (`Some`) the bytes of this hash or (`None`) does not exist.
    ///
    /// The file gets a new inode: another hard link to it keeps the old text.
    pub(super) fn replace(&self, content: &[u8], seen: Option<&[u8; 32]>) -> Result<(), FileError> {
        self.write(content, seen, None, None)
    }

    /// Makes a file where nothing is: like the other one, where there is one, else with these permission bits.
    pub(super) fn make(
        &self,
        content: &[u8],
        other: Option<&Place>,
        mode: Option<u32>,
    ) -> Result<(), FileError> {
        self.write(content, None, other, mode)
    }

    fn write(
        &self,
        content: &[u8],
        seen: Option<&[u8; 32]>,
        other: Option<&Place>,
        mode: Option<u32>,
    ) -> Result<(), FileError> {
        // Between the last look at the file and the rename no other postil writes: of two that answer in
        // one file at once the second sees what the first wrote.
        let _turn = take_turn(&self.folder);
        let old = self.status()?;
        match (&old, seen) {
            (Some(status), Some(hash)) => {
                self.ordinary(status)?;
                // The rename would succeed: it asks for the folder's permission only.
                if status.mode & 0o222 == 0 {
                    return Err(self.denied(READ_ONLY)(
                        io::ErrorKind::PermissionDenied.into(),
                    ));
                }
                self.folder
                    .may_write(self.name)
                    .map_err(self.denied("it is read-only for you"))?;
                self.unchanged(hash, u64::MAX)?;
            }
            (None, None) => {}
            _ => return Err(self.changed()),
        }
        let like = match old {
            Some(old) => Some((self, old)),
            None => other.and_then(|other| {
                let status = other.status().ok().flatten()?;
                (status.kind == Kind::File).then_some((other, status))
            }),
        };
        match self.put(content, like, seen, mode, false) {
            // No nameless files on this file system, or no /proc to name one by.
            Err(FileError::Io { source, .. }) if at::is_nameless_refused(&source) => {
                self.put(content, like, seen, mode, true)
            }
            Err(FileError::NotFound(_) | FileError::IsFolder(_)) => {
                self.put(content, like, seen, mode, true)
            }
            other => other,
        }
    }

    fn put(
        &self,
        content: &[u8],
        like: Option<(&Place, Status)>,
        seen: Option<&[u8; 32]>,
        mode: Option<u32>,
        named: bool,
    ) -> Result<(), FileError> {
        let mut temporary =
            Temporary::new(&self.folder, named).map_err(self.denied(READ_ONLY_FOLDER))?;
        temporary
            .file
            .write_all(content)
            .map_err(|e| self.failed(e))?;
        crate::os::test_step();
        if let Some((other, status)) = like {
            (other.folder)
                .keep(other.name, &status, &temporary.file)
                .map_err(|e| self.failed(e))?;
        } else if let Some(mode) = mode {
            self.folder
                .set_mode(&temporary.file, mode & 0o777)
                .map_err(|e| self.failed(e))?;
        }
        temporary.file.sync_all().map_err(|e| self.failed(e))?;
        match seen {
            None => temporary.link(self.name).map_err(|e| match e.kind() {
                io::ErrorKind::AlreadyExists => self.changed(),
                _ => self.denied(READ_ONLY_FOLDER)(e),
            })?,
            Some(hash) => {
                temporary
                    .give_name()
                    .map_err(self.denied(READ_ONLY_FOLDER))?;
                crate::os::test_step();
                self.unchanged(hash, u64::MAX)?;
                temporary.rename(self.name).map_err(|e| self.failed(e))?;
            }
        }
        crate::os::test_step();
        // The content is safe.
        self.folder.sync();
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn put_for_test(
        &self,
        content: &[u8],
        seen: Option<&[u8; 32]>,
        named: bool,
    ) -> Result<(), FileError> {
        let like = self.status()?.map(|status| (self, status));
        self.put(content, like, seen, None, named)
    }

    /// Removes the file if it has the bytes of this hash.
    pub(super) fn remove(&self, seen: &[u8; 32]) -> Result<(), FileError> {
        let _turn = take_turn(&self.folder);
        self.unchanged(seen, u64::MAX)?;
        self.folder.remove(self.name).map_err(|e| self.failed(e))?;
        self.folder.sync();
        Ok(())
    }

    /// Removes the folder of that name if nothing is in it.
    pub(super) fn remove_folder(&self) -> Result<(), FileError> {
        let removed = self.folder.remove_folder(self.name);
        removed.map_err(|e| self.failed(e))
    }
}

/// The turn of whoever writes in a folder; over when it is dropped. `None` where it cannot be had (a file system
/// without locks, a holder that does not let go): then the comparison of hashes is all there is.
fn take_turn(folder: &Folder) -> Option<Lock<'_>> {
    for _ in 0..LOOKS {
        match folder.try_lock() {
            Ok(Some(lock)) => {
                clean(folder);
                return Some(lock);
            }
            Ok(None) => std::thread::sleep(PAUSE),
            Err(_) => return None,
        }
    }
    None
}

/// Removes what a process left that was killed before its rename: whoever has the turn makes such files
/// alone.
fn clean(folder: &Folder) {
    for (name, _) in folder.entries().into_iter().flatten().flatten() {
        if is_temporary(name.to_bytes()) {
            let _ = folder.remove(&*name);
        }
    }
}

/// How often, and how far apart, the turn is asked for: two seconds in all. A write takes some milliseconds.
const LOOKS: u32 = 400;
const PAUSE: Duration = Duration::from_millis(5);

/// A file that disappears unless it is put in its place.
struct Temporary<'a> {
    folder: &'a Folder,
    file: File,
    name: Option<String>,
}

impl<'a> Temporary<'a> {
    /// Without a name where the system has such files, so that nothing is left if we are killed.
    fn new(folder: &'a Folder, named: bool) -> io::Result<Self> {
        if !named && let Some(file) = folder.create_nameless() {
            return Ok(Self {
                folder,
                file: file?,
                name: None,
            });
        }
        let name = fresh_name();
        Ok(Self {
            folder,
            file: folder.create(name.as_ref())?,
            name: Some(name),
        })
    }

    fn give_name(&mut self) -> io::Result<()> {
        if self.name.is_none() {
            let name = fresh_name();
            self.folder.give_name(&self.file, OsStr::new(&name))?;
            self.name = Some(name);
        }
        Ok(())
    }

    /// Under a name that must not exist.
    fn link(&mut self, name: &OsStr) -> io::Result<()> {
        match self.name.as_deref() {
            None => self.folder.give_name(&self.file, name)?,
            Some(temporary) => {
                self.folder.rename_new(OsStr::new(temporary), name)?;
                self.name = None;
            }
        }
        Ok(())
    }

    fn rename(&mut self, name: &OsStr) -> io::Result<()> {
        if let Some(temporary) = self.name.as_deref() {
            self.folder.rename(temporary, name)?;
            self.name = None;
        }
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            let _ = self.folder.remove(&*name);
        }
    }
}

/// A name that [`fresh_name`] gives.
fn is_temporary(name: &[u8]) -> bool {
    let middle = name
        .strip_prefix(b".postil-")
        .and_then(|rest| rest.strip_suffix(b".tmp"));
    middle.is_some_and(|middle| middle.len() == 16 && middle.iter().all(u8::is_ascii_hexdigit))
}

fn fresh_name() -> String {
    use std::hash::{BuildHasher, RandomState};
    // Another thread's or process's is another number; a clash is refused by O_EXCL.
    format!(
        ".postil-{:016x}.tmp",
        RandomState::new().hash_one(std::process::id())
    )
}
