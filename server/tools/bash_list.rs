//! `bash_list`: the background commands of the run.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, Output, Tool, may_change, schema};
use crate::present::short;
use crate::trust::Risk;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {}

pub(super) struct BashList;

#[async_trait]
impl Tool for BashList {
    fn name(&self) -> &'static str {
        "bash_list"
    }
    fn description(&self) -> String {
        String::from("Lists the background commands of this turn: id, state, command.")
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Read
    }
    fn watches(&self) -> bool {
        true
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        super::parse::<Input>(self.name(), input).map(drop)
    }
    async fn call(&self, cx: &Context, _input: Value) -> Output {
        may_change(cx, self.name())?;
        let all = cx.processes.background();
        if all.is_empty() {
            return Ok(String::from("No background commands."));
        }
        let line = |job: &std::sync::Arc<crate::sandbox::Job>| {
            format!(
                "{}  [{}]  {}",
                job.id,
                job.state(),
                short(&job.command, 200)
            )
        };
        Ok(all.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}
