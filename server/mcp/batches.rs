//! Batches: several messages in one line, as an array. Revision 2025-03-26 alone has them: there a server must read them,
//! and may answer each request by itself. `rmcp` knows none.

use std::io::Cursor;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead as _, AsyncRead, BufReader, ReadBuf};

/// A longer line is passed on as it comes; `rmcp` refuses it.
const LONGEST: usize = 16 << 20;

/// What is read, with each message in a line of its own.
pub(super) struct Apart<R> {
    input: BufReader<R>,
    /// The beginning of a line.
    line: Vec<u8>,
    /// What goes out.
    ready: Cursor<Vec<u8>>,
    /// The line is too long to be looked at.
    too_long: bool,
    /// The client's revision has batches.
    wanted: Arc<AtomicBool>,
}

impl<R: AsyncRead> Apart<R> {
    pub fn new(input: R, wanted: Arc<AtomicBool>) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            ready: Cursor::default(),
            too_long: false,
            wanted,
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Apart<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        loop {
            ready!(Pin::new(&mut this.ready).poll_read(cx, buf))?;
            if buf.filled().len() > before || buf.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            let read = ready!(Pin::new(&mut this.input).poll_fill_buf(cx))?;
            let end = memchr::memchr(b'\n', read).map(|at| at + 1);
            let taken = end.unwrap_or(read.len());
            this.line
                .extend_from_slice(read.get(..taken).unwrap_or(read));
            Pin::new(&mut this.input).consume(taken);
            // At the end of all, what is left is no line.
            if end.is_none() && taken > 0 && this.line.len() < LONGEST {
                continue;
            }
            if this.line.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let line = std::mem::take(&mut this.line);
            let is_whole = end.is_some() && !this.too_long;
            this.too_long = end.is_none();
            this.ready = Cursor::new(match is_whole && this.wanted.load(Ordering::Relaxed) {
                true => apart(line),
                false => line,
            });
        }
    }
}

/// Each message of a batch with a line end; what is none stays as it is.
fn apart(line: Vec<u8>) -> Vec<u8> {
    let first = line.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'[') {
        return line;
    }
    match serde_json::from_slice::<Vec<Box<RawValue>>>(&line) {
        Ok(messages) if !messages.is_empty() => {
            let lines = messages.iter().flat_map(|one| [one.get(), "\n"]);
            lines.collect::<String>().into_bytes()
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn read(input: &[u8], wanted: bool) -> String {
        // In small pieces.
        let (mut far, near) = tokio::io::duplex(3);
        let mut apart = Apart::new(near, Arc::new(AtomicBool::new(wanted)));
        let mut text = String::new();
        let writing = async move { far.write_all(input).await };
        let (written, read) = tokio::join!(writing, apart.read_to_string(&mut text));
        written.and(read).expect("text");
        text
    }

    #[tokio::test]
    async fn a_batch_is_taken_apart_and_all_else_is_as_it_was() {
        let batch = b"{\"a\": [1, 2]}\r\n [ {\"b\": \"[,]\"} , 7,[ ] ]\n";
        let expected = "{\"a\": [1, 2]}\r\n{\"b\": \"[,]\"}\n7\n[ ]\n";
        assert_eq!(read(batch, true).await, expected);
        for same in ["[]\n", "[{]\n", "\n\nx\n", "{\"no\": \"end\"", "[1,"] {
            assert_eq!(read(same.as_bytes(), true).await, same);
        }
        let text = String::from_utf8_lossy(batch);
        assert_eq!(read(batch, false).await, text);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_passed_on() {
        let long = format!("[{}]\n[1]\n", "1,".repeat(LONGEST));
        let mut apart = Apart::new(long.as_bytes(), Arc::new(AtomicBool::new(true)));
        let mut text = String::new();
        apart.read_to_string(&mut text).await.expect("text");
        assert!(
            text.strip_suffix("1\n").is_some_and(|rest| {
                long.strip_suffix("[1]\n").is_some_and(|long| rest == long)
            })
        );
    }
}
