//! `todo_read`, `todo_write`: what an agent means to do, for itself and for the author to see. The list is a
//! round of the run, so that it is there again after a suspension.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Context, Output, Tool, parse, schema};
use crate::present::collapsed;
use crate::store::Store;
use crate::trust::Risk;

/// The role of the rounds that hold a list.
const ROLE: &str = "todo";
const MOST: usize = 100;
/// Characters of an id, of a title, of a description.
const LONGEST: (usize, usize, usize) = (40, 200, 2_000);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Todo {
    /// A short name that stays the same: `1`, `tests` …
    id: String,
    /// What is to be done, in a few words.
    title: String,
    status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

impl Todo {
    fn line(&self) -> String {
        let description = self.description.as_deref().map(collapsed);
        let description = description.filter(|text| !text.is_empty());
        let description = description.map_or_else(String::new, |text| format!(" ({text})"));
        format!(
            "[{}] {}: {}{description}",
            collapsed(&self.id),
            self.status.name(),
            collapsed(&self.title)
        )
    }
}

/// The list of a run, read from its rounds when it is first asked for.
#[derive(Default)]
pub struct Todos(Mutex<Option<Vec<Todo>>>);

impl Todos {
    fn list(&self, cx: &Context) -> Vec<Todo> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || cx.store.as_ref().map(|store| kept(store, &cx.run));
        known
            .get_or_insert_with(|| read().unwrap_or_default())
            .clone()
    }

    /// For a progress line: how many are done, and what is being done.
    pub fn progress(&self, cx: &Context) -> Option<String> {
        let list = self.list(cx);
        if list.is_empty() {
            return None;
        }
        let count = |status| list.iter().filter(|todo| todo.status == status).count();
        let all = list.len() - count(Status::Cancelled);
        let mut text = format!("{}/{all} done", count(Status::Completed));
        if let Some(todo) = list.iter().find(|todo| todo.status == Status::InProgress) {
            let title: String = todo.title.chars().take(60).collect();
            text.push_str(&format!(", {}", collapsed(&title)));
        }
        Some(text)
    }
}

fn kept(store: &Store, run: &str) -> Vec<Todo> {
    let round = store.newest_of(run, ROLE).ok().flatten();
    let list = round.and_then(|round| round.metadata.get("todos").cloned());
    list.and_then(|list| serde_json::from_value(list).ok())
        .unwrap_or_default()
}

/// The list of a run as it is shown to people, a line each.
pub fn todo_lines(store: &Store, run: &str) -> Vec<String> {
    kept(store, run).iter().map(Todo::line).collect()
}

fn text(list: &[Todo]) -> String {
    if list.is_empty() {
        return String::from("Todo list is empty.");
    }
    let lines: Vec<String> = list.iter().map(Todo::line).collect();
    lines.join("\n")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The whole list: it takes the place of the one before. At most one is `in_progress`.
    todos: Vec<Todo>,
}

fn wrong(todos: &[Todo]) -> Option<String> {
    if todos.len() > MOST {
        return Some(format!(
            "`todos` has {} entries, and {MOST} are the most",
            todos.len()
        ));
    }
    let mut ids = HashSet::new();
    for todo in todos {
        let long = |text: &str, most: usize| text.chars().nth(most).is_some();
        let id = todo.id.trim();
        let description = todo.description.as_deref().unwrap_or_default();
        if id.is_empty() || long(id, LONGEST.0) {
            return Some(format!("an `id` has 1 to {} characters", LONGEST.0));
        }
        if !ids.insert(id) {
            return Some(format!("the `id` {id} is there twice"));
        }
        if todo.title.trim().is_empty() || long(&todo.title, LONGEST.1) {
            return Some(format!(
                "the `title` of {id} must have 1 to {} characters",
                LONGEST.1
            ));
        }
        if long(description, LONGEST.2) {
            return Some(format!(
                "the `description` of {id} is longer than {} characters",
                LONGEST.2
            ));
        }
    }
    let in_progress = |todo: &&Todo| todo.status == Status::InProgress;
    let at_once = todos.iter().filter(in_progress).count();
    (at_once > 1).then(|| format!("{at_once} entries are `in_progress`, and one is the most"))
}

pub(super) struct TodoRead;
pub(super) struct TodoWrite;

#[async_trait]
impl Tool for TodoRead {
    fn name(&self) -> &'static str {
        "todo_read"
    }
    fn description(&self) -> String {
        String::from("Shows the list of what you mean to do in this run.")
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
        Ok(text(&cx.todos.list(cx)))
    }
}

#[async_trait]
impl Tool for TodoWrite {
    fn name(&self) -> &'static str {
        "todo_write"
    }
    fn description(&self) -> String {
        String::from(
            "Writes the list of what you mean to do in this run, whole. The author sees it. Use it for work of several steps, and keep it true: one entry is `in_progress` at a time.",
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Read // it changes nothing but what is shown of the run
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        let Input { todos } = parse(self.name(), input)?;
        match wrong(&todos) {
            Some(why) => Err(format!("Wrong parameters for {}: {why}.", self.name())),
            None => Ok(()),
        }
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        let Input { todos } = parse(self.name(), &input)?;
        let shown = text(&todos);
        let mut known = cx.todos.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = &cx.store {
            let metadata = Map::from_iter([(String::from("todos"), json!(todos))]);
            store
                .append(&cx.run, ROLE, metadata, &shown)
                .map_err(|e| format!("The list could not be kept: {e}"))?;
        }
        *known = Some(todos);
        Ok(shown)
    }
}
