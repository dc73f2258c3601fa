//! What a client means by a message that is no JSON to the letter: half of a surrogate pair, which a JavaScript string
//! can hold and is written as an escape, or bytes that are no UTF-8, which stood in a file. Each is read as U+FFFD.

use serde_json::Value;

use crate::text::paired;

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
