//! Files of the root that decide what other programs do ([`trust::protected`]): what a command must not change, also
//! where there is none yet. Bubblewrap makes those that exist read-only; those that come into being are set aside
//! under another name when they are seen, and where there is no bubblewrap those that changed are put back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::{files, trust};

/// Folders whose content others made and nobody opens as a project.
const PASSED_OVER: &[&str] = &[
    "node_modules",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
];
/// Of a repository's own folder: what makes git run something. The rest is git's daily work.
const OF_GIT: &[&str] = &[
    "config",
    "config.worktree",
    "hooks",
    "info",
    "modules",
    "worktrees",
    "commondir",
    "gitdir",
];
const DEPTH: usize = 8;
const ENTRIES: usize = 50_000;
/// Bytes of a file, and files, that are kept to be put back.
const KEPT: u64 = 256 << 10;
const FILES: usize = 500;

/// What stood in the root when a command began.
pub(super) struct Guarded {
    root: PathBuf,
    /// Relative to the root.
    known: BTreeSet<PathBuf>,
    /// Content and mode of the files, where they are to be put back.
    kept: Option<BTreeMap<PathBuf, (Vec<u8>, u32)>>,
}

impl Guarded {
    /// `keep`: what changes is to be put back.
    pub fn look(root: &Path, keep: bool) -> Self {
        let known = list(root);
        let kept = keep.then(|| {
            let mut kept = BTreeMap::new();
            for path in known.iter().filter(|path| !is_git(path)) {
                for file in files(root, path) {
                    if let Some(content) = content(&root.join(&file)) {
                        kept.insert(file, content);
                    }
                }
            }
            kept
        });
        Self {
            root: root.to_owned(),
            known,
            kept,
        }
    }

    /// Those that exist, absolute; a repository's folder by its parts.
    pub fn paths(&self) -> Vec<PathBuf> {
        let parts = self.known.iter().filter(|path| !is_git(path));
        parts.map(|path| self.root.join(path)).collect()
    }

    /// Sets aside what came into being; a sentence for each. Whatever runs meanwhile cannot lead it astray.
    pub fn set_aside(&self) -> Vec<String> {
        let mut said = Vec::new();
        for path in list(&self.root) {
            // Of a folder that is new, what is in it went with it.
            let above = path
                .ancestors()
                .skip(1)
                .any(|a| is_git(a) && !self.known.contains(a));
            if !self.known.contains(&path) && !above {
                said.extend(self.put_away(&path));
            }
        }
        said
    }

    /// Puts back what was changed or removed; for when nothing of the command runs any more.
    pub fn put_back(&self) -> Vec<String> {
        let Some(kept) = &self.kept else {
            return Vec::new();
        };
        let mut said = Vec::new();
        for path in self.known.iter().filter(|path| !is_git(path)) {
            for file in files(&self.root, path) {
                let aside = file.to_string_lossy().contains(".refused");
                if !aside && !kept.contains_key(&file) && content(&self.root.join(&file)).is_some()
                {
                    said.extend(self.put_away(&file));
                }
            }
        }
        for (path, (bytes, mode)) in kept {
            let full = self.root.join(path);
            let now = content(&full);
            if now
                .as_ref()
                .is_some_and(|(now, now_mode)| now == bytes && now_mode == mode)
            {
                continue;
            }
            if fs::symlink_metadata(&full).is_ok() {
                said.extend(self.put_away(path));
            }
            let back = full
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&full, bytes))
                .and_then(|()| set_mode(&full, *mode));
            said.push(match back {
                Ok(()) => format!(
                    "`{}` was put back as it was: {}.",
                    path.display(),
                    why(path)
                ),
                Err(error) => format!(
                    "`{}` was changed and could not be put back: {error}.",
                    path.display()
                ),
            });
        }
        said
    }

    /// Gives it a name that nobody acts on; its folder is reached from the root without any link.
    fn put_away(&self, path: &Path) -> Option<String> {
        let (name, folder) = (path.file_name()?, path.parent()?);
        let folder = files::folder(&self.root, folder).ok()?;
        for number in 1..100 {
            let mut aside = name.to_owned();
            aside.push(if number == 1 {
                String::from(".refused")
            } else {
                format!(".refused-{number}")
            });
            match folder.rename_new(name, &aside) {
                Ok(()) => {
                    return Some(format!(
                        "`{}` may not be made by a command ({}): it was renamed to `{}`.",
                        path.display(),
                        why(path),
                        Path::new(&aside).display()
                    ));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == ErrorKind::NotFound => return None,
                Err(error) => {
                    return Some(format!(
                        "`{}` may not be made by a command ({}), and could not be renamed: {error}. Remove it.",
                        path.display(),
                        why(path),
                    ));
                }
            }
        }
        None
    }
}

fn why(path: &Path) -> &'static str {
    trust::protected(&path.to_string_lossy()).unwrap_or("it is guarded")
}

/// A repository's own folder (in a worktree it is a file, and guarded as one).
fn is_git(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".git")
}

/// The guarded places that exist, relative, none inside another but for those of a repository's folder.
fn list(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut left = ENTRIES;
    walk(root, Path::new(""), 0, &mut left, &mut found);
    found
}

fn walk(root: &Path, folder: &Path, depth: usize, left: &mut usize, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(root.join(folder))
        .into_iter()
        .flatten()
        .flatten()
    {
        let Some(less) = left.checked_sub(1) else {
            return;
        };
        *left = less;
        let name = entry.file_name();
        let path = folder.join(&name);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        // Alone by its name: what is above was looked at before. Two names in a row count together.
        let above = folder.file_name().map(Path::new).unwrap_or(Path::new(""));
        if trust::protected(&above.join(&name).to_string_lossy()).is_some() {
            if is_git(&path) && is_folder {
                for part in OF_GIT {
                    if fs::symlink_metadata(root.join(&path).join(part)).is_ok() {
                        found.insert(path.join(part));
                    }
                }
            }
            found.insert(path);
        } else if is_folder && depth < DEPTH && !PASSED_OVER.iter().any(|passed| name == *passed) {
            walk(root, &path, depth + 1, left, found);
        }
    }
}

/// The regular files at and below a place.
fn files(root: &Path, path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(next) = open.pop() {
        let Ok(about) = fs::symlink_metadata(root.join(&next)) else {
            continue;
        };
        if about.is_file() {
            found.push(next);
        } else if about.is_dir() {
            let inside = fs::read_dir(root.join(&next))
                .into_iter()
                .flatten()
                .flatten();
            open.extend(inside.map(|entry| next.join(entry.file_name())));
        }
        if found.len() >= FILES {
            break;
        }
    }
    found
}

/// `None`: no regular file, or one that is too large for what it is.
fn content(path: &Path) -> Option<(Vec<u8>, u32)> {
    let about = fs::symlink_metadata(path).ok()?;
    (about.is_file() && about.len() <= KEPT)
        .then(|| fs::read(path).ok())
        .flatten()
        .map(|bytes| (bytes, mode(&about)))
}

#[cfg(unix)]
fn mode(about: &fs::Metadata) -> u32 {
    about.permissions().mode() & 0o7777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Windows has no modes.
#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> u32 {
    0
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            write(root.path(), file, "old");
        }
        root
    }

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn what_exists_is_known_and_of_git_only_what_makes_it_run_something() {
        let root = root(&[
            ".git/config",
            ".git/hooks/x",
            ".git/HEAD",
            ".git/refs/heads/main",
            ".mcp.json",
            "src/.vscode/tasks.json",
            ".github/workflows/ci.yml",
            ".github/README.md",
            "node_modules/a/.npmrc",
            "src/main.rs",
        ]);
        let guarded = Guarded::look(root.path(), false);
        let names = [
            ".git/config",
            ".git/hooks",
            ".github/workflows",
            ".mcp.json",
            "src/.vscode",
        ];
        assert_eq!(guarded.paths(), names.map(|name| root.path().join(name)));
        assert!(guarded.set_aside().is_empty());
    }

    #[test]
    fn what_comes_into_being_is_set_aside_under_another_name() {
        let root = root(&[".git/config", "a.rs"]);
        let guarded = Guarded::look(root.path(), false);
        for file in [
            ".mcp.json",
            ".mcp.json.refused",
            "sub/.vscode/tasks.json",
            ".git/hooks/pre-commit",
            "sub/.git/config",
            "sub/.git/HEAD",
            "b.rs",
        ] {
            write(root.path(), file, "new");
        }
        let said = guarded.set_aside().join("\n");
        assert_eq!(said.lines().count(), 4, "{said}");
        for gone in [".mcp.json", "sub/.vscode", ".git/hooks", "sub/.git"] {
            assert!(!root.path().join(gone).exists(), "{gone}\n{said}");
        }
        for there in [
            ".mcp.json.refused-2",
            "sub/.vscode.refused/tasks.json",
            ".git/hooks.refused/pre-commit",
            "sub/.git.refused/HEAD",
            "b.rs",
            ".git/config",
        ] {
            assert!(root.path().join(there).exists(), "{there}\n{said}");
        }
        assert!(guarded.set_aside().is_empty());
    }

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let outside = root(&[".vscode/settings.json"]);
        let root = root(&["a/.vscode/x"]);
        let guarded = Guarded::look(root.path(), false);
        fs::remove_dir_all(root.path().join("a")).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("a")).unwrap();
        assert_eq!(guarded.put_away(Path::new("a/.vscode")), None);
        assert!(outside.path().join(".vscode/settings.json").exists());
    }

    #[test]
    fn without_bubblewrap_what_changed_is_put_back() {
        let root = root(&[
            ".git/config",
            ".git/hooks/a",
            ".vscode/settings.json",
            ".envrc",
        ]);
        let guarded = Guarded::look(root.path(), true);
        write(root.path(), ".git/config", "evil");
        write(root.path(), ".git/hooks/post-commit", "evil");
        fs::remove_dir_all(root.path().join(".vscode")).unwrap();
        let said = guarded.put_back().join("\n");
        let read = |file: &str| fs::read_to_string(root.path().join(file)).unwrap();
        assert_eq!(read(".git/config"), "old", "{said}");
        assert_eq!(read(".git/config.refused"), "evil");
        assert_eq!(read(".vscode/settings.json"), "old");
        assert_eq!(read(".envrc"), "old");
        assert!(!root.path().join(".git/hooks/post-commit").exists());
        assert!(guarded.put_back().is_empty(), "{said}");
    }
}
