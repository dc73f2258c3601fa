//! `bash_kill`: ends a background command, and all that it started.

use async_trait::async_trait;
use serde_json::Value;

use super::bash_output::{Input, find};
use super::{Context, Output, Tool, may_change, parse, schema};
use crate::trust::Risk;

pub(super) struct BashKill;

#[async_trait]
impl Tool for BashKill {
    fn name(&self) -> &'static str {
        "bash_kill"
    }
    fn description(&self) -> String {
        String::from("Ends a background command and everything that it started.")
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Read
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        may_change(cx, self.name())?;
        let Input { id } = parse(self.name(), &input)?;
        let job = find(cx, id)?;
        if job.has_ended() {
            return Ok(format!("{id} had ended already ({}).", job.state()));
        }
        job.stop("ended by bash_kill");
        job.ended().await;
        Ok(format!("{id} is ended."))
    }
}
