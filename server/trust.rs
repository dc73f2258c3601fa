//! L3. Who may start what: workspace trust, permissions, protected paths. security.md.
//!
//! Trust is given to a folder *and* to what stands in it that would make us run something: when that
//! changes, the author is asked again.

mod fingerprint;
mod grants;
mod kept;
mod pattern;
mod protected;
mod shell;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use crate::config::{Action, Settings, wildcard};
use crate::os;

pub use fingerprint::{HOLDS_HOME, holds_home};
pub use grants::{Call, Grant, Grants, Wanted};
pub use kept::Kept;
pub use protected::{
    Guard, OF_GIT, Obeyed, REBASE_TODO, guarded, guarded_as, has_head, in_repository, named,
    protected,
};
pub use shell::destroys;

/// What is named one by one, where there may be more.
const NAMED: usize = 4;

/// What a tool can do at worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Reads inside the workspace.
    Read,
    /// Changes files inside the workspace.
    Write,
    /// Runs a program.
    Run,
    /// Sends something outward.
    Send,
}

/// The user's record of trusted workspaces, in the data folder (0600).
pub struct Trust {
    kept: Kept<Record>,
}

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Record {
    /// By canonical path.
    workspaces: BTreeMap<String, Trusted>,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Trusted {
    /// SHA-256, as hex, of what it would make us run.
    fingerprint: String,
    granted: String,
    /// A hash of each part of it, to tell what has changed; older records have none.
    #[serde(default)]
    parts: Option<BTreeMap<String, String>>,
}

impl Trust {
    pub fn open(data: &Path) -> Self {
        Self {
            kept: Kept::new(
                data.join("trust.json"),
                "the record of trust",
                "trust your workspaces again",
            ),
        }
    }

    /// Where the record is.
    pub fn file(&self) -> &Path {
        &self.kept.file
    }

    /// # Errors
    /// Why the record cannot be read.
    pub fn check(&self) -> anyhow::Result<()> {
        self.kept.read().map(drop)
    }

    /// Trusted, and what it would make us run is what was trusted. A record that cannot be read trusts nobody.
    pub fn is_trusted(&self, root: &Path) -> bool {
        let (Some(name), Ok(record)) = (name(root), self.kept.read()) else {
            return false;
        };
        let Some(grant) = record.workspaces.get(&name) else {
            return false;
        };
        fingerprint::of(Path::new(&name)).is_ok_and(|now| now == grant.fingerprint)
    }

    /// Where it was trusted once and has changed since: what has, in words.
    pub fn lapsed(&self, root: &Path) -> Option<String> {
        if self.is_trusted(root) {
            return None;
        }
        let name = name(root)?;
        let record = self.kept.read().ok()?;
        let unnamed = || String::from("what it would run has changed");
        let Some(then) = &record.workspaces.get(&name)?.parts else {
            return Some(unnamed());
        };
        let now = match fingerprint::parts(Path::new(&name)) {
            Ok(now) => now,
            Err(why) => return Some(why),
        };
        let changed = now.iter().filter_map(|(part, hash)| match then.get(part) {
            None => Some(format!("{} is new", short(part))),
            Some(known) if known != hash => Some(format!("{} is another", short(part))),
            Some(_) => None,
        });
        let gone = then.keys().filter(|part| !now.contains_key(*part));
        let mut all: Vec<String> = changed
            .chain(gone.map(|part| format!("{} is gone", short(part))))
            .collect();
        let more = all.len().saturating_sub(NAMED);
        all.truncate(NAMED);
        Some(match (all.as_slice(), more) {
            ([], _) => unnamed(),
            (all, 0) => all.join(", "),
            (all, more) => format!("{}, and {more} more", all.join(", ")),
        })
    }

    /// # Errors
    /// Where the record cannot be read or written, or the folder has a name that it cannot hold.
    pub fn grant(&self, root: &Path) -> anyhow::Result<()> {
        let name = name(root)
            .with_context(|| format!("{} is no folder that can be trusted", root.display()))?;
        let fingerprint = fingerprint::of(Path::new(&name))
            .map_err(|why| anyhow::anyhow!("what {name} would run cannot be read whole: {why}"))?;
        let granted = jiff::Timestamp::now().to_string();
        let parts = fingerprint::parts(Path::new(&name)).ok();
        self.kept.change(|record| {
            record
                .workspaces
                .insert(
                    name,
                    Trusted {
                        fingerprint,
                        granted,
                        parts,
                    },
                )
                .is_some()
        })?;
        Ok(())
    }

    /// Whether it was trusted.
    ///
    /// # Errors
    /// As [`Self::grant`].
    pub fn revoke(&self, root: &Path) -> anyhow::Result<bool> {
        // A folder that is gone can be revoked by the name that it had.
        let name = name(root)
            .or_else(|| root.to_str().map(str::to_owned))
            .unwrap_or_default();
        self.kept
            .change(|record| record.workspaces.remove(&name).is_some())
    }

    /// What trusting `root` would allow to run, a sentence each.
    pub fn would_allow(&self, root: &Path) -> Vec<String> {
        fingerprint::sentences(&os::canonical(root).unwrap_or_else(|_| root.to_owned()))
    }

    /// What stands in `root` that can run, in a sentence for a question with little room. `None`: nothing.
    pub fn brings(&self, root: &Path) -> Option<String> {
        let root = os::canonical(root).unwrap_or_else(|_| root.to_owned());
        let names = fingerprint::names(&root);
        let asked = fingerprint::asked(&root).map(|asked| format!(" {asked}"));
        let shown: Vec<String> = names.iter().take(NAMED).map(|n| short(n)).collect();
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!names.is_empty()).then(|| {
            format!(
                "It also allows what stands there: {}{more} (`postil trust` lists it).{}",
                shown.join(", "),
                asked.unwrap_or_default()
            )
        })
    }
}

/// A name with room for others beside it; of a long path the end says more.
fn short(name: &str) -> String {
    let count = name.chars().count();
    match count > 60 {
        true => format!("`…{}`", name.chars().skip(count - 59).collect::<String>()),
        false => format!("`{name}`"),
    }
}

fn name(root: &Path) -> Option<String> {
    let root = os::canonical(root).ok().filter(|r| r.is_dir())?;
    root.to_str().map(str::to_owned)
}

/// What becomes of a call of `tool`. `argument` is what it is about: a path relative to the root, a
/// command, an address. The last rule that matches holds; without one, reading is allowed, and so is
/// writing, for a tool writes in a turn that the author started and inside the workspace; the rest asks.
pub fn decide(settings: &Settings, tool: &str, risk: Risk, argument: &str) -> Action {
    let otherwise = match (settings.permission, risk) {
        (_, Risk::Read) | (None, Risk::Write) => Action::Allow,
        (Some(action), _) => action,
        (None, Risk::Run | Risk::Send) => Action::Ask,
    };
    let mut rules = settings
        .rules
        .iter()
        .filter(|rule| wildcard(&rule.tool, tool));
    if risk == Risk::Run {
        return shell::decide(&rules.collect::<Vec<_>>(), argument, otherwise);
    }
    let rule = rules.rfind(|rule| {
        let pattern = rule.pattern.as_deref();
        pattern.is_none_or(|pattern| wildcard(pattern, argument))
    });
    rule.map_or(otherwise, |rule| rule.action)
}
