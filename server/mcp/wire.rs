//! The transport, with what counts in the order of the wire: `rmcp` runs notifications and calls beside each other.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, GetExtensions as _, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::{IntoTransport as _, Transport};

use super::Shared;
use crate::verbs;

/// A change of the client's roots counts for every call behind it, and calls that write stand in a queue.
pub(super) struct InOrder<T> {
    transport: T,
    shared: Shared,
}

impl InOrder<()> {
    /// On standard input and output.
    pub fn new(shared: Shared) -> InOrder<impl Transport<RoleServer> + 'static> {
        let transport = rmcp::transport::stdio_pipes().into_transport();
        InOrder { transport, shared }
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
        self.transport.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut message = self.transport.receive().await?;
        match &mut message {
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::RootsListChangedNotification(_) =
                    notification.notification
                {
                    self.shared.roots_changed();
                }
            }
            JsonRpcMessage::Request(request) => {
                if let ClientRequest::CallToolRequest(call) = &request.request
                    && verbs::verb(&call.params.name).is_some_and(|verb| verb.effect.writes())
                {
                    let turn = Arc::new(self.shared.queue.stand());
                    request.request.extensions_mut().insert(turn);
                }
            }
            _ => {}
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}
