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
use crate::session::{Session, TurnOptions, TurnStatus};
use crate::store::Window;
use crate::threads::Role;
use crate::turn;

/// Messages of a window that a new turn is told of.
const REMEMBERED: usize = 40;

pub(super) struct Chat {
    id: String,
    engine: Arc<Session>,
    host: Arc<Editor>,
    said: Mutex<Vec<(Role, String)>>,
    plan: AtomicBool,
    turn: Mutex<Option<Turn>>,
}

/// The turn that goes on.
#[derive(Default)]
struct Turn {
    /// Its run, once there is one.
    run: Option<String>,
    cancelled: bool,
}

/// The one turn that a window may have, until this is dropped.
pub(super) struct Begun(Arc<Chat>);

impl Drop for Begun {
    fn drop(&mut self) {
        *self.0.turn() = None;
    }
}

impl Begun {
    /// The whole turn; when this returns the next may begin.
    pub(super) async fn prompt(self, blocks: Vec<ContentBlock>) -> Result<StopReason, Error> {
        self.0.prompt(blocks).await
    }
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
            turn: Mutex::default(),
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

    fn turn(&self) -> MutexGuard<'_, Option<Turn>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_cancelled(&self) -> bool {
        self.turn().as_ref().is_some_and(|turn| turn.cancelled)
    }

    /// Begins a turn as its prompt is read, so that a cancel behind it finds it.
    pub(super) fn begin(self: &Arc<Self>) -> Result<Begun, Error> {
        let mut turn = self.turn();
        if turn.is_some() {
            return Err(Error::new(
                -32600,
                "a turn of this session runs already: cancel it, or wait for its end",
            ));
        }
        *turn = Some(Turn::default());
        Ok(Begun(self.clone()))
    }

    /// One turn: the thread that the prompt names, else that of the turn before where it stopped half-way, else a
    /// question of this window.
    async fn prompt(&self, blocks: Vec<ContentBlock>) -> Result<StopReason, Error> {
        let asked = wire::asked(blocks, |path| self.host.place(path));
        if asked.text.trim().is_empty() {
            return Err(Error::new(-32602, "the prompt has no text"));
        }
        self.host.begin();
        let workspace = self.engine.workspaces().into_iter().next();
        let workspace = workspace.ok_or_else(|| failed("the session has no folder"))?;
        let options = TurnOptions {
            plan: self.plan.load(Ordering::Relaxed),
            ..TurnOptions::default()
        };
        let named = self.thread(&asked.typed);
        let stopped = match named {
            Some(_) => None,
            None => self.engine.stopped_thread(&self.id, &asked.text),
        };
        let thread = named.as_ref().or(stopped.as_ref());
        let mut files = self.host.named(asked.files);
        files.extend(thread.map(|(_, file)| file.clone()));
        self.host.fetch(&files).await;
        let run = match thread {
            Some((id, file)) if stopped.is_some() => {
                self.engine.go_on(id, file, &asked.text, options).await
            }
            Some((id, file)) => self.engine.start_turn(id, Some(file), options).await,
            None => {
                let mut said = self.said().clone();
                said.push((Role::Author, asked.text.clone()));
                let first = said.len().saturating_sub(REMEMBERED);
                let said = said.split_off(first);
                let (engine, window) = (&self.engine, &self.id);
                // The author typed it in the editor's own window. Of a thread that it names they typed the id alone.
                let options = TurnOptions {
                    allow_arrived: true,
                    ..options
                };
                engine.start_prompt(workspace, window, said, options).await
            }
        };
        let run = run.map_err(failed)?;
        if let Some(turn) = &mut *self.turn() {
            turn.run = Some(run.id.clone());
        }
        self.keep(&run.id, Role::Author, &asked.text);
        // It may have come before there was a run.
        if self.is_cancelled() {
            let _ = self.engine.cancel(&run.id).await;
        }
        let end = self.engine.wait_turn(&run.id).await;
        if let Some(error) = end.error {
            return Err(failed(error));
        }
        if end.status == TurnStatus::Cancelled {
            return Ok(StopReason::Cancelled);
        }
        let answer = end.answer.unwrap_or_default();
        self.host.conclude(&answer);
        self.keep(&run.id, Role::Agent, &turn::in_thread(&answer, &run.id));
        if thread.is_some() {
            self.host
                .say(&format!("\n\n(It stands in {} as well.)", end.file));
        }
        match end.status {
            // What was answered counts, though the cancel came too late to stop it.
            _ if self.is_cancelled() => Ok(StopReason::Cancelled),
            TurnStatus::Paused => Ok(StopReason::MaxTurnRequests),
            _ => Ok(StopReason::EndTurn),
        }
    }

    /// The pending thread whose id stands in the text, with its file.
    fn thread(&self, text: &str) -> Option<(String, PathBuf)> {
        let (path, id) = self.engine.pending_thread(&wire::ids(text))?;
        Some((id, path))
    }

    pub(super) async fn cancel(&self) {
        let run = self.turn().as_mut().and_then(|turn| {
            turn.cancelled = true;
            turn.run.clone()
        });
        if let Some(run) = run {
            let _ = self.engine.cancel(&run).await;
        }
    }

    pub(super) async fn end(&self) {
        self.engine.shutdown().await;
    }
}
