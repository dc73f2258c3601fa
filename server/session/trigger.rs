//! `turn.trigger = "onSave"`: what begins without a click, which is what was typed here and nothing else.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Error, Session, TurnOptions, View};
use crate::config::Trigger;
use crate::host::Level;
use crate::store::RunStatus;
use crate::threads::{Message, Status, Thread};

/// A question that a save has begun a turn of.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Saved {
    path: PathBuf,
    thread_id: String,
    /// The messages of the thread with it: the same words may be said again later.
    spoken: usize,
    question: String,
}

impl Session {
    /// The file was saved. Each question in it begins one turn, however often the file is saved: one that failed or
    /// was cancelled is the author's to ask again.
    pub async fn start_saved(self: &Arc<Self>, path: &Path) {
        let Some(workspace) = self.workspace_of(path) else {
            return;
        };
        let is_wanted = workspace.loaded().settings.trigger == Trigger::OnSave;
        // Nobody has asked for anything by a save: it puts no question.
        if !is_wanted || !self.is_trusted(workspace.root()) {
            return;
        }
        let Ok(view) = self.view(path) else { return };
        let stands = |id: &str| view.threads.iter().any(|thread| thread.id == id);
        // Of a thread that is gone the same words may be asked again.
        self.turns
            .saved
            .retain(|of| of.path != path || stands(&of.thread_id));
        let _together = self.begin_together().await;
        for thread in view.threads.iter() {
            if !self.begins_by_itself(path, thread) || self.has_stopped(&view, thread) {
                continue;
            }
            let question = thread.messages.last().map(|last| last.text.clone());
            let question = Saved {
                path: path.to_owned(),
                thread_id: thread.id.clone(),
                spoken: thread.spoken().len(),
                question: question.unwrap_or_default(),
            };
            if !self.turns.saved.insert(question) {
                continue;
            }
            let options = TurnOptions {
                batch: true,
                ..TurnOptions::default()
            };
            if let Err(error) = self.start_turn(&thread.id, Some(path), options).await {
                self.host.message(Level::Warning, &error.to_string());
            }
        }
    }

    /// Whether a turn for this very question failed or was cancelled, whoever began it, before a restart perhaps.
    fn has_stopped(&self, view: &View, thread: &Thread) -> bool {
        let stopped = || -> Result<bool, Error> {
            let store = self.home_of(&view.path)?.store()?;
            let Some(run) = store.run_of_thread(thread, &view.threads, &view.text)? else {
                return Ok(false);
            };
            let asked = store.newest_of(&run.id, "user")?;
            let is_it = |question: &Message| {
                // Cancelled in the queue, it was not even asked.
                asked.is_none_or(|asked| asked.content == question.text)
            };
            Ok(
                matches!(run.status, RunStatus::Failed | RunStatus::Cancelled)
                    && thread.question().is_some_and(is_it)
                    && !self.is_asked_elsewhere(&store, &run, view, thread)?,
            )
        };
        stopped().unwrap_or(false)
    }

    /// It waits for an agent, asks for one, and every word of the author in it was typed here.
    fn begins_by_itself(&self, path: &Path, thread: &Thread) -> bool {
        thread.status == Status::Pending
            && !thread.malformed
            && thread.action().is_none()
            && thread.author_texts().all(|text| self.is_typed(path, text))
    }
}
