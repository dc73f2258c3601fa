//! The choices that a message offers: `(a) … (b) …`. Pure.

use super::{short, visible};
use crate::threads::{Role, Thread};

/// Most characters of a choice.
const LONGEST: usize = 80;

/// The newest AGENT message, while the author has not answered it.
fn unanswered(thread: &Thread) -> Option<&str> {
    let mut newest = thread.messages.iter().rev();
    let newest = newest.find(|message| message.role == Role::Agent || !message.text.is_empty())?;
    (newest.role == Role::Agent).then_some(newest.text.as_str())
}

/// What the newest AGENT message offers, while the author has not answered it: each choice as it is written,
/// `(a) tokio`. Empty where there are not two or more, in order from `(a)`.
pub fn choices(thread: &Thread) -> Vec<String> {
    unanswered(thread).map_or_else(Vec::new, of_text)
}

/// What stands before a question that nothing else shows to be one.
pub const QUESTION: &str = "Question: ";

/// Whether the newest AGENT message asks the author something, who has not answered it: it offers choices, ends with a
/// question mark, or begins with [`QUESTION`].
pub fn asks(thread: &Thread) -> bool {
    unanswered(thread).is_some_and(|text| is_question(text) || !of_text(text).is_empty())
}

pub fn is_question(text: &str) -> bool {
    // Behind it may stand what ends a quotation, a bracket or what is emphasised.
    let closes = |c: char| c.is_whitespace() || "\"'`*_)]}»”’」』）".contains(c);
    text.starts_with(QUESTION.trim_end())
        || text.trim_end_matches(closes).ends_with(['?', '？', '؟'])
}

/// The choice that `text` means: as it is written or shown, its letter, or the words behind that.
///
/// # Errors
/// What to do instead, where there is none.
pub fn chosen(thread: &Thread, text: &str) -> Result<String, String> {
    among(choices(thread), text)
}

fn among(choices: Vec<String>, text: &str) -> Result<String, String> {
    if choices.is_empty() {
        return Err(String::from(
            "no question with choices waits in this thread, so nothing was said: write your message into it",
        ));
    }
    let meant = text.trim().to_lowercase();
    let means = |choice: &&String| {
        let shown = visible(choice).to_lowercase();
        let (mark, words) = shown.split_once(' ').unwrap_or((&shown, ""));
        let letter = mark.trim_matches(['(', ')']);
        [choice.to_lowercase().as_str(), &shown, words, mark, letter].contains(&meant.as_str())
    };
    let found = choices.iter().find(means).cloned();
    found.ok_or_else(|| {
        let offered: Vec<String> = choices.iter().map(|choice| visible(choice)).collect();
        format!(
            "`{}` is none of the choices, so nothing was said: {}",
            short(&visible(text), LONGEST),
            offered.join(", ")
        )
    })
}

fn of_text(text: &str) -> Vec<String> {
    let mut places = Vec::new();
    let mut from = 0;
    for letter in 'a'..='z' {
        let mark = format!("({letter}) ");
        let found = text
            .get(from..)
            .unwrap_or_default()
            .match_indices(&mark)
            .map(|(at, _)| from + at)
            // `f(a) + f(b)` offers nothing.
            .find(|at| {
                let before = text.get(..*at).and_then(|head| head.chars().next_back());
                before.is_none_or(char::is_whitespace)
            });
        let Some(at) = found else { break };
        places.push((at, at + mark.len()));
        from = at + mark.len();
    }
    if places.len() < 2 {
        return Vec::new();
    }
    let ends = places.iter().skip(1).map(|(at, _)| *at);
    let ends = ends.chain([text.len()]);
    let all: Vec<String> = places
        .iter()
        .zip(ends)
        .map(|((at, start), end)| {
            let words = text.get(*start..end).unwrap_or_default();
            // The last one ends with its line or its sentence's end.
            let words = words.trim().lines().next().unwrap_or_default().trim_end();
            let words = [" or", " and"]
                .iter()
                .find_map(|word| words.strip_suffix(word))
                .unwrap_or(words)
                .trim_end_matches([',', ';', '.', '?', ' ']);
            let mark = text.get(*at..*start).unwrap_or_default();
            short(&format!("{mark}{words}"), LONGEST)
        })
        .collect();
    let empty = all.iter().any(|choice| choice.chars().count() <= 4);
    if empty { Vec::new() } else { all }
}

#[cfg(test)]
mod tests {
    use super::{among, is_question, of_text};

    #[test]
    fn choices_are_read_however_they_stand() {
        for text in [
            "Which? (a) tokio (b) smol",
            "Which?\n(a) tokio\n(b) smol",
            "(a) tokio, or (b) smol?",
            "Which one: (a) tokio; (b) smol.",
            "(a) tokio\n(b) smol\nSay which.",
        ] {
            assert_eq!(of_text(text), ["(a) tokio", "(b) smol"], "{text}");
        }
    }

    #[test]
    fn a_question_ends_with_its_mark() {
        for text in [
            "Which one?",
            "Shall I (or not?)",
            "哪一个？",
            "**Go on?**  \n",
            "Question: tell me which.",
        ] {
            assert!(is_question(text), "{text}");
        }
        for text in [
            "",
            "Questions: none.",
            "Why? Because of `a`.",
            "See `f?` there.",
            "Done.",
        ] {
            assert!(!is_question(text), "{text}");
        }
    }

    #[test]
    fn a_choice_is_known_by_its_letter_and_its_words() {
        let choices = || of_text("Which? (a) tokio (b) smol");
        for text in ["(b) smol", "smol", " Smol ", "b", "(b)", "(B) smol"] {
            assert_eq!(among(choices(), text).as_deref(), Ok("(b) smol"), "{text}");
        }
        for text in ["", "()", "smo", "(c) smol", "c", "tokio smol"] {
            let why = among(choices(), text).expect_err(text);
            assert!(
                why.ends_with("nothing was said: (a) tokio, (b) smol"),
                "{why}"
            );
        }
        assert!(among(Vec::new(), "smol").is_err());
    }

    #[test]
    fn what_offers_nothing_has_no_choices() {
        for text in [
            "",
            "I called f(a) and f(b) there.",
            "(a) only one",
            "(b) x (c) y",
            "(a) (b) ",
            "see (a)",
        ] {
            assert!(of_text(text).is_empty(), "{text}");
        }
    }
}
