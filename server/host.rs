//! L3. What the engine asks of the face that runs it (an editor, a terminal, nobody).

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use tokio::sync::{Mutex, MutexGuard};

use crate::text::Edit;

/// Edits of one open buffer; offsets count in the text of this generation ([`Buffer::generation`]).
#[derive(Clone, Debug)]
pub struct BufferEdit {
    pub path: PathBuf,
    pub generation: u64,
    pub edits: Vec<Edit>,
}

/// What an editor does to a file that it has open, buffer and disk together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOp {
    Remove(PathBuf),
    /// `text` is what the file holds then.
    Rename {
        from: PathBuf,
        to: PathBuf,
        text: String,
    },
}

/// Why an editor did not take edits. Nothing was changed, but where that is not known.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotApplied {
    #[error("the text changed meanwhile")]
    Changed,
    #[error("the editor refused the edit: {0}")]
    Refused(String),
    /// Whatever the text becomes, and another try would be refused too.
    #[error("the editor refused the edit: {0}")]
    ReadOnly(String),
    /// It may have made them, or make them still: it may be suspended, or ask its user.
    #[error("it is not known whether the editor made the edit: {0}")]
    Unknown(String),
    #[error("no editor is connected")]
    NoEditor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Error,
    Warning,
    Info,
}

/// A question with buttons.
#[derive(Clone, Debug)]
pub struct Question {
    pub text: String,
    pub choices: Vec<String>,
    /// The last choice is a no: nothing happens by it.
    pub last_is_no: bool,
}

/// A question that could not be shown: nobody has answered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotShown;

/// A change of one file that the author is asked about before it is made.
#[derive(Clone, Debug)]
pub struct Proposed {
    /// The run's id.
    pub run: String,
    pub path: PathBuf,
    /// The path as people see it.
    pub shown: String,
    /// The old name of a file that is renamed, as people see it; `before` stands there.
    pub from: Option<String>,
    /// `None`: the file does not exist.
    pub before: Option<String>,
    /// `None`: it is to be removed.
    pub after: Option<String>,
    /// Lines added and removed.
    pub added: usize,
    pub removed: usize,
    /// How many files are asked about together.
    pub of: usize,
}

/// What a run is doing, for `$/progress` or a terminal's bar.
#[derive(Clone, Debug)]
pub enum Progress {
    Begin {
        title: String,
    },
    Report {
        message: String,
    },
    /// A piece of what the agent says, as it comes.
    Said {
        text: String,
    },
    /// A tool is called …
    Call {
        id: String,
        name: String,
        input: serde_json::Value,
    },
    /// … and has answered.
    Called {
        id: String,
        output: String,
        is_error: bool,
    },
    End {
        message: String,
    },
}

impl Progress {
    /// Of the conversation itself, which most faces show from the history.
    pub fn is_talk(&self) -> bool {
        matches!(
            self,
            Self::Said { .. } | Self::Call { .. } | Self::Called { .. }
        )
    }
}

#[async_trait]
pub trait Host: Send + Sync {
    /// Applies edits to open buffers, all or none, and returns when the new text has come back
    /// (`didChange`), so that the next read sees it.
    async fn apply(&self, label: &str, edits: Vec<BufferEdit>) -> Result<(), NotApplied>;

    /// The same, and then these files are removed or renamed.
    async fn apply_with(
        &self,
        label: &str,
        edits: Vec<BufferEdit>,
        ops: Vec<FileOp>,
    ) -> Result<(), NotApplied> {
        if ops.is_empty() {
            return self.apply(label, edits).await;
        }
        Err(NotApplied::Refused(String::from(
            "it neither removes nor renames files for us",
        )))
    }

    /// Whether [`FileOp::Remove`] can be asked for.
    fn can_remove(&self) -> bool {
        false
    }

    /// Whether [`FileOp::Rename`] can be asked for.
    fn can_rename(&self) -> bool {
        false
    }

    /// Of these files (absolute) of a folder those that another editor has open and not saved.
    async fn unsaved_elsewhere(&self, _root: &Path, _files: &[PathBuf]) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Has the editor put `after` in the place of `before` in a file that it shows otherwise than as a buffer (a notebook
    /// as its cells), beside what the author has typed there since, and save it. `false`: it has nothing to save there,
    /// and the disk is to be written.
    async fn write_shown(
        &self,
        _path: &Path,
        _before: &str,
        _after: &str,
    ) -> Result<bool, NotApplied> {
        Ok(false)
    }

    /// The index of the choice taken; `None` where nobody can be asked or the question was closed.
    async fn ask(&self, question: Question) -> Option<usize>;

    /// The same, for one who can have a question stand elsewhere where it could not be shown.
    async fn try_to_ask(&self, question: &Question) -> Result<Option<usize>, NotShown> {
        Ok(self.ask(question.clone()).await)
    }

    /// Whether a question may be left and no answer to it ever come: it has to stand elsewhere too.
    fn loses_questions(&self) -> bool {
        false
    }

    /// Whether a question is closed as soon as nobody waits for its answer.
    fn withdraws(&self) -> bool {
        false
    }

    /// `false`: somebody is there, but questions cannot be shown to them, as [`Self::ask`] has found.
    fn shows_questions(&self) -> bool {
        true
    }

    /// Whether the thread that the turn of this host answers is still there.
    fn stands(&self) -> bool {
        true
    }

    /// The turn of this host waits (or waits no longer) for an answer to a question that another one put.
    fn waits(&self, _more: bool) {}

    /// What a file was renamed to that stood at this path, in the same workspace folder, as far as that was told.
    fn renamed(&self, _path: &Path) -> Option<PathBuf> {
        None
    }

    /// Whether edits of open buffers can be shown before they are made ([`Self::preview`]).
    fn can_preview(&self) -> bool {
        false
    }

    /// Shows edits of open buffers; what the author agrees to is made, and comes back as in [`Self::apply`]
    /// before this returns.
    async fn preview(&self, label: &str, edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        self.apply(label, edits).await
    }

    /// Whether changes can be shown file by file, each decided on its own ([`Self::review`]).
    fn can_review(&self) -> bool {
        false
    }

    /// Shows a change and waits for the author: `true`, it is to be made. All that are asked about together
    /// are asked at once.
    async fn review(&self, _change: Proposed) -> bool {
        false
    }

    /// Shows a text to read, where there is a place for it. `name` ends as a file's name does. Where it could only be
    /// written: the path of the file.
    async fn show_text(&self, _name: &str, _text: &str) -> Option<String> {
        None
    }

    /// The bare sentence: a face that shows it says, where nobody else does, that it is ours.
    fn message(&self, level: Level, text: &str);

    /// A turn has ended with a question, which its thread in this file (an absolute path) holds: for a face that has
    /// another place to show it.
    fn asked(&self, _path: &Path, _thread_id: &str) {}

    /// `run` is the run's id. Begin comes once, End once.
    fn progress(&self, run: &str, progress: Progress);

    /// The threads of these files (absolute paths), or what is known of their turns, changed.
    fn changed(&self, paths: &[PathBuf]);
}

/// A turn's place among those that ask the same; whoever waits for it waits for an answer.
pub async fn in_turn<'a, T>(place: &'a Mutex<T>, host: &dyn Host) -> MutexGuard<'a, T> {
    if let Ok(free) = place.try_lock() {
        return free;
    }
    let _waiting = Waiting::new(host);
    place.lock().await
}

/// As long as it lives, the turn of a host waits for the answer to another's question ([`Host::waits`]).
pub struct Waiting<'a>(&'a dyn Host);

impl<'a> Waiting<'a> {
    pub fn new(host: &'a dyn Host) -> Self {
        host.waits(true);
        Self(host)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waits(false);
    }
}

/// Nobody there: tests and headless runs.
pub struct Nobody;

#[async_trait]
impl Host for Nobody {
    async fn apply(&self, _label: &str, _edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        Err(NotApplied::NoEditor)
    }
    async fn ask(&self, _question: Question) -> Option<usize> {
        None
    }
    fn message(&self, _level: Level, _text: &str) {}
    fn progress(&self, _run: &str, _progress: Progress) {}
    fn changed(&self, _paths: &[PathBuf]) {}
}
