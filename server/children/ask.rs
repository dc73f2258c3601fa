//! Asking a child: one exchange with its conversions, waits and its one retry.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, INDEXING_FACTOR, locked};
use super::documents::Source;
use super::methods::{needs_index, only_reads};
use super::positions::{self, Texts};
use super::{ChildError, Children, read_answer, uri};
use crate::text::{Document, Encoding};

mod queries;

pub use queries::{Place, marked};

/// A child that closed its pipes is gone in this time.
const ENDING: Duration = Duration::from_millis(500);
/// Between two askings of a child that may not know a new document yet.
const AGAIN: Duration = Duration::from_millis(250);

const RENAME: &str = "textDocument/rename";

/// What is asked about.
#[derive(Clone, Copy)]
pub struct About<'a> {
    file: &'a Path,
    /// The state of its text that the question's position counts in. Another one has another symbol there.
    text: Option<Source>,
}

impl<'a> About<'a> {
    /// A place in what was open as this [`crate::files::Buffer::generation`].
    pub fn text(file: &'a Path, generation: Option<u64>) -> Self {
        Self {
            file,
            text: generation.map(Source::Buffer),
        }
    }
}

impl<'a> From<&'a Path> for About<'a> {
    fn from(file: &'a Path) -> Self {
        Self { file, text: None }
    }
}

impl<'a> From<&'a PathBuf> for About<'a> {
    fn from(file: &'a PathBuf) -> Self {
        file.as_path().into()
    }
}

/// An answer, with what the child knew when it was asked.
pub struct Exchange {
    pub answer: Box<RawValue>,
    told: HashMap<PathBuf, Document>,
}

struct Asking<'a> {
    file: &'a Path,
    text: Option<Source>,
    method: &'a str,
    params: Value,
    encoding: Encoding,
    /// The engine itself asks: the texts are needed afterwards.
    keep: bool,
    begun: Instant,
    timeout: Duration,
    cancel: &'a CancellationToken,
}

fn is_empty(answer: &RawValue) -> bool {
    matches!(answer.get(), "null" | "[]")
}

impl Children {
    #[expect(clippy::too_many_arguments, reason = "those of `request`")]
    pub(super) async fn ask(
        &self,
        about: About<'_>,
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
        let led_as = self.led_as(about.file);
        let file = led_as.as_deref().unwrap_or(about.file);
        // A child knows each file by one name; the editor may have reached it over a link.
        for name in ["/textDocument/uri", "/item/uri"] {
            if let Some(uri) = params.pointer_mut(name) {
                *uri = Value::from(uri::from_path(file));
            }
        }
        let partial = params.get("partialResultToken").is_some();
        let mut asking = Asking {
            file,
            // By that name it is shown what is on disk, whatever the editor has.
            text: about.text.filter(|_| led_as.is_none()),
            method,
            params,
            encoding,
            keep,
            begun: Instant::now(),
            timeout,
            cancel,
        };
        // The engine waits as for an index. An editor has other answers for a person who waits.
        let start = match keep {
            true => timeout * INDEXING_FACTOR,
            false => timeout,
        };
        let mut again = only_reads(method) && !partial;
        loop {
            let child = tokio::select! {
                child = self.child_of(file, language) => child?,
                () = cancel.cancelled() => return Err(ChildError::Cancelled),
            };
            let answer = match child.connection(start, cancel).await {
                Ok(connection) => {
                    // What its start took is not taken from its index.
                    asking.begun = Instant::now();
                    let answer = self.ask_once(&connection, &asking).await;
                    child.touch();
                    if let Ok(exchange) = &answer {
                        self.note_led(&child, method, &exchange.answer);
                    }
                    if again && matches!(answer, Err(ChildError::Stopped(..))) {
                        // Its pipe breaks a moment before its end is known: the next one is asked, not it again.
                        tokio::select! {
                            () = connection.ended() => {}
                            () = tokio::time::sleep(ENDING) => {}
                            () = cancel.cancelled() => return Err(ChildError::Cancelled),
                        }
                    }
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
                Err(ChildError::Stopped(..)) if again => {
                    again = false;
                    if let Some(params) = asking.params.as_object_mut() {
                        params.shift_remove("workDoneToken");
                    }
                }
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
            text,
            method,
            encoding,
            cancel,
            timeout,
            ..
        } = *asking;
        let text = text.map(|state| (file, state));
        if needs_index(method) {
            self.open(connection, file);
            settled(connection, asking).await?;
        }
        let mut last: Option<Box<RawValue>> = None;
        let mut params = Cow::Borrowed(&asking.params);
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
            // Its pieces would reach the editor counted as the child counts: such an answer comes whole.
            let partial = !convert && asking.params.get("partialResultToken").is_some();
            let answer = if convert {
                let mut params = params.as_ref().clone();
                if let Some(params) = params.as_object_mut() {
                    params.shift_remove("partialResultToken");
                }
                positions::convert(&mut params, &scope, encoding, child_counts, &mut texts);
                connection
                    .call_in(text, method, &params, timeout, cancel)
                    .await?
            } else {
                connection
                    .call_in(text, method, &params, timeout, cancel)
                    .await?
            };
            // The editor's progress of a question begins once, and ends once.
            if params.get("workDoneToken").is_some()
                && let Some(params) = params.to_mut().as_object_mut()
            {
                params.shift_remove("workDoneToken");
            }
            if method == RENAME
                && let Some((_, Source::Buffer(generation))) = text
                && self.shared.buffers.generation(file) != Some(generation)
            {
                // Not every edit names the version that it is for.
                return Err(ChildError::modified());
            }
            if needs_index(method)
                && !partial
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
            if is_empty(&answer)
                && !partial
                && only_reads(method)
                && connection.activity.is_unsettled()
            {
                // «Nothing» from a child that is still indexing is no answer.
                settled(connection, asking).await?;
                continue;
            }
            let answer = if convert && !is_empty(&answer) {
                let mut value = read_answer(method, &answer)?;
                positions::convert(&mut value, &scope, child_counts, encoding, &mut texts);
                serde_json::value::to_raw_value(&value)
                    .map_err(|error| ChildError::Unreadable(method.to_owned(), error.to_string()))?
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

    /// A file's text as it is now.
    fn present(&self, file: &Path) -> Option<(Document, Source)> {
        let open = self.shared.buffers.get(file);
        open.map(|b| (b.document, Source::Buffer(b.generation)))
            .or_else(|| {
                let (document, stamp) = positions::from_disk(file)?;
                Some((document, Source::Disk(stamp)))
            })
    }

    /// The newest diagnostics of `file`, raw but with positions in UTF-8, and whether they belong to the
    /// text as it is now.
    pub async fn diagnostics(
        &self,
        file: &Path,
        cancel: &CancellationToken,
    ) -> Result<(Vec<Value>, bool), ChildError> {
        let timeout = Duration::from_secs(self.shared.limits().timeout.max(1));
        let child = self.child_of(file, None).await?;
        let start = timeout * INDEXING_FACTOR;
        let connection = child.connection(start, cancel).await?;
        self.open(&connection, file);
        let asking = Asking {
            file,
            text: None,
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
            let params = json!({"textDocument": {"uri": uri::from_path(file)}});
            let exchange = self
                .patiently(file, None, "textDocument/diagnostic", params, None, cancel)
                .await?;
            let report = read_answer("textDocument/diagnostic", &exchange.answer)?;
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
            let late = late(&connection, file);
            if let Some((items, true)) = &newest
                && late.is_none()
            {
                return Ok((items.clone(), true));
            }
            tokio::select! {
                _ = publications.changed() => {}
                () = tokio::time::sleep(late.unwrap_or_default()), if late.is_some() => {}
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

/// How long the newest diagnostics of a file may be followed by those of its present text.
fn late(connection: &Connection, file: &Path) -> Option<Duration> {
    let is_named = locked(&connection.published)
        .get(file)
        .is_none_or(|newest| newest.is_named);
    if is_named {
        return None;
    }
    locked(&connection.documents).may_be_of_past(file)
}

/// Waits until the child has its index; an error when that takes longer than a request may.
async fn settled(connection: &Connection, asking: &Asking<'_>) -> Result<(), ChildError> {
    let whole = asking.timeout * INDEXING_FACTOR;
    let rest = whole.saturating_sub(asking.begun.elapsed());
    tokio::select! {
        () = connection.activity.settled(needs_index(asking.method)) => Ok(()),
        () = connection.ended() => Err(connection.stopped()),
        () = asking.cancel.cancelled() => Err(ChildError::Cancelled),
        () = tokio::time::sleep(rest) => {
            connection.activity.give_up();
            Err(ChildError::Indexing(connection.row.command.clone(), whole.as_secs()))
        }
    }
}

/// The document that a request is about.
fn scope(params: &Value) -> Option<String> {
    let uri = params
        .pointer("/textDocument/uri")
        .or_else(|| params.pointer("/item/uri"));
    uri.and_then(Value::as_str).map(str::to_string)
}
