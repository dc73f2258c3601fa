//! The answer of Chat Completions put together from its chunks, whoever sends them.

use serde_json::{Map, Value, json};

use crate::models::error::WireError;
use crate::models::remote::{self, Trouble, arguments};
use crate::models::{Answer, Block, Event, Stop, Usage};

/// The field of a [`Block::Reasoning`] that belongs to the call behind it: what goes back in the call.
pub(in crate::models) const OF_CALL: &str = "call";

/// A call while it streams.
#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    json: String,
    /// Arguments that came as an object, which some servers send.
    whole: Option<Value>,
    /// What the format does not know: the server wants it back (Gemini's `extra_content`).
    extra: Map<String, Value>,
}

/// What has come so far.
#[derive(Debug, Default)]
pub(in crate::models) struct Assembly {
    by: String,
    text: String,
    /// Bytes of the text that are thoughts, and that were heard.
    thoughts: usize,
    heard: usize,
    /// The text is taken for thoughts until their end comes, or the answer's.
    thinks: bool,
    /// The model is known for a tag that its template opens, so that the tag's end need not have a line of its own.
    is_known: bool,
    /// Such an end has come, and the rest of its line has not.
    is_open: bool,
    refusal: String,
    calls: Vec<Call>,
    /// Reasoning by the field that it came in: it goes back in the same one.
    reasoning: Map<String, Value>,
    usage: Usage,
    model: String,
    stop: Option<String>,
}

impl Assembly {
    /// `by`: the model that is asked, `provider/model`. `is_known`: its name says that its answers begin with thoughts
    /// in a tag that is not opened. `thinks`: so, or earlier answers have begun with them.
    pub fn new(by: String, is_known: bool, thinks: bool) -> Self {
        Self {
            by,
            is_known,
            thinks: is_known || thinks,
            ..Self::default()
        }
    }

    fn count(&mut self, usage: &Value) {
        let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
        let Some(prompt) = number("/prompt_tokens") else {
            return;
        };
        let read = number("/prompt_tokens_details/cached_tokens")
            .or_else(|| number("/prompt_cache_hit_tokens"))
            .unwrap_or(0);
        let write = number("/prompt_tokens_details/cache_write_tokens").unwrap_or(0);
        self.usage = Usage {
            input: prompt.saturating_sub(read).saturating_sub(write),
            output: number("/completion_tokens").unwrap_or(0),
            cache_read: read,
            cache_write: write,
        };
    }

    fn delta(&mut self, delta: &Value, hear: &(dyn Fn(Event) + Send + Sync)) {
        let text = text_of(&delta["content"]);
        if !text.is_empty() {
            // Only what is new is looked at, with what may be the beginning of the end.
            let from = self.text.len().saturating_sub(THOUGHT.len() - 1);
            self.text.push_str(&text);
            let mut new = self.text.as_bytes().windows(THOUGHT.len()).skip(from);
            self.is_open |= new.any(|part| part == THOUGHT.as_bytes());
            let ends = self.is_open && self.thoughts == 0 && self.is_decided();
            self.is_open &= !ends;
            self.say(ends, hear);
        }
        // They have a field of their own, or are over.
        if !self.reasoning.is_empty() || !list(&delta["tool_calls"]).is_empty() {
            self.think_no_more(hear);
        }
        if let Some(refusal) = delta["refusal"].as_str() {
            self.refusal.push_str(refusal);
        }
        for field in ["reasoning_content", "reasoning"] {
            if let Some(piece) = delta[field].as_str().filter(|p| !p.is_empty()) {
                match self.reasoning.entry(field).or_insert_with(|| json!("")) {
                    Value::String(all) => all.push_str(piece),
                    other => *other = json!(piece),
                }
            }
        }
        for detail in list(&delta["reasoning_details"]) {
            let details = self
                .reasoning
                .entry("reasoning_details")
                .or_insert_with(|| json!([]));
            if let Value::Array(details) = details {
                add_detail(details, detail);
            }
        }
        for call in list(&delta["tool_calls"]) {
            self.call(call, hear);
        }
    }

    /// Whether enough has come behind the newest tag to see whether it stands alone, or above an empty line.
    fn is_decided(&self) -> bool {
        let rest = self.text.rsplit_once(THOUGHT).map_or("", |(_, rest)| rest);
        self.is_known
            || self.text.trim_start().starts_with(THINK)
            || rest.len() > BLANKS
            || rest.matches('\n').count() > 1
            || rest.contains(|c: char| !c.is_whitespace())
    }

    /// Tells what is new of the answer; thoughts in a tag are none of it. Where the tag was not opened, they look
    /// like the answer until it ends, and are taken back then.
    fn say(&mut self, ends: bool, hear: &(dyn Fn(Event) + Send + Sync)) {
        if ends && self.thoughts == 0 {
            let answer = without_thoughts(&self.text, self.is_known);
            self.thoughts = self.text.len() - answer.len();
            if self.thoughts > 0 && self.heard > 0 {
                hear(Event::Thoughts);
            }
        }
        let begun = self.text.trim_start();
        let thinks = self.thinks || begun.starts_with(THINK) || THINK.starts_with(begun);
        if self.thoughts == 0 && thinks {
            return;
        }
        let from = self.heard.max(self.thoughts);
        let new = self.text.get(from..).unwrap_or_default();
        if !new.is_empty() {
            hear(Event::Text(new.to_owned()));
            self.heard = self.text.len();
        }
    }

    /// What was taken for thoughts is none.
    fn think_no_more(&mut self, hear: &(dyn Fn(Event) + Send + Sync)) {
        if std::mem::take(&mut self.thinks) && self.thoughts == 0 {
            self.say(false, hear);
        }
    }

    /// A piece of a call. OpenAI gives the id and the name once and the index always; others leave out the
    /// id, the index or both, repeat them, give every call the index 0, or every piece an id of its own.
    fn call(&mut self, piece: &Value, hear: &(dyn Fn(Event) + Send + Sync)) {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let id = word(&piece["id"]);
        let name = word(&piece["function"]["name"]);
        let index = piece["index"].as_u64();
        let known = if !id.is_empty() && self.calls.iter().any(|c| c.id == id) {
            self.calls.iter().rposition(|c| c.id == id)
        } else {
            let last = match index {
                Some(index) => self.calls.iter().rposition(|c| c.index == Some(index)),
                None => self.calls.len().checked_sub(1),
            };
            last.filter(|at| {
                self.calls.get(*at).is_some_and(|call| {
                    // Without a name it begins nothing.
                    let goes_on = name.is_empty() && index.is_some();
                    let other_id = !id.is_empty() && !call.id.is_empty() && !goes_on;
                    // A name again begins another call, unless the one before is only repeated.
                    let again = !name.is_empty()
                        && !call.name.is_empty()
                        && (call.name != name || index.is_none() || call.is_complete());
                    !other_id && !again
                })
            })
        };
        let at = known.unwrap_or_else(|| {
            self.calls.push(Call::default());
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(at) else {
            return;
        };
        call.index = call.index.or(index);
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() && !name.is_empty() {
            call.name = name;
            hear(Event::ToolUse {
                name: call.name.clone(),
            });
        }
        for (field, value) in piece.as_object().into_iter().flatten() {
            let is_known = matches!(field.as_str(), "index" | "id" | "type" | "function");
            if !is_known && !value.is_null() {
                call.extra.insert(field.clone(), value.clone());
            }
        }
        match &piece["function"]["arguments"] {
            Value::String(piece) => call.json.push_str(piece),
            Value::Null => {}
            whole => call.whole = Some(whole.clone()),
        }
    }
}

impl Call {
    /// Whether it can be carried out as it is.
    fn is_whole(&self) -> bool {
        !self.name.is_empty() && (self.json.trim().is_empty() || self.is_complete())
    }

    fn is_complete(&self) -> bool {
        self.whole.is_some()
            || self.json.trim_end().ends_with('}')
                && serde_json::from_str::<Map<String, Value>>(&self.json).is_ok()
    }
}

impl remote::Assembly for Assembly {
    fn take(&mut self, data: &str, hear: &(dyn Fn(Event) + Send + Sync)) -> Result<bool, Trouble> {
        let data = data.trim();
        if data == "[DONE]" {
            // Some servers never say why: what can be used as it is counts as whole.
            let is_whole = match self.calls.is_empty() {
                true => !without_thoughts(&self.text, self.is_known)
                    .trim()
                    .is_empty(),
                false => self.calls.iter().all(Call::is_whole),
            };
            return if self.stop.is_some() || is_whole {
                self.think_no_more(hear);
                Ok(true)
            } else {
                Err(Trouble::Broken(String::from("it ended without saying why")))
            };
        }
        if data.is_empty() {
            return Ok(false);
        }
        let chunk: Value =
            serde_json::from_str(data).map_err(|error| Trouble::Broken(error.to_string()))?;
        if !chunk.is_object() {
            return Err(Trouble::Broken(String::from("a chunk that is no object")));
        }
        let error = &chunk["error"];
        if !error.is_null() {
            return Err(Trouble::Reported(WireError::of(error)));
        }
        if chunk["object"] == "error" {
            return Err(Trouble::Reported(WireError::of(&chunk)));
        }
        if let Some(model) = chunk["model"].as_str().filter(|m| !m.is_empty()) {
            self.model = model.to_owned();
        }
        self.count(&chunk["usage"]);
        // One answer is asked for; what a server sends of others is not wanted.
        let first = list(&chunk["choices"])
            .iter()
            .find(|c| c["index"].as_u64().unwrap_or(0) == 0);
        if let Some(choice) = first {
            self.count(&choice["usage"]);
            self.delta(&choice["delta"], hear);
            if let Some(stop) = choice["finish_reason"].as_str().filter(|s| !s.is_empty()) {
                if matches!(stop, "error" | "insufficient_system_resource" | "abort") {
                    let error = &choice["error"];
                    let mut error = WireError::of(error);
                    if error.message.is_empty() {
                        error.message = format!("it stopped in the middle: {stop}");
                    }
                    error.status.get_or_insert(503);
                    return Err(Trouble::Reported(error));
                }
                self.stop = Some(stop.to_owned());
                self.think_no_more(hear);
            }
        }
        Ok(false)
    }

    fn is_whole(&self) -> bool {
        self.stop.is_some()
    }

    fn finish(self: Box<Self>, asked: &str) -> Answer {
        let stop = match self.stop.as_deref() {
            _ if !self.refusal.is_empty() && self.calls.is_empty() => Stop::Refusal,
            Some("tool_calls" | "function_call" | "tool_use") => Stop::ToolUse,
            Some("stop" | "eos" | "end_turn" | "stop_sequence") if self.calls.is_empty() => {
                Stop::EndTurn
            }
            Some("stop" | "eos" | "end_turn") => Stop::ToolUse,
            Some("length" | "max_tokens") => Stop::MaxTokens,
            Some("content_filter") => Stop::Refusal,
            _ => Stop::Other,
        };
        let mut blocks = Vec::new();
        let mut reasoning = self.reasoning;
        // The details hold all that the plain text holds.
        if reasoning.contains_key("reasoning_details") {
            reasoning.retain(|field, _| field == "reasoning_details");
        }
        if !reasoning.is_empty() {
            blocks.push(Block::Reasoning {
                by: self.by.clone(),
                item: Value::Object(reasoning),
            });
        }
        let text = without_thoughts(&self.text, self.is_known);
        if !text.is_empty() {
            blocks.push(Block::Text {
                text: text.to_owned(),
            });
        }
        for call in self.calls {
            if !call.extra.is_empty() {
                blocks.push(Block::Reasoning {
                    by: self.by.clone(),
                    item: json!({OF_CALL: call.extra}),
                });
            }
            let input = match call.whole {
                Some(whole) if call.json.trim().is_empty() => {
                    if whole.is_object() {
                        whole
                    } else {
                        Value::String(whole.to_string())
                    }
                }
                _ => arguments(call.json),
            };
            blocks.push(Block::ToolUse {
                id: call.id,
                name: call.name,
                input,
            });
        }
        Answer {
            blocks,
            stop,
            usage: self.usage,
            model: if self.model.is_empty() {
                asked.to_owned()
            } else {
                self.model
            },
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Content is a text; some servers send a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|p| p["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// Pieces of one reasoning detail come one after the other, with the same type and index.
fn add_detail(details: &mut Vec<Value>, piece: &Value) {
    let same = details
        .last()
        .is_some_and(|last| last["type"] == piece["type"] && last["index"] == piece["index"]);
    match (details.last_mut(), piece) {
        (Some(Value::Object(last)), Value::Object(piece)) if same => {
            for (key, value) in piece {
                match (last.get_mut(key), value) {
                    (_, Value::Null) => {}
                    (Some(Value::String(all)), Value::String(more))
                        if matches!(key.as_str(), "text" | "summary" | "data") =>
                    {
                        all.push_str(more);
                    }
                    _ => {
                        last.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        _ => details.push(piece.clone()),
    }
}

const THINK: &str = "<think>";
const THOUGHT: &str = "</think>";
/// So many blanks behind a tag are all that is waited for.
const BLANKS: usize = 64;
const FENCE: &str = "```";

/// Models that are served without a parser for their thoughts put them in front, in a tag. Where the chat's template
/// opens it, the answer has its end alone, on a line of its own or above an empty one; of models that are known for it
/// (`is_known`) anywhere. In quotation marks, between other words or in a block of code it is spoken of.
fn without_thoughts(text: &str, is_known: bool) -> &str {
    let begun = text.trim_start();
    if let Some(inside) = begun.strip_prefix(THINK) {
        let ended = inside.split_once(THOUGHT);
        return ended.map_or(text, |(_, answer)| answer.trim_start());
    }
    let mut before = 0;
    let mut is_code = false;
    for (at, _) in begun.match_indices(THOUGHT) {
        let piece = begun.get(before..at).unwrap_or_default();
        let answer = begun.get(at + THOUGHT.len()..).unwrap_or_default();
        before = at;
        if piece.contains(THINK) {
            return text;
        }
        is_code ^= piece.matches(FENCE).count() % 2 == 1;
        let is_blank = |line: Option<&str>| line.is_none_or(|line| line.trim().is_empty());
        let mut below = answer.split('\n');
        // An empty line below stands for one of its own.
        let is_alone = is_blank(below.next())
            && (is_blank(piece.rsplit('\n').next()) || is_blank(below.next()))
            && !is_code;
        let is_quoted = piece.ends_with(['`', '"', '\'']);
        if at == 0 || (is_alone || is_known) && !is_quoted {
            return answer.trim_start();
        }
    }
    text
}
