//! Between the protocol's types and ours.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    ContentBlock, EmbeddedResourceResource, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus,
    ToolKind,
};
use serde_json::Value;

use crate::children::uri;

/// A prompt as it is asked.
#[derive(Default)]
pub(super) struct Asked {
    /// All of it: what was typed, with the names of what is mentioned, and below what was embedded.
    pub(super) text: String,
    /// What the author typed of it.
    pub(super) typed: String,
    /// Files that it names.
    pub(super) files: Vec<PathBuf>,
}

/// A prompt's blocks as one text. `place` tells how a file is called in the prompt, and whether it is read as the
/// client has it, so that a copy of all of it is needless.
pub(super) fn asked(blocks: Vec<ContentBlock>, place: impl Fn(&Path) -> (String, bool)) -> Asked {
    let mut asked = Asked::default();
    let mut embedded = String::new();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => {
                add(&mut asked.text, &text.text);
                add(&mut asked.typed, &text.text);
            }
            ContentBlock::ResourceLink(link) => {
                asked.mention(&link.uri, &place);
            }
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(contents) => {
                    let (name, is_read) = asked.mention(&contents.uri, &place);
                    if !is_read {
                        let fence = fence(&contents.text);
                        let text = contents.text.trim_end_matches('\n');
                        embedded.push_str(&format!("\n\n{name}:\n{fence}\n{text}\n{fence}"));
                    }
                }
                EmbeddedResourceResource::BlobResourceContents(contents) => {
                    asked.mention(&contents.uri, &place);
                }
                _ => {}
            },
            _ => {}
        }
    }
    asked.text.push_str(&embedded);
    asked
}

impl Asked {
    /// What a URI names, where it is mentioned; its name, and whether all of it is read as the client has it.
    fn mention(&mut self, uri: &str, place: &impl Fn(&Path) -> (String, bool)) -> (String, bool) {
        let Some(path) = uri::to_path(uri) else {
            add(&mut self.text, uri);
            return (uri.to_owned(), false);
        };
        let (shown, is_read) = place(&path);
        let lines = lines(uri);
        let name = match lines {
            Some((first, last)) if first == last => format!("`{shown}` (line {first})"),
            Some((first, last)) => format!("`{shown}` (lines {first} to {last})"),
            None => format!("`{shown}`"),
        };
        add(&mut self.text, &name);
        self.files.push(path);
        (name, is_read && lines.is_none())
    }
}

/// Adds a block to those before it: a word and the next stay two.
fn add(text: &mut String, block: &str) {
    let opens = |c: char| c.is_whitespace() || "([{\"'".contains(c);
    let is_word = |c: char| c.is_alphanumeric() || c == '`';
    if text.chars().next_back().is_some_and(|c| !opens(c)) && block.starts_with(is_word) {
        text.push(' ');
    }
    text.push_str(block);
}

/// The lines that a URI selects, from 1: `#L4`, `#L4:9` (Zed), `#L4-9`, `#L4-L9`.
fn lines(uri: &str) -> Option<(u32, u32)> {
    let (_, range) = uri.split_once('#')?;
    let range = range.strip_prefix('L')?;
    let (first, last) = range.split_once([':', '-']).unwrap_or((range, range));
    let last = last.strip_prefix('L').unwrap_or(last);
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// What can stand around a text: a longer row of backticks than any in it.
fn fence(text: &str) -> String {
    let rows = text.split(|c| c != '`').map(str::len);
    "`".repeat(rows.max().map_or(3, |longest| 3.max(longest + 1)))
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
        "web_fetch" | "http_request" => ToolKind::Fetch,
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
    fn a_prompt_keeps_what_was_typed_mentioned_and_embedded() {
        let blocks = serde_json::json!([
            {"type": "text", "text": "explain"},
            {"type": "resource", "resource": {"uri": "file:///w/a.rs?symbol=main#L4:6", "text": "fn main() {\n}\n"}},
            {"type": "text", "text": "as in "},
            {"type": "resource", "resource": {"uri": "file:///w/b.rs", "text": "whole"}},
            {"type": "text", "text": ", and"},
            {"type": "resource", "resource": {"uri": "file:///etc/hosts", "text": "```"}},
            {"type": "resource_link", "uri": "file:///w/my%20c.rs#L7", "name": "c"},
            {"type": "resource", "resource": {"uri": "zed:///agent/untitled-buffer#L1:1", "text": "x"}},
        ]);
        let blocks = serde_json::from_value(blocks).expect("blocks");
        let asked = asked(blocks, |path| match path.strip_prefix("/w") {
            Ok(below) => (below.display().to_string(), true),
            Err(_) => (path.display().to_string(), false),
        });
        assert_eq!(
            asked.text,
            "explain `a.rs` (lines 4 to 6) as in `b.rs`, and `/etc/hosts` `my c.rs` (line 7) zed:///agent/untitled-buffer#L1:1\n\n\
`a.rs` (lines 4 to 6):\n```\nfn main() {\n}\n```\n\n\
`/etc/hosts`:\n````\n```\n````\n\n\
zed:///agent/untitled-buffer#L1:1:\n```\nx\n```"
        );
        assert_eq!(asked.typed, "explain as in , and");
        let files = ["/w/a.rs", "/w/b.rs", "/etc/hosts", "/w/my c.rs"];
        assert_eq!(asked.files, files.map(PathBuf::from));
    }

    #[test]
    fn what_asks_on_the_web_is_shown_as_that() {
        for tool in ["web_fetch", "http_request"] {
            assert_eq!(kind(tool), ToolKind::Fetch, "{tool}");
        }
    }

    #[test]
    fn lines_are_read_as_editors_write_them() {
        for (uri, read) in [
            ("file:///a#L4", Some((4, 4))),
            ("file:///a#L4:9", Some((4, 9))),
            ("file:///a#L4-L9", Some((4, 9))),
            ("file:///a#L4-9", Some((4, 9))),
            ("file:///a#top", None),
            ("file:///a#L", None),
            ("file:///a", None),
        ] {
            assert_eq!(lines(uri), read, "{uri}");
        }
    }

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
