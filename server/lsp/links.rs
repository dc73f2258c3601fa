//! Document links: files, places and addresses of the web that a thread mentions. A file's target is inside the
//! workspace and there; no scheme but `file`, `http` and `https` is ever given.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::Url;

use super::{Params, Server, navigation, to_proto, uri_of};
use crate::present;
use crate::session::{Session, View};
use crate::threads::{self, Mention, Message};

/// Links of one document.
const MOST: usize = 2_000;

/// `textDocument/documentLink`.
pub(super) async fn document(
    server: Arc<Server>,
    params: Params,
    cancel: CancellationToken,
) -> Result<Value> {
    let params = params.unwrap_or_default();
    let uri = uri_of(&params)?;
    let session = server.session()?.clone();
    let Some(path) = server.fit(uri) else {
        return Ok(json!([]));
    };
    // Each file that is mentioned is looked for on disk.
    let looked = tokio::task::spawn_blocking(move || {
        let Ok(view) = session.view(&path) else {
            return Vec::new();
        };
        let document = to_proto::document(&view);
        let client = server.capabilities();
        let mut links = Vec::new();
        for message in view.threads.iter().flat_map(|thread| &thread.messages) {
            if cancel.is_cancelled() {
                break;
            }
            for link in of_message(&server, &session, &view, message) {
                let range = to_proto::range(document.range(&link.range, client.encoding));
                let mut value = json!({"range": range, "target": link.target});
                if let Some(value) = value.as_object_mut().filter(|_| client.link_tooltips) {
                    value.insert(String::from("tooltip"), json!(link.label));
                }
                links.push(value);
                if links.len() == MOST {
                    return links;
                }
            }
        }
        links
    });
    looked
        .await
        .map(Value::Array)
        .map_err(|_| Error::internal_error())
}

/// Something to go to.
pub(super) struct Link {
    /// Bytes in the text of the view.
    pub range: std::ops::Range<usize>,
    pub target: String,
    /// For people: cleaned.
    pub label: String,
}

pub(super) fn of_message(
    server: &Server,
    session: &Session,
    view: &View,
    message: &Message,
) -> Vec<Link> {
    let link = |(range, mention): (std::ops::Range<usize>, Mention)| {
        let (target, label) = match mention {
            Mention::Web(address) => (web(&address)?, address),
            Mention::At(path, place) => file(server, session, view, &path, place)?,
            Mention::Place(path, place) => file(server, session, view, &path, Some(place))?,
        };
        Some(Link {
            range,
            target,
            label: present::short(&label, 200),
        })
    };
    threads::mentions(&view.text, message)
        .into_iter()
        .filter_map(link)
        .collect()
}

/// An address as the standard writes it, where it is one.
fn web(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then(|| url.into())
}

/// Editors take the line from the fragment: `#L4,2`.
fn file(
    server: &Server,
    session: &Session,
    view: &View,
    named: &str,
    place: Option<(u32, u32)>,
) -> Option<(String, String)> {
    let path = navigation::file(session, view, named)?;
    let uri = to_proto::uri(server, &path);
    let name = session.relative(&path);
    Some(match place {
        None => (uri, name),
        Some((line, 1)) => (format!("{uri}#L{line}"), format!("{name}:{line}")),
        Some((line, column)) => (
            format!("{uri}#L{line},{column}"),
            format!("{name}:{line}:{column}"),
        ),
    })
}
