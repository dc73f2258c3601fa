//! An author who types while an agent edits the same lines, and an undo afterwards, against a simple model:
//! each key is a character of its own, and all of them are there at the end. `PROPTEST_CASES` sets how many
//! cases are tried (2,000 without).

use proptest::prelude::*;
use proptest::sample::Index;

use crate::edits::back::{end_of, lines, take_all_back};

/// What happens to the text.
#[derive(Clone, Debug)]
enum Step {
    /// The author types so many keys somewhere.
    Keys(Index, u8),
    /// The author breaks a line.
    Break(Index),
    /// The author removes a character that they did not type in this turn.
    Rub(Index),
    /// The agent writes a line anew; keys that stand in it stay.
    Write(Index, u8),
    /// The agent puts lines in.
    Put(Index, u8),
    /// The agent removes a line in which no key stands.
    Remove(Index),
    /// The agent ends the last line, or takes its end away.
    End,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (any::<Index>(), 1..4u8).prop_map(|(at, n)| Step::Keys(at, n)),
        1 => any::<Index>().prop_map(Step::Break),
        1 => any::<Index>().prop_map(Step::Rub),
        3 => (any::<Index>(), 0..4u8).prop_map(|(at, n)| Step::Write(at, n)),
        2 => (any::<Index>(), 1..4u8).prop_map(|(at, n)| Step::Put(at, n)),
        1 => any::<Index>().prop_map(Step::Remove),
        1 => Just(Step::End),
    ];
    prop::collection::vec(step, 1..24)
}

/// Few different lines, so that many are alike.
fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["", "a", "b", "ab c", "}", "  x"]);
    let break_ = prop::sample::select(vec!["\n", "\n", "\r\n", "\r"]);
    (prop::collection::vec(line, 0..12), break_, any::<bool>()).prop_map(|(lines, with, end)| {
        let mut text = lines.join(with);
        if end && !text.is_empty() {
            text.push_str(with);
        }
        text
    })
}

fn is_key(c: char) -> bool {
    ('\u{e000}'..'\u{f8ff}').contains(&c)
}

#[derive(Default)]
struct World {
    text: String,
    keys: Vec<char>,
    /// The agent's writes, as they are kept for undo.
    writes: Vec<(String, String)>,
}

impl World {
    fn key(&mut self) -> char {
        let key = char::from_u32(0xe000 + self.keys.len() as u32).unwrap_or('\u{f000}');
        self.keys.push(key);
        key
    }

    fn place(&self, at: Index) -> usize {
        let places: Vec<usize> = self
            .text
            .char_indices()
            .map(|(at, _)| at)
            .chain([self.text.len()])
            .collect();
        *at.get(&places)
    }

    fn lines(&self) -> Vec<String> {
        lines(&self.text).into_iter().map(str::to_owned).collect()
    }

    fn write(&mut self, lines: Vec<String>) {
        let after = lines.concat();
        if after != self.text {
            let before = std::mem::replace(&mut self.text, after.clone());
            self.writes.push((before, after));
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Keys(at, count) => {
                let at = self.place(*at);
                let keys: String = (0..*count).map(|_| self.key()).collect();
                self.text.insert_str(at, &keys);
            }
            Step::Break(at) => {
                let at = self.place(*at);
                self.text.insert(at, '\n');
            }
            Step::Rub(at) => {
                let at = self.place(*at);
                let rest = self.text.get(at..).and_then(|rest| rest.chars().next());
                if rest.is_some_and(|c| !is_key(c)) {
                    self.text.remove(at);
                }
            }
            Step::Write(at, kind) => {
                let mut lines = self.lines();
                if lines.is_empty() {
                    return;
                }
                let at = at.index(lines.len());
                let line = &mut lines[at];
                let end = end_of(line).to_owned();
                let keys: String = line.chars().filter(|c| is_key(*c)).collect();
                *line = format!("{keys}{}{end}", ["a", "new", "}", ""][usize::from(*kind)]);
                self.write(lines);
            }
            Step::Put(at, count) => {
                let mut lines = self.lines();
                let place = at.index(lines.len() + 1);
                let is_behind = place == lines.len();
                if let Some(last) = lines
                    .last_mut()
                    .filter(|l| is_behind && end_of(l).is_empty())
                {
                    last.push('\n');
                }
                for n in 0..*count {
                    lines.insert(place, format!("{}\n", ["a", "put", ""][usize::from(n) % 3]));
                }
                self.write(lines);
            }
            Step::Remove(at) => {
                let mut lines = self.lines();
                if lines.is_empty() {
                    return;
                }
                let place = at.index(lines.len());
                if !lines[place].contains(is_key) {
                    lines.remove(place);
                    self.write(lines);
                }
            }
            Step::End => {
                let mut lines = self.lines();
                if let Some(last) = lines.last_mut() {
                    match last.len() - end_of(last).len() {
                        bare if bare < last.len() => last.truncate(bare),
                        _ => last.push('\n'),
                    }
                }
                self.write(lines);
            }
        }
    }

    /// The lines, without their ends, that hold a key from the one of this number on.
    fn typed_since(&self, first: usize) -> Vec<String> {
        let late = &self.keys[first..];
        let bare = lines(&self.text)
            .into_iter()
            .map(|line| &line[..line.len() - end_of(line).len()]);
        bare.filter(|line| line.contains(late))
            .map(str::to_owned)
            .collect()
    }

    /// As `Session::undo` does it.
    fn undo(&mut self) -> Vec<usize> {
        let steps: Vec<_> = self
            .writes
            .iter()
            .map(|(b, a)| (b.into(), a.into()))
            .collect();
        let (text, kept) = take_all_back(&steps, &self.text);
        self.text = text;
        let count = self.lines().len().max(1);
        assert!(
            kept.iter().all(|line| (1..=count + 1).contains(line)),
            "{kept:?}"
        );
        kept
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn no_key_is_ever_lost_when_a_turn_is_undone(
        text in text(), during in steps(), after in steps()
    ) {
        let mut world = World { text, ..World::default() };
        for step in &during {
            world.step(step);
        }
        let first = world.keys.len();
        // The turn is over: what follows is the author's.
        for step in after.iter().filter(|s| matches!(s, Step::Keys(..) | Step::Break(_) | Step::Rub(_))) {
            world.step(step);
        }
        let typed = world.typed_since(first);
        world.undo();
        // Each is a line still, and no other is part of it.
        prop_assert_eq!(world.typed_since(first), typed);
        for key in &world.keys {
            prop_assert_eq!(world.text.matches(*key).count(), 1, "{:?} in {:?}", key, world.text);
        }
    }

    #[test]
    fn a_turn_that_nobody_typed_into_is_undone_to_the_byte(text in text(), turn in steps()) {
        let mut world = World { text: text.clone(), ..World::default() };
        for step in turn.iter().filter(|s| matches!(s, Step::Write(..) | Step::Put(..) | Step::Remove(_) | Step::End)) {
            world.step(step);
        }
        let kept = world.undo();
        prop_assert_eq!((world.text, kept), (text, vec![]));
    }
}

fn cases() -> u32 {
    let set = std::env::var("PROPTEST_CASES").ok();
    set.and_then(|cases| cases.parse().ok()).unwrap_or(2_000)
}
