//! What is on its way to a child. Sending never waits: a frame is written at once while the pipe takes
//! it, else it is queued; a child that does not read is given up when the queue is full.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;
use tokio::sync::Notify;

/// Frames that may wait, and bytes. A child that starts may get many large documents at once.
const MAX_FRAMES: usize = 2048;
const MAX_BYTES: usize = 32 << 20;

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
    frames: VecDeque<Vec<u8>>,
    /// Bytes of the first frame that are written.
    written: usize,
    bytes: usize,
}

impl Outgoing {
    pub fn new(pipe: ChildStdin) -> Self {
        let queue = Queue {
            pipe: Some(pipe),
            frames: VecDeque::new(),
            written: 0,
            bytes: 0,
        };
        Self {
            queue: Mutex::new(queue),
            wake: Notify::new(),
        }
    }

    /// Frames arrive in the order of these calls.
    pub fn send(&self, frame: Vec<u8>) -> Result<(), Unsent> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.pipe.is_none() {
            return Err(Unsent::Closed);
        }
        if queue.frames.len() >= MAX_FRAMES || queue.bytes > MAX_BYTES {
            return Err(Unsent::Full);
        }
        let at_once = queue.frames.is_empty();
        queue.bytes += frame.len();
        queue.frames.push_back(frame);
        if at_once {
            // Written here where the pipe has room; else the writer's task goes on.
            match queue.write(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Ok(())) => return Ok(()),
                Poll::Ready(Err(_)) => return Err(Unsent::Closed),
                Poll::Pending => self.wake.notify_one(),
            }
        }
        Ok(())
    }

    /// Writes what waits, until the pipe is closed.
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
    fn end(&mut self) {
        self.pipe = None;
        self.frames = VecDeque::new();
        self.bytes = 0;
        self.written = 0;
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let broken = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        while let Some(frame) = self.frames.front() {
            let Some(pipe) = self.pipe.as_mut() else {
                return Poll::Ready(Err(broken()));
            };
            let rest = frame.get(self.written..).unwrap_or_default();
            match Pin::new(pipe).poll_write(cx, rest) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.written += count;
                    self.bytes = self.bytes.saturating_sub(count);
                    if self.written >= frame.len() {
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
