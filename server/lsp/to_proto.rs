//! From our names to the protocol's: URIs, ranges, diagnostics, errors.

use std::borrow::Cow;
use std::path::Path;

use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode};
use tower_lsp::lsp_types::{self, Url};

use super::Server;
use crate::present::{Diagnostic, Severity};
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

/// Text as it is, inside Markdown: nothing said in a file becomes a link or an image.
pub(super) fn fenced(text: &str) -> Value {
    json!({"kind": "markdown", "value": fence(text)})
}

pub(super) fn fence(text: &str) -> String {
    format!("```text\n{}\n```", text.replace("```", "` ` `"))
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

pub(super) fn diagnostic(
    document: &Document,
    uri: &str,
    diagnostic: &Diagnostic,
    encoding: Encoding,
    related: bool,
) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Information => 3,
        Severity::Hint => 4,
    };
    let mut value = json!({
        "range": range(document.range(&diagnostic.range, encoding)),
        "severity": severity,
        "code": diagnostic.code,
        "source": "postil",
        "message": diagnostic.message,
    });
    if let Some(value) = value.as_object_mut() {
        if let Some(id) = &diagnostic.thread_id {
            value.insert(String::from("data"), json!({"thread_id": id}));
        }
        if related && !diagnostic.related.is_empty() {
            let all: Vec<Value> = diagnostic
                .related
                .iter()
                .map(|(bytes, message)| json!({"location": {"uri": uri, "range": range(document.range(bytes, encoding))}, "message": message}))
                .collect();
            value.insert(String::from("relatedInformation"), Value::Array(all));
        }
    }
    value
}

/// A verb's refusal, with its stable code as data.
pub(super) fn error(error: &session::Error) -> Error {
    Error {
        code: ErrorCode::ServerError(REQUEST_FAILED),
        message: error.to_string().into(),
        data: Some(json!({"code": error.code()})),
    }
}
