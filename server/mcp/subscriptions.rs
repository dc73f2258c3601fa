//! Resources that a client has subscribed to: it is told when one is another than before.
//!
//! What changes a thread may be an editor's buffer, a file, another process with the history; so each resource is
//! looked at in turn while there are any, at the place where it was found last.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::resources::{self, Named};
use super::roots::Workspaces;
use super::{Peer, Shared, route};
use crate::verbs::{self, Failure, Verb};

/// Resources of one client.
const MOST: usize = 200;
const EVERY: Duration = Duration::from_millis(500);

#[derive(Default)]
pub(super) struct Subscriptions(Mutex<State>);

#[derive(Default)]
struct State {
    watched: HashMap<String, Watched>,
    /// Somebody looks.
    running: bool,
}

#[derive(Clone, Default, PartialEq)]
struct Watched {
    /// The file of a thread.
    file: Option<String>,
    /// As it was seen last; null: it was not there.
    state: Value,
}

impl Subscriptions {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client is told of changes from now on.
    pub async fn add(shared: &Shared, peer: &Peer, uri: &str) -> Result<(), ErrorData> {
        let refused = |text: String| ErrorData::resource_not_found(text, Some(json!({"uri": uri})));
        if resources::parse(uri).is_none() {
            return Err(refused(String::from(resources::NAMES)));
        }
        let now = look(shared, peer, uri, &Watched::default(), &mut Lists::new()).await;
        let now = now.map_err(|failure| refused(failure.message))?;
        if now.state.is_null() {
            return Err(refused(format!(
                "there is no resource {}",
                uri.escape_debug()
            )));
        }
        let mut state = shared.subscriptions.lock();
        if state.watched.len() >= MOST && !state.watched.contains_key(uri) {
            let text = format!("{MOST} resources are subscribed to already: unsubscribe from one");
            return Err(ErrorData::invalid_params(text, None));
        }
        state.watched.insert(uri.to_owned(), now);
        if !std::mem::replace(&mut state.running, true) {
            tokio::spawn(watch(Arc::downgrade(shared), peer.clone()));
        }
        Ok(())
    }

    pub fn remove(&self, uri: &str) {
        self.lock().watched.remove(uri);
    }
}

/// Until there is nothing to look at, or nobody to tell.
async fn watch(shared: std::sync::Weak<Workspaces>, peer: Peer) {
    loop {
        tokio::time::sleep(EVERY).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let watched = {
            let mut state = shared.subscriptions.lock();
            state.running = !state.watched.is_empty() && !peer.is_transport_closed();
            if !state.running {
                return;
            }
            state.watched.clone()
        };
        let mut lists = Lists::new();
        for (uri, before) in watched {
            // What cannot be looked at now may be by and by.
            let Ok(now) = look(&shared, &peer, &uri, &before, &mut lists).await else {
                continue;
            };
            if now == before {
                continue;
            }
            let told = now.state != before.state;
            match shared.subscriptions.lock().watched.get_mut(&uri) {
                Some(known) => *known = now,
                // Unsubscribed meanwhile.
                None => continue,
            }
            if told {
                // It is gone: the next round ends.
                let _ = peer
                    .notify_resource_updated(rmcp::model::ResourceUpdatedNotificationParam::new(
                        uri,
                    ))
                    .await;
            }
        }
    }
}

/// What a look around has listed already, by the file; by none: everywhere. Nothing where that failed.
type Lists = HashMap<Option<String>, Option<Value>>;

/// A resource as it is now: first where it was before.
async fn look(
    shared: &Shared,
    peer: &Peer,
    uri: &str,
    before: &Watched,
    lists: &mut Lists,
) -> Result<Watched, Failure> {
    let found = shared.places(peer).await?;
    let ask = async |verb: &Verb, arguments: Value| {
        let cancel = CancellationToken::new();
        route::call(shared, &found, verb, &arguments, &cancel).await
    };
    match resources::parse(uri) {
        Some(Named::Thread(id)) => {
            let in_file = before.file.clone().map(Some);
            // One that was gone before is not looked for everywhere each time.
            let anywhere = before.file.is_none() || !before.state.is_null();
            for place in in_file.into_iter().chain(anywhere.then_some(None)) {
                let all = json!({});
                let in_file = |file: &String| json!({"path": file});
                let arguments = place.as_ref().map_or(all, in_file);
                let list = match lists.entry(place) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => match ask(&verbs::GET_THREADS, arguments).await {
                        Err(failure) if route::is_lost(&failure) => return Err(failure),
                        listed => new.insert(listed.ok().map(|answer| answer.value)),
                    },
                };
                // The file may be gone.
                let Some(list) = list else {
                    continue;
                };
                if let Ok(thread) = resources::thread(list, id) {
                    let file = thread.get("file").and_then(Value::as_str);
                    return Ok(Watched {
                        file: file.map(str::to_owned),
                        state: without_lines(thread.clone()),
                    });
                }
            }
            Ok(Watched {
                file: before.file.clone(),
                state: Value::Null,
            })
        }
        Some(Named::Run(id)) => match ask(&verbs::WORKFLOW_THREAD, json!({"run_id": id})).await {
            Ok(answer) => Ok(Watched {
                file: None,
                state: answer.value,
            }),
            Err(failure) if failure.code == "unknown_run" => Ok(Watched::default()),
            Err(failure) => Err(failure),
        },
        None => Err(Failure::defect()),
    }
}

/// That it moved is no change of a thread, nor is one of the code beside it: an author types.
fn without_lines(mut thread: Value) -> Value {
    if let Some(thread) = thread.as_object_mut() {
        thread.remove("start_line");
        thread.remove("beside");
        let messages = thread.get_mut("thread").and_then(Value::as_array_mut);
        for message in messages.into_iter().flatten() {
            if let Some(message) = message.as_object_mut() {
                message.remove("line");
            }
        }
    }
    thread
}
