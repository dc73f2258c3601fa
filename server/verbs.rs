//! L6. The verbs of a session by name, with JSON in and JSON out: what the MCP server offers, and what an
//! editor's server does for it over the [`bridge`](crate::bridge). Each calls what the command line calls.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::files::FileError;
use crate::os;
use crate::session::{Done, Error, Session, Wanted, Workspace};
use crate::store::{Format, Hit, Run, RunStatus, whole_seconds};
use crate::threads::Status;
use crate::tools::{self, Context, Plan, Registry};

mod buffers;
mod inputs;
mod table;

pub use table::*;

use buffers::{BufferEdit, BufferRead, Diagnostics};
use inputs::{
    Clear, Dismiss, GetThreads, NewThread, Process, Respond, RunInput, Say, Servers, StatusName,
    Undo, WhyInput, WorkflowList, WorkflowSearch, WorkflowThread,
};

/// What a verb does to the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Reads,
    /// Adds lines; the same call again changes nothing.
    Adds,
    /// Takes lines away.
    Removes,
}

impl Effect {
    pub fn writes(self) -> bool {
        self != Self::Reads
    }
}

pub struct Verb {
    pub name: &'static str,
    pub title: &'static str,
    /// What the agent reads.
    pub description: &'static str,
    pub effect: Effect,
    /// Only an editor's server can carry it out.
    pub needs_editor: bool,
    /// The person may be asked first, git's hooks run, or a language server begins.
    pub takes_long: bool,
    /// It reads the history alone, which every process has: no open document counts.
    pub of_history: bool,
    schema: fn() -> Value,
}

impl Verb {
    /// A call that only reads ends when it is cancelled. One that writes goes on to its own end: half a write would be
    /// worse than one too many.
    pub async fn given_up(&self, cancel: &CancellationToken) {
        match self.effect.writes() {
            true => std::future::pending().await,
            false => cancel.cancelled().await,
        }
    }

    /// The JSON schema of its arguments.
    pub fn schema(&self) -> Value {
        (self.schema)()
    }
}

/// Runs that are listed where nobody says how many, and rounds that are found.
pub const RUNS: usize = 50;
pub const HITS: usize = 20;
/// Threads that an agent is shown at once.
pub const THREADS: usize = 100;

/// Which of the threads an agent asks for; whoever asks a session itself gets all of them.
pub struct Page {
    pub limit: Option<usize>,
    /// The id of the thread before.
    pub after: Option<String>,
}

impl Page {
    /// Out of the arguments of `get_threads`.
    pub fn taken_from(arguments: &mut Value) -> Result<Self, Failure> {
        let GetThreads { limit, after, .. } = read(GET_THREADS.name, arguments)?;
        if let Some(arguments) = arguments.as_object_mut() {
            arguments.retain(|name, _| !["limit", "after"].contains(&name.as_str()));
        }
        Ok(Self { limit, after })
    }
}

/// One that agents are offered.
pub fn verb(name: &str) -> Option<&'static Verb> {
    ALL.into_iter().find(|verb| verb.name == name)
}

/// Anyone's.
pub fn any(name: &str) -> Option<&'static Verb> {
    let mut all = ALL.into_iter().chain(OF_PERSON);
    all.find(|verb| verb.name == name)
}

/// What `turn_files` answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct TurnFiles {
    /// The whole id.
    pub run_id: String,
    /// The newest turn that is not undone; 0: there is none.
    pub turn: u64,
    /// Relative to the folder, in the order they were first written.
    pub files: Vec<String>,
}

/// What a verb answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// An object.
    pub value: Value,
    /// The same for reading, where that is more than the JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self { value, text: None }
    }
}

/// Why it did not: one sentence, with a stable code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    pub code: String,
    pub message: String,
}

impl Failure {
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
        }
    }

    /// A defect of our own.
    pub fn defect() -> Self {
        Self::new(
            "defect",
            "a defect of postil ended this call; the log has it",
        )
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        Self::new(error.code(), error.to_string())
    }
}

/// Calls the verb `name` on the workspace folder `root` of `session`, and on nothing outside of it.
pub async fn call(
    session: &Arc<Session>,
    root: &Path,
    name: &str,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Result<Answer, Failure> {
    let scope = Scope::of(session, root)?;
    match name {
        "get_threads" => {
            let input: GetThreads = read(name, arguments)?;
            scope.blocking(move |scope| scope.threads(&input)).await
        }
        "respond_to_thread" => {
            let input: Respond = read(name, arguments)?;
            let (path, id) = scope.thread(&input.thread_id, input.path).await?;
            let done = session
                .respond(&id, Some(&path), &input.response, input.name.as_deref())
                .await?;
            answer(&done)
        }
        "dismiss_thread" => {
            let input: Dismiss = read(name, arguments)?;
            let (path, id) = scope.thread(&input.thread_id, input.path).await?;
            let done = session.dismiss(&id, Some(&path)).await?;
            answer(&told(done))
        }
        "clear_and_commit" => {
            let input: Clear = read(name, arguments)?;
            let path = scope.inside(&input.file)?;
            let done = session
                .clear_and_commit(&path, input.message.as_deref())
                .await?;
            answer(&told(done))
        }
        "process_all_actions" => {
            let input: Process = read(name, arguments)?;
            let path = scope.inside(input.path.as_deref().unwrap_or_default())?;
            let except = input.except.iter().map(|file| scope.inside(file));
            let except = except.collect::<Result<Vec<PathBuf>, Failure>>()?;
            let wanted = |file: &Path| !except.iter().any(|other| other == file);
            let all = session.process_actions(Some(&path), wanted).await?;
            let success = all.iter().all(|done| done.success);
            let all: Vec<Done> = all.into_iter().map(told).collect();
            Ok(json!({"success": success, "actions": all}).into())
        }
        "undo" => {
            let input: Undo = read(name, arguments)?;
            // The whole id of a run of this folder, and of no other that the session has.
            let run = scope.workspace.store()?.run(&input.run_id)?;
            let files = input.files.as_ref();
            let wanted = Wanted {
                turn: input.turn,
                files: files.map(|files| files.iter().map(String::as_str).collect()),
            };
            answer(&session.undo(&run.id, wanted).await?)
        }
        "turn_files" => {
            let input: RunInput = read(name, arguments)?;
            scope.blocking(move |scope| scope.turn_files(&input)).await
        }
        "say" => {
            let input: Say = read(name, arguments)?;
            let (path, id) = scope.thread(&input.thread_id, None).await?;
            answer(&session.say(&id, Some(&path), &input.text).await?)
        }
        "new_thread" => {
            let input: NewThread = read(name, arguments)?;
            let path = scope.inside(&input.file)?;
            let line = input.line.saturating_sub(1);
            answer(&session.new_thread(&path, line, &input.text).await?)
        }
        "servers" => {
            let Servers {} = read(name, arguments)?;
            let mut servers = session.children.states();
            servers.retain(|server| server.root.starts_with(root));
            Ok(json!({ "servers": servers }).into())
        }
        "workflow_thread" => {
            let input: WorkflowThread = read(name, arguments)?;
            scope.blocking(move |scope| scope.run(&input)).await
        }
        "workflow_list" => {
            let input: WorkflowList = read(name, arguments)?;
            scope.blocking(move |scope| scope.runs(&input)).await
        }
        "workflow_search" => {
            let input: WorkflowSearch = read(name, arguments)?;
            scope.blocking(move |scope| scope.search(&input)).await
        }
        "why" => {
            let input: WhyInput = read(name, arguments)?;
            scope.blocking(move |scope| scope.why(&input)).await
        }
        "lsp" => scope.lsp(arguments, cancel).await,
        "diagnostics" => {
            let input: Diagnostics = read(name, arguments)?;
            scope.diagnostics(&input, cancel).await
        }
        "buffer_read" => {
            let input: BufferRead = read(name, arguments)?;
            scope.blocking(move |scope| scope.buffer_read(&input)).await
        }
        "buffer_edit" => {
            let input: BufferEdit = read(name, arguments)?;
            scope.buffer_edit(&input, cancel).await
        }
        other => Err(Failure::new("usage", format!("no tool is called {other}"))),
    }
}

/// The files (canonical) that a call would change. What is wrong with it, it tells itself: then there are none.
pub async fn written(
    session: &Arc<Session>,
    root: &Path,
    verb: &Verb,
    arguments: &Value,
) -> Vec<PathBuf> {
    let (Ok(scope), true) = (Scope::of(session, root), verb.effect.writes()) else {
        return Vec::new();
    };
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    match (text("thread_id"), text("file")) {
        (Some(id), _) => {
            let found = scope.thread(id, text("path").map(str::to_owned)).await;
            found.into_iter().map(|(path, _)| path).collect()
        }
        (None, Some(file)) => scope.inside(file).into_iter().collect(),
        (None, None) if verb.name == "process_all_actions" => {
            let below = scope.inside(text("path").unwrap_or_default());
            let (session, below) = (session.clone(), below.ok());
            let files = tokio::task::spawn_blocking(move || {
                let files = session.files_with_actions(Some(&below?));
                files.ok()
            });
            files.await.ok().flatten().unwrap_or_default()
        }
        (None, None) => Vec::new(),
    }
}

/// Arguments that are left out are an empty object.
fn read<T: DeserializeOwned + JsonSchema>(name: &str, arguments: &Value) -> Result<T, Failure> {
    let empty = json!({});
    let arguments = if arguments.is_null() {
        &empty
    } else {
        arguments
    };
    tools::parse(name, arguments).map_err(|text| Failure::new("usage", text))
}

/// One workspace folder: no verb sees or changes anything outside of it.
#[derive(Clone)]
struct Scope {
    session: Arc<Session>,
    workspace: Arc<Workspace>,
}

impl Scope {
    fn of(session: &Arc<Session>, root: &Path) -> Result<Self, Failure> {
        let workspaces = session.workspaces();
        let workspace = workspaces
            .into_iter()
            .find(|workspace| workspace.root() == root)
            .ok_or_else(|| {
                let text = format!("{} is no folder of this workspace", root.display());
                Failure::new("file", text)
            })?;
        Ok(Self {
            session: session.clone(),
            workspace,
        })
    }

    /// Work that reads files or the history, off the threads that answer.
    async fn blocking(
        self,
        work: impl FnOnce(&Self) -> Result<Answer, Failure> + Send + 'static,
    ) -> Result<Answer, Failure> {
        tokio::task::spawn_blocking(move || work(&self))
            .await
            .unwrap_or_else(|_| Err(Failure::defect()))
    }

    /// The canonical path that an argument names, inside the folder.
    fn inside(&self, path: &str) -> Result<PathBuf, Failure> {
        let root = self.workspace.root();
        let found = os::resolved(&root.join(path));
        // Above a folder that is not there, `..` stays in the path.
        let climbs = found.components().any(|part| part == Component::ParentDir);
        if climbs || !found.starts_with(root) {
            return Err(FileError::Outside(path.to_owned()).into());
        }
        Ok(found)
    }

    /// The file and full id of a thread of this folder.
    async fn thread(&self, id: &str, path: Option<String>) -> Result<(PathBuf, String), Failure> {
        let below = self.inside(path.as_deref().unwrap_or_default())?;
        let (session, id) = (self.session.clone(), id.to_owned());
        let found = tokio::task::spawn_blocking(move || {
            session
                .find_thread(&id, Some(&below))
                .map(|(view, thread)| (view.path, thread.id))
        });
        Ok(found.await.map_err(|_| Failure::defect())??)
    }

    fn threads(&self, input: &GetThreads) -> Result<Answer, Failure> {
        let path = self.inside(input.path.as_deref().unwrap_or_default())?;
        let mut list = self.session.threads(Some(&path))?;
        if let Some(status) = input.status {
            list.keep(match status {
                StatusName::Pending => Status::Pending,
                StatusName::AwaitingUser => Status::AwaitingUser,
            });
        }
        answer(&list)
    }

    fn run(&self, input: &WorkflowThread) -> Result<Answer, Failure> {
        let store = self.workspace.store()?;
        let run = store.run(&input.run_id)?;
        let budget = input.budget.unwrap_or(8_000);
        let page = store.page(&run.id, input.before, budget, Format::Text)?;
        let text = match (page.text.is_empty(), input.before) {
            (false, _) => page.text,
            (true, Some(before)) if run.rounds > 0 => {
                format!("run {} has nothing before round {before}", run.id)
            }
            (true, _) => format!("run {} has no rounds", run.id),
        };
        Ok(Answer {
            value: json!({"run_id": run.id, "status": run.status.name(), "text": text}),
            text: Some(text),
        })
    }

    fn turn_files(&self, input: &RunInput) -> Result<Answer, Failure> {
        let run = self.workspace.store()?.run(&input.run_id)?;
        let changes = self.session.turn_changes(&run.id)?;
        answer(&TurnFiles {
            run_id: run.id,
            turn: changes.turn,
            files: changes
                .files
                .into_iter()
                .map(|change| change.file)
                .collect(),
        })
    }

    fn runs(&self, input: &WorkflowList) -> Result<Answer, Failure> {
        let status = input.status.as_deref().map(RunStatus::parse).transpose();
        let status = status.map_err(|text| Failure::new("usage", text))?;
        let thread = input.thread_id.as_deref();
        let limit = input.limit.unwrap_or(RUNS);
        let runs = self
            .session
            .runs_in(&self.workspace, thread, status, limit)?;
        let runs: Vec<Value> = runs.iter().map(facts).collect();
        Ok(json!({"runs": runs}).into())
    }

    fn search(&self, input: &WorkflowSearch) -> Result<Answer, Failure> {
        let store = self.workspace.store()?;
        let hits = store.search(&input.words, input.limit.unwrap_or(HITS))?;
        let hits: Vec<Value> = hits.iter().map(hit).collect();
        Ok(json!({"hits": hits}).into())
    }

    fn why(&self, input: &WhyInput) -> Result<Answer, Failure> {
        let why = self.session.why(&self.inside(&input.file)?, input.line)?;
        Ok(Answer {
            value: why.json(),
            text: Some(why.markdown()),
        })
    }

    fn tool_context(&self, plan: Plan, cancel: &CancellationToken) -> Context {
        self.session
            .tool_context(&self.workspace, plan, cancel.clone(), None)
    }

    async fn lsp(&self, arguments: &Value, cancel: &CancellationToken) -> Result<Answer, Failure> {
        let settings = self.workspace.loaded();
        let registry = Registry::new(&settings.settings);
        let context = self.tool_context(Plan::of_author(true), cancel);
        match registry.call(&context, "lsp", arguments.clone()).await {
            Ok(text) => Ok(Answer {
                value: json!({"output": text}),
                text: Some(text),
            }),
            Err(text) => Err(Failure::new("failed", text)),
        }
    }
}

/// Whoever calls from elsewhere does not hear what the session's own host is told.
fn told(mut done: Done) -> Done {
    if let Some(lost) = done.lost.take() {
        done.note = Some(match done.note {
            Some(note) => format!("{note}; {lost}"),
            None => lost,
        });
    }
    done
}

fn answer(value: &impl Serialize) -> Result<Answer, Failure> {
    serde_json::to_value(value)
        .map(Answer::from)
        .map_err(|_| Failure::defect())
}

/// What is shown of a run, as JSON.
pub fn facts(run: &Run) -> Value {
    json!({
        "id": run.id,
        "status": run.status.name(),
        "thread_id": run.thread_id,
        "file": run.file,
        "started": whole_seconds(run.started),
        "rounds": run.rounds,
        "tokens": run.tokens,
        "cost": run.cost,
    })
}

/// What is shown of a round that was searched for, as JSON.
pub fn hit(hit: &Hit) -> Value {
    json!({
        "run_id": hit.run.id,
        "thread_id": hit.run.thread_id,
        "file": hit.run.file,
        "round": hit.seq,
        "role": hit.role.as_deref().unwrap_or("unknown"),
        "time": whole_seconds(hit.time),
        "snippet": hit.snippet,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_a_schema_of_an_object_that_says_what_its_fields_are() {
        for verb in ALL.into_iter().chain(OF_PERSON) {
            let schema = verb.schema();
            assert_eq!(schema["type"], "object", "{}", verb.name);
            let fields = schema["properties"].as_object().expect("properties");
            for (name, field) in fields {
                assert!(field["description"].is_string(), "{}.{name}", verb.name);
            }
            assert_eq!(schema["additionalProperties"], false, "{}", verb.name);
        }
    }
}
