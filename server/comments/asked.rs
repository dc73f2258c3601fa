//! The comments that were asked for, kept while nothing changes but what is said inside one of them: a file may
//! have hundreds of threads, and each key asks for all of their comments.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::Comment;
use crate::text::Splice;

/// By the byte that was asked about.
#[derive(Debug, Default)]
pub(super) struct Asked(Mutex<HashMap<usize, Comment>>);

impl Clone for Asked {
    fn clone(&self) -> Self {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Self(Mutex::new(known.clone()))
    }
}

impl Asked {
    pub fn get(&self, at: usize) -> Option<Comment> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&at).cloned()
    }

    pub fn put(&self, at: usize, comment: &Comment) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(at, comment.clone());
    }

    /// A change inside one comment: the others are what they were, at their new places.
    pub fn follow(&mut self, splice: &Splice) {
        let known = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let moved = |at: usize| at - splice.old_end_byte + splice.new_end_byte;
        let kept = std::mem::take(known)
            .into_iter()
            .filter_map(|(at, mut comment)| {
                if comment.range.end < splice.start_byte {
                    return Some((at, comment));
                }
                if comment.range.start < splice.old_end_byte {
                    return None;
                }
                comment.range = moved(comment.range.start)..moved(comment.range.end);
                Some((moved(at), comment))
            });
        *known = kept.collect();
    }
}
