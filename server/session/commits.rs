//! Clearing a file's threads and committing the file. What git refuses is put back.

use std::path::Path;

use super::verbs::{Made, TRIES};
use super::{Done, Error, Session, View};
use crate::edits::{self, Refused};
use crate::files::FileError;
use crate::host::{BufferEdit, NotApplied};
use crate::text::apply_edits;
use crate::vcs::{self, GitError};

/// A commit that waits until the author saves the file, whose threads were cleared in the editor.
pub struct PendingCommit {
    message: String,
    made: Made,
    /// The file with its threads.
    view: View,
}

impl Session {
    /// Removes every thread of the file and commits that file alone, as it is on disk: what was staged of it and what
    /// was not. In an editor the buffer is cleared first and the commit follows when the author has saved it.
    pub async fn clear_and_commit(
        &self,
        path: &Path,
        message: Option<&str>,
    ) -> Result<Done, Error> {
        let view = self.view(path)?;
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let message = message.map_or_else(
            || format!("Clear review threads from {name}"),
            str::to_owned,
        );
        if view.threads.is_empty() {
            return Err(Refused::NoThreads.into());
        }
        let place = vcs::place(path).map_err(|e| Error::Other(e.to_string()))?;
        let in_editor = view.buffer.is_some();
        let partly = !in_editor && vcs::is_partly_staged(&place);
        let made = self
            .write(path, "Clear threads", |source, _| edits::clear(source))
            .await?;
        let lines_removed = Some(made.written.lines_removed);
        if in_editor {
            let pending = PendingCommit {
                message,
                made,
                view,
            };
            self.pending_commits.insert(path.to_owned(), pending);
            return Ok(Done {
                lines_removed,
                committed: Some(false),
                note: Some(format!(
                    "the threads are cleared; save {name} and it is committed"
                )),
                ..self.done(path)
            });
        }
        match self.commit(&view, &made, message).await? {
            Ok(done) => Ok(Done {
                lines_removed,
                note: done.note.or_else(|| {
                    partly.then(|| {
                        String::from(
                            "the file was partly staged: all of it is in the commit, as it was on disk",
                        )
                    })
                }),
                ..done
            }),
            Err(refused) => {
                let left = self.put_back(path, &made).map_err(|e| {
                    Error::Other(format!("{refused}; and the file could not be put back: {e}"))
                })?;
                Err(Error::Other(match left {
                    PutBack::All => {
                        format!("file and index are as they were: {refused}")
                    }
                    PutBack::Beside => format!(
                        "the threads are back and the index is as it was; what changed in the file meanwhile (by a hook, perhaps) was left: {refused}"
                    ),
                    PutBack::But(lines) => format!(
                        "the index is as it was; the file changed meanwhile (by a hook, perhaps), and what was cleared could not be put back at line {lines}: {refused}"
                    ),
                }))
            }
        }
    }

    /// The commit that waits for the file that was just saved. To be asked in wire order: the next notification
    /// may close the file.
    pub fn pending_commit(&self, path: &Path) -> Option<PendingCommit> {
        Some(self.pending_commits.remove(path)?.1)
    }

    /// The author saved a file whose threads were cleared in the editor: the commit that was asked for. What git
    /// refuses is put back into the editor.
    pub async fn commit_saved(&self, pending: PendingCommit) -> Result<Done, Error> {
        let PendingCommit {
            message,
            made,
            view,
        } = pending;
        let path = &view.path;
        let file = self.relative(path);
        let now = self.view(path)?;
        let is_back = |id: &String| now.threads.iter().any(|thread| thread.id == *id);
        if view.threads.iter().any(|thread| is_back(&thread.id)) {
            return Err(Error::Other(format!(
                "{file} was not committed: threads that were cleared are back in it; clear them again to commit"
            )));
        }
        let refused = match self.commit(&view, &made, message).await? {
            Ok(done) => return Ok(done),
            Err(refused) => refused,
        };
        Err(Error::Other(
            match self.put_back_into_editor(path, &made).await {
                Ok(None) => format!(
                    "{file} was not committed; its threads are back in the editor, save it to keep them: {refused}"
                ),
                Ok(Some(lines)) => format!(
                    "{file} was not committed, and not all of its threads could be put back: the text was changed since at line {lines}: {refused}"
                ),
                Err(why) => format!(
                    "{file} was not committed, and its threads could not be put back ({why}): {refused}"
                ),
            },
        ))
    }

    /// The inner error is git's refusal, the outer one our own failure.
    async fn commit(
        &self,
        view: &View,
        made: &Made,
        message: String,
    ) -> Result<Result<Done, GitError>, Error> {
        let path = view.path.clone();
        let trusted = self.is_trusted(self.home_of(&path)?.root());
        // A hook may take its time: not on a thread that others wait for.
        let committing = tokio::task::spawn_blocking(move || {
            vcs::place(&path).and_then(|place| vcs::commit_file(&place, &message, trusted))
        });
        let committed = committing
            .await
            .map_err(|error| Error::Other(error.to_string()))?;
        let commit = match committed {
            Ok(commit) => commit,
            Err(refused) => return Ok(Err(refused)),
        };
        let ids: Vec<String> = view
            .threads
            .iter()
            .map(|thread| thread.id.clone())
            .collect();
        self.keep_closed(&view.path, made, &ids, commit.id.as_deref())
            .await;
        Ok(Ok(Done {
            committed: Some(commit.hash.is_some()),
            note: commit
                .hash
                .is_none()
                .then(|| String::from("the file is as HEAD has it: there is nothing to commit")),
            commit_hash: commit.hash,
            other_staged_files: commit.other_staged,
            ..self.done(&view.path)
        }))
    }

    /// Undoes a write to disk, beside what others changed since.
    fn put_back(&self, path: &Path, made: &Made) -> Result<PutBack, Error> {
        let workspace = self.home_of(path)?;
        let mut tries = 0;
        loop {
            tries += 1;
            let now = workspace.tree.read_path(path)?;
            if now.lossy {
                return Err(FileError::NotUtf8(self.relative(path)).into());
            }
            let (edits, left) = crate::edits::take_back(&made.before, &made.after, &now.text);
            let text = apply_edits(&now.text, &edits);
            match workspace
                .tree
                .write_path(path, text.as_bytes(), Some(&now.seen))
            {
                Ok(()) => {
                    workspace.index.refresh(&workspace.tree, path);
                    return Ok(if !left.is_empty() {
                        PutBack::But(listed(&left))
                    } else if text == made.before {
                        PutBack::All
                    } else {
                        PutBack::Beside
                    });
                }
                Err(FileError::Changed(_)) if tries < TRIES => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// [`Self::put_back`] through the editor. The lines where the author has changed the text since, if there are any.
    async fn put_back_into_editor(
        &self,
        path: &Path,
        made: &Made,
    ) -> Result<Option<String>, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            let Some(buffer) = self.buffers.get(path) else {
                // Closed meanwhile: the disk is all there is.
                return Ok(match self.put_back(path, made)? {
                    PutBack::But(lines) => Some(lines),
                    PutBack::All | PutBack::Beside => None,
                });
            };
            let (edits, left) =
                crate::edits::take_back(&made.before, &made.after, &buffer.document.text());
            let left = (!left.is_empty()).then(|| listed(&left));
            if edits.is_empty() {
                return Ok(left);
            }
            let version = buffer.document.version();
            let edit = BufferEdit {
                path: path.to_owned(),
                version,
                edits,
            };
            match self.host.apply("Put threads back", vec![edit]).await {
                Ok(()) => return Ok(left),
                Err(NotApplied::Changed) if tries < TRIES => {}
                Err(NotApplied::Refused(_))
                    if tries < TRIES && self.buffers.version(path) != Some(version) => {}
                Err(error) => return Err(Error::Other(error.to_string())),
            }
        }
    }
}

/// How much of a write could be undone.
enum PutBack {
    /// The file is as it was.
    All,
    /// All of it; other lines were changed meanwhile and stay so.
    Beside,
    /// Not at these lines.
    But(String),
}

fn listed(lines: &[usize]) -> String {
    let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
    lines.join(", ")
}
