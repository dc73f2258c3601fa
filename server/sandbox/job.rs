//! One command that runs: its processes, its output, its end. A task of its own owns the process, so that whoever
//! waits for it may go away.

use std::collections::BTreeSet;
use std::future::pending;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdin};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::ending::{ask, end};
use super::guarded::{Guarded, Told};
use super::hints::Hints;
use super::limits;
use super::order::BEGUN;
use super::output::Output;
use super::run::Tell;
use crate::os;

/// How often what a command's processes use together is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How often the root is looked through for guarded files, in looks.
const GUARD: u32 = 10;
/// Requests that were not let through and are told of.
const REFUSED: usize = 20;
/// Guarded files that the author is told of at a time.
const TOLD: usize = 5;
/// What sets up a sandbox has so long before it is not waited for.
const SET_UP: Duration = Duration::from_secs(5);
/// A command that was ended is gone within so long, or we go on without it.
pub(super) const GONE: Duration = Duration::from_secs(2);

pub struct Job {
    /// As the agent calls it.
    pub id: u32,
    pub command: String,
    begun: Instant,
    output: Mutex<Output>,
    /// Output came, or the end.
    news: Notify,
    stage: watch::Sender<Stage>,
    stop: CancellationToken,
    /// Why it was ended, the first word that counts.
    why: Mutex<Option<String>>,
    refused: Mutex<Refused>,
}

/// What it asked of the network in vain, a sentence each.
#[derive(Debug, Default)]
struct Refused {
    known: BTreeSet<String>,
    /// Not yet told.
    fresh: Vec<String>,
    /// Not kept any more.
    more: bool,
}

#[derive(Debug)]
enum Stage {
    /// Its sandbox is set up.
    Starting,
    Running,
    Over(End),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct End {
    status: Option<i32>,
    /// What the author and the agent must know.
    notes: Vec<String>,
    /// What was said instead of running it.
    not_run: Option<String>,
}

/// What the command writes.
#[cfg(unix)]
pub(super) type Reader = tokio::net::unix::pipe::Receiver;
/// A file of tokio's reads on a thread of its own, and loses nothing when nobody waits for it.
#[cfg(not(unix))]
pub(super) type Reader = tokio::fs::File;

pub(super) fn reader(pipe: std::io::PipeReader) -> std::io::Result<Reader> {
    #[cfg(unix)]
    return Reader::from_owned_fd(pipe.into());
    #[cfg(not(unix))]
    Ok(Reader::from_std(
        std::os::windows::io::OwnedHandle::from(pipe).into(),
    ))
}

/// What the task takes along.
pub(super) struct Parts {
    pub child: Child,
    /// Kept open until the command runs; where there is a keeper, as long as it may run.
    pub leash: Option<ChildStdin>,
    pub output: Reader,
    pub guarded: Option<Guarded>,
    pub tell: Tell,
    /// Whether one stays outside who ends what is left, and must not be killed before that.
    pub keeper: bool,
    /// Serves what it asks of the network.
    pub way: Option<BoxFuture<'static, ()>>,
    /// What is told with its end.
    pub notes: Vec<String>,
    pub hints: Hints,
}

impl Job {
    pub(super) fn new(id: u32, command: &str, stop: CancellationToken) -> Self {
        Self {
            id,
            command: command.to_owned(),
            begun: Instant::now(),
            output: Mutex::default(),
            news: Notify::new(),
            stage: watch::Sender::new(Stage::Starting),
            stop,
            why: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    /// Notes that a request was not let through.
    pub(super) fn refuse(&self, sentence: String) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.known.contains(&sentence) {
            return;
        }
        if refused.known.len() >= REFUSED {
            refused.more = true;
            return;
        }
        tracing::info!("a command: {sentence}");
        refused.known.insert(sentence.clone());
        refused.fresh.push(sentence);
    }

    /// What was refused since the last call, a line each.
    fn refused(&self) -> String {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for sentence in refused.fresh.drain(..) {
            text.push_str(&format!("({sentence})\n"));
        }
        if std::mem::take(&mut refused.more) {
            text.push_str("(More hosts were not let through.)\n");
        }
        text
    }

    /// Ends it, and all that it began; returns at once. `why` stands behind its output.
    pub fn stop(&self, why: &str) {
        let mut kept = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() && !self.has_ended() {
            *kept = Some(why.to_owned());
        }
        drop(kept);
        self.stop.cancel();
    }

    /// Since it was started.
    pub fn runs_for(&self) -> Duration {
        self.begun.elapsed()
    }

    pub fn has_ended(&self) -> bool {
        matches!(*self.stage.borrow(), Stage::Over(_))
    }

    /// `false`: it has ended and was never begun, for its sandbox could not be set up.
    pub fn was_run(&self) -> bool {
        self.end().is_none_or(|end| end.not_run.is_none())
    }

    /// Returns when the command runs or has ended, or after a while; whoever stops waiting before that stops the command.
    /// `false`: its sandbox could not be set up.
    pub(super) async fn is_begun(&self) -> bool {
        let stops = self.stop.clone().drop_guard();
        let mut stage = self.stage.subscribe();
        let begun = stage.wait_for(|stage| !matches!(stage, Stage::Starting));
        let _ = tokio::time::timeout(SET_UP, begun).await;
        stops.disarm();
        self.was_run() || self.stop.is_cancelled()
    }

    pub async fn ended(&self) {
        let mut stage = self.stage.subscribe();
        let over = |stage: &Stage| matches!(stage, Stage::Over(_));
        let _ = stage.wait_for(over).await;
    }

    fn end(&self) -> Option<End> {
        match &*self.stage.borrow() {
            Stage::Over(end) => Some(end.clone()),
            _ => None,
        }
    }

    /// Returns when output has come since the last call, or the end.
    pub async fn news(&self) {
        self.news.notified().await;
    }

    /// The newest line of output.
    pub fn last_line(&self) -> Option<String> {
        self.output().last_line()
    }

    /// The output since the last call, and where it has ended how, for the agent.
    pub fn report(&self) -> String {
        let mut text = self.output().take();
        let end = self.end();
        let refused = self.refused();
        if !text.is_empty() && !text.ends_with('\n') && (end.is_some() || !refused.is_empty()) {
            text.push('\n');
        }
        let Some(end) = end else {
            return text + &refused;
        };
        let why = self
            .why
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match (why, &end.not_run, end.status) {
            (Some(why), ..) => text.push_str(&format!("({why})\n")),
            (None, Some(said), _) => text.push_str(&format!(
                "The sandbox could not be set up, so nothing was run ({said}); `postil doctor` tells the author more.\n"
            )),
            (None, None, Some(0)) if text.is_empty() => text.push_str("(no output)\n"),
            (None, None, Some(0)) => {}
            (None, None, Some(code)) => text.push_str(&format!("(exit code: {code})\n")),
            (None, None, None) => text.push_str("(ended by a signal)\n"),
        }
        text.push_str(&refused);
        for note in &end.notes {
            text.push_str(note);
            text.push('\n');
        }
        text
    }

    /// What became of it, in a word or two.
    pub fn state(&self) -> String {
        let why = self
            .why
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match (self.end(), why) {
            (None, _) => String::from("running"),
            (Some(_), Some(why)) => why,
            (Some(end), None) if end.not_run.is_some() => {
                String::from("not run: the sandbox could not be set up")
            }
            (
                Some(End {
                    status: Some(code), ..
                }),
                None,
            ) => format!("exit code: {code}"),
            (Some(_), None) => String::from("ended by a signal"),
        }
    }

    fn output(&self) -> std::sync::MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what came; `before` is what came before the command began, and `None` from then on.
    fn receive(&self, bytes: &[u8], before: &mut Option<Vec<u8>>) {
        let Some(said) = before else {
            self.output().push(bytes);
            return;
        };
        let mut parts = bytes.splitn(2, |byte| *byte == BEGUN);
        said.extend(parts.next().unwrap_or_default());
        if let Some(rest) = parts.next() {
            *before = None;
            self.stage.send_replace(Stage::Running);
            self.output().push(rest);
        }
    }

    /// Reads, watches and ends the process.
    pub(super) async fn attend(&self, mut parts: Parts) {
        let mut chunk = vec![0; 64 << 10];
        let mut came: u64 = 0;
        let mut open = true;
        let mut look = tokio::time::interval(LOOK);
        let mut looks = 0;
        let mut notes = std::mem::take(&mut parts.notes);
        let mut before = Some(Vec::new());
        // What uses up too much has no time.
        let mut at_once = false;
        let mut served = parts.way.is_some();
        let mut way = parts.way.take().unwrap_or_else(|| pending().boxed());
        let status = loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => {
                    if let Some(own) = parts.child.id().filter(|_| !at_once && before.is_none()) {
                        ask(own, parts.keeper).await;
                    }
                    break end(&mut parts).await;
                }
                _ = look.tick() => {
                    looks += 1;
                    let process = parts.child.id();
                    let look = move || process.and_then(too_much);
                    if let Ok(Some(why)) = tokio::task::spawn_blocking(look).await {
                        at_once = true;
                        self.stop(&why);
                    } else if looks % GUARD == 0 {
                        let told = set_aside(&mut parts.guarded).await;
                        if let Some(why) = told.ends {
                            self.stop(why);
                        }
                        notes.extend(tell(told, &parts.tell));
                    }
                }
                read = parts.output.read(&mut chunk), if open => match read {
                    Ok(count) if count > 0 => {
                        let came_now = chunk.get(..count).unwrap_or_default();
                        self.receive(came_now, &mut before);
                        parts.hints.look(came_now);
                        if before.is_none() && !parts.keeper {
                            parts.leash = None;
                        }
                        self.news.notify_one();
                        came += count as u64;
                        if came > limits::OUTPUT {
                            self.stop(&format!("ended: it wrote more than {} MB", limits::OUTPUT >> 20));
                        }
                    }
                    _ => open = false,
                },
                () = &mut way, if served => served = false,
                status = parts.child.wait() => break status.ok(),
            }
        };
        drop(way);
        // Everything is over, so the pipe has an end, but where a system has no means to be sure of it.
        let rest = async {
            while let Ok(count) = parts.output.read(&mut chunk).await {
                if count == 0 {
                    break;
                }
                let came_now = chunk.get(..count).unwrap_or_default();
                self.receive(came_now, &mut before);
                parts.hints.look(came_now);
            }
        };
        if open {
            let _ = tokio::time::timeout(LOOK, rest).await;
        }
        if let Some(guarded) = parts.guarded.take()
            && let Ok(told) = tokio::task::spawn_blocking(move || guarded.put_back()).await
        {
            notes.extend(tell(told, &parts.tell));
        }
        for sentence in parts.hints.sentences() {
            if !notes.contains(&sentence) {
                notes.push(sentence);
            }
        }
        self.stage.send_replace(Stage::Over(End {
            status: status.and_then(code),
            notes,
            not_run: before.map(|said| why_not(&said)),
        }));
        self.news.notify_one();
    }
}

/// The system's processes as a look of any command found them last.
static PROCESSES: Mutex<Option<(Instant, Arc<os::Processes>)>> = Mutex::new(None);

/// No older than the time between two looks, so that many commands at once cost one of them.
fn processes() -> Arc<os::Processes> {
    let mut kept = PROCESSES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, processes)) = kept.as_ref()
        && at.elapsed() < LOOK
    {
        return Arc::clone(processes);
    }
    let now = Arc::new(os::Processes::now());
    *kept = Some((Instant::now(), Arc::clone(&now)));
    now
}

/// Why what this process began has to end. All of the system's processes are read for it.
fn too_much(process: u32) -> Option<String> {
    let all = processes().descendants(process);
    if all.len() > limits::PROCESSES {
        return Some(format!("ended: more than {} processes", limits::PROCESSES));
    }
    let most = limits::memory();
    let used: u64 = all.into_iter().filter_map(os::resident).sum();
    (used > most).then(|| format!("ended: more than {} GB of memory", most >> 30))
}

async fn set_aside(guarded: &mut Option<Guarded>) -> Told {
    let Some(taken) = guarded.take() else {
        return Told::default();
    };
    let looked = tokio::task::spawn_blocking(move || (taken.set_aside(), taken)).await;
    let Ok((told, taken)) = looked else {
        return Told::default();
    };
    *guarded = Some(taken);
    told
}

/// Shows the author what concerns them; what the agent is to know is returned.
fn tell(told: Told, tell: &Tell) -> Vec<String> {
    for sentence in &told.author {
        tracing::warn!("{sentence}");
    }
    let (shown, more) = told.author.split_at(told.author.len().min(TOLD));
    if !shown.is_empty() {
        let mut text = shown.join(" ");
        if !more.is_empty() {
            text.push_str(&format!(" {} more are named in postil's log.", more.len()));
        }
        tell(text);
    }
    told.agent
}

/// What bubblewrap said, or we did inside, in one line.
fn why_not(said: &[u8]) -> String {
    let mut output = Output::default();
    output.push(said);
    let said = output.take();
    let why = said.rsplit("nothing was run: ").next().unwrap_or_default();
    crate::present::short(why.trim(), 300)
}

fn code(status: ExitStatus) -> Option<i32> {
    status.code()
}
