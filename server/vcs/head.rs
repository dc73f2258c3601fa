//! Where a repository stands.

use std::fmt;
use std::path::Path;

use git2::{ErrorCode, Oid, Repository};

/// What HEAD is: a branch, and its newest commit.
#[derive(Clone, PartialEq, Eq)]
pub struct Head {
    /// `None`: it is detached.
    branch: Option<String>,
    /// `None`: the branch has no commit yet.
    id: Option<Oid>,
}

/// Where HEAD of the repository of this file is; `None`: there is no repository, or none that libgit2 can read.
pub fn head(path: &Path) -> Option<Head> {
    of(&super::ordinary::discover(path.parent()?).ok()?)
}

fn of(repository: &Repository) -> Option<Head> {
    let link = repository.find_reference("HEAD").ok()?;
    let target = link.symbolic_target_bytes();
    let branch = target.map(|name| String::from_utf8_lossy(name).into_owned());
    let id = match repository.head() {
        Ok(head) => head.target(),
        Err(error) if error.code() == ErrorCode::UnbornBranch => None,
        Err(_) => return None,
    };
    Some(Head { branch, id })
}

impl Head {
    /// Whether this is where `then` was, or further on: the same branch, with commits that were put on top.
    pub fn goes_on_from(&self, then: &Self, path: &Path) -> bool {
        if self.branch != then.branch {
            return false;
        }
        let (Some(now), Some(then)) = (self.id, then.id) else {
            return then.id.is_none();
        };
        let goes_on = || {
            let repository = super::ordinary::discover_whole(path.parent()?).ok()?;
            repository.graph_descendant_of(now, then).ok()
        };
        now == then || goes_on().unwrap_or(false)
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let branch = self.branch.as_deref();
        let branch = branch.map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
        let id = self.id.map(|id| id.to_string());
        let id = id.as_deref().and_then(|id| id.get(..7));
        match (branch, id) {
            (Some(branch), Some(id)) => write!(f, "`{branch}` at {id}"),
            (Some(branch), None) => write!(f, "`{branch}`, which has no commit"),
            (None, id) => f.write_str(id.unwrap_or("no commit")),
        }
    }
}
