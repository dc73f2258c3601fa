//! The choices that a message offers: `(a) … (b) …`. Pure.

use super::short;
use crate::threads::{Role, Thread};

/// Most characters of a choice.
const LONGEST: usize = 80;

/// What the newest AGENT message offers, while the author has not answered it: each choice as it is written,
/// `(a) tokio`. Empty where there are not two or more, in order from `(a)`.
pub fn choices(thread: &Thread) -> Vec<String> {
    let mut newest = thread.messages.iter().rev();
    let newest = newest.find(|message| message.role == Role::Agent || !message.text.is_empty());
    match newest {
        Some(message) if message.role == Role::Agent => of_text(&message.text),
        _ => Vec::new(),
    }
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
    use super::of_text;

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
