//! Which run is meant: by a thread, a run's id, or the beginning of one.

use std::path::Path;
use std::sync::Arc;

use super::super::{Error, Session, View, Workspace};
use super::is_answered_since;
use crate::store::{Run, Store, StoreError};
use crate::threads::{self, Thread};

impl Session {
    /// The run of a thread of this file.
    pub fn run_at(&self, path: &Path, thread_id: &str) -> Result<Run, Error> {
        match self.find_thread(thread_id, Some(path)) {
            Ok((_, thread)) => self.past_run(path, &thread).ok_or_else(unanswered),
            // It has other first words by now, or its file cannot be read.
            Err(error) => {
                let open = self.home_of(path)?.store()?.open_run(thread_id)?;
                open.ok_or(error)
            }
        }
    }

    /// The run of a thread that stands in this file; what was removed and brought back has its past again.
    pub fn past_run(&self, path: &Path, thread: &Thread) -> Option<Run> {
        let store = self.workspace_of(path)?.store().ok()?;
        let open = self.open_run_of(&store, path, thread).ok()?;
        open.or_else(|| store.run_brought_back(thread).ok()?)
    }

    /// The open run of a thread that stands in this file.
    pub(in crate::session) fn open_run_of(
        &self,
        store: &Store,
        path: &Path,
        thread: &Thread,
    ) -> Result<Option<Run>, Error> {
        let view = self.view(path)?;
        Ok(store.run_of_thread(thread, &view.threads, &view.text)?)
    }

    /// The run with which a turn at a thread goes on: the thread's id is that run's alone from here on, and it is open.
    pub(in crate::session) fn take_up_run(
        &self,
        store: &Store,
        view: &View,
        thread: &Thread,
    ) -> Result<Option<Run>, Error> {
        let run = match store.run_of_thread(thread, &view.threads, &view.text)? {
            None => store.run_brought_back(thread)?,
            open => open,
        };
        store.settle(&thread.id, run.as_ref().map(|run| run.id.as_str()))?;
        Ok(run)
    }

    /// Whether nobody has answered a thread whose turn stopped, and it stands at other code, which is not what the turn
    /// wrote: what the model was told is of the code there, and the same question is another one here.
    pub(in crate::session) fn is_asked_elsewhere(
        &self,
        store: &Store,
        run: &Run,
        view: &View,
        thread: &Thread,
    ) -> Result<bool, Error> {
        let is_answered = is_answered_since(thread, 0);
        Ok(!is_answered
            && !store.is_live(&run.id)?
            && store.stood_elsewhere(&run.id, thread, &view.text)?
            && !store.written_now(&run.id)?.contains(&run.file))
    }

    /// The run that an id, a prefix or a thread id names, in whichever folder.
    pub fn run_of(&self, id: &str) -> Result<(Arc<Workspace>, Run), Error> {
        let mut found = Vec::new();
        let mut last = StoreError::UnknownRun(id.to_owned()).into();
        for workspace in self.workspaces() {
            let run = workspace.store().and_then(|store| Ok(store.run(id)?));
            match run {
                // There is no other with the whole id of a run.
                Ok(run) if run.id == id => return Ok((workspace, run)),
                Ok(run) => found.push((workspace, run)),
                Err(Error::Store(StoreError::UnknownRun(_))) => {}
                Err(error) => last = error,
            }
        }
        // The whole id of a thread is meant before the beginning of another's.
        if found.iter().any(|(_, run)| run.thread_id == id) {
            found.retain(|(_, run)| run.thread_id == id);
        }
        if found.len() > 1 {
            let files = found.iter().map(|(home, run)| home.path_of(&run.file));
            return Err(Error::AmbiguousThread {
                prefix: id.to_owned(),
                candidates: files.map(|file| file.display().to_string()).collect(),
            });
        }
        match found.pop() {
            Some((workspace, run)) => match self.standing(id, &run, &workspace) {
                None => Ok((workspace, run)),
                Some(own) => Ok((workspace, own.ok_or_else(unanswered)?)),
            },
            None => {
                let stands = match last {
                    Error::Store(StoreError::UnknownRun(_)) => {
                        self.thread_in(id, &self.files_with_threads())
                    }
                    _ => Ok(None),
                };
                let Ok(Some((view, thread))) = stands else {
                    return Err(last);
                };
                let run = self.past_run(&view.path, &thread);
                Ok((self.home_of(&view.path)?, run.ok_or_else(unanswered)?))
            }
        }
    }

    /// Where a run was found by its thread's id and a thread with that id stands in the file: the run of that one, which
    /// may be another, or none.
    fn standing(&self, id: &str, run: &Run, workspace: &Workspace) -> Option<Option<Run>> {
        if run.id.starts_with(id) || !run.thread_id.starts_with(id) {
            return None;
        }
        let path = workspace.path_of(&run.file);
        let stands = self.thread_in(&run.thread_id, std::slice::from_ref(&path));
        let (_, thread) = stands.ok()??;
        Some(self.past_run(&path, &thread))
    }
}

/// Keeps which code the thread of a run is about: by that it is told from another that begins so.
pub(super) fn note_stand(store: &Store, run: &Run, thread: &Thread, text: &str) {
    if let Err(error) = store.stands_at(&run.id, &threads::line_beside(thread, text)) {
        tracing::warn!(%error, "the place of a turn's thread is not kept");
    }
}

fn unanswered() -> Error {
    Error::Other(String::from("no agent has worked on this thread yet"))
}
