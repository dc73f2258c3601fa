//! Emacs with eglot, in batch, set up as docs/editors/emacs.md says.

use std::path::{Path, PathBuf};

use crate::harness::Workspace;
use crate::peers;

#[test]
fn a_thread_is_shown_and_answered_by_eglot() {
    if !peers::have(&["emacs"]) {
        return;
    }
    let workspace = Workspace::new();
    let file = workspace.write(
        "notes.py",
        "# AUTHOR: where is `load` used?\ndef load(path):\n    return path\n\n\nload(1)\n",
    );
    workspace.git(&["init", "-q"]);
    let trust = workspace.postil().args(["trust", "--yes"]).output();
    assert!(trust.expect("it runs").status.success());
    let built = Path::new(env!("CARGO_BIN_EXE_postil"))
        .parent()
        .map(PathBuf::from);
    let known = peers::path();
    let path = std::env::join_paths(built.into_iter().chain(std::env::split_paths(&known)));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/emacs/eglot.el");
    let output = workspace
        .command(peers::find("emacs").expect("emacs"))
        .args(["-Q", "--batch", "-l"])
        .arg(script)
        .env("PATH", path.expect("a path"))
        .env("POSTIL_FILE", file)
        .env("POSTIL_MODEL", "offline")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("Emacs runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    for part in [
        "shown: (\"postil [pending]: awaiting agent: where is `load` used?\")",
        "\"Reply as agent\"",
        "\n# AGENT: ",
        "unsaved: t",
    ] {
        assert!(said.contains(part), "no {part} in {said}");
    }
}
