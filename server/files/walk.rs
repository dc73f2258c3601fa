//! Which files the scan reads: those that git tracks, and what is neither hidden nor ignored. One pass
//! over the folders by several threads; a name that is tracked is known by a look into a set, and the
//! rules are asked for the rest alone.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

use super::FileError;
use super::ignored::{self, Makes, Rules};

/// An ordinary file: its folder's handle, its folder relative to the root, its name.
pub(super) struct Place<'a> {
    pub folder: &'a OwnedFd,
    pub path: &'a [u8],
    pub name: &'a CStr,
}

impl Place<'_> {
    /// Relative to the root.
    pub(super) fn relative(&self) -> PathBuf {
        Path::new(OsStr::from_bytes(self.path)).join(OsStr::from_bytes(self.name.to_bytes()))
    }
}

/// Whether the scan of `root` would read `file` (absolute): asked of one file, without a walk.
pub(super) fn lists(root: &Path, file: &Path) -> bool {
    let Ok(relative) = file.strip_prefix(root) else {
        return false;
    };
    let hidden = relative
        .components()
        .any(|part| part.as_os_str().as_bytes().starts_with(b"."));
    let below = |path: &&Path| *path != root && path.starts_with(root);
    let ignored =
        |path: &Path| ignored::is_ignored(ignored::above(path).as_ref(), path, path != file);
    (!hidden && !file.ancestors().take_while(below).any(ignored)) || {
        let tracked = crate::vcs::tracked(root).unwrap_or_default();
        tracked.iter().any(|path| path == relative)
    }
}

/// How many threads: `wanted`, or twice the processors where it is 0 (a cold cache waits for the disk).
pub(super) fn readers(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(4, |n| n.get() * 2),
        n => n,
    }
}

/// Calls `each` for every file below the folder `start`, in no order, with a state for each thread.
/// Folders that cannot be read are in the second list.
pub(super) fn walk<S: Default + Send>(
    root: &Path,
    start: &Path,
    threads: usize,
    each: &(impl Fn(&mut S, &Place) + Sync),
) -> io::Result<(Vec<S>, Vec<FileError>)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let walk = Walk {
        root,
        top: rustix::fs::openat(CWD, root, flags, Mode::empty())?,
        tracked: Tracked::of(root),
        jobs: Jobs::default(),
        failed: Mutex::default(),
        each,
    };
    let relative = start.strip_prefix(root).unwrap_or(Path::new(""));
    let rules = ignored::above(start);
    let first = Folder {
        path: relative.as_os_str().as_bytes().to_vec(),
        rules,
        tracked_only: false,
    };
    walk.jobs.add(&mut vec![Job::Folder(first)]);
    let states = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1))
            .map(|_| scope.spawn(|| walk.work()))
            .collect();
        workers
            .into_iter()
            .filter_map(|worker| worker.join().ok())
            .collect()
    });
    let failed = walk
        .failed
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    Ok((states, failed))
}

/// Paths that git tracks, relative to the root, and the folders that they are in.
#[derive(Default)]
struct Tracked {
    files: HashSet<Vec<u8>>,
    folders: HashSet<Vec<u8>>,
}

impl Tracked {
    fn of(root: &Path) -> Self {
        let mut tracked = Self::default();
        let files = crate::vcs::tracked(root).unwrap_or_default();
        tracked.files.reserve(files.len());
        let mut last = Vec::new();
        for file in files {
            let file = file.into_os_string().into_vec();
            let folder = file
                .iter()
                .rposition(|b| *b == b'/')
                .and_then(|at| file.get(..at))
                .unwrap_or_default();
            // Neighbours in the index mostly share their folder.
            if folder != last {
                last = folder.to_vec();
                let mut above = folder;
                while !above.is_empty() && !tracked.folders.contains(above) {
                    tracked.folders.insert(above.to_vec());
                    above = above
                        .iter()
                        .rposition(|b| *b == b'/')
                        .and_then(|at| above.get(..at))
                        .unwrap_or_default();
                }
            }
            tracked.files.insert(file);
        }
        tracked
    }
}

struct Folder {
    /// Relative to the root.
    path: Vec<u8>,
    /// Of the folders above.
    rules: Option<Arc<Rules>>,
    /// It is hidden or ignored, with tracked files in it.
    tracked_only: bool,
}

enum Job {
    Folder(Folder),
    /// A part of a large folder's files.
    Files {
        folder: Arc<OwnedFd>,
        path: Arc<[u8]>,
        names: Vec<CString>,
    },
}

/// Files that one job looks at: few enough that the threads end together.
const SHARE: usize = 128;

struct Walk<'a, E> {
    root: &'a Path,
    top: OwnedFd,
    tracked: Tracked,
    jobs: Jobs,
    failed: Mutex<Vec<FileError>>,
    each: &'a E,
}

impl<E> Walk<'_, E> {
    fn work<S: Default>(&self) -> S
    where
        E: Fn(&mut S, &Place),
    {
        let mut state = S::default();
        let mut new = Vec::new();
        while let Some(taken) = self.jobs.take() {
            match &taken.job {
                Job::Folder(folder) => {
                    if let Err(source) = self.folder(folder, &mut state, &mut new) {
                        self.failed(&folder.path, source);
                    }
                }
                Job::Files {
                    folder,
                    path,
                    names,
                } => {
                    for name in names {
                        (self.each)(&mut state, &Place { folder, path, name });
                    }
                }
            }
            self.jobs.add(&mut new);
        }
        state
    }

    fn failed(&self, path: &[u8], source: io::Error) {
        use rustix::io::Errno;
        // Removed, or made a link or file, since its name was read.
        if let Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) = Errno::from_io_error(&source) {
            return;
        }
        let path = String::from_utf8_lossy(path).into_owned();
        self.failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(FileError::Io { path, source });
    }

    fn folder<S>(&self, folder: &Folder, state: &mut S, new: &mut Vec<Job>) -> io::Result<()>
    where
        E: Fn(&mut S, &Place),
    {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let name = if folder.path.is_empty() {
            &b"."[..]
        } else {
            &folder.path
        };
        let handle = rustix::fs::openat(&self.top, name, flags, Mode::empty())?;
        let (entries, makes) = read(&handle)?;
        let absolute = self.root.join(OsStr::from_bytes(&folder.path));
        let rules = ignored::inside(&absolute, makes, folder.rules.clone());

        let mut path = folder.path.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        let length = path.len();
        // Whether a folder above (itself tracked, so that it was entered unasked) is ignored.
        let all_ignored = OnceCell::new();
        let is_ignored = |relative: &[u8], is_folder: bool| {
            *all_ignored.get_or_init(|| self.is_below_ignored(&folder.path, folder.rules.as_ref()))
                || ignored::is_ignored(
                    rules.as_ref(),
                    &self.root.join(OsStr::from_bytes(relative)),
                    is_folder,
                )
        };
        let mut files = Vec::new();
        for (name, kind) in entries {
            path.truncate(length);
            path.extend_from_slice(name.to_bytes());
            let hidden = name.to_bytes().starts_with(b".");
            match kind {
                FileType::RegularFile => {
                    let wanted = self.tracked.files.contains(&path)
                        || (!folder.tracked_only && !hidden && !is_ignored(&path, false));
                    if wanted {
                        files.push(name);
                    }
                }
                FileType::Directory => {
                    let has_tracked = self.tracked.folders.contains(&path);
                    let tracked_only = folder.tracked_only || hidden;
                    if has_tracked || (!tracked_only && !is_ignored(&path, true)) {
                        let rules = rules.clone();
                        new.push(Job::Folder(Folder {
                            path: path.clone(),
                            rules,
                            tracked_only,
                        }));
                    }
                }
                _ => {}
            }
        }
        path.truncate(length.saturating_sub(1));
        self.files(handle, path, files, state, new);
        Ok(())
    }

    /// Looks at the first of a folder's files and leaves the others, where they are many, to all threads.
    fn files<S>(
        &self,
        handle: OwnedFd,
        path: Vec<u8>,
        mut files: Vec<CString>,
        state: &mut S,
        new: &mut Vec<Job>,
    ) where
        E: Fn(&mut S, &Place),
    {
        if files.len() > SHARE {
            let handle = Arc::new(handle);
            let path: Arc<[u8]> = path.into();
            while !files.is_empty() {
                let names = files.split_off(files.len().saturating_sub(SHARE));
                new.push(Job::Files {
                    folder: Arc::clone(&handle),
                    path: Arc::clone(&path),
                    names,
                });
            }
            return;
        }
        for name in &files {
            (self.each)(
                state,
                &Place {
                    folder: &handle,
                    path: &path,
                    name,
                },
            );
        }
    }

    /// Whether `path` or a folder above it, up to the root, is ignored.
    fn is_below_ignored(&self, path: &[u8], rules: Option<&Arc<Rules>>) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        let folders = path
            .ancestors()
            .filter(|a| self.tracked.folders.contains(a.as_os_str().as_bytes()));
        let mut folders = folders.filter(|a| !a.as_os_str().is_empty());
        folders.any(|folder| ignored::is_ignored(rules, &self.root.join(folder), true))
    }
}

/// A folder's entries and what among them makes rules.
fn read(handle: &OwnedFd) -> io::Result<(Vec<(CString, FileType)>, Makes)> {
    let mut entries = Vec::new();
    let mut makes = Makes::default();
    for entry in Dir::new(handle.try_clone()?)? {
        let entry = entry?;
        let name = entry.file_name();
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            // Some file systems do not say.
            kind = rustix::fs::statat(handle, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| {
                    FileType::from_raw_mode(stat.st_mode)
                });
        }
        match name.to_bytes() {
            b"." | b".." => continue,
            // Nobody tracks what is in it.
            b".git" => {
                makes.git = true;
                continue;
            }
            b".gitignore" => makes.gitignore = kind == FileType::RegularFile,
            b".ignore" => makes.ignore = kind == FileType::RegularFile,
            _ => {}
        }
        entries.push((name.to_owned(), kind));
    }
    Ok((entries, makes))
}

/// What is to be done, and by how many it is being done: none of either is the end.
#[derive(Default)]
struct Jobs {
    state: Mutex<(Vec<Job>, usize)>,
    changed: Condvar,
}

/// A job in hand; given back when it is dropped, by a panic too.
struct Taken<'a> {
    jobs: &'a Jobs,
    job: Job,
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, (Vec<Job>, usize)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, new: &mut Vec<Job>) {
        if !new.is_empty() {
            self.lock().0.append(new);
            self.changed.notify_all();
        }
    }

    /// Waits where others may still add; `None`: all is done.
    fn take(&self) -> Option<Taken<'_>> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.0.pop() {
                state.1 += 1;
                return Some(Taken { jobs: self, job });
            }
            if state.1 == 0 {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut state = self.jobs.lock();
        state.1 -= 1;
        if state.1 == 0 {
            self.jobs.changed.notify_all();
        }
    }
}
