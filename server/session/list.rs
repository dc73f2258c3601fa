//! Threads as they are listed, in the names of threads.md.

use serde::{Serialize, Serializer};
use serde_json::json;

use crate::threads::{Status, Thread};

/// The answer of `get_threads`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ThreadList {
    pub threads: Vec<Listed>,
    pub summary: Summary,
    /// Files passed over: too large, binary-looking with a marker …; each a sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// Those of them that may hide a thread.
    #[serde(skip)]
    pub unreadable: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Summary {
    pub total: usize,
    pub pending: usize,
    pub awaiting_user: usize,
}

#[derive(Clone, Debug)]
pub enum Listed {
    Thread {
        file: String,
        thread: Thread,
        /// Not all of the file is UTF-8.
        lossy: bool,
        /// The line of code beside it, where another thread of the file begins alike: it tells which is which.
        beside: Option<String>,
    },
    /// A file that cannot be parsed, for a reader to fall back on.
    Unparsed { file: String, text: String },
}

impl Listed {
    /// The file and the thread.
    pub fn thread(&self) -> Option<(&str, &Thread)> {
        match self {
            Self::Thread { file, thread, .. } => Some((file, thread)),
            Self::Unparsed { .. } => None,
        }
    }
}

impl ThreadList {
    /// Each thread and its file.
    pub fn found(&self) -> impl Iterator<Item = (&str, &Thread)> {
        self.threads.iter().filter_map(Listed::thread)
    }

    /// Whether there may be threads that it does not have, for a file could not be read or parsed.
    pub fn misses_some(&self) -> bool {
        !self.unreadable.is_empty() || self.threads.iter().any(|one| one.thread().is_none())
    }

    /// Only the threads with this status; what could not be parsed stays.
    pub fn keep(&mut self, status: Status) {
        let is_kept = |one: &Listed| one.thread().is_none_or(|(_, it)| it.status == status);
        self.threads.retain(is_kept);
        self.count();
    }

    /// Sums up the threads that it has.
    pub fn count(&mut self) {
        let total = self.found().count();
        let pending = |(_, thread): &(&str, &Thread)| thread.status == Status::Pending;
        let pending = self.found().filter(pending).count();
        self.summary = Summary {
            total,
            pending,
            awaiting_user: total - pending,
        };
    }
}

impl Serialize for Listed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (file, thread, lossy, beside) = match self {
            Self::Thread {
                file,
                thread,
                lossy,
                beside,
            } => (file, thread, *lossy, beside),
            Self::Unparsed { file, text } => {
                let value = json!({"parse_error": true, "file": file, "raw_content": text});
                return value.serialize(serializer);
            }
        };
        let messages = thread.messages.iter().map(|message| {
            let mut value = json!({"role": message.role.name(), "line": message.line + 1, "text": message.text});
            if let Some(name) = &message.name {
                value["name"] = json!(name);
            }
            value
        });
        let messages: Vec<_> = messages.collect();
        let mut value = json!({"id": thread.id, "file": file, "start_line": thread.first_line() + 1, "thread": messages, "status": thread.status.name()});
        if thread.malformed {
            value["malformed"] = json!(true);
        }
        if lossy {
            value["invalid_utf8"] = json!(true);
        }
        if let Some(beside) = beside {
            value["beside"] = json!(beside);
        }
        value.serialize(serializer)
    }
}
