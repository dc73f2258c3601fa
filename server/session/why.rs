//! `why`: the closed conversations that a line of code is tied to. git tells which commits shaped the line and how
//! it read before each of them; a conversation belongs to the line where the thread stood at one of these
//! versions, where its agent wrote it, or where a commit that shaped the line closed it. docs/why.md has the rule.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::closing::{is_plain, words_hash};
use super::{Error, Session, View, notes};
use crate::edits;
use crate::present;
use crate::store::{Closed, Said, whole_seconds};
use crate::vcs::{self, GitError, Shaped, Trail};

mod ties;

use ties::{Candidate, Line};

/// Conversations that are told, and those that are looked at.
const MOST: usize = 20;
const CANDIDATES: usize = 500;
/// Characters of a message that are told.
const LONGEST: usize = 8_000;
/// How long git may take to follow a line.
const PATIENCE: Duration = Duration::from_secs(15);

/// What is known of a line.
#[derive(Clone, Debug)]
pub struct Why {
    /// Relative to the workspace root.
    pub file: String,
    /// 1-based.
    pub line: usize,
    pub text: String,
    /// The commits that shaped it, newest first.
    pub shaped: Vec<Shaped>,
    /// Those at the line first, then those of its commits; the newest of each first.
    pub conversations: Vec<Told>,
    /// What could not be looked at, and why; a sentence each.
    pub notes: Vec<String>,
}

/// A closed conversation, and what ties it to the line.
#[derive(Clone, Debug)]
pub struct Told {
    pub closed: Closed,
    /// It stood at the line, or its agent wrote the line; else a commit that shaped the line closed it.
    pub at_line: bool,
    /// It comes from the repository's notes: others may have written it.
    pub shared: bool,
}

impl Session {
    /// Why a line is as it is: `line` is 1-based, in the text as it is now, saved or not. `path` is canonical.
    /// Blocking: git is asked.
    pub fn why(&self, path: &Path, line: usize) -> Result<Why, Error> {
        let workspace = self.home_of(path)?;
        let view = self.view(path)?;
        let file = self.relative(path);
        if view.lossy {
            return Err(Error::Other(format!(
                "{file} is not valid UTF-8, so its lines cannot be followed"
            )));
        }
        let (at, mut text) = line_of(&view.text, line)?;
        let until = Instant::now() + PATIENCE;
        let mut notes = Vec::new();
        let mut trail = vcs::trail(path, at + 1, &view.text, until);
        let is_new = |trail: &Trail| trail.shaped.is_empty();
        if trail.as_ref().is_ok_and(is_new)
            && let Some(code) = edits::without_trailing(view.source(&file), &view.threads, at)
        {
            trail = vcs::trail(path, at + 1, &code, until);
            text = line_of(&code, line)?.1;
        }
        let trail = match trail {
            Ok(trail) => Some(trail),
            Err(GitError::NotARepository(_)) => {
                notes.push(String::from(
                    "the file is in no git repository: only what was closed at this very line can be told",
                ));
                None
            }
            Err(error) => {
                notes.push(format!("its commits cannot be told: {error}"));
                None
            }
        };
        if let Some(trail) = &trail {
            if trail.shaped.is_empty() {
                notes.push(String::from("the line is not committed yet"));
            }
            notes.extend(
                trail
                    .cut
                    .as_ref()
                    .map(|cut| format!("older commits were not looked at: {cut}")),
            );
        }
        let shaped = trail.as_ref().map_or(&[][..], |trail| &trail.shaped);
        let here = Line {
            root: workspace.root(),
            path,
            text: &view.text,
            line: at,
            words: &text,
            trail: trail.as_ref(),
            until,
        };
        let mut candidates = Vec::new();
        if workspace.has_store() {
            let mut hashes: Vec<i64> = words_hash(&text).into_iter().collect();
            hashes.extend(shaped.iter().filter_map(|shaped| words_hash(&shaped.text)));
            let files = here.files_below_root();
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            let kept = workspace.store()?.tied(&hashes, &files, CANDIDATES)?;
            candidates.extend(kept.into_iter().map(|closed| Candidate {
                base: workspace.root(),
                told: Told {
                    closed,
                    at_line: false,
                    shared: false,
                },
            }));
        }
        if let Some(Trail { place, .. }) = &trail {
            let commits: Vec<&str> = shaped.iter().map(|shaped| shaped.commit.as_str()).collect();
            match notes::read(place, &commits, until) {
                Ok(shared) => candidates.extend(shared.into_iter().map(|closed| Candidate {
                    base: &place.top,
                    told: Told {
                        closed,
                        at_line: false,
                        shared: true,
                    },
                })),
                Err(error) => notes.push(format!(
                    "the notes of the repository cannot be read: {error}"
                )),
            }
        }
        let mut conversations = here.tied(candidates);
        conversations.truncate(MOST);
        Ok(Why {
            line,
            text,
            shaped: shaped.to_vec(),
            conversations,
            notes,
            file,
        })
    }

    /// The closed conversations that are tied to a 0-based line by its text alone: what can be told at once, of a
    /// file as it was known or whose name it has. The git program is not asked.
    pub fn told_here(&self, view: &View, line: usize) -> Vec<Told> {
        let Some(workspace) = self.workspace_of(&view.path) else {
            return Vec::new();
        };
        if view.lossy || !workspace.has_store() {
            return Vec::new();
        }
        let Ok((at, text)) = line_of(&view.text, line + 1) else {
            return Vec::new();
        };
        let Some(hash) = words_hash(&text).filter(|_| !is_plain(&text)) else {
            return Vec::new();
        };
        let kept = workspace
            .store()
            .and_then(|store| Ok(store.tied(&[hash], &[], CANDIDATES)?));
        let here = Line {
            root: workspace.root(),
            path: &view.path,
            text: &view.text,
            line: at,
            words: &text,
            trail: None,
            until: Instant::now(),
        };
        let candidates = kept
            .unwrap_or_default()
            .into_iter()
            .map(|closed| Candidate {
                base: workspace.root(),
                told: Told {
                    closed,
                    at_line: false,
                    shared: false,
                },
            });
        let mut told = here.tied(candidates.collect());
        told.truncate(MOST);
        told
    }
}

/// A 1-based line as editors count it: its 0-based number as git counts, and its text. By one look at the bytes:
/// a hover asks for it.
fn line_of(text: &str, line: usize) -> Result<(usize, String), Error> {
    let bytes = text.as_bytes();
    let (mut start, mut lines, mut feeds) = (0, 0, 0);
    let ends = memchr::memchr2_iter(b'\n', b'\r', bytes);
    let mut ends =
        ends.filter(|at| bytes.get(*at) == Some(&b'\n') || bytes.get(at + 1) != Some(&b'\n'));
    loop {
        let end = ends.next();
        let until = end.unwrap_or(bytes.len());
        // A text that ends with a line end has no empty last line.
        if end.is_some() || until > start {
            lines += 1;
            if lines == line {
                let text = text.get(start..until).unwrap_or_default();
                return Ok((feeds, text.trim_end_matches('\r').to_owned()));
            }
        }
        let Some(at) = end else { break };
        feeds += usize::from(bytes.get(at) == Some(&b'\n'));
        start = at + 1;
    }
    Err(Error::Other(format!(
        "there is no line {line}: the file has {lines}"
    )))
}

impl Why {
    /// In one sentence, where there is nothing to tell but git's own.
    pub fn nothing(&self) -> Option<String> {
        if !self.conversations.is_empty() {
            return None;
        }
        let place = format!("{}:{}", present::one_line(&self.file), self.line);
        Some(match (self.shaped.first(), self.notes.first()) {
            (Some(last), _) => format!(
                "no closed conversation is tied to {place}; it was last changed by {}",
                commit_line(last)
            ),
            (None, Some(note)) => format!(
                "no closed conversation is tied to {place}: {}",
                present::one_line(note)
            ),
            (None, None) => format!("no closed conversation is tied to {place}"),
        })
    }

    /// What else is to be said.
    pub fn more(&self) -> &[String] {
        let said = usize::from(self.nothing().is_some() && self.shaped.is_empty());
        self.notes.get(said..).unwrap_or_default()
    }

    pub fn json(&self) -> Value {
        let shaped = self.shaped.iter().map(|shaped| {
            json!({
                "commit": shaped.commit,
                "author": present::visible(&shaped.author),
                "time": seconds(shaped.time),
                "summary": present::visible(&shaped.summary),
                "file": present::visible(&shaped.file.to_string_lossy()),
                "line": shaped.line,
            })
        });
        let conversations: Vec<Value> = self.conversations.iter().map(Told::json).collect();
        json!({
            "file": self.file,
            "line": self.line,
            "text": present::visible(&self.text),
            "commits": shaped.collect::<Vec<_>>(),
            "conversations": conversations,
            "notes": self.notes.iter().map(|note| present::visible(note)).collect::<Vec<_>>(),
            "markdown": self.markdown(),
        })
    }

    /// For reading. What people and agents said stands in blocks of code, so that nothing of it becomes a link or an image.
    pub fn markdown(&self) -> String {
        let mut out = format!(
            "# {}:{}\n\n{}\n",
            escaped(&present::one_line(&self.file)),
            self.line,
            present::fence(&present::short(&self.text, 400))
        );
        if let Some(nothing) = self.nothing() {
            out.push_str(&format!("\n{}.\n", escaped(&capital(&nothing))));
        } else if let Some(last) = self.shaped.first() {
            out.push_str(&format!(
                "\nLast changed by {}.\n",
                escaped(&commit_line(last))
            ));
        }
        for told in &self.conversations {
            out.push_str(&format!(
                "\n## {}\n\n{}\n",
                escaped(&told.heading()),
                present::fence(&told.text(LONGEST))
            ));
        }
        for note in self.more() {
            out.push_str(&format!(
                "\n{}.\n",
                escaped(&capital(&present::visible(note)))
            ));
        }
        out
    }
}

impl Told {
    fn json(&self) -> Value {
        let messages: Vec<Value> = self
            .closed
            .messages
            .iter()
            .map(|said| {
                let mut value = json!({"role": said.role, "text": shown(&said.text, LONGEST)});
                if let Some(name) = &said.name {
                    value["name"] = json!(present::short(name, 60));
                }
                value
            })
            .collect();
        json!({
            "thread_id": self.closed.thread_id,
            "run_id": self.closed.run_id,
            "file": present::visible(&self.closed.file),
            "lines": [self.closed.lines.0, self.closed.lines.1],
            "closed": whole_seconds(self.closed.time),
            "commit": self.closed.commit,
            "closed_by_commit": self.closed.by_commit,
            "tie": if self.at_line { "line" } else { "commit" },
            "source": if self.shared { "note" } else { "history" },
            "messages": messages,
        })
    }

    /// Which conversation it is, in one line.
    pub fn heading(&self) -> String {
        let closed = &self.closed;
        let day = closed.time.strftime("%Y-%m-%d");
        let how = match (&closed.commit, closed.by_commit) {
            (Some(commit), true) => format!(" by commit {}", abbreviated(commit)),
            (Some(commit), false) => format!(" at commit {}", abbreviated(commit)),
            (None, _) => String::new(),
        };
        let mut line = format!("Thread {} closed {day}{how}", closed.thread_id);
        if !self.at_line {
            line.push_str(&format!(
                ", elsewhere in it: {}",
                present::short(&closed.file, 200)
            ));
        }
        if self.shared {
            line.push_str(" (from the repository's notes)");
        }
        line
    }

    /// What was said, a message a line or more, cleaned; each at most `longest` characters.
    pub fn text(&self, longest: usize) -> String {
        let line = |said: &Said| {
            let name = said.name.as_deref();
            let name = name.map_or_else(String::new, |name| {
                format!("({})", present::short(name, 60))
            });
            format!(
                "{}{name}: {}",
                said.role.to_uppercase(),
                shown(&said.text, longest)
            )
        };
        let lines: Vec<String> = self.closed.messages.iter().map(line).collect();
        lines.join("\n")
    }
}

fn commit_line(shaped: &Shaped) -> String {
    let day = seconds(shaped.time);
    format!(
        "{} on {} in {}: \"{}\"",
        present::short(&shaped.author, 100),
        day.get(..10).unwrap_or(&day),
        abbreviated(&shaped.commit),
        present::short(&shaped.summary, 200)
    )
}

fn abbreviated(commit: &str) -> String {
    commit.chars().take(10).collect()
}

fn shown(text: &str, longest: usize) -> String {
    present::cut(&present::visible(text), longest)
}

/// Seconds since 1970 as UTC.
fn seconds(time: i64) -> String {
    let time = jiff::Timestamp::from_second(time);
    time.map(whole_seconds).unwrap_or_default()
}

fn capital(sentence: &str) -> String {
    let mut chars = sentence.chars();
    let first = chars.next();
    first.map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// Plain text in Markdown.
fn escaped(text: &str) -> String {
    present::markdown(text, "/.:-,;'\"()")
}
