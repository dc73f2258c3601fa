//! How commands print: data on standard output, the rest on standard error. The one place that writes there.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::args::Color;
use crate::present;

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const GREEN: Style = AnsiColor::Green.on_default();
pub(super) const RED: Style = AnsiColor::Red.on_default();
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(super) const CYAN: Style = AnsiColor::Cyan.on_default();

/// Whoever read the output has gone: nothing more is printed, and the command goes on to its own end, so
/// that a turn is recorded as it ended and the exit status is the command's.
static GONE: AtomicBool = AtomicBool::new(false);

/// The output could not be written, though whoever reads it is there (a full disk).
static LOST: AtomicBool = AtomicBool::new(false);

/// Whether all that was to be printed is where it was to go, or not wanted any more.
pub(super) fn is_whole() -> bool {
    if !GONE.load(Ordering::Relaxed) {
        ended(std::io::stdout().flush());
    }
    !LOST.load(Ordering::Relaxed)
}

/// Whether the output goes into the log of a service that takes some of its lines for commands: GitHub Actions (and what
/// is compatible with it), Azure Pipelines, TeamCity.
static OBEYED: LazyLock<bool> = LazyLock::new(|| {
    ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
});

#[derive(Clone, Copy)]
pub(super) struct Out {
    pub json: bool,
    pub quiet: bool,
}

impl Out {
    pub fn new(json: bool, quiet: bool, color: Color) -> Self {
        match color {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
        Self { json, quiet }
    }

    /// Nobody reads any more: a long list may stop.
    pub fn is_gone(self) -> bool {
        GONE.load(Ordering::Relaxed)
    }

    /// One line of a result. What came from a file must have been through [`present::visible`].
    pub fn line(&self, text: impl Display) {
        if self.is_gone() {
            return;
        }
        ended(match *OBEYED {
            true => writeln!(anstream::stdout(), "{}", disarmed(&text.to_string())),
            false => writeln!(anstream::stdout(), "{text}"),
        });
    }

    /// Text just as it is for a pipe or a file; without what a terminal would obey, or a CI service, which reads a pipe.
    pub fn raw(&self, text: &str) {
        if self.is_gone() {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        ended(if stdout.is_terminal() {
            stdout.write_all(present::visible(text).as_bytes())
        } else if *OBEYED && !is_a_file() {
            stdout.write_all(disarmed(text).as_bytes())
        } else {
            stdout.write_all(text.as_bytes())
        });
    }

    /// Data, as JSON on one line a value.
    pub fn data(&self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(text) if *OBEYED => self.raw(&(escaped(&text).replace("##", "#\\u0023") + "\n")),
            Ok(text) => self.raw(&(escaped(&text) + "\n")),
            Err(error) => self.complain(&error.to_string()),
        }
    }

    /// What happens meanwhile: for people, not with `--quiet` or `--json`.
    pub fn note(&self, text: impl Display) {
        if !self.quiet && !self.json {
            self.line(text);
        }
    }

    pub fn warn(&self, text: &str) {
        if !self.quiet {
            self.ask(text);
        }
    }

    /// A question, or what belongs to one: somebody is waited for, so it is shown whatever else is not.
    pub fn ask(&self, text: &str) {
        let text = told(text);
        let _ = writeln!(anstream::stderr(), "{YELLOW}postil:{YELLOW:#} {text}");
    }

    /// What the command ends with: on standard error, with `--json` as an object on standard output too.
    pub fn error(&self, text: &str, code: &str) {
        if self.json {
            let text = present::visible(text);
            self.data(&serde_json::json!({"error": text, "code": code}));
        }
        self.complain(text);
    }

    /// An error that a thread has; of several, where it stands in a file.
    pub fn error_of(&self, text: &str, code: &str, thread: &str, file: Option<&str>) {
        if self.json {
            let text = present::visible(text);
            self.data(&serde_json::json!({"error": text, "code": code, "thread_id": thread}));
        }
        match file {
            Some(file) => {
                self.complain(&format!("{thread} in {}: {text}", present::one_line(file)))
            }
            None => self.complain(text),
        }
    }

    /// An error by the way, that the data tells of too.
    pub fn complain(&self, text: &str) {
        let text = told(text);
        let _ = writeln!(anstream::stderr(), "{RED}postil:{RED:#} {text}");
    }
}

/// A sentence as it is said here, behind our name. What others wrote may be in it, so that only its first line begins as
/// it likes: a log could take one for a command to it.
fn told(text: &str) -> String {
    let text = present::visible(text.trim_end()).replace('\n', "\n  | ");
    match *OBEYED {
        true => disarmed(&text).into_owned(),
        false => text,
    }
}

/// `text` without what a CI service takes for a command to it: `::` as the first of a line, `##[`, `##vso[` and
/// `##teamcity[` anywhere.
fn disarmed(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    // Some of these services read a carriage return by itself as the end of a line.
    for line in text.split_inclusive(['\n', '\r']) {
        if line.trim_start().starts_with("::") {
            out.push_str("| ");
        }
        out.push_str(line);
    }
    for command in ["[", "vso[", "teamcity["] {
        out = out.replace(&format!("##{command}"), &format!("## {command}"));
    }
    Cow::Owned(out)
}

/// Whether the output goes into a regular file.
fn is_a_file() -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        let output = std::io::stdout().as_fd().try_clone_to_owned();
        let output = output.and_then(|output| std::fs::File::from(output).metadata());
        output.is_ok_and(|output| output.is_file())
    }
    #[cfg(not(unix))]
    false
}

/// What became of something that was printed.
pub(super) fn ended(written: std::io::Result<()>) {
    let Err(error) = written else { return };
    if GONE.swap(true, Ordering::Relaxed) || error.kind() == std::io::ErrorKind::BrokenPipe {
        return;
    }
    LOST.store(true, Ordering::Relaxed);
    let _ = writeln!(
        anstream::stderr(),
        "{RED}postil:{RED:#} the output cannot be written: {error}"
    );
}

/// JSON without raw control and format characters, which only its strings can hold (RFC 8259 §7).
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_control() || present::is_deceptive(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_others_wrote_is_a_command_to_a_ci_service() {
        for (text, shown) in [
            ("::error file=a::b", "| ::error file=a::b"),
            ("a\n  ::add-mask::x\nb", "a\n|   ::add-mask::x\nb"),
            ("a\r::error::b\r\n::c", "a\r| ::error::b\r\n| ::c"),
            ("a ##[error]b ##vso[task]", "a ## [error]b ## vso[task]"),
            ("##teamcity[x]", "## teamcity[x]"),
            ("std::mem, ## Heading", "std::mem, ## Heading"),
        ] {
            assert_eq!(disarmed(text), shown);
        }
    }
}
