//! L3. Who may start what: workspace trust, permissions, protected paths. security.md.
//!
//! Trust is given to a folder *and* to what stands in it that would make us run something: when that
//! changes, the author is asked again.

mod fingerprint;
mod protected;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::config::{Action, Settings};

pub use protected::protected;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

/// The user's record of trusted workspaces, in the data folder (0600).
pub struct Trust {
    file: PathBuf,
}

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Record {
    version: u32,
    /// By canonical path.
    workspaces: BTreeMap<String, Grant>,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Grant {
    /// SHA-256, as hex, of what it would make us run.
    fingerprint: String,
    granted: String,
}

const VERSION: u32 = 1;

impl Trust {
    pub fn open(data: &Path) -> Self {
        Self {
            file: data.join("trust.json"),
        }
    }

    /// Trusted, and what it would make us run is what was trusted. A record that cannot be read trusts nobody.
    pub fn is_trusted(&self, root: &Path) -> bool {
        let (Some(name), Ok(record)) = (name(root), self.read()) else {
            return false;
        };
        let Some(grant) = record.workspaces.get(&name) else {
            return false;
        };
        fingerprint::of(Path::new(&name)).is_some_and(|now| now == grant.fingerprint)
    }

    /// It was trusted once, and has changed since.
    pub fn has_changed(&self, root: &Path) -> bool {
        let known =
            name(root).is_some_and(|n| self.read().is_ok_and(|r| r.workspaces.contains_key(&n)));
        known && !self.is_trusted(root)
    }

    /// # Errors
    /// Where the record cannot be read or written, or the folder has a name that it cannot hold.
    pub fn grant(&self, root: &Path) -> anyhow::Result<()> {
        let name = name(root)
            .with_context(|| format!("{} is no folder that can be trusted", root.display()))?;
        let fingerprint = fingerprint::of(Path::new(&name)).with_context(|| {
            format!("what {name} would run cannot be read whole; make it readable and try again")
        })?;
        let granted = jiff::Timestamp::now().to_string();
        self.change(|record| {
            record
                .workspaces
                .insert(
                    name,
                    Grant {
                        fingerprint,
                        granted,
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
        self.change(|record| record.workspaces.remove(&name).is_some())
    }

    /// What trusting `root` would allow to run, a sentence each.
    pub fn would_allow(&self, root: &Path) -> Vec<String> {
        fingerprint::sentences(&root.canonicalize().unwrap_or_else(|_| root.to_owned()))
    }

    fn read(&self) -> anyhow::Result<Record> {
        let shown = self.file.display();
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Record::default()),
            Err(e) => {
                return Err(e)
                    .with_context(|| format!("the record of trust {shown} cannot be read"));
            }
        };
        let record: Record = serde_json::from_str(&text).with_context(|| {
            format!("the record of trust {shown} is damaged: move it away, then trust your workspaces again")
        })?;
        if record.version > VERSION {
            bail!("the record of trust {shown} was written by a newer postil: update postil");
        }
        Ok(record)
    }

    /// Reads, changes and writes under a lock that other processes wait for.
    fn change<T>(&self, change: impl FnOnce(&mut Record) -> T) -> anyhow::Result<T> {
        let folder = self.file.parent().context("the data folder has no name")?;
        let written = || {
            format!(
                "the record of trust {} cannot be written",
                self.file.display()
            )
        };
        private_folder(folder).with_context(written)?;
        let lock = private_file(&folder.join("trust.lock")).with_context(written)?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)
            .with_context(written)?;
        let mut record = self.read()?;
        let result = change(&mut record);
        record.version = VERSION;
        let mut temporary = tempfile::NamedTempFile::new_in(folder).with_context(written)?; // 0600
        temporary
            .write_all(&serde_json::to_vec_pretty(&record)?)
            .with_context(written)?;
        temporary.as_file().sync_all().with_context(written)?;
        temporary.persist(&self.file).with_context(written)?;
        Ok(result)
    }
}

fn name(root: &Path) -> Option<String> {
    let root = root.canonicalize().ok().filter(|r| r.is_dir())?;
    root.to_str().map(str::to_owned)
}

fn private_folder(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

fn private_file(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
}

/// What becomes of a call of `tool`. `argument` is what it is about: a path relative to the root, a
/// command, an address. The last rule that matches holds; without one, reading is allowed, and so is
/// writing, for a tool writes in a turn that the author started and inside the workspace; the rest asks.
pub fn decide(settings: &Settings, tool: &str, risk: Risk, argument: &str) -> Decision {
    let commands: Vec<&str> = if risk == Risk::Run {
        argument.split(JOINTS).map(str::trim).collect()
    } else {
        Vec::new()
    };
    let rule = settings.rules.iter().rev().find(|rule| {
        if !wildcard(&rule.tool, tool) {
            return false;
        }
        let Some(pattern) = &rule.pattern else {
            return true;
        };
        match rule.action {
            // One allowed command says nothing of what is joined to it; one that is denied taints all.
            Action::Allow => wildcard(pattern, argument) && (commands.len() <= 1 || pattern == "*"),
            Action::Ask | Action::Deny => {
                wildcard(pattern, argument) || commands.iter().any(|c| wildcard(pattern, c))
            }
        }
    });
    let action = rule.map(|r| r.action).or(if risk == Risk::Read {
        None
    } else {
        settings.permission
    });
    match (action, risk) {
        (Some(Action::Allow), _) | (None, Risk::Read | Risk::Write) => Decision::Allow,
        (Some(Action::Ask), _) | (None, Risk::Run | Risk::Send) => Decision::Ask,
        (Some(Action::Deny), _) => Decision::Deny,
    }
}

/// What joins commands in a shell, or hides one in another.
const JOINTS: &[char] = &[
    ';', '&', '|', '\n', '\r', '`', '$', '(', ')', '<', '>', '{', '}',
];

/// Whether `text` is what `pattern` says, `*` standing for anything.
fn wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}
