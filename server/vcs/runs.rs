//! What of a repository git would run for a commit.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use git2::{ConfigLevel, ErrorCode, Repository};

use super::GitError;
use super::commit::Place;
use super::program::{Setting, configuration, git, path_of, untrusted, version};
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
    /// (`include.path`) or stand in, or its attributes (`core.attributesFile`), also those that are not there yet.
    pub obeyed: Vec<PathBuf>,
    /// The settings by which a commit runs something, a program or a folder of such, that are the repository's own or
    /// stand in its work tree: name and value.
    pub settings: Vec<(String, String)>,
}

/// Nothing where there is no repository, or none whose settings can be read.
pub fn runs(root: &Path) -> Runs {
    let opened = match super::ordinary::discover(root) {
        Ok(repository) => Some(repository),
        Err(error) if error.code() == ErrorCode::NotFound => return Runs::default(),
        Err(_) => None,
    };
    // What git itself takes for its settings counts: libgit2 knows fewer conditions of `includeIf`, looks for the
    // system's file in one place, and passes over what the environment sets.
    let asked = asked(root, opened.as_ref());
    asked.or_else(|| read(&opened?)).unwrap_or_default()
}

/// As libgit2 reads the settings: of a bare repository, in which nothing is committed, and where there is no git, or
/// none that tells.
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
    let common = os::resolved(repository.commondir());
    let mut obeyed = Vec::new();
    if let Some(top) = &top {
        obeyed.extend(in_it(top, &common, &included));
        let attributes = config.get_path("core.attributesFile").ok();
        let attributes = attributes.map(|file| settled(&top.join(file)));
        obeyed.extend(attributes.filter(|file| file.starts_with(top)));
    }
    let named = config.get_path("core.hooksPath").ok();
    let mut runs = Runs::found(top.as_deref(), &common, named, obeyed);
    runs.settings = that_run(settings);
    Some(runs)
}

/// As git itself lists the settings that count in the work tree, with those of the environment. Nothing is run for it,
/// so that it matters neither whose the repository is nor where its hooks are; what we set ourselves would be listed too.
fn asked(root: &Path, opened: Option<&Repository>) -> Option<Runs> {
    if opened.is_some_and(Repository::is_bare) {
        return None;
    }
    let (at, common) = super::found::named(root)?;
    let any_owner = [(OsString::from("safe.directory"), "*")];
    let ask = |args: &[&str]| {
        let out = git(&at, &any_owner, args, None).ok()?;
        out.status.success().then_some(out.stdout)
    };
    let listed = ask(&[
        "config",
        "--null",
        "--show-scope",
        "--show-origin",
        "--list",
    ])?;
    let common = opened.map_or(common, |repository| repository.commondir().to_owned());
    let common = os::resolved(&common);
    let top = opened.and_then(Repository::workdir);
    let top = os::canonical(top.unwrap_or(&at)).ok()?;
    let mut settings = Vec::new();
    let mut hooks = None;
    // Where the user's settings may stand: one that is empty, or not there yet, is the origin of none.
    let mut files: Vec<PathBuf> = of_user().map(|file| settled(&top.join(file))).collect();
    let mut origin = (&b""[..], None);
    let mut parts = listed.split(|byte| *byte == 0);
    while let (Some(scope), Some(said), Some(entry)) = (parts.next(), parts.next(), parts.next()) {
        let (name, value) = setting(entry);
        if said != origin.0 {
            let file = said.strip_prefix(b"file:");
            let file = file.map(|file| settled(&at.join(super::bytes_to_path(file))));
            files.extend(file.clone().filter(|file| !file.starts_with(&common)));
            origin = (said, file);
        }
        let file = origin.1.as_deref();
        // Whoever names a file of the work tree, what stands there came with it.
        let is_own = scope == b"local"
            || scope == b"worktree"
            || file.is_some_and(|file| file.starts_with(&top));
        if includes(&name) {
            let folder = file.and_then(Path::parent).unwrap_or(&top);
            files.push(settled(&folder.join(expanded(value))));
        } else if name == "core.attributesfile" {
            files.push(settled(&top.join(expanded(value))));
        } else if name == "core.hookspath" {
            hooks = Some(value);
        }
        if is_own && (names_program(&name) || fetches(&name)) {
            let value = String::from_utf8_lossy(value).into_owned();
            settings.push((name, value));
        }
    }
    let hooks = hooks.and_then(|value| match is_for_git(value) {
        true => path_of(&ask(&["rev-parse", "--git-path", "hooks"])?),
        false => Some(expanded(value)),
    });
    files.retain(|file| file.starts_with(&top));
    files.sort();
    files.dedup();
    let mut runs = Runs::found(Some(&top), &common, hooks, files);
    runs.settings = that_run(settings);
    Some(runs)
}

/// The files that may hold the user's settings, and those that the environment names in their place.
fn of_user() -> impl Iterator<Item = PathBuf> {
    let said = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = os::home();
    let of_home = home.map(|home| [".gitconfig", ".config/git/config"].map(|file| home.join(file)));
    let named =
        ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].map(|name| said(name).map(PathBuf::from));
    let of_xdg = said("XDG_CONFIG_HOME").map(|folder| Path::new(&folder).join("git/config"));
    let named = named.into_iter().flatten().chain(of_xdg);
    named.chain(of_home.into_iter().flatten())
}

/// A path as a setting has it.
fn expanded(value: &[u8]) -> PathBuf {
    let path = super::bytes_to_path(value).into_owned();
    match (path.strip_prefix("~"), os::home()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path,
    }
}

/// Whether only git knows what a path leads to: another user's home, the place that it was installed in, or a mark
/// before the path.
fn is_for_git(value: &[u8]) -> bool {
    let of_other = value.strip_prefix(b"~").and_then(<[u8]>::first);
    of_other.is_some_and(|byte| *byte != b'/')
        || value.starts_with(b"%(")
        || value.starts_with(b":(")
}

impl Runs {
    /// `named`: by `core.hooksPath`; `obeyed`: files in the work tree.
    fn found(
        top: Option<&Path>,
        common: &Path,
        named: Option<PathBuf>,
        mut obeyed: Vec<PathBuf>,
    ) -> Self {
        let mut hooks = vec![led_to(&common.join("hooks"))];
        if let Some(top) = top {
            let named = named.map(|folder| led_to(&top.join(folder)));
            hooks.extend(named.filter(|folder| folder.starts_with(top)));
        }
        let linked = hooks.iter().flat_map(|folder| linked(folder));
        let of_hooks = hooks.iter().cloned().chain(linked);
        // Git's own folder of hooks is guarded as that.
        obeyed.extend(of_hooks.filter(|place| !place.starts_with(common)));
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
        return settled(path);
    };
    settled(&folder.join(target))
}

/// A path without links and dots, as far as it is there.
fn settled(path: &Path) -> PathBuf {
    os::canonical(path).unwrap_or_else(|_| os::resolved(&os::without_dots(path)))
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
        // Which lets an address name a program (`ext::`).
        Some("protocol") => ends(&["allow"]),
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
