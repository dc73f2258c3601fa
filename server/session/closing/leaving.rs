//! What was said in threads that leave their file is kept before the text is written: the server may be killed, or git
//! refuse, before they are closed. What is left behind so is closed where the thread is gone from its file.

use std::path::Path;
use std::sync::Arc;

use super::{Closing, changed, words_hash};
use crate::comments::detect;
use crate::files::{FileError, head};
use crate::host::Level;
use crate::present;
use crate::session::documents::threads_of;
use crate::session::verbs::Made;
use crate::session::{Session, Workspace};
use crate::store::{Closed, Left, Store, StoreError};
use crate::threads;
use crate::vcs::{self, LineMap};

impl Session {
    /// The threads `ids` are about to be taken out of the file by `made`. Blocking for the time of a durable write.
    pub(in crate::session) fn note_leaving(
        &self,
        path: &Path,
        made: &Made,
        ids: &[String],
        to_commit: bool,
    ) {
        let Some(workspace) = self.workspace_of(path) else {
            return;
        };
        let closing = Closing::new(&workspace, path, made, ids);
        let Ok(store) = &closing.store else {
            // Told when they are closed.
            return;
        };
        // What is kept of them goes by their ids.
        for thread in made.threads.iter().filter(|one| ids.contains(&one.id)) {
            let run = store.run_of_thread(thread, &made.threads, &made.before);
            let settled = run.and_then(|run| {
                let run = run.as_ref().map(|run| run.id.as_str());
                store.settle(&thread.id, run)
            });
            if let Err(error) = settled {
                tracing::warn!(%error, "a conversation that is closed may be another's");
            }
        }
        let said = closing.said(None);
        if let Err(error) = store.begin_leaving(&said, to_commit) {
            tracing::warn!(%error, "what is said in threads that are removed could not be kept before");
        }
    }

    /// Nothing was written: those of the threads `ids` that stand in the file stay.
    pub(in crate::session) fn note_stayed(&self, path: &Path, ids: &[String]) {
        let (Some(workspace), Ok(view)) = (self.workspace_of(path), self.view(path)) else {
            return;
        };
        let (file, now) = (self.relative(path), view.ids());
        let stand: Vec<String> = ids.iter().filter(|id| now.contains(id)).cloned().collect();
        if !workspace.has_store() {
            return;
        }
        let forgot = workspace
            .store()
            .and_then(|store| Ok(store.forget_leaving(&file, &stand)?));
        if let Err(error) = forgot {
            tracing::warn!(%error, "threads that stay are kept as if they left");
        }
    }

    /// No commit follows any more. Threads that are gone from the file are closed; where nobody else tells of the
    /// commit, it is told here.
    pub(in crate::session) fn call_off(&self, path: &Path, is_told: bool) {
        let Some(workspace) = self.workspace_of(path) else {
            return;
        };
        let file = self.relative(path);
        let settled = workspace.store().and_then(|store| {
            store.let_go_of_leaving(&file)?;
            // In an editor they may stand in the text, and on disk when it is saved.
            let stand = match self.buffers.is_open(path) {
                true => Stand::Stay,
                false => Stand::Forget,
            };
            Ok(workspace.settle(&store, Some(&file), stand)?)
        });
        match settled {
            Ok(files) if !is_told => workspace.tell_uncommitted(&files),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "threads that left {file} are not closed yet"),
        }
    }

    /// The file was saved: what an earlier process left of its threads is to be settled, by what is returned, which
    /// blocks. The end waits for it.
    pub fn settle_saved(self: &Arc<Self>, path: &Path) -> impl FnOnce() + Send + 'static {
        let (session, path) = (self.clone(), path.to_owned());
        let underway = self.commits.begin(&path);
        move || {
            session.settle_left(&path);
            drop(underway);
        }
    }

    fn settle_left(&self, path: &Path) {
        let Some(workspace) = self.workspace_of(path).filter(|one| one.has_store()) else {
            return;
        };
        let file = self.relative(path);
        let settled = workspace
            .store()
            .and_then(|store| Ok(workspace.settle(&store, Some(&file), Stand::Forget)?));
        match settled {
            Ok(files) => workspace.tell_uncommitted(&files),
            Err(error) => {
                tracing::info!(%error, "what was left of the threads of {file} is not known")
            }
        }
    }
}

/// What becomes of a thread that was to leave and stands in its file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Stand {
    /// The author has decided for it.
    Forget,
    /// A text without it may be saved yet.
    Stay,
}

impl Workspace {
    /// Closes what nobody sees to any more where the thread is gone from its file; the files that were to be
    /// committed.
    pub(in crate::session) fn settle(
        &self,
        store: &Store,
        only: Option<&str>,
        stand: Stand,
    ) -> Result<Vec<String>, StoreError> {
        let left = store.left(only)?;
        let mut uncommitted = Vec::new();
        for of_file in left.chunk_by(|one, next| one.closed.file == next.closed.file) {
            let Some(first) = of_file.first() else {
                continue;
            };
            let file = &first.closed.file;
            let path = self.path_of(file);
            let text = match self.tree.read(&path) {
                Ok(now) => Some(now.text),
                Err(FileError::NotFound(_)) => None,
                // What cannot be read is looked at another time.
                Err(_) => continue,
            };
            let now = text.as_deref().map_or_else(Vec::new, |text| {
                threads_of(file, text, detect(file, None, head(text)))
            });
            let stands = |left: &&Left| match (&text, now.is_empty()) {
                // An editor may know better than the file's name how its comments look.
                (Some(text), true) => holds(text, &left.closed),
                _ => now.iter().any(|thread| thread.id == left.closed.thread_id),
            };
            let (stay, gone): (Vec<&Left>, Vec<&Left>) = of_file.iter().partition(stands);
            if stand == Stand::Forget {
                let ids: Vec<String> = stay
                    .iter()
                    .map(|left| left.closed.thread_id.clone())
                    .collect();
                store.forget_leaving(file, &ids)?;
            }
            let (head, base) = vcs::text_in(&path, None).unzip();
            let base = base.flatten();
            let closed: Vec<_> = gone
                .iter()
                .map(|left| {
                    let mut closed = left.closed.clone();
                    if let (Some(text), Some(base)) = (&text, &base) {
                        find_in(&mut closed, text, base);
                    }
                    closed.ties.extend(changed(store, &closed.thread_id));
                    closed.commit.clone_from(&head);
                    closed
                })
                .collect();
            store.close_threads(&closed, &[])?;
            // git may have gone on alone, to the end of what it was asked for.
            let is_committed = text.is_some() && text.as_deref() == base.as_deref();
            if !is_committed && gone.iter().any(|left| left.to_commit) {
                uncommitted.push(file.clone());
            }
        }
        Ok(uncommitted)
    }

    pub(in crate::session) fn tell_uncommitted(&self, files: &[String]) {
        for file in files {
            let text = format!(
                "{file} is without the threads that were cleared, but postil did not see it committed: look at `git log`, and commit it yourself where it is not. What was said is kept in the history."
            );
            self.host.message(Level::Warning, &present::visible(&text));
        }
    }
}

/// Whether all that was said stands in the text, whatever it is there.
fn holds(text: &str, closed: &Closed) -> bool {
    let mut lines = closed.messages.iter().flat_map(|said| said.text.lines());
    threads::may_hold(text.as_bytes()) && lines.all(|line| text.contains(line))
}

/// Where the lines that a thread stood at are in the commit that HEAD is by now: plain ones are told apart by that.
fn find_in(closed: &mut Closed, text: &str, base: &str) {
    let (map, lines) = (LineMap::new(text, base), vcs::lines(text));
    for tie in &mut closed.ties {
        let line = tie.line.saturating_sub(1);
        // The text may be another than that which the thread was taken out of.
        let stands = lines.get(line).and_then(|line| words_hash(line)) == Some(tie.hash);
        tie.base_line = map.after(line).filter(|_| stands).map(|line| line + 1);
    }
}
