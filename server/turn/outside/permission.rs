//! What an outside agent asks before it does it: decided by the rules for our own tools, else by the author.

use crate::acp::{Call, Choice, Kind};
use crate::host::Question;
use crate::trust::{self, Decision, Risk};

use super::super::{cut, one_line};
use super::{Work, files, title};

/// Tools of our own MCP server, as agents name them; with us they only read.
const OURS: &str = "mcp__postil__";

/// What is to be done, as our own tools would be named for it, and what it is about.
struct Matter {
    tool: &'static str,
    risk: Risk,
    about: Vec<String>,
    /// Asked whatever the rules say.
    guarded: bool,
}

/// The index of the choice.
pub(super) async fn decide(work: &Work<'_>, call: &Call, choices: &[Choice]) -> Option<usize> {
    let pick = |allows: bool| {
        let once = choices.iter().position(|c| c.allows == allows && !c.always);
        once.or_else(|| choices.iter().position(|c| c.allows == allows))
    };
    let refuse = || pick(false);
    let Some(matter) = matter(work, call) else {
        return refuse();
    };
    if work.cx.plan.is_on() && matter.risk > Risk::Read {
        return refuse();
    }
    let decided = matter
        .about
        .iter()
        .map(|about| work.registry.decide(matter.tool, matter.risk, about))
        .fold(Decision::Allow, |all, one| match (all, one) {
            (Decision::Deny, _) | (_, Decision::Deny) => Decision::Deny,
            (Decision::Ask, _) | (_, Decision::Ask) => Decision::Ask,
            _ => Decision::Allow,
        });
    match decided {
        Decision::Deny => refuse(),
        Decision::Allow if !matter.guarded => pick(true),
        _ => ask(work, call, &matter, choices).await.or_else(refuse),
    }
}

async fn ask(work: &Work<'_>, call: &Call, matter: &Matter, choices: &[Choice]) -> Option<usize> {
    let what = match matter.risk {
        Risk::Read => "read",
        Risk::Write => "change",
        Risk::Run => "run",
        Risk::Send => "fetch",
    };
    let about = matter.about.join(", ");
    let about = if about.trim().is_empty() {
        title(call)
    } else {
        about
    };
    let text = format!(
        "{} wants to {what} `{}`.",
        work.agent.title,
        cut(&one_line(&about), 300)
    );
    // A choice that lasts would be kept by the agent, where we could neither show nor revoke it.
    let offered: Vec<(usize, &Choice)> = choices
        .iter()
        .enumerate()
        .filter(|(_, choice)| !choice.always)
        .collect();
    let question = Question {
        text,
        choices: offered
            .iter()
            .map(|(_, choice)| cut(&one_line(&choice.text), 60))
            .collect(),
    };
    let chosen = tokio::select! {
        chosen = work.cx.host.ask(question) => chosen,
        () = work.cx.cancel.cancelled() => None,
    };
    chosen.and_then(|at| offered.get(at)).map(|(at, _)| *at)
}

/// `None`: it is refused without a question.
fn matter(work: &Work<'_>, call: &Call) -> Option<Matter> {
    let kind = call.kind.unwrap_or(Kind::Other);
    let input = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| call.input.as_ref()?.get(name)?.as_str())
            .map(str::to_owned)
    };
    let shown = || title(call);
    let tree = &work.cx.tree;
    let mut about = Vec::new();
    let mut guarded = false;
    match kind {
        Kind::Edit | Kind::Delete | Kind::Move => {
            let files = files(call);
            for file in &files {
                // What lies outside the root is no business of the turn.
                let resolved = tree.resolve_path(file).ok()?;
                let name = tree.relative(&resolved)?;
                guarded |= trust::protected(&name).is_some();
                about.push(name);
            }
            // It does not say what it would change.
            guarded |= files.is_empty();
            if files.is_empty() {
                about.push(shown());
            }
            Some(Matter {
                tool: "file_edit",
                risk: Risk::Write,
                about,
                guarded,
            })
        }
        Kind::Execute => Some(Matter {
            tool: "bash",
            risk: Risk::Run,
            about: vec![input(&["command", "cmd"]).unwrap_or_else(shown)],
            guarded,
        }),
        Kind::Fetch => Some(Matter {
            tool: "web_fetch",
            risk: Risk::Send,
            about: vec![input(&["url", "query"]).unwrap_or_else(shown)],
            guarded,
        }),
        Kind::Read | Kind::Search => {
            for file in files(call) {
                match tree
                    .resolve_path(&file)
                    .ok()
                    .and_then(|r| tree.relative(&r))
                {
                    Some(name) => about.push(name),
                    None => {
                        guarded = true;
                        about.push(file.display().to_string());
                    }
                }
            }
            if about.is_empty() {
                about.push(shown());
            }
            Some(Matter {
                tool: "file_read",
                risk: Risk::Read,
                about,
                guarded,
            })
        }
        Kind::Think => Some(Matter {
            tool: "think",
            risk: Risk::Read,
            about: vec![shown()],
            guarded,
        }),
        Kind::Other => {
            let names = [call.name.as_deref(), call.title.as_deref()];
            let ours = names.into_iter().flatten().any(|name| {
                name.strip_prefix(OURS)
                    .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
            });
            Some(Matter {
                tool: if ours { "think" } else { "bash" },
                risk: if ours { Risk::Read } else { Risk::Run },
                about: vec![shown()],
                guarded,
            })
        }
    }
}
