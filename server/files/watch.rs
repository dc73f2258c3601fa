//! Watching the folders of a tree, where the editor does not do it for us.
//!
//! Only folders that hold files which the scan reads are watched, one by one: what is ignored (build output,
//! dependencies) costs nothing and wakes nobody.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use notify::event::{EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::Tree;

/// Changes come in bursts (a checkout, a build); they are gathered this long.
const GATHER: Duration = Duration::from_millis(50);
/// Folders that are watched at most; the system has limits of its own.
const MOST: usize = 16_384;

/// Stops when dropped.
pub struct Watch {
    _watcher: Arc<std::sync::Mutex<RecommendedWatcher>>,
}

/// Calls `changed` with the files of `tree` that were made, changed or removed, from a thread of its own.
/// Blocking for the time of a walk. An error says why nothing is watched, in words for a person.
pub fn watch(
    tree: &Tree,
    changed: impl Fn(Vec<PathBuf>) + Send + 'static,
) -> Result<Watch, String> {
    let files = tree.list("").map_err(|error| error.to_string())?;
    let folders = folders(tree.root(), &files);
    let (sender, events) = channel();
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if let Ok(event) = event {
            // The other side is gone when the watch is.
            let _ = sender.send(event);
        }
    });
    let mut watcher = watcher.map_err(|error| error.to_string())?;
    for folder in folders.iter().take(MOST) {
        match watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => {}
            Err(error) if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) => {
                return Err(String::from(
                    "the system's limit of watched folders is reached (fs.inotify.max_user_watches)",
                ));
            }
            // It is gone meanwhile, or cannot be read.
            Err(error) => tracing::debug!("{} is not watched: {error}", folder.display()),
        }
    }
    let watcher = Arc::new(std::sync::Mutex::new(watcher));
    let weak = Arc::downgrade(&watcher);
    let watch_too = move |folder: &Path| {
        if let Some(watcher) = weak.upgrade()
            && let Ok(mut watcher) = watcher.lock()
            && let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive)
        {
            tracing::debug!("{} is not watched: {error}", folder.display());
        }
    };
    std::thread::spawn(move || gather(&events, &watch_too, &changed));
    Ok(Watch { _watcher: watcher })
}

/// The root, and each folder between it and a file.
fn folders(root: &Path, files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::from([root.to_owned()]);
    for file in files {
        for folder in file
            .ancestors()
            .skip(1)
            .take_while(|folder| folder.starts_with(root))
        {
            if !folders.insert(folder.to_owned()) {
                break;
            }
        }
    }
    folders
}

fn gather(events: &Receiver<Event>, watch_too: &impl Fn(&Path), changed: &impl Fn(Vec<PathBuf>)) {
    while let Ok(first) = events.recv() {
        let mut paths = HashSet::new();
        take(first, watch_too, &mut paths);
        // A fixed time: a file that is written all the time (a log) must not hold the others back.
        let end = Instant::now() + GATHER;
        loop {
            match events.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(event) => take(event, watch_too, &mut paths),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        if !paths.is_empty() {
            let mut paths: Vec<PathBuf> = paths.into_iter().collect();
            paths.sort();
            changed(paths);
        }
    }
}

fn take(event: Event, watch_too: &impl Fn(&Path), paths: &mut HashSet<PathBuf>) {
    let counts = match event.kind {
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => false,
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    };
    if !counts {
        return;
    }
    for path in event.paths {
        if path.components().any(|part| part.as_os_str() == ".git") {
            continue;
        }
        // A new folder may have its files already.
        if path.symlink_metadata().is_ok_and(|data| data.is_dir()) {
            watch_too(&path);
            let inside = std::fs::read_dir(&path)
                .into_iter()
                .flatten()
                .filter_map(Result::ok);
            paths.extend(
                inside
                    .map(|entry| entry.path())
                    .filter(|path| path.is_file()),
            );
        } else {
            paths.insert(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::files::Buffers;

    const DEADLINE: Duration = Duration::from_secs(10);

    #[test]
    fn what_changes_on_disk_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("src")).unwrap();
        std::fs::write(root.join("src/a.rs"), "fn a() {}\n").unwrap();
        let tree = Tree::new(&root, Arc::<Buffers>::default()).unwrap();
        let (sender, told) = channel();
        let watch = watch(&tree, move |paths| sender.send(paths).unwrap()).unwrap();

        let wait_for = |path: PathBuf| {
            while !told.recv_timeout(DEADLINE).unwrap().contains(&path) {}
        };
        std::fs::write(root.join("src/a.rs"), "fn b() {}\n").unwrap();
        wait_for(root.join("src/a.rs"));
        std::fs::create_dir(root.join("new")).unwrap();
        std::fs::write(root.join("new/b.rs"), "fn b() {}\n").unwrap();
        wait_for(root.join("new/b.rs"));
        std::fs::remove_file(root.join("src/a.rs")).unwrap();
        wait_for(root.join("src/a.rs"));
        drop(watch);
    }
}
