//! What is read of one file.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use crate::edits;
use crate::files::{Buffer, Seen, Structure};
use crate::text::Document;
use crate::threads::{self, NearMiss, Thread};

/// A file's threads as they are now, with the text that they were read from.
#[derive(Clone)]
pub struct View {
    pub path: PathBuf,
    pub text: Whole,
    /// The buffer, where the file is open.
    pub buffer: Option<Buffer>,
    pub syntax: Structure,
    pub threads: Arc<Vec<Thread>>,
    /// The file is no UTF-8: it is shown, and never written.
    pub lossy: bool,
    /// What the disk held; `None` for a buffer.
    pub seen: Option<Seen>,
}

impl View {
    /// Whether a thread of the other view stands here too.
    pub fn has_any_of(&self, other: &Self) -> bool {
        let is_theirs = |id: &String| other.threads.iter().any(|thread| thread.id == *id);
        self.threads.iter().any(|thread| is_theirs(&thread.id))
    }

    /// Of the file that is called so, relative to its root.
    pub fn source<'a>(&'a self, path: &'a str) -> edits::Source<'a> {
        edits::Source {
            path,
            text: &self.text,
            syntax: &self.syntax,
        }
    }

    /// Those of its threads.
    pub fn ids(&self) -> Vec<String> {
        self.threads
            .iter()
            .map(|thread| thread.id.clone())
            .collect()
    }

    pub fn near_misses(&self) -> Vec<NearMiss> {
        match self
            .buffer
            .as_ref()
            .and_then(|buffer| buffer.pieces.as_ref())
        {
            Some(pieces) => pieces.near_misses(),
            None => threads::near_misses(&self.text, &self.syntax),
        }
    }
}

/// The whole text of a file; that of an open document is made when somebody looks at it.
#[derive(Clone)]
pub enum Whole {
    Read(Arc<str>),
    Open(Document),
}

impl Deref for Whole {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Read(text) => text,
            Self::Open(document) => document.text(),
        }
    }
}
