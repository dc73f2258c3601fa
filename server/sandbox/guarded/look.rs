//! What of the root is guarded: where it stands, and what is in it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::files::{self as tree, Kind};
use crate::trust::{self, OF_GIT, REBASE_TODO};

/// Folders whose content others made and nobody opens as a project.
const PASSED_OVER: &[&str] = &[
    "node_modules",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
];
/// What makes a folder of any other name a repository to git, together with [`BARE`].
pub(super) const HEAD: &str = "HEAD";
const BARE: &[&str] = &["refs", "commondir"];
/// Folders in it that hold more such folders, of submodules and of worktrees.
const MODULES: &str = "modules";
const WORKTREES: &str = "worktrees";
/// What is no more than daily work in those, whatever it is called.
const DAILY: &[&str] = &["objects", "refs", "logs", "lfs"];
const DEPTH: usize = 8;
/// Names of folders, those apart that an earlier look reached. A folder is listed whole or not at all.
const ENTRIES: usize = 50_000;
/// Bytes of a file, and files of a place, that are kept to be put back.
const KEPT: u64 = 256 << 10;
const FILES: usize = 500;
/// Bytes that are kept of all places together, and of all of repositories.
pub(super) const ALL_KEPT: u64 = 64 << 20;

/// What tells a folder or file from any other; the number of one that is gone is given to another one soon.
pub(super) type Id = (u64, u64, Option<SystemTime>);

/// One look through the root; all paths are relative to it.
#[derive(Default)]
pub(super) struct Look {
    /// The guarded places that exist, none inside another but for those of a repository's folder.
    pub known: BTreeSet<PathBuf>,
    /// Of these, the folders of repositories, of those with a name of their own the `HEAD`: guarded by their parts.
    pub repositories: BTreeSet<PathBuf>,
    /// What git's configurations name in the work tree, guarded whatever it is called.
    obeyed: Vec<trust::Obeyed>,
    /// The folders that were listed.
    reached: BTreeSet<PathBuf>,
    /// Those that were there and were not listed, by name and by what they are: they may be renamed meanwhile.
    left_out: BTreeSet<PathBuf>,
    left_out_ids: BTreeSet<Id>,
}

impl Look {
    /// From the root's own names down, the folders first that `earlier` reached, without those that it left out: of
    /// what is in them nobody knows what is new.
    pub fn new(root: &Path, earlier: &Self, most: usize) -> Self {
        let mut look = Self {
            obeyed: earlier.obeyed.clone(),
            ..Self::default()
        };
        let mut left = most;
        let mut old = VecDeque::from([(PathBuf::new(), 0)]);
        let mut new = VecDeque::new();
        while let Some((folder, depth)) = old.pop_front().or_else(|| new.pop_front()) {
            let full = root.join(&folder);
            if earlier.has_left_out(&folder, &full) || look.is_inside(&folder, earlier) {
                continue;
            }
            let was_reached = earlier.reached.contains(&folder);
            if left == 0 && !was_reached {
                look.left_out_ids.extend(id(&full));
                look.left_out.insert(folder);
                continue;
            }
            let mut count: usize = 0;
            let mut has_head = false;
            for entry in fs::read_dir(&full).into_iter().flatten().flatten() {
                count += 1;
                let path = folder.join(entry.file_name());
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let is_named = is_guarded(&path) && !super::is_aside(&path);
                if is_named || look.is_obeyed(&path) {
                    look.add(root, path, is_folder);
                } else if is_folder && depth < DEPTH && !is_passed_over(&path) {
                    let queue = if earlier.reached.contains(&path) {
                        &mut old
                    } else {
                        &mut new
                    };
                    queue.push_back((path, depth + 1));
                } else if !is_folder {
                    has_head |= entry.file_name().eq_ignore_ascii_case(HEAD);
                }
            }
            if has_head && !super::stops::is_set_aside(root, &folder) {
                look.add_bare(root, &folder);
            }
            if !was_reached {
                left = left.saturating_sub(count);
            }
            look.reached.insert(folder);
        }
        look
    }

    pub fn first(root: &Path) -> Self {
        let of = |folder: &Path| trust::Obeyed::of(folder)?.below(root);
        let mut none = Self {
            obeyed: of(root).into_iter().collect(),
            ..Self::default()
        };
        let look = Self::new(root, &none, ENTRIES);
        let repositories = look.known.iter().filter(|path| look.is_repository(path));
        let nested = repositories.filter_map(|path| path.parent());
        let nested = nested.filter(|folder| !folder.as_os_str().is_empty());
        let more: Vec<_> = nested.filter_map(|folder| of(&root.join(folder))).collect();
        if more.is_empty() {
            return look;
        }
        none.obeyed.extend(more);
        Self::new(root, &none, ENTRIES)
    }

    pub fn again(&self, root: &Path) -> Self {
        Self::new(root, self, ENTRIES)
    }

    fn add(&mut self, root: &Path, path: PathBuf, is_folder: bool) {
        if is_folder && is_git(&path) {
            self.add_parts(root, &path);
            self.repositories.insert(path.clone());
        }
        self.known.insert(path);
    }

    fn add_bare(&mut self, root: &Path, folder: &Path) {
        let is_there = |name: &&str| is_there(&root.join(folder).join(name));
        if BARE.iter().any(is_there) {
            self.add_parts(root, folder);
            self.repositories.insert(folder.join(HEAD));
            self.known.insert(folder.join(HEAD));
        }
    }

    fn add_parts(&mut self, root: &Path, repository: &Path) {
        for part in OF_GIT.iter().chain(&[REBASE_TODO, MODULES, WORKTREES]) {
            let part = repository.join(part);
            if is_there(&root.join(&part)) {
                self.known.insert(part);
            }
        }
        if !self.obeyed.is_empty() {
            let names = fs::read_dir(root.join(repository)).into_iter().flatten();
            let names = names
                .flatten()
                .map(|entry| repository.join(entry.file_name()));
            let obeyed: Vec<_> = names.filter(|path| self.is_obeyed(path)).collect();
            self.known.extend(obeyed);
        }
    }

    /// Whether repositories of worktrees and submodules lie in it, which are looked at as parts of theirs. Of a new
    /// repository nothing is left out.
    fn is_inside(&self, folder: &Path, earlier: &Self) -> bool {
        let look = if earlier.reached.is_empty() {
            self
        } else {
            earlier
        };
        let head = folder.parent().map(|repository| repository.join(HEAD));
        (folder.ends_with(WORKTREES) || folder.ends_with(MODULES))
            && head.is_some_and(|head| look.repositories.contains(&head))
    }

    fn is_obeyed(&self, path: &Path) -> bool {
        self.obeyed.iter().any(|obeyed| obeyed.is(path))
    }

    /// Whether it stands for a repository: its folder, the file that names that, or its `HEAD`.
    pub fn is_repository(&self, path: &Path) -> bool {
        is_git(path) || self.repositories.contains(path)
    }

    /// Whether `path` is in a repository, or is one, of which the `earlier` look knew nothing.
    pub fn is_in_new(&self, path: &Path, earlier: &Self) -> bool {
        let is_new = |path: &Path| self.is_repository(path) && !earlier.known.contains(path);
        // By its own name, or another repository's configuration.
        let is_own = is_guarded(path) || self.is_obeyed(path);
        let is_of = |folder: &Path| OF_GIT.iter().any(|part| folder.join(part) == path);
        let mut above = path.ancestors().skip(1);
        above.any(|folder| is_new(folder) || !is_own && is_of(folder) && is_new(&folder.join(HEAD)))
    }

    fn has_left_out(&self, folder: &Path, full: &Path) -> bool {
        !self.left_out.is_empty()
            && (self.left_out.contains(folder)
                || id(full).is_some_and(|id| self.left_out_ids.contains(&id)))
    }
}

/// By its name and that of its folder: what is above was looked at before.
fn is_guarded(path: &Path) -> bool {
    let above = path.parent().and_then(Path::file_name).unwrap_or_default();
    let name = path.file_name().unwrap_or_default();
    trust::protected(&Path::new(above).join(name).to_string_lossy()).is_some()
}

fn is_passed_over(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    PASSED_OVER.iter().any(|passed| name == *passed)
}

/// Whether it has the name of a repository's own folder (in a worktree it is a file).
pub(super) fn is_git(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".git")
}

pub(super) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Whether it is this part of a repository.
fn is_part(root: &Path, path: &Path, name: &str) -> bool {
    let is_repository = |folder: &Path| is_git(folder) || trust::has_head(&root.join(folder));
    path.ends_with(name) && path.parent().is_some_and(is_repository)
}

/// Where git keeps what it knows of a repository's worktrees, which it changes as the author works in them.
pub(super) fn is_of_worktrees(root: &Path, path: &Path) -> bool {
    is_part(root, path, WORKTREES)
}

/// Whether git's daily work writes it as well, so that no mount may keep commands from it: what is to be done of a
/// rebase, and what a repository of another name than `.git` keeps of worktrees and submodules, which may lie beside it.
pub(super) fn is_open(root: &Path, path: &Path) -> bool {
    let is_bare = |name| !path.parent().is_some_and(is_git) && is_part(root, path, name);
    is_todo(path) || is_bare(WORKTREES) || is_bare(MODULES)
}

pub(super) fn is_todo(path: &Path) -> bool {
    path.ends_with(REBASE_TODO)
}

/// The regular files and links at and below a place that matter, and whether these are all.
pub(super) fn files(root: &Path, place: &Path) -> (Vec<PathBuf>, bool) {
    let of_git = is_of_worktrees(root, place) || is_part(root, place, MODULES);
    let mut found = Vec::new();
    let mut open = vec![place.to_owned()];
    while let Some(next) = open.pop() {
        let Ok(about) = fs::symlink_metadata(root.join(&next)) else {
            continue;
        };
        let inside = next.strip_prefix(place).unwrap_or(&next);
        let names = |names: &[&str]| {
            let mut parts = inside.components();
            parts.any(|part| {
                let mut firsts = names.iter().filter_map(|name| name.split('/').next());
                firsts.any(|name| part.as_os_str() == name)
            })
        };
        if about.is_dir() {
            if of_git && names(DAILY) {
                continue;
            }
            let inside = fs::read_dir(root.join(&next))
                .into_iter()
                .flatten()
                .flatten();
            open.extend(inside.map(|entry| next.join(entry.file_name())));
        } else if (about.is_file() || about.is_symlink())
            && (!of_git || names(OF_GIT) || is_todo(&next))
        {
            if found.len() == FILES {
                return (found, false);
            }
            found.push(next);
        }
    }
    (found, true)
}

/// What stands at a path, to be compared and put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// With its mode.
    File(Vec<u8>, u32),
    /// Where it leads, as it is written.
    Link(PathBuf),
    /// Too large for what it is, or no file.
    Other,
}

/// All through the folder's handle: other commands of the run may go on, and put a link in the place of any folder.
impl Kept {
    /// `None`: there is nothing, or a link above it.
    pub fn read(root: &Path, file: &Path) -> Option<Self> {
        Self::read_most(root, file, KEPT)
    }

    fn read_most(root: &Path, file: &Path, most: u64) -> Option<Self> {
        let (folder, name) = (file.parent()?, file.file_name()?);
        let folder = tree::folder(root, folder).ok()?;
        let state = folder.state(name).ok()?;
        Some(match state.kind {
            Kind::Link => Self::Link(folder.link_target(name).ok()?),
            Kind::File => match folder.bytes(name, most) {
                Ok(Some(bytes)) => Self::File(bytes, state.mode),
                _ => Self::Other,
            },
            Kind::Folder | Kind::Other => Self::Other,
        })
    }

    /// All of a place, and whether it is all. `left` are the bytes that may still be kept.
    pub fn all(root: &Path, place: &Path, left: &mut u64) -> (BTreeMap<PathBuf, Self>, bool) {
        let (files, whole) = files(root, place);
        let kept = files.into_iter().filter_map(|file| {
            let kept = Self::read_most(root, &file, KEPT.min(*left))?;
            if let Self::File(bytes, _) = &kept {
                *left = left.saturating_sub(bytes.len() as u64);
            }
            Some((file, kept))
        });
        (kept.collect(), whole)
    }

    /// Whether what stands at `path` now may stay where this was.
    pub fn allows(&self, path: &Path, now: &Self) -> bool {
        *self == Self::Other
            || self == now
            || is_todo(path)
                && now.runs().is_some_and(|lines| {
                    let before = self.runs().unwrap_or_default();
                    lines.iter().all(|line| before.contains(line))
                })
    }

    /// Of what is to be done of a rebase, the lines that run something; `None`: nobody knows.
    pub fn runs(&self) -> Option<Vec<String>> {
        let Self::File(bytes, _) = self else {
            return None;
        };
        let text = String::from_utf8_lossy(bytes);
        let runs = |line: &&str| matches!(line.split_whitespace().next(), Some("exec" | "x"));
        let lines = text.lines().map(str::trim).filter(runs);
        Some(lines.map(str::to_owned).collect())
    }

    /// Puts it where nothing is.
    pub fn write(&self, root: &Path, file: &Path) -> std::io::Result<()> {
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
            return Ok(());
        };
        let folder = tree::make_folder(root, folder)?;
        match self {
            Self::File(bytes, mode) => folder.write_new(name, bytes, *mode),
            Self::Link(target) => folder.make_link(target, name),
            Self::Other => Ok(()),
        }
    }
}

/// `None`: it is not there, or the system does not tell.
#[cfg(unix)]
pub(super) fn id(path: &Path) -> Option<Id> {
    let about = fs::symlink_metadata(path).ok()?;
    Some((about.dev(), about.ino(), about.created().ok()))
}

/// When it was changed last in any way, which no program can set.
#[cfg(unix)]
pub(super) fn changed(path: &Path) -> Option<SystemTime> {
    let about = fs::symlink_metadata(path).ok()?;
    let seconds = std::time::Duration::from_secs(u64::try_from(about.ctime()).ok()?);
    let rest = std::time::Duration::from_nanos(u64::try_from(about.ctime_nsec()).ok()?);
    Some(SystemTime::UNIX_EPOCH + seconds + rest)
}

#[cfg(not(unix))]
pub(super) fn id(_: &Path) -> Option<Id> {
    None
}

#[cfg(not(unix))]
pub(super) fn changed(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).ok()?.modified().ok()
}
