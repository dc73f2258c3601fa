//! `grep`: lines that a regular expression matches, by ripgrep's libraries.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, MAX_OUTPUT, NOTES, Output, Tool, head, parse, schema};
use crate::config::{Action, Settings};
use crate::files::{Hides, Query};
use crate::trust::{self, Risk};

const MAX_MATCHES: usize = 200;
const MAX_SIZE: u64 = 1 << 20;
/// A search of a million files takes less; what takes longer is the pattern.
const LONGEST: Duration = Duration::from_secs(30);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// A regular expression (Rust's syntax), matched line by line; `(?i)` at its start ignores case.
    pattern: String,
    /// A file or folder, relative to the workspace root. Default: the whole workspace.
    #[serde(default)]
    path: Option<String>,
    /// Only files whose name this glob matches, such as `*.rs` or `src/**/*.{ts,tsx}`.
    #[serde(default)]
    include: Option<String>,
    /// Lines to show around each match, 10 at most. Default 0.
    #[serde(default)]
    #[schemars(range(max = 10))]
    context_lines: Option<u64>,
}

pub(super) struct Grep {
    settings: Arc<Settings>,
}

impl Grep {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        Self { settings }
    }
}

#[async_trait]
impl Tool for Grep {
    fn name(&self) -> &'static str {
        "grep"
    }
    fn description(&self) -> String {
        String::from(
            "Searches files for a regular expression and shows `file:line:content`, 200 matches at most. Hidden, ignored and binary files and files over 1 MB are passed over.",
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
            pattern,
            path,
            include,
            context_lines,
        } = parse(self.name(), &input)?;
        let path = path
            .filter(|p| !p.is_empty())
            .unwrap_or_else(|| String::from("."));
        let query = Query {
            pattern,
            include,
            context: usize::try_from(context_lines.unwrap_or(0)).unwrap_or(0),
            max_matches: MAX_MATCHES,
            max_size: MAX_SIZE,
            longest: LONGEST,
            hides: Some(denies(self.name(), &self.settings)),
        };
        let (tree, cancel) = (Arc::clone(&cx.tree), cx.cancel.clone());
        let search = tokio::task::spawn_blocking(move || {
            tree.grep(&path, &query, &|| cancel.is_cancelled())
        });
        let found = search
            .await
            .map_err(|e| format!("The search failed: {e}"))??;
        let shown = head(&found.text, MAX_OUTPUT - NOTES);
        let mut output = match found.matches {
            0 => String::from("No matches found.\n"),
            _ => shown.to_owned(),
        };
        if shown.len() < found.text.len() {
            output.push_str(&format!(
                "\n({} bytes were cut: search for less at once)\n",
                found.text.len() - shown.len()
            ));
        }
        if found.more {
            output.push_str(&format!(
                "(only the first {MAX_MATCHES} matches are shown: search for less at once)\n"
            ));
        }
        if found.late {
            output.push_str(&format!(
                "(ended after {} s, before every file was searched: give a simpler pattern or a `path`)\n",
                LONGEST.as_secs()
            ));
        }
        if found.passed_over > 0 {
            output.push_str(&format!(
                "(lines passed over, for they are too long for this pattern: {})\n",
                found.passed_over
            ));
        }
        if found.left_out > 0 {
            output.push_str(&left_out(found.left_out));
        }
        if found.matches == 0 {
            output.truncate(output.trim_end().len());
        }
        Ok(output)
    }
}

/// Whether a rule denies this tool a file, which a call about a folder or another file shows nothing of then.
pub(super) fn denies(tool: &'static str, settings: &Arc<Settings>) -> Hides {
    let settings = Arc::clone(settings);
    Box::new(move |file| trust::decide(&settings, tool, Risk::Read, file) == Action::Deny)
}

/// Said of such files.
pub(super) fn left_out(files: usize) -> String {
    format!("(files left out by the author's permissions: {files})\n")
}
