//! What a process takes away from itself for good, before it becomes the command: Landlock and seccomp.

#[cfg(target_os = "linux")]
pub(super) use linux::*;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use anyhow::Context as _;
    use landlock::{
        ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
        RulesetCreatedAttr, RulesetStatus, Scope,
    };
    use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
    use seccompiler::{
        SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch, apply_filter,
    };

    use super::super::order::{Rules, Sockets};

    /// The newest rights that are asked for; a kernel that knows fewer gives those.
    const NEWEST: ABI = ABI::V6;

    /// Which Landlock the kernel has: 0 for none.
    pub fn landlock() -> u8 {
        let versions = [
            (ABI::V1, 1),
            (ABI::V2, 2),
            (ABI::V3, 3),
            (ABI::V4, 4),
            (ABI::V5, 5),
            (ABI::V6, 6),
        ];
        let has = |abi: ABI| {
            let ruleset = Ruleset::default()
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(AccessFs::from_all(abi));
            let ruleset = match ruleset {
                Ok(ruleset) if abi == ABI::V6 => ruleset.scope(Scope::from_all(abi)),
                // V4 has no right of its own for files; what it has is the network's.
                Ok(ruleset) if abi == ABI::V4 => {
                    ruleset.handle_access(landlock::AccessNet::from_all(abi))
                }
                other => other,
            };
            ruleset.and_then(Ruleset::create).is_ok()
        };
        let known = versions.iter().take_while(|(abi, _)| has(*abi)).last();
        known.map_or(0, |(_, number)| *number)
    }

    /// From now on this process, and what it starts, can use these paths alone.
    pub fn confine(rules: &Rules) -> anyhow::Result<()> {
        let all = AccessFs::from_all(NEWEST);
        let read = AccessFs::from_read(NEWEST);
        let mut ruleset = Ruleset::default()
            .handle_access(all)?
            .scope(Scope::from_all(NEWEST))?
            .create()
            .context("Landlock")?;
        for (paths, access) in [(&rules.read, read), (&rules.write, all)] {
            for path in paths {
                let path = path.path();
                // What is gone meanwhile needs no rule; nor does a link, which another command may have put there.
                let Ok(handle) = open(&path) else {
                    continue;
                };
                let about = rustix::fs::fstat(&handle)?;
                let access = if FileType::from_raw_mode(about.st_mode).is_dir() {
                    access
                } else {
                    access & AccessFs::from_file(NEWEST)
                };
                ruleset = ruleset
                    .add_rule(PathBeneath::new(handle, access))
                    .with_context(|| format!("Landlock, for {}", path.display()))?;
            }
        }
        let status = ruleset.restrict_self().context("Landlock")?;
        anyhow::ensure!(
            status.ruleset != RulesetStatus::NotEnforced,
            "this kernel has no Landlock"
        );
        Ok(())
    }

    /// The very place: no part of its path is a link.
    fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let rules = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(CWD, path, flags, Mode::empty(), rules)
    }

    /// From now on being root is no more than being the owner of root's files.
    pub fn drop_capabilities() -> std::io::Result<()> {
        use rustix::thread::{
            CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
            set_capabilities,
        };
        let have = capabilities(None)?;
        if have.effective.contains(CapabilitySet::SETPCAP) {
            for number in 0..u64::BITS {
                let one = CapabilitySet::from_bits_retain(1 << number);
                // Those that this kernel does not know are no loss.
                let _ = remove_capability_from_bounding_set(one);
            }
        }
        let none = CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::empty(),
            inheritable: CapabilitySet::empty(),
        };
        Ok(set_capabilities(None, none)?)
    }

    /// From now on the system calls are refused that reach around the rest: typing into a terminal, sockets of kinds
    /// that no rule covers, the kernel's keys, rings of calls that no filter sees.
    pub fn filter(sockets: Sockets) -> anyhow::Result<()> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        let equals = |at, value: u64| {
            SeccompCondition::new(at, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
        };
        let differs = |value: i32| {
            let value = u64::from(value.unsigned_abs());
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
        };
        // TIOCSTI and TIOCLINUX put characters into a terminal's input.
        let typing = vec![
            SeccompRule::new(vec![equals(1, 0x5412)?])?,
            SeccompRule::new(vec![equals(1, 0x541c)?])?,
        ];
        rules.insert(libc::SYS_ioctl, typing);
        for call in [
            libc::SYS_keyctl,
            libc::SYS_add_key,
            libc::SYS_request_key,
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_io_uring_register,
            libc::SYS_perf_event_open,
            libc::SYS_bpf,
            libc::SYS_userfaultfd,
        ] {
            rules.insert(call, Vec::new());
        }
        // No namespace keeps it from what others share by a number or a name.
        if sockets != Sockets::Usual {
            for call in [
                libc::SYS_shmget,
                libc::SYS_shmat,
                libc::SYS_shmctl,
                libc::SYS_msgget,
                libc::SYS_msgsnd,
                libc::SYS_msgrcv,
                libc::SYS_msgctl,
                libc::SYS_semget,
                libc::SYS_semop,
                libc::SYS_semtimedop,
                libc::SYS_semctl,
                libc::SYS_mq_open,
                libc::SYS_mq_unlink,
            ] {
                rules.insert(call, Vec::new());
            }
        }
        let allowed: &[i32] = match sockets {
            Sockets::Usual => &[
                libc::AF_UNIX,
                libc::AF_INET,
                libc::AF_INET6,
                libc::AF_NETLINK,
            ],
            Sockets::Internet => &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
            Sockets::None => &[],
        };
        let others = allowed.iter().map(|family| differs(*family));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        let made = if others.is_empty() {
            Vec::new()
        } else {
            vec![SeccompRule::new(others)?]
        };
        rules.insert(libc::SYS_socket, made);
        // The same calls by their other numbers (x32).
        if cfg!(target_arch = "x86_64") {
            let twins: Vec<_> = rules
                .iter()
                .map(|(call, rules)| (call | 0x4000_0000, rules.clone()))
                .collect();
            rules.extend(twins);
            // ioctl has a number of its own there.
            if let Some(typing) = rules.get(&libc::SYS_ioctl).cloned() {
                rules.insert(0x4000_0000 | 514, typing);
            }
        }
        let machine = TargetArch::try_from(std::env::consts::ARCH).context("seccomp")?;
        let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, machine)?;
        let program: seccompiler::BpfProgram = filter.try_into().context("seccomp")?;
        apply_filter(&program).context("seccomp")
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn landlock() -> u8 {
    0
}
