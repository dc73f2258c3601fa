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

use super::Tree;
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
    let folders = tree.folders().map_err(|error| error.to_string())?;
    let index = crate::vcs::index_place(tree.root()).map(|(index, _)| index);
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
        // git replaces the file: its folder is what can be watched.
        index: index.and_then(|index| Some((os::canonical(index.parent()?).ok()?, index))),
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
        let git = watching.index.as_ref().map(|(folder, _)| folder.clone());
        for folder in folders.iter().chain(git.as_ref()) {
            watching.add(folder);
        }
        // Made since the walk, in a folder that was not watched yet.
        let now = watching.tree.folders().unwrap_or_default();
        for folder in now.difference(&folders) {
            watching.add_new(folder);
        }
    }
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
    /// The folder of git's index, and the index.
    index: Option<(PathBuf, PathBuf)>,
}

impl Watching {
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
        for path in event.paths {
            if let Some((folder, index)) = &self.index
                && path.parent() == Some(folder)
            {
                if path.file_name() == index.file_name() {
                    news.paths.insert(index.clone());
                }
                continue;
            }
            if path.components().any(|part| part.as_os_str() == ".git") {
                continue;
            }
            // A new folder may have its files already.
            if may_be_folder && path.symlink_metadata().is_ok_and(|data| data.is_dir()) {
                self.add_new(&path);
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
            index: None,
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
