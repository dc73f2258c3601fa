//! The writing verbs. Each finds its thread again in the text as it is at that moment, and goes through the
//! editor where the file is open.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::documents::threads_of;
use super::tries::Tries;
use super::{Done, Error, Session, TurnOptions, Workspace};
use crate::comments::Language;
use crate::edits::{self, Refused, Rewrite, Source, Style, Written};
use crate::files::{FileError, Seen};
use crate::host::{BufferEdit, NotApplied};
use crate::present;
use crate::store::Run;
use crate::text::apply_edits;
use crate::threads::{self, Action, Message, Role, Thread, lines};
use crate::trust;

/// A write that was made: the text before and after.
#[derive(Clone)]
pub(super) struct Made {
    pub written: Written,
    pub before: String,
    pub after: String,
    /// Those of the text before.
    pub threads: Arc<Vec<Thread>>,
    /// What the text is read as.
    pub language: Option<&'static Language>,
    /// In the editor, which is to save it.
    pub open: bool,
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
        let added = self.add_message(id, path, Role::Agent, name, text).await;
        added.map(|(done, ..)| done)
    }

    /// Adds the author's message, in the empty AUTHOR line where there is one.
    pub async fn say(&self, id: &str, path: Option<&Path>, text: &str) -> Result<Done, Error> {
        let (done, path, now) = self.add_message(id, path, Role::Author, None, text).await?;
        let said = now.as_ref().and_then(Thread::question);
        self.store_as_typed(&path, said.map_or(text.trim(), |said| &said.text));
        Ok(done)
    }

    /// Answers the question with choices that a thread ends with by one of these, and has a turn begin.
    pub async fn choose(
        self: &Arc<Self>,
        id: &str,
        path: Option<&Path>,
        text: &str,
        options: TurnOptions,
    ) -> Result<Run, Error> {
        let (_, thread) = self.find_thread(id, path)?;
        // A turn may cost money: none begins by words that answer nothing.
        let choice = present::chosen(&thread, text).map_err(Error::Other)?;
        let done = self.say(id, path, &choice).await?;
        // With its first words it has another id.
        let id = done.thread_id.as_deref().unwrap_or(id);
        self.start_turn(id, path, options).await
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
        let stands = thread.messages.get(at).map(|message| message.laid_out());
        let stands = stands
            .filter(|text| present::visible(text) == was)
            .ok_or(Error::Changed)?;
        if stands != was {
            return Err(Error::Other(String::from(
                "these words hold characters that are not shown as they are; edit them in the file",
            )));
        }
        let (made, id) = self
            .write_in(
                &view.path,
                "Edit a message",
                (&thread, &view.threads),
                |source, _, stands| edits::rewrite(source, &stands.id, Rewrite { at, was, text }),
                |_, _| (),
            )
            .await?;
        let (done, now) = self.told(&view.path, &made, &id);
        if let Some(message) = now.as_ref().and_then(|now| now.messages.get(at))
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
    ) -> Result<(Done, PathBuf, Option<Thread>), Error> {
        self.reply(id, path, |source, style, thread| {
            edits::respond(source, &thread.id, role, name, text, style)
        })
        .await
    }

    /// Sees to an empty AUTHOR line at the thread's end, and says where it is.
    pub async fn make_room(&self, id: &str, path: Option<&Path>) -> Result<Done, Error> {
        let (done, path, _) = self
            .reply(id, path, |source, style, thread| {
                edits::make_room(source, &thread.id, style)
            })
            .await?;
        let stands = self.find_thread(done.thread_id.as_deref().unwrap_or(id), Some(&path));
        let line = stands.ok().map(|(_, thread)| thread.last_line());
        Ok(Done { line, ..done })
    }

    /// Also the thread's file, and how it stands there then.
    async fn reply(
        &self,
        id: &str,
        path: Option<&Path>,
        make: impl Fn(Source, Style, &Thread) -> Result<Written, Refused>,
    ) -> Result<(Done, PathBuf, Option<Thread>), Error> {
        let (view, thread) = self.find_thread(id, path)?;
        let seen = (&thread, view.threads.as_slice());
        let (made, id) = self
            .write_in(&view.path, "Answer a thread", seen, make, |_, _| ())
            .await?;
        let (done, now) = self.told(&view.path, &made, &id);
        Ok((done, view.path, now))
    }

    /// What is said of `made`, and the thread `id` as it stands after it.
    fn told(&self, path: &Path, made: &Made, id: &str) -> (Done, Option<Thread>) {
        let now = self.after(path, made, id);
        let already = made.written.already;
        let done = Done {
            thread_id: now.as_ref().map(|now| now.id.clone()),
            open: made.open,
            note: already
                .then(|| String::from("the same text already stands there; nothing was changed")),
            ..self.done(path)
        };
        (done, now)
    }

    /// The thread `id` after `made`: with its first words it has another id, and behind code it has moved above its line,
    /// past others perhaps. It is the one beside which all others are as they were.
    fn after(&self, path: &Path, made: &Made, id: &str) -> Option<Thread> {
        let same = made.threads.iter().position(|one| one.id == id)?;
        let after = threads_of(&self.relative(path), &made.after, made.language);
        if after.len() != made.threads.len() {
            return None;
        }
        let is_it = |at: &usize| {
            let mut pairs = others(&made.threads, same).zip(others(&after, *at));
            pairs.all(|(before, after)| threads::is_unchanged(before, after))
        };
        let at = [same].into_iter().chain(0..after.len()).find(is_it)?;
        after.into_iter().nth(at)
    }

    /// Starts a thread above the 0-based `line`, or near it where no comment can stand there. `path` is canonical.
    pub async fn new_thread(&self, path: &Path, line: usize, text: &str) -> Result<Done, Error> {
        let cursor = AtomicUsize::new(0);
        let made = self
            .write(path, "New thread", |source, style, _| {
                let (written, end) = edits::new_thread(source, line, text, style)?;
                cursor.store(end, Ordering::Relaxed);
                Ok(written)
            })
            .await?;
        let line = lines::line_of(&made.after, cursor.load(Ordering::Relaxed));
        let view = self.view(path)?;
        let spoken = text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
        let is_new = |message: &&Message| match *view.text == *made.after {
            true => (message.line..=message.last_line).contains(&line),
            // The author has typed since.
            false => message.role == Role::Author && message.text == spoken.trim(),
        };
        let messages = view
            .threads
            .iter()
            .flat_map(|thread| thread.messages.iter().map(move |message| (thread, message)));
        let begun = messages
            .filter(|(_, message)| is_new(message))
            .min_by_key(|(_, message)| message.line.abs_diff(line));
        if !text.trim().is_empty() {
            let said = begun.map_or(text.trim(), |(_, message)| &message.text);
            self.store_as_typed(path, said);
        }
        Ok(Done {
            thread_id: begun.map(|(thread, _)| thread.id.clone()),
            line: Some(begun.map_or(line, |(_, message)| message.line)),
            open: made.open,
            ..self.done(path)
        })
    }

    /// Removes a thread's lines. Its conversation is kept in the history.
    pub async fn dismiss(&self, id: &str, path: Option<&Path>) -> Result<Done, Error> {
        let (view, thread) = self.find_thread(id, path)?;
        self.dismiss_seen(&view.path, &thread, &view.threads).await
    }

    /// The same, of a thread that stood so among `were`: what was said in it since nobody has asked to be removed.
    pub(super) async fn dismiss_seen(
        &self,
        path: &Path,
        thread: &Thread,
        were: &[Thread],
    ) -> Result<Done, Error> {
        let _closing = self.closings.begin(path);
        let seen = (thread, were);
        let resolve = |source: Source, _, stands: &Thread| {
            if !threads::is_unchanged(thread, stands) {
                return Err(Refused::Changed);
            }
            edits::dismiss(source, &stands.id)
        };
        let note = |made: &Made, id: &str| self.note_leaving(path, made, &[id.to_owned()], false);
        let (made, removed) = self
            .write_in(path, "Resolve a thread", seen, resolve, note)
            .await
            .inspect_err(|_| self.note_stayed(path, std::slice::from_ref(&thread.id)))?;
        // While it is known that this one was not removed by hand.
        drop(self.view(path));
        let lost = self
            .keep_closed(path, &made, std::slice::from_ref(&removed), None)
            .await;
        Ok(Done {
            lost,
            thread_id: Some(removed),
            lines_removed: Some(made.written.lines_removed),
            open: made.open,
            ..self.done(path)
        })
    }

    /// The files in which [`Self::process_actions`] finds something to do.
    pub fn files_with_actions(&self, path: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
        let asks = |file: &PathBuf| {
            self.view(file)
                .is_ok_and(|view| view.threads.iter().any(|thread| thread.action().is_some()))
        };
        let files = self.look(path)?.into_iter().flat_map(|looked| looked.files);
        Ok(files.filter(asks).collect())
    }

    /// Carries out every action word below `path`, in files that are `wanted`: commits first; a dismissal in a file that
    /// was just committed is dropped, for its thread went with the commit.
    pub async fn process_actions(
        &self,
        path: Option<&Path>,
        wanted: impl Fn(&Path) -> bool,
    ) -> Result<Vec<Done>, Error> {
        // What cannot be done is reported; the others are done all the same.
        let refused = |file: &Path, thread_id: Option<String>, error: &Error| Done {
            success: false,
            thread_id,
            note: Some(error.to_string()),
            ..self.done(file)
        };
        let mut done = Vec::new();
        let mut commits: Vec<PathBuf> = Vec::new();
        let mut dismissals: Vec<(PathBuf, Thread)> = Vec::new();
        let mut seen: HashMap<PathBuf, Arc<Vec<Thread>>> = HashMap::new();
        let files = self.look(path)?.into_iter().flat_map(|looked| looked.files);
        for file in files.filter(|file| wanted(file)) {
            let view = match self.view(&file) {
                Ok(view) => view,
                Err(error) => {
                    done.push(refused(&file, None, &error));
                    continue;
                }
            };
            seen.insert(file.clone(), view.threads.clone());
            for thread in view.threads.iter() {
                match thread.action() {
                    Some(Action::Commit) if !commits.contains(&file) => commits.push(file.clone()),
                    Some(Action::Commit) | None => {}
                    Some(Action::Dismiss) => dismissals.push((file.clone(), thread.clone())),
                }
            }
        }
        let mut committed: HashSet<&PathBuf> = HashSet::new();
        for file in &commits {
            let cleared = match self.is_ending() {
                true => Err(Error::Other(String::from(
                    "nothing was begun, for postil ends",
                ))),
                false => self.clear_and_commit(file, None).await,
            };
            if cleared.is_ok() {
                committed.insert(file);
            }
            done.push(cleared.unwrap_or_else(|error| refused(file, None, &error)));
        }
        // From the end: threads with the same first words are numbered from the beginning of the file.
        let mut dismissed = Vec::new();
        for (file, thread) in dismissals.iter().rev() {
            if committed.contains(file) {
                continue;
            }
            let were = seen.entry(file.clone()).or_default();
            let gone = self.dismiss_seen(file, thread, were).await;
            if gone.is_ok() {
                Arc::make_mut(were).retain(|one| one.id != thread.id);
            }
            let id = || Some(thread.id.clone());
            dismissed.push(gone.unwrap_or_else(|error| refused(file, id(), &error)));
        }
        done.extend(dismissed.into_iter().rev());
        Ok(done)
    }

    // -- the one way a verb changes a file ---------------------------------------------------------

    /// Makes the edits against the text as it is now, which has these threads; again where it changed in between.
    pub(super) async fn write(
        &self,
        path: &Path,
        label: &str,
        make: impl Fn(Source, Style, &[Thread]) -> Result<Written, Refused>,
    ) -> Result<Made, Error> {
        self.write_noted(path, label, Tries::new(), make, |_| ())
            .await
    }

    /// [`Self::write_noted`], in a thread that was seen among others; and the id that it had when it was made.
    async fn write_in(
        &self,
        path: &Path,
        label: &str,
        (thread, were): (&Thread, &[Thread]),
        make: impl Fn(Source, Style, &Thread) -> Result<Written, Refused>,
        note: impl Fn(&Made, &str),
    ) -> Result<(Made, String), Error> {
        let id = Mutex::new(String::new());
        let make = |source: Source, style, now: &[Thread]| {
            let thread = stands(thread, were, now)?;
            thread
                .id
                .clone_into(&mut id.lock().unwrap_or_else(PoisonError::into_inner));
            make(source, style, thread)
        };
        let note = |made: &Made| note(made, &id.lock().unwrap_or_else(PoisonError::into_inner));
        let made = self
            .write_noted(path, label, Tries::new(), make, note)
            .await?;
        Ok((
            made,
            id.into_inner().unwrap_or_else(PoisonError::into_inner),
        ))
    }

    /// [`Self::write`]; `note` hears of each try before it is made.
    pub(super) async fn write_noted(
        &self,
        path: &Path,
        label: &str,
        mut tries: Tries,
        make: impl Fn(Source, Style, &[Thread]) -> Result<Written, Refused>,
        note: impl Fn(&Made),
    ) -> Result<Made, Error> {
        let workspace = self.home_of(path)?;
        let style = Style {
            keep_indentation: workspace.loaded().settings.keep_indentation,
        };
        let relative = self.relative(path);
        if trust::in_repository(&relative) {
            return Err(Error::Other(format!(
                "nothing was written: {relative} is git's own, and a thread in it could break the repository"
            )));
        }
        let mut turn = None;
        loop {
            let view = self.view(path)?;
            if view.lossy {
                return Err(FileError::NotUtf8(relative).into());
            }
            let source = view.source(&relative);
            let written = make(source, style, &view.threads).map_err(|refused| match refused {
                Refused::Gone => Error::Gone(relative.clone()),
                Refused::Several => Error::Several(relative.clone()),
                Refused::Joined => Error::Joined(relative.clone()),
                refused => refused.into(),
            })?;
            let after = apply_edits(&view.text, &written.edits);
            let mut made = Made {
                open: false,
                before: view.text.to_string(),
                after,
                written,
                threads: view.threads.clone(),
                language: view.syntax.language(),
            };
            if made.written.edits.is_empty() {
                return Ok(made);
            }
            made.open = view.buffer.is_some();
            note(&made);
            match &view.buffer {
                Some(buffer) => {
                    let edit = BufferEdit {
                        path: path.to_owned(),
                        generation: buffer.generation,
                        edits: made.written.edits.clone(),
                    };
                    let seen = Some(edit.generation);
                    match self.host.apply(label, vec![edit]).await {
                        Ok(()) => return Ok(made),
                        Err(NotApplied::Changed) => {}
                        Err(NotApplied::Refused(_)) if self.buffers.generation(path) != seen => {}
                        Err(error) => return Err(unwritten(&relative, &error)),
                    }
                }
                None => {
                    let texts = (&*made.before, &*made.after);
                    let seen = view.seen.as_ref();
                    if self.write_closed(&workspace, path, texts, seen).await? {
                        self.host.changed(&[path.to_owned()]);
                        return Ok(made);
                    }
                }
            }
            // Others need not wait for a pause in this file.
            drop(turn.take());
            if !tries.again(&self.buffers, path).await {
                if tries.are_cancelled() {
                    return Err(Error::Cancelled);
                }
                if tries.is_closed() {
                    return Err(Error::Closed(relative));
                }
                return Err(unwritten(&relative, &NotApplied::Changed));
            }
            // Many verbs at once on one file: from the second try on they take turns.
            turn = Some(self.again.lock().await);
        }
    }

    /// Writes a file of which no buffer is open, whose text is `before`; `false`: it is another by now.
    pub(super) async fn write_closed(
        &self,
        workspace: &Workspace,
        path: &Path,
        (before, after): (&str, &str),
        seen: Option<&Seen>,
    ) -> Result<bool, Error> {
        let by_editor = match self.is_ending() {
            // The editor takes no edits any more.
            true => Ok(false),
            false => self.host.write_shown(path, before, after).await,
        };
        match by_editor {
            Ok(true) => {}
            Ok(false) => match workspace.tree.write(path, after.as_bytes(), seen) {
                Ok(()) => {}
                Err(FileError::Changed(_)) => return Ok(false),
                Err(error) => return Err(error.into()),
            },
            Err(NotApplied::Changed) => return Ok(false),
            Err(error) => return Err(unwritten(&self.relative(path), &error)),
        }
        workspace.index.refresh(&workspace.tree, path);
        Ok(true)
    }

    pub(super) fn done(&self, path: &Path) -> Done {
        Done {
            success: true,
            file: self.relative(path),
            ..Done::default()
        }
    }
}

fn others(threads: &[Thread], but: usize) -> impl Iterator<Item = &Thread> {
    let all = threads.iter().enumerate();
    let others = all.filter(move |(place, _)| *place != but);
    others.map(|(_, thread)| thread)
}

fn unwritten(file: &str, why: &NotApplied) -> Error {
    let what = match why {
        NotApplied::Unknown(_) => "look at it before you try again",
        _ => "nothing was written",
    };
    Error::Other(format!("{file}: {why}; {what}"))
}

/// A thread that was `known` among `were`, as it stands among those of `now`.
pub(super) fn stands<'a>(
    known: &Thread,
    were: &[Thread],
    now: &'a [Thread],
) -> Result<&'a Thread, Refused> {
    let lost = || {
        if threads::stands_twice(known, now) {
            Refused::Several
        } else if threads::is_joined(known, now) {
            Refused::Joined
        } else {
            Refused::Gone
        }
    };
    threads::again(known, were, now).ok_or_else(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_editor_may_do_yet_is_not_said_to_be_left() {
        let said = |why| unwritten("a.rs", &why).to_string();
        assert!(said(NotApplied::Changed).ends_with("; nothing was written"));
        let unknown = said(NotApplied::Unknown(String::from("it did not answer")));
        assert!(
            unknown.contains("look at it before") && !unknown.contains("nothing"),
            "{unknown}"
        );
    }
}
