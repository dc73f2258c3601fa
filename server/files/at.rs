//! Work in a folder by its open handle, so that it is done in that very folder whatever is put in its place
//! meanwhile: the kernel's `openat` and its relatives on Unix, a handle that holds the folder where it is on
//! Windows. The one module of this layer that differs by system.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub use system::{Folder, Lock, status};
pub(super) use system::{
    below, bytes_of, is_local, name_of, now, own_program, status_of, status_of_file,
};

impl Folder {
    /// The folder `relative` below this one, one component after the other, following no link.
    pub(super) fn walk(&self, relative: &Path) -> io::Result<Self> {
        let mut at = self.try_clone()?;
        for component in relative.components() {
            let Component::Normal(name) = component else {
                return Err(leads_out());
            };
            at = at.step(name)?;
        }
        Ok(at)
    }
}

/// For who works in a tree that others may change meanwhile; no link is followed.
impl Folder {
    /// # Errors
    /// Where it is not there.
    pub fn state(&self, name: &OsStr) -> io::Result<Status> {
        self.status(name)
    }

    /// All of an ordinary file; `None`: it is none, or has more than `most` bytes.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn bytes(&self, name: &OsStr, most: u64) -> io::Result<Option<Vec<u8>>> {
        let file = self.read(name)?;
        if status_of_file(&file)?.kind != Kind::File {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let read = file.take(most + 1).read_to_end(&mut bytes)?;
        Ok((read as u64 <= most).then_some(bytes))
    }

    /// A file of that name, where nothing is.
    ///
    /// # Errors
    /// What the system says.
    pub fn write_new(&self, name: &OsStr, bytes: &[u8], mode: u32) -> io::Result<()> {
        let mut file = self.create(name)?;
        file.write_all(bytes)?;
        self.set_mode(&file, mode)
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    /// Where it is not there.
    pub fn unlink(&self, name: &OsStr) -> io::Result<()> {
        self.remove(name)
    }
}

/// What an entry of a folder is; a link is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, socket or device.
    Other,
}

/// The state of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub kind: Kind,
    /// Bytes.
    pub size: u64,
    /// Permission bits of POSIX; elsewhere 0o444 or 0o666.
    pub mode: u32,
    /// User and group.
    pub owner: (u32, u32),
    /// What it lies on, and its number there. On Windows 0, and the time of its creation.
    pub device: u64,
    pub inode: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    /// Of the last change of any kind, which nobody can set; as `modified` where the system does not tell.
    pub changed: i64,
}

/// Why nothing could be done with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// It is not there, or what is above it is no folder.
    Gone,
    /// A link where none may be, or the way leads out.
    Link,
    Folder,
    /// A pipe or socket with nothing to read.
    Special,
    Other,
}

pub(super) fn obstacle(error: &io::Error) -> Obstacle {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Obstacle::Gone,
        io::ErrorKind::CrossesDevices => Obstacle::Link,
        io::ErrorKind::IsADirectory => Obstacle::Folder,
        io::ErrorKind::WouldBlock => Obstacle::Special,
        // These kinds have no stable name yet.
        #[cfg(unix)]
        _ => match rustix::io::Errno::from_io_error(error) {
            Some(rustix::io::Errno::LOOP) => Obstacle::Link,
            Some(rustix::io::Errno::NXIO) => Obstacle::Special,
            _ => Obstacle::Other,
        },
        #[cfg(not(unix))]
        _ => Obstacle::Other,
    }
}

/// Whether a file system has no files without a name, or none can be given to one.
pub(super) fn is_nameless_refused(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        matches!(
            Errno::from_io_error(error),
            Some(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS | Errno::PERM)
        )
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// The error of a way that leads out.
pub(super) fn leads_out() -> io::Error {
    io::ErrorKind::CrossesDevices.into()
}
