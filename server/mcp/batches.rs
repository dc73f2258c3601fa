//! The lines of the wire, made ready for `rmcp`, which passes over in silence what it cannot read. Half of a surrogate
//! pair and bytes that are no UTF-8 are replaced; what is no JSON all the same is told. And batches: several messages in
//! one line, as an array. Revision 2025-03-26 alone has them: there a server must read them, and may answer each request
//! by itself. `rmcp` knows none.

use std::io::Cursor;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead as _, AsyncRead, BufReader, ReadBuf};
use tokio::sync::mpsc::UnboundedSender;

use crate::text::paired;

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
    /// Told of each line that is no JSON.
    unread: UnboundedSender<String>,
}

impl<R: AsyncRead> Apart<R> {
    pub fn new(input: R, wanted: Arc<AtomicBool>, unread: UnboundedSender<String>) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            ready: Cursor::default(),
            too_long: false,
            wanted,
            unread,
        }
    }

    /// What goes on of a whole line.
    fn heard(&self, line: Vec<u8>) -> Vec<u8> {
        if line.trim_ascii().is_empty() {
            return line;
        }
        match readable(line) {
            Ok(line) if self.wanted.load(Ordering::Relaxed) => apart(line),
            Ok(line) => line,
            Err(why) => {
                // Who takes these has gone, or else answers.
                let _ = self.unread.send(why.to_string());
                Vec::new()
            }
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
            this.ready = Cursor::new(match is_whole {
                true => this.heard(line),
                false => line,
            });
        }
    }
}

/// As `rmcp` can read it.
fn readable(line: Vec<u8>) -> serde_json::Result<Vec<u8>> {
    let refused = match serde_json::from_slice::<Value>(&line) {
        Ok(_) => return Ok(line),
        Err(error) => error,
    };
    let text = String::from_utf8_lossy(&line);
    let text = paired(&text);
    let read = serde_json::from_str::<Value>(&text);
    read.map(|_| text.as_bytes().to_vec()).map_err(|_| refused)
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
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    /// What is read of it, and how many lines were no JSON.
    async fn read(input: &[u8], wanted: bool) -> (String, usize) {
        // In small pieces.
        let (mut far, near) = tokio::io::duplex(3);
        let (unread, mut told) = unbounded_channel();
        let mut apart = Apart::new(near, Arc::new(AtomicBool::new(wanted)), unread);
        let mut text = String::new();
        let writing = async move { far.write_all(input).await };
        let (written, read) = tokio::join!(writing, apart.read_to_string(&mut text));
        written.and(read).expect("text");
        drop(apart);
        let mut count = 0;
        while told.recv().await.is_some() {
            count += 1;
        }
        (text, count)
    }

    #[tokio::test]
    async fn a_batch_is_taken_apart_and_all_else_is_as_it_was() {
        let batch = b"{\"a\": [1, 2]}\r\n [ {\"b\": \"[,]\"} , 7,[ ] ]\n";
        let expected = "{\"a\": [1, 2]}\r\n{\"b\": \"[,]\"}\n7\n[ ]\n";
        assert_eq!(read(batch, true).await, (expected.into(), 0));
        for same in ["[]\n", "\n \n7\n", "{\"no\": \"end\"", "[1,"] {
            assert_eq!(read(same.as_bytes(), true).await, (same.into(), 0));
        }
        let text = String::from_utf8_lossy(batch);
        assert_eq!(read(batch, false).await, (text.into(), 0));
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_mended_or_told() {
        for wanted in [true, false] {
            let lines = b"{\"a\": \"\\ud83d\"}\n{bad\n[{]\nx\n{\"b\": \"\xff\"}\n";
            let mended = "{\"a\": \"\\ufffd\"}\n{\"b\": \"\u{fffd}\"}\n";
            assert_eq!(read(lines, wanted).await, (mended.into(), 3));
        }
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_passed_on() {
        let long = format!("[{}]\n[1]\n", "1,".repeat(LONGEST));
        let (unread, _told) = unbounded_channel();
        let mut apart = Apart::new(long.as_bytes(), Arc::new(AtomicBool::new(true)), unread);
        let mut text = String::new();
        apart.read_to_string(&mut text).await.expect("text");
        assert!(
            text.strip_suffix("1\n").is_some_and(|rest| {
                long.strip_suffix("[1]\n").is_some_and(|long| rest == long)
            })
        );
    }
}
