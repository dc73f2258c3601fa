//! How well a name fits what was typed. Pure; bytes are compared, ASCII letters without their case, so that a
//! hundred thousand names are looked through at every key.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How well `name` fits; `None`: the letters of `typed` do not stand in it in their order.
pub(super) fn score(typed: &str, name: &str) -> Option<i32> {
    let length = i32::try_from(name.len()).unwrap_or(i32::MAX / 2);
    if typed.is_empty() {
        let depth = name.bytes().filter(|b| *b == b'/').count();
        return Some(-length - 100 * i32::try_from(depth).unwrap_or(1_000));
    }
    let last = name.rfind('/').map_or(0, |slash| slash + 1);
    let (typed, whole) = (typed.as_bytes(), name.as_bytes());
    let own = whole.get(last..).unwrap_or_default();
    // The file's own name counts before its folders.
    let points = match letters(typed, own) {
        Some(points) => points + 300,
        None => letters(typed, whole)?,
    };
    Some(points - length)
}

fn letters(typed: &[u8], name: &[u8]) -> Option<i32> {
    if let Some(at) = find(typed, name) {
        let mut points = 400;
        if is_start(name, at) {
            points += 200;
        }
        if at == 0 {
            points += 100;
        }
        if typed.len() == name.len() {
            points += 200;
        }
        return Some(points);
    }
    let (mut at, mut points, mut next) = (0, 0, usize::MAX);
    for wanted in typed {
        let found = at
            + name
                .get(at..)?
                .iter()
                .position(|b| b.eq_ignore_ascii_case(wanted))?;
        if found == next {
            points += 15;
        } else if is_start(name, found) {
            points += 20;
        }
        next = found + 1;
        at = next;
    }
    Some(points)
}

fn find(typed: &[u8], name: &[u8]) -> Option<usize> {
    name.windows(typed.len())
        .position(|part| part.eq_ignore_ascii_case(typed))
}

/// Whether a word begins at `at`: behind a separator, or with a capital behind a small letter.
fn is_start(name: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| name.get(before)) else {
        return true;
    };
    !before.is_ascii_alphanumeric()
        || (before.is_ascii_lowercase() && name.get(at).is_some_and(u8::is_ascii_uppercase))
}

/// Keeps the best few of many.
pub(super) struct Best<T> {
    most: usize,
    /// The worst on top. What came first is better among equals.
    kept: BinaryHeap<Reverse<(i32, Reverse<usize>)>>,
    items: std::collections::HashMap<usize, T>,
    seen: usize,
}

impl<T> Best<T> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            kept: BinaryHeap::with_capacity(most + 1),
            items: std::collections::HashMap::with_capacity(most + 1),
            seen: 0,
        }
    }

    pub(super) fn offer(&mut self, points: i32, item: impl FnOnce() -> T) {
        let key = (points, Reverse(self.seen));
        self.seen += 1;
        if self.kept.len() == self.most && self.kept.peek().is_some_and(|worst| key <= worst.0) {
            return;
        }
        self.items.insert(key.1.0, item());
        self.kept.push(Reverse(key));
        if self.kept.len() > self.most
            && let Some(Reverse((_, Reverse(worst)))) = self.kept.pop()
        {
            self.items.remove(&worst);
        }
    }

    /// The best first.
    pub(super) fn finish(mut self) -> Vec<T> {
        let mut kept: Vec<_> = self.kept.into_iter().map(|Reverse(key)| key).collect();
        kept.sort_unstable_by(|a, b| b.cmp(a));
        kept.into_iter()
            .filter_map(|(_, Reverse(number))| self.items.remove(&number))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order<'a>(typed: &str, names: &[&'a str]) -> Vec<&'a str> {
        let mut best = Best::new(3);
        for name in names {
            if let Some(points) = score(typed, name) {
                best.offer(points, || *name);
            }
        }
        best.finish()
    }

    #[test]
    fn the_files_own_name_comes_first() {
        assert_eq!(
            order(
                "net",
                &[
                    "network/a.rs",
                    "src/kernel/t.rs",
                    "src/net.rs",
                    "src/planet.rs"
                ]
            ),
            ["src/net.rs", "network/a.rs", "src/planet.rs"]
        );
        assert_eq!(
            order("src/n", &["src/net.rs", "x/src_n.rs"]),
            ["src/net.rs"]
        );
        assert_eq!(
            order("NR", &["Net_Run.rs", "an.rs"]),
            ["Net_Run.rs", "an.rs"]
        );
        assert_eq!(order("ü", &["ü.rs", "u.rs"]), ["ü.rs"]);
        assert_eq!(
            order("", &["a/b/c.rs", "long_name.rs", "a.rs"]),
            ["a.rs", "long_name.rs", "a/b/c.rs"]
        );
        assert!(order("zzz", &["a.rs"]).is_empty());
    }

    #[test]
    fn of_many_the_best_are_kept_and_the_first_among_equals() {
        let mut best = Best::new(2);
        for (number, points) in [5, 1, 9, 5, 9].into_iter().enumerate() {
            best.offer(points, || number);
        }
        assert_eq!(best.finish(), [2, 4]);
        let mut best = Best::new(2);
        (0..100).for_each(|number| best.offer(7, || number));
        assert_eq!(best.finish(), [0, 1]);
    }
}
