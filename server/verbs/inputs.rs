//! What each verb takes. The words beside a field are what a client of MCP reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of our own command line.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Undo {
    /// The run's id, its beginning, or its thread's.
    pub run_id: String,
    /// The turn that is meant: another one is not touched.
    #[serde(default)]
    pub turn: Option<u64>,
    /// These alone, as `turn_files` names them.
    #[serde(default)]
    pub files: Option<Vec<String>>,
}

/// Of our own command line.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunInput {
    /// The run's id, its beginning, or its thread's.
    pub run_id: String,
}

/// Of our own command line.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Say {
    /// The thread's id, or its first four digits or more.
    pub thread_id: String,
    /// What the person says.
    pub text: String,
}

/// Of our own command line.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Servers {}

/// Of our own command line.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewThread {
    /// The file, absolute or relative to the workspace root.
    pub file: String,
    /// 1-based.
    #[schemars(range(min = 1))]
    pub line: usize,
    /// What the person asks.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum StatusName {
    Pending,
    AwaitingUser,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetThreads {
    /// A file or folder, absolute or relative to the workspace root. Default: the whole workspace.
    #[serde(default)]
    pub(super) path: Option<String>,
    /// Only threads with this status.
    #[serde(default)]
    pub(super) status: Option<StatusName>,
    /// At most so many. Default: 100.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(super) limit: Option<usize>,
    /// The id of the last thread that you were shown: those behind it.
    #[serde(default)]
    pub(super) after: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Respond {
    /// The thread's id as `get_threads` gives it, or its first four digits or more.
    pub(super) thread_id: String,
    /// The answer. Several lines are possible.
    pub(super) response: String,
    /// The thread's file (or a folder it is in), where known.
    #[serde(default)]
    pub(super) path: Option<String>,
    /// Your name, if the person wants to see who answered: `claude` is written as AGENT(claude).
    #[serde(default)]
    pub(super) name: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Clear {
    /// The file, absolute or relative to the workspace root.
    pub(super) file: String,
    /// The commit's message. Default: `Clear review threads from <name>`.
    #[serde(default)]
    pub(super) message: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Dismiss {
    /// The thread's id as `get_threads` gives it, or its first four digits or more.
    pub(super) thread_id: String,
    /// The thread's file (or a folder it is in), where known.
    #[serde(default)]
    pub(super) path: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Process {
    /// A file or folder, absolute or relative to the workspace root. Default: the whole workspace.
    #[serde(default)]
    pub(super) path: Option<String>,
    /// Files that other editors show: ours alone, of no agent.
    #[serde(default)]
    #[schemars(skip)]
    pub(super) except: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowThread {
    /// The run's id or a unique prefix of it, or a thread's id (its newest run).
    pub(super) run_id: String,
    /// Rounds before this one.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(super) before: Option<u64>,
    /// At most so many characters. Default: 8000.
    #[serde(default)]
    pub(super) budget: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowList {
    /// Only runs of this thread.
    #[serde(default)]
    pub(super) thread_id: Option<String>,
    /// `queued`, `running`, `awaiting_user`, `completed`, `failed`, `cancelled` or `interrupted`.
    #[serde(default)]
    pub(super) status: Option<String>,
    /// At most so many. Default: 50.
    #[serde(default)]
    pub(super) limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowSearch {
    /// Words that a round has to hold, all of them.
    pub(super) words: String,
    /// At most so many. Default: 20.
    #[serde(default)]
    pub(super) limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WhyInput {
    /// The file, absolute or relative to the workspace root.
    pub(super) file: String,
    /// 1-based.
    #[schemars(range(min = 1))]
    pub(super) line: usize,
}
