//! What makes outside agents run something when they are started in a workspace. It counts whichever model is set, for
//! each turn can choose another, and trust is given once.

use std::path::{Path, PathBuf};

use super::super::protected::of_agents;
use super::{MAX_FILES, collect, small_text};
use crate::vcs;

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

/// At the root and at the top of its repository. `None`: too many, or unreadable.
pub(super) fn files(root: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let top = vcs::top(root);
    for folder in std::iter::once(root).chain(top.as_deref().filter(|top| *top != root)) {
        for file in FILES {
            take(&folder.join(file), &mut found)?;
        }
        for own in of_agents().map(|name| folder.join(name)) {
            if !own.is_dir() {
                continue;
            }
            for name in HOLDS {
                take(&own.join(name), &mut found)?;
            }
            for entry in OF_FOLDERS.iter().flat_map(|name| own.join(name).read_dir()) {
                for entry in entry {
                    let entry = entry.ok()?.path();
                    for name in IN_EACH {
                        take(&entry.join(name), &mut found)?;
                    }
                }
            }
        }
    }
    let local = |path: &&PathBuf| path.ends_with(LOCAL);
    if let (Some(top), Some(_)) = (top, found.iter().find(local)) {
        // What nobody can send is no reason to ask.
        let tracked = vcs::tracked(&top).ok()?;
        let is_tracked = |path: &Path| {
            let name = path.strip_prefix(&top).unwrap_or(path).as_os_str();
            let mut names = tracked.split(|byte| *byte == 0);
            path.is_symlink() || names.any(|known| known == name.as_encoded_bytes())
        };
        found.retain(|path| !path.ends_with(LOCAL) || is_tracked(path));
    }
    (found.len() <= MAX_FILES).then_some(found)
}

/// What stands there, but for texts that run nothing.
fn take(path: &Path, found: &mut Vec<PathBuf>) -> Option<()> {
    let mut all = Vec::new();
    collect(path, 0, &mut all)?;
    found.extend(all.into_iter().filter(|path| !is_prose(path)));
    Some(())
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
        .strip_prefix("---")
        .and_then(|rest| rest.split_once("\n---"));
    let lets = |(head, _): (&str, &str)| LETS.iter().any(|word| head.contains(word));
    !head.is_some_and(lets) && !RUN.iter().any(|run| text.contains(run))
}
