//! The editors that have one workspace open: whose server a call is for. A file that is open in one of them is read and
//! changed there, and not on disk behind its back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::client::{self, Answered, ENDING, Place};
use super::{NoAnswer, Open};
use crate::os;
use crate::session::Undone;
use crate::threads;
use crate::verbs::{self, Failure, TurnFiles, Verb};

/// How long each is asked what it has open. One that is suspended does not answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same of one by itself, in whose place no other can be asked.
const ALONE: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct Standing {
    id: String,
    file: String,
}

/// An editor's server.
struct Editor {
    place: Place,
    /// What it has open, as it tells it; an error: why it does not.
    listed: Result<Vec<Value>, NoAnswer>,
    open: Vec<Open>,
}

/// All that have the workspace open, in the order in which they come where nothing else tells which is meant.
pub(super) struct Editors<'a> {
    root: &'a Path,
    all: Vec<Editor>,
}

fn text<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    let text = arguments.get(name)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

fn list_of(value: &mut Value, list: &str) -> Option<Vec<Value>> {
    match value.get_mut(list)?.take() {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn read<T: for<'a> Deserialize<'a>>(items: &[Value]) -> Vec<T> {
    let items = items.iter();
    items.filter_map(|item| T::deserialize(item).ok()).collect()
}

async fn list_by(
    stream: UnixStream,
    root: &Path,
    verb: &Verb,
    list: &str,
) -> Result<Vec<Value>, NoAnswer> {
    let unclear = |why: &str| client::unclear(root, why);
    let never = CancellationToken::new();
    match client::ask(stream, root, verb, &json!({}), &never).await {
        Ok(Ok(mut answer)) => {
            list_of(&mut answer.value, list).ok_or_else(|| unclear("its answer cannot be read"))
        }
        Ok(Err(failure)) => Err(unclear(&failure.message)),
        Err(NoAnswer::Lost(why)) => Err(unclear(&why)),
        Err(other) => Err(other),
    }
}

impl Editor {
    async fn call(
        &self,
        root: &Path,
        verb: &Verb,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Answered {
        let stream = client::connect(&self.place, root).await?;
        client::ask(stream, root, verb, arguments, cancel).await
    }

    /// What it made of a call that is for it and no other.
    async fn done(
        &self,
        root: &Path,
        verb: &Verb,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let answered = self.call(root, verb, arguments, cancel).await;
        let answer = answered.map_err(|none| none.failure(root))??;
        Ok(answer.value)
    }

    /// The list that it answers with.
    async fn list(&self, root: &Path, verb: &Verb, list: &str) -> Result<Vec<Value>, NoAnswer> {
        let stream = client::connect(&self.place, root).await?;
        list_by(stream, root, verb, list).await
    }

    /// What it has open, asked by a connection that stands.
    async fn open(&self, root: &Path, stream: UnixStream) -> Result<Vec<Value>, NoAnswer> {
        match list_by(stream, root, &verbs::BUFFER_READ, "buffers").await {
            // What it had when it ended is as gone as that of one that ended before.
            Err(NoAnswer::Unheard(_)) => {
                tokio::time::sleep(ENDING).await;
                self.list(root, &verbs::BUFFER_READ, "buffers").await
            }
            listed => listed,
        }
    }

    /// How it shows a file (canonical): 0 unsaved, 1 saved; `None`: not.
    fn shows(&self, root: &Path, file: &Path) -> Option<u8> {
        let shown = self
            .open
            .iter()
            .filter(|open| root.join(&open.file) == file);
        shown.map(|open| u8::from(!open.unsaved)).min()
    }
}

fn silent(root: &Path) -> NoAnswer {
    NoAnswer::Unheard(Failure::new(
        "editor_silent",
        format!(
            "an editor that has {} open does not answer, and what it has not saved is not known: nothing was done; go on in it (`fg`, where it is suspended) or close it, then do this again",
            root.display()
        ),
    ))
}

impl<'a> Editors<'a> {
    /// Each is asked what it has open.
    pub(super) async fn of(places: Vec<Place>, root: &'a Path) -> Self {
        let connecting = places.into_iter().map(async |place| {
            let stream = client::connect(&place, root).await;
            (place, stream)
        });
        let mut found = join_all(connecting).await;
        // Not counted: what was left behind lets one by itself have no less time.
        found.retain(|(_, stream)| !matches!(stream, Err(NoAnswer::Absent(_))));
        let patience = match found.len() {
            1 => ALONE,
            _ => PATIENCE,
        };
        let asked = found.into_iter().map(async |(place, stream)| {
            let mut editor = Editor {
                place,
                listed: Err(silent(root)),
                open: Vec::new(),
            };
            match stream {
                Ok(stream) => {
                    let listed = editor.open(root, stream);
                    match tokio::time::timeout(patience, listed).await {
                        // It has ended meanwhile.
                        Ok(Err(NoAnswer::Absent(_))) => return None,
                        Ok(listed) => editor.listed = listed,
                        Err(_) => {}
                    }
                }
                Err(why) => editor.listed = Err(why),
            }
            editor.open = read(editor.listed.as_deref().unwrap_or_default());
            Some(editor)
        });
        Self {
            root,
            all: join_all(asked).await.into_iter().flatten().collect(),
        }
    }

    fn answering(&self) -> impl Iterator<Item = &Editor> {
        self.all.iter().filter(|editor| editor.listed.is_ok())
    }

    /// Of those that do not say what they have open, one of another version last.
    fn unheard(&self) -> Option<&NoAnswer> {
        let unheard = self
            .all
            .iter()
            .filter_map(|editor| editor.listed.as_ref().err());
        unheard.min_by_key(|why| matches!(why, NoAnswer::Stranger(_)))
    }

    /// The same in words that say what to do.
    fn not_heard(&self) -> Option<Failure> {
        Some(self.unheard()?.clone().failure(self.root))
    }

    /// Has the one carry out a call that it is for, or several together.
    pub(super) async fn call(
        &self,
        verb: &Verb,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Answered {
        let files = tokio::select! {
            files = self.files(arguments) => files,
            () = cancel.cancelled() => return Ok(Err(client::cancelled())),
        };
        let home = self.home(&files);
        // One that is not heard may have what the call is about open and unsaved, where no other shows it. Where all are
        // of another version, the caller works on the files and says so.
        let shows = |editor: &&Editor| files.iter().any(|f| editor.shows(self.root, f).is_some());
        let can_be_asked = !matches!(self.unheard(), Some(NoAnswer::Stranger(_))) || home.is_some();
        if verb.effect.writes()
            && can_be_asked
            && home.filter(shows).is_none()
            && let Some(failure) = self.not_heard()
        {
            return Ok(Err(failure));
        }
        if self.all.len() > 1
            && let Some(answered) = self.together(verb, arguments, cancel).await
        {
            return answered;
        }
        match home {
            Some(editor) => editor.call(self.root, verb, arguments, cancel).await,
            None => Err(self.unheard().cloned().unwrap_or_else(client::absent)),
        }
    }

    /// The one that shows a file (canonical): of several the first in which it is unsaved.
    fn of_file(&self, file: &Path) -> Option<&Editor> {
        let ranked = self.all.iter();
        ranked
            .filter_map(|editor| Some((editor.shows(self.root, file)?, editor)))
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, editor)| editor)
    }

    /// Those whose text of a file (canonical) may be its only one: all that show it, unsaved before saved. Where it is saved
    /// in each, the first, for they have one text.
    fn unsaved_first(&self, file: &Path) -> Vec<&Editor> {
        let shown = self.all.iter();
        let shown = shown.filter_map(|editor| Some((editor.shows(self.root, file)?, editor)));
        let mut shown: Vec<(u8, &Editor)> = shown.collect();
        shown.sort_by_key(|(rank, _)| *rank);
        if shown.first().is_some_and(|(rank, _)| *rank > 0) {
            shown.truncate(1);
        }
        shown.into_iter().map(|(_, editor)| editor).collect()
    }

    /// Whether what is said of a file (relative) is said by the one to say it.
    fn is_of(&self, editor: &Editor, first: &Editor, item: &Value) -> bool {
        let file = text(item, "file").map(|file| self.root.join(file));
        let home = file.and_then(|file| self.of_file(&file)).unwrap_or(first);
        std::ptr::eq(home, editor)
    }

    /// The answer of all to a call that is about no single file; `None`: it is for one.
    async fn together(
        &self,
        verb: &Verb,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Option<Answered> {
        let first = self.answering().next()?;
        let path = text(arguments, "path").map(|path| os::resolved(&self.root.join(path)));
        if path
            .as_ref()
            .is_some_and(|path| self.of_file(path).is_some())
        {
            return None;
        }
        match verb.name {
            "buffer_read" if path.is_none() => Some(Ok(Ok(self.buffers(first).into()))),
            "servers" => {
                let asked = self.answering();
                let asked = asked.map(|editor| editor.list(self.root, verb, "servers"));
                let all = join_all(asked).await;
                let all: Vec<Value> = all.into_iter().flatten().flatten().collect();
                Some(Ok(Ok(json!({ "servers": all }).into())))
            }
            "get_threads" => Some(self.threads(first, verb, arguments, cancel).await),
            "process_all_actions" => {
                let below = path.as_deref().unwrap_or(self.root);
                Some(self.process(first, below, verb, arguments, cancel).await)
            }
            "undo" => self.undo(first, verb, arguments, cancel).await,
            _ => None,
        }
    }

    /// Each open document once.
    fn buffers(&self, first: &Editor) -> Value {
        let listed = self.answering().flat_map(|editor| {
            let items = editor.listed.iter().flatten();
            items.filter(|item| self.is_of(editor, first, item))
        });
        let mut listed: Vec<&Value> = listed.collect();
        listed.sort_by_key(|item| text(item, "file"));
        match self.not_heard() {
            None => json!({ "buffers": listed }),
            Some(failure) => json!({ "buffers": listed, "unheard": failure.message }),
        }
    }

    /// The threads of each file as the editor that shows it has them, of all others as the first has them.
    async fn threads(
        &self,
        first: &Editor,
        verb: &Verb,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Answered {
        let asked = self.answering().filter(|editor| {
            std::ptr::eq(*editor, first)
                || editor
                    .listed
                    .iter()
                    .flatten()
                    .any(|item| self.is_of(editor, first, item))
        });
        let asked: Vec<&Editor> = asked.collect();
        let calls = asked
            .iter()
            .map(|editor| editor.call(self.root, verb, arguments, cancel));
        let mut together: Option<Value> = None;
        let mut threads: Vec<Value> = Vec::new();
        for (editor, answered) in asked.iter().zip(join_all(calls).await) {
            // Without what one of them shows the list would be taken for all that there is.
            let mut answer = match answered {
                Ok(Ok(answer)) => answer,
                other => return other,
            };
            let theirs = list_of(&mut answer.value, "threads").unwrap_or_default();
            threads.extend(
                theirs
                    .into_iter()
                    .filter(|item| self.is_of(editor, first, item)),
            );
            together.get_or_insert(answer.value);
        }
        let Some(mut together) = together else {
            return Err(client::absent());
        };
        // Of one file they are in order already.
        threads.sort_by(|a, b| text(a, "file").cmp(&text(b, "file")));
        let count = |status: &str| {
            threads
                .iter()
                .filter(|item| item["status"] == status)
                .count()
        };
        let (pending, awaiting) = (count("pending"), count("awaiting_user"));
        together["summary"] =
            json!({"total": pending + awaiting, "pending": pending, "awaiting_user": awaiting});
        together["threads"] = json!(threads);
        if let Some(failure) = self.not_heard() {
            together["unheard"] = json!(failure.message);
        }
        Ok(Ok(together.into()))
    }

    /// What stands in open documents is carried out where they are shown, the rest by the first.
    async fn process(
        &self,
        first: &Editor,
        below: &Path,
        verb: &Verb,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Answered {
        let others = self
            .answering()
            .filter(|editor| !std::ptr::eq(*editor, first));
        let mut elsewhere: Vec<(&Editor, &str)> = Vec::new();
        for editor in others {
            let theirs = editor.listed.iter().flatten();
            let theirs = theirs.filter(|item| self.is_of(editor, first, item));
            let files = theirs.filter_map(|item| text(item, "file"));
            let files = files.filter(|file| self.root.join(file).starts_with(below));
            elsewhere.extend(files.map(|file| (editor, file)));
        }
        if elsewhere.is_empty() {
            return first.call(self.root, verb, arguments, cancel).await;
        }
        let mut arguments = arguments.clone();
        let files: Vec<&str> = elsewhere.iter().map(|(_, file)| *file).collect();
        arguments["except"] = json!(files);
        let mut answer = match first.call(self.root, verb, &arguments, cancel).await {
            Ok(Ok(answer)) => answer.value,
            other => return other,
        };
        let mut actions = list_of(&mut answer, "actions").unwrap_or_default();
        for (editor, file) in elsewhere {
            let one = json!({ "path": file });
            match editor.done(self.root, verb, &one, cancel).await {
                Ok(mut done) => {
                    actions.extend(list_of(&mut done, "actions").unwrap_or_default());
                }
                Err(failure) => {
                    actions.push(json!({"success": false, "file": file, "note": failure.message}))
                }
            }
        }
        let success = actions.iter().all(|done| done["success"] == true);
        Ok(Ok(json!({"success": success, "actions": actions}).into()))
    }

    /// Each file is put back where it is shown. `None`: all of that is the first's.
    async fn undo(
        &self,
        first: &Editor,
        verb: &Verb,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Option<Answered> {
        let run = json!({ "run_id": arguments.get("run_id") });
        let told = first
            .call(self.root, &verbs::TURN_FILES, &run, cancel)
            .await;
        // What is wrong with the run is told by the undo itself.
        let TurnFiles {
            run_id,
            turn,
            mut files,
        } = serde_json::from_value(told.ok()?.ok()?.value).ok()?;
        let wanted = |name: &str| arguments.get(name).filter(|value| !value.is_null());
        if wanted("turn").is_some_and(|wanted| *wanted != turn) {
            return None;
        }
        if let Some(wanted) = wanted("files").and_then(Value::as_array) {
            files.retain(|file| wanted.iter().any(|one| one == file));
        }
        let homes = files.iter().map(|file| {
            let all = self.unsaved_first(&self.root.join(file));
            if all.is_empty() { vec![first] } else { all }
        });
        let homes: Vec<Vec<&Editor>> = homes.collect();
        let only = *homes.first()?.first()?;
        let is_only = |all: &[&Editor]| matches!(all, [one] if std::ptr::eq(*one, only));
        if homes.iter().all(|all| is_only(all)) {
            return Some(only.call(self.root, verb, arguments, cancel).await);
        }
        let mut undone = Undone::default();
        let mut code = None;
        for (editors, file) in homes.into_iter().zip(&files) {
            let one = json!({"run_id": run_id, "turn": turn, "files": [file]});
            let mut told: Vec<String> = Vec::new();
            let mut failed = None;
            // The turn wrote into one of them, and each of the others has a text of its own.
            for editor in editors {
                let done = editor.done(self.root, verb, &one, cancel).await;
                let done = done.and_then(|done| {
                    serde_json::from_value::<Undone>(done)
                        .map_err(|error| Failure::new("failed", error.to_string()))
                });
                let said = match done {
                    Ok(more) => {
                        undone.left += more.left;
                        undone.kept |= more.kept;
                        undone.open += more.open;
                        let said = more.files.join("; ");
                        if more.open > 0 || more.kept {
                            (told, failed) = (vec![said], None);
                            break;
                        }
                        said
                    }
                    Err(failure) => {
                        failed.get_or_insert(failure.code);
                        match failure.message.starts_with(&format!("{file}: ")) {
                            true => failure.message,
                            false => format!("{file}: {}", failure.message),
                        }
                    }
                };
                if !told.contains(&said) {
                    told.push(said);
                }
            }
            undone.files.push(told.join("; in another editor: "));
            if let Some(failed) = failed {
                undone.left += 1;
                code.get_or_insert(failed);
            }
        }
        if undone.left == files.len() {
            let code = code.unwrap_or_else(|| String::from("failed"));
            return Some(Ok(Err(Failure::new(&code, undone.files.join("; ")))));
        }
        Some(Ok(Ok(json!(undone).into())))
    }

    /// The one that a call about these files is for: that has one of them open, unsaved before saved, else the first.
    fn home(&self, files: &[PathBuf]) -> Option<&Editor> {
        self.answering().min_by_key(|editor| {
            let shown = files.iter().filter_map(|f| editor.shows(self.root, f));
            shown.min().unwrap_or(2)
        })
    }

    /// The files (canonical) that a call is about.
    async fn files(&self, arguments: &Value) -> Vec<PathBuf> {
        // It is for that one, whatever it is about.
        if self.all.len() < 2 {
            return Vec::new();
        }
        let file = text(arguments, "path").or_else(|| text(arguments, "file"));
        let file = file.map(|file| os::resolved(&self.root.join(file)));
        let shown = file
            .as_ref()
            .is_some_and(|file| self.of_file(file).is_some());
        match text(arguments, "thread_id") {
            // The path may be a folder.
            Some(id) if !shown => self.files_of(id).await,
            _ => file.into_iter().collect(),
        }
    }

    /// The files in which any of them has the thread: who shows one of them may have changed it since.
    async fn files_of(&self, id: &str) -> Vec<PathBuf> {
        let asked = self.answering();
        let asked = asked.map(|editor| editor.list(self.root, &verbs::GET_THREADS, "threads"));
        let listed = join_all(asked).await.into_iter().flatten().flatten();
        let listed: Vec<Standing> = read(&listed.collect::<Vec<_>>());
        let id = threads::normal(id);
        let theirs = listed.into_iter().filter(|one| one.id.starts_with(&id));
        theirs.map(|thread| self.root.join(thread.file)).collect()
    }
}
