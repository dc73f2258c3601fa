//! `workspace/executeCommand`: the privileged door. One JSON object is the argument of a command; a field or an
//! id that is not known is an error that names it. What takes long is started and answered at once.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};

use super::{Params, Server, conversation, from_proto, invalid, margin, to_proto};
use crate::host::Level;
use crate::session::{Done, Session, TurnOptions};
use crate::store::{Format, Run, RunStatus, StoreError};
use crate::text::Position;
use crate::threads::{Role, Status};
use crate::verbs::{facts, hit};

/// Longest text that an argument may hold.
const LONGEST: usize = 1 << 20;
/// Characters of a message that are shown in a box.
const SHOWN: usize = 1_000;
/// As `postil workflow thread` has it.
const PAGE: usize = 8_000;

/// Every command without its prefix, and the fields of its argument.
const ALL: [(&str, &[&str]); 24] = [
    (
        "replyAsAgent",
        &["uri", "path", "thread_id", "model", "budget"],
    ),
    ("plan", &["uri", "path", "thread_id", "model", "budget"]),
    ("replyAll", &["uri", "path", "model", "budget"]),
    (
        "askAnother",
        &["uri", "path", "thread_id", "model", "budget"],
    ),
    ("consult", &["uri", "path", "thread_id", "model"]),
    (
        "continue",
        &["uri", "path", "thread_id", "run_id", "model", "budget"],
    ),
    (
        "choose",
        &["uri", "path", "thread_id", "text", "model", "budget"],
    ),
    ("reply", &["uri", "path", "thread_id", "text"]),
    (
        "editMessage",
        &["uri", "path", "thread_id", "index", "was", "text"],
    ),
    ("newThread", &["uri", "path", "position", "text"]),
    ("dismissThread", &["uri", "path", "thread_id"]),
    ("clearAndCommit", &["uri", "path", "message"]),
    ("processActions", &["uri", "path"]),
    ("cancelTurn", &["uri", "path", "thread_id", "run_id"]),
    ("undoTurn", &["uri", "path", "thread_id", "run_id"]),
    ("turnChanges", &["uri", "path", "thread_id", "run_id"]),
    ("openConversation", &["uri", "path", "thread_id", "run_id"]),
    ("listThreads", &["uri", "path"]),
    (
        "workflowThread",
        &["thread_id", "run_id", "budget", "before"],
    ),
    ("workflowList", &["thread_id", "status", "limit"]),
    ("workflowSearch", &["words", "limit"]),
    ("workflowRounds", &["thread_id", "run_id", "after"]),
    ("why", &["uri", "path", "position", "show"]),
    ("trust", &["uri", "path"]),
];

pub(super) fn all(prefix: &str) -> Vec<String> {
    ALL.iter()
        .map(|(verb, _)| format!("{prefix}{verb}"))
        .collect()
}

/// `params` are those of `workspace/executeCommand`. A client that stands still until it is answered is answered
/// at once: what it types meanwhile, and what a command edits, comes only after.
pub(super) async fn execute(server: Arc<Server>, params: Params) -> Result<Value> {
    if !server.capabilities().waits_for_commands {
        return carry_out(server, params).await;
    }
    server.runtime.clone().spawn(async move {
        let client = server.client.clone();
        if let Err(error) = carry_out(server, params).await {
            let message = error.message;
            client.notify("window/showMessage", json!({"type": 1, "message": message}));
        }
    });
    Ok(Value::Null)
}

async fn carry_out(server: Arc<Server>, params: Params) -> Result<Value> {
    let params = params.unwrap_or_default();
    let command = params
        .get("command")
        .and_then(Value::as_str)
        .ok_or_else(|| invalid("`command` is missing"))?;
    let known = command
        .strip_prefix(server.capabilities().prefix.as_str())
        .and_then(|verb| ALL.iter().find(|(name, _)| *name == verb));
    let Some((verb, fields)) = known else {
        return Err(invalid(format!("`{command}` is no command of postil")));
    };
    let empty = Map::new();
    let argument = match params
        .get("arguments")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
    {
        [] | [Value::Null] => &empty,
        [Value::Object(argument)] => argument,
        _ => {
            return Err(invalid(format!(
                "`{command}` takes one object: {}",
                fields.join(", ")
            )));
        }
    };
    if let Some(unknown) = argument.keys().find(|key| !fields.contains(&key.as_str())) {
        return Err(invalid(format!(
            "`{command}` has no field `{}`; it takes {}",
            unknown.escape_debug(),
            fields.join(", ")
        )));
    }
    let call = Call {
        server: server.clone(),
        session: server.session()?.clone(),
        command: command.to_owned(),
        argument: argument.clone(),
    };
    match *verb {
        "replyAsAgent" => call.start_turn(false).await,
        "plan" => call.start_turn(true).await,
        "askAnother" => call.ask_another().await,
        "consult" => call.consult().await,
        "continue" => call.go_on().await,
        "choose" => call.choose().await,
        "replyAll" => call.reply_all().await,
        "reply" => call.reply().await,
        "editMessage" => call.edit_message().await,
        "newThread" => call.new_thread().await,
        "dismissThread" => {
            let done = call
                .session
                .dismiss(call.thread_id()?, call.path()?.as_deref())
                .await;
            done.map_err(|error| to_proto::error(&error))
                .and_then(|done| answer(&done))
        }
        "clearAndCommit" => call.clear_and_commit().await,
        "processActions" => call.process_actions().await,
        "cancelTurn" => {
            call.session
                .cancel(call.run_or_thread()?)
                .await
                .map_err(|error| to_proto::error(&error))?;
            Ok(json!({"success": true}))
        }
        "undoTurn" => call.undo().await,
        "turnChanges" => call.turn_changes(),
        "openConversation" => conversation::open(&call.server, call.run_or_thread()?).await,
        "listThreads" => call.list_threads().await,
        "workflowThread" => call.workflow_thread(),
        "workflowList" => call.workflow_list(),
        "workflowSearch" => call.workflow_search().await,
        "workflowRounds" => margin::rounds(
            &call.session,
            call.run_or_thread()?,
            call.number("after")?.unwrap_or(0),
        ),
        "why" => call.why().await,
        "trust" => call.trust(),
        _ => Err(Error::internal_error()),
    }
}

/// One command with its argument.
struct Call {
    server: Arc<Server>,
    session: Arc<Session>,
    command: String,
    argument: Map<String, Value>,
}

impl Call {
    /// A field that must be there.
    fn need<T>(&self, name: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| invalid(format!("`{}` needs `{name}`", self.command)))
    }

    fn text(&self, name: &str) -> Result<Option<&str>> {
        match self.argument.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.len() <= LONGEST => Ok(Some(text)),
            Some(Value::String(_)) => {
                Err(invalid(format!("`{name}` is longer than {LONGEST} bytes")))
            }
            Some(_) => Err(invalid(format!("`{name}` is to be a text"))),
        }
    }

    fn number(&self, name: &str) -> Result<Option<u64>> {
        match self.argument.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value
                .as_u64()
                .map(Some)
                .ok_or_else(|| invalid(format!("`{name}` is to be a whole number"))),
        }
    }

    /// The file that `uri` or `path` names, if one does.
    fn path(&self) -> Result<Option<PathBuf>> {
        if let Some(uri) = self.text("uri")? {
            let path = self
                .server
                .documents
                .path(uri)
                .ok_or_else(|| invalid(format!("`uri` is no file: {}", uri.escape_debug())))?;
            if self.server.documents.is_unfit(&path) {
                return Err(failed(
                    "postil lost track of this file: close and reopen it",
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
        Ok(Some(Session::canonical(
            &root.unwrap_or_default().join(path),
        )))
    }

    fn thread_id(&self) -> Result<&str> {
        self.need("thread_id", self.text("thread_id")?)
    }

    fn run_or_thread(&self) -> Result<&str> {
        let id = match self.text("run_id")? {
            Some(run) => Some(run),
            None => self.text("thread_id")?,
        };
        self.need("run_id` or `thread_id", id)
    }

    fn options(&self, plan: bool) -> Result<TurnOptions> {
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

    async fn start_turn(&self, plan: bool) -> Result<Value> {
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
    async fn go_on(&self) -> Result<Value> {
        let options = self.options(false)?;
        let run = self
            .session
            .resume_turn(self.run_or_thread()?, options)
            .await;
        started(run)
    }

    /// The author may be asked which one: that takes its time, so it is not waited for.
    async fn ask_another(&self) -> Result<Value> {
        let id = self.thread_id()?.to_owned();
        let path = self.path()?;
        let options = self.options(true)?;
        let found = self.session.find_thread(&id, path.as_deref());
        found.map_err(|error| to_proto::error(&error))?;
        let session = self.session.clone();
        tokio::spawn(async move {
            let asked = session.ask_another(&id, path.as_deref(), options).await;
            if let Err(error) = asked {
                session
                    .host
                    .message(Level::Error, &format!("postil: {error}"));
            }
        });
        Ok(json!({"success": true}))
    }

    async fn consult(&self) -> Result<Value> {
        let model = self.text("model")?;
        let run = self
            .session
            .consult(self.thread_id()?, self.path()?.as_deref(), model)
            .await;
        started(run)
    }

    /// The author's answer to a question, and at once what follows from it.
    async fn choose(&self) -> Result<Value> {
        let (id, path) = (self.thread_id()?, self.path()?);
        let text = self.need("text", self.text("text")?)?;
        let said = self.session.say(id, path.as_deref(), text).await;
        said.map_err(|error| to_proto::error(&error))?;
        self.start_turn(false).await
    }

    /// Every pending thread of the file, or of all folders.
    async fn reply_all(&self) -> Result<Value> {
        let options = self.options(false)?;
        let files = match self.path()? {
            Some(path) => vec![path],
            None => blocking(&self.session, |session| Ok(session.files_with_threads())).await?,
        };
        let mut runs = Vec::new();
        let mut refused = Vec::new();
        for file in files {
            let view = self
                .session
                .view(&file)
                .map_err(|error| to_proto::error(&error))?;
            for thread in view
                .threads
                .iter()
                .filter(|thread| thread.status == Status::Pending)
            {
                match self
                    .session
                    .start_turn(&thread.id, Some(&file), options.clone())
                    .await
                {
                    Ok(run) => runs.push(
                        json!({"run_id": run.id, "thread_id": run.thread_id, "file": run.file}),
                    ),
                    Err(error) => {
                        refused.push(json!({"thread_id": thread.id, "error": error.to_string()}))
                    }
                }
            }
        }
        Ok(json!({"success": refused.is_empty(), "runs": runs, "refused": refused}))
    }

    /// Without a text the cursor goes to where the author writes.
    async fn reply(&self) -> Result<Value> {
        let (id, path) = (self.thread_id()?, self.path()?);
        if let Some(text) = self.text("text")? {
            let done = self
                .session
                .say(id, path.as_deref(), text)
                .await
                .map_err(|error| to_proto::error(&error))?;
            return answer(&done);
        }
        let found = self.session.find_thread(id, path.as_deref());
        let (view, thread) = found.map_err(|error| to_proto::error(&error))?;
        let last = thread.messages.last().ok_or_else(Error::internal_error)?;
        if last.role == Role::Agent {
            // No AUTHOR line waits there.
            let line = last.last_line + 1;
            let done = self
                .session
                .new_thread(&view.path, line, "")
                .await
                .map_err(|error| to_proto::error(&error))?;
            self.show_line(&view.path, line).await;
            return answer(&done);
        }
        let line = last.last_line;
        self.show_line(&view.path, line).await;
        Ok(
            json!({"success": true, "file": self.session.relative(&view.path), "thread_id": thread.id}),
        )
    }

    /// The words of the author's message `index`, which were `was`, become `text`.
    async fn edit_message(&self) -> Result<Value> {
        let (id, path) = (self.thread_id()?, self.path()?);
        let index = self.need("index", self.number("index")?)?;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let was = self.need("was", self.text("was")?)?;
        let text = self.need("text", self.text("text")?)?;
        let done = self
            .session
            .edit_message(id, path.as_deref(), index, was, text)
            .await
            .map_err(|error| to_proto::error(&error))?;
        answer(&done)
    }

    async fn new_thread(&self) -> Result<Value> {
        let path = self.need("uri", self.path()?)?;
        let position = self.need("position", self.argument.get("position"))?;
        let position = from_proto::position(position)
            .ok_or_else(|| invalid("`position` is to be {line, character}"))?;
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let text = self.text("text")?.unwrap_or_default();
        let done = self
            .session
            .new_thread(&path, line, text)
            .await
            .map_err(|error| to_proto::error(&error))?;
        if text.is_empty() {
            self.show_line(&path, line).await;
        }
        answer(&done)
    }

    /// With `show` the answer is shown as a document, by an editor that would not show it itself.
    async fn why(&self) -> Result<Value> {
        let path = self.need("uri", self.path()?)?;
        let position = self.need("position", self.argument.get("position"))?;
        let position = from_proto::position(position)
            .ok_or_else(|| invalid("`position` is to be {line, character}"))?;
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let show = self.argument.get("show").and_then(Value::as_bool) == Some(true);
        // git may take its time with a long history.
        let why = blocking(&self.session, move |session| {
            let why = session.why(&path, line.saturating_add(1));
            why.map_err(|error| to_proto::error(&error))
        })
        .await?;
        if show {
            let shows = self.server.capabilities().show_document;
            match why.nothing() {
                None if shows => {
                    let name = format!("why-{}.md", why.line);
                    conversation::show_text(&self.server, &name, &why.markdown());
                }
                None => {
                    let told = why.conversations.first();
                    let text = told.map_or_else(String::new, |told| told.text(SHOWN));
                    self.session.host.message(Level::Info, &text);
                }
                Some(nothing) => self.session.host.message(Level::Info, &nothing),
            }
        }
        Ok(why.json())
    }

    /// Puts the cursor at the end of a 0-based line, where the editor can.
    async fn show_line(&self, path: &std::path::Path, line: usize) {
        let client = self.server.capabilities();
        let Ok(view) = self.session.view(path) else {
            return;
        };
        if !client.show_document {
            return;
        }
        let document = to_proto::document(&view);
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        // Past the end is the end of the line.
        let end = document.offset(
            Position {
                line,
                character: u32::MAX,
            },
            client.encoding,
        );
        let position = to_proto::position(document.position(end, client.encoding));
        let params = json!({"uri": to_proto::uri(&self.server, path), "takeFocus": true, "selection": {"start": position, "end": position}});
        self.server
            .client
            .ask("window/showDocument", params, &self.server.runtime);
    }

    async fn clear_and_commit(&self) -> Result<Value> {
        let path = self.need("uri", self.path()?)?;
        let done = self
            .session
            .clear_and_commit(&path, self.text("message")?)
            .await
            .map_err(|error| to_proto::error(&error))?;
        self.session.host.message(Level::Info, &committed(&done));
        answer(&done)
    }

    async fn process_actions(&self) -> Result<Value> {
        let path = self.path()?.map(|path| path.to_string_lossy().into_owned());
        let done = self
            .session
            .process_actions(path.as_deref())
            .await
            .map_err(|error| to_proto::error(&error))?;
        answer(&done)
    }

    async fn undo(&self) -> Result<Value> {
        let undone = self
            .session
            .undo(self.run_or_thread()?)
            .await
            .map_err(|error| to_proto::error(&error))?;
        let files = undone.files.join("; ");
        let (level, text) = match undone.is_whole() {
            true => (Level::Info, format!("Undone. {files}")),
            false => (Level::Warning, format!("{files}. {}", undone.more())),
        };
        self.session.host.message(level, &text);
        Ok(json!({"success": undone.is_whole(), "files": undone.files}))
    }

    /// Before and after of each file that the last turn changed, for a review.
    fn turn_changes(&self) -> Result<Value> {
        let (workspace, run, changes) = self
            .session
            .turn_changes(self.run_or_thread()?)
            .map_err(|error| to_proto::error(&error))?;
        let text = |bytes: Option<Vec<u8>>| {
            bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let files: Vec<Value> = changes
            .into_iter()
            .map(|change| {
                let uri = to_proto::uri(&self.server, &workspace.root().join(&change.file));
                json!({"file": change.file, "uri": uri, "before": text(change.before), "after": text(change.after)})
            })
            .collect();
        Ok(
            json!({"run_id": run.id, "thread_id": run.thread_id, "status": run.status.name(), "files": files}),
        )
    }

    async fn list_threads(&self) -> Result<Value> {
        let path = self.path()?.map(|path| path.to_string_lossy().into_owned());
        let list = blocking(&self.session, move |session| {
            session
                .threads(path.as_deref())
                .map_err(|error| to_proto::error(&error))
        })
        .await?;
        answer(&list)
    }

    fn workflow_thread(&self) -> Result<Value> {
        let budget =
            usize::try_from(self.number("budget")?.unwrap_or(PAGE as u64)).unwrap_or(usize::MAX);
        let before = self.number("before")?;
        let (workspace, run) = self
            .session
            .run_of(self.run_or_thread()?)
            .map_err(|error| to_proto::error(&error))?;
        let store = workspace.store().map_err(|error| to_proto::error(&error))?;
        let page = store
            .page(&run.id, before, budget, Format::Text)
            .map_err(|error| history(&error))?;
        Ok(json!({"run_id": run.id, "status": run.status.name(), "text": page.text}))
    }

    fn workflow_list(&self) -> Result<Value> {
        let status = match self.text("status")? {
            None => None,
            Some(name) => Some(RunStatus::from_name(name).ok_or_else(|| {
                invalid(format!("`status` is not known: {}", name.escape_debug()))
            })?),
        };
        let limit = usize::try_from(self.number("limit")?.unwrap_or(50)).unwrap_or(usize::MAX);
        let thread = self.text("thread_id")?;
        let mut runs = Vec::new();
        for workspace in self.session.workspaces() {
            let store = workspace.store().map_err(|error| to_proto::error(&error))?;
            runs.extend(
                store
                    .runs(thread, status, limit)
                    .map_err(|error| history(&error))?,
            );
        }
        runs.sort_by_key(|run| std::cmp::Reverse(run.started));
        runs.truncate(limit);
        Ok(Value::Array(runs.iter().map(facts).collect()))
    }

    /// As `postil workflow search --json` has it.
    async fn workflow_search(&self) -> Result<Value> {
        let words = self.need("words", self.text("words")?)?.to_owned();
        let limit = usize::try_from(self.number("limit")?.unwrap_or(20)).unwrap_or(usize::MAX);
        blocking(&self.session, move |session| {
            let mut hits = Vec::new();
            for workspace in session.workspaces() {
                let store = workspace.store().map_err(|error| to_proto::error(&error))?;
                let found = store
                    .search(&words, limit)
                    .map_err(|error| history(&error))?;
                hits.extend(found.iter().map(hit));
            }
            hits.truncate(limit);
            Ok(Value::Array(hits))
        })
        .await
    }

    /// The author's own word, from a command they run: it is asked for nowhere else.
    fn trust(&self) -> Result<Value> {
        let path = self.path()?;
        let workspace = match path {
            Some(path) => self.session.workspace_of(&path),
            None => self.session.workspaces().into_iter().next(),
        };
        let workspace = workspace.ok_or_else(|| failed("there is no workspace folder to trust"))?;
        self.session
            .trust(workspace.root())
            .map_err(|error| to_proto::error(&error))?;
        let folder = workspace.root().to_string_lossy();
        self.session.host.message(
            Level::Info,
            &format!("{} is trusted: turns may edit its files, and language servers start in it. `postil trust --revoke` takes that back.", crate::present::visible(&folder)),
        );
        Ok(json!({"success": true, "folder": folder}))
    }
}

fn started(run: std::result::Result<Run, crate::session::Error>) -> Result<Value> {
    let run = run.map_err(|error| to_proto::error(&error))?;
    Ok(json!({"success": true, "run_id": run.id, "thread_id": run.thread_id, "file": run.file}))
}

/// What to tell the author of a commit.
pub(super) fn committed(done: &Done) -> String {
    let cleared = done
        .lines_removed
        .map(|lines| format!("{lines} lines of threads removed from {}", done.file));
    let what = match (&done.commit_hash, &done.note) {
        (Some(hash), _) => Some(format!("committed {} as {hash}", done.file)),
        (None, Some(note)) => Some(note.clone()),
        (None, None) => None,
    };
    [cleared, what]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

fn answer(value: &impl serde::Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|_| Error::internal_error())
}

fn failed(message: &'static str) -> Error {
    Error {
        code: ErrorCode::ServerError(to_proto::REQUEST_FAILED),
        message: message.into(),
        data: None,
    }
}

fn history(error: &StoreError) -> Error {
    Error {
        code: ErrorCode::ServerError(to_proto::REQUEST_FAILED),
        message: error.to_string().into(),
        data: Some(json!({"code": error.code()})),
    }
}

/// Work that reads files, off the threads that answer.
async fn blocking<T: Send + 'static>(
    session: &Arc<Session>,
    work: impl FnOnce(&Session) -> Result<T> + Send + 'static,
) -> Result<T> {
    let session = session.clone();
    tokio::task::spawn_blocking(move || work(&session))
        .await
        .unwrap_or_else(|_| Err(Error::internal_error()))
}
