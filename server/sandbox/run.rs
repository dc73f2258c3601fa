//! The commands of one run, and what they have in common: a private temporary folder, an end.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::CancellationToken;

use super::guarded::Guarded;
use super::hints::Hints;
use super::job::{Job, Parts, reader};
use super::limits::Limits;
use super::order::{Mounted, Order, Sockets};
use super::temporary::{GIT, Temporary};
use super::view::{Access, View, Wanted};
use super::way::Network;
use super::{Found, WORD, bubble, find, secrets, way};
use crate::files::Buffers;
use crate::{os, vcs};

/// Background commands of a run at the same time.
const AT_ONCE: usize = 16;
/// Homes of others that are looked at.
const OTHERS: usize = 50;
/// Landlock knows no addresses, only ports: who may ask one server by its port may ask any.
const NO_WAY: &str = "(It had no network: `sandbox.network` lets commands through a proxy, for which this machine has no bubblewrap. `postil doctor` tells the author more.)";
const NO_NETWORK: &str = "(Commands have no network: only the author can open it, with `sandbox.network` in their own config.toml.)";
/// Of one that finds names by itself, or asks for one that there is not.
const BY_PROXY: &str = "(Here only the proxy that HTTPS_PROXY names finds hosts: a program that does not use it has no network unless the author sets `sandbox.network = \"whole\"`.)";
/// `cmd /C` ends at the first line's end, without a word.
const NO_LINES: &str = "A command is one line here (it runs by `cmd /C`): join the lines by `&&`, or write them to a script and run that; nothing was run.";
/// `cmd` begins in the system's own folder then.
const NO_SHARE: &str = "Commands cannot run here: the workspace is on a share of the network, in which `cmd` does not begin; the author can keep it on a drive of this machine. Nothing was run.";
/// All commands of a run are gone within so long after its end.
const GONE: Duration = Duration::from_millis(700);

/// Shows the author what became of guarded files, a sentence.
pub(super) type Tell = Arc<dyn Fn(String) + Send + Sync>;

/// What the user's settings grant to commands.
#[derive(Clone, Default)]
pub struct Policy {
    pub network: Network,
    /// Absolute paths that are read although they are hidden.
    pub read: Vec<PathBuf>,
    /// Absolute paths outside the root that are written.
    pub write: Vec<PathBuf>,
    /// Names of variables that are handed on.
    pub environment: Vec<String>,
    /// Our own folders: never seen.
    pub ours: Vec<PathBuf>,
    /// The root is read and not written: what is changed there is looked at first.
    pub reviewed: bool,
}

impl Policy {
    /// Whether this variable is handed on because the author says so.
    fn names(&self, variable: &str) -> bool {
        let mut names = self.environment.iter();
        names.any(|name| os::is_same_variable(std::ffi::OsStr::new(name), variable))
    }
}

pub struct Processes {
    root: PathBuf,
    policy: Policy,
    buffers: Arc<Buffers>,
    tell: Tell,
    found: std::sync::OnceLock<Found>,
    temporary: Mutex<Option<Arc<Temporary>>>,
    /// Started in the background, by number.
    jobs: Mutex<Vec<Arc<Job>>>,
    last: AtomicU32,
    /// That a command was told why it has no network.
    told: AtomicBool,
    over: CancellationToken,
}

impl Processes {
    /// `root`: the folder in which commands run, canonical. `buffers`: what the author has open.
    pub fn new(root: &Path, policy: Policy, buffers: Arc<Buffers>, tell: Tell) -> Self {
        Self {
            root: root.to_owned(),
            policy,
            buffers,
            tell,
            found: std::sync::OnceLock::new(),
            temporary: Mutex::default(),
            jobs: Mutex::default(),
            last: AtomicU32::new(0),
            told: AtomicBool::new(false),
            over: CancellationToken::new(),
        }
    }

    /// Whether commands may only read the root.
    pub fn is_reviewed(&self) -> bool {
        self.policy.reviewed
    }

    pub fn found(&self) -> &Found {
        self.found.get_or_init(|| find(&self.root))
    }

    /// Starts a command that is waited for.
    ///
    /// # Errors
    /// Text for the agent; nothing was run.
    pub async fn start(&self, command: &str) -> Result<Arc<Job>, String> {
        self.begin(command, false).await
    }

    /// Starts a command that goes on beside the turn, until [`Self::end`].
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_background(&self, command: &str) -> Result<Arc<Job>, String> {
        let running = self
            .background()
            .iter()
            .filter(|job| !job.has_ended())
            .count();
        if running >= AT_ONCE {
            return Err(format!(
                "{AT_ONCE} commands run in the background already; end one with bash_kill first."
            ));
        }
        let job = self.begin(command, true).await?;
        self.jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(&job));
        Ok(job)
    }

    /// Background commands, those that have ended too.
    pub fn background(&self) -> Vec<Arc<Job>> {
        self.jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The run is over: ends every command and removes the temporary folder.
    pub async fn end(&self) {
        self.over.cancel();
        for job in self.background() {
            job.stop("ended with the run");
        }
        let all = self.background();
        let gone = futures::future::join_all(all.iter().map(|job| job.ended()));
        let _ = tokio::time::timeout(GONE, gone).await;
        let temporary = self
            .temporary
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(temporary) = temporary {
            let _ = tokio::task::spawn_blocking(move || temporary.empty()).await;
        }
    }

    /// What was to be hidden or kept can go or move while the sandbox is set up, as the socket of a program that ends just
    /// then: a command that could not be run for such a reason is started once more.
    async fn begin(&self, command: &str, background: bool) -> Result<Arc<Job>, String> {
        let number = match background {
            true => self.last.fetch_add(1, Ordering::Relaxed) + 1,
            false => 0,
        };
        let job = self.begin_once(command, number).await?;
        if job.is_begun().await {
            return Ok(job);
        }
        tracing::info!("a command is started once more: {}", job.report().trim());
        self.begin_once(command, number).await
    }

    /// `number`: how a command in the background is called, 0 for another.
    async fn begin_once(&self, command: &str, number: u32) -> Result<Arc<Job>, String> {
        if self.over.is_cancelled() {
            return Err(String::from("The run is over; nothing was run."));
        }
        if cfg!(windows) && command.trim().contains('\n') {
            return Err(String::from(NO_LINES));
        }
        if cfg!(windows) && self.root.to_string_lossy().starts_with(r"\\") {
            return Err(String::from(NO_SHARE));
        }
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            format!("The command could not be started ({what}: {error}); nothing was run.")
        };
        let temporary = self
            .temporary()
            .map_err(|e| failed("temporary folder", &e))?;
        let own = std::env::current_exe().map_err(|e| failed("this program", &e))?;
        if !own.exists() {
            return Err(String::from(
                "The command could not be started: postil was updated or removed while it ran, and the author has to start its server again; nothing was run.",
            ));
        }
        let found = self.found().clone();
        let (root, policy) = (self.root.clone(), self.policy.clone());
        let buffers = Arc::clone(&self.buffers);
        let private = Arc::clone(&temporary);
        // Folders are listed for this.
        let prepared = tokio::task::spawn_blocking(move || {
            let guarded = look(&found, &root, &policy, &buffers);
            let (program, order) = prepare(
                &found,
                &root,
                &policy,
                &private,
                &own,
                guarded.as_ref(),
                number > 0,
            );
            (program, order, guarded)
        });
        let (mut program, order, guarded) =
            prepared.await.map_err(|e| failed("the sandbox", &e))?;
        let order = Order {
            command: command.to_owned(),
            ..order
        };
        let keeper = order.keeper;
        let mut notes = Vec::new();
        let gateway = match &self.policy.network {
            Network::Through(gateway) if order.way => Some(gateway.clone()),
            Network::Through(_)
                if order.sockets == Some(Sockets::None)
                    && !self.told.swap(true, Ordering::Relaxed) =>
            {
                notes.push(String::from(NO_WAY));
                None
            }
            _ => None,
        };
        let held = guarded.as_ref().map(Guarded::mounted).unwrap_or_default();
        let hints = Hints::new(&self.root, held, self.without_hosts(order.way));
        let mut line = serde_json::to_vec(&order).map_err(|e| failed("the order", &e))?;
        line.push(b'\n');

        let (output, writer) = std::io::pipe().map_err(|e| failed("a pipe", &e))?;
        let errors = writer.try_clone().map_err(|e| failed("a pipe", &e))?;
        let (stdin, mut pair) = match &gateway {
            None => (Stdio::piped(), None),
            Some(_) => way::input()
                .map(|(stdin, ours)| (stdin, Some(ours)))
                .map_err(|e| failed("a socket", &e))?,
        };
        program
            .stdin(stdin)
            .stdout(writer)
            .stderr(errors)
            .current_dir(&self.root);
        let started = if keeper {
            os::spawn_keeper(program).await
        } else {
            os::die_with_parent(&mut program);
            os::spawn(program).await
        };
        let mut child = started.map_err(|e| failed("its process", &e))?;
        let output = reader(output).map_err(|e| failed("a pipe", &e))?;
        let mut leash = child.stdin.take();
        if let Some(input) = leash.as_mut() {
            // Where it ended before it read all, its output says why.
            let _ = input.write_all(&line).await;
            let _ = input.flush().await;
        }
        if let Some(input) = pair.as_mut() {
            let _ = input.write_all(&line).await;
        }
        let job = Arc::new(Job::new(number, command, self.over.child_token()));
        let way = gateway.zip(pair).map(|(gateway, from)| {
            let job = Arc::clone(&job);
            let served = async move {
                if let Some(at) = way::receive(from).await {
                    let tell = move |sentence| job.refuse(sentence);
                    gateway.serve(at, Arc::new(tell)).await;
                }
            };
            served.boxed()
        });
        let parts = Parts {
            child,
            leash,
            output,
            guarded,
            tell: Arc::clone(&self.tell),
            keeper,
            way,
            notes,
            hints,
        };
        let attended = Arc::clone(&job);
        tokio::spawn(async move {
            attended.attend(parts).await;
            drop(temporary);
        });
        Ok(job)
    }

    /// What is said of a command that found no host; `way`: it has a proxy.
    fn without_hosts(&self, way: bool) -> Option<&'static str> {
        match &self.policy.network {
            _ if !self.found().confines() => None,
            Network::None => Some(NO_NETWORK),
            Network::Through(_) if way => Some(BY_PROXY),
            Network::Through(_) => Some(NO_WAY),
            Network::Whole => None,
        }
    }

    fn temporary(&self) -> std::io::Result<Arc<Temporary>> {
        let mut kept = self
            .temporary
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = kept.as_ref() {
            return Ok(Arc::clone(there));
        }
        let made = Arc::new(Temporary::new()?);
        *kept = Some(Arc::clone(&made));
        Ok(made)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

/// What must not change. `None`: nothing in the root can be changed by a command.
fn look(found: &Found, root: &Path, policy: &Policy, buffers: &Arc<Buffers>) -> Option<Guarded> {
    (!policy.reviewed || !found.confines())
        .then(|| Guarded::look(root, found.bubblewrap.is_some(), buffers))
}

/// The program that is started, and what it is told.
fn prepare(
    found: &Found,
    root: &Path,
    policy: &Policy,
    temporary: &Temporary,
    own: &Path,
    guarded: Option<&Guarded>,
    background: bool,
) -> (std::process::Command, Order) {
    let alone = found.bubblewrap.is_none();
    let private = temporary.folder();
    let path = os::search_path(
        &std::env::var_os("PATH").unwrap_or_default(),
        &[root.to_owned()],
    );
    let numbers = |places: Vec<PathBuf>| -> BTreeMap<PathBuf, (u64, u64)> {
        let number = |place: PathBuf| Some((place.clone(), guarded?.number(&place)?));
        places.into_iter().filter_map(number).collect()
    };
    let mut held = numbers(guarded.map(Guarded::held).unwrap_or_default());
    let mut fixed = numbers(guarded.map(Guarded::fixed).unwrap_or_default());
    let wanted = Wanted {
        root,
        private,
        policy,
        homes: &homes(),
        secrets: &[secrets::of_system(), secrets::named()].concat(),
        cargo: &secrets::cargo(),
        programs: &path,
        guarded: &held.keys().cloned().collect::<Vec<_>>(),
        fixed: &fixed.keys().cloned().collect::<Vec<_>>(),
        sockets: &sockets(found, policy),
        alone,
    };
    let view = View::new(&wanted);
    let own_git = !grants_git(policy, &view) && temporary.write_git(|| vcs::plain_settings(root));
    let mut order = Order {
        command: String::new(),
        keeper: alone,
        way: !alone && matches!(policy.network, Network::Through(_)),
        rules: None,
        sockets: None,
        limits: Limits::new(background),
        mounted: Vec::new(),
    };
    let mut program = match &found.bubblewrap {
        Some(bubblewrap) => {
            let mut program = std::process::Command::new(bubblewrap);
            program
                .args(bubble::alone(found.no_userns, policy.network.is_whole()))
                .args(bubble::mounts(&view, private, &temporary.empty_file()))
                .arg("--chdir")
                .arg(root)
                .arg("--")
                .arg(own);
            order.rules = (found.landlock > 0).then(|| view.writable());
            held.append(&mut fixed);
            let shown = view
                .entries()
                .filter(|(_, access, _)| *access != Access::Hidden);
            let mounted = shown.filter_map(|(path, access, around)| {
                let (device, inode) = *held.get(path)?;
                bubble::is_mounted(access, around).then_some(Mounted {
                    place: path.into(),
                    device,
                    inode,
                })
            });
            order.mounted = mounted.collect();
            order.sockets = Some(Sockets::Usual);
            program
        }
        None => {
            if found.confines() {
                order.rules = Some(view.allowed());
                order.sockets = Some(if policy.network.is_whole() {
                    Sockets::Internet
                } else {
                    Sockets::None
                });
            }
            std::process::Command::new(own)
        }
    };
    program
        .arg(WORD)
        .env_clear()
        .envs(environment(policy, &path));
    let shown = if alone { private } else { Path::new("/tmp") };
    if order.way {
        program.envs(policy.network.environment());
    }
    for name in ["TMPDIR", "TMP", "TEMP"] {
        program.env(name, shown);
    }
    // Caches that cannot be written where they are.
    let caches = [("XDG_CACHE_HOME", "cache"), ("npm_config_cache", "npm")];
    let caches = caches.map(|(name, folder)| (name, shown.join(folder)));
    let git = own_git.then(|| ("GIT_CONFIG_GLOBAL", shown.join(GIT)));
    for (name, place) in caches.into_iter().chain(git) {
        if !policy.names(name) {
            program.env(name, place);
        }
    }
    (program, order)
}

/// Whether the author lets commands read the file of their settings of git itself.
fn grants_git(policy: &Policy, view: &View) -> bool {
    let home = os::home().unwrap_or_default();
    let mut files = [".gitconfig", ".config/git/config"]
        .map(|file| home.join(file))
        .into_iter();
    !policy.read.is_empty() && files.any(|file| file.exists() && view.at(&file) != Access::Hidden)
}

/// Those that no command may reach, and that bubblewrap can hide.
fn sockets(found: &Found, policy: &Policy) -> Vec<PathBuf> {
    if !found.hides_sockets || policy.network.is_whole() {
        return Vec::new();
    }
    #[cfg(target_os = "linux")]
    return super::sockets::of_others();
    #[cfg(not(target_os = "linux"))]
    Vec::new()
}

/// Names that are handed on: what programs need to find their way, and no more.
const NAMES: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOROOT",
    "GOPATH",
    "GOFLAGS",
    "GOPROXY",
    "GOTOOLCHAIN",
    "JAVA_HOME",
    "ANDROID_HOME",
    "DOTNET_ROOT",
    "NVM_DIR",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "NODE_PATH",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "NIX_PATH",
    "NIX_PROFILES",
];

fn environment(policy: &Policy, path: &[PathBuf]) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = std::env::vars_os()
        .filter(|(name, value)| {
            let is = |other: &str| os::is_same_variable(name, other);
            let usual = || {
                let mut names = NAMES.iter().chain(os::SYSTEM_VARIABLES);
                names.any(|other| is(other))
                    || name.to_str().is_some_and(|name| name.starts_with("LC_"))
            };
            // What the author names is handed on whatever it is called.
            policy.environment.iter().any(|other| is(other))
                || usual() && !os::is_secret(name, value)
        })
        .collect();
    let fixed = [
        ("TERM", "dumb"),
        ("NO_COLOR", "1"),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_EDITOR", "true"),
        ("DEBIAN_FRONTEND", "noninteractive"),
    ];
    environment.extend(fixed.map(|(name, value)| (name.into(), value.into())));
    if cfg!(windows) {
        // `git` is never a file of that name in the workspace, which `cmd` would look for before PATH.
        let name = OsString::from("NoDefaultCurrentDirectoryInExePath");
        environment.push((name, OsString::from("1")));
    }
    let path = std::env::join_paths(path).unwrap_or_default();
    environment.push((OsString::from("PATH"), path));
    environment
}

/// Home as the environment says it, and as the system does; and those of others, as far as we can read them.
fn homes() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = os::home().into_iter().collect();
    homes.extend(os::home_of_system().filter(|home| home.as_os_str() != "/"));
    homes.push(PathBuf::from("/root"));
    let others = std::fs::read_dir("/home").into_iter().flatten().flatten();
    homes.extend(others.take(OTHERS).map(|entry| entry.path()));
    let mut seen = BTreeSet::new();
    homes.retain(|home| seen.insert(home.clone()));
    homes
}
