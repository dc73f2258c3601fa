//! Reading a whole tree. Nearly all of it is opening, reading and closing files, so each is opened
//! relative to its folder, read into a buffer that stays, and kept only where it matters; and where an
//! earlier scan was kept, files that have not changed since are not opened at all.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::at::{self, Kind, Obstacle};
use super::known::{self, Known, Mark, Outcome};
use super::walk::{Keeping, Place, Walked, readers, walk};
use super::{FileError, Hit, Note, Scan, is_binary, is_utf16};

/// Absolute paths of the files below `start` (or `start` itself), sorted.
pub(super) fn list(root: &Path, start: &Path) -> io::Result<Vec<PathBuf>> {
    if !std::fs::symlink_metadata(start)?.is_dir() {
        return Ok(vec![start.to_owned()]);
    }
    let each = |found: &mut Vec<PathBuf>, place: &Place| found.push(place.absolute(root));
    let walked = walk(root, start, readers(0), None, &each)?;
    let mut all = walked.states.concat();
    all.sort_unstable();
    Ok(all)
}

/// Absolute paths of the folders below `root` that the scan enters, itself among them; also of those without a file.
pub(super) fn folders(root: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let keeping = Keeping {
        known: None,
        began: at::now(),
    };
    let each = |_: &mut (), _: &Place| {};
    let walked = walk(root, root, readers(0), Some(keeping), &each)?;
    let below = walked.folders.iter().map(|(_, path, _)| path);
    let below = below.filter(|path| !path.is_empty());
    let mut folders: BTreeSet<PathBuf> = below.map(|path| at::below(root, path)).collect();
    folders.insert(root.to_owned());
    Ok(folders)
}

/// What a scan looks for.
pub(super) struct Search<'a> {
    pub max: u64,
    /// A quick look at a file's bytes.
    pub wanted: &'a (dyn Fn(&[u8]) -> bool + Sync),
    /// What is kept of a file that is wanted, by its path relative to the root and its bytes.
    pub note: &'a Note,
}

pub(super) fn scan(
    root: &Path,
    start: &Path,
    threads: usize,
    search: &Search,
    kept: Option<&Path>,
) -> io::Result<Scan> {
    if !std::fs::symlink_metadata(start)?.is_dir() {
        return one(root, start, search);
    }
    // Nothing is ever written into the tree.
    let kept = kept.filter(|place| !place.starts_with(root) && at::is_local(root));
    let Some(kept) = kept else {
        let each = |part: &mut Part, place: &Place| search.look(root, part, place, None);
        return Ok(gather(&mut walk(
            root,
            start,
            readers(threads),
            None,
            &each,
        )?));
    };
    let began = at::now();
    let known = Known::load(kept, root, search.max);
    let known = known.as_ref();
    let keeping = Keeping { known, began };
    let each = |part: &mut Part, place: &Place| search.look(root, part, place, Some(began));
    let mut walked = walk(root, start, readers(threads), Some(keeping), &each)?;
    let scan = gather(&mut walked);
    if let Some(index) = walked.index {
        let parts = walked.states.into_iter().flat_map(|part| part.written);
        let found = (walked.folders, parts.collect());
        let start = start.strip_prefix(root).unwrap_or(Path::new(""));
        let earlier = known.map(|known| (known, start.as_os_str().as_encoded_bytes()));
        if let Err(error) = known::store(kept, root, search.max, index, found, earlier) {
            tracing::debug!("{} was not written: {error}", kept.display());
        }
    }
    tracing::debug!(
        "{} files were read, {} are as they were",
        scan.files,
        scan.known
    );
    Ok(scan)
}

/// A single file, never known.
fn one(root: &Path, start: &Path, search: &Search) -> io::Result<Scan> {
    let mut part = Part::default();
    let name = start
        .file_name()
        .map(|n| std::ffi::CString::new(n.as_encoded_bytes()));
    if let (Some(folder), Some(Ok(name))) = (start.parent(), name) {
        let path = folder.strip_prefix(root).unwrap_or(Path::new(""));
        let handle = super::confine::folder(root, path)?;
        let place = Place {
            folder: &handle,
            path: &at::bytes_of(path.to_owned()),
            name: &name,
            old: None,
            part: (0, 0),
            foreign: false,
        };
        search.look(root, &mut part, &place, None);
    }
    Ok(part.scan)
}

/// Brings together what the threads found.
fn gather(walked: &mut Walked<Part>) -> Scan {
    let mut all = Scan {
        skipped: std::mem::take(&mut walked.failed),
        ..Scan::default()
    };
    for Part { scan, .. } in &mut walked.states {
        all.hits.append(&mut scan.hits);
        all.skipped.append(&mut scan.skipped);
        all.files += scan.files;
        all.known += scan.known;
    }
    all.hits.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    all.skipped.sort_by_cached_key(ToString::to_string);
    all
}

/// What one thread has.
#[derive(Default)]
struct Part {
    scan: Scan,
    buffer: Vec<u8>,
    written: Vec<known::Part>,
}

impl Search<'_> {
    /// Looks at one file; `keeping` since when, where what is found is to be kept.
    fn look(&self, root: &Path, part: &mut Part, place: &Place, keeping: Option<i64>) {
        let Part {
            scan,
            buffer,
            written,
        } = part;
        if let Some(old) = &place.old
            && let Some(mark) = old.mark.filter(|mark| is_still(place, mark))
        {
            scan.known += 1;
            self.take(root, scan, place, old.outcome);
            write(written, place, Some(mark), old.outcome);
            return;
        }
        let shown = || place.relative().display().to_string();
        let (mark, outcome) = match read(place, self.max, buffer, keeping.is_some()) {
            Ok((Some(bytes), mark)) => {
                scan.files += 1;
                let outcome = if is_utf16(bytes) {
                    match (self.wanted)(as_utf8(bytes).as_bytes()) {
                        true => Found::Utf16,
                        false => Found::Nothing,
                    }
                } else if !(self.wanted)(bytes) {
                    Found::Nothing
                } else if is_binary(bytes) {
                    Found::Binary
                } else {
                    let note = (self.note)(&place.relative(), bytes);
                    note.map_or(Found::Nothing, Found::Hit)
                };
                (mark, outcome)
            }
            Ok((None, mark)) => (mark, Found::TooLarge),
            // Removed, or made a link, folder or socket, since its name was read.
            Err(e) if at::obstacle(&e) != Obstacle::Other => (None, Found::Nothing),
            Err(source) => {
                scan.skipped.push(FileError::Io {
                    path: shown(),
                    source,
                });
                (None, Found::Nothing)
            }
        };
        let outcome = match &outcome {
            Found::Nothing => Outcome::Nothing,
            Found::Binary => Outcome::Binary,
            Found::Utf16 => Outcome::Utf16,
            Found::TooLarge => Outcome::TooLarge,
            Found::Hit(note) => Outcome::Hit(note),
        };
        self.take(root, scan, place, outcome);
        if let Some(began) = keeping {
            let mark = mark.filter(|mark| !place.foreign && mark.is_settled(began));
            write(written, place, mark, outcome);
        }
    }

    /// Adds what was found to the scan, now or before.
    fn take(&self, root: &Path, scan: &mut Scan, place: &Place, outcome: Outcome) {
        let shown = || place.relative().display().to_string();
        match outcome {
            Outcome::Nothing => {}
            Outcome::Hit(note) => scan.hits.push(Hit {
                path: place.absolute(root),
                bytes: note.to_owned(),
            }),
            Outcome::TooLarge => scan.skipped.push(FileError::TooLarge(shown(), self.max)),
            Outcome::Binary => scan.skipped.push(FileError::Binary(shown())),
            Outcome::Utf16 => scan.skipped.push(FileError::Utf16(shown())),
        }
    }
}

enum Found {
    Nothing,
    Hit(Vec<u8>),
    TooLarge,
    Binary,
    Utf16,
}

/// What is UTF-16 in UTF-8, for a look at it.
fn as_utf8(bytes: &[u8]) -> String {
    let is_little = bytes.starts_with(&[0xff, 0xfe]);
    let (units, _) = bytes.as_chunks::<2>();
    let units = units.iter().map(|unit| match is_little {
        true => u16::from_le_bytes(*unit),
        false => u16::from_be_bytes(*unit),
    });
    let read = |unit: Result<char, _>| unit.unwrap_or(char::REPLACEMENT_CHARACTER);
    char::decode_utf16(units).map(read).collect()
}

/// Whether the file is in the state that it was read in.
fn is_still(place: &Place, mark: &Mark) -> bool {
    !place.foreign
        && place
            .folder
            .status(place.name)
            .is_ok_and(|status| status.kind == Kind::File && Mark::of(&status) == *mark)
}

fn write(written: &mut Vec<known::Part>, place: &Place, mark: Option<Mark>, outcome: Outcome) {
    if written.last().is_none_or(|part| part.place != place.part) {
        written.push(known::Part::new(place.part));
    }
    if let Some(part) = written.last_mut() {
        part.add(place.name.to_bytes(), mark, outcome);
    }
}

/// The file's bytes in `buffer`; `None` where it has more than `max`. A pipe is empty rather than waited for.
/// With the state that it was in before, where that is asked for.
fn read<'a>(
    place: &Place,
    max: u64,
    buffer: &'a mut Vec<u8>,
    marked: bool,
) -> io::Result<(Option<&'a [u8]>, Option<Mark>)> {
    let mut file = place.folder.read(place.name)?;
    let mark = match marked {
        true => Some(at::status_of_file(&file)?)
            .filter(|status| status.kind == Kind::File)
            .map(|status| Mark::of(&status)),
        false => None,
    };
    let limit = usize::try_from(max).unwrap_or(usize::MAX).saturating_add(1);
    if buffer.is_empty() {
        buffer.resize(FIRST_READ.min(limit), 0);
    }
    let mut filled = 0;
    loop {
        let space = buffer.get_mut(filled..).unwrap_or_default();
        let room = space.len();
        let read = match file.read(space) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        filled += read;
        // Less than there was room for is an ordinary file's end.
        if read < room {
            break;
        }
        if filled >= limit {
            return Ok((None, mark));
        }
        let more = buffer.len().saturating_mul(2).min(limit);
        buffer.resize(more, 0);
    }
    Ok((buffer.get(..filled), mark))
}

/// Most files of source fit, and a look at the size first is saved.
const FIRST_READ: usize = 256 * 1024;
