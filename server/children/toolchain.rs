//! Which toolchain rustup's stand-ins of programs run: of the user's own, or one that a folder brings.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// In the order in which rustup looks for them in a folder; the first may hold a toolchain's name alone.
const FILES: &[&str] = &["rust-toolchain", "rust-toolchain.toml"];
/// More is no such file.
const MOST: u64 = 64 << 10;

/// The file at or above `folder` that names a toolchain by its path: programs of the workspace, perhaps, that an agent may
/// have put there. The same for a file that cannot be read, for rustup may read it.
pub(super) fn by_path(folder: &Path) -> Option<PathBuf> {
    for folder in folder.ancestors() {
        let files = FILES.iter().map(|name| folder.join(name));
        let mut there = files
            .filter(|file| file.symlink_metadata().is_ok())
            .peekable();
        if there.peek().is_some() {
            return there.find(|file| !names_channel(file));
        }
    }
    None
}

fn names_channel(file: &Path) -> bool {
    let is_small = file
        .metadata()
        .is_ok_and(|about| about.is_file() && about.len() <= MOST);
    let Some(text) = is_small
        .then(|| std::fs::read_to_string(file).ok())
        .flatten()
    else {
        return false;
    };
    match toml::from_str::<Value>(&text) {
        Ok(value) => value
            .get("toolchain")
            .is_some_and(|t| t.get("path").is_none()),
        Err(_) => text.trim().lines().count() <= 1 && !text.contains(['/', '\\']),
    }
}
