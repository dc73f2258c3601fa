//! The end of a command that does not end by itself: asked first, so that programs put away what they hold (git its
//! lock), then at once.

use std::collections::BTreeSet;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::job::{GONE, Parts};
use crate::os;

/// What a command has to put things away, all in all; the first part for what its shell began.
const ASKED: Duration = Duration::from_millis(120);
const BEGUN: Duration = Duration::from_millis(80);
/// Between two looks at what is left: the first two, and at most.
const SOON: Duration = Duration::from_millis(1);
const LATEST: Duration = Duration::from_millis(16);

/// Asks all of it to end. With the shell the sandbox is over, and everything in it ends at once: so that one waits, and
/// does not go on with what comes next, until those are gone that it began.
pub(super) async fn ask(own: u32, keeper: bool) {
    if !cfg!(target_os = "linux") {
        return;
    }
    let began = Instant::now();
    let mut asked = BTreeSet::new();
    let mut waits = None;
    let mut is_last = false;
    let mut soon = SOON;
    while began.elapsed() < ASKED {
        let all = os::descendants(own);
        let mut left = all.into_iter().filter(|id| os::started(*id).is_some());
        // Bubblewrap's first process takes no such signal, and ends with the last of the others.
        let Some(shell) = left.nth(usize::from(!keeper)) else {
            break;
        };
        let others: Vec<u32> = left.collect();
        if !others.is_empty() && waits.is_none() {
            os::signal(shell, os::Told::Wait);
            waits = Some(shell);
        }
        for id in others.iter().filter(|id| asked.insert(**id)) {
            os::signal(*id, os::Told::End);
        }
        if !is_last && (others.is_empty() || began.elapsed() >= BEGUN) {
            is_last = true;
            // One that takes no notice would go on with its next line.
            if !os::ignores_end(shell) {
                os::signal(shell, os::Told::End);
                os::signal(shell, os::Told::GoOn);
            } else if others.is_empty() {
                break;
            }
        }
        tokio::time::sleep(soon).await;
        soon = LATEST.min(soon * 2);
    }
}

/// Ends all of it at once. The process is not collected before, so that its number is nobody else's.
pub(super) async fn end(parts: &mut Parts) -> Option<ExitStatus> {
    drop(parts.leash.take());
    let limit = Instant::now() + GONE;
    while Instant::now() < limit {
        if let Some(own) = parts.child.id() {
            // Inside bubblewrap the first of them takes all others along.
            os::descendants(own).into_iter().for_each(os::kill);
            if !parts.keeper {
                os::kill(own);
            }
        }
        let soon = Duration::from_millis(50);
        if let Ok(status) = timeout(soon, parts.child.wait()).await {
            return status.ok();
        }
    }
    // A keeper goes on until none is left, and ends then: killed now, it would leave behind what is still to be ended.
    if let Some(own) = parts.child.id()
        && (!parts.keeper || cfg!(windows))
    {
        os::end_group(own, true);
    }
    None
}
