//! What of the root is guarded: where it stands, and what is in it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::files::{self as tree, Kind};
use crate::trust;

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
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "commondir",
    "gitdir",
];
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

/// What tells a folder or file from any other; the number of one that is gone is given to another one soon.
pub(super) type Id = (u64, u64, Option<SystemTime>);

/// One look through the root; all paths are relative to it.
#[derive(Default)]
pub(super) struct Look {
    /// The guarded places that exist, none inside another but for those of a repository's folder.
    pub known: BTreeSet<PathBuf>,
    /// Of these, the folders of repositories: guarded by their parts.
    pub repositories: BTreeSet<PathBuf>,
    /// What git's configuration names in the work tree, guarded whatever it is called.
    obeyed: Option<trust::Obeyed>,
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
            if earlier.has_left_out(&folder, &full) {
                continue;
            }
            let was_reached = earlier.reached.contains(&folder);
            if left == 0 && !was_reached {
                look.left_out_ids.extend(id(&full));
                look.left_out.insert(folder);
                continue;
            }
            let mut count: usize = 0;
            for entry in fs::read_dir(&full).into_iter().flatten().flatten() {
                count += 1;
                let path = folder.join(entry.file_name());
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_guarded(&path) || look.is_obeyed(&path) {
                    look.add(root, path, is_folder);
                } else if is_folder && depth < DEPTH && !is_passed_over(&path) {
                    let queue = if earlier.reached.contains(&path) {
                        &mut old
                    } else {
                        &mut new
                    };
                    queue.push_back((path, depth + 1));
                }
            }
            if !was_reached {
                left = left.saturating_sub(count);
            }
            look.reached.insert(folder);
        }
        look
    }

    pub fn first(root: &Path) -> Self {
        let none = Self {
            obeyed: trust::Obeyed::of(root).and_then(|obeyed| obeyed.below(root)),
            ..Self::default()
        };
        Self::new(root, &none, ENTRIES)
    }

    pub fn again(&self, root: &Path) -> Self {
        Self::new(root, self, ENTRIES)
    }

    fn add(&mut self, root: &Path, path: PathBuf, is_folder: bool) {
        if is_folder && is_git(&path) {
            for part in OF_GIT.iter().chain(&[MODULES, WORKTREES]) {
                if fs::symlink_metadata(root.join(&path).join(part)).is_ok() {
                    self.known.insert(path.join(part));
                }
            }
            self.repositories.insert(path.clone());
        }
        self.known.insert(path);
    }

    fn is_obeyed(&self, path: &Path) -> bool {
        self.obeyed.as_ref().is_some_and(|obeyed| obeyed.is(path))
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

/// Where git keeps what it knows of a repository's worktrees, which it changes as the author works in them.
pub(super) fn is_of_worktrees(path: &Path) -> bool {
    path.ends_with(Path::new(".git").join(WORKTREES))
}

/// The regular files and links at and below a place that matter, and whether these are all.
pub(super) fn files(root: &Path, place: &Path) -> (Vec<PathBuf>, bool) {
    let of_git = is_of_worktrees(place) || place.ends_with(Path::new(".git").join(MODULES));
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
        } else if (about.is_file() || about.is_symlink()) && (!of_git || names(OF_GIT)) {
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
        let (folder, name) = (file.parent()?, file.file_name()?);
        let folder = tree::folder(root, folder).ok()?;
        let state = folder.state(name).ok()?;
        Some(match state.kind {
            Kind::Link => Self::Link(folder.link_target(name).ok()?),
            Kind::File => match folder.bytes(name, KEPT) {
                Ok(Some(bytes)) => Self::File(bytes, state.mode),
                _ => Self::Other,
            },
            Kind::Folder | Kind::Other => Self::Other,
        })
    }

    /// All of a place, and whether it is all.
    pub fn all(root: &Path, place: &Path) -> (BTreeMap<PathBuf, Self>, bool) {
        let (files, whole) = files(root, place);
        let kept = files.into_iter().filter_map(|file| {
            let kept = Self::read(root, &file)?;
            Some((file, kept))
        });
        (kept.collect(), whole)
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
