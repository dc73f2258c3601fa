//! What an agent was told in a run, to know it again in an address that it asks for: text of the workspace
//! could leave that way.

use std::sync::{Mutex, PoisonError};

use crate::models::{Block, Turn};

/// Bytes that are kept. Who was told more is asked about every query.
const MOST: usize = 8 << 20;
/// Letters and digits in a row that tell where they come from.
const WINDOW: usize = 12;
/// Characters of a query that can be read at a glance.
const SHORT: usize = 64;

#[derive(Default)]
pub struct Told {
    text: Mutex<Text>,
}

#[derive(Default)]
struct Text {
    /// Letters and digits alone, small.
    squeezed: String,
    is_over: bool,
}

fn squeeze(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
}

impl Told {
    pub fn hear(&self, text: &str) {
        let mut kept = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_over || kept.squeezed.len() + text.len() > MOST {
            (kept.is_over, kept.squeezed) = (true, String::new());
            return;
        }
        kept.squeezed.extend(squeeze(text));
        // No match over the border.
        kept.squeezed.push(' ');
    }

    /// A conversation that goes on.
    pub fn hear_all(&self, turns: &[Turn]) {
        for block in turns.iter().flat_map(|turn| &turn.blocks) {
            match block {
                Block::Text { text } => self.hear(text),
                Block::ToolResult { content, .. } => self.hear(content),
                _ => {}
            }
        }
    }

    /// Why the query of an address, decoded, may carry what nobody wants to send; `None`: short and plain words.
    pub fn suspects(&self, query: &str) -> Option<&'static str> {
        if query.chars().count() > SHORT {
            return Some("Its query is long.");
        }
        let packed = |word: &str, most: usize| {
            let digits = word.chars().filter(char::is_ascii_digit).count();
            let letters = word.chars().filter(|c| c.is_alphabetic()).count();
            digits >= 8 || digits > 0 && letters > 0 && digits + letters >= most
        };
        let words = query.split(|c: char| !c.is_alphanumeric());
        // Keys have their parts joined: `sk-live-42…`.
        let mut joined = query.split(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
        if words
            .clone()
            .any(|word| word.chars().count() >= 20 || packed(word, 8))
            || joined.any(|word| packed(word, 14))
        {
            return Some("Its query looks like a key or like packed text.");
        }
        let kept = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let letters: Vec<char> = squeeze(query).collect();
        let known = letters.windows(WINDOW).any(|window| {
            let window: String = window.iter().collect();
            memchr::memmem::find(kept.squeezed.as_bytes(), window.as_bytes()).is_some()
        });
        if known || kept.is_over {
            return Some("Its query holds text of this workspace.");
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_workspace_is_known_again() {
        let told = Told::default();
        told.hear("let password = \"Correct Horse\";\n// battery_staple");
        told.hear("another file");
        for (query, suspected) in [
            ("q serde derive", false),
            ("page 2", false),
            ("v 1.2.3", false),
            ("q password", false),
            ("q CORRECT-horse", true),
            ("a correct b horse", false),
            ("q correct horse battery", true),
            ("battery_staple", true),
            // Over the border of two texts.
            ("staple another", false),
            ("key hunter2024", true),
            ("key sk-live-abc-42-def", true),
            ("q serde_json 1.0", false),
            ("id 12345678", true),
            ("d Y29ycmVjdCBob3Jz", true),
            ("d 636f7272656374", true),
            ("d abcdefghijabcdefghij", true),
        ] {
            assert_eq!(told.suspects(query).is_some(), suspected, "{query}");
        }
        assert!(told.suspects(&"a ".repeat(40)).is_some());
    }

    #[test]
    fn who_was_told_too_much_is_asked_about_everything() {
        let told = Told::default();
        assert_eq!(told.suspects("page 2"), None);
        told.hear(&"x".repeat(MOST));
        assert_eq!(told.suspects("page 2"), None);
        told.hear("x");
        assert!(told.suspects("page 2").is_some());
    }
}
