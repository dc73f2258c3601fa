//! A question to the author, by `window/showMessageRequest`: when it is put, in which order its answers stand, and what
//! becomes of it where the editor cannot show it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::super::Server;
use super::super::capabilities::Client;
use super::super::client::ClientError;
use super::EditorHost;
use crate::host::{Host, NotShown, Question};
use crate::present::visible;

/// How long a question waits behind the answer to the one before: editors show both in the same place, and the
/// second press of a double click must not answer what nobody has read.
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(500);
/// Where a question takes the keys, it waits until nothing was typed for so long: what goes on with a line must not
/// answer it.
const REST: Duration = Duration::from_millis(800);
/// A question that failed is put again after these times: eglot's fails while another prompt is open.
const AGAIN: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];
/// Stands before the answers where none of them is a no.
const NOT_NOW: &str = "Not now";

pub(super) async fn ask(
    host: &EditorHost,
    server: &Arc<Server>,
    question: &Question,
) -> Result<Option<usize>, NotShown> {
    let client = server.capabilities();
    let choices = question.choices.iter();
    let choices: Vec<String> = choices.map(|choice| client.title(choice)).collect();
    let titles = titles(&choices, question.last_is_no, First::of(client));
    let actions: Vec<Value> = titles.iter().map(|title| json!({"title": title})).collect();
    let params = json!({"type": 3, "message": visible(&question.text), "actions": actions});
    let mut again = AGAIN.iter();
    loop {
        let before = *host.answered();
        if let Some(before) = before {
            sleep_until(before + BETWEEN_QUESTIONS).await;
        }
        if host.shows_questions() {
            rest(server).await;
        }
        let asked =
            server
                .client
                .question("window/showMessageRequest", params.clone(), client.reviews);
        match asked.await {
            Ok(answer) => {
                *host.answered() = Some(Instant::now());
                let title = answer.get("title").and_then(Value::as_str);
                let mut all = choices.iter();
                let taken = all.position(|choice| Some(choice.as_str()) == title);
                return match taken {
                    None if client.defers_questions => Err(NotShown),
                    taken => Ok(taken),
                };
            }
            Err(ClientError::Gone) => return Ok(None),
            Err(ClientError::Unknown(_)) => {
                host.shows_no_questions.store(true, Ordering::Relaxed);
                return Err(NotShown);
            }
            Err(ClientError::Answered(why)) => {
                tracing::info!("the editor did not show a question: {why}");
                sleep(*again.next().ok_or(NotShown)?).await;
            }
        }
    }
}

/// Waits until nothing was typed for a moment, where what is shown next takes the keys.
pub(super) async fn rest(server: &Server) {
    if server.capabilities().questions_take_keys {
        let mut news = server.documents.news();
        while let Ok(Ok(())) = timeout(REST, news.changed()).await {}
    }
}

/// What stands first among the answers. Where Return alone takes the first, and may have been meant for the text, that
/// is one by which nothing happens.
#[derive(Clone, Copy)]
enum First {
    Choice,
    No,
    NotNow,
}

impl First {
    fn of(client: &Client) -> Self {
        if client.defers_questions {
            Self::NotNow
        } else if client.fills_in_first {
            Self::No
        } else {
            Self::Choice
        }
    }
}

/// The answers in the order in which they are shown.
fn titles(choices: &[String], last_is_no: bool, first: First) -> Vec<&str> {
    let mut titles: Vec<&str> = choices.iter().map(String::as_str).collect();
    match first {
        First::Choice => {}
        First::No => {
            let no = match last_is_no {
                true => titles.pop(),
                false => None,
            };
            titles.insert(0, no.unwrap_or(NOT_NOW));
        }
        First::NotNow => {
            titles.retain(|title| *title != NOT_NOW);
            titles.insert(0, NOT_NOW);
        }
    }
    titles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_return_takes_is_a_no() {
        let choices = ["Once", "Always", "Refuse"].map(String::from);
        let all = |last_is_no, first| titles(&choices, last_is_no, first).join(" ");
        assert_eq!(all(true, First::Choice), "Once Always Refuse");
        assert_eq!(all(true, First::No), "Refuse Once Always");
        assert_eq!(all(false, First::No), "Not now Once Always Refuse");
        assert_eq!(all(true, First::NotNow), "Not now Once Always Refuse");
        let later = ["Start", NOT_NOW].map(String::from);
        assert_eq!(titles(&later, true, First::NotNow), [NOT_NOW, "Start"]);
    }
}
