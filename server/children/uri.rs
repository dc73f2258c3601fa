//! `file:` URIs (RFC 8089) and paths.

use std::path::{Path, PathBuf};

use crate::os;

/// The `file:` URI of an absolute path.
pub fn from_path(path: &Path) -> String {
    let mut uri = String::from("file://");
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec();
    #[cfg(not(unix))]
    let bytes = {
        uri.push('/');
        path.to_string_lossy().replace('\\', "/").into_bytes()
    };
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
    let rest = rest
        .strip_prefix("//localhost")
        .or_else(|| rest.strip_prefix("//"))
        .unwrap_or(rest);
    if !rest.starts_with('/') {
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
    // Of `/c:/x`; with the system's own separators.
    return Some(
        Path::new(String::from_utf8_lossy(&bytes).trim_start_matches('/'))
            .components()
            .collect(),
    );
}

/// The file that a child means: the path of its URI with links resolved as far as it exists, as documents are
/// known here.
pub fn to_file(uri: &str) -> Option<PathBuf> {
    Some(os::resolved(&to_path(uri)?))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt as _;

    #[test]
    fn any_path_there_and_back() {
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
            "",
        ] {
            assert_eq!(to_path(other), None, "{other}");
        }
    }
}
