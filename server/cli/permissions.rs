//! What the agent may do without asking: the user's rules, and what was granted with a button.

use serde_json::json;

use super::out::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use super::{Cx, Outcome};
use crate::config::{self, Action};
use crate::present::one_line;
use crate::session::Error;
use crate::trust::{Grant, Grants};

pub(super) fn run(cx: &Cx, revoke: Option<&str>) -> Outcome {
    let folders = cx.folders()?;
    let grants = Grants::open(&folders.data);
    let failed = |error: anyhow::Error| Error::Other(format!("{error:#}"));
    if let Some(id) = revoke {
        let gone = grants.revoke(id).map_err(failed)?;
        if gone.is_empty() {
            return Err(Error::Other(format!(
                "no permission has the id `{}`; `postil permissions` shows them",
                one_line(id)
            ))
            .into());
        }
        if cx.out.json {
            cx.out.data(&json!({"revoked": gone}));
        }
        for grant in gone.iter().filter(|_| !cx.out.json) {
            cx.out.note(format!("taken back: {}", sentence(grant)));
        }
        return Ok(true);
    }
    let loaded = config::load(&folders, None, None);
    for problem in &loaded.problems {
        // A rule that is not read does not hold.
        cx.out.warn(&problem.sentence());
    }
    let settings = loaded.settings;
    let all = grants.all().map_err(failed)?;
    if cx.out.json {
        cx.out
            .data(&json!({"default": settings.permission, "rules": settings.rules, "grants": all}));
        return Ok(true);
    }
    for rule in &settings.rules {
        let action = match rule.action {
            Action::Allow => format!("{GREEN}allow{GREEN:#}"),
            Action::Ask => format!("{YELLOW}ask  {YELLOW:#}"),
            Action::Deny => format!("{RED}deny {RED:#}"),
        };
        let pattern = rule.pattern.as_deref().unwrap_or("*");
        cx.out.line(format!(
            "{DIM}config.toml {DIM:#} {action} {BOLD}{}{BOLD:#} {CYAN}{}{CYAN:#}",
            one_line(&rule.tool),
            one_line(pattern)
        ));
    }
    for grant in &all {
        cx.out.line(format!(
            "{BOLD}{}{BOLD:#} {GREEN}allow{GREEN:#} {}",
            grant.id,
            sentence(grant)
        ));
    }
    if settings.rules.is_empty() && all.is_empty() {
        cx.out.note(
            "nothing was allowed for longer than once; running and sending is asked each time",
        );
    }
    Ok(true)
}

fn sentence(grant: &Grant) -> String {
    let bound = match grant.content {
        Some(_) => ", as long as the files that it names stay as they are",
        None => "",
    };
    format!(
        "{BOLD}{}{BOLD:#} {CYAN}{}{CYAN:#} in {}{bound} {DIM}{}{DIM:#}",
        one_line(&grant.tool),
        one_line(&grant.argument),
        one_line(grant.folder.as_deref().unwrap_or("any workspace")),
        one_line(&grant.granted),
    )
}
