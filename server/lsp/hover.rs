//! Hover over a thread: where it stands, who worked on it, what it cost.

use serde_json::{Value, json};

use super::{Server, to_proto};
use crate::present;
use crate::session::{Session, View};
use crate::threads::Thread;

pub(super) fn thread(server: &Server, session: &Session, view: &View, thread: &Thread) -> Value {
    let client = server.capabilities();
    let mut lines = vec![format!(
        "postil thread {}: {}",
        thread.id,
        present::state(thread)
    )];
    let turn = session.turn_of(&thread.id);
    if let Some(turn) = turn.as_ref().filter(|turn| turn.running || turn.failed) {
        let what = if turn.running { "running" } else { "failed" };
        lines.push(format!("{what}: {}", present::short(&turn.message, 300)));
    }
    let store = session
        .workspace_of(&view.path)
        .and_then(|workspace| workspace.store().ok());
    if let Some(run) = store.and_then(|store| store.run(&thread.id).ok()) {
        let mut facts = vec![
            format!("run {}", run.id),
            run.status.name().to_owned(),
            run.model.clone(),
            format!("{} rounds", run.rounds),
        ];
        if run.tokens > 0 {
            facts.push(format!("{} tokens", run.tokens));
        }
        if run.cost > 0.0 {
            facts.push(format!("${:.4}", run.cost));
        }
        lines.push(facts.join(" · "));
    }
    let document = to_proto::document(view);
    let bytes = thread
        .messages
        .first()
        .map_or(0, |first| first.marker.start)
        ..thread
            .messages
            .last()
            .map_or(0, |last| last.range.end.max(last.marker.end));
    let range = to_proto::range(document.range(&bytes, client.encoding));
    let text: Vec<String> = lines.iter().map(|line| present::visible(line)).collect();
    let contents = if client.markdown {
        // As plain text inside Markdown: nothing said in a file becomes a link or an image.
        json!({"kind": "markdown", "value": format!("```text\n{}\n```", text.join("\n").replace("```", "` ` `"))})
    } else {
        json!({"kind": "plaintext", "value": text.join("\n")})
    };
    json!({"contents": contents, "range": range})
}
