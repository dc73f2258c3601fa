//! `bash_output`: what a background command printed since the last call.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, Output, Tool, may_change, parse, schema};
use crate::sandbox::Job;
use crate::trust::Risk;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The number that bash_background answered.
    pub id: u32,
}

pub(super) struct BashOutput;

#[async_trait]
impl Tool for BashOutput {
    fn name(&self) -> &'static str {
        "bash_output"
    }
    fn description(&self) -> String {
        String::from(
            "Shows what a background command printed since you last looked, 50 KB at most (beginning and end), and whether it still runs.",
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    // It looks at what the author allowed already.
    fn risk(&self) -> Risk {
        Risk::Read
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        may_change(cx, self.name())?;
        let Input { id } = parse(self.name(), &input)?;
        let job = find(cx, id)?;
        // In this order: what ends in between is told the next time.
        let running = !job.has_ended();
        let text = job.report();
        Ok(match (running, text.is_empty()) {
            (true, true) => String::from("(running, nothing new)"),
            (true, false) => format!("{}\n(running)", text.trim_end_matches('\n')),
            (false, _) => text,
        })
    }
}

pub(super) fn find(cx: &Context, id: u32) -> Result<Arc<Job>, String> {
    let all = cx.processes.background();
    let job = all.into_iter().find(|job| job.id == id);
    job.ok_or_else(|| {
        format!("There is no background command {id}; bash_list shows those there are.")
    })
}
