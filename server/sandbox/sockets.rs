//! Sockets of other programs that have a name in the file system. An empty network keeps nobody from these: what
//! listens there acts for whoever can name it, outside.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Those of this machine's network, which are not those that commands make in theirs, and those of another one that are
/// mounted here by themselves.
pub(super) fn of_others() -> Vec<PathBuf> {
    let table = fs::read("/proc/self/net/unix").unwrap_or_default();
    let named: Vec<(&[u8], &Path)> = table.split(|byte| *byte == b'\n').filter_map(row).collect();
    let (whole, relative): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|(_, path)| path.is_absolute());
    let mut found: Vec<PathBuf> = whole.iter().map(|(_, path)| path.to_path_buf()).collect();
    if !relative.is_empty() {
        found.extend(where_they_are(&relative));
    }
    found.extend(mounts());
    found.retain(|path| is_socket(path));
    found.sort();
    found.dedup();
    found
}

fn is_socket(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.file_type().is_socket())
}

/// Its number and its name (proc(5), `/proc/net/unix`); `None`: it has no name, or none in the file system.
fn row(line: &[u8]) -> Option<(&[u8], &Path)> {
    // The number stands right-aligned: there may be blanks before it.
    let rest = line.splitn(7, |byte| *byte == b' ').nth(6)?;
    let rest = rest.trim_ascii_start();
    let (number, path) = rest.split_at(rest.iter().position(|byte| *byte == b' ')?);
    let path = path.get(1..).filter(|path| !path.starts_with(b"@"))?;
    (!path.is_empty() && number.iter().all(u8::is_ascii_digit))
        .then(|| (number, Path::new(OsStr::from_bytes(path))))
}

/// A relative name is that of whoever gave it: looked for where the programs stand that have the socket open.
fn where_they_are(relative: &[(&[u8], &Path)]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(open) = fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        for link in open
            .flatten()
            .filter_map(|entry| fs::read_link(entry.path()).ok())
        {
            let link = link.as_os_str().as_bytes();
            let number = link
                .strip_prefix(b"socket:[")
                .and_then(|rest| rest.strip_suffix(b"]"));
            for (_, path) in relative.iter().filter(|(of, _)| number == Some(*of)) {
                let folder = fs::read_link(process.path().join("cwd"));
                found.extend(folder.map(|folder| folder.join(path)));
            }
        }
    }
    found
}

/// Places at which something is mounted (proc_pid_mountinfo(5): the fifth field, some bytes of it in octal).
pub(super) fn mounts() -> Vec<PathBuf> {
    let table = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let places = table.split(|byte| *byte == b'\n').filter_map(|line| {
        let place = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(OsStr::from_bytes(&unescaped(place))))
    });
    places.collect()
}

fn unescaped(mut text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some((first, rest)) = text.split_first() {
        let octal = rest.get(..3).filter(|_| *first == b'\\');
        let byte = octal.and_then(|octal| u8::from_str_radix(str::from_utf8(octal).ok()?, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        text = rest
            .get(if byte.is_some() { 3 } else { 0 }..)
            .unwrap_or_default();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_table_are_read() {
        for (line, expected) in [
            (
                "Num       RefCount Protocol Flags    Type St Inode Path",
                None,
            ),
            (
                "0000000000000000: 00000002 00000000 00010000 0001 01 12345 /a b/c.sock",
                Some(("12345", "/a b/c.sock")),
            ),
            (
                "0000000000000000: 00000002 00000000 00010000 0001 01   345 ./x",
                Some(("345", "./x")),
            ),
            (
                "0000000000000000: 00000002 00000000 00010000 0001 01 12345 @name",
                None,
            ),
            (
                "0000000000000000: 00000003 00000000 00000000 0001 03 12345",
                None,
            ),
            ("", None),
        ] {
            let expected = expected.map(|(number, path)| (number.as_bytes(), Path::new(path)));
            assert_eq!(row(line.as_bytes()), expected, "{line:?}");
        }
        assert_eq!(unescaped(br"/a\040b\\"), b"/a b\\\\");
    }
}
