//! Who writes into a repository: one of this process at a time. git locks its index and a ref for as long as it writes
//! one, and refuses whoever comes meanwhile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

use super::common_folder;

/// By the folder that a repository's worktrees share.
static REPOSITORIES: Mutex<BTreeMap<PathBuf, Arc<tokio::sync::Mutex<()>>>> =
    Mutex::new(BTreeMap::new());

/// Waits until nobody else here writes into the repository of this file (canonical), and keeps others from it until
/// what is returned is dropped.
pub async fn turn_in(path: &Path) -> OwnedMutexGuard<()> {
    let folder = path.parent().unwrap_or(path);
    let repository = common_folder(folder).unwrap_or_else(|| folder.to_owned());
    let turn = REPOSITORIES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(repository)
        .or_default()
        .clone();
    turn.lock_owned().await
}
