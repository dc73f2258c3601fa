//! One window of the client: its workspace, what was said in it, and the turn that runs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{ClientCapabilities, ContentBlock, StopReason};
use agent_client_protocol::{Client, Error};

use super::host::Editor;
use super::wire;
use crate::config::Folders;
use crate::session::{Session, TurnOptions};
use crate::store::Window;
use crate::threads::Role;

/// Messages of a window that a new turn is told of.
const REMEMBERED: usize = 40;

pub(super) struct Chat {
    id: String,
    engine: Arc<Session>,
    host: Arc<Editor>,
    said: Mutex<Vec<(Role, String)>>,
    plan: AtomicBool,
    /// The run of the turn that goes on.
    running: Mutex<Option<String>>,
    cancelled: AtomicBool,
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::new(-32603, error.to_string())
}

impl Chat {
    pub(super) fn open(
        id: &str,
        root: &Path,
        folders: Folders,
        connection: ConnectionTo<Client>,
        client: &ClientCapabilities,
    ) -> Result<Arc<Self>, Error> {
        let files = client.fs.read_text_file && client.fs.write_text_file;
        let host = Arc::new(Editor::new(id, root, connection, files));
        let engine =
            Session::new(vec![root.to_owned()], None, host.clone(), folders).map_err(failed)?;
        host.serve(&engine);
        Ok(Arc::new(Self {
            id: id.to_owned(),
            engine,
            host,
            said: Mutex::default(),
            plan: AtomicBool::new(false),
            running: Mutex::default(),
            cancelled: AtomicBool::new(false),
        }))
    }

    /// Goes on with what was said in the window by another process; `aloud`: the client is told, too.
    pub(super) fn recall(&self, aloud: bool) -> Result<(), Error> {
        let mut said = self.said();
        if said.is_empty() {
            *said = self.engine.said_in(&self.id).map_err(failed)?;
        }
        if said.is_empty() {
            return Err(Error::new(
                -32002,
                format!("there is no session {} in this folder", self.id),
            ));
        }
        if aloud {
            self.host.replay(&said);
        }
        Ok(())
    }

    /// The windows of the folder.
    pub(super) fn windows(&self) -> Result<Vec<Window>, Error> {
        self.engine.windows().map_err(failed)
    }

    /// What was said last becomes part of the window.
    fn keep(&self, run: &str, role: Role, text: &str) {
        if let Err(error) = self.engine.keep_said(run, &self.id, role, text) {
            tracing::warn!(%error, "the window cannot be opened again as it is");
        }
        self.said().push((role, text.to_owned()));
    }

    pub(super) fn is_plan(&self) -> bool {
        self.plan.load(Ordering::Relaxed)
    }

    pub(super) fn plan(&self, plan: bool) {
        self.plan.store(plan, Ordering::Relaxed);
    }

    fn said(&self) -> MutexGuard<'_, Vec<(Role, String)>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, Option<String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One turn: the thread that the prompt names, else a question of this window.
    pub(super) async fn prompt(&self, blocks: Vec<ContentBlock>) -> Result<StopReason, Error> {
        if self.running().is_some() {
            return Err(Error::new(
                -32600,
                "a turn of this session runs already: cancel it, or wait for its end",
            ));
        }
        let asked = wire::asked(blocks, |path| self.host.place(path));
        if asked.text.trim().is_empty() {
            return Err(Error::new(-32602, "the prompt has no text"));
        }
        self.cancelled.store(false, Ordering::Relaxed);
        self.host.begin();
        let workspace = self.engine.workspaces().into_iter().next();
        let workspace = workspace.ok_or_else(|| failed("the session has no folder"))?;
        let options = TurnOptions {
            plan: self.plan.load(Ordering::Relaxed),
            // The author typed it in the editor's own window.
            allow_arrived: true,
            ..TurnOptions::default()
        };
        let thread = self.thread(&asked.typed);
        let mut files = self.host.named(asked.files);
        files.extend(thread.iter().map(|(_, file)| file.clone()));
        self.host.fetch(&files).await;
        let is_thread = thread.is_some();
        let run = match &thread {
            Some((id, file)) => self.engine.start_turn(id, Some(file), options).await,
            None => {
                let mut said = self.said().clone();
                said.push((Role::Author, asked.text.clone()));
                let first = said.len().saturating_sub(REMEMBERED);
                let said = said.split_off(first);
                let (engine, window) = (&self.engine, &self.id);
                engine.start_prompt(workspace, window, said, options).await
            }
        };
        let run = run.map_err(failed)?;
        *self.running() = Some(run.id.clone());
        self.keep(&run.id, Role::Author, &asked.text);
        // It may have come before there was a run.
        if self.cancelled.load(Ordering::Relaxed) {
            let _ = self.engine.cancel(&run.id).await;
        }
        let end = self.engine.wait_turn(&run.id).await;
        *self.running() = None;
        if let Some(error) = end.error {
            return Err(failed(error));
        }
        if end.status == "cancelled" {
            return Ok(StopReason::Cancelled);
        }
        let answer = end.answer.unwrap_or_default();
        self.host.conclude(&answer);
        self.keep(&run.id, Role::Agent, &answer);
        if is_thread {
            self.host
                .say(&format!("\n\n(It stands in {} as well.)", end.file));
        }
        match &*end.status {
            "paused" => Ok(StopReason::MaxTurnRequests),
            _ => Ok(StopReason::EndTurn),
        }
    }

    /// The pending thread whose id stands in the text, with its file.
    fn thread(&self, text: &str) -> Option<(String, PathBuf)> {
        wire::ids(text).iter().find_map(|id| {
            let (view, thread) = self.engine.find_thread(id, None).ok()?;
            Some((thread.id, view.path))
        })
    }

    pub(super) async fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        let run = self.running().clone();
        if let Some(run) = run {
            let _ = self.engine.cancel(&run).await;
        }
    }

    pub(super) async fn end(&self) {
        self.engine.shutdown().await;
    }
}
