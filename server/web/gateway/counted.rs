//! Whether anything moves on a connection.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Counts what goes either way.
pub(super) struct Counted<S> {
    stream: S,
    moved: Arc<AtomicU64>,
}

/// The stream, and what ends when nothing moved on it for so long, at the latest after twice that.
pub(super) fn counted<S>(
    stream: S,
    limit: Duration,
) -> (Counted<S>, impl Future<Output = ()> + Send) {
    let moved = Arc::<AtomicU64>::default();
    let seen = Arc::clone(&moved);
    let still = async move {
        let mut last = None;
        loop {
            let now = seen.load(Ordering::Relaxed);
            if last.replace(now) == Some(now) {
                return;
            }
            tokio::time::sleep(limit).await;
        }
    };
    (Counted { stream, moved }, still)
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let came = buffer.filled().len().saturating_sub(before);
        self.moved.fetch_add(came as u64, Ordering::Relaxed);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = polled {
            self.moved.fetch_add(count as u64, Ordering::Relaxed);
        }
        polled
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
