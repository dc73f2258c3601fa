//! What a turn does, line by line as JSON, for scripts (docs/ci.md tells of each).

use std::time::Duration;

use serde_json::{Value, json};

use super::out::Out;
use crate::session::{Session, TurnEnd, TurnStatus};
use crate::store::Run;

/// How often the history is looked at; what a turn does it writes there before it goes on.
const LOOK: Duration = Duration::from_millis(100);

/// Tells of the run until its turn ends.
pub(super) async fn follow(out: Out, session: &Session, run: &Run) -> TurnEnd {
    out.data(&json!({
        "event": "run", "run_id": run.id, "thread_id": run.thread_id, "file": run.file, "model": run.model,
    }));
    let mut told = run.rounds;
    let mut unread = None;
    let end = session.wait_turn(&run.id);
    tokio::pin!(end);
    let end = loop {
        tokio::select! {
            end = &mut end => break end,
            () = tokio::time::sleep(LOOK) => tell(out, session, run, &mut told, &mut unread),
        }
    };
    tell(out, session, run, &mut told, &mut unread);
    if let (Some(text), TurnStatus::Completed) = (&end.answer, end.status) {
        out.data(&json!({"event": "answer", "run_id": run.id, "text": text}));
    }
    let mut last = serde_json::to_value(&end).unwrap_or_default();
    if let Some(last) = last.as_object_mut() {
        last.insert(String::from("event"), json!("end"));
    }
    out.data(&last);
    end
}

/// The rounds since the last that was told. Why they cannot be read (`unread`) is one line, not one for each look.
fn tell(out: Out, session: &Session, run: &Run, told: &mut u64, unread: &mut Option<String>) {
    let read = session
        .run_of(&run.id)
        .and_then(|(workspace, _)| workspace.store())
        .map_err(|error| error.to_string())
        .and_then(|store| {
            let rounds = store.rounds_from(&run.id, *told, 1000);
            rounds.map_err(|error| error.to_string())
        });
    let rounds = match read {
        Ok(rounds) => rounds,
        Err(error) => {
            if unread.as_ref() != Some(&error) {
                out.data(&json!({"event": "error", "run_id": run.id, "error": error}));
                *unread = Some(error);
            }
            return;
        }
    };
    for round in rounds {
        *told = round.seq;
        let role = round.role.as_deref().unwrap_or("unknown");
        let event = match role {
            "tool" | "question" => role,
            _ => "round",
        };
        let mut line = json!({
            "event": event, "run_id": run.id, "round": round.seq, "role": role, "content": round.content,
        });
        if !round.metadata.is_empty() {
            line["metadata"] = Value::Object(round.metadata);
        }
        out.data(&line);
    }
}
