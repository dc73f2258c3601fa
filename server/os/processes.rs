//! What the system tells of processes.

use std::collections::{BTreeSet, HashMap};

/// When a process began, by which it is told from a later one of its number: clock ticks since boot on Linux, seconds
/// since 1970 elsewhere. `None` where it is gone, or ended and not yet collected.
#[cfg(target_os = "linux")]
pub fn started(pid: u32) -> Option<i64> {
    if matches!(stat(pid, 0)?.as_str(), "Z" | "X" | "x") {
        return None;
    }
    stat(pid, 19)?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
pub fn started(pid: u32) -> Option<i64> {
    use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System};
    let pid = Pid::from_u32(pid);
    let mut system = System::new();
    let kind = ProcessRefreshKind::nothing();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, kind);
    let process = system.process(pid)?;
    if matches!(
        process.status(),
        ProcessStatus::Zombie | ProcessStatus::Dead
    ) {
        return None;
    }
    i64::try_from(process.start_time()).ok()
}

/// Bytes resident of the processes in the group that `pid` leads; `None` where the system does not tell.
pub fn group_memory(pid: u32) -> Option<u64> {
    if cfg!(windows) {
        return None;
    }
    let mut sum = None;
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|n| n.parse::<u32>().ok()) else {
            continue;
        };
        if id != pid && group_of(id) != Some(pid) {
            continue;
        }
        if let Some(bytes) = resident(id) {
            *sum.get_or_insert(0) += bytes;
        }
    }
    sum
}

fn group_of(pid: u32) -> Option<u32> {
    stat(pid, 2)?.parse().ok()
}

/// A field of `/proc/PID/stat`, counted from the state behind the name (proc(5): field 3).
fn stat(pid: u32, field: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name stands in parentheses and may hold anything; state, parent, group follow it.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(field).map(str::to_owned)
}

/// [`Processes::descendants`] as they are now.
pub fn descendants(pid: u32) -> Vec<u32> {
    Processes::now().descendants(pid)
}

/// All processes of a moment: those that each began.
pub struct Processes(HashMap<u32, Vec<u32>>);

impl Processes {
    /// None where the system does not tell.
    pub fn now() -> Self {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for (child, parent) in parents() {
            children.entry(parent).or_default().push(child);
        }
        Self(children)
    }

    /// Those that `pid` began, and those began, and so on, as far as they were not given to another parent; deepest
    /// last.
    pub fn descendants(&self, pid: u32) -> Vec<u32> {
        let mut found = vec![pid];
        let mut seen = BTreeSet::from([pid]);
        let mut at = 0;
        // Each is looked at once, also where a number that was given anew leads in a circle.
        while let Some(parent) = found.get(at) {
            let children = self.0.get(parent).into_iter().flatten();
            let fresh: Vec<u32> = children.copied().filter(|c| seen.insert(*c)).collect();
            found.extend(fresh);
            at += 1;
        }
        found.remove(0);
        found
    }
}

/// Each process with its parent.
fn parents() -> Vec<(u32, u32)> {
    if cfg!(windows) {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| Some((id, stat(id, 1)?.parse().ok()?)))
        .collect()
}

/// Bytes of memory that are the process's own or shared with others, resident; `None` where the system does not tell.
pub fn resident(pid: u32) -> Option<u64> {
    if cfg!(windows) {
        return None;
    }
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let resident = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = resident.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Whether the process takes no notice when it is told to end (SIGTERM); `false` where the system does not tell.
pub fn ignores_end(pid: u32) -> bool {
    const TERM: u64 = 1 << (15 - 1);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    let status = status.unwrap_or_default();
    let ignored = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    ignored.is_some_and(|set| set & TERM != 0)
}
