//! `think`: a thought that is kept in the run's history and has no other effect.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Context, Output, Tool, parse, schema};
use crate::trust::Risk;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// What you think: a plan, what was found, what speaks for and against.
    thought: String,
}

pub(super) struct Think;

#[async_trait]
impl Tool for Think {
    fn name(&self) -> &'static str {
        "think"
    }
    fn description(&self) -> String {
        String::from(
            "Writes down a thought. It changes nothing and shows you nothing new; use it to plan before a difficult change.",
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
    async fn call(&self, cx: &Context, input: Value) -> Output {
        let Input { thought } = parse(self.name(), &input)?;
        if let Some(store) = &cx.store {
            let mut metadata = Map::new();
            metadata.insert(String::from("tool"), Value::from(self.name()));
            store
                .append(&cx.run, "reasoning", metadata, &thought)
                .map_err(|e| format!("The thought could not be recorded: {e}"))?;
        }
        Ok(String::from("Noted."))
    }
}
