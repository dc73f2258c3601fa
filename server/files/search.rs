//! Looking for text and for names, as the agent's tools do: hidden and ignored files are passed over,
//! open buffers are read from the editor, answers have limits and a stable order.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use globset::{GlobBuilder, GlobMatcher};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::{WalkBuilder, WalkState};

mod bounded;

use super::ignored::OfWalk;
use super::overlay::PlannedBelow;
use super::{Tree, confine, walk};
use crate::os;
use bounded::{Bounded, Pattern};

/// What [`Tree::grep`] looks for.
pub struct Query {
    /// A regular expression in Rust's syntax.
    pub pattern: String,
    /// A glob for names of files; without `/` it holds in every folder.
    pub include: Option<String>,
    /// Lines shown around each match.
    pub context: usize,
    /// Matching lines at most.
    pub max_matches: usize,
    /// Bytes; a larger file is passed over.
    pub max_size: u64,
    /// After so long it ends with what it has.
    pub longest: Duration,
    /// Of a path relative to the root: whether nothing of it is shown.
    pub hides: Option<Hides>,
}

pub type Hides = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// `file:line:text` and, around it, `file-line-text`; `--` between groups.
#[derive(Debug, Default)]
pub struct Found {
    pub text: String,
    pub matches: usize,
    /// There are more.
    pub more: bool,
    /// It took too long, so that not every file was looked at.
    pub late: bool,
    /// Lines too long to be searched for this pattern.
    pub passed_over: usize,
    /// Files that the query hides.
    pub left_out: usize,
}

/// Names that were found.
#[derive(Debug, Default)]
pub struct Named {
    /// Relative to the root, with `/`; a folder ends with one.
    pub paths: Vec<String>,
    /// How many there were before the cut.
    pub total: usize,
    /// Not every file was looked at.
    pub partial: bool,
}

/// Folders that tools fill: nobody wrote what is in them.
const GENERATED: &[&str] = &[
    "node_modules",
    "bower_components",
    "target",
    "dist",
    "build",
    "__pycache__",
    "venv",
    "coverage",
];

/// A line longer than this is cut in what a search shows, in bytes.
const MAX_LINE: usize = 500;

/// Files searched between two looks at how much was found.
const BATCH: usize = 2048;

/// # Errors
/// What is wrong with the pattern.
fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    glob.map(|g| g.compile_matcher())
        .map_err(|e| format!("`{pattern}` is no glob: {}", e.kind()))
}

fn is_generated(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|n| GENERATED.contains(&n))
}

impl Tree {
    /// Looks in every file below `path` that is neither hidden nor ignored; `stop` is asked now and then.
    ///
    /// # Errors
    /// What is wrong with path or pattern.
    pub fn grep(
        &self,
        path: &str,
        query: &Query,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Found, String> {
        let pattern = Pattern::new(&query.pattern)?;
        let began = Instant::now();
        let is_late = || began.elapsed() >= query.longest;
        let ends = || stop() || is_late();
        let passed_over = AtomicUsize::new(0);
        let include = query.include.as_deref().map(|pattern| {
            let pattern = os::slashed(Path::new(pattern));
            let anywhere = !pattern.contains('/');
            glob(&pattern).map(|g| (g, anywhere))
        });
        let include = include.transpose()?;
        let start = self.resolve(path).map_err(|e| e.to_string())?;
        let open = self.open_below(&start);
        let mut files = self
            .visible(&start, &open)
            .map_err(|e| confine::error(path, e).to_string())?;
        let is_large = |about: std::fs::Metadata| about.is_file() && about.len() > query.max_size;
        if !open.contains_key(&start) && start.symlink_metadata().is_ok_and(is_large) {
            return Err(format!(
                "{path} is larger than {} bytes, which is as much as is searched of a file",
                query.max_size
            ));
        }
        files.retain(|file| match &include {
            None => true,
            Some((glob, true)) => file.file_name().is_some_and(|n| glob.is_match(n)),
            Some((glob, false)) => glob.is_match(file.strip_prefix(self.root()).unwrap_or(file)),
        });
        let mut found = Found::default();
        if let Some(hides) = &query.hides {
            let before = files.len();
            files.retain(|file| !self.relative(file).is_some_and(|file| hides(&file)));
            found.left_out = before - files.len();
        }
        'files: for batch in files.chunks(BATCH) {
            let matcher = || pattern.until(&ends, &passed_over);
            for (text, matches) in self.search(batch, &open, &matcher, query, &ends) {
                if found.matches >= query.max_matches {
                    found.more = true;
                    break 'files;
                }
                let room = query.max_matches - found.matches;
                if query.context > 0 && !found.text.is_empty() {
                    found.text.push_str("--\n");
                }
                // One file alone may have more than there is room for: a reader counted no further than one past it.
                found.more |= matches > room;
                found.matches += matches.min(room);
                found.text.push_str(&cut_after(&text, room));
            }
            if stop() {
                return Err(String::from("The search was cancelled."));
            }
            if is_late() {
                found.late = true;
                break;
            }
        }
        found.passed_over = passed_over.load(Ordering::Relaxed);
        Ok(found)
    }

    /// The matches of each file that has some, in the order of `files`.
    fn search<'a>(
        &self,
        files: &[PathBuf],
        open: &HashMap<PathBuf, PathBuf>,
        matcher: &(dyn Fn() -> Bounded<'a> + Sync),
        query: &Query,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Vec<(String, usize)> {
        let readers = walk::readers(0);
        let share = files.len().div_ceil(readers).max(1);
        std::thread::scope(|scope| {
            let shares = files.chunks(share).map(|files| {
                scope.spawn(move || {
                    let mut searcher = SearcherBuilder::new()
                        .line_number(true)
                        .before_context(query.context)
                        .after_context(query.context)
                        .binary_detection(BinaryDetection::none())
                        .build();
                    let mut found = Vec::new();
                    let matcher = matcher();
                    for file in files {
                        if stop() {
                            break;
                        }
                        let hits = self.search_file(file, open, &matcher, query, &mut searcher);
                        found.extend(hits.filter(|(_, matches)| *matches > 0));
                    }
                    found
                })
            });
            let shares: Vec<_> = shares.collect();
            shares
                .into_iter()
                .flat_map(|share| share.join().unwrap_or_default())
                .collect()
        })
    }

    fn search_file(
        &self,
        file: &Path,
        open: &HashMap<PathBuf, PathBuf>,
        matcher: &Bounded<'_>,
        query: &Query,
        searcher: &mut Searcher,
    ) -> Option<(String, usize)> {
        let planned = self.planned(file);
        let bytes = match (
            planned,
            open.get(file).and_then(|name| self.buffers.get(name)),
        ) {
            (Some(planned), _) => planned.after?.as_bytes().to_vec(),
            (None, Some(buffer)) => buffer.document.text().as_bytes().to_vec(),
            (None, None) => {
                let shown = self.relative(file)?;
                super::disk::place(self.root(), file, &shown)
                    .ok()?
                    .read(query.max_size)
                    .ok()?
            }
        };
        let head = bytes.get(..512).unwrap_or(&bytes);
        if bytes.len() as u64 > query.max_size || memchr::memchr(0, head).is_some() {
            return None;
        }
        let name = self.relative(file)?;
        let mut sink = Lines {
            name: &name,
            text: String::new(),
            matches: 0,
            most: query.max_matches + 1,
        };
        // With `\n` alone, so that `$` means the end of what a person sees of the line.
        let plain = bytes.contains(&b'\r').then(|| without_returns(&bytes));
        if let Err(error) =
            searcher.search_slice(matcher, plain.as_deref().unwrap_or(&bytes), &mut sink)
            && !matcher.is_stopped()
        {
            tracing::warn!(%error, file = name, "a file could not be searched");
        }
        Some((sink.text, sink.matches))
    }

    /// Open documents below `start`: resolved path, and the editor's name for it.
    fn open_below(&self, start: &Path) -> HashMap<PathBuf, PathBuf> {
        let names = self.buffers.paths().into_iter();
        let resolved = names.filter_map(|name| Some((self.resolve(&name).ok()?, name)));
        resolved
            .filter(|(path, _)| path.starts_with(start))
            .collect()
    }

    /// Files below `start` that are neither hidden nor ignored, sorted, and open documents that are on no disk yet.
    fn visible(
        &self,
        start: &Path,
        open: &HashMap<PathBuf, PathBuf>,
    ) -> std::io::Result<Vec<PathBuf>> {
        if open.contains_key(start) {
            return Ok(vec![start.to_owned()]);
        }
        let planned = self.planned_below(start);
        if planned.made.iter().any(|file| file == start) {
            return Ok(vec![start.to_owned()]);
        }
        if planned.removed.contains(start) {
            return Err(std::io::ErrorKind::NotFound.into());
        }
        let walked = match planned.is_folder(start) {
            true => Vec::new(),
            false => visible_files(self.root(), start)?,
        };
        let mut files: Vec<_> = walked.into_iter().map(|(path, _)| path).collect();
        files.extend(open.keys().filter(|path| !path.exists()).cloned());
        files.retain(|file| !planned.removed.contains(file));
        files.extend(planned.made);
        files.sort_unstable();
        files.dedup();
        Ok(files)
    }

    /// Files below `path` whose name, relative to it, fits the glob; newest first, at most `limit` of
    /// them, after a look at `max_files` at most. Hidden, generated and ignored ones are passed over.
    ///
    /// # Errors
    /// What is wrong with path or pattern.
    pub fn glob(
        &self,
        pattern: &str,
        path: &str,
        limit: usize,
        max_files: usize,
    ) -> Result<Named, String> {
        let pattern = &*os::slashed(Path::new(pattern));
        let root = format!("{}/", os::slashed(self.root()));
        let below = pattern.split_at_checked(root.len());
        let below = below.filter(|(begin, _)| match cfg!(windows) {
            true => begin.eq_ignore_ascii_case(&root),
            false => *begin == root,
        });
        let pattern = below.map_or(pattern, |(_, below)| below);
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
            return Err(format!(
                "`{pattern}` leads outside the workspace: give a glob below it."
            ));
        }
        let glob = glob(pattern)?;
        let start = self.resolve(path).map_err(|e| e.to_string())?;
        let planned = self.planned_below(&start);
        let mut files = Vec::new();
        if !planned.is_folder(&start) {
            if !is_folder(&start, path, &planned)? {
                return Err(format!("{path} is a file, not a folder."));
            }
            files = visible_files(self.root(), &start)
                .map_err(|e| confine::error(path, e).to_string())?;
        }
        let now = SystemTime::now();
        files.retain(|(file, _)| !planned.removed.contains(file));
        for (file, time) in &mut files {
            if planned.changed.contains(file) {
                *time = now;
            }
        }
        files.extend(planned.made.into_iter().map(|file| (file, now)));
        let partial = files.len() > max_files;
        files.sort_unstable();
        files.truncate(max_files);
        files.retain(|(file, _)| {
            let below = file.strip_prefix(&start).unwrap_or(file);
            glob.is_match(below) && !below.iter().any(is_generated)
        });
        let total = files.len();
        // Newest first; the same moment by name.
        files.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let paths = files
            .iter()
            .take(limit)
            .filter_map(|(file, _)| self.relative(file));
        Ok(Named {
            paths: paths.collect(),
            total,
            partial,
        })
    }

    /// What is in a folder, or below it where `recursive`, sorted, at most `limit` entries. Hidden and
    /// generated ones are passed over; `path` may be a glob. `include` is a glob for names of files.
    ///
    /// # Errors
    /// What is wrong with path or pattern.
    pub fn entries(
        &self,
        path: &str,
        recursive: bool,
        include: Option<&str>,
        limit: usize,
    ) -> Result<Named, String> {
        let path = &*os::slashed(Path::new(path));
        let is_glob =
            path.contains(['*', '?', '[', '{']) && !self.resolve(path).is_ok_and(|p| p.exists());
        let (start, wanted) = if is_glob {
            // The folder that is named before the first wildcard.
            let fixed = path
                .split('/')
                .take_while(|part| !part.contains(['*', '?', '[', '{']));
            let fixed = fixed.collect::<Vec<_>>().join("/");
            let fixed = if fixed.is_empty() && path.starts_with('/') {
                "/"
            } else {
                &fixed
            };
            let rest = path
                .get(fixed.len()..)
                .unwrap_or_default()
                .trim_start_matches('/');
            (
                self.resolve(fixed).map_err(|e| e.to_string())?,
                Some(glob(rest)?),
            )
        } else {
            (self.resolve(path).map_err(|e| e.to_string())?, None)
        };
        let include = include
            .map(|include| {
                let include = os::slashed(Path::new(include));
                glob(&include).map(|g| (g, !include.contains('/')))
            })
            .transpose()?;
        let planned = self.planned_below(&start);
        if !is_folder(&start, path, &planned)? {
            return Err(format!(
                "{path} is a file, not a folder; file_read reads it."
            ));
        }
        let depth = if recursive || is_glob { None } else { Some(1) };
        let mut paths = Vec::new();
        let top = start.clone();
        let walk = WalkBuilder::new(&start)
            .standard_filters(false)
            .hidden(true)
            .max_depth(depth)
            .filter_entry(move |entry| {
                entry.depth() == 0 || entry.path() == top || !is_generated(entry.file_name())
            })
            .build();
        let mut looked = 0;
        let mut partial = false;
        let mut seen = Vec::new();
        for entry in walk.filter_map(Result::ok).filter(|e| e.depth() > 0) {
            looked += 1;
            if looked > MAX_ENTRIES {
                partial = true;
                break;
            }
            let folder = entry.file_type().is_some_and(|t| t.is_dir());
            if folder || !planned.removed.contains(entry.path()) {
                seen.push((entry.into_path(), folder));
            }
        }
        seen.extend(made_below(&start, &planned.made, depth));
        seen.sort_unstable();
        seen.dedup();
        for (entry, folder) in seen {
            let below = entry.strip_prefix(&start).unwrap_or(&entry);
            if wanted.as_ref().is_some_and(|glob| !glob.is_match(below)) {
                continue;
            }
            if let Some((glob, anywhere)) = &include
                && (folder
                    || !if *anywhere {
                        entry.file_name().is_some_and(|name| glob.is_match(name))
                    } else {
                        glob.is_match(below)
                    })
            {
                continue;
            }
            if let Some(mut name) = self.relative(&entry) {
                if folder {
                    name.push('/');
                }
                paths.push(name);
            }
        }
        paths.sort_unstable();
        let total = paths.len();
        paths.truncate(limit);
        Ok(Named {
            paths,
            total,
            partial,
        })
    }
}

/// Whether there is a folder, or will be.
fn is_folder(start: &Path, path: &str, planned: &PlannedBelow) -> Result<bool, String> {
    if planned.is_folder(start) {
        return Ok(true);
    }
    if planned.made.iter().any(|file| file == start) {
        return Ok(false);
    }
    let kind = match planned.removed.contains(start) {
        true => Err(std::io::ErrorKind::NotFound.into()),
        false => std::fs::symlink_metadata(start),
    };
    Ok(kind
        .map_err(|e| confine::error(path, e).to_string())?
        .is_dir())
}

/// Files that are to be made below `start` and the folders on the way to them, as a walk of this depth has them.
fn made_below(start: &Path, made: &[PathBuf], depth: Option<usize>) -> Vec<(PathBuf, bool)> {
    let mut all = Vec::new();
    for file in made {
        let Ok(below) = file.strip_prefix(start) else {
            continue;
        };
        let names: Vec<_> = below.iter().collect();
        if names.iter().any(|name| is_generated(name)) {
            continue;
        }
        let mut path = start.to_owned();
        for (at, name) in names.iter().enumerate() {
            path.push(name);
            if depth.is_none_or(|depth| at < depth) {
                all.push((path.clone(), at + 1 < names.len()));
            }
        }
    }
    all
}

/// Entries looked at for one listing.
const MAX_ENTRIES: usize = 200_000;

/// A file of rules in this folder that whoever walks through it would wait for without end.
fn endless_rules(folder: &Path) -> Option<PathBuf> {
    let names = [".gitignore", ".ignore", ".git/info/exclude"];
    let mut files = names.iter().map(|name| folder.join(name));
    files.find(|file| os::never_ends(file))
}

/// With their times of change. What stands in a folder whose rules cannot be read is passed over.
fn visible_files(root: &Path, start: &Path) -> std::io::Result<Vec<(PathBuf, SystemTime)>> {
    let metadata = std::fs::symlink_metadata(start)?;
    if !metadata.is_dir() {
        let time = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        return Ok(vec![(start.to_owned(), time)]);
    }
    if let Some(file) = start.ancestors().find_map(endless_rules) {
        let why = format!("{} is no ordinary file", file.display());
        return Err(std::io::Error::other(why));
    }
    let found = Mutex::new(Vec::new());
    let rules = OfWalk::new(root);
    WalkBuilder::new(start)
        .standard_filters(false)
        .filter_entry(move |entry| {
            let (path, sort) = (entry.path(), entry.file_type());
            let is_folder = sort.is_some_and(|sort| sort.is_dir());
            entry.depth() == 0
                || rules.shows(path, is_folder) && !(is_folder && endless_rules(path).is_some())
        })
        .threads(walk::readers(0))
        .build_parallel()
        .run(|| {
            Box::new(|entry| {
                if let Ok(entry) = entry
                    && entry.file_type().is_some_and(|t| t.is_file())
                    && let Ok(mut found) = found.lock()
                {
                    let time = entry.metadata().ok().and_then(|m| m.modified().ok());
                    found.push((entry.into_path(), time.unwrap_or(SystemTime::UNIX_EPOCH)));
                }
                WalkState::Continue
            })
        });
    Ok(found.into_inner().unwrap_or_default())
}

/// `text` up to its `room`th matching line and the lines behind it that belong to the group.
fn cut_after(text: &str, room: usize) -> String {
    let mut out = String::new();
    let mut matches = 0;
    for line in text.lines() {
        let (line, is_match) = match line.strip_prefix(MATCH) {
            Some(line) => (line, true),
            None => (line, false),
        };
        matches += usize::from(is_match);
        if matches > room {
            break;
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// CR LF as LF.
fn without_returns(bytes: &[u8]) -> Vec<u8> {
    let next = bytes.iter().skip(1).map(Some).chain([None]);
    let kept = bytes
        .iter()
        .zip(next)
        .filter(|(byte, next)| **byte != b'\r' || *next != Some(&b'\n'));
    kept.map(|(byte, _)| *byte).collect()
}

/// Marks a matching line until the lines are counted.
const MATCH: char = '\u{1}';

struct Lines<'a> {
    name: &'a str,
    text: String,
    matches: usize,
    most: usize,
}

impl Lines<'_> {
    fn line(&mut self, number: Option<u64>, joint: char, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        let mut end = MAX_LINE.min(line.len());
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        let shown = line.get(..end).unwrap_or_default();
        let number = number.unwrap_or_default();
        let _ = write!(
            self.text,
            "{}{joint}{number}{joint}{}",
            self.name,
            shown.replace(['\r', '\u{1}'], "\u{fffd}")
        );
        if end < line.len() {
            let _ = write!(self.text, "… ({} more bytes)", line.len() - end);
        }
        self.text.push('\n');
    }
}

impl Sink for Lines<'_> {
    type Error = std::io::Error;

    fn matched(
        &mut self,
        _searcher: &Searcher,
        found: &SinkMatch<'_>,
    ) -> Result<bool, Self::Error> {
        self.matches += 1;
        self.text.push(MATCH);
        self.line(found.line_number(), ':', found.bytes());
        Ok(self.matches < self.most)
    }

    fn context(
        &mut self,
        _searcher: &Searcher,
        context: &SinkContext<'_>,
    ) -> Result<bool, Self::Error> {
        self.line(context.line_number(), '-', context.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, Self::Error> {
        self.text.push_str("--\n");
        Ok(true)
    }
}
