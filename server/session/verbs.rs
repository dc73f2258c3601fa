//! The writing verbs. Each finds its thread again in the text as it is at that moment, and goes through the
//! editor where the file is open.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{Done, Error, Session};
use crate::edits::{self, Refused, Rewrite, Source, Style, Written};
use crate::files::FileError;
use crate::host::{BufferEdit, NotApplied};
use crate::present;
use crate::text::apply_edits;
use crate::threads::{Action, Role};

/// How often a write is made again against a text that changed meanwhile.
pub(super) const TRIES: usize = 8;

/// A write that was made: the text before and after.
pub(super) struct Made {
    pub written: Written,
    pub before: String,
    pub after: String,
}

impl Session {
    /// Adds an AGENT message and an empty AUTHOR line.
    pub async fn respond(
        &self,
        id: &str,
        path: Option<&Path>,
        text: &str,
        name: Option<&str>,
    ) -> Result<Done, Error> {
        self.add_message(id, path, Role::Agent, name, text).await
    }

    /// Adds the author's message, in the empty AUTHOR line where there is one.
    pub async fn say(&self, id: &str, path: Option<&Path>, text: &str) -> Result<Done, Error> {
        let done = self.add_message(id, path, Role::Author, None, text).await?;
        self.note_said(&done, text);
        Ok(done)
    }

    /// Other words in the place of those of the author in message `at`, which were `was` as they are shown; with
    /// no text the thread's last words are taken back.
    pub async fn edit_message(
        &self,
        id: &str,
        path: Option<&Path>,
        at: usize,
        was: &str,
        text: &str,
    ) -> Result<Done, Error> {
        let (view, thread) = self.find_thread(id, path)?;
        let stands = thread.messages.get(at).map(|message| &message.text);
        let stands = stands
            .filter(|text| present::visible(text) == was)
            .ok_or(Error::Changed)?;
        if stands != was {
            return Err(Error::Other(String::from(
                "these words hold characters that are not shown as they are; edit them in the file",
            )));
        }
        let made = self
            .write(&view.path, "Edit a message", |source, _| {
                edits::rewrite(source, &thread.id, Rewrite { at, was, text })
            })
            .await?;
        // With a thread's first words its id is another one.
        let after = self.view(&view.path)?;
        let same = view.threads.iter().position(|one| one.id == thread.id);
        let now = same.and_then(|same| after.threads.get(same));
        let done = Done {
            thread_id: now.map(|now| now.id.clone()),
            note: made
                .written
                .already
                .then(|| String::from("the same text already stands there; nothing was changed")),
            ..self.done(&view.path)
        };
        if let Some(message) = now.and_then(|now| now.messages.get(at))
            && message.role == Role::Author
            && !message.text.is_empty()
        {
            self.store_as_typed(&view.path, &message.text);
        }
        Ok(done)
    }

    async fn add_message(
        &self,
        id: &str,
        path: Option<&Path>,
        role: Role,
        name: Option<&str>,
        text: &str,
    ) -> Result<Done, Error> {
        let (view, thread) = self.find_thread(id, path)?;
        let made = self
            .write(&view.path, "Answer a thread", |source, style| {
                edits::respond(source, &thread.id, role, name, text, style)
            })
            .await?;
        Ok(Done {
            thread_id: Some(thread.id),
            note: made
                .written
                .already
                .then(|| String::from("the same text already stands there; nothing was changed")),
            ..self.done(&view.path)
        })
    }

    /// Starts a thread above the 0-based `line`. `path` is canonical.
    pub async fn new_thread(&self, path: &Path, line: usize, text: &str) -> Result<Done, Error> {
        self.write(path, "New thread", |source, style| {
            edits::new_thread(source, line, text, style).map(|(written, _)| written)
        })
        .await?;
        let view = self.view(path)?;
        let thread = view.threads.iter().find(|thread| {
            thread.messages.iter().any(|message| {
                message.line == line || (message.line > line && message.text == text.trim())
            })
        });
        let done = Done {
            thread_id: thread.map(|thread| thread.id.clone()),
            ..self.done(path)
        };
        if !text.trim().is_empty() {
            self.note_said(&done, text);
        }
        Ok(done)
    }

    /// Removes a thread's lines. Its conversation is kept in the history.
    pub async fn dismiss(&self, id: &str, path: Option<&Path>) -> Result<Done, Error> {
        let (view, thread) = self.find_thread(id, path)?;
        let made = self
            .write(&view.path, "Resolve a thread", |source, _| {
                edits::dismiss(source, &thread.id)
            })
            .await?;
        self.keep_closed(&view.path, &made, std::slice::from_ref(&thread.id), None)
            .await;
        Ok(Done {
            thread_id: Some(thread.id),
            lines_removed: Some(made.written.lines_removed),
            ..self.done(&view.path)
        })
    }

    /// Carries out every action word below `path`: commits first; a dismissal in a file that was just
    /// committed is dropped, for its thread went with the commit.
    pub async fn process_actions(&self, path: Option<&str>) -> Result<Vec<Done>, Error> {
        let mut commits: Vec<PathBuf> = Vec::new();
        let mut dismissals: Vec<(PathBuf, String)> = Vec::new();
        for file in self.look(path)?.into_iter().flat_map(|looked| looked.files) {
            let Ok(view) = self.view(&file) else { continue };
            for thread in view.threads.iter() {
                match thread.action() {
                    Some(Action::Commit) if !commits.contains(&file) => commits.push(file.clone()),
                    Some(Action::Commit) | None => {}
                    Some(Action::Dismiss) => dismissals.push((file.clone(), thread.id.clone())),
                }
            }
        }
        let mut done = Vec::new();
        for file in &commits {
            done.push(self.clear_and_commit(file, None).await?);
        }
        let committed: HashSet<&PathBuf> = commits.iter().collect();
        for (file, id) in &dismissals {
            if !committed.contains(file) {
                done.push(self.dismiss(id, Some(file)).await?);
            }
        }
        Ok(done)
    }

    // -- the one way a verb changes a file ---------------------------------------------------------

    /// Makes the edits against the text as it is now; again where it changed in between.
    pub(super) async fn write(
        &self,
        path: &Path,
        label: &str,
        make: impl Fn(Source, Style) -> Result<Written, Refused>,
    ) -> Result<Made, Error> {
        self.write_noted(path, label, make, |_| ()).await
    }

    /// [`Self::write`]; `note` hears of each try before it is made.
    pub(super) async fn write_noted(
        &self,
        path: &Path,
        label: &str,
        make: impl Fn(Source, Style) -> Result<Written, Refused>,
        note: impl Fn(&Made),
    ) -> Result<Made, Error> {
        let workspace = self.home_of(path)?;
        let style = Style {
            keep_indentation: workspace.loaded().settings.keep_indentation,
        };
        let relative = self.relative(path);
        let mut tries = 0;
        let mut turn = None;
        loop {
            tries += 1;
            if tries > 1 && turn.is_none() {
                // Many verbs at once on one file: from the second try on they take turns.
                turn = Some(self.again.lock().await);
            }
            let view = self.view(path)?;
            if view.lossy {
                return Err(FileError::NotUtf8(relative).into());
            }
            let source = Source {
                path: &relative,
                text: &view.text,
                syntax: &view.syntax,
            };
            let written = make(source, style).map_err(|refused| match refused {
                Refused::Gone => Error::Gone(relative.clone()),
                refused => refused.into(),
            })?;
            let after = apply_edits(&view.text, &written.edits);
            let made = Made {
                before: view.text.to_string(),
                after,
                written,
            };
            if made.written.edits.is_empty() {
                return Ok(made);
            }
            note(&made);
            match &view.buffer {
                Some(buffer) => {
                    let edit = BufferEdit {
                        path: path.to_owned(),
                        version: buffer.document.version(),
                        edits: made.written.edits.clone(),
                    };
                    match self.host.apply(label, vec![edit]).await {
                        Ok(()) => return Ok(made),
                        Err(NotApplied::Changed) if tries < TRIES => {}
                        Err(NotApplied::Refused(_))
                            if tries < TRIES
                                && self.buffers.version(path)
                                    != Some(buffer.document.version()) => {}
                        Err(error) => {
                            return Err(Error::Other(format!(
                                "{relative}: {error}; nothing was written"
                            )));
                        }
                    }
                }
                None => {
                    match workspace
                        .tree
                        .write_path(path, made.after.as_bytes(), view.seen.as_ref())
                    {
                        Ok(()) => {
                            workspace.index.refresh(&workspace.tree, path);
                            self.host.changed(&[path.to_owned()]);
                            return Ok(made);
                        }
                        Err(FileError::Changed(_)) if tries < TRIES => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
    }

    pub(super) fn done(&self, path: &Path) -> Done {
        Done {
            success: true,
            file: self.relative(path),
            ..Done::default()
        }
    }

    /// The author said this here, whatever face it came through.
    fn note_said(&self, done: &Done, text: &str) {
        let Some(id) = &done.thread_id else { return };
        for workspace in self.workspaces() {
            let path = workspace.root().join(&done.file);
            let Ok(view) = self.view(&path) else { continue };
            if let Some(thread) = view.threads.iter().find(|thread| thread.id == *id) {
                let read_back = thread
                    .messages
                    .iter()
                    .rev()
                    .find(|message| message.role == Role::Author && !message.text.is_empty());
                self.store_as_typed(
                    &path,
                    read_back.map_or(text.trim(), |message| &message.text),
                );
                return;
            }
        }
    }
}
