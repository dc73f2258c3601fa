//! Whether a child is still indexing: by its progress reports, or by its own word where it gives it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch;

/// A child that has just started may be about to announce that it indexes.
const SETTLING: Duration = Duration::from_millis(400);
/// Work that has said nothing for so long is taken for one whose end is never told.
const SILENT: Duration = Duration::from_secs(10);
/// How often it is looked whether work has fallen silent.
const LOOK: Duration = Duration::from_millis(500);
/// Progress reports that are followed at once; a flood of more is ignored.
const MAX_TOKENS: usize = 256;
/// Characters that are kept of what a child says is wrong.
const MAX_TROUBLE: usize = 200;

pub struct Activity {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

struct State {
    /// By token.
    running: HashMap<String, Work>,
    /// Its own word (rust-analyzer's `experimental/serverStatus`), which beats its progress reports.
    quiescent: Option<bool>,
    /// What it says is wrong with it: it answers, and knows less than it should.
    trouble: Option<String>,
    /// What of it a person was told.
    told: Option<String>,
    ready: Option<Instant>,
    announced: bool,
}

/// One progress report that has begun.
struct Work {
    /// Answers wait for it.
    counts: bool,
    /// What it says is wrong: gopls tells so of a workspace that it cannot load, and ends the report only when it can.
    trouble: Option<String>,
    heard: Instant,
}

impl Work {
    fn begun(token: &str, value: &Value) -> Self {
        let text = |field| value.get(field).and_then(Value::as_str).unwrap_or_default();
        let title = text("title");
        let trouble = is_trouble(title).then(|| match first_line(text("message")) {
            said if said.is_empty() => first_line(title),
            said => first_line(&format!("{title}: {said}")),
        });
        Self {
            counts: trouble.is_none() && is_indexing(token, title),
            trouble,
            heard: Instant::now(),
        }
    }

    fn is_silent(&self) -> bool {
        self.heard.elapsed() >= SILENT
    }
}

impl Activity {
    /// `tells`: this server says by itself when it is quiescent, and has not yet.
    pub fn new(tells: bool) -> Self {
        let state = State {
            running: HashMap::new(),
            quiescent: tells.then_some(false),
            trouble: None,
            told: None,
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
            let said = text("message").map(first_line);
            let said = said.filter(|said| !said.is_empty() && health != "ok");
            self.with(|s| {
                s.trouble = said;
                // While it reads the project it does not know yet.
                if health == "ok" && s.quiescent != Some(false) {
                    s.told = None;
                }
            });
        }
    }

    /// What it says is wrong with it.
    pub fn trouble(&self) -> Option<String> {
        self.with(|s| {
            let reported = || s.running.values().find_map(|work| work.trouble.clone());
            s.trouble.clone().or_else(reported)
        })
    }

    /// The same, once: again only when it is something else, or was gone meanwhile.
    pub fn untold_trouble(&self) -> Option<String> {
        let trouble = self.trouble()?;
        self.with(|s| {
            let known = s.told.replace(trouble.clone());
            (known.as_ref() != Some(&trouble)).then_some(trouble)
        })
    }

    /// What a person was told of it, for the next run of the same child.
    pub fn told(&self) -> Option<String> {
        self.with(|s| s.told.clone())
    }

    pub fn has_told(&self, trouble: Option<String>) {
        self.with(|s| s.told = trouble);
    }

    /// `$/progress` with a token that the child made.
    pub fn progress(&self, token: &Value, value: &Value) {
        let token = token.to_string();
        self.with(|s| match value.get("kind").and_then(Value::as_str) {
            Some("begin") if s.running.len() < MAX_TOKENS => {
                let work = Work::begun(&token, value);
                s.announced |= work.counts;
                s.running.insert(token, work);
            }
            Some("report") => {
                if let Some(work) = s.running.get_mut(&token) {
                    work.heard = Instant::now();
                }
            }
            Some("end") => {
                let ended = s.running.remove(&token).and_then(|work| work.trouble);
                if ended.is_some() && ended == s.told {
                    s.told = None;
                }
            }
            _ => {}
        });
        self.changed.send_replace(());
    }

    pub fn is_indexing(&self) -> bool {
        self.waits(false)
    }

    /// The same, of work that says nothing too: a request that is not answered may wait for it.
    pub fn may_be_indexing(&self) -> bool {
        self.waits(true)
    }

    fn waits(&self, for_silent: bool) -> bool {
        let is_waited_for = |work: &Work| work.counts && (for_silent || !work.is_silent());
        self.with(|s| {
            s.quiescent.map_or_else(
                || s.running.values().any(is_waited_for),
                |quiescent| !quiescent,
            )
        })
    }

    /// Was waited for in vain: work that has been silent for long is not waited for again.
    pub fn give_up(&self) {
        self.with(|s| {
            let silent = s.running.values_mut().filter(|work| work.is_silent());
            silent.for_each(|work| work.counts = false);
        });
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

    /// Returns when it is neither indexing nor about to. `for_silent`: nor says nothing of what it has begun.
    pub async fn settled(&self, for_silent: bool) {
        let mut changes = self.changed.subscribe();
        loop {
            if self.waits(for_silent) {
                let _ = tokio::time::timeout(LOOK, changes.changed()).await;
            } else if let Some(rest) = self.settling() {
                // Elapsed or changed: looked at again either way.
                let _ = tokio::time::timeout(rest, changes.changed()).await;
            } else {
                return;
            }
        }
    }
}

fn is_trouble(title: &str) -> bool {
    let title = title.to_ascii_lowercase();
    title.contains("error") || title.contains("fail")
}

/// The first line that says something, as far as it is kept.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(MAX_TROUBLE).collect()
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
        let (settled, ()) = tokio::join!(activity.settled(true), async {
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

    #[tokio::test]
    async fn a_report_of_an_error_is_trouble_and_not_waited_for() {
        let activity = Activity::new(false);
        let token = json!(7);
        activity.progress(
            &token,
            &json!({"kind": "begin", "title": "Error loading workspace", "message": "no go.mod\nmore"}),
        );
        assert!(!activity.is_indexing());
        let said = activity.trouble();
        assert_eq!(said.as_deref(), Some("Error loading workspace: no go.mod"));
        assert_eq!(activity.untold_trouble(), said);
        assert_eq!(activity.untold_trouble(), None, "it was told");
        activity.progress(&token, &json!({"kind": "end", "message": "Done."}));
        assert_eq!((activity.trouble(), activity.told()), (None, None));
    }

    #[test]
    fn trouble_is_told_again_in_another_run_only_where_it_was_gone() {
        let broken = json!({"health": "error", "quiescent": true, "message": "broken"});
        let reads = json!({"health": "ok", "quiescent": false});
        let well = json!({"health": "ok", "quiescent": true});
        let first = Activity::new(true);
        first.status(&broken);
        assert!(first.untold_trouble().is_some());
        let next = Activity::new(true);
        next.has_told(first.told());
        for (status, told) in [(reads, false), (well, true)] {
            next.status(&status);
            assert_eq!(next.untold_trouble(), None);
            next.status(&broken);
            assert_eq!(next.untold_trouble().is_some(), told, "{status}");
        }
    }

    #[tokio::test]
    async fn work_that_says_nothing_more_is_waited_for_once_at_most() {
        let activity = Activity::new(false);
        let fall_silent = |token: &str| {
            activity.with(|s| {
                let work = s.running.get_mut(token).unwrap();
                work.heard = Instant::now().checked_sub(SILENT).unwrap();
            });
        };
        for token in [1, 2] {
            activity.progress(
                &json!(token),
                &json!({"kind": "begin", "title": "Loading packages"}),
            );
        }
        fall_silent("1");
        assert!(activity.is_indexing(), "the other has said something");
        fall_silent("2");
        activity.settled(false).await;
        assert!(!activity.is_indexing() && activity.may_be_indexing());
        // Where half an answer is a wrong one, that too.
        let whole = tokio::time::timeout(Duration::from_millis(20), activity.settled(true));
        assert!(whole.await.is_err());
        activity.progress(&json!(2), &json!({"kind": "report", "percentage": 3}));
        assert!(activity.is_indexing(), "it goes on");
        activity.give_up();
        assert!(activity.is_indexing(), "what goes on is not given up");
        fall_silent("2");
        activity.give_up();
        activity.settled(true).await;
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
