//! Hover over a thread: where it stands, who worked on it, what it cost.

use serde_json::{Value, json};

use super::{Server, conversation, links, to_proto};
use crate::present;
use crate::session::{Session, View};
use crate::store::Run;
use crate::threads::Thread;
use crate::tools;

/// Links that are listed.
const MOST: usize = 8;
/// Entries of the agent's list that are shown.
const MOST_TODOS: usize = 12;

pub(super) fn thread(server: &Server, session: &Session, view: &View, thread: &Thread) -> Value {
    let client = server.capabilities();
    let mut lines = vec![format!(
        "postil thread {}: {}",
        thread.id,
        present::state(thread)
    )];
    let turn = session.turn_of(&view.path, thread);
    if let Some(turn) = turn.as_ref().filter(|turn| turn.running || turn.failed) {
        let what = if turn.running { "running" } else { "failed" };
        lines.push(format!("{what}: {}", present::short(&turn.message, 300)));
    }
    let store = session
        .workspace_of(&view.path)
        .and_then(|workspace| workspace.store().ok());
    let run = session.past_run(&view.path, thread);
    if let Some(run) = &run {
        let mut facts = vec![format!("run {}", run.id)];
        facts.extend(conversation::facts(run));
        lines.push(facts.join(" · "));
        let todos = store.map_or_else(Vec::new, |store| tools::todo_lines(&store, &run.id));
        lines.extend(
            todos
                .iter()
                .take(MOST_TODOS)
                .map(|todo| present::short(todo, 120)),
        );
        if todos.len() > MOST_TODOS {
            lines.push(format!("… {} more to do", todos.len() - MOST_TODOS));
        }
    }
    let document = to_proto::document(view);
    let range = to_proto::range(document.range(&thread.span(), client.encoding));
    let text: Vec<String> = lines.iter().map(|line| present::visible(line)).collect();
    let contents = if client.markdown {
        let mut value = present::fence(&text.join("\n"));
        let list = list(server, session, view, thread, run.as_ref());
        if !list.is_empty() {
            value.push_str(&format!("\n\n{}", list.join(" · ")));
        }
        json!({"kind": "markdown", "value": value})
    } else {
        json!({"kind": "plaintext", "value": text.join("\n")})
    };
    json!({"contents": contents, "range": range})
}

/// Conversations that a line's hover tells, and characters of each message.
const MOST_TOLD: usize = 3;
const LONGEST: usize = 600;

/// Over a 0-based line of code: the closed conversations that are tied to it, as far as the history knows at once.
pub(super) fn closed(server: &Server, session: &Session, view: &View, line: usize) -> Value {
    let told = session.told_here(view, line);
    if told.is_empty() {
        return Value::Null;
    }
    let mut parts: Vec<String> = told
        .iter()
        .take(MOST_TOLD)
        .map(|told| format!("{}\n{}", told.heading(), told.text(LONGEST)))
        .collect();
    if told.len() > MOST_TOLD {
        parts.push(format!("… {} older ones", told.len() - MOST_TOLD));
    }
    let text = parts.join("\n\n");
    let contents = if server.capabilities().markdown {
        json!({"kind": "markdown", "value": present::fence(&text)})
    } else {
        json!({"kind": "plaintext", "value": text})
    };
    json!({"contents": contents})
}

/// A hover of the language's server with ours below it (LSP 3.17 §Hover: three forms of contents).
pub(super) fn joined(theirs: Value, ours: &Value) -> Value {
    let Some(text) = ours.pointer("/contents/value").and_then(Value::as_str) else {
        return theirs;
    };
    let mut joined = theirs;
    match joined.get_mut("contents") {
        Some(Value::Object(contents)) if contents.contains_key("kind") => {
            let said = contents.get("value").and_then(Value::as_str);
            let rule = match contents.get("kind").and_then(Value::as_str) {
                Some("markdown") => "\n\n---\n\n",
                _ => "\n\n",
            };
            let both = format!("{}{rule}{text}", said.unwrap_or_default());
            contents.insert(String::from("value"), json!(both));
        }
        Some(Value::Array(contents)) => contents.push(json!(text)),
        Some(contents) => *contents = json!([contents.take(), text]),
        None => return ours.clone(),
    }
    joined
}

/// Links in Markdown: the conversation where it can be opened so, and the files that the thread mentions. An
/// address of the web is not made one here: a hover shows what it leads to nowhere.
fn list(
    server: &Server,
    session: &Session,
    view: &View,
    thread: &Thread,
    run: Option<&Run>,
) -> Vec<String> {
    let mut links: Vec<String> = run
        .and_then(|run| conversation::link(server, run))
        .map(|uri| format!("[conversation](<{uri}>)"))
        .into_iter()
        .collect();
    let mentioned = thread
        .messages
        .iter()
        .flat_map(|message| links::of_message(server, session, view, message))
        .filter(|link| link.target.starts_with("file:"));
    for link in mentioned {
        let link = format!("[{}](<{}>)", escaped(&link.label), link.target);
        if !links.contains(&link) {
            links.push(link);
        }
        if links.len() == MOST {
            break;
        }
    }
    links
}

/// Plain text in Markdown.
fn escaped(text: &str) -> String {
    present::markdown(text, "/.:-")
}
