//! What differs from the last commit. libgit2 reads it: neither `core.fsmonitor` nor a filter or hook of the
//! repository is run, which the git program would do.

use std::collections::BTreeMap;
use std::path::Path;

use git2::{ErrorClass, Repository, Status, StatusOptions};

use super::bytes_to_path;
use crate::os;

/// The lines of `git status --short` for what is below `root` (or below `below`, absolute), paths relative
/// to `root`. Submodules are not looked into.
///
/// # Errors
/// A sentence for the model: no repository, or one that cannot be read.
pub fn status(root: &Path, below: Option<&Path>) -> Result<Vec<String>, String> {
    let repository =
        super::ordinary::discover_whole(root).map_err(|error| match super::obstacle(root) {
            Some(_) => unread(&error),
            None => String::from("The workspace is in no git repository."),
        })?;
    let unread = |error: git2::Error| match is_too_large(&repository) {
        true => TOO_LARGE.to_owned(),
        false => unread(&error),
    };
    let top = repository
        .workdir()
        .and_then(|top| os::canonical(top).ok())
        .ok_or_else(|| String::from("The repository has no work tree."))?;
    let Ok(prefix) = root.strip_prefix(&top) else {
        return Err(String::from(
            "The repository's work tree is another folder than this one (its setting `core.worktree`), so there is no status of it here.",
        ));
    };
    let within = below.unwrap_or(root).strip_prefix(&top).unwrap_or(prefix);

    if let Some(why) = super::ordinary::in_work_tree(below.unwrap_or(root)) {
        return Err(format!("The work tree cannot be read: {why}."));
    }
    let mut options = StatusOptions::new();
    options
        .include_untracked(true)
        .renames_head_to_index(true)
        .exclude_submodules(true)
        .update_index(false)
        .disable_pathspec_match(true);
    if !within.as_os_str().is_empty() {
        options.pathspec(within);
    }
    let shown = |bytes: &[u8]| {
        let path = bytes_to_path(bytes);
        let relative = path.strip_prefix(prefix).unwrap_or(&path);
        let relative = super::path_for_git(relative);
        let text = relative.to_string_lossy();
        // A folder keeps its mark.
        let folder = if bytes.ends_with(b"/") && !text.ends_with('/') {
            "/"
        } else {
            ""
        };
        quoted(&format!("{text}{folder}"))
    };
    let conflicts = conflicts(&repository).map_err(unread)?;
    let statuses = repository.statuses(Some(&mut options)).map_err(unread)?;
    let mut tracked = Vec::new();
    let mut untracked = Vec::new();
    for entry in statuses.iter() {
        let path = entry.path_bytes();
        if entry.status().contains(Status::WT_NEW) {
            untracked.push(format!("?? {}", shown(path)));
            continue;
        }
        let Some(letters) = conflicts
            .get(path)
            .copied()
            .or_else(|| letters(entry.status()))
        else {
            continue;
        };
        let moved = entry.head_to_index().and_then(|delta| {
            let (old, new) = (
                delta.old_file().path_bytes()?,
                delta.new_file().path_bytes()?,
            );
            (old != new).then(|| format!("{} -> {}", shown(old), shown(new)))
        });
        tracked.push(format!(
            "{letters} {}",
            moved.unwrap_or_else(|| shown(path))
        ));
    }
    tracked.append(&mut untracked);
    // Of a path that git knows and that is not there it tells.
    if tracked.is_empty()
        && let Some(below) = below.filter(|below| below.symlink_metadata().is_err())
    {
        return Err(format!(
            "There is no {}, neither on disk nor in git.",
            below.strip_prefix(root).unwrap_or(below).display()
        ));
    }
    Ok(tracked)
}

const TOO_LARGE: &str =
    "The repository cannot be read: something in it is larger than 1024 MiB once it is unpacked.";

fn unread(error: &git2::Error) -> String {
    match error.class() {
        ErrorClass::NoMemory => TOO_LARGE.to_owned(),
        _ => format!("The repository cannot be read: {}.", error.message()),
    }
}

/// Whether HEAD is a commit that libgit2 has not read for its size, or has such a tree, which it does not say.
fn is_too_large(repository: &Repository) -> bool {
    let is_large = |id| {
        let found = repository.odb().and_then(|objects| objects.read_header(id));
        found.is_ok_and(|(size, _)| size > os::MOST_OF_GIT)
    };
    let head = repository.head().ok().and_then(|head| head.target());
    head.is_some_and(|head| {
        let commit = repository.find_commit(head);
        is_large(head) || commit.is_ok_and(|commit| is_large(commit.tree_id()))
    })
}

/// The two columns; `None`: unchanged or ignored.
fn letters(status: Status) -> Option<&'static str> {
    let index = [
        (Status::INDEX_NEW, 1),
        (Status::INDEX_MODIFIED, 2),
        (Status::INDEX_DELETED, 3),
        (Status::INDEX_RENAMED, 4),
        (Status::INDEX_TYPECHANGE, 5),
    ];
    let tree = [
        (Status::WT_MODIFIED, 1),
        (Status::WT_DELETED, 2),
        (Status::WT_TYPECHANGE, 3),
        (Status::WT_RENAMED, 4),
    ];
    let column = |table: &[(Status, usize)]| {
        let found = table.iter().find(|(flag, _)| status.contains(*flag));
        found.map_or(0, |(_, at)| *at)
    };
    let row = [
        [None, Some(" M"), Some(" D"), Some(" T"), Some(" R")],
        [Some("A "), Some("AM"), Some("AD"), Some("AT"), Some("AR")],
        [Some("M "), Some("MM"), Some("MD"), Some("MT"), Some("MR")],
        [Some("D "), Some("DM"), Some("DD"), Some("DT"), Some("DR")],
        [Some("R "), Some("RM"), Some("RD"), Some("RT"), Some("RR")],
        [Some("T "), Some("TM"), Some("TD"), Some("TT"), Some("TR")],
    ];
    row.get(column(&index))?.get(column(&tree)).copied()?
}

/// Paths that a merge left open, with what each side did.
fn conflicts(repository: &Repository) -> Result<BTreeMap<Vec<u8>, &'static str>, git2::Error> {
    let mut found = BTreeMap::new();
    for conflict in repository.index()?.conflicts()? {
        let conflict = conflict?;
        let letters = match (&conflict.ancestor, &conflict.our, &conflict.their) {
            (_, Some(_), Some(_)) if conflict.ancestor.is_none() => "AA",
            (_, Some(_), Some(_)) => "UU",
            (Some(_), Some(_), None) => "UD",
            (Some(_), None, Some(_)) => "DU",
            (None, Some(_), None) => "AU",
            (None, None, Some(_)) => "UA",
            _ => "DD",
        };
        let entry = conflict.our.or(conflict.their).or(conflict.ancestor);
        if let Some(entry) = entry {
            found.insert(entry.path, letters);
        }
    }
    Ok(found)
}

/// A name with blanks or worse in quotes, as git shows it.
fn quoted(name: &str) -> String {
    let odd = |c: char| c == ' ' || c == '"' || c == '\\' || c.is_control();
    if !name.contains(odd) {
        return name.to_owned();
    }
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\{:03o}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
