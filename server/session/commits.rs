//! Clearing a file's threads and committing the file. What git refuses is put back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::closing::Begun;
use super::documents::threads_of;
use super::provenance::is_on_disk;
use super::tries::Tries;
use super::verbs::Made;
use super::{Done, Error, Session, View};
use crate::edits::{self, Refused};
use crate::files::FileError;
use crate::host::{BufferEdit, Level, NotApplied};
use crate::present;
use crate::text::apply_edits;
use crate::threads;
use crate::vcs::{self, Commit, GitError, Head, Place};

/// Why a batch leaves `commit` alone in a file of which it answers other threads: it would clear the answers with them.
pub fn commit_waits(file: &str) -> Error {
    Error::Other(format!(
        "`commit` in {} waits: other threads of the file are answered now, and it would clear the answers before you have read them; then ask for it again",
        present::visible(file)
    ))
}

/// A commit that waits until the author saves the file, whose threads were cleared in the editor.
pub struct PendingCommit {
    message: String,
    made: Made,
    /// The file with its threads.
    view: Arc<View>,
    /// Whether the editor has said that the threads are cleared.
    cleared: bool,
    /// Where the repository stood then.
    head: Option<Head>,
    /// The text became what the disk holds, without the threads: by a reload, if no save is told of next.
    like_disk: bool,
    /// From the save on.
    underway: Option<Begun>,
}

impl Session {
    /// Removes every thread of the file and commits that file alone, as it is on disk: what was staged of it and what
    /// was not. In an editor the buffer is cleared first and the commit follows when the author has saved it.
    pub async fn clear_and_commit(
        &self,
        path: &Path,
        message: Option<&str>,
    ) -> Result<Done, Error> {
        let view = Arc::new(self.view(path)?);
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
        let place =
            vcs::place(path).map_err(|e| Error::Other(format!("nothing was written: {e}")))?;
        let answerable = self.answerable(path, &place)?;
        if !self.is_trusted(&answerable.folder) {
            vcs::needs_no_filter(&place)
                .map_err(|e| Error::Other(format!("nothing was written: {}", answerable.say(e))))?;
        }
        let in_editor = view.buffer.is_some();
        let partly = !in_editor && vcs::is_partly_staged(&place);
        let head = vcs::head(path);
        let _underway = (!in_editor).then(|| self.commits.begin(path));
        let ids = view.ids();
        // The author may save before the editor has answered: what is to be done then stands ready.
        let note = |made: &Made| {
            self.note_leaving(path, made, &ids, true);
            if in_editor {
                let pending = PendingCommit {
                    message: message.clone(),
                    made: made.clone(),
                    view: view.clone(),
                    cleared: false,
                    head: head.clone(),
                    like_disk: false,
                    underway: None,
                };
                self.pending_commits.insert(path.to_owned(), pending);
            }
        };
        let made = self
            .write_noted(
                path,
                "Clear threads",
                Tries::new(),
                |source, _, now| {
                    // Removed is what was seen, not what was said since.
                    let same = |(one, other)| threads::is_unchanged(one, other);
                    if now.len() != view.threads.len() || !view.threads.iter().zip(now).all(same) {
                        return Err(Refused::Changed);
                    }
                    edits::clear(source)
                },
                note,
            )
            .await
            .inspect_err(|_| {
                self.pending_commits
                    .remove_if(path, |_, pending| !pending.cleared);
                self.note_stayed(path, &ids);
            })?;
        let lines_removed = Some(made.written.lines_removed);
        if in_editor {
            let note = match self.pending_commits.get_mut(path) {
                Some(mut pending) => {
                    pending.cleared = true;
                    format!("the threads are cleared; save {name} and it is committed")
                }
                None => format!("the threads are cleared; {name} was saved and is being committed"),
            };
            return Ok(Done {
                lines_removed,
                open: made.open,
                committed: Some(false),
                note: Some(note),
                ..self.done(path)
            });
        }
        let turn = vcs::turn_in(path).await;
        let refused = match self.commit(path, message).await? {
            Ok((commit, answerable)) => {
                drop(turn);
                let done = self.committed(&view, &made, commit, &answerable).await;
                return Ok(Done {
                    lines_removed,
                    note: match (done.note, partly) {
                        (note, false) => note,
                        (note, true) => Some(format!(
                            "{}the file was partly staged: all of it is in the commit, as it was on disk",
                            note.map_or_else(String::new, |note| format!("{note}; "))
                        )),
                    },
                    ..done
                });
            }
            Err(refused) => refused,
        };
        let put_back = self.put_back(path, &made).await;
        self.call_off(path, true);
        let left = put_back.map_err(|e| {
            Error::Other(format!(
                "{refused}; and the file could not be put back: {e}"
            ))
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

    /// The commit that waits for the file that was just saved. To be asked in wire order: the next notification
    /// may close the file.
    pub fn pending_commit(&self, path: &Path) -> Option<PendingCommit> {
        let view = self.pending_commits.get(path)?.view.clone();
        // Saved before the edit came to the editor: that was another save.
        let are_gone = self.view(path).is_ok_and(|now| !now.has_any_of(&view));
        // Written to another file, as Neovim tells it of `:w OTHER`: this one is still to be saved.
        if are_gone && self.stand_on_disk(&view) {
            return None;
        }
        let due = self
            .pending_commits
            .remove_if(path, |_, pending| pending.cleared || are_gone)?;
        Some(PendingCommit {
            underway: Some(self.commits.begin(path)),
            ..due.1
        })
    }

    /// Whether the file on disk has any of the threads of a view.
    fn stand_on_disk(&self, view: &View) -> bool {
        let home = self.home_of(&view.path);
        let Ok(bytes) = home.and_then(|home| Ok(home.tree.read_bytes(&view.path)?)) else {
            return false;
        };
        let file = self.relative(&view.path);
        let text = String::from_utf8_lossy(&bytes);
        let (now, ids) = (threads_of(&file, &text, view.syntax.language()), view.ids());
        now.iter().any(|thread| ids.contains(&thread.id))
    }

    /// The text of an open file has changed. A reload (a checkout, another program) calls off the commit that waits
    /// for the author's save. An editor that gathers keys may have saved before it sends them, which looks alike until
    /// the next message: that is the save then.
    pub(super) fn note_reload_of_pending(&self, path: &Path) {
        let Some(pending) = self.pending_commits.get(path) else {
            return;
        };
        let (was_like_disk, view) = (pending.like_disk, pending.view.clone());
        drop(pending);
        if was_like_disk {
            self.pending_commits.remove(path);
            let file = self.relative(path);
            self.call_off(path, true);
            self.host.message(
                Level::Warning,
                &present::visible(&format!(
                    "{file} will not be committed: it was read anew from disk after its threads were cleared. What was said in those that are gone is kept in the history."
                )),
            );
            return;
        }
        let Ok(now) = self.view(path) else { return };
        let is_like_disk = || is_on_disk(path, now.text.as_bytes());
        if !now.has_any_of(&view)
            && is_like_disk()
            && let Some(mut pending) = self.pending_commits.get_mut(path)
        {
            pending.like_disk = true;
        }
    }

    /// The author saved a file whose threads were cleared in the editor: the commit that was asked for. What git
    /// refuses is put back into the editor.
    pub async fn commit_saved(&self, pending: PendingCommit) -> Result<Done, Error> {
        let PendingCommit {
            message,
            made,
            view,
            head,
            underway: _underway,
            ..
        } = pending;
        let path = &view.path;
        let file = self.relative(path);
        let now = self.view(path)?;
        if now.has_any_of(&view) {
            self.call_off(path, true);
            return Err(Error::Other(format!(
                "{file} was not committed: threads that were cleared are back in it; clear them again to commit"
            )));
        }
        let turn = vcs::turn_in(path).await;
        if let (Some(then), Some(now)) = (&head, &vcs::head(path))
            && !now.goes_on_from(then, path)
        {
            self.call_off(path, true);
            return Err(Error::Other(format!(
                "{file} was not committed: it was cleared on {then}, and the repository is on {now} now. What was said in its threads is kept in the history; commit the file yourself where it is to be"
            )));
        }
        let refused = match self.commit(path, message).await? {
            Ok((commit, answerable)) => {
                drop(turn);
                return Ok(self.committed(&view, &made, commit, &answerable).await);
            }
            Err(refused) => refused,
        };
        drop(turn);
        let put_back = self.put_back_into_editor(path, &made).await;
        self.call_off(path, true);
        Err(Error::Other(match put_back {
            Ok(None) => format!(
                "{file} was not committed; its threads are back in the editor, save it to keep them: {refused}"
            ),
            Ok(Some(lines)) => format!(
                "{file} was not committed, and not all of its threads could be put back: the text was changed since at line {lines}: {refused}"
            ),
            Err(why) => format!(
                "{file} was not committed, and its threads could not be put back ({why}): {refused}"
            ),
        }))
    }

    /// The inner error is git's refusal, the outer one our own failure.
    async fn commit(
        &self,
        path: &Path,
        message: String,
    ) -> Result<Result<(Commit, Answerable), GitError>, Error> {
        let defect = |error: tokio::task::JoinError| Error::Other(error.to_string());
        let file = path.to_owned();
        let placing = tokio::task::spawn_blocking(move || vcs::place(&file));
        let place = match placing.await.map_err(defect)? {
            Ok(place) => place,
            Err(refused) => return Ok(Err(refused)),
        };
        let answerable = self.answerable(path, &place)?;
        // Whoever trusted the folder counts on its hooks.
        if let Some(what) = self.trust_lapsed(&answerable.folder) {
            let Answerable { name, trust, .. } = answerable;
            return Ok(Err(GitError::Failed(format!(
                "{name} is not trusted any more, so its hooks and signature would be left out: {what} since it was trusted; `{trust}` trusts it as it is now"
            ))));
        }
        let trusted = self.is_trusted(&answerable.folder);
        // A hook may take its time: not on a thread that others wait for.
        let committing =
            tokio::task::spawn_blocking(move || vcs::commit_file(&place, &message, trusted));
        Ok(match committing.await.map_err(defect)? {
            Ok(commit) => Ok((commit, answerable)),
            Err(refused) => Err(GitError::Failed(answerable.say(refused))),
        })
    }

    /// Whose trust lets git run what the file's repository has: the workspace's, which covers its own repository alone,
    /// or that of a repository below it (a submodule, a clone in a folder).
    fn answerable(&self, path: &Path, place: &Place) -> Result<Answerable, Error> {
        let home = self.home_of(path)?;
        let file = self.relative(path);
        if place.top == home.root() || vcs::top(home.root()).as_ref() == Some(&place.top) {
            return Ok(Answerable {
                file,
                folder: home.root().to_owned(),
                name: String::from("the folder"),
                trust: String::from("postil trust"),
            });
        }
        let below = self.relative(&place.top);
        Ok(Answerable {
            file,
            folder: place.top.clone(),
            name: format!("{below}, a repository of its own,"),
            trust: format!("postil trust {below}"),
        })
    }

    /// The threads of `view` are gone for good.
    async fn committed(
        &self,
        view: &View,
        made: &Made,
        commit: Commit,
        answerable: &Answerable,
    ) -> Done {
        let lost = self
            .keep_closed(&view.path, made, &view.ids(), commit.id.as_deref())
            .await;
        Done {
            lost,
            committed: Some(commit.hash.is_some()),
            note: match (&commit.hash, commit.left_out.as_slice()) {
                (None, _) => Some(String::from(
                    "the file is as HEAD has it: there is nothing to commit",
                )),
                (Some(_), []) => None,
                (Some(_), left) => Some(format!(
                    "without {}, for {} is not trusted (`{}`)",
                    left.join(", "),
                    answerable.name,
                    answerable.trust
                )),
            },
            commit_hash: commit.hash,
            other_staged_files: Some(commit.other_staged),
            ..self.done(&view.path)
        }
    }

    /// Undoes a write to disk, beside what others changed since.
    async fn put_back(&self, path: &Path, made: &Made) -> Result<PutBack, Error> {
        let workspace = self.home_of(path)?;
        let mut tries = Tries::new();
        loop {
            let now = workspace.tree.read(path)?;
            if now.lossy {
                return Err(FileError::NotUtf8(self.relative(path)).into());
            }
            let (edits, left) = crate::edits::take_back(&made.before, &made.after, &now.text);
            let text = apply_edits(&now.text, &edits);
            let (texts, seen) = ((&*now.text, &*text), Some(&now.seen));
            if self.write_closed(&workspace, path, texts, seen).await? {
                return Ok(if !left.is_empty() {
                    PutBack::But(present::listed(&left))
                } else if text == made.before {
                    PutBack::All
                } else {
                    PutBack::Beside
                });
            }
            if !tries.again(&self.buffers, path).await {
                return Err(FileError::Changed(self.relative(path)).into());
            }
        }
    }

    /// [`Self::put_back`] through the editor. The lines where the author has changed the text since, if there are any.
    async fn put_back_into_editor(
        &self,
        path: &Path,
        made: &Made,
    ) -> Result<Option<String>, Error> {
        let mut tries = Tries::new();
        loop {
            if self.is_ending() {
                // The editor takes no edits any more.
                self.buffers.close(path);
            }
            let Some(buffer) = self.buffers.get(path) else {
                // Closed meanwhile: the disk is all there is.
                return Ok(match self.put_back(path, made).await? {
                    PutBack::But(lines) => Some(lines),
                    PutBack::All | PutBack::Beside => None,
                });
            };
            let (edits, left) =
                crate::edits::take_back(&made.before, &made.after, buffer.document.text());
            let left = (!left.is_empty()).then(|| present::listed(&left));
            if edits.is_empty() {
                return Ok(left);
            }
            let seen = buffer.generation;
            let edit = BufferEdit {
                path: path.to_owned(),
                generation: seen,
                edits,
            };
            let error = match self.host.apply("Put threads back", vec![edit]).await {
                Ok(()) => return Ok(left),
                Err(error) => error,
            };
            let may_pass = match error {
                NotApplied::Changed => true,
                NotApplied::Refused(_) | NotApplied::Unknown(_) => {
                    self.buffers.generation(path) != Some(seen)
                }
                NotApplied::NoEditor => self.is_ending(),
                NotApplied::ReadOnly(_) => false,
            };
            if !may_pass || !tries.again(&self.buffers, path).await {
                return Err(Error::Other(error.to_string()));
            }
        }
    }
}

/// A folder whose trust counts for a commit.
struct Answerable {
    /// What is committed, as it is shown.
    file: String,
    folder: PathBuf,
    /// As it stands in a sentence.
    name: String,
    /// The command that trusts it.
    trust: String,
}

impl Answerable {
    /// Why git did not do it, with what helps.
    fn say(&self, refused: GitError) -> String {
        match refused {
            GitError::Filter(filter) => format!(
                "{} needs the filter `{filter}`, which runs only in a trusted folder: `{}`",
                self.file, self.trust
            ),
            refused => refused.to_string(),
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
