//! L3. The tree: open buffers first, then the disk. Walking, reading, atomic writing, confinement.

mod at;
mod confine;
mod disk;
mod ignored;
mod known;
mod overlay;
pub mod pack;
mod scan;
mod search;
mod structure;
#[cfg(test)]
mod tests;
mod touched;
mod walk;
mod watch;

pub use at::{Folder, Kind, Status, status};
pub use confine::{folder, make_folder};
pub use disk::hash;
pub use ignored::is_ignore_file;
pub use overlay::{Overlay, Planned};
pub use search::{Found, Hides, Named, Query};
pub use structure::Structure;
pub use touched::Touched;
pub use watch::{News, Watch, watch};

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;

use crate::comments::{Syntax, detect, in_pieces};
use crate::os;
use crate::text::{Change, Document, Encoding, Splice, Unfit, may_show};
use crate::threads::Pieces;

/// An open document as the editor has it. Cheap to clone.
#[derive(Clone)]
pub struct Buffer {
    pub document: Document,
    /// Another one for each text that was opened or changed to. A client may send a new text under a version that it
    /// used already; this tells the two apart.
    pub generation: u64,
    pub syntax: Structure,
    /// What was read of the text, where it can be followed through changes.
    pub pieces: Option<Arc<Pieces>>,
    /// The editor's language id.
    pub language_id: String,
    /// The URI exactly as the editor sent it.
    pub uri: String,
}

/// The open documents of all workspaces, by absolute path; changed by document notifications alone,
/// in wire order. What [`Buffers::get`] gives out is whole: the structure belongs to the text.
#[derive(Default)]
pub struct Buffers {
    open: DashMap<PathBuf, Open>,
    generations: AtomicU64,
    pub touched: Touched,
}

/// Changes are applied as they come; the structure catches up when somebody asks, so that a burst of
/// keystrokes is parsed once.
struct Open {
    buffer: Buffer,
    /// The text that the structure is of, where that is an earlier one.
    before: Option<Document>,
    pending: Vec<Splice>,
    /// The text turned out not to be one that can be read in pieces.
    whole: bool,
}

impl Open {
    /// Brings the structure up to date.
    fn catch_up(&mut self) {
        let Self {
            buffer,
            before,
            pending,
            whole,
        } = self;
        let before = before.take();
        let Buffer {
            document,
            syntax,
            pieces,
            ..
        } = buffer;
        let language = syntax.language();
        let large = in_pieces(document.len(), language);
        if large && !*whole {
            let kept = pieces
                .as_mut()
                .is_some_and(|known| Arc::make_mut(known).update(pending, document));
            if !kept {
                *pieces = Pieces::read(document, language).map(Arc::new);
                *whole = pieces.is_none();
            }
            syntax.update_later(pending, document);
        } else {
            let touched = syntax.update(before.as_ref(), pending, document);
            let text = document.text();
            let kept = pieces
                .as_mut()
                .is_some_and(|known| Arc::make_mut(known).follow(touched, text, syntax));
            if !kept {
                // Of a text with errors the tree may not tell all for as long as they are there.
                let may = !large && !*whole && !syntax.has_errors(text);
                *pieces = may
                    .then(|| Pieces::of_tree(text, syntax))
                    .flatten()
                    .map(Arc::new);
                *whole |= may && pieces.is_none();
            }
        }
        pending.clear();
    }
}

impl Buffers {
    pub fn open(&self, path: PathBuf, uri: &str, language_id: &str, version: i32, text: &str) {
        let name = path.to_string_lossy();
        let language = detect(&name, Some(language_id), head(text));
        let document = Document::new(text, version);
        let large = in_pieces(text.len(), language);
        let pieces = large.then(|| Pieces::read(&document, language)).flatten();
        let buffer = Buffer {
            syntax: Syntax::parse(text, language).into(),
            document,
            generation: self.next_generation(),
            language_id: language_id.to_owned(),
            uri: uri.to_owned(),
            pieces: pieces.map(Arc::new),
        };
        self.open.insert(
            path,
            Open {
                whole: large && buffer.pieces.is_none(),
                buffer,
                before: None,
                pending: Vec::new(),
            },
        );
    }

    fn next_generation(&self) -> u64 {
        self.generations.fetch_add(1, Ordering::Relaxed)
    }

    /// `None`: the document is not open.
    pub fn change(
        &self,
        path: &Path,
        version: i32,
        changes: &[Change],
        encoding: Encoding,
    ) -> Option<Result<(), Unfit>> {
        let mut open = self.open.get_mut(path)?;
        let before = open.buffer.document.clone();
        Some(
            match open.buffer.document.apply(changes, encoding, version) {
                Ok(splices) => {
                    open.buffer.generation = self.next_generation();
                    open.before.get_or_insert(before);
                    open.pending.extend(splices);
                    Ok(())
                }
                Err(unfit) => Err(unfit),
            },
        )
    }

    pub fn get(&self, path: &Path) -> Option<Buffer> {
        {
            let open = self.open.get(path)?;
            if open.pending.is_empty() {
                return Some(open.buffer.clone());
            }
        }
        let mut open = self.open.get_mut(path)?;
        if !open.pending.is_empty() {
            open.catch_up();
        }
        Some(open.buffer.clone())
    }

    /// The text alone, whose structure may be behind.
    pub fn document(&self, path: &Path) -> Option<Document> {
        self.open.get(path).map(|open| open.buffer.document.clone())
    }

    pub fn version(&self, path: &Path) -> Option<i32> {
        self.open
            .get(path)
            .map(|open| open.buffer.document.version())
    }

    /// [`Buffer::generation`] of what is open now.
    pub fn generation(&self, path: &Path) -> Option<u64> {
        self.open.get(path).map(|open| open.buffer.generation)
    }

    pub fn is_open(&self, path: &Path) -> bool {
        self.open.contains_key(path)
    }

    pub fn close(&self, path: &Path) -> bool {
        self.open.remove(path).is_some()
    }

    pub fn paths(&self) -> Vec<PathBuf> {
        self.open.iter().map(|entry| entry.key().clone()).collect()
    }
}

/// A name as text. Of one that is no UTF-8 each byte that cannot be read stands behind a mark, so that two such names are
/// told apart.
pub fn as_text(name: &OsStr) -> Cow<'_, str> {
    if let Some(text) = name.to_str() {
        return Cow::Borrowed(text);
    }
    let mut text = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\u{fffd}{byte:02X}"));
        }
    }
    Cow::Owned(text)
}

/// The beginning of a text, where a shebang, a modeline or another sign of its language would be: with room for a
/// thread above it.
pub fn head(text: &str) -> &str {
    let mut end = text.len().min(8 * 1024);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The default of the setting `threads.maxFileSize`, in bytes.
pub const MAX_SIZE: u64 = 8 * 1024 * 1024;

/// What a read saw, to be compared at the write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The buffer's version; `None`: it was read from disk.
    pub version: Option<i32>,
    /// SHA-256 of the bytes.
    pub hash: [u8; 32],
}

/// A text that was read.
#[derive(Clone)]
pub struct Text {
    /// Absolute.
    pub path: PathBuf,
    pub text: Arc<str>,
    pub seen: Seen,
    /// The bytes were no UTF-8: `text` has replacement characters and must not be written back.
    pub lossy: bool,
    pub buffer: Option<Buffer>,
}

/// What a file that is made has beside its text.
#[derive(Clone, Copy, Default)]
pub struct Like<'a> {
    /// Owner, mode and extended attributes of this one, where it is there …
    pub file: Option<&'a Path>,
    /// … or else these permission bits (`None`: 0644).
    pub mode: Option<u32>,
}

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("path not found: {0}")]
    NotFound(String),
    #[error("{0} is outside the workspace")]
    Outside(String),
    #[error("{0} is a folder, not a file")]
    IsFolder(String),
    #[error("{0} is no ordinary file")]
    NotOrdinary(String),
    #[error("{0} is larger than {1} bytes: raise `threads.maxFileSize` to have it read")]
    TooLarge(String, u64),
    #[error("{0} is binary")]
    Binary(String),
    #[error("{0} is UTF-16, which is not read: save it as UTF-8")]
    Utf16(String),
    #[error("{0} is not valid UTF-8: it can be read but not written")]
    NotUtf8(String),
    #[error("what git tracks is not known, so hidden and ignored files are not looked at: {0}")]
    Untracked(String),
    #[error("{0} changed since it was read")]
    Changed(String),
    #[error("{path} may not be written ({why}); nothing was written")]
    Denied { path: String, why: &'static str },
    #[error("{path}: {source}")]
    Io {
        path: String,
        source: std::io::Error,
    },
}

impl FileError {
    /// Nothing is wrong with the file: see [`is_exhausted`].
    pub fn is_exhausted(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_exhausted(source))
    }
}

/// Whether the process, or the system, has no place for another open file.
pub fn is_exhausted(error: &std::io::Error) -> bool {
    // ENFILE, EMFILE; on Windows ERROR_TOO_MANY_OPEN_FILES.
    let numbers: &[i32] = if cfg!(windows) { &[4] } else { &[23, 24] };
    let number = error.raw_os_error();
    number.is_some_and(|number| numbers.contains(&number))
}

/// One workspace folder as tools and verbs see it.
pub struct Tree {
    root: PathBuf,
    /// As the caller wrote it: editors may name files by it.
    given: PathBuf,
    pub buffers: Arc<Buffers>,
    /// Bytes; larger files are not read from disk, skipped by scans and reported.
    max_size: Arc<AtomicU64>,
    /// Of a turn whose changes are looked at before they are made.
    overlay: Option<Arc<Overlay>>,
}

impl Tree {
    /// `root` is made canonical; it must be a folder.
    pub fn new(root: &Path, buffers: Arc<Buffers>) -> Result<Self, FileError> {
        let shown = || root.display().to_string();
        let canonical = os::canonical(root).map_err(|e| confine::error(&shown(), e))?;
        if !canonical.is_dir() {
            return Err(FileError::NotOrdinary(shown()));
        }
        let given = std::path::absolute(root).unwrap_or_else(|_| canonical.clone());
        Ok(Self {
            root: canonical,
            given,
            buffers,
            max_size: Arc::new(AtomicU64::new(MAX_SIZE)),
            overlay: None,
        })
    }

    /// The same tree for a turn whose changes are looked at before they are made.
    pub fn with_overlay(&self, overlay: Arc<Overlay>) -> Self {
        Self {
            root: self.root.clone(),
            given: self.given.clone(),
            buffers: self.buffers.clone(),
            max_size: self.max_size.clone(),
            overlay: Some(overlay),
        }
    }

    pub fn max_size(&self) -> u64 {
        self.max_size.load(Ordering::Relaxed)
    }

    /// `true`: it was another.
    pub fn set_max_size(&self, bytes: u64) -> bool {
        self.max_size.swap(bytes, Ordering::Relaxed) != bytes
    }

    pub fn overlay(&self) -> Option<&Overlay> {
        self.overlay.as_deref()
    }

    fn planned(&self, resolved: &Path) -> Option<Planned> {
        self.overlay.as_ref()?.get(resolved)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The absolute path of `path` (relative to the root, or absolute inside it); refused outside,
    /// symlinks resolved. The last components need not exist.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Result<PathBuf, FileError> {
        confine::resolve(&self.root, &self.given, path.as_ref())
    }

    /// Relative to the root, with `/`; `None` outside. Links are not looked at.
    pub fn relative(&self, path: &Path) -> Option<String> {
        let rest = path
            .strip_prefix(&self.root)
            .or_else(|_| path.strip_prefix(&self.given))
            .ok()?;
        let parts: Vec<_> = rest.components().map(|c| as_text(c.as_os_str())).collect();
        Some(parts.join("/"))
    }

    /// The name under which the editor has the file of a resolved path open: its own, or that of another one in whose
    /// place a link to it stands by now.
    pub fn open_as(&self, resolved: &Path) -> Option<PathBuf> {
        if self.buffers.is_open(resolved) {
            return Some(resolved.to_owned());
        }
        let link = |path: &PathBuf| path.starts_with(&self.root) && path.is_symlink();
        let mut links = self.buffers.paths().into_iter().filter(link);
        links.find(|path| self.resolve(path).is_ok_and(|r| r == resolved))
    }

    /// The open buffer of a resolved path.
    pub fn buffer(&self, resolved: &Path) -> Option<Buffer> {
        self.buffers.get(&self.open_as(resolved)?)
    }

    /// The buffer where one is open, else the disk (opened below the root without following links out of it).
    /// A byte-order mark stays in the text.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Text, FileError> {
        let resolved = self.resolve(path)?;
        let at_hand = match self.planned(&resolved) {
            Some(planned) => {
                let text = planned.after;
                Some((
                    text.ok_or_else(|| FileError::NotFound(self.shown(&resolved)))?,
                    None,
                ))
            }
            None => self
                .buffer(&resolved)
                .map(|buffer| (buffer.document.text().into(), Some(buffer))),
        };
        if let Some((text, buffer)) = at_hand {
            let seen = Seen {
                version: buffer.as_ref().map(|buffer| buffer.document.version()),
                hash: hash(text.as_bytes()),
            };
            return Ok(Text {
                path: resolved,
                text,
                seen,
                lossy: false,
                buffer,
            });
        }
        let bytes = self.read_bytes(&resolved)?;
        if is_utf16(&bytes) {
            return Err(FileError::Utf16(self.shown(&resolved)));
        }
        if is_binary(&bytes) {
            return Err(FileError::Binary(self.shown(&resolved)));
        }
        let seen = Seen {
            version: None,
            hash: hash(&bytes),
        };
        let (text, lossy) = match String::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(e) => (String::from_utf8_lossy(e.as_bytes()).into_owned(), true),
        };
        Ok(Text {
            path: resolved,
            text: text.into(),
            seen,
            lossy,
            buffer: None,
        })
    }

    /// The file's bytes on disk, whatever an editor has; binary or not.
    pub fn read_bytes(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        let resolved = self.resolve(path)?;
        let shown = self.shown(&resolved);
        disk::place(&self.root, &resolved, &shown)?.read(self.max_size())
    }

    /// Writes `content` atomically (temporary file beside it, fsync, rename), keeping mode, links and owner;
    /// `seen` is compared with what is there at that moment (`None`: the file must not exist; parents are made).
    /// Only for files that are not open in an editor.
    pub fn write(
        &self,
        path: impl AsRef<Path>,
        content: &[u8],
        seen: Option<&Seen>,
    ) -> Result<(), FileError> {
        let resolved = self.resolve(path)?;
        let shown = self.shown(&resolved);
        if self.buffer(&resolved).is_some() {
            // Opened since it was read: its owner is the editor now.
            return Err(FileError::Changed(shown));
        }
        if seen.is_none() {
            return self.make(&resolved, content, Like::default());
        }
        let place = disk::place(&self.root, &resolved, &shown)?;
        let written = place.replace(content, seen.map(|s| &s.hash));
        self.touched(&resolved, written)
    }

    fn touched(&self, resolved: &Path, written: Result<(), FileError>) -> Result<(), FileError> {
        written.inspect(|()| self.buffers.touched.note(resolved))
    }

    /// Makes a file that must not exist, and the folders above it.
    pub fn make(&self, path: &Path, content: &[u8], like: Like) -> Result<(), FileError> {
        let resolved = self.resolve(path)?;
        let shown = self.shown(&resolved);
        let other = like.file.and_then(|file| self.resolve(file).ok());
        let missing = self.missing_folders(&resolved);
        let make = || {
            if let Some(parent) = resolved
                .parent()
                .and_then(|p| p.strip_prefix(&self.root).ok())
            {
                confine::make_folder(&self.root, parent).map_err(|e| confine::error(&shown, e))?;
            }
            let other = other.as_deref();
            let other = other.and_then(|other| disk::place(&self.root, other, &shown).ok());
            disk::place(&self.root, &resolved, &shown)?.make(content, other.as_ref(), like.mode)
        };
        let made = make().inspect_err(|_| self.remove_folders(&resolved, missing));
        self.touched(&resolved, made)
    }

    /// How many folders above a resolved path are not there.
    pub fn missing_folders(&self, resolved: &Path) -> u32 {
        let above = resolved.ancestors().skip(1);
        let missing = above.take_while(|folder| folder.starts_with(&self.root) && !folder.exists());
        u32::try_from(missing.count()).unwrap_or(0)
    }

    /// What stands above a resolved path and is no folder.
    pub fn file_above(&self, resolved: &Path) -> Option<PathBuf> {
        let mut above = resolved.ancestors().skip(1);
        let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|found| !found.is_dir());
        above
            .find(|path| *path == self.root || is_file(path))
            .filter(|path| *path != self.root)
            .map(Path::to_owned)
    }

    /// Removes so many of the folders above a path, from the lowest up, as far as they are empty.
    pub fn remove_folders(&self, path: &Path, count: u32) {
        let Ok(resolved) = self.resolve(path) else {
            return;
        };
        let above = resolved.ancestors().skip(1);
        for folder in above.take(usize::try_from(count).unwrap_or(0)) {
            let shown = self.shown(folder);
            match disk::place(&self.root, folder, &shown).and_then(|p| p.remove_folder()) {
                Ok(()) | Err(FileError::NotFound(_)) => {}
                Err(_) => return,
            }
        }
    }

    /// The permission bits of a file, where there is one.
    pub fn mode(&self, path: &Path) -> Option<u32> {
        let resolved = self.resolve(path).ok()?;
        let shown = self.shown(&resolved);
        let place = disk::place(&self.root, &resolved, &shown).ok()?;
        Some(place.status().ok().flatten()?.mode & 0o777)
    }

    /// Whether the disk holds this text, as [an editor shows it](may_show).
    pub fn is_saved(&self, path: &Path, text: &str) -> bool {
        self.read_bytes(path)
            .is_ok_and(|bytes| may_show(&bytes, text.as_bytes()))
    }

    /// Removes a file that still is what was `seen`. Only for files that are not open in an editor.
    pub fn remove(&self, path: &Path, seen: &Seen) -> Result<(), FileError> {
        let resolved = self.resolve(path)?;
        let shown = self.shown(&resolved);
        if self.buffer(&resolved).is_some() {
            return Err(FileError::Changed(shown));
        }
        let removed = disk::place(&self.root, &resolved, &shown)?.remove(&seen.hash);
        self.touched(&resolved, removed)
    }

    /// Every file that the scan reads below `path` (absolute paths, sorted): tracked ∪ (untracked − ignored − hidden).
    /// Links are not followed; what does not exist on disk, tracked or open in an editor, is not listed.
    pub fn list(&self, path: &str) -> Result<Vec<PathBuf>, FileError> {
        let start = self.resolve(path)?;
        scan::list(&self.root, &start).map_err(|e| confine::error(path, e))
    }

    /// Every folder (absolute) that [`Self::list`] of the whole tree looks into.
    pub fn folders(&self) -> Result<BTreeSet<PathBuf>, FileError> {
        scan::folders(&self.root).map_err(|e| confine::error(&self.shown(&self.root), e))
    }

    /// Those with files in or below them that git tracks (absolute), without a walk: some need not be there.
    pub fn tracked_folders(&self) -> Vec<PathBuf> {
        walk::tracked_folders(&self.root)
    }

    /// Whether [`Self::list`] of the whole tree names this file (absolute).
    pub fn lists(&self, file: &Path) -> bool {
        walk::lists(&self.root, file)
    }

    /// Whether the scan of the whole tree would enter this folder (absolute).
    pub fn enters(&self, folder: &Path) -> bool {
        walk::enters(&self.root, folder)
    }

    /// Reads every file that [`Self::list`] names, from the disk alone, with `threads` readers, and keeps
    /// those that are `wanted`.
    pub fn scan(
        &self,
        path: &str,
        threads: usize,
        wanted: impl Fn(&[u8]) -> bool + Sync,
    ) -> Result<Scan, FileError> {
        let note = |_: &Path, bytes: &[u8]| Some(bytes.to_owned());
        self.scan_for(Path::new(path), threads, &wanted, &note, None)
    }

    /// The same, where of a file that is wanted (a quick look) a note is made of its path relative to the
    /// root and its bytes: the hit has that note for bytes. A file of the user's cache, for this tree and
    /// this kind of note alone, saves the reading of what has not changed since; the answer is the same.
    pub fn scan_for(
        &self,
        path: &Path,
        threads: usize,
        wanted: &(dyn Fn(&[u8]) -> bool + Sync),
        note: &Note,
        kept: Option<&Path>,
    ) -> Result<Scan, FileError> {
        let start = self.resolve(path)?;
        let search = scan::Search {
            max: self.max_size(),
            wanted,
            note,
        };
        scan::scan(&self.root, &start, threads, &search, kept)
            .map_err(|e| confine::error(&self.shown(&start), e))
    }

    fn shown(&self, resolved: &Path) -> String {
        match self.relative(resolved) {
            Some(root) if root.is_empty() => String::from("."),
            Some(relative) => relative,
            None => resolved.display().to_string(),
        }
    }
}

/// What a scan found, in the order of paths.
#[derive(Debug, Default)]
pub struct Scan {
    pub hits: Vec<Hit>,
    /// Passed over: too large, unreadable, or wanted but binary or UTF-16.
    pub skipped: Vec<FileError>,
    /// Files that were read.
    pub files: usize,
    /// Files that had not changed since they were read before.
    pub known: usize,
}

/// Makes a note of a file by its path relative to the root and its bytes; `None`: there is nothing in it.
pub type Note = dyn Fn(&Path, &[u8]) -> Option<Vec<u8>> + Sync;

/// A file that is wanted.
#[derive(Debug)]
pub struct Hit {
    /// Absolute.
    pub path: PathBuf,
    /// As it is on disk, or the note that was made of it.
    pub bytes: Vec<u8>,
}

/// Whether the mark of byte order is UTF-16's; no UTF-8 begins so.
pub fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

/// Git's rule: a NUL among the first 8000 bytes.
pub fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes.get(..8000).unwrap_or(bytes)).is_some()
}
