//! By paths, below a handle that holds the folder where it is: a folder that is open without leave to delete it
//! (`FILE_SHARE_DELETE`) can be neither renamed nor removed, nor can one above it, so that nothing is put in its
//! place while the handle lives.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr};
use std::fs::{File, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::marker::PhantomData;
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{Kind, Status, leads_out};

// Of winnt.h and winbase.h.
const FILE_SHARE_READ: u32 = 1;
const FILE_SHARE_WRITE: u32 = 2;
const FILE_SHARE_DELETE: u32 = 4;
const FILE_LIST_DIRECTORY: u32 = 1;
const FILE_READ_ATTRIBUTES: u32 = 0x80;
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
const FILE_ATTRIBUTE_READONLY: u32 = 1;
const FILE_ATTRIBUTE_REPARSE_POINT: u32 = 0x400;
const DELETE: u32 = 0x0001_0000;
const GENERIC_WRITE: u32 = 0x4000_0000;
const ERROR_SHARING_VIOLATION: i32 = 32;
/// How often, and how far apart, a file is asked for that a virus scanner or an indexer has open: half a second in all.
const ASKED: u32 = 25;
const PAUSE: Duration = Duration::from_millis(20);

/// A name in a folder, in any of the forms that the callers have.
pub(in crate::files) trait Name {
    fn name(&self) -> Cow<'_, OsStr>;
}

impl Name for &OsStr {
    fn name(&self) -> Cow<'_, OsStr> {
        Cow::Borrowed(self)
    }
}

impl Name for &str {
    fn name(&self) -> Cow<'_, OsStr> {
        Cow::Borrowed(OsStr::new(self))
    }
}

impl Name for &CStr {
    fn name(&self) -> Cow<'_, OsStr> {
        Cow::Borrowed(name_of(self.to_bytes()))
    }
}

/// The handle of a folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Of this folder and those that were stepped through.
    held: Vec<Arc<File>>,
}

impl Folder {
    /// Links on the way are followed.
    pub(in crate::files) fn open(path: &Path) -> io::Result<Self> {
        let handle = OpenOptions::new()
            .access_mode(FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES)
            .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
            .open(path)?;
        if !handle.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self {
            path: path.to_owned(),
            held: vec![Arc::new(handle)],
        })
    }

    /// The folder `relative` below this one; a link on the way is refused.
    pub(in crate::files) fn below(&self, relative: &Path) -> io::Result<Self> {
        self.walk(relative)
    }

    #[expect(clippy::unnecessary_wraps, reason = "as on other systems")]
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            path: self.path.clone(),
            held: self.held.clone(),
        })
    }

    /// The folder of that name in it, which must be no link.
    pub(in crate::files) fn step(&self, name: &OsStr) -> io::Result<Self> {
        let path = self.path.join(name);
        let handle = open_folder(&path, FILE_SHARE_READ | FILE_SHARE_WRITE)?;
        let mut held = self.held.clone();
        held.push(Arc::new(handle));
        Ok(Self { path, held })
    }

    /// A folder below it by its path, relative and with `/`; only that one itself must be no link. Empty: this one.
    /// For reading alone: others may rename or remove it meanwhile.
    pub(in crate::files) fn enter(&self, path: &[u8]) -> io::Result<Self> {
        let path = below(&self.path, path);
        let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
        let held = vec![Arc::new(open_folder(&path, share)?)];
        Ok(Self { path, held })
    }

    /// Makes a folder in it where there is none.
    pub(in crate::files) fn make(&self, name: &OsStr) -> io::Result<()> {
        match std::fs::create_dir(self.path.join(name)) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
            _ => Ok(()),
        }
    }

    pub(in crate::files) fn status(&self, name: impl Name) -> io::Result<Status> {
        status(&self.path.join(name.name()))
    }

    /// Where a link of that name leads, as it is written.
    ///
    /// # Errors
    /// Where it is not there or no link.
    pub fn link_target(&self, name: &OsStr) -> io::Result<PathBuf> {
        std::fs::read_link(self.path.join(name))
    }

    /// There a link needs rights that most have not.
    ///
    /// # Errors
    /// Always.
    pub fn make_link(&self, _: &Path, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::files) fn own_status(&self) -> io::Result<Status> {
        match self.held.last() {
            Some(handle) => status_of_file(handle),
            None => status_of(&self.path),
        }
    }

    /// Opens what has that name for reading, unless it is a link.
    pub(in crate::files) fn read(&self, name: impl Name) -> io::Result<File> {
        let path = self.path.join(name.name());
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS)
            .open(&path)?;
        let metadata = file.metadata()?;
        match Kind::from(&metadata) {
            Kind::Folder => Err(io::ErrorKind::IsADirectory.into()),
            Kind::Link => Err(leads_out()),
            // What a cloud folder or a compressing file system stands in for is read by their driver.
            _ if metadata.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0 => File::open(path),
            _ => Ok(file),
        }
    }

    /// Whether we may write the file.
    pub(in crate::files) fn may_write(&self, name: &OsStr) -> io::Result<()> {
        let path = self.path.join(name);
        patiently(|| OpenOptions::new().write(true).open(&path)).map(drop)
    }

    /// A new file for writing.
    pub(in crate::files) fn create(&self, name: &OsStr) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(self.path.join(name))
    }

    /// The system has no files without a name.
    pub(in crate::files) fn create_nameless(&self) -> Option<io::Result<File>> {
        None
    }

    /// There are no files without a name.
    pub(in crate::files) fn give_name(&self, _: &File, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Puts one file in the place of another, or where none is.
    pub(in crate::files) fn rename(&self, from: &str, to: &OsStr) -> io::Result<()> {
        let (from, to) = (self.path.join(from), self.path.join(to));
        patiently(|| std::fs::rename(&from, &to))
    }

    /// Renames to a name that must not exist.
    ///
    /// # Errors
    /// `AlreadyExists` where it does; `NotFound`; and what the system says.
    pub fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (from, to) = (self.path.join(from), self.path.join(to));
        match std::fs::hard_link(&from, &to) {
            Ok(()) => {
                let _ = patiently(|| std::fs::remove_file(&from));
                Ok(())
            }
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound
                ) =>
            {
                Err(e)
            }
            // A folder, or a file system without links.
            Err(_) if std::fs::symlink_metadata(&to).is_ok() => {
                Err(io::ErrorKind::AlreadyExists.into())
            }
            Err(_) => patiently(|| std::fs::rename(&from, &to)),
        }
    }

    /// Gives each of two names what the other one has, in one step: there is none here.
    ///
    /// # Errors
    /// Always.
    pub fn exchange(&self, _: &OsStr, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::files) fn remove(&self, name: impl Name) -> io::Result<()> {
        let path = self.path.join(name.name());
        patiently(|| std::fs::remove_file(&path))
    }

    /// Removes an empty folder.
    pub(in crate::files) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        std::fs::remove_dir(self.path.join(name))
    }

    /// The system's journal sees to it.
    pub(in crate::files) fn sync(&self) {}

    /// Names and kinds of what is in it. A name that is no Unicode is passed over: no editor could say it.
    pub(in crate::files) fn entries(
        &self,
    ) -> io::Result<impl Iterator<Item = io::Result<(CString, Kind)>>> {
        Ok(std::fs::read_dir(&self.path)?.filter_map(|entry| {
            let entry = match entry {
                Ok(entry) => entry,
                Err(e) => return Some(Err(e)),
            };
            let name = CString::new(entry.file_name().to_str()?).ok()?;
            let kind = entry.metadata().map_or(Kind::Other, |m| Kind::from(&m));
            Some(Ok((name, kind)))
        }))
    }

    /// The lock that all of postil's writes in this folder take: a file of its own in the user's temporary folder, which
    /// is open to one process at a time and disappears with it. `None`: another has it.
    pub(in crate::files) fn try_lock(&self) -> io::Result<Option<Lock<'_>>> {
        let mut hasher = DefaultHasher::new();
        self.path.to_string_lossy().to_lowercase().hash(&mut hasher);
        let name = format!("postil-{:016x}.lock", hasher.finish());
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .access_mode(GENERIC_WRITE | DELETE)
            .share_mode(0)
            .custom_flags(FILE_FLAG_DELETE_ON_CLOSE)
            .open(std::env::temp_dir().join(name));
        match opened {
            Ok(file) => Ok(Some(Lock {
                _file: file,
                of: PhantomData,
            })),
            // It is open elsewhere, or about to disappear.
            Err(e)
                if e.raw_os_error() == Some(ERROR_SHARING_VIOLATION)
                    || e.kind() == io::ErrorKind::PermissionDenied =>
            {
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// A file that is replaced may be written, so that there is no attribute to keep; its rights are those of the folder.
    pub(in crate::files) fn keep(&self, _: &OsStr, _: &Status, _: &File) -> io::Result<()> {
        Ok(())
    }

    /// There are no permission bits.
    pub(in crate::files) fn set_mode(&self, _: &File, _: u32) -> io::Result<()> {
        Ok(())
    }
}

/// Released when it is dropped.
pub struct Lock<'a> {
    _file: File,
    of: PhantomData<&'a Folder>,
}

fn open_folder(path: &Path, share: u32) -> io::Result<File> {
    let handle = OpenOptions::new()
        .access_mode(FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES)
        .share_mode(share)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)?;
    match Kind::from(&handle.metadata()?) {
        Kind::Folder => Ok(handle),
        Kind::Link => Err(leads_out()),
        _ => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// Tries again for a while where another has the file open.
fn patiently<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..ASKED {
        match act() {
            Err(e)
                if e.raw_os_error() == Some(ERROR_SHARING_VIOLATION)
                    || e.kind() == io::ErrorKind::PermissionDenied =>
            {
                std::thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
    act()
}

impl From<&Metadata> for Kind {
    fn from(metadata: &Metadata) -> Self {
        // A junction counts as a link.
        if metadata.is_symlink() {
            Self::Link
        } else if metadata.is_dir() {
            Self::Folder
        } else if metadata.is_file() {
            Self::File
        } else {
            Self::Other
        }
    }
}

impl From<&Metadata> for Status {
    fn from(metadata: &Metadata) -> Self {
        let read_only = metadata.file_attributes() & FILE_ATTRIBUTE_READONLY != 0;
        let since = metadata
            .modified()
            .ok()
            .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let modified = since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(0));
        Self {
            kind: Kind::from(metadata),
            size: metadata.file_size(),
            mode: if read_only { 0o444 } else { 0o666 },
            owner: (0, 0),
            device: 0,
            inode: metadata.creation_time(),
            modified,
            changed: modified,
        }
    }
}

/// The bytes of a relative path, with `/`. One that is no Unicode has none: nobody listed it.
pub(in crate::files) fn bytes_of(path: PathBuf) -> Vec<u8> {
    let parts: Vec<_> = path
        .components()
        .filter_map(|part| part.as_os_str().to_str())
        .collect();
    parts.join("/").into_bytes()
}

/// A path below `top`, from the bytes of a relative one.
pub(in crate::files) fn below(top: &Path, path: &[u8]) -> PathBuf {
    let mut all = top.to_owned();
    all.extend(Path::new(name_of(path)).components());
    all
}

/// A path or name by its bytes; what was listed here is Unicode.
pub(in crate::files) fn name_of(bytes: &[u8]) -> &OsStr {
    OsStr::new(std::str::from_utf8(bytes).unwrap_or_default())
}

/// The state of what has this path; where that is a link, its own.
///
/// # Errors
/// Where it is not there.
pub fn status(path: &Path) -> io::Result<Status> {
    Ok(Status::from(&std::fs::symlink_metadata(path)?))
}

/// Links are followed.
pub(in crate::files) fn status_of(path: &Path) -> io::Result<Status> {
    Ok(Status::from(&std::fs::metadata(path)?))
}

pub(in crate::files) fn status_of_file(file: &File) -> io::Result<Status> {
    Ok(Status::from(&file.metadata()?))
}

/// Nothing of a scan is kept, so that nobody asks.
pub(in crate::files) fn own_program() -> Option<Status> {
    None
}

/// Now, in nanoseconds since 1970.
pub(in crate::files) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(0))
}

/// The time of a file's last change can be set by anybody here, so that its state says too little.
pub(in crate::files) fn is_local(_: &Path) -> bool {
    false
}
