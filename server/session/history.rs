//! What is read of the history.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;

use super::{Error, Session, Workspace};
use crate::store::{Hit, Run, RunStatus, Store, StoreError};
use crate::threads;

impl Session {
    /// Runs of all folders, newest first, each with the history that has it; `thread`: of this one alone, by its id or a
    /// unique prefix.
    pub fn runs(
        &self,
        thread: Option<&str>,
        status: Option<RunStatus>,
        limit: usize,
    ) -> Result<Vec<(Arc<Store>, Run)>, Error> {
        let (mut lists, mut unknown) = (Vec::new(), None);
        for workspace in self.workspaces() {
            let store = workspace.store()?;
            match self.runs_in(&workspace, thread, status, limit) {
                Ok(runs) => lists.push(runs.into_iter().map(|run| (store.clone(), run)).collect()),
                // Another folder may have it.
                Err(error @ Error::UnknownThread(_)) => unknown = Some(error),
                Err(error) => return Err(error),
            }
        }
        match unknown.filter(|_| lists.is_empty()) {
            Some(error) => Err(error),
            None => Ok(newest(lists, |(_, run): &(_, Run)| run.started, limit)),
        }
    }

    /// The same of one folder.
    pub fn runs_in(
        &self,
        workspace: &Workspace,
        thread: Option<&str>,
        status: Option<RunStatus>,
        limit: usize,
    ) -> Result<Vec<Run>, Error> {
        let store = workspace.store()?;
        let thread = match thread {
            None => None,
            Some(id) => Some(match store.run(id) {
                // Its newest run knows the whole id.
                Ok(run) => run.thread_id,
                // One that stands in a file and was never answered has none; so may one that is gone, by its whole id.
                Err(StoreError::UnknownRun(_)) if threads::is_whole(id) => id.to_owned(),
                Err(StoreError::UnknownRun(_)) => {
                    self.find_thread(id, Some(workspace.root()))?.1.id
                }
                Err(StoreError::ShortId(id)) => return Err(Error::ShortId(id)),
                Err(error) => return Err(error.into()),
            }),
        };
        Ok(store.runs(thread.as_deref(), status, limit)?)
    }

    /// The newest rounds of all folders that hold all of `words`.
    pub fn search(&self, words: &str, limit: usize) -> Result<Vec<Hit>, Error> {
        let mut lists = Vec::new();
        for workspace in self.workspaces() {
            lists.push(workspace.store()?.search(words, limit)?);
        }
        Ok(newest(lists, |hit: &Hit| hit.time, limit))
    }
}

/// The newest of all folders. One alone has its own in order, also where the clock was set in between.
fn newest<T>(lists: Vec<Vec<T>>, time: impl Fn(&T) -> Timestamp, limit: usize) -> Vec<T> {
    let several = lists.len() > 1;
    let mut all: Vec<T> = lists.into_iter().flatten().collect();
    if several {
        all.sort_by_key(|one| Reverse(time(one)));
    }
    all.truncate(limit);
    all
}
