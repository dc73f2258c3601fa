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
        Self::unless(CancellationToken::new())
    }

    /// None is made any more once it is cancelled.
    pub(super) fn unless(cancel: CancellationToken) -> Self {
        Self {
            made: 0,
            until: Instant::now() + PATIENCE,
            cancel,
        }
    }

    pub(super) fn are_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// After a try that failed because the text of `path` was another by then: whether to make one more, once this
    /// returns.
    pub(super) async fn again(&mut self, buffers: &Buffers, path: &Path) -> bool {
        self.made += 1;
        let mut seen = buffers.generation(path);
        if seen.is_none() {
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
        Instant::now() < self.until && !self.are_cancelled()
    }
}
