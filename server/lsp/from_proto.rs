//! From the protocol's names to ours: URIs, positions, changes.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tower_lsp::lsp_types::Url;

pub(super) use crate::children::positions::position;
use crate::os;
use crate::text::{Change, Range};

/// The path of a `file:` URI, links resolved as far as it exists; `None` for other schemes.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    Some(os::resolved(&named(uri)?))
}

/// The path as the client names it.
pub(super) fn named(uri: &str) -> Option<PathBuf> {
    if let Some(path) = plain(uri) {
        return Some(path.into());
    }
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file")?;
    let path = url.to_file_path().ok();
    // Some clients do not encode these, and there they end no path.
    let is_cut = url.fragment().is_some() || url.query().is_some();
    if is_cut && !path.as_ref().is_some_and(|path| path.exists()) {
        let whole = named(&uri.replace('#', "%23").replace('?', "%3F"));
        return whole.filter(|whole| whole.exists()).or(path);
    }
    path
}

/// Whether it names what an editor keeps on no disk, and knows to be so.
pub(super) fn is_elsewhere(uri: &str) -> bool {
    Url::parse(uri).is_ok_and(|url| url.scheme() != "file")
}

/// The path of most URIs, which is the text behind `file://`: nothing in it is encoded, no name is empty, `.` or `..`.
fn plain(uri: &str) -> Option<&str> {
    let path = uri.strip_prefix("file://").filter(|_| cfg!(unix))?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let is_other = |name: &str| matches!(name, "" | "." | "..");
    let names = path.strip_prefix('/')?;
    (path.bytes().all(is_plain) && !names.split('/').any(is_other)).then_some(path)
}

/// The files of `workspace/didChangeWatchedFiles`, as the client names them.
pub(super) fn files(params: &Value) -> Vec<PathBuf> {
    let changes = params.get("changes").and_then(Value::as_array);
    let uris = changes.into_iter().flatten();
    uris.filter_map(|change| named(change.get("uri")?.as_str()?))
        .collect()
}

/// Those of them that were made (LSP 3.17 §FileChangeType).
pub(super) fn made(params: &Value) -> Vec<PathBuf> {
    const CREATED: u64 = 1;
    let changes = params.get("changes").and_then(Value::as_array);
    let is_made = |change: &&Value| change.get("type").and_then(Value::as_u64) == Some(CREATED);
    let made = changes.into_iter().flatten().filter(is_made);
    made.filter_map(|change| named(change.get("uri")?.as_str()?))
        .collect()
}

/// The same from the text of a message that tells of thousands: to make a value of each takes several times as long.
/// `None`: another message, or one that is not as the protocol has it.
pub(super) fn many_files(message: &[u8]) -> Option<Vec<PathBuf>> {
    const MANY: usize = 64 << 10;
    const METHOD: &str = "workspace/didChangeWatchedFiles";
    #[derive(Deserialize)]
    struct Message<'a> {
        jsonrpc: &'a str,
        method: &'a str,
        #[serde(borrow)]
        params: Params<'a>,
        id: Option<IgnoredAny>,
    }
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        changes: Vec<Change<'a>>,
    }
    #[derive(Deserialize)]
    struct Change<'a> {
        #[serde(borrow)]
        uri: Cow<'a, str>,
    }
    if message.len() < MANY {
        return None;
    }
    // The names of other large messages are not read twice.
    memchr::memmem::find(message.get(..METHOD.len() * 4)?, METHOD.as_bytes())?;
    let message: Message = serde_json::from_slice(message).ok()?;
    (message.jsonrpc == "2.0" && message.method == METHOD && message.id.is_none()).then_some(())?;
    let changes = message.params.changes.iter();
    Some(changes.filter_map(|change| named(&change.uri)).collect())
}

pub(super) fn range(value: &Value) -> Option<Range> {
    Some(Range {
        start: position(value.get("start")?)?,
        end: position(value.get("end")?)?,
    })
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
    use proptest::prelude::*;
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
        // Which is `/` to others.
        assert_eq!(plain("file:////"), None);
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

    #[test]
    fn thousands_of_files_are_those_of_the_protocol() {
        let change =
            |n: usize| json!({"uri": format!("file:///w/d{n}/%C3%A9 \"{n}.rs"), "type": 2});
        let params = json!({"changes": (0..2000).map(change).collect::<Vec<_>>()});
        let message = json!({"jsonrpc": "2.0", "method": "workspace/didChangeWatchedFiles", "params": params});
        let told = many_files(message.to_string().as_bytes());
        assert_eq!(told, Some(files(&params)));
        assert_eq!(told.map(|files| files.len()), Some(2000));
        for (name, other) in [
            ("method", json!("textDocument/didOpen")),
            ("jsonrpc", json!("1.0")),
            ("id", json!(1)),
            (
                "params",
                json!({"changes": [{"uri": "a".repeat(1 << 17)}, {}]}),
            ),
        ] {
            let mut message = message.clone();
            message[name] = other;
            assert_eq!(many_files(message.to_string().as_bytes()), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_plain_uri_means_the_same_to_all(path in "/{0,2}([a-c._%#? 2F~é-]{0,3}/){0,3}[a-c.]{0,3}") {
            let uri = format!("file://{path}");
            let url = Url::parse(&uri).ok().and_then(|url| url.to_file_path().ok());
            if let Some(plain) = plain(&uri) {
                prop_assert_eq!(Some(PathBuf::from(plain).into_os_string()), url.map(PathBuf::into_os_string));
            }
        }
    }
}
