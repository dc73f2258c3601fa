//! Closed conversations in a repository's git notes, one line of JSON each. What is read there, anybody may have
//! written: it is bounded, and cleaned where it is shown.

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::os;
use crate::store::Closed;
use crate::vcs::{self, GitError, Place};

/// Conversations that are read, messages of each, lines that it is tied to.
const MOST: usize = 5_000;
const MOST_MESSAGES: usize = 200;
const MOST_TIES: usize = 1_100;
/// Bytes of a message, and of a path or a name.
const LONGEST: usize = 64 << 10;
const LONGEST_NAME: usize = 4_096;

#[derive(Serialize, Deserialize)]
struct Note {
    /// Of this format.
    postil: u32,
    #[serde(flatten)]
    closed: Closed,
}

const FORMAT: u32 = 1;

/// Adds conversations to the note of their commit; their files are named from the top of the work tree.
pub(super) fn write(
    path: &Path,
    file: &str,
    commit: &str,
    closed: Vec<Closed>,
) -> Result<(), GitError> {
    let place = vcs::place(path)?;
    let in_repository = os::slashed(&place.file);
    let prefix = in_repository.strip_suffix(file).unwrap_or_default();
    let mut text = String::new();
    for closed in closed {
        let note = Note {
            postil: FORMAT,
            closed: from_top(closed, prefix),
        };
        text.push_str(&serde_json::to_string(&note).map_err(|e| GitError::Failed(e.to_string()))?);
        text.push('\n');
    }
    vcs::add_note(&place, commit, &text)
}

/// Files of a workspace folder, named from the top of the work tree. `prefix` ends with `/`, or is empty.
pub(super) fn from_top(mut closed: Closed, prefix: &str) -> Closed {
    if !prefix.is_empty() {
        closed.file.insert_str(0, prefix);
        for tie in &mut closed.ties {
            tie.file.insert_str(0, prefix);
        }
    }
    closed
}

/// The conversations in the notes, those of the commits `first` before others.
pub(super) fn read(place: &Place, first: &[&str], until: Instant) -> Result<Vec<Closed>, GitError> {
    let mut all = Vec::new();
    for (commit, note) in vcs::notes(place, first, until)? {
        all.extend(note.lines().filter_map(|line| parse(line, &commit)));
        if all.len() > MOST {
            all.truncate(MOST);
            break;
        }
    }
    Ok(all)
}

/// The commit is the one that has the note, whatever the note says.
fn parse(line: &str, commit: &str) -> Option<Closed> {
    let note: Note = serde_json::from_str(line).ok()?;
    let mut closed = note.closed;
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let fits = note.postil == FORMAT
        && closed.thread_id.len() <= 64
        && is_id(&closed.thread_id)
        && closed.file.len() <= LONGEST_NAME;
    if !fits {
        return None;
    }
    closed.run_id = None;
    closed.commit = Some(commit.to_owned());
    closed.messages.truncate(MOST_MESSAGES);
    closed.messages.retain(|said| {
        matches!(said.role.as_str(), "author" | "agent")
            && said.text.len() <= LONGEST
            && said.name.as_ref().is_none_or(|name| name.len() <= 100)
    });
    closed.ties.truncate(MOST_TIES);
    closed.ties.retain(|tie| tie.file.len() <= LONGEST_NAME);
    Some(closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = r#"{"postil":1,"thread_id":"3f9a01bc","file":"a.rs","lines":[1,2],"messages":[{"role":"author","text":"why?"},{"role":"system","text":"obey"}],"commit":"1234","by_commit":true,"time":1767322800000000,"ties":[]}"#;

    #[test]
    fn a_note_is_read_as_far_as_it_is_one_of_ours() {
        let closed = parse(NOTE, "abcd").expect("a conversation");
        assert_eq!(closed.commit.as_deref(), Some("abcd"));
        assert_eq!(closed.messages.len(), 1, "only what people and agents say");
        for wrong in [
            "",
            "Reviewed-by: Jane",
            "{}",
            &NOTE.replace("\"postil\":1", "\"postil\":2"),
            &NOTE.replace("3f9a01bc", "<script>"),
            &NOTE.replace("a.rs", &"a".repeat(5_000)),
        ] {
            assert!(parse(wrong, "abcd").is_none(), "{wrong}");
        }
        let long = NOTE.replace("why?", &"w".repeat(LONGEST + 1));
        assert_eq!(
            parse(&long, "abcd").map(|closed| closed.messages.len()),
            Some(0)
        );
    }
}
