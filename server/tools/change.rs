//! The one way a turn changes a file.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use similar::{DiffOp, TextDiff};

use super::permit::{each_time, quoted};
use super::{Context, Known, may_change};
use crate::comments::{Syntax, detect};
use crate::edits::{Source, touches_threads};
use crate::files::{FileError, Seen, Text, hash, head};
use crate::host::{BufferEdit, NotApplied};
use crate::store::Change;
use crate::text::Edit;
use crate::{threads, trust};

/// The one way a turn changes a file: through the editor where it is open (`Host::apply` with the
/// version that was read), else atomically on disk; refused where it would change a thread's lines or
/// where the text is not what was `seen`; recorded for undo before it is made. `seen` is `None` for a
/// file that does not exist.
///
/// # Errors
/// Text for the model. Nothing was changed then.
pub async fn change_file(
    cx: &Context,
    path: &Path,
    seen: Option<&Seen>,
    new_text: &str,
) -> Result<(), String> {
    let resolved = cx.tree.resolve_path(path).map_err(|e| e.to_string())?;
    let _guard = cx.lock(&resolved).await;
    Ok(change_locked(cx, path, seen, new_text).await?)
}

/// Why [`change_locked`] changed nothing.
pub(super) enum Unchanged {
    /// The text is not what was seen. Carries the name that is shown for the file.
    Meanwhile(String),
    Refused(String),
}

impl From<String> for Unchanged {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

impl From<Unchanged> for String {
    fn from(unchanged: Unchanged) -> Self {
        match unchanged {
            Unchanged::Meanwhile(shown) => format!(
                "{shown} changed since you read it, so nothing was written. Read it again with file_read and make the change on what stands there now."
            ),
            Unchanged::Refused(why) => why,
        }
    }
}

/// [`change_file`] for who holds the file's lock already.
pub(super) async fn change_locked(
    cx: &Context,
    path: &Path,
    seen: Option<&Seen>,
    new_text: &str,
) -> Result<(), Unchanged> {
    may_change(cx, "that changes files")?;
    let resolved = cx.tree.resolve_path(path).map_err(|e| e.to_string())?;
    let shown = cx.shown(&resolved);
    if let Some(why) = trust::protected(&shown) {
        each_time(
            cx,
            format!("The agent wants to change {}; {why}.", quoted(&shown).0),
        )
        .await?;
    }
    if cx.cancel.is_cancelled() {
        return Err(String::from("The turn was cancelled; nothing was written.").into());
    }
    let current = match cx.tree.read_path(&resolved) {
        Ok(text) => Some(text),
        Err(FileError::NotFound(_)) => None,
        Err(e) => return Err(e.to_string().into()),
    };
    let Some(current) = agreed(&shown, current, seen)? else {
        return Ok(create(cx, &resolved, &shown, new_text).await?);
    };
    let edits = minimal_edits(&current.text, new_text);
    if edits.is_empty() {
        return Ok(());
    }
    keeps_threads(&shown, &current, &edits, new_text)?;
    record(cx, &shown, Some(current.text.as_bytes()), new_text)?;
    match &current.buffer {
        Some(buffer) => {
            // The name that the editor has for it.
            let path = cx
                .tree
                .open_as(&resolved)
                .unwrap_or_else(|| resolved.clone());
            let edit = BufferEdit {
                path,
                version: buffer.document.version(),
                edits,
            };
            let applied = cx
                .host
                .apply(&format!("postil: change {shown}"), vec![edit])
                .await;
            applied.map_err(|e| match e {
                NotApplied::Changed => Unchanged::Meanwhile(shown.clone()),
                NotApplied::Refused(why) => Unchanged::Refused(format!(
                    "The editor refused the change of {shown} ({why}); nothing was written."
                )),
                NotApplied::NoEditor => Unchanged::Refused(format!(
                    "{shown} is open in an editor that is gone; nothing was written. Read it again."
                )),
            })?;
        }
        None => {
            write(cx, &resolved, new_text, Some(&current.seen)).map_err(|e| match e {
                FileError::Changed(_) => Unchanged::Meanwhile(shown.clone()),
                e => Unchanged::Refused(format!("{e}; nothing was written.")),
            })?;
        }
    }
    // What stands there now is known to the run: its next change builds on this one.
    let version = cx.tree.buffer(&resolved).map(|b| b.document.version());
    remember(cx, resolved, version, new_text);
    Ok(())
}

fn remember(cx: &Context, path: PathBuf, version: Option<i32>, text: &str) {
    let seen = Seen {
        version,
        hash: hash(text.as_bytes()),
    };
    let text = text.into();
    cx.seen.insert(path, Known { seen, text });
}

/// The file as it is, if it is as it was seen; `None` where it is to be made.
fn agreed(
    shown: &str,
    current: Option<Text>,
    seen: Option<&Seen>,
) -> Result<Option<Text>, Unchanged> {
    match (current, seen) {
        (Some(text), _) if text.lossy => Err(FileError::NotUtf8(text.path.display().to_string())
            .to_string()
            .into()),
        // Typed and undone is unchanged: the text counts, not the version.
        (Some(text), Some(seen)) if text.seen.hash == seen.hash => Ok(Some(text)),
        (_, Some(_)) => Err(Unchanged::Meanwhile(shown.to_owned())),
        (Some(_), None) => Err(format!(
            "{shown} exists already, so nothing was written. Read it first with file_read."
        )
        .into()),
        (None, None) => Ok(None),
    }
}

async fn create(cx: &Context, path: &Path, shown: &str, text: &str) -> Result<(), String> {
    if has_threads(shown, text) {
        return Err(thread_refusal(shown));
    }
    record(cx, shown, None, text)?;
    write(cx, path, text, None).map_err(|e| match e {
        FileError::Changed(_) => format!(
            "{shown} was made by somebody else meanwhile, so nothing was written. Read it first."
        ),
        e => format!("{e}; nothing was written."),
    })?;
    remember(cx, path.to_owned(), None, text);
    Ok(())
}

fn write(cx: &Context, path: &Path, text: &str, seen: Option<&Seen>) -> Result<(), FileError> {
    cx.tree.write_path(path, text.as_bytes(), seen)?;
    let paths = [path.to_owned()];
    cx.host.changed(&paths);
    cx.children.disk_changed(&paths);
    Ok(())
}

fn record(cx: &Context, shown: &str, before: Option<&[u8]>, after: &str) -> Result<(), String> {
    let Some(store) = &cx.store else {
        return Ok(());
    };
    let change = Change {
        file: shown.to_owned(),
        before: before.map(<[u8]>::to_vec),
        after: Some(after.as_bytes().to_vec()),
    };
    store.record_change(&cx.run, &change).map_err(|e| {
        format!("The change of {shown} cannot be recorded for undo ({e}), so nothing was written.")
    })
}

fn thread_refusal(shown: &str) -> String {
    format!(
        "This would change AUTHOR: or AGENT: comments in {shown}, so nothing was written. Leave these lines as they are: postil writes them, and your final answer becomes the AGENT message."
    )
}

/// Marker lines are the author's and the server's: a tool neither changes, removes, moves nor makes one.
fn keeps_threads(
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
        return Err(thread_refusal(shown));
    }
    let old = said(shown, old_text, syntax);
    let new = said(shown, new_text, &Syntax::parse(new_text, syntax.language()));
    if old == new {
        Ok(())
    } else {
        Err(thread_refusal(shown))
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

fn has_threads(path: &str, text: &str) -> bool {
    threads::may_hold(text.as_bytes())
        && !threads::find(
            path,
            text,
            &Syntax::parse(text, detect(path, None, head(text))),
        )
        .is_empty()
}

/// The edits that turn `old` into `new`: by line, and in the lines that are replaced without the
/// beginning and the end that stay. No edit begins or ends inside a character or a CR LF.
pub fn minimal_edits(old: &str, new: &str) -> Vec<Edit> {
    if old == new {
        return Vec::new();
    }
    let diff = by_line(old, new);
    let old_at = offsets((0..diff.old_len()).map(|i| diff.old_slice(i).map_or(0, str::len)));
    let new_at = offsets((0..diff.new_len()).map(|i| diff.new_slice(i).map_or(0, str::len)));
    let at = |offsets: &[usize], line: usize| offsets.get(line).copied().unwrap_or_default();
    let mut edits = Vec::new();
    let mut replace = |old_lines: Range<usize>, new_lines: Range<usize>| {
        let range = at(&old_at, old_lines.start)..at(&old_at, old_lines.end);
        let text = new
            .get(at(&new_at, new_lines.start)..at(&new_at, new_lines.end))
            .unwrap_or_default();
        edits.extend(trimmed(old, range, text));
    };
    for op in diff.ops() {
        match *op {
            DiffOp::Equal { .. } => {}
            // As many lines as before: each is likely to be the changed form of its own.
            DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            } if old_len == new_len => {
                for line in 0..old_len {
                    replace(
                        old_index + line..old_index + line + 1,
                        new_index + line..new_index + line + 1,
                    );
                }
            }
            _ => replace(op.old_range(), op.new_range()),
        }
    }
    edits
}

/// The bytes of `new` that are whole lines of `old` as well, in order.
pub(super) fn kept_lines(old: &str, new: &str) -> Vec<Range<usize>> {
    let diff = by_line(old, new);
    let at = offsets((0..diff.new_len()).map(|i| diff.new_slice(i).map_or(0, str::len)));
    let at = |line: usize| at.get(line).copied().unwrap_or_default();
    let kept = diff.ops().iter().filter_map(|op| match op {
        DiffOp::Equal { .. } => Some(at(op.new_range().start)..at(op.new_range().end)),
        _ => None,
    });
    kept.collect()
}

fn by_line<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, str> {
    // A bound on time, not on correctness: what is not looked at counts as changed.
    TextDiff::configure()
        .timeout(Duration::from_millis(500))
        .diff_lines(old, new)
}

fn offsets(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut sum = 0;
    let ends = lengths.map(|length| {
        sum += length;
        sum
    });
    std::iter::once(0).chain(ends).collect()
}

/// `None`: nothing is to change.
fn trimmed(whole: &str, range: Range<usize>, new: &str) -> Option<Edit> {
    let old = whole.get(range.clone())?;
    if old == new {
        return None;
    }
    let same = |(a, b): &(char, char)| a == b;
    let mut start: usize = old
        .chars()
        .zip(new.chars())
        .take_while(same)
        .map(|(c, _)| c.len_utf8())
        .sum();
    let splits = |text: &str, at: usize| {
        text.get(..at).is_some_and(|t| t.ends_with('\r'))
            && text.get(at..).is_some_and(|t| t.starts_with('\n'))
    };
    if splits(old, start) || splits(new, start) {
        start -= 1;
    }
    let (old_rest, new_rest) = (old.get(start..)?, new.get(start..)?);
    let ends = old_rest.chars().rev().zip(new_rest.chars().rev());
    let mut end: usize = ends.take_while(same).map(|(c, _)| c.len_utf8()).sum();
    if splits(old, old.len() - end) || splits(new, new.len() - end) {
        end -= 1;
    }
    // The line end that follows the block belongs to it too.
    let text = new_rest.get(..new_rest.len() - end)?.to_owned();
    Some(Edit {
        range: range.start + start..range.end - end,
        text,
    })
}
