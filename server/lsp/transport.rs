//! The adapter around tower-lsp's `LspService`: reading, routing, and the life cycle.
//!
//! tower-lsp's own loop reorders notifications that suspend, can deadlock when a handler asks the client, does
//! not end on `exit` while the pipe is open, and hangs after a panic. So that loop is not used: a thread reads
//! and calls [`Adapter`], a `tower::Service`, for each message in the order of the wire.
//!
//! Invariants: document notifications are applied before the next message is looked at; a request never keeps
//! the thread from reading on; each request is answered exactly once, whatever its handler does.

use std::convert::Infallible;
use std::io::Read;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::Service;
use tower_lsp::LspService;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

use super::client::For;
use super::frames::Framer;
use super::navigation::{self, Answer};
use super::{
    Ended, Methods, Params, Server, actions, commands, completion, conversation, diagnostics,
    documents, fixes, from_proto, hints, host, lifecycle, links, repaired, semantic_tokens,
    symbols, testing, to_proto,
};
use crate::host::Level;
use crate::present;

/// LSP 3.17 §ErrorCodes.
pub(super) const NOT_INITIALIZED: i64 = -32002;

/// Reads until the pipe ends. Runs on a thread of its own.
pub(super) fn read(server: &Arc<Server>, mut pipe: impl Read) {
    // Verbs of the session may spawn tasks.
    let _runtime = server.runtime.enter();
    let mut adapter = Adapter::new(server.clone());
    let mut framer = Framer::default();
    let mut bytes = vec![0; 64 << 10];
    loop {
        let read = match pipe.read(&mut bytes) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            Err(error) => {
                tracing::info!("the client cannot be read: {error}");
                break;
            }
        };
        framer.feed(bytes.get(..read).unwrap_or_default());
        while let Some(frame) = framer.next() {
            match frame {
                Ok(body) => {
                    if let Err(error) = adapter.read(&body) {
                        tracing::warn!("a message that is no JSON was skipped: {error}");
                        adapter.refuse(Id::Null, Error::parse_error());
                        framer.resume(&body);
                    }
                }
                Err(bad) => tracing::warn!("skipped {}", bad.0),
            }
        }
    }
    server.end(Ended::HungUp);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    New,
    Running,
    ShutDown,
}

/// What goes back: a response as tower-lsp has it, or one whose result is a child's own text.
#[derive(Serialize)]
#[serde(untagged)]
enum Reply {
    Response(Response),
    Raw {
        jsonrpc: &'static str,
        result: Box<RawValue>,
        id: Id,
    },
}

impl Reply {
    fn new(id: Id, outcome: Outcome) -> Self {
        match outcome {
            Ok(Answer::Value(value)) => Self::Response(Response::from_ok(id, value)),
            Ok(Answer::Raw(result)) => Self::Raw {
                jsonrpc: "2.0",
                result,
                id,
            },
            Err(mut error) => {
                // Editors show it as it comes, and others' names may be in it.
                error.message = present::visible(&error.message).into();
                Self::Response(Response::from_error(id, error))
            }
        }
    }
}

type Outcome = Result<Answer, Error>;
type Work = BoxFuture<'static, Outcome>;
/// As `tower::Service` has it; `None`: a notification.
type Replying = BoxFuture<'static, Result<Option<Reply>, Infallible>>;

/// A request that is being answered, and how to cancel it.
enum Running {
    /// By tower-lsp, under an id of our own: a client may use its ids as it likes.
    Routed(i64),
    Ours(CancellationToken),
}

struct Adapter {
    server: Arc<Server>,
    service: LspService<Methods>,
    life: Life,
    running: Arc<DashMap<Id, Running>>,
    next: i64,
    /// Bytes of the message that is looked at were replaced.
    is_lossy: bool,
}

impl Adapter {
    fn new(server: Arc<Server>) -> Self {
        let methods = Methods(server.clone());
        // tower-lsp's way to the client is not used: see client.rs.
        let (service, _) = LspService::new(|_| methods);
        Self {
            server,
            service,
            life: Life::New,
            running: Arc::default(),
            next: 0,
            is_lossy: false,
        }
    }

    fn refuse(&self, id: Id, error: Error) {
        self.server
            .client
            .outbox
            .send(&Response::from_error(id, error));
    }

    /// One message of the client. An error: it is no JSON.
    fn read(&mut self, body: &[u8]) -> serde_json::Result<()> {
        if self.server.client.outbox.abandoned() {
            self.server.end(Ended::Abandoned);
        } else if self.life == Life::Running
            && let Some(files) = from_proto::many_files(body)
        {
            guarded("workspace/didChangeWatchedFiles", || {
                // What was made among so many, children see by its age.
                lifecycle::files_changed(&self.server, files, Vec::new());
            });
        } else {
            let (message, is_lossy) = repaired::read(body)?;
            self.is_lossy = is_lossy;
            self.receive(message);
        }
        Ok(())
    }

    fn receive(&mut self, mut message: Value) {
        let id = message.get("id").cloned().map(serde_json::from_value::<Id>);
        let Some(object) = message.as_object_mut() else {
            return self.refuse(
                Id::Null,
                failure(ErrorCode::InvalidRequest, "a message is one JSON object"),
            );
        };
        let version = object.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
        let method = match object.get_mut("method").map(Value::take) {
            Some(Value::String(method)) => method,
            None if object.contains_key("result") || object.contains_key("error") => {
                match self.server.client.answered(&mut message) {
                    For::Waiting => {}
                    For::Withdrawn => host::message(
                        &self.server,
                        Level::Info,
                        "that question is no longer open: nothing was done",
                    ),
                    For::Nobody => {
                        tracing::warn!("an answer to nothing that was asked was ignored");
                    }
                }
                return;
            }
            _ => {
                let id = id.and_then(Result::ok).unwrap_or(Id::Null);
                return self.refuse(
                    id,
                    failure(
                        ErrorCode::InvalidRequest,
                        "a message has a method, a result or an error",
                    ),
                );
            }
        };
        let params = object
            .get_mut("params")
            .map(Value::take)
            .filter(|params| !params.is_null());
        let request = Request::build(method);
        let request = match params {
            Some(params) => request.params(params),
            None => request,
        };
        let request = match id {
            None => request.finish(),
            Some(Ok(id)) if id != Id::Null && version => request.id(id).finish(),
            Some(id) => {
                let id = id.unwrap_or(Id::Null);
                return self.refuse(
                    id,
                    failure(
                        ErrorCode::InvalidRequest,
                        "an id is a whole number or a string, and jsonrpc is \"2.0\"",
                    ),
                );
            }
        };
        let initialize = request.method() == "initialize";
        let notification = request.id().is_none();
        let answer = self.call(request);
        if notification {
            return;
        }
        let server = self.server.clone();
        let send = async move {
            let Ok(answered) = answer.await;
            if let Some(response) = answered {
                server.client.outbox.send(&response);
            }
        };
        if initialize {
            // A client may send more without waiting; it is looked at when this is answered.
            self.server.runtime.block_on(send);
        } else {
            self.server.runtime.spawn(send);
        }
    }

    /// Everything here happens in the order of the wire.
    fn notification(&mut self, method: &str, params: Params) {
        if method == "exit" {
            return self.server.end(Ended::Exit(self.life == Life::ShutDown));
        }
        if self.life != Life::Running {
            tracing::debug!("{method} outside the session was dropped");
            return;
        }
        let params = params.unwrap_or_default();
        if method == "$/cancelRequest" {
            return self.cancel(params);
        }
        let (server, is_lossy) = (&self.server, self.is_lossy);
        guarded(method, || {
            if !documents::notification(server, method, &params, is_lossy)
                && !lifecycle::notification(server, method, params)
            {
                tracing::debug!("{method} is not known here");
            }
        });
    }

    fn cancel(&mut self, mut params: Value) {
        let Some(Ok(id)) = params
            .get_mut("id")
            .map(|id| serde_json::from_value::<Id>(id.take()))
        else {
            return;
        };
        // Unknown or finished: nothing to do.
        match self.running.remove(&id) {
            Some((_, Running::Ours(cancel))) => cancel.cancel(),
            Some((_, Running::Routed(id))) => {
                let request = Request::build("$/cancelRequest")
                    .params(json!({"id": id}))
                    .finish();
                let _ = self.service.call(request).now_or_never();
            }
            None => {}
        }
    }

    fn request(&mut self, id: Id, method: &str, params: Params) -> Replying {
        if let Some(error) = self.refusal(method) {
            return reply(id, Err(error));
        }
        if method == "initialize" {
            let params = params.unwrap_or_default();
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
                lifecycle::initialize(&self.server, params)
            }));
            let outcome = outcome.unwrap_or_else(|_| Err(Error::internal_error()));
            if outcome.is_ok() {
                self.life = Life::Running;
                self.route_from_now_on();
            }
            return reply(id, outcome.map(Answer::Value));
        }
        if method == "shutdown" {
            self.life = Life::ShutDown;
        }
        let running = self.running.clone();
        let work = match running.entry(id.clone()) {
            Entry::Vacant(entry) => {
                let cancel = CancellationToken::new();
                let (how, work) = match own(&self.server, method, &params, &cancel) {
                    Some(work) => (Running::Ours(cancel.clone()), cancellable(work, cancel)),
                    None => self.route(method, params),
                };
                entry.insert(how);
                work
            }
            Entry::Occupied(_) => {
                return reply(
                    id,
                    Err(failure(
                        ErrorCode::InvalidRequest,
                        "another request has this id",
                    )),
                );
            }
        };
        let running = self.running.clone();
        let (server, method) = (self.server.clone(), method.to_owned());
        let waits = server.documents.hold_changes();
        async move {
            // What is asked is of the text that these changes make.
            if waits {
                server.documents.settled().await;
            }
            let outcome = AssertUnwindSafe(work)
                .catch_unwind()
                .await
                .unwrap_or_else(|_| {
                    tracing::error!("a defect while {method} was answered; the server goes on");
                    Err(Error::internal_error())
                });
            running.remove(&id);
            Ok(Some(Reply::new(id, outcome)))
        }
        .boxed()
    }

    /// LSP 3.17 §Server lifecycle.
    fn refusal(&self, method: &str) -> Option<Error> {
        match (self.life, method) {
            (Life::New, "initialize") | (Life::Running, "shutdown") => None,
            (Life::New, _) => Some(failure(
                ErrorCode::ServerError(NOT_INITIALIZED),
                "the server is not initialized",
            )),
            (Life::Running, "initialize") => Some(failure(
                ErrorCode::InvalidRequest,
                "the server is initialized already",
            )),
            (Life::ShutDown, _) => Some(failure(
                ErrorCode::InvalidRequest,
                "the server is shut down",
            )),
            (Life::Running, _) if self.server.client.outbox.crowded() => Some(failure(
                ErrorCode::ServerError(to_proto::REQUEST_FAILED),
                "too much waits for the client to read it",
            )),
            (Life::Running, _) => None,
        }
    }

    /// A typed method, by tower-lsp.
    fn route(&mut self, method: &str, params: Params) -> (Running, Work) {
        self.next += 1;
        let request = Request::build(method.to_owned()).id(self.next);
        let request = match params.filter(|_| method != "shutdown") {
            Some(params) => request.params(params),
            None => request,
        };
        let work = self.service.call(request.finish());
        let work = async move {
            // tower-lsp does not answer unknown requests below `$/`.
            let response = work
                .await
                .ok()
                .flatten()
                .ok_or_else(Error::method_not_found)?;
            response.into_parts().1.map(Answer::Value)
        };
        (Running::Routed(self.next), work.boxed())
    }

    /// tower-lsp keeps a life cycle of its own; it is told that the server is initialized.
    fn route_from_now_on(&mut self) {
        let request = Request::build("initialize")
            .params(json!({"capabilities": {}}))
            .id(0)
            .finish();
        let _ = self.service.call(request).now_or_never();
    }
}

impl Service<Request> for Adapter {
    type Response = Option<Reply>;
    type Error = Infallible;
    type Future = Replying;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (method, id, params) = request.into_parts();
        match id {
            Some(id) => self.request(id, &method, params),
            None => {
                self.notification(&method, params);
                std::future::ready(Ok(None)).boxed()
            }
        }
    }
}

/// The methods whose parameters and answers stay JSON: commands, what is passed through to child servers, and
/// what newer clients know better than the types here. `None`: a typed one.
fn own(
    server: &Arc<Server>,
    method: &str,
    params: &Params,
    cancel: &CancellationToken,
) -> Option<Work> {
    let (server, params, cancel) = (server.clone(), || params.clone(), cancel.clone());
    let value = |work: BoxFuture<'static, Result<Value, Error>>| {
        work.map(|outcome| outcome.map(Answer::Value)).boxed()
    };
    Some(match method {
        "workspace/executeCommand" => value(commands::execute(server, params(), cancel).boxed()),
        "textDocument/diagnostic" => value(diagnostics::document(server, params()).boxed()),
        "workspace/diagnostic" => value(diagnostics::workspace(server, params(), cancel).boxed()),
        "textDocument/documentSymbol" => value(symbols::document(server, params(), cancel).boxed()),
        "workspace/symbol" => value(symbols::workspace(server, params(), cancel).boxed()),
        method if semantic_tokens::takes(method) => {
            value(semantic_tokens::request(server, method.to_owned(), params()).boxed())
        }
        "workspaceSymbol/resolve" => value(symbols::resolve(server, params()).boxed()),
        "textDocument/completion" => value(completion::complete(server, params(), cancel).boxed()),
        "completionItem/resolve" => value(completion::resolve(server, params()).boxed()),
        "textDocument/documentLink" => value(links::document(server, params(), cancel).boxed()),
        "textDocument/inlayHint" => {
            let params = params();
            value(async move { hints::of(&server, params) }.boxed())
        }
        "textDocument/codeAction" => {
            let params = params();
            value(async move { actions::answer(&server, params) }.boxed())
        }
        "codeAction/resolve" => value(fixes::resolve(server, params()).boxed()),
        "textDocument/willSaveWaitUntil" => value(std::future::ready(Ok(Value::Null)).boxed()),
        "workspace/textDocumentContent" => value(conversation::content(server, params()).boxed()),
        method if navigation::takes(method) => {
            navigation::request(server, method.to_owned(), params(), cancel).boxed()
        }
        method => value(testing::request(&server, method, &params())?),
    })
}

/// A defect in the work of one notification ends that alone.
fn guarded(method: &str, work: impl FnOnce()) {
    if std::panic::catch_unwind(AssertUnwindSafe(work)).is_err() {
        tracing::error!("a defect while {method} was handled; the server goes on");
    }
}

fn cancellable(work: Work, cancel: CancellationToken) -> Work {
    async move {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::request_cancelled()),
            outcome = work => outcome,
        }
    }
    .boxed()
}

fn reply(id: Id, outcome: Outcome) -> Replying {
    std::future::ready(Ok(Some(Reply::new(id, outcome)))).boxed()
}

pub(super) fn failure(code: ErrorCode, message: &'static str) -> Error {
    Error {
        code,
        message: message.into(),
        data: None,
    }
}
