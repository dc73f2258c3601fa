//! A conversation as a document to read: a run's rounds in a read-only temporary file, below a folder that is
//! the user's alone and goes with the process.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::Url;

use super::{Server, to_proto};
use crate::present;
use crate::store::{Format, Run};

/// Characters of a conversation that are shown; the rest is left to `postil workflow thread`.
const MOST: usize = 400_000;

/// Where the documents lie; made at first need.
#[derive(Default)]
pub(super) struct Scratch(Mutex<Option<tempfile::TempDir>>);

impl Scratch {
    /// Writes a read-only file and gives its URI.
    fn write(&self, name: &str, text: &str) -> std::io::Result<String> {
        let mut folder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match folder.as_ref() {
            Some(folder) => folder,
            None => folder.insert(tempfile::Builder::new().prefix("postil-").tempdir()?),
        };
        let path = folder.path().join(name);
        // An earlier one is read-only: it is replaced, not written.
        if path.exists() {
            std::fs::remove_file(&path)?;
        }
        write_private(&path, text)?;
        Url::from_file_path(&path)
            .map(String::from)
            .map_err(|()| std::io::ErrorKind::InvalidFilename.into())
    }

    /// Takes the documents away.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(true);
    file.set_permissions(permissions)
}

/// Shows the run that `id` (of a run or a thread) names; its URI.
pub(super) async fn open(server: &Server, id: &str) -> Result<Value> {
    let (workspace, run) = server
        .session()?
        .run_of(id)
        .map_err(|error| to_proto::error(&error))?;
    let store = workspace.store().map_err(|error| to_proto::error(&error))?;
    let page = store
        .page(&run.id, None, MOST, Format::Text)
        .map_err(|error| to_proto::error(&error.into()))?;
    let text = format!("{}{}", heading(&run), present::visible(&page.text));
    let uri = server
        .scratch
        .write(&format!("conversation-{}.md", run.id), &text)
        .map_err(|error| {
            tracing::warn!("the conversation could not be written: {error}");
            Error::internal_error()
        })?;
    if server.capabilities().show_document {
        let params = json!({"uri": uri, "takeFocus": true});
        server
            .client
            .ask("window/showDocument", params, &server.runtime);
    }
    Ok(json!({"success": true, "run_id": run.id, "uri": uri}))
}

fn heading(run: &Run) -> String {
    let mut facts = vec![
        run.status.name().to_owned(),
        run.model.clone(),
        format!("{} rounds", run.rounds),
    ];
    if run.tokens > 0 {
        facts.push(format!("{} tokens", run.tokens));
    }
    if run.cost > 0.0 {
        facts.push(format!("${:.4}", run.cost));
    }
    facts.extend(run.error.as_deref().map(present::visible));
    format!(
        "# Thread {} in {}\n\nRun {}: {}\n\n",
        run.thread_id,
        present::visible(&run.file),
        run.id,
        facts.join(" · ")
    )
}
