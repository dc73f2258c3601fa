//! Watching the folders of a tree, where the editor does not do it for us.
//!
//! Only folders that the scan enters are watched, one by one: what is ignored (build output,
//! dependencies) costs nothing and wakes nobody. Where the system's limits do not let them all be watched,
//! the watch tells every few seconds that anything may have changed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use notify::event::{CreateKind, EventKind, ModifyKind, RemoveKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::at::{self, Kind};
use super::{FileError, Tree, is_ignore_file};
use crate::os;

/// Changes come in bursts (a checkout, a build); they are gathered this long.
const GATHER: Duration = Duration::from_millis(50);
/// Folders that are watched at most; the system has limits of its own.
const MOST: usize = 16_384;
/// How often everything is looked at where not everything can be watched; more seldom where a look takes
/// more than a small part of that time.
const POLL: Duration = Duration::from_secs(5);
const POLL_SHARE: u32 = 20;

/// So many changes that nobody has looked at are a storm, more than most are too many.
const STORM: std::ops::Range<usize> = 64..20_000;
/// In a storm, how long events are listened to at a stretch, and then not.
const WORK: Duration = Duration::from_millis(1);
const REST: Duration = Duration::from_millis(2);

/// What happened in a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Files and folders that were made, changed or removed, the index of git among them.
    pub paths: HashSet<PathBuf>,
    /// Those of them that were made, or moved to this name.
    pub made: HashSet<PathBuf>,
    /// More than that: events were lost, or cannot be had.
    pub all: bool,
    /// Why not everything is watched, in words for a person; said once.
    pub limit: Option<String>,
}

impl News {
    fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.all && self.limit.is_none()
    }
}

/// Stops when dropped.
pub struct Watch {
    _watcher: Option<Arc<Mutex<RecommendedWatcher>>>,
    told: Arc<Told>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.told.lock().over = true;
        self.told.news.notify_all();
    }
}

/// What the system told and nobody has looked at. Of a checkout it tells tens of thousands of things, one by one: who
/// is woken for each of them takes from git half of the machine. So nobody waits for them for a while, and then takes
/// many at once. The system keeps 16,384 (fs.inotify.max_queued_events), and says when it had more.
#[derive(Default)]
struct Told {
    events: Mutex<Events>,
    news: Condvar,
}

#[derive(Default)]
struct Events {
    list: Vec<Event>,
    /// Since when it is listened.
    since: Option<Instant>,
    over: bool,
}

/// Whether its files were made or written.
fn is_there(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Data(_))
    )
}

impl Told {
    fn lock(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, event: Event) {
        let counts = match event.kind {
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => false,
            EventKind::Any
            | EventKind::Create(_)
            | EventKind::Modify(_)
            | EventKind::Remove(_)
            | EventKind::Other => true,
        };
        if !counts && !event.need_rescan() {
            return;
        }
        let mut events = self.lock();
        let last = events.list.last();
        if last.is_none() {
            self.news.notify_all();
        }
        let is_written = matches!(event.kind, EventKind::Modify(ModifyKind::Data(_)));
        if !(is_written && last.is_some_and(|last| is_there(last) && last.paths == event.paths)) {
            events.list.push(event);
        }
        let since = *events.since.get_or_insert_with(Instant::now);
        // Elsewhere less is kept, and what is lost is not told.
        let is_kept = cfg!(target_os = "linux") && !events.over;
        if !is_kept || !STORM.contains(&events.list.len()) || since.elapsed() < WORK {
            return;
        }
        events.since = None;
        drop(events);
        std::thread::sleep(REST);
    }

    /// Whether there is something; `None`: the watch is over. Waits for it, `most` so long.
    fn wait(&self, most: Option<Duration>) -> Option<bool> {
        let none = |events: &mut Events| events.list.is_empty() && !events.over;
        let events = self.lock();
        let events = match most {
            Some(most) => {
                let waited = self.news.wait_timeout_while(events, most, none);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.news.wait_while(events, none);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        (!events.over).then_some(!events.list.is_empty())
    }

    /// What comes in so much time from now on, and what there is; `None`: the watch is over.
    fn gather(&self, time: Duration) -> Option<Vec<Event>> {
        let events = self.lock();
        let waited = self.news.wait_timeout_while(events, time, |e| !e.over);
        let (mut events, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (!events.over).then(|| std::mem::take(&mut events.list))
    }
}

/// Calls `changed` with what happens in `tree`, from a thread of its own. Blocking for the time of a walk.
/// An error says why nothing can be watched at all.
pub fn watch(tree: Arc<Tree>, changed: impl Fn(News) + Send + 'static) -> Result<Watch, String> {
    let told = Arc::<Told>::default();
    let telling = told.clone();
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if let Ok(event) = event {
            telling.add(event);
        }
    });
    let mut watching = Watching {
        tree,
        watcher: Weak::new(),
        watched: HashSet::new(),
        limit: None,
        git: Vec::new(),
        stale: Stale::default(),
        root: None,
    };
    let watcher = match watcher {
        Ok(watcher) => Some(Arc::new(Mutex::new(watcher))),
        Err(error) => {
            watching.limit = Some(reason(&error));
            None
        }
    };
    if let Some(watcher) = &watcher {
        watching.watcher = Arc::downgrade(watcher);
    }
    watching.root = watching.root_now();
    watching.add_all().map_err(|error| error.to_string())?;
    watching.find_git();
    let gathered = told.clone();
    std::thread::spawn(move || gather(&gathered, watching, &changed));
    Ok(Watch {
        _watcher: watcher,
        told,
    })
}

fn reason(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => String::from(
            "the system's limit of watched folders is reached (fs.inotify.max_user_watches)",
        ),
        notify::ErrorKind::Io(error) if error.raw_os_error() == Some(24) => String::from(
            "the system's limit of watchers is reached (fs.inotify.max_user_instances)",
        ),
        _ => error.to_string(),
    }
}

struct Watching {
    tree: Arc<Tree>,
    watcher: Weak<Mutex<RecommendedWatcher>>,
    watched: HashSet<PathBuf>,
    limit: Option<String>,
    /// What of git's own files decides which names count, each behind its folder: git replaces a file, so its folder is
    /// what can be watched.
    git: Vec<(PathBuf, PathBuf)>,
    stale: Stale,
    /// The root that is watched; `None`: it was gone at the last look. As long as a program is in a folder, the system
    /// does not tell that it was removed.
    root: Option<(u64, u64)>,
}

/// What happened that has other folders count than those that are watched.
#[derive(Default)]
struct Stale {
    /// The root went, or what is in it is not watched any more.
    root: bool,
    /// A repository was made, or is being made.
    repository: bool,
    /// git tracks other names.
    names: bool,
    /// Rules of ignored names were written.
    rules: bool,
}

impl Watching {
    /// Where git keeps what decides by now.
    fn find_git(&mut self) {
        let root = self.tree.root();
        let index = crate::vcs::index_place(root).map(|(index, _)| index);
        let exclude = crate::vcs::common_folder(root).map(|common| common.join("info/exclude"));
        let files = index.into_iter().chain(exclude);
        let beside = |file: PathBuf| Some((os::canonical(file.parent()?).ok()?, file));
        self.git = files.filter_map(beside).collect();
        for (folder, _) in self.git.clone() {
            self.add(&folder);
        }
        if self.git.is_empty() {
            // One that is being made tells of the rest from here on.
            self.add(&self.tree.root().join(".git"));
        }
    }

    /// All folders that count and are not watched yet.
    fn add_all(&mut self) -> Result<(), FileError> {
        let folders = self.tree.folders()?;
        for folder in &folders {
            if !self.watched.contains(folder) {
                self.add(folder);
            }
        }
        // Made since the walk, in a folder that was not watched yet.
        let now = self.tree.folders().unwrap_or_default();
        for folder in now.difference(&folders) {
            self.add_new(folder);
        }
        Ok(())
    }

    /// Watches what counts since something happened.
    fn catch_up(&mut self, news: &mut News) {
        let Stale {
            root,
            repository,
            names,
            rules,
        } = std::mem::take(&mut self.stale);
        let now = self.root_now();
        if root || now.is_none() || now != self.root {
            self.look_for_root(news);
            return;
        }
        if repository {
            self.find_git();
            // Names may be tracked already.
            let index = self.git.first().map(|(_, index)| index.clone());
            news.paths.extend(index);
        }
        if rules {
            let _ = self.add_all();
        } else if names || repository {
            // No walk: git writes its index whenever somebody asks for its status.
            for folder in self.tree.tracked_folders() {
                let is_there =
                    |folder: &Path| folder.symlink_metadata().is_ok_and(|it| it.is_dir());
                if !self.watched.contains(&folder) && is_there(&folder) {
                    self.add(&folder);
                }
            }
        }
    }

    /// What the folder at the root's path lies on, and its number there.
    fn root_now(&self) -> Option<(u64, u64)> {
        let status = at::status_of(self.tree.root()).ok()?;
        (status.kind == Kind::Folder).then_some((status.device, status.inode))
    }

    /// The root went: all is watched anew where it is back; else what is above it is watched until then.
    fn look_for_root(&mut self, news: &mut News) {
        let tree = self.tree.clone();
        let root = tree.root();
        let above = root.ancestors().skip(1).find(|folder| folder.is_dir());
        if let Some(above) = above.filter(|_| !root.is_dir()) {
            self.add(above);
        }
        // Also where it came since.
        let now = self.root_now();
        let before = std::mem::replace(&mut self.root, now);
        if before.is_some() || self.root.is_some() {
            news.paths.insert(root.to_owned());
        }
        if self.root.is_none() {
            return;
        }
        if let Some(watcher) = self.watcher.upgrade() {
            let mut watcher = watcher.lock().unwrap_or_else(PoisonError::into_inner);
            for folder in self.watched.drain() {
                let _ = watcher.unwatch(&folder);
            }
        }
        let _ = self.add_all();
        self.find_git();
    }

    fn add(&mut self, folder: &Path) {
        let Some(watcher) = self.watcher.upgrade() else {
            return;
        };
        let mut watcher = watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !self.watched.contains(folder);
        if is_new && self.watched.len() >= MOST && self.limit.is_none() {
            // Those that are gone by now do not count.
            let gone = self.watched.extract_if(|folder| !folder.is_dir());
            // One that was moved elsewhere is watched there.
            gone.for_each(|folder| drop(watcher.unwatch(&folder)));
        }
        if is_new && self.watched.len() >= MOST {
            let why = || format!("it has more than {MOST} folders");
            self.limit.get_or_insert_with(why);
            return;
        }
        match watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => drop(self.watched.insert(folder.to_owned())),
            Err(error) if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) => {
                self.limit.get_or_insert_with(|| reason(&error));
            }
            // It is gone meanwhile, or cannot be read.
            Err(error) => tracing::debug!("{} is not watched: {error}", folder.display()),
        }
    }

    /// A folder that is new, with those that are in it already; what the scan would not enter is left out.
    fn add_new(&mut self, folder: &Path) {
        if !self.tree.enters(folder) {
            return;
        }
        self.add(folder);
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ".git" {
                self.add_new(&entry.path());
            }
        }
    }

    fn take(&mut self, event: Event, news: &mut News) {
        if event.need_rescan() {
            news.all = true;
            // Among what was lost may be that a folder was made.
            for folder in self.tree.folders().unwrap_or_default() {
                self.add(&folder);
            }
        }
        let may_be_folder = !matches!(
            event.kind,
            EventKind::Create(CreateKind::File)
                | EventKind::Modify(ModifyKind::Data(_))
                | EventKind::Remove(RemoveKind::File)
        );
        let goes = matches!(
            event.kind,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
        );
        let is_made = matches!(
            event.kind,
            EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_))
        );
        for path in event.paths {
            let beside = |(folder, _): &&(PathBuf, PathBuf)| path.parent() == Some(folder);
            if self.git.iter().any(|file| beside(&file)) {
                let is_it = |(_, file): &&(PathBuf, PathBuf)| path.file_name() == file.file_name();
                if let Some((_, file)) = self.git.iter().filter(beside).find(is_it) {
                    let is_index = file.ends_with("index");
                    self.stale.names |= is_index;
                    self.stale.rules |= !is_index;
                    news.paths.insert(file.clone());
                }
                continue;
            }
            if path.components().any(|part| part.as_os_str() == ".git") {
                let is_repository = path.parent() == Some(self.tree.root());
                self.stale.repository |= is_repository || self.git.is_empty();
                continue;
            }
            if !path.starts_with(self.tree.root()) {
                continue;
            }
            self.stale.root |= goes && path == self.tree.root();
            self.stale.rules |= is_ignore_file(&path);
            if goes {
                // One of this name is another.
                self.watched.remove(&path);
            }
            // A new folder may have its files already.
            if may_be_folder && path.symlink_metadata().is_ok_and(|data| data.is_dir()) {
                self.add_new(&path);
            }
            if is_made {
                news.made.insert(path.clone());
            }
            news.paths.insert(path);
        }
    }
}

fn gather(told: &Told, mut watching: Watching, changed: &impl Fn(News)) {
    let mut said = false;
    let mut poll = POLL;
    loop {
        let mut news = News::default();
        if let Some(limit) = watching.limit.clone().filter(|_| !said) {
            said = true;
            // From the watch's beginning until now something may have happened.
            news.all = true;
            news.limit = Some(limit);
        } else {
            match told.wait(said.then_some(poll)) {
                Some(something) => news.all = !something,
                None => return,
            }
        }
        // A fixed time: a file that is written all the time (a log) must not hold the others back.
        let Some(events) = told.gather(GATHER) else {
            return;
        };
        for event in events {
            watching.take(event, &mut news);
        }
        watching.catch_up(&mut news);
        if !news.is_empty() {
            let began = Instant::now();
            changed(news);
            poll = POLL.max(began.elapsed().saturating_mul(POLL_SHARE));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::files::Buffers;

    const DEADLINE: Duration = Duration::from_secs(10);

    /// One that tells nobody, and what it watches with.
    fn watching(
        root: &Path,
        watched: HashSet<PathBuf>,
    ) -> (Watching, Arc<Mutex<RecommendedWatcher>>) {
        let watcher = notify::recommended_watcher(|_: notify::Result<Event>| ()).unwrap();
        let watcher = Arc::new(Mutex::new(watcher));
        let watching = Watching {
            tree: Arc::new(Tree::new(root, Arc::<Buffers>::default()).unwrap()),
            watcher: Arc::downgrade(&watcher),
            watched,
            limit: None,
            git: Vec::new(),
            stale: Stale::default(),
            root: None,
        };
        (watching, watcher)
    }

    #[test]
    fn what_changes_on_disk_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("src")).unwrap();
        std::fs::write(root.join("src/a.rs"), "fn a() {}\n").unwrap();
        let tree = Arc::new(Tree::new(&root, Arc::<Buffers>::default()).unwrap());
        let (sender, told) = channel();
        let watch = watch(tree, move |news| sender.send(news).unwrap()).unwrap();

        let wait_for = |path: PathBuf| {
            while !told.recv_timeout(DEADLINE).unwrap().paths.contains(&path) {}
        };
        std::fs::write(root.join("src/a.rs"), "fn b() {}\n").unwrap();
        wait_for(root.join("src/a.rs"));
        // Folders in a new folder, too.
        std::fs::create_dir_all(root.join("new/deep")).unwrap();
        wait_for(root.join("new"));
        std::fs::write(root.join("new/deep/b.rs"), "fn b() {}\n").unwrap();
        wait_for(root.join("new/deep/b.rs"));
        std::fs::remove_file(root.join("src/a.rs")).unwrap();
        wait_for(root.join("src/a.rs"));
        drop(watch);
    }

    #[test]
    fn what_git_tracks_is_news_and_its_other_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        crate::vcs::commit_sample(&root, "first").unwrap();
        let tree = Arc::new(Tree::new(&root, Arc::<Buffers>::default()).unwrap());
        let (sender, told) = channel();
        let _watch = watch(tree, move |news| sender.send(news).unwrap()).unwrap();
        std::fs::write(root.join(".git/other"), "x").unwrap();
        std::fs::write(root.join(".git/index.lock"), "x").unwrap();
        std::fs::rename(root.join(".git/index.lock"), root.join(".git/index")).unwrap();
        let index = crate::vcs::index_place(&root).unwrap().0;
        let news = told.recv_timeout(DEADLINE).unwrap();
        assert_eq!(news.paths, HashSet::from([index]));
    }

    #[test]
    fn a_storm_is_told_whole() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let tree = Arc::new(Tree::new(&root, Arc::<Buffers>::default()).unwrap());
        let (sender, told) = channel();
        let _watch = watch(tree, move |news| sender.send(news).unwrap()).unwrap();
        let mut left: HashSet<PathBuf> = HashSet::new();
        for folder in 0..50 {
            std::fs::create_dir(root.join(format!("d{folder}"))).unwrap();
            left.insert(root.join(format!("d{folder}")));
            for file in 0..100 {
                let file = root.join(format!("f{folder}-{file}.rs"));
                std::fs::write(&file, "fn a() {}\n").unwrap();
                left.insert(file);
            }
        }
        // Folders that came in the storm are watched.
        while !left.is_empty() {
            let news = told.recv_timeout(DEADLINE).unwrap();
            if news.all {
                break;
            }
            left.retain(|path| !news.paths.contains(path));
        }
        let last = root.join("d49/last.rs");
        let end = Instant::now() + DEADLINE;
        loop {
            std::fs::write(&last, "fn a() {}\n").unwrap();
            let news = told.recv_timeout(Duration::from_millis(200));
            if news.is_ok_and(|news| news.paths.contains(&last)) {
                break;
            }
            assert!(Instant::now() < end, "d49 is not watched");
        }
    }

    #[test]
    fn folders_that_are_gone_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("new")).unwrap();
        let gone = (0..MOST).map(|n| root.join(format!("gone{n}")));
        let (mut watching, _watcher) = watching(&root, gone.collect());
        watching.add(&root.join("new"));
        assert_eq!(watching.limit, None);
        assert_eq!(watching.watched, HashSet::from([root.join("new")]));
    }

    #[test]
    fn lost_events_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("new")).unwrap();
        let (mut watching, _watcher) = watching(&root, HashSet::from([root.clone()]));
        let mut news = News::default();
        let lost = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        watching.take(lost, &mut news);
        assert!(news.all && news.paths.is_empty());
        // A folder of which nothing was told.
        assert_eq!(
            watching.watched,
            HashSet::from([root.clone(), root.join("new")])
        );
    }
}
