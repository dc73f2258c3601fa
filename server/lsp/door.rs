//! Who comes in where the server listens: a connection counts for nothing until its `initialize` shows the token. It
//! can end nothing but itself, and none keeps another out.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tower_lsp::jsonrpc::ErrorCode;

use super::frames::Framer;
use super::outbox::frame;
use super::transport::NOT_INITIALIZED;

/// How long a connection may take to show the token.
const PATIENCE: Duration = Duration::from_secs(10);
/// What it may send until then; no `initialize` is nearly as long.
const LONGEST: usize = 1 << 20;
/// So many at a time; with one more the oldest is closed, so that the newest is always heard.
const MOST: usize = 16;
/// Between two tries where the system gives no connection.
const PAUSE: Duration = Duration::from_millis(100);

/// A connection that has shown the token.
pub(super) struct Admitted {
    pub(super) stream: TcpStream,
    /// What was read of it: its `initialize` and what came behind.
    pub(super) first: Vec<u8>,
}

type Waiting = Mutex<VecDeque<(u64, TcpStream)>>;

/// Takes connections for as long as somebody wants those that are admitted. Runs on a thread of its own.
pub(super) fn keep(listener: &TcpListener, token: &Arc<str>, admitted: &UnboundedSender<Admitted>) {
    let waiting = Arc::new(Waiting::default());
    let mut number = 0;
    while !admitted.is_closed() {
        let Ok((stream, other)) = listener
            .accept()
            .and_then(|(stream, _)| Ok((stream.try_clone()?, stream)))
        else {
            std::thread::sleep(PAUSE);
            continue;
        };
        number += 1;
        {
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.len() >= MOST
                && let Some((_, oldest)) = waiting.pop_front()
            {
                let _ = oldest.shutdown(Shutdown::Both);
            }
            waiting.push_back((number, other));
        }
        let (others, token, admitted) = (waiting.clone(), token.clone(), admitted.clone());
        let greeting = std::thread::Builder::new().spawn(move || {
            let first = greet(&stream, &token);
            let mut waiting = others.lock().unwrap_or_else(PoisonError::into_inner);
            let place = waiting.iter().position(|(of, _)| *of == number);
            let is_open = place.and_then(|place| waiting.remove(place)).is_some();
            match first {
                Ok(Some(first)) if is_open => drop(admitted.send(Admitted { stream, first })),
                _ => drop(stream.shutdown(Shutdown::Both)),
            }
        });
        if greeting.is_err() {
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.pop_back();
            drop(waiting);
            std::thread::sleep(PAUSE);
        }
    }
}

/// What was read from its `initialize` on; `None`: it is not let in.
fn greet(mut stream: &TcpStream, token: &str) -> io::Result<Option<Vec<u8>>> {
    let until = Instant::now() + PATIENCE;
    let mut framer = Framer::default();
    let mut bytes = vec![0; 16 << 10];
    let mut all = 0;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || all > LONGEST {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        stream.set_write_timeout(Some(left))?;
        let read = match stream.read(&mut bytes) {
            Ok(0) => return Ok(None),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        all += read;
        framer.feed(bytes.get(..read).unwrap_or_default());
        while let Some(read) = framer.next() {
            let Ok(body) = read else { return Ok(None) };
            let Ok(message) = serde_json::from_slice::<Value>(&body) else {
                return Ok(None);
            };
            let method = message.get("method").and_then(Value::as_str);
            let mut refuse = |code: i64, why: &str| {
                let id = message.get("id").filter(|id| id.is_i64() || id.is_string());
                let answer =
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}});
                stream.write_all(&frame(&answer))
            };
            match (method, message.get("id")) {
                (Some("initialize"), Some(_)) if shows(&message, token) => {
                    let first = [&frame(&message), framer.rest()].concat();
                    stream.set_read_timeout(None)?;
                    stream.set_write_timeout(None)?;
                    return Ok(Some(first));
                }
                (Some("initialize"), Some(_)) => {
                    refuse(
                        ErrorCode::InvalidRequest.code(),
                        "initializationOptions.token is not the token of this server",
                    )?;
                    return Ok(None);
                }
                (Some("exit"), _) => return Ok(None),
                (Some(_), Some(_)) => refuse(NOT_INITIALIZED, "the server is not initialized")?,
                _ => {}
            }
        }
    }
}

/// Takes as long for any token, right or wrong.
fn shows(initialize: &Value, token: &str) -> bool {
    let shown = initialize
        .pointer("/params/initializationOptions/token")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let pairs = token.bytes().zip(shown.bytes().chain(std::iter::repeat(0)));
    let differ = pairs.fold(0, |differ, (a, b)| differ | (a ^ b));
    token.len() == shown.len() && differ == 0
}
