//! What a turn writes down so that it can go on: after a question, a cap, a failure, the end of the process.
//!
//! An answer of the model is kept before its tools are begun, their results before the next request. A call
//! without a result may have been carried out: it is never carried out again, and the model is told so.

use serde::{Deserialize, Serialize};

use crate::models::{Block, Speaker, Turn};

/// What the model hears of a call whose result was lost.
const INTERRUPTED: &str = "interrupted: it may have been carried out; look before you do it again";

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Entry {
    /// The conversation begins, or begins again because it was folded.
    Start {
        model: String,
        plan: bool,
        /// Plan mode that the agent began.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        planning: bool,
        /// The author's words that it is about.
        asked: String,
        turns: Vec<Turn>,
    },
    /// The model said this.
    Said { blocks: Vec<Block> },
    /// It was told this: results, and what else there was to say.
    Told {
        blocks: Vec<Block>,
        /// New words of the author.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<String>,
    },
    /// The author is asked; `results` are those of the calls beside the question.
    Question { call: String, results: Vec<Block> },
    /// What it means to change and the author has not seen yet, all of it.
    Planned { files: Vec<File> },
    /// All is done but for writing this into the thread.
    Answer { text: String },
    /// Since then the author has undone what was changed in these files, relative to the root.
    Undone { files: Vec<String> },
}

/// One file of [`Entry::Planned`]; its path is relative to the root.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct File {
    pub path: String,
    pub before: Option<String>,
    pub after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// The file whose place it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
}

impl Entry {
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A conversation that stopped.
pub(super) struct Stopped {
    pub model: String,
    pub plan: bool,
    /// The agent had begun plan mode and not ended it.
    pub planning: bool,
    pub asked: String,
    pub turns: Vec<Turn>,
    /// The call that asked the author, with the results of those beside it.
    question: Option<(String, Vec<Block>)>,
    pub answer: Option<String>,
    pub planned: Vec<File>,
    /// Files whose changes do not stand any more, and that the model has not been told of.
    undone: Vec<String>,
}

/// Whether the entry says that the author is asked.
pub fn is_question(entry: &str) -> bool {
    matches!(serde_json::from_str(entry), Ok(Entry::Question { .. }))
}

/// What is to be added to a conversation, whose last entry this is, when the turn's changes of these files were undone: an
/// answer that tells of them is kept no longer, a question is.
pub fn told_undone(last: &str, files: Vec<String>) -> Vec<String> {
    let mut added = vec![Entry::Undone { files }.text()];
    if is_question(last) {
        added.push(last.to_owned());
    }
    added
}

/// Whether the conversation is that of a turn that the author wanted read-only.
pub fn is_plan(talk: &[String]) -> bool {
    read(talk).is_some_and(|stopped| stopped.plan)
}

/// Whether edits of the conversation wait for the author's review.
pub fn has_planned(talk: &[String]) -> bool {
    read(talk).is_some_and(|stopped| !stopped.planned.is_empty())
}

/// Whether the author's words say to go on, and nothing else.
pub fn says_go_on(said: &str) -> bool {
    let word = said.trim().trim_end_matches(['.', '!']);
    ["continue", "go on", "try again"]
        .iter()
        .any(|w| word.eq_ignore_ascii_case(w))
}

/// `None`: there is none, or another version wrote it.
pub(super) fn read(talk: &[String]) -> Option<Stopped> {
    let mut all: Option<Stopped> = None;
    for entry in talk {
        let entry: Entry = serde_json::from_str(entry).ok()?;
        if let Entry::Start {
            model,
            plan,
            planning,
            asked,
            turns,
        } = entry
        {
            all = Some(Stopped {
                model,
                plan,
                planning,
                asked,
                turns,
                question: None,
                answer: None,
                // Folding a conversation plans nothing else.
                planned: all.map_or_else(Vec::new, |before| before.planned),
                undone: Vec::new(),
            });
            continue;
        }
        let stopped = all.as_mut()?;
        if !matches!(entry, Entry::Planned { .. }) {
            (stopped.question, stopped.answer) = (None, None);
        }
        match entry {
            Entry::Start { .. } => {}
            Entry::Said { blocks } => stopped.turns.push(Turn {
                speaker: Speaker::Assistant,
                blocks,
            }),
            Entry::Told { blocks, asked } => {
                stopped.plans(&blocks);
                tell(&mut stopped.turns, blocks);
                stopped.undone.clear();
                if let Some(asked) = asked {
                    stopped.asked = asked;
                }
            }
            Entry::Planned { files } => stopped.planned = files,
            Entry::Question { call, results } => {
                stopped.plans(&results);
                stopped.question = Some((call, results));
            }
            Entry::Answer { text } => stopped.answer = Some(text),
            Entry::Undone { files } => {
                for file in files {
                    if !stopped.undone.contains(&file) {
                        stopped.undone.push(file);
                    }
                }
            }
        }
    }
    all.filter(|stopped| !stopped.turns.is_empty())
}

/// Adds to what the model is told: speakers take turns.
pub(super) fn tell(turns: &mut Vec<Turn>, blocks: Vec<Block>) {
    match turns.last_mut() {
        Some(last) if last.speaker == Speaker::User => last.blocks.extend(blocks),
        _ => turns.push(Turn {
            speaker: Speaker::User,
            blocks,
        }),
    }
}

impl Stopped {
    pub(super) fn is_asking(&self) -> bool {
        self.question.is_some()
    }

    /// Takes over what the newest calls did to the agent's plan mode; a call counts that has its result.
    fn plans(&mut self, results: &[Block]) {
        let newest = self.turns.last();
        for block in newest
            .map(|turn| turn.blocks.as_slice())
            .unwrap_or_default()
        {
            let Block::ToolUse { id, name, .. } = block else {
                continue;
            };
            let done = results.iter().any(|result| {
                matches!(result, Block::ToolResult { id: of, is_error: false, .. } if of == id)
            });
            match name.as_str() {
                "plan_enter" if done => self.planning = true,
                "plan_exit" if done => self.planning = false,
                _ => {}
            }
        }
    }

    /// What the model is told first when the turn goes on. `said` is what the author wrote last, where it
    /// stands unanswered.
    pub(super) fn news(&self, said: Option<&str>) -> Vec<Block> {
        let said = said.map(str::trim).filter(|said| !said.is_empty());
        let result = |id: &str, content: String, is_error| Block::ToolResult {
            id: id.to_owned(),
            content,
            is_error,
        };
        let mut blocks = Vec::new();
        let mut heard = false;
        let last = self.turns.last();
        let open = last.filter(|turn| turn.speaker == Speaker::Assistant);
        for block in open.map(|turn| turn.blocks.as_slice()).unwrap_or_default() {
            let Block::ToolUse { id, .. } = block else {
                continue;
            };
            let kept = self.question.as_ref().and_then(|(call, results)| {
                if call == id {
                    heard = true;
                    return Some(match said {
                        Some(said) => result(id, format!("The author answered: {said}"), false),
                        None => result(id, String::from("The author did not answer."), true),
                    });
                }
                let of_call =
                    |b: &&Block| matches!(b, Block::ToolResult { id: of, .. } if of == id);
                results.iter().find(of_call).cloned()
            });
            blocks.push(kept.unwrap_or_else(|| result(id, String::from(INTERRUPTED), true)));
        }
        // Results may bring pictures along, which stand behind them.
        if let Some((_, results)) = &self.question {
            let other = |b: &&Block| !matches!(b, Block::ToolResult { .. });
            blocks.extend(results.iter().filter(other).cloned());
        }
        let mut text = String::from(
            "This turn had stopped and goes on now. Files may have changed meanwhile: read a file again before you edit it.",
        );
        if !self.undone.is_empty() {
            text.push_str(&format!(
                "\nThe author has undone what you had changed in {}: it does not stand there any more. Do not say that it does, and do it again only where the author asks for that.",
                self.undone.join(", ")
            ));
        }
        if let Some(said) = said
            && !heard
            && said != self.asked.trim()
            && !says_go_on(said)
        {
            text.push_str(&format!("\nThe author wrote: {said}"));
        }
        blocks.push(Block::Text { text });
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn use_of(id: &str, name: &str) -> Block {
        Block::ToolUse {
            id: id.into(),
            name: name.into(),
            input: json!({}),
        }
    }

    fn start() -> String {
        let turns = vec![Turn {
            speaker: Speaker::User,
            blocks: vec![Block::Text {
                text: "why?".into(),
            }],
        }];
        let (model, asked) = ("a/b".into(), "why?".into());
        Entry::Start {
            model,
            plan: true,
            planning: false,
            asked,
            turns,
        }
        .text()
    }

    #[test]
    fn plan_mode_that_the_agent_began_is_known() {
        let told = |id: &str, is_error| {
            let blocks = vec![Block::ToolResult {
                id: id.into(),
                content: String::new(),
                is_error,
            }];
            let asked = None;
            Entry::Told { blocks, asked }.text()
        };
        let said = |id: &str, name: &str| {
            let blocks = vec![use_of(id, name)];
            Entry::Said { blocks }.text()
        };
        let enter = [start(), said("c1", "plan_enter"), told("c1", false)];
        let is_on = |talk: &[String]| read(talk).expect("a conversation").planning;
        assert!(is_on(&enter) && !is_on(&enter[..2]));
        let mut left = enter.to_vec();
        left.extend([said("c2", "plan_exit"), told("c2", true)]);
        assert!(is_on(&left));
        left.extend([said("c3", "plan_exit"), told("c3", false)]);
        assert!(!is_on(&left));
        // What an older version wrote has no word of it; a folded conversation has.
        let folded = start().replace(r#""plan":true"#, r#""plan":true,"planning":true"#);
        assert!(is_on(&[folded]));
    }

    #[test]
    fn a_call_without_a_result_is_never_carried_out_again() {
        let said = Entry::Said {
            blocks: vec![use_of("c1", "file_write"), use_of("c2", "grep")],
        };
        let stopped = read(&[start(), said.text()]).expect("a conversation");
        let news = stopped.news(Some("why?"));
        for (block, call) in news.iter().zip(["c1", "c2"]) {
            assert!(
                matches!(block, Block::ToolResult { id, content, is_error: true } if id == call && content == INTERRUPTED),
                "{block:?}"
            );
        }
        assert!(stopped.plan && news.len() == 3, "{news:?}");
        assert!(matches!(&news[2], Block::Text { text } if !text.contains("wrote")));
    }

    #[test]
    fn the_answer_to_a_question_is_the_result_of_its_call() {
        let said = Entry::Said {
            blocks: vec![use_of("c1", "grep"), use_of("c2", "ask_user")],
        };
        let found = Block::ToolResult {
            id: "c1".into(),
            content: "found".into(),
            is_error: false,
        };
        let question = Entry::Question {
            call: "c2".into(),
            results: vec![found.clone()],
        };
        assert!(is_question(&question.text()) && !is_question(&said.text()));
        let talk = [start(), said.text(), question.text()];
        let news = read(&talk).expect("a conversation").news(Some("(a) tokio"));
        assert_eq!(news[0], found);
        assert!(
            matches!(&news[1], Block::ToolResult { content, is_error: false, .. } if content == "The author answered: (a) tokio")
        );
        assert!(matches!(&news[2], Block::Text { text } if !text.contains("tokio")));
    }

    #[test]
    fn what_was_undone_since_is_told_once_and_is_not_answered_for() {
        let said = Entry::Said { blocks: Vec::new() }.text();
        let answer = Entry::Answer {
            text: "It is 2 now.".into(),
        };
        let undone = |last: &str| told_undone(last, vec!["c.py".into()]);
        let mut talk = vec![start(), said, answer.text()];
        talk.extend(undone(&talk[2]));
        let stopped = read(&talk).expect("a conversation");
        assert_eq!(stopped.answer, None);
        let news = stopped.news(None);
        let is_told = |block: &Block| matches!(block, Block::Text { text } if text.contains("had changed in c.py:"));
        assert!(is_told(&news[0]), "{news:?}");
        let told = Entry::Told {
            blocks: news,
            asked: None,
        };
        talk.push(told.text());
        let news = read(&talk).expect("a conversation").news(None);
        assert!(!news.iter().any(is_told), "{news:?}");
        let (call, results) = ("c2".into(), Vec::new());
        talk.push(Entry::Question { call, results }.text());
        talk.extend(undone(&talk[5]));
        assert!(is_question(talk.last().expect("one")));
        assert!(read(&talk).expect("a conversation").is_asking());
    }

    #[test]
    fn what_the_author_wrote_since_is_told_unless_it_only_says_to_go_on() {
        let stopped = read(&[start()]).expect("a conversation");
        for (said, told) in [
            (Some("Continue."), false),
            (Some("why?"), false),
            (None, false),
            (Some("only in a.rs"), true),
        ] {
            let news = stopped.news(said);
            assert!(
                matches!(news.as_slice(), [Block::Text { text }] if text.contains("The author wrote: only") == told),
                "{news:?}"
            );
        }
        assert!(read(&[]).is_none() && read(&[String::from("{}")]).is_none());
        assert!(read(&[Entry::Said { blocks: Vec::new() }.text()]).is_none());
    }
}
