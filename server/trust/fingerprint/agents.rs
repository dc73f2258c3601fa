//! What makes outside agents run something when they are started in a workspace. It counts whichever model is set, for
//! each turn can choose another, and trust is given once.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::super::protected::{of_agents, parts};
use super::{MAX_DEPTH, MAX_FILES, Trouble, kind, small_text, unread};
use crate::{os, vcs};

/// Files that stand outside of such folders.
const FILES: &[&str] = &[
    "opencode.json",
    "opencode.jsonc",
    ".crush.json",
    "crush.json",
    ".aider.conf.yml",
    ".aider.conf.yaml",
    ".vscode/mcp.json",
    ".github/hooks",
    ".github/agents",
];

/// In an agent's own folder: settings, which name hooks, servers and what is allowed, and folders of what is run. The
/// rest is an agent's notes, its sessions, its packages.
const HOLDS: &[&str] = &[
    LOCAL,
    "settings.json",
    "config.toml",
    "config.json",
    "config.yaml",
    "config.yml",
    "opencode.json",
    "opencode.jsonc",
    "mcp.json",
    "mcp-config.json",
    "hooks.json",
    "hooks.toml",
    "hooks",
    "agents",
    "agent",
    "commands",
    "command",
    "modes",
    "mode",
    "plugins",
    "plugin",
    "tools",
    "tool",
    "rules",
    ".env",
];

/// Folders of folders, whose other files nothing runs by itself, and what is read in each.
const OF_FOLDERS: &[&str] = &["skills", "skill", "extensions"];
const IN_EACH: &[&str] = &[
    "SKILL.md",
    "gemini-extension.json",
    "qwen-extension.json",
    "hooks",
    "commands",
];

/// A person's own, to which an agent adds each permission that it is given for longer.
const LOCAL: &str = "settings.local.json";

/// In an instruction for an agent: what has it run something.
const RUN: &[&str] = &["!`", "```!", "!{"];
/// In what stands before one: what has it run something, or run it unasked.
const LETS: &[&str] = &["hooks", "mcp", "tools", "permission"];

/// Folders of what programs fetch or make for themselves.
const MADE: &[&str] = &["node_modules", "__pycache__"];
/// Names that are looked at below one of these places, with texts that run nothing.
const LOOKED_AT: usize = 20 * MAX_FILES;

/// At the root and at the top of its repository.
pub(super) fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut tops = vec![root.to_owned()];
    tops.extend(vcs::top(root).filter(|top| top != root));
    let mut look = Look {
        tops: tops.clone(),
        ..Look::default()
    };
    for folder in tops {
        for file in FILES {
            look.take(&folder.join(file))?;
        }
        for own in of_agents().map(|name| folder.join(name)) {
            if !own.is_dir() {
                continue;
            }
            for name in HOLDS {
                let path = own.join(name);
                // What nobody can send is no reason to ask.
                if *name != LOCAL || look.may_be_sent(&path) {
                    look.take(&path)?;
                }
            }
            for folder in OF_FOLDERS.iter().map(|name| own.join(name)) {
                for entry in folder.read_dir().into_iter().flatten() {
                    let entry = entry.map_err(|_| unread(&folder))?.path();
                    for name in IN_EACH {
                        look.take(&entry.join(name))?;
                    }
                }
            }
        }
    }
    Ok(look.found)
}

#[derive(Default)]
struct Look {
    /// The root and the top of its repository.
    tops: Vec<PathBuf>,
    found: Vec<PathBuf>,
    /// Folders that links led to.
    linked: Vec<PathBuf>,
    names: usize,
    /// What repositories track, by their top. `None`: that cannot be told.
    tracked: BTreeMap<PathBuf, Option<Vec<Vec<u8>>>>,
}

impl Look {
    /// What stands there, but for texts that run nothing and what a program made there.
    fn take(&mut self, path: &Path) -> Result<(), String> {
        self.names = 0;
        self.walk(path, 0).map_err(|trouble| trouble.of(path))
    }

    fn walk(&mut self, path: &Path, depth: usize) -> Result<(), Trouble> {
        let Some(kind) = kind(path)? else {
            return Ok(());
        };
        if kind.is_dir() {
            return self.enter(path, depth);
        }
        if kind.is_symlink()
            && let Some(folder) = self.led_to(path)
        {
            self.linked.push(folder.clone());
            self.enter(&folder, depth)?;
        }
        if !is_prose(path) {
            self.found.push(path.to_owned());
        }
        match self.found.len() > MAX_FILES {
            true => Err(Trouble::TooMuch),
            false => Ok(()),
        }
    }

    fn enter(&mut self, folder: &Path, depth: usize) -> Result<(), Trouble> {
        if depth > MAX_DEPTH {
            return Err(Trouble::TooMuch);
        }
        let unread = |_| Trouble::Unread(folder.to_owned());
        let entries: Result<Vec<_>, _> = std::fs::read_dir(folder).map_err(unread)?.collect();
        let entries = entries.map_err(unread)?;
        self.names += entries.len();
        if self.names > LOOKED_AT {
            return Err(Trouble::TooMuch);
        }
        let tracked = self.tracked_in(folder);
        // Asked of git only where it matters.
        let ignores = OnceCell::new();
        for entry in entries {
            let name = entry.file_name();
            let kind = entry.file_type().map_err(unread)?;
            let is_tracked = tracked.as_ref().map(|all| all.contains(&plain(&name)));
            // A link counts, for it may lead to what is tracked.
            let is_left_out = !kind.is_symlink()
                && is_tracked != Some(true)
                && (kind.is_dir() && MADE.iter().any(|made| name == *made)
                    || is_tracked == Some(false)
                        && ignores
                            .get_or_init(|| vcs::ignores(folder))
                            .as_ref()
                            .is_some_and(|ignores| ignores(&name)));
            if !is_left_out {
                self.walk(&entry.path(), depth + 1)?;
            }
        }
        Ok(())
    }

    /// The folder of the workspace that a link leads to, the first time. One that the link stands in is the workspace
    /// at large.
    fn led_to(&self, link: &Path) -> Option<PathBuf> {
        let folder = os::canonical(link).ok().filter(|to| to.is_dir())?;
        let above = os::canonical(link.parent()?).ok()?;
        let is_new = !self.linked.contains(&folder) && !above.starts_with(&folder);
        let is_inside = self.tops.iter().any(|top| folder.starts_with(top));
        (is_new && is_inside).then_some(folder)
    }

    /// Whether it is, or may be, from somebody else: it is a link, its repository tracks it, or that cannot be told.
    fn may_be_sent(&mut self, path: &Path) -> bool {
        let real = os::canonical(path).ok();
        let Some((folder, name)) = real.as_deref().and_then(|p| p.parent().zip(p.file_name()))
        else {
            return true;
        };
        let tracked = self.tracked_in(folder);
        path.is_symlink() || tracked.is_none_or(|all| all.contains(&plain(name)))
    }

    /// The names in this folder that its repository (it may be a submodule's) tracks, or tracks something below, as
    /// the most careless file system compares them. `None`: that cannot be told.
    fn tracked_in(&mut self, folder: &Path) -> Option<BTreeSet<String>> {
        let folder = os::canonical(folder).ok()?;
        let top = vcs::top(&folder)?;
        let below = folder.strip_prefix(&top).ok()?;
        let start: String = below
            .components()
            .map(|part| format!("{}/", part.as_os_str().to_string_lossy()))
            .collect();
        let below = parts(below);
        let all = self.tracked.entry(top);
        let all = all.or_insert_with_key(|top| vcs::in_index(top));
        let in_it = |name: &Vec<u8>| {
            // Most names are of ASCII and stand elsewhere.
            let alike = name.get(..start.len());
            if name.is_ascii() && start.is_ascii() {
                alike.filter(|alike| alike.eq_ignore_ascii_case(start.as_bytes()))?;
            }
            let name = parts(Path::new(&*String::from_utf8_lossy(name)));
            name.strip_prefix(&*below)?.first().cloned()
        };
        Some(all.as_ref()?.iter().filter_map(in_it).collect())
    }
}

fn plain(name: &OsStr) -> String {
    parts(Path::new(name)).pop().unwrap_or_default()
}

fn is_prose(path: &Path) -> bool {
    if !path.extension().is_some_and(|e| e == "md" || e == "mdc") {
        return false;
    }
    // One that is too long to be read here counts.
    let Some(text) = small_text(path) else {
        return false;
    };
    let head = text
        .trim_start_matches('\u{feff}')
        .strip_prefix("---")
        .and_then(|rest| rest.split_once("\n---"));
    let lets = |(head, _): (&str, &str)| LETS.iter().any(|word| head.contains(word));
    !head.is_some_and(lets) && !RUN.iter().any(|run| text.contains(run))
}
