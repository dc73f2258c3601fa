//! Commits by the git program: the user's own hooks, signing and identity make them, or nothing of a
//! repository's runs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use super::program::{Setting, git, literally, path_of, quiet_settings, untrusted};
use crate::os;

/// Why git did not do it, in its own words where it had some.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("{0} is not in a git repository")]
    NotARepository(String),
    #[error("git is not installed, or not on PATH")]
    NoGit,
    #[error("git says: {0}")]
    Refused(String),
    /// By this name; it makes what is committed of the file, and it may not run.
    #[error("the file needs the filter `{0}`, which runs only in a trusted folder")]
    Filter(String),
    #[error("{0}")]
    Failed(String),
}

/// A file in a repository.
#[derive(Clone, Debug)]
pub struct Place {
    /// The top of the work tree.
    pub top: PathBuf,
    /// The file, relative to it.
    pub file: PathBuf,
}

/// What a commit did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Abbreviated; `None`: the file is as HEAD has it, there was nothing to commit.
    pub hash: Option<String>,
    /// All of its digits.
    pub id: Option<String>,
    /// What is staged still, relative to the top, with `/`.
    pub other_staged: Vec<String>,
    /// Hooks that did not run and a signature that was not made, for the repository is not trusted.
    pub left_out: Vec<String>,
}

/// Where a file (canonical, existing) stands in its repository.
pub fn place(path: &Path) -> Result<Place, GitError> {
    let folder = path.parent().unwrap_or(path);
    let outside = || GitError::NotARepository(path.display().to_string());
    // One answer each: a path may hold a line end.
    let ask = |what: &str| -> Result<PathBuf, GitError> {
        let out = git(folder, &untrusted(), &["rev-parse", what], None)?;
        if out.status.success() {
            return path_of(&out.stdout).ok_or_else(outside);
        }
        let said = String::from_utf8_lossy(&out.stderr).trim().to_owned();
        Err(
            if said.contains("not a git repository") || said.contains("must be run in a work tree")
            {
                outside()
            } else {
                GitError::Refused(said)
            },
        )
    };
    let top = ask("--show-toplevel")?;
    let top = os::canonical(&top).unwrap_or(top);
    let Ok(file) = path.strip_prefix(&top) else {
        return Err(outside());
    };
    Ok(Place {
        file: super::path_for_git(file),
        top,
    })
}

/// Whether the index holds something of this file that neither HEAD nor the disk has: a commit of the file as it
/// stands leaves that behind.
pub fn is_partly_staged(place: &Place) -> bool {
    let Ok(quiet) = quiet_settings(&place.top) else {
        // Then nothing is committed either.
        return false;
    };
    let spec = literally(place.file.as_os_str());
    let differs = |from: &[&str]| {
        let mut args: Vec<&OsStr> = ["diff", "--quiet", "--no-ext-diff", "--no-textconv"]
            .map(OsStr::new)
            .into();
        args.extend(from.iter().map(OsStr::new));
        args.extend([OsStr::new("--"), &spec]);
        git(&place.top, &quiet, &args, None).is_ok_and(|out| out.status.code() == Some(1))
    };
    differs(&["--cached"]) && differs(&[])
}

/// Commits the file as it is on disk, and that file alone. `run_hooks`: its repository is trusted; else no hook or
/// signing program of it runs, and a file that needs a filter is refused. On a refusal it is not in the index if it was
/// not before. Blocking.
pub fn commit_file(place: &Place, message: &str, run_hooks: bool) -> Result<Commit, GitError> {
    let quiet = if run_hooks {
        Vec::new()
    } else {
        super::needs_no_filter(place)?;
        quiet_settings(&place.top)?
    };
    submodules_can_be_read(place)?;
    let file = place.file.as_os_str();
    let spec = literally(file);
    let run = |args: &[&OsStr]| git(&place.top, &quiet, args, None);
    let with_file = |args: &[&str]| {
        let mut args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        args.extend([OsStr::new("--"), &spec]);
        run(&args)
    };
    let oid = |of: &OsStr| -> Result<Option<Vec<u8>>, GitError> {
        let out = run(&["rev-parse", "--verify", "--quiet"]
            .map(OsStr::new)
            .into_iter()
            .chain([of])
            .collect::<Vec<_>>())?;
        Ok(out.status.success().then_some(out.stdout))
    };
    let mut in_head = OsString::from("HEAD:");
    in_head.push(file);
    let head = oid(OsStr::new("HEAD"))?;
    // What the file would be as a blob: git's index may be told not to look (`--assume-unchanged`).
    let mut as_path = OsString::from("--path=");
    as_path.push(file);
    let on_disk = run(&[OsStr::new("hash-object"), &as_path, OsStr::new("--"), file])
        .and_then(accept)?
        .stdout;
    if head.is_some() && oid(&in_head)?.is_some_and(|known| known == on_disk) {
        let same = with_file(&["diff", "--quiet", "--no-ext-diff", "--no-textconv", "HEAD"])?;
        if same.status.success() {
            return Ok(Commit {
                hash: None,
                id: None,
                other_staged: other_staged(place, &quiet)?,
                left_out: Vec::new(),
            });
        }
    }
    let known = with_file(&["ls-files", "--error-unmatch"])?
        .status
        .success();
    let added = match known {
        true => Ok(()),
        false => when_unlocked(|| with_file(&["add"])).map(drop),
    };
    let takes_out = !known && added.is_ok();
    let outcome = added.and_then(|()| {
        // The message by a pipe: an argument has a greatest length.
        let args = ["commit", "--quiet", "--only", "--file=-", "--"].map(OsStr::new);
        let args: Vec<&OsStr> = args.into_iter().chain([spec.as_os_str()]).collect();
        when_unlocked(|| git(&place.top, &quiet, &args, Some(message)))
    });
    if let Err(error) = outcome {
        // It may have made the commit and failed behind it (a full disk, a lock).
        let is_made = oid(OsStr::new("HEAD"))? != head
            && oid(&in_head)?.is_some_and(|known| known == on_disk);
        if !is_made {
            // By itself: another program may have staged files since.
            if takes_out
                && let Err(error) = when_unlocked(|| {
                    run(&["update-index", "--force-remove", "--"]
                        .map(OsStr::new)
                        .into_iter()
                        .chain([file])
                        .collect::<Vec<_>>())
                })
            {
                tracing::error!(%error, "a file that was not committed is staged still");
            }
            return Err(error);
        }
        tracing::warn!(%error, "git made the commit and complained behind it");
    }
    let id = made(&run, head.as_deref(), &spec)?.or(oid(OsStr::new("HEAD"))?);
    let id = id.map(|id| String::from_utf8_lossy(&id).trim().to_owned());
    let short = ["rev-parse", "--short", id.as_deref().unwrap_or("HEAD")].map(OsStr::new);
    let hash = run(&short)?;
    Ok(Commit {
        hash: Some(String::from_utf8_lossy(&hash.stdout).trim().to_owned()),
        id,
        other_staged: other_staged(place, &quiet)?,
        left_out: match run_hooks {
            true => Vec::new(),
            false => super::runs::left_out(place),
        },
    })
}

/// An error where git, which looks for a commit where each submodule stands, would find what is not to be read.
fn submodules_can_be_read(place: &Place) -> Result<(), GitError> {
    for name in super::found::submodules(&place.top)? {
        let folder = place.top.join(name);
        if folder.join(".git").symlink_metadata().is_ok()
            && let Some(why) = super::ordinary::obstacle(&folder)
        {
            return Err(GitError::Failed(why));
        }
    }
    Ok(())
}

/// The newest commit of the file (a pathspec) since HEAD was `head`: HEAD itself may be one that a hook or another program made.
fn made(
    run: &impl Fn(&[&OsStr]) -> Result<Output, GitError>,
    head: Option<&[u8]>,
    file: &OsStr,
) -> Result<Option<Vec<u8>>, GitError> {
    let head = head.map(|head| String::from_utf8_lossy(head).trim().to_owned());
    let range = head.map_or_else(|| String::from("HEAD"), |head| format!("{head}..HEAD"));
    let args = ["rev-list", "-1", range.as_str(), "--"].map(OsStr::new);
    let args: Vec<&OsStr> = args.into_iter().chain([file]).collect();
    let out = run(&args)?;
    Ok((out.status.success() && !out.stdout.is_empty()).then_some(out.stdout))
}

/// How long another program's lock of the index is waited for, and how often it is looked at.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// Has git do what needs the index, again while another program has it locked: git finds that before it does anything,
/// and before a hook runs.
fn when_unlocked(run: impl Fn() -> Result<Output, GitError>) -> Result<Output, GitError> {
    let is_locked = |said: &str| {
        said.starts_with("fatal: Unable to create '") && said.contains("index.lock': File exists")
    };
    let until = Instant::now() + PATIENCE;
    loop {
        match run().and_then(accept) {
            Err(GitError::Refused(said)) if is_locked(&said) && Instant::now() < until => {
                std::thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}

fn other_staged(place: &Place, quiet: &[Setting]) -> Result<Vec<String>, GitError> {
    let args = [
        "diff",
        "--cached",
        "--name-only",
        "-z",
        "--no-ext-diff",
        "--no-textconv",
    ];
    let out = git(&place.top, quiet, &args, None)?;
    let own = place.file.as_os_str().as_encoded_bytes();
    let names = out.stdout.split(|byte| *byte == 0);
    Ok(names
        .filter(|name| !name.is_empty() && *name != own)
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect())
}

fn accept(out: Output) -> Result<Output, GitError> {
    if out.status.success() {
        return Ok(out);
    }
    let said =
        [&out.stderr, &out.stdout].map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
    let said = said.iter().find(|text| !text.is_empty()).cloned();
    Err(GitError::Refused(said.unwrap_or_else(
        || match out.status.code() {
            Some(code) => format!("exit status {code}"),
            None => String::from("nothing, for it was stopped"),
        },
    )))
}
