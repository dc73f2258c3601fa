//! What the client is told by the way: log messages, from the level on that it asked for.
#![expect(
    deprecated,
    reason = "newer revisions of the protocol have no logging; the clients of today do"
)]

use std::sync::{Mutex, OnceLock, PoisonError};

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};

use super::Peer;
use crate::host::Level;
use crate::present;

pub(super) struct Log {
    peer: OnceLock<Peer>,
    level: Mutex<LoggingLevel>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            peer: OnceLock::new(),
            level: Mutex::new(LoggingLevel::Info),
        }
    }
}

impl Log {
    /// Who listens; set once it has introduced itself. A client of a newer revision, which does not introduce
    /// itself, wants no notification that it did not ask for.
    pub fn connect(&self, peer: &Peer) {
        if peer.peer_info().is_some() {
            let _ = self.peer.set(peer.clone());
        }
    }

    /// Threads or runs may be others than were listed. No answer waits for it: a client that has closed its input is
    /// told of nothing any more, but still reads its answers.
    pub fn list_changed(&self) {
        let Some(peer) = self.peer.get().cloned() else {
            return;
        };
        tokio::spawn(async move {
            // It is gone: nobody to tell.
            let _ = peer.notify_resource_list_changed().await;
        });
    }

    pub fn set_level(&self, level: LoggingLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }

    /// To the client, and to our own log.
    pub fn say(&self, level: Level, text: &str) {
        let level = match level {
            Level::Error => LoggingLevel::Error,
            Level::Warning => LoggingLevel::Warning,
            Level::Info => LoggingLevel::Info,
        };
        let text = present::visible(text);
        tracing::info!("{text}");
        let least = *self.level.lock().unwrap_or_else(PoisonError::into_inner);
        if rank(level) < rank(least) {
            return;
        }
        let Some(peer) = self.peer.get().cloned() else {
            return;
        };
        let message =
            LoggingMessageNotificationParam::new(level, text.into()).with_logger("postil");
        tokio::spawn(async move {
            // It is gone: nobody to tell.
            let _ = peer.notify_logging_message(message).await;
        });
    }
}

fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
