//! The history: runs and their rounds.

use serde_json::json;

use super::args::{Age, Document, WorkflowCommand};
use super::out::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use super::{Cx, Outcome};
use crate::present::{self, counted, dollars, one_line};
use crate::store::{Format, Run, RunStatus, whole_seconds};
use crate::verbs::{facts, hit};

mod export;

pub(super) async fn run(cx: &Cx, command: WorkflowCommand) -> Outcome {
    match command {
        WorkflowCommand::List {
            thread,
            status,
            limit,
        } => list(cx, thread.as_deref(), status, limit),
        WorkflowCommand::Thread {
            run,
            before,
            budget,
        } => thread(cx, &run, before, budget),
        WorkflowCommand::Show { run } => show(cx, &run),
        WorkflowCommand::Cancel { run } => {
            let session = cx.session()?;
            let (_, run) = session.run_of(&run)?;
            session.cancel(&run.id).await?;
            if cx.out.json {
                cx.out.data(&json!({"success": true, "run_id": run.id}));
            }
            cx.out.note(format!("run {} is asked to stop", run.id));
            Ok(true)
        }
        WorkflowCommand::Search { words, limit } => search(cx, &words.join(" "), limit),
        WorkflowCommand::Export { run, format } => {
            let format = if cx.out.json { Document::Json } else { format };
            export::export(cx, &run, format)
        }
        WorkflowCommand::Prune {
            older_than,
            dry_run,
        } => prune(cx, older_than, dry_run),
    }
}

fn list(cx: &Cx, thread: Option<&str>, status: Option<RunStatus>, limit: usize) -> Outcome {
    let runs = cx.session()?.runs(thread, status, limit)?;
    if cx.out.json {
        let shown: Vec<_> = runs.iter().map(|(_, run)| facts(run)).collect();
        cx.out.data(&shown);
        return Ok(true);
    }
    for (store, run) in &runs {
        line(cx, run);
        if let Some(asked) = store.question(&run.id)? {
            cx.out.line(format!("    {}", present::short(&asked, 200)));
        }
    }
    if runs.is_empty() {
        cx.out.note("no runs");
    }
    Ok(true)
}

fn line(cx: &Cx, run: &Run) {
    let status = run.status.name();
    let status = match run.status {
        RunStatus::Completed => format!("{GREEN}{status}{GREEN:#}"),
        RunStatus::Failed | RunStatus::Interrupted => format!("{RED}{status}{RED:#}"),
        _ => format!("{YELLOW}{status}{YELLOW:#}"),
    };
    let place = match run.thread_id.is_empty() {
        true => format!(
            "{DIM}no thread{DIM:#}  {CYAN}{}{CYAN:#}",
            one_line(&run.model)
        ),
        false => format!(
            "{DIM}thread{DIM:#} {}  {CYAN}{}{CYAN:#}",
            run.thread_id,
            one_line(&run.file)
        ),
    };
    cx.out.line(format!(
        "{BOLD}{}{BOLD:#}  {status}  {place}  {}  {DIM}{}, {} tokens, {}{DIM:#}",
        run.id,
        whole_seconds(run.started),
        counted(run.rounds, "round"),
        run.tokens,
        dollars(run.cost),
    ));
}

fn thread(cx: &Cx, id: &str, before: Option<u64>, budget: usize) -> Outcome {
    let session = cx.session()?;
    let (workspace, run) = session.run_of(id)?;
    let format = if cx.out.json {
        Format::JsonLines
    } else {
        Format::Text
    };
    let page = workspace.store()?.page(&run.id, before, budget, format)?;
    if page.text.is_empty() {
        match before {
            Some(before) if run.rounds > 0 => cx
                .out
                .warn(&format!("run {} has nothing before round {before}", run.id)),
            _ => cx.out.warn(&format!("run {} has no rounds", run.id)),
        }
        return Ok(true);
    }
    cx.out.raw(&page.text);
    if cx.out.json
        && let Some(hint) = page.hint
    {
        cx.out.warn(&hint.to_string());
    }
    Ok(true)
}

fn show(cx: &Cx, id: &str) -> Outcome {
    let (_, run) = cx.session()?.run_of(id)?;
    if cx.out.json {
        let mut facts = facts(&run);
        facts["model"] = json!(run.model);
        facts["error"] = json!(run.error);
        cx.out.data(&facts);
        return Ok(true);
    }
    line(cx, &run);
    cx.out
        .line(format!("    {DIM}model{DIM:#} {}", one_line(&run.model)));
    if let Some(error) = &run.error {
        cx.out
            .line(format!("    {DIM}error{DIM:#} {}", one_line(error)));
    }
    Ok(true)
}

fn search(cx: &Cx, words: &str, limit: usize) -> Outcome {
    let hits = cx.session()?.search(words, limit)?;
    if cx.out.json {
        cx.out.data(&hits.iter().map(hit).collect::<Vec<_>>());
        return Ok(true);
    }
    for hit in &hits {
        cx.out.line(format!(
            "{BOLD}{}{BOLD:#}  #{} {}  {CYAN}{}{CYAN:#}  {}",
            hit.run.id,
            hit.seq,
            one_line(hit.role.as_deref().unwrap_or("unknown")),
            one_line(&hit.run.file),
            one_line(&hit.snippet),
        ));
    }
    if hits.is_empty() {
        cx.out.note("no round has these words");
    }
    Ok(true)
}

fn prune(cx: &Cx, age: Age, dry: bool) -> Outcome {
    let before = jiff::Timestamp::now()
        .checked_sub(age.0)
        .unwrap_or(jiff::Timestamp::MIN);
    let session = cx.session()?;
    let (mut runs, mut freed) = (Vec::new(), 0);
    for workspace in session.workspaces() {
        let pruned = workspace.store()?.prune(before, dry)?;
        runs.extend(pruned.runs);
        freed += pruned.freed;
        if let Some(why) = pruned.not_freed {
            cx.out.warn(&format!(
                "what is deleted takes space on disk still ({why}): the next prune that deletes something frees it"
            ));
        }
    }
    if cx.out.json {
        cx.out.data(&runs.iter().map(facts).collect::<Vec<_>>());
        return Ok(true);
    }
    for run in &runs {
        line(cx, run);
    }
    let count = counted(runs.len() as u64, "run");
    cx.out.note(match dry {
        true => format!("{count} would be deleted"),
        false => format!("{count} deleted, {:.1} MB freed", freed as f64 / 1e6),
    });
    Ok(true)
}
