//! Where commits and files are kept: any of them can be a pipe, and one that is no part of a pack is read whole. What is
//! small there may be large once it is unpacked.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use git2::{Blob, Odb, Oid, Repository};

use crate::os;

use super::{LARGEST, LARGEST_LIST, MOST, in_folder, unread};

/// Folders that hold nothing of the kind, and when they were changed last. There may be thousands of objects, and
/// those that come later come by git.
static ORDINARY: LazyLock<Mutex<HashMap<PathBuf, SystemTime>>> = LazyLock::new(Mutex::default);

/// What stands in `folder`, and in those that it goes on in.
pub(super) fn obstacle(folder: &Path) -> Option<String> {
    let mut folders = vec![folder.to_owned()];
    let mut at = 0;
    while let Some(folder) = folders.get(at).filter(|_| at < MOST).cloned() {
        at += 1;
        let others = folder.join("info/alternates");
        if let Some(why) = unread(&others, LARGEST).or_else(|| in_objects(&folder)) {
            return Some(why);
        }
        let text = std::fs::read(others).unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        let named = lines.map(|line| folder.join(crate::vcs::bytes_to_path(line)));
        for other in named {
            if !folders.contains(&other) && folders.len() < MOST {
                folders.push(other);
            }
        }
    }
    None
}

fn in_objects(folder: &Path) -> Option<String> {
    let changed = folder.metadata().and_then(|found| found.modified()).ok();
    let known = || ORDINARY.lock().unwrap_or_else(PoisonError::into_inner);
    if changed.is_some() && known().get(folder).copied() == changed {
        return None;
    }
    let parts = ["", "info", "info/commit-graphs", "pack"];
    let mut parts = parts.iter().map(|part| folder.join(part));
    let why = parts
        .find_map(|part| in_folder(&part))
        .or_else(|| loose(folder));
    if let (None, Some(changed)) = (&why, changed) {
        known().insert(folder.to_owned(), changed);
    }
    why
}

/// The objects that are in no pack; git puts no larger ones there.
fn loose(folder: &Path) -> Option<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let is_one = |name: &[u8]| name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit);
    let folders = entries
        .map_while(Result::ok)
        .filter(|entry| is_one(entry.file_name().as_encoded_bytes()));
    let mut all = folders
        .flat_map(|entry| std::fs::read_dir(entry.path()).into_iter().flatten())
        .map_while(Result::ok);
    os::bound_libgit2();
    let kept = Odb::new().ok();
    let kept = kept.filter(|kept| kept.add_disk_alternate(&folder.to_string_lossy()).is_ok());
    all.find_map(|entry| {
        let path = entry.path();
        unread(&path, LARGEST_LIST).or_else(|| unpacked(kept.as_ref()?, &path))
    })
}

/// Why an object is not to be unpacked, which tells its size first.
fn unpacked(kept: &Odb, path: &Path) -> Option<String> {
    let (folder, name) = (path.parent()?.file_name()?, path.file_name()?);
    let id = Oid::from_str(&format!("{}{}", folder.to_str()?, name.to_str()?)).ok()?;
    let (size, _) = kept.read_header(id).ok()?;
    is_large(size).then(|| {
        let most = LARGEST_LIST >> 20;
        format!(
            "{} is larger than {most} MiB once it is unpacked",
            path.display()
        )
    })
}

fn is_large(size: usize) -> bool {
    u64::try_from(size).is_ok_and(|size| size > LARGEST_LIST)
}

/// A file that git keeps, where it has at most so many bytes: nothing else of it is unpacked.
pub(in crate::vcs) fn blob(repository: &Repository, id: Oid, most: usize) -> Option<Blob<'_>> {
    let (size, _) = repository.odb().ok()?.read_header(id).ok()?;
    (size <= most).then(|| repository.find_blob(id).ok())?
}
