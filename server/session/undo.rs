//! Undo of a turn: its changes are taken back line by line, and no line that the author has changed since is touched.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

mod since;
mod without;

use super::tries::Tries;
use super::{Error, Session, View, Workspace};
use crate::edits::line_edits;
use crate::files::{Buffer, FileError, Like, Seen, Tree, hash};
use crate::host::{BufferEdit, FileOp, NotApplied, Question};
use crate::present;
use crate::store::{Change, Round, Run, Store};
use crate::turn::told_undone;

use without::Stays;
pub(super) use without::{Without, without};

/// What of a run's newest turn is taken back; all of it, where nothing is told.
#[derive(Default)]
pub struct Wanted<'a> {
    /// The turn that the author looks at: another one is not touched.
    pub turn: Option<u64>,
    pub files: Option<Vec<&'a str>>,
}

/// What became of an undo.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Undone {
    /// A sentence for each file.
    pub files: Vec<String>,
    /// Files that could not be put back; the next undo tries them again.
    pub left: usize,
    /// Something of the author's stands in the way of what was put back.
    pub kept: bool,
    /// Files that were changed in an editor, which is to save them.
    pub open: usize,
    /// Nothing was taken back, and a turn before has changes: it is undone where the author, asked, leaves this one.
    #[serde(default)]
    pub is_before: bool,
}

/// What became of one file; a sentence each.
enum Became {
    /// As it was before the turn.
    Back(String),
    /// It was so before the undo: by hand, or another branch is checked out, and what the turn wrote comes back with its
    /// own.
    Already(String),
    /// What the author has changed since stays; the rest is taken back.
    InPart(String),
    /// Nothing was taken back, and something is still to be.
    Left(String),
    /// What another turn has changed since is in the way, which can be undone first; of the rest something was taken back
    /// (`true`), or there is none.
    Waits(String, bool),
}

/// What a run's last turn made of each file.
pub struct TurnChanges {
    pub workspace: Arc<Workspace>,
    pub run: Run,
    /// Its number, by which [`Wanted`] names it.
    pub turn: u64,
    pub files: Vec<Change>,
}

impl Undone {
    pub fn is_whole(&self) -> bool {
        self.left == 0
    }

    /// The way out where it is not whole.
    pub fn more(&self) -> String {
        format!(
            "{} of {} files could not be put back: undo again when the cause is gone",
            self.left,
            self.files.len()
        )
    }
}

impl Session {
    /// Puts back what the run's last turn changed, as far as it can; asked again, what is left.
    ///
    /// # Errors
    /// Nothing was put back.
    pub async fn undo(&self, id: &str, wanted: Wanted<'_>) -> Result<Undone, Error> {
        let (workspace, run) = self.run_of(id)?;
        self.let_conclude(workspace.root(), &run.thread_id).await;
        let store = workspace.store()?;
        // What it writes is on record before it stands there: an undo in between would take it for undone.
        if store.is_live(&run.id)? {
            return Err(Error::Other(String::from(
                "the turn is still at work, and nothing was put back: cancel it first, or undo it when it has ended",
            )));
        }
        // The turn may go on meanwhile.
        let newest = store.newest_change()?;
        let (turn, changes) = store.last_turn(&run.id)?;
        if wanted.turn.is_some_and(|wanted| wanted < turn) {
            return Err(Error::Other(String::from(
                "this agent has changed files in a newer turn since: review that one first",
            )));
        }
        let is_wanted = |file: &str| {
            wanted.turn.is_none_or(|wanted| wanted == turn)
                && (wanted.files.as_ref()).is_none_or(|files| files.contains(&file))
        };
        let mut files: Vec<&str> = Vec::new();
        let mut steps: HashMap<&str, Vec<&Change>> = HashMap::new();
        for change in changes.iter().filter(|change| is_wanted(&change.file)) {
            let of_file = steps.entry(&change.file).or_default();
            if of_file.is_empty() {
                files.push(&change.file);
            }
            of_file.push(change);
        }
        if files.is_empty() {
            let nothing = match wanted.files {
                None => "the last turn changed no file, or is undone already",
                Some(_) => "the turn did not change that, or it is undone already",
            };
            return Err(Error::Other(format!(
                "there is nothing to put back: {nothing}"
            )));
        }
        let is_old = |change: &Change| change.after.is_none() && change.mode.is_none();
        let modes = if changes.iter().any(is_old) {
            modes(&store.rounds_back(&run.id, None, usize::MAX >> 1)?)
        } else {
            HashMap::new()
        };
        let renamed: HashMap<&str, &str> = (changes.iter())
            .filter_map(|change| Some((change.moved_from.as_deref()?, change.file.as_str())))
            .collect();
        let mut undone = Undone::default();
        let mut undone_files: Vec<String> = Vec::new();
        // Left as the author has them, of which nothing was to be taken back.
        let (mut authors, mut already) = (0, 0);
        let mut is_begun = false;
        for file in &files {
            let Some(steps) = steps.get(file) else {
                continue;
            };
            let mode = steps.iter().rev().find_map(|step| step.mode);
            let mode = mode.or_else(|| modes.get(*file).copied());
            // It may have been renamed several times.
            let names = std::iter::successors(renamed.get(file), |name| renamed.get(*name));
            let mut names = names
                .take(renamed.len())
                .map(|name| workspace.path_of(name));
            let other = names.find(|path| path.is_file());
            let like = Like {
                file: other.as_deref(),
                mode,
            };
            let of = (&run, turn);
            let back = self.undo_file(&workspace, of, file, steps, like).await;
            let is_changed = !matches!(
                back,
                Ok(Became::Already(_) | Became::Left(_) | Became::Waits(_, false)) | Err(_)
            );
            let (said, is_done) = match back {
                Ok(Became::Back(said)) => (said, true),
                Ok(Became::Already(said)) => {
                    already += 1;
                    (said, false)
                }
                Ok(Became::InPart(said)) => {
                    undone.kept = true;
                    (said, true)
                }
                Ok(Became::Left(said)) => {
                    authors += 1;
                    undone.left += 1;
                    (said, false)
                }
                Ok(Became::Waits(said, in_part)) => {
                    is_begun |= in_part;
                    undone.kept |= in_part;
                    // The author may want to keep what the other run made.
                    authors += usize::from(!in_part);
                    undone.left += 1;
                    (said, false)
                }
                Err(error) => {
                    undone.left += 1;
                    (format!("{file}: not put back, {error}"), false)
                }
            };
            undone.files.push(said);
            // Each at once: what is put back is not put back a second time.
            if is_done {
                store.mark_undone(&run.id, turn, file, newest)?;
            }
            if is_changed {
                undone_files.push((*file).to_owned());
                let path = workspace.path_of(file);
                undone.open += usize::from(workspace.tree.open_as(&path).is_some());
            }
        }
        // Where the turn goes on, it is not to answer as if that stood there.
        if !undone_files.is_empty() {
            store.add_to_talk(&run.id, |last| told_undone(last, undone_files))?;
        }
        // Last, for several files may have stood in one.
        for (file, folders) in store.made_folders(&run.id, turn)? {
            let path = workspace.path_of(&file);
            workspace.tree.remove_folders(&path, folders);
        }
        if undone.left + already == files.len() && !is_begun {
            // What the author has made their own must not stand before the older turns for ever.
            undone.is_before = wanted.files.is_none()
                && authors + already == files.len()
                && store.has_changes_before(&run.id, turn)?;
            if undone.is_before && self.leaves(&undone).await {
                // Two may have been asked: one of them goes on to the turn before.
                if store.changed_turn(&run.id)? != Some(turn) {
                    return Err(Error::Other(String::from("that turn is undone already")));
                }
                for file in &files {
                    store.mark_undone(&run.id, turn, file, newest)?;
                }
                return Box::pin(self.undo(&run.id, Wanted::default())).await;
            }
            if undone.left > 0 {
                return Err(Error::Other(undone.files.join("; ")));
            }
        }
        if store.last_turn(&run.id)?.0 != turn {
            self.turns.forget(&run.id);
        }
        // What is offered at the thread is another now, though its file may be as it was.
        let paths: Vec<_> = files
            .iter()
            .chain([&run.file.as_str()])
            .map(|file| workspace.path_of(file))
            .collect();
        self.host.changed(&paths);
        Ok(undone)
    }

    /// Whether the author leaves a turn as it is, of which nothing can be taken back, and goes on to the one before.
    async fn leaves(&self, undone: &Undone) -> bool {
        let question = Question {
            text: format!(
                "Nothing of the last turn was taken back. {}. Leave it so, and undo the turn before it?",
                undone.files.join("; ")
            ),
            choices: vec![String::from("Undo the turn before")],
            last_is_no: false,
        };
        self.host.ask(question).await == Some(0)
    }

    /// What the run's last turn made of each file, for a review.
    pub fn turn_changes(&self, id: &str) -> Result<TurnChanges, Error> {
        let (workspace, run) = self.run_of(id)?;
        let (turn, files) = workspace.store()?.last_files(&run.id)?;
        Ok(TurnChanges {
            workspace,
            run,
            turn,
            files,
        })
    }

    /// `like` is for a file which was removed.
    async fn undo_file(
        &self,
        workspace: &Workspace,
        (run, turn): (&Run, u64),
        file: &str,
        steps: &[&Change],
        like: Like<'_>,
    ) -> Result<Became, Error> {
        let (tree, store) = (&workspace.tree, workspace.store()?);
        let path = tree.resolve(workspace.path_of(file))?;
        let before = steps.first().and_then(|step| step.before.as_deref());
        let after = steps.last().and_then(|step| step.after.as_deref());
        let mut tries = Tries::new();
        loop {
            let now = Now::read(tree, &path)?;
            let bytes = now.as_ref().map(|now| now.bytes.as_slice());
            let already = || {
                let said = match before {
                    None => format!("{file}: is gone already"),
                    Some(_) => format!("{file}: is as before the turn already"),
                };
                // Where the turn's own writes come to nothing, no undo will find more.
                match before == after {
                    true => Became::Back(said),
                    false => Became::Already(said),
                }
            };
            if bytes == before && bytes != after {
                return Ok(already());
            }
            let mut found = without(steps, bytes);
            if let Some(code) = self.without_answer(&store, run, &path, steps, bytes, &found)? {
                found = code;
                if steps.iter().all(|step| step.is_answer) {
                    return Ok(Became::Back(format!(
                        "{file}: the thread is gone already, and the answer with it"
                    )));
                }
            }
            let in_the_way = match found.is_whole() {
                true => None,
                false => {
                    let others = store.written_since(&run.id, turn, file)?;
                    since::in_the_way(others, steps, bytes, &found)
                }
            };
            let Without {
                content,
                kept,
                stays,
            } = &found;
            if content.as_deref() == bytes {
                if let Some(other) = &in_the_way {
                    return Ok(Became::Waits(changed_by(file, other, kept, false), false));
                }
                return Ok(match stays {
                    Some(stays) => Became::Left(stays.left(file)),
                    None if kept.is_empty() => already(),
                    None => Became::Left(stands_apart(file, now.as_ref(), kept)),
                });
            }
            match (&now, content) {
                (Some(now), Some(content)) => {
                    if !self.put(workspace, &path, now, content).await? {
                        if tries.again(&self.buffers, &path).await {
                            continue;
                        }
                        return Err(FileError::Changed(file.to_owned()).into());
                    }
                }
                (Some(now), None) => {
                    if !self.remove_made(workspace, &path, now).await? {
                        return Ok(Became::Left(Stays::Changed.left(file)));
                    }
                    workspace.index.forget(&path);
                }
                // A name that is no text is not known to the history.
                (None, Some(_)) if file.contains('\u{fffd}') => {
                    return Err(Error::Other(String::from(
                        "it is gone, and its name, which is no text, was not kept; what stood in it is in the history",
                    )));
                }
                (None, Some(content)) => {
                    tree.make(&path, content, like)?;
                    workspace.index.refresh(tree, &path);
                }
                (None, None) => {}
            }
            if let Some(other) = &in_the_way {
                return Ok(Became::Waits(changed_by(file, other, kept, true), true));
            }
            return Ok(match (stays, content) {
                (Some(stays), _) => Became::InPart(stays.in_part(file)),
                (None, None) => Became::Back(format!("{file}: removed, the turn had made it")),
                (None, Some(_)) if kept.is_empty() => Became::Back(format!("{file}: put back")),
                (None, Some(_)) => Became::InPart(format!(
                    "{file}: put back, but for what you have changed since at line {}",
                    present::listed(kept)
                )),
            });
        }
    }

    /// What the file is without the turn's code alone, where its thread was taken out, and the answer with it.
    fn without_answer(
        &self,
        store: &Store,
        run: &Run,
        path: &Path,
        steps: &[&Change],
        now: Option<&[u8]>,
        found: &Without,
    ) -> Result<Option<Without>, Error> {
        let code: Vec<&Change> = steps.iter().copied().filter(|s| !s.is_answer).collect();
        if found.kept.is_empty() || code.len() == steps.len() || !store.is_closed(&run.id)? {
            return Ok(None);
        }
        let stands = |view: View| view.threads.iter().any(|one| one.id == run.thread_id);
        let code = without(&code, now);
        let is_gone = code.content == found.content && !self.view(path).is_ok_and(stands);
        Ok(is_gone.then_some(code))
    }

    /// Removes a file that is as the turn made it; `false`: it is the author's by now.
    async fn remove_made(
        &self,
        workspace: &Workspace,
        path: &Path,
        now: &Now,
    ) -> Result<bool, Error> {
        let tree = &workspace.tree;
        let Some(buffer) = &now.buffer else {
            tree.remove(path, &now.seen())?;
            return Ok(true);
        };
        if !self.host.can_remove() || !tree.is_saved(path, buffer.document.text()) {
            return Ok(false);
        }
        let path = tree.open_as(path).unwrap_or_else(|| path.to_owned());
        let removed = self
            .host
            .apply_with(LABEL, Vec::new(), vec![FileOp::Remove(path)])
            .await;
        removed.map_err(|error| Error::Other(error.to_string()))?;
        Ok(true)
    }

    /// Puts `content` in the place of what is there `now`; `false`: something else is by now.
    async fn put(
        &self,
        workspace: &Workspace,
        path: &Path,
        now: &Now,
        content: &[u8],
    ) -> Result<bool, Error> {
        let tree = &workspace.tree;
        let Some(buffer) = &now.buffer else {
            if let (Ok(before), Ok(after)) = (str::from_utf8(&now.bytes), str::from_utf8(content)) {
                let (texts, seen) = ((before, after), now.seen());
                return self.write_closed(workspace, path, texts, Some(&seen)).await;
            }
            match tree.write(path, content, Some(&now.seen())) {
                Err(FileError::Changed(_)) => return Ok(false),
                written => written?,
            }
            workspace.index.refresh(tree, path);
            return Ok(true);
        };
        let Ok(text) = std::str::from_utf8(content) else {
            return Err(FileError::NotUtf8(self.relative(path)).into());
        };
        let edit = BufferEdit {
            path: tree.open_as(path).unwrap_or_else(|| path.to_owned()),
            generation: buffer.generation,
            edits: line_edits(buffer.document.text(), text),
        };
        match self.host.apply(LABEL, vec![edit]).await {
            Ok(()) => Ok(true),
            Err(NotApplied::Changed) => Ok(false),
            Err(error) => Err(Error::Other(error.to_string())),
        }
    }
}

/// A file as it is, which need be no text.
struct Now {
    bytes: Vec<u8>,
    buffer: Option<Buffer>,
}

impl Now {
    /// `path` is resolved. `None`: there is none.
    fn read(tree: &Tree, path: &Path) -> Result<Option<Self>, FileError> {
        let buffer = tree.buffer(path);
        let bytes = match &buffer {
            Some(buffer) => Ok(buffer.document.text().as_bytes().to_vec()),
            None => tree.read_bytes(path),
        };
        match bytes {
            Ok(bytes) => Ok(Some(Self { bytes, buffer })),
            Err(FileError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn seen(&self) -> Seen {
        Seen {
            version: None,
            hash: hash(&self.bytes),
        }
    }
}

impl Stays {
    /// Why nothing of a file was taken back.
    fn left(self, file: &str) -> String {
        match self {
            Self::Changed => {
                format!("{file}: kept, you have changed or opened it since the turn made it")
            }
            Self::Removed => {
                format!("{file}: not put back, you have removed or renamed it since")
            }
            Self::Made => {
                format!("{file}: not put back, you have made another file of that name since")
            }
            Self::NoText => format!(
                "{file}: not put back, you have changed it since, and it is no text of which lines could be taken back"
            ),
        }
    }

    /// Why the older writes of a file were not taken back.
    fn in_part(self, file: &str) -> String {
        let had = match self {
            Self::Changed | Self::NoText => "changed",
            Self::Removed => "removed",
            Self::Made => "made",
        };
        format!("{file}: put back as it was when you had {had} it")
    }
}

/// Why nothing of what the turn wrote could be taken out of a file.
fn stands_apart(file: &str, now: Option<&Now>, kept: &[usize]) -> String {
    let lines = present::listed(kept);
    match now.and_then(|now| now.buffer.as_ref()) {
        Some(_) => format!(
            "{file}: not put back, you have changed all that the turn wrote there since (line {lines})"
        ),
        None => format!(
            "{file}: not put back, what the turn wrote is not on disk (line {lines}): you have changed it since, or it \
             is open in an editor and not saved"
        ),
    }
}

/// Why what the turn wrote in these lines stays, which the run `other` has changed since.
fn changed_by(file: &str, other: &str, kept: &[usize], in_part: bool) -> String {
    let id: String = other.chars().take(8).collect();
    let at = match kept {
        [] => String::new(),
        lines => format!(" at line {}", present::listed(lines)),
    };
    let became = match in_part {
        true => format!("put back, but for what run {id} has changed since{at}"),
        false => format!("not put back, run {id} has changed since what the turn wrote there{at}"),
    };
    format!("{file}: {became}: undo that first (`postil undo {id}`), then this again")
}

const LABEL: &str = "Undo last turn";

/// The modes of the files that a run removed, as its rounds (newest first) tell in an older history.
fn modes(rounds: &[Round]) -> HashMap<String, u32> {
    let told = rounds.iter().rev().filter_map(|round| {
        let text = |key: &str| round.metadata.get(key)?.as_str();
        let mode = u32::from_str_radix(text("mode")?, 8).ok()?;
        Some((text("removed")?.to_owned(), mode))
    });
    told.collect()
}
