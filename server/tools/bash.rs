//! `bash`: one command, waited for.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, Output, Tool, parse, schema};
use crate::config::{Network, Settings};
use crate::host::Progress;
use crate::present::short;
use crate::sandbox::Job;
use crate::trust::{self, Risk};

const TIMEOUT: u64 = 30;
/// A system passes no longer one on in one piece; `cmd` takes 8191 characters, with what stands before it.
const MAX_COMMAND: usize = if cfg!(windows) { 7900 } else { 100 << 10 };
/// Output is shown as progress no oftener than this.
const SHOW_EVERY: Duration = Duration::from_millis(200);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    #[cfg_attr(not(windows), doc = "What `sh -c` runs, in the workspace's root.")]
    #[cfg_attr(
        windows,
        doc = "What `cmd /C` runs, in the workspace's root: one line."
    )]
    command: String,
    /// Seconds after which it is ended, 120 at most; bash_background runs longer commands. Default 30.
    #[serde(default)]
    #[schemars(range(min = 1, max = 120))]
    timeout: Option<u64>,
}

pub(super) struct Bash {
    network: Network,
}

impl Bash {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            network: settings.sandbox.network.clone(),
        }
    }

    /// What a command has not, and what it has of the network.
    fn bounds(&self) -> String {
        const THROUGH: &str = "through an HTTP proxy alone (HTTPS_PROXY and the like are set)";
        let network = match &self.network {
            Network::None => return String::from("has no network, no input and no terminal"),
            Network::Hosts(hosts) => format!(
                "it reaches {THROUGH} these hosts and no others: {}",
                short(&hosts.join(", "), 1000)
            ),
            Network::Public => format!("it reaches {THROUGH} public hosts and no others"),
            Network::Whole => String::from("it has this machine's network"),
        };
        format!("has no input and no terminal; {network}")
    }
}

#[async_trait]
impl Tool for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }
    fn description(&self) -> String {
        if cfg!(windows) {
            return String::from(
                "Runs a command of one line with `cmd /C` in the workspace's root and answers what it printed, 50 KB at most (beginning and end). It has no input and no terminal, temporary files go to %TEMP%; what it starts ends with it. A program of the folder is named by its path (.\\build.cmd). The author is asked about each. What it changes cannot be undone by the author: change files with file_edit and the like, and run commands to build, test and look. Unsaved text of the editor is not on disk.",
            );
        }
        format!(
            "Runs a command with `sh -c` in the workspace's root and answers what it printed, 50 KB at most (beginning and end). It runs in a sandbox: it can write inside the workspace and to $TMPDIR only, reads no keys, {}; what it starts ends with it. What it changes cannot be undone by the author: change files with file_edit and the like, and run commands to build, test and look. Unsaved text of the editor is not on disk.",
            self.bounds()
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Run
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        let Input { command, .. } = parse(self.name(), input)?;
        check_command(self.name(), &command)
    }
    fn about(&self, _cx: &Context, input: &Value) -> String {
        command_of(input)
    }
    fn each_time(&self, cx: &Context, about: &str) -> Option<String> {
        asks(cx, about)
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        let Input { command, timeout } = parse(self.name(), &input)?;
        let seconds = timeout.unwrap_or(TIMEOUT);
        let job = cx.processes.start(&command).await?;
        // Whoever stops waiting stops the command.
        let watched = Watched(Arc::clone(&job));
        let limit = tokio::time::sleep(Duration::from_secs(seconds));
        let show = show(cx, &job);
        tokio::select! {
            () = job.ended() => {}
            () = limit => job.stop(&format!("command timed out after {seconds}s")),
            () = cx.cancel.cancelled() => job.stop("cancelled by the author"),
            () = show => {}
        }
        job.ended().await;
        drop(watched);
        if !job.was_run() {
            return Err(job.report());
        }
        Ok(job.report() + &unseen(cx))
    }
}

struct Watched(Arc<Job>);

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.0.has_ended() {
            self.0.stop("cancelled by the author");
        }
    }
}

/// Shows the newest line as progress, for as long as it is waited for.
async fn show(cx: &Context, job: &Job) {
    loop {
        job.news().await;
        if let Some(line) = job.last_line() {
            let message = format!("bash: {}", short(&line, 100));
            cx.host.progress(&cx.run, Progress::Report { message });
        }
        tokio::time::sleep(SHOW_EVERY).await;
    }
}

pub(super) fn check_command(tool: &str, command: &str) -> Result<(), String> {
    let wrong = if command.trim().is_empty() {
        "is empty"
    } else if command.contains('\0') {
        "holds a NUL"
    } else if command.len() > MAX_COMMAND {
        if cfg!(windows) {
            "is longer than 7900 bytes; write a script into a file and run that"
        } else {
            "is longer than 100 KB; write a script into a file and run that"
        }
    } else {
        return Ok(());
    };
    Err(format!("Wrong parameters for {tool}: `command` {wrong}."))
}

pub(super) fn command_of(input: &Value) -> String {
    let command = input.get("command").and_then(Value::as_str);
    command.unwrap_or_default().to_owned()
}

/// What a command did not see: edits that the author looks at first.
pub(super) fn unseen(cx: &Context) -> String {
    const MOST: usize = 20;
    let planned = cx.tree.overlay().map(|overlay| overlay.all());
    let planned = planned.unwrap_or_default();
    if planned.is_empty() {
        return String::new();
    }
    let names = planned.iter().take(MOST).map(|(path, _)| cx.shown(path));
    let mut names = names.collect::<Vec<_>>().join(", ");
    if planned.len() > MOST {
        names.push_str(&format!(" and {} more", planned.len() - MOST));
    }
    format!(
        "(Your edits wait for the author's review: the command saw these files as they were before: {names})\n"
    )
}

/// Why a command is asked about whatever was granted.
pub(super) fn asks(cx: &Context, command: &str) -> Option<String> {
    if !cx.processes.found().confines() {
        let review = match cx.processes.is_reviewed() {
            true => {
                ", and what it changes would not be shown to you before (turn.review = \"ask\")"
            }
            false => "",
        };
        let remedy = match cfg!(target_os = "linux") {
            true => ": `postil doctor` says how to get one.",
            false => ". There is one on Linux only.",
        };
        return Some(format!(
            "There is no sandbox on this machine, so it would run with all your rights and your whole network{review}{remedy}"
        ));
    }
    trust::destroys(command, cx.tree.root()).map(str::to_owned)
}
