//! The lines that an agent writes. What is no JSON object is kept apart: many programs greet or warn on
//! standard output, and some were started with the wrong arguments and speak something else altogether.

use std::sync::{Arc, Mutex, PoisonError};

use futures::{Sink, Stream, TryStreamExt as _};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};

use crate::children::printable;
use crate::text::paired;

/// Bytes of one line; a longer one is no message.
const LINE: u64 = 64 << 20;
/// Lines that are no message until nobody believes any more that one will come.
const PATIENCE: usize = 1000;

/// What came that was no message.
#[derive(Clone, Default)]
pub(super) struct Strange(Arc<Mutex<(usize, String)>>);

impl Strange {
    fn note(&self, line: &str) -> usize {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0 == 0 {
            kept.1 = printable(line.trim(), 120);
        }
        kept.0 += 1;
        kept.0
    }

    /// The first of them.
    pub(super) fn first(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.0 > 0).then(|| kept.1.clone())
    }

    pub(super) fn is_too_much(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 >= PATIENCE
    }
}

pub(super) fn read(
    from: impl AsyncRead + Send + Unpin + 'static,
    strange: Strange,
) -> impl Stream<Item = std::io::Result<String>> + Send + 'static {
    let lines = Box::pin(each(from));
    futures::stream::try_unfold((lines, strange), |(mut lines, strange)| async move {
        while let Some(text) = lines.try_next().await? {
            if text.starts_with('{') && text.ends_with('}') {
                return Ok(Some((text, (lines, strange))));
            }
            if strange.note(&text) >= PATIENCE {
                break;
            }
        }
        Ok(None)
    })
}

/// The lines that are not empty. What is no UTF-8 in one is no end of all: it is replaced, as is half of a surrogate
/// pair, for nobody would answer a message with one.
pub fn each(
    from: impl AsyncRead + Send + Unpin + 'static,
) -> impl Stream<Item = std::io::Result<String>> + Send + 'static {
    let reader = BufReader::new(from);
    futures::stream::try_unfold(reader, |mut reader| async move {
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = (&mut reader)
                .take(LINE)
                .read_until(b'\n', &mut line)
                .await?;
            if count == 0 {
                return Ok(None);
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim();
            if !text.is_empty() {
                return Ok(Some((paired(text).into_owned(), reader)));
            }
        }
    })
}

pub fn write(
    to: impl AsyncWrite + Send + Unpin + 'static,
) -> impl Sink<String, Error = std::io::Error> + Send + 'static {
    futures::sink::unfold(to, |mut to, mut line: String| async move {
        line.push('\n');
        to.write_all(line.as_bytes()).await?;
        to.flush().await?;
        Ok(to)
    })
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;

    use super::*;

    #[tokio::test]
    async fn what_is_no_message_is_passed_over_and_kept() {
        let bytes: &[u8] = b"Welcome!\x1b[0m\n\n{\"a\": \"\\ud83d\"}\n  {\"b\":\xff}\r\nbye";
        let strange = Strange::default();
        let lines: Vec<_> = read(bytes, strange.clone()).collect().await;
        let lines: Vec<String> = lines.into_iter().map(Result::unwrap).collect();
        assert_eq!(lines, ["{\"a\": \"\\ufffd\"}", "{\"b\":\u{fffd}}"]);
        assert_eq!(strange.first().unwrap(), "Welcome! [0m");
        assert!(!strange.is_too_much());
    }

    #[tokio::test]
    async fn nonsense_without_end_ends() {
        let strange = Strange::default();
        let lines: Vec<_> = read(
            tokio::io::repeat(b'\n').chain(&b""[..]).take(10),
            strange.clone(),
        )
        .collect()
        .await;
        assert!(lines.is_empty());
        let endless = "x\n".repeat(PATIENCE + 5);
        let cursor = std::io::Cursor::new(endless.into_bytes());
        assert!(
            read(cursor, strange.clone())
                .collect::<Vec<_>>()
                .await
                .is_empty()
        );
        assert!(strange.is_too_much());
    }
}
