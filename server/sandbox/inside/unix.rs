//! What becomes the command, and who stays outside where there is no bubblewrap.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;
use rustix::process::{Pid, WaitOptions, WaitStatus};

#[cfg(target_os = "linux")]
use super::super::order::Mounted;
use super::super::order::Order;
use super::{WORD, begin, when_left};
use crate::os;

/// Becomes the command, or keeps it.
pub(super) fn carry_out(order: Order) -> anyhow::Result<ExitCode> {
    if order.keeper {
        keep(order)
    } else {
        become_command(&order).map(|never| match never {})
    }
}

fn become_command(order: &Order) -> anyhow::Result<std::convert::Infallible> {
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        wait_for_first();
    }
    anyhow::ensure!(is_held()?, "postil is gone");
    #[cfg(target_os = "linux")]
    {
        os::keep_standard_streams().context("open files")?;
        are_in_place(&order.mounted)?;
        if order.way {
            super::super::way::hand_over()?;
        }
    }
    // No terminal to be typed into. It is one already where bubblewrap saw to it.
    let _ = rustix::process::setsid();
    order.limits.apply().context("the limits")?;
    #[cfg(target_os = "linux")]
    {
        if let Some(rules) = &order.rules {
            super::super::rules::confine(rules)?;
            // What root may do beyond others reaches around Landlock: the environment of other processes, for one.
            super::super::rules::drop_capabilities().context("capabilities")?;
        }
        if let Some(sockets) = order.sockets {
            super::super::rules::filter(sockets)?;
        }
    }
    begin().context("standard output")?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(&order.command).stdin(Stdio::null());
    Err(shell.exec()).context("/bin/sh")
}

/// An error where a mount is of something else, or somewhere else, than was meant.
#[cfg(target_os = "linux")]
fn are_in_place(mounted: &[Mounted]) -> anyhow::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let places = super::super::sockets::mounts();
    for mounted in mounted {
        let place = mounted.place.path();
        let about = std::fs::symlink_metadata(&place);
        let is_same = about.is_ok_and(|a| (a.dev(), a.ino()) == (mounted.device, mounted.inode));
        anyhow::ensure!(
            is_same && places.contains(&place),
            "`{}` was moved or replaced just then; try it again",
            place.display()
        );
    }
    Ok(())
}

/// Waits until bubblewrap's first process waits for us. It asks for a signal of its parent's death after it has begun us,
/// which comes too late where that died before.
#[cfg(target_os = "linux")]
fn wait_for_first() {
    let is_first = rustix::process::getppid().is_some_and(Pid::is_init);
    let sleeps = || {
        let stat = std::fs::read_to_string("/proc/1/stat").unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        state.starts_with('S')
    };
    let mut looks = 0..1000;
    while is_first && !sleeps() && looks.next().is_some() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Whether the one that sent the order is there still: it holds its end until we begin.
fn is_held() -> std::io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, poll};
    let input = std::io::stdin();
    let mut ends = [PollFd::new(&input, PollFlags::empty())];
    poll(&mut ends, Some(&rustix::event::Timespec::default()))?;
    let gone = PollFlags::HUP | PollFlags::ERR;
    Ok(ends.iter().all(|end| !end.revents().intersects(gone)))
}

/// Starts the one that becomes the command, and ends all that it began when it has ended, or when the server has.
fn keep(order: Order) -> anyhow::Result<ExitCode> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let mut child = Command::new(std::env::current_exe()?)
        .arg(WORD)
        .stdin(Stdio::piped())
        .spawn()
        .context("the command's process")?;
    let order = Order {
        keeper: false,
        ..order
    };
    // Held until all is over.
    let mut input = child.stdin.take();
    if let Some(mut input) = input.as_mut() {
        serde_json::to_writer(&mut input, &order)?;
        input.write_all(b"\n")?;
    }
    let id = child.id();
    when_left(move || end_all(id));
    let own = i32::try_from(id).ok().and_then(Pid::from_raw);
    let status = loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == own => break status,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // The other thread has ended all of them, and soon us.
            Err(_) => std::thread::park(),
        }
    };
    end_all(id);
    Ok(ExitCode::from(code(status)))
}

fn code(status: WaitStatus) -> u8 {
    let code = status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(255)
}

/// Whoever forks while we look is found the next time: what is left comes to us when its parent ends. Where a system
/// tells nobody's children, the session that `command` leads is ended, and who left it is not found.
fn end_all(command: u32) {
    if !cfg!(target_os = "linux") {
        // It may not lead a session yet.
        os::kill(command);
        os::end_group(command, true);
    }
    for _ in 0..1000 {
        let left = os::descendants(std::process::id());
        if left.is_empty() && !cfg!(target_os = "linux") {
            return;
        }
        left.into_iter().for_each(os::kill);
        // That none was seen says little: one that ended just then may have begun another. That we have no child does.
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        std::thread::yield_now();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use super::*;

    #[test]
    fn attack_07_a_mount_that_was_led_astray_is_noticed() {
        let mounted = |place: &Path| {
            let about = std::fs::metadata(place).unwrap();
            Mounted {
                place: place.into(),
                device: about.dev(),
                inode: about.ino(),
            }
        };
        let proc = mounted(Path::new("/proc"));
        are_in_place(std::slice::from_ref(&proc)).unwrap();
        let of_another = Mounted {
            inode: proc.inode + 1,
            ..proc.clone()
        };
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = mounted(folder.path());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/proc", &link).unwrap();
        let by_a_link = Mounted {
            place: (&*link).into(),
            ..proc.clone()
        };
        for wrong in [of_another, elsewhere, by_a_link] {
            let error = are_in_place(&[proc.clone(), wrong])
                .unwrap_err()
                .to_string();
            assert!(error.contains("was moved or replaced just then"), "{error}");
        }
    }
}
