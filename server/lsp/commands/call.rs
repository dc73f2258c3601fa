//! The argument of a command, read field by field, and what its answer is made of.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};

use crate::lsp::{Server, invalid, to_proto};
use crate::os;
use crate::session::{Session, TurnOptions};

/// Longest text that an argument may hold.
const LONGEST: usize = 1 << 20;
/// So long a command waits until what was told of the disk is looked at, which itself waits until git is at rest.
const LATE: Duration = Duration::from_secs(5);

/// One command with its argument.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) server: Arc<Server>,
    pub(super) session: Arc<Session>,
    pub(super) command: String,
    pub(super) argument: Map<String, Value>,
    /// The client does not wait for it any more. What is begun is carried out; nothing more is begun.
    pub(super) cancel: CancellationToken,
}

impl Call {
    /// A field that must be there.
    pub(super) fn need<T>(&self, name: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| invalid(format!("`{}` needs `{name}`", self.command)))
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&str>> {
        match self.argument.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.len() <= LONGEST => Ok(Some(text)),
            Some(Value::String(_)) => {
                Err(invalid(format!("`{name}` is longer than {LONGEST} bytes")))
            }
            Some(_) => Err(invalid(format!("`{name}` is to be a text"))),
        }
    }

    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<&str>>> {
        self.read(name, "a list of texts", |value| {
            value.as_array()?.iter().map(Value::as_str).collect()
        })
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<u64>> {
        self.read(name, "a whole number", Value::as_u64)
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.read(name, "true or false", Value::as_bool)
    }

    fn read<'a, T>(
        &'a self,
        name: &str,
        what: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        match self.argument.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read(value)
                .map(Some)
                .ok_or_else(|| invalid(format!("`{name}` is to be {what}"))),
        }
    }

    /// The file that `uri` or `path` names, if one does.
    pub(super) fn path(&self) -> Result<Option<PathBuf>> {
        if let Some(uri) = self.text("uri")? {
            let path = self
                .server
                .documents
                .path(uri)
                .ok_or_else(|| invalid(format!("`uri` is no file: {}", uri.escape_debug())))?;
            if self.server.documents.is_unfit(&path) {
                return Err(failed("lost track of this file: close and reopen it"));
            }
            if self.server.documents.is_held(&path) {
                return Err(failed(
                    "this file's newest changes have not come yet: try it again",
                ));
            }
            if self.server.is_apart(uri) {
                return Err(failed(
                    "this file is open under another name too, with another text: close one of the two",
                ));
            }
            return Ok(Some(path));
        }
        let Some(path) = self.text("path")? else {
            return Ok(None);
        };
        let root = self
            .session
            .workspaces()
            .first()
            .map(|workspace| workspace.root().to_owned());
        Ok(Some(os::resolved(&root.unwrap_or_default().join(path))))
    }

    /// A thread that was answered in a turn nobody here knows of may be one of a file that was renamed a moment ago: what
    /// was told of the disk before this command is looked at first.
    pub(super) async fn catch_up(&self) -> Result<()> {
        let (id, path) = (self.thread_id()?.to_owned(), self.path()?);
        let server = self.server.clone();
        blocking(&self.session, move |session| {
            if session.is_strange(&id, path.as_deref()) {
                server.watching.catch_up(LATE);
            }
            Ok(())
        })
        .await
    }

    pub(super) fn thread_id(&self) -> Result<&str> {
        self.need("thread_id", self.text("thread_id")?)
    }

    /// The run that is meant: by its id, or as the last of a thread, which `uri` tells from one of another folder.
    pub(super) fn run_or_thread(&self) -> Result<String> {
        if let Some(run) = self.text("run_id")? {
            return Ok(run.to_owned());
        }
        let thread = self.need("run_id` or `thread_id", self.text("thread_id")?)?;
        // Also of a file that was lost track of: what runs can be cancelled.
        let path = match self.text("uri")? {
            Some(uri) => self.server.documents.path(uri),
            None => self.path()?,
        };
        let Some(path) = path else {
            return Ok(thread.to_owned());
        };
        Ok(self.session.run_at(&path, thread)?.id)
    }

    pub(super) fn options(&self, plan: bool) -> Result<TurnOptions> {
        let budget = match self.argument.get("budget") {
            None | Some(Value::Null) => None,
            Some(value) => Some(
                value
                    .as_f64()
                    .filter(|budget| *budget >= 0.0)
                    .ok_or_else(|| invalid("`budget` is to be US dollars"))?,
            ),
        };
        Ok(TurnOptions {
            model: self.text("model")?.map(str::to_owned),
            plan,
            budget,
            ..TurnOptions::default()
        })
    }
}

pub(super) fn answer(value: &impl serde::Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|_| Error::internal_error())
}

pub(super) fn failed(message: impl Into<Cow<'static, str>>) -> Error {
    Error {
        code: ErrorCode::ServerError(to_proto::REQUEST_FAILED),
        message: message.into(),
        data: None,
    }
}

/// Work that reads files, off the threads that answer.
pub(super) async fn blocking<T: Send + 'static>(
    session: &Arc<Session>,
    work: impl FnOnce(&Session) -> Result<T> + Send + 'static,
) -> Result<T> {
    let session = session.clone();
    tokio::task::spawn_blocking(move || work(&session))
        .await
        .unwrap_or_else(|_| Err(Error::internal_error()))
}
