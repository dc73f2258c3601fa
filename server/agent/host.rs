//! The client as a host: text and tool calls as updates of its session, questions as its own, and the files
//! that a prompt names as open buffers, which it reads and writes for us.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, PermissionOption, PermissionOptionKind, ReadTextFileRequest,
    RequestPermissionOutcome, RequestPermissionRequest, SessionNotification, SessionUpdate,
    TextContent, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, WriteTextFileRequest,
};
use async_trait::async_trait;

use super::wire;
use crate::children::uri;
use crate::host::{BufferEdit, Host, Level, NotApplied, Progress, Question};
use crate::os;
use crate::present::visible;
use crate::session::Session;
use crate::text::apply_edits;
use crate::threads::Role;

pub(super) struct Editor {
    session: String,
    /// The folder as the client names it; ours has its links resolved.
    folder: PathBuf,
    connection: ConnectionTo<Client>,
    /// It reads and writes files for us.
    files: bool,
    engine: OnceLock<Weak<Session>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What was said in this turn.
    spoken: String,
    /// The call that the next question is likely to be about.
    call: Option<String>,
    questions: u64,
    /// The files that prompts named, by their resolved paths, as they named them.
    named: HashMap<PathBuf, PathBuf>,
}

impl Editor {
    pub(super) fn new(
        session: &str,
        folder: &Path,
        connection: ConnectionTo<Client>,
        files: bool,
    ) -> Self {
        Self {
            session: session.to_owned(),
            folder: folder.to_owned(),
            connection,
            files,
            engine: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    pub(super) fn serve(&self, engine: &Arc<Session>) {
        let _ = self.engine.set(Arc::downgrade(engine));
    }

    fn engine(&self) -> Option<Arc<Session>> {
        self.engine.get()?.upgrade()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self) {
        let mut state = self.state();
        state.spoken.clear();
        state.call = None;
    }

    fn update(&self, update: SessionUpdate) {
        let note = SessionNotification::new(self.session.clone(), update);
        if let Err(error) = self.connection.send_notification(note) {
            tracing::debug!("the editor is gone: {error}");
        }
    }

    pub(super) fn say(&self, text: &str) {
        self.state().spoken.push_str(text);
        let text = ContentBlock::Text(TextContent::new(text));
        self.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(text)));
    }

    /// What was said in an earlier life of the window.
    pub(super) fn replay(&self, said: &[(Role, String)]) {
        for (role, text) in said {
            let chunk = ContentChunk::new(ContentBlock::Text(TextContent::new(text)));
            self.update(match role {
                Role::Author => SessionUpdate::UserMessageChunk(chunk),
                Role::Agent => SessionUpdate::AgentMessageChunk(chunk),
            });
        }
    }

    /// Says the answer, where it was not said as it came.
    pub(super) fn conclude(&self, answer: &str) {
        // Words alone are compared: paragraphs are put together in other ways as they come.
        let words = |text: &str| visible(text).split_whitespace().collect::<String>();
        let is_said = words(&self.state().spoken).ends_with(&words(answer));
        if !is_said {
            let gap = if self.state().spoken.trim().is_empty() {
                ""
            } else {
                "\n\n"
            };
            self.say(&format!("{gap}{answer}"));
        }
    }

    /// How a file that a prompt names is called there, and whether it is read as the client has it.
    pub(super) fn place(&self, path: &Path) -> (String, bool) {
        let resolved = os::resolved(path);
        match self
            .engine()
            .filter(|e| e.workspace_of(&resolved).is_some())
        {
            Some(engine) => (engine.relative(&resolved), self.files),
            None => (path.display().to_string(), false),
        }
    }

    /// The resolved paths of files that a prompt names. The client is asked for them by the names that it gave.
    pub(super) fn named(&self, files: Vec<PathBuf>) -> Vec<PathBuf> {
        let resolved: Vec<PathBuf> = files.iter().map(|file| os::resolved(file)).collect();
        let names = resolved.iter().cloned().zip(files);
        self.state().named.extend(names);
        resolved
    }

    /// A resolved path as the client names it.
    fn as_the_client_names_it(&self, path: &Path) -> PathBuf {
        if let Some(named) = self.state().named.get(path) {
            return named.clone();
        }
        let below = path.strip_prefix(os::resolved(&self.folder));
        below.map_or_else(|_| path.to_owned(), |rest| self.folder.join(rest))
    }

    /// The text of a file as the client has it.
    async fn text(&self, path: &Path) -> Option<String> {
        let named = self.as_the_client_names_it(path);
        let request = ReadTextFileRequest::new(self.session.clone(), named);
        let read = self.connection.send_request(request).block_task().await;
        read.ok().map(|read| read.content)
    }

    /// Has the client write a file. An error: why it did not.
    async fn write(&self, engine: &Session, path: &Path, text: &str) -> Result<(), String> {
        let named = self.as_the_client_names_it(path);
        let request = WriteTextFileRequest::new(self.session.clone(), named, text);
        let written = self.connection.send_request(request).block_task().await;
        written.map_err(|error| visible(&error.message))?;
        open(engine, path, text);
        Ok(())
    }

    /// Whether all of these writes (path, text before, text after) were taken back, the newest first. What the author has
    /// changed since is left.
    async fn take_back(&self, engine: &Session, writes: &[(PathBuf, String, String)]) -> bool {
        let mut all = true;
        for (path, before, after) in writes.iter().rev() {
            let is_ours = self.text(path).await.as_ref() == Some(after);
            all &= is_ours && self.write(engine, path, before).await.is_ok();
        }
        all
    }

    /// Opens files (resolved paths) as the client has them, and brings those that are open up to date.
    pub(super) async fn fetch(&self, paths: &[PathBuf]) {
        let Some(engine) = self.engine().filter(|_| self.files) else {
            return;
        };
        let known = engine.buffers.paths();
        for path in known.iter().chain(paths) {
            if engine.workspace_of(path).is_none() {
                continue;
            }
            match self.text(path).await {
                Some(text) => open(&engine, path, &text),
                None => {
                    engine.buffers.close(path);
                }
            }
        }
    }
}

/// The buffer of a file is what the client says that stands there.
fn open(engine: &Session, path: &Path, text: &str) {
    let version = match engine.buffers.get(path) {
        Some(buffer) if buffer.document.text() == text => return,
        Some(buffer) => buffer.document.version() + 1,
        None => 1,
    };
    engine
        .buffers
        .open(path.to_owned(), &uri::from_path(path), "", version, text);
}

#[async_trait]
impl Host for Editor {
    async fn apply(&self, _label: &str, edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        let engine = self.engine().ok_or(NotApplied::NoEditor)?;
        // Everything is compared before anything is written.
        let mut writes = Vec::new();
        for edit in edits {
            let buffer = engine.buffers.get(&edit.path).ok_or(NotApplied::NoEditor)?;
            let text = buffer.document.text();
            if buffer.generation != edit.generation {
                return Err(NotApplied::Changed);
            }
            let now = self.text(&edit.path).await.ok_or(NotApplied::NoEditor)?;
            if *now != *text {
                open(&engine, &edit.path, &now);
                return Err(NotApplied::Changed);
            }
            let new = apply_edits(text, &edit.edits);
            writes.push((edit.path, text.to_owned(), new));
        }
        for (at, (path, _, new)) in writes.iter().enumerate() {
            if let Err(why) = self.write(&engine, path, new).await {
                let made = writes.get(..at).unwrap_or_default();
                return Err(match self.take_back(&engine, made).await {
                    true => NotApplied::Refused(why),
                    false => NotApplied::Unknown(why),
                });
            }
        }
        Ok(())
    }

    async fn ask(&self, question: Question) -> Option<usize> {
        let call = {
            let mut state = self.state();
            state.questions += 1;
            let own = format!("question-{}", state.questions);
            state.call.clone().unwrap_or(own)
        };
        let last = question.choices.len().saturating_sub(1);
        let options: Vec<PermissionOption> = question
            .choices
            .iter()
            .enumerate()
            .map(|(at, text)| {
                let kind = match at {
                    at if at == last && question.last_is_no => PermissionOptionKind::RejectOnce,
                    0 => PermissionOptionKind::AllowOnce,
                    _ => PermissionOptionKind::AllowAlways,
                };
                PermissionOption::new(at.to_string(), visible(text), kind)
            })
            .collect();
        let fields = ToolCallUpdateFields::new().title(visible(&question.text));
        let request = RequestPermissionRequest::new(
            self.session.clone(),
            ToolCallUpdate::new(call, fields),
            options,
        );
        let answer = self.connection.send_request(request).block_task().await;
        match answer.ok()?.outcome {
            RequestPermissionOutcome::Selected(selected) => selected
                .option_id
                .to_string()
                .parse()
                .ok()
                .filter(|at| *at < question.choices.len()),
            _ => None,
        }
    }

    fn message(&self, level: Level, text: &str) {
        // What fails a turn is the answer to its prompt.
        if level != Level::Error {
            let text = ContentBlock::Text(TextContent::new(format!("{}\n", visible(text))));
            self.update(SessionUpdate::AgentThoughtChunk(ContentChunk::new(text)));
        }
    }

    fn progress(&self, _run: &str, progress: Progress) {
        match progress {
            Progress::Said { text } => self.say(&text),
            Progress::Call { id, name, input } => {
                if let Some(plan) = wire::plan(&name, &input) {
                    self.update(SessionUpdate::Plan(plan));
                }
                let about = ["path", "pattern", "command", "query", "url", "action"]
                    .iter()
                    .find_map(|key| input.get(key)?.as_str())
                    .unwrap_or_default();
                let title: String = visible(&format!("{name} {about}"))
                    .chars()
                    .take(200)
                    .collect();
                let path = input.get("path").and_then(|path| path.as_str());
                let locations = path
                    .map(|path| ToolCallLocation::new(self.folder.join(path)))
                    .into_iter()
                    .collect();
                self.state().call = Some(id.clone());
                let call = ToolCall::new(id, title.trim().to_owned())
                    .kind(wire::kind(&name))
                    .status(ToolCallStatus::InProgress)
                    .locations(locations)
                    .raw_input(input);
                self.update(SessionUpdate::ToolCall(call));
            }
            Progress::Called {
                id,
                output,
                is_error,
            } => {
                let status = if is_error {
                    ToolCallStatus::Failed
                } else {
                    ToolCallStatus::Completed
                };
                let text = ContentBlock::Text(TextContent::new(visible(&output)));
                let fields = ToolCallUpdateFields::new()
                    .status(status)
                    .content(vec![ToolCallContent::from(text)]);
                let update = ToolCallUpdate::new(id, fields);
                self.update(SessionUpdate::ToolCallUpdate(update));
            }
            Progress::Begin { .. } | Progress::Report { .. } | Progress::End { .. } => {}
        }
    }

    fn changed(&self, _paths: &[PathBuf]) {}
}
