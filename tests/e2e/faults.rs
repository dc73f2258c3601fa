//! Bad input: what stands in files, what they are called, what happens to them meanwhile. The table of
//! docs/faults.md names these tests; `the_table_of_faults_names_tests_that_are` holds it to them.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::harness::{Editor, OnApply, Workspace};

mod beside; // a turn beside an author, an editor, other processes
mod bytes; // what a file holds
mod names; // what a file is called, and what it is
mod pages; // of a run's rounds
mod repositories; // of git, in any state and format
mod store; // what happens to the history
mod table; // docs/faults.md
pub use table::read_all;
mod turn; // what happens to a turn
mod world; // what happens to a file while it is worked on

const ASKED: &str = "fn a() {}\n// AUTHOR: why?\nfn b() {}\n";

/// Runs the binary in the workspace. One that waits for something fails the test by its deadline.
fn run<S: AsRef<std::ffi::OsStr>>(workspace: &Workspace, args: &[S]) -> Output {
    let mut command = workspace.command("timeout");
    command
        .arg("60")
        .arg(env!("CARGO_BIN_EXE_postil"))
        .args(args)
        .stdin(Stdio::null());
    let output = command.output().expect("timeout of coreutils runs");
    assert_ne!(output.status.code(), Some(124), "it does not end");
    output
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// The object of `postil threads --json`.
#[track_caller]
fn listed(workspace: &Workspace, args: &[&str]) -> Value {
    let output = run(workspace, &[&["threads", "--json"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Files that have threads, one for each thread.
#[track_caller]
fn files(workspace: &Workspace) -> Vec<String> {
    let list = listed(workspace, &[]);
    let threads = list["threads"].as_array().expect("an array");
    threads
        .iter()
        .map(|thread| thread["file"].as_str().expect("a file").to_owned())
        .collect()
}

/// Refused in one sentence, which has `says` in it and no control characters.
#[track_caller]
fn refused<S: AsRef<std::ffi::OsStr>>(workspace: &Workspace, args: &[S], says: &str) {
    let output = run(workspace, args);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    assert!(err.contains(says), "{says}: {err}");
    assert_eq!(err.trim_end().lines().count(), 1, "{err}");
    assert!(!err.trim_end().contains(char::is_control), "{err:?}");
}
