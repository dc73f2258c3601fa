//! What is trusted and known: trust, servers, tools, config.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::args::{ConfigCommand, ToolsCommand};
use super::out::{BOLD, CYAN, DIM, GREEN};
use super::{Cx, Outcome, Stop, is_a_folder, turns, way};
use crate::children::{self, State};
use crate::config;
use crate::models;
use crate::os;
use crate::present::{counted, one_line, visible};
use crate::session::{Error, Session};
use crate::tools::Registry;
use crate::vcs;
use crate::verbs;

/// Of a model that a repository names, what comes of it.
const UNTRUSTED: (&str, &str) = ("not before you trust the folder", "untrusted");

pub(super) fn trust(cx: &Cx, folder: Option<&Path>, yes: bool, revoke: bool) -> Outcome {
    let root = match folder {
        Some(folder) => cx.path(folder)?,
        None if revoke && cx.workspace.is_some() => os::resolved(&cx.base()?),
        None => os::resolved(&cx.root()?),
    };
    // The trust of one that is gone holds for whatever comes to stand there: it can be taken back.
    let is_gone = revoke && !root.exists();
    if !is_gone {
        is_a_folder(&root)?;
    }
    let session = Session::new(
        (!is_gone).then(|| root.clone()).into_iter().collect(),
        None,
        Arc::new(crate::host::Nobody),
        cx.folders()?,
    )?;
    let shown = root.display().to_string();
    if let Some(top) = vcs::nearest(&root).filter(|top| *top != root && !revoke) {
        cx.out.warn(&format!(
            "{shown} is a folder of {}, which is the workspace of whoever works in it: `postil trust` without a folder trusts that",
            top.display()
        ));
    }
    if revoke {
        let had = session.revoke_trust(&root)?;
        done(
            cx,
            &shown,
            false,
            if had {
                "is not trusted any more"
            } else {
                "was not trusted"
            },
        );
        return Ok(true);
    }
    session.check_trust()?;
    if session.is_trusted(&root) {
        done(cx, &shown, true, "is trusted already");
        return Ok(true);
    }
    if !yes {
        let allowed = session.trust_would_allow(&root);
        if let Some(what) = session.trust_lapsed(&root) {
            cx.out.ask(&format!("it was trusted; since then {what}"));
        }
        cx.out.ask(&format!("trusting {shown} would allow:"));
        for sentence in &allowed {
            cx.out.ask(&format!("  - {sentence}"));
        }
        if !confirmed()? {
            return Err(Error::Other(format!(
                "{shown} is not trusted; `postil trust --yes` trusts it without asking"
            ))
            .into());
        }
    }
    session.trust(&root)?;
    done(cx, &shown, true, "is trusted");
    Ok(true)
}

fn done(cx: &Cx, folder: &str, trusted: bool, text: &str) {
    if cx.out.json {
        cx.out.data(&json!({"folder": folder, "trusted": trusted}));
    } else {
        cx.out
            .note(format!("{BOLD}{}{BOLD:#} {text}", one_line(folder)));
    }
}

/// A yes on a terminal; without one nobody can be asked.
fn confirmed() -> Result<bool, Error> {
    use std::io::{BufRead, IsTerminal, Write};
    let mut terminal = anstream::stderr();
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut line = String::new();
    write!(terminal, "trust it? [y/N] ")
        .and_then(|()| terminal.flush())
        .and_then(|()| std::io::stdin().lock().read_line(&mut line))
        .map_err(|error| Error::Other(format!("the terminal could not be read: {error}")))?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The registry's rows: those that run for the editor's server, if one has the workspace open, and for each other
/// whether its program can be had.
pub(super) async fn servers(cx: &Cx) -> Outcome {
    #[derive(Default, Deserialize)]
    struct Running {
        servers: Vec<State>,
    }
    let session = cx.session()?;
    let root = session
        .workspaces()
        .first()
        .map(|workspace| workspace.root().to_owned())
        .unwrap_or_default();
    let running: Option<Running> = way::through_editor(cx, &verbs::SERVERS, &json!({})).await?;
    let Running { mut servers } = running.unwrap_or_default();
    let rows = known_servers(&session);
    for (row, found) in &rows {
        let is_this =
            |server: &State| (&server.language, &server.command) == (&row.language, &row.command);
        if !servers.iter().any(is_this) {
            let state = if found.is_some() {
                "stopped"
            } else {
                "missing"
            };
            servers.push(State {
                language: row.language.clone(),
                command: row.command.clone(),
                state: state.into(),
                pid: None,
                root: root.clone(),
                memory: None,
                restarts: 0,
            });
        }
    }
    if cx.out.json {
        cx.out.data(&servers);
        return Ok(true);
    }
    for server in servers {
        let row = rows
            .iter()
            .find(|(row, _)| (&server.language, &server.command) == (&row.language, &row.command));
        let state = match (&*server.state, row) {
            ("stopped", Some((_, Some(path)))) => format!(
                "{GREEN}found{GREEN:#}    {DIM}{}{DIM:#}",
                one_line(&path.display().to_string())
            ),
            ("missing", Some((row, _))) => {
                format!("{DIM}missing  {}{DIM:#}", visible(&row.install))
            }
            (state, _) => running_facts(state, &server),
        };
        cx.out.line(format!(
            "{BOLD}{:<16}{BOLD:#} {CYAN}{:<32}{CYAN:#} {state}",
            server.language, server.command
        ));
    }
    Ok(true)
}

/// One that the editor's server has started: its state, process, memory and root.
fn running_facts(state: &str, server: &State) -> String {
    let mut facts = Vec::new();
    facts.extend(server.pid.map(|pid| format!("process {pid}")));
    facts.extend(server.memory.map(|bytes| format!("{} MB", bytes >> 20)));
    facts.push(one_line(&server.root.display().to_string()));
    if server.restarts > 0 {
        facts.push(counted(u64::from(server.restarts), "restart"));
    }
    format!(
        "{GREEN}{state:<8}{GREEN:#} {DIM}{}{DIM:#}",
        facts.join(", ")
    )
}

pub(super) fn known_servers(session: &Session) -> Vec<(children::Row, Option<PathBuf>)> {
    let own = session
        .workspaces()
        .first()
        .map(|workspace| workspace.loaded().settings.servers.clone())
        .unwrap_or_default();
    let roots: Vec<PathBuf> = session
        .workspaces()
        .iter()
        .map(|workspace| workspace.root().to_owned())
        .collect();
    children::rows(own)
        .into_iter()
        .map(|row| {
            let found = children::find_program(&row.command, &roots);
            (row, found)
        })
        .collect()
}

pub(super) async fn tools(cx: &Cx, command: ToolsCommand) -> Outcome {
    let registry = Registry::new(&Default::default());
    match command {
        ToolsCommand::List => {
            if cx.out.json {
                let all: Vec<Value> = registry
                    .tools()
                    .iter()
                    .map(|tool| {
                        json!({
                            "name": tool.name(),
                            "description": tool.description(),
                            "parameters": tool.parameters(),
                            "risk": tool.risk(),
                        })
                    })
                    .collect();
                cx.out.data(&all);
                return Ok(true);
            }
            for tool in registry.tools() {
                let risk = serde_json::to_value(tool.risk())
                    .ok()
                    .and_then(|risk| risk.as_str().map(str::to_owned))
                    .unwrap_or_default();
                let description = tool.description();
                cx.out.line(format!(
                    "{BOLD}{:<14}{BOLD:#} {CYAN}{risk:<6}{CYAN:#} {}",
                    tool.name(),
                    description.lines().next().unwrap_or_default()
                ));
            }
            Ok(true)
        }
        ToolsCommand::Call { name, parameters } => {
            let input: Value = serde_json::from_str(&parameters).map_err(|error| {
                Stop::Usage(format!("the parameters are no JSON object: {error}"))
            })?;
            if !input.is_object() {
                let text = "the parameters are no JSON object: put them between braces, as in `{\"pattern\":\"fn main\"}`";
                return Err(Stop::Usage(String::from(text)));
            }
            let session = cx.session()?;
            let answer = session.call_tool(&name, input).await;
            session.shutdown().await;
            turns::tell_unanswered(cx, &session);
            let text = answer?;
            if cx.out.json {
                cx.out.data(&json!({"output": text}));
            } else {
                cx.out.raw(&(text.trim_end_matches('\n').to_owned() + "\n"));
            }
            Ok(true)
        }
    }
}

pub(super) fn config(cx: &Cx, command: &ConfigCommand) -> Outcome {
    match command {
        ConfigCommand::Schema => {
            let schema = config::schema();
            cx.out
                .line(serde_json::to_string_pretty(&schema).unwrap_or_default());
        }
        ConfigCommand::Show => {
            let root = os::resolved(&cx.root()?);
            let folders = cx.folders()?;
            let loaded = config::load(&folders, Some(&root), None);
            let session = Session::new(vec![root], None, Arc::new(crate::host::Nobody), folders)?;
            let workspaces = session.workspaces();
            let passed = workspaces.first().map(|one| session.choosing(one).1);
            let passed = passed.unwrap_or_default();
            let schema = config::schema();
            // In words for people, and for programs.
            let effect = |key: &str| match key {
                key if config::is_without_effect(&schema, key) => Some(("no effect yet", "none")),
                "model" if passed.model.is_some() => Some(UNTRUSTED),
                "turn.consult" if passed.consult.is_some() => Some(UNTRUSTED),
                _ => None,
            };
            if cx.out.json {
                let all: Vec<Value> = loaded
                    .sources
                    .iter()
                    .map(|(key, value, source)| {
                        let mut row =
                            json!({"key": key, "value": shown(key, value), "source": source});
                        if let Some((_, effect)) = effect(key) {
                            row["effect"] = json!(effect);
                        }
                        row
                    })
                    .collect();
                cx.out.data(&all);
            } else {
                for (key, value, source) in &loaded.sources {
                    let effect =
                        effect(key).map_or_else(String::new, |(text, _)| format!("; {text}"));
                    cx.out.line(format!(
                        "{BOLD}{}{BOLD:#} = {} {DIM}({source}{effect}){DIM:#}",
                        one_line(key),
                        one_line(&config::text(&shown(key, value))),
                    ));
                }
            }
            for problem in &loaded.problems {
                cx.out.warn(&problem.sentence());
            }
        }
    }
    Ok(true)
}

/// The value of a setting, for one who may show it to others: the password that an address may hold is left out, and what
/// a program gets in its environment.
fn shown(key: &str, value: &Value) -> Value {
    let of_a_program = key.starts_with("agents.") || key.starts_with("servers.");
    if of_a_program && key.contains(".env.") {
        return json!("(set)");
    }
    match value.as_str() {
        Some(address) if key.ends_with(".baseUrl") && address.contains('@') => {
            json!(models::local::shown(address))
        }
        _ => value.clone(),
    }
}
