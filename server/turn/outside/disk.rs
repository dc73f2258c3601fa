//! What an outside agent changes on disk past us. Most agents write their edits themselves; they tell of a
//! tool call before they carry it out, so that the text before it can be kept, for undo.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::acp::{Call, Diff};
use crate::files::{FileError, Seen, Tree};
use crate::present::collapsed;
use crate::store::Change;
use crate::tools::Context;

use super::beside::{Before, Found, News, Span, is_as_saved};
use super::{SILENCE, files};

/// Bytes of a file whose text is kept.
const LARGEST: u64 = 8 << 20;
/// Files that are looked at; of more, the changes are not found.
const MOST: usize = 2_000;

/// A file as it stood when it was last looked at.
#[derive(Clone, PartialEq)]
pub(super) enum Stood {
    Absent,
    Text(Vec<u8>),
    /// Too large, no file, or not to be read.
    Unknown,
}

/// The last look at a file, and when it was.
#[derive(Clone)]
struct Looked {
    stood: Stood,
    /// The permission bits that it had.
    mode: Option<u32>,
    at: SystemTime,
    /// It was not as the turn found it, and the author had not saved it.
    news: Option<News>,
    /// That was written so lately that it may be the agent's, who was faster than its word.
    is_late: bool,
}

impl Looked {
    fn now(tree: &Tree, path: &Path) -> Self {
        let at = SystemTime::now();
        Self::read(tree, path, read(path), at)
    }

    fn read(tree: &Tree, path: &Path, stood: Stood, at: SystemTime) -> Self {
        let mode = tree.mode(path);
        Self {
            stood,
            mode,
            at,
            news: None,
            is_late: false,
        }
    }

    /// What stood there before the agent made it what it is now. What the look saw is its own work already where that
    /// is all of it, or where it was about to be: most empty a file, then write it.
    fn before(&self, now: &Stood) -> Stood {
        let is_its = |news: &News| match (&self.stood, now) {
            (seen, now) if seen == now => self.is_late,
            (Stood::Text(seen), _) if seen.is_empty() => true,
            (Stood::Text(seen), Stood::Text(now)) => {
                now.starts_with(seen) && news.is_of(self.at - SILENCE)
            }
            (Stood::Absent, Stood::Text(_)) => news.is_of(self.at - SILENCE),
            _ => false,
        };
        match &self.news {
            Some(news) if is_its(news) => news.before.clone(),
            _ => self.stood.clone(),
        }
    }
}

pub(super) struct Disk<'a> {
    cx: &'a Context,
    began: SystemTime,
    looked: Mutex<BTreeMap<PathBuf, Looked>>,
    /// Written through us, which is recorded there.
    ours: Mutex<BTreeSet<PathBuf>>,
    told: Mutex<Told>,
    /// `None`: not looked at, or the workspace has too many files.
    before: Mutex<Option<Arc<Before>>>,
    /// When its tool calls ran that may have changed files, and when the last one that goes on began.
    spans: Mutex<Vec<Span>>,
}

/// What was found, each file relative to the root.
#[derive(Clone, Default)]
pub(super) struct Told {
    /// Kept for undo.
    pub(super) changed: Vec<String>,
    /// Changed, and nobody knows what stood there before.
    lost: Vec<String>,
    /// Open in the editor with another text than now stands on disk.
    apart: Vec<String>,
    /// Changed while it worked, by nobody knows whom.
    pub(super) unsure: Vec<String>,
    /// It ran commands, and there were too many files to see what they changed.
    unseen: bool,
}

impl Told {
    pub(super) fn is_grave(&self, read_only: bool) -> bool {
        !self.lost.is_empty() || !self.apart.is_empty() || self.unseen || read_only
    }

    pub(super) fn sentence(&self, title: &str, read_only: bool) -> Option<String> {
        let list = |names: &[String]| {
            let mut shown: Vec<String> = names.iter().take(5).map(|n| collapsed(n)).collect();
            if names.len() > 5 {
                shown.push(format!("{} more", names.len() - 5));
            }
            shown.join(", ")
        };
        let mut parts = Vec::new();
        if !self.changed.is_empty() {
            let though = if read_only {
                ", though it was to change nothing"
            } else {
                ""
            };
            parts.push(format!(
                "{title} changed {} on disk by itself{though}; Undo last turn puts it back",
                list(&self.changed)
            ));
        }
        if !self.lost.is_empty() {
            parts.push(format!(
                "{title} changed {} on disk and what stood there before is not known here; git may have it",
                list(&self.lost)
            ));
        }
        if !self.apart.is_empty() {
            parts.push(format!(
                "{} differs from what your editor shows: compare before you save",
                list(&self.apart)
            ));
        }
        if !self.unsure.is_empty() {
            parts.push(format!(
                "{} changed on disk while {title} worked, and by whom is not known; Undo last turn leaves it as it is",
                list(&self.unsure)
            ));
        }
        if self.unseen {
            parts.push(format!(
                "{title} ran commands, and the workspace has too many files to see what they changed; git may tell"
            ));
        }
        (!parts.is_empty()).then(|| format!("{}.", parts.join(". ")))
    }
}

impl<'a> Disk<'a> {
    pub(super) fn new(cx: &'a Context) -> Self {
        Self {
            cx,
            began: SystemTime::now(),
            looked: Mutex::default(),
            ours: Mutex::default(),
            told: Mutex::default(),
            before: Mutex::default(),
            spans: Mutex::default(),
        }
    }

    /// Looks at the whole workspace before the agent begins.
    pub(super) async fn look_around(&self) {
        let (tree, store) = (self.cx.tree.clone(), self.cx.store.clone());
        let look = move || Before::look(&tree, store.as_deref()).map(Arc::new);
        let before = tokio::task::spawn_blocking(look).await.ok().flatten();
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = before;
    }

    /// A tool call ran that may have changed files of which it does not tell.
    pub(super) fn ran(&self, from: SystemTime, to: SystemTime) {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        match spans.last_mut() {
            // Calls that ran at once, or one after the other, are one span.
            Some(last) if from <= last.1 && last.0 <= to => {
                *last = (last.0.min(from), last.1.max(to));
            }
            _ => spans.push((from, to)),
        }
    }

    /// What commands have changed, that no call told of.
    async fn look_back(&self) {
        let spans = {
            let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *spans)
        };
        let Some(before) = self.before() else {
            self.told().unseen = !spans.is_empty();
            return;
        };
        // What was other before the first look, and is nobody's so far, is looked into once more.
        let is_known = |looked: &Looked| looked.news.is_none() || looked.is_late;
        let mut known: BTreeSet<PathBuf> = self
            .looked()
            .iter()
            .filter(|(_, looked)| is_known(looked))
            .map(|(path, _)| path.clone())
            .collect();
        known.extend(
            self.ours
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .cloned(),
        );
        let (tree, store) = (self.cx.tree.clone(), self.cx.store.clone());
        let run = self.cx.run.clone();
        let compare = move || before.compare(&tree, store.as_deref(), &run, &known, &spans);
        let found = tokio::task::spawn_blocking(compare).await;
        for found in found.unwrap_or_default() {
            let Found {
                path, before, now, ..
            } = found;
            if found.is_certain {
                let now = Looked::read(&self.cx.tree, &path, now, SystemTime::now());
                self.keep(path, before, now).await;
            } else {
                let name = self.cx.shown(&path);
                self.told().unsure.push(name);
            }
        }
    }

    fn before(&self) -> Option<Arc<Before>> {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        before.clone()
    }

    fn looked(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Looked>> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what stands in these files, of those that lie below the root and were not looked at since they were saved.
    /// What was written `since` then may be the agent's.
    pub(super) fn look_at(&self, paths: &[PathBuf], since: SystemTime) {
        for path in paths {
            let Ok(resolved) = self.cx.tree.resolve(path) else {
                continue;
            };
            let is_fresh = {
                let looked = self.looked();
                match looked.get(&resolved) {
                    Some(looked) => self.saved_since(&resolved, looked).is_none(),
                    None => looked.len() >= MOST,
                }
            };
            if !is_fresh {
                let now = self.look(&resolved, since);
                self.looked().insert(resolved, now);
            }
        }
    }

    fn look(&self, path: &Path, since: SystemTime) -> Looked {
        let tree = &self.cx.tree;
        let mut looked = Looked::now(tree, path);
        // Only then: what was written between the two is seen.
        looked.news = match self.before() {
            Some(before) => before.news(tree, self.cx.store.as_deref(), &self.cx.run, path),
            None if looked.stood == Stood::Absent => None,
            None => News::unknown(tree, path).filter(|news| news.is_of(since)),
        };
        looked.is_late = looked.news.as_ref().is_some_and(|news| news.is_of(since));
        looked
    }

    /// When a file was saved that was looked at before: what the look saw and what stands there now differ by the
    /// author's words.
    fn saved_since(&self, path: &Path, looked: &Looked) -> Option<SystemTime> {
        let saved = self.cx.tree.buffers.touched.last(path);
        saved.filter(|saved| *saved >= looked.at)
    }

    /// The files that an editor shows are looked at before anything begins.
    pub(super) fn look_at_open(&self) {
        let mut open = self.cx.tree.buffers.paths();
        open.retain(|path| self.cx.tree.resolve(path).is_ok());
        open.truncate(200);
        self.look_at(&open, SystemTime::now());
    }

    /// After a write of ours: it is known, and recorded where it was made.
    pub(super) fn look_again(&self, resolved: &Path) {
        let now = Looked::now(&self.cx.tree, resolved);
        self.looked().insert(resolved.to_owned(), now);
        let mut ours = self.ours.lock().unwrap_or_else(PoisonError::into_inner);
        ours.insert(resolved.to_owned());
    }

    /// What a write is based on that the agent has not read through us: the file as it is, if the editor
    /// shows the same as the disk, where the agent will have read it.
    ///
    /// # Errors
    /// A sentence for the agent.
    pub(super) fn unread(&self, resolved: &Path) -> Result<Option<Seen>, String> {
        let current = match self.cx.tree.read(resolved) {
            Ok(text) => text,
            Err(FileError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        if current.buffer.is_some() && read(resolved) != Stood::Text(current.text.as_bytes().into())
        {
            return Err(String::from(
                "The file is open in an editor with text that is not saved, so nothing was written. Read it by fs/read_text_file, then write it.",
            ));
        }
        Ok(Some(current.seen))
    }

    /// A call has ended that changes files: what it changed is kept.
    pub(super) async fn changed(&self, call: &Call) {
        for path in files(call) {
            let Ok(resolved) = self.cx.tree.resolve(&path) else {
                continue;
            };
            let now = Looked::now(&self.cx.tree, &resolved);
            let looked = self.looked().get(&resolved).cloned();
            let looked = looked.filter(|looked| self.saved_since(&resolved, looked).is_none());
            let is_ours = {
                let ours = self.ours.lock().unwrap_or_else(PoisonError::into_inner);
                ours.contains(&resolved)
            };
            let before = match looked {
                Some(looked) if is_ours => Some(looked.stood),
                looked => looked.map(|looked| looked.before(&now.stood)),
            };
            // It may have been faster than its own word: then what it says that it changed counts.
            let is_known = |before: &Stood| *before != Stood::Unknown && *before != now.stood;
            let before = match before {
                Some(before) if is_ours || is_known(&before) => before,
                before => {
                    let diff = call.diffs.iter().find(|diff| diff.path == path);
                    let made = diff.map_or(Stood::Unknown, |diff| reconstruct(diff, &now.stood));
                    match before {
                        Some(before) if made == Stood::Unknown => before,
                        _ => made,
                    }
                }
            };
            self.keep(resolved, before, now).await;
        }
    }

    /// Looks at everything once more, and says what was found in the whole turn.
    pub(super) async fn settle(&self) -> Told {
        let looked: Vec<(PathBuf, Looked)> = self
            .looked()
            .iter()
            .map(|(path, looked)| (path.clone(), looked.clone()))
            .collect();
        for (path, looked) in looked {
            let now = Looked::now(&self.cx.tree, &path);
            let before = looked.before(&now.stood);
            let is_lost = looked.is_late && before == Stood::Unknown;
            if now.stood == before && !is_lost {
                continue;
            }
            // The author saved it, or the editor took over what was written: not to be told apart, and
            // what the author wrote is not ours to undo.
            let shown = self.cx.tree.buffer(&path);
            if let (Some(shown), Stood::Text(now)) = (&shown, &now.stood)
                && shown.document.text().as_bytes() == now
            {
                let saved = self.cx.tree.buffers.touched.last(&path);
                if saved.is_none_or(|at| at < self.began) {
                    let name = self.cx.shown(&path);
                    self.told().unsure.push(name);
                }
                continue;
            }
            if let Some(saved) = self.saved_since(&path, &looked) {
                if !is_as_saved(&path, saved) {
                    let name = self.cx.shown(&path);
                    self.told().unsure.push(name);
                }
                continue;
            }
            self.keep(path, before, now).await;
        }
        self.look_back().await;
        for path in self.looked().keys() {
            let Some(buffer) = self.cx.tree.buffer(path) else {
                continue;
            };
            let name = self.cx.shown(path);
            let is_ours = self.told().changed.contains(&name) || self.told().lost.contains(&name);
            let differs = read(path) != Stood::Text(buffer.document.text().as_bytes().into());
            if is_ours && differs {
                self.told().apart.push(name);
            }
        }
        self.told().clone()
    }

    async fn keep(&self, path: PathBuf, before: Stood, now: Looked) {
        if before == now.stood && now.stood != Stood::Unknown {
            self.looked().insert(path, now);
            return;
        }
        let name = self.cx.shown(&path);
        let bytes = |stood: &Stood| match stood {
            Stood::Absent => Some(None),
            Stood::Text(text) => Some(Some(text.clone())),
            Stood::Unknown => None,
        };
        let recorded = match (bytes(&before), bytes(&now.stood), &self.cx.store) {
            (Some(before), Some(after), Some(store)) => {
                let change = Change {
                    file: name.clone(),
                    mode: match after {
                        None => {
                            let looked = self.looked().get(&path).and_then(|looked| looked.mode);
                            looked.or_else(|| self.before()?.mode(&path))
                        }
                        Some(_) => None,
                    },
                    before,
                    after,
                    ..Change::default()
                };
                let (store, run) = (store.clone(), self.cx.run.clone());
                let write = move || store.record_change(&run, &change).is_ok();
                tokio::task::spawn_blocking(write).await.unwrap_or(false)
            }
            _ => false,
        };
        {
            let mut told = self.told();
            let list = if recorded {
                &mut told.changed
            } else {
                &mut told.lost
            };
            if !list.contains(&name) {
                list.push(name);
            }
        }
        self.looked().insert(path.clone(), now);
        let paths = [path];
        self.cx.host.changed(&paths);
        self.cx.children.disk_changed(&paths);
    }
}

/// What stands there, through no link.
pub(super) fn read(path: &Path) -> Stood {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Stood::Absent,
        Ok(metadata) if metadata.is_file() && metadata.len() <= LARGEST => {
            std::fs::read(path).map_or(Stood::Unknown, Stood::Text)
        }
        _ => Stood::Unknown,
    }
}

/// The text before a change that was told of only afterwards.
fn reconstruct(diff: &Diff, now: &Stood) -> Stood {
    let Stood::Text(now) = now else {
        return Stood::Unknown;
    };
    let Ok(now) = std::str::from_utf8(now) else {
        return Stood::Unknown;
    };
    match &diff.before {
        None if diff.after == now => Stood::Absent,
        Some(before) if diff.after == now => Stood::Text(before.clone().into_bytes()),
        // A part of the file: where it stands once, what it replaced is known.
        Some(before) if !diff.after.is_empty() && now.matches(&diff.after).count() == 1 => {
            Stood::Text(now.replacen(&diff.after, before, 1).into_bytes())
        }
        _ => Stood::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_before_is_made_from_the_change_where_that_is_certain() {
        let text = |t: &str| Stood::Text(t.as_bytes().to_vec());
        let diff = |before: Option<&str>, after: &str| Diff {
            path: PathBuf::from("/a"),
            before: before.map(str::to_owned),
            after: after.to_owned(),
        };
        let made = |before, after, now: &str| reconstruct(&diff(before, after), &text(now));
        assert!(made(None, "new\n", "new\n") == Stood::Absent);
        assert!(made(Some("a\n"), "b\n", "b\n") == text("a\n"));
        assert!(made(Some("one"), "two", "x two y") == text("x one y"));
        assert!(made(Some("one"), "two", "two two") == Stood::Unknown);
        assert!(made(Some("one"), "", "x y") == Stood::Unknown);
        assert!(made(None, "new", "new and more") == Stood::Unknown);
        assert!(reconstruct(&diff(None, "x"), &Stood::Absent) == Stood::Unknown);
    }
}
