//! Commits by the git program: the user's own hooks, signing and identity make them, or nothing of a
//! repository's runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Why git did not do it, in its own words where it had some.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("{0} is not in a git repository; nothing was written")]
    NotARepository(String),
    #[error("git is not installed, or not on PATH")]
    NoGit,
    #[error("git refused, and file and index are as they were: {0}")]
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
    /// What is staged still, relative to the top, with `/`.
    pub other_staged: Vec<String>,
}

/// Where a file (canonical, existing) stands in its repository.
pub fn place(path: &Path) -> Result<Place, GitError> {
    let folder = path.parent().unwrap_or(path);
    let shown = path.display().to_string();
    let out = git(
        folder,
        &[],
        &["rev-parse", "--show-toplevel", "--absolute-git-dir"],
    )?;
    if !out.status.success() {
        return Err(GitError::NotARepository(shown));
    }
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut lines = text.lines().map(PathBuf::from);
    let (Some(top), Some(git_dir)) = (lines.next(), lines.next()) else {
        return Err(GitError::NotARepository(shown));
    };
    let top = top.canonicalize().unwrap_or(top);
    let Ok(file) = path.strip_prefix(&top) else {
        return Err(GitError::NotARepository(shown));
    };
    Ok(Place {
        file: file.to_owned(),
        index: git_dir.join("index"),
        top,
    })
}

/// Commits the file as it is on disk, and that file alone. `run_hooks`: the workspace is trusted; else no
/// hook, filter or signing program of the repository runs. On a refusal the index is put back. Blocking.
pub fn commit_file(place: &Place, message: &str, run_hooks: bool) -> Result<Commit, GitError> {
    let quiet = if run_hooks {
        Vec::new()
    } else {
        quiet_settings(&place.top)
    };
    let file = place.file.to_string_lossy().into_owned();
    let index_before = std::fs::read(&place.index).ok();
    let run = |args: &[&str]| git(&place.top, &quiet, args);

    let has_head = run(&["rev-parse", "--verify", "--quiet", "HEAD"])?
        .status
        .success();
    if has_head
        && run(&[
            "cat-file",
            "-e",
            &format!("HEAD:{}", with_slashes(&place.file)),
        ])?
        .status
        .success()
    {
        let same = run(&[
            "diff",
            "--quiet",
            "--no-ext-diff",
            "--no-textconv",
            "HEAD",
            "--",
            &file,
        ])?;
        if same.status.success() {
            return Ok(Commit {
                hash: None,
                other_staged: other_staged(place, &quiet)?,
            });
        }
    }
    let known = run(&["ls-files", "--error-unmatch", "--", &file])?
        .status
        .success();
    let outcome = if known {
        Ok(())
    } else {
        run(&["add", "--", &file]).and_then(accept)
    };
    let outcome = outcome.and_then(|()| {
        run(&["commit", "--quiet", "--only", "-m", message, "--", &file]).and_then(accept)
    });
    if let Err(error) = outcome {
        restore_index(place, index_before.as_deref());
        return Err(error);
    }
    let hash = run(&["rev-parse", "--short", "HEAD"])?;
    Ok(Commit {
        hash: Some(String::from_utf8_lossy(&hash.stdout).trim().to_owned()),
        other_staged: other_staged(place, &quiet)?,
    })
}

fn other_staged(place: &Place, quiet: &[String]) -> Result<Vec<String>, GitError> {
    let out = git(
        &place.top,
        quiet,
        &[
            "diff",
            "--cached",
            "--name-only",
            "-z",
            "--no-ext-diff",
            "--no-textconv",
        ],
    )?;
    let own = with_slashes(&place.file);
    let names = out
        .stdout
        .split(|byte| *byte == 0)
        .map(String::from_utf8_lossy);
    Ok(names
        .filter(|name| !name.is_empty() && **name != *own)
        .map(std::borrow::Cow::into_owned)
        .collect())
}

fn accept(out: Output) -> Result<(), GitError> {
    if out.status.success() {
        return Ok(());
    }
    let said =
        [out.stderr, out.stdout].map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    let said = said.iter().find(|text| !text.is_empty()).cloned();
    Err(GitError::Refused(said.unwrap_or_else(|| {
        format!("exit status {}", out.status.code().unwrap_or(-1))
    })))
}

/// Puts the index back as it was, by git's own protocol: the lock file is written and renamed.
fn restore_index(place: &Place, before: Option<&[u8]>) {
    if std::fs::read(&place.index).ok().as_deref() == before {
        return;
    }
    let lock = place.index.with_extension("lock");
    let Ok(mut file) = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&lock)
    else {
        return;
    };
    let written = match before {
        Some(bytes) => std::io::Write::write_all(&mut file, bytes)
            .and_then(|()| std::fs::rename(&lock, &place.index)),
        None => std::fs::remove_file(&place.index).and_then(|()| std::fs::remove_file(&lock)),
    };
    if let Err(error) = written {
        tracing::error!(%error, "git's index could not be put back");
        let _ = std::fs::remove_file(&lock);
    }
}

/// Switches off, by name, everything of a repository's configuration that would run a program.
fn quiet_settings(top: &Path) -> Vec<String> {
    let mut settings: Vec<String> = [
        "core.hooksPath=/dev/null",
        "commit.gpgSign=false",
        "core.attributesFile=/dev/null",
    ]
    .map(str::to_owned)
    .into();
    let names = git(
        top,
        &[],
        &[
            "config",
            "--name-only",
            "-z",
            "--get-regexp",
            r"^(filter|diff|merge)\..*\.(clean|smudge|process|required|command|textconv|driver)$",
        ],
    );
    let names = names
        .map(|out| String::from_utf8_lossy(&out.stdout).into_owned())
        .unwrap_or_default();
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        let value = if name.ends_with(".required") {
            "false"
        } else {
            ""
        };
        settings.push(format!("{name}={value}"));
    }
    settings
}

/// Runs git without a terminal, an editor, a pager or a file system monitor.
fn git(folder: &Path, settings: &[String], args: &[&str]) -> Result<Output, GitError> {
    let mut command = Command::new(program(folder).ok_or(GitError::NoGit)?);
    command
        .current_dir(folder)
        .arg("--no-pager")
        .args(["-c", "core.fsmonitor=false"]);
    for setting in settings {
        command.args(["-c", setting]);
    }
    command
        .args(args)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", "true")
        .env("GIT_LITERAL_PATHSPECS", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .stdin(Stdio::null());
    command
        .output()
        .map_err(|error| GitError::Failed(format!("git could not be started: {error}")))
}

/// git on PATH, but for what lies in the current folder or in the one it is to work in.
fn program(folder: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    // `/` is asked for the version alone: nothing of a project is below it that is not below any other folder.
    let inside = |entry: &Path| folder.parent().is_some() && entry.starts_with(folder);
    std::env::split_paths(&path)
        .filter(|entry| entry.is_absolute() && !inside(entry))
        .map(|entry| entry.join(if cfg!(windows) { "git.exe" } else { "git" }))
        .find(|file| file.is_file())
}

/// What `git --version` says; `None` where there is no git.
pub fn version() -> Option<String> {
    let out = git(Path::new("/"), &[], &["--version"]).ok()?;
    out.status
        .success()
        .then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

fn with_slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}
