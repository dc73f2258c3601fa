//! From our names to the protocol's: URIs, ranges, diagnostics, errors.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode};
use tower_lsp::lsp_types::{self, Url};

use super::Server;
use crate::present::{self, Diagnostic, Severity};
use crate::session::{self, View};
use crate::text::{Document, Encoding, Position, Range};

/// LSP 3.17 §ErrorCodes: a request that failed, and not for a defect here.
pub(super) const REQUEST_FAILED: i64 = -32803;

pub(super) fn position(position: Position) -> Value {
    json!({"line": position.line, "character": position.character})
}

pub(super) fn range(range: Range) -> Value {
    json!({"start": position(range.start), "end": position(range.end)})
}

pub(super) fn typed_range(range: Range) -> lsp_types::Range {
    let position = |position: Position| lsp_types::Position {
        line: position.line,
        character: position.character,
    };
    lsp_types::Range {
        start: position(range.start),
        end: position(range.end),
    }
}

/// The URI of a file: as the editor sent it where it is open, else below the folder as the editor names it.
pub(super) fn uri(server: &Server, path: &Path) -> String {
    if let Some(uri) = server.documents.uri(path) {
        return uri;
    }
    let path = match server.documents.as_the_client_names_it(path) {
        Some(named) => Cow::Owned(named),
        None => Cow::Borrowed(path),
    };
    Url::from_file_path(&path)
        .map(String::from)
        .unwrap_or_default()
}

/// The text of a view as a document, for positions.
pub(super) fn document(view: &View) -> Document {
    view.buffer.as_ref().map_or_else(
        || Document::new(&view.text, 0),
        |buffer| buffer.document.clone(),
    )
}

pub(super) fn fenced(text: &str) -> Value {
    json!({"kind": "markdown", "value": present::fence(text)})
}

/// A `WorkspaceEdit` of one file, for the version that it was made for where the client can tell.
pub(super) fn workspace_edit(
    server: &Server,
    uri: &str,
    version: Option<i32>,
    edits: &[Value],
) -> Value {
    if server.capabilities().document_changes {
        json!({"documentChanges": [{"textDocument": {"uri": uri, "version": version}, "edits": edits}]})
    } else {
        json!({"changes": {uri: edits}})
    }
}

/// A `Diagnostic` (LSP 3.17 §Diagnostic), written out: a file may have hundreds of them, made anew for each key.
pub(super) fn diagnostic(
    document: &Document,
    uri: &str,
    diagnostic: &Diagnostic,
    encoding: Encoding,
    related: bool,
) -> Box<RawValue> {
    let severity = match diagnostic.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Information => 3,
        Severity::Hint => 4,
    };
    let range = |bytes| typed_range(document.range(bytes, encoding));
    let related = related.then_some(diagnostic.related.as_slice());
    let related: Vec<Related> = related
        .unwrap_or_default()
        .iter()
        .map(|(bytes, message)| Related {
            location: Location {
                uri,
                range: range(bytes),
            },
            message,
        })
        .collect();
    let data = diagnostic.thread_id.as_deref();
    written(&Written {
        range: range(&diagnostic.range),
        severity,
        code: diagnostic.code,
        source: "postil",
        message: &diagnostic.message,
        data: data.map(|thread_id| Data { thread_id }),
        related,
    })
}

/// A wrong setting at its place.
pub(super) fn problem(range: Range, message: &str) -> Box<RawValue> {
    written(&Written {
        range: typed_range(range),
        severity: 2,
        code: "setting",
        source: "postil",
        message,
        data: None,
        related: Vec::new(),
    })
}

#[derive(Serialize)]
struct Written<'a> {
    range: lsp_types::Range,
    severity: u8,
    code: &'a str,
    source: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Data<'a>>,
    #[serde(rename = "relatedInformation", skip_serializing_if = "Vec::is_empty")]
    related: Vec<Related<'a>>,
}

#[derive(Serialize)]
struct Data<'a> {
    thread_id: &'a str,
}

#[derive(Serialize)]
struct Related<'a> {
    location: Location<'a>,
    message: &'a str,
}

#[derive(Serialize)]
struct Location<'a> {
    uri: &'a str,
    range: lsp_types::Range,
}

fn written(diagnostic: &Written) -> Box<RawValue> {
    // Strings and numbers alone: it cannot fail.
    to_raw_value(diagnostic).unwrap_or_default()
}

/// A verb's refusal, with its stable code as data.
pub(super) fn error(error: &session::Error) -> Error {
    Error {
        code: ErrorCode::ServerError(REQUEST_FAILED),
        message: error.to_string().into(),
        data: Some(json!({"code": error.code()})),
    }
}
