//! `memory_read`, `memory_write`: facts of a project that last from run to run, in a file of the project.

use std::collections::BTreeMap;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{FileChange, Unchanged, change_ours};
use super::{Context, MAX_OUTPUT, Output, Tool, parse, schema, within_bytes};
use crate::files::{FileError, Seen, Tree};
use crate::present::visible;
use crate::trust::Risk;

/// Relative to the root.
const FILE: &str = ".postil/memory.json";
/// Characters of a key and of a value; facts in all.
const LONGEST: (usize, usize) = (100, 2_000);
const MOST: usize = 300;
/// How often another process may be faster.
const TRIES: u32 = 20;

type Facts = BTreeMap<String, String>;

/// The facts, `key: value` each, sorted; empty where there are none.
///
/// # Errors
/// Why they cannot be read.
pub fn facts(tree: &Tree) -> Result<String, String> {
    Ok(text(&read(tree)?.0))
}

fn text(facts: &Facts) -> String {
    let lines = facts.iter().map(|(key, value)| {
        let value = visible(value).replace('\n', "\n    ");
        format!("{}: {value}", visible(key))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The facts, and what they were read from; `None`: there is no file yet.
fn read(tree: &Tree) -> Result<(Facts, Option<Seen>), String> {
    let read = match tree.read(FILE) {
        Ok(read) => read,
        Err(FileError::NotFound(_)) => return Ok((Facts::new(), None)),
        Err(e) => return Err(format!("The project memory cannot be read: {e}.")),
    };
    let facts = serde_json::from_str(&read.text).map_err(|e| {
        format!("{FILE} is no JSON object of texts ({e}): mend it or remove it, then try again.")
    })?;
    Ok((facts, Some(read.seen)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Set,
    Remove,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Keep a fact, or take one away.
    action: Action,
    /// What the fact is about: one line, as short as a name.
    key: String,
    /// The fact, for `set`.
    #[serde(default)]
    value: Option<String>,
}

impl Input {
    fn wrong(&self) -> Option<String> {
        let long = |text: &str, most: usize| text.chars().nth(most).is_some();
        let key = self.key.trim();
        if key.is_empty() || long(key, LONGEST.0) || key.contains(['\n', '\r']) {
            return Some(format!(
                "`key` must be one line of 1 to {} characters",
                LONGEST.0
            ));
        }
        match (self.action, &self.value) {
            (Action::Set, None) => Some(String::from("`value` is missing; `set` needs one")),
            (Action::Set, Some(value)) if value.trim().is_empty() => {
                Some(String::from("`value` is empty; `remove` takes a fact away"))
            }
            (Action::Set, Some(value)) if long(value, LONGEST.1) => {
                Some(format!("`value` is longer than {} characters", LONGEST.1))
            }
            _ => None,
        }
    }
}

pub(super) struct MemoryRead;
pub(super) struct MemoryWrite;

#[async_trait]
impl Tool for MemoryRead {
    fn name(&self) -> &'static str {
        "memory_read"
    }
    fn description(&self) -> String {
        String::from("Shows the facts that agents have kept about this project.")
    }
    fn parameters(&self) -> Value {
        schema::<Nothing>()
    }
    fn risk(&self) -> Risk {
        Risk::Read
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        parse::<Nothing>(self.name(), input).map(drop)
    }
    async fn call(&self, cx: &Context, _input: Value) -> Output {
        let text = facts(&cx.tree)?;
        if text.is_empty() {
            return Ok(String::from("No project memory facts stored."));
        }
        Ok(within_bytes(&text, MAX_OUTPUT))
    }
}

#[async_trait]
impl Tool for MemoryWrite {
    fn name(&self) -> &'static str {
        "memory_write"
    }
    fn description(&self) -> String {
        String::from(
            "Keeps a fact about this project for later runs, or takes one away: how it is built and tested, a convention, a decision of the author. Only what will still be true; nothing secret.",
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Write
    }
    fn about(&self, _cx: &Context, input: &Value) -> String {
        let key = input.get("key").and_then(Value::as_str);
        key.unwrap_or_default().to_owned()
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        let input: Input = parse(self.name(), input)?;
        match input.wrong() {
            Some(why) => Err(format!("Wrong parameters for {}: {why}.", self.name())),
            None => Ok(()),
        }
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        let Input { action, key, value } = parse(self.name(), &input)?;
        let key = key.trim();
        let path = cx.tree.resolve(FILE).map_err(|e| e.to_string())?;
        // Nobody is asked about this file: it must be no way to another.
        if path != cx.tree.root().join(FILE) {
            return Err(format!(
                "{FILE} leads through a symbolic link, so nothing was written; tell the author, who can remove the link."
            ));
        }
        let _guard = cx.lock(&path).await;
        let mut tries = 0;
        loop {
            let (mut facts, seen) = read(&cx.tree)?;
            let said = match (action, &value) {
                (Action::Set, Some(value)) => {
                    let old = facts.insert(key.to_owned(), value.trim().to_owned());
                    if facts.len() > MOST {
                        return Err(format!(
                            "The project memory has {MOST} facts already: remove one first."
                        ));
                    }
                    format!(
                        "{} `{key}`.",
                        if old.is_some() { "Changed" } else { "Kept" }
                    )
                }
                _ if facts.remove(key).is_some() => format!("Removed `{key}`."),
                _ => {
                    return Err(format!(
                        "There is no fact `{key}`; memory_read shows those there are."
                    ));
                }
            };
            let json = serde_json::to_string_pretty(&facts).map_err(|e| e.to_string())? + "\n";
            let is_new = seen.is_none();
            match change_ours(cx, FileChange::new(&path, seen, Some(json))).await {
                Ok(()) => return Ok(said),
                // Another process wrote a fact at that moment, or the first one.
                Err(Unchanged::Meanwhile(_)) if tries < TRIES => tries += 1,
                Err(_) if is_new && tries < TRIES && cx.tree.read(FILE).is_ok() => tries += 1,
                Err(why) => return Err(why.into()),
            }
        }
    }
}
