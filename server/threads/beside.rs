//! Which code a thread is about, as far as the line beside it tells: threads that begin alike go by their place among
//! each other, which is another one's when whole blocks change theirs.

use super::identity::words;
use super::lines::{line_end, line_start};
use super::{Message, Thread};

/// The code beside each of the threads that begin alike, in order; nothing where there is only one.
#[derive(Clone, Debug, Default)]
pub struct Beside(Vec<String>);

impl Beside {
    /// Beside those that begin like `known`, in the text of its file.
    pub fn of(known: &Thread, among: &[Thread], text: &str) -> Self {
        let alike = among
            .iter()
            .filter(|one| words(&one.id) == words(&known.id));
        let lines: Vec<String> = alike.map(|thread| line(thread, text)).collect();
        match lines.len() {
            0 | 1 => Self::default(),
            _ => Self(lines),
        }
    }

    /// Whether the code of the thread with the place `at` stands beside another by `now`, or another's beside it. What
    /// stands beside none is code that was changed.
    fn is_elsewhere(&self, at: usize, now: &Self) -> bool {
        let (Some(known), Some(here)) = (self.0.get(at), now.0.get(at)) else {
            return false;
        };
        if known == here || self.0.len() != now.0.len() {
            return false;
        }
        let goes = |from: &String, to: &String, line: &String| {
            !line.is_empty() && to == line && from != line
        };
        let mut others = self.0.iter().zip(&now.0);
        others.any(|(before, after)| goes(before, after, known) || goes(after, before, here))
    }
}

/// Whether the thread of this id, which had these beside it and its namesakes, is about other code by `now`.
pub fn is_elsewhere(id: &str, before: &Beside, now: &[Thread], text: &str) -> bool {
    let Some(thread) = now.iter().find(|one| one.id == id) else {
        return false;
    };
    let alike = now.iter().filter(|one| words(&one.id) == words(id));
    let at = alike.take_while(|one| one.id != id).count();
    !before.0.is_empty() && before.is_elsewhere(at, &Beside::of(thread, now, text))
}

/// So many letters and digits of a line tell it from others.
const ENOUGH: usize = 200;

/// The line of code beside a thread, by its letters and digits alone.
pub fn line_beside(thread: &Thread, text: &str) -> String {
    line(thread, text).chars().take(ENOUGH).collect()
}

/// The line of code beside a thread as it is written, without the blanks around it.
pub fn code_beside(thread: &Thread, text: &str) -> String {
    code(thread, text).trim().chars().take(ENOUGH).collect()
}

/// What of the code beside a thread no change of form touches.
fn line(thread: &Thread, text: &str) -> String {
    let letters = code(thread, text).chars();
    letters.filter(|c| c.is_alphanumeric()).collect()
}

/// The code on the thread's own line, or the first line behind it that is not blank.
fn code<'a>(thread: &Thread, text: &'a str) -> &'a str {
    let end = |message: &Message| line_end(text, message.range.end.max(message.marker.end));
    if thread.trailing
        && let Some(first) = thread.messages.first()
    {
        let from = line_start(text, first.marker.start);
        return text.get(from..first.marker.start).unwrap_or_default();
    }
    let behind = thread.messages.last().map_or(0, end);
    let behind = text.get(behind..).unwrap_or_default();
    let mut lines = behind.lines();
    lines
        .find(|line| line.contains(char::is_alphanumeric))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comments::{Syntax, detect};
    use crate::threads::find;

    const ASKED: &str = "// AUTHOR: why?\n";

    fn text(code: &[&str]) -> String {
        code.iter()
            .map(|code| format!("{ASKED}{code}\n\n"))
            .collect()
    }

    fn moved(before: &[&str], after: &str) -> bool {
        let threads = |text: &str| {
            let syntax = Syntax::parse(text, detect("a.rs", None, text));
            find("a.rs", text, &syntax)
        };
        let before = text(before);
        let were = threads(&before);
        let known = &were[1];
        let beside = Beside::of(known, &were, &before);
        is_elsewhere(&known.id, &beside, &threads(after), after)
    }

    #[test]
    fn code_that_changed_its_place_is_noticed() {
        let before = ["a();", "b();", "c();"];
        assert!(!moved(&before, &text(&before)));
        assert!(moved(&before, &text(&["b();", "a();", "c();"])));
        assert!(moved(&before, &text(&["a();", "c();", "b();"])));
        // The code is another by now, and the others are where they were.
        assert!(!moved(&before, &text(&["a();", "renamed();", "c();"])));
        assert!(!moved(&before, &text(&["x();", "y();", "z();"])));
        // An answer, a form, code above.
        let answered =
            text(&before).replacen("why?\nb", "why?\n// AGENT: So.\n// AUTHOR:\n    b", 1);
        assert!(!moved(&before, &format!("x();\n{answered}")));
        // The line beside it does not tell them apart.
        let same = ["#[test]", "#[test]", "c();"];
        assert!(!moved(&same, &text(&same)));
        assert!(!moved(&same, &text(&["#[test]", "#[test]\nb();", "c();"])));
    }

    #[test]
    fn a_thread_behind_code_is_about_that() {
        let before = "a(); // AUTHOR: why?\nb(); // AUTHOR: why?\n";
        let after = "b(); // AUTHOR: why?\na(); // AUTHOR: why?\n";
        let threads = |text: &str| {
            find(
                "a.rs",
                text,
                &Syntax::parse(text, detect("a.rs", None, text)),
            )
        };
        let were = threads(before);
        let beside = Beside::of(&were[1], &were, before);
        assert!(is_elsewhere(&were[1].id, &beside, &threads(after), after));
        let own = "// AUTHOR: why?\na();\n// AUTHOR: why?\nb();\n";
        assert!(!is_elsewhere(&were[1].id, &beside, &threads(own), own));
    }
}
