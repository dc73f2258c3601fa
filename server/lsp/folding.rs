//! Folding: each thread, and each long message of a thread with several.

use std::ops::Range;

use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{FoldingRange, FoldingRangeKind, FoldingRangeParams};

use super::{Server, to_proto};
use crate::present;
use crate::text::Document;

/// Where the client names no limit.
const MOST: usize = 5_000;
/// Lines of a message that folds by itself.
const LONG: usize = 3;

pub(super) fn folds(server: &Server, params: &FoldingRangeParams) -> Result<Vec<FoldingRange>> {
    let session = server.session()?;
    let uri = params.text_document.uri.as_str();
    let Some(path) = server.fit(uri) else {
        return Ok(Vec::new());
    };
    let Ok(view) = session.view(&path) else {
        return Ok(Vec::new());
    };
    let document = to_proto::document(&view);
    let most = server.capabilities().fold_limit.unwrap_or(MOST);
    let fold =
        |lines: Range<usize>, text: &dyn Fn() -> String| fold(server, &document, lines, text);
    let threads = view
        .threads
        .iter()
        .filter(|thread| thread.last_line() > thread.first_line())
        .take(most);
    let mut all: Vec<FoldingRange> = threads
        .map(|thread| {
            fold(thread.first_line()..thread.last_line(), &|| {
                format!("{}: {}", present::state(thread), present::title(thread))
            })
        })
        .collect();
    let long = view
        .threads
        .iter()
        .filter(|thread| thread.messages.len() > 1)
        .flat_map(|thread| &thread.messages)
        .filter(|message| message.last_line + 1 >= message.line + LONG)
        .take(most - all.len().min(most));
    all.extend(long.map(|message| {
        fold(message.line..message.last_line, &|| {
            format!(
                "{}: {}",
                present::marker(message),
                present::short(&message.text, 60)
            )
        })
    }));
    all.sort_by_key(|fold| (fold.start_line, std::cmp::Reverse(fold.end_line)));
    Ok(all)
}

/// `lines`: the first and the last of them, 0-based.
fn fold(
    server: &Server,
    document: &Document,
    lines: Range<usize>,
    text: &dyn Fn() -> String,
) -> FoldingRange {
    let client = server.capabilities();
    let line = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    let end = |line: usize| {
        let end = document.line(line).end;
        (!client.fold_lines).then(|| document.position(end, client.encoding).character)
    };
    FoldingRange {
        start_line: line(lines.start),
        start_character: end(lines.start),
        end_line: line(lines.end),
        end_character: end(lines.end),
        kind: Some(FoldingRangeKind::Comment),
        collapsed_text: client.fold_text.then(text),
    }
}
