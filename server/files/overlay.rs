//! Changes that a turn has thought of and nobody has agreed to yet: they go before the buffers and the disk for
//! whoever reads through this tree, and nobody else sees them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dashmap::DashMap;

use super::Tree;
use super::ignored::{self, User};

/// One file. `None`: it does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    pub before: Option<Arc<str>>,
    pub after: Option<Arc<str>>,
    /// The permission bits of a file that is made like another.
    pub mode: Option<u32>,
    /// The file whose place one that is made takes (a rename): one that was there before all plans.
    pub like: Option<PathBuf>,
}

#[derive(Default)]
pub struct Overlay {
    files: DashMap<PathBuf, Planned>,
    off: AtomicBool,
}

impl Overlay {
    /// What is planned for a resolved path; nothing while it is [off](Self::set_off).
    pub fn get(&self, path: &Path) -> Option<Planned> {
        if self.off.load(Ordering::SeqCst) {
            return None;
        }
        self.files.get(path).map(|planned| planned.clone())
    }

    pub fn is_on(&self) -> bool {
        !self.off.load(Ordering::SeqCst)
    }

    /// While the changes are made, files are as they are.
    pub fn set_off(&self, off: bool) {
        self.off.store(off, Ordering::SeqCst);
    }

    /// A change; the first one of a file knows what it was before. Changed back is not changed.
    pub fn put(&self, path: PathBuf, mut planned: Planned) {
        if let Some(known) = self.files.get(&path) {
            planned.before.clone_from(&known.before);
            planned.mode = planned.mode.or(known.mode);
            planned.like = planned.like.or_else(|| known.like.clone());
        }
        // One that is only planned has no place of its own; it may have taken another's.
        let taken = planned.like.as_ref().and_then(|like| self.files.get(like));
        let taken = taken.filter(|known| known.before.is_none());
        if let Some(known) = taken.map(|known| known.like.clone()) {
            planned.like = known;
        }
        if planned.before.is_some() {
            planned.like = None;
        }
        if planned.before == planned.after {
            self.files.remove(&path);
        } else {
            self.files.insert(path, planned);
        }
    }

    /// In the order of paths.
    pub fn all(&self) -> Vec<(PathBuf, Planned)> {
        let mut all: Vec<_> = self
            .files
            .iter()
            .map(|entry| (entry.key().clone(), entry.value().clone()))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    pub fn clear(&self) {
        self.files.clear();
    }
}

/// What the overlay of a tree changes in a list of the files below one folder.
#[derive(Default)]
pub(super) struct PlannedBelow {
    /// Made, and neither hidden nor ignored.
    pub made: Vec<PathBuf>,
    pub changed: HashSet<PathBuf>,
    pub removed: HashSet<PathBuf>,
}

impl PlannedBelow {
    /// Whether the folder itself is there only because of what is made in it.
    pub fn is_folder(&self, start: &Path) -> bool {
        !start.exists() && self.made.iter().any(|file| file != start)
    }
}

impl Tree {
    /// What is planned at `start` (resolved) and below it.
    pub(super) fn planned_below(&self, start: &Path) -> PlannedBelow {
        let mut below = PlannedBelow::default();
        let Some(overlay) = self.overlay.as_ref().filter(|overlay| overlay.is_on()) else {
            return below;
        };
        let mut user = None;
        for (path, planned) in overlay.all() {
            if !path.starts_with(start) {
                continue;
            }
            match (planned.before, planned.after) {
                (_, None) => {
                    below.removed.insert(path);
                }
                (Some(_), Some(_)) => {
                    below.changed.insert(path);
                }
                (None, Some(_)) => {
                    let user = user.get_or_insert_with(|| User::load(self.root()));
                    if path == start || self.would_be_seen(start, &path, user) {
                        below.made.push(path);
                    }
                }
            }
        }
        below
    }

    /// Whether a walk from `start` would come to a file that is not there yet.
    fn would_be_seen(&self, start: &Path, file: &Path, user: &User) -> bool {
        let below = |path: &&Path| *path != self.root() && path.starts_with(self.root());
        let ignored =
            |at: &Path| ignored::is_ignored(ignored::above(at).as_ref(), user, at, at != file);
        let hidden = file.strip_prefix(start).is_ok_and(|rest| {
            rest.iter()
                .any(|name| name.as_encoded_bytes().starts_with(b"."))
        });
        !hidden && !file.ancestors().take_while(below).any(ignored)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::{Buffers, Query};

    /// A tree on disk, and through it one with plans.
    fn planned() -> (tempfile::TempDir, Tree) {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            (".gitignore", "/out/\n"),
            (".git/HEAD", "ref: refs/heads/main\n"),
            ("src/a.rs", "fn old() {}\n"),
            ("src/gone.rs", "fn old() {}\n"),
            ("docs/only.md", "old\n"),
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let overlay = Arc::new(Overlay::default());
        let tree = Tree::new(folder.path(), Arc::<Buffers>::default()).unwrap();
        for (file, before, after) in [
            ("src/a.rs", Some("fn old() {}\n"), Some("fn new() {}\n")),
            ("src/gone.rs", Some("fn old() {}\n"), None),
            ("src/deep/made.rs", None, Some("fn new() {}\n")),
            ("fresh/made.rs", None, Some("fn new() {}\n")),
            ("out/made.rs", None, Some("fn new() {}\n")),
            (".hidden/made.rs", None, Some("fn new() {}\n")),
            ("target/made.rs", None, Some("fn new() {}\n")),
        ] {
            let text = |text: Option<&str>| text.map(Into::into);
            let planned = Planned {
                before: text(before),
                after: text(after),
                ..Planned::default()
            };
            overlay.put(tree.root().join(file), planned);
        }
        let tree = tree.with_overlay(overlay);
        (folder, tree)
    }

    fn grep(tree: &Tree, path: &str, pattern: &str) -> Result<String, String> {
        let query = Query {
            pattern: pattern.to_owned(),
            include: None,
            context: 0,
            max_matches: 100,
            max_size: 1 << 20,
            longest: std::time::Duration::MAX,
            hides: None,
        };
        tree.grep(path, &query, &|| false).map(|found| found.text)
    }

    #[test]
    fn a_search_sees_what_is_planned() {
        let (_folder, tree) = planned();
        assert_eq!(
            grep(&tree, ".", "fn ").unwrap(),
            "fresh/made.rs:1:fn new() {}\nsrc/a.rs:1:fn new() {}\nsrc/deep/made.rs:1:fn new() {}\ntarget/made.rs:1:fn new() {}\n"
        );
        assert_eq!(
            grep(&tree, "fresh", "new").unwrap(),
            "fresh/made.rs:1:fn new() {}\n"
        );
        assert_eq!(
            grep(&tree, "fresh/made.rs", "new").unwrap(),
            "fresh/made.rs:1:fn new() {}\n"
        );
        let gone = grep(&tree, "src/gone.rs", "old").unwrap_err();
        assert!(gone.contains("path not found"), "{gone}");
        // While they are made, files are as they are.
        tree.overlay().unwrap().set_off(true);
        assert!(
            grep(&tree, "src/gone.rs", "old")
                .unwrap()
                .contains("fn old")
        );
        assert_eq!(grep(&tree, ".", "new").unwrap(), "");
    }

    #[test]
    fn names_are_found_as_they_are_planned() {
        let (_folder, tree) = planned();
        let glob = |pattern: &str, path: &str| {
            let found = tree.glob(pattern, path, 100, 1000);
            let mut paths = found.map_err(|e| vec![e]).map(|named| named.paths);
            if let Ok(paths) = &mut paths {
                paths.sort();
            }
            paths
        };
        let all = ["fresh/made.rs", "src/a.rs", "src/deep/made.rs"];
        assert_eq!(glob("**/*.rs", ".").unwrap(), all);
        assert_eq!(glob("*.rs", "fresh").unwrap(), ["fresh/made.rs"]);
        assert!(glob("*", "src/gone.rs").is_err() && glob("*", "fresh/made.rs").is_err());
        let newest = tree.glob("**/*", ".", 1, 1000).unwrap().paths;
        assert_ne!(newest, ["docs/only.md"]);
        let list = |path: &str, recursive| tree.entries(path, recursive, None, 100);
        let paths = |path, recursive| list(path, recursive).unwrap().paths;
        assert_eq!(paths(".", false), ["docs/", "fresh/", "src/"]);
        assert_eq!(paths("src", false), ["src/a.rs", "src/deep/"]);
        assert_eq!(
            paths("src", true),
            ["src/a.rs", "src/deep/", "src/deep/made.rs"]
        );
        assert_eq!(paths("fresh", false), ["fresh/made.rs"]);
        assert_eq!(paths("src/*/*.rs", false), ["src/deep/made.rs"]);
        assert!(list("src/gone.rs", false).is_err());
        assert!(
            list("src/deep/made.rs", false)
                .unwrap_err()
                .contains("file")
        );
        assert!(list("nowhere", false).is_err());
    }
}
