//! Several editors that have one workspace open: whose server a call is for. A file that is open in one of them is read
//! and changed there, and not on disk behind its back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::client::{self, Answered};
use super::{NoAnswer, silent};
use crate::os;
use crate::verbs::{self, Effect, Failure, TurnFiles, Verb};

/// How long each is asked what it has open. One that is suspended does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
struct Open {
    /// Relative to the workspace.
    file: String,
    #[serde(default)]
    unsaved: bool,
}

#[derive(Deserialize)]
struct Standing {
    id: String,
    file: String,
}

/// A part of what [`crate::session::Undone`] tells.
#[derive(Default, Deserialize, Serialize)]
struct Undone {
    files: Vec<String>,
    left: usize,
    kept: bool,
    open: usize,
}

/// An editor's server.
struct Editor {
    socket: PathBuf,
    /// What it has open, as it tells it; `None`: it does not answer.
    listed: Option<Vec<Value>>,
    open: Vec<Open>,
}

/// All that have the workspace open, in the order of their places.
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

impl Editor {
    async fn call(
        &self,
        root: &Path,
        verb: &Verb,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Answered {
        match client::connect(&self.socket).await {
            Ok(stream) => client::ask(stream, root, verb, arguments, cancel).await,
            Err(stranger) => Err(stranger.unwrap_or_else(client::absent)),
        }
    }

    /// The list that it answers with, if it answers.
    async fn list(&self, root: &Path, verb: &str, list: &str) -> Option<Vec<Value>> {
        let verb = verbs::any(verb)?;
        let never = CancellationToken::new();
        let answered = self.call(root, verb, &json!({}), &never).await;
        list_of(&mut answered.ok()?.ok()?.value, list)
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

impl<'a> Editors<'a> {
    /// Each is asked what it has open.
    pub(super) async fn of(sockets: &[PathBuf], root: &'a Path) -> Self {
        let asked = sockets.iter().map(async |socket| {
            // What a server left behind that was killed; one that is suspended is connected to.
            if let Err(None) = client::connect(socket).await {
                return None;
            }
            let mut editor = Editor {
                socket: socket.clone(),
                listed: None,
                open: Vec::new(),
            };
            let listed = editor.list(root, "buffer_read", "buffers");
            let listed = tokio::time::timeout(PATIENCE, listed).await;
            editor.listed = listed.ok().flatten();
            editor.open = read(editor.listed.as_deref().unwrap_or_default());
            Some(editor)
        });
        Self {
            root,
            all: join_all(asked).await.into_iter().flatten().collect(),
        }
    }

    fn answering(&self) -> impl Iterator<Item = &Editor> {
        self.all.iter().filter(|editor| editor.listed.is_some())
    }

    /// Why a call that writes is not made: one that does not answer may have what it is about open and unsaved, where no
    /// other shows it.
    pub(super) async fn obstacle(&self, verb: &Verb, arguments: &Value) -> Option<Failure> {
        if verb.effect == Effect::Reads || self.answering().count() == self.all.len() {
            return None;
        }
        let mut files = self.files(arguments).await.into_iter();
        if files.any(|file| self.of_file(&file).is_some()) {
            return None;
        }
        let root = self.root.display().to_string();
        Some(Failure::new("editor_silent", silent(&root)))
    }

    /// The one that shows a file (canonical): of several the first in which it is unsaved.
    fn of_file(&self, file: &Path) -> Option<&Editor> {
        let ranked = self.all.iter();
        ranked
            .filter_map(|editor| Some((editor.shows(self.root, file)?, editor)))
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, editor)| editor)
    }

    /// Whether what is said of a file (relative) is said by the one to say it.
    fn is_of(&self, editor: &Editor, first: &Editor, item: &Value) -> bool {
        let file = text(item, "file").map(|file| self.root.join(file));
        let home = file.and_then(|file| self.of_file(&file)).unwrap_or(first);
        std::ptr::eq(home, editor)
    }

    /// The answer of all to a call that is about no single file; `None`: it is for one.
    pub(super) async fn together(
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
                let asked = asked.map(|editor| editor.list(self.root, verb.name, "servers"));
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
        match self.all.len() - self.answering().count() {
            0 => json!({ "buffers": listed }),
            silent => json!({ "buffers": listed, "silent": silent }),
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
        let mut failed = None;
        for (editor, answered) in asked.iter().zip(join_all(calls).await) {
            let mut answer = match answered {
                Ok(Ok(answer)) => answer,
                other => {
                    failed = failed.or(Some(other));
                    continue;
                }
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
            return failed.unwrap_or_else(|| Err(client::absent()));
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
            match editor.call(self.root, verb, &one, cancel).await {
                Ok(Ok(mut answer)) => {
                    actions.extend(list_of(&mut answer.value, "actions").unwrap_or_default());
                }
                Ok(Err(Failure { message, .. }))
                | Err(NoAnswer::Absent(message) | NoAnswer::Stranger(message)) => {
                    actions.push(json!({"success": false, "file": file, "note": message}));
                }
                Err(NoAnswer::Lost(why)) => {
                    let note = format!(
                        "the editor's server was lost in the middle ({why}): look at the file there"
                    );
                    actions.push(json!({"success": false, "file": file, "note": note}));
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
        let changed = verbs::any("turn_files")?;
        let told = first.call(self.root, changed, arguments, cancel).await;
        // What is wrong with the run is told by the undo itself.
        let TurnFiles {
            run_id,
            turn,
            files,
        } = serde_json::from_value(told.ok()?.ok()?.value).ok()?;
        let home = |file: &String| self.of_file(&self.root.join(file)).unwrap_or(first);
        let homes: Vec<&Editor> = files.iter().map(home).collect();
        let only = homes.first()?;
        if homes.iter().all(|home| std::ptr::eq(*home, *only)) {
            return Some(only.call(self.root, verb, arguments, cancel).await);
        }
        let mut undone = Undone::default();
        let mut why = None;
        for (editor, file) in homes.into_iter().zip(&files) {
            let one = json!({"run_id": run_id, "turn": turn, "files": [file]});
            let said = match editor.call(self.root, verb, &one, cancel).await {
                Ok(Ok(answer)) => match serde_json::from_value::<Undone>(answer.value) {
                    Ok(more) => {
                        undone.files.extend(more.files);
                        undone.left += more.left;
                        undone.kept |= more.kept;
                        undone.open += more.open;
                        continue;
                    }
                    Err(error) => error.to_string(),
                },
                Ok(Err(failure)) => {
                    why.get_or_insert(failure.code);
                    failure.message
                }
                Err(NoAnswer::Absent(why) | NoAnswer::Stranger(why)) => {
                    format!("{file}: not put back, {why}")
                }
                Err(NoAnswer::Lost(why)) => format!(
                    "{file}: the editor's server was lost in the middle ({why}), and what it did is not known"
                ),
            };
            undone.files.push(said);
            undone.left += 1;
        }
        if undone.left == files.len() {
            let why = why.unwrap_or_else(|| String::from("failed"));
            return Some(Ok(Err(Failure::new(&why, undone.files.join("; ")))));
        }
        Some(Ok(Ok(json!(undone).into())))
    }

    /// In the order in which a call tries them: first the one that has the file open that it is about, unsaved before
    /// saved.
    pub(super) async fn in_order(self, arguments: &Value) -> Vec<PathBuf> {
        let files = self.files(arguments).await;
        let rank = |editor: &Editor| {
            let shown = files
                .iter()
                .filter_map(|file| editor.shows(self.root, file));
            let silent = u8::from(editor.listed.is_none());
            shown.min().unwrap_or(2 + silent)
        };
        let mut ranked: Vec<(u8, &Editor)> = self.all.iter().map(|e| (rank(e), e)).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        let sockets = ranked.into_iter().map(|(_, editor)| editor.socket.clone());
        sockets.collect()
    }

    /// The files (canonical) that a call is about.
    async fn files(&self, arguments: &Value) -> Vec<PathBuf> {
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
        let asked = asked.map(|editor| editor.list(self.root, "get_threads", "threads"));
        let listed = join_all(asked).await.into_iter().flatten().flatten();
        let threads: Vec<Standing> = read(&listed.collect::<Vec<_>>());
        let theirs = threads
            .into_iter()
            .filter(|thread| thread.id.starts_with(id));
        theirs.map(|thread| self.root.join(thread.file)).collect()
    }
}
