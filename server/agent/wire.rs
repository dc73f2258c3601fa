//! Between the protocol's types and ours.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    ContentBlock, EmbeddedResourceResource, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus,
    ToolKind,
};
use serde_json::Value;

use crate::children::uri;

/// A prompt as it is asked.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) text: String,
    /// Files that it names.
    pub(super) files: Vec<PathBuf>,
}

pub(super) fn asked(blocks: Vec<ContentBlock>) -> Asked {
    let mut asked = Asked::default();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => asked.text.push_str(&text.text),
            ContentBlock::ResourceLink(link) => match uri::to_path(&link.uri) {
                Some(path) => {
                    asked.text.push_str(&format!("`{}`", path.display()));
                    asked.files.push(path);
                }
                None => asked.text.push_str(&link.uri),
            },
            ContentBlock::Resource(resource) => {
                if let EmbeddedResourceResource::TextResourceContents(contents) = resource.resource
                {
                    match uri::to_path(&contents.uri) {
                        // Read again, so that it is as it stands now.
                        Some(path) => {
                            asked.text.push_str(&format!("`{}`", path.display()));
                            asked.files.push(path);
                        }
                        None => asked
                            .text
                            .push_str(&format!("\n\n{}:\n{}\n", contents.uri, contents.text)),
                    }
                }
            }
            _ => {}
        }
    }
    asked
}

/// What may be ids of threads: eight hexadecimal digits, with the number that tells namesakes apart.
pub(super) fn ids(text: &str) -> Vec<String> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut ids = Vec::new();
    for word in text.split(|c| !is_of_word(c)) {
        let mut parts = word.split('-').peekable();
        while let Some(part) = parts.next() {
            if part.len() != 8 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                continue;
            }
            let is_number =
                |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            ids.push(match parts.next_if(is_number) {
                Some(number) => format!("{part}-{number}"),
                None => part.to_owned(),
            });
        }
    }
    ids
}

pub(super) fn kind(tool: &str) -> ToolKind {
    match tool {
        "file_read" | "list_files" => ToolKind::Read,
        "grep" | "glob" | "lsp" => ToolKind::Search,
        "file_edit" | "file_write" | "patch_apply" => ToolKind::Edit,
        "think" => ToolKind::Think,
        "web_fetch" | "web_search" => ToolKind::Fetch,
        name if name.starts_with("bash") => ToolKind::Execute,
        _ => ToolKind::Other,
    }
}

/// The list of things to do, where a call writes it.
pub(super) fn plan(tool: &str, input: &Value) -> Option<Plan> {
    let todos = input.get("todos").filter(|_| tool == "todo_write")?;
    let entry = |todo: &Value| {
        let text = todo.get("title")?.as_str()?;
        let status = match todo.get("status").and_then(Value::as_str) {
            Some("in_progress") => PlanEntryStatus::InProgress,
            Some("completed" | "cancelled") => PlanEntryStatus::Completed,
            _ => PlanEntryStatus::Pending,
        };
        Some(PlanEntry::new(text, PlanEntryPriority::Medium, status))
    };
    Some(Plan::new(
        todos.as_array()?.iter().filter_map(entry).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_with_their_numbers() {
        let text =
            "Answer 3e0d03d3-2, (0badcafe) and 3e0d03d3-: not 3e0d03d31 or a-12, but see-3e0d03d3.";
        assert_eq!(
            ids(text),
            ["3e0d03d3-2", "0badcafe", "3e0d03d3", "3e0d03d3"]
        );
        assert_eq!(
            ids("deadbeef-or-not deadbeef-12"),
            ["deadbeef", "deadbeef-12"]
        );
    }
}
