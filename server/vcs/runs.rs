//! What of a repository git would run for a commit.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use git2::{ConfigLevel, ErrorCode, Repository};

use super::GitError;
use super::commit::Place;
use super::program::{Setting, configuration, git, untrusted, version};
use crate::os;

/// The hooks of a commit, in their order.
const HOOKS: &[&str] = &[
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
];

/// Included files that are looked for; more have no meaning.
const MOST: usize = 50;

/// What the configuration names that git runs for the repository at or above `root`.
#[derive(Default)]
pub struct Runs {
    /// The folders without links where it may look for hooks: the repository's own, and that of `core.hooksPath` if it
    /// lies in the work tree.
    pub hooks: Vec<PathBuf>,
    /// What it obeys in the work tree: those folders, what links in them lead to, and files that its settings go on in
    /// (`include.path`), also those that are not there yet.
    pub obeyed: Vec<PathBuf>,
    /// The repository's own settings by which a commit runs something, a program or a folder of such: name and value.
    pub settings: Vec<(String, String)>,
}

/// Nothing where there is no repository, or none whose settings can be read.
pub fn runs(root: &Path) -> Runs {
    let runs = match super::ordinary::discover(root) {
        Ok(repository) => read(&repository),
        Err(error) if error.code() == ErrorCode::NotFound => None,
        Err(_) => asked(root),
    };
    runs.unwrap_or_default()
}

fn read(repository: &Repository) -> Option<Runs> {
    let config = repository.config().ok()?.snapshot().ok()?;
    let mut settings = Vec::new();
    let mut included = Vec::new();
    let mut entries = config.entries(None).ok()?;
    while let Some(Ok(entry)) = entries.next() {
        let is_own = matches!(entry.level(), ConfigLevel::Local | ConfigLevel::Worktree);
        let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
        if is_own && (names_program(&name) || fetches(&name)) {
            let value = String::from_utf8_lossy(entry.value_bytes()).into_owned();
            settings.push((name, value));
        } else if is_own && includes(&name) {
            included.push(super::bytes_to_path(entry.value_bytes()).into_owned());
        }
    }
    let top = repository.workdir().and_then(|top| os::canonical(top).ok());
    let named = config.get_path("core.hooksPath").ok();
    let mut runs = Runs::found(top.as_deref(), repository.commondir(), named, &included);
    runs.settings = that_run(settings);
    Some(runs)
}

/// Of a repository that libgit2 does not open: its settings as the git program lists them.
fn asked(root: &Path) -> Option<Runs> {
    let top = super::top(root)?;
    let list = ["config", "--null", "--show-scope", "--list"];
    let out = git(root, &untrusted(), &list, None).ok()?;
    if !out.status.success() {
        return None;
    }
    let mut settings = Vec::new();
    let mut hooks = None;
    let mut included = Vec::new();
    let mut parts = out.stdout.split(|byte| *byte == 0);
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let (name, value) = setting(entry);
        if includes(&name) && (scope == b"local" || scope == b"worktree") {
            included.push(super::bytes_to_path(value).into_owned());
        }
        // What we hand over ourselves keeps hooks off.
        if scope == b"command" || !(names_program(&name) || fetches(&name)) {
            continue;
        }
        if name == "core.hookspath" {
            hooks = Some(super::bytes_to_path(value).into_owned());
        }
        if scope == b"local" || scope == b"worktree" {
            let value = String::from_utf8_lossy(value).into_owned();
            settings.push((name, value));
        }
    }
    let hooks = hooks.map(|folder| match (folder.strip_prefix("~"), os::home()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => folder,
    });
    let common = super::common_folder(root)?;
    let mut runs = Runs::found(Some(&top), &common, hooks, &included);
    runs.settings = that_run(settings);
    Some(runs)
}

impl Runs {
    /// `named`: by `core.hooksPath`.
    fn found(
        top: Option<&Path>,
        common: &Path,
        named: Option<PathBuf>,
        included: &[PathBuf],
    ) -> Self {
        let common = os::resolved(common);
        let mut hooks = vec![led_to(&common.join("hooks"))];
        let mut obeyed = Vec::new();
        if let Some(top) = top {
            let named = named.map(|folder| led_to(&top.join(folder)));
            hooks.extend(named.filter(|folder| folder.starts_with(top)));
            obeyed.extend(in_it(top, &common, included));
        }
        let linked = hooks.iter().flat_map(|folder| linked(folder));
        let of_hooks = hooks.iter().cloned().chain(linked);
        // Git's own folder of hooks is guarded as that.
        obeyed.extend(of_hooks.filter(|place| !place.starts_with(&common)));
        Self {
            hooks,
            obeyed,
            settings: Vec::new(),
        }
    }
}

/// What the links in a folder lead to, also where that is not there yet.
fn linked(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links
        .take(MOST)
        .map(|entry| led_to(&entry.path()))
        .collect()
}

/// A path without links, also where the last one leads to what is not there.
fn led_to(path: &Path) -> PathBuf {
    let (Some(folder), Ok(target)) = (path.parent(), std::fs::read_link(path)) else {
        return os::resolved(path);
    };
    let target = folder.join(target);
    os::canonical(&target).unwrap_or_else(|_| os::resolved(&os::without_dots(&target)))
}

/// Name and value of what `git config --null` prints; a setting without a value is on.
fn setting(entry: &[u8]) -> (String, &[u8]) {
    let mut parts = entry.splitn(2, |byte| *byte == b'\n');
    let name = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    (name, parts.next().unwrap_or(b"true"))
}

/// Whether git runs, with a commit, what a setting of this name says. Pagers, editors, monitors and drivers of a diff
/// it does not: see program.rs.
fn names_program(name: &str) -> bool {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    match name.split('.').next() {
        Some("core") => name == "core.hookspath",
        // Clearing up behind a commit.
        Some("gc") => name == "gc.recentobjectshook",
        Some("gpg") => ends(&["program", ".defaultkeycommand"]),
        Some("filter") => ends(&[".clean", ".process"]),
        Some("hook") => ends(&[".command"]),
        _ => false,
    }
}

/// The same of what it has not and fetches meanwhile, in a partial clone.
fn fetches(name: &str) -> bool {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    match name.split('.').next() {
        Some("core") => matches!(name, "core.sshcommand" | "core.gitproxy" | "core.askpass"),
        Some("credential") => ends(&[".helper"]),
        Some("remote") => ends(&[".uploadpack", ".vcs", ".promisor"]),
        Some("extensions") => name == "extensions.partialclone",
        _ => false,
    }
}

/// Without what is for fetching, where nothing is fetched.
fn that_run(mut settings: Vec<(String, String)>) -> Vec<(String, String)> {
    let says = |name: &str| name.ends_with(".promisor") || name == "extensions.partialclone";
    let is_partial = settings.iter().any(|(name, _)| says(name));
    settings.retain(|(name, _)| names_program(name) || is_partial && !says(name));
    settings
}

fn includes(name: &str) -> bool {
    name == "include.path" || name.starts_with("includeif.") && name.ends_with(".path")
}

/// Those of the files that lie in the work tree. A relative one is named from where the file lies that names it: the
/// repository's, in `own`, or one of the others that is there.
fn in_it(top: &Path, own: &Path, named: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut folders = vec![own.to_owned()];
    let mut at = 0;
    while let Some(folder) = folders.get(at).cloned() {
        for path in named.iter().take(MOST) {
            let file = os::resolved(&os::without_dots(&folder.join(path)));
            if !file.starts_with(top) || found.contains(&file) {
                continue;
            }
            if file.is_file() && folders.len() < MOST {
                folders.extend(file.parent().map(Path::to_owned));
            }
            found.push(file);
        }
        at += 1;
    }
    found
}

/// An error where the file's attributes name a filter that makes what is committed of it (git-crypt, LFS): without it
/// the file would be committed as it stands on disk.
pub fn needs_no_filter(place: &Place) -> Result<(), GitError> {
    let [command, z, attribute, end] = ["check-attr", "-z", "filter", "--"].map(OsStr::new);
    let args = [command, z, attribute, end, place.file.as_os_str()];
    let said = git(&place.top, &untrusted(), &args, None)?.stdout;
    // `<path> NUL filter NUL <value> NUL`
    let Some(filter) = said.split(|byte| *byte == 0).nth(2) else {
        return Err(GitError::Failed(String::from(
            "git does not say whether the file has a filter",
        )));
    };
    let filter = String::from_utf8_lossy(filter).into_owned();
    let set = configuration(&place.top, &[])?;
    let of_it = |entry: &[u8]| {
        let (name, value) = setting(entry);
        let name = name.strip_prefix("filter.");
        let what = name.and_then(|name| name.strip_prefix(&*filter)?.strip_prefix('.'));
        match what {
            Some("clean" | "process") => !value.is_empty(),
            // Then git itself refuses where there is no program.
            Some("required") => !is_no(value),
            _ => false,
        }
    };
    match set.split(|byte| *byte == 0).any(of_it) {
        true => Err(GitError::Filter(filter)),
        false => Ok(()),
    }
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
    let none: [Setting; 0] = [];
    let asked = |args: &[&str], settings: &[Setting]| {
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
    // Only a few repositories name one: git is asked for its version for these alone.
    let named = configuration(&place.top, &[]).map(|set| named_hooks(&set));
    let named = named.unwrap_or_default();
    if !named.is_empty() && runs_named_hooks(&place.top) {
        left.extend(named.into_iter().map(|name| {
            let name = crate::present::short(&name, 100);
            format!("the hook `{name}`")
        }));
    }
    let signs = ["config", "--type=bool", "--get", "commit.gpgSign"];
    if asked(&signs, &untrusted()).as_deref() == Some("true") {
        left.push(String::from("the signature"));
    }
    left
}

/// Whether git runs hooks that its settings name, as it does since 2.54. It is not asked for a list of them: an older one
/// takes `git hook` for an alias, which the repository can name.
fn runs_named_hooks(top: &Path) -> bool {
    version(top).is_some_and(|said| is_at_least(&said, (2, 54)))
}

/// Of what [`version`] says.
fn is_at_least(said: &str, least: (u32, u32)) -> bool {
    let mut numbers = said.split([' ', '.']).filter_map(|part| part.parse().ok());
    let version = numbers.next().zip(numbers.next());
    version.is_some_and(|version: (u32, u32)| version >= least)
}

/// The hooks that settings have run with a commit: `hook.<name>.command` at each `hook.<name>.event`, of which an empty
/// one forgets those before it, unless `hook.<name>.enabled` says no.
fn named_hooks(set: &[u8]) -> Vec<String> {
    #[derive(Default)]
    struct Hook<'a> {
        has_command: bool,
        is_off: bool,
        events: Vec<&'a [u8]>,
    }
    let mut hooks: BTreeMap<String, Hook> = BTreeMap::new();
    for entry in set.split(|byte| *byte == 0) {
        let (name, value) = setting(entry);
        let own = name.strip_prefix("hook.");
        let Some((own, what)) = own.and_then(|own| own.rsplit_once('.')) else {
            continue;
        };
        let hook = hooks.entry(own.to_owned()).or_default();
        match what {
            "command" => hook.has_command = !value.is_empty(),
            "enabled" => hook.is_off = is_no(value),
            "event" if value.is_empty() => hook.events.clear(),
            "event" => hook.events.push(value),
            _ => {}
        }
    }
    let of_commit = |event: &&[u8]| HOOKS.iter().any(|hook| hook.as_bytes() == *event);
    hooks.retain(|_, hook| hook.has_command && !hook.is_off && hook.events.iter().any(of_commit));
    hooks.into_keys().take(MOST).collect()
}

/// What git takes for "no" in a setting.
fn is_no(value: &[u8]) -> bool {
    ["false", "no", "off", "0", ""]
        .iter()
        .any(|no| value.eq_ignore_ascii_case(no.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_that_settings_have_run_with_a_commit_are_named() {
        let hook = |name: &str, settings: &[&str]| -> String {
            let set = settings.iter().map(|set| format!("hook.{name}.{set}\0"));
            set.collect()
        };
        let set = [
            hook("a.b", &["event\npre-commit", "command\nx"]),
            hook(
                "two",
                &["command\nx", "event\npre-push", "event\ncommit-msg"],
            ),
            hook("no command", &["event\npre-commit"]),
            hook("other", &["event\npre-push", "command\nx"]),
            hook("off", &["event\npre-commit", "command\nx", "enabled\nNo"]),
            hook(
                "on again",
                &[
                    "enabled\nfalse",
                    "event\npre-commit",
                    "command\nx",
                    "enabled",
                ],
            ),
            hook("cleared", &["event\npre-commit", "command\nx", "event\n"]),
            String::from("user.name\nhook\0"),
        ];
        assert_eq!(
            named_hooks(set.concat().as_bytes()),
            ["a.b", "on again", "two"]
        );
    }

    #[test]
    fn versions_of_git_are_compared_as_numbers() {
        for (said, later) in [
            ("git version 2.54.0\n", true),
            ("git version 2.100.1.windows.1", true),
            ("git version 3.0.rc1", true),
            ("git version 2.9.5", false),
            ("git version 2.47.3", false),
            ("", false),
        ] {
            assert_eq!(is_at_least(said, (2, 54)), later, "{said}");
        }
    }
}
