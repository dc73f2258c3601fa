//! One child over all its runs: started at need, begun anew when it falls, left off when it falls too
//! often, ended when nobody needs it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, INDEXING_FACTOR, locked};
use super::documents::{Documents, Manner};
use super::process::{self, Tail, printable};
use super::{ChildError, Row, Shared, questions, uri};
use crate::host::Level;
use crate::os;

/// As many restarts in this time, and it is left off.
pub const RESTARTS: usize = 5;
pub const WITHIN: Duration = Duration::from_secs(180);
/// Before the first, second … restart.
const BACK_OFF: [Duration; RESTARTS] = [
    Duration::ZERO,
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

/// How often it is looked whether one that runs is trusted still.
const WATCH: Duration = Duration::from_secs(1);
/// How old what was seen of the folders may be then: less than where one is asked, which need not wait for it.
const SEEN: Duration = Duration::from_secs(5);

/// What makes two uses share a child.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub root: PathBuf,
}

/// Where a child stands; `attempt` grows with each start.
#[derive(Clone)]
pub struct Phase {
    pub attempt: u32,
    pub step: Step,
}

#[derive(Clone)]
pub enum Step {
    Starting,
    Ready(Arc<Connection>),
    /// It is asked to end: who comes now waits until it has, and has another started.
    Leaving,
    /// It fell, and will be started again.
    Down(ChildError),
    /// It will not.
    Failed(ChildError, Instant),
    Stopped,
}

pub struct Child {
    pub key: Key,
    pub row: Row,
    pub restarts: AtomicU32,
    shared: Arc<Shared>,
    phase: watch::Sender<Phase>,
    stop: CancellationToken,
    /// Milliseconds since `born`.
    used: AtomicU64,
    /// [`Using`]
    users: AtomicUsize,
    born: Instant,
    pid: AtomicU32,
}

/// A child that somebody is about to ask: it is not ended to make room for another.
pub struct Using(Arc<Child>);

impl Using {
    pub fn new(child: Arc<Child>) -> Self {
        child.users.fetch_add(1, Ordering::Relaxed);
        Self(child)
    }
}

impl std::ops::Deref for Using {
    type Target = Arc<Child>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Ordering::Relaxed);
        self.0.shared.freed.notify_waiters();
    }
}

/// What one run leaves to the next.
#[derive(Default)]
struct Kept {
    /// What was open is opened again.
    open: Vec<PathBuf>,
    /// What a person was told of what is wrong with it.
    told: Option<String>,
}

enum End {
    /// Wanted by us.
    Stopped,
    /// It cannot run at all.
    Unable(ChildError),
    Fell(ChildError),
}

impl Child {
    /// Starts it; returns at once.
    pub fn launch(key: Key, row: Row, shared: Arc<Shared>) -> Arc<Self> {
        let child = Arc::new(Self {
            key,
            row,
            restarts: AtomicU32::new(0),
            shared,
            phase: watch::Sender::new(Phase {
                attempt: 1,
                step: Step::Starting,
            }),
            stop: CancellationToken::new(),
            used: AtomicU64::new(0),
            users: AtomicUsize::new(0),
            born: Instant::now(),
            pid: AtomicU32::new(0),
        });
        tokio::spawn(Arc::clone(&child).run());
        child
    }

    pub fn step(&self) -> Step {
        self.phase.borrow().step.clone()
    }

    pub fn pid(&self) -> Option<u32> {
        Some(self.pid.load(Ordering::Relaxed)).filter(|pid| *pid != 0)
    }

    /// The connection, if it is up.
    pub fn ready(&self) -> Option<Arc<Connection>> {
        match &self.phase.borrow().step {
            Step::Ready(connection) if !connection.has_ended() => Some(Arc::clone(connection)),
            _ => None,
        }
    }

    pub fn touch(&self) {
        let now = u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.used.store(now, Ordering::Relaxed);
    }

    pub fn unused(&self) -> Duration {
        self.born
            .elapsed()
            .saturating_sub(Duration::from_millis(self.used.load(Ordering::Relaxed)))
    }

    /// Whether somebody waits for it, or for an answer of it.
    pub fn is_busy(&self) -> bool {
        self.users.load(Ordering::Relaxed) > 0 || self.ready().is_some_and(|c| c.is_busy())
    }

    /// Asks it to end; [`Child::stopped`] waits for it.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    pub async fn stopped(&self) {
        let mut phase = self.phase.subscribe();
        let _ = phase
            .wait_for(|p| matches!(p.step, Step::Stopped | Step::Failed(..)))
            .await;
    }

    /// The connection, when it is up; who comes while it is being started waits for that one start.
    pub async fn connection(
        &self,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<Arc<Connection>, ChildError> {
        self.touch();
        if let Some(connection) = self.ready() {
            return Ok(connection);
        }
        let mut phases = self.phase.subscribe();
        let first = phases.borrow().clone();
        let deadline = tokio::time::Instant::now() + timeout;
        // Why it is not up: it fell, and is to be started again.
        let mut fell = None;
        loop {
            let Phase { attempt, step } = phases.borrow_and_update().clone();
            match step {
                Step::Ready(connection) if !connection.has_ended() => return Ok(connection),
                Step::Failed(error, _) => return Err(error),
                Step::Stopped => {
                    return Err(ChildError::Stopped(
                        self.row.command.clone(),
                        String::from("it was not needed any more"),
                    ));
                }
                Step::Down(error)
                    if attempt > first.attempt || matches!(first.step, Step::Starting) =>
                {
                    return Err(error);
                }
                Step::Down(error) => fell = Some(error),
                _ => {}
            }
            tokio::select! {
                changed = phases.changed() => if changed.is_err() {
                    return Err(ChildError::Stopped(self.row.command.clone(), String::from("it ended")));
                },
                () = cancel.cancelled() => return Err(ChildError::Cancelled),
                () = tokio::time::sleep_until(deadline) => return Err(fell.unwrap_or_else(|| ChildError::TimedOut(self.row.command.clone(), timeout.as_secs()))),
            }
        }
    }

    fn set(&self, attempt: u32, step: Step) {
        self.phase.send_replace(Phase { attempt, step });
        self.shared.freed.notify_waiters();
    }

    async fn run(self: Arc<Self>) {
        let mut falls = VecDeque::new();
        let mut kept = Kept::default();
        for attempt in 1.. {
            self.set(attempt, Step::Starting);
            let error = match self.live(attempt, &mut kept).await {
                End::Stopped => return self.set(attempt, Step::Stopped),
                End::Unable(error) => {
                    return self.set(attempt, Step::Failed(error, Instant::now()));
                }
                End::Fell(error) => error,
            };
            tracing::warn!("{error}");
            let now = Instant::now();
            falls.retain(|fall: &Instant| now.duration_since(*fall) < WITHIN);
            falls.push_back(now);
            if falls.len() > RESTARTS {
                if let Some(host) = self.shared.host() {
                    let name = &self.row.command;
                    host.message(Level::Error, &format!("{error}; `{name}` was restarted {RESTARTS} times in 3 minutes and is left off for as long."));
                }
                return self.set(attempt, Step::Failed(error, now));
            }
            self.set(attempt, Step::Down(error));
            let wait = BACK_OFF.get(falls.len() - 1).copied().unwrap_or_default();
            tokio::select! {
                () = self.stop.cancelled() => return self.set(attempt, Step::Stopped),
                () = tokio::time::sleep(wait) => {}
            }
            self.restarts.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One run, from start to end.
    async fn live(&self, attempt: u32, kept: &mut Kept) -> End {
        let stopped = |reason: String| ChildError::Stopped(self.row.command.clone(), reason);
        look(&self.shared, Duration::ZERO).await;
        if self.stop.is_cancelled() {
            return End::Stopped;
        }
        let started = process::start(
            &self.key.program,
            &self.row,
            &self.key.root,
            &self.shared.workspaces(),
        )
        .await;
        let mut process = match started {
            Ok(process) => process,
            Err(error) => return End::Fell(stopped(format!("it cannot be started: {error}"))),
        };
        let pid = process.id();
        let (Some(stdin), Some(stdout), Some(stderr)) = (
            process.stdin.take(),
            process.stdout.take(),
            process.stderr.take(),
        ) else {
            return End::Fell(stopped(String::from("it has no pipes")));
        };
        if let Some(pid) = pid {
            process::guard(pid);
            self.pid.store(pid, Ordering::Relaxed);
        }
        let connection = Connection::new(
            Arc::clone(&self.shared),
            self.row.clone(),
            self.key.root.clone(),
            pid,
            stdin,
        );
        connection.activity.has_told(kept.told.take());
        let tail = Tail::default();
        let mut reading = tokio::spawn(Arc::clone(&connection).read(stdout));
        let mut writing = tokio::spawn({
            let connection = Arc::clone(&connection);
            async move { connection.write().await }
        });
        let following = tokio::spawn({
            let connection = Arc::clone(&connection);
            async move { connection.follow().await }
        });
        let errors = tokio::spawn(tail.clone().follow(stderr));
        let looking = tokio::spawn(watch(Arc::clone(&self.shared)));

        let wanted = tokio::select! {
            () = self.serve(&connection, attempt, &mut kept.open) => true,
            status = process.wait() => {
                // What it wrote before it fell is read first, if that is soon done.
                let _ = tokio::time::timeout(Duration::from_millis(30), &mut reading).await;
                let _ = tokio::time::timeout(Duration::from_millis(10), async { while !errors.is_finished() { tokio::task::yield_now().await } }).await;
                connection.end(&why(status.ok(), &tail));
                false
            }
            closed = async {
                tokio::select! {
                    _ = &mut reading => "it closed its output",
                    _ = &mut writing => "it closed its input",
                }
            } => {
                let status = tokio::time::timeout(Duration::from_millis(50), process.wait()).await;
                let status = status.ok().and_then(Result::ok);
                // As above, of one that fell while it was written to.
                if status.is_some() && !reading.is_finished() {
                    let _ = tokio::time::timeout(Duration::from_millis(30), &mut reading).await;
                }
                connection.end(&if status.is_some() { why(status, &tail) } else { closed.to_owned() });
                false
            }
            () = connection.ended() => false,
        };
        if wanted {
            self.set(attempt, Step::Leaving);
            self.take_leave(&connection, &mut process).await;
        }
        connection.end("it ended");
        for path in locked(&connection.documents).paths() {
            if !kept.open.contains(&path) {
                kept.open.push(path);
            }
        }
        kept.told = connection.activity.told();
        // Not its group alone: what it has started must not outlive it.
        if let Some(pid) = pid {
            os::end_group(pid, true);
        }
        let _ = process.start_kill();
        let _ = tokio::time::timeout(Duration::from_secs(2), process.wait()).await;
        if let Some(pid) = pid {
            process::unguard(pid);
        }
        self.pid.store(0, Ordering::Relaxed);
        [reading, writing, following, errors, looking]
            .iter()
            .for_each(JoinHandle::abort);
        if wanted {
            return End::Stopped;
        }
        let stderr = tail.text();
        if is_absent_component(&stderr) {
            let error = ChildError::Missing {
                command: self.row.command.clone(),
                install: self.row.install.clone(),
            };
            return End::Unable(error);
        }
        End::Fell(connection.stopped())
    }

    /// Initializes it and stays until it is not wanted any more.
    async fn serve(&self, connection: &Arc<Connection>, attempt: u32, open: &mut Vec<PathBuf>) {
        let timeout = Duration::from_secs(self.shared.limits().timeout.max(1)) * INDEXING_FACTOR;
        let params = self.initialize_params(connection);
        let answer = tokio::select! {
            answer = connection.call("initialize", &params, timeout, &self.stop) => answer,
            () = self.stop.cancelled() => return,
        };
        let mut result = match answer.map(|raw| serde_json::from_str::<Value>(raw.get())) {
            Ok(Ok(result)) if result.is_object() => result,
            Ok(_) => {
                return self
                    .fail(connection, "its answer to `initialize` makes no sense")
                    .await;
            }
            Err(ChildError::Answered { message, .. }) => {
                return self
                    .fail(
                        connection,
                        // What to do about it stands at the end, as of TypeScript's.
                        &format!("it refused `initialize`: {}", printable(&message, 400)),
                    )
                    .await;
            }
            Err(ChildError::Cancelled) => return,
            Err(_) => {
                return self
                    .fail(connection, "it does not answer `initialize`")
                    .await;
            }
        };
        *locked(&connection.documents) = Documents::new(Manner::of(&result));
        let capabilities = result
            .get_mut("capabilities")
            .map(Value::take)
            .unwrap_or_default();
        let _ = connection.capabilities.set(capabilities);
        connection.notify("initialized", &json!({}));
        if self
            .row
            .initialization_options
            .as_object()
            .is_some_and(|o| !o.is_empty())
        {
            connection.notify(
                "workspace/didChangeConfiguration",
                &json!({"settings": self.row.initialization_options}),
            );
        }
        connection.activity.started();
        let tell = |paths: &mut dyn Iterator<Item = PathBuf>| {
            for path in paths {
                let language = self.shared.language_id(&path, "plaintext");
                connection.sync(Some((&path, &language)));
            }
        };
        let open_now = || self.shared.open_for(&self.row, &self.key.root).into_iter();
        tell(&mut open.drain(..).chain(open_now()));
        self.set(attempt, Step::Ready(Arc::clone(connection)));
        // What was opened or changed while these were told reached it by no other way.
        let told = locked(&connection.documents).paths();
        told.iter().for_each(|path| connection.touch(path));
        tell(&mut open_now());
        let idle = Duration::from_secs(self.shared.limits().idle.max(1));
        loop {
            let rest = idle.saturating_sub(self.unused());
            if rest.is_zero() && !connection.is_busy() {
                return;
            }
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(rest.max(Duration::from_millis(100))) => {}
            }
        }
    }

    /// Ends the connection and waits to be dropped for it.
    async fn fail(&self, connection: &Connection, reason: &str) {
        connection.end(reason);
        std::future::pending::<()>().await;
    }

    /// `shutdown`, `exit`, then signals; at most 0.8 s in all.
    async fn take_leave(&self, connection: &Connection, process: &mut tokio::process::Child) {
        let never = CancellationToken::new();
        let asked = connection.call("shutdown", &Value::Null, Duration::from_secs(1), &never);
        let _ = tokio::time::timeout(Duration::from_millis(300), asked).await;
        connection.notify("exit", &Value::Null);
        if tokio::time::timeout(Duration::from_millis(250), process.wait())
            .await
            .is_err()
            && let Some(pid) = connection.pid
        {
            os::end_group(pid, false);
            let _ = tokio::time::timeout(Duration::from_millis(150), process.wait()).await;
        }
    }

    fn initialize_params(&self, connection: &Connection) -> Value {
        let uri = uri::from_path(&self.key.root);
        json!({
            "processId": std::process::id(),
            "clientInfo": {"name": "postil", "version": env!("CARGO_PKG_VERSION")},
            "rootPath": self.key.root.to_string_lossy(),
            "rootUri": uri,
            "workspaceFolders": [questions::folder(connection)],
            "initializationOptions": self.row.initialization_options,
            "capabilities": self.shared.capabilities(),
            "trace": "off",
        })
    }
}

/// Settings of git are among what is looked at: it is waited for elsewhere.
async fn look(shared: &Arc<Shared>, age: Duration) {
    let shared = Arc::clone(shared);
    let _ = tokio::task::spawn_blocking(move || shared.look(age)).await;
}

/// Trust that is taken back ends it, though nobody asks it anything.
async fn watch(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(WATCH).await;
        look(&shared, SEEN).await;
    }
}

fn why(status: Option<std::process::ExitStatus>, tail: &Tail) -> String {
    let status = status.map_or_else(|| String::from("it ended"), |s| s.to_string());
    match tail.reason() {
        Some(reason) => format!("{status}: {reason}"),
        None => status,
    }
}

/// What rustup says of a component that is not installed.
fn is_absent_component(stderr: &str) -> bool {
    stderr.contains("Unknown binary")
        || stderr.contains("is not installed for the toolchain")
        || stderr.contains("is not installed for the custom toolchain")
}
