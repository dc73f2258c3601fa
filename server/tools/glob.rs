//! `glob`: files by name, newest first.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, Output, Tool, parse, schema};
use crate::trust::Risk;

const MAX_RESULTS: usize = 500;
const MAX_FILES: usize = 50_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// A glob for paths below `path`: `*` within a name, `**` over folders, such as `**/*.rs`.
    pattern: String,
    /// The folder to look in, relative to the workspace root. Default: the root.
    #[serde(default)]
    path: Option<String>,
}

pub(super) struct Glob;

#[async_trait]
impl Tool for Glob {
    fn name(&self) -> &'static str {
        "glob"
    }
    fn description(&self) -> String {
        String::from(
            "Finds files by name, newest first, 500 at most. Hidden, generated and ignored files are passed over.",
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
        let Input { pattern, path } = parse(self.name(), &input)?;
        let path = path
            .filter(|p| !p.is_empty())
            .unwrap_or_else(|| String::from("."));
        let tree = Arc::clone(&cx.tree);
        let asked = pattern.clone();
        let search =
            tokio::task::spawn_blocking(move || tree.glob(&asked, &path, MAX_RESULTS, MAX_FILES));
        let found = search
            .await
            .map_err(|e| format!("The search failed: {e}"))??;
        let mut output = found.paths.join("\n");
        if found.paths.is_empty() {
            output.push_str("No files found.");
            if !pattern.contains("**") {
                output.push_str(&format!(" `**/{pattern}` looks in every folder below."));
            }
        }
        if found.total > found.paths.len() {
            output.push_str(&format!(
                "\n(only {} of {} files are shown)",
                found.paths.len(),
                found.total
            ));
        }
        if found.partial {
            output.push_str(&format!(
                "\n(only {MAX_FILES} files were looked at: name a folder in `path`)"
            ));
        }
        Ok(output)
    }
}
