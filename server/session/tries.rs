//! When a write is made again that met another one. Nobody is fast enough for an author who types without a pause in
//! an editor that is far away: what is to be written waits for one.

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::files::Buffers;

pub(super) struct Tries {
    made: usize,
    until: Instant,
    cancel: CancellationToken,
    while_open: bool,
    closed: bool,
}

/// At once, one after the other.
const AT_ONCE: usize = 3;
/// In a file on disk, which nobody types in: each that fails met one that was made, of another process perhaps.
const ON_DISK: usize = 64;
/// In all, for a file that is open.
const PATIENCE: Duration = Duration::from_secs(120);
/// No key for so long is a pause: editors gather keys (Neovim for 150 ms).
const PAUSE: Duration = Duration::from_millis(200);
/// Pauses that are waited for before it is tried without one.
const PAUSES: usize = 10;

impl Tries {
    pub(super) fn new() -> Self {
        Self::of_turn(CancellationToken::new(), false)
    }

    /// None is made any more once it is cancelled, or (`while_open`) once the file is closed: its author may have gone on
    /// in another.
    pub(super) fn of_turn(cancel: CancellationToken, while_open: bool) -> Self {
        Self {
            while_open,
            closed: false,
            made: 0,
            until: Instant::now() + PATIENCE,
            cancel,
        }
    }

    pub(super) fn are_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Whether there is no other try because the file was closed.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// After a try that failed because the text of `path` was another by then: whether to make one more, once this
    /// returns.
    pub(super) async fn again(&mut self, buffers: &Buffers, path: &Path) -> bool {
        self.made += 1;
        let mut seen = buffers.generation(path);
        if seen.is_none() && !self.while_open {
            return self.made < ON_DISK && !self.are_cancelled();
        }
        let pauses = if self.made < AT_ONCE { 0 } else { PAUSES };
        for _ in 0..pauses {
            tokio::select! {
                () = sleep(PAUSE) => {}
                () = self.cancel.cancelled() => break,
            }
            let now = buffers.generation(path);
            if now == seen {
                break;
            }
            seen = now;
        }
        self.closed = self.while_open && buffers.generation(path).is_none();
        Instant::now() < self.until && !self.closed && !self.are_cancelled()
    }
}
