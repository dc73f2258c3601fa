//! The packaged extension in the real VS Code (code-server in headless Chromium), driven as a person would:
//! editors/vscode/test/browser/cases.mjs has what is done there, this makes the project and plays the model.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::Workspace;
use crate::peers;

fn extension() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/vscode")
}

/// The Node that came with code-server.
fn node() -> PathBuf {
    let modules = peers::bin().join("../code-server/node_modules");
    let found = std::fs::read_dir(modules)
        .into_iter()
        .flatten()
        .flatten()
        .find(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with("node-linux")
        });
    found.map_or_else(|| "node".into(), |entry| entry.path().join("bin/node"))
}

/// Whether the editor is there, and what the extension is built with.
fn ready() -> bool {
    peers::have(&["code-server"]) && peers::have_built("editors/vscode/node_modules")
}

/// The extension, packaged from the sources as they are.
fn packaged() -> PathBuf {
    static PACKAGED: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    PACKAGED
        .get_or_init(|| {
            let made = Command::new(node())
                .arg(extension().join("scripts/package.mjs"))
                .output()
                .expect("node runs");
            let said = String::from_utf8_lossy(&made.stderr);
            assert!(made.status.success(), "the extension is packaged: {said}");
            extension().join("dist/postil.vsix")
        })
        .clone()
}

/// Runs a case. `on` is asked for what the case cannot do itself: `@word`.
fn run(case: &str, workspace: &Workspace, env: &[(&str, &str)], mut on: impl FnMut(&str)) {
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/vscode");
    let binary = Path::new(env!("CARGO_BIN_EXE_postil"))
        .parent()
        .expect("a folder");
    let old = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(binary.to_owned()).chain(std::env::split_paths(&old));
    let mut child = workspace
        .command(node())
        .arg(extension().join("test/browser/cases.mjs"))
        .arg(case)
        .arg(workspace.root())
        .arg(packaged())
        .arg(&out)
        .env("PATH", std::env::join_paths(path).expect("a PATH"))
        .env("POSTIL_PEERS_DIR", peers::bin().join(".."))
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("node runs");
    let mut answers = child.stdin.take().expect("a pipe");
    let mut said = String::new();
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        let line = line.expect("text");
        if let Some(word) = line.strip_prefix('@') {
            on(word);
            // It may have given up meanwhile; then its exit status tells.
            let _ = writeln!(answers, "done");
        } else {
            said.push_str(&line);
            said.push('\n');
        }
    }
    let status = child.wait().expect("it ends");
    assert!(
        status.success(),
        "{case}: pictures of it are in target/vscode\n{said}"
    );
}

const NOTES: &str = "fn load() {}\n\nfn lod() {}\n\n// AUTHOR: why?\n// AGENT: Because of `lod`.\n// AUTHOR:\nfn x() { lod(); }\n// TODO: something\n";

#[test]
fn a_thread_is_asked_answered_resolved_and_undone_in_the_margin() {
    if !ready() {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("notes.rs", NOTES);
    run("main", &workspace, &[], |_| {});
}

#[test]
fn the_settings_are_those_of_the_server() {
    if !peers::have(&["code-server"]) {
        return;
    }
    let checked = Command::new(node())
        .arg(extension().join("scripts/settings.mjs"))
        .args([env!("CARGO_BIN_EXE_postil"), "--check"])
        .output()
        .expect("node runs");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
}
