//! The keeper: it starts the command, and ends it when the server lets go of it, or is gone.

use std::os::windows::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;

use super::super::order::Order;
use super::{begin, when_left};
use crate::os;

pub(super) fn carry_out(order: Order) -> anyhow::Result<ExitCode> {
    os::end_children_with_us();
    let mut shell = Command::new(os::system_program("cmd.exe"));
    let words = words(&order.command);
    // `cmd` takes its line as it stands and knows nothing of how other programs quote.
    shell.raw_arg(words).stdin(Stdio::null());
    begin().context("standard output")?;
    let mut child = shell.spawn().context("cmd.exe")?;
    let id = child.id();
    when_left(move || os::end_group(id, true));
    // What the command leaves behind ends with us, for it is in our job.
    let status = child.wait().context("cmd.exe")?;
    // Its status has more bits than an `ExitCode`.
    std::process::exit(status.code().unwrap_or(255))
}

/// No commands of the registry before it (`/D`), and of all quotes the outer two alone taken away (`/S`). Programs
/// are asked to write UTF-8; the answer to that is not the command's.
fn words(command: &str) -> String {
    let pages = os::system_program("chcp.com");
    format!(
        "/D /S /C \"\"{}\" 65001 >nul 2>nul & {}\"",
        pages.display(),
        command.trim()
    )
}
