//! `postil sandboxed`: this program as the one that becomes a command. It runs before anything else of the program,
//! with one thread, for Landlock and seccomp bind the thread that asks for them. Windows has no such, and a process
//! there cannot become another: it always stays as the keeper.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;

use super::order::{BEGUN, Order};

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix::carry_out;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows::carry_out;

/// The first argument that means this.
pub const WORD: &str = "sandboxed";

/// The exit status where the sandbox could not be set up; nothing was run then.
pub const NOT_SET_UP: u8 = 125;

/// Becomes the command, or keeps it.
///
/// # Errors
/// Why it could not be set up.
pub fn run() -> anyhow::Result<ExitCode> {
    carry_out(order()?)
}

/// Says that all is set up: what follows is the command's own output.
fn begin() -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    output.write_all(&[BEGUN])?;
    output.flush()
}

/// Calls this once the server has let go of us, or is gone: our standard input ends then.
fn when_left(end: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut bytes = [0; 64];
        while input.read(&mut bytes).is_ok_and(|n| n > 0) {}
        end();
        std::process::exit(137);
    });
}

/// One line; what follows it is left where it is.
fn order() -> anyhow::Result<Order> {
    let mut line = Vec::new();
    let mut input = std::io::stdin().lock();
    let mut bytes = [0; 1];
    // One by one from a buffer; a keeper reads on to learn of the end.
    while input.read(&mut bytes)? == 1 && bytes != *b"\n" {
        line.extend_from_slice(&bytes);
    }
    serde_json::from_slice(&line).context("this is started by postil itself alone")
}
