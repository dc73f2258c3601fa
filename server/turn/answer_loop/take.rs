//! What becomes of one answer.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::journal::{self, Entry};
use super::super::{Outcome, Step, metadata, millis, new_round, review};
use super::{Loop, answer_text, nonzero, planned};
use crate::models::{Answer, Block, Speaker, Stop, Turn};
use crate::present::collapsed;

impl Loop<'_> {
    /// One whole answer: recorded, then its tools, or its end.
    pub(super) async fn take(
        &mut self,
        mut answer: Answer,
        took: Duration,
    ) -> Result<Option<Outcome>, Outcome> {
        self.spent.rounds += 1;
        self.added = 0;
        let (usage, is_estimate) = answer.taken(&self.request);
        self.full = usage.total();
        let cost = self.model.cost(&usage);
        self.spent.add(self.full, cost.unwrap_or(0.0));
        self.spent.is_estimate |= is_estimate;

        let calls = self.calls(&mut answer);
        let said: Vec<&str> = answer
            .blocks
            .iter()
            .filter_map(|b| {
                if let Block::Text { text } = b {
                    Some(text.as_str())
                } else {
                    None
                }
            })
            .collect();
        let said = said.join("\n\n");
        let said = said.trim();
        let mut content = said.to_owned();
        for call in &calls {
            if !content.is_empty() {
                content.push('\n');
            }
            content.push_str(&format!("{} {}", collapsed(&call.name), call.input));
        }
        let fields = metadata([
            ("model", json!(answer.model)),
            ("input_tokens", json!(usage.input)),
            ("output_tokens", json!(usage.output)),
            ("cache_read_tokens", nonzero(usage.cache_read)),
            ("cache_write_tokens", nonzero(usage.cache_write)),
            ("estimated", json!(is_estimate.then_some(true))),
            (
                "cost",
                cost.map_or(Value::Null, |cost| json!((cost * 1e6).round() / 1e6)),
            ),
            ("duration_ms", json!(millis(took))),
            // So many of its last lines; what looks like one above them was said.
            ("calls", nonzero(calls.len() as u64)),
            (
                "stop",
                if matches!(answer.stop, Stop::EndTurn | Stop::ToolUse) {
                    Value::Null
                } else {
                    json!(format!("{:?}", answer.stop))
                },
            ),
        ]);
        let mut step = Step {
            rounds: vec![new_round("assistant", fields, content)],
            tokens: self.full,
            cost: cost.unwrap_or(0.0),
            ..Step::default()
        };
        if answer.stop == Stop::Refusal {
            step.anew = true;
            self.recorder.step(step).await?;
            return Err(Outcome::Failed(format!(
                "{} declined to answer this (content filter): put the question in other words, or choose another model",
                answer.model
            )));
        }
        if !calls.is_empty() {
            // Kept before a tool is begun: what may have been done is known, whatever happens now.
            self.said(&mut step, &mut answer);
            self.recorder.step(step).await?;
            return self.carry_out(calls).await;
        }
        if is_unread_call(said, |name| {
            self.registry.tools().iter().any(|tool| tool.name() == name)
        }) {
            step.anew = true;
            self.recorder.step(step).await?;
            return Err(Outcome::Failed(format!(
                "{} wrote a tool call as its answer, because its server does not read this model's tool calls: switch on its tool \
parser or template (llama-server: --jinja; vLLM: --enable-auto-tool-choice with --tool-call-parser), or choose another model",
                answer.model
            )));
        }
        let more = match answer.stop {
            Stop::ContextFull if self.may_fold() => {
                self.recorder.step(step).await?;
                self.fold().await?;
                return Ok(None);
            }
            Stop::MaxTokens if !self.shortened => {
                self.shortened = true;
                Some(
                    "Your answer was cut off, it was too long. Give the final answer now, in one or two sentences.",
                )
            }
            Stop::Pause => Some("Go on."),
            // Some models end without a word once their tools are done, or their thoughts.
            _ if said.is_empty() && !self.nudged => {
                self.nudged = true;
                Some("Your answer was empty. Say in one or two sentences what you did or found.")
            }
            _ => None,
        };
        if let Some(more) = more {
            self.said(&mut step, &mut answer);
            let text = more.to_owned();
            self.told(&mut step, vec![Block::Text { text }]);
            self.recorder.step(step).await?;
            return Ok(None);
        }
        let mut text = answer_text(said);
        if text.is_empty() {
            step.anew = true;
            self.recorder.step(step).await?;
            return Err(Outcome::Failed(match answer.stop {
                Stop::MaxTokens => format!(
                    "{} used all {} tokens of its answer for thoughts: raise maxOutput or contextWindow in [models.\"{}\"] of your config.toml, or choose another model",
                    answer.model,
                    usage.output,
                    self.model.name()
                ),
                _ => format!(
                    "{} gave an empty answer: ask again, or choose another model",
                    answer.model
                ),
            }));
        }
        if matches!(answer.stop, Stop::MaxTokens | Stop::ContextFull) {
            text.push_str(" (cut off: the model may not say more at once)");
        }
        if !planned(self.cx).is_empty() {
            self.said(&mut step, &mut answer);
            self.recorder.step(std::mem::take(&mut step)).await?;
            // Where nobody has answered, nobody is asked again.
            let was_unanswered = self.unanswered;
            let news = review::settle(self.cx, self.recorder, !was_unanswered).await?;
            step.talk.push(Entry::Planned { files: Vec::new() }.text());
            if let Some(news) = news {
                if was_unanswered {
                    // It was told so, and would go on.
                    text = review::with_reserve(&self.cx.run, &text);
                } else {
                    self.unanswered = news.unanswered;
                    self.told(&mut step, vec![Block::Text { text: news.text }]);
                    self.recorder.step(step).await?;
                    return Ok(None);
                }
            }
        }
        step.talk.push(Entry::Answer { text: text.clone() }.text());
        self.recorder.step(step).await?;
        Ok(Some(Outcome::Answer(text)))
    }

    /// The model's answer becomes part of the conversation.
    pub(super) fn said(&mut self, step: &mut Step, answer: &mut Answer) {
        let blocks = std::mem::take(&mut answer.blocks);
        step.talk.push(
            Entry::Said {
                blocks: blocks.clone(),
            }
            .text(),
        );
        self.request.turns.push(Turn {
            speaker: Speaker::Assistant,
            blocks,
        });
    }

    /// So does what the model is told.
    pub(super) fn told(&mut self, step: &mut Step, blocks: Vec<Block>) {
        let entry = Entry::Told {
            blocks: blocks.clone(),
            asked: None,
        };
        step.talk.push(entry.text());
        journal::tell(&mut self.request.turns, blocks);
    }
}

/// Whether all that a model said are calls of tools, as models write them for a server to read.
fn is_unread_call(said: &str, is_tool: impl Fn(&str) -> bool) -> bool {
    let named = |call: &str| {
        let Ok(call) = serde_json::from_str::<Value>(call) else {
            // <function=NAME> and its parameters, as some have it.
            let name = call.strip_prefix("<function=");
            let name = name.and_then(|call| call.split('>').next());
            return name.is_some_and(&is_tool);
        };
        let given = ["arguments", "parameters"];
        let has_given = given.iter().any(|field| call.get(field).is_some());
        has_given && call["name"].as_str().is_some_and(&is_tool)
    };
    let said = said.trim();
    if !said.starts_with(CALL) {
        return said.starts_with('{') && named(said);
    }
    let mut calls = said.split(CALL).skip(1).map(|call| {
        let call = call.trim();
        // The last end may be taken for that of the answer.
        call.strip_suffix("</tool_call>").unwrap_or(call).trim()
    });
    calls.all(named)
}

const CALL: &str = "<tool_call>";

#[cfg(test)]
mod tests {
    use super::is_unread_call;

    #[test]
    fn a_call_that_the_server_did_not_read_is_told_from_an_answer() {
        let is = |said: &str| is_unread_call(said, |name| name == "bash");
        let call = r#"{"name": "bash", "arguments": {"command": "ls"}}"#;
        for said in [
            call.to_owned(),
            call.replace("arguments", "parameters"),
            format!("<tool_call>{call}</tool_call>"),
            format!("\n<tool_call>\n{call}\n</tool_call>\n<tool_call>\n{call}"),
            String::from(
                "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
            ),
        ] {
            assert!(is(&said), "{said}");
        }
        for said in [
            format!("It is called so: {call}"),
            format!("<tool_call>{call}</tool_call> calls it."),
            call.replace("bash", "other"),
            format!("<tool_call>{}</tool_call>", call.replace("bash", "other")),
            String::from(r#"{"name": "bash"}"#),
            String::from("<tool_call> is a tag."),
            String::from("{}"),
            String::new(),
        ] {
            assert!(!is(&said), "{said}");
        }
    }
}
