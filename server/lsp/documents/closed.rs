//! Which URIs were closed, and when last: a number that is another one after each time.

use std::collections::HashMap;

/// So many URIs are remembered; a session may last for weeks.
const MOST: usize = 1024;

#[derive(Default)]
pub(super) struct Closed {
    /// How often any was closed.
    count: u64,
    last: HashMap<String, u64>,
    /// The number of those that are not remembered.
    others: u64,
}

impl Closed {
    pub fn count(&mut self, uri: &str) {
        self.count += 1;
        if self.last.len() >= MOST && !self.last.contains_key(uri) {
            // Each gets another number once, which costs a client one report more than it needs.
            self.last.clear();
            self.others = self.count;
        } else {
            self.last.insert(uri.to_owned(), self.count);
        }
    }

    pub fn last(&self, uri: &str) -> u64 {
        self.last.get(uri).copied().unwrap_or(self.others)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_time_it_is_another_number_and_what_is_kept_has_an_end() {
        let mut closed = Closed::default();
        let mut seen = HashSet::from([closed.last("kept")]);
        for at in 0..10 * MOST {
            closed.count(&at.to_string());
            if at % 100 == 0 {
                closed.count("kept");
                assert!(seen.insert(closed.last("kept")), "{at}");
            }
            assert!(closed.last.len() <= MOST);
        }
        let mut closed = Closed::default();
        closed.count("2");
        let (one, other) = (closed.last("1"), closed.last("2"));
        closed.count("1");
        assert_ne!(closed.last("1"), one);
        assert_eq!(closed.last("2"), other, "of another file it stays");
    }
}
