//! Paths and folders, where systems differ.

use std::io;
use std::path::{Path, PathBuf};

/// `path` absolute and without links, as other programs write it too: on Windows `C:\…`, never `\\?\C:\…`.
///
/// # Errors
/// As [`Path::canonicalize`].
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    #[cfg(windows)]
    return dunce::canonicalize(path);
    #[cfg(not(windows))]
    path.canonicalize()
}

/// The same, as far as `path` exists.
pub fn resolved(path: &Path) -> PathBuf {
    let mut there = path;
    let mut rest = Vec::new();
    loop {
        if let Ok(found) = canonical(there) {
            return rest.iter().rev().fold(found, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (there.parent(), there.file_name()) else {
            return path.to_owned();
        };
        rest.push(name);
        there = parent;
    }
}

/// A relative path with `/`, as git and the store have it on every system.
pub fn slashed(path: &Path) -> String {
    let text = path.to_string_lossy();
    if cfg!(windows) {
        return text.replace('\\', "/");
    }
    text.into_owned()
}

/// Makes a folder, and those above it, for this user alone (Unix: 0700; elsewhere by the rights of the folder above,
/// which in a user's profile are the same).
///
/// # Errors
/// Those of the file system; none where it exists.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
