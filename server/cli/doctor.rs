//! `postil doctor`: what was found, what is wrong with it, and the way out. Of the model: which one and why, where its
//! key comes from, what it holds and costs, and whether it answers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::out::{BOLD, DIM, GREEN, RED, YELLOW};
use super::settings::known_servers;
use super::{Cx, Outcome};
use crate::acp;
use crate::bridge;
use crate::children::{self, Row};
use crate::comments;
use crate::config::{self, Loaded, Network, Problem, Settings};
use crate::files::FileError;
use crate::log;
use crate::models::{KeySource, ModelError};
use crate::os;
use crate::present::one_line;
use crate::sandbox::{self, Found};
use crate::session::{Session, Workspace, passed_over};
use crate::turn::{Answerer, Choice};
use crate::vcs;

/// A model that has to be loaded first takes its time.
const WAIT: Duration = Duration::from_secs(60);

/// `Some(true)`: well; `Some(false)`: a fault, with its way out; `None`: worth knowing, no fault.
type Told = (Option<bool>, String);

/// What each finding is about, and what was found.
#[derive(Default)]
struct Findings(Vec<(&'static str, Told)>);

impl Findings {
    fn add(&mut self, what: &'static str, told: Told) {
        self.0.push((what, told));
    }

    fn extend(&mut self, what: &'static str, told: impl IntoIterator<Item = Told>) {
        self.0.extend(told.into_iter().map(|told| (what, told)));
    }

    fn is_well(&self) -> bool {
        self.0.iter().all(|(_, (well, _))| *well != Some(false))
    }

    fn print(&self, cx: &Cx) {
        if cx.out.json {
            let row = |(what, (well, text)): &(&str, Told)| json!({"what": what, "ok": well, "text": text});
            cx.out.data(&self.0.iter().map(row).collect::<Vec<Value>>());
            return;
        }
        for (what, (well, text)) in &self.0 {
            let mark = match well {
                Some(true) => format!("{GREEN}✓{GREEN:#}"),
                Some(false) => format!("{RED}✗{RED:#}"),
                None => format!("{YELLOW}·{YELLOW:#}"),
            };
            let text = one_line(text);
            cx.out
                .line(format!("{mark} {BOLD}{what:<16}{BOLD:#} {text}"));
        }
        if !cx.out.quiet {
            cx.out.line(format!(
                "\n{DIM}each value and its source: postil config show{DIM:#}"
            ));
        }
    }
}

/// With `online` the model is asked one small question.
pub(super) async fn doctor(cx: &Cx, online: bool) -> Outcome {
    let folders = cx.folders()?;
    let root = os::resolved(&cx.root()?);
    let loaded = config::load(&folders, Some(&root), None);
    let session = Session::new(
        vec![root.clone()],
        None,
        Arc::new(crate::host::Nobody),
        folders.clone(),
    )?;
    let sandbox = sandbox::find(&root);
    let mut found = Findings::default();
    found.add("version", (None, env!("CARGO_PKG_VERSION").to_owned()));
    found.add("workspace", (None, root.display().to_string()));
    found.add("trust", trust(&session, &root));
    let damaged = session.damaged_records().into_iter();
    found.extend("record", damaged.map(|text| (Some(false), text)));
    found.extend("settings", settings(&folders.config_file(), &loaded));
    if let Some(workspace) = session.workspaces().first() {
        found.extend("model", model(&session, workspace, online).await);
    }
    found.extend(
        "language server",
        servers(&session, &loaded.settings.servers),
    );
    found.add("git", git(&root));
    found.add("repository", (None, repository(&root)));
    found.extend("repository", untracked(&root));
    found.add(
        "sandbox",
        (sandbox.confines().then_some(true), sandbox.describe()),
    );
    found.add(
        "network",
        network(&loaded.settings.sandbox.network, &sandbox),
    );
    found.extend("history", history(&session));
    found.add("log", kept_log(&log::file(&folders.state)));
    let sockets = bridge::serving(&folders.data, &root);
    let through = match sockets.as_slice() {
        [] => String::from(
            "none has this workspace open: `postil mcp` and the commands work on the files",
        ),
        sockets => format!(
            "`postil mcp` and the commands that change files go through {}",
            sockets.join(", or for what another editor shows through ")
        ),
    };
    found.add("editor's server", (None, through));
    found.extend("editor", editors());
    found.print(cx);
    Ok(found.is_well())
}

fn trust(session: &Session, root: &Path) -> Told {
    if session.is_trusted(root) {
        return (None, String::from("trusted"));
    }
    if let Err(error) = session.check_trust() {
        return (Some(false), format!("no folder is trusted: {error}"));
    }
    let meanwhile = "turns are read-only, no language server starts";
    match session.trust_lapsed(root) {
        None => (None, format!("not trusted: {meanwhile}; `postil trust`")),
        Some(what) => (
            Some(false),
            format!(
                "not trusted any more: {what} since it was trusted; {meanwhile}, and nothing is committed; `postil trust` trusts it as it is now"
            ),
        ),
    }
}

fn settings(file: &Path, loaded: &Loaded) -> Vec<Told> {
    let is_of = |problem: &&Problem| problem.file.as_deref() == Some(file);
    let mut of_file = loaded.problems.iter().filter(is_of);
    let there = match file.try_exists() {
        Ok(false) => "none, and none is needed",
        Ok(true) if !of_file.clone().any(Problem::is_of_all) => "read",
        _ => "not read",
    };
    let whole = format!("{} ({there})", file.display());
    let mut told = vec![(Some(of_file.next().is_none()), whole)];
    let wrong = loaded.problems.iter();
    told.extend(wrong.map(|problem| (Some(false), problem.sentence())));
    told
}

/// Those that are there, and those of the user's own that nothing comes of.
fn servers(session: &Session, own: &[Row]) -> Vec<Told> {
    let is_own = |row: &Row| {
        own.iter().any(|own| {
            children::canonical_language(&own.language) == row.language
                && own.command == row.command
        })
    };
    let rows = known_servers(session).into_iter();
    rows.filter_map(|(row, found)| {
        let language = &row.language;
        if row.extensions.is_empty() && comments::detect("", Some(language), "").is_none() {
            return Some(nobodys(language));
        }
        match found {
            Some(program) => Some((Some(true), format!("{language}: {}", program.display()))),
            None if is_own(&row) => Some((
                Some(false),
                format!(
                    "{language}: {} is not on PATH: install it, or correct `servers.{language}` in your config.toml",
                    row.command
                ),
            )),
            None => None,
        }
    })
    .collect()
}

/// Of a server whose language no file is known to be of.
fn nobodys(language: &str) -> Told {
    let built_in = children::rows(Vec::new());
    let known = built_in.iter().map(|row| row.language.as_str());
    match config::nearest(language, known) {
        Some(meant) => (
            Some(false),
            format!("`servers.{language}` is used for no file: did you mean `servers.{meant}`?"),
        ),
        None => (
            None,
            format!(
                "`servers.{language}` is used where an editor calls a file's language so: name its `extensions` to have it used elsewhere"
            ),
        ),
    }
}

fn git(root: &Path) -> Told {
    match vcs::version(root) {
        Some(version) => (Some(true), version),
        None => (
            Some(false),
            String::from("not found: threads work, committing does not"),
        ),
    }
}

fn repository(root: &Path) -> String {
    let Some(top) = vcs::top(root) else {
        return String::from("the workspace is in no git repository");
    };
    match vcs::obstacle(root) {
        None => top.display().to_string(),
        Some(why) => format!(
            "{}: its threads are found, its history is not read ({why})",
            top.display()
        ),
    }
}

/// Where tracked files may not be looked at.
fn untracked(root: &Path) -> Option<Told> {
    let error = vcs::tracked(root).err()?;
    Some((Some(false), FileError::Untracked(error).to_string()))
}

fn history(session: &Session) -> Option<Told> {
    Some(match session.workspaces().first()?.store() {
        Ok(store) => {
            let aside = store.aside();
            let kept = aside.iter().map(|path| path.display().to_string());
            let kept: Vec<String> = kept.collect();
            let path = store.path().display();
            match kept.is_empty() {
                true => (Some(true), path.to_string()),
                false => (
                    None,
                    format!(
                        "{path}; an earlier one was damaged and is kept as {}: nothing reads it, so delete it when you miss no run",
                        kept.join(", ")
                    ),
                ),
            }
        }
        Err(error) => (Some(false), error.to_string()),
    })
}

fn kept_log(file: &Path) -> Told {
    let shown = file.display();
    match std::fs::File::options().append(true).open(file) {
        Ok(_) => (None, shown.to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            (None, format!("{shown} (nothing was logged yet)"))
        }
        Err(error) => (
            Some(false),
            format!("{shown} cannot be written to: {error}"),
        ),
    }
}

fn editors() -> impl Iterator<Item = Told> {
    let known = ["nvim", "hx", "code", "emacs", "kak", "vim"].into_iter();
    known.filter_map(|editor| {
        let found = children::find_program(editor, &[])?;
        Some((None, format!("{editor}: {}", found.display())))
    })
}

async fn model(session: &Session, workspace: &Workspace, online: bool) -> Vec<Told> {
    let (settings, passed) = session.choosing(workspace);
    let root = workspace.root();
    let choice = session.who_would_answer(workspace).await;
    let answers = choice.as_ref().ok().map(|choice| choice.answerer.name());
    let is_found = settings.model.is_none() && settings.lost.who.is_none();
    let is_open = is_found && session.agreed(&settings, root).is_none();
    let mut findings: Vec<Told> = passed_over(&passed)
        .map(|text| (None, text))
        .into_iter()
        .collect();
    findings.extend(chosen(choice, root, online).await);
    findings.extend(agents(&settings, root, answers.as_deref(), is_open));
    findings
}

/// What an agent's commands reach of the network.
fn network(granted: &Network, found: &Found) -> Told {
    let proxied = matches!(granted, Network::Hosts(_) | Network::Public);
    if !found.confines() {
        return (
            None,
            String::from("of commands: this machine's own, for nothing keeps them from it"),
        );
    }
    if proxied && found.bubblewrap.is_none() {
        return (
            Some(false),
            String::from(
                "of commands: none, for what sandbox.network grants goes through a proxy, and that needs bubblewrap: install it, or set sandbox.network = \"whole\" for all of the network",
            ),
        );
    }
    (None, format!("of commands: {}", granted.describe()))
}

/// The agents on PATH that nobody chose, and how one is chosen.
fn agents(settings: &Settings, root: &Path, answers: Option<&str>, is_open: bool) -> Option<Told> {
    let found = acp::found(&settings.agents, &[root.to_owned()]);
    let is_chosen = |name: &str| answers == Some(&format!("acp/{name}"));
    let others: Vec<_> = found
        .iter()
        .filter(|agent| !is_chosen(&agent.name))
        .collect();
    let first = others.first()?;
    let titles: Vec<&str> = others.iter().map(|agent| agent.title.as_str()).collect();
    let asked = match is_open {
        true => {
            "; where nothing else is configured, the first turn asks whether the first of them shall answer"
        }
        false => "",
    };
    Some((
        None,
        format!(
            "found on PATH: {}; to have one answer, set model = \"acp/{name}\" in config.toml, or for one turn `postil reply --agent {name}`{asked}",
            titles.join(", "),
            name = first.name
        ),
    ))
}

async fn chosen(choice: Result<Choice, ModelError>, root: &Path, online: bool) -> Vec<Told> {
    let choice = match choice {
        Ok(choice) => choice,
        Err(error) => return vec![(Some(false), error.to_string())],
    };
    if let Answerer::Outside(agent) = &choice.answerer {
        let finding = match agent.program(&[root.to_owned()]) {
            Some(program) => (
                Some(true),
                format!(
                    "{}, because {}: {}",
                    agent.title,
                    choice.why,
                    program.display()
                ),
            ),
            None => (
                Some(false),
                format!("{} is not on PATH: {}", agent.title, agent.install),
            ),
        };
        return vec![finding];
    }
    let (Answerer::Model(model), Some(remote)) = (&choice.answerer, &choice.remote) else {
        return vec![(
            None,
            format!(
                "none, because {}: the built-in offline answers; set ANTHROPIC_API_KEY or OPENAI_API_KEY, start Ollama, or name a `model` in the settings, for more",
                choice.why
            ),
        )];
    };
    let mut findings = vec![(
        Some(true),
        format!(
            "{}, because {}; it is reached at {}",
            model.name(),
            choice.why,
            remote.address()
        ),
    )];
    findings.push(match remote.key() {
        KeySource::None => (None, String::from("no key is sent")),
        KeySource::Found { from, .. } => (Some(true), format!("the key comes from {from} (not shown)")),
        KeySource::Command { command, setting } => match command.first() {
            Some(program) if children::find_program(program, &[]).is_some() => (
                Some(true),
                format!("the key comes from {} when a turn begins", choice.key),
            ),
            Some(program) => (
                Some(false),
                format!(
                    "the program of {setting} (`{program}`) is not on PATH: install it, or correct the setting in your config.toml"
                ),
            ),
            None => (
                Some(false),
                format!("{setting} is empty: write the program and its arguments there"),
            ),
        },
    });
    let facts = remote.facts();
    let images = if facts.images {
        "takes images"
    } else {
        "takes no images"
    };
    let price = match facts.prices {
        Some(prices) => format!(
            "costs ${} a million tokens in, ${} out",
            prices.input, prices.output
        ),
        None => format!(
            "has no known price, so that turn.maxCost cannot hold it: set inputPrice and outputPrice in [models.\"{}\"]",
            model.name()
        ),
    };
    findings.push((
        None,
        format!("holds {} tokens, {images}, {price}", facts.window),
    ));
    if online {
        findings.push(match remote.check(WAIT).await {
            Ok(()) => (
                Some(true),
                String::from("it was asked a small question and answered"),
            ),
            Err(error) => (Some(false), error.to_string()),
        });
    }
    findings
}
