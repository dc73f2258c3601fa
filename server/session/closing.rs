//! What is kept of a thread that is removed: its conversation, tied to the lines that it stood at, to those that
//! its agent changed, and to a commit. `leaving` keeps it until then.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio::time::timeout;

use super::verbs::Made;
use super::{Error, Session, Workspace, notes};
use crate::config::Share;
use crate::host::Level;
use crate::present;
use crate::store::{Closed, Said, Store, Tie};
use crate::threads::{self, Thread};
use crate::vcs::{self, LineMap};

mod by_hand;
mod leaving;

pub(super) use by_hand::Shown;
pub(super) use leaving::Stand;

/// Lines below a thread that it is about, until an empty one.
const ANCHOR: usize = 5;
/// Lines of one conversation that an agent changed, as far as they are kept.
const MOST_CHANGED: usize = 1_000;
/// Files larger than this are not looked through for changed lines.
const LARGEST: usize = 4 << 20;

/// Threads that were just removed from a file.
struct Closing {
    /// An error: there is none to keep them in.
    store: Result<Arc<Store>, Error>,
    path: PathBuf,
    /// The file, relative to the workspace root.
    file: String,
    /// All threads of the file, with those that were removed.
    threads: Arc<Vec<Thread>>,
    after: String,
    edits: Vec<crate::text::Edit>,
    ids: Vec<String>,
    /// All digits of the commit that removed them.
    commit: Option<String>,
    /// Conversations go into the repository's notes too.
    share: bool,
}

/// What became of it.
struct Kept {
    /// The threads that have another id without those that were removed: from, to.
    renumbered: Vec<(String, String)>,
    /// What to tell of a conversation that is kept nowhere.
    lost: Option<String>,
    /// Why it is no git note, where it was to be one.
    unshared: Option<String>,
}

/// How long whoever asks about closed threads waits for one that is being closed.
const PATIENCE: Duration = Duration::from_secs(2);

/// The files in which something is under way: threads are taken out of them (an editor shows that one is gone before
/// what was said in it is kept), or they are committed. As often as it is.
#[derive(Default)]
pub(super) struct Underway(Arc<watch::Sender<Vec<PathBuf>>>);

impl Underway {
    pub(super) fn is_in(&self, path: &Path) -> bool {
        self.0.borrow().iter().any(|open| open == path)
    }

    /// Until what is returned is dropped.
    pub(super) fn begin(&self, path: &Path) -> Begun {
        self.0.send_modify(|open| open.push(path.to_owned()));
        Begun(self.0.clone(), path.to_owned())
    }

    /// Waits, though no longer than this, until none is: in this file or below this folder, or anywhere.
    pub(super) async fn end(&self, path: Option<&Path>, patience: Duration) {
        let mut open = self.0.subscribe();
        let is_other = |open: &PathBuf| path.is_some_and(|path| !open.starts_with(path));
        let _ = timeout(patience, open.wait_for(|open| open.iter().all(is_other))).await;
    }
}

pub(super) struct Begun(Arc<watch::Sender<Vec<PathBuf>>>, PathBuf);

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.send_modify(|open| {
            if let Some(at) = open.iter().position(|open| *open == self.1) {
                open.swap_remove(at);
            }
        });
    }
}

impl Session {
    /// Waits, though not for long, until no thread is being closed: of this file or below this folder, or anywhere.
    pub async fn let_close(&self, path: Option<&Path>) {
        self.closings.end(path, PATIENCE).await;
    }

    /// Keeps the conversations of the threads `ids`, which `made` took out of the file. `commit`: that closed them. What
    /// could be kept nowhere is returned, in words, after the host was told of it.
    pub(super) async fn keep_closed(
        &self,
        path: &Path,
        made: &Made,
        ids: &[String],
        commit: Option<&str>,
    ) -> Option<String> {
        let workspace = self.workspace_of(path)?;
        let closing = Closing {
            commit: commit.map(str::to_owned),
            share: workspace.loaded().settings.share == Share::Notes
                && self.is_trusted(workspace.root()),
            ..Closing::new(&workspace, path, made, ids)
        };
        let turn = match closing.share {
            true => Some(vcs::turn_in(path).await),
            false => None,
        };
        let keeping = tokio::task::spawn_blocking(move || {
            let kept = closing.keep();
            drop(turn);
            kept
        });
        let Ok(kept) = keeping.await else {
            tracing::error!("a defect while a closed conversation was kept");
            return None;
        };
        let Kept {
            renumbered,
            lost,
            unshared,
        } = kept;
        let lost = lost.map(|lost| present::visible(&lost));
        if let Some(lost) = &lost {
            self.host.message(Level::Error, lost);
        }
        if let Some(why) = unshared {
            let file = self.relative(path);
            let text = format!(
                "{file}: what was said in what was removed is in your own history, but could not be written as a git note: {why}"
            );
            self.host.message(Level::Warning, &present::visible(&text));
        }
        let any = self.turns.closed(workspace.root(), ids, &renumbered);
        if any || !renumbered.is_empty() {
            // What is shown at those that stay is their own again.
            self.host.changed(&[path.to_owned()]);
        }
        lost
    }
}

impl Closing {
    fn new(workspace: &Workspace, path: &Path, made: &Made, ids: &[String]) -> Self {
        let file = workspace.tree.relative(path);
        Self {
            store: workspace.store(),
            path: path.to_owned(),
            file: file.unwrap_or_else(|| path.to_string_lossy().into_owned()),
            threads: made.threads.clone(),
            after: made.after.clone(),
            edits: made.written.edits.clone(),
            ids: ids.to_vec(),
            commit: None,
            share: false,
        }
    }

    /// What was said in the threads, by what is known without git.
    fn said(&self, map: Option<&LineMap>) -> Vec<Closed> {
        let removed = self
            .threads
            .iter()
            .filter(|thread| self.ids.contains(&thread.id));
        removed
            .map(|thread| Closed {
                run_id: None,
                thread_id: thread.id.clone(),
                file: self.file.clone(),
                lines: (thread.first_line() + 1, thread.last_line() + 1),
                messages: Said::in_thread(thread),
                commit: None,
                by_commit: false,
                time: jiff::Timestamp::now(),
                ties: self.stood(thread, map),
            })
            .collect()
    }

    fn keep(self) -> Kept {
        // What was committed may be more than what we took out: the author saved it, a hook changed it.
        let read = vcs::text_in(&self.path, self.commit.as_deref());
        let (commit, base) = read.map_or((self.commit.clone(), None), |(commit, base)| {
            (Some(commit), base)
        });
        let map = base.as_ref().map(|base| LineMap::new(&self.after, base));
        let mut closed = self.said(map.as_ref());
        for closed in &mut closed {
            if let Ok(store) = &self.store {
                closed.ties.extend(changed(store, &closed.thread_id));
            }
            closed.commit.clone_from(&commit);
            closed.by_commit = self.commit.is_some();
        }
        let renumbered = threads::renumbered(&self.threads, &self.ids);
        let why = match &self.store {
            Ok(store) => store
                .close_threads(&closed, &renumbered)
                .err()
                .map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        let said: Vec<String> = closed.iter().map(Closed::conversation).collect();
        let said = said.join("\n");
        // They have it from nowhere else then.
        let lost = why.filter(|_| !said.is_empty()).map(|why| {
            format!(
                "{}: what was said in what was removed could not be kept: {why}. It was:\n{said}",
                self.file
            )
        });
        let commit = commit.as_deref().filter(|_| self.share);
        let shared = commit.map(|commit| notes::write(&self.path, &self.file, commit, closed));
        Kept {
            renumbered,
            lost,
            unshared: shared.and_then(Result::err).map(|why| why.to_string()),
        }
    }

    /// The lines that the thread stood at, in the text without it.
    fn stood(&self, thread: &Thread, base: Option<&LineMap>) -> Vec<Tie> {
        let end = thread
            .messages
            .last()
            .map_or(0, |last| last.range.end.max(last.marker.end));
        let at = vcs::moved(&self.edits, end);
        let before = self.after.as_bytes().get(..at).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count();
        let lines = vcs::lines(&self.after);
        anchor(&lines, line, thread.trailing)
            .filter_map(|line| {
                Some(Tie {
                    file: self.file.clone(),
                    line: line + 1,
                    base_line: base.and_then(|map| map.after(line)).map(|line| line + 1),
                    hash: words_hash(lines.get(line)?)?,
                    stood: true,
                })
            })
            .collect()
    }
}

/// The lines that a thread is about which was taken out before `at`: the paragraph that follows, else that before.
fn anchor(lines: &[&str], at: usize, trailing: bool) -> Range<usize> {
    let says = |line: usize| {
        lines
            .get(line)
            .is_some_and(|line| words_hash(line).is_some())
    };
    let tells = |line: usize| lines.get(line).is_some_and(|line| !is_plain(line));
    if trailing && says(at) {
        return at..at + 1;
    }
    let first = if says(at) { at } else { at + 1 };
    let below = (first..first + ANCHOR).take_while(|line| says(*line));
    let end = below.last().map_or(first, |line| line + 1);
    if (first..end).any(tells) {
        return first..end;
    }
    let above = (0..at).rev().take(ANCHOR).take_while(|line| says(*line));
    let above = above.last().map_or(at..at, |start| start..at);
    if end > first && !above.clone().any(tells) {
        return first..end;
    }
    above
}

/// The lines that the turns of a thread changed.
fn changed(store: &Store, thread_id: &str) -> Vec<Tie> {
    let mut ties = Vec::new();
    for change in store.changes_of_thread(thread_id).unwrap_or_default() {
        let after = change.after.as_deref().unwrap_or_default();
        let before = change.before.as_deref().unwrap_or_default();
        if after.len().max(before.len()) > LARGEST {
            continue;
        }
        let (before, after) = (
            String::from_utf8_lossy(before),
            String::from_utf8_lossy(after),
        );
        let map = LineMap::new(&before, &after);
        for (line, text) in vcs::lines(&after).into_iter().enumerate() {
            if ties.len() == MOST_CHANGED {
                return ties;
            }
            if matches!(map.before(line), vcs::Before::Same(_)) || is_plain(text) {
                continue;
            }
            ties.extend(words_hash(text).map(|hash| Tie {
                file: change.file.clone(),
                line: line + 1,
                base_line: None,
                hash,
                stood: false,
            }));
        }
    }
    ties
}

/// Of the words of a line, so that a new indentation does not lose it; `None` for an empty line.
pub(super) fn words_hash(line: &str) -> Option<i64> {
    let mut hash = Sha256::new();
    let mut empty = true;
    for word in line.split_whitespace() {
        hash.update(word.as_bytes());
        hash.update(b" ");
        empty = false;
    }
    let digest: [u8; 32] = hash.finalize().into();
    let first = digest.first_chunk::<8>().copied().unwrap_or_default();
    (!empty).then(|| i64::from_be_bytes(first))
}

/// Words of a line that would say the same anywhere.
const BARE: [&str; 20] = [
    "begin", "do", "done", "else", "end", "endif", "esac", "false", "fi", "it", "nil", "none",
    "null", "od", "of", "ok", "pass", "then", "true", "try",
];

/// A line that says nothing of its own: a bracket, a number, `else`.
pub(super) fn is_plain(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric());
    words.all(|word| {
        word.chars().all(char::is_numeric)
            || BARE.iter().any(|bare| word.eq_ignore_ascii_case(bare))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_about_the_paragraph_below_it_or_the_one_above() {
        let lines = [
            "fn a() {",
            "    first();",
            "    second();",
            "}",
            "",
            "fn other() {}",
        ];
        assert_eq!(anchor(&lines, 0, false), 0..4);
        assert_eq!(anchor(&lines, 3, false), 0..3);
        assert_eq!(anchor(&lines, 4, false), 5..6);
        assert_eq!(anchor(&lines, 6, false), 5..6);
        assert_eq!(anchor(&lines, 1, true), 1..2);
        assert_eq!(anchor(&["}"], 0, false), 0..1);
        assert_eq!(anchor(&[], 0, false), 0..0);
    }

    #[test]
    fn a_short_line_may_say_something() {
        for line in ["fn b(){}", "foo();", "x = 1", "return", "} else { a()"] {
            assert!(!is_plain(line), "{line}");
        }
        for line in ["", "}", "    });", "} else {", "end", "1,", "END;"] {
            assert!(is_plain(line), "{line}");
        }
    }

    #[test]
    fn a_line_is_its_words() {
        assert_eq!(words_hash("  a  b"), words_hash("\ta b\r"));
        assert_ne!(words_hash("ab"), words_hash("a b"));
        assert_eq!(words_hash(" \t"), None);
    }
}
