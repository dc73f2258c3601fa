//! `git_status`: what differs from the last commit, without running anything of the repository.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, MAX_OUTPUT, NOTES, Output, Tool, parse, schema};
use crate::present::visible;
use crate::trust::Risk;
use crate::vcs;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// A file or folder, relative to the workspace root. Default: the whole workspace.
    #[serde(default)]
    path: Option<String>,
}

pub(super) struct GitStatus;

#[async_trait]
impl Tool for GitStatus {
    fn name(&self) -> &'static str {
        "git_status"
    }
    fn description(&self) -> String {
        String::from(
            "Shows what git sees as changed, in the form of `git status --short`: staged in the first column, not staged in the second, `??` for what is not tracked. Unsaved text of an editor is not in it.",
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
        let Input { path } = parse(self.name(), &input)?;
        let below = path.filter(|path| !path.is_empty() && path != ".");
        let below = below.map(|path| cx.tree.resolve(&path)).transpose();
        let below = below.map_err(|e| e.to_string())?;
        let root = cx.tree.root().to_owned();
        let look = move || vcs::status(&root, below.as_deref());
        let lines = tokio::task::spawn_blocking(look)
            .await
            .map_err(|e| format!("The status could not be read: {e}"))??;
        if lines.is_empty() {
            return Ok(String::from("Nothing differs from the last commit."));
        }
        let mut text = String::new();
        for (at, line) in lines.iter().enumerate() {
            let line = visible(line);
            if text.len() + line.len() + 1 > MAX_OUTPUT - NOTES {
                let left = lines.len() - at;
                text.push_str(&format!(
                    "({left} of {} lines are not shown: name a `path`)\n",
                    lines.len()
                ));
                break;
            }
            text.push_str(&line);
            text.push('\n');
        }
        Ok(text)
    }
}
