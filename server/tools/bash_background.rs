//! `bash_background`: a command that goes on beside the turn, and ends with it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::bash::{asks, check_command, command_of, unseen};
use super::{Context, Output, Tool, parse, schema};
use crate::trust::Risk;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    #[cfg_attr(not(windows), doc = "What `sh -c` runs, in the workspace's root.")]
    #[cfg_attr(
        windows,
        doc = "What `cmd /C` runs, in the workspace's root: one line."
    )]
    command: String,
}

pub(super) struct BashBackground;

#[async_trait]
impl Tool for BashBackground {
    fn name(&self) -> &'static str {
        "bash_background"
    }
    fn description(&self) -> String {
        String::from(if cfg!(windows) {
            "Starts a command as bash does, and answers its id at once. bash_output reads what it printed since, bash_list shows all, bash_kill ends one; those that still run end with your answer."
        } else {
            "Starts a command as bash does, in the same sandbox, and answers its id at once. bash_output reads what it printed since, bash_list shows all, bash_kill ends one; those that still run end with your answer."
        })
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Run
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        let input = parse::<Input>(self.name(), input)?;
        check_command(self.name(), &input.command)
    }
    fn about(&self, _cx: &Context, input: &Value) -> String {
        command_of(input)
    }
    fn each_time(&self, cx: &Context, about: &str) -> Option<String> {
        asks(cx, about)
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        let Input { command } = parse(self.name(), &input)?;
        let job = cx.processes.start_background(&command).await?;
        let unseen = unseen(cx);
        Ok(format!("Started, its id is {}.\n{unseen}", job.id)
            .trim_end()
            .to_owned())
    }
}
