//! Reading a whole tree. Nearly all of it is opening, reading and closing files, so each is opened
//! relative to its folder, read into a buffer that stays, and kept only where it matters.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::walk::{Place, readers, walk};
use super::{FileError, Hit, Scan, is_binary};

/// Absolute paths of the files below `start` (or `start` itself), sorted.
pub(super) fn list(root: &Path, start: &Path) -> io::Result<Vec<PathBuf>> {
    if !std::fs::symlink_metadata(start)?.is_dir() {
        return Ok(vec![start.to_owned()]);
    }
    let each = |found: &mut Vec<PathBuf>, place: &Place| found.push(root.join(place.relative()));
    let (found, _) = walk(root, start, readers(0), &each)?;
    let mut all = found.concat();
    all.sort_unstable();
    Ok(all)
}

pub(super) fn scan(
    root: &Path,
    start: &Path,
    threads: usize,
    max: u64,
    wanted: &(impl Fn(&[u8]) -> bool + Sync),
) -> io::Result<Scan> {
    let each = |part: &mut Part, place: &Place| {
        let Part { scan, buffer } = part;
        let shown = || place.relative().display().to_string();
        match read(place, max, buffer) {
            Ok(Some(bytes)) => {
                scan.files += 1;
                if !wanted(bytes) {
                } else if is_binary(bytes) {
                    scan.skipped.push(FileError::Binary(shown()));
                } else {
                    scan.hits.push(Hit {
                        path: root.join(place.relative()),
                        bytes: bytes.to_owned(),
                    });
                }
            }
            Ok(None) => scan.skipped.push(FileError::TooLarge(shown(), max)),
            // Removed, or made a link, folder or socket, since its name was read.
            Err(e)
                if matches!(
                    Errno::from_io_error(&e),
                    Some(
                        Errno::NOENT
                            | Errno::NOTDIR
                            | Errno::LOOP
                            | Errno::ISDIR
                            | Errno::NXIO
                            | Errno::AGAIN
                    )
                ) => {}
            Err(source) => scan.skipped.push(FileError::Io {
                path: shown(),
                source,
            }),
        }
    };
    let (parts, failed) = if std::fs::symlink_metadata(start)?.is_dir() {
        walk(root, start, readers(threads), &each)?
    } else {
        let mut part = Part::default();
        let name = start
            .file_name()
            .map(|n| std::ffi::CString::new(n.as_encoded_bytes()));
        if let (Some(folder), Some(Ok(name))) = (start.parent(), name) {
            let path = folder.strip_prefix(root).unwrap_or(Path::new(""));
            let handle = super::confine::folder(root, path)?;
            let path = path.as_os_str().as_encoded_bytes();
            each(
                &mut part,
                &Place {
                    folder: &handle,
                    path,
                    name: &name,
                },
            );
        }
        (vec![part], Vec::new())
    };
    let mut all = Scan {
        skipped: failed,
        ..Scan::default()
    };
    for Part { mut scan, .. } in parts {
        all.hits.append(&mut scan.hits);
        all.skipped.append(&mut scan.skipped);
        all.files += scan.files;
    }
    all.hits.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    all.skipped.sort_by_cached_key(ToString::to_string);
    Ok(all)
}

/// What one thread has.
#[derive(Default)]
struct Part {
    scan: Scan,
    buffer: Vec<u8>,
}

/// The file's bytes in `buffer`; `None` where it has more than `max`. A pipe is empty rather than waited for.
fn read<'a>(place: &Place, max: u64, buffer: &'a mut Vec<u8>) -> io::Result<Option<&'a [u8]>> {
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(
        place.folder,
        place.name,
        flags,
        Mode::empty(),
    )?);
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
            return Ok(None);
        }
        let more = buffer.len().saturating_mul(2).min(limit);
        buffer.resize(more, 0);
    }
    Ok(buffer.get(..filled))
}

/// Most files of source fit, and a look at the size first is saved.
const FIRST_READ: usize = 256 * 1024;
