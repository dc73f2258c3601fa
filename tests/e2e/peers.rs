//! The real editors and servers that `tests/peers install` put there. A test that needs one which is
//! missing says so and is skipped; under `POSTIL_PEERS=require` it fails instead.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Where the launchers are: `$POSTIL_PEERS_DIR/bin`, else `.peers/bin` in the repository.
pub fn bin() -> PathBuf {
    let dir = std::env::var_os("POSTIL_PEERS_DIR").map(PathBuf::from);
    dir.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(".peers"))
        .join("bin")
}

/// The launcher of a peer. The PATH is not searched: what stands there may be a stub (rustup's), or any version.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = bin().join(name);
    path.exists().then_some(path)
}

/// A folder that no registry has, and that whoever has a copy names in the environment.
#[must_use]
pub fn pointed_to(variable: &str) -> Option<String> {
    let folder = std::env::var(variable).ok().filter(|f| !f.is_empty());
    if folder.is_none() {
        note(&format!("{variable}=FOLDER"));
    }
    folder
}

pub fn note(missing: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Straight to the descriptor: what the print macros write is shown for failed tests only.
    let _ = writeln!(std::io::stderr(), "skipped: {test} (no {missing})");
}

/// Whether all of `names` are there. If not, the running test is noted as skipped, or fails.
#[must_use]
pub fn have(names: &[&str]) -> bool {
    let missing: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| find(name).is_none())
        .collect();
    if missing.is_empty() {
        return true;
    }
    let missing = missing.join(", ");
    assert!(
        std::env::var_os("POSTIL_PEERS").is_none_or(|v| v != "require"),
        "no {missing}: `tests/peers install {missing}` gets it"
    );
    note(&missing);
    false
}

/// The same for a program of the machine itself, which is no peer.
#[must_use]
pub fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    told(there, program, "not on the PATH")
}

/// The same for what is built in the repository by a step of its own (`npm ci`).
#[must_use]
pub fn have_built(path: &str) -> bool {
    let there = Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists();
    told(there, path, "see its README or .ci/run")
}

/// What is not there is a failure where it is required, and named where it is not.
#[must_use]
pub fn told(there: bool, what: &str, why: &str) -> bool {
    let required = std::env::var_os("POSTIL_PEERS").is_some_and(|v| v == "require");
    assert!(there || !required, "no {what}: {why}");
    if !there {
        note(what);
    }
    there
}

/// The PATH with the peers first, for programs that look their children up there.
pub fn path() -> OsString {
    let old = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(bin()).chain(std::env::split_paths(&old));
    std::env::join_paths(dirs).unwrap_or(old)
}
