//! Inlay hints: behind the thread that a turn works on, what it is doing.

use std::sync::Arc;

use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::{Params, Server, from_proto, invalid, to_proto, uri_of};
use crate::present;
use crate::threads::Thread;

/// Characters of a hint; the tooltip has the rest.
const SHORT: usize = 60;
const LONG: usize = 400;

/// `textDocument/inlayHint`.
pub(super) fn of(server: &Arc<Server>, params: Params) -> Result<Value> {
    let params = params.unwrap_or_default();
    let session = server.session()?;
    let uri = uri_of(&params)?;
    let range = params
        .get("range")
        .and_then(from_proto::range)
        .ok_or_else(|| invalid("range is missing"))?;
    let Some(path) = server.fit(uri) else {
        return Ok(json!([]));
    };
    // Asked at every scroll: nothing is read where nothing runs.
    if session.running_turns().is_empty() {
        return Ok(json!([]));
    }
    let Ok(view) = session.view(&path) else {
        return Ok(json!([]));
    };
    let document = to_proto::document(&view);
    let encoding = server.capabilities().encoding;
    let hint = |thread: &Thread| {
        let turn = session.turn_of(&path, thread);
        let turn = turn.filter(|turn| turn.running)?;
        let end = thread.messages.last()?.range.end;
        let position = document.position(end, encoding);
        let inside = range.start.line <= position.line && position.line <= range.end.line;
        inside.then(|| {
            json!({
                "position": to_proto::position(position),
                "label": format!("⟳ {}", present::short(&turn.message, SHORT)),
                "paddingLeft": true,
                "tooltip": present::short(&turn.message, LONG),
            })
        })
    };
    Ok(view.threads.iter().filter_map(hint).collect())
}
