//! `ask_user`: a question to the author. The turn stops with it: it stands in the thread as the AGENT message,
//! and the run goes on when the author has answered there.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, Output, Tool, parse, schema};
use crate::present;
use crate::trust::Risk;

/// Choices that a question may have: as many as have a letter.
const MOST: usize = 8;
/// Characters of a question that are still read in a comment.
const LONGEST: usize = 2_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// One question, in a sentence or two.
    question: String,
    /// Two to eight answers to choose from, a few words each.
    #[serde(default)]
    choices: Option<Vec<String>>,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub question: String,
    pub choices: Vec<String>,
}

impl Asked {
    /// As it stands in the thread, where whoever reads it has to see that it is a question: each choice with its letter,
    /// on one line where they are short; a word in front of what neither offers any nor ends with a question mark.
    pub fn text(&self) -> String {
        let choices: Vec<String> = self
            .choices
            .iter()
            .zip('a'..)
            .map(|(choice, letter)| format!("({letter}) {choice}"))
            .collect();
        let question = self.question.trim();
        let line = format!("{question} {}", choices.join(" "));
        if choices.is_empty() && !present::is_question(question) {
            format!("{}{question}", present::QUESTION)
        } else if choices.is_empty() {
            question.to_owned()
        } else if line.chars().count() <= 100 && !question.contains('\n') {
            line
        } else {
            format!("{question}\n{}", choices.join("\n"))
        }
    }
}

pub(super) struct AskUser;

fn checked(name: &str, input: &Value) -> Result<Asked, String> {
    let Input { question, choices } = parse(name, input)?;
    let choices: Vec<String> = choices
        .unwrap_or_default()
        .iter()
        .map(|choice| choice.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|choice| !choice.is_empty())
        .collect();
    if question.trim().is_empty() {
        return Err(String::from("ask_user: `question` is empty."));
    }
    let length =
        question.chars().count() + choices.iter().map(|c| c.chars().count()).sum::<usize>();
    if length > LONGEST {
        return Err(format!(
            "ask_user: the question has more than {LONGEST} characters; ask for less at once."
        ));
    }
    if choices.len() == 1 || choices.len() > MOST {
        return Err(format!(
            "ask_user: {} choices; give none, or two to {MOST}.",
            choices.len()
        ));
    }
    Ok(Asked { question, choices })
}

#[async_trait]
impl Tool for AskUser {
    fn name(&self) -> &'static str {
        "ask_user"
    }
    fn description(&self) -> String {
        String::from(
            "Asks the author and waits for the answer, which may take days. The question becomes the AGENT message of the thread. \
Use it where you cannot go on without the author's decision; call it alone, after all other work that you can do.",
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Read
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        checked(self.name(), input).map(drop)
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        let asked = checked(self.name(), &input)?;
        let Some(place) = &cx.question else {
            return Err(String::from(
                "Nobody can be asked here: ask_user is for turns that answer a thread.",
            ));
        };
        let mut place = place
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if place.is_some() {
            return Err(String::from(
                "Not carried out: one question at a time; ask this one when the author has answered the first.",
            ));
        }
        *place = Some(asked);
        Ok(String::from("The author is asked."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_have_letters() {
        let asked = |question: &str, choices: &[&str]| Asked {
            question: question.into(),
            choices: choices.iter().map(|c| (*c).into()).collect(),
        };
        assert_eq!(asked("Why? ", &[]).text(), "Why?");
        let told = asked("Tell me the name.", &[]).text();
        assert_eq!(told, "Question: Tell me the name.");
        assert_eq!(asked(&told, &[]).text(), told);
        assert_eq!(
            asked("Which?", &["tokio", "smol"]).text(),
            "Which? (a) tokio (b) smol"
        );
        let long = "x".repeat(90);
        assert_eq!(
            asked("Which?", &[&long, "smol"]).text(),
            format!("Which?\n(a) {long}\n(b) smol")
        );
    }

    #[test]
    fn a_question_that_cannot_be_answered_is_refused() {
        for (input, why) in [
            (serde_json::json!({"question": " "}), "empty"),
            (
                serde_json::json!({"question": "a", "choices": ["b"]}),
                "1 choices",
            ),
            (serde_json::json!({"question": "x".repeat(3000)}), "2000"),
            (serde_json::json!({"choices": []}), "question"),
        ] {
            let refused = checked("ask_user", &input).expect_err("a refusal");
            assert!(refused.contains(why), "{refused}");
        }
    }
}
