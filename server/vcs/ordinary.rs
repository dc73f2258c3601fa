//! Whether the files of a repository that are read before anything else can be read at all: a pipe in the place of
//! one (an archive can hold it) has libgit2 and git wait for ever, and one of gigabytes is read whole.

use std::path::{Path, PathBuf};

use git2::{ErrorCode, Repository};

use crate::os;

mod config;
mod objects;

pub(super) use objects::blob;

/// Bytes of a file that is read whole. Thousands of branches fit in a configuration of this size.
const LARGEST: u64 = 16 << 20;
/// The same of those that grow with the repository.
const LARGEST_LIST: u64 = 512 << 20;
/// Files of settings that are looked into.
const MOST: usize = 50;

/// Folders of a repository in which git opens whatever has the right name.
const FOLDERS: &[&str] = &["", "info", "logs", "refs/replace"];
/// Files in the top of a work tree.
const AT_TOP: &[&str] = &[".gitmodules", ".mailmap"];
/// Files in each of its folders.
const IN_TREE: &[&str] = &[".gitattributes", ".gitignore"];
/// Read whole by whoever opens the repository.
const SMALL: &[&str] = &["HEAD", "commondir", "config", "config.worktree", "gitdir"];
const LISTS: &[&str] = &["index", "packed-refs", "shallow"];

/// The repository at or above `folder`.
pub(super) fn discover(folder: &Path) -> Result<Repository, git2::Error> {
    os::bound_libgit2();
    match obstacle(folder) {
        Some(why) => Err(git2::Error::from_str(&why)),
        None => opened(folder),
    }
}

/// The same for who reads commits and files of it.
pub(super) fn discover_whole(folder: &Path) -> Result<Repository, git2::Error> {
    os::bound_libgit2();
    match obstacle_to_objects(folder) {
        Some(why) => Err(git2::Error::from_str(&why)),
        None => opened(folder),
    }
}

/// Git takes a link to a branch for a `HEAD`, also where the branch has no file of its own. That libgit2 finds no
/// repository then does not mean that there is none.
fn opened(folder: &Path) -> Result<Repository, git2::Error> {
    Repository::discover(folder).map_err(|error| match parts(folder) {
        Some(Ok((_, own)))
            if error.code() == ErrorCode::NotFound && own.join("HEAD").is_symlink() =>
        {
            let head = own.join("HEAD");
            git2::Error::from_str(&format!("{} is a link to no file", head.display()))
        }
        _ => error,
    })
}

/// Why the repository at or above `folder` is not to be opened, where there is one.
pub(super) fn obstacle(folder: &Path) -> Option<String> {
    match parts(folder)? {
        Ok((top, own)) => in_tree(&top, folder).or_else(|| in_repository(&own)),
        Err(why) => Some(why),
    }
}

/// The same, or why what is kept in it is not to be read.
pub(super) fn obstacle_to_objects(folder: &Path) -> Option<String> {
    obstacle(folder).or_else(|| {
        let (_, own) = parts(folder)?.ok()?;
        let common = super::found::referred(&own, &own.join("commondir"), "");
        objects::obstacle(&common.unwrap_or(own).join("objects"))
    })
}

/// The top of the work tree and the repository's folder. An error: why that cannot be told.
fn parts(folder: &Path) -> Option<Result<(PathBuf, PathBuf), String>> {
    let folder = os::canonical(folder).ok()?;
    let (top, git) = folder.ancestors().find_map(|top| {
        let git = top.join(".git");
        if git.symlink_metadata().is_ok() {
            return Some((top, git));
        }
        let is_bare = top.join("HEAD").symlink_metadata().is_ok() && top.join("objects").is_dir();
        is_bare.then(|| (top, top.to_owned()))
    })?;
    if git.is_dir() {
        return Some(Ok((top.to_owned(), git)));
    }
    if let Some(why) = unread(&git, LARGEST) {
        return Some(Err(why));
    }
    let own = super::found::referred(top, &git, "gitdir: ")?;
    Some(Ok((top.to_owned(), own)))
}

/// What git reads in `folder` and in those below it, ignored ones too: some of what stands there may be tracked.
pub(super) fn in_work_tree(folder: &Path) -> Option<String> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let Ok(entry) = entry else { break };
            let (name, sort) = (entry.file_name(), entry.file_type());
            if IN_TREE.iter().any(|read| name == **read) {
                if let Some(why) = stuck(&entry.path()) {
                    return Some(why);
                }
            } else if sort.is_ok_and(|sort| sort.is_dir()) && name != ".git" {
                folders.push(entry.path());
            }
        }
    }
    None
}

/// What git reads in the folders from `folder` up to the top.
fn in_tree(top: &Path, folder: &Path) -> Option<String> {
    let folder = os::canonical(folder).ok()?;
    let folders = folder
        .ancestors()
        .take_while(|above| above.starts_with(top));
    let each = folders.flat_map(|folder| IN_TREE.iter().map(|name| folder.join(name)));
    let mut all = each.chain(AT_TOP.iter().map(|name| top.join(name)));
    all.find_map(|file| stuck(&file))
}

fn in_repository(own: &Path) -> Option<String> {
    if let Some(why) = in_folders(own) {
        return Some(why);
    }
    let common = super::found::referred(own, &own.join("commondir"), "");
    let common = common.filter(|common| common != own);
    if let Some(why) = common.as_deref().and_then(in_folders) {
        return Some(why);
    }
    let places: Vec<&Path> = std::iter::once(own).chain(common.as_deref()).collect();
    // The branch, and the notes that we read.
    let head = std::fs::read(own.join("HEAD")).unwrap_or_default();
    let branch = head.strip_prefix(b"ref: ").map(<[u8]>::trim_ascii);
    let branch = branch.map(|name| super::bytes_to_path(name).into_owned());
    let refs = branch
        .into_iter()
        .chain([PathBuf::from("refs/notes/postil")]);
    for name in refs.filter(|name| name.is_relative()) {
        for place in &places {
            let files = [place.join(&name), place.join("logs").join(&name)];
            if let Some(why) = files.iter().find_map(|file| stuck(file)) {
                return Some(why);
            }
        }
    }
    let configs = places
        .iter()
        .flat_map(|place| ["config", "config.worktree"].map(|name| place.join(name)));
    settings(configs.collect())
}

/// What stands in the folders of a repository that git reads by name.
fn in_folders(git: &Path) -> Option<String> {
    let unread = |names: &[&str], largest| {
        let mut files = names.iter().map(|name| git.join(name));
        files.find_map(|file| unread(&file, largest))
    };
    let mut folders = FOLDERS.iter().map(|folder| git.join(folder));
    folders
        .find_map(|folder| in_folder(&folder))
        .or_else(|| unread(SMALL, LARGEST))
        .or_else(|| unread(LISTS, LARGEST_LIST))
}

/// What stands in one folder, whatever its name.
fn in_folder(folder: &Path) -> Option<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let plain = |sort: std::fs::FileType| sort.is_file() || sort.is_dir();
    entries
        .map_while(Result::ok)
        .filter(|entry| !entry.file_type().is_ok_and(plain))
        .find_map(|entry| stuck(&entry.path()))
}

/// Files that the settings name, and those that they go on in.
fn settings(mut files: Vec<PathBuf>) -> Option<String> {
    let mut at = 0;
    while let Some(file) = files.get(at).filter(|_| at < MOST).cloned() {
        at += 1;
        if let Some(why) = unread(&file, LARGEST) {
            return Some(why);
        }
        let text = std::fs::read(&file).unwrap_or_default();
        let folder = file.parent().unwrap_or(&file);
        for (name, value) in config::values(&text) {
            // `include.path`, `core.excludesFile`: no address, which may be a file system that does not answer.
            if !name.ends_with(b"path") && !name.ends_with(b"file") {
                continue;
            }
            let value = super::bytes_to_path(&value).into_owned();
            let value = match value.strip_prefix("~") {
                Ok(rest) => os::home().unwrap_or_default().join(rest),
                Err(_) => folder.join(value),
            };
            if let Some(why) = stuck(&value) {
                return Some(why);
            }
            // Another than `include.path` it does no harm to look into.
            if name.ends_with(b"path") && value.is_file() {
                files.push(value);
            }
        }
    }
    None
}

/// A pipe or device in the place of this file.
fn stuck(file: &Path) -> Option<String> {
    os::never_ends(file).then(|| format!("{} is no ordinary file", file.display()))
}

/// The same, or a file that is too large to be read whole.
fn unread(file: &Path, largest: u64) -> Option<String> {
    stuck(file).or_else(|| {
        let found = file.metadata().ok()?;
        (found.is_file() && found.len() > largest)
            .then(|| format!("{} is larger than {} MiB", file.display(), largest >> 20))
    })
}
