//! `file:` URIs (RFC 8089) and paths.

use std::path::{Path, PathBuf};

use crate::os;

/// The `file:` URI of an absolute path.
pub fn from_path(path: &Path) -> String {
    let mut uri = String::from("file:");
    #[cfg(unix)]
    let bytes = [
        b"//",
        std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()),
    ]
    .concat();
    #[cfg(not(unix))]
    let bytes = slashed_on_windows(&path.to_string_lossy()).into_bytes();
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

/// The path of a `file:` URI of this machine; `None` for any other.
pub fn to_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file:")?;
    let (host, rest) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/')?),
        None => ("", rest),
    };
    let host = if host == "localhost" { "" } else { host };
    if !rest.starts_with('/') || cfg!(unix) && !host.is_empty() {
        return None;
    }
    let rest = rest.split(['?', '#']).next().unwrap_or(rest).as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        let digit = |i: usize| rest.get(i).and_then(|b| char::from(*b).to_digit(16));
        match (*byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                at += 3;
            }
            _ => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    if bytes.contains(&0) {
        return None;
    }
    #[cfg(unix)]
    return Some(PathBuf::from(
        <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes),
    ));
    #[cfg(not(unix))]
    return Some(path_on_windows(host, &String::from_utf8_lossy(&bytes))?.into());
}

/// What follows `file:` in the URI of a path of Windows, before what may not stand in a URI is written otherwise.
#[cfg(any(test, not(unix)))]
fn slashed_on_windows(path: &str) -> String {
    let path = path.replace('\\', "/");
    let path = match path.strip_prefix("//?/") {
        Some(rest) => rest
            .strip_prefix("UNC/")
            .map_or_else(|| rest.to_owned(), |share| format!("//{share}")),
        None => path,
    };
    // The server of a share is the URI's host.
    if path.starts_with("//") {
        return path;
    }
    format!("///{path}")
}

/// The path of Windows, with its own separators, that the host and the rest of a URI mean. `None`: it says no drive and
/// no share, or what is no file (`//./pipe/x`).
#[cfg(any(test, not(unix)))]
fn path_on_windows(host: &str, path: &str) -> Option<String> {
    let path = path.replace('/', r"\");
    let path = match host {
        "" => path,
        host => format!(r"\\{host}{path}"),
    };
    if let Some(share) = path.strip_prefix(r"\\") {
        let mut names = share.split('\\');
        let mut is_name = || {
            names
                .next()
                .is_some_and(|name| !matches!(name, "" | "." | "?"))
        };
        return (is_name() && is_name()).then_some(path);
    }
    let path = path.trim_start_matches('\\');
    let mut begin = path.chars();
    let is_drive = begin
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic())
        && begin.next() == Some(':')
        && begin.next() == Some('\\');
    is_drive.then(|| path.to_owned())
}

/// The file that a child means: the path of its URI with links resolved as far as it exists, as documents are
/// known here.
pub fn to_file(uri: &str) -> Option<PathBuf> {
    Some(os::resolved(&to_path(uri)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_windows_there_and_back() {
        for (path, uri) in [
            (r"C:\a b\x.rs", "///C:/a b/x.rs"),
            (r"z:\", "///z:/"),
            (
                r"\\wsl.localhost\Debian\x.rs",
                "//wsl.localhost/Debian/x.rs",
            ),
        ] {
            assert_eq!(slashed_on_windows(path), uri);
            let (host, rest) = uri[2..].split_at(uri[2..].find('/').unwrap());
            assert_eq!(path_on_windows(host, rest).as_deref(), Some(path));
        }
        assert_eq!(slashed_on_windows(r"\\?\C:\a.\b"), "///C:/a./b");
        assert_eq!(slashed_on_windows(r"\\?\UNC\s\d\x"), "//s/d/x");
        // As some programs write a share.
        assert_eq!(path_on_windows("", "//s/d/x").as_deref(), Some(r"\\s\d\x"));
        for (host, none) in [
            ("", "/a/b"),
            ("", "/C:"),
            ("", "/C:a"),
            ("", "/"),
            ("", "//./pipe/x"),
            ("", "//?/C:/a"),
            (".", "/pipe/x"),
            ("s", "/"),
        ] {
            assert_eq!(path_on_windows(host, none), None, "{host} {none}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn any_path_there_and_back() {
        use std::os::unix::ffi::OsStrExt as _;
        let names: [&[u8]; 5] = [
            b"/a/b.rs",
            b"/a b/#?%41.rs",
            "/ü/日本/😀".as_bytes(),
            b"/\xff\xfe",
            b"/new\nline[1]",
        ];
        for name in names {
            let path = Path::new(std::ffi::OsStr::from_bytes(name));
            assert_eq!(to_path(&from_path(path)).as_deref(), Some(path));
        }
        assert_eq!(
            to_path("file://localhost/x%20y"),
            Some(PathBuf::from("/x y"))
        );
        assert_eq!(to_path("file:/x%2"), Some(PathBuf::from("/x%2")));
        for other in [
            "jdt://contents/x",
            "untitled:1",
            "file:x",
            "file:///a%00b",
            "file://host/a",
            "file://host",
            "",
        ] {
            assert_eq!(to_path(other), None, "{other}");
        }
    }
}
