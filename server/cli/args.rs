//! The commands, their arguments, and the help that people read.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::IntErrorKind;
use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::{ArgValueCandidates as Offers, ArgValueCompleter, CompletionCandidate};

use super::complete;
use crate::store::RunStatus;
use crate::threads::Status;
use crate::verbs::{HITS, RUNS};

/// A conversation with an agent in the margins of your code.
///
/// Without a command it is the language server, on standard input and output.
///
/// Exit status: 0 where it was done; 1 where it was not, or the answer is no (the help of a command says more); 2 for
/// wrong usage; 143 where the language server was ended by SIGTERM, SIGINT or SIGHUP.
#[derive(Parser)]
#[command(
    name = "postil",
    version,
    max_term_width = 100,
    after_help = "Example: postil demo"
)]
pub(super) struct Args {
    #[command(flatten)]
    pub global: Global,
    #[command(flatten)]
    pub serve: ServeArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The paragraph of a command's help that tells its exit status begins so; its man page has it as a section.
pub(super) const STATUS: &str = "Exit status: ";

/// What a shell offers for a value.
fn offers(look: fn() -> Vec<CompletionCandidate>) -> Offers {
    Offers::new(look)
}

/// Above the options that every command has.
const COMMON: &str = "Common options";

#[derive(clap::Args)]
pub(super) struct Global {
    /// The workspace folder [default: the nearest repository (git, Jujutsu, Mercurial) above the current
    /// folder, else that folder]
    #[arg(short = 'C', long, value_name = "DIR", value_hint = ValueHint::DirPath, global = true, help_heading = COMMON)]
    pub workspace: Option<PathBuf>,
    /// Print data as JSON
    #[arg(long, global = true, help_heading = COMMON)]
    pub json: bool,
    /// Print results alone
    #[arg(short, long, global = true, help_heading = COMMON)]
    pub quiet: bool,
    /// Say more on standard error (twice: still more)
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = COMMON)]
    pub verbose: u8,
    /// Read every file, and keep nothing of it for the next time
    #[arg(long, global = true, help_heading = COMMON)]
    pub no_cache: bool,
    /// When to colour
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", global = true, help_heading = COMMON)]
    pub color: Color,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(clap::Args)]
pub(super) struct ServeArgs {
    /// Speak on standard input and output (the default)
    #[arg(long)]
    pub stdio: bool,
    /// Connect to a pipe (a Unix socket) where the client listens
    #[arg(long, value_name = "PATH", conflicts_with_all = ["socket", "listen", "stdio"])]
    pub pipe: Option<PathBuf>,
    /// Connect to a port on this machine where the client listens
    #[arg(long, value_name = "PORT", conflicts_with_all = ["listen", "stdio"])]
    pub socket: Option<u16>,
    /// Listen on a loopback address for one client at a time, which shows the token that is printed
    #[arg(long, value_name = "ADDR", conflicts_with = "stdio")]
    pub listen: Option<SocketAddr>,
    /// The process to end with, as `processId` of `initialize`
    #[arg(
        long = "clientProcessId",
        value_name = "PID",
        allow_hyphen_values = true
    )]
    pub client_process: Option<i64>,
}

impl ValueEnum for Status {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Pending, Self::AwaitingUser]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// Be the language server
    ///
    /// Exit status: 0 where the client shut it down; 1 where the connection could not be made or ended otherwise; 2 for
    /// wrong usage; 143 after SIGTERM, SIGINT or SIGHUP.
    #[command(after_help = "Example: postil serve --listen 127.0.0.1:7000")]
    Serve(ServeArgs),
    /// List threads
    #[command(after_help = "Example: postil threads src --status pending")]
    Threads {
        /// A file or folder [default: the workspace]
        path: Option<PathBuf>,
        /// Only threads with this status
        #[arg(long, value_enum)]
        status: Option<Status>,
        /// Print SARIF 2.1.0
        #[arg(long, conflicts_with = "json")]
        sarif: bool,
    },
    /// Add an agent's message to a thread
    #[command(after_help = "Example: postil respond 3f9a 'Renamed.'")]
    Respond {
        /// The thread's id, or four digits of it or more
        #[arg(add = offers(complete::threads))]
        id: String,
        /// The message; `-` reads standard input
        #[arg(allow_hyphen_values = true)]
        text: Option<OsString>,
        /// The agent's name, written as AGENT(NAME)
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// Add your message to a thread
    #[command(after_help = "Example: postil say 3f9a 'And the callers?'")]
    Say {
        /// The thread's id, or four digits of it or more
        #[arg(add = offers(complete::threads))]
        id: String,
        /// The message; `-` reads standard input
        #[arg(allow_hyphen_values = true)]
        text: Option<OsString>,
    },
    /// Start a thread above a line
    #[command(after_help = "Example: postil new src/net.rs:47 'why a mutex here?'")]
    New {
        /// The file and the line, counted from 1
        #[arg(value_name = "FILE:LINE", value_hint = ValueHint::FilePath)]
        place: OsString,
        /// The message; `-` reads standard input
        #[arg(allow_hyphen_values = true)]
        text: Option<OsString>,
    },
    /// Remove a thread; its conversation stays in the history
    // What the editors' menus call it does here, too.
    #[command(alias = "resolve", after_help = "Example: postil dismiss 3f9a")]
    Dismiss {
        /// The thread's id, or four digits of it or more
        #[arg(add = offers(complete::threads))]
        id: String,
    },
    /// Remove every thread of a file and commit that file
    #[command(after_help = "Example: postil clear src/net.rs -m 'Review done'")]
    Clear {
        /// The file
        file: PathBuf,
        /// The commit's message
        #[arg(short, long)]
        message: Option<String>,
    },
    /// Carry out the action words: `done`, `reset`, `commit`, `commit file`
    ///
    /// Exit status: 0 where each was carried out; 1 where one was not; 2 for wrong usage.
    #[command(after_help = "Example: postil process src")]
    Process {
        /// A file or folder [default: the workspace]
        path: Option<PathBuf>,
    },
    /// Exit with 1 while threads are open: for hooks and CI
    ///
    /// Exit status: 0 where no thread is open; 1 where one is, or a path could not be looked at; 2 for wrong usage.
    #[command(after_help = "Example: postil check --status pending && git push")]
    Check {
        /// Files or folders [default: the workspace]
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Only threads with this status count
        #[arg(long, value_enum)]
        status: Option<Status>,
        /// Print SARIF 2.1.0
        #[arg(long, conflicts_with = "json")]
        sarif: bool,
    },
    /// Have threads answered, without an editor
    ///
    /// Exit status: 0 where every turn was answered; 1 where one failed, was cancelled, paused at a cap or asks
    /// you something (answer it with `postil say`, then reply again), or where nobody could be asked; 2 for wrong usage.
    #[command(after_help = "Example: postil reply --all src --budget 1.50 --yes")]
    Reply(ReplyArgs),
    /// Ask a second model what it thinks of a thread; nothing in the files changes
    ///
    /// The model is `turn.consult`, or the one that is named. What it says is kept in the thread's run.
    #[command(after_help = "Example: postil consult 3f9a --model openai/gpt-5")]
    Consult {
        /// The thread's id, or four digits of it or more
        #[arg(value_name = "ID", add = offers(complete::threads))]
        thread: String,
        /// provider/model
        #[arg(long)]
        model: Option<String>,
    },
    /// Put back what a run's last turn changed
    ///
    /// What you have changed yourself since stays, and is named. Where nothing is to be taken back, for all of it is
    /// as before already or yours by now, the turn can be undone later, on its own branch for example; on a terminal and
    /// in an editor you are asked whether to leave it so and undo the turn before.
    ///
    /// Exit status: 0 where every file is as before the turn, but for that; 1 where one is not; 2 for wrong usage.
    #[command(after_help = "Example: postil undo 3f9a")]
    Undo {
        /// The run's id or the thread's
        #[arg(add = offers(complete::runs))]
        run: String,
    },
    /// Why a line is as it is: the closed conversations that it comes from
    ///
    /// git tells which commits shaped the line. A conversation is told that stood at it, whose agent wrote it, or that
    /// one of these commits closed.
    #[command(after_help = "Example: postil why src/net.rs:47")]
    Why {
        /// The file and the line, counted from 1
        #[arg(value_name = "FILE:LINE", value_hint = ValueHint::FilePath)]
        place: OsString,
    },
    /// The history: runs and their rounds
    #[command(
        subcommand,
        after_help = "Example: postil workflow thread 3f9a --budget 8000"
    )]
    Workflow(WorkflowCommand),
    /// Be an MCP server for an outside agent, on standard input and output
    ///
    /// The workspace is what the agent names as its roots; where it names none, --workspace or the current
    /// repository. An editor that has it open sees and makes the changes.
    #[command(after_help = "Example: claude mcp add postil -- postil mcp")]
    Mcp {
        /// Offer only what changes nothing
        #[arg(long)]
        read_only: bool,
    },
    /// Be an agent for an editor that speaks the Agent Client Protocol, on standard input and output
    ///
    /// A prompt is answered by the same loop, tools and permissions as a thread; a prompt that names a thread's
    /// id answers that thread.
    #[command(
        after_help = "Example: postil acp, as the command of an agent in the editor's settings"
    )]
    Acp,
    /// Trust a workspace, or take its trust back
    #[command(after_help = "Example: postil trust --yes")]
    Trust {
        /// The folder [default: the workspace]
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Take the trust back
        #[arg(long)]
        revoke: bool,
    },
    /// What the agent may do without asking, and how to take it back
    #[command(after_help = "Example: postil permissions --revoke 3f9a")]
    Permissions {
        /// Take back the grant with this id, or this beginning of one
        #[arg(long, value_name = "ID")]
        revoke: Option<String>,
    },
    /// Who answers and who could; with a name, who shall
    ///
    /// Without a name, the one that answers has a star. The choice is written as `model` into your own config.toml.
    #[command(after_help = "Example: postil model anthropic/claude-sonnet-5-5")]
    Model {
        /// `provider/model`, `acp/agent` or `offline`
        #[arg(value_name = "MODEL", add = offers(complete::models))]
        model: Option<String>,
        /// Leave it to what is found
        #[arg(long, conflicts_with = "model")]
        unset: bool,
    },
    /// The language servers that can be asked
    #[command(after_help = "Example: postil servers --json")]
    Servers,
    /// The agent's tools
    #[command(subcommand, after_help = "Example: postil tools list")]
    Tools(ToolsCommand),
    /// The settings
    #[command(subcommand, after_help = "Example: postil config show")]
    Config(ConfigCommand),
    /// What was found: settings, model, language servers, git, history
    ///
    /// Exit status: 0 where nothing is wrong; 1 where something is, which has a cross before it; 2 for wrong usage.
    #[command(after_help = "Example: postil doctor --online")]
    Doctor {
        /// Ask the model one small question, too; it may cost a fraction of a cent
        #[arg(long)]
        online: bool,
    },
    /// Have an editor run postil
    #[command(subcommand, after_help = "Example: postil editor helix")]
    Editor(EditorCommand),
    /// The whole job on a small project in a temporary folder
    #[command(after_help = "Example: postil demo")]
    Demo,
    /// Man pages, one for each command
    #[command(after_help = "Example: postil man /usr/local/share/man/man1")]
    Man {
        /// The folder that they are written to; without it, where `man` looks for your own: ~/.local/share/man/man1
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
    },
    /// Completions for a shell
    #[command(after_help = "Example: postil completions bash > /etc/bash_completion.d/postil")]
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

#[derive(clap::Args)]
pub(super) struct ReplyArgs {
    /// The thread's id, or four digits of it or more; with --all a file or folder
    #[arg(value_name = "ID|PATH", add = ArgValueCompleter::new(complete::pending_and_paths))]
    pub target: Option<OsString>,
    /// Every pending thread
    #[arg(long)]
    pub all: bool,
    /// Go on with a run that stopped half-way: at a cap, by a failure, with its process
    #[arg(long, value_name = "RUN", conflicts_with_all = ["all", "target"], add = offers(complete::runs))]
    pub resume: Option<String>,
    /// A second agent (--model) answers what another has answered already; read-only
    #[arg(long, conflicts_with_all = ["all", "resume"])]
    pub another: bool,
    /// provider/model, or `offline`
    #[arg(long, add = offers(complete::models))]
    pub model: Option<String>,
    /// An outside agent (codex, claude-code and others) or provider/model; in a thread that is answered already,
    /// it answers beside the first one, as --another
    #[arg(long, value_name = "NAME", conflicts_with = "model", add = offers(complete::models))]
    pub agent: Option<String>,
    /// Read-only: nothing is edited
    #[arg(long)]
    pub plan: bool,
    /// At most so many US dollars a turn; refused where the model's price is not known
    #[arg(long, value_name = "USD", allow_hyphen_values = true, value_parser = dollars)]
    pub budget: Option<f64>,
    /// Answer questions that came with the files with edits allowed; a tool's own questions are asked still,
    /// and refused where there is no terminal
    #[arg(long)]
    pub yes: bool,
    /// Print the first request (rules, messages, tools, what each part takes) instead of sending it; nothing
    /// is written
    #[arg(long, conflicts_with_all = ["all", "resume"], requires = "target")]
    pub dry_run: bool,
    /// Turns that run at once
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true, value_parser = clap::value_parser!(u16).range(1..=16))]
    pub jobs: u16,
}

#[derive(Subcommand)]
pub(super) enum WorkflowCommand {
    /// Runs, newest first
    #[command(after_help = "Example: postil workflow list --status failed")]
    List {
        /// Only this thread's
        #[arg(long, value_name = "ID", add = offers(complete::threads))]
        thread: Option<String>,
        /// Only with this status
        #[arg(long, value_parser = RunStatus::parse, add = offers(complete::statuses))]
        status: Option<RunStatus>,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = RUNS, allow_hyphen_values = true, value_parser = some)]
        limit: usize,
    },
    /// The rounds of a run, in pages
    #[command(after_help = "Example: postil workflow thread 3f9a --before 7 --budget 8000")]
    Thread {
        /// The run's id or a unique prefix, or a thread's id
        #[arg(add = offers(complete::runs))]
        run: String,
        /// Rounds before this one
        #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = round)]
        before: Option<u64>,
        /// At most so many characters
        #[arg(long, value_name = "C", default_value_t = 8000, allow_hyphen_values = true, value_parser = whole)]
        budget: usize,
    },
    /// One run's facts
    #[command(after_help = "Example: postil workflow show 3f9a")]
    Show {
        /// The run's id or the thread's
        #[arg(add = offers(complete::runs))]
        run: String,
    },
    /// Stop a run that is live, in whichever process
    #[command(after_help = "Example: postil workflow cancel 3f9a")]
    Cancel {
        /// The run's id or the thread's
        #[arg(add = offers(complete::runs))]
        run: String,
    },
    /// Find words in rounds
    #[command(after_help = "Example: postil workflow search load_data")]
    Search {
        /// All of them are in what is found
        #[arg(required = true)]
        words: Vec<String>,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = HITS, allow_hyphen_values = true, value_parser = some)]
        limit: usize,
    },
    /// A whole run as a document
    #[command(after_help = "Example: postil workflow export 3f9a --format html > run.html")]
    Export {
        /// The run's id or the thread's
        #[arg(add = offers(complete::runs))]
        run: String,
        #[arg(long, value_enum, default_value_t = Document::Markdown)]
        format: Document,
    },
    /// Delete runs in which nothing has happened for long; closed conversations stay
    #[command(after_help = "Example: postil workflow prune --older-than 90d --dry-run")]
    Prune {
        /// As in 90d, 12w, 48h
        #[arg(long, value_name = "AGE", value_parser = age)]
        older_than: Age,
        /// Only say which
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Subcommand)]
pub(super) enum ToolsCommand {
    /// Every tool: name, risk, what it does
    #[command(after_help = "Example: postil tools list --json")]
    List,
    /// Call one tool under the same permissions
    #[command(after_help = "Example: postil tools call grep '{\"pattern\":\"fn main\"}'")]
    Call {
        /// The tool's name, as `postil tools list` has it
        #[arg(add = offers(complete::tool_names))]
        name: String,
        /// Its parameters, a JSON object
        #[arg(value_name = "JSON")]
        parameters: String,
    },
}

#[derive(Subcommand)]
pub(super) enum ConfigCommand {
    /// The JSON schema of the settings
    #[command(after_help = "Example: postil config schema > postil.schema.json")]
    Schema,
    /// Each value, and where it came from
    #[command(after_help = "Example: postil config show --json")]
    Show,
}

#[derive(Subcommand)]
pub(super) enum EditorCommand {
    /// Put postil behind each language's own servers in Helix's languages.toml, or bring that up to date
    ///
    /// Its lines stand between two marks; every other byte of the file stays as it is. A language that has a row
    /// of your own keeps it: Helix takes one row a language, so what to put into it is told.
    #[command(after_help = "Example: postil editor helix --remove")]
    Helix {
        /// Take the lines out again
        #[arg(long)]
        remove: bool,
    },
    /// Put the plugin that goes with this program among Neovim's packages, or bring it up to date
    ///
    /// It lands in the data folder of Neovim (`stdpath("data")`), where Neovim finds it without any configuration.
    /// What postil did not write there is left alone, and named.
    #[command(after_help = "Example: postil editor neovim --remove")]
    Neovim {
        /// Take the plugin away again
        #[arg(long)]
        remove: bool,
    },
}

fn dollars(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|dollars| dollars.is_finite() && *dollars > 0.0);
    number.ok_or_else(|| String::from("give a number of US dollars above 0"))
}

/// Of what is larger than any, the largest: there are never so many.
fn count(text: &str) -> Option<u64> {
    match text.parse::<u64>() {
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(u64::MAX),
        number => number.ok(),
    }
}

fn whole(text: &str) -> Result<usize, String> {
    let number = count(text).map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    number.ok_or_else(|| String::from("give a whole number, 0 or above"))
}

fn round(text: &str) -> Result<u64, String> {
    let number = count(text).filter(|number| *number > 0);
    number.ok_or_else(|| String::from("give a whole number, 1 or above"))
}

fn some(text: &str) -> Result<usize, String> {
    round(text).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
}

/// How a run is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Document {
    Markdown,
    Json,
    Html,
}

/// How long ago.
#[derive(Clone, Copy, Debug)]
pub(super) struct Age(pub jiff::SignedDuration);

fn age(text: &str) -> Result<Age, String> {
    let wrong = || String::from("a number with h, d or w, as in 90d");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 24 * 7,
        _ => return Err(wrong()),
    };
    let number: i64 = text[..text.len() - unit.len_utf8()]
        .parse::<u32>()
        .map_err(|_| wrong())?
        .into();
    Ok(Age(jiff::SignedDuration::from_secs(number * hours * 3600)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definitions_hold_together_and_every_command_has_an_example() {
        fn visit(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string);
            let name = command.get_name();
            assert!(help.is_some_and(|help| help.contains("postil ")), "{name}");
            command.get_subcommands().for_each(visit);
        }
        Args::command().debug_assert();
        visit(&Args::command());
    }

    #[test]
    fn an_age_is_a_number_of_days_weeks_or_nothing() {
        assert_eq!(age("2d").unwrap().0.as_hours(), 48);
        assert_eq!(age("1w").unwrap().0.as_hours(), 168);
        for wrong in ["", "d", "3", "-3d", "3y", "99999999999d", "3é"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
