//! L6. The command line: the session's verbs as commands. Without a sub-command it is the language server.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, Parser};

use crate::config::Folders;
use crate::host::Host;
use crate::os;
use crate::present::one_line;
use crate::sandbox;
use crate::session::{Error, Session};
use crate::vcs;
use crate::verbs::Failure;
use crate::web;

mod args;
mod complete;
mod demo;
mod doctor;
mod editor;
mod events;
mod host;
mod log;
mod man;
mod model;
mod out;
mod permissions;
mod sarif;
mod settings;
mod threads;
mod turns;
mod way;
mod why;
mod workflow;

use args::{Args, Command, Global, ServeArgs};
use host::Terminal;
use out::Out;

/// Runs the program with the process's arguments.
pub fn run() -> ExitCode {
    // Before any thread is started, and before arguments are looked at: a command is none of ours.
    let first = std::env::args_os().nth(1);
    let is_first = |word: &str| first.as_ref().is_some_and(|first| first == word);
    if is_first(sandbox::WORD) {
        return sandbox::run_inside().unwrap_or_else(|error| {
            anstream::eprintln!(
                "postil: the sandbox could not be set up, so nothing was run: {error:#}"
            );
            ExitCode::from(sandbox::NOT_SET_UP)
        });
    }
    crate::os::keep_private();
    crate::os::share_memory();
    if is_first(web::PAGE) {
        let done = web::run_page(std::io::stdin().lock(), std::io::stdout().lock());
        return done.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    if let Some(code) = complete::answered() {
        return code;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let printed = error.print();
            if !error.use_stderr() {
                // The help or the version.
                out::ended(printed);
                return ExitCode::from(u8::from(!out::is_whole()));
            }
            if std::env::args_os().any(|word| word == "--json") {
                let out = Out::new(true, false, args::Color::Auto);
                out.data(&serde_json::json!({"error": sentence(&error), "code": "usage"}));
            }
            return ExitCode::from(2);
        }
    };
    match args.command {
        None => serve(&args.serve, &args.global),
        Some(Command::Serve(serve_args)) => serve(&serve_args, &args.global),
        Some(command) => {
            let out = Out::new(args.global.json, args.global.quiet, args.global.color);
            log::begin(args.global.verbose, !matches!(command, Command::Demo));
            let cx = Cx {
                workspace: args.global.workspace,
                no_cache: args.global.no_cache,
                out,
            };
            let outcome = block_on(dispatch(&cx, command));
            // Before an error is put behind what was printed.
            let whole = out::is_whole();
            match outcome {
                Ok(true) if whole => ExitCode::SUCCESS,
                Ok(_) => ExitCode::from(1),
                Err(Stop::Usage(text)) => {
                    cx.out.error(&text, "usage");
                    ExitCode::from(2)
                }
                Err(Stop::Failed(error)) => {
                    cx.out.error(&error.to_string(), error.code());
                    ExitCode::from(1)
                }
                Err(Stop::Said(failure)) => {
                    cx.out.error(&failure.message, &failure.code);
                    ExitCode::from(1)
                }
            }
        }
    }
}

/// What clap says is wrong, without how commands are used in general.
fn sentence(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let first = text.split("\n\n").next().unwrap_or(text);
    let lines: Vec<&str> = first.lines().map(str::trim).collect();
    lines.join(" ")
}

/// Why a command ends early.
enum Stop {
    /// Wrong usage: exit status 2.
    Usage(String),
    Failed(Error),
    /// An editor's server said no.
    Said(Failure),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// `Ok(false)` is a "no": exit status 1 without an error.
type Outcome = Result<bool, Stop>;

/// What every command works with.
struct Cx {
    workspace: Option<PathBuf>,
    no_cache: bool,
    out: Out,
}

/// An error that says why not.
fn is_a_folder(path: &Path) -> Result<(), Error> {
    let what = match path.exists() {
        _ if path.is_dir() => return Ok(()),
        true => "this is no folder:",
        false => "there is no folder",
    };
    Err(Error::Other(format!("{what} {}", path.display())))
}

impl Cx {
    /// The folder that relative paths count from: `-C`, else the current one.
    fn base(&self) -> Result<PathBuf, Error> {
        let named = self.workspace.as_deref();
        if let Some(folder) = named.filter(|folder| folder.is_absolute()) {
            return Ok(folder.to_owned());
        }
        let here = std::env::current_dir().map_err(|error| {
            Error::Other(format!(
                "the current folder is gone or cannot be read ({error}): change to another, or name a workspace with -C"
            ))
        })?;
        Ok(named.map_or(here.clone(), |folder| here.join(folder)))
    }

    /// The workspace: `-C`, else the nearest repository above the current folder, else that folder.
    fn root(&self) -> Result<PathBuf, Error> {
        let base = self.base()?;
        if self.workspace.is_some() {
            return is_a_folder(&base).map(|()| base);
        }
        Ok(vcs::nearest(&base).unwrap_or(base))
    }

    fn folders(&self) -> Result<Folders, Error> {
        let mut folders = Folders::of_user().map_err(|error| Error::Other(format!("{error:#}")))?;
        folders.cache = folders.cache.filter(|_| !self.no_cache);
        Ok(folders)
    }

    fn session(&self) -> Result<Arc<Session>, Error> {
        self.session_with(Arc::new(Terminal::new(self.out)))
    }

    fn session_with(&self, host: Arc<dyn Host>) -> Result<Arc<Session>, Error> {
        let session = Session::new(vec![self.root()?], None, host, self.folders()?)?;
        for problem in session
            .workspaces()
            .iter()
            .flat_map(|workspace| workspace.loaded().problems.clone())
        {
            self.out.warn(&problem.sentence());
        }
        Ok(session)
    }

    /// A path that a person gave, as the session knows it.
    fn path(&self, path: &Path) -> Result<PathBuf, Error> {
        Ok(os::resolved(&self.base()?.join(path)))
    }

    /// The same for a path that may be left out.
    fn scope(&self, path: Option<&Path>) -> Result<Option<PathBuf>, Error> {
        path.map(|path| self.path(path)).transpose()
    }
}

async fn dispatch(cx: &Cx, command: Command) -> Outcome {
    match command {
        Command::Serve(_) => Ok(true),
        Command::Threads {
            path,
            status,
            sarif,
        } => threads::list(cx, path.as_deref(), status, sarif).await,
        Command::Check {
            paths,
            status,
            sarif,
        } => threads::check(cx, &paths, status, sarif).await,
        Command::Respond { id, text, agent } => {
            threads::respond(cx, &id, text, agent.as_deref()).await
        }
        Command::Say { id, text } => threads::say(cx, &id, text).await,
        Command::New { place, text } => threads::new(cx, &place, text).await,
        Command::Dismiss { id } => threads::dismiss(cx, &id).await,
        Command::Clear { file, message } => threads::clear(cx, &file, message.as_deref()).await,
        Command::Process { path } => threads::process(cx, path.as_deref()).await,
        Command::Reply(args) => turns::reply(cx, args).await,
        Command::Consult { thread, model } => turns::consult(cx, &thread, model.as_deref()).await,
        Command::Undo { run } => turns::undo(cx, &run).await,
        Command::Why { place } => why::why(cx, &place),
        Command::Workflow(command) => workflow::run(cx, command).await,
        Command::Acp => {
            tell_who_waits("an editor that speaks the Agent Client Protocol");
            tell_log("agent");
            Ok(crate::agent::serve(cx.folders()?).await == ExitCode::SUCCESS)
        }
        Command::Mcp { read_only } => {
            tell_who_waits("an MCP client");
            tell_log("MCP server");
            let served = crate::mcp::serve(cx.root()?, cx.folders()?, read_only);
            Ok(served.await == ExitCode::SUCCESS)
        }
        Command::Trust {
            folder,
            yes,
            revoke,
        } => settings::trust(cx, folder.as_deref(), yes, revoke),
        Command::Permissions { revoke } => permissions::run(cx, revoke.as_deref()),
        Command::Model {
            model: named,
            unset,
        } => model::run(cx, named.as_deref(), unset).await,
        Command::Servers => settings::servers(cx).await,
        Command::Tools(command) => settings::tools(cx, command).await,
        Command::Config(command) => settings::config(cx, &command),
        Command::Doctor { online } => doctor::doctor(cx, online).await,
        Command::Editor(command) => editor::run(cx, &command),
        Command::Demo => demo::run(cx).await,
        Command::Man { folder: named } => {
            let own = || Ok::<_, Error>(cx.folders()?.data.with_file_name("man").join("man1"));
            let folder = named.clone().map_or_else(own, Ok)?;
            man::write(Args::command(), &folder, built()).map_err(|error| {
                Error::Other(format!(
                    "{} cannot be written to: {error}",
                    folder.display()
                ))
            })?;
            let shown = folder.display().to_string();
            if cx.out.json {
                cx.out.data(&serde_json::json!({ "folder": shown }));
            } else if named.is_none() {
                cx.out
                    .note(format!("the pages are in {}", one_line(&shown)));
            }
            Ok(true)
        }
        Command::Completions { shell } => {
            let script =
                complete::script(shell).map_err(|error| Error::Other(error.to_string()))?;
            cx.out.raw(&String::from_utf8_lossy(&script));
            Ok(true)
        }
    }
}

/// How old the program is: as `SOURCE_DATE_EPOCH` says, where a package is built, else as its file.
fn built() -> jiff::civil::Date {
    let told = std::env::var("SOURCE_DATE_EPOCH").ok();
    let told = told.and_then(|seconds| jiff::Timestamp::from_second(seconds.parse().ok()?).ok());
    let changed = || {
        let program = std::env::current_exe().and_then(std::fs::metadata).ok()?;
        jiff::Timestamp::try_from(program.modified().ok()?).ok()
    };
    let date = told.or_else(changed).unwrap_or_else(jiff::Timestamp::now);
    date.to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// What is said in the log later is said by this process.
fn tell_log(what: &str) {
    tracing::info!("{what} of postil {} begins", env!("CARGO_PKG_VERSION"));
}

/// A person who typed the command would look at nothing.
fn tell_who_waits(client: &str) {
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        anstream::eprintln!(
            "postil: waiting for {client} on standard input (Ctrl+C ends it); `postil --help` lists the commands"
        );
    }
}

fn serve(args: &ServeArgs, global: &Global) -> ExitCode {
    use crate::lsp::Transport;
    let transport = match args {
        ServeArgs {
            pipe: Some(path), ..
        } => Transport::Pipe(path.clone()),
        ServeArgs {
            socket: Some(port), ..
        } => Transport::Socket(*port),
        ServeArgs {
            listen: Some(address),
            ..
        } => Transport::Listen(*address),
        _ => Transport::Stdio,
    };
    // The folders are the client's to name; one that was named wrongly here is a mistake all the same.
    let cx = Cx {
        workspace: global.workspace.clone(),
        no_cache: global.no_cache,
        out: Out::new(false, global.quiet, global.color),
    };
    let named = global.workspace.as_ref().map(|_| cx.root());
    if let Some(Err(error)) = named {
        cx.out.error(&error.to_string(), error.code());
        return ExitCode::FAILURE;
    }
    if transport == Transport::Stdio && !args.stdio {
        tell_who_waits("an editor");
    }
    log::begin(global.verbose, true);
    tell_log("language server");
    crate::lsp::serve(transport, args.client_process, global.no_cache)
}

fn block_on(future: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| {
            Error::Other(format!("the program could not start its threads: {error}"))
        })?;
    let outcome = runtime.block_on(future);
    // A question that still waits on the terminal must not keep the process.
    runtime.shutdown_background();
    outcome
}

/// The text of an argument: itself, or standard input for `-` (and where it is left out and something is piped in).
fn text_of(text: Option<OsString>) -> Result<String, Stop> {
    use std::io::{IsTerminal, Read};
    let is_left_out = text.is_none();
    match text {
        Some(text) if text != "-" => text.into_string().map_err(|_| {
            let text = "the text is not valid UTF-8; nothing was written";
            Error::Other(String::from(text)).into()
        }),
        None if std::io::stdin().is_terminal() => Err(Stop::Usage(String::from(
            "give the text, or `-` to read it from standard input",
        ))),
        _ => {
            let mut read = String::new();
            std::io::stdin()
                .read_to_string(&mut read)
                .map_err(|error| {
                    Error::Other(format!("standard input could not be read: {error}"))
                })?;
            if is_left_out && read.trim().is_empty() {
                return Err(Stop::Usage(String::from(
                    "no text came on standard input: give it as an argument, or pipe it in; nothing was written",
                )));
            }
            Ok(read)
        }
    }
}
