//! The client as the server sees it: notifications and requests to it, and its answers. Requests of tower-lsp's
//! own `Client` are not used: an answer to a handler that was cancelled meanwhile would panic there.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::outbox::Outbox;

/// JSON-RPC 2.0 §5.1.
const METHOD_NOT_FOUND: i64 = -32601;

/// The client's error, or that there is no client any more.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("{0}")]
    Answered(String),
    /// JSON-RPC's `MethodNotFound`; the client's words.
    #[error("{0}")]
    Unknown(String),
    #[error("the editor is gone")]
    Gone,
}

type Answer = Result<Value, ClientError>;

/// Whom an answer of the client's is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    Waiting,
    /// A question that was withdrawn before: the author chose something, and thinks that it counts.
    Withdrawn,
    Nobody,
}

/// Most questions whose late answers are known.
const WITHDRAWN: usize = 100;

pub(crate) struct Client {
    pub(crate) outbox: Arc<Outbox>,
    next: AtomicI64,
    /// `None`: the client is gone.
    waiting: Mutex<Option<HashMap<i64, oneshot::Sender<Answer>>>>,
    /// Questions that were withdrawn and not answered yet, oldest first. A client may show them on: kakoune-lsp.
    withdrawn: Mutex<VecDeque<i64>>,
}

impl Client {
    pub(crate) fn new(outbox: Arc<Outbox>) -> Self {
        Self {
            outbox,
            next: AtomicI64::new(1),
            waiting: Mutex::new(Some(HashMap::new())),
            withdrawn: Mutex::default(),
        }
    }

    fn withdrawn(&self) -> MutexGuard<'_, VecDeque<i64>> {
        self.withdrawn
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<i64, oneshot::Sender<Answer>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A notification that must arrive.
    pub(crate) fn notify(&self, method: &str, params: impl Serialize) {
        self.outbox
            .send(&json!({"jsonrpc": "2.0", "method": method, "params": json!(params)}));
    }

    /// A notification that may be left out where the client does not read.
    pub(crate) fn report(&self, method: &str, params: impl Serialize) {
        self.outbox
            .report(&json!({"jsonrpc": "2.0", "method": method, "params": json!(params)}));
    }

    /// Asks the client and waits for its answer, as long as it takes; an answer that comes after the
    /// future was dropped is ignored.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Answer {
        let id = self.next_id();
        self.send(id, method, params, false).await
    }

    /// The same for a question to a person: nobody waits for it any more, and it is withdrawn. `named`: what it is
    /// withdrawn by stands among its parameters too, for an editor that hands a plugin these alone.
    pub(crate) async fn question(&self, method: &str, mut params: Value, named: bool) -> Answer {
        let id = self.next_id();
        if named {
            params["id"] = json!(id);
        }
        self.send(id, method, params, true).await
    }

    fn next_id(&self) -> i64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    async fn send(&self, id: i64, method: &str, params: Value, withdraw: bool) -> Answer {
        let (sender, receiver) = oneshot::channel();
        match self.waiting().as_mut() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(ClientError::Gone),
        };
        let _forget = Forget {
            client: self,
            id,
            withdraw,
        };
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let Some(message) = message.as_object_mut().filter(|_| !params.is_null()) {
            message.insert(String::from("params"), params);
        }
        self.outbox.send(&message);
        receiver.await.unwrap_or(Err(ClientError::Gone))
    }

    /// Asks and does not wait: what the client answers is logged at most. It is sent before this returns, so that
    /// the answer to a command, which ends it for the client, comes after what the command asked for.
    pub(crate) fn ask(
        self: &Arc<Self>,
        method: &'static str,
        params: Value,
        runtime: &tokio::runtime::Handle,
    ) {
        let client = self.clone();
        let mut asking = Box::pin(async move {
            if let Err(error) = client.request(method, params).await {
                tracing::debug!("{method}: {error}");
            }
        });
        if asking.as_mut().now_or_never().is_none() {
            runtime.spawn(asking);
        }
    }

    /// The client answered.
    pub(crate) fn answered(&self, message: &mut Value) -> For {
        let Some(id) = message.get("id").and_then(Value::as_i64) else {
            return For::Nobody;
        };
        let Some(sender) = self
            .waiting()
            .as_mut()
            .and_then(|waiting| waiting.remove(&id))
        else {
            return self.answered_late(id, message);
        };
        let answer = match message.get("error").filter(|error| !error.is_null()) {
            Some(error) => {
                let text = error
                    .get("message")
                    .and_then(Value::as_str)
                    .unwrap_or("the editor answered with an error")
                    .to_owned();
                let unknown = error.get("code").and_then(Value::as_i64) == Some(METHOD_NOT_FOUND);
                Err(match unknown {
                    true => ClientError::Unknown(text),
                    false => ClientError::Answered(text),
                })
            }
            None => Ok(message
                .get_mut("result")
                .map(Value::take)
                .unwrap_or_default()),
        };
        let _ = sender.send(answer);
        For::Waiting
    }

    fn answered_late(&self, id: i64, message: &Value) -> For {
        let mut withdrawn = self.withdrawn();
        let Some(at) = withdrawn.iter().position(|known| *known == id) else {
            return For::Nobody;
        };
        withdrawn.remove(at);
        // That it was closed is no news.
        match message.pointer("/result/title") {
            Some(_) => For::Withdrawn,
            None => For::Waiting,
        }
    }

    /// Nobody will answer any more.
    pub(crate) fn gone(&self) {
        *self.waiting() = None;
    }
}

/// Lets go of a request whose answer nobody waits for.
struct Forget<'a> {
    client: &'a Client,
    id: i64,
    withdraw: bool,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        let open = self
            .client
            .waiting()
            .as_mut()
            .is_some_and(|waiting| waiting.remove(&self.id).is_some());
        if open && self.withdraw {
            let mut withdrawn = self.client.withdrawn();
            if withdrawn.len() == WITHDRAWN {
                withdrawn.pop_front();
            }
            withdrawn.push_back(self.id);
            drop(withdrawn);
            self.client
                .notify("$/cancelRequest", json!({"id": self.id}));
        }
    }
}
