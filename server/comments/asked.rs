//! The comments that were asked for, kept while nothing changes about them: a file may have hundreds of threads, and
//! each key asks for all of their comments.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Comment;
use crate::text::Splice;

#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Sorted by the byte that was asked about; most are asked for in that order.
    known: Mutex<Vec<(usize, Comment)>>,
    /// Something was asked since the last change that the tree alone could not tell.
    beyond: AtomicBool,
}

impl Clone for Asked {
    fn clone(&self) -> Self {
        Self {
            known: Mutex::new(self.lock().clone()),
            beyond: AtomicBool::new(self.is_beyond()),
        }
    }
}

impl Asked {
    fn lock(&self) -> MutexGuard<'_, Vec<(usize, Comment)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_beyond(&self) -> bool {
        self.beyond.load(Ordering::Relaxed)
    }

    /// This question goes beyond the tree.
    pub fn beyond(&self) {
        self.beyond.store(true, Ordering::Relaxed);
    }

    /// Before a change.
    pub fn anew(&mut self) {
        *self.beyond.get_mut() = false;
    }

    pub fn get(&self, at: usize) -> Option<Comment> {
        let known = self.lock();
        let place = known.binary_search_by_key(&at, |(at, _)| *at).ok()?;
        known.get(place).map(|(_, comment)| comment.clone())
    }

    pub fn put(&self, at: usize, comment: &Comment) {
        let mut known = self.lock();
        if let Err(place) = known.binary_search_by_key(&at, |(at, _)| *at) {
            known.insert(place, (at, comment.clone()));
        }
    }

    /// A change: the comments that it does not touch are what they were, at their new places. What became of the rest
    /// of the text's structure tells [`Self::forget`].
    pub fn follow(&mut self, splice: &Splice) {
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        let moved = |at: usize| at - splice.old_end_byte + splice.new_end_byte;
        known.retain_mut(|(at, comment)| {
            let before = comment.range.end < splice.start_byte;
            let behind = comment.range.start > splice.old_end_byte;
            if behind && !before {
                *at = moved(*at);
                comment.range = moved(comment.range.start)..moved(comment.range.end);
            }
            before || behind
        });
    }

    /// The comments in these bytes, which are in order, stand in another structure than they did.
    pub fn forget(&mut self, changed: impl Iterator<Item = Range<usize>>) {
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut changed = changed.peekable();
        known.retain(|(_, comment)| {
            while changed
                .next_if(|range| range.end < comment.range.start)
                .is_some()
            {}
            changed
                .peek()
                .is_none_or(|range| range.start > comment.range.end)
        });
    }
}
