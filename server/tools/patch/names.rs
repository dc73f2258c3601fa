//! File names in the headers of a diff.

use std::iter::Peekable;
use std::str::Chars;

/// A name behind `--- `, `+++ `, `rename from ` …: quoted as git quotes it, or plain up to a tab (behind
/// which some programs write the time).
///
/// # Errors
/// What is wrong with it.
pub(super) fn name(text: &str) -> Result<String, String> {
    if !text.starts_with('"') {
        let name = text.split('\t').next().unwrap_or_default();
        return checked(name.to_owned());
    }
    let (name, rest) = quoted(text)?;
    if rest.is_empty() || rest.starts_with('\t') {
        checked(name)
    } else {
        Err(format!("there is something behind the quoted name {text}"))
    }
}

fn checked(name: String) -> Result<String, String> {
    if name.is_empty() {
        return Err(String::from("a file name is empty"));
    }
    if name.contains('\0') {
        return Err(String::from("a file name has a NUL in it"));
    }
    Ok(name)
}

/// The two names behind `diff --git `, without `a/` and `b/`; `None` where they cannot be told apart, which
/// only matters for a file whose other headers do not name it.
pub(super) fn both(text: &str) -> Option<(String, String)> {
    if text.starts_with('"') {
        let (old, rest) = quoted(text).ok()?;
        let rest = rest.strip_prefix(' ')?;
        let new = if rest.starts_with('"') {
            quoted(rest).ok()?.0
        } else {
            rest.to_owned()
        };
        return stripped(&old, &new);
    }
    if text.ends_with('"') {
        let (old, new) = text.split_once(" \"")?;
        return stripped(old, &quoted(&format!("\"{new}")).ok()?.0);
    }
    // A name may have blanks. Where both names are the same, as wherever no other header names them, the
    // line has a middle.
    let middle = text.len() / 2;
    let (old, new) = (text.get(..middle)?, text.get(middle..)?.strip_prefix(' ')?);
    stripped(old, new).filter(|(old, new)| old == new)
}

fn stripped(old: &str, new: &str) -> Option<(String, String)> {
    let (old, new) = strip_both(old, new);
    (!old.is_empty() && !new.is_empty()).then(|| (old.to_owned(), new.to_owned()))
}

/// Without `a/` and `b/`, where both names have theirs.
pub(super) fn strip_both<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    match (old.strip_prefix("a/"), new.strip_prefix("b/")) {
        (Some(old), Some(new)) => (old, new),
        _ => (old, new),
    }
}

/// A name in double quotes with the escapes of C, and what stands behind it.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let wrong = || format!("the quoted name {text} is not whole");
    let mut chars = text.chars().peekable();
    chars.next();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4];
    loop {
        match chars.next().ok_or_else(wrong)? {
            '"' => break,
            '\\' => bytes.push(escape(&mut chars).ok_or_else(wrong)?),
            c => bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
        }
    }
    let left: usize = chars.map(char::len_utf8).sum();
    let rest = text.get(text.len() - left..).unwrap_or_default();
    let name = String::from_utf8(bytes)
        .map_err(|_| format!("the name {text} is not valid UTF-8, and no such file is written"))?;
    Ok((name, rest))
}

fn escape(chars: &mut Peekable<Chars<'_>>) -> Option<u8> {
    Some(match chars.next()? {
        'a' => 7,
        'b' => 8,
        't' => b'\t',
        'n' => b'\n',
        'v' => 11,
        'f' => 12,
        'r' => b'\r',
        '"' => b'"',
        '\\' => b'\\',
        first @ '0'..='3' => {
            let mut value = first.to_digit(8)?;
            for _ in 0..2 {
                value = value * 8 + chars.next()?.to_digit(8)?;
            }
            u8::try_from(value).ok()?
        }
        _ => return None,
    })
}
