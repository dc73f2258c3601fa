//! `workspace/executeCommand`: the privileged door. One JSON object is the argument of a command; a field or an
//! id that is not known is an error that names it. What takes long is started and answered at once.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, Result};

use super::{Params, Server, conversation, host, invalid, lifecycle, margin};
use crate::host::Level;
use call::{Call, answer};

mod call;
mod history;
mod models;
mod threads;
mod turns;

pub(super) use threads::committed;

/// Every command without its prefix, and the fields of its argument.
const ALL: [(&str, &[&str]); 26] = [
    (
        "replyAsAgent",
        &["uri", "path", "thread_id", "model", "budget"],
    ),
    ("plan", &["uri", "path", "thread_id", "model", "budget"]),
    ("replyAll", &["uri", "path", "model", "budget", "ask"]),
    (
        "askAnother",
        &["uri", "path", "thread_id", "model", "budget"],
    ),
    ("consult", &["uri", "path", "thread_id", "model"]),
    (
        "continue",
        &["uri", "path", "thread_id", "run_id", "model", "budget"],
    ),
    (
        "choose",
        &[
            "uri",
            "path",
            "thread_id",
            "run_id",
            "text",
            "model",
            "budget",
        ],
    ),
    ("reply", &["uri", "path", "thread_id", "text"]),
    (
        "editMessage",
        &["uri", "path", "thread_id", "index", "was", "text"],
    ),
    ("newThread", &["uri", "path", "position", "text"]),
    ("dismissThread", &["uri", "path", "thread_id"]),
    ("clearAndCommit", &["uri", "path", "message"]),
    ("processActions", &["uri", "path"]),
    ("cancelTurn", &["uri", "path", "thread_id", "run_id"]),
    (
        "undoTurn",
        &["uri", "path", "thread_id", "run_id", "turn", "files"],
    ),
    ("turnChanges", &["uri", "path", "thread_id", "run_id"]),
    ("openConversation", &["uri", "path", "thread_id", "run_id"]),
    ("listThreads", &["uri", "path"]),
    (
        "workflowThread",
        &["uri", "path", "thread_id", "run_id", "budget", "before"],
    ),
    ("workflowList", &["thread_id", "status", "limit"]),
    ("workflowSearch", &["words", "limit"]),
    (
        "workflowRounds",
        &["uri", "path", "thread_id", "run_id", "after"],
    ),
    ("why", &["uri", "path", "position", "show"]),
    ("trust", &["uri", "path"]),
    ("models", &["uri", "path"]),
    ("selectModel", &["uri", "path", "model"]),
];

pub(super) fn all(prefix: &str) -> Vec<String> {
    ALL.iter()
        .map(|(verb, _)| format!("{prefix}{verb}"))
        .collect()
}

/// `params` are those of `workspace/executeCommand`. A client that stands still until it is answered is answered
/// at once: what it types meanwhile, and what a command edits, comes only after. An error that would not be seen is
/// a message too.
///
/// A task of its own: who drops this, for the client cancelled the request, leaves no half-done work. A commit puts
/// back what it took out of a file, or is made.
pub(super) async fn execute(
    server: Arc<Server>,
    params: Params,
    cancel: CancellationToken,
) -> Result<Value> {
    let client = server.capabilities();
    let (waits, hides) = (client.waits_for_commands, client.hides_errors);
    let runtime = server.runtime.clone();
    let task = runtime.spawn(async move {
        let done = carry_out(server.clone(), params, cancel.clone()).await;
        if let Err(error) = &done
            && (waits || hides || cancel.is_cancelled())
        {
            show(&server, error);
        }
        done
    });
    if waits {
        return Ok(Value::Null);
    }
    match task.await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Error::internal_error()),
        },
    }
}

fn show(server: &Server, error: &Error) {
    host::message(server, Level::Error, &error.message);
}

async fn carry_out(
    server: Arc<Server>,
    params: Params,
    cancel: CancellationToken,
) -> Result<Value> {
    let params = params.unwrap_or_default();
    let command = params
        .get("command")
        .and_then(Value::as_str)
        .ok_or_else(|| invalid("`command` is missing"))?;
    let known = command
        .strip_prefix(server.capabilities().prefix.as_str())
        .and_then(|verb| ALL.iter().find(|(name, _)| *name == verb));
    let Some((verb, fields)) = known else {
        return Err(invalid(format!("`{command}` is no command of postil")));
    };
    let empty = Map::new();
    let argument = match params
        .get("arguments")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
    {
        [] | [Value::Null] => &empty,
        [Value::Object(argument)] => argument,
        _ => {
            return Err(invalid(format!(
                "`{command}` takes one object: {}",
                fields.join(", ")
            )));
        }
    };
    if let Some(unknown) = argument.keys().find(|key| !fields.contains(&key.as_str())) {
        return Err(invalid(format!(
            "`{command}` has no field `{}`; it takes {}",
            unknown.escape_debug(),
            fields.join(", ")
        )));
    }
    let call = Call {
        server: server.clone(),
        session: server.session()?.clone(),
        command: command.to_owned(),
        argument: argument.clone(),
        cancel,
    };
    lifecycle::refresh_settings(&server, &call.session);
    match *verb {
        "replyAsAgent" => call.start_turn(false).await,
        "plan" => call.start_turn(true).await,
        "askAnother" => call.ask_another().await,
        "consult" => call.consult().await,
        "continue" => call.go_on().await,
        "choose" => call.choose().await,
        "replyAll" => call.reply_all().await,
        "reply" => call.reply().await,
        "editMessage" => call.edit_message().await,
        "newThread" => call.new_thread().await,
        "dismissThread" => {
            let done = call
                .session
                .dismiss(call.thread_id()?, call.path()?.as_deref())
                .await;
            answer(&done?)
        }
        "clearAndCommit" => call.clear_and_commit().await,
        "processActions" => call.process_actions().await,
        "cancelTurn" => {
            call.session.cancel(&call.run_or_thread()?).await?;
            Ok(json!({"success": true}))
        }
        "undoTurn" => call.undo().await,
        "turnChanges" => call.turn_changes(),
        "openConversation" => conversation::open(&call.server, &call.run_or_thread()?).await,
        "listThreads" => call.list_threads().await,
        "workflowThread" => call.workflow_thread(),
        "workflowList" => call.workflow_list().await,
        "workflowSearch" => call.workflow_search().await,
        "workflowRounds" => margin::rounds(
            &call.server,
            &call.session,
            &call.run_or_thread()?,
            call.number("after")?.unwrap_or(0),
        ),
        "why" => call.why().await,
        "trust" => call.trust(),
        "models" => call.models().await,
        "selectModel" => call.select_model().await,
        _ => Err(Error::internal_error()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_of_the_protocol_has_every_command_and_its_fields() {
        let page = include_str!("../../docs/editors/protocol.md");
        for (verb, fields) in super::ALL {
            let own = fields.iter().filter(|f| !matches!(**f, "uri" | "path"));
            let own: Vec<String> = own.map(|field| format!("`{field}`")).collect();
            let row = format!("| `{verb}` | {} | ", own.join(", "));
            assert!(page.contains(&row), "it does not say: {row}");
        }
        let number = format!("**{}** now", super::super::capabilities::PROTOCOL);
        assert!(page.contains(&number), "it does not say: {number}");
    }
}
