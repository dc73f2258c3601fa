//! `log_read`: what postil itself has logged.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, MAX_OUTPUT, Output, Tool, parse, schema, within_bytes};
use crate::log;
use crate::trust::Risk;

const DEFAULT: u64 = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// How many lines, 500 at most. Default 50.
    #[serde(default)]
    #[schemars(range(min = 1, max = 500))]
    lines: Option<u64>,
}

pub(super) struct LogRead;

#[async_trait]
impl Tool for LogRead {
    fn name(&self) -> &'static str {
        "log_read"
    }
    fn description(&self) -> String {
        String::from(
            "Shows the newest lines of postil's own log, the newest first: warnings and errors of the server, of language servers and of the model's connection. Not the log of the author's program.",
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
    async fn call(&self, _cx: &Context, input: Value) -> Output {
        let Input { lines } = parse(self.name(), &input)?;
        let lines = lines.unwrap_or(DEFAULT);
        let lines = log::newest(usize::try_from(lines).unwrap_or(usize::MAX));
        if lines.is_empty() {
            return Ok(String::from("No log entries."));
        }
        Ok(within_bytes(&lines.join("\n"), MAX_OUTPUT))
    }
}
