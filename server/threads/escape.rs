//! How a text that cannot stand in a comment as it is stands there all the same.
//!
//! A character is written as a decimal character reference with a leading zero (`*&#047;` for `*/`):
//! plain ASCII, known from HTML and Javadoc, and by its zero unlike what people write by hand. The
//! reader undoes it, and only for characters that the writer escapes.

use std::borrow::Cow;

/// Every reference begins so.
const START: &str = "&#0";

/// `text` with the references undone.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains(START) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(START) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        match reference(from) {
            Some((c, length)) => {
                out.push(c);
                rest = from.get(length..).unwrap_or_default();
            }
            None => {
                out.push_str(START);
                rest = from.get(START.len()..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character that a reference at the start of `text` stands for, and the reference's length.
fn reference(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix(START)?;
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    if !(2..=7).contains(&count) || digits.as_bytes().get(count) != Some(&b';') {
        return None;
    }
    let c = char::from_u32(digits.get(..count)?.parse().ok()?)?;
    is_escapable(c).then_some((c, START.len() + count + 1))
}

/// What the reader undoes. An apostrophe is left out: `&#039;` is what PHP writes. Letters that have no three digits
/// with the zero (from `d` on) begin words that a linter would heed.
pub(crate) fn is_escapable(c: char) -> bool {
    (c.is_ascii_punctuation() && c != '\'')
        || c == ' '
        || matches!(c, 'd'..='z')
        || is_hidden(c)
        || !c.is_ascii()
}

/// What [`Hazards::sequences`] and [`Hazards::endings`] are broken at.
fn is_mark(c: char) -> bool {
    is_escapable(c) && !c.is_ascii_alphabetic()
}

/// Characters that end a line somewhere, cannot be seen, or turn the direction of what follows.
pub(crate) fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\t')
        || matches!(c,
            '\u{2028}' | '\u{2029}' | '\u{200b}' | '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

/// What must not stand in one line of a comment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hazards {
    /// Sequences (compared without case) whose last punctuation is escaped.
    pub sequences: Vec<String>,
    /// Endings whose last punctuation is escaped.
    pub endings: Vec<&'static str>,
    /// Whether quotes must come in pairs, and no other string may begin (comments that are read for strings).
    pub paired_quotes: bool,
    /// Brackets that must come in pairs.
    pub brackets: Option<[char; 2]>,
    /// Nothing but ASCII can stand there.
    pub ascii: bool,
    /// Escape all punctuation: the last resort.
    pub everything: bool,
}

/// `line`, one line, written so that [`decode`] gives it back and none of `hazards` is in it;
/// `also` are the bytes of more characters to escape.
pub(crate) fn encode(line: &str, hazards: &Hazards, also: &[usize]) -> String {
    let lower = line.to_ascii_lowercase();
    let mut marked: Vec<usize> = also.to_vec();
    let last_mark = |sequence: &str| {
        let mut marks = sequence.char_indices().filter(|(_, c)| is_mark(*c));
        marks.next_back().map_or(0, |(at, _)| at)
    };
    for sequence in hazards.sequences.iter().filter(|s| !s.is_empty()) {
        let last = last_mark(sequence);
        // Found again from the next byte on: `---` holds `--` twice.
        let mut from = 0;
        while let Some(found) = lower
            .get(from..)
            .and_then(|rest| rest.find(sequence.as_str()))
        {
            marked.push(from + found + last);
            from += found + sequence.chars().next().map_or(1, char::len_utf8);
        }
    }
    if let Some(ending) = hazards
        .endings
        .iter()
        .find(|ending| lower.ends_with(**ending))
    {
        marked.push(lower.len() - ending.len() + last_mark(ending));
    }
    if let Some(brackets) = hazards.brackets.filter(|both| !are_paired(line, *both)) {
        marked.extend(line.match_indices(brackets).map(|(at, _)| at));
    }
    // Escaped, or in a character of its own, one of a pair is none.
    let quotes = hazards.paired_quotes
        && (!line.matches('"').count().is_multiple_of(2)
            || line.contains('\\')
            || line.contains("'\""));
    // OCaml's `{|` and `{id|` begin a string in comments, too.
    let is_string = |at: usize| {
        let id = |c: char| c.is_ascii_lowercase() || c == '_';
        let rest = line.get(at + 1..).unwrap_or_default();
        hazards.paired_quotes && rest.trim_start_matches(id).starts_with('|')
    };
    let mut out = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        let escaped = is_hidden(c)
            || (hazards.ascii && !c.is_ascii())
            || (c == '"' && quotes)
            || (c == '{' && is_string(at))
            || (hazards.everything && c.is_ascii_punctuation() && is_escapable(c))
            || (c == '&' && line.get(at..).and_then(reference).is_some())
            || (marked.contains(&at) && is_escapable(c));
        if escaped {
            out.push_str(&format!("{START}{:02};", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether each bracket has its other; one behind a backslash may not count.
fn are_paired(line: &str, [open, close]: [char; 2]) -> bool {
    let (mut depth, mut before) = (0, ' ');
    for c in line.chars() {
        if c == open || c == close {
            if before == '\\' || (c == close && depth == 0) {
                return false;
            }
            depth = if c == open { depth + 1 } else { depth - 1 };
        }
        before = c;
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hazards(sequences: &[&str]) -> Hazards {
        Hazards {
            sequences: sequences.iter().map(|s| (*s).into()).collect(),
            endings: vec!["\\"],
            ..Hazards::default()
        }
    }

    #[test]
    fn only_what_is_dangerous_is_escaped() {
        let block = hazards(&["*/", "--"]);
        assert_eq!(
            encode("a */ b **/ c --- d", &block, &[]),
            "a *&#047; b **&#047; c -&#045;&#045; d"
        );
        assert_eq!(
            encode("</script> \\u", &hazards(&["</script", "\\u"]), &[]),
            "<&#047;script> &#092;u"
        );
        assert_eq!(encode("ends \\", &block, &[]), "ends &#092;");
        assert_eq!(encode("a \\ b", &block, &[]), "a \\ b");
        assert_eq!(encode("AUTHOR: no", &block, &[6]), "AUTHOR&#058; no");
        assert_eq!(
            encode("esc \u{1b}[0m \u{202e}", &block, &[]),
            "esc &#027;[0m &#08238;"
        );
    }

    #[test]
    fn references_that_people_write_are_left_alone() {
        for text in [
            "&#160; &#47; &#x2F; &#039; &amp; &#0; &#012345678; &#099; &#065;",
            "&#",
            "&#0",
            "a &#047 b",
        ] {
            assert_eq!(decode(text), text);
            assert_eq!(encode(text, &hazards(&["*/"]), &[]), text);
        }
        assert_eq!(encode("&#047;", &hazards(&[]), &[]), "&#038;#047;");
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(
            line in "([a-c]|\\*|/|-|>|&#0|&#047;|;|\\\\|[0-9]|\u{1b}|\u{85}|é|😀|\"| |\\PC){0,24}",
            everything: bool,
            quotes: bool,
            ascii: bool,
        ) {
            let brackets = quotes.then_some(['{', '}']);
            let hazards = Hazards { everything, brackets, ascii, paired_quotes: quotes, ..hazards(&["*/", "-->", "--", "?>"]) };
            let written = encode(&line, &hazards, &[]);
            prop_assert_eq!(decode(&written), line);
            for sequence in &hazards.sequences {
                prop_assert!(!written.contains(sequence.as_str()));
            }
            prop_assert!(!written.ends_with('\\'));
            prop_assert!(!ascii || written.is_ascii());
        }
    }
}
