//! The face as a running turn has it: what the turn says of itself is kept beside, so that a lens, a hover or
//! a hint can show it.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;

use super::turns::Turns;
use crate::host::{
    BufferEdit, FileOp, Host, Level, NotApplied, Progress, Proposed, Question, Waiting,
};

pub(super) struct Live {
    turns: Arc<Turns>,
    host: Arc<dyn Host>,
    run: String,
}

impl Live {
    pub(super) fn new(turns: Arc<Turns>, host: Arc<dyn Host>, run: &str) -> Self {
        Self {
            turns,
            host,
            run: run.to_owned(),
        }
    }
}

#[async_trait]
impl Host for Live {
    async fn apply(&self, label: &str, edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        self.host.apply(label, edits).await
    }

    async fn apply_with(
        &self,
        label: &str,
        edits: Vec<BufferEdit>,
        ops: Vec<FileOp>,
    ) -> Result<(), NotApplied> {
        self.host.apply_with(label, edits, ops).await
    }

    fn can_remove(&self) -> bool {
        self.host.can_remove()
    }

    fn can_rename(&self) -> bool {
        self.host.can_rename()
    }

    async fn ask(&self, question: Question) -> Option<usize> {
        // Of its own, which is dropped too where nobody waits for it any more.
        let _open = Waiting::new(self);
        self.host.ask(question).await
    }

    fn waits(&self, more: bool) {
        if let Some(message) = self.turns.asks(&self.run, more) {
            self.host.progress(&self.run, Progress::Report { message });
        }
    }

    fn can_preview(&self) -> bool {
        self.host.can_preview()
    }

    async fn preview(&self, label: &str, edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        self.host.preview(label, edits).await
    }

    fn can_review(&self) -> bool {
        self.host.can_review()
    }

    async fn review(&self, change: Proposed) -> bool {
        self.host.review(change).await
    }

    async fn show_text(&self, name: &str, text: &str) {
        self.host.show_text(name, text).await;
    }

    fn message(&self, level: Level, text: &str) {
        self.host.message(level, text);
    }

    fn progress(&self, run: &str, progress: Progress) {
        // First, for the face may ask at once.
        if let Progress::Report { message } = &progress {
            self.turns.doing(run, message);
        }
        self.host.progress(run, progress);
    }

    fn changed(&self, paths: &[PathBuf]) {
        self.host.changed(paths);
    }
}
