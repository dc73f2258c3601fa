//! What a client means by a message that is no JSON to the letter: half of a surrogate pair, which a JavaScript string
//! can hold and is written as an escape, or bytes that are no UTF-8, which stood in a file. Each is read as U+FFFD.

use serde_json::Value;

/// The message, and whether bytes were replaced: columns here and where it comes from may differ then.
pub(super) fn read(body: &[u8]) -> serde_json::Result<(Value, bool)> {
    let refused = match serde_json::from_slice(body) {
        Ok(message) => return Ok((message, false)),
        Err(error) => error,
    };
    let text = String::from_utf8_lossy(body);
    let message = serde_json::from_str(&paired(&text)).ok();
    let message = message.filter(Value::is_object).ok_or(refused)?;
    Ok((message, text.as_bytes() != body))
}

/// JSON in which each escape of half a pair is one of U+FFFD, which is one unit in UTF-16 too.
fn paired(json: &str) -> String {
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
    out
}

/// The unit of UTF-16 that an escape at the beginning stands for (RFC 8259 §7).
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn half_a_pair_is_one_character_and_nothing_else_is_changed() {
        for (json, text) in [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\udE00b""#, "\u{fffd}b"),
            (r#""\ud83d\ud83d\ude00\n""#, "\u{fffd}\u{1f600}\n"),
            (
                r#""\ud83d\n\\ud83d\\\ud83dé\"""#,
                "\u{fffd}\n\\ud83d\\\u{fffd}é\"",
            ),
            (r#""\ud83d\u00e9""#, "\u{fffd}é"),
        ] {
            let message = format!("{{\"text\": {json}}}");
            let read = read(message.as_bytes()).expect("JSON");
            assert_eq!(read, (json!({"text": text}), false), "{json}");
        }
        let read = read(b"{\"text\": \"caf\xe9 \\\\\\ud83d\"}").expect("JSON");
        assert_eq!(read, (json!({"text": "caf\u{fffd} \\\u{fffd}"}), true));
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for text in [
            "\\ud83",
            "\\",
            "\\ud83d",
            "\\x\"",
            "\\u+123\"",
            "\\é\"",
            "\\ud83d\", 1",
        ] {
            let message = format!("{{\"text\": \"{text}}}");
            assert!(read(message.as_bytes()).is_err(), "{message}");
        }
    }
}
