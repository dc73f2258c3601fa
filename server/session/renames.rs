//! A file that is called otherwise by now. Its threads have other ids, which are made of its path too: their runs, their
//! turns and what the author typed go along. Of a file that is saved under another name its turn goes along alone: the
//! old one stays, and the author goes on in the new one.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::turns::Task;
use super::{Session, Workspace, undo};
use crate::host::Level;
use crate::os;
use crate::present;
use crate::threads::{self, Thread};

/// So many files that are gone are looked for among so many others.
const MOST: usize = 200;
/// The editor closes a file before it tells of its new name, and our own watch waits for calm.
const LATE: Duration = Duration::from_secs(2);
/// What changes on disk may be told of so much later than a question has seen it.
const HELD: Duration = Duration::from_secs(10);
/// Between the two names of a document that is saved as another, which an editor tells one after the other.
const REOPENED: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_millis(50);

impl Session {
    /// `old`, a file or a folder, is called `new`, as an editor tells.
    pub fn renamed(&self, old: &Path, new: &Path) {
        let (Some(workspace), Some(other)) = (self.workspace_of(old), self.workspace_of(new))
        else {
            return;
        };
        // Each folder has a history of its own: what was typed goes along, and the answer of a turn.
        if workspace.root() != other.root() {
            if new.is_file() || self.buffers.is_open(new) {
                self.typed_there_too(old, new);
                self.renames.insert(old.to_owned(), new.to_owned());
            }
            return;
        }
        let (Some(from), Some(to)) = (below(&workspace, old), below(&workspace, new)) else {
            return;
        };
        let known = workspace
            .store()
            .and_then(|store| Ok(store.files_at(&from)?));
        let known = known.unwrap_or_default();
        // A file without a history, or a folder, which may have such files in it.
        if !known.contains(&from) {
            self.renames.insert(old.to_owned(), new.to_owned());
        }
        let mut shown = Vec::new();
        for file in known {
            let Some(rest) = file.strip_prefix(&from) else {
                continue;
            };
            let now = format!("{to}{rest}");
            self.carry_over(&workspace, &file, &now);
            shown.push(workspace.root().join(now));
        }
        self.tell_renamed(&shown);
    }

    /// What a file was renamed to that stood at `path`, by itself or with a folder above it; `None`: that is not known, or
    /// it went to another workspace folder.
    pub(super) fn renamed_to(&self, workspace: &Workspace, path: &Path) -> Option<PathBuf> {
        let next = |path: &Path| {
            path.ancestors().find_map(|above| {
                let now = self.renames.get(above)?;
                Some(now.join(path.strip_prefix(above).ok()?))
            })
        };
        let mut now = next(path)?;
        // Each name once, however often it was given.
        for _ in 0..self.renames.len() {
            match next(&now).filter(|_| self.is_gone(&now)) {
                Some(next) => now = next,
                None => break,
            }
        }
        self.name_in(workspace, &now).map(|_| now)
    }

    fn is_gone(&self, path: &Path) -> bool {
        !self.buffers.is_open(path) && !path.exists()
    }

    /// What is shown of these files was made by their threads' old names.
    fn tell_renamed(&self, files: &[PathBuf]) {
        if !files.is_empty() {
            self.host.changed(files);
        }
    }

    /// Of what is gone from the disk and what changed there, with nobody telling of a rename: a file that came to have
    /// threads of one that is gone, where no other did.
    pub(super) fn follow_renames(&self, told: &[PathBuf], changed: &[PathBuf]) {
        if told.len() > MOST || changed.len() > MOST {
            return;
        }
        let mut shown = Vec::new();
        for gone in &self.gone_lately(told) {
            let Some(workspace) = self.workspace_of(gone) else {
                continue;
            };
            let Some(name) = below(&workspace, gone) else {
                continue;
            };
            let Ok(store) = workspace.store() else {
                continue;
            };
            for file in store.files_at(&name).unwrap_or_default() {
                let open = store.open_threads(&file).unwrap_or_default();
                if open.is_empty() || self.buffers.is_open(&workspace.path_of(&file)) {
                    continue;
                }
                let has_them = |path: &&PathBuf| {
                    // What asked the same all along is another, and so is what was answered by its own name.
                    let before = workspace.index.lately(path, LATE + HELD);
                    let before = before.map(|before| threads::ids(&file, before.iter()));
                    let is_old =
                        |id: &String| before.as_ref().is_some_and(|before| before.contains(id));
                    path.is_file()
                        && path.starts_with(workspace.root())
                        && self.view(path).is_ok_and(|view| {
                            let ids = threads::ids(&file, view.threads.iter());
                            let mut pairs = ids.iter().zip(view.threads.iter());
                            pairs.any(|(id, thread)| {
                                open.contains(id)
                                    && !is_old(id)
                                    && matches!(store.open_run(&thread.id), Ok(None))
                            })
                        })
                };
                let mut found = changed.iter().filter(has_them);
                if let (Some(new), None) = (found.next(), found.next())
                    && let Some(to) = below(&workspace, new)
                {
                    self.carry_over(&workspace, &file, &to);
                    shown.push(new.clone());
                }
            }
        }
        self.tell_renamed(&shown);
        self.follow_copies();
    }

    /// Of these what is gone, and what was a moment ago: both names of a file need not be told at once.
    fn gone_lately(&self, told: &[PathBuf]) -> Vec<PathBuf> {
        let mut lately = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let new = told.iter().map(|path| (path.clone(), now));
        let before = lately
            .drain(..)
            .filter(|(path, since)| now.duration_since(*since) < LATE && !told.contains(path));
        let all: Vec<_> = new
            .chain(before)
            .filter(|(path, _)| !path.exists())
            .collect();
        let paths = all.iter().map(|(path, _)| path.clone()).collect();
        lately.extend(all.into_iter().take(MOST));
        paths
    }

    /// The turns whose document is saved under another name are at work in that one.
    fn follow_copies(&self) {
        for workspace in self.workspaces() {
            for (run, thread) in self.turns.at_work(workspace.root()) {
                let Some(file) = self.turns.file_of(&run) else {
                    continue;
                };
                let path = workspace.path_of(&file);
                // One that is gone is renamed, and whoever did it may tell of it yet.
                if path.exists()
                    && let Some((new, id)) = self.copy_of(&run, &path, &thread)
                    && self.carry_turn(&workspace, &run, &file, &new, (&thread.id, &id))
                {
                    self.host.changed(&[path, new]);
                }
            }
        }
    }

    /// What cannot become a copy of the document of a thread any more: the open documents, and the files that have a thread
    /// with the same first words.
    pub(super) fn no_copies(&self, file: &str, thread: &Thread) -> HashSet<PathBuf> {
        let words = threads::words(&thread.id);
        let asks_it = |workspace: &Workspace, path: &Path| {
            let threads = workspace.index.get(path).map(|entry| entry.threads);
            let ids = threads.map(|threads| threads::ids(file, threads.iter()));
            ids.is_some_and(|ids| ids.iter().any(|id| threads::words(id) == words))
        };
        let mut all: HashSet<PathBuf> = self.buffers.paths().into_iter().collect();
        for workspace in self.workspaces() {
            let files = workspace.index.files().into_iter();
            all.extend(files.filter(|path| asks_it(&workspace, path)));
        }
        all
    }

    /// Where the author goes on who has saved the document of a turn under another name, and what its thread is called
    /// there: it was open and is not, and one was opened since that has the thread. It may be in another folder.
    pub(super) fn copy_of(
        &self,
        run: &str,
        path: &Path,
        thread: &Thread,
    ) -> Option<(PathBuf, String)> {
        let before = self.turns.opened_before(run)?;
        if self.buffers.is_open(path) {
            return None;
        }
        let home = self.workspace_of(path)?;
        let file = below(&home, path)?;
        // Another folder may have a file that asks the same: while the thread stands here too, only one of the same text
        // is a copy.
        let stays = LazyCell::new(|| {
            let left = self.view(path).ok()?;
            let is_it = |one: &Thread| one.id == thread.id;
            left.threads
                .iter()
                .any(is_it)
                .then(|| left.text.to_string())
        });
        let since = self.buffers.paths().into_iter();
        let mut found = since
            .filter(|open| !before.contains(open))
            .filter_map(|new| {
                let view = self.view(&new).ok()?;
                if self.workspace_of(&new)?.root() != home.root()
                    && stays.as_deref().is_some_and(|stays| stays != &*view.text)
                {
                    return None;
                }
                let ids = threads::ids(&file, view.threads.iter());
                let at = ids.iter().position(|id| *id == thread.id)?;
                let here = view.threads.get(at)?.id.clone();
                Some((new, here))
            });
        match (found.next(), found.next()) {
            (Some(copy), None) => Some(copy),
            _ => None,
        }
    }

    /// The turn of a run goes on in `new`, where its thread goes by another id (from, to); `false`: it does not.
    fn carry_turn(
        &self,
        workspace: &Arc<Workspace>,
        run: &str,
        from: &str,
        new: &Path,
        (old_id, id): (&str, &str),
    ) -> bool {
        let (Ok(view), Ok(store)) = (self.view(new), workspace.store()) else {
            return false;
        };
        let Some(to) = self.name_in(workspace, new) else {
            return false;
        };
        let lock = self.turns.carrying.lock();
        let _one_at_a_time = lock.unwrap_or_else(PoisonError::into_inner);
        let is_in = self.turns.file_of(run);
        if is_in.as_deref() != Some(from) {
            return is_in == Some(to);
        }
        // What it has changed in the document came along, unless that was done in the old file since.
        let changes = store.last_changes(run).unwrap_or_default();
        let steps: Vec<_> = changes
            .iter()
            .filter(|change| change.file == from)
            .collect();
        let stay = !undo::without(&steps, Some(view.text.as_bytes())).is_whole();
        let settling = self.provenance.settle();
        if let Err(error) = store.go_on_in(run, (from, &to), id, !stay) {
            tracing::warn!(%error, "a turn of {from} goes on in {to}, and the history does not know it");
            return false;
        }
        self.typed_elsewhere(&view);
        drop(settling);
        let pair = (old_id.to_owned(), id.to_owned());
        self.turns.renamed(workspace.root(), &[pair], &to);
        let stayed = match stay {
            true => format!("; what it has changed in {from} stands there alone"),
            false => String::new(),
        };
        let told = format!(
            "{from} was saved as {to} while an agent answers in it: it goes on in {to}{stayed}."
        );
        self.host.message(Level::Info, &present::visible(&told));
        true
    }

    /// The name in a folder of what is there, and in none within it.
    fn name_in(&self, workspace: &Workspace, path: &Path) -> Option<String> {
        let home = self.workspace_of(path)?;
        below(workspace, path).filter(|_| home.root() == workspace.root())
    }

    fn carry_over(&self, workspace: &Arc<Workspace>, from: &str, to: &str) {
        let (old, new) = (workspace.root().join(from), workspace.root().join(to));
        let (Ok(view), Ok(store)) = (self.view(&new), workspace.store()) else {
            return;
        };
        // Of a buffer that is still open under the old name.
        self.keep_provenance(Some(&old));
        let before = threads::ids(from, view.threads.iter());
        let after = view.threads.iter().map(|thread| thread.id.clone());
        let pairs: Vec<(String, String)> = before.into_iter().zip(after).collect();
        // Whoever sees the run under the new name sees who wrote its question, too.
        let settling = self.provenance.settle();
        if let Err(error) = store.rename_file(from, to, &pairs) {
            tracing::warn!(%error, "{from} is {to}, and the history does not know it");
            return;
        }
        self.typed_elsewhere(&view);
        drop(settling);
        self.turns.renamed(workspace.root(), &pairs, to);
        self.renames.insert(old, new);
    }

    /// Where the file of a turn is by now, and what its thread is called there. Tells whether that is elsewhere.
    pub(super) async fn follow(&self, task: &mut Task) -> bool {
        for _ in 0..LATE.as_millis() / LOOK.as_millis() {
            if !self.is_gone(&task.path) || self.renames.contains_key(&task.path) {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        let mut moved = false;
        // Each name once, however often it was given.
        for _ in 0..self.renames.len() {
            if !self.is_gone(&task.path) {
                break;
            }
            let now = self.renames.get(&task.path).map(|now| now.clone());
            let Some(now) = now else {
                break;
            };
            match self.name_in(&task.workspace, &now) {
                Some(file) => rename(task, now, file),
                None => self.answer_elsewhere(task, now),
            }
            moved = true;
        }
        moved || self.follow_copy(task).await
    }

    async fn follow_copy(&self, task: &mut Task) -> bool {
        let mut copy = self.copy_of(&task.run.id, &task.path, &task.thread);
        let was_open = self.turns.opened_before(&task.run.id).is_some();
        // An editor closes a document before it opens it by its other name.
        for _ in 0..REOPENED.as_millis() / LOOK.as_millis() {
            if copy.is_some()
                || !was_open
                || task.cancel.is_cancelled()
                || self.buffers.is_open(&task.path)
            {
                break;
            }
            tokio::time::sleep(LOOK).await;
            copy = self.copy_of(&task.run.id, &task.path, &task.thread);
        }
        let Some((new, id)) = copy else {
            return false;
        };
        if self.name_in(&task.workspace, &new).is_none() {
            self.answer_elsewhere(task, new);
            return true;
        }
        let ids = (task.thread.id.as_str(), id.as_str());
        if !self.carry_turn(&task.workspace, &task.run.id, &task.file, &new, ids) {
            return false;
        }
        // As they were, under the new name.
        let Some(file) = below(&task.workspace, &new) else {
            return false;
        };
        rename(task, new, file);
        true
    }

    /// The document of a turn is `new`, in another folder: its answer comes there. The history of the turn stays where it
    /// is, and so does what the turn has changed.
    fn answer_elsewhere(&self, task: &mut Task, new: PathBuf) {
        self.typed_there_too(&task.path, &new);
        let old = task.file.clone();
        let shown = new.display().to_string();
        let (there, was) = (self.relative(&new), std::mem::take(&mut task.file));
        rename(task, new, there);
        task.file = was;
        let told = format!(
            "{old} went to {shown} while an agent answers in it, into a folder with a history of its own: the answer comes there; what the turn has changed stays where it was."
        );
        self.host.message(Level::Info, &present::visible(&told));
    }

    /// What the author typed in a file of one folder was typed in a file of another, which it became.
    fn typed_there_too(&self, old: &Path, new: &Path) {
        let Ok(view) = self.view(new) else {
            return;
        };
        self.keep_provenance(Some(old));
        for text in view.threads.iter().flat_map(Thread::author_texts) {
            if self.is_typed(old, text) {
                self.store_as_typed(new, text);
            }
        }
    }
}

/// The file of a turn is called `file`, and its threads go by that name.
fn rename(task: &mut Task, path: PathBuf, file: String) {
    let mut among = task.among.to_vec();
    let at = among.iter().position(|one| one.id == task.thread.id);
    let ids = threads::ids(&file, among.iter());
    for (thread, id) in among.iter_mut().zip(ids) {
        thread.id = id;
    }
    if let Some(thread) = at.and_then(|at| among.get(at)) {
        task.thread.id.clone_from(&thread.id);
    }
    task.among = Arc::new(among);
    (task.path, task.file) = (path, file);
}

/// A path below the workspace's root, whether there is something or not.
fn below(workspace: &Workspace, path: &Path) -> Option<String> {
    let below = path.strip_prefix(workspace.root()).ok()?;
    Some(os::slashed(below)).filter(|below| !below.is_empty())
}
