//! A child's process: started so that it ends with us, watched by a guard that ends its whole group when we are gone.

use std::collections::VecDeque;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Child;

use super::Row;
use crate::os;

/// Bytes of standard error that are kept, to say why a child stopped.
const STDERR_KEPT: usize = 8 << 10;

/// Starts the program of a row in its root folder, with pipes and a clean environment.
pub async fn start(
    program: &Path,
    row: &Row,
    root: &Path,
    workspaces: &[PathBuf],
) -> std::io::Result<Child> {
    let mut command = std::process::Command::new(program);
    command.args(&row.args).current_dir(root);
    command
        .env_clear()
        .envs(os::environment(workspaces))
        .envs(row.env.iter().map(|(n, v)| (n, v)));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    launch(command).await
}

/// Starts a program that leads a group of its own and ends when we do.
pub async fn launch(mut command: std::process::Command) -> std::io::Result<Child> {
    os::die_with_parent(&mut command);
    os::spawn(command).await
}

/// Ends the groups of all children when our process is gone, killed too: a shell that reads from a pipe
/// which only we hold open. The parent-death signal reaches a child, but not what the child has started.
static GUARD: Mutex<Option<std::process::ChildStdin>> = Mutex::new(None);

const GUARD_SCRIPT: &str = r#"
all=' '
while read -r op id; do
  case $op in
    +) all="$all$id ";;
    -) case $all in *" $id "*) all="${all%% $id *} ${all#* $id }";; esac;;
  esac
done
for id in $all; do kill -9 -"$id" 2>/dev/null; done
"#;

/// From now on the group that `pid` leads ends with us.
pub fn guard(pid: u32) {
    tell_guard('+', pid);
}

/// The group is gone; its number may be somebody else's soon.
pub fn unguard(pid: u32) {
    tell_guard('-', pid);
}

fn tell_guard(sign: char, pid: u32) {
    if !cfg!(unix) {
        return;
    }
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    if guard.is_none() && sign == '+' {
        match start_guard() {
            Ok(stdin) => *guard = Some(stdin),
            Err(error) => tracing::warn!("no guard for the children of this process: {error}"),
        }
    }
    if let Some(stdin) = guard.as_mut()
        && writeln!(stdin, "{sign} {pid}").is_err()
    {
        *guard = None;
    }
}

fn start_guard() -> std::io::Result<std::process::ChildStdin> {
    let mut command = std::process::Command::new("/bin/sh");
    command
        .args(["-c", GUARD_SCRIPT])
        .env_clear()
        .current_dir("/");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // A group of its own: a terminal's Ctrl-C must not reach it before us.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    child
        .stdin
        .take()
        .ok_or_else(|| std::io::Error::other("no pipe"))
}

/// The last bytes that a child wrote to its standard error.
#[derive(Clone, Default)]
pub struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// Reads to the end, however much comes, and keeps the end of it.
    pub async fn follow(self, mut from: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; 8 << 10];
        while let Ok(count) = from.read(&mut chunk).await {
            if count == 0 {
                return;
            }
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(chunk.get(..count).unwrap_or_default());
            let surplus = kept.len().saturating_sub(STDERR_KEPT);
            kept.drain(..surplus);
        }
    }

    pub fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept.iter().copied().collect::<Vec<u8>>()).into_owned()
    }

    /// The line that most likely says why it stopped, printable and short.
    pub fn reason(&self) -> Option<String> {
        let text = self.text();
        let lines = || text.lines().map(str::trim).filter(|l| !l.is_empty());
        let telling = |l: &&str| {
            ["error", "panic", "fatal", "cannot", "exception"]
                .iter()
                .any(|w| l.to_ascii_lowercase().contains(w))
        };
        let line = lines().rfind(telling).or_else(|| lines().next_back())?;
        Some(printable(line, 200))
    }
}

/// Somebody else's text for a message: one line, no control characters, at most `limit` characters.
pub fn printable(text: &str, limit: usize) -> String {
    let mut out: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(limit)
        .collect();
    if text.chars().nth(limit).is_some() {
        out.push('…');
    }
    out
}
