//! Who wrote a line.

use std::path::Path;
use std::time::{Duration, Instant};

use super::commit::GitError;
use super::trail;

/// How long git may look for it, through a history of any length.
const PATIENCE: Duration = Duration::from_secs(20);

/// The commit that shaped a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame {
    /// Abbreviated to ten digits.
    pub commit: String,
    pub author: String,
    /// Seconds since 1970, UTC.
    pub time: i64,
    /// The first line of its message.
    pub summary: String,
}

/// Who wrote the 1-based `line` of `text`, the file as it is now (saved or not). `Ok(None)`: it is not
/// committed yet. An error says why it cannot be told.
pub fn blame(path: &Path, line: usize, text: &[u8]) -> Result<Option<Blame>, String> {
    let found = trail::newest(path, line, text, Instant::now() + PATIENCE);
    let found = found.map_err(|error| match error {
        GitError::Failed(why) => format!("the repository cannot be read: {why}"),
        other => other.to_string(),
    })?;
    Ok(found.map(|shaped| Blame {
        commit: shaped.commit.chars().take(10).collect(),
        author: match shaped.author.is_empty() {
            true => String::from("unknown"),
            false => shaped.author,
        },
        time: shaped.time,
        summary: shaped.summary,
    }))
}
