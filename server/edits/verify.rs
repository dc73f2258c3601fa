//! Reading back what a write would leave.

use super::{Source, notebook};
use crate::comments::Syntax;
use crate::text::{Edit, Splice, apply_edits};
use crate::threads::Role;
use crate::threads::scan::{Found, Row, scan};

/// One message as it is compared.
pub(super) type Said = (Role, Option<String>, String);

pub(super) fn conversation(found: &Found) -> Vec<Said> {
    found
        .thread
        .messages
        .iter()
        .map(|m| (m.role, m.name.clone(), m.text.clone()))
        .collect()
}

/// The text after a write, and what is found in it.
pub(super) struct After {
    pub text: String,
    pub syntax: Syntax,
    pub found: Vec<Found>,
}

pub(super) fn after(source: Source, edits: &[Edit]) -> After {
    let text = apply_edits(source.text, edits);
    let mut syntax = source.syntax.clone();
    syntax.update(None, &splices(source.text, edits), &text);
    // In broken code a tree that was changed may tell another story than one made anew, and whoever opens
    // the file next makes it anew.
    if syntax.has_errors(&text) {
        syntax = Syntax::parse(&text, source.syntax.language());
    }
    let found = scan(source.path, &text, &syntax);
    After {
        text,
        syntax,
        found,
    }
}

/// The edits as a parser is told of them: the last first, so that each counts in the text before all.
fn splices(text: &str, edits: &[Edit]) -> Vec<Splice> {
    let edits = edits.iter().rev();
    edits
        .map(|edit| Splice::of(text, edit.range.clone(), &edit.text))
        .collect()
}

/// Whether the text after `edits` holds `expected` in the place of the thread `replaced` (or as a new
/// one), under `id` if that is given, and every other thread as it was.
pub(super) fn reads_back(
    source: Source,
    before: &[Found],
    replaced: Option<usize>,
    edits: &[Edit],
    expected: &[Said],
    id: Option<&str>,
    strict: bool,
) -> bool {
    let after = after(source, edits);
    !(strict && breaks(source, &after)) && holds(&after, before, replaced, expected, id)
}

/// Whether the text after a write has errors that it had not before.
pub(super) fn breaks(source: Source, after: &After) -> bool {
    after.syntax.errors(&after.text) > source.syntax.errors(source.text)
}

/// Whether `expected` is found in the place of the thread `replaced` (or as a new one), under `id` if that is given, and
/// every other thread as it was.
pub(super) fn holds(
    after: &After,
    before: &[Found],
    replaced: Option<usize>,
    expected: &[Said],
    id: Option<&str>,
) -> bool {
    if after.found.len() + usize::from(replaced.is_some()) != before.len() + 1 {
        return false;
    }
    let others: Vec<Vec<Said>> = before
        .iter()
        .enumerate()
        .filter(|(i, _)| Some(*i) != replaced)
        .map(|(_, found)| conversation(found))
        .collect();
    (0..after.found.len()).any(|at| {
        let ours = &after.found[at];
        let rest = after
            .found
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != at)
            .map(|(_, found)| conversation(found));
        conversation(ours) == expected
            && id.is_none_or(|id| ours.thread.id == id)
            && rest.eq(others.iter().cloned())
    })
}

/// Whether `edits` would change a line of a thread, or make or end one (tools refuse such edits: only
/// the server writes marker lines). Code beside a trailing marker may be changed.
pub fn touches_threads(source: Source, edits: &[Edit]) -> bool {
    if source.syntax.notebook(source.text).is_some() {
        return notebook::touches_threads(source, edits);
    }
    let before = scan(source.path, source.text, source.syntax);
    let after = after(source, edits);
    if before.len() != after.found.len() {
        return true;
    }
    before.iter().zip(&after.found).any(|(old, new)| {
        old.rows.len() != new.rows.len()
            || conversation(old) != conversation(new)
            || old.rows.iter().zip(&new.rows).any(|(a, b)| {
                let shared = a.before || a.after || b.before || b.after;
                bytes(source.text, a, shared) != bytes(&after.text, b, shared)
            })
    })
}

/// The line that `row` is; of one shared with code the comment's part.
fn bytes<'a>(text: &'a str, row: &Row, shared: bool) -> Option<&'a str> {
    if shared {
        text.get(
            row.span.start.max(row.comment.range.start)..row.span.end.min(row.comment.range.end),
        )
    } else {
        text.get(row.span.clone())
    }
}
