//! Asking a child: one exchange with its conversions, waits and its one retry; and the questions that
//! the engine itself has, with plain answers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, INDEXING_FACTOR, locked};
use super::edits::{self, FileEdits};
use super::positions::{self, Texts};
use super::{ChildError, Children, uri};
use crate::text::{Document, Encoding};

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    /// Bytes.
    pub range: std::ops::Range<usize>,
    /// 0-based.
    pub line: usize,
    /// 0-based, in bytes.
    pub column: usize,
    /// The line, without its end.
    pub text: String,
}

/// Between two askings of a child that may not know a new document yet.
const AGAIN: Duration = Duration::from_millis(250);

/// An answer, with what the child knew when it was asked.
pub struct Exchange {
    pub answer: Box<RawValue>,
    told: HashMap<PathBuf, Document>,
}

struct Asking<'a> {
    file: &'a Path,
    method: &'a str,
    params: Value,
    encoding: Encoding,
    /// The texts are needed afterwards.
    keep: bool,
    begun: Instant,
    timeout: Duration,
    cancel: &'a CancellationToken,
}

/// Asked again once where the child fell over the first time: nothing but reading.
fn only_reads(method: &str) -> bool {
    let name = method.strip_prefix("textDocument/").unwrap_or_default();
    matches!(
        name,
        "definition"
            | "declaration"
            | "typeDefinition"
            | "implementation"
            | "references"
            | "hover"
            | "documentSymbol"
            | "documentHighlight"
            | "rename"
            | "prepareRename"
            | "prepareCallHierarchy"
            | "prepareTypeHierarchy"
            | "diagnostic"
            | "signatureHelp"
            | "completion"
            | "foldingRange"
            | "selectionRange"
            | "inlayHint"
            | "moniker"
    ) || method.starts_with("callHierarchy/")
        || method.starts_with("typeHierarchy/")
        || method == "workspace/symbol"
        || method == "workspaceSymbol/resolve"
}

/// Half of the answer would be a wrong answer: asked when indexing is over.
fn needs_index(method: &str) -> bool {
    matches!(
        method,
        "textDocument/references"
            | "textDocument/rename"
            | "textDocument/implementation"
            | "workspace/symbol"
    ) || method.starts_with("callHierarchy/")
        || method.starts_with("typeHierarchy/")
}

fn is_empty(answer: &RawValue) -> bool {
    matches!(answer.get(), "null" | "[]")
}

impl Children {
    #[expect(clippy::too_many_arguments, reason = "those of `request`")]
    pub(super) async fn ask(
        &self,
        file: &Path,
        language: Option<&str>,
        method: &str,
        mut params: Value,
        encoding: Encoding,
        keep: bool,
        cancel: &CancellationToken,
    ) -> Result<Exchange, ChildError> {
        let timeout = Duration::from_secs(self.shared.limits().timeout.max(1));
        if super::read(&self.shared.forward).is_none()
            && let Some(params) = params.as_object_mut()
        {
            // Nobody would hear of the progress, nor of partial results.
            params.shift_remove("workDoneToken");
            params.shift_remove("partialResultToken");
        }
        let partial = params.get("partialResultToken").is_some();
        let asking = Asking {
            file,
            method,
            params,
            encoding,
            keep,
            begun: Instant::now(),
            timeout,
            cancel,
        };
        let mut again = only_reads(method) && !partial;
        loop {
            let child = tokio::select! {
                child = self.child_of(file, language) => child?,
                () = cancel.cancelled() => return Err(ChildError::Cancelled),
            };
            let answer = match child.connection(timeout, cancel).await {
                Ok(connection) => {
                    let answer = self.ask_once(&connection, &asking).await;
                    child.touch();
                    answer
                }
                // It was ended as unused in this very moment.
                Err(ChildError::Stopped(..))
                    if again && matches!(child.step(), super::Step::Stopped) =>
                {
                    again = false;
                    continue;
                }
                Err(error) => return Err(error),
            };
            match answer {
                Err(ChildError::Stopped(..)) if again => again = false,
                answer => return answer,
            }
        }
    }

    async fn ask_once(
        &self,
        connection: &Arc<Connection>,
        asking: &Asking<'_>,
    ) -> Result<Exchange, ChildError> {
        let Asking {
            file,
            method,
            encoding,
            cancel,
            timeout,
            ..
        } = *asking;
        if needs_index(method) {
            self.open(connection, file);
            settled(connection, asking).await?;
        }
        let mut last: Option<Box<RawValue>> = None;
        loop {
            self.open(connection, file);
            let child_counts = connection.manner().encoding;
            let convert = child_counts != encoding;
            let told = if convert || asking.keep {
                locked(&connection.documents).snapshot()
            } else {
                HashMap::new()
            };
            let scope = scope(&asking.params).unwrap_or_else(|| uri::from_path(file));
            let mut texts = Texts::new(told, Arc::clone(&self.shared.buffers));
            let answer = if convert {
                let mut params = asking.params.clone();
                positions::convert(&mut params, &scope, encoding, child_counts, &mut texts);
                connection.call(method, &params, timeout, cancel).await?
            } else {
                connection
                    .call(method, &asking.params, timeout, cancel)
                    .await?
            };
            if needs_index(method)
                && asking.params.get("partialResultToken").is_none()
                && locked(&connection.documents).is_young()
                && last.as_deref().map(RawValue::get) != Some(answer.get())
            {
                // Some take a document into their index after they have answered for it: asked until
                // two answers agree.
                last = Some(answer);
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => {}
                    () = cancel.cancelled() => return Err(ChildError::Cancelled),
                }
                continue;
            }
            if is_empty(&answer) && only_reads(method) && connection.activity.is_unsettled() {
                // «Nothing» from a child that is still indexing is no answer.
                settled(connection, asking).await?;
                continue;
            }
            let answer = if convert && !is_empty(&answer) {
                let mut value: Value =
                    serde_json::from_str(answer.get()).map_err(|e| unreadable(connection, &e))?;
                positions::convert(&mut value, &scope, child_counts, encoding, &mut texts);
                serde_json::value::to_raw_value(&value).map_err(|e| unreadable(connection, &e))?
            } else {
                answer
            };
            return Ok(Exchange {
                answer,
                told: texts.into_told(),
            });
        }
    }

    fn open(&self, connection: &Connection, file: &Path) {
        let language = self.shared.language_id(file, &connection.row.language);
        connection.sync(Some((file, &language)));
    }

    /// The URI by which children know this file.
    pub fn uri_of(&self, file: &Path) -> String {
        self.shared
            .buffers
            .get(file)
            .map_or_else(|| uri::from_path(file), |b| b.uri)
    }

    fn document(&self, file: &Path) -> Option<Document> {
        self.shared
            .buffers
            .get(file)
            .map(|b| b.document)
            .or_else(|| positions::from_disk(file).map(|(document, _)| document))
    }

    /// `textDocument` and `position` for a byte of the file's present text.
    pub fn at(&self, file: &Path, offset: usize) -> Value {
        let position = self
            .document(file)
            .map(|d| d.position(offset, Encoding::Utf8))
            .unwrap_or_default();
        json!({"textDocument": {"uri": self.uri_of(file)}, "position": positions::to_json(position)})
    }

    async fn places(
        &self,
        file: &Path,
        method: &str,
        params: Value,
        cancel: &CancellationToken,
    ) -> Result<Vec<Place>, ChildError> {
        let exchange = self.patiently(file, None, method, params, cancel).await?;
        let value = serde_json::from_str(exchange.answer.get()).unwrap_or(Value::Null);
        Ok(self.read_places(&value, exchange.told))
    }

    /// Asks, positions in UTF-8, and again where the child says that the content changed under it.
    async fn patiently(
        &self,
        file: &Path,
        language: Option<&str>,
        method: &str,
        params: Value,
        cancel: &CancellationToken,
    ) -> Result<Exchange, ChildError> {
        const CONTENT_MODIFIED: i64 = -32801;
        const SERVER_CANCELLED: i64 = -32802;
        let mut tries = 0;
        loop {
            let params = params.clone();
            let answer = self
                .ask(file, language, method, params, Encoding::Utf8, true, cancel)
                .await;
            match answer {
                Err(ChildError::Answered {
                    code: CONTENT_MODIFIED | SERVER_CANCELLED,
                    ..
                }) if tries < 5 => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(50 << tries)).await;
                }
                answer => return answer,
            }
        }
    }

    /// As [`Children::request`] in UTF-8, asked again where the content changed under it.
    pub async fn query(
        &self,
        file: &Path,
        language: Option<&str>,
        method: &str,
        params: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, ChildError> {
        let exchange = self
            .patiently(file, language, method, params, cancel)
            .await?;
        Ok(serde_json::from_str(exchange.answer.get()).unwrap_or(Value::Null))
    }

    /// Locations and links (counted in UTF-8) as places; what is no file is left out.
    pub fn to_places(&self, value: &Value) -> Vec<Place> {
        self.read_places(value, HashMap::new())
    }

    fn read_places(&self, value: &Value, told: HashMap<PathBuf, Document>) -> Vec<Place> {
        let mut texts = Texts::new(told, Arc::clone(&self.shared.buffers));
        let one = std::slice::from_ref(value);
        let items = value
            .as_array()
            .map_or(if value.is_object() { one } else { &[] }, Vec::as_slice);
        let mut places: Vec<Place> = Vec::new();
        for item in items {
            let link = item.get("targetUri").is_some();
            let (uri, range) = if link {
                ("targetUri", "targetSelectionRange")
            } else {
                ("uri", "range")
            };
            let Some(path) = item.get(uri).and_then(Value::as_str).and_then(uri::to_path) else {
                continue;
            };
            let place = match texts.of(&path) {
                Some(document) => {
                    let Some(range) = item
                        .get(range)
                        .and_then(|r| positions::bytes(r, document, Encoding::Utf8))
                    else {
                        continue;
                    };
                    place(path, document, range)
                }
                None => {
                    let start = item
                        .get(range)
                        .and_then(|r| positions::position(r.get("start")?))
                        .unwrap_or_default();
                    Place {
                        path,
                        range: 0..0,
                        line: start.line as usize,
                        column: start.character as usize,
                        text: String::new(),
                    }
                }
            };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Where the name at byte `offset` is defined.
    pub async fn definition(
        &self,
        file: &Path,
        offset: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<Place>, ChildError> {
        self.places(
            file,
            "textDocument/definition",
            self.at(file, offset),
            cancel,
        )
        .await
    }

    /// Where the name at byte `offset` is used, its declaration included.
    pub async fn references(
        &self,
        file: &Path,
        offset: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<Place>, ChildError> {
        let mut params = self.at(file, offset);
        if let Some(params) = params.as_object_mut() {
            params.insert(String::from("context"), json!({"includeDeclaration": true}));
        }
        self.places(file, "textDocument/references", params, cancel)
            .await
    }

    pub async fn implementation(
        &self,
        file: &Path,
        offset: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<Place>, ChildError> {
        self.places(
            file,
            "textDocument/implementation",
            self.at(file, offset),
            cancel,
        )
        .await
    }

    /// What is known of the name at byte `offset`, as Markdown or plain text.
    pub async fn hover(
        &self,
        file: &Path,
        offset: usize,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, ChildError> {
        let exchange = self
            .patiently(
                file,
                None,
                "textDocument/hover",
                self.at(file, offset),
                cancel,
            )
            .await?;
        let value: Value = serde_json::from_str(exchange.answer.get()).unwrap_or(Value::Null);
        let text = value.get("contents").map(marked).unwrap_or_default();
        Ok(Some(text.trim().to_string()).filter(|t| !t.is_empty()))
    }

    /// The edits that rename what stands at byte `offset`; nothing is changed yet.
    pub async fn rename(
        &self,
        file: &Path,
        offset: usize,
        new_name: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<FileEdits>, ChildError> {
        let mut params = self.at(file, offset);
        if let Some(params) = params.as_object_mut() {
            params.insert(String::from("newName"), Value::from(new_name));
        }
        let exchange = self
            .patiently(file, None, "textDocument/rename", params, cancel)
            .await?;
        let value: Value = serde_json::from_str(exchange.answer.get()).unwrap_or(Value::Null);
        edits::from_workspace_edit(&value, Encoding::Utf8, exchange.told, &self.shared.buffers)
            .map_err(|e| ChildError::Answered {
                code: -32803,
                message: e.to_string(),
                data: None,
            })
    }

    pub(super) async fn newest_diagnostics(
        &self,
        file: &Path,
        cancel: &CancellationToken,
    ) -> Result<(Vec<Value>, bool), ChildError> {
        let timeout = Duration::from_secs(self.shared.limits().timeout.max(1));
        let child = self.child_of(file, None).await?;
        let connection = child.connection(timeout, cancel).await?;
        self.open(&connection, file);
        let asking = Asking {
            file,
            method: "",
            params: Value::Null,
            encoding: Encoding::Utf8,
            keep: true,
            begun: Instant::now(),
            timeout,
            cancel,
        };
        settled(&connection, &asking).await?;
        let pulls = connection
            .capabilities
            .get()
            .and_then(|c| c.get("diagnosticProvider"))
            .is_some_and(|p| !p.is_null() && *p != Value::Bool(false));
        if pulls {
            let params = json!({"textDocument": {"uri": self.uri_of(file)}});
            let exchange = self
                .patiently(file, None, "textDocument/diagnostic", params, cancel)
                .await?;
            let report: Value = serde_json::from_str(exchange.answer.get()).unwrap_or(Value::Null);
            let mut items = report
                .get("items")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            if let Some((pushed, true)) = self.published(&connection, file) {
                items.extend(
                    pushed
                        .into_iter()
                        .filter(|p| !items.contains(p))
                        .collect::<Vec<_>>(),
                );
            }
            return Ok((items, true));
        }
        let mut publications = connection.publications.subscribe();
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            publications.borrow_and_update();
            let newest = self.published(&connection, file);
            if let Some((items, true)) = newest {
                return Ok((items, true));
            }
            tokio::select! {
                _ = publications.changed() => {}
                () = connection.ended() => return Err(connection.stopped()),
                () = cancel.cancelled() => return Err(ChildError::Cancelled),
                () = tokio::time::sleep_until(deadline) => {
                    return newest.ok_or_else(|| ChildError::TimedOut(connection.row.command.clone(), timeout.as_secs()));
                }
            }
        }
    }

    fn published(&self, connection: &Connection, file: &Path) -> Option<(Vec<Value>, bool)> {
        let (version, mut items) = {
            let published = locked(&connection.published);
            let newest = published.get(file)?;
            (
                newest.version,
                serde_json::from_str::<Value>(newest.items.get()).ok()?,
            )
        };
        let (fresh, told, encoding) = {
            let documents = locked(&connection.documents);
            (
                documents.is_of_present(file, version),
                documents.snapshot(),
                documents.manner().encoding,
            )
        };
        let mut texts = Texts::new(told, Arc::clone(&self.shared.buffers));
        positions::convert(
            &mut items,
            &uri::from_path(file),
            encoding,
            Encoding::Utf8,
            &mut texts,
        );
        Some((items.as_array()?.clone(), fresh))
    }
}

/// Waits until the child has its index; an error when that takes longer than a request may.
async fn settled(connection: &Connection, asking: &Asking<'_>) -> Result<(), ChildError> {
    let whole = asking.timeout * INDEXING_FACTOR;
    let rest = whole.saturating_sub(asking.begun.elapsed());
    tokio::select! {
        () = connection.activity.settled() => Ok(()),
        () = connection.ended() => Err(connection.stopped()),
        () = asking.cancel.cancelled() => Err(ChildError::Cancelled),
        () = tokio::time::sleep(rest) => Err(ChildError::Indexing(connection.row.command.clone(), whole.as_secs())),
    }
}

fn unreadable(connection: &Connection, error: &serde_json::Error) -> ChildError {
    ChildError::Stopped(
        connection.row.command.clone(),
        format!("its answer cannot be read: {error}"),
    )
}

/// The document that a request is about.
fn scope(params: &Value) -> Option<String> {
    let uri = params
        .pointer("/textDocument/uri")
        .or_else(|| params.pointer("/item/uri"));
    uri.and_then(Value::as_str).map(str::to_string)
}

fn place(path: PathBuf, document: &Document, range: std::ops::Range<usize>) -> Place {
    let start = document.position(range.start, Encoding::Utf8);
    let line = start.line as usize;
    let text = document
        .text()
        .get(document.line(line))
        .unwrap_or_default()
        .to_string();
    Place {
        path,
        range,
        line,
        column: start.character as usize,
        text,
    }
}

/// `MarkupContent`, `MarkedString`, or several of the latter.
pub fn marked(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .map(marked)
            .filter(|p| !p.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n"),
        Value::Object(object) => {
            let text = object
                .get("value")
                .and_then(Value::as_str)
                .unwrap_or_default();
            match object.get("language").and_then(Value::as_str) {
                Some(language) => format!("```{language}\n{text}\n```"),
                None => text.to_string(),
            }
        }
        _ => String::new(),
    }
}
