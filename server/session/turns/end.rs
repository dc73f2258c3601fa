//! How a turn ended.

use serde::Serialize;

use crate::store::RunStatus;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    Completed,
    /// It asked.
    AwaitingUser,
    /// At a cap.
    Paused,
    Failed,
    Cancelled,
    Interrupted,
}

impl TurnStatus {
    /// What the history says of its run.
    pub fn of_run(self) -> RunStatus {
        match self {
            Self::Completed => RunStatus::Completed,
            Self::AwaitingUser | Self::Paused => RunStatus::AwaitingUser,
            Self::Failed => RunStatus::Failed,
            Self::Cancelled => RunStatus::Cancelled,
            Self::Interrupted => RunStatus::Interrupted,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            other => other.of_run().name(),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct TurnEnd {
    pub run_id: String,
    pub thread_id: String,
    pub file: String,
    pub status: TurnStatus,
    /// All of it, also where its thread has the beginning.
    pub answer: Option<String>,
    pub error: Option<String>,
    /// It failed, and another thread would fare no better: whoever is to answer cannot be had.
    #[serde(skip)]
    pub unanswered: bool,
}
