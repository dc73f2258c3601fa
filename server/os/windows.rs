//! Windows, by its own programs and what the standard library knows of it.

use std::os::windows::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Process creation flags of the Win32 API.
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0200;
const CREATE_NO_WINDOW: u32 = 0x0800_0000;

pub(super) fn no_window(command: &mut Command) {
    command.creation_flags(CREATE_NO_WINDOW);
}

/// With a group of its own a terminal's Ctrl-C does not reach it.
pub(super) fn lead_group(command: &mut Command) {
    command.creation_flags(CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP);
}

/// The folder of the system's own programs.
pub(super) fn system_folder() -> PathBuf {
    let root = std::env::var_os("SystemRoot").map(PathBuf::from);
    root.filter(|root| root.is_absolute())
        .unwrap_or_else(|| PathBuf::from(r"C:\Windows"))
        .join("System32")
}

/// Ends a process and all that descends from it, as far as the parents live.
pub(super) fn end_tree(pid: u32) {
    taskkill(pid, &["/T"]);
}

pub(super) fn end(pid: u32) {
    taskkill(pid, &[]);
}

fn taskkill(pid: u32, how: &[&str]) {
    let mut command = Command::new(system_folder().join("taskkill.exe"));
    command
        .args(how)
        .args(["/F", "/PID", &pid.to_string()])
        .current_dir(system_folder())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    no_window(&mut command);
    // That it failed means that nobody of that number is left.
    if let Err(error) = command.status() {
        tracing::warn!("process {pid} cannot be ended: {error}");
    }
}
