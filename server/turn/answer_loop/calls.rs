//! The tool calls of one answer: which are carried out, and what the model hears of each.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::host::Progress;
use crate::models::{Answer, Block, IMAGE, Stop};
use crate::present::{collapsed, cut};
use crate::tools::Output;

use super::super::journal::Entry;
use super::super::{Outcome, Step, metadata, millis, new_round};
use super::{Loop, Same};

/// Tool calls of one answer that are carried out.
const MAX_CALLS: usize = 32;
/// The same call so many times in a row is not carried out.
const DOOM: u32 = 3;
/// After so many answers with one of those the turn ends.
const STUBBORN: u32 = 3;
/// Characters of a tool's result that reach the model, whatever the tool's own limit.
const MAX_RESULT: usize = 120_000;
/// Tools that were begun get so long after a cancel to say what they did.
const TOOL_GRACE: Duration = Duration::from_millis(400);

/// A call that is to be answered, and what is to be done about it.
pub(super) struct Call {
    id: String,
    pub(super) name: String,
    pub(super) input: Value,
    /// Why it is not carried out.
    refusal: Option<String>,
}

impl Loop<'_> {
    /// The calls of an answer, each with the reason where it is not to be carried out. Ids that were used
    /// before are made new, in the answer too: a call and its result must find each other.
    pub(super) fn calls(&mut self, answer: &mut Answer) -> Vec<Call> {
        let cut_off = answer.stop == Stop::MaxTokens;
        let count = answer
            .blocks
            .iter()
            .filter(|b| matches!(b, Block::ToolUse { .. }))
            .count();
        let mut calls: Vec<Call> = Vec::new();
        let mut refused = false;
        for block in &mut answer.blocks {
            let Block::ToolUse { id, name, input } = block else {
                continue;
            };
            let usable = !id.is_empty()
                && id.len() <= 64
                && id
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
            if !usable || !self.ids.insert(id.clone()) {
                *id = format!("call_{}_{}", self.spent.rounds, calls.len() + 1);
                self.ids.insert(id.clone());
            }
            let key = key(name, input);
            if self.same.call != key {
                self.same = Same {
                    call: key,
                    ..Same::default()
                };
            }
            self.same.times += 1;
            if self.same.times < DOOM {
                self.refused = 0;
            }
            let refusal = if cut_off && calls.len() + 1 == count {
                Some(String::from(
                    "Not carried out: your answer was cut off at the length limit in this call. Send less at once.",
                ))
            } else if calls.len() >= MAX_CALLS {
                Some(format!(
                    "Not carried out: {count} calls in one answer; the first {MAX_CALLS} were."
                ))
            } else if self.same.times >= DOOM {
                refused = true;
                Some(format!(
                    "Not carried out: this is the same call with the same arguments for the {} time in a row. What it gave stands above: \
do something else, or answer.",
                    ordinal(self.same.times)
                ))
            } else {
                malformed(input)
            };
            calls.push(Call {
                id: id.clone(),
                name: name.clone(),
                input: input.clone(),
                refusal,
            });
        }
        // Once an answer: the model has heard nothing in between.
        self.refused += u32::from(refused);
        calls
    }

    /// Carries the calls out, records each result, and puts the results into the conversation.
    pub(super) async fn carry_out(&mut self, calls: Vec<Call>) -> Result<Option<Outcome>, Outcome> {
        if self.cx.cancel.is_cancelled() {
            return Err(Outcome::Cancelled);
        }
        let to_do: Vec<(String, Value)> = calls
            .iter()
            .filter(|c| c.refusal.is_none())
            .map(|c| (c.name.clone(), c.input.clone()))
            .collect();
        let many = if to_do.len() > 1 {
            format!(" (and {} more)", to_do.len() - 1)
        } else {
            String::new()
        };
        if let Some((name, input)) = to_do.first() {
            self.report(&format!("{}{many}", describe(name, input)));
        }
        for call in calls.iter().filter(|call| call.refusal.is_none()) {
            let begun = Progress::Call {
                id: call.id.clone(),
                name: call.name.clone(),
                input: call.input.clone(),
            };
            self.cx.host.progress(&self.cx.run, begun);
            self.spoke.store(false, Ordering::Relaxed);
        }
        let begun = Instant::now();
        let stopped = async {
            self.cx.cancel.cancelled().await;
            tokio::time::sleep(TOOL_GRACE).await;
        };
        let mut outputs: std::collections::VecDeque<Output> = if to_do.is_empty() {
            Default::default()
        } else {
            tokio::select! {
                biased;
                outputs = self.registry.call_all(self.cx, to_do) => outputs.into(),
                () = stopped => Default::default(),
            }
        };
        let took = json!(millis(begun.elapsed()));
        // Kept in the history by who asked.
        let (tokens, cost) = self.cx.second.take();
        self.spent.add(tokens, cost);
        let mut step = Step::default();
        let mut asked = self.cx.take_question();
        let mut question = None;
        let mut results = Vec::new();
        let mut beyond = 0;
        for (at, call) in calls.into_iter().enumerate() {
            let done = call.refusal.is_none();
            let output = match call.refusal {
                Some(why) => Err(why),
                None => outputs
                    .pop_front()
                    .unwrap_or_else(|| Err(String::from("Stopped: it did not end in time."))),
            };
            let is_error = output.is_err();
            if call.name == "ask_user"
                && !is_error
                && let Some(asked) = asked.take()
            {
                // Its result is the author's answer; who shows calls is told that this one is over.
                let ended = Progress::Called {
                    id: call.id.clone(),
                    output: asked.text(),
                    is_error,
                };
                self.cx.host.progress(&self.cx.run, ended);
                question = Some((call.id, asked));
                continue;
            }
            let content = within(output.unwrap_or_else(|text| text), MAX_RESULT);
            if done {
                let ended = Progress::Called {
                    id: call.id.clone(),
                    output: content.clone(),
                    is_error,
                };
                self.cx.host.progress(&self.cx.run, ended);
            }
            // A command that is waited for has gone on: the look at it was not for nothing.
            if done
                && self.same.call == key(&call.name, &call.input)
                && self.registry.watches(&call.name)
            {
                let before = self.same.result.replace(content.clone());
                if before.is_some_and(|before| before != content) {
                    self.same.times = 1;
                }
            }
            self.added += content.len();
            if at < MAX_CALLS {
                let fields = metadata([
                    ("tool", json!(call.name)),
                    ("call_id", json!(call.id)),
                    ("is_error", json!(is_error)),
                    ("duration_ms", if done { took.clone() } else { Value::Null }),
                ]);
                step.rounds.push(new_round("tool", fields, content.clone()));
            } else {
                beyond += 1;
            }
            results.push(Block::ToolResult {
                id: call.id,
                content,
                is_error,
            });
        }
        for image in self.cx.images.take() {
            self.added += IMAGE;
            results.push(Block::Text {
                text: format!("The image {}:", collapsed(&image.name)),
            });
            results.push(Block::Image {
                media_type: image.media_type.to_owned(),
                data: image.data,
            });
        }
        if beyond > 0 {
            let fields = metadata([("is_error", json!(true))]);
            let content = format!("{beyond} further calls of this answer were not carried out.");
            step.rounds.push(new_round("tool", fields, content));
        }
        let files = super::planned(self.cx);
        if !files.is_empty() {
            step.talk.push(Entry::Planned { files }.text());
        }
        if let Some((call, asked)) = question {
            let text = asked.text();
            let fields = metadata([("tool", json!("ask_user")), ("call_id", json!(call))]);
            step.rounds
                .push(new_round("question", fields, text.clone()));
            step.talk.push(Entry::Question { call, results }.text());
            self.recorder.step(step).await?;
            return Ok(Some(Outcome::Asked(text)));
        }
        self.told(&mut step, results);
        self.recorder.step(step).await?;
        if self.cx.cancel.is_cancelled() {
            return Err(Outcome::Cancelled);
        }
        if self.refused >= STUBBORN {
            return Err(Outcome::Failed(format!(
                "{} repeated the same tool call and got nowhere: say more exactly what is wanted, or choose another model",
                self.model.name()
            )));
        }
        Ok(None)
    }
}

/// Why these arguments cannot be used. Those that could not be read are a string.
fn malformed(input: &Value) -> Option<String> {
    let why = match input {
        Value::Object(_) => return None,
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Err(error) => format!(" ({error})"),
            Ok(_) => String::new(),
        },
        _ => String::new(),
    };
    Some(format!(
        "Not carried out: the arguments are no JSON object{why}. Send them again."
    ))
}

/// What makes two calls the same; in which order the arguments stand does not.
fn key(name: &str, input: &Value) -> String {
    let mut input = input.clone();
    input.sort_all_objects();
    format!("{name} {input}")
}

/// At most `most` characters of a result; says how many more there were.
fn within(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text,
        Some((at, _)) => {
            let left = text.get(at..).unwrap_or_default().chars().count();
            let shown = text.get(..at).unwrap_or_default();
            format!(
                "{shown}\n({left} of {} characters are not shown)",
                most + left
            )
        }
    }
}

fn ordinal(n: u32) -> String {
    match n {
        3 => String::from("third"),
        n => format!("{n}th"),
    }
}

/// A tool with its main argument, for a progress line.
fn describe(name: &str, input: &Value) -> String {
    let main = [
        "path", "file", "pattern", "command", "query", "action", "url",
    ]
    .iter()
    .find_map(|key| input.get(key).and_then(Value::as_str));
    match main {
        Some(main) => format!(
            "{} {}",
            cut(&collapsed(name), 40),
            cut(&collapsed(main), 60)
        ),
        None => cut(&collapsed(name), 40),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{key, within};

    #[test]
    fn a_call_is_the_same_in_whatever_order_its_arguments_stand() {
        let (a, b) = (
            json!({"path": "a", "x": {"c": 1, "d": 2}}),
            json!({"x": {"d": 2, "c": 1}, "path": "a"}),
        );
        assert_eq!(key("grep", &a), key("grep", &b));
        assert_ne!(key("grep", &a), key("glob", &a));
        assert_ne!(
            key("grep", &a),
            key("grep", &json!({"path": "a", "x": [1]}))
        );
    }

    #[test]
    fn what_is_cut_of_a_result_is_counted() {
        assert_eq!(within("ähm".into(), 3), "ähm");
        assert_eq!(
            within("ähm".into(), 2),
            "äh\n(1 of 3 characters are not shown)"
        );
        assert_eq!(within(String::new(), 0), "");
    }
}
