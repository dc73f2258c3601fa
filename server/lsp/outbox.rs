//! What goes out: a queue that any thread fills and one thread writes, a frame a write, so that a client
//! that does not read never keeps the server from reading.
//!
//! Memory is bounded: of the diagnostics and the threads of one file only the newest wait, and past [`CROWDED`] bytes
//! what can be left out is left out, until past [`ABANDONED`] the client counts as gone.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

/// Bytes that may wait before requests are refused and reports left out.
const CROWDED: usize = 32 << 20;
/// Bytes after which the client counts as gone.
const ABANDONED: usize = 256 << 20;

#[derive(Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    news: Condvar,
    drained: Condvar,
}

#[derive(Default)]
struct Queue {
    entries: VecDeque<Entry>,
    /// The newest list of each subject that waits: a file's diagnostics by its URI, its threads.
    newest: HashMap<String, Vec<u8>>,
    bytes: usize,
    writing: bool,
    closed: bool,
    abandoned: bool,
}

enum Entry {
    Frame(Vec<u8>),
    Newest(String),
}

/// A message with its header.
pub(super) fn frame(message: &impl Serialize) -> Vec<u8> {
    // Only a map whose keys are no strings, or a failing `Serialize`, could fail.
    const FAILED: &[u8] = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"an answer could not be written"}}"#;
    let body = serde_json::to_vec(message).unwrap_or_else(|_| FAILED.to_vec());
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(&body);
    frame
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what must arrive: answers and requests.
    pub(crate) fn send(&self, message: &impl Serialize) {
        let frame = frame(message);
        let mut queue = self.lock();
        if queue.closed {
            return;
        }
        queue.bytes += frame.len();
        queue.entries.push_back(Entry::Frame(frame));
        queue.abandoned |= queue.bytes > ABANDONED;
        self.news.notify_one();
    }

    /// Sends what may be left out when too much waits: reports, messages, log lines.
    pub(crate) fn report(&self, message: &impl Serialize) {
        if !self.crowded() {
            self.send(message);
        }
    }

    /// Sends what is known of a subject (the diagnostics of a file) in place of what still waits of it.
    pub(crate) fn publish(&self, subject: &str, message: &impl Serialize) {
        let frame = frame(message);
        let mut queue = self.lock();
        if queue.closed {
            return;
        }
        queue.bytes += frame.len();
        match queue.newest.insert(subject.to_owned(), frame) {
            Some(older) => queue.bytes = queue.bytes.saturating_sub(older.len()),
            None => queue.entries.push_back(Entry::Newest(subject.to_owned())),
        }
        self.news.notify_one();
    }

    /// So much waits that requests are refused.
    pub(crate) fn crowded(&self) -> bool {
        self.lock().bytes > CROWDED
    }

    /// So much waits that nobody will ever read it.
    pub(crate) fn abandoned(&self) -> bool {
        self.lock().abandoned
    }

    /// Writes what comes until the outbox is closed and empty, or the other side is gone.
    pub(crate) fn write_to(&self, mut pipe: impl Write) -> std::io::Result<()> {
        loop {
            let frame = {
                let mut queue = self.lock();
                queue.writing = false;
                loop {
                    let next = match queue.entries.pop_front() {
                        Some(Entry::Frame(frame)) => Some(frame),
                        Some(Entry::Newest(subject)) => queue.newest.remove(&subject),
                        None if queue.closed => {
                            self.drained.notify_all();
                            return Ok(());
                        }
                        None => {
                            self.drained.notify_all();
                            queue = self
                                .news
                                .wait(queue)
                                .unwrap_or_else(PoisonError::into_inner);
                            continue;
                        }
                    };
                    if let Some(frame) = next {
                        queue.bytes = queue.bytes.saturating_sub(frame.len());
                        queue.writing = true;
                        break frame;
                    }
                }
            };
            if let Err(error) = write_whole(&mut pipe, &frame) {
                self.close();
                let mut queue = self.lock();
                *queue = Queue {
                    closed: true,
                    ..Queue::default()
                };
                self.drained.notify_all();
                return Err(error);
            }
        }
    }

    /// Takes nothing more.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.news.notify_all();
    }

    /// Waits until everything is written, at most `patience`.
    pub(crate) fn flush(&self, patience: Duration) {
        let end = Instant::now() + patience;
        let mut queue = self.lock();
        while queue.writing || !queue.entries.is_empty() {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return;
            };
            queue = self
                .drained
                .wait_timeout(queue, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// A pipe that was given to us non-blocking is written as if it blocked.
fn write_whole(pipe: &mut impl Write, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match pipe.write(bytes) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1))
            }
            Err(error) => return Err(error),
        }
    }
    pipe.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc;

    use serde_json::json;

    use super::*;

    /// Passes each write on; blocks while nobody takes it.
    struct Pipe(mpsc::SyncSender<Vec<u8>>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0
                .send(bytes.to_vec())
                .map_err(|_| std::io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_message_is_one_write() {
        let (pipe, written) = mpsc::sync_channel(8);
        let outbox = Arc::new(Outbox::default());
        outbox.send(&json!({"a": "é"}));
        outbox.close();
        outbox.write_to(Pipe(pipe)).unwrap();
        assert_eq!(
            written.recv().unwrap(),
            "Content-Length: 10\r\n\r\n{\"a\":\"é\"}".as_bytes()
        );
        assert!(written.recv().is_err());
    }

    #[test]
    fn of_the_diagnostics_that_wait_the_newest_are_sent() {
        let outbox = Outbox::default();
        for version in 0..10_000 {
            outbox.publish("file:///a", &json!({"version": version}));
        }
        outbox.publish("file:///b", &json!({"version": 1}));
        assert!(outbox.lock().bytes < 200, "older ones were let go");
        outbox.close();
        let mut all = Vec::new();
        outbox.write_to(&mut all).unwrap();
        let all = String::from_utf8(all).unwrap();
        assert_eq!(all.matches("Content-Length").count(), 2);
        assert!(
            all.contains("{\"version\":9999}") && all.find("9999") < all.find("{\"version\":1}")
        );
    }

    #[test]
    fn reports_are_left_out_when_nobody_reads() {
        let outbox = Outbox::default();
        let large = "x".repeat(1 << 20);
        for _ in 0..64 {
            outbox.report(&json!(large));
        }
        assert!(outbox.crowded() && !outbox.abandoned());
        assert!(outbox.lock().bytes <= CROWDED + (2 << 20));
        outbox.send(&json!("an answer"));
        assert!(
            matches!(outbox.lock().entries.back(), Some(Entry::Frame(frame)) if frame.ends_with(b"\"an answer\""))
        );
    }
}
