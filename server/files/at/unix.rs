//! By `openat` and its relatives.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat, XattrFlags,
};
use rustix::io::Errno;
use rustix::path::Arg;

use super::{Kind, Status};

const SECOND: i64 = 1_000_000_000;

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

impl From<Stat> for Status {
    #[expect(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        reason = "these fields have other types on other systems"
    )]
    fn from(stat: Stat) -> Self {
        let time = |seconds, fraction: i64| {
            i64::wrapping_add(i64::wrapping_mul(seconds, SECOND), fraction)
        };
        let fraction = |part| i64::try_from(part).unwrap_or(0);
        Self {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: u32::from(stat.st_mode) & 0o7777,
            owner: (stat.st_uid, stat.st_gid),
            device: stat.st_dev as u64,
            inode: u64::from(stat.st_ino),
            modified: time(i64::from(stat.st_mtime), fraction(stat.st_mtime_nsec)),
            changed: time(i64::from(stat.st_ctime), fraction(stat.st_ctime_nsec)),
        }
    }
}

/// The handle of a folder.
#[derive(Debug)]
pub struct Folder(OwnedFd);

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

impl Folder {
    /// Links on the way are followed.
    pub(in crate::files) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?))
    }

    /// The folder `relative` below this one; a link on the way is refused by the kernel's own rule where it has one
    /// (`openat2`).
    pub(in crate::files) fn below(&self, relative: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            static MISSING: AtomicBool = AtomicBool::new(false);
            if !MISSING.load(Ordering::Relaxed) {
                let rules =
                    ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
                match rustix::fs::openat2(&self.0, relative, FOLDER, Mode::empty(), rules) {
                    // Old kernels have no such call, some containers forbid it.
                    Err(Errno::NOSYS | Errno::PERM) => MISSING.store(true, Ordering::Relaxed),
                    Err(Errno::AGAIN) => {} // a rename raced with it; the walk decides
                    other => return Ok(Self(other?)),
                }
            }
        }
        self.walk(relative)
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// The folder of that name in it, which must be no link.
    pub(in crate::files) fn step(&self, name: &OsStr) -> io::Result<Self> {
        self.enter(name.as_bytes())
    }

    /// A folder below it by its path, relative and with `/`; only that one itself must be no link. Empty: this one.
    pub(in crate::files) fn enter(&self, path: &[u8]) -> io::Result<Self> {
        let path = if path.is_empty() { b"." } else { path };
        let flags = FOLDER | OFlags::NOFOLLOW;
        Ok(Self(rustix::fs::openat(
            &self.0,
            path,
            flags,
            Mode::empty(),
        )?))
    }

    /// Makes a folder in it (0755) where there is none.
    pub(in crate::files) fn make(&self, name: &OsStr) -> io::Result<()> {
        match rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    pub(in crate::files) fn status(&self, name: impl Arg) -> io::Result<Status> {
        Ok(rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?.into())
    }

    pub(in crate::files) fn own_status(&self) -> io::Result<Status> {
        Ok(rustix::fs::fstat(&self.0)?.into())
    }

    /// Opens what has that name for reading, unless it is a link. A pipe or device is not waited for.
    pub(in crate::files) fn read(&self, name: impl Arg) -> io::Result<File> {
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::empty())?.into())
    }

    /// Where a link of that name leads, as it is written.
    ///
    /// # Errors
    /// Where it is not there or no link.
    pub fn link_target(&self, name: &OsStr) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.0, name, Vec::new())?;
        Ok(PathBuf::from(name_of(target.as_bytes())))
    }

    /// A link of that name, where nothing is.
    ///
    /// # Errors
    /// What the system says.
    pub fn make_link(&self, target: &Path, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.0, name)?)
    }

    /// Whether we may write the file.
    pub(in crate::files) fn may_write(&self, name: &OsStr) -> io::Result<()> {
        let asked = rustix::fs::Access::WRITE_OK;
        Ok(rustix::fs::accessat(
            &self.0,
            name,
            asked,
            AtFlags::empty(),
        )?)
    }

    /// A new file (0644) for writing.
    pub(in crate::files) fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        Ok(rustix::fs::openat(&self.0, name, flags, mode)?.into())
    }

    /// A new file (0644) in it that has no name yet; `None` where the system has no such files.
    pub(in crate::files) fn create_nameless(&self) -> Option<io::Result<File>> {
        #[cfg(target_os = "linux")]
        {
            let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(0o644);
            let made = rustix::fs::openat(&self.0, ".", flags, mode);
            Some(made.map(File::from).map_err(io::Error::from))
        }
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// Gives a nameless file a name that must not exist.
    pub(in crate::files) fn give_name(&self, file: &File, name: &OsStr) -> io::Result<()> {
        let file = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = AtFlags::SYMLINK_FOLLOW;
        Ok(rustix::fs::linkat(CWD, file, &self.0, name, flags)?)
    }

    /// Puts one file in the place of another, or where none is.
    pub(in crate::files) fn rename(&self, from: &str, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Renames to a name that must not exist.
    ///
    /// # Errors
    /// `AlreadyExists` where it does; `NotFound`; and what the system says.
    pub fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match rustix::fs::renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
            // Not all file systems have it; a folder cannot be linked, and that error is told.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(&self.0, from, &self.0, to, AtFlags::empty())?;
                let _ = self.remove(from);
                Ok(())
            }
            other => Ok(other?),
        }
    }

    /// Gives each of two names what the other one has, in one step.
    ///
    /// # Errors
    /// `NotFound` where one is not there; where a file system has no such step, and what else the system says.
    pub fn exchange(&self, one: &OsStr, other: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat_with(
            &self.0,
            one,
            &self.0,
            other,
            RenameFlags::EXCHANGE,
        )?)
    }

    pub(in crate::files) fn remove(&self, name: impl Arg) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub(in crate::files) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Makes what was renamed in it outlive a power cut. A file system that cannot flush a folder has nothing to flush.
    pub(in crate::files) fn sync(&self) {
        let _ = rustix::fs::fsync(&self.0);
    }

    /// Names and kinds of what is in it.
    pub(in crate::files) fn entries(
        &self,
    ) -> io::Result<impl Iterator<Item = io::Result<(CString, Kind)>>> {
        let read = Dir::new(self.0.try_clone()?)?;
        Ok(read.filter_map(|entry| {
            let entry = match entry {
                Ok(entry) => entry,
                Err(e) => return Some(Err(e.into())),
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                return None;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => self.status(name).map_or(Kind::Other, |status| status.kind),
                known => known.into(),
            };
            Some(Ok((name.to_owned(), kind)))
        }))
    }

    /// The lock that all of postil's writes in this folder take: the handle's own, so that no file is made for it and it
    /// ends with the process. `None`: another has it.
    pub(in crate::files) fn try_lock(&self) -> io::Result<Option<Lock<'_>>> {
        match rustix::fs::flock(&self.0, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(self))),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Gives `file` owner, mode and extended attributes of the one named `name`, whose state is `old`, as far as we may.
    pub(in crate::files) fn keep(&self, name: &OsStr, old: &Status, file: &File) -> io::Result<()> {
        let new = status_of_file(file)?;
        if new.owner != old.owner {
            // Only root may give a file away; like git, we then go on with our own name on it. The group
            // can often be kept.
            let owner = Some(rustix::fs::Uid::from_raw(old.owner.0));
            let group = Some(rustix::fs::Gid::from_raw(old.owner.1));
            if rustix::fs::fchown(file, owner, group).is_err() {
                let _ = rustix::fs::fchown(file, None, group);
            }
        }
        self.set_mode(file, old.mode)?;
        self.keep_attributes(name, file);
        Ok(())
    }

    /// As far as we may: some attributes are the system's alone.
    fn keep_attributes(&self, name: &OsStr, file: &File) {
        let Ok(old) = self.read(name) else {
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

    /// Gives a new file the permission bits `mode`.
    pub(in crate::files) fn set_mode(&self, file: &File, mode: u32) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(std::fs::Permissions::from_mode(mode))
    }
}

/// Released when it is dropped.
pub struct Lock<'a>(&'a Folder);

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.0.0, FlockOperation::Unlock);
    }
}

/// A path or name by its bytes, with `/`.
pub(in crate::files) fn name_of(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// The bytes of a relative path, with `/`.
pub(in crate::files) fn bytes_of(path: PathBuf) -> Vec<u8> {
    path.into_os_string().into_vec()
}

/// A path below `top`, from the bytes of a relative one.
pub(in crate::files) fn below(top: &Path, path: &[u8]) -> PathBuf {
    top.join(name_of(path))
}

/// The state of what has this path; where that is a link, its own.
///
/// # Errors
/// Where it is not there.
pub fn status(path: &Path) -> io::Result<Status> {
    Ok(rustix::fs::lstat(path)?.into())
}

/// Links are followed.
pub(in crate::files) fn status_of(path: &Path) -> io::Result<Status> {
    Ok(rustix::fs::stat(path)?.into())
}

pub(in crate::files) fn status_of_file(file: &File) -> io::Result<Status> {
    Ok(rustix::fs::fstat(file)?.into())
}

/// The file of this program, also where another has taken its name.
pub(in crate::files) fn own_program() -> Option<Status> {
    let own = status_of(Path::new("/proc/self/exe"));
    own.or_else(|_| status_of(&std::env::current_exe()?)).ok()
}

/// Now, in nanoseconds since 1970: by the clock that the system writes into files, where it can be asked.
pub(in crate::files) fn now() -> i64 {
    #[cfg(target_os = "linux")]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        now.tv_sec
            .saturating_mul(SECOND)
            .saturating_add(now.tv_nsec)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
        let now = since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(0));
        now.saturating_sub(SECOND / 10)
    }
}

/// Whether the states of files in `root` can be relied upon: not where another machine writes and this
/// one's view of it may be old.
pub(in crate::files) fn is_local(root: &Path) -> bool {
    let Ok(system) = rustix::fs::statfs(root) else {
        return false;
    };
    #[cfg(target_os = "linux")]
    {
        // NFS, SMB (three), FUSE, 9P, Ceph, AFS, Coda, GFS2, OCFS2, Lustre, GPFS, VirtualBox, VMware, Parallels.
        const REMOTE: &[u32] = &[
            0x6969,
            0x517b,
            0xff53_4d42,
            0xfe53_4d42,
            0x6573_5546,
            0x0102_1997,
            0x00c3_6400,
            0x5346_414f,
            0x7375_7245,
            0x0116_1970,
            0x7461_636f,
            0x0bd0_0bd0,
            0x4750_4653,
            0x786f_4256,
            0xbacb_acbc,
            0x7c7c_6673,
        ];
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the numbers have 32 bits, in a field that is wider"
        )]
        let kind = system.f_type as u32;
        !REMOTE.contains(&kind)
    }
    #[cfg(target_vendor = "apple")]
    {
        const MNT_LOCAL: u32 = 0x1000;
        system.f_flags & MNT_LOCAL != 0
    }
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    {
        let _ = system;
        false
    }
}
