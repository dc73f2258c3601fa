//! What a model gets to see of what happened: data in quotation marks that cannot be forged, earlier
//! rounds of the run, and the steps of a turn that has grown too long for the model's memory.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::models::{Block, Speaker, Turn};
use crate::present::{collapsed, cut, visible};
use crate::store::{Round, Store, StoreError, without_headers};
use crate::text::hex;

/// `text` as data: between two marks of which the text cannot know the number. Hidden characters are
/// written out.
pub(super) fn quote(kind: &str, about: &str, text: &str) -> String {
    let shown = visible(text);
    let mut salt = 0u32;
    let mark = loop {
        let digest = Sha256::new()
            .chain_update(salt.to_le_bytes())
            .chain_update(shown.as_bytes())
            .finalize();
        let mark = hex(digest.iter().take(4));
        if !shown.contains(&mark) {
            break mark;
        }
        salt += 1;
    };
    let about = collapsed(&about.replace(['<', '>'], " "));
    let end = if shown.ends_with('\n') { "" } else { "\n" };
    format!("<data {mark} {kind}: {about}>\n{shown}{end}</data {mark}>\n")
}

/// Rounds that are read at most, beside the first.
const ROUNDS: usize = 60;

/// Earlier rounds of the run within `budget` characters: the first, and as many of the newest as fit.
pub(super) fn rounds(
    store: &Store,
    run: &str,
    budget: usize,
) -> Result<Option<String>, StoreError> {
    let mut rounds = store.rounds_back(run, None, ROUNDS)?;
    if rounds.last().is_some_and(|oldest| oldest.seq > 1) {
        rounds.extend(store.rounds_back(run, Some(2), 1)?);
    }
    Ok(earlier(&rounds, run, budget))
}

/// The same of `rounds`, newest first.
pub(super) fn earlier(rounds: &[Round], run: &str, budget: usize) -> Option<String> {
    let (first, newer) = rounds.split_last()?;
    let show = |round: &Round, limit: usize| {
        let tool = round
            .metadata
            .get("tool")
            .and_then(Value::as_str)
            .map(|tool| format!(" {tool}"))
            .unwrap_or_default();
        let role = round.role.as_deref().unwrap_or("unknown");
        format!(
            "[#{} {role}{tool}] {}\n",
            round.seq,
            without_headers(&cut(round.content.trim(), limit))
        )
    };
    let head = show(first, 1500);
    let mut left = budget.saturating_sub(head.chars().count());
    let mut kept = Vec::new();
    for round in newer {
        let shown = show(round, if kept.is_empty() { 1500 } else { 500 });
        let size = shown.chars().count();
        if size > left {
            break;
        }
        left -= size;
        kept.push(shown);
    }
    let omitted = newer.len() - kept.len();
    let mut text = head;
    if omitted > 0 {
        let _ = writeln!(
            text,
            "… {omitted} rounds omitted; `postil workflow thread {run}` shows them"
        );
    }
    text.extend(kept.into_iter().rev());
    Some(text)
}

/// How the note of a folding begins; the steps of an earlier one are found again by it.
const FOLDED: &str = "This turn has grown long. What was done so far (do not do it again):\n";
/// How a call that was carried out is told of.
const CALLED: &str = "you called ";
/// Characters of an older step.
const LINE: usize = 160;
/// Steps that are told of at most, and as many of those that changed something.
const STEPS: usize = 400;

/// The steps after the first message folded into that message, so that the whole fits again: the newest
/// in full, older ones a line each, the rest counted. Rebuilt as text, because thinking that is taken out
/// of its conversation is refused. `budget` in characters; `changes`: whether a tool of this name changes
/// something, whose calls are the last to be left out.
pub(super) fn fold(
    turns: &mut Vec<Turn>,
    run: &str,
    budget: usize,
    changes: impl Fn(&str) -> bool,
) {
    let mut steps = Vec::new();
    let mut omitted = 0;
    // What an earlier folding kept, and what the model was told since.
    let first = turns.first().map(|turn| turn.blocks.as_slice());
    for block in first.unwrap_or_default().iter().skip(1) {
        if let Block::Text { text } = block {
            match unfold(text) {
                Some((before, kept)) => {
                    omitted += before;
                    steps.extend(kept);
                }
                None => steps.push(text.clone()),
            }
        }
    }
    let mut newest = 0;
    let mut later = turns.iter().skip(1).peekable();
    while let Some(turn) = later.next() {
        // What the newest turn tells is what the model waits for.
        newest = steps.len();
        let told = later.peek().map(|turn| turn.blocks.as_slice());
        for block in &turn.blocks {
            match block {
                Block::Text { text } if turn.speaker == Speaker::Assistant => {
                    steps.push(format!("you said: {text}"))
                }
                Block::Text { text } => steps.push(text.clone()),
                Block::ToolUse { id, name, input } => {
                    let input = cut(&path_first(input).to_string(), 1000);
                    // Without its result, a call that failed must not look like one that was carried out.
                    let failed = told.unwrap_or_default().iter().any(
                        |b| matches!(b, Block::ToolResult { id: of, is_error: true, .. } if of == id),
                    );
                    steps.push(match failed {
                        true => format!("you called, and it failed, {name} {input}"),
                        false => format!("{CALLED}{name} {input}"),
                    });
                }
                Block::ToolResult {
                    content, is_error, ..
                } => {
                    steps.push(format!(
                        "{}: {content}",
                        if *is_error { "error" } else { "result" }
                    ));
                }
                Block::Image { media_type, .. } => steps.push(format!(
                    "(an image, {media_type}, not shown any more: read it again if you need it)"
                )),
                Block::Thinking { .. }
                | Block::RedactedThinking { .. }
                | Block::Reasoning { .. } => {}
            }
        }
    }
    turns.truncate(1);
    if steps.is_empty() {
        return;
    }
    let line = |step: &str| cut(&collapsed(step), LINE);
    let changed = |step: &str| {
        let name = step
            .strip_prefix(CALLED)
            .and_then(|call| call.split(' ').next());
        name.is_some_and(&changes)
    };
    // Room for what was changed, the newest first: a model that does not know of it does it again.
    let mut reserved = vec![0; steps.len()];
    let mut left = budget / 4;
    let older = steps.iter().enumerate().take(newest).rev();
    for (at, step) in older.filter(|(_, step)| changed(step)).take(STEPS) {
        let size = line(step).chars().count() + 1;
        if size > left {
            break;
        }
        left -= size;
        if let Some(reserved) = reserved.get_mut(at) {
            *reserved = size;
        }
    }
    let mut left = budget - reserved.iter().sum::<usize>();
    let most = left / 10 * 9;
    let awaited = steps.get(newest..).unwrap_or_default();
    let all: usize = awaited.iter().map(|step| step.chars().count()).sum();
    let share = most.checked_div(awaited.len()).unwrap_or(most);
    let mut kept: Vec<String> = Vec::new();
    let mut is_full = false;
    for ((at, step), reserved) in steps.iter().enumerate().zip(reserved).rev() {
        left += reserved;
        let whole = step.chars().count();
        let shown = if !is_full && whole <= left / 2 || at >= newest && all <= most {
            step.clone()
        } else if at >= newest && share > LINE {
            cut(step, share)
        } else {
            line(step)
        };
        let size = shown.chars().count() + 1;
        is_full |= size > left || kept.len() >= STEPS;
        if is_full && reserved == 0 {
            continue;
        }
        left = left.saturating_sub(size);
        kept.push(shown);
    }
    omitted += steps.len() - kept.len();
    kept.reverse();
    let mut note = String::from(FOLDED);
    if omitted > 0 {
        let _ = writeln!(
            note,
            "… {omitted} steps omitted; `postil workflow thread {run}` shows them"
        );
    }
    note.push_str(&quote(
        "steps",
        "oldest first, long ones cut",
        &listed(&kept),
    ));
    note.push_str("Go on from here; read again what you need.");
    if let Some(first) = turns.first_mut() {
        first.blocks.truncate(1);
        first.blocks.push(Block::Text { text: note });
    }
}

/// The steps as a list. No line of a step can look like the beginning of another.
fn listed(steps: &[String]) -> String {
    let items = steps.iter().map(|step| {
        let lines: Vec<&str> = step.trim_end_matches('\n').split('\n').collect();
        format!("- {}\n", lines.join("\n  "))
    });
    items.collect()
}

/// The steps in the note of an earlier folding, and how many that one left out.
fn unfold(note: &str) -> Option<(usize, Vec<String>)> {
    let mut lines = note.strip_prefix(FOLDED)?.split('\n');
    let mut omitted = 0;
    for line in lines.by_ref() {
        if line.starts_with("<data ") {
            break;
        }
        let count = line.split(' ').nth(1).and_then(|count| count.parse().ok());
        omitted = count.unwrap_or(omitted);
    }
    let mut steps: Vec<String> = Vec::new();
    for line in lines.take_while(|line| !line.starts_with("</data ")) {
        match (line.strip_prefix("- "), steps.last_mut()) {
            (Some(begun), _) => steps.push(begun.to_owned()),
            (None, Some(step)) => {
                step.push('\n');
                step.push_str(line.strip_prefix("  ").unwrap_or(line));
            }
            (None, None) => {}
        }
    }
    Some((omitted, steps))
}

/// The arguments of a call with the path in front, which is not to be cut away.
fn path_first(input: &Value) -> Value {
    let (Some(fields), Some(path)) = (input.as_object(), input.get("path")) else {
        return input.clone();
    };
    let mut first = Map::from_iter([(String::from("path"), path.clone())]);
    first.extend(fields.clone());
    Value::Object(first)
}
