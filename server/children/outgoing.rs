//! What is on its way to a child. Sending never waits: a frame is written at once while the pipe takes
//! it, else it is queued; a child that does not read is given up when the queue is full. Texts of documents may be large
//! and many at once, as where a child is started beside an editor with much in it: for these it is given up only where
//! nothing goes through any more.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;
use tokio::sync::Notify;

/// Frames that may wait, and bytes.
const MAX_FRAMES: usize = 2048;
const MAX_BYTES: usize = 32 << 20;
/// Bytes of texts that may wait while the child goes on reading.
const MAX_TEXTS: usize = 512 << 20;
/// Nothing was taken for so long: it does not read.
const STALLED: Duration = Duration::from_secs(5);

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    Little,
    /// A document's text, or a change of it.
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    Closed,
    /// The child has stopped reading.
    Full,
}

pub struct Outgoing {
    queue: Mutex<Queue>,
    wake: Notify,
}

struct Queue {
    pipe: Option<ChildStdin>,
    frames: VecDeque<(Vec<u8>, Weight)>,
    /// Bytes of the first frame that are written.
    written: usize,
    /// Bytes that wait, those of texts apart.
    bytes: usize,
    texts: usize,
    /// When something was written last, or nothing waited.
    moved: Instant,
}

impl Outgoing {
    pub fn new(pipe: ChildStdin) -> Self {
        let queue = Queue {
            pipe: Some(pipe),
            frames: VecDeque::new(),
            written: 0,
            bytes: 0,
            texts: 0,
            moved: Instant::now(),
        };
        Self {
            queue: Mutex::new(queue),
            wake: Notify::new(),
        }
    }

    /// Frames arrive in the order of these calls.
    pub fn send(&self, frame: Vec<u8>, weight: Weight) -> Result<(), Unsent> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.pipe.is_none() {
            return Err(Unsent::Closed);
        }
        if queue.is_full(weight) {
            return Err(Unsent::Full);
        }
        let at_once = queue.frames.is_empty();
        *queue.waiting(weight) += frame.len();
        queue.frames.push_back((frame, weight));
        if at_once {
            queue.moved = Instant::now();
            // Written here where the pipe has room; else the writer's task goes on.
            match queue.write(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Ok(())) => return Ok(()),
                Poll::Ready(Err(_)) => {
                    self.wake.notify_one();
                    return Err(Unsent::Closed);
                }
                Poll::Pending => self.wake.notify_one(),
            }
        }
        Ok(())
    }

    /// Writes what waits, until the pipe is closed, by whichever side.
    pub async fn run(&self) {
        loop {
            self.wake.notified().await;
            let written = std::future::poll_fn(|cx| {
                self.queue
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .write(cx)
            })
            .await;
            if written.is_err() {
                return;
            }
        }
    }

    pub fn close(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.end();
        self.wake.notify_one();
    }
}

impl Queue {
    fn waiting(&mut self, weight: Weight) -> &mut usize {
        match weight {
            Weight::Little => &mut self.bytes,
            Weight::Text => &mut self.texts,
        }
    }

    fn is_full(&self, weight: Weight) -> bool {
        let heavy = match weight {
            Weight::Little => self.bytes > MAX_BYTES,
            Weight::Text => {
                self.texts > MAX_TEXTS || (self.texts > MAX_BYTES && self.moved.elapsed() > STALLED)
            }
        };
        heavy || self.frames.len() >= MAX_FRAMES
    }

    fn end(&mut self) {
        self.pipe = None;
        self.frames = VecDeque::new();
        (self.bytes, self.texts) = (0, 0);
        self.written = 0;
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let broken = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        while let Some((frame, weight)) = self.frames.front() {
            let (length, weight) = (frame.len(), *weight);
            let Some(pipe) = self.pipe.as_mut() else {
                return Poll::Ready(Err(broken()));
            };
            let rest = frame.get(self.written..).unwrap_or_default();
            match Pin::new(pipe).poll_write(cx, rest) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.written += count;
                    self.moved = Instant::now();
                    let waiting = self.waiting(weight);
                    *waiting = waiting.saturating_sub(count);
                    if self.written >= length {
                        self.frames.pop_front();
                        self.written = 0;
                    }
                }
                Poll::Ready(_) => {
                    self.end();
                    return Poll::Ready(Err(broken()));
                }
            }
        }
        if self.pipe.is_none() {
            Poll::Ready(Err(broken()))
        } else {
            Poll::Ready(Ok(()))
        }
    }
}
