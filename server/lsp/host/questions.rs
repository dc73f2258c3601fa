//! A question to the author: in which order its answers stand.

use crate::host::Question;

/// Stands before the answers where none of them is a no.
const NOT_NOW: &str = "Not now";

/// The answers in the order in which they are shown. `fills_in_first`: Return alone takes the first, and it may have
/// been meant for the text, so that this is one by which nothing happens.
pub(super) fn titles(question: &Question, fills_in_first: bool) -> Vec<&str> {
    let mut titles: Vec<&str> = question.choices.iter().map(String::as_str).collect();
    if fills_in_first {
        let no = match question.last_is_no {
            true => titles.pop(),
            false => None,
        };
        titles.insert(0, no.unwrap_or(NOT_NOW));
    }
    titles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_return_takes_is_a_no() {
        let question = |last_is_no| Question {
            text: String::new(),
            choices: ["Once", "Always", "Refuse"].map(String::from).to_vec(),
            last_is_no,
        };
        let all = |last_is_no, first| titles(&question(last_is_no), first).join(" ");
        assert_eq!(all(true, false), "Once Always Refuse");
        assert_eq!(all(true, true), "Refuse Once Always");
        assert_eq!(all(false, true), "Not now Once Always Refuse");
    }
}
