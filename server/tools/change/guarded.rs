//! Marker lines are the author's and the server's.

use crate::comments::{Syntax, detect};
use crate::edits::{Source, touches_threads};
use crate::files::{Text, head};
use crate::text::Edit;
use crate::threads;

pub(super) fn refusal(shown: &str) -> String {
    format!(
        "This would change AUTHOR: or AGENT: comments in {shown}, so nothing was written. Leave these lines as they are: postil writes them, and your final answer becomes the AGENT message."
    )
}

/// Marker lines are the author's and the server's: a tool neither changes, removes, moves nor makes one.
pub(super) fn keeps_threads(
    shown: &str,
    current: &Text,
    edits: &[Edit],
    new_text: &str,
) -> Result<(), String> {
    let old_text: &str = &current.text;
    if !threads::may_hold(old_text.as_bytes()) && !threads::may_hold(new_text.as_bytes()) {
        return Ok(());
    }
    let parsed;
    let syntax = match &current.buffer {
        Some(buffer) => &*buffer.syntax,
        None => {
            parsed = Syntax::parse(old_text, detect(shown, None, head(old_text)));
            &parsed
        }
    };
    if touches_threads(
        Source {
            path: shown,
            text: old_text,
            syntax,
        },
        edits,
    ) {
        return Err(refusal(shown));
    }
    let old = said(shown, old_text, syntax);
    let new = said(shown, new_text, &Syntax::parse(new_text, syntax.language()));
    if old == new {
        Ok(())
    } else {
        Err(refusal(shown))
    }
}

type Said = Vec<Vec<(threads::Role, Option<String>, String)>>;

fn said(path: &str, text: &str, syntax: &Syntax) -> Said {
    let found = threads::find(path, text, syntax).into_iter();
    found
        .map(|t| {
            t.messages
                .into_iter()
                .map(|m| (m.role, m.name, m.text))
                .collect()
        })
        .collect()
}

pub(super) fn has_threads(path: &str, text: &str) -> bool {
    threads::may_hold(text.as_bytes())
        && !threads::find(
            path,
            text,
            &Syntax::parse(text, detect(path, None, head(text))),
        )
        .is_empty()
}
