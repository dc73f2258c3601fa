//! Confinement: a path is resolved to one below the root that has no link left in it, and opened
//! relative to a handle of the root by the kernel's own rule (`openat2`), so that a link put there
//! between the two does not lead out.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::FileError;

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// The absolute path of `path` below the canonical `root`, without `.`, `..` and links. Components
/// that do not exist are kept as they are. `given` is the root as the caller wrote it.
pub(super) fn resolve(root: &Path, given: &Path, path: &Path) -> Result<PathBuf, FileError> {
    let outside = || FileError::Outside(path.display().to_string());
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(FileError::NotFound(
            path.display().to_string().replace('\0', "\u{fffd}"),
        ));
    }
    let start = if path.is_absolute() {
        below(root, given, path).ok_or_else(outside)?
    } else {
        path.to_owned()
    };
    let mut todo = Vec::new();
    push(&mut todo, &start).ok_or_else(outside)?;
    let mut at = root.to_owned();
    let mut links = 0;
    while let Some(name) = todo.pop() {
        if name == ".." {
            // A step above the root is refused even where a later one comes back.
            if at == root || !at.pop() {
                return Err(outside());
            }
            continue;
        }
        at.push(&name);
        let Ok(target) = std::fs::read_link(&at) else {
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            return Err(FileError::NotOrdinary(path.display().to_string()));
        }
        let target = if target.is_absolute() {
            at = root.to_owned();
            below(root, given, &target).ok_or_else(outside)?
        } else {
            at.pop();
            target
        };
        push(&mut todo, &target).ok_or_else(outside)?;
    }
    Ok(at)
}

/// The components of `path` on top of `todo`, the first one last.
fn push(todo: &mut Vec<OsString>, path: &Path) -> Option<()> {
    let at = todo.len();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => todo.push(name.to_owned()),
            Component::ParentDir => todo.push(OsString::from("..")),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    todo.get_mut(at..)?.reverse();
    Some(())
}

/// What is left of the absolute `path` below the root, by component (`/a/bc` is not below `/a/b`);
/// through links elsewhere too (`/tmp` of macOS).
fn below(root: &Path, given: &Path, path: &Path) -> Option<PathBuf> {
    if let Ok(rest) = path
        .strip_prefix(root)
        .or_else(|_| path.strip_prefix(given))
    {
        return Some(rest.to_owned());
    }
    // The deepest part that exists, canonical, and the rest as it is.
    for ancestor in path.ancestors() {
        if let Ok(canonical) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).ok()?;
            if rest
                .components()
                .any(|c| !matches!(c, Component::Normal(_)))
            {
                return None;
            }
            return Some(canonical.strip_prefix(root).ok()?.join(rest));
        }
    }
    None
}

/// Opens the folder `relative` (no links in it) below `root`.
///
/// # Errors
/// Where it is not there, or a link is on the way.
pub fn folder(root: &Path, relative: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = rustix::fs::openat(CWD, root, flags, Mode::empty())?;
    if relative.as_os_str().is_empty() {
        return Ok(top);
    }
    below_handle(&top, relative, flags)
}

#[cfg(target_os = "linux")]
fn below_handle(top: &OwnedFd, relative: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    static MISSING: AtomicBool = AtomicBool::new(false);
    if !MISSING.load(Ordering::Relaxed) {
        let rules = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(top, relative, flags, Mode::empty(), rules) {
            // Old kernels have no such call, some containers forbid it.
            Err(Errno::NOSYS | Errno::PERM) => MISSING.store(true, Ordering::Relaxed),
            Err(Errno::AGAIN) => {} // a rename raced with it; the walk decides
            other => return Ok(other?),
        }
    }
    walk(top, relative, flags)
}

#[cfg(not(target_os = "linux"))]
fn below_handle(top: &OwnedFd, relative: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    walk(top, relative, flags)
}

/// The same, one component after the other, following no link.
pub(super) fn walk(top: &OwnedFd, relative: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut at = top.try_clone()?;
    for component in relative.components() {
        let Component::Normal(name) = component else {
            return Err(Errno::XDEV.into());
        };
        at = rustix::fs::openat(&at, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(at)
}

/// What the kernel said of `path`, in our words.
pub(super) fn error(path: &str, source: io::Error) -> FileError {
    match Errno::from_io_error(&source) {
        Some(Errno::NOENT | Errno::NOTDIR) => FileError::NotFound(path.to_owned()),
        // A link where there was none a moment ago.
        Some(Errno::LOOP | Errno::XDEV) => FileError::Outside(path.to_owned()),
        Some(Errno::ISDIR) => FileError::IsFolder(path.to_owned()),
        _ => FileError::Io {
            path: path.to_owned(),
            source,
        },
    }
}

/// Opens the folder `relative` below `root`, making what is missing of it (0755).
pub(super) fn make_folder(root: &Path, relative: &Path) -> io::Result<OwnedFd> {
    match folder(root, relative) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut at = folder(root, Path::new(""))?;
    for component in relative.components() {
        let Component::Normal(name) = component else {
            return Err(Errno::XDEV.into());
        };
        match rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => return Err(e.into()),
        }
        at = rustix::fs::openat(&at, name, flags, Mode::empty())?;
    }
    Ok(at)
}
