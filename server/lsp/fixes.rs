//! Quick fixes of what postil itself points at: markers that are almost some, and settings. Where the client asks
//! for the edit only when a fix is taken (`codeAction/resolve`), it is made then, for the text of then.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::{CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams};

use super::{Params, Server, diagnostics, invalid, to_proto};
use crate::present;
use crate::session::{Session, View};
use crate::text::{Document, Edit};

/// LSP 3.17 §ErrorCodes: what was asked about has changed.
const CONTENT_MODIFIED: i64 = -32801;

/// `text` belongs in place of `range`.
struct Fix {
    /// Of the diagnostic that it answers.
    code: &'static str,
    edit: Edit,
    /// What stands there.
    was: String,
}

impl Fix {
    fn is_like(&self, other: &Fix) -> bool {
        self.code == other.code && self.was == other.was && self.edit.text == other.edit.text
    }

    fn title(&self) -> String {
        let text = present::short(&self.edit.text, 80);
        match self.code {
            "near-miss" => format!("Write `{text}`"),
            _ => format!("Change to `{text}`"),
        }
    }
}

fn all(server: &Server, session: &Session, view: &View) -> Vec<Fix> {
    let misses = view.near_misses();
    let was = |range: &Range<usize>| {
        let text = view.text.get(range.clone());
        text.unwrap_or_default().to_owned()
    };
    let misses = misses
        .into_iter()
        .filter(|miss| !miss.replacement.is_empty());
    let misses = misses.map(|miss| Fix {
        code: "near-miss",
        was: was(&miss.range),
        edit: Edit {
            range: miss.range,
            text: miss.replacement,
        },
    });
    let problems = diagnostics::problems(server, session, view);
    let problems = problems.into_iter().filter_map(|problem| {
        Some(Fix {
            code: "setting",
            was: was(&problem.range),
            edit: Edit {
                text: problem.fix?,
                range: problem.range,
            },
        })
    });
    misses.chain(problems).collect()
}

fn text_edit(server: &Server, document: &Document, edit: &Edit) -> Value {
    let range = document.range(&edit.range, server.capabilities().encoding);
    json!({"range": to_proto::range(range), "newText": edit.text})
}

fn workspace_edit(
    server: &Server,
    uri: &str,
    view: &View,
    document: &Document,
    edit: &Edit,
) -> Value {
    let buffer = view.buffer.as_ref();
    let version = buffer.map(|buffer| buffer.document.version());
    // The version is that of the name that is served.
    let uri = buffer.map_or(uri, |buffer| &buffer.uri);
    to_proto::workspace_edit(server, uri, version, &[text_edit(server, document, edit)])
}

/// The fixes on some lines. They are edits, so a client that knows commands alone gets none.
pub(super) fn offered(
    server: &Server,
    session: &Session,
    view: &View,
    params: &CodeActionParams,
    lines: &RangeInclusive<usize>,
) -> Vec<CodeActionOrCommand> {
    let client = server.capabilities();
    if !client.code_action_literals {
        return Vec::new();
    }
    let document = to_proto::document(view);
    let uri = params.text_document.uri.as_str();
    let mut actions = Vec::new();
    let fixes = all(server, session, view);
    for (number, fix) in fixes.iter().enumerate() {
        let range = document.range(&fix.edit.range, client.encoding);
        if !lines.contains(&(range.start.line as usize)) {
            continue;
        }
        let typed = to_proto::typed_range(range);
        let about: Vec<_> = params
            .context
            .diagnostics
            .iter()
            .filter(|diagnostic| {
                diagnostic.source.as_deref() == Some("postil") && diagnostic.range == typed
            })
            .cloned()
            .collect();
        let mut action = CodeAction {
            title: client.title(&fix.title()),
            kind: Some(CodeActionKind::QUICKFIX),
            is_preferred: Some(true),
            diagnostics: (!about.is_empty()).then_some(about),
            ..CodeAction::default()
        };
        if client.resolves_edits {
            let like = |other: &&Fix| fix.is_like(other);
            let before = fixes.iter().take(number).filter(like).count();
            let of = fixes.iter().filter(like).count();
            action.data = Some(
                json!({"uri": uri, "line": range.start.line, "code": fix.code, "was": fix.was, "text": fix.edit.text, "nth": before, "of": of}),
            );
        } else {
            let edit = workspace_edit(server, uri, view, &document, &fix.edit);
            action.edit = serde_json::from_value(edit).ok();
        }
        actions.push(CodeActionOrCommand::CodeAction(action));
    }
    actions
}

/// `codeAction/resolve`: the edit, for the text as it is now.
pub(super) async fn resolve(server: Arc<Server>, params: Params) -> Result<Value> {
    let Some(Value::Object(mut action)) = params else {
        return Err(invalid("a code action is to be an object"));
    };
    let Some(data) = action.get("data").cloned() else {
        // Of an action that was whole.
        return Ok(Value::Object(action));
    };
    let made = tokio::task::spawn_blocking(move || edit_of(&server, &data));
    let edit = made.await.map_err(|_| Error::internal_error())??;
    action.insert(String::from("edit"), edit);
    Ok(Value::Object(action))
}

fn edit_of(server: &Server, data: &Value) -> Result<Value> {
    let field = |name: &str| {
        data.get(name).ok_or_else(|| {
            invalid(format!(
                "`data.{name}` is missing: it is to come back as it was given"
            ))
        })
    };
    let uri = field("uri")?;
    let (code, was, text) = (field("code")?, field("was")?, field("text")?);
    let number = |name: &str| field(name).map(|value| value.as_u64().unwrap_or(0));
    let (line, nth, of) = (number("line")?, number("nth")?, number("of")?);
    let uri = uri.as_str().unwrap_or_default();
    let session = server.session()?;
    let path = server.fit(uri);
    let view = path
        .and_then(|path| session.view(&path).ok())
        .ok_or_else(changed)?;
    let document = to_proto::document(&view);
    let encoding = server.capabilities().encoding;
    let at = |fix: &Fix| u64::from(document.position(fix.edit.range.start, encoding).line);
    let mut like = all(server, session, &view);
    like.retain(|fix| *code == fix.code && *was == fix.was && *text == fix.edit.text);
    // Lines may have come or gone above it, and others like it.
    let nth = usize::try_from(nth).unwrap_or(usize::MAX);
    let fix = if like.len() as u64 == of && nth < like.len() {
        like.get(nth)
    } else {
        like.iter().min_by_key(|fix| at(fix).abs_diff(line))
    };
    let fix = fix.ok_or_else(changed)?;
    Ok(workspace_edit(server, uri, &view, &document, &fix.edit))
}

fn changed() -> Error {
    Error {
        code: ErrorCode::ServerError(CONTENT_MODIFIED),
        message: "the text changed: there is nothing to put right any more".into(),
        data: Some(Value::Object(Map::new())),
    }
}
