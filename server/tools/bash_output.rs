//! `bash_output`: what a background command printed since the last call, waited for a little.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, Output, Tool, may_change, parse, schema};
use crate::sandbox::Job;
use crate::trust::Risk;

/// So long a command is waited for that has printed nothing new.
const WAIT: Duration = Duration::from_secs(5);

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
            "Shows what a background command printed since you last looked, 50 KB at most (beginning and end), and whether it still runs. Where there is nothing new, it waits up to 5 s for it.",
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    // It looks at what the author allowed already.
    fn risk(&self) -> Risk {
        Risk::Read
    }
    fn watches(&self) -> bool {
        true
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        may_change(cx, self.name())?;
        let Input { id } = parse(self.name(), &input)?;
        let job = find(cx, id)?;
        let mut limit = std::pin::pin!(tokio::time::sleep(WAIT));
        let (running, text) = loop {
            // In this order: what ends in between is told the next time.
            let running = !job.has_ended();
            let text = job.report();
            if !running || !text.is_empty() {
                break (running, text);
            }
            tokio::select! {
                () = job.news() => {}
                () = &mut limit => break (running, text),
                () = cx.cancel.cancelled() => break (running, text),
            }
        };
        Ok(match (running, text.is_empty()) {
            // How long: who waits for it sees that time goes by, and is not taken for one who goes round in circles.
            (true, true) => format!("(running for {} s, nothing new)", job.runs_for().as_secs()),
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
