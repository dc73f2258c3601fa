//! `patch_apply`: a unified diff of several files, made whole or not at all.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{FileChange, Patience, Unchanged, change_locked, kept_lines};
use super::file_edit::nearest;
use super::patch::{self, Applied, FilePatch, Hunk, Kind, Sign, Unfit, Why};
use super::{Context, Known, Output, Tool, parse, schema};
use crate::files::{FileError, Text};
use crate::present::{cut, listed};
use crate::trust::{self, Risk};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The unified diff. For each file the lines `--- a/PATH` and `+++ b/PATH` (`/dev/null` for a new or
    /// removed file; `rename from PATH` and `rename to PATH` for a renamed one), then its hunks:
    /// `@@ -START,COUNT +START,COUNT @@` and the lines, each behind a blank, `-` or `+`.
    patch: String,
}

pub(super) struct PatchApply;

#[async_trait]
impl Tool for PatchApply {
    fn name(&self) -> &'static str {
        "patch_apply"
    }
    fn description(&self) -> String {
        String::from(
            "Applies a unified diff to one or several files, as git writes it: all of it or nothing. Lines that are kept or removed must stand in the files exactly, and the counts in the hunks' headers must be right. Makes, removes and renames files too. AUTHOR: and AGENT: comments must stay as they are.",
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Write
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        let Input { patch } = parse(self.name(), input)?;
        patch::read(&patch).map(drop)
    }
    fn about_all(&self, cx: &Context, input: &Value) -> Vec<String> {
        let shown = |name: String| match cx.tree.resolve(&name) {
            Ok(resolved) => cx.shown(&resolved),
            Err(_) => name,
        };
        self.names(input).into_iter().map(shown).collect()
    }
    fn names(&self, input: &Value) -> Vec<String> {
        let Ok(Input { patch }) = parse(self.name(), input) else {
            return Vec::new();
        };
        let files = patch::read(&patch).unwrap_or_default();
        let names = files.iter().flat_map(|file| file.kind.names());
        names.map(str::to_owned).collect()
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        let Input { patch } = parse(self.name(), &input)?;
        let files = patch::read(&patch)?;
        let mut paths = BTreeSet::new();
        for file in &files {
            for name in file.kind.names() {
                if !paths.insert(confined(cx, name, &file.kind)?) {
                    return Err(format!(
                        "{name} is in the patch twice, so nothing was written. Put all that happens to it into one part."
                    ));
                }
            }
        }
        let _guards = cx.lock_all(&paths).await;
        let known: Vec<Option<Known>> = files
            .iter()
            .map(|file| {
                let path = cx.tree.resolve(source(&file.kind)?).ok()?;
                cx.seen.get(&path).map(|known| known.clone())
            })
            .collect();
        let patience = Patience::begin();
        loop {
            let mut wanted = Vec::new();
            let mut account = Vec::new();
            let mut open = false;
            for (file, known) in files.iter().zip(&known) {
                let made = make(cx, file, known.as_ref())?;
                open |= made.open;
                account.push(made.account);
                wanted.extend(made.wanted);
            }
            match change_locked(cx, wanted).await {
                Ok(()) => return Ok(account.join("\n")),
                // The lines are looked at again, in what stands there now.
                Err(why) if open && patience.lasts(&why) => {}
                Err(why) => return Err(why.into()),
            }
        }
    }
}

/// The file below the root that a patch's name stands for.
fn confined(cx: &Context, name: &str, kind: &Kind) -> Result<PathBuf, String> {
    let odd = name.starts_with(['/', '~'])
        || name.split('/').any(|part| part == "..")
        || Path::new(name).is_absolute();
    if odd {
        return Err(format!(
            "{name} is no path inside the workspace, so nothing was written. A patch names files relative to the workspace root, without `..`."
        ));
    }
    let resolved = cx
        .tree
        .resolve(name)
        .map_err(|e| format!("{e}; nothing was written."))?;
    let shown = cx.shown(&resolved);
    if trust::in_repository(name) || trust::in_repository(&shown) {
        return Err(format!(
            "{name} belongs to version control, which runs what stands there; a patch does not change it, and nothing was written."
        ));
    }
    let moves = matches!(kind, Kind::Remove(_) | Kind::Rename { .. });
    let lexical: PathBuf = cx.tree.root().join(name).components().collect();
    if moves && lexical != resolved {
        return Err(format!(
            "{name} leads through a symbolic link, and such a file is neither removed nor renamed; nothing was written."
        ));
    }
    Ok(resolved)
}

/// The file whose text the hunks are about.
fn source(kind: &Kind) -> Option<&str> {
    match kind {
        Kind::Change(name) | Kind::Remove(name) => Some(name),
        Kind::Rename { from, .. } | Kind::Copy { from, .. } => Some(from),
        Kind::Make(_) => None,
    }
}

/// What one file of the patch comes to.
struct Made {
    wanted: Vec<FileChange>,
    account: String,
    open: bool,
}

fn make(cx: &Context, file: &FilePatch, known: Option<&Known>) -> Result<Made, String> {
    let resolve = |name: &str| cx.tree.resolve(name).map_err(|e| e.to_string());
    let name = file.kind.name();
    let current = source(&file.kind).map(|name| read(cx, name)).transpose()?;
    let text = current.as_ref().map_or("", |current| &*current.text);
    let applied =
        patch::apply(text, &file.hunks).map_err(|unfit| misfit(name, text, &file.hunks, &unfit))?;
    if let Some(current) = &current {
        unchanged(cx, current, &applied, known)?;
    }
    let counts = lines(&file.hunks);
    let open = current.as_ref().is_some_and(|c| c.buffer.is_some());
    let old = |text: Option<String>| {
        let current = current.as_ref()?;
        let seen = Some(current.seen.clone());
        Some(FileChange::new(&current.path, seen, text))
    };
    let new = |to: &str, like: Option<PathBuf>| {
        let text = Some(applied.text.clone());
        Ok::<_, String>(FileChange {
            like,
            ..FileChange::new(resolve(to)?, None, text)
        })
    };
    let (wanted, mut account) = match &file.kind {
        Kind::Change(_) => (
            old(Some(applied.text.clone())).into_iter().collect(),
            format!("Changed {name}: {counts}."),
        ),
        Kind::Make(_) => (vec![new(name, None)?], format!("Made {name}: {counts}.")),
        Kind::Remove(_) if !applied.text.is_empty() => {
            return Err(format!(
                "The patch removes {name} but not all of its lines, so nothing was written. Give every line of the file behind a `-`."
            ));
        }
        Kind::Remove(_) => (
            old(None).into_iter().collect(),
            format!("Removed {name}: {counts}."),
        ),
        Kind::Rename { from, to } => {
            let like = current.as_ref().map(|current| current.path.clone());
            let wanted = old(None).into_iter().chain([new(to, like)?]).collect();
            (wanted, format!("Renamed {from} to {to}: {counts}."))
        }
        Kind::Copy { from, to } => (
            vec![new(to, None)?],
            format!("Copied {from} to {to}: {counts}."),
        ),
    };
    for (hunk, line) in applied.moved.iter().take(20) {
        account.push_str(&format!(" Hunk {hunk} stood at line {line}."));
    }
    Ok(Made {
        wanted,
        account,
        open,
    })
}

fn read(cx: &Context, name: &str) -> Result<Text, String> {
    let current = cx.tree.read(name).map_err(|e| match e {
        FileError::NotFound(_) => format!(
            "{e}, so nothing was written. A new file has `--- /dev/null` above its `+++` line."
        ),
        e => format!("{e}; nothing was written."),
    })?;
    if current.lossy {
        return Err(format!("{}.", FileError::NotUtf8(cx.shown(&current.path))));
    }
    Ok(current)
}

/// What was read before must stand as it was read: in an open file, where its author types on, the lines that
/// the hunks are about; on disk the whole file.
fn unchanged(
    cx: &Context,
    current: &Text,
    applied: &Applied,
    known: Option<&Known>,
) -> Result<(), String> {
    let Some(known) = known.filter(|known| known.seen.hash != current.seen.hash) else {
        return Ok(());
    };
    let kept = kept_lines(&known.text, &current.text);
    let stands = applied.places.iter().all(|at| {
        kept.iter()
            .any(|kept| kept.start <= at.start && at.end <= kept.end)
    });
    if current.buffer.is_some() && stands {
        return Ok(());
    }
    Err(Unchanged::Meanwhile(cx.shown(&current.path)).into())
}

/// Characters of a line that are shown.
const LONGEST: usize = 200;

fn lines(hunks: &[Hunk]) -> String {
    let count = |sign| hunks.iter().map(|hunk| hunk.count(sign)).sum::<usize>();
    let (added, removed) = (count(Sign::Added), count(Sign::Removed));
    format!("{added} lines added, {removed} removed")
}

fn misfit(name: &str, text: &str, hunks: &[Hunk], unfit: &Unfit) -> String {
    let hunk = unfit.hunk;
    let start = hunks.get(hunk - 1).map_or(0, |hunk| hunk.start);
    let begin =
        format!("Hunk {hunk} of {name} (line {start}) does not fit, so nothing was written:");
    match &unfit.why {
        Why::Other {
            line,
            wanted,
            found,
        } => {
            let found = match found {
                Some(found) => format!("line {line} is `{}`", cut(found, LONGEST)),
                None => format!("the file has no line {line}"),
            };
            let like = nearest(text, wanted, "file_read");
            format!(
                "{begin} {found}, the patch has `{}` there, and its lines stand nowhere else. {like}",
                cut(wanted, LONGEST)
            )
        }
        Why::Several(at) => {
            format!(
                "{begin} its lines stand not there but at lines {}. Give the right line, or more lines around the place.",
                listed(at)
            )
        }
        Why::Past { lines } => {
            format!("{begin} the file has {lines} lines.")
        }
        Why::Overlaps(other) => {
            format!(
                "{begin} it is about lines that hunk {other} is about too. Make one hunk of them."
            )
        }
    }
}
