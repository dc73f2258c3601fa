//! Which run is meant: by a thread, a run's id, or the beginning of one.

use std::path::Path;
use std::sync::Arc;

use super::super::{Error, Session, Workspace};
use crate::store::{Run, StoreError};
use crate::threads::Thread;

impl Session {
    /// The run of a thread of this file.
    pub fn run_at(&self, path: &Path, thread_id: &str) -> Result<Run, Error> {
        match self.home_of(path)?.store()?.run_of_thread(thread_id)? {
            Some(run) => Ok(run),
            None => {
                let (_, thread) = self.find_thread(thread_id, Some(path))?;
                self.past_run(path, &thread).ok_or_else(unanswered)
            }
        }
    }

    /// The run of a thread that stands in this file; what was removed and brought back has its past again.
    pub fn past_run(&self, path: &Path, thread: &Thread) -> Option<Run> {
        let store = self.workspace_of(path)?.store().ok()?;
        let open = store.run_of_thread(&thread.id).ok()?;
        open.or_else(|| store.run_brought_back(thread).ok()?)
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
            Some((workspace, run)) if self.is_of_another(id, &run, &workspace) => Err(unanswered()),
            Some(found) => Ok(found),
            None => {
                let unknown = matches!(last, Error::Store(StoreError::UnknownRun(_)));
                let stands = || self.thread_in(id, &self.files_with_threads());
                match unknown && matches!(stands(), Ok(Some(_))) {
                    true => Err(unanswered()),
                    false => Err(last),
                }
            }
        }
    }

    /// Whether a run that was found by its thread's id is closed, and the thread with that id in the file another one.
    fn is_of_another(&self, id: &str, run: &Run, workspace: &Workspace) -> bool {
        if run.id.starts_with(id) || !run.thread_id.starts_with(id) {
            return false;
        }
        let path = workspace.path_of(&run.file);
        let Ok(Some((_, thread))) = self.thread_in(&run.thread_id, std::slice::from_ref(&path))
        else {
            return false;
        };
        self.past_run(&path, &thread)
            .is_none_or(|past| past.id != run.id)
    }
}

fn unanswered() -> Error {
    Error::Other(String::from("no agent has worked on this thread yet"))
}
