//! L2. Threads as what an editor shows: diagnostics, code actions, lenses, symbols, tokens; plain
//! data. Pure.
//!
//! What was said in a file is not trusted: every text that is shown goes through [`visible`].

use std::borrow::Cow;
use std::ops::Range;

mod amounts;
mod certificate;
mod choices;
mod clean;
mod tokens;

pub use amounts::{counted, dollars, listed};
pub use certificate::certificate;
pub use choices::{QUESTION, asks, choices, chosen, is_question};
use clean::shortened;
pub use clean::{collapsed, cut, fence, is_deceptive, one_line, short, visible};
pub use tokens::{Part, Token, tokens};

use crate::threads::{Message, NearMiss, Role, Status, Thread};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
    Information,
    Hint,
}

/// One diagnostic; ranges are bytes of the text it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub range: Range<usize>,
    pub severity: Severity,
    /// Stable: `pending`, `awaiting_user`, `malformed`, `turn-failed`, `near-miss`.
    pub code: &'static str,
    pub message: String,
    pub thread_id: Option<String>,
    /// Each message that has a text: where, and `AUTHOR: …`.
    pub related: Vec<(Range<usize>, String)>,
}

/// Most characters of a thread's title, the ellipsis included.
const TITLE: usize = 60;
/// Most characters of one message where it is shown beside others.
const RELATED: usize = 400;

/// That of a thread.
pub fn diagnostic<'a>(thread: &'a Thread) -> Diagnostic {
    let said = |m: &'a Message| shortened(&m.text, RELATED);
    let last = thread.messages.last();
    let (severity, code, message) = if thread.malformed {
        let message = String::from(
            "this thread begins with an AGENT line: write an AUTHOR line above it, or resolve it",
        );
        (Severity::Warning, "malformed", message)
    } else {
        match thread.status {
            Status::Pending => (
                Severity::Information,
                "pending",
                format!("awaiting agent: {}", last.map(said).unwrap_or_default()),
            ),
            Status::AwaitingUser => {
                let answer = thread
                    .messages
                    .iter()
                    .rev()
                    .find(|m| m.role == Role::Agent && !m.text.is_empty());
                let message = match answer {
                    Some(answer) => {
                        let does = if asks(thread) { "asks" } else { "answered" };
                        format!("{} {does}: {}", speaker(answer), said(answer))
                    }
                    None => String::from("awaiting you: say what you want after AUTHOR:"),
                };
                (Severity::Hint, "awaiting_user", message)
            }
        }
    };
    Diagnostic {
        range: last.map_or(0..0, |m| m.range.clone()),
        severity,
        code,
        message,
        thread_id: Some(thread.id.clone()),
        related: thread
            .messages
            .iter()
            .filter(|m| !m.text.is_empty())
            .map(|m| (m.range.clone(), [&*marker(m), ": ", &said(m)].concat()))
            .collect(),
    }
}

/// A turn runs for this thread: the diagnostic says so instead of `awaiting agent`. Its code stays.
pub fn answering(diagnostic: &mut Diagnostic, thread: &Thread) {
    if let (Status::Pending, Some(last)) = (thread.status, thread.messages.last()) {
        diagnostic.message = format!("agent at work: {}", short(&last.text, RELATED));
    }
}

/// Its file lies in no folder of the workspace: nobody is going to answer it before that is so.
pub fn outside(diagnostic: &mut Diagnostic) {
    if diagnostic.code == "pending" {
        diagnostic
            .message
            .push_str(" (outside the workspace: open its folder to have it answered)");
    }
}

/// Its turn was cancelled, here or from another process: that is why nobody has answered.
pub fn cancelled(diagnostic: &mut Diagnostic) {
    if diagnostic.code == "pending" {
        diagnostic.message.push_str(" (its turn was cancelled)");
    }
}

/// The running turn asks the author something, and the editor shows questions in no other way.
pub fn asking(diagnostic: &mut Diagnostic, question: &str) {
    diagnostic.message = format!("asks you: {}", short(question, RELATED));
}

/// Hints at markers that are almost some; the quick fix writes `replacement` over `range`.
pub fn near_miss_diagnostics(misses: &[NearMiss]) -> Vec<Diagnostic> {
    let diagnostic = |miss: &NearMiss| Diagnostic {
        range: miss.range.clone(),
        severity: Severity::Hint,
        code: "near-miss",
        message: match &*miss.replacement {
            "" => miss.why.to_owned(),
            text => format!("{}: write `{}`", miss.why, short(text, TITLE)),
        },
        thread_id: None,
        related: Vec::new(),
    };
    misses.iter().map(diagnostic).collect()
}

/// What a thread is called in a list, an outline, a menu: the first thing that was said, in one line.
pub fn title(thread: &Thread) -> String {
    let by = |role| {
        thread
            .messages
            .iter()
            .find(move |m: &&Message| m.role == role && !m.text.is_empty())
    };
    match by(Role::Author).or_else(|| by(Role::Agent)) {
        Some(message) => short(&message.text, TITLE),
        None => String::from("(nothing said yet)"),
    }
}

/// Over a thread: `awaiting agent`, `asks you`, `answered`, `new`.
pub fn state(thread: &Thread) -> &'static str {
    match thread.status {
        Status::Pending => "awaiting agent",
        Status::AwaitingUser if asks(thread) => "asks you",
        Status::AwaitingUser if thread.is_answered() => "answered",
        Status::AwaitingUser => "new",
    }
}

/// `AUTHOR`, `AGENT(claude)`.
pub fn marker(message: &Message) -> Cow<'static, str> {
    let word = message.role.word();
    match &message.name {
        Some(name) => format!("{word}({})", visible(name)).into(),
        None => word.into(),
    }
}

/// Who speaks, in a sentence.
fn speaker(message: &Message) -> String {
    message
        .name
        .as_deref()
        .map_or_else(|| String::from("agent"), |name| short(name, TITLE))
}

/// Plain text in Markdown: ASCII punctuation is escaped, but for what the place lets stand in `plain`.
pub fn markdown(text: &str, plain: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        if c.is_ascii_punctuation() && !plain.contains(c) {
            out.push('\\');
        }
        out.push(c);
        out
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::comments::{Syntax, detect};
    use crate::threads::{find, near_misses};

    fn check(text: &str, expect: Expect) {
        let syntax = Syntax::parse(text, detect("a.rs", None, text));
        let threads = find("a.rs", text, &syntax);
        let near = near_misses(text, &syntax);
        let mut out = String::new();
        let threads = threads.iter().map(diagnostic);
        for d in threads.chain(near_miss_diagnostics(&near)) {
            out.push_str(&format!(
                "{:?} {} at {:?}: {}\n",
                d.severity, d.code, &text[d.range], d.message
            ));
            for (range, said) in d.related {
                out.push_str(&format!("    {:?}: {said}\n", &text[range]));
            }
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn one_diagnostic_a_thread_at_its_last_message() {
        check(
            "fn a() {}\n// AUTHOR: why?\n//   because\n// AGENT(claude): So.\n// AUTHOR: and now\n//   what?\nfn b() {}\n// AUTHOR: one\n// AGENT: two\n// AUTHOR:\n\n// AGENT: first\n\n// AUTHOR(jane):\n\n// Author: is this one?\n",
            expect![[r#"
                Information pending at "and now\n//   what?": awaiting agent: and now what?
                    "why?\n//   because": AUTHOR: why? because
                    "So.": AGENT(claude): So.
                    "and now\n//   what?": AUTHOR: and now what?
                Hint awaiting_user at "AUTHOR:": agent answered: two
                    "one": AUTHOR: one
                    "two": AGENT: two
                Warning malformed at "first": this thread begins with an AGENT line: write an AUTHOR line above it, or resolve it
                    "first": AGENT: first
                Hint awaiting_user at "AUTHOR(jane):": awaiting you: say what you want after AUTHOR:
                Hint near-miss at "Author:": a marker is written in capitals: write `AUTHOR:`
            "#]],
        );
    }
}
