//! What git tracks.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::ops::Range;
use std::path::Path;

/// The files that git tracks below the root.
#[derive(Default)]
pub(super) struct Tracked {
    /// Their names relative to the root, as they were listed: one text, for a large tree has very many.
    names: Vec<u8>,
    /// Each folder with tracked files in or below it, and where the last parts of the names of its own files stand,
    /// in the order of these.
    folders: HashMap<Vec<u8>, Vec<Range<usize>>>,
    /// A fingerprint of the names.
    pub print: u64,
    /// Why they are not known.
    pub failed: Option<String>,
}

/// The tracked files of one folder.
pub(super) struct Files<'a> {
    names: &'a [u8],
    places: &'a [Range<usize>],
}

impl Tracked {
    pub fn of(root: &Path) -> Self {
        match crate::vcs::tracked(root) {
            Ok(names) => Self::new(names),
            Err(error) => Self {
                failed: Some(error),
                ..Self::default()
            },
        }
    }

    /// `names`: each ended by a NUL.
    fn new(names: Vec<u8>) -> Self {
        let mut folders: HashMap<Vec<u8>, Vec<Range<usize>>> = HashMap::new();
        // Neighbours in the index mostly share their folder.
        let (mut folder, mut places) = (Vec::new(), Vec::new());
        let mut start = 0;
        for end in memchr::memchr_iter(0, &names) {
            let name = names.get(start..end).unwrap_or_default();
            let above = folder_of(name);
            if above.unwrap_or_default() != folder {
                keep(&mut folders, &folder, &mut places);
                folder = above.unwrap_or_default().to_vec();
            }
            places.push(start + above.map_or(0, |above| above.len() + 1)..end);
            start = end + 1;
        }
        keep(&mut folders, &folder, &mut places);
        let part = |place: &Range<usize>| names.get(place.clone());
        for places in folders.values_mut() {
            if !places.is_sorted_by_key(part) {
                places.sort_by_key(part);
            }
        }

        let mut hasher = DefaultHasher::new();
        hasher.write(&names);
        Self {
            print: hasher.finish(),
            names,
            folders,
            failed: None,
        }
    }

    /// Whether a tracked file is in or below this folder.
    pub fn has_folder(&self, path: &[u8]) -> bool {
        self.folders.contains_key(path)
    }

    /// All of which [`Self::has_folder`] says yes; the root's name is empty.
    pub fn folders(&self) -> impl Iterator<Item = &[u8]> {
        self.folders.keys().map(Vec::as_slice)
    }

    pub fn has_file(&self, path: &[u8]) -> bool {
        let folder = folder_of(path);
        let name = path.get(folder.map_or(0, |folder| folder.len() + 1)..);
        let files = self.files(folder.unwrap_or_default());
        name.is_some_and(|name| files.have(name))
    }

    /// Those of one folder, not of what is below.
    pub fn files(&self, folder: &[u8]) -> Files<'_> {
        Files {
            names: &self.names,
            places: self.folders.get(folder).map_or(&[], Vec::as_slice),
        }
    }
}

impl Files<'_> {
    pub fn have(&self, name: &[u8]) -> bool {
        let part = |place: &Range<usize>| self.names.get(place.clone());
        self.places.binary_search_by_key(&Some(name), part).is_ok()
    }
}

/// What is before the last `/`.
fn folder_of(path: &[u8]) -> Option<&[u8]> {
    path.get(..memchr::memrchr(b'/', path)?)
}

fn keep(
    folders: &mut HashMap<Vec<u8>, Vec<Range<usize>>>,
    folder: &[u8],
    places: &mut Vec<Range<usize>>,
) {
    if places.is_empty() {
        return;
    }
    let mut above = folder_of(folder);
    while let Some(path) = above.filter(|path| !folders.contains_key(*path)) {
        folders.insert(path.to_vec(), Vec::new());
        above = folder_of(path);
    }
    folders.entry(folder.to_vec()).or_default().append(places);
}
