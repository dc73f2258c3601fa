//! How much a command may use. The kernel holds a process to its limits; what a command's processes use together is
//! watched by the server.

use serde::{Deserialize, Serialize};

/// Processes of one command at the same time.
pub(super) const PROCESSES: usize = 1024;
/// Bytes of output after which a command is ended.
pub(super) const OUTPUT: u64 = 256 << 20;

const GIGABYTE: u64 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Limits {
    /// Processes and threads of the user; in a user namespace those inside it.
    pub tasks: u64,
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of private memory of one process.
    pub memory: u64,
    /// Seconds of one process.
    pub cpu: u64,
    pub open_files: u64,
}

impl Limits {
    pub fn new(background: bool) -> Self {
        Self {
            tasks: 4096,
            file: 8 * GIGABYTE,
            memory: memory(),
            cpu: if background { 24 * 3600 } else { 1800 },
            open_files: 65_536,
        }
    }

    /// Holds the calling process, and all that it starts, to these limits; lower ones stay.
    #[cfg(unix)]
    pub fn apply(&self) -> std::io::Result<()> {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limits = [
            // Not RLIMIT_AS: runtimes reserve far more addresses than they use.
            (Resource::Data, self.memory),
            (Resource::Nproc, self.tasks),
            (Resource::Fsize, self.file),
            (Resource::Cpu, self.cpu),
            (Resource::Nofile, self.open_files),
            (Resource::Core, 0),
        ];
        for (resource, most) in limits {
            let now = getrlimit(resource);
            let lower = |have: Option<u64>| Some(have.map_or(most, |have| have.min(most)));
            let maximum = lower(now.maximum);
            let current = if resource == Resource::Nofile {
                // Programs that look through all numbers of files are slow where there are many.
                now.current.map_or(maximum, |c| maximum.map(|m| m.min(c)))
            } else {
                lower(now.current)
            };
            setrlimit(resource, Rlimit { current, maximum })?;
        }
        Ok(())
    }
}

/// Bytes that a command may have resident: three quarters of the machine's.
pub(super) fn memory() -> u64 {
    let total = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        });
    total.map_or(8 * GIGABYTE, |kilobytes| kilobytes * 1024 / 4 * 3)
}
