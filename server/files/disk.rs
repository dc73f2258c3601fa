//! Reading one file and replacing it whole. A pipe or device never blocks; a write is never seen half
//! done, and leaves no temporary file where the system can make one without a name.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat, XattrFlags,
};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::{FileError, confine};

/// The folder's handle and the name of a file that is about to be opened in it.
pub(super) struct Place<'a> {
    pub folder: OwnedFd,
    pub name: &'a OsStr,
    /// For messages.
    pub shown: &'a str,
}

pub(super) fn hash(bytes: &[u8]) -> [u8; 32] {
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

    fn ordinary(&self, stat: &Stat) -> Result<(), FileError> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(()),
            FileType::Directory => Err(FileError::IsFolder(self.shown.to_owned())),
            // It was none when the path was resolved.
            FileType::Symlink => Err(FileError::Outside(self.shown.to_owned())),
            _ => Err(FileError::NotOrdinary(self.shown.to_owned())),
        }
    }

    /// `None`: nothing of that name.
    pub(super) fn stat(&self) -> Result<Option<Stat>, FileError> {
        match rustix::fs::statat(&self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(self.failed(e)),
        }
    }

    /// An ordinary file, whole, unless it has more than `max` bytes.
    pub(super) fn read(&self, max: u64) -> Result<Vec<u8>, FileError> {
        // Asked first because opening a device may already do something.
        let stat = self
            .stat()?
            .ok_or_else(|| FileError::NotFound(self.shown.to_owned()))?;
        self.ordinary(&stat)?;
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.folder, self.name, flags, Mode::empty())
            .map_err(|e| self.failed(e))?;
        let stat = rustix::fs::fstat(&fd).map_err(|e| self.failed(e))?;
        self.ordinary(&stat)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > max {
            return Err(FileError::TooLarge(self.shown.to_owned(), max));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
        // It may grow while it is read.
        File::from(fd)
            .take(max.saturating_add(1))
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
    /// The file gets a new inode: another hard link to it keeps the old text. `mode` is for one that is made.
    pub(super) fn replace(
        &self,
        content: &[u8],
        seen: Option<&[u8; 32]>,
        mode: Option<u32>,
    ) -> Result<(), FileError> {
        // Between the last look at the file and the rename no other postil writes: of two that answer in
        // one file at once the second sees what the first wrote.
        let _turn = Turn::take(&self.folder);
        let old = self.stat()?;
        match (&old, seen) {
            (Some(stat), Some(hash)) => {
                self.ordinary(stat)?;
                // The rename would succeed: it asks for the folder's permission only.
                if stat.st_mode & 0o222 == 0 {
                    return Err(self.failed(Errno::ACCESS));
                }
                let asked = rustix::fs::Access::WRITE_OK;
                rustix::fs::accessat(&self.folder, self.name, asked, AtFlags::empty())
                    .map_err(|e| self.failed(e))?;
                self.unchanged(hash, u64::MAX)?;
            }
            (None, None) => {}
            _ => return Err(self.changed()),
        }
        match self.put(content, old.as_ref(), seen, mode, false) {
            // No nameless files on this file system, or no /proc to name one by.
            Err(FileError::Io { source, .. }) if nameless_unsupported(&source) => {
                self.put(content, old.as_ref(), seen, mode, true)
            }
            Err(FileError::NotFound(_) | FileError::IsFolder(_)) => {
                self.put(content, old.as_ref(), seen, mode, true)
            }
            other => other,
        }
    }

    fn put(
        &self,
        content: &[u8],
        old: Option<&Stat>,
        seen: Option<&[u8; 32]>,
        mode: Option<u32>,
        named: bool,
    ) -> Result<(), FileError> {
        let mut temporary = Temporary::new(&self.folder, named).map_err(|e| self.failed(e))?;
        temporary
            .file
            .write_all(content)
            .map_err(|e| self.failed(e))?;
        crate::os::test_step();
        if let Some(old) = old {
            self.keep(&temporary.file, old)
                .map_err(|e| self.failed(e))?;
        } else if let Some(mode) = mode {
            let bits = std::fs::Permissions::from_mode(mode & 0o777);
            temporary
                .file
                .set_permissions(bits)
                .map_err(|e| self.failed(e))?;
        }
        temporary.file.sync_all().map_err(|e| self.failed(e))?;
        match seen {
            None => temporary
                .link(self.name)
                .map_err(|e| match Errno::from_io_error(&e) {
                    Some(Errno::EXIST) => self.changed(),
                    _ => self.failed(e),
                })?,
            Some(hash) => {
                temporary.give_name().map_err(|e| self.failed(e))?;
                crate::os::test_step();
                self.unchanged(hash, u64::MAX)?;
                temporary.rename(self.name).map_err(|e| self.failed(e))?;
            }
        }
        crate::os::test_step();
        // The content is safe; a file system that cannot flush a folder has nothing to flush.
        let _ = rustix::fs::fsync(&self.folder);
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn put_for_test(
        &self,
        content: &[u8],
        seen: Option<&[u8; 32]>,
        named: bool,
    ) -> Result<(), FileError> {
        self.put(content, self.stat()?.as_ref(), seen, None, named)
    }

    /// Owner, mode and extended attributes of the file that is replaced.
    fn keep(&self, file: &File, old: &Stat) -> io::Result<()> {
        let new = rustix::fs::fstat(file)?;
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
            // Only root may give a file away; like git, we then go on with our own name on it. The group
            // can often be kept.
            let owner = Some(rustix::fs::Uid::from_raw(old.st_uid));
            let group = Some(rustix::fs::Gid::from_raw(old.st_gid));
            if rustix::fs::fchown(file, owner, group).is_err() {
                let _ = rustix::fs::fchown(file, None, group);
            }
        }
        rustix::fs::fchmod(file, Mode::from_raw_mode(old.st_mode & 0o7777))?;
        self.keep_attributes(file);
        Ok(())
    }

    /// As far as we may: some attributes are the system's alone.
    fn keep_attributes(&self, file: &File) {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(old) = rustix::fs::openat(&self.folder, self.name, flags, Mode::empty()) else {
            return;
        };
        let mut names = vec![0u8; 64 * 1024];
        let Ok(length) = rustix::fs::flistxattr(&old, names.as_mut_slice()) else {
            return;
        };
        let mut value = vec![0u8; 64 * 1024];
        for name in names
            .get(..length)
            .unwrap_or_default()
            .split(|b| *b == 0)
            .filter(|n| !n.is_empty())
        {
            if let Ok(length) = rustix::fs::fgetxattr(&old, name, value.as_mut_slice()) {
                let value = value.get(..length).unwrap_or_default();
                let _ = rustix::fs::fsetxattr(file, name, value, XattrFlags::empty());
            }
        }
    }

    /// Removes the file if it has the bytes of this hash.
    pub(super) fn remove(&self, seen: &[u8; 32]) -> Result<(), FileError> {
        let _turn = Turn::take(&self.folder);
        self.unchanged(seen, u64::MAX)?;
        rustix::fs::unlinkat(&self.folder, self.name, AtFlags::empty())
            .map_err(|e| self.failed(e))?;
        let _ = rustix::fs::fsync(&self.folder);
        Ok(())
    }
}

/// The lock of a folder that all of postil's writes take, by the folder's own handle: no file is made for it,
/// and it ends with the process.
struct Turn<'a>(&'a OwnedFd);

impl<'a> Turn<'a> {
    /// `None` where it cannot be had (a file system without locks, a holder that does not let go): then the
    /// comparison of hashes is all there is.
    fn take(folder: &'a OwnedFd) -> Option<Self> {
        for _ in 0..LOOKS {
            match rustix::fs::flock(folder, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    let turn = Self(folder);
                    turn.clean();
                    return Some(turn);
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(PAUSE),
                Err(_) => return None,
            }
        }
        None
    }

    /// Removes what a process left that was killed before its rename: whoever has the turn makes such files
    /// alone.
    fn clean(&self) {
        let Ok(names) = Dir::read_from(self.0) else {
            return;
        };
        for name in names.flatten() {
            let name = name.file_name();
            if is_temporary(name.to_bytes()) {
                let _ = rustix::fs::unlinkat(self.0, name, AtFlags::empty());
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(self.0, FlockOperation::Unlock);
    }
}

/// How often, and how far apart, the turn is asked for: two seconds in all. A write takes some milliseconds.
const LOOKS: u32 = 400;
const PAUSE: Duration = Duration::from_millis(5);

fn nameless_unsupported(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS | Errno::PERM)
    )
}

/// A file that disappears unless it is put in its place.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    file: File,
    name: Option<String>,
}

impl<'a> Temporary<'a> {
    fn new(folder: &'a OwnedFd, named: bool) -> io::Result<Self> {
        let mode = Mode::from_raw_mode(0o644);
        #[cfg(target_os = "linux")]
        if !named {
            let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
            let file = rustix::fs::openat(folder, ".", flags, mode)?;
            return Ok(Self {
                folder,
                file: file.into(),
                name: None,
            });
        }
        let _ = named;
        let name = fresh_name();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(folder, &*name, flags, mode)?;
        Ok(Self {
            folder,
            file: file.into(),
            name: Some(name),
        })
    }

    fn link_nameless(&self, name: &OsStr) -> io::Result<()> {
        let file = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        Ok(rustix::fs::linkat(
            CWD,
            file,
            self.folder,
            name,
            AtFlags::SYMLINK_FOLLOW,
        )?)
    }

    fn give_name(&mut self) -> io::Result<()> {
        if self.name.is_none() {
            let name = fresh_name();
            self.link_nameless(OsStr::new(&name))?;
            self.name = Some(name);
        }
        Ok(())
    }

    /// Under a name that must not exist.
    fn link(&mut self, name: &OsStr) -> io::Result<()> {
        let Some(temporary) = self.name.as_deref() else {
            return self.link_nameless(name);
        };
        match rustix::fs::renameat_with(
            self.folder,
            temporary,
            self.folder,
            name,
            RenameFlags::NOREPLACE,
        ) {
            Ok(()) => self.name = None,
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(self.folder, temporary, self.folder, name, AtFlags::empty())?;
            }
            Err(e) => return Err(e.into()),
        }
        Ok(())
    }

    fn rename(&mut self, name: &OsStr) -> io::Result<()> {
        if let Some(temporary) = self.name.as_deref() {
            rustix::fs::renameat(self.folder, temporary, self.folder, name)?;
            self.name = None;
        }
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            let _ = rustix::fs::unlinkat(self.folder, name, AtFlags::empty());
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
