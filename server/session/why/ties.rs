//! Which conversations belong to a line.

use std::cell::{LazyCell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Told;
use crate::files::as_text;
use crate::os;
use crate::session::closing::{is_plain, words_hash};
use crate::store::Tie;
use crate::vcs::{self, LineMap, Shaped, Trail};

/// A line of a text, and what git knows of it.
pub(super) struct Line<'a> {
    pub root: &'a Path,
    pub path: &'a Path,
    pub text: &'a str,
    /// 0-based, as git counts.
    pub line: usize,
    /// The line itself.
    pub words: &'a str,
    pub trail: Option<&'a Trail>,
    pub until: Instant,
}

pub(super) struct Candidate<'a> {
    /// What its files are relative to.
    pub base: &'a Path,
    pub told: Told,
}

/// One text that the line stood in: the present one, or that of a commit.
struct Version<'a> {
    text: &'a str,
    shaped: Option<&'a Shaped>,
    /// 0-based.
    line: usize,
}

type Blobs = RefCell<HashMap<(String, PathBuf), Option<std::rc::Rc<str>>>>;

impl Line<'_> {
    fn shaped(&self) -> &[Shaped] {
        self.trail.map_or(&[], |trail| &trail.shaped)
    }

    /// Whether it is not committed, the file where git was not asked of the line.
    fn is_new(&self) -> bool {
        match self.trail {
            Some(trail) => trail.shaped.is_empty(),
            None => vcs::text_in(self.path, None).is_none_or(|(_, text)| text.is_none()),
        }
    }

    /// Every name that the file had, absolute.
    fn names(&self) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::from([self.path.to_owned()]);
        if let Some(trail) = self.trail {
            files.extend(
                trail
                    .shaped
                    .iter()
                    .map(|shaped| trail.place.top.join(&shaped.file)),
            );
        }
        files
    }

    /// The same as the history may have them.
    fn files(&self) -> BTreeSet<String> {
        self.names().iter().map(|file| kept(file)).collect()
    }

    /// The same, relative to the workspace root.
    pub fn files_below_root(&self) -> Vec<String> {
        self.names()
            .iter()
            .filter_map(|file| file.strip_prefix(self.root).ok())
            .map(os::slashed)
            .collect()
    }

    /// Those of the candidates that belong to the line, in the order they are told.
    pub fn tied(&self, candidates: Vec<Candidate>) -> Vec<Told> {
        let files = self.files();
        let blobs = Blobs::default();
        // Asked of git at most once.
        let is_new = LazyCell::new(|| self.is_new());
        // Whether a file of a tie is the line's.
        let is_mine = |file: &Path| {
            // One that is gone may be this one, renamed and not committed yet.
            files.contains(&kept(file)) || (!file.exists() && *is_new)
        };
        let mut known = HashSet::new();
        let mut tied = Vec::new();
        for Candidate { base, mut told } in candidates {
            if told.closed.messages.is_empty() {
                continue;
            }
            told.at_line = self.stood(&told, base, &is_mine, &blobs);
            let by_commit = || {
                let of = |shaped: &Shaped| {
                    let commit = told.closed.commit.as_deref();
                    // What an older version kept is abbreviated.
                    commit.is_some_and(|id| id.len() >= 7 && shaped.commit.starts_with(id))
                };
                told.closed.by_commit
                    && files.contains(&kept(&base.join(&told.closed.file)))
                    && self.shaped().iter().any(of)
            };
            // One conversation may be in the history and in the notes.
            let key = (told.closed.thread_id.clone(), told.closed.messages.clone());
            if (told.at_line || by_commit()) && known.insert(key) {
                tied.push(told);
            }
        }
        tied.sort_by_key(|told| (!told.at_line, std::cmp::Reverse(told.closed.time)));
        tied
    }

    /// Whether one of its lines was this line.
    fn stood(
        &self,
        told: &Told,
        base: &Path,
        is_mine: &dyn Fn(&Path) -> bool,
        blobs: &Blobs,
    ) -> bool {
        let now = Version {
            text: self.words,
            shaped: None,
            line: self.line,
        };
        let earlier = self.shaped().iter().map(|shaped| Version {
            text: &shaped.text,
            shaped: Some(shaped),
            line: shaped.line.saturating_sub(1),
        });
        std::iter::once(now).chain(earlier).any(|version| {
            let Some(hash) = words_hash(version.text) else {
                return false;
            };
            told.closed
                .ties
                .iter()
                .filter(|tie| tie.hash == hash)
                .any(|tie| {
                    is_mine(&base.join(&tie.file)) && self.is_the_line(told, tie, &version, blobs)
                })
        })
    }

    /// Of equal words at several places, whether it is this one that is meant.
    fn is_the_line(&self, told: &Told, tie: &Tie, version: &Version, blobs: &Blobs) -> bool {
        let blob;
        let text = match version.shaped {
            None => self.text,
            Some(shaped) => match self.blob(&shaped.commit, &shaped.file, blobs) {
                Some(read) => {
                    blob = read;
                    &*blob
                }
                None => return !is_plain(version.text),
            },
        };
        if !is_plain(version.text) && !stands_again(text, version.text.trim()) {
            return true;
        }
        if let (Some(base_line), Some(commit)) = (tie.base_line, &told.closed.commit)
            && let Some(base) = self.blob_of(commit, told, tie, blobs)
            && let Some(line) = LineMap::new(&base, text).after(base_line.saturating_sub(1))
        {
            return line == version.line;
        }
        // By its neighbours, as far as they are known.
        let lines = vcs::lines(text);
        let neighbour = |other: &Tie| {
            let above = other.line + 1 == tie.line;
            let below = other.line == tie.line + 1;
            let line = if above {
                version.line.checked_sub(1)
            } else {
                version.line.checked_add(1).filter(|_| below)
            };
            other.stood == tie.stood
                && other.file == tie.file
                && line
                    .and_then(|line| lines.get(line))
                    .is_some_and(|line| words_hash(line) == Some(other.hash))
        };
        told.closed.ties.iter().any(neighbour)
    }

    fn blob_of(
        &self,
        commit: &str,
        told: &Told,
        tie: &Tie,
        blobs: &Blobs,
    ) -> Option<std::rc::Rc<str>> {
        let top = &self.trail?.place.top;
        let base = if told.shared {
            top.as_path()
        } else {
            self.root
        };
        let file = base.join(&tie.file);
        // Of a name that is no text the history has what is read of it.
        let names = self.names();
        let name = names.iter().find(|name| kept(name) == kept(&file));
        let file = name.unwrap_or(&file).strip_prefix(top).ok()?;
        let file = vcs::path_for_git(file);
        // A note's commit is none that git would take for an option.
        let is_id = commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| self.blob(commit, &file, blobs))?
    }

    fn blob(&self, commit: &str, file: &Path, blobs: &Blobs) -> Option<std::rc::Rc<str>> {
        let trail = self.trail?;
        let key = (commit.to_owned(), file.to_owned());
        if let Some(known) = blobs.borrow().get(&key) {
            return known.clone();
        }
        let read = vcs::blob(&trail.place, commit, file, self.until).map(std::rc::Rc::from);
        blobs.borrow_mut().insert(key, read.clone());
        read
    }
}

/// A path as the history keeps it.
fn kept(path: &Path) -> String {
    as_text(path.as_os_str()).into_owned()
}

/// Whether more than one line of a text is this one but for its indentation. A hover asks for it.
fn stands_again(text: &str, line: &str) -> bool {
    let bytes = text.as_bytes();
    let blank = |side: &[u8]| side.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    let is_whole = |at: &usize| {
        let before = bytes.get(..*at).unwrap_or_default();
        let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        let behind = bytes.get(at + line.len()..).unwrap_or_default();
        let end = memchr::memchr(b'\n', behind).unwrap_or(behind.len());
        blank(before.get(start..).unwrap_or_default())
            && blank(behind.get(..end).unwrap_or_default())
    };
    memchr::memmem::find_iter(bytes, line.as_bytes())
        .filter(is_whole)
        .nth(1)
        .is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stands_again_but_for_its_indentation() {
        let text = "a();\n    return 1;\r\nb();\n\treturn 1;\nreturn 10;";
        assert!(stands_again(text, "return 1;"));
        assert!(!stands_again(text, "b();"));
        assert!(!stands_again(text, "return 10;"));
        assert!(!stands_again("", "x"));
    }
}
