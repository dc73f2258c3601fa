//! What the client was last told of the threads. Those with the same first words are numbered by their place in the file, so
//! that an id of an older list may be another thread's by now: it is not answered or removed in the place of the one
//! that was meant.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::roots::Place;
use super::route;
use crate::threads::{self, words};
use crate::verbs::{self, Failure, Verb};

/// By root and id.
#[derive(Default)]
pub(super) struct Told(Mutex<HashMap<(PathBuf, String), Known>>);

#[derive(Clone)]
struct Known {
    file: String,
    /// What was said, each as a hash.
    said: Vec<u64>,
    /// The code beside it, where others of the file begin alike.
    beside: Option<String>,
    /// How many threads of the file have the same first words, it among them.
    namesakes: usize,
    /// The list had all threads of the file.
    all: bool,
    /// The client has removed one of them since.
    stale: bool,
}

fn text<'a>(of: &'a Value, name: &str) -> Option<&'a str> {
    of.get(name).and_then(Value::as_str)
}

/// The threads of an answer of `get_threads`, with their ids.
fn listed(answer: &Value) -> Vec<(&str, &Value)> {
    let threads = answer.get("threads").and_then(Value::as_array);
    let threads = threads.into_iter().flatten();
    threads
        .filter_map(|thread| Some((text(thread, "id")?, thread)))
        .collect()
}

/// What was said in a thread, without the line that waits for the author.
fn said(thread: &Value) -> Vec<u64> {
    let messages = thread.get("thread").and_then(Value::as_array);
    let messages = messages.into_iter().flatten();
    let spoken = messages.filter(|message| text(message, "text").is_some_and(|t| !t.is_empty()));
    spoken
        .map(|message| {
            let mut hash = DefaultHasher::new();
            (text(message, "role"), text(message, "text")).hash(&mut hash);
            hash.finish()
        })
        .collect()
}

impl Told {
    fn lock(&self) -> MutexGuard<'_, HashMap<(PathBuf, String), Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the answer to a call tells the client. `whole`: the list that it is a page of.
    pub fn note(
        &self,
        places: &[Arc<Place>],
        verb: &Verb,
        arguments: &Value,
        answer: &Value,
        whole: &Value,
    ) {
        let root = |item: &Value| match (text(item, "root"), places) {
            (Some(root), _) => Some(PathBuf::from(root)),
            (None, [place]) => Some(place.root.clone()),
            (None, _) => root_of(places, arguments),
        };
        match verb.name {
            "get_threads" => {
                let all = arguments.get("status").is_none_or(Value::is_null);
                let mut namesakes: HashMap<(Option<PathBuf>, &str), usize> = HashMap::new();
                for (id, thread) in listed(whole) {
                    *namesakes.entry((root(thread), words(id))).or_default() += 1;
                }
                let mut told = self.lock();
                for (id, thread) in listed(answer) {
                    let (Some(root), Some(file)) = (root(thread), text(thread, "file")) else {
                        continue;
                    };
                    let count = namesakes.get(&(Some(root.clone()), words(id)));
                    let known = Known {
                        file: file.to_owned(),
                        said: said(thread),
                        beside: text(thread, "beside").map(str::to_owned),
                        namesakes: count.copied().unwrap_or(1),
                        all,
                        stale: false,
                    };
                    told.insert((root, id.to_owned()), known);
                }
            }
            "dismiss_thread" | "clear_and_commit" => {
                let of_thread = || self.known(places, arguments).map(|(root, ..)| root);
                self.removed(root(answer).or_else(of_thread), answer);
            }
            "process_all_actions" => {
                let actions = answer.get("actions").and_then(Value::as_array);
                let done = |action: &&Value| action["success"] == true;
                for done in actions.into_iter().flatten().filter(done) {
                    self.removed(root(done), done);
                }
            }
            _ => {}
        }
    }

    /// One thread was removed, or (no id is told) all of a file.
    fn removed(&self, root: Option<PathBuf>, done: &Value) {
        let (Some(root), Some(file)) = (root, text(done, "file")) else {
            return;
        };
        let id = text(done, "thread_id");
        let mut told = self.lock();
        for ((_, one), known) in told.iter_mut().filter(|((of, _), _)| *of == root) {
            known.stale |= match id {
                Some(id) => words(one) == words(id),
                None => known.file == file,
            };
        }
        if let Some(id) = id {
            let gone = Known {
                file: file.to_owned(),
                said: Vec::new(),
                beside: None,
                namesakes: 1,
                all: false,
                stale: true,
            };
            told.insert((root, id.to_owned()), gone);
        }
    }

    /// Whether the id that a call names is still that of the thread that the client was told of; one that it was not told
    /// of is taken at its word.
    pub async fn check(
        &self,
        shared: &Shared,
        places: &[Arc<Place>],
        verb: &Verb,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        if !matches!(verb.name, "respond_to_thread" | "dismiss_thread") {
            return Ok(());
        }
        let Some((root, id, known)) = self.known(places, arguments) else {
            return Ok(());
        };
        let Some(place) = places.iter().find(|place| place.root == root) else {
            return Ok(());
        };
        // Below its folder, whose own name may be no text.
        let here = json!({"path": known.file});
        // What cannot be looked at is told by the call itself.
        let answer = match route::on(shared, place, &verbs::GET_THREADS, &here, cancel).await {
            Ok(answer) => answer,
            Err(failure) if route::is_lost(&failure) => return Err(failure),
            Err(_) => return Ok(()),
        };
        let mut now = listed(&answer.value);
        now.retain(|(one, _)| words(one) == words(&id));
        let Some((_, thread)) = now.iter().find(|(one, _)| *one == id) else {
            return Ok(());
        };
        let as_many = match known.all {
            true => now.len() == known.namesakes,
            false => now.len() >= known.namesakes,
        };
        let alone = now.len() == 1 && known.namesakes == 1;
        // They may have changed their places, or one went and another came.
        let same_code = known.beside.as_deref() == text(thread, "beside");
        let same = same_code && (alone || said(thread).starts_with(&known.said));
        if !known.stale && as_many && same {
            return Ok(());
        }
        Err(Failure::new(
            "changed",
            format!(
                "thread {id} may be another one than you were told of: threads with the same first words are numbered by \
                 their place, and one of them came, went or was changed; nothing was written: call get_threads again"
            ),
        ))
    }

    /// The thread that a call names, if the client was told of one and no other begins so.
    fn known(&self, places: &[Arc<Place>], arguments: &Value) -> Option<(PathBuf, String, Known)> {
        let id = threads::normal(text(arguments, "thread_id")?);
        let root = root_of(places, arguments);
        let told = self.lock();
        let of_call = |of: &Path| root.as_ref().is_none_or(|root| root == of);
        let begun = told
            .iter()
            .filter(|((of, one), _)| of_call(of) && one.starts_with(&id));
        let begun: Vec<_> = begun.collect();
        let exact = begun.iter().filter(|((_, one), _)| *one == id);
        let exact: Vec<_> = exact.copied().collect();
        match (exact.as_slice(), begun.as_slice()) {
            ([((root, id), known)], _) | ([], [((root, id), known)]) => {
                Some((root.clone(), id.clone(), (*known).clone()))
            }
            _ => None,
        }
    }
}

/// The root that a call with a path is about.
fn root_of(places: &[Arc<Place>], arguments: &Value) -> Option<PathBuf> {
    let path = text(arguments, "path").or_else(|| text(arguments, "file"));
    let place = route::place_of(places, path.filter(|path| !path.is_empty())?);
    place.ok().map(|(place, _)| place.root.clone())
}
