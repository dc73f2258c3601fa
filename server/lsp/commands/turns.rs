//! Turns: begun, gone on with, taken back, and what they may do in a folder.

use std::path::PathBuf;

use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::call::{Call, blocking, failed};
use crate::bridge::{self, NoAnswer};
use crate::host::{Level, Question};
use crate::lsp::to_proto;
use crate::session::{Session, TurnChanges, TurnOptions, Undone, Wanted, commit_waits};
use crate::store::Run;
use crate::threads::{Action, Status, Thread};
use crate::verbs;

impl Call {
    pub(super) async fn start_turn(&self, plan: bool) -> Result<Value> {
        self.catch_up().await?;
        let run = self
            .session
            .start_turn(
                self.thread_id()?,
                self.path()?.as_deref(),
                self.options(plan)?,
            )
            .await;
        started(run)
    }

    /// The turn that stopped half-way goes on.
    pub(super) async fn go_on(&self) -> Result<Value> {
        let options = self.options(false)?;
        let run = self
            .session
            .resume_turn(&self.run_or_thread()?, options)
            .await;
        started(run)
    }

    /// The author may be asked which one: that takes its time, so it is not waited for.
    pub(super) async fn ask_another(&self) -> Result<Value> {
        let id = self.thread_id()?.to_owned();
        let path = self.path()?;
        let options = self.options(true)?;
        self.session.find_thread(&id, path.as_deref())?;
        let session = self.session.clone();
        tokio::spawn(async move {
            let asked = session.ask_another(&id, path.as_deref(), options).await;
            if let Err(error) = asked {
                session.host.message(Level::Error, &error.to_string());
            }
        });
        Ok(json!({"success": true}))
    }

    pub(super) async fn consult(&self) -> Result<Value> {
        let model = self.text("model")?;
        let run = self
            .session
            .consult(self.thread_id()?, self.path()?.as_deref(), model)
            .await;
        started(run)
    }

    /// The author's answer to a question: of a running turn, which waits for it, or of a message, and then at once
    /// what follows from it.
    pub(super) async fn choose(&self) -> Result<Value> {
        let (id, path) = (self.thread_id()?, self.path()?);
        let text = self.need("text", self.text("text")?)?;
        if let Some(run) = self.text("run_id")? {
            self.session.answer_question(run, text)?;
            return Ok(json!({"success": true, "run_id": run}));
        }
        let options = self.options(false)?;
        self.catch_up().await?;
        started(
            self.session
                .choose(id, path.as_deref(), text, options)
                .await,
        )
    }

    /// Every pending thread of the file, or of all folders. Many are asked about first, where nobody has: that takes its
    /// time, so it is not waited for.
    pub(super) async fn reply_all(&self) -> Result<Value> {
        let options = self.options(false)?;
        let files = match self.path()? {
            Some(path) => vec![path],
            None => blocking(&self.session, |session| Ok(session.files_with_threads())).await?,
        };
        let asked = !self.server.capabilities().asks_before_many;
        if self.flag("ask")?.unwrap_or(asked) && self.session.host.shows_questions() {
            let of = files.clone();
            let waiting = blocking(&self.session, move |session| Ok(waiting(session, &of))).await?;
            if waiting > MANY {
                let call = self.clone();
                tokio::spawn(async move { call.ask_and_reply(waiting, files, options).await });
                return Ok(json!({"success": true}));
            }
        }
        self.reply_to(files, &options).await
    }

    async fn ask_and_reply(&self, waiting: usize, files: Vec<PathBuf>, options: TurnOptions) {
        let host = &self.session.host;
        let question = Question {
            text: format!(
                "{waiting} threads wait for an agent. Each is answered by a turn of its own, which may cost money."
            ),
            choices: vec![format!("Start {waiting} turns"), String::from("Not now")],
            last_is_no: true,
        };
        let answer = host.ask(question).await;
        // Who cannot be asked has said what they want.
        if answer != Some(0) && host.shows_questions() {
            return;
        }
        let begun = self.reply_to(files, &options).await;
        let refused = match &begun {
            Ok(begun) => begun["refused"].as_array().map_or(&[][..], Vec::as_slice),
            Err(error) => return host.message(Level::Error, &error.message),
        };
        // Nobody reads the answer any more.
        if let Some(first) = refused.first() {
            let why = first["error"].as_str().unwrap_or_default();
            let more = match refused.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            host.message(Level::Warning, &format!("{why}{more}"));
        }
    }

    async fn reply_to(&self, files: Vec<PathBuf>, options: &TurnOptions) -> Result<Value> {
        let mut runs = Vec::new();
        let mut refused = Vec::new();
        for file in files {
            // What is to be removed goes first, from the end: threads that begin alike are numbered from the beginning.
            for to_be_removed in [true, false] {
                let view = match self.session.view(&file) {
                    Ok(view) => view,
                    Err(error) => {
                        let file = self.session.relative(&file);
                        refused.push(json!({"file": file, "error": error.to_string()}));
                        break;
                    }
                };
                let waits = |thread: &&Thread| {
                    thread.status == Status::Pending
                        && (thread.action() == Some(Action::Dismiss)) == to_be_removed
                };
                let mut waiting: Vec<&Thread> = view.threads.iter().filter(waits).collect();
                if to_be_removed {
                    waiting.reverse();
                }
                if waiting.iter().any(|thread| thread.action().is_none()) {
                    for thread in waiting.extract_if(.., |thread| thread.action().is_some()) {
                        let error = commit_waits(&self.session.relative(&file));
                        refused.push(json!({"thread_id": thread.id, "error": error.to_string()}));
                    }
                }
                let _together = self.session.begin_together().await;
                for thread in waiting {
                    if self.cancel.is_cancelled() {
                        break;
                    }
                    let options = TurnOptions {
                        batch: !to_be_removed,
                        ..options.clone()
                    };
                    let begun = self.session.start_turn(&thread.id, Some(&file), options);
                    match begun.await {
                        Ok(run) => {
                            if to_be_removed {
                                self.session.wait_turn(&run.id).await;
                            }
                            runs.push(json!({"run_id": run.id, "thread_id": run.thread_id, "file": run.file}));
                        }
                        Err(error) => refused
                            .push(json!({"thread_id": thread.id, "error": error.to_string()})),
                    }
                }
            }
        }
        // Some clients show nothing of an answer.
        if runs.is_empty() && refused.is_empty() {
            let host = &self.session.host;
            host.message(Level::Info, "No thread waits for an agent.");
        }
        Ok(json!({"success": refused.is_empty(), "runs": runs, "refused": refused}))
    }

    pub(super) async fn undo(&self) -> Result<Value> {
        let wanted = Wanted {
            turn: self.number("turn")?,
            files: self.texts("files")?,
        };
        // Who takes back one file after the other sees what becomes of it.
        let quiet = wanted.files.is_some();
        let id = self.run_or_thread()?;
        let undone = match self.undo_beside(&id, &wanted).await? {
            Some(undone) => undone,
            None => self.session.undo(&id, wanted).await?,
        };
        let files = undone.files.join("; ");
        let (level, text) = match undone.is_whole() {
            true => (Level::Info, format!("Undone. {files}")),
            false => (Level::Warning, format!("{files}. {}", undone.more())),
        };
        if !quiet || undone.kept || !undone.is_whole() {
            self.session.host.message(level, &text);
        }
        Ok(json!({"success": undone.is_whole(), "files": undone.files}))
    }

    /// The same divided among the editors that have the folder open: what one of them has not saved stands there alone.
    /// `None`: it is all for this one.
    async fn undo_beside(&self, id: &str, wanted: &Wanted<'_>) -> Result<Option<Undone>> {
        let (workspace, run) = self.session.run_of(id)?;
        let (data, root) = (&self.session.folders.data, workspace.root());
        let socket = self.server.bridges.get(root).and_then(|own| own.socket());
        let Some(socket) = socket else {
            return Ok(None);
        };
        let arguments = json!({"run_id": run.id, "turn": wanted.turn, "files": wanted.files});
        let answered =
            bridge::call_beside(&socket, data, root, &verbs::UNDO, &arguments, &self.cancel).await;
        let answered = match answered {
            None | Some(Err(NoAnswer::Absent(_))) => return Ok(None),
            Some(Err(none)) => Err(none.failure(root)),
            Some(Ok(answered)) => answered,
        };
        match answered {
            Ok(answer) => {
                self.session.host.changed(&[workspace.path_of(&run.file)]);
                let undone = serde_json::from_value(answer.value);
                undone.map(Some).map_err(|error| failed(error.to_string()))
            }
            // It may be suspended, and what the turn wrote into buffers it wrote here.
            Err(failure)
                if bridge::is_unheard(&failure) && self.session.turn(&run.id).is_some() =>
            {
                Ok(None)
            }
            Err(failure) => Err(failed(failure.message)),
        }
    }

    /// Before and after of each file that the last turn changed, for a review.
    pub(super) fn turn_changes(&self) -> Result<Value> {
        let TurnChanges {
            workspace,
            run,
            turn,
            files: changes,
        } = self.session.turn_changes(&self.run_or_thread()?)?;
        let text = |bytes: Option<Vec<u8>>| {
            bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let files: Vec<Value> = changes
            .into_iter()
            .map(|change| {
                let uri = to_proto::uri(&self.server, &workspace.path_of(&change.file));
                json!({"file": change.file, "uri": uri, "before": text(change.before), "after": text(change.after)})
            })
            .collect();
        Ok(
            json!({"run_id": run.id, "thread_id": run.thread_id, "status": run.status.name(), "turn": turn, "files": files}),
        )
    }

    /// The author's own word, from a command they run: it is asked for nowhere else.
    pub(super) fn trust(&self) -> Result<Value> {
        let path = self.path()?;
        let workspace = match path {
            Some(path) => self.session.workspace_of(&path),
            None => self.session.workspaces().into_iter().next(),
        };
        let workspace = workspace.ok_or_else(|| failed("there is no workspace folder to trust"))?;
        self.session.trust(workspace.root())?;
        let folder = workspace.root().to_string_lossy();
        self.session.host.message(
            Level::Info,
            &format!("{folder} is trusted: turns may edit its files, and language servers start in it. `postil trust --revoke` takes that back."),
        );
        Ok(json!({"success": true, "folder": folder}))
    }
}

/// More turns than this are asked about first.
const MANY: usize = 5;

/// How many turns would begin.
fn waiting(session: &Session, files: &[PathBuf]) -> usize {
    let views = files.iter().filter_map(|file| session.view(file).ok());
    let each = views.map(|view| {
        let threads = view.threads.iter();
        let waits = |thread: &&Thread| {
            thread.status == Status::Pending
                && thread.action().is_none()
                && !session.is_at_work(&view.path, thread)
        };
        threads.filter(waits).count()
    });
    each.sum()
}

fn started(run: std::result::Result<Run, crate::session::Error>) -> Result<Value> {
    let run = run?;
    Ok(json!({"success": true, "run_id": run.id, "thread_id": run.thread_id, "file": run.file}))
}
