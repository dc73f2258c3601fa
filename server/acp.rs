//! L3. Outside agents over the Agent Client Protocol: which there are, how one is started, and one
//! conversation with it. What it may do, and what becomes of what it says, is its [`Client`]'s to decide.
//!
//! The program is started without a shell, with a chosen part of our environment, as the leader of a
//! process group that ends with the conversation, however that ends.

mod connection;
mod known;
pub mod lines;
mod wire;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

pub use connection::converse;
pub use known::{agent, found, installed, names};

/// How long an agent may be silent.
pub const IDLE: Duration = Duration::from_secs(600);

/// A program that speaks the protocol.
#[derive(Clone, Debug)]
pub struct Agent {
    /// As `acp/NAME` has it.
    pub name: String,
    /// For people.
    pub title: String,
    /// What the program may be called; the first that is found is started.
    pub programs: Vec<String>,
    pub args: Vec<String>,
    /// Added to its environment.
    pub env: Vec<(String, String)>,
    /// Variables of ours that it gets beside the usual ones; `*` at the end stands for any rest.
    pub pass: Vec<String>,
    /// What to do where it is not there, and where nobody is logged in.
    pub install: String,
    pub login: String,
    /// Ways to log in that need no person: the agent's name for it, and the variable that must be set.
    pub keys: Vec<(String, String)>,
    pub idle: Duration,
}

/// What an agent is asked, and where.
pub struct Brief<'a> {
    /// The folder it works in.
    pub root: &'a Path,
    /// Folders whose programs are never started.
    pub workspaces: &'a [PathBuf],
    /// The MCP server that it is given: program, arguments, environment.
    pub server: Server,
    pub prompt: String,
    /// It shall change nothing; agents that know such a mode are put into it.
    pub read_only: bool,
    /// What its command line is put behind: what keeps it in.
    pub behind: Vec<OsString>,
}

pub struct Server {
    pub command: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

/// How its turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub stop: Stop,
    /// What it took, where the agent tells.
    pub tokens: Option<Tokens>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    End,
    /// A limit of its own.
    Limit,
    Refusal,
    Cancelled,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    pub total: u64,
    pub input: u64,
    pub output: u64,
}

/// What an agent tells while it works.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// A piece of what it says; `true`: of another message than the piece before.
    Text(String, bool),
    Thought,
    /// A tool call, new or told more of: what is `None` or empty is as it was.
    Call(Call),
    /// The whole plan, as it is now.
    Plan(Vec<Step>),
    /// What the session has cost so far, in US dollars.
    Cost(f64),
    /// A sign of life.
    Other,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    pub id: String,
    pub title: Option<String>,
    /// The tool's own name.
    pub name: Option<String>,
    pub kind: Option<Kind>,
    pub state: Option<State>,
    pub input: Option<Value>,
    pub output: Option<String>,
    /// Files that it is about, absolute.
    pub paths: Vec<PathBuf>,
    pub diffs: Vec<Diff>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Search,
    Think,
    Edit,
    Delete,
    Move,
    Execute,
    Fetch,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Begun,
    Done,
    Failed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    pub path: PathBuf,
    /// `None`: the file is new. Either text may be a part of the file.
    pub before: Option<String>,
    pub after: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub text: String,
    pub state: StepState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    Pending,
    Running,
    Done,
}

/// May it?
#[derive(Clone, Debug)]
pub struct Asked {
    pub call: Call,
    pub choices: Vec<Choice>,
}

#[derive(Clone, Debug)]
pub struct Choice {
    pub text: String,
    pub allows: bool,
    /// For more than this once.
    pub always: bool,
}

/// The turn is to end: its client says why.
#[derive(Debug)]
pub struct Enough;

/// Who an agent works for.
#[async_trait]
pub trait Client: Send + Sync {
    /// # Errors
    /// Where the turn must not go on.
    async fn update(&self, update: Update) -> Result<(), Enough>;
    /// The index of a choice; `None`: nobody chose.
    async fn permission(&self, asked: Asked) -> Option<usize>;
    /// The text of a file, unsaved too. `line` counts from 1.
    ///
    /// # Errors
    /// A sentence for the agent.
    async fn read(
        &self,
        path: &Path,
        line: Option<u32>,
        limit: Option<u32>,
    ) -> Result<String, String>;
    /// # Errors
    /// A sentence for the agent; nothing was written.
    async fn write(&self, path: &Path, text: &str) -> Result<(), String>;
}

/// Why a conversation came to nothing; each is a sentence with the way out.
#[derive(Debug, thiserror::Error)]
pub enum AcpError {
    #[error("{0} was not found on PATH: {1}")]
    NotInstalled(String, String),
    #[error("{0} could not be started ({1}): see whether it runs in a terminal")]
    NotStarted(String, String),
    #[error("{0} is not logged in: {1}, then ask again")]
    NotLoggedIn(String, String),
    #[error(
        "{0} ended in the middle of its turn ({1}): ask again, or see whether it runs in a terminal"
    )]
    Crashed(String, String),
    #[error(
        "{0} gave no sign of life for {1} s and was stopped: ask again, or choose another model"
    )]
    Silent(String, u64),
    #[error(
        "{0} does not speak the Agent Client Protocol (it wrote `{1}`): see its command and arguments in `[agents]` of config.toml, or update it"
    )]
    Garbage(String, String),
    #[error(
        "{0} speaks version {1} of the Agent Client Protocol, and postil version 1: update the older of the two"
    )]
    Version(String, u16),
    #[error("{0} refused ({1}): see what it says of that in a terminal, or choose another model")]
    Refused(String, String),
    #[error(
        "{0} answered in words that postil does not know ({1}): update the older of the two, or choose another model"
    )]
    Unknown(String, String),
    #[error("cancelled")]
    Cancelled,
    /// The client wanted no more.
    #[error("stopped")]
    Enough,
}
