//! What an earlier scan of a tree found, kept in a file of the user's cache, so that the next one needs a
//! look at each file's state (`stat`) and reads only what changed.
//!
//! A file is taken as known where its time of change (`ctime`, which nobody can set), time of modification,
//! size and inode are those of the earlier read, and that time lay far enough before the earlier scan that
//! a later change must show (git's "racily clean" files are read again). A folder's list is taken as known by
//! the same rule, and where the names that git tracks and the rules of ignored names are the same.
//! The file is one whole: written beside and renamed, so that processes need no lock; with a checksum and
//! with the identity of the program, so that a damaged or foreign one is passed over and written anew.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::OnceLock;

use super::at::{self, Folder, Status};
use super::ignored::Makes;
use super::pack::{self, Reader};

const SECOND: i64 = 1_000_000_000;
const MAGIC: &[u8] = b"postil: what a scan found, 2\n";
const CHECKSUM: usize = 8;
/// A larger file is not ours.
const LARGEST: u64 = 2 << 30;
/// So many workspaces are remembered; those that were used longest ago are forgotten.
const MOST: usize = 100;

/// The state of a file or folder that stands for its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Nanoseconds since 1970.
    changed: i64,
    modified: i64,
    size: i64,
    inode: i64,
}

impl Mark {
    pub(super) fn of(status: &Status) -> Self {
        Self {
            changed: status.changed,
            modified: status.modified,
            size: status.size.cast_signed(),
            inode: status.inode.cast_signed(),
        }
    }

    /// Whether every change after a look that began at `began` must show as another mark. Times of files
    /// move in steps: those of the clock (see [`at::now`]), and on some file systems 10 ms or two seconds.
    pub(super) fn is_settled(&self, began: i64) -> bool {
        let step = if self.changed % SECOND == 0 {
            2 * SECOND
        } else {
            SECOND / 50
        };
        self.changed.saturating_add(step) < began
    }

    fn put(&self, out: &mut Vec<u8>, last: &Mark) {
        pack::signed(out, self.changed.wrapping_sub(last.changed));
        pack::signed(out, self.modified.wrapping_sub(self.changed));
        pack::signed(out, self.size);
        pack::signed(out, self.inode.wrapping_sub(last.inode));
    }

    fn get(reader: &mut Reader, last: &Mark) -> Option<Self> {
        let changed = last.changed.wrapping_add(reader.signed()?);
        Some(Self {
            changed,
            modified: changed.wrapping_add(reader.signed()?),
            size: reader.signed()?,
            inode: last.inode.wrapping_add(reader.signed()?),
        })
    }
}

/// What a file was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome<'a> {
    Nothing,
    /// What the caller noted of it.
    Hit(&'a [u8]),
    TooLarge,
    Binary,
    Utf16,
}

/// A file as the earlier scan left it; without a mark it is to be read again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Old<'a> {
    pub mark: Option<Mark>,
    pub outcome: Outcome<'a>,
}

/// Some files of one folder, being written down.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Number of the folder in this walk, and of the part in it.
    pub place: (u32, u32),
    count: u64,
    bytes: Vec<u8>,
    last: Mark,
}

impl Part {
    pub(super) fn new(place: (u32, u32)) -> Self {
        Self {
            place,
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, name: &[u8], mark: Option<Mark>, outcome: Outcome) {
        let kind = match outcome {
            Outcome::Nothing => 0,
            Outcome::Hit(_) => 1,
            Outcome::TooLarge => 2,
            Outcome::Binary => 3,
            Outcome::Utf16 => 4,
        };
        self.count += 1;
        pack::bytes(&mut self.bytes, name);
        self.bytes.push(kind | u8::from(mark.is_some()) << 3);
        if let Some(mark) = mark {
            mark.put(&mut self.bytes, &self.last);
            self.last = mark;
        }
        if let Outcome::Hit(note) = outcome {
            pack::bytes(&mut self.bytes, note);
        }
    }
}

/// The files of a part that was read back.
pub(super) struct Files<'a> {
    left: usize,
    reader: Reader<'a>,
    last: Mark,
}

impl<'a> Iterator for Files<'a> {
    type Item = (&'a [u8], Old<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let name = self.reader.bytes()?;
        let kind = self.reader.byte()?;
        let mark = if kind & 8 == 0 {
            None
        } else {
            self.last = Mark::get(&mut self.reader, &self.last)?;
            Some(self.last)
        };
        let outcome = match kind & 7 {
            0 => Outcome::Nothing,
            1 => Outcome::Hit(self.reader.bytes()?),
            2 => Outcome::TooLarge,
            3 => Outcome::Binary,
            _ => Outcome::Utf16,
        };
        Some((name, Old { mark, outcome }))
    }
}

/// A folder's list: what is in it that the scan looks at, and by what it was made.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub mark: Option<Mark>,
    pub tracked_only: bool,
    pub makes: Makes,
    /// Of the tracked names and the rules.
    pub print: u64,
    /// Name, and whether only what is tracked counts below.
    pub folders: Vec<(Vec<u8>, bool)>,
}

impl Head {
    fn put(&self, out: &mut Vec<u8>) {
        let bits = [
            self.mark.is_some(),
            self.tracked_only,
            self.makes.git,
            self.makes.gitignore,
            self.makes.ignore,
        ];
        let bits = bits
            .iter()
            .rev()
            .fold(0, |all, bit| all << 1 | u8::from(*bit));
        out.push(bits);
        if let Some(mark) = self.mark {
            mark.put(out, &Mark::default());
        }
        out.extend_from_slice(&self.print.to_le_bytes());
        pack::number(out, self.folders.len() as u64);
        for (name, tracked_only) in &self.folders {
            pack::bytes(out, name);
            out.push(u8::from(*tracked_only));
        }
    }

    fn get(reader: &mut Reader) -> Option<Self> {
        let bits = reader.byte()?;
        let bit = |n: u8| bits >> n & 1 == 1;
        let mark = match bit(0) {
            true => Some(Mark::get(reader, &Mark::default())?),
            false => None,
        };
        let print = u64::from_le_bytes(reader.take(8)?.try_into().ok()?);
        let count = reader.number()?;
        let mut folders = Vec::new();
        for _ in 0..count {
            folders.push((reader.bytes()?.to_vec(), reader.byte()? != 0));
        }
        Some(Self {
            mark,
            tracked_only: bit(1),
            makes: Makes {
                git: bit(2),
                gitignore: bit(3),
                ignore: bit(4),
            },
            print,
            folders,
        })
    }
}

/// A folder's number in a walk, its path and its list.
pub(super) type Listed = (u32, Vec<u8>, Head);

/// The git index that a scan worked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Index {
    /// Of the index's place and the work tree's.
    pub place: u64,
    pub mark: Option<Mark>,
    /// Of the tracked names.
    pub names: u64,
}

/// What an earlier scan found.
pub(super) struct Known {
    bytes: Vec<u8>,
    pub index: Index,
    /// For each folder, by path: where its path and what follows lie in `bytes`.
    folders: Vec<(std::ops::Range<usize>, std::ops::Range<usize>)>,
}

impl Known {
    /// `None`: there is none for this tree, or not by this program, or it is damaged.
    pub(super) fn load(place: &Path, root: &Path, max: u64) -> Option<Self> {
        let folder = Folder::open(place.parent()?).ok()?;
        let mut file = folder.read(place.file_name()?).ok()?;
        let meta = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let size = usize::try_from(meta.len()).ok()?;
        if meta.len() > LARGEST {
            return None;
        }
        let mut bytes = Vec::with_capacity(size.saturating_add(1));
        file.read_to_end(&mut bytes).ok()?;
        let body = bytes.len().checked_sub(CHECKSUM)?;
        let (content, sum) = bytes.split_at_checked(body)?;
        if sum != checksum(content) {
            tracing::debug!("{} is damaged and is written anew", place.display());
            return None;
        }
        bytes.truncate(body);
        Self::read(bytes, root, max)
    }

    fn read(bytes: Vec<u8>, root: &Path, max: u64) -> Option<Self> {
        let rest = bytes.strip_prefix(&*preamble(root, max)?)?;
        let mut reader = Reader::new(rest);
        let marked = reader.byte()? != 0;
        let index = Index {
            place: reader.number()?,
            names: reader.number()?,
            mark: match marked {
                true => Some(Mark::get(&mut reader, &Mark::default())?),
                false => None,
            },
        };
        let mut folders = Vec::new();
        while !reader.is_empty() {
            let block = reader.bytes()?;
            let end = bytes.len() - reader.rest().len();
            let mut inside = Reader::new(block);
            let path = inside.bytes()?;
            let start = end - inside.rest().len();
            folders.push((start - path.len()..start, start..end));
        }
        let known = Self {
            bytes,
            index,
            folders,
        };
        let paths = known.folders.iter().map(|(path, _)| known.at(path));
        paths.is_sorted().then_some(known)
    }

    fn at(&self, range: &std::ops::Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// A folder's list and the parts that its files are in.
    pub(super) fn folder(&self, path: &[u8]) -> Option<(Head, Vec<&[u8]>)> {
        let found = self
            .folders
            .binary_search_by(|(other, _)| self.at(other).cmp(path));
        let (_, block) = self.folders.get(found.ok()?)?;
        let mut reader = Reader::new(self.at(block));
        let head = Head::get(&mut reader)?;
        let mut parts = Vec::new();
        while !reader.is_empty() {
            parts.push(reader.bytes()?);
        }
        Some((head, parts))
    }

    pub(super) fn files(part: &[u8]) -> Files<'_> {
        let mut reader = Reader::new(part);
        Files {
            left: reader.size().unwrap_or(0),
            reader,
            last: Mark::default(),
        }
    }
}

/// Writes down what a scan of `start` (relative to the root) found: what `known` has of other folders stays.
pub(super) fn store(
    place: &Path,
    root: &Path,
    max: u64,
    index: Index,
    found: (Vec<Listed>, Vec<Part>),
    known: Option<(&Known, &[u8])>,
) -> io::Result<()> {
    let Some(mut out) = preamble(root, max) else {
        return Ok(());
    };
    out.push(u8::from(index.mark.is_some()));
    pack::number(&mut out, index.place);
    pack::number(&mut out, index.names);
    if let Some(mark) = index.mark {
        mark.put(&mut out, &Mark::default());
    }

    let (mut folders, mut parts) = found;
    folders.sort_unstable_by_key(|(number, _, _)| *number);
    parts.sort_unstable_by_key(|part| part.place);
    let mut parts = parts.into_iter().peekable();
    let mut blocks: Vec<(Vec<u8>, Vec<u8>)> = Vec::with_capacity(folders.len());
    for (number, path, head) in folders {
        let mut block = Vec::new();
        pack::bytes(&mut block, &path);
        head.put(&mut block);
        while let Some(part) = parts.next_if(|part| part.place.0 <= number) {
            if part.place.0 == number {
                let mut packed = Vec::with_capacity(part.bytes.len() + 4);
                pack::number(&mut packed, part.count);
                packed.extend_from_slice(&part.bytes);
                pack::bytes(&mut block, &packed);
            }
        }
        blocks.push((path, block));
    }
    if let Some((known, start)) = known.filter(|(_, start)| !start.is_empty()) {
        let below = |path: &[u8]| {
            path.strip_prefix(start)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        let visited: HashSet<Vec<u8>> = blocks.iter().map(|(path, _)| path.clone()).collect();
        for (path, block) in &known.folders {
            let path = known.at(path);
            if !below(path) && !visited.contains(path) {
                let mut copy = Vec::new();
                pack::bytes(&mut copy, path);
                copy.extend_from_slice(known.at(block));
                blocks.push((path.to_vec(), copy));
            }
        }
    }
    blocks.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    for (_, block) in &blocks {
        pack::bytes(&mut out, block);
    }
    if known.is_some_and(|(known, _)| known.bytes == out) {
        return Ok(());
    }
    let sum = checksum(&out);
    out.extend_from_slice(&sum);
    put(place, &out)
}

/// Owner's alone, whole or not at all. It need not survive a power cut: the checksum tells.
fn put(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = place.parent().unwrap_or(Path::new("."));
    crate::os::make_private_folder(folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(place).map_err(|error| error.error)?;
    forget_the_oldest(folder);
    Ok(())
}

fn forget_the_oldest(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    if files.len() > MOST {
        files.sort();
        for (_, path) in files.iter().take(files.len() - MOST) {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
}

/// What makes a file ours: the form, the program, the tree, the setting that decides what is read.
fn preamble(root: &Path, max: u64) -> Option<Vec<u8>> {
    let mut out = MAGIC.to_vec();
    pack::bytes(&mut out, program()?);
    pack::bytes(&mut out, root.as_os_str().as_encoded_bytes());
    pack::number(&mut out, max);
    Some(out)
}

/// The program with its grammars, told from every other build; `None` where it cannot be looked at.
fn program() -> Option<&'static [u8]> {
    static PROGRAM: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let look = || {
        let own = at::own_program()?;
        let mut out = env!("CARGO_PKG_VERSION").as_bytes().to_vec();
        pack::signed(&mut out, own.modified);
        pack::signed(&mut out, own.changed);
        for part in [own.device, own.inode, own.size] {
            pack::number(&mut out, part);
        }
        Some(out)
    };
    PROGRAM.get_or_init(look).as_deref()
}
