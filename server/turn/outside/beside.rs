//! What the commands of an outside agent change. Nobody tells of it, so every file that the scan lists is
//! looked at before and after. A change counts as the agent's when it was made while a tool call of its ran,
//! and by nobody else whom we know of; of any other change it is said that its maker is not known.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::disk::Stood;
use crate::files::{self, Status, Tree};
use crate::store::Store;
use crate::vcs::{self, Staged};

/// Files of a workspace that are looked at; where there are more, none is.
const MOST: usize = 100_000;
/// Bytes of files that are kept because git does not have them: in all, and of one.
const KEPT: u64 = 64 << 20;
const LARGEST: u64 = 1 << 20;
/// Files whose change is told.
pub(super) const TOLD: usize = 1_000;
/// The clock of the file system may lag behind.
const LAG: Duration = Duration::from_millis(20);

enum Text {
    Kept(Vec<u8>),
    /// Git has it.
    Staged(Staged),
    Unknown,
}

/// The workspace before the agent began.
pub(super) struct Before {
    files: HashMap<PathBuf, (Status, Text)>,
    /// The newest write of any run.
    newest: i64,
    began: SystemTime,
}

/// A file that is not what it was.
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) before: Stood,
    pub(super) now: Stood,
    /// It was the agent.
    pub(super) is_certain: bool,
}

/// What stands in a file is not what stood there before the agent began, and neither the author nor another turn
/// has put it there as far as we know.
#[derive(Clone)]
pub(super) struct News {
    pub(super) before: Stood,
    written: SystemTime,
}

impl News {
    /// Where nothing was looked at before.
    pub(super) fn unknown(tree: &Tree, path: &Path) -> Option<Self> {
        let written = written(path, stat(path));
        let saved = tree.buffers.touched.last(path);
        let is_saved = saved.is_some_and(|at| written <= at);
        (!is_saved).then_some(Self {
            before: Stood::Unknown,
            written,
        })
    }

    pub(super) fn is_of(&self, since: SystemTime) -> bool {
        since <= self.written + LAG
    }
}

/// When a tool call of the agent ran.
pub(super) type Span = (SystemTime, SystemTime);

impl Before {
    /// Blocking. `None`: the workspace has too many files.
    pub(super) fn look(tree: &Tree, store: Option<&Store>) -> Option<Self> {
        let began = SystemTime::now();
        let newest = store.and_then(|store| store.newest_change().ok());
        let listed = tree.list("").ok()?;
        if listed.len() > MOST {
            return None;
        }
        let mut staged = vcs::staged(tree.root());
        let mut room = KEPT;
        let mut files = HashMap::with_capacity(listed.len());
        for path in listed {
            let Some(stat) = stat(&path) else { continue };
            let clean = staged
                .remove(&path)
                .filter(|s| s.size == stat.size && s.modified == stat.modified);
            let text = match clean {
                Some(staged) => Text::Staged(staged),
                None if stat.size <= LARGEST.min(room) => match std::fs::read(&path) {
                    Ok(text) => {
                        room = room.saturating_sub(stat.size);
                        Text::Kept(text)
                    }
                    Err(_) => Text::Unknown,
                },
                None => Text::Unknown,
            };
            files.insert(path, (stat, text));
        }
        Some(Self {
            files,
            newest: newest.unwrap_or(0),
            began,
        })
    }

    /// The permission bits that a file had.
    pub(super) fn mode(&self, path: &Path) -> Option<u32> {
        Some(self.files.get(path)?.0.mode & 0o777)
    }

    /// Whether something else stands in this file by now. Blocking; of a file that stands as it did, one look at its
    /// state alone.
    pub(super) fn news(
        &self,
        tree: &Tree,
        store: Option<&Store>,
        run: &str,
        path: &Path,
    ) -> Option<News> {
        let earlier = self.files.get(path);
        let stat = stat(path);
        let written = written(path, stat);
        let is_as_before = match earlier {
            Some((earlier, _)) => stat == Some(*earlier),
            // One that no scan lists may be older.
            None => stat.is_none() || written + LAG < self.began,
        };
        let touched = self.touched(tree, path);
        // To the moment: the agent may write right behind a save, and a clock that lags makes no save younger.
        if is_as_before || touched.is_some_and(|at| written <= at) {
            return None;
        }
        let others = store.and_then(|store| store.written_beside(run, self.newest).ok());
        let mut others = others.iter().flatten();
        if others.any(|file| tree.root().join(file) == path) {
            return None;
        }
        let before = match earlier {
            // What was saved meanwhile is not kept.
            _ if touched.is_some() => Stood::Unknown,
            None if !tree.lists(path) => Stood::Unknown,
            earlier => stood(tree, earlier),
        };
        Some(News { before, written })
    }

    /// When we or the author wrote it since the agent began.
    fn touched(&self, tree: &Tree, path: &Path) -> Option<SystemTime> {
        let touched = tree.buffers.touched.last(path);
        touched.filter(|at| *at >= self.began)
    }

    /// What is other now, but for `known` and what the author and other turns wrote. Blocking.
    pub(super) fn compare(
        &self,
        tree: &Tree,
        store: Option<&Store>,
        run: &str,
        known: &BTreeSet<PathBuf>,
        spans: &[Span],
    ) -> Vec<Found> {
        let listed: BTreeSet<PathBuf> = tree.list("").unwrap_or_default().into_iter().collect();
        let gone = self.files.keys().filter(|path| !listed.contains(*path));
        let mut found: Vec<Found> = listed
            .iter()
            .chain(gone)
            .filter(|path| !known.contains(*path))
            .filter_map(|path| self.found(tree, path, spans))
            .take(TOLD)
            .collect();
        if found.is_empty() {
            return found;
        }
        let Some(store) = store else { return found };
        let others = store.written_beside(run, self.newest).unwrap_or_default();
        let others: BTreeSet<PathBuf> = others.iter().map(|file| tree.root().join(file)).collect();
        let began = jiff::Timestamp::try_from(self.began).unwrap_or_default();
        let is_alone = !store.was_company(run, began).unwrap_or(true);
        found.retain(|found| !others.contains(&found.path));
        for found in &mut found {
            // The commands of another turn are not told from those of this one.
            found.is_certain &= is_alone;
        }
        found
    }

    fn found(&self, tree: &Tree, path: &Path, spans: &[Span]) -> Option<Found> {
        let earlier = self.files.get(path);
        let stat = stat(path);
        if earlier.map(|(stat, _)| *stat) == stat {
            return None;
        }
        let touched = self.touched(tree, path);
        let written = written(path, stat);
        // Saved by the author, or written by us, and by nobody since.
        if touched.is_some_and(|at| is_before(written, at)) {
            return None;
        }
        let before = stood(tree, earlier);
        let now = super::disk::read(path);
        let same_content = match (earlier, stat) {
            // Rights, owner or a new name for the same content.
            (Some((old, _)), Some(new)) if before == Stood::Unknown => {
                (old.size, old.inode, old.modified) == (new.size, new.inode, new.modified)
            }
            _ => before == now,
        };
        if same_content {
            return None;
        }
        let within = spans
            .iter()
            .any(|(from, to)| *from <= written + LAG && written <= *to + LAG);
        // The editor shows what the disk has, and did not say that it was saved: reloaded, most likely.
        let is_shown = tree.buffer(path).is_some();
        Some(Found {
            path: path.to_owned(),
            before,
            now,
            is_certain: within && touched.is_none() && !is_shown,
        })
    }
}

/// What stood there when it was looked at.
fn stood(tree: &Tree, earlier: Option<&(Status, Text)>) -> Stood {
    match earlier {
        None => Stood::Absent,
        Some((_, Text::Kept(text))) => Stood::Text(text.clone()),
        Some((_, Text::Staged(staged))) => staged
            .content(tree.root())
            .map_or(Stood::Unknown, Stood::Text),
        Some((_, Text::Unknown)) => Stood::Unknown,
    }
}

/// Whether a file is as it was saved then, by the author or by us.
pub(super) fn is_as_saved(path: &Path, saved: SystemTime) -> bool {
    is_before(written(path, stat(path)), saved)
}

fn is_before(written: SystemTime, saved: SystemTime) -> bool {
    written <= saved + LAG
}

fn written(path: &Path, stat: Option<Status>) -> SystemTime {
    match stat {
        Some(stat) => time(stat.changed),
        // A file that is gone has left a trace in its folder alone.
        None => path
            .parent()
            .and_then(self::stat)
            .map_or(UNIX_EPOCH, |folder| time(folder.changed)),
    }
}

fn stat(path: &Path) -> Option<Status> {
    files::status(path).ok()
}

/// Of nanoseconds since 1970.
fn time(nanos: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}
