//! The face as a running turn has it: what the turn says of itself is kept beside, so that a lens, a hover or
//! a hint can show it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::oneshot;

use super::turns::Turns;
use crate::host::{
    BufferEdit, FileOp, Host, Level, NotApplied, NotShown, Progress, Proposed, Question, Waiting,
};

pub(super) struct Live {
    turns: Arc<Turns>,
    host: Arc<dyn Host>,
    run: String,
    root: PathBuf,
    stands: Box<dyn Fn() -> bool + Send + Sync>,
    renamed: Box<Renamed>,
}

type Renamed = dyn Fn(&Path) -> Option<PathBuf> + Send + Sync;

impl Live {
    /// `stands`: whether the turn's thread does. `renamed`: what a file is called by now.
    pub(super) fn new(
        turns: Arc<Turns>,
        host: Arc<dyn Host>,
        run: &str,
        root: &Path,
        stands: impl Fn() -> bool + Send + Sync + 'static,
        renamed: impl Fn(&Path) -> Option<PathBuf> + Send + Sync + 'static,
    ) -> Self {
        Self {
            stands: Box::new(stands),
            renamed: Box::new(renamed),
            turns,
            host,
            run: run.to_owned(),
            root: root.to_owned(),
        }
    }

    /// The file of the turn's thread, as it is called by now; nothing of a turn that has ended.
    fn file(&self) -> Vec<PathBuf> {
        let file = self.turns.file_of(&self.run);
        file.map(|file| self.root.join(file)).into_iter().collect()
    }

    /// The question as one that the turn's thread shows, whose actions are the answers.
    fn put_at_thread(&self, question: &Question) -> Option<oneshot::Receiver<usize>> {
        let answered = self.turns.put(&self.run, question.clone())?;
        self.host.changed(&self.file());
        Some(answered)
    }

    /// Where it is to be found that stands at the thread alone.
    fn tell_of(&self, question: &Question) {
        let file = self.turns.file_of(&self.run).unwrap_or_default();
        let file = file.rsplit('/').next().unwrap_or(&file);
        let text = format!(
            "{} Answer at the thread in {file}: its code actions have {}.",
            question.text,
            question.choices.join(", ")
        );
        self.host.message(Level::Info, &text);
    }
}

/// What is answered at the thread; `None`: the question does not stand there.
async fn answer_of(at_thread: &mut Option<oneshot::Receiver<usize>>) -> Option<usize> {
    let answer = at_thread.as_mut()?.await.ok();
    *at_thread = None;
    answer
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

    async fn unsaved_elsewhere(&self, root: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
        self.host.unsaved_elsewhere(root, files).await
    }

    async fn write_shown(
        &self,
        path: &Path,
        before: &str,
        after: &str,
    ) -> Result<bool, NotApplied> {
        self.host.write_shown(path, before, after).await
    }

    async fn ask(&self, question: Question) -> Option<usize> {
        // Of its own, which is dropped too where nobody waits for it any more.
        let _open = Waiting::new(self);
        let mut at_thread = match self.host.loses_questions() {
            true => self.put_at_thread(&question),
            false => None,
        };
        let shown = tokio::select! {
            biased;
            Some(answer) = answer_of(&mut at_thread) => return Some(answer),
            shown = self.host.try_to_ask(&question) => shown,
        };
        match shown {
            Ok(answer) => answer,
            Err(NotShown) => {
                if at_thread.is_none() {
                    at_thread = self.put_at_thread(&question);
                }
                if at_thread.is_some() {
                    self.tell_of(&question);
                }
                answer_of(&mut at_thread).await
            }
        }
    }

    fn loses_questions(&self) -> bool {
        self.host.loses_questions()
    }

    fn withdraws(&self) -> bool {
        self.host.withdraws()
    }

    fn shows_questions(&self) -> bool {
        self.host.shows_questions()
    }

    fn renamed(&self, path: &Path) -> Option<PathBuf> {
        (self.renamed)(path)
    }

    fn stands(&self) -> bool {
        (self.stands)()
    }

    fn waits(&self, more: bool) {
        if let Some(message) = self.turns.asks(&self.run, more) {
            self.host.progress(&self.run, Progress::Report { message });
            // Its thread tells of it too, and was told of as the turn began.
            self.host.changed(&self.file());
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

    async fn show_text(&self, name: &str, text: &str) -> Option<String> {
        self.host.show_text(name, text).await
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
