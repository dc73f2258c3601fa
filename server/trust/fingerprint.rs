//! What a workspace has that would make us run something, as a hash and in words.

mod agents;

use std::collections::BTreeMap;
use std::fs::FileType;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::protected::manages_hooks;
use crate::text::hex;
use crate::vcs::Runs;
use crate::{os, present, vcs};

/// Settings and lists of things to run, and folders of such, relative to the root.
const RUNS: &[&str] = &[
    crate::config::PROJECT_FILE,
    ".mcp.json",
    ".postil/mcp.json",
    ".postil/tools",
    ".postil/hooks",
];

/// Characters of one name or value that are shown.
const LONGEST: usize = 200;
/// Files, or settings, of one kind that are named one by one.
const NAMED: usize = 20;

/// How one of git's settings is named among files.
const SETTING: &str = "git's setting ";

/// More than this is no configuration; it cannot be trusted.
const MAX_FILES: usize = 500;
const MAX_BYTES: u64 = 4 << 20;
/// Folders in each other below one of these.
const MAX_DEPTH: usize = 4;

/// Why what stands somewhere is not known whole.
enum Trouble {
    TooMuch,
    Unread(PathBuf),
}

impl Trouble {
    /// In words, of what was looked at.
    fn of(self, path: &Path) -> String {
        match self {
            Self::TooMuch => format!(
                "`{}` holds too much (with what else runs here, {MAX_FILES} files at most, in folders {MAX_DEPTH} deep)",
                clean(&path.to_string_lossy())
            ),
            Self::Unread(path) => unread(&path),
        }
    }
}

fn unread(path: &Path) -> String {
    format!(
        "`{}` cannot be read; make it readable and try again",
        clean(&path.to_string_lossy())
    )
}

/// The ordinary files and links among [`RUNS`], git's hooks and what their managers read, and what
/// makes outside agents run something. An error: which are too many, or unreadable.
fn files(root: &Path, runs: &Runs) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in RUNS {
        collect(&root.join(path), 0, &mut found)?;
    }
    found.extend(hooks(root, runs)?);
    found.extend(managed(root)?);
    found.extend(agents::files(root)?);
    found.sort();
    found.dedup();
    Ok(found)
}

fn collect(path: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), String> {
    walk(path, depth, found).map_err(|trouble| trouble.of(path))
}

fn walk(path: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Trouble> {
    let Some(kind) = kind(path)? else {
        return Ok(());
    };
    if kind.is_dir() {
        if depth > MAX_DEPTH {
            return Err(Trouble::TooMuch);
        }
        let unread = |_| Trouble::Unread(path.to_owned());
        for entry in std::fs::read_dir(path).map_err(unread)? {
            walk(&entry.map_err(unread)?.path(), depth + 1, found)?;
        }
    } else {
        found.push(path.to_owned());
    }
    match found.len() > MAX_FILES {
        true => Err(Trouble::TooMuch),
        false => Ok(()),
    }
}

/// `None`: nothing is there.
fn kind(path: &Path) -> Result<Option<FileType>, Trouble> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata.file_type())),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(_) => Err(Trouble::Unread(path.to_owned())),
    }
}

/// Git's hooks that would run: samples do not.
fn hooks(root: &Path, runs: &Runs) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = runs.hooks.clone();
    if folders.is_empty() {
        // Of one that nobody can open now.
        folders.extend(vcs::common_folder(root).map(|git| git.join("hooks")));
    }
    for folder in folders {
        collect(&folder, 3, &mut found)?;
    }
    found.sort();
    found.dedup();
    found.retain(|p| p.extension().is_none_or(|e| e != "sample"));
    Ok(found)
}

/// What says, or is, what a manager of hooks runs, at the root and at the top of its repository.
fn managed(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let top = vcs::top(root).filter(|top| top != root);
    for folder in std::iter::once(root.to_owned()).chain(top) {
        for folder in [folder.join(".config"), folder] {
            for entry in std::fs::read_dir(&folder).into_iter().flatten() {
                let entry = entry.map_err(|_| unread(&folder))?;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                // A folder that has the name of such a program holds its sources.
                let kind = entry.file_type();
                let is_folder = kind.map_err(|_| unread(&entry.path()))?.is_dir();
                if manages_hooks(&name) && (!is_folder || name.starts_with('.')) {
                    collect(&entry.path(), 0, &mut found)?;
                }
            }
        }
    }
    found.sort();
    Ok(found)
}

fn small_text(path: &Path) -> Option<String> {
    String::from_utf8(bytes(path, 1 << 16)?).ok()
}

/// All of an ordinary file that has no more than `most`. A pipe never ends, and what the system makes up as it is
/// read (`/proc/self/pagemap`, to which a link may lead) says that it is empty.
fn bytes(path: &Path, most: u64) -> Option<Vec<u8>> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    let read = file.take(most + 1).read_to_end(&mut bytes).ok()?;
    (read as u64 <= most).then_some(bytes)
}

/// Hex; or why it cannot be told.
pub(super) fn of(root: &Path) -> Result<String, String> {
    let mut hash = Sha256::new();
    let mut left = MAX_BYTES;
    let mut part = |tag: &str, bytes: &[u8]| {
        // With its length, so that no two lists read the same.
        hash.update(tag.as_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    let runs = vcs::runs(root);
    for path in files(root, &runs)? {
        let unread = || unread(&path);
        let metadata = std::fs::symlink_metadata(&path).map_err(|_| unread())?;
        let shown = path.strip_prefix(root).unwrap_or(&path);
        part("path", shown.as_os_str().as_encoded_bytes());
        if metadata.is_symlink() {
            let target = std::fs::read_link(&path).map_err(|_| unread())?;
            part("link", target.as_os_str().as_encoded_bytes());
        }
        let metadata = std::fs::metadata(&path);
        if metadata.as_ref().is_ok_and(std::fs::Metadata::is_file) {
            let bytes = bytes(&path, left).ok_or_else(|| {
                let most = MAX_BYTES >> 20;
                format!(
                    "{}, or it is too large (all that runs here: {most} MiB at most)",
                    unread()
                )
            })?;
            left -= bytes.len() as u64;
            part("file", &bytes);
        }
    }
    for (name, value) in runs.settings {
        part("setting", name.as_bytes());
        part("value", value.as_bytes());
    }
    Ok(hex(&hash.finalize()))
}

/// A hash of each part by its name, to tell what has changed; or why that cannot be told.
pub(super) fn parts(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut parts = BTreeMap::new();
    let hashed = |bytes: &[u8]| hex(&Sha256::digest(bytes));
    let runs = vcs::runs(root);
    for path in files(root, &runs)? {
        let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
        let bytes = bytes(&path, MAX_BYTES);
        parts.insert(clean(&shown), hashed(&bytes.unwrap_or_default()));
    }
    for (name, value) in runs.settings {
        parts.insert(clean(&format!("{SETTING}{name}")), hashed(value.as_bytes()));
    }
    Ok(parts)
}

/// To whom code is sent because the workspace's settings say so.
pub(super) fn asked(root: &Path) -> Option<String> {
    let models = crate::config::models_of(root);
    let models: Vec<String> = models.iter().map(|m| format!("`{}`", clean(m))).collect();
    (!models.is_empty()).then(|| {
        format!(
            "Its settings have code sent to {}, if you can ask that model.",
            models.join(" and ")
        )
    })
}

/// Said where it is asked whether such a folder is trusted.
pub const HOLDS_HOME: &str =
    "This folder holds your whole home folder: trust the project's own folder instead.";

/// Whether the user's home is this folder, or below it.
pub fn holds_home(root: &Path) -> bool {
    let home = os::home();
    home.is_some_and(|home| os::canonical(&home).unwrap_or(home).starts_with(root))
}

pub(super) fn sentences(root: &Path) -> Vec<String> {
    let mut all = vec![
        String::from(
            "Language servers start here (rust-analyzer, pylsp and the like); some run the project's own build scripts and plugins.",
        ),
        String::from(
            "An agent's turn may change files below this folder, and run what your permissions allow or you approve.",
        ),
    ];
    if holds_home(root) {
        all.push(String::from(HOLDS_HOME));
    }
    if root
        .join(crate::config::PROJECT_FILE)
        .symlink_metadata()
        .is_ok()
    {
        all.push(String::from(
            "`postil.toml` counts as settings; it can name no command, endpoint or key.",
        ));
        all.extend(asked(root));
    }
    for list in [".mcp.json", ".postil/mcp.json"] {
        all.extend(servers(root, list));
    }
    let shown = |path: &PathBuf| {
        let shown = path.strip_prefix(root).unwrap_or(path);
        clean(&shown.to_string_lossy())
    };
    for folder in [".postil/tools", ".postil/hooks"] {
        let mut found = Vec::new();
        let whole = collect(&root.join(folder), 0, &mut found).is_ok();
        found.sort();
        all.extend(found.iter().take(NAMED).map(|path| {
            let shown = shown(path);
            format!("`{shown}` is not run by postil, but is part of what is trusted.")
        }));
        if !whole || found.len() > NAMED {
            all.push(format!("There are more files in `{folder}`."));
        }
    }
    let managed = managed(root).unwrap_or_default();
    all.extend(managed.iter().take(NAMED).map(|path| {
        let shown = shown(path);
        format!("`{shown}` can run, or say what runs, when postil commits for you.")
    }));
    if managed.len() > NAMED {
        all.push(String::from("There are more files of a manager of hooks."));
    }
    let of_agents = agents::files(root).unwrap_or_default();
    all.extend(of_agents.iter().take(NAMED).map(|path| {
        let shown = shown(path);
        format!("`{shown}` can run, or say what runs, when an outside agent is started here.")
    }));
    if of_agents.len() > NAMED {
        all.push(String::from("There are more such files of outside agents."));
    }
    let runs = vcs::runs(root);
    let hooks = hooks(root, &runs).unwrap_or_default();
    let names: Vec<String> = hooks
        .iter()
        .filter_map(|p| Some(format!("`{}`", clean(&p.file_name()?.to_string_lossy()))))
        .collect();
    if !names.is_empty() {
        all.push(format!(
            "Git's hooks run when postil commits for you: {}.",
            names.join(", ")
        ));
    }
    let settings = runs.settings;
    all.extend(settings.iter().take(NAMED).map(|(name, value)| {
        let value = clean(value);
        match clean(name).as_str() {
            name @ "core.hookspath" => {
                format!("Git's setting `{name}` has hooks looked for in `{value}`.")
            }
            name => {
                format!("Git's setting `{name}` can run when postil commits for you: `{value}`.")
            }
        }
    }));
    if settings.len() > NAMED {
        all.push(format!(
            "There are {} more such settings of git.",
            settings.len() - NAMED
        ));
    }
    all
}

/// What a list of MCP servers in `root` names.
fn servers(root: &Path, list: &str) -> Vec<String> {
    let path = root.join(list);
    if path.symlink_metadata().is_err() {
        return Vec::new();
    }
    let found: Value = small_text(&path)
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let servers = found.get("mcpServers").and_then(Value::as_object);
    let Some(servers) = servers.filter(|servers| !servers.is_empty()) else {
        return vec![format!(
            "`{list}` may name MCP servers (it could not be read as a list of them)."
        )];
    };
    let sentence = |(name, server): (&String, &Value)| {
        let args = server.get("args").and_then(Value::as_array);
        let words = server.get("command").or(server.get("url")).into_iter();
        let words = words.chain(args.into_iter().flatten());
        let line: Vec<String> = words.filter_map(|word| word.as_str().map(clean)).collect();
        let (name, line) = (clean(name), line.join(" "));
        format!("`{list}` names the MCP server `{name}`: `{line}`.")
    };
    servers.iter().map(sentence).collect()
}

/// The parts of it by name, those first that are seen in no file.
pub(super) fn names(root: &Path) -> Vec<String> {
    let mut names: Vec<String> = parts(root).unwrap_or_default().into_keys().collect();
    names.sort_by_key(|name| !name.starts_with(SETTING));
    names
}

/// Other people's text on a terminal. Nothing of it is left out: it is read here what would run.
fn clean(text: &str) -> String {
    let marked = text
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c });
    present::short(&marked.collect::<String>(), LONGEST)
}
