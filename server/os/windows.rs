//! Windows, by its own programs, what the standard library knows of it, and one job.

use std::os::windows::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation,
    SetInformationJobObject,
};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

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

/// From now on all that this process begins, and what that begins, ends with it, however it ends: they are in a job
/// whose only handle is ours, and the system ends what is in a job when its last handle is closed. Asked once.
pub fn end_children_with_us() {
    static ASKED: OnceLock<()> = OnceLock::new();
    ASKED.get_or_init(|| {
        if let Err(error) = join_a_job() {
            tracing::warn!("what this process starts may outlive it: {error}");
        }
    });
}

#[expect(
    unsafe_code,
    reason = "four calls of the system with no pointer but those to values of this function; the handle is never closed"
)]
fn join_a_job() -> std::io::Result<()> {
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    let size = u32::try_from(size_of_val(&limits)).map_err(std::io::Error::other)?;
    let done = |result: i32| match result {
        0 => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    };
    // SAFETY: null stands for no attributes and no name; `limits` lives through the call and has the size that is said;
    // the job's handle is the one that was just made, and stays open as long as the process lives.
    unsafe {
        let job = CreateJobObjectW(std::ptr::null(), std::ptr::null());
        if job.is_null() {
            return Err(std::io::Error::last_os_error());
        }
        let kind = JobObjectExtendedLimitInformation;
        done(SetInformationJobObject(
            job,
            kind,
            (&raw const limits).cast(),
            size,
        ))?;
        done(AssignProcessToJobObject(job, GetCurrentProcess()))
    }
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
