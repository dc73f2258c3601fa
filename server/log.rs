//! L3. The newest lines of our own log, kept in memory so that an agent can read them (`log_read`). What
//! writes the log is a face's (`cli`); here a line is cleaned, freed of keys and kept.

use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::present::visible;

/// Lines that are kept.
const MOST: usize = 2_000;
/// Characters of one line.
const LONGEST: usize = 1_000;

static LINES: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// Keeps a line, in place of the oldest where there are too many.
pub fn keep(line: &str) {
    let line = cleaned(line, secrets());
    let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    if lines.len() >= MOST {
        lines.pop_front();
    }
    lines.push_back(line);
}

/// The newest lines, the newest first.
pub fn newest(limit: usize) -> Vec<String> {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    lines.iter().rev().take(limit).cloned().collect()
}

/// The values that the environment has under names of keys.
fn secrets() -> &'static [String] {
    static SECRETS: OnceLock<Vec<String>> = OnceLock::new();
    SECRETS.get_or_init(|| {
        let named = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.to_string_lossy().to_uppercase();
            let telling = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];
            let is_secret = telling.iter().any(|word| name.contains(word));
            is_secret.then(|| value.to_string_lossy().into_owned())
        });
        // A short value is a word that stands elsewhere too.
        let mut secrets: Vec<String> = named.filter(|value| value.len() >= 8).collect();
        // The longest first: one may be a part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    })
}

fn cleaned(line: &str, secrets: &[String]) -> String {
    let mut line = line.to_owned();
    for secret in secrets {
        line = line.replace(secret.as_str(), HIDDEN);
    }
    let mut before = "";
    let words: Vec<String> = line
        .split_whitespace()
        .map(|word| {
            let hide = looks_secret(word) || before.eq_ignore_ascii_case("bearer");
            before = word;
            if hide {
                HIDDEN.to_owned()
            } else {
                visible(word)
            }
        })
        .collect();
    words.join(" ").chars().take(LONGEST).collect()
}

const HIDDEN: &str = "[key]";

/// What keys look like, wherever they come from.
fn looks_secret(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let inner = word.rsplit(['=', ':', '"', '\'']).next().unwrap_or(word);
    let begins = [
        "sk-",
        "sk_",
        "ghp_",
        "gho_",
        "github_pat_",
        "xoxb-",
        "AIza",
        "AKIA",
    ];
    inner.len() >= 16 && begins.iter().any(|begin| inner.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_without_keys_and_controls() {
        let secrets = [String::from("hunter22-and-more")];
        let clean = |line: &str| cleaned(line, &secrets);
        assert_eq!(clean("a\nb\t c\u{1b}[31m\u{202e}"), "a b c⟨U+202E⟩");
        assert_eq!(clean("key=hunter22-and-more!"), "key=[key]!");
        assert_eq!(clean("x sk-ant-0123456789abcdef y"), "x [key] y");
        assert_eq!(clean("{\"k\":\"sk-ant-0123456789abcdef\"}"), "[key]");
        assert_eq!(
            clean("Authorization: Bearer abc"),
            "Authorization: Bearer [key]"
        );
        assert_eq!(clean(&"é".repeat(5000)).chars().count(), LONGEST);
    }

    #[test]
    fn the_newest_line_comes_first() {
        keep("the line before the last of this test");
        keep("the last line of this test");
        let lines = newest(MOST);
        let at = |text: &str| lines.iter().position(|line| line == text);
        assert!(at("the last line of this test") < at("the line before the last of this test"));
        for n in 0..MOST + 10 {
            keep(&format!("flood {n}"));
        }
        assert!(newest(usize::MAX).len() <= MOST);
    }
}
