//! Which files the scan reads: those that git tracks, and what is neither hidden nor ignored. One pass
//! over the folders by several threads; a name that is tracked is known by a look into a list, and the
//! rules are asked for the rest alone.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::FileError;
use super::at::{self, Folder as Handle, Kind, Obstacle, name_of};
use super::ignored::{self, Makes, Rules, User};
use super::known::{Head, Index, Known, Listed, Mark, Old};
use jobs::Jobs;
use tracked::Tracked;

mod jobs;
mod tracked;

/// An ordinary file: its folder's handle, its folder relative to the root, its name.
pub(super) struct Place<'a> {
    pub folder: &'a Handle,
    pub path: &'a [u8],
    pub name: &'a CStr,
    /// What an earlier scan found.
    pub old: Option<Old<'a>>,
    /// Number of the folder in this walk, and of the part of its files.
    pub part: (u32, u32),
    /// It lies on another device than the root: its state says nothing.
    pub foreign: bool,
}

impl Place<'_> {
    /// Relative to the root, with `/`.
    pub(super) fn relative(&self) -> PathBuf {
        PathBuf::from(name_of(&join(self.path, self.name.to_bytes())))
    }

    pub(super) fn absolute(&self, root: &Path) -> PathBuf {
        at::below(root, &join(self.path, self.name.to_bytes()))
    }
}

/// Whether the scan of `root` would read `file` (absolute): asked of one file, without a walk.
pub(super) fn lists(root: &Path, file: &Path) -> bool {
    counts(root, file, false)
}

/// Whether the scan of `root` would enter `folder` (absolute).
pub(super) fn enters(root: &Path, folder: &Path) -> bool {
    counts(root, folder, true)
}

/// The folders of `root` with tracked files in or below them (absolute).
pub(super) fn tracked_folders(root: &Path) -> Vec<PathBuf> {
    let tracked = Tracked::of(root);
    tracked
        .folders()
        .map(|path| at::below(root, path))
        .collect()
}

/// Names that begin with a dot, and the copies that editors keep beside a file (`a.rs~`, `#a.rs#`): these have its
/// threads a second time.
fn is_hidden(name: &[u8]) -> bool {
    name.starts_with(b".")
        || name.ends_with(b"~")
        || (name.len() > 1 && name.starts_with(b"#") && name.ends_with(b"#"))
}

fn counts(root: &Path, path: &Path, is_folder: bool) -> bool {
    let Ok(relative) = path.strip_prefix(root) else {
        return false;
    };
    let hidden = relative
        .components()
        .any(|part| is_hidden(part.as_os_str().as_encoded_bytes()));
    let below = |path: &&Path| *path != root && path.starts_with(root);
    let user = User::load(root);
    let ignored = |at: &Path| {
        let rules = ignored::above(at);
        ignored::is_ignored(rules.as_ref(), &user, at, is_folder || at != path)
    };
    (!hidden && !path.ancestors().take_while(below).any(ignored)) || {
        let (tracked, name) = (Tracked::of(root), at::bytes_of(relative.to_owned()));
        tracked.has_file(&name) || (is_folder && tracked.has_folder(&name))
    }
}

/// How many threads: `wanted`, or twice the processors where it is 0 (a cold cache waits for the disk).
pub(super) fn readers(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(4, |n| n.get() * 2),
        n => n,
    }
}

/// What a walk works with besides the tree: what is known of it, where something is to be kept.
pub(super) struct Keeping<'a> {
    pub known: Option<&'a Known>,
    /// Before anything was looked at; see [`super::known::now`].
    pub began: i64,
}

/// What a walk found.
pub(super) struct Walked<S> {
    pub states: Vec<S>,
    /// Folders that could not be read.
    pub failed: Vec<FileError>,
    /// Folders by number, with path and list, and the git index that the lists were made with: where
    /// something is to be kept.
    pub folders: Vec<Listed>,
    pub index: Option<Index>,
}

/// Calls `each` for every file below the folder `start`, in no order, with a state for each thread.
pub(super) fn walk<S: Default + Send>(
    root: &Path,
    start: &Path,
    threads: usize,
    keeping: Option<Keeping>,
    each: &(impl Fn(&mut S, &Place) + Sync),
) -> io::Result<Walked<S>> {
    let top = Handle::open(root)?;
    let tracked = OnceLock::new();
    let index = keeping
        .as_ref()
        .map(|keeping| index_of(root, keeping, &tracked));
    let walk = Walk {
        root,
        device: top.own_status()?.device,
        top,
        user: User::load(root),
        tracked,
        keeping: keeping.zip(index),
        jobs: Jobs::default(),
        failed: Mutex::default(),
        folders: Mutex::default(),
        count: AtomicU32::new(0),
        each,
    };
    let relative = start.strip_prefix(root).unwrap_or(Path::new(""));
    let rules = ignored::above(start);
    let first = Folder {
        path: at::bytes_of(relative.to_owned()),
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
    let mut failed = walk
        .failed
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let untracked = walk.tracked.into_inner().and_then(|tracked| tracked.failed);
    failed.extend(untracked.map(FileError::Untracked));
    Ok(Walked {
        states,
        failed,
        folders: walk
            .folders
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
        index,
    })
}

/// The index as it is now. Its names are read only where it is another than the known one.
fn index_of(root: &Path, keeping: &Keeping, tracked: &OnceLock<Tracked>) -> Index {
    let mut hasher = DefaultHasher::new();
    let place = crate::vcs::index_place(root);
    place.hash(&mut hasher);
    let mark = place
        .and_then(|(index, _)| at::status_of(&index).ok())
        .map(|status| Mark::of(&status))
        .filter(|mark| mark.is_settled(keeping.began));
    let place = hasher.finish();
    let known = keeping.known.map(|known| known.index);
    match known.filter(|known| known.place == place && known.mark == mark && mark.is_some()) {
        Some(known) => known,
        None => {
            let tracked = tracked.get_or_init(|| Tracked::of(root));
            Index {
                place,
                // What could not be read is asked for again.
                mark: mark.filter(|_| tracked.failed.is_none()),
                names: tracked.print,
            }
        }
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

enum Job<'a> {
    Folder(Folder),
    /// A part of a large folder's files.
    Files(Arc<Opened>, u32, Names<'a>),
}

/// A folder whose files are being looked at.
struct Opened {
    handle: Handle,
    path: Vec<u8>,
    number: u32,
    foreign: bool,
}

enum Names<'a> {
    /// As the folder's list has them now, and what is known of the folder's files.
    Listed(Vec<CString>, Arc<HashMap<&'a [u8], Old<'a>>>),
    /// As they were noted, in a list that still holds.
    Known(&'a [u8]),
}

/// Files that one job looks at: few enough that the threads end together.
const SHARE: usize = 128;

struct Walk<'a, E> {
    root: &'a Path,
    top: Handle,
    device: u64,
    user: User,
    /// Read when it is asked for: where everything is known nobody asks.
    tracked: OnceLock<Tracked>,
    keeping: Option<(Keeping<'a>, Index)>,
    jobs: Jobs<'a>,
    failed: Mutex<Vec<FileError>>,
    folders: Mutex<Vec<Listed>>,
    count: AtomicU32,
    each: &'a E,
}

impl<'a, E> Walk<'a, E> {
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
                Job::Files(folder, part, names) => self.files(folder, *part, names, &mut state),
            }
            self.jobs.add(&mut new);
        }
        state
    }

    fn tracked(&self) -> &Tracked {
        self.tracked.get_or_init(|| Tracked::of(self.root))
    }

    /// A fingerprint of all that decides which names of a folder are looked at.
    fn print(&self, tracked: u64, rules: Option<&Arc<Rules>>) -> u64 {
        let mut hasher = DefaultHasher::new();
        (tracked, self.user.print, rules.map(|rules| rules.print())).hash(&mut hasher);
        hasher.finish()
    }

    fn failed(&self, path: &[u8], source: io::Error) {
        // Removed, or made a link or file, since its name was read.
        if let Obstacle::Gone | Obstacle::Link = at::obstacle(&source) {
            return;
        }
        let path = String::from_utf8_lossy(path).into_owned();
        self.failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(FileError::Io { path, source });
    }

    fn folder<S>(&self, folder: &Folder, state: &mut S, new: &mut Vec<Job<'a>>) -> io::Result<()>
    where
        E: Fn(&mut S, &Place),
    {
        let handle = self.top.enter(&folder.path)?;
        let absolute = self.root.join(name_of(&folder.path));
        let mut opened = Opened {
            handle,
            path: folder.path.clone(),
            number: self.count.fetch_add(1, Ordering::Relaxed),
            foreign: false,
        };
        let Some((keeping, index)) = &self.keeping else {
            let (names, _) = self.list(folder, &opened.handle, &absolute, new)?;
            self.share_out(opened, listed(names, HashMap::new()), state, new);
            return Ok(());
        };

        // Before the names are read: what changes them later shows.
        let status = opened.handle.own_status()?;
        opened.foreign = status.device != self.device;
        let mark = Mark::of(&status);
        let known = keeping.known.and_then(|known| known.folder(&folder.path));
        if let Some((head, parts)) = &known
            && !opened.foreign
            && head.mark == Some(mark)
            && head.tracked_only == folder.tracked_only
        {
            let rules = ignored::inside(&absolute, head.makes, folder.rules.clone());
            if head.print == self.print(index.names, rules.as_ref()) {
                for (name, tracked_only) in &head.folders {
                    new.push(Job::Folder(Folder {
                        path: join(&folder.path, name),
                        rules: rules.clone(),
                        tracked_only: *tracked_only,
                    }));
                }
                let parts = parts.iter().copied().map(Names::Known).collect();
                if let Some((head, _)) = known {
                    self.keep(&opened, head);
                }
                self.share_out(opened, parts, state, new);
                return Ok(());
            }
        }
        let (names, mut head) = self.list(folder, &opened.handle, &absolute, new)?;
        head.mark = (!opened.foreign && mark.is_settled(keeping.began)).then_some(mark);
        let mut old = HashMap::new();
        for part in known.iter().flat_map(|(_, parts)| parts) {
            old.extend(Known::files(part));
        }
        self.keep(&opened, head);
        self.share_out(opened, listed(names, old), state, new);
        Ok(())
    }

    fn keep(&self, folder: &Opened, head: Head) {
        self.folders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((folder.number, folder.path.clone(), head));
    }

    /// The files of a folder that are looked at; its folders become jobs.
    fn list(
        &self,
        folder: &Folder,
        handle: &Handle,
        absolute: &Path,
        new: &mut Vec<Job<'a>>,
    ) -> io::Result<(Vec<CString>, Head)> {
        let (entries, makes) = read(handle)?;
        let rules = ignored::inside(absolute, makes, folder.rules.clone());
        let tracked = self.tracked();
        let tracked_files = tracked.files(&folder.path);
        let mut head = Head {
            tracked_only: folder.tracked_only,
            makes,
            ..Head::default()
        };
        if self.keeping.is_some() {
            head.print = self.print(tracked.print, rules.as_ref());
        }

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
                    &self.user,
                    &self.root.join(name_of(relative)),
                    is_folder,
                )
        };
        let mut files = Vec::new();
        for (name, kind) in entries {
            path.truncate(length);
            path.extend_from_slice(name.to_bytes());
            let hidden = is_hidden(name.to_bytes());
            match kind {
                Kind::File => {
                    let wanted = tracked_files.have(name.to_bytes())
                        || (!folder.tracked_only && !hidden && !is_ignored(&path, false));
                    if wanted {
                        files.push(name);
                    }
                }
                Kind::Folder => {
                    let has_tracked = tracked.has_folder(&path);
                    let tracked_only = folder.tracked_only || hidden;
                    if has_tracked || (!tracked_only && !is_ignored(&path, true)) {
                        if self.keeping.is_some() {
                            head.folders.push((name.into_bytes(), tracked_only));
                        }
                        new.push(Job::Folder(Folder {
                            path: path.clone(),
                            rules: rules.clone(),
                            tracked_only,
                        }));
                    }
                }
                _ => {}
            }
        }
        Ok((files, head))
    }

    /// Looks at a folder's files, or leaves them, where they are many, to all threads.
    fn share_out<S>(
        &self,
        folder: Opened,
        parts: Vec<Names<'a>>,
        state: &mut S,
        new: &mut Vec<Job<'a>>,
    ) where
        E: Fn(&mut S, &Place),
    {
        if let [names] = &*parts {
            self.files(&folder, 0, names, state);
            return;
        }
        let folder = Arc::new(folder);
        let parts = (0..).zip(parts);
        new.extend(parts.map(|(part, names)| Job::Files(Arc::clone(&folder), part, names)));
    }

    fn files<S>(&self, folder: &Opened, part: u32, names: &Names, state: &mut S)
    where
        E: Fn(&mut S, &Place),
    {
        let mut look = |name: &CStr, old: Option<Old>| {
            let place = Place {
                folder: &folder.handle,
                path: &folder.path,
                name,
                old,
                part: (folder.number, part),
                foreign: folder.foreign,
            };
            (self.each)(state, &place);
        };
        match names {
            Names::Listed(names, old) => {
                for name in names {
                    look(name, old.get(name.to_bytes()).copied());
                }
            }
            Names::Known(part) => {
                let mut buffer = Vec::new();
                for (name, old) in Known::files(part) {
                    buffer.clear();
                    buffer.extend_from_slice(name);
                    buffer.push(0);
                    if let Ok(name) = CStr::from_bytes_with_nul(&buffer) {
                        look(name, Some(old));
                    }
                }
            }
        }
    }

    /// Whether `path` or a folder above it, up to the root, is ignored.
    fn is_below_ignored(&self, path: &[u8], rules: Option<&Arc<Rules>>) -> bool {
        let path = Path::new(name_of(path));
        let tracked = self.tracked();
        let folders = path
            .ancestors()
            .filter(|a| tracked.has_folder(a.as_os_str().as_encoded_bytes()));
        let mut folders = folders.filter(|a| !a.as_os_str().is_empty());
        folders.any(|folder| ignored::is_ignored(rules, &self.user, &self.root.join(folder), true))
    }
}

/// The names as parts that several threads can share.
fn listed<'a>(mut names: Vec<CString>, old: HashMap<&'a [u8], Old<'a>>) -> Vec<Names<'a>> {
    let old = Arc::new(old);
    let mut parts = Vec::new();
    while !names.is_empty() {
        let part = names.split_off(names.len().saturating_sub(SHARE));
        parts.push(Names::Listed(part, Arc::clone(&old)));
    }
    parts
}

fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() {
        return name.to_vec();
    }
    [folder, name].join(&b'/')
}

/// A folder's entries and what among them makes rules.
fn read(handle: &Handle) -> io::Result<(Vec<(CString, Kind)>, Makes)> {
    let mut entries = Vec::new();
    let mut makes = Makes::default();
    for entry in handle.entries()? {
        let (name, kind) = entry?;
        match name.to_bytes() {
            // Nobody tracks what is in it.
            b".git" => {
                makes.git = true;
                continue;
            }
            b".gitignore" => makes.gitignore = kind == Kind::File,
            b".ignore" => makes.ignore = kind == Kind::File,
            _ => {}
        }
        entries.push((name, kind));
    }
    Ok((entries, makes))
}
