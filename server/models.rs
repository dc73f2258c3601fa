//! L3. Streaming to a model: one request and event form for all, one file per wire format below `models/`.

mod anthropic;
mod chat;
mod error;
mod estimate;
mod http;
mod key;
pub mod local;
pub mod prices;
mod remote;
mod responses;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

pub use estimate::{IMAGE, size};
pub use http::Limits;
pub use key::{Key, KeySource};
pub use remote::{Remote, Setup, Wire};

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    User,
    Assistant,
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    /// Kept as it came and sent back unchanged across tool calls.
    Thinking {
        thinking: String,
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    /// Reasoning in a wire format's own words, sent back as it came to the model that it came from.
    Reasoning {
        /// `provider/model`.
        by: String,
        item: serde_json::Value,
    },
    /// `input` is an object; a string holds arguments that were no JSON, as they came: such a call is
    /// answered with an error and not carried out.
    ToolUse {
        id: String,
        name: String,
        input: serde_json::Value,
    },
    ToolResult {
        id: String,
        content: String,
        is_error: bool,
    },
    /// In a user's turn: a model that takes no images gets a sentence in its place.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif`, `image/webp`.
        media_type: String,
        /// Base64.
        data: String,
    },
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Turn {
    pub speaker: Speaker,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON schema of the parameters.
    pub parameters: serde_json::Value,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub system: String,
    pub turns: Vec<Turn>,
    pub tools: Vec<ToolSpec>,
    pub max_tokens: u32,
}

/// What happens while an answer streams.
#[derive(Clone, Debug)]
pub enum Event {
    Text(String),
    /// What was heard of this answer so far were thoughts, and no part of it.
    Thoughts,
    ToolUse {
        name: String,
    },
    /// What this try has taken by now, which counts should it come to nothing. Only where the server tells.
    Taken(Usage),
    /// Tried again: which try, why, after how many milliseconds.
    Retry {
        attempt: u32,
        why: String,
        wait_ms: u64,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input
            .saturating_add(self.output)
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    EndTurn,
    ToolUse,
    MaxTokens,
    /// The answer was cut because the context window is full.
    ContextFull,
    /// The provider paused a long answer; sending it back goes on.
    Pause,
    Refusal,
    Other,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub blocks: Vec<Block>,
    pub stop: Stop,
    pub usage: Usage,
    /// The model that answered, as it names itself.
    pub model: String,
}

/// What went wrong, in words for a person, and what to do. Never holds a key.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("{0}")]
    NoKey(String),
    /// What was asked is at fault, or its settings.
    #[error("{0}")]
    Refused(String),
    /// The conversation is longer than the model's context window.
    #[error("{0}")]
    TooLong(String),
    /// It is not to be had, whatever is asked.
    #[error("{0}")]
    Unavailable(String),
    #[error("{0}")]
    Malformed(String),
    #[error("cancelled")]
    Cancelled,
}

impl ModelError {
    /// With its words changed.
    fn map(self, change: impl Fn(String) -> String) -> Self {
        match self {
            Self::NoKey(text) => Self::NoKey(change(text)),
            Self::Refused(text) => Self::Refused(change(text)),
            Self::TooLong(text) => Self::TooLong(change(text)),
            Self::Unavailable(text) => Self::Unavailable(change(text)),
            Self::Malformed(text) => Self::Malformed(change(text)),
            Self::Cancelled => Self::Cancelled,
        }
    }
}

/// What a model that takes no images is told instead of one.
fn no_image(media_type: &str) -> String {
    format!("(Here was an image, {media_type}. This model takes no images.)")
}

#[async_trait]
pub trait Model: Send + Sync {
    /// `provider/model`.
    fn name(&self) -> String;
    /// Tokens that fit.
    fn context_window(&self) -> u64;
    /// US dollars of a usage, where prices are known.
    fn cost(&self, usage: &Usage) -> Option<f64>;
    /// Streams one answer, with retries; `events` hears it as it comes. Returns within a second of a cancel.
    async fn stream(
        &self,
        request: &Request,
        events: &(dyn Fn(Event) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<Answer, ModelError>;
}
