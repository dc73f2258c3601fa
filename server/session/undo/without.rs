//! What a file is without a turn's writes. Pure.

use std::borrow::Cow;

use crate::edits::take_all_back;
use crate::files::is_binary;
use crate::store::Change;

/// `None` in the content: there is no file.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::session) struct Without {
    pub content: Option<Vec<u8>>,
    /// Lines (1-based) of the content that stay, for the author has changed them since.
    pub kept: Vec<usize>,
    /// Why the older writes stay.
    pub stays: Option<Stays>,
}

/// What the author has done with the file between two writes, or after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Stays {
    /// Changed what the turn made.
    Changed,
    Removed,
    /// Another file of that name.
    Made,
    /// Changed what has no lines that could be told apart.
    NoText,
}

impl Without {
    /// Nothing of the turn's stays.
    pub fn is_whole(&self) -> bool {
        self.kept.is_empty() && self.stays.is_none()
    }
}

/// `steps` are the turn's writes of the file in the order they were made; they are taken back in reverse, for the author
/// may have written between them.
pub(in crate::session) fn without(steps: &[&Change], now: Option<&[u8]>) -> Without {
    let mut content = now.map(<[u8]>::to_vec);
    let mut kept = Vec::new();
    let mut left = steps;
    while let Some((step, older)) = left.split_last() {
        if content == step.after {
            content.clone_from(&step.before);
            left = older;
            continue;
        }
        // Never made, or taken back by hand. A file that is gone, the author has removed.
        if content.is_some() && content == step.before {
            left = older;
            continue;
        }
        let stays = match (&step.before, &step.after, &content) {
            (_, Some(_), None) => Stays::Removed,
            (_, None, _) => Stays::Made,
            (None, ..) => Stays::Changed,
            (Some(_), Some(_), Some(now)) => {
                let is_edit = |step: &&Change| step.before.is_some() && step.after.is_some();
                let edits = left.iter().rev().take_while(|step| is_edit(step)).count();
                let (older, run) = left.split_at(left.len() - edits);
                let made = older.last().filter(|made| made.before.is_none());
                let goes_on = run.first().map(|edit| &edit.before);
                // What the turn made and the author has changed is the author's whole.
                if made.is_some_and(|made| Some(&made.after) == goes_on) {
                    Stays::Changed
                } else if let Some((text, lines)) = by_line(run, now) {
                    content = Some(text.into_bytes());
                    kept.extend(lines);
                    left = older;
                    continue;
                } else {
                    Stays::NoText
                }
            }
        };
        return Without {
            content,
            kept,
            stays: Some(stays),
        };
    }
    Without {
        content,
        kept,
        stays: None,
    }
}

/// `None`: some of it is no text.
fn by_line(edits: &[&Change], now: &[u8]) -> Option<(String, Vec<usize>)> {
    let text = |bytes: &'_ [u8]| match is_binary(bytes) {
        true => None,
        false => String::from_utf8(bytes.to_vec()).ok().map(Cow::from),
    };
    let steps: Option<Vec<_>> = edits
        .iter()
        .map(|edit| {
            let (before, after) = (edit.before.as_deref()?, edit.after.as_deref()?);
            Some((text(before)?, text(after)?))
        })
        .collect();
    Some(take_all_back(&steps?, &text(now)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `-`: there is no file.
    fn content(text: &str) -> Option<Vec<u8>> {
        (text != "-").then(|| text.as_bytes().to_vec())
    }

    fn check(steps: &[(&str, &str)], now: &str, expected: &str, stays: Option<Stays>) {
        let steps: Vec<Change> = steps
            .iter()
            .map(|(before, after)| Change {
                before: content(before),
                after: content(after),
                ..Change::default()
            })
            .collect();
        let steps: Vec<&Change> = steps.iter().collect();
        let found = without(&steps, content(now).as_deref());
        assert_eq!((found.content, found.stays), (content(expected), stays));
        assert_eq!(found.kept, Vec::<usize>::new());
    }

    #[test]
    fn what_stands_as_the_turn_left_it_comes_back_whole() {
        check(&[("a\n", "b\n"), ("b\n", "c\n")], "c\n", "a\n", None);
        check(&[("-", "a\n"), ("a\n", "b\n")], "b\n", "-", None);
        check(&[("a\n", "b\n"), ("b\n", "-")], "-", "a\n", None);
        check(&[("-", "a\n"), ("a\n", "-")], "-", "-", None);
        check(&[("a\n", "-"), ("-", "b\n")], "b\n", "a\n", None);
        check(&[("a\0", "b\0")], "b\0", "a\0", None);
    }

    #[test]
    fn what_the_author_wrote_between_two_writes_stays() {
        let mine = Some(Stays::Changed);
        check(
            &[("-", "a\n"), ("a\nmine\n", "b\nmine\n")],
            "b\nmine\n",
            "a\nmine\n",
            mine,
        );
        check(
            &[("a\n", "b\n"), ("b\nmine\n", "-")],
            "-",
            "a\nmine\n",
            None,
        );
        check(&[("-", "a\n"), ("a\nmine\n", "-")], "-", "a\nmine\n", mine);
        check(
            &[("a\n", "b\n"), ("-", "c\n")],
            "c\n",
            "-",
            Some(Stays::Removed),
        );
        check(
            &[("a\n", "-"), ("mine\n", "b\n")],
            "b\n",
            "mine\n",
            Some(Stays::Made),
        );
    }

    #[test]
    fn what_the_author_has_made_their_own_is_left() {
        let made = [("-", "a\n"), ("a\n", "b\n")];
        check(&made, "b\nmine\n", "b\nmine\n", Some(Stays::Changed));
        check(&[("a\n", "b\n")], "-", "-", Some(Stays::Removed));
        check(
            &[("a\n", "-"), ("-", "b\n")],
            "-",
            "-",
            Some(Stays::Removed),
        );
        check(&[("a\n", "-")], "mine\n", "mine\n", Some(Stays::Made));
        check(&[("a\0", "b\0")], "c\0", "c\0", Some(Stays::NoText));
    }

    #[test]
    fn what_was_never_written_is_passed_over() {
        check(&[("a\n", "b\n"), ("b\n", "-")], "b\n", "a\n", None);
        check(&[("a\n", "b\n"), ("b\n", "c\n")], "b\n", "a\n", None);
        check(&[("-", "a\n"), ("a\n", "b\n")], "a\n", "-", None);
    }
}
