//! What git tracks.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use super::at;

/// Paths that git tracks, relative to the root, and the folders that they are in.
#[derive(Default)]
pub(super) struct Tracked {
    pub files: HashSet<Vec<u8>>,
    pub folders: HashSet<Vec<u8>>,
    /// A fingerprint of the names.
    pub print: u64,
    /// Why they are not known.
    pub failed: Option<String>,
}

impl Tracked {
    pub fn of(root: &Path) -> Self {
        let mut tracked = Self::default();
        let files = crate::vcs::tracked(root).unwrap_or_else(|error| {
            tracked.failed = Some(error);
            Vec::new()
        });
        tracked.files.reserve(files.len());
        let mut last = Vec::new();
        let mut hasher = DefaultHasher::new();
        for file in files {
            let file = at::bytes_of(file);
            file.hash(&mut hasher);
            let folder = file
                .iter()
                .rposition(|b| *b == b'/')
                .and_then(|at| file.get(..at))
                .unwrap_or_default();
            // Neighbours in the index mostly share their folder.
            if folder != last {
                last = folder.to_vec();
                let mut above = folder;
                while !above.is_empty() && !tracked.folders.contains(above) {
                    tracked.folders.insert(above.to_vec());
                    above = above
                        .iter()
                        .rposition(|b| *b == b'/')
                        .and_then(|at| above.get(..at))
                        .unwrap_or_default();
                }
            }
            tracked.files.insert(file);
        }
        tracked.print = hasher.finish();
        tracked
    }
}
