//! The git program, run so that nothing of a repository's configuration runs with it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Instant;

use super::{GitError, ordinary};
use crate::os;

/// Bytes of what git prints that are read.
const MOST_PRINTED: u64 = 128 << 20;
/// What git may ask the system for at once where it only reads: an object of a megabyte may be one of gigabytes once it
/// is unpacked.
const MOST_AT_ONCE: usize = os::MOST_OF_GIT;

/// A setting of ours: its name and value. A part of a name may hold any byte but a NUL and a line end.
pub(super) type Setting = (OsString, &'static str);

/// Enough for calls that look at no file and write nothing.
pub(super) fn untrusted() -> Vec<Setting> {
    vec![(OsString::from("core.hooksPath"), "/dev/null")]
}

/// So many programs no configuration names in earnest, and a command line has an end.
const MOST_NAMED: usize = 1_000;

/// Switches off, by name, everything of a repository's configuration that would run a program. An error: not all of it
/// is known, and so git may not be run.
pub(super) fn quiet_settings(top: &Path) -> Result<Vec<Setting>, GitError> {
    let mut settings: Vec<Setting> = [
        ("core.hooksPath", "/dev/null"),
        ("commit.gpgSign", "false"),
        // Clearing up may run a hook or a program too.
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
        ("core.attributesFile", "/dev/null"),
    ]
    .map(|(name, value)| (OsString::from(name), value))
    .into();
    // Not by a pattern of git's: that finds no name which is no UTF-8.
    let names = configuration(top, &["--name-only"])?;
    let named: HashSet<_> = names
        .split(|byte| *byte == 0)
        .filter_map(switched_off)
        .collect();
    if named.len() > MOST_NAMED {
        return Err(GitError::Failed(format!(
            "git's configuration names more than {MOST_NAMED} filters, drivers and hooks"
        )));
    }
    for (name, value) in named {
        settings.push((name_of(&name)?, value));
    }
    Ok(settings)
}

/// The settings that count in a repository, each ended by a NUL; nothing of it runs.
pub(super) fn configuration(top: &Path, options: &[&str]) -> Result<Vec<u8>, GitError> {
    let args = [&["config", "--null", "--list"], options].concat();
    let out = git(top, &untrusted(), &args, None)?;
    match out.status.success() {
        true => Ok(out.stdout),
        false => Err(GitError::Refused(
            String::from_utf8_lossy(&out.stderr).trim().to_owned(),
        )),
    }
}

/// What has git run nothing for a setting of this name, where it would.
fn switched_off(name: &[u8]) -> Option<(Cow<'_, [u8]>, &'static str)> {
    let (section, rest) = name.split_at(memchr::memchr(b'.', name)?);
    let (own, what) = rest.split_at(memchr::memrchr(b'.', rest)?);
    match (section, what) {
        (b"filter" | b"diff" | b"merge", b".required") => Some((name.into(), "false")),
        (
            b"filter" | b"diff" | b"merge",
            b".clean" | b".smudge" | b".process" | b".command" | b".textconv" | b".driver",
        ) => Some((name.into(), "")),
        // Of such a hook git makes no file, so that it runs wherever `core.hooksPath` leads.
        (b"hook", b".command" | b".event") => {
            let enabled = [section, own, b".enabled"].concat();
            Some((enabled.into(), "false"))
        }
        _ => None,
    }
}

/// A setting's name as git prints it. An error where a program cannot be told of every name.
fn name_of(printed: &[u8]) -> Result<OsString, GitError> {
    #[cfg(unix)]
    return Ok(std::os::unix::ffi::OsStringExt::from_vec(printed.to_vec()));
    #[cfg(not(unix))]
    return match std::str::from_utf8(printed) {
        Ok(name) => Ok(name.into()),
        Err(_) => Err(GitError::Failed(String::from(
            "git's configuration has a name that is no UTF-8, and cannot be switched off by it",
        ))),
    };
}

/// Runs git without a terminal, an editor, a pager or a file system monitor; `input` is what it can read.
/// `settings`: none only where the workspace is trusted; with any, nothing is fetched either, for a partial
/// clone names the program that fetches what it has not.
pub(super) fn git(
    folder: &Path,
    settings: &[Setting],
    args: &[impl AsRef<OsStr>],
    input: Option<&str>,
) -> Result<Output, GitError> {
    let mut command = prepared(folder, settings, args)?;
    match input {
        None => command.stdin(Stdio::null()),
        Some(input) => command.stdin(readable(input.as_bytes())?),
    };
    command.output().map_err(not_started)
}

/// [`git`] for what may take its time: it is ended at `until`, and that is an error.
pub(super) fn git_until(
    folder: &Path,
    settings: &[Setting],
    args: &[impl AsRef<OsStr>],
    input: &[u8],
    until: Instant,
) -> Result<Output, GitError> {
    let mut said = tempfile::tempfile().map_err(not_started)?;
    let stderr = said.try_clone().map_err(not_started)?;
    let mut child = prepared(folder, settings, args)?
        .stdin(readable(input)?)
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .map_err(not_started)?;
    let printed = child.stdout.take();
    let child = Arc::new(Mutex::new(child));
    let (ended, waits) = mpsc::channel::<()>();
    let watched = child.clone();
    let watch = std::thread::spawn(move || {
        let left = until.saturating_duration_since(Instant::now());
        let late = waits.recv_timeout(left) == Err(mpsc::RecvTimeoutError::Timeout);
        if late {
            let mut child = watched.lock().unwrap_or_else(PoisonError::into_inner);
            // There `git.exe` on PATH may only start the one that works.
            if cfg!(windows) {
                os::end_group(child.id(), true);
            }
            let _ = child.kill();
        }
        late
    });
    let mut stdout = Vec::new();
    let read = printed.map_or(Ok(0), |printed| {
        printed.take(MOST_PRINTED + 1).read_to_end(&mut stdout)
    });
    // Where it prints more, it ends by itself: nobody reads it.
    drop(ended);
    let late = watch.join().unwrap_or(false);
    let status = child
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .wait()
        .map_err(not_started)?;
    if late {
        return Err(GitError::Failed(String::from(
            "git took too long, so it was stopped",
        )));
    }
    read.map_err(not_started)?;
    if u64::try_from(stdout.len()).is_ok_and(|length| length > MOST_PRINTED) {
        return Err(GitError::Failed(format!(
            "git printed more than {} MiB, so it was stopped",
            MOST_PRINTED >> 20
        )));
    }
    let mut stderr = Vec::new();
    said.rewind()
        .and_then(|()| said.read_to_end(&mut stderr))
        .map_err(not_started)?;
    Ok(Output {
        status,
        stdout,
        stderr,
    })
}

fn not_started(error: std::io::Error) -> GitError {
    GitError::Failed(format!("git could not be started: {error}"))
}

/// A file, not a pipe: nobody has to write while another reads.
fn readable(input: &[u8]) -> Result<std::fs::File, GitError> {
    let mut file = tempfile::tempfile().map_err(not_started)?;
    file.write_all(input)
        .and_then(|()| file.rewind())
        .map_err(not_started)?;
    Ok(file)
}

fn prepared(
    folder: &Path,
    settings: &[Setting],
    args: &[impl AsRef<OsStr>],
) -> Result<Command, GitError> {
    if let Some(why) = ordinary::obstacle_to_objects(folder) {
        return Err(GitError::Failed(why));
    }
    let mut command = Command::new(program(folder).ok_or(GitError::NoGit)?);
    os::no_window(&mut command);
    command
        .current_dir(folder)
        .arg("--no-pager")
        .args(["-c", "core.fsmonitor=false"]);
    for (name, value) in settings {
        let mut setting = name.clone();
        // `-c` ends a name at its first `=`, the other at the last one. A git before 2.31 does not know that and does
        // nothing then.
        if name.as_encoded_bytes().contains(&b'=') {
            let holds = format!("POSTIL_SAYS_{value}");
            setting.push(format!("={holds}"));
            let mut argument = OsString::from("--config-env=");
            argument.push(setting);
            command.arg(argument).env(holds, value);
        } else {
            setting.push(format!("={value}"));
            command.arg("-c").arg(setting);
        }
    }
    command
        .args(args)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", "true")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("LC_ALL", "C.UTF-8");
    // Of the repository whose hook runs us, perhaps; the file may be another's.
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
        "GIT_LITERAL_PATHSPECS",
    ] {
        command.env_remove(name);
    }
    if !settings.is_empty() {
        command
            // It has `git config`, and nothing else of git, read this file alone.
            .env_remove("GIT_CONFIG")
            .env("GIT_ALLOC_LIMIT", MOST_AT_ONCE.to_string())
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none");
    }
    Ok(command)
}

/// The one file of this name, whatever is in it. Said by each name and not to git as a whole (`GIT_LITERAL_PATHSPECS`),
/// for hooks would hear that too, and `*.py` be no pattern there.
pub(super) fn literally(file: &OsStr) -> OsString {
    let mut spec = OsString::from(":(literal)");
    spec.push(file);
    spec
}

/// A path as git prints it.
pub(super) fn path_of(printed: &[u8]) -> Option<PathBuf> {
    let line = printed.strip_suffix(b"\n").unwrap_or(printed);
    let line = line
        .strip_suffix(b"\r")
        .filter(|_| cfg!(windows))
        .unwrap_or(line);
    (!line.is_empty()).then(|| super::bytes_to_path(line).into_owned())
}

/// git on PATH, but for what lies in a project: the one that it is to work in, or the one where we stand.
fn program(folder: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let here = std::env::current_dir().ok();
    let projects: Vec<PathBuf> = [Some(folder), here.as_deref()]
        .into_iter()
        .flatten()
        .map(|folder| os::canonical(folder).unwrap_or_else(|_| folder.to_owned()))
        .map(|folder| project(&folder).to_owned())
        // `/` is no project: everything is below it.
        .filter(|project| project.parent().is_some())
        .collect();
    let inside = |file: &Path| {
        let real = os::canonical(file).unwrap_or_else(|_| file.to_owned());
        projects
            .iter()
            .any(|project| file.starts_with(project) || real.starts_with(project))
    };
    std::env::split_paths(&path)
        .filter(|entry| entry.is_absolute())
        .map(|entry| entry.join(if cfg!(windows) { "git.exe" } else { "git" }))
        .find(|file| file.is_file() && !inside(file))
}

/// The top of the repository that `folder` is in, else itself.
fn project(folder: &Path) -> &Path {
    folder
        .ancestors()
        .find(|above| above.join(".git").symlink_metadata().is_ok())
        .unwrap_or(folder)
}

/// What `git --version` says in this folder; `None` where there is no git.
pub fn version(folder: &Path) -> Option<String> {
    let mut command = Command::new(program(folder)?);
    os::no_window(&mut command);
    // Whatever the folder's own repository is like.
    command.arg("--version").current_dir(os::neutral_folder());
    let out = command.stdin(Stdio::null()).output().ok()?;
    out.status
        .success()
        .then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_switched_off_whatever_bytes_its_name_holds() {
        let off = |name: &'static [u8]| {
            switched_off(name).map(|(name, value)| (name.into_owned(), value))
        };
        for name in [
            b"filter.a.clean".as_slice(),
            b"filter.a=b.smudge",
            b"filter.a.b.process",
            b"filter.\xff.clean",
            b"diff.x.textconv",
            b"diff.x.command",
            b"merge.x.driver",
        ] {
            assert_eq!(off(name), Some((name.to_owned(), "")));
        }
        assert_eq!(
            off(b"filter.\xff.required"),
            Some((b"filter.\xff.required".to_vec(), "false"))
        );
        for name in [b"hook.a.b=c.command".as_slice(), b"hook.a.b=c.event"] {
            assert_eq!(off(name), Some((b"hook.a.b=c.enabled".to_vec(), "false")));
        }
        for name in [b"user.name".as_slice(), b"diff.x.xfuncname", b""] {
            assert_eq!(off(name), None);
        }
    }
}
