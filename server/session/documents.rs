//! Open documents and what is read from files: views, diagnostics, lists of threads.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Error, Listed, Session, ThreadList, View, Whole, Workspace};
use crate::comments::{Language, Syntax, detect};
use crate::config::PROJECT_FILE;
use crate::files::{FileError, head, is_ignore_file};
use crate::host::Level;
use crate::index::Index;
use crate::os;
use crate::present::{self, Diagnostic, Severity};
use crate::text::{Change, Encoding, Unfit};
use crate::threads::{self, NoThread, Status, Thread};
use crate::vcs;

/// More changes than so many at once are caught up with by one look at the whole tree.
pub const STORM: usize = 200;
const MANY_FOLDERS: usize = 4;

impl Session {
    // -- documents: synchronous, in wire order ------------------------------------------------------

    /// `path` is canonical. What stands in the text now and was not typed here before has arrived.
    pub fn open(&self, path: PathBuf, uri: &str, language_id: &str, version: i32, text: &str) {
        self.buffers
            .open(path.clone(), uri, language_id, version, text);
        self.views.remove(&path);
        self.note_disk(&path);
        if let Ok(view) = self.view(&path) {
            self.note_arrived(&view);
        }
        self.children.opened(&path);
    }

    /// A file that is open goes on under another name, with the text that stands there.
    pub fn open_instead(
        &self,
        path: PathBuf,
        uri: &str,
        language_id: &str,
        version: i32,
        text: &str,
    ) {
        self.keep_provenance(Some(&path));
        let pending = self.pending_commits.remove(&path).is_some();
        self.open(path.clone(), uri, language_id, version, text);
        if pending {
            self.call_off(&path, false);
        }
    }

    /// The changes of one `didChange`; a document that is not open is passed over.
    pub fn change(
        &self,
        path: &Path,
        version: i32,
        changes: &[Change],
        encoding: Encoding,
    ) -> Result<(), Unfit> {
        self.settle_doubts(path, false);
        let whole = changes.iter().any(brings_threads);
        // What goes on with a message that stood there has no marker.
        let asks = whole
            || self
                .views
                .get(path)
                .is_some_and(|view| !view.threads.is_empty());
        // Another thread may see the new text at once, as a save's before it that has its turns to begin.
        let settling = asks.then(|| self.provenance.settle());
        if let Some(outcome) = self.buffers.change(path, version, changes, encoding) {
            outcome?;
            if whole || (asks && self.may_be_reloaded(path)) {
                self.note_if_reloaded(path, whole);
            }
            drop(settling);
            self.note_reload_of_pending(path);
            self.children.changed(path);
        }
        Ok(())
    }

    pub fn saved(&self, path: &Path) {
        self.settle_doubts(path, true);
        self.note_disk(path);
        self.buffers.touched.note(path);
        self.keep_provenance(Some(path));
        self.children.saved(path);
        if self.is_settings(path) {
            self.reload_settings();
        }
    }

    /// Whether a file holds settings: a workspace's or the user's.
    pub fn is_settings(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| name == PROJECT_FILE)
            || path == os::resolved(&self.folders.config_file())
    }

    /// The file is shown as it is on disk from now on; where that is too large to be read, and its threads so are
    /// shown no more, what to tell of it.
    pub fn close(&self, path: &Path) -> Option<String> {
        let held = self
            .views
            .get(path)
            .is_some_and(|view| !view.threads.is_empty());
        self.keep_provenance(Some(path));
        self.buffers.close(path);
        self.views.remove(path);
        let pending = self.pending_commits.remove(path).is_some();
        self.forget_arrived(path);
        let workspace = self.workspace_of(path);
        if let Some(workspace) = &workspace
            && let Some(error) = workspace.index.refresh(&workspace.tree, path)
        {
            self.tell_unread(workspace, &error);
        }
        if pending {
            // It may have been written without a word of it.
            self.call_off(path, false);
        }
        self.children.closed(path);
        let workspace = workspace.filter(|_| held)?;
        let tree = &workspace.tree;
        let size = std::fs::metadata(path).ok()?.len();
        let most = tree.max_size();
        (size > most).then(|| {
            let error = FileError::TooLarge(tree.relative(path).unwrap_or_default(), most);
            format!("the threads of a file this large are shown while it is open: {error}")
        })
    }

    /// Files and folders changed, were made or deleted on disk, `all`: others too. Blocking for the time of
    /// reading what changed: of many changes by one look at the tree, which reads no file twice. The files of
    /// which something else may be shown now.
    pub fn disk_changed(&self, paths: &[PathBuf], all: bool) -> Vec<PathBuf> {
        self.children.disk_changed(paths);
        if all || paths.iter().any(|path| path.ends_with(PROJECT_FILE)) {
            self.reload_settings();
        }
        let all = self.passes_over_others.swap(false, Ordering::AcqRel) || all;
        let mut shown = Vec::new();
        for workspace in self.workspaces() {
            let Workspace { tree, index, .. } = &*workspace;
            let is_mine = |path: &&PathBuf| {
                let home = self.workspace_of(path);
                home.is_some_and(|home| home.root() == tree.root())
            };
            let mine: HashSet<&PathBuf> = paths.iter().filter(is_mine).collect();
            // Which names count: git's index, which need not lie below the root, and rules of ignored names.
            let git = vcs::index_place(tree.root()).map(|(index, _)| index);
            let rules = |path: &PathBuf| {
                git.as_ref() == Some(path) || path.ends_with("info/exclude") || is_ignore_file(path)
            };
            let many = mine.len() > STORM
                || mine.iter().filter(|path| path.is_dir()).count() > MANY_FOLDERS;
            if all || many || paths.iter().any(rules) {
                workspace.names.forget();
                if !self.walks(&workspace) {
                    continue;
                }
                if !tree.root().is_dir() {
                    // What is there when it is back is new.
                    shown.extend(index.files());
                    index.forget(tree.root());
                    index.distrust();
                    continue;
                }
                shown.extend(self.walk(&workspace, Path::new("")));
                let same = index.files().into_iter();
                shown.extend(same.filter(|file| all || mine.contains(file)));
                continue;
            }
            for path in mine {
                workspace.names.changed(tree, path);
                if path.is_dir() {
                    let below = tree.relative(path).filter(|_| tree.enters(path));
                    let changed = below.map(|below| self.walk(&workspace, below.as_ref()));
                    shown.extend(changed.into_iter().flatten());
                } else if path.exists() {
                    if let Some(error) = index.refresh(tree, path) {
                        self.tell_unread(&workspace, &error);
                    }
                } else {
                    let gone = index
                        .files()
                        .into_iter()
                        .filter(|file| file.starts_with(path));
                    shown.extend(gone);
                    index.forget(path);
                }
                shown.push(path.clone());
            }
        }
        shown.sort();
        shown.dedup();
        self.follow_renames(paths, &shown);
        shown
    }

    /// What a walk finds changed; why it fails is told.
    fn walk(&self, workspace: &Workspace, below: &Path) -> Vec<PathBuf> {
        let walked = workspace.index.scan(&workspace.tree, below);
        walked.unwrap_or_else(|error| {
            self.tell_unread(workspace, &error);
            Vec::new()
        })
    }

    /// The person sees too few threads then, and cannot know it. Once until a walk succeeds: each question walks anew.
    fn tell_unread(&self, workspace: &Workspace, error: &FileError) {
        let root = workspace.root().display();
        tracing::warn!("{root}: {error}");
        if error.is_exhausted() && workspace.index.is_to_be_told() {
            let text = format!(
                "not every file of {root} could be read, so threads may be missing ({error}): close other programs, or raise the limit of open files (`ulimit -n`) and start the editor again; postil looks again at the next question"
            );
            self.host.message(Level::Warning, &present::visible(&text));
        }
    }

    // -- reading ---------------------------------------------------------------------------------

    /// The threads of one file, buffer first. Reused for an open buffer while its text stands.
    pub fn view(&self, path: &Path) -> Result<View, Error> {
        let Some(buffer) = self.buffers.get(path) else {
            let workspace = self.home_of(path)?;
            let read = workspace.tree.read(path)?;
            let relative = workspace.tree.relative(path).unwrap_or_default();
            let syntax = Syntax::parse(&read.text, detect(&relative, None, head(&read.text)));
            let threads = threads::find(&relative, &read.text, &syntax);
            return Ok(View {
                path: path.to_owned(),
                text: Whole::Read(read.text.clone()),
                buffer: None,
                syntax: syntax.into(),
                threads: Arc::new(threads),
                lossy: read.lossy,
                seen: Some(read.seen),
            });
        };
        let generation = buffer.generation;
        let known = self
            .views
            .get(path)
            .filter(|known| known.generation == generation)
            .map(|known| known.threads.clone());
        let threads = known.unwrap_or_else(|| {
            let relative = self.relative(path);
            let document = &buffer.document;
            let found = Arc::new(match &buffer.pieces {
                Some(pieces) => pieces.threads(&relative, document),
                None => threads::find(&relative, document.text(), &buffer.syntax),
            });
            self.look_on(path, &relative, &buffer, found)
        });
        Ok(View {
            path: path.to_owned(),
            text: Whole::Open(buffer.document.clone()),
            syntax: buffer.syntax.clone(),
            buffer: Some(buffer),
            threads,
            lossy: false,
            seen: None,
        })
    }

    /// Relative to its workspace folder with `/`; the path itself outside.
    pub fn relative(&self, path: &Path) -> String {
        self.workspace_of(path)
            .and_then(|workspace| workspace.tree.relative(path))
            .unwrap_or_else(|| path.to_string_lossy().into_owned())
    }

    /// Diagnostics of one file: its threads, turns that failed, near misses.
    pub fn diagnostics(&self, view: &View) -> Vec<Diagnostic> {
        let (mut all, failed): (Vec<_>, Vec<_>) = view
            .threads
            .iter()
            .map(|thread| self.thread_diagnostic(view, thread))
            .unzip();
        all.extend(failed.into_iter().flatten());
        all.extend(self.near_miss_diagnostics(view));
        all
    }

    /// That of a thread; where its turn failed, another one that tells of it.
    pub fn thread_diagnostic(
        &self,
        view: &View,
        thread: &Thread,
    ) -> (Diagnostic, Option<Diagnostic>) {
        let mut diagnostic = present::diagnostic(thread);
        // The folder of a closed file went away since it was read: it is not shown any more.
        if view.buffer.is_some() && self.workspace_of(&view.path).is_none() {
            present::outside(&mut diagnostic);
        }
        let Some(turn) = self.turn_of(&view.path, thread) else {
            return (diagnostic, None);
        };
        if turn.running {
            // For editors that show no progress.
            match self.question_of(&view.path, &thread.id) {
                Some((_, asked)) => present::asking(&mut diagnostic, &asked.text),
                None => present::answering(&mut diagnostic, thread),
            }
            return (diagnostic, None);
        }
        if turn.cancelled {
            present::cancelled(&mut diagnostic);
        }
        let failed = (turn.failed && thread.status == Status::Pending).then(|| Diagnostic {
            range: diagnostic.range.clone(),
            severity: Severity::Warning,
            code: "turn-failed",
            message: present::visible(&turn.message),
            thread_id: Some(thread.id.clone()),
            related: Vec::new(),
        });
        (diagnostic, failed)
    }

    pub fn near_miss_diagnostics(&self, view: &View) -> Vec<Diagnostic> {
        present::near_miss_diagnostics(&view.near_misses())
    }

    /// Every file of all workspaces that has a thread, open or closed. Blocking (the first time it walks).
    pub fn files_with_threads(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for workspace in self.workspaces() {
            let is_new = !workspace.index.is_scanned() && self.walks(&workspace);
            if is_new {
                // Where it fails, what was known before still stands.
                self.walk(&workspace, Path::new(""));
            }
            files.extend(
                workspace
                    .index
                    .files()
                    .into_iter()
                    .filter(|path| !self.buffers.is_open(path)),
            );
        }
        files.extend(
            self.buffers
                .paths()
                .into_iter()
                .filter(|path| self.view(path).is_ok_and(|view| !view.threads.is_empty())),
        );
        files.sort();
        files.dedup();
        files
    }

    /// `get_threads`: `path` is a file or folder, relative to the first root or absolute. Walks anew. Blocking.
    pub fn threads(&self, path: Option<&Path>) -> Result<ThreadList, Error> {
        let mut list = ThreadList::default();
        for looked in self.look(path)? {
            let Looked {
                workspace, files, ..
            } = &looked;
            let index = looked.index();
            for file in files {
                let relative = workspace.tree.relative(file).unwrap_or_default();
                let known = index.filter(|_| !self.buffers.is_open(file));
                let Some(index) = known else {
                    match self.view(file) {
                        Ok(view) => add_view(&mut list, &relative, &view),
                        // Passed over as in a folder: it is no file that holds threads.
                        Err(Error::File(
                            error @ (FileError::Binary(_)
                            | FileError::Utf16(_)
                            | FileError::TooLarge(..)),
                        )) => list.skipped.push(error.to_string()),
                        Err(error) => return Err(error),
                    }
                    continue;
                };
                if let Some(entry) = index.get(file) {
                    match entry.unparsed {
                        Some(raw) => list.threads.push(unparsed(&relative, &raw)),
                        None => {
                            let alike = !threads::alike(&entry.threads).is_empty();
                            let read = alike.then(|| workspace.tree.read(file).ok()).flatten();
                            let text = read.as_ref().map_or("", |read| &*read.text);
                            let (threads, lossy) = (&entry.threads, entry.lossy);
                            add_threads(&mut list, &relative, threads, text, lossy);
                        }
                    }
                }
            }
            if let Some(index) = index {
                let skipped = index.skipped();
                list.skipped.extend(skipped.told);
                list.unreadable.extend(skipped.unreadable);
            }
        }
        list.count();
        Ok(list)
    }

    /// Walks what `path` names, in all workspaces by default: the files that may have threads, open ones
    /// too. One file is named without a walk.
    pub(super) fn look(&self, path: Option<&Path>) -> Result<Vec<Looked>, Error> {
        let mut all = Vec::new();
        for (workspace, absolute) in self.scope(path)? {
            let walked = !absolute.is_file() && !self.buffers.is_open(&absolute);
            let mut files = vec![absolute.clone()];
            let mut apart = None;
            if walked {
                if !absolute.exists() {
                    let shown = path.unwrap_or(&absolute).display();
                    return Err(FileError::NotFound(shown.to_string()).into());
                }
                if !workspace.tree.enters(&absolute) {
                    let cache = self.folders.cache.as_deref();
                    apart = Some(Index::new(cache, workspace.root()));
                }
                let index = apart.as_ref().unwrap_or(&workspace.index);
                index.scan(&workspace.tree, &absolute)?;
                files = index.files();
                files.extend(self.buffers.paths());
                // What lies in a folder of the workspace within this one is that one's.
                let is_here = |file: &PathBuf| {
                    let home = self.workspace_of(file);
                    file.starts_with(&absolute)
                        && home.is_some_and(|home| home.root() == workspace.root())
                };
                files.retain(is_here);
                files.sort();
                files.dedup();
            }
            all.push(Looked {
                workspace,
                files,
                walked,
                apart,
            });
        }
        Ok(all)
    }

    /// The workspace folders that a path names, each with what of it is meant (absolute): the one that it lies in, and
    /// those that lie in it. A relative path counts from the first folder.
    pub(super) fn scope(
        &self,
        path: Option<&Path>,
    ) -> Result<Vec<(Arc<Workspace>, PathBuf)>, Error> {
        let workspaces = self.workspaces();
        let whole = |one: Arc<Workspace>| {
            let root = one.root().to_owned();
            (one, root)
        };
        let Some(path) = path else {
            return Ok(workspaces.into_iter().map(whole).collect());
        };
        let absolute = match (path.is_absolute(), workspaces.first()) {
            (true, _) => os::resolved(path),
            (false, Some(first)) => first.tree.resolve(path)?,
            (false, None) => return Err(FileError::Outside(path.display().to_string()).into()),
        };
        let home = self.home_of(&absolute)?;
        let root = home.root().to_owned();
        let absolute = home.tree.resolve(&absolute)?;
        let is_below = |one: &Workspace| one.root() != root && one.root().starts_with(&absolute);
        let below = workspaces.into_iter().filter(|one| is_below(one));
        let below: Vec<_> = below.map(whole).collect();
        Ok([(home, absolute)].into_iter().chain(below).collect())
    }

    /// The file and thread of an id or unique prefix; `path` (canonical, a file or a folder) narrows the search.
    /// Blocking where the folder has not been walked yet.
    pub fn find_thread(&self, id: &str, path: Option<&Path>) -> Result<(View, Thread), Error> {
        let folder = path.is_none_or(|path| path.is_dir() && !self.buffers.is_open(path));
        let files = || match path {
            Some(path) if !folder => vec![path.to_owned()],
            _ => {
                let mut files = self.files_with_threads();
                files.retain(|file| path.is_none_or(|folder| file.starts_with(folder)));
                files
            }
        };
        if let Some(found) = self.thread_in(id, &files())? {
            return Ok(found);
        }
        if folder {
            self.look_at_all()?;
            if let Some(found) = self.thread_in(id, &files())? {
                return Ok(found);
            }
        }
        Err(Error::UnknownThread(id.to_owned()))
    }

    /// The index may be behind the disk: everything is looked at once more before anybody says no.
    fn look_at_all(&self) -> Result<(), Error> {
        for workspace in self.workspaces() {
            if self.walks(&workspace) {
                workspace.index.scan(&workspace.tree, "")?;
            }
        }
        Ok(())
    }

    /// The file and id of the first thread that waits for an agent and has one of these ids. Blocking.
    pub fn pending_thread(&self, ids: &[String]) -> Option<(PathBuf, String)> {
        let look = || {
            let files = self.files_with_threads();
            ids.iter().find_map(|id| {
                let (view, thread) = self.thread_in(id, &files).ok()??;
                (thread.status == Status::Pending).then_some((view.path, thread.id))
            })
        };
        if ids.is_empty() {
            return None;
        }
        look().or_else(|| {
            self.look_at_all().ok()?;
            look()
        })
    }

    /// Of what is known already.
    pub(super) fn thread_in(
        &self,
        id: &str,
        files: &[PathBuf],
    ) -> Result<Option<(View, Thread)>, Error> {
        let mut ids: Vec<(String, &PathBuf)> = Vec::new();
        for file in files {
            let threads = match self
                .workspace_of(file)
                .and_then(|workspace| workspace.index.get(file))
            {
                Some(entry) if !self.buffers.is_open(file) => entry.threads,
                _ => match self.view(file) {
                    Ok(view) => view.threads,
                    Err(_) if files.len() > 1 => continue,
                    Err(error) => return Err(error),
                },
            };
            ids.extend(threads.iter().map(|thread| (thread.id.clone(), file)));
        }
        match threads::resolve(id, ids.iter().map(|(id, _)| id.as_str())) {
            Ok(found) => {
                let mut holders: Vec<&PathBuf> = ids
                    .into_iter()
                    .filter(|(id, _)| *id == found)
                    .map(|(_, file)| file)
                    .collect();
                holders.dedup();
                let file = match holders.as_slice() {
                    [] => return Ok(None),
                    [file] => *file,
                    // Two workspace folders with the same words at the same place.
                    several => {
                        return Err(Error::AmbiguousThread {
                            prefix: id.to_owned(),
                            candidates: several.iter().map(|f| f.display().to_string()).collect(),
                        });
                    }
                };
                let view = self.view(file)?;
                let thread = view
                    .threads
                    .iter()
                    .find(|thread| thread.id == found)
                    .cloned();
                Ok(thread.map(|thread| (view, thread)))
            }
            Err(NoThread::Unknown) => Ok(None),
            Err(NoThread::TooShort) => Err(Error::ShortId(id.to_owned())),
            Err(NoThread::Ambiguous(candidates)) => Err(Error::AmbiguousThread {
                prefix: id.to_owned(),
                candidates,
            }),
        }
    }
}

/// What a path names in one workspace.
pub(super) struct Looked {
    workspace: Arc<Workspace>,
    /// Absolute, sorted.
    pub files: Vec<PathBuf>,
    /// It is a folder, and an index knows its files.
    walked: bool,
    /// That of a folder which is no part of the workspace, being ignored: nobody else is to find what is in it.
    apart: Option<Index>,
}

impl Looked {
    fn index(&self) -> Option<&Index> {
        let index = self.apart.as_ref().unwrap_or(&self.workspace.index);
        self.walked.then_some(index)
    }
}

/// Whether a change could bring a whole message along: a reload of the file, a paste, an edit of ours.
fn brings_threads(change: &Change) -> bool {
    let (Change::Full(text) | Change::Incremental { text, .. }) = change;
    text.contains("AUTHOR")
}

/// The threads of a text that is neither on disk nor in a buffer, in the language that its file is read in.
pub(super) fn threads_of(
    file: &str,
    text: &str,
    language: Option<&'static Language>,
) -> Vec<Thread> {
    threads::find(file, text, &Syntax::parse(text, language))
}

fn add_view(list: &mut ThreadList, file: &str, view: &View) {
    if threads::may_hold(view.text.as_bytes()) && view.syntax.is_malformed(&view.text) {
        list.threads.push(unparsed(file, &view.text));
    } else {
        add_threads(list, file, &view.threads, &view.text, view.lossy);
    }
}

fn unparsed(file: &str, text: &str) -> Listed {
    Listed::Unparsed {
        file: file.to_owned(),
        text: text.to_owned(),
    }
}

/// `text`: that of the file; it is looked at where some of the threads begin alike.
fn add_threads(list: &mut ThreadList, file: &str, threads: &[Thread], text: &str, lossy: bool) {
    let alike = threads::alike(threads);
    let listed = threads.iter().map(|thread| Listed::Thread {
        file: file.to_owned(),
        thread: thread.clone(),
        lossy,
        beside: alike
            .contains(threads::words(&thread.id))
            .then(|| threads::code_beside(thread, text)),
    });
    list.threads.extend(listed);
}
