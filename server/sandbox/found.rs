//! Which sandbox can be had on this machine. It is tried, not guessed: what is installed may be forbidden.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{bubble, rules};
use crate::os;

/// From this version on Landlock guards against cutting files short, without which it is no sandbox by itself.
const ALONE: u8 = 3;
/// From this version on it keeps signals inside.
const SIGNALS: u8 = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Bubblewrap, where it works.
    pub bubblewrap: Option<PathBuf>,
    /// That it lets nobody make namespaces inside.
    pub(super) no_userns: bool,
    /// That it can put something in the place of a socket.
    pub(super) hides_sockets: bool,
    /// The version of the kernel's Landlock; 0: none.
    pub landlock: u8,
    /// What stands in the way of bubblewrap, a sentence.
    pub missing: Option<String>,
}

impl Found {
    /// Whether a command can be kept in at all.
    pub fn confines(&self) -> bool {
        self.bubblewrap.is_some() || self.landlock >= ALONE
    }

    /// For `postil doctor`.
    pub fn describe(&self) -> String {
        let landlock = format!("Landlock (version {})", self.landlock);
        let missing = self.missing.clone().unwrap_or_default();
        match (&self.bubblewrap, self.landlock) {
            (Some(path), 0) => format!(
                "bubblewrap ({}); the kernel has no Landlock",
                path.display()
            ),
            (Some(path), _) => format!("bubblewrap ({}) and {landlock}", path.display()),
            (None, ALONE..) => {
                let signals = if self.landlock < SIGNALS {
                    ", and a command can end other programs of yours"
                } else {
                    ""
                };
                format!(
                    "{landlock} alone: guarded files are put back only after a command, and modes and times of your other files can be changed{signals}. {missing}"
                )
            }
            _ => format!("none: each command is asked about, whatever was granted. {missing}"),
        }
    }
}

/// What there is, for commands that run in `root`, whose own programs are not trusted. Tried once.
pub fn find(root: &Path) -> Found {
    static KNOWN: Mutex<Vec<(Option<PathBuf>, Found)>> = Mutex::new(Vec::new());
    let wanted = wanted();
    let program = (wanted != Some("none") && wanted != Some("landlock"))
        .then(|| program(root))
        .flatten();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = known.iter().find(|(of, _)| *of == program) {
        return found.clone();
    }
    let mut found = tried(program.as_deref());
    if wanted == Some("none") || wanted == Some("bubblewrap") {
        found.landlock = 0;
    }
    known.push((program, found.clone()));
    found
}

/// What is put before the command line of a program of the author's own that shall change nothing in `root` and in
/// `more`; it keeps its other rights. `None`: bubblewrap is needed for that, or the person's home lies in there,
/// where such a program keeps its state.
pub fn read_only(root: &Path, more: &[PathBuf]) -> Option<Vec<OsString>> {
    let mut folders = vec![root.to_owned()];
    folders.extend(more.iter().cloned());
    let home = os::home()?;
    if folders.iter().any(|folder| home.starts_with(folder)) {
        return None;
    }
    let program = find(root).bubblewrap?;
    Some(bubble::read_only(&program, root, &folders))
}

/// A test can make do with less.
fn wanted() -> Option<&'static str> {
    std::env::var_os("POSTIL_TEST")?;
    let wanted = std::env::var("POSTIL_TEST_SANDBOX").ok()?;
    ["none", "landlock", "bubblewrap"]
        .into_iter()
        .find(|known| *known == wanted)
}

fn program(root: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    os::search_path(&path, &[root.to_owned()])
        .into_iter()
        .chain([PathBuf::from("/usr/bin")])
        .map(|folder| folder.join("bwrap"))
        .find(|program| program.is_file())
}

fn tried(program: Option<&Path>) -> Found {
    let mut found = Found {
        bubblewrap: None,
        no_userns: false,
        hides_sockets: false,
        landlock: rules::landlock(),
        missing: None,
    };
    if !cfg!(target_os = "linux") {
        found.missing = Some(String::from("There is a sandbox on Linux only"));
        return found;
    }
    let Some(program) = program else {
        found.missing = Some(String::from(
            "bubblewrap is not installed: the package is called bubblewrap",
        ));
        return found;
    };
    let mut said = String::new();
    for no_userns in [true, false] {
        match works(program, no_userns) {
            Ok(()) => {
                found.bubblewrap = Some(program.to_owned());
                found.no_userns = no_userns;
                found.hides_sockets = hides_sockets(program);
                return found;
            }
            Err(why) => said = why,
        }
    }
    found.missing = Some(format!(
        "bubblewrap ({}) does not work here ({}): it needs user namespaces, which the system's administrator can allow",
        program.display(),
        crate::present::short(&said, 160),
    ));
    found
}

/// Before 0.5 it refuses to put anything there.
fn hides_sockets(program: &Path) -> bool {
    let told = Command::new(program).arg("--version").env_clear().output();
    let told = told.map(|told| String::from_utf8_lossy(&told.stdout).into_owned());
    let version = told.unwrap_or_default();
    let mut numbers = version
        .trim()
        .rsplit(' ')
        .next()
        .unwrap_or_default()
        .split('.');
    let mut number = || numbers.next()?.parse::<u32>().ok();
    (number(), number()) >= (Some(0), Some(5))
}

/// Runs the smallest command in it.
fn works(program: &Path, no_userns: bool) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(bubble::alone(no_userns, false));
    command.args(["--ro-bind", "/", "/"]);
    command.args(bubble::SYSTEM).args(["--", "/bin/true"]);
    command.env_clear().current_dir("/");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(_)) => break,
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(String::from("it hangs"));
            }
        }
    }
    let mut said = String::new();
    if let Some(mut errors) = child.stderr.take() {
        let _ = std::io::Read::read_to_string(&mut errors, &mut said);
    }
    Err(said)
}
