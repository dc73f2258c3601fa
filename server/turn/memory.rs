//! What a model gets to see of what happened: data in quotation marks that cannot be forged, earlier
//! rounds of the run, and the steps of a turn that has grown too long for the model's memory.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::models::{Block, Speaker, Turn};
use crate::present::visible;
use crate::store::Round;

use super::{cut, one_line};

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
        let mark = digest.iter().take(4).fold(String::new(), |mut mark, byte| {
            let _ = write!(mark, "{byte:02x}");
            mark
        });
        if !shown.contains(&mark) {
            break mark;
        }
        salt += 1;
    };
    let about = one_line(&about.replace(['<', '>'], " "));
    let end = if shown.ends_with('\n') { "" } else { "\n" };
    format!("<data {mark} {kind}: {about}>\n{shown}{end}</data {mark}>\n")
}

/// Earlier rounds of the run within `budget` characters: the first, and as many of the newest as fit.
/// `rounds` comes newest first.
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
            cut(round.content.trim(), limit)
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

/// The steps after the first message folded into that message, so that the whole fits again: the newest
/// in full, older ones a line each, the rest counted. Rebuilt as text, because thinking that is taken out
/// of its conversation is refused. `budget` in characters.
pub(super) fn fold(turns: &mut Vec<Turn>, run: &str, budget: usize) {
    let mut steps = Vec::new();
    // What an earlier folding kept.
    for block in turns
        .first()
        .map(|turn| turn.blocks.as_slice())
        .unwrap_or_default()
        .iter()
        .skip(1)
    {
        if let Block::Text { text } = block {
            steps.push(text.clone());
        }
    }
    let mut newest = 0;
    for turn in turns.iter().skip(1) {
        // What the newest turn tells is what the model waits for.
        newest = steps.len();
        for block in &turn.blocks {
            match block {
                Block::Text { text } if turn.speaker == Speaker::Assistant => {
                    steps.push(format!("you said: {text}"))
                }
                Block::Text { text } => steps.push(text.clone()),
                Block::ToolUse { name, input, .. } => steps.push(format!(
                    "you called {name} {}",
                    cut(&input.to_string(), 1000)
                )),
                Block::ToolResult {
                    content, is_error, ..
                } => {
                    steps.push(format!(
                        "{}: {content}",
                        if *is_error { "error" } else { "result" }
                    ));
                }
                Block::Image { media_type, .. } => {
                    steps.push(format!("(an image, {media_type}, seen then)"))
                }
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
    let mut left = budget;
    let mut kept: Vec<String> = Vec::new();
    let most = budget / 10 * 9;
    let awaited = steps.get(newest..).unwrap_or_default();
    let all: usize = awaited.iter().map(|step| step.chars().count()).sum();
    let share = most.checked_div(awaited.len()).unwrap_or(most);
    for (at, step) in steps.iter().enumerate().rev() {
        let whole = step.chars().count();
        let shown = if whole <= left / 2 || at >= newest && all <= most {
            step.clone()
        } else if at >= newest && share > 160 {
            cut(step, share)
        } else {
            cut(&one_line(step), 160)
        };
        let size = shown.chars().count() + 1;
        if size > left || kept.len() >= 400 {
            break;
        }
        left -= size;
        kept.push(shown);
    }
    let omitted = steps.len() - kept.len();
    kept.reverse();
    let mut note =
        String::from("This turn has grown long. What was done so far (do not do it again):\n");
    if omitted > 0 {
        let _ = writeln!(
            note,
            "… {omitted} steps omitted; `postil workflow thread {run}` shows them"
        );
    }
    note.push_str(&quote(
        "steps",
        "oldest first, long ones cut",
        &kept.join("\n"),
    ));
    note.push_str("Go on from here; read again what you need.");
    if let Some(first) = turns.first_mut() {
        first.blocks.truncate(1);
        first.blocks.push(Block::Text { text: note });
    }
}
