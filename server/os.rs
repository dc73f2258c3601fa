//! L3. What the operating system alone can do: a child that dies with us, groups of processes, the
//! memory of one, an environment without secrets. The only one in which the server has `unsafe`.

mod places;
mod processes;
mod signals;
mod spawn;
#[cfg(windows)]
mod windows;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

pub use places::{
    FileId, canonical, file_id, home, home_of_system, is_plain_on_windows, make_private_folder,
    remove_folder, resolved, resolved_all, resolved_folders, slashed, without_dots,
};
pub use processes::{Processes, descendants, group_memory, ignores_end, resident, started};
pub use signals::signalled;
pub use spawn::{spawn, spawn_keeper};
#[cfg(windows)]
pub use windows::end_children_with_us;

/// Makes the program of `command` end when this process ends, however it ends (Linux: the kernel sends
/// it SIGKILL when the *thread* that started it is gone, so start it from one that lives as long as the
/// process), and puts it into a process group of its own, so that [`end_group`] reaches what it starts.
/// Elsewhere only the group is made, or nothing.
pub fn die_with_parent(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(target_os = "linux")]
    pre_exec(command);
    #[cfg(windows)]
    windows::lead_group(command);
}

/// A program with a console gets no window for it, where a system would open one.
pub fn no_window(command: &mut Command) {
    #[cfg(windows)]
    windows::no_window(command);
    #[cfg(not(windows))]
    let _ = command;
}

/// What starts this program once more, also after its file was replaced by another version.
///
/// # Errors
/// Where the system does not tell.
pub fn own_program() -> std::io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe()
}

/// Holds this process to so many bytes of private memory and so many seconds of a processor, where the system can.
pub fn hold_to(memory: u64, seconds: u64) {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let limits = [
            (Resource::Data, memory),
            (Resource::Cpu, seconds),
            (Resource::Core, 0),
        ];
        for (resource, most) in limits {
            let most = Some(most);
            // Where less is allowed already, that stays.
            let _ = setrlimit(
                resource,
                Rlimit {
                    current: most,
                    maximum: most,
                },
            );
        }
    }
    #[cfg(not(unix))]
    let _ = (memory, seconds);
}

/// Gives the system back what was freed. glibc keeps it, for each thread that freed some: after a walk of a large tree
/// that is most of what we hold. Takes milliseconds, and what is allocated meanwhile may wait for it.
pub fn return_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    malloc_trim(0);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(
    unsafe_code,
    reason = "malloc_trim(3), mallopt(3): take any numbers; the second is called before any thread is started"
)]
unsafe extern "C" {
    safe fn malloc_trim(pad: usize) -> std::ffi::c_int;
    safe fn mallopt(what: std::ffi::c_int, value: std::ffi::c_int) -> std::ffi::c_int;
}

/// No more heaps than processors. glibc makes up to eight times as many, and what a walk of a large tree leaves in each,
/// here and there, [`return_memory`] cannot give back. To be called before any thread is started.
pub fn share_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // mallopt(3)
        const M_ARENA_MAX: std::ffi::c_int = -8;
        let processors = std::thread::available_parallelism();
        let most = processors.map_or(1, |n| n.get().try_into().unwrap_or(std::ffi::c_int::MAX));
        mallopt(M_ARENA_MAX, most);
    }
}

/// libgit2 gets no more than so many bytes at once, in this process, from here on: what it reads of a pack may say that it
/// is gigabytes once it is unpacked. To be called before anything else of libgit2.
pub fn bound_libgit2() {
    static DONE: std::sync::Once = std::sync::Once::new();
    DONE.call_once(|| {
        let allocator = bounded::ALLOCATOR;
        #[expect(
            unsafe_code,
            reason = "an option of libgit2 that takes the address of one structure"
        )]
        // SAFETY: `git_allocator` of libgit2 1.9 is these three functions, of which it makes a copy. What was allocated
        // before, if anything was, is of the same malloc.
        unsafe {
            libgit2_sys::git_libgit2_opts(
                libgit2_sys::GIT_OPT_SET_ALLOCATOR as std::ffi::c_int,
                std::ptr::from_ref(&allocator),
            );
        }
    });
}

/// What git may get at once where it only reads, in bytes.
pub const MOST_OF_GIT: usize = 1 << 30;

/// The allocator of C, up to [`MOST_OF_GIT`].
#[expect(unsafe_code, reason = "malloc(3), realloc(3) and free(3), handed on")]
mod bounded {
    use std::ffi::{c_char, c_int, c_void};

    #[repr(C)]
    pub struct Allocator {
        malloc: extern "C" fn(usize, *const c_char, c_int) -> *mut c_void,
        realloc: unsafe extern "C" fn(*mut c_void, usize, *const c_char, c_int) -> *mut c_void,
        free: unsafe extern "C" fn(*mut c_void),
    }

    pub const ALLOCATOR: Allocator = Allocator {
        malloc: bounded,
        realloc: again,
        free,
    };

    unsafe extern "C" {
        safe fn malloc(size: usize) -> *mut c_void;
        fn realloc(old: *mut c_void, size: usize) -> *mut c_void;
        fn free(old: *mut c_void);
    }

    extern "C" fn bounded(size: usize, _: *const c_char, _: c_int) -> *mut c_void {
        match size > super::MOST_OF_GIT {
            true => std::ptr::null_mut(),
            // libgit2 takes nothing for a failure.
            false => malloc(size.max(1)),
        }
    }

    unsafe extern "C" fn again(
        old: *mut c_void,
        size: usize,
        _: *const c_char,
        _: c_int,
    ) -> *mut c_void {
        match size > super::MOST_OF_GIT {
            true => std::ptr::null_mut(),
            // SAFETY: whoever calls this has `old` from here, or it is null.
            false => unsafe { realloc(old, size.max(1)) },
        }
    }
}

/// Whether reading this file may wait for ever, or find no end: a pipe, or a device other than the one with nothing.
pub fn never_ends(file: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let sort = file.metadata().map(|found| found.file_type());
        sort.is_ok_and(|sort| {
            let is_nothing = || canonical(file).is_ok_and(|file| file == Path::new("/dev/null"));
            sort.is_fifo() || sort.is_char_device() && !is_nothing()
        })
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}

/// Where a program is started that has no business in any project: no folder of a person.
pub fn neutral_folder() -> PathBuf {
    #[cfg(windows)]
    return windows::system_folder();
    #[cfg(not(windows))]
    PathBuf::from("/")
}

/// A program of the system itself, `cmd.exe` say, whatever PATH has.
#[cfg(windows)]
pub fn system_program(name: &str) -> PathBuf {
    windows::system_folder().join(name)
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "pre_exec: the closure makes two system calls, allocates nothing and takes no lock"
)]
fn pre_exec(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only async-signal-safe calls are made (prctl, getppid).
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // The parent may have died between the fork and the line above.
            if rustix::process::getppid() != Some(parent) {
                return Err(std::io::Error::from_raw_os_error(
                    rustix::io::Errno::SRCH.raw_os_error(),
                ));
            }
            Ok(())
        });
    }
}

/// From now on a program that this process becomes gets its standard streams and no other open file: what whoever
/// started us left open is not its business. For a process with one thread.
///
/// # Errors
/// Where what is open cannot be told.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "a number is taken for an open file, which it is: it was just listed, and nobody else could close it"
)]
pub fn keep_standard_streams() -> std::io::Result<()> {
    use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
    use std::os::fd::BorrowedFd;
    let listed = std::fs::read_dir("/proc/self/fd")?;
    let numbers: Vec<i32> = listed
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    for number in numbers {
        // SAFETY: used at once; a number that is free by now (the list's own) is refused by the kernel.
        let open = unsafe { BorrowedFd::borrow_raw(number) };
        if let Ok(flags) = fcntl_getfd(open) {
            fcntl_setfd(open, flags | FdFlags::CLOEXEC)?;
        }
    }
    Ok(())
}

/// Whether whoever started this process has it ignore SIGHUP, as `nohup` does.
#[cfg(unix)]
#[expect(unsafe_code, reason = "sigaction(2) that changes nothing")]
fn ignores_hangup() -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: it writes one structure where there is room for it, whose bits may be any, and keeps no pointer.
    unsafe {
        libc::sigaction(libc::SIGHUP, std::ptr::null(), now.as_mut_ptr()) == 0
            && now.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Ends every process of the group that `pid` leads: asked (SIGTERM), or at once (SIGKILL). On Windows, where nobody
/// can be asked: at once, and those that it began and that did not lose their parent.
pub fn end_group(pid: u32, at_once: bool) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
            return;
        };
        if pid == Pid::INIT || pid == rustix::process::getpgrp() {
            return;
        }
        // An error means that nobody of the group is left.
        let _ = kill_process_group(pid, if at_once { Signal::KILL } else { Signal::TERM });
    }
    #[cfg(windows)]
    {
        let _ = at_once;
        windows::end_tree(pid);
    }
    #[cfg(not(any(unix, windows)))]
    let _ = (pid, at_once);
}

/// A step of a turn that leaves something behind. Where a test asks for it (`POSTIL_TEST_KILL=N` beside
/// `POSTIL_TEST`) the process is killed at its Nth, as a power cut would do it; with `int:N` it is sent an
/// interrupt, as by Ctrl-C.
pub fn test_step() {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: OnceLock<Option<(bool, u64)>> = OnceLock::new();
    static STEPS: AtomicU64 = AtomicU64::new(0);
    let last = LAST.get_or_init(|| {
        std::env::var_os("POSTIL_TEST")?;
        let set = std::env::var("POSTIL_TEST_KILL").ok()?;
        let number = set.strip_prefix("int:").unwrap_or(&set);
        Some((number.len() < set.len(), number.parse().ok()?))
    });
    if let Some((interrupt, last)) = last
        && STEPS.fetch_add(1, Ordering::SeqCst) + 1 == *last
    {
        #[cfg(unix)]
        {
            use rustix::process::{Signal, getpid, kill_process};
            let signal = if *interrupt {
                Signal::INT
            } else {
                Signal::KILL
            };
            let _ = kill_process(getpid(), signal);
        }
        if !interrupt {
            std::process::abort();
        }
    }
}

/// What a process is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// To end, when it has put away what it holds.
    End,
    Wait,
    GoOn,
}

/// Tells one process, where a system has such signals.
pub fn signal(pid: u32, told: Told) {
    #[cfg(unix)]
    if let Some(pid) = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    {
        use rustix::process::Signal;
        let signal = match told {
            Told::End => Signal::TERM,
            Told::Wait => Signal::STOP,
            Told::GoOn => Signal::CONT,
        };
        let _ = rustix::process::kill_process(pid, signal);
    }
    #[cfg(not(unix))]
    let _ = (pid, told);
}

/// Ends one process at once.
pub fn kill(pid: u32) {
    #[cfg(unix)]
    if let Some(pid) = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    #[cfg(windows)]
    windows::end(pid);
    #[cfg(not(any(unix, windows)))]
    let _ = pid;
}

/// Makes this process's memory and environment unreadable for others of the same user (Linux: no core dump, no
/// debugger, `/proc/PID/environ` and `mem` closed).
pub fn keep_private() {
    #[cfg(target_os = "linux")]
    if let Err(error) =
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
    {
        tracing::warn!("this process cannot be made private: {error}");
    }
}

/// Variables without which hardly a program of the system starts; none that is a person's secret.
pub const SYSTEM_VARIABLES: &[&str] = if cfg!(windows) {
    &[
        "ALLUSERSPROFILE",
        "APPDATA",
        "CommonProgramFiles",
        "CommonProgramFiles(x86)",
        "CommonProgramW6432",
        "COMPUTERNAME",
        "ComSpec",
        "DriverData",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "NUMBER_OF_PROCESSORS",
        "OS",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROCESSOR_IDENTIFIER",
        "ProgramData",
        "ProgramFiles",
        "ProgramFiles(x86)",
        "ProgramW6432",
        "PSModulePath",
        "PUBLIC",
        "SystemDrive",
        "SystemRoot",
        "TEMP",
        "TMP",
        "USERDOMAIN",
        "USERNAME",
        "USERPROFILE",
        "windir",
    ]
} else {
    &[]
};

/// Whether two names are of the same variable: Windows does not tell small letters from capital ones there.
pub fn is_same_variable(one: &OsStr, other: &str) -> bool {
    if cfg!(windows) {
        one.eq_ignore_ascii_case(other)
    } else {
        one == other
    }
}

/// The names that the file of the program `command` may have, in the order in which they are looked for. On Windows
/// only what can be started: a file beside it without such an end is for another system's shell.
pub fn program_names(command: &str) -> Vec<String> {
    const RUN: [&str; 4] = ["com", "exe", "bat", "cmd"];
    let has_end = Path::new(command)
        .extension()
        .is_some_and(|end| RUN.iter().any(|known| end.eq_ignore_ascii_case(known)));
    if !cfg!(windows) || has_end {
        return vec![command.to_owned()];
    }
    RUN.map(|end| format!("{command}.{end}")).into()
}

/// What starts the program `command`: its name, which the system looks up in PATH; on Windows, where that finds `.exe`
/// alone, its file.
pub fn by_name(command: &str) -> OsString {
    if !cfg!(windows) || Path::new(command).components().count() > 1 {
        return command.into();
    }
    let names = program_names(command);
    search_path(&std::env::var_os("PATH").unwrap_or_default(), &[])
        .iter()
        .flat_map(|folder| names.iter().map(|name| folder.join(name)))
        .find(|file| file.is_file())
        .map_or_else(|| command.into(), PathBuf::into_os_string)
}

/// Whether a variable of this name and value looks like a secret: keys, tokens, passwords, the
/// credentials of clouds, addresses with a password in them.
pub fn is_secret(name: &OsStr, value: &OsStr) -> bool {
    let begins = [
        "AWS_",
        "AZURE_",
        "GOOGLE_APPLICATION",
        "GCLOUD_",
        "GCP_",
        "OPENAI_",
        "ANTHROPIC_",
        "VAULT_",
    ];
    let upper = name.to_string_lossy().to_ascii_uppercase();
    begins.iter().any(|b| upper.starts_with(b)) || holds_secret(name, value)
}

/// [`is_secret`], but not for the cloud alone that the variable belongs to.
pub fn holds_secret(name: &OsStr, value: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let ends = [
        "KEY",
        "TOKEN",
        "SECRET",
        "APIKEY",
        "AUTH",
        "JWT",
        "SSHPASS",
        "PAT",
        "PASS",
        "PWD_FILE",
        "CREDENTIALS",
        "CREDENTIAL",
        "DSN",
    ];
    let holds = [
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "SECRET",
        "_TOKEN_",
        "AUTHTOKEN",
        "AUTH_CONFIG",
        "_JWT_",
        "_PWD",
        "API_KEY",
        "ACCESS_KEY",
        "PRIVATE_KEY",
        "CREDENTIAL",
    ];
    if ends
        .iter()
        .any(|e| name == *e || name.strip_suffix(e).is_some_and(|n| n.ends_with('_')))
        || holds.iter().any(|h| name.contains(h))
    {
        return true;
    }
    // Any of several addresses; a token may stand where the user does. As `git` everybody comes.
    let value = value.to_string_lossy();
    value.split("://").skip(1).any(|rest| {
        let end = |c: char| c.is_whitespace() || "/?#,|;\"'".contains(c);
        let authority = rest.split(end).next().unwrap_or(rest);
        authority
            .rsplit_once('@')
            .is_some_and(|(user, _)| !matches!(user, "" | "git"))
    })
}

/// PATH as a program below us sees it: absolute folders only, none inside `workspaces`.
pub fn search_path(path: &OsStr, workspaces: &[PathBuf]) -> Vec<PathBuf> {
    let outside = |folder: &Path| {
        let real = canonical(folder).unwrap_or_else(|_| folder.to_path_buf());
        !workspaces
            .iter()
            .any(|w| folder.starts_with(w) || real.starts_with(w))
    };
    std::env::split_paths(path)
        .filter(|f| f.is_absolute() && outside(f))
        .collect()
}

/// Our environment for a program below us: nothing that looks like a secret, PATH as [`search_path`].
pub fn environment(workspaces: &[PathBuf]) -> Vec<(OsString, OsString)> {
    std::env::vars_os()
        .filter(|(name, value)| !is_secret(name, value))
        .map(|(name, value)| {
            if is_same_variable(&name, "PATH") {
                let joined =
                    std::env::join_paths(search_path(&value, workspaces)).unwrap_or_default();
                return (name, joined);
            }
            (name, value)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name_or_value() {
        let secret = |n: &str, v: &str| is_secret(OsStr::new(n), OsStr::new(v));
        for name in [
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "MY_SECRET",
            "DB_PASSWORD",
            "PGPASSWORD",
            "AWS_PROFILE",
            "token",
            "CANARY_KEY",
            "MYSQL_PWD",
            "SSHPASS",
            "REDISCLI_AUTH",
            "DOCKER_AUTH_CONFIG",
            "npm_config__auth",
            "npm_config_//registry.npmjs.org/:_authToken",
            "CI_JOB_JWT",
            "CI_JOB_JWT_V2",
        ] {
            assert!(secret(name, "x"), "{name}");
        }
        for (name, value) in [
            ("DATABASE_URL", "postgres://me:hidden@host/db"),
            (
                "GOPROXY",
                "https://proxy.golang.org,https://me:hunter2@go.example,direct",
            ),
            ("INDEX", "https://glpat-0123@host/simple"),
            ("OTHER", "see https://host/a then https://me:a@b@host"),
        ] {
            assert!(secret(name, value), "{name}");
        }
        for (name, value) in [
            ("HOME", "/home/me"),
            ("RUST_SRC_PATH", "/x"),
            ("PWD", "/"),
            ("MONKEY", "x"),
            ("PAGER", "less"),
            ("OLDPWD", "/x"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("XAUTHORITY", "/x"),
            ("URL", "https://host/a@b:c"),
            ("REMOTE", "ssh://git@host/a.git"),
            ("GOPROXY", "https://proxy.golang.org,direct"),
        ] {
            assert!(!secret(name, value), "{name}");
        }
    }

    #[test]
    fn the_search_path_has_no_relative_folder_and_none_of_a_workspace() {
        let path =
            std::env::join_paths(["/usr/bin", ".", "", "bin", "/w/node_modules/.bin", "/w2"])
                .unwrap();
        assert_eq!(
            search_path(&path, &[PathBuf::from("/w")]),
            [PathBuf::from("/usr/bin"), PathBuf::from("/w2")]
        );
    }
}
