//! The transport, with what counts in the order of the wire: `rmcp` runs notifications and calls beside each other. And
//! with what `rmcp` does not tell a client that is mistaken.
#![expect(
    deprecated,
    reason = "newer revisions of the protocol have no logging; the clients of today do"
)]

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    CallToolRequestParams, ClientNotification, ClientRequest, CompleteRequestParams, CustomRequest,
    GetExtensions as _, GetMeta as _, GetPromptRequestParams, InitializeRequestParams,
    JsonRpcMessage, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ServerResult, SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::{IntoTransport as _, Transport};
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Shared;
use super::batches::Apart;
use crate::verbs;

/// A change of the client's roots counts for every call behind it, and calls that write stand in a queue.
pub(super) struct InOrder<T> {
    transport: T,
    shared: Shared,
    /// The client has said who it is, or what it speaks.
    introduced: bool,
    batches: Arc<AtomicBool>,
    /// Why a line could not be read.
    unread: UnboundedReceiver<String>,
}

impl InOrder<()> {
    /// On standard input and output.
    pub fn new(shared: Shared) -> InOrder<impl Transport<RoleServer> + 'static> {
        let (input, output) = rmcp::transport::stdio_pipes();
        let batches = Arc::<AtomicBool>::default();
        let (tell, unread) = unbounded_channel();
        let input = Apart::new(input, batches.clone(), tell);
        InOrder {
            transport: (input, output).into_transport(),
            shared,
            introduced: false,
            batches,
            unread,
        }
    }
}

impl<T> InOrder<T> {
    /// Why a request is not taken from a client that has not introduced itself.
    fn refuses(&mut self, request: &ClientRequest) -> Option<ErrorData> {
        match request {
            _ if self.introduced => return None,
            ClientRequest::PingRequest(_) => return None,
            ClientRequest::CustomRequest(custom) if custom.method == "initialize" => {
                return malformed(custom);
            }
            ClientRequest::InitializeRequest(_) => {}
            request => {
                let speaks = request.get_meta();
                let missing = speaks.missing_required_keys(&ProtocolVersion::V_2026_07_28);
                if !missing.is_empty() {
                    let text = format!(
                        "{} came before `initialize`; in a revision that has none, `_meta` says what the client speaks ({})",
                        request.method().escape_debug(),
                        missing.join(", ")
                    );
                    return Some(ErrorData::invalid_params(text, None));
                }
                // Asks what we speak, and may still go either way.
                if let ClientRequest::DiscoverRequest(_) = request {
                    return None;
                }
            }
        }
        self.introduced = true;
        None
    }
}

impl<T: Transport<RoleServer>> InOrder<T> {
    /// Of which request it was is not known (JSON-RPC 2.0 §5).
    async fn tell_unread(&mut self, why: String) {
        let error = ErrorData::parse_error(format!("this line is no JSON: {why}"), None);
        let error = JsonRpcMessage::error(error, None);
        // It is gone: so the next one is none.
        let _ = self.transport.send(error).await;
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for InOrder<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Response(response) = &item
            && let ServerResult::InitializeResult(agreed) = &response.result
        {
            let has_batches = agreed.protocol_version == ProtocolVersion::V_2025_03_26;
            self.batches.store(has_batches, Ordering::Relaxed);
        }
        self.transport.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = tokio::select! {
                biased;
                Some(why) = self.unread.recv() => {
                    self.tell_unread(why).await;
                    continue;
                }
                message = self.transport.receive() => message,
            };
            let Some(mut message) = message else {
                // It may wait for the answers that it has not got yet.
                while let Ok(why) = self.unread.try_recv() {
                    self.tell_unread(why).await;
                }
                return None;
            };
            match &mut message {
                JsonRpcMessage::Notification(notification) => {
                    if let ClientNotification::RootsListChangedNotification(_) =
                        notification.notification
                    {
                        self.shared.roots_changed();
                    }
                }
                JsonRpcMessage::Request(request) => {
                    if let Some(refusal) = self.refuses(&request.request) {
                        let _ = self.shared.unintroduced.set(refusal.message.to_string());
                        let refusal = JsonRpcMessage::error(refusal, Some(request.id.clone()));
                        // It is gone: so the next one is none.
                        let _ = self.transport.send(refusal).await;
                        continue;
                    }
                    if let ClientRequest::CallToolRequest(call) = &request.request
                        && verbs::verb(&call.params.name).is_some_and(|verb| verb.effect.writes())
                    {
                        let turn = Arc::new(self.shared.queue.stand());
                        request.request.extensions_mut().insert(turn);
                    }
                }
                _ => {}
            }
            return Some(message);
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}

/// What is wrong with the parameters of a method that there is: `rmcp` takes what it cannot read for a method of
/// somebody else's.
pub(super) fn malformed(request: &CustomRequest) -> Option<ErrorData> {
    fn why<T: DeserializeOwned>(params: Value) -> Option<String> {
        let read = serde_json::from_value::<T>(params);
        read.err().map(|error| error.to_string())
    }
    let method = request.method.as_str();
    let why = match method {
        "initialize" => why::<InitializeRequestParams>,
        "tools/call" => why::<CallToolRequestParams>,
        "prompts/get" => why::<GetPromptRequestParams>,
        "resources/read" => why::<ReadResourceRequestParams>,
        "resources/subscribe" => why::<SubscribeRequestParams>,
        "resources/unsubscribe" => why::<UnsubscribeRequestParams>,
        "completion/complete" => why::<CompleteRequestParams>,
        "logging/setLevel" => why::<SetLevelRequestParams>,
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            why::<PaginatedRequestParams>
        }
        _ => return None,
    };
    let params = request.params.clone().unwrap_or_else(|| json!({}));
    let why = why(params).unwrap_or_else(|| String::from("its parameters cannot be read"));
    Some(ErrorData::invalid_params(format!("{method}: {why}"), None))
}
