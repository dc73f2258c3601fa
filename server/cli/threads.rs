//! Threads: list, check, and the writing verbs.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::host::Reading;
use super::out::{BOLD, CYAN, DIM, GREEN, YELLOW};
use super::sarif::{SURELY_TAKEN, to_sarif};
use super::{Cx, Outcome, Stop, text_of, turns, way};
use crate::bridge;
use crate::os;
use crate::present::{counted, one_line, short, visible};
use crate::session::{Done, Error, Listed, Session, Summary, ThreadList};
use crate::threads::Status;
use crate::verbs;

/// Of a notebook that cannot be parsed; nothing else is so.
const NO_JSON: &str = "it is no JSON that can be read, so its threads are not known";

pub(super) async fn list(
    cx: &Cx,
    path: Option<&Path>,
    status: Option<Status>,
    sarif: bool,
) -> Outcome {
    let paths: Vec<PathBuf> = path.into_iter().map(Path::to_owned).collect();
    look(cx, &paths, status, sarif)?;
    tell_unsaved(cx, &paths).await?;
    Ok(true)
}

pub(super) async fn check(
    cx: &Cx,
    paths: &[PathBuf],
    status: Option<Status>,
    sarif: bool,
) -> Outcome {
    let list = look(cx, paths, status, sarif)?;
    tell_unsaved(cx, paths).await?;
    Ok(list.summary.total == 0 && !list.misses_some())
}

/// What is looked at is what is on disk: names the files below `paths` of which an editor has more.
async fn tell_unsaved(cx: &Cx, paths: &[PathBuf]) -> Result<(), Stop> {
    if cx.out.quiet {
        return Ok(());
    }
    let root = os::resolved(&cx.root()?);
    let scopes: Vec<PathBuf> = paths
        .iter()
        .map(|path| cx.path(path))
        .collect::<Result<_, _>>()?;
    let is_below = |file: &String| {
        let file = root.join(file);
        scopes.is_empty() || scopes.iter().any(|scope| file.starts_with(scope))
    };
    let unsaved: Vec<String> = way::unsaved_soon(cx)
        .await
        .into_iter()
        .filter(is_below)
        .collect();
    if !unsaved.is_empty() {
        let named = turns::some_of(&unsaved);
        cx.out.warn(&visible(&format!(
            "not saved in the editor, and looked at as on disk: {named}"
        )));
    }
    Ok(())
}

/// Lists what is below `paths`, each thread once, and prints it.
fn look(
    cx: &Cx,
    paths: &[PathBuf],
    status: Option<Status>,
    sarif: bool,
) -> Result<ThreadList, Stop> {
    let session = cx.session()?;
    let mut failed = None;
    let reading = Reading::new(cx.out, &cx.root()?);
    let mut list = match paths {
        [] => session.threads(None)?,
        several => {
            let mut all = ThreadList::default();
            for path in several {
                if let Some(link) = link_out(cx, path)? {
                    all.skipped.push(link);
                    continue;
                }
                match session.threads(cx.scope(Some(path))?.as_deref()) {
                    Ok(list) => {
                        all.threads.extend(list.threads);
                        all.skipped.extend(list.skipped);
                        all.unreadable.extend(list.unreadable);
                    }
                    // The threads of the others are shown all the same.
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            let place = |one: &Listed| match one {
                Listed::Thread { file, thread, .. } => {
                    (file.clone(), Some(thread.first_line()), thread.id.clone())
                }
                Listed::Unparsed { file, .. } => (file.clone(), None, String::new()),
            };
            if several.len() > 1 {
                all.threads.sort_by_cached_key(place);
                all.threads.dedup_by_key(|one| place(one));
                for told in [&mut all.skipped, &mut all.unreadable] {
                    told.sort();
                    told.dedup();
                }
            }
            all
        }
    };
    drop(reading);
    match status {
        Some(status) => list.keep(status),
        None => list.count(),
    }
    if let Some(error) = failed {
        if !sarif && !cx.out.json && !list.threads.is_empty() {
            show(cx, &list);
        }
        return Err(error.into());
    }
    if sarif {
        let (sarif, told) = to_sarif(&session, &list);
        for sentence in &told {
            cx.out.warn(sentence);
        }
        let size = serde_json::to_vec(&sarif).map_or(0, |bytes| bytes.len());
        if size > SURELY_TAKEN {
            cx.out.warn(&format!(
                "the SARIF has {} MB: GitHub takes at most 10 MB compressed; give a folder to have less",
                size / 1_000_000
            ));
        }
        cx.out.data(&sarif);
    } else {
        show(cx, &list);
    }
    Ok(list)
}

/// What to say of a link in the workspace that leads out of it, or nowhere: a hook is given the name of such a file
/// too, and it is no text of the workspace.
fn link_out(cx: &Cx, path: &Path) -> Result<Option<String>, Stop> {
    let link = cx.base()?.join(path);
    if !link.is_symlink() {
        return Ok(None);
    }
    let root = os::resolved(&cx.root()?);
    let is_inside = |path: &Path| os::resolved(path).starts_with(&root);
    let leads_out =
        is_inside(link.parent().unwrap_or(&link)) && !(link.exists() && is_inside(&link));
    Ok(leads_out.then(|| format!("{} is a link to nothing in the workspace", path.display())))
}

pub(super) fn show(cx: &Cx, list: &ThreadList) {
    if cx.out.json {
        cx.out.data(list);
        return;
    }
    for skipped in &list.skipped {
        match list.unreadable.contains(skipped) {
            true => cx.out.complain(skipped),
            false => cx.out.warn(skipped),
        }
    }
    for one in list.threads.iter().take_while(|_| !cx.out.is_gone()) {
        let (file, thread, lossy) = match one {
            Listed::Thread {
                file,
                thread,
                lossy,
                ..
            } => (one_line(file), thread, lossy),
            Listed::Unparsed { file, .. } => {
                let file = one_line(file);
                cx.out.line(format!(
                    "{YELLOW}unread{YELLOW:#}  {CYAN}{file}{CYAN:#}  {YELLOW}{NO_JSON}{YELLOW:#}"
                ));
                continue;
            }
        };
        let status = match thread.status {
            Status::Pending => format!("{YELLOW}pending{YELLOW:#}"),
            Status::AwaitingUser => format!("{GREEN}awaiting you{GREEN:#}"),
        };
        let mut odd = String::new();
        for (is_so, what) in [
            (
                thread.malformed,
                "begins with AGENT, so nobody has asked yet",
            ),
            (*lossy, "the file is no UTF-8: it is shown, and not written"),
        ] {
            if is_so {
                odd.push_str(&format!("  {YELLOW}{what}{YELLOW:#}"));
            }
        }
        cx.out.line(format!(
            "{BOLD}{}{BOLD:#}  {CYAN}{file}:{}{CYAN:#}  {status}{odd}",
            thread.id,
            thread.first_line() + 1
        ));
        for message in thread.messages.iter().filter(|m| !m.text.is_empty()) {
            let name = message.name.as_deref();
            let name = name.map_or_else(String::new, |name| format!(" ({})", one_line(name)));
            cx.out.line(format!(
                "    {DIM}{}{name}:{DIM:#} {}",
                message.role.name(),
                short(&message.text, 200)
            ));
        }
    }
    cx.out.note(summary(list));
}

fn summary(list: &ThreadList) -> String {
    let Summary {
        total,
        pending,
        awaiting_user,
    } = list.summary;
    let mut text = match total {
        0 if list.misses_some() => String::from("no threads found"),
        0 => String::from("no threads"),
        total => format!(
            "{}: {pending} pending, {awaiting_user} awaiting you",
            counted(total as u64, "thread")
        ),
    };
    let unparsed = list.threads.len() - list.found().count();
    if unparsed > 0 {
        let files = counted(unparsed as u64, "file");
        text.push_str(&format!("; {files} could not be parsed"));
    }
    if !list.unreadable.is_empty() {
        text.push_str("; not all could be looked at");
    }
    text
}

/// Where no editor has the workspace open: what writes into a thread's file on disk.
async fn on_files(cx: &Cx, id: &str) -> Result<Arc<Session>, Stop> {
    let session = cx.session()?;
    way::is_free(cx, &session.find_thread(id, None)?.0.path).await?;
    Ok(session)
}

pub(super) async fn respond(
    cx: &Cx,
    id: &str,
    text: Option<OsString>,
    agent: Option<&str>,
) -> Outcome {
    let text = text_of(text)?;
    if let Some(name) = agent
        && (name.trim().is_empty() || name.contains(['(', ')', '\n', '\r', ':']))
    {
        return Err(Stop::Usage(String::from(
            "an agent's name has no parentheses, colons or line ends, and is not empty",
        )));
    }
    let arguments = json!({"thread_id": id, "response": text, "name": agent});
    let here = async {
        let session = on_files(cx, id).await?;
        Ok(session.respond(id, None, &text, agent).await?)
    };
    let done = way::done(cx, &verbs::RESPOND_TO_THREAD, Some(arguments), here).await?;
    say_done(cx, &done, "answered");
    Ok(true)
}

pub(super) async fn say(cx: &Cx, id: &str, text: Option<OsString>) -> Outcome {
    let text = text_of(text)?;
    let arguments = json!({"thread_id": id, "text": text});
    let here = async { Ok(on_files(cx, id).await?.say(id, None, &text).await?) };
    let done = way::done(cx, &verbs::SAY, Some(arguments), here).await?;
    say_done(cx, &done, "said");
    Ok(true)
}

/// What FILE:LINE names; the line is 1-based.
pub(super) fn file_and_line(place: &OsStr) -> Result<(PathBuf, usize), Stop> {
    let place = place.to_str().ok_or_else(|| {
        Stop::Usage(format!(
            "the name in `{}` is not valid UTF-8: a line of this file can be named in an editor alone, or give the file another name",
            place.to_string_lossy().escape_debug()
        ))
    })?;
    let parsed = place
        .rsplit_once(':')
        .and_then(|(file, line)| Some((PathBuf::from(file), line.parse::<usize>().ok()?)));
    parsed
        .filter(|(file, line)| *line > 0 && !file.as_os_str().is_empty())
        .ok_or_else(|| {
            Stop::Usage(format!(
                "`{}` is no FILE:LINE (lines count from 1)",
                place.escape_debug()
            ))
        })
}

pub(super) async fn new(cx: &Cx, place: &OsStr, text: Option<OsString>) -> Outcome {
    let (file, line) = file_and_line(place)?;
    let text = text_of(text)?;
    if text.trim().is_empty() {
        return Err(Error::Empty.into());
    }
    let path = cx.path(&file)?;
    let root = os::resolved(&cx.root()?);
    let inside = path.strip_prefix(&root).ok();
    let arguments = inside
        .and_then(Path::to_str)
        .map(|file| json!({"file": file, "line": line, "text": text}));
    let here = async {
        way::is_free(cx, &path).await?;
        Ok(cx.session()?.new_thread(&path, line - 1, &text).await?)
    };
    let mut done: Done = way::done(cx, &verbs::NEW_THREAD, arguments, here).await?;
    // As it was asked for: from 1.
    done.line = done.line.map(|line| line + 1);
    say_done(cx, &done, "started");
    Ok(true)
}

pub(super) async fn dismiss(cx: &Cx, id: &str) -> Outcome {
    let arguments = json!({ "thread_id": id });
    let here = async { Ok(on_files(cx, id).await?.dismiss(id, None).await?) };
    let done = way::done(cx, &verbs::DISMISS_THREAD, Some(arguments), here).await?;
    say_done(cx, &done, "removed");
    Ok(true)
}

pub(super) async fn clear(cx: &Cx, file: &Path, message: Option<&str>) -> Outcome {
    let path = cx.path(file)?;
    let root = os::resolved(&cx.root()?);
    let open = open_below(cx, Some(&path)).await?;
    let arguments = open
        .iter()
        .find(|file| root.join(file) == path)
        .map(|file| json!({"file": file, "message": message}));
    let here = async {
        way::is_free(cx, &path).await?;
        let session = cx.session()?;
        Ok(to_the_end(cx, &session, session.clear_and_commit(&path, message)).await?)
    };
    let done = way::done(cx, &verbs::CLEAR_AND_COMMIT, arguments, here).await?;
    say_done(cx, &done, "cleared");
    Ok(true)
}

/// The files at or below `path` that the editor has open. What commits goes there for these alone: of others a commit is
/// made here, with the names and keys of this terminal, which can interrupt it.
async fn open_below(cx: &Cx, path: Option<&Path>) -> Result<Vec<String>, Stop> {
    let root = os::resolved(&cx.root()?);
    let open = way::open(cx).await?.into_iter().map(|open| open.file);
    Ok(open
        .filter(|file| path.is_none_or(|path| root.join(file).starts_with(path)))
        .collect())
}

pub(super) async fn process(cx: &Cx, path: Option<&Path>) -> Outcome {
    #[derive(Deserialize)]
    struct Processed {
        actions: Vec<Done>,
    }
    let scope = cx.scope(path)?;
    let mut all = Vec::new();
    let process = async {
        let mut done_there = HashSet::new();
        for file in open_below(cx, scope.as_deref()).await? {
            let arguments = json!({ "path": file });
            let through: Option<Processed> =
                way::through_editor(cx, &verbs::PROCESS_ALL_ACTIONS, &arguments).await?;
            // Where the editor has ended meanwhile, the file on disk is all there is.
            if let Some(through) = through {
                all.extend(through.actions);
                done_there.insert(file);
            }
        }
        let session = cx.session()?;
        let mut asked = session.files_with_actions(scope.as_deref())?;
        asked.retain(|file| !done_there.contains(&session.relative(file)));
        for (path, folder) in way::unsaved_elsewhere(cx, &asked).await? {
            let file = session.relative(&path);
            all.push(Done {
                note: Some(bridge::unsaved(&path, &folder)),
                file: file.clone(),
                ..Done::default()
            });
            done_there.insert(file);
        }
        let is_here = |file: &Path| !done_there.contains(&session.relative(file));
        let here = session.process_actions(scope.as_deref(), is_here);
        all.extend(to_the_end(cx, &session, here).await?);
        Ok(())
    };
    let processed: Result<(), Stop> = process.await;
    // What was done before something failed is done.
    if !cx.out.json {
        for done in &all {
            let verb = match done.success {
                false => "left",
                true if done.committed.is_some() => "cleared",
                true => "removed",
            };
            say_done(cx, done, verb);
        }
    } else if processed.is_ok() || !all.is_empty() {
        cx.out.data(&all);
    }
    processed?;
    if all.is_empty() {
        cx.out.note("no thread asks for an action");
    }
    Ok(all.iter().all(|done| done.success))
}

/// What asks a process to end may ask more than once: `timeout` tells it and then its group, and what npm put between
/// passes on what the group was told. All of that is one request.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// A request to end lets git end, which heard of it too where it came from the terminal, and what it refuses be put
/// back; a second one does not.
async fn to_the_end<T>(
    cx: &Cx,
    session: &Session,
    verb: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::pin!(verb);
    tokio::select! {
        biased;
        () = os::signalled() => {
            session.begin_no_more();
            cx.out.warn("waiting for git to end; once more does not wait");
        }
        done = &mut verb => return done,
    }
    let again = async {
        tokio::time::sleep(ONE_REQUEST).await;
        os::signalled().await;
    };
    tokio::select! {
        biased;
        () = again => Err(Error::Other(String::from(
            "ended before git did: whether it made the commit is in `git log`; what was said in the threads is kept in the history",
        ))),
        done = &mut verb => done,
    }
}

fn say_done(cx: &Cx, done: &Done, verb: &str) {
    if cx.out.json {
        cx.out.data(done);
        return;
    }
    let id = done
        .thread_id
        .as_deref()
        .map_or_else(String::new, |id| format!(" {BOLD}{id}{BOLD:#}"));
    let mut line = format!(
        "{GREEN}{verb}{GREEN:#}{id} in {CYAN}{}{CYAN:#}",
        one_line(&done.file)
    );
    if let Some(removed) = done.lines_removed {
        let lines = counted(removed as u64, "line");
        line.push_str(&format!(", {lines} removed"));
    }
    if let Some(hash) = &done.commit_hash {
        line.push_str(&format!(", committed as {BOLD}{hash}{BOLD:#}"));
    }
    if let Some(note) = &done.note {
        line.push_str(&format!("; {}", one_line(note)));
    }
    cx.out.note(line);
    // Of what is committed when it is saved, the note has told it.
    if done.open && done.committed.is_none() {
        cx.out.note(way::YOURS_TO_SAVE);
    }
    if let Some(others) = &done.other_staged_files
        && !others.is_empty()
    {
        cx.out.note(format!(
            "{DIM}still staged: {}{DIM:#}",
            one_line(&others.join(", "))
        ));
    }
}
