//! Who holds a run: a process, told apart from a later one of the same number by its start time and
//! by the boot it belongs to. Clocks are not asked (they jump); the heartbeat counts seconds since boot.

use rusqlite::Row;

use crate::os;

/// A process as the system knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) pid: i64,
    /// As [`os::started`] says it; 0 where the system does not tell.
    pub(super) start: i64,
    pub(super) boot: String,
    /// The process-number namespace: a number means nothing outside it (containers).
    pub(super) space: String,
}

/// Seconds without a heartbeat after which an owner that cannot be looked at counts as dead.
const SILENCE: i64 = 60;

impl Owner {
    /// By the columns that name it; `None`: nobody.
    pub(super) fn from_row(row: &Row) -> rusqlite::Result<Option<Self>> {
        let Some(pid) = row.get("owner_pid")? else {
            return Ok(None);
        };
        Ok(Some(Self {
            pid,
            start: row.get("owner_start")?,
            boot: row.get("owner_boot")?,
            space: row.get("owner_space")?,
        }))
    }

    pub(super) fn this_process() -> Self {
        let pid = std::process::id();
        Self {
            pid: i64::from(pid),
            start: os::started(pid).unwrap_or(0),
            boot: boot(),
            space: space(),
        }
    }

    /// Whether the process lives. `heartbeat` is the last sign of life in [`uptime`] seconds.
    pub(super) fn is_alive(&self, heartbeat: i64) -> bool {
        if *self == Self::this_process() {
            return true;
        }
        if self.boot != boot() {
            return false;
        }
        let heard = (0..SILENCE).contains(&(uptime() - heartbeat));
        if self.space != space() || self.start == 0 {
            return heard;
        }
        u32::try_from(self.pid)
            .ok()
            .and_then(os::started)
            .is_some_and(|start| start == self.start)
    }
}

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

fn space() -> String {
    std::fs::read_link("/proc/self/ns/pid")
        .map(|link| link.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Seconds since boot; where the system does not tell, since 1970.
pub(super) fn uptime() -> i64 {
    std::fs::read_to_string("/proc/uptime")
        .ok()
        .and_then(|text| text.split('.').next()?.parse().ok())
        .unwrap_or_else(|| jiff::Timestamp::now().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_a_later_one_of_its_number() {
        let me = Owner::this_process();
        assert!(me.is_alive(0));
        let later = Owner {
            start: me.start + 1,
            ..me.clone()
        };
        assert_eq!(later.is_alive(uptime()), me.start == 0);
        let before_boot = Owner {
            boot: String::from("another"),
            ..me
        };
        assert!(!before_boot.is_alive(uptime()));
    }

    #[test]
    fn an_owner_in_another_container_lives_by_its_heartbeat() {
        let other = Owner {
            space: String::from("pid:[1]"),
            pid: 1,
            ..Owner::this_process()
        };
        assert!(other.is_alive(uptime()));
        assert!(!other.is_alive(uptime() - SILENCE - 1));
    }
}
