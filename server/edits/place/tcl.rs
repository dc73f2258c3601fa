//! Where in Tcl a line stands in a word of a command that is no code: a list, an expression, the patterns of a `switch`.
//! There `#` is a character as any other.

use super::line_start;

/// Bytes above that are looked through for the brace that a line is in.
const REACH: usize = 1 << 16;

/// Whether what is put in at `start` would be part of such a word.
pub(super) fn is_in_word(text: &str, start: usize) -> bool {
    let Some(brace) = brace_around(text.as_bytes(), start) else {
        return false;
    };
    let line = text.get(line_start(text, brace)..brace);
    let command = line.and_then(|line| line.rsplit(['{', '}', '[', ';']).next());
    let words: Vec<&str> = command.unwrap_or_default().split_whitespace().collect();
    matches!(
        words.as_slice(),
        [
            "switch" | "expr" | "set" | "variable" | "lappend" | "list" | "return",
            ..
        ] | ["array", "set", _]
            | ["dict", "create" | "set" | "merge", ..]
            | ["if" | "elseif" | "while"]
            | ["proc" | "method" | "foreach" | "lmap", _]
    )
}

/// The brace that is open at byte `at`. Tcl counts those in comments and strings, too, but no escaped ones.
fn brace_around(bytes: &[u8], at: usize) -> Option<usize> {
    let mut closed = 0usize;
    for here in (at.saturating_sub(REACH)..at).rev() {
        let is_escaped = || {
            let before = bytes.get(..here).unwrap_or_default();
            before.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1
        };
        match bytes.get(here) {
            Some(b'}') if !is_escaped() => closed += 1,
            Some(b'{') if !is_escaped() && closed == 0 => return Some(here),
            Some(b'{') if !is_escaped() => closed -= 1,
            _ => {}
        }
    }
    None
}
