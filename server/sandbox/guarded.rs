//! Files of the root that decide what other programs do ([`trust::protected`]): what a command must not change, also
//! where there is none yet. Bubblewrap makes those that exist read-only. Those that come into being are set aside
//! under another name when they are seen; what no mount holds is compared with what it was, and put back.
//!
//! Nobody can tell a command's change from one that the author makes meanwhile. So nothing is removed, the author is
//! told where it is, and what can only be theirs stays: a change of what a mount kept from the command, a save in
//! their editor, and what postil wrote because they agreed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

mod look;
mod stops;

use look::{
    ALL_KEPT, HEAD, Id, Kept, Look, changed, files, id, is_git, is_of_worktrees, is_open, is_there,
    is_todo,
};
use stops::Stops;

use crate::files::{self as tree, Buffers, Kind};
use crate::trust;

/// Mounts of guarded places; the more there are, the longer a command takes to begin (twice as many, four times).
const MOUNTS: usize = 100;

/// What stood in the root when a command began.
pub(super) struct Guarded {
    root: PathBuf,
    began: SystemTime,
    stops: Stops,
    /// Knows what the author saved, and what postil wrote itself.
    buffers: Arc<Buffers>,
    look: Look,
    /// By path, relative to the root: those that are guarded, but for folders of repositories, and those in the root
    /// that links among them lead to.
    places: BTreeMap<PathBuf, Place>,
    /// What is mounted where it is, so that it is neither renamed nor removed: repositories and what is above them.
    /// Whatever looks after one runs what its configuration says, at once.
    fixed: BTreeSet<PathBuf>,
    /// What the folders above the places were, and the places.
    ids: BTreeMap<PathBuf, Option<Id>>,
    is_mounted: bool,
    /// Mounts that may still be made.
    left: usize,
    /// Bytes that may still be kept; of repositories apart, so that what others wrote leaves nothing of them out.
    bytes: u64,
    bytes_of_git: u64,
}

struct Place {
    /// A mount keeps the command from it.
    is_held: bool,
    kept: BTreeMap<PathBuf, Kept>,
    /// `kept` is all that was in it.
    is_whole: bool,
}

/// What is to be said of what was found.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub agent: Vec<String>,
    pub author: Vec<String>,
    /// Why the command must end, that what it made can be set aside.
    pub ends: Option<&'static str>,
}

impl Guarded {
    /// `is_mounted`: bubblewrap makes [`Self::held`] read-only and binds [`Self::fixed`].
    pub fn look(root: &Path, is_mounted: bool, buffers: &Arc<Buffers>) -> Self {
        let began = SystemTime::now();
        // First, so that none is lifted in between.
        let stops = Stops::enter(root);
        let mut look = Look::first(root);
        // What stands for another command's repository goes with that one: what comes there then is new.
        look.known.retain(|path| !stops::stands_at(root, path));
        let mut guarded = Self {
            root: root.to_owned(),
            began,
            stops,
            buffers: Arc::clone(buffers),
            look,
            places: BTreeMap::new(),
            fixed: BTreeSet::new(),
            ids: BTreeMap::new(),
            is_mounted,
            left: if is_mounted { MOUNTS } else { 0 },
            bytes: ALL_KEPT,
            bytes_of_git: ALL_KEPT,
        };
        // The nearest to the root first, repositories before what lies beside them.
        let mut known: Vec<PathBuf> = guarded.look.known.iter().cloned().collect();
        known.sort_by_key(|path| {
            let is_other = !guarded.look.is_repository(path);
            (path.components().count(), is_other)
        });
        for path in &known {
            if guarded.look.is_repository(path) {
                guarded.fix(path);
            }
            if !guarded.look.repositories.contains(path) {
                guarded.add(path);
            }
        }
        guarded
    }

    fn fix(&mut self, path: &Path) {
        let is_folder = is_git(path) && self.look.repositories.contains(path);
        let folders = path.ancestors().skip(usize::from(!is_folder));
        for folder in folders.filter(|a| !a.as_os_str().is_empty()) {
            if self.left > 0 && self.fixed.insert(folder.to_owned()) {
                self.left -= 1;
            }
        }
    }

    fn add(&mut self, path: &Path) {
        let full = self.root.join(path);
        let is_link = fs::symlink_metadata(&full).is_ok_and(|about| about.is_symlink());
        let mut place = path.to_owned();
        if is_link {
            // No mount can be put on a link; it is held by what it leads to, and compared.
            self.put(place, false);
            let target = crate::os::canonical(&full).ok();
            let target = target.filter(|target| !is_git(path) && !full.starts_with(target));
            let inside = target
                .as_deref()
                .and_then(|t| t.strip_prefix(&self.root).ok());
            let Some(inside) = inside else {
                return;
            };
            place = inside.to_owned();
        }
        if !self.places.contains_key(&place) {
            let is_held = self.left > 0 && !is_open(&self.root, &place);
            self.left -= usize::from(is_held);
            self.put(place, is_held);
        }
    }

    fn put(&mut self, path: PathBuf, is_held: bool) {
        for above in path.ancestors().filter(|a| !a.as_os_str().is_empty()) {
            if !self.ids.contains_key(above) {
                self.ids
                    .insert(above.to_owned(), id(&self.root.join(above)));
            }
        }
        // What a mount holds in a folder that stays where it is cannot have been moved: its content is not needed.
        let mut above = path.ancestors().skip(1);
        let stays = above.all(|a| a.as_os_str().is_empty() || self.fixed.contains(a));
        let (kept, is_whole) = if is_held && stays && self.root.join(&path).is_dir() {
            (BTreeMap::new(), false)
        } else {
            let of_git = trust::in_repository(&path.to_string_lossy());
            let bytes = &mut self.bytes;
            let left = if of_git {
                &mut self.bytes_of_git
            } else {
                bytes
            };
            Kept::all(&self.root, &path, left)
        };
        let place = Place {
            is_held,
            kept,
            is_whole,
        };
        self.places.insert(path, place);
    }

    /// Those that a mount makes read-only, absolute.
    pub fn held(&self) -> Vec<PathBuf> {
        let held = self.places.iter().filter(|(_, place)| place.is_held);
        held.map(|(path, _)| self.root.join(path)).collect()
    }

    /// Those that are bound to where they are, absolute.
    pub fn fixed(&self) -> Vec<PathBuf> {
        self.fixed.iter().map(|path| self.root.join(path)).collect()
    }

    /// What a mount keeps as it is, or where it is, relative.
    pub fn mounted(&self) -> Vec<PathBuf> {
        let held = self.places.iter().filter(|(_, place)| place.is_held);
        let held = held.map(|(path, _)| path).chain(&self.fixed);
        if self.is_mounted {
            held.cloned().collect()
        } else {
            Vec::new()
        }
    }

    /// What stands at a place, by the system's numbers for it; `None`: nothing, or there is a link, or one above.
    pub fn number(&self, place: &Path) -> Option<(u64, u64)> {
        let relative = place.strip_prefix(&self.root).ok()?;
        let folder = tree::folder(&self.root, relative.parent()?).ok()?;
        let state = folder.state(relative.file_name()?).ok()?;
        (state.kind != Kind::Link).then_some((state.device, state.inode))
    }

    /// Sets aside what came into being, and what stands where something was moved away together with its mount.
    /// Whatever runs meanwhile cannot lead it astray.
    pub fn set_aside(&self) -> Told {
        let mut told = Told::default();
        self.refuse_new(false, &mut told);
        if self.is_mounted {
            for (path, place) in &self.places {
                let is_link = matches!(place.kept.get(path), Some(Kept::Link(_)));
                if is_link || place.is_held && !self.is_above_same(path) {
                    self.restore(path, place, false, &mut told);
                }
            }
        }
        told
    }

    /// The same, and puts back what was changed or removed; for when nothing of the command runs any more.
    pub fn put_back(&self) -> Told {
        let mut told = Told::default();
        self.refuse_new(true, &mut told);
        for (path, place) in &self.places {
            if place.is_held && self.is_above_same(path) {
                self.look_at(path, place, &mut told);
            } else {
                self.restore(path, place, true, &mut told);
            }
        }
        told
    }

    /// A rebase that a command itself began goes on until the command is `over`.
    fn refuse_new(&self, over: bool, told: &mut Told) {
        let now = self.look.again(&self.root);
        for path in now.known.difference(&self.look.known) {
            // Of a repository that is new, what is in it went with it. Worktrees are the author's: a command can make
            // none outside, and inside its `.git` is seen.
            if !now.is_in_new(path, &self.look)
                && !stops::stands_at(&self.root, path)
                && !is_of_worktrees(&self.root, path)
                && (!is_todo(path) || over && !self.is_harmless(path))
            {
                self.refuse(path, over, told);
            }
        }
    }

    /// Whether nobody has put another folder in the place of one above; with it, a mount would be gone.
    fn is_above_same(&self, path: &Path) -> bool {
        let mut above = path.ancestors().skip(1);
        above.all(|a| {
            a.as_os_str().is_empty() || self.ids.get(a).copied() == Some(id(&self.root.join(a)))
        })
    }

    /// A mount goes with the file that it was put on: what has replaced it since was written by the author first.
    fn look_at(&self, path: &Path, place: &Place, told: &mut Told) {
        let full = self.root.join(path);
        let (Some(before), Some(now)) = (place.kept.get(path), Kept::read(&self.root, path)) else {
            return;
        };
        let is_same = *before == now || self.ids.get(path).copied() == Some(id(&full));
        if !is_same && !self.is_authors(path) {
            told.author.push(format!(
                "`{}` was replaced while a command of an agent ran, which could write it from then on ({}): look at it if that was not you alone.",
                path.display(),
                why(path)
            ));
        }
    }

    /// Sets aside what is other than it was, and writes that again if the command is `over`.
    fn restore(&self, path: &Path, place: &Place, over: bool, told: &mut Told) {
        // A worktree that came, or went, is the author's.
        let is_theirs = |file: &Path| {
            is_of_worktrees(&self.root, path)
                && file
                    .ancestors()
                    .nth(if is_todo(file) { 2 } else { 1 })
                    .is_none_or(|folder| {
                        !self.root.join(folder).exists()
                            || !place.kept.keys().any(|kept| kept.parent() == Some(folder))
                    })
        };
        // What was one file or link is set aside whole.
        if place.is_whole && !place.kept.contains_key(path) {
            for file in files(&self.root, path).0 {
                let is_new = !place.kept.contains_key(&file) && !is_aside(&file);
                if is_new && !is_theirs(&file) && !self.is_harmless(&file) {
                    self.refuse(&file, over, told);
                }
            }
        }
        for (file, before) in &place.kept {
            // The repository that it was in was set aside, which was told; git is to stay out of its place.
            if file
                .ancestors()
                .skip(1)
                .any(|above| self.stops.is_one(above))
            {
                continue;
            }
            let now = Kept::read(&self.root, file);
            let stays = match &now {
                Some(now) => before.allows(file, now) || self.is_authors(file),
                // A rebase that is over leaves no list.
                None => is_todo(file) && !is_there(&self.root.join(file)),
            };
            if stays || *before == Kept::Other || is_theirs(file) {
                continue;
            }
            let aside = self.clear(file, !over);
            if over {
                let back = match &aside {
                    Ok(_) => before.write(&self.root, file),
                    Err(error) => Err(error.kind().into()),
                };
                told.put_back(file, aside.unwrap_or_default().as_deref(), back);
            } else {
                told.set_aside(file, aside);
            }
        }
    }

    /// Whether it is the list of a rebase that runs nothing.
    fn is_harmless(&self, file: &Path) -> bool {
        is_todo(file)
            && match Kept::read(&self.root, file) {
                Some(todo) => todo.runs().is_some_and(|lines| lines.is_empty()),
                None => !is_there(&self.root.join(file)),
            }
    }

    /// Puts away what stands at a path, or the link or file above it that is no folder; of a repository it `stops` git.
    fn clear(&self, file: &Path, stops: bool) -> std::io::Result<Option<PathBuf>> {
        let above: Vec<&Path> = file.ancestors().skip(1).collect();
        for folder in above.iter().rev().filter(|a| !a.as_os_str().is_empty()) {
            match fs::symlink_metadata(self.root.join(folder)) {
                Ok(about) if about.is_dir() => {}
                Ok(_) => return self.put_away(folder, stops),
                Err(_) => return Ok(None),
            }
        }
        self.put_away(file, stops)
    }

    /// What came into being is given another name, but for what the author saved in it.
    fn refuse(&self, path: &Path, over: bool, told: &mut Told) {
        let stops = !over || !self.stops.is_last();
        let (inside, is_whole) = files(&self.root, path);
        let (theirs, others): (Vec<PathBuf>, Vec<PathBuf>) =
            inside.into_iter().partition(|file| self.is_authors(file));
        if theirs.is_empty() || !is_whole {
            let aside = self.clear(path, stops);
            match aside {
                // When it is over.
                Err(_) if !over && stops_git(path) => told.ends = Some(NO_STOP),
                Err(_) if stops && stops_git(path) => {
                    told.set_aside(path, self.clear(path, false));
                }
                aside => told.set_aside(path, aside),
            }
            return;
        }
        for file in others.iter().filter(|file| !is_aside(file)) {
            told.set_aside(file, self.put_away(file, stops));
        }
    }

    /// Whether the author saved it in their editor, or postil wrote it because they agreed, and nobody since.
    fn is_authors(&self, path: &Path) -> bool {
        let full = self.root.join(path);
        let saved = self.buffers.touched.last(&full);
        let saved = saved.filter(|saved| *saved >= self.began);
        saved.is_some_and(|saved| changed(&full).is_some_and(|changed| changed <= saved))
    }

    /// Gives it a name that nobody acts on, which is returned where there was something; its folder is reached from
    /// the root without any link. Where it is of a repository and `stops`, git goes no further up from there.
    fn put_away(&self, path: &Path, stops: bool) -> std::io::Result<Option<PathBuf>> {
        if stops && is_git(path) {
            return self.stops.exchange(path);
        }
        if stops && path.ends_with(HEAD) {
            self.stops.put_into(path.parent().unwrap_or(path))?;
        }
        if self.stops.is_one(path) {
            self.stops.lift(path);
            return Ok(None);
        }
        let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
            return Ok(None);
        };
        // What has become of it meanwhile is no place where anybody looks for it.
        let Ok(opened) = tree::folder(&self.root, folder) else {
            return Ok(None);
        };
        let mut number = 1;
        loop {
            let aside = aside(name, number);
            match opened.rename_new(name, &aside) {
                Ok(()) => return Ok(Some(folder.join(aside))),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Told {
    fn set_aside(&mut self, path: &Path, aside: std::io::Result<Option<PathBuf>>) {
        let (shown, why) = (path.display(), why(path));
        match aside {
            Ok(None) => {}
            Ok(Some(aside)) => {
                let name = Path::new(aside.file_name().unwrap_or_default()).display();
                self.agent.push(format!(
                    "`{shown}` may not be made by a command ({why}): it was renamed to `{name}`."
                ));
                self.author.push(format!(
                    "`{shown}` came into being while a command of an agent ran ({why}) and was renamed to `{}`: if you made it, rename it back when no command runs.",
                    aside.display()
                ));
            }
            Err(error) => self.stays(path, &error),
        }
    }

    fn stays(&mut self, path: &Path, error: &std::io::Error) {
        let said = format!(
            "`{}` may not be made by a command ({}), and could not be renamed: {error}. Remove it.",
            path.display(),
            why(path)
        );
        self.author.push(said.clone());
        self.agent.push(said);
    }

    fn put_back(&mut self, path: &Path, aside: Option<&Path>, back: std::io::Result<()>) {
        let (shown, why) = (path.display(), why(path));
        if let Err(error) = back {
            let said = format!("`{shown}` was changed and could not be put back: {error}.");
            self.author.push(said.clone());
            self.agent.push(said);
            return;
        }
        self.agent
            .push(format!("`{shown}` was put back as it was: {why}."));
        self.author.push(match aside {
            Some(aside) => format!(
                "`{shown}` was changed while a command of an agent ran ({why}) and was put back: what it held then is in `{}`, if it was you who changed it.",
                aside.display()
            ),
            None => format!(
                "`{shown}` was put back ({why}): it was gone when a command of an agent ended."
            ),
        });
    }
}

/// What is put behind a name so that nobody acts on it.
const ASIDE: &str = ".refused";

/// The name that is given to what stands at another; the `number` grows where that is taken.
fn aside(name: &OsStr, number: usize) -> OsString {
    let mut aside = name.to_owned();
    aside.push(match number {
        1 => String::from(ASIDE),
        _ => format!("{ASIDE}-{number}"),
    });
    aside
}

/// Why a command ends where nothing can take a repository's place in one step: a file system may have none.
const NO_STOP: &str = "ended: it made a repository in the workspace, which may not stay and could not be set aside so that git stops there; make it in $TMPDIR";

/// Whether git would look further up where it is gone.
fn stops_git(path: &Path) -> bool {
    is_git(path) || path.ends_with(HEAD)
}

fn is_aside(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = name.rsplit_once(ASIDE).map(|(_, number)| number);
    number.is_some_and(|n| {
        n.is_empty()
            || n.strip_prefix('-')
                .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    })
}

fn why(path: &Path) -> &'static str {
    let why = trust::protected(&path.to_string_lossy());
    why.unwrap_or(if path.ends_with("HEAD") {
        "it makes its folder a repository, in which git runs what the configuration says"
    } else {
        "it is guarded"
    })
}

#[cfg(test)]
mod tests;
