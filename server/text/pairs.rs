//! Half of a surrogate pair, which a JavaScript string can hold and writes into JSON as an escape: in no text.

use std::borrow::Cow;

/// JSON in which each escape of half a pair is one of U+FFFD, which is one unit in UTF-16 too.
pub fn paired(json: &str) -> Cow<'_, str> {
    if !json.contains("\\ud") && !json.contains("\\uD") {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (len, is_half) = match unit(escape) {
            Some(0xD800..=0xDBFF) => {
                let low = escape.get(6..).and_then(unit);
                match matches!(low, Some(0xDC00..=0xDFFF)) {
                    true => (12, false),
                    false => (6, true),
                }
            }
            Some(0xDC00..=0xDFFF) => (6, true),
            Some(_) => (6, false),
            // What follows is no escape's beginning.
            None => (1 + escape.chars().nth(1).map_or(0, char::len_utf8), false),
        };
        let (escape, after) = escape.split_at_checked(len).unwrap_or((escape, ""));
        out.push_str(if is_half { "\\ufffd" } else { escape });
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The unit of UTF-16 that an escape at the beginning stands for (RFC 8259 §7).
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}
