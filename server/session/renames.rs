//! A file that is called otherwise by now. Its threads have other ids, which are made of its path too: their runs, their
//! turns and what the author typed go along.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::turns::Task;
use super::{Session, Workspace};
use crate::os;
use crate::threads;

/// So many files that are gone are looked for among so many others.
const MOST: usize = 200;
/// The editor closes a file before it tells of its new name, and our own watch waits for calm.
const LATE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(50);

impl Session {
    /// `old`, a file or a folder, is called `new`, as an editor tells.
    pub fn renamed(&self, old: &Path, new: &Path) {
        let (Some(workspace), Some(other)) = (self.workspace_of(old), self.workspace_of(new))
        else {
            return;
        };
        // Each folder has a history of its own.
        if workspace.root() != other.root() {
            return;
        }
        let (Some(from), Some(to)) = (below(&workspace, old), below(&workspace, new)) else {
            return;
        };
        let known = workspace
            .store()
            .and_then(|store| Ok(store.files_at(&from)?));
        let mut shown = Vec::new();
        for file in known.unwrap_or_default() {
            let Some(rest) = file.strip_prefix(&from) else {
                continue;
            };
            let now = format!("{to}{rest}");
            self.carry_over(&workspace, &file, &now);
            shown.push(workspace.root().join(now));
        }
        self.tell_renamed(&shown);
    }

    /// What is shown of these files was made by their threads' old names.
    fn tell_renamed(&self, files: &[PathBuf]) {
        if !files.is_empty() {
            self.host.changed(files);
        }
    }

    /// Of what is gone from the disk and what changed there, with nobody telling of a rename: a file that has threads of
    /// one that is gone, where no other has them.
    pub(super) fn follow_renames(&self, told: &[PathBuf], changed: &[PathBuf]) {
        if told.len() > MOST || changed.len() > MOST {
            return;
        }
        let mut shown = Vec::new();
        for gone in told.iter().filter(|path| !path.exists()) {
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
                if open.is_empty() || self.buffers.is_open(&workspace.root().join(&file)) {
                    continue;
                }
                let has_them = |path: &&PathBuf| {
                    path.is_file()
                        && path.starts_with(workspace.root())
                        && self.view(path).is_ok_and(|view| {
                            let ids = threads::ids(&file, view.threads.iter());
                            ids.iter().any(|id| open.contains(id))
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
        let is_gone = |path: &Path| !self.buffers.is_open(path) && !path.exists();
        for _ in 0..LATE.as_millis() / LOOK.as_millis() {
            if !is_gone(&task.path) || self.renames.contains_key(&task.path) {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        let mut moved = false;
        // Each name once, however often it was given.
        for _ in 0..self.renames.len() {
            if !is_gone(&task.path) {
                break;
            }
            let now = self.renames.get(&task.path).map(|now| now.clone());
            let Some((now, file)) = now.and_then(|now| {
                let file = below(&task.workspace, &now)?;
                Some((now, file))
            }) else {
                break;
            };
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
            (task.path, task.file) = (now, file);
            moved = true;
        }
        moved
    }
}

/// A path below the workspace's root, whether there is something or not.
fn below(workspace: &Workspace, path: &Path) -> Option<String> {
    let below = path.strip_prefix(workspace.root()).ok()?;
    Some(os::slashed(below)).filter(|below| !below.is_empty())
}
