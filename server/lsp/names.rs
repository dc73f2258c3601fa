//! The names of files in what a child server says. Children know each file by the path that links lead to; an editor
//! may have opened it, or its folder, by another, and would open a file under its real name once more.

use std::collections::HashMap;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use tower_lsp::lsp_types::Url;

use super::Server;
use crate::children::uri;

/// Every URI in `said` becomes the editor's own.
pub(super) fn to_client(server: &Server, said: &mut Value) {
    if server.documents.has_other_names() {
        Names::of(server).value(said);
    }
}

/// The same with what is passed on as text, which is not read where all names are the same.
pub(super) fn raw_to_client(server: &Server, said: Box<RawValue>) -> Box<RawValue> {
    if !server.documents.has_other_names() {
        return said;
    }
    let Ok(mut value) = serde_json::from_str(said.get()) else {
        return said;
    };
    Names::of(server).value(&mut value);
    to_raw_value(&value).unwrap_or(said)
}

/// The same with a `WorkspaceEdit`. A child counts versions of files too that are open here alone, and an editor would
/// refuse those: it has none.
pub(super) fn edit_to_client(server: &Server, edit: &mut Value) {
    let changes = edit
        .get_mut("documentChanges")
        .and_then(Value::as_array_mut);
    let documents = changes.into_iter().flatten();
    for document in documents.filter_map(|change| change.get_mut("textDocument")) {
        let path = document
            .get("uri")
            .and_then(Value::as_str)
            .and_then(uri::to_file);
        if path.is_some_and(|path| server.documents.uri(&path).is_none())
            && let Some(version) = document.get_mut("version")
        {
            *version = Value::Null;
        }
    }
    to_client(server, edit);
}

struct Names<'a> {
    server: &'a Server,
    /// What was looked for, and the name where there is another.
    known: HashMap<String, Option<String>>,
}

impl<'a> Names<'a> {
    fn of(server: &'a Server) -> Self {
        let known = HashMap::new();
        Self { server, known }
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(object) => self.object(object),
            _ => {}
        }
    }

    fn object(&mut self, object: &mut Map<String, Value>) {
        for (key, value) in object.iter_mut() {
            match (key.as_str(), value) {
                // Opaque to everyone but the server that made it.
                ("data" | "arguments", _) => {}
                ("uri" | "targetUri" | "oldUri" | "newUri", Value::String(uri)) => {
                    if let Some(other) = self.other(uri) {
                        *uri = other;
                    }
                }
                ("changes", Value::Object(changes)) => {
                    for (uri, edits) in std::mem::take(changes) {
                        let uri = self.other(&uri).unwrap_or(uri);
                        changes.insert(uri, edits);
                    }
                }
                (_, value) => self.value(value),
            }
        }
    }

    /// The editor's name of a file where it is another than the child's.
    fn other(&mut self, uri: &str) -> Option<String> {
        if let Some(known) = self.known.get(uri) {
            return known.clone();
        }
        let found = self.look_for(uri).filter(|other| other != uri);
        self.known.insert(uri.to_owned(), found.clone());
        found
    }

    fn look_for(&self, uri: &str) -> Option<String> {
        let documents = &self.server.documents;
        let path = uri::to_file(uri)?;
        documents.uri(&path).or_else(|| {
            let named = documents.as_the_client_names_it(&path)?;
            let differs = named != path;
            differs.then(|| Url::from_file_path(named).map(String::from).ok())?
        })
    }
}
