//! Bubblewrap's arguments.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::view::{Access, View};

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

/// The file system as `view` has it; `private` stands where [`Access::Private`] does.
pub(super) fn mounts(view: &View, private: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add =
        |words: &[&std::ffi::OsStr]| arguments.extend(words.iter().map(|w| (*w).to_owned()));
    let mut emptied = Vec::new();
    for (path, access, around) in view.entries() {
        let at = path.as_os_str();
        match (access, around) {
            (Access::Read, None) => {
                add(&["--ro-bind".as_ref(), at, at]);
                add(&["--dev", "/dev", "--proc", "/proc"].map(AsRef::as_ref));
            }
            // What is there already.
            (Access::Read, Some(Access::Read)) => {}
            // What is gone meanwhile needs nothing.
            (Access::Read, _) => add(&["--ro-bind-try".as_ref(), at, at]),
            (Access::Write, _) => add(&["--bind-try".as_ref(), at, at]),
            (Access::Private, _) => add(&["--bind".as_ref(), private.as_os_str(), at]),
            (Access::Hidden, Some(Access::Hidden | Access::Private)) => {}
            (Access::Hidden, _) if path.is_dir() => {
                add(&["--tmpfs".as_ref(), at]);
                emptied.push(at);
            }
            (Access::Hidden, _) => add(&["--ro-bind".as_ref(), "/dev/null".as_ref(), at]),
        }
    }
    // At the end, for other things may lie inside.
    for at in emptied {
        add(&["--remount-ro".as_ref(), at]);
    }
    arguments
}
