//! Paths and folders, where systems differ.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// The user's home: as the environment says it, else as the system does. One that is no absolute path counts as unset,
/// or what is kept there would lie below whichever folder we stand in.
pub fn home() -> Option<PathBuf> {
    let said = std::env::home_dir().filter(|home| home.is_absolute());
    said.or_else(home_of_system)
}

/// The home that the system has for the user, whatever the environment says. `None` where it is not told so simply.
pub fn home_of_system() -> Option<PathBuf> {
    #[cfg(unix)]
    return {
        let user = rustix::process::getuid().as_raw().to_string();
        let users = std::fs::read_to_string("/etc/passwd").ok()?;
        users.lines().find_map(|line| {
            let mut fields = line.split(':');
            (fields.nth(2) == Some(user.as_str())).then(|| fields.nth(2).map(PathBuf::from))?
        })
    };
    #[cfg(not(unix))]
    None
}

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

/// [`resolved`] of many, of which most stand in a few folders.
pub fn resolved_all(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut folders: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut one = |path: PathBuf| match (path.parent(), path.file_name()) {
        // Elsewhere one file has several names (`a.rs`, `A.rs`), of which only the system knows the right one.
        (Some(folder), Some(name)) if cfg!(target_os = "linux") && !path.is_symlink() => folders
            .entry(folder.to_owned())
            .or_insert_with(|| resolved(folder))
            .join(name),
        _ => resolved(&path),
    };
    paths.into_iter().map(&mut one).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn many_are_resolved_as_each_of_them() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("real/sub")).unwrap();
        std::fs::write(at("real/a.rs"), "").unwrap();
        symlink(at("real"), at("link")).unwrap();
        symlink(at("real/a.rs"), at("real/sub/b.rs")).unwrap();
        symlink(at("nowhere"), at("real/broken")).unwrap();
        let names = [
            "link/a.rs",
            "link/gone.rs",
            "link/gone/deep.rs",
            "link/sub/b.rs",
            "link/sub/c.rs",
            "link/broken",
            "link",
            "real",
            "real/../link/a.rs",
            "real/sub/..",
        ];
        let paths = names.map(at);
        let each: Vec<PathBuf> = paths.iter().map(|path| resolved(path)).collect();
        assert_eq!(resolved_all(paths), each);
        assert_eq!(resolved_all([PathBuf::from("/")]), [PathBuf::from("/")]);
    }
}
