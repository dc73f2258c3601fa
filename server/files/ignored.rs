//! What `.gitignore`, `.ignore`, `info/exclude` and the user's excludes say of a name, with ripgrep's
//! precedence. Asked only for what git does not track, so most rules of a tree are never read.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use dashmap::DashMap;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

/// Whether a file of this name holds rules, wherever it lies.
pub fn is_ignore_file(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == ".gitignore" || name == ".ignore")
}

/// The rules that stand in one folder, and those above it.
pub(super) struct Rules {
    folder: PathBuf,
    above: Option<Arc<Rules>>,
    /// A repository begins here: rules of git above it do not count below.
    top: bool,
    has_gitignore: bool,
    has_ignore: bool,
    gitignore: Source,
    ignore: Source,
    /// `info/exclude` of the repository that begins here.
    exclude: Source,
    print: OnceLock<u64>,
}

/// A file of rules, read once: what it says and its fingerprint are of the same bytes.
#[derive(Default)]
struct Source {
    text: OnceLock<Vec<u8>>,
    rules: OnceLock<Gitignore>,
}

impl Source {
    fn text(&self, file: impl FnOnce() -> Option<PathBuf>) -> &[u8] {
        self.text.get_or_init(|| {
            file()
                // A pipe never ends.
                .filter(|file| file.is_file())
                .and_then(|file| std::fs::read(file).ok())
                .unwrap_or_default()
        })
    }

    fn rules(&self, folder: &Path, file: impl FnOnce() -> Option<PathBuf>) -> &Gitignore {
        self.rules.get_or_init(|| parse(folder, self.text(file)))
    }
}

/// A line that is no pattern, or no UTF-8, is passed over.
fn parse(folder: &Path, text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    for line in text.split(|byte| *byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        let _ = builder.add_line(None, line.strip_suffix('\r').unwrap_or(line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The user's own rules (`core.excludesFile`, or its default place) for a tree.
pub(super) struct User {
    rules: Gitignore,
    pub(super) print: u64,
}

impl User {
    pub(super) fn load(root: &Path) -> Self {
        let place = gitconfig_excludes_path().filter(|path| path.is_file());
        let text = place.and_then(|path| std::fs::read(path).ok());
        let text = text.unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self {
            rules: parse(root, &text),
            print: hasher.finish(),
        }
    }
}

/// What a folder has that makes rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Makes {
    pub git: bool,
    pub gitignore: bool,
    pub ignore: bool,
}

impl Makes {
    fn of(folder: &Path) -> Self {
        let is_there = |name| folder.join(name).symlink_metadata();
        let is_file = |name| is_there(name).is_ok_and(|about| about.is_file());
        Self {
            git: is_there(".git").is_ok(),
            gitignore: is_file(".gitignore"),
            ignore: is_file(".ignore"),
        }
    }

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
        gitignore: Source::default(),
        ignore: Source::default(),
        exclude: Source::default(),
        print: OnceLock::new(),
    }))
}

/// The rules of all folders above `start`.
pub(super) fn above(start: &Path) -> Option<Arc<Rules>> {
    let mut folders: Vec<&Path> = start.ancestors().skip(1).collect();
    folders.reverse();
    let rules = |above, folder: &Path| inside(folder, Makes::of(folder), above);
    folders.into_iter().fold(None, rules)
}

/// The rules of the folders that a walk of the crate `ignore` comes through, each read once. Of a file of rules with a
/// line that is no UTF-8 that crate itself reads no further.
pub(super) struct OfWalk {
    user: User,
    folders: DashMap<PathBuf, Option<Arc<Rules>>>,
}

impl OfWalk {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            user: User::load(root),
            folders: DashMap::new(),
        }
    }

    /// Whether `path` (absolute) is neither ignored nor hidden. What the rules take in is not hidden.
    pub(super) fn shows(&self, path: &Path, is_folder: bool) -> bool {
        let rules = path.parent().and_then(|folder| self.inside(folder));
        let is_ignored = said(rules.as_ref(), &self.user, path, is_folder);
        !is_ignored.unwrap_or_else(|| {
            let name = path.file_name().unwrap_or_default();
            name.as_encoded_bytes().starts_with(b".")
        })
    }

    fn inside(&self, folder: &Path) -> Option<Arc<Rules>> {
        if let Some(known) = self.folders.get(folder) {
            return known.clone();
        }
        let above = folder.parent().and_then(|above| self.inside(above));
        let rules = inside(folder, Makes::of(folder), above);
        self.folders.insert(folder.to_owned(), rules.clone());
        rules
    }
}

/// Whether `path` (absolute) is ignored by the rules of the folders above it; those of its own folder and
/// below play no part where it is a folder. That a folder above is ignored is not looked at.
pub(super) fn is_ignored(
    rules: Option<&Arc<Rules>>,
    user: &User,
    path: &Path,
    is_folder: bool,
) -> bool {
    said(rules, user, path, is_folder).unwrap_or(false)
}

/// The same; `None`: no rule is about it.
fn said(rules: Option<&Arc<Rules>>, user: &User, path: &Path, is_folder: bool) -> Option<bool> {
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
        .or_else(|| in_repository.then(|| matched(&user.rules, path, is_folder))?)
}

impl Rules {
    /// A fingerprint of these rules and of those above.
    pub(super) fn print(&self) -> u64 {
        *self.print.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            self.above
                .as_ref()
                .map(|above| above.print())
                .hash(&mut hasher);
            self.folder.hash(&mut hasher);
            (self.top, self.has_gitignore, self.has_ignore).hash(&mut hasher);
            if self.has_gitignore {
                self.gitignore
                    .text(|| self.file(".gitignore"))
                    .hash(&mut hasher);
            }
            if self.has_ignore {
                self.ignore.text(|| self.file(".ignore")).hash(&mut hasher);
            }
            if self.top {
                self.exclude.text(|| self.exclude_file()).hash(&mut hasher);
            }
            hasher.finish()
        })
    }

    #[expect(clippy::unnecessary_wraps, reason = "as the other files have it")]
    fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.join(name))
    }

    fn exclude_file(&self) -> Option<PathBuf> {
        let git = self.folder.join(".git");
        // A linked worktree has its repository elsewhere.
        let common = if git.is_dir() {
            Some(git)
        } else {
            crate::vcs::common_folder(&self.folder)
        };
        Some(common?.join("info/exclude"))
    }

    fn ignore(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let rules = || self.ignore.rules(&self.folder, || self.file(".ignore"));
        self.has_ignore.then(|| matched(rules(), path, is_folder))?
    }

    fn gitignore(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let rules = || {
            self.gitignore
                .rules(&self.folder, || self.file(".gitignore"))
        };
        self.has_gitignore
            .then(|| matched(rules(), path, is_folder))?
    }

    fn exclude(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let rules = || self.exclude.rules(&self.folder, || self.exclude_file());
        self.top.then(|| matched(rules(), path, is_folder))?
    }
}

fn matched(rules: &Gitignore, path: &Path, is_folder: bool) -> Option<bool> {
    match rules.matched(path, is_folder) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}
