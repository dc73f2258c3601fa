//! The one way a turn changes files: all that belong together, or none.

mod diff;
mod guarded;
mod open;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::permit::{each_time, quoted};
use super::{Context, Known, may_change};
use crate::edits::{take_all_back, take_back};
use crate::files::{FileError, Like, Planned, Seen, Text, hash};
use crate::host::NotApplied;
use crate::store::Change;
use crate::text::{Edit, apply_edits, same_lines};
use crate::trust;

pub(super) use diff::kept_lines;
pub use diff::minimal_edits;

/// What is to become of one file.
#[derive(Clone, Debug)]
pub struct FileChange {
    pub path: PathBuf,
    /// As it was read; `None`: it does not exist.
    pub seen: Option<Seen>,
    /// `None`: it is removed.
    pub text: Option<String>,
    /// The file whose place it takes (a rename), and like which it is made …
    pub like: Option<PathBuf>,
    /// … or else with this mode.
    pub mode: Option<u32>,
}

impl FileChange {
    pub fn new(path: impl Into<PathBuf>, seen: Option<Seen>, text: Option<String>) -> Self {
        Self {
            path: path.into(),
            seen,
            text,
            like: None,
            mode: None,
        }
    }
}

/// The one way a turn changes a file: through the editor where it is open (`Host::apply` with the
/// version that was read), else atomically on disk; refused where it would change a thread's lines or
/// where the text is not what was `seen`; recorded for undo before it is made.
///
/// # Errors
/// Nothing was changed then.
pub async fn change_file(cx: &Context, wanted: FileChange) -> Result<(), Unchanged> {
    change_files(cx, vec![wanted]).await
}

/// All of these by the rules of [`change_file`], or none.
///
/// # Errors
/// Nothing was changed then; or the text says what could not be put back.
pub async fn change_files(cx: &Context, wanted: Vec<FileChange>) -> Result<(), Unchanged> {
    let resolved = wanted.iter().map(|wanted| cx.tree.resolve(&wanted.path));
    let paths: Result<BTreeSet<PathBuf>, FileError> = resolved.collect();
    let _guards = cx.lock_all(&paths.map_err(|e| e.to_string())?).await;
    change_locked(cx, wanted).await
}

/// For how long a change is made again and again while its author types elsewhere in the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether a change is made once more, onto what stands there by then.
pub struct Patience {
    until: Instant,
}

impl Patience {
    pub fn begin() -> Self {
        Self {
            until: Instant::now() + PATIENCE,
        }
    }

    /// The author typed at the moment of the change, and may be waited for.
    pub fn lasts(&self, failed: &Unchanged) -> bool {
        matches!(failed, Unchanged::Meanwhile(_)) && Instant::now() < self.until
    }
}

/// Why a change was not made, or is not known to be: shown for a person, as a `String` for the model.
#[derive(Debug)]
pub enum Unchanged {
    /// The text is not what was seen. Carries the name that is shown for the file.
    Meanwhile(String),
    /// The editor has not told whether it made the change: of which files, and why not.
    Unknown(String, String),
    Refused(String),
}

impl std::fmt::Display for Unchanged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Meanwhile(shown) => write!(f, "{shown} changed meanwhile"),
            Self::Unknown(shown, why) => write!(
                f,
                "it is not known whether the editor made the change of {shown}: {why}"
            ),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl From<String> for Unchanged {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

impl From<Unchanged> for String {
    fn from(unchanged: Unchanged) -> Self {
        let what = match unchanged {
            Unchanged::Meanwhile(shown) => {
                format!("{shown} changed since you read it, so nothing was written.")
            }
            Unchanged::Unknown(shown, why) => {
                format!("It is not known whether the editor made the change of {shown} ({why}).")
            }
            Unchanged::Refused(why) => return why,
        };
        format!("{what} Read it again and make the change on what stands there now.")
    }
}

/// One file, looked at and not yet changed.
struct Step {
    path: PathBuf,
    shown: String,
    before: Option<Text>,
    /// `None`: it is removed.
    after: Option<String>,
    /// For an open buffer; empty where nothing is to change in it.
    edits: Vec<Edit>,
    /// Of the file that is made, or of that which is removed.
    mode: Option<u32>,
    /// The file whose place it takes.
    like: Option<PathBuf>,
    /// How many of the folders above it are made with it.
    folders: u32,
}

/// Changes all of these files or none, by the rules of [`change_file`]: files on disk first, put back where
/// a later one fails; then the open ones, by one edit. Whoever calls holds the locks of all files.
///
/// # Errors
/// Nothing was changed then; or the text says what could not be put back.
pub(super) async fn change_locked(cx: &Context, wanted: Vec<FileChange>) -> Result<(), Unchanged> {
    change(cx, wanted, true).await
}

/// The same for a file of postil's own, which is guarded from other tools and asked about nowhere.
pub(super) async fn change_ours(cx: &Context, wanted: FileChange) -> Result<(), Unchanged> {
    change(cx, vec![wanted], false).await
}

async fn change(cx: &Context, wanted: Vec<FileChange>, asks: bool) -> Result<(), Unchanged> {
    may_change(cx, "that changes files")?;
    let mut paths = Vec::new();
    let guard = trust::Guard::of(cx.tree.root());
    for wanted in &wanted {
        let resolved = cx.tree.resolve(&wanted.path);
        let resolved = resolved.map_err(|e| e.to_string())?;
        let shown = cx.shown(&resolved);
        if asks && let Some(why) = guard.why(&shown) {
            let question = format!("The agent wants to change {}; {why}.", quoted(&shown).0);
            each_time(cx, question).await?;
        }
        paths.push((resolved, shown));
    }
    if cx.cancel.is_cancelled() {
        return Err(String::from("The turn was cancelled; nothing was written.").into());
    }
    let mut steps = Vec::new();
    for (wanted, (path, shown)) in wanted.into_iter().zip(paths) {
        steps.extend(look(cx, wanted, path, shown)?);
    }
    if let Some(overlay) = cx.tree.overlay().filter(|overlay| overlay.is_on()) {
        // Nothing is made before the author has seen it all.
        for step in made_first(steps.iter()) {
            let planned = Planned {
                before: step.before.as_ref().map(|text| text.text.clone()),
                after: step.after.as_deref().map(Into::into),
                mode: step.mode.filter(|_| step.before.is_none()),
                like: step.like.clone(),
            };
            overlay.put(step.path.clone(), planned);
        }
        remember(cx, &steps);
        return Ok(());
    }
    not_unsaved_elsewhere(cx, &steps).await?;
    let since = cx.store.as_ref().map(|store| store.newest_change());
    let since = since.and_then(Result::ok);
    let made = make(cx, &steps).await;
    if let Err((why, left)) = made {
        forget(cx, &steps, since, &left);
        return Err(why);
    }
    remember(cx, &steps);
    Ok(())
}

/// A file goes when the one that takes its place is there: whoever ends us in between leaves one of them.
fn made_first<'a>(steps: impl IntoIterator<Item = &'a Step>) -> impl Iterator<Item = &'a Step> {
    let (made, removed): (Vec<_>, Vec<_>) =
        (steps.into_iter()).partition(|step| step.after.is_some());
    made.into_iter().chain(removed)
}

/// What another editor has not saved would be lost there, or here, were its file changed on disk.
async fn not_unsaved_elsewhere(cx: &Context, steps: &[Step]) -> Result<(), String> {
    let on_disk = steps.iter().filter(|step| !step.is_open());
    let paths: Vec<PathBuf> = on_disk.map(|step| step.path.clone()).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let unsaved = cx.host.unsaved_elsewhere(cx.tree.root(), &paths).await;
    let Some(path) = unsaved.first() else {
        return Ok(());
    };
    Err(format!(
        "{} has changes that are not saved in another editor, so nothing was written: the author has to save it there first.",
        cx.shown(path)
    ))
}

/// Records the steps and makes them. An error: what may stand there all the same, by the names that are shown.
async fn make(cx: &Context, steps: &[Step]) -> Result<(), (Unchanged, Vec<String>)> {
    for step in steps {
        record(cx, step).map_err(|why| (why.into(), Vec::new()))?;
    }
    let (open, on_disk): (Vec<_>, Vec<_>) = steps
        .iter()
        .partition(|step| step.is_open() || open::moves(cx, step, steps));
    let mut done = Vec::new();
    for step in made_first(on_disk) {
        if let Err(why) = write(cx, step).await {
            return Err(put_back(cx, &done, (why, Vec::new())));
        }
        done.push(step);
    }
    if !open.is_empty()
        && let Err(failed) = open::edit(cx, &open).await
    {
        return Err(put_back(cx, &done, failed));
    }
    done.extend(open.into_iter().filter(|step| !step.is_edit()));
    tell(cx, &done);
    Ok(())
}

/// What was not made is not taken back either: it may be made by the author by then, or by another turn. `left`
/// stays recorded.
fn forget(cx: &Context, steps: &[Step], since: Option<i64>, left: &[String]) {
    let (Some(store), Some(since)) = (&cx.store, since) else {
        return;
    };
    for step in steps {
        if left.contains(&step.shown) || is_mixed(cx, step) {
            continue;
        }
        if let Err(error) = store.forget_changes(&cx.run, since, Some(&step.shown)) {
            tracing::warn!(%error, "a change that was not made can be undone");
        }
    }
}

/// What there is to do for one file; `None`: it is as wanted already.
fn look(
    cx: &Context,
    wanted: FileChange,
    path: PathBuf,
    shown: String,
) -> Result<Option<Step>, Unchanged> {
    let current = match cx.tree.read(&path) {
        Ok(text) => Some(text),
        Err(FileError::NotFound(_)) => None,
        Err(e) => return Err(format!("{e}; nothing was written.").into()),
    };
    let before = agreed(&shown, current, wanted.seen.as_ref())?;
    let mut edits = Vec::new();
    let mut mode = None;
    match (&before, &wanted.text) {
        (None, None) => return Ok(None),
        (None, Some(text)) => {
            if guarded::has_threads(&shown, text) {
                return Err(guarded::refusal(&shown).into());
            }
            if let Some(file) = cx.tree.file_above(&path) {
                return Err(format!(
                    "{shown} cannot be made, because {} is a file; nothing was written.",
                    cx.shown(&file)
                )
                .into());
            }
            let like = wanted.like.as_ref();
            mode = wanted
                .mode
                .or_else(|| like.and_then(|like| cx.tree.mode(like)));
        }
        (Some(before), Some(text)) => {
            edits = minimal_edits(&before.text, text);
            if edits.is_empty() {
                // Whatever else stands there the run has not seen.
                cx.seen.entry(path).or_insert_with(|| Known::of(before));
                return Ok(None);
            }
            guarded::keeps_threads(&shown, before, &edits, text)?;
        }
        (Some(before), None) => {
            if before.buffer.is_some() {
                open::may_go(cx, &path, &shown, before)?;
            }
            if guarded::has_threads(&shown, &before.text) {
                return Err(guarded::refusal(&shown).into());
            }
            mode = cx.tree.mode(&path);
            // The system asks for the folder's permission only.
            if mode.is_some_and(|mode| mode & 0o222 == 0) {
                return Err(format!("{shown} is read-only; nothing was written.").into());
            }
        }
    }
    let folders = match before {
        None => cx.tree.missing_folders(&path),
        Some(_) => 0,
    };
    Ok(Some(Step {
        path,
        shown,
        before,
        after: wanted.text,
        edits,
        mode,
        like: wanted.like,
        folders,
    }))
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

impl Step {
    fn is_open(&self) -> bool {
        self.before
            .as_ref()
            .is_some_and(|text| text.buffer.is_some())
    }

    /// Whether the text of an open buffer changes, and no file.
    fn is_edit(&self) -> bool {
        self.is_open() && self.after.is_some()
    }

    /// As the file is once this step is done.
    fn seen_after(&self) -> Seen {
        Seen {
            version: None,
            hash: hash(self.after.as_deref().unwrap_or_default().as_bytes()),
        }
    }

    fn failed(&self, error: FileError) -> Unchanged {
        let shown = &self.shown;
        match (error, &self.before) {
            (FileError::Changed(_), Some(_)) => Unchanged::Meanwhile(shown.clone()),
            (FileError::Changed(_), None) => Unchanged::Refused(format!(
                "{shown} was made by somebody else meanwhile, so nothing was written. Read it first."
            )),
            (e, _) => Unchanged::Refused(format!("{e}; nothing was written.")),
        }
    }
}

/// Whether the author has typed in the very lines of an edit: what an editor made of both cannot be told for certain.
fn is_mixed(cx: &Context, step: &Step) -> bool {
    let (Some(before), Some(after)) = (&step.before, &step.after) else {
        return false;
    };
    cx.tree.buffer(&step.path).is_some_and(|now| {
        let made = [(before.text.as_ref().into(), after.as_str().into())];
        !take_all_back(&made, now.document.text()).1.is_empty()
    })
}

fn record(cx: &Context, step: &Step) -> Result<(), String> {
    let Some(store) = &cx.store else {
        return Ok(());
    };
    let shown = &step.shown;
    let change = Change {
        file: shown.clone(),
        before: step.before.as_ref().map(|text| stored(cx, step, text)),
        after: step.after.as_ref().map(|text| text.as_bytes().to_vec()),
        // With the change itself, so that no file comes back readable by more than before.
        mode: step.mode.filter(|_| step.after.is_none()),
        folders: step.folders,
        moved_from: step.like.as_ref().map(|like| cx.shown(like)),
        is_answer: false,
    };
    store.record_change(&cx.run, &change).map_err(|e| {
        format!("The change of {shown} cannot be recorded for undo ({e}), so nothing was written.")
    })
}

/// What comes back when it is undone. Of a file that goes that is what the disk has: its editor may show other line ends.
fn stored(cx: &Context, step: &Step, before: &Text) -> Vec<u8> {
    let goes = step.after.is_none() && step.is_open();
    let disk = goes.then(|| cx.tree.read_bytes(&step.path).ok()).flatten();
    disk.unwrap_or_else(|| before.text.as_bytes().to_vec())
}

/// By the editor where it shows the file otherwise than as a buffer and has something to save there, else on disk.
async fn write(cx: &Context, step: &Step) -> Result<(), Unchanged> {
    let shown = &step.shown;
    if let (Some(before), Some(after)) = (&step.before, &step.after) {
        match cx.host.write_shown(&step.path, &before.text, after).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(NotApplied::Changed) => return Err(Unchanged::Meanwhile(shown.clone())),
            Err(NotApplied::Unknown(why)) => return Err(Unchanged::Unknown(shown.clone(), why)),
            Err(error) => {
                let why = format!("{shown}: {error}; nothing was written.");
                return Err(Unchanged::Refused(why));
            }
        }
    }
    put(cx, step).map_err(|why| step.failed(why))
}

/// On disk.
fn put(cx: &Context, step: &Step) -> Result<(), FileError> {
    match (&step.before, &step.after) {
        (Some(before), Some(after)) => {
            let seen = Some(&before.seen);
            cx.tree.write(&step.path, after.as_bytes(), seen)
        }
        (None, Some(after)) => {
            let like = Like {
                file: step.like.as_deref(),
                mode: step.mode,
            };
            cx.tree.make(&step.path, after.as_bytes(), like)
        }
        (Some(before), None) => cx.tree.remove(&step.path, &before.seen),
        (None, None) => Ok(()),
    }
}

/// Takes back what was put on disk because of `why`. A file that somebody else has changed since stays as
/// it is, and is named, with what was `left` before.
fn put_back(
    cx: &Context,
    done: &[&Step],
    (why, mut stands): (Unchanged, Vec<String>),
) -> (Unchanged, Vec<String>) {
    let mut left = Vec::new();
    for step in done.iter().rev() {
        let back = match (&step.before, &step.after) {
            (Some(before), Some(_)) => {
                let seen = step.seen_after();
                cx.tree
                    .write(&step.path, before.text.as_bytes(), Some(&seen))
            }
            (Some(before), None) => {
                let took_its_place = |other: &&&Step| other.like.as_ref() == Some(&step.path);
                let like = Like {
                    file: done.iter().find(took_its_place).map(|other| &*other.path),
                    mode: step.mode,
                };
                cx.tree.make(&step.path, before.text.as_bytes(), like)
            }
            (None, _) => {
                let removed = cx.tree.remove(&step.path, &step.seen_after());
                removed.inspect(|()| cx.tree.remove_folders(&step.path, step.folders))
            }
        };
        if let Err(e) = back {
            left.push(format!("{} ({e})", step.shown));
            stands.push(step.shown.clone());
        }
    }
    tell(cx, done);
    if left.is_empty() {
        return (why, stands);
    }
    let why: String = why.into();
    let why = Unchanged::Refused(format!(
        "{why} What had been written before that could not be put back in {}: look at it before you go on.",
        left.join(", ")
    ));
    (why, stands)
}

fn tell(cx: &Context, done: &[&Step]) {
    if done.is_empty() {
        return;
    }
    let paths: Vec<PathBuf> = done.iter().map(|step| step.path.clone()).collect();
    cx.host.changed(&paths);
    cx.children.disk_changed(&paths);
}

/// What stands there now is known to the run: its next change builds on this one.
fn remember(cx: &Context, steps: &[Step]) {
    // Before any is forgotten: what takes the place of another file is known as that was.
    let known: Vec<Option<Known>> = steps.iter().map(|step| known(cx, step, steps)).collect();
    for (step, known) in steps.iter().zip(known) {
        match known {
            Some(known) => drop(cx.seen.insert(step.path.clone(), known)),
            None => drop(cx.seen.remove(&step.path)),
        }
    }
}

/// `None`: the file is gone.
fn known(cx: &Context, step: &Step, steps: &[Step]) -> Option<Known> {
    let after = step.after.as_deref()?;
    let old = steps
        .iter()
        .find(|old| Some(&old.path) == step.like.as_ref())
        .unwrap_or(step);
    let earlier = cx.seen.get(&old.path).map(|known| known.clone());
    if let (Some(earlier), Some(before)) = (&earlier, &old.before)
        && earlier.seen.hash != before.seen.hash
    {
        // The author has typed what the run has not seen: it knows what it knew, with this change.
        let (edits, _) = take_back(after, &before.text, &earlier.text);
        let text = apply_edits(&earlier.text, &edits);
        let seen = Seen {
            version: None,
            hash: hash(text.as_bytes()),
        };
        return Some(Known::new(seen, text.into()).changed_from(Some(earlier)));
    }
    let known = match cx.tree.read(&step.path) {
        // An editor ends the lines its own way. Whatever else stands there is the author's, and the run has not seen it.
        Ok(now) if same_lines(&now.text, after) => Known::of(&now),
        _ => Known::new(step.seen_after(), after.into()),
    };
    Some(match old.before {
        None => known.whole(),
        Some(_) => known.changed_from(earlier.as_ref()),
    })
}
