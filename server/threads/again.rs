//! A thread found again in a later text of its file. An id is made of a thread's first words and, among threads that
//! begin alike, of its place: it is another one's when one of them comes or goes, and nobody's when the author edits
//! those words.

use std::cell::LazyCell;
use std::collections::HashMap;

use super::identity::{namesakes, words};
use super::{Message, Role, Thread};
use crate::text::Document;

/// Where in `now` the thread stands that was `known` among `were`. `None`: it is gone, or cannot be told from others.
pub fn again<'a>(known: &Thread, were: &[Thread], now: &'a [Thread]) -> Option<&'a Thread> {
    let by_id = now.iter().find(|thread| thread.id == known.id);
    let alike = namesakes(&known.id, now);
    if alike == namesakes(&known.id, were) {
        return by_id;
    }
    if alike == 0 {
        return reworded(known, were, now);
    }
    // One that begins alike came or went: what was said tells which one it is, if it did before.
    only(with_the_words_of(known, were))?;
    only(with_the_words_of(known, now))
}

/// The threads of `were` that more or fewer begin like by now: the id of each, and the one that it has among `now`;
/// `None`: it is gone. By what was said in it, and where that does not tell it from others, by its place before or behind
/// what changed between the texts `before` and `after`.
pub fn renamed(
    (were, before): (&[Thread], &Document),
    (now, after): (&[Thread], &Document),
) -> Vec<(String, Option<String>)> {
    let (then, since) = between(were, now);
    let (then, since) = (counts(then), counts(since));
    let mut others = were
        .iter()
        .filter(|thread| then.get(words(&thread.id)) != since.get(words(&thread.id)))
        .peekable();
    if others.peek().is_none() {
        return Vec::new();
    }
    // Both texts are read for it, and most changes are to one thread's first words, which no other begins with.
    let kept = LazyCell::new(|| kept(before.text().as_bytes(), after.text().as_bytes()));
    let at_its_place = |thread: &Thread| {
        if !now.iter().any(|one| words(&one.id) == words(&thread.id)) {
            return None;
        }
        let (front, back) = *kept;
        let span = thread.span();
        let start = match span.start.checked_sub(before.len() - back) {
            Some(behind) => after.len() - back + behind,
            None if span.end <= front => span.start,
            None => return None,
        };
        let is_there =
            |one: &&Thread| one.span().start == start && words(&one.id) == words(&thread.id);
        now.iter().find(is_there)
    };
    let mut taken: Vec<&str> = Vec::new();
    let mut renamed = Vec::new();
    for thread in others {
        let by_words = only(with_the_words_of(thread, were))
            .and_then(|_| only(with_the_words_of(thread, now)));
        let found = by_words
            .or_else(|| at_its_place(thread))
            .filter(|found| !taken.contains(&found.id.as_str()));
        taken.extend(found.map(|found| found.id.as_str()));
        renamed.push((thread.id.clone(), found.map(|found| found.id.clone())));
    }
    renamed
}

/// The threads between those at the beginning and at the end that have the same ids in both.
fn between<'a>(were: &'a [Thread], now: &'a [Thread]) -> (&'a [Thread], &'a [Thread]) {
    let same = |(one, other): &(&Thread, &Thread)| one.id == other.id;
    let front = were.iter().zip(now).take_while(same).count();
    let (were, now) = (&were[front..], &now[front..]);
    let ends = were.iter().rev().zip(now.iter().rev());
    let back = ends.take_while(same).count();
    (&were[..were.len() - back], &now[..now.len() - back])
}

/// How many threads have the same first words.
fn counts(threads: &[Thread]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for thread in threads {
        *counts.entry(words(&thread.id)).or_default() += 1;
    }
    counts
}

/// How many bytes at the beginning and at the end two texts have in common; none of them twice.
fn kept(before: &[u8], after: &[u8]) -> (usize, usize) {
    let same = |(one, other): &(&u8, &u8)| one == other;
    let front = before.iter().zip(after).take_while(same).count();
    let shorter = before.len().min(after.len()) - front;
    let ends = before.iter().rev().zip(after.iter().rev());
    (front, ends.take(shorter).take_while(same).count())
}

/// Whether several threads of `now` begin with all that was said in the one that was `known`.
pub fn stands_twice(known: &Thread, now: &[Thread]) -> bool {
    with_the_words_of(known, now).nth(1).is_some()
}

/// Whether what the author said first in the thread that was `known` was said in another thread of `now`: two that touch
/// are one.
pub fn is_joined(known: &Thread, now: &[Thread]) -> bool {
    let Some(asked) = known.author_texts().next() else {
        return false;
    };
    let others = now.iter().filter(|thread| thread.id != known.id);
    // What another begins with is its own question, though it may be in the same words.
    let mut texts = others.flat_map(|thread| thread.author_texts().skip(1));
    texts.any(|text| text == asked)
}

/// Whether nothing was said in the thread since it was `known`, and nothing taken away.
pub fn is_unchanged(known: &Thread, now: &Thread) -> bool {
    let (before, after) = (known.spoken(), now.spoken());
    before.len() == after.len() && is_beginning(before, after)
}

fn with_the_words_of<'a>(known: &Thread, among: &'a [Thread]) -> impl Iterator<Item = &'a Thread> {
    among.iter().filter(|thread| {
        words(&thread.id) == words(&known.id) && is_beginning(known.spoken(), thread.spoken())
    })
}

fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let one = all.next()?;
    all.next().is_none().then_some(one)
}

fn is_beginning(before: &[Message], after: &[Message]) -> bool {
    let same =
        |(one, other): (&Message, &Message)| one.role == other.role && one.text == other.text;
    before.len() <= after.len() && before.iter().zip(after).all(same)
}

/// The one thread that is new where `known` alone is missing, if its first words are nearly those.
fn reworded<'a>(known: &Thread, were: &[Thread], now: &'a [Thread]) -> Option<&'a Thread> {
    let is_in = |thread: &Thread, others: &[Thread]| others.iter().any(|one| one.id == thread.id);
    let missing = only(were.iter().filter(|thread| !is_in(thread, now)))?;
    let new = only(now.iter().filter(|thread| !is_in(thread, were)))?;
    let first = |thread: &Thread| {
        let said = |message: &&Message| message.role == Role::Author && !message.text.is_empty();
        thread.messages.iter().position(|message| said(&message))
    };
    let (at, place) = (first(known)?, first(new)?);
    let (before, after) = (known.spoken(), new.spoken());
    let is_same = missing.id == known.id
        && at == place
        && is_like(&before.get(at)?.text, &after.get(at)?.text)
        && is_beginning(before.get(at + 1..)?, after.get(at + 1..)?);
    is_same.then_some(new)
}

/// Whether half of the longer one or more is the same at the beginning and at the end: a slip mended, words added.
fn is_like(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let (shorter, longer) = (one.len().min(other.len()), one.len().max(other.len()));
    let begin = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let ends = one.iter().rev().zip(other.iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    (begin + end).min(shorter) * 2 >= longer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comments::{Syntax, detect};
    use crate::threads::find;

    fn threads(text: &str) -> Vec<Thread> {
        find(
            "a.rs",
            text,
            &Syntax::parse(text, detect("a.rs", None, text)),
        )
    }

    /// The line at which the thread that begins at `line` of `before` is found in `after`.
    fn found(before: &str, line: usize, after: &str) -> Option<usize> {
        let (were, now) = (threads(before), threads(after));
        let known = were.iter().find(|thread| thread.first_line() == line);
        again(known.expect("a thread"), &were, &now).map(Thread::first_line)
    }

    #[test]
    fn a_thread_is_found_by_its_id_while_as_many_begin_alike() {
        let text = "// AUTHOR: why?\na();\n// AUTHOR: why?\nb();\n";
        assert_eq!(found(text, 2, text), Some(2));
        assert_eq!(found(text, 2, &format!("x();\n{text}")), Some(3));
        assert_eq!(found(text, 0, "a();\n"), None);
    }

    #[test]
    fn a_thread_moved_below_another_is_in_that_one() {
        let before = threads("// AUTHOR: why?\na();\n// AUTHOR: how?\nb();\n");
        let known = &before[1];
        for (after, joined) in [
            ("// AUTHOR: why?\n// AUTHOR: how?\na();\nb();\n", true),
            ("// AUTHOR: why?\na();\nb();\n", false),
            ("// AUTHOR: why?\n// AGENT: how?\na();\nb();\n", false),
            ("// AUTHOR: why?\na();\nb();\n// AUTHOR: how?\n", false),
        ] {
            assert_eq!(is_joined(known, &threads(after)), joined, "{after}");
        }
    }

    #[test]
    fn of_threads_that_begin_alike_the_words_tell_which_one_is_left() {
        let other = "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR: and now?\na();\n";
        let ours = "// AUTHOR: why?\nb();\n";
        assert_eq!(found(&format!("{other}{ours}"), 4, ours), None);
        let ours = "// AUTHOR: why?\n// AGENT: Thus.\n// AUTHOR: how?\nb();\n";
        assert_eq!(found(&format!("{other}{ours}"), 4, ours), Some(0));
        assert_eq!(found(&format!("{other}{ours}"), 0, ours), None);
        assert_eq!(
            found(ours, 0, &format!("// AUTHOR: why?\nc();\n{ours}")),
            Some(2)
        );
        // Two with the same words were never told apart by them.
        let same = "// AUTHOR: why?\na();\n// AUTHOR: why?\nb();\n";
        assert_eq!(found(same, 0, "// AUTHOR: why?\nb();\n"), None);
    }

    /// The ids that threads have in the later text, by the lines that they begin at: then, and now.
    fn lines(before: &str, after: &str) -> Vec<(usize, Option<usize>)> {
        let (were, now) = (threads(before), threads(after));
        let line = |among: &[Thread], id: &str| {
            let found = among.iter().find(|thread| thread.id == id);
            found.expect("a thread").first_line()
        };
        let (before, after) = (Document::new(before, 0), Document::new(after, 1));
        renamed((&were, &before), (&now, &after))
            .into_iter()
            .map(|(old, new)| (line(&were, &old), new.map(|new| line(&now, &new))))
            .collect()
    }

    #[test]
    fn threads_that_begin_alike_are_told_apart_when_one_comes_or_goes() {
        let one = "// AUTHOR: why?\n// AGENT: So.\na();\n";
        let two = "// AUTHOR: why?\n// AGENT: Thus.\nb();\n";
        let new = "// AUTHOR: why?\nc();\n";
        let both = format!("{one}{two}");
        assert_eq!(lines(&both, &format!("x();\n{both}")), []);
        // By their words, whatever changed in the text.
        assert_eq!(lines(&both, two), [(0, None), (3, Some(0))]);
        assert_eq!(lines(&both, one), [(0, Some(0)), (3, None)]);
        let three = format!("{new}{both}");
        assert_eq!(lines(&both, &three), [(0, Some(2)), (3, Some(5))]);
        assert_eq!(lines(two, &both), [(0, Some(3))]);
        // Where the words are the same, by their place.
        let same = format!("{one}{one}");
        assert_eq!(
            lines(&same, &format!("a();\n{one}")),
            [(0, None), (3, Some(1))]
        );
        assert_eq!(
            lines(&same, &format!("{one}a();\n")),
            [(0, Some(0)), (3, None)]
        );
        let three = format!("{new}{new}");
        assert_eq!(
            lines(&three, &format!("x();\n// AUTHOR: why?\ny();\n{three}")),
            [(0, Some(3)), (2, Some(5))]
        );
    }

    #[test]
    fn first_words_that_were_mended_are_the_same_threads() {
        let before = "// AUTHOR: why is it so\na();\n// AUTHOR: other\n";
        for after in [
            "why is it so?",
            "why is it not so",
            "But why is it so",
            "why is it so?\n// AUTHOR: and now?",
        ] {
            let after = format!("// AUTHOR: {after}\na();\n// AUTHOR: other\n");
            assert_eq!(found(before, 0, &after), Some(0), "{after}");
        }
        for after in [
            "// AUTHOR: rename this\na();\n// AUTHOR: other\n",
            "// AUTHOR: why is it so?\na();\n",
        ] {
            assert_eq!(found(before, 0, after), None, "{after}");
        }
    }

    #[test]
    fn what_was_said_since_is_noticed() {
        let known = &threads("// AUTHOR: why?\n")[0];
        for (text, same) in [
            ("x();\n// AUTHOR: why?\n// AUTHOR:\n", true),
            ("// AUTHOR: why?\n// AUTHOR: wait\n", false),
            ("// AUTHOR: why?\n//   or not?\n", false),
        ] {
            assert_eq!(is_unchanged(known, &threads(text)[0]), same, "{text}");
        }
    }
}
