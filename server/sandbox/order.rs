//! What the server tells `postil sandboxed` on its standard input: one line of JSON, so that neither a command nor a
//! path stands in a list of processes.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// What `postil sandboxed` writes as its last before the command can write: all up to it is of the sandbox.
pub(super) const BEGUN: u8 = 0;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub command: String,
    /// Stays outside, and ends what the command leaves behind when it ends, or when standard input does.
    pub keeper: bool,
    /// Makes the socket by which it leaves its own network, and hands it over.
    pub way: bool,
    /// `None`: the kernel has no Landlock, or the author allowed to go without.
    pub rules: Option<Rules>,
    /// `None`: the author allowed to go without.
    pub sockets: Option<Sockets>,
    pub limits: super::limits::Limits,
    /// What was mounted in the root.
    pub mounted: Vec<Mounted>,
}

/// A place of the root that is mounted by its name. A command that runs already can put a link there, or something
/// else, before that is done: so it is looked at afterwards.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Mounted {
    pub place: Bytes,
    pub device: u64,
    pub inode: u64,
}

/// Paths that may be used, each with all that lies below it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Rules {
    pub read: Vec<Bytes>,
    pub write: Vec<Bytes>,
}

/// The kinds of sockets that a command may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Sockets {
    /// All usual ones: the network is another one, or it was granted whole.
    Usual,
    /// The internet's, not those of this machine: a path to one cannot be refused otherwise.
    Internet,
    None,
}

/// A path; JSON has no other form for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bytes(Vec<u8>);

impl From<&Path> for Bytes {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_encoded_bytes().to_vec())
    }
}

#[cfg(target_os = "linux")]
impl Bytes {
    pub fn path(&self) -> std::path::PathBuf {
        use std::os::unix::ffi::OsStrExt as _;
        std::ffi::OsStr::from_bytes(&self.0).into()
    }
}
