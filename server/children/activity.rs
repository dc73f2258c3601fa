//! Whether a child is still indexing: by its progress reports, or by its own word where it gives it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch;

/// A child that has just started may be about to announce that it indexes.
const SETTLING: Duration = Duration::from_millis(400);
/// Progress reports that are followed at once; a flood of more is ignored.
const MAX_TOKENS: usize = 256;
/// Characters that are kept of what a child says is wrong.
const MAX_TROUBLE: usize = 200;

pub struct Activity {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

struct State {
    /// By token; whether it is work that answers wait for.
    running: HashMap<String, bool>,
    /// Its own word (rust-analyzer's `experimental/serverStatus`), which beats its progress reports.
    quiescent: Option<bool>,
    /// What it says is wrong with it: it answers, and knows less than it should.
    trouble: Option<String>,
    ready: Option<Instant>,
    announced: bool,
}

impl Activity {
    /// `tells`: this server says by itself when it is quiescent, and has not yet.
    pub fn new(tells: bool) -> Self {
        let state = State {
            running: HashMap::new(),
            quiescent: tells.then_some(false),
            trouble: None,
            ready: None,
            announced: false,
        };
        Self {
            state: Mutex::new(state),
            changed: watch::Sender::new(()),
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn started(&self) {
        self.with(|s| s.ready = Some(Instant::now()));
    }

    pub fn status(&self, params: &Value) {
        if let Some(quiescent) = params.get("quiescent").and_then(Value::as_bool) {
            self.with(|s| s.quiescent = Some(quiescent));
            self.changed.send_replace(());
        }
        let text = |field| params.get(field).and_then(Value::as_str);
        if let Some(health) = text("health") {
            let said = text("message")
                .and_then(|message| message.lines().find(|line| !line.trim().is_empty()));
            let said = said.map(|line| line.trim().chars().take(MAX_TROUBLE).collect());
            self.with(|s| s.trouble = said.filter(|_| health != "ok"));
        }
    }

    /// What it says is wrong with it.
    pub fn trouble(&self) -> Option<String> {
        self.with(|s| s.trouble.clone())
    }

    /// `$/progress` with a token that the child made.
    pub fn progress(&self, token: &Value, value: &Value) {
        let token = token.to_string();
        self.with(|s| match value.get("kind").and_then(Value::as_str) {
            Some("begin") if s.running.len() < MAX_TOKENS => {
                let title = value
                    .get("title")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let counts = is_indexing(&token, title);
                s.announced |= counts;
                s.running.insert(token, counts);
            }
            Some("end") => {
                s.running.remove(&token);
            }
            _ => {}
        });
        self.changed.send_replace(());
    }

    pub fn is_indexing(&self) -> bool {
        self.with(|s| {
            s.quiescent.map_or_else(
                || s.running.values().any(|counts| *counts),
                |quiescent| !quiescent,
            )
        })
    }

    /// Whether an empty answer may mean «not known yet».
    pub fn is_unsettled(&self) -> bool {
        self.is_indexing() || self.settling().is_some()
    }

    fn settling(&self) -> Option<Duration> {
        self.with(|s| match s.ready {
            Some(ready) if s.quiescent.is_none() && !s.announced => {
                SETTLING.checked_sub(ready.elapsed())
            }
            _ => None,
        })
    }

    /// Returns when it is neither indexing nor about to.
    pub async fn settled(&self) {
        let mut changes = self.changed.subscribe();
        loop {
            if self.is_indexing() {
                if changes.changed().await.is_err() {
                    return;
                }
            } else if let Some(rest) = self.settling() {
                // Elapsed or changed: looked at again either way.
                let _ = tokio::time::timeout(rest, changes.changed()).await;
            } else {
                return;
            }
        }
    }
}

/// Checks and formatting go on beside the answers; what else is reported is taken for indexing.
fn is_indexing(token: &str, title: &str) -> bool {
    let text = format!("{token} {title}").to_ascii_lowercase();
    ![
        "check",
        "lint",
        "diagnos",
        "format",
        "test",
        "renam",
        "reference",
        "running",
        "complet",
    ]
    .iter()
    .any(|w| text.contains(w))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn indexing_begins_and_ends_with_its_report() {
        let activity = Activity::new(false);
        activity.progress(
            &json!("lint"),
            &json!({"kind": "begin", "title": "lint: pyflakes"}),
        );
        assert!(!activity.is_indexing());
        activity.progress(
            &json!(7),
            &json!({"kind": "begin", "title": "Loading packages"}),
        );
        assert!(activity.is_indexing());
        let (settled, ()) = tokio::join!(activity.settled(), async {
            activity.progress(&json!(7), &json!({"kind": "end"}))
        });
        assert_eq!((settled, activity.is_indexing()), ((), false));
    }

    #[test]
    fn its_own_word_beats_the_reports() {
        let activity = Activity::new(true);
        assert!(activity.is_indexing(), "until it has said otherwise");
        activity.status(&json!({"health": "ok", "quiescent": true}));
        activity.progress(&json!("t"), &json!({"kind": "begin", "title": "Indexing"}));
        assert!(!activity.is_indexing());
    }

    #[test]
    fn a_flood_of_reports_is_bounded() {
        let activity = Activity::new(false);
        for n in 0..10_000 {
            activity.progress(&json!(n), &json!({"kind": "begin", "title": "x"}));
        }
        assert_eq!(activity.with(|s| s.running.len()), MAX_TOKENS);
    }
}
