//! Where in Tcl a line stands in a word of a command that is no code: a list, an expression, the patterns of a `switch`.
//! There `#` is a character as any other.

use std::ops::Range;

/// Bytes from the brace that a line is in, behind which what it opens is far.
const REACH: usize = 1 << 16;

/// Whether what is put in at `start` would be part of such a word.
pub(super) fn is_in_word(text: &str, start: usize) -> bool {
    brace_around(text.as_bytes(), start).is_some_and(|brace| opens_word(text, brace))
}

/// The braces of the word that `start` stands in, where they open far above.
pub(super) fn far_word(text: &str, start: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let open = brace_around(bytes, start)?;
    (start - open > REACH && opens_word(text, open)).then(|| open..brace_behind(bytes, start))
}

/// Whether what this brace opens is such a word.
fn opens_word(text: &str, brace: usize) -> bool {
    match words_before(text, brace).as_slice() {
        ["switch", args @ ..] => takes_patterns(args),
        // Names and lists by turns; the last is the body.
        ["foreach" | "lmap", args @ ..] => args.is_empty() || args.len() % 2 == 1,
        [
            "expr" | "set" | "variable" | "lappend" | "list" | "return",
            ..,
        ]
        | ["array", "set", _]
        | ["dict", "create" | "set" | "merge", ..]
        | ["if" | "while"]
        | [.., "elseif"]
        | ["proc" | "method", _] => true,
        _ => false,
    }
}

/// Whether behind these words of a `switch` all its patterns come in one.
fn takes_patterns(mut args: &[&str]) -> bool {
    while let [option, behind @ ..] = args
        && option.starts_with('-')
    {
        args = match behind {
            [_, behind @ ..] if matches!(*option, "-matchvar" | "-indexvar") => behind,
            _ => behind,
        };
        if *option == "--" {
            break;
        }
    }
    args.len() == 1
}

/// The words of the command that stand before this brace. One in braces, brackets or quotes is one, and may span lines.
fn words_before(text: &str, brace: usize) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut words = Vec::new();
    // What opens what is closed behind.
    let mut open = Vec::new();
    let (mut start, mut end) = (brace, None);
    for (at, byte) in bytes.iter().enumerate().take(brace).rev() {
        let is_end = matches!(byte, b'\n' | b'\r');
        let is_escaped = || is_escaped(bytes, at);
        match (byte, open.last()) {
            (b'"', Some(b'"')) if !is_escaped() => _ = open.pop(),
            (_, Some(b'"')) if is_end => break,
            (_, Some(b'"')) => {}
            (b'}', _) if !is_escaped() => open.push(b'{'),
            (b'{', Some(b'{')) if !is_escaped() => _ = open.pop(),
            (_, Some(b'{')) => {}
            (b']', _) if !is_escaped() => open.push(b'['),
            (b'[', Some(b'[')) if !is_escaped() => _ = open.pop(),
            (b'{', _) | (b'[' | b';', None) if !is_escaped() => break,
            (_, Some(_)) => {}
            (b'"', None) if end.is_none() => open.push(b'"'),
            // Of the two of a line's end the first tells whether it is one.
            (b'\n', None) if bytes[..at].ends_with(b"\r") => {}
            _ if is_end && !is_escaped() => break,
            _ => {}
        }
        start = at;
        let is_blank = is_end || matches!(byte, b' ' | b'\t') && !is_escaped();
        if !is_blank {
            end.get_or_insert(at + 1);
        } else if open.is_empty()
            && let Some(end) = end.take()
        {
            words.push(at + 1..end);
        }
    }
    words.extend(end.map(|end| start..end));
    let words = words.into_iter().rev();
    let words = words.map(|word| text.get(word).unwrap_or_default());
    // What has the command go on in the next line is no word.
    words.filter(|word| *word != "\\").collect()
}

/// The brace that is open at byte `at`. Tcl counts those in comments and strings, too, but no escaped ones.
fn brace_around(bytes: &[u8], at: usize) -> Option<usize> {
    let mut closed = 0usize;
    for here in (0..at).rev() {
        match bytes.get(here) {
            Some(b'}') if !is_escaped(bytes, here) => closed += 1,
            Some(b'{') if !is_escaped(bytes, here) && closed == 0 => return Some(here),
            Some(b'{') if !is_escaped(bytes, here) => closed -= 1,
            _ => {}
        }
    }
    None
}

/// Where the brace is closed that is open at byte `at`.
fn brace_behind(bytes: &[u8], at: usize) -> usize {
    let mut opened = 0usize;
    for here in at..bytes.len() {
        match bytes.get(here) {
            Some(b'{') if !is_escaped(bytes, here) => opened += 1,
            Some(b'}') if !is_escaped(bytes, here) && opened == 0 => return here,
            Some(b'}') if !is_escaped(bytes, here) => opened -= 1,
            _ => {}
        }
    }
    bytes.len()
}

fn is_escaped(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    before.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1
}
