//! What the author has open is changed by their editor: edits, and files that are removed or renamed.

use std::path::Path;

use super::{Context, NotApplied, Step, Text, Unchanged, minimal_edits};
use crate::host::{BufferEdit, FileOp};
use crate::text::same_lines;

/// Whether a file that is open may be removed or renamed.
///
/// # Errors
/// Why not.
pub(super) fn may_go(
    cx: &Context,
    path: &Path,
    shown: &str,
    before: &Text,
) -> Result<(), Unchanged> {
    if !cx.host.can_remove() && !cx.host.can_rename() {
        return Err(format!(
            "{shown} is open in the editor, which neither removes nor renames files for us; nothing was written. Ask the author to close it."
        )
        .into());
    }
    if !cx.tree.is_saved(path, &before.text) {
        return Err(format!(
            "{shown} is open in the editor with text that is not saved, so it is neither removed nor renamed; nothing was written. Ask the author to save or close it."
        )
        .into());
    }
    Ok(())
}

/// Whether `step` makes a file by the editor's renaming of an open one.
pub(super) fn moves(cx: &Context, step: &Step, steps: &[Step]) -> bool {
    step.before.is_none()
        && cx.host.can_rename()
        && step.like.as_ref().is_some_and(|like| {
            let goes = |other: &Step| other.path == *like && other.is_open() && !other.is_edit();
            steps.iter().any(goes)
        })
}

/// The step that makes the file to which an open one is renamed.
fn renamed<'a>(steps: &[&'a Step], from: &Step) -> Option<&'a Step> {
    let to = |to: &&&Step| !to.is_open() && to.like.as_ref() == Some(&from.path);
    steps.iter().find(to).copied()
}

fn shown(steps: &[&Step]) -> Vec<String> {
    steps.iter().map(|step| step.shown.clone()).collect()
}

/// One edit for all of them. An error: what it may have changed all the same, by the names that are shown.
pub(super) async fn edit(cx: &Context, steps: &[&Step]) -> Result<(), (Unchanged, Vec<String>)> {
    let names = shown(steps).join(", ");
    let mut edits = Vec::new();
    let mut ops = Vec::new();
    for step in steps.iter().filter(|step| step.is_open()) {
        let Some((before, buffer)) = step
            .before
            .as_ref()
            .and_then(|before| Some((before, before.buffer.as_ref()?)))
        else {
            continue;
        };
        // The name that the editor has for it.
        let path = cx.tree.open_as(&step.path);
        let path = path.unwrap_or_else(|| step.path.clone());
        let to = renamed(steps, step).and_then(|to| Some((to.path.clone(), to.after.clone()?)));
        let changed = match (&step.after, &to) {
            (Some(_), _) => step.edits.clone(),
            (None, Some((_, after))) => minimal_edits(&before.text, after),
            (None, None) => Vec::new(),
        };
        if !changed.is_empty() {
            edits.push(BufferEdit {
                path: path.clone(),
                generation: buffer.generation,
                edits: changed,
            });
        }
        match to {
            _ if step.after.is_some() => {}
            Some((to, text)) => ops.push(FileOp::Rename {
                from: path,
                to,
                text,
            }),
            None if cx.host.can_remove() => ops.push(FileOp::Remove(path)),
            None => {
                let why = Unchanged::Refused(format!(
                    "{} is open in the editor, which removes no files for us; nothing was written. Ask the author to close it.",
                    step.shown
                ));
                return Err((why, Vec::new()));
            }
        }
    }
    let label = format!("postil: change {names}");
    let is_whole = edits.len() < 2 && ops.is_empty();
    let Err(error) = cx.host.apply_with(&label, edits, ops).await else {
        return Ok(());
    };
    // What may come yet would come upon what was taken back.
    let is_known = !matches!(error, NotApplied::Unknown(_) | NotApplied::NoEditor);
    let left = match is_known && !is_whole {
        true => take_back(cx, steps, matches!(error, NotApplied::Changed)).await,
        false => Vec::new(),
    };
    let why = match error {
        NotApplied::Changed if left.is_empty() => Unchanged::Meanwhile(names),
        NotApplied::Changed => Unchanged::Refused(format!(
            "The editor made the change of {names} in part, for the author typed meanwhile: look at {} before you go on.",
            left.join(", ")
        )),
        NotApplied::Refused(why) | NotApplied::ReadOnly(why) if left.is_empty() => {
            Unchanged::Refused(format!(
                "The editor refused the change of {names} ({why}); nothing was written."
            ))
        }
        NotApplied::Refused(why) | NotApplied::ReadOnly(why) => Unchanged::Refused(format!(
            "The editor made the change of {names} in part ({why}): look at {} before you go on.",
            left.join(", ")
        )),
        // It may stand there.
        NotApplied::Unknown(why) => return Err((Unchanged::Unknown(names, why), shown(steps))),
        NotApplied::NoEditor => {
            let why = format!(
                "{names} is open in an editor that is gone; nothing was written. Read it again."
            );
            return Err((Unchanged::Refused(why), shown(steps)));
        }
    };
    Err((why, left))
}

/// An editor that could not change, remove or rename one of the files may have made the edits before it. Those that could
/// not be taken back. `typed`: the author did, so that a text that is neither as before nor as we wanted it is theirs.
async fn take_back(cx: &Context, steps: &[&Step], typed: bool) -> Vec<String> {
    let mut left = Vec::new();
    for step in steps.iter().filter(|step| step.is_open()) {
        let Some(before) = &step.before else { continue };
        let expected = match &step.after {
            Some(after) => Some(after),
            None => renamed(steps, step).and_then(|to| to.after.as_ref()),
        };
        let Some(buffer) = cx.tree.buffer(&step.path) else {
            if !cx.tree.is_saved(&step.path, &before.text) {
                left.push(step.shown.clone());
            }
            continue;
        };
        let now = buffer.document.text();
        if *now == *before.text {
            continue;
        }
        let path = cx.tree.open_as(&step.path);
        let edit = BufferEdit {
            path: path.unwrap_or_else(|| step.path.clone()),
            generation: buffer.generation,
            edits: minimal_edits(now, &before.text),
        };
        // Whatever else stands there is the author's; an editor changes the line ends of its whole buffer.
        let ours = expected.is_some_and(|expected| same_lines(expected, now));
        if !ours && typed {
            continue;
        }
        if !ours
            || cx
                .host
                .apply("postil: take back", vec![edit])
                .await
                .is_err()
        {
            left.push(step.shown.clone());
        }
    }
    left
}
