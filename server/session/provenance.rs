//! Who wrote an AUTHOR message: typed in an editor that postil serves (or by `postil new`, `postil say`),
//! or arrived with the file. In memory while a buffer is open, in the store once the author stops typing, saves,
//! closes or asks.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use dashmap::DashMap;

use super::{Session, Stamp, View, stamp};
use crate::text::may_show;
use crate::threads::Thread;

/// Texts of AUTHOR messages, by open file.
#[derive(Default)]
pub(super) struct Provenance {
    arrived: DashMap<PathBuf, HashSet<String>>,
    /// Of the newest change of a file: what has arrived with it unless the file's next message says that it was saved.
    doubtful: DashMap<PathBuf, Vec<String>>,
    /// When the file was written, and its length, as it was when the editor had opened or saved it.
    disk: DashMap<PathBuf, Stamp>,
    /// Typed here, and written down in the store.
    kept: DashMap<PathBuf, HashSet<String>>,
    /// Typed here, in files that may be closed by now, and not written down yet: another process held the store.
    unkept: DashMap<PathBuf, HashSet<String>>,
    /// Held while a change is taken that may be a reload: until it is known, nobody can say who wrote what it brings.
    settling: RwLock<()>,
}

impl Provenance {
    pub(super) fn settle(&self) -> RwLockWriteGuard<'_, ()> {
        self.settling
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// The disk has what the editor shows, as far as that can be told by a look: nothing else can come by a reload until
    /// it is written again.
    pub(super) fn note_disk(&self, path: &Path) {
        match self.like_shown(path) {
            Some(stamp) => {
                self.provenance.disk.insert(path.to_owned(), stamp);
            }
            None => {
                self.provenance.disk.remove(path);
            }
        }
    }

    /// Whether a file that was written meanwhile can hold what the editor shows. Cheap enough for each key.
    pub(super) fn may_be_reloaded(&self, path: &Path) -> bool {
        let known = self.provenance.disk.get(path).map(|known| *known);
        self.like_shown(path).is_some_and(|now| known != Some(now))
    }

    /// The file on the disk, where it can be what the editor shows, by its length alone.
    fn like_shown(&self, path: &Path) -> Option<Stamp> {
        const MARK: u64 = "\u{feff}".len() as u64;
        let disk = stamp(path)?;
        let shown = self.buffers.document(path)?.len() as u64;
        (disk.1 == shown || disk.1 == shown + MARK).then_some(disk)
    }

    /// The file was opened: every message in it that was not typed here before has arrived.
    ///
    /// Also where the disk does not have it: a buffer that was read before a checkout, or restored from an earlier
    /// session, holds what others wrote as well, and nothing in it tells which part was typed.
    pub(super) fn note_arrived(&self, view: &View) {
        let (kept, arrived): (HashSet<_>, HashSet<_>) = author_texts(&view.threads)
            .map(str::to_owned)
            .partition(|text| self.stored_as_typed(&view.path, text));
        let path = &view.path;
        self.provenance.arrived.insert(path.clone(), arrived);
        self.provenance.kept.insert(path.clone(), kept);
    }

    /// A change that makes the buffer what the disk holds is a reload (a checkout, another program): what
    /// it brings was not typed here. An editor that writes a file may tell of its last keys afterwards, right before
    /// it says so: what a change completes that brings no marker (`whole`: it brings some) has come by these, then.
    pub(super) fn note_if_reloaded(&self, path: &Path, whole: bool) {
        let Ok(view) = self.view(path) else { return };
        if !is_on_disk(path, view.text.as_bytes()) {
            return;
        }
        let mut arrived = self.provenance.arrived.entry(path.to_owned()).or_default();
        let new: Vec<_> = author_texts(&view.threads)
            .filter(|text| !arrived.contains(*text) && !self.stored_as_typed(path, text))
            .map(str::to_owned)
            .collect();
        arrived.extend(new.iter().cloned());
        drop(arrived);
        if !whole && !new.is_empty() {
            self.provenance.doubtful.insert(path.to_owned(), new);
        }
    }

    /// Another message about a file has come; `saved`: it was saved.
    pub(super) fn settle_doubts(&self, path: &Path, saved: bool) {
        if let Some((_, texts)) = self.provenance.doubtful.remove(path)
            && saved
            && let Some(mut arrived) = self.provenance.arrived.get_mut(path)
        {
            arrived.retain(|text| !texts.contains(text));
        }
    }

    /// What was typed in this file is known by now: it was typed under another name of it.
    pub(super) fn typed_elsewhere(&self, view: &View) {
        if let Some(mut arrived) = self.provenance.arrived.get_mut(&view.path) {
            arrived.retain(|text| !self.stored_as_typed(&view.path, text));
        }
    }

    pub(super) fn forget_arrived(&self, path: &Path) {
        self.provenance.arrived.remove(path);
        self.provenance.doubtful.remove(path);
        self.provenance.disk.remove(path);
        self.provenance.kept.remove(path);
    }

    /// The author has stopped typing for a moment: a server that is killed afterwards forgets nothing of it.
    pub fn keep_typed(&self, path: &Path) {
        self.keep_provenance(Some(path));
    }

    /// Writes down what was typed in the open buffers (or in one), so that it is known after a restart. Nobody waits
    /// long for it: what another process keeps from being written is so the next time.
    pub(super) fn keep_provenance(&self, only: Option<&Path>) {
        let paths = match only {
            Some(path) => vec![path.to_owned()],
            None => self.buffers.paths(),
        };
        let mut typed: Vec<(PathBuf, String)> = Vec::new();
        for of in &self.provenance.unkept {
            let texts = of.value().iter();
            typed.extend(texts.map(|text| (of.key().clone(), text.clone())));
        }
        for path in paths {
            if !self.buffers.is_open(&path) {
                continue;
            }
            let Ok(view) = self.view(&path) else { continue };
            for text in author_texts(&view.threads) {
                if self.is_typed(&path, text) && !self.is_kept(&path, text) {
                    typed.push((path.clone(), text.to_owned()));
                }
            }
        }
        let mut is_held_up = false;
        for (path, text) in typed {
            is_held_up = is_held_up || !self.write_typed(&path, &text, false);
            let mut unkept = self.provenance.unkept.entry(path).or_default();
            match is_held_up {
                true => unkept.insert(text),
                false => unkept.remove(&text),
            };
        }
        self.provenance.unkept.retain(|_, texts| !texts.is_empty());
    }

    /// Whether the author typed this message here.
    pub fn is_typed(&self, path: &Path, text: &str) -> bool {
        let settling = &self.provenance.settling;
        let _settled = settling.read().unwrap_or_else(PoisonError::into_inner);
        match self.provenance.arrived.get(path) {
            Some(arrived) => !arrived.contains(text),
            None => self.stored_as_typed(path, text),
        }
    }

    /// What the author says by a verb is typed here. Waits for another process that writes.
    pub(super) fn store_as_typed(&self, path: &Path, text: &str) {
        self.write_typed(path, text, true);
        if let Some(mut arrived) = self.provenance.arrived.get_mut(path) {
            arrived.remove(text);
        }
    }

    /// `false`: it may be written another time.
    fn write_typed(&self, path: &Path, text: &str, waits: bool) -> bool {
        let store = self.workspace_of(path).and_then(|w| w.store().ok());
        match store.map(|store| store.note_typed(&self.relative(path), text, waits)) {
            Some(Ok(())) => {
                if let Some(mut kept) = self.provenance.kept.get_mut(path) {
                    kept.insert(text.to_owned());
                }
                true
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "the origin of a message could not be kept");
                false
            }
            None => true,
        }
    }

    /// Whether the disk has what the editor shows of a file.
    pub fn is_saved(&self, path: &Path) -> bool {
        let shown = self.buffers.document(path);
        shown.is_none_or(|shown| is_on_disk(path, shown.text().as_bytes()))
    }

    fn is_kept(&self, path: &Path, text: &str) -> bool {
        let kept = self.provenance.kept.get(path);
        kept.is_some_and(|kept| kept.contains(text))
    }

    fn stored_as_typed(&self, path: &Path, text: &str) -> bool {
        let unkept = self.provenance.unkept.get(path);
        if unkept.is_some_and(|unkept| unkept.contains(text)) {
            return true;
        }
        self.workspace_of(path)
            .and_then(|workspace| workspace.store().ok())
            .is_some_and(|store| store.was_typed(&self.relative(path), text).unwrap_or(false))
    }
}

/// Whether the disk has what an editor shows.
pub(super) fn is_on_disk(path: &Path, shown: &[u8]) -> bool {
    // A pipe never ends.
    path.is_file() && std::fs::read(path).is_ok_and(|disk| may_show(&disk, shown))
}

fn author_texts(threads: &[Thread]) -> impl Iterator<Item = &str> {
    threads.iter().flat_map(Thread::author_texts)
}
