//! What a child asks of its client, and what it wants said: each question is answered exactly once.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::connection::{Connection, locked};
use super::edits::{self, FileEdits};
use super::process::printable;
use super::uri;
use crate::files::{FileError, Tree};
use crate::host::{BufferEdit, Level, Question};
use crate::trust;

/// Messages of one run of a child that reach a person; the rest is logged.
const MAX_MESSAGES: usize = 5;

/// Answers to a question that are shown, and characters of one.
const MAX_ACTIONS: usize = 8;
const MAX_TITLE: usize = 60;

/// JSON-RPC's code for a method that is not known here.
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const REQUEST_FAILED: i64 = -32803;

pub fn answer(
    connection: &Arc<Connection>,
    method: &str,
    id: &RawValue,
    params: Option<&RawValue>,
) {
    let params: Value = params
        .and_then(|p| serde_json::from_str(p.get()).ok())
        .unwrap_or(Value::Null);
    let reply = match method {
        "workspace/configuration" => configuration(connection, &params),
        "workspace/workspaceFolders" => Ok(json!([folder(connection)])),
        "window/showDocument" => Ok(json!({"success": false})),
        "client/registerCapability"
        | "client/unregisterCapability"
        | "window/workDoneProgress/create"
        | "workspace/semanticTokens/refresh"
        | "workspace/codeLens/refresh"
        | "workspace/inlayHint/refresh"
        | "workspace/inlineValue/refresh"
        | "workspace/foldingRange/refresh"
        | "workspace/diagnostic/refresh" => Ok(Value::Null),
        "window/showMessageRequest" | "workspace/applyEdit" => {
            // Somebody has to be asked, or files to be written: beside the reader. A child that asks
            // for more at once than anyone could answer is refused.
            let connection = Arc::clone(connection);
            let (id, edit) = (id.to_owned(), method == "workspace/applyEdit");
            tokio::spawn(async move {
                let Ok(_turn) = connection.questions.try_acquire() else {
                    connection.reply(
                        &id,
                        Err((REQUEST_FAILED, String::from("too many questions at once"))),
                    );
                    return;
                };
                let answer = if edit {
                    apply_edit(&connection, &params).await
                } else {
                    ask(&connection, &params).await
                };
                connection.reply(&id, answer);
            });
            return;
        }
        _ => Err((
            METHOD_NOT_FOUND,
            format!("{} is not known here", printable(method, 100)),
        )),
    };
    connection.reply(id, reply);
}

/// As in `WorkspaceFolder`.
pub fn folder(connection: &Connection) -> Value {
    let name = connection
        .root
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    json!({"uri": uri::from_path(&connection.root), "name": name})
}

fn configuration(connection: &Connection, params: &Value) -> Result<Value, (i64, String)> {
    let items = params
        .get("items")
        .and_then(Value::as_array)
        .ok_or((INVALID_PARAMS, String::from("`items` is missing")))?;
    let options = &connection.row.initialization_options;
    let of = |item: &Value| match item.get("section").and_then(Value::as_str) {
        None | Some("") => options.clone(),
        Some(section) => setting(options, section, &connection.row.command)
            .cloned()
            .unwrap_or(Value::Null),
    };
    Ok(items.iter().take(1000).map(of).collect())
}

/// A dotted section within the options; a first part that names the server itself may be left out there.
fn setting<'a>(options: &'a Value, section: &str, command: &str) -> Option<&'a Value> {
    let walk = |path: &str| {
        path.split('.')
            .try_fold(options, |value, key| value.get(key))
    };
    walk(section).or_else(|| {
        let (first, rest) = section
            .split_once('.')
            .map_or((section, None), |(f, r)| (f, Some(r)));
        let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
        if !options.is_object() || !name.starts_with(first) {
            return None;
        }
        rest.map_or(Some(options), walk)
    })
}

async fn ask(connection: &Connection, params: &Value) -> Result<Value, (i64, String)> {
    let text = params
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let text = format!("{}: {}", connection.row.command, printable(text, 500));
    let actions = params.get("actions").and_then(Value::as_array);
    let actions = actions.map(Vec::as_slice).unwrap_or_default();
    if actions.is_empty() {
        message(connection, params, true);
        return Ok(Value::Null);
    }
    let text = match actions.len().checked_sub(MAX_ACTIONS) {
        Some(more @ 1..) => {
            let all = actions.len();
            format!(
                "{text} (Of its {all} answers the first {MAX_ACTIONS} are here; {more} cannot be chosen.)"
            )
        }
        _ => text,
    };
    let choices = titles(actions.get(..MAX_ACTIONS).unwrap_or(actions));
    let Some(host) = connection.shared.host() else {
        return Ok(Value::Null);
    };
    let question = Question {
        text,
        choices,
        last_is_no: false,
    };
    tokio::select! {
        choice = host.ask(question) => Ok(choice.and_then(|c| actions.get(c)).cloned().unwrap_or(Value::Null)),
        () = connection.ended() => Ok(Value::Null),
    }
}

/// What a person chooses from: short, and no two alike, for an editor tells the one that was chosen by its title.
fn titles(actions: &[Value]) -> Vec<String> {
    let mut titles: Vec<String> = Vec::new();
    for action in actions {
        let title = action.get("title").and_then(Value::as_str).unwrap_or("?");
        let count = title.chars().count();
        // Long ones differ at their ends as often as at their beginnings.
        let title = match count.checked_sub(MAX_TITLE) {
            Some(1..) => {
                let end: String = title.chars().skip(count - MAX_TITLE / 2).collect();
                let begin = printable(title, MAX_TITLE / 2 - 1);
                format!("{begin}{}", printable(&end, MAX_TITLE))
            }
            _ => printable(title, MAX_TITLE),
        };
        let numbered = (2..).map(|n| format!("{title} ({n})"));
        let mut names = std::iter::once(title.clone()).chain(numbered);
        titles.extend(names.find(|name| !titles.contains(name)));
    }
    titles
}

/// `window/showMessage`, `window/logMessage`
pub fn message(connection: &Connection, params: &Value, show: bool) {
    let text = params
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let level = params.get("type").and_then(Value::as_u64).unwrap_or(4);
    let text = format!("{}: {}", connection.row.command, printable(text, 500));
    tracing::debug!("{text}");
    if !show || level > 2 {
        return;
    }
    if !connection.shared.first_time(
        &text,
        &format!("{} message", connection.row.command),
        MAX_MESSAGES,
    ) {
        return;
    }
    if let Some(host) = connection.shared.host() {
        host.message(
            if level == 1 {
                Level::Error
            } else {
                Level::Warning
            },
            &text,
        );
    }
}

/// Open buffers are changed through the editor, other files on disk; everything is checked before
/// anything is changed, and nothing outside the child's workspace folder is.
async fn apply_edit(connection: &Arc<Connection>, params: &Value) -> Result<Value, (i64, String)> {
    let label = params
        .get("label")
        .and_then(Value::as_str)
        .unwrap_or("Edit by a language server");
    let applied = match params.get("edit") {
        Some(edit) => apply(connection, label, edit).await,
        None => Err(String::from("`edit` is missing")),
    };
    Ok(match applied {
        Ok(()) => json!({"applied": true}),
        Err(reason) => json!({"applied": false, "failureReason": reason}),
    })
}

async fn apply(connection: &Arc<Connection>, label: &str, edit: &Value) -> Result<(), String> {
    let shared = &connection.shared;
    let told = locked(&connection.documents).snapshot();
    let files =
        edits::from_workspace_edit(edit, connection.manner().encoding, told, &shared.buffers)
            .map_err(|e| e.to_string())?;
    let workspace = shared
        .workspace_of(&connection.root)
        .ok_or("the workspace is not trusted")?;
    let label = format!("{}: {}", connection.row.command, printable(label, 100));
    let (open, closed): (Vec<FileEdits>, Vec<FileEdits>) =
        files.into_iter().partition(|f| f.generation.is_some());
    let mut writes = Vec::new();
    {
        let tree = Tree::new(&workspace, Arc::clone(&shared.buffers)).map_err(|e| e.to_string())?;
        for file in open.iter().chain(&closed) {
            let resolved = tree.resolve(&file.path).map_err(|e| e.to_string())?;
            let guarded = tree
                .relative(&resolved)
                .and_then(|name| trust::guarded_as(tree.root(), &file.path, &name));
            if let Some(reason) = guarded {
                return Err(format!("{} is protected: {reason}", file.path.display()));
            }
        }
        for file in closed {
            let text = tree.read(&file.path).map_err(|e| e.to_string())?;
            if text.lossy {
                let shown = file.path.display().to_string();
                return Err(FileError::NotUtf8(shown).to_string());
            }
            if text.buffer.is_some() || *text.text != *file.text {
                return Err(format!("{} changed meanwhile", file.path.display()));
            }
            writes.push((
                file.path,
                crate::text::apply_edits(&file.text, &file.edits),
                text.seen,
            ));
        }
    }
    if !open.is_empty() {
        let host = shared.host().ok_or("no editor is connected")?;
        let edits = open
            .into_iter()
            .map(|f| BufferEdit {
                path: f.path,
                generation: f.generation.unwrap_or_default(),
                edits: f.edits,
            })
            .collect();
        host.apply(&label, edits).await.map_err(|e| e.to_string())?;
    }
    let buffers = Arc::clone(&shared.buffers);
    let written: Vec<PathBuf> = writes.iter().map(|(path, ..)| path.clone()).collect();
    let write = move || {
        let tree = Tree::new(&workspace, buffers).map_err(|e| e.to_string())?;
        writes.iter().try_for_each(|(path, text, seen)| {
            tree.write(path, text.as_bytes(), Some(seen))
                .map_err(|e| e.to_string())
        })
    };
    let result = tokio::task::spawn_blocking(write)
        .await
        .unwrap_or_else(|e| Err(e.to_string()));
    for path in &written {
        connection.touch(path);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_answers_look_alike() {
        let of = |all: &[&str]| {
            let actions: Vec<Value> = all.iter().map(|title| json!({"title": title})).collect();
            titles(&actions)
        };
        let long = "x".repeat(70);
        let [a, b] = ["a", "b"].map(|end| format!("{long}{end}"));
        let middle = format!("{}y{}", &long[..35], &long[..35]);
        let all = of(&[&a[..], &b, &long, &middle, "Yes", "Yes", "Yes (2)", "no\n"]);
        let x = |n: usize| "x".repeat(n);
        assert_eq!(
            all,
            [
                format!("{}…{}a", x(29), x(29)),
                format!("{}…{}b", x(29), x(29)),
                format!("{}…{}", x(29), x(30)),
                format!("{}…{} (2)", x(29), x(30)),
                String::from("Yes"),
                String::from("Yes (2)"),
                String::from("Yes (2) (2)"),
                String::from("no "),
            ]
        );
        assert!(
            all.iter()
                .all(|title| title.chars().count() <= MAX_TITLE + 4)
        );
    }

    #[test]
    fn a_section_is_found_with_and_without_the_servers_name() {
        let options = json!({"cargo": {"features": "all"}, "python": {"analysis": {"x": 1}}});
        assert_eq!(
            setting(&options, "rust-analyzer.cargo.features", "rust-analyzer"),
            Some(&json!("all"))
        );
        assert_eq!(
            setting(&options, "rust-analyzer", "rust-analyzer"),
            Some(&options)
        );
        assert_eq!(
            setting(&options, "python.analysis.x", "pyright-langserver"),
            Some(&json!(1))
        );
        assert_eq!(setting(&options, "http", "pyright-langserver"), None);
        assert_eq!(
            setting(&Value::Null, "rust-analyzer", "rust-analyzer"),
            None
        );
    }
}
