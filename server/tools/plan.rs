//! `plan_enter`, `plan_exit`: read-only mode, by the agent's choice or the author's.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, Output, Tool, parse, schema};
use crate::trust::Risk;

/// Read-only mode of a run.
#[derive(Debug, Default)]
pub struct Plan {
    by_author: bool,
    no_leave: bool,
    by_agent: AtomicBool,
}

impl Plan {
    /// What the author chose stays on: the agent cannot leave it.
    pub fn of_author(on: bool) -> Self {
        Self {
            by_author: on,
            ..Self::default()
        }
    }

    /// Nobody chose it, and nobody allowed edits: it holds for this turn, and a run that goes on is asked about anew.
    pub fn without_leave() -> Self {
        Self {
            by_author: true,
            no_leave: true,
            ..Self::default()
        }
    }

    /// Whether the author asked for a plan.
    pub fn is_chosen(&self) -> bool {
        self.by_author && !self.no_leave
    }

    pub fn is_on(&self) -> bool {
        self.by_author || self.by_agent.load(Ordering::SeqCst)
    }

    pub fn is_agents(&self) -> bool {
        self.by_agent.load(Ordering::SeqCst)
    }

    /// As it was when the run stopped.
    pub fn set_agents(&self, on: bool) {
        self.by_agent.store(on, Ordering::SeqCst);
    }

    pub fn is_authors(&self) -> bool {
        self.by_author
    }
}

/// It takes no parameters.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {}

pub(super) struct PlanEnter;
pub(super) struct PlanExit;

#[async_trait]
impl Tool for PlanEnter {
    fn name(&self) -> &'static str {
        "plan_enter"
    }
    fn description(&self) -> String {
        String::from(
            "Begins plan mode: every tool that writes, runs or changes something elsewhere is refused until plan_exit. Use it to look around and think before a large change.",
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Read
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        parse::<Input>(self.name(), input).map(drop)
    }
    async fn call(&self, cx: &Context, _input: Value) -> Output {
        if cx.plan.by_author || cx.plan.by_agent.swap(true, Ordering::SeqCst) {
            return Ok(String::from("Already in plan mode."));
        }
        Ok(String::from(
            "Plan mode is on: tools that write, run or send are refused until plan_exit.",
        ))
    }
}

#[async_trait]
impl Tool for PlanExit {
    fn name(&self) -> &'static str {
        "plan_exit"
    }
    fn description(&self) -> String {
        String::from(
            "Ends plan mode that plan_enter began. Plan mode that the author chose cannot be ended so.",
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Read
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        parse::<Input>(self.name(), input).map(drop)
    }
    async fn call(&self, cx: &Context, _input: Value) -> Output {
        let was = cx.plan.by_agent.swap(false, Ordering::SeqCst);
        if cx.plan.by_author {
            return Err(String::from(
                "The author chose plan mode, and only the author ends it. Say in your answer what you would change.",
            ));
        }
        Ok(String::from(if was {
            "Plan mode is off: tools that write, run or send work again."
        } else {
            "Not in plan mode."
        }))
    }
}
