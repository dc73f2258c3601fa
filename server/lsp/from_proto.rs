//! From the protocol's names to ours: URIs, positions, changes.

use std::path::PathBuf;

use serde_json::Value;
use tower_lsp::lsp_types::Url;

use crate::os;
use crate::text::{Change, Position, Range};

/// The path of a `file:` URI, links resolved as far as it exists; `None` for other schemes.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    Some(os::resolved(&named(uri)?))
}

/// The path as the client names it.
pub(super) fn named(uri: &str) -> Option<PathBuf> {
    Url::parse(uri)
        .ok()
        .filter(|url| url.scheme() == "file")?
        .to_file_path()
        .ok()
}

pub(super) fn position(value: &Value) -> Option<Position> {
    Some(Position {
        line: number(value.get("line")?)?,
        character: number(value.get("character")?)?,
    })
}

pub(super) fn range(value: &Value) -> Option<Range> {
    Some(Range {
        start: position(value.get("start")?)?,
        end: position(value.get("end")?)?,
    })
}

/// Clients send great numbers for "the end of the line".
fn number(value: &Value) -> Option<u32> {
    value
        .as_u64()
        .map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// `contentChanges` of `didChange`; `None`: not as LSP 3.17 §TextDocumentContentChangeEvent has it.
pub(super) fn changes(value: &Value) -> Option<Vec<Change>> {
    value
        .as_array()?
        .iter()
        .map(|change| {
            let text = change.get("text")?.as_str()?.to_owned();
            match change.get("range").filter(|range| !range.is_null()) {
                None => Some(Change::Full(text)),
                Some(value) => Some(Change::Incremental {
                    range: range(value)?,
                    text,
                }),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_file_uris_have_a_path() {
        assert_eq!(
            path("file:///no/such%20folder/%C3%A9.rs"),
            Some(PathBuf::from("/no/such folder/é.rs"))
        );
        for other in ["untitled:Untitled-1", "git:/a/b.rs?ref", "not a uri", ""] {
            assert_eq!(path(other), None, "{other}");
        }
    }

    #[test]
    fn changes_that_are_none_are_refused() {
        let at = json!({"line": 0, "character": 4_294_967_296_u64});
        let good = json!([{"text": "x"}, {"range": {"start": at, "end": at}, "text": "", "rangeLength": 3}]);
        assert_eq!(changes(&good).map(|changes| changes.len()), Some(2));
        for bad in [
            json!({}),
            json!([{}]),
            json!([{"text": 1}]),
            json!([{"text": "", "range": {"start": {"line": -1, "character": 0}, "end": at}}]),
        ] {
            assert_eq!(changes(&bad), None, "{bad}");
        }
    }
}
