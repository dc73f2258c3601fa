//! What of a repository git would run for a commit.

use std::path::{Path, PathBuf};

use git2::{ConfigLevel, Repository};

use super::commit::Place;
use super::program::{git, untrusted};
use crate::os;

/// The hooks of a commit, in their order.
const HOOKS: &[&str] = &[
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
];

/// What the configuration names that git runs for the repository at or above `root`.
#[derive(Default)]
pub struct Runs {
    /// Where `core.hooksPath` has it look for hooks, if that lies in the work tree.
    pub hooks: Option<PathBuf>,
    /// The repository's own settings that are a program or a folder of such: name and value.
    pub settings: Vec<(String, String)>,
}

/// Nothing where there is no repository, or none that libgit2 opens.
pub fn runs(root: &Path) -> Runs {
    read(root).unwrap_or_default()
}

fn read(root: &Path) -> Option<Runs> {
    let repository = Repository::discover(root).ok()?;
    let config = repository.config().ok()?.snapshot().ok()?;
    let mut settings = Vec::new();
    let mut entries = config.entries(None).ok()?;
    while let Some(Ok(entry)) = entries.next() {
        let is_own = matches!(entry.level(), ConfigLevel::Local | ConfigLevel::Worktree);
        let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
        let is_program =
            name == "core.hookspath" || name.starts_with("gpg.") && name.ends_with("program");
        if is_own && is_program {
            let value = String::from_utf8_lossy(entry.value_bytes()).into_owned();
            settings.push((name, value));
        }
    }
    let hooks = || {
        let top = os::canonical(repository.workdir()?).ok()?;
        let folder = top.join(config.get_path("core.hooksPath").ok()?);
        let folder = os::canonical(&folder).unwrap_or(folder);
        folder.starts_with(&top).then_some(folder)
    };
    Some(Runs {
        hooks: hooks(),
        settings,
    })
}

#[cfg(unix)]
fn would_run(hook: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(hook).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn would_run(hook: &Path) -> bool {
    hook.is_file()
}

/// What a commit leaves out where nothing of the repository may run, as it is named in a sentence.
pub(super) fn left_out(place: &Place) -> Vec<String> {
    // Without the settings that keep hooks off: nothing is run to tell where they are.
    let none: [String; 0] = [];
    let asked = |args: &[&str], settings: &[String]| {
        let out = git(&place.top, settings, args, None).ok()?;
        let text = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        out.status.success().then_some(text)
    };
    let folder = asked(&["rev-parse", "--git-path", "hooks"], &none);
    let folder = folder.map(|folder| place.top.join(folder));
    let stands = |hook: &&&str| {
        let folder = folder.as_deref();
        folder.is_some_and(|folder| would_run(&folder.join(hook)))
    };
    let mut left: Vec<String> = HOOKS
        .iter()
        .filter(stands)
        .map(|hook| format!("the hook `{hook}`"))
        .collect();
    let signs = ["config", "--type=bool", "--get", "commit.gpgSign"];
    if asked(&signs, &untrusted()).as_deref() == Some("true") {
        left.push(String::from("the signature"));
    }
    left
}
