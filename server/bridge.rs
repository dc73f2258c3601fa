//! L6. The way into an editor's server: `postil mcp` hands its calls to the server of an editor that has the
//! workspace open, and the commands that change files theirs, so that they see unsaved text and write through the editor.
//!
//! A server listens on a Unix socket for each of its workspace folders, in one of a few places. A place is had by the
//! lock on a file beside the folder's history, which also says where the socket is; the lock ends with its process, and a
//! socket that was left behind is removed by the next. A call goes to the server whose editor shows what it is about,
//! else to the first. It is one line of JSON each way. Only [`verbs`] can be called: nothing here runs a program or
//! trusts a folder. Both sides check that the other is a process of the same user.
//!
//! Elsewhere than on Unix there is no such way: the calls work on the files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::verbs::Failure;

#[cfg(unix)]
mod client;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod several;
#[cfg(unix)]
mod wire;

#[cfg(unix)]
pub use client::{call, call_beside, serving};
#[cfg(unix)]
pub use server::{Listening, listen};

#[cfg(not(unix))]
pub use elsewhere::{Listening, call, call_beside, listen, serving};

/// Why an editor's server did not answer.
#[derive(Clone, Debug)]
pub enum NoAnswer {
    /// None runs; nothing was asked.
    Absent(String),
    /// One runs that cannot be spoken with; nothing was asked.
    Stranger(String),
    /// One runs that does not tell what it has open; nothing was asked. This says why, and what to do.
    Unheard(Failure),
    /// It was asked, and what became of it is not known.
    Lost(String),
}

impl NoAnswer {
    /// For a call that is not carried out otherwise, about the workspace `root`: nothing is done behind the back of an
    /// editor that is there.
    pub fn failure(self, root: &Path) -> Failure {
        match self {
            Self::Absent(why) => Failure::new("no_editor", format!("{why}: nothing was done")),
            Self::Stranger(why) => Failure::new(
                "editor_version",
                format!(
                    "{why}, and what it has not saved of {} is not known: nothing was done; have that editor start its server again with this version (`postil --version`), or close it, then do this again",
                    root.display()
                ),
            ),
            Self::Unheard(failure) => failure,
            Self::Lost(why) => Failure::new(
                "editor_lost",
                format!(
                    "the editor's server was lost in the middle ({why}), and what it did is not known: look at the file there before you do it again"
                ),
            ),
        }
    }
}

/// Whether a call was refused because an editor beside the one it was made from does not tell what it has open.
pub fn is_unheard(failure: &Failure) -> bool {
    ["editor_silent", "editor_unclear", "editor_version"].contains(&failure.code.as_str())
}

/// What editors have open, as `buffer_read` tells it.
#[derive(Deserialize)]
pub struct Listed {
    buffers: Vec<Open>,
    /// Of editors that do not tell.
    unheard: Option<String>,
}

impl Listed {
    /// # Errors
    /// Why one does not tell, and what to do.
    pub fn all(self) -> Result<Vec<Open>, String> {
        match self.unheard {
            Some(why) => Err(why),
            None => Ok(self.buffers),
        }
    }

    /// Those of the editors that tell.
    pub fn told(self) -> Vec<Open> {
        self.buffers
    }
}

/// The folders other than `root` that hold one of `files` (canonical) and that an editor has open. It knows the threads of
/// these files by other ids, so that a call about `root` cannot go through it.
pub fn others<'a>(
    data: &Path,
    root: &Path,
    files: impl IntoIterator<Item = &'a PathBuf>,
) -> Vec<&'a Path> {
    let mut folders = HashSet::new();
    for file in files {
        // With a folder those above it are there.
        for folder in file.ancestors().skip(1) {
            if !folders.insert(folder) {
                break;
            }
        }
    }
    let served = |folder: &&Path| *folder != root && !serving(data, folder).is_empty();
    folders.into_iter().filter(served).collect()
}

/// Of `files` (canonical) those that an editor with this folder has open and not saved.
pub fn unsaved_of(open: Vec<Open>, folder: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let unsaved = open.into_iter().filter(|open| open.unsaved);
    let paths = unsaved.map(|open| folder.join(open.file));
    paths.filter(|path| files.contains(path)).collect()
}

/// Why `path` is left alone, which the editor that has `folder` open has not saved.
pub fn unsaved(path: &Path, folder: &Path) -> String {
    format!(
        "{} has changes that are not saved in an editor that has the folder {} open: save it there first; nothing was done to it",
        path.display(),
        folder.display()
    )
}

/// A document that an editor has open.
#[derive(Deserialize)]
pub struct Open {
    /// Relative to the workspace.
    pub file: String,
    /// The disk does not have what the editor shows.
    #[serde(default)]
    pub unsaved: bool,
}

#[cfg(not(unix))]
mod elsewhere {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use serde_json::Value;
    use tokio_util::sync::CancellationToken;

    use super::NoAnswer;
    use crate::session::Session;
    use crate::verbs::{Answer, Failure, Verb};

    pub struct Listening;

    impl Listening {
        pub fn socket(&self) -> Option<PathBuf> {
            None
        }
    }

    pub fn listen(_: &Arc<Session>, _: &Path, _: &tokio::runtime::Handle) -> Listening {
        Listening
    }

    pub fn serving(_: &Path, _: &Path) -> Vec<String> {
        Vec::new()
    }

    pub async fn call(
        _: &Path,
        _: &Path,
        _: &Verb,
        _: &Value,
        _: &CancellationToken,
    ) -> Result<Result<Answer, Failure>, NoAnswer> {
        Err(NoAnswer::Absent(String::from(
            "this system has no way into an editor's server",
        )))
    }

    pub async fn call_beside(
        _: &Path,
        _: &Path,
        _: &Path,
        _: &Verb,
        _: &Value,
        _: &CancellationToken,
    ) -> Option<Result<Result<Answer, Failure>, NoAnswer>> {
        None
    }
}
