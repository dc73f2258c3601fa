//! What the editor does with what the server sends: answers, edits, diagnostics; on the thread that reads.

use std::io::BufRead;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Shared, State};

/// What the editor does with `workspace/applyEdit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnApply {
    /// Applies it, if the versions fit.
    Apply,
    /// Answers `applied: false`.
    Refuse,
    /// Says that it applied the edit, and does not (as Neovim does with a newer buffer).
    Pretend,
    /// Makes the edits, and finds then that it cannot rename a file; it may write every line end as CR LF.
    FailToRename { crlf: bool },
    /// Makes the edit of the first of several files, and refuses the second: `typed`, because the author types there, once.
    ApplyFirst { typed: bool },
    /// Applies it and saves the files, and answers then: the author was quick.
    ApplyAndSave,
    /// Applies it, and says that it failed.
    ApplyAndFail,
    /// Says once that the author is at something else, and applies the next.
    BusyOnce,
    /// Says once that the buffer is read-only, and answers no second try.
    ReadOnly,
    /// Never answers.
    Ignore,
}

/// Among an editor's `choices`: this question and those after it are left open.
pub const NEVER: &str = "<never>";
/// Among them: from here on the editor says that it knows no such request, as Helix before 25.07 does.
pub const UNKNOWN: &str = "<unknown>";
/// Among them: this question fails, as in an Emacs whose minibuffer is taken.
pub const FAILS: &str = "<fails>";

pub(super) fn read(shared: &Shared, mut pipe: impl BufRead) {
    while let Some(message) = read_message(&mut pipe) {
        receive(shared, message);
        shared.news.notify_all();
    }
    shared.lock().closed = true;
    shared.news.notify_all();
}

/// Stricter than a server need be: what the server sends must be exactly right.
fn read_message(pipe: &mut impl BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        pipe.read_line(&mut line).ok()?;
        // It ended, or was killed in the middle.
        if !line.ends_with('\n') {
            return None;
        }
        let line = line
            .strip_suffix("\r\n")
            .expect("a header line of the server ends with CRLF");
        if line.is_empty() {
            break;
        }
        let value = line
            .strip_prefix("Content-Length: ")
            .unwrap_or_else(|| panic!("the server wrote {line:?}"));
        length = Some(value.parse::<usize>().expect("a length"));
    }
    let mut body = vec![0; length.expect("a Content-Length")];
    pipe.read_exact(&mut body).ok()?;
    let message: Value = serde_json::from_slice(&body).expect("the server writes JSON");
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    Some(message)
}

fn receive(shared: &Shared, message: Value) {
    let Some(method) = message["method"].as_str().map(str::to_owned) else {
        // An answer; without an id that is ours it is kept under -1, the answer to what could not be read.
        let id = message["id"].as_i64().unwrap_or(-1);
        shared.lock().answers.insert(id, message);
        return;
    };
    let params = message["params"].clone();
    let id = message.get("id").cloned();
    shared.lock().received.push(message);
    if let Some(id) = id {
        if let Some(result) = answer(shared, &method, &params) {
            shared.send(&match result {
                Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
            });
        }
    } else if method == "textDocument/publishDiagnostics" {
        let uri = params["uri"].as_str().expect("a URI").to_owned();
        let list = params["diagnostics"].as_array().expect("a list").clone();
        let mut state = shared.lock();
        let version = params["version"].as_i64();
        let present = state.buffers.get(&uri).map(|b| i64::from(b.version));
        let known = state.diagnostics.get(&uri).and_then(|(known, _)| *known);
        // The versions of a document that is opened again begin anew.
        let known = known.filter(|known| present.is_none_or(|present| *known <= present));
        assert!(
            known.zip(version).is_none_or(|(known, new)| known <= new),
            "diagnostics of an older version came after those of a newer one"
        );
        state.diagnostics.insert(uri, (version, list));
    }
}

/// What the editor says to a request of the server; `None`: nothing at all.
fn answer(shared: &Shared, method: &str, params: &Value) -> Option<Result<Value, Value>> {
    Some(Ok(match method {
        "workspace/applyEdit" => {
            let on_apply = shared.lock().on_apply;
            let edit = ticked(shared, &params["edit"]);
            match on_apply {
                OnApply::Apply | OnApply::FailToRename { .. } => match apply(shared, &edit) {
                    Ok(()) => json!({"applied": true}),
                    Err(reason) => json!({"applied": false, "failureReason": reason}),
                },
                OnApply::ApplyAndSave => {
                    let applied = apply(shared, &edit);
                    let buffers = shared.lock().buffers.clone();
                    for (uri, buffer) in buffers {
                        let path = uri.strip_prefix("file://").expect("a file's URI");
                        std::fs::write(path, buffer.text).expect("the file can be written");
                        shared.send(
                            &json!({"jsonrpc": "2.0", "method": "textDocument/didSave", "params": {
                            "textDocument": {"uri": uri}}}),
                        );
                    }
                    json!({"applied": applied.is_ok()})
                }
                OnApply::ApplyFirst { typed } => match apply_first(shared, edit, typed) {
                    Ok(()) => json!({"applied": true}),
                    Err(reason) => json!({"applied": false, "failureReason": reason}),
                },
                OnApply::ApplyAndFail => {
                    let _ = apply(shared, &edit);
                    json!({"applied": false, "failureReason": "Internal error"})
                }
                OnApply::Refuse => json!({"applied": false, "failureReason": "the test says no"}),
                OnApply::BusyOnce => {
                    shared.lock().on_apply = OnApply::Apply;
                    json!({"applied": false, "failureReason": "busy", "busy": true})
                }
                OnApply::ReadOnly => {
                    shared.lock().on_apply = OnApply::Ignore;
                    json!({"applied": false, "failureReason": "it is read-only here", "readOnly": true})
                }
                OnApply::Pretend => json!({"applied": true}),
                OnApply::Ignore => return None,
            }
        }
        "workspace/configuration" => {
            let settings = shared.lock().settings.clone();
            let items = params["items"].as_array().expect("a list");
            Value::Array(
                items
                    .iter()
                    .map(|item| {
                        if item["section"] == "postil" {
                            settings.clone()
                        } else {
                            Value::Null
                        }
                    })
                    .collect(),
            )
        }
        "client/registerCapability" => {
            let list = params["registrations"].as_array().expect("a list").clone();
            shared.lock().registrations.extend(list);
            Value::Null
        }
        "client/unregisterCapability" => Value::Null,
        "window/workDoneProgress/create" => Value::Null,
        "window/showDocument" => json!({"success": !shared.lock().shows_no_documents}),
        "window/showMessageRequest" => {
            let mut state = shared.lock();
            if state.choices.first().is_some_and(|c| c == NEVER) {
                return None;
            } else if state.choices.first().is_some_and(|c| c == UNKNOWN) {
                return Some(Err(json!({"code": -32601, "message": "no such request"})));
            } else if state.choices.first().is_some_and(|c| c == FAILS) {
                state.choices.remove(0);
                return Some(Err(json!({"code": -32603, "message": "Internal error"})));
            } else if state.choices.is_empty() {
                Value::Null
            } else {
                json!({"title": state.choices.remove(0)})
            }
        }
        "postil/write" => {
            let mut state = shared.lock();
            match state.written.is_empty() {
                true => json!({"written": false}),
                false => state.written.remove(0),
            }
        }
        // The test answers.
        "postil/review" => return None,
        "workspace/diagnostic/refresh"
        | "workspace/codeLens/refresh"
        | "workspace/inlayHint/refresh"
        | "workspace/textDocumentContent/refresh"
        | "workspace/semanticTokens/refresh" => Value::Null,
        "workspace/workspaceFolders" => Value::Null,
        other => {
            return Some(Err(
                json!({"code": -32601, "message": format!("this editor does not know {other}")}),
            ));
        }
    }))
}

/// What the user leaves of an edit that is to be confirmed.
fn ticked(shared: &Shared, edit: &Value) -> Value {
    let mut edit = edit.clone();
    let Some(ticked) = shared.lock().ticked.clone() else {
        return edit;
    };
    if edit["changeAnnotations"].is_object()
        && let Some(changes) = edit["documentChanges"].as_array_mut()
    {
        changes.retain(|change| {
            let uri = change["textDocument"]["uri"].as_str().unwrap_or_default();
            ticked.iter().any(|end| uri.ends_with(end))
        });
    }
    edit
}

/// What is behind the first file is not applied.
fn apply_first(shared: &Shared, mut edit: Value, typed: bool) -> Result<(), String> {
    let changes = edit["documentChanges"].as_array_mut().expect("changes");
    let rest = changes.split_off(1);
    apply(shared, &edit)?;
    let Some(second) = rest.first() else {
        return Ok(());
    };
    if typed {
        let mut state = shared.lock();
        state.on_apply = OnApply::Apply;
        let uri = second["textDocument"]["uri"].as_str().expect("a URI");
        let buffer = state.buffers.get_mut(uri).expect("an open document");
        let end = buffer.text.len();
        let change = buffer.splice(end..end, "// mine\n", "utf-16");
        let message = json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
            "textDocument": {"uri": uri, "version": buffer.version}, "contentChanges": [change]}});
        shared.send(&message);
    }
    Err(String::from("Internal error"))
}

/// Applies a workspace edit to the open buffers, all or nothing, and tells the server what changed.
pub(super) fn apply(shared: &Shared, edit: &Value) -> Result<(), String> {
    let mut state = shared.lock();
    let (encoding, counts) = (state.encoding.clone(), !state.tells_no_versions);
    let mut files: Vec<(String, Option<i64>, Vec<Value>)> = Vec::new();
    if let Some(changes) = edit["documentChanges"].as_array() {
        for change in changes {
            if change["kind"].is_string() {
                continue; // below, behind the texts
            }
            let uri = change["textDocument"]["uri"]
                .as_str()
                .ok_or("a text edit without a URI")?;
            files.push((
                uri.to_owned(),
                change["textDocument"]["version"].as_i64(),
                change["edits"].as_array().cloned().unwrap_or_default(),
            ));
        }
    } else if let Some(changes) = edit["changes"].as_object() {
        for (uri, edits) in changes {
            files.push((
                uri.clone(),
                None,
                edits.as_array().cloned().unwrap_or_default(),
            ));
        }
    }
    for (uri, version, _) in &files {
        let buffer = state
            .buffers
            .get(uri)
            .ok_or_else(|| format!("{uri} is not open"))?;
        if version.is_some_and(|version| version != i64::from(buffer.version)) {
            return Err(format!("{uri} is at version {}", buffer.version));
        }
    }
    for (uri, _, edits) in files {
        if let Some(buffer) = state.buffers.get_mut(&uri) {
            let changes = buffer.apply(&edits, &encoding);
            let message = json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
                "textDocument": {"uri": uri, "version": buffer.told(counts)}, "contentChanges": changes}});
            shared.send(&message);
        }
    }
    let made = files_changed(shared, &mut state, edit);
    drop(state);
    shared.news.notify_all();
    made
}

/// Writes every line end of what is open as CR LF.
fn all_in_crlf(shared: &Shared, state: &mut State) {
    for (uri, buffer) in &mut state.buffers {
        buffer.text = buffer.text.replace("\r\n", "\n").replace('\n', "\r\n");
        buffer.version += 1;
        shared.send(
            &json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
            "textDocument": {"uri": uri, "version": buffer.version},
            "contentChanges": [{"text": buffer.text}]}}),
        );
    }
}

/// Removes and renames files, those that are open too.
fn files_changed(shared: &Shared, state: &mut State, edit: &Value) -> Result<(), String> {
    let path = |uri: &Value| {
        let path = uri.as_str().and_then(|uri| uri.strip_prefix("file://"));
        PathBuf::from(path.expect("a file's URI"))
    };
    let tell = |method: &str, document: Value| {
        shared.send(
            &json!({"jsonrpc": "2.0", "method": method, "params": {"textDocument": document}}),
        );
    };
    for change in edit["documentChanges"].as_array().into_iter().flatten() {
        match change["kind"].as_str() {
            None => {}
            Some("delete") => {
                std::fs::remove_file(path(&change["uri"])).map_err(|e| e.to_string())?;
                let uri = change["uri"].as_str().unwrap_or_default();
                if state.buffers.remove(uri).is_some() {
                    tell("textDocument/didClose", json!({"uri": uri}));
                }
            }
            Some("rename") if matches!(state.on_apply, OnApply::FailToRename { .. }) => {
                if state.on_apply == (OnApply::FailToRename { crlf: true }) {
                    all_in_crlf(shared, state);
                }
                return Err(String::from("the disk says no"));
            }
            Some("rename") => {
                let (from, to) = (path(&change["oldUri"]), path(&change["newUri"]));
                if to.exists() {
                    return Err(format!("{} exists", to.display()));
                }
                std::fs::create_dir_all(to.parent().expect("a folder"))
                    .map_err(|e| e.to_string())?;
                std::fs::rename(from, to).map_err(|e| e.to_string())?;
                let [from, to] = ["oldUri", "newUri"].map(|name| change[name].as_str());
                let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
                if let Some(mut buffer) = state.buffers.remove(from) {
                    tell("textDocument/didClose", json!({"uri": from}));
                    buffer.version = 1;
                    tell(
                        "textDocument/didOpen",
                        json!({"uri": to, "languageId": "rust", "version": 1, "text": buffer.text}),
                    );
                    state.buffers.insert(to.to_owned(), buffer);
                }
            }
            Some(kind) => return Err(format!("this editor does not {kind} files")),
        }
    }
    Ok(())
}
