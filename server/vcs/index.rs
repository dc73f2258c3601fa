//! The names in git's index, read straight from the file (gitformat-index(5)). libgit2 also checks the file's hash and
//! sorts every entry into a map, which for a large tree takes longer than all else that a scan begins with. What is
//! not an index of version 2 to 4 with SHA-1 ids, or refers to another file (split, sparse), is left to it.

/// Before the name: ten numbers of 32 bits, the id, the flags.
const FIXED: usize = 62;
/// Where the mode stands among them.
const MODE: usize = 24;
const ID: usize = 20;
const IS_EXTENDED: u16 = 0x4000;
const LENGTH: u16 = 0x0fff;

/// The ordinary files whose names begin with `below` (empty, or with `/` at its end), without it, each ended by a NUL,
/// in the order of the index. `None`: it is for somebody else to read, or damaged.
pub(super) fn names(index: &[u8], below: &[u8]) -> Option<Vec<u8>> {
    let (body, _hash) = index.split_last_chunk::<ID>()?;
    let (header, mut rest) = body.split_first_chunk::<12>()?;
    let version = number(header.strip_prefix(b"DIRC")?)?;
    let count = number(header.get(8..)?)?;
    if !(2..=4).contains(&version) {
        return None;
    }

    let mut names = Vec::new();
    let mut built = Vec::new();
    for _ in 0..count {
        let entry = rest;
        let mode = number(entry.get(MODE..)?)?;
        let flags = u16::from_be_bytes(*entry.get(FIXED - 2..)?.first_chunk()?);
        let name = entry.get(match flags & IS_EXTENDED {
            0 => FIXED..,
            _ if version == 2 => return None,
            _ => FIXED + 2..,
        })?;
        let name = if version == 4 {
            let (less, more) = offset(name)?;
            let end = memchr::memchr(0, more)?;
            built.truncate(built.len().checked_sub(less)?);
            built.extend_from_slice(more.get(..end)?);
            rest = more.get(end + 1..)?;
            &built
        } else {
            let end = match usize::from(flags & LENGTH) {
                length if length < usize::from(LENGTH) => length,
                _ => memchr::memchr(0, name)?,
            };
            // One to eight NULs fill the entry up to a multiple of eight.
            let length = (entry.len() - name.len() + end + 8) & !7;
            rest = entry.get(length..)?;
            name.get(..end)?
        };
        if mode & 0o170_000 != 0o100_000 {
            continue;
        }
        if let Some(name) = name.strip_prefix(below) {
            names.extend_from_slice(name);
            names.push(0);
        }
    }

    // Extensions: what begins with a capital letter may be passed over.
    while let Some((head, data)) = rest.split_first_chunk::<8>() {
        if !head.first()?.is_ascii_uppercase() {
            return None;
        }
        rest = data.get(usize::try_from(number(head.get(4..)?)?).ok()?..)?;
    }
    rest.is_empty().then_some(names)
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.first_chunk()?))
}

/// A number in the encoding of a pack's offsets (gitformat-pack(5)), and what follows it.
fn offset(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        value = value
            .checked_mul(128)?
            .checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(at + 1..)?));
        }
        value = value.checked_add(1)?;
    }
    None
}
