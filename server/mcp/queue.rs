//! The calls that write, in the order in which they came: `rmcp` runs each in a task of its own, and which task begins
//! first is anybody's guess.

use std::sync::Arc;

use tokio::sync::watch;

/// The places that are taken, in their order.
#[derive(Default)]
pub(super) struct Queue(Arc<watch::Sender<Vec<u64>>>);

impl Queue {
    /// A place behind all others.
    pub fn stand(&self) -> Turn {
        let mut mine = 0;
        self.0.send_modify(|line| {
            mine = line.last().map_or(0, |last| last + 1);
            line.push(mine);
        });
        Turn {
            line: self.0.clone(),
            mine,
        }
    }
}

/// A place in the queue, until it is dropped.
pub(super) struct Turn {
    line: Arc<watch::Sender<Vec<u64>>>,
    mine: u64,
}

impl Turn {
    /// Waits for all that came before.
    pub async fn comes(&self) {
        let mut line = self.line.subscribe();
        let is_mine = |line: &Vec<u64>| line.first() == Some(&self.mine);
        // An error: nobody is left who could be waited for.
        let _ = line.wait_for(is_mine).await;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.line
            .send_modify(|line| line.retain(|place| *place != self.mine));
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn who_leaves_the_queue_is_not_waited_for() {
        let queue = Queue::default();
        let (first, second, third) = (queue.stand(), queue.stand(), queue.stand());
        let is_next = |turn: &Turn| turn.comes().now_or_never().is_some();
        assert!(is_next(&first) && !is_next(&second) && !is_next(&third));
        drop(second);
        assert!(!is_next(&third), "the first is at work still");
        let fourth = queue.stand();
        drop(first);
        assert!(is_next(&third) && !is_next(&fourth));
        drop(third);
        assert!(is_next(&fourth));
        drop(fourth);
        assert!(is_next(&queue.stand()));
    }
}
