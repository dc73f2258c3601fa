//! Text made safe to show: in a terminal, a message, a diagnostic.

use std::borrow::Cow;

/// `text` in one line of at most `most` characters, made visible.
pub fn short(text: &str, most: usize) -> String {
    shortened(text, most).into_owned()
}

/// The same; most of what is said is one plain line, and borrowed.
pub(super) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most && text.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return text.trim().into();
    }
    let line = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    let line = visible(&line);
    if line.chars().count() <= most {
        return line.into();
    }
    let mut cut: String = line.chars().take(most.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut.into()
}

/// A name, made visible in one line: no line end in it begins a line that it could pass for.
pub fn one_line(text: &str) -> String {
    visible(text).replace('\n', "⏎")
}

/// `text` made visible, on one line: its white space is collapsed into single blanks.
pub fn collapsed(text: &str) -> String {
    visible(text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// At most `limit` characters, with an ellipsis where it was cut.
pub fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}

/// Text as it is, inside Markdown: nothing said in a file becomes a link or an image.
pub fn fence(text: &str) -> String {
    format!("```text\n{}\n```", text.replace("```", "` ` `"))
}

/// `text` with nothing in it that a terminal or an editor would carry out or hide: terminal escapes and
/// control characters are left out (line feeds and tabs stay), characters that cannot be seen or that turn
/// the direction of the text are shown by their number (`⟨U+202E⟩`).
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\u{1b}' | '\u{9b}' | '\u{9d}' | '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => {
                skip_escape(c, &mut chars)
            }
            c if c.is_control() => {}
            c if is_deceptive(c) => out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Passes over the rest of a control sequence (ECMA-48): CSI up to its final byte, a string up to its
/// terminator or the line's end, else one character.
fn skip_escape(first: char, chars: &mut std::iter::Peekable<std::str::Chars>) {
    let kind = match first {
        '\u{1b}' => match chars.peek() {
            Some('[' | ']' | 'P' | 'X' | '^' | '_') => chars.next().unwrap_or_default(),
            Some(' '..='/') => {
                // Intermediate bytes and a final one.
                while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
                chars.next_if(|c| matches!(c, '0'..='~'));
                return;
            }
            Some('0'..='~') => {
                chars.next();
                return;
            }
            _ => return,
        },
        '\u{9b}' => '[',
        _ => ']',
    };
    if kind == '[' {
        while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
        chars.next_if(|c| matches!(c, '@'..='~'));
        return;
    }
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        if c == '\u{7}' || c == '\u{9c}' {
            return;
        }
        if c == '\u{1b}' {
            chars.next_if(|c| *c == '\\');
            return;
        }
    }
}

/// Whether a reader cannot see `c`, or sees another text because of it.
pub fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_shown_is_carried_out_or_hidden() {
        for (text, shown) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]52;c;Y2xpcA==\u{1b}\\x", "x"),
            ("\u{9b}2Jx", "x"),
            ("a\u{1b}", "a"),
            ("a\u{1b}(Bb\u{1b}Mc", "abc"),
            ("bell\u{7} back\u{8} \rcr\u{0}", "bell back cr"),
            ("a\u{202e}b\u{2066}c", "a⟨U+202E⟩b⟨U+2066⟩c"),
            ("a\u{200b}\u{e0041}", "a⟨U+200B⟩⟨U+E0041⟩"),
            ("two\n\tlines é 😀 👩‍👧", "two\n\tlines é 😀 👩‍👧"),
        ] {
            assert_eq!(visible(text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(short("one\n\n  two\n", 20), "one two");
        assert_eq!(short("one two three", 9), "one two…");
        assert_eq!(short("😀😀😀", 2), "😀…");
    }

    #[test]
    fn a_text_is_cut_at_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äöü…");
        assert_eq!(collapsed(" a\n\tb \u{1b}[1mc "), "a b c");
    }

    proptest! {
        #[test]
        fn no_control_character_is_left(text in "(\u{1b}|\\[|\\]|[a-z]|[0-9;]|\u{9b}|\u{7}|\n|\u{202e}|\\PC|.){0,40}") {
            let shown = visible(&text);
            let clean = shown.chars().all(|c| c == '\n' || c == '\t' || !(c.is_control() || is_deceptive(c)));
            prop_assert!(clean);
            prop_assert_eq!(visible(&shown), shown);
        }
    }
}
