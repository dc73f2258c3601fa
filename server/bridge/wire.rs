//! What the two sides say to each other, and where they meet.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store;
use crate::verbs::{Answer, Failure};

/// Of the two lines. Another version is not spoken with.
pub(super) const VERSION: u32 = 2;
/// Longest call, in bytes.
pub(super) const LONGEST_CALL: u64 = 16 << 20;
/// Longest answer, in bytes: the threads of a large tree.
pub(super) const LONGEST_ANSWER: u64 = 256 << 20;

#[derive(Serialize, Deserialize)]
pub(super) struct Call {
    pub version: u32,
    /// The workspace folder, canonical, as far as its name is text; its socket is its own.
    pub root: String,
    pub tool: String,
    pub arguments: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    Answer(Answer),
    Failure(Failure),
    /// The server speaks another version.
    Version(u32),
}

/// Servers of one workspace that can be reached at a time, each in a place of its own.
pub(super) const PLACES: u8 = 8;

/// The file that the server in a place holds the lock of; its text is the path of the socket.
pub(super) fn pointer(data: &Path, root: &Path, place: u8) -> PathBuf {
    let name = match place {
        0 => String::from("editor"),
        place => format!("editor.{place}"),
    };
    store::location(data, root).with_file_name(name)
}
