//! From our names to the protocol's: URIs, ranges, diagnostics, errors.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode};
use tower_lsp::lsp_types::{self, Url};

use super::Server;
pub(super) use crate::children::positions::to_json as position;
use crate::config::Problem;
use crate::present::{self, Diagnostic, Severity};
use crate::session::{self, View};
use crate::store::StoreError;
use crate::text::{Document, Places, Position, Range};

/// LSP 3.17 §ErrorCodes: a request that failed, and not for a defect here.
pub(super) const REQUEST_FAILED: i64 = -32803;

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

/// `Diagnostic`s of one file (LSP 3.17 §Diagnostic), each written when it is added: a file may have hundreds of them, and
/// most are the same after each key.
pub(super) struct Diagnostics {
    /// That of the file, as JSON: it stands in each message of each thread.
    uri: Box<RawValue>,
    list: Vec<Arc<RawValue>>,
}

impl Diagnostics {
    pub fn new(uri: &str) -> Self {
        Self {
            // A string: it cannot fail.
            uri: to_raw_value(uri).unwrap_or_default(),
            list: Vec::new(),
        }
    }

    /// As JSON.
    pub fn uri(&self) -> &str {
        self.uri.get()
    }

    /// `related`: the client shows what else belongs to a diagnostic.
    pub fn push(&mut self, places: &mut Places<'_>, diagnostic: &Diagnostic, related: bool) {
        let others = match related {
            true => &*diagnostic.related,
            false => &[],
        };
        // In the order of the text, as places are found fastest: a diagnostic stands at its last message.
        let others: Vec<_> = others
            .iter()
            .map(|(bytes, message)| Information {
                location: Location {
                    uri: &self.uri,
                    range: typed_range(places.range(bytes)),
                },
                message,
            })
            .collect();
        let written = to_raw_value(&Written {
            range: typed_range(places.range(&diagnostic.range)),
            severity: match diagnostic.severity {
                Severity::Error => 1,
                Severity::Warning => 2,
                Severity::Information => 3,
                Severity::Hint => 4,
            },
            code: diagnostic.code,
            source: "postil",
            message: &diagnostic.message,
            data: diagnostic
                .thread_id
                .as_deref()
                .map(|thread_id| Data { thread_id }),
            related: &others,
        });
        // Strings and numbers alone: it cannot fail.
        self.list.push(Arc::from(written.unwrap_or_default()));
    }

    /// One that was written before, and is still so.
    pub fn push_again(&mut self, written: Arc<RawValue>) {
        self.list.push(written);
    }

    /// A wrong setting at its place.
    pub fn push_problem(&mut self, places: &mut Places<'_>, problem: &Problem) {
        let diagnostic = Diagnostic {
            range: problem.range.clone(),
            severity: Severity::Warning,
            code: "setting",
            message: present::visible(&problem.message),
            thread_id: None,
            related: Vec::new(),
        };
        self.push(places, &diagnostic, false);
    }

    /// The newest one.
    pub fn last(&self) -> Option<&Arc<RawValue>> {
        self.list.last()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn clear(&mut self) {
        self.list.clear();
    }
}

impl Serialize for Diagnostics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.list.iter().map(|written| &**written))
    }
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
    #[serde(
        rename = "relatedInformation",
        skip_serializing_if = "<[Information<'_>]>::is_empty"
    )]
    related: &'a [Information<'a>],
}

#[derive(Serialize)]
struct Data<'a> {
    thread_id: &'a str,
}

/// `DiagnosticRelatedInformation`.
#[derive(Serialize)]
struct Information<'a> {
    location: Location<'a>,
    message: &'a str,
}

#[derive(Serialize)]
struct Location<'a> {
    uri: &'a RawValue,
    range: lsp_types::Range,
}

/// A verb's refusal, with its stable code as data. What names a command of the shell elsewhere does not here.
impl From<session::Error> for Error {
    fn from(error: session::Error) -> Self {
        let message = match &error {
            session::Error::UnknownThread(id) => {
                format!("there is no thread `{id}`, or none any more; nothing was done")
            }
            session::Error::Store(StoreError::UnknownRun(run)) => {
                format!("the history has no run `{run}`, or none any more")
            }
            error => error.to_string(),
        };
        Self {
            code: ErrorCode::ServerError(REQUEST_FAILED),
            message: message.into(),
            data: Some(json!({"code": error.code()})),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        session::Error::from(error).into()
    }
}
