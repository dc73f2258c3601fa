//! Paths and folders, where systems differ.

use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};

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

/// `path` absolute and without links, as other programs write it too: on Windows `C:\…`, never `\\?\C:\…`, however
/// long it is. The standard library finds a long one by that name, and every path of a folder begins as the folder's.
///
/// # Errors
/// As [`Path::canonicalize`].
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    let found = path.canonicalize()?;
    if !cfg!(windows) {
        return Ok(found);
    }
    let usual = found.to_str().and_then(without_prefix);
    Ok(usual.map_or(found, PathBuf::from))
}

/// What Windows calls `\\?\C:\a` and `\\?\UNC\server\share` by its usual names. `None`: it can be said in that way alone.
fn without_prefix(path: &str) -> Option<String> {
    let rest = path.strip_prefix(r"\\?\")?;
    let (usual, names) = match rest.strip_prefix(r"UNC\") {
        Some(share) => (format!(r"\\{share}"), share),
        None => (rest.to_owned(), after_drive(rest)?),
    };
    let mut names = names.split('\\').filter(|name| !name.is_empty());
    names.all(is_plain_on_windows).then_some(usual)
}

/// What follows `C:\`.
fn after_drive(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(|first: char| first.is_ascii_alphabetic())?;
    rest.strip_prefix(r":\")
}

/// Whether a name is that of a file and nothing else: not of a stream in one (`a:b`), a device (`NUL`, `com1.txt`), or
/// one whose end the system drops (`.git.`). Naming Files, Paths, and Namespaces, Win32.
pub fn is_plain_on_windows(name: &str) -> bool {
    const DEVICES: &[&str] = &["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    let numbered = |port: &str| {
        let number = stem
            .get(..3)
            .filter(|begin| begin.eq_ignore_ascii_case(port));
        let number = number.and_then(|_| stem.get(3..));
        number.is_some_and(|n| {
            n.chars().count() == 1
                && n.contains([
                    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '¹', '²', '³',
                ])
        })
    };
    !name.contains([':', '"', '<', '>', '|', '*', '?'])
        && !name.ends_with(['.', ' '])
        && !DEVICES
            .iter()
            .any(|device| stem.eq_ignore_ascii_case(device))
        && !numbered("COM")
        && !numbered("LPT")
}

/// `path` without `.` and `..`, as its names alone have it: for what is not there, or is not to be looked at.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// [`canonical`], as far as `path` exists.
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
    in_folders(paths, Path::is_symlink)
}

/// The same without a look at each: what is a link itself keeps its name.
pub fn resolved_folders(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    in_folders(paths, |_| false)
}

fn in_folders(
    paths: impl IntoIterator<Item = PathBuf>,
    is_link: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let mut folders: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut one = |path: PathBuf| match (path.parent(), path.file_name()) {
        // Elsewhere one file has several names (`a.rs`, `A.rs`), of which only the system knows the right one.
        (Some(folder), Some(name)) if cfg!(target_os = "linux") && !is_link(&path) => folders
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

/// Removes a folder and all in it, as far as that can be.
pub fn remove_folder(folder: &Path) {
    if std::fs::remove_dir_all(folder).is_err() {
        // What was made so that nothing can be removed from it, as Go does with the sources that it fetches, and on some
        // systems what git made to be read alone.
        open_up(folder);
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Lets us remove what is in a folder, and follows no link out of it.
fn open_up(folder: &Path) {
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(about) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        // A folder says on Unix whether what is in it may go, on Windows each file for itself.
        if !about.is_symlink() && about.is_dir() == cfg!(unix) {
            allow(&path, &about);
        }
        if about.is_dir() {
            let inside = std::fs::read_dir(path).into_iter().flatten().flatten();
            open.extend(inside.map(|entry| entry.path()));
        }
    }
}

#[cfg(unix)]
fn allow(path: &Path, _: &std::fs::Metadata) {
    use std::os::unix::fs::PermissionsExt as _;
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
}

#[cfg(not(unix))]
#[expect(
    clippy::permissions_set_readonly_false,
    reason = "there it is an attribute of the file, and grants nobody anything"
)]
fn allow(path: &Path, about: &std::fs::Metadata) {
    let mut permissions = about.permissions();
    permissions.set_readonly(false);
    let _ = std::fs::set_permissions(path, permissions);
}

/// Which file it is, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(u64, u64);

/// `None`: there is none, or the system does not tell.
pub fn file_id(path: &Path) -> Option<FileId> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let found = path.metadata().ok()?;
        Some(FileId(found.dev(), found.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_windows_takes_for_something_else_are_none_of_files() {
        for plain in [
            "a.rs", ".git", "console", "com10", "comx", "nul1", "aux-x.c", "ü²", "lpt", "com",
        ] {
            assert!(is_plain_on_windows(plain), "{plain}");
        }
        for other in [
            "a.rs:x",
            "NUL",
            "nul.txt",
            "Con",
            "aux.c",
            "com1",
            "COM¹.log",
            "lpt9",
            ".git.",
            ".git ",
            "a*",
            "CONIN$",
            "nul .txt",
        ] {
            assert!(!is_plain_on_windows(other), "{other}");
        }
    }

    #[test]
    fn paths_of_windows_have_their_usual_names_where_they_can() {
        let long = "a".repeat(200);
        for usual in [r"C:\", r"C:\a b\ü.rs", &format!(r"z:\{long}\{long}\x")] {
            let found = format!(r"\\?\{usual}");
            assert_eq!(without_prefix(&found).as_deref(), Some(usual));
        }
        assert_eq!(
            without_prefix(r"\\?\UNC\wsl.localhost\Debian\home\me").as_deref(),
            Some(r"\\wsl.localhost\Debian\home\me")
        );
        for only in [
            r"C:\a",
            r"\\server\share",
            r"\\?\C:",
            r"\\?\C:\a\con.txt",
            r"\\?\C:\a.\b",
            r"\\?\UNC\server\share\nul",
            r"\\?\Volume{4c1b02c1-d990-11dc-99ae-806e6f6e6963}\a",
            "/a",
        ] {
            assert_eq!(without_prefix(only), None, "{only}");
        }
    }

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
        let real = resolved(&at("real"));
        assert_eq!(
            resolved_folders(["link/a.rs", "link/broken"].map(at)),
            ["a.rs", "broken"].map(|name| real.join(name))
        );
        assert_eq!(resolved_all([PathBuf::from("/")]), [PathBuf::from("/")]);
    }
}
