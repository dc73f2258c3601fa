//! Commits by the git program: the user's own hooks, signing and identity make them, or nothing of a
//! repository's runs.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::program::{git, path_of, quiet_settings, untrusted};
use crate::os;

/// Why git did not do it, in its own words where it had some.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("{0} is not in a git repository; nothing was written")]
    NotARepository(String),
    #[error("git is not installed, or not on PATH")]
    NoGit,
    #[error("git says: {0}")]
    Refused(String),
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
    /// The index of this work tree (a linked one has its own).
    index: PathBuf,
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
                GitError::Failed(format!("nothing was written; git says: {said}"))
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
        index: ask("--absolute-git-dir")?.join("index"),
        top,
    })
}

/// Whether the index holds something of this file that neither HEAD nor the disk has: a commit of the file as it
/// stands leaves that behind.
pub fn is_partly_staged(place: &Place) -> bool {
    let quiet = quiet_settings(&place.top);
    let differs = |from: &[&str]| {
        let mut args: Vec<&OsStr> = ["diff", "--quiet", "--no-ext-diff", "--no-textconv"]
            .map(OsStr::new)
            .into();
        args.extend(from.iter().map(OsStr::new));
        args.extend([OsStr::new("--"), place.file.as_os_str()]);
        git(&place.top, &quiet, &args, None).is_ok_and(|out| out.status.code() == Some(1))
    };
    differs(&["--cached"]) && differs(&[])
}

/// Commits the file as it is on disk, and that file alone. `run_hooks`: the workspace is trusted; else no
/// hook, filter or signing program of the repository runs. On a refusal the index is put back. Blocking.
pub fn commit_file(place: &Place, message: &str, run_hooks: bool) -> Result<Commit, GitError> {
    let quiet = if run_hooks {
        Vec::new()
    } else {
        quiet_settings(&place.top)
    };
    let file = place.file.as_os_str();
    let run = |args: &[&OsStr]| git(&place.top, &quiet, args, None);
    let with_file = |args: &[&str]| {
        let mut args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        args.extend([OsStr::new("--"), file]);
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
            });
        }
    }
    let known = with_file(&["ls-files", "--error-unmatch"])?
        .status
        .success();
    let before = std::fs::read(&place.index).ok();
    let mut added = None;
    let outcome = if known {
        Ok(())
    } else {
        let outcome = with_file(&["add"]).and_then(accept);
        added = std::fs::read(&place.index).ok();
        outcome.map(|_| ())
    };
    let outcome = outcome.and_then(|()| {
        // The message by a pipe: an argument has a greatest length.
        let args = ["commit", "--quiet", "--only", "--file=-", "--"].map(OsStr::new);
        let args: Vec<&OsStr> = args.into_iter().chain([file]).collect();
        git(&place.top, &quiet, &args, Some(message)).and_then(accept)
    });
    if let Err(error) = outcome {
        // It may have made the commit and failed behind it (a full disk, a lock).
        let made = oid(OsStr::new("HEAD"))? != head
            && oid(&in_head)?.is_some_and(|known| known == on_disk);
        if !made {
            if !known {
                take_out(place, before.as_deref(), added.as_deref());
            }
            return Err(error);
        }
        tracing::warn!(%error, "git made the commit and complained behind it");
    }
    let hash = run(&["rev-parse", "--short", "HEAD"].map(OsStr::new))?;
    let id = oid(OsStr::new("HEAD"))?;
    Ok(Commit {
        hash: Some(String::from_utf8_lossy(&hash.stdout).trim().to_owned()),
        id: id.map(|id| String::from_utf8_lossy(&id).trim().to_owned()),
        other_staged: other_staged(place, &quiet)?,
    })
}

fn other_staged(place: &Place, quiet: &[String]) -> Result<Vec<String>, GitError> {
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
    Err(GitError::Refused(said.unwrap_or_else(|| {
        format!("exit status {}", out.status.code().unwrap_or(-1))
    })))
}

/// Undoes our `git add`: the index as it was, if nobody has changed it since; else without the file.
fn take_out(place: &Place, before: Option<&[u8]>, added: Option<&[u8]>) {
    let now = std::fs::read(&place.index).ok();
    if now.as_deref() == before {
        return;
    }
    let undone = if now.as_deref() == added {
        restore_index(place, before)
    } else {
        let args = ["update-index", "--force-remove", "--"].map(OsStr::new);
        let args: Vec<&OsStr> = args.into_iter().chain([place.file.as_os_str()]).collect();
        let out = git(&place.top, &quiet_settings(&place.top), &args, None).and_then(accept);
        out.map(|_| ()).map_err(std::io::Error::other)
    };
    if let Err(error) = undone {
        tracing::error!(%error, "git's index could not be put back");
    }
}

/// By git's own protocol: the lock file is written and renamed.
fn restore_index(place: &Place, before: Option<&[u8]>) -> std::io::Result<()> {
    let lock = place.index.with_extension("lock");
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&lock)?;
    let written = match before {
        Some(bytes) => file
            .write_all(bytes)
            .and_then(|()| std::fs::rename(&lock, &place.index)),
        None => std::fs::remove_file(&place.index).and_then(|()| std::fs::remove_file(&lock)),
    };
    if written.is_err() {
        let _ = std::fs::remove_file(&lock);
    }
    written
}
