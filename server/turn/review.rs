//! `turn.review = "ask"`: the edits of a turn, gathered, shown to the author before they are made, and made as
//! far as they are agreed to; a file is changed whole or not at all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use crate::edits::{line_edits, take_back};
use crate::files::{FileError, Planned, Text};
use crate::host::{BufferEdit, Level, NotApplied, Proposed, Question};
use crate::present::{collapsed, listed};
use crate::store::Change;
use crate::text::apply_edits;
use crate::tools::{Context, FileChange, Patience, Unchanged, change_files};
use crate::trust;

use super::{Outcome, Recorder, metadata, report};

/// Lines of unchanged text around a change.
const AROUND: usize = 3;

/// An editor tells of a rename when it is done.
const LATE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(50);

const UNANSWERED: &str = "because it is to be agreed to first (turn.review) and nobody answered";
const MEANWHILE: &str = "because somebody else has made, changed or removed it meanwhile";

/// What is planned for a file.
#[derive(Clone)]
struct Plan {
    path: PathBuf,
    planned: Planned,
    /// The file whose place it takes, and which is removed with that: a rename.
    from: Option<(PathBuf, Planned)>,
    /// What another file was renamed to that stood here before this one.
    other: Option<PathBuf>,
}

/// A file that is to be changed, as it is now.
struct Proposal {
    plan: Plan,
    shown: String,
    /// Of a file that is renamed what stands under its old name.
    now: Option<Text>,
    /// `None`: it is removed.
    after: Option<String>,
    diff: String,
    /// Lines.
    added: usize,
    removed: usize,
}

/// What became of a file.
struct Verdict {
    shown: String,
    /// Why it was not changed.
    left: Option<String>,
}

/// What the model is to hear of a review.
pub(super) struct News {
    pub text: String,
    /// Nobody was there to agree.
    pub unanswered: bool,
}

/// Shows the gathered edits, unless nobody is there to `ask`, and makes those that the author agrees to. `None`: all
/// were made as the model meant, or there were none.
pub(super) async fn settle(
    cx: &Context,
    recorder: &Recorder,
    ask: bool,
) -> Result<Option<News>, Outcome> {
    let Some(overlay) = cx.tree.overlay() else {
        return Ok(None);
    };
    let planned = overlay.all();
    if planned.is_empty() {
        return Ok(None);
    }
    overlay.set_off(true);
    let verdicts = tokio::select! {
        biased;
        verdicts = decide(cx, planned, ask) => Some(verdicts),
        () = cx.cancel.cancelled() => None,
    };
    overlay.set_off(false);
    let Some(verdicts) = verdicts else {
        return Err(Outcome::Cancelled);
    };
    overlay.clear();
    // What the run knows of these files was what it had planned.
    cx.seen.clear();
    let said = verdicts.iter().map(|verdict| match &verdict.left {
        None => format!("{}: changed", verdict.shown),
        Some(why) => format!("{}: not changed, {why}", verdict.shown),
    });
    let said = said.collect::<Vec<_>>().join("\n");
    let fields = metadata([("files", json!(verdicts.len()))]);
    recorder.round("review", fields, said.clone()).await?;
    let all = verdicts.iter().all(|verdict| verdict.left.is_none());
    if all {
        return Ok(None);
    }
    let unanswered = verdicts.iter().any(Verdict::is_unanswered);
    let (begin, end) = match unanswered {
        false => (
            "The author has looked at your edits before they were made",
            "Do not make a refused edit again in another way.",
        ),
        true => (
            "The author was to look at your edits before they are made",
            "Nobody is there to agree to an edit, so make none any more in this turn.",
        ),
    };
    let text = format!(
        "{begin}:\n{said}\nWhat was not changed is as it was before your edits. {end} Give your final answer, true to what was changed."
    );
    Ok(Some(News { text, unanswered }))
}

/// The answer of a turn some of whose edits were not made, where it may not say so itself. In front, for what is long is
/// cut in the thread.
pub(super) fn with_reserve(run: &str, answer: &str) -> String {
    format!("(Not every edit was accepted: `postil workflow thread {run}` tells which.) {answer}")
}

impl Verdict {
    fn is_unanswered(&self) -> bool {
        self.left.as_deref() == Some(UNANSWERED)
    }
}

fn files(count: usize) -> String {
    match count {
        1 => String::from("1 file"),
        count => format!("{count} files"),
    }
}

/// Tells how many files wait for the author.
fn report_left(cx: &Context, left: usize) {
    if left > 0 {
        report(cx, format!("{} to be reviewed", files(left)));
    }
}

async fn decide(cx: &Context, planned: Vec<(PathBuf, Planned)>, asks: bool) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let mut proposals = Vec::new();
    for mut plan in plans(planned) {
        plan.other = cx.host.renamed(&plan.path);
        match propose(cx, plan) {
            Ok(Some(proposal)) => proposals.push(proposal),
            Ok(None) => {}
            Err(verdict) => verdicts.push(verdict),
        }
    }
    if !asks {
        verdicts.extend(proposals.into_iter().map(|proposal| Verdict {
            shown: proposal.shown,
            left: Some(String::from(UNANSWERED)),
        }));
        return verdicts;
    }
    report_left(cx, proposals.len());
    if cx.host.can_review() {
        verdicts.extend(by_file(cx, proposals).await);
        verdicts.sort_by(|a, b| a.shown.cmp(&b.shown));
        return verdicts;
    }
    // What is open is previewed where it stands; the editor makes what the author ticks.
    if cx.host.can_preview() {
        let (open, rest): (Vec<_>, Vec<_>) =
            proposals.into_iter().partition(Proposal::can_be_previewed);
        verdicts.extend(preview(cx, open).await);
        proposals = rest;
    }
    let taken = ask(cx, &proposals).await;
    for (proposal, taken) in proposals.into_iter().zip(taken) {
        verdicts.push(decided(cx, proposal, taken).await);
    }
    verdicts.sort_by(|a, b| a.shown.cmp(&b.shown));
    tell_unanswered(cx, &verdicts);
    verdicts
}

/// Once for all files that nobody has answered for.
fn tell_unanswered(cx: &Context, verdicts: &[Verdict]) {
    let unanswered = verdicts.iter().filter(|verdict| verdict.is_unanswered());
    let names: Vec<&str> = unanswered.map(|verdict| verdict.shown.as_str()).collect();
    if names.is_empty() {
        return;
    }
    let names = names.join(", ");
    cx.gate
        .note_unanswered(&format!("may {names} be changed (turn.review)?"));
    cx.host.message(
        Level::Warning,
        &format!("Not changed, {UNANSWERED}: {names}. A review needs an editor or a terminal."),
    );
}

/// Both names of a file that is renamed are one plan: either alone would lose its text, or double it.
fn plans(planned: Vec<(PathBuf, Planned)>) -> Vec<Plan> {
    let (removed, rest): (Vec<_>, Vec<_>) =
        (planned.into_iter()).partition(|(_, planned)| planned.after.is_none());
    let mut removed: BTreeMap<_, _> = removed.into_iter().collect();
    let mut plans = Vec::new();
    for (path, planned) in rest {
        let like = planned.like.as_ref();
        let from = like.and_then(|like| removed.remove_entry(like));
        plans.push(Plan {
            path,
            planned,
            from,
            other: None,
        });
    }
    plans.extend(removed.into_iter().map(|(path, planned)| Plan {
        path,
        planned,
        from: None,
        other: None,
    }));
    plans.sort_by(|a, b| a.path.cmp(&b.path));
    plans
}

/// What was planned, put onto the file as it is now; `None`: it is so already.
fn propose(cx: &Context, mut plan: Plan) -> Result<Option<Proposal>, Verdict> {
    if let Some(now) = plan.followed(cx) {
        plan.path = now;
    }
    let shown = plan.shown(cx);
    let left = |why: String| Verdict {
        shown: shown.clone(),
        left: Some(why),
    };
    let read = |path: &Path| match cx.tree.read(path) {
        Ok(text) => Ok(Some(text)),
        Err(FileError::NotFound(_)) => Ok(None),
        Err(error) => Err(left(collapsed(&error.to_string()))),
    };
    let there = read(&plan.path)?;
    let (now, before) = match &plan.from {
        None => (there, &plan.planned.before),
        Some((from, old)) => match (read(from)?, there) {
            (Some(now), None) => (Some(now), &old.before),
            _ => return Err(left(String::from(MEANWHILE))),
        },
    };
    let after = match (before, &plan.planned.after, &now) {
        (_, None, None) => return Ok(None),
        (None, Some(after), None) => Some(after.to_string()),
        (Some(before), None, Some(now)) if **before == *now.text => None,
        (Some(before), Some(after), Some(now)) => {
            let (edits, kept) = take_back(after, before, &now.text);
            if !kept.is_empty() {
                return Err(left(format!(
                    "because the author has changed the same lines meanwhile (line {})",
                    listed(&kept)
                )));
            }
            Some(apply_edits(&now.text, &edits))
        }
        _ => {
            return Err(left(String::from(MEANWHILE)));
        }
    };
    let old = now.as_ref().map_or("", |now| &now.text);
    let new = after.as_deref().unwrap_or_default();
    let is_edit = now.is_some() && after.is_some() && plan.from.is_none();
    if is_edit && old == new {
        return Ok(None);
    }
    let [a, b] = plan.names(cx);
    let name = |prefix: &str, file: &str, there: bool| match there {
        true => format!("{prefix}/{file}"),
        false => String::from("/dev/null"),
    };
    let lines = TextDiff::from_lines(old, new);
    let count = |tag| {
        lines
            .iter_all_changes()
            .filter(|line| line.tag() == tag)
            .count()
    };
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    let diff = lines
        .unified_diff()
        .context_radius(AROUND)
        .header(
            &name("a", &a, now.is_some()),
            &name("b", &b, after.is_some()),
        )
        .to_string();
    let diff = match plan.from {
        None => diff,
        // All there is to see where no line changes.
        Some(_) => format!("diff --git a/{a} b/{b}\nrename from {a}\nrename to {b}\n{diff}"),
    };
    Ok(Some(Proposal {
        plan,
        shown: shown.clone(),
        now,
        after,
        diff,
        added,
        removed,
    }))
}

impl Plan {
    /// The old name and the new one.
    fn names(&self, cx: &Context) -> [String; 2] {
        let new = cx.shown(&self.path);
        let old = self.from.as_ref().map(|(from, _)| cx.shown(from));
        [old.unwrap_or_else(|| new.clone()), new]
    }

    /// Whether the file that is to be edited is not there any more.
    fn is_gone(&self, cx: &Context) -> bool {
        let is_edit = self.planned.before.is_some() && self.from.is_none();
        is_edit && !self.path.exists() && cx.tree.open_as(&self.path).is_none()
    }

    /// The file that is to be edited, where the author has renamed it meanwhile.
    fn followed(&self, cx: &Context) -> Option<PathBuf> {
        let now = self.is_gone(cx).then(|| cx.host.renamed(&self.path))??;
        let is_meant = self.other.as_ref() != Some(&now);
        // What was asked about was no edit of such a file.
        (is_meant && trust::guarded(cx.tree.root(), &cx.shown(&now)).is_none()).then_some(now)
    }

    fn shown(&self, cx: &Context) -> String {
        let [old, new] = self.names(cx);
        match self.from {
            None => new,
            Some(_) => format!("{old} → {new}"),
        }
    }
}

impl Proposal {
    fn can_be_previewed(&self) -> bool {
        let is_open = self.now.as_ref().is_some_and(|now| now.buffer.is_some());
        is_open && self.after.is_some() && self.plan.from.is_none()
    }

    fn change(&self) -> Change {
        let bytes = |text: &str| text.as_bytes().to_vec();
        Change {
            file: self.shown.clone(),
            before: self.now.as_ref().map(|now| bytes(&now.text)),
            after: self.after.as_deref().map(bytes),
            ..Change::default()
        }
    }

    /// How many lines are added and removed.
    fn counts(&self) -> String {
        format!("{} (+{} −{})", self.shown, self.added, self.removed)
    }

    fn proposed(&self, cx: &Context, of: usize) -> Proposed {
        let path = &self.plan.path;
        let from = self.plan.from.as_ref();
        Proposed {
            run: cx.run.clone(),
            path: cx.tree.open_as(path).unwrap_or(path.clone()),
            shown: cx.shown(path),
            from: from.map(|(from, _)| cx.shown(from)),
            before: self.now.as_ref().map(|now| now.text.to_string()),
            after: self.after.clone(),
            added: self.added,
            removed: self.removed,
            of,
        }
    }
}

/// Every file is asked about at once and decided on its own; what is agreed to is made at once.
async fn by_file(cx: &Context, proposals: Vec<Proposal>) -> Vec<Verdict> {
    let of = proposals.len();
    let mut asked: FuturesUnordered<_> = proposals
        .into_iter()
        .map(|proposal| async move {
            let taken = cx.host.review(proposal.proposed(cx, of)).await;
            (proposal, taken)
        })
        .collect();
    let mut verdicts = Vec::new();
    while let Some((proposal, taken)) = asked.next().await {
        report_left(cx, asked.len());
        verdicts.push(decided(cx, proposal, Some(taken)).await);
    }
    verdicts
}

/// Makes what was agreed to, onto the text as it is by now. Where that cannot be the author is told. `None`: nobody has
/// answered.
async fn decided(cx: &Context, proposal: Proposal, taken: Option<bool>) -> Verdict {
    let shown = proposal.shown.clone();
    let left = match taken {
        Some(true) => make_anew(cx, proposal).await.err(),
        Some(false) => Some(String::from("the author did not want it")),
        None => Some(String::from(UNANSWERED)),
    };
    if let Some(why) = left.as_ref().filter(|_| taken == Some(true)) {
        cx.host
            .message(Level::Warning, &format!("{shown} was not changed, {why}."));
    }
    Verdict { shown, left }
}

async fn make_anew(cx: &Context, proposal: Proposal) -> Result<(), String> {
    let patience = Patience::begin();
    let plan = proposal.plan;
    for _ in 0..LATE.as_millis() / LOOK.as_millis() {
        if !plan.is_gone(cx) || plan.followed(cx).is_some() {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    loop {
        let proposal = match propose(cx, plan.clone()) {
            Ok(Some(proposal)) => proposal,
            Ok(None) => return Ok(()),
            Err(verdict) => return Err(verdict.left.unwrap_or_default()),
        };
        match make(cx, proposal).await {
            // The author typed at that moment, or agreed to another turn's: it is put onto what stands there now.
            Err(why) if patience.lasts(&why) => {}
            made => return made.map_err(|why| format!("because {}", collapsed(&why.to_string()))),
        }
    }
}

async fn preview(cx: &Context, open: Vec<Proposal>) -> Vec<Verdict> {
    let mut edits = Vec::new();
    let mut verdicts = Vec::new();
    let mut asked = Vec::new();
    let since = cx.store.as_ref().map(|store| store.newest_change());
    for proposal in open {
        let parts = proposal.now.as_ref().zip(proposal.after.as_deref());
        let Some((now, after)) = parts else { continue };
        let Some(buffer) = &now.buffer else { continue };
        // Before it is made: the editor makes it when it will.
        let kept = match &cx.store {
            Some(store) => store.record_change(&cx.run, &proposal.change()),
            None => Ok(()),
        };
        if let Err(error) = kept {
            verdicts.push(Verdict {
                shown: proposal.shown,
                left: Some(format!(
                    "because it could not be recorded for undo ({error})"
                )),
            });
            continue;
        }
        let path = &proposal.plan.path;
        edits.push(BufferEdit {
            path: cx.tree.open_as(path).unwrap_or_else(|| path.clone()),
            generation: buffer.generation,
            edits: line_edits(&now.text, after),
        });
        asked.push(proposal);
    }
    if edits.is_empty() {
        return verdicts;
    }
    let label = format!("postil: review {}", files(edits.len()));
    let answer = cx.host.preview(&label, edits).await;
    for proposal in asked {
        let now = cx.tree.read(&proposal.plan.path).ok().map(|read| read.text);
        let before = proposal.now.map(|text| text.text);
        // Undo would offer to take back what was never made.
        if now == before
            && let (Some(store), Some(Ok(since))) = (&cx.store, &since)
            && let Err(error) = store.forget_changes(&cx.run, *since, Some(&proposal.shown))
        {
            tracing::warn!(%error, "a change that was not made can be undone");
        }
        let left = if now.as_deref() == proposal.after.as_deref() {
            None
        } else if now != before && answer.is_ok() {
            Some(String::from(
                "or only in part, or the author typed there: read it again",
            ))
        } else {
            Some(match &answer {
                Err(NotApplied::Changed) => {
                    String::from("because the author typed in it meanwhile")
                }
                _ => String::from("the author did not want it"),
            })
        };
        verdicts.push(Verdict {
            shown: proposal.shown,
            left,
        });
    }
    verdicts
}

/// Which of these the author agrees to; `None`: nobody answered.
async fn ask(cx: &Context, proposals: &[Proposal]) -> Vec<Option<bool>> {
    if proposals.is_empty() {
        return Vec::new();
    }
    let diff: String = proposals.iter().map(|p| p.diff.as_str()).collect();
    // A status line may have to hold it.
    let name = format!("review-{}.diff", cx.run.get(..8).unwrap_or(&cx.run));
    let written = cx.host.show_text(&name, &diff).await;
    let list: Vec<String> = proposals.iter().map(Proposal::counts).collect();
    let choices = match proposals {
        [_] => vec!["Accept", "Reject"],
        _ => vec!["Accept all", "Choose by file", "Reject"],
    };
    let question = |text: String, choices: &[&str]| Question {
        text,
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        last_is_no: true,
    };
    let files = list.join(", ");
    let text = match written {
        None => format!("The agent wants to change {files}."),
        // First, for an editor that shows one line cuts it there.
        Some(file) => format!("{file} has what the agent wants to change: {files}."),
    };
    let answer = cx.host.ask(question(text, &choices)).await;
    match (answer, proposals.len()) {
        (Some(0), count) => vec![Some(true); count],
        (Some(1), 2..) => {
            let mut taken = Vec::new();
            for proposal in &list {
                let text = format!("Change {proposal}?");
                let answer = cx.host.ask(question(text, &["Accept", "Reject"])).await;
                taken.push(answer.map(|answer| answer == 0));
            }
            taken
        }
        (answer, count) => vec![answer.map(|_| false); count],
    }
}

/// # Errors
/// Why it was not made.
async fn make(cx: &Context, proposal: Proposal) -> Result<(), Unchanged> {
    let Plan {
        path,
        planned,
        from,
        ..
    } = proposal.plan;
    let seen = proposal.now.map(|now| now.seen);
    let wanted = match from {
        None => vec![FileChange {
            mode: planned.mode,
            ..FileChange::new(path, seen, proposal.after)
        }],
        Some((from, _)) => vec![
            FileChange::new(&from, seen, None),
            FileChange {
                like: Some(from),
                ..FileChange::new(path, None, proposal.after)
            },
        ],
    };
    change_files(cx, wanted).await
}
