//! `list_files`: what is in a folder.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, Output, Tool, parse, schema};
use crate::trust::Risk;

const MAX_ENTRIES: usize = 500;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The folder, relative to the workspace root; a glob such as `src/*.rs` works too. Default: the root.
    #[serde(default)]
    path: Option<String>,
    /// List what is below the folders in it too. Default false.
    #[serde(default)]
    recursive: Option<bool>,
    /// Only files whose name this glob matches, such as `*.rs`.
    #[serde(default)]
    include: Option<String>,
}

pub(super) struct ListFiles;

#[async_trait]
impl Tool for ListFiles {
    fn name(&self) -> &'static str {
        "list_files"
    }
    fn description(&self) -> String {
        String::from(
            "Lists a folder, sorted, 500 entries at most; a folder in it ends with `/`. Hidden and generated ones are passed over.",
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
        let Input {
            path,
            recursive,
            include,
        } = parse(self.name(), &input)?;
        let path = path
            .filter(|p| !p.is_empty())
            .unwrap_or_else(|| String::from("."));
        let tree = Arc::clone(&cx.tree);
        let list = tokio::task::spawn_blocking(move || {
            tree.entries(
                &path,
                recursive.unwrap_or(false),
                include.as_deref(),
                MAX_ENTRIES,
            )
        });
        let found = list
            .await
            .map_err(|e| format!("The folder could not be listed: {e}"))??;
        if found.paths.is_empty() {
            return Ok(String::from("No files found."));
        }
        let mut output = found.paths.join("\n");
        if found.total > found.paths.len() || found.partial {
            let more = if found.partial { "more than " } else { "" };
            output.push_str(&format!(
                "\n(only {} of {more}{} entries are shown: name a folder in it)",
                found.paths.len(),
                found.total
            ));
        }
        Ok(output)
    }
}
