//! The work of a walk, shared by its threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Job;

/// What is to be done, and by how many it is being done: none of either is the end.
#[derive(Default)]
pub(super) struct Jobs<'a> {
    pub state: Mutex<(Vec<Job<'a>>, usize)>,
    changed: Condvar,
}

/// A job in hand; given back when it is dropped, by a panic too.
pub(super) struct Taken<'j, 'a> {
    jobs: &'j Jobs<'a>,
    pub job: Job<'a>,
}

impl<'a> Jobs<'a> {
    fn lock(&self) -> MutexGuard<'_, (Vec<Job<'a>>, usize)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, new: &mut Vec<Job<'a>>) {
        if !new.is_empty() {
            self.lock().0.append(new);
            self.changed.notify_all();
        }
    }

    /// Waits where others may still add; `None`: all is done.
    pub fn take(&self) -> Option<Taken<'_, 'a>> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.0.pop() {
                state.1 += 1;
                return Some(Taken { jobs: self, job });
            }
            if state.1 == 0 {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Taken<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.jobs.lock();
        state.1 -= 1;
        if state.1 == 0 {
            self.jobs.changed.notify_all();
        }
    }
}
