//! Who wrote a line.

use crate::os;
use std::path::Path;

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
    let repository = super::ordinary::discover_whole(path).map_err(|error| match error.code() {
        git2::ErrorCode::NotFound => format!("{} is not in a git repository", path.display()),
        _ => format!("the repository cannot be read: {}", error.message()),
    })?;
    let top = repository
        .workdir()
        .and_then(|top| os::canonical(top).ok())
        .ok_or("a bare repository has no files")?;
    let relative = path
        .strip_prefix(&top)
        .map_err(|_| format!("{} is outside its repository", path.display()))?;
    if repository.head().is_err() {
        return Ok(None);
    }
    let committed = match repository.blame_file(&super::path_for_git(relative), None) {
        Ok(blame) => blame,
        Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(error.message().to_owned()),
    };
    let now = committed
        .blame_buffer(text)
        .map_err(|error| error.message().to_owned())?;
    let Some(hunk) = now.get_line(line) else {
        return Ok(None);
    };
    let id = hunk.final_commit_id();
    if id.is_zero() {
        return Ok(None);
    }
    let commit = repository
        .find_commit(id)
        .map_err(|error| error.message().to_owned())?;
    Ok(Some(Blame {
        commit: id.to_string().chars().take(10).collect(),
        author: commit.author().name().unwrap_or("unknown").to_owned(),
        time: commit.time().seconds(),
        summary: commit
            .summary()
            .ok()
            .flatten()
            .unwrap_or_default()
            .to_owned(),
    }))
}
