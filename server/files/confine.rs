//! Confinement: a path is resolved to one below the root that has no link left in it, and opened
//! relative to a handle of the root (`at`), so that a link put there between the two does not lead out.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::FileError;
use super::at::{Folder, Obstacle, leads_out, obstacle};
use crate::os;

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
    if path
        .components()
        .any(|part| matches!(part, Component::Normal(name) if !is_plain(name)))
    {
        return Err(FileError::NotOrdinary(path.display().to_string()));
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
    settle(root, at).ok_or_else(outside)
}

/// The components of `path` on top of `todo`, the first one last.
fn push(todo: &mut Vec<OsString>, path: &Path) -> Option<()> {
    let at = todo.len();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) if is_plain(name) => todo.push(name.to_owned()),
            Component::ParentDir => todo.push(OsString::from("..")),
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    todo.get_mut(at..)?.reverse();
    Some(())
}

/// What is found under a path on a file system that has several names for a file: in other letters, and short ones
/// (`GIT~1` for `.git`), which what is protected by its name would not know.
fn settle(root: &Path, at: PathBuf) -> Option<PathBuf> {
    if !cfg!(windows) {
        return Some(at);
    }
    let at = os::resolved(&at);
    at.starts_with(root).then_some(at)
}

fn is_plain(name: &OsStr) -> bool {
    !cfg!(windows) || name.to_str().is_some_and(os::is_plain_on_windows)
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
    if cfg!(windows) && is_of_another_share(&root.to_string_lossy(), &path.to_string_lossy()) {
        return None;
    }
    // The deepest part that exists, canonical, and the rest as it is.
    for ancestor in path.ancestors() {
        if let Ok(canonical) = os::canonical(ancestor) {
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

/// Whether a path of Windows is on another machine than `root`, or no path of files (`\\.\pipe\x`). Such a one is not even
/// looked for: Windows would tell that machine who asks, with what a password can be guessed from.
fn is_of_another_share(root: &str, path: &str) -> bool {
    let share = |path: &str| {
        let path = path.replace('/', r"\");
        let mut names = path.strip_prefix(r"\\")?.split('\\');
        let names = [
            names.next().unwrap_or_default(),
            names.next().unwrap_or_default(),
        ];
        Some(names.map(str::to_lowercase))
    };
    share(path).is_some_and(|of| share(root) != Some(of))
}

/// Opens the folder `relative` (no links in it) below `root`.
///
/// # Errors
/// Where it is not there, or a link is on the way.
pub fn folder(root: &Path, relative: &Path) -> io::Result<Folder> {
    let top = Folder::open(root)?;
    if relative.as_os_str().is_empty() {
        return Ok(top);
    }
    top.below(relative)
}

/// What the kernel said of `path`, in our words.
pub(super) fn error(path: &str, source: io::Error) -> FileError {
    match obstacle(&source) {
        Obstacle::Gone => FileError::NotFound(path.to_owned()),
        // A link where there was none a moment ago.
        Obstacle::Link => FileError::Outside(path.to_owned()),
        Obstacle::Folder => FileError::IsFolder(path.to_owned()),
        Obstacle::Special | Obstacle::Other => FileError::Io {
            // The root by itself.
            path: String::from(if path.is_empty() { "." } else { path }),
            source,
        },
    }
}

/// Opens the folder `relative` below `root`, making what is missing of it (0755).
///
/// # Errors
/// As [`folder`], and where it cannot be made.
pub fn make_folder(root: &Path, relative: &Path) -> io::Result<Folder> {
    match folder(root, relative) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    let mut at = folder(root, Path::new(""))?;
    for component in relative.components() {
        let Component::Normal(name) = component else {
            return Err(leads_out());
        };
        at.make(name)?;
        at = at.step(name)?;
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_of_windows_is_not_asked() {
        let root = r"C:\w";
        for there in [
            r"\\evil\share\a.rs",
            "//evil/share",
            r"\\.\pipe\x",
            r"\\?\C:\w\a",
            r"\/evil\s",
        ] {
            assert!(is_of_another_share(root, there), "{there}");
        }
        for here in [r"C:\w\a", r"d:\", "C:/w", r"\a", "/a", "a"] {
            assert!(!is_of_another_share(root, here), "{here}");
        }
        let root = r"\\wsl.localhost\Debian\home\me";
        for here in [
            r"\\WSL.localhost\debian\etc",
            "//wsl.localhost/Debian",
            r"C:\a",
        ] {
            assert!(!is_of_another_share(root, here), "{here}");
        }
        for there in [
            r"\\wsl.localhost\Other\home",
            r"\\wsl.localhost",
            r"\\wsl.localhost\Debian2",
        ] {
            assert!(is_of_another_share(root, there), "{there}");
        }
    }
}
