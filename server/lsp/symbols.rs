//! Threads in the outline, in the list of the workspace's symbols, and folded. With `proxy.mode = "always"` the
//! code's own symbols come along.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{FoldingRange, FoldingRangeKind, FoldingRangeParams};

use super::{Params, Server, invalid, navigation, to_proto};
use crate::config::ProxyMode;
use crate::present;
use crate::session::View;
use crate::text::Encoding;
use crate::threads::Thread;

/// `SymbolKind.Event`: editors have a sign for it, and no language server uses it for code.
const KIND: u32 = 24;
/// Symbols of the workspace that are listed.
const MOST: usize = 500;

fn range(view: &View, thread: &Thread, encoding: Encoding) -> Value {
    let bytes = thread
        .messages
        .first()
        .map_or(0, |first| first.marker.start)
        ..thread
            .messages
            .last()
            .map_or(0, |last| last.range.end.max(last.marker.end));
    to_proto::range(to_proto::document(view).range(&bytes, encoding))
}

pub(super) async fn document(
    server: Arc<Server>,
    params: Params,
    cancel: CancellationToken,
) -> Result<Value> {
    let params = params.unwrap_or_default();
    let session = server.session()?;
    let uri = params
        .pointer("/textDocument/uri")
        .and_then(Value::as_str)
        .ok_or_else(|| invalid("textDocument.uri is missing"))?
        .to_owned();
    let Some(path) = server
        .documents
        .path(&uri)
        .filter(|path| !server.documents.is_unfit(path))
    else {
        return Ok(json!([]));
    };
    let Ok(view) = session.view(&path) else {
        return Ok(json!([]));
    };
    let client = server.capabilities();
    let mut theirs = Vec::new();
    if session
        .workspace_of(&path)
        .is_some_and(|workspace| workspace.loaded().settings.proxy_mode == ProxyMode::Always)
        && let Ok(Value::Array(list)) = session
            .children
            .request(
                &path,
                None,
                "textDocument/documentSymbol",
                params,
                client.encoding,
                &cancel,
            )
            .await
    {
        theirs = list;
    }
    // One answer has one form: the child's, where it has symbols.
    let tree = theirs.first().map_or(client.symbol_tree, |symbol| {
        symbol.get("selectionRange").is_some()
    });
    for thread in view.threads.iter() {
        let range = range(&view, thread, client.encoding);
        let name = present::title(thread);
        theirs.push(if tree {
            json!({"name": name, "detail": present::state(thread), "kind": KIND, "range": range, "selectionRange": range})
        } else {
            json!({"name": name, "kind": KIND, "containerName": present::state(thread), "location": {"uri": uri, "range": range}})
        });
    }
    Ok(Value::Array(theirs))
}

pub(super) async fn workspace(
    server: Arc<Server>,
    params: Params,
    cancel: CancellationToken,
) -> Result<Value> {
    let params = params.unwrap_or_default();
    let query = params
        .get("query")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_lowercase();
    let asked = server.clone();
    let own = tokio::task::spawn_blocking(move || {
        let session = asked.session()?;
        let encoding = asked.capabilities().encoding;
        let mut all = Vec::new();
        for path in session.files_with_threads() {
            let Ok(view) = session.view(&path) else {
                continue;
            };
            for thread in view.threads.iter() {
                let name = present::title(thread);
                if matches(&query, &name.to_lowercase()) {
                    let location = json!({"uri": to_proto::uri(&asked, &path), "range": range(&view, thread, encoding)});
                    all.push(json!({"name": name, "kind": KIND, "containerName": session.relative(&path), "location": location}));
                }
            }
            if all.len() >= MOST {
                break;
            }
        }
        Ok(all)
    });
    let mut all = own.await.unwrap_or_else(|_| Err(Error::internal_error()))?;
    let session = server.session()?;
    if navigation::proxies(session) {
        // The child of whatever is open: which language is meant, nobody says.
        for path in session.buffers.paths().into_iter().take(1) {
            let encoding = server.capabilities().encoding;
            if let Ok(Value::Array(theirs)) = session
                .children
                .request(
                    &path,
                    None,
                    "workspace/symbol",
                    params.clone(),
                    encoding,
                    &cancel,
                )
                .await
            {
                all.extend(theirs);
            }
        }
    }
    Ok(Value::Array(all))
}

/// Whether the letters of `query` stand in `name` in their order, as LSP 3.17 §workspace/symbol asks for.
fn matches(query: &str, name: &str) -> bool {
    let mut letters = name.chars();
    query
        .chars()
        .filter(|c| !c.is_whitespace())
        .all(|wanted| letters.any(|c| c == wanted))
}

pub(super) fn folds(server: &Server, params: &FoldingRangeParams) -> Result<Vec<FoldingRange>> {
    let session = server.session()?;
    let uri = params.text_document.uri.as_str();
    let Some(path) = server
        .documents
        .path(uri)
        .filter(|path| !server.documents.is_unfit(path))
    else {
        return Ok(Vec::new());
    };
    let Ok(view) = session.view(&path) else {
        return Ok(Vec::new());
    };
    let line = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    let fold = |thread: &Thread| FoldingRange {
        start_line: line(thread.first_line()),
        end_line: line(thread.last_line()),
        kind: Some(FoldingRangeKind::Comment),
        ..FoldingRange::default()
    };
    Ok(view
        .threads
        .iter()
        .filter(|thread| thread.last_line() > thread.first_line())
        .map(fold)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_query_is_letters_in_order() {
        assert!(matches("", "anything"));
        assert!(matches("rnm", "rename it"));
        assert!(matches("rename it", "rename it"));
        assert!(!matches("mnr", "rename it"));
    }
}
