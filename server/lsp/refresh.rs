//! Telling the client to ask again, where it wants to be told: what is shown beside the text changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Server, conversation, margin};

/// A running turn reports often; it is drawn no oftener than this.
const EVERY: Duration = Duration::from_millis(250);

#[derive(Default)]
pub(super) struct Refresher {
    /// One is on its way: what happens until then is shown by it.
    due: AtomicBool,
}

/// Threads, or what is known of their turns, changed.
pub(super) fn all(server: &Arc<Server>) {
    beside(server);
    let client = server.capabilities();
    if client.tokens && client.tokens_refresh {
        ask(server, "workspace/semanticTokens/refresh", Value::Null);
    }
    if client.pull_diagnostics {
        ask(server, "workspace/diagnostic/refresh", Value::Null);
    }
}

/// A turn goes on: what shows its state.
pub(super) fn soon(server: &Arc<Server>) {
    if server.refresher.due.swap(true, Ordering::AcqRel) {
        return;
    }
    let server = server.clone();
    server.runtime.clone().spawn(async move {
        tokio::time::sleep(EVERY).await;
        server.refresher.due.store(false, Ordering::Release);
        beside(&server);
    });
}

fn beside(server: &Arc<Server>) {
    margin::turns(server);
    let client = server.capabilities();
    if client.lens_refresh {
        ask(server, "workspace/codeLens/refresh", Value::Null);
    }
    if client.inlay_hints && client.hint_refresh {
        ask(server, "workspace/inlayHint/refresh", Value::Null);
    }
    for uri in conversation::shown(server) {
        let params = json!({"uri": uri});
        ask(server, "workspace/textDocumentContent/refresh", params);
    }
}

fn ask(server: &Arc<Server>, method: &'static str, params: Value) {
    // Whoever asks again once it has shut the server down is refused.
    if !server.publisher.is_over() {
        server.client.ask(method, params, &server.runtime);
    }
}
