//! What is read of a workspace's history.

use super::{Error, Session, Workspace};
use crate::store::{Run, RunStatus, StoreError};
use crate::threads;

impl Session {
    /// Runs of a workspace, newest first; `thread`: of this one alone, by its id or a unique prefix.
    pub fn runs(
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
                Err(error) => return Err(error.into()),
            }),
        };
        Ok(store.runs(thread.as_deref(), status, limit)?)
    }
}
