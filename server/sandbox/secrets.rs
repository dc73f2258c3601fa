//! What a command is not to read elsewhere than in a home, though who started us may: of the system's own files, as root
//! the passwords of all and the keys of this machine's servers; and what variables name.

use std::path::PathBuf;

use crate::os;

/// Where the system keeps such files among others that everybody reads.
const PLACES: &[&str] = &["/etc", "/usr/local/etc", "/var/backups"];
/// No system has more of them; each is a mount of its own.
#[cfg(unix)]
const MOST: usize = 200;
#[cfg(unix)]
const DEPTH: usize = 8;

/// The files there that not everybody may read and we can, and such folders whole.
pub(super) fn of_system() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in PLACES {
        collect(PathBuf::from(place), 0, &mut found);
    }
    found
}

/// Variables that say where keys lie: files, or folders of such, several in one.
const NAMED: &[&str] = &[
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "CLOUDSDK_CONFIG",
    "DOCKER_CONFIG",
    "GNUPGHOME",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "KUBECONFIG",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "PASSWORD_STORE_DIR",
    "XDG_CONFIG_HOME",
    "npm_config_userconfig",
];

/// What they name: never a whole home, or all there is, nor a device, which switches a file off.
pub(super) fn named() -> Vec<PathBuf> {
    let home = os::home().unwrap_or_default();
    let values = NAMED.iter().filter_map(std::env::var_os);
    let places = values.flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>());
    places
        .filter(|place| place.is_absolute() && !home.starts_with(place))
        .filter(|place| place.is_file() || place.is_dir())
        .collect()
}

/// Cargo's own folder, where it has another than in the home.
pub(super) fn cargo() -> Vec<PathBuf> {
    std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .into_iter()
        .collect()
}

#[cfg(unix)]
fn collect(path: PathBuf, depth: usize, found: &mut Vec<PathBuf>) {
    use std::os::unix::fs::MetadataExt as _;

    use rustix::fs::{Access, access};

    // A link is no way past the mode of what it leads to, which is looked at where it lies.
    let Ok(about) = std::fs::symlink_metadata(&path) else {
        return;
    };
    let (everybody, ours) = match (about.is_dir(), about.is_file()) {
        (true, _) => (0o001, Access::EXEC_OK),
        (_, true) => (0o004, Access::READ_OK),
        _ => return,
    };
    if found.len() >= MOST {
        return;
    }
    if about.mode() & everybody == 0 {
        // What is closed to us is closed to a command: hiding it would only close what lies around it.
        if access(&path, ours).is_ok() {
            found.push(path);
        }
    } else if about.is_dir() && depth < DEPTH {
        let names = std::fs::read_dir(&path).into_iter().flatten().flatten();
        for entry in names {
            collect(entry.path(), depth + 1, found);
        }
    }
}

#[cfg(not(unix))]
fn collect(_: PathBuf, _: usize, _: &mut Vec<PathBuf>) {}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_not_everybody_may_read_is_found_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let mode = |name: &str, mode: u32| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(root.join(name), mode).unwrap();
        };
        std::fs::create_dir_all(root.join("ssl/private")).unwrap();
        for file in ["hosts", "shadow", "ssl/private/a.key", "ssl/open.key"] {
            std::fs::write(root.join(file), "").unwrap();
            mode(file, 0o644);
        }
        std::os::unix::fs::symlink(root.join("shadow"), root.join("link")).unwrap();
        mode("shadow", 0o640);
        mode("ssl/open.key", 0o600);
        mode("ssl/private", 0o710);
        mode("ssl", 0o755);
        mode("", 0o755);
        let mut found = Vec::new();
        collect(root.to_owned(), 0, &mut found);
        found.sort();
        let expected = ["shadow", "ssl/open.key", "ssl/private"].map(|name| root.join(name));
        assert_eq!(found, expected);
    }
}
