//! Which messages the author typed here. Only a hash of the text is kept.

use rusqlite::params;
use sha2::{Digest as _, Sha256};

use super::{Store, StoreError};

impl Store {
    /// The author typed this message here (`didChange`, `postil new`, `postil say`). `waits`: until another process
    /// has written; else that is soon an error, for whoever asks has others waiting.
    pub fn note_typed(&self, file: &str, text: &str, waits: bool) -> Result<(), StoreError> {
        let connection = match waits {
            true => self.durable(),
            false => self.brief(),
        };
        connection
            .prepare_cached("INSERT OR IGNORE INTO typed (file, text) VALUES (?1, ?2)")
            .and_then(|mut statement| statement.execute(params![file, digest(text)]))
            .map_err(|e| self.fault(e))?;
        Ok(())
    }

    pub fn was_typed(&self, file: &str, text: &str) -> Result<bool, StoreError> {
        self.light()
            .prepare_cached("SELECT 1 FROM typed WHERE file = ?1 AND text = ?2")
            .and_then(|mut statement| statement.exists(params![file, digest(text)]))
            .map_err(|e| self.fault(e))
    }
}

fn digest(text: &str) -> Vec<u8> {
    Sha256::digest(text.as_bytes()).to_vec()
}
