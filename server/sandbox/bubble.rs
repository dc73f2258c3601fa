//! Bubblewrap's arguments.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::view::{Access, View};

/// Devices that all need, and its own processes. Bubblewrap leaves `/proc/sys` as it is, of which every file is
/// root's: who is root outside, rights or none, could set what the kernel does.
pub(super) const SYSTEM: [&str; 7] = [
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--ro-bind-try",
    "/proc/sys",
    "/proc/sys",
];

/// Alone: no process, message or name of the others; no network unless granted; ended with us.
pub(super) fn alone(no_userns: bool, network: bool) -> Vec<&'static str> {
    let mut arguments = vec![
        "--die-with-parent",
        "--new-session",
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--cap-drop",
        "ALL",
    ];
    if no_userns {
        arguments.push("--disable-userns");
    }
    if !network {
        arguments.push("--unshare-net");
    }
    arguments
}

/// What is put before a command line so that these folders cannot be written by it; all else is as it was. The
/// namespace keeps it from the file systems of other processes.
pub(super) fn read_only(program: &Path, root: &Path, folders: &[PathBuf]) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![program.into()];
    let alone = ["--die-with-parent", "--unshare-user", "--cap-drop", "ALL"];
    words.extend(alone.map(OsString::from));
    words.extend(["--dev-bind", "/", "/"].map(OsString::from));
    for folder in folders {
        words.extend(["--ro-bind".into(), folder.into(), folder.into()]);
    }
    words.extend(["--chdir".into(), root.into(), "--".into()]);
    words
}

/// Whether something is mounted for such a place in the midst of such a one.
pub(super) fn is_mounted(access: Access, around: Option<Access>) -> bool {
    match (access, around) {
        // It is there already.
        (Access::Read, Some(Access::Read)) => false,
        (Access::Hidden, Some(Access::Hidden | Access::Private)) => false,
        _ => true,
    }
}

/// The file system as `view` has it; `private` stands where [`Access::Private`] does, and the file `empty` where another
/// is hidden: a device would be one that nobody may open, which is more than git bears of its settings.
pub(super) fn mounts(view: &View, private: &Path, empty: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add =
        |words: &[&std::ffi::OsStr]| arguments.extend(words.iter().map(|w| (*w).to_owned()));
    let mut emptied = Vec::new();
    for (path, access, around) in view.entries() {
        if !is_mounted(access, around) {
            continue;
        }
        let at = path.as_os_str();
        match (access, around) {
            (Access::Read, None) => {
                add(&["--ro-bind".as_ref(), at, at]);
                add(&SYSTEM.map(AsRef::as_ref));
            }
            // What is gone meanwhile needs nothing.
            (Access::Read, _) => add(&["--ro-bind-try".as_ref(), at, at]),
            (Access::Write, _) => add(&["--bind-try".as_ref(), at, at]),
            (Access::Private, _) => add(&["--bind".as_ref(), private.as_os_str(), at]),
            (Access::Hidden, _) if path.is_dir() => {
                add(&["--tmpfs".as_ref(), at]);
                emptied.push(at);
            }
            (Access::Hidden, _) => add(&["--ro-bind".as_ref(), empty.as_os_str(), at]),
        }
    }
    // At the end, for other things may lie inside.
    for at in emptied {
        add(&["--remount-ro".as_ref(), at]);
    }
    arguments
}
