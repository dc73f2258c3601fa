//! Where a repository is and what it tracks. libgit2 opens none that is another user's, partial, or of another format
//! than its own (SHA-256, reftable): there git's files are found by their names, and the git program reads the index.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Repository};

use super::program::{git, untrusted};
use super::{GitError, index};
use crate::os;

/// A repository that is there.
enum Found {
    Opened(Repository),
    /// Only by its names, and why.
    Closed(Names, git2::Error),
}

struct Names {
    /// The top of the work tree.
    top: PathBuf,
    /// Of this work tree: a linked one has its own below the repository's.
    git: PathBuf,
}

fn found(folder: &Path) -> Option<Found> {
    match super::ordinary::discover(folder) {
        Ok(repository) => Some(Found::Opened(repository)),
        Err(error) if error.code() == ErrorCode::NotFound => None,
        Err(error) => Some(Found::Closed(Names::above(folder)?, error)),
    }
}

impl Names {
    fn above(folder: &Path) -> Option<Self> {
        let folder = os::canonical(folder).ok()?;
        folder.ancestors().find_map(|top| {
            let git = top.join(".git");
            let git = match git.is_dir() {
                true => git,
                false => referred(top, &git, "gitdir: ")?,
            };
            // As git tells a repository from a folder of this name.
            git.join("HEAD").symlink_metadata().ok()?;
            let top = top.to_owned();
            Some(Self { top, git })
        })
    }

    fn common_folder(&self) -> PathBuf {
        let common = referred(&self.git, &self.git.join("commondir"), "");
        common.unwrap_or_else(|| self.git.clone())
    }
}

/// By its names: the top of the work tree at or above `folder`, where `.git` stands, and the repository's folder.
pub(super) fn named(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let names = Names::above(folder)?;
    let common = names.common_folder();
    Some((names.top, common))
}

/// The path behind `before` in `file`, which is relative to `folder`.
pub(super) fn referred(folder: &Path, file: &Path, before: &str) -> Option<PathBuf> {
    let text = Some(file).filter(|file| file.is_file());
    let text = std::fs::read(text?).ok()?;
    let path = text.strip_prefix(before.as_bytes())?;
    let path = super::bytes_to_path(path.trim_ascii_end()).into_owned();
    os::canonical(&folder.join(path)).ok()
}

/// The ordinary files that git tracks below `root` (links and submodules are none): their names relative to it with `/`,
/// each ended by a NUL, in the order of the index; empty where there is no repository. An error: git cannot read it
/// either.
pub fn tracked(root: &Path) -> Result<Vec<u8>, String> {
    match found(root) {
        None => Ok(Vec::new()),
        Some(Found::Opened(repository)) if repository.is_bare() => Ok(Vec::new()),
        Some(Found::Opened(repository)) => {
            // Of an index that it cannot read, git may know more, or at least what is wrong.
            listed(&repository, root).map_or_else(|| asked(root), Ok)
        }
        Some(Found::Closed(..)) => asked(root),
    }
    .map_err(|error| error.to_string())
}

/// All names in the index of the repository whose work tree has its top here, those of links and submodules too,
/// relative to it with `/`. `None`: they cannot be told.
pub fn in_index(top: &Path) -> Option<Vec<Vec<u8>>> {
    if let Found::Opened(repository) = found(top)? {
        if os::canonical(repository.workdir()?).ok()? != os::canonical(top).ok()? {
            return None;
        }
        if let Ok(index) = repository.index() {
            return Some(index.iter().map(|entry| entry.path).collect());
        }
    }
    listed_as(b"1", top).ok()
}

/// Whether git's rules ignore what has this name in `folder`, tracked or not. `None`: they cannot be told.
pub fn ignores(folder: &Path) -> Option<impl Fn(&OsStr) -> bool> {
    let Found::Opened(repository) = found(folder)? else {
        return None;
    };
    let top = os::canonical(repository.workdir()?).ok()?;
    let folder = os::canonical(folder).ok()?;
    let below = folder.strip_prefix(&top).ok()?.to_owned();
    Some(move |name: &OsStr| {
        let ignored = repository.is_path_ignored(below.join(name));
        ignored.unwrap_or(false)
    })
}

fn listed(repository: &Repository, root: &Path) -> Option<Vec<u8>> {
    let top = os::canonical(repository.workdir()?).ok()?;
    let below = os::canonical(root).ok()?;
    let below = super::path_for_git(below.strip_prefix(&top).ok()?);
    let mut below = below.as_os_str().as_encoded_bytes().to_vec();
    if !below.is_empty() {
        below.push(b'/');
    }
    let file = std::fs::read(repository.path().join("index"));
    if let Some(names) = file.ok().and_then(|file| index::names(&file, &below)) {
        return Some(names);
    }
    let mut names = Vec::new();
    for entry in repository.index().ok()?.iter() {
        if let Some(name) = entry.path.strip_prefix(&*below)
            && entry.mode & 0o170_000 == 0o100_000
        {
            names.extend_from_slice(name);
            names.push(0);
        }
    }
    Some(names)
}

fn asked(root: &Path) -> Result<Vec<u8>, GitError> {
    let mut names = Vec::new();
    for name in listed_as(b"100", root)? {
        names.extend(name);
        names.push(0);
    }
    Ok(names)
}

/// The submodules that git has below `root`, relative to it.
pub(super) fn submodules(root: &Path) -> Result<Vec<PathBuf>, GitError> {
    let names = listed_as(b"160", root)?.into_iter();
    Ok(names
        .map(|name| super::bytes_to_path(&name).into_owned())
        .collect())
}

/// The names in the index, relative to `root`, of what has a mode that begins so.
fn listed_as(mode: &[u8], root: &Path) -> Result<Vec<Vec<u8>>, GitError> {
    let mut settings = untrusted();
    // Whose a repository is matters for what its configuration would run; to list the index nothing of it runs.
    settings.push((OsString::from("safe.directory"), "*"));
    let out = git(root, &settings, &["ls-files", "-z", "--stage"], None)?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        let first = said.lines().next().unwrap_or_default().to_owned();
        return Err(GitError::Refused(first));
    }
    // `<mode> <id> <stage>\t<path>`, relative to the folder that was asked in.
    let entries = out.stdout.split(|byte| *byte == 0);
    let names = entries.filter_map(|entry| {
        let (facts, name) = entry.split_at(memchr::memchr(b'\t', entry)?);
        let name = name.get(1..).filter(|_| facts.starts_with(mode))?;
        Some(name.to_vec())
    });
    Ok(names.collect())
}

/// The index file of the repository at or above `root`, and the top of its work tree.
pub fn index_place(root: &Path) -> Option<(PathBuf, PathBuf)> {
    match found(root)? {
        Found::Opened(repository) => {
            let top = repository.workdir()?.to_owned();
            Some((repository.path().join("index"), top))
        }
        Found::Closed(names, _) => Some((names.git.join("index"), names.top)),
    }
}

/// What stands there while git changes the index of the repository at or above `root`, and likely the work tree with it.
pub fn index_lock(root: &Path) -> Option<PathBuf> {
    Some(index_place(root)?.0.with_extension("lock"))
}

/// The folder of the repository that the work tree at (or above) `folder` belongs to; the same for all
/// its linked worktrees.
pub fn common_folder(folder: &Path) -> Option<PathBuf> {
    Some(match found(folder)? {
        Found::Opened(repository) => repository.commondir().to_owned(),
        Found::Closed(names, _) => names.common_folder(),
    })
}

/// The top of the work tree above (or at) `folder`: where `.git` stands, whatever the repository's own `core.worktree`
/// says.
pub fn top(folder: &Path) -> Option<PathBuf> {
    let names = match found(folder)? {
        Found::Opened(repository) if repository.is_bare() => None,
        Found::Opened(_) => Names::above(folder),
        Found::Closed(names, _) => Some(names),
    };
    Some(names?.top)
}

/// The top of the nearest repository above (or at) `folder`: git's, or Jujutsu's or Mercurial's, which are known by their
/// folders alone.
pub fn nearest(folder: &Path) -> Option<PathBuf> {
    let git = top(folder);
    let here = os::canonical(folder).ok();
    let mut above = here.iter().flat_map(|here| here.ancestors());
    let is_top = |folder: &&Path| [".jj", ".hg"].iter().any(|name| folder.join(name).is_dir());
    let other = above.find(is_top).map(Path::to_owned);
    // Both are above the same folder: the longer is the nearer.
    match (git, other) {
        (Some(git), Some(other)) if other.starts_with(&git) => Some(other),
        (git, other) => git.or(other),
    }
}

/// The names that git's settings there give to commands (`alias.co`), and what each stands for; the last of a name counts.
/// `None`: they cannot be told.
pub fn aliases(folder: &Path) -> Option<Vec<(String, String)>> {
    let config = match found(folder) {
        None => git2::Config::open_default(),
        Some(Found::Opened(repository)) => repository.config(),
        Some(Found::Closed(..)) => return None,
    };
    let config = config.ok()?.snapshot().ok()?;
    let mut entries = config.entries(Some("^alias\\.")).ok()?;
    let mut all = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry.ok()?;
        let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
        let value = String::from_utf8_lossy(entry.value_bytes()).into_owned();
        if let Some(name) = name.strip_prefix("alias.") {
            // The newest git has names of any letters, as sections.
            let name = name.strip_suffix(".command").unwrap_or(name);
            all.push((name.to_owned(), value));
        }
    }
    Some(all)
}

/// Why libgit2 does not open the repository at or above `folder`, where there is one, or its history is not read.
pub fn obstacle(folder: &Path) -> Option<String> {
    match found(folder)? {
        Found::Opened(_) => super::ordinary::obstacle_to_objects(folder),
        Found::Closed(_, error) => Some(error.message().to_owned()),
    }
}
