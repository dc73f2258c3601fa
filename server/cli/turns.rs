//! Agent turns without an editor, and their undo.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, stream};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::args::ReplyArgs;
use super::events;
use super::out::{BOLD, CYAN, DIM, GREEN, Out, RED, YELLOW};
use super::{Cx, Outcome, Stop, host, way};
use crate::bridge;
use crate::host::{Host as _, Question};
use crate::models::Block;
use crate::os;
use crate::present::{one_line, visible};
use crate::session::{
    Error, Session, TurnEnd, TurnOptions, TurnStatus, Undone, Wanted, commit_waits,
};
use crate::threads::{Action, Role, Status, action_word};
use crate::turn::Preview;
use crate::verbs;

pub(super) async fn reply(cx: &Cx, args: ReplyArgs) -> Outcome {
    if args.target.is_none() && !args.all && args.resume.is_none() {
        return Err(Stop::Usage(String::from(
            "give a thread's <ID>, as `postil threads` shows them, or --all for every pending thread",
        )));
    }
    let session = cx.session()?;
    let id = args.target.as_ref().filter(|_| !args.all);
    let id = id.map(|id| id.to_string_lossy().into_owned());
    // A thread that waits for the author can be answered by another agent alone.
    let is_answered = || {
        let (_, thread) = session.find_thread(id.as_deref()?, None).ok()?;
        Some(thread.status == Status::AwaitingUser)
    };
    let another =
        args.another || (args.agent.is_some() && !args.all && is_answered() == Some(true));
    let mut options = TurnOptions {
        model: args.model.or(args.agent),
        plan: args.plan,
        allow_arrived: args.yes,
        budget: args.budget,
        resume: args.resume.is_some(),
        another,
        batch: false,
        asked: false,
    };
    if args.dry_run {
        let id = id.unwrap_or_default();
        let preview = session.preview(&id, &options).await?;
        session.shutdown().await;
        show(cx, &preview);
        return Ok(true);
    }
    // A turn here reads and writes the disk, and what is unsaved in an editor is not there.
    let mut unsaved = way::unsaved(cx).await?;
    let jobs = usize::from(args.jobs);
    let one = args.resume.or(id);
    let mut well = true;
    let mut stopped = None;
    // As each ends: what was answered is told though the next one is interrupted.
    let (mut runs, mut left) = (Vec::new(), BTreeSet::new());
    let tell = |ended: Ended| {
        match ended {
            Ok(end) => {
                runs.push(end.run_id.clone());
                // What asks or waits is not done: a script must not go on as if it were.
                well &= end.status == TurnStatus::Completed;
                if !cx.out.json {
                    say(cx, &end);
                }
                // With whoever reads gone, or nobody to ask, the others would be begun in vain.
                return !cx.out.is_gone() && !end.unanswered;
            }
            Err((id, error)) if one.is_some() => stopped = Some((id, error)),
            Err((id, error)) => {
                well = false;
                let file = session.find_thread(&id, None).ok();
                let file = file.map(|(view, _)| session.relative(&view.path));
                let text = error.to_string();
                cx.out.error_of(&text, error.code(), &id, file.as_deref());
                return !matches!(error, Error::NoHistory(..));
            }
        }
        true
    };
    let events = cx.out.json.then_some(cx.out);
    let answered = if let Some(id) = one.clone() {
        let path = match options.resume {
            true => session.open_run(&id).map(|(_, path)| path),
            false => session.find_thread(&id, None).map(|(view, _)| view.path),
        };
        let file = match &path {
            Ok(path) => Some(session.relative(path)).filter(|file| unsaved.contains(file)),
            // It may stand in the editor alone.
            Err(Error::UnknownThread(_)) if !unsaved.is_empty() => {
                let shown = way::shown_in(cx, &id).await?;
                shown.filter(|file| unsaved.contains(file))
            }
            // What cannot be found is told by the turn itself.
            Err(_) => None,
        };
        if let Some(file) = file {
            let error = Error::Other(not_saved(&file));
            return Ok(not_begun(cx, &session, &id, &options, &error));
        }
        if let Ok(path) = path {
            way::is_free(cx, &path).await?;
        }
        let none = || Ok(Vec::new());
        answer(&session, vec![id], none, &options, jobs, events, tell).await
    } else {
        let scope = cx.scope(args.target.as_deref().map(Path::new))?;
        let root = os::resolved(&cx.root()?);
        let files = pending_files(&session, scope.as_deref())?;
        let elsewhere = way::unsaved_elsewhere(cx, &files).await?;
        unsaved.extend(elsewhere.keys().map(|path| session.relative(path)));
        let look = |to_be_removed| pending(&session, scope.as_deref(), to_be_removed, &unsaved);
        let removed = look(true)?;
        let others = look(false)?;
        left = &removed.unsaved | &others.unsaved;
        // Asked in the editor, and not on disk yet.
        let mut there = way::pending_in(cx, &unsaved).await?;
        there.retain(|file| {
            let is_below = |scope: &PathBuf| root.join(file).starts_with(scope);
            scope.as_ref().is_none_or(is_below)
        });
        left.append(&mut there);
        for file in &left {
            cx.out.warn(&not_saved(file));
        }
        let (mut removals, waiting) = (removed.ids, others.ids);
        // From the end, and before the others: threads that begin alike are numbered from the beginning of the file.
        removals.reverse();
        if removals.is_empty() && waiting.is_empty() {
            if left.is_empty() {
                cx.out.note("no thread is pending");
            }
            return Ok(left.is_empty());
        }
        if others.asks {
            if !args.plan {
                ask_once(cx, &session, scope.as_deref(), &mut options).await?;
            }
            session.can_begin(&options).await?;
        }
        // Anew: by then they have the ids that the removals leave them.
        let anew = || Ok(look(false)?.ids);
        let answered = answer(&session, removals, anew, &options, jobs, events, tell).await;
        for (id, file) in others.commits {
            let error = commit_waits(&file);
            cx.out.error_of(&error.to_string(), error.code(), &id, None);
            left.insert(file);
        }
        answered
    };
    session.shutdown().await;
    for file in changed(&session, &runs) {
        if unsaved.contains(&file) {
            cx.out.warn(&visible(&format!(
                "{file} was changed on disk, and has changes in the editor that are not saved: compare the two there before you save"
            )));
        }
    }
    if let Some((id, error)) = stopped {
        return Ok(not_begun(cx, &session, &id, &options, &error));
    }
    if !answered.left.is_empty() {
        well = false;
        if !cx.out.is_gone() {
            let named = in_files(&session, &answered.left);
            cx.out
                .warn(&format!("these threads were not begun: {named}"));
        }
    }
    if answered.cancelled {
        let text = "cancelled; what was done is in `postil workflow list`";
        return Err(Error::Other(String::from(text)).into());
    }
    well &= left.is_empty();
    // Who reads the exit status is to know.
    well &= !tell_unanswered(cx, &session);
    Ok(well)
}

/// What nobody could be asked was refused: tells what, and whether there was any.
pub(super) fn tell_unanswered(cx: &Cx, session: &Session) -> bool {
    let unanswered = session.gate.unanswered();
    for question in &unanswered {
        cx.out.warn(&visible(&format!(
            "refused, for nobody could be asked: {question} Run it on a terminal, or allow it in config.toml."
        )));
    }
    !unanswered.is_empty()
}

/// Tells why the one turn, of the thread or run that goes by `id`, was not begun.
fn not_begun(cx: &Cx, session: &Session, id: &str, options: &TurnOptions, error: &Error) -> bool {
    let whole = match options.resume {
        true => session.open_run(id).map(|(run, _)| run.thread_id),
        false => session.find_thread(id, None).map(|(_, thread)| thread.id),
    };
    let id = whole.unwrap_or_else(|_| id.to_owned());
    cx.out.error_of(&error.to_string(), error.code(), &id, None);
    false
}

fn show(cx: &Cx, preview: &Preview) {
    if cx.out.json {
        return cx.out.data(preview);
    }
    let head = |text: &str| cx.out.line(format!("{BOLD}{text}{BOLD:#}"));
    head("system");
    cx.out.line(visible(&preview.system));
    for message in &preview.messages {
        head("\nmessage");
        for block in &message.blocks {
            if let Block::Text { text } = block {
                cx.out.line(visible(text));
            }
        }
    }
    head("\ntools");
    for tool in &preview.tools {
        let name = tool["name"].as_str().unwrap_or_default();
        let description = tool["description"].as_str().unwrap_or_default();
        cx.out.line(format!("{CYAN}{name}{CYAN:#} {description}"));
    }
    head("\nestimated tokens");
    for share in &preview.parts {
        cx.out.line(format!("{:>7} {}", share.tokens, share.part));
    }
    let all: usize = preview.parts.iter().map(|share| share.tokens).sum();
    cx.out.line(format!(
        "{all:>7} of {} that fit into {}; nothing was sent",
        preview.window, preview.model
    ));
}

/// How a turn ended, or which thread's could not begin.
pub(super) type Ended = Result<TurnEnd, (String, Error)>;

/// What came of all of them.
pub(super) struct Answered {
    /// By a signal to end.
    pub cancelled: bool,
    /// The threads that were not begun, for `tell` wanted no more.
    left: Vec<String>,
}

/// Answers the threads `first` one after the other, then those that `others` gives, `jobs` at once; both are told of
/// in order; with a `false` no more is begun. A signal to end cancels what runs and lets it be recorded.
pub(super) async fn answer(
    session: &Arc<Session>,
    first: Vec<String>,
    others: impl FnOnce() -> Result<Vec<String>, Error>,
    options: &TurnOptions,
    jobs: usize,
    events: Option<Out>,
    mut tell: impl FnMut(Ended) -> bool,
) -> Answered {
    let (cancelled, enough) = (AtomicBool::new(false), AtomicBool::new(false));
    let is_cancelled = || cancelled.load(Ordering::Relaxed);
    let is_enough = || enough.load(Ordering::Relaxed);
    let left = Mutex::new(Vec::new());
    let leave = |id: String| left.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    let begin = |id: String| async move {
        Ok(if options.another {
            match session.ask_another(&id, None, options.clone()).await? {
                Some(run) => run,
                None => {
                    return Err(Error::Other(String::from(
                        "which agent is to be asked? name it with --agent",
                    )));
                }
            }
        } else if options.resume {
            session.resume_turn(&id, options.clone()).await?
        } else {
            session.start_turn(&id, None, options.clone()).await?
        })
    };
    let answer = |id: Result<String, Error>| async move {
        if is_cancelled() {
            return None;
        }
        let id = match id {
            Ok(id) => id,
            Err(error) => return Some(Err((String::new(), error))),
        };
        if is_enough() {
            leave(id);
            return None;
        }
        let run = match begin(id.clone()).await {
            Ok(run) => run,
            Err(_) if is_cancelled() => return None,
            Err(error) => return Some(Err((id, error))),
        };
        Some(Ok(match events {
            Some(out) => events::follow(out, session, &run).await,
            None => session.wait_turn(&run.id).await,
        }))
    };
    // Looked for when those before them are done.
    let others = stream::once(async { others() }).flat_map(|ids| {
        stream::iter(match ids {
            Ok(ids) => ids.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        })
    });
    let first = stream::iter(first.into_iter().map(Ok)).then(answer);
    let others = others.map(answer).buffered(jobs.max(1));
    let turns = first.chain(others);
    let signal = os::signalled();
    tokio::pin!(turns, signal);
    loop {
        tokio::select! {
            // Looked at first: it listens from then on, and no turn begins that cannot be interrupted.
            biased;
            () = &mut signal, if !is_cancelled() => {
                cancelled.store(true, Ordering::Relaxed);
                session.shutdown().await;
            }
            ended = turns.next() => match ended {
                Some(Some(ended)) => {
                    if !tell(ended) {
                        enough.store(true, Ordering::Relaxed);
                    }
                }
                Some(None) => {}
                None => break,
            },
        }
    }
    let left = std::mem::take(&mut *left.lock().unwrap_or_else(PoisonError::into_inner));
    Answered {
        cancelled: is_cancelled(),
        left,
    }
}

/// What each turn of a batch would ask for itself is asked before the first begins: whether to trust the folder, and
/// whether threads that were not typed here may have files changed. Those that may not are answered read-only. Where
/// nobody can be asked, none is begun that would have to be: an answer that may change nothing, to a question that wants
/// a change, would use the thread up.
async fn ask_once(
    cx: &Cx,
    session: &Session,
    path: Option<&Path>,
    options: &mut TurnOptions,
) -> Result<(), Error> {
    let terminal = host::Terminal::new(cx.out);
    for workspace in session.workspaces() {
        if host::can_ask() && !session.is_trusted(workspace.root()) {
            let trusted = terminal.ask(session.ask_for_trust(workspace.root())).await;
            if trusted == Some(0) {
                session.trust(workspace.root())?;
            }
        }
    }
    options.asked = host::can_ask();
    if options.allow_arrived {
        return Ok(());
    }
    let arrived = arrived(session, path)?;
    if arrived.is_empty() {
        return Ok(());
    }
    let named = some_of(&arrived);
    let they = match arrived.len() {
        1 => "This thread has messages that were not typed here, they came with its file",
        _ => "These threads have messages that were not typed here, they came with their files",
    };
    if !host::can_ask() {
        return Err(Error::Other(format!(
            "nobody can be asked whether these threads, which were not typed here, may have files changed: {named}. \
             --yes lets them, --plan has them answered without; nothing was done"
        )));
    }
    let question = Question {
        text: format!("{they}: {named}. Answer with edits allowed?"),
        choices: vec![String::from("Allow edits"), String::from("Read-only")],
        last_is_no: true,
    };
    options.allow_arrived = terminal.ask(question).await == Some(0);
    Ok(())
}

/// The pending threads that may change files and were not typed here.
fn arrived(session: &Session, path: Option<&Path>) -> Result<Vec<String>, Error> {
    let mut arrived = Vec::new();
    for (file, thread) in session.threads(path)?.found() {
        let said = thread.messages.iter();
        let author: Vec<&str> = said
            .filter(|message| message.role == Role::Author && !message.text.is_empty())
            .map(|message| message.text.as_str())
            .collect();
        let is_action = author
            .last()
            .is_some_and(|last| action_word(last).is_some());
        for workspace in session.workspaces() {
            let path = workspace.root().join(file);
            if thread.status == Status::Pending
                && !is_action
                && session.is_trusted(workspace.root())
                && author.iter().any(|text| !session.is_typed(&path, text))
            {
                arrived.push(format!("{} in {}", thread.id, one_line(file)));
            }
        }
    }
    Ok(arrived)
}

/// The threads, each with its file.
fn in_files(session: &Session, ids: &[String]) -> String {
    let named = ids.iter().enumerate().map(|(at, id)| {
        // Those that are not named are not looked for either.
        let found = (at < SOME).then(|| session.find_thread(id, None));
        match found {
            Some(Ok((view, _))) => format!("{id} in {}", one_line(&session.relative(&view.path))),
            _ => id.clone(),
        }
    });
    some_of(&named.collect::<Vec<_>>())
}

/// So many are named.
const SOME: usize = 10;

/// The first of them, and how many more there are.
pub(super) fn some_of(all: &[String]) -> String {
    let named = all[..all.len().min(SOME)].join(", ");
    match all.len().saturating_sub(SOME) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Why a thread is left that stands in a file with unsaved changes in an editor.
fn not_saved(file: &str) -> String {
    visible(&format!(
        "{file} has changes in the editor that are not saved, and was left: save it first, or take *Reply as agent* there"
    ))
}

/// The files that the newest turns of these runs changed, each once.
fn changed(session: &Session, runs: &[String]) -> BTreeSet<String> {
    let changes = runs.iter().filter_map(|run| {
        let (workspace, run) = session.run_of(run).ok()?;
        workspace.store().ok()?.last_turn(&run.id).ok()
    });
    changes
        .flat_map(|(_, changes)| changes.into_iter().map(|change| change.file))
        .collect()
}

/// The threads that wait for an agent.
struct Pending {
    ids: Vec<String>,
    /// The files of those that are left because their editor has not saved them.
    unsaved: BTreeSet<String>,
    /// Those that are left because they would clear what is answered beside them, and their files.
    commits: Vec<(String, String)>,
    /// Some of them want an answer, and no more than an action.
    asks: bool,
}

/// The files (canonical) that have one.
fn pending_files(session: &Session, path: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
    let list = session.threads(path)?;
    let pending = list
        .found()
        .filter(|(_, thread)| thread.status == Status::Pending);
    let files: BTreeSet<&str> = pending.map(|(file, _)| file).collect();
    let workspaces = session.workspaces();
    let all = workspaces
        .iter()
        .flat_map(|one| files.iter().map(|file| os::resolved(&one.path_of(file))));
    Ok(all.collect())
}

/// Those whose last word has them removed, or the others.
fn pending(
    session: &Session,
    path: Option<&Path>,
    to_be_removed: bool,
    unsaved: &BTreeSet<String>,
) -> Result<Pending, Error> {
    let list = session.threads(path)?;
    let wanted = list.found().filter(|(_, thread)| {
        thread.status == Status::Pending
            && (thread.action() == Some(Action::Dismiss)) == to_be_removed
    });
    let (left, wanted): (Vec<_>, Vec<_>) = wanted.partition(|(file, _)| unsaved.contains(*file));
    let answered = wanted
        .iter()
        .filter(|(_, thread)| thread.action().is_none());
    let answered: BTreeSet<&str> = answered.map(|(file, _)| *file).collect();
    let (commits, wanted): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|(file, thread)| {
        thread.action() == Some(Action::Commit) && answered.contains(file)
    });
    let commits = commits.into_iter();
    Ok(Pending {
        asks: !answered.is_empty(),
        ids: wanted.iter().map(|(_, thread)| thread.id.clone()).collect(),
        unsaved: left.iter().map(|(file, _)| (*file).to_owned()).collect(),
        commits: commits
            .map(|(file, thread)| (thread.id.clone(), file.to_owned()))
            .collect(),
    })
}

pub(super) fn say(cx: &Cx, end: &TurnEnd) {
    let status = match end.status {
        TurnStatus::Completed => format!("{GREEN}answered{GREEN:#}"),
        TurnStatus::Paused => format!("{YELLOW}paused{YELLOW:#}"),
        TurnStatus::AwaitingUser => format!("{YELLOW}asks you{YELLOW:#}"),
        other => format!("{RED}{}{RED:#}", other.name()),
    };
    cx.out.note(format!(
        "{status} {BOLD}{}{BOLD:#} in {CYAN}{}{CYAN:#} {DIM}run {}{DIM:#}",
        end.thread_id,
        one_line(&end.file),
        end.run_id
    ));
    // Why it failed was told as it did.
    let error = end
        .error
        .as_deref()
        .filter(|_| end.status != TurnStatus::Failed);
    if let Some(text) = end.answer.as_deref().or(error) {
        for line in visible(text).lines() {
            cx.out.note(format!("    {line}"));
        }
    }
    if end.status == TurnStatus::AwaitingUser {
        let id = &end.thread_id;
        cx.out.note(format!(
            "    {DIM}to answer: postil say {id} \"…\" && postil reply {id}{DIM:#}"
        ));
    }
}

pub(super) async fn undo(cx: &Cx, run: &str) -> Outcome {
    let here = async {
        let session = cx.session()?;
        // What is wrong with the run is told by the undo itself.
        if let Ok(changes) = session.turn_changes(run) {
            let files = changes.files.iter();
            let files = files.map(|one| os::resolved(&changes.workspace.path_of(&one.file)));
            let unsaved = way::unsaved_elsewhere(cx, &files.collect::<Vec<_>>()).await?;
            if !unsaved.is_empty() {
                let each = unsaved.iter();
                let each = each.map(|(path, folder)| bridge::unsaved(path, folder));
                let all = each.collect::<Vec<_>>().join("; ");
                return Err(Error::Other(visible(&all)).into());
            }
        }
        Ok(session.undo(run, Wanted::default()).await?)
    };
    let arguments = json!({ "run_id": run });
    let undone: Undone = way::done(cx, &verbs::UNDO, Some(arguments), here).await?;
    if cx.out.json {
        cx.out
            .data(&json!({"success": undone.is_whole(), "files": undone.files}));
        return Ok(undone.is_whole());
    }
    for line in &undone.files {
        cx.out.note(one_line(line));
    }
    if undone.open > 0 {
        cx.out.note(way::YOURS_TO_SAVE);
    }
    if undone.is_before && !host::can_ask() {
        cx.out.note("the turn before it has changes, too: on a terminal you are asked whether to go on to that");
    }
    if !undone.is_whole() {
        cx.out.note(undone.more());
    }
    Ok(undone.is_whole())
}

/// A second opinion, waited for.
pub(super) async fn consult(cx: &Cx, thread: &str, model: Option<&str>) -> Outcome {
    let session = cx.session()?;
    let cancel = CancellationToken::new();
    let asked = session.second_opinion(thread, model, &cancel);
    let asked = tokio::select! {
        biased;
        () = os::signalled() => Err(Error::Other(String::from("cancelled; nothing was kept"))),
        asked = asked => asked,
    };
    session.shutdown().await;
    let (run, model, said) = asked?;
    if cx.out.json {
        cx.out
            .data(&json!({"run_id": run.id, "model": model, "text": said}));
        return Ok(true);
    }
    cx.out.note(format!("{BOLD}{}{BOLD:#}", one_line(&model)));
    for line in visible(&said).lines() {
        cx.out.line(line);
    }
    Ok(true)
}
