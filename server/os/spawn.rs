//! Programs are started from one thread that lives as long as the process: the kernel's parent-death signal
//! is tied to the *thread* that started a child.

use std::sync::{Mutex, OnceLock, PoisonError, mpsc};

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

struct Job {
    command: Command,
    runtime: Handle,
    reply: oneshot::Sender<std::io::Result<Child>>,
}

/// Starts the program; dropping the child kills it.
///
/// # Errors
/// Those of the operating system.
pub async fn spawn(command: std::process::Command) -> std::io::Result<Child> {
    start(command, true).await
}

/// Starts a program that ends by itself when its input does, and has something to do before; dropping the child leaves
/// it at that. A group of its own: a terminal's Ctrl-C must not reach it either.
///
/// # Errors
/// Those of the operating system.
#[cfg_attr(
    not(unix),
    expect(unused_mut, reason = "it leads no group of that kind there")
)]
pub async fn spawn_keeper(mut command: std::process::Command) -> std::io::Result<Child> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    start(command, cfg!(windows)).await
}

async fn start(command: std::process::Command, kill: bool) -> std::io::Result<Child> {
    let mut command = Command::from(command);
    #[cfg(windows)]
    super::windows::lead_group(command.as_std_mut());
    command.kill_on_drop(kill);
    let (reply, answer) = oneshot::channel();
    let job = Job {
        command,
        runtime: Handle::current(),
        reply,
    };
    let gone = || std::io::Error::other("the thread that starts programs is gone");
    spawner().send(job).map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

fn spawner() -> mpsc::Sender<Job> {
    static SPAWNER: OnceLock<Mutex<mpsc::Sender<Job>>> = OnceLock::new();
    let sender = SPAWNER.get_or_init(|| {
        #[cfg(windows)]
        super::end_children_with_us();
        let (sender, jobs) = mpsc::channel::<Job>();
        let work = move || {
            for Job {
                mut command,
                runtime,
                reply,
            } in jobs
            {
                // A runtime that is shutting down panics; the thread must outlive it.
                let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    let _inside = runtime.enter();
                    command.spawn()
                }));
                // What it holds of pipes is closed before anybody waits for their end.
                drop(command);
                let _ = reply.send(started.unwrap_or_else(|_| {
                    Err(std::io::Error::other("the runtime is shutting down"))
                }));
            }
        };
        if let Err(error) = std::thread::Builder::new()
            .name(String::from("children"))
            .spawn(work)
        {
            tracing::error!("cannot start the thread that starts programs: {error}");
        }
        Mutex::new(sender)
    });
    sender
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}
