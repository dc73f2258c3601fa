//! What `.gitignore`, `.ignore`, `info/exclude` and the user's excludes say of a name, with ripgrep's
//! precedence. Asked only for what git does not track, so most rules of a tree are never read.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The rules that stand in one folder, and those above it.
pub(super) struct Rules {
    folder: PathBuf,
    above: Option<Arc<Rules>>,
    /// A repository begins here: rules of git above it do not count below.
    top: bool,
    has_gitignore: bool,
    has_ignore: bool,
    gitignore: OnceLock<Gitignore>,
    ignore: OnceLock<Gitignore>,
    /// `info/exclude` of the repository that begins here.
    exclude: OnceLock<Gitignore>,
}

/// What a folder has that makes rules.
#[derive(Clone, Copy, Default)]
pub(super) struct Makes {
    pub git: bool,
    pub gitignore: bool,
    pub ignore: bool,
}

impl Makes {
    fn any(self) -> bool {
        self.git || self.gitignore || self.ignore
    }
}

/// The rules in `folder`: those above where it makes none.
pub(super) fn inside(folder: &Path, makes: Makes, above: Option<Arc<Rules>>) -> Option<Arc<Rules>> {
    if !makes.any() {
        return above;
    }
    Some(Arc::new(Rules {
        folder: folder.to_owned(),
        above,
        top: makes.git,
        has_gitignore: makes.gitignore,
        has_ignore: makes.ignore,
        gitignore: OnceLock::new(),
        ignore: OnceLock::new(),
        exclude: OnceLock::new(),
    }))
}

/// The rules of all folders above `start`.
pub(super) fn above(start: &Path) -> Option<Arc<Rules>> {
    let mut folders: Vec<&Path> = start.ancestors().skip(1).collect();
    folders.reverse();
    let is_file = |path: PathBuf| path.symlink_metadata().is_ok_and(|m| m.is_file());
    folders.into_iter().fold(None, |above, folder| {
        let makes = Makes {
            git: folder.join(".git").symlink_metadata().is_ok(),
            gitignore: is_file(folder.join(".gitignore")),
            ignore: is_file(folder.join(".ignore")),
        };
        inside(folder, makes, above)
    })
}

/// Whether `path` (absolute) is ignored by the rules of the folders above it; those of its own folder and
/// below play no part where it is a folder. That a folder above is ignored is not looked at.
pub(super) fn is_ignored(rules: Option<&Arc<Rules>>, path: &Path, is_folder: bool) -> bool {
    let chain = || {
        let first = rules.map(|r| &**r);
        let all = std::iter::successors(first, |r| r.above.as_deref());
        all.filter(|r| path != r.folder && path.starts_with(&r.folder))
    };
    let said = |of: &dyn Fn(&Rules) -> Option<bool>, within: bool| {
        for rules in chain() {
            if let Some(said) = of(rules) {
                return Some(said);
            }
            if within && rules.top {
                break;
            }
        }
        None
    };
    let in_repository = chain().any(|r| r.top);
    said(&|r| r.ignore(path, is_folder), false)
        .or_else(|| in_repository.then(|| said(&|r| r.gitignore(path, is_folder), true))?)
        .or_else(|| in_repository.then(|| said(&|r| r.exclude(path, is_folder), true))?)
        .or_else(|| in_repository.then(|| matched(of_user(), path, is_folder))?)
        .unwrap_or(false)
}

impl Rules {
    fn read(&self, file: PathBuf) -> Gitignore {
        let mut builder = GitignoreBuilder::new(&self.folder);
        // A line that is no pattern is passed over, as git does.
        let _ = builder.add(file);
        builder.build().unwrap_or_else(|_| Gitignore::empty())
    }

    fn ignore(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let read = || self.read(self.folder.join(".ignore"));
        self.has_ignore
            .then(|| matched(self.ignore.get_or_init(read), path, is_folder))?
    }

    fn gitignore(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let read = || self.read(self.folder.join(".gitignore"));
        self.has_gitignore
            .then(|| matched(self.gitignore.get_or_init(read), path, is_folder))?
    }

    fn exclude(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let read = || {
            let git = self.folder.join(".git");
            // A linked worktree has its repository elsewhere.
            let common = if git.is_dir() {
                Some(git)
            } else {
                crate::vcs::common_folder(&self.folder)
            };
            common.map_or_else(Gitignore::empty, |git| self.read(git.join("info/exclude")))
        };
        self.top
            .then(|| matched(self.exclude.get_or_init(read), path, is_folder))?
    }
}

/// `core.excludesFile`, or its default place.
fn of_user() -> &'static Gitignore {
    static RULES: OnceLock<Gitignore> = OnceLock::new();
    RULES.get_or_init(|| Gitignore::global().0)
}

fn matched(rules: &Gitignore, path: &Path, is_folder: bool) -> Option<bool> {
    match rules.matched(path, is_folder) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}
