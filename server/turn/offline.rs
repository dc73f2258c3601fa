//! The answers that need no model: what code intelligence can do alone. A child server is asked first;
//! where none can be had, the identifiers that tree-sitter sees answer. Each answer says which it was.

mod imports;
mod moves;
mod names;
mod places;
mod question;
mod rename;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use serde_json::json;

use crate::children::{ChildError, Place, canonical_language};
use crate::edits;
use crate::host::Level;
use crate::present::{collapsed, cut, visible};
use crate::tools::Context;
use crate::vcs::{self, Blame};

use moves::Moves;
use names::{Held, Names, Todo};
use question::{Question, Subject};

use super::source::Source;
use super::{Job, Outcome, Recorder, context, metadata, millis, report};

/// What is said to everything else.
const HELP: &str = "Without a model I can only `rename X to Y`, tell `where is X used`, `where is X defined`, `what is X`, `who wrote this`, \
and `list todos`. For anything else set ANTHROPIC_API_KEY or OPENAI_API_KEY, start Ollama, or name a `model` in postil's config.toml, and ask again.";

/// Who answered where no child server did. An answer stays in the author's code, so it says no more; what
/// could be done about it is told beside ([`Offline::hint`]).
const TREE: &str = "tree-sitter";

/// Places that an answer lists.
const SHOWN: usize = 12;

/// Where a name stands: the file and the byte at which to ask.
struct Spot {
    source: Source,
    at: usize,
    name: String,
}

/// Why there is no answer: in words for a person, in the thread.
type Answer = Result<String, String>;

pub(super) async fn run(cx: &Context, job: &Job, recorder: &Recorder) -> Outcome {
    let asked = context::asked(&job.thread);
    let offline = Offline {
        cx,
        job,
        recorder,
        moves: OnceLock::new(),
        is_missing: AtomicBool::new(false),
        unread: Mutex::default(),
    };
    match offline.answer(&asked).await {
        Ok(text) => Outcome::Answer(text),
        Err(outcome) => outcome,
    }
}

struct Offline<'a> {
    cx: &'a Context,
    job: &'a Job,
    recorder: &'a Recorder,
    /// For an answer of one line, once a place is named.
    moves: OnceLock<Moves>,
    is_missing: AtomicBool,
    /// Files that were passed over in a search for a name.
    unread: Mutex<BTreeSet<String>>,
}

impl Offline<'_> {
    async fn answer(&self, asked: &str) -> Result<String, Outcome> {
        let fields = metadata([
            ("file", json!(self.job.file)),
            ("line", json!(self.job.thread.first_line() + 1)),
        ]);
        self.recorder
            .round("user", fields, asked.to_owned())
            .await?;
        let question = question::parse(asked);
        let answer = match &question {
            Question::Other => Ok(String::from(HELP)),
            Question::Rename { from, to } => self.rename(from, to).await?,
            Question::WhereUsed(subject) => self.where_used(subject).await?,
            Question::WhereDefined(subject) => self.where_defined(subject).await?,
            Question::WhatIs(subject) => self.what_is(subject).await?,
            Question::WhoWrote => self.who_wrote().await?,
            Question::Todos => self.todos().await?,
        };
        if self.cx.cancel.is_cancelled() {
            return Err(Outcome::Cancelled);
        }
        // What cannot be done is an answer too: the author reads it where the question stands.
        let mut text = answer.unwrap_or_else(|why| why);
        text.push_str(&self.not_looked_at());
        let text = visible(&text).trim().to_owned();
        self.recorder
            .round(
                "assistant",
                metadata([("model", json!("offline"))]),
                text.clone(),
            )
            .await?;
        Ok(text)
    }

    /// One step: said as progress, kept as a round, unless it was cancelled.
    async fn step<T, E: Display>(
        &self,
        tool: &str,
        what: String,
        work: impl Future<Output = Result<T, E>>,
        show: impl Fn(&T) -> String,
    ) -> Result<Result<T, E>, Outcome> {
        report(self.cx, format!("offline: {tool} {what}"));
        let begun = Instant::now();
        let result = tokio::select! {
            biased;
            () = self.cx.cancel.cancelled() => return Err(Outcome::Cancelled),
            result = work => result,
        };
        let shown = match &result {
            Ok(value) => show(value),
            Err(why) => why.to_string(),
        };
        let fields = metadata([
            ("tool", json!(tool)),
            ("arguments", json!(what)),
            ("is_error", json!(result.is_err())),
            ("duration_ms", json!(millis(begun.elapsed()))),
        ]);
        self.recorder.round("tool", fields, shown).await?;
        Ok(result)
    }

    /// Asks the child server of the spot's file.
    async fn child<T>(
        &self,
        spot: &Spot,
        what: &str,
        work: impl Future<Output = Result<T, ChildError>>,
        show: impl Fn(&T) -> String,
    ) -> Result<Result<T, String>, Outcome> {
        let line = spot.source.line_of(spot.at) + 1;
        let what = format!("{what} of {} at {}:{line}", spot.name, spot.source.file);
        let work = async {
            if !self.cx.trusted {
                return Err(ChildError::Untrusted.to_string());
            }
            work.await.map_err(|error| {
                let missing = matches!(error, ChildError::Missing { .. });
                self.is_missing.store(missing, Ordering::Relaxed);
                error.to_string()
            })
        };
        self.step("lsp", what, work, show).await
    }

    /// The files that hold a name, by tree-sitter.
    async fn names(
        &self,
        name: &str,
        language: Option<&'static str>,
    ) -> Result<Result<Vec<Held>, String>, Outcome> {
        let (tree, cancel, wanted) = (
            self.cx.tree.clone(),
            self.cx.cancel.clone(),
            name.to_owned(),
        );
        let work = blocking(move || names::search(&tree, &wanted, language, &cancel));
        let show = |names: &Names| {
            let held = names.held.iter();
            held.flat_map(|held| held.lines(self.moves()))
                .take(200)
                .collect::<Vec<_>>()
                .join("\n")
        };
        let names = self
            .step("identifiers", name.to_owned(), work, show)
            .await?;
        Ok(names.map(|names| {
            let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
            unread.extend(names.unread);
            names.held
        }))
    }

    fn moves(&self) -> &Moves {
        self.moves.get_or_init(|| self.moves_by(1))
    }

    /// What an answer of so many lines moves.
    fn moves_by(&self, lines: usize) -> Moves {
        let source = Source::read(&self.cx.tree, &self.job.path);
        source.map_or_else(
            |_| Moves::default(),
            |source| Moves::of(&source, &self.job.thread, lines),
        )
    }

    /// A sentence on what a name may stand in as well.
    fn not_looked_at(&self) -> String {
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        if unread.is_empty() {
            return String::new();
        }
        let files: Vec<String> = unread.iter().cloned().collect();
        format!(" Too large to be read for names: {}.", list(&files))
    }

    /// Why nothing is known of where the thread stands. A prompt that is no thread's has no file.
    fn unread(&self, error: &impl std::fmt::Display) -> String {
        match self.job.thread.id.is_empty() {
            true => String::from(
                "No thread was named, so that no code stands below it: name what you mean, as in `what is load?`.",
            ),
            false => format!("The file cannot be read: {error}."),
        }
    }

    /// The spot of a subject: what the thread stands at, or a name, looked for in the thread's file first.
    async fn spot(&self, subject: &Subject) -> Result<Result<Spot, String>, Outcome> {
        let thread = &self.job.thread;
        let source = Source::read(&self.cx.tree, &self.job.path);
        let Subject::Named(name) = subject else {
            let source = match source {
                Ok(source) => source,
                Err(error) => return Ok(Err(self.unread(&error))),
            };
            if let Some(symbol) = source.symbol_of(thread) {
                return Ok(Ok(Spot {
                    source,
                    at: symbol.name_range.start,
                    name: symbol.name,
                }));
            }
            let line = if thread.trailing {
                thread.first_line()
            } else {
                thread.last_line() + 1
            };
            let code = source.line(line);
            let start = source.start_of(line);
            let imported = match thread.trailing {
                true => imports::imported(before_comment(&source, line, code)),
                // A group may go on below.
                false => imports::imported(source.slice(start..source.text.len())),
            };
            let code = if thread.trailing {
                before_comment(&source, line, code)
            } else {
                code
            };
            let name = match imported {
                Some(names) if names.len() > 1 => {
                    let names = names.into_iter().map(|(_, name)| format!("`{name}`"));
                    let names: Vec<String> = names.collect();
                    return Ok(Err(format!(
                        "Several names stand directly below this thread: {}. Name the one you mean.",
                        list(&names)
                    )));
                }
                Some(mut names) => names.pop().map(|(range, _)| range),
                None => names::declared_on(code),
            };
            return Ok(match name {
                Some(range) => Ok(Spot {
                    at: start + range.start,
                    name: source
                        .slice(start + range.start..start + range.end)
                        .to_owned(),
                    source,
                }),
                None => Err(String::from(
                    "There is no symbol directly below this thread: name the one you mean.",
                )),
            });
        };
        // A name can be looked for without a file.
        let mut language = None;
        if let Ok(source) = source {
            if let Some(at) = source.beside(thread, name) {
                return Ok(Ok(Spot {
                    source,
                    at,
                    name: name.clone(),
                }));
            }
            language = source.syntax.language().map(|l| l.name);
        }
        let held = match self.names(name, language).await? {
            Ok(held) => held,
            Err(why) => return Ok(Err(why)),
        };
        let best = held.into_iter().min_by_key(|held| held.declared.is_empty());
        Ok(match best {
            Some(held) => {
                let at = held
                    .declared
                    .first()
                    .map(|s| s.name_range.start)
                    .or(held.places.first().map(|p| p.start))
                    .unwrap_or(0);
                Ok(Spot {
                    source: held.source,
                    at,
                    name: name.clone(),
                })
            }
            None => Err(format!("There is no `{name}` in this workspace.")),
        })
    }

    // -- history and notes --------------------------------------------------------------------------

    /// Who shaped the line that the thread stands at, by git.
    async fn who_wrote(&self) -> Result<Answer, Outcome> {
        let source = match Source::read(&self.cx.tree, &self.job.path) {
            Ok(source) => source,
            Err(error) => return Ok(Err(self.unread(&error))),
        };
        let thread = &self.job.thread;
        let line = if thread.trailing {
            thread.first_line()
        } else {
            let symbol = source.symbol_of(thread);
            symbol.map_or(thread.last_line() + 1, |s| {
                source.line_of(s.name_range.start)
            })
        };
        let place = self.moves().place(&source.file, line);
        let (path, text) = (source.path.clone(), source.text.clone());
        let whole = edits::Source {
            path: &source.file,
            text: &source.text,
            syntax: &source.syntax,
        };
        let code = edits::without_trailing(whole, std::slice::from_ref(thread), line);
        let work = blocking(move || {
            let blame = |text: &str| vcs::blame(&path, line + 1, text.as_bytes());
            match (blame(&text), code) {
                (Ok(None), Some(code)) => blame(&code),
                (found, _) => found,
            }
        });
        let show = |found: &Option<Blame>| match found {
            Some(blame) => format!("{} {} {}", blame.commit, blame.author, blame.summary),
            None => String::from("not committed yet"),
        };
        Ok(match self.step("blame", place.clone(), work, show).await? {
            Ok(Some(blame)) => {
                let time = jiff::Timestamp::from_second(blame.time);
                let day = time
                    .map(|t| t.strftime("%Y-%m-%d").to_string())
                    .unwrap_or_default();
                Ok(format!(
                    "{place} was last changed by {} on {day} in {}: \"{}\", by git blame.",
                    collapsed(&blame.author),
                    blame.commit,
                    cut(&collapsed(&blame.summary), 200)
                ))
            }
            Ok(None) => Ok(format!(
                "{place} is not committed yet, so only you can tell."
            )),
            Err(why) => Err(format!(
                "Nobody can be named for {place}: {}.",
                reason(&why)
            )),
        })
    }

    async fn todos(&self) -> Result<Answer, Outcome> {
        let (tree, cancel) = (self.cx.tree.clone(), self.cx.cancel.clone());
        let work = blocking(move || names::todos(&tree, SHOWN, &cancel));
        let found = self
            .step("todos", String::from("."), work, |(shown, count)| {
                format!("{count}\n{}", told(shown, self.moves()))
            })
            .await?;
        Ok(found.map(|(shown, count)| match count {
            0 => String::from("There are no to-do notes in the comments of this workspace."),
            count => {
                let left = count - shown.len();
                let more = match left {
                    0 => String::new(),
                    left => format!("\n… and {left} more"),
                };
                let lines = 1 + shown.len() + usize::from(left > 0);
                let moves = self.moves_by(lines);
                format!(
                    "Found {count} to-do {} in the comments:\n{}{more}",
                    if count == 1 { "note" } else { "notes" },
                    told(&shown, &moves)
                )
            }
        }))
    }

    /// Why no child server answered, and what to do: said to the author, not written into the code. Of a
    /// program that is missing the author was told.
    fn hint(&self, why: &str) {
        if self.is_missing.load(Ordering::Relaxed) {
            return;
        }
        self.cx.host.message(
            Level::Info,
            &format!("answered by tree-sitter alone, because {}.", reason(why)),
        );
    }

    // -- words -------------------------------------------------------------------------------------

    /// `file:line` of places, those outside the workspace by their whole path.
    fn lines(&self, places: &[Place]) -> Vec<String> {
        let shown = places
            .iter()
            .map(|place| (self.cx.shown(&place.path), place.line));
        let shown: BTreeSet<(String, usize)> = shown.collect();
        shown
            .into_iter()
            .map(|(file, line)| self.moves().place(&file, line))
            .collect()
    }

    /// The child server that answered, by the name of its program.
    fn server(&self, spot: &Spot) -> String {
        let language = spot
            .source
            .syntax
            .language()
            .map(|l| l.name)
            .unwrap_or_default();
        let states = self.cx.children.states();
        let command = states
            .iter()
            .find(|s| s.language == canonical_language(language))
            .map(|s| s.command.as_str());
        match command
            .and_then(|c| c.rsplit('/').next())
            .filter(|c| !c.is_empty())
        {
            Some(command) => format!("the language server `{command}`"),
            None => String::from("the language server"),
        }
    }
}

/// To-do notes, one a line.
fn told(todos: &[Todo], moves: &Moves) -> String {
    let lines: Vec<String> = todos.iter().map(|todo| todo.told(moves)).collect();
    lines.join("\n")
}

/// What stands before a trailing thread's comment.
fn before_comment<'a>(source: &Source, line: usize, code: &'a str) -> &'a str {
    let start = source.start_of(line);
    let comment = source
        .syntax
        .comments_in(&source.text, start..start + code.len())
        .into_iter()
        .find(|c| c.range.start > start);
    comment
        .and_then(|c| code.get(..c.range.start - start))
        .unwrap_or(code)
}

/// Markdown without its fences and rules: what is left reads as a sentence.
fn unfenced(text: &str) -> String {
    let rest = text.lines().filter(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("```") && !line.starts_with("---")
    });
    rest.collect::<Vec<_>>().join(" ")
}

/// An error as part of a sentence.
fn reason(error: &str) -> String {
    collapsed(error).trim_end_matches('.').to_owned()
}

fn list(items: &[String]) -> String {
    let shown: Vec<&str> = items.iter().take(SHOWN).map(String::as_str).collect();
    let more = if items.len() > SHOWN {
        format!(" and {} more", items.len() - SHOWN)
    } else {
        String::new()
    };
    format!("{}{more}", shown.join(", "))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(error.to_string()),
    }
}
